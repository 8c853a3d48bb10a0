/* decoder.h - the model that is trained, as lazy tensors over states. */
#ifndef TERN_TRAIN_DECODER_H
#define TERN_TRAIN_DECODER_H

#include <tern/train.h>

#include "model/arch/parts.h"

/* Weights lie in the order of parts.def: the table, the parts of each layer, the last norm. */
typedef struct tern__train_net {
    tern_ctx *ctx;
    tern_train_shape shape;
    tern_recompute recompute;
    int n;
    tern_tensor **weights; /* (n) f32 states */
    char (*names)[TERN__PART_NAME];
} tern__train_net;

/* Makes the states: the first weights have a deviation of 0.02, norms are 1. On failure the net is to be freed all the same. */
tern_status tern__train_net_create(tern_ctx *ctx, const tern_train_shape *shape, uint64_t seed,
                                   tern__train_net *out);
void tern__train_net_free(tern__train_net *net);
/* Numbers that a net of the shape trains. The sizes were checked, so that 64 bits have room for it. */
int64_t tern__train_net_parameters(const tern_train_shape *shape);
const tern__part *tern__train_net_part(const tern__train_net *net, int weight);

/* tokens[batch * context] -> logits[batch * context, vocabulary] */
tern_tensor *tern__train_logits(const tern__train_net *net, tern_tensor *tokens, int64_t batch);

/* The mean of -log p(target), targets[batch * context, 1]. */
tern_tensor *tern__train_loss(tern_tensor *logits, tern_tensor *targets);
/* The same of each sequence, [sequences]. */
tern_tensor *tern__train_losses(tern_tensor *logits, tern_tensor *targets, int64_t sequences);

#endif

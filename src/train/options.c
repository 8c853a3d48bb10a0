/* options.c - what a trainer can be asked for, and what it then has: numbers that are trained, states, and the work of a step. */
#include <math.h>

#include <tern/train.h>

#include "base/status.h"
#include "model/arch/hparams.h"
#include "train/limits.h"
#include "train/trainer.h"

tern_train_options tern_train_options_default(void)
{
    tern_train_options o = {.shape = {.context = 256,
                                      .layers = 6,
                                      .width = 256,
                                      .feed_forward = 768,
                                      .heads = 4,
                                      .kv_heads = 4,
                                      .rope_theta = 10000,
                                      .norm_eps = 1e-5},
                            .batch = 16,
                            .accumulate = 1,
                            .optimiser = tern_optimiser_options_default(),
                            .decay_table = 1,
                            .seed = 1};
    o.optimiser.weight_decay = 0.1;
    o.optimiser.clip = 1;
    return o;
}

int64_t tern__train_pass_tokens(const tern_train_options *o)
{
    return o->batch * o->shape.context;
}

bool tern__train_scales_loss(const tern_train_options *o)
{
    return o->activations == TERN_PRECISION_F16;
}

bool tern__train_keeps_sums(const tern_train_options *o)
{
    return o->accumulate > 1 || o->activations != TERN_PRECISION_EXACT;
}

tern_status tern__train_check(const tern_train_options *o)
{
    const tern_train_shape *s = &o->shape;
    const struct {
        const char *name;
        int64_t value, most;
    } sizes[] = {
        {"vocabulary", s->vocabulary, TERN__MOST_VOCABULARY},
        {"context", s->context, TERN__TRAIN_MOST_CONTEXT},
        {"layers", s->layers, TERN__MOST_LAYERS},
        {"width", s->width, TERN__MOST_WIDTH},
        {"feed_forward", s->feed_forward, TERN__MOST_WIDTH},
        {"heads", s->heads, TERN__MOST_HEADS},
        {"kv_heads", s->kv_heads, TERN__MOST_HEADS},
        {"batch", o->batch, TERN__TRAIN_MOST_BATCH},
        {"accumulate", o->accumulate, TERN__TRAIN_MOST_PASSES},
    };
    for (size_t i = 0; i < TERN__COUNT(sizes); i++)
        TERN__FAIL_IF(sizes[i].value < 1 || sizes[i].value > sizes[i].most, TERN_INVALID_ARGUMENT,
                      "training: %s is %lld; it must be 1 to %lld", sizes[i].name, (long long)sizes[i].value,
                      (long long)sizes[i].most);
    TERN__FAIL_IF(s->width % s->heads != 0 || s->width / s->heads % 2 != 0, TERN_INVALID_ARGUMENT,
                  "training: %lld heads share a width of %lld; each needs the same even part of it",
                  (long long)s->heads, (long long)s->width);
    TERN__FAIL_IF(s->heads % s->kv_heads != 0, TERN_INVALID_ARGUMENT,
                  "training: heads (%lld) must be a multiple of kv_heads (%lld)", (long long)s->heads,
                  (long long)s->kv_heads);
    TERN__FAIL_IF(!(s->rope_theta > 0) || !isfinite(s->rope_theta), TERN_INVALID_ARGUMENT,
                  "training: rope_theta is %g; it must be above 0", s->rope_theta);
    TERN__FAIL_IF(!(s->norm_eps > 0) || !isfinite(s->norm_eps), TERN_INVALID_ARGUMENT,
                  "training: norm_eps is %g; it must be above 0", s->norm_eps);
    TERN__FAIL_IF(s->weights != TERN_TRAIN_WEIGHTS_TERNARY && s->weights != TERN_TRAIN_WEIGHTS_FLOAT,
                  TERN_INVALID_ARGUMENT, "training: there is no kind of weights %d", (int)s->weights);
    TERN__FAIL_IF((int)o->recompute < TERN_RECOMPUTE_NONE || o->recompute > TERN_RECOMPUTE_LAYERS,
                  TERN_INVALID_ARGUMENT, "training: there is no way to recompute %d", (int)o->recompute);
    TERN__FAIL_IF((int)o->activations < TERN_PRECISION_EXACT || o->activations > TERN_PRECISION_F16,
                  TERN_INVALID_ARGUMENT, "training: there is no precision %d of activations",
                  (int)o->activations);
    return TERN_OK;
}

tern_status tern_train_needs(const tern_train_options *o, tern_trainer_info *out)
{
    TERN__FAIL_IF(!o || !out, TERN_INVALID_ARGUMENT,
                  "train_needs: the options or the place for the result are missing");
    TERN_TRY(tern__train_check(o));
    const tern_train_shape *s = &o->shape;
    const int64_t parameters = tern__train_net_parameters(s),
                  tokens = o->accumulate * tern__train_pass_tokens(o);
    const int copies = 1 + tern_optimiser_moments(&o->optimiser) + tern__train_keeps_sums(o);
    *out = (tern_trainer_info){
        .parameters = parameters,
        .tokens = tokens,
        .flops = (double)tokens *
                 (6 * (double)parameters + 12 * (double)s->context * (double)s->width * (double)s->layers),
        .state_bytes = sizeof(float) * ((size_t)copies * (size_t)parameters + 1 +
                                        (tern__train_scales_loss(o) ? TERN__SCALE : 0)),
    };
    return TERN_OK;
}

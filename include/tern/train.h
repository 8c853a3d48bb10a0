/* train.h - a decoder with ternary weights that learns from tokens.
 *
 * A trainer holds f32 weights and the optimiser's moments as states of a context, and compiled programs that update them where they
 * are: a step is one program of the forward pass (ternary weights, int8 activations, exact products), gradients that go straight
 * through the rounding, and the optimiser. The model is the one of the architecture "bitnet-b1.58": norms inside the parts of a
 * layer, squared ReLU, and a table of tokens that serves as head.
 *
 * Results have the same bits for any number of threads. Threading: as the context's. */
#ifndef TERN_TRAIN_H
#define TERN_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/model_file.h>
#include <tern/optimiser.h>
#include <tern/program.h>
#include <tern/status.h>
#include <tern/tensor.h>
#include <tern/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_trainer tern_trainer;

/* How layers multiply on the way forward. X(enumerator, number, name, meaning). */
#define TERN_TRAIN_WEIGHTS_LIST(X)                                                       \
    X(TERNARY, 0, "ternary",                                                             \
      "codes -1, 0, 1 with one scale, times int8 rows: what a model file will run with") \
    X(FLOAT, 1, "float", "as they are: what ternary weights are compared with")

typedef enum tern_train_weights {
#define TERN_TRAIN_WEIGHTS_ENUM(id, number, name, meaning) TERN_TRAIN_WEIGHTS_##id = number,
    TERN_TRAIN_WEIGHTS_LIST(TERN_TRAIN_WEIGHTS_ENUM)
#undef TERN_TRAIN_WEIGHTS_ENUM
} tern_train_weights;

/* What a step computes a second time on the way back instead of keeping it, with the same bits. X(enumerator, number, name, meaning). */
#define TERN_RECOMPUTE_LIST(X)                                                                       \
    X(NONE, 0, "none", "everything is kept")                                                         \
    X(ATTENTION, 1, "attention", "scores of attention and their softmax: what grows with context^2") \
    X(LAYERS, 2, "layers", "all of a layer but what it begins with")

typedef enum tern_recompute {
#define TERN_RECOMPUTE_ENUM(id, number, name, meaning) TERN_RECOMPUTE_##id = number,
    TERN_RECOMPUTE_LIST(TERN_RECOMPUTE_ENUM)
#undef TERN_RECOMPUTE_ENUM
} tern_recompute;

typedef struct tern_train_shape {
    int64_t vocabulary, context; /* tokens that there are, and that one sequence has */
    int64_t layers, width, feed_forward;
    int64_t heads, kv_heads; /* queries' heads, a multiple of the keys' */
    double rope_theta, norm_eps;
    tern_train_weights weights;
} tern_train_shape;

/* Start from tern_train_options_default(): a zeroed one is refused. */
typedef struct tern_train_options {
    tern_train_shape shape;
    int64_t batch;      /* sequences in one pass */
    int64_t accumulate; /* passes in one step, whose gradients are averaged */
    tern_recompute recompute;
    /* how steps store what lies between products; validation and logits are exact always */
    tern_precision activations;
    tern_optimiser_options optimiser;
    double decay_table,
        decay_norms; /* of these, in parts of the optimiser's weight_decay, which is of layers */
    uint64_t seed;   /* of the first weights */
} tern_train_options;

/* f16 has little range: where activations are f16, gradients are computed of the loss times a scale, and divided by it before they are
 * used. The scale starts at 65536; if gradients are not finite the step changes nothing and the scale is halved, and after 2000 steps
 * without that it is doubled. It is a state like the others. */

/* 6 layers of width 256 (5.1 million weights beside the table), context 256, batch 16, one pass a step; AdamW with a decay of 0.1 and
 * gradients of norm 1 at most. `vocabulary` is left at 0: the data decides. */
TERN_API tern_train_options tern_train_options_default(void);

/* Makes the states with their first weights and compiles the programs. TERN_INVALID_ARGUMENT names an option that cannot be. */
TERN_API tern_status tern_trainer_create(tern_ctx *ctx, const tern_train_options *options,
                                         tern_trainer **out);
TERN_API void tern_trainer_free(tern_trainer *trainer); /* NULL is fine */

typedef struct tern_train_result {
    double loss; /* mean over all tokens, in nats */
    double norm; /* of all gradients together, before clipping */
    /* gradients were not finite, the scale of the loss was lowered: nothing was learnt, the next step may do better */
    bool skipped;
} tern_train_result;

/* One step. `tokens` are accumulate x batch sequences of context + 1 tokens: each is predicted from those before it. If it fails,
 * weights may have been updated in part: load a checkpoint. */
TERN_API tern_status tern_trainer_step(tern_trainer *trainer, const int32_t *tokens, double rate,
                                       tern_train_result *out);

/* The mean loss on n sequences of context + 1 tokens, 1 to `batch` of them; nothing is learnt. A sequence's loss does not depend on the
 * others. */
TERN_API tern_status tern_trainer_loss(tern_trainer *trainer, int64_t n, const int32_t *tokens, double *loss);

/* What each token of `batch` sequences of context tokens leads to, [batch * context, vocabulary]: what tern_trainer_loss judges, exact
 * whatever precision `activations` have in steps. *out belongs to the open scope, or to the caller. */
TERN_API tern_status tern_trainer_logits(tern_trainer *trainer, const int32_t *tokens, tern_tensor **out);

/* The states, all that a checkpoint holds: weights first, under their names in GGUF, then moments ("blk.0.attn_q.weight.m" and ".v"),
 * then the count of steps, "steps", and with activations in f16 "loss_scale" and "loss_scale.steps", how long it has stood. Read them
 * by tern_data_f32, set them by tern_assign. NULL: there is no state i. The name and the tensor live as long as the trainer. */
TERN_API int tern_trainer_states(const tern_trainer *trainer);
TERN_API int tern_trainer_weights(const tern_trainer *trainer); /* the first of them */
TERN_API tern_tensor *tern_trainer_state(const tern_trainer *trainer, int i, const char **name);

typedef struct tern_trainer_info {
    int64_t parameters; /* numbers that are trained */
    int64_t tokens;     /* of a step */
    /* of a step: 6 for each parameter and token, and 12 x context x width for each layer and token */
    double flops;
    /* weights, moments, and sums of gradients where passes accumulate or activations are rounded */
    size_t state_bytes;
    size_t arena_bytes; /* intermediates of all programs that were compiled, as planned */
} tern_trainer_info;
TERN_API void tern_trainer_get_info(const tern_trainer *trainer, tern_trainer_info *out);

/* The same of a trainer that is not made, in no time and memory: would one fit? Intermediates are known only when its programs are
 * compiled: arena_bytes is 0. TERN_INVALID_ARGUMENT names an option that cannot be. */
TERN_API tern_status tern_train_needs(const tern_train_options *options, tern_trainer_info *out);

/* ---- checkpoints --------------------------------------------------------------------------------------------------- */

/* Writes all states into a safetensors file, with `note` (any text in UTF-8, such as JSON; NULL: "") in its metadata. The file appears
 * whole, and on disk, in place of the one that was there; whatever fails or is killed on the way leaves that one as it was. */
TERN_API tern_status tern_trainer_save(tern_trainer *trainer, const char *path, const char *note);

/* Sets all states to those of a checkpoint of the same shape and optimiser; training goes on with the same bits as if it had never
 * stopped. Names, shapes and a checksum of all bytes are checked before the first state changes: TERN_SHAPE names the tensor
 * that does not fit, TERN_FORMAT means that the file is damaged or something else. TERN_IO from a disk that fails the second time it
 * reads the same bytes leaves some states changed. `*note` unless `note` is NULL: free it with tern_string_free. */
TERN_API tern_status tern_trainer_load(tern_trainer *trainer, const char *path, char **note);

/* The note of a checkpoint, without a trainer. Free it with tern_string_free. */
TERN_API tern_status tern_checkpoint_note(const char *path, char **note);

/* ---- schedules ----------------------------------------------------------------------------------------------------- */

/* X(enumerator, number, name, meaning). */
#define TERN_SCHEDULE_LIST(X)                                              \
    X(COSINE, 0, "cosine", "from the rate to the least along a half wave") \
    X(LINEAR, 1, "linear", "from the rate to the least in equal parts")    \
    X(CONSTANT, 2, "constant", "the rate, to the end")

typedef enum tern_schedule_kind {
#define TERN_SCHEDULE_ENUM(id, number, name, meaning) TERN_SCHEDULE_##id = number,
    TERN_SCHEDULE_LIST(TERN_SCHEDULE_ENUM)
#undef TERN_SCHEDULE_ENUM
} tern_schedule_kind;

enum { TERN_TRAIN_MOST_STEPS = 1 << 24 }; /* of a run: the optimiser counts them in f32 */

/* Start from tern_schedule_options_default(): zeros are what they say, and the rate of a zeroed one is 0. */
typedef struct tern_schedule_options {
    tern_schedule_kind kind; /* what follows the warm-up */
    double rate, least;      /* highest, and of the last step */
    int64_t warmup;          /* steps in which the rate grows from rate / warmup */
    int64_t steps;           /* all of them; later ones have the least rate */
} tern_schedule_options;

TERN_API tern_schedule_options
tern_schedule_options_default(void); /* cosine, 1e-3 to 1e-4, 5000 steps, 100 to warm up */
/* The rate of step 0, 1 and so on. */
TERN_API double tern_schedule_rate(const tern_schedule_options *schedule, int64_t step);
TERN_API const char *tern_schedule_name(tern_schedule_kind kind); /* "cosine"; static */

/* ---- looking into it ----------------------------------------------------------------------------------------------- */

/* Program i of a step, in the order in which they run; NULL past the last. Their plans, passes and steps can be looked at. Most steps are
 * one program, "step". Where passes accumulate or activations are rounded there are "pass", which adds gradients to sums, with f16 "check",
 * which looks whether these are finite, and "update". `*name` unless `name` is NULL; static. A program lives as long as the trainer. */
TERN_API const tern_program *tern_trainer_program(const tern_trainer *trainer, int i, const char **name);

/* ---- files --------------------------------------------------------------------------------------------------------- */

/* Zeroed fields are the defaults. */
typedef struct tern_train_export_options {
    /* of ternary layers, which are the same model in any: I2_S, TQ2_0, TQ1_0, Q8_0, F16, F32 ...; TERN_STORED_AS_IS: I2_S */
    tern_stored type;
    /* of the table of tokens, which is rounded to it: F16, BF16, Q8_0, or F32, which is exact; TERN_STORED_AS_IS: F16 */
    tern_stored embedding;
    const char *name; /* of the model; NULL: "unnamed" */
} tern_train_export_options;
TERN_API tern_train_export_options tern_train_export_options_default(void); /* all is left to us */

/* Writes the model as GGUF, architecture "bitnet-b1.58", with its tokenizer: what tern_model_load takes. Codes and scales are those
 * that the pass forward of a step has. A file appears whole or not at all. Rows that are not whole blocks of `type` are written as
 * Q8_0, or F16 where they are not whole blocks of 32 either, which holds codes and scale as well but takes more room; the log says so
 * where the caller named a type.
 * TERN_UNSUPPORTED for TERN_TRAIN_WEIGHTS_FLOAT, which no architecture of ours is; TERN_SHAPE for a tokenizer with more tokens than the
 * model's vocabulary; TERN_DTYPE for types that do not hold such weights; TERN_STATE if weights are not numbers any more.
 * `options` NULL = defaults. */
TERN_API tern_status tern_trainer_export(tern_trainer *trainer, const tern_tokenizer *tokenizer,
                                         const char *path, const tern_train_export_options *options);
/* Will tern_trainer_export take such a model, and these types? For whoever wants to know before hours of training. TERN_UNSUPPORTED and
 * TERN_DTYPE as there. `options` NULL = defaults. */
TERN_API tern_status tern_train_export_check(const tern_train_shape *shape,
                                             const tern_train_export_options *options);

/* The shape of the model in a file, for a trainer that goes on with it; the context is the file's, and may be made smaller.
 * TERN_UNSUPPORTED, with its name, for a model that is no "bitnet-b1.58" or "bitnet-25" with the table of tokens as head. */
TERN_API tern_status tern_train_shape_of(const tern_model_file *file, tern_train_shape *out);

/* First weights from a file of the same shape, in place of random ones; moments and the count of steps stay as they are. Ternary
 * layers get weights that are rounded to the file's codes and scale again; layers that are stored as floats get these as they are.
 * TERN_SHAPE names a tensor of another shape. After a failure some weights may be the file's. */
TERN_API tern_status tern_trainer_import(tern_trainer *trainer, const tern_model_file *file);

#ifdef __cplusplus
}
#endif

#endif

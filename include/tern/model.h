/* model.h - language models: BitNet b1.58 in its three families and LLaMA, from any file of <tern/model_file.h>.
 *
 *     tern_model *model;
 *     tern_session *session;
 *     TERN_TRY(tern_model_load(ctx, "model.gguf", NULL, &model));
 *     TERN_TRY(tern_session_create(model, NULL, &session));
 *     TERN_TRY(tern_session_feed(session, n, rows, 1, (int[]){n - 1}, logits));
 *
 * examples/generate.c is a whole program, from a file to text. Sequences are freed before their session, sessions before their model,
 * and all of them before the context is destroyed.
 *
 * A model that is part of a program comes from tern_model_file_open_memory and tern_model_load_file.
 *
 * The model is written once, as lazy tensors over <tern/ops.h>, and compiled like any other graph. A row's logits are the
 * same bits whatever else is fed with it, in whatever chunks its prompt came, on any number of threads.
 *
 * Threading: models and sessions belong to the thread of their context. */
#ifndef TERN_MODEL_H
#define TERN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/export.h>
#include <tern/model_file.h>
#include <tern/program.h>
#include <tern/status.h>

typedef struct tern_model tern_model;
typedef struct tern_session tern_session;

/* Zeroed fields are the defaults. */
typedef struct tern_model_options {
    tern_dtype ternary; /* what ternary weights are kept as: TERN_T2 (0: this one) or TERN_T5 */
    /* what the head is converted to: f32, f16, bf16 or a block type; 0: as it is in the file */
    tern_dtype head;
    bool no_map, guard; /* tern_model_file_options */
    /* or NULL; never called after the model is freed, and of its weights alone: they are read when they are needed first */
    tern_model_progress progress;
    void *progress_user;
} tern_model_options;

typedef struct tern_model_info {
    const char *architecture; /* as the file says: one of tern_model_architecture_name                     */
    const char *activation;   /* of the feed-forward part: "relu2" or "silu"                             */
    bool sub_norms;           /* norms before the output projections of attention and feed-forward         */
    bool tied;                /* the head is the embedding */
    bool ternary;             /* its projections are BitLinear: ternary weights, int8 activations by row  */
    int layers, heads, kv_heads;
    int64_t width, head_width, feed_forward, vocabulary;
    int64_t context; /* positions that it was trained for */
    double rope_theta, norm_eps;
    tern_stored head_stored;  /* the head in the file, */
    tern_dtype head;          /* and as it is used */
    uint64_t parameters;      /* numbers in its weights                */
    uint64_t ternary_weights; /* those of them that are -1, 0 or +1    */
    uint64_t product_weights; /* those of linear layers, but for the head */
    uint64_t weight_bytes;    /* as they are held in memory, before the compiler packs them */
    uint64_t
        token_bytes; /* of weights that one token needs: ternary ones in 2 bits, others as they are held; the
                               * embedding only where it is the head */
} tern_model_info;

#define TERN_SESSION_BATCH 512 /* rows computed at once unless a session's options say otherwise */

/* Zeroed fields are the defaults. */
typedef struct tern_session_options {
    int slots;       /* sequences that it can hold at once; 0 = 1                                    */
    int64_t context; /* positions of each; 0 = the model's. More than the model's is refused            */
    /* of keys and values: TERN_F32 (0: this one), TERN_F16 (what the program `tern` takes), or TERN_I8 with a scale for each head and position */
    tern_dtype cache;
    int64_t batch;   /* most rows computed at once; longer prompts come in chunks; 0 = TERN_SESSION_BATCH */
    bool time_steps; /* keep how long every step takes: tern_session_get_program and tern_exec_step_time */
    /* or NULL: level high. Copied; what it points to outlives the session */
    const tern_compile_options *compile;
} tern_session_options;

/* A token at a place of a sequence. */
typedef struct tern_session_row {
    int32_t token;
    int32_t slot;
    int64_t position;
} tern_session_row;

#ifdef __cplusplus
extern "C" {
#endif

/* Architectures that can be run, in the words of GGUF's general.architecture; NULL past the last. Static. */
TERN_API const char *tern_model_architecture_name(int i);

TERN_API tern_model_options tern_model_options_default(void);

/* Would the file be loaded as a model: are its architecture, sizes, settings, tensors and their types, norms and scales such that it
 * can be? Looks at no weights of products: that floats are ternary where they should be is found when they are loaded. The failure
 * says what is in the way. */
TERN_API tern_status tern_model_check(const tern_model_file *file);

/* Bytes that a model takes where it runs, as its file's header tells. */
typedef struct tern_model_memory {
    const char *device; /* that it would run on: the first of tern_catalog_device */
    uint64_t
        weights; /* ternary ones as that device packs them, and their codes too if the file has them as numbers;
                           others as they are in the file */
    uint64_t cache;  /* keys and values: tern_session_cache_bytes */
    int64_t context; /* positions of each slot */
} tern_model_memory;

/* For a session with these `options` (NULL = defaults), whose context is cut to the model's. Fails as tern_model_check does, and
 * as tern_session_create with these options. More bytes than 64 bits can tell are UINT64_MAX. */
TERN_API tern_status tern_model_plan_memory(const tern_model_file *file, const tern_session_options *options,
                                            tern_model_memory *out);

/* Makes a file's weights constants of `ctx`. `options` NULL = defaults. Weights of products are read, and checked, when a session's
 * first program packs them (tern_session_prepare): they are in memory once. A file that has tensors which this architecture does
 * not know is refused: without them the answers would be wrong. */
TERN_API tern_status tern_model_load(tern_ctx *ctx, const char *path, const tern_model_options *options,
                                     tern_model **out);
/* The same from a file that is open, on disk or in memory: the model holds it, and the caller may close it at once. How tensors are
 * mapped was said when it was opened; `no_map` and `guard` of `options` do not count. Several models may be loaded from one file,
 * also by several threads with a context each. */
TERN_API tern_status tern_model_load_file(tern_ctx *ctx, tern_model_file *file,
                                          const tern_model_options *options, tern_model **out);
TERN_API void tern_model_free(tern_model *model); /* NULL is fine; behind its sessions, before its context */

TERN_API void tern_model_get_info(const tern_model *model, tern_model_info *out);
TERN_API const tern_model_file *tern_model_get_file(const tern_model *model); /* open as long as the model */

/* How many of at least `tokens` arbitrary tokens, in contexts of 256, have the same likeliest token behind them with the head that
 * the model uses and with the one that its file has. Takes as long as a prompt of so many tokens and their logits, twice.
 * `progress` (or NULL) is told tokens. */
typedef struct tern_head_agreement {
    int64_t tokens, same;
} tern_head_agreement;
TERN_API tern_status tern_model_compare_heads(tern_model *model, int64_t tokens, tern_model_progress progress,
                                              void *user, tern_head_agreement *out);

TERN_API tern_session_options tern_session_options_default(void);

/* Room for keys and values of `slots` sequences. Programs are compiled when rows are fed, one per number of rows. */
TERN_API tern_status tern_session_create(tern_model *model, const tern_session_options *options,
                                         tern_session **out);
TERN_API void tern_session_free(tern_session *session); /* NULL is fine; before its model and its context */

/* Compiles the program that feeds `rows` rows, of which `wanted` are asked for, if there is none yet: reads and packs weights now
 * instead of with the first rows. */
TERN_API tern_status tern_session_prepare(tern_session *session, int rows, int wanted);

TERN_API int tern_session_slots(const tern_session *session);
TERN_API int64_t tern_session_context(const tern_session *session); /* positions of each slot */
TERN_API int64_t tern_session_batch(const tern_session *session);   /* most rows computed at once */
/* Fewer rows at once from now on, and again the session's own with 0. Results do not depend on it. */
TERN_API void tern_session_limit_batch(tern_session *session, int64_t rows);
/* Called by tern_session_feed before each batch of rows, on its thread; it may set limits, but must not feed or free the session.
 * One at a time: TERN_STATE while another has the place, be it a governor's (<tern/conditions.h>). NULL gives the place up, which
 * only who has it may do: `user` is the one that it was taken with, else TERN_STATE. */
typedef void (*tern_session_before_batch)(void *user);
TERN_API tern_status tern_session_set_before_batch(tern_session *session, tern_session_before_batch before,
                                                   void *user);
TERN_API int64_t tern_session_vocabulary(const tern_session *session); /* logits of a row */
TERN_API size_t tern_session_cache_bytes(const tern_session *session);

/* Feeds rows[0..n-1] in order: each row's keys and values are kept at its slot and position, and it sees positions 0 to its own
 * of its slot, which must have been fed before or stand earlier in `rows`. logits[i] becomes those of row wanted[i] (n_wanted
 * times the vocabulary; wanted ascending). A position that is fed again is overwritten, as are the ones after it when they
 * are fed. Nothing is fed if a token, slot or position is out of range (TERN_OUT_OF_RANGE), or two rows of the call have the same slot
 * and position (TERN_INVALID_ARGUMENT). After another failure the positions of `rows` hold anything: feed them again. */
TERN_API tern_status tern_session_feed(tern_session *session, int n, const tern_session_row *rows,
                                       int n_wanted, const int *wanted, float *logits);

/* Makes the first `n` positions of slot `to` those of slot `from`: their keys and values are copied, nothing is computed. */
TERN_API tern_status tern_session_copy(tern_session *session, int from, int to, int64_t n);

/* The programs compiled so far, for reports: rows and wanted rows that each is for. TERN_OUT_OF_RANGE past the last. */
typedef struct tern_session_program {
    int64_t rows, wanted;
    const tern_program *program;
    const tern_exec *exec;
    uint64_t runs;
} tern_session_program;
TERN_API tern_status tern_session_get_program(const tern_session *session, int i, tern_session_program *out);

#ifdef __cplusplus
}
#endif
#endif

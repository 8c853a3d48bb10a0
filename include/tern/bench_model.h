/* bench_model.h - how fast a model reads prompts and generates, as shares of what the machine can do.
 *
 * Prompts are compared with the peak of int8 products (of f32 multiply-adds for models without ternary weights), generation
 * with read bandwidth. Both are measured in turns with the model (<tern/measure.h>).
 *
 * Threading: as <tern/measure.h> says. */
#ifndef TERN_BENCH_MODEL_H
#define TERN_BENCH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/dtype.h>
#include <tern/export.h>
#include <tern/measure.h>
#include <tern/model.h>
#include <tern/results.h>
#include <tern/status.h>

/* Called before each run, `done` of `total` of them: `what` is "loading" or the test. false stops: TERN_CANCELLED. */
typedef bool (*tern_bench_progress)(void *user, const char *what, int done, int total);

/* Zeroed fields are the defaults, but for the path or the file, and what is to be measured. */
typedef struct tern_bench_model_options {
    const char *path;
    tern_model_file *file;               /* instead of the path, one that is open: tern_model_load_file */
    const tern_model_options *model;     /* or NULL */
    const char *cpu;                     /* highest instruction set to use; NULL = $TERN_CPU, else the best */
    const char *device;                  /* what computes; NULL = "cpu" */
    bool fallback;                       /* what it cannot run may run on the CPU */
    int n_threads;                       /* how many numbers of threads to measure with, ... */
    const int *threads;                  /* ... and which; none: all that may be used */
    int n_prompt;                        /* tokens of the prompt; 0: no such test */
    int n_gen;                           /* tokens generated one by one; 0: no such test */
    int n_prompt_sizes, n_gen_sizes;     /* several of them: how many numbers, ... */
    const int *prompt_sizes, *gen_sizes; /* ... and which, instead of n_prompt and n_gen; all above 0 */
    int n_depth;                         /* tokens that are in the context before */
    int repetitions;                     /* runs of each test; 0 = 5 */
    int64_t batch;                       /* most rows computed at once; 0 = TERN_SESSION_BATCH */
    tern_dtype cache;                    /* of keys and values: TERN_F16 (0: this one), TERN_F32 or TERN_I8 */
    /* bytes that the probes of limits read; 0 = 256 MiB; with less, all probes are shorter, and worth less */
    int64_t memory;
    /* a test that takes longer is given up, and says so; so is opening the model; 0 = 600 */
    double timeout_s;
    bool steps; /* keep how long every step takes, which costs a look at the clock for each */
    tern_bench_progress progress; /* or NULL */
    void *progress_user;
} tern_bench_model_options;

/* Steps of one kind: the same kernel on operands of the same size. */
typedef struct tern_bench_step {
    int n_ops;
    const char *const *ops; /* (n_ops) what it computes: the op, or those that are fused in it */
    const char *kernel;
    int threads, count;
    double seconds;        /* of all of them together in one run, each the fastest of all runs */
    uint64_t flops, bytes; /* of one of them, estimated */
    bool at_most;          /* flops and bytes are the most they can be: rates cannot be told */
} tern_bench_step;

/* One test with one number of threads. Pointers are valid during the visit. */
typedef struct tern_bench_model_row {
    const char *model_type;           /* "bitnet-b1.58 2.41 B I2_S" */
    const char *test;                 /* "pp512", "tg128 @ d64": the name of its row in results */
    const char *device;               /* what computed: "cpu" */
    const char *isa;                  /* of the CPU; "" of other devices */
    uint64_t model_bytes, parameters; /* of the file; numbers in its weights */
    int threads, n_prompt, n_gen, n_depth;
    int64_t batch;
    tern_dtype cache;
    uint64_t cache_bytes; /* of keys and values */
    int rounds; /* samples; 0: `error` says why there are none, "unavailable: ..." if it took too long */
    const double *seconds;
    /* (rounds) what all threads of the process computed meanwhile; NULL: unknown */
    const double *cpu_seconds;
    double average_s, deviation_s;       /* of the seconds; the deviation of one is NaN */
    double average_rate, deviation_rate; /* of tokens per second; likewise */
    tern_limit_kind limit_kind;
    double limit_rate; /* bytes or operations per second that the machine gave at most in the same rounds */
    const char *limit; /* how that was reached */
    /* of the limit; NaN (generation whose weights stay in caches and other devices have none): `error` says why */
    double share;
    double share_mad; /* its median distance from the median; NaN of one sample */
    /* Prompts of ternary models: int8 operations per second of the best dot products of vectors in the same rounds, and the share
     * of those. Where there are tiles (AMX), which the limit above is of, the share may be more than 1. 0: not measured. */
    double dot_rate, dot_share;
    /* of weights, as they run: ternary ones as they are packed. By these the share of the read bandwidth is reckoned, ... */
    uint64_t bytes_per_token;
    const char *bytes_rule; /* ... and what they are */
    double first_token_s;   /* from the prompt to the first token chosen; NaN where there is no prompt */
    double ready_s;         /* from opening the file to the first token of another prompt, of one token */
    /* of the process, after all kinds of runs and before limits are measured; 0: unknown */
    uint64_t peak_memory;
    int n_steps; /* 0 unless asked for; the slowest first */
    const tern_bench_step *steps;
    const char *error; /* "", or one sentence */
} tern_bench_model_row;

typedef void (*tern_bench_model_visit)(void *user, const tern_bench_model_row *row);

#ifdef __cplusplus
extern "C" {
#endif

/* 512 tokens of prompt, 128 generated, 5 repetitions, keys and values in f16. */
TERN_API tern_bench_model_options tern_bench_model_options_default(void);

/* Loads the model for each number of threads, then runs each test once to warm up and `repetitions` times in turns with its
 * limit. Tokens are arbitrary; a prompt ends with the likeliest token chosen. TERN_STATE, after all tests: none could be measured.
 * TERN_CANCELLED: opening the model took too long, or `progress` asked to stop. */
TERN_API tern_status tern_bench_model(const tern_bench_model_options *options, tern_bench_model_visit visit,
                                      void *user);

/* Adds the test to a set of results, for baselines: suite "model", the model's type as family, "pp512" or "tg128 @ d64" as name, its
 * seconds as samples. tern_regress_run measures such rows again if the set knows the file (tern_bench_model_note_settings). */
TERN_API tern_status tern_bench_model_add(const tern_bench_model_row *row, tern_results *results);

/* Notes among the conditions of results which model they are of, and with which instruction sets, so that tern_regress_run can
 * measure them again. */
TERN_API tern_status tern_bench_model_note_settings(const tern_bench_model_options *options,
                                                    tern_results *results);

#ifdef __cplusplus
}
#endif
#endif

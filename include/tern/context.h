/* context.h - a context owns tensors, the memory pool and the threads that compute; scopes own temporaries.
 *
 * Threading: a context and the tensors and execs made from it belong to one thread at a time. Different contexts are
 * independent. Graphs (but for tern_graph_bind) and programs do not change once made: any number of threads may read them at
 * once, if the tensors that they read are frozen.
 * Lifetimes: execs are freed before their program and their context; graphs and programs may outlive the context. */
#ifndef TERN_CONTEXT_H
#define TERN_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/pool.h>
#include <tern/status.h>

typedef struct tern_ctx tern_ctx;
typedef struct tern_tensor tern_tensor;

struct tern_compile_options; /* <tern/program.h> */

/* Zeroed fields are the defaults. */
typedef struct tern_ctx_options {
    int threads; /* 0 = as many as affinity and cgroup limits allow                          */
    const char *
        cpu; /* highest instruction set to use, and features to do without: "avx2", "avx2,-avxvnni", "-avxvnni"; NULL =
                      * $TERN_CPU, else the best */
    const char *
        tuning; /* file of tuning results (<tern/tune.h>); "off": none is read or written; NULL = $TERN_TUNING,
                         * else tern/tuning.db in $XDG_CACHE_HOME or ~/.cache                      */
    tern_pool_options pool;
    const struct tern_compile_options *compile; /* of lazy evaluation; NULL = defaults */
    const char *device; /* what computes, one of `tern devices`; "auto": what is predicted to
                                                 * be fastest, step by step (<tern/tune.h>); NULL = "cpu" */
    bool fallback; /* what the device cannot run may run on the CPU, which is logged once for each op; else
                               * compiling it fails and names it. Likewise what fails on the device */
    const char
        *kernels; /* folder where devices keep what they built; "off": nothing is kept; NULL = $TERN_KERNELS,
                               * else tern/kernels in $XDG_CACHE_HOME or ~/.cache */
    const char *dump_kernels; /* folder that sources of generated kernels are written to; NULL = nowhere */
    int retries; /* how often what failed on the device is tried again, if that may help; 0 = 2, below 0: never */
    bool check; /* the CPU computes each step of the device too, and compares: slow. Also $TERN_CHECK=1 */
    bool
        background; /* threads of the context and of its streams make way for others. The caller's: tern_thread_background */
    size_t
        device_memory; /* bytes that a device may have of its own memory, what it keeps for later included; more is
                           * TERN_OUT_OF_MEMORY. 0 = as many as there are. The CPU has none of its own: see `pool` */
} tern_ctx_options;

typedef struct tern_ctx_stats {
    uint64_t evaluations;      /* plans run                                        */
    uint64_t steps;            /* kernels run                                      */
    uint64_t nodes_live;       /* recorded operations and leaves that still exist  */
    uint64_t arena_peak_bytes; /* largest arena that a plan has used               */
    uint64_t cache_hits, cache_misses, cache_evictions, cache_entries; /* of compiled graphs */
    uint64_t fused_ops, single_ops; /* operations run: in one step with others, and in a step of their own */
    uint64_t device_steps;          /* of the steps: run by another device than the CPU */
    uint64_t fallback_steps;        /* run by the CPU though another device was to run them */
    uint64_t device_failures;       /* calls of the device that failed for its own reasons */
    uint64_t device_retries;        /* of those: tried again */
    uint64_t device_moves;          /* programs that the CPU took over */
    uint64_t checked_steps;         /* steps of the device that were compared with the CPU */
    uint64_t check_failures;        /* of those: the results were wrong */
    uint64_t predicted_ns,
        measured_ns; /* of partitions that were placed by predicted times (device "auto") */
} tern_ctx_stats;

/* What is known of a failure of a context's device. tern_last_error says the same in one line:
 *
 *     device 'opencl': run of matmul failed (3 times): <cause> */
typedef struct tern_device_error {
    const char *device; /* "opencl"; on device "auto" the one that it chose */
    const char *doing;  /* "compile", "run" or "check" */
    const char
        *op;  /* of the step, "matmul"; the first ones if it is fused; "a plan" if no step is to blame */
    int step; /* of the plan; -1: no step is to blame */
    tern_status status; /* what the device said: TERN_OUT_OF_MEMORY, TERN_UNAVAILABLE (it is lost), ... */
    int tries;          /* how often it failed in a row */
    bool taken_over;    /* the CPU has computed it since: results are right */
    char cause[512];    /* the device's own sentence */
} tern_device_error;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_ctx_options tern_ctx_options_default(void);

/* `options` NULL = defaults. */
TERN_API tern_status tern_ctx_create(const tern_ctx_options *options, tern_ctx **out);

/* Frees the context and every tensor made from it, released or not. Memory exported by DLPack stays valid
 * until its consumer drops it. NULL is fine. */
TERN_API void tern_ctx_destroy(tern_ctx *ctx);

TERN_API int tern_ctx_threads(const tern_ctx *ctx);
TERN_API tern_pool *tern_ctx_pool(tern_ctx *ctx); /* owned by the context */
TERN_API void tern_ctx_get_stats(const tern_ctx *ctx, tern_ctx_stats *out);

/* The last failure of the context's device; false, and *out as it was, if there was none. Strings are static. */
TERN_API bool tern_ctx_device_error(const tern_ctx *ctx, tern_device_error *out);

/* Most threads that compute from now on, of those that the context has; 0 = all. Results do not depend on it. Any thread. */
TERN_API void tern_ctx_limit_threads(tern_ctx *ctx, int most);

/* The calling thread makes way for others from now on: a niceness of 10 and batch scheduling on Linux, the class of background work
 * on macOS; TERN_UNSUPPORTED elsewhere, TERN_UNAVAILABLE if the system refuses. */
TERN_API tern_status tern_thread_background(void);

/* Lets go of what is kept for later: compiled graphs, with released constants that only they still hold, idle memory
 * of the pool, and caches of the device. Returns the bytes given back to the system, as far as devices tell. Nothing that is in use
 * changes. */
TERN_API size_t tern_ctx_trim(tern_ctx *ctx);

/* Whether to stop is asked between the steps of a run and between slices of its longer ones, by every thread that computes: `asked`
 * is called on any of them, several at once; and between kernels that a device builds before the first run. Once it says yes the run ends with TERN_CANCELLED, and what it was to compute or
 * to change is in no state to be read. Steps are cut into slices as long as there is somebody to ask, which may cost some of them
 * time but changes no result; NULL, as at first: nobody is asked, and nothing is cut. */
typedef bool (*tern_stop_asked)(void *user);
TERN_API void tern_ctx_set_stop(tern_ctx *ctx, tern_stop_asked asked, void *user);

/* The first program of a device may take a minute where kernels have to be built. Before each of them `told` is called, on the thread that
 * compiles: for step `step` (from 1) of the plan's `steps`; `kept`: it will be there the next time. NULL, as at first: nobody is told. */
typedef void (*tern_building_told)(void *user, const char *device, int step, int steps, bool kept);
TERN_API void tern_ctx_set_building(tern_ctx *ctx, tern_building_told told, void *user);

/* ---- Ownership ---------------------------------------------------------------------------------------------
 *
 * A tensor made while a scope is open is owned by the innermost open scope and dies with it. A tensor made
 * outside any scope is owned by the caller, who releases it (or lets tern_ctx_destroy do so).
 * tern_keep adds a reference that belongs to the caller, so the tensor outlives its scope. */

TERN_API void tern_scope_open(tern_ctx *ctx);
TERN_API void tern_scope_close(tern_ctx *ctx); /* closes the innermost; nothing if none is open */

TERN_API tern_tensor *tern_keep(tern_tensor *t); /* returns t */
TERN_API void tern_release(tern_tensor *t);      /* drops one reference of the caller's; NULL is fine */

/* ---- Where operations come from ------------------------------------------------------------------------------
 *
 * What is recorded between the two belongs to a part called `name`, inside the parts that are open already:
 * "layer 3", then "attention", is "layer 3/attention". Printed graphs say so (`from`), and profiles tell
 * time by part. A path of more than 256 bytes stays that of the part outside. */

TERN_API void tern_origin_open(tern_ctx *ctx, const char *name);
TERN_API void tern_origin_close(tern_ctx *ctx); /* the innermost; nothing if none is open */

/* For TERN_SCOPE. */
typedef struct tern_scope_guard {
    tern_ctx *ctx;
    int open;
} tern_scope_guard;
TERN_API tern_scope_guard tern_scope_guard_open(tern_ctx *ctx);
TERN_API void tern_scope_guard_close(tern_scope_guard *guard);

/* TERN_SCOPE(ctx) { ... } closes the scope however the block is left: by its end, break, return or goto. */
#if defined(__GNUC__) || defined(__clang__)
#define TERN_SCOPE(ctx)                                                                 \
    for (tern_scope_guard tern_scope_guard_                                             \
         __attribute__((cleanup(tern_scope_guard_close))) = tern_scope_guard_open(ctx); \
         tern_scope_guard_.open; tern_scope_guard_close(&tern_scope_guard_))
#endif

#ifdef __cplusplus
}
#endif
#endif

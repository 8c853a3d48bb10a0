/* context.h - a context: recorder, memory, device, and what evaluation reuses from one run to the next. */
#ifndef TERN_RUNTIME_CONTEXT_H
#define TERN_RUNTIME_CONTEXT_H

#include <stdatomic.h>

#include "base/trim.h"
#include "devices/device.h"
#include "devices/mixed.h"
#include "graph/node.h"
#include "passes/pass.h"
#include "runtime/program_cache.h"
#include "runtime/tuning.h"

enum { TERN__MOST_GONE = 16 };

struct tern_ctx {
    tern__recorder recorder; /* first: see tern__recorder_of */
    tern_pool *pool;
    const tern__device_ops *host_ops, *device_ops;
    tern__device *host;         /* the CPU */
    tern__device *device;       /* what computes: the CPU, or another */
    const tern__target *target; /* what is compiled for: the CPU's, or both in one */
    tern__mixed mixed;
    bool automatic; /* device "auto" was asked for: what is planned for the CPU is no fallback */
    int threads;
    tern__compile_options compile; /* of lazy evaluation */
    tern__program_cache cache;
    tern__tuning *tuning;
    tern_graph graph;    /* of the evaluation that runs */
    tern__arena arena;   /* its pointers */
    tern_tensor **roots; /* its outputs */
    size_t n_roots, cap_roots;
    tern_ctx_stats stats;
    tern__stop stop;
    tern__building building;
    bool background; /* threads make way for others: those of streams, too */
    bool fallback;   /* the CPU may take over what fails on the device */
    int retries;     /* of failures of the device that may pass */
    bool check;      /* what the device computes is compared with the CPU */
    bool lost;       /* no device is left, and the CPU runs everything */
    const char *
        gone[TERN__MOST_GONE]; /* (n_gone) names of devices that are lost: several where `auto` has several */
    int n_gone;
    _Atomic(int) most_threads; /* that may compute; 0: all. Any thread sets it */
    tern__trimmable trimmable; /* caches of the device */
    _Atomic(int) trim_level; /* that somebody asked for, on any thread: the next run sees to it; 0: nobody */
    tern_device_error device_error; /* the last; without a device: there was none */
    uint64_t said_failure;          /* hash of the failure that the log heard of last */
};

/* Is the device lost that runs what the plan has for another than the CPU? */
bool tern__is_lost(const tern_ctx *ctx, const tern__plan *plan);

enum { TERN__TRIM_ALL = 2 }; /* a level of tern_pool_pressure */

/* Has the device give back what it keeps for later; the bytes, as far as it knows. On the context's thread. */
size_t tern__trim_device(tern_ctx *ctx, int level);

/* Fails if the options ask for another device than the context's. */
tern_status tern__check_device(const tern_ctx *ctx, const tern_compile_options *options);

/* Evaluates; the recorder's evaluator. */
tern_status tern__eval(tern_ctx *ctx, int n, tern_tensor *const *tensors);

/* Evaluates `t` and gives its contiguous data: its own, or a copy that belongs to it. */
tern_status tern__dense_data(tern_tensor *t, const void **out);
/* The same, always the copy. */
tern_status tern__copied_data(tern_tensor *t, const void **out);

/* ---- settle.c ---- */

/* Evaluates every pending node that reads `storage`, so that it may be overwritten. One that cannot be computed becomes
 * an error tensor; only lack of memory fails. */
tern_status tern__settle_readers(tern_ctx *ctx, const tern__storage *storage);
/* Tensors, one reference each. Adding fails for want of memory only. */
typedef struct tern__tensor_list {
    tern_tensor **items;
    size_t n, capacity;
} tern__tensor_list;
bool tern__tensor_list_add(tern__tensor_list *list, tern_tensor *t);
void tern__tensor_list_free(tern__tensor_list *list);
/* The same for a list of pending tensors, one by one. */
tern_status tern__settle_each(tern_ctx *ctx, const tern__tensor_list *list);
/* Evaluates `t`, runs the writes recorded into its memory and evaluates the pending readers of it. */
tern_status tern__settle_for_writing(tern_tensor *t);
/* The same for handing out its address, through which others may write whenever they like. */
tern_status tern__expose(tern_tensor *t);

/* tern__tensor_wrap for memory that somebody else gave us: if it fails, the storage's drop function is not called and
 * the memory is still theirs. */
tern_tensor *tern__tensor_wrap_foreign(tern_ctx *ctx, const tern__type *type, tern__storage *storage,
                                       const tern__layout *layout);

/* ---- options_env.c: the one place below the program that reads the environment ---- */

/* The value of $TERN_CPU, or NULL. */
const char *tern__env_cpu(void);
/* Where tuning results are kept: $TERN_TUNING, else tern/tuning.db in the user's cache folder; "": nowhere. */
const char *tern__env_tuning(char *buffer, size_t size);
/* Where devices keep what they built: tern/kernels in the user's cache folder; NULL: nowhere. */
const char *tern__env_kernels(char *buffer, size_t size);

/* $TERN_CHECK: is it "1", "on", "yes" or "true"? What means neither on nor off is ignored, with a warning. */
bool tern__env_check(void);
/* tern__device_options.setting and .switched: one of the variables that are devices' own. */
const char *tern__env_setting(const char *name);
int tern__env_switched(const char *name);
/* The user's cache folder; NULL: there is none. */
const char *tern__env_user_cache(char *buffer, size_t size);

#endif

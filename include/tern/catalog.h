/* catalog.h - the library's tables, for tools: operations, kernels, passes, devices. */
#ifndef TERN_CATALOG_H
#define TERN_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/pass.h>
#include <tern/status.h>

typedef struct tern_op_info {
    const char *name;
    const char *section;   /* "Reductions"; the ops of a section stand together */
    const char *signature; /* "sum(x; axes:ints=[], keepdims:bool=false) -> y" */
    const char *description;
    const char *shape_rule, *dtype_rule, *cost_rule;
    const char *gradient; /* the rule; "zero": 0 wherever there is one; "none": tern_grad refuses */
    const char *kernel;
    int min_inputs, max_inputs; /* max -1 = any number */
    int results;                /* -1 = depends on the attributes */
    bool elementwise, view, commutative;
} tern_op_info;

typedef struct tern_kernel_info {
    const char *name, *op, *isa;
    const char *device; /* whose it is: "cpu" */
    const char *when;   /* the calls of the op that it is for: "f32, f16 and bf16"; NULL: all of them */
    bool usable;        /* runs on this machine, under $TERN_CPU */
    bool chosen;        /* and no better one of its kind does: it is the one that is used for those calls */
    /* Why it is chosen or not: "gemm_f32__avx2 is the strongest that runs; passed over: gemm_f32__avx512 (above the cap, avx2)". */
    const char *why;
} tern_kernel_info;

typedef struct tern_pass_info {
    const char *name, *description;
    tern_level level; /* runs at this one and above */
    bool optional;    /* may be switched off by name */
} tern_pass_info;

typedef struct tern_device_info {
    const char *name;      /* "cpu" */
    const char *backend;   /* "native" */
    const char *model;     /* "Intel(R) Xeon(R) ..." */
    const char *isa;       /* best level in use, under $TERN_CPU */
    const char *isa_limit; /* what keeps levels or features from being used: "$TERN_CPU"; NULL = nothing */
    const char *isa_available; /* all levels of this machine, space-separated */
    const char *features;      /* in use besides the level, space-separated: "avx512vbmi" */
    const char *kernels;       /* those that were chosen for it among several, space-separated */
    int cores_online, cores_usable;
    const char *cores_reason;              /* what limits the usable cores */
    int64_t memory_bytes;                  /* physical memory; 0 = unknown */
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* 0 = unknown */
    const char *unavailable;               /* why it cannot be used; NULL if it can */
    const char *driver;                    /* "Portable Computing Language 3.1"; NULL: it needs none */
    const char *precision;                 /* what it computes in; NULL = everything that there is */
    const char *limits;                    /* in words; NULL = none but memory */
    const char *memory_use;                /* whether it uses host memory in place; NULL = it is the host */
    double ternary_bits;                   /* that a ternary weight takes in memory; 0 = 2, as it is held */
} tern_device_info;

#ifdef __cplusplus
extern "C" {
#endif

/* Each returns TERN_OUT_OF_RANGE past the last entry. Strings are static. Any thread. */
TERN_API tern_status tern_catalog_op(int i, tern_op_info *out);
TERN_API tern_status tern_catalog_kernel(int i, tern_kernel_info *out);
TERN_API tern_status tern_catalog_pass(int i, tern_pass_info *out);
TERN_API tern_status tern_catalog_device(int i, tern_device_info *out);

#ifdef __cplusplus
}
#endif
#endif

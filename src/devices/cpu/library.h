/* library.h - f32 products of other libraries, rows TERN_LIBRARY of kernels.def. They sum in an order of their own, which may
 * depend on shapes, threads and versions (order=library): nothing uses them unless a caller asks for one by name
 * (tern_compile_options.library). They are loaded when they are first asked for or listed. */
#ifndef TERN_DEVICES_CPU_LIBRARY_H
#define TERN_DEVICES_CPU_LIBRARY_H

#include "graph/target.h"

typedef int (*tern__dnnl_fn)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
                             const float *, int64_t, float, float *, int64_t);
typedef void (*tern__cblas_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                               float, float *, int);

typedef struct tern__library {
    const char *name, *kernel;       /* "onednn", "matmul__onednn" */
    const char *files[3];            /* to be tried, NULL at the end */
    const char *product, *get, *set; /* names of functions; the last two may be NULL */
    bool tried;
    char missing[160];    /* why it cannot be used; empty: it can */
    tern__dnnl_fn dnnl;   /* one of these two is there */
    tern__cblas_fn cblas; /* row-major */
    int (*get_threads)(void);
    void (*set_threads)(int);
} tern__library;

/* Row i, loaded if it can be; NULL past the last. */
const tern__library *tern__library_at(int i);

/* By the name that options give. TERN_NOT_FOUND lists the names, TERN_UNAVAILABLE says why. */
tern_status tern__library_find(const char *name, const tern__library **out);

/* What $OPENBLAS_CORETYPE should say here before OpenBLAS is loaded, for programs that may set it; NULL: anything. */
const char *tern__library_core_type(void);

/* From now on it uses so many threads. */
void tern__library_use_threads(const tern__library *library, int threads);

/* The kernel for a call of op matmul on the target's library. *found stays false where that has none for it: Tern's own
 * does. */
tern_status tern__cpu_library(const tern__target *target, const tern__call *call, tern__arena *arena,
                              tern__choice *out, bool *found);

#endif

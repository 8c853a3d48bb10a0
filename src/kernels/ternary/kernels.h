/* kernels.h - the rows of ternary kernels: one line per form and ISA, weakest first, the last match wins. */
#ifndef TERN_KERNELS_TERNARY_KERNELS_H
#define TERN_KERNELS_TERNARY_KERNELS_H

#include "kernels/ternary/ternary.h"

/* clang-format off */
#define TERN__TERNARY_BASELINE_LIST(X) \
    X(ternary_t2__ref)                 \
    X(ternary_t5__ref)

#if defined(__x86_64__)
#define TERN__TERNARY_KERNEL_LIST(X) \
    TERN__TERNARY_BASELINE_LIST(X)   \
    X(ternary_t2__sse42)             \
    X(ternary_t5__sse42)             \
    X(ternary_t2__avx2)              \
    X(ternary_t5__avx2)              \
    X(ternary_t2__avx512)            \
    X(ternary_t5__avx512)            \
    X(ternary_t2__avx512vnni)        \
    X(ternary_t5__avx512vnni)        \
    X(ternary_t5__avx512vbmi)
#elif defined(__aarch64__)
#define TERN__TERNARY_KERNEL_LIST(X) \
    TERN__TERNARY_BASELINE_LIST(X)   \
    X(ternary_t2__neon)              \
    X(ternary_t5__neon)              \
    X(ternary_t2__neondot)           \
    X(ternary_t5__neondot)
#else
#define TERN__TERNARY_KERNEL_LIST(X) TERN__TERNARY_BASELINE_LIST(X)
#endif
/* clang-format on */

#define TERN__TERNARY_DECLARE(kernel) extern const tern__ternary_kernel tern__##kernel;
TERN__TERNARY_KERNEL_LIST(TERN__TERNARY_DECLARE)
#undef TERN__TERNARY_DECLARE

#endif

/* select.h - the rows of kernels.def, and which of a family runs here. */
#ifndef TERN_KERNELS_SELECT_H
#define TERN_KERNELS_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

typedef enum tern__kernel_family {
#define TERN_FAMILY(name) TERN__FAMILY_##name,
#include "kernels/kernels.def"
    TERN__KERNEL_FAMILIES,
} tern__kernel_family;

typedef struct tern__kernel_row {
    tern__kernel_family family;
    const char *name; /* "ternary_t5__avx512vbmi" */
    tern__isa isa;
    tern__feature feature; /* beyond the level, or TERN__FEATURE_NONE */
    const void *kernel;    /* of the family's type */
} tern__kernel_row;

/* All rows of this build, weakest first within a family. */
const tern__kernel_row *tern__kernel_rows(int *count);

/* Does this processor run it, within the levels and features of `isa_mask` (tern__isa_mask_within)? The first question about a row of AMX, and so
 * the first tern__kernel_select within that level, asks the system for its tiles (tern__isa_permitted); later ones ask nobody. */
bool tern__kernel_runs(const tern__kernel_row *row, uint32_t isa_mask);

/* The last row of a family that runs; NULL if none does. */
const tern__kernel_row *tern__kernel_select(tern__kernel_family family, uint32_t isa_mask);

/* Types are declared by their families' headers: who reads a kernel includes that. */
#define TERN_KERNEL(family, type, suffix, isa, feature) extern const struct type tern__##family##__##suffix;
#include "kernels/kernels.def"

#endif

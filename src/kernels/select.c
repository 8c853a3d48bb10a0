/* select.c - kernels.def as data. */
#include "kernels/select.h"

#include <stddef.h>

static const tern__kernel_row rows[] = {
#define TERN_KERNEL(family_id, type, suffix, level, needs) \
    {.family = TERN__FAMILY_##family_id,                   \
     .name = #family_id "__" #suffix,                      \
     .isa = TERN__ISA_##level,                             \
     .feature = TERN__FEATURE_##needs,                     \
     .kernel = &tern__##family_id##__##suffix},
#include "kernels/kernels.def"
};

const tern__kernel_row *tern__kernel_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}

bool tern__kernel_runs(const tern__kernel_row *row, uint32_t isa_mask)
{
    const uint32_t feature = row->feature ? TERN__ISA_FEATURE_BIT(row->feature) : 0;
    return tern__isa_permitted(isa_mask & 1u << row->isa) != 0 && (isa_mask & feature) == feature;
}

const tern__kernel_row *tern__kernel_select(tern__kernel_family family, uint32_t isa_mask)
{
    const tern__kernel_row *best = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].family == family && tern__kernel_runs(&rows[i], isa_mask))
            best = &rows[i];
    return best;
}

/* overwrite.c - replaces every element of a state: a copy of the second operand, which broadcasts, into the result,
 * which is the first. */
#include <string.h>

#include "kernels/ref/loops.h"

TERN__KERNEL(copy__ref);

static void copy_run(const tern__element_run *run)
{
    size_t bytes = tern__dtype_unit_bytes(run->args->out[0].type->dtype);
    const char *from = run->at[0];
    char *to = run->at[1];
    for (int64_t i = 0; i < run->n; i++)
        memcpy(to + i * run->step[1], from + i * run->step[0], bytes);
}

KERNEL(overwrite)
{
    tern__kernel_args copy = *args;
    copy.in = args->in + 1;
    copy.n_in = 1;
    if (tern__dtype_is_packed(copy.out[0].type->dtype))
        return tern_copy__ref(&copy, begin, end);
    return tern__elementwise(&copy, begin, end, copy_run);
}

/* where.c - a choice between two operands. Elements are moved as bits, so only their size matters. */
#include <string.h>

#include "kernels/ref/loops.h"

/* The tables below read best as they are. */
/* clang-format off */

#define WHERE(bytes)                                                                        \
    static void where_##bytes(const tern__element_run *run)                                         \
    {                                                                                       \
        const char *condition = run->at[0], *a = run->at[1], *b = run->at[2];               \
        char *to = run->at[3];                                                              \
        const int64_t *step = run->step;                                                    \
        for (int64_t i = 0; i < run->n; i++) {                                              \
            const char *chosen = condition[i * step[0]] ? a + i * step[1] : b + i * step[2]; \
            memmove(to + i * step[3], chosen, bytes);                                       \
        }                                                                                   \
    }
WHERE(1)
WHERE(2)
WHERE(4)
WHERE(8)

KERNEL(where)
{
    static const tern__loop loops[] = {[1] = where_1, [2] = where_2, [4] = where_4, [8] = where_8};
    tern_dtype dtype = args->out[0].type->dtype;
    bool fits = args->in[0].type->dtype == TERN_BOOL && args->in[1].type->dtype == dtype &&
                args->in[2].type->dtype == dtype && !tern__dtype_is_packed(dtype);
    return tern__elementwise(args, begin, end, fits ? loops[tern__dtype_unit_bytes(dtype)] : NULL);
}

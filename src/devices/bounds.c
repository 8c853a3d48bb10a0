/* bounds.c - what the column `bound` of ops.def means. */
#include "devices/bounds.h"

#include "graph/region.h"

typedef struct bound_row {
    double numbers;
    bool whole, stated;
} bound_row;

#define BOUND_none      \
    {                   \
        0, false, false \
    }
#define BOUND_exact    \
    {                  \
        0, false, true \
    } /* the same bits everywhere */
#define BOUND_function    \
    {                     \
        4e-6, false, true \
    }
#define BOUND_sum        \
    {                    \
        4e-6, true, true \
    }
#define BOUND_product    \
    {                    \
        1e-5, true, true \
    }

static const bound_row rows[TERN__OP_COUNT] = {
#define TERN_OP(id, in, out, attrs, shape, dtype, flags, work, cost, bound, kind, grad, kernel, text) \
    [TERN__OP_##id] = BOUND_##bound,
#include "graph/ops.def"
#undef TERN_OP
};

bool tern__bound_is_stated(tern__opcode op)
{
    return rows[op].stated;
}

bool tern__bound_is_exact(tern__opcode op)
{
    return rows[op].stated && rows[op].numbers == 0;
}

/* NULL: the same bits everywhere. */
static const bound_row *inexact(tern__opcode op)
{
    return rows[op].numbers > 0 ? &rows[op] : NULL;
}

/* Of f16 and bf16 the last place may be rounded the other way, wherever something is computed. */
static double last_place(tern_dtype dtype)
{
    return dtype == TERN_F16 ? 0x1p-10 : dtype == TERN_BF16 ? 0x1p-7 : 0;
}

static bool computes(tern__opcode op)
{
    return inexact(op) || ((tern__ops[op].flags & TERN__ELEMENTWISE) && op != TERN__OP_cast);
}

tern__bound tern__bound_of(const tern__step *step, tern_dtype dtype)
{
    const tern__region *region =
        step->op == TERN__OP_fused ? step->attrs[TERN__ATTR_fused_body].region : NULL;
    const int n = region ? region->n_ops : 1;
    tern__bound out = {0};
    bool computed = false;
    for (int i = 0; i < n; i++) {
        const tern__opcode op = region ? region->ops[i].op : step->op;
        const bound_row *row = inexact(op);
        computed = computed || computes(op);
        out.numbers += row ? row->numbers : 0;
        out.whole = out.whole || (row && row->whole);
        out.units |= n > 1 && row; /* in a region what is rounded may have been computed in it */
    }
    out.numbers += computed ? last_place(dtype) : 0;
    return out;
}

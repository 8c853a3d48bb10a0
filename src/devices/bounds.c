/* bounds.c - the table of bounds. Elementwise ops that are not in it compute the same bits everywhere; all others are in it. */
#include "devices/bounds.h"

#include "graph/region.h"

typedef struct bound_row {
    tern__opcode op;
    double numbers;
    bool whole;
} bound_row;

#define EXACT(op)               \
    {                           \
        TERN__OP_##op, 0, false \
    }
#define FUNCTION(op)               \
    {                              \
        TERN__OP_##op, 4e-6, false \
    }
#define SUM(op)                   \
    {                             \
        TERN__OP_##op, 4e-6, true \
    }
#define PRODUCT(op)               \
    {                             \
        TERN__OP_##op, 1e-5, true \
    }

static const bound_row rows[] = {
    FUNCTION(rsqrt),
    FUNCTION(cbrt),
    FUNCTION(exp),
    FUNCTION(exp2),
    FUNCTION(expm1),
    FUNCTION(log),
    FUNCTION(log2),
    FUNCTION(log1p),
    FUNCTION(sin),
    FUNCTION(cos),
    FUNCTION(tan),
    FUNCTION(asin),
    FUNCTION(acos),
    FUNCTION(atan),
    FUNCTION(sinh),
    FUNCTION(cosh),
    FUNCTION(tanh),
    FUNCTION(erf),
    FUNCTION(elu),
    FUNCTION(gelu),
    FUNCTION(gelu_tanh),
    FUNCTION(silu),
    FUNCTION(sigmoid),
    FUNCTION(softplus),
    FUNCTION(pow),
    FUNCTION(atan2),
    FUNCTION(softmax),
    FUNCTION(rand),
    FUNCTION(randn),
    FUNCTION(arange),
    SUM(log_softmax),
    SUM(logsumexp),
    SUM(sum),
    SUM(mean),
    SUM(prod),
    SUM(var),
    SUM(cumsum),
    SUM(rmsnorm),
    SUM(layernorm),
    SUM(scatter_add),
    SUM(rope),
    SUM(quantise_rows),
    SUM(quantise_tensor),
    SUM(ternary_quantise),
    SUM(ternary_matmul),
    SUM(packed_ternary_matmul),
    SUM(avg_pool2d),
    PRODUCT(matmul),
    PRODUCT(linear),
    PRODUCT(packed_matmul),
    PRODUCT(packed_linear),
    PRODUCT(attention),
    PRODUCT(conv2d),
    EXACT(full),
    EXACT(eye),
    EXACT(reshape),
    EXACT(permute),
    EXACT(slice),
    EXACT(broadcast),
    EXACT(to_device),
    EXACT(again),
    EXACT(contiguous),
    EXACT(max),
    EXACT(min),
    EXACT(any),
    EXACT(all),
    EXACT(argmax),
    EXACT(argmin),
    EXACT(sort),
    EXACT(topk),
    EXACT(concat),
    EXACT(stack),
    EXACT(split),
    EXACT(pad),
    EXACT(gather),
    EXACT(packed_gather),
    EXACT(take_along),
    EXACT(one_hot),
    EXACT(tril),
    EXACT(triu),
    EXACT(flip),
    EXACT(ternary_dequantise),
    EXACT(overwrite),
    EXACT(write_slice),
    EXACT(write_rows),
    EXACT(max_pool2d),
};

static const bound_row *row_of(tern__opcode op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

bool tern__bound_is_stated(tern__opcode op)
{
    return row_of(op) || (tern__ops[op].flags & TERN__ELEMENTWISE);
}

/* NULL: the same bits everywhere. */
static const bound_row *inexact(tern__opcode op)
{
    const bound_row *row = row_of(op);
    return row && row->numbers > 0 ? row : NULL;
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

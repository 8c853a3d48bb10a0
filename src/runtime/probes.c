/* probes.c - the table of probes, smallest size first: next to nothing, in the caches, in memory. */
#include "runtime/probes.h"

#include <tern/ops.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"

static tern_tensor *input(tern_ctx *ctx, const char *name, tern_dtype dtype, int rank, const int64_t *shape)
{
    return tern_input(ctx, name, dtype, rank, shape);
}

/* ---- a chain: each reads the one before ---- */

static int make_rows(tern_ctx *ctx, int64_t size, int copies, tern_tensor **out)
{
    out[0] = input(ctx, "x", TERN_F32, 1, &size);
    for (int i = 0; i < copies; i++)
        out[0] = tern_neg(out[0]);
    return 1;
}

enum { ROW = 256 };

static int make_norms(tern_ctx *ctx, int64_t size, int copies, tern_tensor **out)
{
    out[0] = input(ctx, "x", TERN_F32, 2, (int64_t[]){size / ROW, ROW});
    for (int i = 0; i < copies; i++)
        out[0] = tern_rmsnorm(out[0], NULL, 1e-5);
    return 1;
}

static int make_moves(tern_ctx *ctx, int64_t size, int copies, tern_tensor **out)
{
    const int64_t rows = size / ROW;
    tern_tensor *indices = input(ctx, "i", TERN_I64, 1, &rows);
    out[0] = input(ctx, "x", TERN_F32, 2, (int64_t[]){rows, ROW});
    for (int i = 0; i < copies; i++)
        out[0] = tern_gather(out[0], indices, 0);
    return 1;
}

static int make_other(tern_ctx *ctx, int64_t size, int copies, tern_tensor **out)
{
    out[0] = input(ctx, "x", TERN_F32, 2, (int64_t[]){size / ROW, ROW});
    for (int i = 0; i < copies; i++)
        out[0] = tern_cumsum(out[0], -1);
    return 1;
}

/* ---- side by side: products of one operand with a constant each ---- */

/* Zeros: digits and numbers like any others, and no op that a device may not have. */
static tern_tensor *constant(tern_ctx *ctx, tern_dtype dtype, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    tern__type type;
    tern_tensor *t = NULL;
    if (tern__type_make("probe", dtype, 2, shape, &type) != TERN_OK)
        return tern__error_tensor(ctx, TERN_OUT_OF_MEMORY);
    void *zeros = tern__alloc_zero(tern__type_bytes(&type), 1);
    if (!zeros)
        return tern__error_tensor(ctx, tern__out_of_memory(tern__type_bytes(&type)));
    t = tern_from_data(ctx, dtype, 2, shape, zeros);
    tern__free(zeros);
    (void)tern_freeze(t); /* what fails shows when the graph is compiled */
    return t;
}

static int multiply(tern_ctx *ctx, int64_t rows, int64_t n, int copies, tern_tensor **out)
{
    tern_tensor *x = input(ctx, "x", TERN_F32, 2, (int64_t[]){rows, n});
    for (int i = 0; i < copies; i++)
        out[i] = tern_matmul(x, constant(ctx, TERN_F32, n, n), false, false);
    return copies;
}

static int multiply_ternary(tern_ctx *ctx, int64_t rows, int64_t n, int copies, tern_tensor **out)
{
    tern_tensor *x = input(ctx, "x", TERN_I8, 2, (int64_t[]){rows, n});
    for (int i = 0; i < copies; i++)
        out[i] = tern_ternary_matmul(x, constant(ctx, TERN_T2, n, n), NULL);
    return copies;
}

enum { MANY_ROWS = 64 };

static int make_float_vector(tern_ctx *ctx, int64_t n, int copies, tern_tensor **out)
{
    return multiply(ctx, 1, n, copies, out);
}

static int make_float_matrix(tern_ctx *ctx, int64_t n, int copies, tern_tensor **out)
{
    return multiply(ctx, MANY_ROWS, n, copies, out);
}

static int make_low_vector(tern_ctx *ctx, int64_t n, int copies, tern_tensor **out)
{
    return multiply_ternary(ctx, 1, n, copies, out);
}

static int make_low_matrix(tern_ctx *ctx, int64_t n, int copies, tern_tensor **out)
{
    return multiply_ternary(ctx, MANY_ROWS, n, copies, out);
}

/* One row at the end of a context, as generation has it: `positions` is filled with the last. */
static int make_attention(tern_ctx *ctx, int64_t context, int copies, tern_tensor **out)
{
    enum { HEADS = 8, GROUPS = 4, WIDTH = 64 };
    tern_tensor *q = input(ctx, "q", TERN_F32, 3, (int64_t[]){1, HEADS, WIDTH});
    tern_tensor *k = input(ctx, "k", TERN_F32, 4, (int64_t[]){1, context, GROUPS, WIDTH});
    tern_tensor *v = input(ctx, "v", TERN_F32, 4, (int64_t[]){1, context, GROUPS, WIDTH});
    tern_tensor *slots = input(ctx, "slots", TERN_I32, 1, (int64_t[]){1});
    tern_tensor *positions = input(ctx, "positions", TERN_I32, 1, (int64_t[]){1});
    for (int i = 0; i < copies; i++)
        out[i] = tern_attention(q, k, v, slots, positions, NULL, NULL, 0.125);
    return copies;
}

/* clang-format off */
const tern__cost_probe tern__cost_probes[] = {
    {TERN__COST_rows,         {1024, 65536, 1048576}, true,  make_rows},
    {TERN__COST_norms,        {1024, 65536, 1048576}, true,  make_norms},
    {TERN__COST_moves,        {1024, 65536, 1048576}, true,  make_moves},
    {TERN__COST_float_vector, {64, 512, 1024},        false, make_float_vector},
    {TERN__COST_float_matrix, {64, 256, 512},         false, make_float_matrix},
    {TERN__COST_low_vector,   {64, 1024, 2048},       false, make_low_vector},
    {TERN__COST_low_matrix,   {64, 512, 1024},        false, make_low_matrix},
    {TERN__COST_attention,    {32, 256, 2048},        false, make_attention},
    {TERN__COST_other,        {1024, 65536, 262144},  true,  make_other},
};
/* clang-format on */
const int tern__n_cost_probes = (int)TERN__COUNT(tern__cost_probes);

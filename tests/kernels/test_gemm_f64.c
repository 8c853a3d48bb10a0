/* test_gemm_f64.c - products in f64 against the reference: all kinds of operands, transposed, batched, broadcast, empty, odd strides,
 * any split. Bit for bit where multiply-adds are fused; elsewhere with whole numbers, whose products and sums are exact. */
#include "base/alloc.h"
#include "call.h"
#include "kernels/gemm/gemm_f64.h"
#include "kernels/select.h"

TERN__KERNEL(matmul__ref);

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static tern__gemm_f64_program program;

static size_t scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in, (void)in, (void)attrs;
    return program.scratch_bytes;
}

static tern_status kernel(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program;
    return tern_matmul__f64(args, begin, end);
}

static int64_t size(void)
{
    return roll(12) ? 1 + roll(roll(3) ? 12 : 150) : 0;
}

/* Of f64, and now and then of narrower floats, which become f64. */
static call random_call(bool whole)
{
    static const tern_dtype types[] = {TERN_F64, TERN_F64, TERN_F64, TERN_F32, TERN_F16, TERN_BF16};
    call c = {.n_in = 0};
    const int64_t m = size(), n = size(), k = size(), batch = 1 + roll(3);
    const bool a_is_matrix = roll(6) != 0, b_is_matrix = roll(6) != 0;
    const bool a_has_batch = a_is_matrix && roll(2), b_has_batch = b_is_matrix && roll(2);
    int64_t a[3], b[3], y[3];
    int a_rank = 0, b_rank = 0, y_rank = 0;
    if (a_has_batch)
        a[a_rank++] = batch;
    if (b_has_batch)
        b[b_rank++] = a_has_batch && roll(3) == 0 ? 1 : batch;
    if (a_has_batch || b_has_batch)
        y[y_rank++] = a_has_batch ? batch : b[0];
    c.attrs[0].i = a_is_matrix && roll(2);
    c.attrs[1].i = b_is_matrix && roll(2);
    if (a_is_matrix)
        a[a_rank++] = c.attrs[0].i ? k : m;
    a[a_rank++] = c.attrs[0].i ? m : k;
    if (b_is_matrix)
        b[b_rank++] = c.attrs[1].i ? n : k;
    b[b_rank++] = c.attrs[1].i || !b_is_matrix ? k : n;
    if (a_is_matrix)
        y[y_rank++] = m;
    if (b_is_matrix)
        y[y_rank++] = n;
    call_in_plain(&c, types[roll(6)], a_rank, a, 3);
    call_in_plain(&c, types[roll(6)], b_rank, b, 3);
    call_out(&c, TERN_F64, y_rank, y);
    for (int i = 0; i < 2 && whole; i++)
        for (int64_t e = 0; e < operand_numel(&c.in[i]); e++)
            operand_set(&c.in[i], e, (double)(roll(9) - 4));
    return c;
}

static void check_call(call *c, const tern__kernel_row *row)
{
    c->kernel = tern_matmul__ref;
    c->scratch = NULL;
    c->items = operand_numel(&c->out[0]); /* rows, whose last axis is b's, if that has one */
    if (c->in[1].type.rank > 1 && c->items > 0)
        c->items /= c->out[0].type.shape[c->out[0].type.rank - 1];
    CHECK_OK(call_once(c, c->in, c->out, NULL));
    operand want = operand_dense(&c->out[0]);
    CHECK(tern__gemm_f64_plan(row->kernel, &c->in[0].type, &c->in[1].type, &c->out[0].type, c->attrs,
                              &program));
    c->kernel = kernel;
    c->scratch = scratch;
    c->items = program.work;
    CHECK_OK(call_run(c));
    if (!operand_same(&want, &c->out[0]))
        harness_fail(__FILE__, __LINE__, "%s: %lld x %lld x %lld differs from the reference", row->name,
                     (long long)program.m, (long long)program.n, (long long)program.k);
    operand_free(&want);
}

TEST(products_equal_the_reference)
{
    int count, ran = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_gemm_f64 || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        const bool fused = ((const tern__gemm_f64_kernel *)row->kernel)->fused;
        ran++;
        for (int n = 0; n < harness_cases(120); n++) {
            call c = random_call(!fused);
            if (n % 5 == 0 && operand_numel(&c.in[n % 2]) > 0) {
                const double special[] = {INFINITY, -INFINITY, NAN};
                operand_set(&c.in[n % 2], roll(operand_numel(&c.in[n % 2])), special[roll(3)]);
            }
            check_call(&c, row);
            call_free(&c);
        }
    }
    if (ran == 0)
        SKIP("this processor has no kernel of products in f64");
}

TEST(results_of_other_types_are_left_to_others)
{
    const tern__type x = {.dtype = TERN_F32, .rank = 2, .shape = {2, 2}};
    CHECK(!tern__gemm_f64_plan(NULL, &x, &x, &x, (tern__attr[2]){{.i = 0}}, &program));
}

/* test_columns.c - reductions of columns against the reference, bit for bit: any axes but the last, kept or not, columns that lie
 * apart, runs longer than a piece, zeros of both signs, infinities and NaN, any split, at every level of instructions, on
 * processors that read one stream best and on others. */
#include "call.h"
#include "kernels/reduce/columns.h"
#include "kernels/select.h"

static tern__columns_program inner;

/* X(op) */
#define OPS(X) X(sum) X(mean) X(var) X(max) X(min)

#define ON_INNER(op)                                                                     \
    TERN__KERNEL(op##__ref);                                                             \
    static tern_status op##_columns(tern__kernel_args *args, int64_t begin, int64_t end) \
    {                                                                                    \
        args->program = &inner;                                                          \
        return tern_##op##__columns(args, begin, end);                                   \
    }
OPS(ON_INNER)

static const struct {
    const char *name;
    tern__kernel_fn reference, columns;
    bool needs_one;
} ops[] = {
#define OP(op) {#op, tern_##op##__ref, op##_columns, #op[0] == 'm' && #op[1] != 'e'},
    OPS(OP)
#undef OP
};
enum { N_OPS = sizeof ops / sizeof *ops };

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static const tern_dtype dtypes[] = {TERN_F32, TERN_F32, TERN_F16, TERN_BF16};

/* x of a random shape, reduced over some axes, and the result's shape. */
static call random_call(bool nonempty, int64_t axes[4])
{
    call c = {.n_in = 0};
    const int rank = 2 + (int)roll(3);
    const bool wide = roll(8) == 0;
    int64_t shape[4], y[4];
    int y_rank = 0;
    for (int d = 0; d < rank; d++)
        shape[d] = d == rank - 1 ? 1 + roll(wide ? 2200 : 70) : nonempty + roll(wide ? 4 : 13);
    c.attrs[1].i = roll(2);
    c.attrs[2].i = roll(3);
    c.attrs[0].ints = axes;
    const int always = (int)roll(rank - 1);
    for (int d = 0; d < rank; d++) {
        const bool reduced = d < rank - 1 && (d == always || roll(2));
        if (reduced)
            axes[c.attrs[0].count++] = roll(2) ? d : d - rank;
        if (!reduced || c.attrs[1].i)
            y[y_rank++] = reduced ? 1 : shape[d];
    }
    const tern_dtype dtype = dtypes[roll(4)];
    call_in_plain(&c, dtype, rank, shape, 3);
    call_out(&c, dtype, y_rank, y);
    return c;
}

/* On every kernel that runs here. */
static void check_call(call *c, int op)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    CHECK(tern__columns_fit(&c->in[0].type, &c->attrs[0], false));
    c->kernel = ops[op].reference;
    c->items = operand_numel(&c->out[0]);
    CHECK_OK(call_once(c, c->in, c->out, NULL));
    operand want = operand_dense(&c->out[0]);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_columns || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        inner =
            (tern__columns_program){.kernel = row->kernel,
                                    .rows = tern__rowop_tables(tern__isa_mask_capped(tern__cpu(), row->isa)),
                                    .in_order = roll(2) == 0};
        c->kernel = ops[op].columns;
        c->items = tern__columns_work(&c->in[0].type, &c->out[0].type);
        CHECK_OK(call_run(c));
        if (!operand_same(&want, &c->out[0]))
            harness_fail(__FILE__, __LINE__, "%s by %s", ops[op].name, row->name);
    }
    operand_free(&want);
}

TEST(columns_equal_the_reference)
{
    for (int n = 0; n < harness_cases(400); n++) {
        const int op = n % N_OPS;
        int64_t axes[4];
        call c = random_call(ops[op].needs_one, axes);
        const double special[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
        for (int64_t i = 0; n / N_OPS % 2 && operand_numel(&c.in[0]) > 0 && i < 12; i++)
            operand_set(&c.in[0], roll(operand_numel(&c.in[0])), special[roll(5)]);
        check_call(&c, op);
        call_free(&c);
    }
}

/* Of equal elements the first: zeros only. */
TEST(the_first_of_equal_elements_counts)
{
    for (int n = 0; n < 40; n++) {
        int64_t axes[4];
        call c = random_call(true, axes);
        for (int64_t i = 0; i < operand_numel(&c.in[0]); i++)
            operand_set(&c.in[0], i, roll(2) ? 0.0 : -0.0);
        check_call(&c, n % N_OPS);
        call_free(&c);
    }
}

TEST(the_last_axis_must_stay)
{
    const tern__type matrix = {.dtype = TERN_F32, .rank = 2, .shape = {3, 4}},
                     ints = {.dtype = TERN_I32, .rank = 2, .shape = {3, 4}},
                     vector = {.dtype = TERN_F32, .rank = 1, .shape = {3}};
    int64_t first[] = {0}, last[] = {-1};
    CHECK(tern__columns_fit(&matrix, &(tern__attr){.ints = first, .count = 1}, false));
    CHECK(!tern__columns_fit(&matrix, &(tern__attr){.ints = last, .count = 1}, false));
    CHECK(!tern__columns_fit(&matrix, &(tern__attr){.count = 0}, false)); /* all of them */
    CHECK(!tern__columns_fit(&ints, &(tern__attr){.ints = first, .count = 1}, false));
    CHECK(!tern__columns_fit(&vector, &(tern__attr){.ints = first, .count = 1}, false));
}

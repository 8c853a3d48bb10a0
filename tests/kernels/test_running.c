/* test_running.c - running sums against the reference, bit for bit: every type, any axis, rows alone and side by side, longer than a
 * piece, infinities and NaN, elements that lie apart, any split, every level of instructions. */
#include "call.h"
#include "kernels/reduce/running.h"
#include "kernels/select.h"

TERN__KERNEL(cumsum__ref);

static tern__columns_program program;

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static tern_status running(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program;
    return tern_cumsum__lanes(args, begin, end);
}

static void check(tern_dtype dtype, int rank, const int64_t *shape, int axis, bool special)
{
    call c = {.n_in = 0};
    operand *x = call_in_plain(&c, dtype, rank, shape, 3);
    const double awkward[] = {INFINITY, -INFINITY, NAN, -0.0, 60000};
    for (int i = 0; special && !tern__is_whole(dtype) && i < 5; i++)
        operand_set(x, roll(operand_numel(x)), awkward[roll(5)]);
    call_out(&c, tern__is_whole(dtype) ? TERN_I64 : dtype, rank, shape);
    c.attrs[0].i = roll(2) ? axis : axis - rank;
    c.kernel = tern_cumsum__ref;
    c.items = operand_numel(x) / shape[axis];
    CHECK_OK(call_once(&c, c.in, c.out, NULL));
    operand want = operand_dense(&c.out[0]);
    c.kernel = running;
    CHECK(tern__running_fit(&x->type, &c.attrs[0], &c.items));
    CHECK_OK(call_run(&c));
    if (!operand_same(&want, &c.out[0]))
        harness_fail(__FILE__, __LINE__, "%s, axis %d of %d", tern_dtype_name(dtype), axis, rank);
    operand_free(&want);
    call_free(&c);
}

TEST(running_sums_equal_the_reference)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F16, TERN_BF16, TERN_BOOL,
                                        TERN_U8,  TERN_I8,  TERN_I32,  TERN_I64};
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        const uint32_t mask = tern__isa_mask_capped(tern__cpu(), (tern__isa)level);
        if (!(mask >> level & 1))
            continue;
        program = (tern__columns_program){.kernel = tern__kernel_select(TERN__FAMILY_columns, mask)->kernel,
                                          .rows = tern__rowop_tables(mask)};
        for (int n = 0; n < 80; n++) {
            int64_t shape[4];
            const int rank = 1 + (int)roll(4), large = (int)roll(4);
            for (int d = 0; d < rank; d++)
                shape[d] = 1 + roll(d == large ? 120 : 9);
            check(dtypes[n % 8], rank, shape, (int)roll(rank), n % 2);
        }
        for (int k = 0; k < 8; k++) {
            check(dtypes[k], 2, (int64_t[]){11, 1100 + roll(50)}, 1,
                  k % 2);                                        /* pieces of rows, the last rows fewer */
            check(dtypes[k], 2, (int64_t[]){5, 1100}, 0, k % 2); /* pieces of columns */
            check(dtypes[k], 1, (int64_t[]){1500}, 0, k % 2);    /* one row */
        }
    }
}

TEST(other_operands_are_for_the_reference)
{
    int64_t work;
    const tern__type doubles = {.dtype = TERN_F64, .rank = 1, .shape = {3}},
                     nothing = {.dtype = TERN_F32, .rank = 2, .shape = {3, 0}},
                     number = {.dtype = TERN_F32, .rank = 0};
    CHECK(!tern__running_fit(&doubles, &(tern__attr){.i = 0}, &work));
    CHECK(!tern__running_fit(&nothing, &(tern__attr){.i = 1}, &work));
    CHECK(!tern__running_fit(&number, &(tern__attr){.i = -1}, &work));
}

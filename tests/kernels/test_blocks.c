/* test_blocks.c - few results of many elements: sums, means, variances and extremes over all axes, over the last and others, of a few columns
 * with many rows; against sums and deviations in the same blocks and lanes, written plainly, and extremes against the reference. And argmax and
 * argmin against the reference. Any axes, 16-bit floats, special values, odd layouts, any split, every level of instructions. */
#include "base/alloc.h"
#include "call.h"
#include "kernels/reduce/arg.h"
#include "kernels/reduce/blocks.h"
#include "kernels/select.h"

static tern__blocks_program program;
static const tern_dtype dtypes[] = {TERN_F32, TERN_F32, TERN_F16, TERN_BF16};

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

/* All items, in the pieces that were asked for, then the second half. */
static double *shared;
static int64_t items_done;

static tern_status blocks(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const int64_t items = program.groups * program.blocks;
    args->program = &program;
    args->shared = shared;
    tern_status status = tern_blocks__reduce(args, begin, end);
    items_done = begin == 0 ? end : items_done + end - begin;
    if (status != TERN_OK || items_done < items || program.blocks == 1)
        return status;
    const int64_t cut = items ? roll(items + 1) : 0;
    status = tern_blocks__finish(args, cut, items);
    return status == TERN_OK ? tern_blocks__finish(args, 0, cut) : status;
}

/* ---- what is expected ---- */

/* The sum of n numbers in the order of row programs. */
static double sum_in_lanes(const double *x, int64_t n)
{
    double lanes[16] = {0};
    for (int64_t i = 0; i < n; i += 32)
        for (int64_t j = 0; j < 16 && i + j < n; j++)
            lanes[j] += i + j + 16 < n ? x[i + j] + x[i + j + 16] : x[i + j];
    for (int half = 8; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lanes[j] += lanes[j + half];
    return lanes[0];
}

/* Element number i of result number y: the reduced axes in row-major order. */
static int64_t element(const tern__type *x, uint32_t reduced, int64_t y, int64_t i)
{
    int64_t at = 0, unit = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        int64_t *from = reduced >> d & 1 ? &i : &y;
        at += *from % x->shape[d] * unit;
        *from /= x->shape[d];
        unit *= x->shape[d];
    }
    return at;
}

/* Blocks deviate from their own means, and are put together by what these are apart. `x` is lost. */
static double variance_in_blocks(double *x)
{
    double mean = 0, deviations = 0;
    for (int64_t b = 0; b < program.blocks; b++) {
        const int64_t from = b * program.block, left = program.rows - from,
                      n = left < program.block ? left : program.block;
        const double own = sum_in_lanes(x + from, n) / (double)n;
        for (int64_t i = from; i < from + n; i++)
            x[i] = (x[i] - own) * (x[i] - own);
        const double squares = sum_in_lanes(x + from, n), apart = own - mean,
                     share = (double)n / (double)(from + n);
        deviations = b ? deviations + (squares + apart * apart * (double)from * share) : squares;
        mean = b ? mean + apart * share : own;
    }
    const double freedom = (double)(program.rows - program.ddof);
    return deviations / (freedom > 0 ? freedom : 0);
}

static double expected(const call *c, int64_t y)
{
    double *x = malloc(sizeof *x * (size_t)(program.rows + 1)), result = 0;
    for (int64_t i = 0; i < program.rows; i++)
        x[i] = operand_get(&c->in[0], element(&c->in[0].type, program.reduced, y, i));
    if (program.op == TERN__BLOCKS_SUM || program.op == TERN__BLOCKS_MEAN) {
        for (int64_t b = 0; b < program.blocks; b++) {
            const int64_t from = b * program.block, left = program.rows - from;
            const double sum = sum_in_lanes(x + from, left < program.block ? left : program.block);
            result = b ? result + sum : sum;
        }
        result = program.op == TERN__BLOCKS_MEAN ? result / (double)program.rows : result;
    } else if (program.op == TERN__BLOCKS_VAR) {
        result = variance_in_blocks(x);
    } else {
        const double sign = program.op == TERN__BLOCKS_MAX ? 1 : -1;
        result = -INFINITY * sign;
        for (int64_t i = 0; i < program.rows; i++)
            result = isnan(x[i]) || x[i] * sign > result * sign ? x[i] : result;
    }
    free(x);
    return result;
}

/* ---- calls ---- */

/* x reduced over some axes, at least one; what is left of its shape. */
static int left_of(call *c, int rank, const int64_t *shape, uint32_t reduced, int64_t *axes, int64_t *y)
{
    int y_rank = 0;
    c->attrs[0] = (tern__attr){.ints = axes};
    for (int d = 0; d < rank; d++) {
        const bool taken = reduced >> d & 1;
        if (taken)
            axes[c->attrs[0].count++] = roll(2) ? d : d - rank;
        if (!taken || c->attrs[1].i)
            y[y_rank++] = taken ? 1 : shape[d];
    }
    return y_rank;
}

static void check_call(call *c)
{
    shared = malloc(program.shared_bytes + 1);
    items_done = 0;
    c->kernel = blocks;
    c->items = program.groups * program.blocks;
    CHECK_OK(call_run(c));
    operand want = operand_dense(&c->out[0]);
    int64_t wrong = 0;
    for (int64_t y = 0; y < operand_numel(&want); y++) {
        operand_set(&want, y, expected(c, y)); /* rounds */
        const double a = operand_get(&want, y), b = operand_get(&c->out[0], y);
        wrong += !(same_number(a, b) ||
                   (a == 0 && b == 0)); /* which of zeros of both signs is largest is not said */
    }
    if (wrong)
        harness_fail(__FILE__, __LINE__,
                     "op %d, %lld groups of %lld lanes, %lld rows in %lld blocks: %lld differ",
                     (int)program.op, (long long)program.groups, (long long)program.lanes,
                     (long long)program.rows, (long long)program.blocks, (long long)wrong);
    operand_free(&want);
    free(shared);
}

static void check_shape(int rank, const int64_t *shape, uint32_t reduced, bool special)
{
    for (int op = TERN__BLOCKS_SUM; op <= TERN__BLOCKS_VAR; op++) {
        call c = {.n_in = 0};
        int64_t axes[4], y[4];
        c.attrs[1].i = roll(2);
        program.ddof = roll(3);
        const int y_rank = left_of(&c, rank, shape, reduced, axes, y);
        const tern_dtype dtype = dtypes[roll(4)];
        call_in_plain(&c, dtype, rank, shape, 3);
        call_out(&c, dtype, y_rank, y);
        const double awkward[] = {INFINITY, NAN, 0.0, -0.0};
        for (int i = 0; special && operand_numel(&c.in[0]) > 0 && i < 4; i++)
            operand_set(&c.in[0], roll(operand_numel(&c.in[0])), awkward[roll(4)]);
        program.op = (tern__blocks_op)op;
        CHECK(tern__blocks_plan(&c.in[0].type, &c.attrs[0], &program));
        check_call(&c);
        call_free(&c);
    }
}

static void at_every_level(void (*check)(void))
{
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        const uint32_t mask = tern__isa_mask_capped(tern__cpu(), (tern__isa)level);
        if (!(mask >> level & 1))
            continue;
        program.columns =
            (tern__columns_program){.kernel = tern__kernel_select(TERN__FAMILY_columns, mask)->kernel,
                                    .rows = tern__rowop_tables(mask),
                                    .in_order = roll(2) == 0};
        check();
    }
}

static void check_random(void)
{
    for (int n = 0; n < harness_cases(25); n++) {
        int64_t shape[4];
        const int rank = 1 + (int)roll(4);
        for (int d = 0; d < rank; d++)
            shape[d] = 1 + roll(rank == 1 ? 3000 : 14);
        const uint32_t last = 1u << (rank - 1);
        check_shape(rank, shape, last | (uint32_t)roll(last), n % 2);
    }
}

TEST(the_last_axis_and_others)
{
    at_every_level(check_random);
}

static void check_many(void)
{
    check_shape(2, (int64_t[]){130 + roll(30), 301}, 3, false); /* several blocks */
    check_shape(3, (int64_t[]){3, 2, 20000 + roll(200)}, 5, true);
    const int64_t lanes = 1 + roll(64);
    check_shape(2, (int64_t[]){66000 / lanes + 1 + roll(100), lanes}, 1, false); /* few columns, many rows */
    check_shape(3, (int64_t[]){2, 33000, 2}, 2, true);
}

TEST(several_blocks)
{
    at_every_level(check_many);
}

TEST(many_columns_are_for_other_kernels)
{
    const tern__type wide = {.dtype = TERN_F32, .rank = 2, .shape = {100000, 65}},
                     few = {.dtype = TERN_F32, .rank = 2, .shape = {100, 64}},
                     doubles = {.dtype = TERN_F64, .rank = 2, .shape = {100000, 4}},
                     ints = {.dtype = TERN_I32, .rank = 2, .shape = {100000, 4}};
    int64_t first[] = {0};
    const tern__attr axes = {.ints = first, .count = 1};
    tern__blocks_program p = {.op = TERN__BLOCKS_SUM};
    CHECK(!tern__blocks_plan(&wide, &axes, &p));
    CHECK(!tern__blocks_plan(&few, &axes, &p));
    CHECK(!tern__blocks_plan(&doubles, &axes, &p));
    CHECK(tern__blocks_plan(&ints, &axes, &p));
    p.op = TERN__BLOCKS_MEAN;
    CHECK(!tern__blocks_plan(&ints, &axes, &p));
}

/* ---- argmax, argmin ---- */

TERN__KERNEL(argmax__ref);
TERN__KERNEL(argmin__ref);

static tern_status arg_largest(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program.columns;
    return tern_argmax__blocks(args, begin, end);
}

static tern_status arg_smallest(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program.columns;
    return tern_argmin__blocks(args, begin, end);
}

static void check_arg(int rank, const int64_t *shape, int axis, bool special)
{
    for (int least = 0; least < 2; least++) {
        call c = {.n_in = 0};
        int64_t axes[1], y[4];
        c.attrs[1].i = roll(2);
        const int y_rank = left_of(&c, rank, shape, 1u << axis, axes, y);
        c.attrs[0] = (tern__attr){.i = roll(2) ? axis : axis - rank};
        operand *x = call_in_plain(&c, dtypes[roll(4)], rank, shape, 3);
        const double awkward[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 4, -4, 4, -4};
        for (int64_t i = 0; special && i < 2 + operand_numel(x) / 40; i++)
            operand_set(x, roll(operand_numel(x)), awkward[roll(9)]);
        call_out(&c, TERN_I64, y_rank, y);
        c.kernel = least ? tern_argmin__ref : tern_argmax__ref;
        c.items = operand_numel(&c.out[0]);
        CHECK_OK(call_once(&c, c.in, c.out, NULL));
        operand want = operand_dense(&c.out[0]);
        c.kernel = least ? arg_smallest : arg_largest;
        CHECK(tern__arg_fit(&x->type, &c.attrs[0], &c.items));
        CHECK_OK(call_run(&c));
        CHECK(operand_same(&want, &c.out[0]));
        operand_free(&want);
        call_free(&c);
    }
}

static void check_args(void)
{
    for (int n = 0; n < harness_cases(40); n++) {
        int64_t shape[4];
        const int rank = 1 + (int)roll(4);
        for (int d = 0; d < rank; d++)
            shape[d] = 1 + roll(roll(4) ? 9 : 90);
        check_arg(rank, shape, (int)roll(rank), n % 2);
    }
    check_arg(2, (int64_t[]){2, 7000}, 1, true); /* several blocks of a row, of columns */
    check_arg(2, (int64_t[]){9, 1100}, 0, true);
}

TEST(argmax_is_where_the_reference_finds_it)
{
    at_every_level(check_args);
}

/* Nothing but the worst there is: still the first. */
static void check_infinities(void)
{
    for (int least = 0; least < 2; least++) {
        call c = {.n_in = 0};
        operand *x = call_in_plain(&c, TERN_F32, 1, (int64_t[]){5000}, 1);
        for (int64_t i = 0; i < 5000; i++)
            operand_set(x, i, least ? INFINITY : -INFINITY);
        call_out(&c, TERN_I64, 0, NULL);
        c.attrs[0].i = 0;
        c.kernel = least ? arg_smallest : arg_largest;
        CHECK(tern__arg_fit(&x->type, &c.attrs[0], &c.items));
        CHECK_OK(call_run(&c));
        CHECK_EQ(operand_get(&c.out[0], 0), 0);
        call_free(&c);
    }
}

TEST(the_first_of_infinities)
{
    at_every_level(check_infinities);
}

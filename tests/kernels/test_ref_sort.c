/* sort and topk: order, stability, NaN, zeros, every dtype; and their scratch rules. */
#include "call.h"

TERN__KERNEL(sort__ref);
TERN__KERNEL(topk__ref);
size_t tern_sort__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);
size_t tern_topk__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

static const tern_dtype TYPES[] = {TERN_BOOL, TERN_U8,   TERN_I8,  TERN_I32, TERN_I64,
                                   TERN_F16,  TERN_BF16, TERN_F32, TERN_F64};

static call sort_call(tern_dtype dtype, int rank, const int64_t *shape, const double *values, int axis,
                      bool descending)
{
    call c = {.kernel = tern_sort__ref, .scratch = tern_sort__ref_scratch, .items = 1};
    call_in(&c, dtype, rank, shape, values);
    call_out(&c, dtype, rank, shape);
    call_out(&c, TERN_I64, rank, shape);
    for (int i = 0; i < rank; i++)
        c.items *= i == axis ? 1 : shape[i];
    c.attrs[0].i = axis;
    c.attrs[1].i = descending;
    return c;
}

TEST(sort_orders_special_values)
{
    const double *x = VALUES(NAN, 0, INFINITY, -0.0, -1, NAN, -INFINITY, 2);
    call c = sort_call(TERN_F32, SHAPE(8), x, 0, false);
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(-INFINITY, -1, 0, -0.0, 2, INFINITY, NAN, NAN)));
    CHECK(call_gives(&c, 1, VALUES(6, 4, 1, 3, 7, 2, 0, 5)));
    call_free(&c);

    c = sort_call(TERN_F32, SHAPE(8), x, 0, true);
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(INFINITY, 2, 0, -0.0, -1, -INFINITY, NAN, NAN)));
    CHECK(call_gives(&c, 1, VALUES(2, 7, 1, 3, 4, 6, 0, 5)));
    call_free(&c);
}

TEST(sort_of_wide_integers_is_exact)
{
    call c = sort_call(TERN_I64, SHAPE(4), VALUES(0, 0, 0, 0), 0, false);
    int64_t *x = (int64_t *)(void *)c.in[0].data;
    x[0] = INT64_MAX;
    x[1] = INT64_MIN;
    x[2] = INT64_MAX - 1; /* the same double as x[0] */
    x[3] = -1;
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 1, VALUES(1, 3, 2, 0)));
    call_free(&c);
    c = sort_call(TERN_U8, SHAPE(3), VALUES(200, 3, 127), 0, true);
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(200, 127, 3)));
    call_free(&c);
}

/* Does a come before b? By the text of the row, one case after the other. */
static bool comes_first(double a, double b, bool descending, bool nan_first)
{
    if (isnan(a) || isnan(b))
        return nan_first ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
    return descending ? a > b : a < b;
}

/* Insertion sort of the indices of a lane: stable by construction. */
static void sort_slowly(const operand *x, const int64_t *places, int64_t n, bool descending, bool nan_first,
                        int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i;
        for (; j > 0 && comes_first(operand_get(x, places[i]), operand_get(x, places[order[j - 1]]),
                                    descending, nan_first);
             j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

static void check_random(bool top)
{
    for (int round = 0; round < 90; round++) {
        tern_dtype dtype = TYPES[round % 9];
        int64_t shape[3], places[64], order[64];
        int rank = 1 + (int)dice_below(call_dice(), 3), axis = (int)dice_below(call_dice(), rank);
        bool flag = dice_below(call_dice(), 2) != 0;
        random_shape(rank, shape);
        shape[axis] = dice_below(call_dice(), 64);
        call c = sort_call(dtype, rank, shape, NULL, axis, flag);
        int64_t n = shape[axis], k = n, inner = 1;
        if (top) {
            k = dice_below(call_dice(), n + 1);
            c.kernel = tern_topk__ref;
            c.scratch = tern_topk__ref_scratch;
            c.attrs[0].i = k;
            c.attrs[1].i = axis - rank;
            c.attrs[2].i = flag;
            operand_free(&c.out[0]);
            operand_free(&c.out[1]);
            c.n_out = 0;
            shape[axis] = k;
            call_out(&c, dtype, rank, shape);
            call_out(&c, TERN_I64, rank, shape);
        }
        for (int i = axis + 1; i < rank; i++)
            inner *= shape[i];
        CHECK_OK(call_run(&c));
        for (int64_t lane = 0; lane < c.items; lane++) {
            for (int64_t i = 0; i < n; i++)
                places[i] = (lane / inner * n + i) * inner + lane % inner;
            sort_slowly(&c.in[0], places, n, flag, top && flag, order);
            for (int64_t i = 0; i < k; i++) {
                int64_t at = (lane / inner * k + i) * inner + lane % inner;
                CHECK_EQ((int64_t)operand_get(&c.out[1], at), order[i]);
                CHECK(same_number(operand_get(&c.out[0], at), operand_get(&c.in[0], places[order[i]])));
            }
        }
        call_free(&c);
    }
}

TEST(sort_agrees_with_insertion)
{
    check_random(false);
}

TEST(topk_agrees_with_insertion)
{
    check_random(true);
}

TEST(topk_takes_nan_as_largest)
{
    const double *x = VALUES(1, NAN, 5, 5, NAN, -INFINITY);
    for (int largest = 0; largest < 2; largest++) {
        call c = {.kernel = tern_topk__ref, .scratch = tern_topk__ref_scratch, .items = 1};
        call_in(&c, TERN_F16, SHAPE(6), x);
        call_out(&c, TERN_F16, SHAPE(4));
        call_out(&c, TERN_I64, SHAPE(4));
        c.attrs[0].i = 4;
        c.attrs[1].i = -1;
        c.attrs[2].i = largest;
        CHECK_OK(call_run(&c));
        CHECK(call_gives(&c, 0, largest ? VALUES(NAN, NAN, 5, 5) : VALUES(-INFINITY, 1, 5, 5)));
        CHECK(call_gives(&c, 1, largest ? VALUES(1, 4, 2, 3) : VALUES(5, 0, 2, 3)));
        call_free(&c);
    }
}

TEST(sort_of_a_long_lane)
{
    enum { N = 20000 };
    call c = sort_call(TERN_I32, SHAPE(N), NULL, 0, false);
    for (int64_t i = 0; i < N; i++)
        operand_set(&c.in[0], i, (double)dice_below(call_dice(), 500));
    CHECK_OK(call_once(&c, c.in, c.out, NULL));
    for (int64_t i = 1; i < N; i++) {
        double a = operand_get(&c.out[0], i - 1), b = operand_get(&c.out[0], i);
        CHECK(a < b || (a == b && operand_get(&c.out[1], i - 1) < operand_get(&c.out[1], i)));
    }
    call_free(&c);
}

/* gather, take_along, scatter_add, one_hot: by coordinates, negative indices, and indices that point
 * nowhere. */
#include "call.h"

TERN__KERNEL(gather__ref);
TERN__KERNEL(take_along__ref);
TERN__KERNEL(scatter_add__ref);
TERN__KERNEL(one_hot__ref);

static const tern_dtype TYPES[] = {TERN_BOOL, TERN_U8,   TERN_I8,  TERN_I32, TERN_I64,
                                   TERN_F16,  TERN_BF16, TERN_F32, TERN_F64};

/* Indices for an axis of `size` >= 1, from both ends. */
static void random_indices(const operand *o, int64_t size)
{
    for (int64_t i = 0; i < operand_numel(o); i++)
        operand_set(o, i, (double)(dice_below(call_dice(), 2 * size) - size));
}

static int64_t index_at(const operand *indices, int64_t i, int64_t size)
{
    int64_t index = (int64_t)operand_get(indices, i);
    return index < 0 ? index + size : index;
}

static bool same_element(const operand *a, int64_t i, const operand *b, int64_t j)
{
    return memcmp(operand_at(a, i), operand_at(b, j), tern__dtype_unit_bytes(a->type.dtype)) == 0;
}

/* Product of the sizes of axes [from, to). */
static int64_t span(const tern__type *type, int from, int to)
{
    int64_t count = 1;
    for (int d = from; d < to; d++)
        count *= type->shape[d];
    return count;
}

TEST(gather_by_coordinates)
{
    for (int round = 0; round < 90; round++) {
        tern_dtype dtype = TYPES[round % 9];
        int64_t shape[3], index_shape[3], y_shape[6];
        int rank = 1 + (int)dice_below(call_dice(), 3), index_rank = (int)dice_below(call_dice(), 4),
            y_rank = 0;
        int axis = (int)dice_below(call_dice(), rank);
        random_shape(rank, shape);
        random_shape(index_rank, index_shape);
        shape[axis] = 1 + dice_below(call_dice(), 5);
        call c = {.kernel = tern_gather__ref};
        operand *x = call_in(&c, dtype, rank, shape, NULL);
        operand *indices = call_in(&c, TERN_I64, index_rank, index_shape, NULL);
        random_indices(indices, shape[axis]);
        for (int d = 0; d < axis; d++)
            y_shape[y_rank++] = shape[d];
        for (int d = 0; d < index_rank; d++)
            y_shape[y_rank++] = index_shape[d];
        for (int d = axis + 1; d < rank; d++)
            y_shape[y_rank++] = shape[d];
        operand *y = call_out(&c, dtype, y_rank, y_shape);
        c.items = operand_numel(y);
        c.attrs[0].i = axis - (dice_below(call_dice(), 2) ? rank : 0);
        CHECK_OK(call_run(&c));
        int64_t inner = span(&x->type, axis + 1, rank), picked = operand_numel(indices);
        for (int64_t i = 0; i < c.items; i++) {
            int64_t index = index_at(indices, i / inner % picked, shape[axis]);
            int64_t from = (i / inner / picked * shape[axis] + index) * inner + i % inner;
            CHECK(same_element(y, i, x, from));
        }
        call_free(&c);
    }
}

TEST(take_along_by_coordinates)
{
    for (int round = 0; round < 90; round++) {
        tern_dtype dtype = TYPES[round % 9];
        int64_t shape[3], picked[3];
        int rank = 1 + (int)dice_below(call_dice(), 3), axis = (int)dice_below(call_dice(), rank);
        random_shape(rank, shape);
        shape[axis] = 1 + dice_below(call_dice(), 5);
        memcpy(picked, shape, sizeof shape);
        picked[axis] = dice_below(call_dice(), 5);
        call c = {.kernel = tern_take_along__ref};
        operand *x = call_in(&c, dtype, rank, shape, NULL);
        operand *indices = call_in(&c, TERN_I64, rank, picked, NULL);
        random_indices(indices, shape[axis]);
        operand *y = call_out(&c, dtype, rank, picked);
        c.items = operand_numel(y);
        c.attrs[0].i = axis - rank;
        CHECK_OK(call_run(&c));
        int64_t inner = span(&x->type, axis + 1, rank);
        for (int64_t i = 0; i < c.items; i++) {
            int64_t index = index_at(indices, i, shape[axis]);
            int64_t from = (i / inner / picked[axis] * shape[axis] + index) * inner + i % inner;
            CHECK(same_element(y, i, x, from));
        }
        call_free(&c);
    }
}

TEST(gather_refuses_what_is_not_there)
{
    const double bad[] = {3, -4, 0x1p62, -0x1p63};
    for (int i = 0; i < 4; i++) {
        call c = {.kernel = tern_gather__ref, .items = 4};
        call_in(&c, TERN_F32, SHAPE(3, 2), NULL);
        call_in(&c, TERN_I64, SHAPE(2), VALUES(-3, bad[i]));
        call_out(&c, TERN_F32, SHAPE(2, 2));
        CHECK_STATUS(call_run(&c), TERN_OUT_OF_RANGE);
        CHECK_EQ(c.fault.value, (int64_t)bad[i]);
        CHECK_EQ(c.fault.limit, 3);
        call_free(&c);
    }
    call e = {.kernel = tern_take_along__ref, .items = 1};
    call_in(&e, TERN_F32, SHAPE(0), NULL);
    call_in(&e, TERN_I64, SHAPE(1), VALUES(0));
    call_out(&e, TERN_F32, SHAPE(1));
    CHECK_STATUS(call_run(&e), TERN_OUT_OF_RANGE);
    CHECK_EQ(e.fault.limit, 0);
    call_free(&e);
}

/* ---- scatter_add --------------------------------------------------------------------------------------- */

TEST(scatter_add_adds_in_order)
{
    /* 1 + 2^-11 + 2^-11 in f16: each addition is a tie that goes back to 1 */
    call c = {.kernel = tern_scatter_add__ref, .items = 1};
    call_in(&c, TERN_F16, SHAPE(2, 2), VALUES(1, 10, 2, 20));
    call_in(&c, TERN_I64, SHAPE(3), VALUES(0, -1, 0));
    call_in(&c, TERN_F16, SHAPE(3, 2), VALUES(0x1p-11, 1, 5, 6, 0x1p-11, 2));
    call_out(&c, TERN_F16, SHAPE(2, 2));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(1, 13, 7, 26)));
    call_free(&c);

    call v = {.kernel = tern_scatter_add__ref, .items = 1};
    call_in(&v, TERN_U8, SHAPE(3), VALUES(250, 1, 2));
    call_in(&v, TERN_I64, SHAPE(4), VALUES(0, 2, 0, -2));
    call_in(&v, TERN_U8, SHAPE(4), VALUES(3, 4, 5, 6));
    call_out(&v, TERN_U8, SHAPE(3));
    CHECK_OK(call_run(&v));
    CHECK(call_gives(&v, 0, VALUES(2, 7, 6)));
    call_free(&v);
}

TEST(scatter_add_random)
{
    static const tern_dtype types[] = {TERN_I32, TERN_I64, TERN_F32, TERN_F64};
    for (int round = 0; round < 40; round++) {
        int64_t shape[3], rows = 1 + dice_below(call_dice(), 4), updates = dice_below(call_dice(), 6),
                          want[64];
        int rank = 1 + (int)dice_below(call_dice(), 3);
        random_shape(rank, shape);
        shape[0] = rows;
        call c = {.kernel = tern_scatter_add__ref, .items = 1};
        operand *x = call_in_plain(&c, types[round % 4], rank, shape, 0);
        operand *indices = call_in(&c, TERN_I64, SHAPE(updates), NULL);
        random_indices(indices, rows);
        shape[0] = updates;
        operand *u = call_in_plain(&c, types[round % 4], rank, shape, 0);
        shape[0] = rows;
        call_out(&c, types[round % 4], rank, shape);
        for (int64_t i = 0; i < operand_numel(u); i++)
            operand_set(u, i, (double)dice_below(call_dice(), 100));
        for (int64_t i = 0; i < operand_numel(x); i++)
            operand_set(x, i, (double)(want[i] = dice_below(call_dice(), 100)));
        int64_t inner = span(&x->type, 1, rank);
        for (int64_t i = 0; i < operand_numel(u); i++)
            want[index_at(indices, i / inner, rows) * inner + i % inner] += (int64_t)operand_get(u, i);
        CHECK_OK(call_run(&c));
        for (int64_t i = 0; i < operand_numel(x); i++)
            CHECK_EQ((int64_t)operand_get(&c.out[0], i), want[i]);
        call_free(&c);
    }
}

TEST(scatter_add_refuses_what_is_not_there)
{
    call c = {.kernel = tern_scatter_add__ref, .items = 1};
    call_in(&c, TERN_F32, SHAPE(2, 1), VALUES(1, 2));
    call_in(&c, TERN_I64, SHAPE(1), VALUES(2));
    call_in(&c, TERN_F32, SHAPE(1, 1), VALUES(1));
    call_out(&c, TERN_F32, SHAPE(2, 1));
    CHECK_STATUS(call_run(&c), TERN_OUT_OF_RANGE);
    CHECK_EQ(c.fault.value, 2);
    CHECK_EQ(c.fault.limit, 2);
    call_free(&c);
}

/* ---- one_hot ------------------------------------------------------------------------------------------- */

TEST(one_hot_gives_zeros_outside)
{
    for (int i = 0; i < 9; i++) {
        call c = {.kernel = tern_one_hot__ref, .items = 12};
        operand *indices = call_in(&c, TERN_I64, SHAPE(2, 2), VALUES(1, -1, 3, 0));
        *(int64_t *)(void *)operand_at(indices, 2) = INT64_MAX;
        call_out(&c, TYPES[i], SHAPE(2, 2, 3));
        CHECK_OK(call_run(&c));
        CHECK(call_gives(&c, 0, VALUES(0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0)));
        call_free(&c);
    }
    call s = {.kernel = tern_one_hot__ref, .items = 3};
    call_in(&s, TERN_I64, SCALAR, VALUES(2));
    call_out(&s, TERN_F32, SHAPE(3));
    CHECK_OK(call_run(&s));
    CHECK(call_gives(&s, 0, VALUES(0, 0, 1)));
    call_free(&s);
}

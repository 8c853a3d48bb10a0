/* test_ref_cast.c - the reference kernels that move elements: where, cast and copy, packed types included. */
#include "harness.h"
#include "kernels/operand.h"
#include "tensor/ternary.h"

TERN__KERNEL(where__ref);
TERN__KERNEL(cast__ref);
TERN__KERNEL(copy__ref);

enum { UNPACKED = TERN_F64 + 1 };

TEST(where_moves_bits)
{
    dice d = {harness_seed(), 2000000};
    for (int round = 0; round < 60; round++) {
        for (int dtype = 0; dtype < UNPACKED; dtype++) {
            tern__type type = dice_type((tern_dtype)dtype, &d);
            operand in[3], wide[3];
            for (int k = 0; k < 3; k++) {
                in[k] = operand_random_part(k == 0 ? TERN_BOOL : (tern_dtype)dtype, &type, &d);
                wide[k] = operand_spread(&in[k], &type);
            }
            operand out = operand_make((tern_dtype)dtype, type.rank, type.shape, &d);
            CHECK_OK(operand_run(tern_where__ref, 3, in, &out, NULL, operand_numel(&out), &d));
            for (int64_t i = 0; i < operand_numel(&out); i++)
                CHECK(memcmp(operand_at(&out, i), operand_at(&wide[*operand_at(&wide[0], i) ? 1 : 2], i),
                             tern__dtype_unit_bytes((tern_dtype)dtype)) == 0);
            CHECK(operand_is_intact(&out));
            operand_free(&out);
            for (int k = 0; k < 3; k++) {
                operand_free(&in[k]);
                operand_free(&wide[k]);
            }
        }
    }
}

TEST(casts_are_those_of_tern_convert)
{
    dice d = {harness_seed(), 3000000};
    for (int from = 0; from < UNPACKED; from++) {
        for (int to = 0; to < UNPACKED; to++) {
            tern__type type = dice_type((tern_dtype)from, &d);
            operand in = operand_make((tern_dtype)from, type.rank, type.shape, &d);
            operand out = operand_make((tern_dtype)to, type.rank, type.shape, &d);
            operand_randomise(&in, &d);
            CHECK_OK(operand_run(tern_cast__ref, 1, &in, &out, NULL, operand_numel(&out), &d));
            for (int64_t i = 0; i < operand_numel(&out); i++) {
                char want[8];
                tern__convert((tern_dtype)from, operand_at(&in, i), 1, (tern_dtype)to, want, 1, 1);
                CHECK(memcmp(want, operand_at(&out, i), tern__dtype_unit_bytes((tern_dtype)to)) == 0);
            }
            CHECK(operand_is_intact(&out));
            operand_free(&in);
            operand_free(&out);
        }
    }
}

/* Element i is element i, between [4,3,6] in any layout and other shapes of 72. */
TEST(copies_between_shapes)
{
    static const int64_t shapes[][4] = {{4, 3, 6, 1}, {72, 1, 1, 1}, {2, 2, 2, 9}, {8, 9, 1, 1}};
    dice d = {harness_seed(), 4000000};
    for (int round = 0; round < 200; round++) {
        const int64_t *shape = shapes[round % 4];
        tern_dtype dtype = (tern_dtype)(round % UNPACKED);
        operand in = operand_make(dtype, 3, shapes[0], dice_below(&d, 2) ? NULL : &d);
        operand out = operand_make(dtype, 4, shape, dice_below(&d, 2) ? NULL : &d);
        for (int64_t i = 0; i < 72; i++)
            operand_set(&in, i, (double)i);
        CHECK_OK(operand_run(tern_copy__ref, 1, &in, &out, NULL, 72, &d));
        for (int64_t i = 0; i < 72; i++)
            CHECK(operand_get(&out, i) == (dtype == TERN_BOOL ? i != 0 : (double)i));
        CHECK(operand_is_intact(&out));
        operand_free(&in);
        operand_free(&out);
    }
}

TEST(copy_refuses_what_it_cannot_mean)
{
    operand a = operand_make(TERN_F32, 1, (int64_t[]){6}, NULL);
    operand b = operand_make(TERN_I32, 1, (int64_t[]){6}, NULL);
    operand c = operand_make(TERN_F32, 1, (int64_t[]){5}, NULL);
    CHECK_STATUS(operand_run(tern_copy__ref, 1, &a, &b, NULL, 6, NULL), TERN_INTERNAL);
    CHECK_STATUS(operand_run(tern_copy__ref, 1, &a, &c, NULL, 5, NULL), TERN_INTERNAL);
    operand_free(&a);
    operand_free(&b);
    operand_free(&c);
}

/* Ternary values of column c in row r, by hand. */
static int8_t trit(int64_t r, int64_t c)
{
    return (int8_t)((r * 7 + c * c + c / 3) % 3 - 1);
}

/* A packed operand [rows, columns] with gaps of `gap` bytes between the rows. */
static operand packed_make(tern_dtype dtype, int64_t rows, int64_t columns, int64_t gap)
{
    int64_t stride = tern__row_units(dtype, columns) + gap;
    operand o = {.type = {.dtype = dtype, .rank = 2, .shape = {rows, columns}}, .strides = {stride, 1}};
    o.bytes = (size_t)(stride * rows) + 2 * OPERAND_MARGIN;
    o.memory = malloc(o.bytes);
    if (o.memory == NULL)
        abort();
    memset(o.memory, OPERAND_GUARD, o.bytes);
    o.data = o.memory + OPERAND_MARGIN;
    return o;
}

static int8_t packed_get(const operand *o, int64_t index)
{
    int64_t columns = o->type.shape[1];
    const char *row = o->data + index / columns * o->strides[0];
    return tern__ternary_at(o->type.dtype, (const uint8_t *)row, index % columns);
}

static void check_packed(tern_dtype packed, tern_dtype other, int64_t columns, dice *d)
{
    const int64_t rows = 3;
    operand plain = operand_make(other, 2, (int64_t[]){rows, columns}, dice_below(d, 2) ? NULL : d);
    operand t = packed_make(packed, rows, columns, dice_below(d, 3));
    for (int64_t i = 0; i < rows * columns; i++)
        operand_set(&plain, i, (double)trit(i / columns, i % columns) * (other == TERN_F32 ? 0.75 : 1));
    CHECK_OK(operand_run(tern_cast__ref, 1, &plain, &t, NULL, rows, d));
    for (int64_t r = 0; r < rows; r++) {
        const char *row = t.data + r * t.strides[0];
        for (int64_t c = 0; c < columns; c++) {
            int8_t want = other == TERN_BOOL || other == TERN_U8 ? trit(r, c) != 0 : trit(r, c);
            if (other == TERN_U8) /* -1 saturates to 0 in operand_set */
                want = trit(r, c) > 0;
            CHECK_EQ(tern__ternary_at(packed, (const uint8_t *)row, c), want);
        }
        int64_t bad;
        CHECK(tern__ternary_valid(packed, (const uint8_t *)row, 1, columns, &bad));
        CHECK((unsigned char)row[-1] == OPERAND_GUARD || r > 0);
    }
    operand back = operand_make(other, 2, (int64_t[]){rows, columns}, dice_below(d, 2) ? NULL : d);
    CHECK_OK(operand_run(tern_cast__ref, 1, &t, &back, NULL, rows, d));
    for (int64_t i = 0; i < rows * columns; i++)
        CHECK(operand_get(&back, i) ==
              (other == TERN_F32 ? operand_get(&plain, i) / 0.75 : operand_get(&plain, i)));
    CHECK(operand_is_intact(&back));
    tern_dtype twin = packed == TERN_T2 ? TERN_T5 : TERN_T2;
    operand u = packed_make(twin, rows, columns, 1);
    CHECK_OK(operand_run(tern_cast__ref, 1, &t, &u, NULL, rows, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        CHECK_EQ(packed_get(&u, i), packed_get(&t, i));
    operand_free(&plain);
    operand_free(&t);
    operand_free(&back);
    operand_free(&u);
}

TEST(casts_to_and_from_packed_types_go_by_rows)
{
    static const int64_t widths[] = {0, 1, 3, 4, 5, 7, 20, 639, 640, 641, 1999};
    dice d = {harness_seed(), 5000000};
    for (int dtype = 0; dtype < UNPACKED; dtype++) {
        for (int packed = TERN_T2; packed <= TERN_T5; packed++) {
            for (int w = 0; w < 11; w++) {
                check_packed((tern_dtype)packed, (tern_dtype)dtype, widths[w], &d);
                if (harness_failed())
                    return;
            }
        }
    }
}

TEST(packed_tensors_copy_into_other_rows)
{
    for (int packed = TERN_T2; packed <= TERN_T5; packed++) {
        operand in = packed_make((tern_dtype)packed, 6, 7, 2);
        operand out = packed_make((tern_dtype)packed, 2, 21, 0);
        operand values = operand_make(TERN_I8, 2, (int64_t[]){6, 7}, NULL);
        for (int64_t i = 0; i < 42; i++)
            operand_set(&values, i, trit(i / 7, i % 7));
        CHECK_OK(operand_run(tern_cast__ref, 1, &values, &in, NULL, 6, NULL));
        dice d = {1, 0};
        CHECK_OK(operand_run(tern_copy__ref, 1, &in, &out, NULL, 2, &d));
        for (int64_t i = 0; i < 42; i++)
            CHECK_EQ(packed_get(&out, i), trit(i / 7, i % 7));
        int64_t bad;
        CHECK(tern__ternary_valid((tern_dtype)packed, (uint8_t *)out.data, 2, 21, &bad));
        operand_free(&in);
        operand_free(&out);
        operand_free(&values);
    }
}

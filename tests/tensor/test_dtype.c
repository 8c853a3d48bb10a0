/* Element types and shapes: the table, parsing, promotion, sizes, broadcasting. */
#include "harness.h"

#include <string.h>

#include "tensor/type.h"

TEST(dtype_names_round_trip)
{
    for (int i = 0; i < TERN_DTYPE_COUNT; i++) {
        const tern_dtype_info *info = tern_dtype_get((tern_dtype)i);
        tern_dtype parsed;
        CHECK(info != NULL);
        CHECK_OK(tern_dtype_parse(info->name, &parsed));
        CHECK_EQ(parsed, i);
        CHECK_STR(tern_dtype_name((tern_dtype)i), info->name);
        CHECK_EQ(tern__dtype_unit_bytes((tern_dtype)i), info->unit_bytes);
        CHECK_EQ(tern__dtype_is_packed((tern_dtype)i),
                 info->kind == TERN_KIND_TERNARY || info->kind == TERN_KIND_BLOCK);
        CHECK_EQ(tern__dtype_is_block((tern_dtype)i), info->kind == TERN_KIND_BLOCK);
    }
    CHECK(tern_dtype_get((tern_dtype)TERN_DTYPE_COUNT) == NULL);
    CHECK(tern_dtype_get((tern_dtype)-1) == NULL);
    CHECK_STR(tern_dtype_name((tern_dtype)99), "invalid");
}

TEST(dtype_parse_refuses_and_lists)
{
    tern_dtype out = TERN_I8;
    CHECK_STATUS(tern_dtype_parse("float32", &out), TERN_NOT_FOUND);
    CHECK_STR(
        tern_last_error(),
        "no dtype is called 'float32'; known: bool u8 i8 i32 i64 f16 bf16 f32 f64 t2 t5 q8_0 q6_k q4_0 q4_k");
    CHECK_STATUS(tern_dtype_parse("", &out), TERN_NOT_FOUND);
    CHECK_STATUS(tern_dtype_parse(NULL, &out), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_dtype_parse("f32", NULL), TERN_INVALID_ARGUMENT);
    CHECK_EQ(out, TERN_I8);
}

/* The upper triangle of the documented rule, row by row, in the order bool u8 i8 i32 i64 f16 bf16 f32 f64. */
/* clang-format off */
static const tern_dtype PROMOTED[9][9] = {
    {TERN_BOOL, TERN_U8, TERN_I8, TERN_I32, TERN_I64, TERN_F16, TERN_BF16, TERN_F32, TERN_F64},
    {0, TERN_U8, TERN_I32, TERN_I32, TERN_I64, TERN_F16, TERN_BF16, TERN_F32, TERN_F64},
    {0, 0, TERN_I8, TERN_I32, TERN_I64, TERN_F16, TERN_BF16, TERN_F32, TERN_F64},
    {0, 0, 0, TERN_I32, TERN_I64, TERN_F16, TERN_BF16, TERN_F32, TERN_F64},
    {0, 0, 0, 0, TERN_I64, TERN_F16, TERN_BF16, TERN_F32, TERN_F64},
    {0, 0, 0, 0, 0, TERN_F16, TERN_F32, TERN_F32, TERN_F64},
    {0, 0, 0, 0, 0, 0, TERN_BF16, TERN_F32, TERN_F64},
    {0, 0, 0, 0, 0, 0, 0, TERN_F32, TERN_F64},
    {0, 0, 0, 0, 0, 0, 0, 0, TERN_F64},
};
/* clang-format on */

TEST(dtype_promotion_table)
{
    for (int a = 0; a < 9; a++) {
        for (int b = a; b < 9; b++) {
            tern_dtype ab, ba;
            CHECK_OK(tern_dtype_promote((tern_dtype)a, (tern_dtype)b, &ab));
            CHECK_OK(tern_dtype_promote((tern_dtype)b, (tern_dtype)a, &ba));
            CHECK_EQ(ab, PROMOTED[a][b]);
            CHECK_EQ(ba, ab);
        }
    }
    tern_dtype out = TERN_I64;
    CHECK_STATUS(tern_dtype_promote(TERN_T2, TERN_F32, &out), TERN_DTYPE);
    CHECK_STATUS(tern_dtype_promote(TERN_T5, TERN_T5, &out), TERN_DTYPE);
    CHECK_STATUS(tern_dtype_promote((tern_dtype)77, TERN_F32, &out), TERN_INVALID_ARGUMENT);
    CHECK_EQ(out, TERN_I64);
}

TEST(type_make_and_sizes)
{
    tern__type t;
    CHECK_OK(tern__type_make("t", TERN_F32, 2, (int64_t[]){2, 3}, &t));
    CHECK_EQ(tern__type_numel(&t), 6);
    CHECK_EQ(tern__type_bytes(&t), 24);
    CHECK_OK(tern__type_make("t", TERN_F64, 0, NULL, &t));
    CHECK_EQ(tern__type_numel(&t), 1);
    CHECK_EQ(tern__type_bytes(&t), 8);
    CHECK_OK(tern__type_make("t", TERN_T2, 2, (int64_t[]){3, 5}, &t));
    CHECK_EQ(tern__type_bytes(&t), 6);
    CHECK_OK(tern__type_make("t", TERN_T5, 2, (int64_t[]){3, 11}, &t));
    CHECK_EQ(tern__type_bytes(&t), 9);
    CHECK_OK(tern__type_make("t", TERN_Q8_0, 2, (int64_t[]){3, 33}, &t));
    CHECK_EQ(tern__type_bytes(&t), 3 * 2 * 34);
    CHECK_OK(tern__type_make("t", TERN_Q6_K, 2, (int64_t[]){3, 512}, &t));
    CHECK_EQ(tern__type_bytes(&t), 3 * 2 * 210);
    CHECK_OK(tern__type_make("t", TERN_T5, 0, NULL, &t));
    CHECK_EQ(tern__type_bytes(&t), 1);
    CHECK_OK(tern__type_make("t", TERN_T2, 2, (int64_t[]){3, 0}, &t));
    CHECK_EQ(tern__type_bytes(&t), 0);
    CHECK_OK(tern__type_make("t", TERN_F32, 3, (int64_t[]){4, 0, 2}, &t));
    CHECK_EQ(tern__type_numel(&t), 0);
    CHECK_EQ(tern__row_units(TERN_T2, INT64_MAX), INT64_MAX / 4 + 1);
}

TEST(type_make_refuses)
{
    tern__type t = {.dtype = TERN_I8, .rank = 7};
    int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    CHECK_STATUS(tern__type_make("zeros", TERN_F32, 2, (int64_t[]){2, -3}, &t), TERN_SHAPE);
    CHECK_STR(tern_last_error(), "zeros: axis 1 of [2,-3] has a negative size");
    CHECK_STATUS(tern__type_make("zeros", TERN_F32, 9, nine, &t), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__type_make("zeros", TERN_F32, -1, nine, &t), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__type_make("zeros", TERN_F32, 1, NULL, &t), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__type_make("zeros", (tern_dtype)TERN_DTYPE_COUNT, 1, nine, &t), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__type_make("zeros", TERN_F32, 2, (int64_t[]){1 << 20, INT64_MAX >> 20}, &t),
                 TERN_OVERFLOW);
    CHECK_STATUS(tern__type_make("zeros", TERN_F32, 1, (int64_t[]){INT64_MAX}, &t), TERN_OVERFLOW);
    CHECK_STATUS(tern__type_make("zeros", TERN_F64, 3, (int64_t[]){INT64_MAX, 2, 1}, &t), TERN_OVERFLOW);
    /* a zero does not hide sizes whose strides would overflow */
    CHECK_STATUS(tern__type_make("zeros", TERN_I8, 3, (int64_t[]){0, INT64_MAX, 2}, &t), TERN_OVERFLOW);
    /* t2 packs four to a byte: the element count is the limit */
    CHECK_STATUS(tern__type_make("zeros", TERN_T2, 2, (int64_t[]){2, INT64_MAX}, &t), TERN_OVERFLOW);
    CHECK_EQ(t.rank, 7);
}

TEST(type_text)
{
    char buffer[TERN__TYPE_TEXT];
    tern__type t;
    CHECK_OK(tern__type_make("t", TERN_BF16, 2, (int64_t[]){2, 3}, &t));
    CHECK_STR(tern__type_text(&t, buffer), "bf16[2,3]");
    CHECK_OK(tern__type_make("t", TERN_I64, 0, NULL, &t));
    CHECK_STR(tern__type_text(&t, buffer), "i64[]");
    int64_t worst[9] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
                        INT64_MIN, INT64_MIN, INT64_MIN, 1};
    t = (tern__type){.dtype = TERN_BF16, .rank = 8};
    memcpy(t.shape, worst, sizeof t.shape);
    CHECK_EQ(strlen(tern__type_text(&t, buffer)), 4 + 2 + 8 * 20 + 7);
    CHECK_EQ(strlen(tern__shape_text(9, worst, buffer)), 2 + 8 * 20 + 7 + 4);
    CHECK_STR(buffer + strlen(buffer) - 5, ",...]");
}

static bool broadcast(int ra, const int64_t *a, int rb, const int64_t *b, tern__type *out)
{
    tern__type ta = {.dtype = TERN_F32, .rank = ra}, tb = {.dtype = TERN_F32, .rank = rb};
    for (int i = 0; i < ra; i++)
        ta.shape[i] = a[i];
    for (int i = 0; i < rb; i++)
        tb.shape[i] = b[i];
    return tern__shape_broadcast(&ta, &tb, out);
}

TEST(shape_broadcasting)
{
    char text[TERN__TYPE_TEXT];
    tern__type out = {.dtype = TERN_I32};
    CHECK(broadcast(3, (int64_t[]){5, 1, 4}, 2, (int64_t[]){3, 1}, &out));
    CHECK_STR(tern__type_text(&out, text), "i32[5,3,4]");
    CHECK(broadcast(0, NULL, 2, (int64_t[]){0, 2}, &out));
    CHECK_STR(tern__type_text(&out, text), "i32[0,2]");
    CHECK(broadcast(1, (int64_t[]){1}, 1, (int64_t[]){0}, &out));
    CHECK_STR(tern__type_text(&out, text), "i32[0]");
    CHECK(!broadcast(1, (int64_t[]){2}, 1, (int64_t[]){0}, &out));
    CHECK(!broadcast(2, (int64_t[]){2, 3}, 1, (int64_t[]){2}, &out));
    CHECK_STR(tern__type_text(&out, text), "i32[0]");
}

TEST(axis_normalisation)
{
    int axis = 9;
    CHECK(tern__axis_normalise(-1, 3, &axis));
    CHECK_EQ(axis, 2);
    CHECK(tern__axis_normalise(-3, 3, &axis));
    CHECK_EQ(axis, 0);
    CHECK(!tern__axis_normalise(3, 3, &axis));
    CHECK(!tern__axis_normalise(-4, 3, &axis));
    CHECK(!tern__axis_normalise(0, 0, &axis));
    CHECK(!tern__axis_normalise(INT64_MIN, 3, &axis));
    CHECK_EQ(axis, 0);
}

/* test_checked.c - size arithmetic at its edges: right below, at, and right above what fits. */
#include "base/checked.h"
#include "harness.h"

TEST(size_add)
{
    size_t r = 7;
    CHECK(tern__size_add(2, 3, &r) && r == 5);
    CHECK(tern__size_add(SIZE_MAX, 0, &r) && r == SIZE_MAX);
    CHECK(tern__size_add(SIZE_MAX - 1, 1, &r) && r == SIZE_MAX);
    r = 7;
    CHECK(!tern__size_add(SIZE_MAX, 1, &r));
    CHECK(!tern__size_add(SIZE_MAX, SIZE_MAX, &r));
    CHECK_EQ(r, 7);
}

TEST(size_mul)
{
    size_t r = 7, half = (size_t)1 << (8 * sizeof(size_t) / 2);
    CHECK(tern__size_mul(0, SIZE_MAX, &r) && r == 0);
    CHECK(tern__size_mul(1, SIZE_MAX, &r) && r == SIZE_MAX);
    CHECK(tern__size_mul(half, half - 1, &r) && r == SIZE_MAX - half + 1);
    r = 7;
    CHECK(!tern__size_mul(half, half, &r));
    CHECK(!tern__size_mul(SIZE_MAX, 2, &r));
    CHECK_EQ(r, 7);
}

TEST(i64_add)
{
    int64_t r = 7;
    CHECK(tern__i64_add(INT64_MAX, INT64_MIN, &r) && r == -1);
    CHECK(tern__i64_add(INT64_MAX - 1, 1, &r) && r == INT64_MAX);
    CHECK(tern__i64_add(INT64_MIN + 1, -1, &r) && r == INT64_MIN);
    r = 7;
    CHECK(!tern__i64_add(INT64_MAX, 1, &r));
    CHECK(!tern__i64_add(INT64_MIN, -1, &r));
    CHECK_EQ(r, 7);
}

TEST(i64_mul)
{
    int64_t r = 7;
    CHECK(tern__i64_mul(INT64_MIN, 1, &r) && r == INT64_MIN);
    CHECK(tern__i64_mul(INT64_C(1) << 31, INT64_C(1) << 31, &r) && r == INT64_C(1) << 62);
    CHECK(tern__i64_mul(-(INT64_C(1) << 31), INT64_C(1) << 32, &r) && r == INT64_MIN);
    r = 7;
    CHECK(!tern__i64_mul(INT64_C(1) << 32, INT64_C(1) << 31, &r));
    CHECK(!tern__i64_mul(INT64_MIN, -1, &r));
    CHECK_EQ(r, 7);
}

TEST(size_round_up)
{
    size_t r = 7;
    CHECK(tern__size_round_up(0, 64, &r) && r == 0);
    CHECK(tern__size_round_up(1, 64, &r) && r == 64);
    CHECK(tern__size_round_up(64, 64, &r) && r == 64);
    CHECK(tern__size_round_up(65, 64, &r) && r == 128);
    CHECK(tern__size_round_up(13, 1, &r) && r == 13);
    CHECK(tern__size_round_up(SIZE_MAX - 63, 64, &r) && r == SIZE_MAX - 63);
    r = 7;
    CHECK(!tern__size_round_up(SIZE_MAX - 62, 64, &r));
    CHECK(!tern__size_round_up(SIZE_MAX, 64, &r));
    CHECK_EQ(r, 7);
}

TEST(size_from_i64)
{
    size_t r = 7;
    CHECK(tern__size_from_i64(0, &r) && r == 0);
    CHECK(tern__size_from_i64(12, &r) && r == 12);
#if SIZE_MAX >= INT64_MAX
    CHECK(tern__size_from_i64(INT64_MAX, &r) && r == (size_t)INT64_MAX);
#endif
    r = 7;
    CHECK(!tern__size_from_i64(-1, &r));
    CHECK(!tern__size_from_i64(INT64_MIN, &r));
    CHECK_EQ(r, 7);
}

TEST(range_fits)
{
    CHECK(tern__range_fits(0, 0, 0));
    CHECK(tern__range_fits(0, 10, 10));
    CHECK(tern__range_fits(10, 0, 10));
    CHECK(tern__range_fits(9, 1, 10));
    CHECK(!tern__range_fits(9, 2, 10));
    CHECK(!tern__range_fits(11, 0, 10));
    CHECK(!tern__range_fits(1, UINT64_MAX, UINT64_MAX)); /* the sum would wrap to 0 */
    CHECK(!tern__range_fits(UINT64_MAX, 1, 10));
    CHECK(tern__range_fits(0, UINT64_MAX, UINT64_MAX));
}

/* test_select.c - choosing by measured times: like is compared with like. */
#include "passes/select.h"

#include "harness.h"

TEST(nothing_known_chooses_nothing)
{
    const tern__timing none[2] = {{0}};
    const tern__timing failed[2] = {{.ns = 5, .failed = true}, {.ns = 5, .failed = true}};
    CHECK_EQ(tern__fastest_timing(2, none), -1);
    CHECK_EQ(tern__fastest_timing(2, failed), -1);
}

TEST(times_of_one_clock_compare_as_they_are)
{
    const tern__timing tuned[] = {{.ns = 30, .tuned_ns = 30}, {.ns = 20, .tuned_ns = 20}, {.ns = 0}};
    const tern__timing runs[] = {{.ns = 30, .in_runs = true}, {.ns = 40, .in_runs = true}};
    CHECK_EQ(tern__fastest_timing(3, tuned), 1);
    CHECK_EQ(tern__fastest_timing(2, runs), 0);
}

/* In programs the first takes 1.5 times as long as when it was tuned: so would the second, which is no faster. */
TEST(a_tuned_time_is_not_compared_with_one_of_a_program)
{
    const tern__timing slower[] = {{.ns = 75, .tuned_ns = 50, .in_runs = true}, {.ns = 52, .tuned_ns = 52}};
    const tern__timing faster[] = {{.ns = 75, .tuned_ns = 50, .in_runs = true}, {.ns = 48, .tuned_ns = 48}};
    CHECK_EQ(tern__fastest_timing(2, slower), 0);
    CHECK_EQ(tern__fastest_timing(2, faster), 1);
}

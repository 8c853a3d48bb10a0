/* test_estimates.c - what a call is estimated to be: items of work, operations, bytes. */
#include "harness.h"
#include "infer_util.h"

static void check_estimates(const char *op, const char *in, const char *attrs, int64_t work, double cost,
                            double bytes)
{
    parsed_call c;
    CHECK(infer_parse(op, in, attrs, &c));
    CHECK_OK(tern__op_infer(&c.call, c.operands));
    CHECK_EQ(c.call.op->work(&c.call), work);
    CHECK_NEAR(c.call.op->cost(&c.call, c.call.op->cost_factor), cost, 0);
    CHECK_NEAR(tern__op_bytes(&c.call), bytes, 0);
}

/* A view that is a step of a plan has to copy; elsewhere it costs nothing. */
TEST(steps_that_are_views_move_bytes)
{
    parsed_call c;
    CHECK(infer_parse("reshape", "f32[6,10]", "shape=[60]", &c));
    CHECK_OK(tern__op_infer(&c.call, c.operands));
    CHECK_NEAR(tern__op_bytes(&c.call), 0, 0);
    CHECK_NEAR(tern__step_bytes(&c.call), 480, 0);
    CHECK(infer_parse("add", "f32[2,3] f32[3]", "", &c));
    CHECK_OK(tern__op_infer(&c.call, c.operands));
    CHECK_NEAR(tern__step_bytes(&c.call), tern__op_bytes(&c.call), 0);
}

TEST(work_cost_and_bytes)
{
    check_estimates("input", "", "shape=[2,3]", 1, 0, 0);
    check_estimates("add", "f32[2,3] f32[3]", "", 6, 6, 24 + 12 + 24);
    check_estimates("exp", "f32[]", "", 1, 10, 8);
    check_estimates("exp", "f32[0,3]", "", 0, 0, 0);
    check_estimates("reshape", "t2[6,10]", "shape=[2,3,10]", 6, 0, 0);
    check_estimates("reshape", "f32[6,10]", "shape=[60]", 60, 0, 0);
    check_estimates("cast", "t2[6,10]", "dtype=f32", 6, 60, 6 * 3 + 240);
    check_estimates("cast", "f32[6,10]", "dtype=i8", 60, 60, 240 + 60);
    check_estimates("sum", "f32[2,3]", "axes=[1]", 2, 6, 24 + 8);
    check_estimates("cumsum", "f32[2,3,4]", "axis=1", 8, 24, 192);
    check_estimates("topk", "f32[2,3,4]", "axis=-1 k=1", 6, 96, 96 + 24 + 48);
    check_estimates("rmsnorm", "f32[2,3,4]", "", 6, 96, 192);
    check_estimates("matmul", "f32[5,2,3] f32[3,4]", "", 10, 2 * 40 * 3, 120 + 48 + 160);
    check_estimates("matmul", "f32[3,2] f32[3,4]", "transpose_a=true", 2, 2 * 8 * 3, 24 + 48 + 32);
    check_estimates("matmul", "f32[5,3] f32[3]", "", 5, 2 * 5 * 3, 60 + 12 + 20);
    check_estimates("matmul", "f32[3] f32[3,4]", "", 1, 2 * 4 * 3, 12 + 48 + 16);
    check_estimates("matmul", "f32[3] f32[3]", "", 1, 6, 12 + 12 + 4);
    check_estimates("ternary_matmul", "i8[2,10] t2[7,10]", "", 2, 2 * 14 * 10, 20 + 21 + 56);
    check_estimates("split", "f32[6]", "sizes=[2,4]", 1, 0, 48);
    check_estimates("gather", "f32[1000,4] i64[2]", "", 8, 0, 32 + 16 + 32);
    check_estimates("attention", "f32[5,8,16] f32[2,9,4,16] f32[2,9,4,16] i32[5] i32[5]", "", 40, 4 * 640 * 9,
                    2 * 2560 + 2 * 4608 + 40);
    check_estimates("overwrite", "f32[2,3] f32[3]", "", 6, 0, 12 + 24);
    check_estimates("write_slice", "f32[4,5] f32[1,5] i64[2]", "", 1, 0, 20 + 20 + 16);
    check_estimates("conv2d", "f32[1,4,8,9] f32[6,2,3,3]", "groups=2", 6 * 6 * 7, 2 * 6 * 6 * 7 * 2 * 9,
                    4 * (4 * 72 + 6 * 18 + 6 * 42));
    check_estimates("avg_pool2d", "f32[1,1,4,4]", "", 4, 16, 64 + 16);
}

/* test_rope.c - the kernel that turns all heads of a row by the same angles, against the reference, bit for bit. */
#include "call.h"

#include "kernels/rope/rope.h"

TERN__KERNEL(rope__ref);

/* With the program that its chooser would make. */
static tern_status planned(tern__kernel_args *args, int64_t begin, int64_t end)
{
    tern__rope_program p;
    if (!tern__rope_plan(args->in[0].type, args->attrs, &p))
        return TERN_INTERNAL;
    args->program = &p;
    return tern_rope__turns(args, begin, end);
}

static void check_at(int64_t rows, int64_t heads, int64_t d, int64_t dims, bool interleaved,
                     tern_dtype of_position, const double *positions)
{
    call fast = {.kernel = planned, .items = rows * heads},
         plain = {.kernel = tern_rope__ref, .items = rows * heads};
    call_in(&fast, TERN_F32, SHAPE(rows, heads, d), NULL); /* infinities and denormal numbers among them */
    call_in(&fast, of_position, SHAPE(rows), positions);
    call_out(&fast, TERN_F32, SHAPE(rows, heads, d));
    fast.attrs[0].f = 500000;
    fast.attrs[1].i = dims;
    fast.attrs[2].i = interleaved;
    memcpy(plain.attrs, fast.attrs, sizeof plain.attrs);
    call_in(&plain, TERN_F32, SHAPE(rows, heads, d), NULL);
    for (int64_t i = 0; i < rows * heads * d; i++)
        operand_set(&plain.in[0], i, operand_get(&fast.in[0], i));
    call_in(&plain, of_position, SHAPE(rows), positions);
    call_out(&plain, TERN_F32, SHAPE(rows, heads, d));
    CHECK_OK(call_run(&fast));
    CHECK_OK(call_run(&plain));
    for (int64_t i = 0; i < rows * heads * d; i++) {
        double a = operand_get(&fast.out[0], i), b = operand_get(&plain.out[0], i);
        CHECK(a == b || (isnan(a) && isnan(b)));
    }
    call_free(&fast);
    call_free(&plain);
}

static void check(int64_t rows, int64_t heads, int64_t d, int64_t dims, bool interleaved,
                  tern_dtype of_position)
{
    double positions[8];
    for (int64_t r = 0; r < rows; r++)
        positions[r] = r == 1 ? -1 : (double)dice_below(call_dice(), 5000);
    check_at(rows, heads, d, dims, interleaved, of_position, positions);
}

/* Sequences one after the other; and what looks like such ones and is not. */
TEST(positions_that_come_again)
{
    static const double again[][8] = {
        {0, 1, 2, 0, 1, 2, 0, 1}, {7, 8, 9, 7, 8, 5, 7, 9}, {4, 4, 4, 4, 3, 4, 4, -1}};
    for (size_t i = 0; i < sizeof again / sizeof *again; i++)
        for (int64_t heads = 1; heads <= 3; heads++)
            check_at(8, heads, 20, 16, i == 1, TERN_I32, again[i]);
}

TEST(turning_gives_the_bits_of_the_reference)
{
    for (int64_t rows = 1; rows <= 5; rows += 2)
        for (int64_t heads = 1; heads <= 5; heads += 2) {
            check(rows, heads, 128, 0, false, TERN_I64);
            check(rows, heads, 128, 0, true, TERN_I32);
            check(rows, heads, 10, 6, false, TERN_I32);
            check(rows, heads, 22, 14, true, TERN_I64);
        }
}

TEST(what_it_cannot_do_is_left_to_the_reference)
{
    static const tern__type halves = {.dtype = TERN_F16, .rank = 3, .shape = {1, 1, 8}};
    static const tern__type wide = {.dtype = TERN_F32, .rank = 3, .shape = {1, 1, 2048}};
    tern__attr attrs[3] = {{.f = 10000}, {.i = 0}, {.i = 0}};
    tern__rope_program p;
    CHECK(!tern__rope_plan(&halves, attrs, &p));
    CHECK(!tern__rope_plan(&wide, attrs, &p));
}

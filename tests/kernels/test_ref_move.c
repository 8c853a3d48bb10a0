/* concat, stack, split, pad, tril, triu, flip: by hand, and random shapes against the definition by
 * coordinates. */
#include "call.h"

TERN__KERNEL(concat__ref);
TERN__KERNEL(stack__ref);
TERN__KERNEL(split__ref);
TERN__KERNEL(pad__ref);
TERN__KERNEL(tril__ref);
TERN__KERNEL(triu__ref);
TERN__KERNEL(flip__ref);

static const tern_dtype TYPES[] = {TERN_BOOL, TERN_U8,   TERN_I8,  TERN_I32, TERN_I64,
                                   TERN_F16,  TERN_BF16, TERN_F32, TERN_F64};

static tern_dtype random_type(void)
{
    return TYPES[dice_below(call_dice(), 9)];
}

/* Coordinates of element `index` of a shape, and back. */
static void coordinates(const tern__type *type, int64_t index, int64_t *at)
{
    for (int d = type->rank - 1; d >= 0; d--) {
        at[d] = index % type->shape[d];
        index /= type->shape[d];
    }
}

static int64_t flat(const tern__type *type, const int64_t *at)
{
    int64_t index = 0;
    for (int d = 0; d < type->rank; d++)
        index = index * type->shape[d] + at[d];
    return index;
}

/* Same bits? */
static bool same_element(const operand *a, int64_t i, const operand *b, int64_t j)
{
    return memcmp(operand_at(a, i), operand_at(b, j), tern__dtype_unit_bytes(a->type.dtype)) == 0;
}

/* ---- joining and cutting ------------------------------------------------------------------------------- */

static void check_concat(void)
{
    tern_dtype dtype = random_type();
    int64_t shape[4], starts[5] = {0}, at[8];
    int rank = 1 + (int)dice_below(call_dice(), 4), axis = (int)dice_below(call_dice(), rank);
    int count = 1 + (int)dice_below(call_dice(), 4);
    random_shape(rank, shape);
    call c = {.kernel = tern_concat__ref};
    for (int i = 0; i < count; i++) {
        shape[axis] = dice_below(call_dice(), 4);
        starts[i + 1] = starts[i] + shape[axis];
        call_in(&c, dtype, rank, shape, NULL);
    }
    shape[axis] = starts[count];
    c.items = operand_numel(call_out(&c, dtype, rank, shape));
    c.attrs[0].i = axis - (dice_below(call_dice(), 2) ? rank : 0);
    CHECK_OK(call_run(&c));
    for (int64_t i = 0; i < c.items; i++) {
        int source = 0;
        coordinates(&c.out[0].type, i, at);
        while (at[axis] >= starts[source + 1])
            source++;
        at[axis] -= starts[source];
        CHECK(same_element(&c.out[0], i, &c.in[source], flat(&c.in[source].type, at)));
    }

    /* split is the way back */
    call s = {.kernel = tern_split__ref, .items = 1, .n_in = 1};
    s.in[0] = operand_dense(&c.out[0]);
    int64_t sizes[4];
    for (int i = 0; i < count; i++) {
        sizes[i] = starts[i + 1] - starts[i];
        call_out(&s, dtype, rank, c.in[i].type.shape);
    }
    s.attrs[0].ints = sizes;
    s.attrs[0].count = (uint32_t)count;
    s.attrs[1].i = axis;
    CHECK_OK(call_run(&s));
    for (int i = 0; i < count; i++)
        CHECK(operand_same(&s.out[i], &c.in[i]));
    call_free(&s);
    call_free(&c);
}

TEST(concat_and_split)
{
    for (int round = 0; round < 100 && !harness_failed(); round++)
        check_concat();
}

TEST(stack_makes_a_new_axis)
{
    for (int round = 0; round < 60; round++) {
        tern_dtype dtype = random_type();
        int64_t shape[4], stacked[4], at[8];
        int rank = (int)dice_below(call_dice(), 4), axis = (int)dice_below(call_dice(), rank + 1);
        int count = 1 + (int)dice_below(call_dice(), 4);
        random_shape(rank, shape);
        call c = {.kernel = tern_stack__ref};
        for (int i = 0; i < count; i++)
            call_in(&c, dtype, rank, shape, NULL);
        for (int d = 0; d <= rank; d++)
            stacked[d] = d == axis ? count : shape[d - (d > axis)];
        c.items = operand_numel(call_out(&c, dtype, rank + 1, stacked));
        c.attrs[0].i = axis - (dice_below(call_dice(), 2) ? rank + 1 : 0);
        CHECK_OK(call_run(&c));
        for (int64_t i = 0; i < c.items; i++) {
            coordinates(&c.out[0].type, i, at);
            int64_t source = at[axis];
            for (int d = axis; d < rank; d++)
                at[d] = at[d + 1];
            CHECK(same_element(&c.out[0], i, &c.in[source], flat(&c.in[source].type, at)));
        }
        call_free(&c);
    }
}

TEST(concat_of_a_broadcast_operand)
{
    float one = 1, two[2] = {2, 3}, y[5];
    tern__type three = {.dtype = TERN_F32, .rank = 1, .shape = {3}},
               pair = {.dtype = TERN_F32, .rank = 1, .shape = {2}};
    tern__type five = {.dtype = TERN_F32, .rank = 1, .shape = {5}};
    tern__buffer in[] = {{&one, &three, (int64_t[]){0}}, {two, &pair, (int64_t[]){1}}};
    tern__buffer out[] = {{y, &five, (int64_t[]){1}}};
    tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = out, .attrs = &(tern__attr){.i = 0}};
    CHECK_OK(tern_concat__ref(&args, 0, 5));
    CHECK(y[0] == 1 && y[1] == 1 && y[2] == 1 && y[3] == 2 && y[4] == 3);
}

/* ---- pad ----------------------------------------------------------------------------------------------- */

TEST(pad_by_coordinates)
{
    for (int round = 0; round < 80; round++) {
        tern_dtype dtype = random_type();
        int64_t shape[4], padded[4], before[4], after[4], at[8];
        int rank = (int)dice_below(call_dice(), 5);
        random_shape(rank, shape);
        for (int d = 0; d < rank; d++) {
            before[d] = dice_below(call_dice(), 3);
            after[d] = dice_below(call_dice(), 3);
            padded[d] = before[d] + shape[d] + after[d];
        }
        call c = {.kernel = tern_pad__ref};
        call_in(&c, dtype, rank, shape, NULL);
        operand *y = call_out(&c, dtype, rank, padded);
        c.items = operand_numel(y);
        c.attrs[0] = (tern__attr){.ints = before, .count = (uint32_t)rank};
        c.attrs[1] = (tern__attr){.ints = after, .count = (uint32_t)rank};
        c.attrs[2].f = 7;
        CHECK_OK(call_run(&c));
        for (int64_t i = 0; i < c.items; i++) {
            bool inside = true;
            coordinates(&y->type, i, at);
            for (int d = 0; d < rank; d++) {
                at[d] -= before[d];
                inside = inside && at[d] >= 0 && at[d] < shape[d];
            }
            if (inside)
                CHECK(same_element(y, i, &c.in[0], flat(&c.in[0].type, at)));
            else
                CHECK(operand_get(y, i) == (dtype == TERN_BOOL ? 1 : 7));
        }
        call_free(&c);
    }
}

TEST(pad_values_follow_the_conversion_rules)
{
    int64_t one[] = {1}, none[] = {0};
    struct {
        tern_dtype dtype;
        double value, want;
    } cases[] = {
        {TERN_F16, -INFINITY, -INFINITY}, {TERN_U8, 300, 255}, {TERN_I8, NAN, 0}, {TERN_I64, -2.7, -2}};
    for (int i = 0; i < 4; i++) {
        call c = {.kernel = tern_pad__ref, .items = 2};
        call_in(&c, cases[i].dtype, SHAPE(1), VALUES(1));
        call_out(&c, cases[i].dtype, SHAPE(2));
        c.attrs[0] = (tern__attr){.ints = one, .count = 1};
        c.attrs[1] = (tern__attr){.ints = none, .count = 1};
        c.attrs[2].f = cases[i].value;
        CHECK_OK(call_run(&c));
        CHECK(call_gives(&c, 0, VALUES(cases[i].want, 1)));
        call_free(&c);
    }
}

/* ---- triangles and flips ------------------------------------------------------------------------------- */

TEST(triangles)
{
    static const int64_t diagonals[] = {INT64_MIN, -9, -1, 0, 1, 3, INT64_MAX};
    for (int round = 0; round < 70; round++) {
        tern_dtype dtype = random_type();
        bool lower = round % 2 == 0;
        int64_t shape[4], at[8], diagonal = diagonals[dice_below(call_dice(), 7)];
        int rank = 2 + (int)dice_below(call_dice(), 3);
        random_shape(rank, shape);
        call c = {.kernel = lower ? tern_tril__ref : tern_triu__ref};
        call_in(&c, dtype, rank, shape, NULL);
        operand *y = call_out(&c, dtype, rank, shape);
        c.items = operand_numel(y);
        c.attrs[0].i = diagonal;
        CHECK_OK(call_run(&c));
        for (int64_t i = 0; i < c.items; i++) {
            coordinates(&y->type, i, at);
            int64_t off = at[rank - 1] - at[rank - 2];
            bool zero = lower ? off > diagonal : off < diagonal;
            if (zero)
                CHECK(same_number(operand_get(y, i), 0));
            else
                CHECK(same_element(y, i, &c.in[0], i));
        }
        call_free(&c);
    }
}

TEST(flip_reverses_the_axes_named)
{
    for (int round = 0; round < 60; round++) {
        tern_dtype dtype = random_type();
        int64_t shape[4], at[8], axes[4];
        int rank = (int)dice_below(call_dice(), 5), named = 0;
        bool flipped[4] = {false};
        random_shape(rank, shape);
        for (int d = 0; d < rank; d++) {
            if (dice_below(call_dice(), 2)) {
                flipped[d] = true;
                axes[named++] = dice_below(call_dice(), 2) ? d : d - rank;
            }
        }
        call c = {.kernel = tern_flip__ref};
        call_in(&c, dtype, rank, shape, NULL);
        operand *y = call_out(&c, dtype, rank, shape);
        c.items = operand_numel(y);
        c.attrs[0] = (tern__attr){.ints = axes, .count = (uint32_t)named};
        CHECK_OK(call_run(&c));
        for (int64_t i = 0; i < c.items; i++) {
            coordinates(&y->type, i, at);
            for (int d = 0; d < rank; d++) {
                if (flipped[d] || named == 0)
                    at[d] = shape[d] - 1 - at[d];
            }
            CHECK(same_element(y, i, &c.in[0], flat(&c.in[0].type, at)));
        }
        call_free(&c);
    }
}

/* test_grad_codes.c - gradients of the ops of codes, and of `linear`, against differences.
 *
 * Rounding is a staircase, whose differences over a small step are 0 or huge; rules go straight through it, along the line that joins the
 * middles of its stairs. So numbers here are those that codes stand for, and differences are over whole stairs: from one code to its
 * neighbours, where staircase and line meet and differences are exact. Two things that rules promise have no differences, and are only
 * compared with products (test_grad_graphs.c): scales are constants, so the number that makes a scale (the largest of a row) is not
 * moved here, and ternary scales, which every number makes, are given; and beyond the last code, where values are clipped and rules do as
 * if they were not, differences are taken inwards. `linear` is a line in each operand: differences over any step have no error but
 * rounding's. */
#include <math.h>
#include <string.h>

#include <tern/grad.h>
#include <tern/ops.h>

#include "grad_util.h"

enum { ROWS = 2, IN = 8, OUT = 3, MOST_CODE = 127 };

#define X_STAIR 0x1p-5 /* of int8: a scale of 32, exactly */
#define W_STAIR 0.25   /* of ternary weights */

/* Numbers at codes; a loss reads one of them or both. */
typedef struct numbers {
    float x[ROWS * IN]; /* the first of each row is the largest code, and makes its scale */
    float w[OUT * IN];
} numbers;

static tern_tensor *scalar(double value)
{
    return tern_scalar(ctx, TERN_F32, value);
}

/* Codes as numbers. */
static tern_tensor *quantise(tern_tensor *x, tern_tensor *w)
{
    (void)w;
    return tern_cast(tern_quantise(x, scalar(1 / X_STAIR)), TERN_F32);
}

static tern_tensor *quantise_rows(tern_tensor *x, tern_tensor *w)
{
    tern_tensor *q, *s;
    (void)w;
    tern_quantise_rows(x, &q, &s);
    return tern_cast(q, TERN_F32);
}

static tern_tensor *quantise_tensor(tern_tensor *x, tern_tensor *w)
{
    tern_tensor *q, *s;
    (void)w;
    tern_quantise_tensor(x, &q, &s);
    return tern_cast(q, TERN_F32);
}

/* By another scale than they were made with, which would hide an error in both. */
static tern_tensor *dequantise(tern_tensor *x, tern_tensor *w)
{
    (void)w;
    return tern_dequantise(tern_quantise(x, scalar(1 / X_STAIR)), scalar(3));
}

static tern_tensor *codes_of(tern_tensor *w)
{
    tern_tensor *t, *used;
    tern_ternary_quantise(w, scalar(W_STAIR), TERN_T2, &t, &used);
    return t;
}

static tern_tensor *ternary_quantise(tern_tensor *x, tern_tensor *w)
{
    (void)x;
    return tern_ternary_dequantise(codes_of(w), scalar(1));
}

static tern_tensor *ternary_dequantise(tern_tensor *x, tern_tensor *w)
{
    (void)x;
    return tern_ternary_dequantise(codes_of(w), scalar(3));
}

static tern_tensor *ternary_matmul(tern_tensor *x, tern_tensor *w)
{
    tern_tensor *y = tern_ternary_matmul(tern_quantise(x, scalar(1 / X_STAIR)), codes_of(w), NULL);
    return tern_cast(y, TERN_F32);
}

/* Two blocks of four columns in each row of weights. */
static tern_tensor *ternary_matmul_of_blocks(tern_tensor *x, tern_tensor *w)
{
    static const float scales[OUT * 2] = {2, 8, 0.5f, 3, 1, 7};
    static const float values[OUT * IN] = {1, -1, 0,  1, 1,  1,  -1, 0, 0, 1, -1, -1,
                                           1, 0,  -1, 1, -1, -1, 0,  1, 1, 0, 1,  -1};
    tern_tensor *codes = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){OUT, IN}, values), *t, *used;
    (void)w; /* which has no gradient then */
    tern_ternary_quantise(codes, scalar(1), TERN_T2, &t, &used);
    return tern_ternary_matmul(tern_quantise(x, scalar(1 / X_STAIR)), t,
                               tern_from_data(ctx, TERN_F32, 2, (int64_t[]){OUT, 2}, scales));
}

static tern_tensor *linear(tern_tensor *x, tern_tensor *w)
{
    return tern_linear(x, w);
}

static tern_tensor *linear_of_codes(tern_tensor *x, tern_tensor *w)
{
    tern_tensor *y =
        tern_linear(tern_quantise(x, scalar(1 / X_STAIR)), tern_quantise(w, scalar(1 / W_STAIR)));
    return tern_cast(y, TERN_F32);
}

static const struct {
    const char *name;
    tern_tensor *(*of)(tern_tensor *x, tern_tensor *w);
    bool reads_x, reads_w;
} CASES[] = {
    {"quantise", quantise, true, false},
    {"quantise_rows", quantise_rows, true, false},
    {"quantise_tensor", quantise_tensor, true, false},
    {"dequantise", dequantise, true, false},
    {"ternary_quantise", ternary_quantise, false, true},
    {"ternary_dequantise", ternary_dequantise, false, true},
    {"ternary_matmul", ternary_matmul, true, true},
    {"ternary_matmul of blocks", ternary_matmul_of_blocks, true, false},
    {"linear", linear, true, true},
    {"linear of codes", linear_of_codes, true, true},
};

/* Every result times a number of its own, summed; the tensors that it was made of, too. */
static tern_tensor *loss_of(size_t which, const numbers *n, tern_tensor **x, tern_tensor **w)
{
    *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){ROWS, IN}, n->x);
    *w = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){OUT, IN}, n->w);
    tern_tensor *y = CASES[which].of(*x, *w);
    tern_tensor *by = tern_rand(ctx, TERN_F32, tern_rank(y), tern_shape(y), 7);
    return tern_sum(tern_mul(tern_cast(y, TERN_F64), tern_cast(by, TERN_F64)), 0, NULL, false);
}

static double value_of(size_t which, const numbers *n)
{
    double value = NAN;
    TERN_SCOPE(ctx) {
        tern_tensor *x, *w;
        const double *data = tern_data_f64(loss_of(which, n, &x, &w));
        value = data ? *data : NAN;
    }
    return value;
}

/* Over a stair to each side, but not beyond `most`. */
static double difference(size_t which, numbers *n, float *at, double stair, double most)
{
    const float here = *at;
    const double up = fmin(here + stair, most), down = fmax(here - stair, -most);
    *at = (float)up;
    const double above = value_of(which, n);
    *at = (float)down;
    const double below = value_of(which, n);
    *at = here;
    return (above - below) / (up - down);
}

static void compare(size_t which, const char *operand, int i, double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * (1 + fabs(want))))
        harness_fail(__FILE__, __LINE__, "%s: element %d of %s: %.9g, by differences %.9g", CASES[which].name,
                     i, operand, got, want);
}

static void check_case(size_t which, numbers *n)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x, *w, *grads[2], *loss = loss_of(which, n, &x, &w);
        if (CASES[which].reads_x)
            CHECK_OK(tern_grad(loss, 1, &x, &grads[0]));
        if (CASES[which].reads_w)
            CHECK_OK(tern_grad(loss, 1, &w, &grads[1]));
        const float *of_x = CASES[which].reads_x ? tern_data_f32(grads[0]) : NULL,
                    *of_w = CASES[which].reads_w ? tern_data_f32(grads[1]) : NULL;
        CHECK((of_x != NULL) == CASES[which].reads_x && (of_w != NULL) == CASES[which].reads_w);
        for (int i = 0; of_x && i < ROWS * IN; i++)
            if (i % IN != 0)
                compare(which, "x", i, of_x[i], difference(which, n, &n->x[i], X_STAIR, MOST_CODE * X_STAIR));
        for (int i = 0; of_w && i < OUT * IN; i++)
            compare(which, "w", i, of_w[i], difference(which, n, &n->w[i], W_STAIR, W_STAIR));
    }
}

TEST(codes_against_differences)
{
    set_up();
    for (int round = 0; round < 4; round++) {
        numbers n;
        for (int i = 0; i < ROWS * IN; i++)
            n.x[i] = (float)(X_STAIR * (i % IN == 0 ? MOST_CODE : floor(uniform(-MOST_CODE + 1, MOST_CODE))));
        for (int i = 0; i < OUT * IN; i++)
            n.w[i] = (float)(W_STAIR * floor(uniform(-1, 2)));
        for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++)
            check_case(k, &n);
    }
    tear_down();
}

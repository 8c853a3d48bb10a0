/* test_ref_reduce.c - the reference reductions over random shapes, axes, layouts and splits against a slow
 * reduction that goes through the operand element by element, in the order that the kernels promise: bit
 * for bit. */
#include <math.h>

#include "harness.h"
#include "kernels/operand.h"

/* X(name, types): u everything, f floats, b bool */
#define KERNELS(X) \
    X(sum, u)      \
    X(mean, f)     \
    X(prod, u) X(max, u) X(min, u) X(var, f) X(any, b) X(all, b) X(logsumexp, f) X(argmax, u) X(argmin, u)
enum {
#define ID(name, types) K_##name,
    KERNELS(ID) K_COUNT
};
#define DECLARE(name, types) TERN__KERNEL(name##__ref);
KERNELS(DECLARE)
static const tern__kernel_fn RUN[] = {
#define FN(name, types) tern_##name##__ref,
    KERNELS(FN)};
static const char *const NAME[] = {
#define TEXT(name, types) #name,
    KERNELS(TEXT)};
static const char TYPES[] = {
#define KIND(name, types) #types[0],
    KERNELS(KIND)};
enum { UNPACKED = TERN_F64 + 1 };

static bool takes(int kernel, tern_dtype dtype)
{
    return TYPES[kernel] == 'u' || (TYPES[kernel] == 'f' ? tern__dtype_is_float(dtype) : dtype == TERN_BOOL);
}

static tern_dtype gives(int kernel, tern_dtype dtype)
{
    if (kernel == K_argmax || kernel == K_argmin)
        return TERN_I64;
    bool sums = kernel == K_sum || kernel == K_prod;
    return sums && !tern__dtype_is_float(dtype) ? TERN_I64 : dtype;
}

/* ---- the slow reduction -------------------------------------------------------------------------------- */

typedef struct lane {
    double f, mean, top;
    uint64_t u; /* integers, wrapping */
    int64_t best, at, seen;
} lane;

static int64_t get_i64(const operand *o, int64_t index)
{
    int64_t value;
    tern__convert(o->type.dtype, operand_at(o, index), 1, TERN_I64, &value, 1, 1);
    return value;
}

/* Index of the lane (the result's element, row-major) that element `index` belongs to. */
static int64_t lane_of(const tern__type *type, unsigned reduced, int64_t index)
{
    int64_t at = 0, size = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        if (!(reduced >> d & 1)) {
            at += index % type->shape[d] * size;
            size *= type->shape[d];
        }
        index /= type->shape[d];
    }
    return at;
}

static void first_pass(int kernel, lane *l, double x, int64_t i, bool is_float)
{
    bool is_max = kernel == K_max || kernel == K_argmax || kernel == K_logsumexp;
    bool better = is_float ? (is_max ? x > l->top : x < l->top) : (is_max ? i > l->best : i < l->best);
    if (is_float && isnan(l->top))
        better = false;
    if (l->seen == 0 || better || (is_float && isnan(x) && !isnan(l->top))) {
        l->top = x;
        l->best = i;
        l->at = l->seen;
    }
    l->f = kernel == K_prod ? (l->seen == 0 ? 1 : l->f) * x : l->f + x;
    l->u = kernel == K_prod ? (l->seen == 0 ? 1 : l->u) * (uint64_t)i : l->u + (uint64_t)i;
    l->seen++;
}

static void finish(int kernel, lane *l, int64_t ddof, bool is_float, double *f, int64_t *i)
{
    *i = (int64_t)l->u;
    *f = l->f;
    switch (kernel) {
    case K_prod:
        if (l->seen == 0)
            *f = (double)(*i = 1);
        break;
    case K_mean:
        *f = l->mean;
        break;
    case K_max:
    case K_min:
        *f = l->top;
        *i = l->best;
        break;
    case K_var:
        *f = l->f / (l->seen > ddof ? (double)(l->seen - ddof) : 0);
        break;
    case K_any:
        *i = l->u != 0;
        break;
    case K_all:
        *i = l->u == (uint64_t)l->seen;
        break;
    case K_logsumexp:
        *f = l->seen == 0 ? -INFINITY : isfinite(l->top) ? l->top + log(l->f) : l->top;
        break;
    case K_argmax:
    case K_argmin:
        *i = l->at;
        break;
    default:
        break;
    }
    (void)is_float;
}

/* Fills the dense `want`. */
static void reduce_slowly(int kernel, const operand *in, unsigned reduced, int64_t ddof, const operand *want)
{
    bool is_float = tern__dtype_is_float(in->type.dtype);
    int64_t lanes = operand_numel(want), n = operand_numel(in);
    lane *l = calloc((size_t)lanes + 1, sizeof *l);
    if (l == NULL)
        abort();
    for (int64_t i = 0; i < n; i++)
        first_pass(kernel, &l[lane_of(&in->type, reduced, i)], operand_get(in, i), get_i64(in, i), is_float);
    for (int64_t k = 0; k < lanes; k++) {
        l[k].mean = l[k].f / (double)l[k].seen;
        if (kernel == K_var || kernel == K_logsumexp)
            l[k].f = 0;
    }
    for (int64_t i = 0; i < n && (kernel == K_var || kernel == K_logsumexp); i++) {
        lane *own = &l[lane_of(&in->type, reduced, i)];
        double x = operand_get(in, i);
        own->f += kernel == K_var ? (x - own->mean) * (x - own->mean) : exp(x - own->top);
    }
    for (int64_t k = 0; k < lanes; k++) {
        double f;
        int64_t i;
        finish(kernel, &l[k], ddof, is_float, &f, &i);
        if (tern__dtype_is_float(want->type.dtype))
            tern__convert(TERN_F64, &f, 1, want->type.dtype, operand_at(want, k), 1, 1);
        else
            tern__convert(TERN_I64, &i, 1, want->type.dtype, operand_at(want, k), 1, 1);
    }
    free(l);
}

/* ---- one random case ----------------------------------------------------------------------------------- */

static void reduced_shape(const tern__type *in, unsigned reduced, bool keepdims, tern__type *out)
{
    out->rank = 0;
    for (int d = 0; d < in->rank; d++) {
        if (!(reduced >> d & 1))
            out->shape[out->rank++] = in->shape[d];
        else if (keepdims)
            out->shape[out->rank++] = 1;
    }
}

static void random_case(int kernel, tern_dtype dtype, dice *d)
{
    bool one_axis = kernel == K_argmax || kernel == K_argmin;
    bool empty_allowed = !one_axis && kernel != K_max && kernel != K_min;
    int rank = one_axis ? 1 + (int)dice_below(d, 6) : (int)dice_below(d, 7);
    int64_t shape[TERN__MAX_RANK], axes[TERN__MAX_RANK];
    const int64_t most = rank > 3 ? 4 : rank > 1 ? 12 : 200;
    for (int i = 0; i < rank; i++)
        shape[i] = empty_allowed && dice_below(d, 12) == 0 ? 0 : 1 + dice_below(d, most);
    unsigned reduced = 0;
    uint32_t count = 0;
    for (int i = 0; i < rank && !one_axis; i++) {
        if (dice_below(d, 2)) {
            reduced |= 1u << i;
            axes[count++] = dice_below(d, 2) ? i : i - rank;
        }
    }
    if (one_axis) {
        axes[0] = dice_below(d, rank);
        reduced = 1u << axes[0];
    } else if (count == 0) {
        reduced = (1u << rank) - 1;
    }
    bool keepdims = dice_below(d, 2);
    int64_t ddof = dice_below(d, 3);
    const tern__attr attrs[3] = {one_axis ? (tern__attr){.i = axes[0] - (keepdims ? rank : 0)}
                                          : (tern__attr){.ints = axes, .count = count},
                                 {.i = keepdims},
                                 {.i = ddof}};

    operand in = operand_make(dtype, rank, shape, dice_below(d, 3) == 0 ? NULL : d);
    bool tame = dice_below(d, 2); /* else NaN and infinities hide what the numbers do */
    for (int64_t i = 0; i < operand_numel(&in); i++)
        operand_set(&in, i, tame ? (double)dice_below(d, 41) / 4 - 5 : dice_number(d, dtype));
    tern__type type = {.dtype = gives(kernel, dtype)};
    reduced_shape(&in.type, reduced, keepdims, &type);
    operand want = operand_make(type.dtype, type.rank, type.shape, NULL);
    operand got = operand_make(type.dtype, type.rank, type.shape, dice_below(d, 3) == 0 ? NULL : d);
    reduce_slowly(kernel, &in, reduced, ddof, &want);
    dice *split = dice_below(d, 2) ? d : NULL;
    tern_status status = operand_run(RUN[kernel], 1, &in, &got, attrs, operand_numel(&got), split);
    if (status != TERN_OK || !operand_same(&want, &got) || !operand_is_intact(&got)) {
        char text[TERN__TYPE_TEXT];
        harness_fail(__FILE__, __LINE__, "%s of %s over axes %#x, keepdims %d", NAME[kernel],
                     tern__type_text(&in.type, text), reduced, keepdims);
    }
    operand_free(&in);
    operand_free(&want);
    operand_free(&got);
}

TEST(reductions_have_the_bits_of_a_slow_one)
{
    dice d = {harness_seed(), 0};
    for (int kernel = 0; kernel < K_COUNT; kernel++) {
        for (int dtype = 0; dtype < UNPACKED; dtype++) {
            for (int round = 0; round < 40 && takes(kernel, (tern_dtype)dtype) && !harness_failed(); round++)
                random_case(kernel, (tern_dtype)dtype, &d);
        }
    }
}

TEST(types_that_a_reduction_does_not_know_are_refused)
{
    for (int kernel = 0; kernel < K_COUNT; kernel++) {
        for (int dtype = 0; dtype < TERN_DTYPE_COUNT; dtype++) {
            if (dtype < UNPACKED && takes(kernel, (tern_dtype)dtype))
                continue;
            operand in = operand_make((tern_dtype)dtype, 1, (int64_t[]){4}, NULL);
            operand out = operand_make(TERN_F64, 0, NULL, NULL);
            const tern__attr attrs[3] = {{.count = 0}};
            CHECK_STATUS(operand_run(RUN[kernel], 1, &in, &out, attrs, 1, NULL), TERN_INTERNAL);
            operand_free(&in);
            operand_free(&out);
        }
    }
}

/* ---- values known by hand ------------------------------------------------------------------------------ */

static double reduce(int kernel, tern_dtype dtype, int64_t n, const double *x, int64_t ddof)
{
    bool one_axis = kernel == K_argmax || kernel == K_argmin;
    const tern__attr attrs[3] = {{.i = one_axis ? -1 : 0}, {.i = 0}, {.i = ddof}};
    operand in = operand_make(dtype, 1, &n, NULL), out = operand_make(gives(kernel, dtype), 0, NULL, NULL);
    for (int64_t i = 0; i < n; i++)
        operand_set(&in, i, x[i]);
    tern_status status = operand_run(RUN[kernel], 1, &in, &out, attrs, 1, NULL);
    double y = status == TERN_OK ? operand_get(&out, 0) : -12345;
    operand_free(&in);
    operand_free(&out);
    return y;
}

#define LIST(...)                                                           \
    (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]) \
    {                                                                       \
        __VA_ARGS__                                                         \
    }
static const double NOTHING[1];

TEST(nothing_to_reduce)
{
    CHECK(reduce(K_sum, TERN_F32, 0, NOTHING, 0) == 0);
    CHECK(reduce(K_sum, TERN_I32, 0, NOTHING, 0) == 0);
    CHECK(reduce(K_prod, TERN_F16, 0, NOTHING, 0) == 1);
    CHECK(reduce(K_prod, TERN_I64, 0, NOTHING, 0) == 1);
    CHECK(isnan(reduce(K_mean, TERN_F32, 0, NOTHING, 0)));
    CHECK(isnan(reduce(K_var, TERN_F32, 0, NOTHING, 0)));
    CHECK(reduce(K_any, TERN_BOOL, 0, NOTHING, 0) == 0);
    CHECK(reduce(K_all, TERN_BOOL, 0, NOTHING, 0) == 1);
    CHECK(reduce(K_logsumexp, TERN_F32, 0, NOTHING, 0) == -INFINITY);
    CHECK(reduce(K_max, TERN_F32, 0, NOTHING, 0) == -12345); /* refused */
    CHECK(reduce(K_argmin, TERN_I32, 0, NOTHING, 0) == -12345);
}

TEST(sums_are_wide)
{
    CHECK(reduce(K_sum, TERN_F32, LIST(1e8, 1, -1e8), 0) == 1); /* 0 in f32 */
    CHECK(reduce(K_sum, TERN_F16, LIST(60000, 60000, -60000), 0) == 60000);
    CHECK(reduce(K_mean, TERN_F16, LIST(60000, 60000), 0) == 60000);
    CHECK(reduce(K_prod, TERN_F32, LIST(1e30, 1e30, 1e-30, 1e-30), 0) == 1);
    CHECK(reduce(K_sum, TERN_U8, LIST(255, 255, 255), 0) == 765);
    CHECK(reduce(K_sum, TERN_BOOL, LIST(1, 1, 0, 1), 0) == 3);
    CHECK(reduce(K_sum, TERN_I64, LIST(0x1p62, 0x1p62), 0) == -0x1p63);
    CHECK(reduce(K_prod, TERN_I8, LIST(-128, -128, -128), 0) == -2097152);
    CHECK(isnan(reduce(K_sum, TERN_F32, LIST(INFINITY, 1, -INFINITY), 0)));
    CHECK(reduce(K_sum, TERN_F32, LIST(INFINITY, 1), 0) == INFINITY);
}

TEST(variance_and_its_degrees_of_freedom)
{
    CHECK(reduce(K_var, TERN_F32, LIST(1, 2, 3, 4), 0) == 1.25);
    CHECK(reduce(K_var, TERN_F64, LIST(1, 2, 3, 4, 5), 1) == 2.5);
    CHECK(reduce(K_var, TERN_F32, LIST(1e8, 1e8 + 8, 1e8 + 16), 1) == 64); /* no cancellation */
    CHECK(isnan(reduce(K_var, TERN_F32, LIST(7), 1)));
    CHECK(reduce(K_var, TERN_F32, LIST(7, 9), 2) == INFINITY);
    CHECK(reduce(K_var, TERN_F32, LIST(7, 9), 5) == INFINITY);
    CHECK(isnan(reduce(K_var, TERN_F32, LIST(1, INFINITY), 0)));
}

TEST(extremes_and_their_places)
{
    CHECK(reduce(K_max, TERN_F32, LIST(-INFINITY, -INFINITY), 0) == -INFINITY);
    CHECK(isnan(reduce(K_max, TERN_F32, LIST(1, NAN, 3), 0)));
    CHECK(isnan(reduce(K_min, TERN_BF16, LIST(NAN, 2, 3), 0)));
    CHECK(reduce(K_max, TERN_I64, LIST(-0x1p63), 0) == -0x1p63);
    CHECK(reduce(K_min, TERN_U8, LIST(255, 255), 0) == 255);
    CHECK(reduce(K_max, TERN_BOOL, LIST(0, 1), 0) == 1);
    CHECK(reduce(K_argmax, TERN_F32, LIST(1, 3, 3, 2), 0) == 1);
    CHECK(reduce(K_argmin, TERN_I8, LIST(4, -5, -5), 0) == 1);
    CHECK(reduce(K_argmax, TERN_F32, LIST(9, NAN, INFINITY, NAN), 0) == 1);
    CHECK(reduce(K_argmin, TERN_F64, LIST(NAN, -INFINITY), 0) == 0);
    CHECK(reduce(K_argmax, TERN_F16, LIST(-INFINITY, -INFINITY), 0) == 0);
    CHECK(reduce(K_argmax, TERN_I64, LIST(-0x1p63, -0x1p63), 0) == 0);
    CHECK(reduce(K_argmax, TERN_F32, LIST(-0.0, 0.0), 0) == 0);
    CHECK(reduce(K_argmin, TERN_BOOL, LIST(1, 1, 0), 0) == 2);

    operand scalar = operand_make(TERN_F32, 0, NULL, NULL), place = operand_make(TERN_I64, 0, NULL, NULL);
    const tern__attr attrs[2] = {{.i = -1}, {.i = 0}};
    operand_set(&scalar, 0, NAN);
    CHECK_OK(operand_run(tern_argmax__ref, 1, &scalar, &place, attrs, 1, NULL));
    CHECK(operand_get(&place, 0) == 0);
    operand_free(&scalar);
    operand_free(&place);
}

TEST(logsumexp_does_not_overflow)
{
    CHECK_NEAR(reduce(K_logsumexp, TERN_F32, LIST(1000, 1000), 0), 1000.6931471805599, 4e-5);
    CHECK_NEAR(reduce(K_logsumexp, TERN_F64, LIST(-1000, -1001, -2000), 0), -999.68673831248177, 1e-12);
    CHECK(reduce(K_logsumexp, TERN_F32, LIST(-INFINITY, -INFINITY), 0) == -INFINITY);
    CHECK(reduce(K_logsumexp, TERN_F32, LIST(-INFINITY, 3), 0) == 3);
    CHECK(reduce(K_logsumexp, TERN_F32, LIST(INFINITY, -INFINITY, 3), 0) == INFINITY);
    CHECK(isnan(reduce(K_logsumexp, TERN_F32, LIST(INFINITY, NAN), 0)));
}

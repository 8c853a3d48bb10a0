/* conv2d and pooling: by hand, and random windows against loops over the whole padded image, in both
 * orders. */
#include "call.h"

TERN__KERNEL(conv2d__ref);
TERN__KERNEL(max_pool2d__ref);
TERN__KERNEL(avg_pool2d__ref);

typedef struct image {
    int64_t n, c, h, w;
    bool nhwc;
} image;

static int64_t pixel(const image *m, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return m->nhwc ? ((n * m->h + h) * m->w + w) * m->c + c : ((n * m->c + c) * m->h + h) * m->w + w;
}

static void image_shape(const image *m, int64_t *shape)
{
    const int64_t nchw[] = {m->n, m->c, m->h, m->w}, nhwc[] = {m->n, m->h, m->w, m->c};
    memcpy(shape, m->nhwc ? nhwc : nchw, sizeof nchw);
}

static int64_t places(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation)
{
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}

static int64_t between(int64_t low, int64_t high)
{
    return low + dice_below(call_dice(), high - low + 1);
}

/* ---- convolution --------------------------------------------------------------------------------------- */

typedef struct conv {
    image x, y;
    int64_t kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
} conv;

static conv random_conv(void)
{
    conv v = {.kh = between(1, 3),
              .kw = between(1, 3),
              .stride_h = between(1, 3),
              .stride_w = between(1, 3),
              .pad_h = between(0, 3),
              .pad_w = between(0, 3),
              .dilation_h = between(1, 2),
              .dilation_w = between(1, 2),
              .groups = between(1, 3)};
    v.x = (image){between(0, 2), v.groups * between(0, 2), between(5, 7), between(5, 7), between(0, 1) != 0};
    v.y = (image){v.x.n, v.groups * between(1, 2), places(v.x.h, v.kh, v.stride_h, v.pad_h, v.dilation_h),
                  places(v.x.w, v.kw, v.stride_w, v.pad_w, v.dilation_w), v.x.nhwc};
    return v;
}

static double conv_at(const conv *v, const call *c, int64_t n, int64_t o, int64_t h, int64_t w)
{
    const bool wide = c->in[0].type.dtype == TERN_F64;
    int64_t in = v->x.c / v->groups, first = o / (v->y.c / v->groups) * in;
    double sum = 0;
    for (int64_t k = 0; k < in * v->kh * v->kw; k++) {
        int64_t ch = k / (v->kh * v->kw), i = k / v->kw % v->kh, j = k % v->kw;
        int64_t row = h * v->stride_h - v->pad_h + i * v->dilation_h;
        int64_t column = w * v->stride_w - v->pad_w + j * v->dilation_w;
        if (row < 0 || row >= v->x.h || column < 0 || column >= v->x.w)
            continue;
        double x = operand_get(&c->in[0], pixel(&v->x, n, first + ch, row, column));
        double weight = operand_get(&c->in[1], o * in * v->kh * v->kw + k);
        sum = wide ? fma(x, weight, sum) : (double)fmaf((float)x, (float)weight, (float)sum);
    }
    if (c->n_in > 2)
        sum =
            wide ? sum + operand_get(&c->in[2], o) : (double)((float)sum + (float)operand_get(&c->in[2], o));
    return sum;
}

static void check_conv(tern_dtype dtype, bool bias)
{
    conv v = random_conv();
    int64_t x_shape[4], y_shape[4];
    image_shape(&v.x, x_shape);
    image_shape(&v.y, y_shape);
    call c = {.kernel = tern_conv2d__ref};
    call_in_plain(&c, dtype, 4, x_shape, 3);
    call_in_plain(&c, dtype, SHAPE(v.y.c, v.x.c / v.groups, v.kh, v.kw), 3);
    if (bias)
        call_in_plain(&c, dtype, SHAPE(v.y.c), 3);
    c.items = operand_numel(call_out(&c, dtype, 4, y_shape));
    const int64_t attrs[] = {v.stride_h,   v.stride_w,   v.pad_h,  v.pad_w,
                             v.dilation_h, v.dilation_w, v.groups, v.x.nhwc};
    for (int i = 0; i < 8; i++)
        c.attrs[i].i = attrs[i];
    CHECK_OK(call_run(&c));
    operand want = operand_make(dtype, 4, y_shape, NULL);
    for (int64_t n = 0; n < v.y.n; n++)
        for (int64_t o = 0; o < v.y.c; o++)
            for (int64_t h = 0; h < v.y.h; h++)
                for (int64_t w = 0; w < v.y.w; w++)
                    operand_set(&want, pixel(&v.y, n, o, h, w), conv_at(&v, &c, n, o, h, w));
    CHECK(operand_same(&want, &c.out[0]));
    operand_free(&want);
    call_free(&c);
}

TEST(conv2d_is_one_fused_chain)
{
    static const tern_dtype types[] = {TERN_F32, TERN_F64, TERN_F16, TERN_BF16};
    for (int round = 0; round < 60 && !harness_failed(); round++)
        check_conv(types[round % 4], round % 3 == 0);
}

TEST(conv2d_by_hand)
{
    call c = {.kernel = tern_conv2d__ref, .items = 4};
    call_in(&c, TERN_F32, SHAPE(1, 1, 3, 3), VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9));
    call_in(&c, TERN_F32, SHAPE(1, 1, 2, 2), VALUES(1, 0, 0, -1));
    call_in(&c, TERN_F32, SHAPE(1), VALUES(10));
    call_out(&c, TERN_F32, SHAPE(1, 1, 2, 2));
    const int64_t attrs[] = {1, 1, 0, 0, 1, 1, 1, 0};
    for (int i = 0; i < 8; i++)
        c.attrs[i].i = attrs[i];
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(6, 6, 6, 6)));
    call_free(&c);
}

/* ---- pooling ------------------------------------------------------------------------------------------- */

typedef struct pool {
    image x, y;
    int64_t kh, kw, stride_h, stride_w, pad_h, pad_w;
    bool average, count_padding;
} pool;

static pool random_pool(void)
{
    pool p = {.kh = between(1, 4),
              .kw = between(1, 4),
              .stride_h = between(1, 3),
              .stride_w = between(1, 3),
              .average = between(0, 1) != 0,
              .count_padding = between(0, 1) != 0};
    p.pad_h = between(0, p.kh / 2);
    p.pad_w = between(0, p.kw / 2);
    p.x = (image){between(0, 2), between(0, 3), between(4, 7), between(4, 7), between(0, 1) != 0};
    p.y = p.x;
    p.y.h = places(p.x.h, p.kh, p.stride_h, p.pad_h, 1);
    p.y.w = places(p.x.w, p.kw, p.stride_w, p.pad_w, 1);
    return p;
}

static double pool_at(const pool *p, const operand *x, int64_t n, int64_t c, int64_t h, int64_t w)
{
    double sum = 0, max = -INFINITY;
    int64_t seen = 0;
    for (int64_t row = h * p->stride_h - p->pad_h; row < h * p->stride_h - p->pad_h + p->kh; row++) {
        for (int64_t column = w * p->stride_w - p->pad_w; column < w * p->stride_w - p->pad_w + p->kw;
             column++) {
            if (row < 0 || row >= p->x.h || column < 0 || column >= p->x.w)
                continue;
            double value = operand_get(x, pixel(&p->x, n, c, row, column));
            sum += value;
            max = isnan(value) || isnan(max) ? NAN : value > max ? value : max;
            seen++;
        }
    }
    return p->average ? sum / (double)(p->count_padding ? p->kh * p->kw : seen) : max;
}

static void check_pool(tern_dtype dtype)
{
    pool p = random_pool();
    int64_t x_shape[4], y_shape[4];
    image_shape(&p.x, x_shape);
    image_shape(&p.y, y_shape);
    call c = {.kernel = p.average ? tern_avg_pool2d__ref : tern_max_pool2d__ref};
    call_in(&c, dtype, 4, x_shape, NULL);
    c.items = operand_numel(call_out(&c, dtype, 4, y_shape));
    const int64_t attrs[] = {p.kh, p.kw, p.stride_h, p.stride_w, p.pad_h, p.pad_w, p.x.nhwc, p.count_padding};
    for (int i = 0; i < 8; i++)
        c.attrs[i].i = attrs[i];
    CHECK_OK(call_run(&c));
    for (int64_t n = 0; n < p.y.n; n++) {
        for (int64_t ch = 0; ch < p.y.c; ch++) {
            for (int64_t h = 0; h < p.y.h; h++) {
                for (int64_t w = 0; w < p.y.w; w++) {
                    double want = pool_at(&p, &c.in[0], n, ch, h, w);
                    if (dtype == TERN_F32)
                        want = (double)(float)want;
                    CHECK(operand_get(&c.out[0], pixel(&p.y, n, ch, h, w)) == want ||
                          (isnan(want) && isnan(operand_get(&c.out[0], pixel(&p.y, n, ch, h, w)))));
                }
            }
        }
    }
    call_free(&c);
}

TEST(pools_are_their_definitions)
{
    for (int round = 0; round < 80 && !harness_failed(); round++)
        check_pool(round % 2 ? TERN_F32 : TERN_F64);
}

TEST(pools_by_hand)
{
    const double *x = VALUES(1, 2, NAN, 3, -1, 4, -5, -6, -7);
    for (int i = 0; i < 3; i++) {
        call c = {.kernel = i == 0 ? tern_max_pool2d__ref : tern_avg_pool2d__ref, .items = 4};
        call_in(&c, TERN_F16, SHAPE(1, 1, 3, 3), x);
        call_out(&c, TERN_F16, SHAPE(1, 1, 2, 2));
        const int64_t attrs[] = {2, 2, 2, 2, 1, 1, 0, i == 2};
        for (int k = 0; k < 8; k++)
            c.attrs[k].i = attrs[k];
        CHECK_OK(call_run(&c));
        CHECK(call_gives(&c, 0,
                         i == 0   ? VALUES(1, NAN, 3, 4)
                         : i == 1 ? VALUES(1, NAN, -1, -2.5)
                                  : VALUES(0.25, NAN, -0.5, -2.5)));
        call_free(&c);
    }
}

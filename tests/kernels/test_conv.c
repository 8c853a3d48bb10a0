/* test_conv.c - convolutions as products against the reference, bit for bit: both layouts, groups, strides, padding, dilation,
 * bias, images from one pixel to several strips, odd strides, infinite weights, any split, of pixels and of output channels. */
#include "base/alloc.h"
#include "call.h"
#include "kernels/conv/conv.h"
#include "kernels/select.h"

TERN__KERNEL(conv2d__ref);

enum { STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS, NHWC };

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static tern__conv_program program;

static size_t scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in, (void)in, (void)attrs;
    return program.scratch_bytes;
}

static tern_status kernel(tern__kernel_args *args, int64_t begin, int64_t end)
{
    void *given = args->scratch; /* its size is right, but not its alignment */
    args->scratch = tern__alloc_aligned(program.scratch_bytes, TERN__GEMM_ALIGN);
    args->program = &program;
    const tern_status status = tern_conv2d__gemm(args, begin, end);
    tern__free(args->scratch);
    args->scratch = given;
    return status;
}

static int64_t places(int64_t size, int64_t taps, int64_t stride, int64_t pad, int64_t dilation)
{
    return (size + 2 * pad - dilation * (taps - 1) - 1) / stride + 1;
}

static call random_call(void)
{
    call c = {.n_in = 0};
    const int64_t groups = roll(3) ? 1 : 1 + roll(4), in = 1 + roll(5), out = 1 + roll(roll(2) ? 9 : 3);
    const int64_t kh = 1 + roll(3), kw = 1 + roll(3), big = roll(4) ? 12 : 60;
    tern__attr *a = c.attrs;
    for (int i = STRIDE_H; i <= DILATION_W; i++)
        a[i].i = i == PAD_H || i == PAD_W ? roll(3) : 1 + (roll(2) ? roll(3) : 0);
    a[GROUPS].i = groups;
    a[NHWC].i = roll(2);
    const int64_t n = 1 + roll(2), h = (kh - 1) * a[DILATION_H].i + 1 + roll(big);
    const int64_t w = (kw - 1) * a[DILATION_W].i + 1 + roll(big);
    const int64_t oh = places(h, kh, a[STRIDE_H].i, a[PAD_H].i, a[DILATION_H].i);
    const int64_t ow = places(w, kw, a[STRIDE_W].i, a[PAD_W].i, a[DILATION_W].i);
    const int64_t nchw[] = {n, in * groups, h, w}, nhwc[] = {n, h, w, in * groups};
    const int64_t y_nchw[] = {n, out * groups, oh, ow}, y_nhwc[] = {n, oh, ow, out * groups};
    const tern_dtype types[] = {TERN_F32, TERN_F32, TERN_F16, TERN_BF16}, dtype = types[roll(4)];
    call_in_plain(&c, dtype, 4, a[NHWC].i ? nhwc : nchw, 3);
    call_in_plain(&c, dtype, SHAPE(out * groups, in, kh, kw), 3);
    if (roll(2))
        call_in_plain(&c, dtype, SHAPE(out * groups), 3);
    call_out(&c, dtype, 4, a[NHWC].i ? y_nhwc : y_nchw);
    return c;
}

/* What the reference gives, in all layouts. */
static void check_call(call *c, const tern__kernel_row *row, int workers)
{
    const tern__type *types[] = {&c->in[0].type, &c->in[1].type, &c->in[2].type};
    c->kernel = tern_conv2d__ref;
    c->scratch = NULL;
    c->items = operand_numel(&c->out[0]);
    CHECK_OK(call_once(c, c->in, c->out, NULL));
    operand want = operand_dense(&c->out[0]);
    CHECK(tern__conv_plan(row->kernel, tern__rowop_tables(tern__isa_mask_capped(tern__cpu(), row->isa)),
                          c->n_in, types, &c->out[0].type, c->attrs, workers, &program));
    c->kernel = kernel;
    c->scratch = scratch;
    c->items = program.work;
    CHECK_OK(call_run(c));
    CHECK(operand_same(&want, &c->out[0]));
    operand_free(&want);
}

/* SSE rounds products, too. Those of small whole numbers are exact, and so are their sums. */
static void set_whole(call *c)
{
    for (int k = 0; k < c->n_in; k++)
        for (int64_t i = 0; i < operand_numel(&c->in[k]); i++)
            operand_set(&c->in[k], i, (double)(roll(9) - 4));
}

TEST(products_equal_the_reference)
{
    int count, ran = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        ran++;
        for (int n = 0; n < 60; n++) {
            call c = random_call();
            if (!((const tern__gemm_kernel *)row->kernel)->fused) {
                set_whole(&c);
            } else if (n % 6 == 0) {
                const double special[] = {INFINITY, -INFINITY, NAN};
                operand_set(&c.in[n % 12 / 6], roll(operand_numel(&c.in[n % 12 / 6])), special[roll(3)]);
            }
            check_call(&c, row, 1 + (int)roll(4));
            call_free(&c);
        }
    }
    if (ran == 0)
        SKIP("this processor has no products of f32");
}

/* A 3 x 3 convolution of few pixels with padding. */
static call small_image(tern_dtype dtype, int64_t in, int64_t out, int64_t size)
{
    call c = {.n_in = 0};
    for (int i = STRIDE_H; i <= DILATION_W; i++)
        c.attrs[i].i = 1;
    c.attrs[GROUPS].i = 1;
    c.attrs[NHWC].i = 0;
    call_in_plain(&c, dtype, 4, (int64_t[]){1, in, size, size}, 3);
    call_in_plain(&c, dtype, SHAPE(out, in, 3, 3), 3);
    call_in_plain(&c, dtype, SHAPE(out), 3);
    call_out(&c, dtype, 4, (int64_t[]){1, out, size, size});
    return c;
}

/* Workers share output channels where there is one strip of pixels, and weights and results that go through the scratch do so in
 * several parts; one weight that is no number spoils what meets it, and nothing else. */
TEST(channels_are_shared_and_taken_in_parts)
{
    int count, ran = 0;
    const tern_dtype types[] = {TERN_F32, TERN_F16, TERN_BF16};
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        for (int n = 0; n < 3; n++, ran++) {
            call c = small_image(types[n], 210, 90, 3);
            if (!((const tern__gemm_kernel *)row->kernel)->fused)
                set_whole(&c);
            operand_set(&c.in[1], roll(operand_numel(&c.in[1])), roll(2) ? INFINITY : NAN);
            check_call(&c, row, 3);
            CHECK(program.blocks > 1 && program.work == program.strips * program.blocks);
            CHECK(program.channels < 90);
            call_free(&c);
        }
    }
    if (ran == 0)
        SKIP("this processor has no products of f32");
}

/* Where a group has few output channels nothing is unrolled: filters of any height and width, in any image. */
TEST(few_channels_are_read_in_place)
{
    int count, ran = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        for (int n = 0; n < 20;) {
            call c = random_call();
            if (c.attrs[STRIDE_W].i != 1 || c.in[1].type.shape[0] / c.attrs[GROUPS].i > 4) {
                call_free(&c);
                continue;
            }
            if (!((const tern__gemm_kernel *)row->kernel)->fused)
                set_whole(&c);
            else if (n % 4 == 0)
                operand_set(&c.in[n % 8 / 4], roll(operand_numel(&c.in[n % 8 / 4])), INFINITY);
            check_call(&c, row, 1 + (int)roll(4));
            CHECK(program.in_place);
            call_free(&c);
            n++, ran++;
        }
    }
    if (ran == 0)
        SKIP("this processor has no products of f32");
}

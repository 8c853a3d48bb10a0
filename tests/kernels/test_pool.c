/* test_pool.c - pools by rows against the reference, bit for bit: both layouts, windows that overlap or leave gaps, padding
 * counted or not, rows longer than a piece, odd strides, zeros of both signs, infinities and NaN, any split. */
#include "call.h"
#include "kernels/pool/pool.h"
#include "kernels/select.h"

static tern__pool_program inner;

static tern_status max_rows(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &inner;
    return tern_max_pool2d__rows(args, begin, end);
}

static tern_status avg_rows(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &inner;
    return tern_avg_pool2d__rows(args, begin, end);
}

TERN__KERNEL(max_pool2d__ref);
TERN__KERNEL(avg_pool2d__ref);

enum { KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, PAD_H, PAD_W, NHWC, COUNT_PADDING };

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static int64_t places(int64_t size, int64_t kernel, int64_t stride, int64_t pad)
{
    return (size + 2 * pad - kernel) / stride + 1;
}

static call random_call(void)
{
    call c = {.n_in = 0};
    tern__attr *a = c.attrs;
    for (int i = KERNEL_H; i <= STRIDE_W; i++)
        a[i].i = 1 + roll(3);
    a[PAD_H].i = roll(a[KERNEL_H].i / 2 + 1);
    a[PAD_W].i = roll(a[KERNEL_W].i / 2 + 1);
    a[NHWC].i = roll(2);
    a[COUNT_PADDING].i = roll(2);
    const bool wide = roll(8) == 0;
    const int64_t n = 1 + roll(2), channels = a[NHWC].i && wide ? 250 + roll(20) : 1 + roll(20);
    const int64_t h = a[KERNEL_H].i + roll(6), w = a[KERNEL_W].i + (!a[NHWC].i && wide ? 600 : roll(40));
    const int64_t oh = places(h, a[KERNEL_H].i, a[STRIDE_H].i, a[PAD_H].i);
    const int64_t ow = places(w, a[KERNEL_W].i, a[STRIDE_W].i, a[PAD_W].i);
    const int64_t nchw[] = {n, channels, h, w}, nhwc[] = {n, h, w, channels};
    const int64_t y_nchw[] = {n, channels, oh, ow}, y_nhwc[] = {n, oh, ow, channels};
    const tern_dtype types[] = {TERN_F32, TERN_F16, TERN_BF16}, dtype = types[roll(3)];
    call_in_plain(&c, dtype, 4, a[NHWC].i ? nhwc : nchw, 3);
    call_out(&c, dtype, 4, a[NHWC].i ? y_nhwc : y_nchw);
    return c;
}

/* On every kernel that runs here. */
static void check_call(call *c, bool mean)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    c->kernel = mean ? tern_avg_pool2d__ref : tern_max_pool2d__ref;
    c->items = operand_numel(&c->out[0]);
    CHECK_OK(call_once(c, c->in, c->out, NULL));
    operand want = operand_dense(&c->out[0]);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_pool || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        inner = (tern__pool_program){
            .kernel = row->kernel, .rows = tern__rowop_tables(tern__isa_mask_capped(tern__cpu(), row->isa))};
        c->kernel = mean ? avg_rows : max_rows;
        c->items = tern__pool_work(&c->out[0].type, c->attrs);
        CHECK_OK(call_run(c));
        CHECK(operand_same(&want, &c->out[0]));
    }
    operand_free(&want);
}

TEST(pools_equal_the_reference)
{
    for (int n = 0; n < harness_cases(200); n++) {
        call c = random_call();
        const double special[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
        for (int64_t i = 0; n % 2 && i < 12; i++)
            operand_set(&c.in[0], roll(operand_numel(&c.in[0])), special[roll(5)]);
        check_call(&c, n % 4 < 2);
        call_free(&c);
    }
}

/* Of equal elements the first: zeros only. */
TEST(the_first_of_equal_elements_counts)
{
    for (int n = 0; n < 20; n++) {
        call c = random_call();
        for (int64_t i = 0; i < operand_numel(&c.in[0]); i++)
            operand_set(&c.in[0], i, roll(2) ? 0.0 : -0.0);
        check_call(&c, false);
        call_free(&c);
    }
}

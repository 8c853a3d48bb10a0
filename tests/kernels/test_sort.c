/* test_sort.c - sort and topk by radix, merging and blocks against the reference kernels: the same values, the same indices, for
 * every type they take, in odd layouts, with ties, NaN and zeros, short lanes and long ones. */
#include "call.h"
#include "kernels/select.h"
#include "kernels/sort/sort.h"

TERN__KERNEL(sort__ref);
TERN__KERNEL(topk__ref);
size_t tern_sort__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);
size_t tern_topk__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static size_t sort_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    size_t bytes = 0;
    (void)n_in;
    return tern__sort_scratch(in[0], (int)attrs[0].i, &bytes) ? bytes : 0;
}

static size_t topk_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in, (void)in;
    return (size_t)attrs[0].i * sizeof(uint64_t);
}

/* The kernel that topk_kernel runs on. */
static tern__topk_program program;

static tern_status topk_kernel(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program;
    return tern_topk__blocks(args, begin, end);
}

/* Of few different numbers, so that there are ties. */
static void fill(call *c, tern_dtype dtype, int64_t different)
{
    operand *o = &c->in[0];
    for (int64_t i = 0; i < operand_numel(o); i++)
        operand_set(o, i,
                    roll(5) ? (double)(roll(different) - different / 2) : dice_number(call_dice(), dtype));
}

static call make_call(tern_dtype dtype, const int64_t *shape, int axis, int64_t k)
{
    call c = {.items = shape[1 - axis]};
    int64_t out[] = {shape[0], shape[1]};
    out[axis] = k;
    call_in(&c, dtype, 2, shape, NULL);
    call_out(&c, dtype, 2, out);
    call_out(&c, TERN_I64, 2, out);
    fill(&c, dtype, 1 + roll(roll(2) ? 5 : 3000));
    return c;
}

/* The results of `kernel`, in all layouts, are those of `reference`. */
static void check_against(call *c, tern__kernel_fn reference, tern__scratch_fn reference_scratch,
                          tern__kernel_fn kernel, tern__scratch_fn scratch)
{
    c->kernel = reference;
    c->scratch = reference_scratch;
    CHECK_OK(call_once(c, c->in, c->out, NULL));
    operand want[] = {operand_dense(&c->out[0]), operand_dense(&c->out[1])};
    c->kernel = kernel;
    c->scratch = scratch;
    CHECK_OK(call_run(c));
    for (int i = 0; i < 2; i++) {
        CHECK(operand_same(&want[i], &c->out[i]));
        operand_free(&want[i]);
    }
}

TEST(sort_equals_the_reference)
{
    static const tern_dtype types[] = {TERN_BOOL, TERN_U8,  TERN_I8,  TERN_I32, TERN_F16,
                                       TERN_BF16, TERN_F32, TERN_I64, TERN_F64};
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 33, 100, 513, 1023, 1024, 3000, 70000};
    for (int n = 0; n < 9 * 13; n++) {
        const int axis = (int)roll(2);
        int64_t shape[2];
        shape[axis] = sizes[n % 13];
        shape[1 - axis] = 1 + roll(3);
        call c = make_call(types[n % 9], shape, axis, shape[axis]);
        c.attrs[0].i = axis;
        c.attrs[1].i = roll(2);
        check_against(&c, tern_sort__ref, tern_sort__ref_scratch,
                      tern__sort_is_wide(types[n % 9]) ? tern_sort__radix_wide : tern_sort__radix,
                      sort_scratch);
        call_free(&c);
    }
}

TEST(topk_equals_the_reference)
{
    static const int64_t sizes[] = {1, 5, 63, 64, 65, 128, 200, 1000, 9000};
    int count, ran = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_topk_f32 || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        ran++;
        program = (tern__topk_program){
            .kernel = row->kernel, .rows = tern__rowop_tables(tern__isa_mask_capped(tern__cpu(), row->isa))};
        for (int n = 0; n < 90; n++) {
            const int axis = (int)roll(2);
            int64_t shape[2];
            shape[axis] = sizes[n % 9];
            shape[1 - axis] = 1 + roll(3);
            const int64_t k = roll(4) ? roll(shape[axis] < 70 ? shape[axis] + 1 : 70) : shape[axis];
            const tern_dtype types[] = {TERN_F32, TERN_F16, TERN_BF16};
            call c = make_call(types[roll(3)], shape, axis, k);
            if (n % 10 == 0) /* NaN everywhere but here and there */
                for (int64_t i = 0; i < operand_numel(&c.in[0]); i++)
                    if (roll(8))
                        operand_set(&c.in[0], i, NAN);
            c.attrs[0].i = k;
            c.attrs[1].i = axis;
            c.attrs[2].i = roll(2);
            check_against(&c, tern_topk__ref, tern_topk__ref_scratch, topk_kernel, topk_scratch);
            call_free(&c);
        }
    }
    if (ran == 0)
        SKIP("this processor has no topk kernel but the reference");
}

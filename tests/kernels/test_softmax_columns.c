/* test_softmax_columns.c - softmax over any axis but the last against the row program of the last axis, bit for bit (but for
 * which NaN a NaN is): columns are gathered into rows, and what the program makes of them is compared. Narrow and wide blocks,
 * columns longer than what is kept, 16-bit floats, infinities, NaN, zeros of both signs, odd layouts, any split, at every level
 * of instructions. */
#include "base/alloc.h"
#include "call.h"
#include "devices/rows/regions.h"
#include "kernels/reduce/softmax.h"
#include "kernels/select.h"

static tern__columns_program program;

static tern_status softmax_columns(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program;
    return tern_softmax__columns(args, begin, end);
}

static tern_status log_softmax_columns(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program;
    return tern_log_softmax__columns(args, begin, end);
}

static size_t scratch(int n_in, const tern__type *const *in, const tern__attr *attrs)
{
    (void)n_in, (void)in, (void)attrs;
    return tern__softmax_columns_scratch();
}

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

/* Element i of lane `lane` along `axis`, in row-major order. */
static int64_t element(const tern__type *x, int axis, int64_t lane, int64_t i)
{
    int64_t inner = 1;
    for (int d = axis + 1; d < x->rank; d++)
        inner *= x->shape[d];
    return (lane / inner * x->shape[axis] + i) * inner + lane % inner;
}

/* What the row program gives, as rows. */
static void by_rows(const call *c, tern__opcode op, int axis, operand *out)
{
    const tern__type *x = &c->in[0].type;
    const int64_t n = x->shape[axis], lanes = n ? operand_numel(&c->in[0]) / n : 0;
    const int64_t shape[] = {lanes, n};
    operand rows = operand_make(x->dtype, 2, shape, NULL);
    *out = operand_make(x->dtype, 2, shape, NULL);
    const size_t bytes = tern__dtype_unit_bytes(x->dtype);
    for (int64_t l = 0; l < lanes; l++)
        for (int64_t i = 0; i < n; i++)
            memcpy(operand_at(&rows, l * n + i), operand_at(&c->in[0], element(x, axis, l, i)), bytes);
    const tern__attr last = {.i = -1};
    const tern__type *in = &rows.type;
    const tern__call rows_call = {
        .op = &tern__ops[op], .n_in = 1, .n_out = 1, .in = &in, .attrs = &last, .out = &out->type};
    const tern__row_program *p = NULL;
    tern__arena arena;
    tern__arena_init(&arena, 1024);
    CHECK_OK(tern__rows_program(&rows_call, program.rows, NULL, &arena, &p));
    CHECK(p != NULL);
    tern__buffer in_buffer = operand_buffer(&rows), out_buffer = operand_buffer(out);
    tern__kernel_args args = {.n_in = 1,
                              .n_out = 1,
                              .in = &in_buffer,
                              .out = &out_buffer,
                              .program = p,
                              .scratch = tern__alloc_aligned(p->scratch_bytes, TERN__ALIGN)};
    CHECK_OK(tern__row_run(&args, 0, p->work));
    tern__free(args.scratch);
    tern__arena_free(&arena);
    operand_free(&rows);
}

static void check_call(call *c, bool log, int axis)
{
    const tern__type *x = &c->in[0].type;
    operand want = {.bytes = 0};
    by_rows(c, log ? TERN__OP_log_softmax : TERN__OP_softmax, axis, &want);
    c->kernel = log ? log_softmax_columns : softmax_columns;
    c->scratch = scratch;
    c->attrs[0].i = roll(2) ? axis : axis - x->rank;
    c->items = tern__softmax_columns_work(x, &c->attrs[0]);
    CHECK(tern__softmax_columns_fit(x, &c->attrs[0]));
    CHECK_OK(call_run(c));
    const int64_t n = x->shape[axis], lanes = n ? operand_numel(&c->in[0]) / n : 0;
    int64_t wrong = 0;
    for (int64_t l = 0; l < lanes; l++)
        for (int64_t i = 0; i < n; i++)
            wrong +=
                !same_number(operand_get(&want, l * n + i), operand_get(&c->out[0], element(x, axis, l, i)));
    if (wrong)
        harness_fail(__FILE__, __LINE__, "%s[%lld columns of %lld] of %s at %s: %lld elements differ",
                     log ? "log_softmax" : "softmax", (long long)lanes, (long long)n,
                     tern_dtype_name(x->dtype), tern__isa_name(program.rows->isa), (long long)wrong);
    operand_free(&want);
}

/* At every level that runs here; calls the function below for each. */
static void at_every_level(void (*check)(void))
{
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        const uint32_t mask = tern__isa_mask_capped(tern__cpu(), (tern__isa)level);
        if (!(mask >> level & 1))
            continue;
        const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_columns, mask);
        program = (tern__columns_program){
            .kernel = row->kernel, .rows = tern__rowop_tables(mask), .streams = roll(2), .in_order = roll(2)};
        check();
    }
}

static const tern_dtype dtypes[] = {TERN_F32, TERN_F32, TERN_F16, TERN_BF16};

static void check_random(void)
{
    for (int k = 0; k < harness_cases(60); k++) {
        call c = {.n_in = 0};
        const int rank = 2 + (int)roll(3), axis = (int)roll(rank - 1);
        const int64_t narrow = roll(2);
        int64_t shape[4];
        for (int d = 0; d < rank; d++)
            shape[d] = d == axis ? roll(12) ? 1 + roll(150) : 0 : 1 + roll(narrow || d < rank - 1 ? 5 : 300);
        const tern_dtype dtype = dtypes[roll(4)];
        call_in_plain(&c, dtype, rank, shape, 9);
        call_out(&c, dtype, rank, shape);
        const double special[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
        for (int64_t i = 0; k % 2 && operand_numel(&c.in[0]) > 0 && i < 12; i++)
            operand_set(&c.in[0], roll(operand_numel(&c.in[0])), special[roll(5)]);
        check_call(&c, k / 2 % 2, axis);
        call_free(&c);
    }
}

TEST(softmax_of_columns_is_that_of_rows)
{
    at_every_level(check_random);
}

/* Longer than what a block keeps of its exponentials, and than a tile of the row program. */
static void check_long(void)
{
    for (int log = 0; log < 2; log++) {
        call c = {.n_in = 0};
        const int64_t shape[] = {1040 + roll(40), 130};
        call_in_plain(&c, TERN_F32, 2, shape, 9);
        call_out(&c, TERN_F32, 2, shape);
        check_call(&c, log, 0);
        call_free(&c);
    }
}

TEST(long_columns_too)
{
    at_every_level(check_long);
}

TEST(the_last_axis_is_for_row_programs)
{
    const tern__type matrix = {.dtype = TERN_F32, .rank = 2, .shape = {3, 4}},
                     wide = {.dtype = TERN_F64, .rank = 2, .shape = {3, 4}};
    CHECK(tern__softmax_columns_fit(&matrix, &(tern__attr){.i = 0}));
    CHECK(!tern__softmax_columns_fit(&matrix, &(tern__attr){.i = -1}));
    CHECK(!tern__softmax_columns_fit(&matrix, &(tern__attr){.i = 1}));
    CHECK(!tern__softmax_columns_fit(&wide, &(tern__attr){.i = 0}));
}

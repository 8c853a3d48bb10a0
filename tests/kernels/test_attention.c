/* test_attention.c - every attention kernel that runs here against the reference, bit for bit: types, ragged sizes, odd
 * strides, several chunks, prompts, padding, special values, guarded memory. Kernels without fused multiply-adds have bits of their
 * own, one and the same for all of them, near those of the reference. And the promise of attention/attention.h: neither
 * the split among workers nor blocks, batches and the way in which a prompt was cut change a bit. */
#include "base/alloc.h"
#include "call.h"
#include "kernels/attention/attend.h"
#include "kernels/select.h"
#include "one_stream.h"

TERN__KERNEL(attention__ref);
size_t tern_attention__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

/* ---- running ---- */

typedef struct run_as {
    const tern__kernel_row *row;
    tern__attention_variant variant;
    int workers;
    bool in_order;
} run_as;

/* Each worker's part in turn, the last first; then, if it splits, the second half. */
static tern_status run_parts(const tern__attention_program *p, tern__kernel_args *args, int workers)
{
    tern_status status = TERN_OK;
    for (int half = 0; half < (p->split ? 2 : 1); half++)
        for (int w = workers - 1; w >= 0 && status == TERN_OK; w--) {
            args->scratch = tern__alloc_aligned(p->scratch_bytes, TERN__ALIGN);
            status = (half ? tern_attention__merge : tern_attention__chunks)(args, p->work * w / workers,
                                                                             p->work * (w + 1) / workers);
            tern__free(args->scratch);
        }
    return status;
}

/* The call on operands `in`, into a new operand, laid out anew if `d` is given. */
static operand run_kernel(const call *c, const operand *in, run_as as, dice *d, tern_status *status)
{
    operand y = operand_make(c->out[0].type.dtype, 3, c->out[0].type.shape, d);
    tern__buffer buffers[CALL_OPERANDS], out = operand_buffer(&y);
    const tern__type *types[CALL_OPERANDS];
    for (int i = 0; i < c->n_in; i++) {
        buffers[i] = operand_buffer(&in[i]);
        types[i] = &in[i].type;
    }
    tern__attention_program p;
    pretend_one_stream(as.in_order);
    if (!tern__attention_plan(as.row->kernel, c->n_in, types, as.workers, as.variant, &p)) {
        *status = TERN_UNSUPPORTED;
        return y;
    }
    if (p.in_order != as.in_order)
        harness_fail(__FILE__, __LINE__, "the plan does not follow the processor's feature");
    tern__kernel_args args = {.n_in = c->n_in,
                              .n_out = 1,
                              .in = buffers,
                              .out = &out,
                              .attrs = c->attrs,
                              .program = &p,
                              .shared = p.split ? tern__alloc_aligned(p.shared_bytes, TERN__ALIGN) : NULL};
    *status = run_parts(&p, &args, as.workers);
    tern__free(args.shared);
    return y;
}

static run_as any_way(const tern__kernel_row *row)
{
    return (run_as){.row = row,
                    .workers = 1 + (int)roll(5),
                    .in_order = roll(2) == 0,
                    .variant = {.block = roll(3) ? roll(9) : 0, .split = (int)roll(3) - 1}};
}

/* The largest finite |v|. */
static double largest_value(const call *c)
{
    double largest = 0, least_scale = c->n_in > 6 ? INFINITY : 1;
    for (int64_t i = 0; i < operand_numel(&c->in[2]); i++)
        if (isfinite(operand_get(&c->in[2], i)))
            largest = fmax(largest, fabs(operand_get(&c->in[2], i)));
    for (int64_t i = 0; c->n_in > 6 && i < operand_numel(&c->in[6]); i++)
        least_scale = fmin(least_scale, operand_get(&c->in[6], i));
    return largest / least_scale;
}

/* Is it within `bound` of the reference, and NaN or infinite where that is? */
static bool is_near(const operand *y, const operand *want, double bound)
{
    for (int64_t i = 0; i < operand_numel(want); i++) {
        const double a = operand_get(y, i), b = operand_get(want, i);
        if (isfinite(b) ? !(fabs(a - b) <= bound) : isnan(b) ? !isnan(a) : a != b)
            return false;
    }
    return true;
}

/* Does every kernel give what result 0 holds? On operands as they are, then laid out anew; in order and head by head. Where
 * products are rounded, too, results may be `rounded` of the largest value away; those of the first such kernel are *own, and the
 * others have to have the same. */
static bool is_right(const call *c, bool fused, const operand *y, double rounded, operand *own)
{
    if (fused)
        return operand_same(y, &c->out[0]);
    if (own->data)
        return operand_same(y, own);
    const tern_dtype dtype = c->out[0].type.dtype;
    const double stored = dtype == TERN_F16 ? 0x1p-10 : dtype == TERN_BF16 ? 0x1p-7 : 0;
    *own = operand_dense(y);
    return is_near(y, &c->out[0], (rounded + stored) * largest_value(c));
}

static void check_kernels(const call *c, const char *what, double rounded)
{
    int count, ran = 0;
    operand own = {.data = NULL};
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_attention || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        ran++;
        for (int way = 0; way < 4; way++) {
            const int layout = way / 2;
            run_as as = any_way(row);
            as.in_order = way % 2 != 0;
            dice *d = layout ? call_dice() : NULL;
            operand in[CALL_OPERANDS];
            for (int i = 0; i < c->n_in; i++)
                in[i] = layout ? operand_scrambled(&c->in[i], d) : operand_dense(&c->in[i]);
            tern_status status;
            operand y = run_kernel(c, in, as, d, &status);
            CHECK_OK(status);
            if (!is_right(c, ((const tern__attention_kernel *)row->kernel)->fused, &y, rounded, &own))
                harness_fail(__FILE__, __LINE__, "%s, %s, layout %d, in order %d: differs from the reference",
                             row->name, what, layout, as.in_order);
            if (!operand_is_intact(&y))
                harness_fail(__FILE__, __LINE__, "%s, %s, layout %d, in order %d: wrote beside the result",
                             row->name, what, layout, as.in_order);
            operand_free(&y);
            for (int i = 0; i < c->n_in; i++)
                operand_free(&in[i]);
        }
    }
    CHECK(ran > 0);
    operand_free(&own);
}

static void run_reference(call *c)
{
    c->kernel = tern_attention__ref;
    c->scratch = tern_attention__ref_scratch;
    c->items = c->in[0].type.shape[0] * c->in[0].type.shape[1];
    CHECK_OK(call_once(c, c->in, c->out, NULL));
}

/* ---- calls ---- */

typedef struct shape {
    int64_t rows, kv_heads, group, d, slots, capacity;
} shape;

static void add_scales(call *c, shape s)
{
    operand *o = call_in_plain(c, TERN_F32, SHAPE(s.slots, s.capacity, s.kv_heads, 1), 1);
    for (int64_t i = 0; i < operand_numel(o); i++)
        operand_set(o, i, 20 + 30 * fabs(operand_get(o, i)));
}

static call make_call(shape s, tern_dtype q, tern_dtype k, tern_dtype v, const double *slots,
                      const double *positions)
{
    call c = {.n_in = 0};
    const double range = k == TERN_I8 ? 128 : 2;
    call_in_plain(&c, q, SHAPE(s.rows, s.kv_heads * s.group, s.d), 2);
    call_in_plain(&c, k, SHAPE(s.slots, s.capacity, s.kv_heads, s.d), range);
    call_in_plain(&c, v, SHAPE(s.slots, s.capacity, s.kv_heads, s.d), range);
    call_in(&c, TERN_I32, SHAPE(s.rows), slots);
    call_in(&c, TERN_I32, SHAPE(s.rows), positions);
    if (k == TERN_I8) {
        add_scales(&c, s);
        add_scales(&c, s);
    }
    call_out(&c, q, SHAPE(s.rows, s.kv_heads * s.group, s.d));
    return c;
}

enum { MOST_ROWS = 24 };

/* Rows of several sequences: runs of a prompt, single rows, padding. */
static void draw_rows(shape s, double *slots, double *positions)
{
    for (int64_t row = 0; row < s.rows;) {
        const int64_t run = 1 + (roll(2) ? roll(7) : 0), slot = roll(s.slots), first = roll(s.capacity);
        for (int64_t i = 0; i < run && row < s.rows; i++, row++) {
            const bool padding = roll(9) == 0 || first + i >= s.capacity;
            slots[row] = padding ? -5 : (double)slot;
            positions[row] = padding ? -1 : (double)(first + i);
        }
    }
}

TEST(kernels_equal_the_reference)
{
    static const tern_dtype types[][3] = {{TERN_F32, TERN_F32, TERN_F32}, {TERN_F32, TERN_F16, TERN_F16},
                                          {TERN_F32, TERN_I8, TERN_I8},   {TERN_F32, TERN_BF16, TERN_F16},
                                          {TERN_F16, TERN_F16, TERN_F32}, {TERN_BF16, TERN_F32, TERN_BF16},
                                          {TERN_F16, TERN_I8, TERN_I8}};
    static const int64_t ds[] = {1, 8, 15, 16, 17, 32, 64, 72, 80, 128};
    for (int n = 0; n < harness_cases(84); n++) {
        const tern_dtype *t = types[n % 7];
        const shape s = {.rows = 1 + roll(MOST_ROWS),
                         .kv_heads = 1 + roll(3),
                         .group = 1 + roll(6),
                         .d = ds[roll(10)],
                         .slots = 1 + roll(3),
                         .capacity = 1 + roll(n % 3 ? 40 : 600)};
        double slots[MOST_ROWS], positions[MOST_ROWS];
        char what[160];
        draw_rows(s, slots, positions);
        call c = make_call(s, t[0], t[1], t[2], slots, positions);
        c.attrs[0].f = roll(2) ? 0 : 0.3;
        snprintf(what, sizeof what, "%s %s %s, rows %lld heads %lld x %lld d %lld capacity %lld",
                 tern_dtype_name(t[0]), tern_dtype_name(t[1]), tern_dtype_name(t[2]), (long long)s.rows,
                 (long long)s.kv_heads, (long long)s.group, (long long)s.d, (long long)s.capacity);
        run_reference(&c);
        check_kernels(&c, what, 1e-4);
        call_free(&c);
    }
}

/* Whether keys of a type are planned to be read in the order of memory. */
static bool plans_in_order(tern_dtype keys)
{
    const shape s = {.rows = 2, .kv_heads = 2, .group = 2, .d = 32, .slots = 1, .capacity = 9};
    call c = make_call(s, TERN_F32, keys, keys, VALUES(0, 0), VALUES(7, 8));
    const tern__type *types[CALL_OPERANDS];
    for (int i = 0; i < c.n_in; i++)
        types[i] = &c.in[i].type;
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_attention, tern__cpu()->isa_mask);
    tern__attention_program p = {.in_order = false};
    if (!tern__attention_plan(row->kernel, c.n_in, types, 1, (tern__attention_variant){.split = -1}, &p))
        harness_fail(__FILE__, __LINE__, "keys of %s are not planned", tern_dtype_name(keys));
    call_free(&c);
    return p.in_order;
}

TEST(the_processor_says_in_which_order_keys_are_read)
{
    pretend_one_stream(false);
    CHECK(!plans_in_order(TERN_F16) && !plans_in_order(TERN_I8));
    pretend_one_stream(true);
    CHECK(plans_in_order(TERN_F16) && plans_in_order(TERN_I8));
    pretend_whole_512(); /* int8 is bound by arithmetic there */
    CHECK(plans_in_order(TERN_F16) && !plans_in_order(TERN_I8));
}

/* Nothing at all, and heads without elements. */
TEST(empty_calls)
{
    const shape shapes[] = {{0, 2, 2, 16, 1, 5}, {2, 1, 2, 0, 1, 5}, {2, 2, 0, 16, 1, 5}};
    for (int i = 0; i < 3; i++) {
        call c = make_call(shapes[i], TERN_F32, TERN_F16, TERN_F16, VALUES(0, 0), VALUES(2, 3));
        run_reference(&c);
        check_kernels(&c, "empty", 0);
        call_free(&c);
    }
}

/* Infinities and NaN in keys, values and queries, chunks whose scores are all -inf, and what no row may see. */
TEST(special_values)
{
    const shape s = {.rows = 6, .kv_heads = 2, .group = 3, .d = 20, .slots = 2, .capacity = 300};
    const double slots[] = {0, 1, 0, 0, 1, 0}, positions[] = {140, 299, 260, -1, 0, 127};
    for (int n = 0; n < harness_cases(60); n++) {
        call c = make_call(s, TERN_F32, n % 2 ? TERN_F16 : TERN_F32, TERN_F32, slots, positions);
        const double special[] = {INFINITY, -INFINITY, NAN, 6e4, -6e4, 0};
        const int64_t first = roll(300), keys = n % 3 ? 1 + roll(3) : 200;
        for (int64_t t = first; t < first + keys && t < s.capacity; t++)
            operand_set(&c.in[1 + n % 4 / 3], (t * s.kv_heads + roll(2)) * s.d + 3, special[n % 6]);
        if (n % 5 == 0)
            operand_set(&c.in[0], roll(s.d), special[roll(6)]);
        run_reference(&c);
        /* keys of 6e4 make scores whose last digit is a part of a hundred */
        check_kernels(&c, "special values", 0.05);
        call_free(&c);
    }
}

TEST(indices_are_checked)
{
    const shape s = {.rows = 3, .kv_heads = 1, .group = 2, .d = 16, .slots = 2, .capacity = 9};
    const double bad[][2] = {{2, 0}, {-1, 0}, {0, 9}, {0, -2}};
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++)
        for (int i = 0; i < 4; i++) {
            if (row->family != TERN__FAMILY_attention || !tern__kernel_runs(row, tern__cpu()->isa_mask))
                continue;
            call c =
                make_call(s, TERN_F32, TERN_F32, TERN_F32, VALUES(0, bad[i][0], 0), VALUES(0, bad[i][1], 0));
            tern_status status;
            operand y = run_kernel(&c, c.in, any_way(row), NULL, &status);
            CHECK_STATUS(status, TERN_OUT_OF_RANGE);
            operand_free(&y);
            call_free(&c);
        }
}

/* ---- the promise ---- */

static const void *row_of(const operand *y, int64_t row)
{
    return y->data + row * y->strides[0] * (int64_t)tern__dtype_unit_bytes(y->type.dtype);
}

/* A prompt of one sequence among rows of others, computed at once; then every row alone. */
/* `group`: of heads that share one of keys and values. With one, a row alone has one query, and rows together have several. */
static void check_rows_alone(int64_t group)
{
    enum { ROWS = 40 };
    const shape s = {.rows = ROWS, .kv_heads = 2, .group = group, .d = 64, .slots = 3, .capacity = 700};
    double slots[ROWS], positions[ROWS];
    for (int64_t i = 0; i < ROWS; i++) { /* across the chunks' border at 512, then single rows */
        slots[i] = i < 30 ? 1 : (double)(i % 3);
        positions[i] = i < 30 ? (double)(495 + i) : (double)roll(s.capacity);
    }
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (const tern__kernel_row *row = rows; row < rows + count; row++) {
        if (row->family != TERN__FAMILY_attention || !tern__kernel_runs(row, tern__cpu()->isa_mask))
            continue;
        call c = make_call(s, TERN_F32, TERN_F16, TERN_F16, slots, positions);
        const size_t bytes = (size_t)(s.kv_heads * s.group * s.d) * sizeof(float);
        for (int64_t i = 0; i < ROWS; i += 3) /* NaN of both signs meet in the first head of some rows */
            for (int n = 0; n < 8; n++) {
                static const float special[] = {NAN, -NAN, INFINITY, -INFINITY};
                ((float *)row_of(&c.in[0], i))[roll(s.d)] = special[roll(4)];
            }
        const run_as plain = {.row = row, .workers = 1, .variant = {.split = -1}};
        tern_status status;
        operand all = run_kernel(&c, c.in, plain, NULL, &status);
        for (int n = 0; n < 12; n++) {
            operand again = run_kernel(&c, c.in, any_way(row), NULL, &status);
            CHECK_OK(status);
            CHECK(operand_same(&all, &again));
            operand_free(&again);
        }
        for (int64_t i = 0; i < ROWS; i++) {
            call one = c;
            const shape alone = {.rows = 1, .kv_heads = 2, .group = group, .d = 64};
            one.n_in = one.n_out = 0;
            call_in_plain(&one, TERN_F32, SHAPE(1, alone.kv_heads * alone.group, alone.d), 1);
            memcpy(one.in[0].data, row_of(&c.in[0], i), bytes);
            one.n_in = 3;
            call_in(&one, TERN_I32, SHAPE(1), &slots[i]);
            call_in(&one, TERN_I32, SHAPE(1), &positions[i]);
            call_out(&one, TERN_F32, SHAPE(1, alone.kv_heads * alone.group, alone.d));
            operand y = run_kernel(&one, one.in, any_way(row), NULL, &status);
            CHECK_OK(status);
            CHECK(memcmp(row_of(&y, 0), row_of(&all, i), bytes) == 0);
            operand_free(&y);
            operand_free(&one.in[0]);
            operand_free(&one.in[3]);
            operand_free(&one.in[4]);
            operand_free(&one.out[0]);
        }
        operand_free(&all);
        call_free(&c);
    }
}

TEST(rows_do_not_depend_on_their_batch)
{
    check_rows_alone(4);
    check_rows_alone(1);
}

/* Rope, attention, and writes into a state. */
#include "call.h"

TERN__KERNEL(rope__ref);
TERN__KERNEL(attention__ref);
TERN__KERNEL(write_slice__ref);
TERN__KERNEL(write_rows__ref);
size_t tern_attention__ref_scratch(int n_in, const tern__type *const *in, const tern__attr *attrs);

/* ---- rope ---------------------------------------------------------------------------------------------- */

static void check_rope(tern_dtype dtype, double precision, bool interleaved, int64_t dims)
{
    enum { ROWS = 3, HEADS = 2, D = 10 };
    const double positions[] = {0, 7, 4095};
    call c = {.kernel = tern_rope__ref, .items = ROWS * HEADS};
    call_in_plain(&c, dtype, SHAPE(ROWS, HEADS, D), 3);
    call_in(&c, TERN_I32, SHAPE(ROWS), positions);
    call_out(&c, dtype, SHAPE(ROWS, HEADS, D));
    c.attrs[0].f = 500000;
    c.attrs[1].i = dims;
    c.attrs[2].i = interleaved;
    CHECK_OK(call_run(&c));
    int64_t turned = dims == 0 ? D : dims;
    for (int64_t item = 0; item < ROWS * HEADS; item++) {
        for (int64_t i = 0; i < D; i++) {
            double x = operand_get(&c.in[0], item * D + i), y = operand_get(&c.out[0], item * D + i);
            if (i >= turned || positions[item / HEADS] == 0) {
                CHECK(y == x);
                continue;
            }
            int64_t j = interleaved ? i / 2 : i % (turned / 2);
            bool second = interleaved ? i % 2 : i >= turned / 2;
            int64_t other = interleaved ? i ^ 1 : second ? i - turned / 2 : i + turned / 2;
            double partner = operand_get(&c.in[0], item * D + other);
            double angle = positions[item / HEADS] * pow(500000, -2.0 * (double)j / (double)turned);
            double want = x * cos(angle) + (second ? 1 : -1) * partner * sin(angle);
            CHECK_NEAR(y, want, precision * 12);
        }
    }
    call_free(&c);
}

TEST(rope_turns_pairs)
{
    static const tern_dtype types[] = {TERN_F16, TERN_BF16, TERN_F32, TERN_F64};
    static const double precision[] = {0x1p-11, 0x1p-8, 0x1p-24, 0x1p-53};
    for (int type = 0; type < 4; type++) {
        for (int64_t dims = 0; dims <= 10; dims += 2) {
            check_rope(types[type], precision[type], false, dims);
            check_rope(types[type], precision[type], true, dims);
        }
    }
}

/* Sine and cosine narrowed to f32, and plain f32 products: no other order gives these bits. */
TEST(rope_rounds_as_documented)
{
    call c = {.kernel = tern_rope__ref, .items = 1};
    call_in_plain(&c, TERN_F32, SHAPE(1, 1, 64), 3);
    call_in(&c, TERN_I32, SHAPE(1), VALUES(11));
    call_out(&c, TERN_F32, SHAPE(1, 1, 64));
    c.attrs[0].f = 10000;
    CHECK_OK(call_run(&c));
    const float *x = (const float *)(void *)c.in[0].data, *y = (const float *)(void *)c.out[0].data;
    for (int j = 0; j < 32; j++) {
        double angle = 11 * pow(10000, -2.0 * j / 64);
        float cosine = (float)cos(angle), sine = (float)sin(angle);
        float a = x[j] * cosine, b = x[j + 32] * sine, d = x[j + 32] * cosine, e = x[j] * sine;
        CHECK(y[j] == a - b && y[j + 32] == d + e);
    }
    call_free(&c);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

enum { SLOTS = 3, CAPACITY = 9, HEADS = 4, KV_HEADS = 2, D = 6, ROWS = 5 };

static call attention_call(tern_dtype q, tern_dtype k, tern_dtype v, const double *slots,
                           const double *positions)
{
    call c = {.kernel = tern_attention__ref, .scratch = tern_attention__ref_scratch, .items = ROWS * HEADS};
    call_in_plain(&c, q, SHAPE(ROWS, HEADS, D), 2);
    call_in_plain(&c, k, SHAPE(SLOTS, CAPACITY, KV_HEADS, D), 2);
    call_in_plain(&c, v, SHAPE(SLOTS, CAPACITY, KV_HEADS, D), 2);
    call_in(&c, TERN_I32, SHAPE(ROWS), slots);
    call_in(&c, TERN_I32, SHAPE(ROWS), positions);
    call_out(&c, q, SHAPE(ROWS, HEADS, D));
    return c;
}

static int64_t state_at(double slot, int64_t position, int64_t head, int64_t i)
{
    return (((int64_t)slot * CAPACITY + position) * KV_HEADS + head) * D + i;
}

TEST(attention_is_its_definition)
{
    const double slots[] = {2, 0, 0, -7, 1}, positions[] = {0, 8, 3, -1, 5};
    struct {
        tern_dtype q, k, v;
        double precision, scale;
    } cases[] = {{TERN_F32, TERN_F32, TERN_F32, 0x1p-21, 0}, {TERN_F32, TERN_F16, TERN_BF16, 0x1p-21, 0.25},
                 {TERN_F16, TERN_F16, TERN_F16, 0x1p-9, 0},  {TERN_F64, TERN_F64, TERN_F64, 0x1p-49, -0.5},
                 {TERN_F64, TERN_F16, TERN_F32, 0x1p-49, 0}, {TERN_F32, TERN_F64, TERN_F32, 0x1p-22, 0}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        call c = attention_call(cases[n].q, cases[n].k, cases[n].v, slots, positions);
        c.attrs[0].f = cases[n].scale;
        CHECK_OK(call_run(&c));
        long double scale = cases[n].scale != 0 ? (long double)cases[n].scale : 1 / sqrtl(D);
        for (int64_t item = 0; item < ROWS * HEADS; item++) {
            int64_t row = item / HEADS, head = item % HEADS / (HEADS / KV_HEADS);
            long double p[CAPACITY], sum = 0, want[D] = {0};
            for (int64_t t = 0; t <= (int64_t)positions[row]; t++) {
                long double dot = 0;
                for (int64_t i = 0; i < D; i++)
                    dot += (long double)operand_get(&c.in[0], item * D + i) *
                           operand_get(&c.in[1], state_at(slots[row], t, head, i));
                sum += p[t] = expl(dot * scale);
            }
            for (int64_t t = 0; t <= (int64_t)positions[row]; t++) {
                for (int64_t i = 0; i < D; i++)
                    want[i] += p[t] / sum * operand_get(&c.in[2], state_at(slots[row], t, head, i));
            }
            for (int64_t i = 0; i < D; i++)
                CHECK_NEAR(operand_get(&c.out[0], item * D + i), (double)want[i], cases[n].precision * 4);
        }
        call_free(&c);
    }
}

/* Two chunks and a bit; int8 keys and values with their scales mean q / scale. */
TEST(attention_over_chunks)
{
    enum { LONG = 300 };
    for (int scaled = 0; scaled < 2; scaled++) {
        const tern_dtype kv = scaled ? TERN_I8 : TERN_F32;
        call c = {.kernel = tern_attention__ref, .scratch = tern_attention__ref_scratch, .items = 2};
        call_in_plain(&c, TERN_F32, SHAPE(1, 2, D), 3);
        call_in_plain(&c, kv, SHAPE(1, LONG, 1, D), scaled ? 127 : 2);
        call_in_plain(&c, kv, SHAPE(1, LONG, 1, D), scaled ? 127 : 2);
        call_in(&c, TERN_I32, SHAPE(1), VALUES(0));
        call_in(&c, TERN_I32, SHAPE(1), VALUES(LONG - 2));
        for (int i = 0; scaled && i < 2; i++) {
            operand *o = call_in_plain(&c, TERN_F32, SHAPE(1, LONG, 1, 1), 10);
            for (int64_t t = 0; t < LONG; t++)
                operand_set(o, t, 60 + operand_get(o, t));
        }
        call_out(&c, TERN_F32, SHAPE(1, 2, D));
        CHECK_OK(call_run(&c));
        for (int64_t head = 0; head < 2; head++) {
            long double sum = 0, want[D] = {0};
            for (int64_t t = 0; t < LONG - 1; t++) {
                long double dot = 0, k_scale = scaled ? operand_get(&c.in[5], t) : 1;
                long double v_scale = scaled ? operand_get(&c.in[6], t) : 1;
                for (int64_t i = 0; i < D; i++)
                    dot += (long double)operand_get(&c.in[0], head * D + i) *
                           operand_get(&c.in[1], t * D + i) / k_scale;
                const long double p = expl(dot / sqrtl(D));
                sum += p;
                for (int64_t i = 0; i < D; i++)
                    want[i] += p * operand_get(&c.in[2], t * D + i) / v_scale;
            }
            for (int64_t i = 0; i < D; i++)
                CHECK_NEAR(operand_get(&c.out[0], head * D + i), (double)(want[i] / sum), 0x1p-19);
        }
        call_free(&c);
    }
}

TEST(attention_special_values)
{
    const double slots[] = {0, 0, 0, 0, 0}, positions[] = {-1, 1, 1, 1, 1};
    call c = attention_call(TERN_F32, TERN_F32, TERN_F32, slots, positions);
    operand_set(&c.in[1], state_at(0, 1, 0, 0), NAN); /* seen by rows 1.. through heads 0 and 1 */
    operand_set(&c.in[1], state_at(0, 2, 1, 0), NAN); /* beyond every position */
    CHECK_OK(call_run(&c));
    for (int64_t i = 0; i < ROWS * HEADS * D; i++) {
        double y = operand_get(&c.out[0], i);
        int64_t head = i / D % HEADS;
        if (i / D / HEADS == 0)
            CHECK(same_number(y, 0));
        else
            CHECK(isnan(y) == (head < 2));
    }
    call_free(&c);
}

TEST(attention_refuses_what_is_not_there)
{
    struct {
        double slot, position;
        int64_t value, limit;
    } cases[] = {
        {3, 0, 3, SLOTS}, {-1, 0, -1, SLOTS}, {0, CAPACITY, CAPACITY, CAPACITY}, {0, -2, -2, CAPACITY}};
    for (int i = 0; i < 4; i++) {
        call c = attention_call(TERN_F32, TERN_F32, TERN_F32, VALUES(0, 0, cases[i].slot, 0, 0),
                                VALUES(0, 0, cases[i].position, 0, 0));
        CHECK_STATUS(call_run(&c), TERN_OUT_OF_RANGE);
        CHECK_EQ(c.fault.value, cases[i].value);
        CHECK_EQ(c.fault.limit, cases[i].limit);
        call_free(&c);
    }
}

/* ---- writes -------------------------------------------------------------------------------------------- */

TEST(write_slice_writes_only_the_slice)
{
    call c = {.kernel = tern_write_slice__ref, .items = 1, .writes = true};
    call_in(&c, TERN_F16, SHAPE(3, 4), VALUES(0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23));
    call_in(&c, TERN_F16, SHAPE(2, 2), VALUES(-1, -2, -3, -4));
    call_in(&c, TERN_I64, SHAPE(2), VALUES(1, 2));
    call_out(&c, TERN_F16, SHAPE(3, 4));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(0, 1, 2, 3, 10, 11, -1, -2, 20, 21, -3, -4)));
    call_free(&c);

    call s = {.kernel = tern_write_slice__ref, .items = 1, .writes = true};
    call_in(&s, TERN_I64, SCALAR, VALUES(1));
    call_in(&s, TERN_I64, SCALAR, VALUES(2));
    call_in(&s, TERN_I64, SHAPE(0), NULL);
    call_out(&s, TERN_I64, SCALAR);
    CHECK_OK(call_run(&s));
    CHECK(call_gives(&s, 0, VALUES(2)));
    call_free(&s);
}

TEST(write_slice_refuses_before_it_writes)
{
    struct {
        double at[2];
        int64_t value, limit;
    } cases[] = {{{2, 0}, 2, 2}, {{-1, 0}, -1, 2}, {{0, 4}, 4, 4}, {{0, 0x1p62}, INT64_C(1) << 62, 4}};
    for (int i = 0; i < 4; i++) {
        call c = {.kernel = tern_write_slice__ref, .items = 1, .writes = true};
        call_in(&c, TERN_F32, SHAPE(3, 4), NULL);
        operand before = operand_dense(&c.in[0]);
        call_in(&c, TERN_F32, SHAPE(2, 1), NULL);
        call_in(&c, TERN_I64, SHAPE(2), cases[i].at);
        call_out(&c, TERN_F32, SHAPE(3, 4));
        CHECK_STATUS(call_run(&c), TERN_OUT_OF_RANGE);
        CHECK_EQ(c.fault.value, cases[i].value);
        CHECK_EQ(c.fault.limit, cases[i].limit);
        CHECK(operand_same(&before, &c.in[0]));
        operand_free(&before);
        call_free(&c);
    }
}

static call write_rows_call(const double *slots, const double *positions)
{
    call c = {.kernel = tern_write_rows__ref, .items = 1, .writes = true};
    call_in(&c, TERN_I32, SHAPE(2, 3, 2), VALUES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    call_in(&c, TERN_I32, SHAPE(4, 2), VALUES(-1, -2, -3, -4, -5, -6, -7, -8));
    call_in(&c, TERN_I32, SHAPE(4), slots);
    call_in(&c, TERN_I32, SHAPE(4), positions);
    call_out(&c, TERN_I32, SHAPE(2, 3, 2));
    return c;
}

TEST(write_rows_puts_rows_in_their_places)
{
    /* row 1 is padding, whatever its slot; rows 2 and 3 have one place, and the last wins */
    call c = write_rows_call(VALUES(1, 99, 0, 0), VALUES(2, -1, 1, 1));
    CHECK_OK(call_run(&c));
    CHECK(call_gives(&c, 0, VALUES(0, 1, -7, -8, 4, 5, 6, 7, 8, 9, -1, -2)));
    call_free(&c);

    call s = {.kernel = tern_write_rows__ref, .items = 1, .writes = true};
    call_in(&s, TERN_U8, SHAPE(2, 2), VALUES(1, 2, 3, 4));
    call_in(&s, TERN_U8, SHAPE(2), VALUES(9, 8));
    call_in(&s, TERN_I32, SHAPE(2), VALUES(1, 0));
    call_in(&s, TERN_I32, SHAPE(2), VALUES(0, 1));
    call_out(&s, TERN_U8, SHAPE(2, 2));
    CHECK_OK(call_run(&s));
    CHECK(call_gives(&s, 0, VALUES(1, 8, 9, 4)));
    call_free(&s);
}

TEST(write_rows_refuses_before_it_writes)
{
    struct {
        double slot, position;
        int64_t value, limit;
    } cases[] = {{2, 0, 2, 2}, {-1, 0, -1, 2}, {0, 3, 3, 3}, {0, -2, -2, 3}};
    for (int i = 0; i < 4; i++) {
        call c = write_rows_call(VALUES(0, 0, 0, cases[i].slot), VALUES(0, 1, 2, cases[i].position));
        CHECK_STATUS(call_run(&c), TERN_OUT_OF_RANGE);
        CHECK_EQ(c.fault.value, cases[i].value);
        CHECK_EQ(c.fault.limit, cases[i].limit);
        CHECK(call_gives(&c, 0, VALUES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)));
        call_free(&c);
    }
}

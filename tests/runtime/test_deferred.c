/* test_deferred.c - constants whose data are made when they are needed: how often they are made, and by what they are kept. */
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "lazy.h"

typedef struct origin {
    int fills, drops;
    bool fails;
    float add;
    size_t step, bytes, most; /* of a piece that can be asked for; made in all, and at once */
} origin;

static tern_status fill(void *user, size_t offset, void *data, size_t bytes)
{
    origin *o = user;
    o->fills++;
    o->bytes += bytes;
    o->most = bytes > o->most ? bytes : o->most;
    if (o->fails)
        return TERN_IO;
    for (size_t i = 0, first = offset / sizeof(float); i < bytes / sizeof(float); i++)
        ((float *)data)[i] = (float)((first + i) % 7) + o->add;
    return TERN_OK;
}

static void drop(void *user)
{
    ((origin *)user)->drops++;
}

static tern_tensor *deferred(tern_ctx *ctx, origin *o, int64_t rows, int64_t columns)
{
    return tern_constant(ctx, TERN_F32, SHAPE(rows, columns),
                         &(tern_constant_source){fill, drop, o, o->step});
}

static bool holds_fill(const tern_tensor *t, const float *data)
{
    for (int64_t i = 0; i < tern_numel(t); i++)
        if (data[i] != (float)(i % 7))
            return false;
    return true;
}

TEST(data_are_made_when_they_are_asked_for_and_stay)
{
    tern_ctx *ctx = open_ctx();
    origin o = {0};
    tern_tensor *t = deferred(ctx, &o, 3, 5);
    CHECK(tern_is_constant(t));
    CHECK_EQ(o.fills, 0);
    const float *data = tern_data_f32(t);
    CHECK(data && holds_fill(t, data));
    CHECK(tern_data_f32(t) == data);
    CHECK_EQ(o.fills, 1);
    tern_release(t);
    CHECK_EQ(o.drops, 1);
    tern_ctx_destroy(ctx);
}

/* Products with weights that are packed need them once; two programs share what was packed. */
TEST(packed_weights_are_read_once_and_let_go)
{
    tern_ctx *ctx = open_ctx();
    origin o = {0};
    tern_tensor *w = deferred(ctx, &o, 64, 48), *plain;
    float copy[64 * 48];
    CHECK_OK(fill(&(origin){0}, 0, copy, sizeof copy));
    plain = tern_from_data(ctx, TERN_F32, SHAPE(64, 48), copy);
    for (int64_t rows = 1; rows <= 4; rows *= 4) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, SHAPE(rows, 48), copy); /* no constant */
        tern_tensor *y = tern_matmul(x, w, false, true), *z = tern_matmul(x, plain, false, true);
        CHECK_OK(tern_eval_all(2, (tern_tensor *[]){y, z}));
        CHECK(memcmp(tern_data(y), tern_data(z), tern_nbytes(y)) == 0);
        CHECK_EQ(o.fills, 1);
        tern_release(x);
        tern_release(y);
        tern_release(z);
    }
    tern_release(w);
    tern_release(plain);
    tern_ctx_destroy(ctx);
    CHECK_EQ(o.drops, 1);
}

/* A product with a large constant that is made in pieces, or whole. */
static void multiply_large(tern_ctx *ctx, size_t step, origin *o, tern_tensor **y)
{
    enum { ROWS = 9001, COLUMNS = 400 };
    *o = (origin){.step = step};
    tern_tensor *w = deferred(ctx, o, ROWS, COLUMNS), *x = tern_arange(ctx, TERN_F32, 0, COLUMNS, 1),
                *row = tern_reshape(x, 2, (int64_t[]){1, COLUMNS});
    *y = tern_matmul(row, w, false, true);
    CHECK_OK(tern_eval(*y));
    CHECK_EQ(o->bytes, (size_t)ROWS * COLUMNS * sizeof(float));
    tern_release(w);
    tern_release(x);
    tern_release(row);
}

/* Large constants are never in memory whole beside their packed form, if they can be made in pieces. */
TEST(large_weights_are_made_and_packed_in_pieces)
{
    tern_ctx *ctx = open_ctx();
    origin whole, pieces, odd;
    tern_tensor *y[3];
    multiply_large(ctx, 0, &whole, &y[0]);
    multiply_large(ctx, 400 * sizeof(float), &pieces, &y[1]);
    multiply_large(ctx, 7 * 400 * sizeof(float), &odd, &y[2]); /* tiles do not end where pieces may */
    CHECK_EQ(whole.fills, 1);
    CHECK_EQ(odd.fills, 1);
    CHECK(pieces.fills > 1 && pieces.most <= 8 << 20);
    for (int i = 1; i < 3; i++)
        CHECK(memcmp(tern_data(y[i]), tern_data(y[0]), tern_nbytes(y[0])) == 0);
    for (int i = 0; i < 3; i++)
        tern_release(y[i]);
    tern_ctx_destroy(ctx);
}

/* Weights of products that become one are joined when they are packed, for every program but once. */
TEST(joined_weights_are_shared_by_programs)
{
    tern_compile_options high = tern_compile_options_default();
    high.level = TERN_LEVEL_HIGH;
    tern_ctx *ctx = open_ctx();
    origin a = {0}, b = {.add = 1};
    tern_tensor *wa = deferred(ctx, &a, 32, 48), *wb = deferred(ctx, &b, 16, 48);
    for (int64_t rows = 1; rows <= 4; rows *= 4) {
        tern_program *program;
        tern_exec *exec;
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, SHAPE(rows, 48));
        tern_tensor *p[] = {tern_matmul(x, wa, false, true), tern_matmul(x, wb, false, true)};
        tern_tensor *y[] = {tern_relu(p[0]), tern_relu(p[1])};
        CHECK_OK(tern_compile(ctx, 2, y, NULL, &high, &program));
        tern_fusion_info fusion;
        CHECK_OK(tern_program_fusion(program, 0, &fusion));
        CHECK_STR(fusion.kind, "product");
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_tensor *in = tern_ones(ctx, TERN_F32, SHAPE(rows, 48)), *out[2];
        CHECK_OK(tern_exec_run(exec, 1, &in, 2, out));
        float expected = 0;
        for (int i = 0; i < 48; i++)
            expected += (float)(i % 7);
        CHECK_EQ(tern_data_f32(out[0])[0], expected);
        CHECK_EQ(tern_data_f32(out[1])[0], expected + 48);
        CHECK_EQ(a.fills, 1);
        CHECK_EQ(b.fills, 1);
        tern_tensor *mine[] = {x, p[0], p[1], y[0], y[1], in, out[0], out[1]};
        for (int i = 0; i < 8; i++)
            tern_release(mine[i]);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    tern_release(wa);
    tern_release(wb);
    tern_ctx_destroy(ctx);
    CHECK_EQ(a.drops, 1);
    CHECK_EQ(b.drops, 1);
}

TEST(what_cannot_be_made_fails_what_needs_it)
{
    tern_ctx *ctx = open_ctx();
    origin o = {.fails = true};
    tern_tensor *w = deferred(ctx, &o, 64, 48), *x = tern_ones(ctx, TERN_F32, SHAPE(2, 48));
    tern_tensor *y = tern_matmul(x, w, false, true);
    CHECK_STATUS(tern_eval(y), TERN_IO);
    CHECK(tern_data_f32(w) == NULL);
    o.fails = false;
    tern_tensor *again = tern_matmul(x, w, false, true);
    CHECK_OK(tern_eval(again));
    tern_tensor *bad = tern_constant(ctx, TERN_F32, SHAPE(2), NULL);
    CHECK_EQ(tern_status_of(bad), TERN_INVALID_ARGUMENT);
    tern_tensor *worse = tern_constant(ctx, TERN_F32, SHAPE(-2), &(tern_constant_source){fill, drop, &o, 0});
    CHECK(tern_status_of(worse) != TERN_OK);
    CHECK_EQ(o.drops, 1);
    tern_ctx_destroy(ctx);
    CHECK_EQ(o.drops, 2);
}

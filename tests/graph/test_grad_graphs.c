/* test_grad_graphs.c - gradients of more than one operation: sums over several readers, views, kinks, quantisation, segments that are
 * computed again, and bad calls. */
#include <math.h>
#include <string.h>

#include <tern/grad.h>
#include <tern/ops.h>
#include <tern/program.h>

#include "grad_util.h"

/* ---- more than one operation ------------------------------------------------------------------------------------------ */

static tern_tensor *vector(int64_t n, const float *values)
{
    return tern_from_data(ctx, TERN_F32, 1, &n, values);
}

static void check_values(tern_tensor *t, int64_t n, const float *want)
{
    const float *got = tern_data_f32(t);
    CHECK(got && tern_numel(t) == n);
    for (int64_t i = 0; got && i < n; i++)
        CHECK(fabsf(got[i] - want[i]) <= 1e-6f * (1 + fabsf(want[i])));
}

/* x is read three times, once by way of a view, and through a chain of two: d/dx sum(x^2 * x + 3 x[::-1]) */
TEST(gradients_add_up)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t axis = 0;
        tern_tensor *x = vector(3, (float[]){1, 2, -3}), *grad;
        CHECK_OK(tern_watch(x));
        tern_tensor *cube = tern_mul(tern_square(x), x);
        tern_tensor *turned = tern_mul(tern_flip(tern_reshape(x, 1, (int64_t[]){3}), 1, &axis),
                                       tern_full(ctx, TERN_F32, 0, NULL, 3));
        tern_tensor *loss = tern_sum(tern_add(cube, turned), 0, NULL, false);
        CHECK_OK(tern_grad(loss, 1, &x, &grad));
        check_values(grad, 3, (float[]){6, 15, 30});
        CHECK(tern_data_f32(loss)[0] == 1 + 8 - 27); /* the loss itself can still be asked for */
    }
    tear_down();
}

/* Gradients are tensors like others: they have gradients. d2/dx2 sum(x^3) = 6 x. */
TEST(gradients_of_gradients)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = vector(2, (float[]){2, -5}), *first, *second;
        tern_tensor *loss = tern_sum(tern_mul(tern_square(x), x), 0, NULL, false);
        CHECK_OK(tern_grad(loss, 1, &x, &first));
        CHECK_OK(tern_grad(tern_sum(first, 0, NULL, false), 1, &x, &second));
        check_values(second, 2, (float[]){12, -30});
    }
    tear_down();
}

TEST(several_parameters_and_what_lies_between)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *a = vector(2, (float[]){2, 3}), *b = vector(2, (float[]){5, 7});
        tern_tensor *product = tern_mul(a, b), *loss = tern_sum(tern_square(product), 0, NULL, false);
        tern_tensor *grads[3];
        CHECK_OK(tern_grad(loss, 3, (tern_tensor *[]){b, product, a}, grads));
        check_values(grads[0], 2, (float[]){40, 126});
        check_values(grads[1], 2, (float[]){20, 42});
        check_values(grads[2], 2, (float[]){100, 294});
    }
    tear_down();
}

/* Half goes to each of equals; sums over max share. */
TEST(ties)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *a = vector(3, (float[]){1, 2, 2}), *b = vector(3, (float[]){1, 5, -1}), *grads[2];
        CHECK_OK(tern_grad(tern_sum(tern_maximum(a, b), 0, NULL, false), 2, (tern_tensor *[]){a, b}, grads));
        check_values(grads[0], 3, (float[]){0.5f, 0, 1});
        check_values(grads[1], 3, (float[]){0.5f, 1, 0});
        tern_tensor *most = tern_max(a, 0, NULL, false);
        CHECK_OK(tern_grad(most, 1, &a, grads));
        check_values(grads[0], 3, (float[]){0, 0.5f, 0.5f});
        tern_tensor *z = vector(3, (float[]){3, 0, 4}), *zz = vector(3, (float[]){3, 0, 0});
        CHECK_OK(tern_grad(tern_prod(z, 0, NULL, false), 1, &z, grads));
        check_values(grads[0], 3, (float[]){0, 12, 0});
        CHECK_OK(tern_grad(tern_prod(zz, 0, NULL, false), 1, &zz, grads));
        check_values(grads[0], 3, (float[]){0, 0, 0});
    }
    tear_down();
}

/* Where a quotient or a difference of infinities would be NaN, there is a gradient all the same; and one of it. */
TEST(kinks_without_nan)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *a = vector(4, (float[]){0, 0, 3, INFINITY}), *b = vector(4, (float[]){0, 1, 0, 0}),
                    *grads[2];
        tern_tensor *both[] = {a, b}, *second;
        CHECK_OK(tern_grad(tern_sum(tern_pow(a, b), 0, NULL, false), 1, both, grads));
        CHECK_OK(tern_grad(tern_sum(grads[0], 0, NULL, false), 1, both, &second));
        check_values(grads[0], 4, (float[]){0, 1, 0, 0});
        check_values(second, 4, (float[]){0, 0, 0, 0});
        tern_tensor *y = vector(2, (float[]){0, 0}), *x = vector(2, (float[]){0, 2});
        tern_tensor *angle = tern_sum(tern_atan2(y, x), 0, NULL, false);
        CHECK_OK(tern_grad(angle, 2, (tern_tensor *[]){y, x}, grads));
        check_values(grads[0], 2, (float[]){0, 0.5f});
        check_values(grads[1], 2, (float[]){0, 0});
        tern_tensor *none = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){2, 2},
                                           (float[]){-INFINITY, -INFINITY, -INFINITY, 4});
        tern_tensor *sums = tern_logsumexp(none, 1, (int64_t[]){1}, false);
        CHECK_OK(tern_grad(tern_sum(sums, 0, NULL, false), 1, &none, grads));
        check_values(grads[0], 4, (float[]){0, 0, 0, 1});
    }
    tear_down();
}

TEST(kept_without_a_scope)
{
    set_up();
    tern_tensor *x = vector(2, (float[]){1, 2}), *y = vector(2, (float[]){1, 2}), *sum = tern_add(x, y);
    tern_tensor *loss = tern_sum(sum, 0, NULL, false), *grads[2];
    CHECK_OK(tern_grad(loss, 2, (tern_tensor *[]){x, y}, grads)); /* one and the same tensor for both */
    check_values(grads[0], 2, (float[]){1, 1});
    tern_release(grads[0]);
    check_values(grads[1], 2, (float[]){1, 1});
    tern_release(grads[1]);
    tern_release(loss);
    tern_release(sum);
    tern_release(x);
    tern_release(y);
    tear_down();
}

/* ---- straight-through --------------------------------------------------------------------------------------------------- */

/* BitLinear by exact integers: gradients are those of a product of the numbers that codes stand for. */
TEST(bitlinear)
{
    enum { ROWS = 3, IN = 8, OUT = 4 };
    float xs[ROWS * IN], ws[OUT * IN], weights[ROWS * OUT], of_x[ROWS * IN] = {0}, of_w[OUT * IN] = {0};
    set_up();
    for (int i = 0; i < ROWS * IN; i++)
        xs[i] = (float)uniform(-1, 1);
    for (int i = 0; i < OUT * IN; i++)
        ws[i] = (float)uniform(-1, 1);
    for (int i = 0; i < ROWS * OUT; i++)
        weights[i] = (float)uniform(-1, 1);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){ROWS, IN}, xs);
        tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){OUT, IN}, ws), *q, *s, *t, *ts,
                    *grads[2];
        tern_quantise_rows(x, &q, &s);
        tern_ternary_quantise(w, NULL, TERN_T2, &t, &ts);
        tern_tensor *y = tern_mul(tern_dequantise(tern_ternary_matmul(q, t, NULL), s), ts);
        tern_tensor *by = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){ROWS, OUT}, weights);
        CHECK_OK(tern_grad(tern_sum(tern_mul(y, by), 0, NULL, false), 2, (tern_tensor *[]){x, w}, grads));
        const float *xq = tern_data_f32(tern_dequantise(q, s));
        const float *wq = tern_data_f32(tern_ternary_dequantise(t, ts));
        CHECK(xq && wq);
        for (int r = 0; r < ROWS; r++)
            for (int o = 0; o < OUT; o++)
                for (int i = 0; i < IN; i++) {
                    of_x[r * IN + i] += weights[r * OUT + o] * wq[o * IN + i];
                    of_w[o * IN + i] += weights[r * OUT + o] * xq[r * IN + i];
                }
        const float *got_x = tern_data_f32(grads[0]), *got_w = tern_data_f32(grads[1]);
        for (int i = 0; i < ROWS * IN; i++)
            CHECK(got_x && fabsf(got_x[i] - of_x[i]) <= 1e-5f);
        for (int i = 0; i < OUT * IN; i++)
            CHECK(got_w && fabsf(got_w[i] - of_w[i]) <= 1e-5f);
    }
    tear_down();
}

/* What is quantised and dequantised passes gradients on as they are. */
TEST(there_and_back)
{
    set_up();
    TERN_SCOPE(ctx) {
        const float by[] = {0.5f, -1, 2, 3};
        tern_tensor *x = vector(4, (float[]){1, -0.3f, 0.02f, -2}), *seven = tern_scalar(ctx, TERN_F32, 7);
        tern_tensor *q, *s, *t, *ts, *grad;
        tern_quantise_tensor(x, &q, &s);
        tern_ternary_quantise(x, NULL, TERN_T5, &t, &ts);
        tern_tensor *ways[] = {tern_dequantise(q, s), tern_dequantise(tern_quantise(x, seven), seven),
                               tern_ternary_dequantise(t, ts)};
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            tern_tensor *loss = tern_sum(tern_mul(ways[i], vector(4, by)), 0, NULL, false);
            CHECK_OK(tern_grad(loss, 1, &x, &grad));
            check_values(grad, 4, by);
        }
        /* codes as numbers: larger by their scale */
        tern_tensor *codes = tern_cast(tern_quantise(x, seven), TERN_F32);
        CHECK_OK(tern_grad(tern_sum(tern_mul(codes, vector(4, by)), 0, NULL, false), 1, &x, &grad));
        check_values(grad, 4, (float[]){3.5f, -7, 14, 21});
    }
    tear_down();
}

/* x W^T by either op, of a vector too. */
TEST(linear_is_a_product)
{
    set_up();
    for (int rank = 1; rank <= 3; rank++) {
        TERN_SCOPE(ctx) {
            const int64_t xs[] = {2, 3, 5}, ws[] = {4, 5};
            tern_tensor *x = tern_rand(ctx, TERN_F32, rank, xs + 3 - rank, 1),
                        *w = tern_rand(ctx, TERN_F32, 2, ws, 2);
            tern_tensor *both[] = {x, w}, *grads[2][2];
            CHECK_OK(tern_eval_all(2, both));
            for (int i = 0; i < 2; i++) {
                tern_tensor *y = i ? tern_linear(x, w) : tern_matmul(x, w, false, true);
                CHECK_OK(tern_grad(tern_sum(tern_square(y), 0, NULL, false), 2, both, grads[i]));
            }
            for (int k = 0; k < 2; k++)
                check_values(grads[1][k], tern_numel(both[k]), tern_data_f32(grads[0][k]));
        }
    }
    tear_down();
}

/* Operands of an op once as codes with scales, and once as the numbers that these stand for: the same gradients. */
static void check_codes(int n, tern_tensor *const *floats, tern_tensor *const *stand_for,
                        tern_tensor *by_codes, tern_tensor *by_floats)
{
    tern_tensor *got[3], *want[3];
    CHECK_OK(tern_grad(tern_sum(tern_square(by_codes), 0, NULL, false), n, floats, got));
    CHECK_OK(tern_grad(tern_sum(tern_square(by_floats), 0, NULL, false), n, stand_for, want));
    for (int i = 0; i < n; i++) {
        const float *a = tern_data_f32(got[i]), *b = tern_data_f32(want[i]);
        CHECK(a && b && tern_numel(got[i]) == tern_numel(want[i]));
        for (int64_t k = 0; a && b && k < tern_numel(got[i]); k++)
            CHECK(fabsf(a[k] - b[k]) <= 1e-5f * (1 + fabsf(b[k])));
    }
}

TEST(linear_of_codes)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t xs[] = {3, 5}, ws[] = {4, 5};
        tern_tensor *x = tern_randn(ctx, TERN_F32, 2, xs, 1), *w = tern_randn(ctx, TERN_F32, 2, ws, 2);
        CHECK_OK(tern_eval_all(2, (tern_tensor *[]){x, w}));
        tern_tensor *xq, *s, *wq, *t;
        tern_quantise_rows(x, &xq, &s);
        tern_quantise_tensor(w, &wq, &t);
        tern_tensor *xf = tern_dequantise(xq, s), *wf = tern_dequantise(wq, t);
        tern_tensor *product = tern_linear(xq, wq);
        CHECK_EQ(tern_dtype_of(product), TERN_I32);
        check_codes(2, (tern_tensor *[]){x, w}, (tern_tensor *[]){xf, wf},
                    tern_div(tern_dequantise(product, s), t), tern_matmul(xf, wf, false, true));
    }
    tear_down();
}

/* A cache of int8: rows of two slots, one of them padding. */
TEST(attention_of_codes)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t qs[] = {4, 4, 6}, ks[] = {2, 3, 2, 6}, rows = 4;
        tern_tensor *q = tern_randn(ctx, TERN_F32, 3, qs, 1), *k = tern_randn(ctx, TERN_F32, 4, ks, 2),
                    *v = tern_randn(ctx, TERN_F32, 4, ks, 3);
        tern_tensor *slots = tern_from_data(ctx, TERN_I32, 1, &rows, (int32_t[]){1, 0, 1, 0}),
                    *at = tern_from_data(ctx, TERN_I32, 1, &rows, (int32_t[]){2, 1, 0, -1});
        CHECK_OK(tern_eval_all(3, (tern_tensor *[]){q, k, v}));
        tern_tensor *kq, *kscale, *vq, *vscale;
        tern_quantise_rows(k, &kq, &kscale);
        tern_quantise_rows(v, &vq, &vscale);
        tern_tensor *kf = tern_dequantise(kq, kscale), *vf = tern_dequantise(vq, vscale);
        check_codes(3, (tern_tensor *[]){q, k, v}, (tern_tensor *[]){q, kf, vf},
                    tern_attention(q, kq, vq, slots, at, kscale, vscale, 0),
                    tern_attention(q, kf, vf, slots, at, NULL, NULL, 0));
    }
    tear_down();
}

/* With scales of blocks x has the gradient of the weights that they stand for; the weights themselves have none. */
TEST(scales_of_blocks)
{
    set_up();
    TERN_SCOPE(ctx) {
        const int64_t row[] = {1, 8}, blocks[] = {1, 2};
        tern_tensor *w = tern_from_data(ctx, TERN_F32, 2, row, (float[]){1, -1, 0, 1, -1, -1, 1, 0}), *grad;
        tern_tensor *scales = tern_from_data(ctx, TERN_F32, 2, blocks, (float[]){2, 8});
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, row, (float[]){1, 2, 3, 4, 5, 6, 7, 8}), *q, *s, *t;
        tern_quantise_rows(x, &q, &s);
        tern_ternary_quantise(w, tern_scalar(ctx, TERN_F32, 1), TERN_T2, &t, NULL);
        tern_tensor *y = tern_div(tern_ternary_matmul(q, t, scales), s);
        CHECK_OK(tern_grad(tern_sum(y, 0, NULL, false), 1, &x, &grad));
        check_values(grad, 8, (float[]){2, -2, 0, 2, -8, -8, 8, 0});
        CHECK_STATUS(tern_grad(tern_sum(y, 0, NULL, false), 1, &w, &grad), TERN_UNSUPPORTED);
        CHECK(strstr(tern_last_error(), "ternary_matmul"));
    }
    tear_down();
}

/* ---- computing again ----------------------------------------------------------------------------------------------------- */

/* A chain of two parts, each of which may be computed again; the gradient of its weights, and what a program of it is. */
static void chain(bool again, float *gradient, tern_program_info *info, int *tanhs)
{
    enum { N = 64 };
    TERN_SCOPE(ctx) {
        tern_tensor *w = tern_state(ctx, "w", TERN_F32, 2, (int64_t[]){N, N}), *grad;
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){N, N}), *y = x;
        CHECK_OK(tern_assign(w, tern_rand(ctx, TERN_F32, 2, (int64_t[]){N, N}, 3)));
        for (int part = 0; part < 2; part++) {
            if (again)
                tern_recompute_open(ctx);
            for (int i = 0; i < 4; i++)
                y = tern_tanh(tern_matmul(y, w, false, false));
            if (again)
                tern_recompute_close(ctx);
        }
        tern_tensor *loss = tern_sum(y, 0, NULL, false);
        CHECK_OK(tern_grad(loss, 1, &w, &grad));
        tern_program *program;
        tern_exec *exec;
        CHECK_OK(tern_compile(ctx, 2, (tern_tensor *[]){grad, loss}, NULL, NULL, &program));
        tern_program_get_info(program, info);
        *tanhs = 0;
        for (int i = 0; i < info->steps; i++) {
            tern_step_info step;
            CHECK_OK(tern_program_step(program, i, &step));
            for (int k = 0; k < step.n_ops; k++)
                *tanhs += strcmp(step.ops[k], "tanh") == 0;
        }
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_tensor *data = tern_rand(ctx, TERN_F32, 2, (int64_t[]){N, N}, 4), *out[2];
        data = tern_mul(data, tern_scalar(ctx, TERN_F32, 0.01));
        CHECK_OK(tern_exec_run(exec, 1, &data, 2, out));
        CHECK_OK(tern_read(out[0], gradient, N * N * sizeof *gradient));
        tern_exec_free(exec);
        tern_program_free(program);
    }
}

TEST(what_is_computed_again_has_the_same_bits)
{
    static float kept[64 * 64], again[64 * 64];
    tern_program_info whole, less;
    int once, twice;
    set_up();
    chain(false, kept, &whole, &once);
    chain(true, again, &less, &twice);
    CHECK(memcmp(kept, again, sizeof kept) == 0);
    CHECK_EQ(once, 8);
    CHECK_EQ(twice, 16); /* the compiler has not found out that they are the same */
    CHECK(less.arena_bytes < whole.arena_bytes);
    tear_down();
}

/* One open includes the other, and what is closed too often was never open. */
TEST(segments_in_segments)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = vector(2, (float[]){1, 2}), *grad, *second;
        tern_recompute_close(ctx);
        tern_recompute_open(ctx);
        tern_tensor *y = tern_square(x);
        tern_recompute_open(ctx);
        y = tern_mul(y, x);
        tern_recompute_close(ctx);
        y = tern_square(y);
        tern_recompute_close(ctx);
        CHECK_OK(tern_grad(tern_sum(y, 0, NULL, false), 1, &x, &grad)); /* 6 x^5 */
        CHECK_OK(tern_grad(tern_sum(grad, 0, NULL, false), 1, &x, &second));
        check_values(grad, 2, (float[]){6, 192});
        check_values(second, 2, (float[]){30, 480});
    }
    tear_down();
}

/* ---- refusals ------------------------------------------------------------------------------------------------------------ */

TEST(what_has_no_gradient_is_named)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){1, 3}), *grad = NULL;
        tern_tensor *states[3], *at[2];
        for (int i = 0; i < 3; i++)
            states[i] = tern_state(ctx, "s", TERN_F32, 2, (int64_t[]){1, 3});
        for (int i = 0; i < 2; i++)
            at[i] = tern_zeros(ctx, TERN_I32, 1, (int64_t[]){i + 1});
        const struct {
            const char *name;
            tern_tensor *y;
        } writes[] = {
            {"overwrite", tern_overwrite(states[0], x)},
            {"write_slice", tern_write_slice(states[1], x, at[1])},
            {"write_rows", tern_write_rows(states[2], tern_max(x, 1, (int64_t[]){1}, false), at[0], at[0])},
        };
        for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
            CHECK_STATUS(tern_grad(tern_sum(writes[i].y, 0, NULL, false), 1, &x, &grad), TERN_UNSUPPORTED);
            CHECK(strstr(tern_last_error(), writes[i].name) && !grad);
        }
    }
    tear_down();
}

TEST(bad_calls)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = vector(2, (float[]){1, 2}), *other = vector(2, (float[]){1, 2}), *grad = NULL;
        CHECK_OK(tern_name(other, "other"));
        tern_tensor *loss = tern_sum(x, 0, NULL, false);
        CHECK_STATUS(tern_grad(tern_square(x), 1, &x, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "not one float"));
        CHECK_STATUS(tern_grad(loss, 1, &other, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "parameter 0 ('other')"));
        CHECK_STATUS(tern_grad(loss, 2, (tern_tensor *[]){x, x}, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "the same tensor"));
        /* steps have the gradient 0: nothing depends on x */
        CHECK_STATUS(tern_grad(tern_sum(tern_round(x), 0, NULL, false), 1, &x, &grad), TERN_INVALID_ARGUMENT);
        tern_tensor *whole = tern_cast(x, TERN_I32);
        CHECK_STATUS(tern_grad(loss, 1, &whole, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "only floats"));
        CHECK_OK(tern_eval(loss));
        CHECK_STATUS(tern_grad(loss, 1, &x, &grad), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "was evaluated"));
        CHECK_STATUS(tern_grad(tern_reshape(x, 1, (int64_t[]){9}), 1, &x, &grad), TERN_SHAPE);
        CHECK(!grad);
    }
    tear_down();
}

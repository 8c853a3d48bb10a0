/* test_optimiser.c - steps of AdamW and SGD against plain loops in doubles, from one compiled program; thread counts; bad calls. */
#include <math.h>
#include <string.h>

#include <tern/context.h>
#include <tern/grad.h>
#include <tern/ops.h>
#include <tern/optimiser.h>
#include <tern/program.h>

#include "harness.h"

enum { N = 6, STEPS = 40 };

/* The loss: sum(c_i (w_i - t_i)^2), and a second parameter that does not decay: sum((b - 1)^2). */
static const float START[N] = {1, -2, 3, 0.5f, 0, 4}, AIM[N] = {0, 1, -1, 2, 3, 4},
                   FACTOR[N] = {1, 2, 0.5f, 3, 1, 0.1f};

typedef struct training {
    tern_ctx *ctx;
    tern_tensor *w, *b;
    tern_optimiser *optimiser;
    tern_program *program;
    tern_exec *exec;
} training;

static tern_tensor *make_state(tern_ctx *ctx, const char *name, const float *values, int64_t n)
{
    tern_tensor *state = tern_state(ctx, name, TERN_F32, 1, &n),
                *data = tern_from_data(ctx, TERN_F32, 1, &n, values);
    harness_check_ok(tern_assign(state, data), __FILE__, __LINE__, name);
    tern_release(data);
    return state;
}

static tern_status compile(training *t)
{
    TERN_SCOPE(t->ctx) {
        const int64_t n = N;
        tern_tensor *rate = tern_input(t->ctx, "rate", TERN_F32, 0, NULL);
        tern_tensor *aim = tern_from_data(t->ctx, TERN_F32, 1, &n, AIM),
                    *factor = tern_from_data(t->ctx, TERN_F32, 1, &n, FACTOR);
        tern_tensor *far = tern_mul(tern_square(tern_sub(t->w, aim)), factor);
        tern_tensor *near = tern_square(tern_sub(t->b, tern_full(t->ctx, TERN_F32, 0, NULL, 1)));
        tern_tensor *loss = tern_add(tern_sum(far, 0, NULL, false), tern_sum(near, 0, NULL, false));
        tern_tensor *grads[2], *outputs[16] = {loss};
        const char *names[16] = {"loss", "norm", "a", "b", "c", "d", "e", "f", "g"};
        TERN_TRY(tern_grad(loss, 2, (tern_tensor *[]){t->w, t->b}, grads));
        TERN_TRY(tern_optimiser_step(t->optimiser, rate, grads, outputs + 2, &outputs[1]));
        return tern_compile(t->ctx, 2 + tern_optimiser_count(t->optimiser), outputs, names, NULL,
                            &t->program);
    }
    return TERN_INTERNAL;
}

static void open_training(training *t, const tern_optimiser_options *options, int threads)
{
    tern_ctx_options o = tern_ctx_options_default();
    o.tuning = "off";
    o.threads = threads;
    CHECK_OK(tern_ctx_create(&o, &t->ctx));
    t->w = make_state(t->ctx, "w", START, N);
    t->b = make_state(t->ctx, "b", (float[]){3, -3}, 2);
    tern_parameter parameters[] = {{t->w, true}, {t->b, false}};
    CHECK_OK(tern_optimiser_create(t->ctx, options, 2, parameters, &t->optimiser));
    CHECK_OK(compile(t));
    CHECK_OK(tern_exec_create_in_place(t->ctx, t->program, &t->exec));
}

static void close_training(training *t)
{
    tern_exec_free(t->exec);
    tern_program_free(t->program);
    tern_optimiser_free(t->optimiser);
    tern_release(t->w);
    tern_release(t->b);
    tern_ctx_destroy(t->ctx);
}

static void run_step(training *t, float rate, float *loss, float *norm)
{
    TERN_SCOPE(t->ctx) {
        tern_tensor *in = tern_scalar(t->ctx, TERN_F32, (double)rate), *out[16];
        CHECK_OK(tern_exec_run(t->exec, 1, &in, 2 + tern_optimiser_count(t->optimiser), out));
        *loss = tern_data_f32(out[0])[0];
        *norm = tern_data_f32(out[1])[0];
    }
}

/* The same in doubles. */
typedef struct plain {
    double p[N + 2], m[N + 2], v[N + 2];
    int steps;
} plain;

static void plain_step(plain *s, const tern_optimiser_options *o, double rate, double *loss, double *norm)
{
    double g[N + 2], squares = 0;
    *loss = 0;
    for (int i = 0; i < N + 2; i++) {
        const double aim = i < N ? AIM[i] : 1, factor = i < N ? FACTOR[i] : 1, d = s->p[i] - aim;
        *loss += factor * d * d;
        g[i] = 2 * factor * d;
        squares += g[i] * g[i];
    }
    *norm = sqrt(squares);
    s->steps++;
    for (int i = 0; i < N + 2; i++) {
        const double x = o->clip > 0 && *norm > o->clip ? g[i] * o->clip / (*norm + 1e-6) : g[i];
        double d = x;
        if (o->kind == TERN_OPTIMISER_ADAMW) {
            s->m[i] = o->beta1 * s->m[i] + (1 - o->beta1) * x;
            s->v[i] = o->beta2 * s->v[i] + (1 - o->beta2) * x * x;
            d = s->m[i] / (1 - pow(o->beta1, s->steps)) /
                (sqrt(s->v[i] / (1 - pow(o->beta2, s->steps))) + o->eps);
        } else if (o->momentum > 0) {
            d = s->m[i] = o->momentum * s->m[i] + x;
        }
        s->p[i] -= rate * (d + (i < N ? o->weight_decay * s->p[i] : 0));
    }
}

static void check_against_plain(const tern_optimiser_options *o)
{
    training t = {0};
    plain s = {.p = {1, -2, 3, 0.5, 0, 4, 3, -3}};
    open_training(&t, o, 1);
    float first = 0, loss = 0, norm;
    int clipped = 0;
    for (int i = 0; i < STEPS && !harness_failed(); i++) {
        double want_loss, want_norm;
        const double rate = 0.02 + 0.001 * i; /* a schedule: another rate every time */
        run_step(&t, (float)rate, &loss, &norm);
        plain_step(&s, o, rate, &want_loss, &want_norm);
        first = i == 0 ? loss : first;
        CHECK(fabs(loss - want_loss) <= 1e-4 * (1 + want_loss));
        CHECK(fabs(norm - want_norm) <= 1e-4 * (1 + want_norm));
        clipped += want_norm > o->clip;
    }
    CHECK(o->clip == 0 || (clipped > 0 && clipped < STEPS)); /* some steps are clipped, and some are not */
    for (int i = 0; i < N + 2; i++) {
        const float got = i < N ? tern_data_f32(t.w)[i] : tern_data_f32(t.b)[i - N];
        CHECK(fabs(got - s.p[i]) <= 1e-4 * (1 + fabs(s.p[i])));
    }
    CHECK(loss < 0.7f * first); /* and it learns */
    close_training(&t);
}

TEST(adamw)
{
    tern_optimiser_options o = tern_optimiser_options_default();
    check_against_plain(&o);
    o.weight_decay = 0.1;
    o.clip = 12;
    check_against_plain(&o);
}

TEST(sgd)
{
    tern_optimiser_options o = tern_optimiser_options_default();
    o.kind = TERN_OPTIMISER_SGD;
    check_against_plain(&o);
    o.clip = 8;
    check_against_plain(&o);
    o.momentum = 0.5;
    check_against_plain(&o);
    o.clip = 0;
    o.weight_decay = 0.01;
    check_against_plain(&o);
    o.clip = 5;
    check_against_plain(&o);
}

TEST(same_bits_for_any_number_of_threads)
{
    tern_optimiser_options o = tern_optimiser_options_default();
    o.clip = 1;
    float after[3][N];
    for (int k = 0; k < 3; k++) {
        training t = {0};
        float loss, norm;
        open_training(&t, &o, k + 1);
        for (int i = 0; i < 10; i++)
            run_step(&t, 0.05f, &loss, &norm);
        memcpy(after[k], tern_data_f32(t.w), sizeof after[k]);
        close_training(&t);
    }
    CHECK(memcmp(after[0], after[1], sizeof after[0]) == 0 &&
          memcmp(after[0], after[2], sizeof after[0]) == 0);
}

/* What a checkpoint has to hold: parameters, their moments, the count. */
TEST(states)
{
    training t = {0};
    float loss, norm;
    open_training(&t, NULL, 1);
    CHECK_EQ(tern_optimiser_count(t.optimiser), 2 * 3 + 1);
    CHECK(tern_optimiser_state(t.optimiser, 0) == t.w && tern_optimiser_state(t.optimiser, 1) == t.b);
    CHECK(!tern_optimiser_state(t.optimiser, 7) && !tern_optimiser_state(t.optimiser, -1));
    for (int i = 0; i < 3; i++)
        run_step(&t, 0.01f, &loss, &norm);
    CHECK(tern_data_f32(tern_optimiser_state(t.optimiser, 6))[0] == 3);
    CHECK(tern_data_f32(tern_optimiser_state(t.optimiser, 2))[0] != 0);
    close_training(&t);
}

TEST(bad_calls)
{
    tern_ctx *ctx;
    tern_optimiser *a = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_parameter p = {tern_state(ctx, "w", TERN_F32, 0, NULL), true},
                       whole = {tern_ones(ctx, TERN_I32, 0, NULL), true};
        tern_optimiser_options o = tern_optimiser_options_default();
        CHECK_STATUS(tern_optimiser_create(ctx, NULL, 0, &p, &a), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_optimiser_create(ctx, NULL, 1, &whole, &a), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "parameter 0"));
        o.beta2 = 1;
        CHECK_STATUS(tern_optimiser_create(ctx, &o, 1, &p, &a), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "beta2 is 1"));
        o = tern_optimiser_options_default();
        o.weight_decay = NAN;
        CHECK_STATUS(tern_optimiser_create(ctx, &o, 1, &p, &a), TERN_INVALID_ARGUMENT);
        p.decay = -1;
        CHECK_STATUS(tern_optimiser_create(ctx, NULL, 1, &p, &a), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "decay of parameter 0 is -1"));
        p.decay = 1;
        CHECK(!a);
        CHECK_OK(tern_optimiser_create(ctx, NULL, 1, &p, &a));
        tern_tensor *none = NULL, *written[4], *rate = tern_scalar(ctx, TERN_F32, 1);
        CHECK_STATUS(tern_optimiser_step(a, rate, &none, written, NULL), TERN_INVALID_ARGUMENT);
        tern_tensor *wide = tern_ones(ctx, TERN_F32, 1, (int64_t[]){3});
        CHECK_STATUS(tern_optimiser_step(a, rate, &wide, written, NULL), TERN_SHAPE);
        CHECK(strstr(tern_last_error(), "gradient 0 has another shape"));
        tern_optimiser_free(a);
    }
    tern_ctx_destroy(ctx);
}

/* digits.c - a classifier trained in seconds, with float and with ternary weights: pictures of digits, 8 x 8, noisy and shifted.
 *
 * Both nets have the same shape and are trained alike: loss, gradients and AdamW are recorded as lazy tensors, compiled into one
 * program, and run. The ternary one quantises its weights to -1, 0, 1 and its inputs to int8 on the way forward; gradients go
 * straight through, to the floats that are trained. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tern/tern.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 10, HIDDEN = 128, BATCH = 64, STEPS = 300, TESTS = 1024 };

#define CHECK(call)                   \
    do {                              \
        tern_status status_ = (call); \
        if (status_ != TERN_OK)       \
            return status_;           \
    } while (0)

/* ---- data ---- */

static const char *const GLYPHS[CLASSES] = {
    ".###.#...##..###.#.###..##...#.###.", "..#...##....#....#....#....#...###.",
    ".###.#...#....#...#...#...#...#####", ".###.#...#....#..##.....##...#.###.",
    "...#...##..#.#.#..#.#####...#....#.", "######....####.....#....##...#.###.",
    "..##..#...#....####.#...##...#.###.", "#####....#...#...#...#....#....#...",
    ".###.#...##...#.###.#...##...#.###.", ".###.#...##...#.####....#...#..##..",
};

static float noise(uint64_t *state) /* about normal */
{
    float sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (float)(*state >> 40) / (float)(1 << 24);
    }
    return sum;
}

/* `n` pictures (5 x 7 glyphs somewhere in 8 x 8, with noise) and what they show. */
static void draw(uint64_t *state, int n, float *pixels, int64_t *labels)
{
    for (int i = 0; i < n; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        const int digit = (int)(*state >> 33) % CLASSES, left = (int)(*state >> 50) % 4,
                  top = (int)(*state >> 60) % 2;
        labels[i] = digit;
        for (int k = 0; k < PIXELS; k++)
            pixels[i * PIXELS + k] = 0.35f * noise(state);
        for (int k = 0; k < 35; k++)
            pixels[i * PIXELS + (top + k / 5) * SIDE + left + k % 5] += GLYPHS[digit][k] == '#';
    }
}

/* ---- the net ---- */

typedef struct net {
    tern_ctx *ctx;
    bool ternary;
    tern_tensor *first, *second; /* weights, [out, in] */
    tern_optimiser *optimiser;
    tern_program *train, *test;
    tern_exec *train_exec, *test_exec;
} net;

/* y = norm(x) W^T. Ternary: int8 times codes, exact in integers, then back to floats. */
static tern_tensor *layer(const net *n, tern_tensor *x, tern_tensor *w)
{
    tern_tensor *q, *s, *codes, *scale;
    x = tern_rmsnorm(x, NULL, 1e-5);
    if (!n->ternary)
        return tern_linear(x, w);
    tern_quantise_rows(x, &q, &s);
    tern_ternary_quantise(w, NULL, TERN_T2, &codes, &scale);
    return tern_mul(tern_dequantise(tern_ternary_matmul(q, codes, NULL), s), scale);
}

static tern_tensor *logits_of(const net *n, tern_tensor *x)
{
    return layer(n, tern_relu(layer(n, x, n->first)), n->second);
}

static tern_status compile_training(net *n)
{
    TERN_SCOPE(n->ctx) {
        tern_tensor *x = tern_input(n->ctx, "pictures", TERN_F32, 2, (int64_t[]){BATCH, PIXELS});
        tern_tensor *labels = tern_input(n->ctx, "labels", TERN_I64, 2, (int64_t[]){BATCH, 1});
        tern_tensor *rate = tern_input(n->ctx, "rate", TERN_F32, 0, NULL), *grads[2], *outputs[16];
        tern_tensor *chosen = tern_take_along(tern_log_softmax(logits_of(n, x), -1), labels, -1);
        outputs[0] = tern_neg(tern_mean(chosen, 0, NULL, false));
        CHECK(tern_grad(outputs[0], 2, (tern_tensor *[]){n->first, n->second}, grads));
        CHECK(tern_optimiser_step(n->optimiser, rate, grads, outputs + 1, NULL));
        CHECK(tern_compile(n->ctx, 1 + tern_optimiser_count(n->optimiser), outputs, NULL, NULL, &n->train));
    }
    return tern_exec_create_in_place(n->ctx, n->train, &n->train_exec);
}

static tern_status compile_test(net *n)
{
    TERN_SCOPE(n->ctx) {
        tern_tensor *x = tern_input(n->ctx, "pictures", TERN_F32, 2, (int64_t[]){TESTS, PIXELS});
        tern_tensor *guess = tern_argmax(logits_of(n, x), -1, false);
        CHECK(tern_compile(n->ctx, 1, &guess, NULL, NULL, &n->test));
    }
    return tern_exec_create_in_place(n->ctx, n->test, &n->test_exec);
}

static tern_status make(tern_ctx *ctx, bool ternary, net *n)
{
    *n = (net){.ctx = ctx, .ternary = ternary};
    n->first = tern_state(ctx, "first", TERN_F32, 2, (int64_t[]){HIDDEN, PIXELS});
    n->second = tern_state(ctx, "second", TERN_F32, 2, (int64_t[]){CLASSES, HIDDEN});
    TERN_SCOPE(ctx) {
        tern_tensor *small = tern_scalar(ctx, TERN_F32, 0.1);
        CHECK(tern_assign(n->first,
                          tern_mul(tern_randn(ctx, TERN_F32, 2, (int64_t[]){HIDDEN, PIXELS}, 1), small)));
        CHECK(tern_assign(n->second,
                          tern_mul(tern_randn(ctx, TERN_F32, 2, (int64_t[]){CLASSES, HIDDEN}, 2), small)));
    }
    CHECK(tern_optimiser_create(ctx, NULL, 2, (tern_parameter[]){{n->first, true}, {n->second, true}},
                                &n->optimiser));
    CHECK(compile_training(n));
    return compile_test(n);
}

static void discard(net *n)
{
    tern_exec_free(n->train_exec);
    tern_exec_free(n->test_exec);
    tern_program_free(n->train);
    tern_program_free(n->test);
    tern_optimiser_free(n->optimiser);
    tern_release(n->first);
    tern_release(n->second);
}

/* ---- training and testing ---- */

static tern_status train(net *n, float *pixels, int64_t *labels)
{
    uint64_t state = 1;
    for (int step = 0; step < STEPS; step++)
        TERN_SCOPE(n->ctx) {
            draw(&state, BATCH, pixels, labels);
            const double rate = 0.01 * (1 - (double)step / STEPS); /* goes down in a line */
            tern_tensor *out[16],
                *in[] = {tern_from_data(n->ctx, TERN_F32, 2, (int64_t[]){BATCH, PIXELS}, pixels),
                         tern_from_data(n->ctx, TERN_I64, 2, (int64_t[]){BATCH, 1}, labels),
                         tern_scalar(n->ctx, TERN_F32, rate)};
            CHECK(tern_exec_run(n->train_exec, 3, in, 1 + tern_optimiser_count(n->optimiser), out));
            if (step % 100 == 0 || step == STEPS - 1)
                printf("  step %3d: loss %.3f\n", step, (double)tern_data_f32(out[0])[0]);
        }
    return TERN_OK;
}

static tern_status test(net *n, float *pixels, int64_t *labels, double *right)
{
    uint64_t state = 999; /* pictures that were not trained with */
    int count = 0;
    draw(&state, TESTS, pixels, labels);
    TERN_SCOPE(n->ctx) {
        tern_tensor *in = tern_from_data(n->ctx, TERN_F32, 2, (int64_t[]){TESTS, PIXELS}, pixels), *guess;
        CHECK(tern_exec_run(n->test_exec, 1, &in, 1, &guess));
        for (int i = 0; i < TESTS; i++)
            count += tern_data_i64(guess)[i] == labels[i];
    }
    *right = 100.0 * count / TESTS;
    return TERN_OK;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tern_status learn(tern_ctx *ctx, bool ternary, double *right)
{
    static float pixels[TESTS * PIXELS];
    static int64_t labels[TESTS];
    const double start = seconds();
    net n;
    printf("%s weights:\n", ternary ? "ternary" : "float");
    tern_status status = make(ctx, ternary, &n);
    if (status == TERN_OK)
        status = train(&n, pixels, labels);
    if (status == TERN_OK)
        printf("  compiled and trained in %.2f s\n", seconds() - start);
    if (status == TERN_OK)
        status = test(&n, pixels, labels, right);
    discard(&n);
    return status;
}

int main(void)
{
    tern_ctx *ctx = NULL;
    double floats = 0, ternary = 0;
    tern_status status = tern_ctx_create(NULL, &ctx);
    if (status == TERN_OK)
        status = learn(ctx, false, &floats);
    if (status == TERN_OK)
        status = learn(ctx, true, &ternary);
    tern_ctx_destroy(ctx);
    if (status != TERN_OK) {
        fprintf(stderr, "%s: %s\n", tern_status_name(status), tern_last_error());
        return EXIT_FAILURE;
    }
    printf("of %d new pictures right: %.1f %% with float weights, %.1f %% with ternary ones, which need %d "
           "bytes instead of %d\n",
           TESTS, floats, ternary, (HIDDEN * PIXELS + CLASSES * HIDDEN) / 4,
           4 * (HIDDEN * PIXELS + CLASSES * HIDDEN));
    return floats > 90 && ternary > 90 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* test_precision.c - intermediates stored small where that is asked for, and only there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

enum { TOKENS = 64, WIDTH = 128, HEADS = 4, HIDDEN = 512 };

/* A constant, or an input that is given to each run. */
static tern_tensor *weight(tern_ctx *ctx, bool constant, int64_t rows, int64_t columns, int64_t seed)
{
    char name[16];
    snprintf(name, sizeof name, "w%d", (int)seed);
    if (!constant)
        return tern_input(ctx, name, TERN_F32, 2, (int64_t[]){rows, columns});
    tern_tensor *w = tern_mul(tern_randn(ctx, TERN_F32, 2, (int64_t[]){rows, columns}, seed),
                              tern_scalar(ctx, TERN_F32, 1 / sqrt((double)rows)));
    return tern_freeze(w) == TERN_OK ? w : NULL;
}

static tern_tensor *norm(tern_ctx *ctx, tern_tensor *x)
{
    tern_tensor *gain = tern_ones(ctx, TERN_F32, 1, (int64_t[]){WIDTH});
    return tern_freeze(gain) == TERN_OK ? tern_rmsnorm(x, gain, 1e-5) : NULL;
}

static tern_tensor *heads(tern_tensor *x)
{
    return tern_permute(tern_reshape(x, 3, (int64_t[]){TOKENS, HEADS, WIDTH / HEADS}), 3,
                        (int64_t[]){1, 0, 2});
}

/* A transformer block of plain products and softmax. */
static tern_tensor *block(tern_ctx *ctx, bool constant)
{
    tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){TOKENS, WIDTH});
    tern_tensor *n = norm(ctx, x);
    tern_tensor *q = heads(tern_matmul(n, weight(ctx, constant, WIDTH, WIDTH, 1), false, false));
    tern_tensor *k = heads(tern_matmul(n, weight(ctx, constant, WIDTH, WIDTH, 2), false, false));
    tern_tensor *v = heads(tern_matmul(n, weight(ctx, constant, WIDTH, WIDTH, 3), false, false));
    tern_tensor *scores =
        tern_mul(tern_matmul(q, k, false, true), tern_scalar(ctx, TERN_F32, 1 / sqrt((double)WIDTH / HEADS)));
    tern_tensor *mixed = tern_matmul(tern_softmax(scores, -1), v, false, false);
    tern_tensor *joined =
        tern_reshape(tern_permute(mixed, 3, (int64_t[]){1, 0, 2}), 2, (int64_t[]){TOKENS, WIDTH});
    tern_tensor *y = tern_add(x, tern_matmul(joined, weight(ctx, constant, WIDTH, WIDTH, 4), false, false));
    n = norm(ctx, y);
    tern_tensor *gate = tern_relu2(tern_matmul(n, weight(ctx, constant, WIDTH, HIDDEN, 5), false, false));
    tern_tensor *up = tern_matmul(n, weight(ctx, constant, WIDTH, HIDDEN, 6), false, false);
    return tern_add(y,
                    tern_matmul(tern_mul(gate, up), weight(ctx, constant, HIDDEN, WIDTH, 7), false, false));
}

/* With the passes that run by default; *peak is what the plan takes. */
static tern_status compile(tern_ctx *ctx, tern_precision precision, tern_level level, bool constant,
                           tern_program **program, size_t *peak)
{
    tern_compile_options options = tern_compile_options_default();
    tern_program_info info;
    options.precision = precision;
    options.level = level;
    TERN_TRY(tern_compile(ctx, 1, (tern_tensor *[]){block(ctx, constant)}, NULL, &options, program));
    tern_program_get_info(*program, &info);
    *peak = info.arena_bytes;
    return TERN_OK;
}

static tern_status run(tern_ctx *ctx, tern_precision precision, tern_level level, float *out, size_t *peak)
{
    tern_program *program;
    TERN_TRY(compile(ctx, precision, level, true, &program, peak));
    tern_exec *exec;
    tern_status status = tern_exec_create(ctx, program, &exec);
    tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){TOKENS, WIDTH}, 99), *y;
    if (status == TERN_OK)
        status = tern_exec_run(exec, 1, &x, 1, &y);
    if (status == TERN_OK)
        status = tern_dtype_of(y) == TERN_F32 ? tern_read(y, out, TOKENS * WIDTH * sizeof *out) : TERN_DTYPE;
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

/* |b - a| / |a| over all elements. */
static double distance(const float *a, const float *b)
{
    double error = 0, size = 0;
    for (int i = 0; i < TOKENS * WIDTH; i++) {
        error += pow((double)a[i] - (double)b[i], 2);
        size += pow((double)a[i], 2);
    }
    return sqrt(error / size);
}

TEST(a_transformer_block_needs_two_fifths_less)
{
    static float exact[TOKENS * WIDTH], small[TOKENS * WIDTH];
    tern_ctx *ctx = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (tern_level level = TERN_LEVEL_MEDIUM; level <= TERN_LEVEL_HIGH; level++)
        TERN_SCOPE(ctx) {
            size_t full, half;
            CHECK_OK(run(ctx, TERN_PRECISION_EXACT, level, exact, &full));
            CHECK_OK(run(ctx, TERN_PRECISION_BF16, level, small, &half));
            printf("level %s: exact %zu bytes, bf16 %zu bytes, relative error %.1e\n", tern_level_name(level),
                   full, half, distance(exact, small));
            CHECK((double)half <= 0.6 * (double)full);
            CHECK(distance(exact, small) > 0 && distance(exact, small) < 0.01); /* bf16 has 8 bits */
            CHECK_OK(run(ctx, TERN_PRECISION_F16, level, small, &half));
            CHECK((double)half <= 0.6 * (double)full);
            CHECK(distance(exact, small) > 0 && distance(exact, small) < 0.002); /* f16 has 11 */
        }
    tern_ctx_destroy(ctx);
}

/* Rounded copies of weights would take more than they save. */
TEST(weights_that_are_inputs_cost_no_more)
{
    tern_ctx *ctx = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (tern_level level = TERN_LEVEL_MEDIUM; level <= TERN_LEVEL_HIGH; level++)
        TERN_SCOPE(ctx) {
            size_t peaks[2];
            for (int i = 0; i < 2; i++) {
                tern_program *program;
                CHECK_OK(compile(ctx, i ? TERN_PRECISION_BF16 : TERN_PRECISION_EXACT, level, false, &program,
                                 &peaks[i]));
                tern_program_free(program);
            }
            printf("level %s, weights are inputs: exact %zu bytes, bf16 %zu bytes\n", tern_level_name(level),
                   peaks[0], peaks[1]);
            CHECK(peaks[1] <= peaks[0]);
        }
    tern_ctx_destroy(ctx);
}

TEST(it_is_refused_where_nothing_is_fused)
{
    tern_ctx *ctx = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (tern_level level = TERN_LEVEL_NONE; level < TERN_LEVEL_MEDIUM; level++)
        TERN_SCOPE(ctx) {
            tern_program *program;
            size_t peak;
            CHECK_STATUS(compile(ctx, TERN_PRECISION_BF16, level, true, &program, &peak),
                         TERN_INVALID_ARGUMENT);
        }
    tern_ctx_destroy(ctx);
}

/* The text of a graph with its values counted anew, or NULL. */
static char *renumbered(tern_ctx *ctx, const tern_graph *graph)
{
    char *text = NULL, *out = NULL;
    tern_graph *copy = NULL;
    if (tern_graph_print(graph, &text) == TERN_OK &&
        tern_graph_parse(ctx, text, strlen(text), &copy) == TERN_OK)
        tern_graph_print(copy, &out);
    tern_graph_free(copy);
    tern_string_free(text);
    return out;
}

/* The graph `text` as the pass leaves it, or NULL. */
static char *after(tern_ctx *ctx, const char *text, tern_precision precision)
{
    tern_compile_options options = tern_compile_options_default();
    options.precision = precision;
    options.disabled = (const char *const[]){"specialise", "layout", "fuse", "epilogue"};
    options.n_disabled = 4;
    tern_graph *graph = NULL;
    tern_program *program = NULL;
    char *out = NULL;
    if (tern_graph_parse(ctx, text, strlen(text), &graph) == TERN_OK &&
        tern_graph_compile(ctx, graph, &options, &program) == TERN_OK)
        out = renumbered(ctx, tern_program_graph(program));
    tern_program_free(program);
    tern_graph_free(graph);
    return out;
}

static bool becomes(tern_ctx *ctx, const char *text, tern_precision precision, const char *expected)
{
    char *got = after(ctx, text, precision);
    bool same = got && strcmp(got, expected) == 0;
    if (!same)
        printf("got  %s\nwant %s\n%s\n", got ? got : "nothing", expected, tern_last_error());
    tern_string_free(got);
    return same;
}

TEST(what_is_stored_small_and_what_is_not)
{
    tern_ctx *ctx = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    const char *products = "graph {\n"
                           "  %x = input \"x\" f32[4,4]\n"
                           "  %0 = matmul(%x, %x) : f32[4,4]\n"
                           "  %1 = relu(%0) : f32[4,4]\n"
                           "  %2 = exp(%1) : f32[4,4]\n"
                           "  %3 = matmul(%2, %1) : f32[4,4]\n"
                           "  return %3\n"
                           "}\n";
    CHECK(becomes(ctx, products, TERN_PRECISION_EXACT, products));
    CHECK(becomes(ctx, products, TERN_PRECISION_BF16,
                  "graph {\n"
                  "  %x = input \"x\" f32[4,4]\n"
                  "  %0 = cast(%x) {dtype=bf16} : bf16[4,4]\n"
                  "  %1 = matmul(%0, %0) : bf16[4,4]\n"
                  "  %2 = cast(%1) : f32[4,4]\n"
                  "  %3 = relu(%2) : f32[4,4]\n"
                  "  %4 = exp(%3) : f32[4,4]\n"
                  "  %5 = cast(%4) {dtype=bf16} : bf16[4,4]\n"
                  "  %6 = cast(%3) {dtype=bf16} : bf16[4,4]\n"
                  "  %7 = matmul(%5, %6) : bf16[4,4]\n"
                  "  %8 = cast(%7) : f32[4,4]\n"
                  "  return %8\n"
                  "}\n"));
    /* Nothing to store: rows only, integers, states. */
    const char *rows = "graph {\n"
                       "  %x = input \"x\" f32[4,4]\n"
                       "  %0 = relu(%x) : f32[4,4]\n"
                       "  %1 = exp(%0) : f32[4,4]\n"
                       "  return %1\n"
                       "}\n";
    CHECK(becomes(ctx, rows, TERN_PRECISION_BF16, rows));
    const char *integers = "graph {\n"
                           "  %x = input \"x\" i32[4,4]\n"
                           "  %0 = matmul(%x, %x) : i32[4,4]\n"
                           "  return %0\n"
                           "}\n";
    CHECK(becomes(ctx, integers, TERN_PRECISION_F16, integers));
    const char *state = "graph {\n"
                        "  %s = state \"s\" f32[4,4]\n"
                        "  %x = input \"x\" f32[4,4]\n"
                        "  %0 = overwrite(%s, %x) : f32[4,4]\n"
                        "  return %0\n"
                        "}\n";
    CHECK(becomes(ctx, state, TERN_PRECISION_BF16, state));
    tern_ctx_destroy(ctx);
}

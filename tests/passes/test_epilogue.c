/* test_epilogue.c - products with epilogues against the same steps apart: not a bit may differ, whatever the product, shapes,
 * strides and threads. Golden cases of the pass are in tests/golden/passes/epilogue-*; random graphs of all ops in
 * test_equivalence.c. Here are products large enough for several rectangles, tiles and row blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "tensor/convert.h"
#include "tensor/type.h"

enum { MOST_OUTPUTS = 2 };

typedef struct dice {
    uint64_t seed, count;
} dice;

static uint32_t roll(dice *d, uint32_t sides)
{
    uint64_t z = d->seed + 0x9e3779b97f4a7c15u * ++d->count;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 16) % sides;
}

/* ---- graphs ---- */

static tern_tensor *numbers(dice *d, tern_ctx *ctx, int rank, const int64_t *shape)
{
    return tern_randn(ctx, TERN_F32, rank, shape, (int64_t)roll(d, 1000));
}

/* Made now: an input of the graph. */
static tern_tensor *known(tern_tensor *t)
{
    return tern_eval(t) == TERN_OK ? t : NULL;
}

/* Made now, for good: weights that are packed. */
static tern_tensor *frozen(tern_tensor *t)
{
    return tern_freeze(t) == TERN_OK ? t : NULL;
}

/* x[..., k] as it is, or a view of something wider or turned round. */
static tern_tensor *strided(dice *d, tern_ctx *ctx, int rank, const int64_t *shape)
{
    int64_t own[4], start[4] = {0}, stop[4], step[4] = {1, 1, 1, 1};
    memcpy(own, shape, (size_t)rank * sizeof *own);
    for (int i = 0; i < rank; i++)
        stop[i] = INT64_MAX;
    if (roll(d, 3))
        return numbers(d, ctx, rank, shape);
    const int axis = (int)roll(d, (uint32_t)rank);
    own[axis] *= 2;
    step[axis] = 2;
    return tern_slice(known(numbers(d, ctx, rank, own)), rank, start, stop, step);
}

/* An f32 product of shape[rank]: batches, flags, constant weights or not. */
static tern_tensor *plain_product(dice *d, tern_ctx *ctx, int rank, int64_t *shape)
{
    static const int64_t ROWS[] = {1, 2, 5, 37, 200, 450}, COLUMNS[] = {17, 64, 100, 257, 700},
                         DEPTH[] = {1, 9, 64, 300};
    const int64_t m = ROWS[roll(d, rank == 2 ? 6 : 4)], n = COLUMNS[roll(d, 5)], k = DEPTH[roll(d, 4)];
    const bool a_turned = roll(d, 4) == 0, b_turned = roll(d, 3) == 0, one_b = rank == 2 || roll(d, 2);
    int64_t a[4], b[4];
    for (int i = 0; i < rank - 2; i++)
        a[i] = b[i] = shape[i] = 1 + roll(d, 4);
    a[rank - 2] = a_turned ? k : m;
    a[rank - 1] = a_turned ? m : k;
    b[rank - 2] = b_turned ? n : k;
    b[rank - 1] = b_turned ? k : n;
    shape[rank - 2] = m;
    shape[rank - 1] = n;
    tern_tensor *weights = numbers(d, ctx, one_b ? 2 : rank, one_b ? b + rank - 2 : b);
    return tern_matmul(strided(d, ctx, rank, a), roll(d, 2) ? frozen(weights) : known(weights), a_turned,
                       b_turned);
}

/* A ternary one, which is i32, scaled back. */
static tern_tensor *ternary_product(dice *d, tern_ctx *ctx, int rank, int64_t *shape)
{
    static const int64_t ROWS[] = {1, 3, 60, 250}, COLUMNS[] = {1, 30, 80, 333, 900}, DEPTH[] = {4, 37, 256};
    const int64_t k = DEPTH[roll(d, 3)], n = COLUMNS[roll(d, 5)];
    int64_t x[4], w[2] = {n, k}, each[4];
    for (int i = 0; i < rank - 1; i++)
        each[i] = x[i] = shape[i] = i == rank - 2 ? ROWS[roll(d, rank == 2 ? 4 : 3)] : 1 + roll(d, 4);
    x[rank - 1] = k;
    each[rank - 1] = 1;
    shape[rank - 1] = n;
    tern_tensor *activations =
        tern_cast(tern_mul(numbers(d, ctx, rank, x), tern_scalar(ctx, TERN_F32, 40)), TERN_I8);
    tern_tensor *t, *scale;
    tern_ternary_quantise(numbers(d, ctx, 2, w), NULL, roll(d, 2) ? TERN_T2 : TERN_T5, &t, &scale);
    tern_tensor *y = tern_ternary_matmul(activations, frozen(t), NULL);
    return tern_dequantise(y, known(numbers(d, ctx, roll(d, 2) ? rank : 0, each)));
}

/* An operand that broadcasts to the product: a whole one, a row, a column, a number. */
static tern_tensor *operand(dice *d, tern_ctx *ctx, int rank, const int64_t *shape)
{
    int64_t own[4];
    int kept = roll(d, 2) ? rank : (int)roll(d, (uint32_t)rank + 1);
    for (int i = 0; i < kept; i++)
        own[i] = roll(d, 3) == 0 ? 1 : shape[rank - kept + i];
    tern_tensor *t = kept ? strided(d, ctx, kept, own) : tern_scalar(ctx, TERN_F32, 0.75);
    return roll(d, 4) == 0 ? tern_cast(t, TERN_BF16) : t;
}

static int random_outputs(dice *d, tern_ctx *ctx, tern_tensor **outputs)
{
    int64_t shape[4];
    const int rank = 2 + (int)roll(d, 3), ops = 1 + (int)roll(d, 6);
    tern_tensor *y = roll(d, 3) ? plain_product(d, ctx, rank, shape) : ternary_product(d, ctx, rank, shape);
    tern_tensor *residual =
        roll(d, 3) ? NULL : tern_exp(numbers(d, ctx, rank, shape)); /* may be overwritten */
    int n = 0;
    for (int i = 0; i < ops; i++) {
        switch (roll(d, 6)) {
        case 0:
            y = tern_add(y, operand(d, ctx, rank, shape));
            break;
        case 1:
            y = tern_mul(operand(d, ctx, rank, shape), y);
            break;
        case 2:
            y = roll(d, 2) ? tern_relu2(y) : tern_silu(y);
            break;
        case 3:
            y = tern_maximum(y, tern_neg(y));
            break;
        case 4:
            y = tern_cast(tern_cast(y, TERN_F16), TERN_F32);
            break;
        default:
            y = tern_relu(y);
        }
    }
    if (residual)
        y = tern_add(residual, y);
    if (roll(d, 4) == 0)
        outputs[n++] = tern_cast(tern_tanh(y), TERN_BF16);
    outputs[n++] = y;
    return n;
}

/* ---- running ---- */

static bool is_epilogue(const tern_program *program, int i)
{
    tern_step_info step;
    if (tern_program_step(program, i, &step) != TERN_OK || step.n_ops < 2)
        return false;
    for (int k = 0; k < step.n_ops; k++)
        if (strstr(step.ops[k], "matmul"))
            return true;
    return false;
}

static tern_status run_at(tern_ctx *ctx, int n, tern_tensor *const *outputs, tern_level level, bool without,
                          tern_tensor **results, int *epilogues)
{
    static const char *const OFF[] = {"epilogue"};
    tern_program *program;
    tern_exec *exec = NULL;
    tern_compile_options options = tern_compile_options_default();
    tern_program_info info;
    options.level = level;
    options.disabled = OFF;
    options.n_disabled = without;
    TERN_TRY(tern_compile(ctx, n, outputs, NULL, &options, &program));
    tern_status status = tern_exec_create(ctx, program, &exec);
    if (status == TERN_OK)
        status = tern_exec_run(exec, 0, NULL, n, results);
    tern_program_get_info(program, &info);
    *epilogues = 0;
    for (int i = 0; i < info.steps; i++)
        *epilogues += is_epilogue(program, i);
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

/* Of a NaN only that it is one counts. */
static bool same_bits(tern_tensor *a, tern_tensor *b)
{
    const char *x = tern_data(a), *y = tern_data(b);
    const tern_dtype dtype = tern_dtype_of(a);
    const size_t unit = tern__dtype_unit_bytes(dtype), bytes = tern_nbytes(a);
    for (size_t i = 0; x && y && i < bytes; i += unit) {
        double p = 0, q = 0;
        if (memcmp(x + i, y + i, unit) == 0)
            continue;
        tern__convert(dtype, x + i, 0, TERN_F64, &p, 0, 1);
        tern__convert(dtype, y + i, 0, TERN_F64, &q, 0, 1);
        if (p == p || q == q) {
            printf("element %zu: %g and %g\n", i / unit, p, q);
            return false;
        }
    }
    return x && y;
}

static void check_graph(tern_ctx *ctx, uint64_t seed, int *all)
{
    dice d = {.seed = seed};
    TERN_SCOPE(ctx) {
        tern_tensor *outputs[MOST_OUTPUTS], *want[MOST_OUTPUTS], *got[MOST_OUTPUTS];
        int epilogues, n = random_outputs(&d, ctx, outputs);
        CHECK_OK(run_at(ctx, n, outputs, TERN_LEVEL_MEDIUM, true, want, &epilogues));
        CHECK_EQ(epilogues, 0);
        CHECK_OK(run_at(ctx, n, outputs, TERN_LEVEL_MEDIUM, false, got, &epilogues));
        *all += epilogues;
        for (int i = 0; i < n; i++) {
            if (!same_bits(want[i], got[i])) {
                tern_graph *g;
                char *text = NULL;
                if (tern_graph_capture(ctx, n, outputs, NULL, &g) == TERN_OK &&
                    tern_graph_print(g, &text) == TERN_OK)
                    printf("%s", text);
                harness_fail(__FILE__, __LINE__, "graph of seed %llu, %d threads: output %d differs",
                             (unsigned long long)seed, tern_ctx_threads(ctx), i);
                return;
            }
        }
    }
}

TEST(apart_and_together_agree_bit_for_bit)
{
    int all = 0;
    for (int threads = 1; threads <= 3; threads++) {
        tern_ctx_options options = tern_ctx_options_default();
        tern_ctx *ctx;
        options.threads = threads;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        for (int i = 0; i < harness_cases(80) && !harness_failed(); i++)
            check_graph(ctx, harness_seed() + (uint64_t)(i * 3 + threads), &all);
        tern_ctx_destroy(ctx);
    }
    printf("%d graphs, %d epilogues\n", 3 * harness_cases(80), all);
    CHECK(all > harness_cases(80) * 3 / 2);
}

TEST(every_instruction_set_agrees_with_itself)
{
    static const char *const LEVELS[] = {"baseline", "sse4.2", "avx2", "avx512", "neon"};
    for (size_t k = 0; k < sizeof LEVELS / sizeof *LEVELS; k++) {
        tern_ctx_options options = tern_ctx_options_default();
        tern_ctx *ctx;
        int all = 0;
        options.threads = 2;
        options.cpu = LEVELS[k];
        CHECK_OK(tern_ctx_create(&options, &ctx));
        for (int i = 0; i < 30 && !harness_failed(); i++)
            check_graph(ctx, harness_seed() + (uint64_t)i + 7777 * (k + 1), &all);
        CHECK(all > 0);
        tern_ctx_destroy(ctx);
    }
}

/* ---- when, and what is said ---- */

static const char TEXT[] = "graph {\n"
                           "  %x = input \"x\" f32[64,128]\n"
                           "  %w = input \"w\" f32[128,96]\n"
                           "  %b = input \"b\" f32[96]\n"
                           "  %0 = matmul(%x, %w)\n"
                           "  %1 = add(%0, %b)\n"
                           "  %2 = relu(%1)\n"
                           "  return %2\n"
                           "}\n";

TEST(levels_and_names_decide)
{
    tern_ctx *ctx;
    tern_graph *g;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, TEXT, strlen(TEXT), &g));
    for (int level = TERN_LEVEL_NONE; level <= TERN_LEVEL_HIGH; level++) {
        tern_program *p;
        tern_program_info info;
        tern_compile_options options = tern_compile_options_default();
        options.level = (tern_level)level;
        CHECK_OK(tern_graph_compile(ctx, g, &options, &p));
        tern_program_get_info(p, &info);
        CHECK_EQ(info.steps, level < TERN_LEVEL_MEDIUM ? 3 : 1);
        CHECK_EQ(is_epilogue(p, 0), level >= TERN_LEVEL_MEDIUM);
        tern_program_free(p);
    }
    tern_graph_free(g);
    tern_ctx_destroy(ctx);
}

TEST(the_pass_tells_what_it_did)
{
    tern_ctx *ctx;
    tern_graph *g;
    tern_program *p;
    tern_fusion_info fusion;
    tern_pass_report report = {0};
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, TEXT, strlen(TEXT), &g));
    CHECK_OK(tern_graph_compile(ctx, g, NULL, &p));
    for (int i = 0; tern_program_pass(p, i, &report) == TERN_OK && strcmp(report.name, "epilogue") != 0;)
        i++;
    CHECK_EQ(report.changes, 1);
    CHECK_EQ(report.n_notes, 1);
    CHECK_STR(report.notes[0], "%0 hands its result to %2 tile by tile, which alone reads it: 48.0 KiB of "
                               "traffic less");
    CHECK_OK(tern_program_fusion(p, 1, &fusion));
    CHECK_STR(fusion.kind, "epilogue");
    CHECK_EQ(fusion.n_nodes, 2);
    CHECK_STR(fusion.ops[0], "matmul");
    tern_program_free(p);
    tern_graph_free(g);
    tern_ctx_destroy(ctx);
}

/* ---- regions that are none ---- */

static void check_refused(const char *body, const char *why)
{
    char text[1024];
    tern_ctx *ctx;
    tern_graph *g = NULL;
    snprintf(text, sizeof text,
             "graph {\n  %%x = input \"x\" f32[4,8]\n  %%w = input \"w\" f32[8,32]\n  %%s = input \"s\" "
             "f32[4,1]\n%s  "
             "return %%y\n}\n",
             body);
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK(tern_graph_parse(ctx, text, strlen(text), &g) != TERN_OK);
    if (!strstr(tern_last_error(), why))
        harness_fail(__FILE__, __LINE__, "not '%s' but '%s'", why, tern_last_error());
    tern_graph_free(g);
    tern_ctx_destroy(ctx);
}

TEST(regions_with_products_are_checked)
{
    check_refused(
        "  %y = fused(%x, %w) over [4,32] {\n    %a = matmul(%x, %w)\n    %b = softmax(%a) {axis=1}\n"
        "    return %b\n  }\n",
        "softmax reduces rows");
    check_refused("  %y = fused(%x, %w) over [4,32] {\n    %a = matmul(%x, %w)\n    return %a\n  }\n",
                  "not one of the whole epilogue");
    check_refused(
        "  %y = fused(%x, %w) over [4,8] {\n    %a = matmul(%x, %w)\n    %b = relu(%a)\n    return %b\n  }\n",
        "is not the domain");
    check_refused(
        "  %y = fused(%x, %w) over [4,8] {\n    %b = relu(%x)\n    %a = matmul(%b, %w)\n    return %a\n  }\n",
        "operand 1 does not broadcast");
}

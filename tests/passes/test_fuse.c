/* test_fuse.c - fused programs against the same ops one by one: not a bit may differ, whatever the shapes, types, strides
 * and threads. Golden cases of the pass are in tests/golden/passes/fuse-*; random graphs of all ops in test_equivalence.c.
 * Here are graphs made to be fused: chains and diamonds over one domain, with rows long enough for tiles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "tensor/convert.h"
#include "tensor/type.h"
#include "harness.h"

enum { MOST_VALUES = 24, MOST_OUTPUTS = 4, MOST_LEAVES = 5 };

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

static const tern_dtype DTYPES[] = {TERN_F32, TERN_F32, TERN_F32,  TERN_F16, TERN_BF16,
                                    TERN_I8,  TERN_U8,  TERN_BOOL, TERN_I32};

/* A random shape; most are small, some rows are longer than a tile. */
static int random_shape(dice *d, int64_t *shape)
{
    static const int64_t ROWS[] = {1, 2, 3, 16, 17, 64, 255, 1024, 2500, 9000};
    int rank = (int)roll(d, 6);
    for (int i = 0; i < rank; i++)
        shape[i] = 1 + roll(d, 4);
    if (rank > 0)
        shape[rank - 1] = ROWS[roll(d, rank > 3 ? 7 : 10)];
    if (rank > 0 && roll(d, 20) == 0)
        shape[roll(d, (uint32_t)rank)] = 0;
    return rank;
}

/* Numbers of all sizes, with the special ones now and then; a view with gaps or turned round every third time. */
static tern_tensor *random_leaf(dice *d, tern_ctx *ctx, int rank, const int64_t *shape)
{
    int64_t own[8], start[8], stop[8], step[8];
    tern_dtype dtype = DTYPES[roll(d, sizeof DTYPES / sizeof *DTYPES)];
    for (int i = 0; i < rank; i++) {
        own[i] = roll(d, 5) == 0 ? 1 : shape[i];
        start[i] = 0;
        stop[i] = INT64_MAX;
        step[i] = 1;
    }
    bool gaps = rank > 0 && roll(d, 3) == 0;
    int axis = gaps ? (int)roll(d, (uint32_t)rank) : 0;
    if (gaps) {
        step[axis] = roll(d, 2) ? 2 : -1;
        start[axis] = step[axis] < 0 ? -1 : 0;
        stop[axis] = step[axis] < 0 ? INT64_MIN : INT64_MAX;
        own[axis] *= step[axis] == 2 ? 2 : 1;
    }
    tern_tensor *t =
        tern_mul(tern_randn(ctx, TERN_F32, rank, own, (int64_t)roll(d, 1000)), tern_scalar(ctx, TERN_F32, 3));
    if (roll(d, 4) == 0) {
        tern_tensor *cut = tern_lt(t, tern_scalar(ctx, TERN_F32, -5));
        static const double SPECIAL[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, 3e38};
        t = tern_where(cut, tern_scalar(ctx, TERN_F32, SPECIAL[roll(d, 7)]), t);
    }
    t = tern_cast(t, dtype);
    return gaps ? tern_slice(t, rank, start, stop, step) : t;
}

static const char *const UNARY[] = {"neg",   "abs",       "sign",        "square", "relu",  "relu2",
                                    "exp",   "log",       "tanh",        "gelu",   "silu",  "sigmoid",
                                    "sqrt",  "rsqrt",     "floor",       "round",  "trunc", "reciprocal",
                                    "isnan", "isfinite",  "logical_not", "erf",    "sin",   "exp2",
                                    "log2",  "gelu_tanh", "ceil",        "cos"};
static const char *const BINARY[] = {"add",         "sub",        "mul", "div", "maximum", "minimum",
                                     "eq",          "ne",         "lt",  "le",  "gt",      "ge",
                                     "logical_and", "logical_or", "add", "mul", "sub"};
static const char *const REDUCE[] = {"sum", "mean", "max", "min", "var", "logsumexp"};
static const char *const ALONG[] = {"softmax", "log_softmax", "rmsnorm", "layernorm"};
#define PICK(d, list) (list)[roll(d, sizeof(list) / sizeof *(list))]

/* The operation reads what was made before; reductions keep the axis, so that rows and numbers per row mix. */
static int random_op(dice *d, tern_ctx *ctx, tern_tensor *const *from, uint32_t n, tern_tensor **out)
{
    tern_tensor *in[3] = {from[n - 1 - roll(d, n < 4 ? n : 4)], from[roll(d, n)], from[roll(d, n)]};
    out[1] = NULL;
    switch (roll(d, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        tern_apply(ctx, PICK(d, UNARY), "", 1, in, 1, out);
        return 1;
    case 4:
    case 5:
    case 6:
        tern_apply(ctx, PICK(d, BINARY), "", 2, in, 1, out);
        return 1;
    case 7:
        tern_apply(ctx, PICK(d, REDUCE), roll(d, 4) ? "axes=[-1] keepdims=true" : "axes=[-1]", 1, in, 1, out);
        return 1;
    case 8:
        tern_apply(ctx, PICK(d, ALONG), "", 1, in, 1, out);
        return 1;
    case 9:
        out[0] = tern_cast(in[0], DTYPES[roll(d, sizeof DTYPES / sizeof *DTYPES)]);
        return 1;
    case 10:
        tern_apply(ctx, "quantise_rows", "", 1, in, 2, out);
        return 2;
    default:
        out[0] = roll(d, 2) ? tern_where(in[0], in[1], in[2]) : tern_clamp(in[0], -1.1, 2);
        return 1;
    }
}

static bool is_error(tern_tensor *t)
{
    return tern_status_of(t) != TERN_OK;
}

/* Up to MOST_OUTPUTS outputs; fewer if chance built none. */
static int random_outputs(dice *d, tern_ctx *ctx, tern_tensor **outputs)
{
    tern_tensor *values[MOST_VALUES + 2];
    int64_t shape[8];
    int rank = random_shape(d, shape);
    uint32_t n = 0, ops = 3 + roll(d, MOST_VALUES - MOST_LEAVES - 4);
    for (uint32_t leaves = 1 + roll(d, MOST_LEAVES - 1); n < leaves;) {
        values[n] = random_leaf(d, ctx, rank, shape);
        if (tern_eval(values[n]) == TERN_OK)
            n++;
    }
    uint32_t first = n;
    for (uint32_t k = 0; k < ops && n < MOST_VALUES; k++) {
        tern_tensor *out[2];
        int results = random_op(d, ctx, values, n, out);
        for (int r = 0; r < results; r++)
            if (!is_error(out[r]))
                values[n++] = out[r];
    }
    int count = 0;
    for (uint32_t v = n; v-- > first && count < MOST_OUTPUTS;)
        if (v == n - 1 || roll(d, 4) == 0)
            outputs[count++] = values[v];
    return count;
}

/* ---- running ---- */

/* Of a NaN only that it is one counts: its sign and payload depend on the order of operands, which passes may change. */
static bool same_bits(tern_tensor *a, tern_tensor *b)
{
    const char *x = tern_data(a), *y = tern_data(b);
    tern_dtype dtype = tern_dtype_of(a);
    size_t unit = tern__dtype_unit_bytes(dtype), bytes = (size_t)tern_numel(a) * unit;
    for (size_t i = 0; x && y && i < bytes; i += unit) {
        double p = 0, q = 0;
        if (memcmp(x + i, y + i, unit) == 0)
            continue;
        tern__convert(dtype, x + i, 0, TERN_F64, &p, 0, 1);
        tern__convert(dtype, y + i, 0, TERN_F64, &q, 0, 1);
        if (p == p || q == q)
            return false;
    }
    return x && y;
}

/* Runs at a level; the caller frees the results. */
static tern_status run_at(tern_ctx *ctx, int n, tern_tensor *const *outputs, tern_level level,
                          tern_tensor **results, int *fused)
{
    tern_program *program;
    tern_exec *exec = NULL;
    tern_compile_options options = tern_compile_options_default();
    options.level = level;
    TERN_TRY(tern_compile(ctx, n, outputs, NULL, &options, &program));
    tern_status status = tern_exec_create(ctx, program, &exec);
    if (status == TERN_OK)
        status = tern_exec_run(exec, 0, NULL, n, results);
    tern_program_info info;
    tern_program_get_info(program, &info);
    *fused = 0;
    for (int i = 0; i < info.steps; i++) {
        tern_step_info step;
        if (tern_program_step(program, i, &step) == TERN_OK)
            *fused += strcmp(step.op, "fused") == 0;
    }
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

static void check_graph(tern_ctx *ctx, uint64_t seed, int *regions)
{
    dice d = {.seed = seed};
    TERN_SCOPE(ctx) {
        tern_tensor *outputs[MOST_OUTPUTS], *want[MOST_OUTPUTS], *got[MOST_OUTPUTS];
        int fused, n = random_outputs(&d, ctx, outputs);
        if (n == 0)
            return;
        CHECK_OK(run_at(ctx, n, outputs, TERN_LEVEL_NONE, want, &fused));
        CHECK_EQ(fused, 0);
        CHECK_OK(run_at(ctx, n, outputs, TERN_LEVEL_MEDIUM, got, &fused));
        *regions += fused;
        for (int i = 0; i < n; i++) {
            if (same_bits(want[i], got[i]))
                continue;
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

TEST(fused_and_unfused_agree_bit_for_bit)
{
    const char *asked = getenv("TERN_TEST_GRAPHS");
    int graphs = asked ? atoi(asked) : 600, regions = 0;
    for (int threads = 1; threads <= 3; threads++) {
        tern_ctx_options options = tern_ctx_options_default();
        tern_ctx *ctx;
        options.threads = threads;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        for (int i = 0; i < graphs / 3 && !harness_failed(); i++)
            check_graph(ctx, harness_seed() + (uint64_t)(i * 3 + threads), &regions);
        tern_ctx_destroy(ctx);
    }
    printf("%d graphs, %d regions\n", graphs, regions);
    CHECK(regions > graphs / 2);
}

/* Levels of the instruction set differ in the last bits of exp and the like, not in whether fusing matters. */
TEST(every_instruction_set_agrees_with_itself)
{
    static const char *const LEVELS[] = {"baseline", "sse4.2", "avx2", "avx512", "neon"};
    int regions = 0;
    for (size_t k = 0; k < sizeof LEVELS / sizeof *LEVELS; k++) {
        tern_ctx_options options = tern_ctx_options_default();
        tern_ctx *ctx;
        options.threads = 1;
        options.cpu = LEVELS[k];
        CHECK_OK(tern_ctx_create(&options, &ctx));
        for (int i = 0; i < 60 && !harness_failed(); i++)
            check_graph(ctx, harness_seed() + (uint64_t)i + 7777 * (k + 1), &regions);
        tern_ctx_destroy(ctx);
    }
    CHECK(regions > 0);
}

/* ---- what the pass says ---- */

TEST(the_pass_tells_what_it_did)
{
    static const char TEXT[] = "graph {\n"
                               "  %x = input \"x\" f32[64,128]\n"
                               "  %0 = exp(%x)\n"
                               "  %1 = neg(%0)\n"
                               "  %2 = sum(%1) {axes=[1], keepdims=true}\n"
                               "  return %2\n"
                               "}\n";
    tern_ctx *ctx;
    tern_graph *g;
    tern_program *p;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, TEXT, strlen(TEXT), &g));
    CHECK_OK(tern_graph_compile(ctx, g, NULL, &p));
    tern_pass_report report = {0};
    for (int i = 0; tern_program_pass(p, i, &report) == TERN_OK && strcmp(report.name, "fuse") != 0;)
        i++;
    CHECK_EQ(report.changes, 1);
    CHECK_EQ(report.n_notes, 1);
    CHECK_STR(report.notes[0],
              "fused 3 nodes (%0 exp, %1 neg, %2 sum) into a row program over [64,128]: 2 "
              "intermediates stay in the cache, "
              "128.0 KiB of traffic less; estimated speed-up 5.0x if traffic is what counts");
    tern_fusion_info fusion;
    CHECK_OK(tern_program_fusion(p, 0, &fusion));
    CHECK_STR(fusion.kind, "row program");
    CHECK_EQ(fusion.n_nodes, 3);
    CHECK_STR(fusion.ops[2], "sum");
    CHECK(fusion.estimated_speedup > 4.9 && fusion.estimated_speedup < 5.1);
    CHECK_STATUS(tern_program_fusion(p, 1, &fusion), TERN_OUT_OF_RANGE);
    tern_program_free(p);
    const char *off[] = {"fuse"};
    tern_compile_options options = tern_compile_options_default();
    options.disabled = off;
    options.n_disabled = 1;
    CHECK_OK(tern_graph_compile(ctx, g, &options, &p));
    tern_program_info info;
    tern_program_get_info(p, &info);
    CHECK_EQ(info.steps, 3);
    tern_program_free(p);
    tern_graph_free(g);
    tern_ctx_destroy(ctx);
}

/* One condition for all elements, read by two instructions: what is held between them is one number, with room for no more. */
TEST(a_condition_of_rank_0_is_read_twice)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        const int64_t shape[] = {37, 29};
        tern_tensor *w = tern_state(ctx, "w", TERN_F32, 2, shape),
                    *m = tern_state(ctx, "m", TERN_F32, 2, shape);
        tern_tensor *g = tern_input(ctx, "g", TERN_F32, 2, shape),
                    *half = tern_full(ctx, TERN_F32, 0, NULL, 0.5);
        tern_tensor *yes = tern_isfinite(tern_sum(g, 0, NULL, false));
        tern_tensor *mean = tern_add(tern_mul(m, half), tern_mul(g, half));
        tern_tensor *next[] = {tern_where(yes, tern_sub(w, mean), w), tern_where(yes, mean, m)};
        tern_tensor *out[] = {tern_overwrite(w, next[0]), tern_overwrite(m, next[1])}, *results[2];
        tern_program *program;
        tern_exec *exec;
        CHECK_OK(tern_compile(ctx, 2, out, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_tensor *ones = tern_ones(ctx, TERN_F32, 2, shape);
        CHECK_OK(tern_exec_run(exec, 1, &ones, 2, results));
        const float *p = tern_data_f32(results[0]), *q = tern_data_f32(results[1]);
        for (int i = 0; i < 37 * 29; i++)
            CHECK(p[i] == -0.5f && q[i] == 0.5f);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    tern_ctx_destroy(ctx);
}

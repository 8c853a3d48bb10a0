/* bench_fusion.c - what fusion gains, and how near to memory's speed programs of rows come: ops one by one, the same ops as one
 * row program, rows with reductions, single elementwise ops, a transpose; with one thread and with all threads.
 *
 * The limit of each is the fastest plain loop that moves the same bytes in the same proportion on as many threads (the copies of
 * measure/limits.h: plain and non-temporal stores, fetched ahead or not): f32 to f32, f32 to i8 (rmsnorm with quantisation), two
 * operands to one result (add). Limits and programs are measured in turns (measure/measure.h), and a share is the median over
 * the rounds. A share above 1.02 has no row, and the program fails when the others are written.
 *
 * `best` compares the fastest rounds instead: what the median would be on a machine that does nothing else.
 *
 * The last columns are what a program costs apart from memory (one thread, rows that lie in the second cache), to be compared
 * with the time that memory gives each thread for an element.
 *
 *     bench_fusion [--rows FILE | --json FILE] [--rounds N] [PROGRAM]...
 *
 * fused_chain_bw_share: six elementwise ops on f32 that no cache holds. fused_chain_speedup: level none's time / level medium's.
 * fused_softmax_bw_share: softmax of rows; its detail has the other rows with reductions. elementwise_bw_share: the slowest of
 * the single ops that its detail names, all of them instructions of row programs; mod, floor_div and casts to i64 are not, and stand in
 * `tern bench ops --family elementwise`. transpose_bw_share: a matrix, turned. All with all threads; the same names with _1t: one thread. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/cpu.h"
#include "base/status.h"
#include "base/threads.h"
#include "bench_json.h"
#include "measure/measure.h"

enum { COLUMNS = 1024, FEW_ROWS = 64 };

/* Whole rows, 16 M elements at least: operand and result are three times what the last cache holds, or more. */
static int64_t elements;

static int64_t elements_out_of_cache(void)
{
    int64_t n = 1 << 24;
    while (n * 8 < 3 * tern__cpu()->l3_bytes)
        n *= 2;
    return n;
}

/* ---- programs ---- */

typedef void (*build_fn)(tern_ctx *ctx, tern_tensor *x, tern_tensor *y, tern_tensor *out[2]);

static tern_tensor *number(tern_ctx *ctx, double x)
{
    return tern_scalar(ctx, TERN_F32, x);
}

static tern_tensor *chain(tern_ctx *ctx, tern_tensor *x)
{
    tern_tensor *t = tern_relu(tern_add(tern_mul(x, number(ctx, 1.5)), number(ctx, 0.25)));
    return tern_clamp(tern_mul(tern_sub(t, number(ctx, 0.5)), t), -1, 4);
}

static tern_tensor *turned(tern_tensor *x)
{
    return tern_contiguous(tern_permute(x, 2, (int64_t[]){1, 0}));
}

#define PROGRAM(name, ...)                                                                       \
    static void build_##name(tern_ctx *ctx, tern_tensor *x, tern_tensor *y, tern_tensor *out[2]) \
    {                                                                                            \
        (void)ctx, (void)y;                                                                      \
        out[0] = __VA_ARGS__;                                                                    \
    }
/* clang-format off */
PROGRAM(chain, chain(ctx, x)) PROGRAM(softmax, tern_softmax(x, -1))
PROGRAM(layernorm, tern_layernorm(x, NULL, NULL, 1e-5)) PROGRAM(transpose, turned(x))
PROGRAM(add, tern_add(x, y)) PROGRAM(scale, tern_mul(x, number(ctx, 1.5))) PROGRAM(exp, tern_exp(x))
PROGRAM(tanh, tern_tanh(x)) PROGRAM(erf, tern_erf(x)) PROGRAM(sigmoid, tern_sigmoid(x))
PROGRAM(silu, tern_silu(x)) PROGRAM(gelu, tern_gelu(x))
    /* clang-format on */

    static void build_quantise(tern_ctx *ctx, tern_tensor *x, tern_tensor *y, tern_tensor *out[2])
{
    (void)ctx, (void)y;
    tern_quantise_rows(tern_rmsnorm(x, NULL, 1e-5), &out[0], &out[1]);
}

/* What is moved for each element: a limit for each. */
typedef enum moves { F32_TO_F32, F32_TO_I8, TWO_TO_ONE, MOVES } moves;
static const struct {
    int64_t read, write; /* bytes */
} moved[MOVES] = {[F32_TO_F32] = {4, 4}, [F32_TO_I8] = {4, 1}, [TWO_TO_ONE] = {8, 4}};

static double bytes_of(moves m)
{
    return (double)(moved[m].read + moved[m].write);
}

/* clang-format off */
enum { CHAIN, CHAIN_ALONE, SOFTMAX, LAYERNORM, QUANTISE, TRANSPOSE, FIRST_EACH };
static const struct what {
    const char *name;
    build_fn build;
    tern_level level;
    moves moves;
} programs[] = {
    [CHAIN] = {"chain", build_chain, TERN_LEVEL_MEDIUM, F32_TO_F32},
    [CHAIN_ALONE] = {"chain-one-by-one", build_chain, TERN_LEVEL_NONE, F32_TO_F32},
    [SOFTMAX] = {"softmax", build_softmax, TERN_LEVEL_MEDIUM, F32_TO_F32},
    [LAYERNORM] = {"layernorm", build_layernorm, TERN_LEVEL_MEDIUM, F32_TO_F32},
    [QUANTISE] = {"rmsnorm-quantise", build_quantise, TERN_LEVEL_MEDIUM, F32_TO_I8},
    [TRANSPOSE] = {"transpose", build_transpose, TERN_LEVEL_MEDIUM, F32_TO_F32},
    [FIRST_EACH] = {"add", build_add, TERN_LEVEL_MEDIUM, TWO_TO_ONE},
    {"scale", build_scale, TERN_LEVEL_MEDIUM, F32_TO_F32}, {"exp", build_exp, TERN_LEVEL_MEDIUM, F32_TO_F32},
    {"tanh", build_tanh, TERN_LEVEL_MEDIUM, F32_TO_F32}, {"erf", build_erf, TERN_LEVEL_MEDIUM, F32_TO_F32},
    {"sigmoid", build_sigmoid, TERN_LEVEL_MEDIUM, F32_TO_F32},
    {"silu", build_silu, TERN_LEVEL_MEDIUM, F32_TO_F32}, {"gelu", build_gelu, TERN_LEVEL_MEDIUM, F32_TO_F32},
};
/* clang-format on */
enum { COUNT = TERN__COUNT(programs) };

/* ---- measuring ---- */

typedef struct options {
    int rounds;
    bool wanted[COUNT];
} options;

typedef struct candidate {
    tern_program *program;
    tern_exec *exec;
    tern_tensor *in[2];
    int n_in, n_out;
} candidate;

static tern_status run_candidate(void *user)
{
    const candidate *c = user;
    tern_tensor *out[2];
    TERN_TRY(tern_exec_run(c->exec, c->n_in, c->in, c->n_out, out));
    for (int i = 0; i < c->n_out; i++)
        tern_release(out[i]);
    return TERN_OK;
}

static tern_status prepare(tern_ctx *ctx, const struct what *what, tern_tensor *const data[2], int64_t rows,
                           candidate *c)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){rows, COLUMNS});
        tern_tensor *y = tern_input(ctx, "y", TERN_F32, 2, (int64_t[]){rows, COLUMNS});
        tern_tensor *out[2] = {NULL, NULL};
        tern_compile_options compile = tern_compile_options_default();
        compile.level = what->level;
        what->build(ctx, x, y, out);
        *c = (candidate){
            .in = {data[0], data[1]}, .n_in = what->moves == TWO_TO_ONE ? 2 : 1, .n_out = out[1] ? 2 : 1};
        TERN_TRY(tern_compile(ctx, c->n_out, out, NULL, &compile, &c->program));
    }
    return tern_exec_create(ctx, c->program, &c->exec);
}

static void discard(candidate *c)
{
    tern_exec_free(c->exec);
    tern_program_free(c->program);
}

/* The wanted programs that move this, in turns, on rows x COLUMNS elements; `limit` may be NULL. */
static tern_status measure_group(tern_ctx *ctx, const options *o, moves group, tern_tensor *const data[2],
                                 int64_t rows, tern__limit *limit, tern__measurement results[COUNT])
{
    candidate candidates[COUNT];
    tern__thing things[COUNT];
    tern__measurement m[COUNT];
    int which[COUNT], n = 0;
    tern_status status = TERN_OK;
    for (int i = 0; i < COUNT && status == TERN_OK; i++) {
        if (!o->wanted[i] || programs[i].moves != group)
            continue;
        status = prepare(ctx, &programs[i], data, rows, &candidates[n]);
        things[n] = (tern__thing){.run = run_candidate, .user = &candidates[n]};
        which[n++] = i;
    }
    if (status == TERN_OK && n > 0)
        status = tern__measure(things, n, limit, &(tern__turns){.rounds = o->rounds}, m);
    for (int k = 0; k < n && status == TERN_OK; k++) {
        results[which[k]] = m[k];
        discard(&candidates[k]);
    }
    return status;
}

static tern_status measure_all(tern__threads *threads, int workers, const options *o, int64_t rows,
                               bool limited, tern__measurement results[COUNT])
{
    tern_ctx *ctx;
    tern_ctx_options ctx_options = tern_ctx_options_default();
    ctx_options.threads = workers;
    TERN_TRY(tern_ctx_create(&ctx_options, &ctx));
    memset(results, 0, COUNT * sizeof *results);
    tern_tensor *data[2];
    tern_status status = TERN_OK;
    for (int k = 0; k < 2; k++) {
        tern_tensor *even = tern_rand(ctx, TERN_F32, 2, (int64_t[]){rows, COLUMNS}, 7 + k);
        data[k] = tern_mul(tern_sub(even, number(ctx, 0.5)), number(ctx, 8)); /* from -4 to 4 */
        status = status == TERN_OK ? tern_eval(data[k]) : status;
    }
    for (int group = 0; group < MOVES && status == TERN_OK; group++) {
        const tern__limit_work work = {.kind = TERN_LIMIT_COPY_BW,
                                       .read_bytes = moved[group].read * elements,
                                       .write_bytes = moved[group].write * elements};
        tern__limit *limit = NULL;
        if (limited)
            status = tern__limit_create(threads, workers, &work, &limit);
        if (status == TERN_OK)
            status = measure_group(ctx, o, (moves)group, data, rows, limit, results);
        tern__limit_destroy(limit);
    }
    tern_ctx_destroy(ctx);
    return status;
}

/* ---- results ---- */

static bool believable = true;

static double rate_of(const tern__measurement *m, int i)
{
    return m[i].time.n ? bytes_of(programs[i].moves) * (double)elements / m[i].time.median * 1e-9 : NAN;
}

/* NaN, which has no row, if it was not measured or cannot be. */
static double share_of(const tern__measurement *m, int i)
{
    return m[i].time.n && tern__is_believable(&m[i]) ? m[i].share.median : NAN;
}

static void show(const tern__measurement *m, const tern__measurement *cached, int workers)
{
    printf("%d thread%s, %lld f32 in rows of %d\n  %-18s %6s %6s %6s %6s   %8s %8s   ns per element, a "
           "thread's; "
           "limit\n",
           workers, workers > 1 ? "s" : "", (long long)elements, COLUMNS, "", "GB/s", "limit", "share",
           "best", "in cache", "memory");
    for (int i = 0; i < COUNT; i++) {
        if (!m[i].time.n)
            continue;
        const double limit = m[i].limit_time.median;
        printf("  %-18s %6.1f %6.1f %6.3f %6.3f   %8.3f %8.3f   %s\n", programs[i].name, rate_of(m, i),
               bytes_of(programs[i].moves) * (double)elements / limit * 1e-9, m[i].share.median,
               m[i].limit_time.min / m[i].time.min, cached[i].time.min / (FEW_ROWS * COLUMNS) * 1e9,
               limit * workers / (double)elements * 1e9, m[i].way);
        if (tern__is_believable(&m[i]))
            continue;
        fprintf(stderr,
                "bench_fusion: %s, %d threads: %.3f of its limit, so the probes of the limit are wrong\n",
                programs[i].name, workers, m[i].share.median);
        believable = false;
    }
}

/* One row, unless it was not asked for. */
static void row(bench_output *out, const char *name, bool one, double value, const char *unit,
                const char *detail)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, one ? "_1t" : "");
    if (!isnan(value))
        bench_row(out, full, value, unit, "higher", "%s", detail);
}

static void write_rows(bench_output *out, const tern__measurement *m, int workers, bool one)
{
    char detail[512], threads[64];
    snprintf(threads, sizeof threads, "%d thread%s%s; %lld M f32", workers, workers > 1 ? "s" : "",
             one ? "" : " (all of the machine)", (long long)elements >> 20);
    snprintf(detail, sizeof detail, "%s; six ops: %.1f GB/s; the best plain loop: %s", threads,
             rate_of(m, CHAIN), m[CHAIN].way);
    row(out, "fused_chain_bw_share", one, share_of(m, CHAIN), "of the best plain loop", detail);
    snprintf(detail, sizeof detail, "%s; six ops, level medium against none: %.1f and %.1f GB/s", threads,
             rate_of(m, CHAIN), rate_of(m, CHAIN_ALONE));
    row(out, "fused_chain_speedup", one, rate_of(m, CHAIN) / rate_of(m, CHAIN_ALONE), "x", detail);
    snprintf(detail, sizeof detail,
             "%s in rows of %d: %.1f GB/s; layernorm %.2f, rmsnorm + quantise_rows %.2f of loops that "
             "move the same",
             threads, COLUMNS, rate_of(m, SOFTMAX), share_of(m, LAYERNORM), share_of(m, QUANTISE));
    row(out, "fused_softmax_bw_share", one, share_of(m, SOFTMAX), "of the best plain loop", detail);
    double worst = INFINITY;
    int used = snprintf(detail, sizeof detail, "%s; the worst of", threads);
    for (int i = FIRST_EACH; i < COUNT; i++) {
        worst = bench_worse(worst, share_of(m, i));
        used += snprintf(detail + used, sizeof detail - (size_t)used, "%s %s %.2f", i > FIRST_EACH ? "," : "",
                         programs[i].name, share_of(m, i));
    }
    snprintf(detail + used, sizeof detail - (size_t)used,
             "; not of mod, floor_div and casts to i64, which are plain loops: tern bench ops has them");
    row(out, "elementwise_bw_share", one, worst, "of the best plain loop", detail);
    snprintf(detail, sizeof detail, "%s, [%lld,%d]: %.1f GB/s", threads, (long long)(elements / COLUMNS),
             COLUMNS, rate_of(m, TRANSPOSE));
    row(out, "transpose_bw_share", one, share_of(m, TRANSPOSE), "of the best plain loop", detail);
}

static tern_status run(bench_output *out, const options *o)
{
    elements = elements_out_of_cache();
    tern__threads *threads;
    tern__measurement cached[COUNT], one[COUNT], all[COUNT];
    const int most = tern__cpu()->cores_usable;
    TERN_TRY(tern__threads_create(most, &threads));
    tern_status status = measure_all(threads, 1, o, FEW_ROWS, false, cached);
    if (status == TERN_OK)
        status = measure_all(threads, 1, o, elements / COLUMNS, true, one);
    memcpy(all, one, sizeof all);
    if (status == TERN_OK && most > 1)
        status = measure_all(threads, most, o, elements / COLUMNS, true, all);
    tern__threads_destroy(threads);
    TERN_TRY(status);
    show(one, cached, 1);
    if (most > 1)
        show(all, cached, most);
    write_rows(out, all, most, false);
    write_rows(out, one, 1, true);
    return TERN_OK;
}

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){.rounds = TERN__ROUNDS};
    bool any = false;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            o->rounds = atoi(argv[++i]);
            known = o->rounds > 0 && o->rounds <= TERN__ROUNDS_MOST;
        }
        for (int k = 0; k < COUNT && !known; k++)
            if (strcmp(argv[i], programs[k].name) == 0)
                known = any = o->wanted[k] = true;
        if (!known)
            return false;
    }
    for (int k = 0; k < COUNT && !any; k++)
        o->wanted[k] = true;
    return true;
}

int main(int argc, char **argv)
{
    bench_output out;
    options o;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(&o, argc, argv)) {
        fprintf(stderr,
                "usage: bench_fusion [--rows FILE | --json FILE] [--rounds N] [PROGRAM]...\nprograms:");
        for (int k = 0; k < COUNT; k++)
            fprintf(stderr, " %s", programs[k].name);
        fprintf(stderr, "\n");
        return 2;
    }
    tern_status status = run(&out, &o);
    if (status != TERN_OK)
        fprintf(stderr, "bench_fusion: %s\n", tern_last_error());
    return bench_close(&out) && believable && status == TERN_OK ? 0 : 1;
}

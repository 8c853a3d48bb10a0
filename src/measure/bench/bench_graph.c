/* bench_graph.c - the suites `graph` and `compile`: small graphs of several operations at every level, run and compiled. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/ops.h>
#include <tern/program.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "measure/bench/bench.h"
#include "measure/bench/bench_data.h"

enum { OPERANDS = 5, LEVELS = TERN_LEVEL_HIGH - TERN_LEVEL_NONE + 1 };

/* Rounding of sums in another order, and of int8 activations that lie between two numbers. */
static const double error_most = 1e-3;

/* ---- the graphs ---- */

static tern_tensor *mlp(tern_tensor **v)
{
    tern_tensor *h = tern_relu(tern_add(tern_matmul(v[0], v[1], false, false), v[2]));
    return tern_softmax(tern_add(tern_matmul(h, v[3], false, false), v[4]), 1);
}

static tern_tensor *feed_forward(tern_tensor **v)
{
    tern_tensor *n = tern_rmsnorm(v[0], v[1], 1e-5);
    return tern_add(v[0], tern_linear(tern_mul(tern_silu(tern_linear(n, v[2])), tern_linear(n, v[3])), v[4]));
}

static tern_tensor *bitlinear(tern_tensor **v)
{
    tern_tensor *q, *scale;
    tern_quantise_rows(tern_rmsnorm(v[0], v[1], 1e-5), &q, &scale);
    return tern_div(tern_cast(tern_ternary_matmul(q, v[2], NULL), TERN_F32), scale);
}

static tern_tensor *elementwise(tern_tensor **v)
{
    tern_tensor *x = tern_add(tern_mul(v[0], v[1]), v[2]);
    return tern_mul(tern_sigmoid(x), tern_tanh(tern_sub(tern_relu(x), v[1])));
}

static tern_tensor *normalise(tern_tensor **v)
{
    tern_tensor *x = tern_add(v[0], v[1]);
    return tern_softmax(tern_rmsnorm(x, v[2], 1e-5), 1);
}

#define IN(dtype, a, b)         \
    {                           \
        false, TERN_##dtype, 2, \
        {                       \
            a, b                \
        }                       \
    }
#define WEIGHT(dtype, a, b)    \
    {                          \
        true, TERN_##dtype, 2, \
        {                      \
            a, b               \
        }                      \
    }
#define VECTOR(n)          \
    {                      \
        true, TERN_F32, 1, \
        {                  \
            n, 0           \
        }                  \
    }

typedef struct small_graph {
    const char *name;
    tern_tensor *(*build)(tern_tensor **v);
    int n;
    struct {
        bool weight; /* a constant; else it is bound when it runs */
        tern_dtype dtype;
        int rank;
        int64_t shape[2];
    } operands[OPERANDS];
} small_graph;

/* clang-format off */
static const small_graph graphs[] = {
    {"mlp", mlp, 5, {IN(F32, 32, 784), WEIGHT(F32, 784, 256), VECTOR(256), WEIGHT(F32, 256, 10), VECTOR(10)}},
    {"feed forward", feed_forward, 5, {IN(F32, 8, 256), VECTOR(256), WEIGHT(F32, 704, 256), WEIGHT(F32, 704, 256), WEIGHT(F32, 256, 704)}},
    {"bitlinear", bitlinear, 3, {IN(F32, 8, 2560), VECTOR(2560), WEIGHT(T2, 640, 2560)}},
    {"elementwise", elementwise, 3, {IN(F32, 64, 4096), IN(F32, 64, 4096), IN(F32, 64, 4096)}},
    {"normalise", normalise, 3, {IN(F32, 64, 1024), IN(F32, 64, 1024), VECTOR(1024)}},
};
/* clang-format on */

/* ---- a graph with its data ---- */

typedef struct state {
    tern_ctx *ctx;  /* it runs in this one, ... */
    tern_ctx *home; /* ... and data and reference are made in this one, on the CPU; often the same */
    const small_graph *graph;
    tern_compile_options options;
    tern_tensor *made[OPERANDS]; /* in `home`, kept */
    tern_tensor *data[OPERANDS]; /* in `ctx`; those that were made, or copies, kept */
    tern_tensor *output;         /* recorded, kept */
    tern_tensor *expected;       /* what the reference kernels compute, kept; NULL until it is asked for */
    tern_tensor *inputs[OPERANDS];
    int n_inputs;
    tern_program *program;
    tern_exec *exec;
} state;

static tern_level level_of(int i)
{
    return (tern_level)(TERN_LEVEL_NONE + i % LEVELS);
}

static tern_status describe(const tern__bench *bench, int i, tern__cell *cell)
{
    (void)bench;
    TERN__FAIL_IF(i < 0 || i >= (int)TERN__COUNT(graphs) * LEVELS, TERN_OUT_OF_RANGE,
                  "bench: there is no case %d", i);
    const small_graph *g = &graphs[i / LEVELS];
    size_t used = 0;
    cell->row.family = g->name;
    cell->row.name = tern_level_name(level_of(i));
    for (int k = 0; k < g->n && used < sizeof cell->shape; k++) {
        const long long a = g->operands[k].shape[0], b = g->operands[k].shape[1];
        const char *dtype = tern_dtype_name(g->operands[k].dtype), *blank = k ? " " : "";
        const size_t room = sizeof cell->shape - used;
        used += (size_t)(g->operands[k].rank == 1
                             ? snprintf(cell->shape + used, room, "%s%s[%lld]", blank, dtype, a)
                             : snprintf(cell->shape + used, room, "%s%s[%lld,%lld]", blank, dtype, a, b));
    }
    return TERN_OK;
}

/* Numbers of the size that trained weights have. */
static tern_status make_operand(state *s, int k)
{
    const small_graph *g = s->graph;
    TERN_SCOPE(s->home) {
        tern_tensor *t = tern_randn(s->home, TERN_F32, g->operands[k].rank, g->operands[k].shape, 77 + k),
                    *unused;
        if (g->operands[k].dtype == TERN_T2)
            tern_ternary_quantise(t, NULL, TERN_T2, &t, &unused);
        else if (g->operands[k].weight && g->operands[k].rank == 2)
            t = tern_mul(t, tern_scalar(s->home, TERN_F32, 0.05));
        TERN_TRY(tern_eval(t));
        s->made[k] = tern_keep(t);
    }
    if (g->operands[k].weight)
        TERN_TRY(tern_freeze(s->made[k]));
    if (s->ctx == s->home)
        s->data[k] = tern_keep(s->made[k]);
    else
        TERN_TRY(tern__data_carry(s->ctx, s->made[k], &s->data[k]));
    return g->operands[k].weight ? tern_freeze(s->data[k]) : TERN_OK;
}

static tern_status record(state *s)
{
    const small_graph *g = s->graph;
    TERN_SCOPE(s->ctx) {
        tern_tensor *v[OPERANDS];
        for (int k = 0; k < g->n; k++) {
            char name[16];
            snprintf(name, sizeof name, "x%d", k);
            v[k] = g->operands[k].weight
                       ? s->data[k]
                       : tern_input(s->ctx, name, TERN_F32, g->operands[k].rank, g->operands[k].shape);
            if (!g->operands[k].weight)
                s->inputs[s->n_inputs++] = s->data[k];
        }
        s->output = tern_keep(g->build(v));
    }
    TERN__FAIL_IF(tern_status_of(s->output) != TERN_OK, tern_status_of(s->output), "%s",
                  tern_message_of(s->output));
    return TERN_OK;
}

static tern_status prepare(int i, tern__cell *cell)
{
    state *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    cell->state = s;
    s->ctx = cell->bench->device_ctx;
    s->home = cell->bench->ctx;
    s->graph = &graphs[i / LEVELS];
    s->options = tern_compile_options_default();
    s->options.level = level_of(i);
    for (int k = 0; k < s->graph->n; k++)
        TERN_TRY(make_operand(s, k));
    return record(s);
}

static void drop(state *s)
{
    tern_exec_free(s->exec);
    tern_program_free(s->program);
    s->exec = NULL;
    s->program = NULL;
}

static tern_status compile(state *s)
{
    drop(s);
    TERN_TRY(tern_compile(s->ctx, 1, &s->output, NULL, &s->options, &s->program));
    return tern_exec_create(s->ctx, s->program, &s->exec);
}

static tern_status run_graph(void *user)
{
    state *s = user;
    tern_tensor *out;
    TERN_TRY(tern_exec_run(s->exec, s->n_inputs, s->inputs, 1, &out));
    tern_release(out);
    return TERN_OK;
}

static tern_status run_graph_anew(void *user)
{
    state anew = *(state *)user;
    TERN_TRY(tern_exec_create(anew.ctx, anew.program, &anew.exec));
    tern_status status = run_graph(&anew);
    tern_exec_free(anew.exec);
    return status;
}

static void see_nothing(void *user, const char *pass, int changes, const tern_graph *graph)
{
    (void)user, (void)pass, (void)changes, (void)graph;
}

/* Whoever is watched compiles anew: the program is not taken from the context's cache. */
static tern_status run_compile(void *user)
{
    state *s = user;
    tern_program *program;
    tern_compile_options options = s->options;
    options.observe = see_nothing;
    TERN_TRY(tern_compile(s->ctx, 1, &s->output, NULL, &options, &program));
    tern_program_free(program);
    return TERN_OK;
}

/* What level none computes with the reference kernels, which take their time. */
static tern_status expect(state *s)
{
    state reference = {.ctx = s->home, .graph = s->graph, .options = tern_compile_options_default()};
    if (s->expected)
        return TERN_OK;
    memcpy(reference.data, s->made, sizeof reference.data);
    reference.options.level = TERN_LEVEL_NONE;
    reference.options.cpu = "baseline";
    tern_status status = record(&reference);
    if (status == TERN_OK)
        status = compile(&reference);
    TERN_SCOPE(s->home) {
        tern_tensor *out;
        if (status == TERN_OK)
            status = tern_exec_run(reference.exec, reference.n_inputs, reference.inputs, 1, &out);
        if (status == TERN_OK)
            s->expected = tern_keep(out);
    }
    drop(&reference);
    tern_release(reference.output);
    return status;
}

static tern_status check(state *s, tern_tensor *got, double *error)
{
    TERN_TRY(expect(s));
    tern_tensor *want = s->expected;
    const float *x = tern_data_f32(got), *y = tern_data_f32(want);
    double squares = 0, size = 0;
    for (int64_t i = 0; x && y && i < tern_numel(want); i++) {
        squares += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        size += (double)y[i] * (double)y[i];
    }
    *error = size > 0 ? sqrt(squares / size) : 0;
    TERN__FAIL_IF(!x || !y || !(sqrt(squares) <= error_most * sqrt(size)), TERN_INTERNAL,
                  "bench: %s differs from its reference (squares of errors %g of %g)", s->graph->name,
                  squares, size);
    return TERN_OK;
}

static tern_status ready(tern__cell *cell, int threads)
{
    state *s = cell->state;
    tern_tensor *out;
    s->options.threads = threads;
    TERN_TRY(compile(s));
    tern__row_find_kernel(s->program, &cell->row);
    TERN_SCOPE(s->ctx) {
        TERN_TRY(tern_exec_run(s->exec, s->n_inputs, s->inputs, 1, &out));
        TERN_TRY(check(s, out, &cell->row.accuracy_error));
    }
    const uint64_t start = tern__now_ns();
    TERN_TRY(cell->bench->suite->run(s));
    cell->first_s = (double)(tern__now_ns() - start) * 1e-9;
    return TERN_OK;
}

static tern_status ready_graph(tern__cell *cell, int threads)
{
    TERN_TRY(ready(cell, threads));
    tern_program_info info;
    tern_program_get_info(((state *)cell->state)->program, &info);
    cell->operations = (double)info.flops;
    return TERN_OK;
}

/* The graph is checked all the same: what it computes is not what is measured. */
static tern_status ready_compile(tern__cell *cell, int threads)
{
    TERN_TRY(ready(cell, threads));
    cell->row.accuracy_error = NAN;
    return TERN_OK;
}

static void close_graph(tern__cell *cell)
{
    state *s = cell->state;
    if (!s)
        return;
    drop(s);
    tern_release(s->output);
    tern_release(s->expected);
    for (int k = 0; k < OPERANDS; k++) {
        tern_release(s->data[k]);
        tern_release(s->made[k]);
    }
    tern__free(s);
}

const tern__suite tern__suite_graph = {
    .name = "graph",
    .what = "small graphs of several operations, compiled at every level",
    .no_limit = "the operations of a graph have different limits",
    .describe = describe,
    .prepare = prepare,
    .ready = ready_graph,
    .run = run_graph,
    .run_anew = run_graph_anew,
    .close = close_graph,
};

const tern__suite tern__suite_compile = {
    .name = "compile",
    .what = "how long it takes to compile those graphs",
    .no_limit = "compiling has no limit that is measured",
    .cpu_only = "kernels of other devices are built when a program first runs there, and kept: tern_compile "
                "builds none",
    .describe = describe,
    .prepare = prepare,
    .ready = ready_compile,
    .run = run_compile,
    .close = close_graph,
};

/* machine.c - the machine as the library's own kernels see it, for estimates: four small programs, timed in turns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/catalog.h>
#include <tern/ops.h>
#include <tern/program.h>

#include "base/status.h"
#include "measure/measure.h"

enum {
    MEMORY_ELEMENTS = 4 << 20, /* f32 each of three arrays: 48 MiB, far beyond private caches */
    CACHE_ELEMENTS = 16 << 10, /* 192 KiB */
    CHAIN = 32,                /* steps of small probes, so that what a run costs besides does not count */
    ROWS = 96,                 /* of the square matrices */
    TRIES = 5,
    MOST_ROUNDS = 6,
};

/* A program of two inputs of the same shape. */
typedef struct probe {
    tern_ctx *ctx;
    tern_program *program;
    tern_exec *exec;
    tern_tensor *inputs[2];
    tern_program_info info;
} probe;

enum { STEP, CACHE, MEMORY, PRODUCT, PROBES };

/* ---- programs ---- */

static tern_status run_probe(void *user)
{
    probe *p = user;
    tern_tensor *out;
    tern_scope_open(p->ctx); /* so that the next run finds the memory of this one's output */
    tern_status status = tern_exec_run(p->exec, 2, p->inputs, 1, &out);
    tern_scope_close(p->ctx);
    return status;
}

static tern_status compile_text(tern_ctx *ctx, const char *text, tern_program **out)
{
    /* As recorded: every addition is a step. */
    tern_compile_options options = tern_compile_options_default();
    tern_graph *graph;
    options.level = TERN_LEVEL_NONE;
    TERN_TRY(tern_graph_parse(ctx, text, strlen(text), &graph));
    tern_status status = tern_graph_compile(ctx, graph, &options, out);
    tern_graph_free(graph);
    return status;
}

static tern_status open_probe(const char *text, int rank, const int64_t *shape, probe *p)
{
    TERN_TRY(compile_text(p->ctx, text, &p->program));
    tern_program_get_info(p->program, &p->info);
    TERN_TRY(tern_exec_create(p->ctx, p->program, &p->exec));
    for (int i = 0; i < 2; i++)
        p->inputs[i] = tern_zeros(p->ctx, TERN_F32, rank, shape);
    return tern_eval_all(2, p->inputs);
}

/* A chain of additions of n numbers: x = x + y, again and again, each a step of its own. */
static tern_status open_chain(int n, int steps, probe *p)
{
    char text[256 + CHAIN * 40];
    size_t used = (size_t)snprintf(
        text, sizeof text, "graph {\n  %%x0 = input \"x\" f32[%d]\n  %%y = input \"y\" f32[%d]\n", n, n);
    for (int i = 1; i <= steps; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  %%x%d = add(%%x%d, %%y)\n", i, i - 1);
    snprintf(text + used, sizeof text - used, "  return %%x%d\n}\n", steps);
    return open_probe(text, 1, (int64_t[]){n}, p);
}

static tern_status open_product(probe *p)
{
    char text[160];
    snprintf(text, sizeof text,
             "graph {\n  %%a = input \"a\" f32[%d,%d]\n  %%b = input \"b\" f32[%d,%d]\n"
             "  %%c = matmul(%%a, %%b)\n  return %%c\n}\n",
             ROWS, ROWS, ROWS, ROWS);
    return open_probe(text, 2, (int64_t[]){ROWS, ROWS}, p);
}

static tern_status open_all(tern_ctx *ctx, probe probes[PROBES])
{
    for (int i = 0; i < PROBES; i++)
        probes[i] = (probe){.ctx = ctx};
    TERN_TRY(open_chain(1, CHAIN, &probes[STEP]));
    TERN_TRY(open_chain(CACHE_ELEMENTS, CHAIN, &probes[CACHE]));
    TERN_TRY(open_chain(MEMORY_ELEMENTS, 1, &probes[MEMORY]));
    return open_product(&probes[PRODUCT]);
}

static void close_all(probe probes[PROBES])
{
    for (int i = 0; i < PROBES; i++) {
        tern_exec_free(probes[i].exec);
        tern_program_free(probes[i].program);
    }
}

/* ---- rates ---- */

/* A second's worth of `amount`; what the program's steps cost by being there does not count. */
static double rate_of(const probe *p, uint64_t amount, double ns, double step_ns)
{
    double rest = ns - step_ns * p->info.steps;
    ns = rest > ns / 2 ? rest : ns / 2;
    return ns > 0 ? (double)amount / ns * 1e9 : 0;
}

static tern_status measure(probe probes[PROBES], tern_machine *m)
{
    tern__thing things[PROBES];
    tern__measurement found[PROBES];
    double ns[PROBES];
    for (int i = 0; i < PROBES; i++)
        things[i] = (tern__thing){.run = run_probe, .user = &probes[i]};
    TERN_TRY(tern__measure(things, PROBES, NULL, &(tern__turns){.rounds = TRIES}, found));
    for (int i = 0; i < PROBES; i++)
        ns[i] = found[i].time.min * 1e9;
    m->step_ns = ns[STEP] / CHAIN;
    m->cache_bytes_per_s = rate_of(&probes[CACHE], probes[CACHE].info.bytes, ns[CACHE], m->step_ns);
    m->memory_bytes_per_s = rate_of(&probes[MEMORY], probes[MEMORY].info.bytes, ns[MEMORY], m->step_ns);
    m->flops_per_s = rate_of(&probes[PRODUCT], probes[PRODUCT].info.flops, ns[PRODUCT], m->step_ns);
    return TERN_OK;
}

/* Other work only slows things down, so the best of two measurements is nearer to the truth. */
static void keep_best(tern_machine *best, const tern_machine *m)
{
    best->memory_bytes_per_s = fmax(best->memory_bytes_per_s, m->memory_bytes_per_s);
    best->cache_bytes_per_s = fmax(best->cache_bytes_per_s, m->cache_bytes_per_s);
    best->flops_per_s = fmax(best->flops_per_s, m->flops_per_s);
    best->step_ns = fmin(best->step_ns, m->step_ns);
}

/* Two measurements within a third of each other. */
static bool alike(double a, double b)
{
    return fmin(a, b) * 4 >= fmax(a, b) * 3;
}

/* A cache that is slower than memory was measured while something else ran. */
static bool agree(const tern_machine *a, const tern_machine *b)
{
    return alike(a->memory_bytes_per_s, b->memory_bytes_per_s) &&
           alike(a->cache_bytes_per_s, b->cache_bytes_per_s) && alike(a->flops_per_s, b->flops_per_s) &&
           fmax(a->cache_bytes_per_s, b->cache_bytes_per_s) >=
               fmax(a->memory_bytes_per_s, b->memory_bytes_per_s);
}

static tern_status measure_until_sure(probe probes[PROBES], tern_machine *best)
{
    TERN_TRY(measure(probes, best));
    best->busy = true;
    for (int round = 1; round < MOST_ROUNDS && best->busy; round++) {
        tern_machine m = {0};
        TERN_TRY(measure(probes, &m));
        best->busy = !agree(best, &m);
        keep_best(best, &m);
    }
    return TERN_OK;
}

static uint64_t cache_of(const char *name)
{
    tern_device_info device;
    for (int i = 0; tern_catalog_device(i, &device) == TERN_OK; i++)
        if (strcmp(device.name, name) == 0 && device.l2_bytes > 0)
            return (uint64_t)device.l2_bytes;
    return 0;
}

tern_status tern_machine_measure(tern_ctx *ctx, tern_machine *out)
{
    TERN__FAIL_IF(!ctx || !out, TERN_INVALID_ARGUMENT, "machine_measure: an argument is NULL");
    tern_machine m = {0};
    probe probes[PROBES];
    tern_scope_open(ctx);
    tern_status status = open_all(ctx, probes);
    if (status == TERN_OK)
        m.cache_bytes = cache_of(tern_device_of(probes[STEP].inputs[0]));
    if (status == TERN_OK)
        status = measure_until_sure(probes, &m);
    tern_scope_close(ctx);
    close_all(probes);
    if (status == TERN_OK)
        *out = m;
    return status;
}

double tern_machine_estimate_ns(const tern_machine *machine, uint64_t flops, uint64_t bytes)
{
    if (!machine)
        return 0;
    bool cached = bytes <= machine->cache_bytes && machine->cache_bytes_per_s > 0;
    double rate = cached ? machine->cache_bytes_per_s : machine->memory_bytes_per_s;
    double moving = rate > 0 ? (double)bytes / rate * 1e9 : 0;
    double computing = machine->flops_per_s > 0 ? (double)flops / machine->flops_per_s * 1e9 : 0;
    return machine->step_ns + (moving > computing ? moving : computing);
}

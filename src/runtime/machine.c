/* machine.c - the machine as the library's own kernels see it, for estimates. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tern/analysis.h>
#include <tern/catalog.h>
#include <tern/program.h>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/context.h"

enum {
    MEMORY_ELEMENTS = 4 << 20, /* f32 each of three arrays: 48 MiB, far beyond private caches */
    CACHE_ELEMENTS = 16 << 10, /* 192 KiB */
    CHAIN = 32,                /* steps of small probes, so that what a run costs besides does not count */
    ROWS = 96,                 /* of the square matrices */
    TRIES = 5,
    MOST_ROUNDS = 6,
};

/* A chain of additions of n numbers: x = x + y, again and again, each a step of its own. */
static void write_chain(char *text, size_t room, int n, int steps)
{
    size_t used = (size_t)snprintf(
        text, room, "graph {\n  %%x0 = input \"x\" f32[%d]\n  %%y = input \"y\" f32[%d]\n", n, n);
    for (int i = 1; i <= steps && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "  %%x%d = add(%%x%d, %%y)\n", i, i - 1);
    if (used < room)
        snprintf(text + used, room - used, "  return %%x%d\n}\n", steps);
}

/* The best time of a program of two inputs of the same shape. */
static tern_status time_program(tern_ctx *ctx, const tern_program *program, tern_tensor *const *inputs,
                                uint64_t *best_ns)
{
    tern_exec *exec;
    TERN_TRY(tern_exec_create(ctx, program, &exec));
    tern_status status = TERN_OK;
    *best_ns = UINT64_MAX;
    for (int i = 0; i < TRIES && status == TERN_OK; i++) {
        tern_tensor *out;
        tern_scope_open(ctx); /* so that the next run finds the memory of this one's output */
        uint64_t start = tern__now_ns();
        status = tern_exec_run(exec, 2, inputs, 1, &out);
        uint64_t ns = tern__now_ns() - start;
        tern_scope_close(ctx);
        *best_ns = ns < *best_ns ? ns : *best_ns;
    }
    tern_exec_free(exec);
    return status;
}

static tern_status time_text(tern_ctx *ctx, const char *text, int rank, const int64_t *shape,
                             uint64_t *best_ns, tern_program_info *info)
{
    /* As recorded: every addition is a step. */
    tern_compile_options options = tern_compile_options_default();
    tern_graph *graph;
    tern_program *program;
    options.level = TERN_LEVEL_NONE;
    TERN_TRY(tern_graph_parse(ctx, text, strlen(text), &graph));
    tern_status status = tern_graph_compile(ctx, graph, &options, &program);
    tern_graph_free(graph);
    TERN_TRY(status);
    tern_scope_open(ctx);
    tern_tensor *inputs[2] = {tern_zeros(ctx, TERN_F32, rank, shape), tern_zeros(ctx, TERN_F32, rank, shape)};
    status = tern_eval_all(2, inputs);
    if (status == TERN_OK)
        status = time_program(ctx, program, inputs, best_ns);
    tern_scope_close(ctx);
    tern_program_get_info(program, info);
    tern_program_free(program);
    return status;
}

static tern_status time_chain(tern_ctx *ctx, int n, int steps, uint64_t *best_ns, tern_program_info *info)
{
    char text[256 + CHAIN * 40];
    write_chain(text, sizeof text, n, steps);
    return time_text(ctx, text, 1, (int64_t[]){n}, best_ns, info);
}

static double per_second(uint64_t amount, double ns)
{
    return ns > 0 ? (double)amount / ns * 1e9 : 0;
}

/* Time beyond what the steps cost by being there. */
static double beyond(uint64_t ns, double step_ns, int steps)
{
    double rest = (double)ns - step_ns * steps;
    return rest > (double)ns / 2 ? rest : (double)ns / 2;
}

static tern_status measure(tern_ctx *ctx, tern_machine *m)
{
    char text[160];
    uint64_t ns;
    tern_program_info info;
    TERN_TRY(time_chain(ctx, 1, CHAIN, &ns, &info));
    m->step_ns = (double)ns / CHAIN;
    TERN_TRY(time_chain(ctx, CACHE_ELEMENTS, CHAIN, &ns, &info));
    m->cache_bytes_per_s = per_second(info.bytes, beyond(ns, m->step_ns, CHAIN));
    TERN_TRY(time_chain(ctx, MEMORY_ELEMENTS, 1, &ns, &info));
    m->memory_bytes_per_s = per_second(info.bytes, beyond(ns, m->step_ns, 1));
    snprintf(
        text, sizeof text,
        "graph {\n  %%a = input \"a\" f32[%d,%d]\n  %%b = input \"b\" f32[%d,%d]\n  %%c = matmul(%%a, %%b)\n"
        "  return %%c\n}\n",
        ROWS, ROWS, ROWS, ROWS);
    TERN_TRY(time_text(ctx, text, 2, (int64_t[]){ROWS, ROWS}, &ns, &info));
    m->flops_per_s = per_second(info.flops, beyond(ns, m->step_ns, 1));
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

static tern_status measure_until_sure(tern_ctx *ctx, tern_machine *best)
{
    TERN_TRY(measure(ctx, best));
    best->busy = true;
    for (int round = 1; round < MOST_ROUNDS && best->busy; round++) {
        tern_machine m = {0};
        TERN_TRY(measure(ctx, &m));
        best->busy = !agree(best, &m);
        keep_best(best, &m);
    }
    return TERN_OK;
}

tern_status tern_machine_measure(tern_ctx *ctx, tern_machine *out)
{
    TERN__FAIL_IF(!ctx || !out, TERN_INVALID_ARGUMENT, "machine_measure: an argument is NULL");
    tern_machine m = {0};
    tern_device_info device;
    for (int i = 0; tern_catalog_device(i, &device) == TERN_OK; i++)
        if (strcmp(device.name, ctx->device_ops->name) == 0)
            m.cache_bytes = device.l2_bytes > 0 ? (uint64_t)device.l2_bytes : 0;
    TERN_TRY(measure_until_sure(ctx, &m));
    *out = m;
    return TERN_OK;
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

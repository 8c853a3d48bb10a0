/* test_on_devices.c - random graphs on every device. Once each step is checked against the CPU, within the bound of its op
 * (tern_ctx_options.check): none may be wrong. Once they run as users run them, whole partitions at a time: then the same bits come out
 * as when each step was a partition of its own, so nothing depends on how a device joins, delays or overlaps steps. What cannot run
 * gives the CPU's status.
 *
 * TERN_TEST_GRAPHS=n asks for more graphs, TERN_TEST_SEED for others. Without infinities among the data: products that pass f32's range
 * depend on the order of sums. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "devices/device.h"
#include "harness.h"
#include "random_graph.h"
#include "runtime/program.h"

enum { MOST = 256, RUNS = 2 };

typedef struct outcome {
    tern_status status;
    char message[512];
    uint32_t n;
    void *data[MOST];
    size_t bytes[MOST];
    tern_dtype dtypes[MOST];
    tern_ctx_stats stats;
    char wrong[512]; /* what the log said of a check */
} outcome;

static void listen(void *user, tern_log_level level, const char *message)
{
    outcome *o = user;
    (void)level;
    if (strstr(message, ": check of ") && !o->wrong[0])
        snprintf(o->wrong, sizeof o->wrong, "%s", message);
}

static tern_status make_inputs(tern_ctx *ctx, const tern_program *p, uint64_t seed, tern_tensor **inputs)
{
    random_state r = {seed};
    const tern_graph *g = &p->compiled->source;
    for (int i = 0; i < p->n_inputs; i++) {
        const tern__type *type = &g->values[g->nodes[g->leaves[p->inputs[i]].node].out].type;
        void *data = malloc(tern__type_bytes(type) + 1);
        if (!data)
            return TERN_OUT_OF_MEMORY;
        random_fill(&r, type, false, data);
        inputs[i] = tern_from_data(ctx, type->dtype, type->rank, type->shape, data);
        free(data);
    }
    return TERN_OK;
}

static tern_status keep(outcome *o, tern_tensor *const *outputs)
{
    for (uint32_t i = 0; i < o->n; i++) {
        o->bytes[i] = tern_nbytes(outputs[i]);
        o->dtypes[i] = tern_dtype_of(outputs[i]);
        o->data[i] = malloc(o->bytes[i] + 1);
        if (!o->data[i])
            return TERN_OUT_OF_MEMORY;
        TERN_TRY(tern_read(outputs[i], o->data[i], o->bytes[i]));
    }
    return TERN_OK;
}

static tern_status run_in(tern_ctx *ctx, const tern_graph *graph, uint64_t seed, outcome *o)
{
    tern_program *p = NULL;
    tern_exec *exec = NULL;
    tern_tensor *inputs[64], *outputs[MOST];
    tern_status status = tern_graph_compile(ctx, graph, NULL, &p);
    if (status == TERN_OK)
        status = tern_exec_create(ctx, p, &exec);
    if (status == TERN_OK && (p->n_inputs > 64 || p->compiled->plan.n_results > MOST))
        status = TERN_LIMIT;
    TERN_SCOPE(ctx) {
        if (status == TERN_OK)
            status = make_inputs(ctx, p, seed, inputs);
        for (int run = 0; run < RUNS && status == TERN_OK; run++) { /* states go on */
            o->n = p->compiled->plan.n_results;
            status = tern_exec_run(exec, p->n_inputs, inputs, (int)o->n, outputs);
        }
        snprintf(o->message, sizeof o->message, "%s", status == TERN_OK ? "" : tern_last_error());
        if (status == TERN_OK)
            status = keep(o, outputs);
    }
    tern_exec_free(exec);
    tern_program_free(p);
    return status;
}

static void run(const char *device, bool check, const tern_graph *graph, uint64_t seed, outcome *o)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.fallback = true; /* of ops that it has not */
    options.check = check;
    options.threads = 1;
    options.tuning = "off";
    *o = (outcome){0};
    tern_log_set(TERN_LOG_WARN, listen, o);
    o->status = tern_ctx_create(&options, &ctx);
    if (o->status == TERN_OK)
        o->status = run_in(ctx, graph, seed, o);
    tern_ctx_get_stats(ctx, &o->stats);
    tern_ctx_destroy(ctx);
    tern_log_set(TERN_LOG_WARN, NULL, NULL);
}

/* Of a NaN only that it is one counts. */
static bool same(const outcome *a, const outcome *b, uint32_t i)
{
    if (a->bytes[i] != b->bytes[i])
        return false;
    for (size_t at = 0; a->dtypes[i] == TERN_F32 && at < a->bytes[i]; at += sizeof(float)) {
        float x, y;
        memcpy(&x, (const char *)a->data[i] + at, sizeof x);
        memcpy(&y, (const char *)b->data[i] + at, sizeof y);
        if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)))
            return false;
    }
    return a->dtypes[i] == TERN_F32 || memcmp(a->data[i], b->data[i], a->bytes[i]) == 0;
}

static void judge(const char *device, uint64_t seed, const outcome *plain, const outcome *checked,
                  const outcome *cpu)
{
    if (checked->stats.check_failures > 0 || plain->stats.device_failures > 0)
        harness_fail(__FILE__, __LINE__, "graph %" PRIu64 " on %s: %d failures of it: %s", seed, device,
                     (int)(checked->stats.device_failures + plain->stats.device_failures), checked->wrong);
    else if (plain->status != cpu->status || checked->status != cpu->status)
        harness_fail(__FILE__, __LINE__, "graph %" PRIu64 " on %s: '%s', checked '%s', on the CPU '%s'", seed,
                     device, plain->message, checked->message, cpu->message);
    for (uint32_t i = 0; plain->status == TERN_OK && checked->status == TERN_OK && i < plain->n; i++)
        if (!same(plain, checked, i))
            harness_fail(__FILE__, __LINE__,
                         "graph %" PRIu64 " on %s: output %" PRIu32 " depends on partitions", seed, device,
                         i);
}

static void free_data(outcome *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        free(o->data[i]);
}

static uint64_t number_of(const char *name, uint64_t usual)
{
    const char *said = getenv(name);
    return said ? strtoull(said, NULL, 0) : usual;
}

static void check_device(const char *device, uint64_t usual)
{
    const tern__device_ops *ops = NULL;
    tern_device_info info = {0};
    const uint64_t seed = number_of("TERN_TEST_SEED", 1000), n = number_of("TERN_TEST_GRAPHS", usual);
    uint64_t steps = 0;
    CHECK_OK(tern__device_find(device, &ops));
    ops->describe((tern__isa_cap){.level = TERN__ISA_BASELINE}, &info);
    if (info.unavailable)
        SKIP(info.unavailable);
    for (uint64_t i = 0; i < n && !harness_failed(); i++) {
        random_graph_options options = random_graph_options_default();
        tern_graph *graph = NULL;
        static outcome plain, checked, cpu;
        options.special = false;
        options.large = i % 20 == 7;
        CHECK_OK(random_graph_make(seed + i, &options, &graph));
        run(device, false, graph, seed + i, &plain);
        run(device, true, graph, seed + i, &checked);
        run("cpu", false, graph, seed + i, &cpu);
        judge(device, seed + i, &plain, &checked, &cpu);
        steps += plain.stats.device_steps;
        free_data(&plain);
        free_data(&checked);
        free_data(&cpu);
        tern_graph_free(graph);
    }
    printf("%s: %" PRIu64 " graphs, %" PRIu64 " steps\n", device, n, steps);
    CHECK(n == 0 || steps > 0);
}

TEST(random_graphs_on_opencl)
{
    check_device("opencl", 3); /* every other step has a kernel to be built */
}

TEST(random_graphs_on_mlx)
{
    check_device("mlx", 150);
}

/* bench_runtime.c - what the runtime itself costs: tiny operations through the public API, and the trace ring.
 *
 * small_ops_per_s: chains of 64 additions of 8-element f32 tensors, recorded and evaluated, one thread.
 * trace_off_overhead_pct: cost of a disabled event x events of one such evaluation / its time (bench_event.h). */
#include <stdint.h>
#include <stdlib.h>

#include <tern/tern.h>

#include "bench_event.h"
#include "measure/timing.h"

enum { CHAIN = 64, ROUNDS = 41, CHAINS_PER_ROUND = 300 };

typedef struct chain {
    tern_ctx *ctx;
    tern_tensor *x;
} chain;

static tern_status run_chain(void *user)
{
    const chain *c = user;
    TERN_SCOPE(c->ctx) {
        tern_tensor *t = c->x;
        for (int i = 0; i < CHAIN; i++)
            t = tern_add(t, c->x);
        const float *out = tern_data_f32(t);
        return out && out[0] == CHAIN + 1 ? TERN_OK : TERN_INTERNAL;
    }
    return TERN_INTERNAL;
}

/* Nanoseconds per operation: the median of the rounds, and the least. */
static tern_status small_ops(chain *c, double *ns_per_op, double *best)
{
    const tern__thing thing = {.run = run_chain, .user = c, .repeats = CHAINS_PER_ROUND};
    double rounds[ROUNDS];
    *best = INFINITY;
    for (int r = 0; r < ROUNDS; r++) {
        TERN_TRY(tern__thing_time(&thing, &rounds[r]));
        rounds[r] *= 1e9 / CHAIN;
        *best = fmin(*best, rounds[r]);
    }
    *ns_per_op = bench_median(rounds, ROUNDS);
    return TERN_OK;
}

static void count_event(void *user, const tern_trace_event *event)
{
    (void)event;
    ++*(int *)user;
}

/* Events of one chain, and what recording them costs, by running with the trace on. */
static tern_status trace_on(chain *c, int *events, double *ns_per_op)
{
    double ignored;
    TERN_TRY(tern_trace_start(NULL));
    tern_status status = run_chain(c);
    *events = 0;
    TERN_TRY(tern_trace_stop(count_event, events, NULL));
    TERN_TRY(status);
    TERN_TRY(tern_trace_start(NULL));
    status = small_ops(c, ns_per_op, &ignored);
    TERN_TRY(tern_trace_stop(NULL, NULL, NULL));
    return status;
}

static tern_status measure(bench_output *out)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    tern_ctx *ctx;
    TERN_TRY(tern_ctx_create(&options, &ctx));
    tern_tensor *x = tern_ones(ctx, TERN_F32, 1, (int64_t[]){8});
    double off, best, on;
    int events;
    chain c = {ctx, x};
    tern_status status = tern_eval(x);
    if (status == TERN_OK)
        status = small_ops(&c, &off, &best);
    if (status == TERN_OK)
        status = trace_on(&c, &events, &on);
    tern_ctx_destroy(ctx);
    TERN_TRY(status);

    bench_event_cost event = bench_event_off();
    const char *at_most = event.bounded ? "at most " : "";
    printf("small ops: %.0f ns each (best round %.0f), chains of %d on f32[8], 1 thread\n", off, best, CHAIN);
    printf("trace: a disabled event costs %s%.3f ns; %d events per chain; with the trace on an op takes %.0f "
           "ns\n",
           at_most, event.ns, events, on);
    bench_row(out, "small_ops_per_s", 1e9 / off, "ops/s", "higher",
              "record + evaluate, chains of %d f32[8] additions, 1 thread, median of %d rounds; best round "
              "%.0f ns/op",
              CHAIN, ROUNDS, best);
    bench_row(out, "trace_off_overhead_pct", 100 * event.ns * events / (off * CHAIN), "%", "lower",
              "%sdisabled event %s%.3f ns x %d events / %.0f ns for a chain of %d; trace on: %.0f instead of "
              "%.0f ns/op",
              event.bounded ? "an upper bound, the cost is below what can be told: " : "", at_most, event.ns,
              events, off * CHAIN, CHAIN, on, off);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    tern_status status = measure(&out);
    if (status != TERN_OK)
        fprintf(stderr, "bench_runtime: %s\n", tern_last_error());
    return bench_close(&out) && status == TERN_OK ? 0 : 1;
}

/* bench_memory.c - what the memory tracker costs: a step of a decoder (one token), and an allocation by itself.
 *
 * memory_on_overhead_pct     time of a step while memory is tracked / time of one that is not - 1; samples in turns (off on, on
 *                            off, ...), the median of the ratios of neighbours
 * memory_off_overhead_pct    cost of a question whether somebody listens x events of a step / time of a step
 * memory_event_ns            an allocation and a free of 64 bytes while they are tracked, less the same while they are not; by two
 *
 * A negative overhead is noise: the machine's own, which the detail tells. */
#include <tern/tern.h>

#include "base/alloc.h"
#include "bench_decoder.h"
#include "bench_json.h"

enum { WARMUPS = 12, STEPS = 6, PAIRS = 61 };

/* The first step of a session is told apart: its programs are described then, and pages of the log are touched. */
static tern_status decode_tracked(decoder *d, double *ns, double *first, double *events)
{
    tern_memory *memory;
    tern_memory_info info;
    TERN_TRY(tern_memory_start(NULL));
    tern_status status = decode(d, 1, first);
    if (status == TERN_OK)
        status = decode(d, STEPS, ns);
    TERN_TRY(tern_memory_stop(&memory));
    tern_memory_get_info(memory, &info);
    tern_memory_free(memory);
    *events = (double)info.events / (STEPS + 1);
    return info.lost ? TERN_STATE : status;
}

static tern_status allocate_once(void *user)
{
    void *block = tern__alloc(64);
    (void)user;
    __asm__ volatile("" : "+r"(block) : : "memory");
    tern__free(block);
    return TERN_OK;
}

/* Questions whether somebody listens; nobody does. A loop of its own: a call for each would take longer than the question. */
enum { QUESTIONS = 1 << 20 };

static tern_status ask_often(void *user)
{
    (void)user;
    for (int i = 0; i < QUESTIONS; i++)
        __asm__ volatile("" : : "r"(tern__watch_on()) : "memory");
    return TERN_OK;
}

/* Nanoseconds of one of `n` runs. */
static double time_ns(tern_status (*run)(void *), int64_t n)
{
    double seconds = NAN;
    return tern__thing_time(&(tern__thing){run, NULL, n}, &seconds) == TERN_OK ? seconds * 1e9 : NAN;
}

static tern_status event_cost(double *ns, double *untracked)
{
    enum { N = 20000, ROUNDS = 15 };
    double difference[ROUNDS], off[ROUNDS];
    time_ns(allocate_once, N);
    for (int r = 0; r < ROUNDS; r++) {
        tern_memory *memory;
        off[r] = time_ns(allocate_once, N);
        TERN_TRY(tern_memory_start(NULL));
        time_ns(allocate_once, N); /* pages of the log that nobody has touched */
        const double on = time_ns(allocate_once, N);
        TERN_TRY(tern_memory_stop(&memory));
        tern_memory_free(memory);
        difference[r] = (on - off[r]) / 2;
    }
    *ns = bench_median(difference, ROUNDS);
    *untracked = bench_median(off, ROUNDS);
    return TERN_OK;
}

static tern_status measure(decoder *d, bench_output *out)
{
    double off[PAIRS], on[PAIRS], first[PAIRS], ratio[PAIRS], spread[PAIRS], asks[31], events = 0, ignored,
                                                                                       event_ns, untracked;
    TERN_TRY(decode(d, WARMUPS, &ignored));
    for (int i = 0; i < PAIRS; i++) {
        if (i % 2)
            TERN_TRY(decode_tracked(d, &on[i], &first[i], &events));
        TERN_TRY(decode(d, STEPS, &off[i]));
        if (i % 2 == 0)
            TERN_TRY(decode_tracked(d, &on[i], &first[i], &events));
        ratio[i] = on[i] / off[i];
    }
    const double step = bench_median(off, PAIRS), cost = bench_median(ratio, PAIRS) - 1;
    for (int i = 0; i < PAIRS; i++)
        spread[i] = fabs(ratio[i] - 1 - cost);
    for (int i = 0; i < 31; i++)
        asks[i] = time_ns(ask_often, 1) / QUESTIONS;
    TERN_TRY(event_cost(&event_ns, &untracked));
    const double ask_ns = bench_median(asks, 31);
    bench_row(
        out, "memory_on_overhead_pct", 100 * cost, "%", "lower",
        "a step of %.0f us with %.0f events; median of %d pairs of %d steps, their median distance from it "
        "%.2f %%; the first step of a session takes %.0f us more",
        step * 1e-3, events, PAIRS, STEPS, 100 * bench_median(spread, PAIRS),
        (bench_median(first, PAIRS) - step) * 1e-3);
    bench_row(
        out, "memory_off_overhead_pct", 100 * ask_ns * events / step, "%", "lower",
        "a question whether somebody listens, with the loop around it, %.3f ns x %.0f events / %.0f us for a "
        "step",
        ask_ns, events, step * 1e-3);
    bench_row(
        out, "memory_event_ns", event_ns, "ns", "lower",
        "an allocation and a free of 64 bytes take %.0f ns untracked, and two events more while tracked",
        untracked);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    return decoder_main("bench_memory", argc, argv, measure);
}

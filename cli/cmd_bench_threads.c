/* cmd_bench_threads.c - `tern bench threads`: what several threads cost besides the work. */
#include <math.h>
#include <stdio.h>

#include <tern/measure.h>

#include "commands.h"
#include "json.h"
#include "term.h"

#define LOST "lost in noise"

static int run(const args *a)
{
    int threads;
    tern_threads_cost cost;
    if (!args_int(a, "threads", 1, 64, 0, &threads))
        return EXIT_USAGE;
    if (tern_bench_threads(threads, &cost) != TERN_OK)
        return fail_status(NULL);
    if (args_has(a, "json")) {
        json j = {0};
        json_object(&j, NULL);
        json_int(&j, "threads", cost.threads);
        json_double(&j, "region_us", cost.region_us);
        json_double(&j, "wakeup_us", cost.wakeup_us);
        json_double(&j, "barrier_us", cost.barrier_us);
        if (isnan(cost.barrier_us))
            json_string(&j, "barrier_unavailable", LOST);
        json_end(&j);
        json_print(&j);
        return EXIT_DONE;
    }
    char awake[TERN_UNIT_TEXT], slept[TERN_UNIT_TEXT];
    printf("%d threads\n"
           "  to start and end a run while they are awake  %s\n"
           "  the same after a pause                       %s\n"
           "  to meet between two steps                    ",
           cost.threads, tern_time_text(cost.region_us * 1e3, awake, sizeof awake),
           tern_time_text(cost.wakeup_us * 1e3, slept, sizeof slept));
    if (isnan(cost.barrier_us))
        puts("unavailable: " LOST);
    else
        puts(tern_time_text(cost.barrier_us * 1e3, awake, sizeof awake));
    return EXIT_DONE;
}

static const option options[] = {
    {"threads", 0, "N", NULL, "measure N threads (default: as many as the machine allows)"},
    {"json", 0, NULL, NULL, "print JSON: an object"},
    {0},
};

const command cmd_bench_threads = {
    .name = "threads",
    .operands = "",
    .summary = "Measure what it costs to compute with several threads.",
    .options = options,
    .examples = "tern bench threads\n"
                "tern bench threads --threads 2 --json",
    .run = run,
};

/* cmd_bench_suites.c - `tern bench graph`, `alloc`, `compile` and `transfer`: suites that need nothing but the common options. */
#include "bench_suite.h"
#include "commands.h"

static const option options[] = {
    BENCH_MEASURE_OPTIONS,
    BENCH_OUTPUT_OPTIONS,
    {0},
};

#define SUITE(suite, line, more, example)             \
    static int run_##suite(const args *a)             \
    {                                                 \
        return bench_run_suite(a, #suite);            \
    }                                                 \
    const command cmd_bench_##suite = {               \
        .name = #suite,                               \
        .operands = "",                               \
        .summary = line,                              \
        .details = more,                              \
        .options = options,                           \
        .examples = "tern bench " #suite " " example, \
        .run = run_##suite,                           \
    };

SUITE(graph, "Time small graphs of several operations, compiled at every level.",
      "Results are compared with those of level none and the reference kernels before anything is timed.",
      "--family mlp --threads 1 --budget 0.1")
SUITE(alloc, "Time blocks of memory that are asked for and given back.",
      "From the library's pool, the heap and the system, by every thread at once. Blocks are written and "
      "read back before anything is "
      "timed.",
      "--family pool --budget 0.1")
SUITE(compile, "Time how long it takes to compile graphs, at every level.",
      "The graphs are those of `tern bench graph`; what was compiled is run and compared with the reference "
      "before anything is timed.",
      "--family mlp --threads 1 --budget 0.1")
SUITE(transfer, "Time bytes that go into tensors, out of them, and from one layout to another.",
      "As shares of copy_bw. Every number is checked to have arrived before anything is timed.",
      "--family layout --threads 1 --memory 16 --budget 0.1")

/* cmd_bench.c - `tern bench`: the verbs that measure. */
#include "commands.h"

static const command *const verbs[] = {BENCH_VERBS(VERB_ROW) NULL};

const command cmd_bench = {
    .name = "bench",
    .operands = "",
    .summary = "Measure how fast this machine runs things, and what share of its limits that is.",
    .verbs = verbs,
    .elsewhere = "model",
    .instead = "did you mean 'tern bench model -m FILE'?",
    .examples = "tern bench model -m model.gguf\n"
                "tern bench ops --family ternary\n"
                "tern help bench ops",
};

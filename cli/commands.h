/* commands.h - the verbs of the program, in files cmd_*.c and help.c: X(name) stands for `cmd_name` there. */
#ifndef TERN_CLI_COMMANDS_H
#define TERN_CLI_COMMANDS_H

#include "args.h"

/* Of `tern`, in the order in which help lists them. */
#define PROGRAM_VERBS(X) \
    X(demo)              \
    X(run)               \
    X(chat)              \
    X(train)             \
    X(perplexity)        \
    X(tokenize)          \
    X(graph)             \
    X(tune)              \
    X(bench)             \
    X(compare)           \
    X(profile)           \
    X(memory)            \
    X(baseline)          \
    X(regress)           \
    X(monitor)           \
    X(report)            \
    X(inspect)           \
    X(convert)           \
    X(synth)             \
    X(list)              \
    X(devices)           \
    X(version)           \
    X(completion)        \
    X(help)

/* Of `tern graph`. */
#define GRAPH_VERBS(X) \
    X(graph_run)       \
    X(graph_compile)   \
    X(graph_print)     \
    X(graph_check)

/* Of `tern bench`. */
#define BENCH_VERBS(X) \
    X(bench_model)     \
    X(bench_ops)       \
    X(bench_graph)     \
    X(bench_alloc)     \
    X(bench_compile)   \
    X(bench_transfer)  \
    X(bench_threads)

#define VERB_DECLARATION(name) extern const command cmd_##name;
PROGRAM_VERBS(VERB_DECLARATION)
GRAPH_VERBS(VERB_DECLARATION)
BENCH_VERBS(VERB_DECLARATION)
#undef VERB_DECLARATION

/* For arrays: static const command *const verbs[] = {PROGRAM_VERBS(VERB_ROW) NULL}; */
#define VERB_ROW(name) &cmd_##name,

#endif

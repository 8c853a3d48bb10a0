/* commands.h - the verbs of the program, in files cmd_*.c and help.c. tern.c, cmd_graph.c and cmd_bench.c list them. */
#ifndef TERN_CLI_COMMANDS_H
#define TERN_CLI_COMMANDS_H

#include "args.h"

extern const command cmd_completion, cmd_demo, cmd_devices, cmd_graph, cmd_help, cmd_inspect, cmd_list,
    cmd_run, cmd_version;
extern const command cmd_graph_check, cmd_graph_compile, cmd_graph_print, cmd_graph_run;
extern const command cmd_chat, cmd_convert, cmd_perplexity, cmd_synth, cmd_tokenize, cmd_train, cmd_tune;
extern const command cmd_baseline, cmd_monitor, cmd_regress, cmd_report;
extern const command cmd_bench, cmd_compare, cmd_memory, cmd_profile, cmd_bench_model, cmd_bench_ops,
    cmd_bench_graph, cmd_bench_alloc, cmd_bench_compile, cmd_bench_transfer, cmd_bench_threads;

#endif

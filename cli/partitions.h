/* partitions.h - where a plan's steps run: predicted and measured times of its partitions. Of plans that the CPU runs alone, and for
 * which nothing was predicted, nothing is said. */
#ifndef TERN_CLI_PARTITIONS_H
#define TERN_CLI_PARTITIONS_H

#include <tern/program.h>

#include "json.h"

/* A few runs in which partitions are timed and steps are not: those that are wait for each other. */
tern_status partitions_measure(tern_program *program, tern_exec *exec, int n_in, tern_tensor *const *inputs,
                               int n_out);
/* `exec` NULL: nothing was measured. The least of the runs is shown. */
void partitions_print(const tern_program *program, const tern_exec *exec);
void partitions_json_add(json *j, const tern_program *program, const tern_exec *exec);

/* What was predicted for all that a context on device `auto` ran, and what it took; nothing on others. */
void placement_add(text *t, const tern_ctx *ctx);
void placement_json_add(json *j, const tern_ctx *ctx);

/* What the CPU compared of another device's steps; for whoever asked for it. */
void checked_add(text *t, const tern_ctx *ctx);
void checked_json_add(json *j, const tern_ctx *ctx);

#endif

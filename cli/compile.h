/* compile.h - from FILE to a program, for those verbs that compile: their common options and what they come to. */
#ifndef TERN_CLI_COMPILE_H
#define TERN_CLI_COMPILE_H

#include <stdbool.h>

#include <tern/measure.h>

#include "args.h"
#include "device.h"
#include "json.h"
#include "run.h"

#define COMPILE_NAME(id, number, name, meaning) name " "

/* Rows of the option table of every verb that compiles. */
/* clang-format off */
#define COMPILE_OPTIONS \
    {"level", 0, "LEVEL", TERN_LEVEL_LIST(COMPILE_NAME), "how hard the compiler tries, by default medium"}, \
    {"disable", 0, "PASS", NULL, "leave out a pass, by the names of `tern list passes`; several with commas, or repeated"}, \
    {"goal", 0, "GOAL", TERN_GOAL_LIST(COMPILE_NAME), "what counts, by default latency; for throughput a run uses one thread"}, \
    {"memory-limit", 0, "BYTES", NULL, "fail before running if intermediates need more, such as 64M"}, \
    {"constant", 0, "NAME=FILE", NULL, "make an input or unbound constant a constant with these data, so that it can be folded and packed; may be repeated"}, \
    {"batch", 0, "RANGE", NULL, "compile for every batch of 1..64 (first axis of all inputs) or x,y=1..64 (of these)"}, \
    {"precision", 0, "PRECISION", TERN_PRECISION_LIST(COMPILE_NAME), "how intermediates are stored, by default exact: as recorded"}, \
    {"library", 0, "NAME", NULL, "compute f32 products with onednn, openblas or accelerate, whose results depend on it (default: with Tern's own)"}, \
    DEVICE_OPTIONS, \
    {"threads", 0, "N", NULL, "compute with N threads (default: as many as the machine allows)"}, \
    {"cpu", 0, "LEVEL", NULL, "use no instruction set above LEVEL, such as avx2 or avx2,-avxvnni (default: $TERN_CPU, else the best)"}

/* Of those that run or explain what was tuned. */
#define NO_TUNE_OPTION \
    {"no-tune", 0, NULL, NULL, "choose without measured times, and remember none (see `tern tune`)"}

/* Of those that estimate times. */
#define ESTIMATE_OPTIONS \
    {"bandwidth", 0, "GB/S", NULL, "estimate with this memory bandwidth, not a measured one"}, \
    {"peak", 0, "GFLOP/S", NULL, "estimate with this rate of arithmetic, not a measured one"}
/* clang-format on */

/* Makes r->ctx, reads r->path and compiles it as the options say; everything but r->exec and the tensors is filled.
 * `observe` (or NULL) sees every pass. Returns an exit code; a failure was said. */
int compile_open(const args *a, graph_run *r, tern_pass_observer observe, void *user);
/* The first part of it: r->ctx alone. */
int compile_open_context(const args *a, graph_run *r);
/* Puts the program for one size of its range of batches in the place of r->program. Returns an exit code likewise. */
int compile_for_batch(graph_run *r, int64_t batch);
void compile_close(graph_run *r); /* and all that belongs to the run */

/* The rates that estimates are made with, and where they come from. */
typedef struct machine_rates {
    tern_machine machine;
    bool bandwidth_given, peak_given;
} machine_rates;

/* Given ones, and the rest measured now. Returns an exit code; a failure was said. */
int rates_find(const args *a, tern_ctx *ctx, machine_rates *out);
/* "estimates: ..." on one or two lines. */
void rates_print(const machine_rates *r, int threads);

/* ---- explain.c ---- */

/* The report on compiling: passes, fusions, memory, steps with estimates, and measured times where r->step_ns has them.
 * `higher` is the same graph at level high, for what was left undone, or NULL. */
void explain_print(const graph_run *r, const machine_rates *rates, const tern_program *higher);

/* ---- compile_json.c ---- */

/* Why a pass did not run when the graph was compiled at `level`: "runs from level high on". */
void pass_add_reason(text *t, tern_level level, const char *name);

/* Members about compiling at `level`: passes, fusions, order. */
void compile_json_add(json *j, const tern_program *program, tern_level level);
/* Members about its memory and work, and the time that compiling took. */
void info_json_add(json *j, const tern_program_info *info);
/* The fusions of a program, as an array of that name. */
void fusions_json_add(json *j, const char *key, const tern_program *program);
/* Members `plan` and `buffers`; `rates` NULL: without estimates. `step_ns` NULL: nothing was measured. */
void plan_json_add(json *j, const tern_program *program, const uint64_t *step_ns, const machine_rates *rates);
/* What explain_print tells, as an object; `rates` NULL: without estimates, `higher` NULL: without what was left undone. */
void compile_json_add_run(json *j, const graph_run *r, const machine_rates *rates,
                          const tern_program *higher);
void compile_json_print(const graph_run *r, const machine_rates *rates, const tern_program *higher);

#endif

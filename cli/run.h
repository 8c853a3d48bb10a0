/* run.h - one run of a graph, as the reports see it: what was recorded, compiled and computed. */
#ifndef TERN_CLI_RUN_H
#define TERN_CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/program.h>

#include "text.h"

typedef struct graph_run {
    const char *path;
    tern_ctx *ctx;
    tern_graph *graph;
    struct bindings *given; /* arrays for inputs, among them perhaps for constants; or NULL */
    bool makes_up;          /* what is not given is made up */
    char *disabled;         /* names of passes, one string after the other; or NULL */
    tern_program *program;
    tern_exec *exec;
    struct metrics_file *metrics; /* or NULL */
    int n_inputs, n_outputs;
    tern_tensor **inputs, **outputs;
    tern_graph_info graph_info;
    tern_program_info info;
    tern_level level;
    tern_precision precision;
    /* of the inputs that have the batch, one string after the other; NULL: all, or no range */
    char *batch_names;
    int runs;            /* how often it ran */
    uint64_t run_ns;     /* of the first run, measured from call to return */
    int warm;            /* runs that count: all but the first, or that one if there is no other */
    uint64_t *run_times; /* (warm) of those, in ascending order */
    uint64_t median_ns;  /* of those: the time of one of them, the lower middle of an even number */
    /* One run, so that its parts add up: that of the median time, or the nearest whose steps were kept. */
    uint64_t shown_ns;
    uint64_t *step_ns;  /* (info.steps) of it; NULL unless steps were timed */
    const char **saved; /* (n_outputs) where each was written, or NULL */
    text remarks;       /* the comment behind the graph */
} graph_run;

/* The three acts, for people: story.c. TERN_OK, or what reading an output gave. */
tern_status story_print(const graph_run *r);

/* A picture of memory over time, with or without a line that says how much it is: picture.c. */
void picture_print(const graph_run *r, bool summary);

/* "49 warm runs: median 1.2 ms, least 1.1 ms; the first run took 13.5 ms". */
void run_add_times(text *t, const graph_run *r);

/* The outputs alone: name, type, statistics, first values. */
tern_status outputs_print(const graph_run *r);

/* All of it as data: run_json.c. `rates` NULL: without estimates. */
struct machine_rates;
tern_status run_json_print(const graph_run *r, const struct machine_rates *rates);

/* A heading over the width of the terminal. */
void heading_print(const char *title, const char *summary);

/* ---- plan.c: the steps as a table ---- */

/* Measured and estimated times of steps, as far as there are any. */
typedef struct step_times {
    const uint64_t *measured; /* (steps) ns, or NULL */
    const double *estimated;  /* (steps) ns, or NULL */
} step_times;

void plan_print(const graph_run *r, step_times times);
/* What a step computes, "add + relu"; what is beyond the width is counted: "add + 7 more". */
void plan_add_ops(text *t, int n, const char *const *ops, int width);

#endif

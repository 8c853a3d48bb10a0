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
    tern_program *program;
    tern_exec *exec;
    int n_inputs, n_outputs;
    tern_tensor **inputs, **outputs;
    tern_graph_info graph_info;
    tern_program_info info;
    uint64_t run_ns;    /* measured, from call to return */
    uint64_t *step_ns;  /* (info.steps) measured, NULL unless the run was traced */
    const char **saved; /* (n_outputs) where each was written, or NULL */
    text remarks;       /* the comment behind the graph */
} graph_run;

/* The three acts, for people: story.c. TERN_OK, or what reading an output gave. */
tern_status story_print(const graph_run *r);

/* Act two's picture of memory: picture.c. */
void picture_print(const graph_run *r);

/* The outputs alone: name, type, statistics, first values. */
tern_status outputs_print(const graph_run *r);

/* All of it as data: run_json.c. */
tern_status run_json_print(const graph_run *r);

/* Where the intermediates are and how long they live: buffers.c. */
typedef struct buffer {
    char name[64]; /* of the value it was made for */
    size_t offset, bytes;
    int first, last; /* steps that touch it */
} buffer;

/* In order of offset, then of time. Free with free(). */
buffer *buffers_find(const tern_program *program, int *count);

/* Do they have bytes in common? Then they are never alive at the same time. */
bool buffers_share(const buffer *a, const buffer *b);

#endif

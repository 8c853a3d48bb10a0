/* bindings.h - NAME=FILE options: which array goes into which input, which output goes into which file. */
#ifndef TERN_CLI_BINDINGS_H
#define TERN_CLI_BINDINGS_H

#include <stdbool.h>

#include "args.h"
#include "run.h"

typedef struct binding {
    char *name; /* of the input or output */
    char *file;
    bool used;
    bool spread; /* one of many in an archive that was given as a whole: nobody has to want it */
} binding;

typedef struct bindings {
    binding *items;
    int n;
} bindings;

/* Reads all --`kind` NAME=FILE; --input FILE.npz stands for all the arrays in it, except those that are named besides. false: one is malformed or a name is there twice, and that was said. */
bool bindings_parse(const args *a, const char *kind, bindings *out);
void bindings_free(bindings *b);

/* Does the array that was loaded have the type of the input? If not, that was said. */
bool bindings_check_type(const tern_port *want, const binding *b, const tern_tensor *t);

/* Makes constants of the leaves of a graph without data that are named, with the arrays for them: all names, each of which
 * must be one, or (`all` false) those that are constants anyway. Failures were said. */
bool bindings_bind(bindings *b, bool all, tern_ctx *ctx, tern_graph *graph);

/* Makes constants of the graph's constants that have no data, with data that are made up, so that they are folded and packed
 * like others. Failures were said. */
bool bindings_make_up(tern_ctx *ctx, tern_graph *graph);

/* Data that are made up: random for floats; zeros otherwise, which are valid as indices, positions and ternary digits.
 * Evaluated; a failure was said. */
bool make_up(tern_ctx *ctx, const tern_port *port, int number, tern_tensor **out);

/* Loads what r->program needs into r->inputs; if r->makes_up, what is not given is made up. Missing, superfluous and ill-typed arrays are errors that were said. */
bool bindings_load(bindings *b, graph_run *r);

/* Are all the names outputs of r->program? */
bool bindings_check_outputs(bindings *b, const graph_run *r);

/* Writes r->outputs to their files and notes them in r->saved. Outputs with the same .npz file share it. */
bool bindings_save(const bindings *b, graph_run *r);

#endif

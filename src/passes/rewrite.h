/* rewrite.h - how a pass changes the graph: it walks the nodes in order and builds the next graph beside the old one,
 * copying what stays and putting something else in the place of what does not.
 *
 *     tern__rewrite w;
 *     TERN_TRY(tern__rewrite_begin(c, &w));
 *     for (tern__id n = 0; n < w.from->n_nodes; n++)
 *         if (...) tern__rewrite_replace(&w, w.from->nodes[n].out, something);      // no node: readers see `something`
 *         else TERN_TRY(tern__rewrite_copy(&w, n));
 *     return tern__rewrite_end(&w);                                                // c->graph is the new graph
 *
 * Value ids of the old graph are `old`, of the new one `new`; map[old] leads from one to the other. A pass that finds
 * nothing to do should not begin: a rewrite costs a copy of the graph. */
#ifndef TERN_PASSES_REWRITE_H
#define TERN_PASSES_REWRITE_H

#include "passes/pass.h"

typedef struct tern__rewrite {
    tern__compilation *c;
    const tern_graph *from;
    tern_graph *to;
    tern__id *map;              /* (from->n_values) new value, or TERN__NO_ID while there is none */
} tern__rewrite;

tern_status tern__rewrite_begin(tern__compilation *c, tern__rewrite *w);

/* Copies node `n` with its operands mapped; its results are mapped to the copies. Leaves keep their storage. */
tern_status tern__rewrite_copy(tern__rewrite *w, tern__id n);

/* Readers of `old` will read `new_value`. */
void tern__rewrite_replace(tern__rewrite *w, tern__id old, tern__id new_value);

/* A node that was not there: types are inferred, `in` are new ids. *first receives the first result. */
tern_status tern__rewrite_emit(tern__rewrite *w, tern__opcode op, uint32_t n_in, const tern__id *in,
                               const tern__attr *attrs, tern__id *first);

/* A new constant; takes a reference of the storage. */
tern_status tern__rewrite_emit_constant(tern__rewrite *w, const char *name, const tern__type *type,
                                        tern__storage *storage, const tern__layout *layout, tern__id *result);

/* Copies the outputs and makes the new graph the compilation's. */
tern_status tern__rewrite_end(tern__rewrite *w);

/* ---- facts about the old graph that several passes want (arena of the compilation) ---- */

/* How often each value is read; being an output counts. */
tern_status tern__count_uses(tern__compilation *c, const tern_graph *g, uint32_t **out);

/* The constant behind a value that is one, with data; else NULL. */
const tern__leaf *tern__constant_of(const tern_graph *g, tern__id value);

/* Is `value` a constant, or `full`, whose elements all equal the same number? Then that number. */
bool tern__is_uniform(const tern_graph *g, tern__id value, double *out);

#endif

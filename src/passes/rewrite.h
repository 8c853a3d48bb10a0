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

#include "graph/text.h"
#include "passes/pass.h"

typedef struct tern__rewrite {
    tern__compilation *c;
    const tern_graph *from;
    tern_graph *to;
    tern__id *map;        /* (from->n_values) new value, or TERN__NO_ID while there is none */
    const uint8_t *holds; /* (from->n_values) tern__find_holds, or NULL: nobody asked */
    uint8_t *held;        /* (cap_held) the same of new values, kept up to date when there are holds */
    uint32_t cap_held;
    /* of nodes that are emitted: the pass puts that of the node here which they are made for */
    const char *origin;
} tern__rewrite;

/* The new graph takes over the old one's arena: until the end the old graph must not grow. */
tern_status tern__rewrite_begin(tern__compilation *c, tern__rewrite *w);

/* Copies node `n` with its operands mapped; its results are mapped to the copies. Leaves keep their storage. */
tern_status tern__rewrite_copy(tern__rewrite *w, tern__id n);

/* Readers of `old` will read `new_value`. */
void tern__rewrite_replace(tern__rewrite *w, tern__id old, tern__id new_value);

/* A node that was not there: types are inferred, `in` are new ids. *first receives the first result. */
tern_status tern__rewrite_emit(tern__rewrite *w, tern__opcode op, uint32_t n_in, const tern__id *in,
                               const tern__attr *attrs, tern__id *first);

/* Puts another call in the place of node `n`, which has one result: its name, origin and holds pass on. The type must be
 * what it was. */
tern_status tern__rewrite_become(tern__rewrite *w, tern__id n, tern__opcode op, uint32_t n_in,
                                 const tern__id *in, const tern__attr *attrs);

/* A new constant; takes a reference of the storage. */
tern_status tern__rewrite_emit_constant(tern__rewrite *w, const char *name, const tern__type *type,
                                        tern__storage *storage, const tern__layout *layout, tern__id *result);

/* Copies the outputs and makes the new graph the compilation's. */
tern_status tern__rewrite_end(tern__rewrite *w);

/* Removes what neither outputs nor writes need, and says how many nodes went. Inputs and states stay, and so do
 * constants without data: they are what a caller binds. Notes one line per kind of op with `note`. */
tern_status tern__remove_dead(tern__compilation *c, bool note, uint32_t *removed);

/* ---- what may take whose place ----
 *
 * Outputs must not share memory that they did not share as recorded: whoever writes into one later would change the
 * other. And what copies a state that is overwritten later must go on being a copy. So values are held: */
enum {
    TERN__HELD_OUTPUT = 1,  /* an output of the graph lies in the value's buffer                */
    TERN__HELD_WRITTEN = 2, /* some node overwrites (part of) the buffer that the value lies in */
    TERN__HELD_TARGET = 4,  /* it is operand 0 of a node that overwrites it                     */
};

/* Holds of every value of the graph. */
tern_status tern__find_holds(tern__compilation *c, const tern_graph *g, uint8_t **out);

/* Begins, and keeps track of holds on both sides. */
tern_status tern__rewrite_begin_held(tern__compilation *c, tern__rewrite *w);

/* May readers of `old`, which has a buffer of its own, read `new_value` instead? An output may move into the buffer of an
 * intermediate that holds none yet: then that one is held from now on. */
bool tern__rewrite_may_share(tern__rewrite *w, tern__id old, tern__id new_value);

/* ---- facts about the old graph that several passes want (arena of the compilation) ---- */

/* How often each value is read; being an output counts. */
tern_status tern__count_uses(tern__compilation *c, const tern_graph *g, uint32_t **out);

/* The constant behind a value that is one, with data; else NULL. */
const tern__leaf *tern__constant_of(const tern_graph *g, tern__id value);

enum {
    TERN__UNIFORM_AT_MOST = 64
}; /* elements of a constant that are looked at before it is called uniform */

/* Is `value`, perhaps a view, of a small constant or `full` whose elements all have the same bits? Then that number, as
 * its dtype holds it. */
bool tern__is_uniform(const tern_graph *g, tern__id value, double *out);

/* Does the value lie dense and row-major in its buffer, whatever is planned later? */
bool tern__lies_dense(const tern_graph *g, tern__id value);

/* Which ops occur in the graph: one cheap look decides for most passes that there is nothing to do. */
typedef struct tern__op_set {
    uint64_t bits[(TERN__OP_COUNT + 63) / 64];
} tern__op_set;

void tern__ops_present(const tern_graph *g, tern__op_set *out);

static inline bool tern__op_in(const tern__op_set *set, tern__opcode op)
{
    return set->bits[op / 64] >> (op % 64) & 1;
}

/* Has any of them the flag (op.h)? */
bool tern__op_flag_in(const tern__op_set *set, unsigned flag);

/* What the value is called in every graph that is printed, "%x" or "%12", for notes; the buffer is the caller's. Nothing, if
 * nobody listens. */
enum { TERN__VALUE_TEXT = TERN__MAX_NAME + 32 };
const char *tern__value_text(const tern__compilation *c, const tern_graph *g, tern__id value,
                             char buffer[TERN__VALUE_TEXT]);

/* Runs a call on constants through the target's `evaluate` and gives the results in new storages (one reference each, of
 * the caller's). `leaves` (n_in) say where operands are. TERN_UNSUPPORTED if the target cannot or the kernel refuses the
 * data: then the call is left for the run, which will say so. */
tern_status tern__evaluate(tern__compilation *c, const tern__call *call, const tern__leaf *const *leaves,
                           tern__storage **storages);

#endif

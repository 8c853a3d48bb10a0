/* text.h - what the readers and writers of the text form (docs/graph-text.md) share with each other, with the
 * verifier, DOT output, tern_apply and whoever prints plans. */
#ifndef TERN_GRAPH_TEXT_H
#define TERN_GRAPH_TEXT_H

#include "base/name_set.h"
#include "base/strbuf.h"
#include "graph/graph.h"

enum {
    TERN__MAX_NAME = 256,   /* bytes of a value, leaf, output or graph name, and of any quoted text */
    TERN__MAX_PRINTED = 64, /* a leaf with at most this many elements prints its data */
};

/* Letters, digits, '_' and '.', not starting with a digit or '.', at most TERN__MAX_NAME bytes. */
bool tern__is_identifier(const char *text, size_t length);

/* ---- what values are called: text_names.c ------------------------------------------------------------------- */

/* What every value of a graph is called in print: its own name; else, for a leaf whose name is an
 * identifier that no other value has, that; else a number, counted over the values without a name from the first on that no
 * name is. */
typedef struct tern__label {
    const char *name; /* of the graph; NULL: `number` */
    uint32_t number;
} tern__label;

/* n_values of them; free with tern__free. */
tern_status tern__labels_make(const tern_graph *g, tern__label **out);

/* Is the name a number, which no caller gave? */
bool tern__is_number_name(const char *name);

/* Makes what values are called in print their names, numbers too, so that they keep them whatever happens to the graph around
 * them. *next receives the number for the next value without a name, to which the second gives one. */
tern_status tern__labels_fix(tern_graph *g, uint32_t *next);
tern_status tern__labels_number(tern_graph *g, uint32_t *next);

/* The same as strings, "%x" or "%12", made when first asked for; the graph's own. Any number of threads
 * may ask for those of a graph that does not change. */
tern_status tern__graph_labels(const tern_graph *g, const char *const **out);

/* "%x" or "%12" ("%?" if there is no such value). `labels` NULL: the value's own name or its id. */
void tern__label_add(tern__strbuf *s, const tern_graph *g, const tern__label *labels, tern__id value);

/* "%1, %2 = topk(%0)", for messages; long operand lists are shortened. */
void tern__node_head_add(tern__strbuf *s, const tern_graph *g, const tern__label *labels, tern__id node);

/* ---- pieces of text: text_print.c --------------------------------------------------------------------------- */

void tern__type_add(tern__strbuf *s, const tern__type *type);            /* f32[2,3] */
void tern__quoted_add(tern__strbuf *s, const char *text, size_t length); /* "x", escaped */

/* One attribute's value as the text form writes it: 4, 1e-5, true, [0,1], f32, "cpu". */
void tern__attr_add(tern__strbuf *s, tern__attr_kind kind, const tern__attr *attr);

/* " {axis=1, keepdims=true}", or nothing if all have their defaults. */
void tern__attrs_add(tern__strbuf *s, const tern__op *op, const tern__attr *attrs);

/* " over [64,128] {" and the ops of a fused node's body, one line each. text_region.c. */
void tern__region_add(tern__strbuf *s, const tern_graph *g, const tern__label *labels,
                      const tern__gnode *node);

/* Does it differ from the default of the op's row, so that it is printed? */
bool tern__attr_is_set(const tern__attr_spec *spec, const tern__attr *attr);

/* ---- numbers: text_number.c. Independent of the process's locale ------------------------------------------- */

enum { TERN__NUMBER_TEXT = 32 };

/* The shortest decimal that reads back as `value`, which is a value of the float type `dtype`; nan, inf,
 * -inf. */
char *tern__number_text(tern_dtype dtype, double value, char buffer[TERN__NUMBER_TEXT]);

/* Reads all of text[0..length). false: not a number, or (*overflow) one that the type cannot hold. Floats:
 * nan, inf and -inf are numbers, and what would round to infinity is an overflow. */
bool tern__number_read_float(tern_dtype dtype, const char *text, size_t length, double *out, bool *overflow);
bool tern__number_read_int(const char *text, size_t length, int64_t *out, bool *overflow);

/* ---- attributes from text: text_attrs.c --------------------------------------------------------------------- */

/* Reads "axes=[0,1] keepdims=true" (commas or spaces between) into attrs[op->n_attrs]; absent ones get
 * their default. Ints and texts are placed in `arena`. Unknown and repeated names are errors that list the
 * op's own. */
tern_status tern__attrs_parse(tern__arena *arena, const tern__op *op, const char *text, size_t length,
                              tern__attr *attrs);

/* ---- drawing: dot.c ----------------------------------------------------------------------------------------- */

/* A graph before and after passes, side by side, in the manner of tern_graph_dot. */
tern_status tern__graph_dot_pair(const tern_graph *before, const tern_graph *after, char **out);

/* ---- verifying: verify.c ------------------------------------------------------------------------------------ */

/* tern__op_infer for a call whose operands must have been cast already. `operands` is scratch (n_in).
 * *operand is the operand to blame, or -1. */
tern_status tern__call_check(const tern__call *call, tern_dtype *operands, int *operand);

/* tern_graph_verify, which also tells the node to blame (TERN__NO_ID: none in particular). */
tern_status tern__graph_check(const tern_graph *g, tern__id *node);

/* Makes "%3 = matmul(%0, %1): inner sizes differ ..." of the thread's last error "matmul: inner sizes
 * differ ...". Returns `status`. */
tern_status tern__graph_blame(const tern_graph *g, tern__id id, tern_status status);

/* The end of a capture whose outputs are called `names` (or NULL): numbers those that have none, and
 * verifies. */
tern_status tern__capture_finish(tern_graph *g, const char *const *names);

#endif

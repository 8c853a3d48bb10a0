/* graph.h - a captured graph: what was recorded, as data. It prints, parses back, verifies, draws and compiles. */
#ifndef TERN_GRAPH_H
#define TERN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/export.h>
#include <tern/status.h>
#include <tern/tensor.h>

typedef struct tern_graph tern_graph;

#ifdef __cplusplus
extern "C" {
#endif

/* The graph that computes `outputs`: everything pending behind them; evaluated tensors and inputs are its leaves.
 * Nothing is computed. `names` (or NULL) names the outputs; one without a name goes by its number. Names of inputs and
 * states, and those of outputs, must differ and have 1 to 256 bytes. The graph keeps the data of its leaves alive. */
TERN_API tern_status tern_graph_capture(tern_ctx *ctx, int n, tern_tensor *const *outputs,
                                        const char *const *names, tern_graph **out);

/* Reads the text form (docs/graph-text.md). The message of a failure starts with line and column. `length` bytes
 * of `text` need no terminator. The result is verified. */
TERN_API tern_status tern_graph_parse(tern_ctx *ctx, const char *text, size_t length, tern_graph **out);

TERN_API void tern_graph_free(tern_graph *graph); /* NULL is fine */

/* Text form; tern_graph_parse gives back an equal graph. DOT for Graphviz. Free with tern_string_free. */
TERN_API tern_status tern_graph_print(const tern_graph *graph, char **out);
TERN_API tern_status tern_graph_dot(const tern_graph *graph, char **out);

/* Checks every rule: operands defined before use, types as the op's row infers them, outputs exist. */
TERN_API tern_status tern_graph_verify(const tern_graph *graph);

typedef struct tern_graph_info {
    int nodes, inputs, constants, states, outputs;
    int values; /* results of all nodes together */
} tern_graph_info;
TERN_API void tern_graph_get_info(const tern_graph *graph, tern_graph_info *out);

/* One input, or output, of a graph or program. Strings and shape live as long as it does. */
typedef struct tern_port {
    const char *name;
    tern_dtype dtype;
    int rank;
    const int64_t *shape;
} tern_port;
TERN_API tern_status tern_graph_input(const tern_graph *graph, int i, tern_port *out);
TERN_API tern_status tern_graph_output(const tern_graph *graph, int i, tern_port *out);

/* Gives the input or constant called `name`, which came without data, those of `t`, a constant (tern_freeze) of its type. From
 * now on it is a constant of the graph: it can be folded and packed, no run is given it, and the inputs after it move up. The one
 * function that changes a graph: call it before others read the graph. */
TERN_API tern_status tern_graph_bind(tern_graph *graph, const char *name, tern_tensor *t);

/* ---- Looking inside ----------------------------------------------------------------------------------------
 *
 * Nodes are numbered from 0 in topological order: what a node reads was made by nodes before it. Values, which are results
 * of nodes, have numbers of their own. <tern/edit.h> makes another graph of one. */

typedef uint32_t tern_node;
typedef uint32_t tern_value;

/* Everything lives as long as the graph, and until the next change if it is being edited. */
typedef struct tern_node_info {
    const char *op; /* "matmul"; static */
    int n_operands, n_results, n_attrs;
    const tern_value *operands; /* (n_operands) */
    tern_value result;          /* the first; the others have the numbers that follow */
    const char *name;           /* of an input, constant or state that has one; else NULL */
    const char *origin;         /* what it is `from`, or NULL */
    bool is_leaf, has_data;     /* an input, constant or state; one whose data came with the graph */
    bool removed;               /* being edited: it is not there any more, and neither are its results */
} tern_node_info;
TERN_API tern_status tern_graph_node(const tern_graph *graph, tern_node node, tern_node_info *out);

typedef struct tern_value_info {
    const char *name; /* as written in the text form, without '%'; NULL: it goes by a number */
    tern_dtype dtype;
    int rank;
    const int64_t *shape;
    tern_node node; /* that makes it */
    int result;     /* which of the node's results */
} tern_value_info;
TERN_API tern_status tern_graph_value(const tern_graph *graph, tern_value value, tern_value_info *out);

/* The value that output i of the graph is. */
TERN_API tern_status tern_graph_output_value(const tern_graph *graph, int i, tern_value *out);

typedef enum tern_attr_kind {
    TERN_ATTR_INT,   /* i              */
    TERN_ATTR_FLOAT, /* f              */
    TERN_ATTR_BOOL,  /* i, 0 or 1      */
    TERN_ATTR_INTS,  /* ints[0..count) */
    TERN_ATTR_DTYPE, /* i, a tern_dtype */
    TERN_ATTR_TEXT,  /* text of count bytes, terminated */
    TERN_ATTR_BODY   /* the ops of a fused node, count of them; text form only */
} tern_attr_kind;

typedef struct tern_attr_info {
    const char *name; /* "axis"; static */
    tern_attr_kind kind;
    bool is_set; /* it differs from the default */
    int64_t i;
    double f;
    const int64_t *ints;
    const char *text;
    int count;
} tern_attr_info;
/* Attribute i of a node, or the one called `name` (TERN_NOT_FOUND if its op has none of that name). */
TERN_API tern_status tern_graph_attr(const tern_graph *graph, tern_node node, int i, tern_attr_info *out);
TERN_API tern_status tern_graph_attr_named(const tern_graph *graph, tern_node node, const char *name,
                                           tern_attr_info *out);

/* What a value is called in print: "%x", or "%12" if it has no name. It lives as long as the graph, and until the next
 * change if it is being edited. The first call names all values, so that the others cost nothing. */
TERN_API tern_status tern_graph_label(const tern_graph *graph, tern_value value, const char **out);

/* What a node does, on one line: `topk(%p) {k=1}`, `constant "w" {1, 2}`, `fused(%a, %b) {add + relu}`. Free with
 * tern_string_free. */
TERN_API tern_status tern_graph_call_text(const tern_graph *graph, tern_node node, char **out);

#ifdef __cplusplus
}
#endif
#endif

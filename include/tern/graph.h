/* graph.h - a captured graph: what was recorded, as data. It prints, parses back, verifies, draws and compiles. */
#ifndef TERN_GRAPH_H
#define TERN_GRAPH_H

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
 * Nothing is computed. `names` (or NULL) names the outputs. The graph keeps the data of its leaves alive. */
TERN_API tern_status tern_graph_capture(tern_ctx *ctx, int n, tern_tensor *const *outputs,
                                        const char *const *names, tern_graph **out);

/* Reads the text form (docs/graph-text.md). The message of a failure starts with line and column. `length` bytes
 * of `text` need no terminator. The result is verified. */
TERN_API tern_status tern_graph_parse(tern_ctx *ctx, const char *text, size_t length, tern_graph **out);

TERN_API void tern_graph_free(tern_graph *graph); /* NULL is fine */

/* Text form; tern_graph_parse gives back an equal graph. DOT for Graphviz. Free with tern_string_free. */
TERN_API tern_status tern_graph_print(const tern_graph *graph, char **out);
TERN_API tern_status tern_graph_dot(const tern_graph *graph, char **out);
TERN_API void tern_string_free(char *text);

/* Checks every rule: operands defined before use, types as the op's row infers them, outputs exist. */
TERN_API tern_status tern_graph_verify(const tern_graph *graph);

typedef struct tern_graph_info {
    int nodes, inputs, constants, states, outputs;
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

#ifdef __cplusplus
}
#endif
#endif

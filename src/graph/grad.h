/* grad.h - what the rules of gradients (grad_rules*.c), named by the gradient column of ops.def, see and give.
 *
 * A rule gets one recorded operation and the gradients of its results, and records the gradients of its operands. It need not
 * care for broadcasting and types: what it gives is summed over the axes that the operand has not, and cast to its type. One that
 * computes starts with tern__grad_widen.
 * Integers and codes that come from a quantisation have gradients too, in f32: that is how straight-through works. */
#ifndef TERN_GRAPH_GRAD_H
#define TERN_GRAPH_GRAD_H

#include <tern/grad.h>
#include <tern/ops.h>

#include "graph/node.h"
#include "tensor/op_attrs.h"

struct tern__grad_call {
    tern_ctx *ctx;
    const tern__node *node;
    const tern__attr *attrs;
    int n_in, n_out;
    tern_tensor **in;     /* (n_in) operands */
    tern_tensor **out;    /* (n_out) results */
    tern_tensor **of_out; /* (n_out) gradients of results; NULL: the loss does not depend on it */
    const bool *wanted;   /* (n_in) */
    tern_tensor **of_in;  /* (n_in) to fill, for those that are wanted; NULL stays 0 */
};

/* Short names for the usual case of one result. */
#define GRAD (g->of_out[0])
#define X (g->in[0])
#define Y (g->out[0])

/* Begins a rule: RULE(name) { ... } */
#define RULE(name) tern_status tern__rule_grad_##name(struct tern__grad_call *g)

/* Begins a rule that computes, rather than moves elements: operands, results and their gradients of 16 bits are f32 from here on, and
 * what the rule gives is cast back once. Operations compute in f32 inside; a rule that recorded its steps in 16 bits would overflow where
 * they do not (squares of 256 in f16), and lose digits (1 - y * y of a y near 1): results are computed once more, from the same
 * operands. Where nothing has 16 bits, nothing is recorded. */
void tern__grad_widen(struct tern__grad_call *g);
/* The type that gradients of t have: its own, or f32 where that is no float. */
tern_dtype tern__grad_dtype(const tern_tensor *t);
/* A rank-0 number of the type that gradients of x have. */
tern_tensor *tern__grad_number(const tern_tensor *x, double value);
/* Zeros like x. */
tern_tensor *tern__grad_zeros(const tern_tensor *x);
/* x * value. */
tern_tensor *tern__grad_times(tern_tensor *x, double value);
/* x as floats: itself, or cast to f32. */
tern_tensor *tern__grad_float(tern_tensor *x);
/* x with `step - 1` zeros behind every element along an axis. */
tern_tensor *tern__grad_stretch(tern_tensor *x, int axis, int64_t step);

#endif

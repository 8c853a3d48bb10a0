/* op.h - the table of operations (ops.def) as data, and the rules that its columns name. */
#ifndef TERN_GRAPH_OP_H
#define TERN_GRAPH_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/attr.h"
#include "tensor/layout.h"
#include "tensor/type.h"

typedef enum tern__opcode {
#define TERN_OP(name, ...) TERN__OP_##name,
#include "graph/ops.def"
#undef TERN_OP
    TERN__OP_COUNT
} tern__opcode;

enum {
    TERN__MAX_INPUTS_FIXED = 7, /* most operands of an op that is not variadic */
    TERN__MAX_ATTRS = 8,
    TERN__MAX_RESULTS_FIXED = 2,
};

/* Properties of an op, the `flags` column. */
enum {
    TERN__PURE = 1 << 0, /* equal operands and attributes give equal results: may be merged and folded */
    TERN__ELEMENTWISE =
        1 << 1, /* out[i] depends on in[i] only (after broadcasting)                          */
    TERN__COMMUTATIVE =
        1 << 2,              /* op(a, b) = op(b, a), bit for bit                                           */
    TERN__VIEW = 1 << 3,     /* result shares the storage of operand 0 where the layout allows             */
    TERN__LEAF = 1 << 4,     /* input, constant, state                                                     */
    TERN__WRITES = 1 << 5,   /* result aliases operand 0 and overwrites part of it                         */
    TERN__SOURCE = 1 << 6,   /* no operands, takes the context                                             */
    TERN__INTERNAL = 1 << 7, /* made by passes: no function records it; such rows stand last               */
    TERN__AT_MOST = 1 << 8,  /* how much work it is depends on data: its cost is the most it can be        */
    TERN__PRODUCT = 1 << 9,  /* operand 0 times the weights in operand 1: a region may begin with it       */
    TERN__PACKED = 1 << 10,  /* reads a constant as the target packed it, which no other target can        */
};

typedef struct tern__attr_spec {
    const char *name;
    tern__attr_kind kind;
    bool like_previous; /* INTS with the same count as the INTS before it (one count in the C signature) */
    double fallback;    /* value when absent; INTS and TEXT default to empty */
} tern__attr_spec;

/* One application of an op, as the rules see it. `in` are operand types after the casts that the dtype rule asks
 * for. The shape rule fills rank and shape of out[0..n_out). */
typedef struct tern__call {
    const struct tern__op *op;
    int n_in, n_out;
    const tern__type *const *in;
    const tern__attr *attrs;
    tern__type *out;
} tern__call;

typedef tern_status (*tern__shape_rule)(const tern__call *call);

/* From operand types: the dtype that each operand must be cast to (`operands`, n_in of them, preset to what they
 * are) and the dtype of out[0..n_out). */
typedef tern_status (*tern__dtype_rule)(const tern__call *call, tern_dtype *operands);

/* How many independent items the op's work splits into. */
typedef int64_t (*tern__work_rule)(const tern__call *call);

/* Floating-point (or integer) operations of one run. */
typedef double (*tern__cost_rule)(const tern__call *call, double per_item);

/* Records the gradients of a call's operands (grad.h). */
struct tern__grad_call;
typedef tern_status (*tern__grad_rule)(struct tern__grad_call *g);

typedef struct tern__op {
    const char *name;
    int min_in, max_in; /* max_in -1: any number */
    const char *inputs; /* names, space-separated */
    int n_out;          /* -1: given by attribute `sizes`, or by the body */
    const char *results;
    int n_attrs;
    const tern__attr_spec *attrs;
    tern__shape_rule shape;
    tern__dtype_rule dtype;
    unsigned flags;
    tern__work_rule work;
    tern__cost_rule cost;
    double cost_factor;
    tern__grad_rule grad;
    const char *shape_name, *dtype_name, *cost_name, *grad_name, *kernel_name, *description;
} tern__op;

extern const tern__op tern__ops[TERN__OP_COUNT];

/* Generated (ops_index.c): opcodes by ascending name, and the signature of each op in the text form's manner,
 * "sum(x; axes:ints=[], keepdims:bool=false) -> y". */
extern const uint16_t tern__op_order[TERN__OP_COUNT];
extern const char *const tern__op_signatures[TERN__OP_COUNT];
extern const char *const tern__op_sections[TERN__OP_COUNT]; /* titles */

/* The op called `name` (of `length` bytes), or NULL. */
const tern__op *tern__op_find(const char *name, size_t length);

static inline tern__opcode tern__op_code(const tern__op *op)
{
    return (tern__opcode)(op - tern__ops);
}

static inline bool tern__op_is_product(tern__opcode op)
{
    return (tern__ops[op].flags & TERN__PRODUCT) != 0;
}

static inline bool tern__op_is_packed(tern__opcode op)
{
    return (tern__ops[op].flags & TERN__PACKED) != 0;
}

/* A product as it was recorded: its weights lie as their type says, and may be joined and packed. */
static inline bool tern__op_is_plain_product(tern__opcode op)
{
    return tern__op_is_product(op) && !tern__op_is_packed(op);
}

/* Number of results of a call: the row's, or that of attribute `sizes` or of the body. */
int tern__op_results(const tern__op *op, const tern__attr *attrs);

/* Runs dtype and shape rules: fills `operands` (n_in) with the dtypes to cast to and call->out with the result
 * types, fully checked (ranks, sizes, overflow). Messages start with the op's name. */
tern_status tern__op_infer(const tern__call *call, tern_dtype *operands);

/* Bytes that one run reads and writes, operands and results counted once each; 0 for leaves and views. An estimate, like the
 * cost. `call` has its result types. */
double tern__op_bytes(const tern__call *call);

/* The same of a call that is a step of a plan: a view that is one has to copy. */
double tern__step_bytes(const tern__call *call);

/* The default of every attribute of `op` into attrs[op->n_attrs]. */
void tern__op_default_attrs(const tern__op *op, tern__attr *attrs);

/* Are two attribute lists of `op` equal, bit for bit? */
bool tern__attrs_equal(const tern__op *op, const tern__attr *a, const tern__attr *b);

/* For an op with TERN__VIEW: the result's layout inside operand 0's storage. false: it needs a copy. */
bool tern__op_view(const tern__op *op, const tern__attr *attrs, const tern__type *in,
                   const tern__layout *in_layout, const tern__type *out, tern__layout *out_layout);

/* Python's slice semantics: clamps start and stop for an axis of `size`; step != 0. */
void tern__slice_resolve(int64_t size, int64_t start, int64_t stop, int64_t step, int64_t *first,
                         int64_t *count);

#endif

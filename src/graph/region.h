/* region.h - a fused region: a few nodes that run as one, row by row, without their intermediate results
 * ever leaving the cache. It is the attribute `body` of op `fused`, and data like everything in a graph:
 * passes make it, the verifier checks it, the text form prints it, devices turn it into a row program.
 *
 * All values of a region belong to one domain, a shape whose last axis is the row: each is full (the
 * domain's shape, leading axes of size 1 aside), has one element per row (last axis 1), or broadcasts to
 * it. Its ops are the elementwise ones and those that reduce or normalise the last axis. What a reduction
 * without that axis gives can leave the region, or be read through a `reshape` that puts the axis back.
 *
 * The first op may be a matrix product whose result is the domain, and the others its epilogue:
 * elementwise, with full results. They then see the product tile by tile, and it never leaves the cache
 * either. Operands of the product alone may have any shape. */
#ifndef TERN_GRAPH_REGION_H
#define TERN_GRAPH_REGION_H

#include "base/arena.h"
#include "graph/op.h"

enum {
    TERN__REGION_MAX_OPS = 48,
    TERN__REGION_MAX_INPUTS = 16,
    TERN__REGION_MAX_OUTPUTS = 8,
    TERN__REGION_MAX_VALUES = TERN__REGION_MAX_INPUTS + 2 * TERN__REGION_MAX_OPS,
};

/* One op of a region. Values are numbered: inputs first, then the results of the ops. */
typedef struct tern__region_op {
    tern__opcode op;
    uint16_t n_in, n_out;
    const uint16_t *in; /* (n_in) values, all smaller than `out` */
    uint16_t out;       /* first result */
    tern__attr *attrs;  /* (op's n_attrs) */
} tern__region_op;

typedef struct tern__region {
    tern__type domain; /* its dtype means nothing */
    uint16_t n_in, n_ops, n_values, n_out;
    const tern__type *types;    /* (n_values) */
    const tern__region_op *ops; /* in an order in which they can run */
    const uint16_t *out;        /* (n_out) values that leave the region, results of ops, each once */
} tern__region;

/* How an op treats its operand's last axis. */
typedef enum tern__row_role {
    TERN__ROW_ROLE_NONE,      /* cannot be part of a region */
    TERN__ROW_ROLE_CONSTANT,  /* a number that is written down: `full` of one f32 element */
    TERN__ROW_ROLE_MAP,       /* elementwise */
    TERN__ROW_ROLE_REDUCE,    /* one number per row */
    TERN__ROW_ROLE_NORMALISE, /* reduces, then maps: softmax, rmsnorm, quantise_rows */
} tern__row_role;

/* The role of a call (its operand types and attributes count: a sum over axis 0 has none). */
tern__row_role tern__row_role_of(const tern__call *call);

/* Rows of more elements are not reduced in regions: workers share each of them, in an order of its own that such an op has alone
 * too, whatever the level of compilation. */
enum { TERN__LONGEST_ROW = 1 << 20 };

/* The domain of a call that has a role: what it maps over, or the shape of what it reduces. */
void tern__row_domain_of(const tern__call *call, tern__row_role role, tern__type *domain);

/* Is the shape of `type` the domain's, leading axes of size 1 aside? One element per row? */
bool tern__row_is_full(const tern__type *domain, const tern__type *type);
bool tern__row_is_each(const tern__type *domain, const tern__type *type);

/* A region is built in a draft, then copied to where it stays. Adding fails beyond the limits. */
typedef struct tern__region_draft {
    tern__region region;
    tern__type types[TERN__REGION_MAX_VALUES];
    tern__region_op ops[TERN__REGION_MAX_OPS];
    uint16_t operands[TERN__REGION_MAX_OPS * TERN__MAX_INPUTS_FIXED];
    uint16_t out[TERN__REGION_MAX_OUTPUTS];
    uint16_t n_operands;
} tern__region_draft;

void tern__region_begin(tern__region_draft *d, const tern__type *domain);
bool tern__region_add_input(tern__region_draft *d, const tern__type *type,
                            uint16_t *value); /* all before the first op */
/* `attrs` are not copied before the region is. */
bool tern__region_add_op(tern__region_draft *d, tern__opcode op, int n_in, const uint16_t *in,
                         tern__attr *attrs, int n_out, const tern__type *types, uint16_t *first);
bool tern__region_add_output(tern__region_draft *d, uint16_t value);

/* A deep copy in an arena; NULL when out of memory. */
const tern__region *tern__region_copy(tern__arena *arena, const tern__region *region);

bool tern__region_equal(const tern__region *a, const tern__region *b);

/* Everything that is said above; `in` are the operand types of the fused node. */
tern_status tern__region_check(const tern__region *region, int n_in, const tern__type *const *in);

/* Does it begin with a product? */
bool tern__region_has_product(const tern__region *region);

/* Is operand `operand` read by any op but the product? */
bool tern__region_reads_rows(const tern__region *region, int operand);

/* May result `result` be written where operand `operand` lies (the very same view)? If whatever reads the
 * operand is needed for the result: then no element is overwritten before it was read. What a product
 * reads may never be overwritten. */
bool tern__region_may_overwrite(const tern__region *region, int operand, int result);

/* The call that op number i is; `in` has room for its operands. */
tern__call tern__region_call(const tern__region *region, int i, const tern__type *in[TERN__MAX_INPUTS_FIXED]);

#endif

/* record.c - an operation is called: check it, infer its results, insert the casts it needs, remember it. */
#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"

/* Are the operands usable? On failure *error is the tensor to return. */
static bool operands_usable(const tern__op *op, tern_ctx **ctx, int n_in, tern_tensor *const *in,
                            tern_tensor **error)
{
    for (int i = 0; i < n_in && !*ctx; i++)
        *ctx = in[i] && in[i]->node ? in[i]->node->ctx : NULL;
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) {
            tern_status status = tern__fail(TERN_INVALID_ARGUMENT, "%s: operand %d is NULL", op->name, i);
            *error = *ctx ? tern__error_tensor(*ctx, status) : tern__error_no_context(tern__op_code(op));
            return false;
        }
        if (!in[i]->node) {
            *error = in[i];
            return false;
        }
        if (in[i]->node->error) {
            *error = tern__error_wrap(*ctx, in[i]->node->error);
            return false;
        }
        if (in[i]->node->ctx != *ctx) {
            *error = tern__error_tensor(
                *ctx,
                tern__fail(TERN_INVALID_ARGUMENT, "%s: operand %d belongs to another context", op->name, i));
            return false;
        }
        if (TERN__UNLIKELY(in[i]->consumed)) {
            *error = tern__error_tensor(
                *ctx, tern__fail(TERN_STATE,
                                 "%s: operand %d was given to an earlier write: use the result of that write",
                                 op->name, i));
            return false;
        }
    }
    return true;
}

static tern_status check_counts(const tern__op *op, int n_in, int n_out, const tern__attr *attrs)
{
    if (op->max_in > op->min_in && (n_in < op->min_in || n_in > op->max_in))
        return tern__fail(TERN_INVALID_ARGUMENT, "%s: takes %d to %d operands (%s), got %d", op->name,
                          op->min_in, op->max_in, op->inputs, n_in);
    if (n_in < op->min_in || (op->max_in >= 0 && n_in > op->max_in))
        return tern__fail(TERN_INVALID_ARGUMENT, "%s: takes %s%d operand%s (%s), got %d", op->name,
                          op->max_in == op->min_in ? "" : "at least ", op->min_in, op->min_in == 1 ? "" : "s",
                          op->inputs, n_in);
    int results = tern__op_results(op, attrs);
    if (n_out != results)
        return tern__fail(TERN_INVALID_ARGUMENT, "%s: has %d results (%s), room was given for %d", op->name,
                          results, op->results, n_out);
    return TERN_OK;
}

/* Chains longer than TERN__MAX_DEPTH are cut by evaluating the operand that is too deep, and an operand whose memory
 * an earlier write is to change sees it changed. */
static tern_status ready_operands(tern_ctx *ctx, int n_in, tern_tensor *const *in, uint32_t *depth)
{
    *depth = 1;
    for (int i = 0; i < n_in; i++) {
        if (in[i]->storage) {
            if (TERN__UNLIKELY(tern__write_is_due(in[i]->storage)))
                TERN_TRY(tern__settle_writes(ctx, in[i]->storage));
            continue;
        }
        if (TERN__UNLIKELY(in[i]->node->depth >= TERN__MAX_DEPTH))
            TERN_TRY(tern__recorder_of(ctx)->evaluator->eval(ctx, 1, &in[i]));
        else if (in[i]->node->depth >= *depth)
            *depth = in[i]->node->depth + 1;
    }
    return TERN_OK;
}

/* cast or contiguous, between an operand and the operation that needs it. */
static tern__node *record_between(tern_ctx *ctx, tern_tensor *x, tern__opcode op, tern_dtype dtype)
{
    tern__attr attr = {.i = dtype};
    tern__node *node = tern__node_new(ctx, op, 1, op == TERN__OP_cast ? &attr : NULL, 1);
    if (!node)
        return NULL;
    node->out[0].type = x->type;
    node->out[0].type.dtype = dtype;
    node->depth = x->storage ? 1 : x->node->depth + 1;
    node->symbolic = !x->storage && x->node->symbolic;
    node->serial = ++tern__recorder_of(ctx)->n_recorded;
    tern__edge_link(&node->in[0], node, x);
    return node;
}

/* What the memory of `t` belongs to, or will: a storage, or the pending tensor that its views and writes start from. */
static const void *memory_of(const tern_tensor *t)
{
    while (!t->storage && t->node->n_in > 0 && (tern__ops[t->node->op].flags & (TERN__VIEW | TERN__WRITES)))
        t = t->node->in[0].source;
    return t->storage ? (const void *)t->storage : t;
}

/* Must operand i be copied before the operation writes into operand 0, because it may lie in the same memory? */
static bool lies_in_target(const tern__op *op, tern_tensor *const *in, int i)
{
    return i > 0 && (op->flags & TERN__WRITES) &&
           !(tern__op_code(op) == TERN__OP_overwrite && in[i] == in[0]) &&
           memory_of(in[i]) == memory_of(in[0]);
}

/* A view of an evaluated tensor is evaluated at once: it costs a handle and no data. */
static bool view_now(const tern__op *op, const tern_tensor *x, tern__node *node)
{
    tern__layout layout;
    if (!x->storage || x->watched ||
        !tern__op_view(op, node->attrs, &x->type, &x->layout, &node->out[0].type, &layout))
        return false;
    node->out[0].constant = x->constant;
    tern__tensor_set(&node->out[0], x->storage, &layout);
    return true;
}

/* Everything that needs room proportional to the number of operands or results. */
typedef struct frame {
    const tern__type **types; /* (n_in) operand types, after casts */
    tern_dtype *dtypes;       /* (n_in) what operands are cast to */
    tern__type *cast_types;   /* (n_in) */
    tern__type *out;          /* (n_out) */
    void *heap;               /* NULL when the caller's stack is enough */
} frame;

enum { FRAME_SMALL = 8 };

typedef struct frame_small {
    const tern__type *types[FRAME_SMALL];
    tern_dtype dtypes[FRAME_SMALL];
    tern__type cast_types[FRAME_SMALL];
    tern__type out[FRAME_SMALL];
} frame_small;

static tern_status frame_open(frame *f, frame_small *small, size_t n_in, size_t n_out)
{
    if (TERN__LIKELY(n_in <= FRAME_SMALL && n_out <= FRAME_SMALL)) {
        *f = (frame){small->types, small->dtypes, small->cast_types, small->out, NULL};
        return TERN_OK;
    }
    size_t bytes =
        n_in * (sizeof(tern__type *) + sizeof(tern__type) + sizeof(int64_t)) + n_out * sizeof(tern__type);
    char *p = tern__alloc(bytes);
    if (!p)
        return tern__out_of_memory(bytes);
    f->heap = p;
    f->types = (const tern__type **)(void *)p;
    f->cast_types = (tern__type *)(void *)(p += n_in * sizeof(tern__type *));
    f->out = (tern__type *)(void *)(p += n_in * sizeof(tern__type));
    f->dtypes = (tern_dtype *)(void *)(p + n_out * sizeof(tern__type));
    return TERN_OK;
}

/* Infers result types; f->types points at the operands' types with the casts applied. */
static tern_status infer(const tern__op *op, int n_in, tern_tensor *const *in, const tern__attr *attrs,
                         int n_out, frame *f)
{
    for (int i = 0; i < n_in; i++) {
        f->types[i] = &in[i]->type;
        f->dtypes[i] = in[i]->type.dtype;
    }
    tern__call call = {.op = op, .n_in = n_in, .n_out = n_out, .in = f->types, .attrs = attrs, .out = f->out};
    return tern__op_infer(&call, f->dtypes);
}

static tern_status build(tern_ctx *ctx, const tern__op *op, int n_in, tern_tensor *const *in,
                         const tern__attr *attrs, int n_out, frame *f, tern__node **out)
{
    uint32_t depth;
    TERN_TRY(infer(op, n_in, in, attrs, n_out, f));
    if (op->flags & TERN__WRITES) {
        TERN_TRY(tern__tensor_check_writable(op->name, in[0]));
        bool symbolic = false;
        for (int i = 0; i < n_in; i++)
            symbolic |= !in[i]->storage && in[i]->node->symbolic;
        tern_status status = tern__ready_target(ctx, in[0], symbolic);
        if (status != TERN_OK)
            return tern__fail_in(status, op->name);
    }
    TERN_TRY(ready_operands(ctx, n_in, in, &depth));
    for (int i = 0; i < n_in; i++) /* evaluating may have shown that one cannot be computed */
        TERN_TRY(tern__tensor_check(in[i]));
    tern__node *node = tern__node_new(ctx, tern__op_code(op), (uint32_t)n_in, attrs, (uint32_t)n_out);
    if (!node)
        return tern__out_of_memory(sizeof *node);
    for (int i = 0; i < n_out; i++)
        node->out[i].type = f->out[i];
    node->refs = 1; /* held here until owned */
    node->n_in = 0;
    if ((op->flags & TERN__VIEW) && view_now(op, in[0], node)) {
        *out = node;
        return TERN_OK;
    }
    node->depth = depth;
    for (int i = 0; i < n_in; i++) {
        tern_tensor *source = in[i];
        bool cast = f->dtypes[i] != source->type.dtype;
        if (cast || lies_in_target(op, in, i)) {
            tern__node *between =
                record_between(ctx, source, cast ? TERN__OP_cast : TERN__OP_contiguous, f->dtypes[i]);
            if (!between) {
                tern__node_drop(node);
                return tern__out_of_memory(sizeof *between);
            }
            source = &between->out[0];
            if (between->depth >= node->depth)
                node->depth = between->depth + 1;
        }
        node->symbolic |= !source->storage && source->node->symbolic;
        tern__edge_link(&node->in[i], node, source);
        node->n_in++;
    }
    node->serial = ++tern__recorder_of(ctx)->n_recorded;
    if (op->flags & TERN__WRITES) {
        in[0]->consumed = true;
        node->n_writes = 1;
        if (in[0]->storage)
            in[0]->storage->pending_write = node;
        else
            node->n_writes += in[0]->node->n_writes;
    }
    *out = node;
    return TERN_OK;
}

static tern_status record(tern_ctx *ctx, const tern__op *op, int n_in, tern_tensor *const *in,
                          const tern__attr *attrs, int n_out, tern__node **out)
{
    frame_small small;
    frame f = {0};
    TERN_TRY(check_counts(op, n_in, n_out, attrs));
    TERN_TRY(frame_open(&f, &small, (size_t)n_in, (size_t)n_out));
    tern_status status = build(ctx, op, n_in, in, attrs, n_out, &f, out);
    tern__free(f.heap);
    return status;
}

void tern__hand_out(tern_tensor *first, bool same, int n_out, tern_tensor **out)
{
    bool callers = tern__owned_by_caller(first);
    for (int i = 0; i < n_out; i++) {
        out[i] = same ? first : first + i;
        if (i > 0 && callers)
            tern_keep(out[i]);
    }
}

void tern__record_n(tern_ctx *ctx, tern__opcode code, int n_in, tern_tensor *const *in,
                    const tern__attr *attrs, int n_out, tern_tensor **out)
{
    const tern__op *op = &tern__ops[code];
    tern_tensor *error;
    if (!operands_usable(op, &ctx, n_in, in, &error)) {
        tern__hand_out(error, true, n_out, out);
        return;
    }
    tern__node *node;
    tern_status status = ctx ? record(ctx, op, n_in, in, attrs, n_out, &node)
                             : tern__fail(TERN_INVALID_ARGUMENT, "%s: the context is NULL", op->name);
    if (status != TERN_OK) {
        tern__hand_out(ctx ? tern__error_tensor(ctx, status) : tern__error_no_context(code), true, n_out,
                       out);
        return;
    }
    tern__node_own(node);
    node->refs--;
    tern__hand_out(&node->out[0], false, n_out, out);
}

tern_tensor *tern__record(tern_ctx *ctx, tern__opcode op, int n_in, tern_tensor *const *in,
                          const tern__attr *attrs)
{
    tern_tensor *out;
    tern__record_n(ctx, op, n_in, in, attrs, 1, &out);
    return out;
}

/* record.c - an operation is called: check it, infer its results, insert the casts it needs, remember it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/node.h"

/* ---- error tensors ---- */

/* What a call returns when there is no memory even for an error, and when nothing tells the context. */
static tern_tensor no_memory = {.node = NULL};
static tern_tensor
    no_context[TERN__OP_COUNT + 1]; /* one per op, so that the message can name it; the last: any call */
static const char *const no_context_messages[TERN__OP_COUNT + 1] = {
#define NO_CONTEXT "the context, or the operand that would tell it, is NULL or missing"
#define TERN_OP(id, ...) [TERN__OP_##id] = #id ": " NO_CONTEXT,
#include "graph/ops.def"
#undef TERN_OP
    [TERN__OP_COUNT] = NO_CONTEXT,
};

static bool lacks_context(const tern_tensor *t)
{
    return t >= no_context && t <= &no_context[TERN__OP_COUNT];
}

static tern_tensor *wrap_error(tern_ctx *ctx, tern__error *error)
{
    tern__node *node = tern__node_new(ctx, TERN__OP_constant, 0, NULL, 1);
    if (!node)
        return &no_memory;
    error->refs++;
    node->error = error;
    tern__node_own(node);
    return &node->out[0];
}

tern__error *tern__error_make(tern_status status)
{
    const char *message = tern_last_error();
    size_t length = strlen(message) + 1;
    tern__error *error = tern__alloc(sizeof *error + length);
    if (!error)
        return NULL;
    error->refs = 0;
    error->status = status;
    memcpy(error->message, message, length);
    return error;
}

tern_tensor *tern__error_tensor(tern_ctx *ctx, tern_status status)
{
    if (status == TERN_OUT_OF_MEMORY)
        return &no_memory;
    if (!ctx)
        return &no_context[TERN__OP_COUNT];
    tern__error *error = tern__error_make(status);
    if (!error)
        return &no_memory;
    tern_tensor *t = wrap_error(ctx, error);
    if (error->refs == 0)
        tern__free(error);
    return t;
}

bool tern__tensor_is_error(const tern_tensor *t)
{
    return !t->node || t->node->error;
}

tern_status tern_status_of(const tern_tensor *t)
{
    if (!t)
        return TERN_INVALID_ARGUMENT;
    if (!t->node)
        return lacks_context(t) ? TERN_INVALID_ARGUMENT : TERN_OUT_OF_MEMORY;
    return t->node->error ? t->node->error->status : TERN_OK;
}

const char *tern_message_of(const tern_tensor *t)
{
    if (!t)
        return "the tensor is NULL";
    if (!t->node)
        return lacks_context(t) ? no_context_messages[t - no_context] : "out of memory";
    return t->node->error ? t->node->error->message : "";
}

tern_status tern__tensor_check(const tern_tensor *t)
{
    tern_status status = tern_status_of(t);
    return status == TERN_OK ? TERN_OK : tern__fail(status, "%s", tern_message_of(t));
}

/* ---- recording ---- */

/* Are the operands usable? On failure *error is the tensor to return. */
static bool operands_usable(const tern__op *op, tern_ctx **ctx, int n_in, tern_tensor *const *in,
                            tern_tensor **error)
{
    for (int i = 0; i < n_in && !*ctx; i++)
        *ctx = in[i] && in[i]->node ? in[i]->node->ctx : NULL;
    for (int i = 0; i < n_in; i++) {
        if (!in[i]) {
            tern_status status = tern__fail(TERN_INVALID_ARGUMENT, "%s: operand %d is NULL", op->name, i);
            *error = *ctx ? tern__error_tensor(*ctx, status) : &no_context[tern__op_code(op)];
            return false;
        }
        if (!in[i]->node) {
            *error = in[i];
            return false;
        }
        if (in[i]->node->error) {
            *error = wrap_error(*ctx, in[i]->node->error);
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
    if (!x->storage || !tern__op_view(op, node->attrs, &x->type, &x->layout, &node->out[0].type, &layout))
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

tern_status tern__tensor_check_writable(const char *who, const tern_tensor *t)
{
    TERN__FAIL_IF(t->consumed, TERN_STATE,
                  "%s: the target was given to an earlier write: use the result of that write", who);
    if (!t->storage)
        return TERN_OK;
    TERN__FAIL_IF(t->storage->frozen, TERN_STATE, "%s: the target %s constant", who,
                  t->constant ? "is a" : "shares storage with a");
    TERN__FAIL_IF(t->storage->read_only, TERN_STATE, "%s: the target is read-only", who);
    for (int i = 0; i < t->type.rank; i++)
        TERN__FAIL_IF(t->layout.strides[i] == 0 && t->type.shape[i] > 1, TERN_UNSUPPORTED,
                      "%s: the target is a broadcast view: write into a copy (contiguous)", who);
    return TERN_OK;
}

tern_status tern__settle_writes(tern_ctx *ctx, const tern__storage *storage)
{
    tern__node *last = storage->pending_write;
    if (!last || last->symbolic)
        return TERN_OK;
    for (tern__node *next = tern__writer_of(&last->out[0]); next && !next->symbolic;
         next = tern__writer_of(&last->out[0]))
        last = next;
    const tern__evaluator *evaluator = tern__recorder_of(ctx)->evaluator;
    tern_status status = evaluator->eval(ctx, 1, (tern_tensor *[]){&last->out[0]});
    while (status != TERN_OK && !tern__may_go_away(status)) { /* one by one, to see which it is */
        tern__node *first = storage->pending_write;
        if (!first || first->symbolic)
            return TERN_OK;
        first->refs++;
        status = evaluator->eval(ctx, 1, (tern_tensor *[]){&first->out[0]});
        if (status != TERN_OK && !tern__may_go_away(status) && !first->error)
            tern__node_fail(first, status);
        bool stuck = storage->pending_write == first;
        tern__node_drop(first);
        if (stuck)
            return status;
        if (status == TERN_OK && tern__write_is_due(storage))
            return tern__settle_writes(ctx, storage);
    }
    return status;
}

static tern_status add_views(tern__recorder *r, const tern_tensor *t, size_t *n)
{
    for (tern__edge *edge = t->readers; edge; edge = edge->next) {
        if (!(tern__ops[edge->reader->op].flags & TERN__VIEW) || edge->reader->symbolic ||
            edge->reader->error)
            continue;
        if (!tern__grow((void **)&r->stack, &r->cap_stack, *n + 1, sizeof *r->stack))
            return tern__out_of_memory(sizeof *r->stack);
        r->stack[(*n)++] = &edge->reader->out[0];
    }
    return TERN_OK;
}

/* Puts the pending views of `t`'s memory, and the views of those, into the recorder's stack. */
static tern_status list_views(tern__recorder *r, const tern_tensor *t, size_t *n)
{
    *n = 0;
    if (!t->storage)
        TERN_TRY(add_views(r, t, n));
    for (const tern_tensor *alias = t->storage ? t->storage->tensors : NULL; alias; alias = alias->alias_next)
        TERN_TRY(add_views(r, alias, n));
    for (size_t i = 0; i < *n; i++)
        TERN_TRY(add_views(r, r->stack[i], n));
    return TERN_OK;
}

/* Evaluates `t` and the pending views of its memory, which become handles of that memory, or copies. */
static tern_status eval_with_views(tern_ctx *ctx, tern_tensor *t)
{
    tern__recorder *r = tern__recorder_of(ctx);
    size_t n;
    TERN_TRY(list_views(r, t, &n));
    if (n == 0)
        return r->evaluator->eval(ctx, 1, &t);
    tern_tensor **all = tern__alloc((n + 1) * sizeof *all); /* evaluation uses the stack */
    if (!all)
        return tern__out_of_memory((n + 1) * sizeof *all);
    memcpy(all, r->stack, n * sizeof *all);
    all[n] = t;
    tern_status status = r->evaluator->eval(ctx, (int)(n + 1), all);
    tern__free(all);
    return status;
}

static bool has_pending_views(const tern_tensor *t)
{
    for (const tern__edge *edge = t->readers; edge; edge = edge->next)
        if ((tern__ops[edge->reader->op].flags & TERN__VIEW) && !edge->reader->symbolic &&
            !edge->reader->error)
            return true;
    return false;
}

/* A write that can be evaluated may stay pending where its target is memory that exists, or the result of such a write,
 * and no views of that are pending: so writes into one memory happen in the order in which they were recorded, and
 * views see what is written after them. */
static tern_status ready_target(tern_ctx *ctx, tern_tensor *target, bool symbolic)
{
    if (!target->storage) {
        bool chained =
            (tern__ops[target->node->op].flags & TERN__WRITES) && target->node->n_writes < TERN__MAX_WRITES;
        if (target->node->symbolic || (chained && !has_pending_views(target)))
            return TERN_OK;
        TERN_TRY(eval_with_views(ctx, target));
    }
    const tern__storage *storage = target->storage;
    TERN_TRY(tern__settle_writes(ctx, storage));
    TERN__FAIL_IF(symbolic && storage->pending_write, TERN_STATE,
                  "the target's memory is written by %s, which is recorded already: write into its result",
                  tern__ops[storage->pending_write->op].name);
    for (const tern_tensor *alias = storage->tensors; alias; alias = alias->alias_next)
        if (has_pending_views(alias))
            return eval_with_views(ctx, target);
    return TERN_OK;
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
        tern_status status = ready_target(ctx, in[0], symbolic);
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

/* One reference per handle where the caller owns them; scopes own the node once. */
static void hand_out(tern_tensor *first, bool same, int n_out, tern_tensor **out)
{
    bool callers = first->node && tern__recorder_of(first->node->ctx)->n_scopes == 0;
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
        hand_out(error, true, n_out, out);
        return;
    }
    tern__node *node;
    tern_status status = ctx ? record(ctx, op, n_in, in, attrs, n_out, &node)
                             : tern__fail(TERN_INVALID_ARGUMENT, "%s: the context is NULL", op->name);
    if (status != TERN_OK) {
        hand_out(ctx ? tern__error_tensor(ctx, status) : &no_context[code], true, n_out, out);
        return;
    }
    tern__node_own(node);
    node->refs--;
    hand_out(&node->out[0], false, n_out, out);
}

tern_tensor *tern__record(tern_ctx *ctx, tern__opcode op, int n_in, tern_tensor *const *in,
                          const tern__attr *attrs)
{
    tern_tensor *out;
    tern__record_n(ctx, op, n_in, in, attrs, 1, &out);
    return out;
}

/* ---- tensors that are not the result of an operation ---- */

tern_tensor *tern__tensor_wrap(tern_ctx *ctx, const tern__type *type, tern__storage *storage,
                               const tern__layout *layout)
{
    tern__node *node = tern__node_new(ctx, TERN__OP_input, 0, NULL, 1);
    if (!node) {
        tern__storage_release(storage);
        tern__out_of_memory(sizeof *node);
        return &no_memory;
    }
    node->out[0].type = *type;
    tern__tensor_set(&node->out[0], storage, layout);
    tern__storage_release(storage);
    tern__node_own(node);
    return &node->out[0];
}

tern_tensor *tern__tensor_leaf(tern_ctx *ctx, tern__opcode op, const char *name, const tern__type *type,
                               tern__storage *storage)
{
    int64_t shape[TERN__MAX_RANK];
    memcpy(shape, type->shape, sizeof shape);
    tern__attr attrs[3] = {{.text = name, .count = (uint32_t)strlen(name)},
                           {.i = type->dtype},
                           {.ints = shape, .count = (uint32_t)type->rank}};
    tern__node *node = tern__node_new(ctx, op, 0, attrs, 1);
    if (!node) {
        tern__storage_release(storage);
        tern__out_of_memory(sizeof *node);
        return &no_memory;
    }
    node->out[0].type = *type;
    if (storage) {
        tern__layout layout;
        tern__layout_contiguous(type, &layout);
        tern__tensor_set(&node->out[0], storage, &layout);
        tern__storage_release(storage);
    }
    node->symbolic = !storage;
    tern__node_own(node);
    return &node->out[0];
}

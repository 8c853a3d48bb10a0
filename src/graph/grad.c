/* grad.c - tern_grad: from a loss back to parameters, by the gradient column of ops.def.
 *
 * Three walks over the nodes behind the loss, all iterative: collect them, newest first (a node is recorded after its operands,
 * so that is an order in which every reader comes before what it reads); find those that depend on a parameter; then ask each
 * one's rule for the gradients of its operands and add them up. Where a segment was asked to be computed again (tern_recompute_open),
 * its operations are recorded a second time when the walk comes to it, and the rules read those. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/grad.h"
#include "graph/rules.h"

/* A tensor that depends on a parameter, or is one, and the sum of its gradients so far. */
typedef struct adjoint {
    const tern_tensor *of;
    tern_tensor *sum; /* NULL: none yet */
    int param;        /* which one it is; -1: none */
} adjoint;

typedef struct backward {
    tern_ctx *ctx;
    tern__node **nodes; /* behind the loss, pending, by descending serial */
    size_t n_nodes, cap_nodes;
    tern_tensor **again; /* (n_nodes) result 0 of the node recorded once more; NULL: it is read as it was */
    adjoint *adjoints;   /* by ascending address */
    size_t n_adjoints, cap_adjoints;
} backward;

/* ---- which nodes ------------------------------------------------------------------------------------------------- */

static bool is_pending(const tern_tensor *t)
{
    return !t->storage && !(tern__ops[t->node->op].flags & TERN__LEAF);
}

/* A heap of nodes, the newest on top. */
typedef struct heap {
    tern__node **nodes;
    size_t n, capacity;
} heap;

static tern_status heap_push(heap *h, tern__node *node)
{
    if (!tern__grow((void **)&h->nodes, &h->capacity, h->n + 1, sizeof(tern__node *)))
        return tern__out_of_memory(h->n * sizeof(tern__node *));
    size_t i = h->n++;
    for (; i > 0 && h->nodes[(i - 1) / 2]->serial < node->serial; i = (i - 1) / 2)
        h->nodes[i] = h->nodes[(i - 1) / 2];
    h->nodes[i] = node;
    return TERN_OK;
}

static tern__node *heap_pop(heap *h)
{
    tern__node *top = h->nodes[0], *last = h->nodes[--h->n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->nodes[child + 1]->serial > h->nodes[child]->serial)
            child++;
        if (h->nodes[child]->serial <= last->serial)
            break;
        h->nodes[i] = h->nodes[child];
    }
    h->nodes[i] = last;
    return top;
}

/* Pushes those that the node reads; a node that is met again is on top at once, because nothing newer is left. */
static tern_status collect_from(backward *b, heap *h)
{
    while (h->n > 0) {
        tern__node *node = heap_pop(h);
        if (b->n_nodes > 0 && b->nodes[b->n_nodes - 1] == node)
            continue;
        if (!tern__grow((void **)&b->nodes, &b->cap_nodes, b->n_nodes + 1, sizeof(tern__node *)))
            return tern__out_of_memory(b->n_nodes * sizeof(tern__node *));
        b->nodes[b->n_nodes++] = node;
        for (uint32_t i = 0; i < node->n_in; i++) {
            if (is_pending(node->in[i].source))
                TERN_TRY(heap_push(h, node->in[i].source->node));
        }
    }
    return TERN_OK;
}

static tern_status collect(backward *b, tern_tensor *loss)
{
    heap h = {0};
    tern_status status = is_pending(loss) ? heap_push(&h, loss->node) : TERN_OK;
    if (status == TERN_OK)
        status = collect_from(b, &h);
    tern__free(h.nodes);
    return status;
}

/* ---- what depends on parameters ------------------------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const adjoint *)a)->of, y = (uintptr_t)((const adjoint *)b)->of;
    return (x > y) - (x < y);
}

static adjoint *adjoint_of(const backward *b, const tern_tensor *t)
{
    const adjoint key = {.of = t};
    return b->n_adjoints ? bsearch(&key, b->adjoints, b->n_adjoints, sizeof key, by_address) : NULL;
}

static tern_status add_adjoint(backward *b, const tern_tensor *t, int param)
{
    if (!tern__grow((void **)&b->adjoints, &b->cap_adjoints, b->n_adjoints + 1, sizeof *b->adjoints))
        return tern__out_of_memory(b->n_adjoints * sizeof *b->adjoints);
    b->adjoints[b->n_adjoints++] = (adjoint){.of = t, .param = param};
    return TERN_OK;
}

static tern_status add_params(backward *b, int n, tern_tensor *const *params)
{
    for (int i = 0; i < n; i++)
        TERN_TRY(add_adjoint(b, params[i], i));
    if (n > 0)
        qsort(b->adjoints, b->n_adjoints, sizeof *b->adjoints, by_address);
    for (size_t i = 1; i < b->n_adjoints; i++)
        TERN__FAIL_IF(b->adjoints[i].of == b->adjoints[i - 1].of, TERN_INVALID_ARGUMENT,
                      "grad: parameters %d and %d are the same tensor", b->adjoints[i - 1].param,
                      b->adjoints[i].param);
    return TERN_OK;
}

/* Has a result of the node a gradient, if its operands have one? */
static bool passes_on(const tern__node *node)
{
    return tern__ops[node->op].grad != tern__rule_grad_zero;
}

/* Is it one of the parameters, the first n of what is known? */
static bool is_param(const backward *b, size_t n, const tern_tensor *t)
{
    const adjoint key = {.of = t};
    return bsearch(&key, b->adjoints, n, sizeof key, by_address) != NULL;
}

/* Where `node` is, which node k reads: it is older, so it stands behind that one. */
static size_t place_of(const backward *b, size_t k, const tern__node *node)
{
    size_t low = k + 1, high = b->n_nodes - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->nodes[middle]->serial > node->serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Oldest first. Addresses of new ones come in any order, so they are looked for by serial in the meantime. */
static tern_status find_dependent(backward *b)
{
    bool *depends = tern__alloc_zero(b->n_nodes + 1, sizeof *depends);
    if (!depends)
        return tern__out_of_memory(b->n_nodes);
    const size_t n_params = b->n_adjoints;
    tern_status status = TERN_OK;
    for (size_t k = b->n_nodes; k-- > 0 && status == TERN_OK;) {
        const tern__node *node = b->nodes[k];
        for (uint32_t i = 0; i < node->n_in && !depends[k] && passes_on(node); i++) {
            const tern_tensor *source = node->in[i].source;
            depends[k] = is_param(b, n_params, source);
            if (depends[k] || !is_pending(source))
                continue;
            depends[k] = depends[place_of(b, k, source->node)];
        }
        for (uint32_t i = 0; i < node->n_out && depends[k] && status == TERN_OK; i++) {
            if (!is_param(b, n_params, &node->out[i]))
                status = add_adjoint(b, &node->out[i], -1);
        }
    }
    tern__free(depends);
    if (b->n_adjoints > 1)
        qsort(b->adjoints, b->n_adjoints, sizeof *b->adjoints, by_address);
    return status;
}

/* Room for one call of a rule. */
typedef struct frame {
    tern_tensor **tensors; /* in, out, of_out, of_in */
    bool *wanted;
    size_t cap_tensors, cap_wanted;
} frame;

static tern_status grow_frame(frame *f, const tern__node *node)
{
    const size_t n = 2 * ((size_t)node->n_in + node->n_out) + 1;
    if (!tern__grow((void **)&f->tensors, &f->cap_tensors, n, sizeof(tern_tensor *)) ||
        !tern__grow((void **)&f->wanted, &f->cap_wanted, (size_t)node->n_in + 1, sizeof *f->wanted))
        return tern__out_of_memory(n * sizeof(tern_tensor *));
    memset(f->tensors, 0, n * sizeof(tern_tensor *));
    return TERN_OK;
}

/* ---- computing again ---------------------------------------------------------------------------------------------- */

/* A tensor of node k, or one that it reads, as gradients of node k read it: in a segment it is what was recorded once more, and what
 * comes from outside is marked, so that the compiler does not find that all of it is there already. Parameters are not: what depends on
 * them alone, such as weights that were rounded, is kept. */
static tern_tensor *as_read(const backward *b, size_t k, tern_tensor *t)
{
    const uint32_t segment = b->nodes[k]->segment;
    const adjoint *a = segment ? adjoint_of(b, t) : NULL;
    if (segment == 0 || (a && a->param >= 0))
        return t;
    const size_t at = !is_pending(t) ? b->n_nodes : t->node == b->nodes[k] ? k : place_of(b, k, t->node);
    if (at == b->n_nodes || b->nodes[at]->segment != segment)
        return tern_again(t);
    return b->again[at] ? b->again[at] + t->result : t;
}

/* Records node k of a segment once more, unless all that it reads is as it was. */
static tern_status record_again(backward *b, size_t k, frame *f)
{
    const tern__node *node = b->nodes[k];
    tern_tensor **in = f->tensors, **out = f->tensors + node->n_in;
    bool same = true;
    for (uint32_t i = 0; i < node->n_in; i++) {
        in[i] = as_read(b, k, node->in[i].source);
        same &= in[i] == node->in[i].source;
    }
    if (same)
        return TERN_OK;
    tern__record_n(b->ctx, node->op, (int)node->n_in, in, node->attrs, (int)node->n_out, out);
    TERN_TRY(tern__tensor_check(out[0]));
    out[0]->node->origin = node->origin;
    b->again[k] = out[0];
    return TERN_OK;
}

/* Node k is the newest of its segment: all of that, oldest first. Numbers of a segment's nodes follow each other. */
static tern_status record_segment(backward *b, size_t k, frame *f)
{
    const uint32_t segment = b->nodes[k]->segment;
    size_t end = k;
    while (end < b->n_nodes && b->nodes[end]->segment == segment)
        end++;
    while (end-- > k) {
        TERN_TRY(grow_frame(f, b->nodes[end]));
        TERN_TRY(record_again(b, end, f));
    }
    return TERN_OK;
}

/* ---- adding up ----------------------------------------------------------------------------------------------------- */

/* A gradient as a rule gives it, in the shape and type of `t`: axes that `t` has not, or has once, are summed; axes that it has
 * and the gradient has once are repeated. */
static tern_tensor *fit(tern_tensor *x, const tern_tensor *t)
{
    int64_t axes[TERN__MAX_RANK], shape[TERN__MAX_RANK];
    int n = 0;
    if (tern__tensor_is_error(x))
        return x;
    const int rank = x->type.rank, more = rank > t->type.rank ? rank - t->type.rank : 0;
    const int fewer = t->type.rank + more - rank; /* axes that are missing in front */
    for (int i = 0; i < rank; i++) {
        const bool all = i < more || (t->type.shape[i - more + fewer] == 1 && x->type.shape[i] != 1);
        if (all)
            axes[n++] = i;
        if (i >= more)
            shape[i - more] = all ? 1 : x->type.shape[i];
    }
    if (n > 0)
        x = tern_sum(x, n, axes, true);
    if (more > 0)
        x = tern_reshape(x, rank - more, shape);
    if (!tern__tensor_is_error(x) && !tern__shape_equal(&x->type, &t->type))
        x = tern_broadcast(x, t->type.rank, t->type.shape);
    return !tern__tensor_is_error(x) && x->type.dtype != tern__grad_dtype(t)
               ? tern_cast(x, tern__grad_dtype(t))
               : x;
}

static void add_to(adjoint *a, tern_tensor *gradient)
{
    gradient = fit(gradient, a->of);
    a->sum = a->sum ? tern_add(a->sum, gradient) : gradient;
}

static tern_status apply_rule(const backward *b, size_t k, frame *f)
{
    tern__node *node = b->nodes[k];
    TERN_TRY(grow_frame(f, node));
    struct tern__grad_call g = {.ctx = b->ctx,
                                .node = node,
                                .attrs = node->attrs,
                                .n_in = (int)node->n_in,
                                .n_out = (int)node->n_out,
                                .in = f->tensors,
                                .out = f->tensors + node->n_in,
                                .of_out = f->tensors + node->n_in + node->n_out,
                                .of_in = f->tensors + node->n_in + 2 * (size_t)node->n_out,
                                .wanted = f->wanted};
    bool any = false;
    for (int i = 0; i < g.n_out; i++) {
        const adjoint *a = adjoint_of(b, &node->out[i]);
        g.out[i] = as_read(b, k, &node->out[i]);
        g.of_out[i] = a ? a->sum : NULL;
        any |= g.of_out[i] != NULL;
    }
    if (!any)
        return TERN_OK;
    any = false;
    for (int i = 0; i < g.n_in; i++) {
        g.in[i] = as_read(b, k, node->in[i].source);
        any |= f->wanted[i] = adjoint_of(b, node->in[i].source) != NULL;
    }
    if (!any)
        return TERN_OK;
    TERN_TRY(tern__ops[node->op].grad(&g));
    for (int i = 0; i < g.n_in; i++) {
        if (g.wanted[i] && g.of_in[i])
            add_to(adjoint_of(b, node->in[i].source), g.of_in[i]);
    }
    return TERN_OK;
}

static tern_status walk_back(backward *b, tern_tensor *loss)
{
    frame f = {0};
    adjoint *start = adjoint_of(b, loss);
    tern_status status = TERN_OK;
    b->again = tern__alloc_zero(b->n_nodes + 1, sizeof(tern_tensor *));
    if (!b->again)
        return tern__out_of_memory(b->n_nodes * sizeof(tern_tensor *));
    if (start)
        start->sum = tern_full(b->ctx, loss->type.dtype, loss->type.rank, loss->type.shape, 1);
    for (size_t k = 0; k < b->n_nodes && status == TERN_OK; k++) {
        const uint32_t segment = b->nodes[k]->segment;
        if (segment != 0 && (k == 0 || b->nodes[k - 1]->segment != segment))
            status = record_segment(b, k, &f);
        if (status == TERN_OK)
            status = apply_rule(b, k, &f);
    }
    tern__free(f.tensors);
    tern__free(f.wanted);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static tern_status check_arguments(tern_tensor *loss, int n, tern_tensor *const *params, tern_tensor **grads)
{
    TERN__FAIL_IF(!loss || n < 1 || !params || !grads, TERN_INVALID_ARGUMENT,
                  "grad: the loss, the parameters or the place for gradients are missing");
    TERN_TRY(tern__tensor_check(loss));
    TERN__FAIL_IF(tern_numel(loss) != 1 || !tern__dtype_is_float(loss->type.dtype), TERN_INVALID_ARGUMENT,
                  "grad: the loss is %s, not one float: reduce it first",
                  tern__type_text(&loss->type, (char[TERN__TYPE_TEXT]){0}));
    for (int i = 0; i < n; i++) {
        TERN_TRY(tern__tensor_check(params[i]));
        TERN__FAIL_IF(params[i]->node->ctx != loss->node->ctx, TERN_INVALID_ARGUMENT,
                      "grad: parameter %d belongs to another context than the loss", i);
        TERN__FAIL_IF(!tern__dtype_is_float(params[i]->type.dtype), TERN_INVALID_ARGUMENT,
                      "grad: parameter %d is %s: only floats have gradients", i,
                      tern__type_text(&params[i]->type, (char[TERN__TYPE_TEXT]){0}));
    }
    return TERN_OK;
}

static tern_status fail_independent(const tern_tensor *loss, const tern_tensor *param, int i)
{
    const char *name = param->name ? param->name
                       : (tern__ops[param->node->op].flags & TERN__LEAF) && param->node->attrs
                           ? param->node->attrs[0].text
                           : "";
    return tern__fail(TERN_INVALID_ARGUMENT, "grad: the loss does not depend on parameter %d%s%s%s%s", i,
                      *name ? " ('" : "", name, *name ? "')" : "",
                      loss->storage ? ": it was evaluated, call tern_grad before that"
                                    : ", or what lies between was evaluated before");
}

/* Keeps one reference to each gradient in `grads`. */
static tern_status take_sums(const backward *b, const tern_tensor *loss, int n, tern_tensor *const *params,
                             tern_tensor **grads)
{
    for (int i = 0; i < n; i++) {
        const adjoint *a = adjoint_of(b, params[i]);
        if (!a->sum)
            return fail_independent(loss, params[i], i);
        TERN_TRY(tern__tensor_check(a->sum));
    }
    for (int i = 0; i < n; i++)
        grads[i] = tern_keep(adjoint_of(b, params[i])->sum);
    return TERN_OK;
}

/* Gives kept tensors to the scope that is open, if one is. */
static void hand_over(tern_ctx *ctx, int n, tern_tensor **grads)
{
    if (tern__recorder_of(ctx)->n_scopes == 0)
        return;
    for (int i = 0; i < n; i++) {
        bool owned = false;
        for (int k = 0; k < i && !owned; k++)
            owned = grads[k]->node == grads[i]->node;
        if (!owned)
            tern__node_own(grads[i]->node);
    }
    for (int i = 0; i < n; i++)
        tern_release(grads[i]);
}

tern_status tern_watch(tern_tensor *t)
{
    TERN__FAIL_IF(!t, TERN_INVALID_ARGUMENT, "watch: the tensor is NULL");
    TERN_TRY(tern__tensor_check(t));
    t->watched = true;
    return TERN_OK;
}

void tern_recompute_open(tern_ctx *ctx)
{
    if (ctx && tern__recorder_of(ctx)->open_segments++ == 0)
        tern__recorder_of(ctx)->segment++;
}

void tern_recompute_close(tern_ctx *ctx)
{
    if (ctx && tern__recorder_of(ctx)->open_segments > 0)
        tern__recorder_of(ctx)->open_segments--;
}

tern_status tern_grad(tern_tensor *loss, int n, tern_tensor *const *params, tern_tensor **grads)
{
    TERN_TRY(check_arguments(loss, n, params, grads));
    backward b = {.ctx = loss->node->ctx};
    tern_status status = TERN_OK;
    TERN_SCOPE(b.ctx) {
        status = add_params(&b, n, params);
        if (status == TERN_OK)
            status = collect(&b, loss);
        if (status == TERN_OK)
            status = find_dependent(&b);
        if (status == TERN_OK)
            status = walk_back(&b, loss);
        if (status == TERN_OK)
            status = take_sums(&b, loss, n, params, grads);
    }
    if (status == TERN_OK)
        hand_over(b.ctx, n, grads);
    tern__free(b.nodes);
    tern__free(b.again);
    tern__free(b.adjoints);
    return status;
}

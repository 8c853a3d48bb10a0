/* node.c - life and death of recorded nodes. */
#include "graph/node.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"

/* Nodes are recycled by size within a context: recording a small op must cost tens of nanoseconds. Under
 * AddressSanitizer each is its own allocation, so that use after free is seen. */
#if defined(__SANITIZE_ADDRESS__)
#define RECYCLE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECYCLE 0
#endif
#endif
#ifndef RECYCLE
#define RECYCLE 1
#endif

static void *node_alloc(tern__recorder *r, size_t bytes)
{
    size_t size_class = (bytes + TERN__NODE_CLASS_BYTES - 1) / TERN__NODE_CLASS_BYTES;
    if (!RECYCLE || size_class >= TERN__NODE_CLASSES)
        return tern__alloc(bytes);
    void *block = r->free_nodes[size_class];
    if (block) {
        memcpy(&r->free_nodes[size_class], block, sizeof block);
        return block;
    }
    return tern__arena_alloc(&r->node_memory, size_class * TERN__NODE_CLASS_BYTES);
}

static void node_free(tern__recorder *r, void *block, size_t bytes)
{
    size_t size_class = (bytes + TERN__NODE_CLASS_BYTES - 1) / TERN__NODE_CLASS_BYTES;
    if (!RECYCLE || size_class >= TERN__NODE_CLASSES) {
        tern__free(block);
        return;
    }
    memcpy(block, &r->free_nodes[size_class], sizeof block);
    r->free_nodes[size_class] = block;
}

/* Bytes that the attributes need besides their array: ints and texts are copied behind it. */
static size_t attr_payload(const tern__op *op, const tern__attr *attrs)
{
    size_t bytes = 0;
    for (int i = 0; i < op->n_attrs; i++) {
        if (op->attrs[i].kind == TERN__ATTR_INTS)
            bytes += attrs[i].count * sizeof(int64_t);
        else if (op->attrs[i].kind == TERN__ATTR_TEXT)
            bytes += ((size_t)attrs[i].count + 8) & ~(size_t)7;
    }
    return bytes;
}

static void copy_attrs(const tern__op *op, const tern__attr *from, tern__attr *to, char *payload)
{
    for (int i = 0; i < op->n_attrs; i++) {
        to[i] = from[i];
        if (op->attrs[i].kind == TERN__ATTR_INTS) {
            to[i].ints = (int64_t *)(void *)payload;
            if (from[i].count)
                memcpy(payload, from[i].ints, from[i].count * sizeof(int64_t));
            payload += from[i].count * sizeof(int64_t);
        } else if (op->attrs[i].kind == TERN__ATTR_TEXT) {
            if (from[i].count)
                memcpy(payload, from[i].text, from[i].count);
            payload[from[i].count] = '\0';
            to[i].text = payload;
            payload += ((size_t)from[i].count + 8) & ~(size_t)7;
        }
    }
}

tern__node *tern__node_new(tern_ctx *ctx, tern__opcode op, uint32_t n_in, const tern__attr *attrs,
                           uint32_t n_out)
{
    tern__recorder *r = tern__recorder_of(ctx);
    const tern__op *row = &tern__ops[op];
    size_t head = sizeof(tern__node) + n_out * sizeof(tern_tensor);
    size_t edges = n_in * sizeof(tern__edge);
    size_t attr_bytes = attrs ? (size_t)row->n_attrs * sizeof(tern__attr) : 0;
    size_t payload = attrs ? attr_payload(row, attrs) : 0;
    size_t bytes = head + edges + attr_bytes + payload;
    char *memory = bytes <= UINT32_MAX ? node_alloc(r, bytes) : NULL;
    if (!memory)
        return NULL;
    tern__node *node = (tern__node *)(void *)memory;
    *node = (tern__node){.ctx = ctx, .op = op, .n_in = n_in, .n_out = n_out, .bytes = (uint32_t)bytes};
    node->origin = tern__origin_now(ctx);
    node->segment = r->open_segments ? r->segment : 0;
    for (uint32_t i = 0; i < n_out; i++)
        node->out[i] = (tern_tensor){.node = node, .result = i};
    node->in = (tern__edge *)(void *)(memory + head);
    if (attrs) {
        node->attrs = (tern__attr *)(void *)(memory + head + edges);
        copy_attrs(row, attrs, node->attrs, memory + head + edges + attr_bytes);
    }
    node->next = r->nodes;
    if (r->nodes)
        r->nodes->prev = node;
    r->nodes = node;
    r->n_nodes++;
    return node;
}

void tern__node_own(tern__node *node)
{
    tern__recorder *r = tern__recorder_of(node->ctx);
    node->refs++;
    if (r->n_scopes == 0) {
        node->caller_refs++;
        return;
    }
    tern__scope *scope = &r->scopes[r->n_scopes - 1];
    node->scope_next = scope->nodes;
    scope->nodes = node;
}

/* A storage lists the tensors that have pending readers. Frozen ones are never written, so nobody has to be found through
 * them; they may be other contexts' too. */
static void alias_link(tern_tensor *t)
{
    tern__storage *storage = t->storage;
    if (!storage || storage->frozen || t->listed || !t->readers)
        return;
    t->listed = true;
    t->alias_prev = NULL;
    t->alias_next = storage->tensors;
    if (storage->tensors)
        storage->tensors->alias_prev = t;
    storage->tensors = t;
}

static void alias_unlink(tern_tensor *t)
{
    if (!t->listed)
        return;
    t->listed = false;
    if (t->alias_prev)
        t->alias_prev->alias_next = t->alias_next;
    else
        t->storage->tensors = t->alias_next;
    if (t->alias_next)
        t->alias_next->alias_prev = t->alias_prev;
    t->alias_prev = t->alias_next = NULL;
}

void tern__edge_link(tern__edge *edge, tern__node *reader, tern_tensor *source)
{
    *edge = (tern__edge){.source = source, .reader = reader, .next = source->readers};
    if (source->readers)
        source->readers->prev = edge;
    source->readers = edge;
    source->node->refs++;
    alias_link(source);
}

static void edge_unlink(tern__edge *edge)
{
    if (edge->prev)
        edge->prev->next = edge->next;
    else
        edge->source->readers = edge->next;
    if (edge->next)
        edge->next->prev = edge->prev;
    if (!edge->source->readers)
        alias_unlink(edge->source);
}

static void tensor_clear(tern_tensor *t)
{
    if (t->storage) {
        alias_unlink(t);
        tern__storage_release(t->storage);
        t->storage = NULL;
    }
    tern__storage_release(t->dense);
    t->dense = NULL;
    tern__free(t->name);
    t->name = NULL;
}

static void node_destroy(tern__recorder *r, tern__node *node)
{
    for (uint32_t i = 0; i < node->n_out; i++)
        tensor_clear(&node->out[i]);
    if (node->error && --node->error->refs == 0)
        tern__free(node->error);
    if (node->prev)
        node->prev->next = node->next;
    else
        r->nodes = node->next;
    if (node->next)
        node->next->prev = node->prev;
    r->n_nodes--;
    node_free(r, node, node->bytes);
}

/* Takes the node's operands away; those that nobody else holds join `*dead`, linked by scope_next (a node without
 * references is in no scope). */
static void let_operands_go(tern__node *node, tern__node **dead)
{
    if (node->n_in && (tern__ops[node->op].flags & TERN__WRITES)) {
        tern_tensor *target = node->in[0].source;
        if (target->storage && target->storage->pending_write == node)
            target->storage->pending_write = NULL;
        if (!node->out[0].storage)
            target->consumed = false; /* it never ran: the target is what it was */
    }
    for (uint32_t i = 0; i < node->n_in; i++) {
        tern__node *source = node->in[i].source->node;
        edge_unlink(&node->in[i]);
        if (--source->refs == 0) {
            source->scope_next = *dead;
            *dead = source;
        }
    }
    node->n_in = 0;
    node->depth = 0;
}

static void destroy_all(tern__recorder *r, tern__node *dead)
{
    while (dead) {
        tern__node *node = dead;
        dead = node->scope_next;
        let_operands_go(node, &dead);
        node_destroy(r, node);
    }
}

void tern__node_drop(tern__node *node)
{
    if (--node->refs > 0)
        return;
    node->scope_next = NULL;
    destroy_all(tern__recorder_of(node->ctx), node);
}

void tern__tensor_set(tern_tensor *t, tern__storage *storage, const tern__layout *layout)
{
    if (t->storage)
        tensor_clear(t);
    tern__storage_retain(storage);
    t->storage = storage;
    t->layout = *layout;
    alias_link(t);

    tern__node *node = t->node;
    for (uint32_t i = 0; i < node->n_out; i++)
        if (!node->out[i].storage)
            return;
    tern__node *dead = NULL;
    let_operands_go(node, &dead);
    tern__node *writer = t->consumed ? tern__writer_of(t) : NULL;
    if (writer)
        storage->pending_write = writer;
    destroy_all(tern__recorder_of(node->ctx), dead);
}

void tern__node_fail(tern__node *node, tern_status status)
{
    tern__error *error = tern__error_make(status);
    if (!error)
        return; /* it stays pending, and fails again when it is asked for */
    error->refs++;
    node->error = error;
    tern__node *dead = NULL;
    let_operands_go(node, &dead);
    destroy_all(tern__recorder_of(node->ctx), dead);
}

tern__node *tern__writer_of(const tern_tensor *t)
{
    for (tern__edge *edge = t->readers; edge; edge = edge->next)
        if ((tern__ops[edge->reader->op].flags & TERN__WRITES) && edge == &edge->reader->in[0])
            return edge->reader;
    return NULL;
}

void tern__recorder_init(tern__recorder *r, tern_pool *pool, const tern__evaluator *evaluator)
{
    memset(r, 0, sizeof *r);
    r->pool = pool;
    r->evaluator = evaluator;
    tern__arena_init(&r->node_memory, 64 * 1024);
}

void tern__recorder_clear(tern__recorder *r)
{
    while (r->nodes)
        node_destroy(r, r->nodes);
    tern__free(r->scopes);
    tern__free(r->origins);
    tern__free(r->stack);
    tern__free(r->writes);
    tern__free(r->captured);
    tern__free(r->inputs);
    tern__arena_free(&r->node_memory);
}

/* ---- scopes and references of the caller's ---- */

void tern_scope_open(tern_ctx *ctx)
{
    if (!ctx)
        return;
    tern__recorder *r = tern__recorder_of(ctx);
    /* Without memory for a scope its tensors fall to the enclosing one: they live longer, nothing breaks. */
    if (!tern__grow((void **)&r->scopes, &r->cap_scopes, r->n_scopes + 1, sizeof *r->scopes)) {
        r->lost_scopes++;
        return;
    }
    r->scopes[r->n_scopes++].nodes = NULL;
}

void tern_scope_close(tern_ctx *ctx)
{
    if (!ctx)
        return;
    tern__recorder *r = tern__recorder_of(ctx);
    if (r->lost_scopes) {
        r->lost_scopes--;
        return;
    }
    if (r->n_scopes == 0)
        return;
    tern__node *node = r->scopes[--r->n_scopes].nodes;
    while (node) {
        tern__node *next = node->scope_next;
        node->scope_next = NULL;
        tern__node_drop(node);
        node = next;
    }
}

tern_scope_guard tern_scope_guard_open(tern_ctx *ctx)
{
    tern_scope_open(ctx);
    return (tern_scope_guard){.ctx = ctx, .open = 1};
}

void tern_scope_guard_close(tern_scope_guard *guard)
{
    if (!guard || !guard->open)
        return;
    guard->open = 0;
    tern_scope_close(guard->ctx);
}

tern_tensor *tern_keep(tern_tensor *t)
{
    if (t && t->node) {
        t->node->refs++;
        t->node->caller_refs++;
    }
    return t;
}

void tern_release(tern_tensor *t)
{
    if (!t || !t->node)
        return;
    if (t->node->caller_refs == 0) {
        tern__log(TERN_LOG_WARN, "tern_release: the tensor belongs to a scope and was not kept; ignored");
        return;
    }
    t->node->caller_refs--;
    tern__node_drop(t->node);
}

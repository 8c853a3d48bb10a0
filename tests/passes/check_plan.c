/* check_plan.c - the replay: every byte of every block carries the value that was last written to it. */
#include "check_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/region.h"

/* Tags of bytes: a value of the graph, or one of these. */
static const uint32_t NOBODY = UINT32_MAX;

typedef struct block {
    uint32_t *tags;
    size_t bytes;
    int64_t low; /* of leaves: the first byte, as their layouts count */
} block;

typedef struct replay {
    const tern_graph *g;
    const tern__plan *plan;
    block *leaves;  /* (n_leaves); one that shares the memory of another has no tags */
    block *outputs; /* (n_blocks) */
    block arena;
    bool *has_step; /* (n_nodes) */
    char *why;
    size_t room;
} replay;

static bool wrong(const replay *r, uint32_t step, const char *what, const tern__operand *o)
{
    const char *op = step < r->plan->n_steps ? tern__ops[r->plan->steps[step].op].name : "result";
    snprintf(r->why, r->room, "step %u (%s): %s: value %u in space %d, block %u, byte %zu", step, op, what,
             o ? o->value : 0, o ? (int)o->space : -1, o ? o->index : 0, o ? o->byte_offset : 0);
    return false;
}

static bool block_make(block *b, size_t bytes, uint32_t tag)
{
    b->bytes = bytes;
    b->tags = malloc((bytes ? bytes : 1) * sizeof *b->tags);
    for (size_t i = 0; b->tags && i < bytes; i++)
        b->tags[i] = tag;
    return b->tags != NULL;
}

/* The leaf whose tags stand for leaf `i`: the first with its memory. */
static uint32_t shared_leaf(const tern_graph *g, uint32_t i)
{
    for (uint32_t k = 0; g->leaves[i].alias != TERN__NO_ID && k < i; k++)
        if (g->leaves[k].alias == g->leaves[i].alias)
            return k;
    return i;
}

/* Bytes from the start of the operand's block to its first element. Operands in leaves count from the leaf's first
 * element, wherever in its storage that is. */
static int64_t start_of(const replay *r, const block *b, const tern__operand *o)
{
    if (o->space != TERN__SPACE_LEAF)
        return (int64_t)o->byte_offset;
    const tern__leaf *leaf = &r->g->leaves[o->index];
    int64_t unit = (int64_t)tern__dtype_unit_bytes(r->g->values[r->g->nodes[leaf->node].out].type.dtype);
    return (int64_t)o->byte_offset + leaf->layout.offset * unit - b->low;
}

static block *block_of(replay *r, const tern__operand *o)
{
    if (o->space == TERN__SPACE_ARENA)
        return &r->arena;
    if (o->space == TERN__SPACE_OUTPUT)
        return o->index < r->plan->n_blocks ? &r->outputs[o->index] : NULL;
    return o->index < r->g->n_leaves ? &r->leaves[shared_leaf(r->g, o->index)] : NULL;
}

/* The value that the bytes of `value` should carry: what a step computed, behind views that need none. An update
 * without a step was made by the step that computed what it writes. */
static uint32_t writer_of(const replay *r, tern__id value)
{
    for (;;) {
        tern__id n = r->g->values[value].node;
        const tern__gnode *node = &r->g->nodes[n];
        if (node->leaf != TERN__NO_ID)
            return r->g->nodes[r->g->leaves[shared_leaf(r->g, node->leaf)].node].out;
        if (r->has_step[n])
            return value;
        value = tern__ops[node->op].flags & TERN__WRITES ? node->in[1] : node->in[0];
    }
}

/* Calls `touch` with every run of bytes of the operand; false as soon as it gives false. */
typedef bool touch_fn(block *b, size_t first, size_t bytes, void *user);

static bool each_run(const replay *r, block *b, const tern__operand *o, touch_fn *touch, void *user)
{
    const tern__type *t = o->type;
    int64_t unit = (int64_t)tern__dtype_unit_bytes(t->dtype), index[TERN__MAX_RANK] = {0};
    bool packed = tern__dtype_is_packed(t->dtype) && t->rank > 0;
    int axes = packed ? t->rank - 1 : t->rank;
    int64_t run = packed ? tern__row_units(t->dtype, t->shape[t->rank - 1]) * unit : unit;
    if (tern__type_numel(t) == 0)
        return true;
    for (;;) {
        int64_t at = start_of(r, b, o);
        for (int i = 0; i < axes; i++)
            at += index[i] * o->strides[i] * unit;
        if (at < 0 || (size_t)(at + run) > b->bytes || !touch(b, (size_t)at, (size_t)run, user))
            return false;
        int i = axes - 1;
        while (i >= 0 && ++index[i] == t->shape[i])
            index[i--] = 0;
        if (i < 0)
            return true;
    }
}

static bool carries(block *b, size_t first, size_t bytes, void *user)
{
    for (size_t i = first; i < first + bytes; i++)
        if (b->tags[i] != *(uint32_t *)user)
            return false;
    return true;
}

static bool put(block *b, size_t first, size_t bytes, void *user)
{
    for (size_t i = first; i < first + bytes; i++)
        b->tags[i] = *(uint32_t *)user;
    return true;
}

static bool same_view(const tern__operand *a, const tern__operand *b)
{
    if (a->byte_offset != b->byte_offset || a->type->rank != b->type->rank ||
        tern__dtype_unit_bytes(a->type->dtype) != tern__dtype_unit_bytes(b->type->dtype))
        return false;
    for (int i = 0; i < a->type->rank; i++)
        if (a->type->shape[i] != b->type->shape[i] ||
            (a->type->shape[i] > 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

/* Is the operand exactly one of the first n results? */
static bool is_one_of(const tern__operand *in, const tern__operand *out, uint32_t n)
{
    for (uint32_t p = 0; p < n; p++)
        if (in->space == out[p].space && in->index == out[p].index && same_view(in, &out[p]))
            return true;
    return false;
}

/* What a kernel may assume: results apart from each other and from the operands, unless they are an operand exactly. */
static bool check_apart(replay *r, uint32_t number)
{
    const tern__step *step = &r->plan->steps[number];
    const tern__operand *in = r->plan->operands + step->operands, *out = in + step->n_in;
    for (uint32_t o = 0; o < step->n_out; o++) {
        block *b = block_of(r, &out[o]);
        uint32_t tag = NOBODY - 1 - o; /* a tag that nobody has */
        if (!each_run(r, b, &out[o], put, &tag))
            return wrong(r, number, "a result lies outside its block", &out[o]);
        for (uint32_t p = 0; p < o; p++) {
            uint32_t mine = NOBODY - 1 - p;
            if (!each_run(r, block_of(r, &out[p]), &out[p], carries, &mine))
                return wrong(r, number, "two results share bytes", &out[o]);
        }
        for (uint32_t i = 0; i < step->n_in; i++) {
            uint32_t expected = writer_of(r, in[i].value);
            if (block_of(r, &in[i]) != b || each_run(r, b, &in[i], carries, &expected))
                continue;
            if (is_one_of(&in[i], out, o)) /* and results are apart */
                continue;
            bool target = i == 0 && (tern__ops[step->op].flags & TERN__WRITES);
            bool reads_first = step->op == TERN__OP_fused
                                   ? tern__region_may_overwrite(step->attrs[0].region, (int)i, (int)o)
                                   : (tern__ops[step->op].flags & TERN__ELEMENTWISE) != 0;
            if (!target && !(reads_first && same_view(&in[i], &out[o])))
                return wrong(r, number, "a result overlaps an operand", &in[i]);
        }
    }
    return true;
}

static bool is_written_leaf(const replay *r, const tern__operand *o)
{
    return o->space != TERN__SPACE_LEAF || r->g->nodes[r->g->leaves[o->index].node].op == TERN__OP_state;
}

/* Can every item of the step have a share of its own of what it is said to stream? */
static bool streams_items(const replay *r, const tern__step *step)
{
    if (step->streamed >= step->n_in)
        return false;
    const tern__operand *o = &r->plan->operands[step->operands + step->streamed];
    return o->space == TERN__SPACE_LEAF && step->work > 0 && o->type->shape[0] == step->work;
}

static bool replay_step(replay *r, uint32_t number)
{
    const tern__step *step = &r->plan->steps[number];
    const tern__operand *in = r->plan->operands + step->operands, *out = in + step->n_in;
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++) {
        if (!block_of(r, &in[i]))
            return wrong(r, number, "there is no such block", &in[i]);
    }
    /* The step may leave anything in its scratch. */
    uint32_t scratch = NOBODY - 1 - TERN__MAX_RESULTS_FIXED - number;
    size_t scratch_bytes = step->scratch_bytes * (size_t)step->parts + step->shared_bytes;
    if (scratch_bytes > 0 && (step->scratch_offset % TERN__ALIGN || step->scratch_bytes % TERN__ALIGN ||
                              step->shared_bytes % TERN__ALIGN))
        return wrong(r, number, "its scratch, or a worker's part of it, is not aligned", in);
    if (step->scratch_offset + scratch_bytes > r->arena.bytes)
        return wrong(r, number, "its scratch lies outside the arena", in);
    if (step->streamed && !streams_items(r, step))
        return wrong(r, number, "does not stream that operand: no equal share of it for each item", in);
    put(&r->arena, step->scratch_offset, scratch_bytes, &scratch);
    for (uint32_t i = 0; i < step->n_in; i++) {
        uint32_t expected = writer_of(r, in[i].value);
        if (!each_run(r, block_of(r, &in[i]), &in[i], carries, &expected))
            return wrong(r, number, "reads what another step wrote, or nobody", &in[i]);
    }
    for (uint32_t o = 0; o < step->n_out; o++)
        if (!is_written_leaf(r, &out[o]))
            return wrong(r, number, "writes into an input or a constant", &out[o]);
    if (!check_apart(r, number))
        return false;
    if (!carries(&r->arena, step->scratch_offset, scratch_bytes, &scratch))
        return wrong(r, number, "a result lies in the scratch of the step", out);
    for (uint32_t o = 0; o < step->n_out; o++) {
        uint32_t tag = out[o].value;
        each_run(r, block_of(r, &out[o]), &out[o], put, &tag);
    }
    return true;
}

static bool are_aligned(const replay *r)
{
    for (uint32_t i = 0; i < r->plan->n_buffers; i++)
        if (r->plan->buffers[i].offset % TERN__ALIGN) {
            snprintf(r->why, r->room, "the buffer of value %u is not aligned: byte %zu",
                     r->plan->buffers[i].value, r->plan->buffers[i].offset);
            return false;
        }
    return true;
}

static bool replay_all(replay *r)
{
    if (!are_aligned(r))
        return false;
    for (uint32_t s = 0; s < r->plan->n_steps; s++)
        if (!replay_step(r, s))
            return false;
    for (uint32_t i = 0; i < r->plan->n_results; i++) {
        const tern__operand *at = &r->plan->results[i].at;
        if (!block_of(r, at) || at->space == TERN__SPACE_ARENA)
            return wrong(r, NOBODY, "a result is left in the arena", at);
        uint32_t expected = writer_of(r, at->value);
        if (!each_run(r, block_of(r, at), at, carries, &expected))
            return wrong(r, NOBODY, "a result was overwritten", at);
    }
    return true;
}

static bool prepare(replay *r)
{
    const tern_graph *g = r->g;
    r->leaves = calloc(g->n_leaves + 1, sizeof *r->leaves);
    r->outputs = calloc(r->plan->n_blocks + 1, sizeof *r->outputs);
    r->has_step = calloc(g->n_nodes + 1, sizeof *r->has_step);
    if (!r->leaves || !r->outputs || !r->has_step || !block_make(&r->arena, r->plan->arena_bytes, NOBODY))
        return false;
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        int64_t low = 0, high = 0, first, last;
        if (shared_leaf(g, i) != i)
            continue;
        for (uint32_t k = i; k < g->n_leaves; k++) {
            if (shared_leaf(g, k) != i)
                continue;
            tern__layout_span(&g->values[g->nodes[g->leaves[k].node].out].type, &g->leaves[k].layout, &first,
                              &last);
            low = k == i || first < low ? first : low;
            high = k == i || last > high ? last : high;
        }
        if (!block_make(&r->leaves[i], (size_t)(high - low), g->nodes[g->leaves[i].node].out))
            return false;
        r->leaves[i].low = low;
    }
    for (uint32_t i = 0; i < r->plan->n_blocks; i++)
        if (!block_make(&r->outputs[i], r->plan->block_bytes[i], NOBODY))
            return false;
    for (uint32_t s = 0; s < r->plan->n_steps; s++)
        r->has_step[r->plan->steps[s].node] = true;
    return true;
}

bool check_plan(const tern_graph *g, const tern__plan *plan, char *why, size_t room)
{
    replay r = {.g = g, .plan = plan, .why = why, .room = room};
    snprintf(why, room, "out of memory");
    bool sound = prepare(&r) && replay_all(&r);
    for (uint32_t i = 0; r.leaves && i < g->n_leaves; i++)
        free(r.leaves[i].tags);
    for (uint32_t i = 0; r.outputs && i < plan->n_blocks; i++)
        free(r.outputs[i].tags);
    free(r.leaves);
    free(r.outputs);
    free(r.arena.tags);
    free(r.has_step);
    return sound;
}

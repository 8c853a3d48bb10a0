/* watch_plan.c - see watch_plan.h. A plan is described once for each listener: what its arena holds at each step, and which
 * results could have been written over operands. */
#include "runtime/watch_plan.h"

#include <stdio.h>

#include "base/intern.h"
#include "graph/region.h"

/* ---- what a step could do in place ---- */

static const tern__buffer_plan *buffer_of(const tern__plan *plan, const tern__operand *o, uint32_t step)
{
    for (uint32_t i = 0; o->space == TERN__SPACE_ARENA && i < plan->n_buffers; i++) {
        const tern__buffer_plan *b = &plan->buffers[i];
        if (b->first <= step && step <= b->last && b->offset <= o->byte_offset &&
            o->byte_offset < b->offset + b->bytes)
            return b;
    }
    return NULL;
}

static bool is_dense(const tern__operand *o)
{
    tern__layout dense;
    tern__layout_contiguous(o->type, &dense);
    for (int i = 0; i < o->type->rank; i++)
        if (o->strides[i] != dense.strides[i] && o->type->shape[i] > 1)
            return false;
    return true;
}

static bool reads_first(const tern__step *step, uint32_t operand, uint32_t result)
{
    if (step->op == TERN__OP_fused)
        return tern__region_may_overwrite(step->attrs[TERN__ATTR_fused_body].region, (int)operand,
                                          (int)result);
    return (tern__ops[step->op].flags & TERN__ELEMENTWISE) && step->n_out == 1;
}

/* The rule of passes/inplace.c, by the plan instead of the graph: operand k ends with this step, fills its buffer like the
 * result does, and whatever else the step reads there is the same view. */
static bool could_overwrite(const tern__plan *plan, uint32_t s, uint32_t k, uint32_t r)
{
    const tern__step *step = &plan->steps[s];
    const tern__operand *all = &plan->operands[step->operands], *in = &all[k], *out = &all[step->n_in + r];
    const tern__buffer_plan *from = buffer_of(plan, in, s), *to = buffer_of(plan, out, s);
    if (!from || !to || from == to || from->last != s || to->first != s || from->bytes != to->bytes ||
        in->byte_offset != from->offset || out->byte_offset != to->offset ||
        !tern__shape_equal(in->type, out->type) ||
        tern__dtype_unit_bytes(in->type->dtype) != tern__dtype_unit_bytes(out->type->dtype) || !is_dense(in))
        return false;
    for (uint32_t i = 0; i < step->n_in; i++)
        if (buffer_of(plan, &all[i], s) == from &&
            !(all[i].byte_offset == in->byte_offset && is_dense(&all[i]) && reads_first(step, i, r)))
            return false;
    return true;
}

static uint64_t in_place_bytes(const tern__plan *plan, uint32_t s)
{
    const tern__step *step = &plan->steps[s];
    const tern__operand *all = &plan->operands[step->operands];
    uint64_t bytes = 0, taken = 0; /* operands, of the first 64 */
    for (uint32_t r = 0; r < step->n_out; r++)
        for (uint32_t k = 0; k < step->n_in && k < 64; k++)
            if (!(taken >> k & 1) && could_overwrite(plan, s, k, r)) {
                taken |= (uint64_t)1 << k;
                bytes += buffer_of(plan, &all[step->n_in + r], s)->bytes;
                break;
            }
    return bytes;
}

/* ---- the plan ---- */

static void describe(const tern__watcher *watcher, const tern__plan *plan)
{
    tern__watch_plan told = {.number = plan->number,
                             .n_steps = plan->n_steps,
                             .arena_bytes = plan->arena_bytes,
                             .live_bytes = plan->live_bytes,
                             .naive_bytes = plan->naive_bytes};
    for (uint32_t i = 0; i < plan->n_blocks; i++)
        told.result_bytes += plan->block_bytes[i];
    tern__watch_step *steps = watcher->plan(&told);
    if (!steps)
        return;
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const tern__step *step = &plan->steps[s];
        steps[s] =
            (tern__watch_step){.label = step->label,
                               .where = step->where,
                               .live_bytes = step->shared_bytes + step->scratch_bytes * (size_t)step->parts,
                               .in_place_bytes = in_place_bytes(plan, s)};
    }
    for (uint32_t i = 0; i < plan->n_buffers; i++)
        for (uint32_t s = plan->buffers[i].first; s <= plan->buffers[i].last; s++)
            steps[s].live_bytes += plan->buffers[i].bytes;
}

uint64_t tern__watch_run_begin_slow(const tern__watcher *watcher, const tern__plan *plan)
{
    if (!watcher->knows(plan->number))
        describe(watcher, plan);
    watcher->run(plan->number, true);
    return watcher->enter(
        &(tern__watch_frame){.name = "run", .category = "run", .program = plan->number, .step = UINT32_MAX});
}

/* ---- tensors ---- */

static const char *tensor_text(const char *name, const tern__type *type)
{
    char text[2 * TERN__TYPE_TEXT + 2], of[TERN__TYPE_TEXT];
    snprintf(text, sizeof text, "%.*s%s%s", TERN__TYPE_TEXT, name ? name : "", name ? " " : "",
             tern__type_text(type, of));
    return tern__intern(text);
}

uint64_t tern__watch_block_slow(const tern__watcher *watcher, const tern__plan *plan, uint32_t block)
{
    tern__watch_frame frame = {
        .name = "result", .category = "step", .program = plan->number, .step = UINT32_MAX};
    const tern__type *type = NULL;
    const char *name = NULL;
    for (uint32_t s = 0; s < plan->n_steps && !type; s++)
        for (uint32_t i = 0; i < plan->steps[s].n_out && !type; i++) {
            const tern__operand *o = &plan->operands[plan->steps[s].operands + plan->steps[s].n_in + i];
            if (o->space != TERN__SPACE_OUTPUT || o->index != block)
                continue;
            type = o->type;
            frame.name = plan->steps[s].label;
            frame.where = plan->steps[s].where;
            frame.step = s;
        }
    for (uint32_t i = 0; i < plan->n_results && !name; i++)
        if (plan->results[i].at.space == TERN__SPACE_OUTPUT && plan->results[i].at.index == block)
            name = plan->results[i].name;
    frame.tensor = type ? tensor_text(name, type) : tern__intern(name);
    return watcher->enter(&frame);
}

uint64_t tern__watch_tensor_slow(const tern__watcher *watcher, const char *maker, const char *name,
                                 const char *where, const tern__type *type)
{
    return watcher->enter(&(tern__watch_frame){.name = maker,
                                               .category = "tensor",
                                               .where = tern__intern(where),
                                               .tensor = tensor_text(name, type),
                                               .step = UINT32_MAX});
}

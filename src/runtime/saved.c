/* saved.c - what must be copied before a partition runs, so that it can run again (loaded.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "runtime/loaded.h"

tern__span tern__span_of(const tern__operand *operand, uint32_t step)
{
    tern__layout layout = {.offset = 0};
    int64_t low, high;
    memcpy(layout.strides, operand->strides, (size_t)operand->type->rank * sizeof *layout.strides);
    tern__layout_span(operand->type, &layout, &low, &high);
    return (tern__span){.space = operand->space,
                        .index = operand->index,
                        .low = low + (int64_t)operand->byte_offset,
                        .high = high + (int64_t)operand->byte_offset,
                        .step = step};
}

/* ---- hazards ---- */

static tern_status add(tern__spans *spans, const tern__span *span)
{
    if (span->low >= span->high)
        return TERN_OK;
    if (!tern__grow((void **)&spans->items, &spans->capacity, spans->n + 1, sizeof *spans->items))
        return tern__out_of_memory(sizeof *spans->items);
    spans->items[spans->n++] = *span;
    return TERN_OK;
}

static bool same_place(const tern__span *a, const tern__span *b)
{
    return a->space == b->space && a->index == b->index;
}

/* Does one of the spans hold all of it? */
static bool covered(const tern__spans *spans, const tern__span *span)
{
    for (size_t i = 0; i < spans->n; i++)
        if (same_place(&spans->items[i], span) && spans->items[i].low <= span->low &&
            spans->items[i].high >= span->high)
            return true;
    return false;
}

static bool touched(const tern__spans *spans, const tern__span *span)
{
    for (size_t i = 0; i < spans->n; i++)
        if (same_place(&spans->items[i], span) && spans->items[i].low < span->high &&
            spans->items[i].high > span->low)
            return true;
    return false;
}

/* Every byte of its span is written: a read behind it sees what the partition made. */
static bool fills(const tern__step *step, const tern__operand *out)
{
    tern__layout layout = {.offset = 0};
    memcpy(layout.strides, out->strides, (size_t)out->type->rank * sizeof *layout.strides);
    return !(tern__ops[step->op].flags & TERN__WRITES) && tern__layout_is_contiguous(out->type, &layout);
}

/* The state that a write changes is operand 0, of which it reads nothing. */
static bool reads(const tern__step *step, uint32_t i)
{
    return i > 0 || !(tern__ops[step->op].flags & TERN__WRITES);
}

/* `old`: read as the partition found it; `made`: written by it, in whole. Both of the arena and of blocks. */
static tern_status note_step(const tern__plan *plan, uint32_t s, tern__hazards *h, tern__spans *old,
                             tern__spans *made)
{
    const tern__step *step = &plan->steps[s];
    for (uint32_t i = 0; i < step->n_in; i++) {
        const tern__operand *o = &plan->operands[step->operands + i];
        const tern__span span = tern__span_of(o, s);
        if (o->constant || !reads(step, i))
            continue;
        if (o->space == TERN__SPACE_LEAF)
            TERN_TRY(covered(&h->reads, &span) ? TERN_OK : add(&h->reads, &span));
        else if (!covered(made, &span) && !covered(old, &span))
            TERN_TRY(add(old, &span));
    }
    for (uint32_t i = 0; i < step->n_out; i++) {
        const tern__operand *o = &plan->operands[step->operands + step->n_in + i];
        const tern__span span = tern__span_of(o, s);
        if (o->space == TERN__SPACE_LEAF) {
            TERN_TRY(add(&h->writes, &span));
            continue;
        }
        if (touched(old, &span) && !covered(&h->fixed, &span))
            TERN_TRY(add(&h->fixed, &span));
        if (fills(step, o) && !covered(made, &span))
            TERN_TRY(add(made, &span));
    }
    return TERN_OK;
}

/* The leaves of the spans, behind those that are listed. */
static tern_status list_leaves(tern__hazards *h, const tern__spans *spans)
{
    for (size_t i = 0; i < spans->n; i++) {
        const uint32_t leaf = spans->items[i].index;
        size_t k = 0;
        while (k < h->n_leaves && h->leaves[k] != leaf)
            k++;
        if (k < h->n_leaves)
            continue;
        if (!tern__grow((void **)&h->leaves, &h->leaves_capacity, h->n_leaves + 1, sizeof *h->leaves))
            return tern__out_of_memory(sizeof *h->leaves);
        h->leaves[h->n_leaves++] = leaf;
    }
    return TERN_OK;
}

/* What has to be compared from run to run: nothing, where nothing is written. */
static tern_status prepare_looks(tern__hazards *h)
{
    h->looked = h->writes.n == 0;
    if (h->looked)
        return TERN_OK;
    TERN_TRY(list_leaves(h, &h->writes));
    TERN_TRY(list_leaves(h, &h->reads));
    h->at = tern__alloc_zero(h->n_leaves, sizeof *h->at);
    return h->at ? TERN_OK : tern__out_of_memory(h->n_leaves * sizeof *h->at);
}

tern_status tern__hazards_find(tern__loaded *l)
{
    l->hazards = tern__alloc_zero(l->plan->n_partitions, sizeof *l->hazards);
    if (!l->hazards)
        return tern__out_of_memory(l->plan->n_partitions * sizeof *l->hazards);
    for (uint32_t p = 0; p < l->plan->n_partitions; p++) {
        const tern__partition *part = &l->plan->partitions[p];
        tern__spans old = {0}, made = {0};
        tern_status status = TERN_OK;
        for (uint32_t s = part->first; part->on_device && s < part->end && status == TERN_OK; s++)
            status = note_step(l->plan, s, &l->hazards[p], &old, &made);
        if (status == TERN_OK)
            status = prepare_looks(&l->hazards[p]);
        tern__free(old.items);
        tern__free(made.items);
        TERN_TRY(status);
    }
    return TERN_OK;
}

void tern__hazards_free(tern__loaded *l)
{
    for (uint32_t p = 0; l->hazards && p < l->plan->n_partitions; p++) {
        tern__free(l->hazards[p].fixed.items);
        tern__free(l->hazards[p].reads.items);
        tern__free(l->hazards[p].writes.items);
        tern__free(l->hazards[p].met.items);
        tern__free(l->hazards[p].leaves);
        tern__free(l->hazards[p].at);
    }
    tern__free(l->hazards);
    l->hazards = NULL;
}

/* ---- copies ---- */

tern_status tern__save_add(tern__saved *saved, char *at, size_t bytes)
{
    size_t total;
    TERN__FAIL_IF(!tern__size_add(saved->bytes, bytes, &total), TERN_OVERFLOW,
                  "a partition has more to save than memory can hold");
    if (!tern__grow((void **)&saved->items, &saved->capacity, saved->n + 1, sizeof *saved->items))
        return tern__out_of_memory(sizeof *saved->items);
    saved->items[saved->n++] = (tern__saved_bytes){at, bytes};
    saved->bytes = total;
    return TERN_OK;
}

static tern_status add_span(tern__saved *saved, const tern__span *span, const tern__bindings *bindings)
{
    return tern__save_add(saved, tern__base_of(bindings, span->space, span->index) + span->low,
                          (size_t)(span->high - span->low));
}

/* Do the leaves lie where they did? Notes where they lie. */
static bool lie_as_before(tern__hazards *h, const tern__bindings *bindings)
{
    bool same = h->looked;
    for (size_t i = 0; i < h->n_leaves; i++) {
        const char *at = tern__base_of(bindings, TERN__SPACE_LEAF, h->leaves[i]);
        same = same && h->at[i] == at;
        h->at[i] = at;
    }
    return same;
}

/* Does a step up to the writing one read what the span writes? */
static bool is_read(const tern__hazards *h, const tern__span *to, const tern__bindings *bindings)
{
    const char *base = tern__base_of(bindings, to->space, to->index);
    for (size_t r = 0; r < h->reads.n && h->reads.items[r].step <= to->step; r++) {
        const tern__span *from = &h->reads.items[r];
        const char *read = tern__base_of(bindings, from->space, from->index);
        if (read + from->low < base + to->high && base + to->low < read + from->high)
            return true;
    }
    return false;
}

static tern_status look(tern__hazards *h, const tern__bindings *bindings)
{
    h->looked = false;
    h->met.n = 0;
    for (size_t w = 0; w < h->writes.n; w++)
        if (is_read(h, &h->writes.items[w], bindings))
            TERN_TRY(add(&h->met, &h->writes.items[w]));
    h->looked = true;
    return TERN_OK;
}

tern_status tern__save_hazards(tern__saved *saved, tern__hazards *h, const tern__bindings *bindings)
{
    for (size_t i = 0; i < h->fixed.n; i++)
        TERN_TRY(add_span(saved, &h->fixed.items[i], bindings));
    if (!lie_as_before(h, bindings))
        TERN_TRY(look(h, bindings));
    for (size_t i = 0; i < h->met.n; i++)
        TERN_TRY(add_span(saved, &h->met.items[i], bindings));
    return TERN_OK;
}

tern_status tern__save_take(tern__saved *saved)
{
    if (saved->bytes == 0)
        return TERN_OK;
    saved->copy = tern__alloc(saved->bytes);
    if (!saved->copy)
        return tern__out_of_memory(saved->bytes);
    char *to = saved->copy;
    for (size_t i = 0; i < saved->n; i++) {
        memcpy(to, saved->items[i].at, saved->items[i].bytes);
        to += saved->items[i].bytes;
    }
    return TERN_OK;
}

void tern__save_put_back(const tern__saved *saved)
{
    const char *from = saved->copy;
    for (size_t i = 0; from && i < saved->n; i++) {
        memcpy(saved->items[i].at, from, saved->items[i].bytes);
        from += saved->items[i].bytes;
    }
}

void tern__saved_free(tern__saved *saved)
{
    tern__free(saved->items);
    tern__free(saved->copy);
    *saved = (tern__saved){0};
}

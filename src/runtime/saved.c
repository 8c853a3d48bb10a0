/* saved.c - what must be copied before a partition runs, so that it can run again, and leave no trace where it fails (loaded.h). */
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

static bool meet(const tern__span *a, const tern__span *b)
{
    return same_place(a, b) && a->low < b->high && a->high > b->low;
}

static bool touched(const tern__spans *spans, const tern__span *span)
{
    for (size_t i = 0; i < spans->n; i++)
        if (meet(&spans->items[i], span))
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

/* Which operands of a write say where it writes: from the second on. */
enum { FIRST_PLACE = 2 };

/* Is what the operand reads there before the partition begins, as far as the plan tells? */
static bool is_found(const tern__plan *plan, const tern__partition *part, uint32_t s, const tern__operand *o)
{
    const tern__span span = tern__span_of(o, s);
    for (uint32_t i = part->first; i < s; i++) {
        const tern__step *step = &plan->steps[i];
        for (uint32_t k = 0; k < step->n_out; k++) {
            const tern__span made = tern__span_of(&plan->operands[step->operands + step->n_in + k], i);
            if (meet(&made, &span))
                return false;
        }
    }
    return true;
}

static bool same_span(const tern__span *a, const tern__span *b)
{
    return same_place(a, b) && a->low == b->low && a->high == b->high;
}

/* The step of the partition, before s, that makes just what the operand reads there; false: none does, or several do. */
static bool find_maker(const tern__plan *plan, const tern__partition *part, uint32_t s,
                       const tern__operand *o, uint32_t *maker)
{
    const tern__span span = tern__span_of(o, s);
    for (uint32_t i = s; i-- > part->first;) {
        const tern__step *step = &plan->steps[i];
        for (uint32_t k = 0; k < step->n_out; k++) {
            const tern__span made = tern__span_of(&plan->operands[step->operands + step->n_in + k], i);
            *maker = i;
            if (meet(&made, &span))
                return same_span(&made, &span) && step->n_out == 1;
        }
    }
    return false;
}

/* Where a place of step s is found before the partition begins: an operand of its own, or what it is given a cast of. */
static bool find_place(const tern__plan *plan, const tern__partition *part, uint32_t s, uint32_t operand,
                       tern__write *w, uint32_t *out, tern__hazards *h, tern_status *status)
{
    uint32_t maker = s;
    if (!is_found(plan, part, s, &plan->operands[operand])) {
        if (!find_maker(plan, part, s, &plan->operands[operand], &maker))
            return false;
        const tern__step *step = &plan->steps[maker];
        const tern__operand *from = &plan->operands[step->operands], *to = from + step->n_in;
        if (step->op != TERN__OP_cast || from->type->dtype != TERN_I64 || to->type->dtype != TERN_I32 ||
            from->type->rank != 1 || !is_found(plan, part, maker, from))
            return false;
        operand = step->operands;
        w->cast = true;
    }
    *out = operand;
    const tern__span span = tern__span_of(&plan->operands[operand], maker);
    if (!covered(&h->places, &span))
        *status = add(&h->places, &span);
    return *status == TERN_OK;
}

static tern_status note_write(const tern__plan *plan, const tern__partition *part, uint32_t s,
                              uint32_t operand, tern__hazards *h)
{
    const tern__step *step = &plan->steps[s];
    tern__write w = {.step = s, .operand = operand, .to = tern__span_of(&plan->operands[operand], s)};
    tern_status status = TERN_OK;
    w.placed = step->op == TERN__OP_write_rows || step->op == TERN__OP_write_slice;
    for (uint32_t i = FIRST_PLACE; w.placed && i < step->n_in; i++)
        w.placed = i - FIRST_PLACE < TERN__WRITE_PLACES &&
                   find_place(plan, part, s, step->operands + i, &w, &w.places[i - FIRST_PLACE], h, &status);
    TERN_TRY(status);
    if (!tern__grow((void **)&h->writes, &h->writes_capacity, h->n_writes + 1, sizeof *h->writes))
        return tern__out_of_memory(sizeof *h->writes);
    h->writes[h->n_writes++] = w;
    return TERN_OK;
}

/* `old`: read as the partition found it; `made`: written by it, in whole. Both of the arena and of blocks. */
static tern_status note_step(const tern__plan *plan, const tern__partition *part, uint32_t s,
                             tern__hazards *h, tern__spans *old, tern__spans *made)
{
    const tern__step *step = &plan->steps[s];
    for (uint32_t i = 0; i < step->n_in; i++) {
        const tern__operand *o = &plan->operands[step->operands + i];
        const tern__span span = tern__span_of(o, s);
        if (o->space != TERN__SPACE_LEAF && reads(step, i) && !covered(made, &span) && !covered(old, &span))
            TERN_TRY(add(old, &span));
    }
    for (uint32_t i = 0; i < step->n_out; i++) {
        const uint32_t at = step->operands + step->n_in + i;
        const tern__operand *o = &plan->operands[at];
        const tern__span span = tern__span_of(o, s);
        if (o->space == TERN__SPACE_LEAF) {
            TERN_TRY(note_write(plan, part, s, at, h));
            continue;
        }
        if (touched(old, &span) && !covered(&h->fixed, &span))
            TERN_TRY(add(&h->fixed, &span));
        if (fills(step, o) && !covered(made, &span))
            TERN_TRY(add(made, &span));
    }
    return TERN_OK;
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
            status = note_step(l->plan, part, s, &l->hazards[p], &old, &made);
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
        tern__free(l->hazards[p].places.items);
        tern__free(l->hazards[p].writes);
    }
    tern__free(l->hazards);
    l->hazards = NULL;
}

/* ---- copies ---- */

/* Room for one more. */
static bool make_room(tern__saved *saved)
{
    if (!saved->items) {
        saved->items = saved->few;
        saved->capacity = TERN__SAVED_FEW;
    }
    if (saved->items != saved->few)
        return tern__grow((void **)&saved->items, &saved->capacity, saved->n + 1, sizeof *saved->items);
    if (saved->n < saved->capacity)
        return true;
    tern__saved_bytes *more = NULL;
    size_t capacity = 0;
    if (!tern__grow((void **)&more, &capacity, 2 * saved->n, sizeof *more))
        return false;
    memcpy(more, saved->few, sizeof saved->few);
    saved->items = more;
    saved->capacity = capacity;
    return true;
}

tern_status tern__save_add(tern__saved *saved, char *at, size_t bytes)
{
    size_t total;
    TERN__FAIL_IF(!tern__size_add(saved->bytes, bytes, &total), TERN_OVERFLOW,
                  "a partition has more to save than memory can hold");
    tern__saved_bytes *last = saved->n > 0 ? &saved->items[saved->n - 1] : NULL;
    saved->bytes = total;
    if (last && last->at + last->bytes == at) { /* rows behind each other */
        last->bytes += bytes;
        return TERN_OK;
    }
    if (!make_room(saved))
        return tern__out_of_memory(sizeof *saved->items);
    saved->items[saved->n++] = (tern__saved_bytes){at, bytes};
    return TERN_OK;
}

static tern_status add_span(tern__saved *saved, const tern__span *span, const tern__bindings *bindings)
{
    return tern__save_add(saved, tern__base_of(bindings, span->space, span->index) + span->low,
                          (size_t)(span->high - span->low));
}

/* Elements from `at` on, with axes of their own. */
typedef struct box {
    char *at;
    int rank;
    const int64_t *shape, *strides; /* (rank) in units of `bytes` */
    int64_t bytes;
} box;

/* From its first byte to its last; false: it has none. */
static bool ends_of(const box *b, char **low, char **high)
{
    *low = b->at;
    *high = b->at + b->bytes;
    for (int i = 0; i < b->rank; i++) {
        const int64_t reach = b->strides[i] * b->bytes * (b->shape[i] - 1);
        if (b->shape[i] == 0)
            return false;
        *(reach < 0 ? low : high) += reach;
    }
    return true;
}

/* Piece by piece, where less is saved so than from its first byte to its last. */
static tern_status add_box(tern__saved *saved, const box *b)
{
    char *low, *high;
    if (!ends_of(b, &low, &high))
        return TERN_OK;
    int outer = b->rank;
    int64_t dense = b->bytes, pieces = 1;
    while (outer > 0 && (b->shape[outer - 1] == 1 || b->strides[outer - 1] * b->bytes == dense))
        dense *= b->shape[--outer];
    for (int i = 0; i < outer; i++)
        pieces *= b->shape[i];
    if (pieces * (dense + (int64_t)sizeof *saved->items) >= high - low)
        return tern__save_add(saved, low, (size_t)(high - low));
    for (int64_t piece = 0; piece < pieces; piece++) {
        char *at = b->at;
        int64_t rest = piece;
        for (int i = outer; i-- > 0; rest /= b->shape[i])
            at += rest % b->shape[i] * b->strides[i] * b->bytes;
        TERN_TRY(tern__save_add(saved, at, (size_t)dense));
    }
    return TERN_OK;
}

/* Number i of an operand of places, i64 or i32. */
static int64_t place_at(const tern__operand *o, int64_t i, const tern__bindings *bindings)
{
    const char *from = tern__base_of(bindings, o->space, o->index) + o->byte_offset;
    i *= o->strides[0];
    return o->type->dtype == TERN_I64 ? ((const int64_t *)(const void *)from)[i]
                                      : ((const int32_t *)(const void *)from)[i];
}

/* Is it one number as i64 and as i32? What a cast makes of others is the cast's affair. */
static bool survives_cast(int64_t place)
{
    return place == (int32_t)place;
}

/* What write_rows writes. Rows beyond the state's are the kernel's to refuse, and none is written then. */
static tern_status add_rows(tern__saved *saved, const tern__plan *plan, const tern__write *w, box all,
                            const tern__bindings *bindings)
{
    const tern__operand *in = &plan->operands[plan->steps[w->step].operands],
                        *to = &plan->operands[w->operand];
    const tern__operand *slots = &plan->operands[w->places[0]], *positions = &plan->operands[w->places[1]];
    const int64_t *shape = to->type->shape;
    box row = all;
    row.rank -= 2;
    row.shape += 2;
    row.strides += 2;
    for (int64_t r = 0; r < in[1].type->shape[0]; r++) {
        const int64_t slot = place_at(slots, r, bindings), position = place_at(positions, r, bindings);
        if (w->cast && !(survives_cast(slot) && survives_cast(position)))
            return add_box(saved, &all);
        if (slot < 0 || slot >= shape[0] || position < 0 || position >= shape[1])
            continue;
        row.at = all.at + (slot * to->strides[0] + position * to->strides[1]) * all.bytes;
        TERN_TRY(add_box(saved, &row));
    }
    return TERN_OK;
}

/* What write_slice writes. */
static tern_status add_slice(tern__saved *saved, const tern__plan *plan, const tern__write *w, box slice,
                             const tern__bindings *bindings)
{
    const tern__operand *in = &plan->operands[plan->steps[w->step].operands],
                        *to = &plan->operands[w->operand];
    const box all = slice;
    slice.shape = in[1].type->shape;
    for (int i = 0; i < slice.rank; i++) {
        const int64_t at = place_at(&plan->operands[w->places[0]], i, bindings);
        if (w->cast && !survives_cast(at))
            return add_box(saved, &all);
        if (at < 0 || at > to->type->shape[i] - slice.shape[i])
            return TERN_OK; /* refused, like rows */
        slice.at += at * to->strides[i] * slice.bytes;
    }
    return add_box(saved, &slice);
}

static tern_status add_write(tern__saved *saved, const tern__plan *plan, const tern__write *w, bool steady,
                             const tern__bindings *bindings)
{
    const tern__step *step = &plan->steps[w->step];
    const tern__operand *to = &plan->operands[w->operand];
    const box all = {.at = tern__base_of(bindings, to->space, to->index) + to->byte_offset,
                     .rank = to->type->rank,
                     .shape = to->type->shape,
                     .strides = to->strides,
                     .bytes = (int64_t)tern__dtype_unit_bytes(to->type->dtype)};
    if (w->placed && steady)
        return step->op == TERN__OP_write_rows ? add_rows(saved, plan, w, all, bindings)
                                               : add_slice(saved, plan, w, all, bindings);
    if (!tern__dtype_is_packed(to->type->dtype))
        return add_box(saved, &all);
    return add_span(saved, &w->to, bindings);
}

/* Does nothing that the partition writes lie where a write looks for its places? Leaves may share memory. */
static bool places_stay(const tern__hazards *h, const tern__bindings *bindings)
{
    for (size_t p = 0; p < h->places.n; p++) {
        const tern__span *from = &h->places.items[p];
        const char *read = tern__base_of(bindings, from->space, from->index);
        for (size_t w = 0; from->space == TERN__SPACE_LEAF && w < h->n_writes; w++) {
            const tern__span *to = &h->writes[w].to;
            const char *base = tern__base_of(bindings, to->space, to->index);
            if (read + from->low < base + to->high && base + to->low < read + from->high)
                return false;
        }
    }
    return true;
}

tern_status tern__save_hazards(tern__saved *saved, const tern__plan *plan, const tern__hazards *h,
                               const tern__bindings *bindings)
{
    for (size_t i = 0; i < h->fixed.n; i++)
        TERN_TRY(add_span(saved, &h->fixed.items[i], bindings));
    const bool steady = places_stay(h, bindings);
    for (size_t w = 0; w < h->n_writes; w++)
        TERN_TRY(add_write(saved, plan, &h->writes[w], steady, bindings));
    return TERN_OK;
}

tern_status tern__save_take(tern__saved *saved)
{
    if (saved->bytes == 0)
        return TERN_OK;
    saved->copy = saved->bytes <= sizeof saved->small ? saved->small : tern__alloc(saved->bytes);
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
    if (saved->items != saved->few)
        tern__free(saved->items);
    if (saved->copy != saved->small)
        tern__free(saved->copy);
    tern__saved_begin(saved);
}

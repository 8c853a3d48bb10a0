/* borders.c - what crosses the borders of a partition where an OpenCL device has memory of its own: copies in before the kernels that read
 * them, copies out behind those that write, and inputs of later runs ahead of them. What is a state, and when it need not be copied, says
 * run.c. */
#include "devices/opencl/run.h"

typedef int tern__opencl_borders_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include "base/status.h"

typedef tern__ocl_staged staged;
typedef tern__ocl_slot slot;
typedef tern__ocl_launch launch;

void tern__ocl_note_uses(const tern__plan *plan, tern__code *code, const tern__partition *part)
{
    for (uint32_t i = 0; i < code->n_slots; i++) {
        code->slots[i].read = code->slots[i].written = false;
        code->slots[i].first = code->slots[i].last = TERN__OCL_NOBODY;
    }
    for (uint32_t s = part->first; s < part->end; s++) {
        const launch *l = &code->launches[s];
        for (uint32_t i = 0; l->kernel && i < l->n_operands; i++) {
            slot *at = &code->slots[l->slots[i]];
            const bool writes = i >= plan->steps[s].n_in;
            at->first = at->first == TERN__OCL_NOBODY ? s : at->first;
            at->last = writes ? s : at->last;
            at->read = at->read || !writes;
            at->written = at->written || writes;
        }
    }
}

/* What the partition reads must be there, and so must what it writes parts of. Where it is the whole plan, nobody else has seen
 * the arena or the results. */
static bool is_fetched(const slot *s, bool alone)
{
    if (s->constant || !s->memory || !(s->read || s->written))
        return false;
    return s->space == TERN__SPACE_LEAF || !alone;
}

static bool is_given_back(const slot *s, bool alone)
{
    return s->memory && s->written && !(alone && s->space == TERN__SPACE_ARENA);
}

/* Takes what the device has of the slot, a state: its version. Until the run is over nobody knows what it has. */
static uint64_t take_version(const slot *s)
{
    const uint64_t version = s->own->version;
    s->own->version = 0;
    return version;
}

void tern__ocl_note_versions(const tern__code *code, const tern__bindings *bindings)
{
    for (uint32_t i = 0; i < code->n_slots; i++) {
        const slot *s = &code->slots[i];
        if (s->state && bindings->versions && bindings->versions[s->index] != 0)
            s->own->version = bindings->versions[s->index] + 1;
    }
}

/* Begins to copy to the device; *event belongs to the caller. */
static tern_status copy_in(tern__device *d, cl_mem to, const void *from, size_t bytes, cl_event *event)
{
    cl_command_queue queue;
    TERN_TRY(tern__ocl_lane(d, TERN__OCL_IN, &queue));
    cl_int error = d->cl->EnqueueWriteBuffer(queue, to, CL_FALSE, 0, bytes, from, 0, NULL, event);
    if (error == CL_SUCCESS)
        error = d->cl->Flush(queue); /* others wait for it */
    if (error != CL_SUCCESS)
        return tern__ocl_fail(d, "copying to the device", error);
    d->copied_bytes += bytes;
    return TERN_OK;
}

tern_status tern__ocl_fetch(tern__device *d, const tern__plan *plan, tern__code *code,
                            const tern__bindings *bindings)
{
    const bool alone = plan->n_partitions == 1;
    for (uint32_t i = 0; i < code->n_slots; i++) {
        slot *s = &code->slots[i];
        if (s->arrived || !is_fetched(s, alone))
            continue;
        const uint64_t held = s->state ? take_version(s) : 0;
        if (held != 0 && bindings->versions && held == bindings->versions[s->index])
            continue; /* the very bytes */
        cl_event event = NULL;
        TERN_TRY(copy_in(d, s->memory, s->host, tern__ocl_slot_bytes(s), &event));
        TERN_TRY(tern__ocl_command_add(
            d, &(tern__ocl_command){.event = event, .lane = TERN__OCL_IN, .bytes = tern__ocl_slot_bytes(s)}));
        s->arrived = event;
    }
    return TERN_OK;
}

/* Behind the kernel `after`. */
static tern_status read_back(tern__device *d, const slot *s, size_t at, size_t bytes, cl_event after)
{
    cl_command_queue queue;
    cl_event event = NULL;
    TERN_TRY(tern__ocl_lane(d, TERN__OCL_OUT, &queue));
    cl_int error = d->cl->EnqueueReadBuffer(queue, s->memory, CL_FALSE, at, bytes, (char *)s->host + at, 1,
                                            &after, &event);
    if (error == CL_SUCCESS)
        error = d->cl->Flush(queue);
    if (error != CL_SUCCESS)
        return tern__ocl_fail(d, "copying to the host", error);
    d->copied_bytes += bytes;
    return tern__ocl_command_add(d,
                                 &(tern__ocl_command){.event = event, .lane = TERN__OCL_OUT, .bytes = bytes});
}

/* Integers that the host has, of a leaf that the plan does not write; NULL: they are elsewhere. */
static const char *host_integers(const tern__code *code, const tern__operand *o,
                                 const tern__bindings *bindings)
{
    if (o->space != TERN__SPACE_LEAF)
        return NULL;
    for (uint32_t i = 0; i < code->n_slots; i++)
        if (code->slots[i].state && code->slots[i].index == o->index)
            return NULL;
    return (const char *)bindings->leaves[o->index] + o->byte_offset;
}

static int64_t integer_at(const tern__operand *o, const char *data, int64_t i)
{
    const int64_t at = i * o->strides[0];
    return o->type->dtype == TERN_I64 ? ((const int64_t *)(const void *)data)[at]
                                      : ((const int32_t *)(const void *)data)[at];
}

/* Rows (slot, position) of the state lie one behind the other. */
static bool has_whole_rows(const tern__operand *state)
{
    int64_t bytes = 1;
    for (int a = state->type->rank - 1; a >= 1; a--) {
        if (state->strides[a] != bytes)
            return false;
        bytes *= state->type->shape[a];
    }
    return true;
}

/* The rows that step s->rows_by wrote, those beside each other at once. false: which they are is not known here. */
static bool read_rows(tern__device *d, const tern__plan *plan, const tern__code *code, const slot *s,
                      const tern__bindings *bindings, cl_event after, tern_status *status)
{
    const tern__operand *o = &plan->operands[plan->steps[s->rows_by].operands], *state = &o[4];
    const char *slots = host_integers(code, &o[2], bindings),
               *positions = host_integers(code, &o[3], bindings);
    if (!slots || !positions || !has_whole_rows(state))
        return false;
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(state->type->dtype), rows = o[1].type->shape[0];
    const int64_t first = (int64_t)state->byte_offset - s->low, row = state->strides[1] * unit;
    int64_t begin = 0, end = 0; /* bytes that are to be read */
    for (int64_t r = 0; r < rows && *status == TERN_OK; r++) {
        const int64_t sequence = integer_at(&o[2], slots, r), position = integer_at(&o[3], positions, r);
        if (position == -1)
            continue;
        if (sequence < 0 || sequence >= state->type->shape[0] || position < 0 ||
            position >= state->type->shape[1])
            return false; /* the run will say so */
        const int64_t at = first + sequence * state->strides[0] * unit + position * row;
        if (at != end && end > begin)
            *status = read_back(d, s, (size_t)begin, (size_t)(end - begin), after);
        begin = at == end ? begin : at;
        end = at + row;
    }
    if (end > begin && *status == TERN_OK)
        *status = read_back(d, s, (size_t)begin, (size_t)(end - begin), after);
    return true;
}

tern_status tern__ocl_give_back(tern__device *d, const tern__plan *plan, tern__code *code,
                                const tern__bindings *bindings, uint32_t s, cl_event after)
{
    const bool alone = plan->n_partitions == 1;
    const launch *l = &code->launches[s];
    tern_status status = TERN_OK;
    for (uint32_t i = plan->steps[s].n_in; i < l->n_operands && status == TERN_OK; i++) {
        slot *at = &code->slots[l->slots[i]];
        if (at->last != s || !is_given_back(at, alone))
            continue;
        at->last = TERN__OCL_NOBODY; /* once */
        if (at->rows_by == TERN__OCL_NOBODY || !read_rows(d, plan, code, at, bindings, after, &status))
            status = read_back(d, at, 0, tern__ocl_slot_bytes(at), after);
    }
    return status;
}

bool tern__ocl_gives_back(const tern__device *d, const tern__plan *plan, const tern__code *code, uint32_t s)
{
    const launch *l = &code->launches[s];
    for (uint32_t i = plan->steps[s].n_in; !d->in_place && i < l->n_operands; i++)
        if (code->slots[l->slots[i]].last == s &&
            is_given_back(&code->slots[l->slots[i]], plan->n_partitions == 1))
            return true;
    return false;
}

/* ---- ahead of a run ---- */

/* The place of what is used up, else the older one's. */
static staged *place_ahead(slot *s)
{
    staged *older = &s->ahead[0];
    for (int i = 0; i < TERN__OCL_AHEAD; i++) {
        if (s->ahead[i].version == 0)
            return &s->ahead[i];
        older = s->ahead[i].version < older->version ? &s->ahead[i] : older;
    }
    return older;
}

static tern_status stage_slot(tern__device *d, slot *s, const void *host, uint64_t version)
{
    staged *a = place_ahead(s);
    if (a->arrived) {
        d->cl->WaitForEvents(1, &a->arrived);
        d->cl->ReleaseEvent(a->arrived);
    }
    *a = (staged){.own = a->own};
    if (!a->own)
        TERN_TRY(tern__ocl_memory_get(d, tern__ocl_slot_bytes(s), NULL, false, &a->own));
    TERN_TRY(copy_in(d, a->own->buffer, host, tern__ocl_slot_bytes(s), &a->arrived));
    a->host = host;
    a->version = version;
    return TERN_OK;
}

tern_status tern__ocl_stage(tern__device *d, const tern__plan *plan, tern__code *code, uint32_t leaf,
                            const void *host, uint64_t version)
{
    (void)plan;
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < code->n_slots && !d->in_place && status == TERN_OK; i++) {
        slot *s = &code->slots[i];
        if (s->space == TERN__SPACE_LEAF && s->index == leaf && !s->constant && !s->state)
            status = stage_slot(d, s, (const char *)host + s->low, version);
    }
    return status;
}

tern_status tern__ocl_take_staged(tern__device *d, slot *s, const void *host, const tern__bindings *bindings,
                                  bool *taken)
{
    const uint64_t version =
        s->space == TERN__SPACE_LEAF && bindings->versions ? bindings->versions[s->index] : 0;
    for (int i = 0; version != 0 && (s->read || s->written) && i < TERN__OCL_AHEAD; i++) {
        staged *a = &s->ahead[i];
        if (a->version != version || a->host != host)
            continue;
        tern__ocl_memory *old = s->own;
        s->own = a->own;
        s->memory = a->own->buffer;
        s->named = false;
        s->host = (void *)(uintptr_t)host;
        s->arrived = a->arrived;
        const tern__ocl_command copy = {
            .event = a->arrived, .lane = TERN__OCL_IN, .bytes = tern__ocl_slot_bytes(s)};
        *a = (staged){.own = old};
        *taken = true;
        return tern__ocl_command_add(d, &copy);
    }
    return TERN_OK;
}

void tern__ocl_drop_staged(tern__device *d, slot *s)
{
    for (int i = 0; i < TERN__OCL_AHEAD; i++) {
        staged *a = &s->ahead[i];
        if (a->arrived) {
            d->cl->WaitForEvents(1, &a->arrived);
            d->cl->ReleaseEvent(a->arrived);
        }
        if (a->own)
            tern__ocl_memory_put(d, a->own);
        *a = (staged){0};
    }
}

#endif

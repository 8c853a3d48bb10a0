/* run.c - plans on an OpenCL device: a kernel for each step when a plan is compiled; when it runs, buffers for the memory of
 * leaves, results and the arena.
 *
 * A device that uses the very pages of the host gets buffers over them (CL_MEM_USE_HOST_PTR), which stay as long as that is where
 * it was: nothing is copied. Others have memory of their own (memory.c) that stays from run to run: constants are copied once, for
 * all plans that read them; the rest of what a partition reads before it runs, and what it wrote behind it.
 *
 * Copies (borders.c) overlap kernels (lanes.c): a kernel waits for the copies in of what it is the first to use, a copy out for the last
 * kernel that writes it. Inputs of a later run may be copied in ahead (tern__ocl_stage), into memory that then takes the slot's place.
 *
 * A leaf that the plan writes is a state, such as the keys and values of a decoder, and large. Host memory holds it too whenever a run
 * is over, since others may read it there; but of a plan that runs as a whole on the device only the rows that it wrote
 * are copied back, and nothing is copied in as long as the host's bytes are those that the device left (their version says so). */
#include "devices/opencl/run.h"

typedef int tern__opencl_run_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"

typedef tern__ocl_slot slot;
typedef tern__ocl_launch launch;

tern_status tern__ocl_fail(tern__device *d, const char *what, cl_int error)
{
    (void)d;
    const bool memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
                        error == CL_OUT_OF_HOST_MEMORY || error == CL_INVALID_BUFFER_SIZE;
    /* Context and queues are ours and were good: drivers say so once the device below them was reset. */
    const bool lost =
        error == CL_DEVICE_NOT_AVAILABLE || error == CL_INVALID_CONTEXT || error == CL_INVALID_COMMAND_QUEUE;
    return tern__fail(memory ? TERN_OUT_OF_MEMORY
                      : lost ? TERN_UNAVAILABLE
                             : TERN_INTERNAL,
                      "opencl: %s: %s (error %d)", what, tern__cl_error(error), error);
}

/* ---- compiling ---- */

static uint32_t slot_of(tern__code *code, const tern__operand *o)
{
    tern__layout layout = {.offset = 0};
    int64_t low = 0, high = 0;
    memcpy(layout.strides, o->strides, (size_t)o->type->rank * sizeof *layout.strides);
    tern__layout_span(o->type, &layout, &low, &high);
    low += (int64_t)o->byte_offset;
    high += (int64_t)o->byte_offset;
    uint32_t s = 0;
    while (s < code->n_slots && (code->slots[s].space != o->space || code->slots[s].index != o->index))
        s++;
    slot *at = &code->slots[s];
    if (s == code->n_slots) {
        *at = (slot){.space = o->space,
                     .index = o->index,
                     .low = low,
                     .high = high,
                     .constant = o->constant,
                     .rows_by = TERN__OCL_NOBODY};
        code->n_slots++;
    }
    at->low = low < at->low ? low : at->low;
    at->high = high > at->high ? high : at->high;
    return s;
}

/* The whole source: numbers by name, operands at their first elements. */
static void finish_source(const tern__ocl_draft *d, uint32_t n_operands, int first_offset, tern__strbuf *out)
{
    tern__strbuf_add(out, tern__ocl_prelude);
    tern__strbuf_add(out, d->blocks ? tern__ocl_blocks : "");
    tern__strbuf_add(out, "kernel void k(");
    for (uint32_t i = 0; i < n_operands; i++)
        tern__strbuf_addf(out, "global char *p%u, ", i);
    tern__strbuf_add(out,
                     "global const long *n, global long *fault)\n{\n    if (fault[0])\n        return;\n");
    for (int i = 0; i < d->n_numbers; i++)
        tern__strbuf_addf(out, "    const long n%d = n[%d];\n", i, i);
    for (uint32_t i = 0; i < n_operands; i++)
        tern__strbuf_addf(out, "    p%u += n%d;\n", i, first_offset + (int)i);
    tern__strbuf_add(out, d->text.text ? d->text.text : "");
    tern__strbuf_add(out, "}\n");
}

/* Work items: on a processor a few for each core, else as many as there are items, up to a limit. */
static void size_launch(const tern__device *d, const tern__ocl_draft *draft, launch *l)
{
    size_t units = draft->units ? draft->units : 1;
    if (d->cpu) {
        const size_t most = (size_t)d->units * 4;
        l->global = units < most ? units : most;
        l->local = 1;
        return;
    }
    if (draft->group) {
        l->local = (size_t)draft->group;
        l->global = (draft->items < 1 << 14 ? draft->items : 1 << 14) * l->local;
        return;
    }
    units = draft->items;
    l->local = d->group_items < 64 ? (size_t)d->group_items : 64;
    l->global = (units + l->local - 1) / l->local * l->local;
    l->global = l->global > 1 << 20 ? 1 << 20 : l->global;
}

static tern_status make_kernel(tern__device *d, const tern__ocl_draft *draft, const char *name,
                               const char *source, launch *l)
{
    cl_program program;
    cl_int error = CL_SUCCESS;
    TERN_TRY(tern__ocl_build(d, name, source, &program));
    l->kernel = d->cl->CreateKernel(program, "k", &error);
    if (!l->kernel)
        return tern__ocl_fail(d, name, error);
    l->numbers = d->cl->CreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                     (size_t)draft->n_numbers * sizeof *draft->numbers,
                                     (void *)(uintptr_t)draft->numbers, &error);
    if (!l->numbers)
        return tern__ocl_fail(d, name, error);
    size_launch(d, draft, l);
    return TERN_OK;
}

static tern_status make_launch(tern__device *d, tern__code *code, const tern__plan *plan, uint32_t s)
{
    const tern__step *step = &plan->steps[s];
    const tern__ocl_kind *kind = step->program;
    launch *l = &code->launches[s];
    const uint32_t n = step->n_in + step->n_out;
    tern__ocl_draft *draft = tern__alloc_zero(1, sizeof *draft);
    tern__ocl_operand *operands = tern__arena_alloc(&code->arena, n * sizeof *operands);
    uint32_t *slots = tern__arena_alloc(&code->arena, n * sizeof *slots);
    tern__strbuf source = TERN__STRBUF_EMPTY;
    tern_status status = TERN_OK;
    if (!draft || !operands || !slots) {
        tern__free(draft);
        return tern__out_of_memory(sizeof *draft);
    }
    draft->cpu = d->cpu;
    draft->compute_units = d->units;
    draft->group_items = d->group_items;
    draft->local_bytes = d->local_bytes;
    tern__ocl_number(draft, s);
    for (uint32_t i = 0; i < n; i++) {
        const tern__operand *o = &plan->operands[step->operands + i];
        operands[i] = (tern__ocl_operand){.type = o->type, .strides = o->strides};
        slots[i] = slot_of(code, o);
        tern__ocl_number(draft, (int64_t)o->byte_offset); /* slots may grow: their begin is taken off later */
    }
    l->n_operands = n;
    l->slots = slots;
    kind->write(draft, step, operands);
    finish_source(draft, n, 1, &source);
    if (draft->full || draft->text.failed || source.failed)
        status = draft->full ? tern__fail(TERN_UNSUPPORTED, "opencl: %s has too many axes", step->label)
                             : tern__out_of_memory(source.length);
    if (status == TERN_OK && draft->items > 0)
        status = make_kernel(d, draft, kind->name, source.text, l);
    tern__strbuf_free(&source);
    tern__strbuf_free(&draft->text);
    tern__free(draft);
    return status;
}

/* Offsets count from the begin of the operand's slot, which is known when all steps have been seen. */
static tern_status settle_offsets(tern__device *d, const tern__code *code, const tern__plan *plan)
{
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const launch *l = &code->launches[s];
        for (uint32_t i = 0; l->kernel && i < l->n_operands; i++) {
            const int64_t at = (int64_t)plan->operands[plan->steps[s].operands + i].byte_offset -
                               code->slots[l->slots[i]].low;
            const cl_int error = d->cl->EnqueueWriteBuffer(d->queue, l->numbers, CL_TRUE, (1 + i) * sizeof at,
                                                           sizeof at, &at, 0, NULL, NULL);
            if (error != CL_SUCCESS)
                return tern__ocl_fail(d, "writing numbers", error);
        }
    }
    return TERN_OK;
}

static tern_status set_fixed(tern__device *d, const tern__code *code, const tern__plan *plan)
{
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const launch *l = &code->launches[s];
        if (!l->kernel)
            continue;
        cl_int error = d->cl->SetKernelArg(l->kernel, l->n_operands, sizeof l->numbers, &l->numbers);
        if (error == CL_SUCCESS)
            error = d->cl->SetKernelArg(l->kernel, l->n_operands + 1, sizeof code->fault, &code->fault);
        if (error != CL_SUCCESS)
            return tern__ocl_fail(d, "a kernel's arguments", error);
    }
    return TERN_OK;
}

static void note_states(const tern__plan *plan, tern__code *code)
{
    for (uint32_t s = 0; plan->n_partitions == 1 && s < plan->n_steps; s++) {
        const launch *l = &code->launches[s];
        for (uint32_t i = plan->steps[s].n_in; l->kernel && i < l->n_operands; i++) {
            slot *at = &code->slots[l->slots[i]];
            if (at->space != TERN__SPACE_LEAF)
                continue;
            at->rows_by = !at->state && plan->steps[s].op == TERN__OP_write_rows ? s : TERN__OCL_NOBODY;
            at->state = true;
        }
    }
}

static tern_status compile(tern__device *d, const tern__plan *plan, tern__code *code)
{
    static int64_t nothing[4];
    cl_mem_flags where = CL_MEM_COPY_HOST_PTR;
    cl_int error = CL_SUCCESS;
    code->slots =
        tern__arena_alloc_zero(&code->arena, plan->n_operands ? plan->n_operands : 1, sizeof *code->slots);
    code->launches = tern__arena_alloc_zero(&code->arena, plan->n_steps, sizeof *code->launches);
    code->n_steps = code->launches ? plan->n_steps : 0;
    code->waits = tern__arena_alloc(&code->arena, (plan->n_operands + 1) * sizeof *code->waits);
    if (!code->slots || !code->launches || !code->waits)
        return tern__out_of_memory(plan->n_operands * sizeof *code->slots);
    if (d->in_place && (code->found = tern__alloc_aligned(64, 64)) != NULL) {
        memset(code->found, 0, sizeof nothing);
        where = CL_MEM_USE_HOST_PTR;
    }
    code->fault = d->cl->CreateBuffer(d->context, CL_MEM_READ_WRITE | where, sizeof nothing,
                                      code->found ? code->found : nothing, &error);
    if (!code->fault)
        return tern__ocl_fail(d, "memory for faults", error);
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        TERN__FAIL_IF(d->stop && d->stop->asked && d->stop->asked(d->stop->user), TERN_CANCELLED,
                      "compile: stopped at %s, as it was asked", tern__ops[plan->steps[s].op].name);
        if (!plan->steps[s].on_device)
            continue;
        d->step = s + 1;
        d->steps = plan->n_steps;
        TERN_TRY(make_launch(d, code, plan, s));
    }
    note_states(plan, code);
    TERN_TRY(settle_offsets(d, code, plan));
    return set_fixed(d, code, plan);
}

tern_status tern__ocl_compile(tern__device *d, const tern__plan *plan, tern__code **out)
{
    tern__code *code = tern__alloc_zero(1, sizeof *code);
    if (!code)
        return tern__out_of_memory(sizeof *code);
    tern__arena_init(&code->arena, 0);
    const tern_status status = compile(d, plan, code);
    if (status != TERN_OK) {
        tern__ocl_forget(d, code);
        return status;
    }
    *out = code;
    return TERN_OK;
}

static void unbind(tern__device *d, slot *s)
{
    if (s->memory && d->in_place)
        d->cl->ReleaseMemObject(s->memory);
    else if (s->memory)
        tern__ocl_memory_put(d, s->own);
    s->memory = NULL;
    s->named = false;
    s->own = NULL;
    s->host = NULL;
}

void tern__ocl_forget(tern__device *d, tern__code *code)
{
    if (!code)
        return;
    for (uint32_t i = 0; i < code->n_slots; i++) {
        tern__ocl_drop_staged(d, &code->slots[i]);
        unbind(d, &code->slots[i]);
    }
    for (uint32_t i = 0; i < code->n_steps; i++) {
        if (code->launches[i].kernel)
            d->cl->ReleaseKernel(code->launches[i].kernel);
        if (code->launches[i].numbers)
            d->cl->ReleaseMemObject(code->launches[i].numbers);
    }
    tern__arena_free(&code->arena);
    if (code->fault)
        d->cl->ReleaseMemObject(code->fault);
    tern__free(code->found);
    tern__free(code);
}

/* ---- running ---- */

/* Puts the slot's buffer over where its memory is now, or gives it one. */
static tern_status bind(tern__device *d, slot *s, const tern__bindings *bindings)
{
    char *host = tern__base_of(bindings, s->space, s->index) + s->low;
    cl_int error = CL_SUCCESS;
    const bool stays = s->constant || s->state; /* stands for the bytes at that address */
    bool taken = false;
    s->arrived = NULL;
    TERN_TRY(tern__ocl_take_staged(d, s, host, bindings, &taken));
    if (taken)
        return TERN_OK;
    if (!s->memory || ((d->in_place || stays) && s->host != host)) {
        unbind(d, s);
        if (!d->in_place) {
            TERN_TRY(
                tern__ocl_memory_get(d, tern__ocl_slot_bytes(s), stays ? host : NULL, s->constant, &s->own));
            s->memory = s->own->buffer;
        } else
            s->memory = d->cl->CreateBuffer(
                d->context, (s->constant ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE) | CL_MEM_USE_HOST_PTR,
                tern__ocl_slot_bytes(s), host, &error);
        if (!s->memory)
            return tern__ocl_fail(d, "memory", error);
    }
    s->host = host;
    return TERN_OK;
}

/* Makes the slots' memory the arguments of the kernels, where it is not yet. Whatever fails on the way, here or before, is made up
 * for by the next run: a slot is named when all its kernels have been told. */
static tern_status name_memory(tern__device *d, const tern__plan *plan, tern__code *code)
{
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const launch *l = &code->launches[s];
        for (uint32_t i = 0; l->kernel && i < l->n_operands; i++) {
            const slot *at = &code->slots[l->slots[i]];
            if (at->named)
                continue;
            const cl_int error = d->cl->SetKernelArg(l->kernel, i, sizeof at->memory, &at->memory);
            if (error != CL_SUCCESS)
                return tern__ocl_fail(d, plan->steps[s].label, error);
        }
    }
    for (uint32_t i = 0; i < code->n_slots; i++)
        code->slots[i].named = true;
    return TERN_OK;
}

static tern_status bind_all(tern__device *d, const tern__plan *plan, tern__code *code,
                            const tern__bindings *bindings)
{
    bool named = true;
    for (uint32_t i = 0; i < code->n_slots; i++) {
        TERN_TRY(bind(d, &code->slots[i], bindings));
        named = named && code->slots[i].named;
    }
    return named ? TERN_OK : name_memory(d, plan, code);
}

static tern_status launch_kernel(tern__device *d, const tern__plan *plan, tern__code *code, uint32_t s,
                                 cl_command_queue queue, const tern__bindings *bindings)
{
    const launch *l = &code->launches[s];
    const bool back = tern__ocl_gives_back(d, plan, code, s);
    cl_uint n = 0;
    cl_event done = NULL;
    for (uint32_t i = 0; !d->in_place && i < l->n_operands; i++) {
        slot *at = &code->slots[l->slots[i]];
        if (at->first == s && at->arrived)
            code->waits[n++] = at->arrived;
    }
    cl_int error = d->cl->EnqueueNDRangeKernel(queue, l->kernel, 1, NULL, &l->global, &l->local, n,
                                               n ? code->waits : NULL, back || d->traced ? &done : NULL);
    if (error == CL_SUCCESS && back)
        error = d->cl->Flush(queue);
    if (error != CL_SUCCESS)
        return tern__ocl_fail(d, plan->steps[s].label, error);
    if (!done)
        return TERN_OK;
    TERN_TRY(
        tern__ocl_command_add(d, &(tern__ocl_command){.event = done, .lane = TERN__OCL_COMPUTE, .step = s}));
    return back ? tern__ocl_give_back(d, plan, code, bindings, s, done) : TERN_OK;
}

/* In order, without waiting; unless somebody wants to know how long each takes, or may stop the run between two. *n_done: the step
 * that failed, where one did. */
static tern_status enqueue(tern__device *d, const tern__plan *plan, tern__code *code,
                           const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    const bool waits = bindings->step_ns || bindings->stop.asked;
    cl_command_queue queue;
    TERN_TRY(tern__ocl_lane(d, TERN__OCL_COMPUTE, &queue));
    for (uint32_t s = part->first; s < part->end; s++) {
        *n_done = s;
        TERN__FAIL_IF(bindings->stop.asked && bindings->stop.asked(bindings->stop.user), TERN_CANCELLED,
                      "run: stopped at %s, as it was asked", tern__ops[plan->steps[s].op].name);
        const uint64_t start = bindings->step_ns ? tern__now_ns() : 0;
        if (code->launches[s].kernel)
            TERN_TRY(launch_kernel(d, plan, code, s, queue, bindings));
        const cl_int error = waits ? d->cl->Finish(queue) : CL_SUCCESS;
        if (error != CL_SUCCESS)
            return tern__ocl_fail(d, plan->steps[s].label, error);
        if (bindings->step_ns)
            bindings->step_ns[s] = tern__now_ns() - start;
    }
    *n_done = part->first; /* bad data are heard of when all has run */
    return TERN_OK;
}

/* Takes what kernels noted; then it is as if they had noted nothing. */
static tern_status take_fault(tern__device *d, const tern__code *code, int64_t fault[4])
{
    static const int64_t none[4];
    const size_t bytes = sizeof none;
    if (code->found) {
        memcpy(fault, code->found, bytes);
        memset(code->found, 0, bytes);
        return TERN_OK;
    }
    cl_int error = d->cl->EnqueueReadBuffer(d->queue, code->fault, CL_TRUE, 0, bytes, fault, 0, NULL, NULL);
    if (error != CL_SUCCESS)
        return tern__ocl_fail(d, "reading faults", error);
    if (fault[0])
        error = d->cl->EnqueueWriteBuffer(d->queue, code->fault, CL_TRUE, 0, bytes, none, 0, NULL, NULL);
    return error == CL_SUCCESS ? TERN_OK : tern__ocl_fail(d, "writing faults", error);
}

/* Of a run that was stopped, or failed: its bad data are not those of the next one. */
static tern_status forget_fault(tern__device *d, tern__code *code)
{
    int64_t fault[4];
    TERN_TRY(take_fault(d, code, fault));
    code->unheard = false;
    return TERN_OK;
}

/* Did a kernel find bad data? Then those behind it did nothing. */
static tern_status look_for_fault(tern__device *d, const tern__plan *plan, const tern__code *code,
                                  uint32_t *n_done)
{
    int64_t fault[4] = {0};
    TERN_TRY(take_fault(d, code, fault));
    if (!fault[0])
        return TERN_OK;
    *n_done = (uint32_t)fault[1];
    return tern__fail(TERN_OUT_OF_RANGE, "%s: index %" PRId64 " is outside [0, %" PRId64 ")",
                      tern__ops[plan->steps[fault[1]].op].name, fault[2], fault[3]);
}

/* Memory for the slots; where there is none, that of inputs to come is given up first. */
static tern_status bind_memory(tern__device *d, const tern__plan *plan, tern__code *code,
                               const tern__bindings *bindings)
{
    tern_status status = bind_all(d, plan, code, bindings);
    if (status == TERN_OUT_OF_MEMORY && !d->in_place) {
        for (uint32_t i = 0; i < code->n_slots; i++) {
            tern__ocl_drop_staged(d, &code->slots[i]);
            unbind(d, &code->slots[i]);
        }
        status = bind_all(d, plan, code, bindings);
    }
    return status;
}

tern_status tern__ocl_run(tern__device *d, const tern__plan *plan, tern__code *code,
                          const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    *n_done = part->first;
    if (!code->ran)
        TERN_TRY(tern__ocl_check_room(d));
    TERN_TRY(tern__ocl_lanes_begin(d, bindings->transfer));
    if (!d->in_place)
        tern__ocl_note_uses(plan, code, part);
    tern_status status = code->unheard ? forget_fault(d, code) : TERN_OK;
    if (status == TERN_OK)
        status = bind_memory(d, plan, code, bindings);
    if (status == TERN_OK && !d->in_place)
        status = tern__ocl_fetch(d, plan, code, bindings);
    if (status == TERN_OK)
        status = enqueue(d, plan, code, part, bindings, n_done);
    cl_int finished = tern__ocl_finish(d, status != TERN_OK);
    if (status == TERN_OK && finished == CL_SUCCESS)
        finished = tern__ocl_aborted(d);
    if (status == TERN_OK && finished != CL_SUCCESS)
        status = tern__ocl_fail(d, "waiting for the device", finished);
    tern__ocl_lanes_end(d, plan);
    code->unheard = status != TERN_OK;
    if (status == TERN_OK)
        status = look_for_fault(d, plan, code, n_done);
    if (status == TERN_OK && !d->in_place)
        tern__ocl_note_versions(code, bindings);
    code->ran = code->ran || status == TERN_OK;
    if (status == TERN_OK)
        *n_done = part->end;
    return status;
}

#endif

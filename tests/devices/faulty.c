/* faulty.c - a device behind a table of its own, with failures on demand. */
#include "faulty.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

faulty_state faulty = {.refuse = TERN__OP_COUNT, .wrong = TERN__OP_COUNT};

struct tern__device {
    const tern__device_ops *ops; /* of the inner one */
    tern__device *inner;
    tern__target target;
};

struct tern__code {
    tern__code *inner;
};

static const tern__device_ops *inner_ops(void)
{
    const tern__device_ops *ops;
    return faulty.inner && tern__device_find(faulty.inner, &ops) == TERN_OK ? ops : tern__device_at(0);
}

/* ---- failures ---- */

static const char *const call_names[] = {"create", "compile", "allocate", "copy in", "run", "copy out"};

static tern_status call(faulty_call which, const char *what)
{
    bool now = faulty.lost;
    if (!now && faulty.status != TERN_OK && (faulty.only == FAULTY_CALLS || faulty.only == which))
        now = faulty.after-- <= 0 && faulty.times-- > 0;
    if (!now)
        return TERN_OK;
    faulty.lost = faulty.status == TERN_UNAVAILABLE;
    faulty.failed++;
    faulty.last = which;
    return tern__fail(faulty.status, "%s of %s: it was told to fail", call_names[which], what);
}

void faulty_fail(faulty_call only, int after, int times, tern_status status)
{
    faulty.only = only;
    faulty.after = after;
    faulty.times = times;
    faulty.status = status;
    faulty.failed = 0;
}

/* ---- the compiler's questions ---- */

static bool refuses(const tern__call *c)
{
    return tern__op_code(c->op) == faulty.refuse;
}

static tern_status choose(const tern__target *target, const tern__call *c, const tern__candidate *candidate,
                          tern__arena *arena, tern__choice *out)
{
    const tern__device *d = target->data;
    TERN__FAIL_IF(refuses(c), TERN_UNSUPPORTED, "%s",
                  faulty.reason ? faulty.reason : "it was told to refuse it");
    const tern__target *inner = d->ops->target(d->inner);
    return inner->choose(inner, c, candidate, arena, out);
}

static bool fuses(const tern__target *target, const tern__call *c)
{
    const tern__device *d = target->data;
    const tern__target *inner = d->ops->target(d->inner);
    return !refuses(c) && tern__op_code(c->op) != faulty.wrong && inner->fuses(inner, c);
}

/* ---- making one ---- */

static void describe(tern__isa_cap cap, tern_device_info *out)
{
    inner_ops()->describe(cap, out);
    out->name = "faulty";
    out->backend = "test";
}

static tern_status create(const tern__device_options *options, tern__device **out)
{
    TERN_TRY(call(FAULTY_CREATE, "the faulty device"));
    tern__device *d = calloc(1, sizeof *d);
    if (!d)
        return tern__out_of_memory(sizeof *d);
    d->ops = inner_ops();
    const tern_status status = d->ops->create(options, &d->inner);
    if (status != TERN_OK) {
        free(d);
        return status;
    }
    d->target = (tern__target){.name = "faulty",
                               .workers = options->threads,
                               .pool = options->pool,
                               .choose = choose,
                               .fuses = d->ops->target(d->inner)->fuses ? fuses : NULL,
                               .data = d};
    *out = d;
    return TERN_OK;
}

static void destroy(tern__device *d)
{
    if (d)
        d->ops->destroy(d->inner);
    free(d);
}

static const tern__target *target_of(const tern__device *d)
{
    return &d->target;
}

static tern_status compile(tern__device *d, const tern__plan *plan, tern__code **out)
{
    TERN_TRY(call(FAULTY_COMPILE, plan->steps[0].label));
    tern__code *code = calloc(1, sizeof *code);
    if (!code)
        return tern__out_of_memory(sizeof *code);
    const tern_status status = d->ops->compile ? d->ops->compile(d->inner, plan, &code->inner) : TERN_OK;
    if (status != TERN_OK) {
        free(code);
        return status;
    }
    *out = code;
    faulty.compiles++;
    faulty.codes++;
    return TERN_OK;
}

static void forget(tern__device *d, tern__code *code)
{
    if (code && code->inner)
        d->ops->forget(d->inner, code->inner);
    faulty.codes -= code != NULL;
    free(code);
}

/* ---- memory of its own ---- */

enum { MOST_MIRRORS = 256, MOST_INDEX = 256 };

/* Host memory and its copy. */
typedef struct mirror {
    char *low, *high, *copy;
    bool constant;
} mirror;

typedef struct memory {
    mirror mirrors[MOST_MIRRORS];
    int n;
    void *leaves[MOST_INDEX], *blocks[MOST_INDEX];
} memory;

static char *base_of(const tern__bindings *b, const tern__operand *o)
{
    return tern__base_of(b, o->space, o->index);
}

/* Leaves may share memory: then they share its copy. */
static void add_mirror(memory *m, char *low, char *high, bool constant)
{
    for (int i = 0; i < m->n; i++) {
        mirror *other = &m->mirrors[i];
        if (high <= other->low || other->high <= low)
            continue;
        low = low < other->low ? low : other->low;
        high = high > other->high ? high : other->high;
        constant = constant && other->constant;
        *other = m->mirrors[--m->n];
        i = -1; /* it may touch another one now */
    }
    if (m->n < MOST_MIRRORS)
        m->mirrors[m->n++] = (mirror){.low = low, .high = high, .constant = constant};
}

/* From its first byte to its last, from where its space begins. */
static void span_of(const tern__operand *o, int64_t *low, int64_t *high)
{
    tern__layout layout = {.offset = 0};
    memcpy(layout.strides, o->strides, (size_t)o->type->rank * sizeof *layout.strides);
    tern__layout_span(o->type, &layout, low, high);
    *low += (int64_t)o->byte_offset;
    *high += (int64_t)o->byte_offset;
}

/* All that the plan's operands see of a leaf or block is one piece: it has one address. */
static void add_place(memory *m, const tern__plan *plan, const tern__operand *o, const tern__bindings *b)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < plan->n_operands; i++) {
        const tern__operand *other = &plan->operands[i];
        int64_t from, to;
        if (other->space != o->space || other->index != o->index)
            continue;
        span_of(other, &from, &to);
        low = from < low ? from : low;
        high = to > high ? to : high;
    }
    if (high > low)
        add_mirror(m, base_of(b, o) + low, base_of(b, o) + high, o->constant);
}

static char *copy_of(const memory *m, char *host)
{
    for (int i = 0; i < m->n; i++)
        if (host >= m->mirrors[i].low && host < m->mirrors[i].high)
            return m->mirrors[i].copy + (host - m->mirrors[i].low);
    return host;
}

/* An address inside the copy from which the operand is as far as it is in the host's memory. */
static void *base_in_copy(const memory *m, const tern__operand *o, const tern__bindings *b)
{
    int64_t low, high;
    span_of(o, &low, &high);
    char *base = base_of(b, o), *first = base + low;
    return (char *)((uintptr_t)copy_of(m, first) - (uintptr_t)(first - base));
}

static tern_status fill_memory(memory *m, const tern__plan *plan, const tern__partition *part,
                               const tern__bindings *b)
{
    if (plan->arena_bytes)
        add_mirror(m, b->arena, (char *)b->arena + plan->arena_bytes, false);
    for (uint32_t s = part->first; s < part->end; s++) {
        const tern__step *step = &plan->steps[s];
        for (uint32_t i = 0; i < step->n_in + step->n_out; i++)
            if (plan->operands[step->operands + i].space != TERN__SPACE_ARENA)
                add_place(m, plan, &plan->operands[step->operands + i], b);
    }
    for (int i = 0; i < m->n; i++) {
        mirror *one = &m->mirrors[i];
        TERN_TRY(call(FAULTY_ALLOCATE, "memory"));
        one->copy = aligned_alloc(64, ((size_t)(one->high - one->low) + 191) / 64 * 64);
        if (!one->copy)
            return tern__out_of_memory((size_t)(one->high - one->low));
        TERN_TRY(call(FAULTY_COPY_IN, "operands"));
        memcpy(one->copy, one->low, (size_t)(one->high - one->low));
    }
    for (uint32_t s = part->first; s < part->end; s++) {
        const tern__step *step = &plan->steps[s];
        for (uint32_t i = 0; i < step->n_in + step->n_out; i++) {
            const tern__operand *o = &plan->operands[step->operands + i];
            TERN__FAIL_IF(o->index >= MOST_INDEX, TERN_UNSUPPORTED, "it has room for %d operands",
                          MOST_INDEX);
            if (o->space != TERN__SPACE_ARENA)
                (o->space == TERN__SPACE_LEAF ? m->leaves : m->blocks)[o->index] = base_in_copy(m, o, b);
        }
    }
    return TERN_OK;
}

static tern_status copy_out(const memory *m)
{
    for (int i = 0; i < m->n; i++) {
        const mirror *one = &m->mirrors[i];
        if (one->constant)
            continue;
        const size_t bytes = (size_t)(one->high - one->low), half = bytes / 2;
        memcpy(one->low, one->copy, half); /* a copy that fails has done a part of its work */
        TERN_TRY(call(FAULTY_COPY_OUT, "results"));
        memcpy(one->low + half, one->copy + half, bytes - half);
    }
    return TERN_OK;
}

static void free_memory(memory *m)
{
    for (int i = 0; i < m->n; i++)
        free(m->mirrors[i].copy);
    free(m);
}

/* ---- running ---- */

static void spoil(const tern__plan *plan, const tern__step *step, const tern__bindings *b)
{
    const tern__operand *o = &plan->operands[step->operands + step->n_in];
    if (step->op == faulty.wrong && o->type->dtype == TERN_F32)
        *(float *)(void *)(base_of(b, o) + (ptrdiff_t)o->byte_offset) += faulty.by;
}

static tern_status run_steps(tern__device *d, const tern__plan *plan, const tern__partition *part,
                             const tern__bindings *b, uint32_t *n_done)
{
    for (uint32_t s = part->first; s < part->end; s++) {
        const tern__partition one = {.first = s, .end = s + 1};
        TERN_TRY(call(FAULTY_RUN, plan->steps[s].label));
        TERN_TRY(d->ops->run(d->inner, plan, NULL, &one, b, n_done));
        spoil(plan, &plan->steps[s], b);
    }
    return TERN_OK;
}

/* A device that compiles has memory of its own, or uses the host's: it is given whole partitions, and what fails behind their first
 * step leaves what all of it has written. */
static tern_status run_compiled(tern__device *d, const tern__plan *plan, tern__code *code,
                                const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    tern__bindings own = *bindings;
    uint32_t s = part->first;
    TERN_TRY(call(FAULTY_ALLOCATE, "memory"));
    TERN_TRY(call(FAULTY_COPY_IN, "operands"));
    TERN_TRY(call(FAULTY_RUN, plan->steps[s].label));
    tern_status status = TERN_OK;
    while (status == TERN_OK && ++s < part->end)
        status = call(FAULTY_RUN, plan->steps[s].label);
    own.given = NULL; /* nobody takes what a failed run gave */
    char cause[TERN__MESSAGE_MAX];
    snprintf(cause, sizeof cause, "%s", tern_last_error());
    TERN_TRY(d->ops->run(d->inner, plan, code->inner, part, &own, n_done));
    if (status != TERN_OK) {
        *n_done = s;
        return tern__fail(status, "%s", cause);
    }
    return call(FAULTY_COPY_OUT, "results");
}

static tern_status run(tern__device *d, const tern__plan *plan, tern__code *code, const tern__partition *part,
                       const tern__bindings *bindings, uint32_t *n_done)
{
    *n_done = part->first;
    TERN__FAIL_IF(!code, TERN_INTERNAL, "faulty: there is no code");
    if (code->inner) {
        const tern_status status = run_compiled(d, plan, code, part, bindings, n_done);
        faulty.runs += status == TERN_OK;
        return status;
    }
    memory *m = calloc(1, sizeof *m);
    if (!m)
        return tern__out_of_memory(sizeof *m);
    tern_status status = fill_memory(m, plan, part, bindings);
    tern__bindings own = *bindings;
    own.leaves = m->leaves;
    own.blocks = m->blocks;
    own.arena = plan->arena_bytes && status == TERN_OK ? copy_of(m, bindings->arena) : NULL;
    if (status == TERN_OK)
        status = run_steps(d, plan, part, &own, n_done);
    if (status == TERN_OK || status == TERN_OUT_OF_RANGE) /* then what ran before holds */
        status = copy_out(m) == TERN_OK ? status : faulty.status;
    free_memory(m);
    faulty.runs += status == TERN_OK;
    return status;
}

static size_t trim(tern__device *d, int level)
{
    (void)d;
    faulty.trims[level]++;
    return 0;
}

static bool copies_inputs(const tern__device *d, const tern__code *code)
{
    (void)d;
    return code && faulty.stages;
}

static tern_status stage(tern__device *d, const tern__plan *plan, tern__code *code, uint32_t leaf,
                         const void *host, uint64_t version)
{
    (void)d;
    (void)leaf;
    faulty.staged += plan && code && host && version != 0; /* the run copies it all the same */
    return TERN_OK;
}

static const tern__device_ops ops = {.name = "faulty",
                                     .backend = "test",
                                     .describe = describe,
                                     .create = create,
                                     .destroy = destroy,
                                     .target = target_of,
                                     .run = run,
                                     .compile = compile,
                                     .forget = forget,
                                     .copies_inputs = copies_inputs,
                                     .stage = stage,
                                     .trim = trim};

void faulty_reset(void)
{
    static bool added;
    if (!added)
        added = tern__device_add(&ops);
    faulty = (faulty_state){.refuse = TERN__OP_COUNT, .wrong = TERN__OP_COUNT, .by = 1};
}

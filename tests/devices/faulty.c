/* faulty.c - the CPU behind a table of its own, with failures on demand. */
#include "faulty.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

faulty_state faulty = {.refuse = TERN__OP_COUNT};

struct tern__device {
    tern__device *inner;
    tern__target target;
};

struct tern__code {
    int unused;
};

static const tern__device_ops *inner_ops(void)
{
    return tern__device_at(0);
}

static bool fails(fault_kind kind)
{
    const bool now = faulty.next == kind;
    if (now && kind != FAULT_LOST)
        faulty.next = FAULT_NONE;
    return now;
}

static bool refuses(const tern__call *call)
{
    return tern__op_code(call->op) == faulty.refuse;
}

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    const tern__device *d = target->data;
    TERN__FAIL_IF(refuses(call), TERN_UNSUPPORTED, "it was told to refuse it");
    const tern__target *inner = inner_ops()->target(d->inner);
    return inner->choose(inner, call, candidate, arena, out);
}

static bool fuses(const tern__target *target, const tern__call *call)
{
    const tern__device *d = target->data;
    const tern__target *inner = inner_ops()->target(d->inner);
    return !refuses(call) && inner->fuses(inner, call);
}

static void describe(tern__isa cap, tern_device_info *out)
{
    inner_ops()->describe(cap, out);
    out->name = "faulty";
    out->backend = "test";
}

static tern_status create(const tern__device_options *options, tern__device **out)
{
    TERN__FAIL_IF(fails(FAULT_CREATE), TERN_UNAVAILABLE, "device 'faulty': it was told not to be there");
    tern__device *d = calloc(1, sizeof *d);
    if (!d)
        return tern__out_of_memory(sizeof *d);
    tern_status status = inner_ops()->create(options, &d->inner);
    if (status != TERN_OK) {
        free(d);
        return status;
    }
    d->target = (tern__target){.name = "faulty",
                               .workers = options->threads,
                               .pool = options->pool,
                               .choose = choose,
                               .fuses = fuses,
                               .data = d};
    *out = d;
    return TERN_OK;
}

static void destroy(tern__device *d)
{
    if (d)
        inner_ops()->destroy(d->inner);
    free(d);
}

static const tern__target *target_of(const tern__device *d)
{
    return &d->target;
}

static tern_status compile(tern__device *d, const tern__plan *plan, tern__code **out)
{
    (void)d;
    (void)plan;
    TERN__FAIL_IF(fails(FAULT_COMPILE), TERN_OUT_OF_MEMORY, "faulty: compile: out of memory");
    *out = calloc(1, sizeof **out);
    faulty.compiles++;
    faulty.codes++;
    return TERN_OK;
}

static void forget(tern__device *d, tern__code *code)
{
    (void)d;
    faulty.codes -= code != NULL;
    free(code);
}

static tern_status run(tern__device *d, const tern__plan *plan, tern__code *code, const tern__partition *part,
                       const tern__bindings *bindings, uint32_t *n_done)
{
    *n_done = part->first;
    TERN__FAIL_IF(!code, TERN_INTERNAL, "faulty: there is no code");
    TERN__FAIL_IF(fails(FAULT_LOST), TERN_UNAVAILABLE, "faulty: %s: the device is lost",
                  plan->steps[part->first].label);
    TERN__FAIL_IF(fails(FAULT_RUN), TERN_IO, "faulty: %s: it was told to fail",
                  plan->steps[part->first].label);
    if (fails(FAULT_LATE)) {
        const tern__partition first = {.first = part->first, .end = part->first + 1};
        TERN_TRY(inner_ops()->run(d->inner, plan, NULL, &first, bindings, n_done));
        return tern__fail(TERN_IO, "faulty: it was told to fail behind %s", plan->steps[part->first].label);
    }
    faulty.runs++;
    return inner_ops()->run(d->inner, plan, NULL, part, bindings, n_done);
}

static const tern__device_ops ops = {.abi = TERN__DEVICE_ABI,
                                     .name = "faulty",
                                     .backend = "test",
                                     .describe = describe,
                                     .create = create,
                                     .destroy = destroy,
                                     .target = target_of,
                                     .run = run,
                                     .compile = compile,
                                     .forget = forget};

void faulty_reset(void)
{
    static bool added;
    if (!added)
        added = tern__device_add(&ops);
    faulty = (faulty_state){.refuse = TERN__OP_COUNT};
}

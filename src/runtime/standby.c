/* standby.c - a plan with the CPU's kernels where another device's were: the same operands in the same places, so that the CPU can
 * go on wherever the device stopped. Scratch of the CPU's kernels lies behind the plan's arena. */
#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "graph/call.h"
#include "passes/select.h"
#include "runtime/loaded.h"

static size_t aligned(size_t bytes)
{
    return (bytes + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
}

/* Replaces the kernel of one step. *scratch: the most that a step needs. */
static tern_status take_over(const tern__target *cpu, tern__loaded *l, tern__step *step, size_t *scratch)
{
    tern__call_room room;
    tern__call call;
    tern__step made;
    TERN_TRY(tern__call_of(l->graph, step->node, &room, &l->arena, &call));
    TERN_TRY(tern__step_of(cpu, &call, NULL, &l->arena, &made));
    made.operands = step->operands;
    made.attrs = step->attrs;
    made.node = step->node;
    made.label = step->label;
    made.where = step->where;
    made.int8 = step->int8;
    made.scratch_bytes = aligned(made.scratch_bytes);
    made.shared_bytes = aligned(made.shared_bytes);
    made.scratch_offset = aligned(l->plan->arena_bytes);
    size_t own, all;
    TERN__FAIL_IF(!tern__size_mul(made.scratch_bytes, (size_t)made.parts, &own) ||
                      !tern__size_add(own, made.shared_bytes, &all),
                  TERN_OVERFLOW, "%s: its scratch exceeds the machine's sizes", step->label);
    *scratch = all > *scratch ? all : *scratch;
    *step = made;
    return TERN_OK;
}

tern_status tern__standby_make(const tern__target *cpu, tern__loaded *l)
{
    if (l->host.steps)
        return TERN_OK;
    tern__plan host = *l->plan;
    size_t scratch = 0;
    host.steps = tern__arena_alloc(&l->arena, host.n_steps * sizeof *host.steps);
    if (!host.steps)
        return tern__out_of_memory(host.n_steps * sizeof *host.steps);
    for (uint32_t s = 0; s < host.n_steps; s++) {
        host.steps[s] = l->plan->steps[s];
        if (host.steps[s].on_device)
            TERN_TRY(take_over(cpu, l, &host.steps[s], &scratch));
        host.workers = host.steps[s].parts > host.workers ? host.steps[s].parts : host.workers;
    }
    if (scratch > 0)
        TERN__FAIL_IF(!tern__size_add(aligned(l->plan->arena_bytes), scratch, &host.arena_bytes),
                      TERN_OVERFLOW, "the arena exceeds the machine's sizes");
    l->host = host;
    return TERN_OK;
}

/* trace_step.h - what a trace says of a step of a plan: the same on every device. */
#ifndef TERN_DEVICES_TRACE_STEP_H
#define TERN_DEVICES_TRACE_STEP_H

#include "base/trace.h"
#include "graph/plan.h"

static inline tern__trace_what tern__trace_of_step(const tern__plan *plan, uint32_t s)
{
    const tern__step *step = &plan->steps[s];
    return (tern__trace_what){.name = step->label,
                              .category = "step",
                              .kernel = step->kernel_name,
                              .where = step->where,
                              .program = plan->number,
                              .step = s,
                              .int8 = step->int8,
                              .at_most = step->at_most,
                              .flops = step->flops,
                              .bytes = step->bytes};
}

#endif

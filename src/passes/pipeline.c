/* pipeline.c - runs the passes of passes.def in order. */
#include <string.h>

#include "base/status.h"
#include "base/trace.h"
#include "passes/pass.h"

#define TERN_PASS(name, level, description) tern_status tern__pass_##name(tern__compilation *c);
#include "passes/passes.def"
#undef TERN_PASS

const tern__pass tern__passes[] = {
#define TERN_PASS(name, level, description) {#name, level, description, tern__pass_##name},
#include "passes/passes.def"
#undef TERN_PASS
};
const int tern__n_passes = (int)TERN__COUNT(tern__passes);

tern_status tern__compile(tern_graph *graph, const tern__target *target, tern__arena *arena, tern__plan *plan)
{
    memset(plan, 0, sizeof *plan);
    tern__compilation c = {.graph = graph, .target = target, .arena = arena, .plan = plan};
    for (int i = 0; i < tern__n_passes; i++) {
        uint64_t start = tern__trace_begin();
        tern_status status = tern__passes[i].run(&c);
        tern__trace_end(start, tern__passes[i].name, "pass", UINT32_MAX, 0, 0);
        if (status != TERN_OK)
            return status;
    }
    return TERN_OK;
}

/* pass_report.c - what the compiler did, for people and tools: passes, fusions, a drawing. */
#include "base/status.h"
#include "graph/text.h"
#include "runtime/program.h"

const tern_graph *tern_program_graph(const tern_program *program)
{
    return program ? &program->compiled->graph : NULL;
}

tern_status tern_program_dot(const tern_program *program, char **out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_dot: an argument is NULL");
    return tern__graph_dot_pair(&program->compiled->source, &program->compiled->graph, out);
}

tern_status tern_program_pass(const tern_program *program, int i, tern_pass_report *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_pass: an argument is NULL");
    const tern__report *report = program->compiled->report;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= report->n_passes, TERN_OUT_OF_RANGE,
                  "program pass %d: there are %u", i, report->n_passes);
    const tern__pass_log *log = &report->passes[i];
    *out = (tern_pass_report){.name = log->name,
                              .ran = log->ran,
                              .custom = log->custom,
                              .changes = (int)log->changes,
                              .nodes_before = (int)log->nodes_before,
                              .nodes_after = (int)log->nodes_after,
                              .failures = (int)log->failures,
                              .ns = log->ns,
                              .n_notes = (int)log->n_notes,
                              .notes = log->notes};
    return TERN_OK;
}

tern_status tern_program_fusion(const tern_program *program, int i, tern_fusion_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_fusion: an argument is NULL");
    const tern__report *report = program->compiled->report;
    TERN__FAIL_IF(i < 0 || (size_t)i >= report->n_fusions, TERN_OUT_OF_RANGE,
                  "program fusion %d: there are %zu", i, report->n_fusions);
    const tern__fusion *f = &report->fusions[i];
    *out =
        (tern_fusion_info){.kind = f->kind,
                           .n_nodes = (int)f->n_nodes,
                           .nodes = f->nodes,
                           .ops = f->ops,
                           .bytes_before = (uint64_t)f->bytes_before,
                           .bytes_after = (uint64_t)f->bytes_after,
                           .estimated_speedup = f->bytes_after > 0 ? f->bytes_before / f->bytes_after : 1.0};
    return TERN_OK;
}

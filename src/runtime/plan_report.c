/* plan_report.c - the plan of a program, for people and tools: its steps, their operands, its memory. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "graph/region.h"
#include "runtime/program.h"

void tern_program_get_info(const tern_program *program, tern_program_info *out)
{
    if (!program || !out)
        return;
    const tern__plan *plan = &program->compiled->plan;
    *out = (tern_program_info){.nodes_before = program->nodes_before,
                               .nodes_after = (int)program->compiled->graph.n_nodes,
                               .steps = (int)plan->n_steps,
                               .arena_bytes = plan->arena_bytes,
                               .scratch_bytes = plan->scratch_bytes,
                               .live_bytes = plan->live_bytes,
                               .naive_bytes = plan->naive_bytes,
                               .flops = plan->flops,
                               .bytes = plan->bytes,
                               .compile_ns = program->compile_ns};
    const tern__batching *b = program->batching;
    if (b) {
        out->batch = b->recorded;
        out->batch_least = b->least;
        out->batch_most = b->most;
    }
}

/* The names of a region's ops with " + " between them; those for which there is no room are counted. */
static void name_ops(const tern__region *region, char *out, size_t size)
{
    enum { MORE = sizeof " + 65535 more" };
    size_t used = 0;
    for (int i = 0; i < region->n_ops; i++) {
        const char *name = tern__ops[region->ops[i].op].name;
        if (used + strlen(" + ") + strlen(name) + MORE > size) {
            snprintf(out + used, size - used, " + %d more", region->n_ops - i);
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " + " : "", name);
    }
}

tern_status tern_program_step(const tern_program *program, int i, tern_step_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_step: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_steps, TERN_OUT_OF_RANGE, "program step %d: there are %u",
                  i, plan->n_steps);
    const tern__step *step = &plan->steps[i];
    tern_step_info info = {.op = tern__ops[step->op].name,
                           .kernel = step->kernel_name,
                           .isa = step->isa_name,
                           .node = step->node,
                           .threads = step->parts,
                           .flops = step->flops,
                           .bytes = step->bytes,
                           .n_operands = (int)step->n_in,
                           .n_results = (int)step->n_out};
    if (step->op == TERN__OP_fused)
        name_ops(step->attrs[0].region, info.detail, sizeof info.detail);
    *out = info;
    return TERN_OK;
}

/* What a value is called in the text form of the compiled graph. */
static void write_label(const tern_program *program, tern__id value, char *out, size_t size)
{
    const tern__label *label = &program->compiled->labels[value];
    if (label->name)
        snprintf(out, size, "%s", label->name);
    else
        snprintf(out, size, "%u", label->number);
}

static const char *place_name(const tern_graph *g, const tern__operand *operand)
{
    if (operand->space == TERN__SPACE_LEAF)
        return tern__ops[g->nodes[g->leaves[operand->index].node].op].name;
    return operand->space == TERN__SPACE_OUTPUT ? "output" : "arena";
}

tern_status tern_program_operand(const tern_program *program, int step, int i, tern_operand_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_operand: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(step < 0 || (uint32_t)step >= plan->n_steps, TERN_OUT_OF_RANGE,
                  "program step %d: there are %u", step, plan->n_steps);
    const tern__step *s = &plan->steps[step];
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= s->n_in + s->n_out, TERN_OUT_OF_RANGE,
                  "operand %d of step %d: there are %u", i, step, s->n_in + s->n_out);
    const tern__operand *operand = &plan->operands[s->operands + (uint32_t)i];
    *out = (tern_operand_info){.port = tern__port(operand->type, NULL),
                               .place = place_name(&program->compiled->graph, operand),
                               .offset = operand->byte_offset,
                               .bytes = tern__type_bytes(operand->type)};
    write_label(program, operand->value, out->name, sizeof out->name);
    return TERN_OK;
}

tern_status tern_program_buffer(const tern_program *program, int i, tern_buffer_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_buffer: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_buffers, TERN_OUT_OF_RANGE,
                  "program buffer %d: there are %u", i, plan->n_buffers);
    const tern__buffer_plan *buffer = &plan->buffers[i];
    *out = (tern_buffer_info){.offset = buffer->offset,
                              .bytes = buffer->bytes,
                              .first = (int)buffer->first,
                              .last = (int)buffer->last,
                              .group = (int)buffer->group};
    write_label(program, buffer->value, out->name, sizeof out->name);
    return TERN_OK;
}

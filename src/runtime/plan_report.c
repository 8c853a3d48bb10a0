/* plan_report.c - the plan of a program, for people and tools: its steps, their operands, its memory. */
#include "base/status.h"
#include "runtime/program.h"

void tern_program_get_info(const tern_program *program, tern_program_info *out)
{
    if (!program || !out)
        return;
    const tern__plan *plan = &program->compiled->plan;
    *out = (tern_program_info){.n_inputs = program->n_inputs,
                               .n_outputs = (int)plan->n_results,
                               .nodes_before = program->nodes_before,
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

tern_status tern_program_step(const tern_program *program, int i, tern_step_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_step: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_steps, TERN_OUT_OF_RANGE, "program step %d: there are %u",
                  i, plan->n_steps);
    const tern__step *step = &plan->steps[i];
    *out = (tern_step_info){.op = tern__ops[step->op].name,
                            .n_ops = tern__step_ops(step),
                            .ops = program->compiled->ops[i],
                            .kernel = step->kernel_name,
                            .isa = step->isa_name,
                            .reference = step->reference,
                            .row_program = step->rows,
                            .node = step->node,
                            .threads = step->parts,
                            .flops = step->flops,
                            .bytes = step->bytes,
                            .at_most = step->at_most,
                            .n_operands = (int)step->n_in,
                            .n_results = (int)step->n_out};
    return TERN_OK;
}

tern_status tern_program_partition(const tern_program *program, int i, tern_partition_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_partition: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_partitions, TERN_OUT_OF_RANGE,
                  "program partition %d: there are %u", i, plan->n_partitions);
    const tern__partition *part = &plan->partitions[i];
    *out = (tern_partition_info){.device = part->on_device ? plan->device : tern__device_at(0)->name,
                                 .first_step = (int)part->first,
                                 .steps = (int)(part->end - part->first),
                                 .predicted_ns = part->predicted_ns};
    return TERN_OK;
}

/* What a value is called in the text form of the compiled graph, without '%'. */
static tern_status name_of(const tern_program *program, tern__id value, const char **out)
{
    const char *const *labels;
    TERN_TRY(tern__graph_labels(&program->compiled->graph, &labels));
    *out = labels[value] + 1;
    return TERN_OK;
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
    const char *name;
    TERN_TRY(name_of(program, operand->value, &name));
    *out = (tern_operand_info){.name = name,
                               .port = tern__port(operand->type, NULL),
                               .place = place_name(&program->compiled->graph, operand),
                               .offset = operand->byte_offset,
                               .bytes = tern__type_bytes(operand->type)};
    return TERN_OK;
}

tern_status tern_program_buffer(const tern_program *program, int i, tern_buffer_info *out)
{
    TERN__FAIL_IF(!program || !out, TERN_INVALID_ARGUMENT, "program_buffer: an argument is NULL");
    const tern__plan *plan = &program->compiled->plan;
    TERN__FAIL_IF(i < 0 || (uint32_t)i >= plan->n_buffers, TERN_OUT_OF_RANGE,
                  "program buffer %d: there are %u", i, plan->n_buffers);
    const tern__buffer_plan *buffer = &plan->buffers[i];
    const char *name;
    TERN_TRY(name_of(program, buffer->value, &name));
    *out = (tern_buffer_info){.name = name,
                              .offset = buffer->offset,
                              .bytes = buffer->bytes,
                              .first = (int)buffer->first,
                              .last = (int)buffer->last,
                              .group = (int)buffer->group};
    return TERN_OK;
}

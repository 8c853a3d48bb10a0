/* select.c - a kernel for every step, how many workers share it, and what it is estimated to cost. */
#include "base/status.h"
#include "passes/pass.h"

tern_status tern__pass_select(tern__compilation *c);

static tern_status select_step(tern__compilation *c, tern__id id, tern__step *step)
{
    enum { SMALL = 8 };
    const tern_graph *g = c->graph;
    const tern__gnode *node = &g->nodes[id];
    const tern__op *op = &tern__ops[node->op];
    const tern__type *small_in[SMALL];
    tern__type small_out[SMALL];
    const tern__type **in =
        node->n_in <= SMALL ? small_in : tern__arena_alloc(c->arena, node->n_in * sizeof *in);
    tern__type *out =
        node->n_out <= SMALL ? small_out : tern__arena_alloc(c->arena, node->n_out * sizeof *out);
    if (!in || !out)
        return tern__out_of_memory(node->n_in * sizeof *in + node->n_out * sizeof *out);
    for (uint32_t i = 0; i < node->n_in; i++)
        in[i] = &g->values[node->in[i]].type;
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = g->values[node->out + i].type;
    tern__call call = {.op = op,
                       .n_in = (int)node->n_in,
                       .n_out = (int)node->n_out,
                       .in = in,
                       .attrs = node->attrs,
                       .out = out};
    tern__choice choice;
    TERN_TRY(c->target->choose(c->target, &call, c->arena, &choice));
    double flops = op->cost(&call, op->cost_factor), bytes = (double)tern__op_bytes(&call);
    int64_t work = choice.work >= 0 ? choice.work : op->work(&call);
    *step = (tern__step){.op = node->op,
                         .n_in = node->n_in,
                         .n_out = node->n_out,
                         .attrs = node->attrs,
                         .kernel = choice.kernel,
                         .kernel_name = choice.name,
                         .isa_name = choice.isa,
                         .program = choice.program,
                         .work = work,
                         .parts = tern__target_parts(c->target, work, flops, bytes),
                         .scratch_bytes = choice.scratch_bytes,
                         .flops = (uint64_t)flops,
                         .bytes = (uint64_t)bytes,
                         .node = id};
    return TERN_OK;
}

tern_status tern__pass_select(tern__compilation *c)
{
    tern__plan *plan = c->plan;
    plan->steps = tern__arena_alloc(c->arena, plan->n_steps * sizeof *plan->steps);
    if (!plan->steps)
        return tern__out_of_memory(plan->n_steps * sizeof *plan->steps);
    plan->workers = 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->graph->n_nodes; i++) {
        if (!c->needs_step[c->order[i]])
            continue;
        tern__step *step = &plan->steps[n++];
        TERN_TRY(select_step(c, c->order[i], step));
        plan->flops += step->flops;
        plan->bytes += step->bytes;
        if (step->parts > plan->workers)
            plan->workers = step->parts;
    }
    return TERN_OK;
}

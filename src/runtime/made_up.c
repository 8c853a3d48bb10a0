/* made_up.c - inputs for programs that are run to be measured. */
#include "runtime/made_up.h"

#include <tern/ops.h>

#include "runtime/program.h"
#include "tensor/type.h"

/* The node of op `attention` that reads a leaf as its operand `operand`; NULL: none does. */
static const tern__gnode *attention_with(const tern_graph *g, uint32_t leaf, uint32_t operand)
{
    const tern__id value = g->nodes[g->leaves[leaf].node].out;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == TERN__OP_attention && g->nodes[i].in[operand] == value)
            return &g->nodes[i];
    return NULL;
}

/* Slots and positions as at the end of a full context, which is where attention costs most: if there is a slot for every row
 * each has one, as in generation, otherwise rows follow each other in the first slot. NULL: it is neither. */
static tern_tensor *make_up_places(tern_ctx *ctx, const tern_program *program, int input,
                                   const tern_port *port)
{
    enum { IN_K = 1, IN_SLOTS = 3, IN_POSITIONS = 4 };
    const tern_graph *g = &program->compiled->source;
    const tern__gnode *by_slot = attention_with(g, program->inputs[input], IN_SLOTS);
    const tern__gnode *by_position = attention_with(g, program->inputs[input], IN_POSITIONS);
    if (port->rank != 1 || (!by_slot && !by_position))
        return NULL;
    const int64_t *k = g->values[(by_slot ? by_slot : by_position)->in[IN_K]].type.shape;
    const int64_t rows = port->shape[0], slots = k[0], capacity = k[1];
    const bool each = rows <= slots;
    if (by_slot)
        return each ? tern_arange(ctx, port->dtype, 0, (double)rows, 1) : NULL;
    if (each)
        return tern_full(ctx, port->dtype, 1, port->shape, (double)(capacity - 1));
    return rows <= capacity ? tern_arange(ctx, port->dtype, (double)(capacity - rows), (double)capacity, 1)
                            : NULL;
}

static tern_tensor *make_up(tern_ctx *ctx, const tern_program *program, int i, const tern_port *port)
{
    if (tern__dtype_is_float(port->dtype))
        return tern_randn(ctx, port->dtype, port->rank, port->shape, 1000 + i);
    tern_tensor *places = make_up_places(ctx, program, i, port);
    return places ? places : tern_zeros(ctx, port->dtype, port->rank, port->shape);
}

tern_status tern__make_up_inputs(tern_ctx *ctx, const tern_program *program, tern_tensor *const *given,
                                 tern_tensor **tensors)
{
    for (int i = 0; i < program->n_inputs; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(program, i, &port));
        tensors[i] = given && given[i] ? given[i] : make_up(ctx, program, i, &port);
        TERN_TRY(tern_eval(tensors[i]));
    }
    return TERN_OK;
}

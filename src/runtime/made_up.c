/* made_up.c - inputs for programs that are run to be measured. */
#include "runtime/made_up.h"

#include <tern/ops.h>

#include "tensor/type.h"

static tern_tensor *make_up(tern_ctx *ctx, const tern_port *port, int i)
{
    if (tern__dtype_is_float(port->dtype))
        return tern_randn(ctx, port->dtype, port->rank, port->shape, 1000 + i);
    return tern_zeros(ctx, port->dtype, port->rank, port->shape);
}

tern_status tern__make_up_inputs(tern_ctx *ctx, const tern_program *program, tern_tensor *const *given,
                                 tern_tensor **tensors)
{
    for (int i = 0; i < tern_program_inputs(program); i++) {
        tern_port port;
        TERN_TRY(tern_program_input(program, i, &port));
        tensors[i] = given && given[i] ? given[i] : make_up(ctx, &port, i);
        TERN_TRY(tern_eval(tensors[i]));
    }
    return TERN_OK;
}

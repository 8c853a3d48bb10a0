/* made_up.h - inputs for programs that are run to be measured. */
#ifndef TERN_RUNTIME_MADE_UP_H
#define TERN_RUNTIME_MADE_UP_H

#include <tern/program.h>

/* Fills tensors (one for each input of the program), evaluated: given[i], or, where that or `given` is NULL, data that are
 * made up: random for floats, the end of a full context for slots and positions of attention, zeros otherwise, which are valid
 * as indices and ternary digits. They belong to the open scope. */
tern_status tern__make_up_inputs(tern_ctx *ctx, const tern_program *program, tern_tensor *const *given,
                                 tern_tensor **tensors);

#endif

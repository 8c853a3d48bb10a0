/* cost.c - what calls cost on a CPU: rates by kernel and layout, measured once with `tern graph run` on
 * one worker and rounded. Only their ratios matter. Kernels without a row here cost the same in every
 * form, so nothing is moved for them. */
#include "devices/cpu/cost.h"

#include <string.h>

typedef struct rate {
    const char *kernel;
    int nhwc;                /* the attribute's place in the op's row */
    double nchw_ns, nhwc_ns; /* of one operation (the op's cost rule) */
} rate;

static const rate rates[] = {
    {"conv2d__gemm", TERN__ATTR_conv2d_nhwc, 0.010, 0.016},
    {"max_pool2d__rows", TERN__ATTR_max_pool2d_nhwc, 0.5, 0.4},
    {"avg_pool2d__rows", TERN__ATTR_avg_pool2d_nhwc, 0.5, 0.4},
    {"conv2d__ref", TERN__ATTR_conv2d_nhwc, 4.6, 3.3},
    {"max_pool2d__ref", TERN__ATTR_max_pool2d_nhwc, 7.5, 15},
    {"avg_pool2d__ref", TERN__ATTR_avg_pool2d_nhwc, 7.0, 7.5},
};

static const double ns_per_byte = 0.5; /* of a copy that changes the order of axes */
static const double ns_per_flop = 0.1; /* of kernels without a row */

double tern__cpu_cost(const tern__target *target, const tern__call *call)
{
    tern__choice choice;
    tern__arena arena;
    double ns = call->op->cost(call, call->op->cost_factor);
    tern__arena_init(&arena, 0);
    const char *kernel = target->choose(target, call, NULL, &arena, &choice) == TERN_OK ? choice.name : "";
    const rate *found = NULL;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (strcmp(rates[i].kernel, kernel) == 0)
            found = &rates[i];
    tern__arena_free(&arena);
    if (found)
        return ns * (call->attrs[found->nhwc].i ? found->nhwc_ns : found->nchw_ns);
    return ns * ns_per_flop + tern__op_bytes(call) * ns_per_byte;
}

/* work_rules.c - the work column of ops.def: into how many independent items a step's work splits, for
 * threads to share. A kernel's range [begin, end) counts these items. */
#include "graph/rules.h"

#include <string.h>

int64_t tern__rule_work_one(const tern__call *call)
{
    (void)call;
    return 1;
}

int64_t tern__rule_work_whole(const tern__call *call)
{
    (void)call;
    return 1;
}

int64_t tern__rule_work_elements(const tern__call *call)
{
    return tern__type_numel(&call->out[0]);
}

/* All axes but the last; a scalar is one row. */
static int64_t rows_of(const tern__type *type)
{
    int64_t rows = 1;
    for (int i = 0; i < type->rank - 1; i++)
        rows *= type->shape[i];
    return rows;
}

int64_t tern__rule_work_rows(const tern__call *call)
{
    return rows_of(&call->out[0]);
}

/* Packed elements share bytes, so their rows are the smallest pieces that two threads may write. */
int64_t tern__rule_work_units(const tern__call *call)
{
    bool packed = tern__dtype_is_packed(call->out[0].dtype) || tern__dtype_is_packed(call->in[0]->dtype);
    return packed ? tern__rule_work_rows(call) : tern__rule_work_elements(call);
}

/* Lines of operand 0 along attribute `axis`: the elements of the other axes. */
int64_t tern__rule_work_lanes(const tern__call *call)
{
    const tern__type *x = call->in[0];
    int64_t lanes = 1;
    int axis = -1;
    tern__axis_normalise(tern__attr_called(call, "axis")->i, x->rank, &axis);
    for (int i = 0; i < x->rank; i++)
        lanes *= i == axis ? 1 : x->shape[i];
    return lanes;
}

/* Rows of the result's matrices: with a vector on the right, each is one element. */
int64_t tern__rule_work_matrix_rows(const tern__call *call)
{
    return call->in[1]->rank == 1 ? tern__rule_work_elements(call) : tern__rule_work_rows(call);
}

/* Pairs of query row and head. */
int64_t tern__rule_work_attention(const tern__call *call)
{
    return tern__rule_work_rows(call);
}

/* batching.c - programs for a range of batches: which inputs have the batch, whether every size has a
 * meaning, and the program for one of them. Execs keep those that they use (exec.c). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/rebatch.h"
#include "runtime/program.h"

/* ---- the range ---- */

static const tern__gnode *input_node(const tern_program *p, int i)
{
    const tern_graph *g = &p->compiled->source;
    return &g->nodes[g->leaves[p->inputs[i]].node];
}

static bool is_named(const tern_batch_range *range, const char *name)
{
    for (int i = 0; i < range->n_inputs; i++)
        if (strcmp(range->inputs[i], name) == 0)
            return true;
    return false;
}

/* Each name must be that of an input of the program. */
static tern_status check_names(const tern_batch_range *range, const tern_program *p)
{
    for (int i = 0; i < range->n_inputs; i++) {
        bool found = false;
        TERN__FAIL_IF(!range->inputs[i], TERN_INVALID_ARGUMENT,
                      "compile: batch: the name of input %d is NULL", i);
        for (int k = 0; k < p->n_inputs && !found; k++)
            found = input_node(p, k)->op == TERN__OP_input &&
                    strcmp(input_node(p, k)->attrs[TERN__ATTR_input_name].text, range->inputs[i]) == 0;
        TERN__FAIL_IF(!found, TERN_NOT_FOUND, "compile: batch: no input is called '%s'", range->inputs[i]);
    }
    return TERN_OK;
}

static tern_status mark_inputs(const tern_batch_range *range, const tern_program *p, tern__batching *b)
{
    b->input = -1;
    for (int i = 0; i < p->n_inputs; i++) {
        const tern__gnode *node = input_node(p, i);
        const tern__type *type = &p->compiled->source.values[node->out].type;
        const char *name = node->attrs[TERN__ATTR_input_name].text;
        if (node->op != TERN__OP_input || (range->n_inputs > 0 && !is_named(range, name)))
            continue;
        const char *advice = range->n_inputs > 0 ? "" : ": name the inputs that have it";
        TERN__FAIL_IF(type->rank == 0, TERN_SHAPE, "compile: batch: input '%s' has no axes%s", name, advice);
        TERN__FAIL_IF(
            b->input >= 0 && type->shape[0] != b->recorded, TERN_SHAPE,
            "compile: batch: the first axis of input '%s' is %" PRId64 ", that of '%s' %" PRId64 "%s", name,
            type->shape[0], input_node(p, b->input)->attrs[TERN__ATTR_input_name].text, b->recorded, advice);
        if (b->input < 0) {
            b->input = i;
            b->recorded = type->shape[0];
        }
        b->batched[p->inputs[i]] = true;
    }
    TERN__FAIL_IF(b->input < 0, TERN_INVALID_ARGUMENT, "compile: batch: the graph has no inputs");
    return TERN_OK;
}

static tern_status check_range(const tern__batching *b)
{
    TERN__FAIL_IF(b->least < 1 || b->most < b->least, TERN_INVALID_ARGUMENT,
                  "compile: a batch of %" PRId64 " to %" PRId64 " is no range: it starts at 1 or more and "
                  "ends there or higher",
                  b->least, b->most);
    return TERN_OK;
}

/* ---- the graph for one size ---- */

TERN_PRINTF(2, 3) static tern_status in_batch(tern_status status, const char *format, ...)
{
    char context[128];
    va_list args;
    if (status == TERN_OUT_OF_MEMORY)
        return status;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    return tern__fail_in(status, context);
}

/* With the data of the program's leaves; ends with tern__graph_clear. */
static tern_status make_graph(const tern_program *p, int64_t size, tern_graph *out)
{
    tern__graph_init(out);
    tern_status status = tern__graph_rebatch(&p->compiled->source, p->batching->batched, size, out);
    if (status != TERN_OK) {
        tern__graph_clear(out);
        return in_batch(status, "compile: for a batch of %" PRId64, size);
    }
    for (uint32_t i = 0; i < out->n_leaves; i++) {
        if (out->leaves[i].storage || !p->storages[i])
            continue;
        out->leaves[i].storage = p->storages[i];
        tern__storage_retain(p->storages[i]);
    }
    return TERN_OK;
}

static tern_status check_size(const tern_program *p, int64_t size)
{
    tern_graph g;
    TERN_TRY(make_graph(p, size, &g));
    tern__graph_clear(&g);
    return TERN_OK;
}

/* A size that no other number of the graph fits shows whether it depends on the one that was recorded. */
static tern_status check_graph(tern_ctx *ctx, const tern_program *p)
{
    const tern__batching *b = p->batching;
    tern_graph g;
    int64_t probe = tern__graph_probe_size(&p->compiled->source, b->recorded);
    tern__graph_init(&g);
    tern_status status = tern__graph_rebatch(&p->compiled->source, b->batched, probe, &g);
    tern__graph_clear(&g);
    if (status != TERN_OK)
        return in_batch(status,
                        "compile: the graph has a meaning for the batch it was recorded with only, %" PRId64,
                        b->recorded);
    TERN_TRY(check_size(p, b->least));
    TERN_TRY(check_size(p, b->most));
    if (!p->compiled->options.memory_limit)
        return TERN_OK;
    tern_program *largest;
    TERN_TRY(tern_program_for_batch(ctx, p, b->most, &largest));
    tern_program_free(largest);
    return TERN_OK;
}

tern_status tern__batching_make(tern_ctx *ctx, const tern_batch_range *range, tern_program *program)
{
    const size_t n = program->compiled->source.n_leaves;
    TERN__FAIL_IF(range->n_inputs < 0 || (range->n_inputs > 0 && !range->inputs), TERN_INVALID_ARGUMENT,
                  "compile: batch: the names of its inputs are NULL");
    TERN_TRY(check_names(range, program));
    tern__batching *b = tern__alloc_zero(1, sizeof *b + n * sizeof b->batched[0]);
    if (!b)
        return tern__out_of_memory(sizeof *b + n * sizeof b->batched[0]);
    b->least = range->least;
    b->most = range->most;
    program->batching = b; /* freed with the program from here on */
    TERN_TRY(check_range(b));
    TERN_TRY(mark_inputs(range, program, b));
    TERN__FAIL_IF(b->recorded < b->least || b->recorded > b->most, TERN_INVALID_ARGUMENT,
                  "compile: the graph was recorded with a batch of %" PRId64 ", which is not from %" PRId64
                  " to %" PRId64 ": let the range contain %" PRId64 " (others are derived from it)",
                  b->recorded, b->least, b->most, b->recorded);
    return check_graph(ctx, program);
}

/* ---- programs for one size ---- */

static tern_status check_in_range(const tern__batching *b, const char *who, int64_t size)
{
    TERN__FAIL_IF(size < b->least || size > b->most, TERN_OUT_OF_RANGE,
                  "%s: a batch of %" PRId64 ", the program is for %" PRId64 " to %" PRId64, who, size,
                  b->least, b->most);
    return TERN_OK;
}

tern_status tern_program_for_batch(tern_ctx *ctx, const tern_program *program, int64_t batch,
                                   tern_program **out)
{
    TERN__FAIL_IF(!ctx || !program || !out, TERN_INVALID_ARGUMENT,
                  "program_for_batch: needs a context, a program and room for another");
    TERN__FAIL_IF(!program->batching, TERN_INVALID_ARGUMENT,
                  "program_for_batch: the program was not compiled for a range of batches");
    TERN_TRY(check_in_range(program->batching, "program_for_batch", batch));
    tern_graph g;
    TERN_TRY(make_graph(program, batch, &g));
    tern__compile_options options = program->compiled->options;
    options.observe = NULL; /* it watched the compilation that the caller asked for */
    tern_status status = tern__program_make(ctx, &g, &options, out);
    tern__graph_clear(&g);
    return status;
}

tern_status tern__batching_size(const tern_program *program, tern_tensor *const *inputs, int64_t *out)
{
    const tern_tensor *t = inputs[program->batching->input];
    TERN_TRY(tern__tensor_check(t));
    int64_t size = t->type.rank > 0 ? t->type.shape[0] : program->batching->recorded;
    TERN_TRY(check_in_range(program->batching, "exec_run", size));
    *out = size;
    return TERN_OK;
}

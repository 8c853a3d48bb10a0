/* model_steps.c - see model_steps.h. */
#include "measure/bench/model_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

static bool same_ops(const tern_bench_step *a, const tern_bench_step *b)
{
    bool same = a->n_ops == b->n_ops && strcmp(a->kernel, b->kernel) == 0;
    for (int i = 0; i < a->n_ops && same; i++)
        same = strcmp(a->ops[i], b->ops[i]) == 0;
    return same;
}

/* The same kernel on as many bytes, on as many threads. */
static tern_bench_step *kind_of(const tern_step_info *s, tern_bench_step *kinds, int *n)
{
    const tern_bench_step k = {.n_ops = s->n_ops,
                               .ops = s->ops,
                               .kernel = s->kernel,
                               .threads = s->threads,
                               .bytes = s->bytes,
                               .flops = s->flops,
                               .at_most = s->at_most};
    for (int i = 0; i < *n; i++)
        if (kinds[i].threads == k.threads && kinds[i].bytes == k.bytes && same_ops(&kinds[i], &k))
            return &kinds[i];
    kinds[*n] = k;
    return &kinds[(*n)++];
}

static int slower_first(const void *a, const void *b)
{
    const double x = ((const tern_bench_step *)a)->seconds, y = ((const tern_bench_step *)b)->seconds;
    return (x < y) - (x > y);
}

static uint64_t runs_of(const tern_session *session, int i)
{
    tern_session_program p;
    return tern_session_get_program(session, i, &p) == TERN_OK ? p.runs : 0;
}

static int count_programs(const tern_session *session)
{
    tern_session_program p;
    int n = 0;
    while (tern_session_get_program(session, n, &p) == TERN_OK)
        n++;
    return n;
}

tern_status tern__model_runs(const tern_session *session, tern__model_run_counts *out)
{
    *out = (tern__model_run_counts){.n = count_programs(session)};
    out->runs = tern__alloc_zero((size_t)out->n + 1, sizeof *out->runs);
    if (!out->runs)
        return tern__out_of_memory((size_t)out->n * sizeof *out->runs);
    for (int i = 0; i < out->n; i++)
        out->runs[i] = runs_of(session, i);
    return TERN_OK;
}

/* Adds the steps of a program that runs `times` times. */
static void add_program(const tern_session_program *p, int times, tern_bench_step *kinds, int *n)
{
    tern_step_info step;
    tern_step_time time;
    for (int i = 0; tern_program_step(p->program, i, &step) == TERN_OK; i++) {
        if (tern_exec_step_time(p->exec, i, &time) != TERN_OK)
            continue;
        tern_bench_step *kind = kind_of(&step, kinds, n);
        kind->count += times;
        kind->seconds += (double)time.min_ns * 1e-9 * times;
    }
}

tern_status tern__model_steps(const tern_session *session, const tern__model_run_counts *before, int tests,
                              tern_bench_step **out, int *n)
{
    const int programs = count_programs(session);
    size_t most = 1;
    tern_session_program p;
    tern_program_info info;
    for (int i = 0; i < programs && tern_session_get_program(session, i, &p) == TERN_OK; i++) {
        tern_program_get_info(p.program, &info);
        most += (size_t)info.steps;
    }
    tern_bench_step *kinds = tern__alloc_zero(most, sizeof *kinds);
    if (!kinds)
        return tern__out_of_memory(most * sizeof *kinds);
    *n = 0;
    for (int i = 0; i < programs && tern_session_get_program(session, i, &p) == TERN_OK; i++) {
        const uint64_t runs = p.runs - (i < before->n ? before->runs[i] : 0);
        if (runs > 0)
            add_program(&p, (int)(runs / (uint64_t)tests), kinds, n);
    }
    qsort(kinds, (size_t)*n, sizeof *kinds, slower_first);
    *out = kinds;
    return TERN_OK;
}

/* Of ternary products: packed weights, or their codes where the device reads those. */
static bool is_ternary_weight(const tern_operand_info *o)
{
    return strcmp(o->place, "constant") == 0 && (tern_dtype_get(o->port.dtype)->kind == TERN_KIND_TERNARY ||
                                                 (o->port.dtype == TERN_U8 && o->port.rank == 3));
}

static bool has_ternary_product(const tern_step_info *s)
{
    for (int i = 0; i < s->n_ops; i++)
        if (strcmp(s->ops[i], "ternary_matmul") == 0 || strcmp(s->ops[i], "packed_ternary_matmul") == 0)
            return true;
    return false;
}

uint64_t tern__model_ternary_bytes(const tern_session *session)
{
    tern_session_program p, one = {0};
    tern_step_info step;
    tern_operand_info operand;
    uint64_t bytes = 0;
    for (int i = 0; tern_session_get_program(session, i, &p) == TERN_OK; i++)
        if (!one.program || p.rows < one.rows)
            one = p;
    for (int i = 0; one.program && tern_program_step(one.program, i, &step) == TERN_OK; i++)
        for (int k = 0; has_ternary_product(&step) && k < step.n_operands; k++)
            if (tern_program_operand(one.program, i, k, &operand) == TERN_OK && is_ternary_weight(&operand))
                bytes += operand.bytes;
    return bytes;
}

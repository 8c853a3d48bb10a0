/* model_steps.c - see model_steps.h. */
#include "measure/model_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

static bool find_program(const tern_session *session, int64_t rows, tern_session_program *out)
{
    tern_session_program p;
    bool found = false;
    for (int i = 0; tern_session_get_program(session, i, &p) == TERN_OK; i++)
        if (p.runs > 0 && p.rows <= rows && (!found || p.rows > out->rows)) {
            *out = p;
            found = true;
        }
    return found;
}

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
                               .flops = s->flops};
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

tern_status tern__model_steps(const tern_session *session, int64_t rows, tern_bench_step **out, int *n)
{
    tern_session_program p;
    tern_program_info info;
    TERN__FAIL_IF(!find_program(session, rows, &p), TERN_NOT_FOUND, "bench_model: no program has run");
    tern_program_get_info(p.program, &info);
    tern_bench_step *kinds = tern__alloc_zero((size_t)info.steps + 1, sizeof *kinds);
    if (!kinds)
        return tern__out_of_memory((size_t)info.steps * sizeof *kinds);
    *n = 0;
    for (int i = 0; i < info.steps; i++) {
        tern_step_info step;
        tern_step_time time;
        if (tern_program_step(p.program, i, &step) != TERN_OK ||
            tern_exec_step_time(p.exec, i, &time) != TERN_OK)
            continue;
        tern_bench_step *kind = kind_of(&step, kinds, n);
        kind->count++;
        kind->seconds += (double)time.min_ns * 1e-9;
    }
    qsort(kinds, (size_t)*n, sizeof *kinds, slower_first);
    *out = kinds;
    return TERN_OK;
}

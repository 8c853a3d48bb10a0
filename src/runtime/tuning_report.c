/* tuning_report.c - rows of what was measured, with their texts, for whoever asked. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "graph/text_call.h"
#include "runtime/tuning.h"

struct tern_tune_report {
    tern_tune_row *rows;
    size_t n, capacity;
    uint64_t runs;
    tern__arena arena; /* of the texts */
};

tern_status tern__tune_report_create(tern_tune_report **out)
{
    tern_tune_report *r = tern__alloc_zero(1, sizeof *r);
    if (!r)
        return tern__out_of_memory(sizeof *r);
    tern__arena_init(&r->arena, 0);
    *out = r;
    return TERN_OK;
}

static tern_status add_op(tern__arena *arena, tern_tune_row *row, const char **ops, const char *name,
                          size_t length)
{
    ops[row->n_ops] = tern__arena_strndup(arena, name, length);
    if (!ops[row->n_ops])
        return tern__out_of_memory(length);
    row->n_ops++;
    return TERN_OK;
}

/* The row's ops; if it comes from the file, what its key tells of them. */
static tern_status copy_ops(tern__arena *arena, const tern_tune_row *from, tern_tune_row *to)
{
    const char *key = from->n_ops == 0 && strcmp(from->op, "fused") == 0 ? from->params : "";
    const char *alone = strcmp(from->op, "user") == 0 ? from->params : from->op, *name;
    size_t length, most = (size_t)from->n_ops + 1;
    for (const char *at = key; tern__call_params_next_op(&at, &length);)
        most++;
    const char **ops = tern__arena_alloc(arena, most * sizeof *ops);
    if (!ops)
        return tern__out_of_memory(most * sizeof *ops);
    to->ops = ops;
    to->n_ops = 0;
    for (int i = 0; i < from->n_ops; i++)
        TERN_TRY(add_op(arena, to, ops, from->ops[i], strlen(from->ops[i])));
    while ((name = tern__call_params_next_op(&key, &length)))
        TERN_TRY(add_op(arena, to, ops, name, length));
    return to->n_ops > 0 ? TERN_OK : add_op(arena, to, ops, alone, strlen(alone));
}

tern_status tern__tune_report_add(tern_tune_report *report, const tern_tune_row *row)
{
    if (!tern__grow((void **)&report->rows, &report->capacity, report->n + 1, sizeof *report->rows))
        return tern__out_of_memory(sizeof *report->rows);
    tern_tune_row copy = *row;
    const char **texts[] = {&copy.op,     &copy.shapes, &copy.params, &copy.candidate,
                            &copy.source, &copy.cpu,    &copy.version};
    for (size_t i = 0; i < TERN__COUNT(texts); i++) {
        *texts[i] = tern__arena_strndup(&report->arena, *texts[i], strlen(*texts[i]));
        if (!*texts[i])
            return tern__out_of_memory(64);
    }
    TERN_TRY(copy_ops(&report->arena, row, &copy));
    report->rows[report->n++] = copy;
    return TERN_OK;
}

void tern__tune_report_count(tern_tune_report *report, uint64_t runs)
{
    report->runs += runs;
}

int tern_tune_report_rows(const tern_tune_report *report)
{
    return report ? (int)report->n : 0;
}

tern_status tern_tune_report_row(const tern_tune_report *report, int i, tern_tune_row *out)
{
    TERN__FAIL_IF(!report || !out, TERN_INVALID_ARGUMENT, "tune_report_row: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= report->n, TERN_OUT_OF_RANGE, "tune_report_row %d: there are %zu", i,
                  report->n);
    *out = report->rows[i];
    return TERN_OK;
}

uint64_t tern_tune_report_runs(const tern_tune_report *report)
{
    return report ? report->runs : 0;
}

void tern_tune_report_free(tern_tune_report *report)
{
    if (!report)
        return;
    tern__arena_free(&report->arena);
    tern__free(report->rows);
    tern__free(report);
}

/* plan.c - the steps of a program as a table, with their times where they are known. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "run.h"
#include "table.h"
#include "term.h"
#include "text.h"

enum {
    MOST_STEPS = 60,
    OPS_WIDTH = 16, /* of the ops of a fused step */
    COLUMNS = 8,    /* without times */
};

static const char *kernel_name(const tern_step_info *step)
{
    return step->reference ? "ref" : step->row_program ? "row" : step->kernel;
}

/* Adds as many names from number `from` on as fit, one at least: "a + b +". Returns how many; names are never cut. */
static int add_names(text *t, int from, int n, const char *const *names, int width)
{
    int added = 0, used = 0;
    for (; from + added < n; added++) {
        bool last = from + added == n - 1;
        int more = (added ? 1 : 0) + text_width(names[from + added]) + (last ? 0 : 2);
        if (added > 0 && used + more > width)
            break;
        text_addf(t, "%s%s%s", added ? " " : "", names[from + added], last ? "" : " +");
        used += more;
    }
    return added;
}

/* The name of a result and its type; nothing past the last. */
static void describe_result(const tern_program *program, int number, const tern_step_info *step, int i,
                            text *name, text *type)
{
    tern_operand_info result;
    if (i >= step->n_results ||
        tern_program_operand(program, number, step->n_operands + i, &result) != TERN_OK)
        return;
    text_add(name, "%");
    text_add_safe(name, result.name);
    text_add_type(type, tern_dtype_name(result.port.dtype), result.port.rank, result.port.shape);
}

static void add_times(table *t, const step_times *times, int step, bool first)
{
    char number[NUMBER_TEXT];
    if (times->estimated)
        table_add(t, first ? format_time(number, (uint64_t)(times->estimated[step] + 0.5)) : "");
    if (times->measured)
        table_add(t, first ? format_time(number, times->measured[step]) : "");
    if (!times->estimated || !times->measured)
        return;
    if (first && times->estimated[step] > 0)
        table_addf(t, "%.1fx", (double)times->measured[step] / times->estimated[step]);
    else
        table_add(t, "");
}

/* One row per result, and more if the ops of a fused step need them; what belongs to the whole step stands in the
 * first. */
static void add_step(table *t, const tern_program *program, int number, const step_times *times)
{
    char index[NUMBER_TEXT], threads[NUMBER_TEXT], flops[NUMBER_TEXT], bytes[NUMBER_TEXT];
    tern_step_info step;
    if (tern_program_step(program, number, &step) != TERN_OK)
        return;
    snprintf(index, sizeof index, "%d", number);
    snprintf(threads, sizeof threads, "%d", step.threads);
    const char *whole[] = {index, threads, format_count(flops, step.flops), format_bytes(bytes, step.bytes)};
    for (int i = 0, told = 0; i < step.n_results || told < step.n_ops; i++) {
        text op = {0}, name = {0}, type = {0};
        told += add_names(&op, told, step.n_ops, step.ops, OPS_WIDTH);
        describe_result(program, number, &step, i, &name, &type);
        table_add(t, i == 0 ? whole[0] : "");
        table_add(t, text_string(&op));
        table_add(t, text_string(&name));
        table_add(t, text_string(&type));
        table_add(t, i > 0 ? "" : kernel_name(&step));
        for (int c = 1; c < 4; c++)
            table_add(t, i == 0 ? whole[c] : "");
        add_times(t, times, number, i == 0);
        text_free(&op);
        text_free(&name);
        text_free(&type);
    }
}

/* What the short words in the table mean. */
static void print_legend(const graph_run *r, bool timed)
{
    static const table_column columns[] = {{"", false, false, STYLE_DIM}};
    bool plain = false, row = false;
    for (int i = 0; i < r->info.steps && i < MOST_STEPS; i++) {
        tern_step_info step;
        if (tern_program_step(r->program, i, &step) != TERN_OK)
            continue;
        row = row || step.row_program;
        plain = plain || step.reference;
    }
    const char *dot = glyph_of(GLYPH_DOT);
    table t = table_make(columns, 1);
    text line = {0};
    if (plain)
        text_addf(&line, "ref: plain C %s ", dot);
    if (row)
        text_addf(&line, "row: a row program, of one op or several %s ", dot);
    text_addf(&line, "threads: how many may share a step %s flops, bytes: estimates", dot);
    if (timed)
        text_addf(&line, " %s measured: %s", dot,
                  r->runs > 1 ? "the run of median time" : "the first run, cold");
    table_add(&t, text_string(&line));
    text_free(&line);
    table_print(&t, 2, false);
}

void plan_print(const graph_run *r, step_times times)
{
    static const table_column plain[] = {
        {"#", true, false, STYLE_DIM},       {"op", false, false, STYLE_NONE},
        {"result", false, true, STYLE_NAME}, {"type", false, true, STYLE_NUMBER},
        {"kernel", false, true, STYLE_NONE}, {"threads", true, false, STYLE_NONE},
        {"flops", true, false, STYLE_NONE},  {"bytes", true, false, STYLE_NONE},
    };
    table_column columns[COLUMNS + 3];
    int n = COLUMNS;
    memcpy(columns, plain, sizeof plain);
    if (times.estimated)
        columns[n++] = (table_column){"estimated", true, false, STYLE_NONE};
    if (times.measured)
        columns[n++] = (table_column){"measured", true, false, STYLE_NONE};
    if (times.estimated && times.measured)
        columns[n++] = (table_column){"ratio", true, false, STYLE_DIM};
    table t = table_make(columns, n);
    for (int i = 0; i < r->info.steps && i < MOST_STEPS; i++)
        add_step(&t, r->program, i, &times);
    table_print(&t, 2, true);
    if (r->info.steps > MOST_STEPS)
        printf("  %s%s %d more (--json lists all)%s\n", on(STYLE_DIM), glyph_of(GLYPH_ELLIPSIS),
               r->info.steps - MOST_STEPS, off(STYLE_DIM));
    if (r->info.steps > 0)
        print_legend(r, times.measured != NULL);
}

void plan_add_ops(text *t, int n, const char *const *ops, int width)
{
    enum { MORE = sizeof " 48 more" };
    text all = {0};
    add_names(&all, 0, n, ops, INT_MAX);
    if (text_width(text_string(&all)) <= width) {
        text_add(t, text_string(&all));
    } else {
        int told = add_names(t, 0, n, ops, width - MORE);
        if (told < n)
            text_addf(t, " %d more", n - told);
    }
    text_free(&all);
}

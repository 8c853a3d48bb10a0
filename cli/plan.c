/* plan.c - the steps of a program as a table, with their times where they are known. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

/* "ref" for matmul__ref of matmul; other kernels by their whole name. */
static const char *kernel_name(const tern_step_info *step)
{
    size_t n = strlen(step->op);
    bool own = strncmp(step->kernel, step->op, n) == 0 && strncmp(step->kernel + n, "__", 2) == 0;
    return own ? step->kernel + n + 2 : step->kernel;
}

/* Takes as many names off the front of "a + b + c" as fit, one at least: "a + b +". Names are never cut. */
static void take_ops(const char **names, int width, text *out)
{
    static const char plus[] = " + ";
    size_t took = 0;
    for (const char *at = *names; *at;) {
        const char *end = strstr(at, plus);
        size_t length = end ? (size_t)(end - *names) + 2 : strlen(*names);
        if (took > 0 && length > (size_t)width)
            break;
        took = length;
        at = end ? end + strlen(plus) : at + strlen(at);
    }
    text_add_n(out, *names, took);
    *names += took;
    *names += **names == ' ';
}

/* What a step computes: its op, or those that are fused in it. */
static const char *ops_of(const tern_step_info *step)
{
    return step->detail[0] ? step->detail : step->op;
}

static bool is_row_program(const tern_step_info *step)
{
    return strcmp(step->kernel, "row") == 0;
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
    const char *ops = ops_of(&step);
    const char *whole[] = {index, threads, format_count(flops, step.flops), format_bytes(bytes, step.bytes)};
    for (int i = 0; i < step.n_results || *ops; i++) {
        text op = {0}, name = {0}, type = {0};
        take_ops(&ops, OPS_WIDTH, &op);
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
        row = row || is_row_program(&step);
        plain = plain || strcmp(kernel_name(&step), "ref") == 0;
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

void plan_add_ops(text *t, const tern_step_info *step, int width)
{
    enum { MORE = sizeof " 48 more" };
    const char *left = ops_of(step);
    if (text_width(left) <= width) {
        text_add(t, left);
        return;
    }
    take_ops(&left, width - MORE, t);
    int more = *left != '\0';
    for (const char *at = left; (at = strstr(at, " + ")); at++) {
        int untold = atoi(at + 3); /* the library's own "+ 7 more" */
        more += untold > 0 ? untold : 1;
    }
    if (more > 0)
        text_addf(t, " %d more", more);
}

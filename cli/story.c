/* story.c - a run in three acts: what was recorded, what it was compiled to, what was computed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ports.h"
#include "run.h"
#include "table.h"
#include "term.h"
#include "text.h"

enum {
    MOST_LINES = 60,
    BAR = 24,
    OPS_WIDTH = 28, /* of the ops of a fused step */
};

void heading_print(const char *title, const char *summary)
{
    text line = {0};
    int used = 2 + text_width(title) + 2 + text_width(summary) + 1;
    text_repeat(&line, glyph_of(GLYPH_LINE), term_width() - used > 2 ? term_width() - used : 2);
    printf("%s%s %s%s  %s %s%s%s\n\n", on(STYLE_TITLE), glyph_of(GLYPH_LINE), title, off(STYLE_TITLE),
           summary, on(STYLE_DIM), text_string(&line), off(STYLE_DIM));
    text_free(&line);
}

static void print_more(int64_t more, const char *how)
{
    printf("  %s%s %" PRId64 " more (%s)%s\n", on(STYLE_DIM), glyph_of(GLYPH_ELLIPSIS), more, how,
           off(STYLE_DIM));
}

/* ---- act one: the graph, in columns -------------------------------------------------------------------------- */

static void add_safe_cell(table *t, const char *raw)
{
    text safe = {0};
    text_add_safe(&safe, raw);
    table_add(t, text_string(&safe));
    text_free(&safe);
}

/* One row per result; the call stands in the first. */
static tern_status add_node(table *t, const tern_graph *graph, tern_node node)
{
    tern_node_info info;
    char *call;
    TERN_TRY(tern_graph_node(graph, node, &info));
    TERN_TRY(tern_graph_call_text(graph, node, &call));
    for (int i = 0; i < info.n_results; i++) {
        tern_value result = info.result + (tern_value)i;
        tern_value_info value;
        const char *label = "";
        text type = {0};
        if (tern_graph_value(graph, result, &value) == TERN_OK)
            text_add_type(&type, tern_dtype_name(value.dtype), value.rank, value.shape);
        tern_graph_label(graph, result, &label);
        add_safe_cell(t, label);
        add_safe_cell(t, i == 0 ? call : "");
        table_add(t, text_string(&type));
        add_safe_cell(t, i == 0 && info.origin ? info.origin : "");
        text_free(&type);
    }
    tern_string_free(call);
    return TERN_OK;
}

/* What leaves the graph, and under which name where that is not its number. */
static void print_returns(const graph_run *r)
{
    static const table_column columns[] = {{"", false, false, STYLE_NONE}, {"", false, false, STYLE_NONE}};
    text line = {0};
    for (int i = 0; i < r->graph_info.outputs; i++) {
        tern_value value;
        tern_port port;
        const char *label;
        char number[NUMBER_TEXT];
        if (tern_graph_output_value(r->graph, i, &value) != TERN_OK ||
            tern_graph_label(r->graph, value, &label) != TERN_OK ||
            tern_graph_output(r->graph, i, &port) != TERN_OK)
            continue;
        snprintf(number, sizeof number, "%d", i);
        text_addf(&line, "%s%s", i ? ", " : "", label);
        if (strcmp(port.name, number) != 0)
            text_addf(&line, " as \"%s\"", port.name);
    }
    table t = table_make(columns, 2);
    table_add(&t, "return");
    add_safe_cell(&t, text_string(&line));
    table_print(&t, 2, false);
    text_free(&line);
}

static tern_status print_nodes(const graph_run *r)
{
    static const table_column columns[] = {{"", false, true, STYLE_NAME},
                                           {"", false, true, STYLE_NONE},
                                           {"", false, true, STYLE_NUMBER},
                                           {"", false, false, STYLE_DIM}};
    table t = table_make(columns, 4);
    tern_status status = TERN_OK;
    for (int n = 0; n < r->graph_info.nodes && n < MOST_LINES && status == TERN_OK; n++)
        status = add_node(&t, r->graph, (tern_node)n);
    table_print(&t, 2, false);
    if (r->graph_info.nodes > MOST_LINES)
        print_more(r->graph_info.nodes - MOST_LINES, "tern graph print shows all");
    print_returns(r);
    putchar('\n');
    return status;
}

static tern_status print_recorded(const graph_run *r)
{
    text summary = {0};
    ports_add_counts(&summary, &r->graph_info);
    heading_print("1. recorded", text_string(&summary));
    text_free(&summary);
    return print_nodes(r);
}

/* ---- act two: the plan -------------------------------------------------------------------------------------- */

static void print_compiled(const graph_run *r)
{
    char number[NUMBER_TEXT];
    text summary = {0};
    text_add_plural(&summary, r->info.steps, "step");
    text_addf(&summary, " in %s: ", format_time(number, r->info.compile_ns));
    text_addf(&summary, "estimated %s flops, ", format_count(number, r->info.flops));
    text_addf(&summary, "%s moved", format_bytes(number, r->info.bytes));
    heading_print("2. compiled", text_string(&summary));
    text_free(&summary);
    plan_print(r, (step_times){0});
    picture_print(r, true);
    putchar('\n');
}

/* ---- act three: results and time ---------------------------------------------------------------------------- */

static void add_bar(text *t, double share)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int units = (int)(share * BAR * 8 + 0.5);
    if (!term_utf8()) {
        text_repeat(t, "#", (units + 4) / 8);
        return;
    }
    text_repeat(t, "█", units / 8);
    text_add(t, eighths[units % 8]);
}

typedef struct timing {
    int step;
    uint64_t ns;
} timing;

static int by_time(const void *a, const void *b)
{
    const timing *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->step - y->step;
}

static void add_time(table *t, uint64_t ns, uint64_t whole)
{
    char number[NUMBER_TEXT];
    double share = whole > 0 ? (double)ns / (double)whole : 0;
    text bar = {0};
    add_bar(&bar, share);
    table_add(t, format_time(number, ns));
    table_addf(t, "%.1f %%", 100 * share);
    table_add(t, text_string(&bar));
    text_free(&bar);
}

/* In running order; the slowest ones only if there are many. What the run took beside its steps comes last. */
static void print_times(const graph_run *r)
{
    static const table_column columns[] = {
        {"#", true, false, STYLE_DIM},     {"op", false, false, STYLE_NONE},
        {"time", true, false, STYLE_NONE}, {"share", true, false, STYLE_NONE},
        {"", false, false, STYLE_BAR},
    };
    enum { MOST_TIMES = 24 };
    int n = r->info.steps;
    timing *times = grab((size_t)n, sizeof *times);
    uint64_t total = 0;
    for (int i = 0; i < n; i++) {
        times[i] = (timing){i, r->step_ns[i]};
        total += r->step_ns[i];
    }
    if (n > MOST_TIMES)
        qsort(times, (size_t)n, sizeof *times, by_time);
    uint64_t whole = r->shown_ns > total ? r->shown_ns : total;
    table t = table_make(columns, 5);
    for (int i = 0; i < n && i < MOST_TIMES; i++) {
        tern_step_info step;
        if (tern_program_step(r->program, times[i].step, &step) != TERN_OK)
            continue;
        table_addf(&t, "%d", times[i].step);
        text ops = {0};
        plan_add_ops(&ops, step.n_ops, step.ops, OPS_WIDTH);
        table_add(&t, text_string(&ops));
        text_free(&ops);
        add_time(&t, times[i].ns, whole);
    }
    table_add(&t, "");
    table_add(&t, "between steps");
    add_time(&t, whole - total, whole);
    table_print(&t, 2, true);
    if (n > MOST_TIMES)
        print_more(n - MOST_TIMES, "faster ones; --json lists all");
    putchar('\n');
    free(times);
}

tern_status outputs_print(const graph_run *r)
{
    for (int i = 0; i < r->n_outputs; i++) {
        tern_port port;
        array_stats stats;
        TERN_TRY(tern_program_output(r->program, i, &port));
        TERN_TRY(array_measure(r->outputs[i], &stats));
        text name = {0}, type = {0}, about = {0};
        text_add_safe(&name, port.name);
        array_add_type(&type, r->outputs[i]);
        bool one = tern_numel(r->outputs[i]) == 1; /* statistics of one number would say it four times */
        if (!one)
            array_add_stats(&about, &stats);
        else if (array_add_first(&about, r->outputs[i]) != TERN_OK)
            text_clear(&about);
        printf("%s%s%s%s  %s%s%s%s%s\n", i ? "\n" : "", on(STYLE_NAME), text_string(&name), off(STYLE_NAME),
               on(STYLE_NUMBER), text_string(&type), off(STYLE_NUMBER), about.length ? "  " : "",
               text_string(&about));
        text_free(&name);
        text_free(&type);
        text_free(&about);
        if (!one)
            TERN_TRY(array_preview(r->outputs[i], 2));
    }
    return TERN_OK;
}

void run_add_times(text *t, const graph_run *r)
{
    char number[NUMBER_TEXT];
    text_add_plural(t, r->warm, "warm run");
    text_addf(t, ": median %s", format_time(number, r->median_ns));
    text_addf(t, ", least %s", format_time(number, r->run_times[0]));
    text_addf(t, "; the first run took %s", format_time(number, r->run_ns));
}

static tern_status print_computed(const graph_run *r)
{
    char number[NUMBER_TEXT];
    text summary = {0};
    text_add_plural(&summary, r->n_outputs, "output");
    text_addf(&summary, " in %s on ", format_time(number, r->shown_ns));
    text_add_plural(&summary, tern_ctx_threads(r->ctx), "thread");
    text_add(&summary, r->runs > 1 ? ", the run of median time" : ", timed once, cold");
    heading_print("3. computed", text_string(&summary));
    if (r->runs > 1) {
        text_clear(&summary);
        run_add_times(&summary, r);
        printf("  %s\n\n", text_string(&summary));
    }
    text_free(&summary);
    if (r->step_ns && r->info.steps > 0)
        print_times(r);
    return outputs_print(r);
}

/* The closing words are those of the graph's author. */
static void print_remarks(const graph_run *r)
{
    const char *line = text_string(&r->remarks);
    if (*line)
        putchar('\n');
    while (*line) {
        size_t length = strcspn(line, "\n");
        char *raw = grab_string(line, length);
        text safe = {0};
        text_add_safe(&safe, raw);
        printf("%s\n", text_string(&safe));
        text_free(&safe);
        free(raw);
        line += length + (line[length] == '\n');
    }
}

tern_status story_print(const graph_run *r)
{
    TERN_TRY(print_recorded(r));
    print_compiled(r);
    TERN_TRY(print_computed(r));
    print_remarks(r);
    return TERN_OK;
}

/* memory_report.c - the peak and what caused it, memory over time, by op or site, leaks, fragmentation, what could be saved; on
 * stdout. */
#include "memory_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"
#include "term.h"

/* Text of the library or of files, safe on a terminal; in `buffer`, which is freed by text_free. */
static const char *safe(text *buffer, const char *string)
{
    text_clear(buffer);
    text_add_safe(buffer, string ? string : "");
    return text_string(buffer);
}

static void print_title(const char *title, const char *rest)
{
    printf("\n%s%s%s%s\n", on(STYLE_TITLE), title, off(STYLE_TITLE), rest);
}

static void print_head(const tern_memory_info *i, const tern_memory_system *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT], d[NUMBER_TEXT];
    text title = {0};
    printf("%smemory%s: %s\n", on(STYLE_TITLE), off(STYLE_TITLE), safe(&title, i->title));
    text_free(&title);
    printf("in %s by the clock; from the system: %s at the start + %s in %" PRIu64 " allocations",
           format_time(d, i->wall_ns), format_bytes(a, i->start_bytes), format_bytes(b, i->allocated_bytes),
           i->allocations);
    printf(" - %s in %" PRIu64 " frees = %s at the end\n", format_bytes(c, i->freed_bytes), i->frees,
           format_bytes(d, i->end_bytes));
    if (s->unavailable)
        printf("resident: unavailable: %s\n", s->unavailable);
    else
        printf("resident: %s at the end, %s of it anonymous; %s at most\n", format_bytes(a, s->rss_bytes),
               format_bytes(b, s->anonymous_bytes), format_bytes(c, s->rss_peak_bytes));
    printf("%" PRIu64 " events, %" PRIu64 " lost\n", i->events, i->lost);
    if (i->lost)
        printf("the last events found no room: all but the sums is of the first ones; --events takes more\n");
}

static void print_peak(const tern_memory *m, tern_memory_sum sum, const char *name)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT], d[NUMBER_TEXT];
    tern_memory_peak p;
    text t = {0};
    const tern_status status = tern_memory_get_peak(m, sum, &p);
    if (status == TERN_UNAVAILABLE)
        printf("  %-7s %s\n", name, tern_last_error());
    if (status != TERN_OK)
        return;
    printf("  %-7s %s%s%s at %s", name, on(STYLE_BOLD), format_bytes(a, p.bytes), off(STYLE_BOLD),
           format_time(b, p.time_ns));
    printf(": heap %s, pages %s, tensors %s", format_bytes(a, p.of.heap), format_bytes(b, p.of.pages),
           format_bytes(c, p.of.blocks));
    if (sum == TERN_MEMORY_HELD)
        printf(", in pools of %s", format_bytes(d, p.of.regions));
    printf("\n          by %s", safe(&t, p.op ? p.op : "the program itself"));
    if (p.tensor)
        printf(", %s", safe(&t, p.tensor));
    if (p.where)
        printf(", %s", safe(&t, p.where));
    printf(", %s\n", safe(&t, p.site));
    if (p.step != UINT32_MAX) {
        printf("          caused by step %u of program %u, %s%s%s", p.step, p.program, on(STYLE_NAME),
               safe(&t, p.step_op), off(STYLE_NAME));
        if (p.step_where)
            printf(", %s", safe(&t, p.step_where));
        if (p.arena_bytes)
            printf(": %s of its arena of %s in use\n", format_bytes(a, p.step_bytes),
                   format_bytes(b, p.arena_bytes));
        else
            printf(": a result of %s\n", format_bytes(a, p.step_bytes));
    }
    text_free(&t);
}

/* A column for each part of the time; the height is memory in use. */
static void print_timeline(const tern_memory *m, const tern_memory_info *i)
{
    enum { COLUMNS = 64, ROWS = 8 };
    uint64_t columns[COLUMNS] = {0}, most = 1, last = 0;
    tern_memory_point p;
    char number[NUMBER_TEXT];
    bool known[COLUMNS] = {false};
    for (int k = 0; tern_memory_get_point(m, k, &p) == TERN_OK; k++) {
        const double share = (double)p.time_ns / ((double)i->wall_ns + 1);
        const int at = share < 1 ? (int)(share * COLUMNS) : COLUMNS - 1;
        columns[at] = p.in_use_bytes > columns[at] ? p.in_use_bytes : columns[at];
        known[at] = true;
        most = p.in_use_bytes > most ? p.in_use_bytes : most;
    }
    for (int k = 0; k < COLUMNS; k++) {
        columns[k] = known[k] ? columns[k] : last;
        last = columns[k];
    }
    print_title("in use over time", "");
    for (int row = ROWS; row > 0; row--) {
        printf("  %10s |", row == ROWS ? format_bytes(number, most) : row == 1 ? "0 B" : "");
        for (int k = 0; k < COLUMNS; k++)
            putchar((double)columns[k] * ROWS > (double)most * (row - 1) ? '#' : ' ');
        putchar('\n');
    }
    printf("  %10s  0%*s\n", "", COLUMNS - 1, format_time(number, i->wall_ns));
}

static void print_rows(const memory_report *r)
{
    static const table_column columns[] = {
        {"at the peak", true, false, STYLE_BOLD}, {"at most", true, false, STYLE_NONE},
        {"at the end", true, false, STYLE_NONE},  {"allocated", true, false, STYLE_NONE},
        {"blocks", true, false, STYLE_NONE},      {"kind", false, false, STYLE_NONE},
        {"what", false, true, STYLE_NAME},
    };
    table t = table_make(columns, sizeof columns / sizeof *columns);
    tern_memory_row row;
    text name = {0};
    char number[NUMBER_TEXT];
    for (int i = 0; i < r->top && tern_memory_get_row(r->memory, r->by, i, &row) == TERN_OK; i++) {
        table_add(&t, format_bytes(number, row.peak_bytes));
        table_add(&t, format_bytes(number, row.most_bytes));
        table_add(&t, format_bytes(number, row.live_bytes));
        table_add(&t, format_bytes(number, row.allocated_bytes));
        table_addf(&t, "%" PRIu64, row.allocations);
        table_add(&t, row.category);
        table_add(&t, safe(&name, row.name));
    }
    text_free(&name);
    printf("\n%smemory by %s%s\n", on(STYLE_TITLE), r->by_name, off(STYLE_TITLE));
    table_print(&t, 2, true);
}

static int by_arena(const void *a, const void *b)
{
    const tern_memory_plan *x = a, *y = b;
    if (x->arena_bytes != y->arena_bytes)
        return x->arena_bytes < y->arena_bytes ? 1 : -1;
    if (x->runs != y->runs)
        return x->runs < y->runs ? 1 : -1;
    return x->program < y->program ? -1 : x->program > y->program;
}

static void print_program(const tern_memory_plan *p)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    text t = {0};
    printf("  program %u ran %" PRIu64 " time%s: arena %s, most in use %s", p->program, p->runs,
           p->runs == 1 ? "" : "s", format_bytes(a, p->arena_bytes), format_bytes(b, p->live_bytes));
    if (p->peak_step != UINT32_MAX)
        printf(" at step %u %s", p->peak_step, safe(&t, p->peak_op));
    printf("; %s without reuse\n", format_bytes(c, p->naive_bytes));
    text_free(&t);
}

/* The largest arenas first; most programs make one constant or one result, and have none. */
static void print_programs(const tern_memory *m)
{
    enum { MOST = 8 };
    tern_memory_plan p, *with = NULL;
    int n = 0, without = 0;
    while (tern_memory_get_plan(m, n + without, &p) == TERN_OK) {
        if (p.arena_bytes == 0) {
            without++;
            continue;
        }
        with = grab_more(with, (size_t)n + 1, sizeof *with);
        with[n++] = p;
    }
    if (n + without > 0)
        print_title("programs", "");
    if (n > 1)
        qsort(with, (size_t)n, sizeof *with, by_arena);
    for (int i = 0; i < n && i < MOST; i++)
        print_program(&with[i]);
    if (n > MOST) {
        char bytes[NUMBER_TEXT];
        printf("  and %d more, with arenas of %s at most\n", n - MOST,
               format_bytes(bytes, with[MOST].arena_bytes));
    }
    if (without > 0)
        printf("  %s%d program%s without an arena: only results\n", n > 0 ? "and " : "", without,
               without == 1 ? "" : "s");
    free(with);
}

static void print_copies(const tern_memory *m)
{
    tern_memory_copy c;
    char a[NUMBER_TEXT];
    text t = {0};
    for (int i = 0; i < 5 && tern_memory_get_copy(m, i, &c) == TERN_OK; i++) {
        if (i == 0)
            print_title("copied", "");
        printf("  %-9s %s in %" PRIu64 ", %s", c.direction, format_bytes(a, c.bytes), c.copies,
               safe(&t, c.op ? c.op : "the program itself"));
        printf(", %s\n", safe(&t, c.site));
    }
    text_free(&t);
}

static void print_fragmentation(const tern_memory *m, const tern_memory_system *s)
{
    tern_memory_pool p;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    print_title("fragmentation", ", by the free lists");
    for (int i = 0; tern_memory_get_pool(m, i, &p) == TERN_OK; i++)
        printf("  pool %d    %.0f %%: %s free in %" PRIu64 " blocks, the largest %s, of %s held\n", p.number,
               p.ratio * 100, format_bytes(a, p.free_bytes), p.free_blocks, format_bytes(b, p.largest_free),
               format_bytes(c, p.held_bytes));
    if (s->heap_unavailable)
        printf("  heap      unavailable: %s\n", s->heap_unavailable);
    else
        printf("  heap      %s free of %s that malloc holds for the process\n",
               format_bytes(a, s->heap_free_bytes), format_bytes(b, s->heap_held_bytes));
}

static void print_pressure(const tern_memory *m)
{
    tern_pressure_reading r = {0};
    text t = {0};
    tern_memory_get_pressure(m, &r);
    print_title("pressure", "");
    printf("  %-13s %s\n", "level", r.known ? tern_pressure_name(r.level) : "unavailable: no signal is");
    for (int i = 0; i < TERN_PRESSURE_SOURCES; i++) {
        const tern_pressure_signal *s = &r.signals[i];
        printf("  %-13s %s: %s\n", tern_pressure_source_name((tern_pressure_source)i),
               s->available ? tern_pressure_name(s->level) : "unavailable", safe(&t, s->text));
    }
    text_free(&t);
}

static void print_leaks(const tern_memory *m, const tern_memory_info *i)
{
    tern_memory_leak l;
    char a[NUMBER_TEXT];
    text t = {0};
    print_title("leaks", "");
    if (i->lost > 0)
        printf("  unavailable: %" PRIu64 " events were lost, frees may be among them; --events takes more\n",
               i->lost);
    else if (i->leaks == 0)
        printf("  none: everything that was allocated was given back\n");
    for (int k = 0; k < 10 && tern_memory_get_leak(m, k, &l) == TERN_OK; k++) {
        printf("  %s in %" PRIu64 " block%s (%s), %s%s%s", format_bytes(a, l.bytes), l.blocks,
               l.blocks == 1 ? "" : "s", l.kind, on(STYLE_NAME), safe(&t, l.site), off(STYLE_NAME));
        if (l.path[0])
            printf(", %s", safe(&t, l.path));
        if (l.tensor)
            printf(", %s", safe(&t, l.tensor));
        if (l.where)
            printf(", %s", safe(&t, l.where));
        putchar('\n');
    }
    if (i->leaks > 10)
        printf("  and %d more places\n", i->leaks - 10);
    text_free(&t);
}

static void print_advice(const tern_memory *m, const tern_memory_info *i)
{
    tern_memory_advice a;
    char bytes[NUMBER_TEXT];
    text t = {0};
    print_title("what could be saved", "");
    if (i->lost > 0)
        printf("  unavailable: %" PRIu64 " events were lost\n", i->lost);
    else if (i->advice == 0)
        printf("  nothing that is worth a hundredth of the memory\n");
    for (int k = 0; tern_memory_get_advice(m, k, &a) == TERN_OK; k++) {
        printf("  %-6s %s, %.0f %% of %s: %s\n", tern_priority_name(a.priority),
               format_bytes(bytes, a.saves_bytes), a.share * 100, a.of, safe(&t, a.what));
        printf("         %s: %s\n", tern_advice_kind_name(a.kind), safe(&t, a.evidence));
    }
    text_free(&t);
}

void memory_print(const memory_report *r)
{
    tern_memory_info info;
    tern_memory_system system;
    tern_memory_get_info(r->memory, &info);
    tern_memory_get_system(r->memory, &system);
    print_head(&info, &system);
    if (info.events > 0) {
        print_title("peak", "");
        print_peak(r->memory, TERN_MEMORY_IN_USE, "in use");
        print_peak(r->memory, TERN_MEMORY_HELD, "held");
        print_timeline(r->memory, &info);
        print_rows(r);
        print_programs(r->memory);
        print_copies(r->memory);
    }
    print_fragmentation(r->memory, &system);
    print_pressure(r->memory);
    print_leaks(r->memory, &info);
    print_advice(r->memory, &info);
}

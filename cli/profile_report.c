/* profile_report.c - hot spots with what holds them back, threads, the call tree, counters; on stdout. */
#include "profile_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "table.h"
#include "term.h"

/* ---- for people ---------------------------------------------------------------------------------------------- */

static const char *time_of(char buffer[NUMBER_TEXT], double ns)
{
    return format_time(buffer, (uint64_t)(ns + 0.5));
}

static void print_head(const tern_profile_info *info)
{
    char wall[NUMBER_TEXT], work[NUMBER_TEXT], wait[NUMBER_TEXT];
    text line = {0};
    text_add_safe(&line, info->title);
    printf("%sprofile%s: %s\n", on(STYLE_TITLE), off(STYLE_TITLE), text_string(&line));
    printf("in %s by the clock: %d thread%s worked %s", format_time(wall, info->wall_ns), info->threads,
           info->threads == 1 ? "" : "s", format_time(work, info->work_ns));
    if (info->threads > 1 || info->wait_ns > 0)
        printf(" and waited %s for each other", format_time(wait, info->wait_ns));
    printf(";\n%" PRIu64 " events, %" PRIu64 " lost\n", info->events, info->lost);
    if (info->lost)
        printf("the oldest events were lost: numbers are too small; --events takes more\n");
    text_free(&line);
}

/* Has another row of ops the name, with another kernel? */
static bool shares_name(const profile_report *r, const tern_profile_row *row)
{
    tern_profile_row other;
    for (int i = 0; tern_profile_get_row(r->profile, r->by, i, &other) == TERN_OK; i++)
        if (other.kernel != row->kernel && strcmp(other.name, row->name) == 0)
            return true;
    return false;
}

/* Names of passes read like ops, and one op may have several kernels. */
static void add_what(text *what, const profile_report *r, const tern_profile_row *row)
{
    text_add_safe(what, row->name);
    if (strcmp(row->category, row->name) == 0)
        return;
    if (strcmp(row->category, "step") != 0)
        text_addf(what, " (%s)", row->category);
    else if (r->by == TERN_PROFILE_OPS && row->kernel && shares_name(r, row))
        text_addf(what, " (%s)", row->kernel);
}

static void add_hot_spot(table *t, const profile_report *r, const tern_hot_spot *h, bool narrow)
{
    char number[NUMBER_TEXT];
    const tern_profile_row *row = &h->row;
    text what = {0};
    table_add(t, format_time(number, row->self_ns));
    table_addf(t, "%.1f %%", h->share * 100);
    table_addf(t, "%" PRIu64, row->count);
    if (!narrow) {
        table_add(t, format_time(number, row->total_ns));
        table_add(t, time_of(number, row->mean_ns));
    }
    table_add(t, format_time(number, row->p50_ns));
    if (!narrow)
        table_add(t, format_time(number, row->p99_ns));
    const bool is_told = !isnan(h->limit_share);
    if (!is_told)
        table_add(t, "-");
    else
        table_addf(t, "%.0f %%", h->limit_share * 100);
    table_add(t, is_told ? format_time(number, h->saving_ns) : "-");
    add_what(&what, r, row);
    if (row->step != UINT32_MAX)
        text_addf(&what, "  program %u step %u", row->program, row->step);
    if (row->where && row->name != row->where) {
        text_add(&what, "  ");
        text_add_safe(&what, row->where);
    }
    table_add(t, text_string(&what));
    text_free(&what);
}

static void print_part_of_all(const char *name, uint64_t ns, const tern_profile_info *info)
{
    char number[NUMBER_TEXT];
    printf("  %s: %s, %.1f %%", name, format_time(number, ns),
           info->work_ns > 0 ? 100 * (double)ns / (double)info->work_ns : 0);
}

/* The largest of what is no step, after what they are together. */
static void print_outside(const profile_report *r)
{
    enum { MOST = 4 };
    char number[NUMBER_TEXT];
    tern_hot_spot h;
    int said = 0;
    for (int i = 0;
         said < MOST && tern_profile_get_hot_spot(r->profile, TERN_PROFILE_OPS, i, NULL, &h) == TERN_OK; i++)
        if (strcmp(h.row.category, "step") != 0) {
            text name = {0};
            text_add_safe(&name, h.row.name);
            printf("%s%s %s", said++ ? ", " : " (", text_string(&name), format_time(number, h.row.self_ns));
            text_free(&name);
        }
    puts(said == MOST ? ", ...)" : said ? ")" : "");
}

/* What the rows above leave of all that threads worked: rows that are not shown, and what is no step where only steps have rows. */
static void print_rest(const profile_report *r, int shown)
{
    tern_profile_info info;
    tern_hot_spot h;
    uint64_t all = 0, seen = 0;
    int n = 0;
    tern_profile_get_info(r->profile, &info);
    for (; tern_profile_get_hot_spot(r->profile, r->by, n, NULL, &h) == TERN_OK; n++) {
        all += h.row.self_ns;
        seen += n < shown ? h.row.self_ns : 0;
    }
    if (n > shown) {
        char more[NUMBER_TEXT + 32];
        snprintf(more, sizeof more, "and %d more", n - shown);
        print_part_of_all(more, all - seen, &info);
        putchar('\n');
    }
    if (r->by != TERN_PROFILE_OPS && info.work_ns > all) {
        print_part_of_all(r->by == TERN_PROFILE_PARTS ? "outside of the parts" : "outside of steps",
                          info.work_ns - all, &info);
        print_outside(r);
    }
}

/* Of what runs once, most of the time says nothing of its steps. */
static void print_compiling(const tern_profile *p)
{
    tern_profile_info info;
    tern_profile_get_info(p, &info);
    const double all = (double)(info.work_ns + info.wait_ns);
    if ((double)info.compile_ns > all / 2)
        printf(
            "  %.0f %% of the time is compiling, once for each program. To see how fast steps are, repeat\n"
            "  them (graph run --repeat 1000), or profile what runs longer (run -n 200).\n",
            100 * (double)info.compile_ns / all);
}

/* Threads that wait for one whose core another program has are no fault of the work or its split. */
static void print_class(const profile_report *r, tern_bottleneck b)
{
    if (b == TERN_BOTTLENECK_IMBALANCE && r->disturbed[0])
        printf("held back by other programs or by %s (%s)", tern_bottleneck_name(b), r->disturbed);
    else
        printf("%s", tern_bottleneck_name(b));
}

static void print_hot_spots(const profile_report *r)
{
    static const table_column columns[] = {
        {"self", true, false, STYLE_BOLD},       {"share", true, false, STYLE_NONE},
        {"events", true, false, STYLE_NONE},     {"total", true, false, STYLE_NONE},
        {"mean", true, false, STYLE_NONE},       {"p50", true, false, STYLE_NONE},
        {"p99", true, false, STYLE_NONE},        {"of limit", true, false, STYLE_NONE},
        {"could save", true, false, STYLE_NONE}, {"what", false, true, STYLE_NAME},
    };
    enum { ALL = sizeof columns / sizeof *columns, TOTAL = 3, MEAN = 4, P99 = 6, ROOMY = 110 };
    /* eighty columns have room for one of the four times with what is inside */
    const bool narrow = !term_is_wide() && term_width() < ROOMY;
    table_column shown[ALL];
    int n_shown = 0, n = 0;
    for (int c = 0; c < ALL; c++)
        if (!narrow || (c != TOTAL && c != MEAN && c != P99))
            shown[n_shown++] = columns[c];
    table t = table_make(shown, n_shown);
    tern_hot_spot h;
    for (; n < r->top && tern_profile_get_hot_spot(r->profile, r->by, n, r->limits, &h) == TERN_OK; n++)
        add_hot_spot(&t, r, &h, narrow);
    printf("\n%shot spots by %s%s\n", on(STYLE_TITLE), r->by_name, off(STYLE_TITLE));
    table_print(&t, 2, true);
    print_rest(r, n);
    printf("  self is an event's own time; %s with what is inside of it\n",
           narrow ? "p50 is" : "total, mean, p50 and p99 are");
    print_compiling(r->profile);
    printf("\n%swhat holds them back%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
    for (int i = 0; i < n && i < 5; i++)
        if (tern_profile_get_hot_spot(r->profile, r->by, i, r->limits, &h) == TERN_OK) {
            text name = {0};
            add_what(&name, r, &h.row);
            printf("  %s%s%s is ", on(STYLE_NAME), text_string(&name), off(STYLE_NAME));
            print_class(r, h.bottleneck);
            printf(": %s\n", h.evidence);
            text_free(&name);
        }
}

static void print_threads(const tern_profile *p)
{
    tern_profile_thread t;
    printf("\n%sthreads%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
    for (int i = 0; tern_profile_get_thread(p, i, &t) == TERN_OK; i++) {
        char work[NUMBER_TEXT], wait[NUMBER_TEXT];
        printf("  %-10s worked %s, waited %s%s\n", t.name, format_time(work, t.work_ns),
               format_time(wait, t.wait_ns),
               strncmp(t.name, "helper ", 7) == 0 ? "; it reads weights and folds constants" : "");
    }
}

/* Frames of at least 2 % of all, four deep. */
static void print_tree(const tern_profile *p, const tern_profile_info *info)
{
    enum { DEEPEST = 4 };
    const uint64_t least = (info->work_ns + info->wait_ns) / 50;
    tern_profile_frame f;
    printf("\n%scall tree%s, from 2 %% on\n", on(STYLE_TITLE), off(STYLE_TITLE));
    for (int i = 0; tern_profile_get_frame(p, i, &f) == TERN_OK; i++) {
        char total[NUMBER_TEXT];
        text name = {0};
        if (f.depth > DEEPEST || f.total_ns < least)
            continue;
        text_add_safe(&name, f.name);
        printf("  %10s  %*s%s\n", format_time(total, f.total_ns), 2 * f.depth, "", text_string(&name));
        text_free(&name);
    }
}

static void print_counters(const tern_profile *p)
{
    tern_profile_counter c;
    for (int i = 0; tern_profile_get_counter(p, i, &c) == TERN_OK; i++) {
        char number[NUMBER_TEXT];
        if (i == 0)
            printf("\n%scounters%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
        if (c.unavailable)
            printf("  %-16s unavailable: %s\n", c.name, c.unavailable);
        else
            printf("  %-16s %s%s\n", c.name, format_count(number, (uint64_t)c.value),
                   c.running < 0.999 ? " (estimated: counters were shared)" : "");
    }
}

static void print_rates(const tern_profile_rates *r)
{
    printf("  %d thread%s: %.3g GB/s from memory, ", r->threads, r->threads == 1 ? "" : "s",
           r->memory_bytes_per_s * 1e-9);
    if (r->last_bytes_per_s > 0)
        printf("%.3g from the last cache, ", r->last_bytes_per_s * 1e-9);
    else
        printf("last cache: unavailable: nobody says how large it is, ");
    printf("%.3g from private caches; ", r->cache_bytes_per_s * 1e-9);
    if (r->f32_per_s > 0)
        printf("%.4g G operations/s in f32, ", r->f32_per_s * 1e-9);
    else
        printf("f32: unavailable: these instructions have no probe, ");
    if (r->int8_per_s > 0)
        printf("%.4g G on int8\n", r->int8_per_s * 1e-9);
    else
        printf("int8: unavailable: these instructions have no probe\n");
}

void profile_print(const profile_report *r)
{
    tern_profile_info info;
    tern_profile_get_info(r->profile, &info);
    print_head(&info);
    if (info.events > 0) {
        print_hot_spots(r);
        print_threads(r->profile);
        print_tree(r->profile, &info);
    }
    print_counters(r->profile);
    if (!r->limits)
        return;
    printf("\n%slimits%s, measured after the run\n", on(STYLE_TITLE), off(STYLE_TITLE));
    print_rates(&r->limits->one);
    if (r->limits->all.threads > 1)
        print_rates(&r->limits->all);
}

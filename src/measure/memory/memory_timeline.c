/* memory_timeline.c - memory over time as a picture: what is in use as an area, what is held and what the system counts (RSS) as
 * lines, and the peak with the step that caused it. */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"
#include "measure/chart.h"
#include "measure/memory/memory_export.h"

/* Numbers of the points, one behind the other. */
enum { TIME, IN_USE, HELD, RSS, COLUMNS };

static bool fill_columns(const tern_memory *m, double *columns)
{
    const size_t n = (size_t)m->info.points;
    bool has_rss = false;
    for (size_t i = 0; i < n; i++) {
        const tern_memory_point *p = &m->points[i];
        columns[TIME * n + i] = (double)p->time_ns;
        columns[IN_USE * n + i] = (double)p->in_use_bytes;
        columns[HELD * n + i] = (double)p->held_bytes;
        columns[RSS * n + i] = p->rss_bytes ? (double)p->rss_bytes : NAN;
        has_rss = has_rss || p->rss_bytes;
    }
    return has_rss;
}

static void say_peak(const tern_memory_peak *p, char *text, size_t room)
{
    char bytes[TERN_UNIT_TEXT];
    tern_bytes_text((double)p->bytes, bytes, sizeof bytes);
    if (p->step != UINT32_MAX)
        snprintf(text, room, "peak %s: program %u, step %u %s%s%s", bytes, p->program, p->step, p->step_op,
                 p->step_where ? " of " : "", p->step_where ? p->step_where : "");
    else
        snprintf(text, room, "peak %s: %s", bytes, p->op ? p->op : p->site);
}

void tern__memory_add_timeline(tern__strbuf *s, const tern_memory *m)
{
    const int n = m->info.points;
    char title[400], words[400];
    double *columns = tern__alloc_zero((size_t)n * COLUMNS + 1, sizeof *columns);
    if (!columns) {
        s->failed = true;
        return;
    }
    const bool has_rss = fill_columns(m, columns);
    const struct {
        const char *name;
        tern_chart_look look;
        int colour, column;
    } rows[] = {{"in use", TERN_CHART_AREA, 1, IN_USE},
                {"held from the system", TERN_CHART_STEPS, 0, HELD},
                {"resident, as the system says (RSS)", TERN_CHART_STEPS, 2, RSS}};
    tern_chart_series series[TERN__COUNT(rows)];
    for (size_t i = 0; i < TERN__COUNT(rows); i++)
        series[i] = (tern_chart_series){.name = rows[i].name,
                                        .look = rows[i].look,
                                        .colour = rows[i].colour,
                                        .n = n,
                                        .x = columns,
                                        .y = columns + (size_t)rows[i].column * (size_t)n};
    const tern_memory_peak *peak = &m->peaks[TERN_MEMORY_IN_USE];
    const tern_chart_mark mark = {(double)peak->time_ns, (double)peak->bytes, words};
    if (m->has_peak)
        say_peak(peak, words, sizeof words);
    snprintf(title, sizeof title, "Memory over time%s%s", m->title[0] ? ": " : "", m->title);
    tern__chart_add(s, &(tern_chart){.title = title,
                                     .note = has_rss ? NULL : "RSS: unavailable: no /proc/self/statm",
                                     .x = {NULL, TERN_CHART_TIMES, 0, (double)m->info.wall_ns + 1},
                                     .y = {NULL, TERN_CHART_BYTES, 0, 1},
                                     .n = has_rss ? 3 : 2,
                                     .series = series,
                                     .mark = m->has_peak ? &mark : NULL});
    tern__free(columns);
}

/* section_memory.c - how much memory was in use, from the first event to the last; what had it at the peak; what would save some. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "measure/json_members.h"
#include "measure/report/html.h"
#include "measure/report/report.h"

/* The picture has so many places across; what falls together is told by its highest moment. */
enum { HEIGHT = 260, PLACES = 1000, HOLDERS_MOST = 12, ADVICE_MOST = 8 };

static const char *missing(const tern_report *r)
{
    return r->memory ? NULL : "no record of memory is among the documents";
}

/* ---- the timeline ---- */

typedef struct axes {
    double wall, high; /* ns, bytes */
} axes;

static axes find_axes(const tern__memory_document *m)
{
    axes a = {1, 1};
    for (int i = 0; i < m->n_moments; i++) {
        const tern__memory_moment *p = &m->moments[i];
        a.wall = fmax(a.wall, p->time_ns);
        a.high = fmax(fmax(a.high, p->in_use),
                      fmax(isfinite(p->held) ? p->held : 0, isfinite(p->rss) ? p->rss : 0));
    }
    a.wall = fmax(a.wall, isfinite(m->wall_ns) ? m->wall_ns : 0);
    a.high = fmax(a.high, isfinite(m->peak_bytes) ? m->peak_bytes : 0) * 1.08;
    return a;
}

typedef double (*measure)(const tern__memory_moment *p);

static double in_use(const tern__memory_moment *p)
{
    return p->in_use;
}

static double held(const tern__memory_moment *p)
{
    return p->held;
}

static double rss(const tern__memory_moment *p)
{
    return p->rss;
}

static bool any(const tern__memory_document *m, measure value)
{
    for (int i = 0; i < m->n_moments; i++)
        if (isfinite(value(&m->moments[i])))
            return true;
    return false;
}

/* Steps from moment to moment, as a path in 1000 by 100. Closed, it is an area. */
static void add_path(tern__strbuf *to, const tern__memory_document *m, const axes *a, measure value,
                     bool closed, const char *class)
{
    bool begun = false;
    double y = 100;
    if (!any(m, value))
        return;
    tern__strbuf_addf(to, "<path class=\"%s\" d=\"", class);
    for (int i = 0; i < m->n_moments;) {
        const int place = (int)(m->moments[i].time_ns / a->wall * PLACES);
        double most = NAN;
        for (; i < m->n_moments && (int)(m->moments[i].time_ns / a->wall * PLACES) == place; i++)
            if (isfinite(value(&m->moments[i])))
                most = isnan(most) ? value(&m->moments[i]) : fmax(most, value(&m->moments[i]));
        if (isnan(most))
            continue;
        if (!begun)
            tern__strbuf_addf(to, closed ? "M%d 100" : "M%d %.2f", place, 100 * (1 - most / a->high));
        else
            tern__strbuf_addf(to, "H%d", place);
        y = 100 * (1 - most / a->high);
        tern__strbuf_addf(to, "V%.2f", y);
        begun = true;
    }
    tern__strbuf_addf(to, closed ? "H%dV100Z\"/>" : "H%d\"/>", PLACES);
}

static void add_ticks(tern__strbuf *to, const axes *a)
{
    char word[TERN__WORD];
    double step = 1;
    while (a->high / step > 5)
        step *= 2;
    for (double bytes = 0; bytes < a->high; bytes += step) {
        const double y = 100 * (1 - bytes / a->high);
        tern__strbuf_addf(
            to,
            "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/><text class=\"tick\" "
            "x=\"0\" y=\"%.2f%%\" dx=\"-6\" dy=\"4\" text-anchor=\"end\">%s</text>",
            y, y, y, tern__say_bytes(word, bytes));
    }
    for (int k = 0; k <= 4; k++)
        tern__strbuf_addf(
            to, "<text class=\"tick%s\" x=\"%d%%\" y=\"100%%\" dy=\"18\" text-anchor=\"%s\">%s</text>",
            k % 2 ? " wide" : "", 25 * k,
            k == 0   ? "start"
            : k == 4 ? "end"
                     : "middle",
            k ? tern__say_us(word, a->wall * k / 4 * 1e-3) : "0");
}

static void add_peak(tern__strbuf *to, const tern__memory_document *m, const axes *a)
{
    char word[TERN__WORD];
    if (!isfinite(m->peak_bytes) || !isfinite(m->peak_ns))
        return;
    const double x = fmin(100, 100 * m->peak_ns / a->wall), y = 100 * (1 - m->peak_bytes / a->high);
    tern__strbuf_addf(
        to,
        "<line class=\"peak\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" y2=\"100%%\"/><circle class=\"peak\" "
        "cx=\"%.2f%%\" cy=\"%.2f%%\" r=\"4\"/><text class=\"value\" x=\"%.2f%%\" y=\"%.2f%%\" dx=\"%d\" "
        "dy=\"-7\" text-anchor=\"%s\">%s</text>\n",
        x, x, y, x, y, x, y, x > 50 ? -6 : 6, x > 50 ? "end" : "start", tern__say_bytes(word, m->peak_bytes));
}

static void add_legend(tern__strbuf *to, const tern__memory_document *m)
{
    static const struct {
        measure value;
        const char *class, *name;
    } keys[] = {{in_use, "area", "in use"},
                {held, "held", "held, pools included"},
                {rss, "rss", "resident, as the system says"}};
    tern__strbuf_add(to, "<p class=\"legend\">");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (any(m, keys[i].value))
            tern__strbuf_addf(to,
                              "<span><svg class=\"key\" height=\"10\" aria-hidden=\"true\"><path "
                              "class=\"%s\" d=\"M0 5H40\"/>"
                              "</svg> %s</span>\n",
                              keys[i].class, keys[i].name);
    tern__strbuf_add(to, "</p>\n");
}

static void add_timeline(tern__strbuf *to, const tern__memory_document *m)
{
    const axes a = find_axes(m);
    char word[TERN__WORD], words[160];
    snprintf(words, sizeof words, "Bytes over time, from 0 to %s; the peak is where the line across is.",
             tern__say_us(word, a.wall * 1e-3));
    tern__figure_open(to, "memory", "Memory over time",
                      "In use is what was allocated and not yet given back; the dashed line is its peak.");
    add_legend(to, m);
    tern__svg_open(to, "plot", HEIGHT, "Memory over time", words);
    add_ticks(to, &a);
    tern__strbuf_addf(
        to, "<svg viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\" width=\"100%%\" height=\"100%%\">",
        PLACES);
    add_path(to, m, &a, in_use, true, "area");
    add_path(to, m, &a, held, false, "held");
    add_path(to, m, &a, rss, false, "rss");
    tern__strbuf_add(to, "</svg>\n");
    add_peak(to, m, &a);
    tern__svg_close(to);
    tern__figure_close(to, "sections.memory");
}

/* ---- who has it, and what would save some ---- */

static void add_holders(tern__strbuf *to, const tern__memory_document *m)
{
    static const tern__tick ticks[] = {{0, "0 %"}, {50, "50"}, {100, "100 %"}};
    const tern__scale whole = {0, 1, false};
    char bytes[TERN__WORD], share[TERN__WORD];
    int shown = 0;
    tern__figure_open(to, "holders", "What it was for, at the peak", NULL);
    tern__strbuf_add(to, "<table class=\"chart\"><thead><tr><th scope=\"col\">what</th><th scope=\"col\" "
                         "class=\"plot\"><span class=\"away\">share of the peak</span>");
    tern__ticks_add(to, ticks, 3);
    tern__strbuf_add(to, "</th><th scope=\"col\" class=\"n\">share</th><th scope=\"col\" "
                         "class=\"n\">bytes</th></tr></thead><tbody>\n");
    for (int i = 0; i < m->n_holders && shown < HOLDERS_MOST; i++) {
        const tern__holder *h = &m->holders[i];
        if (!(h->peak_bytes > 0) || !(m->peak_bytes > 0))
            continue;
        const double part = h->peak_bytes / m->peak_bytes;
        const tern__mark mark = {.bar = true,
                                 .at = tern__scale_at(&whole, part),
                                 .low = NAN,
                                 .high = NAN,
                                 .reference = NAN,
                                 .grid = "0 25 50 75 100"};
        tern__strbuf_add(to, "<tr><th scope=\"row\">");
        tern__html_add(to, h->name);
        tern__strbuf_add(to, "<small>");
        tern__html_add(to, h->category);
        tern__strbuf_add(to, "</small></th><td class=\"plot\">");
        tern__mark_add(to, &mark, tern__say_share(share, part));
        tern__strbuf_addf(
            to, "</td><td class=\"n\" data-of=\"of the peak\">%s</td><td class=\"n\">%s</td></tr>\n", share,
            tern__say_bytes(bytes, h->peak_bytes));
        shown++;
    }
    tern__strbuf_add(to, "</tbody></table>\n");
    tern__figure_close(to, "sections.memory.holders");
}

static const char *advice_of(const tern__advice *a)
{
    static const struct {
        const char *of, *words;
    } known[] = {{"peak", "of the peak"},
                 {"held", "of what is held"},
                 {"end", "of what is left at the end"},
                 {"allocated", "of all that is allocated"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].of, a->of) == 0)
            return known[i].words;
    return "";
}

static void add_advice(tern__strbuf *to, const tern__memory_document *m)
{
    char bytes[TERN__WORD];
    tern__figure_open(to, "memory-advice", "What would save memory",
                      "Computed from the record; each with its evidence.");
    tern__strbuf_add(to, "<ul class=\"advice\">\n");
    for (int i = 0; i < m->n_advice && i < ADVICE_MOST; i++) {
        tern__strbuf_add(to, "<li><strong>");
        tern__html_addf(to, "%s", tern__say_bytes(bytes, m->advice[i].saves_bytes));
        tern__strbuf_add(to, "</strong> ");
        tern__html_addf(to, "%s: %s (%s priority)", advice_of(&m->advice[i]), m->advice[i].what,
                        m->advice[i].priority);
        tern__strbuf_add(to, "<small>");
        tern__html_add(to, m->advice[i].evidence);
        tern__strbuf_add(to, "</small></li>\n");
    }
    tern__strbuf_add(to, "</ul>\n");
    tern__figure_close(to, "sections.memory.advice");
}

static void html(const tern_report *r, tern__strbuf *to)
{
    const tern__memory_document *m = r->memory;
    if (m->title[0]) {
        tern__strbuf_add(to, "<p>Recorded: <code>");
        tern__html_add(to, m->title);
        tern__strbuf_add(to, "</code></p>\n");
    }
    add_timeline(to, m);
    add_holders(to, m);
    if (m->n_advice > 0)
        add_advice(to, m);
}

/* ---- text and JSON ---- */

static void text(const tern_report *r, tern__strbuf *to)
{
    const tern__memory_document *m = r->memory;
    char bytes[TERN__WORD], time[TERN__WORD];
    int shown = 0;
    tern__strbuf_addf(to, "  peak: %s in use", tern__say_bytes(bytes, m->peak_bytes));
    tern__strbuf_addf(to, ", after %s; ", tern__say_us(time, m->peak_ns * 1e-3));
    tern__strbuf_addf(to, "held at most: %s; ", tern__say_bytes(bytes, m->held_peak_bytes));
    tern__strbuf_addf(to, "never given back: %s\n", tern__say_bytes(bytes, m->leaked_bytes));
    for (int i = 0; i < m->n_holders && shown < HOLDERS_MOST; i++)
        if (m->holders[i].peak_bytes > 0) {
            tern__strbuf_addf(to, "  %10s  ", tern__say_bytes(bytes, m->holders[i].peak_bytes));
            tern__add_plain(to, m->holders[i].name);
            tern__strbuf_add(to, "\n");
            shown++;
        }
    for (int i = 0; i < m->n_advice && i < ADVICE_MOST; i++) {
        tern__strbuf_addf(to, "  save %s %s (%s): ", tern__say_bytes(bytes, m->advice[i].saves_bytes),
                          advice_of(&m->advice[i]), m->advice[i].priority);
        tern__add_plain(to, m->advice[i].what);
        tern__strbuf_add(to, "\n");
    }
}

static void json(const tern_report *r, tern__strbuf *to)
{
    const tern__memory_document *m = r->memory;
    int source = 0, n = 0;
    for (int i = 0; i < r->n_sources; i++)
        source = strcmp(r->sources[i].kind, "memory") == 0 ? i : source;
    tern__member_real(to, "{", "peak_bytes", m->peak_bytes);
    tern__member_real(to, ", ", "peak_ns", m->peak_ns);
    tern__member_text(to, ", ", "peak_op", m->peak_op);
    tern__member_real(to, ", ", "held_peak_bytes", m->held_peak_bytes);
    tern__member_real(to, ", ", "leaked_bytes", m->leaked_bytes);
    tern__strbuf_addf(to,
                      ", \"timeline\": \"sections.data.sources[%d].data.timeline\", \"advice\": "
                      "\"sections.data.sources[%d].data.recommendations\", \"holders\": [",
                      source, source);
    for (int i = 0; i < m->n_holders; i++)
        if (m->holders[i].peak_bytes > 0) {
            tern__member_text(to, n++ ? ",\n {" : "\n {", "name", m->holders[i].name);
            tern__member_real(to, ", ", "peak_bytes", m->holders[i].peak_bytes);
            tern__strbuf_addf(to, ", \"source\": \"sections.data.sources[%d].data.ops[%d]\"}", source, i);
        }
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_memory = {
    "memory", "Memory", "memory in use over time, what it was for at the peak, what would save some",
    missing,  html,     text,
    json,
};

/* section_history.c - a benchmark's medians over the sessions, with the places where they stepped. */
#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "measure/json_members.h"
#include "measure/report/regress_write.h"
#include "measure/report/html.h"
#include "measure/report/report.h"
#include "measure/results/results.h"

enum { HEIGHT = 96, SHOWN_MOST = 24 };

static const char *missing(const tern_report *r)
{
    return r->n_series > 0 ? NULL : "no benchmark has two sessions to compare; baselines keep them";
}

static bool has_news(const tern__median_series *s)
{
    const tern_history *h = &s->row->history;
    return h->n_changes > 0 || tern__history_has_trend(h);
}

/* Session i of n across the picture, with room for dots at the edges. */
static double across(int i, int n)
{
    return n > 1 ? 2 + 96.0 * i / (n - 1) : 50;
}

static double down(const tern__scale *scale, double us)
{
    return HEIGHT - 8 - tern__scale_at(scale, us) / 100 * (HEIGHT - 16);
}

static void add_changes(tern__strbuf *to, const tern__median_series *s)
{
    const tern_history *h = &s->row->history;
    for (int i = 0; i < h->n_changes; i++) {
        const double x = (across(h->changes[i].at - 1, s->n) + across(h->changes[i].at, s->n)) / 2;
        const bool worse = h->changes[i].ratio > 1, left = x > 80;
        /* Behind a step up there is room below the line, behind a step down above it. */
        tern__strbuf_addf(to,
                          "<line class=\"change %s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/><text "
                          "x=\"%.2f%%\" y=\"%d\" dx=\"%d\" text-anchor=\"%s\">%+.0f %%</text>",
                          worse ? "worse" : "better", x, x, HEIGHT, x, worse != left ? HEIGHT - 4 : 12,
                          left ? -5 : 5, left ? "end" : "start", 100 * (h->changes[i].ratio - 1));
    }
}

static void add_series(tern__strbuf *to, const tern__median_series *s)
{
    double low = INFINITY, high = 0;
    char was[TERN__WORD], is[TERN__WORD];
    tern__strbuf name = TERN__STRBUF_EMPTY, past = TERN__STRBUF_EMPTY;
    for (int i = 0; i < s->n; i++) {
        low = fmin(low, s->medians[i]);
        high = fmax(high, s->medians[i]);
    }
    /* A series that does not move is a line, not a mountain range. */
    const double middle = sqrt(low * high), least = 1.05;
    const tern__scale scale = {fmin(low, middle / least) * 0.98, fmax(high, middle * least) * 1.02, true};
    tern__say_case(&name, &s->row->base);
    tern__regress_add_history(&past, &s->row->history);
    tern__strbuf_add(to, "<div class=\"series\"><h3>");
    tern__html_add(to, name.text ? name.text : "");
    tern__strbuf_add(to, "</h3>\n");
    tern__svg_open(to, "plain", HEIGHT, name.text ? name.text : "",
                   past.length ? past.text : "no step is seen");
    for (int i = 0; i + 1 < s->n; i++)
        tern__strbuf_addf(to, "<line class=\"line\" x1=\"%.2f%%\" y1=\"%.1f\" x2=\"%.2f%%\" y2=\"%.1f\"/>",
                          across(i, s->n), down(&scale, s->medians[i]), across(i + 1, s->n),
                          down(&scale, s->medians[i + 1]));
    for (int i = 0; i < s->n; i++)
        tern__strbuf_addf(to,
                          "<circle class=\"dot%s\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%d\"><title>session %d: "
                          "%s</title></circle>",
                          i + 1 == s->n ? " now" : "", across(i, s->n), down(&scale, s->medians[i]),
                          i + 1 == s->n ? 5 : 3, i, tern__say_us(was, s->medians[i]));
    add_changes(to, s);
    tern__svg_close(to);
    tern__strbuf_addf(to, "<p>%d sessions, %s to %s", s->n, tern__say_us(was, low), tern__say_us(is, high));
    if (past.length > 0) {
        tern__strbuf_add(to, "; ");
        tern__html_add(to, past.text);
    }
    tern__strbuf_add(to, "</p></div>\n");
    to->failed |= name.failed || past.failed;
    tern__strbuf_free(&name);
    tern__strbuf_free(&past);
}

static void html(const tern_report *r, tern__strbuf *to)
{
    int shown = 0;
    tern__figure_open(to, "history", "Medians of all sessions, the newest at the right",
                      "Dashed lines mark the sessions from which on a benchmark ran at another level.");
    tern__strbuf_add(to, "<div class=\"many\">\n");
    for (int news = 1; news >= 0; news--)
        for (int i = 0; i < r->n_series && shown < SHOWN_MOST; i++)
            if (has_news(&r->series[i]) == (news != 0)) {
                add_series(to, &r->series[i]);
                shown++;
            }
    tern__strbuf_add(to, "</div>\n");
    if (r->checks) {
        tern__strbuf_add(to, "<p>Of the checks since the baseline, ");
        tern__html_add(to, r->checks);
        tern__strbuf_add(to, " are here.</p>\n");
    }
    if (shown < r->n_series)
        tern__strbuf_addf(to, "<p>%d others are in the data.</p>\n", r->n_series - shown);
    tern__figure_close(to, "sections.history");
}

static void text(const tern_report *r, tern__strbuf *to)
{
    char was[TERN__WORD], is[TERN__WORD];
    for (int i = 0; i < r->n_series; i++) {
        const tern__median_series *s = &r->series[i];
        tern__strbuf name = TERN__STRBUF_EMPTY, past = TERN__STRBUF_EMPTY;
        tern__say_case(&name, &s->row->base);
        tern__regress_add_history(&past, &s->row->history);
        tern__strbuf_add(to, "  ");
        tern__add_plain(to, name.text ? name.text : "");
        tern__strbuf_addf(to, ": %d sessions, %s then, %s now%s%s\n", s->n, tern__say_us(was, s->medians[0]),
                          tern__say_us(is, s->medians[s->n - 1]), past.length ? "; " : "",
                          past.length ? past.text : "");
        to->failed |= name.failed || past.failed;
        tern__strbuf_free(&name);
        tern__strbuf_free(&past);
    }
    if (r->checks) {
        tern__strbuf_add(to, "  of the checks since the baseline, ");
        tern__add_plain(to, r->checks);
        tern__strbuf_add(to, " are here\n");
    }
}

static void json(const tern_report *r, tern__strbuf *to)
{
    tern__strbuf_add(to, "[");
    for (int i = 0; i < r->n_series; i++) {
        const tern__median_series *s = &r->series[i];
        tern__strbuf name = TERN__STRBUF_EMPTY;
        tern__result_add_name(&name, &s->row->base);
        tern__member_text(to, i ? ",\n {" : "\n {", "benchmark", name.text ? name.text : "");
        tern__strbuf_addf(to, ", \"source\": \"sections.comparison.rows[%d].history\", \"medians_us\": [",
                          (int)(s->row - r->regress->rows));
        for (int k = 0; k < s->n; k++) {
            tern__strbuf_add(to, k ? ", " : "");
            tern__json_add_real(to, s->medians[k]);
        }
        tern__strbuf_add(to, "]}");
        to->failed |= name.failed;
        tern__strbuf_free(&name);
    }
    tern__strbuf_add(to, "]");
}

const tern__section tern__section_history = {
    "history", "History", "medians of all sessions since the baseline, and where they stepped", missing, html,
    text,      json,
};

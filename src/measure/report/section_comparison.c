/* section_comparison.c - then and now: the ratio of every benchmark with its interval, what became worse, and the medians of all
 * sessions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/json_members.h"
#include "measure/report/regress_write.h"
#include "measure/report/html.h"
#include "measure/report/report.h"
#include "measure/results/results.h"

static const char *missing(const tern_report *r)
{
    return r->regress ? NULL : "no earlier results to compare with were given";
}

static void add_pill(tern__strbuf *to, tern_regress_state state)
{
    tern__strbuf_addf(to, "<span class=\"pill %s\">%s</span>", tern_regress_state_name(state),
                      tern_regress_state_name(state));
}

static void add_label(tern__strbuf *to, const tern_result *row)
{
    tern__strbuf name = TERN__STRBUF_EMPTY;
    tern__say_case(&name, row);
    tern__strbuf_add(to, "<th scope=\"row\">");
    tern__html_add(to, name.text ? name.text : "");
    tern__strbuf_add(to, "<small>");
    tern__html_addf(to, "%s%s%s", row->suite, row->suite[0] && row->family[0] ? ": " : "", row->family);
    tern__strbuf_add(to, "</small></th>");
    to->failed |= name.failed;
    tern__strbuf_free(&name);
}

/* ---- comparison ---- */

/* Wide enough for all ratios, between 1/4 and 4 at most, the same to both sides. */
static tern__scale ratio_scale(const tern_regress_report *p)
{
    double far = 1.25;
    for (int i = 0; i < p->n; i++) {
        const tern_comparison *c = &p->rows[i].comparison;
        if (c->n_b > 0)
            far = fmax(far, fmax(fmax(c->ratio_high, c->ratio), 1 / fmin(c->ratio_low, c->ratio)));
    }
    far = far <= 1.25 ? 1.25 : far <= 1.5 ? 1.5 : far <= 2 ? 2 : 4;
    return (tern__scale){1 / far, far, true};
}

static void add_compared(tern__strbuf *to, const tern_regress_report *p, const tern_regress_row *row,
                         const tern__scale *scale)
{
    const tern_comparison *c = &row->comparison;
    char was[TERN__WORD], is[TERN__WORD];
    tern__strbuf change = TERN__STRBUF_EMPTY;
    tern__strbuf_addf(to, "<tr class=\"%s\">", tern_regress_state_name(row->state));
    add_label(to, &row->base);
    if (c->n_b == 0) {
        tern__strbuf_add(to, "<td class=\"missing\" colspan=\"3\">");
        tern__html_add(to, row->reason);
    } else {
        const tern__mark mark = {.beyond = c->ratio > scale->high  ? 1
                                           : c->ratio < scale->low ? -1
                                                                   : 0,
                                 .at = tern__scale_at(scale, c->ratio),
                                 .low = tern__scale_at(scale, isnan(c->ratio_low) ? c->ratio : c->ratio_low),
                                 .high =
                                     tern__scale_at(scale, isnan(c->ratio_high) ? c->ratio : c->ratio_high),
                                 .reference = 50,
                                 .band_low = tern__scale_at(scale, 1 / (1 + p->o.threshold)),
                                 .band_high = tern__scale_at(scale, 1 + p->o.threshold),
                                 .grid = "0 100"};
        tern__regress_add_change(&change, c);
        tern__strbuf_add(to, "<td class=\"plot\">");
        tern__mark_add(to, &mark, change.text ? change.text : "");
        tern__strbuf_add(to, "</td><td class=\"n\">");
        tern__html_add(to, change.text ? change.text : "");
        tern__strbuf_addf(to, "</td><td class=\"n\">%s &rarr; %s", tern__say_us(was, c->median_a * 1e6),
                          tern__say_us(is, c->median_b * 1e6));
    }
    tern__strbuf_add(to, "</td><td>");
    add_pill(to, row->state);
    tern__strbuf_add(to, "</td></tr>\n");
    to->failed |= change.failed;
    tern__strbuf_free(&change);
}

static void comparison_html(const tern_report *r, tern__strbuf *to)
{
    const tern_regress_report *p = r->regress;
    const tern__scale scale = ratio_scale(p);
    char low[TERN__WORD], high[TERN__WORD];
    snprintf(low, sizeof low, "%.2fx", scale.low);
    snprintf(high, sizeof high, "%.2fx", scale.high);
    const tern__tick ticks[] = {{0, low}, {50, "1.0"}, {100, high}};
    tern__figure_open(to, "comparison", "Time now, as a ratio to the time before",
                      "Left of 1.0 is faster, right of it slower. Whiskers are 95 % intervals; within the "
                      "shaded band changes are smaller than the threshold. Arrows: beyond the scale.");
    tern__strbuf_add(
        to, "<table class=\"chart ratios\"><thead><tr><th scope=\"col\">benchmark</th><th scope=\"col\" "
            "class=\"plot\"><span class=\"away\">ratio</span>");
    tern__ticks_add(to, ticks, 3);
    tern__strbuf_add(to,
                     "</th><th scope=\"col\" class=\"n\">change (95 %)</th><th scope=\"col\" "
                     "class=\"n\">before &rarr; now</th><th scope=\"col\">state</th></tr></thead><tbody>\n");
    for (int s = TERN__STATES - 1; s >= 0; s--)
        for (int i = 0; i < p->n; i++)
            if (p->rows[i].state == (tern_regress_state)s)
                add_compared(to, p, &p->rows[i], &scale);
    tern__strbuf_add(to, "</tbody></table>\n");
    tern__figure_close(to, "sections.comparison.rows");
}

static void comparison_text(const tern_report *r, tern__strbuf *to)
{
    tern__regress_add_text(to, r->regress);
}

static void comparison_json(const tern_report *r, tern__strbuf *to)
{
    tern__regress_add_json(to, r->regress);
}

const tern__section tern__section_comparison = {
    "comparison",    "Comparison",    "every benchmark's time as a ratio to that of earlier results",
    missing,         comparison_html, comparison_text,
    comparison_json,
};

/* ---- regressions ---- */

/* What a reader must look at: all but what is the same. */
static bool is_news(const tern_regress_row *row)
{
    return row->state != TERN_REGRESS_SAME;
}

static void regressions_html(const tern_report *r, tern__strbuf *to)
{
    const tern_regress_report *p = r->regress;
    tern__strbuf words = TERN__STRBUF_EMPTY;
    bool any = false;
    tern__regress_add_summary(&words, p);
    tern__figure_open(
        to, "regressions", words.text ? words.text : "",
        "A change counts if it is significant, beyond the threshold, and beyond the benchmark's own "
        "noise.");
    for (int s = TERN__STATES - 1; s >= 0; s--)
        for (int i = 0; i < p->n; i++) {
            const tern_regress_row *row = &p->rows[i];
            if (row->state != (tern_regress_state)s || !is_news(row))
                continue;
            if (!any)
                tern__strbuf_add(
                    to, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                        "aria-label=\"Regressions\"><table><thead><tr><th "
                        "scope=\"col\">benchmark</th><th scope=\"col\">time</th><th "
                        "scope=\"col\">memory</th><th scope=\"col\">accuracy</th><th scope=\"col\" "
                        "class=\"n\">noise floor</th><th scope=\"col\">why</th></tr></thead><tbody>\n");
            any = true;
            tern__strbuf_add(to, "<tr>");
            add_label(to, &row->base);
            const tern_regress_state states[] = {row->time, row->memory, row->accuracy};
            for (int k = 0; k < 3; k++) {
                tern__strbuf_add(to, "<td>");
                add_pill(to, states[k]);
                tern__strbuf_add(to, "</td>");
            }
            if (row->noise_floor > 0) {
                tern__strbuf_add(to, "<td class=\"n\">");
                tern__regress_add_floor(to, row->noise_floor);
                tern__strbuf_add(to, "</td><td>");
            } else
                tern__strbuf_add(to, p->paired ? "<td class=\"n\">&ndash;</td><td>"
                                               : "<td class=\"n\">unavailable</td><td>");
            tern__html_add(to, row->reason);
            tern__strbuf_add(to, "</td></tr>\n");
        }
    tern__strbuf_add(to, any ? "</tbody></table></div>\n"
                             : "<p>Nothing changed beyond threshold and noise.</p>\n");
    if (strcmp(p->host, p->base_host) != 0)
        tern__strbuf_add(to,
                         "<p class=\"warning\">The earlier results are of another machine: times say nothing "
                         "about the program alone.</p>\n");
    if (tern__regress_loads_differ(p))
        tern__strbuf_addf(to,
                          "<p class=\"warning\">The machine's load was %.2f when the earlier results were "
                          "measured, and %.2f now: what differs may be the load.</p>\n",
                          p->base_load, p->load);
    tern__figure_close(to, "sections.regressions");
    to->failed |= words.failed;
    tern__strbuf_free(&words);
}

static void regressions_text(const tern_report *r, tern__strbuf *to)
{
    const tern_regress_report *p = r->regress;
    tern__strbuf_add(to, "  ");
    tern__regress_add_summary(to, p);
    tern__strbuf_add(to, "\n");
    for (int s = TERN__STATES - 1; s >= 0; s--)
        for (int i = 0; i < p->n; i++) {
            const tern_regress_row *row = &p->rows[i];
            if (row->state != (tern_regress_state)s || !is_news(row))
                continue;
            tern__strbuf name = TERN__STRBUF_EMPTY;
            tern__result_add_name(&name, &row->base);
            tern__strbuf_addf(to, "  %-10s  ", tern_regress_state_name(row->state));
            tern__add_plain(to, name.text ? name.text : "");
            tern__strbuf_add(to, row->reason[0] ? ": " : "");
            tern__add_plain(to, row->reason);
            tern__strbuf_add(to, "\n");
            to->failed |= name.failed;
            tern__strbuf_free(&name);
        }
}

static void regressions_json(const tern_report *r, tern__strbuf *to)
{
    const tern_regress_report *p = r->regress;
    int counts[TERN__STATES], n = 0;
    tern__regress_count(p, counts);
    tern__member_text(to, "{", "state", tern_regress_state_name(tern_regress_worst(p)));
    tern__member_real(to, ", ", "threshold", p->o.threshold);
    tern__strbuf_add(to, ", \"counts\": {");
    for (int s = 0; s < TERN__STATES; s++)
        tern__strbuf_addf(to, "%s\"%s\": %d", s ? ", " : "", tern_regress_state_name((tern_regress_state)s),
                          counts[s]);
    tern__strbuf_add(to, "}, \"rows\": [");
    for (int i = 0; i < p->n; i++)
        if (is_news(&p->rows[i]))
            tern__strbuf_addf(to, "%s\"sections.comparison.rows[%d]\"", n++ ? ", " : "", i);
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_regressions = {
    "regressions",    "Regressions",    "what became worse or better, or stays unclear, and why",
    missing,          regressions_html, regressions_text,
    regressions_json,
};

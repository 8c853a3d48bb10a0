/* section_performance.c - how fast the benchmarks ran, as shares of what the machine can do. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "base/alloc.h"
#include "measure/json_members.h"
#include "measure/report/html.h"
#include "measure/report/report.h"
#include "measure/results/results.h"

enum { OPEN_MOST = 40 }; /* with more rows than these, families are folded */

static const char *missing(const tern_report *r)
{
    return r->results && r->results->n > 0 ? NULL : "no results of benchmarks are among the documents";
}

/* ---- groups: rows of one family, in whichever documents they are ---- */

typedef struct group {
    int begin; /* its first row; -1 before the first group */
    int rows;
    int shares; /* rows that have one */
    double share;
} group;

static bool is_of(const tern_results *s, int a, int b)
{
    return strcmp(s->rows[a].suite, s->rows[b].suite) == 0 &&
           strcmp(s->rows[a].family, s->rows[b].family) == 0;
}

/* The first row at or behind i that belongs to the group; s->n: there is none. */
static int next_row(const tern_results *s, const group *g, int i)
{
    while (i < s->n && !is_of(s, g->begin, i))
        i++;
    return i;
}

static bool begins_group(const tern_results *s, int i)
{
    for (int k = 0; k < i; k++)
        if (is_of(s, k, i))
            return false;
    return true;
}

static bool next_group(const tern_results *s, group *g, tern__strbuf *to)
{
    do
        g->begin++;
    while (g->begin < s->n && !begins_group(s, g->begin));
    if (g->begin >= s->n)
        return false;
    tern_results part = {.rows = tern__alloc_zero((size_t)s->n, sizeof *part.rows)};
    to->failed |= !part.rows;
    for (int i = next_row(s, g, g->begin); part.rows && i < s->n; i = next_row(s, g, i + 1))
        part.rows[part.n++] = s->rows[i];
    g->rows = part.n;
    g->share = tern__median_share(&part, &g->shares, to);
    tern__free(part.rows);
    return true;
}

/* ---- HTML ---- */

static const tern__scale whole = {0, 1, false};

/* Every row as a dot, so that a folded family shows how its rows are spread. */
static void add_strip(tern__strbuf *to, const tern_results *s, const group *g)
{
    tern__strbuf_add(to, "<svg class=\"mark strip\" height=\"22\" aria-hidden=\"true\">");
    for (int at = 0; at <= 100; at += 25)
        tern__strbuf_addf(to, "<line class=\"grid\" x1=\"%d%%\" x2=\"%d%%\" y1=\"0\" y2=\"22\"/>", at, at);
    for (int i = g->begin; i < s->n; i = next_row(s, g, i + 1))
        if (isfinite(s->rows[i].limit_share))
            tern__strbuf_addf(to, "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"11\" r=\"4\"/>",
                              tern__scale_at(&whole, s->rows[i].limit_share));
    tern__strbuf_add(to, "</svg>");
}

static void add_label(tern__strbuf *to, const tern_result *row)
{
    tern__strbuf_add(to, "<th scope=\"row\">");
    tern__html_add(to, row->name);
    tern__strbuf_add(to, "<small>");
    tern__html_addf(to, "%s%s%d thread%s", row->shape, row->shape[0] ? ", " : "", row->threads,
                    row->threads == 1 ? "" : "s");
    if (row->run > 0)
        tern__strbuf_addf(to, ", session %d", row->run);
    tern__strbuf_add(to, "</small></th>");
}

static void add_share(tern__strbuf *to, const tern_result *row)
{
    char share[TERN__WORD], spread[TERN__WORD];
    tern__strbuf words = TERN__STRBUF_EMPTY;
    const double m = isfinite(row->limit_mad) ? row->limit_mad : 0;
    const tern__mark mark = {.bar = true,
                             .at = tern__scale_at(&whole, row->limit_share),
                             .low = tern__scale_at(&whole, row->limit_share - m),
                             .high = tern__scale_at(&whole, row->limit_share + m),
                             .reference = NAN,
                             .grid = "0 25 50 75 100"};
    tern__strbuf_addf(&words, "%s of the limit (%s), ", tern__say_share(share, row->limit_share),
                      row->limit_kind);
    if (isfinite(row->limit_mad))
        tern__strbuf_addf(&words, "give or take %s", tern__say_share(spread, m));
    else
        tern__strbuf_add(&words, row->rounds == 1 ? "one sample" : "spread unavailable");
    tern__strbuf_add(to, "<td class=\"plot\">");
    tern__mark_add(to, &mark, words.text ? words.text : "");
    tern__strbuf_addf(to, "</td><td class=\"n\" data-of=\"of the limit\">%s</td>", share);
    to->failed |= words.failed;
    tern__strbuf_free(&words);
}

/* Why a row has no time. What was never to be measured says "unavailable: " by itself. */
static const char *why_missing(const tern_result *row)
{
    static const char said[] = "unavailable: ";
    const size_t length = sizeof said - 1;
    if (!row->error[0])
        return "it was not measured";
    return row->error + (strncmp(row->error, said, length) == 0 ? length : 0);
}

static void add_row(tern__strbuf *to, const tern_result *row, bool shares)
{
    char word[TERN__WORD];
    tern__strbuf_add(to, "<tr>");
    add_label(to, row);
    if (row->rounds == 0 || !isfinite(row->median_us)) {
        tern__strbuf_addf(to, "<td class=\"missing\" colspan=\"%d\">unavailable: ", shares ? 4 : 3);
        tern__html_add(to, why_missing(row));
        tern__strbuf_add(to, "</td></tr>\n");
        return;
    }
    if (shares && isfinite(row->limit_share)) {
        add_share(to, row);
    } else if (shares) {
        tern__strbuf_add(to, "<td class=\"missing\" colspan=\"2\">");
        tern__html_add(to, row->error);
        tern__strbuf_add(to, "</td>");
    }
    tern__strbuf_addf(to, "<td class=\"n\">%s", tern__say_us(word, row->median_us));
    if (!shares && isfinite(row->low_us) && isfinite(row->high_us)) {
        tern__strbuf_addf(to, " <small>(%s", tern__say_us(word, row->low_us));
        tern__strbuf_addf(to, " to %s)</small>", tern__say_us(word, row->high_us));
    }
    tern__strbuf_addf(to, "</td><td class=\"n\">%s</td>", tern__say_rate(word, row));
    if (!shares)
        tern__strbuf_addf(to, "<td class=\"n\">%s</td>",
                          row->peak_bytes >= 0 ? tern__say_bytes(word, (double)row->peak_bytes) : "");
    tern__strbuf_add(to, "</tr>\n");
}

/* Of a group without any, in the words of the first that was measured; NULL: none says it. */
static const char *why_no_shares(const tern_results *s, const group *g)
{
    for (int i = g->begin; i < s->n; i = next_row(s, g, i + 1))
        if (s->rows[i].rounds > 0 && s->rows[i].error[0])
            return s->rows[i].error;
    return NULL;
}

static void add_group(tern__strbuf *to, const tern_results *s, const group *g, bool open)
{
    static const tern__tick ticks[] = {{0, "0 %"}, {25, "25"}, {50, "50"}, {75, "75"}, {100, "100 %"}};
    const tern_result *first = &s->rows[g->begin];
    char word[TERN__WORD];
    tern__strbuf_addf(to, "<details class=\"group\"%s><summary><span class=\"name\">", open ? " open" : "");
    tern__html_addf(to, "%s%s%s", strcmp(first->suite, "ops") == 0 ? "" : first->suite,
                    strcmp(first->suite, "ops") == 0 || !first->suite[0] ? "" : ": ", first->family);
    tern__strbuf_addf(to, " <small>%d</small></span>", g->rows);
    if (g->shares > 0) {
        add_strip(to, s, g);
        tern__strbuf_addf(to, "<span class=\"n\">%s</span>", tern__say_share(word, g->share));
    } else if (why_no_shares(s, g)) {
        tern__strbuf_add(to, "<span class=\"missing\">share of the limit ");
        tern__html_add(to, why_no_shares(s, g));
        tern__strbuf_add(to, "</span>");
    }
    tern__strbuf_addf(to, "</summary>\n<table class=\"chart%s\"><thead><tr><th scope=\"col\">benchmark</th>",
                      g->shares > 0 ? "" : " plain");
    if (g->shares > 0) {
        tern__strbuf_add(to,
                         "<th scope=\"col\" class=\"plot\"><span class=\"away\">share of the limit</span>");
        tern__ticks_add(to, ticks, 5);
        tern__strbuf_add(to, "</th><th scope=\"col\" class=\"n\">share</th>");
    }
    tern__strbuf_addf(to, "<th scope=\"col\" class=\"n\">%s</th><th scope=\"col\" class=\"n\">rate</th>",
                      g->shares > 0 ? "median" : "median (95 %)");
    if (g->shares == 0)
        tern__strbuf_add(to, "<th scope=\"col\" class=\"n\">memory</th>");
    tern__strbuf_add(to, "</tr></thead><tbody>\n");
    for (int i = g->begin; i < s->n; i = next_row(s, g, i + 1))
        add_row(to, &s->rows[i], g->shares > 0);
    tern__strbuf_add(to, "</tbody></table></details>\n");
}

static void html(const tern_report *r, tern__strbuf *to)
{
    group g = {.begin = -1};
    int shares;
    tern__median_share(r->results, &shares, to);
    if (shares > 0)
        tern__figure_open(
            to, "performance", "Share of what this machine can do",
            "100 % is the bandwidth or arithmetic that probes reached in turns with each benchmark. "
            "Whiskers are median absolute deviations; each dot of a family is one benchmark.");
    else
        tern__figure_open(to, "performance", "Times", "Medians of one run, with 95 % intervals.");
    while (next_group(r->results, &g, to))
        add_group(to, r->results, &g, r->results->n <= OPEN_MOST);
    tern__figure_close(to, "sections.performance.rows");
}

/* ---- text ---- */

static void add_plain_after(tern__strbuf *to, const char *words, const char *text)
{
    tern__strbuf_add(to, words);
    tern__add_plain(to, text);
}

/* `in_shares`: others of its group have shares, so that it says itself why it has none. */
static void text_row(tern__strbuf *to, const tern_result *row, bool in_shares)
{
    char word[TERN__WORD];
    tern__strbuf name = TERN__STRBUF_EMPTY;
    tern__say_case(&name, row);
    if (row->run > 0)
        tern__strbuf_addf(&name, ", session %d", row->run);
    tern__strbuf_add(to, "    ");
    tern__add_plain(to, name.text ? name.text : "");
    tern__strbuf_add(to, "\n      ");
    if (row->rounds == 0 || !isfinite(row->median_us)) {
        tern__strbuf_add(to, "unavailable: ");
        tern__add_plain(to, why_missing(row));
    } else {
        tern__strbuf_addf(to, "%s", tern__say_us(word, row->median_us));
        if (isfinite(row->low_us) && isfinite(row->high_us)) {
            tern__strbuf_addf(to, " (%s", tern__say_us(word, row->low_us));
            tern__strbuf_addf(to, " to %s)", tern__say_us(word, row->high_us));
        }
        if (tern__say_rate(word, row)[0])
            tern__strbuf_addf(to, ", %s", word);
        if (isfinite(row->limit_share))
            tern__strbuf_addf(to, ", %s of %s", tern__say_share(word, row->limit_share), row->limit_kind);
        else if (in_shares && row->error[0])
            add_plain_after(to, ", share of the limit ", row->error);
        if (row->peak_bytes >= 0)
            tern__strbuf_addf(to, ", %s", tern__say_bytes(word, (double)row->peak_bytes));
    }
    tern__strbuf_add(to, "\n");
    to->failed |= name.failed;
    tern__strbuf_free(&name);
}

static void text(const tern_report *r, tern__strbuf *to)
{
    group g = {.begin = -1};
    char word[TERN__WORD];
    while (next_group(r->results, &g, to)) {
        tern__strbuf_add(to, "  ");
        tern__add_plain(to, r->results->rows[g.begin].family);
        if (g.shares > 0)
            tern__strbuf_addf(to, ": %s of the limit", tern__say_share(word, g.share));
        else if (why_no_shares(r->results, &g))
            add_plain_after(to, ": share of the limit ", why_no_shares(r->results, &g));
        tern__strbuf_add(to, "\n");
        for (int i = g.begin; i < r->results->n; i = next_row(r->results, &g, i + 1))
            text_row(to, &r->results->rows[i], g.shares > 0);
    }
}

/* ---- JSON ---- */

static int source_of(const tern_report *r, int row)
{
    int source = 0;
    for (int i = 0; i < r->n_sources; i++)
        if (strcmp(r->sources[i].kind, "results") == 0 && r->sources[i].first_row <= row)
            source = i;
    return source;
}

static void json(const tern_report *r, tern__strbuf *to)
{
    int n;
    tern__member_real(to, "{", "median_share", tern__median_share(r->results, &n, to));
    tern__strbuf_add(to, ", \"rows\": [");
    for (int i = 0; i < r->results->n; i++) {
        const tern_result *row = &r->results->rows[i];
        const int source = source_of(r, i);
        tern__strbuf name = TERN__STRBUF_EMPTY;
        tern__result_add_name(&name, row);
        tern__member_text(to, i ? ",\n {" : "\n {", "benchmark", name.text ? name.text : "");
        tern__strbuf_addf(to, ", \"source\": \"sections.data.sources[%d].data.rows[%d]\"", source,
                          i - r->sources[source].first_row);
        tern__member_real(to, ", ", "share", row->limit_share);
        tern__member_real(to, ", ", "share_mad", row->limit_mad);
        tern__member_text(to, ", ", "limit", row->limit_kind);
        tern__member_real(to, ", ", "median_us", row->median_us);
        tern__member_real(to, ", ", "low_us", row->low_us);
        tern__member_real(to, ", ", "high_us", row->high_us);
        tern__member_real(to, ", ", "gflops", row->gflops);
        tern__member_real(to, ", ", "gbytes_per_s", row->gbytes_s);
        tern__member_real(to, ", ", "peak_bytes", row->peak_bytes >= 0 ? (double)row->peak_bytes : NAN);
        if (row->error[0])
            tern__member_text(to, ", ", "error", row->error);
        tern__strbuf_add(to, "}");
        to->failed |= name.failed;
        tern__strbuf_free(&name);
    }
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_performance = {
    "performance", "Performance", "every benchmark: time, rate, share of what the machine can do",
    missing,       html,          text,
    json,
};

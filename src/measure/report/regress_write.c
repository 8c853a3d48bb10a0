/* regress_write.c - reports of regressions for people, programs and browsers. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/names.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "measure/documents.h"
#include "measure/json_members.h"
#include "measure/report/regress_write.h"
#include "measure/report/report.h"
#include "measure/results/results.h"

void tern__regress_count(const tern_regress_report *p, int counts[TERN__STATES])
{
    memset(counts, 0, TERN__STATES * sizeof *counts);
    for (int i = 0; i < p->n; i++)
        counts[p->rows[i].state]++;
}

/* Of so few pairs that no difference is significant: once, and not in every row. */
static void add_pairs_needed(tern__strbuf *to, const tern_regress_report *p)
{
    const int needed = p->paired ? tern_regress_pairs_needed(&p->o, p->n_compared) : 0;
    int most = 0;
    for (int i = 0; i < p->n; i++)
        most = p->rows[i].comparison.n_b > most ? p->rows[i].comparison.n_b : most;
    if (most > 0 && most < needed)
        tern__strbuf_addf(to, "; %d pair%s can never tell anything of %d benchmark%s, it takes %d", most,
                          most == 1 ? "" : "s", p->n_compared, p->n_compared == 1 ? "" : "s", needed);
}

void tern__regress_add_summary(tern__strbuf *to, const tern_regress_report *p)
{
    int counts[TERN__STATES];
    bool any = false;
    tern__regress_count(p, counts);
    for (int s = TERN__STATES - 1; s >= 0; s--)
        if (counts[s] > 0) {
            tern__strbuf_addf(to, "%s%d %s", any ? ", " : "", counts[s],
                              tern_regress_state_name((tern_regress_state)s));
            any = true;
        }
    tern__strbuf_addf(to, "%s of %d benchmark%s; threshold %g %%, critical from %g %%", any ? "" : "none",
                      p->n, p->n == 1 ? "" : "s", p->o.threshold * 100, p->o.threshold * p->o.critical * 100);
    add_pairs_needed(to, p);
}

void tern__regress_add_change(tern__strbuf *to, const tern_comparison *c)
{
    if (c->n_b > 0 && isnan(c->ratio_low))
        tern__strbuf_addf(to, "%+.1f %% (interval unavailable: fewer than 6 samples)", 100 * (c->ratio - 1));
    else if (c->n_b > 0 && c->ratio >= 10) /* thousands of per cent say less than how many times */
        tern__strbuf_addf(to, "%.3g times as long (%.3g to %.3g)", c->ratio, c->ratio_low, c->ratio_high);
    else if (c->n_b > 0)
        tern__strbuf_addf(to, "%+.1f %% (%+.1f to %+.1f)", 100 * (c->ratio - 1), 100 * (c->ratio_low - 1),
                          100 * (c->ratio_high - 1));
}

void tern__regress_add_history(tern__strbuf *to, const tern_history *h)
{
    for (int i = 0; i < h->n_changes; i++)
        tern__strbuf_addf(to, "%s%s by %.1f %% at session %d of %d", i ? ", " : "",
                          h->changes[i].ratio > 1 ? "slower" : "faster", 100 * fabs(h->changes[i].ratio - 1),
                          h->changes[i].at, h->n);
    if (h->n_changes == 0 && tern__history_has_trend(h))
        tern__strbuf_addf(to, "%s by %.2f %% each session", h->trend > 0 ? "slower" : "faster",
                          100 * fabs(h->trend));
}

/* ---- text ---- */

enum { COLUMNS = 80, INDENT = 12 };

/* Words in lines that begin in column `indent`; the first is there already. A sign of per cent stays with its number. */
static void add_wrapped(tern__strbuf *to, const char *words, int indent)
{
    int column = indent;
    for (const char *word = words; *word;) {
        size_t length = strcspn(word, " ");
        if (strncmp(word + length, " %", 2) == 0)
            length += 1 + strcspn(word + length + 1, " ");
        const bool first = column == indent;
        if (!first && column + 1 + (int)length > COLUMNS) {
            tern__strbuf_addf(to, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            tern__strbuf_add(to, " ");
            column++;
        }
        tern__strbuf_addf(to, "%.*s", (int)length, word);
        column += (int)length;
        word += length + strspn(word + length, " ");
    }
}

void tern__regress_add_floor(tern__strbuf *to, double floor)
{
    if (floor > 10)
        tern__strbuf_add(to,
                         "above 1000 %"); /* Student's t of two or three sessions: the digits mean nothing */
    else
        tern__strbuf_addf(to, "%.1f %%", 100 * floor);
}

/* The times, and how they differ. Of pairs the change is that between neighbours, which need not be that between the medians of all. */
static void add_times(tern__strbuf *to, const tern_regress_report *p, const tern_regress_row *row)
{
    const tern_comparison *c = &row->comparison;
    tern__strbuf_addf(to, "%s -> %s", tern__time_of(c->median_a * 1e9).text,
                      tern__time_of(c->median_b * 1e9).text);
    tern__strbuf_add(to, p->paired ? " (medians); pair by pair " : ", ");
    tern__regress_add_change(to, c);
    if (p->paired)
        tern__strbuf_addf(to, ", %d pairs of sessions", c->n_b);
    else if (isnan(row->noise_floor))
        tern__strbuf_add(to, "; what sessions differ by is unavailable: the baseline has one");
    else {
        tern__strbuf_addf(to, "; %d sessions differ by %s", row->runs, row->noise_floor > 10 ? "" : "up to ");
        tern__regress_add_floor(to, row->noise_floor);
    }
    if (c->p < 1e-300) /* beyond what a double can tell, and no probability is 0 */
        tern__strbuf_add(to, "; p below 1e-300");
    else
        tern__strbuf_addf(to, "; p = %.2g", c->p);
}

static void add_text_row(tern__strbuf *to, const tern_regress_report *p, const tern_regress_row *row)
{
    tern__strbuf words = TERN__STRBUF_EMPTY;
    tern__strbuf_addf(to, "%-*s", INDENT, tern_regress_state_name(row->state));
    tern__result_add_name(to, &row->base);
    tern__strbuf_addf(to, "\n%*s", INDENT, "");
    if (row->comparison.n_b > 0)
        add_times(&words, p, row);
    if (row->reason[0])
        tern__strbuf_addf(&words, "%s%s", words.length > 0 ? "; " : "", row->reason);
    add_wrapped(to, words.text ? words.text : "", INDENT);
    to->failed |= words.failed;
    tern__strbuf_free(&words);
    tern__strbuf_add(to, "\n");
    tern__strbuf past = TERN__STRBUF_EMPTY;
    tern__regress_add_history(&past, &row->history);
    if (past.length > 0)
        tern__strbuf_addf(to, "            history: %s\n", past.text);
    to->failed |= past.failed;
    tern__strbuf_free(&past);
}

static void add_text_summary(tern__strbuf *to, const tern_regress_report *p)
{
    tern__strbuf words = TERN__STRBUF_EMPTY;
    tern__regress_add_summary(&words, p);
    add_wrapped(to, words.text ? words.text : "", 0);
    to->failed |= words.failed;
    tern__strbuf_free(&words);
}

/* The worst first; the summary is the last paragraph, behind an empty line. */
void tern__regress_add_text(tern__strbuf *to, const tern_regress_report *p)
{
    for (int s = TERN__STATES - 1; s >= 0; s--)
        for (int i = 0; i < p->n; i++)
            if (p->rows[i].state == (tern_regress_state)s)
                add_text_row(to, p, &p->rows[i]);
    tern__strbuf_add(to, "\n");
    if (strcmp(p->host, p->base_host) != 0)
        tern__strbuf_add(
            to, "The baseline is of another machine: times say nothing about the program alone.\n\n");
    if (tern__regress_loads_differ(p))
        tern__strbuf_addf(
            to,
            "warning: the machine's load was %.2f when the baseline was measured, and\n%.2f now: what "
            "differs may be the load.\n\n",
            p->base_load, p->load);
    add_text_summary(to, p);
    tern__strbuf_add(to, "\n");
}

/* ---- JSON ---- */

static void add_history_json(tern__strbuf *to, const tern_history *h)
{
    tern__strbuf_addf(to, ",\n     \"history\": {\"sessions\": %d", h->n);
    tern__member_real(to, ", ", "trend", h->n >= 3 ? h->trend : NAN);
    tern__member_real(to, ", ", "trend_p", h->n >= 3 ? h->trend_p : NAN);
    tern__strbuf_add(to, ", \"changes\": [");
    for (int i = 0; i < h->n_changes; i++) {
        tern__strbuf_addf(to, "%s{\"at\": %d", i ? ", " : "", h->changes[i].at);
        tern__member_real(to, ", ", "ratio", h->changes[i].ratio);
        tern__member_real(to, ", ", "p", h->changes[i].p);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "]}");
}

static void add_json_row(tern__strbuf *to, const tern_regress_row *row)
{
    const tern_comparison *c = &row->comparison;
    const bool compared = c->n_b > 0;
    tern__strbuf name = TERN__STRBUF_EMPTY;
    tern__result_add_name(&name, &row->base);
    tern__member_text(to, "{", "benchmark", name.text ? name.text : "");
    to->failed |= name.failed;
    tern__strbuf_free(&name);
    tern__member_text(to, ", ", "state", tern_regress_state_name(row->state));
    tern__member_text(to, ", ", "time", tern_regress_state_name(row->time));
    tern__member_text(to, ", ", "memory", tern_regress_state_name(row->memory));
    tern__member_text(to, ", ", "accuracy", tern_regress_state_name(row->accuracy));
    tern__member_text(to, ",\n     ", "reason", row->reason);
    tern__member_real(to, ", ", "base_us", compared ? c->median_a * 1e6 : NAN);
    tern__member_real(to, ", ", "now_us", compared ? c->median_b * 1e6 : NAN);
    tern__member_real(to, ", ", "ratio", compared ? c->ratio : NAN);
    tern__member_real(to, ", ", "ratio_low", compared ? c->ratio_low : NAN);
    tern__member_real(to, ", ", "ratio_high", compared ? c->ratio_high : NAN);
    tern__member_real(to, ", ", "p", compared ? c->p : NAN);
    tern__member_real(to, ", ", "alpha", compared ? c->alpha : NAN);
    tern__member_real(to, ", ", "noise", compared ? c->noise : NAN);
    tern__member_real(to, ", ", "noise_floor", row->noise_floor);
    tern__strbuf_addf(to, ", \"base_sessions\": %d, \"base_samples\": %d, \"samples\": %d, \"looks\": %d",
                      row->runs, c->n_a, c->n_b, c->looks);
    tern__member_real(to, ", ", "base_peak_bytes",
                      row->base.peak_bytes >= 0 ? (double)row->base.peak_bytes : NAN);
    tern__member_real(to, ", ", "peak_bytes", row->now.peak_bytes >= 0 ? (double)row->now.peak_bytes : NAN);
    tern__member_real(to, ", ", "base_allocations",
                      row->base.allocations >= 0 ? (double)row->base.allocations : NAN);
    tern__member_real(to, ", ", "allocations",
                      row->now.allocations >= 0 ? (double)row->now.allocations : NAN);
    tern__member_real(to, ", ", "base_accuracy_error", row->base.accuracy_error);
    tern__member_real(to, ", ", "accuracy_error", row->now.accuracy_error);
    add_history_json(to, &row->history);
    tern__strbuf_add(to, "}");
}

void tern__regress_add_json(tern__strbuf *to, const tern_regress_report *p)
{
    int counts[TERN__STATES];
    tern__regress_count(p, counts);
    tern__member_text(to, "{\n  ", "format", TERN__REGRESS_DOCUMENT);
    tern__strbuf_add(to, ",\n  \"version\": 1");
    tern__member_text(to, ",\n  ", "state", tern_regress_state_name(tern_regress_worst(p)));
    tern__member_real(to, ", ", "threshold", p->o.threshold);
    tern__member_real(to, ", ", "critical", p->o.threshold * p->o.critical);
    tern__member_real(to, ", ", "alpha", p->o.alpha);
    tern__member_text(to, ",\n  ", "host", p->host);
    tern__member_text(to, ", ", "base_host", p->base_host);
    tern__member_real(to, ", ", "load", p->load);
    tern__member_real(to, ", ", "base_load", p->base_load);
    tern__strbuf_addf(to, ", \"same_host\": %s,\n  \"counts\": {",
                      strcmp(p->host, p->base_host) == 0 ? "true" : "false");
    for (int s = 0; s < TERN__STATES; s++)
        tern__strbuf_addf(to, "%s\"%s\": %d", s ? ", " : "", tern_regress_state_name((tern_regress_state)s),
                          counts[s]);
    tern__strbuf_add(to, "},\n  \"rows\": [");
    for (int i = 0; i < p->n; i++) {
        tern__strbuf_add(to, i ? ",\n    " : "\n    ");
        add_json_row(to, &p->rows[i]);
    }
    tern__strbuf_add(to, "\n  ]\n}\n");
}

/* ---- HTML ---- */

/* The page of a report that has the comparison alone. */
static void write_html(tern__strbuf *to, const tern_regress_report *p)
{
    static const char *const sections[] = {"summary", "comparison", "regressions", "machine", "data"};
    tern_report *page = NULL;
    char *text = NULL;
    tern_status status = tern_report_create("Tern: regressions", &page);
    if (status == TERN_OK)
        status = tern_report_add_results(page, "results", p->results);
    if (status == TERN_OK)
        status = tern_report_add_regress(page, NULL, p, NULL, NULL);
    if (status == TERN_OK)
        status = tern_report_write(page, TERN_REPORT_HTML, TERN__COUNT(sections), sections, &text);
    if (status == TERN_OK)
        tern__strbuf_add(to, text);
    to->failed |= status != TERN_OK;
    tern__free(text);
    tern_report_free(page);
}

/* ---- the table ---- */

static void (*const writers[])(tern__strbuf *to, const tern_regress_report *p) = {
    [TERN_REGRESS_AS_TEXT] = tern__regress_add_text,
    [TERN_REGRESS_AS_JSON] = tern__regress_add_json,
    [TERN_REGRESS_AS_HTML] = write_html,
};

tern_status tern_regress_format_parse(const char *name, tern_regress_format *out)
{
    static const char *const names[] = {
#define NAME(id, number, text) [number] = text,
        TERN_REGRESS_FORMAT_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "regress formats: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "regress formats", name, &number));
    *out = (tern_regress_format)number;
    return TERN_OK;
}

tern_status tern_regress_write(const tern_regress_report *report, tern_regress_format format, char **text)
{
    TERN__FAIL_IF(!report || !text, TERN_INVALID_ARGUMENT, "regress_write: an argument is NULL");
    TERN__FAIL_IF((unsigned)format >= TERN__COUNT(writers), TERN_INVALID_ARGUMENT,
                  "regress: there is no format %d", (int)format);
    tern__strbuf to = TERN__STRBUF_EMPTY;
    writers[format](&to, report);
    return tern__strbuf_take(&to, text);
}

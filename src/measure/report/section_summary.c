/* section_summary.c - what a manager reads: sentences and a few large figures, all computed from the data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/profile.h>

#include "base/json_text.h"
#include "measure/json_members.h"
#include "measure/report/regress_write.h"
#include "measure/report/html.h"
#include "measure/report/report.h"
#include "measure/results/results.h"

static const char *missing(const tern_report *r)
{
    return r->n_sources > 0 || r->n_notes > 0 ? NULL : "no documents were given";
}

/* Sentences go one by one to `add`. */
typedef struct telling {
    tern__strbuf *to;
    void (*add)(tern__strbuf *to, const char *sentence);
    int n;
} telling;

static void tell(telling *t, tern__strbuf *sentence)
{
    if (sentence->length > 0) {
        tern__strbuf_add(t->to, t->n++ && t->add == tern__json_add_text ? ", " : "");
        t->add(t->to, sentence->text);
    }
    t->to->failed |= sentence->failed;
    tern__strbuf_free(sentence);
}

/* ---- benchmarks ---- */

/* Is row i the first of its benchmark? Others are more sessions of it. */
static bool is_first(const tern_results *r, int i)
{
    for (int k = 0; k < i; k++)
        if (tern_result_same(&r->rows[k], &r->rows[i]))
            return false;
    return true;
}

static bool was_measured(const tern_results *r, const tern_result *key)
{
    for (int i = 0; i < r->n; i++)
        if (r->rows[i].rounds > 0 && tern_result_same(&r->rows[i], key))
            return true;
    return false;
}

static int count_benchmarks(const tern_results *r, bool measured)
{
    int n = 0;
    for (int i = 0; i < r->n; i++)
        n += is_first(r, i) && was_measured(r, &r->rows[i]) == measured;
    return n;
}

static void tell_measured(const tern_report *r, telling *t)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    const char *cpu = tern_results_condition(r->results, "cpu_model");
    const int failed = count_benchmarks(r->results, false), n = count_benchmarks(r->results, true);
    const tern_result *first_failed = NULL;
    for (int i = r->results->n - 1; i >= 0; i--)
        if (!was_measured(r->results, &r->results->rows[i]))
            first_failed = &r->results->rows[i];
    tern__strbuf_addf(&s, "%d benchmark%s %s measured", n, n == 1 ? "" : "s", n == 1 ? "was" : "were");
    if (cpu)
        tern__strbuf_addf(&s, " on %s", cpu);
    tern__strbuf_add(&s, ".");
    if (failed > 0) {
        tern__strbuf_addf(&s, " %d could not be: %s", failed, failed == 1 ? "" : "the first is ");
        tern__say_case(&s, first_failed);
        tern__strbuf_addf(&s, " (%s).", first_failed->error[0] ? first_failed->error : "it was not measured");
    }
    tell(t, &s);
}

/* What the figures were taken beside, and which of them lack a share although their limit is known: it was beaten, or has no probe. */
static void tell_doubts(const tern_report *r, telling *t)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    const tern_result *first = NULL;
    int n = 0;
    const double load = r->busy;
    for (int i = r->results->n - 1; i >= 0; i--) {
        const tern_result *row = &r->results->rows[i];
        if (row->rounds > 0 && row->limit_kind[0] && !isfinite(row->limit_share) && row->error[0]) {
            first = row;
            n++;
        }
    }
    if (r->disturbed[0])
        tern__strbuf_addf(
            &s, "Other programs had the machine while this was measured (%s): figures may be too low.%s",
            r->disturbed, n > 0 ? " " : "");
    else if (isfinite(load))
        tern__strbuf_addf(
            &s, "The machine was busy before this was measured (load %.2f): figures may be too low.%s", load,
            n > 0 ? " " : "");
    if (n > 0) {
        tern__strbuf_addf(&s, "%d row%s no share of %s limit: %s", n, n == 1 ? " has" : "s have",
                          n == 1 ? "its" : "their", n == 1 ? "" : "the first is ");
        tern__say_case(&s, first);
        tern__strbuf_addf(&s, " (%s).", first->error);
    }
    tell(t, &s);
}

static void tell_limits(const tern_report *r, telling *t)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    const tern_result *best = NULL, *worst = NULL;
    char word[TERN__WORD];
    int n;
    const double median = tern__median_share(r->results, &n, t->to);
    for (int i = 0; i < r->results->n; i++) {
        const tern_result *row = &r->results->rows[i];
        if (!isfinite(row->limit_share))
            continue;
        best = !best || row->limit_share > best->limit_share ? row : best;
        worst = !worst || row->limit_share < worst->limit_share ? row : worst;
    }
    if (!best)
        return;
    tern__strbuf_addf(&s, "Half of those that have a limit reach %s or more of what this machine can do.",
                      tern__say_share(word, median));
    if (best != worst) {
        tern__strbuf_add(&s, " Nearest to it is ");
        tern__say_case(&s, best);
        tern__strbuf_addf(&s, ", at %s; farthest is ", tern__say_share(word, best->limit_share));
        tern__say_case(&s, worst);
        tern__strbuf_addf(&s, ", at %s: there, ", tern__say_share(word, worst->limit_share));
        if (worst->limit_share < 1e-3) /* also of 0, which a file may say */
            tern__strbuf_add(&s, "more than a factor of 1000 is left to gain.");
        else
            tern__strbuf_addf(&s, "at most a factor of %.*f is left to gain.",
                              worst->limit_share < 0.1 ? 0 : 1, 1 / worst->limit_share);
    }
    tell(t, &s);
}

/* ---- comparison ---- */

static const tern_regress_row *most_changed(const tern_regress_report *p, bool slower)
{
    const tern_regress_row *most = NULL;
    for (int i = 0; i < p->n; i++) {
        const tern_regress_row *row = &p->rows[i];
        const bool counts = slower ? row->time >= TERN_REGRESS_REGRESSION : row->time == TERN_REGRESS_BETTER;
        if (counts && row->comparison.n_b > 0 &&
            (!most || (row->comparison.ratio > most->comparison.ratio) == slower))
            most = row;
    }
    return most;
}

static void tell_comparison(const tern_report *r, telling *t)
{
    const tern_regress_report *p = r->regress;
    int counts[TERN__STATES];
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__regress_count(p, counts);
    const int worse = counts[TERN_REGRESS_REGRESSION] + counts[TERN_REGRESS_CRITICAL];
    tern__strbuf_addf(&s, "Compared with %s%s%s, ", r->base_name ? "'" : "",
                      r->base_name ? r->base_name : "the baseline", r->base_name ? "'" : "");
    if (worse > 0)
        tern__strbuf_addf(&s, "%d of %d benchmark%s became worse", worse, p->n, p->n == 1 ? "" : "s");
    else
        tern__strbuf_addf(&s, "none of %d benchmark%s became worse beyond %g %% and noise", p->n,
                          p->n == 1 ? "" : "s", 100 * p->o.threshold);
    tern__strbuf_addf(&s, ", %d better", counts[TERN_REGRESS_BETTER]);
    if (counts[TERN_REGRESS_UNDECIDED] > 0)
        tern__strbuf_addf(&s, "; %d stayed undecided", counts[TERN_REGRESS_UNDECIDED]);
    if (counts[TERN_REGRESS_MISSING] > 0)
        tern__strbuf_addf(&s, "; %d could not be compared", counts[TERN_REGRESS_MISSING]);
    tern__strbuf_add(&s, ".");
    for (int slower = 1; slower >= 0; slower--) {
        const tern_regress_row *row = most_changed(p, slower != 0);
        if (!row)
            continue;
        tern__strbuf_addf(&s, " The largest %s is ", slower ? "slowdown" : "gain");
        tern__say_case(&s, &row->base);
        tern__strbuf_add(&s, ": ");
        tern__regress_add_change(&s, &row->comparison);
        tern__strbuf_add(&s, ".");
    }
    if (strcmp(p->host, p->base_host) != 0)
        tern__strbuf_add(
            &s, " The earlier results are of another machine, so this says nothing about the program alone.");
    tell(t, &s);
}

/* ---- profile and memory ---- */

static void tell_profile(const tern_report *r, telling *t)
{
    const tern__profile_document *p = r->profile;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    char word[TERN__WORD], whole[TERN__WORD];
    double saving = 0;
    if (p->n_ops == 0)
        return;
    const tern__spot *top = &p->ops[0];
    tern__strbuf_addf(&s, "In the profiled command most time goes to %s: %s of %s of work", top->name,
                      tern__say_share(word, top->share), tern__say_us(whole, (double)p->info.work_ns * 1e-3));
    if (isfinite(top->limit_share))
        tern__strbuf_addf(&s, ", at %s of the limit", tern__say_share(word, top->limit_share));
    if (top->bottleneck[0] && strcmp(top->bottleneck, tern_bottleneck_name(TERN_BOTTLENECK_UNKNOWN)) != 0)
        tern__strbuf_addf(&s, " (%s)", top->bottleneck);
    tern__strbuf_add(&s, ".");
    for (int i = 0; i < p->n_ops; i++)
        saving += isfinite(p->ops[i].saving_ns) ? p->ops[i].saving_ns : 0;
    if (saving > 0 && p->info.work_ns > 0)
        tern__strbuf_addf(&s, " If every step ran at the machine's limit, %s of the work would be saved.",
                          tern__say_share(word, saving / (double)p->info.work_ns));
    if (p->info.lost > 0)
        tern__strbuf_add(&s, " Events were lost, so that these numbers are too small.");
    tell(t, &s);
}

static void tell_memory(const tern_report *r, telling *t)
{
    const tern__memory_document *m = r->memory;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    char word[TERN__WORD];
    tern__strbuf_addf(&s, "Memory peaks at %s", tern__say_bytes(word, m->peak_bytes));
    if (strcmp(m->peak_category, "pass") == 0)
        tern__strbuf_addf(&s, ", while a program is compiled (pass '%s')", m->peak_op);
    else if (m->peak_op[0])
        tern__strbuf_addf(&s, ", in %s%s%s", m->peak_op, m->peak_where[0] ? " of " : "", m->peak_where);
    tern__strbuf_add(&s, ".");
    if (m->leaked_bytes > 0)
        tern__strbuf_addf(&s, " %s were never given back.", tern__say_bytes(word, m->leaked_bytes));
    for (int i = 0; i < m->n_advice; i++)
        if (strcmp(m->advice[i].of, "peak") == 0) {
            tern__strbuf_addf(&s, " %s of it could be saved: %s.",
                              tern__say_bytes(word, m->advice[i].saves_bytes), m->advice[i].what);
            break;
        }
    tell(t, &s);
}

static void tell_all(const tern_report *r, tern__strbuf *to,
                     void (*add)(tern__strbuf *to, const char *sentence))
{
    telling t = {.to = to, .add = add};
    if (r->results && r->results->n > 0) {
        tell_measured(r, &t);
        tell_limits(r, &t);
        tell_doubts(r, &t);
    }
    if (r->regress)
        tell_comparison(r, &t);
    if (r->profile)
        tell_profile(r, &t);
    if (r->memory)
        tell_memory(r, &t);
    for (int i = 0; i < r->n_notes; i++) {
        tern__strbuf s = TERN__STRBUF_EMPTY;
        tern__strbuf_add(&s, r->notes[i]);
        tell(&t, &s);
    }
}

/* ---- large figures ---- */

typedef struct card {
    const char *label, *section, *class;
    char value[TERN__WORD];
    char note[96];
} card;

enum { CARDS_MOST = 6 };

static int find_cards(const tern_report *r, card cards[CARDS_MOST], tern__strbuf *to)
{
    int n = 0, shares = 0, counts[TERN__STATES];
    char word[TERN__WORD];
    const double median = tern__median_share(r->results, &shares, to);
    if (r->results && r->results->n > 0) {
        card *c = &cards[n++];
        const int measured = count_benchmarks(r->results, true), failed = count_benchmarks(r->results, false);
        *c = (card){.label = measured == 1 ? "benchmark measured" : "benchmarks measured",
                    .section = "performance",
                    .class = ""};
        snprintf(c->value, sizeof c->value, "%d", measured);
        if (shares > 0)
            snprintf(c->note, sizeof c->note, "%d row%s a share of a limit", shares,
                     shares == 1 ? " has" : "s have");
        if (failed > 0)
            snprintf(c->note + strlen(c->note), sizeof c->note - strlen(c->note), "%s%d could not be",
                     shares > 0 ? ", " : "", failed);
    }
    if (shares > 0) {
        card *c = &cards[n++];
        *c = (card){.label = "of the machine's limit",
                    .section = "performance",
                    .class = "",
                    .note = "median benchmark"};
        tern__say_share(c->value, median);
    }
    if (r->regress) {
        card *c = &cards[n++];
        tern__regress_count(r->regress, counts);
        const int worse = counts[TERN_REGRESS_REGRESSION] + counts[TERN_REGRESS_CRITICAL],
                  undecided = counts[TERN_REGRESS_UNDECIDED];
        int all = 0;
        for (int i = 0; i < TERN__STATES; i++)
            all += counts[i];
        /* none among many that are not known is no good news */
        *c = (card){.label = worse == 1 ? "regression" : "regressions",
                    .section = "regressions",
                    .class = worse                 ? "bad"
                             : 2 * undecided < all ? "good"
                                                   : "open"};
        snprintf(c->value, sizeof c->value, "%d", worse);
        snprintf(c->note, sizeof c->note, "%d better, %d of %d undecided", counts[TERN_REGRESS_BETTER],
                 undecided, all);
    }
    if (r->profile) {
        card *c = &cards[n++];
        *c = (card){.label = "of work profiled", .section = "profile", .class = ""};
        tern__say_us(c->value, (double)r->profile->info.work_ns * 1e-3);
        snprintf(c->note, sizeof c->note, "%d thread%s, in %s by the clock", r->profile->info.threads,
                 r->profile->info.threads == 1 ? "" : "s",
                 tern__say_us(word, (double)r->profile->info.wall_ns * 1e-3));
    }
    if (r->memory) {
        card *c = &cards[n++];
        *c = (card){.label = "of memory at most", .section = "memory", .class = ""};
        tern__say_bytes(c->value, r->memory->peak_bytes);
    }
    return n;
}

/* ---- formats ---- */

static void add_paragraph(tern__strbuf *to, const char *sentence)
{
    tern__strbuf_add(to, "<p>");
    tern__html_add(to, sentence);
    tern__strbuf_add(to, "</p>\n");
}

static void html(const tern_report *r, tern__strbuf *to)
{
    card cards[CARDS_MOST];
    const int n = find_cards(r, cards, to);
    tern__strbuf_add(to, "<div class=\"lead\">\n");
    tell_all(r, to, add_paragraph);
    tern__strbuf_add(to, "</div>\n<ul class=\"cards\">\n");
    for (int i = 0; i < n; i++) {
        tern__strbuf_addf(to, "<li class=\"%s\"><a href=\"#%s\"><strong>", cards[i].class, cards[i].section);
        tern__html_add(to, cards[i].value);
        tern__strbuf_addf(to, "</strong> <span>%s</span> <small>", cards[i].label);
        tern__html_add(to, cards[i].note);
        tern__strbuf_add(to, "</small></a></li>\n");
    }
    tern__strbuf_add(to, "</ul>\n");
}

static void add_line(tern__strbuf *to, const char *sentence)
{
    tern__strbuf_add(to, "  ");
    tern__add_plain(to, sentence);
    tern__strbuf_add(to, "\n");
}

static void text(const tern_report *r, tern__strbuf *to)
{
    tell_all(r, to, add_line);
}

static void json(const tern_report *r, tern__strbuf *to)
{
    card cards[CARDS_MOST];
    const int n = find_cards(r, cards, to);
    tern__strbuf_add(to, "{\"sentences\": [");
    tell_all(r, to, tern__json_add_text);
    tern__strbuf_add(to, "], \"figures\": [");
    for (int i = 0; i < n; i++) {
        tern__member_text(to, i ? ", {" : "{", "label", cards[i].label);
        tern__member_text(to, ", ", "value", cards[i].value);
        tern__member_text(to, ", ", "section", cards[i].section);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_summary = {
    "summary", "Summary", "what the data says, in sentences", missing, html, text, json,
};

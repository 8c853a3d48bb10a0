/* compare_results.c - see compare_results.h. */
#include "compare_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/regress.h>
#include <tern/results.h>

#include "json.h"
#include "sessions.h"
#include "table.h"
#include "term.h"

enum { NUMBERS_MOST = 1 << 16 };

/* What a set knows of one benchmark. */
typedef struct side {
    double *samples; /* (n) of all sessions, seconds */
    double *medians; /* (sessions) */
    int n, sessions;
} side;

typedef struct pairing {
    tern_compare_options o;
    bool in_turns; /* session i of one was next to session i of the other */
    int better, worse, same, undecided;
    double log_sum; /* of B's speed-ups where one was found */
} pairing;

void add_recommendation(text *t, const tern_comparison *c)
{
    const bool b_wins = c->verdict == TERN_VERDICT_FASTER;
    switch (c->verdict) {
    case TERN_VERDICT_FASTER:
    case TERN_VERDICT_SLOWER:
        text_addf(t, "use %c: it is %.2f times as fast (%.2f to %.2f)", b_wins ? 'B' : 'A',
                  b_wins ? 1 / c->ratio : c->ratio, b_wins ? 1 / c->ratio_high : c->ratio_low,
                  b_wins ? 1 / c->ratio_low : c->ratio_high);
        return;
    case TERN_VERDICT_SAME:
        text_add(t, "either: the difference is below the threshold");
        return;
    case TERN_VERDICT_UNDECIDED:
        break;
    }
    text_addf(t, "no answer: B takes %.3f to %.3f of A's time, noise is %.3g %%; more samples may help",
              c->ratio_low, c->ratio_high, c->noise * 100);
}

/* ---- benchmarks of two sets ------------------------------------------------------------------------------------ */

static bool same(const tern_result *a, const tern_result *b)
{
    return strcmp(a->suite, b->suite) == 0 && strcmp(a->family, b->family) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->shape, b->shape) == 0 &&
           strcmp(a->device, b->device) == 0 && a->threads == b->threads;
}

static side collect(const tern_results *r, const tern_result *key)
{
    side s = {.samples = grab(NUMBERS_MOST, sizeof(double)), .medians = grab(NUMBERS_MOST, sizeof(double))};
    tern_result row;
    for (int i = 0; tern_results_at(r, i, &row) == TERN_OK; i++) {
        if (!same(&row, key) || row.rounds == 0 || !row.samples_us || s.sessions == NUMBERS_MOST)
            continue;
        s.medians[s.sessions++] = row.median_us * 1e-6;
        for (int k = 0; k < row.rounds && s.n < NUMBERS_MOST; k++)
            s.samples[s.n++] = row.samples_us[k] * 1e-6;
    }
    return s;
}

static void side_free(side *s)
{
    free(s->samples);
    free(s->medians);
}

static double noise_of(const side *s)
{
    tern_history h;
    return s->sessions > 1 && tern_history_read(s->medians, s->sessions, &h) == TERN_OK ? h.noise : 0;
}

static tern_status compare_sides(const pairing *p, const side *a, const side *b, tern_comparison *c)
{
    tern_compare_options o = p->o;
    if (p->in_turns)
        return tern_compare_pairs(&o, a->medians, b->medians,
                                  a->sessions < b->sessions ? a->sessions : b->sessions, c);
    o.noise = fmax(noise_of(a), noise_of(b));
    return tern_compare_samples(&o, a->samples, a->n, b->samples, b->n, c);
}

static void count(pairing *p, const tern_comparison *c)
{
    p->better += c->verdict == TERN_VERDICT_FASTER;
    p->worse += c->verdict == TERN_VERDICT_SLOWER;
    p->same += c->verdict == TERN_VERDICT_SAME;
    p->undecided += c->verdict == TERN_VERDICT_UNDECIDED;
    if (c->verdict == TERN_VERDICT_FASTER || c->verdict == TERN_VERDICT_SLOWER)
        p->log_sum -= log(c->ratio);
}

/* ---- saying so ------------------------------------------------------------------------------------------------- */

static void add_to_table(table *t, const tern_result *key, const tern_comparison *c)
{
    text cell = {0};
    text_addf(&cell, "%s/%s %s", key->family, key->name, key->shape);
    text safe = {0};
    text_add_safe(&safe, text_string(&cell));
    table_add(t, text_string(&safe));
    table_addf(t, "%d", key->threads);
    table_addf(t, "%.1f us", c->median_a * 1e6);
    table_addf(t, "%.1f us", c->median_b * 1e6);
    table_addf(t, "%.3f", 1 / c->ratio);
    table_addf(t, "%.3f to %.3f", 1 / c->ratio_high, 1 / c->ratio_low);
    text_clear(&cell);
    add_recommendation(&cell, c);
    table_add(t, text_string(&cell));
    text_free(&cell);
    text_free(&safe);
}

static void add_to_json(json *j, const tern_result *key, const tern_comparison *c)
{
    text advice = {0};
    add_recommendation(&advice, c);
    json_object(j, NULL);
    json_string(j, "suite", key->suite);
    json_string(j, "family", key->family);
    json_string(j, "name", key->name);
    json_string(j, "shape", key->shape);
    json_int(j, "threads", key->threads);
    json_string(j, "verdict", tern_verdict_name(c->verdict));
    json_string(j, "recommendation", text_string(&advice));
    json_double(j, "median_a_us", c->median_a * 1e6);
    json_double(j, "median_b_us", c->median_b * 1e6);
    json_double(j, "speedup", 1 / c->ratio);
    json_double(j, "speedup_low", 1 / c->ratio_high);
    json_double(j, "speedup_high", 1 / c->ratio_low);
    json_double(j, "p", c->p);
    json_double(j, "noise", c->noise);
    json_int(j, "samples_a", c->n_a);
    json_int(j, "samples_b", c->n_b);
    json_end(j);
    text_free(&advice);
}

static void print_summary(const pairing *p)
{
    const int found = p->better + p->worse;
    printf("\nB is faster in %d, slower in %d, the same in %d, undecided in %d", p->better, p->worse, p->same,
           p->undecided);
    if (found > 0)
        printf("; where it differs it is %.3f times as fast (geometric mean)", exp(p->log_sum / found));
    putchar('\n');
}

static bool seen_before(const tern_results *r, int i, const tern_result *key)
{
    tern_result row;
    for (int k = 0; k < i && tern_results_at(r, k, &row) == TERN_OK; k++)
        if (same(&row, key))
            return true;
    return false;
}

/* Every benchmark that both have. */
static int compare_sets(const args *a, pairing *p, const tern_results *first, const tern_results *second)
{
    static const table_column columns[] = {
        {"benchmark", false, true, STYLE_NAME},
        {"threads", true, false, STYLE_NONE},
        {"A", true, false, STYLE_NONE},
        {"B", true, false, STYLE_NONE},
        {"speed-up", true, false, STYLE_BOLD},
        {"95 % interval", true, false, STYLE_NONE},
        {"recommendation", false, false, STYLE_NONE},
    };
    table t = table_make(columns, 7);
    json j = {0};
    tern_result key;
    tern_comparison c;
    int rows = 0;
    tern_status status = TERN_OK;
    json_array(&j, NULL);
    for (int i = 0; status == TERN_OK && tern_results_at(first, i, &key) == TERN_OK; i++) {
        if (seen_before(first, i, &key))
            continue;
        side x = collect(first, &key), y = collect(second, &key);
        if (x.n > 0 && y.n > 0) {
            status = compare_sides(p, &x, &y, &c);
            if (status == TERN_OK) {
                rows++;
                count(p, &c);
                add_to_table(&t, &key, &c);
                add_to_json(&j, &key, &c);
            }
        }
        side_free(&x);
        side_free(&y);
    }
    json_end(&j);
    const bool good = status == TERN_OK && rows > 0, as_json = args_has(a, "json");
    if (good && as_json) {
        json_print(&j);
    } else {
        text_free(&j.out);
    }
    if (good && !as_json) {
        table_print(&t, 0, true);
        print_summary(p);
    } else {
        table_free(&t);
    }
    return good                ? EXIT_DONE
           : status != TERN_OK ? fail_status(NULL)
                               : fail("A and B have no benchmark with samples in common");
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void warn_of_hosts(const tern_results *x, const tern_results *y)
{
    const char *a = tern_results_condition(x, "host"), *b = tern_results_condition(y, "host");
    if (a && b && strcmp(a, b) != 0)
        warn("A and B are of different machines: the difference is theirs as well");
}

int compare_files(const args *a, const tern_compare_options *o)
{
    tern_results *sets[2] = {NULL, NULL};
    pairing p = {.o = *o};
    int code = EXIT_DONE;
    for (int i = 0; i < 2 && code == EXIT_DONE; i++)
        if (tern_results_load(args_operand(a, i), &sets[i]) != TERN_OK)
            code = fail_status(NULL);
    if (code == EXIT_DONE) {
        warn_of_hosts(sets[0], sets[1]);
        code = compare_sets(a, &p, sets[0], sets[1]);
    }
    tern_results_free(sets[0]);
    tern_results_free(sets[1]);
    return code;
}

/* ---- programs -------------------------------------------------------------------------------------------------- */

int compare_programs(const args *a, const tern_compare_options *o)
{
    sessions s;
    pairing p = {.o = *o, .in_turns = true};
    p.o.rounds = 0;
    int code = sessions_open(args_operand(a, 0), args_operand(a, 1), args_value(a, "bench"), &s);
    if (code == EXIT_DONE)
        code = sessions_run(&s, o->rounds > 0 ? o->rounds : 12);
    if (code == EXIT_DONE)
        code = compare_sets(a, &p, s.sets[0], s.sets[1]);
    sessions_close(&s);
    return code;
}

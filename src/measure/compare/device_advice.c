/* device_advice.c - what times of devices come to: crossovers and advice, computed from the rows alone; and all of it as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "measure/compare/compare_devices.h"
#include "measure/documents.h"
#include "measure/json_members.h"

/* ---- rows ---- */

tern_status tern_device_comparison_create(tern_device_comparison **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "device_comparison_create: out is NULL");
    tern_device_comparison *c = tern__alloc_zero(1, sizeof *c);
    if (!c)
        return tern__out_of_memory(sizeof *c);
    *out = c;
    return TERN_OK;
}

void tern_device_comparison_free(tern_device_comparison *c)
{
    if (!c)
        return;
    tern__free(c->rows);
    tern__free(c->texts);
    tern__free(c);
}

/* Texts from anywhere end where they must, and a use is one that there is. */
tern_status tern_device_comparison_add(tern_device_comparison *c, const tern_device_time *time)
{
    TERN__FAIL_IF(!c || !time, TERN_INVALID_ARGUMENT, "device_comparison_add: an argument is NULL");
    TERN__FAIL_IF(strcmp(tern_device_use_name(time->use), "unknown") == 0, TERN_INVALID_ARGUMENT,
                  "device_comparison_add: there is no use %d", (int)time->use);
    TERN__FAIL_IF(time->samples > 0 && !(time->median_us > 0 && time->size > 0), TERN_INVALID_ARGUMENT,
                  "device_comparison_add: a time and a size must be above 0");
    if (!tern__grow((void **)&c->rows, &c->capacity, c->n + 1, sizeof *c->rows))
        return tern__out_of_memory(sizeof *c->rows);
    tern_device_time *row = &c->rows[c->n++];
    *row = *time;
    row->device[sizeof row->device - 1] = row->op[sizeof row->op - 1] = '\0';
    row->dtype[sizeof row->dtype - 1] = row->shape[sizeof row->shape - 1] = '\0';
    row->error[sizeof row->error - 1] = '\0';
    return TERN_OK;
}

tern_status tern_device_comparison_time(const tern_device_comparison *c, int i, tern_device_time *out)
{
    TERN__FAIL_IF(!c || !out, TERN_INVALID_ARGUMENT, "device_comparison_time: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= c->n, TERN_OUT_OF_RANGE, "device comparison: time %d: there are %zu",
                  i, c->n);
    *out = c->rows[i];
    return TERN_OK;
}

tern_status tern_device_comparison_add_text(tern_device_comparison *c, const tern_device_text *text)
{
    TERN__FAIL_IF(!c || !text, TERN_INVALID_ARGUMENT, "device_comparison_add_text: an argument is NULL");
    if (!tern__grow((void **)&c->texts, &c->cap_texts, c->n_texts + 1, sizeof *c->texts))
        return tern__out_of_memory(sizeof *c->texts);
    tern_device_text *row = &c->texts[c->n_texts++];
    *row = *text;
    row->device[sizeof row->device - 1] = row->error[sizeof row->error - 1] = '\0';
    return TERN_OK;
}

tern_status tern_device_comparison_text(const tern_device_comparison *c, int i, tern_device_text *out)
{
    TERN__FAIL_IF(!c || !out, TERN_INVALID_ARGUMENT, "device_comparison_text: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= c->n_texts, TERN_OUT_OF_RANGE,
                  "device comparison: text %d: there are %zu", i, c->n_texts);
    *out = c->texts[i];
    return TERN_OK;
}

const char *tern_device_use_name(tern_device_use use)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_DEVICE_USE_LIST(NAME)
#undef NAME
    };
    return (unsigned)use < TERN__COUNT(names) ? names[use] : "unknown";
}

static bool same_op(const tern_device_time *a, const tern_device_time *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->dtype, b->dtype) == 0;
}

const tern_device_time *tern__device_base(const tern_device_comparison *c, const tern_device_time *row)
{
    for (size_t i = 0; i < c->n; i++) {
        const tern_device_time *base = &c->rows[i];
        if (strcmp(base->device, c->rows[0].device) == 0 && same_op(base, row) &&
            strcmp(base->shape, row->shape) == 0 && base->use == row->use)
            return base;
    }
    return NULL;
}

double tern__device_ratio(const tern_device_time *a, const tern_device_time *b, bool *clear)
{
    *clear = false;
    if (a->samples == 0 || b->samples == 0)
        return NAN;
    *clear = a->high_us < b->low_us || b->high_us < a->low_us; /* NaN: false */
    return b->median_us / a->median_us;
}

/* Is row i the first of its device, op and dtype? */
static bool is_first(const tern_device_comparison *c, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(c->rows[k].device, c->rows[i].device) == 0 && same_op(&c->rows[k], &c->rows[i]))
            return false;
    return true;
}

/* ---- crossovers ---- */

typedef struct pair {
    double size, ratio;
    bool faster, slower; /* beyond doubt: the intervals do not meet */
} pair;

enum { MOST_PAIRS = 64 };

/* Ratios of a device to the first one, by size. */
static int list_pairs(const tern_device_comparison *c, const tern_device_time *of, pair out[MOST_PAIRS])
{
    int n = 0;
    for (size_t i = 0; i < c->n && n < MOST_PAIRS; i++) {
        const tern_device_time *row = &c->rows[i], *base;
        bool clear;
        if (strcmp(row->device, of->device) != 0 || !same_op(row, of) || !(base = tern__device_base(c, row)))
            continue;
        const double ratio = tern__device_ratio(base, row, &clear);
        if (isnan(ratio))
            continue;
        int at = n++;
        for (; at > 0 && out[at - 1].size > row->size; at--)
            out[at] = out[at - 1];
        out[at] = (pair){row->size, ratio, ratio < 1 && clear, ratio > 1 && clear};
    }
    return n;
}

/* From the smallest size on from which it is clearly faster at all larger ones. Between two sizes the logarithm of the ratio is a straight
 * line over that of the size; where the smaller one's is in doubt, nothing is said of what lies between. */
static void find_crossover(const pair *pairs, int n, tern_device_crossover *out)
{
    int from = n;
    while (from > 0 && pairs[from - 1].faster)
        from--;
    out->any = from < n;
    out->always = n > 0 && from == 0;
    out->size = NAN;
    if (out->always)
        out->size = pairs[0].size;
    else if (out->any) {
        const pair a = pairs[from - 1], b = pairs[from];
        const double t = a.slower ? log(a.ratio) / (log(a.ratio) - log(b.ratio)) : 1;
        out->size = exp(log(a.size) + t * (log(b.size) - log(a.size)));
    }
}

tern_status tern_device_comparison_crossover(const tern_device_comparison *c, int i,
                                             tern_device_crossover *out)
{
    TERN__FAIL_IF(!c || !out, TERN_INVALID_ARGUMENT, "device_comparison_crossover: an argument is NULL");
    int left = i;
    for (size_t k = 0; k < c->n && i >= 0; k++) {
        const tern_device_time *row = &c->rows[k];
        pair pairs[MOST_PAIRS];
        if (strcmp(row->device, c->rows[0].device) == 0 || !is_first(c, k))
            continue;
        const int n = list_pairs(c, row, pairs);
        if (n == 0 || left-- > 0)
            continue;
        *out = (tern_device_crossover){.size = NAN};
        snprintf(out->device, sizeof out->device, "%s", row->device);
        snprintf(out->op, sizeof out->op, "%s", row->op);
        snprintf(out->dtype, sizeof out->dtype, "%s", row->dtype);
        find_crossover(pairs, n, out);
        return TERN_OK;
    }
    return tern__fail(TERN_OUT_OF_RANGE, "device comparison: there is no crossover %d", i);
}

/* ---- advice ---- */

static const double worth = 0.95;

typedef struct score {
    double ratio; /* NaN: it lacks a case that the first device has */
    int cases, clear;
    int wins; /* of the clear ones: those in which it is faster */
} score;

/* A gain of less is no reason to use another device, nor is one that is clear in no case. */
static bool is_reason(const score *s)
{
    return s->ratio < worth && s->wins > 0;
}

static score score_of(const tern_device_comparison *c, const char *device, tern_device_use use)
{
    score s = {.ratio = 0};
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        const tern_device_time *row = &c->rows[i], *base;
        bool clear;
        if (row->use != use || strcmp(row->device, device) != 0 || !(base = tern__device_base(c, row)) ||
            base->samples == 0)
            continue;
        const double ratio = tern__device_ratio(base, row, &clear);
        sum += log(ratio); /* what it cannot run makes the sum NaN: it is out */
        s.cases++;
        s.clear += clear;
        s.wins += clear && ratio < 1;
    }
    s.ratio = s.cases > 0 ? exp(sum / s.cases) : NAN;
    return s;
}

static bool has_use(const tern_device_comparison *c, tern_device_use use)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->rows[i].use == use)
            return true;
    return false;
}

/* Is there a row of this use that is not the first device's? */
static bool has_other(const tern_device_comparison *c, tern_device_use use)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->rows[i].use == use && strcmp(c->rows[i].device, c->rows[0].device) != 0)
            return true;
    return false;
}

static void advise(const tern_device_comparison *c, tern_device_use use, tern_device_advice *out)
{
    const char *first = c->rows[0].device;
    score best = score_of(c, first, use), nearest = {.ratio = NAN};
    const char *device = isnan(best.ratio) ? "" : first, *second = NULL;
    *out = (tern_device_advice){.use = use};
    for (size_t i = 0; i < c->n; i++) {
        const tern_device_time *row = &c->rows[i];
        if (strcmp(row->device, first) == 0)
            continue;
        const score s = score_of(c, row->device, use);
        if (isnan(s.ratio))
            continue;
        const bool reason = is_reason(&s), had = second && is_reason(&nearest);
        if (!second || (reason == had ? s.ratio < nearest.ratio : reason)) {
            second = row->device;
            nearest = s;
        }
    }
    const bool unclear = second && nearest.ratio < worth && nearest.wins == 0;
    if (second && nearest.ratio < worth && !unclear) {
        best = nearest;
        device = second;
    }
    snprintf(out->device, sizeof out->device, "%s", device);
    out->ratio = best.ratio;
    out->cases = second ? nearest.cases : best.cases;
    out->clear = second ? nearest.clear : 0;
    if (!device[0])
        snprintf(out->words, sizeof out->words, "no device has times for this");
    else if (!second)
        snprintf(out->words, sizeof out->words, "%s: nothing else %s", device,
                 has_other(c, use) ? "can run all of it" : "was measured");
    else if (device == second)
        snprintf(out->words, sizeof out->words, "%s: %.2f of %s's time over %d case%s, clearly faster in %d",
                 device, nearest.ratio, first, out->cases, out->cases == 1 ? "" : "s", nearest.wins);
    else if (unclear)
        snprintf(out->words, sizeof out->words,
                 "%s: %s had %.2f of its time over %d case%s, but is clearly faster in none", device, second,
                 nearest.ratio, out->cases, out->cases == 1 ? "" : "s");
    else
        snprintf(out->words, sizeof out->words,
                 "%s: %s, the nearest, takes %.2f times as long over %d case%s, clear in %d", device, second,
                 nearest.ratio, out->cases, out->cases == 1 ? "" : "s", out->clear);
}

tern_status tern_device_comparison_advice(const tern_device_comparison *c, int i, tern_device_advice *out)
{
    TERN__FAIL_IF(!c || !out, TERN_INVALID_ARGUMENT, "device_comparison_advice: an argument is NULL");
    int left = i;
#define TRY_USE(id, number, name, meaning)                           \
    if (i >= 0 && has_use(c, TERN_DEVICE_USE_##id) && left-- == 0) { \
        advise(c, TERN_DEVICE_USE_##id, out);                        \
        return TERN_OK;                                              \
    }
    TERN_DEVICE_USE_LIST(TRY_USE)
#undef TRY_USE
    return tern__fail(TERN_OUT_OF_RANGE, "device comparison: there is no advice %d", i);
}

/* ---- what lies around steps ---- */

void tern__device_around(tern_device_time *row, tern__interval timed, tern__interval beside, double median)
{
    const char *why = "";
    row->around_us = NAN;
    if (isnan(row->high_us) || timed.low > row->high_us)
        why = isnan(row->high_us) ? "too few runs to tell" : "steps take longer one by one than together";
    else if (!(beside.low > 0 && beside.high <= 2 * beside.low))
        why = "not above the noise of its runs";
    else
        row->around_us = median;
    snprintf(row->around_missing, sizeof row->around_missing, "%s", why);
}

/* ---- JSON ---- */

static void add_row(const tern_device_time *row, tern__strbuf *to)
{
    bool first = true;
    tern__strbuf_add(to, "{");
    tern__member_string(to, "device", row->device, &first);
    tern__member_string(to, "op", row->op, &first);
    tern__member_string(to, "dtype", row->dtype, &first);
    tern__member_string(to, "shape", row->shape, &first);
    tern__member_number(to, "size", row->size, &first);
    tern__member_string(to, "use", tern_device_use_name(row->use), &first);
    tern__member_number(to, "median_us", row->samples ? row->median_us : NAN, &first);
    tern__member_number(to, "low_us", row->samples ? row->low_us : NAN, &first);
    tern__member_number(to, "high_us", row->samples ? row->high_us : NAN, &first);
    tern__member_number(to, "around_us", row->samples ? row->around_us : NAN, &first);
    if (row->samples && row->around_missing[0])
        tern__member_string(to, "around_missing", row->around_missing, &first);
    tern__member_number(to, "transfer_us", row->samples ? row->transfer_us : NAN, &first);
    tern__member_int(to, "samples", row->samples, &first);
    tern__member_string(to, "error", row->error, &first);
    tern__strbuf_add(to, "}");
}

static void add_crossover(const tern_device_crossover *x, tern__strbuf *to)
{
    bool first = true;
    tern__strbuf_add(to, "{");
    tern__member_string(to, "device", x->device, &first);
    tern__member_string(to, "op", x->op, &first);
    tern__member_string(to, "dtype", x->dtype, &first);
    tern__member_bool(to, "any", x->any, &first);
    tern__member_bool(to, "always", x->always, &first);
    tern__member_number(to, "size", x->size, &first);
    tern__strbuf_add(to, "}");
}

static void add_advice(const tern_device_advice *a, tern__strbuf *to)
{
    bool first = true;
    tern__strbuf_add(to, "{");
    tern__member_string(to, "use", tern_device_use_name(a->use), &first);
    tern__member_string(to, "device", a->device, &first);
    tern__member_number(to, "ratio", a->ratio, &first);
    tern__member_int(to, "cases", a->cases, &first);
    tern__member_int(to, "clear", a->clear, &first);
    tern__member_string(to, "words", a->words, &first);
    tern__strbuf_add(to, "}");
}

static void add_text(const tern_device_text *t, const char *base, tern__strbuf *to)
{
    char words[320];
    bool first = true;
    tern__strbuf_add(to, "{");
    tern__member_string(to, "device", t->device, &first);
    tern__member_int(to, "tokens", t->tokens, &first);
    tern__member_bool(to, "parts", t->parts, &first);
    if (t->parts) {
        tern__member_int(to, "chosen", t->chosen, &first);
        tern__member_int(to, "other", t->other, &first);
    }
    tern__member_number(to, "margin", t->margin, &first);
    tern__member_number(to, "difference", t->difference, &first);
    tern__member_number(to, "bound", t->bound, &first);
    tern__member_bool(to, "wrong", t->wrong, &first);
    tern__member_string(to, "error", t->error, &first);
    tern__member_string(to, "words", tern_device_text_words(t, base, words, sizeof words), &first);
    tern__strbuf_add(to, "}");
}

void tern__device_comparison_add_json(const tern_device_comparison *c, tern__strbuf *to)
{
    bool first = true;
    tern_device_crossover x;
    tern_device_advice a;
    tern__strbuf_add(to, "{");
    tern__member_format(to, TERN__DEVICES_DOCUMENT, 1, &first);
    tern__member_key(to, "rows", &first);
    tern__strbuf_add(to, "[");
    for (size_t i = 0; i < c->n; i++) {
        tern__strbuf_add(to, i ? ",\n" : "\n");
        add_row(&c->rows[i], to);
    }
    tern__strbuf_add(to, "]");
    tern__member_key(to, "crossovers", &first);
    tern__strbuf_add(to, "[");
    for (int i = 0; tern_device_comparison_crossover(c, i, &x) == TERN_OK; i++) {
        tern__strbuf_add(to, i ? ",\n" : "\n");
        add_crossover(&x, to);
    }
    tern__strbuf_add(to, "]");
    tern__member_key(to, "recommendations", &first);
    tern__strbuf_add(to, "[");
    for (int i = 0; tern_device_comparison_advice(c, i, &a) == TERN_OK; i++) {
        tern__strbuf_add(to, i ? ",\n" : "\n");
        add_advice(&a, to);
    }
    tern__strbuf_add(to, "]");
    if (c->n_texts > 0) {
        tern__member_key(to, "texts", &first);
        tern__strbuf_add(to, "[");
        for (size_t i = 0; i < c->n_texts; i++) {
            tern__strbuf_add(to, i ? ",\n" : "\n");
            add_text(&c->texts[i], c->n ? c->rows[0].device : "", to);
        }
        tern__strbuf_add(to, "]");
    }
    tern__strbuf_add(to, "}");
}

tern_status tern_device_comparison_json(const tern_device_comparison *c, char **text)
{
    TERN__FAIL_IF(!c || !text, TERN_INVALID_ARGUMENT, "device_comparison_json: an argument is NULL");
    tern__strbuf to = TERN__STRBUF_EMPTY;
    tern__device_comparison_add_json(c, &to);
    tern__strbuf_add(&to, "\n");
    return tern__strbuf_take(&to, text);
}

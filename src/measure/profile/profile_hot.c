/* profile_hot.c - what keeps a row from being faster: its bytes, its arithmetic, waiting, or what is around them.
 *
 * Times are of threads, so a thread's limit is its part of what all threads get together. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/units.h"
#include "measure/profile/profile.h"

/* Above these it is the bottleneck. */
static const double wait_share = 0.25; /* waiting, of waiting and working */
static const double believable = 1.1;  /* as often as a machine that others use is faster later */
static const double near_limit = 0.4;  /* what a limit explains, of the time */

const char *tern_bottleneck_name(tern_bottleneck bottleneck)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_BOTTLENECK_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)bottleneck);
}

/* What a row would take at the limits. */
typedef struct roofline {
    const tern_profile_rates *rates;
    int place;                 /* where most of the time for its bytes goes */
    double bytes_ns, flops_ns; /* of a thread; 0: no work of the kind, or no limit */
} roofline;

static double rate_at(const tern_profile_rates *r, int place)
{
    return place == TERN__IN_MEMORY       ? r->memory_bytes_per_s
           : place == TERN__IN_LAST_CACHE ? r->last_bytes_per_s
                                          : r->cache_bytes_per_s;
}

static roofline find_roofline(const tern__profile_row *row, const tern_profile_limits *l)
{
    const tern_profile_row *r = &row->row;
    roofline f = {.rates = r->threads > 1 ? &l->all : &l->one};
    double most = 0;
    for (int place = 0; place < TERN__PLACES; place++) {
        const double rate = rate_at(f.rates, place);
        const double ns = rate > 0 ? (double)row->bytes[place] / rate * f.rates->threads * 1e9 : 0;
        f.bytes_ns += ns;
        f.place = ns > most ? place : f.place;
        most = ns > most ? ns : most;
    }
    if (f.rates->int8_per_s > 0)
        f.flops_ns += (double)row->int8 / f.rates->int8_per_s * f.rates->threads * 1e9;
    if (f.rates->f32_per_s > 0)
        f.flops_ns += (double)(r->flops - row->int8) / f.rates->f32_per_s * f.rates->threads * 1e9;
    return f;
}

static void say(tern_hot_spot *h, tern_bottleneck bottleneck, const char *format, ...) TERN_PRINTF(3, 4);

static void say(tern_hot_spot *h, tern_bottleneck bottleneck, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(h->evidence, sizeof h->evidence, format, args);
    va_end(args);
    h->bottleneck = bottleneck;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static void explain_memory(tern_hot_spot *h, const roofline *f)
{
    static const char *const places[] = {"private caches", "the last cache", "memory"};
    const tern_profile_row *r = &h->row;
    const int n = f->rates->threads;
    say(h, TERN_BOTTLENECK_MEMORY,
        "it moves %.4g MB at %.3g GB/s, %.0f %% of what %d thread%s can read from %s, %.3g GB/s",
        (double)r->bytes * 1e-6, (double)r->bytes / (double)r->self_ns * n,
        100 * f->bytes_ns / (double)r->self_ns, n, plural(n), places[f->place],
        rate_at(f->rates, f->place) * 1e-9);
}

static void explain_compute(tern_hot_spot *h, const roofline *f)
{
    const tern_profile_row *r = &h->row;
    const int n = f->rates->threads;
    say(h, TERN_BOTTLENECK_COMPUTE,
        "it does %.4g G operations/s %s, %.0f %% of the %.4g G that %d thread%s can do",
        (double)r->flops / (double)r->self_ns * n, r->int8 ? "on int8" : "in f32",
        100 * f->flops_ns / (double)r->self_ns, (double)r->flops / f->flops_ns * n, n, plural(n));
}

static void explain_overhead(tern_hot_spot *h, const roofline *f)
{
    const double n = (double)h->row.count;
    say(h, TERN_BOTTLENECK_OVERHEAD, "it takes %s a call where %s of bytes and %s of arithmetic are due",
        tern__time_of((double)h->row.self_ns / n).text, tern__time_of(f->bytes_ns / n).text,
        tern__time_of(f->flops_ns / n).text);
}

static void explain_excess(tern_hot_spot *h, const roofline *f)
{
    say(h, TERN_BOTTLENECK_UNKNOWN,
        "its estimates are too high: %.4g MB and %.4g G operations would take %s at the limits, it took %s",
        (double)h->row.bytes * 1e-6, (double)h->row.flops * 1e-9,
        tern__time_of(fmax(f->bytes_ns, f->flops_ns)).text, tern__time_of((double)h->row.self_ns).text);
}

static bool explain_waits(tern_hot_spot *h)
{
    const tern_profile_row *r = &h->row;
    const double all = (double)(r->wait_ns + r->self_ns);
    if (r->wait_ns == 0 || (double)r->wait_ns < wait_share * all)
        return false;
    say(h, TERN_BOTTLENECK_IMBALANCE, "threads waited %s for %s of its work%s",
        tern__time_of((double)r->wait_ns).text, tern__time_of((double)r->self_ns).text,
        r->threads == 1 ? ", which one of them does alone" : "");
    return true;
}

static void explain_step(tern_hot_spot *h, const tern__profile_row *row, const tern_profile_limits *limits)
{
    if (!limits) {
        if (!explain_waits(h))
            say(h, TERN_BOTTLENECK_UNKNOWN, "limits were not measured");
        return;
    }
    if (h->row.at_most) { /* estimates are no measurement */
        if (!explain_waits(h))
            say(h, TERN_BOTTLENECK_UNKNOWN,
                "how much work it is depends on data: at most %.4g MB and %.4g G operations",
                (double)h->row.bytes * 1e-6, (double)h->row.flops * 1e-9);
        return;
    }
    const double self = (double)h->row.self_ns;
    const roofline f = find_roofline(row, limits);
    const double share = fmax(f.bytes_ns, f.flops_ns) / self;
    if (share <= believable) {
        h->limit_share = share;
        h->saving_ns = share < 1 ? (uint64_t)(self * (1 - share)) : 0;
    }
    if (explain_waits(h))
        return;
    if (share > believable)
        explain_excess(h, &f);
    else if (share < near_limit)
        explain_overhead(h, &f);
    else if (f.bytes_ns >= f.flops_ns)
        explain_memory(h, &f);
    else
        explain_compute(h, &f);
}

/* What is no step of a program. */
static void explain_work_beside(tern_hot_spot *h)
{
    static const struct {
        const char *category, *is;
    } kinds[] = {
        {"pass", "a pass of the compiler"},
        {"compile", "compiling, around the compiler's passes"},
        {"eval", "evaluating, around compilations and runs"},
        {"run", "running programs, around their steps"},
        {"model", "work of the model, around its runs"},
        {"work", "work that threads share: reading weights, folding constants"},
        {"copy", "copying"},
    };
    const char *is = "no step of a program";
    for (size_t i = 0; i < TERN__COUNT(kinds); i++)
        if (strcmp(h->row.category, kinds[i].category) == 0)
            is = kinds[i].is;
    say(h, TERN_BOTTLENECK_OVERHEAD, "it is %s: %s of its own in %llu event%s", is,
        tern__time_of((double)h->row.self_ns).text, (unsigned long long)h->row.count,
        h->row.count == 1 ? "" : "s");
}

tern_status tern_profile_get_hot_spot(const tern_profile *profile, tern_profile_by by, int i,
                                      const tern_profile_limits *limits, tern_hot_spot *out)
{
    tern_hot_spot h = {.limit_share = NAN};
    TERN__FAIL_IF(!profile || !out, TERN_INVALID_ARGUMENT, "profile_get_hot_spot: an argument is NULL");
    TERN_TRY(tern_profile_get_row(profile, by, i, &h.row));
    h.share = profile->info.work_ns ? (double)h.row.self_ns / (double)profile->info.work_ns : 0;
    if (strcmp(h.row.category, "step") == 0 && h.row.count > 0 && h.row.self_ns > 0)
        explain_step(&h, &profile->by[by].rows[i], limits);
    else
        explain_work_beside(&h);
    *out = h;
    return TERN_OK;
}

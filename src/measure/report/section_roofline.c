/* section_roofline.c - what the steps of a profiled command reached, under the roofs that this machine was measured to have: across,
 * operations for each byte; up, operations per second; both logarithmic. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/json_members.h"
#include "measure/report/html.h"
#include "measure/report/report.h"

/* Labels are placed for a picture of this width; narrower ones have numbers instead. */
enum { HEIGHT = 380, WIDTH = 900, LETTER = 7, LINE = 14, POINTS_MOST = 16, PHONE = 290 };

typedef struct point {
    const tern__spot *spot;
    int at; /* among the hot spots */
    double intensity, rate;
} point;

/* A step's rate is that of all its threads together. */
static bool point_of(const tern__profile_document *p, int i, point *out)
{
    const tern__spot *s = &p->ops[i];
    const tern__rates *rates = &p->rates[p->n_rates > 1 && s->threads > 1 ? 1 : 0];
    if (strcmp(s->category, "step") != 0 || s->at_most || !(s->flops > 0 && s->bytes > 0 && s->self_ns > 0))
        return false;
    *out = (point){s, i, s->flops / s->bytes, s->flops / s->self_ns * 1e9 * fmax(1, rates->threads)};
    return true;
}

bool tern__roofline_has(const tern__profile_document *p, int i)
{
    point at;
    int before = 0;
    for (int k = 0; k < i && before < POINTS_MOST; k++)
        before += point_of(p, k, &at);
    return before < POINTS_MOST && point_of(p, i, &at);
}

static const tern__rates *roofs_of(const tern__profile_document *p)
{
    return &p->rates[p->n_rates - 1];
}

static double top_roof(const tern__rates *r)
{
    return fmax(isfinite(r->f32) ? r->f32 : 0, isfinite(r->int8) ? r->int8 : 0);
}

static const char *missing(const tern_report *r)
{
    point at;
    if (!r->profile)
        return "no profile is among the documents";
    if (r->profile->n_rates == 0 || !(roofs_of(r->profile)->memory > 0) ||
        !(top_roof(roofs_of(r->profile)) > 0))
        return "the profile has no limits: it was taken without them, or this machine has no probes";
    for (int i = 0; i < r->profile->n_ops; i++)
        if (point_of(r->profile, i, &at))
            return NULL;
    return "no step of the profile says how many operations and bytes it has";
}

/* ---- HTML ---- */

typedef struct axes {
    tern__scale x, y;
} axes;

static axes find_axes(const tern__profile_document *p)
{
    const tern__rates *roofs = roofs_of(p);
    double left = 0.1, right = 10, low = top_roof(roofs), high = top_roof(roofs);
    point at;
    for (int i = 0; i < p->n_ops; i++)
        if (tern__roofline_has(p, i) && point_of(p, i, &at)) {
            left = fmin(left, at.intensity);
            right = fmax(right, at.intensity);
            low = fmin(low, at.rate);
            high = fmax(high, at.rate);
        }
    right = fmax(right, top_roof(roofs) / roofs->memory * 2); /* past the ridge */
    /* The lowest line is the edge, and no circle reaches below it. */
    return (axes){{pow(10, floor(log10(left))), pow(10, ceil(log10(right))), true},
                  {pow(10, floor(log10(low / 2))), high * 2, true}};
}

static double y_at(const axes *a, double rate)
{
    return 100 - tern__scale_at(&a->y, rate);
}

static void add_axes(tern__strbuf *to, const axes *a)
{
    for (double x = a->x.low; x <= a->x.high * 1.01; x *= 10) {
        const double at = tern__scale_at(&a->x, x);
        tern__strbuf_addf(
            to,
            "<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/><text class=\"tick\" "
            "x=\"%.2f%%\" y=\"100%%\" dy=\"16\" text-anchor=\"middle\">%g</text>",
            at, at, at, x);
    }
    for (double y = pow(10, ceil(log10(a->y.low))); y <= a->y.high; y *= 10) {
        const double at = y_at(a, y), giga = y * 1e-9;
        tern__strbuf_addf(
            to,
            "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/><text class=\"tick\" "
            "x=\"0\" y=\"%.2f%%\" dx=\"-6\" dy=\"4\" text-anchor=\"end\">%g%s</text>",
            at, at, at, giga >= 1000 ? giga * 1e-3 : giga, giga >= 1000 ? " T" : " G");
    }
    tern__strbuf_add(
        to, "<text class=\"axis\" x=\"100%\" y=\"100%\" dy=\"34\" text-anchor=\"end\">operations for each "
            "byte</text><text class=\"axis\" x=\"0\" y=\"0\" dy=\"-8\" dx=\"-44\">operations/s</text>\n");
}

/* The slopes: X(member of tern__rates, class of its line, name). */
#define SLOPES(X)                         \
    X(cache, "private", "private caches") \
    X(last, "last", "last cache")         \
    X(memory, "memory", "memory")

/* From where the picture begins up to the highest roof. */
static void add_slope(tern__strbuf *to, const axes *a, double bytes_per_s, double top, const char *class)
{
    if (!(bytes_per_s > 0))
        return;
    const double x0 = fmax(a->x.low, a->y.low / bytes_per_s), x1 = fmin(top / bytes_per_s, a->x.high);
    if (x0 < x1)
        tern__strbuf_addf(
            to, "<line class=\"roof %s\" x1=\"%.2f%%\" y1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"%.2f%%\"/>\n", class,
            tern__scale_at(&a->x, x0), y_at(a, x0 * bytes_per_s), tern__scale_at(&a->x, x1),
            y_at(a, x1 * bytes_per_s));
}

static void add_key(tern__strbuf *to, double bytes_per_s, const char *class, const char *name)
{
    if (bytes_per_s > 0)
        tern__strbuf_addf(
            to,
            "<span><svg class=\"key\" height=\"10\" aria-hidden=\"true\"><line class=\"roof %s\" "
            "x1=\"0\" y1=\"5\" x2=\"100%%\" y2=\"5\"/></svg> %s, %.3g GB/s</span>\n",
            class, name, bytes_per_s * 1e-9);
}

static void add_legend(tern__strbuf *to, const tern__rates *r)
{
    tern__strbuf_add(to,
                     "<p class=\"legend\"><span><i class=\"key f32\"></i> f32</span> <span><i class=\"key "
                     "int8\"></i> int8</span>\n");
#define KEY(member, class, name) add_key(to, r->member, class, name);
    SLOPES(KEY)
#undef KEY
    tern__strbuf_add(to, "</p>\n");
}

static void add_ceiling(tern__strbuf *to, const axes *a, double per_s, double fastest, const char *name)
{
    if (!(per_s > 0))
        return;
    const double y = y_at(a, per_s);
    tern__strbuf_addf(
        to,
        "<line class=\"roof\" x1=\"%.2f%%\" y1=\"%.2f%%\" x2=\"100%%\" y2=\"%.2f%%\"/><text class=\"roof\" "
        "x=\"100%%\" y=\"%.2f%%\" dx=\"-4\" dy=\"-5\" text-anchor=\"end\">%s, %.4g G/s</text>\n",
        tern__scale_at(&a->x, fmax(a->x.low, per_s / fastest)), y, y, y, name, per_s * 1e-9);
}

static void add_roofs(tern__strbuf *to, const axes *a, const tern__rates *r)
{
    const double top = top_roof(r);
    double fastest = r->memory;
    fastest = fmax(fastest, isfinite(r->last) ? r->last : 0);
    fastest = fmax(fastest, isfinite(r->cache) ? r->cache : 0);
#define SLOPE(member, class, name) add_slope(to, a, r->member, top, class);
    SLOPES(SLOPE)
#undef SLOPE
    add_ceiling(to, a, r->int8, fastest, "int8");
    add_ceiling(to, a, r->f32, fastest, "f32");
}

typedef struct box {
    double left, top, right, bottom;
} box;

/* The first labels win: points come by their time. */
static bool takes_room(box *taken, int *n, box b)
{
    for (int i = 0; i < *n; i++)
        if (b.left < taken[i].right && b.right > taken[i].left && b.top < taken[i].bottom &&
            b.bottom > taken[i].top)
            return false;
    if (*n >= POINTS_MOST)
        return false;
    taken[(*n)++] = b;
    return true;
}

static void add_point_label(tern__strbuf *to, const point *at, double x, double y, box *wide, int *n_wide,
                            box *narrow, int *n_narrow)
{
    const double length = (double)strlen(at->spot->name) * LETTER, up = y / 100 * HEIGHT;
    double right = x / 100 * WIDTH, near = x / 100 * PHONE;
    const bool left = right + 10 + length > WIDTH;
    const double start = left ? right - 10 - length : right + 10;
    if (takes_room(wide, n_wide, (box){start, up - LINE / 2, start + length, up + LINE / 2})) {
        tern__strbuf_addf(
            to, "<text class=\"wide\" x=\"%.2f%%\" y=\"%.2f%%\" dx=\"%d\" dy=\"4\" text-anchor=\"%s\">", x, y,
            left ? -10 : 10, left ? "end" : "start");
        tern__html_add(to, at->spot->name);
        tern__strbuf_add(to, "</text>");
    }
    if (takes_room(narrow, n_narrow, (box){near + 8, up - LINE / 2, near + 8 + 2 * LETTER, up + LINE / 2}))
        tern__strbuf_addf(to, "<text class=\"narrow\" x=\"%.2f%%\" y=\"%.2f%%\" dx=\"8\" dy=\"4\">%d</text>",
                          x, y, at->at + 1);
}

static void add_points(tern__strbuf *to, const axes *a, const tern__profile_document *p)
{
    box wide[POINTS_MOST], narrow[POINTS_MOST];
    int n_wide = 0, n_narrow = 0;
    char share[TERN__WORD];
    point at;
    for (int i = 0; i < p->n_ops; i++) {
        if (!tern__roofline_has(p, i) || !point_of(p, i, &at))
            continue;
        const double x = tern__scale_at(&a->x, at.intensity), y = y_at(a, at.rate);
        const double radius = 4 + 10 * sqrt(fmax(0, isfinite(at.spot->share) ? at.spot->share : 0));
        tern__strbuf_addf(to, "<a href=\"#spot-%d\" class=\"point %s\"><title>%d: ", i,
                          at.spot->int8 ? "int8" : "f32", i + 1);
        tern__html_addf(to, "%s %s\n%.3g operations for each byte, %.4g G operations/s", at.spot->name,
                        at.spot->kernel, at.intensity, at.rate * 1e-9);
        if (isfinite(at.spot->limit_share))
            tern__html_addf(to, "\n%s of the limit", tern__say_share(share, at.spot->limit_share));
        tern__strbuf_addf(to, "</title><circle cx=\"%.2f%%\" cy=\"%.2f%%\" r=\"%.1f\"/>", x, y, radius);
        add_point_label(to, &at, x, y, wide, &n_wide, narrow, &n_narrow);
        tern__strbuf_add(to, "</a>\n");
    }
}

static void html(const tern_report *r, tern__strbuf *to)
{
    const tern__profile_document *p = r->profile;
    const tern__rates *roofs = roofs_of(p);
    const axes a = find_axes(p);
    char caption[320];
    snprintf(caption, sizeof caption,
             "The roofs are what %d thread%s of this machine reached right after the run; a step cannot be "
             "above the "
             "one for its data and arithmetic. Circles grow with the time spent; numbers are those of the "
             "hot spots.",
             roofs->threads, roofs->threads == 1 ? "" : "s");
    tern__figure_open(to, "roofline", "What each step reaches, under what the machine can do", caption);
    add_legend(to, roofs);
    tern__svg_open(to, "plot", HEIGHT, "Roofline",
                   "Operations per second over operations for each byte, both logarithmic: a circle for each "
                   "operation of the profile, lines for what the machine can do at most.");
    add_axes(to, &a);
    add_roofs(to, &a, roofs);
    add_points(to, &a, p);
    tern__svg_close(to);
    tern__figure_close(to, "sections.roofline");
}

/* ---- text and JSON ---- */

static void text(const tern_report *r, tern__strbuf *to)
{
    const tern__profile_document *p = r->profile;
    char share[TERN__WORD];
    point at;
    for (int i = 0; i < p->n_rates; i++)
        tern__strbuf_addf(
            to,
            "  roofs of %d thread%s: %.3g GB/s from memory, %.3g from the last cache, %.3g from private "
            "caches; %.4g G f32, %.4g G int8 operations/s\n",
            p->rates[i].threads, p->rates[i].threads == 1 ? "" : "s", p->rates[i].memory * 1e-9,
            p->rates[i].last * 1e-9, p->rates[i].cache * 1e-9, p->rates[i].f32 * 1e-9,
            p->rates[i].int8 * 1e-9);
    for (int i = 0; i < p->n_ops; i++)
        if (point_of(p, i, &at)) {
            tern__strbuf_addf(to, "  %9.3g operations/byte  %9.4g G/s  %11s of the limit  ", at.intensity,
                              at.rate * 1e-9, tern__say_share(share, at.spot->limit_share));
            tern__add_plain(to, at.spot->name);
            tern__strbuf_add(to, "\n");
        }
}

static void json(const tern_report *r, tern__strbuf *to)
{
    const tern__profile_document *p = r->profile;
    point at;
    int n = 0;
    tern__strbuf_add(to, "{\"roofs\": [");
    for (int i = 0; i < p->n_rates; i++) {
        tern__strbuf_addf(to, "%s{\"threads\": %d", i ? ", " : "", p->rates[i].threads);
        tern__member_real(to, ", ", "memory_bytes_per_s", p->rates[i].memory);
        tern__member_real(to, ", ", "last_bytes_per_s", p->rates[i].last);
        tern__member_real(to, ", ", "cache_bytes_per_s", p->rates[i].cache);
        tern__member_real(to, ", ", "f32_per_s", p->rates[i].f32);
        tern__member_real(to, ", ", "int8_per_s", p->rates[i].int8);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "], \"points\": [");
    for (int i = 0; i < p->n_ops; i++)
        if (point_of(p, i, &at)) {
            tern__member_text(to, n++ ? ",\n {" : "\n {", "name", at.spot->name);
            tern__strbuf_addf(to, ", \"hot_spot\": \"sections.profile.hot_spots[%d]\"", i);
            tern__member_real(to, ", ", "operations_per_byte", at.intensity);
            tern__member_real(to, ", ", "operations_per_s", at.rate);
            tern__strbuf_addf(to, ", \"int8\": %s}", at.spot->int8 ? "true" : "false");
        }
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_roofline = {
    "roofline", "Roofline", "what a profiled command's steps reach under the machine's measured roofs",
    missing,    html,       text,
    json,
};

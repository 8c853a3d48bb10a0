/* chart.c - the one writer of pictures with axes that stand alone: memory over time, losses of training. Those of a page (report/) are
 * fluid, and share its colours; flame graphs have no axes. */
#include "measure/chart.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/units.h"
#include "measure/html_text.h"

enum { WIDTH = 960, HEIGHT = 460, LEFT = 84, RIGHT = 24, TOP = 84, BOTTOM = 56, TICKS_MOST = 8 };

/* Colours are classes, and no variables: viewers that know none would draw all of it black. */
static const char style[] =
    "text{fill:#1f2430;font:13px system-ui,sans-serif}.title{font-size:16px;font-weight:600}\n"
    ".paper{fill:#fff}.dim{fill:#5b6472}.grid{stroke:#d5d9e0}\n"
    ".line{fill:none;stroke-width:2}.fill{opacity:.3}.peak{fill:#c2306f}\n"
    ".s0{stroke:#26b}.f0{fill:#26b}.s1{stroke:#c2410c}.f1{fill:#c2410c}"
    ".s2{stroke:#66752c;stroke-dasharray:4 3}.f2{fill:#66752c}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ef}.paper{fill:#14171d}.dim{fill:#9aa4b2}"
    ".grid{stroke:#333a46}.peak{fill:#f07aae}.s0{stroke:#6cb2ff}.f0{fill:#6cb2ff}"
    ".s1{stroke:#ff9d5c}.f1{fill:#ff9d5c}.s2{stroke:#b5c76a}.f2{fill:#b5c76a}}";

/* ---- units ---- */

static const tern__unit no_unit[] = {{1, ""}};
static const tern__units plain = {1, no_unit};

static const double tens[] = {1, 2, 5}, twos[] = {1};

/* By tern_chart_unit. */
static const struct {
    const tern__units *names;
    double base; /* steps are a power of it, times one of: */
    const double *rounds;
    size_t n_rounds;
    double least; /* step */
} units[] = {
    [TERN_CHART_NUMBERS] = {&plain, 10, tens, TERN__COUNT(tens), 0},
    [TERN_CHART_COUNTS] = {&plain, 10, tens, TERN__COUNT(tens), 1},
    [TERN_CHART_BYTES] = {&tern__byte_units, 2, twos, TERN__COUNT(twos), 1},
    [TERN_CHART_TIMES] = {&tern__time_units, 10, tens, TERN__COUNT(tens), 0},
};

/* ---- scales ---- */

typedef struct scale {
    tern_chart_unit unit;
    double low, high, step;
} scale;

/* The smallest round step of which at most TICKS_MOST fit into `range`, which is above 0. */
static double step_of(tern_chart_unit unit, double range)
{
    const double base = units[unit].base, rough = range / TICKS_MOST;
    const double power = pow(base, floor(log(rough) / log(base)));
    double step = power * base;
    for (size_t i = units[unit].n_rounds; i-- > 0;)
        if (power * units[unit].rounds[i] >= rough * (1 - 1e-9))
            step = power * units[unit].rounds[i];
    return fmax(step, units[unit].least);
}

/* Of numbers near the end of doubles there are no differences. */
static bool is_number(double value)
{
    return fabs(value) <= 1e300;
}

static void widen(scale *s, double value)
{
    if (!is_number(value))
        return;
    s->low = fmin(s->low, value);
    s->high = fmax(s->high, value);
}

static void widen_all(scale *s, int n, const double *values)
{
    for (int i = 0; i < n && values; i++)
        widen(s, values[i]);
}

static scale begin_scale(const tern_chart_axis *axis)
{
    scale s = {axis->unit, INFINITY, -INFINITY, 0};
    if (axis->low < axis->high) {
        widen(&s, axis->low);
        widen(&s, axis->high);
    }
    return s;
}

/* Points that are one but for rounding, or none at all, have room around them: there is something to divide by, and steps that can be
 * counted. */
static void end_scale(scale *s)
{
    if (!(s->low <= s->high))
        s->low = s->high = 0.5;
    const double size = fmax(fabs(s->low), fabs(s->high));
    if (s->high - s->low <= 1e-9 * size) {
        s->low -= fmax(0.5, 1e-6 * size);
        s->high += fmax(0.5, 1e-6 * size);
    }
    s->step = step_of(s->unit, s->high - s->low);
    s->high = fmax(s->high, s->low + s->step); /* of units that have a smallest step */
}

typedef struct scales {
    scale x, y;
} scales;

/* Across, the picture ends where its points do; up, at whole steps. */
static scales scales_of(const tern_chart *c)
{
    scales s = {begin_scale(&c->x), begin_scale(&c->y)};
    for (int i = 0; i < c->n; i++) {
        const tern_chart_series *of = &c->series[i];
        widen_all(&s.x, of->n, of->x);
        widen_all(&s.y, of->n, of->y);
        widen_all(&s.y, of->n, of->low);
    }
    if (c->mark) {
        widen(&s.x, c->mark->x);
        widen(&s.y, c->mark->y);
    }
    end_scale(&s.x);
    end_scale(&s.y);
    s.y.low = floor(s.y.low / s.y.step) * s.y.step;
    s.y.high = ceil(s.y.high / s.y.step) * s.y.step;
    return s;
}

static double x_at(const scales *s, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * ((x - s->x.low) / (s->x.high - s->x.low));
}

static double y_at(const scales *s, double y)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ((y - s->y.low) / (s->y.high - s->y.low));
}

/* ---- axes ---- */

/* In the unit that the largest number of the axis has; what is 0 but for rounding is 0. */
static void add_number(tern__strbuf *to, const scale *s, double value)
{
    const tern__units names = *units[s->unit].names;
    const double most = fmax(fabs(s->low), fabs(s->high));
    size_t at = 0;
    while (at + 1 < names.n && most >= names.list[at + 1].size)
        at++;
    tern__strbuf_addf(to, s->unit == TERN_CHART_COUNTS ? "%.0f%s%s" : "%.5g%s%s",
                      fabs(value) < s->step * 1e-6 ? 0 : value / names.list[at].size,
                      names.list[at].name[0] ? " " : "", names.list[at].name);
}

static void add_axes(tern__strbuf *to, const tern_chart *c, const scales *s)
{
    const double end = 1e-6; /* of a step: what rounding does */
    for (double i = ceil(s->x.low / s->x.step - end); i * s->x.step <= s->x.high + end * s->x.step; i++) {
        const double x = x_at(s, i * s->x.step);
        tern__strbuf_addf(
            to,
            "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text class=\"dim\" "
            "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
            x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18);
        add_number(to, &s->x, i * s->x.step);
        tern__strbuf_add(to, "</text>\n");
    }
    for (double i = floor(s->y.low / s->y.step + 0.5); i * s->y.step <= s->y.high + end * s->y.step; i++) {
        const double y = y_at(s, i * s->y.step);
        tern__strbuf_addf(
            to,
            "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text class=\"dim\" "
            "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
            LEFT, y, WIDTH - RIGHT, y, LEFT - 8, y + 4);
        add_number(to, &s->y, i * s->y.step);
        tern__strbuf_add(to, "</text>\n");
    }
    if (c->x.name) {
        tern__strbuf_addf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
                          HEIGHT - 14);
        tern__html_add(to, c->x.name);
        tern__strbuf_add(to, "</text>\n");
    }
    if (c->y.name) {
        tern__strbuf_addf(to, "<text transform=\"rotate(-90)\" x=\"%d\" y=\"18\" text-anchor=\"middle\">",
                          -(TOP + HEIGHT - BOTTOM) / 2);
        tern__html_add(to, c->y.name);
        tern__strbuf_add(to, "</text>\n");
    }
}

/* ---- series ---- */

static bool is_there(const tern_chart_series *of, int i)
{
    return is_number(of->x[i]) && is_number(of->y[i]) &&
           (of->look != TERN_CHART_RANGE || is_number(of->low[i]));
}

/* Along y from the left; `steps`: each value holds until the next. */
static void add_curve(tern__strbuf *to, const scales *s, const tern_chart_series *of, bool steps)
{
    bool begun = false;
    for (int i = 0; i < of->n; i++) {
        if (!is_there(of, i))
            continue;
        tern__strbuf_addf(to,
                          !begun  ? "M%.2f %.2f"
                          : steps ? "H%.2fV%.2f"
                                  : "L%.2f %.2f",
                          x_at(s, of->x[i]), y_at(s, of->y[i]));
        begun = true;
    }
}

/* From the end of the curve back to its beginning, and closed. */
static void close_area(tern__strbuf *to, const scales *s, const tern_chart_series *of)
{
    int first = 0;
    while (first < of->n && !is_there(of, first))
        first++;
    if (first == of->n)
        return;
    if (of->look == TERN_CHART_AREA)
        tern__strbuf_addf(to, "V%dH%.2fZ", HEIGHT - BOTTOM, x_at(s, of->x[first]));
    for (int i = of->n; of->look == TERN_CHART_RANGE && i-- > first;)
        if (is_there(of, i))
            tern__strbuf_addf(to, "L%.2f %.2f%s", x_at(s, of->x[i]), y_at(s, of->low[i]),
                              i == first ? "Z" : "");
}

static void add_dots(tern__strbuf *to, const scales *s, const tern_chart_series *of)
{
    for (int i = 0; i < of->n; i++)
        if (is_there(of, i))
            tern__strbuf_addf(
                to,
                "<circle class=\"f%d\" cx=\"%.2f\" cy=\"%.2f\" r=\"3\"><title>%.6g: %.6g</title>"
                "</circle>\n",
                of->colour, x_at(s, of->x[i]), y_at(s, of->y[i]), of->x[i], of->y[i]);
}

static void add_series(tern__strbuf *to, const scales *s, const tern_chart_series *of)
{
    const bool filled = of->look == TERN_CHART_AREA || of->look == TERN_CHART_RANGE;
    tern__strbuf_addf(to, filled ? "<path class=\"fill f%d\" d=\"" : "<path class=\"line s%d\" d=\"",
                      of->colour);
    add_curve(to, s, of, of->look == TERN_CHART_STEPS || of->look == TERN_CHART_AREA);
    if (filled)
        close_area(to, s, of);
    tern__strbuf_add(to, "\"/>\n");
    if (of->look == TERN_CHART_DOTS)
        add_dots(to, s, of);
}

/* ---- the whole ---- */

static void add_head(tern__strbuf *to, const tern_chart *c)
{
    tern__strbuf_addf(
        to, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>", WIDTH,
        HEIGHT);
    tern__html_add(to, c->title ? c->title : "");
    tern__strbuf_addf(to, "</title>\n<style>%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
                      style, WIDTH, HEIGHT);
    tern__strbuf_add(to, "<text class=\"title\" x=\"16\" y=\"26\">");
    tern__html_add(to, c->title ? c->title : "");
    tern__strbuf_add(to, "</text>\n<text class=\"dim\" x=\"16\" y=\"46\">");
    tern__html_add(to, c->note ? c->note : "");
    tern__strbuf_add(to, "</text>\n<text x=\"16\" y=\"66\">");
    for (int i = 0; i < c->n; i++)
        if (c->series[i].name) {
            tern__strbuf_addf(to, "<tspan class=\"f%d\">&#9632;</tspan> ", c->series[i].colour);
            tern__html_add(to, c->series[i].name);
            tern__strbuf_add(to, "&#160;&#160; ");
        }
    tern__strbuf_add(to, "</text>\n");
}

static void add_mark(tern__strbuf *to, const scales *s, const tern_chart_mark *mark)
{
    const double x = x_at(s, mark->x), y = y_at(s, mark->y);
    const bool left = x > WIDTH / 2.0;
    tern__strbuf_addf(
        to,
        "<circle class=\"peak\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"/><text class=\"peak\" x=\"%.2f\" "
        "y=\"%.2f\" text-anchor=\"%s\">",
        x, y, x + (left ? -8 : 8), y - 8, left ? "end" : "start");
    tern__html_add(to, mark->words);
    tern__strbuf_add(to, "</text>\n");
}

void tern__chart_add(tern__strbuf *to, const tern_chart *chart)
{
    const scales s = scales_of(chart);
    add_head(to, chart);
    add_axes(to, chart, &s);
    for (int i = 0; i < chart->n; i++)
        add_series(to, &s, &chart->series[i]);
    if (chart->mark && is_number(chart->mark->x) && is_number(chart->mark->y))
        add_mark(to, &s, chart->mark);
    tern__strbuf_add(to, "</svg>\n");
}

static tern_status check_series(const tern_chart_series *of, int i)
{
    TERN__FAIL_IF(of->n < 0 || (of->n > 0 && (!of->x || !of->y)), TERN_INVALID_ARGUMENT,
                  "chart: series %d has no points", i);
    TERN__FAIL_IF(of->look == TERN_CHART_RANGE && of->n > 0 && !of->low, TERN_INVALID_ARGUMENT,
                  "chart: series %d is a range without `low`", i);
    TERN__FAIL_IF((int)of->look < 0 || of->look > TERN_CHART_RANGE, TERN_INVALID_ARGUMENT,
                  "chart: series %d has look %d, which there is not", i, (int)of->look);
    TERN__FAIL_IF(of->colour < 0 || of->colour >= TERN_CHART_COLOURS, TERN_INVALID_ARGUMENT,
                  "chart: series %d has colour %d; there are 0 to %d", i, of->colour, TERN_CHART_COLOURS - 1);
    return TERN_OK;
}

tern_status tern_chart_write(const tern_chart *chart, char **svg)
{
    TERN__FAIL_IF(!chart || !svg, TERN_INVALID_ARGUMENT, "chart_write: an argument is NULL");
    TERN__FAIL_IF(chart->n < 0 || (chart->n > 0 && !chart->series), TERN_INVALID_ARGUMENT,
                  "chart: %d series are not there", chart->n);
    TERN__FAIL_IF((unsigned)chart->x.unit >= TERN__COUNT(units) ||
                      (unsigned)chart->y.unit >= TERN__COUNT(units),
                  TERN_INVALID_ARGUMENT, "chart: there is no such unit of an axis");
    TERN__FAIL_IF(chart->mark && !chart->mark->words, TERN_INVALID_ARGUMENT, "chart: a mark without words");
    for (int i = 0; i < chart->n; i++)
        TERN_TRY(check_series(&chart->series[i], i));
    tern__strbuf to = TERN__STRBUF_EMPTY;
    tern__chart_add(&to, chart);
    return tern__strbuf_take(&to, svg);
}

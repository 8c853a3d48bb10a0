/* chart.h - curves as one picture: SVG that needs nothing else, for light and dark pages.
 *
 *     const tern_chart_series losses = {.name = "loss", .n = n, .x = steps, .y = values};
 *     const tern_chart chart = {.title = "Training", .x.name = "steps", .n = 1, .series = &losses};
 *     char *svg;
 *     TERN_TRY(tern_chart_write(&chart, &svg));
 *     ...
 *     tern_string_free(svg);
 *
 * Ownership: what a chart points to stays the caller's. Threading: any thread. */
#ifndef TERN_CHART_H
#define TERN_CHART_H

#include <tern/export.h>
#include <tern/status.h>

/* How the points of a series are drawn. X(enumerator, number, name, meaning). */
#define TERN_CHART_LOOK_LIST(X)                               \
    X(LINE, 0, "line", "a line from each to the next")        \
    X(DOTS, 1, "dots", "the same, with a dot at each")        \
    X(STEPS, 2, "steps", "each holds until the next")         \
    X(AREA, 3, "area", "the same, filled down to the bottom") \
    X(RANGE, 4, "range", "filled from `low` to `y`")

typedef enum tern_chart_look {
#define TERN_CHART_LOOK_ENUM(id, number, name, meaning) TERN_CHART_##id = number,
    TERN_CHART_LOOK_LIST(TERN_CHART_LOOK_ENUM)
#undef TERN_CHART_LOOK_ENUM
} tern_chart_look;

/* What the numbers of an axis are. X(enumerator, number, name, meaning). */
#define TERN_CHART_UNIT_LIST(X)               \
    X(NUMBERS, 0, "numbers", "as they are")   \
    X(COUNTS, 1, "counts", "whole numbers")   \
    X(BYTES, 2, "bytes", "shown in B to TiB") \
    X(TIMES, 3, "times", "ns, shown in ns to s")

typedef enum tern_chart_unit {
#define TERN_CHART_UNIT_ENUM(id, number, name, meaning) TERN_CHART_##id = number,
    TERN_CHART_UNIT_LIST(TERN_CHART_UNIT_ENUM)
#undef TERN_CHART_UNIT_ENUM
} tern_chart_unit;

enum { TERN_CHART_COLOURS = 3 };

/* Zeroed fields are the defaults. */
typedef struct tern_chart_series {
    const char *name; /* in the legend; NULL: it has no place there, as a range around a line */
    tern_chart_look look;
    int colour;          /* below TERN_CHART_COLOURS */
    int n;               /* points; those that are not finite are left out */
    const double *x, *y; /* (n), from left to right */
    const double *low;   /* (n) of a range; else NULL */
} tern_chart_series;

typedef struct tern_chart_axis {
    const char *name; /* NULL: none */
    tern_chart_unit unit;
    double low, high; /* that are shown, and more where points lie outside; both 0: where points lie */
} tern_chart_axis;

/* A point with words beside it. */
typedef struct tern_chart_mark {
    double x, y;
    const char *words;
} tern_chart_mark;

typedef struct tern_chart {
    const char *title, *note; /* above, one line each; NULL: none */
    tern_chart_axis x, y;
    int n; /* series; later ones lie over earlier ones */
    const tern_chart_series *series;
    const tern_chart_mark *mark; /* or NULL */
} tern_chart;

#ifdef __cplusplus
extern "C" {
#endif

/* Free with tern_string_free. TERN_INVALID_ARGUMENT: points are missing, or there is no such look, unit or colour. */
TERN_API tern_status tern_chart_write(const tern_chart *chart, char **svg);

#ifdef __cplusplus
}
#endif
#endif

/* html.h - what sections are made of on the page: escaped text, figures that say where their data is, and charts in SVG.
 *
 * Charts are static and fluid: their height is fixed, horizontal places are percentages, texts keep their size, so that one picture
 * serves phones and desktops. */
#ifndef TERN_MEASURE_REPORT_HTML_H
#define TERN_MEASURE_REPORT_HTML_H

#include <stdbool.h>

#include "measure/html_text.h"

/* A figure with a caption (plain text; NULL: none); `path` says where in the page's data the figure's is: "sections.roofline". */
void tern__figure_open(tern__strbuf *to, const char *id, const char *title, const char *caption);
void tern__figure_close(tern__strbuf *to, const char *path);

/* ---- charts ---- */

typedef struct tern__scale {
    double low, high; /* above 0 if `log` */
    bool log;
} tern__scale;

/* 0 to 100; what lies outside is at the edge. */
double tern__scale_at(const tern__scale *scale, double value);

/* Opens a picture with its name and description (for those who do not see it); close it with tern__svg_close. */
void tern__svg_open(tern__strbuf *to, const char *class, int height, const char *title,
                    const char *description);
void tern__svg_close(tern__strbuf *to);

/* A row of a table of bars or dots: all at percentages of the scale; NaN: not drawn. `reference` draws a line. */
typedef struct tern__mark {
    bool bar; /* from the left edge; else a dot */
    int beyond; /* -1, 1: what a dot stands for lies beyond the left or right end of the scale, which an arrow there says */
    double at, low, high;
    double reference;
    double band_low, band_high; /* shaded: where changes are none */
    const char *grid;           /* percentages, "0 25 50 75 100" */
} tern__mark;

void tern__mark_add(tern__strbuf *to, const tern__mark *mark, const char *description);

/* The heading over such rows: labels at percentages. */
typedef struct tern__tick {
    double at;
    const char *label;
} tern__tick;

void tern__ticks_add(tern__strbuf *to, const tern__tick *ticks, int n);

#endif

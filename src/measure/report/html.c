/* html.c - see html.h. */
#include "measure/report/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/point.h"

/* ---- figures ---- */

void tern__figure_open(tern__strbuf *to, const char *id, const char *title, const char *caption)
{
    tern__strbuf_addf(to, "<figure id=\"fig-%s\">\n<figcaption><strong>", id);
    tern__html_add(to, title);
    tern__strbuf_add(to, "</strong>");
    if (caption) {
        tern__strbuf_add(to, " <span>");
        tern__html_add(to, caption);
        tern__strbuf_add(to, "</span>");
    }
    tern__strbuf_add(to, "</figcaption>\n");
}

void tern__figure_close(tern__strbuf *to, const char *path)
{
    tern__strbuf_addf(to,
                      "<details class=\"json\" data-path=\"%s\"><summary>JSON</summary><p><code>%s</code> in "
                      "<a href=\"#data\">this page's data</a></p><pre tabindex=\"0\" aria-label=\"JSON of "
                      "this figure\" hidden></pre></details>\n</figure>\n",
                      path, path);
}

/* ---- scales ---- */

double tern__scale_at(const tern__scale *scale, double value)
{
    double at = scale->log ? log(value / scale->low) / log(scale->high / scale->low)
                           : (value - scale->low) / (scale->high - scale->low);
    return isnan(at) ? NAN : fmin(1, fmax(0, at)) * 100;
}

/* ---- pictures ---- */

void tern__svg_open(tern__strbuf *to, const char *class, int height, const char *title,
                    const char *description)
{
    tern__strbuf_addf(to, "<svg class=\"%s\" height=\"%d\" role=\"img\"><title>", class, height);
    tern__html_add(to, title);
    tern__strbuf_add(to, "</title>");
    if (description) {
        tern__strbuf_add(to, "<desc>");
        tern__html_add(to, description);
        tern__strbuf_add(to, "</desc>");
    }
    tern__strbuf_add(to, "\n");
}

void tern__svg_close(tern__strbuf *to)
{
    tern__strbuf_add(to, "</svg>\n");
}

enum { MARK_HEIGHT = 22, MARK_MIDDLE = MARK_HEIGHT / 2 };

static void add_grid(tern__strbuf *to, const char *places)
{
    for (char *end; places && *places; places = end) {
        const double at = tern__point_strtod(places, &end);
        if (end == places)
            return;
        tern__strbuf_addf(to, "<line class=\"grid\" x1=\"%.4g%%\" x2=\"%.4g%%\" y1=\"0\" y2=\"%d\"/>", at, at,
                          MARK_HEIGHT);
    }
}

static void add_whisker(tern__strbuf *to, double low, double high)
{
    tern__strbuf_addf(to, "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>", low,
                      high, MARK_MIDDLE, MARK_MIDDLE);
    for (int k = 0; k < 2; k++)
        tern__strbuf_addf(to, "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>",
                          k ? high : low, k ? high : low, MARK_MIDDLE - 4, MARK_MIDDLE + 4);
}

void tern__mark_add(tern__strbuf *to, const tern__mark *mark, const char *description)
{
    tern__strbuf_addf(to, "<svg class=\"mark\" height=\"%d\" role=\"img\" aria-label=\"", MARK_HEIGHT);
    tern__html_add(to, description);
    tern__strbuf_add(to, "\"><title>");
    tern__html_add(to, description);
    tern__strbuf_add(to, "</title>");
    if (mark->band_high > mark->band_low)
        tern__strbuf_addf(to, "<rect class=\"band\" x=\"%.2f%%\" y=\"0\" width=\"%.2f%%\" height=\"%d\"/>",
                          mark->band_low, mark->band_high - mark->band_low, MARK_HEIGHT);
    add_grid(to, mark->grid);
    if (!isnan(mark->reference))
        tern__strbuf_addf(to, "<line class=\"reference\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>",
                          mark->reference, mark->reference, MARK_HEIGHT);
    if (mark->bar && !isnan(mark->at))
        tern__strbuf_addf(to,
                          "<rect class=\"bar\" x=\"0\" y=\"%d\" width=\"%.2f%%\" height=\"%d\" rx=\"2\"/>",
                          MARK_MIDDLE - 6, mark->at, 12);
    if (!isnan(mark->low) && !isnan(mark->high))
        add_whisker(to, mark->low, mark->high);
    if (!mark->bar && mark->beyond) /* paths know no percentages: one of their own begins at the edge */
        tern__strbuf_addf(
            to, "<svg x=\"%d%%\" overflow=\"visible\"><path class=\"dot\" d=\"M0 %dl%d -6v12z\"/></svg>",
            mark->beyond > 0 ? 100 : 0, MARK_MIDDLE, mark->beyond > 0 ? -10 : 10);
    else if (!mark->bar && !isnan(mark->at))
        tern__strbuf_addf(to, "<circle class=\"dot\" cx=\"%.2f%%\" cy=\"%d\" r=\"5\"/>", mark->at,
                          MARK_MIDDLE);
    tern__strbuf_add(to, "</svg>");
}

void tern__ticks_add(tern__strbuf *to, const tern__tick *ticks, int n)
{
    tern__strbuf_addf(to, "<svg class=\"ticks\" height=\"%d\" aria-hidden=\"true\">", MARK_HEIGHT);
    for (int i = 0; i < n; i++) {
        const double at = ticks[i].at;
        const bool edge = at < 1 || at > 99, middle = at > 49 && at < 51;
        tern__strbuf_addf(to, "<text%s x=\"%.4g%%\" y=\"%d\" text-anchor=\"%s\">",
                          edge || middle ? "" : " class=\"minor\"", at, MARK_MIDDLE + 5,
                          at < 1    ? "start"
                          : at > 99 ? "end"
                                    : "middle");
        tern__html_add(to, ticks[i].label);
        tern__strbuf_add(to, "</text>");
    }
    tern__strbuf_add(to, "</svg>");
}

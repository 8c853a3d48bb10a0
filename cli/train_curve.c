/* train_curve.c - DIR/loss.svg: how the loss fell, in one picture that needs nothing else and reads on dark pages too. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "term.h"
#include "train.h"

enum { WIDTH = 860, HEIGHT = 460, LEFT = 70, RIGHT = 24, TOP = 58, BOTTOM = 56, MOST_MARKS = 8, BINS = 240 };

/* Colours are classes, and no variables: older viewers know these alone, and draw the light page. */
static const char style_sheet[] =
    "<style>\n"
    "  text { fill: #1f2430; font: 13px system-ui, sans-serif } .title { font-size: 16px; font-weight: 600 "
    "}\n"
    "  .paper { fill: #ffffff } .quiet { fill: #5b6472 } .grid { stroke: #d5d9e0 }\n"
    "  .range { fill: #2266bb; opacity: 0.22 } .training { fill: none; stroke: #2266bb; stroke-width: 2 }\n"
    "  .validation { fill: none; stroke: #c2410c; stroke-width: 2 } .dot { fill: #c2410c }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    text { fill: #e6e9ef } .paper { fill: #14171d } .quiet { fill: #9aa4b2 } .grid { stroke: #333a46 }\n"
    "    .range { fill: #6cb2ff } .training { stroke: #6cb2ff } .validation { stroke: #ff9d5c } .dot { fill: "
    "#ff9d5c }\n"
    "  }\n"
    "</style>\n";

/* What is shown of the axes. */
typedef struct frame {
    double steps;       /* from 0 */
    double least, most; /* loss */
} frame;

static double x_of(const frame *f, double step)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * step / f->steps;
}

static double y_of(const frame *f, double loss)
{
    const double share = (loss - f->least) / (f->most - f->least);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (share < 0 ? 0 : share > 1 ? 1 : share);
}

/* 1, 2 or 5 times a power of ten: at most MOST_MARKS of it fit into `range`. */
static double mark_of(double range)
{
    const double raw = range / MOST_MARKS, ten = pow(10, floor(log10(raw)));
    return raw <= ten ? ten : raw <= 2 * ten ? 2 * ten : raw <= 5 * ten ? 5 * ten : 10 * ten;
}

static frame frame_of(const train_run *r)
{
    frame f = {
        .steps = r->progress.step > 0 ? (double)r->progress.step : 1, .least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < r->log.n; i++) {
        const train_point *p = &r->log.points[i];
        const double value = isnan(p->loss) ? p->validation : p->loss;
        f.least = fmin(f.least, value);
        f.most = fmax(f.most, value);
    }
    if (!(f.most > f.least)) {
        f.least = isfinite(f.least) ? f.least - 0.5 : 0;
        f.most = f.least + 1;
    }
    const double mark = mark_of(f.most - f.least);
    f.least = floor(f.least / mark) * mark;
    f.most = ceil(f.most / mark) * mark;
    return f;
}

static void add_axes(text *t, const frame *f)
{
    const double across = mark_of(f->steps) < 1 ? 1 : mark_of(f->steps), up = mark_of(f->most - f->least);
    for (int i = 0; i * across <= f->steps; i++)
        text_addf(t,
                  "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><text class=\"quiet\" "
                  "x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                  x_of(f, i * across), TOP, x_of(f, i * across), HEIGHT - BOTTOM, x_of(f, i * across),
                  HEIGHT - BOTTOM + 18, i * across);
    for (int i = 0; f->least + i * up <= f->most + up / 1e6; i++) {
        const double loss = f->least + i * up;
        text_addf(t,
                  "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text class=\"quiet\" "
                  "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
                  LEFT, y_of(f, loss), WIDTH - RIGHT, y_of(f, loss), LEFT - 8, y_of(f, loss) + 4, loss);
    }
    text_addf(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">steps</text>\n", (LEFT + WIDTH - RIGHT) / 2,
              HEIGHT - 14);
    text_addf(t,
              "<text transform=\"rotate(-90)\" x=\"%d\" y=\"18\" text-anchor=\"middle\">loss (nats per "
              "token)</text>\n",
              -(TOP + HEIGHT - BOTTOM) / 2);
}

/* Steps that fall on one column of the picture: their sum, and how far they spread. Steps ascend, so that there are BINS at most. */
typedef struct bin {
    double step, sum, least, most;
    int n;
} bin;

static int fill_bins(const train_run *r, const frame *f, bin bins[BINS])
{
    int used = 0, last = -1;
    for (size_t i = 0; i < r->log.n; i++) {
        const train_point *p = &r->log.points[i];
        if (isnan(p->loss))
            continue;
        const int at = (int)((double)p->step / f->steps * (BINS - 1));
        if (at != last)
            bins[used++] = (bin){.least = INFINITY, .most = -INFINITY};
        last = at;
        bin *b = &bins[used - 1];
        b->step += (double)p->step;
        b->sum += p->loss;
        b->least = fmin(b->least, p->loss);
        b->most = fmax(b->most, p->loss);
        b->n++;
    }
    return used;
}

static void add_training(text *t, const train_run *r, const frame *f)
{
    static bin bins[BINS];
    const int n = fill_bins(r, f, bins);
    if (n == 0)
        return;
    text_add(t, "<polygon class=\"range\" points=\"");
    for (int i = 0; i < n; i++)
        text_addf(t, "%.1f,%.1f ", x_of(f, bins[i].step / bins[i].n), y_of(f, bins[i].most));
    for (int i = n - 1; i >= 0; i--)
        text_addf(t, "%.1f,%.1f ", x_of(f, bins[i].step / bins[i].n), y_of(f, bins[i].least));
    text_add(t, "\"/>\n<polyline class=\"training\" points=\"");
    for (int i = 0; i < n; i++)
        text_addf(t, "%.1f,%.1f ", x_of(f, bins[i].step / bins[i].n), y_of(f, bins[i].sum / bins[i].n));
    text_add(t, "\"/>\n");
}

static void add_validation(text *t, const train_run *r, const frame *f)
{
    text dots = {0};
    text_add(t, "<polyline class=\"validation\" points=\"");
    for (size_t i = 0; i < r->log.n; i++) {
        const train_point *p = &r->log.points[i];
        if (isnan(p->validation))
            continue;
        const double x = x_of(f, (double)p->step), y = y_of(f, p->validation);
        text_addf(t, "%.1f,%.1f ", x, y);
        text_addf(&dots,
                  "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>step %" PRId64
                  ": %.4f</title></circle>\n",
                  x, y, p->step, p->validation);
    }
    text_add(t, "\"/>\n");
    text_add(t, text_string(&dots));
    text_free(&dots);
}

static void add_title(text *t, const train_run *r)
{
    char parameters[NUMBER_TEXT], number[NUMBER_TEXT];
    text_addf(t, "<text class=\"title\" x=\"%d\" y=\"24\">Loss of a model of %s parameters</text>\n", LEFT,
              format_count(parameters, (uint64_t)r->info.parameters));
    text_addf(t, "<text class=\"quiet\" x=\"%d\" y=\"44\">step %" PRId64 " of %" PRId64 ", %s tokens each",
              LEFT, r->progress.step, r->config.schedule.steps,
              format_count(number, (uint64_t)r->info.tokens));
    if (r->progress.best_step >= 0)
        text_addf(t, "; best validation %.4f at step %" PRId64, r->progress.best_loss, r->progress.best_step);
    text_add(t, "</text>\n");
    const int x = WIDTH - RIGHT - 190;
    text_addf(t,
              "<line class=\"training\" x1=\"%d\" y1=\"20\" x2=\"%d\" y2=\"20\"/><text x=\"%d\" "
              "y=\"24\">training</text>\n",
              x, x + 22, x + 28);
    if (r->progress.best_step >= 0)
        text_addf(t,
                  "<line class=\"validation\" x1=\"%d\" y1=\"20\" x2=\"%d\" y2=\"20\"/><text x=\"%d\" "
                  "y=\"24\">validation</text>\n",
                  x + 98, x + 120, x + 126);
}

/* Whoever looks at the file finds a whole picture. */
static int write_whole(const train_run *r, const text *content)
{
    text path = train_path(r, "loss.svg"), beside = train_path(r, ".loss.svg");
    FILE *file = fopen(text_string(&beside), "wb");
    bool ok = file && fwrite(text_string(content), 1, content->length, file) == content->length;
    ok = file && fclose(file) == 0 && ok;
    ok = ok && rename(text_string(&beside), text_string(&path)) == 0;
    const int code = ok ? EXIT_DONE : fail("cannot write '%s': %s", text_string(&path), strerror(errno));
    if (!ok)
        unlink(text_string(&beside));
    text_free(&path);
    text_free(&beside);
    return code;
}

int train_curve_write(const train_run *r)
{
    const frame f = frame_of(r);
    text t = {0};
    text_addf(
        &t,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"loss of "
        "training and validation by step\">\n%s"
        "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
        WIDTH, HEIGHT, style_sheet, WIDTH, HEIGHT);
    add_title(&t, r);
    add_axes(&t, &f);
    add_training(&t, r, &f);
    add_validation(&t, r, &f);
    text_add(&t, "</svg>\n");
    const int code = write_whole(r, &t);
    text_free(&t);
    return code;
}

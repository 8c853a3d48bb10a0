/* train_curve.c - DIR/loss.svg: how the loss fell. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <tern/chart.h>

#include "output.h"
#include "term.h"
#include "train.h"

enum { BINS = 240 };

/* Steps that fall together in the picture, as one point each: the mean of their losses, and how far they spread. */
typedef struct training {
    int n;
    double step[BINS], mean[BINS], least[BINS], most[BINS];
} training;

/* Steps ascend, so that there are BINS at most. */
static void fill_training(const train_run *r, double steps, training *t)
{
    int last = -1, in_bin = 0;
    for (size_t i = 0; i < r->log.n; i++) {
        const train_point *p = &r->log.points[i];
        if (isnan(p->loss))
            continue;
        const int bin = (int)((double)p->step / steps * (BINS - 1));
        if (bin != last) {
            t->step[t->n] = t->mean[t->n] = 0;
            t->least[t->n] = INFINITY;
            t->most[t->n++] = -INFINITY;
            in_bin = 0;
        }
        last = bin;
        in_bin++;
        const int at = t->n - 1;
        t->step[at] += ((double)p->step - t->step[at]) / in_bin;
        t->mean[at] += (p->loss - t->mean[at]) / in_bin;
        t->least[at] = fmin(t->least[at], p->loss);
        t->most[at] = fmax(t->most[at], p->loss);
    }
}

/* Points of validation, both (log.n); returns how many there are. */
static int fill_validation(const train_run *r, double *step, double *loss)
{
    int n = 0;
    for (size_t i = 0; i < r->log.n; i++)
        if (!isnan(r->log.points[i].validation)) {
            step[n] = (double)r->log.points[i].step;
            loss[n++] = r->log.points[i].validation;
        }
    return n;
}

static void add_words(const train_run *r, text *title, text *note)
{
    char number[NUMBER_TEXT];
    text_addf(title, "Loss of a model of %s parameters", format_count(number, (uint64_t)r->info.parameters));
    text_addf(note, "step %" PRId64 " of %" PRId64 ", %s tokens each", r->progress.step,
              r->config.schedule.steps, format_count(number, (uint64_t)r->info.tokens));
    if (r->progress.best_step >= 0)
        text_addf(note, "; best validation %.4f at step %" PRId64, r->progress.best_loss,
                  r->progress.best_step);
}

/* Whoever looks at the file finds a whole picture. */
static int write_chart(const train_run *r, const tern_chart *chart)
{
    char *svg;
    out_file file;
    text path = train_path(r, "loss.svg");
    int code = tern_chart_write(chart, &svg) == TERN_OK ? EXIT_DONE : fail_status(NULL);
    if (code == EXIT_DONE) {
        code = out_open(text_string(&path), &file);
        if (code == EXIT_DONE)
            code = out_finish(&file, svg);
        tern_string_free(svg);
    }
    text_free(&path);
    return code;
}

int train_curve_write(const train_run *r)
{
    const double steps = r->progress.step > 0 ? (double)r->progress.step : 1;
    training t = {0};
    double *step = grab(r->log.n + 1, sizeof *step), *loss = grab(r->log.n + 1, sizeof *loss);
    text title = {0}, note = {0};
    fill_training(r, steps, &t);
    const int validations = fill_validation(r, step, loss);
    add_words(r, &title, &note);
    const tern_chart_series series[] = {
        {.look = TERN_CHART_RANGE, .n = t.n, .x = t.step, .y = t.most, .low = t.least},
        {.name = "training", .n = t.n, .x = t.step, .y = t.mean},
        {.name = "validation", .look = TERN_CHART_DOTS, .colour = 1, .n = validations, .x = step, .y = loss},
    };
    const int code = write_chart(r, &(tern_chart){.title = text_string(&title),
                                                  .note = text_string(&note),
                                                  .x = {"steps", TERN_CHART_COUNTS, 0, steps},
                                                  .y = {.name = "loss (nats per token)"},
                                                  .n = validations > 0 ? 3 : 2,
                                                  .series = series});
    free(step);
    free(loss);
    text_free(&title);
    text_free(&note);
    return code;
}

/* train_log.c - DIR/log.jsonl: a line for each step and each validation, appended as they happen.
 *
 * Lines are written by this file alone, in one form, and read back by it when a run is resumed: from the first line of a step behind the
 * checkpoint on it is cut off, for these steps are made again, and so is a last line that was only begun. The rest stays as it is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"
#include "term.h"
#include "train.h"

#define FINAL "final_validation"

static void add_point(train_log *log, train_point point)
{
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 1024;
        log->points = grab_more(log->points, log->capacity, sizeof *log->points);
    }
    log->points[log->n++] = point;
}

/* A line as it is written below, or with the end of line that other systems have; false: it is something else, cut short, or two in one.
 * That of a final validation is no point of the curve: it judges all, and other weights. */
static bool parse_line(const char *line, size_t length, train_point *out)
{
    int64_t step;
    char copy[256],
        what[24]; /* a copy, for sscanf looks for the end of what it is given: that would be the whole log, each time */
    double value;
    length -= length > 0 && line[length - 1] == '\r';
    if (length == 0 || length >= sizeof copy || line[length - 1] != '}' || memchr(line + 1, '{', length - 1))
        return false;
    for (size_t i = 0; i < length; i++)
        if (line[i] < ' ' || line[i] > '~') /* such as the zeros that a power cut leaves */
            return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (sscanf(copy, "{\"step\": %" SCNd64 ", \"%23[a-z_]\": %lf", &step, what, &value) != 3)
        return false;
    const bool validation = strcmp(what, "validation") == 0;
    const bool loss = strcmp(what, "loss") == 0;
    *out = (train_point){step, loss ? value : NAN, validation ? value : NAN};
    return validation || loss || strcmp(what, FINAL) == 0;
}

/* What was found in a log. */
typedef struct reading {
    size_t bytes;     /* that stay */
    size_t bad;       /* lines among these that are damaged */
    size_t first_bad; /* of them, counted from 1 */
    int64_t last;     /* step that is there; 0: none */
    bool unended;     /* the last line that stays is whole, but lacks its end of line */
} reading;

static void count_bad(reading *found, size_t lines, size_t first)
{
    if (found->bad == 0)
        found->first_bad = first;
    found->bad += lines;
}

static void take_point(train_log *log, reading *found, train_point point)
{
    if (isnan(point.loss) && isnan(point.validation)) {
        log->final_step = point.step;
        return;
    }
    add_point(log, point);
    found->last = isnan(point.loss) ? found->last : point.step;
}

/* Takes the lines up to step `upto`. Those from the first of a later step on go, if none up to `upto` follows: then it was damaged. What
 * is no line of a log was damaged, too: it stays in the file, for its neighbours come to no harm, but is no point. */
static reading read_lines(train_log *log, const text *content, int64_t upto)
{
    const char *start = text_string(content), *stop = start + content->length, *next;
    const char *later = NULL; /* where lines of later steps begin */
    size_t first_later = 0;
    reading found = {0};
    train_point point;
    size_t number = 1;
    for (const char *line = start; line < stop; line = next, number++) {
        const char *end = memchr(line, '\n', (size_t)(stop - line));
        const bool good = parse_line(line, (size_t)((end ? end : stop) - line), &point);
        next = end ? end + 1 : stop;
        if (good && point.step <= upto) {
            if (later)
                count_bad(&found, number - first_later, first_later);
            later = NULL;
            found.unended = !end;
            take_point(log, &found, point);
        } else if (!later && (good || !end)) {
            later = line;
            first_later = number;
        } else if (!later) {
            count_bad(&found, 1, number);
        }
    }
    found.bytes = (size_t)((later ? later : stop) - start);
    return found;
}

/* A run goes on without what its log has lost, but says so. */
static void tell_losses(const char *name, const reading *found, bool there, int64_t upto)
{
    if (!there && upto > 0)
        warn("%s is not there: the new one, and the loss curve, begin behind step %" PRId64, name, upto);
    else if (found->last < upto)
        warn("%s has nothing behind step %" PRId64 ", but the checkpoint is of step %" PRId64
             ": the loss curve has a gap",
             name, found->last, upto);
    if (found->bad == 1)
        warn("%s: line %zu is damaged: it stays as it is, and the loss curve goes without it", name,
             found->first_bad);
    else if (found->bad > 1)
        warn("%s: %zu lines are damaged, the first is line %zu: they stay as they are, and the loss curve "
             "goes "
             "without them",
             name, found->bad, found->first_bad);
}

int train_log_open(train_run *r, int64_t upto)
{
    text path = train_path(r, "log.jsonl"), content = {0};
    const char *name = text_string(&path);
    const bool there = access(name, F_OK) == 0;
    int code = EXIT_DONE;
    r->log.file = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (r->log.file < 0)
        code = fail("cannot write '%s': %s", name, strerror(errno));
    else if (!read_text(name, &content))
        code = EXIT_FAILED;
    if (code == EXIT_DONE) {
        const reading found = read_lines(&r->log, &content, upto);
        tell_losses(name, &found, there, upto);
        if (ftruncate(r->log.file, (off_t)found.bytes) != 0 ||
            (found.unended && write(r->log.file, "\n", 1) != 1))
            code = fail("cannot write '%s': %s", name, strerror(errno));
    }
    if (code == EXIT_DONE)
        train_folder_sweep(r);
    text_free(&content);
    text_free(&path);
    return code;
}

/* One write, so that a line is there or not. */
static int write_line(const train_run *r, const text *line)
{
    const ssize_t done = write(r->log.file, text_string(line), line->length);
    if (done != (ssize_t)line->length)
        return fail("cannot write '%s/log.jsonl': %s", r->dir,
                    done < 0 ? strerror(errno) : "the disk is full");
    return EXIT_DONE;
}

int train_log_step(train_run *r, const tern_train_result *result, double rate, double tokens_per_s)
{
    char loss[NUMBER_TEXT], norm[NUMBER_TEXT], of_step[NUMBER_TEXT];
    text line = {0};
    text_addf(&line,
              "{\"step\": %" PRId64
              ", \"loss\": %s, \"norm\": %s, \"rate\": %s, \"tokens_per_s\": %.0f, \"seconds\": %.3f}\n",
              r->progress.step, format_double(loss, result->loss),
              isfinite(result->norm) ? format_double(norm, result->norm) : "null",
              format_double(of_step, rate), tokens_per_s, r->progress.seconds);
    const int code = write_line(r, &line);
    add_point(&r->log, (train_point){r->progress.step, result->loss, NAN});
    text_free(&line);
    return code;
}

int train_log_validation(train_run *r, double loss)
{
    char number[NUMBER_TEXT];
    text line = {0};
    text_addf(&line, "{\"step\": %" PRId64 ", \"validation\": %s, \"seconds\": %.3f}\n", r->progress.step,
              format_double(number, loss), r->progress.seconds);
    const int code = write_line(r, &line);
    add_point(&r->log, (train_point){r->progress.step, NAN, loss});
    text_free(&line);
    return code;
}

int train_log_final(train_run *r, double loss, int64_t weights_of)
{
    char number[NUMBER_TEXT];
    text line = {0};
    if (r->log.final_step == r->progress.step)
        return EXIT_DONE;
    text_addf(&line,
              "{\"step\": %" PRId64 ", \"" FINAL "\": %s, \"weights_of_step\": %" PRId64
              ", \"seconds\": %.3f}\n",
              r->progress.step, format_double(number, loss), weights_of, r->progress.seconds);
    const int code = write_line(r, &line);
    r->log.final_step = r->progress.step;
    text_free(&line);
    return code;
}

void train_log_close(train_log *log)
{
    if (log->file >= 0)
        close(log->file);
    free(log->points);
    *log = (train_log){.file = -1};
}

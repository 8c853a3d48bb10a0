/* train_loop.c - the steps of `tern train`, and what happens between them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"
#include "clock.h"
#include "progress.h"
#include "term.h"
#include "train.h"

enum { SMOOTH = 50 }; /* steps over which the loss that is shown is a mean */
#define LOG_NS UINT64_C(10000000000)

/* ---- words --------------------------------------------------------------------------------------------------------- */

static double seconds_of_run(const train_run *r)
{
    return (double)(clock_ns() - r->start_ns) / 1e9;
}

/* "loss 2.1345, norm 0.81, 12.3 k tokens/s, 14 min 3 s left"; with room for less, the norm and then the speed are left to the log. */
static void add_parts(text *t, const train_run *r, double norm, bool with_norm, bool with_speed)
{
    char number[NUMBER_TEXT];
    const int64_t done = r->progress.step - r->first_step;
    const double seconds = seconds_of_run(r), each = done > 0 ? seconds / (double)done : 0;
    text_addf(t, "loss %.4f, ", r->progress.loss);
    if (with_norm)
        text_addf(t, "norm %.3g, ", norm);
    if (with_speed)
        text_addf(t, "%s tokens/s, ",
                  format_count(number, (uint64_t)(each > 0 ? (double)r->info.tokens / each : 0)));
    text_add_duration(t, each * (double)(r->config.schedule.steps - r->progress.step));
    text_add(t, " left");
}

static void add_state(text *t, const train_run *r, double norm)
{
    for (int left_out = 0; left_out < 3; left_out++) {
        text parts = {0};
        add_parts(&parts, r, norm, left_out < 1, left_out < 2);
        const bool fits =
            term_is_wide() || text_width(text_string(t)) + text_width(text_string(&parts)) < term_columns();
        if (fits || left_out == 2)
            text_add(t, text_string(&parts));
        text_free(&parts);
        if (fits)
            return;
    }
}

/* Words that stay, for people who look later or at a file. */
static void say(train_run *r, const char *words)
{
    if (r->quiet || r->as_json)
        return;
    r->said_ns = clock_ns();
    progress_line("");
    puts(words);
    fflush(stdout);
}

/* ---- between steps ------------------------------------------------------------------------------------------------- */

static tern_status save(train_run *r, const char *name)
{
    char *note;
    TERN_TRY(tern_train_note_print(&r->config, &r->progress, &note));
    text path = train_path(r, name);
    const tern_status status = tern_trainer_save(r->trainer, text_string(&path), note);
    text_free(&path);
    tern_string_free(note);
    return status;
}

static int write_checkpoint(train_run *r)
{
    if (save(r, "checkpoint.safetensors") != TERN_OK)
        return fail_status(NULL);
    r->saved_step = r->progress.step;
    return train_curve_write(r);
}

/* Weights that give no number any more are never saved: they would replace the last ones that do. */
static int fail_diverged(const train_run *r, int64_t step, const char *what, double value)
{
    return fail("step %" PRId64 ": training has diverged: %s is %s; try a lower schedule.rate, a longer "
                "schedule.warmup or clipping (optimiser.clip); the checkpoint is of step %" PRId64,
                step, what, isnan(value) ? "NaN" : "infinite", r->saved_step);
}

/* What steps have made is looked at before it replaces the last checkpoint, by the sequences that were read last. */
static int save_checkpoint(train_run *r)
{
    double loss;
    if (tern_trainer_loss(r->trainer, r->config.options.batch, r->batch, &loss) != TERN_OK)
        return fail_status(NULL);
    return isfinite(loss) ? write_checkpoint(r)
                          : fail_diverged(r, r->progress.step, "the loss behind it", loss);
}

tern_status train_validate(train_run *r, bool whole, double *loss)
{
    const tern_train_options *o = &r->config.options;
    const int64_t most = whole ? INT64_MAX : r->config.validation_batches;
    double sum = 0;
    int64_t windows = 0, n;
    for (int64_t i = 0; i < most && !(whole && progress_stopped_by() != 0); i++) {
        double part;
        const tern_status status =
            tern_corpus_validation_batch(r->corpus, i, o->batch, o->shape.context, r->batch, &n);
        if (status == TERN_OUT_OF_RANGE)
            break;
        TERN_TRY(status);
        TERN_TRY(tern_trainer_loss(r->trainer, n, r->batch, &part));
        sum += part * (double)n;
        windows += n;
        if (whole && !r->quiet && !r->as_json)
            progress_line("validating with all of it");
    }
    *loss = windows > 0 && !(whole && progress_stopped_by() != 0) ? sum / (double)windows : -1;
    return TERN_OK;
}

/* A part of what is not learnt, always the same: is this the best so far? */
static int validate(train_run *r, double norm)
{
    double loss;
    if (train_validate(r, false, &loss) != TERN_OK)
        return fail_status("validation");
    if (!isfinite(loss))
        return fail_diverged(r, r->progress.step, "the loss in validation", loss);
    const bool best = r->progress.best_step < 0 || loss < r->progress.best_loss;
    if (best) {
        r->progress.best_step = r->progress.step;
        r->progress.best_loss = loss;
        if (save(r, "best.safetensors") != TERN_OK)
            return fail_status(NULL);
    }
    text line = {0};
    text_addf(&line, "step %" PRId64 ": validation %.4f%s, ", r->progress.step, loss, best ? " (best)" : "");
    add_state(&line, r, norm);
    say(r, text_string(&line));
    text_free(&line);
    return train_log_validation(r, loss);
}

/* Each line of a text behind a bar, so that it is told from what the program says. Training goes on without one, too. */
static void show_sample(train_run *r)
{
    text sample = {0}, shown = {0}, line = {0};
    const tern_status status = train_sample(r, &sample);
    const char *at = text_string(&sample);
    at += strspn(at, "\n");
    for (size_t length; *at; at += length + (at[length] == '\n')) {
        length = strcspn(at, "\n");
        text_clear(&line);
        text_add_n(&line, at, length);
        text_addf(&shown, "%s  | %s", shown.length ? "\n" : "", on(STYLE_DIM));
        text_add_safe(&shown, text_string(&line));
        text_add(&shown, off(STYLE_DIM));
    }
    if (status == TERN_OK)
        say(r, text_string(&shown));
    else
        warn("no sample: %s", tern_last_error());
    text_free(&sample);
    text_free(&shown);
    text_free(&line);
}

static bool is_due(const train_run *r, int64_t every)
{
    return every > 0 && r->progress.step % every == 0 && r->progress.step < r->config.schedule.steps;
}

static int between_steps(train_run *r, double norm)
{
    const tern_train_config *c = &r->config;
    int code = EXIT_DONE;
    if (c->validation_share > 0 && is_due(r, c->every_validation))
        code = validate(r, norm);
    if (code == EXIT_DONE && train_shows_samples(r) && is_due(r, c->every_sample))
        show_sample(r);
    if (code == EXIT_DONE && is_due(r, c->every_checkpoint))
        code = save_checkpoint(r);
    return code;
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

static int one_step(train_run *r, double *norm)
{
    const tern_train_options *o = &r->config.options;
    const int64_t step = r->progress.step;
    const double rate = tern_schedule_rate(&r->config.schedule, step);
    const uint64_t begun = clock_ns();
    tern_train_result result;
    if (tern_corpus_batch(r->corpus, o->seed, step, o->accumulate * o->batch, o->shape.context, r->batch) !=
            TERN_OK ||
        tern_trainer_step(r->trainer, r->batch, rate, &result) != TERN_OK)
        return fail_status(NULL);
    if (!isfinite(result.loss))
        return fail_diverged(r, step + 1, "the loss", result.loss);
    if (!isfinite(result.norm) && !result.skipped)
        return fail_diverged(r, step + 1, "the norm of gradients", result.norm);
    const double share = step < SMOOTH ? 1 / (double)(step + 1) : 1 / (double)SMOOTH;
    r->progress.loss += share * (result.loss - r->progress.loss);
    r->progress.step = step + 1;
    r->progress.seconds = r->seconds_before + seconds_of_run(r);
    *norm = result.norm;
    return train_log_step(r, &result, rate, tokens_per_second(r->info.tokens, clock_ns() - begun));
}

/* A line that is drawn over on a terminal; in a log one that stays, now and then if nothing else was said. */
static void show_progress(train_run *r, double norm)
{
    text line = {0};
    text_addf(&line, "step %" PRId64 " of %" PRId64 ": ", r->progress.step, r->config.schedule.steps);
    add_state(&line, r, norm);
    progress_line(text_string(&line));
    const bool logged = isatty(STDOUT_FILENO) != 1 || isatty(STDERR_FILENO) != 1;
    if (logged && clock_ns() - r->said_ns > LOG_NS)
        say(r, text_string(&line));
    text_free(&line);
}

/* Has the other end of a pipe been closed (`| head`, or a `tee` that Ctrl-C ended)? That ends the run as Ctrl-C does, so that nothing is
 * lost; what is said later goes nowhere. A file that could not be written is another matter: the end tells. */
bool train_nobody_reads(void)
{
    struct stat info;
    if (!ferror(stdout) || fstat(STDOUT_FILENO, &info) != 0 || S_ISREG(info.st_mode))
        return false;
    if (!freopen("/dev/null", "w", stdout))
        clearerr(stdout);
    return true;
}

static bool is_time_up(const train_run *r)
{
    return (r->most_ns > 0 && clock_ns() - r->start_ns >= r->most_ns) ||
           (r->last_step > 0 && r->progress.step >= r->last_step);
}

int train_loop(train_run *r)
{
    double norm = 0;
    int code = EXIT_DONE;
    r->first_step = r->progress.step;
    r->seconds_before = r->progress.seconds;
    r->start_ns = r->said_ns = clock_ns();
    r->timed_out = is_time_up(r); /* --until a step that was made before */
    /* what cannot be written is found now, not after an hour */
    r->saved_step = r->first_step;
    if (r->first_step == 0)
        code = write_checkpoint(r);
    r->unbegun = r->unbegun && code != EXIT_DONE;
    progress_when_stopped("train: finishing the step, then saving");
    while (code == EXIT_DONE && r->progress.step < r->config.schedule.steps && !r->interrupted &&
           !r->timed_out) {
        code = one_step(r, &norm);
        if (code == EXIT_DONE && !r->quiet && !r->as_json)
            show_progress(r, norm);
        if (code == EXIT_DONE)
            code = between_steps(r, norm);
        r->interrupted = progress_stopped_by() != 0 || train_nobody_reads();
        r->timed_out = is_time_up(r);
    }
    progress_when_stopped(NULL);
    const bool made = r->progress.step >= r->config.schedule.steps, moved = r->progress.step > r->first_step;
    r->interrupted = r->interrupted && !made;
    r->timed_out = r->timed_out && !made;
    if (code == EXIT_DONE && made && moved && r->config.validation_share > 0)
        code = validate(r, norm);
    if (code == EXIT_DONE && moved)
        code = save_checkpoint(r);
    return code;
}

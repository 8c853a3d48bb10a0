/* train_best.c - best.safetensors: the weights whose loss in validation was least. */
#include <inttypes.h>
#include <string.h>

#include "term.h"
#include "train.h"

/* The step after which a checkpoint was written. */
static tern_status step_of(const char *path, int64_t *step)
{
    char *note;
    tern_train_config config;
    tern_train_progress progress;
    TERN_TRY(tern_checkpoint_note(path, &note));
    const tern_status status = tern_train_note_parse(note, strlen(note), path, &config, &progress);
    tern_string_free(note);
    if (status == TERN_OK)
        *step = progress.step;
    return status;
}

int train_load_best(train_run *r, bool *loaded, text *why)
{
    const int64_t best = r->progress.best_step;
    int64_t step = -1;
    text path = train_path(r, "best.safetensors");
    tern_status status = step_of(text_string(&path), &step);
    if (status == TERN_OK && step == best)
        status = train_load(r, "best.safetensors");
    *loaded = status == TERN_OK && step == best;
    if (status != TERN_OK)
        text_add(why, tern_last_error());
    else if (!*loaded)
        text_addf(why, "best.safetensors has the weights of step %" PRId64, step);
    text_free(&path);
    /* a disk that fails while it is read has changed some states */
    const bool changed = status == TERN_IO && step == best;
    return changed && train_load(r, "checkpoint.safetensors") != TERN_OK ? fail_status(NULL) : EXIT_DONE;
}

/* Windows that a validation looks at meanwhile. */
static int64_t windows_of(const train_run *r, const tern_train_config *c)
{
    const int64_t all = (tern_corpus_validation(r->corpus) - 1) / c->options.shape.context;
    const int64_t part = c->validation_batches * c->options.batch; /* limits of the config: below 2^41 */
    return part < all ? part : all;
}

/* The loss of the weights that the trainer has, as that of the best step. */
static int measure_best(train_run *r)
{
    const double before = r->progress.best_loss;
    if (train_validate(r, false, &r->progress.best_loss) != TERN_OK)
        return fail_status("validation");
    warn("validation looks at another part of the text than before (batch, validation.batches): on it the "
         "best loss so "
         "far, of step %" PRId64 ", is %.4f; it was %.4f",
         r->progress.best_step, r->progress.best_loss, before);
    return EXIT_DONE;
}

int train_judge_best(train_run *r)
{
    bool loaded = true;
    text why = {0};
    if (r->progress.best_step < 0 || windows_of(r, &r->config) == windows_of(r, &r->resumed))
        return EXIT_DONE;
    const bool other = r->progress.best_step != r->progress.step;
    int code = other ? train_load_best(r, &loaded, &why) : EXIT_DONE;
    if (code == EXIT_DONE && loaded) {
        code = measure_best(r);
    } else if (code == EXIT_DONE) {
        warn("%s, but step %" PRId64 " was the best of this run: on the part of the text that counts from "
             "now on its loss is not known, "
             "and the next validation begins anew",
             text_string(&why), r->progress.best_step);
        r->progress.best_step = -1;
    }
    text_free(&why);
    if (code == EXIT_DONE && other && loaded && train_load(r, "checkpoint.safetensors") != TERN_OK)
        code = fail_status(NULL);
    return code;
}

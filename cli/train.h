/* train.h - a training run, as the parts of `tern train` share it. */
#ifndef TERN_CLI_TRAIN_H
#define TERN_CLI_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/corpus.h>
#include <tern/tokenizer.h>
#include <tern/train.h>
#include <tern/train_config.h>

#include "args.h"
#include "text.h"

/* A line of log.jsonl. */
typedef struct train_point {
    int64_t step; /* made by then */
    double loss;  /* of it; NaN on a line of validation */
    double validation;
} train_point;

typedef struct train_log {
    int file;           /* -1: none is open */
    int64_t final_step; /* after which all was validated, as was logged last; 0: never */
    train_point *points;
    size_t n, capacity;
} train_log;

typedef struct train_run {
    const args *a;
    const char *dir;  /* what is written goes there */
    int folder;       /* it, locked; -1: it is not open */
    bool made_folder; /* `dir` was not there before */
    bool unbegun;     /* a new run without its first checkpoint: what is in `dir` of it goes when it fails */
    bool quiet, as_json;
    uint64_t most_ns;  /* of this run; 0: any */
    int64_t last_step; /* of this run; 0: that of the schedule */
    tern_train_config config;
    tern_train_progress progress;
    tern_train_config resumed; /* of the checkpoint that the run goes on from */
    bool names_tokenizer;      /* the config does, beside --from */
    tern_ctx *ctx;
    tern_tokenizer *tokenizer;
    tern_corpus *corpus;
    tern_trainer *trainer;
    tern_trainer_info info;
    uint64_t text_bytes, tokens; /* of the data */
    int32_t *batch;              /* (accumulate * batch * (context + 1)) */
    train_log log;
    uint64_t base_bytes;      /* that the process had before its trainer was made */
    uint64_t predicted_bytes; /* that the process will have at most */
    uint64_t available_bytes; /* that it could have besides; UINT64_MAX: nobody says */
    /* of this run */
    int64_t first_step, saved_step; /* the latter: of the checkpoint */
    uint64_t start_ns;              /* when its first step began */
    uint64_t said_ns;               /* when something was said that stays */
    double seconds_before;
    bool interrupted, timed_out;
} train_run;

/* ---- train_folder.c ------------------------------------------------------------------------------------------------ */

/* "DIR/name"; free the text. */
text train_path(const train_run *r, const char *name);

/* Makes the folder if need be, locks it, so that nobody else trains in it until it is closed, and sees that it has a checkpoint to go on
 * from, or nothing that a new run would write over. Called before anything else is read or decided. An exit code, as below. */
int train_folder_open(train_run *r);
/* Takes away what a writer that was killed has left. Nobody writes there now: the folder is locked. */
void train_folder_sweep(const train_run *r);
/* A new run that failed before its first step leaves nothing. */
void train_folder_close(train_run *r);

/* ---- train_setup.c ------------------------------------------------------------------------------------------------- */

/* Everything up to the first step: config, data, tokenizer, trainer, checkpoint. Returns an exit code; a failure, or that the user
 * stopped it (progress.h), was said. */
int train_open(train_run *r);
void train_close(train_run *r);
/* The command that goes on with the run. */
void train_add_resume(text *t, const train_run *r);
/* Sets the trainer to the checkpoint DIR/name. */
tern_status train_load(const train_run *r, const char *name);
/* A blank and a word of a command, in quotes where a shell would take it apart. */
void train_add_word(text *t, const char *word);

/* ---- train_memory.c ------------------------------------------------------------------------------------------------ */

/* Would the run fit? Before a trainer is made, by its weights and what belongs to them; then by its plan. An exit code likewise. */
int train_check_states(train_run *r);
int train_check_plan(train_run *r);
uint64_t train_batch_bytes(const train_run *r); /* of the tokens of a step */

/* ---- train_loop.c -------------------------------------------------------------------------------------------------- */

/* Steps, with validation, samples and checkpoints between them, until they are made or the user stops. An exit code likewise. */
int train_loop(train_run *r);
/* Has whoever reads what is printed gone? Then nothing is printed from now on, which is no failure. */
bool train_nobody_reads(void);
/* The mean loss on the part of what is not learnt that the config says, always the same; or on the whole, unless the user stops it: -1.
 * The part is never left: how a run goes on must not depend on when it was stopped. */
tern_status train_validate(train_run *r, bool whole, double *loss);

/* ---- train_best.c -------------------------------------------------------------------------------------------------- */

/* Sets the trainer to best.safetensors if that has the weights of the best step; otherwise adds why not, and leaves the trainer as the
 * last checkpoint has it. Of another step are those of a run that was killed between best.safetensors and its checkpoint, and stopped
 * before it came there again. */
int train_load_best(train_run *r, bool *loaded, text *why);
/* A run that is resumed with another part of the text to validate with: the best loss so far was measured on the old one, and no other
 * can be compared with it. Measures it again, and says so; the trainer is as the checkpoint has it. */
int train_judge_best(train_run *r);

/* ---- train_log.c --------------------------------------------------------------------------------------------------- */

/* DIR/log.jsonl: what was logged up to step `upto` is read and kept, what was behind it cut off, and what is missing or damaged is
 * said. */
int train_log_open(train_run *r, int64_t upto);
int train_log_step(train_run *r, const tern_train_result *result, double rate, double tokens_per_s);
int train_log_validation(train_run *r, double loss);
/* The loss on all that is not learnt, with the weights of step `weights_of`; once for the same last step. */
int train_log_final(train_run *r, double loss, int64_t weights_of);
void train_log_close(train_log *log);

/* ---- train_curve.c ------------------------------------------------------------------------------------------------- */

/* DIR/loss.svg, of all that was logged. An exit code likewise. */
int train_curve_write(const train_run *r);

/* ---- train_sample.c ------------------------------------------------------------------------------------------------ */

#define TRAIN_SAMPLE_FILE ".sample.gguf"

/* What the model writes after the prompt of the config; free the text. The model is written to this file in DIR, run like any other, and
 * removed. */
tern_status train_sample(train_run *r, text *out);

/* May the run's model be written as a file, and be let write samples? Float weights are only there to compare with. */
bool train_can_export(const train_run *r);

/* Where the run will end with a model: can it be written as the config says? */
tern_status train_check_export(const train_run *r);

/* Are samples due in this run, and would anybody see them? */
bool train_shows_samples(const train_run *r);

/* Writes the model with its tokenizer, with the weights that the trainer has. Only where train_can_export says so. */
tern_status train_export(train_run *r, const char *path);

#endif

/* trainer.h - a trainer, as the files of this folder share it: options.c says what one has, programs.c compiles its steps, trainer.c makes
 * it and runs them. */
#ifndef TERN_TRAIN_TRAINER_H
#define TERN_TRAIN_TRAINER_H

#include "train/decoder.h"

/* A compiled program and what it runs in. */
typedef struct tern__train_runner {
    tern_program *program;
    tern_exec *exec;
    int n_out;
} tern__train_runner;

/* The programs of a trainer, in the order in which a step runs those that it has. */
typedef enum tern__train_run {
    TERN__RUN_PASS,  /* a whole step where there are no sums */
    TERN__RUN_CHECK, /* are the sums finite? Only where the loss is scaled */
    TERN__RUN_APPLY, /* the step that is made of the sums */
    TERN__RUNS_OF_STEP,
    TERN__RUN_LOSS = TERN__RUNS_OF_STEP,
    TERN__RUN_LOGITS, /* made when they are asked for first */
    TERN__RUNS,
} tern__train_run;

/* States of the scale of the loss: itself, and the steps since it has changed. */
enum { TERN__SCALE_IS, TERN__SCALE_SINCE, TERN__SCALE };

enum { TERN__STATE_NAME = TERN__PART_NAME + 2 };

struct tern_trainer {
    tern_ctx *ctx;
    tern_train_options o;
    tern__train_net net;
    tern_optimiser *optimiser;
    char (*names)[TERN__STATE_NAME]; /* (states) */
    tern_tensor *scale[TERN__SCALE]; /* of the loss, where activations are f16; else NULL */
    bool grows;                      /* the scale, behind the step that is made */
    tern_tensor **sums;              /* (weights) of gradients, where they are kept; else NULL */
    tern_tensor **outputs;           /* (2 + states + weights) where results of a run go */
    int32_t *inputs, *targets;       /* (batch * context) */
    tern__train_runner runners[TERN__RUNS];
};

/* ---- options.c ----------------------------------------------------------------------------------------------------- */

/* TERN_INVALID_ARGUMENT names an option that cannot be. */
tern_status tern__train_check(const tern_train_options *o);
/* Tokens that one pass reads. */
int64_t tern__train_pass_tokens(const tern_train_options *o);
/* Are gradients of a loss times a scale? */
bool tern__train_scales_loss(const tern_train_options *o);
/* Are gradients summed in states of their own, because a step is more than one program? */
bool tern__train_keeps_sums(const tern_train_options *o);

/* ---- programs.c ---------------------------------------------------------------------------------------------------- */

/* All that steps and validation need. On failure what was made belongs to the trainer. */
tern_status tern__train_compile(tern_trainer *t);
/* The program of logits, when they are asked for first. */
tern_status tern__train_compile_logits(tern_trainer *t);

/* ---- trainer.c ----------------------------------------------------------------------------------------------------- */

/* Forgets gradients of passes that no step was made of: what a step that failed has left. */
tern_status tern__trainer_clear_sums(tern_trainer *trainer);

/* The model that it trains; lives as long as the trainer. */
const tern__train_net *tern__trainer_net(const tern_trainer *trainer);

#endif

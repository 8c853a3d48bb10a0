/* trainer.h - what other files of this folder may know of a trainer. */
#ifndef TERN_TRAIN_TRAINER_H
#define TERN_TRAIN_TRAINER_H

#include "train/decoder.h"

/* Forgets gradients of passes that no step was made of: what a step that failed has left. */
tern_status tern__trainer_clear_sums(tern_trainer *trainer);

/* The model that it trains; lives as long as the trainer. */
const tern__train_net *tern__trainer_net(const tern_trainer *trainer);

#endif

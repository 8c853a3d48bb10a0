/* limits.h - how large a step may be: what config.def lets a config say, and what options.c lets a caller ask for. */
#ifndef TERN_TRAIN_LIMITS_H
#define TERN_TRAIN_LIMITS_H

enum {
    TERN__TRAIN_MOST_CONTEXT = 1 << 16,
    TERN__TRAIN_MOST_BATCH = 1 << 20,
    TERN__TRAIN_MOST_PASSES = 1 << 20,
};

#endif

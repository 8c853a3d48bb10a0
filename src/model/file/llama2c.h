/* llama2c.h - what llama2.c's .bin is: seven i32, then tensors in a fixed order. Version 0, which is written, is that and in f32. */
#ifndef TERN_MODEL_FILE_LLAMA2C_H
#define TERN_MODEL_FILE_LLAMA2C_H

#include "model/arch/parts.h"

enum { TERN__LLAMA2C_HEADER = 28, TERN__LLAMA2C_PARTS = 12 };

/* What every file of this format means, because it cannot say it: the base of rotation and the epsilon of norms. */
#define TERN__LLAMA2C_ROPE_THETA 10000.0
#define TERN__LLAMA2C_NORM_EPS 1e-5

typedef struct tern__llama2c_shape {
    int64_t dim, hidden, layers, heads, kv_heads, vocabulary, context;
    bool untied;
} tern__llama2c_shape;

/* Of version 0. Every part of all layers, then the next. Before the last, which only untied models have, stand tables of cosines and sines. */
extern const tern__part_id tern__llama2c_order[TERN__LLAMA2C_PARTS];

#endif

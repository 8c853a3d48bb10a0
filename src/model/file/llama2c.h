/* llama2c.h - what llama2.c's .bin, version 0, is: seven i32, then f32 tensors in a fixed order. */
#ifndef TERN_MODEL_FILE_LLAMA2C_H
#define TERN_MODEL_FILE_LLAMA2C_H

#include "model/file/model_writer.h"
#include "model/parts.h"

enum { TERN__LLAMA2C_HEADER = 28, TERN__LLAMA2C_PARTS = 12 };

typedef struct tern__llama2c_shape {
    int64_t dim, hidden, layers, heads, kv_heads, vocabulary, context;
    bool untied;
} tern__llama2c_shape;

/* Every part of all layers, then the next. Before the last, which only untied models have, stand tables of cosines and sines. */
extern const tern__part_id tern__llama2c_order[TERN__LLAMA2C_PARTS];

/* What a model would be there. TERN_UNSUPPORTED if it is something that the format cannot say: only LLaMAs with the usual
 * settings can be. */
tern_status tern__llama2c_shape_of(const tern_model_file *file, tern__llama2c_shape *out);

/* Where a tensor stands among the others; -1: the format has no place for it. */
int64_t tern__llama2c_place(const tern__llama2c_shape *s, const char *name);

/* Tensors are declared in their order, all of them f32. `shape` outlives the writer. */
tern_status tern__llama2c_create(const char *path, tern__model_work *work, const tern__llama2c_shape *shape,
                                 tern__model_writer *w);

#endif

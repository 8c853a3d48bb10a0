/* llama2c_write.h - writing llama2.c's .bin. */
#ifndef TERN_MODEL_CONVERT_LLAMA2C_WRITE_H
#define TERN_MODEL_CONVERT_LLAMA2C_WRITE_H

#include "model/convert/model_writer.h"
#include "model/file/llama2c.h"

/* What a model would be there. TERN_UNSUPPORTED if it is something that the format cannot say: only LLaMAs with the usual
 * settings can be. */
tern_status tern__llama2c_shape_of(const tern_model_file *file, tern__llama2c_shape *out);

/* Where a tensor stands among the others; -1: the format has no place for it. */
int64_t tern__llama2c_place(const tern__llama2c_shape *s, const char *name);

extern const tern__model_format tern__llama2c_format;

/* Tensors are declared in their order, all of them f32. The caller sets w->llama2c before the first. */
tern_status tern__llama2c_create(const char *path, tern__model_work *work, tern__model_writer *w);

#endif

/* load.h - memory for tensors that come from files. */
#ifndef TERN_MODEL_FILE_LOAD_H
#define TERN_MODEL_FILE_LOAD_H

#include "model/file/model_file.h"

/* Large blocks are pages of their own, on huge ones where there are. Contents undefined. */
tern_status tern__block_create(size_t bytes, void **out);
void tern__block_free(void *block, size_t bytes);

/* A constant that owns `block` from then on, also if this fails. */
tern_status tern__block_wrap(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, void *block,
                             size_t bytes, tern_tensor **out);

/* Rows [first, first + n) of a plain tensor in f32. */
tern_status tern__rows_read_f32(const tern_model_file *file, int i, int64_t first, int64_t n, float *out);

/* NULL arguments and the range of i. */
tern_status tern__load_check(const char *who, const tern_ctx *ctx, const tern_model_file *file, int i,
                             const void *out);

/* "PATH: tensor 'NAME': " in front of the message. */
tern_status tern__load_fail(const tern_model_file *file, const tern_file_tensor *t, tern_status status);

#endif

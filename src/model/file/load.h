/* load.h - memory for tensors that come from files. */
#ifndef TERN_MODEL_FILE_LOAD_H
#define TERN_MODEL_FILE_LOAD_H

#include <tern/model.h>

#include "model/file/model_file.h"

/* Large blocks are pages of their own, on huge ones where there are. Contents undefined. */
tern_status tern__block_create(size_t bytes, void **out);
void tern__block_free(void *block, size_t bytes);

/* A constant that owns `block` from then on, also if this fails. */
tern_status tern__block_wrap(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, void *block,
                             size_t bytes, tern_tensor **out);

/* Rows [first, first + n) of a tensor of kind PLAIN or GROUPED in f32. */
tern_status tern__rows_read_f32(const tern_model_file *file, int i, int64_t first, int64_t n, float *out);

/* Are all numbers of tensor i finite? It is small: a norm, or the like. Its kind is not OPAQUE. */
tern_status tern__numbers_check(const tern_model_file *file, int i);

/* ---- the reading of one model's weights: loading.c ---- */

/* Held by the model and by each of its constants that is read later, which may outlive it. Holds the file. */
typedef struct tern__loading tern__loading;

/* `workers` threads share reading, and `progress`, if not NULL, is called as weights are read, by one thread at a time. */
tern_status tern__loading_create(tern_model_file *file, int workers, tern_model_progress progress, void *user,
                                 tern__loading **out);
tern_model_file *tern__loading_file(const tern__loading *loading);
tern__loading *tern__loading_retain(tern__loading *loading); /* returns it */
void tern__loading_release(tern__loading *loading);          /* NULL is fine */
/* The model goes: `progress` is not called any more. NULL is fine. */
void tern__loading_mute(tern__loading *loading);
/* So many bytes more will be read. */
void tern__loading_expect(tern__loading *loading, uint64_t bytes);

/* Work on a tensor's rows, in parts. A status other than TERN_OK ends it. */
typedef tern_status (*tern__file_work)(void *user, int part, int parts);
/* Runs all parts, at once where there are workers, and returns the first failure with its message. Counts `bytes` as read. */
tern_status tern__loading_share(tern__loading *loading, tern__file_work work, void *user, uint64_t bytes);
/* Memory for one part of the work, until that returns. What is in it is undefined. Belongs to the loading, which has it again for the
 * next tensor. */
tern_status tern__loading_scratch(tern__loading *loading, int part, size_t bytes, void **out);

/* ---- constants that are read when they are needed, and again if they were let go since: load_later.c ---- */

/* Tensor i as it is loaded, whose kind is PLAIN or GROUPED. */
tern_status tern__load_later(tern_ctx *ctx, tern__loading *loading, int i, tern_tensor **out);

/* The same converted to f32, f16, bf16 or a block type: TERN_DTYPE for others, TERN_SHAPE if a row is no whole number of blocks. */
tern_status tern__load_later_as(tern_ctx *ctx, tern__loading *loading, int i, tern_dtype dtype,
                                tern_tensor **out);

/* The same in the pages of the file, if they are mapped and lie where its elements may; else as above. */
tern_status tern__load_mapped(tern_ctx *ctx, tern__loading *loading, int i, tern_tensor **out);

/* Codes of tensor i, whose kind is TERNARY, as t2 or t5, and their one scale. *codes stays NULL if its blocks have several. */
tern_status tern__load_ternary_later(tern_ctx *ctx, tern__loading *loading, int i, tern_dtype dtype,
                                     tern_tensor **codes, tern_tensor **scale);

/* ---- parts of ternary tensors: load_ternary.c ---- */

/* What a format calls the scale of a weight: "x.weight" has "x.scale" in GGUF, "x.weight_scale" in safetensors. false: it is called
 * otherwise, and has none. */
enum { TERN__SCALE_NAME = TERN__MOST_NAME + 32 };
bool tern__scale_name(tern_file_format format, const char *weight, char out[static TERN__SCALE_NAME]);
/* The tensor whose one number multiplies or divides weight `t`, or -1. */
int tern__scale_of(const tern_model_file *file, const tern_file_tensor *t);
/* What to multiply `t` with: the number in that tensor, the way it is meant; 1, and *found false, if there is none. */
tern_status tern__scale_read(const tern_model_file *file, const tern_file_tensor *t, float *out, bool *found);
/* What is known of a weight of a ternary product before its codes are read: are its scales such that they can be used? */
tern_status tern__scale_check(const tern_model_file *file, int i);

/* Writes the rows of part `part` of `parts` into `codes` (all rows of t2 or t5). Any thread, inside tern__loading_share. */
tern_status tern__ternary_read_part(tern__loading *loading, int i, tern_dtype dtype, int part, int parts,
                                    uint8_t *codes);
/* Do all blocks of the part have the scale of the tensor's first one? Likewise. */
tern_status tern__ternary_same_scales(tern__loading *loading, int i, int part, int parts, bool *same);
/* That of the tensor's first block, and what the file has to multiply it with. */
tern_status tern__ternary_first_scale(const tern_model_file *file, int i, float *out);

/* NULL arguments and the range of i. */
tern_status tern__load_check(const char *who, const tern_ctx *ctx, const tern_model_file *file, int i,
                             const void *out);

/* "PATH: tensor 'NAME': " in front of the message. */
tern_status tern__load_fail(const tern_model_file *file, const tern_file_tensor *t, tern_status status);

#endif

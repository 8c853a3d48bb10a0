/* model_file.h - files that hold models, whatever their format: metadata, tensors, and loading them.
 *
 *     tern_model_file *file;
 *     TERN_TRY(tern_model_file_open("model.gguf", NULL, &file));
 *     int i;
 *     TERN_TRY(tern_model_file_find(file, "blk.0.attn_q.weight", &i));
 *     TERN_TRY(tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales));
 *
 * The format is told by the content. Tensors and metadata have GGUF's names whatever the file calls them, so that the
 * code of a model is written once; docs/model-files.md has the table. Nothing in a file is trusted: every count, length,
 * product and offset is checked against the file before it is used, and a bad file gives a status and one sentence.
 *
 * Threading: what these functions tell of an open file does not change; any number of threads may read it, and
 * load models from it. Parts that those map are mapped once, under a lock. */
#ifndef TERN_MODEL_FILE_H
#define TERN_MODEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/export.h>
#include <tern/status.h>
#include <tern/tensor.h>

typedef struct tern_model_file tern_model_file;

/* Called as work goes on: `done` of `total` bytes, or of what the function that takes it says. Returning false stops with
 * TERN_CANCELLED. While weights are loaded it may be called by any thread, and must not use the model. */
typedef bool (*tern_model_progress)(void *user, uint64_t done, uint64_t total);

typedef enum tern_file_format {
    TERN_FILE_GGUF,        /* version 2 or 3 */
    TERN_FILE_SAFETENSORS, /* one file, or an index and its parts; config.json beside it is read too */
    TERN_FILE_LLAMA2C,     /* llama2.c's .bin: version 0 or 1, f32, or 2, int8 */
    TERN_FILE_FORMAT_COUNT
} tern_file_format;

/* How a tensor is stored in a file: X(enumerator, GGUF's number or -1, name, elements and bytes of a block, what it is,
 * the type in memory: of TERNARY that of the codes; of OPAQUE there is none, and U8 stands for it).
 *
 *   PLAIN    elements or blocks of a Tern type as they are
 *   TERNARY  codes of -1, 0, +1 and scales; for tern_model_file_load_ternary
 *   GROUPED  int8, then an f32 scale for each group of elements, rows or not; loads as f32
 *   OPAQUE   its size is known, and that is all: such a tensor can be listed but not loaded
 *
 * Enumerators are numbered by their rows, which stay where they are: new ones come at the end.
 *
 * I2_S has 32 bytes for its scale behind the blocks of the whole tensor. HF_T2 (safetensors) has four rows in a byte and
 * its scale in a tensor of its own. How many elements are a group of I8_GROUPS (llama2.c) a file's header says. */
/* clang-format off */
#define TERN_STORED_LIST(X)                                    \
    X(F32,      0, "F32",        1,   4, PLAIN,   F32)         \
    X(F16,      1, "F16",        1,   2, PLAIN,   F16)         \
    X(Q4_0,     2, "Q4_0",      32,  18, PLAIN,   Q4_0)        \
    X(Q4_1,     3, "Q4_1",      32,  20, OPAQUE,  U8)          \
    X(Q5_0,     6, "Q5_0",      32,  22, OPAQUE,  U8)          \
    X(Q5_1,     7, "Q5_1",      32,  24, OPAQUE,  U8)          \
    X(Q8_0,     8, "Q8_0",      32,  34, PLAIN,   Q8_0)        \
    X(Q8_1,     9, "Q8_1",      32,  36, OPAQUE,  U8)          \
    X(Q2_K,    10, "Q2_K",     256,  84, OPAQUE,  U8)          \
    X(Q3_K,    11, "Q3_K",     256, 110, OPAQUE,  U8)          \
    X(Q4_K,    12, "Q4_K",     256, 144, PLAIN,   Q4_K)        \
    X(Q5_K,    13, "Q5_K",     256, 176, OPAQUE,  U8)          \
    X(Q6_K,    14, "Q6_K",     256, 210, PLAIN,   Q6_K)        \
    X(Q8_K,    15, "Q8_K",     256, 292, OPAQUE,  U8)          \
    X(IQ2_XXS, 16, "IQ2_XXS",  256,  66, OPAQUE,  U8)          \
    X(IQ2_XS,  17, "IQ2_XS",   256,  74, OPAQUE,  U8)          \
    X(IQ3_XXS, 18, "IQ3_XXS",  256,  98, OPAQUE,  U8)          \
    X(IQ1_S,   19, "IQ1_S",    256,  50, OPAQUE,  U8)          \
    X(IQ4_NL,  20, "IQ4_NL",    32,  18, OPAQUE,  U8)          \
    X(IQ3_S,   21, "IQ3_S",    256, 110, OPAQUE,  U8)          \
    X(IQ2_S,   22, "IQ2_S",    256,  82, OPAQUE,  U8)          \
    X(IQ4_XS,  23, "IQ4_XS",   256, 136, OPAQUE,  U8)          \
    X(I8,      24, "I8",         1,   1, PLAIN,   I8)          \
    X(I16,     25, "I16",        1,   2, OPAQUE,  U8)          \
    X(I32,     26, "I32",        1,   4, PLAIN,   I32)         \
    X(I64,     27, "I64",        1,   8, PLAIN,   I64)         \
    X(F64,     28, "F64",        1,   8, PLAIN,   F64)         \
    X(IQ1_M,   29, "IQ1_M",    256,  56, OPAQUE,  U8)          \
    X(BF16,    30, "BF16",       1,   2, PLAIN,   BF16)        \
    X(TQ1_0,   34, "TQ1_0",    256,  54, TERNARY, T2)          \
    X(TQ2_0,   35, "TQ2_0",    256,  66, TERNARY, T2)          \
    X(I2_S,    36, "I2_S",     128,  32, TERNARY, T2)          \
    X(BOOL,    -1, "BOOL",       1,   1, PLAIN,   BOOL)        \
    X(U8,      -1, "U8",         1,   1, PLAIN,   U8)          \
    X(U16,     -1, "U16",        1,   2, OPAQUE,  U8)          \
    X(U32,     -1, "U32",        1,   4, OPAQUE,  U8)          \
    X(U64,     -1, "U64",        1,   8, OPAQUE,  U8)          \
    X(F8,      -1, "F8",         1,   1, OPAQUE,  U8)          \
    X(HF_T2,   -1, "HF_T2",      4,   1, TERNARY, T2)          \
    X(I8_GROUPS, -1, "I8_GROUPS", 1,  1, GROUPED, F32)
/* clang-format on */

typedef enum tern_stored {
    TERN_STORED_AS_IS, /* no type: in options, none is asked for */
#define TERN_STORED_ENUM(id, number, name, elements, bytes, kind, dtype) TERN_STORED_##id,
    TERN_STORED_LIST(TERN_STORED_ENUM)
#undef TERN_STORED_ENUM
        TERN_STORED_COUNT
} tern_stored;

typedef enum tern_stored_kind {
    TERN_STORED_PLAIN,
    TERN_STORED_TERNARY,
    TERN_STORED_OPAQUE,
    TERN_STORED_GROUPED,
} tern_stored_kind;

typedef struct tern_stored_info {
    const char *name; /* "Q8_0" */
    int gguf_number;  /* -1: GGUF has no such type */
    tern_stored_kind kind;
    int block_elements, block_bytes;
    tern_dtype dtype; /* in memory: what it loads as; of TERNARY the codes; of OPAQUE nothing, U8 */
} tern_stored_info;

typedef struct tern_file_tensor {
    const char *name;        /* "blk.0.attn_q.weight" */
    const char *stored_name; /* what the file calls it */
    tern_stored stored;
    int rank;
    int64_t shape[TERN_MAX_RANK]; /* outermost first, of the values (not of their bytes) */
    int part;                     /* which file of a model in several: tern_model_file_part */
    uint64_t offset, bytes;       /* there */
} tern_file_tensor;

/* Types of metadata: X(enumerator, GGUF's number, name, bytes, kind). */
#define TERN_META_LIST(X)           \
    X(U8, 0, "u8", 1, UNSIGNED)     \
    X(I8, 1, "i8", 1, SIGNED)       \
    X(U16, 2, "u16", 2, UNSIGNED)   \
    X(I16, 3, "i16", 2, SIGNED)     \
    X(U32, 4, "u32", 4, UNSIGNED)   \
    X(I32, 5, "i32", 4, SIGNED)     \
    X(F32, 6, "f32", 4, FLOAT)      \
    X(BOOL, 7, "bool", 1, UNSIGNED) \
    X(STRING, 8, "str", 0, NONE)    \
    X(U64, 10, "u64", 8, UNSIGNED)  \
    X(I64, 11, "i64", 8, SIGNED)    \
    X(F64, 12, "f64", 8, FLOAT)

typedef enum tern_meta_type {
#define TERN_META_ENUM(id, number, name, bytes, kind) TERN_META_##id = number,
    TERN_META_LIST(TERN_META_ENUM)
#undef TERN_META_ENUM
} tern_meta_type;

typedef struct tern_meta_info {
    const char *key;
    tern_meta_type type; /* of an array: of its elements */
    bool is_array;
    int64_t count; /* elements of an array, else 1 */
} tern_meta_info;

/* Zeroed fields are the defaults. */
typedef struct tern_model_file_options {
    /* Tensors that are used as they are (a model's table of tokens) are mapped instead of read: only what is looked at is in
     * memory. What is repacked anyway is always read, and so is everything with this. */
    bool no_map;
    /* A file that is cut short while it is mapped ends the process with SIGBUS, unless this is set: then the missing bytes read as
     * zeros, and whoever computed with them gets TERN_IO. It takes the process's SIGBUS handler; faults elsewhere go on to
     * the one that was there. */
    bool guard;
} tern_model_file_options;

/* How tern_model_file_load_ternary treats weights that are stored as floats. */
typedef enum tern_ternary_mode {
    TERN_TERNARY_DECLARED, /* ABSMEAN if the file says that they are a ternary model's master weights, else EXACT */
    TERN_TERNARY_EXACT, /* refuses them unless they are -s, 0 and +s for one s */
    TERN_TERNARY_ABSMEAN, /* ternarises them as training does: s = max(mean|w|, 1e-5), round(w / s) in [-1, 1] */
} tern_ternary_mode;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- opening --------------------------------------------------------------------------------------------------- */

TERN_API tern_model_file_options tern_model_file_options_default(void);

/* `path` is a file, or a folder with model.safetensors or its index. `options` NULL = defaults. TERN_FORMAT for what is
 * malformed, TERN_UNSUPPORTED for what is well-formed but unknown, TERN_LIMIT for what is beyond any real model. */
TERN_API tern_status tern_model_file_open(const char *path, const tern_model_file_options *options,
                                          tern_model_file **out);

/* The same of a file whose `bytes` bytes are in memory at `data`: part of the program, or of another file. Whatever is read is checked
 * against `bytes`. Nothing is written there, and it stays the caller's: it must be there, unchanged, until the file is closed and
 * every model and tensor from it is gone, because what would be mapped is used in place (where its address is a multiple of
 * its elements' size; 64 is best), unless `options` say no_map. `name` stands for the path in messages; copied; NULL = "memory".
 * Nothing is looked for beside it, neither config.json nor tokenizer.json, so that GGUF is the format to choose; TERN_UNSUPPORTED for
 * the index of a model in several files. */
TERN_API tern_status tern_model_file_open_memory(const void *data, size_t bytes, const char *name,
                                                 const tern_model_file_options *options,
                                                 tern_model_file **out);
TERN_API void tern_model_file_close(tern_model_file *file); /* NULL is fine; loaded tensors stay valid */

TERN_API tern_file_format tern_model_file_format(const tern_model_file *file);
TERN_API const char *tern_file_format_name(tern_file_format format);  /* "GGUF"; static */
TERN_API int tern_model_file_version(const tern_model_file *file);    /* of the format; 0 if it has none */
TERN_API uint64_t tern_model_file_bytes(const tern_model_file *file); /* of all its parts */
TERN_API bool tern_model_file_in_memory(const tern_model_file *file); /* tern_model_file_open_memory */
TERN_API int tern_model_file_parts(const tern_model_file *file);
TERN_API const char *tern_model_file_part(const tern_model_file *file,
                                          int part); /* its path; NULL if out of range */

/* ---- tensors --------------------------------------------------------------------------------------------------- */

TERN_API int tern_model_file_count(const tern_model_file *file);
/* Strings live as long as the file is open. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_model_file_tensor(const tern_model_file *file, int i, tern_file_tensor *out);
/* By either name. TERN_NOT_FOUND. */
TERN_API tern_status tern_model_file_find(const tern_model_file *file, const char *name, int *out);

/* Tokens that the model knows: rows of its table of tokens; 0 if the file has no such table. */
TERN_API int64_t tern_model_file_vocabulary(const tern_model_file *file);

/* Facts about a stored type; NULL if the number is not one. Static. */
TERN_API const tern_stored_info *tern_stored_get(tern_stored stored);
/* Will tensor i be ternary when the model runs? Linear layers of a BitNet are, whatever they are stored as: master weights are
 * ternarised, and floats that are not ternary where they should be keep a model from loading. false if there is no such tensor. */
TERN_API bool tern_model_file_runs_ternary(const tern_model_file *file, int i);

TERN_API tern_status tern_stored_parse(const char *name,
                                       tern_stored *out); /* "q8_0" in any case; TERN_NOT_FOUND */
/* Can layers be written so? -s, 0 and s come back as such: from blocks because they are written as signs, with s beside them. */
TERN_API bool tern_stored_keeps_ternary(tern_stored stored);

/* Tensor i as a constant of its own type, tern_stored_info.dtype. TERN_DTYPE for ternary
 * tensors, whose scales would be lost, TERN_UNSUPPORTED for opaque ones. The tensor may outlive the file. */
TERN_API tern_status tern_model_file_load(tern_ctx *ctx, const tern_model_file *file, int i,
                                          tern_tensor **out);

/* The same in f32, whatever it is stored as; ternary tensors with their scales. */
TERN_API tern_status tern_model_file_load_f32(tern_ctx *ctx, const tern_model_file *file, int i,
                                              tern_tensor **out);

/* A weight of a ternary product: `codes`, t2 or t5 as `dtype` says, and f32 `scales`, both constants. The scales have rank
 * 0 if one serves the whole tensor (the scale of a block of zeros does not count), else the shape of the codes with a last
 * axis of columns / 256, one for each block. A scale that the file has in a tensor of its own (`blk.0.attn_q.scale`,
 * `weight_scale`) is part of them, whichever way it is meant. */
TERN_API tern_status tern_model_file_load_ternary(tern_ctx *ctx, const tern_model_file *file, int i,
                                                  tern_dtype dtype, tern_ternary_mode mode,
                                                  tern_tensor **codes, tern_tensor **scales);

/* Copies bytes [offset, offset + bytes) of tensor i as the file has them. */
TERN_API tern_status tern_model_file_read(const tern_model_file *file, int i, uint64_t offset, void *out,
                                          size_t bytes);

/* ---- metadata -------------------------------------------------------------------------------------------------- */

TERN_API int tern_model_file_meta_count(const tern_model_file *file);
TERN_API tern_status tern_model_file_meta(const tern_model_file *file, int i, tern_meta_info *out);
TERN_API tern_status tern_model_file_meta_find(const tern_model_file *file, const char *key, int *out);
TERN_API const char *tern_meta_type_name(tern_meta_type type); /* "u32"; static */

/* Element j of entry i (0 of what is no array). TERN_DTYPE if it is of another type, TERN_OUT_OF_RANGE if it does not fit
 * or there is none. Integers of any width; float accepts integers too. Text has `length` bytes, may hold zeros, and need
 * not be UTF-8; only where the entry is no array is there a zero behind it. It lives as long as the file is open. */
TERN_API tern_status tern_model_file_meta_int(const tern_model_file *file, int i, int64_t j, int64_t *out);
TERN_API tern_status tern_model_file_meta_float(const tern_model_file *file, int i, int64_t j, double *out);
TERN_API tern_status tern_model_file_meta_bool(const tern_model_file *file, int i, int64_t j, bool *out);
TERN_API tern_status tern_model_file_meta_string(const tern_model_file *file, int i, int64_t j,
                                                 const char **text, size_t *length);

/* The same of an entry that is no array, by key. TERN_NOT_FOUND without one. */
TERN_API tern_status tern_model_file_get_int(const tern_model_file *file, const char *key, int64_t *out);
TERN_API tern_status tern_model_file_get_float(const tern_model_file *file, const char *key, double *out);
TERN_API tern_status tern_model_file_get_bool(const tern_model_file *file, const char *key, bool *out);
TERN_API tern_status tern_model_file_get_string(const tern_model_file *file, const char *key,
                                                const char **text);

#ifdef __cplusplus
}
#endif
#endif

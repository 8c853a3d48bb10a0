/* convert.h - the steps of a conversion: convert_plan.c says what becomes of each tensor, convert.c does it and reads it back. */
#ifndef TERN_MODEL_CONVERT_CONVERT_H
#define TERN_MODEL_CONVERT_CONVERT_H

#include "model/convert/llama2c_write.h"
#include "model/file/model_file.h"
#include "model/convert/model_writer.h"

typedef enum tern__way {
    TERN__WAY_COPY,    /* the bytes as they are */
    TERN__WAY_TERNARY, /* codes and scales, to a ternary type */
    TERN__WAY_VALUES,  /* through f32 */
} tern__way;

/* What becomes of tensor `source`. */
typedef struct tern__conversion {
    int source;
    tern__way way;
    tern_stored to;
    int64_t heads;  /* 0, or its rows change their order within as many heads: */
    bool to_halves; /* neighbours become halves; else halves become neighbours */
    bool own_scale; /* its scale becomes a tensor: `scale` */
    float scale;
    bool master;     /* master weights, */
    bool ternarised; /* written as the ternary ones that they mean, in a type of numbers */
    bool signs;      /* its weights are written as -1, 0 and 1, because the type does not hold the scale */
    bool proved;     /* it is ternary before and afterwards, which will be read back: */
    uint64_t codes_hash, scales_hash;
    bool exact; /* nothing was lost */
    double values, errors, product,
        results; /* sums of squares of before, differences, before x after, after */
} tern__conversion;

/* One of the files that a conversion writes: tensors [first, end) of the plan. */
typedef struct tern__output {
    tern__model_writer w;
    size_t first, end;
    char *path;
    uint64_t bytes; /* once it is complete */
    bool there;     /* it has taken its place */
} tern__output;

/* Zeroed = none. */
typedef struct tern__outputs {
    tern__output *files;
    size_t n;
} tern__outputs;

/* What stands where. */
typedef struct tern__destination {
    const char *path;
    tern_file_format format;
    uint64_t most_bytes;                /* of tensors in a file of safetensors; 0: one file for all */
    const tern__llama2c_shape *llama2c; /* of that format */
} tern__destination;

/* The format that a file's name asks for. */
tern_file_format tern__format_of_name(const char *path);
const tern__model_format *tern__format_get(tern_file_format format);

/* Opens as many files as it takes: PATH, or PATH-00001-of-00002.safetensors and so on. TERN_INVALID_ARGUMENT if one is a part of
 * `file`. After a failure too tern__outputs_free lets everything go. */
tern_status tern__outputs_open(const tern_model_file *file, const tern__conversion *plan, size_t n,
                               const tern__destination *to, tern__model_work *work, tern__outputs *out);
tern_status tern__outputs_commit(tern__outputs *all);
/* `keep` false: files that have taken their place go again. */
void tern__outputs_free(tern__outputs *all, bool keep);

/* For every tensor that will be written; those whose scale is part of another are not. The caller frees `*out`.
 * Weights are looked at, which takes a while: it counts as work. */
tern_status tern__plan_conversion(tern_ctx *ctx, const tern_model_file *file,
                                  const tern_convert_options *options, tern_file_format format,
                                  tern__model_work *work, tern__conversion **out, size_t *count);

/* Puts the plan in llama2.c's order. TERN_UNSUPPORTED if that has no place for one of them. */
tern_status tern__plan_sort_for_llama2c(const tern_model_file *file, const tern__llama2c_shape *shape,
                                        tern__conversion *plan, size_t n);

/* Codes and scales of a tensor that will be ternary. */
tern_status tern__load_for_conversion(tern_ctx *ctx, const tern_model_file *file, int i, bool force,
                                      tern_tensor **codes, tern_tensor **scales, bool *exact);

/* Does its metadata hold a tokenizer? A new one takes the place of all that is said of it then; else what config.json says of ids stays. */
bool tern__has_vocabulary(const tern_model_file *file);

/* Metadata as GGUF has them, with the vocabulary of `tokenizer`; where that is NULL, from the tokenizer.json beside the model, if that is
 * where it has its own. */
tern_status tern__copy_metadata(const tern_model_file *file, const tern_tokenizer *tokenizer,
                                tern__model_writer *w);

#endif

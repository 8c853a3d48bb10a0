/* convert.h - the steps of a conversion: convert_plan.c says what becomes of each tensor, convert.c does it and reads it back. */
#ifndef TERN_MODEL_FILE_CONVERT_H
#define TERN_MODEL_FILE_CONVERT_H

#include "model/file/model_writer.h"
#include "model/file/model_file.h"

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
    bool signs;  /* its weights are written as -1, 0 and 1, because the type does not hold the scale */
    bool proved; /* it is ternary before and afterwards, which will be read back: */
    uint64_t codes_hash, scales_hash;
    bool exact; /* nothing was lost */
    double values, errors, product,
        results; /* sums of squares of before, differences, before x after, after */
} tern__conversion;

/* For every tensor that will be written; those whose scale is part of another are not. The caller frees `*out`. */
tern_status tern__plan_conversion(tern_ctx *ctx, const tern_model_file *file,
                                  const tern_convert_options *options, tern_file_format format,
                                  tern__conversion **out, size_t *count);

/* Codes and scales of a tensor that will be ternary. */
tern_status tern__load_for_conversion(tern_ctx *ctx, const tern_model_file *file, int i, bool force,
                                      tern_tensor **codes, tern_tensor **scales, bool *exact);

/* Metadata as GGUF has them, with the vocabulary from a tokenizer.json where the model has its own there. */
tern_status tern__copy_metadata(const tern_model_file *file, tern__model_writer *w);

#endif

/* ternary_write.h - ternary codes and their scales, in whichever type a file has them. */
#ifndef TERN_MODEL_CONVERT_TERNARY_WRITE_H
#define TERN_MODEL_CONVERT_TERNARY_WRITE_H

#include "model/convert/model_writer.h"

typedef struct tern__ternary_rows {
    const uint8_t *t2; /* (rows, tern__t2_bytes(columns)) canonical codes */
    const float *scales;
    int64_t n_scales; /* 1, or one for each block of 256 */
    int64_t rows, columns;
    bool own_scale; /* the scale is a tensor of its own: codes are written as if it were 1 */
    float beside;   /* with scales of blocks, those have this factor, and it is what is in that tensor */
} tern__ternary_rows;

/* Does the type give every scale back as it is? Else one scale needs a tensor of its own. */
bool tern__stored_holds_scales(tern_stored stored, const float *scales, int64_t n);

/* Are scales of blocks an f16 times what is in a tensor of its own, each of them as it is? Then that f16 is tern__scale_within. */
bool tern__scales_have_factor(const float *scales, int64_t n, float beside);
float tern__scale_within(float scale, float beside);

/* For one row. */
typedef struct tern__ternary_scratch {
    float *numbers;   /* (columns) */
    uint8_t *codes;   /* (TERN__MOST_PLANES, columns) */
    uint8_t *encoded; /* bytes of a stored row */
} tern__ternary_scratch;

/* The bytes of a tensor: codes and scales in a ternary type; in one of numbers those with their one scale, or -1, 0 and 1 if that
 * is a tensor of its own. */
tern_status tern__ternary_write(tern__model_writer *w, tern_stored to, const tern__ternary_rows *all,
                                const tern__ternary_scratch *scratch);

/* The type of GGUF for a ternary weight: the one that is wanted, or one whose blocks its rows fill. */
tern_stored tern__ternary_fallback(tern_stored wanted, int64_t columns);

/* A row of numbers, whole blocks of them, in a type that holds weights. `signs`: they are -1, 0 and 1, and come back as that. */
void tern__numbers_encode(tern_stored to, const float *values, int64_t n, bool signs, uint8_t *out);

#endif

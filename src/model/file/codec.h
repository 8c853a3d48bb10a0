/* codec.h - between the bytes of ternary types in files and canonical codes: a row for each type (codec.c), pure functions over
 * rows of values. docs/model-files.md has the layouts. */
#ifndef TERN_MODEL_FILE_CODEC_H
#define TERN_MODEL_FILE_CODEC_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/model_file.h>

/* Sizes of blocks as the public list has them: TERN__ELEMENTS_I2_S, TERN__BYTES_I2_S. */
#define TERN__BLOCK_SIZES(id, number, name, elements, bytes, kind, dtype) \
    TERN__ELEMENTS_##id = (elements), TERN__BYTES_##id = (bytes),
enum {
    TERN_STORED_LIST(TERN__BLOCK_SIZES) TERN__TQ_BLOCK = TERN__ELEMENTS_TQ2_0,
    TERN__I2_S_BLOCK = TERN__ELEMENTS_I2_S
};
#undef TERN__BLOCK_SIZES
static_assert(TERN__ELEMENTS_TQ1_0 == TERN__TQ_BLOCK, "both types of blocks with scales have the same size");

/* Where a type has its scales. */
typedef enum tern__scales_at {
    TERN__SCALES_BESIDE, /* one, in a tensor of its own */
    TERN__SCALES_BEHIND, /* one f32, the first of TERN__SCALE_TAIL bytes behind all codes */
    TERN__SCALES_BLOCKS, /* an f16 in the last two bytes of every block */
} tern__scales_at;

enum { TERN__SCALE_TAIL = 32, TERN__MOST_PLANES = 4 };

typedef struct tern__codec {
    tern__scales_at scales;
    /* Rows of values that share the bytes of one: with R rows of bytes, row i is plane i / R of row i % R. The last plane may be
     * short of some. */
    int planes;
    /* One row to canonical t2, `columns` a whole number of blocks (any, if there are several planes). false if a code is 3. */
    bool (*decode)(const uint8_t *bytes, int plane, int64_t columns, uint8_t *t2);
    /* The other way, from codes of a byte each: (planes, columns). Places of scales are left as they are. */
    void (*encode)(const uint8_t *codes, int64_t columns, uint8_t *bytes);
    /* Any byte to one of codes of this type, so that about as many of them are 0, 1 and 2. */
    uint8_t (*any)(int byte);
} tern__codec;

/* NULL: the type is not ternary. */
const tern__codec *tern__codec_get(tern_stored stored);

/* Bytes behind the codes of a tensor. */
static inline int tern__codec_tail(tern_stored stored)
{
    const tern__codec *c = tern__codec_get(stored);
    return c && c->scales == TERN__SCALES_BEHIND ? TERN__SCALE_TAIL : 0;
}

/* Rows of values in one row of bytes; 1 of types that have rows of their own, ternary or not. */
static inline int tern__codec_planes(tern_stored stored)
{
    const tern__codec *c = tern__codec_get(stored);
    return c ? c->planes : 1;
}

/* Code i of a row of canonical t2: its value and one. */
static inline unsigned tern__t2_code(const uint8_t *t2, int64_t i)
{
    return (unsigned)t2[i / 4] >> 2 * (i % 4) & 3u;
}

static inline int64_t tern__t2_bytes(int64_t columns)
{
    return columns / 4 + (columns % 4 != 0);
}

/* A row of t2 as numbers: codes times their scale, of which there is one (n_scales 1) or one for each TERN__TQ_BLOCK of them. */
void tern__t2_row_f32(const uint8_t *t2, int64_t columns, const float *scales, int64_t n_scales, float *out);

/* A row of t2 to a row of t5, both canonical. */
void tern__t5_from_t2(const uint8_t *t2, int64_t columns, uint8_t *t5);

/* Is every code 1, the value zero? */
bool tern__t2_is_zero(const uint8_t *t2, int64_t bytes);

#endif

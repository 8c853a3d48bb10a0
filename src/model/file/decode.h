/* decode.h - between the bytes of files and canonical codes: pure functions over rows. docs/model-files.md has the layouts. */
#ifndef TERN_MODEL_FILE_DECODE_H
#define TERN_MODEL_FILE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/model_file.h>

enum { TERN__TQ_BLOCK = 256, TERN__I2_S_BLOCK = 128 };

/* Rows of TQ1_0, TQ2_0 or I2_S (without its tail) to canonical t2: `columns` elements, a multiple of the block. false if
 * a code is 3. `scales` receives the f16 bits of each block's scale (columns / 256); NULL for I2_S. */
bool tern__ternary_decode_row(tern_stored stored, const uint8_t *row, int64_t columns, uint8_t *t2,
                              uint16_t *scales);

/* One row of HF_T2: plane 0..3 of the bytes of `columns` columns. */
bool tern__hf_decode_row(const uint8_t *bytes, int plane, int64_t columns, uint8_t *t2);

/* The other way: a row of canonical t2 as TQ1_0, TQ2_0 or I2_S (without its tail); `scales` as above. `codes` is scratch
 * for `columns` bytes. */
void tern__ternary_encode_row(tern_stored stored, const uint8_t *t2, int64_t columns, const uint16_t *scales,
                              uint8_t *codes, uint8_t *row);

/* A row of t2 to a row of t5, both canonical. */
void tern__t5_from_t2(const uint8_t *t2, int64_t columns, uint8_t *t5);

/* Is every code 1, the value zero? */
bool tern__t2_is_zero(const uint8_t *t2, int64_t bytes);

#endif

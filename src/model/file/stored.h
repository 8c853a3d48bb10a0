/* stored.h - sizes of tensors as files store them (the table is in <tern/model_file.h>). */
#ifndef TERN_MODEL_FILE_STORED_H
#define TERN_MODEL_FILE_STORED_H

#include <tern/model_file.h>

/* The type with a number of GGUF's; false if there is none. */
bool tern__stored_from_gguf(int32_t number, tern_stored *out);

/* Elements and bytes of a tensor. TERN_FORMAT, starting with `who`, if a size is negative, a product wraps, or rows are not
 * whole blocks. HF_T2: rows are a multiple of four. */
tern_status tern__stored_size(const char *who, tern_stored stored, int rank, const int64_t *shape,
                              int64_t *elements, uint64_t *bytes);

/* Are its elements numbers that can be read row by row, neither codes nor unknown? */
bool tern__stored_has_values(tern_stored stored);

/* Can numbers of a model be coded so? Ternary types are for codes, and f64 is more than any weight has. */
bool tern__stored_holds_weights(tern_stored stored);

/* Numbers in blocks with scales of their own, such as Q8_0? */
bool tern__stored_has_blocks(tern_stored stored);

/* Product of all axes but the last, and the last one; 1 and 1 for rank 0, 0 and 0 for a tensor without elements. Of a shape
 * whose size was checked. */
void tern__rows_and_columns(int rank, const int64_t *shape, int64_t *rows, int64_t *columns);

#endif

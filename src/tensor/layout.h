/* layout.h - where the elements of a typed tensor lie inside a block of bytes: an offset and strides.
 *
 * Strides and offset count units (elements; bytes for t2 and t5, whose last axis is always contiguous and
 * has the formal stride 1). Strides may be 0 (broadcast) or negative (slice with negative step). */
#ifndef TERN_TENSOR_LAYOUT_H
#define TERN_TENSOR_LAYOUT_H

#include "tensor/type.h"

typedef struct tern__layout {
    int64_t offset; /* units from the start of the storage to element [0,0,...] */
    int64_t strides[TERN__MAX_RANK];
} tern__layout;

void tern__layout_contiguous(const tern__type *type, tern__layout *out);             /* offset 0, row-major */
bool tern__layout_is_contiguous(const tern__type *type, const tern__layout *layout); /* any offset */

/* Do all elements lie in [0, storage_bytes)? Used on layouts that come from outside. */
bool tern__layout_fits(const tern__type *type, const tern__layout *layout, size_t storage_bytes);

/* The byte range [*low, *high) that the elements span, relative to the storage. Empty tensors: low ==
 * high. */
void tern__layout_span(const tern__type *type, const tern__layout *layout, int64_t *low, int64_t *high);

/* May two tensors of one storage share bytes? Conservative (span overlap); exact `same view` is the other
 * test. */
bool tern__layout_overlap(const tern__type *at, const tern__layout *al, const tern__type *bt,
                          const tern__layout *bl);
bool tern__layout_same(const tern__type *at, const tern__layout *al, const tern__type *bt,
                       const tern__layout *bl);

/* ---- views: given a type and layout, the type and layout of the view ------------------------------------
 *
 * Outputs may be the inputs. Packed types: a view takes or leaves whole rows, so the last axis is neither
 * sliced, broadcast nor moved; callers check that first. */

/* Can `from` be seen as `to` (equal element count) without moving data? false: a copy is needed. */
bool tern__view_reshape(const tern__type *from, const tern__layout *layout, const tern__type *to,
                        tern__layout *out);

/* `axes` is a permutation of 0..rank-1. Packed types: the last axis must stay last. */
void tern__view_permute(const tern__type *from, const tern__layout *layout, const int64_t *axes,
                        tern__type *to, tern__layout *out);

/* Per axis start, stop, step, all resolved: 0 <= start, count elements follow by step. */
void tern__view_slice(const tern__type *from, const tern__layout *layout, const int64_t *start,
                      const int64_t *count, const int64_t *step, tern__type *to, tern__layout *out);

/* `to` has the target shape, from's axes aligned to the right; repeated axes get stride 0. */
void tern__view_broadcast(const tern__type *from, const tern__layout *layout, const tern__type *to,
                          tern__layout *out);

#endif

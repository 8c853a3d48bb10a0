/* buffer.h - an operand as a kernel sees it: a pointer to element [0,0,...], a type and strides.
 *
 * No storage, no ownership. Strides count units (layout.h). */
#ifndef TERN_TENSOR_BUFFER_H
#define TERN_TENSOR_BUFFER_H

#include "tensor/layout.h"

typedef struct tern__buffer {
    void *data; /* element [0,0,...] */
    const tern__type *type;
    const int64_t *strides; /* (rank) in units */
} tern__buffer;

#endif

/* attr.h - the value of an operation's attribute. Which attributes an op has, and of which kind, is its row
 * in graph/ops.def; nodes, plans and kernels carry the values in the order of the row, and find one by its place
 * (op_attrs.h). */
#ifndef TERN_TENSOR_ATTR_H
#define TERN_TENSOR_ATTR_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tern__attr_kind {
    TERN__ATTR_INT,   /* i                                        axis=-1          */
    TERN__ATTR_FLOAT, /* f                                        eps=1e-05        */
    TERN__ATTR_BOOL,  /* i, 0 or 1                                keepdims=true    */
    TERN__ATTR_INTS,  /* ints, count                              axes=[0,1]       */
    TERN__ATTR_DTYPE, /* i, a tern_dtype                          dtype=f32        */
    TERN__ATTR_TEXT,  /* text, count bytes, NUL-terminated        name="x"         */
    TERN__ATTR_BODY,  /* region                                   (graph/region.h) */
} tern__attr_kind;

typedef struct tern__attr {
    union {
        int64_t i;
        double f;
        int64_t *ints; /* `count` of them; owned by the node or arena that holds the attribute */
        const char *text;
        const struct tern__region *region; /* or NULL; owned like ints */
    };
    uint32_t count; /* INTS, TEXT; 0 otherwise */
} tern__attr;

#endif

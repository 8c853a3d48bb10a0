/* text_data.h - the elements of a leaf, written out: {1, 2, -0.5}. Internal to text_*.c. */
#ifndef TERN_GRAPH_TEXT_DATA_H
#define TERN_GRAPH_TEXT_DATA_H

#include <tern/pool.h>

#include "base/strbuf.h"
#include "graph/text_lex.h"
#include "tensor/storage.h"

/* Reads "{...}" with exactly as many elements as `type` has, row by row, into a new storage of the pool (NULL: of the
 * heap) in the contiguous layout. Allocates only after the elements have been counted. `scratch` is for rows. */
tern_status tern__lex_data(tern__lexer *lex, tern__arena *scratch, const tern__type *type, tern_pool *pool,
                           tern__storage **out);

/* Appends "{...}". */
void tern__data_add(tern__strbuf *s, const tern__type *type, const tern__layout *layout,
                    const tern__storage *storage);

#endif

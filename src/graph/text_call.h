/* text_call.h - a call as text, without the graph around it. */
#ifndef TERN_GRAPH_TEXT_CALL_H
#define TERN_GRAPH_TEXT_CALL_H

#include "base/strbuf.h"
#include "graph/op.h"

/* "f32[4,8],f32[8]->f32[4,8]": operands and results. */
void tern__call_types_add(tern__strbuf *s, const tern__call *call);

/* Everything else that distinguishes calls of one op: attributes that are not their defaults, and the body of a fused
 * region. "" if there is nothing. */
void tern__call_params_add(tern__strbuf *s, const tern__call *call);

/* Reads the ops of a region's body back from such parameters, one with each call: a pointer to its name, of *length bytes,
 * or NULL past the last. *at begins as the parameters. */
const char *tern__call_params_next_op(const char **at, size_t *length);

#endif

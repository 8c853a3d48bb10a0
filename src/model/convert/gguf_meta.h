/* gguf_meta.h - what GGUF says about a model: its numbers and its tokenizer. */
#ifndef TERN_MODEL_CONVERT_GGUF_META_H
#define TERN_MODEL_CONVERT_GGUF_META_H

#include <tern/tokenizer.h>

#include "model/convert/model_writer.h"

/* Name, architecture and sizes. */
void tern__gguf_add_shape(tern__model_writer *w, const tern_model_shape *s, double norm_eps);

/* Tokens, merges and rules. Ids that `said` (or NULL) has as metadata, which go on too, are left to it. TERN_UNSUPPORTED for rules
 * that GGUF cannot state, where they would make other tokens. */
tern_status tern__gguf_add_vocabulary(tern__model_writer *w, const tern_vocabulary *d,
                                      const tern_model_file *said);

#endif

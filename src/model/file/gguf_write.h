/* gguf_write.h - writes GGUF version 3: metadata, then tensors are declared, then their bytes follow in that order. The file
 * appears at tern__gguf_commit. */
#ifndef TERN_MODEL_FILE_GGUF_WRITE_H
#define TERN_MODEL_FILE_GGUF_WRITE_H

#include <tern/model_convert.h>

#include "base/file.h"
#include "base/strbuf.h"

typedef struct tern__gguf {
    tern__writer out;
    tern__strbuf metas, tensors; /* as they will stand in the file */
    uint64_t n_metas, n_tensors;
    uint64_t declared; /* bytes of data, each tensor padded */
    uint64_t start;    /* of the data; 0 until then */
    tern_model_progress progress;
    void *user;
    uint64_t done, total; /* for progress */
} tern__gguf;

tern_status tern__gguf_create(const char *path, tern__gguf *w);
void tern__gguf_abort(tern__gguf *w); /* leaves nothing; fine after commit */

/* Lack of memory is found by tern__gguf_begin. */
void tern__gguf_meta_string(tern__gguf *w, const char *key, const char *text, size_t length);
void tern__gguf_meta_u32(tern__gguf *w, const char *key, uint32_t value);
void tern__gguf_meta_f32(tern__gguf *w, const char *key, float value);
void tern__gguf_meta_bool(tern__gguf *w, const char *key, bool value);
/* Key, type and count of an array, whose elements follow by tern__strbuf_add_n to w->metas; or of a single value: count -1. */
void tern__gguf_meta_begin(tern__gguf *w, const char *key, tern_meta_type type, int64_t count);
void tern__gguf_element_string(tern__gguf *w, const char *text, size_t length);

tern_status tern__gguf_declare(tern__gguf *w, const char *name, tern_stored stored, int rank,
                               const int64_t *shape);

/* Writes all that stands before the data. */
tern_status tern__gguf_begin(tern__gguf *w);

/* Bytes of the tensors, in order; tern__gguf_pad behind each. Calls the progress function. */
tern_status tern__gguf_write(tern__gguf *w, const void *data, size_t bytes);
tern_status tern__gguf_pad(tern__gguf *w);

/* All that was declared must have been written. */
tern_status tern__gguf_commit(tern__gguf *w);

/* Counts `bytes` of work; TERN_STATE if the caller wants no more. */
tern_status tern__gguf_progress(tern__gguf *w, uint64_t bytes);

#endif

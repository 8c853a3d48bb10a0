/* model_writer.h - writes model files: tensors are declared, then what stands before them is written, then their bytes follow in
 * that order. The file appears at tern__model_writer_commit. GGUF version 3 takes metadata first; safetensors have theirs in
 * files of their own (hf_write.h), llama2.c's .bin has seven numbers (llama2c_write.h). */
#ifndef TERN_MODEL_CONVERT_MODEL_WRITER_H
#define TERN_MODEL_CONVERT_MODEL_WRITER_H

#include <tern/model_convert.h>

#include "base/file.h"
#include "base/strbuf.h"

typedef struct tern__model_writer tern__model_writer;

/* How much there is to do, in all files that are written together. */
typedef struct tern__model_work {
    tern_model_progress progress; /* or NULL */
    void *user;
    uint64_t done, total;
} tern__model_work;

typedef struct tern__model_format {
    uint64_t alignment; /* of each tensor */
    tern_status (*declare)(tern__model_writer *w, const char *name, tern_stored stored, int rank,
                           const int64_t *shape, uint64_t bytes);
    tern_status (*begin)(tern__model_writer *w); /* writes all that stands before the data */
    tern_status (*behind)(
        tern__model_writer *w); /* or NULL: what stands behind the tensor that was just written */
    /* Has the format type `to`? AS_IS: none was found for the one that tensor `t` has. The failure says what to choose instead; `layer`:
     * ternary types are among that. */
    tern_status (*check_type)(const tern_file_tensor *t, tern_stored to, bool layer);
} tern__model_format;

extern const tern__model_format tern__gguf_format, tern__safetensors_format;

struct tern__model_writer {
    const tern__model_format *format;
    tern__writer out;
    tern__strbuf metas, tensors; /* as they will stand in the file; of the former what is not there yet */
    tern_status flushed;         /* what writing metadata gave */
    uint64_t n_metas, n_tensors;
    uint64_t declared; /* bytes of data, each tensor padded */
    uint64_t start;    /* of the data; 0 until then */
    tern__model_work *work;
    const struct tern__llama2c_shape *llama2c; /* of files of llama2.c */
    uint64_t tables_at;                        /* where these have tables that are no tensors */
};

/* `work` outlives the writer. */
tern_status tern__gguf_create(const char *path, tern__model_work *work, tern__model_writer *w);
tern_status tern__safetensors_create(const char *path, tern__model_work *work, tern__model_writer *w);
void tern__model_writer_abort(tern__model_writer *w); /* leaves nothing; fine after commit */

/* An entry of "__metadata__", for safetensors. Lack of memory is found by tern__model_writer_begin. */
void tern__safetensors_meta(tern__model_writer *w, const char *key, const char *text);

/* Metadata, for GGUF. Lack of memory is found by tern__model_writer_begin. */
void tern__gguf_meta_string(tern__model_writer *w, const char *key, const char *text, size_t length);
void tern__gguf_meta_u32(tern__model_writer *w, const char *key, uint32_t value);
void tern__gguf_meta_f32(tern__model_writer *w, const char *key, float value);
void tern__gguf_meta_bool(tern__model_writer *w, const char *key, bool value);
/* Key, type and count of an array, whose elements follow by tern__strbuf_add_n to w->metas; or of a single value: count -1. */
void tern__gguf_meta_begin(tern__model_writer *w, const char *key, tern_meta_type type, int64_t count);
/* Metadata of any length need little memory: what has gathered is written once it is much. Call it between elements. A failure is
 * found by tern__model_writer_begin. */
void tern__gguf_flush(tern__model_writer *w);
void tern__gguf_element_string(tern__model_writer *w, const char *text, size_t length);

tern_status tern__model_writer_declare(tern__model_writer *w, const char *name, tern_stored stored, int rank,
                                       const int64_t *shape);
tern_status tern__model_writer_begin(tern__model_writer *w);

/* Bytes of the tensors, in order; tern__model_writer_pad behind each. Calls the progress function. */
tern_status tern__model_writer_write(tern__model_writer *w, const void *data, size_t bytes);
tern_status tern__model_writer_pad(tern__model_writer *w);
/* The whole of a tensor that is the scale of another. */
tern_status tern__model_writer_scale(tern__model_writer *w, float scale);

/* All that was declared must have been written. */
tern_status tern__model_writer_commit(tern__model_writer *w);

/* Counts `bytes` of work; TERN_CANCELLED if the caller wants no more. `path` is for the message. */
tern_status tern__model_work_add(tern__model_work *work, const char *path, uint64_t bytes);
tern_status tern__model_writer_progress(tern__model_writer *w, uint64_t bytes);

#endif

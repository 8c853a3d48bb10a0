/* convert_meta.c - metadata of any file as GGUF's. */
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "model/convert/convert.h"
#include "model/convert/gguf_meta.h"
#include "model/tokenizer/tokenizer.h"

/* What speaks of the file that was read, and not of the model. */
static bool is_left_out(const char *key)
{
    static const char *const starts[] = {"config.", "metadata.", "tern.", "general.file_type",
                                         "general.alignment"};
    for (size_t i = 0; i < TERN__COUNT(starts); i++) {
        if (strncmp(key, starts[i], strlen(starts[i])) == 0)
            return true;
    }
    return false;
}

static void add_bits(tern__model_writer *w, uint64_t bits, int width)
{
    tern__strbuf_add_n(&w->metas, (const char *)&bits, (size_t)width);
}

static tern_status copy_element(const tern_model_file *file, tern__model_writer *w, int i, int64_t j,
                                tern_meta_type type)
{
    const char *text;
    size_t length;
    int64_t whole;
    double real;
    bool flag;
    switch (type) {
    case TERN_META_STRING:
        TERN_TRY(tern_model_file_meta_string(file, i, j, &text, &length));
        tern__gguf_element_string(w, text, length);
        return TERN_OK;
    case TERN_META_F32:
        TERN_TRY(tern_model_file_meta_float(file, i, j, &real));
        tern__strbuf_add_n(&w->metas, (const char *)&(float){(float)real}, 4);
        return TERN_OK;
    case TERN_META_F64:
        TERN_TRY(tern_model_file_meta_float(file, i, j, &real));
        tern__strbuf_add_n(&w->metas, (const char *)&real, 8);
        return TERN_OK;
    case TERN_META_BOOL:
        TERN_TRY(tern_model_file_meta_bool(file, i, j, &flag));
        add_bits(w, flag, 1);
        return TERN_OK;
    default:
        TERN_TRY(tern_model_file_meta_int(file, i, j, &whole));
        add_bits(w, (uint64_t)whole, tern__meta_bytes(type));
        return TERN_OK;
    }
}

/* Readers of GGUF expect u32 and f32 where JSON only knows numbers. */
static tern_meta_type type_for_gguf(const tern_model_file *file, int i, const tern_meta_info *info)
{
    int64_t value;
    if (file->format == TERN_FILE_GGUF || info->is_array)
        return info->type;
    if (info->type == TERN_META_F64)
        return TERN_META_F32;
    bool small = info->type == TERN_META_I64 && tern_model_file_meta_int(file, i, 0, &value) == TERN_OK &&
                 value >= 0 && value <= UINT32_MAX;
    return small ? TERN_META_U32 : info->type;
}

/* ---- the vocabulary of a tokenizer.json -------------------------------------------------------------------------- */

typedef struct vocabulary_job {
    const tern_model_file *file;
    tern__model_writer *w;
} vocabulary_job;

static tern_status add_vocabulary(const tern_vocabulary *d, void *user)
{
    const vocabulary_job *j = user;
    return tern__gguf_add_vocabulary(j->w, d, j->file);
}

bool tern__has_vocabulary(const tern_model_file *file)
{
    int entry;
    return tern_model_file_meta_find(file, "tokenizer.ggml.tokens", &entry) == TERN_OK;
}

/* A model without a tokenizer, or with one that is not known, goes without; the latter is said. */
static tern_status copy_vocabulary(const tern_model_file *file, const tern_tokenizer *tokenizer,
                                   tern__model_writer *w)
{
    const bool own = tern__has_vocabulary(file);
    if (tokenizer)
        return tern__vocabulary_of_tokenizer(tokenizer, add_vocabulary,
                                             &(vocabulary_job){own ? NULL : file, w});
    if (file->format != TERN_FILE_SAFETENSORS || own)
        return TERN_OK;
    tern_status status = tern__vocabulary_of_file(file, false, add_vocabulary, &(vocabulary_job){file, w});
    if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE)
        tern__log(TERN_LOG_WARN, "the new file has no tokenizer: %s", tern_last_error());
    return status == TERN_NOT_FOUND || status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE ? TERN_OK
                                                                                                : status;
}

tern_status tern__copy_metadata(const tern_model_file *file, const tern_tokenizer *tokenizer,
                                tern__model_writer *w)
{
    static const char of_tokenizers[] = "tokenizer.";
    const bool replaced = tokenizer && tern__has_vocabulary(file);
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        TERN_TRY(tern_model_file_meta(file, i, &info));
        if (is_left_out(info.key) ||
            (replaced && strncmp(info.key, of_tokenizers, strlen(of_tokenizers)) == 0))
            continue;
        tern_meta_type type = type_for_gguf(file, i, &info);
        tern__gguf_meta_begin(w, info.key, type, info.is_array ? info.count : -1);
        for (int64_t j = 0; j < info.count; j++) {
            TERN_TRY(copy_element(file, w, i, j, type));
            tern__gguf_flush(w);
        }
    }
    return copy_vocabulary(file, tokenizer, w);
}

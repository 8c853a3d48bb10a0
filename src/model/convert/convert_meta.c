/* convert_meta.c - metadata of any file as GGUF's. */
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "model/convert/convert.h"
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

static void add_texts(tern__model_writer *w, const char *key, const tern_token_text *texts, size_t n)
{
    tern__gguf_meta_begin(w, key, TERN_META_STRING, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        tern__gguf_element_string(w, texts[i].bytes ? texts[i].bytes : "", texts[i].length);
}

/* What config.json said of an id stays. */
static void add_id(const vocabulary_job *j, const char *key, int32_t id)
{
    int entry;
    if (id != TERN_NO_TOKEN && tern_model_file_meta_find(j->file, key, &entry) != TERN_OK)
        tern__gguf_meta_u32(j->w, key, (uint32_t)id);
}

/* GGUF has no word for some things that a tokenizer.json says. Where they would make other tokens the vocabulary is refused. */
static tern_status check_rules(const tern_vocabulary *d)
{
    tern_vocabulary stated = *d;
    tern_tokenizer *t = NULL;
    stated.ignore_merges = TERN_BY_MODEL;
    tern_status status = tern_tokenizer_create(&stated, NULL, &t);
    if (status == TERN_UNAVAILABLE) /* without PCRE2 nobody can tell */
        return TERN_OK;
    TERN_TRY(status);
    const bool same = d->ignore_merges == TERN_BY_MODEL || t->ignore_merges == (d->ignore_merges == TERN_YES);
    tern_tokenizer_free(t);
    TERN__FAIL_IF(!same, TERN_UNSUPPORTED, "GGUF cannot say that '%s' %s merges for words that are tokens",
                  d->pre ? d->pre : d->model, d->ignore_merges == TERN_YES ? "ignores" : "minds");
    size_t odd = 0;
    for (size_t i = 0; i < d->n_flags; i++)
        odd += d->flags[i].lstrip || d->flags[i].rstrip || d->flags[i].single_word;
    if (odd > 0)
        tern__log(TERN_LOG_WARN, "GGUF cannot say that %zu special tokens swallow blanks or stand alone",
                  odd);
    return TERN_OK;
}

static tern_status add_vocabulary(const tern_vocabulary *d, void *user)
{
    const vocabulary_job *j = user;
    tern__model_writer *w = j->w;
    TERN_TRY(check_rules(d));
    tern__gguf_meta_string(w, "tokenizer.ggml.model", d->model, strlen(d->model));
    if (d->pre)
        tern__gguf_meta_string(w, "tokenizer.ggml.pre", d->pre, strlen(d->pre));
    add_texts(w, "tokenizer.ggml.tokens", d->tokens, d->n_tokens);
    tern__gguf_meta_begin(w, "tokenizer.ggml.token_type", TERN_META_I32, (int64_t)d->n_tokens);
    for (size_t i = 0; i < d->n_tokens; i++)
        tern__strbuf_add_n(&w->metas, (const char *)&(int32_t){d->types ? d->types[i] : TERN_TOKEN_NORMAL},
                           4);
    if (d->n_merges > 0)
        add_texts(w, "tokenizer.ggml.merges", d->merges, d->n_merges);
    add_id(j, "tokenizer.ggml.bos_token_id", d->bos);
    add_id(j, "tokenizer.ggml.eos_token_id", d->eos);
    add_id(j, "tokenizer.ggml.unknown_token_id", d->unk);
    if (d->add_bos != TERN_BY_MODEL)
        tern__gguf_meta_bool(w, "tokenizer.ggml.add_bos_token", d->add_bos == TERN_YES);
    if (d->add_eos != TERN_BY_MODEL)
        tern__gguf_meta_bool(w, "tokenizer.ggml.add_eos_token", d->add_eos == TERN_YES);
    if (d->add_space != TERN_BY_MODEL)
        tern__gguf_meta_bool(w, "tokenizer.ggml.add_space_prefix", d->add_space == TERN_YES);
    if (d->chat_template)
        tern__gguf_meta_string(w, "tokenizer.chat_template", d->chat_template, strlen(d->chat_template));
    return TERN_OK;
}

/* A model without a tokenizer, or with one that is not known, goes without; the latter is said. */
static tern_status copy_vocabulary(const tern_model_file *file, tern__model_writer *w)
{
    int entry;
    if (file->format != TERN_FILE_SAFETENSORS ||
        tern_model_file_meta_find(file, "tokenizer.ggml.tokens", &entry) == TERN_OK)
        return TERN_OK;
    tern_status status = tern__vocabulary_of_file(file, false, add_vocabulary, &(vocabulary_job){file, w});
    if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE)
        tern__log(TERN_LOG_WARN, "the new file has no tokenizer: %s", tern_last_error());
    return status == TERN_NOT_FOUND || status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE ? TERN_OK
                                                                                                : status;
}

tern_status tern__copy_metadata(const tern_model_file *file, tern__model_writer *w)
{
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        TERN_TRY(tern_model_file_meta(file, i, &info));
        if (is_left_out(info.key))
            continue;
        tern_meta_type type = type_for_gguf(file, i, &info);
        tern__gguf_meta_begin(w, info.key, type, info.is_array ? info.count : -1);
        for (int64_t j = 0; j < info.count; j++) {
            TERN_TRY(copy_element(file, w, i, j, type));
            tern__gguf_flush(w);
        }
    }
    return copy_vocabulary(file, w);
}

/* hf_write.c - config.json and the tokenizer's files, from the metadata of any model file. */
#include "model/arch/parts.h"
#include "model/convert/hf_write.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tern/tokenizer.h>

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/status.h"
#include "model/convert/convert.h"
#include "model/convert/model_writer.h"
#include "model/arch/hparams.h"
#include "model/tokenizer/tokenizer.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Is there a file with exactly these bytes? TERN_NOT_FOUND if there is none. */
static tern_status compare(const char *path, const char *text, size_t length)
{
    char *there = NULL;
    size_t n = 0;
    TERN_TRY(tern__file_read_all(path, TERN__MOST_TOKENIZER, &there, &n));
    bool same = n == length && memcmp(there, text, length) == 0;
    tern__free(there);
    TERN__FAIL_IF(!same, TERN_STATE,
                  "%s is there already and belongs to another model: choose another folder", path);
    return TERN_OK;
}

tern_status tern__hf_beside_add(tern__beside *all, const char *path, const char *name, tern_convert_part part,
                                tern__strbuf *text)
{
    tern__beside_file *f = &all->files[all->n];
    f->part = part;
    f->path = tern__path_beside(path, name);
    f->text = *text;
    *text = TERN__STRBUF_EMPTY;
    all->n++;
    if (!f->path || f->text.failed)
        return tern__out_of_memory(f->text.length);
    tern_status status = compare(f->path, f->text.text, f->text.length);
    f->there = status == TERN_OK;
    return status == TERN_NOT_FOUND ? TERN_OK : status;
}

static tern_status write_file(tern__beside_file *f)
{
    tern__writer out = {.fd = -1};
    tern_status status = tern__writer_open(f->path, &out);
    if (status == TERN_OK)
        status = tern__writer_write(&out, f->text.text, f->text.length);
    if (status == TERN_OK)
        status = tern__writer_commit(&out);
    tern__writer_abort(&out);
    f->written = status == TERN_OK;
    return status;
}

tern_status tern__hf_beside_write(tern__beside *all)
{
    tern_status status = TERN_OK;
    for (size_t i = 0; i < all->n && status == TERN_OK; i++)
        if (!all->files[i].there)
            status = write_file(&all->files[i]);
    return status;
}

void tern__hf_beside_free(tern__beside *all, bool keep)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->files[i].written && !keep)
            unlink(all->files[i].path);
        tern__free(all->files[i].path);
        tern__strbuf_free(&all->files[i].text);
    }
}

/* ---- config.json ------------------------------------------------------------------------------------------------- */

typedef struct known {
    int64_t whole;
    double real;
} known;

/* A number that every model has, whether its file says it or not; else as the file says it. False if there is none. */
static bool value_of(const tern_model_file *file, const tern__hparams *h, int64_t vocabulary, tern__hparam id,
                     known *out)
{
    char key[TERN__ARCH_KEY];
    switch (id) {
    case TERN__HPARAM_HEAD_WIDTH:
        out->whole = h->head_width;
        return true;
    case TERN__HPARAM_ROPE_THETA:
        out->real = h->rope_theta;
        return true;
    case TERN__HPARAM_VOCABULARY:
        out->whole = vocabulary;
        return true;
    default:
        tern__hparam_key(h->architecture, id, key);
        return (tern__hparam_get(id)->kind == TERN__HPARAM_REAL
                    ? tern_model_file_get_float(file, key, &out->real)
                    : tern_model_file_get_int(file, key, &out->whole)) == TERN_OK;
    }
}

static void add_numbers(tern__strbuf *s, const tern_model_file *file, const tern__hparams *h,
                        int64_t vocabulary)
{
    for (int i = 0; i < TERN__HPARAM_COUNT; i++) {
        const tern__hparam_info *number = tern__hparam_get((tern__hparam)i);
        known value;
        if (!number->hf || !value_of(file, h, vocabulary, (tern__hparam)i, &value))
            continue;
        tern__strbuf_addf(s, ",\n  \"%s\": ", number->hf);
        if (number->kind == TERN__HPARAM_REAL)
            tern__strbuf_addf(s, "%.17g", value.real);
        else
            tern__strbuf_addf(s, "%lld", (long long)value.whole);
    }
}

/* Of a tokenizer that is not the model's own. */
static void add_own_ends(const tern_tokenizer *t, tern__strbuf *s)
{
    for (size_t i = 0; i < t->n_ends; i++)
        tern__strbuf_addf(s, "%s%d",
                          i               ? ", "
                          : t->n_ends > 1 ? ",\n  \"eos_token_id\": ["
                                          : ",\n  \"eos_token_id\": ",
                          t->ends[i]);
    tern__strbuf_add(s, t->n_ends > 1 ? "]" : "");
}

/* One id, or a list of them. */
static tern_status add_ends(const tern_model_file *file, tern__strbuf *s)
{
    int64_t ids[TERN__MOST_LISTED_ENDS + 2];
    int32_t listed[TERN__MOST_LISTED_ENDS];
    size_t n = 0, n_listed;
    if (tern_model_file_get_int(file, "tokenizer.ggml.eos_token_id", &ids[n]) != TERN_OK)
        return TERN_OK;
    n++;
    TERN_TRY(tern__file_ends(file, listed, &n_listed));
    if (tern_model_file_get_int(file, "tokenizer.ggml.eot_token_id", &ids[n]) == TERN_OK && ids[n] != ids[0])
        n++;
    for (size_t i = 0; i < n_listed; i++)
        if (listed[i] != ids[0] && listed[i] != ids[n > 1]) /* the list has the end of a turn, too */
            ids[n++] = listed[i];
    tern__strbuf_addf(s, ",\n  \"eos_token_id\": %s%lld", n > 1 ? "[" : "", (long long)ids[0]);
    for (size_t i = 1; i < n; i++)
        tern__strbuf_addf(s, ", %lld%s", (long long)ids[i], i + 1 == n ? "]" : "");
    return TERN_OK;
}

static tern_status add_config(const tern_model_file *file, const tern_tokenizer *tokenizer, const char *path,
                              const char *mode, tern__beside *all)
{
    const tern__architecture *a = NULL;
    TERN_TRY(tern__architecture_of(file, &a));
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern_file_tensor table;
    int i, head;
    int64_t id;
    tern__hparams h = {0};
    TERN_TRY(tern__hparams_read(file, &h)); /* what config.json could not say is refused, not lost */
    TERN__FAIL_IF(
        h.rope_width != h.head_width, TERN_UNSUPPORTED,
        "%s: positions rotate %lld of %lld coordinates, which a config.json of this class cannot say",
        file->parts[0].path, (long long)h.rope_width, (long long)h.head_width);
    bool tied;
    TERN_TRY(tern__table_of(file, &i));
    TERN_TRY(tern_model_file_tensor(file, i, &table));
    TERN_TRY(tern__head_of(file, &head, &tied));
    tern__strbuf_addf(
        &s, "{\n  \"architectures\": [\"%s\"],\n  \"model_type\": \"%s\",\n  \"hidden_act\": \"%s\"",
        a->hf_class, a->hf_written_type, tern__activation_name(a->activation));
    add_numbers(&s, file, &h, table.shape[0]);
    tern__strbuf_addf(&s, ",\n  \"tie_word_embeddings\": %s", tied ? "true" : "false");
    tern_status status = TERN_OK;
    const bool replaced = tokenizer && tern__has_vocabulary(file);
    if (replaced)
        id = tokenizer->bos;
    else if (tern_model_file_get_int(file, "tokenizer.ggml.bos_token_id", &id) != TERN_OK)
        id = TERN_NO_TOKEN;
    if (id != TERN_NO_TOKEN)
        tern__strbuf_addf(&s, ",\n  \"bos_token_id\": %lld", (long long)id);
    if (replaced)
        add_own_ends(tokenizer, &s);
    else
        status = add_ends(file, &s);
    if (status != TERN_OK) {
        tern__strbuf_free(&s);
        return status;
    }
    if (mode)
        tern__strbuf_addf(&s,
                          ",\n  \"quantization_config\": {\"quant_method\": \"bitnet\", \"linear_class\": "
                          "\"autobitlinear\", \"quantization_mode\": \"%s\"}",
                          mode);
    tern__strbuf_add(&s, "\n}\n");
    return tern__hf_beside_add(all, path, "config.json", TERN_CONVERT_BESIDE, &s);
}

/* ---- the tokenizer ----------------------------------------------------------------------------------------------- */

typedef struct request {
    const char *path;
    tern__beside *all;
} request;

/* Do both make the same ids of a text? */
static tern_status compare_ids(const tern_tokenizer *a, const tern_tokenizer *b, const char *text,
                               size_t length, bool add_special)
{
    const tern_encode_options options = {.no_special = !add_special, .parse_special = true};
    int32_t *ids[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    tern_status status[2] = {tern_tokenizer_encode(a, text, length, &options, &ids[0], &n[0]),
                             tern_tokenizer_encode(b, text, length, &options, &ids[1], &n[1])};
    const bool same = status[0] == status[1] && n[0] == n[1] &&
                      (n[0] == 0 || memcmp(ids[0], ids[1], n[0] * sizeof **ids) == 0);
    tern_tokens_free(ids[0]);
    tern_tokens_free(ids[1]);
    if (status[0] == TERN_OUT_OF_MEMORY || status[1] == TERN_OUT_OF_MEMORY)
        return TERN_OUT_OF_MEMORY;
    TERN__FAIL_IF(!same, TERN_UNSUPPORTED,
                  "a tokenizer.json cannot state this vocabulary: '%.*s' would become other tokens",
                  (int)(length < 60 ? length : 60), text);
    return TERN_OK;
}

/* Token i, and it with others behind it: all of them in a small vocabulary, a sample of them in a large one. */
static tern_status compare_token(const tern_tokenizer *a, const tern_tokenizer *b, int32_t i, int32_t n)
{
    enum { PAIRS = 1 << 17, EVERY = 16 };
    const int32_t tried = n <= PAIRS / n ? n : i % EVERY == 0;
    char text[2 * TERN__MAX_TOKEN_BYTES];
    tern_token_info first, second;
    TERN_TRY(tern_tokenizer_token(a, i, &first));
    if (first.text.length > TERN__MAX_TOKEN_BYTES)
        return TERN_OK;
    memcpy(text, first.text.bytes, first.text.length);
    TERN_TRY(compare_ids(a, b, text, first.text.length, false));
    for (int32_t k = 0; k < tried; k++) {
        const int32_t other = tried == n ? k : (int32_t)((int64_t)i * 7919 % n);
        TERN_TRY(tern_tokenizer_token(a, other, &second));
        if (second.text.length > TERN__MAX_TOKEN_BYTES)
            continue;
        memcpy(text + first.text.length, second.text.bytes, second.text.length);
        TERN_TRY(compare_ids(a, b, text, first.text.length + second.text.length, false));
    }
    return TERN_OK;
}

/* The text that will be tokenizer.json, read as everybody reads it, against the tokenizer that it was made from. */
static tern_status prove(const tern_tokenizer *t, const tern__strbuf *json)
{
    static const char sample[] = "Hello,  wor1234ld's \xc3\xa9\xe6\x97\xa5\n\n end";
    tern_tokenizer *back = NULL;
    tern_tokenizer_info info;
    TERN_TRY(tern_tokenizer_parse_json(json->text, json->length, NULL, &back));
    tern_status status = tern_tokenizer_get_info(t, &info);
    for (int32_t i = 0; i < info.n_tokens && status == TERN_OK; i++)
        status = compare_token(t, back, i, info.n_tokens);
    if (status == TERN_OK)
        status = compare_ids(t, back, sample, sizeof sample - 1, true); /* with the tokens around a text */
    tern_tokenizer_free(back);
    return status;
}

/* A vocabulary that was read from metadata, as JSON. */
static tern_status add_vocabulary(const tern_vocabulary *d, void *user)
{
    const request *r = user;
    tern_tokenizer *t = NULL;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    TERN_TRY(tern_tokenizer_create(d, NULL, &t));
    tern_status status = tern__vocabulary_write_json(d, t, &s);
    if (status == TERN_OK)
        status = s.failed ? tern__out_of_memory(s.length) : prove(t, &s);
    tern_tokenizer_free(t);
    if (status == TERN_OK)
        status = tern__hf_beside_add(r->all, r->path, "tokenizer.json", TERN_CONVERT_BESIDE, &s);
    tern__strbuf_free(&s);
    if (status != TERN_OK || !d->chat_template)
        return status;
    tern__strbuf_add(&s, "{\n  \"chat_template\": ");
    tern__json_add_text(&s, d->chat_template);
    tern__strbuf_add(&s, "\n}\n");
    return tern__hf_beside_add(r->all, r->path, "tokenizer_config.json", TERN_CONVERT_BESIDE, &s);
}

/* A file beside the one that is read goes on as it is; none is no failure. */
static tern_status add_copy(const char *from, const char *path, const char *name, tern__beside *all)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    char *beside = tern__path_beside(from, name), *text = NULL;
    size_t length = 0;
    tern_status status = beside ? tern__file_read_all(beside, TERN__MOST_TOKENIZER, &text, &length)
                                : tern__out_of_memory(strlen(from));
    tern__free(beside);
    if (status != TERN_OK)
        return status == TERN_NOT_FOUND ? TERN_OK : status;
    tern__strbuf_add_n(&s, text, length);
    tern__free(text);
    return tern__hf_beside_add(all, path, name, TERN_CONVERT_BESIDE, &s);
}

tern_status tern__hf_beside_make(const tern_model_file *file, const tern_tokenizer *tokenizer,
                                 const char *path, const char *mode, tern__beside *all)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"};
    static_assert(TERN__COUNT(names) + 2 <= TERN__COUNT(all->files), "and config.json, and an index");
    TERN_TRY(add_config(file, tokenizer, path, mode, all));
    if (tokenizer)
        return tern__vocabulary_of_tokenizer(tokenizer, add_vocabulary, &(request){path, all});
    if (tern__has_vocabulary(file))
        return tern__vocabulary_of_file(file, false, add_vocabulary, &(request){path, all});
    for (size_t i = 0; i < TERN__COUNT(names) && !tern_model_file_in_memory(file); i++)
        TERN_TRY(add_copy(file->parts[0].path, path, names[i], all));
    return TERN_OK;
}

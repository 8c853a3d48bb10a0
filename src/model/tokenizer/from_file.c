/* from_file.c - the tokenizer of a model file: the arrays of its metadata as a tern_vocabulary. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

#define PREFIX "tokenizer.ggml."

/* What is copied out of the file; the texts stay in it. */
typedef struct copied {
    tern_token_text *tokens, *merges;
    int32_t *types;
    float *scores;
    int32_t ends[TERN__MOST_LISTED_ENDS];
} copied;

static void free_copied(copied *c)
{
    tern__free(c->tokens);
    tern__free(c->merges);
    tern__free(c->types);
    tern__free(c->scores);
}

/* ---- arrays --------------------------------------------------------------------------------------------- */

/* The array `key`; `*count` 0 if there is none. `want`: how many elements it must have, or -1. */
static tern_status find_array(const tern_model_file *f, const char *key, int64_t want, int *entry,
                              int64_t *count)
{
    tern_meta_info info;
    *count = 0;
    if (tern_model_file_meta_find(f, key, entry) != TERN_OK)
        return TERN_OK;
    TERN_TRY(tern_model_file_meta(f, *entry, &info));
    TERN__FAIL_IF(!info.is_array, TERN_FORMAT, "tokenizer: '%s' is not an array", key);
    TERN__FAIL_IF(want >= 0 && info.count != want, TERN_FORMAT,
                  "tokenizer: '%s' has %lld elements for %lld tokens", key, (long long)info.count,
                  (long long)want);
    TERN__FAIL_IF(info.count > 2 * TERN__MAX_TOKENS, TERN_LIMIT,
                  "tokenizer: '%s' has %lld elements: no vocabulary has", key, (long long)info.count);
    *count = info.count;
    return TERN_OK;
}

static tern_status copy_texts(const tern_model_file *f, const char *key, tern_token_text **out, size_t *n)
{
    int entry = 0;
    int64_t count;
    TERN_TRY(find_array(f, key, -1, &entry, &count));
    *n = (size_t)count;
    *out = tern__alloc_zero(*n, sizeof **out);
    if (!*out)
        return tern__out_of_memory(*n * sizeof **out);
    for (int64_t i = 0; i < count; i++)
        TERN_TRY(tern_model_file_meta_string(f, entry, i, &(*out)[i].bytes, &(*out)[i].length));
    return TERN_OK;
}

static tern_status copy_types(const tern_model_file *f, size_t n_tokens, int32_t **out)
{
    int entry = 0;
    int64_t count, value = 0;
    TERN_TRY(find_array(f, PREFIX "token_type", (int64_t)n_tokens, &entry, &count));
    if (count == 0)
        return TERN_OK;
    *out = tern__alloc_zero(n_tokens, sizeof **out);
    if (!*out)
        return tern__out_of_memory(n_tokens * sizeof **out);
    for (int64_t i = 0; i < count; i++) {
        TERN_TRY(tern_model_file_meta_int(f, entry, i, &value));
        (*out)[i] = value < 0 || value > INT32_MAX
                        ? -1
                        : (int32_t)value; /* other types are refused by their number */
    }
    return TERN_OK;
}

static tern_status copy_scores(const tern_model_file *f, size_t n_tokens, float **out)
{
    int entry = 0;
    int64_t count;
    double value = 0;
    TERN_TRY(find_array(f, PREFIX "scores", (int64_t)n_tokens, &entry, &count));
    if (count == 0)
        return TERN_OK;
    *out = tern__alloc_zero(n_tokens, sizeof **out);
    if (!*out)
        return tern__out_of_memory(n_tokens * sizeof **out);
    for (int64_t i = 0; i < count; i++) {
        TERN_TRY(tern_model_file_meta_float(f, entry, i, &value));
        (*out)[i] = (float)value;
    }
    return TERN_OK;
}

/* ---- single values -------------------------------------------------------------------------------------- */

/* Each leaves `*out` alone if the file does not say; a value of another type is an error. */

static tern_status get_text(const tern_model_file *f, const char *key, const char **out)
{
    tern_status status = tern_model_file_get_string(f, key, out);
    return status == TERN_NOT_FOUND ? TERN_OK : status;
}

static tern_status get_id(const tern_model_file *f, const char *key, int32_t *out)
{
    int64_t value;
    tern_status status = tern_model_file_get_int(f, key, &value);
    if (status == TERN_NOT_FOUND)
        return TERN_OK;
    TERN_TRY(status);
    TERN__FAIL_IF(value < 0 || value >= TERN__MAX_TOKENS, TERN_FORMAT,
                  "tokenizer: '%s' is %lld: no token has that id", key, (long long)value);
    *out = (int32_t)value;
    return TERN_OK;
}

static tern_status get_choice(const tern_model_file *f, const char *key, tern_tristate *out)
{
    bool value;
    tern_status status = tern_model_file_get_bool(f, key, &value);
    if (status == TERN_NOT_FOUND)
        return TERN_OK;
    TERN_TRY(status);
    *out = value ? TERN_TRISTATE_YES : TERN_TRISTATE_NO;
    return TERN_OK;
}

tern_status tern__file_ends(const tern_model_file *f, int32_t ids[static TERN__MOST_LISTED_ENDS], size_t *n)
{
    int32_t eom = TERN_NO_TOKEN;
    int entry = 0;
    int64_t count, value = 0;
    *n = 0;
    TERN_TRY(get_id(f, PREFIX "eom_token_id", &eom));
    if (eom != TERN_NO_TOKEN)
        ids[(*n)++] = eom;
    TERN_TRY(find_array(f, TERN__ENDS_KEY, -1, &entry, &count));
    for (int64_t i = 0; i < count; i++) {
        TERN_TRY(tern_model_file_meta_int(f, entry, i, &value));
        if (eom != TERN_NO_TOKEN && value == eom)
            continue;
        TERN__FAIL_IF(value < 0 || value >= TERN__MAX_TOKENS, TERN_FORMAT,
                      "tokenizer: '" TERN__ENDS_KEY "' has %lld: no token has that id", (long long)value);
        TERN__FAIL_IF(*n == TERN__MOST_LISTED_ENDS, TERN_LIMIT,
                      "tokenizer: '" TERN__ENDS_KEY
                      "' has %lld elements; at most %d tokens may end an answer",
                      (long long)count, TERN__MOST_LISTED_ENDS);
        ids[(*n)++] = (int32_t)value;
    }
    return TERN_OK;
}

static tern_status read_metadata(const tern_model_file *f, tern_vocabulary *d, copied *c)
{
    TERN_TRY(get_text(f, PREFIX "model", &d->model));
    TERN_TRY(get_text(f, PREFIX "pre", &d->pre));
    TERN_TRY(get_text(f, "general.architecture", &d->architecture));
    TERN_TRY(get_text(f, "tokenizer.chat_template", &d->chat_template));
    TERN_TRY(get_id(f, PREFIX "bos_token_id", &d->bos));
    TERN_TRY(get_id(f, PREFIX "eos_token_id", &d->eos));
    TERN_TRY(get_id(f, PREFIX "eot_token_id", &d->eot));
    TERN_TRY(tern__file_ends(f, c->ends, &d->n_ends));
    TERN_TRY(get_id(f, PREFIX "unknown_token_id", &d->unk));
    TERN_TRY(get_choice(f, PREFIX "add_bos_token", &d->add_bos));
    TERN_TRY(get_choice(f, PREFIX "add_eos_token", &d->add_eos));
    TERN_TRY(get_choice(f, PREFIX "add_space_prefix", &d->add_space));
    TERN_TRY(copy_texts(f, PREFIX "tokens", &c->tokens, &d->n_tokens));
    TERN_TRY(copy_texts(f, PREFIX "merges", &c->merges, &d->n_merges));
    TERN_TRY(copy_types(f, d->n_tokens, &c->types));
    TERN_TRY(copy_scores(f, d->n_tokens, &c->scores));
    d->tokens = c->tokens;
    d->merges = c->merges;
    d->types = c->types;
    d->scores = c->scores;
    d->ends = c->ends;
    return TERN_OK;
}

/* Who takes the vocabulary of a tokenizer.json, and the model's file, whose config.json says more of it. */
typedef struct beside {
    const tern_model_file *file;
    tern__vocabulary_fn take;
    void *user;
} beside;

/* "eos_token_id" of config.json is a number or a list. */
static tern_status take_with_ends(const tern_vocabulary *vocabulary, void *user)
{
    const beside *b = user;
    tern_vocabulary d = *vocabulary;
    int32_t ends[TERN__MOST_LISTED_ENDS];
    d.n_ends = 0; /* a tokenizer.json lists none */
    for (int i = -1; i < TERN__MOST_LISTED_ENDS && d.n_ends < TERN__MOST_LISTED_ENDS; i++) {
        char key[64] = "config.eos_token_id";
        int64_t id;
        if (i >= 0)
            snprintf(key, sizeof key, "config.eos_token_id.%d", i);
        if (tern_model_file_get_int(b->file, key, &id) == TERN_OK && id >= 0 && (uint64_t)id < d.n_tokens)
            ends[d.n_ends++] = (int32_t)id;
    }
    d.ends = ends;
    return b->take(&d, b->user);
}

/* A model without a vocabulary has it in a file of its own in the same folder. */
static tern_status parse_beside(const tern_model_file *file, bool pre_wanted, tern__vocabulary_fn take,
                                void *user)
{
    const char *path = tern_model_file_part(file, 0);
    TERN__FAIL_IF(tern_model_file_in_memory(file), TERN_NOT_FOUND, "%s: it has no tokenizer; name one", path);
    char *beside_path = tern__path_beside(path, "tokenizer.json");
    beside b = {file, take, user};
    tern_status status = beside_path ? tern__vocabulary_load_json(beside_path, pre_wanted, take_with_ends, &b)
                                     : tern__out_of_memory(strlen(path));
    if (status == TERN_NOT_FOUND)
        tern__fail(TERN_NOT_FOUND,
                   "%s: it has no tokenizer, and there is no tokenizer.json beside it; name one", path);
    tern__free(beside_path);
    return status;
}

tern_status tern__vocabulary_of_file(const tern_model_file *file, bool pre_wanted, tern__vocabulary_fn take,
                                     void *user)
{
    const char *path = tern_model_file_part(file, 0);
    int entry;
    if (tern_model_file_meta_find(file, PREFIX "tokens", &entry) != TERN_OK)
        return parse_beside(file, pre_wanted, take, user);
    tern_vocabulary d = tern_vocabulary_default();
    copied c = {0};
    tern_status status = read_metadata(file, &d, &c);
    if (status == TERN_DTYPE) /* metadata of another type than the format has */
        status = TERN_FORMAT;
    if (status == TERN_OK)
        status = take(&d, user);
    free_copied(&c);
    return tern__fail_of(status, path);
}

tern_status tern__tokens_check(int64_t tokens, int64_t known)
{
    TERN__FAIL_IF(known > 0 && tokens > known, TERN_SHAPE,
                  "the tokenizer has %lld tokens, but the model knows %lld: it is not this model's",
                  (long long)tokens, (long long)known);
    return TERN_OK;
}

tern_status tern_tokenizer_check(const tern_tokenizer *t, const tern_model_file *file)
{
    tern_tokenizer_info info;
    TERN__FAIL_IF(!t || !file, TERN_INVALID_ARGUMENT, "tokenizer_check: an argument is NULL");
    TERN_TRY(tern_tokenizer_get_info(t, &info));
    return tern__fail_of(tern__tokens_check(info.n_tokens, tern_model_file_vocabulary(file)),
                         tern_model_file_part(file, 0));
}

tern_status tern__tokenizer_make(const tern_vocabulary *vocabulary, void *user)
{
    const tern__tokenizer_request *r = user;
    return tern_tokenizer_create(vocabulary, r->options, r->out);
}

tern_status tern_tokenizer_from_file(const tern_model_file *file, const tern_tokenizer_options *options,
                                     tern_tokenizer **out)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_from_file: the file, or the place for the result, is NULL");
    return tern__vocabulary_of_file(file, options && options->pre, tern__tokenizer_make,
                                    &(tern__tokenizer_request){options, out});
}

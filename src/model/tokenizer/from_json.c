/* from_json.c - tokenizer.json (Hugging Face): tokens, added tokens and merges, as a tern_vocabulary. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

#if TERN_HAVE_JANSSON
#include "model/tokenizer/from_json.h"

/* Parsed values are kept small: a hostile text of brackets would take forty times its size. */

/* TERN_FORMAT, with the file and the place. */
static tern_status bad(const tern__json_reader *r, const char *format, ...) TERN_PRINTF(2, 3);
static tern_status bad(const tern__json_reader *r, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?'; /* one line, whatever the file has */
    return tern__fail(TERN_FORMAT, "%s: %s (near byte %zu)", r->walk.path, message, r->walk.at);
}

/* ---- tokens --------------------------------------------------------------------------------------------- */

static tern_status remember(tern__json_reader *r, const char *text, size_t length, int64_t id,
                            tern_token_type type)
{
    if (id < 0 || id >= TERN__MAX_TOKENS)
        return bad(r, "%lld is no id of a token", (long long)id);
    size_t n = r->seen.n_symbols;
    if (!tern__grow((void **)&r->ids, &r->id_capacity, n + 1, sizeof *r->ids))
        return tern__out_of_memory(n * sizeof *r->ids);
    TERN_TRY(tern__vocab_add(&r->seen, text, length, type, true));
    r->ids[n] = (uint32_t)id;
    return TERN_OK;
}

static tern_status read_token(tern__json_reader *r, const json_t *key, const json_t *id)
{
    const char *text = json_string_value(key);
    size_t length = json_string_length(key);
    uint32_t known = tern__vocab_find(&r->seen, text, length);
    if (!json_is_integer(id))
        return bad(r, "the id of the token '%.60s' is not a whole number", text);
    if (known == TERN__NO_SYMBOL)
        return remember(r, text, length, json_integer_value(id), TERN_TOKEN_NORMAL);
    if (r->seen.symbols[known].type == TERN_TOKEN_NORMAL)
        return bad(r, "the token '%.60s' occurs twice", text);
    if (r->ids[known] != json_integer_value(id))
        return bad(r, "the token '%.60s' has two ids", text);
    r->seen.symbols[known].type = TERN_TOKEN_NORMAL;
    return TERN_OK;
}

static tern_status take_token(void *user, const json_t *key, const json_t *id)
{
    return read_token(user, key, id);
}

static tern_status read_vocab(tern__json_reader *r, const json_t *unused)
{
    (void)unused;
    return tern__json_values(&r->walk, take_token, r);
}

/* ---- added tokens --------------------------------------------------------------------------------------- */

static tern_status read_added(tern__json_reader *r, const json_t *entry)
{
    const json_t *id = json_object_get(entry, "id"), *content = json_object_get(entry, "content");
    const char *text = json_string_value(content);
    if (!json_is_integer(id) || !text || !*text)
        return bad(r, "an added token needs an id and a content");
    int64_t value = json_integer_value(id);
    size_t length = json_string_length(content), n = r->d.n_flags;
    uint32_t known = tern__vocab_find(&r->seen, text, length);
    if (known == TERN__NO_SYMBOL)
        TERN_TRY(remember(r, text, length, value, TERN_TOKEN_CONTROL));
    else if (r->ids[known] != value)
        return bad(r, "the token '%.60s' has two ids", text);
    if (!tern__grow((void **)&r->flags, &r->flag_capacity, n + 1, sizeof *r->flags) ||
        !tern__grow((void **)&r->added_types, &r->added_capacity, n + 1, sizeof *r->added_types))
        return tern__out_of_memory(n * sizeof *r->flags);
    r->flags[n] = (tern_token_flags){.id = (int32_t)value,
                                     .lstrip = json_is_true(json_object_get(entry, "lstrip")),
                                     .rstrip = json_is_true(json_object_get(entry, "rstrip")),
                                     .single_word = json_is_true(json_object_get(entry, "single_word"))};
    bool special = json_is_true(json_object_get(entry, "special"));
    r->added_types[n] = special ? TERN_TOKEN_CONTROL : TERN_TOKEN_USER_DEFINED;
    r->d.n_flags = n + 1;
    return TERN_OK;
}

/* Calls `read` for each element of the array that stands here. */
static tern_status for_each(tern__json_reader *r,
                            tern_status (*read)(tern__json_reader *r, const json_t *element))
{
    bool more = true;
    TERN_TRY(tern__json_enter_array(&r->walk));
    for (;;) {
        json_t *element;
        TERN_TRY(tern__json_next_element(&r->walk, &more));
        if (!more)
            return TERN_OK;
        TERN_TRY(tern__json_value(&r->walk, &element));
        tern_status status = read(r, element);
        json_decref(element);
        TERN_TRY(status);
    }
}

static tern_status read_all_added(tern__json_reader *r, const json_t *unused)
{
    (void)unused;
    return for_each(r, read_added);
}

/* ---- merges --------------------------------------------------------------------------------------------- */

static tern_status add_merge(tern__json_reader *r, const char *left, size_t left_length, const char *right,
                             size_t right_length)
{
    size_t n = r->d.n_merges, bytes = left_length + right_length + 1;
    TERN__FAIL_IF(n >= 2 * (size_t)TERN__MAX_TOKENS || bytes > 2 * TERN__MAX_TOKEN_BYTES ||
                      r->merge_bytes > 2 * (size_t)TERN__MAX_VOCAB_BYTES,
                  TERN_LIMIT, "%s: more or longer merges than any real vocabulary has", r->walk.path);
    if (left_length == 0 || right_length == 0 || memchr(left, ' ', left_length) ||
        memchr(right, ' ', right_length))
        return bad(r, "merge %zu is not two tokens without blanks", n);
    if (!tern__grow((void **)&r->merge_text, &r->merge_capacity, r->merge_bytes + bytes, 1) ||
        !tern__grow((void **)&r->merge_ends, &r->end_capacity, n + 1, sizeof *r->merge_ends))
        return tern__out_of_memory(bytes);
    memcpy(r->merge_text + r->merge_bytes, left, left_length);
    r->merge_text[r->merge_bytes + left_length] = ' ';
    memcpy(r->merge_text + r->merge_bytes + left_length + 1, right, right_length);
    r->merge_bytes += bytes;
    r->merge_ends[n] = (uint32_t)r->merge_bytes;
    r->d.n_merges = n + 1;
    return TERN_OK;
}

/* "left right" in older files, ["left", "right"] in newer ones. */
static tern_status read_merge(tern__json_reader *r, const json_t *merge)
{
    const char *text = json_string_value(merge);
    const char *blank = text ? memchr(text, ' ', json_string_length(merge)) : NULL;
    const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
    if (blank) {
        size_t length = (size_t)(blank - text);
        return add_merge(r, text, length, blank + 1, json_string_length(merge) - length - 1);
    }
    if (json_array_size(merge) == 2 && json_is_string(left) && json_is_string(right))
        return add_merge(r, json_string_value(left), json_string_length(left), json_string_value(right),
                         json_string_length(right));
    return bad(r, "merge %zu is not two tokens without blanks", r->d.n_merges);
}

static tern_status read_merges(tern__json_reader *r, const json_t *unused)
{
    (void)unused;
    return for_each(r, read_merge);
}

/* ---- the file ------------------------------------------------------------------------------------------- */

static const tern__json_member *find_member(const tern__json_member *rows, const char *key)
{
    while (rows->key && strcmp(rows->key, key) != 0)
        rows++;
    return rows->key ? rows : NULL;
}

/* What is not known is parsed too, so that a file that is no JSON is not taken for one. */
static tern_status read_member(tern__json_reader *r, const tern__json_member *row)
{
    json_t *value;
    if (row && row->walked)
        return row->read(r, NULL);
    TERN_TRY(tern__json_value(&r->walk, &value));
    tern_status status = row ? row->read(r, value) : TERN_OK;
    json_decref(value);
    return status;
}

/* An object whose members are in two tables, and those that were seen. */
typedef struct member_tables {
    tern__json_reader *r;
    const tern__json_member *large, *rules;
    uint32_t seen[2];
} member_tables;

static tern_status take_member(void *user, tern__json_walk *w, const json_t *key)
{
    member_tables *m = user;
    const char *name = json_string_value(key);
    (void)w; /* the reader's own */
    const tern__json_member *row = find_member(m->large, name);
    const int table = row ? 0 : 1;
    if (!row)
        row = find_member(m->rules, name);
    const uint32_t bit = row ? 1u << (row - (table == 0 ? m->large : m->rules)) : 0;
    if (m->seen[table] & bit)
        return bad(m->r, "'%s' occurs twice", name);
    m->seen[table] |= bit;
    return read_member(m->r, row);
}

/* Walks such an object; no key of the first table may be missing, none of either may repeat. */
static tern_status read_members(tern__json_reader *r, const char *what, const tern__json_member *large,
                                size_t needed, const tern__json_member *rules)
{
    member_tables m = {.r = r, .large = large, .rules = rules};
    TERN_TRY(tern__json_members(&r->walk, take_member, &m));
    if (!(m.seen[0] & 1u << needed))
        return bad(r, "%s has no '%s'", what, large[needed].key);
    return TERN_OK;
}

static tern_status read_model(tern__json_reader *r, const json_t *unused)
{
    static const tern__json_member large[] = {
        {"vocab", true, read_vocab}, {"merges", true, read_merges}, {0}};
    (void)unused;
    return read_members(r, "model", large, 0, tern__json_model_rules);
}

static tern_status read_file(tern__json_reader *r)
{
    static const tern__json_member large[] = {
        {"model", true, read_model}, {"added_tokens", true, read_all_added}, {0}};
    TERN_TRY(read_members(r, "the file", large, 0, tern__json_rules));
    return tern__json_end(&r->walk);
}

/* ---- from what was read to a vocabulary ----------------------------------------------------------------- */

static tern_status order_tokens(tern__json_reader *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->seen.n_symbols; i++)
        n = r->ids[i] >= n ? (size_t)r->ids[i] + 1 : n;
    r->tokens = tern__alloc_zero(n, sizeof *r->tokens);
    r->types = tern__alloc_zero(n, sizeof *r->types);
    if (!r->tokens || !r->types)
        return tern__out_of_memory(n * sizeof *r->tokens);
    for (size_t i = 0; i < n; i++)
        r->types[i] = TERN_TOKEN_UNUSED; /* an id that the file leaves out */
    for (size_t i = 0; i < r->seen.n_symbols; i++) {
        uint32_t id = r->ids[i];
        TERN__FAIL_IF(r->tokens[id].bytes, TERN_FORMAT, "two tokens have the id %u", id);
        r->tokens[id].bytes = tern__vocab_text(&r->seen, (uint32_t)i, &r->tokens[id].length);
        bool byte =
            r->byte_fallback && tern__byte_token_value(r->tokens[id].bytes, r->tokens[id].length) >= 0;
        r->types[id] = byte ? TERN_TOKEN_BYTE : TERN_TOKEN_NORMAL;
    }
    for (size_t i = 0; i < r->d.n_flags; i++)
        r->types[r->flags[i].id] = r->added_types[i];
    r->d.tokens = r->tokens;
    r->d.types = r->types;
    r->d.flags = r->flags;
    r->d.n_tokens = n;
    return TERN_OK;
}

/* The first of the names that is a token. */
static int32_t find_name(const tern__json_reader *r, const char *stated, const char *const names[3])
{
    for (int i = -1; i < 3; i++) {
        const char *name = i < 0 ? stated : names[i];
        uint32_t found = tern__vocab_find(&r->seen, name, strlen(name));
        if (found != TERN__NO_SYMBOL)
            return (int32_t)r->ids[found];
    }
    return TERN_NO_TOKEN;
}

static tern_status name_tokens(tern__json_reader *r)
{
    static const char *const bos[] = {"<|begin_of_text|>", "<s>", "<|endoftext|>"};
    static const char *const eos[] = {"<|end_of_text|>", "</s>", "<|endoftext|>"};
    static const char *const none[] = {"", "", ""};
    r->d.bos = find_name(r, r->bos, bos);
    r->d.eos = find_name(r, r->eos, eos);
    r->d.unk = find_name(r, r->unk, none);
    TERN__FAIL_IF(r->unk[0] && r->d.unk == TERN_NO_TOKEN, TERN_FORMAT, "its unk_token '%s' is no token",
                  r->unk);
    if (r->d.unk != TERN_NO_TOKEN)
        r->types[r->d.unk] = TERN_TOKEN_UNKNOWN;
    /* What puts the tokens around a text is stated in full: unless it names them there are none. */
    r->d.add_bos = r->bos[0] ? TERN_TRISTATE_YES : TERN_TRISTATE_NO;
    r->d.add_eos = r->eos[0] ? TERN_TRISTATE_YES : TERN_TRISTATE_NO;
    return TERN_OK;
}

static tern_status finish(tern__json_reader *r, tern__vocabulary_fn take, void *user)
{
    TERN__FAIL_IF(
        r->byte_level == r->metaspace, TERN_UNSUPPORTED,
        "neither a byte-level BPE (LLaMA-3, GPT-2) nor one of characters with byte fallback (LLaMA-2)");
    TERN__FAIL_IF(r->byte_level && !r->d.pre && !r->pre_wanted, TERN_UNSUPPORTED,
                  "it does not say how text is cut; %s",
                  tern__split_rule_choices((char[TERN__RULE_CHOICES]){0}));
    r->d.model = tern__token_family_names[r->byte_level ? TERN__TOKENS_BY_BYTES : TERN__TOKENS_BY_CHARACTERS];
    TERN_TRY(order_tokens(r));
    TERN_TRY(name_tokens(r));
    tern_token_text *merges = tern__alloc_zero(r->d.n_merges, sizeof *merges);
    if (!merges)
        return tern__out_of_memory(r->d.n_merges * sizeof *merges);
    for (size_t i = 0, from = 0; i < r->d.n_merges; from = r->merge_ends[i++])
        merges[i] = (tern_token_text){r->merge_text + from, r->merge_ends[i] - from};
    r->d.merges = merges;
    tern_status status = take(&r->d, user);
    tern__free(merges);
    return status;
}

static void free_reader(tern__json_reader *r)
{
    tern__vocab_free(&r->seen);
    tern__free(r->ids);
    tern__free(r->tokens);
    tern__free(r->types);
    tern__free(r->flags);
    tern__free(r->added_types);
    tern__free(r->merge_text);
    tern__free(r->merge_ends);
}

tern_status tern__vocabulary_parse_json(const char *path, const char *text, size_t length, bool pre_wanted,
                                        const char *chat_template, tern__vocabulary_fn take, void *user)
{
    tern__json_reader r = {
        .walk = {.path = path, .text = text, .length = length},
        .d = tern_vocabulary_default(),
        .pre_wanted = pre_wanted,
    };
    r.d.chat_template = chat_template;
    r.d.ignore_merges = TERN_TRISTATE_NO; /* Hugging Face's default, whatever the pattern */
    tern_status status = read_file(&r);
    if (status == TERN_OK)
        status = finish(&r, take, user);
    free_reader(&r);
    return tern__fail_of(status, path);
}

#else

tern_status tern__vocabulary_parse_json(const char *path, const char *text, size_t length, bool pre_wanted,
                                        const char *chat_template, tern__vocabulary_fn take, void *user)
{
    (void)text, (void)length, (void)pre_wanted, (void)chat_template, (void)take, (void)user;
    return tern__fail(TERN_UNAVAILABLE, "%s: this build of tern has no jansson, which reads JSON", path);
}

#endif

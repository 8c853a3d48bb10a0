/* tokenizer.c - builds a tokenizer from plain data, checking that it makes sense; and what callers ask about it. */
#include "model/tokenizer/tokenizer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "model/arch/architecture.h"
#include "base/utf8.h"

const char *const tern__token_family_names[TERN__TOKENS_COUNT] = {
    [TERN__TOKENS_BY_BYTES] = "gpt2", [TERN__TOKENS_BY_CHARACTERS] = "llama"};

tern_vocabulary tern_vocabulary_default(void)
{
    return (tern_vocabulary){
        .bos = TERN_NO_TOKEN,
        .eos = TERN_NO_TOKEN,
        .eot = TERN_NO_TOKEN,
        .unk = TERN_NO_TOKEN,
        .add_bos = TERN_TRISTATE_BY_MODEL,
        .add_eos = TERN_TRISTATE_BY_MODEL,
        .add_space = TERN_TRISTATE_BY_MODEL,
        .ignore_merges = TERN_TRISTATE_BY_MODEL,
    };
}

tern_tokenizer_options tern_tokenizer_options_default(void)
{
    return (tern_tokenizer_options){0};
}

/* ---- which rules ---------------------------------------------------------------------------------------- */

static tern_status find_family(const char *model, tern__token_family *out)
{
    for (int i = 0; i < TERN__TOKENS_COUNT; i++)
        if (model && strcmp(tern__token_family_names[i], model) == 0) {
            *out = (tern__token_family)i;
            return TERN_OK;
        }
    static_assert(TERN__TOKENS_COUNT == 2, "the sentence names all");
    return tern__fail(TERN_UNSUPPORTED, "tokenizer: unknown model '%.60s'; known: %s, %s", model ? model : "",
                      tern__token_family_names[0], tern__token_family_names[1]);
}

static bool has_token(const tern_vocabulary *d, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = d->n_tokens; i-- > 0;)
        if (d->tokens[i].length == length && memcmp(d->tokens[i].bytes, text, length) == 0)
            return true;
    return false;
}

/* How the file says that text is cut. Files of the BitNet models do not say; they were trained as LLaMA-3, whose
 * vocabulary they have. */
static const char *rule_of_file(const tern_vocabulary *d)
{
    if (d->pre)
        return d->pre;
    const tern__architecture *a = tern__architecture_find(d->architecture);
    if (a && a->pre)
        return a->pre;
    if (has_token(d, "<|begin_of_text|>"))
        return "llama-bpe";
    return d->architecture && strcmp(d->architecture, "gpt2") == 0 ? "gpt-2" : "default";
}

static tern_status find_rule(const tern_vocabulary *d, const char *wanted, const tern__split_rule **out)
{
    const char *name = wanted ? wanted : rule_of_file(d);
    *out = tern__split_rule_find(name);
    TERN__FAIL_IF(!*out, TERN_UNSUPPORTED, "tokenizer: unknown pre-tokenizer '%.60s'; %s", name,
                  tern__split_rule_choices((char[TERN__RULE_CHOICES]){0}));
    return TERN_OK;
}

/* The token at the start belongs to the model, however its text is cut. */
static bool starts_with_bos(const tern_vocabulary *d)
{
    const tern__split_rule *own = tern__split_rule_find(rule_of_file(d));
    return own && own->add_bos;
}

const char *tern_pretokenizer_name(int i)
{
    const tern__split_rule *rule = tern__split_rule_get(i);
    return rule ? rule->name : NULL;
}

/* ---- tokens --------------------------------------------------------------------------------------------- */

static tern_status add_byte_token(tern_tokenizer *t, const tern_token_text *text, uint32_t id)
{
    int value = tern__byte_token_value(text->bytes, text->length);
    TERN__FAIL_IF(value < 0, TERN_FORMAT, "tokenizer: token %u is a byte but is not called <0x00> to <0xFF>",
                  id);
    if (t->byte_ids[value] == TERN__NO_SYMBOL)
        t->byte_ids[value] = id;
    char byte = (char)value;
    return tern__vocab_add(&t->vocab, &byte, 1, TERN_TOKEN_BYTE, false);
}

static tern_status add_token(tern_tokenizer *t, const tern_token_text *text, tern_token_type type,
                             uint32_t id)
{
    char bytes[TERN__MAX_TOKEN_BYTES];
    size_t length;
    bool plain = type == TERN_TOKEN_NORMAL || type == TERN_TOKEN_UNUSED;
    if (type == TERN_TOKEN_BYTE)
        return add_byte_token(t, text, id);
    if (plain && t->family == TERN__TOKENS_BY_BYTES && text->length <= sizeof bytes &&
        tern__alphabet_decode(text->bytes, text->length, bytes, &length))
        return tern__vocab_add(&t->vocab, bytes, length, type, true);
    /* User-defined ones are found before anything is merged, but files have them among the merged ones too. */
    return tern__vocab_add(&t->vocab, text->bytes, text->length, type,
                           plain || type == TERN_TOKEN_USER_DEFINED);
}

static tern_status add_tokens(tern_tokenizer *t, const tern_vocabulary *d)
{
    for (size_t i = 0; i < d->n_tokens; i++) {
        int32_t type = d->types ? d->types[i] : TERN_TOKEN_NORMAL;
        TERN__FAIL_IF(type < TERN_TOKEN_NORMAL || type > TERN_TOKEN_BYTE, TERN_FORMAT,
                      "tokenizer: token %zu has type %d; types are 1 to 6", i, type);
        TERN__FAIL_IF(!d->tokens[i].bytes && d->tokens[i].length > 0, TERN_INVALID_ARGUMENT,
                      "tokenizer: token %zu has no text", i);
        TERN_TRY(add_token(t, &d->tokens[i], (tern_token_type)type, (uint32_t)i));
    }
    t->vocab.n_tokens = (uint32_t)d->n_tokens;
    return TERN_OK;
}

/* Bytes are symbols of the one family; characters of tokens that are no tokens are symbols of the other. */
static tern_status add_symbols(tern_tokenizer *t)
{
    if (t->family == TERN__TOKENS_BY_BYTES) {
        for (int i = 0; i < 256; i++) {
            char byte = (char)i;
            t->byte_ids[i] = tern__vocab_find(&t->vocab, &byte, 1);
        }
        return TERN_OK;
    }
    for (uint32_t s = 0; s < t->vocab.n_tokens; s++) {
        char text[TERN__MAX_TOKEN_BYTES]; /* a copy: adding moves the texts */
        size_t length, used;
        const char *own = tern__vocab_text(&t->vocab, s, &length);
        if (tern__vocab_find(&t->vocab, own, length) != s)
            continue;
        memcpy(text, own, length);
        for (size_t at = 0; at < length; at += used) {
            used = tern__utf8_length(text + at, length - at);
            if (used == 0)
                used = 1;
            else if (tern__vocab_find(&t->vocab, text + at, used) == TERN__NO_SYMBOL)
                TERN_TRY(tern__vocab_add(&t->vocab, text + at, used, TERN_TOKEN_UNUSED, true));
        }
    }
    return TERN_OK;
}

/* ---- merges --------------------------------------------------------------------------------------------- */

static uint32_t find_part(const tern_tokenizer *t, const char *text, size_t length)
{
    char bytes[TERN__MAX_TOKEN_BYTES];
    if (t->family == TERN__TOKENS_BY_BYTES && length <= sizeof bytes &&
        tern__alphabet_decode(text, length, bytes, &length))
        text = bytes;
    return tern__vocab_find(&t->vocab, text, length);
}

static tern_status add_merge(tern_tokenizer *t, const tern_token_text *merge, size_t rank)
{
    const char *blank = merge->length > 1 ? memchr(merge->bytes + 1, ' ', merge->length - 1) : NULL;
    size_t left = blank ? (size_t)(blank - merge->bytes) : 0;
    TERN__FAIL_IF(!blank || left + 1 == merge->length || merge->length > TERN__MAX_TOKEN_BYTES + 1,
                  TERN_FORMAT, "tokenizer: merge %zu is not two tokens with a blank between", rank);
    char both[TERN__MAX_TOKEN_BYTES];
    memcpy(both, merge->bytes, left);
    memcpy(both + left, blank + 1, merge->length - left - 1);
    tern__pair pair = {.rank = (uint32_t)rank};
    pair.left = find_part(t, both, left);
    pair.right = find_part(t, both + left, merge->length - left - 1);
    pair.merged = find_part(t, both, merge->length - 1);
    TERN__FAIL_IF(pair.left == TERN__NO_SYMBOL || pair.right == TERN__NO_SYMBOL ||
                      pair.merged == TERN__NO_SYMBOL,
                  TERN_FORMAT, "tokenizer: merge %zu ('%.*s') names or makes what is no token", rank,
                  (int)(merge->length < 60 ? merge->length : 60), merge->bytes);
    return tern__pairs_add(&t->pairs, pair);
}

typedef struct scored {
    float score;
    uint32_t id;
} scored;

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* Equal scores have equal ranks: then the leftmost pair goes first. Without scores the id is the rank. */
static tern_status rank_tokens(const tern_vocabulary *d, bool by_byte, uint32_t *rank)
{
    const float *scores = by_byte ? NULL : d->scores; /* files of bytes have zeros there */
    scored *list = tern__alloc_zero(d->n_tokens, sizeof *list);
    if (!list)
        return tern__out_of_memory(d->n_tokens * sizeof *list);
    for (size_t i = 0; i < d->n_tokens; i++)
        list[i] = (scored){scores ? scores[i] : -(float)i, (uint32_t)i};
    qsort(list, d->n_tokens, sizeof *list, by_score);
    uint32_t r = 0;
    for (size_t i = 0; i < d->n_tokens; i++) {
        r += i > 0 && list[i].score < list[i - 1].score;
        rank[list[i].id] = r;
    }
    tern__free(list);
    return TERN_OK;
}

static tern_status add_merges(tern_tokenizer *t, const tern_vocabulary *d)
{
    t->merges_stated = d->n_merges > 0;
    for (size_t i = 0; i < d->n_merges; i++)
        TERN_TRY(add_merge(t, &d->merges[i], i));
    if (d->n_merges > 0)
        return TERN_OK;
    bool by_byte = t->family == TERN__TOKENS_BY_BYTES;
    uint32_t *rank = tern__alloc_zero(d->n_tokens, sizeof *rank);
    if (!rank)
        return tern__out_of_memory(d->n_tokens * sizeof *rank);
    tern_status status = rank_tokens(d, by_byte, rank);
    if (status == TERN_OK)
        status = tern__pairs_from_tokens(&t->pairs, &t->vocab, rank, by_byte);
    tern__free(rank);
    return status;
}

static tern_status keep_scores(tern_tokenizer *t, const tern_vocabulary *d)
{
    if (!d->scores)
        return TERN_OK;
    for (size_t i = 0; i < d->n_tokens; i++)
        TERN__FAIL_IF(isnan(d->scores[i]), TERN_FORMAT, "tokenizer: the score of token %zu is not a number",
                      i);
    t->scores = tern__alloc_zero(d->n_tokens, sizeof *t->scores);
    if (!t->scores)
        return tern__out_of_memory(d->n_tokens * sizeof *t->scores);
    memcpy(t->scores, d->scores, d->n_tokens * sizeof *t->scores);
    return TERN_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static tern_status check_id(const char *what, int32_t id, size_t n_tokens)
{
    TERN__FAIL_IF(id != TERN_NO_TOKEN && (id < 0 || (size_t)id >= n_tokens), TERN_FORMAT,
                  "tokenizer: the %s token is %d, of %zu tokens", what, id, n_tokens);
    return TERN_OK;
}

static tern_status check(const tern_vocabulary *d)
{
    TERN__FAIL_IF(d->n_tokens == 0, TERN_FORMAT, "tokenizer: the vocabulary is empty");
    TERN__FAIL_IF(d->n_tokens > TERN__MAX_TOKENS || d->n_merges > 2 * (size_t)TERN__MAX_TOKENS, TERN_LIMIT,
                  "tokenizer: %zu tokens and %zu merges; at most %d and %d are allowed", d->n_tokens,
                  d->n_merges, TERN__MAX_TOKENS, 2 * TERN__MAX_TOKENS);
    TERN__FAIL_IF(!d->tokens || (d->n_merges && !d->merges) || (d->n_flags && !d->flags),
                  TERN_INVALID_ARGUMENT, "tokenizer: a list is NULL although it has a length");
    TERN_TRY(check_id("bos", d->bos, d->n_tokens));
    TERN_TRY(check_id("eos", d->eos, d->n_tokens));
    TERN_TRY(check_id("eot", d->eot, d->n_tokens));
    TERN__FAIL_IF(d->n_ends > TERN__MOST_LISTED_ENDS, TERN_LIMIT,
                  "tokenizer: %zu tokens end an answer; at most %d may", d->n_ends, TERN__MOST_LISTED_ENDS);
    TERN__FAIL_IF(d->n_ends > 0 && !d->ends, TERN_INVALID_ARGUMENT,
                  "tokenizer: a list is NULL although it has a length");
    for (size_t i = 0; i < d->n_ends; i++)
        TERN_TRY(check_id("end", d->ends[i], d->n_tokens));
    return check_id("unk", d->unk, d->n_tokens);
}

static bool choose(tern_tristate choice, bool by_model)
{
    return choice == TERN_TRISTATE_BY_MODEL ? by_model : choice == TERN_TRISTATE_YES;
}

/* Names that ends of an answer have in every vocabulary. */
static const struct end {
    const char *name;
    bool of_turn;
} known_ends[] = {
    {"<|end_of_text|>", false}, {"<|eot_id|>", true},    {"<|endoftext|>", false},
    {"<|im_end|>", true},       {"<end_of_turn>", true},
};

static const tern__special *find_known_end(const tern_tokenizer *t, const struct end *end)
{
    return tern__specials_find(&t->specials, &t->vocab, end->name, strlen(end->name));
}

/* The end of a turn, where the file does not name it. */
static int32_t guess_eot(const tern_tokenizer *t)
{
    for (size_t i = 0; i < TERN__COUNT(known_ends); i++) {
        const tern__special *found = known_ends[i].of_turn ? find_known_end(t, &known_ends[i]) : NULL;
        if (found)
            return (int32_t)found->id;
    }
    return TERN_NO_TOKEN;
}

static void add_end(tern_tokenizer *t, int32_t id)
{
    if (id >= 0 && !tern_tokenizer_is_end(t, id))
        t->ends[t->n_ends++] = id;
}

/* A file names one end, or two; models of several turns were trained with more of them. */
static void find_ends(tern_tokenizer *t, const tern_vocabulary *d)
{
    static_assert(TERN__COUNT(known_ends) + 2 + TERN__MOST_LISTED_ENDS <= TERN__MOST_ENDS, "room for all");
    add_end(t, t->eos);
    add_end(t, t->eot);
    for (size_t i = 0; i < d->n_ends; i++)
        add_end(t, d->ends[i]);
    for (size_t i = 0; i < TERN__COUNT(known_ends); i++) {
        const tern__special *found = find_known_end(t, &known_ends[i]);
        if (found && t->vocab.symbols[found->id].type == TERN_TOKEN_CONTROL)
            add_end(t, (int32_t)found->id);
    }
}

static tern_status build(tern_tokenizer *t, const tern_vocabulary *d, const char *pre)
{
    memset(t->byte_ids, 0xFF, sizeof t->byte_ids); /* TERN__NO_SYMBOL */
    TERN_TRY(find_family(d->model, &t->family));
    bool bytes = t->family == TERN__TOKENS_BY_BYTES;
    TERN__FAIL_IF(pre && !bytes, TERN_UNSUPPORTED,
                  "tokenizer: '%.60s' would change nothing: tokenizers of the family '%s' do not cut text",
                  pre, d->model);
    if (bytes)
        TERN_TRY(find_rule(d, pre, &t->rule));
    TERN_TRY(add_tokens(t, d));
    TERN_TRY(add_symbols(t));
    TERN_TRY(keep_scores(t, d));
    TERN_TRY(add_merges(t, d));
    TERN_TRY(tern__specials_build(&t->specials, &t->vocab, d->flags, d->n_flags));
    if (d->chat_template) {
        t->chat_template = tern__chat_recognise(d->chat_template);
        t->template_text = tern__strdup(d->chat_template);
        if (!t->template_text)
            return tern__out_of_memory(strlen(d->chat_template));
    }
    t->foreign_template = d->chat_template && *d->chat_template && !t->chat_template;
    t->bos = d->bos;
    t->eos = d->eos;
    t->eot = d->eot != TERN_NO_TOKEN ? d->eot : guess_eot(t);
    t->unk = d->unk;
    find_ends(t, d);
    t->add_bos = t->bos >= 0 && choose(d->add_bos, bytes ? starts_with_bos(d) : true);
    t->add_eos = t->eos >= 0 && choose(d->add_eos, false);
    t->add_space = !bytes && choose(d->add_space, true);
    t->space_at_start = t->add_space && d->space_at_start;
    t->space_if_none = t->add_space && d->space_if_none;
    t->ignore_merges = bytes && choose(d->ignore_merges, t->rule->ignore_merges);
    return bytes && (t->pairs.count > 0 || t->ignore_merges) ? tern__splitter_create(t->rule, &t->splitter)
                                                             : TERN_OK;
}

tern_status tern_tokenizer_create(const tern_vocabulary *vocabulary, const tern_tokenizer_options *options,
                                  tern_tokenizer **out)
{
    TERN__FAIL_IF(!vocabulary || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_create: the vocabulary, or the place for the result, is NULL");
    TERN_TRY(check(vocabulary));
    tern_tokenizer *t = tern__alloc_zero(1, sizeof *t);
    if (!t)
        return tern__out_of_memory(sizeof *t);
    tern_status status = build(t, vocabulary, options ? options->pre : NULL);
    if (status != TERN_OK) {
        tern_tokenizer_free(t);
        return status;
    }
    *out = t;
    return TERN_OK;
}

void tern_tokenizer_free(tern_tokenizer *t)
{
    if (!t)
        return;
    tern__splitter_free(t->splitter);
    tern__specials_free(&t->specials);
    tern__pairs_free(&t->pairs);
    tern__vocab_free(&t->vocab);
    tern__free(t->scores);
    tern__free(t->template_text);
    tern__free(t);
}

/* ---- questions ------------------------------------------------------------------------------------------ */

tern_status tern_tokenizer_get_info(const tern_tokenizer *t, tern_tokenizer_info *out)
{
    TERN__FAIL_IF(!t || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_get_info: the tokenizer, or the place for the result, is NULL");
    *out = (tern_tokenizer_info){
        .model = tern__token_family_names[t->family],
        .pre = t->rule ? t->rule->name : "none",
        .n_tokens = (int32_t)t->vocab.n_tokens,
        .bos = t->bos,
        .eos = t->eos,
        .eot = t->eot,
        .unk = t->unk,
        .add_bos = t->add_bos,
        .add_eos = t->add_eos,
        .chat_template = t->chat_template,
        .foreign_template = t->foreign_template,
    };
    return TERN_OK;
}

tern_status tern_tokenizer_token(const tern_tokenizer *t, int32_t id, tern_token_info *out)
{
    TERN__FAIL_IF(!t || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_token: the tokenizer, or the place for the result, is NULL");
    TERN__FAIL_IF(id < 0 || (uint32_t)id >= t->vocab.n_tokens, TERN_OUT_OF_RANGE,
                  "tokenizer_token: there is no token %d; ids are 0 to %u", id, t->vocab.n_tokens - 1);
    tern_token_info info = {.type = (tern_token_type)t->vocab.symbols[id].type,
                            .score = t->scores ? t->scores[id] : 0};
    info.text.bytes = tern__vocab_text(&t->vocab, (uint32_t)id, &info.text.length);
    *out = info;
    return TERN_OK;
}

tern_status tern_tokenizer_find(const tern_tokenizer *t, const char *text, size_t length, int32_t *out)
{
    TERN__FAIL_IF(!t || !text || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_find: the tokenizer, the text, or the place for the result, is NULL");
    const tern__special *special = tern__specials_find(&t->specials, &t->vocab, text, length);
    uint32_t found = special ? special->id : tern__vocab_find(&t->vocab, text, length);
    TERN__FAIL_IF(found >= t->vocab.n_tokens, TERN_NOT_FOUND, "tokenizer_find: no token is '%.*s'",
                  (int)(length < 60 ? length : 60), text);
    *out = (int32_t)found;
    return TERN_OK;
}

bool tern_tokenizer_is_end(const tern_tokenizer *t, int32_t id)
{
    for (size_t i = 0; t && i < t->n_ends; i++)
        if (t->ends[i] == id)
            return true;
    return false;
}

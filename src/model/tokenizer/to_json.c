/* to_json.c - a vocabulary as tokenizer.json: the rules of its family, tokens, merges. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"
#include "base/utf8.h"

/* ---- merges of a vocabulary that has scores instead -------------------------------------------------------------- */

typedef struct merge {
    float score;
    uint32_t id, left, right;
} merge;

static int compare_merges(const void *a, const void *b)
{
    const merge *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->left < y->left ? -1 : x->left > y->left;
}

/* Where the first character, or byte, of a text ends. */
static size_t first_part(const tern_tokenizer *t, const char *text, size_t length)
{
    size_t n = t->family == TERN__TOKENS_BY_BYTES ? 1 : tern__utf8_length(text, length);
    return n + (n == 0);
}

/* The ways to make token `id` of two others. */
static tern_status find_pairs(const tern_vocabulary *d, const tern_tokenizer *t, uint32_t id, merge **list,
                              size_t *n, size_t *capacity)
{
    size_t length, cut;
    const char *text = tern__vocab_text(&t->vocab, id, &length);
    if (tern__vocab_find(&t->vocab, text, length) !=
        id) /* never made of others, or an earlier one is the same */
        return TERN_OK;
    for (size_t at = first_part(t, text, length); at < length; at += cut) {
        cut = first_part(t, text + at, length - at);
        uint32_t left = tern__vocab_find(&t->vocab, text, at),
                 right = tern__vocab_find(&t->vocab, text + at, length - at);
        if (left == TERN__NO_SYMBOL || right == TERN__NO_SYMBOL)
            continue;
        TERN__FAIL_IF(left >= d->n_tokens || right >= d->n_tokens, TERN_UNSUPPORTED,
                      "tokenizer.json cannot say how token %u is made: some character of it is no token", id);
        if (!tern__grow((void **)list, capacity, *n + 1, sizeof **list))
            return tern__out_of_memory(*n * sizeof **list);
        float score = d->scores && t->family == TERN__TOKENS_BY_CHARACTERS ? d->scores[id] : 0;
        (*list)[(*n)++] = (merge){score, id, left, right};
    }
    return TERN_OK;
}

/* Each way to make a token of two others, the best first. */
static tern_status find_merges(const tern_vocabulary *d, const tern_tokenizer *t, merge **out, size_t *count)
{
    merge *list = NULL;
    size_t n = 0, capacity = 0;
    for (uint32_t id = 0; id < d->n_tokens; id++) {
        tern_status status = find_pairs(d, t, id, &list, &n, &capacity);
        if (status != TERN_OK) {
            tern__free(list);
            return status;
        }
    }
    if (n > 0)
        qsort(list, n, sizeof *list, compare_merges);
    *out = list;
    *count = n;
    return TERN_OK;
}

static void add_merge(tern__strbuf *s, bool first, tern_token_text left, tern_token_text right)
{
    tern__strbuf_add(s, first ? "[" : ",[");
    tern__json_add_text_n(s, left.bytes, left.length);
    tern__strbuf_add(s, ",");
    tern__json_add_text_n(s, right.bytes, right.length);
    tern__strbuf_add(s, "]");
}

static tern_status add_merges(tern__strbuf *s, const tern_vocabulary *d, const tern_tokenizer *t)
{
    tern__strbuf_add(s, ",\n  \"merges\": [");
    for (size_t i = 0; i < d->n_merges; i++) {
        const tern_token_text *m = &d->merges[i];
        const char *blank = memchr(m->bytes + 1, ' ', m->length - 1); /* the tokenizer was made of them */
        size_t left = (size_t)(blank - m->bytes);
        add_merge(s, i == 0, (tern_token_text){m->bytes, left},
                  (tern_token_text){blank + 1, m->length - left - 1});
    }
    if (d->n_merges == 0) {
        merge *list = NULL;
        size_t n = 0;
        TERN_TRY(find_merges(d, t, &list, &n));
        for (size_t i = 0; i < n; i++)
            add_merge(s, i == 0, d->tokens[list[i].left], d->tokens[list[i].right]);
        tern__free(list);
    }
    tern__strbuf_add(s, "]");
    return TERN_OK;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static int32_t type_of(const tern_vocabulary *d, size_t id)
{
    return d->types ? d->types[id] : TERN_TOKEN_NORMAL;
}

static void add_added(tern__strbuf *s, const tern_vocabulary *d)
{
    bool first = true;
    tern__strbuf_add(s, " \"added_tokens\": [");
    for (size_t id = 0; id < d->n_tokens; id++) {
        int32_t type = type_of(d, id);
        if (type != TERN_TOKEN_CONTROL && type != TERN_TOKEN_USER_DEFINED && type != TERN_TOKEN_UNKNOWN)
            continue;
        tern__strbuf_addf(s, "%s\n  {\"id\": %zu, \"content\": ", first ? "" : ",", id);
        tern__json_add_text_n(s, d->tokens[id].bytes, d->tokens[id].length);
        tern__strbuf_addf(
            s,
            ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
            "\"special\": %s}",
            type == TERN_TOKEN_USER_DEFINED ? "false" : "true");
        first = false;
    }
    tern__strbuf_add(s, "],\n");
}

/* {"SpecialToken": ...} of a token, behind `before`. */
static void add_special(tern__strbuf *s, const tern_vocabulary *d, int32_t id, const char *before,
                        const char *after)
{
    tern__strbuf_addf(s, "%s{\"SpecialToken\": {\"id\": ", before);
    tern__json_add_text_n(s, d->tokens[id].bytes, d->tokens[id].length);
    tern__strbuf_addf(s, ", \"type_id\": 0}}%s", after);
}

static void add_post_processor(tern__strbuf *s, const tern_vocabulary *d, const tern_tokenizer *t)
{
    bool bos = t->add_bos && t->bos != TERN_NO_TOKEN, eos = t->add_eos && t->eos != TERN_NO_TOKEN;
    if (!bos && !eos) {
        tern__strbuf_add(s, " \"post_processor\": null,\n");
        return;
    }
    tern__strbuf_add(s, " \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [");
    if (bos)
        add_special(s, d, t->bos, "", ", ");
    tern__strbuf_add(s, "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}");
    if (eos)
        add_special(s, d, t->eos, ", ", "");
    tern__strbuf_add(
        s, "], \"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", "
           "\"type_id\": 1}}], \"special_tokens\": {");
    const int32_t ids[] = {bos ? t->bos : TERN_NO_TOKEN, eos && t->eos != t->bos ? t->eos : TERN_NO_TOKEN};
    for (int i = 0, n = 0; i < 2; i++) {
        if (ids[i] == TERN_NO_TOKEN)
            continue;
        const tern_token_text *token = &d->tokens[ids[i]];
        tern__strbuf_add(s, n++ ? ", " : "");
        tern__json_add_text_n(s, token->bytes, token->length);
        tern__strbuf_add(s, ": {\"id\": ");
        tern__json_add_text_n(s, token->bytes, token->length);
        tern__strbuf_addf(s, ", \"ids\": [%d], \"tokens\": [", (int)ids[i]);
        tern__json_add_text_n(s, token->bytes, token->length);
        tern__strbuf_add(s, "]}");
    }
    tern__strbuf_add(s, "}},\n");
}

static tern_status add_rules(tern__strbuf *s, const tern_tokenizer *t)
{
    if (t->family == TERN__TOKENS_BY_CHARACTERS) {
        if (t->space_if_none) /* which only this step does */
            tern__strbuf_addf(
                s,
                " \"normalizer\": null,\n \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
                "\"" TERN__LOW_LINE "\", \"prepend_scheme\": \"%s\", \"split\": false},\n",
                t->space_at_start ? "first" : "always");
        else
            tern__strbuf_addf(
                s,
                " \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [%s{\"type\": \"Replace\", "
                "\"pattern\": "
                "{\"String\": \" \"}, \"content\": \"" TERN__LOW_LINE "\"}]},\n \"pre_tokenizer\": null,\n",
                t->add_space ? "{\"type\": \"Prepend\", \"prepend\": \"" TERN__LOW_LINE "\"}, " : "");
        tern__strbuf_add(
            s, " \"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": "
               "{\"String\": \"" TERN__LOW_LINE "\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, "
               "{\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": "
               "0}]},\n");
        return TERN_OK;
    }
    TERN__FAIL_IF(!t->rule->written, TERN_UNSUPPORTED,
                  "tokenizer.json cannot say how '%s' cuts text; ask for another way", t->rule->name);
    tern__strbuf_add(
        s,
        " \"normalizer\": null,\n \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
        "\"Split\", \"pattern\": {\"Regex\": ");
    tern__json_add_text(s, t->rule->written);
    tern__strbuf_add(
        s,
        "}, \"behavior\": \"Isolated\", \"invert\": false}, {\"type\": \"ByteLevel\", \"add_prefix_space\": "
        "false, \"trim_offsets\": true, \"use_regex\": false}]},\n");
    tern__strbuf_add(
        s, " \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, "
           "\"use_regex\": true},\n");
    return TERN_OK;
}

/* JSON's texts are Unicode. */
static tern_status check_texts(const tern_vocabulary *d)
{
    for (size_t id = 0; id < d->n_tokens; id++) {
        const tern_token_text *token = &d->tokens[id];
        for (size_t at = 0, n; at < token->length; at += n) {
            n = tern__utf8_length(token->bytes + at, token->length - at);
            TERN__FAIL_IF(n == 0, TERN_UNSUPPORTED,
                          "tokenizer.json cannot hold token %zu, whose text is not UTF-8", id);
        }
    }
    return TERN_OK;
}

tern_status tern__vocabulary_write_json(const tern_vocabulary *vocabulary, const tern_tokenizer *t,
                                        tern__strbuf *out)
{
    const tern_vocabulary *d = vocabulary;
    bool characters = t->family == TERN__TOKENS_BY_CHARACTERS;
    TERN_TRY(check_texts(d));
    tern__strbuf_add(out, "{\n \"version\": \"1.0\",\n \"truncation\": null,\n \"padding\": null,\n");
    add_added(out, d);
    TERN_TRY(add_rules(out, t));
    add_post_processor(out, d, t);
    tern__strbuf_add(out, " \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": ");
    if (characters && t->unk != TERN_NO_TOKEN)
        tern__json_add_text_n(out, d->tokens[t->unk].bytes, d->tokens[t->unk].length);
    else
        tern__strbuf_add(out, "null");
    tern__strbuf_addf(
        out,
        ", \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": %s, "
        "\"byte_fallback\": %s, \"ignore_merges\": %s,\n  \"vocab\": {",
        characters ? "true" : "false", characters ? "true" : "false", t->ignore_merges ? "true" : "false");
    for (size_t id = 0, n = 0; id < d->n_tokens; id++) {
        int32_t type = type_of(d, id);
        if (!characters && (type == TERN_TOKEN_CONTROL || type == TERN_TOKEN_USER_DEFINED))
            continue; /* among the added ones only */
        tern__strbuf_add(out, n++ ? "," : "");
        tern__json_add_text_n(out, d->tokens[id].bytes, d->tokens[id].length);
        tern__strbuf_addf(out, ":%zu", id);
    }
    tern__strbuf_add(out, "}");
    TERN_TRY(add_merges(out, d, t));
    tern__strbuf_add(out, "}\n}\n");
    return TERN_OK;
}

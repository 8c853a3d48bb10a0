/* to_vocabulary.c - a tokenizer as the plain data that it could have been made from. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

/* Texts one behind the other; where each ends is known before they stop moving. */
typedef struct texts {
    tern__strbuf bytes;
    size_t *ends;
    size_t n, capacity;
    tern_token_text *list; /* once all are there */
} texts;

typedef struct parts {
    texts tokens, merges;
    int32_t *types;
    tern_token_flags *flags;
} parts;

static void texts_free(texts *t)
{
    tern__strbuf_free(&t->bytes);
    tern__free(t->ends);
    tern__free(t->list);
}

/* What was added to t->bytes since the last one is a text. */
static tern_status texts_end(texts *t)
{
    if (t->bytes.failed || !tern__grow((void **)&t->ends, &t->capacity, t->n + 1, sizeof *t->ends))
        return tern__out_of_memory(t->bytes.length);
    t->ends[t->n++] = t->bytes.length;
    return TERN_OK;
}

static tern_status texts_list(texts *t)
{
    t->list = tern__alloc_zero(t->n + 1, sizeof *t->list);
    if (!t->list)
        return tern__out_of_memory(t->n * sizeof *t->list);
    for (size_t i = 0, from = 0; i < t->n; from = t->ends[i++])
        t->list[i] = (tern_token_text){t->bytes.text ? t->bytes.text + from : "", t->ends[i] - from};
    return TERN_OK;
}

/* ---- tokens -------------------------------------------------------------------------------------------------------- */

/* A symbol as files have it. */
static void add_symbol(const tern_tokenizer *t, uint32_t symbol, tern__strbuf *out)
{
    size_t length;
    const char *text = tern__vocab_text(&t->vocab, symbol, &length);
    const tern_token_type type = (tern_token_type)t->vocab.symbols[symbol].type;
    const bool plain = type == TERN_TOKEN_NORMAL || type == TERN_TOKEN_UNUSED;
    if (type == TERN_TOKEN_BYTE) {
        tern__strbuf_addf(out, "<0x%02X>", (unsigned)(unsigned char)text[0]);
    } else if (plain && t->family == TERN__TOKENS_BY_BYTES) {
        for (size_t i = 0; i < length; i++) {
            char character[2];
            tern__strbuf_add_n(out, character, tern__alphabet_encode((uint8_t)text[i], character));
        }
    } else {
        tern__strbuf_add_n(out, text, length);
    }
}

static tern_status add_tokens(const tern_tokenizer *t, parts *p)
{
    p->types = tern__alloc_zero(t->vocab.n_tokens, sizeof *p->types);
    if (!p->types)
        return tern__out_of_memory(t->vocab.n_tokens * sizeof *p->types);
    for (uint32_t i = 0; i < t->vocab.n_tokens; i++) {
        const size_t from = p->tokens.bytes.length;
        p->types[i] = t->vocab.symbols[i].type;
        add_symbol(t, i, &p->tokens.bytes);
        TERN__FAIL_IF(p->tokens.bytes.length - from > TERN__MAX_TOKEN_BYTES, TERN_UNSUPPORTED,
                      "tokenizer: token %u is too long for a file", i);
        TERN_TRY(texts_end(&p->tokens));
    }
    return texts_list(&p->tokens);
}

/* ---- merges -------------------------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const tern__pair *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static tern_status add_merges(const tern_tokenizer *t, parts *p)
{
    if (!t->merges_stated)
        return TERN_OK;
    tern__pair *pairs = tern__alloc_zero(t->pairs.count + 1, sizeof *pairs);
    if (!pairs)
        return tern__out_of_memory(t->pairs.count * sizeof *pairs);
    size_t n = 0;
    for (size_t i = 0; i < t->pairs.n_slots; i++)
        if (t->pairs.slots[i].left != TERN__NO_SYMBOL)
            pairs[n++] = t->pairs.slots[i];
    qsort(pairs, n, sizeof *pairs, by_rank);
    tern_status status = TERN_OK;
    for (size_t i = 0; i < n && status == TERN_OK; i++) {
        add_symbol(t, pairs[i].left, &p->merges.bytes);
        tern__strbuf_add(&p->merges.bytes, " ");
        add_symbol(t, pairs[i].right, &p->merges.bytes);
        status = texts_end(&p->merges);
    }
    tern__free(pairs);
    return status == TERN_OK ? texts_list(&p->merges) : status;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

static tern_status add_flags(const tern_tokenizer *t, parts *p)
{
    p->flags = tern__alloc_zero(t->specials.count + 1, sizeof *p->flags);
    if (!p->flags)
        return tern__out_of_memory(t->specials.count * sizeof *p->flags);
    for (size_t i = 0; i < t->specials.count; i++) {
        const tern__special *s = &t->specials.rows[i];
        p->flags[i] = (tern_token_flags){(int32_t)s->id, s->lstrip, s->rstrip, s->single_word};
    }
    return TERN_OK;
}

static tern_tristate choice_of(bool yes)
{
    return yes ? TERN_TRISTATE_YES : TERN_TRISTATE_NO;
}

static tern_status hand_over(const tern_tokenizer *t, const parts *p, tern__vocabulary_fn take, void *user)
{
    const bool bytes = t->family == TERN__TOKENS_BY_BYTES;
    tern_vocabulary d = tern_vocabulary_default();
    d.model = tern__token_family_names[t->family];
    d.pre = bytes ? t->rule->name : NULL;
    d.n_tokens = p->tokens.n;
    d.tokens = p->tokens.list;
    d.types = p->types;
    d.scores = t->scores;
    d.n_merges = p->merges.n;
    d.merges = p->merges.list;
    d.n_flags = t->specials.count;
    d.flags = p->flags;
    d.bos = t->bos, d.eos = t->eos, d.eot = t->eot, d.unk = t->unk;
    size_t first = 0; /* eos and eot come first, those that names tell come last and need no list */
    while (first < t->n_ends && (t->ends[first] == t->eos || t->ends[first] == t->eot))
        first++;
    d.ends = t->ends + first;
    d.n_ends = t->n_ends - first < TERN__MOST_LISTED_ENDS ? t->n_ends - first : TERN__MOST_LISTED_ENDS;
    d.add_bos = choice_of(t->add_bos);
    d.add_eos = choice_of(t->add_eos);
    if (bytes)
        d.ignore_merges = choice_of(t->ignore_merges);
    else
        d.add_space = choice_of(t->add_space);
    d.space_at_start = t->space_at_start;
    d.space_if_none = t->space_if_none;
    d.chat_template = t->template_text;
    return take(&d, user);
}

tern_status tern__vocabulary_of_tokenizer(const tern_tokenizer *t, tern__vocabulary_fn take, void *user)
{
    parts p = {.tokens.bytes = TERN__STRBUF_EMPTY, .merges.bytes = TERN__STRBUF_EMPTY};
    tern_status status = add_tokens(t, &p);
    if (status == TERN_OK)
        status = add_merges(t, &p);
    if (status == TERN_OK)
        status = add_flags(t, &p);
    if (status == TERN_OK)
        status = hand_over(t, &p, take, user);
    texts_free(&p.tokens);
    texts_free(&p.merges);
    tern__free(p.types);
    tern__free(p.flags);
    return status;
}

/* encode.c - text to ids: special tokens first, then what stands between them by the rules of the family. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"
#include "base/utf8.h"

static tern_status push_id(tern__ids *list, uint32_t id)
{
    if (!tern__grow((void **)&list->ids, &list->capacity, list->count + 1, sizeof *list->ids))
        return tern__out_of_memory(list->count * sizeof *list->ids);
    list->ids[list->count++] = (int32_t)id;
    return TERN_OK;
}

tern_status tern__ids_take(tern__ids *list, tern_status status, int32_t **ids, size_t *count)
{
    if (status == TERN_OK && !list->ids) { /* no ids: still a block to free */
        list->ids = tern__alloc(1);
        status = list->ids ? TERN_OK : tern__out_of_memory(1);
    }
    if (status != TERN_OK) {
        tern__free(list->ids);
        return status;
    }
    *ids = list->ids;
    *count = list->count;
    return TERN_OK;
}

typedef struct encoder {
    const tern_tokenizer *t;
    tern__ids *out;
    tern__bpe bpe;
    tern__split_work *split; /* of bytes */
    char *spaced;            /* of characters: the text with its blanks replaced */
    size_t spaced_capacity;
    bool unk_last; /* the last id stands for unknown text, and for more of it that follows */
} encoder;

static tern_status no_token(unsigned char byte)
{
    return tern__fail(TERN_FORMAT,
                      "tokenizer: the vocabulary has no token for the byte 0x%02X, and none for unknown text",
                      byte);
}

/* Text that no symbol stands for, byte by byte. */
static tern_status push_bytes(encoder *e, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool known = e->t->byte_ids[byte] != TERN__NO_SYMBOL;
        if (!known && e->t->unk < 0)
            return no_token(byte);
        if (known)
            TERN_TRY(push_id(e->out, e->t->byte_ids[byte]));
        else if (!e->unk_last)
            TERN_TRY(push_id(e->out, (uint32_t)e->t->unk));
        e->unk_last = !known;
    }
    return TERN_OK;
}

/* Merges the items and emits them; `text` is what they were made from. */
static tern_status flush(encoder *e, const char *text, size_t length)
{
    TERN_TRY(tern__bpe_merge(&e->bpe, &e->t->pairs));
    for (uint32_t i = 0, next; i != TERN__NO_INDEX; i = next) {
        const tern__bpe_item *item = &e->bpe.items[i];
        next = item->next;
        size_t end = next == TERN__NO_INDEX ? length : e->bpe.items[next].at;
        if (item->symbol >= e->t->vocab.n_tokens) {
            TERN_TRY(push_bytes(e, text + item->at, end - item->at));
        } else {
            TERN_TRY(push_id(e->out, item->symbol));
            e->unk_last = false;
        }
    }
    return TERN_OK;
}

/* ---- bytes ---------------------------------------------------------------------------------------------- */

static tern_status encode_piece(void *user, const char *piece, size_t length)
{
    encoder *e = user;
    uint32_t whole =
        e->t->ignore_merges || length == 1 ? tern__vocab_find(&e->t->vocab, piece, length) : TERN__NO_SYMBOL;
    if (whole != TERN__NO_SYMBOL) {
        e->unk_last = false;
        return push_id(e->out, whole);
    }
    e->bpe.count = 0;
    for (size_t i = 0; i < length; i++)
        TERN_TRY(tern__bpe_push(&e->bpe, e->t->byte_ids[(unsigned char)piece[i]], i));
    return flush(e, piece, length);
}

/* ---- characters ----------------------------------------------------------------------------------------- */

static void append(encoder *e, size_t *n, const char *bytes, size_t length)
{
    memcpy(e->spaced + *n, bytes, length);
    *n += length;
}

/* Does a blank go before this section of a text, which `starts` it or stands behind a special token? */
static bool takes_space(const tern_tokenizer *t, const char *text, size_t length, bool starts)
{
    const bool there =
        (length >= 1 && text[0] == ' ') || (length >= 3 && memcmp(text, TERN__LOW_LINE, 3) == 0);
    return t->add_space && (starts || !t->space_at_start) && !(t->space_if_none && there);
}

static tern_status encode_characters(encoder *e, const char *text, size_t length, bool starts)
{
    const bool space = takes_space(e->t, text, length, starts);
    size_t blanks = space, n = 0, used;
    for (size_t i = 0; i < length; i++)
        blanks += text[i] == ' ';
    if (!tern__grow((void **)&e->spaced, &e->spaced_capacity, length + 3 * blanks, 1))
        return tern__out_of_memory(length + 3 * blanks);
    if (space)
        append(e, &n, TERN__LOW_LINE, 3);
    for (size_t i = 0; i < length; i++)
        append(e, &n, text[i] == ' ' ? TERN__LOW_LINE : text + i, text[i] == ' ' ? 3 : 1);

    e->bpe.count = 0;
    for (size_t i = 0; i < n; i += used) {
        used = tern__utf8_length(e->spaced + i, n - i);
        uint32_t symbol = used ? tern__vocab_find(&e->t->vocab, e->spaced + i, used) : TERN__NO_SYMBOL;
        used += used == 0;
        TERN_TRY(tern__bpe_push(&e->bpe, symbol, i));
    }
    return flush(e, e->spaced, n);
}

/* ---- sections ------------------------------------------------------------------------------------------- */

static tern_status encode_text(encoder *e, const char *text, size_t length, bool starts)
{
    if (length == 0)
        return TERN_OK;
    if (e->t->family == TERN__TOKENS_BY_CHARACTERS)
        return encode_characters(e, text, length, starts);
    if (!e->t->splitter) /* every byte is a piece */
        return push_bytes(e, text, length);
    return tern__split_any(e->t->splitter, e->split, text, length, encode_piece, e);
}

static tern_status encode_sections(encoder *e, const char *text, size_t length,
                                   const tern__protected *shields, size_t n_shields)
{
    const tern__special *found;
    size_t done = 0, start, end;
    while ((found = tern__specials_next(&e->t->specials, &e->t->vocab, text, length, done, shields, n_shields,
                                        &start, &end))) {
        size_t before = found->lstrip ? tern__utf8_without_blanks(text + done, start - done) : start - done;
        TERN_TRY(encode_text(e, text + done, before, done == 0));
        TERN_TRY(push_id(e->out, found->id));
        e->unk_last = false;
        done = found->rstrip ? tern__utf8_behind_blanks(text, length, end) : end;
    }
    return encode_text(e, text + done, length - done, done == 0);
}

tern_status tern__encode(const tern_tokenizer *t, const char *text, size_t length, bool add_special,
                         const tern__protected *shields, size_t n_shields, tern__ids *out)
{
    /* Positions in a text are 32 bits wide, and blanks may become three bytes. */
    TERN__FAIL_IF(length >= UINT32_MAX / 4, TERN_LIMIT, "tokenizer: a text of %zu bytes is too long; cut it",
                  length);
    encoder e = {.t = t, .out = out};
    tern_status status = TERN_OK;
    if (add_special && t->add_bos)
        status = push_id(out, (uint32_t)t->bos);
    if (status == TERN_OK && t->splitter)
        status = tern__split_work_create(&e.split);
    if (status == TERN_OK)
        status = encode_sections(&e, text, length, shields, n_shields);
    if (status == TERN_OK && add_special && t->add_eos)
        status = push_id(out, (uint32_t)t->eos);
    tern__bpe_free(&e.bpe);
    tern__split_work_free(e.split);
    tern__free(e.spaced);
    return status;
}

/* ---- the public calls ----------------------------------------------------------------------------------- */

tern_encode_options tern_encode_options_default(void)
{
    return (tern_encode_options){0};
}

tern_status tern_tokenizer_encode(const tern_tokenizer *t, const char *text, size_t length,
                                  const tern_encode_options *options, int32_t **ids, size_t *count)
{
    TERN__FAIL_IF(!t || !text || !ids || !count, TERN_INVALID_ARGUMENT,
                  "tokenizer_encode: the tokenizer, the text, or a place for the result, is NULL");
    tern_encode_options o = options ? *options : tern_encode_options_default();
    tern__protected all = {0, length};
    tern__ids list = {0};
    tern_status status = tern__encode(t, text, length, !o.no_special, &all, o.parse_special ? 0 : 1, &list);
    if (status == TERN_OK && o.goes_on && !o.no_special && t->add_eos)
        list.count--; /* the last is the end's */
    return tern__ids_take(&list, status, ids, count);
}

void tern_tokens_free(int32_t *ids)
{
    tern__free(ids);
}

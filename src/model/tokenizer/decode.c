/* decode.c - ids to text, id by id: whole characters go out, the start of one waits for its rest. Decoding a list is
 * the same in a loop. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "model/tokenizer/tokenizer.h"
#include "base/utf8.h"

struct tern_detokenizer {
    const tern_tokenizer *t;
    tern_decode_options options;
    char waiting[4]; /* the start of a character */
    size_t n_waiting;
    bool started; /* some text went out or waits */
    tern__strbuf piece;
};

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
#define UNKNOWN " \xE2\x81\x87 "   /* what SentencePiece shows for unknown text: U+2047 */

tern_decode_options tern_decode_options_default(void)
{
    return (tern_decode_options){0};
}

/* ---- characters out of bytes ---------------------------------------------------------------------------- */

static void put_invalid(tern_detokenizer *d, tern__strbuf *out, const char *bytes, size_t length)
{
    if (d->options.keep_invalid)
        tern__strbuf_add_n(out, bytes, length);
    else
        tern__strbuf_add(out, REPLACEMENT);
}

/* The bytes that wait and those that come, as characters; what is cut at the end waits. */
static void put(tern_detokenizer *d, tern__strbuf *out, const char *bytes, size_t length)
{
    d->started |= length > 0;
    while (d->n_waiting > 0 && length > 0) {
        size_t used;
        d->waiting[d->n_waiting] = *bytes; /* what waits has 3 bytes at most */
        tern__utf8_kind kind = tern__utf8_next(d->waiting, d->n_waiting + 1, &used);
        if (kind == TERN__UTF8_INVALID) { /* the new byte does not belong to it */
            put_invalid(d, out, d->waiting, d->n_waiting);
            d->n_waiting = 0;
            break;
        }
        bytes++, length--;
        d->n_waiting++;
        if (kind == TERN__UTF8_WHOLE) {
            tern__strbuf_add_n(out, d->waiting, d->n_waiting);
            d->n_waiting = 0;
        }
    }
    while (length > 0) {
        size_t used;
        tern__utf8_kind kind = tern__utf8_next(bytes, length, &used);
        if (kind == TERN__UTF8_CUT) {
            memcpy(d->waiting, bytes, used);
            d->n_waiting = used;
            return;
        }
        if (kind == TERN__UTF8_WHOLE)
            tern__strbuf_add_n(out, bytes, used);
        else
            put_invalid(d, out, bytes, used);
        bytes += used, length -= used;
    }
}

/* ---- bytes out of tokens -------------------------------------------------------------------------------- */

/* A token of characters: its U+2581 are blanks, and the first blank of a text is not its own. */
static void put_characters(tern_detokenizer *d, tern__strbuf *out, const char *text, size_t length)
{
    bool strip = !d->options.goes_on && d->t->add_space && !d->started;
    for (size_t i = 0; i < length;) {
        bool blank = length - i >= 3 && memcmp(text + i, TERN__LOW_LINE, 3) == 0;
        if (blank && i == 0 && strip)
            d->started = true;
        else
            put(d, out, blank ? " " : text + i, 1);
        i += blank ? 3 : 1;
    }
}

static tern_status put_token(tern_detokenizer *d, tern__strbuf *out, int32_t id)
{
    const tern_tokenizer *t = d->t;
    size_t length;
    TERN__FAIL_IF(id < 0 || (uint32_t)id >= t->vocab.n_tokens, TERN_OUT_OF_RANGE,
                  "tokenizer: there is no token %d; ids are 0 to %u", id, t->vocab.n_tokens - 1);
    const char *text = tern__vocab_text(&t->vocab, (uint32_t)id, &length);
    switch ((tern_token_type)t->vocab.symbols[id].type) {
    case TERN_TOKEN_CONTROL:
        if (d->options.show_special)
            put(d, out, text, length);
        break;
    case TERN_TOKEN_UNKNOWN:
        if (d->options.show_special)
            put(d, out, text, length);
        else
            put(d, out, UNKNOWN, strlen(UNKNOWN));
        break;
    case TERN_TOKEN_NORMAL:
    case TERN_TOKEN_UNUSED:
        if (t->family == TERN__TOKENS_BY_CHARACTERS)
            put_characters(d, out, text, length);
        else
            put(d, out, text, length);
        break;
    case TERN_TOKEN_USER_DEFINED:
    case TERN_TOKEN_BYTE:
        put(d, out, text, length);
        break;
    }
    return out->failed ? tern__out_of_memory(length) : TERN_OK;
}

static void put_rest(tern_detokenizer *d, tern__strbuf *out)
{
    if (d->n_waiting > 0)
        put_invalid(d, out, d->waiting, d->n_waiting);
    d->n_waiting = 0;
    d->started = false;
}

/* ---- the public calls ----------------------------------------------------------------------------------- */

static tern_detokenizer detokenizer(const tern_tokenizer *t, const tern_decode_options *options)
{
    return (tern_detokenizer){.t = t, .options = options ? *options : tern_decode_options_default()};
}

tern_status tern_tokenizer_decode(const tern_tokenizer *t, const int32_t *ids, size_t count,
                                  const tern_decode_options *options, char **text, size_t *length)
{
    TERN__FAIL_IF(!t || (!ids && count > 0) || !text || !length, TERN_INVALID_ARGUMENT,
                  "tokenizer_decode: the tokenizer, the ids, or a place for the result, is NULL");
    tern_detokenizer d = detokenizer(t, options);
    tern__strbuf out = TERN__STRBUF_EMPTY;
    tern_status status = TERN_OK;
    for (size_t i = 0; i < count && status == TERN_OK; i++)
        status = put_token(&d, &out, ids[i]);
    put_rest(&d, &out);
    tern__strbuf_add(&out, ""); /* even an empty text is one */
    size_t bytes = out.length;
    if (status == TERN_OK)
        status = tern__strbuf_take(&out, text);
    if (status != TERN_OK) {
        tern__strbuf_free(&out);
        return status;
    }
    *length = bytes;
    return TERN_OK;
}

tern_status tern_detokenizer_create(const tern_tokenizer *t, const tern_decode_options *options,
                                    tern_detokenizer **out)
{
    TERN__FAIL_IF(!t || !out, TERN_INVALID_ARGUMENT,
                  "detokenizer_create: the tokenizer, or the place for the result, is NULL");
    tern_detokenizer *d = tern__alloc_zero(1, sizeof *d);
    if (!d)
        return tern__out_of_memory(sizeof *d);
    *d = detokenizer(t, options);
    *out = d;
    return TERN_OK;
}

void tern_detokenizer_free(tern_detokenizer *d)
{
    if (!d)
        return;
    tern__strbuf_free(&d->piece);
    tern__free(d);
}

/* Starts a new piece; the one before is forgotten, and so is a failure. */
static void begin(tern_detokenizer *d)
{
    d->piece.length = 0;
    d->piece.failed = false;
    if (d->piece.text)
        d->piece.text[0] = '\0';
}

static tern_status hand_out(tern_detokenizer *d, const char **text, size_t *length)
{
    if (d->piece.failed)
        return tern__out_of_memory(d->piece.length);
    *text = d->piece.text ? d->piece.text : "";
    *length = d->piece.length;
    return TERN_OK;
}

tern_status tern_detokenizer_push(tern_detokenizer *d, int32_t id, const char **text, size_t *length)
{
    TERN__FAIL_IF(!d || !text || !length, TERN_INVALID_ARGUMENT,
                  "detokenizer_push: the detokenizer, or a place for the result, is NULL");
    begin(d);
    TERN_TRY(put_token(d, &d->piece, id));
    return hand_out(d, text, length);
}

tern_status tern_detokenizer_finish(tern_detokenizer *d, const char **text, size_t *length)
{
    TERN__FAIL_IF(!d || !text || !length, TERN_INVALID_ARGUMENT,
                  "detokenizer_finish: the detokenizer, or a place for the result, is NULL");
    begin(d);
    put_rest(d, &d->piece);
    return hand_out(d, text, length);
}

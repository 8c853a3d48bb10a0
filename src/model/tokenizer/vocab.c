/* vocab.c - symbols and their texts. */
#include "model/tokenizer/vocab.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/utf8.h"

void tern__vocab_free(tern__vocab *v)
{
    tern__free(v->symbols);
    tern__free(v->text);
    tern__free(v->slots);
    *v = (tern__vocab){0};
}

/* ---- finding -------------------------------------------------------------------------------------------- */

/* The slot that holds this text, or the empty one where it belongs. */
static size_t slot_of(const tern__vocab *v, const char *bytes, size_t length)
{
    size_t mask = v->n_slots - 1, i = (size_t)tern__hash_foreign(bytes, length) & mask;
    for (; v->slots[i]; i = (i + 1) & mask) {
        size_t n;
        const char *text = tern__vocab_text(v, v->slots[i] - 1, &n);
        if (n == length && memcmp(text, bytes, length) == 0)
            break;
    }
    return i;
}

uint32_t tern__vocab_find(const tern__vocab *v, const char *bytes, size_t length)
{
    if (v->n_slots == 0)
        return TERN__NO_SYMBOL;
    return v->slots[slot_of(v, bytes, length)] - 1; /* 0 - 1: none */
}

static tern_status grow_slots(tern__vocab *v)
{
    uint32_t *old = v->slots;
    size_t n_old = v->n_slots, n = n_old ? 2 * n_old : 1024;
    uint32_t *slots = tern__alloc_zero(n, sizeof *slots);
    if (!slots)
        return tern__out_of_memory(n * sizeof *slots);
    v->slots = slots;
    v->n_slots = n;
    for (size_t i = 0; i < n_old; i++) {
        size_t length;
        if (!old[i])
            continue;
        const char *text = tern__vocab_text(v, old[i] - 1, &length);
        v->slots[slot_of(v, text, length)] = old[i];
    }
    tern__free(old);
    return TERN_OK;
}

/* ---- adding --------------------------------------------------------------------------------------------- */

tern_status tern__vocab_add(tern__vocab *v, const char *bytes, size_t length, tern_token_type type,
                            bool hashed)
{
    TERN__FAIL_IF(length > TERN__MAX_TOKEN_BYTES, TERN_LIMIT,
                  "tokenizer: token %zu has %zu bytes; at most %d are allowed", v->n_symbols, length,
                  TERN__MAX_TOKEN_BYTES);
    TERN__FAIL_IF(v->text_bytes + length > TERN__MAX_VOCAB_BYTES || v->n_symbols >= 2 * TERN__MAX_TOKENS,
                  TERN_LIMIT, "tokenizer: the vocabulary is larger than any real one");
    if (!tern__grow((void **)&v->symbols, &v->symbol_capacity, v->n_symbols + 1, sizeof *v->symbols))
        return tern__out_of_memory(sizeof *v->symbols);
    if (!tern__grow((void **)&v->text, &v->text_capacity, v->text_bytes + length + 1, 1))
        return tern__out_of_memory(length);
    if (3 * (v->n_hashed + 1) > 2 * v->n_slots)
        TERN_TRY(grow_slots(v));

    size_t slot = slot_of(v, bytes, length);
    if (length > 0)
        memcpy(v->text + v->text_bytes, bytes, length);
    v->symbols[v->n_symbols] =
        (tern__symbol){.at = (uint32_t)v->text_bytes, .length = (uint16_t)length, .type = (uint8_t)type};
    v->text_bytes += length;
    v->n_symbols++;
    if (hashed && length > 0 && !v->slots[slot]) {
        v->slots[slot] = (uint32_t)v->n_symbols;
        v->n_hashed++;
    }
    return TERN_OK;
}

/* ---- alphabets ------------------------------------------------------------------------------------------ */

/* The byte that a character stands for, or -1. Printable ones of Latin-1 stand for themselves; the other 68 bytes are
 * numbered from U+0100 on. */
static int byte_of(uint32_t c)
{
    if ((c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xFF && c != 0xAD))
        return (int)c;
    if (c < 0x100 || c > 0x143)
        return -1;
    c -= 0x100;
    if (c <= 0x20)
        return (int)c;
    if (c < 0x21 + 0x22) /* 0x7F to 0xA0 */
        return (int)(c - 0x21 + 0x7F);
    return 0xAD;
}

bool tern__alphabet_decode(const char *bytes, size_t length, char *out, size_t *out_length)
{
    size_t n = 0;
    for (size_t i = 0, used; i < length; i += used) {
        used = tern__utf8_length(bytes + i, length - i);
        int byte = used ? byte_of(tern__utf8_value(bytes + i, used)) : -1;
        if (byte < 0)
            return false;
        out[n++] = (char)byte;
    }
    *out_length = n;
    return true;
}

size_t tern__alphabet_encode(uint8_t byte, char out[static 2])
{
    uint32_t c = byte; /* itself, or one of those behind U+0100 */
    for (uint32_t other = 0x100; byte_of(c) != byte; other++)
        c = other;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = (char)(0xC0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

int tern__byte_token_value(const char *bytes, size_t length)
{
    if (length != 6 || memcmp(bytes, "<0x", 3) != 0 || bytes[5] != '>')
        return -1;
    int high = hex_digit(bytes[3]), low = hex_digit(bytes[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

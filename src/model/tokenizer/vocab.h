/* vocab.h - the symbols that text is made of: the tokens by id, then the characters that only merges know. Texts are
 * found by hash. */
#ifndef TERN_MODEL_TOKENIZER_VOCAB_H
#define TERN_MODEL_TOKENIZER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/tokenizer.h>

#define TERN__NO_SYMBOL UINT32_MAX

/* Beyond any real vocabulary (2^18 tokens, 256 bytes, 2 MiB); they bound the time to build the tables, and their memory. */
enum { TERN__MAX_TOKENS = 300000, TERN__MAX_TOKEN_BYTES = 1024, TERN__MAX_VOCAB_BYTES = 16 << 20 };
/* Of a token that is cut everywhere to see what it is made of, and of all of them. */
enum { TERN__MAX_CUT_BYTES = 256, TERN__MAX_CUT_TOTAL = 4 << 20 };

typedef struct tern__symbol {
    uint32_t at; /* into `text` */
    uint16_t length;
    uint8_t type; /* tern_token_type */
} tern__symbol;

typedef struct tern__vocab {
    tern__symbol *symbols;
    size_t n_symbols, symbol_capacity;
    uint32_t n_tokens; /* the first ones */
    char *text;
    size_t text_bytes, text_capacity;
    uint32_t *slots; /* symbol + 1, or 0 */
    size_t n_slots;  /* a power of two, or 0 */
    size_t n_hashed;
} tern__vocab;

void tern__vocab_free(tern__vocab *v);

/* Appends a symbol. `hashed`: tern__vocab_find finds it, unless an earlier one has the same text. */
tern_status tern__vocab_add(tern__vocab *v, const char *bytes, size_t length, tern_token_type type,
                            bool hashed);

/* TERN__NO_SYMBOL if there is none. */
uint32_t tern__vocab_find(const tern__vocab *v, const char *bytes, size_t length);

static inline const char *tern__vocab_text(const tern__vocab *v, uint32_t symbol, size_t *length)
{
    *length = v->symbols[symbol].length;
    return v->text + v->symbols[symbol].at;
}

/* ---- GPT-2's alphabet: each byte is written as a printable character ---------------------------------------------- */

/* Undoes it. `out` has room for `length` bytes. false: some character is not of the alphabet. */
bool tern__alphabet_decode(const char *bytes, size_t length, char *out, size_t *out_length);

/* The character that stands for a byte, in UTF-8; its length. */
size_t tern__alphabet_encode(uint8_t byte, char out[static 2]);

/* "<0x0A>" is 10; -1 for anything else. */
int tern__byte_token_value(const char *bytes, size_t length);

#endif

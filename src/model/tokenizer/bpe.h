/* bpe.h - merging: which pairs of symbols become one, and doing it to a sequence, the best pair first. */
#ifndef TERN_MODEL_TOKENIZER_BPE_H
#define TERN_MODEL_TOKENIZER_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "model/tokenizer/vocab.h"

/* ---- pairs ---------------------------------------------------------------------------------------------- */

typedef struct tern__pair {
    uint32_t left, right;  /* `left` TERN__NO_SYMBOL: an empty slot */
    uint32_t rank, merged; /* the lowest rank goes first */
} tern__pair;

typedef struct tern__pairs {
    tern__pair *slots;
    size_t n_slots; /* a power of two, or 0 */
    size_t count;
} tern__pairs;

void tern__pairs_free(tern__pairs *p);

/* The first rank that a pair is added with stays. */
tern_status tern__pairs_add(tern__pairs *p, tern__pair pair);
const tern__pair *tern__pairs_find(const tern__pairs *p, uint32_t left, uint32_t right); /* NULL: none */

/* Every way to cut a hashed token into two symbols becomes a pair, with the rank of the token. Cuts are at bytes, or at
 * characters. TERN_LIMIT for tokens that are longer or more, and for more pairs, than any vocabulary has. */
tern_status tern__pairs_from_tokens(tern__pairs *p, const tern__vocab *v, const uint32_t *rank, bool by_byte);

/* ---- sequences ------------------------------------------------------------------------------------------ */

#define TERN__NO_INDEX UINT32_MAX

typedef struct tern__bpe_item {
    uint32_t symbol;     /* TERN__NO_SYMBOL: text without a symbol */
    uint32_t prev, next; /* neighbours, or TERN__NO_INDEX */
    uint32_t at;         /* where its text starts */
} tern__bpe_item;

typedef struct tern__bpe_offer tern__bpe_offer;

/* Room for one sequence at a time, kept from one to the next. Item 0 always lives. */
typedef struct tern__bpe {
    tern__bpe_item *items;
    size_t count, item_capacity;
    tern__bpe_offer *heap;
    size_t n_heap, heap_capacity;
} tern__bpe;

void tern__bpe_free(tern__bpe *b);
tern_status tern__bpe_push(tern__bpe *b, uint32_t symbol, size_t at);

/* Merges until no pair is left: the lowest rank first, the leftmost of equals. O(n log n). */
tern_status tern__bpe_merge(tern__bpe *b, const tern__pairs *pairs);

#endif

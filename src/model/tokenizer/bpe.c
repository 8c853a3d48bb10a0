/* bpe.c - byte-pair merging with a heap of offers. An offer that its neighbours' merges made void is recognised when
 * it comes up, so nothing is ever searched for. */
#include "model/tokenizer/bpe.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/utf8.h"

/* ---- pairs ---------------------------------------------------------------------------------------------- */

void tern__pairs_free(tern__pairs *p)
{
    tern__free(p->slots);
    *p = (tern__pairs){0};
}

static tern__pair *slot_of(const tern__pairs *p, uint32_t left, uint32_t right)
{
    const uint32_t key[2] = {left, right};
    size_t mask = p->n_slots - 1, i = (size_t)tern__hash_foreign(key, sizeof key) & mask;
    while (p->slots[i].left != TERN__NO_SYMBOL && (p->slots[i].left != left || p->slots[i].right != right))
        i = (i + 1) & mask;
    return &p->slots[i];
}

const tern__pair *tern__pairs_find(const tern__pairs *p, uint32_t left, uint32_t right)
{
    if (p->n_slots == 0 || left == TERN__NO_SYMBOL || right == TERN__NO_SYMBOL)
        return NULL;
    const tern__pair *slot = slot_of(p, left, right);
    return slot->left == TERN__NO_SYMBOL ? NULL : slot;
}

static tern_status grow_slots(tern__pairs *p)
{
    tern__pairs wider = {.n_slots = p->n_slots ? 2 * p->n_slots : 1024, .count = p->count};
    wider.slots = tern__alloc_zero(wider.n_slots, sizeof *wider.slots);
    if (!wider.slots)
        return tern__out_of_memory(wider.n_slots * sizeof *wider.slots);
    for (size_t i = 0; i < wider.n_slots; i++)
        wider.slots[i].left = TERN__NO_SYMBOL;
    for (size_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].left != TERN__NO_SYMBOL)
            *slot_of(&wider, p->slots[i].left, p->slots[i].right) = p->slots[i];
    tern__free(p->slots);
    *p = wider;
    return TERN_OK;
}

tern_status tern__pairs_add(tern__pairs *p, tern__pair pair)
{
    if (3 * (p->count + 1) > 2 * p->n_slots)
        TERN_TRY(grow_slots(p));
    tern__pair *slot = slot_of(p, pair.left, pair.right);
    if (slot->left == TERN__NO_SYMBOL) {
        *slot = pair;
        p->count++;
    }
    return TERN_OK;
}

tern_status tern__pairs_from_tokens(tern__pairs *p, const tern__vocab *v, const uint32_t *rank, bool by_byte)
{
    size_t bytes = 0;
    for (uint32_t t = 0; t < v->n_tokens; t++)
        bytes += v->symbols[t].length;
    TERN__FAIL_IF(bytes > TERN__MAX_CUT_TOTAL, TERN_LIMIT,
                  "tokenizer: its tokens have %zu bytes; without a list of merges at most %d are allowed",
                  bytes, TERN__MAX_CUT_TOTAL);
    for (uint32_t t = 0; t < v->n_tokens; t++) {
        size_t length, cut;
        const char *text = tern__vocab_text(v, t, &length);
        if (tern__vocab_find(v, text, length) != t) /* not hashed, or an earlier one is the same */
            continue;
        TERN__FAIL_IF(length > TERN__MAX_CUT_BYTES, TERN_LIMIT,
                      "tokenizer: token %u has %zu bytes; without a list of merges at most %d are allowed", t,
                      length, TERN__MAX_CUT_BYTES);
        for (size_t at = 0; at < length; at += cut) {
            cut = by_byte ? 1 : tern__utf8_length(text + at, length - at);
            cut += cut == 0; /* a byte that is no character is cut off alone, as in texts */
            if (at == 0)
                continue;
            tern__pair pair = {.rank = rank[t], .merged = t};
            pair.left = tern__vocab_find(v, text, at);
            if (pair.left == TERN__NO_SYMBOL)
                continue;
            pair.right = tern__vocab_find(v, text + at, length - at);
            if (pair.right != TERN__NO_SYMBOL)
                TERN_TRY(tern__pairs_add(p, pair));
        }
        TERN__FAIL_IF(p->count > 2 * (size_t)TERN__MAX_TOKENS, TERN_LIMIT,
                      "tokenizer: its tokens are made of each other in more than %d ways",
                      2 * TERN__MAX_TOKENS);
    }
    return TERN_OK;
}

/* ---- the heap ------------------------------------------------------------------------------------------- */

struct tern__bpe_offer {
    uint64_t order; /* rank, then position of the left item */
    uint32_t left_symbol, right_symbol;
};

static tern_status heap_push(tern__bpe *b, tern__bpe_offer offer)
{
    if (!tern__grow((void **)&b->heap, &b->heap_capacity, b->n_heap + 1, sizeof *b->heap))
        return tern__out_of_memory(b->n_heap * sizeof *b->heap);
    size_t i = b->n_heap++;
    for (; i > 0 && b->heap[(i - 1) / 2].order > offer.order; i = (i - 1) / 2)
        b->heap[i] = b->heap[(i - 1) / 2];
    b->heap[i] = offer;
    return TERN_OK;
}

static tern__bpe_offer heap_pop(tern__bpe *b)
{
    tern__bpe_offer top = b->heap[0], last = b->heap[--b->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= b->n_heap)
            break;
        if (child + 1 < b->n_heap && b->heap[child + 1].order < b->heap[child].order)
            child++;
        if (b->heap[child].order >= last.order)
            break;
        b->heap[i] = b->heap[child];
        i = child;
    }
    if (b->n_heap > 0)
        b->heap[i] = last;
    return top;
}

/* ---- merging -------------------------------------------------------------------------------------------- */

void tern__bpe_free(tern__bpe *b)
{
    tern__free(b->items);
    tern__free(b->heap);
    *b = (tern__bpe){0};
}

tern_status tern__bpe_push(tern__bpe *b, uint32_t symbol, size_t at)
{
    if (!tern__grow((void **)&b->items, &b->item_capacity, b->count + 1, sizeof *b->items))
        return tern__out_of_memory(b->count * sizeof *b->items);
    uint32_t i = (uint32_t)b->count++;
    b->items[i] = (tern__bpe_item){symbol, i ? i - 1 : TERN__NO_INDEX, TERN__NO_INDEX, (uint32_t)at};
    if (i)
        b->items[i - 1].next = i;
    return TERN_OK;
}

/* Offers to merge item `left` with the one behind it, if they are a pair. */
static tern_status offer(tern__bpe *b, const tern__pairs *pairs, uint32_t left)
{
    if (left == TERN__NO_INDEX || b->items[left].next == TERN__NO_INDEX)
        return TERN_OK;
    uint32_t l = b->items[left].symbol, r = b->items[b->items[left].next].symbol;
    const tern__pair *pair = tern__pairs_find(pairs, l, r);
    return pair ? heap_push(b, (tern__bpe_offer){(uint64_t)pair->rank << 32 | left, l, r}) : TERN_OK;
}

tern_status tern__bpe_merge(tern__bpe *b, const tern__pairs *pairs)
{
    b->n_heap = 0;
    for (size_t i = 0; i + 1 < b->count; i++)
        TERN_TRY(offer(b, pairs, (uint32_t)i));
    while (b->n_heap > 0) {
        tern__bpe_offer best = heap_pop(b);
        uint32_t at = (uint32_t)best.order;
        tern__bpe_item *left = &b->items[at];
        if (left->symbol != best.left_symbol || left->next == TERN__NO_INDEX ||
            b->items[left->next].symbol != best.right_symbol)
            continue;
        tern__bpe_item *right = &b->items[left->next];
        left->symbol = tern__pairs_find(pairs, best.left_symbol, best.right_symbol)->merged;
        left->next = right->next;
        if (right->next != TERN__NO_INDEX)
            b->items[right->next].prev = at;
        right->symbol = TERN__NO_SYMBOL; /* offers from it are void: they name a symbol */
        TERN_TRY(offer(b, pairs, left->prev));
        TERN_TRY(offer(b, pairs, at));
    }
    return TERN_OK;
}

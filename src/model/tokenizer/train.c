/* train.c - tokenizers that are learnt from a text: bytes, and pairs of them that are often neighbours.
 *
 * The text is cut into pieces, and each different piece is a list of symbols with a count. Pairs know how often and where they are;
 * merging one visits its places only, and takes from and gives to the pairs of its neighbours there. The most frequent pair is at the
 * top of a heap, whose counts may be too high: a pair that comes up with a lower one goes back. So every place is visited about
 * as often as it is merged, and nothing is counted anew.
 *
 * A token is made in one way only: where its bytes stand between the same ends they have been merged in the same order. So every merge
 * makes a new symbol, pairs with it appear while it is made, and later they only become fewer. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

enum { BYTES = 256, END = BYTES, SMALLEST = BYTES + 1, MOST_LEARNT_BYTES = 128 };
enum { TELL_EVERY = 4096 }; /* pieces, which are counted fast */

static const char end_name[] = "<|endoftext|>";

/* ---- lists --------------------------------------------------------------------------------------------------------- */

/* A different piece of the text. */
typedef struct piece {
    uint32_t at, length; /* of the first one in the text */
    uint32_t first;      /* of its items */
    int64_t count;
} piece;

/* A place in a piece. */
typedef struct item {
    uint32_t symbol; /* TERN__NO_SYMBOL: merged into the one before it */
    uint32_t prev, next;
    uint32_t piece;
} item;

/* A place of a pair: the item of its left symbol. */
typedef struct place {
    uint32_t item, next;
} place;

/* Neighbours. Places are in order, and may have become others' since; the count is exact. */
typedef struct pair {
    uint32_t left, right;
    int64_t count;
    uint32_t first, last;
} pair;

typedef struct offer {
    int64_t count;
    uint32_t pair;
} offer;

typedef struct learner {
    const char *text;
    tern_tokenizer_train_options o;
    size_t untold;     /* pieces since progress was told */
    tern__vocab vocab; /* bytes, the end, then what was learnt */
    piece *pieces;
    size_t n_pieces, piece_capacity;
    uint32_t *slots; /* of pieces by their text: piece + 1, or 0 */
    size_t n_slots;  /* a power of two, or 0 */
    item *items;
    size_t n_items, item_capacity;
    tern__pairs index; /* `rank` is the number of a pair */
    pair *pairs;
    size_t n_pairs, pair_capacity;
    place *places;
    size_t n_places, place_capacity;
    offer *heap;
    size_t n_heap, heap_capacity;
    tern__pairs merges; /* as a tokenizer has them */
} learner;

static void learner_free(learner *l)
{
    tern__vocab_free(&l->vocab);
    tern__pairs_free(&l->index);
    tern__pairs_free(&l->merges);
    tern__free(l->pieces);
    tern__free(l->slots);
    tern__free(l->items);
    tern__free(l->pairs);
    tern__free(l->places);
    tern__free(l->heap);
}

/* Room for one more. */
#define GROW(l, list, n, capacity)                                                           \
    do {                                                                                     \
        if (!tern__grow((void **)&(l)->list, &(l)->capacity, (l)->n + 1, sizeof *(l)->list)) \
            return tern__out_of_memory((l)->n * sizeof *(l)->list);                          \
    } while (0)

/* How many tokens there are; does the caller want more? */
static tern_status tell(learner *l)
{
    l->untold = 0;
    TERN__FAIL_IF(l->o.progress &&
                      !l->o.progress(l->o.progress_user, l->vocab.n_symbols, (uint64_t)l->o.vocabulary),
                  TERN_CANCELLED, "tokenizer_train: the caller stopped it");
    return TERN_OK;
}

/* ---- pieces -------------------------------------------------------------------------------------------------------- */

static uint32_t *piece_slot(const learner *l, const char *text, size_t length)
{
    size_t mask = l->n_slots - 1, i = (size_t)tern__hash_foreign(text, length) & mask;
    for (; l->slots[i]; i = (i + 1) & mask) {
        const piece *p = &l->pieces[l->slots[i] - 1];
        if (p->length == length && memcmp(l->text + p->at, text, length) == 0)
            break;
    }
    return &l->slots[i];
}

static tern_status grow_piece_slots(learner *l)
{
    const size_t n = l->n_slots ? 2 * l->n_slots : 1024;
    uint32_t *slots = tern__alloc_zero(n, sizeof *slots);
    if (!slots)
        return tern__out_of_memory(n * sizeof *slots);
    tern__free(l->slots);
    l->slots = slots;
    l->n_slots = n;
    for (size_t i = 0; i < l->n_pieces; i++)
        *piece_slot(l, l->text + l->pieces[i].at, l->pieces[i].length) = (uint32_t)i + 1;
    return TERN_OK;
}

static tern_status count_piece(void *user, const char *text, size_t length)
{
    learner *l = user;
    if (++l->untold >= TELL_EVERY)
        TERN_TRY(tell(l));
    if (3 * (l->n_pieces + 1) > 2 * l->n_slots)
        TERN_TRY(grow_piece_slots(l));
    uint32_t *slot = piece_slot(l, text, length);
    if (!*slot) {
        GROW(l, pieces, n_pieces, piece_capacity);
        l->pieces[l->n_pieces++] = (piece){.at = (uint32_t)(text - l->text), .length = (uint32_t)length};
        *slot = (uint32_t)l->n_pieces;
    }
    l->pieces[*slot - 1].count++;
    return TERN_OK;
}

static tern_status count_pieces(learner *l, size_t length)
{
    tern__splitter *splitter = NULL;
    tern__split_work *work = NULL;
    tern_status status = tern__splitter_create(tern__split_rule_find("gpt-2"), &splitter);
    if (status == TERN_OK)
        status = tern__split_work_create(&work);
    if (status == TERN_OK)
        status = tern__split_any(splitter, work, l->text, length, count_piece, l);
    tern__split_work_free(work);
    tern__splitter_free(splitter);
    return status;
}

/* ---- the heap ------------------------------------------------------------------------------------------------------ */

/* Does `a` come before `b`? */
static bool is_better(const learner *l, offer a, offer b)
{
    const pair *x = &l->pairs[a.pair], *y = &l->pairs[b.pair];
    if (a.count != b.count)
        return a.count > b.count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static tern_status heap_push(learner *l, uint32_t number)
{
    const offer new = {l->pairs[number].count, number};
    GROW(l, heap, n_heap, heap_capacity);
    size_t i = l->n_heap++;
    for (; i > 0 && is_better(l, new, l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = new;
    return TERN_OK;
}

static offer heap_pop(learner *l)
{
    const offer top = l->heap[0], last = l->heap[--l->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= l->n_heap)
            break;
        if (child + 1 < l->n_heap && is_better(l, l->heap[child + 1], l->heap[child]))
            child++;
        if (!is_better(l, l->heap[child], last))
            break;
        l->heap[i] = l->heap[child];
        i = child;
    }
    if (l->n_heap > 0)
        l->heap[i] = last;
    return top;
}

/* ---- pairs --------------------------------------------------------------------------------------------------------- */

static tern_status find_pair(learner *l, uint32_t left, uint32_t right, uint32_t *out)
{
    const tern__pair *known = tern__pairs_find(&l->index, left, right);
    if (known) {
        *out = known->rank;
        return TERN_OK;
    }
    GROW(l, pairs, n_pairs, pair_capacity);
    *out = (uint32_t)l->n_pairs;
    TERN_TRY(tern__pairs_add(&l->index, (tern__pair){.left = left, .right = right, .rank = *out}));
    l->pairs[l->n_pairs++] =
        (pair){.left = left, .right = right, .first = TERN__NO_INDEX, .last = TERN__NO_INDEX};
    return TERN_OK;
}

/* Item `at` and the one behind it have become neighbours. */
static tern_status give(learner *l, uint32_t at)
{
    uint32_t number = 0;
    TERN_TRY(find_pair(l, l->items[at].symbol, l->items[l->items[at].next].symbol, &number));
    GROW(l, places, n_places, place_capacity);
    const uint32_t new = (uint32_t)l->n_places++;
    pair *p = &l->pairs[number];
    l->places[new] = (place){at, TERN__NO_INDEX};
    if (p->first == TERN__NO_INDEX)
        p->first = new;
    else
        l->places[p->last].next = new;
    p->last = new;
    p->count += l->pieces[l->items[at].piece].count;
    return TERN_OK;
}

/* They are about to be none any more. */
static void take(learner *l, uint32_t at)
{
    const tern__pair *known =
        tern__pairs_find(&l->index, l->items[at].symbol, l->items[l->items[at].next].symbol);
    l->pairs[known->rank].count -= l->pieces[l->items[at].piece].count;
}

/* Pairs from `from` on are new, and have all their places now. */
static tern_status queue(learner *l, size_t from)
{
    for (size_t i = from; i < l->n_pairs; i++)
        TERN_TRY(heap_push(l, (uint32_t)i));
    return TERN_OK;
}

static tern_status make_items(learner *l)
{
    for (size_t k = 0; k < l->n_pieces; k++) {
        piece *p = &l->pieces[k];
        if (++l->untold >= TELL_EVERY)
            TERN_TRY(tell(l));
        p->first = (uint32_t)l->n_items;
        for (uint32_t i = 0; i < p->length; i++) {
            GROW(l, items, n_items, item_capacity);
            const uint32_t at = (uint32_t)l->n_items++;
            l->items[at] = (item){.symbol = (unsigned char)l->text[p->at + i],
                                  .prev = i > 0 ? at - 1 : TERN__NO_INDEX,
                                  .next = i + 1 < p->length ? at + 1 : TERN__NO_INDEX,
                                  .piece = (uint32_t)k};
        }
        for (uint32_t i = 0; i + 1 < p->length; i++)
            TERN_TRY(give(l, p->first + i));
    }
    return queue(l, 0);
}

/* ---- merging ------------------------------------------------------------------------------------------------------- */

static tern_status merge_at(learner *l, uint32_t at, uint32_t merged)
{
    item *left = &l->items[at], *right = &l->items[left->next];
    if (left->prev != TERN__NO_INDEX)
        take(l, left->prev);
    if (right->next != TERN__NO_INDEX)
        take(l, left->next);
    take(l, at);
    left->symbol = merged;
    left->next = right->next;
    right->symbol = TERN__NO_SYMBOL;
    if (right->next != TERN__NO_INDEX) {
        l->items[right->next].prev = at;
        TERN_TRY(give(l, at));
    }
    return left->prev != TERN__NO_INDEX ? give(l, left->prev) : TERN_OK;
}

/* From left to right: of three equal symbols the first two are merged. */
static tern_status merge_pair(learner *l, uint32_t number, uint32_t merged)
{
    const pair p = l->pairs[number];
    const size_t known = l->n_pairs;
    for (uint32_t i = p.first; i != TERN__NO_INDEX; i = l->places[i].next) {
        const uint32_t at = l->places[i].item;
        const item *left = &l->items[at];
        if (left->symbol == p.left && left->next != TERN__NO_INDEX && l->items[left->next].symbol == p.right)
            TERN_TRY(merge_at(l, at, merged));
    }
    return queue(l, known);
}

static tern_status add_token(learner *l, const pair *p)
{
    char bytes[MOST_LEARNT_BYTES];
    size_t left, right;
    const char *text = tern__vocab_text(&l->vocab, p->left, &left);
    memcpy(bytes, text, left);
    text = tern__vocab_text(&l->vocab, p->right, &right);
    memcpy(bytes + left, text, right);
    return tern__vocab_add(&l->vocab, bytes, left + right, TERN_TOKEN_NORMAL, true);
}

static bool fits(const learner *l, const pair *p)
{
    return l->vocab.symbols[p->left].length + l->vocab.symbols[p->right].length <= MOST_LEARNT_BYTES;
}

static tern_status learn_merges(learner *l)
{
    while (l->n_heap > 0 && l->vocab.n_symbols < (size_t)l->o.vocabulary) {
        const offer best = heap_pop(l);
        const pair *p = &l->pairs[best.pair];
        const uint32_t merged = (uint32_t)l->vocab.n_symbols, rank = (uint32_t)l->merges.count;
        if (p->count < 2 || !fits(l, p))
            continue;
        if (p->count < best.count) {
            TERN_TRY(heap_push(l, best.pair));
            continue;
        }
        TERN_TRY(tell(l));
        TERN_TRY(add_token(l, p));
        TERN_TRY(tern__pairs_add(&l->merges, (tern__pair){p->left, p->right, rank, merged}));
        TERN_TRY(merge_pair(l, best.pair, merged));
    }
    return TERN_OK;
}

static tern_status start(learner *l)
{
    for (int i = 0; i < BYTES; i++) {
        const char byte = (char)i;
        TERN_TRY(tern__vocab_add(&l->vocab, &byte, 1, TERN_TOKEN_NORMAL, true));
    }
    return tern__vocab_add(&l->vocab, end_name, sizeof end_name - 1, TERN_TOKEN_CONTROL, false);
}

static tern_status learn(learner *l, size_t length)
{
    TERN_TRY(start(l));
    if (l->o.vocabulary == SMALLEST)
        return TERN_OK;
    TERN_TRY(count_pieces(l, length));
    TERN_TRY(make_items(l));
    return learn_merges(l);
}

/* ---- the tokenizer ------------------------------------------------------------------------------------------------- */

/* What was learnt, as reading a file would have made it. */
static tern_status fill(learner *l, tern_tokenizer *t)
{
    t->family = TERN__TOKENS_BY_BYTES;
    t->rule = tern__split_rule_find("gpt-2");
    t->vocab = l->vocab;
    l->vocab = (tern__vocab){0};
    t->vocab.n_tokens = (uint32_t)t->vocab.n_symbols;
    for (uint32_t i = 0; i < BYTES; i++)
        t->byte_ids[i] = i;
    t->pairs = l->merges;
    l->merges = (tern__pairs){0};
    t->merges_stated = t->pairs.count > 0;
    TERN_TRY(tern__specials_build(&t->specials, &t->vocab, NULL, 0));
    t->bos = t->eos = END; /* as GPT-2 has it; nothing is added to texts */
    t->ends[t->n_ends++] = END;
    t->eot = t->unk = TERN_NO_TOKEN;
    return t->merges_stated ? tern__splitter_create(t->rule, &t->splitter) : TERN_OK;
}

static tern_status make_tokenizer(learner *l, tern_tokenizer **out)
{
    tern_tokenizer *t = tern__alloc_zero(1, sizeof *t);
    if (!t)
        return tern__out_of_memory(sizeof *t);
    const tern_status status = fill(l, t);
    if (status == TERN_OK)
        *out = t;
    else
        tern_tokenizer_free(t);
    return status;
}

tern_tokenizer_train_options tern_tokenizer_train_options_default(void)
{
    return (tern_tokenizer_train_options){.vocabulary = SMALLEST};
}

tern_status tern_tokenizer_train(const char *text, size_t length, const tern_tokenizer_train_options *options,
                                 tern_tokenizer **out)
{
    const tern_tokenizer_train_options o = options ? *options : tern_tokenizer_train_options_default();
    TERN__FAIL_IF(!text || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_train: the text, or the place for the result, is NULL");
    TERN__FAIL_IF(o.vocabulary < SMALLEST || o.vocabulary > TERN__MAX_TOKENS, TERN_OUT_OF_RANGE,
                  "tokenizer_train: a vocabulary of %lld tokens; from %d, bytes and an end, to %d",
                  (long long)o.vocabulary, SMALLEST, TERN__MAX_TOKENS);
    TERN__FAIL_IF(length >= UINT32_MAX / 4, TERN_LIMIT,
                  "tokenizer_train: a text of %zu bytes is too long; a part of it teaches as much", length);
    learner l = {.text = text, .o = o};
    tern_status status = learn(&l, length);
    if (status == TERN_OK)
        status = make_tokenizer(&l, out);
    learner_free(&l);
    return status;
}

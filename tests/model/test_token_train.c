/* test_token_train.c - tokenizers that are learnt: merges against a plain recount after each one; every text comes back; the tokenizer
 * made again from its own data is the same; texts that teach nothing; running out of memory. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>

#include "gate.h"
#include "harness.h"
#include "model/tokenizer/tokenizer.h"
#include "vocabularies.h"

#define LEARN(text, length, n, out)                                                       \
    do {                                                                                  \
        tern_status status_ = tern_tokenizer_train(                                       \
            (text), (length), &(tern_tokenizer_train_options){.vocabulary = (n)}, (out)); \
        if (status_ == TERN_UNAVAILABLE)                                                  \
            SKIP(tern_last_error());                                                      \
        CHECK_STATUS(status_, TERN_OK);                                                   \
    } while (0)

static size_t fill_random(char *text, size_t length, const char *letters, uint64_t *state)
{
    const size_t n = strlen(letters);
    for (size_t i = 0; i < length; i++)
        text[i] = letters[next_random(state) % n];
    return length;
}

/* ---- the plain way ------------------------------------------------------------------------------------------------- */

enum { MOST = 4096 };

typedef struct naive {
    uint32_t symbols[MOST]; /* of the whole text */
    bool starts[MOST];      /* a piece? */
    size_t n;
    char texts[1024][128];
    size_t lengths[1024];
    uint32_t n_tokens;
    uint32_t left[1024], right[1024];
    size_t n_merges;
} naive;

static tern_status add_piece(void *user, const char *piece, size_t length)
{
    naive *x = user;
    for (size_t i = 0; i < length; i++) {
        x->starts[x->n] = i == 0;
        x->symbols[x->n++] = (unsigned char)piece[i];
    }
    return TERN_OK;
}

static int64_t count_pair(const naive *x, uint32_t left, uint32_t right)
{
    int64_t count = 0;
    for (size_t i = 0; i + 1 < x->n; i++)
        count += x->symbols[i] == left && x->symbols[i + 1] == right && !x->starts[i + 1];
    return count;
}

/* A token is made in one way only. */
static void naive_token(naive *x, uint32_t left, uint32_t right)
{
    char text[256];
    const size_t n = x->lengths[left] + x->lengths[right];
    memcpy(text, x->texts[left], x->lengths[left]);
    memcpy(text + x->lengths[left], x->texts[right], x->lengths[right]);
    for (uint32_t t = 0; t < x->n_tokens; t++)
        CHECK(x->lengths[t] != n || memcmp(x->texts[t], text, n) != 0);
    memcpy(x->texts[x->n_tokens], text, n);
    x->lengths[x->n_tokens++] = n;
}

static void naive_merge(naive *x, uint32_t left, uint32_t right, uint32_t merged)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        const bool both =
            i + 1 < x->n && x->symbols[i] == left && x->symbols[i + 1] == right && !x->starts[i + 1];
        x->starts[n] = x->starts[i];
        x->symbols[n++] = both ? merged : x->symbols[i];
        i += both;
    }
    x->n = n;
}

static void naive_learn(naive *x, const char *text, size_t length, uint32_t vocabulary)
{
    tern__splitter *splitter;
    tern__split_work *work;
    CHECK_OK(tern__splitter_create(tern__split_rule_find("gpt-2"), &splitter));
    CHECK_OK(tern__split_work_create(&work));
    CHECK_OK(tern__split_any(splitter, work, text, length, add_piece, x));
    tern__split_work_free(work);
    tern__splitter_free(splitter);
    for (int i = 0; i < 256; i++) {
        x->texts[i][0] = (char)i;
        x->lengths[i] = 1;
    }
    x->n_tokens = 257;
    while (x->n_tokens < vocabulary) {
        int64_t best = 1;
        uint32_t left = 0, right = 0;
        for (size_t i = 0; i + 1 < x->n; i++) {
            const uint32_t l = x->symbols[i], r = x->symbols[i + 1];
            if (x->starts[i + 1] || x->lengths[l] + x->lengths[r] > 128)
                continue;
            const int64_t count = count_pair(x, l, r);
            if (count > best || (count == best && best > 1 && (l < left || (l == left && r < right))))
                best = count, left = l, right = r;
        }
        if (best < 2)
            return;
        x->left[x->n_merges] = left;
        x->right[x->n_merges++] = right;
        naive_token(x, left, right);
        naive_merge(x, left, right, x->n_tokens - 1);
    }
}

static void check_as_naive(const char *text, size_t length, uint32_t vocabulary)
{
    static naive x;
    tern_tokenizer *t;
    LEARN(text, length, vocabulary, &t);
    memset(&x, 0, sizeof x);
    naive_learn(&x, text, length, vocabulary);
    tern_tokenizer_info info;
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_EQ(info.n_tokens, x.n_tokens);
    CHECK_EQ(t->pairs.count, x.n_merges);
    for (size_t m = 0; m < x.n_merges; m++) {
        const tern__pair *pair = tern__pairs_find(&t->pairs, x.left[m], x.right[m]);
        CHECK(pair);
        CHECK_EQ(pair->rank, m);
        CHECK_EQ(pair->merged, 257 + m);
    }
    for (int32_t i = 257; i < info.n_tokens; i++) {
        tern_token_info token;
        CHECK_OK(tern_tokenizer_token(t, i, &token));
        CHECK_EQ(token.text.length, x.lengths[i]);
        CHECK(memcmp(token.text.bytes, x.texts[i], x.lengths[i]) == 0);
    }
    CHECK(round_trip(t, text, length));
    tern_tokenizer_free(t);
}

/* Few letters make ties and runs of equal ones. */
TEST(merges_are_those_of_a_recount)
{
    static const char *const letters[] = {"ab", "aab ", "abc", "a", "abcdefgh  \n.'", "ab\xC3\xA4\xFF "};
    uint64_t state = harness_seed() | 1;
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
        for (int round = 0; round < harness_cases(6) && !harness_failed(); round++) {
            char text[600];
            const size_t length = fill_random(text, 40 + next_random(&state) % 560, letters[k], &state);
            check_as_naive(text, length, 257 + (uint32_t)(next_random(&state) % 120));
        }
}

TEST(a_known_text)
{
    tern_tokenizer *t;
    char ids[256];
    /* " the" x 3, "the" x 1: th and he 4 times, then " t" 3 times; t is before h, and "th" + "e" 4 times */
    static const char text[] = "the the the the";
    LEARN(text, sizeof text - 1, 260, &t);
    CHECK(ids_text(t, text, sizeof text - 1, true, false, ids, sizeof ids));
    CHECK_STR(ids, "258 259 259 259");
    int32_t id;
    CHECK_OK(tern_tokenizer_find(t, "he", 2, &id));
    CHECK_EQ(id, 257);
    CHECK_OK(tern_tokenizer_find(t, " the", 4, &id));
    CHECK_EQ(id, 259);
    tern_tokenizer_free(t);
}

/* ---- bytes --------------------------------------------------------------------------------------------------------- */

TEST(bytes_and_an_end)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    tern_encode_options parse = {.parse_special = true};
    int32_t *ids, id;
    size_t count;
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    CHECK_OK(tern_tokenizer_train("anything", 8, NULL, &t)); /* without PCRE2 too */
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.model, "gpt2");
    CHECK(info.n_tokens == 257 && info.eos == 256 && info.bos == 256 && !info.add_bos && !info.add_eos);
    CHECK(tern_tokenizer_is_end(t, 256) && !tern_tokenizer_is_end(t, 255));
    CHECK_OK(tern_tokenizer_encode(t, all, sizeof all, NULL, &ids, &count));
    CHECK_EQ(count, 256);
    for (int i = 0; i < 256; i++)
        CHECK_EQ(ids[i], i);
    tern_tokens_free(ids);
    CHECK(round_trip(t, all, sizeof all));
    CHECK_OK(tern_tokenizer_encode(t, "a<|endoftext|>", 14, &parse, &ids, &count));
    CHECK(count == 2 && ids[0] == 'a' && ids[1] == 256);
    tern_tokens_free(ids);
    CHECK_OK(tern_tokenizer_encode(t, "a<|endoftext|>", 14, NULL, &ids, &count));
    CHECK_EQ(count, 14);
    tern_tokens_free(ids);
    CHECK_OK(tern_tokenizer_find(t, "<|endoftext|>", 13, &id));
    CHECK_EQ(id, 256);
    tern_tokenizer_free(t);
}

/* ---- the same again ------------------------------------------------------------------------------------------------ */

static void check_same(const tern_tokenizer *a, const tern_tokenizer *b, const char *text, size_t length)
{
    int32_t *x, *y;
    size_t n, m;
    CHECK_OK(tern_tokenizer_encode(a, text, length, NULL, &x, &n));
    CHECK_OK(tern_tokenizer_encode(b, text, length, NULL, &y, &m));
    CHECK(n == m && memcmp(x, y, n * sizeof *x) == 0);
    tern_tokens_free(x);
    tern_tokens_free(y);
    CHECK(round_trip(a, text, length));
}

static void check_twin(const tern_tokenizer *t, uint64_t state)
{
    tern_tokenizer *twin;
    tern_tokenizer_info a, b;
    CHECK_OK(tern__vocabulary_of_tokenizer(t, tern__tokenizer_make, &(tern__tokenizer_request){NULL, &twin}));
    CHECK_OK(tern_tokenizer_get_info(t, &a));
    CHECK_OK(tern_tokenizer_get_info(twin, &b));
    CHECK_STR(a.model, b.model);
    CHECK_STR(a.pre, b.pre);
    CHECK(a.n_tokens == b.n_tokens && a.bos == b.bos && a.eos == b.eos && a.eot == b.eot && a.unk == b.unk);
    CHECK(a.add_bos == b.add_bos && a.add_eos == b.add_eos && t->ignore_merges == twin->ignore_merges);
    CHECK(t->add_space == twin->add_space && t->pairs.count == twin->pairs.count);
    for (int32_t i = 0; i < a.n_tokens; i++) {
        tern_token_info x, y;
        CHECK_OK(tern_tokenizer_token(t, i, &x));
        CHECK_OK(tern_tokenizer_token(twin, i, &y));
        CHECK(x.type == y.type && x.score == y.score && x.text.length == y.text.length &&
              memcmp(x.text.bytes, y.text.bytes, x.text.length) == 0);
    }
    for (int round = 0; round < harness_cases(50) && !harness_failed(); round++) {
        char text[400];
        static const char *const letters[] = {"thelo  \n", "ab \xC3\xA4\xFF\xE2\x96\x81", "aab'.1 "};
        const size_t length =
            fill_random(text, next_random(&state) % sizeof text, letters[round % 3], &state);
        check_same(t, twin, text, length);
    }
    tern_tokenizer_free(twin);
}

TEST(made_again_from_its_own_data)
{
    uint64_t state = harness_seed() | 1;
    char text[3000];
    tern_tokenizer *t;
    fill_random(text, sizeof text, "thelo  \naab'.1", &state);
    LEARN(text, sizeof text, 257, &t);
    check_twin(t, state);
    tern_tokenizer_free(t);
    LEARN(text, sizeof text, 600, &t);
    check_twin(t, state);
    tern_tokenizer_free(t);
    CHECK_OK(small_bytes(NULL, &t));
    check_twin(t, state);
    tern_tokenizer_free(t);
    for (int bytes = 0; bytes < 2; bytes++) {
        CHECK_OK(small_characters(bytes, &t));
        tern_tokenizer *twin;
        CHECK_OK(
            tern__vocabulary_of_tokenizer(t, tern__tokenizer_make, &(tern__tokenizer_request){NULL, &twin}));
        CHECK_EQ(t->pairs.count, twin->pairs.count);
        char a[256], b[256];
        CHECK(ids_text(t, "the hello", 9, true, false, a, sizeof a));
        CHECK(ids_text(twin, "the hello", 9, true, false, b, sizeof b));
        CHECK_STR(a, b);
        tern_tokenizer_free(twin);
        tern_tokenizer_free(t);
    }
}

TEST(the_same_text_gives_the_same_tokenizer)
{
    uint64_t state = harness_seed() | 1;
    char text[5000];
    tern_tokenizer *a, *b;
    fill_random(text, sizeof text, "etaoin shrdlu\n", &state);
    LEARN(text, sizeof text, 500, &a);
    LEARN(text, sizeof text, 500, &b);
    CHECK_EQ(a->vocab.text_bytes, b->vocab.text_bytes);
    CHECK(memcmp(a->vocab.text, b->vocab.text, a->vocab.text_bytes) == 0);
    check_same(a, b, text, sizeof text);
    tern_tokenizer_free(a);
    tern_tokenizer_free(b);
}

/* ---- texts that teach little --------------------------------------------------------------------------------------- */

static void check_tokens(const char *text, size_t length, int64_t vocabulary, int32_t least, int32_t most)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    LEARN(text, length, vocabulary, &t);
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK(info.n_tokens >= least && info.n_tokens <= most);
    CHECK(round_trip(t, text, length));
    tern_tokenizer_free(t);
}

TEST(odd_texts)
{
    enum { LONG = 1 << 20 };
    const size_t length = (size_t)harness_cases(LONG);
    char *text = malloc(LONG);
    CHECK(text);
    check_tokens("", 0, 1000, 257, 257);
    check_tokens("a", 1, 1000, 257, 257);
    check_tokens("ab", 2, 300000, 257, 257);
    check_tokens("\0", 1, 258, 257, 257);
    /* doubling, up to 128 bytes, and what remains of halves */
    memset(text, 'a', LONG);
    check_tokens(text, length, 300000, 264, 300);
    memset(text, 0xFF, LONG);
    check_tokens(text, length, 300000, 264, 300);
    memset(text, ' ', LONG);
    check_tokens(text, length, 1000, 264, 300);
    uint64_t state = 5;
    for (size_t i = 0; i < LONG; i++)
        text[i] = (char)next_random(&state);
    check_tokens(text, LONG / 8, 3000, 3000, 3000);
    free(text);
}

TEST(bad_sizes)
{
    static const int64_t sizes[] = {256, 0, -1, 300001, INT64_MAX, INT64_MIN};
    tern_tokenizer *t = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_STATUS(
            tern_tokenizer_train("a", 1, &(tern_tokenizer_train_options){.vocabulary = sizes[i]}, &t),
            TERN_OUT_OF_RANGE);
        CHECK(!t && strstr(tern_last_error(), "from 257"));
    }
    CHECK_STATUS(tern_tokenizer_train("a", (size_t)UINT32_MAX, NULL, &t), TERN_LIMIT);
}

typedef struct counted {
    int calls, most; /* after which it stops */
    uint64_t done, total;
} counted;

static bool count_calls(void *user, uint64_t done, uint64_t total)
{
    counted *c = user;
    if (c->calls > 0 && (done < c->done || total != c->total))
        return false;
    *c = (counted){c->calls + 1, c->most, done, total};
    return c->calls < c->most;
}

/* Progress never goes back, and whoever is told may stop it at any time: while pieces are counted, and between merges. */
TEST(progress_is_told_and_stops)
{
    enum { WORDS = 20000 };
    char *text = malloc(WORDS * 8);
    CHECK(text);
    size_t length = 0;
    for (int i = 0; i < WORDS; i++)
        length += (size_t)sprintf(text + length, " w%d", i);
    counted all = {.most = INT_MAX}, few = {.most = 1}, later = {.most = 40};
    tern_tokenizer_train_options o = {.vocabulary = 300, .progress = count_calls, .progress_user = &all};
    tern_tokenizer *t = NULL, *none = NULL;
    const tern_status status = tern_tokenizer_train(text, length, &o, &t);
    if (status == TERN_UNAVAILABLE) {
        free(text);
        SKIP(tern_last_error());
    }
    CHECK_OK(status);
    tern_tokenizer_free(t);
    CHECK(all.calls > 40 && all.done == 299 && all.total == 300);
    o.progress_user = &few;
    CHECK_STATUS(tern_tokenizer_train(text, length, &o, &none), TERN_CANCELLED);
    CHECK(!none && few.done == 257); /* before the first merge */
    o.progress_user = &later;
    CHECK_STATUS(tern_tokenizer_train(text, length, &o, &none), TERN_CANCELLED);
    CHECK(!none && later.done > 257 && later.done < 299);
    free(text);
}

TEST(allocations_may_fail)
{
    tern_alloc_stats before, after;
    static const char text[] = "the cat and the hat and the cat and the rat";
    tern_tokenizer *t;
    LEARN(text, sizeof text - 1, 280, &t);
    tern_tokenizer_free(t);
    tern_alloc_get_stats(&before);
    for (int end = 0, n = 1; !end; n += harness_every()) {
        gate g = {.countdown = n};
        tern_tokenizer *made = NULL, *twin = NULL;
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = tern_tokenizer_train(text, sizeof text - 1,
                                                  &(tern_tokenizer_train_options){.vocabulary = 280}, &made);
        if (status == TERN_OK)
            status = tern__vocabulary_of_tokenizer(made, tern__tokenizer_make,
                                                   &(tern__tokenizer_request){NULL, &twin});
        tern_alloc_set_gate(NULL, NULL);
        end = !g.fired;
        CHECK(status == TERN_OUT_OF_MEMORY || (status == TERN_OK && made && twin));
        CHECK(!end || (status == TERN_OK && n > 20));
        tern_tokenizer_free(made);
        tern_tokenizer_free(twin);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
    }
}

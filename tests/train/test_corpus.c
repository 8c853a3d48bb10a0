/* test_corpus.c - every window of a pass comes once, in another order each time; steps are functions of seed and number; the part for
 * validation is never trained on; too little text. */
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>
#include <tern/corpus.h>

#include "gate.h"
#include "harness.h"

/* Tokens that are their own places. */
static int32_t *places(int64_t n)
{
    int32_t *tokens = malloc((size_t)n * sizeof *tokens);
    for (int64_t i = 0; tokens && i < n; i++)
        tokens[i] = (int32_t)i;
    return tokens;
}

static tern_corpus *make(int64_t n, double validation)
{
    int32_t *tokens = places(n);
    tern_corpus *c = NULL;
    if (!harness_check_ok(tern_corpus_create(tokens, n, validation, &c), __FILE__, __LINE__, "create"))
        c = NULL;
    free(tokens);
    return c;
}

/* One pass: windows are whole, each target comes once, and only those behind the last window are missing. */
static void check_pass(const tern_corpus *c, uint64_t seed, int64_t pass, int64_t context, int32_t *start,
                       int32_t *first)
{
    const int64_t n = tern_corpus_training(c), windows = n / context;
    int *seen = calloc((size_t)n, sizeof *seen);
    int32_t *sequence = malloc((size_t)(context + 1) * sizeof *sequence);
    bool whole = true, trained = true;
    *start = -1;
    for (int64_t w = 0; w < windows; w++) {
        CHECK_OK(tern_corpus_batch(c, seed, pass * windows + w, 1, context, sequence));
        if (w == 0)
            *first = sequence[0];
        for (int64_t k = 0; k <= context; k++) {
            trained = trained && sequence[k] >= 0 && sequence[k] < n;
            whole = whole && sequence[k] == (sequence[0] + k) % n;
            if (k > 0 && trained)
                seen[sequence[k]]++;
        }
    }
    CHECK(whole && trained);
    /* what is missing is one run, and where it ends the pass starts */
    int64_t missing = 0, runs = 0;
    for (int64_t i = 0; i < n; i++) {
        CHECK(seen[i] <= 1);
        missing += seen[i] == 0;
        if (seen[i] == 0 && seen[(i + 1) % n]) {
            runs++;
            *start = (int32_t)i;
        }
    }
    CHECK_EQ(missing, n - windows * context);
    CHECK(runs <= 1);
    free(seen);
    free(sequence);
}

TEST(every_token_once_a_pass)
{
    const struct {
        int64_t n, context;
    } cases[] = {{13, 12}, {100, 7}, {1000, 1}, {4096, 64}, {4097, 64}, {1023, 100}, {65, 64}, {2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tern_corpus *c = make(cases[i].n, 0);
        CHECK(c);
        for (int64_t pass = 0; pass < 3; pass++) {
            int32_t start, first;
            check_pass(c, 7, pass, cases[i].context, &start, &first);
            if (harness_failed())
                return;
        }
        tern_corpus_free(c);
    }
}

/* Starts and orders of passes are others; those of seeds too. */
TEST(passes_and_seeds_differ)
{
    enum { PASSES = 24, CONTEXT = 64 };
    tern_corpus *c = make(64 * 50 + 17, 0);
    CHECK(c);
    for (uint64_t seed = 0; seed < 2; seed++) {
        int32_t starts[PASSES], firsts[PASSES];
        int equal_starts = 0, in_order = 0;
        for (int64_t pass = 0; pass < PASSES; pass++) {
            check_pass(c, seed, pass, CONTEXT, &starts[pass], &firsts[pass]);
            if (harness_failed())
                return;
            in_order += starts[pass] == firsts[pass];
            for (int64_t before = 0; before < pass; before++)
                equal_starts += starts[before] == starts[pass];
        }
        CHECK(equal_starts <= 3); /* of 276 pairs, with 3217 places */
        CHECK(in_order <= 4);     /* the first window is the first in one of 50 */
    }
    int32_t a[4 * (CONTEXT + 1)], b[4 * (CONTEXT + 1)];
    CHECK_OK(tern_corpus_batch(c, 1, 0, 4, CONTEXT, a));
    CHECK_OK(tern_corpus_batch(c, 2, 0, 4, CONTEXT, b));
    CHECK(memcmp(a, b, sizeof a) != 0);
    CHECK_OK(tern_corpus_batch(c, (uint64_t)1 << 40 | 1, 0, 4, CONTEXT, b));
    CHECK(memcmp(a, b, sizeof a) != 0);
    tern_corpus_free(c);
}

/* Each position of the order has each window about as often as any other. */
TEST(orders_are_even)
{
    enum { WINDOWS = 5, PASSES = 2000 };
    tern_corpus *c = make(WINDOWS, 0);
    CHECK(c);
    int counts[WINDOWS][WINDOWS] = {{0}};
    for (int64_t pass = 0; pass < PASSES; pass++) {
        int32_t batch[WINDOWS][2];
        CHECK_OK(tern_corpus_batch(c, 3, pass, WINDOWS, 1, batch[0]));
        for (int k = 0; k < WINDOWS; k++)
            counts[k][batch[k][0]]++;
    }
    for (int k = 0; k < WINDOWS; k++)
        for (int w = 0; w < WINDOWS; w++)
            CHECK_NEAR((double)counts[k][w], (double)PASSES / WINDOWS, 90); /* 5 deviations */
    tern_corpus_free(c);
}

/* A batch of several is those of one after the other, across the end of a pass as well; and always the same. */
TEST(batches_are_functions_of_the_step)
{
    enum { SEQUENCES = 6, CONTEXT = 9 };
    tern_corpus *c = make(100, 0); /* 11 windows: no whole number of batches in a pass */
    CHECK(c);
    for (int64_t step = 10; step-- > 0;) {
        int32_t all[SEQUENCES][CONTEXT + 1], again[SEQUENCES][CONTEXT + 1], one[CONTEXT + 1];
        CHECK_OK(tern_corpus_batch(c, 5, step, SEQUENCES, CONTEXT, all[0]));
        CHECK_OK(tern_corpus_batch(c, 5, step, SEQUENCES, CONTEXT, again[0]));
        CHECK(memcmp(all, again, sizeof all) == 0);
        for (int64_t k = 0; k < SEQUENCES; k++) {
            CHECK_OK(tern_corpus_batch(c, 5, step * SEQUENCES + k, 1, CONTEXT, one));
            CHECK(memcmp(all[k], one, sizeof one) == 0);
        }
    }
    tern_corpus_free(c);
}

TEST(validation_follows_the_text)
{
    enum { CONTEXT = 8, SEQUENCES = 4 };
    tern_corpus *c = make(200, 0.25);
    CHECK(c);
    CHECK_EQ(tern_corpus_training(c), 150);
    CHECK_EQ(tern_corpus_validation(c), 50);
    int32_t batch[SEQUENCES][CONTEXT + 1];
    int64_t i = 0, n, windows = 0;
    for (; tern_corpus_validation_batch(c, i, SEQUENCES, CONTEXT, batch[0], &n) == TERN_OK; i++, windows += n)
        for (int64_t k = 0; k < n; k++)
            for (int64_t m = 0; m <= CONTEXT; m++)
                CHECK_EQ(batch[k][m], 150 + (i * SEQUENCES + k) * CONTEXT + m);
    CHECK_EQ(windows, 6); /* 49 targets are 6 windows, 4 of them in the first group */
    CHECK_EQ(i, 2);
    CHECK_EQ(n, 2);
    CHECK_STATUS(tern_corpus_validation_batch(c, i, SEQUENCES, CONTEXT, batch[0], &n), TERN_OUT_OF_RANGE);
    for (int64_t step = 0; step < 100; step++) {
        CHECK_OK(tern_corpus_batch(c, 1, step, SEQUENCES, CONTEXT, batch[0]));
        for (int64_t k = 0; k < SEQUENCES; k++)
            for (int64_t m = 0; m <= CONTEXT; m++)
                CHECK(batch[k][m] < 150);
    }
    tern_corpus_free(c);
}

TEST(too_little_text)
{
    const int32_t tokens[16] = {0};
    int32_t out[64];
    int64_t n;
    tern_corpus *c = NULL;
    CHECK_STATUS(tern_corpus_create(tokens, 1, 0, &c), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_create(tokens, 0, 0, &c), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_create(tokens, -5, 0, &c), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_create(tokens, 16, 1, &c), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_create(tokens, 16, -0.1, &c), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_create(tokens, 16, 0.0 / 0.0, &c), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_create(tokens, 16, 0.99, &c), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "15 of 16 tokens are for validation") && !c);
    CHECK_OK(tern_corpus_create(tokens, 16, 0.2, &c));
    CHECK_OK(tern_corpus_batch(c, 0, 0, 1, 12, out));
    CHECK_STATUS(tern_corpus_batch(c, 0, 0, 1, 13, out), TERN_SHAPE);
    CHECK(strstr(tern_last_error(), "13 tokens to train on are fewer than the 14 of one sequence"));
    CHECK_STATUS(tern_corpus_validation_batch(c, 0, 1, 3, out, &n), TERN_OUT_OF_RANGE);
    CHECK(strstr(tern_last_error(), "3 tokens for validation are 0 windows"));
    CHECK_OK(tern_corpus_validation_batch(c, 0, 1, 2, out, &n));
    CHECK_STATUS(tern_corpus_batch(c, 0, -1, 1, 1, out), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_batch(c, 0, 0, 0, 1, out), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_batch(c, 0, 0, 1, 0, out), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_corpus_batch(c, 0, INT64_MAX, 2, 1, out), TERN_OVERFLOW);
    CHECK_STATUS(tern_corpus_batch(c, 0, 0, 1, INT64_MAX, out), TERN_OVERFLOW);
    CHECK_OK(tern_corpus_batch(c, 0, INT64_MAX - 1, 1, 4, out));
    tern_corpus_free(c);
}

TEST(allocations_may_fail)
{
    const int32_t tokens[4] = {0};
    for (long n = 1;; n++) {
        gate g = {.countdown = n};
        tern_corpus *c = NULL;
        tern_alloc_set_gate(gate_allow, &g);
        const tern_status status = tern_corpus_create(tokens, 4, 0.5, &c);
        tern_alloc_set_gate(NULL, NULL);
        if (!g.fired) {
            CHECK_OK(status);
            CHECK(n > 2);
            tern_corpus_free(c);
            return;
        }
        CHECK_STATUS(status, TERN_OUT_OF_MEMORY);
        CHECK(!c);
    }
}

/* corpus.c - which tokens a step gets: a window's number goes through a permutation that is computed, not stored. */
#include <tern/corpus.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/random.h"
#include "base/status.h"

struct tern_corpus {
    int32_t *tokens; /* (training + validation) */
    int64_t training, validation;
};

/* ---- making -------------------------------------------------------------------------------------------------------- */

tern_status tern_corpus_create(const int32_t *tokens, int64_t n, double validation, tern_corpus **out)
{
    TERN__FAIL_IF(!tokens || !out, TERN_INVALID_ARGUMENT,
                  "corpus_create: the tokens or the place for the result are missing");
    TERN__FAIL_IF(n < 2, TERN_INVALID_ARGUMENT,
                  "corpus_create: %lld tokens; two are needed for one to follow another", (long long)n);
    TERN__FAIL_IF(!(validation >= 0) || !(validation < 1), TERN_INVALID_ARGUMENT,
                  "corpus_create: the share for validation is %g; it must be 0 or more and less than 1",
                  validation);
    const int64_t kept = (int64_t)floor((double)n * validation);
    TERN__FAIL_IF(n - kept < 2, TERN_INVALID_ARGUMENT,
                  "corpus_create: %lld of %lld tokens are for validation; %lld are too few to train on",
                  (long long)kept, (long long)n, (long long)(n - kept));
    size_t bytes;
    TERN__FAIL_IF(!tern__size_mul((size_t)n, sizeof *tokens, &bytes), TERN_OVERFLOW,
                  "corpus_create: %lld tokens are too many", (long long)n);
    tern_corpus *c = tern__alloc_zero(1, sizeof *c);
    if (!c)
        return tern__out_of_memory(sizeof *c);
    *c = (tern_corpus){.tokens = tern__alloc(bytes), .training = n - kept, .validation = kept};
    if (!c->tokens) {
        tern_corpus_free(c);
        return tern__out_of_memory(bytes);
    }
    memcpy(c->tokens, tokens, bytes);
    *out = c;
    return TERN_OK;
}

void tern_corpus_free(tern_corpus *c)
{
    if (!c)
        return;
    tern__free(c->tokens);
    tern__free(c);
}

int64_t tern_corpus_training(const tern_corpus *c)
{
    return c ? c->training : 0;
}

int64_t tern_corpus_validation(const tern_corpus *c)
{
    return c ? c->validation : 0;
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

/* Streams of random numbers of one pass. Rounds of the permutation come first. */
enum { ROUNDS = 6, OFFSET = ROUNDS };

/* Number `i` of stream `stream` of a pass. */
static uint64_t random_of(uint64_t seed, uint64_t pass, uint32_t stream, uint64_t i)
{
    uint32_t words[4];
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ stream};
    tern__philox_words(
        key, (uint32_t[4]){(uint32_t)pass, (uint32_t)(pass >> 32), (uint32_t)i, (uint32_t)(i >> 32)}, words);
    return (uint64_t)words[1] << 32 | words[0];
}

/* Where window `i` of `n` stands in the order of a pass: a Feistel network permutes the numbers of an even count of bits, and those
 * that are no window's go through it again until they are. */
static uint64_t permute(uint64_t seed, uint64_t pass, uint64_t i, uint64_t n)
{
    int half = 1;
    while (half < 31 && (uint64_t)1 << 2 * half < n)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint64_t mixed = left ^ (random_of(seed, pass, round, right) & mask);
            left = right;
            right = mixed;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* ---- batches ------------------------------------------------------------------------------------------------------- */

/* What both kinds of batches need; *first is the number of the first window. */
static tern_status check(const tern_corpus *c, const char *who, int64_t i, int64_t sequences, int64_t context,
                         const int32_t *out, int64_t *first)
{
    int64_t tokens, end;
    TERN__FAIL_IF(!c || !out, TERN_INVALID_ARGUMENT, "%s: the corpus or the place for the tokens are missing",
                  who);
    TERN__FAIL_IF(i < 0, TERN_INVALID_ARGUMENT, "%s: number %lld", who, (long long)i);
    TERN__FAIL_IF(sequences < 1 || context < 1, TERN_INVALID_ARGUMENT,
                  "%s: %lld sequences of a context of %lld; both must be 1 or more", who,
                  (long long)sequences, (long long)context);
    TERN__FAIL_IF(!tern__i64_add(context, 1, &tokens) || !tern__i64_mul(tokens, sequences, &tokens) ||
                      !tern__i64_mul(i, sequences, first) || !tern__i64_add(*first, sequences, &end),
                  TERN_OVERFLOW, "%s: number %lld of %lld sequences of %lld tokens is too far", who,
                  (long long)i, (long long)sequences, (long long)context);
    return TERN_OK;
}

/* `n` tokens from `start` on, behind the last the first again; n is at most all there are. */
static void copy_around(const tern_corpus *c, int64_t start, int64_t n, int32_t *out)
{
    const int64_t to_end = c->training - start, before = n < to_end ? n : to_end;
    memcpy(out, c->tokens + start, (size_t)before * sizeof *out);
    memcpy(out + before, c->tokens, (size_t)(n - before) * sizeof *out);
}

tern_status tern_corpus_batch(const tern_corpus *c, uint64_t seed, int64_t step, int64_t sequences,
                              int64_t context, int32_t *out)
{
    int64_t first;
    TERN_TRY(check(c, "corpus_batch", step, sequences, context, out, &first));
    TERN__FAIL_IF(c->training <= context, TERN_SHAPE,
                  "corpus_batch: %lld tokens to train on are fewer than the %lld of one sequence: give more "
                  "text, or a smaller context",
                  (long long)c->training, (long long)context + 1);
    const int64_t windows = c->training / context;
    for (int64_t k = 0; k < sequences; k++) {
        const uint64_t pass = (uint64_t)((first + k) / windows), i = (uint64_t)((first + k) % windows);
        const uint64_t offset = random_of(seed, pass, OFFSET, 0) % (uint64_t)c->training;
        const uint64_t at =
            offset + permute(seed, pass, i, (uint64_t)windows) * (uint64_t)context; /* < 2 * training */
        copy_around(c, (int64_t)(at % (uint64_t)c->training), context + 1, out + k * (context + 1));
    }
    return TERN_OK;
}

tern_status tern_corpus_validation_batch(const tern_corpus *c, int64_t i, int64_t sequences, int64_t context,
                                         int32_t *out, int64_t *n)
{
    int64_t first;
    TERN__FAIL_IF(!n, TERN_INVALID_ARGUMENT, "corpus_validation_batch: the place for the count is missing");
    TERN_TRY(check(c, "corpus_validation_batch", i, sequences, context, out, &first));
    const int64_t windows = c->validation > 0 ? (c->validation - 1) / context : 0;
    TERN__FAIL_IF(
        first >= windows, TERN_OUT_OF_RANGE,
        "corpus_validation_batch: group %lld of %lld sequences; %lld tokens for validation are %lld windows "
        "of a context of %lld",
        (long long)i, (long long)sequences, (long long)c->validation, (long long)windows, (long long)context);
    const int64_t left = windows - first;
    *n = left < sequences ? left : sequences;
    for (int64_t k = 0; k < *n; k++)
        memcpy(out + k * (context + 1), c->tokens + c->training + (first + k) * context,
               (size_t)(context + 1) * sizeof *out);
    return TERN_OK;
}

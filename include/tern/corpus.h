/* corpus.h - a text in tokens, as a trainer takes it: sequences in a random order, and a part that is only measured.
 *
 *     TERN_TRY(tern_corpus_create(tokens, n, 0.1, &corpus));
 *     TERN_TRY(tern_corpus_batch(corpus, seed, step, sequences, context, batch));
 *     TERN_TRY(tern_trainer_step(trainer, batch, rate, &result));
 *
 * What a step gets is a function of the seed and the step's number: there is no place to remember, and whoever goes on at step 1000
 * gets what he would have got without a break.
 *
 * Threading: a corpus does not change; any number of threads may use it. */
#ifndef TERN_CORPUS_H
#define TERN_CORPUS_H

#include <stdint.h>

#include <tern/export.h>
#include <tern/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_corpus tern_corpus;

/* Copies `tokens`. `validation` is the share of them at the end, from 0 to less than 1, that is never trained on.
 * TERN_INVALID_ARGUMENT if nothing would be left to train on. */
TERN_API tern_status tern_corpus_create(const int32_t *tokens, int64_t n, double validation,
                                        tern_corpus **out);
TERN_API void tern_corpus_free(tern_corpus *corpus); /* NULL is fine */

/* Tokens of each part; 0 of NULL. */
TERN_API int64_t tern_corpus_training(const tern_corpus *corpus);
TERN_API int64_t tern_corpus_validation(const tern_corpus *corpus);

/* The sequences of step `step`, counted from 0: `sequences` times context + 1 tokens, each sequence from anywhere in the text. A pass
 * over the text starts somewhere at random, goes on at the beginning where the text ends, cuts it into windows of `context` tokens
 * and takes these in a random order; so every token is predicted once a pass, but for those behind the last whole window, which are
 * others in each pass. A step may take the last windows of a pass and the first of the next. TERN_SHAPE if there is less text than
 * one sequence. */
TERN_API tern_status tern_corpus_batch(const tern_corpus *corpus, uint64_t seed, int64_t step,
                                       int64_t sequences, int64_t context, int32_t *out);

/* The i-th group of `sequences` windows of the validation part, one behind the other: the last target of one is the first input of
 * the next. *n is how many there were: fewer in the last group only. All groups together are every whole window. TERN_OUT_OF_RANGE
 * behind the last. */
TERN_API tern_status tern_corpus_validation_batch(const tern_corpus *corpus, int64_t i, int64_t sequences,
                                                  int64_t context, int32_t *out, int64_t *n);

#ifdef __cplusplus
}
#endif

#endif

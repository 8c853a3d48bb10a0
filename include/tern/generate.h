/* generate.h - sequences of tokens that grow: feeding prompts, choosing tokens, generating text.
 *
 *     tern_sequence *sequence;
 *     TERN_TRY(tern_sequence_create(session, 0, &sequence));
 *     TERN_TRY(tern_sequence_prompt(sequence, ids, n, NULL, NULL));
 *     TERN_TRY(tern_generate(sequence, tokenizer, &options, print, NULL, &result));
 *
 * A whole program is examples/generate.c. Threading: as <tern/model.h>. */
#ifndef TERN_GENERATE_H
#define TERN_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/model.h>
#include <tern/status.h>
#include <tern/tokenizer.h>

typedef struct tern_sequence tern_sequence;

typedef struct tern_logit_bias {
    int32_t token;
    float bias; /* added to its logit; -INFINITY forbids it, INFINITY and NaN are refused */
} tern_logit_bias;

/* How the next token is chosen. In this order: bias, repetition penalty, top_k, top_p, min_p, temperature.
 * Start from tern_sampling_default(): a zeroed one is refused. */
typedef struct tern_sampling {
    /* 0 = always the likeliest token, the first of equals; nothing else but bias and penalty counts */
    double temperature;
    int top_k;             /* keep so many of the likeliest; 0 = all */
    double top_p;          /* keep the likeliest until their probabilities sum to this; 1 = all */
    double min_p;          /* drop what is less likely than this share of the likeliest; 0 = nothing */
    double repeat_penalty; /* divides positive logits of recent tokens, multiplies negative ones; 1 = off */
    int repeat_last;       /* how many tokens are recent */
    int n_bias;
    const tern_logit_bias *bias;
    /* token i of a sequence is a function of (seed, i) and the logits alone, for any threads and batch, with one C library (exp) */
    uint64_t seed;
} tern_sampling;

/* Defaults. */
#define TERN_SAMPLING_TEMPERATURE 0.8
#define TERN_SAMPLING_TOP_K 40
#define TERN_SAMPLING_TOP_P 0.95
#define TERN_SAMPLING_MIN_P 0.05
#define TERN_SAMPLING_REPEAT_PENALTY 1
#define TERN_SAMPLING_REPEAT_LAST 64

/* A token and its probability, before sampling changed anything. */
typedef struct tern_token_logprob {
    int32_t token;
    float logprob;
} tern_token_logprob;

/* What its pointers lead to is valid until the callback returns. */
typedef struct tern_generated {
    int32_t token;
    /* what it adds, whole characters; may be empty while a character or stop string is incomplete */
    const char *text;
    size_t length; /* of the text, behind which there is a zero */
    float logprob; /* of the token; NaN unless logprobs > 0 */
    int n_top;     /* the likeliest tokens, descending; 0 unless logprobs > 0 */
    const tern_token_logprob *top;
} tern_generated;

/* Called for each token, and once more at the end (token TERN_NO_TOKEN) if text was held back. false stops. */
typedef bool (*tern_generate_callback)(void *user, const tern_generated *piece);

typedef enum tern_finish {
    TERN_FINISH_LENGTH,  /* `most` tokens */
    TERN_FINISH_END,     /* the model ended its answer */
    TERN_FINISH_STOP,    /* a stop string */
    TERN_FINISH_CONTEXT, /* the context is full */
    TERN_FINISH_CALLER,  /* the callback said so */
} tern_finish;

/* Start from tern_generate_options_default(): a zeroed one is refused. */
typedef struct tern_generate_options {
    tern_sampling sampling;
    int64_t most;    /* tokens; below 0: until something else ends it */
    bool ignore_end; /* tokens that end an answer are tokens like others */
    int n_stops; /* texts that end generation, not part of the result; read until tern_generate returns, as is the bias */
    const char *const *stops;
    int logprobs; /* how many of the likeliest tokens the callback is told; 0 = none */
} tern_generate_options;

typedef struct tern_generate_result {
    int64_t tokens;
    tern_finish finish;
    uint64_t ns; /* from the first token chosen to the last: tokens - 1 were computed in it */
} tern_generate_result;

#ifdef __cplusplus
extern "C" {
#endif

TERN_API tern_sampling tern_sampling_default(void); /* TERN_SAMPLING_...; no bias, seed 0 */

/* Chooses the token at place `index` of a sequence from `n` logits, which it changes. recent[0..n_recent-1]: tokens before it.
 * TERN_STATE, here and below: logits are not numbers (NaN), or none is left to choose. */
TERN_API tern_status tern_sample(const tern_sampling *sampling, int64_t n, float *logits, int64_t n_recent,
                                 const int32_t *recent, uint64_t index, int32_t *out);

/* The `k` likeliest tokens, descending, the first of equals first; fewer if there are not so many. */
TERN_API tern_status tern_logprobs(int64_t n, const float *logits, int k, tern_token_logprob *out,
                                   int *count);
TERN_API tern_status tern_logprob_of(int64_t n, const float *logits, int32_t token, float *out);

/* Sequence in `slot` of the session, which no other sequence may use. */
TERN_API tern_status tern_sequence_create(tern_session *session, int slot, tern_sequence **out);
TERN_API void tern_sequence_free(tern_sequence *sequence); /* NULL is fine; before its session */

/* Makes the sequence hold these tokens: the longest beginning that it holds already is not computed again. TERN_LIMIT if the
 * context is too short, and nothing changes. `progress` (or NULL) is told tokens behind each chunk, the last one too; if it stops, what
 * was fed stays. */
TERN_API tern_status tern_sequence_prompt(tern_sequence *sequence, const int32_t *tokens, int64_t n,
                                          tern_model_progress progress, void *user);
/* Makes `to` hold the tokens of `from`, another sequence of the same session, and its logits: keys and values are copied, so that a
 * prompt from which several answers start is computed once. */
TERN_API tern_status tern_sequence_copy(const tern_sequence *from, tern_sequence *to);
/* One more. */
TERN_API tern_status tern_sequence_push(tern_sequence *sequence, int32_t token);

TERN_API int64_t tern_sequence_length(const tern_sequence *sequence);
TERN_API const int32_t *tern_sequence_tokens(
    const tern_sequence *sequence); /* tern_sequence_length of them. Valid until the sequence changes */
TERN_API int64_t
tern_sequence_reused(const tern_sequence *sequence); /* tokens of the last prompt not computed again */
/* Of the token after the last; NULL if there is none. Valid until the sequence changes. */
TERN_API const float *tern_sequence_logits(const tern_sequence *sequence);

TERN_API tern_generate_options tern_generate_options_default(void);

/* Chooses and feeds tokens until something ends it. The last token chosen is no part of the
 * sequence: tern_sequence_push it to go on. `tokenizer` NULL: no text, no
 * end of answer, no stop strings. `options` NULL = defaults. After a failure `out` is untouched; the sequence holds the tokens that
 * were fed, and if the failure came from feeding one, may need a prompt before it goes on (TERN_STATE says so). */
TERN_API tern_status tern_generate(tern_sequence *sequence, const tern_tokenizer *tokenizer,
                                   const tern_generate_options *options, tern_generate_callback callback,
                                   void *user, tern_generate_result *out);

/* The same for n sequences of one session, each in a slot of its own, token by token in one batch: each gets the tokens that it
 * would get alone. options[i], users[i] (users NULL: NULL) and out[i] are those of sequences[i]. What one of them fails with ends all:
 * no out[i] is written, and each sequence is as tern_generate leaves it after a failure. */
TERN_API tern_status tern_generate_many(int n, tern_sequence *const *sequences,
                                        const tern_tokenizer *tokenizer, const tern_generate_options *options,
                                        tern_generate_callback callback, void *const *users,
                                        tern_generate_result *out);

TERN_API const char *tern_finish_name(tern_finish finish); /* "length"; static */

#ifdef __cplusplus
}
#endif
#endif

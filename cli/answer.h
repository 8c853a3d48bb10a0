/* answer.h - what a model answers, as it comes: shown piece by piece, or kept for a report. */
#ifndef TERN_CLI_ANSWER_H
#define TERN_CLI_ANSWER_H

#include <tern/generate.h>

#include "engine.h"
#include "json.h"
#include "metrics_file.h"

typedef struct answer_token {
    int32_t token;
    float logprob;
    int n_top;
    tern_token_logprob *top; /* (n_top) */
} answer_token;

/* {0} is empty. */
typedef struct answer {
    bool stream, keep; /* to stdout; in `content` */
    bool lost;         /* stdout took no more of it */
    text content;
    answer_token *tokens;
    size_t n, capacity;
    uint64_t seed;
    tern_generate_result result;
    metrics_file *metrics;      /* that its tokens are counted in, or NULL */
    uint64_t begun_ns, last_ns; /* its prompt, and the last token */
} answer;

/* Fits tern_generate_callback; `user` is the answer. One that cannot be written any more ends there. */
bool answer_take(void *user, const tern_generated *piece);
void answer_free(answer *r);

/* On stdout, at once. What a model or a file says may be any byte; a terminal is not to obey it.
 * False: it could not be written, which term_finish will say. */
bool answer_show(const char *words, size_t length);

/* Members of an object that is open: content, tokens, logprobs if there are any, why it ended, how fast it was. */
void answer_add_json(json *j, const engine *e, const answer *r);

double tokens_per_second(int64_t n, uint64_t ns);

#endif

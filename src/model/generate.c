/* generate.c - chooses tokens one after another, turns them into text, and knows when to stop. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/trace.h"
#include "model/sequence.h"

tern_generate_options tern_generate_options_default(void)
{
    return (tern_generate_options){.sampling = tern_sampling_default(), .most = -1};
}

const char *tern_finish_name(tern_finish finish)
{
    static const char *const names[] = {[TERN_FINISH_LENGTH] = "length",
                                        [TERN_FINISH_END] = "end",
                                        [TERN_FINISH_STOP] = "stop",
                                        [TERN_FINISH_CONTEXT] = "context",
                                        [TERN_FINISH_CALLER] = "caller"};
    return (unsigned)finish < sizeof names / sizeof *names ? names[finish] : "unknown";
}

typedef struct generator {
    tern_sequence *sequence;
    const tern_tokenizer *tokenizer;
    const tern_generate_options *o;
    tern_generate_callback callback;
    void *user;
    tern_detokenizer *detokenizer;
    int64_t known; /* tokens that have a text; a model may have more, which then never win */
    char *held;    /* text that may be the beginning of a stop string */
    size_t n_held, cap_held;
    float *logits;           /* (vocabulary) that sampling may change */
    tern_token_logprob *top; /* (logprobs) */
    tern_generate_result result;
    uint64_t start;
    bool done;
} generator;

/* ---- text ---- */

/* The earliest stop string in the held text. Its length, and where; 0: none. */
static size_t find_stop(const generator *g, size_t *at)
{
    for (size_t i = 0; i < g->n_held; i++)
        for (int k = 0; k < g->o->n_stops; k++) {
            size_t length = strlen(g->o->stops[k]);
            if (length > 0 && length <= g->n_held - i && memcmp(g->held + i, g->o->stops[k], length) == 0) {
                *at = i;
                return length;
            }
        }
    return 0;
}

/* How many bytes at the end of the held text a stop string may begin with. */
static size_t undecided(const generator *g)
{
    size_t most = 0;
    for (int k = 0; k < g->o->n_stops; k++) {
        size_t length = strlen(g->o->stops[k]);
        for (size_t n = length > 0 ? length - 1 : 0; n > most; n--)
            if (n <= g->n_held && memcmp(g->held + g->n_held - n, g->o->stops[k], n) == 0)
                most = n;
    }
    return most;
}

static tern_status hold(generator *g, const char *text, size_t length)
{
    if (!tern__grow((void **)&g->held, &g->cap_held, g->n_held + length + 1, 1))
        return tern__out_of_memory(length);
    memcpy(g->held + g->n_held, text, length);
    g->n_held += length;
    g->held[g->n_held] = 0;
    return TERN_OK;
}

/* Gives the caller the first n held bytes. False: the caller has enough. */
static bool emit(generator *g, tern_generated *piece, size_t n)
{
    char next = g->held ? g->held[n] : 0;
    if (g->held)
        g->held[n] = 0; /* terminated, for callers who print it */
    piece->text = g->held ? g->held : "";
    piece->length = n;
    bool go_on = !g->callback || g->callback(g->user, piece);
    if (g->held) {
        g->held[n] = next;
        g->n_held -= n;
        memmove(g->held, g->held + n, g->n_held + 1);
    }
    return go_on;
}

/* ---- tokens ---- */

static tern_status choose(generator *g, tern_generated *piece)
{
    tern_sequence *q = g->sequence;
    memcpy(g->logits, q->logits, (size_t)q->vocabulary * sizeof *g->logits);
    for (int64_t i = g->known; i < q->vocabulary; i++)
        g->logits[i] = -INFINITY;
    const uint64_t start = tern__trace_begin();
    TERN_TRY(tern_sample(&g->o->sampling, q->vocabulary, g->logits, q->length, q->tokens, (uint64_t)q->length,
                         &piece->token));
    tern__trace_end(start, "sample", "model", UINT32_MAX, 0, 0);
    piece->logprob = NAN;
    if (g->o->logprobs < 1)
        return TERN_OK;
    piece->top = g->top;
    TERN_TRY(tern_logprobs(q->vocabulary, q->logits, g->o->logprobs, g->top, &piece->n_top));
    return tern_logprob_of(q->vocabulary, q->logits, piece->token, &piece->logprob);
}

static bool wants_more(const generator *g)
{
    return !g->done && (g->o->most < 0 || g->result.tokens < g->o->most);
}

/* One token, chosen and given to the caller. *go_on: it is to be fed, and there may be another. */
static tern_status step(generator *g, bool *go_on, int32_t *token)
{
    tern_generated piece = {0};
    TERN_TRY(choose(g, &piece));
    g->result.tokens++;
    bool end = g->tokenizer && !g->o->ignore_end && tern_tokenizer_is_end(g->tokenizer, piece.token);
    if (g->detokenizer && !end) {
        const char *text;
        size_t length;
        TERN_TRY(tern_detokenizer_push(g->detokenizer, piece.token, &text, &length));
        TERN_TRY(hold(g, text, length));
    }
    size_t at = 0;
    bool stopped = find_stop(g, &at) > 0;
    if (stopped)
        g->n_held = at;
    bool wanted = emit(g, &piece, stopped ? at : g->n_held - undecided(g));
    bool full = tern__sequence_is_full(g->sequence);
    g->result.finish = stopped                 ? TERN_FINISH_STOP
                       : end                   ? TERN_FINISH_END
                       : !wanted               ? TERN_FINISH_CALLER
                       : full && wants_more(g) ? TERN_FINISH_CONTEXT /* else nothing is missing */
                                               : TERN_FINISH_LENGTH;
    *go_on = g->result.finish == TERN_FINISH_LENGTH && !full;
    *token = piece.token;
    return TERN_OK;
}

/* Gives out what was held back, and stops the clock. */
static tern_status finish(generator *g)
{
    if (g->detokenizer && g->result.finish != TERN_FINISH_STOP) {
        const char *text;
        size_t length;
        TERN_TRY(tern_detokenizer_finish(g->detokenizer, &text, &length));
        TERN_TRY(hold(g, text, length));
    }
    tern_generated rest = {.token = TERN_NO_TOKEN, .logprob = NAN};
    if (g->n_held > 0 && g->result.finish != TERN_FINISH_CALLER)
        emit(g, &rest, g->n_held);
    g->result.ns = tern__now_ns() - g->start;
    return TERN_OK;
}

/* A token for each of those that are not done, then all of them fed at once, until none is left; the last of each is not fed, as
 * nobody would look at what follows. live, tokens: room for n. */
static tern_status run(int n, generator *all, tern_sequence **live, int32_t *tokens)
{
    for (;;) {
        int n_live = 0;
        for (int i = 0; i < n; i++) {
            generator *g = &all[i];
            bool go_on = wants_more(g);
            if (go_on)
                TERN_TRY(step(g, &go_on, &tokens[n_live]));
            go_on = go_on && wants_more(g);
            if (!go_on && !g->done)
                TERN_TRY(finish(g));
            g->done = !go_on;
            if (go_on)
                live[n_live++] = g->sequence;
        }
        if (n_live == 0)
            return TERN_OK;
        TERN_TRY(tern__sequences_push(n_live, live, tokens));
    }
}

static tern_status prepare(generator *g)
{
    size_t n = (size_t)g->sequence->vocabulary;
    g->start = tern__now_ns();
    g->logits = tern__alloc_zero(n, sizeof *g->logits);
    g->top = tern__alloc_zero((size_t)g->o->logprobs + 1, sizeof *g->top);
    if (!g->logits || !g->top)
        return tern__out_of_memory(n * sizeof *g->logits);
    g->known = g->sequence->vocabulary;
    if (!g->tokenizer)
        return TERN_OK;
    tern_tokenizer_info info;
    TERN_TRY(tern_tokenizer_get_info(g->tokenizer, &info));
    g->known = info.n_tokens;
    const tern_sequence *q =
        g->sequence; /* nothing but the token that starts texts: ours is the start of one */
    tern_decode_options decode = {.goes_on = q->length != 1 || q->tokens[0] != info.bos};
    return tern_detokenizer_create(g->tokenizer, &decode, &g->detokenizer);
}

static tern_status check(int n, tern_sequence *const *sequences, const tern_generate_options *options)
{
    for (int i = 0; i < n; i++) {
        const tern_sequence *q = sequences[i];
        TERN__FAIL_IF(!q, TERN_INVALID_ARGUMENT, "generate: sequence %d is NULL", i);
        TERN__FAIL_IF(!q->has_logits, TERN_STATE, "generate: the sequence is empty: give it a prompt first");
        TERN__FAIL_IF(q->session != sequences[0]->session, TERN_INVALID_ARGUMENT,
                      "generate: sequence %d belongs to another session", i);
        for (int k = 0; k < i; k++)
            TERN__FAIL_IF(q->slot == sequences[k]->slot, TERN_INVALID_ARGUMENT,
                          "generate: sequences %d and %d share slot %d", k, i, q->slot);
        const tern_generate_options *o = &options[i];
        TERN_TRY(tern__sampling_check(&o->sampling));
        TERN__FAIL_IF(
            o->n_stops < 0 || (o->n_stops > 0 && !o->stops) || o->logprobs < 0 || o->logprobs > 1000,
            TERN_INVALID_ARGUMENT, "generate: %d stop strings, %d logprobs", o->n_stops, o->logprobs);
        for (int k = 0; k < o->n_stops; k++)
            TERN__FAIL_IF(!o->stops[k], TERN_INVALID_ARGUMENT, "generate: stop string %d is NULL", k);
    }
    return TERN_OK;
}

tern_status tern_generate_many(int n, tern_sequence *const *sequences, const tern_tokenizer *tokenizer,
                               const tern_generate_options *options, tern_generate_callback callback,
                               void *const *users, tern_generate_result *out)
{
    TERN__FAIL_IF(n < 1 || !sequences || !options || !out, TERN_INVALID_ARGUMENT,
                  "generate_many: an argument is NULL, or there are no sequences");
    TERN_TRY(check(n, sequences, options));
    size_t many = (size_t)n;
    generator *all = tern__alloc_zero(many, sizeof *all);
    tern_sequence **live = tern__alloc_zero(many, sizeof *live);
    int32_t *tokens = tern__alloc_zero(many, sizeof *tokens);
    tern_status status = all && live && tokens ? TERN_OK : tern__out_of_memory(many * sizeof *all);
    for (int i = 0; i < n && status == TERN_OK; i++) {
        all[i] = (generator){.sequence = sequences[i],
                             .tokenizer = tokenizer,
                             .o = &options[i],
                             .callback = callback,
                             .user = users ? users[i] : NULL};
        status = prepare(&all[i]);
    }
    if (status == TERN_OK)
        status = run(n, all, live, tokens);
    for (int i = 0; i < n && all; i++) {
        if (status == TERN_OK)
            out[i] = all[i].result;
        tern_detokenizer_free(all[i].detokenizer);
        tern__free(all[i].held);
        tern__free(all[i].logits);
        tern__free(all[i].top);
    }
    tern__free(all);
    tern__free(live);
    tern__free(tokens);
    return status;
}

tern_status tern_generate(tern_sequence *sequence, const tern_tokenizer *tokenizer,
                          const tern_generate_options *options, tern_generate_callback callback, void *user,
                          tern_generate_result *out)
{
    TERN__FAIL_IF(!sequence || !out, TERN_INVALID_ARGUMENT, "generate: an argument is NULL");
    tern_generate_options o = options ? *options : tern_generate_options_default();
    return tern_generate_many(1, &sequence, tokenizer, &o, callback, &user, out);
}

/* sequence.c - the tokens of one slot, and the logits behind the last of them. */
#include "model/sequence.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

tern_status tern_sequence_create(tern_session *session, int slot, tern_sequence **out)
{
    TERN__FAIL_IF(!session || !out, TERN_INVALID_ARGUMENT, "sequence_create: an argument is NULL");
    int slots = tern_session_slots(session);
    TERN__FAIL_IF(slot < 0 || slot >= slots, TERN_OUT_OF_RANGE, "sequence: slot %d: the session has %d", slot,
                  slots);
    tern_sequence *q = tern__alloc_zero(1, sizeof *q);
    if (!q)
        return tern__out_of_memory(sizeof *q);
    q->session = session;
    q->slot = slot;
    q->vocabulary = tern_session_vocabulary(session);
    q->logits = tern__alloc_zero((size_t)q->vocabulary, sizeof *q->logits);
    if (!q->logits) {
        const size_t bytes = (size_t)q->vocabulary * sizeof *q->logits;
        tern_sequence_free(q);
        return tern__out_of_memory(bytes);
    }
    *out = q;
    return TERN_OK;
}

void tern_sequence_free(tern_sequence *sequence)
{
    if (!sequence)
        return;
    tern__free(sequence->tokens);
    tern__free(sequence->logits);
    tern__free(sequence);
}

/* Feeds n tokens behind the `length` that hold; the last one's logits if `last`. */
static tern_status feed(tern_sequence *q, const int32_t *tokens, int64_t n, bool last)
{
    tern_session_row *rows = tern__alloc_zero((size_t)n, sizeof *rows);
    if (!rows)
        return tern__out_of_memory((size_t)n * sizeof *rows);
    for (int64_t i = 0; i < n; i++)
        rows[i] = (tern_session_row){tokens[i], q->slot, q->length + i};
    tern_status status =
        tern_session_feed(q->session, (int)n, rows, last, (int[]){(int)n - 1}, last ? q->logits : NULL);
    tern__free(rows);
    if (status == TERN_OK) {
        memcpy(q->tokens + q->length, tokens, (size_t)n * sizeof *tokens);
        q->length += n;
    }
    return status;
}

static tern_status reserve(tern_sequence *q, int64_t n)
{
    int64_t context = tern_session_context(q->session);
    TERN__FAIL_IF(n > context, TERN_LIMIT, "sequence: %lld tokens do not fit a context of %lld positions",
                  (long long)n, (long long)context);
    return tern__grow((void **)&q->tokens, &q->capacity, (size_t)n, sizeof *q->tokens)
               ? TERN_OK
               : tern__out_of_memory((size_t)n * sizeof *q->tokens);
}

tern_status tern_sequence_prompt(tern_sequence *sequence, const int32_t *tokens, int64_t n,
                                 tern_model_progress progress, void *user)
{
    TERN__FAIL_IF(!sequence || !tokens || n < 1, TERN_INVALID_ARGUMENT,
                  "sequence_prompt: there are no tokens");
    tern_sequence *q = sequence;
    TERN_TRY(reserve(q, n));
    int64_t same = 0;
    while (same < n - 1 && same < q->length && q->tokens[same] == tokens[same])
        same++; /* the last one is fed in any case: its logits are wanted */
    q->length = q->reused = same;
    q->has_logits = false;
    int64_t chunk = tern_session_batch(q->session);
    while (q->length < n) {
        int64_t here = n - q->length < chunk ? n - q->length : chunk;
        bool last = q->length + here == n;
        TERN_TRY(feed(q, tokens + q->length, here, last));
        if (progress && !progress(user, (uint64_t)q->length, (uint64_t)n))
            return tern__fail(TERN_CANCELLED,
                              last ? "the prompt was stopped after %lld of %lld tokens: no answer was begun"
                                   : "the prompt was stopped after %lld of %lld tokens",
                              (long long)q->length, (long long)n);
    }
    q->has_logits = true;
    return TERN_OK;
}

tern_status tern_sequence_copy(const tern_sequence *from, tern_sequence *to)
{
    TERN__FAIL_IF(!from || !to, TERN_INVALID_ARGUMENT, "sequence_copy: a sequence is NULL");
    TERN__FAIL_IF(from->session != to->session, TERN_INVALID_ARGUMENT,
                  "sequence_copy: the sequences belong to different sessions");
    if (from == to)
        return TERN_OK;
    TERN_TRY(reserve(to, from->length));
    to->length = 0; /* whatever happens, `to` no longer holds what it did */
    to->has_logits = false;
    TERN_TRY(tern_session_copy(from->session, from->slot, to->slot, from->length));
    if (from->length > 0)
        memcpy(to->tokens, from->tokens, (size_t)from->length * sizeof *to->tokens);
    memcpy(to->logits, from->logits, (size_t)from->vocabulary * sizeof *to->logits);
    to->length = to->reused = from->length;
    to->has_logits = from->has_logits;
    return TERN_OK;
}

bool tern__sequence_is_full(const tern_sequence *sequence)
{
    return sequence->length >= tern_session_context(sequence->session);
}

/* rows, wanted and logits have room for n. */
static tern_status push_all(int n, tern_sequence *const *sequences, const int32_t *tokens,
                            tern_session_row *rows, int *wanted, float *logits)
{
    for (int i = 0; i < n; i++) {
        tern_sequence *q = sequences[i];
        TERN_TRY(reserve(q, q->length + 1));
        rows[i] = (tern_session_row){tokens[i], q->slot, q->length};
        wanted[i] = i;
    }
    for (int i = 0; i < n; i++)
        sequences[i]->has_logits = false;
    TERN_TRY(tern_session_feed(sequences[0]->session, n, rows, n, wanted, logits));
    for (int i = 0; i < n; i++) {
        tern_sequence *q = sequences[i];
        size_t vocabulary = (size_t)q->vocabulary;
        if (logits != q->logits)
            memcpy(q->logits, logits + (size_t)i * vocabulary, vocabulary * sizeof *logits);
        q->tokens[q->length++] = tokens[i];
        q->has_logits = true;
    }
    return TERN_OK;
}

tern_status tern__sequences_push(int n, tern_sequence *const *sequences, const int32_t *tokens)
{
    if (n == 1)
        return push_all(1, sequences, tokens, &(tern_session_row){0}, &(int){0}, sequences[0]->logits);
    size_t many = (size_t)n, vocabulary = (size_t)sequences[0]->vocabulary;
    tern_session_row *rows = tern__alloc_zero(many, sizeof *rows);
    int *wanted = tern__alloc_zero(many, sizeof *wanted);
    float *logits = tern__alloc_zero(many * vocabulary, sizeof *logits);
    tern_status status = rows && wanted && logits ? push_all(n, sequences, tokens, rows, wanted, logits)
                                                  : tern__out_of_memory(many * vocabulary * sizeof *logits);
    tern__free(rows);
    tern__free(wanted);
    tern__free(logits);
    return status;
}

tern_status tern_sequence_push(tern_sequence *sequence, int32_t token)
{
    TERN__FAIL_IF(!sequence, TERN_INVALID_ARGUMENT, "sequence_push: the sequence is NULL");
    return tern__sequences_push(1, &sequence, &token);
}

int64_t tern_sequence_length(const tern_sequence *sequence)
{
    return sequence ? sequence->length : 0;
}

const int32_t *tern_sequence_tokens(const tern_sequence *sequence)
{
    return sequence ? sequence->tokens : NULL;
}

int64_t tern_sequence_reused(const tern_sequence *sequence)
{
    return sequence ? sequence->reused : 0;
}

const float *tern_sequence_logits(const tern_sequence *sequence)
{
    return sequence && sequence->has_logits ? sequence->logits : NULL;
}

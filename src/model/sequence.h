/* sequence.h - a sequence of tokens and where it is in a session. */
#ifndef TERN_MODEL_SEQUENCE_H
#define TERN_MODEL_SEQUENCE_H

#include <tern/generate.h>

struct tern_sequence {
    tern_session *session;
    int slot;
    int64_t vocabulary, length, reused;
    int32_t *tokens; /* (length) whose keys and values the session holds */
    size_t capacity;
    float *logits; /* (vocabulary) behind the last token */
    bool has_logits;
};

/* One more token for each of n sequences of one session, in one batch. Those that have no room must not be among them. */
tern_status tern__sequences_push(int n, tern_sequence *const *sequences, const int32_t *tokens);
bool tern__sequence_is_full(const tern_sequence *sequence);

/* ---- sampler.c ---- */

/* What is wrong with `sampling`, whatever the logits. */
tern_status tern__sampling_check(const tern_sampling *sampling);

#endif

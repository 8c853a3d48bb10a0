/* special.h - finding control and user-defined tokens in text, the leftmost and longest first. */
#ifndef TERN_MODEL_TOKENIZER_SPECIAL_H
#define TERN_MODEL_TOKENIZER_SPECIAL_H

#include <stdbool.h>

#include "model/tokenizer/vocab.h"

typedef struct tern__special {
    uint32_t id;
    bool guarded; /* found only outside of protected text */
    bool lstrip, rstrip, single_word;
} tern__special;

typedef struct tern__specials {
    tern__special *rows; /* sorted by text, no text twice */
    size_t count;
    bool starts[256]; /* does any start with this byte? */
    bool any_open;    /* is any not guarded? */
} tern__specials;

/* A part of a text where control tokens are text. */
typedef struct tern__protected {
    size_t from, to;
} tern__protected;

/* Collects the control, unknown and user-defined tokens of `v`. */
tern_status tern__specials_build(tern__specials *s, const tern__vocab *v, const tern_token_flags *flags,
                                 size_t n_flags);
void tern__specials_free(tern__specials *s);

/* The one with this text; NULL: none. */
const tern__special *tern__specials_find(const tern__specials *s, const tern__vocab *v, const char *text,
                                         size_t length);

/* The first one at or behind `from`: `*start`, `*end` are its place. `guarded` of them must not touch `shields`, which
 * are in order. NULL: none. */
const tern__special *tern__specials_next(const tern__specials *s, const tern__vocab *v, const char *text,
                                         size_t length, size_t from, const tern__protected *shields,
                                         size_t n_shields, size_t *start, size_t *end);

#endif

/* split.h - cutting text into the pieces inside which bytes are merged: the table of ways (split.def), and PCRE2. */
#ifndef TERN_MODEL_TOKENIZER_SPLIT_H
#define TERN_MODEL_TOKENIZER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/status.h>

enum { TERN__SPLIT_STEPS = 4 };

typedef struct tern__split_rule {
    const char *name;
    const char *aliases;                     /* " llama3 llama-v3 ": other names in files */
    const char *whose;                       /* models, for messages; NULL: the name tells */
    const char *patterns[TERN__SPLIT_STEPS]; /* each cuts the pieces of the one before it */
    const char *written;                     /* how tokenizer.json has the pattern; NULL: it never does */
    bool ignore_merges, add_bos;             /* where the file does not say */
} tern__split_rule;

/* Row i of the table; NULL past the last. */
const tern__split_rule *tern__split_rule_get(int i);
/* What to do where none is known, for messages: "choose 'pre' from a (LLaMA-3's), b, c"; both the option of the library and that of
 * the program have this name. Returns `out`. */
enum { TERN__RULE_CHOICES = 160 };
const char *tern__split_rule_choices(char out[static TERN__RULE_CHOICES]);
/* By name or alias; NULL: there is none. */
const tern__split_rule *tern__split_rule_find(const char *name);
/* The row that tokenizer.json means by this pattern; NULL: none. */
const tern__split_rule *tern__split_rule_recognise(const char *pattern);

typedef struct tern__splitter tern__splitter;     /* a compiled rule; any thread */
typedef struct tern__split_work tern__split_work; /* what one thread needs beside it */

tern_status tern__splitter_create(const tern__split_rule *rule, tern__splitter **out);
void tern__splitter_free(tern__splitter *s); /* NULL is fine */
tern_status tern__split_work_create(tern__split_work **out);
void tern__split_work_free(tern__split_work *w); /* NULL is fine */

/* Called for each piece in turn; together the pieces are the text. */
typedef tern_status (*tern__piece_fn)(void *user, const char *piece, size_t length);

/* Its end counts as the end of everything. Runs of bytes that are not UTF-8 are pieces of their own, and end the text before them. Time
 * grows with its length. */
tern_status tern__split_any(const tern__splitter *s, tern__split_work *work, const char *text, size_t length,
                            tern__piece_fn piece, void *user);

#endif

/* words.h - what somebody probably meant. */
#ifndef TERN_BASE_WORDS_H
#define TERN_BASE_WORDS_H

#include <stddef.h>

enum { TERN__WORD_LONGEST = 32 }; /* longer words are not compared */

/* Letters to insert, delete, replace or swap with their neighbour to make `b` of `a`; words of more than
 * 32 letters are another word altogether. */
size_t tern__word_distance(const char *a, size_t n, const char *b, size_t m);

#endif

/* text_suggest.c - what somebody probably meant. */
#include "base/words.h"
#include "graph/text.h"
#include "graph/text_lex.h"

#include <string.h>

const tern__op *tern__op_nearest(const char *name, size_t length)
{
    if (length > TERN__WORD_LONGEST)
        return NULL;
    const tern__op *best = NULL;
    size_t best_distance = length / 3 + 1; /* one slip in three letters still looks like a slip */
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        size_t other = strlen(tern__ops[i].name);
        if (other > TERN__WORD_LONGEST)
            continue;
        size_t d = tern__word_distance(name, length, tern__ops[i].name, other);
        if (length >= 3 && strncmp(name, tern__ops[i].name, length) == 0)
            d = d < 1 ? d : 1; /* the beginning of a name means that name */
        if (d < best_distance) {
            best_distance = d;
            best = &tern__ops[i];
        }
    }
    return best;
}

/* text_suggest.c - what somebody probably meant. */
#include "graph/text.h"
#include "graph/text_lex.h"

#include <string.h>

enum { LONGEST = 32 }; /* names longer than this are not compared */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t tern__word_distance(const char *a, size_t n, const char *b, size_t m)
{
    if (n > LONGEST || m > LONGEST)
        return n > m ? n : m;
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[m];
}

const tern__op *tern__op_nearest(const char *name, size_t length)
{
    if (length > LONGEST)
        return NULL;
    const tern__op *best = NULL;
    size_t best_distance = length / 3 + 1; /* one slip in three letters still looks like a slip */
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        size_t other = strlen(tern__ops[i].name);
        if (other > LONGEST)
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

/* words.c - how far a misspelt word is from one that there is. */
#include "base/words.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t tern__word_distance(const char *a, size_t n, const char *b, size_t m)
{
    if (n > TERN__WORD_LONGEST || m > TERN__WORD_LONGEST)
        return n > m ? n : m;
    size_t rows[3][TERN__WORD_LONGEST + 1];
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

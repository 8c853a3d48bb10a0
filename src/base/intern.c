/* intern.c - a table of texts with open addressing, under one lock. It lies in memory that the process has from the start
 * and touches when it needs it: interning cannot fail, and nobody counts it as a leak. */
#include "base/intern.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"

enum { SLOTS = 16384, NAMES_MOST = SLOTS / 4 * 3, BYTES = 384 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    size_t n_names, used;
    const char *slots[SLOTS]; /* NULL where nothing is */
    char bytes[BYTES];
} table; /* guarded by the lock */

static const char *find_or_add(const char *text, size_t length)
{
    size_t at = (size_t)tern__hash_foreign(text, length) & (SLOTS - 1);
    while (table.slots[at] && strcmp(table.slots[at], text) != 0)
        at = (at + 1) & (SLOTS - 1);
    if (table.slots[at])
        return table.slots[at];
    if (table.n_names == NAMES_MOST || length >= BYTES - table.used)
        return "...";
    table.slots[at] = memcpy(table.bytes + table.used, text, length + 1);
    table.used += length + 1;
    table.n_names++;
    return table.slots[at];
}

const char *tern__intern(const char *text)
{
    if (!text)
        return NULL;
    pthread_mutex_lock(&lock);
    const char *own = find_or_add(text, strlen(text));
    pthread_mutex_unlock(&lock);
    return own;
}

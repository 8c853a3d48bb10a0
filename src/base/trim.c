/* trim.c - the list of those who can give memory back, under one lock. Giving back may end another one on the list (a cache that
 * held the last tensor of a pool), on the same thread: the lock is recursive, and a walk under way is told. */
#include "base/trim.h"

#include <pthread.h>

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tern__trimmable *first;
static tern__trimmable *next_up; /* of the walk that is under way */

static void make_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void acquire(void)
{
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
}

void tern__trim_add(tern__trimmable *it)
{
    acquire();
    it->prev = NULL;
    it->next = first;
    if (first)
        first->prev = it;
    first = it;
    pthread_mutex_unlock(&lock);
}

void tern__trim_remove(tern__trimmable *it)
{
    acquire();
    if (next_up == it)
        next_up = it->next;
    if (it->next)
        it->next->prev = it->prev;
    *(it->prev ? &it->prev->next : &first) = it->next;
    it->next = it->prev = NULL;
    pthread_mutex_unlock(&lock);
}

size_t tern__trim_all(int level, int *asked)
{
    size_t given = 0;
    int n = 0;
    acquire();
    for (tern__trimmable *it = first; it; it = next_up) {
        next_up = it->next;
        given += it->trim(it->self, level);
        n++;
    }
    next_up = NULL;
    pthread_mutex_unlock(&lock);
    if (asked)
        *asked = n;
    return given;
}

uint64_t tern__trim_in_use(void)
{
    uint64_t bytes = 0;
    acquire();
    for (tern__trimmable *it = first; it; it = it->next)
        bytes += it->in_use ? it->in_use(it->self) : 0;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* meeting.h - two sides that wait for each other: what overlaps is arranged, not hoped for. If one cannot begin before the other is over,
 * waiting ends after a time that no machine needs, so that a failure is one. */
#ifndef TERN_TESTS_MEETING_H
#define TERN_TESTS_MEETING_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool here[2]; /* has the side come? */
    bool late;    /* one of them waited in vain */
} meeting;

#define MEETING_EMPTY ((meeting){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER})

/* Side 0 or 1 comes, and waits for the other. Any thread. */
static inline void meet(meeting *m, int side)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&m->lock);
    m->here[side] = true;
    pthread_cond_broadcast(&m->changed);
    while (!m->here[!side] && !m->late)
        m->late = pthread_cond_timedwait(&m->changed, &m->lock, &until) != 0;
    pthread_mutex_unlock(&m->lock);
}

static inline void meeting_end(meeting *m)
{
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
}

#endif

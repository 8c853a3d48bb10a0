/* places.h - where the workers of a pool run: each on a core of its own.
 *
 * A system that wakes a thread may put it behind the one that woke it although another core is idle, and move it
 * milliseconds later: Linux did so in 97 of 100 short regions with a pause between them, on a machine with two cores, and
 * both workers took turns on one (docs/performance-model.md). So where a pool has as many workers as there are cores that
 * its maker may use, its threads are bound to one core each.
 *
 * The caller, worker 0, is the program's own thread and stays free: it keeps the core that it is found on, and the thread
 * that lives there moves to the one that is left over. Only while the caller sleeps inside a region it is bound, so that it
 * wakes where nobody else is.
 *
 * With fewer workers than cores, more of them, or a system that cannot bind threads, nobody is bound. */
#ifndef TERN_BASE_PLACES_H
#define TERN_BASE_PLACES_H

#include <pthread.h>
#include <stdbool.h>

typedef struct tern__places tern__places;

/* Places for `workers`; NULL: nobody is bound (see above), or there is no memory. NULL is fine below. */
tern__places *tern__places_create(int workers);
void tern__places_free(tern__places *places);

/* Binds the thread of worker 1, 2, ...; each once, before the first region. */
void tern__places_give(tern__places *places, int worker, pthread_t thread);

/* Called by worker 0: before a region; inside it, before it may sleep, as often as it likes; and after it. */
void tern__places_begin(tern__places *places);
void tern__places_stay(tern__places *places);
void tern__places_end(tern__places *places);

/* ---- threads of others ---- */

enum { TERN__THREADS_LISTED = 512 };

/* Threads of the process, by the system's numbers; n 0: it does not tell. */
typedef struct tern__thread_list {
    int n;
    int ids[TERN__THREADS_LISTED];
} tern__thread_list;

void tern__threads_list(tern__thread_list *out);

/* Binds threads that have come since, one to each core: those of a driver that computes on the processor, which the system wakes as it
 * does ours. Only if there are `count` of them, and as many cores that the process may use; else nobody is bound. */
bool tern__places_give_new(const tern__thread_list *before, int count);

#endif

/* threads.h - a small pool whose workers run one region at a time and meet at barriers inside it.
 *
 * The caller of tern__threads_run is worker 0, so a pool of one has no thread of its own and costs a call.
 * Waiting spins for a short while (politely when there are more workers than cores), then sleeps (futex on
 * Linux, condition variable elsewhere). A pool with as many workers as cores keeps them on one core each
 * (base/places.h). */
#ifndef TERN_BASE_THREADS_H
#define TERN_BASE_THREADS_H

#include <stdbool.h>

#include <tern/status.h>

typedef struct tern__threads tern__threads;

typedef void (*tern__region_fn)(void *arg, int worker, int workers);

/* `count` >= 1 workers, the caller included. */
tern_status tern__threads_create(int count, tern__threads **out);
void tern__threads_destroy(tern__threads *threads); /* NULL is fine; no region may be running */
int tern__threads_count(const tern__threads *threads);

/* Runs fn(arg, w, workers) for w in [0, workers), workers <= count, and returns when all have returned.
 * Memory that they allocate belongs to the caller's frame (base/watch.h).
 * One region at a time per pool; not to be nested. Everything written before the call is visible inside,
 * everything written inside is visible after it. */
void tern__threads_run(tern__threads *threads, int workers, tern__region_fn fn, void *arg);

/* The same for a region that records no events of its own: each worker's part of it is an event of this name (static), and what the
 * caller waits for the others at its end is another. `threads` NULL: the caller alone. */
void tern__threads_run_as(const char *name, tern__threads *threads, int workers, tern__region_fn fn,
                          void *arg);

/* Something useful for a worker that waits: done bit by bit (well below a microsecond each), as long as it returns true. */
typedef struct tern__idle {
    bool (*work)(void *arg);
    void *arg;
} tern__idle;

/* Inside a region: returns when all its workers have arrived. A full memory barrier between them.
 * With one worker it costs nothing. `idle` may be NULL; whether and how often it is called is a matter of luck. */
void tern__threads_barrier(tern__threads *threads, const tern__idle *idle);

#endif

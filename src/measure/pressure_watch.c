/* pressure_watch.c - a thread that looks at the pressure again and again, and has something done about it. */
#include <tern/pressure.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/status.h"

static const uint64_t every_ns = 1000000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake; /* there is one while a watch runs */
static struct {
    bool runs, ends; /* guarded by the lock */
    pthread_t thread;
    char *root;
    tern_pressure_options options;
} watch;

static void relieve(void *user, const tern_pressure_reading *reading)
{
    (void)user;
    tern_pressure_relieve(reading->level, NULL);
}

/* A look must neither wait for hours nor come at once because somebody corrected the time of day: waits go by the clock that nobody sets,
 * or, where conditions know no other than the time of day, by spans of time. */
static bool make_wake(void)
{
#ifdef __APPLE__
    return pthread_cond_init(&wake, NULL) == 0;
#else
    pthread_condattr_t how;
    if (pthread_condattr_init(&how) != 0)
        return false;
    const bool made =
        pthread_condattr_setclock(&how, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&wake, &how) == 0;
    pthread_condattr_destroy(&how);
    return made;
#endif
}

/* false: it is time. The lock is held. */
static bool wait_for_wake(struct timespec until)
{
#ifdef __APPLE__
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    until.tv_sec -= now.tv_sec + (until.tv_nsec < now.tv_nsec);
    until.tv_nsec += (until.tv_nsec < now.tv_nsec ? 1000000000 : 0) - now.tv_nsec;
    return until.tv_sec >= 0 && pthread_cond_timedwait_relative_np(&wake, &lock, &until) != ETIMEDOUT;
#else
    return pthread_cond_timedwait(&wake, &lock, &until) != ETIMEDOUT;
#endif
}

/* Waits until it is time, or over. */
static bool wait_for_end(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + watch.options.every_ns % 1000000000;
    until.tv_sec += (time_t)(watch.options.every_ns / 1000000000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&lock);
    while (!watch.ends && wait_for_wake(until))
        ;
    const bool ends = watch.ends;
    pthread_mutex_unlock(&lock);
    return ends;
}

static void *look(void *unused)
{
    tern_pressure_reading now, last = {0};
    bool first = true;
    (void)unused;
    do {
        if (tern_pressure_read(watch.root, first ? NULL : &last, &now) != TERN_OK)
            continue;
        if (now.level != last.level || now.level == TERN_PRESSURE_CRITICAL)
            watch.options.call(watch.options.user, &now);
        last = now;
        first = false;
    } while (!wait_for_end());
    return NULL;
}

tern_pressure_options tern_pressure_options_default(void)
{
    return (tern_pressure_options){0};
}

tern_status tern_pressure_watch_start(const tern_pressure_options *options)
{
    tern_status status = TERN_OK;
    pthread_mutex_lock(&lock);
    if (watch.runs) {
        pthread_mutex_unlock(&lock);
        return tern__fail(TERN_STATE, "pressure_watch: it is watched already; stop that first");
    }
    watch.options = options ? *options : tern_pressure_options_default();
    watch.options.every_ns = watch.options.every_ns ? watch.options.every_ns : every_ns;
    watch.options.call = watch.options.call ? watch.options.call : relieve;
    watch.root = watch.options.root ? tern__strdup(watch.options.root) : NULL;
    watch.ends = false;
    const bool made = make_wake();
    if (watch.options.root && !watch.root)
        status = tern__out_of_memory(strlen(watch.options.root));
    else if (!made || pthread_create(&watch.thread, NULL, look, NULL) != 0)
        status = tern__fail(TERN_UNAVAILABLE, "pressure_watch: the system gave no thread");
    watch.runs = status == TERN_OK;
    if (status != TERN_OK) {
        if (made)
            pthread_cond_destroy(&wake);
        tern__free(watch.root);
        watch.root = NULL;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void tern_pressure_watch_stop(void)
{
    pthread_mutex_lock(&lock);
    if (!watch.runs || watch.ends) {
        pthread_mutex_unlock(&lock);
        return;
    }
    watch.ends = true;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    pthread_join(watch.thread, NULL);
    pthread_mutex_lock(&lock);
    tern__free(watch.root);
    watch.root = NULL;
    pthread_cond_destroy(&wake);
    watch.runs = false;
    pthread_mutex_unlock(&lock);
}

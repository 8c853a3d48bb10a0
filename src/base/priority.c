/* priority.c - see priority.h. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* SCHED_BATCH */
#endif
#include "base/priority.h"

#include <errno.h>
#include <string.h>

#include "base/status.h"

#if defined(__linux__)

#include <sched.h>
#include <sys/resource.h>

tern_status tern__thread_background(void)
{
    /* Linux has a niceness for each thread, and 0 is the calling one. */
    const int now = getpriority(PRIO_PROCESS, 0);
    if (now < TERN__BACKGROUND_NICE)
        TERN__FAIL_IF(setpriority(PRIO_PROCESS, 0, TERN__BACKGROUND_NICE) != 0, TERN_UNAVAILABLE,
                      "background: the system refuses a lower priority: %s", strerror(errno));
    TERN__FAIL_IF(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) != 0, TERN_UNAVAILABLE,
                  "background: the system refuses batch scheduling: %s", strerror(errno));
    return TERN_OK;
}

#elif defined(__APPLE__)

#include <pthread.h>
#include <pthread/qos.h>

tern_status tern__thread_background(void)
{
    const int error = pthread_set_qos_class_self_np(QOS_CLASS_BACKGROUND, 0);
    TERN__FAIL_IF(error != 0, TERN_UNAVAILABLE, "background: the system refuses the class: %s",
                  strerror(error));
    return TERN_OK;
}

#else

tern_status tern__thread_background(void)
{
    return tern__fail(TERN_UNSUPPORTED,
                      "background: this system has no priorities of threads that Tern knows");
}

#endif

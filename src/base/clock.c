/* clock.c - monotonic time from the system, without a system call where the kernel allows it (vDSO). */
#include "base/clock.h"

#include <time.h>

#include "base/status.h"

static tern__clock_source from;
static void *from_user;

void tern__clock_set_source(tern__clock_source source, void *user)
{
    from = source;
    from_user = user;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now); /* cannot fail: the clock exists and the pointer is good */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tern__now_ns(void)
{
    return TERN__UNLIKELY(from) ? from(from_user) : read_clock(CLOCK_MONOTONIC);
}

uint64_t tern__cpu_time_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t tern__thread_cpu_time_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

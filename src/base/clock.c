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

uint64_t tern__now_ns(void)
{
    if (TERN__UNLIKELY(from))
        return from(from_user);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock exists and the pointer is good */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

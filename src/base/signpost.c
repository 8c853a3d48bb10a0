/* signpost.c - os_signpost, on a Mac. */
#include "base/signpost.h"

typedef int tern__signpost_is_compiled; /* no file is empty */

#ifdef __APPLE__

#include <os/log.h>
#include <os/signpost.h>
#include <pthread.h>

static os_log_t trace_log;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_log(void)
{
    trace_log = os_log_create("tern", "trace");
}

void tern__signpost(const char *name, const char *kernel, uint64_t duration_ns)
{
    pthread_once(&once, make_log);
    os_signpost_event_emit(trace_log, OS_SIGNPOST_ID_EXCLUSIVE, "tern", "%{public}s %{public}s %llu ns",
                           name ? name : "", kernel ? kernel : "", (unsigned long long)duration_ns);
}

#endif

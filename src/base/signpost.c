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

uint64_t tern__signpost_begin(uint64_t start_ns)
{
    pthread_once(&once, make_log);
    os_signpost_interval_begin(trace_log, (os_signpost_id_t)start_ns, "tern");
    return start_ns;
}

void tern__signpost_end(uint64_t start_ns, const char *name, const char *kernel)
{
    pthread_once(&once, make_log);
    os_signpost_interval_end(trace_log, (os_signpost_id_t)start_ns, "tern", "%{public}s %{public}s",
                             name ? name : "", kernel ? kernel : "");
}

#endif

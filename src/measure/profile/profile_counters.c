/* profile_counters.c - perf_event_open, one file for each counter: a group cannot be read once it follows threads. */
#include "measure/profile/profile_counters.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__)
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} rows[TERN__COUNTERS] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

/* What the system says, and what to do about it. */
static void explain(int error, char *why, size_t room)
{
    const char *advice = "";
    if (error == EACCES || error == EPERM)
        advice = "; set /proc/sys/kernel/perf_event_paranoid to 2 or less, or give the program CAP_PERFMON";
    else if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        advice = "; the processor has no such counter, or the virtual machine hides it";
    else if (error == ENOSYS)
        advice = "; the system, or the container it runs in, has no perf_event_open";
    snprintf(why, room, "perf_event_open: %s%s", strerror(error), advice);
}

void tern__counters_open(tern__counter counters[TERN__COUNTERS])
{
    for (int i = 0; i < TERN__COUNTERS; i++) {
        struct perf_event_attr attr = {.type = rows[i].type,
                                       .size = sizeof attr,
                                       .config = rows[i].config,
                                       .read_format =
                                           PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                                       .inherit = 1,
                                       /* switches happen in the kernel */
                                       .exclude_kernel = rows[i].type == PERF_TYPE_HARDWARE,
                                       .exclude_hv = 1};
        counters[i] = (tern__counter){.file = -1};
        const long file = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 8UL /* PERF_FLAG_FD_CLOEXEC */);
        if (file < 0)
            explain(errno, counters[i].why, sizeof counters[i].why);
        else
            counters[i].file = (int)file;
    }
}

void tern__counters_close(tern__counter counters[TERN__COUNTERS])
{
    for (int i = 0; i < TERN__COUNTERS; i++) {
        tern__counter *c = &counters[i];
        uint64_t got[3]; /* value, time enabled, time running */
        if (c->file < 0)
            continue;
        const bool read_all = read(c->file, got, sizeof got) == (ssize_t)sizeof got;
        close(c->file);
        c->file = -1;
        if (!read_all || got[2] == 0)
            snprintf(c->why, sizeof c->why, "it never ran: other programs use the counters");
        else {
            c->running = (double)got[2] / (double)got[1];
            c->value = (double)got[0] / c->running;
        }
    }
}

const char *tern__counter_name(int i)
{
    return rows[i].name;
}

#else

void tern__counters_open(tern__counter counters[TERN__COUNTERS])
{
    for (int i = 0; i < TERN__COUNTERS; i++) {
        counters[i] = (tern__counter){.file = -1};
        snprintf(counters[i].why, sizeof counters[i].why, "only Linux has perf_event_open");
    }
}

void tern__counters_close(tern__counter counters[TERN__COUNTERS])
{
    (void)counters;
}

const char *tern__counter_name(int i)
{
    static const char *const names[TERN__COUNTERS] = {"cycles",          "instructions",  "cache-references",
                                                      "cache-misses",    "branch-misses", "page-faults",
                                                      "context-switches"};
    return names[i];
}

#endif

/* section_memory.c - how much memory was in use, from the first event to the last. */
#include "measure/report/report.h"

static const char *missing(const tern_report *r)
{
    (void)r;
    return "no memory document is among those given";
}

static void nothing(const tern_report *r, tern__strbuf *to)
{
    (void)r, (void)to;
}

const tern__section tern__section_memory = {
    "memory", "Memory", "memory in use over time, and what it was for at the peak", missing, nothing,
    nothing,  nothing,
};

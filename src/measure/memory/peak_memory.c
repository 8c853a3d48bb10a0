/* peak_memory.c - see peak_memory.h. Linux tells since when one likes, other systems since the start. */
#include "measure/memory/peak_memory.h"

#include <stdio.h>
#ifdef __APPLE__
#include <sys/resource.h>
#endif

#include <tern/memory.h>

#ifdef __APPLE__
uint64_t tern_memory_process_peak(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss : 0;
}
#else
/* Not ru_maxrss, which a process takes over from the one that started it. */
uint64_t tern_memory_process_peak(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file) && sscanf(line, "VmHWM: %llu kB", &kib) != 1)
        ;
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}
#endif

void tern__peak_memory_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

/* memory_system.c - what the system says about the memory of this process. Linux tells by /proc, glibc of its heap; elsewhere
 * nobody does, and that is what we say. */
#include "measure/memory/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/alloc.h"

/* "size resident shared text lib data dt", in pages. */
uint64_t tern__memory_statm_rss(int file)
{
    char text[128];
    const ssize_t got = pread(file, text, sizeof text - 1, 0);
    unsigned long long size, resident;
    if (got <= 0)
        return 0;
    text[got] = '\0';
    return sscanf(text, "%llu %llu", &size, &resident) == 2 ? (uint64_t)resident * tern__page_size() : 0;
}

static uint64_t anonymous(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file) && sscanf(line, "RssAnon: %llu kB", &kib) != 1)
        ;
    if (file)
        fclose(file);
    return (uint64_t)kib * 1024;
}

static void read_heap(tern_memory_system *out)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 heap = mallinfo2();
    out->heap_held_bytes = (uint64_t)heap.arena + heap.hblkhd;
    out->heap_free_bytes = heap.fordblks;
    if (out->heap_held_bytes == 0) /* a sanitizer stands in its place */
        out->heap_unavailable = "malloc keeps no books that it shows";
#else
    out->heap_unavailable = "this C library does not show the free lists of its heap";
#endif
}

void tern__memory_system_read(tern_memory_system *out)
{
    *out = (tern_memory_system){0};
    read_heap(out);
    const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (statm < 0) {
        out->unavailable = "there is no /proc/self/statm";
        return;
    }
    out->rss_bytes = tern__memory_statm_rss(statm);
    close(statm);
    out->rss_peak_bytes = tern_memory_process_peak();
    out->anonymous_bytes = anonymous();
}

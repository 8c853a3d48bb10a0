/* kept.c - files of built programs: what they are called, and a limit to what they take. Sources change with Tern, drivers with the system, and
 * what was built for earlier ones would stay for ever. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_kept_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"

#ifdef __APPLE__
#define MODIFIED(s) ((s).st_mtimespec)
#else
#define MODIFIED(s) ((s).st_mtim)
#endif

static const char ending[] = ".bin";
enum { DIGITS = 16 };

void tern__ocl_kept_path(const char *folder, uint64_t key, char *out, size_t size)
{
    snprintf(out, size, "%s/%0*" PRIx64 "%s", folder, DIGITS, key, ending);
}

typedef struct entry {
    uint64_t key, bytes;
    struct timespec written;
} entry;

/* Other files that somebody has in the folder are left alone. */
static bool is_entry(const char *name, uint64_t *key)
{
    if (strspn(name, "0123456789abcdef") != DIGITS || strcmp(name + DIGITS, ending) != 0)
        return false;
    *key = strtoull(name, NULL, 16);
    return true;
}

/* For the caller to free; NULL: there are none, or there is no memory. */
static entry *list_entries(const char *folder, size_t *n)
{
    entry *entries = NULL;
    size_t capacity = 0;
    DIR *dir = opendir(folder);
    *n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat s;
        uint64_t key;
        if (!is_entry(e->d_name, &key) || fstatat(dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(s.st_mode))
            continue;
        if (!tern__grow((void **)&entries, &capacity, *n + 1, sizeof *entries))
            break;
        entries[(*n)++] = (entry){.key = key, .bytes = (uint64_t)s.st_size, .written = MODIFIED(s)};
    }
    if (dir)
        closedir(dir);
    return entries;
}

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const entry *)a)->written, *y = &((const entry *)b)->written;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

void tern__ocl_kept_limit(const char *folder, uint64_t newest, uint64_t most)
{
    size_t n, removed = 0;
    uint64_t bytes = 0;
    entry *entries = list_entries(folder, &n);
    for (size_t i = 0; i < n; i++)
        bytes += entries[i].bytes;
    if (bytes > most)
        qsort(entries, n, sizeof *entries, by_age);
    for (size_t i = 0; i < n && bytes > most; i++) {
        char path[4096];
        tern__ocl_kept_path(folder, entries[i].key, path, sizeof path);
        if (entries[i].key == newest || (unlink(path) != 0 && errno != ENOENT))
            continue; /* of what is gone another process was first */
        bytes -= entries[i].bytes;
        removed++;
    }
    if (removed > 0)
        tern__log(TERN_LOG_INFO,
                  "opencl: %zu old kernels were removed from %s: they had more than %" PRIu64 " MiB", removed,
                  folder, most >> 20);
    tern__free(entries);
}

#endif

/* driver_files.c - the folder that PoCL writes to while it builds and launches kernels, whatever Tern keeps. Where it finds no room
 * there, or a file of it is damaged (as a power cut leaves them), it ends the process: so Tern looks before it does. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_driver_files_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"

char *tern__ocl_driver_files(const tern__device_options *options)
{
    const char *path = options->setting ? options->setting("POCL_CACHE_DIR") : NULL;
    const char *folder = path ? path : options->user_cache ? options->user_cache : "/tmp";
    const char *below = path || !options->user_cache ? "" : "/pocl/kcache";
    const size_t bytes = strlen(folder) + strlen(below) + 1;
    char *out = tern__alloc(bytes);
    if (out)
        snprintf(out, bytes, "%s%s", folder, below);
    return out;
}

/* ---- room ---- */

/* Bytes and files that are left where `path` is, or would be. */
static void room_at(const char *path, uint64_t *bytes, uint64_t *files)
{
    struct statvfs at;
    char part[4096];
    *bytes = *files = UINT64_MAX;
    snprintf(part, sizeof part, "%s", path);
    while (statvfs(part, &at) != 0) { /* a folder that is not there yet */
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            return;
        *slash = '\0';
    }
    *bytes = (uint64_t)at.f_bavail * at.f_frsize;
    if (at.f_files > 0) /* some file systems count none */
        *files = (uint64_t)at.f_favail;
}

static bool is_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

tern_status tern__ocl_check_room(const tern__device *d)
{
    enum { LEAST_FILES = 16 }; /* a kernel has four, in as many folders */
    uint64_t bytes, files;
    if (!d->driver_files)
        return TERN_OK;
    TERN__FAIL_IF(
        access(d->driver_files, F_OK) == 0 &&
            (!is_folder(d->driver_files) || access(d->driver_files, W_OK | X_OK) != 0),
        TERN_UNAVAILABLE,
        "opencl: %.200s, where PoCL writes while it builds kernels, is no folder that can be written "
        "(POCL_CACHE_DIR names another place)",
        d->driver_files);
    room_at(d->driver_files, &bytes, &files);
    TERN__FAIL_IF(bytes < d->least_room, TERN_LIMIT,
                  "opencl: %" PRIu64 " KiB are left at %.200s, where PoCL writes while it builds kernels: it "
                  "needs %" PRIu64 " (POCL_CACHE_DIR names another place)",
                  bytes >> 10, d->driver_files, d->least_room >> 10);
    TERN__FAIL_IF(files < LEAST_FILES, TERN_LIMIT,
                  "opencl: only %" PRIu64
                  " more files can be made at %.200s, where PoCL writes while it builds "
                  "kernels (POCL_CACHE_DIR names another place)",
                  files, d->driver_files);
    return TERN_OK;
}

/* ---- damage ---- */

enum { MOST_DEPTH = 6 };

/* Calls `each` for everything in a folder but "." and "..", until it says false. Is false then, too. */
static bool for_each(const char *folder,
                     bool (*each)(const char *path, const char *name, int depth, const void *user), int depth,
                     const void *user)
{
    DIR *dir = opendir(folder);
    bool go_on = true;
    for (struct dirent *e; dir && go_on && (e = readdir(dir));) {
        char path[4096];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
            go_on = each(path, e->d_name, depth, user);
    }
    if (dir)
        closedir(dir);
    return go_on;
}

/* Does the file begin as files of its kind do? LLVM's code and shared objects are looked at, others are not. */
static bool begins_well(const char *path, const char *name)
{
    static const struct {
        const char *ending, *begin;
    } kinds[] = {{".bc", "BC\xc0\xde"},
                 {".so", "\x7f"
                         "ELF"}};
    const size_t length = strlen(name);
    for (size_t i = 0; i < TERN__COUNT(kinds); i++) {
        char begin[4] = "";
        if (length < 3 || strcmp(name + length - 3, kinds[i].ending) != 0)
            continue;
        FILE *file = fopen(path, "rb");
        const size_t n = file ? fread(begin, 1, sizeof begin, file) : 0;
        if (file)
            fclose(file);
        return !file || (n == sizeof begin && memcmp(begin, kinds[i].begin, sizeof begin) == 0);
    }
    return true;
}

static bool is_sound(const char *path, const char *name, int depth, const void *user)
{
    if (!is_folder(path))
        return begins_well(path, name);
    return depth >= MOST_DEPTH || for_each(path, is_sound, depth + 1, user);
}

static bool remove_all(const char *path, const char *name, int depth, const void *user)
{
    (void)name;
    if (is_folder(path)) {
        if (depth < MOST_DEPTH)
            for_each(path, remove_all, depth + 1, user);
        rmdir(path);
    } else
        unlink(path);
    return true;
}

/* An entry: two letters of a hash are the folder above it. PoCL builds again what is not there. */
static bool look_at_entry(const char *path, const char *name, int depth, const void *look)
{
    if (is_folder(path) && (!is_sound(path, name, depth, NULL) || !tern__ocl_sums_hold(path, look))) {
        tern__log(TERN_LOG_INFO, "opencl: %s, which PoCL keeps, is damaged: it is removed and built again",
                  path);
        remove_all(path, name, depth, NULL);
    }
    return true;
}

static bool note_entry(const char *path, const char *name, int depth, const void *since)
{
    (void)name;
    (void)depth;
    if (is_folder(path))
        tern__ocl_note_sums(path, *(const time_t *)since);
    return true;
}

static bool look_at_group(const char *path, const char *name, int depth, const void *look)
{
    if (strlen(name) == 2 && is_folder(path))
        for_each(path, look_at_entry, depth + 1, look);
    return true;
}

static bool note_group(const char *path, const char *name, int depth, const void *since)
{
    if (strlen(name) == 2 && is_folder(path))
        for_each(path, note_entry, depth + 1, since);
    return true;
}

/* When this process last looked at which folder: what has not changed since need not be read again. */
static pthread_mutex_t looked_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t looked_folder;
static time_t looked_at;

void tern__ocl_sweep_driver_files(const char *folder)
{
    const uint64_t hash = tern__hash(folder, strlen(folder), 0);
    const time_t now = time(NULL);
    pthread_mutex_lock(&looked_lock);
    const tern__ocl_look look = {.since = looked_folder == hash ? looked_at : 0,
                                 .start = tern__ocl_system_start()};
    for_each(folder, look_at_group, 0, &look);
    looked_folder = hash;
    looked_at = now;
    pthread_mutex_unlock(&looked_lock);
}

void tern__ocl_note_driver_files(const char *folder, time_t since)
{
    pthread_mutex_lock(&looked_lock);
    for_each(folder, note_group, 0, &since);
    pthread_mutex_unlock(&looked_lock);
}

#endif

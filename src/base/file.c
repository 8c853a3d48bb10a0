/* file.c - reading parts of files or of memory that holds one, and writing files that appear whole or not at all. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

static tern__file_gate gate;
static void *gate_user;

void tern__file_set_gate(tern__file_gate fn, void *user)
{
    gate = fn;
    gate_user = user;
}

static bool allowed(const char *operation)
{
    if (TERN__LIKELY(!gate) || gate(gate_user, operation))
        return true;
    errno = EIO;
    return false;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

tern_status tern__file_open(const char *path, tern__file *out)
{
    TERN__FAIL_IF(!path, TERN_INVALID_ARGUMENT, "a file name is NULL");
    /* O_NONBLOCK: opening a pipe by mistake must not wait for its writer */
    int fd = allowed("open") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    TERN__FAIL_IF(fd < 0, errno == ENOENT ? TERN_NOT_FOUND : TERN_IO, "%s: %s", path, strerror(errno));
    struct stat info;
    const char *problem = NULL;
    if (fstat(fd, &info) != 0)
        problem = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        problem = "not a regular file";
    if (problem) {
        close(fd);
        return tern__fail(TERN_IO, "%s: %s", path, problem);
    }
    *out = (tern__file){.fd = fd, .bytes = (uint64_t)info.st_size, .path = path};
    return TERN_OK;
}

tern__file tern__file_of_memory(const void *data, size_t bytes, const char *name)
{
    return (tern__file){.fd = -1, .bytes = bytes, .path = name, .memory = data};
}

bool tern__file_shrank(const tern__file *file)
{
    struct stat info;
    return !file->memory && (fstat(file->fd, &info) != 0 || (uint64_t)info.st_size < file->bytes);
}

tern_status tern__file_read(const tern__file *file, uint64_t offset, void *target, size_t bytes)
{
    char *at = target;
    TERN__FAIL_IF(!tern__range_fits(offset, bytes, file->bytes), TERN_IO,
                  "%s: the file has %llu bytes, but %zu bytes from %llu on are needed: it is cut short",
                  file->path, (unsigned long long)file->bytes, bytes, (unsigned long long)offset);
    tern__watch_copied(bytes, "from file");
    if (file->memory) {
        if (bytes > 0) /* of an empty file there is nothing to point at */
            memcpy(at, file->memory + offset, bytes);
        return TERN_OK;
    }
    while (bytes > 0) {
        size_t wanted = bytes < SSIZE_MAX / 2 ? bytes : SSIZE_MAX / 2;
        ssize_t got = allowed("read") ? pread(file->fd, at, wanted, (off_t)offset) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        TERN__FAIL_IF(got < 0, TERN_IO, "%s: reading failed: %s", file->path, strerror(errno));
        TERN__FAIL_IF(got == 0, TERN_IO, "%s: the file was cut short while it was read", file->path);
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return TERN_OK;
}

void tern__file_close(tern__file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

bool tern__file_read_text(const char *path, char *text, size_t room)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t length = 0;
    ssize_t got;
    while (length + 1 < room && (got = read(file, text + length, room - 1 - length)) > 0)
        length += (size_t)got;
    close(file);
    text[length] = '\0';
    return length > 0;
}

bool tern__file_first_line(const char *path, char *text, size_t room)
{
    if (!tern__file_read_text(path, text, room))
        return false;
    text[strcspn(text, "\n")] = '\0';
    return text[0] != '\0';
}

const char *tern__path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *tern__path_beside(const char *path, const char *name)
{
    const size_t folder = (size_t)(tern__path_name(path) - path), length = strlen(name) + 1;
    char *beside = tern__alloc(folder + length);
    if (beside) {
        memcpy(beside, path, folder);
        memcpy(beside + folder, name, length);
    }
    return beside;
}

tern_status tern__file_read_all(const char *path, size_t most, char **out, size_t *length)
{
    tern__file file = {.fd = -1};
    TERN_TRY(tern__file_open(path, &file));
    tern_status status = TERN_OK;
    char *bytes = NULL;
    if (file.bytes > most)
        status = tern__fail(TERN_LIMIT, "%s: larger than %zu bytes, which no such file is", path, most);
    else if (!(bytes = tern__alloc((size_t)file.bytes + 1)))
        status = tern__out_of_memory((size_t)file.bytes + 1);
    else
        status = tern__file_read(&file, 0, bytes, (size_t)file.bytes);
    if (status == TERN_OK) {
        bytes[file.bytes] = '\0';
        *length = (size_t)file.bytes;
        *out = bytes;
    } else {
        tern__free(bytes);
    }
    tern__file_close(&file);
    return status;
}

void tern__file_make_folders(const char *path)
{
    const size_t bytes = strlen(path) + 1;
    char *part = tern__alloc(bytes);
    if (!part)
        return;
    memcpy(part, path, bytes);
    for (char *at = strchr(part + (bytes > 1), '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(part, 0700);
        *at = '/';
    }
    tern__free(part);
}

bool tern__file_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static tern_status fail_writing(const tern__writer *writer)
{
    return tern__fail(TERN_IO, "%s: writing failed: %s", writer->path, strerror(errno));
}

/* The temporary file, in the directory of `path` because a rename cannot cross file systems. Its name does
 * not contain the target's, which may be as long as names can be. */
static int create_temporary(const char *path, char **name)
{
    static _Atomic(unsigned) counter;
    size_t directory = (size_t)(tern__path_name(path) - path), room = directory + 64;
    *name = tern__alloc(room);
    if (!*name)
        return -1;
    memcpy(*name, path, directory);
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned number = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        snprintf(*name + directory, room - directory, ".tern-%ld-%u.tmp", (long)getpid(), number);
        int fd = allowed("open") ? open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Follows the links that `path` is, to a file that need not exist: the link stays and its target is replaced. */
static tern_status follow_links(const char *path, char target[PATH_MAX])
{
    enum { MOST = 40 };
    TERN__FAIL_IF(strlen(path) >= PATH_MAX, TERN_IO, "%.60s...: the name is too long", path);
    memcpy(target, path, strlen(path) + 1);
    for (int hop = 0; hop < MOST; hop++) {
        char link[PATH_MAX];
        ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0)
            return TERN_OK;
        size_t directory = link[0] != '/' ? (size_t)(tern__path_name(target) - target) : 0;
        TERN__FAIL_IF(directory + (size_t)length >= PATH_MAX, TERN_IO,
                      "%s: a link to a name that is too long", path);
        memcpy(target + directory, link, (size_t)length);
        target[directory + (size_t)length] = '\0';
    }
    return tern__fail(TERN_IO, "%s: more than %d links lead on to each other", path, MOST);
}

tern_status tern__writer_open(const char *path, tern__writer *out)
{
    char target[PATH_MAX];
    struct stat old;
    *out = (tern__writer){.fd = -1};
    TERN__FAIL_IF(!path || !*path, TERN_INVALID_ARGUMENT, "the name of the file to write is empty");
    bool exists = stat(path, &old) == 0;
    TERN__FAIL_IF(exists && !S_ISREG(old.st_mode), TERN_IO, "%s: not a regular file, so it is not replaced",
                  path);
    TERN_TRY(follow_links(path, target));
    out->path = tern__strdup(target);
    if (!out->path)
        return tern__out_of_memory(strlen(target) + 1);
    out->fd = create_temporary(target, &out->temporary);
    if (out->fd < 0) {
        tern_status status = out->temporary
                                 ? tern__fail(TERN_IO, "%s: cannot be written: %s", path, strerror(errno))
                                 : tern__out_of_memory(strlen(target) + 64);
        tern__free(out->temporary);
        tern__free(out->path);
        *out = (tern__writer){.fd = -1};
        return status;
    }
    if (exists) /* keeps the old file's permissions where that is possible */
        (void)!fchmod(out->fd, old.st_mode & 07777);
    return TERN_OK;
}

static tern_status write_at(tern__writer *writer, uint64_t offset, const char *data, size_t bytes)
{
    while (bytes > 0) {
        size_t wanted = bytes < SSIZE_MAX / 2 ? bytes : SSIZE_MAX / 2;
        ssize_t done = allowed("write") ? pwrite(writer->fd, data, wanted, (off_t)offset) : -1;
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail_writing(writer);
        data += done;
        offset += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return TERN_OK;
}

tern_status tern__writer_write(tern__writer *writer, const void *data, size_t bytes)
{
    TERN_TRY(write_at(writer, writer->bytes, data, bytes));
    tern__watch_copied(bytes, "to file");
    writer->bytes += bytes;
    return TERN_OK;
}

tern_status tern__writer_patch(tern__writer *writer, uint64_t offset, const void *data, size_t bytes)
{
    return write_at(writer, offset, data, bytes);
}

static void writer_free(tern__writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    tern__free(writer->temporary);
    tern__free(writer->path);
    *writer = (tern__writer){.fd = -1};
}

/* Makes the rename itself durable. Best effort: the data are safe, and not every file system can do it. */
static void sync_directory(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + (slash == path) : 1;
    if (length >= sizeof directory)
        return;
    memcpy(directory, slash ? path : ".", length);
    directory[length] = '\0';
    int fd = open(directory, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

tern_status tern__writer_commit(tern__writer *writer)
{
    bool done = allowed("sync") && fsync(writer->fd) == 0 && allowed("rename") &&
                rename(writer->temporary, writer->path) == 0;
    if (!done) {
        tern_status status = fail_writing(writer);
        tern__writer_abort(writer);
        return status;
    }
    sync_directory(writer->path);
    writer_free(writer);
    return TERN_OK;
}

void tern__writer_abort(tern__writer *writer)
{
    if (writer->fd < 0)
        return;
    unlink(writer->temporary);
    writer_free(writer);
}

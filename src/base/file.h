/* file.h - reading parts of files, or of memory that holds one, and writing files that appear whole or not at all. */
#ifndef TERN_BASE_FILE_H
#define TERN_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/status.h>

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef struct tern__file {
    int fd;             /* -1: it is in memory */
    uint64_t bytes;     /* at the time of opening */
    const char *path;   /* the caller's; for messages */
    const char *memory; /* (bytes) the caller's; NULL: it is on disk */
} tern__file;

/* Opens a regular file. TERN_NOT_FOUND if there is none, TERN_IO otherwise; messages start with the path. */
tern_status tern__file_open(const char *path, tern__file *out);

/* A file whose bytes are in memory, which stays as it is while it is read; `name` is for messages. */
tern__file tern__file_of_memory(const void *data, size_t bytes, const char *name);

/* Exactly `bytes` from `offset` on; TERN_IO if the file ends before. */
tern_status tern__file_read(const tern__file *file, uint64_t offset, void *target, size_t bytes);

/* Has it fewer bytes now than when it was opened? */
bool tern__file_shrank(const tern__file *file);

void tern__file_close(tern__file *file);

/* A whole file of at most `most` bytes, and a 0 behind it, for the caller to free; TERN_LIMIT if it is larger. */
tern_status tern__file_read_all(const char *path, size_t most, char **out, size_t *length);

/* The beginning of a small file as text, without memory of its own: what the system tells in /proc and /sys. false: it cannot be read, or
 * is empty. The gate below is not asked. */
bool tern__file_read_text(const char *path, char *text, size_t room);
/* Its first line, without the end; false likewise, and if that line is empty. */
bool tern__file_first_line(const char *path, char *text, size_t room);

/* What stands behind the last slash of a path. */
const char *tern__path_name(const char *path);
/* The path of `name` in the folder of the file `path`, for the caller to free; NULL if there is no memory. */
char *tern__path_beside(const char *path, const char *name);

/* Makes the folders above the file `path`, for its owner alone; what cannot be made shows when the file is opened. */
void tern__file_make_folders(const char *path);

/* Do both names lead to one file that exists? */
bool tern__file_same(const char *a, const char *b);

/* ---- writing ------------------------------------------------------------------------------------------- */

/* A file under construction: everything goes to a temporary file in the same directory, which takes the place
 * of the old file when it is complete and on disk. After any failure call tern__writer_abort: the old file is
 * untouched and the temporary one gone. */
typedef struct tern__writer {
    int fd;
    char *path, *temporary;
    uint64_t bytes; /* written so far */
} tern__writer;

/* Through a symbolic link the file it points to is replaced. Refuses targets that exist but are no regular
 * file. */
tern_status tern__writer_open(const char *path, tern__writer *out);
tern_status tern__writer_write(tern__writer *writer, const void *data, size_t bytes);

/* Overwrites bytes that were written before. */
tern_status tern__writer_patch(tern__writer *writer, uint64_t offset, const void *data, size_t bytes);

/* Makes the file appear. Ends the writer, whether it succeeds or not. */
tern_status tern__writer_commit(tern__writer *writer);

/* Ends a writer without a trace. Does nothing to one that has ended, or that failed to open. */
void tern__writer_abort(tern__writer *writer);

/* ---- failing on purpose -------------------------------------------------------------------------------- */

/* Asked before every "open", "read", "write", "sync" and "rename"; false makes that one fail. For tests; not
 * to be set while other threads use files. NULL: none. */
typedef bool (*tern__file_gate)(void *user, const char *operation);
void tern__file_set_gate(tern__file_gate gate, void *user);

#endif

/* reader.h - the one way in which parsers of model files look at bytes: everything is checked against the file's length
 * before it is read or allocated.
 *
 * A reader keeps the start of a file in memory, as far as it was asked for, because names and metadata live on there. What
 * it hands out are offsets: the memory moves while it grows. */
#ifndef TERN_BASE_READER_H
#define TERN_BASE_READER_H

#include <stddef.h>
#include <stdint.h>

#include <tern/status.h>

#include "base/file.h"

typedef struct tern__reader {
    const tern__file *file;
    uint8_t *bytes; /* [0, have) of the file */
    size_t have, capacity;
    uint64_t at; /* of what is read next; <= file->bytes */
} tern__reader;

/* Frees the memory. Does nothing to one that is all zero. */
void tern__reader_free(tern__reader *r);

/* Makes [at, at + bytes) present and steps over it. `what` names it in the message if the file ends before: TERN_FORMAT. */
tern_status tern__reader_take(tern__reader *r, uint64_t bytes, const char *what);

/* The same for `count` things of `bytes_each`, whose product may be too large for any number. */
tern_status tern__reader_take_many(tern__reader *r, uint64_t count, uint64_t bytes_each, const char *what);

tern_status tern__reader_u8(tern__reader *r, const char *what, uint8_t *out);
tern_status tern__reader_u32(tern__reader *r, const char *what, uint32_t *out);
tern_status tern__reader_u64(tern__reader *r, const char *what, uint64_t *out);

/* A u64 length and as many bytes; `*start` is where they are. */
tern_status tern__reader_text(tern__reader *r, const char *what, uint64_t *start, uint64_t *length);

/* Nothing more will be read: keeps [0, at) and one writable byte behind it. */
tern_status tern__reader_finish(tern__reader *r);

/* Little-endian numbers in memory. */
uint64_t tern__load_le(const uint8_t *bytes, int width);

#endif

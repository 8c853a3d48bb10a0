/* zip.h - the directory of a zip archive in memory, as much of it as .npz needs: stored and deflated members,
 * with zip64 records; one disk, no encryption. Member names are labels; nothing is ever extracted to a
 * path. */
#ifndef TERN_TENSOR_ZIP_H
#define TERN_TENSOR_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include <tern/status.h>

/* Numbers of the format that reader and writer share. */
enum {
    TERN__ZIP_LOCAL = 0x04034b50,
    TERN__ZIP_CENTRAL = 0x02014b50,
    TERN__ZIP_END = 0x06054b50,
    TERN__ZIP_END64 = 0x06064b50,
    TERN__ZIP_LOCATOR64 = 0x07064b50,
    TERN__ZIP_LOCAL_BYTES = 30,
    TERN__ZIP_CENTRAL_BYTES = 46,
    TERN__ZIP_END_BYTES = 22,
    TERN__ZIP_END64_BYTES = 56,
    TERN__ZIP_LOCATOR64_BYTES = 20,
    TERN__ZIP_STORED = 0,
    TERN__ZIP_DEFLATED = 8,
    TERN__ZIP_EXTRA64 = 0x0001, /* id of the extra field with 64-bit sizes */
};

typedef struct tern__zip_entry {
    const char *name; /* inside the archive, not terminated */
    size_t name_bytes;
    uint64_t offset;       /* of the local header */
    uint64_t limit;        /* where the next member or the directory starts: this one ends before */
    uint64_t packed_bytes; /* in the archive */
    uint64_t bytes;        /* unpacked */
    uint32_t crc;
    uint16_t method; /* TERN__ZIP_STORED or TERN__ZIP_DEFLATED */
} tern__zip_entry;

/* Reads the directory of the archive `data`. The entries, in its order, are one block for tern__free; names
 * point into `data`. Every number has been checked against the archive's size, and members do not overlap.
 * `who` starts every message. */
tern_status tern__zip_parse(const char *who, const uint8_t *data, size_t bytes, tern__zip_entry **entries,
                            size_t *count);

/* Finds a member's data, [*start, *start + packed_bytes), by way of its local header. */
tern_status tern__zip_locate(const char *who, const uint8_t *data, const tern__zip_entry *entry,
                             size_t *start);

#endif

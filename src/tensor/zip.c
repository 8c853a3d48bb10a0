/* zip.c - the directory of a zip archive. */
#include "tensor/zip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* ---- the end record ------------------------------------------------------------------------------------ */

typedef struct directory {
    uint64_t offset, bytes, count;
    uint64_t end; /* where the end records start: the directory lies before */
} directory;

/* The end record is the last thing in the file but for a comment whose length it states. */
static const uint8_t *find_end(const uint8_t *data, size_t bytes)
{
    for (size_t comment = 0; comment <= 0xffff && bytes >= TERN__ZIP_END_BYTES + comment; comment++) {
        const uint8_t *at = data + bytes - TERN__ZIP_END_BYTES - comment;
        if (get32(at) == TERN__ZIP_END && get16(at + 20) == comment)
            return at;
    }
    return NULL;
}

/* The 64-bit record, which a locator just before the end record points to. */
static tern_status read_end64(const char *who, const uint8_t *data, const uint8_t *locator, directory *out)
{
    uint64_t at = get64(locator + 8), room = (uint64_t)(locator - data);
    TERN__FAIL_IF(get32(locator + 4) != 0 || get32(locator + 16) > 1, TERN_UNSUPPORTED,
                  "%s: the archive is split over several files", who);
    TERN__FAIL_IF(!tern__range_fits(at, TERN__ZIP_END64_BYTES, room) || get32(data + at) != TERN__ZIP_END64,
                  TERN_FORMAT, "%s: the zip64 end record is not where it should be", who);
    const uint8_t *record = data + at;
    TERN__FAIL_IF(get32(record + 16) != 0 || get32(record + 20) != 0 ||
                      get64(record + 24) != get64(record + 32),
                  TERN_UNSUPPORTED, "%s: the archive is split over several files", who);
    *out = (directory){
        .count = get64(record + 32), .bytes = get64(record + 40), .offset = get64(record + 48), .end = at};
    return TERN_OK;
}

static tern_status read_end(const char *who, const uint8_t *data, size_t bytes, directory *out)
{
    const uint8_t *end = find_end(data, bytes);
    TERN__FAIL_IF(!end, TERN_FORMAT, "%s: not a zip archive (.npz), or cut short: it has no end record", who);
    const uint8_t *locator = end - TERN__ZIP_LOCATOR64_BYTES;
    if (end - data >= TERN__ZIP_LOCATOR64_BYTES && get32(locator) == TERN__ZIP_LOCATOR64) {
        TERN_TRY(read_end64(who, data, locator, out));
    } else {
        TERN__FAIL_IF(get16(end + 4) != 0 || get16(end + 6) != 0 || get16(end + 8) != get16(end + 10),
                      TERN_UNSUPPORTED, "%s: the archive is split over several files", who);
        *out = (directory){.count = get16(end + 10),
                           .bytes = get32(end + 12),
                           .offset = get32(end + 16),
                           .end = (uint64_t)(end - data)};
    }
    TERN__FAIL_IF(!tern__range_fits(out->offset, out->bytes, out->end), TERN_FORMAT,
                  "%s: the zip directory lies outside the file", who);
    TERN__FAIL_IF(out->count > out->bytes / TERN__ZIP_CENTRAL_BYTES, TERN_FORMAT,
                  "%s: the zip directory claims %llu members, more than its %llu bytes can describe", who,
                  (unsigned long long)out->count, (unsigned long long)out->bytes);
    return TERN_OK;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* Numbers that are all ones stand, in a fixed order, in the extra field with id 1. */
static bool read_extra64(const uint8_t *extra, size_t bytes, tern__zip_entry *entry)
{
    uint64_t *wanted[3];
    size_t count = 0;
    if (entry->bytes == UINT32_MAX)
        wanted[count++] = &entry->bytes;
    if (entry->packed_bytes == UINT32_MAX)
        wanted[count++] = &entry->packed_bytes;
    if (entry->offset == UINT32_MAX)
        wanted[count++] = &entry->offset;
    while (bytes >= 4) {
        size_t length = get16(extra + 2);
        if (length > bytes - 4)
            return false;
        if (get16(extra) == TERN__ZIP_EXTRA64) {
            if (length < 8 * count)
                return false;
            for (size_t i = 0; i < count; i++)
                *wanted[i] = get64(extra + 4 + 8 * i);
            return true;
        }
        extra += 4 + length;
        bytes -= 4 + length;
    }
    return true; /* a member may really have a size of all ones */
}

/* One record of the directory at `at`, of which `room` bytes are left; its length in `*length`. */
static tern_status read_central(const char *who, const uint8_t *at, uint64_t room, tern__zip_entry *out,
                                size_t *length)
{
    TERN__FAIL_IF(room < TERN__ZIP_CENTRAL_BYTES || get32(at) != TERN__ZIP_CENTRAL, TERN_FORMAT,
                  "%s: the zip directory is damaged", who);
    size_t name = get16(at + 28), extra = get16(at + 30), comment = get16(at + 32);
    *length = TERN__ZIP_CENTRAL_BYTES + name + extra + comment;
    TERN__FAIL_IF(*length > room, TERN_FORMAT, "%s: the zip directory is damaged", who);
    tern__zip_entry entry = {
        .name = (const char *)at + TERN__ZIP_CENTRAL_BYTES,
        .name_bytes = name,
        .method = get16(at + 10),
        .crc = get32(at + 16),
        .packed_bytes = get32(at + 20),
        .bytes = get32(at + 24),
        .offset = get32(at + 42),
    };
    TERN__FAIL_IF(!read_extra64(at + TERN__ZIP_CENTRAL_BYTES + name, extra, &entry), TERN_FORMAT,
                  "%s: the zip directory has a damaged extra field", who);
    TERN__FAIL_IF(get16(at + 8) & 1, TERN_UNSUPPORTED, "%s: the archive is encrypted", who);
    TERN__FAIL_IF(entry.method != TERN__ZIP_STORED && entry.method != TERN__ZIP_DEFLATED, TERN_UNSUPPORTED,
                  "%s: a member is compressed by zip method %u; stored and deflated ones are read", who,
                  entry.method);
    TERN__FAIL_IF(entry.method == TERN__ZIP_STORED && entry.packed_bytes != entry.bytes, TERN_FORMAT,
                  "%s: a stored member has two different sizes", who);
    *out = entry;
    return TERN_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tern__zip_entry *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* Gives each entry its limit. Members that overlap are how a small archive unpacks to a huge one. */
static tern_status set_limits(const char *who, tern__zip_entry *entries, size_t count, uint64_t end)
{
    tern__zip_entry **sorted = tern__alloc(count * sizeof *sorted);
    if (!sorted)
        return tern__out_of_memory(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &entries[i];
    qsort(sorted, count, sizeof *sorted, by_offset);
    bool fit = true;
    for (size_t i = 0; i < count && fit; i++) {
        tern__zip_entry *e = sorted[i];
        e->limit = i + 1 < count ? sorted[i + 1]->offset : end;
        size_t header = TERN__ZIP_LOCAL_BYTES + e->name_bytes;
        fit = tern__range_fits(e->offset, header, e->limit) &&
              tern__range_fits(e->offset + header, e->packed_bytes, e->limit);
    }
    tern__free(sorted);
    TERN__FAIL_IF(!fit, TERN_FORMAT, "%s: members of the archive overlap, or lie outside the file", who);
    return TERN_OK;
}

static tern_status read_entries(const char *who, const uint8_t *data, const directory *dir,
                                tern__zip_entry *entries)
{
    const uint8_t *at = data + dir->offset;
    uint64_t room = dir->bytes;
    for (size_t i = 0; i < dir->count; i++) {
        size_t length = 0;
        TERN_TRY(read_central(who, at, room, &entries[i], &length));
        at += length;
        room -= length;
    }
    TERN__FAIL_IF(room != 0, TERN_FORMAT, "%s: the zip directory is longer than its members need", who);
    return set_limits(who, entries, dir->count, dir->offset);
}

tern_status tern__zip_parse(const char *who, const uint8_t *data, size_t bytes, tern__zip_entry **entries,
                            size_t *count)
{
    directory dir = {0};
    TERN_TRY(read_end(who, data, bytes, &dir));
    tern__zip_entry *made = tern__alloc_zero((size_t)dir.count, sizeof *made);
    if (!made)
        return tern__out_of_memory((size_t)dir.count * sizeof *made);
    tern_status status = read_entries(who, data, &dir, made);
    if (status != TERN_OK) {
        tern__free(made);
        return status;
    }
    *entries = made;
    *count = (size_t)dir.count;
    return TERN_OK;
}

tern_status tern__zip_locate(const char *who, const uint8_t *data, const tern__zip_entry *entry,
                             size_t *start)
{
    const uint8_t *local = data + entry->offset; /* header and name are inside the limit */
    TERN__FAIL_IF(get32(local) != TERN__ZIP_LOCAL || get16(local + 26) != entry->name_bytes ||
                      memcmp(local + TERN__ZIP_LOCAL_BYTES, entry->name, entry->name_bytes) != 0 ||
                      get16(local + 8) != entry->method,
                  TERN_FORMAT, "%s: a member's own header contradicts the zip directory", who);
    uint64_t at = entry->offset + TERN__ZIP_LOCAL_BYTES + entry->name_bytes + get16(local + 28);
    TERN__FAIL_IF(!tern__range_fits(at, entry->packed_bytes, entry->limit), TERN_FORMAT,
                  "%s: members of the archive overlap, or lie outside the file", who);
    *start = (size_t)at;
    return TERN_OK;
}

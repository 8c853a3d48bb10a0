/* npz_write.c - writing .npz archives of stored members, whose arrays lie on 64-byte boundaries of the
 * file. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "tensor/crc.h"
#include "base/file.h"
#include "tensor/npz.h"
#include "tensor/zip.h"

enum {
    NAME_MOST = 4096, /* bytes of a key; keeps records small enough for one buffer */
    RECORD_MOST = TERN__ZIP_CENTRAL_BYTES + NAME_MOST + 4 + 128,
    EXTRA_ALIGNMENT = 0xd935, /* id of the extra field that Android's zipalign pads with: alignment, zeros */
    DATE_1980 = 0x21,         /* 1 January 1980, midnight: archives do not depend on the clock */
    VERSION_64 = 45,
    VERSION_PLAIN = 20,
    MADE_ON_UNIX = 3 << 8,
    UTF8_NAME = 1 << 11,
};

/* Little-endian numbers, one after the other. */
typedef struct record {
    uint8_t bytes[RECORD_MOST];
    size_t length;
} record;

static void put(record *r, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        r->bytes[r->length++] = (uint8_t)(value >> (8 * i));
}

static void put_name(record *r, const char *name)
{
    size_t length = strlen(name);
    memcpy(r->bytes + r->length, name, length);
    memcpy(r->bytes + r->length + length, ".npy", 4);
    r->length += length + 4;
}

/* What the directory has to know of a member. */
typedef struct written {
    uint64_t offset, bytes;
    uint32_t crc;
} written;

typedef struct archive {
    tern__writer file;
    const tern__npz_item *items;
    written *members; /* (count) */
    size_t count;
    uint64_t zip64_from;
    uint32_t crc; /* of the member being written */
} archive;

/* Does the number need a 64-bit record, and what stands in its 32-bit place then? */
static bool is_wide(const archive *a, uint64_t value)
{
    return value >= a->zip64_from || value >= UINT32_MAX;
}

static uint64_t narrow(const archive *a, uint64_t value)
{
    return is_wide(a, value) ? UINT32_MAX : value;
}

static unsigned name_flags(const char *name)
{
    for (; *name; name++) {
        if ((unsigned char)*name >= 128)
            return UTF8_NAME;
    }
    return 0;
}

/* The fields that a local header and the directory share, from the version on. */
static void put_common(record *r, const archive *a, const char *name, const written *m, bool wide,
                       size_t extra)
{
    put(r, wide ? VERSION_64 : VERSION_PLAIN, 2);
    put(r, name_flags(name), 2);
    put(r, TERN__ZIP_STORED, 2);
    put(r, 0, 2);
    put(r, DATE_1980, 2);
    put(r, m->crc, 4);
    put(r, narrow(a, m->bytes), 4);
    put(r, narrow(a, m->bytes), 4);
    put(r, strlen(name) + 4, 2);
    put(r, extra, 2);
}

/* The local header, padded so that what follows it is aligned. */
static void put_local(record *r, const archive *a, const char *name, const written *m)
{
    bool wide = is_wide(a, m->bytes);
    size_t extra64 = wide ? 20 : 0, least = 6; /* id, length, alignment */
    uint64_t end = m->offset + TERN__ZIP_LOCAL_BYTES + strlen(name) + 4 + extra64 + least;
    size_t padding = (size_t)(-end % TERN__ALIGN);
    put(r, TERN__ZIP_LOCAL, 4);
    put_common(r, a, name, m, wide, extra64 + least + padding);
    put_name(r, name);
    if (wide) {
        put(r, TERN__ZIP_EXTRA64, 2);
        put(r, 16, 2);
        put(r, m->bytes, 8);
        put(r, m->bytes, 8);
    }
    put(r, EXTRA_ALIGNMENT, 2);
    put(r, 2 + padding, 2);
    put(r, TERN__ALIGN, 2);
    for (size_t i = 0; i < padding; i++)
        put(r, 0, 1);
}

static void put_central(record *r, const archive *a, const char *name, const written *m)
{
    bool wide_bytes = is_wide(a, m->bytes), wide_offset = is_wide(a, m->offset);
    size_t numbers = (wide_bytes ? 16u : 0) + (wide_offset ? 8u : 0);
    put(r, TERN__ZIP_CENTRAL, 4);
    put(r, MADE_ON_UNIX | VERSION_64, 2);
    put_common(r, a, name, m, numbers > 0, numbers ? 4 + numbers : 0);
    put(r, 0, 2);              /* no comment */
    put(r, 0, 2);              /* disk */
    put(r, 0, 2);              /* internal attributes */
    put(r, 0100644u << 16, 4); /* a regular file */
    put(r, narrow(a, m->offset), 4);
    put_name(r, name);
    if (numbers > 0) {
        put(r, TERN__ZIP_EXTRA64, 2);
        put(r, numbers, 2);
    }
    if (wide_bytes) {
        put(r, m->bytes, 8);
        put(r, m->bytes, 8);
    }
    if (wide_offset)
        put(r, m->offset, 8);
}

static tern_status write_piece(void *user, const void *data, size_t bytes)
{
    archive *a = user;
    a->crc = tern__crc32(a->crc, data, bytes);
    return tern__writer_write(&a->file, data, bytes);
}

static tern_status write_member(archive *a, size_t i)
{
    const tern__npz_item *item = &a->items[i];
    written *m = &a->members[i];
    char header[TERN__NPY_HEADER_WRITTEN];
    size_t header_bytes, total;
    record r = {.length = 0};
    TERN_TRY(tern__npy_format(item->type, false, header, &header_bytes));
    TERN__FAIL_IF(!tern__size_add(header_bytes, tern__type_bytes(item->type), &total), TERN_OVERFLOW,
                  "'%.80s' does not fit in a file", item->name);
    *m = (written){.offset = a->file.bytes, .bytes = total};
    put_local(&r, a, item->name, m);
    TERN_TRY(tern__writer_write(&a->file, r.bytes, r.length));
    a->crc = 0;
    TERN_TRY(write_piece(a, header, header_bytes));
    TERN_TRY(tern__npy_emit(item->type, item->layout, item->host, write_piece, a));
    m->crc = a->crc; /* known only now: the header gets it afterwards */
    record crc = {.length = 0};
    put(&crc, m->crc, 4);
    return tern__writer_patch(&a->file, m->offset + 14, crc.bytes, crc.length);
}

static tern_status write_end(archive *a, uint64_t directory)
{
    uint64_t bytes = a->file.bytes - directory, at = a->file.bytes;
    record r = {.length = 0};
    bool many = a->count >= a->zip64_from || a->count >= UINT16_MAX;
    if (many || is_wide(a, bytes) || is_wide(a, directory)) {
        put(&r, TERN__ZIP_END64, 4);
        put(&r, TERN__ZIP_END64_BYTES - 12, 8); /* what follows this number */
        put(&r, MADE_ON_UNIX | VERSION_64, 2);
        put(&r, VERSION_64, 2);
        put(&r, 0, 8); /* disks */
        put(&r, a->count, 8);
        put(&r, a->count, 8);
        put(&r, bytes, 8);
        put(&r, directory, 8);
        put(&r, TERN__ZIP_LOCATOR64, 4);
        put(&r, 0, 4);
        put(&r, at, 8);
        put(&r, 1, 4);
    }
    put(&r, TERN__ZIP_END, 4);
    put(&r, 0, 4); /* disks */
    put(&r, many ? UINT16_MAX : a->count, 2);
    put(&r, many ? UINT16_MAX : a->count, 2);
    put(&r, narrow(a, bytes), 4);
    put(&r, narrow(a, directory), 4);
    put(&r, 0, 2); /* no comment */
    return tern__writer_write(&a->file, r.bytes, r.length);
}

static tern_status write_all(archive *a)
{
    for (size_t i = 0; i < a->count; i++)
        TERN_TRY(write_member(a, i));
    uint64_t directory = a->file.bytes;
    for (size_t i = 0; i < a->count; i++) {
        record r = {.length = 0};
        put_central(&r, a, a->items[i].name, &a->members[i]);
        TERN_TRY(tern__writer_write(&a->file, r.bytes, r.length));
    }
    return write_end(a, directory);
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static tern_status check_twice(const char *path, size_t count, const tern__npz_item *items)
{
    const char **names = tern__alloc_zero(count, sizeof *names), *twice = NULL;
    if (!names)
        return tern__out_of_memory(count * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = items[i].name;
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count && !twice; i++)
        twice = strcmp(names[i - 1], names[i]) == 0 ? names[i] : NULL;
    tern__free(names);
    TERN__FAIL_IF(twice, TERN_INVALID_ARGUMENT, "%s: two arrays are named '%.80s'", path, twice);
    return TERN_OK;
}

/* Before the file is opened, so that a bad call touches nothing. */
static tern_status check_items(const char *path, size_t count, const tern__npz_item *items)
{
    for (size_t i = 0; i < count; i++) {
        char header[TERN__NPY_HEADER_WRITTEN];
        size_t bytes;
        const char *name = items[i].name;
        TERN__FAIL_IF(!name || !*name, TERN_INVALID_ARGUMENT, "%s: array %zu has no name", path, i);
        TERN__FAIL_IF(strlen(name) > NAME_MOST, TERN_INVALID_ARGUMENT,
                      "%s: the name of array %zu is longer than %d bytes", path, i, NAME_MOST);
        for (const char *c = name; *c; c++)
            TERN__FAIL_IF((unsigned char)*c < ' ' || *c == 127, TERN_INVALID_ARGUMENT,
                          "%s: the name of array %zu contains a control character", path, i);
        tern_status status = tern__npy_format(items[i].type, false, header, &bytes);
        if (status != TERN_OK)
            return tern__fail_in(status, name);
    }
    return check_twice(path, count, items);
}

tern_status tern__npz_write_from(const char *path, size_t count, const tern__npz_item *items,
                                 uint64_t zip64_from)
{
    TERN_TRY(check_items(path, count, items));
    archive a = {.items = items, .count = count, .zip64_from = zip64_from};
    a.members = tern__alloc_zero(count, sizeof *a.members);
    if (!a.members)
        return tern__out_of_memory(count * sizeof *a.members);
    tern_status status = tern__writer_open(path, &a.file);
    if (status == TERN_OK)
        status = write_all(&a);
    if (status == TERN_OK)
        status = tern__writer_commit(&a.file);
    else
        tern__writer_abort(&a.file);
    tern__free(a.members);
    return status;
}

tern_status tern__npz_write(const char *path, size_t count, const tern__npz_item *items)
{
    return tern__npz_write_from(path, count, items, UINT32_MAX);
}

/* reader.c - bounded reading of the start of a file. */
#include "base/reader.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers in model files are copied as they are");

enum { FIRST_BYTES = 1 << 16 };

void tern__reader_free(tern__reader *r)
{
    tern__free(r->bytes);
    *r = (tern__reader){0};
}

static tern_status fail_short(const tern__reader *r, const char *what)
{
    return tern__fail(TERN_FORMAT, "%s: the file ends at byte %llu, inside %s that starts at byte %llu",
                      r->file->path, (unsigned long long)r->file->bytes, what, (unsigned long long)r->at);
}

/* Grows what is present to at least `end` <= file->bytes: doubling, but never beyond the file, so that a file cannot
 * make us allocate more than itself. */
static tern_status make_present(tern__reader *r, uint64_t end)
{
    if (end <= r->have)
        return TERN_OK;
    uint64_t wanted = r->capacity ? (uint64_t)r->capacity * 2 : FIRST_BYTES;
    wanted = wanted < end ? end : wanted;
    wanted = wanted > r->file->bytes ? r->file->bytes : wanted;
    TERN__FAIL_IF(wanted > SIZE_MAX, TERN_OVERFLOW, "%s: its header does not fit into memory", r->file->path);
    if (wanted > r->capacity) {
        uint8_t *bytes = tern__realloc(r->bytes, (size_t)wanted);
        if (!bytes)
            return tern__out_of_memory((size_t)wanted);
        r->bytes = bytes;
        r->capacity = (size_t)wanted;
    }
    TERN_TRY(tern__file_read(r->file, r->have, r->bytes + r->have, r->capacity - r->have));
    r->have = r->capacity;
    return TERN_OK;
}

tern_status tern__reader_take(tern__reader *r, uint64_t bytes, const char *what)
{
    if (!tern__range_fits(r->at, bytes, r->file->bytes))
        return fail_short(r, what);
    TERN_TRY(make_present(r, r->at + bytes));
    r->at += bytes;
    return TERN_OK;
}

tern_status tern__reader_take_many(tern__reader *r, uint64_t count, uint64_t bytes_each, const char *what)
{
    size_t bytes;
    if (count > SIZE_MAX || !tern__size_mul((size_t)count, (size_t)bytes_each, &bytes))
        return fail_short(r, what);
    return tern__reader_take(r, bytes, what);
}

tern_status tern__reader_finish(tern__reader *r)
{
    uint8_t *bytes = tern__realloc(r->bytes, (size_t)r->at + 1);
    if (!bytes)
        return tern__out_of_memory((size_t)r->at + 1);
    r->bytes = bytes;
    r->have = r->capacity = (size_t)r->at;
    return TERN_OK;
}

uint64_t tern__load_le(const uint8_t *bytes, int width)
{
    uint64_t value = 0;
    memcpy(&value, bytes, (size_t)width);
    return value;
}

static tern_status read_number(tern__reader *r, int width, const char *what, uint64_t *out)
{
    TERN_TRY(tern__reader_take(r, (uint64_t)width, what));
    *out = tern__load_le(r->bytes + r->at - width, width);
    return TERN_OK;
}

tern_status tern__reader_u8(tern__reader *r, const char *what, uint8_t *out)
{
    uint64_t value;
    TERN_TRY(read_number(r, 1, what, &value));
    *out = (uint8_t)value;
    return TERN_OK;
}

tern_status tern__reader_u32(tern__reader *r, const char *what, uint32_t *out)
{
    uint64_t value;
    TERN_TRY(read_number(r, 4, what, &value));
    *out = (uint32_t)value;
    return TERN_OK;
}

tern_status tern__reader_u64(tern__reader *r, const char *what, uint64_t *out)
{
    return read_number(r, 8, what, out);
}

tern_status tern__reader_text(tern__reader *r, const char *what, uint64_t *start, uint64_t *length)
{
    uint64_t bytes;
    TERN_TRY(tern__reader_u64(r, what, &bytes));
    TERN_TRY(tern__reader_take(r, bytes, what));
    *start = r->at - bytes;
    *length = bytes;
    return TERN_OK;
}

/* gguf_read.c - parses GGUF, versions 2 and 3:
 *
 *     "GGUF", u32 version, u64 tensors, u64 entries of metadata
 *     entries  key, u32 type, value
 *     tensors  name, u32 rank, u64 sizes (innermost first), i32 type, u64 offset into the data
 *     data     starting at the next multiple of general.alignment
 *
 * Strings are a u64 length and bytes; arrays a u32 type, a u64 count and values. */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/model_file.h"
#include "model/file/stored.h"

enum {
    DEFAULT_ALIGNMENT = 32,
    MOST_ALIGNMENT = 1 << 16,
    TYPE_ARRAY = 9,
    MOST_RANK = 4,
};

/* ---- metadata -------------------------------------------------------------------------------------------------- */

static tern_status check_bools(const tern__reader *r, const tern__meta *meta, uint64_t at, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        TERN__FAIL_IF(r->bytes[at + i] > 1, TERN_FORMAT, "%s: '%s' is a bool of value %d", r->file->path,
                      meta->info.key, r->bytes[at + i]);
    return TERN_OK;
}

/* Steps over the strings and notes where every TERN__MARK_EVERYth starts. */
static tern_status read_strings(tern_model_file *file, tern__meta *meta)
{
    tern__reader *r = &file->header;
    uint64_t count = (uint64_t)meta->info.count, start, length;
    /* each takes 8 bytes at least, so a count that the file can hold needs few marks */
    TERN__FAIL_IF(count > (r->file->bytes - r->at) / 8, TERN_FORMAT,
                  "%s: '%s' has %llu strings, more than the file has room for", r->file->path, meta->info.key,
                  (unsigned long long)count);
    meta->marks =
        tern__arena_alloc_zero(&file->arena, (size_t)(count / TERN__MARK_EVERY) + 1, sizeof(uint64_t));
    if (!meta->marks)
        return tern__out_of_memory((size_t)(count / TERN__MARK_EVERY + 1) * sizeof(uint64_t));
    for (uint64_t i = 0; i < count; i++) {
        if (i % TERN__MARK_EVERY == 0)
            meta->marks[i / TERN__MARK_EVERY] = r->at;
        TERN_TRY(tern__reader_text(r, "a string of metadata", &start, &length));
    }
    return TERN_OK;
}

static tern_status read_array(tern_model_file *file, tern__meta *meta)
{
    tern__reader *r = &file->header;
    uint32_t type;
    uint64_t count;
    TERN_TRY(tern__reader_u32(r, "an entry of metadata", &type));
    TERN_TRY(tern__reader_u64(r, "an entry of metadata", &count));
    int width = tern__meta_bytes((tern_meta_type)type);
    TERN__FAIL_IF(width < 0, TERN_FORMAT, "%s: '%s' is an array of %s (type %u)", r->file->path,
                  meta->info.key, type == TYPE_ARRAY ? "arrays" : "an unknown type", type);
    TERN__FAIL_IF(count > INT64_MAX, TERN_FORMAT,
                  "%s: '%s' has %llu elements, more than the file has room for", r->file->path,
                  meta->info.key, (unsigned long long)count);
    meta->info.type = (tern_meta_type)type;
    meta->info.is_array = true;
    meta->info.count = (int64_t)count;
    meta->at = r->at;
    if (type == TERN_META_STRING)
        return read_strings(file, meta);
    TERN_TRY(tern__reader_take_many(r, count, (uint64_t)width, "an array of metadata"));
    return type == TERN_META_BOOL ? check_bools(r, meta, meta->at, count) : TERN_OK;
}

static tern_status read_single(tern_model_file *file, tern__meta *meta, uint32_t type)
{
    tern__reader *r = &file->header;
    int width = tern__meta_bytes((tern_meta_type)type);
    TERN__FAIL_IF(width < 0, TERN_FORMAT, "%s: '%s' has the unknown type %u", r->file->path, meta->info.key,
                  type);
    meta->info.type = (tern_meta_type)type;
    meta->info.count = 1;
    if (type == TERN_META_STRING) {
        uint64_t length;
        TERN_TRY(tern__reader_text(r, "a string of metadata", &meta->at, &length));
        meta->string.length = (size_t)length;
        return TERN_OK;
    }
    TERN_TRY(tern__reader_take(r, (uint64_t)width, "an entry of metadata"));
    meta->bits = tern__meta_load((tern_meta_type)type, r->bytes + r->at - width);
    return type == TERN_META_BOOL ? check_bools(r, meta, r->at - 1, 1) : TERN_OK;
}

static tern_status read_meta(tern_model_file *file)
{
    tern__reader *r = &file->header;
    tern__meta meta = {0};
    uint64_t start, length;
    uint32_t type;
    TERN_TRY(tern__reader_text(r, "the key of an entry of metadata", &start, &length));
    TERN_TRY(tern__model_file_name(file, "an entry of metadata", r->bytes + start, length, &meta.info.key));
    TERN_TRY(tern__reader_u32(r, "an entry of metadata", &type));
    TERN_TRY(type == TYPE_ARRAY ? read_array(file, &meta) : read_single(file, &meta, type));
    return tern__model_file_add_meta(file, &meta);
}

static tern_status read_alignment(const tern_model_file *file, uint64_t *out)
{
    *out = DEFAULT_ALIGNMENT;
    for (size_t i = 0; i < file->n_metas; i++) {
        const tern__meta *meta = &file->metas[i];
        if (strcmp(meta->info.key, "general.alignment") != 0)
            continue;
        TERN__FAIL_IF(meta->info.is_array || meta->info.type != TERN_META_U32, TERN_FORMAT,
                      "%s: general.alignment is not a u32", file->parts[0].path);
        TERN__FAIL_IF(meta->bits == 0 || meta->bits > MOST_ALIGNMENT || (meta->bits & (meta->bits - 1)),
                      TERN_FORMAT, "%s: general.alignment is %llu, not a power of two up to %d",
                      file->parts[0].path, (unsigned long long)meta->bits, MOST_ALIGNMENT);
        *out = meta->bits;
    }
    return TERN_OK;
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

/* Two families of programs gave the numbers from 36 on to types of their own. */
static tern_status fail_type(const tern_model_file *file, const char *name, int32_t number)
{
    const char *what = number >= 37 && number <= 42
                           ? "I8_S, TL1, TL2, MXFP4, NVFP4, Q1_0 or Q2_0, by the program that wrote it"
                       : number == 4 || number == 5 || (number >= 31 && number <= 33) ? "retired"
                                                                                      : "unknown";
    return tern__fail(TERN_UNSUPPORTED, "%s: tensor '%s' has type %d (%s), which cannot be read",
                      file->parts[0].path, name, number, what);
}

static tern_status read_tensor(tern_model_file *file, uint64_t alignment)
{
    tern__reader *r = &file->header;
    tern_file_tensor t = {0};
    uint64_t start, length, size, offset;
    uint32_t rank, type;
    TERN_TRY(tern__reader_text(r, "the name of a tensor", &start, &length));
    TERN_TRY(tern__model_file_name(file, "a tensor", r->bytes + start, length, &t.name));
    t.stored_name = t.name;
    TERN_TRY(tern__reader_u32(r, "a tensor's rank", &rank));
    TERN__FAIL_IF(rank > MOST_RANK, TERN_FORMAT, "%s: tensor '%s' has %u axes, more than %d", r->file->path,
                  t.name, rank, MOST_RANK);
    t.rank = (int)rank;
    for (int i = t.rank - 1; i >= 0; i--) {
        TERN_TRY(tern__reader_u64(r, "a tensor's size", &size));
        t.shape[i] = (int64_t)size;
    }
    TERN_TRY(tern__reader_u32(r, "a tensor's type", &type));
    TERN_TRY(tern__reader_u64(r, "a tensor's offset", &offset));
    if (!tern__stored_from_gguf((int32_t)type, &t.stored))
        return fail_type(file, t.name, (int32_t)type);
    int64_t elements;
    tern_status status = tern__stored_size(t.name, t.stored, t.rank, t.shape, &elements, &t.bytes);
    if (status != TERN_OK)
        return tern__fail_in(status, r->file->path);
    TERN__FAIL_IF(offset % alignment, TERN_FORMAT,
                  "%s: tensor '%s' is at offset %llu, not a multiple of %llu", r->file->path, t.name,
                  (unsigned long long)offset, (unsigned long long)alignment);
    t.offset = offset; /* into the data, whose start is not known yet */
    return tern__model_file_add_tensor(file, &t);
}

/* From offsets into the data to offsets into the file. */
static tern_status place_tensors(tern_model_file *file, uint64_t alignment)
{
    size_t data;
    TERN__FAIL_IF(!tern__size_round_up((size_t)file->header.at, (size_t)alignment, &data), TERN_FORMAT,
                  "%s: its header is too long", file->parts[0].path);
    for (size_t i = 0; i < file->n_tensors; i++) {
        tern_file_tensor *t = &file->tensors[i];
        TERN__FAIL_IF(__builtin_add_overflow(t->offset, (uint64_t)data, &t->offset), TERN_FORMAT,
                      "%s: tensor '%s' is at an offset beyond any file", file->parts[0].path, t->name);
    }
    return TERN_OK;
}

/* Texts get their pointers, and zeros behind them, once nothing moves any more: the zero takes the place of a length that
 * has been read, or of the byte that the reader has to spare. */
static tern_status finish_texts(tern_model_file *file)
{
    TERN_TRY(tern__reader_finish(&file->header));
    for (size_t i = 0; i < file->n_metas; i++) {
        tern__meta *meta = &file->metas[i];
        if (meta->info.type != TERN_META_STRING || meta->info.is_array)
            continue;
        file->header.bytes[meta->at + meta->string.length] = 0;
        meta->string.text = (const char *)file->header.bytes + meta->at;
    }
    return TERN_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static tern_status read_counts(tern_model_file *file, uint64_t *tensors, uint64_t *metas)
{
    tern__reader *r = &file->header;
    const char *path = r->file->path;
    uint32_t version;
    TERN_TRY(tern__reader_take(r, 4, "its header"));
    TERN_TRY(tern__reader_u32(r, "its header", &version));
    TERN__FAIL_IF((version & 0xffff) == 0 && version, TERN_UNSUPPORTED, "%s: GGUF with big-endian numbers",
                  path);
    TERN__FAIL_IF(version < 2 || version > 3, TERN_UNSUPPORTED,
                  "%s: GGUF of version %u; versions 2 and 3 can be read", path, version);
    file->version = (int)version;
    TERN_TRY(tern__reader_u64(r, "its header", tensors));
    TERN_TRY(tern__reader_u64(r, "its header", metas));
    TERN__FAIL_IF(*tensors > TERN__MOST_TENSORS || *metas > TERN__MOST_METAS, TERN_LIMIT,
                  "%s: it declares %llu tensors and %llu entries of metadata; at most %d and %d are read",
                  path, (unsigned long long)*tensors, (unsigned long long)*metas, TERN__MOST_TENSORS,
                  TERN__MOST_METAS);
    return TERN_OK;
}

tern_status tern__gguf_parse(tern_model_file *file)
{
    uint64_t tensors, metas, alignment;
    file->header.file = &file->parts[0];
    TERN_TRY(read_counts(file, &tensors, &metas));
    for (uint64_t i = 0; i < metas; i++)
        TERN_TRY(read_meta(file));
    TERN_TRY(read_alignment(file, &alignment));
    for (uint64_t i = 0; i < tensors; i++)
        TERN_TRY(read_tensor(file, alignment));
    TERN_TRY(place_tensors(file, alignment));
    return finish_texts(file);
}

/* npy.c - reading, mapping, writing and converting .npy files. The header is npy_header.c's. */
#include "tensor/npy.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "tensor/convert.h"
#include "base/file.h"

/* ---- elements ------------------------------------------------------------------------------------------ */

static void swap_bytes(size_t element, char *data, size_t bytes)
{
    for (size_t i = 0; i + element <= bytes; i += element) {
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        switch (element) {
        case 2:
            memcpy(&u16, data + i, 2);
            u16 = __builtin_bswap16(u16);
            memcpy(data + i, &u16, 2);
            break;
        case 4:
            memcpy(&u32, data + i, 4);
            u32 = __builtin_bswap32(u32);
            memcpy(data + i, &u32, 4);
            break;
        default:
            memcpy(&u64, data + i, 8);
            u64 = __builtin_bswap64(u64);
            memcpy(data + i, &u64, 8);
            break;
        }
    }
}

void tern__npy_normalise(const tern__npy_header *header, void *data, size_t bytes)
{
    if (header->swapped)
        swap_bytes(tern__dtype_unit_bytes(header->type.dtype), data, bytes);
    uint8_t *bools = header->type.dtype == TERN_BOOL ? data : NULL;
    for (size_t i = 0; bools && i < bytes; i++)
        bools[i] = bools[i] != 0;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static tern_status check_size(const char *who, const tern__npy_header *header, uint64_t bytes)
{
    char text[TERN__TYPE_TEXT];
    uint64_t array = bytes - header->data_offset; /* the header was parsed, so it is there */
    TERN__FAIL_IF(array < header->data_bytes, TERN_FORMAT,
                  "%s: cut short: %s needs %zu bytes, %llu are there", who,
                  tern__type_text(&header->type, text), header->data_bytes, (unsigned long long)array);
    TERN__FAIL_IF(array > header->data_bytes, TERN_FORMAT,
                  "%s: %llu bytes follow the array %s (several arrays in one file are not supported)", who,
                  (unsigned long long)(array - header->data_bytes), tern__type_text(&header->type, text));
    return TERN_OK;
}

/* The header of an open file. Most headers are short, so that a first small read settles it. */
static tern_status read_header(const tern__file *file, tern__npy_header *out)
{
    char first[256];
    size_t most = file->bytes < TERN__NPY_HEADER_MAX ? (size_t)file->bytes : TERN__NPY_HEADER_MAX;
    size_t bytes = most < sizeof first ? most : sizeof first;
    TERN_TRY(tern__file_read(file, 0, first, bytes));
    tern_status status = tern__npy_parse(file->path, first, bytes, out);
    if (status == TERN_FORMAT && most > bytes) {
        char *all = tern__alloc(most);
        if (!all)
            return tern__out_of_memory(most);
        status = tern__file_read(file, 0, all, most);
        if (status == TERN_OK)
            status = tern__npy_parse(file->path, all, most, out);
        tern__free(all);
    }
    TERN_TRY(status);
    return check_size(file->path, out, file->bytes);
}

static tern_status read_array(const tern__file *file, tern_pool *pool, tern__npy_header *header,
                              tern__storage **storage)
{
    tern__storage *made;
    TERN_TRY(read_header(file, header));
    TERN_TRY(tern__storage_create(pool, header->data_bytes, 0, &made));
    tern_status status = tern__file_read(file, header->data_offset, made->host, header->data_bytes);
    if (status != TERN_OK) {
        tern__storage_release(made);
        return status;
    }
    tern__npy_normalise(header, made->host, header->data_bytes);
    *storage = made;
    return TERN_OK;
}

tern_status tern__npy_read(const char *path, tern_pool *pool, tern__type *type, tern__layout *layout,
                           tern__storage **storage)
{
    tern__file file;
    tern__npy_header header;
    TERN_TRY(tern__file_open(path, &file));
    tern_status status = read_array(&file, pool, &header, storage);
    tern__file_close(&file);
    TERN_TRY(status);
    *type = header.type;
    tern__npy_layout(&header, layout);
    return TERN_OK;
}

tern_status tern__npy_read_memory(const char *who, const void *data, size_t bytes, tern_pool *pool,
                                  tern__type *type, tern__layout *layout, tern__storage **storage)
{
    tern__npy_header header;
    TERN_TRY(tern__npy_parse(who, data, bytes, &header));
    TERN_TRY(check_size(who, &header, bytes));
    TERN_TRY(tern__storage_create(pool, header.data_bytes, 0, storage));
    memcpy((*storage)->host, (const char *)data + header.data_offset, header.data_bytes);
    tern__watch_copied(header.data_bytes, "in");
    tern__npy_normalise(&header, (*storage)->host, header.data_bytes);
    *type = header.type;
    tern__npy_layout(&header, layout);
    return TERN_OK;
}

static tern_status map_array(const tern__file *file, bool writable_copy, tern__npy_header *header,
                             tern__storage **storage)
{
    TERN_TRY(read_header(file, header));
    TERN__FAIL_IF(header->swapped, TERN_UNSUPPORTED,
                  "%s: elements in the other byte order cannot be mapped; read the file instead", file->path);
    TERN__FAIL_IF(header->data_offset % tern__dtype_unit_bytes(header->type.dtype) != 0, TERN_UNSUPPORTED,
                  "%s: the array starts at byte %zu, too crooked to be mapped; read the file instead",
                  file->path, header->data_offset);
    return tern__storage_map_open(file, header->data_offset, header->data_bytes, writable_copy, storage);
}

tern_status tern__npy_map(const char *path, bool writable_copy, tern__type *type, tern__layout *layout,
                          tern__storage **storage)
{
    tern__file file;
    tern__npy_header header;
    TERN_TRY(tern__file_open(path, &file));
    tern_status status = map_array(&file, writable_copy, &header, storage);
    tern__file_close(&file);
    TERN_TRY(status);
    *type = header.type;
    tern__npy_layout(&header, layout);
    return TERN_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

enum { GATHER_BYTES = 32 << 10 };

/* Elements of a strided tensor, collected until the buffer is full. */
typedef struct gather {
    tern__npy_sink sink;
    void *user;
    size_t used;
    _Alignas(TERN__ALIGN) char buffer[GATHER_BYTES];
} gather;

static tern_status gather_flush(gather *g)
{
    size_t bytes = g->used;
    g->used = 0;
    return bytes > 0 ? g->sink(g->user, g->buffer, bytes) : TERN_OK;
}

/* `count` elements from `source` on, `stride` apart. */
static tern_status gather_run(gather *g, tern_dtype dtype, const char *source, int64_t stride, int64_t count)
{
    int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    while (count > 0) {
        int64_t room = (int64_t)(GATHER_BYTES - g->used) / bytes, n = count < room ? count : room;
        tern__convert(dtype, source, stride, dtype, g->buffer + g->used, 1, n);
        g->used += (size_t)(n * bytes);
        source += n * stride * bytes;
        count -= n;
        if (g->used == GATHER_BYTES)
            TERN_TRY(gather_flush(g));
    }
    return TERN_OK;
}

static tern_status emit_strided(const tern__type *type, const tern__layout *layout, const char *first,
                                gather *g)
{
    int64_t index[TERN__MAX_RANK] = {0}, bytes = (int64_t)tern__dtype_unit_bytes(type->dtype);
    int inner = type->rank - 1; /* a scalar is contiguous, so there is an axis */
    int64_t rows = tern__type_numel(type) / type->shape[inner];
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = 0;
        for (int i = 0; i < inner; i++)
            at += index[i] * layout->strides[i];
        TERN_TRY(gather_run(g, type->dtype, first + at * bytes, layout->strides[inner], type->shape[inner]));
        for (int i = inner - 1; i >= 0 && ++index[i] == type->shape[i]; i--)
            index[i] = 0;
    }
    return gather_flush(g);
}

tern_status tern__npy_emit(const tern__type *type, const tern__layout *layout, const void *host,
                           tern__npy_sink sink, void *user)
{
    if (tern__type_numel(type) == 0)
        return TERN_OK;
    const char *first = (const char *)host + layout->offset * (int64_t)tern__dtype_unit_bytes(type->dtype);
    if (tern__layout_is_contiguous(type, layout))
        return sink(user, first, tern__type_bytes(type));
    gather g;
    g.sink = sink;
    g.user = user;
    g.used = 0;
    return emit_strided(type, layout, first, &g);
}

static tern_status write_piece(void *user, const void *data, size_t bytes)
{
    return tern__writer_write(user, data, bytes);
}

tern_status tern__npy_write(const char *path, const tern__type *type, const tern__layout *layout,
                            const void *host)
{
    char header[TERN__NPY_HEADER_WRITTEN];
    size_t bytes;
    tern__writer writer;
    TERN_TRY(tern__npy_format(type, false, header, &bytes));
    TERN_TRY(tern__writer_open(path, &writer));
    tern_status status = tern__writer_write(&writer, header, bytes);
    if (status == TERN_OK)
        status = tern__npy_emit(type, layout, host, write_piece, &writer);
    if (status == TERN_OK)
        return tern__writer_commit(&writer);
    tern__writer_abort(&writer);
    return status;
}

/* ---- conversion in chunks ------------------------------------------------------------------------------ */

typedef struct conversion {
    tern__file in;
    tern__npy_header header;
    tern__type to;
    tern__writer out;
    char *source, *target; /* (chunk) elements of either type, parts of one block */
    size_t chunk;
} conversion;

static tern_status convert_chunks(conversion *c)
{
    size_t from_bytes = tern__dtype_unit_bytes(c->header.type.dtype),
           to_bytes = tern__dtype_unit_bytes(c->to.dtype);
    size_t total = (size_t)tern__type_numel(&c->to);
    for (size_t done = 0; done < total; done += c->chunk) {
        size_t n = total - done < c->chunk ? total - done : c->chunk;
        TERN_TRY(
            tern__file_read(&c->in, c->header.data_offset + done * from_bytes, c->source, n * from_bytes));
        tern__npy_normalise(&c->header, c->source, n * from_bytes);
        tern__convert(c->header.type.dtype, c->source, 1, c->to.dtype, c->target, 1, (int64_t)n);
        TERN_TRY(tern__writer_write(&c->out, c->target, n * to_bytes));
    }
    return TERN_OK;
}

/* Everything after the input is open. */
static tern_status convert_file(conversion *c, const char *out_path, tern_dtype to, size_t chunk_bytes)
{
    enum { CHUNK_DEFAULT = 4 << 20, CHUNK_LEAST = 4096 };
    char header[TERN__NPY_HEADER_WRITTEN];
    size_t header_bytes;
    TERN_TRY(read_header(&c->in, &c->header));
    TERN_TRY(tern__type_make(c->in.path, to, c->header.type.rank, c->header.type.shape, &c->to));
    TERN_TRY(tern__npy_format(&c->to, c->header.fortran_order, header, &header_bytes));

    size_t from_bytes = tern__dtype_unit_bytes(c->header.type.dtype),
           both = from_bytes + tern__dtype_unit_bytes(to);
    size_t budget = chunk_bytes == 0 ? CHUNK_DEFAULT : chunk_bytes < CHUNK_LEAST ? CHUNK_LEAST : chunk_bytes;
    c->chunk = budget / both / 8 * 8; /* keeps the second half aligned */
    c->source = tern__alloc(c->chunk * both);
    if (!c->source)
        return tern__out_of_memory(c->chunk * both);
    c->target = c->source + c->chunk * from_bytes;

    TERN_TRY(tern__writer_open(out_path, &c->out));
    TERN_TRY(tern__writer_write(&c->out, header, header_bytes));
    TERN_TRY(convert_chunks(c));
    return tern__writer_commit(&c->out);
}

tern_status tern__npy_convert(const char *in_path, const char *out_path, tern_dtype to, size_t chunk_bytes)
{
    conversion c = {.out = {.fd = -1}};
    TERN_TRY(tern__file_open(in_path, &c.in));
    tern_status status = convert_file(&c, out_path, to, chunk_bytes);
    tern__writer_abort(&c.out); /* nothing happens after success */
    tern__file_close(&c.in);
    tern__free(c.source);
    return status;
}

/* npz.c - reading .npz archives. zip.c reads the directory, npy_header.c the headers; here members are
 * unpacked. */
#include "tensor/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "tensor/crc.h"
#include "base/file.h"
#include "tensor/zip.h"

#if TERN_HAVE_ZLIB
#include <zlib.h>
#endif

struct tern__npz {
    char *who; /* the path, for messages */
    tern__storage *archive;
    tern__zip_entry *entries; /* (count) in the order of the directory */
    const char **names;       /* (count) keys, in the block `text` */
    size_t *sorted;           /* (count) indices, by key */
    char *text;
    size_t count;
};

/* ---- opening and names --------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    size_t index;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static size_t key_length(const tern__zip_entry *entry)
{
    size_t n = entry->name_bytes;
    return n >= 4 && memcmp(entry->name + n - 4, ".npy", 4) == 0 ? n - 4 : n;
}

/* Keys end up in messages and listings, so control characters (a zero byte first of all) are not for them. */
static bool name_usable(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            return false;
    }
    return length > 0;
}

/* Copies the keys, terminated. */
static tern_status copy_names(tern__npz *npz)
{
    size_t total = 0;
    for (size_t i = 0; i < npz->count; i++)
        total += key_length(&npz->entries[i]) + 1; /* together shorter than the archive */
    npz->names = tern__alloc_zero(npz->count, sizeof *npz->names);
    npz->sorted = tern__alloc_zero(npz->count, sizeof *npz->sorted);
    npz->text = tern__alloc(total);
    if (!npz->names || !npz->sorted || !npz->text)
        return tern__out_of_memory(total);
    char *at = npz->text;
    for (size_t i = 0; i < npz->count; i++) {
        size_t length = key_length(&npz->entries[i]);
        TERN__FAIL_IF(!name_usable(npz->entries[i].name, length), TERN_FORMAT,
                      "%s: member %zu of the archive has an unusable name", npz->who, i);
        memcpy(at, npz->entries[i].name, length);
        at[length] = '\0';
        npz->names[i] = at;
        at += length + 1;
    }
    return TERN_OK;
}

static tern_status sort_names(tern__npz *npz)
{
    named *list = tern__alloc(npz->count * sizeof *list);
    if (!list)
        return tern__out_of_memory(npz->count * sizeof *list);
    for (size_t i = 0; i < npz->count; i++)
        list[i] = (named){npz->names[i], i};
    qsort(list, npz->count, sizeof *list, by_name);
    const char *twice = NULL;
    for (size_t i = 0; i < npz->count; i++) {
        npz->sorted[i] = list[i].index;
        if (i > 0 && strcmp(list[i - 1].name, list[i].name) == 0)
            twice = list[i].name;
    }
    tern__free(list);
    TERN__FAIL_IF(twice, TERN_FORMAT, "%s: the archive has two members named '%.80s'", npz->who, twice);
    return TERN_OK;
}

/* Takes over `archive`, also on failure. */
static tern_status open_storage(const char *who, tern__storage *archive, tern__npz **out)
{
    tern__npz *npz = tern__alloc_zero(1, sizeof *npz);
    if (!npz) {
        tern__storage_release(archive);
        return tern__out_of_memory(sizeof *npz);
    }
    npz->archive = archive;
    npz->who = tern__strdup(who);
    tern_status status = npz->who ? TERN_OK : tern__out_of_memory(strlen(who) + 1);
    if (status == TERN_OK)
        status = tern__zip_parse(who, archive->host, archive->bytes, &npz->entries, &npz->count);
    if (status == TERN_OK && npz->count > 0)
        status = copy_names(npz);
    if (status == TERN_OK && npz->count > 0)
        status = sort_names(npz);
    if (status != TERN_OK) {
        tern__npz_close(npz);
        return status;
    }
    *out = npz;
    return TERN_OK;
}

tern_status tern__npz_open(const char *path, tern__npz **out)
{
    tern__file file;
    tern__storage *archive = NULL;
    TERN_TRY(tern__file_open(path, &file));
    tern_status status = file.bytes <= SIZE_MAX
                             ? tern__storage_map_open(&file, 0, (size_t)file.bytes, false, &archive)
                             : tern__fail(TERN_OVERFLOW, "%s: too large to be mapped", path);
    tern__file_close(&file);
    TERN_TRY(status);
    return open_storage(path, archive, out);
}

tern_status tern__npz_open_memory(const char *who, const void *data, size_t bytes, tern__npz **out)
{
    tern__storage *archive;
    TERN_TRY(tern__storage_borrow((void *)data, bytes, true, NULL, NULL, &archive));
    return open_storage(who, archive, out);
}

void tern__npz_close(tern__npz *npz)
{
    if (!npz)
        return;
    tern__storage_release(npz->archive);
    tern__free(npz->entries);
    tern__free(npz->names);
    tern__free(npz->sorted);
    tern__free(npz->text);
    tern__free(npz->who);
    tern__free(npz);
}

size_t tern__npz_count(const tern__npz *npz)
{
    return npz->count;
}

const char *tern__npz_name(const tern__npz *npz, size_t i)
{
    return i < npz->count ? npz->names[i] : NULL;
}

tern_status tern__npz_find(const tern__npz *npz, const char *name, size_t *out)
{
    size_t low = 0, high = npz->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, npz->names[npz->sorted[middle]]);
        if (order == 0) {
            *out = npz->sorted[middle];
            return TERN_OK;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return tern__fail(TERN_NOT_FOUND, "%s: the archive has no array named '%.80s'", npz->who, name);
}

/* ---- members as streams -------------------------------------------------------------------------------- */

/* A member being unpacked, front to back. */
typedef struct member {
    const tern__zip_entry *entry;
    char who[256];       /* "path: member", for messages */
    const uint8_t *data; /* the rest of the packed bytes */
    size_t data_left;
    uint64_t left; /* unpacked bytes that are still to come */
    uint32_t crc;
#if TERN_HAVE_ZLIB
    z_stream z;
    bool ended;
#endif
} member;

#if TERN_HAVE_ZLIB
static voidpf zlib_alloc(voidpf user, uInt count, uInt bytes)
{
    size_t total;
    (void)user;
    return tern__size_mul(count, bytes, &total) ? tern__alloc(total) : NULL;
}

static void zlib_free(voidpf user, voidpf block)
{
    (void)user;
    tern__free(block);
}

static tern_status inflate_open(member *m)
{
    /* deflate's best ratio is 1032: a member that claims more is lying, and nothing is allocated for it */
    TERN__FAIL_IF(m->entry->bytes / 1032 > m->entry->packed_bytes, TERN_FORMAT,
                  "%s: claims to unpack to %llu bytes, more than its %llu packed ones can hold", m->who,
                  (unsigned long long)m->entry->bytes, (unsigned long long)m->entry->packed_bytes);
    m->z.zalloc = zlib_alloc;
    m->z.zfree = zlib_free;
    int code = inflateInit2(&m->z, -MAX_WBITS); /* no zlib header inside zip */
    TERN__FAIL_IF(code == Z_MEM_ERROR, TERN_OUT_OF_MEMORY, "%s: out of memory for unpacking", m->who);
    TERN__FAIL_IF(code != Z_OK, TERN_INTERNAL, "%s: zlib refuses to start (%d)", m->who, code);
    return TERN_OK;
}

/* Unpacks up to `bytes` into `target`; `*got` is fewer only at the end of the stream. */
static tern_status inflate_some(member *m, uint8_t *target, size_t bytes, size_t *got)
{
    size_t done = 0;
    while (done < bytes && !m->ended) {
        uInt out = bytes - done < (1u << 30) ? (uInt)(bytes - done) : 1u << 30;
        uInt in = m->data_left < (1u << 30) ? (uInt)m->data_left : 1u << 30;
        m->z.next_in = (Bytef *)m->data;
        m->z.avail_in = in;
        m->z.next_out = target + done;
        m->z.avail_out = out;
        int code = inflate(&m->z, Z_NO_FLUSH);
        m->data += in - m->z.avail_in;
        m->data_left -= in - m->z.avail_in;
        done += out - m->z.avail_out;
        m->ended = code == Z_STREAM_END;
        TERN__FAIL_IF(code == Z_MEM_ERROR, TERN_OUT_OF_MEMORY, "%s: out of memory for unpacking", m->who);
        TERN__FAIL_IF(code != Z_OK && code != Z_STREAM_END, TERN_FORMAT,
                      "%s: the compressed data are damaged", m->who);
    }
    *got = done;
    return TERN_OK;
}
#endif

static tern_status check_index(const tern__npz *npz, size_t i)
{
    TERN__FAIL_IF(i >= npz->count, TERN_OUT_OF_RANGE, "%s: no member %zu, the archive has %zu", npz->who, i,
                  npz->count);
    return TERN_OK;
}

static tern_status member_open(const tern__npz *npz, size_t i, member *m)
{
    size_t start;
    memset(m, 0, sizeof *m);
    m->entry = &npz->entries[i];
    snprintf(m->who, sizeof m->who, "%.170s: %.80s", npz->who, npz->names[i]);
    TERN_TRY(tern__zip_locate(m->who, npz->archive->host, m->entry, &start));
    m->data = (const uint8_t *)npz->archive->host + start;
    m->data_left = (size_t)m->entry->packed_bytes; /* inside the archive, so it fits */
    m->left = m->entry->bytes;
    if (m->entry->method == TERN__ZIP_STORED)
        return TERN_OK;
#if TERN_HAVE_ZLIB
    return inflate_open(m);
#else
    return tern__fail(TERN_UNAVAILABLE,
                      "%s: is compressed, and this build of tern has no zlib; numpy.savez writes "
                      "archives that can be read",
                      m->who);
#endif
}

/* The next `bytes` bytes, exactly; the caller asks for no more than are left. */
static tern_status member_read(member *m, void *target, size_t bytes)
{
    size_t got = bytes;
    if (m->entry->method == TERN__ZIP_STORED) {
        if (bytes > 0)
            memcpy(target, m->data, bytes);
        m->data += bytes;
        m->data_left -= bytes;
    } else {
#if TERN_HAVE_ZLIB
        TERN_TRY(inflate_some(m, target, bytes, &got));
#endif
    }
    TERN__FAIL_IF(got != bytes, TERN_FORMAT, "%s: unpacks to fewer bytes than the archive says", m->who);
    m->left -= bytes;
    m->crc = tern__crc32(m->crc, target, bytes);
    return TERN_OK;
}

/* After everything was read: nothing may follow, and the sum must be right. */
static tern_status member_finish(member *m)
{
#if TERN_HAVE_ZLIB
    if (m->entry->method == TERN__ZIP_DEFLATED) {
        uint8_t more;
        size_t got;
        TERN_TRY(inflate_some(m, &more, 1, &got));
        TERN__FAIL_IF(got != 0 || m->data_left != 0, TERN_FORMAT,
                      "%s: unpacks to more bytes than the archive says", m->who);
    }
#endif
    TERN__FAIL_IF(m->crc != m->entry->crc, TERN_FORMAT, "%s: damaged: the CRC of its %llu bytes is wrong",
                  m->who, (unsigned long long)m->entry->bytes);
    return TERN_OK;
}

static void member_close(member *m)
{
#if TERN_HAVE_ZLIB
    if (m->entry && m->entry->method == TERN__ZIP_DEFLATED && m->z.zalloc)
        inflateEnd(&m->z);
#else
    (void)m;
#endif
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* The first bytes of a member, in a block of their own, and the header in them. */
static tern_status member_header(member *m, uint8_t **head, size_t *head_bytes, tern__npy_header *header)
{
    size_t bytes = m->left < TERN__NPY_HEADER_MAX ? (size_t)m->left : TERN__NPY_HEADER_MAX;
    *head = tern__alloc(bytes);
    *head_bytes = bytes;
    if (!*head)
        return tern__out_of_memory(bytes);
    TERN_TRY(member_read(m, *head, bytes));
    TERN_TRY(tern__npy_parse(m->who, *head, bytes, header));
    uint64_t array = m->entry->bytes - header->data_offset;
    TERN__FAIL_IF(array != header->data_bytes, TERN_FORMAT,
                  "%s: the array needs %zu bytes, but the archive holds %llu for it", m->who,
                  header->data_bytes, (unsigned long long)array);
    return TERN_OK;
}

/* The array behind the header, of which the head has the beginning. */
static tern_status member_array(member *m, const uint8_t *head, size_t head_bytes,
                                const tern__npy_header *header, tern_pool *pool, tern__storage **out)
{
    tern__storage *storage;
    size_t known = head_bytes - header->data_offset;
    TERN_TRY(tern__storage_create(pool, header->data_bytes, 0, &storage));
    memcpy(storage->host, head + header->data_offset, known);
    tern_status status = member_read(m, (char *)storage->host + known, header->data_bytes - known);
    if (status == TERN_OK)
        status = member_finish(m);
    if (status != TERN_OK) {
        tern__storage_release(storage);
        return status;
    }
    tern__npy_normalise(header, storage->host, header->data_bytes);
    *out = storage;
    return TERN_OK;
}

tern_status tern__npz_inspect(const tern__npz *npz, size_t i, tern__npy_header *out)
{
    member m;
    uint8_t *head = NULL;
    size_t head_bytes = 0;
    tern__npy_header header = {0};
    TERN_TRY(check_index(npz, i));
    tern_status status = member_open(npz, i, &m);
    if (status == TERN_OK)
        status = member_header(&m, &head, &head_bytes, &header);
    tern__free(head);
    member_close(&m);
    if (status == TERN_OK)
        *out = header;
    return status;
}

tern_status tern__npz_read(const tern__npz *npz, size_t i, tern_pool *pool, tern__type *type,
                           tern__layout *layout, tern__storage **storage)
{
    member m;
    uint8_t *head = NULL;
    size_t head_bytes = 0;
    tern__npy_header header = {0};
    TERN_TRY(check_index(npz, i));
    tern_status status = member_open(npz, i, &m);
    if (status == TERN_OK)
        status = member_header(&m, &head, &head_bytes, &header);
    if (status == TERN_OK)
        status = member_array(&m, head, head_bytes, &header, pool, storage);
    tern__free(head);
    member_close(&m);
    if (status == TERN_OK) {
        *type = header.type;
        tern__npy_layout(&header, layout);
    }
    return status;
}

static void drop_archive(void *user, void *host, size_t bytes)
{
    (void)host;
    (void)bytes;
    tern__storage_release(user);
}

tern_status tern__npz_map(const tern__npz *npz, size_t i, tern__type *type, tern__layout *layout,
                          tern__storage **storage)
{
    member m;
    tern__npy_header header = {0};
    TERN_TRY(tern__npz_inspect(npz, i, &header));
    TERN__FAIL_IF(npz->entries[i].method != TERN__ZIP_STORED, TERN_UNSUPPORTED,
                  "%s: '%.80s' is compressed and cannot be mapped; read it instead", npz->who, npz->names[i]);
    TERN_TRY(member_open(npz, i, &m));
    char *array =
        (char *)npz->archive->host + (m.data - (const uint8_t *)npz->archive->host) + header.data_offset;
    TERN__FAIL_IF(header.swapped || (uintptr_t)array % tern__dtype_unit_bytes(header.type.dtype) != 0,
                  TERN_UNSUPPORTED, "%s: the array is %s and cannot be mapped; read it instead", m.who,
                  header.swapped ? "in the other byte order" : "off its alignment");
    tern__storage_retain(npz->archive);
    tern_status status =
        tern__storage_borrow(array, header.data_bytes, true, drop_archive, npz->archive, storage);
    if (status != TERN_OK) {
        tern__storage_release(npz->archive);
        return status;
    }
    *type = header.type;
    tern__npy_layout(&header, layout);
    return TERN_OK;
}

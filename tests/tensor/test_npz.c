/* .npz: round trips, archives built by hand with every kind of damage, and failing disks. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tensor/crc.h"
#include "base/file.h"
#include "tensor/files.h"
#include "tensor/npz.h"

#if TERN_HAVE_ZLIB
#include <zlib.h>
#endif

TEST(crc_of_the_standard_text)
{
    uint8_t data[1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i);
    CHECK_EQ(tern__crc32(0, "123456789", 9), 0xcbf43926);
    CHECK_EQ(tern__crc32_own(0, "123456789", 9), 0xcbf43926);
    CHECK_EQ(tern__crc32_own(tern__crc32_own(0, "1234", 4), "56789", 5), 0xcbf43926);
    CHECK_EQ(tern__crc32(0, data, sizeof data), tern__crc32_own(0, data, sizeof data));
}

/* ---- archives by hand ---------------------------------------------------------------------------------- */

typedef struct zip {
    uint8_t data[1 << 16];
    size_t length;
    struct {
        char name[64];
        size_t name_bytes, packed, bytes, offset;
        uint32_t crc;
        int method;
    } members[8];
    int count;
} zip;

static void put(zip *z, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        z->data[z->length++] = (uint8_t)(value >> (8 * i));
}

static void put_bytes(zip *z, const void *data, size_t bytes)
{
    memcpy(z->data + z->length, data, bytes);
    z->length += bytes;
}

/* A member with `packed` bytes that unpack to `bytes` with that sum. */
static void zip_member(zip *z, const char *name, size_t name_bytes, int method, const void *packed,
                       size_t packed_bytes, size_t bytes, uint32_t crc)
{
    int i = z->count++;
    memcpy(z->members[i].name, name, name_bytes);
    z->members[i].name_bytes = name_bytes;
    z->members[i].packed = packed_bytes;
    z->members[i].bytes = bytes;
    z->members[i].crc = crc;
    z->members[i].method = method;
    z->members[i].offset = z->length;
    put(z, 0x04034b50, 4);
    put(z, 20, 2);
    put(z, 0, 2);
    put(z, (uint64_t)method, 2);
    put(z, 0, 4);
    put(z, crc, 4);
    put(z, packed_bytes, 4);
    put(z, bytes, 4);
    put(z, name_bytes, 2);
    put(z, 0, 2);
    put_bytes(z, name, name_bytes);
    put_bytes(z, packed, packed_bytes);
}

static void zip_stored(zip *z, const char *name, const void *data, size_t bytes)
{
    zip_member(z, name, strlen(name), 0, data, bytes, bytes, tern__crc32(0, data, bytes));
}

static void zip_directory(zip *z)
{
    size_t start = z->length;
    for (int i = 0; i < z->count; i++) {
        put(z, 0x02014b50, 4);
        put(z, 20, 2);
        put(z, 20, 2);
        put(z, 0, 2);
        put(z, (uint64_t)z->members[i].method, 2);
        put(z, 0, 4);
        put(z, z->members[i].crc, 4);
        put(z, z->members[i].packed, 4);
        put(z, z->members[i].bytes, 4);
        put(z, z->members[i].name_bytes, 2);
        put(z, 0, 8); /* extra field, comment, disk, internal attributes */
        put(z, 0, 4);
        put(z, z->members[i].offset, 4);
        put_bytes(z, z->members[i].name, z->members[i].name_bytes);
    }
    size_t end = z->length;
    put(z, 0x06054b50, 4);
    put(z, 0, 4);
    put(z, (uint64_t)z->count, 2);
    put(z, (uint64_t)z->count, 2);
    put(z, end - start, 4);
    put(z, start, 4);
    put(z, 0, 2);
}

/* An i32 array of `count` numbers 0, 1, ...; returns its bytes. */
static size_t npy_counting(int count, uint8_t *out)
{
    tern__type type;
    size_t bytes = 0;
    if (tern__type_make("t", TERN_I32, 1, (int64_t[]){count}, &type) != TERN_OK)
        return 0;
    tern__npy_format(&type, false, (char *)out, &bytes);
    for (int32_t i = 0; i < count; i++)
        memcpy(out + bytes + 4 * (size_t)i, &i, 4);
    return bytes + 4 * (size_t)count;
}

static tern_status open_zip(const zip *z, tern__npz **npz)
{
    return tern__npz_open_memory("x.npz", z->data, z->length, npz);
}

static tern_status read_member(const tern__npz *npz, size_t i, tern__type *type, tern__storage **storage)
{
    tern__layout layout;
    return tern__npz_read(npz, i, NULL, type, &layout, storage);
}

static zip archive;
static uint8_t npy[1 << 14];

TEST(an_archive_by_hand_is_read)
{
    tern__npz *npz;
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    size_t found;
    size_t bytes = npy_counting(5, npy);
    archive = (zip){.length = 0};
    zip_stored(&archive, "b.npy", npy, bytes);
    zip_stored(&archive, "../../etc/a.npy", npy, bytes); /* a key like any other */
    zip_stored(&archive, "/absolute", npy, bytes);
    zip_directory(&archive);
    CHECK_OK(open_zip(&archive, &npz));
    CHECK_EQ(tern__npz_count(npz), 3);
    CHECK_STR(tern__npz_name(npz, 0), "b");
    CHECK_STR(tern__npz_name(npz, 1), "../../etc/a");
    CHECK_STR(tern__npz_name(npz, 2), "/absolute");
    CHECK(tern__npz_name(npz, 3) == NULL);
    CHECK_OK(tern__npz_find(npz, "/absolute", &found));
    CHECK_EQ(found, 2);
    CHECK_STATUS(tern__npz_find(npz, "b.npy", &found), TERN_NOT_FOUND);
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(tern__npz_read(npz, i, NULL, &type, &layout, &storage));
        CHECK(type.dtype == TERN_I32 && type.rank == 1 && type.shape[0] == 5);
        CHECK_EQ(((int32_t *)storage->host)[4], 4);
        tern__storage_release(storage);
    }
    CHECK_STATUS(tern__npz_read(npz, 3, NULL, &type, &layout, &storage), TERN_OUT_OF_RANGE);
    tern__npz_close(npz);
    tern__npz_close(NULL);
}

TEST(an_empty_archive_has_no_arrays)
{
    tern__npz *npz;
    size_t found;
    archive = (zip){.length = 0};
    zip_directory(&archive);
    CHECK_OK(open_zip(&archive, &npz));
    CHECK_EQ(tern__npz_count(npz), 0);
    CHECK_STATUS(tern__npz_find(npz, "a", &found), TERN_NOT_FOUND);
    tern__npz_close(npz);
}

/* Opens and reads every member; the first failure. */
static tern_status use_everything(const void *data, size_t bytes)
{
    tern__npz *npz;
    TERN_TRY(tern__npz_open_memory("x.npz", data, bytes, &npz));
    tern_status status = TERN_OK;
    for (size_t i = 0; i < tern__npz_count(npz) && status == TERN_OK; i++) {
        tern__type type;
        tern__storage *storage;
        status = read_member(npz, i, &type, &storage);
        if (status == TERN_OK)
            tern__storage_release(storage);
    }
    tern__npz_close(npz);
    return status;
}

TEST(every_truncation_is_an_error)
{
    size_t bytes = npy_counting(3, npy);
    archive = (zip){.length = 0};
    zip_stored(&archive, "a.npy", npy, bytes);
    zip_stored(&archive, "b.npy", npy, bytes);
    zip_directory(&archive);
    CHECK_OK(use_everything(archive.data, archive.length));
    for (size_t n = 0; n < archive.length; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, archive.data, n);
        tern_status status = use_everything(exact, n);
        free(exact);
        CHECK_EQ(status, TERN_FORMAT);
    }
}

TEST(a_flipped_byte_is_an_error_or_harmless)
{
    size_t bytes = npy_counting(3, npy);
    archive = (zip){.length = 0};
    zip_stored(&archive, "a.npy", npy, bytes);
    zip_directory(&archive);
    int noticed = 0;
    for (size_t at = 0; at < archive.length; at++) {
        archive.data[at] ^= 0xff;
        noticed += use_everything(archive.data, archive.length) != TERN_OK;
        archive.data[at] ^= 0xff;
    }
    CHECK(noticed > (int)bytes); /* each byte of the member, at least, by its CRC */
    /* and every byte of the array is among them */
    for (size_t at = 35; at < 35 + bytes; at++) {
        archive.data[at] ^= 1;
        CHECK(use_everything(archive.data, archive.length) != TERN_OK);
        archive.data[at] ^= 1;
    }
}

/* ---- lies ---------------------------------------------------------------------------------------------- */

/* Where the directory and the end record of a one-member archive are. */
static uint8_t *central(void)
{
    return archive.data + archive.length - 22 - 46 - archive.members[0].name_bytes;
}

static uint8_t *end_record(void)
{
    return archive.data + archive.length - 22;
}

static void one_member(void)
{
    size_t bytes = npy_counting(3, npy);
    archive = (zip){.length = 0};
    zip_stored(&archive, "a.npy", npy, bytes);
    zip_directory(&archive);
}

TEST(lies_in_the_directory_are_found)
{
#define LIE(change, status, text)                                       \
    one_member();                                                       \
    change;                                                             \
    CHECK_STATUS(use_everything(archive.data, archive.length), status); \
    CHECK(strstr(tern_last_error(), text) != NULL)
    LIE(memset(central() + 20, 0xee, 4), TERN_FORMAT, "two different sizes");
    LIE((memset(central() + 20, 0xee, 4), memset(central() + 24, 0xee, 4)), TERN_FORMAT, "outside the file");
    LIE(memset(central() + 42, 0xee, 4), TERN_FORMAT, "outside the file");
    LIE(central()[42] = 1, TERN_FORMAT, "outside the file");
    LIE(central()[8] = 1, TERN_UNSUPPORTED, "encrypted");
    LIE((central()[10] = 12), TERN_UNSUPPORTED, "zip method 12");
    LIE(archive.data[8] = 8, TERN_FORMAT, "contradicts");
    LIE(archive.data[30] = 'b', TERN_FORMAT, "contradicts");
    LIE(archive.data[28] = 1, TERN_FORMAT, "overlap");
    LIE(central()[28] = 200, TERN_FORMAT, "damaged");
    LIE(central()[46] = 0, TERN_FORMAT, "unusable name");
    LIE(central()[46] = '\n', TERN_FORMAT, "unusable name");
    LIE(end_record()[8] = 2, TERN_UNSUPPORTED, "split");
    LIE((end_record()[8] = 2, end_record()[10] = 2), TERN_FORMAT, "more than its 51 bytes");
    LIE((end_record()[8] = 0, end_record()[10] = 0), TERN_FORMAT, "longer than its members need");
    LIE(end_record()[4] = 1, TERN_UNSUPPORTED, "split");
    LIE(memset(end_record() + 16, 0xff, 4), TERN_FORMAT, "outside the file");
    LIE(memset(end_record() + 12, 0xff, 4), TERN_FORMAT, "outside the file");
    LIE(end_record()[20] = 1, TERN_FORMAT, "no end record");
    LIE(archive.length++, TERN_FORMAT, "no end record");
#undef LIE
}

TEST(names_that_occur_twice_are_refused)
{
    tern__npz *npz;
    size_t bytes = npy_counting(1, npy);
    archive = (zip){.length = 0};
    zip_stored(&archive, "a.npy", npy, bytes);
    zip_stored(&archive, "a", npy, bytes);
    zip_directory(&archive);
    CHECK_STATUS(open_zip(&archive, &npz), TERN_FORMAT);
    CHECK_STR(tern_last_error(), "x.npz: the archive has two members named 'a'");
    archive = (zip){.length = 0};
    zip_stored(&archive, ".npy", npy, bytes);
    zip_directory(&archive);
    CHECK_STATUS(open_zip(&archive, &npz), TERN_FORMAT);
    archive = (zip){.length = 0};
    zip_member(&archive, "a\0b.npy", 7, 0, npy, bytes, bytes, 0);
    zip_directory(&archive);
    CHECK_STATUS(open_zip(&archive, &npz), TERN_FORMAT);
}

TEST(members_that_share_bytes_are_refused)
{
    size_t bytes = npy_counting(3, npy);
    tern__npz *npz;
    archive = (zip){.length = 0};
    zip_stored(&archive, "a.npy", npy, bytes);
    archive.members[1] = archive.members[0]; /* two names for one member */
    archive.members[1].name[0] = 'b';
    archive.count = 2;
    zip_directory(&archive);
    CHECK_STATUS(open_zip(&archive, &npz), TERN_FORMAT);
    CHECK_STR(tern_last_error(), "x.npz: members of the archive overlap, or lie outside the file");
}

TEST(members_must_be_exactly_one_array)
{
    size_t bytes = npy_counting(3, npy);
    tern__npz *npz;
    tern__type type;
    tern__storage *storage = NULL;
    archive = (zip){.length = 0};
    zip_stored(&archive, "long.npy", npy, bytes + 1);
    zip_stored(&archive, "short.npy", npy, bytes - 1);
    zip_stored(&archive, "empty.npy", npy, 0);
    zip_stored(&archive, "text", "just some text, not an array", 28);
    zip_directory(&archive);
    CHECK_OK(open_zip(&archive, &npz));
    for (size_t i = 0; i < 4; i++)
        CHECK_STATUS(read_member(npz, i, &type, &storage), TERN_FORMAT);
    CHECK_STATUS(read_member(npz, 0, &type, &storage), TERN_FORMAT);
    CHECK_STR(tern_last_error(), "x.npz: long: the array needs 12 bytes, but the archive holds 13 for it");
    CHECK(storage == NULL);
    tern__npz_close(npz);
}

/* ---- compressed members -------------------------------------------------------------------------------- */

#if TERN_HAVE_ZLIB
static size_t pack(const void *data, size_t bytes, uint8_t *out, size_t room)
{
    z_stream z = {0};
    deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)bytes;
    z.next_out = out;
    z.avail_out = (uInt)room;
    deflate(&z, Z_FINISH);
    size_t packed = room - z.avail_out;
    deflateEnd(&z);
    return packed;
}
#endif

static void make_compressed(size_t *bytes, uint8_t *packed, size_t *packed_bytes)
{
#if TERN_HAVE_ZLIB
    *bytes = npy_counting(2000, npy);
    *packed_bytes = pack(npy, *bytes, packed, 1 << 14);
#else
    *bytes = *packed_bytes = 10;
    memset(packed, 0, 10);
#endif
}

static uint8_t packed[1 << 14];

TEST(compressed_members_are_unpacked)
{
    size_t bytes, packed_bytes;
    tern__npz *npz;
    tern__type type;
    tern__layout layout;
    tern__storage *storage = NULL;
    tern__npy_header header;
    make_compressed(&bytes, packed, &packed_bytes);
    archive = (zip){.length = 0};
    zip_member(&archive, "c.npy", 5, 8, packed, packed_bytes, bytes, tern__crc32(0, npy, bytes));
    zip_directory(&archive);
    CHECK_OK(open_zip(&archive, &npz));
#if TERN_HAVE_ZLIB
    CHECK_OK(tern__npz_inspect(npz, 0, &header));
    CHECK_EQ(header.type.shape[0], 2000);
    CHECK_OK(tern__npz_read(npz, 0, NULL, &type, &layout, &storage));
    for (int32_t i = 0; i < 2000; i++)
        CHECK_EQ(((int32_t *)storage->host)[i], i);
    tern__storage_release(storage);
    CHECK_STATUS(tern__npz_map(npz, 0, &type, &layout, &storage), TERN_UNSUPPORTED);
#else
    CHECK_STATUS(tern__npz_inspect(npz, 0, &header), TERN_UNAVAILABLE);
    CHECK_STATUS(tern__npz_read(npz, 0, NULL, &type, &layout, &storage), TERN_UNAVAILABLE);
    CHECK(strstr(tern_last_error(), "no zlib") != NULL);
    CHECK(storage == NULL);
#endif
    tern__npz_close(npz);
}

#if TERN_HAVE_ZLIB
/* A compressed member with one thing wrong. */
static tern_status read_lying(size_t packed_bytes, size_t bytes, uint32_t crc)
{
    archive = (zip){.length = 0};
    zip_member(&archive, "c.npy", 5, 8, packed, packed_bytes, bytes, crc);
    zip_directory(&archive);
    return use_everything(archive.data, archive.length);
}

TEST(compressed_members_that_lie_are_refused)
{
    size_t bytes, packed_bytes;
    make_compressed(&bytes, packed, &packed_bytes);
    uint32_t crc = tern__crc32(0, npy, bytes);
    CHECK_OK(read_lying(packed_bytes, bytes, crc));
    CHECK_STATUS(read_lying(packed_bytes, bytes, crc + 1), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "CRC") != NULL);
    CHECK_STATUS(read_lying(packed_bytes, bytes - 1, crc), TERN_FORMAT);
    CHECK_STATUS(read_lying(packed_bytes, bytes + 1, crc), TERN_FORMAT);
    CHECK_STATUS(read_lying(packed_bytes + 1, bytes, crc), TERN_FORMAT);
    for (size_t n = 0; n < packed_bytes; n++)
        CHECK_STATUS(read_lying(n, bytes, crc), TERN_FORMAT);
    for (size_t i = 0; i + 1 < packed_bytes; i++) { /* the last byte has bits that mean nothing */
        packed[i] ^= 0x40;
        CHECK(read_lying(packed_bytes, bytes, crc) != TERN_OK);
        packed[i] ^= 0x40;
    }
}

static bool remember_largest(void *user, size_t bytes)
{
    size_t *largest = user;
    *largest = bytes > *largest ? bytes : *largest;
    return true;
}

TEST(bombs_are_refused_before_memory_is_taken)
{
    /* a header for 2 GB, a few packed bytes, and a directory that agrees with the header */
    tern__type type;
    size_t header, largest = 0;
    CHECK_OK(tern__type_make("t", TERN_U8, 1, (int64_t[]){2000000000}, &type));
    CHECK_OK(tern__npy_format(&type, false, (char *)npy, &header));
    memset(npy + header, 0, 1000);
    size_t packed_bytes = pack(npy, header + 1000, packed, sizeof packed);
    tern_alloc_set_gate(remember_largest, &largest);
    tern_status status = read_lying(packed_bytes, header + 2000000000, 0);
    tern_alloc_set_gate(NULL, NULL);
    CHECK_EQ(status, TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "more than its") != NULL);
    CHECK(largest < 1 << 20);
    /* a directory that says less than the stream unpacks to */
    CHECK_STATUS(read_lying(packed_bytes, header + 10, 0), TERN_FORMAT);
}
#else
TEST(compressed_members_that_lie_are_refused)
{
    SKIP("built without zlib");
}
#endif

/* ---- writing ------------------------------------------------------------------------------------------- */

static float weights[6] = {1, 2, 3, 4, 5, 6};
static int8_t bytes_[3] = {-1, 0, 1};
static double scalar = 2.5;

/* Three items: a transposed matrix, a vector and a scalar. */
static void make_items(tern__type types[3], tern__layout layouts[3], tern__npz_item items[3])
{
    tern__type whole;
    tern__layout contiguous;
    CHECK_OK(tern__type_make("t", TERN_F32, 2, (int64_t[]){2, 3}, &whole));
    tern__layout_contiguous(&whole, &contiguous);
    tern__view_permute(&whole, &contiguous, (int64_t[]){1, 0}, &types[0], &layouts[0]);
    CHECK_OK(tern__type_make("t", TERN_I8, 1, (int64_t[]){3}, &types[1]));
    tern__layout_contiguous(&types[1], &layouts[1]);
    CHECK_OK(tern__type_make("t", TERN_F64, 0, NULL, &types[2]));
    tern__layout_contiguous(&types[2], &layouts[2]);
    items[0] = (tern__npz_item){"weights", &types[0], &layouts[0], weights};
    items[1] = (tern__npz_item){"gr\xc3\xb6\xc3\x9f"
                                "e/x",
                                &types[1], &layouts[1], bytes_};
    items[2] = (tern__npz_item){"s", &types[2], &layouts[2], &scalar};
}

static void check_written(const char *path)
{
    tern__npz *npz;
    tern__type type;
    tern__layout layout;
    tern__storage *storage[3];
    CHECK_OK(tern__npz_open(path, &npz));
    CHECK_EQ(tern__npz_count(npz), 3);
    CHECK_STR(tern__npz_name(npz, 1), "gr\xc3\xb6\xc3\x9f"
                                      "e/x");
    for (int map = 0; map < 2; map++) {
        for (size_t i = 0; i < 3; i++) {
            if (map)
                CHECK_OK(tern__npz_map(npz, i, &type, &layout, &storage[i]));
            else
                CHECK_OK(tern__npz_read(npz, i, NULL, &type, &layout, &storage[i]));
            CHECK_EQ(storage[i]->read_only, map);
            CHECK_EQ((uintptr_t)storage[i]->host % 64, 0);
        }
        if (map)
            tern__npz_close(npz); /* mapped arrays live on */
        const float transposed[6] = {1, 4, 2, 5, 3, 6};
        CHECK(memcmp(storage[0]->host, transposed, sizeof transposed) == 0);
        CHECK(memcmp(storage[1]->host, bytes_, sizeof bytes_) == 0);
        CHECK(memcmp(storage[2]->host, &scalar, sizeof scalar) == 0);
        for (size_t i = 0; i < 3; i++)
            tern__storage_release(storage[i]);
    }
}

TEST(written_archives_are_read_and_mapped)
{
    tern__type types[3];
    tern__layout layouts[3];
    tern__npz_item items[3];
    size_t first_bytes, second_bytes;
    make_items(types, layouts, items);
    CHECK_OK(tern__npz_write(files_path("w.npz"), 3, items));
    check_written(files_path("w.npz"));
    /* the same items give the same bytes */
    CHECK_OK(tern__npz_write(files_path("w2.npz"), 3, items));
    char *first = files_read(files_path("w.npz"), &first_bytes),
         *second = files_read(files_path("w2.npz"), &second_bytes);
    CHECK(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0);
    free(first);
    free(second);
    /* 64-bit records everywhere: as if the archive were larger than 4 GiB */
    CHECK_OK(tern__npz_write_from(files_path("w64.npz"), 3, items, 0));
    check_written(files_path("w64.npz"));
    CHECK_OK(tern__npz_write_from(files_path("some64.npz"), 3, items, 200));
    check_written(files_path("some64.npz"));
    CHECK_OK(tern__npz_write(files_path("none.npz"), 0, NULL));
    tern__npz *npz;
    CHECK_OK(tern__npz_open(files_path("none.npz"), &npz));
    CHECK_EQ(tern__npz_count(npz), 0);
    tern__npz_close(npz);
}

TEST(truncations_of_zip64_archives_are_errors)
{
    tern__type types[3];
    tern__layout layouts[3];
    tern__npz_item items[3];
    size_t bytes;
    make_items(types, layouts, items);
    CHECK_OK(tern__npz_write_from(files_path("t64.npz"), 3, items, 0));
    uint8_t *data = files_read(files_path("t64.npz"), &bytes);
    CHECK_OK(use_everything(data, bytes));
    for (size_t n = 0; n < bytes; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, data, n);
        tern_status status = use_everything(exact, n);
        free(exact);
        CHECK_EQ(status, TERN_FORMAT);
    }
    free(data);
}

TEST(unusable_items_are_not_written)
{
    tern__type types[3];
    tern__layout layouts[3];
    tern__npz_item items[3];
    static char long_name[5000];
    memset(long_name, 'x', sizeof long_name - 1);
    make_items(types, layouts, items);
    items[2].name = "weights";
    CHECK_STATUS(tern__npz_write(files_path("bad.npz"), 3, items), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "two arrays are named 'weights'") != NULL);
    items[2].name = "";
    CHECK_STATUS(tern__npz_write(files_path("bad.npz"), 3, items), TERN_INVALID_ARGUMENT);
    items[2].name = NULL;
    CHECK_STATUS(tern__npz_write(files_path("bad.npz"), 3, items), TERN_INVALID_ARGUMENT);
    items[2].name = "a\nb";
    CHECK_STATUS(tern__npz_write(files_path("bad.npz"), 3, items), TERN_INVALID_ARGUMENT);
    items[2].name = long_name;
    CHECK_STATUS(tern__npz_write(files_path("bad.npz"), 3, items), TERN_INVALID_ARGUMENT);
    long_name[4096] = '\0'; /* the longest that goes */
    CHECK_OK(tern__npz_write(files_path("long.npz"), 3, items));
    items[2].name = "s";
    types[1].dtype = TERN_T2;
    CHECK_STATUS(tern__npz_write(files_path("bad.npz"), 3, items), TERN_DTYPE);
    CHECK(!files_exists(files_path("bad.npz")));
}

static bool fail_nth(void *user, const char *operation)
{
    (void)operation;
    return (*(int *)user)-- != 0;
}

static bool refuse_nth(void *user, size_t bytes)
{
    (void)bytes;
    return (*(int *)user)-- != 0;
}

static tern_status write_or_read(bool write, const tern__npz_item *items)
{
    tern__npz *npz;
    tern_status status;
    if (write)
        return tern__npz_write(files_path("old.npz"), 3, items);
    TERN_TRY(tern__npz_open(files_path("src.npz"), &npz));
    for (size_t i = 0; i < 4; i++) {
        tern__type type;
        tern__layout layout;
        tern__storage *storage;
        if (i == 3)
            status = tern__npz_map(npz, 0, &type, &layout, &storage);
        else
            status = tern__npz_read(npz, i, NULL, &type, &layout, &storage);
        if (status != TERN_OK)
            break;
        tern__storage_release(storage);
    }
    tern__npz_close(npz);
    return status;
}

TEST(a_failure_at_any_step_loses_nothing)
{
    tern__type types[3];
    tern__layout layouts[3];
    tern__npz_item items[3];
    tern_alloc_stats before, after;
    make_items(types, layouts, items);
    CHECK_OK(tern__npz_write(files_path("src.npz"), 3, items));
    tern_alloc_get_stats(&before);
    for (int kind = 0; kind < 4; kind++) {
        bool memory = kind & 1, write = kind & 2;
        tern_status status = TERN_INTERNAL;
        int n = 0;
        for (; status != TERN_OK; n++) {
            int left = n;
            size_t bytes;
            CHECK(n < 100);
            CHECK(files_write(files_path("old.npz"), "the old file", 12));
            int entries = files_count();
            if (memory)
                tern_alloc_set_gate(refuse_nth, &left);
            else
                tern__file_set_gate(fail_nth, &left);
            status = write_or_read(write, items);
            tern_alloc_set_gate(NULL, NULL);
            tern__file_set_gate(NULL, NULL);
            CHECK_EQ(files_count(), entries);
            if (status == TERN_OK)
                break;
            CHECK_EQ(status, memory ? TERN_OUT_OF_MEMORY : TERN_IO);
            char *old = files_read(files_path("old.npz"), &bytes);
            CHECK(old != NULL && bytes == 12 && memcmp(old, "the old file", 12) == 0);
            free(old);
        }
        CHECK(n >= 1);
    }
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

TEST(foreign_object_archives_are_refused)
{
    static const char *const NAMES[] = {"npy/py2-objarr.npz", "npy/py3-objarr.npz"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = files_shared(NAMES[i]);
        tern__npz *npz;
        tern__type type;
        tern__layout layout;
        tern__storage *storage = NULL;
        if (path == NULL)
            SKIP(files_shared_absent());
        CHECK_OK(tern__npz_open(path, &npz));
        CHECK_EQ(tern__npz_count(npz), 1);
        CHECK_STR(tern__npz_name(npz, 0), "x");
        CHECK_STATUS(tern__npz_read(npz, 0, NULL, &type, &layout, &storage), TERN_UNSUPPORTED);
        CHECK(strstr(tern_last_error(), "Python objects") != NULL);
        CHECK_STATUS(tern__npz_map(npz, 0, &type, &layout, &storage), TERN_UNSUPPORTED);
        CHECK(storage == NULL);
        tern__npz_close(npz);
    }
}

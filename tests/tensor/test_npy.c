/* .npy: what is accepted and refused, round trips, mapping, conversion in chunks, and failing disks. */
#include "harness.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "tensor/convert.h"
#include "base/file.h"
#include "tensor/files.h"
#include "tensor/npy.h"
#include "tensor/ternary.h"

/* A file in memory: preamble of the version, the literal as it is, and `data_bytes` counting up. */
static size_t build(int major, const char *literal, size_t data_bytes, uint8_t *out)
{
    size_t length = strlen(literal), at = 8;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)major;
    out[7] = 0;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        out[at++] = (uint8_t)(length >> (8 * i));
    memcpy(out + at, literal, length);
    at += length;
    for (size_t i = 0; i < data_bytes; i++)
        out[at++] = (uint8_t)(i + 1);
    return at;
}

static tern_status parse(int major, const char *literal, tern__npy_header *header)
{
    static uint8_t file[1 << 17];
    size_t bytes = build(major, literal, 0, file);
    return tern__npy_parse("x.npy", file, bytes, header);
}

static const struct accepted {
    int major;
    const char *literal, *type;
    bool fortran_order, swapped;
} ACCEPTED[] = {
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", "f32[2,3]", false, false},
    {1, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "bool[]", false, false},
    {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }", "u8[7]", false, false},
    {1, "{'descr': '|i1', 'fortran_order': True, 'shape': (7,), }", "i8[7]", true, false},
    {2, "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 5)}   \n", "i32[0,5]", false, false},
    {3, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3, 4, 5, 6, 7, 8)}", "i64[1,2,3,4,5,6,7,8]",
     false, false},
    {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3,),}", "f16[2,3]", false, false},
    {1, "{'descr': '>f8', 'fortran_order': True, 'shape': (2L, 3L), }", "f64[2,3]", true, true},
    {1, "{'descr': '>i4', 'fortran_order': False, 'shape': (3L,), }", "i32[3]", false, true},
    {1, "{'descr': '>u1', 'fortran_order': False, 'shape': (3,), }", "u8[3]", false, false},
    {1, "{'descr': '=f4', 'fortran_order': False, 'shape': (3,), }", "f32[3]", false, false},
    {1, "{'descr': 'f4', 'fortran_order': False, 'shape': (3,), }", "f32[3]", false, false},
    {1, "{\"shape\":(3,),\"descr\":\"<f4\",\"fortran_order\":True}", "f32[3]", true, false},
    {1, "  {\n 'shape' : ( 3 , 4 ) , 'fortran_order'\t: False, 'descr' :'<f4' , } \r\n ", "f32[3,4]", false,
     false},
};

TEST(headers_that_are_accepted)
{
    for (size_t i = 0; i < sizeof ACCEPTED / sizeof ACCEPTED[0]; i++) {
        const struct accepted *a = &ACCEPTED[i];
        tern__npy_header h;
        char text[TERN__TYPE_TEXT];
        CHECK_OK(parse(a->major, a->literal, &h));
        CHECK_STR(tern__type_text(&h.type, text), a->type);
        CHECK_EQ(h.fortran_order, a->fortran_order);
        CHECK_EQ(h.swapped, a->swapped);
        CHECK_EQ(h.data_offset, strlen(a->literal) + (a->major == 1 ? 10 : 12));
        CHECK_EQ(h.data_bytes, tern__type_bytes(&h.type));
    }
}

#define WITH_DESCR(d) "{'descr': " d ", 'fortran_order': False, 'shape': (3,), }"
#define WITH_SHAPE(s) "{'descr': '<f4', 'fortran_order': False, 'shape': " s ", }"

static const struct refused {
    tern_status status;
    const char *literal, *message; /* what the message says */
} REFUSED[] = {
    {TERN_UNSUPPORTED, WITH_DESCR("'|O'"), "Python objects"},
    {TERN_UNSUPPORTED, WITH_DESCR("'|O8'"), "Python objects"},
    {TERN_UNSUPPORTED, WITH_DESCR("'O'"), "Python objects"},
    {TERN_UNSUPPORTED, WITH_DESCR("[('a', '<f4'), ('b', '|O')]"), "structured"},
    {TERN_UNSUPPORTED, WITH_DESCR("'|V2'"), "bfloat16"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<V2'"), "bfloat16"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<u2'"), "'<u2' are not supported; supported: bool, u8"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<i2'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<u4'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<u8'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<c8'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<f16'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<U10'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<M8[ns]'"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("''"), "not supported"},
    {TERN_UNSUPPORTED, WITH_DESCR("'<f\x01\x02'"),
     "'<f?"
     "?'"},
    {TERN_FORMAT, WITH_DESCR("3"), "where the element type"},
    {TERN_FORMAT, "{'descr': '<f4", "where the element type"},
    {TERN_FORMAT, WITH_DESCR("'<\\x664'"), "where the element type"},
    {TERN_FORMAT, WITH_SHAPE("(-3,)"), "negative"},
    {TERN_FORMAT, WITH_SHAPE("(3, -1)"), "negative"},
    {TERN_FORMAT, WITH_SHAPE("((3, 4), 5)"), "where a size"},
    {TERN_FORMAT, WITH_SHAPE("(3, (4,))"), "where a size"},
    {TERN_FORMAT, WITH_SHAPE("[3, 4]"), "where the shape"},
    {TERN_FORMAT, WITH_SHAPE("3"), "where the shape"},
    {TERN_FORMAT, WITH_SHAPE("(3)"), "not a tuple"},
    {TERN_FORMAT, WITH_SHAPE("(,)"), "where a size"},
    {TERN_FORMAT, WITH_SHAPE("(3,,)"), "where a size"},
    {TERN_FORMAT, WITH_SHAPE("(3 4)"), "',' or ')'"},
    {TERN_FORMAT, WITH_SHAPE("(3.0,)"), "',' or ')'"},
    {TERN_FORMAT, WITH_SHAPE("(1e3,)"), "',' or ')'"},
    {TERN_FORMAT, WITH_SHAPE("(0x3,)"), "',' or ')'"},
    {TERN_FORMAT, WITH_SHAPE("(2*2,)"), "',' or ')'"},
    {TERN_FORMAT, WITH_SHAPE("(True,)"), "where a size"},
    {TERN_FORMAT, WITH_SHAPE("(3, None)"), "where a size"},
    {TERN_OVERFLOW, WITH_SHAPE("(9223372036854775808,)"), "too large"},
    {TERN_OVERFLOW, WITH_SHAPE("(99999999999999999999999999,)"), "too large"},
    {TERN_OVERFLOW, WITH_SHAPE("(9223372036854775807,)"), "does not fit"},
    {TERN_OVERFLOW, WITH_SHAPE("(4294967296, 4294967296)"), "does not fit"},
    {TERN_OVERFLOW, WITH_SHAPE("(0, 9223372036854775807, 9223372036854775807)"), "does not fit"},
    {TERN_UNSUPPORTED, WITH_SHAPE("(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "more than 8 axes"},
    {TERN_FORMAT, WITH_SHAPE("(3,)") " x", "where only spaces"},
    {TERN_FORMAT, WITH_SHAPE("(3,)") "{}", "where only spaces"},
    {TERN_FORMAT, WITH_SHAPE("(3,)") " # comment", "where only spaces"},
    {TERN_FORMAT, "", "ends where '{'"},
    {TERN_FORMAT, "{", "ends where a key"},
    {TERN_FORMAT, "{}", "no 'descr'"},
    {TERN_FORMAT, "{'descr': '<f4', 'shape': (3,)}", "no 'fortran_order'"},
    {TERN_FORMAT, "{'descr': '<f4', 'fortran_order': False}", "no 'shape'"},
    {TERN_FORMAT, "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "True or False"},
    {TERN_FORMAT, "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (3,)}", "',' or '}'"},
    {TERN_FORMAT, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "twice"},
    {TERN_FORMAT, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'extra': 1}",
     "unknown key 'extra'"},
    {TERN_FORMAT, "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}", "',' or '}'"},
    {TERN_FORMAT, "{'descr' '<f4', 'fortran_order': False, 'shape': (3,)}", "':'"},
    {TERN_FORMAT, "{,}", "where a key"},
    {TERN_FORMAT, "__import__('os').system('true')", "where '{'"},
    {TERN_FORMAT, "{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,)}",
     "where the element type"},
};

TEST(headers_that_are_refused)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        tern__npy_header h = {.data_offset = 77};
        tern_status status = parse(1, REFUSED[i].literal, &h);
        if (status != REFUSED[i].status || !strstr(tern_last_error(), REFUSED[i].message) ||
            strncmp(tern_last_error(), "x.npy: ", 7) != 0)
            printf("%s\n  gave %s: %s\n", REFUSED[i].literal, tern_status_name(status), tern_last_error());
        CHECK_EQ(status, REFUSED[i].status);
        CHECK(strstr(tern_last_error(), REFUSED[i].message) != NULL);
        CHECK(strncmp(tern_last_error(), "x.npy: ", 7) == 0);
        CHECK_EQ(h.data_offset, 77);
    }
}

TEST(preambles_that_are_refused)
{
    static uint8_t file[1 << 17];
    tern__npy_header h;
    size_t bytes = build(1, ACCEPTED[0].literal, 0, file);
    CHECK_STATUS(tern__npy_parse("x", NULL, 0, &h), TERN_FORMAT);
    file[6] = 0;
    CHECK_STATUS(tern__npy_parse("x", file, bytes, &h), TERN_UNSUPPORTED);
    file[6] = 4;
    CHECK_STATUS(tern__npy_parse("x", file, bytes, &h), TERN_UNSUPPORTED);
    file[6] = 1;
    file[7] = 1;
    CHECK_STATUS(tern__npy_parse("x", file, bytes, &h), TERN_UNSUPPORTED);
    file[7] = 0;
    file[0] = 'P';
    CHECK_STATUS(tern__npy_parse("x", file, bytes, &h), TERN_FORMAT);
    /* a length that claims 4 GiB is refused by number, before the file is asked for the bytes */
    bytes = build(2, ACCEPTED[0].literal, 0, file);
    memset(file + 8, 0xff, 4);
    CHECK_STATUS(tern__npy_parse("x", file, bytes, &h), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "claims 4294967295 bytes") != NULL);
}

TEST(a_long_padded_header_is_read)
{
    static char literal[65535 + 1];
    static uint8_t file[1 << 17];
    memset(literal, ' ', 65535);
    memcpy(literal, ACCEPTED[0].literal, strlen(ACCEPTED[0].literal) - 1);
    literal[65534] = '\n';
    size_t bytes = build(1, literal, 24, file);
    tern__npy_header h;
    CHECK_OK(tern__npy_parse("x", file, bytes, &h));
    CHECK_EQ(h.data_offset, TERN__NPY_HEADER_MAX);
    CHECK(files_write(files_path("long.npy"), file, bytes));
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    CHECK_OK(tern__npy_read(files_path("long.npy"), NULL, &type, &layout, &storage));
    CHECK(memcmp(storage->host, file + TERN__NPY_HEADER_MAX, 24) == 0);
    tern__storage_release(storage);
}

TEST(every_truncation_is_an_error)
{
    static uint8_t file[1024];
    size_t bytes = build(1, ACCEPTED[0].literal, 24, file);
    tern__type type;
    tern__layout layout;
    tern__storage *storage = NULL;
    for (size_t n = 0; n < bytes; n++) {
        uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees any byte too many */
        memcpy(exact, file, n);
        tern_status status = tern__npy_read_memory("cut", exact, n, NULL, &type, &layout, &storage);
        free(exact);
        CHECK_EQ(status, TERN_FORMAT);
        CHECK(files_write(files_path("cut.npy"), file, n));
        CHECK_STATUS(tern__npy_read(files_path("cut.npy"), NULL, &type, &layout, &storage), TERN_FORMAT);
        CHECK_STATUS(tern__npy_map(files_path("cut.npy"), false, &type, &layout, &storage), TERN_FORMAT);
    }
    CHECK_OK(tern__npy_read_memory("whole", file, bytes, NULL, &type, &layout, &storage));
    tern__storage_release(storage);
    storage = NULL;
    file[bytes] = 0;
    CHECK_STATUS(tern__npy_read_memory("more", file, bytes + 1, NULL, &type, &layout, &storage), TERN_FORMAT);
    CHECK_STR(tern_last_error(),
              "more: 1 bytes follow the array f32[2,3] (several arrays in one file are not supported)");
    CHECK(storage == NULL);
}

TEST(written_headers_are_numpys)
{
    char header[TERN__NPY_HEADER_WRITTEN], want[128];
    size_t bytes;
    tern__type type;
    CHECK_OK(tern__type_make("t", TERN_F32, 2, (int64_t[]){2, 3}, &type));
    CHECK_OK(tern__npy_format(&type, false, header, &bytes));
    const char *text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    memset(want, ' ', 128);
    memcpy(want, "\x93NUMPY\x01\x00v\x00", 10); /* 'v' is 118 */
    memcpy(want + 10, text, strlen(text));
    want[127] = '\n';
    CHECK_EQ(bytes, 128);
    CHECK(memcmp(header, want, 128) == 0);
    CHECK_OK(tern__type_make("t", TERN_BOOL, 1, (int64_t[]){5}, &type));
    CHECK_OK(tern__npy_format(&type, true, header, &bytes));
    CHECK(memcmp(header + 10, "{'descr': '|b1', 'fortran_order': True, 'shape': (5,), }", 56) == 0);
    CHECK_OK(tern__type_make("t", TERN_I64, 0, NULL, &type));
    CHECK_OK(tern__npy_format(&type, false, header, &bytes));
    CHECK(memcmp(header + 10, "{'descr': '<i8', 'fortran_order': False, 'shape': (), } ", 56) == 0);
    /* the longest header there can be fits the buffer and comes back */
    int64_t zero_and_more[8] = {0, 1152921504606846975, 1, 1, 1, 1, 1, 1};
    tern__npy_header back;
    CHECK_OK(tern__type_make("t", TERN_F64, 8, zero_and_more, &type));
    CHECK_OK(tern__npy_format(&type, false, header, &bytes));
    CHECK_OK(tern__npy_parse("t", header, bytes, &back));
    CHECK(bytes % 64 == 0 && tern__type_equal(&type, &back.type));
}

/* ---- round trips --------------------------------------------------------------------------------------- */

static void fill(void *data, size_t bytes, tern_dtype dtype)
{
    for (size_t i = 0; i < bytes; i++) {
        uint32_t words[4];
        tern__philox(harness_seed(), i, words);
        ((uint8_t *)data)[i] = (uint8_t)(dtype == TERN_BOOL ? words[0] % 2 : words[0]);
    }
}

static void round_trip(tern_dtype dtype, int rank, const int64_t *shape, bool map)
{
    static uint8_t data[4096];
    tern__type type, got;
    tern__layout layout, got_layout;
    tern__storage *storage = NULL;
    const char *path = files_path("trip.npy");
    CHECK_OK(tern__type_make("t", dtype, rank, shape, &type));
    tern__layout_contiguous(&type, &layout);
    fill(data, sizeof data, dtype);
    CHECK_OK(tern__npy_write(path, &type, &layout, data));
    if (map)
        CHECK_OK(tern__npy_map(path, false, &got, &got_layout, &storage));
    else
        CHECK_OK(tern__npy_read(path, NULL, &got, &got_layout, &storage));
    CHECK(tern__type_equal(&type, &got));
    CHECK(tern__layout_is_contiguous(&got, &got_layout));
    CHECK_EQ(storage->bytes, tern__type_bytes(&type));
    CHECK_EQ(storage->read_only, map);
    CHECK(memcmp(storage->host, data, storage->bytes) == 0);
    tern__storage_release(storage);
}

static const tern_dtype SUPPORTED[] = {TERN_BOOL, TERN_U8,  TERN_I8,  TERN_I32,
                                       TERN_I64,  TERN_F16, TERN_F32, TERN_F64};

TEST(every_type_and_rank_round_trips)
{
    static const int64_t SHAPE[8] = {2, 1, 3, 2, 1, 2, 2, 3};
    for (size_t d = 0; d < 8; d++) {
        for (int rank = 0; rank <= 8 && !harness_failed(); rank++) {
            round_trip(SUPPORTED[d], rank, SHAPE, false);
            round_trip(SUPPORTED[d], rank, SHAPE, true);
        }
        round_trip(SUPPORTED[d], 2, (int64_t[]){0, 3}, false);
        round_trip(SUPPORTED[d], 3, (int64_t[]){2, 0, 3}, true);
    }
}

TEST(strided_sources_are_written_row_by_row)
{
    enum { ROWS = 300, COLUMNS = 70 }; /* larger than the gathering buffer */
    static int32_t data[ROWS * COLUMNS * 2], got[ROWS * COLUMNS];
    tern__type type, view, back;
    tern__layout layout, strided;
    tern__storage *storage;
    for (int i = 0; i < ROWS * COLUMNS * 2; i++)
        data[i] = i;
    CHECK_OK(tern__type_make("t", TERN_I32, 3, (int64_t[]){COLUMNS, 2, ROWS}, &type));
    tern__layout_contiguous(&type, &layout);
    tern__view_permute(&type, &layout, (int64_t[]){2, 0, 1}, &view, &strided);
    /* [ROWS, COLUMNS, 2] -> rows backwards, second of two */
    tern__view_slice(&view, &strided, (int64_t[]){ROWS - 1, 0, 1}, (int64_t[]){ROWS, COLUMNS, 1},
                     (int64_t[]){-1, 1, 1}, &view, &strided);
    CHECK_OK(tern__npy_write(files_path("strided.npy"), &view, &strided, data));
    CHECK_OK(tern__npy_read(files_path("strided.npy"), NULL, &back, &layout, &storage));
    CHECK(tern__type_equal(&back, &view));
    memcpy(got, storage->host, sizeof got);
    tern__storage_release(storage);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            CHECK_EQ(got[r * COLUMNS + c], (c * 2 + 1) * ROWS + (ROWS - 1 - r));
    }
}

TEST(big_endian_is_swapped_on_reading)
{
    static uint8_t file[512];
    tern__type type;
    tern__layout layout;
    tern__storage *storage = NULL;
    size_t bytes = build(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }    ", 8, file);
    CHECK(files_write(files_path("big.npy"), file, bytes));
    CHECK_OK(tern__npy_read(files_path("big.npy"), NULL, &type, &layout, &storage));
    const int32_t *i32 = storage->host;
    CHECK(type.dtype == TERN_I32 && i32[0] == 0x01020304 && i32[1] == 0x05060708);
    tern__storage_release(storage);
    storage = NULL;
    CHECK_STATUS(tern__npy_map(files_path("big.npy"), false, &type, &layout, &storage), TERN_UNSUPPORTED);
    CHECK(storage == NULL);

    bytes = build(1, "{'descr': '>f2', 'fortran_order': False, 'shape': (2,), }", 4, file);
    CHECK_OK(tern__npy_read_memory("x", file, bytes, NULL, &type, &layout, &storage));
    CHECK_EQ(((uint16_t *)storage->host)[1], 0x0304);
    tern__storage_release(storage);
    bytes = build(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (), }", 8, file);
    CHECK_OK(tern__npy_read_memory("x", file, bytes, NULL, &type, &layout, &storage));
    CHECK_EQ(*(int64_t *)storage->host, 0x0102030405060708);
    tern__storage_release(storage);
}

TEST(fortran_order_is_a_strided_view)
{
    static uint8_t file[512];
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    const char *path = files_path("fortran.npy");
    /* the header is 64 bytes long, so that the file can be mapped */
    size_t bytes = build(1, "{'descr': '|u1','fortran_order': True,'shape': (2,3,4)}", 24, file);
    CHECK(files_write(path, file, bytes));
    for (int map = 0; map < 2; map++) {
        if (map)
            CHECK_OK(tern__npy_map(path, true, &type, &layout, &storage));
        else
            CHECK_OK(tern__npy_read(path, NULL, &type, &layout, &storage));
        CHECK(layout.offset == 0 && layout.strides[0] == 1 && layout.strides[1] == 2 &&
              layout.strides[2] == 6);
        CHECK(tern__layout_fits(&type, &layout, storage->bytes));
        CHECK_EQ(((uint8_t *)storage->host)[1 * 1 + 2 * 2 + 3 * 6], 24); /* [1,2,3] is the last */
        /* written again it is in C order */
        CHECK_OK(tern__npy_write(files_path("c.npy"), &type, &layout, storage->host));
        tern__storage_release(storage);
        CHECK_OK(tern__npy_read(files_path("c.npy"), NULL, &type, &layout, &storage));
        CHECK(tern__layout_is_contiguous(&type, &layout));
        CHECK_EQ(((uint8_t *)storage->host)[1], 7); /* [0,0,1] */
        tern__storage_release(storage);
    }
}

TEST(arrays_off_their_alignment_are_read_but_not_mapped)
{
    static uint8_t file[512];
    tern__type type;
    tern__layout layout;
    tern__storage *storage = NULL;
    size_t bytes =
        build(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, file); /* data at 67 */
    CHECK(files_write(files_path("crooked.npy"), file, bytes));
    CHECK_STATUS(tern__npy_map(files_path("crooked.npy"), false, &type, &layout, &storage), TERN_UNSUPPORTED);
    CHECK_OK(tern__npy_read(files_path("crooked.npy"), NULL, &type, &layout, &storage));
    CHECK(memcmp(storage->host, file + 67, 8) == 0);
    tern__storage_release(storage);
}

TEST(bools_are_made_0_or_1)
{
    static uint8_t file[512];
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    size_t bytes = build(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3, file);
    file[bytes - 1] = 0;
    CHECK_OK(tern__npy_read_memory("x", file, bytes, NULL, &type, &layout, &storage));
    CHECK(memcmp(storage->host, "\1\1\0", 3) == 0);
    tern__storage_release(storage);
}

TEST(types_without_a_form_are_not_written)
{
    tern__type type;
    tern__layout layout;
    uint8_t data[16] = {0};
    static const struct {
        tern_dtype dtype;
        const char *message;
    } CASES[] = {{TERN_BF16, "a .npy file cannot hold bf16; cast to f32 first"},
                 {TERN_T2, "a .npy file cannot hold t2; cast to i8 first"},
                 {TERN_T5, "a .npy file cannot hold t5; cast to i8 first"}};
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(tern__type_make("t", CASES[i].dtype, 1, (int64_t[]){4}, &type));
        tern__layout_contiguous(&type, &layout);
        CHECK_STATUS(tern__npy_write(files_path("no.npy"), &type, &layout, data), TERN_DTYPE);
        CHECK_STR(tern_last_error(), CASES[i].message);
        CHECK(!files_exists(files_path("no.npy")));
    }
}

/* ---- conversion in chunks ------------------------------------------------------------------------------ */

TEST(conversion_in_chunks_is_bit_equal_to_one_shot)
{
    enum { COUNT = 5000 };
    static _Alignas(8) uint8_t data[COUNT * 8], want[COUNT * 8];
    tern__type type;
    tern__layout layout;
    for (size_t f = 0; f < 8; f++) {
        for (size_t t = 0; t < 8; t++) {
            tern__storage *storage;
            tern_dtype from = SUPPORTED[f], to = SUPPORTED[t];
            CHECK_OK(tern__type_make("t", from, 2, (int64_t[]){50, 100}, &type));
            tern__layout_contiguous(&type, &layout);
            fill(data, sizeof data, from);
            tern__convert(from, data, 1, to, want, 1, COUNT);
            CHECK_OK(tern__npy_write(files_path("in.npy"), &type, &layout, data));
            CHECK_OK(tern__npy_convert(files_path("in.npy"), files_path("out.npy"), to, 4096 + f * 100));
            CHECK_OK(tern__npy_read(files_path("out.npy"), NULL, &type, &layout, &storage));
            CHECK(type.dtype == to && type.shape[0] == 50 && type.shape[1] == 100);
            CHECK(memcmp(storage->host, want, tern__type_bytes(&type)) == 0);
            tern__storage_release(storage);
        }
    }
}

TEST(conversion_keeps_order_and_swaps_bytes)
{
    static uint8_t file[512];
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    size_t bytes = build(1, "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 2), }", 16, file);
    CHECK(files_write(files_path("same.npy"), file, bytes));
    CHECK_OK(
        tern__npy_convert(files_path("same.npy"), files_path("same.npy"), TERN_I64, 1)); /* onto itself */
    CHECK_OK(tern__npy_read(files_path("same.npy"), NULL, &type, &layout, &storage));
    CHECK(type.dtype == TERN_I64 && layout.strides[0] == 1 && layout.strides[1] == 2);
    CHECK_EQ(((int64_t *)storage->host)[3], 0x0d0e0f10);
    tern__storage_release(storage);
    CHECK_STATUS(tern__npy_convert(files_path("same.npy"), files_path("t2.npy"), TERN_T2, 0), TERN_DTYPE);
    CHECK_STATUS(tern__npy_convert(files_path("same.npy"), files_path("x.npy"), (tern_dtype)55, 0),
                 TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__npy_convert(files_path("nothing.npy"), files_path("x.npy"), TERN_I8, 0),
                 TERN_NOT_FOUND);
}

static bool remember_largest(void *user, size_t bytes)
{
    size_t *largest = user;
    *largest = bytes > *largest ? bytes : *largest;
    return true;
}

TEST(conversion_of_a_large_file_takes_little_memory)
{
    enum { COUNT = 2 << 20 };
    uint8_t *data = calloc(COUNT, 1);
    tern__type type;
    tern__layout layout;
    tern_alloc_stats before, after;
    size_t largest = 0;
    CHECK(data != NULL);
    CHECK_OK(tern__type_make("t", TERN_U8, 1, (int64_t[]){COUNT}, &type));
    tern__layout_contiguous(&type, &layout);
    CHECK_OK(tern__npy_write(files_path("large.npy"), &type, &layout, data));
    free(data);
    tern_alloc_get_stats(&before);
    tern_alloc_set_gate(remember_largest, &largest);
    tern_status status =
        tern__npy_convert(files_path("large.npy"), files_path("large64.npy"), TERN_F64, 65536);
    tern_alloc_set_gate(NULL, NULL);
    tern_alloc_get_stats(&after);
    CHECK_OK(status);
    CHECK(largest <= 65536 && after.allocations - before.allocations < 8);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    struct stat info;
    CHECK_EQ(stat(files_path("large64.npy"), &info), 0);
    CHECK_EQ(info.st_size, 128 + 8 * (off_t)COUNT);
}

/* ---- failing disks and memory -------------------------------------------------------------------------- */

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

/* One of the things that are to be done with failing parts. */
static tern_status act(int kind, const tern__type *type, const tern__layout *layout, const void *data)
{
    tern__type got;
    tern__layout got_layout;
    tern__storage *storage;
    tern_status status;
    if (kind == 0)
        return tern__npy_write(files_path("old.npy"), type, layout, data);
    if (kind == 1)
        return tern__npy_convert(files_path("src.npy"), files_path("old.npy"), TERN_F64, 4096);
    if (kind == 2)
        status = tern__npy_read(files_path("src.npy"), NULL, &got, &got_layout, &storage);
    else
        status = tern__npy_map(files_path("src.npy"), false, &got, &got_layout, &storage);
    if (status == TERN_OK)
        tern__storage_release(storage);
    return status;
}

TEST(a_failure_at_any_step_loses_nothing)
{
    static int32_t data[4000];
    tern__type type;
    tern__layout layout;
    tern_alloc_stats before, after;
    CHECK_OK(tern__type_make("t", TERN_I32, 1, (int64_t[]){4000}, &type));
    tern__layout_contiguous(&type, &layout);
    CHECK_OK(tern__npy_write(files_path("src.npy"), &type, &layout, data));
    tern_alloc_get_stats(&before);
    int entries = 0;
    for (int memory = 0; memory < 2; memory++) {
        for (int kind = 0; kind < 4; kind++) {
            int failures = 0;
            tern_status status = TERN_INTERNAL;
            for (int n = 0; status != TERN_OK; n++) {
                int left = n;
                size_t bytes;
                CHECK(n < 100);
                CHECK(files_write(files_path("old.npy"), "the old file", 12));
                entries = files_count();
                if (memory)
                    tern_alloc_set_gate(refuse_nth, &left);
                else
                    tern__file_set_gate(fail_nth, &left);
                status = act(kind, &type, &layout, data);
                tern_alloc_set_gate(NULL, NULL);
                tern__file_set_gate(NULL, NULL);
                CHECK_EQ(files_count(), entries); /* no temporary file stays behind */
                if (status == TERN_OK)
                    break;
                failures++;
                CHECK_EQ(status, memory ? TERN_OUT_OF_MEMORY : TERN_IO);
                char *old = files_read(files_path("old.npy"), &bytes);
                CHECK(old != NULL && bytes == 12 && memcmp(old, "the old file", 12) == 0);
                free(old);
            }
            CHECK(failures >= 1);
        }
    }
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

/* Arrays of one value each, until somebody ends the process. */
static void write_for_ever(const char *path, const tern__type *type, const tern__layout *layout,
                           int32_t *data, int count)
{
    for (int32_t n = 0;; n++) {
        for (int i = 0; i < count; i++)
            data[i] = n;
        if (tern__npy_write(path, type, layout, data) != TERN_OK)
            _exit(1);
    }
}

TEST(a_killed_writer_leaves_the_old_file_or_the_new_one)
{
    enum { COUNT = 200000, KILLS = 20 };
    static int32_t data[COUNT];
    tern__type type;
    tern__layout layout;
    const char *path = files_path("killed.npy");
    CHECK_OK(tern__type_make("t", TERN_I32, 1, (int64_t[]){COUNT}, &type));
    tern__layout_contiguous(&type, &layout);
    CHECK_OK(tern__npy_write(path, &type, &layout, data));
    for (int round = 0; round < KILLS; round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            write_for_ever(path, &type, &layout, data, COUNT);
        usleep(1000 + 1700 * (useconds_t)round);
        CHECK_EQ(kill(child, SIGKILL), 0);
        CHECK_EQ(waitpid(child, NULL, 0), child);
        tern__storage *storage;
        tern__type got;
        tern__layout got_layout;
        CHECK_OK(tern__npy_read(path, NULL, &got, &got_layout, &storage));
        const int32_t *read = storage->host;
        bool whole = true;
        for (int i = 0; i < COUNT; i++)
            whole = whole && read[i] == read[0];
        tern__storage_release(storage);
        CHECK(whole);
    }
}

TEST(only_regular_files_are_replaced)
{
    tern__type type;
    tern__layout layout;
    float data[1] = {1.5f};
    struct stat info;
    CHECK_OK(tern__type_make("t", TERN_F32, 1, (int64_t[]){1}, &type));
    tern__layout_contiguous(&type, &layout);
    CHECK_EQ(mkfifo(files_path("fifo"), 0600), 0);
    CHECK_STATUS(tern__npy_write(files_path("fifo"), &type, &layout, data), TERN_IO);
    CHECK(stat(files_path("fifo"), &info) == 0 && S_ISFIFO(info.st_mode));
    CHECK_STATUS(tern__npy_write(files_path(""), &type, &layout, data), TERN_IO);
    CHECK_STATUS(tern__npy_write(files_path("no/such/folder.npy"), &type, &layout, data), TERN_IO);
    CHECK_STATUS(tern__npy_write("", &type, &layout, data), TERN_INVALID_ARGUMENT);
    /* a link stays a link, and the file keeps its permissions */
    CHECK(files_write(files_path("target.npy"), "x", 1));
    CHECK_EQ(chmod(files_path("target.npy"), 0640), 0);
    CHECK_EQ(symlink("target.npy", files_path("link.npy")), 0);
    CHECK_OK(tern__npy_write(files_path("link.npy"), &type, &layout, data));
    CHECK(lstat(files_path("link.npy"), &info) == 0 && S_ISLNK(info.st_mode));
    CHECK(stat(files_path("target.npy"), &info) == 0);
    CHECK_EQ(info.st_size, 132);
    CHECK_EQ(info.st_mode & 0777, 0640);
    /* also one that leads nowhere yet, through another link and a folder; a circle is refused */
    CHECK_EQ(mkdir(files_path("folder"), 0700), 0);
    CHECK_EQ(symlink("folder/second.npy", files_path("first.npy")), 0);
    CHECK_EQ(symlink("new.npy", files_path("folder/second.npy")), 0);
    CHECK_OK(tern__npy_write(files_path("first.npy"), &type, &layout, data));
    CHECK(lstat(files_path("first.npy"), &info) == 0 && S_ISLNK(info.st_mode));
    CHECK(lstat(files_path("folder/second.npy"), &info) == 0 && S_ISLNK(info.st_mode));
    CHECK(lstat(files_path("folder/new.npy"), &info) == 0 && S_ISREG(info.st_mode));
    CHECK_EQ(info.st_size, 132);
    CHECK_EQ(symlink("circle.npy", files_path("circle.npy")), 0);
    CHECK_STATUS(tern__npy_write(files_path("circle.npy"), &type, &layout, data), TERN_IO);
}

/* ---- files that others made ---------------------------------------------------------------------------- */

TEST(foreign_object_arrays_are_refused)
{
    static const char *const NAMES[] = {"npy/py2-np0-objarr.npy", "npy/py2-objarr.npy", "npy/py3-objarr.npy"};
    for (size_t i = 0; i < 3; i++) {
        const char *path = files_shared(NAMES[i]);
        tern__type type;
        tern__layout layout;
        tern__storage *storage = NULL;
        if (path == NULL)
            SKIP(files_shared_absent());
        CHECK_STATUS(tern__npy_read(path, NULL, &type, &layout, &storage), TERN_UNSUPPORTED);
        CHECK(strstr(tern_last_error(), "Python objects") != NULL);
        CHECK_STATUS(tern__npy_map(path, false, &type, &layout, &storage), TERN_UNSUPPORTED);
        CHECK(storage == NULL);
    }
}

TEST(foreign_ternary_weights_pack_and_unpack)
{
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    const char *path = files_shared("ternary-formats/w_ternary_i8_16x512.npy");
    if (path == NULL)
        SKIP(files_shared_absent());
    CHECK_OK(tern__npy_map(path, false, &type, &layout, &storage));
    CHECK(type.dtype == TERN_I8 && type.rank == 2 && type.shape[0] == 16 && type.shape[1] == 512);
    for (int d = TERN_T2; d <= TERN_T5; d++) {
        uint8_t packed[16 * 128];
        int8_t back[512];
        int64_t row_bytes = tern__row_units((tern_dtype)d, 512), bad;
        CHECK_EQ(row_bytes, d == TERN_T2 ? 128 : 103);
        for (int64_t r = 0; r < 16; r++) {
            const int8_t *row = (const int8_t *)storage->host + r * 512;
            tern__convert_row(TERN_I8, row, (tern_dtype)d, packed + r * row_bytes, 512);
            tern__convert_row((tern_dtype)d, packed + r * row_bytes, TERN_I8, back, 512);
            CHECK(memcmp(row, back, 512) == 0);
        }
        CHECK(tern__ternary_valid((tern_dtype)d, packed, 16, 512, &bad));
    }
    tern__storage_release(storage);
}

TEST(foreign_activations_load)
{
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    char text[TERN__TYPE_TEXT];
    static const struct {
        const char *name, *type;
    } FILES[] = {{"acc_i32_5x16", "i32[5,16]"},
                 {"latent_w_absmean", "f32[1]"},
                 {"latent_w_f32_16x512", "f32[16,512]"},
                 {"latent_w_ternary_i8", "i8[16,512]"},
                 {"scale_f32", "f32[1]"},
                 {"x_f32_5x512", "f32[5,512]"},
                 {"x_i8", "i8[5,512]"},
                 {"x_scale_127_over_absmax", "f32[5,1]"},
                 {"y_f32_autobitlinear_5x16", "f32[5,16]"}};
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        char name[100];
        snprintf(name, sizeof name, "ternary-formats/%s.npy", FILES[i].name);
        const char *path = files_shared(name);
        if (path == NULL)
            SKIP(files_shared_absent());
        CHECK_OK(tern__npy_read(path, NULL, &type, &layout, &storage));
        CHECK_STR(tern__type_text(&type, text), FILES[i].type);
        for (int64_t k = 0; type.dtype == TERN_F32 && k < tern__type_numel(&type); k++)
            CHECK(isfinite(((float *)storage->host)[k]));
        tern__storage_release(storage);
    }
}

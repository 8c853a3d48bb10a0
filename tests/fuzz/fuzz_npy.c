/* fuzz_npy.c - libFuzzer entry for .npy: any bytes either give an array that is all there, or an error.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_npy.c
 *     fuzz_npy -max_total_time=120 CORPUS      an empty corpus is fine: seeds are mixed in by the mutator
 * below */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tensor/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Counts the bytes, and reads each so that a sanitizer sees them. */
static tern_status consume(void *user, const void *data, size_t bytes)
{
    size_t *total = user;
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
    *total += bytes;
    return TERN_OK;
}

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern__type type;
    tern__layout layout;
    tern__storage *storage;
    tern__npy_header header;
    tern_status status = tern__npy_read_memory("fuzz", data, size, NULL, &type, &layout, &storage);
    if (status != TERN_OK) {
        require(tern_last_error()[0] != '\0');
        return 0;
    }
    /* what was accepted is consistent: the header agrees, all elements are inside, and it can be written
     * again */
    size_t total = 0, bytes;
    char again[TERN__NPY_HEADER_WRITTEN];
    tern__npy_header back;
    require(tern__npy_parse("fuzz", data, size, &header) == TERN_OK);
    require(header.data_offset + header.data_bytes == size && storage->bytes == header.data_bytes);
    require(tern__layout_fits(&type, &layout, storage->bytes));
    require(tern__npy_emit(&type, &layout, storage->host, consume, &total) == TERN_OK);
    require(total == header.data_bytes);
    require(tern__npy_format(&type, header.fortran_order, again, &bytes) == TERN_OK);
    require(tern__npy_parse("again", again, bytes, &back) == TERN_OK);
    require(tern__type_equal(&type, &back.type) && header.fortran_order == back.fortran_order);
    tern__storage_release(storage);
    return 0;
}

/* Now and then the input is replaced by a valid file, or its header text by one of the pieces that headers
 * are made of; blind mutation would rarely find them. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static const char *const PIECES[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "'descr': '>i8', ",
        "'fortran_order': True, ",
        "'shape': (3L,), ",
        "(1, 2, 3, 4, 5, 6, 7, 8)",
        "[('a', '<f4')]",
        "'|O'",
        "9223372036854775807",
        "()",
        "}",
        "{",
    };
    if (seed % 50 == 0 && max_size >= 256) {
        tern__type type;
        size_t bytes;
        int64_t shape[3] = {seed / 50 % 4, seed / 200 % 4, 2};
        if (tern__type_make("seed", (tern_dtype)(seed / 800 % 6), (int)(seed / 5000 % 4), shape, &type) ==
                TERN_OK &&
            tern__npy_format(&type, seed / 7 % 2, (char *)data, &bytes) == TERN_OK) {
            size_t array = tern__type_bytes(&type);
            if (bytes + array <= max_size) {
                memset(data + bytes, 1, array);
                return bytes + array;
            }
        }
    }
    if (seed % 5 == 0 && size > 10) {
        const char *piece = PIECES[seed / 5 % (sizeof PIECES / sizeof PIECES[0])];
        size_t length = strlen(piece), at = 10 + seed / 100 % (size - 10);
        if (at + length <= max_size) {
            memcpy(data + at, piece, length);
            size = size > at + length ? size : at + length;
        }
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

/* fuzz_npz.c - libFuzzer entry for .npz: any bytes either give arrays that are all there, or errors.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_npz.c
 *     fuzz_npz -max_total_time=120 CORPUS      an empty corpus is fine: seeds are mixed in by the mutator
 * below */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tensor/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static void require(int condition)
{
    if (!condition)
        abort();
}

/* Reads each byte, so that a sanitizer sees it. */
static void touch(const tern__storage *storage)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < storage->bytes; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)storage->host)[i]);
}

static void use_member(const tern__npz *npz, size_t i, size_t archive_bytes)
{
    tern__type type, mapped_type;
    tern__layout layout, mapped_layout;
    tern__storage *storage, *mapped;
    size_t found;
    require(tern__npz_find(npz, tern__npz_name(npz, i), &found) == TERN_OK && found == i);
    if (tern__npz_read(npz, i, NULL, &type, &layout, &storage) == TERN_OK) {
        require(tern__layout_fits(&type, &layout, storage->bytes));
        require(storage->bytes / 1032 <= archive_bytes); /* no more than deflate can pack */
        touch(storage);
        tern__storage_release(storage);
    }
    if (tern__npz_map(npz, i, &mapped_type, &mapped_layout, &mapped) == TERN_OK) {
        require(tern__layout_fits(&mapped_type, &mapped_layout, mapped->bytes));
        touch(mapped);
        tern__storage_release(mapped);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern__npz *npz;
    if (tern__npz_open_memory("fuzz", data, size, &npz) != TERN_OK) {
        require(tern_last_error()[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < tern__npz_count(npz); i++)
        use_member(npz, i, size);
    tern__npz_close(npz);
    return 0;
}

/* A deflated member, as numpy.savez_compressed makes it: the array uint8 [1, 2, 3] under the key "a". */
/* clang-format off */
static const uint8_t COMPRESSED[] = {
    0x50, 0x4b, 0x03, 0x04, 0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x2a, 0xe3,
    0x8e, 0xb1, 0x47, 0x00, 0x00, 0x00, 0x83, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x61, 0x2e,
    0x6e, 0x70, 0x79, 0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e,
    0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x5e, 0x53, 0x6a, 0xa8, 0xae, 0xa3, 0xa0, 0x9e,
    0x96, 0x5f, 0x54, 0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc,
    0x29, 0x4e, 0x05, 0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0xc6, 0x3a, 0x9a, 0x3a,
    0x0a, 0xb5, 0x0a, 0x14, 0x00, 0x2e, 0x46, 0x26, 0x66, 0x00, 0x50, 0x4b, 0x01, 0x02, 0x14, 0x03,
    0x14, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0x2a, 0xe3, 0x8e, 0xb1, 0x47, 0x00,
    0x00, 0x00, 0x83, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x61, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05,
    0x06, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x33, 0x00, 0x00, 0x00, 0x6a, 0x00, 0x00,
    0x00, 0x00, 0x00,
};
/* clang-format on */

/* Valid archives, with plain and with 64-bit records. */
static size_t write_seed(uint8_t *data, size_t max_size, unsigned int seed)
{
    char path[64];
    int32_t values[4] = {1, 2, 3, 4};
    tern__type type;
    tern__layout layout;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/tern-fuzz-%ld.npz", P_tmpdir, (long)getpid());
    if (tern__type_make("seed", TERN_I32, 2, (int64_t[]){2, 2}, &type) != TERN_OK)
        return 0;
    tern__layout_contiguous(&type, &layout);
    tern__npz_item items[2] = {{"a", &type, &layout, values}, {"b", &type, &layout, values}};
    if (tern__npz_write_from(path, 1 + seed % 2, items, seed % 3 == 0 ? 0 : UINT32_MAX) != TERN_OK)
        return 0;
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        bytes = fread(data, 1, max_size, file);
        fclose(file);
    }
    unlink(path);
    return bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    if (seed % 1000 == 0) {
        size_t bytes = write_seed(data, max_size, seed / 1000);
        if (bytes > 0)
            return bytes;
    }
    if (seed % 1000 == 1 && sizeof COMPRESSED <= max_size) {
        memcpy(data, COMPRESSED, sizeof COMPRESSED);
        return sizeof COMPRESSED;
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

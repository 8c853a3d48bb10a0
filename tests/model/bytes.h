/* bytes.h - model files made byte by byte, right or wrong, and where the shared ones are. */
#ifndef TERN_TESTS_MODEL_BYTES_H
#define TERN_TESTS_MODEL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/model_file.h>

/* A file under construction; room for what tests need. Zeroed = empty. */
typedef struct bytes {
    uint8_t data[1 << 16];
    size_t n;
} bytes;

void put(bytes *b, const void *data, size_t n);
void put_u8(bytes *b, unsigned value);
void put_u32(bytes *b, uint32_t value);
void put_u64(bytes *b, uint64_t value);
void put_f32(bytes *b, float value);
void put_text(bytes *b, const char *text); /* u64 length and bytes */
void put_zeros(bytes *b, size_t n);
void put_aligned(bytes *b, size_t alignment); /* zeros up to a multiple */

/* GGUF: header, entries of metadata, tensors (sizes innermost first, as in the file). */
void put_gguf(bytes *b, uint32_t version, uint64_t tensors, uint64_t metas);
void put_meta(bytes *b, const char *key, uint32_t type); /* the value follows */
void put_meta_text(bytes *b, const char *key, const char *text);
void put_meta_u32(bytes *b, const char *key, uint32_t value);
void put_tensor(bytes *b, const char *name, uint32_t rank, const uint64_t *sizes, uint32_t type,
                uint64_t offset);

/* Writes them to a file of this test's own, which the next call replaces; its path. */
const char *store(const bytes *b, const char *name);

/* Opens what was stored. */
tern_status open_bytes(const bytes *b, tern_model_file **out);

/* The same from a copy in memory, with nothing behind its last byte, for the caller to free behind the file; it is gone if this
 * fails. */
tern_status open_in_memory(const bytes *b, const char *name, void **copy, tern_model_file **out);

/* Must fail with `status` and one line that contains `words`, allocating no more than the file's size and 64 MiB, from disk and from
 * memory alike. */
void refuse(const bytes *b, tern_status status, const char *words, const char *file, int line);
#define REFUSE(b, status, words) refuse((b), (status), (words), __FILE__, __LINE__)

/* Path of a file of the shared data, which is no part of the repository; NULL if absent. Valid until the next call. */
const char *shared_path(const char *name);
#define NO_SHARED(name) "no foreign file " name ": neither in $TERN_SHARED_DATA nor in ../shared/data"

#endif

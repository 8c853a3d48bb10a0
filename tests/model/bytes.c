/* bytes.c - model files made byte by byte. */
#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/alloc.h>

#include "harness.h"

void put(bytes *b, const void *data, size_t n)
{
    if (b->n + n > sizeof b->data) {
        harness_fail(__FILE__, __LINE__, "the test's file is larger than %zu bytes", sizeof b->data);
        return;
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

void put_u8(bytes *b, unsigned value)
{
    put(b, &(uint8_t){(uint8_t)value}, 1);
}

void put_u32(bytes *b, uint32_t value)
{
    put(b, &value, sizeof value);
}

void put_u64(bytes *b, uint64_t value)
{
    put(b, &value, sizeof value);
}

void put_f32(bytes *b, float value)
{
    put(b, &value, sizeof value);
}

void put_text(bytes *b, const char *text)
{
    put_u64(b, strlen(text));
    put(b, text, strlen(text));
}

void put_zeros(bytes *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_u8(b, 0);
}

void put_aligned(bytes *b, size_t alignment)
{
    while (b->n % alignment)
        put_u8(b, 0);
}

void put_gguf(bytes *b, uint32_t version, uint64_t tensors, uint64_t metas)
{
    put(b, "GGUF", 4);
    put_u32(b, version);
    put_u64(b, tensors);
    put_u64(b, metas);
}

void put_meta(bytes *b, const char *key, uint32_t type)
{
    put_text(b, key);
    put_u32(b, type);
}

void put_meta_text(bytes *b, const char *key, const char *text)
{
    put_meta(b, key, TERN_META_STRING);
    put_text(b, text);
}

void put_meta_u32(bytes *b, const char *key, uint32_t value)
{
    put_meta(b, key, TERN_META_U32);
    put_u32(b, value);
}

void put_tensor(bytes *b, const char *name, uint32_t rank, const uint64_t *sizes, uint32_t type,
                uint64_t offset)
{
    put_text(b, name);
    put_u32(b, rank);
    for (uint32_t i = 0; i < rank; i++)
        put_u64(b, sizes[i]);
    put_u32(b, type);
    put_u64(b, offset);
}

const char *store(const bytes *b, const char *name)
{
    static char path[4096];
    if (!harness_path(path, sizeof path, name))
        return "";
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(b->data, 1, b->n, file) != b->n || fclose(file) != 0)
        harness_fail(__FILE__, __LINE__, "cannot write %s", path);
    return path;
}

tern_status open_bytes(const bytes *b, tern_model_file **out)
{
    return tern_model_file_open(store(b, "model"), NULL, out);
}

/* Refuses what would bring the live bytes above the limit. */
typedef struct meter {
    uint64_t start, most;
    bool exceeded;
} meter;

static bool measure(void *user, size_t wanted)
{
    meter *m = user;
    tern_alloc_stats stats;
    tern_alloc_get_stats(&stats);
    if (stats.live_bytes + wanted > m->start + m->most)
        m->exceeded = true;
    return !m->exceeded;
}

tern_status open_in_memory(const bytes *b, const char *name, void **copy, tern_model_file **out)
{
    *copy = malloc(b->n ? b->n : 1);
    if (!*copy)
        return TERN_OUT_OF_MEMORY;
    memcpy(*copy, b->data, b->n);
    tern_status status = tern_model_file_open_memory(*copy, b->n, name, NULL, out);
    if (status != TERN_OK)
        free(*copy);
    return status;
}

/* From disk, or from memory under the same name: what is said is the same. */
static void refuse_from(bool memory, const bytes *b, tern_status status, const char *words, const char *file,
                        int line)
{
    tern_model_file *opened = NULL;
    tern_alloc_stats before, after;
    void *copy;
    const char *path = store(b, "hostile");
    tern_alloc_get_stats(&before);
    meter m = {before.live_bytes, b->n + (64u << 20), false};
    tern_alloc_set_gate(measure, &m);
    tern_status got =
        memory ? open_in_memory(b, path, &copy, &opened) : tern_model_file_open(path, NULL, &opened);
    tern_alloc_set_gate(NULL, NULL);
    tern_alloc_get_stats(&after);
    const char *said = tern_last_error();
    if (got != status)
        harness_fail(file, line, "opened with %s, not %s (%s)", tern_status_name(got),
                     tern_status_name(status), got == TERN_OK ? "" : said);
    else if (!strstr(said, words) || strchr(said, '\n') || strncmp(said, path, strlen(path)) != 0)
        harness_fail(file, line, "said \"%s\", which should begin with the path and hold \"%s\"", said,
                     words);
    else if (m.exceeded)
        harness_fail(file, line, "allocated more than the file's size and 64 MiB");
    else if (opened || before.live_bytes != after.live_bytes)
        harness_fail(file, line, "left something behind");
    tern_model_file_close(opened);
}

void refuse(const bytes *b, tern_status status, const char *words, const char *file, int line)
{
    const bool is_index = b->n > 0 && b->data[0] == '{'; /* of files that memory does not have beside it */
    refuse_from(false, b, status, words, file, line);
    refuse_from(true, b, is_index ? TERN_UNSUPPORTED : status, is_index ? "index" : words, file, line);
}

const char *shared_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("TERN_SHARED_DATA"), *source = getenv("TERN_SOURCE_DIR");
    if (root)
        snprintf(path, sizeof path, "%s/%s", root, name);
    else
        snprintf(path, sizeof path, "%s/../shared/data/%s", source ? source : ".", name);
    return access(path, R_OK) == 0 ? path : NULL;
}

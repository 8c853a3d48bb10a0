/* Storage: reference counts, borrowing, pools, mapped files and failing allocations. */
#include "gate.h"
#include "harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tensor/files.h"
#include "tensor/storage.h"

TEST(heap_storage_is_aligned_and_freed)
{
    static const size_t SIZES[] = {0, 1, 63, 64, 2047, 2048, 2049, 100000};
    uint64_t before = live_blocks(), last_version = 0;
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        tern__storage *s = NULL;
        CHECK_OK(tern__storage_create(NULL, SIZES[i], 0, &s));
        CHECK_EQ((uintptr_t)s->host % TERN__ALIGN, 0);
        CHECK_EQ(s->bytes, SIZES[i]);
        CHECK(!s->read_only && s->version > last_version); /* of its own, also among those that are gone */
        last_version = s->version;
        memset(s->host, 0xee, SIZES[i]);
        tern__storage_retain(s);
        tern__storage_release(s);
        CHECK(SIZES[i] == 0 || *(uint8_t *)s->host == 0xee);
        tern__storage_release(s);
    }
    tern__storage_release(NULL);
    CHECK_EQ(live_blocks(), before);
}

TEST(pool_storage_goes_back_to_its_pool)
{
    tern_pool *pool;
    tern_pool_stats stats;
    CHECK_OK(tern_pool_create(NULL, &pool));
    static const size_t SIZES[] = {16, 2048, 4096, 1 << 20};
    for (size_t i = 0; i < 4; i++) {
        tern__storage *s;
        CHECK_OK(tern__storage_create(pool, SIZES[i], 7, &s));
        CHECK_EQ((uintptr_t)s->host % TERN__ALIGN, 0);
        CHECK(s->pool == pool);
        memset(s->host, 1, SIZES[i]);
        tern_pool_get_stats(pool, &stats);
        CHECK_EQ(stats.allocations, i + 1);
        CHECK_EQ(stats.deallocations, i);
        tern__storage_release(s);
    }
    tern_pool_get_stats(pool, &stats);
    CHECK_EQ(stats.allocations, stats.deallocations);
    CHECK_EQ(stats.current_bytes, 0);
    tern_pool_destroy(pool);
}

/* Memory that somebody had before is cleared; what comes from the system is zero as it is, and its pages stay untouched. */
TEST(zeroed_storage_is_zero_whoever_had_it)
{
    static const size_t SIZES[] = {0, 1, 2048, 2049, 100000, 3 << 20, 70 << 20};
    tern_pool *pool;
    CHECK_OK(tern_pool_create(NULL, &pool));
    for (int from_pool = 0; from_pool < 2; from_pool++)
        for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
            for (int round = 0; round < 3; round++) {
                tern__storage *s, *beside;
                CHECK_OK(tern__storage_create_zero(from_pool ? pool : NULL, SIZES[i], &s));
                CHECK_OK(tern__storage_create_zero(from_pool ? pool : NULL, SIZES[i] / 2, &beside));
                size_t others = 0;
                for (size_t b = 0; b < SIZES[i]; b++)
                    others += ((const char *)s->host)[b] != 0;
                for (size_t b = 0; b < SIZES[i] / 2; b++)
                    others += ((const char *)beside->host)[b] != 0;
                CHECK_EQ(others, 0);
                memset(s->host, 0xee, SIZES[i]);
                memset(beside->host, 0xee, SIZES[i] / 2);
                tern__storage_release(round == 1 ? beside : s);
                tern__storage_release(round == 1 ? s : beside);
                if (round == 1 && from_pool) /* merged, split otherwise, and perhaps given back */
                    tern_pool_defragment(pool, i % 2 == 0);
            }
    tern_pool_destroy(pool);
}

/* Each thread takes and gives back references, then gives back one that it was handed; the last one frees. */
static void *hold_and_let_go(void *arg)
{
    tern__storage *s = arg;
    for (int i = 0; i < 1000; i++) {
        tern__storage_retain(s);
        tern__storage_release(s);
    }
    tern__storage_release(s);
    return NULL;
}

TEST(references_may_go_on_any_thread)
{
    uint64_t before = live_blocks();
    pthread_t threads[4];
    tern__storage *s;
    CHECK_OK(tern__storage_create(NULL, 100, 0, &s));
    for (int i = 0; i < 4; i++) {
        tern__storage_retain(s);
        CHECK_EQ(pthread_create(&threads[i], NULL, hold_and_let_go, s), 0);
    }
    tern__storage_release(s);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(live_blocks(), before);
}

static void note_drop(void *user, void *host, size_t bytes)
{
    void **seen = user;
    seen[0] = host;
    seen[1] = (void *)bytes;
}

TEST(borrowed_memory_is_dropped_once)
{
    char data[10];
    void *seen[2] = {NULL, NULL};
    tern__storage *s;
    CHECK_OK(tern__storage_borrow(data, sizeof data, true, note_drop, seen, &s));
    CHECK(s->host == data && s->read_only && s->bytes == 10);
    tern__storage_retain(s);
    tern__storage_release(s);
    CHECK(seen[0] == NULL);
    tern__storage_release(s);
    CHECK(seen[0] == data && seen[1] == (void *)10);
    /* without a drop function nobody is told, and nothing of the caller's is freed */
    CHECK_OK(tern__storage_borrow(data, sizeof data, false, NULL, NULL, &s));
    tern__storage_release(s);
}

TEST(refused_allocations_leak_nothing)
{
    CHECK(files_write(files_path("refused"), "0123456789", 10));
    uint64_t before = live_blocks();
    for (int allowed = 0; allowed < 2; allowed++) {
        tern__storage *s = NULL;
        void *seen[2] = {NULL, NULL};
        for (int kind = 0; kind < 4; kind++) {
            gate g = {.countdown = allowed + 1, .for_ever = true};
            tern_status status;
            tern_alloc_set_gate(gate_allow, &g);
            if (kind == 0)
                status = tern__storage_create(NULL, 5000, 0, &s);
            else if (kind == 1)
                status = tern__storage_create(NULL, 16, 0, &s);
            else if (kind == 2)
                status = tern__storage_borrow(seen, 8, false, note_drop, seen, &s);
            else
                status = tern__storage_map_file(files_path("refused"), 0, 10, false, &s);
            tern_alloc_set_gate(NULL, NULL);
            if (status == TERN_OK) {
                CHECK(allowed == 1 && kind != 0);
                tern__storage_release(s);
                continue;
            }
            CHECK_EQ(status, TERN_OUT_OF_MEMORY);
            CHECK(seen[0] == NULL);
        }
    }
    CHECK_EQ(live_blocks(), before);
}

TEST(mapped_file_at_any_offset)
{
    enum { BYTES = 20000 };
    static uint8_t data[BYTES];
    static const uint64_t OFFSETS[] = {0, 1, 63, 64, 4095, 4096, 4097, 12345, BYTES};
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    const char *path = files_path("mapped");
    CHECK(files_write(path, data, BYTES));
    for (size_t i = 0; i < sizeof OFFSETS / sizeof OFFSETS[0]; i++) {
        tern__storage *s;
        size_t bytes = BYTES - (size_t)OFFSETS[i];
        CHECK_OK(tern__storage_map_file(path, OFFSETS[i], bytes, false, &s));
        CHECK(s->read_only && s->bytes == bytes && s->host != NULL);
        CHECK(memcmp(s->host, data + OFFSETS[i], bytes) == 0);
        tern__storage_release(s);
    }
}

TEST(writable_copy_leaves_the_file_alone)
{
    const char *path = files_path("private");
    tern__storage *s;
    size_t bytes;
    CHECK(files_write(path, "hello world", 11));
    CHECK_OK(tern__storage_map_file(path, 6, 5, true, &s));
    CHECK(!s->read_only);
    memcpy(s->host, "WORLD", 5);
    char *text = files_read(path, &bytes);
    CHECK(bytes == 11 && memcmp(text, "hello world", 11) == 0);
    free(text);
    tern__storage_release(s);
}

TEST(files_that_cannot_be_mapped)
{
    tern__storage *s = NULL;
    char message[600];
    const char *path = files_path("short");
    CHECK(files_write(path, "12345", 5));
    CHECK_STATUS(tern__storage_map_file(path, 0, 6, false, &s), TERN_IO);
    snprintf(message, sizeof message,
             "%s: the file has 5 bytes, but 6 bytes from 0 on are needed: it is cut short", path);
    CHECK_STR(tern_last_error(), message);
    CHECK_STATUS(tern__storage_map_file(path, 6, 0, false, &s), TERN_IO);
    CHECK_STATUS(tern__storage_map_file(path, UINT64_MAX, 2, false, &s), TERN_IO);
    CHECK_STATUS(tern__storage_map_file(path, 1, SIZE_MAX, false, &s), TERN_IO);
    CHECK_STATUS(tern__storage_map_file(files_path("absent"), 0, 1, false, &s), TERN_NOT_FOUND);
    CHECK_STATUS(tern__storage_map_file(files_path(""), 0, 1, false, &s), TERN_IO); /* a directory */
    path = files_path("pipe");
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_STATUS(tern__storage_map_file(path, 0, 1, false, &s), TERN_IO); /* and no waiting for a writer */
    CHECK(s == NULL);
}

/* KiB of the mapping at `start` that this process has touched; -1 if the system does not say. (mincore would
 * count the page cache, into which the kernel reads ahead.) */
static long resident_kib(const void *start)
{
    char line[512];
    unsigned long low, high;
    long kib = -1;
    bool inside = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
            inside = low <= (uintptr_t)start && (uintptr_t)start < high;
        else if (inside && sscanf(line, "Rss: %ld kB", &kib) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    return kib;
}

TEST(a_slice_touches_only_its_pages)
{
    enum { BYTES = 64 << 20, SLICE = 256 << 10 };
    const char *path = files_path("sparse");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0);
    close(fd);
    tern__storage *s;
    CHECK_OK(tern__storage_map_file(path, 0, BYTES, false, &s));
    if (resident_kib(s->host) != 0) {
        tern__storage_release(s);
        SKIP("the system does not tell which pages of a mapping were touched (/proc/self/smaps)");
    }
    const uint8_t *slice = (const uint8_t *)s->host + (BYTES / 2);
    unsigned sum = 0;
    for (size_t i = 0; i < SLICE; i++)
        sum += slice[i];
    long kib = resident_kib(s->host);
    tern__storage_release(s);
    CHECK_EQ(sum, 0);
    CHECK(kib >= SLICE / 1024);
    CHECK(kib <= 1024); /* the kernel may map a few neighbours: 1 MiB of 64 at most */
}

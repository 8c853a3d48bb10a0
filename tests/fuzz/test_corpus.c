/* test_corpus.c - what fuzzing has found so far, in every test run and without libFuzzer: each target takes each file of the folders that
 * its fuzz_*.args name. A fault ends the program; an allocation that is larger than -malloc_limit_mb fails the test.
 *
 * The build compiles the targets with names of their own for the entry, and lists them in FUZZ_TARGETS: X(encode) X(gguf) ... */
#include <dirent.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tern/alloc.h>
#include <tern/tokenizer.h>

#include "harness.h"

/* libFuzzer's, for targets that change inputs themselves: here nobody asks them to. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    (void)data;
    (void)max_size;
    return size;
}

typedef int (*entry)(const uint8_t *data, size_t size);

typedef struct replay {
    entry run;
    size_t max_len;
    int files, seen; /* taken, and met */
} replay;

static _Atomic(size_t) largest; /* allocation */

static bool watch(void *user, size_t size)
{
    (void)user;
    size_t before = atomic_load(&largest);
    while (size > before && !atomic_compare_exchange_weak(&largest, &before, size))
        continue;
    return true;
}

static void take_file(replay *r, const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(r->max_len);
    CHECK(file != NULL && data != NULL);
    size_t size = fread(data, 1, r->max_len, file);
    fclose(file);
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees what reads past it */
    CHECK(exact != NULL);
    memcpy(exact, data, size);
    free(data);
    r->run(exact, size);
    free(exact);
    r->files++;
}

static void take(replay *r, const char *path)
{
    struct stat info;
    CHECK(stat(path, &info) == 0);
    if (!S_ISDIR(info.st_mode)) {
        if (r->seen++ % harness_every() == 0)
            take_file(r, path);
        return;
    }
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (struct dirent *e; (e = readdir(folder)) && !harness_failed();) {
        char inside[4096];
        if (e->d_name[0] == '.')
            continue;
        CHECK(snprintf(inside, sizeof inside, "%s/%s", path, e->d_name) < (int)sizeof inside);
        take(r, inside);
    }
    closedir(folder);
}

/* Builds without PCRE2 or jansson have no tokenizers for the target that encodes. */
static bool has_tokenizers(const char *root)
{
    char path[4096];
    tern_tokenizer *t = NULL;
    snprintf(path, sizeof path, "%s/tests/model/tokenizers/llama-3.json", root);
    tern_status status = tern_tokenizer_load(path, NULL, &t);
    tern_tokenizer_free(t);
    return status != TERN_UNAVAILABLE;
}

static void replay_target(const char *name, entry run)
{
    replay r = {.run = run};
    const char *root = getenv("TERN_SOURCE_DIR");
    char path[4096], args[1024];
    size_t limit_mb = 0;
    root = root ? root : ".";
    if (strcmp(name, "encode") == 0 && !has_tokenizers(root))
        SKIP("this build has no tokenizers");
    setenv("TMPDIR", harness_folder(), 1); /* where targets leave their files */
    snprintf(path, sizeof path, "%s/tests/fuzz/fuzz_%s.args", root, name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    args[fread(args, 1, sizeof args - 1, file)] = '\0';
    fclose(file);
    atomic_store(&largest, 0);
    tern_alloc_set_gate(watch, NULL);
    for (char *word = strtok(args, " \n"); word && !harness_failed(); word = strtok(NULL, " \n")) {
        if (sscanf(word, "-max_len=%zu", &r.max_len) == 1 ||
            sscanf(word, "-malloc_limit_mb=%zu", &limit_mb) == 1)
            continue;
        CHECK(word[0] != '-' && r.max_len > 0); /* options come first */
        snprintf(path, sizeof path, "%s/%s", root, word);
        take(&r, path);
    }
    tern_alloc_set_gate(NULL, NULL);
    printf("%s: %d files, at most %.1f MiB at once\n", name, r.files,
           (double)atomic_load(&largest) / (1 << 20));
    CHECK(r.files > 0);
    CHECK(limit_mb > 0 && atomic_load(&largest) <= limit_mb << 20);
}

#define X(name)                                              \
    int fuzz_entry_##name(const uint8_t *data, size_t size); \
    TEST(corpus_##name)                                      \
    {                                                        \
        replay_target(#name, fuzz_entry_##name);             \
    }
FUZZ_TARGETS
#undef X

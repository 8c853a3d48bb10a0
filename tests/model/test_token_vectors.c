/* test_token_vectors.c - the recorded ids of other people's tokenizers, on the vocabularies of real models. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>

#include "harness.h"
#include "vocabularies.h"

static const char separator[] = "\n__ggml_vocab_test__\n";

/* Loads a vocabulary of ../shared/data/tokenizers, or says why the test ends; false: return. */
static bool load(const char *name, const char *pre, void (*change)(tern_vocabulary *), tern_tokenizer **out)
{
    char path[1024], file[128];
    snprintf(file, sizeof file, "tokenizers/ggml-vocab-%s.gguf", name);
    if (!shared_path(file, path, sizeof path)) {
        harness_skip("../shared/data/tokenizers is not there");
        return false;
    }
    tern_status status = load_gguf(path, pre, change, out);
    if (status == TERN_UNAVAILABLE) {
        harness_skip(tern_last_error());
        return false;
    }
    return harness_check_ok(status, __FILE__, __LINE__, file);
}

static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    while (*line == ' ')
        line++;
    for (char *last = line + strlen(line); last > line && last[-1] == ' ';)
        *--last = '\0';
    return line;
}

/* Compares every string of NAME.gguf.inp with its line of .out; how many there were, and how many agree. */
static void run_vectors(const char *name, const tern_tokenizer *t, int *count, int *equal)
{
    char path[1024], file[128], ids[16384];
    size_t length, unused;
    snprintf(file, sizeof file, "tokenizers/ggml-vocab-%s.gguf.inp", name);
    CHECK(shared_path(file, path, sizeof path));
    char *texts = read_whole(path, &length);
    memcpy(strstr(path, ".inp"), ".out", 5);
    char *wanted = read_whole(path, &unused), *line = wanted, *at = texts;
    CHECK(texts && wanted);
    *count = *equal = 0;
    for (char *end; (end = strstr(at, separator)); at = end + strlen(separator), ++*count) {
        char *want = next_line(&line);
        CHECK(ids_text(t, at, (size_t)(end - at), false, false, ids, sizeof ids));
        *equal += strcmp(ids, want) == 0;
        if (strcmp(ids, want) != 0)
            printf("  text %d '%.*s': %s instead of %s\n", *count, (int)(end - at), at, ids, want);
    }
    free(texts);
    free(wanted);
}

static void check_all(const char *name, tern_tokenizer *t)
{
    int count, equal;
    run_vectors(name, t, &count, &equal);
    tern_tokenizer_free(t);
    CHECK_EQ(count, 46);
    CHECK_EQ(equal, count);
}

TEST(llama_3)
{
    tern_tokenizer *t;
    if (load("llama-bpe", NULL, NULL, &t))
        check_all("llama-bpe", t);
}

TEST(gpt_2)
{
    tern_tokenizer *t;
    if (load("gpt-2", NULL, NULL, &t))
        check_all("gpt-2", t);
}

TEST(llama_2)
{
    tern_tokenizer *t;
    if (load("llama-spm", NULL, NULL, &t))
        check_all("llama-spm", t);
}

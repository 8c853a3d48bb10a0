/* fuzz_encode.c - libFuzzer target: any bytes as text for the tokenizers of tests/model/tokenizers. No byte is lost, and
 * decoding id by id gives the same as decoding all, whole characters at a time.
 *
 *     ./fuzz -max_len=4096 -malloc_limit_mb=64 CORPUS tests/fuzz/corpus/encode        from the top of the source tree */
#define _GNU_SOURCE /* memmem */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>
#include <tern/tokenizer.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, tern_last_error());
    abort();
}

/* U+2581 is how a blank is written in a vocabulary of characters; one in the text comes back as a blank. */
static size_t blanks(const uint8_t *data, size_t size, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        bool blank = size - i >= 3 && memcmp(data + i, "\xE2\x96\x81", 3) == 0;
        out[n++] = blank ? ' ' : (char)data[i];
        i += blank ? 3 : 1;
    }
    return n;
}

static void stream(const tern_tokenizer *t, const int32_t *ids, size_t count, const char *whole,
                   size_t length)
{
    tern_decode_options options = {.keep_invalid = true};
    tern_detokenizer *d;
    const char *piece;
    size_t at = 0, n;
    check(tern_detokenizer_create(t, &options, &d) == TERN_OK, "detokenizer");
    for (size_t i = 0; i <= count; i++) {
        if (i < count)
            check(tern_detokenizer_push(d, ids[i], &piece, &n) == TERN_OK, "push");
        else
            check(tern_detokenizer_finish(d, &piece, &n) == TERN_OK, "finish");
        check(n <= length - at && memcmp(whole + at, piece, n) == 0, "a piece differs");
        at += n;
    }
    check(at == length, "the stream is shorter");
    tern_detokenizer_free(d);
}

static void try(const tern_tokenizer *t, bool characters, const uint8_t *data, size_t size)
{
    int32_t *ids;
    char *back, *want = malloc(size + 1);
    size_t count, length, n = size;
    tern_encode_options encode = {.no_special = true};
    tern_decode_options decode = {.keep_invalid = true};
    if (characters)
        n = blanks(data, size, want);
    else
        memcpy(want, data, size);
    check(tern_tokenizer_encode(t, (const char *)data, size, &encode, &ids, &count) == TERN_OK, "encode");
    check(tern_tokenizer_decode(t, ids, count, &decode, &back, &length) == TERN_OK, "decode");
    check(length == n && memcmp(back, want, n) == 0, "the text does not come back");
    stream(t, ids, count, back, length);
    tern_string_free(back);
    tern_tokens_free(ids);
    encode = (tern_encode_options){.parse_special = true};
    check(tern_tokenizer_encode(t, (const char *)data, size, &encode, &ids, &count) == TERN_OK, "encode all");
    tern_tokens_free(ids);
    free(want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"llama-3", "gpt-2", "llama-2"};
    static tern_tokenizer *t[3];
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/model/tokenizers/%s.json", names[i]);
        if (!t[i])
            check(tern_tokenizer_load(path, NULL, &t[i]) == TERN_OK, "load");
        /* One token of llama-3.json swallows the blanks around it. */
        if (i > 0 || !memmem(data, size, "[soft]", 6))
            try(t[i], i == 2, data, size);
    }
    return 0;
}

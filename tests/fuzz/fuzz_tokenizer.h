/* fuzz_tokenizer.h - what the fuzz targets of tokenizers share: a tokenizer that was accepted has to work. */
#ifndef TERN_TESTS_FUZZ_TOKENIZER_H
#define TERN_TESTS_FUZZ_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <tern/graph.h>
#include <tern/tokenizer.h>

static inline void fuzz_check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, tern_last_error());
    abort();
}

static inline void fuzz_use_tokenizer(const tern_tokenizer *t)
{
    static const char text[] = "hello [soft] world 123 <s><|eot_id|>\n\xC3\xA4\xFF";
    int32_t *ids;
    char *back;
    size_t count, length;
    tern_encode_options options = {.parse_special = true};
    tern_tokenizer_info info;
    tern_token_info token;
    fuzz_check(tern_tokenizer_get_info(t, &info) == TERN_OK, "info");
    for (int32_t i = 0; i < info.n_tokens && i < 100; i++)
        fuzz_check(tern_tokenizer_token(t, i, &token) == TERN_OK, "token");
    tern_status status = tern_tokenizer_encode(t, text, sizeof text - 1, &options, &ids, &count);
    fuzz_check(status == TERN_OK || status == TERN_FORMAT, "encode"); /* no token for a byte */
    if (status != TERN_OK)
        return;
    fuzz_check(tern_tokenizer_decode(t, ids, count, NULL, &back, &length) == TERN_OK, "decode");
    tern_string_free(back);
    tern_tokens_free(ids);
}

#endif

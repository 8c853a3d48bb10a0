/* fuzz_tokenizer_json.c - libFuzzer target: any bytes as tokenizer.json. They are refused with one line, or they are a
 * tokenizer that encodes and decodes.
 *
 *     ./fuzz -max_len=16384 -malloc_limit_mb=64 CORPUS tests/model/tokenizers */
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

static void use(const tern_tokenizer *t)
{
    static const char text[] = "hello [soft] world 123 <s><|eot_id|>\n\xC3\xA4\xFF";
    int32_t *ids;
    char *back;
    size_t count, length;
    tern_encode_options options = {.add_special = true, .parse_special = true};
    tern_tokenizer_info info;
    tern_token_info token;
    check(tern_tokenizer_get_info(t, &info) == TERN_OK, "info");
    for (int32_t i = 0; i < info.n_tokens && i < 100; i++)
        check(tern_tokenizer_token(t, i, &token) == TERN_OK, "token");
    tern_status status = tern_tokenizer_encode(t, text, sizeof text - 1, &options, &ids, &count);
    check(status == TERN_OK || status == TERN_FORMAT, "encode"); /* no token for a byte */
    if (status != TERN_OK)
        return;
    check(tern_tokenizer_decode(t, ids, count, NULL, &back, &length) == TERN_OK, "decode");
    tern_string_free(back);
    tern_tokens_free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern_tokenizer *t;
    if (tern_tokenizer_parse_json((const char *)data, size, NULL, &t) != TERN_OK) {
        check(!strchr(tern_last_error(), '\n'), "more than one line");
        check(strncmp(tern_last_error(), "tokenizer.json: ", 16) == 0, "no place");
        return 0;
    }
    use(t);
    tern_tokenizer_free(t);
    return 0;
}

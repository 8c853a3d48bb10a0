/* fuzz_tokenizer_json.c - libFuzzer target: any bytes as tokenizer.json. They are refused with one line, or they are a
 * tokenizer that encodes and decodes. */
#include <string.h>

#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern_tokenizer *t;
    if (tern_tokenizer_parse_json((const char *)data, size, NULL, &t) != TERN_OK) {
        fuzz_check(!strchr(tern_last_error(), '\n'), "more than one line");
        fuzz_check(strncmp(tern_last_error(), "tokenizer.json: ", 16) == 0, "no place");
        return 0;
    }
    fuzz_use_tokenizer(t);
    tern_tokenizer_free(t);
    return 0;
}

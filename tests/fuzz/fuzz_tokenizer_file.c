/* fuzz_tokenizer_file.c - libFuzzer target: any bytes as a file with a tokenizer, which GGUF's metadata and llama2.c's .bin
 * are. They are refused with one line, or they are a tokenizer that encodes and decodes. */
#include "fuzz_model.h"
#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[512];
    tern_tokenizer *t;
    fuzz_store("tokenizer", data, size);
    snprintf(path, sizeof path, "%s/tokenizer", fuzz_folder());
    if (tern_tokenizer_load(path, NULL, &t) != TERN_OK) {
        fuzz_check(tern_last_error()[0] && !strchr(tern_last_error(), '\n'), "not one line");
        return 0;
    }
    fuzz_use_tokenizer(t);
    tern_tokenizer_free(t);
    return 0;
}

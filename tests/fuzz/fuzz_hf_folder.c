/* fuzz_hf_folder.c - libFuzzer entry for the JSON of a folder with a model in parts: up to the first zero byte it is the index,
 * behind it config.json. */
#include "fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_part(const char *name, const char *header, size_t bytes)
{
    uint8_t content[1024] = {0};
    uint64_t length = strlen(header);
    memcpy(content, &length, 8);
    memcpy(content + 8, header, length);
    fuzz_store(name, content, 8 + length + bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int ready;
    if (!ready) {
        put_part("a",
                 "{\"model.layers.0.mlp.up_proj.weight\":{\"dtype\":\"U8\",\"shape\":[2,4],\"data_offsets\":["
                 "0,8]},"
                 "\"model.layers.0.mlp.up_proj.weight_scale\":{\"dtype\":\"F32\",\"shape\":[1],\"data_"
                 "offsets\":[8,12]}}",
                 12);
        put_part("b", "{\"lm_head.weight\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[0,8]}}", 8);
        ready = 1;
    }
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t first = zero ? (size_t)(zero - data) : size;
    fuzz_store("model.safetensors.index.json", data, first);
    fuzz_store("config.json", zero ? zero + 1 : data, zero ? size - first - 1 : 0);
    fuzz_open("");
    return 0;
}

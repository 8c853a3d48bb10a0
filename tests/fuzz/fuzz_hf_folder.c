/* fuzz_hf_folder.c - libFuzzer target: any bytes as a folder with a model. Up to the first zero byte it is the index of the parts, up to
 * the second config.json, up to the third tokenizer.json, behind it the part "a", or model.safetensors if there is no index. What is
 * empty is left out, but for the part. The folder is refused with one line, or its tensors, tokenizer and model can be used. */
#include "fuzz_model.h"
#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_part(const char *name, const char *header, size_t bytes)
{
    uint8_t content[1024] = {0};
    uint64_t length = strlen(header);
    memcpy(content, &length, 8);
    memcpy(content + 8, header, length);
    fuzz_store(name, content, 8 + length + bytes);
}

/* Parts for inputs without one of their own. */
static void put_parts(void)
{
    put_part("a",
             "{\"model.layers.0.mlp.up_proj.weight\":{\"dtype\":\"U8\",\"shape\":[2,4],\"data_offsets\":["
             "0,8]},"
             "\"model.layers.0.mlp.up_proj.weight_scale\":{\"dtype\":\"F32\",\"shape\":[1],\"data_"
             "offsets\":[8,12]}}",
             12);
    put_part("b", "{\"lm_head.weight\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[0,8]}}", 8);
}

static void use_tokenizer(void)
{
    tern_model_file *file;
    tern_tokenizer *t;
    if (tern_model_file_open(fuzz_path(""), NULL, &file) != TERN_OK)
        return;
    if (tern_tokenizer_from_file(file, NULL, &t) == TERN_OK) {
        fuzz_use_tokenizer(t);
        tern_tokenizer_free(t);
    } else {
        fuzz_require(tern_last_error()[0] != '\0' && !strchr(tern_last_error(), '\n'));
    }
    tern_model_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool indexed = size > 0 && data[0] != 0;
    put_parts();
    unlink(fuzz_path("model.safetensors"));
    fuzz_store_next("model.safetensors.index.json", &data, &size);
    fuzz_store_next("config.json", &data, &size);
    fuzz_store_next("tokenizer.json", &data, &size);
    if (size > 0 || !indexed)
        fuzz_store(indexed ? "a" : "model.safetensors", data, size);
    fuzz_open("");
    use_tokenizer();
    tern_ctx *ctx = fuzz_context(); /* weights of models that are gone would stay in one */
    fuzz_feed(ctx, "");
    tern_ctx_destroy(ctx);
    return 0;
}

/* fuzz_load.c - libFuzzer target: any bytes as a GGUF model. They are refused, or they are a model that takes a token; either
 * way they are converted, or that is refused. Hyper-parameters, weights, settings and the converter are all behind it. */
#include <dirent.h>

#include <tern/model_convert.h>

#include "fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What conversions left beside the model. */
static void clear_folder(void)
{
    DIR *folder = opendir(fuzz_folder());
    fuzz_require(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), entry->d_name);
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "model") != 0)
            unlink(path);
    }
    closedir(folder);
}

static void convert(tern_ctx *ctx, const char *from, const char *to, uint64_t shard_bytes)
{
    char path[512];
    tern_model_file *file;
    tern_convert_options options = tern_convert_options_default();
    options.shard_bytes = shard_bytes;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), to);
    if (tern_model_file_open(from, NULL, &file) != TERN_OK)
        return;
    if (tern_model_convert(ctx, file, path, &options) != TERN_OK)
        fuzz_require(tern_last_error()[0] != '\0' && !strchr(tern_last_error(), '\n'));
    tern_model_file_close(file);
    clear_folder();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[512];
    tern_ctx *ctx = fuzz_context();
    fuzz_store("model", data, size);
    snprintf(path, sizeof path, "%s/model", fuzz_folder());
    fuzz_feed(ctx, "model");
    convert(ctx, path, "out.gguf", 0);
    convert(ctx, path, "out.safetensors", size % 2 ? 4096 : 0);
    convert(ctx, path, "out.bin", 0);
    tern_ctx_destroy(ctx);
    return 0;
}

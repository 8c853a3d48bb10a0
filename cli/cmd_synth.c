/* cmd_synth.c - `tern synth`: writes a random model of any shape. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <tern/model_convert.h>

#include "commands.h"
#include "model_source.h"
#include "progress.h"
#include "term.h"

static bool take_shape(const args *a, tern_model_shape *out)
{
    const char *name = args_value(a, "shape");
    const struct {
        const char *option;
        int64_t *value;
    } sizes[] = {
        {"layers", &out->layers},   {"width", &out->width},       {"ff", &out->feed_forward},
        {"heads", &out->heads},     {"kv-heads", &out->kv_heads}, {"vocab", &out->vocabulary},
        {"context", &out->context},
    };
    if (tern_model_shape_find(name ? name : "bitnet-2b-4t", out) != TERN_OK) {
        fail_usage("--shape: %s", tern_last_error());
        return false;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int value;
        if (!args_int(a, sizes[i].option, 1, INT_MAX, (int)*sizes[i].value, &value))
            return false;
        *sizes[i].value = value;
    }
    if (args_value(a, "arch"))
        out->architecture = args_value(a, "arch");
    return true;
}

static int run(const args *a)
{
    tern_model_shape shape;
    tern_synth_options options = tern_synth_options_default();
    int seed;
    const char *path = args_operand(a, 0);
    if (!take_shape(a, &shape) || !model_type(a, "type", &options.type) ||
        !model_type(a, "embedding", &options.embedding) || !model_type(a, "head", &options.head) ||
        !args_int(a, "seed", 0, 1 << 30, 0, &seed) || !model_output(path, ".gguf"))
        return EXIT_USAGE;
    options.seed = (uint64_t)seed;
    options.progress = progress_update;
    progress_begin("writing");
    tern_status status = tern_model_synth(path, &shape, &options);
    progress_end();
    if (status != TERN_OK)
        return fail_status(NULL);
    tern_model_file *file;
    if (tern_model_file_open(path, NULL, &file) != TERN_OK)
        return fail_status(NULL);
    char bytes[NUMBER_TEXT];
    text line = {0};
    text_add_safe(&line, path);
    text_addf(&line, ": %s, ", shape.architecture);
    text_add_plural(&line, tern_model_file_count(file), "tensor");
    text_addf(&line, ", %s", format_bytes(bytes, tern_model_file_bytes(file)));
    puts(text_string(&line));
    text_free(&line);
    tern_model_file_close(file);
    return EXIT_DONE;
}

static const option options[] = {
    {"shape", 's', "NAME", LIST_SHAPES, "the shape to start from; bitnet-2b-4t by default"},
    {"type", 't', "TYPE", LIST_IN_GGUF, "how linear layers are stored; i2_s by default"},
    {"embedding", 0, "TYPE", NULL, "how the table of tokens is stored; f16 by default"},
    {"head", 0, "TYPE", NULL, "adds an output layer of its own, stored like this"},
    {"arch", 0, "NAME", LIST_ARCHITECTURES, "the architecture it says it has"},
    {"layers", 0, "N", NULL, "number of layers"},
    {"width", 0, "N", NULL, "width of the model"},
    {"ff", 0, "N", NULL, "width of the feed-forward part"},
    {"heads", 0, "N", NULL, "attention heads"},
    {"kv-heads", 0, "N", NULL, "heads of keys and values"},
    {"vocab", 0, "N", NULL, "size of the vocabulary"},
    {"context", 0, "N", NULL, "longest context"},
    {"seed", 0, "N", NULL, "of the random numbers; 0 by default"},
    {0},
};

const command cmd_synth = {
    .name = "synth",
    .operands = "OUT.gguf",
    .least = 1,
    .most = 1,
    .summary = "Write a random model of any shape, for benchmarks.",
    .details = "The file loads and runs like that of a trained model, and says nothing of worth. Weights of "
               "linear layers of the "
               "BitNets are ternary whatever type they are stored in. The same options give the same file.",
    .options = options,
    .examples = "tern synth --shape tiny tiny.gguf\n"
                "tern synth --shape tiny --type tq2_0 --embedding q6_k tiny-tq2_0.gguf\n"
                "tern synth --shape small --layers 2 --head q8_0 small.gguf",
    .run = run,
};

/* test_synth.c - random models: they can be read, are what they say, and appear whole or not at all. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/model.h>
#include <tern/model_convert.h>

#include "bytes.h"
#include "harness.h"

static tern_model_shape tiny(const char *architecture)
{
    tern_model_shape shape = {0};
    if (tern_model_shape_find("tiny", &shape) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    shape.architecture = architecture;
    return shape;
}

static const char *path_of(const char *name)
{
    static char path[4096];
    harness_path(path, sizeof path, name);
    return path;
}

/* Files in the test's folder. */
static int count_files(void)
{
    DIR *folder = opendir(harness_folder());
    int n = 0;
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n - 2;
}

static void check_weight(tern_ctx *ctx, const tern_model_file *file, const tern_file_tensor *t, int i,
                         bool bitnet)
{
    tern_tensor *x, *codes, *scales;
    TERN_SCOPE(ctx) {
        CHECK_OK(tern_model_file_load_f32(ctx, file, i, &x));
        const float *values = tern_data_f32(x);
        double square = 0;
        for (int64_t k = 0; k < tern_numel(x); k++)
            square += (double)values[k] * values[k];
        CHECK(isfinite(square) && square > 0);
        if (t->rank == 2 && strncmp(t->name, "blk", 3) == 0) {
            /* a row times a vector of ones-sized numbers is about one in size */
            CHECK_NEAR(square / (double)tern_numel(x) * (double)t->shape[1], 1, 0.2);
            bool exact = bitnet && tern_stored_get(t->stored)->block_elements == 1;
            if (exact || tern_stored_get(t->stored)->kind == TERN_STORED_TERNARY)
                CHECK_OK(
                    tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
        }
    }
}

TEST(every_type)
{
    static const char *const types[] = {"i2_s", "tq1_0", "tq2_0", "f32",  "f16",
                                        "bf16", "q8_0",  "q4_0",  "q4_k", "q6_k"};
    static const char *const architectures[] = {"bitnet-b1.58", "bitnet", "llama"};
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (size_t k = 0; k < 3 * sizeof types / sizeof types[0]; k++) {
        tern_model_shape shape = tiny(architectures[k % 3]);
        tern_synth_options options = tern_synth_options_default();
        tern_model_file *file;
        tern_file_tensor t;
        const char *text;
        bool bitnet = k % 3 < 2;
        CHECK_OK(tern_stored_parse(types[k / 3], &options.type));
        options.embedding = k % 2 ? TERN_STORED_F16 : TERN_STORED_Q6_K;
        options.head = k % 2 ? TERN_STORED_AS_IS : TERN_STORED_Q8_0;
        CHECK_OK(tern_model_synth(path_of("synth.gguf"), &shape, &options));
        CHECK_OK(tern_model_file_open(path_of("synth.gguf"), NULL, &file));
        CHECK_EQ(tern_model_file_count(file), 2 * (bitnet ? 11 : 9) + 2 + (k % 2 == 0));
        CHECK_OK(tern_model_file_get_string(file, "general.architecture", &text));
        CHECK_STR(text, shape.architecture);
        CHECK_OK(tern_model_check(file));
        for (int i = 0; i < tern_model_file_count(file); i++) {
            CHECK_OK(tern_model_file_tensor(file, i, &t));
            check_weight(ctx, file, &t, i, bitnet);
        }
        tern_model_file_close(file);
    }
    tern_ctx_destroy(ctx);
}

static size_t read_all(const char *path, char **out)
{
    FILE *file = fopen(path, "rb");
    *out = malloc(1 << 22);
    size_t n = file && *out ? fread(*out, 1, 1 << 22, file) : 0;
    if (file)
        fclose(file);
    return n;
}

/* The number behind `key` and the characters that part them in a text. */
static double number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at)
        return NAN;
    at += strlen(key);
    at += strcspn(at, "=:");
    return *at ? strtod(at + 1, NULL) : (double)NAN;
}

static void check_recorded(const char *name, const tern_model_shape *s, const char *const keys[8])
{
    static char text[1 << 16];
    const double wanted[] = {(double)s->layers,  (double)s->width,    (double)s->feed_forward,
                             (double)s->heads,   (double)s->kv_heads, (double)s->vocabulary,
                             (double)s->context, s->rope_base};
    FILE *file = fopen(shared_path(name), "rb");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (int i = 0; i < 8; i++)
        CHECK(number_behind(text, keys[i]) == wanted[i]);
}

/* By name it is the model that people have. */
TEST(bitnet_2b_4t_has_the_shape_of_the_model)
{
    tern_model_shape s;
    CHECK_OK(tern_model_shape_find("bitnet-2b-4t", &s));
    CHECK_STR(s.architecture, "bitnet-b1.58");
    CHECK(s.layers == 30 && s.width == 2560 && s.feed_forward == 6912 && s.heads == 20 && s.kv_heads == 5);
    CHECK(s.vocabulary == 128256 && s.context == 4096 && s.rope_base == 500000);
}

TEST(that_shape_is_in_the_recorded_files)
{
    static const char gguf[] = "bitnet-2b-4t-recorded/gguf-directory.txt";
    static const char hf[] = "bitnet-2b-4t-recorded/hf-config.json";
    tern_model_shape s;
    if (!shared_path(gguf) || !shared_path(hf))
        SKIP(NO_SHARED("of BitNet 2B-4T's directory"));
    CHECK_OK(tern_model_shape_find("bitnet-2b-4t", &s));
    check_recorded(gguf, &s,
                   (const char *const[]){"block_count", "embedding_length", "feed_forward_length",
                                         "attention.head_count", "attention.head_count_kv",
                                         "b1.58.vocab_size", "context_length", "freq_base"});
    check_recorded(hf, &s,
                   (const char *const[]){"num_hidden_layers", "hidden_size", "intermediate_size",
                                         "num_attention_heads", "num_key_value_heads", "vocab_size",
                                         "max_position_embeddings", "rope_theta"});
}

TEST(seeds)
{
    tern_model_shape shape = tiny("bitnet-b1.58");
    tern_synth_options options = tern_synth_options_default();
    char *content[3];
    size_t n[3];
    for (int i = 0; i < 3; i++) {
        options.seed = i == 2 ? 1 : 0;
        CHECK_OK(tern_model_synth(path_of("seed.gguf"), &shape, &options));
        n[i] = read_all(path_of("seed.gguf"), &content[i]);
    }
    CHECK(n[0] > 100000 && n[0] == n[1] && n[0] == n[2]);
    CHECK(memcmp(content[0], content[1], n[0]) == 0);
    CHECK(memcmp(content[0], content[2], n[0]) != 0);
    for (int i = 0; i < 3; i++)
        free(content[i]);
}

static bool stop_half_way(void *user, uint64_t done, uint64_t total)
{
    *(uint64_t *)user = total;
    return done < total / 2;
}

TEST(stopping_leaves_nothing)
{
    tern_model_shape shape = tiny("bitnet-b1.58");
    tern_synth_options options = tern_synth_options_default();
    uint64_t total = 0;
    unlink(path_of("stopped.gguf"));
    int before = count_files();
    options.progress = stop_half_way;
    options.user = &total;
    CHECK_STATUS(tern_model_synth(path_of("stopped.gguf"), &shape, &options), TERN_CANCELLED);
    CHECK(total > 100000);
    CHECK_EQ(count_files(), before);
}

TEST(bad_shapes_and_types)
{
    tern_synth_options options = tern_synth_options_default();
    tern_model_shape shape = tiny("bitnet-b1.58");
    int before = count_files();
    shape.heads = 3;
    CHECK_STATUS(tern_model_synth(path_of("bad.gguf"), &shape, NULL), TERN_SHAPE);
    shape = tiny("bitnet-b1.58");
    shape.kv_heads = 0;
    CHECK_STATUS(tern_model_synth(path_of("bad.gguf"), &shape, NULL), TERN_SHAPE);
    shape = tiny("bitnet-b1.58");
    shape.layers = 1ll << 40;
    CHECK_STATUS(tern_model_synth(path_of("bad.gguf"), &shape, NULL), TERN_SHAPE);
    shape = tiny("bitnet-b1.58");
    options.type = TERN_STORED_Q5_K;
    CHECK_STATUS(tern_model_synth(path_of("bad.gguf"), &shape, &options), TERN_DTYPE);
    options.type = TERN_STORED_I2_S;
    options.embedding = TERN_STORED_TQ1_0;
    CHECK_STATUS(tern_model_synth(path_of("bad.gguf"), &shape, &options), TERN_DTYPE);
    shape.feed_forward = 500; /* no whole blocks */
    CHECK_STATUS(tern_model_synth(path_of("bad.gguf"), &shape, NULL), TERN_FORMAT);
    CHECK_STATUS(tern_model_synth("/nonexistent/bad.gguf", &shape, NULL), TERN_IO);
    CHECK_STATUS(tern_model_shape_get(99, &shape), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_model_shape_find("none", &shape), TERN_NOT_FOUND);
    CHECK_EQ(count_files(), before);
}

/* test_export.c - a trained model as a file: what the model API computes from it is what the trainer computes; every type of weights
 * is the same model; files go back into a trainer; what cannot be written or read is refused by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>
#include <tern/model.h>
#include <tern/model_convert.h>
#include <tern/ops.h>
#include <tern/train.h>

#include "gate.h"
#include "harness.h"
#include "tiny_model.h"

enum { VOCABULARY = 257, CONTEXT = 8, BATCH = 2, SEQUENCE = CONTEXT + 1, ROWS = BATCH * CONTEXT, STEPS = 3 };

static const char text[] = "the cat sat on the mat and the dog sat on the cat; then the cat sat on the dog. ";

/* 256 wide, so that every type has whole blocks; `narrow`: none but those of 1 have. A step takes a hundred
 * times as long beside a sanitizer, so the rest is as small as it can be, and few steps are made. */
static tern_train_options small(bool narrow)
{
    tern_train_options o = tern_train_options_default();
    o.shape = (tern_train_shape){.vocabulary = VOCABULARY,
                                 .context = CONTEXT,
                                 .layers = 2,
                                 .width = narrow ? 32 : 256,
                                 .feed_forward = narrow ? 40 : 256,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .rope_theta = 10000,
                                 .norm_eps = 1e-5};
    o.batch = BATCH;
    return o;
}

static tern_ctx *open_context(void)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options o = tern_ctx_options_default();
    o.tuning = "off";
    o.threads = 2;
    return tern_ctx_create(&o, &ctx) == TERN_OK ? ctx : NULL;
}

static void tokens_of(int step, int sequence, int32_t *tokens)
{
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < sequence; k++)
            tokens[i * sequence + k] = text[(size_t)(step * 7 + i * 31 + k) % (sizeof text - 1)];
}

static void train(tern_trainer *t, int from, int to)
{
    for (int i = from; i < to; i++) {
        int32_t tokens[BATCH * SEQUENCE];
        tokens_of(i, SEQUENCE, tokens);
        CHECK_OK(tern_trainer_step(t, tokens, 0.01, NULL));
    }
}

static tern_tokenizer *bytes_tokenizer(void)
{
    tern_tokenizer *t = NULL;
    return tern_tokenizer_train("", 0, NULL, &t) == TERN_OK ? t : NULL;
}

/* ---- logits -------------------------------------------------------------------------------------------------------- */

static void trainer_logits(tern_ctx *ctx, tern_trainer *t, float *out)
{
    int32_t tokens[ROWS];
    tokens_of(100, CONTEXT, tokens);
    TERN_SCOPE(ctx) {
        tern_tensor *logits;
        CHECK_OK(tern_trainer_logits(t, tokens, &logits));
        CHECK_OK(tern_read(logits, out, ROWS * VOCABULARY * sizeof *out));
    }
}

/* The same of a file, through the cache: row by row of the first sequence, the second at once. */
static void file_logits(tern_ctx *ctx, const char *path, float *out)
{
    tern_model *model;
    tern_session *session;
    tern_session_options o = tern_session_options_default();
    tern_session_row rows[CONTEXT];
    int wanted[CONTEXT];
    int32_t tokens[ROWS];
    tokens_of(100, CONTEXT, tokens);
    o.slots = BATCH;
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    CHECK_OK(tern_session_create(model, &o, &session));
    CHECK_EQ(tern_session_vocabulary(session), VOCABULARY);
    CHECK_EQ(tern_session_context(session), CONTEXT);
    for (int k = 0; k < CONTEXT; k++)
        CHECK_OK(tern_session_feed(session, 1, &(tern_session_row){tokens[k], 0, k}, 1, (int[]){0},
                                   out + (size_t)k * VOCABULARY));
    for (int k = 0; k < CONTEXT; k++) {
        rows[k] = (tern_session_row){tokens[CONTEXT + k], 1, k};
        wanted[k] = k;
    }
    CHECK_OK(tern_session_feed(session, CONTEXT, rows, CONTEXT, wanted, out + (size_t)CONTEXT * VOCABULARY));
    tern_session_free(session);
    tern_model_free(model);
}

/* Squared differences over squares, and rows whose largest is another. */
static double compare(const float *a, const float *b, int *others)
{
    double differences = 0, squares = 0;
    *others = 0;
    for (int r = 0; r < ROWS; r++) {
        int best[2] = {0, 0};
        for (int k = 0; k < VOCABULARY; k++) {
            const int at = r * VOCABULARY + k;
            const double d = (double)a[at] - (double)b[at];
            differences += d * d;
            squares += (double)b[at] * (double)b[at];
            best[0] = a[at] > a[r * VOCABULARY + best[0]] ? k : best[0];
            best[1] = b[at] > b[r * VOCABULARY + best[1]] ? k : best[1];
        }
        *others += best[0] != best[1];
    }
    return differences / squares;
}

static void check_types(bool narrow)
{
    static const tern_stored types[] = {TERN_STORED_I2_S, TERN_STORED_TQ2_0, TERN_STORED_TQ1_0,
                                        TERN_STORED_Q8_0, TERN_STORED_F16,   TERN_STORED_F32};
    float *own = malloc(ROWS * VOCABULARY * sizeof *own), *first = malloc(ROWS * VOCABULARY * sizeof *first),
          *logits = malloc(ROWS * VOCABULARY * sizeof *logits);
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer();
    tern_trainer *t;
    tern_train_options options = small(narrow);
    CHECK(ctx && tokenizer && own && first && logits);
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    train(t, 0, STEPS);
    trainer_logits(ctx, t, own);
    for (size_t i = 0; i < sizeof types / sizeof *types && !harness_failed(); i++) {
        char path[256];
        int others;
        tern_train_export_options o = tern_train_export_options_default();
        o.type = types[i];
        o.embedding = TERN_STORED_F32;
        o.name = "cats";
        CHECK(harness_path(path, sizeof path, "types.gguf"));
        CHECK_OK(tern_trainer_export(t, tokenizer, path, &o));
        file_logits(ctx, path, logits);
        const double error = compare(logits, own, &others);
        printf("%s%s: NMSE %.2g, %d other tokens\n", tern_stored_get(types[i])->name,
               narrow ? ", narrow" : "", error, others);
        /* codes and scales are the same; attention adds up in another order, which may turn an int8 here and there */
        CHECK(error < 1e-6);
        CHECK_EQ(others, 0);
        if (i == 0)
            memcpy(first, logits, ROWS * VOCABULARY * sizeof *first);
        CHECK(memcmp(first, logits, ROWS * VOCABULARY * sizeof *first) == 0);
    }
    tern_trainer_free(t);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
    free(own), free(first), free(logits);
}

TEST(files_of_any_type_compute_what_the_trainer_does)
{
    check_types(false);
}

TEST(rows_that_are_no_whole_blocks)
{
    check_types(true);
}

/* The default rounds the table to f16; and writing teaches nothing. */
TEST(defaults)
{
    static float own[ROWS * VOCABULARY], again[ROWS * VOCABULARY], logits[ROWS * VOCABULARY];
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer();
    tern_trainer *t;
    tern_train_options options = small(false);
    tern_train_result with, without;
    char path[256];
    int others;
    CHECK(ctx && tokenizer && harness_path(path, sizeof path, "default.gguf"));
    for (int k = 0; k < 2; k++) {
        int32_t tokens[BATCH * SEQUENCE];
        CHECK_OK(tern_trainer_create(ctx, &options, &t));
        train(t, 0, STEPS);
        trainer_logits(ctx, t, own);
        if (k == 0) {
            CHECK_OK(tern_trainer_export(t, tokenizer, path, NULL));
            trainer_logits(ctx, t, again);
            CHECK(memcmp(own, again, sizeof own) == 0);
        }
        tokens_of(10, SEQUENCE, tokens);
        CHECK_OK(tern_trainer_step(t, tokens, 0.01, k == 0 ? &with : &without));
        tern_trainer_free(t);
    }
    CHECK(with.loss == without.loss && with.norm == without.norm);
    file_logits(ctx, path, logits);
    const double error = compare(logits, own, &others);
    printf("F16 table: NMSE %.2g, %d other tokens\n", error, others);
    CHECK(error < 1e-4);
    CHECK_EQ(others, 0);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
}

TEST(files_say_what_they_are)
{
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer(), *read;
    tern_trainer *t;
    tern_train_options options = small(false);
    tern_train_export_options o = tern_train_export_options_default();
    tern_model_file *file;
    tern_train_shape shape;
    tern_file_tensor tensor;
    const char *word;
    char path[256];
    int i;
    CHECK(ctx && tokenizer && harness_path(path, sizeof path, "said.gguf"));
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    o.name = "cats and dogs";
    CHECK_OK(tern_trainer_export(t, tokenizer, path, &o));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_OK(tern_model_check(file));
    CHECK_OK(tern_model_file_get_string(file, "general.name", &word));
    CHECK_STR(word, "cats and dogs");
    CHECK_OK(tern_model_file_find(file, "blk.1.ffn_down.weight", &i));
    CHECK_OK(tern_model_file_tensor(file, i, &tensor));
    CHECK_EQ(tensor.stored, TERN_STORED_I2_S);
    CHECK_OK(tern_model_file_find(file, "token_embd.weight", &i));
    CHECK_OK(tern_model_file_tensor(file, i, &tensor));
    CHECK_EQ(tensor.stored, TERN_STORED_F16);
    CHECK_OK(tern_tokenizer_from_file(file, NULL, &read));
    tern_tokenizer_info info;
    CHECK_OK(tern_tokenizer_get_info(read, &info));
    CHECK(info.n_tokens == 257 && info.eos == 256 && !info.add_bos && !info.add_eos);
    CHECK_OK(tern_train_shape_of(file, &shape));
    CHECK_EQ(shape.vocabulary, VOCABULARY);
    CHECK_EQ(shape.context, CONTEXT);
    CHECK_EQ(shape.layers, 2);
    CHECK_EQ(shape.width, 256);
    CHECK_EQ(shape.feed_forward, 256);
    CHECK(shape.heads == 4 && shape.kv_heads == 2 && shape.weights == TERN_TRAIN_WEIGHTS_TERNARY);
    CHECK_NEAR(shape.rope_theta, 10000, 0);
    CHECK_NEAR(shape.norm_eps, 1e-5, 1e-12);
    tern_tokenizer_free(read);
    tern_model_file_close(file);
    tern_trainer_free(t);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
}

/* ---- back into a trainer ------------------------------------------------------------------------------------------- */

/* Another trainer takes the file over and computes what the first one does; then it learns on. */
static void check_import(tern_stored type, bool narrow)
{
    static float own[ROWS * VOCABULARY], logits[ROWS * VOCABULARY];
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer();
    tern_trainer *t[2];
    tern_train_options options = small(narrow);
    tern_train_export_options o = tern_train_export_options_default();
    tern_model_file *file;
    double before = 0, after = 0;
    int32_t tokens[BATCH * SEQUENCE];
    char path[256];
    int others;
    CHECK(ctx && tokenizer && harness_path(path, sizeof path, "import.gguf"));
    CHECK_OK(tern_trainer_create(ctx, &options, &t[0]));
    train(t[0], 0, STEPS);
    trainer_logits(ctx, t[0], own);
    o.type = type;
    o.embedding = TERN_STORED_F32;
    CHECK_OK(tern_trainer_export(t[0], tokenizer, path, &o));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    options.seed = 77;
    CHECK_OK(tern_train_shape_of(file, &options.shape));
    CHECK_OK(tern_trainer_create(ctx, &options, &t[1]));
    CHECK_OK(tern_trainer_import(t[1], file));
    trainer_logits(ctx, t[1], logits);
    const double error = compare(logits, own, &others);
    printf("imported from %s: NMSE %.2g, %d other tokens\n", tern_stored_get(type)->name, error, others);
    CHECK(error < 1e-6); /* scales are means, and may differ by a rounding */
    CHECK_EQ(others, 0);
    tokens_of(50, SEQUENCE, tokens);
    CHECK_OK(tern_trainer_loss(t[1], BATCH, tokens, &before));
    train(t[1], STEPS, 2 * STEPS);
    CHECK_OK(tern_trainer_loss(t[1], BATCH, tokens, &after));
    CHECK(after < before);
    tern_model_file_close(file);
    tern_trainer_free(t[0]);
    tern_trainer_free(t[1]);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
}

TEST(codes_go_back_into_a_trainer)
{
    check_import(TERN_STORED_I2_S, false);
}

TEST(scales_beside_codes_go_back_too)
{
    check_import(TERN_STORED_TQ2_0, false);
}

TEST(exactly_ternary_floats_go_back_too)
{
    check_import(TERN_STORED_F32, true);
}

TEST(signs_and_scales_go_back_too)
{
    check_import(TERN_STORED_F16, true);
}

/* As Hugging Face has them: codes in quarters of rows, a scale beside them, sizes in config.json. */
TEST(safetensors_go_back_too)
{
    static float own[ROWS * VOCABULARY], logits[ROWS * VOCABULARY];
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer(), *read;
    tern_trainer *t[2];
    tern_train_options options = small(false);
    tern_train_export_options o = tern_train_export_options_default();
    tern_model_file *file;
    char path[256], folder[256];
    int others;
    CHECK(ctx && tokenizer && harness_path(path, sizeof path, "hf.gguf"));
    CHECK(harness_path(folder, sizeof folder, "hf.safetensors"));
    CHECK_OK(tern_trainer_create(ctx, &options, &t[0]));
    train(t[0], 0, STEPS);
    trainer_logits(ctx, t[0], own);
    o.embedding = TERN_STORED_F32;
    CHECK_OK(tern_trainer_export(t[0], tokenizer, path, &o));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    const tern_status status = tern_model_convert(ctx, file, folder, NULL);
    tern_model_file_close(file);
    if (status == TERN_UNAVAILABLE)
        SKIP(tern_last_error());
    CHECK_OK(status);
    CHECK_OK(tern_model_file_open(folder, NULL, &file));
    CHECK_OK(tern_train_shape_of(file, &options.shape));
    CHECK_OK(tern_trainer_create(ctx, &options, &t[1]));
    CHECK_OK(tern_trainer_import(t[1], file));
    trainer_logits(ctx, t[1], logits);
    CHECK(compare(logits, own, &others) < 1e-6);
    CHECK_OK(tern_tokenizer_from_file(file, NULL, &read));
    tern_tokenizer_info info;
    CHECK_OK(tern_tokenizer_get_info(read, &info));
    CHECK(info.n_tokens == 257 && info.eos == 256 && !info.add_bos);
    tern_tokenizer_free(read);
    tern_model_file_close(file);
    tern_trainer_free(t[0]);
    tern_trainer_free(t[1]);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
}

/* Opens a file and a trainer of its shape. */
static void open_both(tern_ctx *ctx, const char *path, tern_model_file **file, tern_trainer **t)
{
    tern_train_options options = small(true);
    CHECK_OK(tern_model_file_open(path, NULL, file));
    CHECK_OK(tern_train_shape_of(*file, &options.shape));
    options.shape.context = 8;
    CHECK_OK(tern_trainer_create(ctx, &options, t));
}

/* Overwrites the first number of a tensor of f32. */
static void put_number(const char *path, const char *name, float value)
{
    tern_model_file *file;
    tern_file_tensor tensor;
    int i;
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_OK(tern_model_file_find(file, name, &i));
    CHECK_OK(tern_model_file_tensor(file, i, &tensor));
    tern_model_file_close(file);
    FILE *f = fopen(path, "r+b");
    CHECK(f);
    fseek(f, (long)tensor.offset, SEEK_SET);
    fwrite(&value, sizeof value, 1, f);
    fclose(f);
}

/* Weights that are no codes are what training goes on from, as they are; tables and norms too. */
TEST(master_weights_go_in_as_they_are)
{
    static const char *const names[] = {"blk.0.attn_q.weight", "token_embd.weight",
                                        "blk.1.ffn_sub_norm.weight", "output_norm.weight"};
    tern_ctx *ctx = open_context();
    tern_model_file *file;
    tern_trainer *t;
    char path[256];
    CHECK(ctx && harness_path(path, sizeof path, "masters.gguf"));
    CHECK(tiny_model(path, "bitnet-b1.58"));
    put_number(path, names[0], 0.3f);
    open_both(ctx, path, &file, &t);
    if (harness_failed())
        return;
    CHECK_OK(tern_trainer_import(t, file));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        TERN_SCOPE(ctx) {
            const char *name = "";
            tern_tensor *x, *w = NULL;
            int at, i = 0;
            for (; i < tern_trainer_weights(t) && strcmp(name, names[k]) != 0; i++)
                w = tern_trainer_state(t, i, &name);
            CHECK_OK(tern_model_file_find(file, names[k], &at));
            CHECK_OK(tern_model_file_load_f32(ctx, file, at, &x));
            CHECK_EQ(tern_nbytes(x), tern_nbytes(w));
            CHECK(memcmp(tern_data(x), tern_data(w), tern_nbytes(x)) == 0);
        }
    tern_model_file_close(file);
    tern_trainer_free(t);
    tern_ctx_destroy(ctx);
}

/* Where nothing is rounded, weights are the file's values. */
TEST(float_weights_from_codes)
{
    tern_ctx *ctx = open_context();
    tern_model_file *file;
    tern_trainer *t;
    tern_train_options options = small(true);
    char path[256];
    int at;
    CHECK(ctx && harness_path(path, sizeof path, "floats.gguf"));
    CHECK(tiny_model(path, "bitnet-b1.58"));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_OK(tern_train_shape_of(file, &options.shape));
    options.shape.weights = TERN_TRAIN_WEIGHTS_FLOAT;
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    CHECK_OK(tern_trainer_import(t, file));
    for (int i = 0; i < tern_trainer_weights(t); i++)
        TERN_SCOPE(ctx) {
            const char *name;
            tern_tensor *x, *w = tern_trainer_state(t, i, &name);
            CHECK_OK(tern_model_file_find(file, name, &at));
            CHECK_OK(tern_model_file_load_f32(ctx, file, at, &x));
            const float *a = tern_data_f32(x), *b = tern_data_f32(w);
            for (int64_t k = 0; k < tern_numel(w); k++)
                CHECK(a[k] == b[k]);
        }
    tern_model_file_close(file);
    tern_trainer_free(t);
    tern_ctx_destroy(ctx);
}

TEST(models_that_cannot_go_in)
{
    static const char *const others[] = {"llama", "bitnet"};
    tern_ctx *ctx = open_context();
    tern_model_file *file;
    tern_trainer *t = NULL;
    tern_train_shape shape;
    char path[256];
    CHECK(ctx && harness_path(path, sizeof path, "others.gguf"));
    for (int k = 0; k < 2; k++) {
        char want[64];
        CHECK(tiny_model(path, others[k]));
        CHECK_OK(tern_model_file_open(path, NULL, &file));
        CHECK_STATUS(tern_train_shape_of(file, &shape), TERN_UNSUPPORTED);
        snprintf(want, sizeof want, "architecture '%s'", others[k]);
        CHECK(strstr(tern_last_error(), want));
        tern_model_file_close(file);
    }
    CHECK(tiny_model(path, "bitnet-b1.58"));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
#define REFUSED_WITH(change, text)                                     \
    do {                                                               \
        tern_train_options o = small(true);                            \
        CHECK_OK(tern_train_shape_of(file, &o.shape));                 \
        change;                                                        \
        CHECK_OK(tern_trainer_create(ctx, &o, &t));                    \
        CHECK_STATUS(tern_trainer_import(t, file), TERN_SHAPE);        \
        if (!strstr(tern_last_error(), text))                          \
            harness_fail(__FILE__, __LINE__, "%s", tern_last_error()); \
        tern_trainer_free(t);                                          \
    } while (0)
    REFUSED_WITH(o.shape.layers = 1, "layers is 2 in the file, and 1 in the trainer");
    REFUSED_WITH(o.shape.vocabulary = 50, "'token_embd.weight' is [48,32] in the file, and [50,32]");
    REFUSED_WITH(o.shape.feed_forward = 48, "'blk.0.ffn_gate.weight' is [40,32] in the file, and [48,32]");
    REFUSED_WITH(o.shape.width = 64, "'token_embd.weight'");
    REFUSED_WITH(o.shape.kv_heads = 4, "kv_heads is 2 in the file");
    REFUSED_WITH((o.shape.heads = 2, o.shape.kv_heads = 1), "heads is 4 in the file");
    REFUSED_WITH(o.shape.rope_theta = 99, "rope_theta is 10000 in the file, and 99");
    REFUSED_WITH(o.shape.norm_eps = 1e-6, "norm_eps is");
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* ---- what cannot go out -------------------------------------------------------------------------------------------- */

static bool is_there(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    return f != NULL;
}

TEST(models_that_cannot_go_out)
{
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer();
    tern_trainer *t;
    tern_train_options options = small(true);
    char path[256];
    CHECK(ctx && tokenizer && harness_path(path, sizeof path, "never.gguf"));
#define NOT_WRITTEN(status, text)                                            \
    do {                                                                     \
        CHECK_STATUS(tern_trainer_export(t, tokenizer, path, &o), (status)); \
        CHECK(!is_there(path));                                              \
        if (!strstr(tern_last_error(), text))                                \
            harness_fail(__FILE__, __LINE__, "%s", tern_last_error());       \
    } while (0)
    tern_train_export_options o = tern_train_export_options_default();
    options.shape.weights = TERN_TRAIN_WEIGHTS_FLOAT;
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    NOT_WRITTEN(TERN_UNSUPPORTED, "trained with float weights");
    CHECK_STATUS(tern_train_export_check(&options.shape, &o), TERN_UNSUPPORTED);
    tern_trainer_free(t);
    options.shape.weights = TERN_TRAIN_WEIGHTS_TERNARY;
    options.shape.vocabulary = 256;
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    NOT_WRITTEN(TERN_SHAPE, "trainer_export: the tokenizer has 257 tokens, but the model knows 256");
    tern_trainer_free(t);
    options.shape.vocabulary = VOCABULARY;
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    static const tern_stored types[] = {TERN_STORED_COUNT, TERN_STORED_I32, TERN_STORED_HF_T2,
                                        TERN_STORED_F64};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        o = tern_train_export_options_default();
        o.type = types[i];
        NOT_WRITTEN(TERN_DTYPE, "does not hold ternary weights");
        CHECK_STATUS(tern_train_export_check(&options.shape, &o), TERN_DTYPE);
        o = tern_train_export_options_default();
        o.embedding = types[i];
        NOT_WRITTEN(TERN_DTYPE, "the table of tokens cannot be written as");
        CHECK_STATUS(tern_train_export_check(&options.shape, &o), TERN_DTYPE);
    }
    o.embedding = TERN_STORED_I2_S;
    NOT_WRITTEN(TERN_DTYPE, "the table of tokens cannot be written as I2_S");
    o.embedding = TERN_STORED_Q6_K;
    NOT_WRITTEN(TERN_DTYPE, "blocks of 256");
    CHECK_STATUS(tern_train_export_check(&options.shape, &o), TERN_DTYPE);
    CHECK_OK(tern_train_export_check(&options.shape, NULL));
    o = tern_train_export_options_default();
    CHECK_STATUS(tern_trainer_export(t, tokenizer, "/nowhere/at/all.gguf", &o), TERN_IO);
    /* the second layer's weights are not numbers any more */
    const char *name;
    for (int i = 0; i < tern_trainer_weights(t); i++) {
        tern_tensor *w = tern_trainer_state(t, i, &name);
        if (strcmp(name, "blk.1.ffn_up.weight") == 0)
            CHECK_OK(tern_fill_(w, NAN));
    }
    NOT_WRITTEN(TERN_STATE, "weights of 'blk.1.ffn_up.weight' are not finite");
    tern_trainer_free(t);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
}

/* A learnt tokenizer tokenises as the one in the file does, which may have fewer tokens than the table has rows. */
TEST(tokenizers_go_out_with_the_model)
{
    tern_ctx *ctx = open_context();
    tern_tokenizer *learnt, *read;
    tern_trainer *t;
    tern_train_options options = small(true);
    tern_model_file *file;
    int32_t *a, *b;
    size_t n, m;
    char path[256];
    CHECK(ctx && harness_path(path, sizeof path, "tokenizer.gguf"));
    tern_status status = tern_tokenizer_train(text, sizeof text - 1,
                                              &(tern_tokenizer_train_options){.vocabulary = 300}, &learnt);
    if (status == TERN_UNAVAILABLE)
        SKIP(tern_last_error());
    CHECK_OK(status);
    options.shape.vocabulary = 300;
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    CHECK_OK(tern_trainer_export(t, learnt, path, NULL));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_OK(tern_tokenizer_from_file(file, NULL, &read));
    static const char *const texts[] = {text, "then the\n\nother  cats", "\xFF\xFE the \xC3\xA4 cat", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_OK(tern_tokenizer_encode(learnt, texts[i], strlen(texts[i]), NULL, &a, &n));
        CHECK_OK(tern_tokenizer_encode(read, texts[i], strlen(texts[i]), NULL, &b, &m));
        CHECK(n == m && memcmp(a, b, n * sizeof *a) == 0);
        CHECK(i > 0 || n < strlen(texts[i]) / 2); /* something was merged */
        tern_tokens_free(a);
        tern_tokens_free(b);
    }
    tern_tokenizer_free(read);
    tern_tokenizer_free(learnt);
    tern_model_file_close(file);
    tern_trainer_free(t);
    tern_ctx_destroy(ctx);
}

/* Walks `call` through failing allocations (every Nth in slow builds), some of which it can do without; how often it ran out of
 * memory. */
#define WALK(call, after, failures)                        \
    do {                                                   \
        gate g = {.fired = true};                          \
        for (long n = 1; g.fired; n += harness_every()) {  \
            g = (gate){.countdown = n};                    \
            tern_alloc_set_gate(gate_allow, &g);           \
            const tern_status status_ = (call);            \
            tern_alloc_set_gate(NULL, NULL);               \
            if (status_ != TERN_OK)                        \
                CHECK_STATUS(status_, TERN_OUT_OF_MEMORY); \
            CHECK(status_ == TERN_OK || g.fired);          \
            (failures) += status_ != TERN_OK;              \
            after;                                         \
        }                                                  \
    } while (0)

/* Wherever memory runs out, there is no file, and the trainer still computes what it did. */
TEST(allocations_may_fail)
{
    tern_ctx *ctx = open_context();
    tern_tokenizer *tokenizer = bytes_tokenizer();
    tern_trainer *t;
    tern_train_options options = small(true);
    tern_model_file *file;
    static float before[ROWS * VOCABULARY], after[ROWS * VOCABULARY];
    char path[256];
    int out = 0, in = 0, others;
    options.shape.layers = 1;
    CHECK(ctx && tokenizer && harness_path(path, sizeof path, "walk.gguf"));
    CHECK_OK(tern_trainer_create(ctx, &options, &t));
    trainer_logits(ctx, t, before);
    WALK(tern_trainer_export(t, tokenizer, path, NULL),
         CHECK(is_there(path) == (status_ == TERN_OK) && (!g.fired || !is_there(path) || remove(path) == 0)),
         out);
    trainer_logits(ctx, t, after);
    CHECK(memcmp(before, after, sizeof before) == 0);
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    WALK(tern_trainer_import(t, file), (void)0, in);
    printf("memory ran out %d times on the way out, %d times on the way in\n", out, in);
    CHECK(out > 30 / harness_every() && in > 30 / harness_every());
    trainer_logits(ctx, t, after);
    CHECK(compare(after, before, &others) < 1e-4); /* the file's table is f16 */
    tern_model_file_close(file);
    tern_trainer_free(t);
    tern_tokenizer_free(tokenizer);
    tern_ctx_destroy(ctx);
}

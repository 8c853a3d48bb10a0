/* test_convert.c - conversions of values: ternary codes and scales survive every way there and back, what is lost is told, what would
 * be ruined is refused. What becomes of files is in test_convert_files.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "conversions.h"

static bytes b;

/* Beside a .scale the scale of every block is 1: programs that know one of the two read the same codes. */
static void check_block_scales(const tern_model_file *file, const char *name, size_t block)
{
    uint8_t codes[66];
    tern_file_tensor t;
    int i;
    CHECK_OK(tern_model_file_find(file, name, &i));
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    CHECK(t.bytes > 0 && t.bytes % block == 0 && block <= sizeof codes);
    for (uint64_t at = 0; at < t.bytes; at += block) {
        CHECK_OK(tern_model_file_read(file, i, at, codes, block));
        CHECK(codes[block - 2] == 0x00 && codes[block - 1] == 0x3C); /* f16, behind the codes */
    }
}

/* The scales of a random I2_S model are no f16 numbers, so the other types need a tensor for them. */
TEST(there_and_back)
{
    static const char *const types[] = {"tq1_0", "tq2_0", "f32",  "f16",  "q8_0",  "q4_0", "bf16",
                                        "q4_k",  "q6_k",  "i2_s", "q6_k", "tq2_0", "q4_0", "i2_s"};
    tern_model_shape shape;
    int compared = 0, looked = 0, at;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    if (harness_every() > 1)
        shape.layers = 1;
    CHECK_OK(tern_model_synth(path_of("first.gguf"), &shape, NULL));
    char from[32] = "first.gguf";
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        char to[32];
        snprintf(to, sizeof to, "step-%zu.gguf", k);
        CHECK_OK(convert(from, to, types[k], NULL));
        if (k % (size_t)harness_every() == 0 || k == sizeof types / sizeof types[0] - 1) {
            check_same("first.gguf", to, &compared);
            looked++;
        }
        tern_model_file *file;
        CHECK_OK(tern_model_file_open(path_of(to), NULL, &file));
        bool needs = strcmp(types[k], "f32") != 0 && strcmp(types[k], "i2_s") != 0;
        CHECK_EQ(tern_model_file_find(file, "blk.0.attn_q.scale", &at), needs ? TERN_OK : TERN_NOT_FOUND);
        if (strncmp(types[k], "tq", 2) == 0)
            check_block_scales(file, "blk.0.attn_q.weight", strcmp(types[k], "tq1_0") == 0 ? 54 : 66);
        tern_model_file_close(file);
        strcpy(from, to);
    }
    CHECK_EQ(compared, looked * 7 * (int)shape.layers);
    tern_ctx_destroy(ctx);
}

TEST(metadata_and_copies)
{
    tern_model_file *file, *copy;
    tern_model_shape shape;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("first.gguf"), &shape, NULL));
    CHECK_OK(convert("first.gguf", "copy.gguf", NULL, NULL));
    CHECK_OK(tern_model_file_open(path_of("first.gguf"), NULL, &file));
    CHECK_OK(tern_model_file_open(path_of("copy.gguf"), NULL, &copy));
    CHECK_EQ(tern_model_file_meta_count(file), tern_model_file_meta_count(copy));
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info x, y;
        CHECK_OK(tern_model_file_meta(file, i, &x));
        CHECK_OK(tern_model_file_meta(copy, i, &y));
        CHECK_STR(x.key, y.key);
        CHECK(x.type == y.type && x.is_array == y.is_array && x.count == y.count);
        for (int64_t j = 0; j < x.count && x.type == TERN_META_STRING; j++) {
            const char *s, *t;
            size_t n, m;
            CHECK_OK(tern_model_file_meta_string(file, i, j, &s, &n));
            CHECK_OK(tern_model_file_meta_string(copy, i, j, &t, &m));
            CHECK(n == m && memcmp(s, t, n) == 0);
        }
    }
    CHECK_EQ(tern_model_file_bytes(file), tern_model_file_bytes(copy));
    tern_model_file_close(file);
    tern_model_file_close(copy);
    tern_ctx_destroy(ctx);
}

typedef struct sums {
    int lossless, lossy;
    double least_sqnr, least_cosine;
} sums;

static void add_up(void *user, const tern_convert_report *r)
{
    sums *s = user;
    *(r->lossless ? &s->lossless : &s->lossy) += 1;
    if (!r->lossless) {
        s->least_sqnr = fmin(s->least_sqnr, r->sqnr_db);
        s->least_cosine = fmin(s->least_cosine, r->cosine);
    }
}

TEST(what_is_lost)
{
    tern_model_shape shape;
    tern_synth_options dense = tern_synth_options_default();
    tern_convert_options o = tern_convert_options_default();
    sums s = {.least_sqnr = 1000, .least_cosine = 1};
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    shape.architecture = "llama";
    dense.type = TERN_STORED_F32;
    CHECK_OK(tern_model_synth(path_of("dense.gguf"), &shape, &dense));
    o.report = add_up;
    o.user = &s;
    CHECK_OK(convert("dense.gguf", "q8.gguf", "q8_0", &o));
    CHECK(s.lossy == 14 && s.lossless == 6 && s.least_sqnr > 35 && s.least_sqnr < 60 &&
          s.least_cosine > 0.999);
    CHECK_STATUS(convert("dense.gguf", "refused.gguf", "tq2_0", &o), TERN_DTYPE);
    CHECK(strstr(tern_last_error(), "not ternary") && access(path_of("refused.gguf"), F_OK) != 0);
    s = (sums){.least_sqnr = 1000, .least_cosine = 1};
    o.force = true;
    CHECK_OK(convert("dense.gguf", "forced.gguf", "tq2_0", &o));
    /* uniform numbers: what absmean leaves of them is known to be poor */
    CHECK(s.lossy == 14 && s.least_sqnr > 3 && s.least_sqnr < 12 && s.least_cosine > 0.8 &&
          s.least_cosine < 0.99);
    tern_ctx_destroy(ctx);
}

/* `from` with each `before` in it become `after`, which is as long. */
static void patch(const char *from, const char *to, const char *before, const char *after)
{
    static uint8_t data[1 << 20];
    const size_t length = strlen(before);
    FILE *file = fopen(path_of(from), "rb");
    CHECK(file != NULL && strlen(after) == length);
    const size_t n = fread(data, 1, sizeof data, file);
    fclose(file);
    int found = 0;
    for (size_t i = 0; i + length <= n; i++) {
        if (memcmp(data + i, before, length) == 0) {
            memcpy(data + i, after, length);
            found++;
        }
    }
    CHECK(n < sizeof data && found > 0);
    file = fopen(path_of(to), "wb");
    CHECK(file != NULL && fwrite(data, 1, n, file) == n);
    CHECK(fclose(file) == 0);
}

/* What Tern would not load is not written again and called whole, in any format. Other architectures go on under their name in GGUF, which
 * keeps all of them. */
TEST(what_is_no_model_is_refused)
{
    static const struct {
        const char *before, *after, *said;
    } cases[] = {
        {"token_embd.weight", "token_embx.weight", "token_embd.weight"},
        {"blk.0.attn_sub_norm", "blk.0.attn_sub_nork", "blk.0.attn_sub_norm"},
        {"blk.1.ffn_up.weight", "blk.1.ffn_up.weighs", "blk.1.ffn_up.weight"},
        {"layer_norm_rms_epsilon", "layer_norm_rms_epsilom", "layer_norm_rms_epsilon"},
        {"bitnet-b1.58.vocab_size", "bitnet-b1.58.vocab_sizf", NULL}, /* nothing is missing */
    };
    static const char *const outputs[] = {"out.gguf", "out.safetensors"};
    tern_model_shape shape;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path_of("whole.gguf"), &shape, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        patch("whole.gguf", "less.gguf", cases[i].before, cases[i].after);
        for (size_t k = 0; k < 2 && cases[i].said; k++) {
            CHECK(convert("less.gguf", outputs[k], NULL, NULL) != TERN_OK);
            CHECK(strstr(tern_last_error(), cases[i].said) && access(path_of(outputs[k]), F_OK) != 0);
        }
        if (!cases[i].said)
            CHECK_OK(convert("less.gguf", "out.gguf", NULL, NULL));
    }
    unlink(path_of("out.gguf"));
    b.n = 0,
    put_gguf(&b, 3, 0, 2); /* of a model that was split, none but the first part names the architecture */
    put_meta_u32(&b, "split.count", 2), put_meta_u32(&b, "split.no", 1);
    store(&b, "part.gguf");
    for (size_t k = 0; k < 2; k++) {
        CHECK_STATUS(convert("part.gguf", outputs[k], NULL, NULL), TERN_UNSUPPORTED);
        CHECK(strstr(tern_last_error(), "part 2 of the 2") && access(path_of(outputs[k]), F_OK) != 0);
    }
    patch("whole.gguf", "other.gguf", "bitnet-b1.58", "mamba-b1.580");
    CHECK_STATUS(convert("other.gguf", "out.safetensors", NULL, NULL), TERN_UNSUPPORTED);
    CHECK_OK(convert("other.gguf", "out.gguf", "tq2_0", NULL));
    tern_model_file *file;
    CHECK_OK(tern_model_file_open(path_of("out.gguf"), NULL, &file));
    CHECK_STATUS(tern_model_check(file), TERN_UNSUPPORTED);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* A number that the new type cannot hold, or that is none, would make every answer NaN: no file is written. */
TEST(numbers_beyond_a_type)
{
    static const float values[] = {70000, -70000, INFINITY, NAN};
    set_up();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        float weights[256] = {[7] = values[i]};
        b.n = 0;
        put_gguf(&b, 3, 1, 1);
        put_meta_text(&b, "general.architecture", "llama");
        put_tensor(&b, "blk.0.ffn_up.weight", 2, (uint64_t[]){32, 8}, 0, 0);
        put_aligned(&b, 32);
        put(&b, weights, sizeof weights);
        store(&b, "large.gguf");
        CHECK_STATUS(convert("large.gguf", "half.gguf", "f16", NULL),
                     isfinite(values[i]) ? TERN_OUT_OF_RANGE : TERN_FORMAT);
        CHECK(strstr(tern_last_error(), "blk.0.ffn_up.weight") && access(path_of("half.gguf"), F_OK) != 0);
        if (isfinite(values[i]))
            CHECK_OK(convert("large.gguf", "brain.gguf", "bf16", NULL));
    }
    tern_ctx_destroy(ctx);
}

/* Blocks with scales of their own stay so in TQ types; I2_S has no place for them. */
TEST(scales_of_blocks)
{
    tern_model_file *file;
    tern_tensor *codes, *scales;
    set_up();
    b.n = 0;
    put_gguf(&b, 3, 1, 0);
    put_tensor(&b, "blk.0.attn_q.weight", 2, (uint64_t[]){256, 2}, 35, 0);
    put_aligned(&b, 32);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 64; i++)
            put_u8(&b, 0x66);
        put_u8(&b, 0), put_u8(&b, r ? 0x3c : 0x40); /* 2, then 1 */
    }
    store(&b, "blocks.gguf");
    CHECK_OK(convert("blocks.gguf", "tq1.gguf", "tq1_0", NULL));
    CHECK_OK(tern_model_file_open(path_of("tq1.gguf"), NULL, &file));
    CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
    CHECK(tern_numel(scales) == 2 && tern_data_f32(scales)[0] == 2 && tern_data_f32(scales)[1] == 1);
    tern_model_file_close(file);
    CHECK_STATUS(convert("blocks.gguf", "i2s.gguf", "i2_s", NULL), TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "use tq1_0 or tq2_0"));
    /* whoever loads them would ternarise them anew */
    static const char *const numbers[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q6_k"};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        CHECK_STATUS(convert("blocks.gguf", "numbers.gguf", numbers[k], NULL), TERN_UNSUPPORTED);
        CHECK(strstr(tern_last_error(), "would not be ternary any more"));
    }
    tern_ctx_destroy(ctx);
}

/* Blocks with scales of their own and one beside all of them: both stay what they are, bit for bit, in the other TQ type and back. */
TEST(scales_of_blocks_with_one_beside_them)
{
    static const float beside[] = {0.1f, -3.3333f, 1e-30f};
    static const unsigned halves[] = {0x3800, 0x3c01, 0x0001, 0x7bff}; /* 0.5, 1 + 2^-10, 2^-24, 65504 */
    tern_model_file *file;
    tern_tensor *codes, *scales;
    set_up();
    for (size_t k = 0; k < sizeof beside / sizeof beside[0]; k++) {
        b.n = 0;
        put_gguf(&b, 3, 2, 0);
        put_tensor(&b, "blk.0.attn_q.weight", 2, (uint64_t[]){256, 4}, 35, 0);
        put_tensor(&b, "blk.0.attn_q.scale", 1, (uint64_t[]){1}, 0, 288);
        put_aligned(&b, 32);
        for (int r = 0; r < 4; r++) {
            for (int i = 0; i < 64; i++)
                put_u8(&b, 0x66);
            put_u8(&b, halves[r] & 255), put_u8(&b, halves[r] >> 8);
        }
        put_aligned(&b, 32);
        put_f32(&b, beside[k]);
        store(&b, "both.gguf");
        CHECK_OK(convert("both.gguf", "both-1.gguf", "tq1_0", NULL));
        CHECK_OK(convert("both-1.gguf", "both-2.gguf", "tq2_0", NULL));
        for (int way = 1; way <= 2; way++) {
            char name[16];
            int i;
            snprintf(name, sizeof name, "both-%d.gguf", way);
            CHECK_OK(tern_model_file_open(path_of(name), NULL, &file));
            CHECK_OK(tern_model_file_find(file, "blk.0.attn_q.weight", &i));
            tern_file_tensor t;
            CHECK_OK(tern_model_file_tensor(file, i, &t));
            for (unsigned r = 0; r < 4; r++) {
                uint16_t half;
                CHECK_OK(
                    tern_model_file_read(file, i, (r + 1) * t.bytes / 4 - sizeof half, &half, sizeof half));
                CHECK_EQ(half, halves[r]);
            }
            CHECK_OK(
                tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
            CHECK(tern_numel(scales) == 4 && tern_data_f32(scales)[0] == 0.5f * beside[k]);
            tern_model_file_close(file);
        }
    }
    tern_ctx_destroy(ctx);
}

/* Four rows in the bytes of one: of rows that are no multiple of four nobody could tell how many there are. */
TEST(rows_that_cannot_be_packed)
{
    set_up();
    b.n = 0;
    put_gguf(&b, 3, 1, 1);
    put_meta_text(&b, "general.architecture", "bitnet-b1.58");
    put_tensor(&b, "blk.0.attn_q.weight", 2, (uint64_t[]){256, 6}, 35, 0);
    put_aligned(&b, 32);
    for (int r = 0; r < 6; r++) {
        for (int i = 0; i < 64; i++)
            put_u8(&b, 0x66);
        put_u8(&b, 0), put_u8(&b, 0x3c);
    }
    store(&b, "six.gguf");
    CHECK_EQ(mkdir(path_of("six"), 0777), 0);
    const tern_status status = convert("six.gguf", "six/model.safetensors", "hf_t2", NULL);
    const bool said = strstr(tern_last_error(), "has 6 rows") != NULL;
    CHECK(rmdir(path_of("six")) == 0);
    tern_ctx_destroy(ctx);
    if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE)
        SKIP("this build has no libjansson or no PCRE2");
    CHECK_EQ(status, TERN_SHAPE);
    CHECK(said);
}

/* Hugging Face's LLaMA has halves of heads one after the other, GGUF's has them interleaved. */
TEST(rows_of_heads)
{
    static const char header[] = "{\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"F32\",\"shape\":["
                                 "8,1],\"data_offsets\":[0,32]},"
                                 "\"model.layers.0.self_attn.v_proj.weight\":{\"dtype\":\"F32\",\"shape\":[8,"
                                 "1],\"data_offsets\":[32,64]}}";
    static const char config[] =
        "{\"model_type\":\"llama\",\"num_attention_heads\":2,\"hidden_size\":8,\"rope_theta\":1e4}";
    static const float wanted[] = {0, 2, 1, 3, 4, 6, 5, 7};
    tern_model_file *file;
    float rows[8];
    int64_t heads;
    int i;
    set_up();
    mkdir(path_of("llama"), 0777);
    b.n = 0, put(&b, config, sizeof config - 1), store(&b, "llama/config.json");
    b.n = 0, put_text(&b, header);
    for (int k = 0; k < 16; k++)
        put_f32(&b, (float)(k % 8));
    store(&b, "llama/model.safetensors");
    tern_status status = tern_model_file_open(path_of("llama"), NULL, &file);
    if (status == TERN_UNSUPPORTED) {
        tern_ctx_destroy(ctx);
        SKIP("this build has no libjansson");
    }
    CHECK_OK(status);
    CHECK_OK(tern_model_convert(ctx, file, path_of("llama.gguf"), NULL));
    tern_model_file_close(file);
    CHECK_OK(tern_model_file_open(path_of("llama.gguf"), NULL, &file));
    CHECK_OK(tern_model_file_get_int(file, "llama.attention.head_count", &heads));
    CHECK_EQ(heads, 2);
    CHECK_OK(tern_model_file_find(file, "blk.0.attn_q.weight", &i));
    CHECK_OK(tern_model_file_read(file, i, 0, rows, sizeof rows));
    for (int k = 0; k < 8; k++)
        CHECK(rows[k] == wanted[k]);
    CHECK_OK(tern_model_file_find(file, "blk.0.attn_v.weight", &i));
    CHECK_OK(tern_model_file_read(file, i, 0, rows, sizeof rows));
    for (int k = 0; k < 8; k++)
        CHECK(rows[k] == (float)k);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* Where rows move, the scales of their blocks move with them. */
TEST(rows_of_heads_with_scales_of_blocks)
{
    static const float wanted[] = {1, 4, 2, 8}; /* of rows 0, 2, 1, 3 */
    tern_model_file *file;
    tern_tensor *codes, *scales;
    set_up();
    b.n = 0;
    put_gguf(&b, 3, 1, 3);
    put_meta_text(&b, "general.architecture", "llama");
    put_meta_u32(&b, "llama.attention.head_count", 1);
    put_meta_text(&b, "tern.rope_style", "neox");
    put_tensor(&b, "blk.0.attn_q.weight", 2, (uint64_t[]){256, 4}, 35, 0);
    put_aligned(&b, 32);
    for (unsigned r = 0; r < 4; r++) {
        for (int i = 0; i < 64; i++)
            put_u8(&b, r % 2 ? 0x66 : 0x99);
        put_u8(&b, 0), put_u8(&b, 0x3c + 4 * r); /* f16: 1, 2, 4, 8 */
    }
    store(&b, "halves.gguf");
    CHECK_OK(convert("halves.gguf", "pairs.gguf", "tq1_0", NULL));
    CHECK_OK(tern_model_file_open(path_of("pairs.gguf"), NULL, &file));
    CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
    for (int r = 0; r < 4; r++) {
        CHECK(tern_numel(scales) == 4 && tern_data_f32(scales)[r] == wanted[r]);
        CHECK_EQ(((const uint8_t *)tern_data(codes))[64 * r] == ((const uint8_t *)tern_data(codes))[0],
                 r < 2);
    }
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* Without knowing how many heads there are nobody can put rows in another order. */
TEST(rows_of_unknown_heads)
{
    static const char header[] = "{\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"F32\",\"shape\":["
                                 "8,1],\"data_offsets\":[0,32]}}";
    static const char *const configs[] = {
        "{\"model_type\":\"llama\",\"hidden_size\":8}",
        "{\"model_type\":\"llama\",\"hidden_size\":8,\"num_attention_heads\":3}",
        "{\"model_type\":\"llama\",\"hidden_size\":8,\"num_attention_heads\":0}",
        "{\"model_type\":\"llama\",\"hidden_size\":8,\"num_attention_heads\":4611686018427387904}",
    };
    set_up();
    mkdir(path_of("headless"), 0777);
    b.n = 0, put_text(&b, header), put_zeros(&b, 32), store(&b, "headless/model.safetensors");
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        tern_model_file *file;
        b.n = 0, put(&b, configs[i], strlen(configs[i])), store(&b, "headless/config.json");
        tern_status status = tern_model_file_open(path_of("headless"), NULL, &file);
        if (status == TERN_UNSUPPORTED) {
            tern_ctx_destroy(ctx);
            SKIP("this build has no libjansson");
        }
        if (status != TERN_OK) /* refused even sooner */
            continue;
        CHECK(tern_model_convert(ctx, file, path_of("headless.gguf"), NULL) != TERN_OK);
        CHECK(access(path_of("headless.gguf"), F_OK) != 0);
        tern_model_file_close(file);
    }
    tern_ctx_destroy(ctx);
}

/* A LLaMA with ternary weights becomes an ordinary one, if that is forced: there the numbers have their scale in them. */
TEST(scales_of_numbers)
{
    static const char *const types[] = {"f32", "f16", "bf16"};
    tern_convert_options forced = tern_convert_options_default();
    forced.force = true;
    tern_model_shape shape;
    tern_model_file *before, *after;
    tern_tensor *x, *y;
    int at;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    shape.architecture = "llama";
    CHECK_OK(tern_model_synth(path_of("tuned.gguf"), &shape, NULL));
    CHECK_OK(tern_model_file_open(path_of("tuned.gguf"), NULL, &before));
    for (int k = 0; k < harness_cases(3); k++) {
        CHECK_STATUS(convert("tuned.gguf", "numbers.gguf", types[k], NULL), TERN_DTYPE);
        CHECK(strstr(tern_last_error(), "an ordinary layer"));
        CHECK_OK(convert("tuned.gguf", "numbers.gguf", types[k], &forced));
        CHECK_OK(tern_model_file_open(path_of("numbers.gguf"), NULL, &after));
        CHECK_STATUS(tern_model_file_find(after, "blk.0.attn_q.scale", &at), TERN_NOT_FOUND);
        TERN_SCOPE(ctx) {
            CHECK_OK(tern_model_file_find(before, "blk.0.attn_q.weight", &at));
            CHECK_OK(tern_model_file_load_f32(ctx, before, at, &x));
            CHECK_OK(tern_model_file_find(after, "blk.0.attn_q.weight", &at));
            CHECK_OK(tern_model_file_load_f32(ctx, after, at, &y));
            for (int64_t i = 0; i < tern_numel(x); i++)
                CHECK(fabsf(tern_data_f32(x)[i] - tern_data_f32(y)[i]) <=
                      0.004f * fabsf(tern_data_f32(x)[i]));
        }
        tern_model_file_close(after);
    }
    tern_model_file_close(before);
    tern_ctx_destroy(ctx);
}

/* Magnitudes do not tell the scale of a layer that does nothing, nor one that is not above zero: codes and bits come back all the same. */
TEST(scales_that_numbers_do_not_tell)
{
    static const char *const types[] = {"f32",  "f16",  "bf16",  "q8_0",  "q4_0",
                                        "q4_k", "q6_k", "tq1_0", "tq2_0", "i2_s"};
    static const float scales[] = {0.3f, -0.05f, 0.0f, -0.0f};
    static const uint8_t codes[] = {0x55, 0x89}; /* zeros; 1, -1, 1 and 0 */
    enum { BYTES = 256 * 2 / 4 };
    set_up();
    for (int k = 0; k < 2 * 4; k++) {
        b.n = 0, put_gguf(&b, 3, 1, 1);
        put_meta_text(&b, "general.architecture", "bitnet-b1.58");
        put_tensor(&b, "blk.0.ffn_up.weight", 2, (uint64_t[]){256, 2}, 36, 0);
        put_aligned(&b, 32);
        const size_t data = b.n;
        for (int i = 0; i < BYTES; i++)
            put_u8(&b, codes[k % 2]);
        put_f32(&b, scales[k / 2]);
        put_zeros(&b, 28);
        store(&b, "codes.gguf");
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            tern_model_file *file;
            uint8_t back[BYTES + 4];
            CHECK_OK(convert("codes.gguf", "numbers.gguf", types[t], NULL));
            CHECK_OK(convert("numbers.gguf", "back.gguf", "i2_s", NULL));
            CHECK_OK(tern_model_file_open(path_of("back.gguf"), NULL, &file));
            CHECK_EQ(tern_model_file_count(file), 1);
            CHECK_OK(tern_model_file_read(file, 0, 0, back, sizeof back));
            CHECK(memcmp(back, b.data + data, sizeof back) == 0);
            tern_model_file_close(file);
        }
    }
    tern_ctx_destroy(ctx);
}

/* Blocks made for other numbers hold codes too, with inner scales of 1; random models have their scale in them. */
TEST(blocks_of_numbers_keep_codes)
{
    static const tern_stored types[] = {TERN_STORED_Q8_0, TERN_STORED_Q4_0, TERN_STORED_Q4_K,
                                        TERN_STORED_Q6_K};
    tern_model_shape shape;
    tern_synth_options made = tern_synth_options_default();
    int compared = 0, at;
    set_up();
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    for (int i = 0; i < harness_cases(4); i++) {
        made.type = types[i];
        CHECK_OK(tern_model_synth(path_of("made.gguf"), &shape, &made));
        tern_model_file *file;
        CHECK_OK(tern_model_file_open(path_of("made.gguf"), NULL, &file));
        CHECK_STATUS(tern_model_file_find(file, "blk.0.attn_q.scale", &at), TERN_NOT_FOUND);
        tern_model_file_close(file);
        CHECK_OK(convert("made.gguf", "codes.gguf", "i2_s", NULL));
        CHECK_OK(convert("codes.gguf", "back.gguf", tern_stored_get(types[i])->name, NULL));
        check_same("codes.gguf", "back.gguf", &compared);
        check_same("made.gguf", "back.gguf", &compared);
    }
    CHECK_EQ(compared, 2 * harness_cases(4) * 7 * (int)shape.layers);
    tern_ctx_destroy(ctx);
}

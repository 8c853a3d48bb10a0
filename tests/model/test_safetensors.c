/* test_safetensors.c - safetensors, alone and in parts, with config.json: right ones, and those that broke others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "harness.h"
#include "model/arch/hparams.h"
#include "model/file/model_file.h"

static bytes b;
static tern_ctx *ctx;

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
}

/* A file of a header and `n` bytes of data. */
static void file_of(const char *header, size_t n)
{
    b.n = 0;
    put_text(&b, header);
    for (size_t i = 0; i < n; i++)
        put_u8(&b, (unsigned)i);
}

static void text_of(const char *text)
{
    b.n = 0;
    put(&b, text, strlen(text));
}

/* Without libjansson there is nothing to test but that sentence. */
static bool can_read(void)
{
    tern_model_file *file;
    file_of("{}", 0);
    if (open_bytes(&b, &file) == TERN_OK) {
        tern_model_file_close(file);
        return true;
    }
    return false;
}
#define NO_JSON "this build has no libjansson"

/* A folder of its own, in which files are made anew. */
static const char *in_folder(const char *name)
{
    static char path[4096];
    char folder[64];
    snprintf(folder, sizeof folder, "folder");
    if (harness_path(path, sizeof path, folder))
        mkdir(path, 0777);
    snprintf(folder, sizeof folder, "folder/%s", name);
    harness_path(path, sizeof path, folder);
    return path;
}

static void store_in_folder(const char *name)
{
    char inside[128];
    in_folder(name);
    snprintf(inside, sizeof inside, "folder/%s", name);
    store(&b, inside);
}

TEST(one_file)
{
    tern_model_file *file;
    tern_file_tensor t;
    tern_tensor *x;
    const char *text;
    int i;
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    file_of("{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":["
            "4,8]},"
            "\"b\\u00e9\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},"
            "\"empty\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[8,8]}}   ",
            8);
    CHECK_OK(open_bytes(&b, &file));
    CHECK_EQ(tern_model_file_format(file), TERN_FILE_SAFETENSORS);
    CHECK_EQ(tern_model_file_count(file), 3);
    CHECK_OK(tern_model_file_get_string(file, "metadata.format", &text));
    CHECK_STR(text, "pt");
    CHECK_OK(tern_model_file_find(file, "a", &i));
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    CHECK(t.stored == TERN_STORED_U8 && t.rank == 2 && t.shape[0] == 2);
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK_EQ(tern_data_u8(x)[3], 7);
    CHECK_OK(tern_model_file_find(file, "b\xc3\xa9", &i));
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK_EQ(tern_data_i32(x)[0], 0x03020100);
    CHECK_OK(tern_model_file_find(file, "empty", &i));
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK_EQ(tern_numel(x), 0);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

#define U8(name, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

TEST(bad_headers)
{
    static const uint64_t lengths[] = {0, 1, 1ull << 63, UINT64_MAX, 100000001, 1000};
    if (!can_read())
        SKIP(NO_JSON);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        b.n = 0, put_u64(&b, lengths[i]), put(&b, "{}", 2);
        store(&b, "x.safetensors");
        tern_model_file *file;
        char path[4096];
        CHECK(harness_path(path, sizeof path, "x.safetensors"));
        CHECK_STATUS(tern_model_file_open(path, NULL, &file), TERN_FORMAT);
    }
    static const char *const bad[][2] = {
        {"{" U8("a", "[4]", "0", "4") "," U8("b", "[4]", "2", "6") "}", "overlap"},
        {"{" U8("a", "[3]", "0", "3") "," U8("b", "[4]", "4", "8") "}", "cover"},
        {"{" U8("a", "[4]", "0", "4") "}", "cover"},
        {"{" U8("a", "[4]", "1", "5") "," U8("b", "[3]", "5", "8") "}", "cover"},
        {"{" U8("a", "[4]", "8", "4") "}", "do not lie"},
        {"{" U8("a", "[4]", "-4", "0") "}", "do not lie"},
        {"{" U8("a", "[12]", "0", "12") "}", "do not lie"},
        {"{" U8("a", "[4]", "0", "9223372036854775807") "}", "do not lie"},
        {"{" U8("a", "[4]", "0", "9223372036854775808") "}", "JSON"},
        {"{" U8("a", "[4]", "0.5", "4") "}", "whole numbers"},
        {"{" U8("a", "[8]", "0", "8") "," U8("a", "[0]", "8", "8") "}", "two tensors"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}}", "duplicate"},
        {"{\"__metadata__\":{\"k\":1}," U8("a", "[8]", "0", "8") "}", "not a string"},
        {"{\"__metadata__\":[]," U8("a", "[8]", "0", "8") "}", "'{' expected"},
        {"{" U8("a", "[4294967296,4294967296,0]", "0", "0") "," U8("b", "[8]", "0", "8") "}", "too large"},
        {"{" U8("a", "[4611686018427387904,4]", "0", "0") "," U8("b", "[8]", "0", "8") "}", "too large"},
        {"{" U8("a", "[7]", "0", "8") "}", "needs 7 bytes"},
        {"{" U8("a", "[-8]", "0", "8") "}", "is -8"},
        {"{" U8("a", "[1,1,1,1,1,1,1,1,8]", "0", "8") "}", "9 axes"},
        {"{" U8("a", "8", "0", "8") "}", "no shape"},
        {"{" U8("", "[8]", "0", "8") "}", "is empty"},
        {"{" U8("a\\u0000b", "[8]", "0", "8") "}", "JSON"},
        {"{" U8("\\ud800", "[8]", "0", "8") "}", "JSON"},
        {"{\"a\":{\"dtype\":\"X9\",\"shape\":[8],\"data_offsets\":[0,8]}}", "unknown dtype"},
        {"{\"a\":{\"shape\":[8],\"data_offsets\":[0,8]}}", "no dtype"},
        {"{\"a\":[]}", "no dtype"},
        {"{" U8("a", "[8]", "0", "8") "} x", "follows the object"},
        {"{" U8("a", "[8]", "0", "8"), "JSON"},
        {"{" U8("a", "[8]", "0", "8") ",}", "JSON"},
        {"{1:2}", "JSON"},
        {"{\"a\"", "JSON"},
        {"{\"a\":1e999}", "JSON"},
        {"{", "from 2 to"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        file_of(bad[i][0], 8);
        REFUSE(&b, strstr(bad[i][1], "unknown") ? TERN_UNSUPPORTED : TERN_FORMAT, bad[i][1]);
    }
    b.n = 0, put_u64(&b, 3), put(&b, " {}", 3); /* a blank before the object */
    store(&b, "x.safetensors");
    tern_model_file *file;
    char path[4096];
    CHECK(harness_path(path, sizeof path, "x.safetensors"));
    CHECK_STATUS(tern_model_file_open(path, NULL, &file), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "does not begin with '{'"));
}

TEST(deep_json)
{
    if (!can_read())
        SKIP(NO_JSON);
    b.n = 0;
    put_u64(&b, 60000);
    put(&b, "{\"a\":", 5);
    while (b.n < 60008)
        put_u8(&b, '[');
    REFUSE(&b, TERN_FORMAT, "JSON");
}

/* A hundred thousand tensors of one byte. */
TEST(many_tensors)
{
    enum { MANY = 100000 };
    tern_model_file *file;
    char path[4096];
    int i;
    if (!can_read())
        SKIP(NO_JSON);
    size_t room = (size_t)MANY * 80, n = 8;
    char *text = malloc(room);
    CHECK(text && harness_path(path, sizeof path, "many.safetensors"));
    text[n++] = '{';
    for (int k = 0; k < MANY; k++)
        n += (size_t)snprintf(text + n, room - n,
                              "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                              k ? "," : "", k, k, k + 1);
    text[n++] = '}';
    uint64_t length = n - 8;
    memcpy(text, &length, 8);
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(text, 1, n, out) == n && fwrite(text, 1, MANY, out) == MANY && fclose(out) == 0);
    free(text);
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_EQ(tern_model_file_count(file), MANY);
    CHECK_OK(tern_model_file_find(file, "t99999", &i));
    CHECK_EQ(i, 99999);
    tern_model_file_close(file);
}

/* ---- folders ------------------------------------------------------------------------------------------------------- */

static const char config[] =
    "{\"architectures\":[\"%s\"],\"model_type\":\"%s\",\"hidden_act\":\"%s\",\"hidden_size\":8,\"num_hidden_"
    "layers\":1,"
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"intermediate_size\":16,\"rms_norm_eps\":1e-05,"
    "\"rope_theta\":500000.0,\"vocab_size\":32,\"max_position_embeddings\":64,\"bos_token_id\":1,\"eos_token_"
    "id\":[2,3],"
    "\"tie_word_embeddings\":%s%s}";

static void put_config(const char *class, const char *type, const char *act, const char *tied,
                       const char *more)
{
    char text[1024];
    snprintf(text, sizeof text, config, class, type, act, tied, more);
    text_of(text);
    store_in_folder("config.json");
}

/* A BitLinear of 8 rows and 6 columns, packed, its scale 0.25 (bf16 0x3e80), and a head. Value (i, k) is (i + k) % 3 - 1. */
static void put_packed(void)
{
    file_of("{\"model.layers.0.self_attn.q_proj.weight\":{\"dtype\":\"U8\",\"shape\":[2,6],\"data_offsets\":["
            "0,12]},"
            "\"model.layers.0.self_attn.q_proj.weight_scale\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_"
            "offsets\":[12,14]},"
            "\"lm_head.weight\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[14,16]}}",
            0);
    for (int r = 0; r < 2; r++) {
        for (int k = 0; k < 6; k++) {
            unsigned byte = 0;
            for (int plane = 0; plane < 4; plane++)
                byte |= (unsigned)((r + 2 * plane + k) % 3) << 2 * plane;
            put_u8(&b, byte);
        }
    }
    put(&b, "\x80\x3e\0\0", 4);
    store_in_folder("model.safetensors");
}

static void open_folder(tern_model_file **out)
{
    char path[4096];
    CHECK(harness_path(path, sizeof path, "folder"));
    CHECK_OK(tern_model_file_open(path, NULL, out));
}

static void check_packed(const tern_model_file *file, float scale)
{
    tern_tensor *codes, *scales, *x;
    tern_file_tensor t;
    int i;
    CHECK_OK(tern_model_file_find(file, "blk.0.attn_q.weight", &i));
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    CHECK(t.stored == TERN_STORED_HF_T2 && t.shape[0] == 8 && t.shape[1] == 6 && t.bytes == 12);
    CHECK_STR(t.stored_name, "model.layers.0.self_attn.q_proj.weight");
    CHECK_OK(tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales));
    const uint8_t *t2 = tern_data(codes);
    for (int r = 0; r < 8; r++) {
        for (int c = 0; c < 8; c++)
            CHECK_EQ(t2[2 * r + c / 4] >> 2 * (c % 4) & 3, c < 6 ? (r + c) % 3 : 1);
    }
    CHECK(tern_rank(scales) == 0 && tern_data_f32(scales)[0] == scale);
    CHECK_OK(tern_model_file_load_f32(ctx, file, i, &x));
    CHECK(tern_data_f32(x)[2] == scale && tern_data_f32(x)[0] == -scale);
}

#define MODULES(list) \
    ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"modules_to_not_convert\":" list "}"

/* What a config.json asks for and nobody here does is refused by its name; its usual values are not. */
TEST(settings_that_change_answers)
{
    static const struct {
        const char *entry, *named; /* NULL: fine */
    } cases[] = {
        {"", NULL},
        {",\"final_logit_softcapping\":30", "final_logit_softcapping"},
        {",\"final_logit_softcapping\":null", NULL},
        {",\"attn_logit_softcapping\":50", "attn_logit_softcapping"},
        {",\"logit_scale\":0.5", "logit_scale"},
        {",\"logits_scaling\":8", "logits_scaling"},
        {",\"logits_scaling\":1.0", NULL},
        {",\"residual_multiplier\":0.22", "residual_multiplier"},
        {",\"embedding_multiplier\":12", "embedding_multiplier"},
        {",\"attention_multiplier\":0.9", "attention_multiplier"},
        {",\"query_pre_attn_scalar\":256", "query_pre_attn_scalar"},
        {",\"num_local_experts\":8", "num_local_experts"},
        {",\"layer_types\":[\"full_attention\",\"sliding_attention\"]", "layer_types.1"},
        {",\"layer_types\":[\"full_attention\"]", NULL},
        {",\"layer_types\":[null,\"sliding_attention\"]", "layer_types.0' is 'null'"},
        {",\"layer_types\":[[],\"full_attention\"]", "layer_types.0' is '[]'"},
        {",\"layer_types\":[{\"a\":\"b\"}]", "layer_types.0.a' is 'b'"},
        {",\"layer_types\":\"sliding_attention\"", "layer_types' is 'sliding_attention'"},
        {",\"no_rope_layers\":[1,0]", "no_rope_layers.1"},
        {",\"no_rope_layers\":0", "no_rope_layers"},
        {",\"no_rope_layers\":[1,1]", NULL},
        {",\"quantization_config\":{\"quant_method\":\"gptq\"}", "quant_method"},
        {",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"foo\"}",
         "linear_class' is 'foo', which is not implemented (known: 'autobitlinear', 'bitlinear')"},
        {",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":null}", NULL},
        {",\"hidden_activation\":\"gelu\"", "hidden_activation"},
        {",\"quantization_config\":{\"quant_method\":\"bitnet\",\"quantization_mode\":\"Offline\"}",
         "quantization_mode' is 'Offline', which is not implemented (known: 'online', 'offline')"},
        {",\"quantization_config\":{\"quant_method\":\"bitnet\",\"quantization_mode\":null}", NULL},
        {MODULES("null"), NULL},
        {MODULES("[\"lm_head\",\"model.norm\",\"embed_tokens\",\"model.layers.0.mlp.ffn_layernorm\"]"), NULL},
        {MODULES("[\"lm_head\",\"model.layers.0.normal.q_proj\"]"), "keeps 'model.layers.0.normal.q_proj'"},
        {MODULES("[null,\"model.layers.0.mlp.gate_proj\"]"), "keeps 'null'"},
        {MODULES("[\"\"]"), "keeps ''"},
        {MODULES("\"model.layers.0.mlp.gate_proj\""), "keeps 'model.layers.0.mlp.gate_proj'"},
        {MODULES("{\"a\":\"mlp\"}"), "keeps 'mlp'"},
        {",\"input_bits\":4,\"weight_bits\":1", "input_bits"},
        {",\"input_bits\":8,\"weight_bits\":2", "weight_bits"},
        {",\"input_bits\":8,\"weight_bits\":1", NULL},
        {",\"attention_bias\":true", "attention_bias"},
        {",\"mlp_bias\":true", "mlp_bias"},
        {",\"attention_bias\":false,\"mlp_bias\":null", NULL},
        {",\"rope_parameters\":{\"rope_theta\":500000}", NULL},
        {",\"rope_parameters\":{\"rope_theta\":null}", NULL},
    };
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    put_packed();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern_model_file *file;
        tern__hparams h;
        put_config("LlamaForCausalLM", "llama", "silu", "false", cases[i].entry);
        open_folder(&file);
        const tern_status status = tern__hparams_read(file, &h);
        if (status != (cases[i].named ? TERN_UNSUPPORTED : TERN_OK) ||
            (cases[i].named && !strstr(tern_last_error(), cases[i].named)))
            harness_fail(__FILE__, __LINE__, "%s: %s: %s", cases[i].entry, tern_status_name(status),
                         status ? tern_last_error() : "");
        tern_model_file_close(file);
    }
    unlink(in_folder("config.json"));
    tern_ctx_destroy(ctx);
}

/* What is not of the form that it should have is no word unsaid. */
TEST(settings_of_a_wrong_form)
{
    static const struct {
        const char *entry, *named;
        tern_status status;
    } cases[] = {
        {",\"no_rope_layers\":[null,0]", "no_rope_layers.0", TERN_DTYPE},
        {MODULES("[7]"), "modules_to_not_convert.0", TERN_DTYPE},
        {MODULES("{\"lm_head\":true}"), "modules_to_not_convert.lm_head", TERN_DTYPE},
        {",\"quantization_config\":\"bitnet\"", "quantization_config of config.json is not an object",
         TERN_FORMAT},
        {",\"quantization_config\":[\"bitnet\"]", "quantization_config of config.json is not an object",
         TERN_FORMAT},
        {",\"quantization_config\":[{\"quant_method\":\"bitnet\"}]", "is not an object", TERN_FORMAT},
    };
    if (!can_read())
        SKIP(NO_JSON);
    put_packed();
    for (size_t i = 0; i <= sizeof cases / sizeof cases[0]; i++) {
        const bool tied = i == sizeof cases / sizeof cases[0];
        tern_model_file *file;
        tern__hparams h;
        put_config("LlamaForCausalLM", "llama", "silu", tied ? "1" : "false", tied ? "" : cases[i].entry);
        open_folder(&file);
        CHECK_STATUS(tern__hparams_read(file, &h), tied ? TERN_FORMAT : cases[i].status);
        const char *named =
            tied ? "tie_word_embeddings of config.json is neither true nor false" : cases[i].named;
        if (!strstr(tern_last_error(), named))
            harness_fail(__FILE__, __LINE__, "%s: %s", named, tern_last_error());
        tern_model_file_close(file);
    }
    unlink(in_folder("config.json"));
}

/* What is missing is called by its name in config.json. */
TEST(numbers_that_are_missing)
{
    static const char *const configs[] = {"num_hidden_layers", "rms_norm_eps"};
    if (!can_read())
        SKIP(NO_JSON);
    put_packed();
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        char text[1024];
        tern_model_file *file;
        tern__hparams h;
        snprintf(text, sizeof text, config, "LlamaForCausalLM", "llama", "silu", "false", "");
        char *at = strstr(text, configs[i]);
        CHECK(at);
        *at = 'x';
        text_of(text);
        store_in_folder("config.json");
        open_folder(&file);
        CHECK_STATUS(tern__hparams_read(file, &h), TERN_NOT_FOUND);
        CHECK(strstr(tern_last_error(), "folder/model.safetensors: the config.json beside it has no '"));
        CHECK(strstr(tern_last_error(), configs[i]));
        tern_model_file_close(file);
    }
    unlink(in_folder("config.json"));
}

/* A base of positions that is said twice has to be the same. */
TEST(two_bases_of_positions)
{
    tern_model_file *file;
    tern__hparams h;
    if (!can_read())
        SKIP(NO_JSON);
    put_packed();
    put_config("LlamaForCausalLM", "llama", "silu", "false", ",\"rope_parameters\":{\"rope_theta\":10000}");
    open_folder(&file);
    CHECK_STATUS(tern__hparams_read(file, &h), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "rope_theta 500000 and rope_parameters.rope_theta 10000"));
    tern_model_file_close(file);
    unlink(in_folder("config.json"));
}

/* Tokens of config.json that a vocabulary of 32 has not, or that are no numbers. */
TEST(ids_of_tokens)
{
    static const struct {
        const char *ends;
        bool right;
    } cases[] = {{"[2,3]", true},      {"31", true},    {"null", true},      {"[]", true},
                 {"32", false},        {"-1", false},   {"[2,32]", false},   {"\"x\"", false},
                 {"1.5", false},       {"true", false}, {"[null,2]", false}, {"[[]]", false},
                 {"{\"a\":32}", false}};
    if (!can_read())
        SKIP(NO_JSON);
    put_packed();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024], changed[1024];
        tern_model_file *file;
        tern__hparams h;
        snprintf(text, sizeof text, config, "LlamaForCausalLM", "llama", "silu", "false", "");
        const char *at = strstr(text, "[2,3]");
        CHECK(at);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, cases[i].ends, at + 5);
        text_of(changed);
        store_in_folder("config.json");
        open_folder(&file);
        const tern_status status = tern__hparams_read(file, &h);
        if (status != (cases[i].right ? TERN_OK : TERN_FORMAT) ||
            (status && !strstr(tern_last_error(), "config.eos_token_id")))
            harness_fail(__FILE__, __LINE__, "%s: %s: %s", cases[i].ends, tern_status_name(status),
                         status ? tern_last_error() : "");
        tern_model_file_close(file);
    }
    unlink(in_folder("config.json"));
}

/* What weight_scale means is never guessed: a config.json without a word of it, or with one that nobody knows, is refused. */
TEST(unsaid_meaning_of_weight_scale)
{
    static const char *const unsaid[] = {
        "",
        ",\"quantization_config\":null",
        ",\"quantization_config\":{}",
        ",\"quantization_config\":\"bitnet\"",
        ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"foo\"}",
        ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":5}",
        ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"\"}",
    };
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    put_packed();
    for (size_t i = 0; i < sizeof unsaid / sizeof unsaid[0]; i++) {
        tern_model_file *file;
        tern_tensor *codes, *scales;
        put_config("BitNetForCausalLM", "bitnet", "relu2", "true", unsaid[i]);
        open_folder(&file);
        CHECK_STATUS(
            tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales),
            TERN_FORMAT);
        CHECK(strstr(tern_last_error(), "does not say whether"));
        CHECK(strstr(tern_last_error(), "autobitlinear (multiplies) or bitlinear (divides)"));
        tern_model_file_close(file);
    }
    unlink(in_folder("config.json"));
    tern_ctx_destroy(ctx);
}

TEST(both_meanings_of_weight_scale)
{
    tern_model_file *file;
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    put_packed();
    put_config("BitNetForCausalLM", "bitnet", "relu2", "true",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"autobitlinear\","
               "\"quantization_mode\":\"offline\"}");
    open_folder(&file);
    check_packed(file, 0.25f);
    tern_model_file_close(file);
    put_config("LlamaForCausalLM", "llama", "silu", "false",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"bitlinear\"}");
    open_folder(&file);
    check_packed(file, 4);
    tern_model_file_close(file);
    put_config("LlamaForCausalLM", "llama", "silu", "false",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\"}");
    open_folder(&file);
    check_packed(file, 4);
    tern_model_file_close(file);
    unlink(in_folder("config.json"));
    open_folder(&file);
    tern_tensor *codes, *scales;
    CHECK_STATUS(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales),
                 TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "config.json is missing"));
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

TEST(configuration)
{
    tern_model_file *file;
    const char *text;
    int64_t i;
    double f;
    int at;
    if (!can_read())
        SKIP(NO_JSON);
    put_packed();
    static const struct {
        const char *class, *type, *act, *architecture;
    } families[] = {
        {"BitNetForCausalLM", "bitnet", "relu2", "bitnet-b1.58"},
        {"BitnetForCausalLM", "bitnet", "silu", "bitnet"},
        {"BitnetForCausalLM", "llama", "silu", "bitnet"},
        {"LlamaForCausalLM", "llama", "silu", "llama"},
    };
    for (int k = 0; k < 4; k++) {
        put_config(families[k].class, families[k].type, families[k].act, k % 2 ? "true" : "false", "");
        open_folder(&file);
        CHECK_OK(tern_model_file_get_string(file, "general.architecture", &text));
        CHECK_STR(text, families[k].architecture);
        CHECK_EQ(tern_model_file_find(file, "output.weight", &at), k % 2 ? TERN_NOT_FOUND : TERN_OK);
        CHECK_OK(tern_model_file_find(file, "lm_head.weight", &at));
        CHECK_EQ(file->left_over[at], k % 2);
        tern_model_file_close(file);
    }
    open_folder(&file);
    static const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"llama.vocab_size", 32},           {"llama.context_length", 64},
        {"llama.embedding_length", 8},      {"llama.block_count", 1},
        {"llama.feed_forward_length", 16},  {"llama.attention.head_count", 2},
        {"llama.rope.dimension_count", 4},  {"llama.attention.head_count_kv", 1},
        {"tokenizer.ggml.bos_token_id", 1}, {"tokenizer.ggml.eos_token_id", 2},
        {"config.eos_token_id.1", 3},
    };
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        CHECK_OK(tern_model_file_get_int(file, numbers[k].key, &i));
        CHECK_EQ(i, numbers[k].value);
    }
    CHECK_OK(tern_model_file_get_float(file, "llama.rope.freq_base", &f));
    CHECK(f == 500000);
    CHECK_OK(tern_model_file_get_string(file, "tern.rope_style", &text));
    CHECK_STR(text, "neox");
    tern_model_file_close(file);
    unlink(in_folder("config.json"));
}

TEST(bad_configurations)
{
    static const char *const bad[] = {"", "[]", "{", "{\"a\":1,\"a\":2}", "{} x", "{\"a\":\"\\ud800\"}"};
    char path[4096];
    tern_model_file *file;
    if (!can_read())
        SKIP(NO_JSON);
    put_packed();
    CHECK(harness_path(path, sizeof path, "folder"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        text_of(bad[i]);
        store_in_folder("config.json");
        CHECK_STATUS(tern_model_file_open(path, NULL, &file), TERN_FORMAT);
        CHECK(strstr(tern_last_error(), "config.json: JSON"));
    }
    unlink(in_folder("config.json"));
}

/* Master weights of a BitNet are ternarised as training does it; of another model they are not. */
TEST(master_weights)
{
    tern_model_file *file;
    tern_tensor *codes, *scales;
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    file_of(
        "{\"model.layers.0.mlp.up_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[1,4],\"data_offsets\":[0,8]}}",
        0);
    put(&b, (uint16_t[]){0x3f80, 0xbf80, 0x3e00, 0x3f00}, 8); /* 1 -1 0.125 0.5, mean 0.65625 */
    store_in_folder("model.safetensors");
    put_config("BitNetForCausalLM", "bitnet", "relu2", "true",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"quantization_mode\":\"online\"}");
    open_folder(&file);
    CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales));
    CHECK_EQ(*(const uint8_t *)tern_data(codes), 2 | 0 << 2 | 1 << 4 | 2 << 6);
    CHECK(tern_data_f32(scales)[0] == 0.65625f);
    CHECK(tern_model_file_runs_ternary(file, 0) && !tern_model_file_runs_ternary(file, 1));
    tern_model_file_close(file);
    put_config("LlamaForCausalLM", "llama", "silu", "true",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"quantization_mode\":\"online\"}");
    open_folder(&file);
    CHECK(tern_model_file_runs_ternary(file, 0));
    tern_model_file_close(file);
    /* without the word nothing is ternarised: Hugging Face's layers are "offline" unless they are said not to be */
    put_config("BitNetForCausalLM", "bitnet", "relu2", "true",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"autobitlinear\"}");
    open_folder(&file);
    CHECK_STATUS(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales),
                 TERN_DTYPE);
    CHECK(strstr(tern_last_error(), "not ternary"));
    tern_model_file_close(file);
    put_config("BitnetForCausalLM", "llama", "silu", "true", ""); /* 1bitLLM's say nothing of it */
    open_folder(&file);
    CHECK_OK(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales));
    CHECK(tern_data_f32(scales)[0] == 0.65625f);
    tern_model_file_close(file);
    put_config("LlamaForCausalLM", "llama", "silu", "true", "");
    open_folder(&file);
    CHECK(!tern_model_file_runs_ternary(file, 0));
    CHECK_STATUS(tern_model_file_load_ternary(ctx, file, 0, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales),
                 TERN_DTYPE);
    tern_model_file_close(file);
    unlink(in_folder("config.json"));
    tern_ctx_destroy(ctx);
}

/* ---- several files ------------------------------------------------------------------------------------------------- */

static void put_parts(void)
{
    unlink(in_folder("model.safetensors")); /* of another test */
    file_of("{" U8("a", "[4]", "0", "4") "}", 4), store_in_folder("part-1.safetensors");
    file_of("{" U8("b", "[2]", "0", "2") "," U8("c", "[1]", "2", "3") "}", 3),
        store_in_folder("part-2.safetensors");
}

#define WHOLE_MAP "\"a\":\"part-1.safetensors\",\"b\":\"part-2.safetensors\",\"c\":\"part-2.safetensors\""

static tern_status open_index(const char *map, tern_model_file **out)
{
    char text[512], path[4096];
    snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":7},\"weight_map\":{%s}}", map);
    text_of(text);
    store_in_folder("model.safetensors.index.json");
    return harness_path(path, sizeof path, "folder") ? tern_model_file_open(path, NULL, out) : TERN_INTERNAL;
}

TEST(parts)
{
    tern_model_file *file;
    tern_file_tensor t;
    uint8_t byte;
    int i;
    if (!can_read())
        SKIP(NO_JSON);
    put_parts();
    CHECK_OK(open_index(WHOLE_MAP, &file));
    CHECK_EQ(tern_model_file_count(file), 3);
    CHECK_EQ(tern_model_file_parts(file), 3); /* the index is one */
    CHECK_OK(tern_model_file_find(file, "c", &i));
    CHECK_OK(tern_model_file_tensor(file, i, &t));
    CHECK(strstr(tern_model_file_part(file, t.part), "part-2.safetensors"));
    CHECK_OK(tern_model_file_read(file, i, 0, &byte, 1));
    CHECK_EQ(byte, 2);
    tern_model_file_close(file);
}

/* Which of them is meant nobody can tell; one that is a part of the other is one model. */
TEST(two_models_in_a_folder)
{
    tern_model_file *file;
    if (!can_read())
        SKIP(NO_JSON);
    put_parts();
    file_of("{" U8("a", "[4]", "0", "4") "}", 4), store_in_folder("model.safetensors");
    CHECK_STATUS(open_index(WHOLE_MAP, &file), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "folder with two models"));
    CHECK_OK(tern_model_file_open(in_folder("model.safetensors"), NULL, &file));
    CHECK_EQ(tern_model_file_count(file), 1);
    tern_model_file_close(file);
    CHECK_OK(tern_model_file_open(in_folder("model.safetensors.index.json"), NULL, &file));
    CHECK_EQ(tern_model_file_count(file), 3);
    tern_model_file_close(file);
    CHECK_OK(open_index("\"a\":\"model.safetensors\"", &file));
    CHECK_EQ(tern_model_file_count(file), 1);
    tern_model_file_close(file);
    unlink(in_folder("model.safetensors"));
    unlink(in_folder("model.safetensors.index.json"));
}

TEST(bad_indices)
{
    tern_model_file *file;
    char outside[4096];
    if (!can_read())
        SKIP(NO_JSON);
    put_parts();
    file_of("{" U8("x", "[4]", "0", "4") "}", 4);
    snprintf(outside, sizeof outside, "%s", store(&b, "outside.safetensors"));
    unlink(in_folder("link.safetensors"));
    CHECK_EQ(symlink("../outside.safetensors", in_folder("link.safetensors")), 0);
    static const struct {
        const char *map;
        tern_status status;
    } bad[] = {
        {"\"x\":\"../outside.safetensors\"", TERN_FORMAT},
        {"\"x\":\"/etc/passwd\"", TERN_FORMAT},
        {"\"x\":\"..\"", TERN_FORMAT},
        {"\"x\":\"\"", TERN_FORMAT},
        {"\"x\":\"link.safetensors\"", TERN_FORMAT},
        {"\"x\":\"absent.safetensors\"", TERN_NOT_FOUND},
        {"\"x\":1", TERN_FORMAT},
        {"", TERN_FORMAT},
        {"\"a\":\"part-1.safetensors\",\"z\":\"part-1.safetensors\"", TERN_FORMAT},
        {"\"a\":\"part-2.safetensors\",\"b\":\"part-1.safetensors\"", TERN_FORMAT}, /* the other way round */
        {"\"z\":\"part-1.safetensors\"", TERN_FORMAT},
        {"\"a\":\"model.safetensors.index.json\"", TERN_FORMAT},
        {WHOLE_MAP "},\"weight_map\":{", TERN_FORMAT}, /* twice */
        {"},\"weight_map\":{" WHOLE_MAP, TERN_FORMAT},
        {WHOLE_MAP "},\"metadata\":{", TERN_FORMAT},
        {"\"a\":\"part-1.safetensors\",\"b\":\"part-2.safetensors\"", TERN_FORMAT}, /* without c */
        {"\"a\":\"part-1.safetensors\",\"b\":\"part-2.safetensors\",\"b\":\"part-2.safetensors\"",
         TERN_FORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_STATUS(open_index(bad[i].map, &file), bad[i].status);
    unlink(in_folder("link.safetensors")); /* one that stays in the folder is fine */
    CHECK_EQ(symlink("part-1.safetensors", in_folder("link.safetensors")), 0);
    CHECK_OK(open_index("\"a\":\"link.safetensors\"", &file));
    tern_model_file_close(file);
    text_of("{\"a\":1}");
    REFUSE(&b, TERN_FORMAT, "without a weight_map");
    unlink(in_folder("model.safetensors.index.json"));
}

TEST(every_cut)
{
    char path[4096];
    tern_model_file *file;
    if (!can_read())
        SKIP(NO_JSON);
    file_of("{" U8("a", "[4]", "0", "4") "," U8("b", "[4]", "4", "8") "}", 8);
    CHECK(harness_path(path, sizeof path, "cut.safetensors"));
    for (size_t whole = b.n, n = 0; n < whole; n++) {
        b.n = n;
        store(&b, "cut.safetensors");
        CHECK_STATUS(tern_model_file_open(path, NULL, &file), TERN_FORMAT);
    }
}

TEST(foreign_files)
{
    tern_model_file *file;
    tern_tensor *x;
    int i;
    if (!shared_path("safetensors/voices.safetensors"))
        SKIP(NO_SHARED("safetensors/voices.safetensors"));
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    CHECK_OK(tern_model_file_open(shared_path("safetensors/voices.safetensors"), NULL, &file));
    CHECK_EQ(tern_model_file_count(file), 2);
    CHECK_OK(tern_model_file_find(file, "tokens", &i));
    CHECK_OK(tern_model_file_load(ctx, file, i, &x));
    CHECK(tern_dtype_of(x) == TERN_I64 && tern_numel(x) == 982 * 33);
    tern_model_file_close(file);
    tern_ctx_destroy(ctx);
}

/* What HF's own packing made of a matrix of 16 x 512, and the matrix. */
TEST(foreign_packed_weights)
{
    static uint8_t npy[128 + 16 * 512], packed[4 * 512];
    tern_model_file *file;
    tern_tensor *codes, *scales;
    int i;
    if (!shared_path("ternary-formats/hf_packed_u8.bin"))
        SKIP(NO_SHARED("ternary-formats/hf_packed_u8.bin"));
    if (!can_read())
        SKIP(NO_JSON);
    set_up();
    FILE *in = fopen(shared_path("ternary-formats/hf_packed_u8.bin"), "rb");
    CHECK(in && fread(packed, 1, sizeof packed, in) == sizeof packed && fclose(in) == 0);
    in = fopen(shared_path("ternary-formats/w_ternary_i8_16x512.npy"), "rb");
    CHECK(in && fread(npy, 1, sizeof npy, in) == sizeof npy && fclose(in) == 0);
    file_of("{\"x.weight_scale\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[2048,2052]},"
            "\"x.weight\":{\"dtype\":\"U8\",\"shape\":[4,512],\"data_offsets\":[0,2048]}}",
            0);
    put(&b, packed, sizeof packed);
    put_f32(&b, 0.5f);
    store_in_folder("model.safetensors");
    put_config("BitNetForCausalLM", "bitnet", "relu2", "true",
               ",\"quantization_config\":{\"quant_method\":\"bitnet\",\"linear_class\":\"autobitlinear\"}");
    open_folder(&file);
    CHECK_OK(tern_model_file_find(file, "x.weight", &i));
    CHECK_OK(tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_DECLARED, &codes, &scales));
    const uint8_t *t2 = tern_data(codes);
    for (int k = 0; k < 16 * 512; k++)
        CHECK_EQ((t2[k / 4] >> 2 * (k % 4) & 3) - 1, (int8_t)npy[128 + k]);
    CHECK(tern_data_f32(scales)[0] == 0.5f);
    tern_model_file_close(file);
    unlink(in_folder("config.json"));
    tern_ctx_destroy(ctx);
}

/* test_architectures.c - every row of architectures.def: a model of it can be made, loaded, written for Hugging Face and read
 * again; and which row a config.json means. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tern/model.h>
#include <tern/model_convert.h>
#include <tern/ops.h>

#include "bytes.h"
#include "harness.h"
#include "model/arch/hparams.h"
#include "model/arch/parts.h"
#include "model/file/hf.h"
#include "tiny_model.h"

static const char *path_of(const char *name)
{
    static char paths[2][4096];
    static int turn;
    turn = !turn;
    harness_path(paths[turn], sizeof paths[turn], name);
    return paths[turn];
}

/* What tern_model_load says of a file. */
static void check_loaded(tern_ctx *ctx, const char *path, const tern__architecture *a)
{
    tern_model *m;
    tern_model_info info;
    CHECK_OK(tern_model_load(ctx, path, NULL, &m));
    tern_model_get_info(m, &info);
    CHECK_STR(info.architecture, a->name);
    CHECK_STR(info.activation, tern__activation_name(a->activation));
    CHECK(info.ternary == a->ternary && info.sub_norms == a->sub_norms && info.layers == 2);
    tern_model_free(m);
}

/* Two rows may be one class: the first of them comes back then. */
static const tern__architecture *read_as(const tern__architecture *a)
{
    return tern__architecture_of_config(a->hf_written_type, a->hf_class,
                                        tern__activation_name(a->activation));
}

/* Every name that is written is found again, and nothing that only looks like one. */
TEST(parts_are_found_by_their_names)
{
    static const char *const others[] = {"",
                                         "blk.",
                                         "blk.0.attn_q",
                                         "blk.00.attn_q.weight",
                                         "blk.+1.attn_q.weight",
                                         "blk. 1.attn_q.weight",
                                         "blk.-1.attn_q.weight",
                                         "blk.12345678901.attn_q.weight",
                                         "blk.0.attn_q.weight.x",
                                         "blk.0.attn_q.bias",
                                         "blk.0.token_embd.weight",
                                         "attn_q.weight",
                                         "output"};
    char name[TERN__PART_NAME];
    int64_t layer = -1;
    for (int id = 0; id < TERN__PART_COUNT; id++)
        for (int64_t at = 0; at < 4096; at += 1365) {
            const tern__part *part = tern__part_get((tern__part_id)id);
            CHECK(tern__part_of(tern__part_name(part, at, name), &layer) == part);
            CHECK_EQ(layer, part->in_layer ? at : 0);
            CHECK_EQ(tern__part_is_linear(name), part->role == TERN__ROLE_LINEAR);
        }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(tern__part_of(others[i], &layer) == NULL);
}

/* Each in its own words, of which no other has one, and each the function of its name. */
TEST(every_activation)
{
    static const double at_1_5[] = {
        [TERN__SILU] = 1.5 / (1 + 0.22313016014842982), [TERN__RELU2] = 2.25}; /* exp(-1.5) */
    _Static_assert(sizeof at_1_5 / sizeof *at_1_5 == TERN__ACTIVATION_COUNT, "one for each");
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int i = 0; i < TERN__ACTIVATION_COUNT; i++) {
        const tern__activation_info *a = tern__activation_get((tern__activation)i);
        CHECK_STR(tern__activation_name((tern__activation)i), a->words[0]);
        tern_tensor *y = a->apply(tern_full(ctx, TERN_F32, 1, (int64_t[]){1}, 1.5));
        const float *value = tern_data_f32(y);
        CHECK(value != NULL);
        CHECK_NEAR((double)*value, at_1_5[i], 1e-6);
        for (int k = 0; k < i; k++)
            for (const char *const *mine = a->words; *mine; mine++)
                for (const char *const *other = tern__activation_get((tern__activation)k)->words; *other;
                     other++)
                    CHECK(strcmp(*mine, *other) != 0);
    }
    tern_ctx_destroy(ctx);
}

TEST(every_row_makes_models)
{
    tern_ctx *ctx;
    const tern__architecture *a;
    bool without = false;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int i = 0; (a = tern__architecture_get(i)); i++) {
        tern_model_shape shape;
        tern_model_file *file;
        tern_synth_options o = tern_synth_options_default();
        char folder[64], name[96];
        CHECK_STR(tern_model_architecture_name(i), a->name);
        CHECK_OK(tern_model_shape_find("tiny", &shape));
        shape.architecture = a->name;
        o.type = TERN_STORED_F32;
        CHECK_OK(tern_model_synth(path_of("a.gguf"), &shape, &o));
        check_loaded(ctx, path_of("a.gguf"), a);
        snprintf(folder, sizeof folder, "row%d", i);
        snprintf(name, sizeof name, "%s/model.safetensors", folder);
        CHECK_EQ(mkdir(path_of(folder), 0777), 0);
        CHECK_OK(tern_model_file_open(path_of("a.gguf"), NULL, &file));
        tern_status status = tern_model_convert(ctx, file, path_of(name), NULL);
        tern_model_file_close(file);
        if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE) {
            without = true; /* of what safetensors need */
            continue;
        }
        CHECK_OK(status);
        check_loaded(ctx, path_of(name), read_as(a));
        CHECK_STR(read_as(a)->hf_class, a->hf_class);
    }
    CHECK(tern_model_architecture_name(-1) == NULL);
    tern_ctx_destroy(ctx);
    if (without)
        SKIP("this build has no libjansson or no PCRE2: safetensors were left out");
}

/* Every number of hparams.def that it has a word for reaches a config.json, and comes back from it as it was. */
TEST(numbers_of_config_json)
{
    tern_ctx *ctx;
    tern_model_file *before, *after;
    CHECK(tiny_windowed_model(path_of("windowed.gguf"), "llama", TINY_CONTEXT / 2));
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_model_file_open(path_of("windowed.gguf"), NULL, &before));
    CHECK_EQ(mkdir(path_of("numbers"), 0777), 0);
    tern_status status = tern_model_convert(ctx, before, path_of("numbers/model.safetensors"), NULL);
    tern_ctx_destroy(ctx);
    if (status == TERN_UNSUPPORTED || status == TERN_UNAVAILABLE) {
        tern_model_file_close(before);
        SKIP("this build has no libjansson: it does not read config.json");
    }
    CHECK_OK(status);
    CHECK_OK(tern_model_file_open(path_of("numbers"), NULL, &after));
    int said = 0;
    for (int i = 0; i < TERN__HPARAM_COUNT; i++) {
        const tern__hparam_info *number = tern__hparam_get((tern__hparam)i);
        char own[TERN__ARCH_KEY], config[TERN__ARCH_KEY];
        double x, y, z;
        if (!number->hf)
            continue;
        tern__hparam_key("llama", (tern__hparam)i, own);
        CHECK_OK(tern_model_file_get_float(after, own, &y));
        CHECK_OK(tern_model_file_get_float(after, tern__arch_key("config", number->hf, config), &z));
        CHECK(y == z);
        if (tern_model_file_get_float(before, own, &x) != TERN_OK)
            continue;
        CHECK(x == y);
        said++;
    }
    CHECK_EQ(said, 8); /* of the others the model says it itself */
    tern_model_file_close(before);
    tern_model_file_close(after);
}

TEST(what_a_configuration_means)
{
    static const struct {
        const char *type, *class, *act, *name;
    } cases[] = {
        {"bitnet", "BitNetForCausalLM", "relu2", "bitnet-b1.58"},
        {"bitnet", "BitNetForCausalLM", "silu", "bitnet"},
        {"bitnet", "BitNetForCausalLM", "", "bitnet-b1.58"},
        {"bitnet", "BitnetForCausalLM", "", "bitnet"},
        {"llama", "BitnetForCausalLM", "silu", "bitnet"},
        {"llama", "BitnetForCausalLM", "relu2", "bitnet-b1.58"},
        {"bitnet", "", "relu2", "bitnet-b1.58"},
        {"bitnet", "", "silu", "bitnet"},
        {"bitnet", "", "", "bitnet-b1.58"},
        {"llama", "", "silu", "llama"},
        {"llama", "LlamaForCausalLM", "gelu", "llama"}, /* which settings.c refuses */
        {"llama4", "Llama4ForCausalLM", "silu", NULL},
        {"mistral", "LlamaForCausalLM", "silu", NULL},
        {"", "", "silu", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tern__architecture *a =
            tern__architecture_of_config(cases[i].type, cases[i].class, cases[i].act);
        CHECK_STR(a ? a->name : "none", cases[i].name ? cases[i].name : "none");
    }
}

TEST(messages_list_the_rows)
{
    tern_model_shape shape;
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    shape.architecture = "gpt5";
    CHECK_STATUS(tern_model_synth(path_of("a.gguf"), &shape, NULL), TERN_UNSUPPORTED);
    for (int i = 0; tern_model_architecture_name(i); i++)
        CHECK(strstr(tern_last_error(), tern_model_architecture_name(i)));
}

static void check_both_ways(tern__part_id id, const tern__architecture *a, bool has)
{
    char gguf[TERN__PART_NAME], hf[TERN__MOST_NAME + 16], again[TERN__MOST_NAME + 16];
    int64_t layer;
    const char *suffix;
    tern__part_name(tern__part_get(id), 12, gguf);
    tern__hf_name_of(gguf, a, hf);
    CHECK_EQ(strcmp(gguf, hf) != 0, has);
    if (!has)
        return;
    CHECK_EQ(tern__part_parse(TERN__NAMES_HF, hf, &layer, &suffix), id);
    CHECK_EQ(layer, tern__part_get(id)->in_layer ? 12 : -1);
    CHECK_STR(suffix, ".weight");
    tern__part_compose(TERN__NAMES_GGUF, id, a, layer, suffix, again, sizeof again);
    CHECK_STR(again, gguf);
}

/* Names go to Hugging Face's and back for every part that an architecture has. */
TEST(names_of_parts)
{
    const tern__architecture *a;
    for (int i = 0; (a = tern__architecture_get(i)); i++) {
        for (int k = 0; k < TERN__PART_COUNT; k++) {
            const tern__part *part = tern__part_get((tern__part_id)k);
            const bool has = part->role != TERN__ROLE_SUB_NORM || a->sub_norms;
            CHECK_EQ(tern__part_module((tern__part_id)k, a) != NULL, has);
            CHECK_EQ(part->in_layer, k >= TERN__PART_LAYER_BEGIN && k < TERN__PART_LAYER_END);
            check_both_ways((tern__part_id)k, a, has);
        }
    }
}

/* What is no part of ours still tells its layer and what stands behind it; both ways of naming take the same numbers for a layer. */
TEST(names_taken_apart)
{
    static const struct {
        const char *gguf, *hf;
        int64_t layer;
        const char *suffix;
    } cases[] = {
        {"blk.7.ffn_norm_exps.weight", "model.layers.7.mlp.experts.weight", 7, ".weight"},
        {"blk.4095.x.scale", "model.layers.4095.x.scale", 4095, ".scale"},
        {"blk.4096.attn_q.weight", "model.layers.4096.self_attn.q_proj.weight", -1, ".weight"},
        {"blk.1234567.attn_q.weight", "model.layers.1234567.self_attn.q_proj.weight", -1, ".weight"},
        {"blk.99999999999999999999.attn_q.weight",
         "model.layers.99999999999999999999.self_attn.q_proj.weight", -1, ".weight"},
        {"blk.07.attn_q.weight", "model.layers.07.self_attn.q_proj.weight", -1, ".weight"},
        {"blk..attn_q.weight", "model.layers..self_attn.q_proj.weight", -1, ".weight"},
        {"blk.7", "model.layers.7", -1, ".7"},
        {"blk.7.", "model.layers.7.", 7, ""},
        {"blk.7.attn_q", "model.layers.7.q_proj", 7, ""},
        {"output", "lm_head", -1, ""},
        {"token_embd.weight.weight", "lm_head.weight.weight", -1, ".weight"},
    };
    const tern__architecture *a = tern__architecture_get(0);
    char name[TERN__MOST_NAME + 16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int naming = TERN__NAMES_GGUF; naming <= TERN__NAMES_HF; naming++) {
            const char *whole = naming == TERN__NAMES_HF ? cases[i].hf : cases[i].gguf, *suffix;
            int64_t layer;
            CHECK_EQ(tern__part_parse((tern__naming)naming, whole, &layer, &suffix), TERN__PART_COUNT);
            CHECK_EQ(layer, cases[i].layer);
            CHECK_STR(suffix, cases[i].suffix);
            tern__hf_name_of(whole, a, name);
            CHECK_STR(name, whole);
        }
    tern__hf_name_of("blk.7.attn_q.scale", a, name);
    CHECK_STR(name, "model.layers.7.self_attn.q_proj.scale");
    tern__hf_name_of("output.bias", a, name);
    CHECK_STR(name, "output.bias");
}

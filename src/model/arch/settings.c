/* settings.c - entries of metadata that would change a model's answers, each with the one value that the decoder stands for.
 * An engine that ignores them is silently wrong; this one says what it does not do. */
#include "model/arch/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "model/arch/parts.h"

enum { KEY = 160 };

/* ---- numbers and flags ---- */

/* Where the usual value is not one number for all models. */
typedef enum usual {
    IS_NUMBER,
    IS_HEAD_WIDTH,
    IS_ATTENTION_SCALE, /* 1 / sqrt(head width) */
} usual;

static const struct setting {
    const char *key; /* behind "ARCHITECTURE.", unless it starts with "config." */
    usual kind;
    double value;        /* of IS_NUMBER */
    bool zero_is_absent; /* writers put 0 where there is nothing */
} settings[] = {
    {"rope.scaling.factor", IS_NUMBER, 1, true},
    {"rope.scaling.attn_factor", IS_NUMBER, 1, true},
    {"rope.scale_linear", IS_NUMBER, 1, true},
    {"attention.scale", IS_ATTENTION_SCALE, 0, true},
    {"attention.value_length", IS_HEAD_WIDTH, 0, false},
    {"attention.causal", IS_NUMBER, 1, false},
    {"attention.clamp_kqv", IS_NUMBER, 0, false},
    {"attention.max_alibi_bias", IS_NUMBER, 0, false},
    {"attn_logit_softcapping", IS_NUMBER, 0, false},
    {"final_logit_softcapping", IS_NUMBER, 0, false},
    {"embedding_scale", IS_NUMBER, 1, true},
    {"residual_scale", IS_NUMBER, 1, true},
    {"logit_scale", IS_NUMBER, 1, true},
    {"expert_count", IS_NUMBER, 0, false},
    {"use_parallel_residual", IS_NUMBER, 0, false},
    {"config.partial_rotary_factor", IS_NUMBER, 1, false},
    {"config.rope_parameters.partial_rotary_factor", IS_NUMBER, 1, false},
    {"config.quantization_config.use_rms_norm", IS_NUMBER, 0, false},
    {"config.attn_logit_softcapping", IS_NUMBER, 0, false},
    {"config.final_logit_softcapping", IS_NUMBER, 0, false},
    {"config.logit_scale", IS_NUMBER, 1, false},
    {"config.logits_scaling", IS_NUMBER, 1, false},
    {"config.residual_multiplier", IS_NUMBER, 1, false},
    {"config.embedding_multiplier", IS_NUMBER, 1, false},
    {"config.attention_multiplier", IS_ATTENTION_SCALE, 0, false},
    {"config.query_pre_attn_scalar", IS_HEAD_WIDTH, 0, false},
    {"config.num_local_experts", IS_NUMBER, 0, true},
    {"config.attention_bias", IS_NUMBER, 0, false}, /* no architecture here has biases */
    {"config.mlp_bias", IS_NUMBER, 0, false},
    {"config.input_bits", IS_NUMBER, 8, false}, /* of 1bitLLM's files: codes of activations and of weights */
    {"config.weight_bits", IS_NUMBER, 1, false},
};

static const char *key_of(const tern__hparams *h, const char *name, char room[static TERN__ARCH_KEY])
{
    return strncmp(name, "config.", 7) == 0 ? name : tern__arch_key(h->architecture, name, room);
}

/* A number, or a flag as 0 or 1. TERN_NOT_FOUND if there is no such entry. */
static tern_status read_value(const tern_model_file *file, const char *key, double *out)
{
    bool flag;
    if (tern_model_file_get_bool(file, key, &flag) == TERN_OK) {
        *out = flag;
        return TERN_OK;
    }
    return tern_model_file_get_float(file, key, out);
}

static double usual_value(const struct setting *s, const tern__hparams *h)
{
    switch (s->kind) {
    case IS_HEAD_WIDTH:
        return (double)h->head_width;
    case IS_ATTENTION_SCALE:
        return 1 / sqrt((double)h->head_width);
    case IS_NUMBER:
        break;
    }
    return s->value;
}

static tern_status check_values(const tern_model_file *file, const tern__hparams *h)
{
    for (size_t i = 0; i < TERN__COUNT(settings); i++) {
        const struct setting *s = &settings[i];
        char room[TERN__ARCH_KEY];
        const char *key = key_of(h, s->key, room);
        double value;
        tern_status status = read_value(file, key, &value);
        if (status == TERN_NOT_FOUND)
            continue;
        TERN_TRY(status);
        const double wanted = usual_value(s, h);
        TERN__FAIL_IF(!(fabs(value - wanted) <= 1e-6 * fabs(wanted)) && !(s->zero_is_absent && value == 0),
                      TERN_UNSUPPORTED, "model: '%s' is %g, which is not implemented: only %g is", key, value,
                      wanted);
    }
    return TERN_OK;
}

/* ---- words ---- */

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* The entry, if there is one, must be one of the words. */
static tern_status check_word(const tern_model_file *file, const char *key, const char *const *accepted)
{
    const char *word;
    tern_status status = tern_model_file_get_string(file, key, &word);
    if (status == TERN_NOT_FOUND)
        return TERN_OK;
    TERN_TRY(status);
    if (is_one_of(word, accepted))
        return TERN_OK;
    tern__strbuf known = TERN__STRBUF_EMPTY;
    for (int i = 0; accepted[i]; i++)
        tern__strbuf_addf(&known, "%s'%s'", i ? ", " : "", accepted[i]);
    status = known.failed
                 ? tern__out_of_memory(strlen(key))
                 : tern__fail(TERN_UNSUPPORTED, "model: '%s' is '%s', which is not implemented (known: %s)",
                              key, word, known.text);
    tern__strbuf_free(&known);
    return status;
}

/* A config.json may say the base of positions in two places: which one is meant nobody can tell if they differ. */
static tern_status check_bases(const tern_model_file *file)
{
    double old, new;
    if (tern_model_file_get_float(file, "config.rope_theta", &old) != TERN_OK ||
        tern_model_file_get_float(file, "config.rope_parameters.rope_theta", &new) != TERN_OK)
        return TERN_OK;
    TERN__FAIL_IF(old != new, TERN_FORMAT,
                  "model: config.json has two bases of positions, rope_theta %.10g and "
                  "rope_parameters.rope_theta %.10g: remove the wrong one",
                  old, new);
    return TERN_OK;
}

/* A config.json that scales positions says by how much. GGUF's writers leave both out, or the number where it is 1. */
static tern_status check_factor(const tern_model_file *file, const tern__hparams *h)
{
    char key[TERN__ARCH_KEY];
    const char *kind;
    double factor;
    const bool scaled =
        tern_model_file_format(file) == TERN_FILE_SAFETENSORS &&
        tern_model_file_get_string(file, tern__arch_key(h->architecture, "rope.scaling.type", key), &kind) ==
            TERN_OK &&
        strcmp(kind, "linear") == 0;
    TERN__FAIL_IF(
        scaled && tern_model_file_get_float(file, tern__arch_key(h->architecture, "rope.scaling.factor", key),
                                            &factor) == TERN_NOT_FOUND,
        TERN_FORMAT,
        "model: config.json scales positions (rope_scaling is 'linear') and does not say by which factor");
    return TERN_OK;
}

static tern_status check_positions(const tern_model_file *file, const tern__hparams *h)
{
    static const char *const plain[] = {"none", "linear", "default",
                                        NULL}; /* the factor is checked besides */
    char key[TERN__ARCH_KEY];
    TERN_TRY(check_bases(file));
    TERN_TRY(check_factor(file, h));
    return check_word(file, tern__arch_key(h->architecture, "rope.scaling.type", key), plain);
}

static tern_status check_activation(const tern_model_file *file, const tern__hparams *h)
{
    const char *const *words = tern__activation_get(h->activation)->words;
    TERN_TRY(check_word(file, "config.hidden_act", words));
    return check_word(file, "config.hidden_activation", words);
}

/* Elements of a list, "KEY.0" and so on, must be one of the words. */
static tern_status check_words(const tern_model_file *file, const char *list, const char *const *accepted)
{
    for (int i = 0;; i++) {
        char key[KEY];
        int entry;
        snprintf(key, sizeof key, "%s.%d", list, i);
        if (tern_model_file_meta_find(file, key, &entry) != TERN_OK)
            return TERN_OK;
        TERN_TRY(check_word(file, key, accepted));
    }
}

/* Every layer is rotated. */
static tern_status check_rotated(const tern_model_file *file)
{
    for (int i = 0;; i++) {
        char key[TERN__ARCH_KEY];
        double rotated;
        snprintf(key, sizeof key, "config.no_rope_layers.%d", i);
        tern_status status = read_value(file, key, &rotated);
        if (status == TERN_NOT_FOUND)
            return TERN_OK;
        TERN_TRY(status);
        TERN__FAIL_IF(rotated != 1, TERN_UNSUPPORTED,
                      "model: layer %d is not rotated ('%s'), which is not implemented", i, key);
    }
}

/* Layers that stay floats in a model whose other projections are ternary. The head, the table and norms are floats anyway. */
static tern_status check_unconverted(const tern_model_file *file)
{
    for (int i = 0;; i++) {
        char key[TERN__ARCH_KEY];
        const char *name;
        snprintf(key, sizeof key, "config.quantization_config.modules_to_not_convert.%d", i);
        tern_status status = tern_model_file_get_string(file, key, &name);
        if (status == TERN_NOT_FOUND)
            return TERN_OK;
        TERN_TRY(status);
        TERN__FAIL_IF(
            !strstr(name, "lm_head") && !strstr(name, "embed") && !strstr(name, "norm"), TERN_UNSUPPORTED,
            "model: config.json keeps '%s' as floats (modules_to_not_convert), which is not implemented",
            name);
    }
}

/* Without a head of its own a model has its table of tokens for one, unless it says that it has not. */
static tern_status check_head(const tern_model_file *file)
{
    int head;
    bool may_tie, tied;
    (void)tern__head_of(file, &head, &tied); /* whether there is a table is not asked here */
    TERN__FAIL_IF(tied && tern_model_file_get_bool(file, "config.tie_word_embeddings", &may_tie) == TERN_OK &&
                      !may_tie,
                  TERN_FORMAT,
                  "model: 'lm_head.weight' is missing, and config.json says that the table of tokens does "
                  "not stand for it");
    return TERN_OK;
}

static tern_status check_token(const tern_model_file *file, const tern__hparams *h, const char *key)
{
    int64_t id;
    tern_status status = tern_model_file_get_int(file, key, &id);
    if (status == TERN_DTYPE)
        return TERN_FORMAT; /* a word, a flag or a fraction: the message says so */
    TERN_TRY(status);
    TERN__FAIL_IF(id < 0 || (h->vocabulary > 0 && id >= h->vocabulary), TERN_FORMAT,
                  "model: '%s' is %lld: no token has that id", key, (long long)id);
    return TERN_OK;
}

/* Tokens at the beginning and the end: one that is none would never end an answer. */
static tern_status check_tokens(const tern_model_file *file, const tern__hparams *h)
{
    static const char *const keys[] = {"config.bos_token_id", "config.eos_token_id"};
    for (size_t i = 0; i < TERN__COUNT(keys); i++) {
        tern_status status = check_token(file, h, keys[i]);
        for (int k = 0; status == TERN_OK || (status == TERN_NOT_FOUND && k == 0); k++) {
            char key[TERN__ARCH_KEY];
            snprintf(key, sizeof key, "%s.%d", keys[i], k); /* a list */
            status = check_token(file, h, key);
        }
        if (status != TERN_NOT_FOUND)
            return status;
    }
    return TERN_OK;
}

tern_status tern__settings_check(const tern_model_file *file, const tern__hparams *h)
{
    TERN_TRY(check_head(file));
    TERN_TRY(check_positions(file, h));
    TERN_TRY(check_values(file, h));
    TERN_TRY(check_activation(file, h));
    TERN_TRY(
        check_word(file, "config.quantization_config.quant_method", (const char *const[]){"bitnet", NULL}));
    TERN_TRY(check_word(file, "config.quantization_config.linear_class",
                        (const char *const[]){"autobitlinear", "bitlinear", NULL}));
    TERN_TRY(check_word(file, "config.quantization_config.quantization_mode",
                        (const char *const[]){"online", "offline", NULL}));
    TERN_TRY(check_words(file, "config.layer_types", (const char *const[]){"full_attention", NULL}));
    TERN_TRY(check_rotated(file));
    TERN_TRY(check_tokens(file, h));
    return check_unconverted(file);
}

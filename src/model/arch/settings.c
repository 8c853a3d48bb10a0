/* settings.c - entries of metadata that would change a model's answers, each with the one value that the decoder stands for.
 * An engine that ignores them is silently wrong; this one says what it does not do. */
#include "model/arch/settings.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/strbuf.h"
#include "model/arch/parts.h"

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
                      TERN_UNSUPPORTED, "'%s' is %g, which is not implemented: only %g is", key, value,
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
    status = known.failed ? tern__out_of_memory(strlen(key))
                          : tern__fail(TERN_UNSUPPORTED, "'%s' is '%s', which is not implemented (known: %s)",
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
                  "config.json has two bases of positions, rope_theta %.10g and "
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
        "config.json scales positions (rope_scaling is 'linear') and does not say by which factor");
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

/* ---- lists ---- */

typedef tern_status (*entry_check)(const tern_model_file *file, const tern__hparams *h, const char *key);

/* The entry `name` and all that is below it, whatever its form: a list has "NAME.0" and so on, an object a member's name there. */
static tern_status check_all(const tern_model_file *file, const tern__hparams *h, const char *name,
                             entry_check check)
{
    const size_t length = strlen(name);
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        TERN_TRY(tern_model_file_meta(file, i, &info));
        if (strncmp(info.key, name, length) == 0 && (!info.key[length] || info.key[length] == '.'))
            TERN_TRY(check(file, h, info.key));
    }
    return TERN_OK;
}

/* Attention looks at all that came before. */
static tern_status check_layer_type(const tern_model_file *file, const tern__hparams *h, const char *key)
{
    (void)h;
    return check_word(file, key, (const char *const[]){"full_attention", NULL});
}

/* Every layer is rotated. */
static tern_status check_rotated(const tern_model_file *file, const tern__hparams *h, const char *key)
{
    double rotated;
    (void)h;
    TERN_TRY(read_value(file, key, &rotated));
    TERN__FAIL_IF(rotated != 1, TERN_UNSUPPORTED, "a layer is not rotated ('%s'), which is not implemented",
                  key);
    return TERN_OK;
}

/* Is one of two names of modules the end of the other, from a point on? */
static bool is_end_of(const char *a, const char *b)
{
    const char *longer = strlen(a) > strlen(b) ? a : b, *shorter = longer == a ? b : a;
    const size_t skipped = strlen(longer) - strlen(shorter);
    return *shorter && strcmp(longer + skipped, shorter) == 0 && (skipped == 0 || longer[skipped - 1] == '.');
}

/* "norm" and "model.layers.3.input_layernorm" are, whichever architecture has them. */
static bool is_float_anyway(const char *module)
{
    const tern__architecture *a;
    for (int i = 0; (a = tern__architecture_get(i)); i++)
        for (int k = 0; k < TERN__PART_COUNT; k++) {
            const char *own = tern__part_module((tern__part_id)k, a);
            if (own && tern__part_get((tern__part_id)k)->role != TERN__ROLE_LINEAR && is_end_of(own, module))
                return true;
        }
    return false;
}

/* Layers that stay floats in a model whose other projections are ternary. The head, the table and norms are floats anyway. */
static tern_status check_unconverted(const tern_model_file *file, const tern__hparams *h, const char *key)
{
    const char *name;
    (void)h;
    TERN_TRY(tern_model_file_get_string(file, key, &name));
    TERN__FAIL_IF(!is_float_anyway(name), TERN_UNSUPPORTED,
                  "config.json keeps '%s' as floats (modules_to_not_convert), which is not implemented",
                  name);
    return TERN_OK;
}

/* Tokens at the beginning and the end: one that is none would never end an answer. */
static tern_status check_token(const tern_model_file *file, const tern__hparams *h, const char *key)
{
    int64_t id;
    tern_status status = tern_model_file_get_int(file, key, &id);
    if (status == TERN_DTYPE)
        return TERN_FORMAT; /* a word, a flag or a fraction: the message says so */
    TERN_TRY(status);
    TERN__FAIL_IF(id < 0 || (h->vocabulary > 0 && id >= h->vocabulary), TERN_FORMAT,
                  "'%s' is %lld: no token has that id", key, (long long)id);
    return TERN_OK;
}

static const struct {
    const char *name;
    entry_check check;
} lists[] = {
    {"config.layer_types", check_layer_type},
    {"config.no_rope_layers", check_rotated},
    {"config.bos_token_id", check_token},
    {"config.eos_token_id", check_token},
    {"config.quantization_config.modules_to_not_convert", check_unconverted},
};

static tern_status check_lists(const tern_model_file *file, const tern__hparams *h)
{
    for (size_t i = 0; i < TERN__COUNT(lists); i++)
        TERN_TRY(check_all(file, h, lists[i].name, lists[i].check));
    return TERN_OK;
}

/* ---- forms ---- */

/* Where the form is wrong nothing in it would be found, as if nothing were said. */
static tern_status check_forms(const tern_model_file *file)
{
    static const char quantisation[] = "config.quantization_config", list[] = "config.quantization_config.0";
    int entry;
    bool flag;
    const size_t length = strlen(list);
    bool bad = tern_model_file_meta_find(file, quantisation, &entry) == TERN_OK;
    for (int i = 0; i < tern_model_file_meta_count(file) && !bad; i++) {
        tern_meta_info info;
        TERN_TRY(tern_model_file_meta(file, i, &info));
        bad = strncmp(info.key, list, length) == 0 && (!info.key[length] || info.key[length] == '.');
    }
    TERN__FAIL_IF(bad, TERN_FORMAT,
                  "the quantization_config of config.json is not an object: what its weights mean "
                  "cannot be known");
    tern_status status = tern_model_file_get_bool(file, "config.tie_word_embeddings", &flag);
    TERN__FAIL_IF(status != TERN_OK && status != TERN_NOT_FOUND, TERN_FORMAT,
                  "the tie_word_embeddings of config.json is neither true nor false");
    return TERN_OK;
}

/* ---- the head ---- */

/* Without a head of its own a model has its table of tokens for one, unless it says that it has not. */
static tern_status check_head(const tern_model_file *file)
{
    int head;
    bool may_tie, tied;
    (void)tern__head_of(file, &head, &tied); /* whether there is a table is not asked here */
    TERN__FAIL_IF(tied && tern_model_file_get_bool(file, "config.tie_word_embeddings", &may_tie) == TERN_OK &&
                      !may_tie,
                  TERN_FORMAT,
                  "'lm_head.weight' is missing, and config.json says that the table of tokens does "
                  "not stand for it");
    return TERN_OK;
}

tern_status tern__settings_check(const tern_model_file *file, const tern__hparams *h)
{
    TERN_TRY(check_forms(file));
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
    return check_lists(file, h);
}

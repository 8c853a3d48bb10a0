/* architecture.c - finding rows of architectures.def. */
#include "model/arch/architecture.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tern/model.h>
#include <tern/ops.h>

#include "base/status.h"
#include "base/strbuf.h"

static const tern__architecture rows[] = {
#define ARCHITECTURE(name, activation, norms, ternary, pairs, type, class, written, attn, ffn, base, pre) \
    {name, TERN__##activation, norms, ternary, TERN__ROPE_##pairs, type, class, written, attn, ffn, base, \
     pre},
#include "model/arch/architectures.def"
};

const char *tern__arch_key(const char *architecture, const char *name, char out[static TERN__ARCH_KEY])
{
    if (snprintf(out, TERN__ARCH_KEY, "%s.%s", architecture, name) >= TERN__ARCH_KEY)
        *out = 0;
    return out;
}

const tern__architecture *tern__architecture_get(int i)
{
    return i >= 0 && (size_t)i < TERN__COUNT(rows) ? &rows[i] : NULL;
}

const char *tern_model_architecture_name(int i)
{
    const tern__architecture *a = tern__architecture_get(i);
    return a ? a->name : NULL;
}

const tern__architecture *tern__architecture_find(const char *name)
{
    for (size_t i = 0; name && i < TERN__COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

tern_status tern__architecture_unknown(const char *who, const char *name)
{
    tern__strbuf known = TERN__STRBUF_EMPTY;
    for (size_t i = 0; i < TERN__COUNT(rows); i++)
        tern__strbuf_addf(&known, "%s%s", i ? ", " : "", rows[i].name);
    tern_status status = tern__fail(TERN_UNSUPPORTED, "%s: architecture '%s' is not known; these are: %s",
                                    who, name, known.text ? known.text : "");
    tern__strbuf_free(&known);
    return status;
}

const tern__architecture *tern__architecture_in(const tern_model_file *file)
{
    const char *name;
    return tern_model_file_get_string(file, "general.architecture", &name) == TERN_OK
               ? tern__architecture_find(name)
               : NULL;
}

tern_status tern__architecture_of(const tern_model_file *file, const tern__architecture **out)
{
    const char *name;
    tern_status status = tern_model_file_get_string(file, "general.architecture", &name);
    TERN__FAIL_IF(status == TERN_NOT_FOUND && tern_model_file_format(file) == TERN_FILE_SAFETENSORS,
                  TERN_NOT_FOUND, "%s: there is no config.json beside it, which would say what model it is",
                  tern_model_file_part(file, 0));
    TERN_TRY(status);
    const tern__architecture *found = tern__architecture_find(name);
    if (!found)
        return tern__architecture_unknown(tern_model_file_part(file, 0), name);
    *out = found;
    return TERN_OK;
}

/* Any architecture can be fine-tuned to ternary weights: Hugging Face's configuration says so, whatever the weights look like. */
bool tern__says_ternary(const tern_model_file *file)
{
    const tern__architecture *a = tern__architecture_in(file);
    const char *method;
    return (a && a->ternary) ||
           (tern_model_file_get_string(file, "config.quantization_config.quant_method", &method) == TERN_OK &&
            strcmp(method, "bitnet") == 0);
}

const tern__activation_info *tern__activation_get(tern__activation activation)
{
    static const tern__activation_info infos[] = {
#define INFO(id, function, name, other) [TERN__##id] = {.words = {name, other}, .apply = function},
        TERN__ACTIVATION_LIST(INFO)
#undef INFO
    };
    return &infos[activation];
}

const char *tern__activation_name(tern__activation activation)
{
    return tern__activation_get(activation)->words[0];
}

static bool is_known_type(const char *type)
{
    bool known = !*type;
    for (size_t i = 0; i < TERN__COUNT(rows); i++)
        known |= strcmp(rows[i].hf_type, type) == 0 || strcmp(rows[i].hf_written_type, type) == 0;
    return known;
}

const tern__architecture *tern__architecture_of_config(const char *model_type, const char *hf_class,
                                                       const char *hidden_act)
{
    const tern__architecture *first = NULL, *chosen = NULL;
    for (size_t i = 0; i < TERN__COUNT(rows) && !first && is_known_type(model_type); i++)
        if (strcmp(rows[i].hf_type, model_type) == 0 || strcasecmp(rows[i].hf_class, hf_class) == 0)
            first = &rows[i];
    for (size_t i = 0; i < TERN__COUNT(rows) && first && !chosen; i++) {
        bool means = *hidden_act ? strcmp(tern__activation_name(rows[i].activation), hidden_act) == 0
                                 : strcmp(rows[i].hf_class, hf_class) == 0;
        if (means && strcmp(rows[i].hf_type, first->hf_type) == 0)
            chosen = &rows[i];
    }
    return chosen ? chosen : first;
}

tern_status tern__rope_pairs_of(const tern_model_file *file, const tern__architecture *a,
                                tern__rope_pairs *out)
{
    const char *style;
    *out = a->gguf_pairs;
    tern_status status = tern_model_file_get_string(file, "tern.rope_style", &style);
    if (status == TERN_NOT_FOUND)
        return TERN_OK;
    TERN_TRY(status);
    const bool halves = strcmp(style, "neox") == 0;
    TERN__FAIL_IF(!halves && strcmp(style, "interleaved") != 0, TERN_UNSUPPORTED,
                  "'tern.rope_style' is '%s'; neox and interleaved are known", style);
    *out = halves ? TERN__ROPE_HALVES : TERN__ROPE_NEIGHBOURS;
    return TERN_OK;
}

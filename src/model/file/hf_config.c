/* hf_config.c - config.json as metadata: under GGUF's keys where they mean the same, and all of it as "config.KEY". */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/file/hf.h"

#if TERN_HAVE_JANSSON

#include <jansson.h>
#include <stdio.h>

#include "model/arch/hparams.h"
#include "model/arch/parts.h"
#include "base/json_walk.h"

enum { MOST_BYTES = 1 << 20, MOST_DEPTH = 4 };

/* ---- everything, flattened --------------------------------------------------------------------------------------- */

static tern_status add_value(tern_model_file *file, const char *key, const json_t *value)
{
    if (json_is_integer(value))
        return tern__model_file_add_int(file, key, json_integer_value(value));
    if (json_is_real(value))
        return tern__model_file_add_float(file, key, json_real_value(value));
    if (json_is_boolean(value))
        return tern__model_file_add_bool(file, key, json_is_true(value));
    if (json_is_string(value))
        return tern__model_file_add_string(file, key, json_string_value(value), json_string_length(value));
    return TERN_OK; /* null, and what is nested too deep */
}

/* An element that leaves nothing behind is kept as a word that means nothing, so that nobody takes the list for one without it. */
static tern_status add_nothing(tern_model_file *file, const char *key, const json_t *value, int depth)
{
    const bool object = json_is_object(value), array = json_is_array(value),
               empty = object ? json_object_size(value) == 0 : array && json_array_size(value) == 0;
    const char *word = json_is_null(value)                        ? "null"
                       : object && (empty || depth >= MOST_DEPTH) ? "{}"
                       : array && (empty || depth >= MOST_DEPTH)  ? "[]"
                                                                  : NULL;
    return word ? tern__model_file_add_string(file, key, word, strlen(word)) : TERN_OK;
}

/* "config.quantization_config.linear_class", "config.architectures.0" */
static tern_status add_all(tern_model_file *file, const char *prefix, json_t *node, int depth)
{
    char key[TERN__MOST_NAME + 1];
    const char *name;
    json_t *value;
    if (json_is_object(node) && depth < MOST_DEPTH) {
        json_object_foreach(node, name, value)
        {
            if (snprintf(key, sizeof key, "%s.%s", prefix, name) < (int)sizeof key)
                TERN_TRY(add_all(file, key, value, depth + 1));
        }
        return TERN_OK;
    }
    if (json_is_array(node) && depth < MOST_DEPTH) {
        for (size_t i = 0; i < json_array_size(node); i++) {
            if (snprintf(key, sizeof key, "%s.%zu", prefix, i) >= (int)sizeof key)
                continue;
            TERN_TRY(add_all(file, key, json_array_get(node, i), depth + 1));
            TERN_TRY(add_nothing(file, key, json_array_get(node, i), depth + 1));
        }
        return TERN_OK;
    }
    return add_value(file, prefix, node);
}

/* ---- under GGUF's keys ------------------------------------------------------------------------------------------- */

static const char *text_at(const json_t *node, const char *key)
{
    const char *text = json_string_value(json_object_get(node, key));
    return text ? text : "";
}

/* A name that is not known is the file's own: loading the model then says which are. */
static const char *architecture_of(const json_t *config, const tern__architecture **row)
{
    const char *type = text_at(config, "model_type");
    const char *class = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    *row = tern__architecture_of_config(type, class ? class : "", text_at(config, "hidden_act"));
    return *row ? (*row)->name : *type ? type : "unknown";
}

static tern_status add_keyed(tern_model_file *file, const char *architecture, const char *name,
                             const json_t *value)
{
    char key[TERN__ARCH_KEY];
    return value && *tern__arch_key(architecture, name, key) ? add_value(file, key, value) : TERN_OK;
}

/* A member, or NULL: where nothing is to be said some writers say null. */
static const json_t *member(const json_t *node, const char *key)
{
    const json_t *value = json_object_get(node, key);
    return json_is_null(value) ? NULL : value;
}

/* What a rope_scaling or rope_parameters says of scaling: its kind, or what is wrong with it, which no kind is called. NULL: nothing. */
static const char *scaling_kind(const json_t *node)
{
    const char *name;
    json_t *value;
    if (!node || json_is_string(node))
        return json_string_value(node);
    if (!json_is_object(node))
        return "neither an object nor a word";
    json_object_foreach((json_t *)node, name, value)
    {
        if (json_is_object(value)) /* of each kind of layer */
            return name;
    }
    const json_t *kind = member(node, "rope_type");
    kind = kind ? kind : member(node, "type");
    return kind && !json_is_string(kind) ? "not a word" : json_string_value(kind);
}

/* What is said of a number of hparams.def under its name, or in its stead; NULL: nothing. */
static const json_t *value_of(const json_t *config, tern__hparam id)
{
    const char *name = tern__hparam_get(id)->hf;
    const json_t *value = name ? member(config, name) : NULL;
    if (id == TERN__HPARAM_KV_HEADS && !value)
        return value_of(config, TERN__HPARAM_HEADS); /* each has its own */
    if (id == TERN__HPARAM_ROPE_THETA && !value)
        return member(member(config, "rope_parameters"), name); /* newer files */
    if (id == TERN__HPARAM_WINDOW && json_is_false(member(config, "use_sliding_window")))
        return NULL; /* some models have one and do not use it */
    return value;
}

/* How positions rotate, besides the base: older files say it in rope_scaling, newer ones in rope_parameters. */
static tern_status add_positions(tern_model_file *file, const char *architecture,
                                 const tern__architecture *row, const json_t *config)
{
    const json_t *scaling = member(config, "rope_scaling"), *parameters = member(config, "rope_parameters");
    char key[TERN__ARCH_KEY];
    if (!value_of(config, TERN__HPARAM_ROPE_THETA) && row &&
        *tern__hparam_key(architecture, TERN__HPARAM_ROPE_THETA, key))
        TERN_TRY(tern__model_file_add_float(file, key, row->hf_rope_base));
    /* "default" scales nothing: then the other of the two decides */
    const char *kind = scaling_kind(scaling);
    if (!scaling || (kind && strcmp(kind, "default") == 0 && parameters)) {
        scaling = parameters;
        kind = scaling_kind(scaling);
    }
    if (kind && *tern__arch_key(architecture, "rope.scaling.type", key))
        TERN_TRY(tern__model_file_add_string(file, key, kind, strlen(kind)));
    return add_keyed(file, architecture, "rope.scaling.factor", member(scaling, "factor"));
}

/* How many coordinates of a head rotate: all of them. */
static tern_status add_rotated(tern_model_file *file, const char *architecture, const json_t *config)
{
    const json_t *width = value_of(config, TERN__HPARAM_HEAD_WIDTH);
    const json_int_t heads = json_integer_value(value_of(config, TERN__HPARAM_HEADS)),
                     size = json_integer_value(value_of(config, TERN__HPARAM_WIDTH));
    char key[TERN__ARCH_KEY];
    if (heads < 1 || !*tern__hparam_key(architecture, TERN__HPARAM_ROPE_WIDTH, key))
        return TERN_OK;
    return tern__model_file_add_int(file, key,
                                    json_is_integer(width) ? json_integer_value(width) : size / heads);
}

/* What is there and no such number is refused: with the usual value in its stead it would be another model. */
static tern_status check_number(const char *path, const tern__hparam_info *number, const json_t *value)
{
    const bool whole = number->kind == TERN__HPARAM_WHOLE;
    const bool fits = !value || json_is_integer(value) || (!whole && json_is_number(value));
    return fits ? TERN_OK
                : tern__fail(TERN_FORMAT, "%s: its %s is not a %snumber", path, number->hf,
                             whole ? "whole " : "");
}

static tern_status add_translated(tern_model_file *file, const char *path, json_t *config)
{
    const tern__architecture *row;
    const char *architecture = architecture_of(config, &row);
    TERN_TRY(tern__model_file_add_string(file, "general.architecture", architecture, strlen(architecture)));
    for (int i = 0; i < TERN__HPARAM_COUNT; i++) {
        const tern__hparam_info *number = tern__hparam_get((tern__hparam)i);
        const json_t *value = value_of(config, (tern__hparam)i);
        TERN_TRY(check_number(path, number, value));
        TERN_TRY(add_keyed(file, architecture, number->gguf, value));
    }
    TERN_TRY(add_rotated(file, architecture, config));
    TERN_TRY(add_positions(file, architecture, row, config));
    for (int i = 0; i < 2; i++) {
        const json_t *id = json_object_get(config, i ? "eos_token_id" : "bos_token_id");
        id = json_is_array(id) ? json_array_get(id, 0) : id;
        if (json_is_integer(id))
            TERN_TRY(add_value(file, i ? "tokenizer.ggml.eos_token_id" : "tokenizer.ggml.bos_token_id", id));
    }
    return tern__model_file_add_string(file, "tern.rope_style", "neox", 4);
}

/* ---- what it says of ternary weights ----------------------------------------------------------------------------- */

/* The two meanings are wrong by the square of a scale for each other, so nothing is guessed: a bitnet without a class of layers is
 * a "bitlinear", and other words, or no word of bitnet, are none. */
static tern__scale_meaning meaning_of_scales(const json_t *q, bool quantised)
{
    if (!member(q, "linear_class"))
        return quantised ? TERN__SCALE_DIVIDES : TERN__SCALE_UNSAID;
    const char *class = text_at(q, "linear_class");
    return strcmp(class, "autobitlinear") == 0 ? TERN__SCALE_MULTIPLIES
           : strcmp(class, "bitlinear") == 0   ? TERN__SCALE_DIVIDES
                                               : TERN__SCALE_UNSAID;
}

static void take_quantisation(tern_model_file *file, const json_t *config)
{
    const json_t *q = json_object_get(config, "quantization_config");
    bool quantised = strcmp(text_at(q, "quant_method"), "bitnet") == 0;
    file->scale_meaning = meaning_of_scales(q, quantised);
    const tern__architecture *row;
    architecture_of(config, &row);
    /* "offline" weights were ternarised before: what of them is numbers, stands for itself. Hugging Face's layers are that unless
     * they are said to be "online"; a BitNet of before these words has master weights. */
    file->master_weights =
        quantised ? strcmp(text_at(q, "quantization_mode"), "online") == 0 : row && row->ternary;
}

/* A tied head is not read even where a file has one: then it keeps its own name, by which nobody asks for a head. */
static void hide_tied_head(tern_model_file *file, const json_t *config)
{
    int64_t layer;
    for (size_t i = 0; i < file->n_tensors && json_is_true(json_object_get(config, "tie_word_embeddings"));
         i++) {
        tern_file_tensor *t = &file->tensors[i];
        if (tern__part_of(t->name, &layer) != tern__part_get(TERN__PART_HEAD))
            continue;
        t->name = t->stored_name;
        file->left_over[i] = true;
    }
}

static tern_status take_config(tern_model_file *file, const char *path, json_t *config)
{
    TERN__FAIL_IF(!json_is_object(config), TERN_FORMAT, "%s: JSON: not an object", path);
    TERN_TRY(add_translated(file, path, config));
    TERN_TRY(add_all(file, "config", config, 0));
    take_quantisation(file, config);
    hide_tied_head(file, config);
    return TERN_OK;
}

/* None is no failure. */
static tern_status read_config(tern_model_file *file, const char *path)
{
    json_error_t error;
    char *text = NULL;
    size_t length = 0;
    tern_status status = tern__file_read_all(path, MOST_BYTES, &text, &length);
    if (status == TERN_NOT_FOUND)
        return TERN_OK;
    json_t *config = status == TERN_OK ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (status == TERN_OK && !config) {
        tern__json_one_line(error.text);
        status = tern__fail(TERN_FORMAT, "%s: JSON: %s (line %d)", path, error.text, error.line);
    }
    if (status == TERN_OK)
        status = take_config(file, path, config);
    json_decref(config);
    tern__free(text);
    return status;
}

tern_status tern__hf_config(tern_model_file *file)
{
    const char *first = file->parts[0].path;
    if (tern_model_file_in_memory(file))
        return TERN_OK;
    char *path = tern__path_beside(first, "config.json");
    if (!path)
        return tern__out_of_memory(strlen(first));
    tern_status status = read_config(file, path);
    tern__free(path);
    return status;
}

#endif

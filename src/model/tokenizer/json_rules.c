/* json_rules.c - the rules in tokenizer.json: its normalizer, pre-tokenizer, post-processor and the settings of its
 * model. Each is a small program in JSON; those of the known families are recognised, anything else is refused rather
 * than guessed at. */
#if TERN_HAVE_JANSSON
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/tokenizer/from_json.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static bool is_true(const json_t *object, const char *key, bool missing)
{
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value) ? json_is_true(value) : missing;
}

typedef tern_status (*step_fn)(tern__json_reader *r, const json_t *step, const char *type);

/* Calls `step` for each step of a list (`{"type": "Sequence", LIST: [...]}`), or for the one that there is. */
static tern_status for_each(tern__json_reader *r, const json_t *value, const char *list, step_fn step)
{
    const json_t *steps = json_object_get(value, list), *one;
    size_t i;
    if (json_is_null(value))
        return TERN_OK;
    if (!is(text_of(value, "type"), "Sequence"))
        return step(r, value, text_of(value, "type"));
    json_array_foreach((json_t *)steps, i, one) TERN_TRY(step(r, one, text_of(one, "type")));
    return TERN_OK;
}

/* ---- normalizer ----------------------------------------------------------------------------------------- */

static tern_status read_normalizer(tern__json_reader *r, const json_t *step, const char *type)
{
    if (is(type, "Prepend") && is(text_of(step, "prepend"), TERN__LOW_LINE)) {
        r->metaspace = true;
        r->d.add_space = TERN_TRISTATE_YES;
        return TERN_OK;
    }
    const json_t *pattern = json_object_get(step, "pattern");
    if (is(type, "Replace") && is(text_of(pattern, "String"), " ") &&
        is(text_of(step, "content"), TERN__LOW_LINE)) {
        r->metaspace = true;
        if (r->d.add_space == TERN_TRISTATE_BY_MODEL)
            r->d.add_space = TERN_TRISTATE_NO;
        return TERN_OK;
    }
    return tern__fail(TERN_UNSUPPORTED, "its normalizer '%.40s' is not known", type);
}

/* ---- pre-tokenizer -------------------------------------------------------------------------------------- */

static tern_status read_split(tern__json_reader *r, const json_t *step)
{
    const char *regex = text_of(json_object_get(step, "pattern"), "Regex");
    const tern__split_rule *rule = tern__split_rule_recognise(regex);
    bool isolated = is(text_of(step, "behavior"), "Isolated") && !is_true(step, "invert", false);
    if (r->pre_wanted) /* whatever it is, another was asked for */
        return TERN_OK;
    TERN__FAIL_IF(!rule || !isolated || r->d.pre, TERN_UNSUPPORTED,
                  "its pre-tokenizer is not one of those known; %s",
                  tern__split_rule_choices((char[TERN__RULE_CHOICES]){0}));
    r->d.pre = rule->name;
    return TERN_OK;
}

/* Blanks become U+2581, and one goes before a text that has none there: before every section between special tokens ("always"), or
 * before the first ("first"). Older files say add_prefix_space. */
static tern_status read_metaspace(tern__json_reader *r, const json_t *step)
{
    const char *scheme = text_of(step, "prepend_scheme"), *mark = text_of(step, "replacement");
    if (!*scheme)
        scheme = is_true(step, "add_prefix_space", true) ? "always" : "never";
    TERN__FAIL_IF(is_true(step, "split", true), TERN_UNSUPPORTED,
                  "its Metaspace pre-tokenizer cuts text at blanks, as no known family does");
    TERN__FAIL_IF(*mark && !is(mark, TERN__LOW_LINE), TERN_UNSUPPORTED,
                  "its Metaspace pre-tokenizer writes blanks as '%.8s', as no known family does", mark);
    TERN__FAIL_IF(!is(scheme, "always") && !is(scheme, "first") && !is(scheme, "never"), TERN_UNSUPPORTED,
                  "its Metaspace pre-tokenizer has the unknown prepend_scheme '%.20s'", scheme);
    r->metaspace = true;
    r->d.add_space = is(scheme, "never") ? TERN_TRISTATE_NO : TERN_TRISTATE_YES;
    r->d.space_if_none = true;
    r->d.space_at_start = is(scheme, "first");
    return TERN_OK;
}

static tern_status read_pre_tokenizer(tern__json_reader *r, const json_t *step, const char *type)
{
    if (is(type, "Split"))
        return read_split(r, step);
    if (is(type, "ByteLevel")) {
        TERN__FAIL_IF(is_true(step, "add_prefix_space", true), TERN_UNSUPPORTED,
                      "its ByteLevel pre-tokenizer adds a blank, as no known family does");
        r->byte_level = true;
        const bool cuts = is_true(step, "use_regex", true) && !r->pre_wanted;
        TERN__FAIL_IF(cuts && r->d.pre, TERN_UNSUPPORTED,
                      "its ByteLevel pre-tokenizer cuts text that was cut before, as no known family does");
        if (cuts)
            r->d.pre = "gpt-2";
        return TERN_OK;
    }
    if (is(type, "Metaspace"))
        return read_metaspace(r, step);
    return tern__fail(TERN_UNSUPPORTED, "its pre-tokenizer '%.40s' is not known", type);
}

/* ---- post-processor ------------------------------------------------------------------------------------- */

static tern_status copy_name(char out[64], const char *name)
{
    TERN__FAIL_IF(snprintf(out, 64, "%s", name) >= 64, TERN_FORMAT,
                  "the name of a special token has %zu bytes", strlen(name));
    return TERN_OK;
}

/* [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}] */
static tern_status read_template(tern__json_reader *r, const json_t *single)
{
    bool behind = false;
    const json_t *entry;
    size_t i;
    json_array_foreach((json_t *)single, i, entry)
    {
        const json_t *token = json_object_get(entry, "SpecialToken");
        behind |= json_object_get(entry, "Sequence") != NULL;
        if (token)
            TERN_TRY(copy_name(behind ? r->eos : r->bos, text_of(token, "id")));
    }
    return TERN_OK;
}

static tern_status read_post_processor(tern__json_reader *r, const json_t *step, const char *type)
{
    if (is(type, "TemplateProcessing"))
        return read_template(r, json_object_get(step, "single"));
    TERN__FAIL_IF(!is(type, "ByteLevel"), TERN_UNSUPPORTED, "its post-processor '%.40s' is not known", type);
    return TERN_OK; /* it moves offsets, which are not computed here */
}

/* ---- decoder -------------------------------------------------------------------------------------------- */

/* What undoes the steps of the known families, which is what is done here whatever their order. */
static tern_status read_decoder(tern__json_reader *r, const json_t *step, const char *type)
{
    static const char *const known[] = {"ByteLevel", "Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"};
    bool found = false;
    (void)r, (void)step;
    for (size_t i = 0; i < TERN__COUNT(known); i++)
        found |= is(type, known[i]);
    TERN__FAIL_IF(!found, TERN_UNSUPPORTED, "its decoder '%.40s' is not known", type);
    return TERN_OK;
}

/* ---- members -------------------------------------------------------------------------------------------- */

/* `value` is the list of steps `list`, or one of them, or null. */
static tern_status read_steps(tern__json_reader *r, const json_t *value, const char *list, step_fn read)
{
    TERN__FAIL_IF(!json_is_object(value) && !json_is_null(value), TERN_FORMAT,
                  "what should hold '%s' is neither an object nor null", list);
    return for_each(r, value, list, read);
}

static tern_status read_normalizers(tern__json_reader *r, const json_t *value)
{
    return read_steps(r, value, "normalizers", read_normalizer);
}

static tern_status read_pre_tokenizers(tern__json_reader *r, const json_t *value)
{
    return read_steps(r, value, "pretokenizers", read_pre_tokenizer);
}

static tern_status read_post_processors(tern__json_reader *r, const json_t *value)
{
    return read_steps(r, value, "processors", read_post_processor);
}

static tern_status read_decoders(tern__json_reader *r, const json_t *value)
{
    return read_steps(r, value, "decoders", read_decoder);
}

const tern__json_member tern__json_rules[] = {
    {"normalizer", false, read_normalizers},
    {"pre_tokenizer", false, read_pre_tokenizers},
    {"post_processor", false, read_post_processors},
    {"decoder", false, read_decoders},
    {0},
};

static tern_status read_type(tern__json_reader *r, const json_t *value)
{
    const char *text = json_string_value(value);
    (void)r;
    TERN__FAIL_IF(!text || !is(text, "BPE"), TERN_UNSUPPORTED,
                  "its model is of type '%.40s'; only BPE is known", text ? text : "");
    return TERN_OK;
}

static tern_status read_unk(tern__json_reader *r, const json_t *value)
{
    return json_is_string(value) ? copy_name(r->unk, json_string_value(value)) : TERN_OK;
}

static tern_status read_byte_fallback(tern__json_reader *r, const json_t *value)
{
    r->byte_fallback = json_is_true(value);
    r->metaspace |= r->byte_fallback;
    return TERN_OK;
}

static tern_status read_ignore_merges(tern__json_reader *r, const json_t *value)
{
    r->d.ignore_merges = json_is_true(value) ? TERN_TRISTATE_YES : TERN_TRISTATE_NO;
    return TERN_OK;
}

/* Merges that are left out at random belong to training. */
static tern_status read_dropout(tern__json_reader *r, const json_t *value)
{
    (void)r;
    TERN__FAIL_IF(!json_is_null(value) && !(json_is_number(value) && json_number_value(value) == 0),
                  TERN_UNSUPPORTED,
                  "its model has a dropout, which would cut text another way each time: make it null");
    return TERN_OK;
}

static tern_status read_affix(tern__json_reader *r, const json_t *value)
{
    (void)r;
    TERN__FAIL_IF(json_string_length(value) > 0, TERN_UNSUPPORTED,
                  "its model marks parts of words ('%.20s'), as no known family does",
                  json_string_value(value));
    return TERN_OK;
}

const tern__json_member tern__json_model_rules[] = {
    {"type", false, read_type},
    {"unk_token", false, read_unk},
    {"byte_fallback", false, read_byte_fallback},
    {"ignore_merges", false, read_ignore_merges},
    {"dropout", false, read_dropout},
    {"continuing_subword_prefix", false, read_affix},
    {"end_of_word_suffix", false, read_affix},
    {0},
};

#else
typedef int tern__json_rules_nothing; /* a source must not be empty */
#endif

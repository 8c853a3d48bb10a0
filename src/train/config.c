/* config.c - the keys of config.def between JSON and structs. */
#include <tern/train_config.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "base/status.h"
#include "base/words.h"
#include "model/arch/hparams.h"
#include "train/limits.h"

#if TERN_HAVE_JANSSON
#include <jansson.h>

#include "base/json_walk.h"
#endif

typedef enum key_kind {
    KIND_INT,
    KIND_REAL,
    KIND_CHOICE,
    KIND_STORED,
    KIND_TEXT,
} key_kind;

typedef struct key_row {
    const char *name;
    key_kind kind;
    size_t offset; /* in tern_train_config, or in tern_train_progress */
    bool progress; /* which of them */
    double least,
        most; /* whole numbers up to 2^53 are exact, and the limit of 64 bits is not reached by doubles above */
    const char *const *words; /* of a choice, by their numbers, and NULL behind the last */
    const char *meaning;
} key_row;

#define CONFIG_AT(field) offsetof(tern_train_config, field)
#define PROGRESS_AT(field) offsetof(tern_train_progress, field)
#define MOST_SEED 0x1p62
/* clang-format off */
#define INT(key, field, lo, hi, what) {key, KIND_INT, CONFIG_AT(field), false, (double)(lo), (double)(hi), NULL, what},
#define REAL(key, field, lo, hi, what) {key, KIND_REAL, CONFIG_AT(field), false, lo, hi, NULL, what},
#define SEED(key, field, what) {key, KIND_INT, CONFIG_AT(field), false, 0, MOST_SEED, NULL, what},
#define WORD(id, number, name, meaning) [number] = name,
#define CHOICE(key, field, LIST, what) {key, KIND_CHOICE, CONFIG_AT(field), false, 0, 0, (const char *const[]){LIST(WORD) NULL}, what},
/* A config says which type activations then have. */
#define ACTIVATIONS_LIST(X) X(, TERN_PRECISION_EXACT, "f32", ) X(, TERN_PRECISION_BF16, "bf16", ) X(, TERN_PRECISION_F16, "f16", )
#define STORED(key, field, what) {key, KIND_STORED, CONFIG_AT(field), false, 0, 0, NULL, what},
#define TEXT(key, field, what) {key, KIND_TEXT, CONFIG_AT(field), false, 0, 0, NULL, what},
#define PROGRESS_INT(key, field) {key, KIND_INT, PROGRESS_AT(field), true, -1, MOST_SEED, NULL, ""},
#define PROGRESS_REAL(key, field) {key, KIND_REAL, PROGRESS_AT(field), true, -1e300, 1e300, NULL, ""},
#define PROGRESS_SEED(key, field) {key, KIND_INT, PROGRESS_AT(field), true, 0, MOST_SEED, NULL, ""},
/* clang-format on */
static const key_row keys[] = {
#include "train/config.def"
};
enum { N_KEYS = TERN__COUNT(keys) };

_Static_assert(sizeof(tern_train_weights) == sizeof(int) && sizeof(tern_stored) == sizeof(int) &&
                   sizeof(tern_optimiser_kind) == sizeof(int) && sizeof(tern_schedule_kind) == sizeof(int) &&
                   sizeof(tern_train_tokens) == sizeof(int) && sizeof(tern_precision) == sizeof(int) &&
                   sizeof(tern_recompute) == sizeof(int),
               "choices are kept in ints");

_Static_assert(TERN_TRAIN_BYTE_TOKENS == 257 && TERN_TRAIN_BPE_TOKENS == 4096,
               "tokenizer.vocabulary: what config.def says of it");

tern_train_config tern_train_config_default(void)
{
    return (tern_train_config){.options = tern_train_options_default(),
                               .schedule = tern_schedule_options_default(),
                               .tokens = TERN_TRAIN_TOKENS_BYTES,
                               .validation_share = 0.1,
                               .validation_batches = 8,
                               .every_validation = 250,
                               .every_checkpoint = 250,
                               .every_sample = 1000,
                               .sample_tokens = 120,
                               .sample_temperature = 0.8,
                               .sample_prompt = "\n",
                               .export_type = TERN_STORED_AS_IS,
                               .export_embedding = TERN_STORED_AS_IS};
}

/* Where the value of a row is. */
static const void *place_of(const key_row *k, const tern_train_config *config,
                            const tern_train_progress *progress)
{
    return k->progress ? (const char *)progress + k->offset : (const char *)config + k->offset;
}

/* ---- words --------------------------------------------------------------------------------------------------------- */

static void add_words(tern__strbuf *s, const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        if (i > 0)
            tern__strbuf_add(s, words[i + 1] ? ", " : " or ");
        tern__strbuf_addf(s, "\"%s\"", words[i]);
    }
}

/* How many there are. */
static int count_words(const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

static void add_number(tern__strbuf *s, double value)
{
    if (fabs(value) < 0x1p63 && value == (double)(int64_t)value)
        tern__strbuf_addf(s, "%lld", (long long)value);
    else
        tern__json_add_real(s, value);
}

/* "a whole number from 1 to 4096" */
static void add_range(tern__strbuf *s, const key_row *k)
{
    switch (k->kind) {
    case KIND_INT:
    case KIND_REAL:
        tern__strbuf_add(s, k->kind == KIND_INT ? "a whole number from " : "a number from ");
        add_number(s, k->least);
        tern__strbuf_add(s, " to ");
        add_number(s, k->most);
        break;
    case KIND_CHOICE:
        add_words(s, k->words);
        break;
    case KIND_STORED:
        tern__strbuf_add(s, "\"auto\" or a type such as \"i2_s\", \"tq2_0\", \"f16\"");
        break;
    case KIND_TEXT:
        tern__strbuf_addf(s, "a text of at most %d bytes", TERN_TRAIN_TEXT - 1);
        break;
    }
}

/* ---- printing ------------------------------------------------------------------------------------------------------ */

static void add_value(tern__strbuf *s, const key_row *k, const void *at)
{
    int choice;
    int64_t whole;
    double real;
    switch (k->kind) {
    case KIND_INT:
        memcpy(&whole, at, sizeof whole);
        tern__strbuf_addf(s, "%lld", (long long)whole);
        break;
    case KIND_REAL:
        memcpy(&real, at, sizeof real);
        tern__json_add_real(s, real);
        break;
    case KIND_CHOICE:
        memcpy(&choice, at, sizeof choice);
        tern__strbuf_addf(s, "\"%s\"", choice >= 0 && choice < count_words(k->words) ? k->words[choice] : "");
        break;
    case KIND_STORED: {
        memcpy(&choice, at, sizeof choice);
        const tern_stored_info *info = tern_stored_get((tern_stored)choice);
        tern__strbuf_add(s, "\"");
        for (const char *c = info ? info->name : "auto"; *c; c++)
            tern__strbuf_addf(s, "%c", *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        tern__strbuf_add(s, "\"");
        break;
    }
    case KIND_TEXT:
        tern__json_add_text(s, at);
        break;
    }
}

/* Bytes of "model." in "model.layers"; 0 at the top. */
static size_t section_of(const char *name)
{
    const char *dot = strchr(name, '.');
    return dot ? (size_t)(dot - name) + 1 : 0;
}

static tern_status print(const tern_train_config *config, const tern_train_progress *progress, char **text)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    const char *open = ""; /* the key whose section is open */
    for (int i = 0; i < N_KEYS && (progress || !keys[i].progress); i++) {
        const size_t was = section_of(open), is = section_of(keys[i].name);
        const bool same = is > 0 && is == was && memcmp(open, keys[i].name, is) == 0;
        if (was > 0 && !same)
            tern__strbuf_add(&s, "\n  }");
        tern__strbuf_add(&s, i == 0 ? "{\n" : ",\n");
        if (is > 0 && !same)
            tern__strbuf_addf(&s, "  \"%.*s\": {\n", (int)is - 1, keys[i].name);
        tern__strbuf_addf(&s, "%s\"%s\": ", is > 0 ? "    " : "  ", keys[i].name + is);
        add_value(&s, &keys[i], place_of(&keys[i], config, progress));
        open = keys[i].name;
    }
    tern__strbuf_add(&s, section_of(open) > 0 ? "\n  }\n}\n" : "\n}\n");
    return tern__strbuf_take(&s, text);
}

tern_status tern_train_config_print(const tern_train_config *config, char **text)
{
    TERN__FAIL_IF(!config || !text, TERN_INVALID_ARGUMENT,
                  "train_config_print: the config or the place for the text is missing");
    return print(config, NULL, text);
}

tern_status tern_train_note_print(const tern_train_config *config, const tern_train_progress *progress,
                                  char **text)
{
    TERN__FAIL_IF(!config || !progress || !text, TERN_INVALID_ARGUMENT,
                  "train_note_print: the config, the progress or the place for the text is missing");
    return print(config, progress, text);
}

static tern_status copy(tern__strbuf *s, char *to, size_t room)
{
    const bool failed = s->failed;
    snprintf(to, room, "%s", s->text ? s->text : "");
    tern__strbuf_free(s);
    return failed ? tern__out_of_memory(room) : TERN_OK;
}

tern_status tern_train_config_key(int i, tern_train_key *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "train_config_key: the place for the key is missing");
    TERN__FAIL_IF(i < 0 || i >= N_KEYS || keys[i].progress, TERN_OUT_OF_RANGE,
                  "train_config_key: there is no key %d", i);
    const tern_train_config usual = tern_train_config_default();
    tern_train_key key = {.name = keys[i].name, .meaning = keys[i].meaning};
    tern__strbuf range = TERN__STRBUF_EMPTY, value = TERN__STRBUF_EMPTY;
    add_range(&range, &keys[i]);
    add_value(&value, &keys[i], place_of(&keys[i], &usual, NULL));
    const tern_status status = copy(&range, key.range, sizeof key.range);
    const tern_status second = copy(&value, key.usual, sizeof key.usual);
    TERN_TRY(status);
    TERN_TRY(second);
    *out = key;
    return TERN_OK;
}

/* ---- parsing ------------------------------------------------------------------------------------------------------- */

/* What is read: into copies, of which the caller gets nothing unless all is well. */
typedef struct reading {
    const char *path; /* starts messages */
    bool note;        /* with progress */
    tern_train_config config;
    tern_train_progress progress;
} reading;

#if TERN_HAVE_JANSSON

/* "model.layers is 0; it must be a whole number from 1 to 4096" */
static tern_status fail_value(const reading *r, const key_row *k, const json_t *value)
{
    tern__strbuf range = TERN__STRBUF_EMPTY;
    add_range(&range, k);
    char is[64];
    const size_t length =
        json_dumpb(value, is, sizeof is, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    const tern_status status =
        tern__fail(TERN_INVALID_ARGUMENT, "%s: %s is %.*s%s; it must be %s", r->path, k->name,
                   (int)(length < sizeof is ? length : sizeof is), is, length < sizeof is ? "" : "...",
                   range.text ? range.text : "something else");
    tern__strbuf_free(&range);
    return status;
}

static tern_status fail_unknown(const reading *r, const char *name)
{
    char key[81];
    const char *best = NULL;
    size_t least = strlen(name) / 3 + 2;
    snprintf(key, sizeof key, "%s", name);
    tern__json_one_line(key);
    for (int i = 0; i < N_KEYS; i++) {
        const size_t d = keys[i].progress
                             ? least
                             : tern__word_distance(name, strlen(name), keys[i].name, strlen(keys[i].name));
        if (d < least) {
            least = d;
            best = keys[i].name;
        }
    }
    if (best)
        return tern__fail(TERN_NOT_FOUND, "%s: there is no key '%s'; did you mean '%s'?", r->path, key, best);
    return tern__fail(TERN_NOT_FOUND, "%s: there is no key '%s'; `tern train --config-keys` lists them",
                      r->path, key);
}

static bool take_choice(const char *const *words, const char *text, int *out)
{
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static bool take_stored(const char *text, int *out)
{
    tern_stored stored = TERN_STORED_AS_IS;
    if (!text || (strcmp(text, "auto") != 0 && tern_stored_parse(text, &stored) != TERN_OK))
        return false;
    *out = (int)stored;
    return true;
}

static bool take_text(const json_t *value, char *to)
{
    const char *text = json_string_value(value);
    if (!text || json_string_length(value) >= TERN_TRAIN_TEXT || strlen(text) != json_string_length(value))
        return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

/* The value of a row to its place; false: it cannot be. */
static bool take(reading *r, const key_row *k, const json_t *value)
{
    char *at = k->progress ? (char *)&r->progress + k->offset : (char *)&r->config + k->offset;
    int choice;
    switch (k->kind) {
    case KIND_INT: {
        const int64_t whole = json_integer_value(value);
        if (!json_is_integer(value) || (double)whole < k->least || (double)whole > k->most)
            return false;
        memcpy(at, &whole, sizeof whole);
        return true;
    }
    case KIND_REAL: {
        const double real = json_number_value(value);
        if (!json_is_number(value) || !(real >= k->least && real <= k->most))
            return false;
        memcpy(at, &real, sizeof real);
        return true;
    }
    case KIND_CHOICE:
    case KIND_STORED:
        if (!(k->kind == KIND_CHOICE ? take_choice(k->words, json_string_value(value), &choice)
                                     : take_stored(json_string_value(value), &choice)))
            return false;
        memcpy(at, &choice, sizeof choice);
        return true;
    case KIND_TEXT:
        return take_text(value, at);
    }
    return false;
}

static tern_status read_key(reading *r, const char *name, const json_t *value)
{
    for (int i = 0; i < N_KEYS; i++)
        if ((r->note || !keys[i].progress) && strcmp(keys[i].name, name) == 0)
            return take(r, &keys[i], value) ? TERN_OK : fail_value(r, &keys[i], value);
    return fail_unknown(r, name);
}

static tern_status read_member(reading *r, const char *name, json_t *value)
{
    bool section = false;
    const size_t length = strlen(name);
    for (int i = 0; i < N_KEYS && !section; i++)
        section = (r->note || !keys[i].progress) && section_of(keys[i].name) == length + 1 &&
                  memcmp(keys[i].name, name, length) == 0;
    if (!section)
        return read_key(r, name, value);
    TERN__FAIL_IF(!json_is_object(value), TERN_INVALID_ARGUMENT, "%s: %s must be an object of keys, {...}",
                  r->path, name);
    const char *inner;
    json_t *child;
    json_object_foreach(value, inner, child)
    {
        char full[160];
        snprintf(full, sizeof full, "%s.%s", name, inner);
        TERN_TRY(read_key(r, full, child));
    }
    return TERN_OK;
}

static tern_status parse(const char *text, size_t length, reading *r)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        tern__json_one_line(error.text);
        return tern__fail(TERN_FORMAT, "%s: JSON: %s (line %d)", r->path, error.text, error.line);
    }
    tern_status status = TERN_OK;
    if (!json_is_object(root))
        status = tern__fail(TERN_FORMAT, "%s: JSON: not an object of keys, {...}", r->path);
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value)
    {
        status = read_member(r, name, value);
        if (status != TERN_OK)
            break;
    }
    json_decref(root);
    TERN_TRY(status);
    TERN__FAIL_IF(r->config.tokens == TERN_TRAIN_TOKENS_BYTES && r->config.vocabulary > 0 &&
                      r->config.vocabulary != TERN_TRAIN_BYTE_TOKENS,
                  TERN_INVALID_ARGUMENT,
                  "%s: tokenizer.vocabulary is %lld, but a tokenizer of bytes has %d tokens: say \"kind\": "
                  "\"bpe\"",
                  r->path, (long long)r->config.vocabulary, TERN_TRAIN_BYTE_TOKENS);
    return TERN_OK;
}

#else

static tern_status parse(const char *text, size_t length, reading *r)
{
    (void)text, (void)length;
    return tern__fail(TERN_UNAVAILABLE, "%s: this build of tern has no libjansson, which configs need",
                      r->path);
}

#endif

tern_status tern_train_config_parse(const char *text, size_t length, const char *name, tern_train_config *out)
{
    TERN__FAIL_IF(!text || !name || !out, TERN_INVALID_ARGUMENT,
                  "train_config_parse: the text, its name or the place for the config is missing");
    tern_train_config config = tern_train_config_default();
    TERN_TRY(tern_train_config_update(text, length, name, &config));
    *out = config;
    return TERN_OK;
}

tern_status tern_train_config_update(const char *text, size_t length, const char *name,
                                     tern_train_config *config)
{
    TERN__FAIL_IF(!text || !name || !config, TERN_INVALID_ARGUMENT,
                  "train_config_update: the text, its name or the config is missing");
    reading r = {.path = name, .config = *config};
    TERN_TRY(parse(text, length, &r));
    *config = r.config;
    return TERN_OK;
}

tern_status tern_train_note_parse(const char *text, size_t length, const char *name,
                                  tern_train_config *config, tern_train_progress *progress)
{
    TERN__FAIL_IF(!text || !name || !config || !progress, TERN_INVALID_ARGUMENT,
                  "train_note_parse: the text, its name or the places for what it says are missing");
    reading r = {.path = name, .note = true, .config = tern_train_config_default(), .progress.best_step = -1};
    TERN_TRY(parse(text, length, &r));
    *config = r.config;
    *progress = r.progress;
    return TERN_OK;
}

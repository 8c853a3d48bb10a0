/* inspect_model.c - `tern inspect` of model files: metadata, tensors, sizes by type, memory that running it takes. */
#include "inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/catalog.h>
#include <tern/model.h>

#include "device.h"
#include "json.h"
#include "model_source.h"
#include "table.h"
#include "term.h"

enum { SHOWN_ELEMENTS = 8, SHOWN_TEXT = 60 };

/* ---- metadata ------------------------------------------------------------------------------------------------------ */

/* Text of a value, cut; whatever is in it, it takes one line. */
static void add_string(text *out, const char *string, size_t length)
{
    char cut[SHOWN_TEXT + 1];
    size_t n = length < SHOWN_TEXT ? length : SHOWN_TEXT;
    memcpy(cut, string, n);
    cut[n] = 0;
    for (size_t i = 0; i < n; i++)
        cut[i] = cut[i] ? cut[i] : ' ';
    while (n < length && n > SHOWN_TEXT - 4 && ((unsigned char)string[n] & 0xc0) == 0x80)
        cut[--n] = 0; /* not through the middle of a character */
    text_add_safe(out, cut);
    if (n < length)
        text_add(out, glyph_of(GLYPH_ELLIPSIS));
}

static void add_element(text *out, const tern_model_file *file, int i, int64_t j)
{
    char number[NUMBER_TEXT];
    tern_meta_info info = {0};
    int64_t whole;
    double real;
    bool flag;
    const char *string;
    size_t length;
    (void)tern_model_file_meta(file, i, &info);
    if (tern_model_file_meta_int(file, i, j, &whole) == TERN_OK)
        text_addf(out, "%lld", (long long)whole);
    else if (tern_model_file_meta_float(file, i, j, &real) == TERN_OK && info.type == TERN_META_F32)
        text_addf(out, "%.7g", real);
    else if (tern_model_file_meta_float(file, i, j, &real) == TERN_OK)
        text_add(out, format_double(number, real));
    else if (tern_model_file_meta_bool(file, i, j, &flag) == TERN_OK)
        text_add(out, flag ? "true" : "false");
    else if (tern_model_file_meta_string(file, i, j, &string, &length) == TERN_OK)
        add_string(out, string, length);
}

static void print_metadata(const tern_model_file *file)
{
    static const table_column columns[] = {{"metadata", false, true, STYLE_NAME},
                                           {"type", false, false, STYLE_NUMBER},
                                           {"value", false, false, STYLE_NONE}};
    table t = table_make(columns, 3);
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        text value = {0};
        if (tern_model_file_meta(file, i, &info) != TERN_OK)
            continue;
        text_add_safe(&value, info.key);
        table_add(&t, text_string(&value));
        if (info.is_array)
            table_addf(&t, "%s[%lld]", tern_meta_type_name(info.type), (long long)info.count);
        else
            table_add(&t, tern_meta_type_name(info.type));
        text_clear(&value);
        for (int64_t j = 0; j < info.count && j < SHOWN_ELEMENTS; j++) {
            text_add(&value, j ? ", " : "");
            add_element(&value, file, i, j);
        }
        if (info.count > SHOWN_ELEMENTS)
            text_addf(&value, ", %s", glyph_of(GLYPH_ELLIPSIS));
        table_add(&t, text_string(&value));
        text_free(&value);
    }
    if (tern_model_file_meta_count(file) > 0) {
        table_print(&t, 2, true);
        putchar('\n');
    }
    table_free(&t);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

typedef struct usage {
    uint64_t tensors[TERN_STORED_COUNT], bytes[TERN_STORED_COUNT]; /* in the file, by type */
    uint64_t ternary[TERN_STORED_COUNT];                           /* tensors of them that run as codes */
    uint64_t parameters;
    text why_not;             /* what is in the way of running it; empty: nothing is */
    text no_words;            /* why there is no tokenizer, which could be named; empty: there is one */
    int64_t tokens, known;    /* of the tokenizer, if there is one, and of the model */
    tern_model_memory memory; /* that `tern run` takes, if it runs */
} usage;

/* The tokenizer as `tern run` would open it. */
static void measure_tokenizer(usage *u, const model_source *source)
{
    tern_tokenizer *tokenizer = NULL;
    tern_tokenizer_info info;
    text why = {0};
    const tern_status status = model_tokenizer(source, &(model_words){0}, &tokenizer, &why);
    if (status != TERN_OK)
        text_add(status == TERN_NOT_FOUND ? &u->no_words : &u->why_not, text_string(&why));
    else if (tern_tokenizer_get_info(tokenizer, &info) == TERN_OK)
        u->tokens = info.n_tokens;
    u->known = tern_model_file_vocabulary(source->file);
    tern_tokenizer_free(tokenizer);
    text_free(&why);
}

static usage measure(const model_source *source)
{
    const tern_model_file *file = source->file;
    usage u = {0};
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor t;
        if (tern_model_file_tensor(file, i, &t) != TERN_OK)
            continue;
        uint64_t elements = 1;
        for (int k = 0; k < t.rank; k++)
            elements *= (uint64_t)t.shape[k];
        u.tensors[t.stored]++;
        u.bytes[t.stored] += t.bytes;
        u.parameters += elements;
        u.ternary[t.stored] += tern_model_file_runs_ternary(file, i);
    }
    const tern_session_options o = {.context = MODEL_CONTEXT, .cache = MODEL_CACHE};
    if (tern_model_plan_memory(file, &o, &u.memory) == TERN_OK)
        measure_tokenizer(&u, source);
    else
        text_add(&u.why_not, last_words());
    return u;
}

static void usage_free(usage *u)
{
    text_free(&u->why_not);
    text_free(&u->no_words);
}

static void add_runs_as(text *out, const usage *u, tern_stored stored)
{
    const tern_stored_info *info = tern_stored_get(stored);
    if (info->kind == TERN_STORED_OPAQUE) {
        text_add(out, "not at all: it cannot be loaded");
        return;
    }
    if (u->ternary[stored] > 0)
        text_add(out, "ternary codes and f32 scales");
    if (u->ternary[stored] < u->tensors[stored])
        text_addf(out, u->ternary[stored] > 0 ? " in linear layers, else %s" : "%s",
                  tern_dtype_name(info->dtype));
}

/* ---- for people ---------------------------------------------------------------------------------------------------- */

static void print_tensors(const tern_model_file *file)
{
    static const table_column columns[] = {{"tensor", false, true, STYLE_NAME},
                                           {"type", false, false, STYLE_NUMBER},
                                           {"shape", false, false, STYLE_NONE},
                                           {"bytes", true, false, STYLE_NONE},
                                           {"at byte", true, false, STYLE_NONE}};
    char number[NUMBER_TEXT];
    table t = table_make(columns, 5);
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor tensor;
        text cell = {0};
        if (tern_model_file_tensor(file, i, &tensor) != TERN_OK)
            continue;
        text_add_safe(&cell, tensor.name);
        table_add(&t, text_string(&cell));
        table_add(&t, tern_stored_get(tensor.stored)->name);
        text_clear(&cell);
        text_add_type(&cell, "", tensor.rank, tensor.shape);
        table_add(&t, text_string(&cell));
        table_add(&t, format_bytes(number, tensor.bytes));
        table_addf(&t, "%llu", (unsigned long long)tensor.offset);
        text_free(&cell);
    }
    if (tern_model_file_count(file) > 0) {
        table_print(&t, 2, true);
        putchar('\n');
    }
    table_free(&t);
}

static void print_types(const usage *u)
{
    static const table_column columns[] = {{"type", false, false, STYLE_NUMBER},
                                           {"tensors", true, false, STYLE_NONE},
                                           {"bytes", true, false, STYLE_NONE},
                                           {"runs as", false, false, STYLE_NONE}};
    char number[NUMBER_TEXT];
    table t = table_make(columns, 4);
    text way = {0};
    for (int s = TERN_STORED_AS_IS + 1; s < TERN_STORED_COUNT; s++) {
        const tern_stored_info *info = tern_stored_get((tern_stored)s);
        if (u->tensors[s] == 0)
            continue;
        table_add(&t, info->name);
        table_addf(&t, "%llu", (unsigned long long)u->tensors[s]);
        table_add(&t, format_bytes(number, u->bytes[s]));
        text_clear(&way);
        add_runs_as(&way, u, (tern_stored)s);
        table_add(&t, text_string(&way));
    }
    table_print(&t, 2, true);
    table_free(&t);
    text_free(&way);
}

static void print_memory(const usage *u)
{
    char weights[NUMBER_TEXT], cache[NUMBER_TEXT], all[NUMBER_TEXT];
    const tern_model_memory *m = &u->memory;
    tern_device_info device;
    printf("  memory to run it: %s of weights, %s of %s keys and values for a context of %lld: %s",
           format_bytes(weights, m->weights), format_bytes(cache, m->cache), tern_dtype_name(MODEL_CACHE),
           (long long)m->context, format_bytes(all, m->weights + m->cache));
    if (device_find(m->device, &device))
        printf("; on %s (%s, %s)", device.name, device.backend, device.isa);
    putchar('\n');
    if (u->no_words.length > 0)
        printf("  to run it: %s\n", text_string(&u->no_words));
    else if (u->tokens < u->known)
        printf("  its tokenizer has %lld tokens of the %lld that the model knows: the others are no text\n",
               (long long)u->tokens, (long long)u->known);
}

static void print_report(const model_source *source)
{
    char bytes[NUMBER_TEXT], parameters[NUMBER_TEXT];
    const char *path = source->name;
    const tern_model_file *file = source->file;
    usage u = measure(source);
    const char *architecture;
    text what = {0};
    text_add_safe(&what, path);
    printf("%s%s%s: ", on(STYLE_BOLD), text_string(&what), off(STYLE_BOLD));
    text_clear(&what);
    text_add(&what, tern_file_format_name(tern_model_file_format(file)));
    if (tern_model_file_version(file))
        text_addf(&what, " %d", tern_model_file_version(file));
    if (tern_model_file_get_string(file, "general.architecture", &architecture) == TERN_OK) {
        text_add(&what, ", ");
        text_add_safe(&what, architecture);
    }
    text_addf(&what, ", %s parameters in ", format_count(parameters, u.parameters));
    text_add_plural(&what, tern_model_file_count(file), "tensor");
    text_addf(&what, ", %s", format_bytes(bytes, tern_model_file_bytes(file)));
    printf("%s\n", text_string(&what));
    text_free(&what);
    /* What people look for comes first. */
    if (u.why_not.length == 0)
        print_memory(&u);
    else
        printf("  it cannot be run: %s\n", text_string(&u.why_not));
    putchar('\n');
    print_metadata(file);
    print_tensors(file);
    if (tern_model_file_count(file) > 0)
        print_types(&u);
    usage_free(&u);
}

/* ---- for programs -------------------------------------------------------------------------------------------------- */

static void json_element(json *j, const char *key, const tern_model_file *file, int i, int64_t k)
{
    int64_t whole;
    double real;
    bool flag;
    const char *string;
    size_t length;
    if (tern_model_file_meta_int(file, i, k, &whole) == TERN_OK)
        json_int(j, key, whole);
    else if (tern_model_file_meta_float(file, i, k, &real) == TERN_OK)
        json_double(j, key, real);
    else if (tern_model_file_meta_bool(file, i, k, &flag) == TERN_OK)
        json_bool(j, key, flag);
    else if (tern_model_file_meta_string(file, i, k, &string, &length) == TERN_OK) {
        char *copy = grab_string(string, length); /* up to its first zero */
        json_string(j, key, copy);
        free(copy);
    }
}

static void json_metadata(json *j, const tern_model_file *file)
{
    json_array(j, "metadata");
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        if (tern_model_file_meta(file, i, &info) != TERN_OK)
            continue;
        json_object(j, NULL);
        json_string(j, "key", info.key);
        json_string(j, "type", tern_meta_type_name(info.type));
        if (info.is_array) {
            json_int(j, "count", info.count);
            json_array(j, "first");
            for (int64_t k = 0; k < info.count && k < SHOWN_ELEMENTS; k++)
                json_element(j, NULL, file, i, k);
            json_end(j);
        } else {
            json_element(j, "value", file, i, 0);
        }
        json_end(j);
    }
    json_end(j);
}

static void json_tensors(json *j, const tern_model_file *file)
{
    json_array(j, "tensors");
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor t;
        if (tern_model_file_tensor(file, i, &t) != TERN_OK)
            continue;
        json_object(j, NULL);
        json_string(j, "name", t.name);
        json_string(j, "stored_name", t.stored_name);
        json_string(j, "type", tern_stored_get(t.stored)->name);
        json_ints(j, "shape", t.rank, t.shape);
        json_string(j, "file", tern_model_file_part(file, t.part));
        json_uint(j, "offset", t.offset);
        json_uint(j, "bytes", t.bytes);
        json_end(j);
    }
    json_end(j);
}

static void print_json(const model_source *source)
{
    const tern_model_file *file = source->file;
    usage u = measure(source);
    const bool runs = u.why_not.length == 0;
    json j = {0};
    text way = {0};
    json_object(&j, NULL);
    json_string(&j, "file", source->name);
    json_string(&j, "kind", "model");
    json_string(&j, "format", tern_file_format_name(tern_model_file_format(file)));
    json_int(&j, "version", tern_model_file_version(file));
    json_uint(&j, "bytes", tern_model_file_bytes(file));
    json_uint(&j, "parameters", u.parameters);
    json_metadata(&j, file);
    json_tensors(&j, file);
    json_array(&j, "types");
    for (int s = TERN_STORED_AS_IS + 1; s < TERN_STORED_COUNT; s++) {
        const tern_stored_info *info = tern_stored_get((tern_stored)s);
        if (u.tensors[s] == 0)
            continue;
        json_object(&j, NULL);
        json_string(&j, "type", info->name);
        json_uint(&j, "tensors", u.tensors[s]);
        json_uint(&j, "bytes", u.bytes[s]);
        json_string(&j, "loads_as", info->kind == TERN_STORED_OPAQUE ? NULL : tern_dtype_name(info->dtype));
        text_clear(&way);
        add_runs_as(&way, &u, (tern_stored)s);
        json_string(&j, "runs_as", text_string(&way));
        json_end(&j);
    }
    json_end(&j);
    json_string(&j, "cannot_run", runs ? NULL : text_string(&u.why_not));
    if (u.tokens > 0)
        json_int(&j, "tokens", u.tokens);
    else
        json_null(&j, "tokens");
    json_string(&j, "device", runs ? u.memory.device : NULL);
    json_object(&j, "memory");
    if (runs) {
        json_uint(&j, "weights", u.memory.weights);
        json_uint(&j, "kv_cache", u.memory.cache);
        json_int(&j, "context", u.memory.context);
    } else {
        json_null(&j, "weights");
        json_null(&j, "kv_cache");
        json_null(&j, "context");
    }
    json_end(&j);
    json_end(&j);
    json_print(&j);
    text_free(&way);
    usage_free(&u);
}

int inspect_model(const model_source *source, bool as_json)
{
    if (as_json)
        print_json(source);
    else
        print_report(source);
    return EXIT_DONE;
}

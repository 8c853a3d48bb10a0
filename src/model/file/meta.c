/* meta.c - metadata of model files: adding entries, and reading them with their types checked. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/file/model_file.h"

static const struct meta_type {
    const char *name;
    int bytes;
    enum { NONE, UNSIGNED, SIGNED, FLOAT } kind;
} types[] = {
#define TYPE(id, number, name, bytes, kind) [number] = {name, bytes, kind},
    TERN_META_LIST(TYPE)
#undef TYPE
};

static const struct meta_type *type_of(tern_meta_type type)
{
    return (unsigned)type < TERN__COUNT(types) && types[type].name ? &types[type] : NULL;
}

const char *tern_meta_type_name(tern_meta_type type)
{
    const struct meta_type *t = type_of(type);
    return t ? t->name : "unknown";
}

int tern__meta_bytes(tern_meta_type type)
{
    const struct meta_type *t = type_of(type);
    return t ? t->bytes : -1;
}

uint64_t tern__meta_load(tern_meta_type type, const uint8_t *bytes)
{
    const struct meta_type *t = type_of(type);
    const int unused = 64 - 8 * t->bytes;
    const uint64_t bits = tern__load_le(bytes, t->bytes);
    return t->kind == SIGNED ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

/* ---- made-up entries ------------------------------------------------------------------------------------------- */

static tern_status add(tern_model_file *file, const char *key, tern__meta meta)
{
    TERN_TRY(tern__model_file_name(file, "an entry of metadata", key, strlen(key), &meta.info.key));
    meta.info.count = 1;
    return tern__model_file_add_meta(file, &meta);
}

tern_status tern__model_file_add_int(tern_model_file *file, const char *key, int64_t value)
{
    return add(file, key, (tern__meta){.info.type = TERN_META_I64, .bits = (uint64_t)value});
}

tern_status tern__model_file_add_float(tern_model_file *file, const char *key, double value)
{
    return add(file, key, (tern__meta){.info.type = TERN_META_F64, .f = value});
}

tern_status tern__model_file_add_bool(tern_model_file *file, const char *key, bool value)
{
    return add(file, key, (tern__meta){.info.type = TERN_META_BOOL, .bits = value});
}

tern_status tern__model_file_add_string(tern_model_file *file, const char *key, const char *text,
                                        size_t length)
{
    const char *copy = tern__arena_strndup(&file->arena, text, length);
    if (!copy)
        return tern__out_of_memory(length + 1);
    return add(file, key,
               (tern__meta){.info.type = TERN_META_STRING, .string.text = copy, .string.length = length});
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

int tern_model_file_meta_count(const tern_model_file *file)
{
    return file ? (int)file->n_metas : 0;
}

static tern_status check_entry(const char *who, const tern_model_file *file, int i, int64_t j,
                               const void *out)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT, "%s: an argument is NULL", who);
    TERN__FAIL_IF(i < 0 || (size_t)i >= file->n_metas, TERN_OUT_OF_RANGE, "%s: entry %d: there are %zu", who,
                  i, file->n_metas);
    const tern_meta_info *info = &file->metas[i].info;
    TERN__FAIL_IF(j < 0 || j >= info->count, TERN_OUT_OF_RANGE, "%s: element %lld of '%s': there are %lld",
                  who, (long long)j, info->key, (long long)info->count);
    return TERN_OK;
}

tern_status tern_model_file_meta(const tern_model_file *file, int i, tern_meta_info *out)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT, "model_file_meta: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= file->n_metas, TERN_OUT_OF_RANGE,
                  "model_file_meta: entry %d: there are %zu", i, file->n_metas);
    *out = file->metas[i].info;
    return TERN_OK;
}

tern_status tern_model_file_meta_find(const tern_model_file *file, const char *key, int *out)
{
    TERN__FAIL_IF(!file || !key || !out, TERN_INVALID_ARGUMENT, "model_file_meta_find: an argument is NULL");
    const uint32_t found = tern__names_find(&file->meta_names, key, strlen(key));
    TERN__FAIL_IF(found == TERN__NO_NUMBER, TERN_NOT_FOUND, "%s: its metadata has no '%s'",
                  file->parts[0].path, key);
    *out = (int)found;
    return TERN_OK;
}

static tern_status fail_type(const tern_model_file *file, const tern__meta *meta, const char *wanted)
{
    return tern__fail(TERN_DTYPE, "%s: '%s' is %s, not %s", file->parts[0].path, meta->info.key,
                      tern_meta_type_name(meta->info.type), wanted);
}

static bool is_signed(tern_meta_type type)
{
    return types[type].kind == SIGNED;
}

static bool is_integer(tern_meta_type type)
{
    return type != TERN_META_BOOL && (types[type].kind == SIGNED || types[type].kind == UNSIGNED);
}

/* The bits of a number, sign-extended if it has a sign. */
static uint64_t bits_of(const tern_model_file *file, const tern__meta *meta, int64_t j)
{
    if (!meta->info.is_array)
        return meta->bits;
    const uint64_t width = (uint64_t)tern__meta_bytes(meta->info.type);
    return tern__meta_load(meta->info.type, file->header.bytes + meta->at + (uint64_t)j * width);
}

tern_status tern_model_file_meta_int(const tern_model_file *file, int i, int64_t j, int64_t *out)
{
    TERN_TRY(check_entry("model_file_meta_int", file, i, j, out));
    const tern__meta *meta = &file->metas[i];
    if (!is_integer(meta->info.type))
        return fail_type(file, meta, "a whole number");
    uint64_t bits = bits_of(file, meta, j);
    TERN__FAIL_IF(!is_signed(meta->info.type) && bits > INT64_MAX, TERN_OUT_OF_RANGE,
                  "%s: '%s' is %llu: too large", file->parts[0].path, meta->info.key,
                  (unsigned long long)bits);
    *out = (int64_t)bits;
    return TERN_OK;
}

tern_status tern_model_file_meta_float(const tern_model_file *file, int i, int64_t j, double *out)
{
    TERN_TRY(check_entry("model_file_meta_float", file, i, j, out));
    const tern__meta *meta = &file->metas[i];
    uint64_t bits = 0;
    float f;
    if (is_integer(meta->info.type)) {
        bits = bits_of(file, meta, j);
        *out = is_signed(meta->info.type) ? (double)(int64_t)bits : (double)bits;
    } else if (meta->info.type == TERN_META_F32) {
        uint32_t low = (uint32_t)bits_of(file, meta, j);
        memcpy(&f, &low, sizeof f);
        *out = f;
    } else if (meta->info.type == TERN_META_F64) {
        bits = bits_of(file, meta, j);
        memcpy(out, &bits, sizeof *out);
    } else {
        return fail_type(file, meta, "a number");
    }
    return TERN_OK;
}

tern_status tern_model_file_meta_bool(const tern_model_file *file, int i, int64_t j, bool *out)
{
    TERN_TRY(check_entry("model_file_meta_bool", file, i, j, out));
    if (file->metas[i].info.type != TERN_META_BOOL)
        return fail_type(file, &file->metas[i], "a bool");
    *out = bits_of(file, &file->metas[i], j) != 0;
    return TERN_OK;
}

tern_status tern_model_file_meta_string(const tern_model_file *file, int i, int64_t j, const char **text,
                                        size_t *length)
{
    TERN_TRY(check_entry("model_file_meta_string", file, i, j, text));
    TERN__FAIL_IF(!length, TERN_INVALID_ARGUMENT, "model_file_meta_string: an argument is NULL");
    const tern__meta *meta = &file->metas[i];
    if (meta->info.type != TERN_META_STRING)
        return fail_type(file, meta, "a string");
    if (!meta->info.is_array) {
        *text = meta->string.text;
        *length = meta->string.length;
        return TERN_OK;
    }
    /* lengths were checked when the file was opened */
    uint64_t at = meta->marks[j / TERN__MARK_EVERY];
    for (int64_t k = j % TERN__MARK_EVERY; k > 0; k--)
        at += 8 + tern__load_le(file->header.bytes + at, 8);
    *length = (size_t)tern__load_le(file->header.bytes + at, 8);
    *text = (const char *)file->header.bytes + at + 8;
    return TERN_OK;
}

/* ---- by key ---------------------------------------------------------------------------------------------------- */

static tern_status find_single(const char *who, const tern_model_file *file, const char *key, const void *out,
                               int *i)
{
    TERN__FAIL_IF(!file || !key || !out, TERN_INVALID_ARGUMENT, "%s: an argument is NULL", who);
    TERN_TRY(tern_model_file_meta_find(file, key, i));
    TERN__FAIL_IF(file->metas[*i].info.is_array, TERN_DTYPE, "%s: '%s' is an array, not a single value",
                  file->parts[0].path, key);
    return TERN_OK;
}

tern_status tern_model_file_get_int(const tern_model_file *file, const char *key, int64_t *out)
{
    int i = 0;
    TERN_TRY(find_single("model_file_get_int", file, key, out, &i));
    return tern_model_file_meta_int(file, i, 0, out);
}

tern_status tern_model_file_get_float(const tern_model_file *file, const char *key, double *out)
{
    int i = 0;
    TERN_TRY(find_single("model_file_get_float", file, key, out, &i));
    return tern_model_file_meta_float(file, i, 0, out);
}

tern_status tern_model_file_get_bool(const tern_model_file *file, const char *key, bool *out)
{
    int i = 0;
    TERN_TRY(find_single("model_file_get_bool", file, key, out, &i));
    return tern_model_file_meta_bool(file, i, 0, out);
}

tern_status tern_model_file_get_string(const tern_model_file *file, const char *key, const char **text)
{
    int i = 0;
    size_t length;
    TERN_TRY(find_single("model_file_get_string", file, key, text, &i));
    TERN_TRY(tern_model_file_meta_string(file, i, 0, text, &length));
    TERN__FAIL_IF(strlen(*text) != length, TERN_FORMAT,
                  "%s: '%s' has a byte of zero in it, so that nobody can tell where it ends",
                  file->parts[0].path, key);
    return TERN_OK;
}

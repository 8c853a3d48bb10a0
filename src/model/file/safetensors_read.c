/* safetensors_read.c - parses safetensors: a u64 length, a JSON object {"name": {"dtype", "shape", "data_offsets"}}, then
 * the data, covered exactly. Models in several files have an index, {"weight_map": {"name": "file"}}. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/hf.h"
#include "base/json_walk.h"
#include "model/file/safetensors_types.h"
#include "model/file/stored.h"

#if TERN_HAVE_JANSSON

#include <jansson.h>
#include <stdio.h>

enum { MOST_HEADER = 100000000, MOST_INDEX = 64 << 20, MOST_PARTS = 4096 };

/* ---- one tensor -------------------------------------------------------------------------------------------------- */

static tern_status read_shape(const char *who, const json_t *shape, tern_file_tensor *t)
{
    TERN__FAIL_IF(!json_is_array(shape), TERN_FORMAT, "%s: it has no shape", who);
    TERN__FAIL_IF(json_array_size(shape) > TERN_MAX_RANK, TERN_FORMAT, "%s: %zu axes, more than %d", who,
                  json_array_size(shape), TERN_MAX_RANK);
    t->rank = (int)json_array_size(shape);
    for (int i = 0; i < t->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        TERN__FAIL_IF(!json_is_integer(size), TERN_FORMAT, "%s: the size of axis %d is not a whole number",
                      who, i);
        t->shape[i] = json_integer_value(size);
    }
    return TERN_OK;
}

/* `data` bytes start at `start` in the part. */
static tern_status read_place(const char *who, const json_t *offsets, uint64_t start, uint64_t data,
                              tern_file_tensor *t)
{
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    TERN__FAIL_IF(json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end),
                  TERN_FORMAT, "%s: its data_offsets are not two whole numbers", who);
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    TERN__FAIL_IF(from < 0 || to < from || (uint64_t)to > data, TERN_FORMAT,
                  "%s: its data_offsets [%lld, %lld] do not lie in the %llu bytes of data", who,
                  (long long)from, (long long)to, (unsigned long long)data);
    int64_t elements;
    uint64_t bytes;
    TERN_TRY(tern__stored_size(who, t->stored, t->rank, t->shape, &elements, &bytes));
    TERN__FAIL_IF(bytes != (uint64_t)(to - from), TERN_FORMAT,
                  "%s: its shape needs %llu bytes, but it has %lld", who, (unsigned long long)bytes,
                  (long long)(to - from));
    t->offset = start + (uint64_t)from;
    t->bytes = bytes;
    return TERN_OK;
}

static tern_status read_tensor(tern_model_file *file, int part, const json_t *key, const json_t *value,
                               uint64_t start)
{
    tern_file_tensor t = {.part = part};
    const tern__file *from = &file->parts[part];
    TERN_TRY(tern__model_file_name(file, "a tensor", json_string_value(key), json_string_length(key),
                                   &t.stored_name));
    TERN_TRY(tern__hf_name(file, t.stored_name, &t.name));
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    TERN__FAIL_IF(!dtype, TERN_FORMAT, "%s: tensor '%s' has no dtype", from->path, t.stored_name);
    TERN__FAIL_IF(!tern__safetensors_type_parse(dtype, &t.stored), TERN_UNSUPPORTED,
                  "%s: tensor '%s' has the unknown dtype '%.20s'", from->path, t.stored_name, dtype);
    tern_status status = read_shape(t.stored_name, json_object_get(value, "shape"), &t);
    if (status == TERN_OK)
        status =
            read_place(t.stored_name, json_object_get(value, "data_offsets"), start, from->bytes - start, &t);
    return status == TERN_OK ? tern__model_file_add_tensor(file, &t) : tern__fail_in(status, from->path);
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* A part whose header is being read. */
typedef struct header {
    tern_model_file *file;
    int part;
    uint64_t start; /* of the data */
    bool described; /* it had its __metadata__ */
} header;

/* "__metadata__": {"format": "pt"}; that of the first part is kept. */
static tern_status take_metadata(void *user, const json_t *name, const json_t *value)
{
    const header *h = user;
    char key[TERN__MOST_NAME + 1];
    TERN__FAIL_IF(!json_is_string(value), TERN_FORMAT,
                  "%s: its __metadata__ has a value that is not a string", h->file->parts[h->part].path);
    if (h->part != 0 || snprintf(key, sizeof key, "metadata.%s", json_string_value(name)) >= (int)sizeof key)
        return TERN_OK;
    return tern__model_file_add_string(h->file, key, json_string_value(value), json_string_length(value));
}

static tern_status take_member(void *user, tern__json_walk *w, const json_t *key)
{
    header *h = user;
    json_t *value;
    if (strcmp(json_string_value(key), "__metadata__") == 0) {
        TERN__FAIL_IF(h->described, TERN_FORMAT, "%s: its header has two entries '__metadata__'",
                      h->file->parts[h->part].path);
        h->described = true;
        return tern__json_values(w, take_metadata, user);
    }
    TERN_TRY(tern__json_value(w, &value));
    tern_status status = read_tensor(h->file, h->part, key, value, h->start);
    json_decref(value);
    return status;
}

/* Tensors lie inside and, as is checked for all formats, apart: if their bytes add up there are no holes. */
static tern_status check_covered(const tern_model_file *file, int part, size_t first, uint64_t start)
{
    uint64_t sum = 0, data = file->parts[part].bytes - start;
    for (size_t i = first; i < file->n_tensors && sum <= data; i++)
        sum += file->tensors[i].bytes;
    TERN__FAIL_IF(sum != data, TERN_FORMAT, "%s: its tensors do not cover the %llu bytes of data exactly",
                  file->parts[part].path, (unsigned long long)data);
    return TERN_OK;
}

static tern_status parse_part(tern_model_file *file, int part)
{
    tern__reader r = {.file = &file->parts[part]};
    const char *path = r.file->path;
    uint64_t length = 0;
    size_t first = file->n_tensors;
    tern_status status = tern__reader_u64(&r, "the length of its header", &length);
    if (status == TERN_OK && (length < 2 || length > MOST_HEADER))
        status = tern__fail(TERN_FORMAT, "%s: its header has %llu bytes; from 2 to %d are possible", path,
                            (unsigned long long)length, MOST_HEADER);
    if (status == TERN_OK)
        status = tern__reader_take(&r, length, "its header");
    if (status == TERN_OK && r.bytes[8] != '{')
        status = tern__fail(TERN_FORMAT, "%s: its header does not begin with '{'", path);
    if (status == TERN_OK) {
        tern__json_walk w = {.path = path, .text = (const char *)r.bytes + 8, .length = (size_t)length};
        status = tern__json_members(&w, take_member, &(header){.file = file, .part = part, .start = r.at});
        if (status == TERN_OK)
            status = tern__json_end(&w);
    }
    if (status == TERN_OK)
        status = check_covered(file, part, first, r.at);
    tern__reader_free(&r);
    return status;
}

tern_status tern__safetensors_parse(tern_model_file *file)
{
    TERN_TRY(parse_part(file, 0));
    return tern__hf_config(file);
}

/* ---- several files ----------------------------------------------------------------------------------------------- */

/* Parts lie beside the index, also where both are links into one folder. */
static tern_status check_inside_folder(const char *index, const char *folder_path, const char *part)
{
    char real_part[PATH_MAX], real_index[PATH_MAX], real_folder[PATH_MAX];
    TERN__FAIL_IF(!realpath(part, real_part) || !realpath(index, real_index) ||
                      !realpath(folder_path, real_folder),
                  TERN_NOT_FOUND, "%s: the part '%s' is missing", index, part);
    *strrchr(real_part, '/') = 0;
    *strrchr(real_index, '/') = 0;
    TERN__FAIL_IF(strcmp(real_part, real_index) != 0 && strcmp(real_part, real_folder) != 0, TERN_FORMAT,
                  "%s: the part '%s' leads outside its folder", index, part);
    return TERN_OK;
}

/* The number of the part called `name`; opened the first time. */
static tern_status find_part(tern_model_file *file, const char *index, const char *name, int *out)
{
    size_t folder = (size_t)(tern__path_name(index) - index);
    char path[PATH_MAX], folder_path[PATH_MAX];
    TERN__FAIL_IF(!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0,
                  TERN_FORMAT, "%s: it names the part '%.60s', which is not a file beside it", index, name);
    TERN__FAIL_IF(folder + strlen(name) >= sizeof path, TERN_FORMAT, "%s: the name of a part is too long",
                  index);
    memcpy(path, index, folder);
    strcpy(path + folder, name);
    memcpy(folder_path, folder ? index : ".", folder ? folder : 1);
    folder_path[folder ? folder : 1] = 0;
    for (size_t i = 1; i < file->n_parts; i++) {
        if (strcmp(file->parts[i].path, path) == 0) {
            *out = (int)i;
            return TERN_OK;
        }
    }
    TERN__FAIL_IF(file->n_parts > MOST_PARTS, TERN_LIMIT, "%s: more than %d parts", index, MOST_PARTS);
    TERN_TRY(check_inside_folder(index, folder_path, path));
    TERN_TRY(tern__model_file_add_part(file, path));
    *out = (int)file->n_parts - 1;
    return parse_part(file, *out);
}

/* The index is read twice: parts are opened, then each tensor must be in the part that it names. */
typedef struct index_reading {
    tern_model_file *file;
    const char *path;  /* of the index: parts are added while it is read, and may move */
    tern__names names; /* of tensors, the second time */
    bool *seen;        /* of tensors, the second time: which have had their entry; else NULL */
    size_t entries;
    bool mapped, described; /* the weight_map, and the metadata, were there */
} index_reading;

static tern_status take_entry(void *user, const json_t *tensor, const json_t *part_name)
{
    index_reading *r = user;
    const char *name = json_string_value(tensor), *in = json_string_value(part_name);
    int part;
    TERN__FAIL_IF(!in, TERN_FORMAT, "%s: the part of '%.60s' is not a string", r->path, name);
    r->entries++;
    TERN_TRY(find_part(r->file, r->path, in, &part));
    if (!r->seen)
        return TERN_OK;
    const uint32_t i = tern__names_find(&r->names, name, strlen(name));
    TERN__FAIL_IF(i == TERN__NO_NUMBER || r->file->tensors[i].part != part, TERN_FORMAT,
                  "%s: tensor '%.60s' is not in '%.60s', where it says that it is", r->path, name, in);
    TERN__FAIL_IF(r->seen[i], TERN_FORMAT, "%s: JSON: '%.60s' occurs twice", r->path, name);
    r->seen[i] = true;
    return TERN_OK;
}

static tern_status note(const index_reading *r, const char *name, bool *there)
{
    TERN__FAIL_IF(*there, TERN_FORMAT, "%s: JSON: '%s' occurs twice", r->path, name);
    *there = true;
    return TERN_OK;
}

/* Of the others only that they are JSON is of interest, and of the metadata that they are there once. */
static tern_status take_map(void *user, tern__json_walk *w, const json_t *key)
{
    index_reading *r = user;
    json_t *value;
    if (strcmp(json_string_value(key), "weight_map") == 0) {
        TERN_TRY(note(r, "weight_map", &r->mapped));
        return tern__json_values(w, take_entry, user);
    }
    if (strcmp(json_string_value(key), "metadata") == 0)
        TERN_TRY(note(r, "metadata", &r->described));
    TERN_TRY(tern__json_value(w, &value));
    json_decref(value);
    return TERN_OK;
}

static tern_status read_index(index_reading *r, tern__json_walk w)
{
    r->mapped = r->described = false;
    TERN_TRY(tern__json_members(&w, take_map, r));
    TERN_TRY(tern__json_end(&w));
    TERN__FAIL_IF(r->entries == 0, TERN_FORMAT, "%s: JSON without a weight_map: not the index of a model",
                  w.path);
    return TERN_OK;
}

/* Which is wrong, the index or a part, cannot be told; that they are not of one model can. */
static tern_status check_all_named(const index_reading *r)
{
    for (size_t i = 0; i < r->file->n_tensors; i++)
        TERN__FAIL_IF(!r->seen[i], TERN_FORMAT,
                      "%s: tensor '%.60s' of '%s' is not in its weight_map: it is the index of another model",
                      r->path, r->file->tensors[i].stored_name,
                      tern__path_name(r->file->parts[r->file->tensors[i].part].path));
    return TERN_OK;
}

/* Nothing is said twice in a valid index, so that it has no more entries than there are tensors; and nothing is left out. */
static tern_status read_index_twice(tern_model_file *file, const tern__json_walk *start)
{
    index_reading r = {.file = file, .path = start->path};
    TERN_TRY(read_index(&r, *start));
    TERN__FAIL_IF(r.entries > file->n_tensors, TERN_FORMAT,
                  "%s: it names %zu tensors, but its parts have %zu", r.path, r.entries, file->n_tensors);
    tern_status status = TERN_OK;
    for (size_t i = 0; i < file->n_tensors && status == TERN_OK; i++)
        status = tern__model_file_index(&r.names, r.path, "tensors", file->tensors[i].stored_name);
    if (status == TERN_OK) {
        r.seen = tern__alloc_zero(file->n_tensors, sizeof *r.seen);
        status = r.seen ? read_index(&r, *start) : tern__out_of_memory(file->n_tensors);
    }
    if (status == TERN_OK)
        status = check_all_named(&r);
    tern__free(r.seen);
    tern__names_free(&r.names);
    return status;
}

tern_status tern__safetensors_parse_index(tern_model_file *file)
{
    const tern__file *index = &file->parts[0];
    const char *path = index->path;
    TERN__FAIL_IF(tern_model_file_in_memory(file), TERN_UNSUPPORTED,
                  "%s: JSON in memory: if it is an index, the files that it names are not beside it", path);
    TERN__FAIL_IF(index->bytes > MOST_INDEX, TERN_LIMIT, "%s: larger than %d bytes, which no index is", path,
                  MOST_INDEX);
    tern__reader r = {.file = index};
    tern_status status = tern__reader_take(&r, index->bytes, "the index");
    tern__json_walk w = {.path = path, .text = (const char *)r.bytes, .length = (size_t)index->bytes};
    if (status == TERN_OK)
        status = read_index_twice(file, &w);
    tern__reader_free(&r);
    return status == TERN_OK ? tern__hf_config(file) : status;
}

#else

static tern_status no_json(const tern_model_file *file)
{
    return tern__fail(TERN_UNSUPPORTED, "%s: this build of tern has no libjansson, which safetensors need",
                      file->parts[0].path);
}

tern_status tern__safetensors_parse(tern_model_file *file)
{
    return no_json(file);
}

tern_status tern__safetensors_parse_index(tern_model_file *file)
{
    return no_json(file);
}

#endif

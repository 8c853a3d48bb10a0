/* model_file.c - opening and closing model files, and what holds for all formats: names are unique, tensors lie inside
 * their part and apart from each other. */
#include "model/file/model_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/file/hf.h"
#include "model/file/stored.h"

/* ---- for parsers ----------------------------------------------------------------------------------------------- */

/* Room for one more part, and its name for as long as the file is open. */
static tern_status reserve_part(tern_model_file *file, const char *name, const char **copy)
{
    size_t length = strlen(name);
    *copy = tern__arena_strndup(&file->arena, name, length);
    if (!*copy ||
        !tern__grow((void **)&file->parts, &file->parts_capacity, file->n_parts + 1, sizeof *file->parts))
        return tern__out_of_memory(length + 1 + sizeof *file->parts);
    return TERN_OK;
}

tern_status tern__model_file_add_part(tern_model_file *file, const char *path)
{
    const char *copy;
    TERN_TRY(reserve_part(file, path, &copy));
    TERN_TRY(tern__file_open(copy, &file->parts[file->n_parts]));
    file->n_parts++;
    return TERN_OK;
}

tern_status tern__model_file_name(tern_model_file *file, const char *what, const void *text, uint64_t length,
                                  const char **out)
{
    const char *path = file->parts[0].path;
    TERN__FAIL_IF(length == 0, TERN_FORMAT, "%s: the name of %s is empty", path, what);
    TERN__FAIL_IF(length > TERN__MOST_NAME, TERN_LIMIT, "%s: the name of %s has %llu bytes, more than %d",
                  path, what, (unsigned long long)length, TERN__MOST_NAME);
    for (uint64_t i = 0; i < length; i++)
        TERN__FAIL_IF(((const uint8_t *)text)[i] < ' ' || ((const uint8_t *)text)[i] == 127, TERN_FORMAT,
                      "%s: the name of %s holds a control character", path, what);
    const char *copy = tern__arena_strndup(&file->arena, text, (size_t)length);
    if (!copy)
        return tern__out_of_memory((size_t)length + 1);
    *out = copy;
    return TERN_OK;
}

static bool is_frequencies(const char *name)
{
    static const char end[] = ".rotary_emb.inv_freq";
    const size_t length = strlen(name), n = strlen(end);
    return length > n && strcmp(name + length - n, end) == 0;
}

tern_status tern__model_file_add_tensor(tern_model_file *file, const tern_file_tensor *tensor)
{
    TERN__FAIL_IF(file->n_tensors == TERN__MOST_TENSORS, TERN_LIMIT, "%s: more than %d tensors",
                  file->parts[0].path, TERN__MOST_TENSORS);
    const size_t n = file->n_tensors + 1;
    if (!tern__grow((void **)&file->tensors, &file->tensors_capacity, n, sizeof *tensor) ||
        !tern__grow((void **)&file->left_over, &file->left_over_capacity, n, sizeof *file->left_over))
        return tern__out_of_memory(sizeof *tensor);
    file->left_over[file->n_tensors] = is_frequencies(tensor->name);
    file->tensors[file->n_tensors++] = *tensor;
    return TERN_OK;
}

tern_status tern__model_file_add_meta(tern_model_file *file, const tern__meta *meta)
{
    TERN__FAIL_IF(file->n_metas == TERN__MOST_METAS, TERN_LIMIT, "%s: more than %d entries of metadata",
                  file->parts[0].path, TERN__MOST_METAS);
    if (!tern__grow((void **)&file->metas, &file->metas_capacity, file->n_metas + 1, sizeof *meta))
        return tern__out_of_memory(sizeof *meta);
    file->metas[file->n_metas++] = *meta;
    return TERN_OK;
}

/* ---- what holds for all formats -------------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const tern_file_tensor *a = *(const tern_file_tensor *const *)left,
                           *b = *(const tern_file_tensor *const *)right;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static tern_status check_inside(const tern_model_file *file, const tern_file_tensor *t)
{
    const tern__file *part = &file->parts[t->part];
    TERN__FAIL_IF(!tern__range_fits(t->offset, t->bytes, part->bytes), TERN_FORMAT,
                  "%s: tensor '%s' takes %llu bytes from byte %llu on, but the file ends at byte %llu: it is "
                  "cut short or "
                  "damaged",
                  part->path, t->stored_name, (unsigned long long)t->bytes, (unsigned long long)t->offset,
                  (unsigned long long)part->bytes);
    return TERN_OK;
}

static tern_status check_places(const tern_model_file *file)
{
    if (file->n_tensors == 0)
        return TERN_OK;
    const tern_file_tensor **sorted = tern__alloc_zero(file->n_tensors, sizeof(tern_file_tensor *));
    if (!sorted)
        return tern__out_of_memory(file->n_tensors * sizeof(tern_file_tensor *));
    tern_status status = TERN_OK;
    for (size_t i = 0; i < file->n_tensors && status == TERN_OK; i++) {
        sorted[i] = &file->tensors[i];
        status = check_inside(file, sorted[i]);
    }
    if (status == TERN_OK)
        qsort(sorted, file->n_tensors, sizeof(tern_file_tensor *), by_place);
    const tern_file_tensor *last = sorted[0];
    for (size_t i = 1; i < file->n_tensors && status == TERN_OK; i++) {
        if (sorted[i]->part == last->part && sorted[i]->bytes &&
            sorted[i]->offset < last->offset + last->bytes)
            status = tern__fail(TERN_FORMAT, "%s: tensors '%s' and '%s' overlap",
                                file->parts[last->part].path, last->stored_name, sorted[i]->stored_name);
        if (sorted[i]->bytes || sorted[i]->part != last->part)
            last = sorted[i];
    }
    tern__free(sorted);
    return status;
}

tern_status tern__model_file_index(tern__names *names, const char *path, const char *what, const char *name)
{
    uint32_t before;
    TERN_TRY(tern__names_add(names, name, strlen(name), (uint32_t)names->count, &before));
    TERN__FAIL_IF(before != TERN__NO_NUMBER, TERN_FORMAT, "%s: there are two %s called '%s'", path, what,
                  name);
    return TERN_OK;
}

static tern_status build_indices(tern_model_file *file)
{
    const char *path = file->parts[0].path;
    for (size_t i = 0; i < file->n_metas; i++)
        TERN_TRY(
            tern__model_file_index(&file->meta_names, path, "entries of metadata", file->metas[i].info.key));
    for (size_t i = 0; i < file->n_tensors; i++)
        TERN_TRY(tern__model_file_index(&file->stored_names, path, "tensors", file->tensors[i].stored_name));
    for (size_t i = 0; i < file->n_tensors; i++)
        TERN_TRY(tern__model_file_index(&file->tensor_names, path, "tensors", file->tensors[i].name));
    return TERN_OK;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static const char whole_name[] = "model.safetensors", index_name[] = "model.safetensors.index.json";

/* Is there a file of that name in the folder? `out` is its path. */
static tern_status look_in_folder(const char *path, const char *name, char out[PATH_MAX], bool *there)
{
    TERN__FAIL_IF(snprintf(out, PATH_MAX, "%s/%s", path, name) >= PATH_MAX, TERN_NOT_FOUND,
                  "%.60s...: the name is too long", path);
    *there = access(out, F_OK) == 0;
    return TERN_OK;
}

/* A folder stands for the model in it. */
static tern_status name_in_folder(const char *path, char out[PATH_MAX])
{
    bool there = false;
    TERN_TRY(look_in_folder(path, index_name, out, &there));
    if (!there)
        TERN_TRY(look_in_folder(path, whole_name, out, &there));
    return there ? TERN_OK
                 : tern__fail(TERN_NOT_FOUND, "%s: a folder without model.safetensors or its index", path);
}

/* A model in one file beside the index of one in several: two conversions into one folder leave that, and other programs take the file. */
static tern_status check_one_model(const tern_model_file *file, const char *folder)
{
    char whole[PATH_MAX];
    bool there = false;
    TERN_TRY(look_in_folder(folder, whole_name, whole, &there));
    for (size_t i = 0; i < file->n_parts && there; i++)
        there = strcmp(tern__path_name(file->parts[i].path), whole_name) != 0;
    TERN__FAIL_IF(there, TERN_FORMAT,
                  "%s: a folder with two models: %s, and %s, which names other files: name the one that is "
                  "meant instead of the folder",
                  folder, whole_name, index_name);
    return TERN_OK;
}

enum { START = 9 }; /* bytes of a file, zeros behind its end, by which it is told */

static bool starts_gguf(const uint8_t start[static START], const char *path)
{
    (void)path;
    return memcmp(start, "GGUF", 4) == 0;
}

static bool starts_safetensors(const uint8_t start[static START], const char *path)
{
    const char *dot = strrchr(path, '.');
    /* llama2.c has its second number where safetensors have the upper half of a length */
    bool short_header = tern__load_le(start + 4, 4) == 0;
    return (start[8] == '{' && short_header) || (dot && strcmp(dot, ".safetensors") == 0);
}

static bool starts_index(const uint8_t start[static START], const char *path)
{
    (void)path;
    return start[0] == '{';
}

/* It has no mark: what is nothing else may be it, and its parser looks closer. */
static bool starts_llama2c(const uint8_t start[static START], const char *path)
{
    (void)start, (void)path;
    return true;
}

/* The first that knows a file parses it. */
static const struct container {
    tern_file_format format;
    const char *name;
    bool (*starts)(const uint8_t start[static START], const char *path);
    tern_status (*parse)(tern_model_file *file);
    tern_status (*finish)(tern_model_file *file); /* NULL, or once names can be looked up */
} containers[] = {
    {TERN_FILE_GGUF, "GGUF", starts_gguf, tern__gguf_parse, NULL},
    {TERN_FILE_SAFETENSORS, "safetensors", starts_safetensors, tern__safetensors_parse, tern__hf_find_packed},
    {TERN_FILE_SAFETENSORS, "safetensors", starts_index, tern__safetensors_parse_index, tern__hf_find_packed},
    {TERN_FILE_LLAMA2C, "llama2.c", starts_llama2c, tern__llama2c_parse, NULL},
};

static tern_status find_container(const tern_model_file *file, const struct container **out)
{
    const tern__file *part = &file->parts[0];
    const struct container *c = containers;
    uint8_t start[START] = {0};
    size_t have = part->bytes < sizeof start ? (size_t)part->bytes : sizeof start;
    TERN__FAIL_IF(have == 0, TERN_FORMAT, "%s: the file is empty", part->path);
    TERN_TRY(tern__file_read(part, 0, start, have));
    while (!c->starts(start, part->path))
        c++;
    *out = c;
    return TERN_OK;
}

/* Where the bytes come from: a path, or memory if that is not NULL. */
typedef struct source {
    const char *path;
    const void *memory; /* (bytes) */
    size_t bytes;
} source;

static bool is_folder(const source *from)
{
    struct stat info;
    return !from->memory && stat(from->path, &info) == 0 && S_ISDIR(info.st_mode);
}

static tern_status open_first_part(tern_model_file *file, const source *from)
{
    char inside[PATH_MAX];
    const char *path = from->path;
    if (from->memory) {
        TERN_TRY(reserve_part(file, path, &path));
        file->parts[file->n_parts++] = tern__file_of_memory(from->memory, from->bytes, path);
        return TERN_OK;
    }
    if (is_folder(from)) {
        TERN_TRY(name_in_folder(path, inside));
        path = inside;
    }
    return tern__model_file_add_part(file, path);
}

static tern_status parse(tern_model_file *file, const source *from)
{
    const struct container *c = NULL;
    TERN_TRY(open_first_part(file, from));
    TERN_TRY(find_container(file, &c));
    file->format = c->format;
    TERN_TRY(c->parse(file));
    if (is_folder(from))
        TERN_TRY(check_one_model(file, from->path));
    TERN_TRY(check_places(file));
    TERN_TRY(build_indices(file));
    return c->finish ? c->finish(file) : TERN_OK;
}

tern_model_file_options tern_model_file_options_default(void)
{
    return (tern_model_file_options){0};
}

static tern_status open_source(const source *from, const tern_model_file_options *options,
                               tern_model_file **out)
{
    tern_model_file *file = tern__alloc_zero(1, sizeof *file);
    if (!file)
        return tern__out_of_memory(sizeof *file);
    if (pthread_mutex_init(&file->lock, NULL) != 0) {
        tern__free(file);
        return tern__out_of_memory(sizeof *file);
    }
    atomic_init(&file->refs, 1);
    file->options = options ? *options : tern_model_file_options_default();
    tern__arena_init(&file->arena, 0);
    tern_status status = parse(file, from);
    if (status != TERN_OK) {
        tern_model_file_close(file);
        return status;
    }
    *out = file;
    return TERN_OK;
}

tern_status tern_model_file_open(const char *path, const tern_model_file_options *options,
                                 tern_model_file **out)
{
    TERN__FAIL_IF(!path || !out, TERN_INVALID_ARGUMENT, "model_file_open: an argument is NULL");
    return open_source(&(source){.path = path}, options, out);
}

tern_status tern_model_file_open_memory(const void *data, size_t bytes, const char *name,
                                        const tern_model_file_options *options, tern_model_file **out)
{
    TERN__FAIL_IF(!data || !out, TERN_INVALID_ARGUMENT, "model_file_open_memory: an argument is NULL");
    return open_source(&(source){.path = name ? name : "memory", .memory = data, .bytes = bytes}, options,
                       out);
}

void tern_model_file_close(tern_model_file *file)
{
    if (!file || atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; file->mappings && i < file->n_parts; i++)
        tern__mapping_end(&file->mappings[i]);
    tern__free(file->mappings);
    pthread_mutex_destroy(&file->lock);
    for (size_t i = 0; i < file->n_parts; i++)
        tern__file_close(&file->parts[i]);
    tern__names_free(&file->meta_names);
    tern__names_free(&file->tensor_names);
    tern__names_free(&file->stored_names);
    tern__reader_free(&file->header);
    tern__free(file->parts);
    tern__free(file->metas);
    tern__free(file->tensors);
    tern__free(file->left_over);
    tern__arena_free(&file->arena);
    tern__free(file);
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

tern_file_format tern_model_file_format(const tern_model_file *file)
{
    return file ? file->format : TERN_FILE_FORMAT_COUNT;
}

const char *tern_file_format_name(tern_file_format format)
{
    for (size_t i = 0; i < TERN__COUNT(containers); i++) {
        if (containers[i].format == format)
            return containers[i].name;
    }
    return "unknown";
}

int tern_model_file_version(const tern_model_file *file)
{
    return file ? file->version : 0;
}

uint64_t tern_model_file_bytes(const tern_model_file *file)
{
    uint64_t bytes = 0;
    for (size_t i = 0; file && i < file->n_parts; i++)
        bytes += file->parts[i].bytes;
    return bytes;
}

int tern_model_file_parts(const tern_model_file *file)
{
    return file ? (int)file->n_parts : 0;
}

bool tern_model_file_in_memory(const tern_model_file *file)
{
    return file && file->n_parts > 0 && file->parts[0].memory;
}

const char *tern_model_file_part(const tern_model_file *file, int part)
{
    return part >= 0 && part < tern_model_file_parts(file) ? file->parts[part].path : NULL;
}

int tern_model_file_count(const tern_model_file *file)
{
    return file ? (int)file->n_tensors : 0;
}

tern_status tern_model_file_tensor(const tern_model_file *file, int i, tern_file_tensor *out)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT, "model_file_tensor: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= file->n_tensors, TERN_OUT_OF_RANGE, "%s: tensor %d: there are %zu",
                  file->parts[0].path, i, file->n_tensors);
    *out = file->tensors[i];
    return TERN_OK;
}

tern_status tern_model_file_find(const tern_model_file *file, const char *name, int *out)
{
    TERN__FAIL_IF(!file || !name || !out, TERN_INVALID_ARGUMENT, "model_file_find: an argument is NULL");
    const size_t length = strlen(name);
    uint32_t found = tern__names_find(&file->tensor_names, name, length);
    if (found == TERN__NO_NUMBER)
        found = tern__names_find(&file->stored_names, name, length);
    TERN__FAIL_IF(found == TERN__NO_NUMBER, TERN_NOT_FOUND, "%s: there is no tensor '%s'",
                  file->parts[0].path, name);
    *out = (int)found;
    return TERN_OK;
}

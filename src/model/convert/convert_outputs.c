/* convert_outputs.c - the files of a conversion: one, or parts of a limited size. All of them appear, or none does. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/convert/convert.h"
#include "model/file/stored.h"

/* What can be written, by the ending of its name; the first one is what other names mean. */
static const struct destination {
    tern_file_format format;
    const char *ending;
    tern_status (*create)(const char *path, tern__model_work *work, tern__model_writer *w);
    const tern__model_format *what; /* what it is like */
} destinations[] = {
    {TERN_FILE_GGUF, ".gguf", tern__gguf_create, &tern__gguf_format},
    {TERN_FILE_SAFETENSORS, ".safetensors", tern__safetensors_create, &tern__safetensors_format},
    {TERN_FILE_LLAMA2C, ".bin", tern__llama2c_create, &tern__llama2c_format},
};

const char *tern_convert_ending(int i)
{
    return i >= 0 && (size_t)i < TERN__COUNT(destinations) ? destinations[i].ending : NULL;
}

tern_file_format tern__format_of_name(const char *path)
{
    const size_t length = strlen(path);
    for (size_t i = 0; i < TERN__COUNT(destinations); i++) {
        const size_t end = strlen(destinations[i].ending);
        if (length > end && strcmp(path + length - end, destinations[i].ending) == 0)
            return destinations[i].format;
    }
    return destinations[0].format;
}

static const struct destination *destination_of(tern_file_format format)
{
    const struct destination *d = destinations;
    while (d->format != format)
        d++;
    return d;
}

const tern__model_format *tern__format_get(tern_file_format format)
{
    return destination_of(format)->what;
}

/* Bytes of a tensor, and of its scale, where they go. */
static tern_status size_of(const tern_model_file *file, const tern__conversion *c, uint64_t *out)
{
    const tern_file_tensor *t = &file->tensors[c->source];
    int64_t elements;
    TERN_TRY(tern__stored_size(t->name, c->to, t->rank, t->shape, &elements, out));
    *out += c->own_scale ? sizeof c->scale : 0;
    return TERN_OK;
}

/* Sets first and end of the files, if `files` is there, and counts them. */
static tern_status divide(const tern_model_file *file, const tern__conversion *plan, size_t n, uint64_t most,
                          tern__output *files, size_t *count)
{
    uint64_t bytes = 0, here;
    *count = 1;
    for (size_t i = 0; i < n; i++) {
        TERN_TRY(size_of(file, &plan[i], &here));
        if (most && bytes && bytes + here > most) {
            ++*count;
            bytes = 0;
        }
        bytes += here;
        if (files && (i == 0 || files[*count - 1].end == 0))
            files[*count - 1].first = i;
        if (files)
            files[*count - 1].end = i + 1;
    }
    return TERN_OK;
}

static char *path_of(const tern__destination *to, size_t i, size_t n)
{
    const char *ending = destination_of(to->format)->ending;
    tern__strbuf s = TERN__STRBUF_EMPTY;
    char *out = NULL;
    if (n == 1)
        tern__strbuf_add(&s, to->path);
    else
        tern__strbuf_addf(&s, "%.*s-%05zu-of-%05zu%s", (int)(strlen(to->path) - strlen(ending)), to->path,
                          i + 1, n, ending);
    return tern__strbuf_take(&s, &out) == TERN_OK ? out : NULL;
}

static tern_status open_file(const tern_model_file *file, const tern__destination *to, tern__model_work *work,
                             tern__output *out)
{
    for (size_t i = 0; i < file->n_parts; i++)
        TERN__FAIL_IF(
            !file->parts[i].memory && tern__file_same(file->parts[i].path, out->path), TERN_INVALID_ARGUMENT,
            "%s: this is the model that is to be converted: give the new one another name", out->path);
    tern_status status = destination_of(to->format)->create(out->path, work, &out->w);
    out->w.llama2c = to->llama2c;
    return status;
}

tern_status tern__outputs_open(const tern_model_file *file, const tern__conversion *plan, size_t n,
                               const tern__destination *to, tern__model_work *work, tern__outputs *out)
{
    TERN__FAIL_IF(to->most_bytes && to->format != TERN_FILE_SAFETENSORS, TERN_INVALID_ARGUMENT,
                  "%s: only safetensors can be written in several files", to->path);
    TERN_TRY(divide(file, plan, n, to->most_bytes, NULL, &out->n));
    out->files = tern__alloc_zero(out->n, sizeof *out->files);
    if (!out->files)
        return tern__out_of_memory(out->n * sizeof *out->files);
    for (size_t i = 0; i < out->n; i++)
        out->files[i].w.out.fd = -1; /* none is open yet */
    size_t again;
    TERN_TRY(divide(file, plan, n, to->most_bytes, out->files, &again));
    for (size_t i = 0; i < out->n; i++) {
        out->files[i].path = path_of(to, i, out->n);
        if (!out->files[i].path)
            return tern__out_of_memory(strlen(to->path));
        TERN_TRY(open_file(file, to, work, &out->files[i]));
        /* several take their places one after the other: what one replaced could not come back if the next failed */
        struct stat info;
        TERN__FAIL_IF(out->n > 1 && lstat(out->files[i].path, &info) == 0, TERN_STATE,
                      "%s is there already: remove it, or choose another name", out->files[i].path);
    }
    return TERN_OK;
}

tern_status tern__outputs_commit(tern__outputs *all)
{
    for (size_t i = 0; i < all->n; i++) {
        all->files[i].bytes = all->files[i].w.out.bytes;
        TERN_TRY(tern__model_writer_commit(&all->files[i].w));
        all->files[i].there = true;
    }
    return TERN_OK;
}

void tern__outputs_free(tern__outputs *all, bool keep)
{
    for (size_t i = 0; all->files && i < all->n; i++) {
        tern__model_writer_abort(&all->files[i].w);
        if (all->files[i].there && !keep)
            unlink(all->files[i].path);
        tern__free(all->files[i].path);
    }
    tern__free(all->files);
}

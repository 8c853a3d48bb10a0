/* convert_outputs.c - the files of a conversion: one, or parts of a limited size. All of them appear, or none does. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/file/convert.h"
#include "model/file/stored.h"

static const char ending[] = ".safetensors";

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

static char *path_of(const char *path, size_t i, size_t n)
{
    tern__strbuf s = TERN__STRBUF_EMPTY;
    char *out = NULL;
    if (n == 1)
        tern__strbuf_add(&s, path);
    else
        tern__strbuf_addf(&s, "%.*s-%05zu-of-%05zu%s", (int)(strlen(path) - strlen(ending)), path, i + 1, n,
                          ending);
    return tern__strbuf_take(&s, &out) == TERN_OK ? out : NULL;
}

static tern_status open_file(const tern_model_file *file, const tern__destination *to, tern__model_work *work,
                             tern__output *out)
{
    for (size_t i = 0; i < file->n_parts; i++)
        TERN__FAIL_IF(tern__file_same(file->parts[i].path, out->path), TERN_INVALID_ARGUMENT,
                      "%s: this is the model that is to be converted: give the new one another name",
                      out->path);
    switch (to->format) {
    case TERN_FILE_SAFETENSORS:
        return tern__safetensors_create(out->path, work, &out->w);
    case TERN_FILE_LLAMA2C:
        return tern__llama2c_create(out->path, work, to->llama2c, &out->w);
    default:
        return tern__gguf_create(out->path, work, &out->w);
    }
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
        out->files[i].path = path_of(to->path, i, out->n);
        if (!out->files[i].path)
            return tern__out_of_memory(strlen(to->path));
        TERN_TRY(open_file(file, to, work, &out->files[i]));
    }
    return TERN_OK;
}

tern_status tern__outputs_commit(tern__outputs *all)
{
    for (size_t i = 0; i < all->n; i++) {
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

/* share.c - an open file that several use: constants that hold it, and pages that are mapped. */
#include "base/alloc.h"
#include "base/status.h"
#include "model/file/model_file.h"

void tern__model_file_retain(tern_model_file *file)
{
    atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
}

/* ---- mapped pages ---- */

/* NULL: it cannot be mapped. Under the lock. */
static const char *map_part(tern_model_file *file, int part)
{
    if (!file->mappings)
        file->mappings = tern__alloc_zero(file->n_parts, sizeof *file->mappings);
    tern__mapping *mapping = file->mappings ? &file->mappings[part] : NULL;
    if (!mapping)
        return NULL;
    if (!mapping->data && tern__mapping_begin(&file->parts[part], file->options.guard, mapping) != TERN_OK)
        return NULL;
    return mapping->data;
}

const void *tern__model_file_mapped(tern_model_file *file, int i)
{
    const tern_file_tensor *t = &file->tensors[i];
    if (file->options.no_map)
        return NULL;
    pthread_mutex_lock(&file->lock);
    const char *data = map_part(file, t->part);
    pthread_mutex_unlock(&file->lock);
    return data ? data + t->offset : NULL;
}

tern_status tern__model_file_check_mapped(tern_model_file *file)
{
    const char *shorter = NULL;
    /* Behind the end of a file its last page reads as zeros, and nobody is told: its size tells of those. */
    pthread_mutex_lock(&file->lock);
    for (size_t i = 0; file->mappings && i < file->n_parts && !shorter; i++)
        if (file->mappings[i].data &&
            (tern__mapping_is_damaged(&file->mappings[i]) || tern__file_shrank(&file->parts[i])))
            shorter = file->parts[i].path;
    pthread_mutex_unlock(&file->lock);
    TERN__FAIL_IF(shorter, TERN_IO, "%s: the file was cut short while it was in use", shorter);
    return TERN_OK;
}

/* share.c - an open file that several use: constants that hold it, threads that read together, pages that are mapped. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/file/model_file.h"

typedef struct sharing {
    tern__file_work work;
    void *user;
    _Atomic(int) failed;
    tern_status status; /* of the first that failed, and what it said */
    char message[TERN__MESSAGE_MAX];
} sharing;

void tern__model_file_retain(tern_model_file *file)
{
    atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
}

/* ---- mapped pages ---- */

const void *tern__model_file_mapped(tern_model_file *file, int i)
{
    const tern_file_tensor *t = &file->tensors[i];
    if (file->options.no_map)
        return NULL;
    if (!file->mappings)
        file->mappings = tern__alloc_zero(file->n_parts, sizeof *file->mappings);
    tern__mapping *mapping = file->mappings ? &file->mappings[t->part] : NULL;
    if (!mapping)
        return NULL;
    if (!mapping->data && tern__mapping_begin(&file->parts[t->part], file->options.guard, mapping) != TERN_OK)
        return NULL;
    return mapping->data + t->offset;
}

tern_status tern__model_file_check_mapped(const tern_model_file *file)
{
    /* Behind the end of a file its last page reads as zeros, and nobody is told: its size tells of those. */
    for (size_t i = 0; file->mappings && i < file->n_parts; i++)
        TERN__FAIL_IF(file->mappings[i].data && (tern__mapping_is_damaged(&file->mappings[i]) ||
                                                 tern__file_shrank(&file->parts[i])),
                      TERN_IO, "%s: the file was cut short while it was in use", file->parts[i].path);
    return TERN_OK;
}

/* ---- workers ---- */

tern_status tern__model_file_watch(tern_model_file *file, int workers, tern_model_progress progress,
                                   void *user)
{
    file->progress = progress;
    file->progress_user = user;
    file->done = file->total = 0; /* of this model: another may have been loaded from the file before */
    return workers > 1 && !file->workers ? tern__threads_create(workers, &file->workers) : TERN_OK;
}

static void run_part(void *arg, int part, int parts)
{
    sharing *s = arg;
    tern_status status = s->work(s->user, part, parts);
    int expected = 0;
    if (status == TERN_OK || !atomic_compare_exchange_strong(&s->failed, &expected, 1))
        return;
    s->status = status; /* messages belong to threads: this one is carried over */
    snprintf(s->message, sizeof s->message, "%s", tern_last_error());
}

tern_status tern__model_file_share(tern_model_file *file, tern__file_work work, void *user, uint64_t bytes)
{
    sharing s = {.work = work, .user = user};
    atomic_init(&s.failed, 0);
    pthread_mutex_lock(&file->lock);
    if (file->workers)
        tern__threads_run(file->workers, tern__threads_count(file->workers), run_part, &s);
    else
        run_part(&s, 0, 1);
    file->done += bytes;
    bool stop = file->progress && file->done <= file->total && bytes > 0 &&
                !file->progress(file->progress_user, file->done, file->total);
    pthread_mutex_unlock(&file->lock);
    if (atomic_load(&s.failed))
        return tern__fail(s.status, "%s", s.message);
    TERN__FAIL_IF(stop, TERN_CANCELLED, "model: loading was stopped");
    return TERN_OK;
}

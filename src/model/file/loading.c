/* loading.c - the reading of one model's weights: who reads them together, and who is told. It belongs to the model, not to its
 * file, which others may load from as well. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/threads.h"
#include "model/file/load.h"

/* Of one part of what is read: kept from tensor to tensor until all are read. */
typedef struct scratch {
    void *block;
    size_t bytes;
} scratch;

struct tern__loading {
    _Atomic int refs;
    tern_model_file *file;  /* held */
    tern__threads *workers; /* who read together; NULL: whoever asks does it alone */
    pthread_mutex_t lock;   /* of the workers, and of what follows */
    tern_model_progress progress;
    void *user;
    uint64_t done, total; /* bytes in the file of weights that are read later */
    scratch *scratches;   /* (parts) each for the thread that has the part */
};

typedef struct sharing {
    tern__file_work work;
    void *user;
    _Atomic(int) failed;
    tern_status status; /* of the first that failed, and what it said */
    char message[TERN__MESSAGE_MAX];
} sharing;

static int parts_of(const tern__loading *loading)
{
    return loading->workers ? tern__threads_count(loading->workers) : 1;
}

static void free_scratches(tern__loading *loading)
{
    for (int i = 0; loading->scratches && i < parts_of(loading); i++) {
        tern__free(loading->scratches[i].block);
        loading->scratches[i] = (scratch){0};
    }
}

tern_status tern__loading_scratch(tern__loading *loading, int part, size_t bytes, void **out)
{
    scratch *s = &loading->scratches[part];
    if (s->bytes < bytes) {
        tern__free(s->block);
        *s = (scratch){.block = tern__alloc(bytes)};
        if (!s->block)
            return tern__out_of_memory(bytes);
        s->bytes = bytes;
    }
    *out = s->block;
    return TERN_OK;
}

tern_status tern__loading_create(tern_model_file *file, int workers, tern_model_progress progress, void *user,
                                 tern__loading **out)
{
    tern__loading *l = tern__alloc_zero(1, sizeof *l);
    if (!l)
        return tern__out_of_memory(sizeof *l);
    if (pthread_mutex_init(&l->lock, NULL) != 0) {
        tern__free(l);
        return tern__out_of_memory(sizeof *l);
    }
    atomic_init(&l->refs, 1);
    tern__model_file_retain(file);
    l->file = file;
    l->progress = progress;
    l->user = user;
    tern_status status = workers > 1 ? tern__threads_create(workers, &l->workers) : TERN_OK;
    if (status == TERN_OK) {
        l->scratches = tern__alloc_zero((size_t)parts_of(l), sizeof *l->scratches);
        status = l->scratches ? TERN_OK : tern__out_of_memory((size_t)parts_of(l) * sizeof *l->scratches);
    }
    if (status != TERN_OK) {
        tern__loading_release(l);
        return status;
    }
    *out = l;
    return TERN_OK;
}

tern_model_file *tern__loading_file(const tern__loading *loading)
{
    return loading->file;
}

tern__loading *tern__loading_retain(tern__loading *loading)
{
    atomic_fetch_add_explicit(&loading->refs, 1, memory_order_relaxed);
    return loading;
}

void tern__loading_release(tern__loading *loading)
{
    if (!loading || atomic_fetch_sub_explicit(&loading->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_scratches(loading);
    tern__free(loading->scratches);
    tern__threads_destroy(loading->workers);
    pthread_mutex_destroy(&loading->lock);
    tern_model_file_close(loading->file);
    tern__free(loading);
}

void tern__loading_mute(tern__loading *loading)
{
    if (!loading)
        return;
    pthread_mutex_lock(&loading->lock);
    loading->progress = NULL;
    pthread_mutex_unlock(&loading->lock);
}

void tern__loading_expect(tern__loading *loading, uint64_t bytes)
{
    pthread_mutex_lock(&loading->lock);
    loading->total += bytes;
    pthread_mutex_unlock(&loading->lock);
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

tern_status tern__loading_share(tern__loading *loading, tern__file_work work, void *user, uint64_t bytes)
{
    sharing s = {.work = work, .user = user};
    atomic_init(&s.failed, 0);
    pthread_mutex_lock(&loading->lock);
    tern__threads_run_as("read weights", loading->workers, parts_of(loading), run_part, &s);
    loading->done += bytes;
    if (loading->done >= loading->total)
        free_scratches(loading);
    bool stop = loading->progress && loading->done <= loading->total && bytes > 0 &&
                !loading->progress(loading->user, loading->done, loading->total);
    pthread_mutex_unlock(&loading->lock);
    if (atomic_load(&s.failed))
        return tern__fail(s.status, "%s", s.message);
    TERN__FAIL_IF(stop, TERN_CANCELLED, "model: loading was stopped");
    return TERN_OK;
}

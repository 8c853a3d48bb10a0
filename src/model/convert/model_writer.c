/* model_writer.c - what files of all formats have in common while they are written. */
#include "model/convert/model_writer.h"

#include "base/status.h"
#include "model/file/stored.h"

enum { MOST_ALIGNMENT = 32 };

static uint64_t padded(const tern__model_writer *w, uint64_t bytes)
{
    uint64_t to = w->format->alignment;
    return (bytes + to - 1) / to * to;
}

void tern__model_writer_abort(tern__model_writer *w)
{
    tern__writer_abort(&w->out);
    tern__strbuf_free(&w->metas);
    tern__strbuf_free(&w->tensors);
}

tern_status tern__model_writer_declare(tern__model_writer *w, const char *name, tern_stored stored, int rank,
                                       const int64_t *shape)
{
    int64_t elements;
    uint64_t bytes;
    TERN_TRY(tern__stored_size(name, stored, rank, shape, &elements, &bytes));
    TERN_TRY(w->format->declare(w, name, stored, rank, shape, bytes));
    w->declared += padded(w, bytes);
    w->n_tensors++;
    return TERN_OK;
}

tern_status tern__model_writer_begin(tern__model_writer *w)
{
    TERN_TRY(w->format->begin(w));
    w->start = w->out.bytes;
    w->work->total += w->declared;
    return TERN_OK;
}

tern_status tern__model_work_add(tern__model_work *work, const char *path, uint64_t bytes)
{
    work->done += bytes;
    TERN__FAIL_IF(work->progress && !work->progress(work->user, work->done, work->total), TERN_CANCELLED,
                  "%s: stopped; no file was written", path);
    return TERN_OK;
}

tern_status tern__model_writer_progress(tern__model_writer *w, uint64_t bytes)
{
    return tern__model_work_add(w->work, w->out.path, bytes);
}

tern_status tern__model_writer_write(tern__model_writer *w, const void *data, size_t bytes)
{
    TERN_TRY(tern__writer_write(&w->out, data, bytes));
    return tern__model_writer_progress(w, bytes);
}

tern_status tern__model_writer_pad(tern__model_writer *w)
{
    static const uint8_t zeros[MOST_ALIGNMENT];
    TERN_TRY(tern__writer_write(&w->out, zeros, (size_t)(padded(w, w->out.bytes) - w->out.bytes)));
    return w->format->behind ? w->format->behind(w) : TERN_OK;
}

tern_status tern__model_writer_scale(tern__model_writer *w, float scale)
{
    TERN_TRY(tern__model_writer_write(w, &scale, sizeof scale));
    return tern__model_writer_pad(w);
}

tern_status tern__model_writer_commit(tern__model_writer *w)
{
    TERN__FAIL_IF(w->out.bytes - w->start != w->declared, TERN_INTERNAL,
                  "%s: %llu bytes of tensors instead of %llu", w->out.path,
                  (unsigned long long)(w->out.bytes - w->start), (unsigned long long)w->declared);
    return tern__writer_commit(&w->out);
}

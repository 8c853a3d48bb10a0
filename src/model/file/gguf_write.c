/* gguf_write.c - writes GGUF. */
#include "model/file/gguf_write.h"

#include <string.h>

#include "base/status.h"
#include "model/file/stored.h"

enum { ALIGNMENT = 32, TYPE_ARRAY = 9, VERSION = 3 };

tern_status tern__gguf_create(const char *path, tern__gguf *w)
{
    *w = (tern__gguf){0};
    return tern__writer_open(path, &w->out);
}

void tern__gguf_abort(tern__gguf *w)
{
    tern__writer_abort(&w->out);
    tern__strbuf_free(&w->metas);
    tern__strbuf_free(&w->tensors);
}

static void add_u32(tern__strbuf *s, uint32_t value)
{
    tern__strbuf_add_n(s, (const char *)&value, sizeof value);
}

static void add_u64(tern__strbuf *s, uint64_t value)
{
    tern__strbuf_add_n(s, (const char *)&value, sizeof value);
}

static void add_text(tern__strbuf *s, const char *text, size_t length)
{
    add_u64(s, length);
    tern__strbuf_add_n(s, text, length);
}

/* ---- metadata ------------------------------------------------------------------------------------------------------ */

void tern__gguf_meta_begin(tern__gguf *w, const char *key, tern_meta_type type, int64_t count)
{
    add_text(&w->metas, key, strlen(key));
    if (count >= 0) {
        add_u32(&w->metas, TYPE_ARRAY);
        add_u32(&w->metas, (uint32_t)type);
        add_u64(&w->metas, (uint64_t)count);
    } else {
        add_u32(&w->metas, (uint32_t)type);
    }
    w->n_metas++;
}

void tern__gguf_element_string(tern__gguf *w, const char *text, size_t length)
{
    add_text(&w->metas, text, length);
}

void tern__gguf_meta_string(tern__gguf *w, const char *key, const char *text, size_t length)
{
    tern__gguf_meta_begin(w, key, TERN_META_STRING, -1);
    add_text(&w->metas, text, length);
}

void tern__gguf_meta_u32(tern__gguf *w, const char *key, uint32_t value)
{
    tern__gguf_meta_begin(w, key, TERN_META_U32, -1);
    add_u32(&w->metas, value);
}

void tern__gguf_meta_f32(tern__gguf *w, const char *key, float value)
{
    tern__gguf_meta_begin(w, key, TERN_META_F32, -1);
    tern__strbuf_add_n(&w->metas, (const char *)&value, sizeof value);
}

void tern__gguf_meta_bool(tern__gguf *w, const char *key, bool value)
{
    tern__gguf_meta_begin(w, key, TERN_META_BOOL, -1);
    tern__strbuf_add_n(&w->metas, (const char *)&(uint8_t){value}, 1);
}

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

static uint64_t padded(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

tern_status tern__gguf_declare(tern__gguf *w, const char *name, tern_stored stored, int rank,
                               const int64_t *shape)
{
    const tern_stored_info *info = tern_stored_get(stored);
    int64_t elements;
    uint64_t bytes;
    TERN__FAIL_IF(info->gguf_number < 0, TERN_DTYPE, "tensor '%s': GGUF has no %s", name, info->name);
    TERN__FAIL_IF(rank > 4, TERN_SHAPE, "tensor '%s' has %d axes; GGUF has at most 4", name, rank);
    TERN_TRY(tern__stored_size(name, stored, rank, shape, &elements, &bytes));
    add_text(&w->tensors, name, strlen(name));
    add_u32(&w->tensors, (uint32_t)rank);
    for (int i = rank - 1; i >= 0; i--)
        add_u64(&w->tensors, (uint64_t)shape[i]);
    add_u32(&w->tensors, (uint32_t)info->gguf_number);
    add_u64(&w->tensors, w->declared);
    w->declared += padded(bytes);
    w->n_tensors++;
    return TERN_OK;
}

tern_status tern__gguf_begin(tern__gguf *w)
{
    tern__strbuf head = TERN__STRBUF_EMPTY;
    tern__strbuf_add_n(&head, "GGUF", 4);
    add_u32(&head, VERSION);
    add_u64(&head, w->n_tensors);
    add_u64(&head, w->n_metas);
    bool failed = head.failed || w->metas.failed || w->tensors.failed;
    tern_status status = failed ? tern__out_of_memory(w->metas.length + w->tensors.length) : TERN_OK;
    const tern__strbuf *const pieces[] = {&head, &w->metas, &w->tensors};
    for (int i = 0; i < 3 && status == TERN_OK; i++) {
        if (pieces[i]->length)
            status = tern__writer_write(&w->out, pieces[i]->text, pieces[i]->length);
    }
    tern__strbuf_free(&head);
    TERN_TRY(status);
    TERN_TRY(tern__gguf_pad(w));
    w->start = w->out.bytes;
    w->total += w->declared;
    return TERN_OK;
}

tern_status tern__gguf_progress(tern__gguf *w, uint64_t bytes)
{
    w->done += bytes;
    TERN__FAIL_IF(w->progress && !w->progress(w->user, w->done, w->total), TERN_STATE,
                  "%s: stopped; no file was written", w->out.path);
    return TERN_OK;
}

tern_status tern__gguf_write(tern__gguf *w, const void *data, size_t bytes)
{
    TERN_TRY(tern__writer_write(&w->out, data, bytes));
    return tern__gguf_progress(w, bytes);
}

tern_status tern__gguf_pad(tern__gguf *w)
{
    static const uint8_t zeros[ALIGNMENT];
    return tern__writer_write(&w->out, zeros, (size_t)(padded(w->out.bytes) - w->out.bytes));
}

tern_status tern__gguf_commit(tern__gguf *w)
{
    TERN__FAIL_IF(w->out.bytes - w->start != w->declared, TERN_INTERNAL,
                  "%s: %llu bytes of tensors instead of %llu", w->out.path,
                  (unsigned long long)(w->out.bytes - w->start), (unsigned long long)w->declared);
    return tern__writer_commit(&w->out);
}

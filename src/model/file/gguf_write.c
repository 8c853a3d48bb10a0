/* gguf_write.c - writes GGUF. */
#include "model/file/model_writer.h"

#include <string.h>

#include "base/status.h"

enum { ALIGNMENT = 32, TYPE_ARRAY = 9, VERSION = 3 };

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

void tern__gguf_meta_begin(tern__model_writer *w, const char *key, tern_meta_type type, int64_t count)
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

void tern__gguf_element_string(tern__model_writer *w, const char *text, size_t length)
{
    add_text(&w->metas, text, length);
}

void tern__gguf_meta_string(tern__model_writer *w, const char *key, const char *text, size_t length)
{
    tern__gguf_meta_begin(w, key, TERN_META_STRING, -1);
    add_text(&w->metas, text, length);
}

void tern__gguf_meta_u32(tern__model_writer *w, const char *key, uint32_t value)
{
    tern__gguf_meta_begin(w, key, TERN_META_U32, -1);
    add_u32(&w->metas, value);
}

void tern__gguf_meta_f32(tern__model_writer *w, const char *key, float value)
{
    tern__gguf_meta_begin(w, key, TERN_META_F32, -1);
    tern__strbuf_add_n(&w->metas, (const char *)&value, sizeof value);
}

void tern__gguf_meta_bool(tern__model_writer *w, const char *key, bool value)
{
    tern__gguf_meta_begin(w, key, TERN_META_BOOL, -1);
    tern__strbuf_add_n(&w->metas, (const char *)&(uint8_t){value}, 1);
}

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

static tern_status declare(tern__model_writer *w, const char *name, tern_stored stored, int rank,
                           const int64_t *shape, uint64_t bytes)
{
    const tern_stored_info *info = tern_stored_get(stored);
    (void)bytes;
    TERN__FAIL_IF(info->gguf_number < 0, TERN_DTYPE, "tensor '%s': GGUF has no %s", name, info->name);
    TERN__FAIL_IF(rank > 4, TERN_SHAPE, "tensor '%s' has %d axes; GGUF has at most 4", name, rank);
    add_text(&w->tensors, name, strlen(name));
    add_u32(&w->tensors, (uint32_t)rank);
    for (int i = rank - 1; i >= 0; i--)
        add_u64(&w->tensors, (uint64_t)shape[i]);
    add_u32(&w->tensors, (uint32_t)info->gguf_number);
    add_u64(&w->tensors, w->declared);
    return TERN_OK;
}

static tern_status begin(tern__model_writer *w)
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
    return tern__model_writer_pad(w);
}

tern_status tern__gguf_create(const char *path, tern__model_work *work, tern__model_writer *w)
{
    static const tern__model_format format = {.alignment = ALIGNMENT, .declare = declare, .begin = begin};
    *w = (tern__model_writer){.format = &format, .work = work, .out.fd = -1};
    return tern__writer_open(path, &w->out);
}

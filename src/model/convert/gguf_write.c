/* gguf_write.c - writes GGUF. */
#include "model/convert/model_writer.h"

#include <string.h>

#include "base/status.h"

enum { ALIGNMENT = 32, TYPE_ARRAY = 9, VERSION = 3, HEAD_BYTES = 24, COUNTS_AT = 8, FLUSH_FROM = 1 << 20 };

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

static tern_status write_metas(tern__model_writer *w)
{
    if (w->metas.failed)
        return tern__out_of_memory(w->metas.length);
    const size_t length = w->metas.length;
    w->metas.length = 0;
    return length ? tern__writer_write(&w->out, w->metas.text, length) : TERN_OK;
}

void tern__gguf_flush(tern__model_writer *w)
{
    if (w->metas.length >= FLUSH_FROM && w->flushed == TERN_OK)
        w->flushed = write_metas(w);
}

void tern__gguf_meta_begin(tern__model_writer *w, const char *key, tern_meta_type type, int64_t count)
{
    tern__gguf_flush(w);
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
    tern__gguf_flush(w);
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

/* Head and most of the metadata are in the file by now; only the numbers of entries are known late. */
static tern_status begin(tern__model_writer *w)
{
    const uint64_t counts[] = {w->n_tensors, w->n_metas};
    TERN_TRY(w->flushed);
    TERN_TRY(write_metas(w));
    TERN_TRY(tern__writer_patch(&w->out, COUNTS_AT, counts, sizeof counts));
    if (w->tensors.failed)
        return tern__out_of_memory(w->tensors.length);
    if (w->tensors.length)
        TERN_TRY(tern__writer_write(&w->out, w->tensors.text, w->tensors.length));
    return tern__model_writer_pad(w);
}

static tern_status check_type(const tern_file_tensor *t, tern_stored to, bool layer)
{
    (void)layer;
    TERN__FAIL_IF(to == TERN_STORED_AS_IS || tern_stored_get(to)->gguf_number < 0, TERN_UNSUPPORTED,
                  "tensor '%s' is %s, which GGUF has not%s", t->stored_name,
                  tern_stored_get(to == TERN_STORED_AS_IS ? t->stored : to)->name,
                  to == TERN_STORED_HF_T2 ? ": choose i2_s, tq2_0 or tq1_0, which hold the same codes" : "");
    return TERN_OK;
}

const tern__model_format tern__gguf_format = {
    .alignment = ALIGNMENT, .declare = declare, .begin = begin, .check_type = check_type};

tern_status tern__gguf_create(const char *path, tern__model_work *work, tern__model_writer *w)
{
    *w = (tern__model_writer){.format = &tern__gguf_format, .work = work, .out.fd = -1};
    const uint32_t head[HEAD_BYTES / 4] = {0x46554747 /* "GGUF" */, VERSION};
    TERN_TRY(tern__writer_open(path, &w->out));
    return tern__writer_write(&w->out, head, sizeof head);
}

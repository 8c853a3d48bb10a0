/* safetensors_write.c - writes safetensors: the length of a JSON object, the object, then the data without holes. */
#include <string.h>

#include "base/json_text.h"
#include "base/status.h"
#include "model/convert/model_writer.h"
#include "model/file/codec.h"
#include "model/file/safetensors_types.h"

enum { HEADER_ALIGNMENT = 8 };

static tern_status declare(tern__model_writer *w, const char *name, tern_stored stored, int rank,
                           const int64_t *shape, uint64_t bytes)
{
    const char *dtype = tern__safetensors_type_name(stored);
    TERN__FAIL_IF(!dtype, TERN_DTYPE, "tensor '%s': safetensors have no %s", name,
                  tern_stored_get(stored)->name);
    tern__strbuf_add(&w->tensors, w->n_tensors ? "," : "");
    tern__json_add_text(&w->tensors, name);
    tern__strbuf_addf(&w->tensors, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (int i = 0; i < rank; i++)
        tern__strbuf_addf(&w->tensors, "%s%lld", i ? "," : "",
                          (long long)(i == 0 ? shape[i] / tern__codec_planes(stored) : shape[i]));
    tern__strbuf_addf(&w->tensors, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)w->declared,
                      (unsigned long long)(w->declared + bytes));
    return TERN_OK;
}

void tern__safetensors_meta(tern__model_writer *w, const char *key, const char *text)
{
    tern__strbuf_add(&w->metas, w->n_metas++ ? "," : "");
    tern__json_add_text(&w->metas, key);
    tern__strbuf_add(&w->metas, ":");
    tern__json_add_text(&w->metas, text);
}

static tern_status begin(tern__model_writer *w)
{
    tern__strbuf head = TERN__STRBUF_EMPTY;
    tern__strbuf_add(&head, "{");
    if (w->n_metas > 0) {
        tern__strbuf_add(&head, "\"__metadata__\":{");
        tern__strbuf_add_n(&head, w->metas.text ? w->metas.text : "", w->metas.length);
        tern__strbuf_add(&head, w->n_tensors ? "}," : "}");
    }
    tern__strbuf_add_n(&head, w->tensors.text ? w->tensors.text : "", w->tensors.length);
    tern__strbuf_add(&head, "}");
    while (head.length % HEADER_ALIGNMENT != 0 && !head.failed)
        tern__strbuf_add(&head, " ");
    uint64_t length = head.length;
    tern_status status = head.failed || w->metas.failed || w->tensors.failed
                             ? tern__out_of_memory(w->tensors.length)
                             : TERN_OK;
    if (status == TERN_OK)
        status = tern__writer_write(&w->out, &length, sizeof length);
    if (status == TERN_OK)
        status = tern__writer_write(&w->out, head.text, head.length);
    tern__strbuf_free(&head);
    return status;
}

static tern_status check_type(const tern_file_tensor *t, tern_stored to, bool layer)
{
    TERN__FAIL_IF(to == TERN_STORED_AS_IS || !tern__safetensors_type_name(to), TERN_UNSUPPORTED,
                  "tensor '%s' cannot be %s in safetensors: choose f32, f16 or bf16%s", t->stored_name,
                  tern_stored_get(to == TERN_STORED_AS_IS ? t->stored : to)->name,
                  layer ? ", or for ternary layers hf_t2" : "");
    return TERN_OK;
}

const tern__model_format tern__safetensors_format = {
    .alignment = 1, .declare = declare, .begin = begin, .check_type = check_type};

tern_status tern__safetensors_create(const char *path, tern__model_work *work, tern__model_writer *w)
{
    *w = (tern__model_writer){.format = &tern__safetensors_format, .work = work, .out.fd = -1};
    return tern__writer_open(path, &w->out);
}

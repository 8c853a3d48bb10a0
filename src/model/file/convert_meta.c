/* convert_meta.c - metadata of any file as GGUF's. */
#include <string.h>

#include "base/status.h"
#include "model/file/convert.h"

/* What speaks of the file that was read, and not of the model. */
static bool is_left_out(const char *key)
{
    static const char *const starts[] = {"config.", "metadata.", "tern.", "general.file_type",
                                         "general.alignment"};
    for (size_t i = 0; i < TERN__COUNT(starts); i++) {
        if (strncmp(key, starts[i], strlen(starts[i])) == 0)
            return true;
    }
    return false;
}

static void add_bits(tern__gguf *w, uint64_t bits, int width)
{
    tern__strbuf_add_n(&w->metas, (const char *)&bits, (size_t)width);
}

static tern_status copy_element(const tern_model_file *file, tern__gguf *w, int i, int64_t j,
                                tern_meta_type type)
{
    const char *text;
    size_t length;
    int64_t whole;
    double real;
    bool flag;
    switch (type) {
    case TERN_META_STRING:
        TERN_TRY(tern_model_file_meta_string(file, i, j, &text, &length));
        tern__gguf_element_string(w, text, length);
        return TERN_OK;
    case TERN_META_F32:
        TERN_TRY(tern_model_file_meta_float(file, i, j, &real));
        tern__strbuf_add_n(&w->metas, (const char *)&(float){(float)real}, 4);
        return TERN_OK;
    case TERN_META_F64:
        TERN_TRY(tern_model_file_meta_float(file, i, j, &real));
        tern__strbuf_add_n(&w->metas, (const char *)&real, 8);
        return TERN_OK;
    case TERN_META_BOOL:
        TERN_TRY(tern_model_file_meta_bool(file, i, j, &flag));
        add_bits(w, flag, 1);
        return TERN_OK;
    default:
        TERN_TRY(tern_model_file_meta_int(file, i, j, &whole));
        add_bits(w, (uint64_t)whole, tern__meta_bytes(type));
        return TERN_OK;
    }
}

/* Readers of GGUF expect u32 and f32 where JSON only knows numbers. */
static tern_meta_type type_for_gguf(const tern_model_file *file, int i, const tern_meta_info *info)
{
    int64_t value;
    if (file->format == TERN_FILE_GGUF || info->is_array)
        return info->type;
    if (info->type == TERN_META_F64)
        return TERN_META_F32;
    bool small = info->type == TERN_META_I64 && tern_model_file_meta_int(file, i, 0, &value) == TERN_OK &&
                 value >= 0 && value <= UINT32_MAX;
    return small ? TERN_META_U32 : info->type;
}

tern_status tern__copy_metadata(const tern_model_file *file, tern__gguf *w)
{
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        TERN_TRY(tern_model_file_meta(file, i, &info));
        if (is_left_out(info.key))
            continue;
        tern_meta_type type = type_for_gguf(file, i, &info);
        tern__gguf_meta_begin(w, info.key, type, info.is_array ? info.count : -1);
        for (int64_t j = 0; j < info.count; j++)
            TERN_TRY(copy_element(file, w, i, j, type));
    }
    return TERN_OK;
}

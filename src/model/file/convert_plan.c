/* convert_plan.c - what becomes of each tensor of a model. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/file/convert.h"
#include "model/file/stored.h"
#include "tensor/convert.h"

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static bool is_linear(const tern_file_tensor *t)
{
    return t->rank == 2 && strncmp(t->name, "blk.", 4) == 0 && ends_in(t->name, ".weight");
}

static bool is_table(const tern_file_tensor *t)
{
    return strcmp(t->name, "token_embd.weight") == 0 || strcmp(t->name, "output.weight") == 0;
}

/* "x.scale" or "x.weight_scale" of a weight whose codes take it along. */
static bool is_scale_of_another(const tern_model_file *file, const tern_file_tensor *t)
{
    const char *end = file->format == TERN_FILE_SAFETENSORS ? ".weight_scale" : ".scale";
    char name[TERN__MOST_NAME + 16];
    int i;
    if (!ends_in(t->stored_name, end))
        return false;
    size_t n = strlen(t->stored_name) - strlen(end);
    memcpy(name, t->stored_name, n);
    strcpy(name + n, ".weight");
    return tern_model_file_find(file, name, &i) == TERN_OK;
}

static tern_stored type_wanted(const tern_file_tensor *t, const tern_convert_options *o)
{
    const tern_stored_info *info = tern_stored_get(t->stored);
    if (is_linear(t) && o->type != TERN_STORED_COUNT)
        return o->type;
    if (is_table(t) && o->embedding != TERN_STORED_COUNT)
        return o->embedding;
    if (t->stored == TERN_STORED_HF_T2)
        return TERN_STORED_I2_S; /* which GGUF has, and which takes any scale */
    bool half = t->stored == TERN_STORED_F16 || t->stored == TERN_STORED_BF16;
    return (half && t->rank < 2) || (t->stored == TERN_STORED_F64) ? TERN_STORED_F32
           : info->gguf_number < 0                                 ? TERN_STORED_COUNT
                                                                   : t->stored;
}

/* GGUF's LLaMA has rows of q and k interleaved within heads; Hugging Face's has the halves one after the other. */
static int64_t heads_to_interleave(const tern_model_file *file, const tern_file_tensor *t)
{
    const char *architecture, *style;
    int64_t heads;
    bool q = ends_in(t->name, ".attn_q.weight"), k = ends_in(t->name, ".attn_k.weight");
    if ((!q && !k) || tern_model_file_get_string(file, "tern.rope_style", &style) != TERN_OK ||
        strcmp(style, "neox") != 0 ||
        tern_model_file_get_string(file, "general.architecture", &architecture) != TERN_OK ||
        strcmp(architecture, "llama") != 0 ||
        tern_model_file_get_int(file, q ? "llama.attention.head_count" : "llama.attention.head_count_kv",
                                &heads) != TERN_OK)
        return 0;
    return heads > 0 && t->shape[0] % (2 * heads) == 0 ? heads : 0;
}

tern_status tern__load_for_conversion(tern_ctx *ctx, const tern_model_file *file, int i, bool force,
                                      tern_tensor **codes, tern_tensor **scales, bool *exact)
{
    tern_status status =
        tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_EXACT, codes, scales);
    *exact = status == TERN_OK;
    if (status != TERN_DTYPE)
        return status;
    return tern_model_file_load_ternary(ctx, file, i, TERN_T2,
                                        force ? TERN_TERNARY_ABSMEAN : TERN_TERNARY_DECLARED, codes, scales);
}

/* Does the type give every scale back as it is? */
static bool holds(tern_stored stored, const float *scales, int64_t n)
{
    tern_dtype dtype =
        tern_stored_get(stored)->kind == TERN_STORED_TERNARY ? TERN_F16 : tern_stored_get(stored)->dtype;
    for (int64_t k = 0; k < n && stored != TERN_STORED_I2_S && stored != TERN_STORED_F32; k++) {
        uint16_t narrow;
        float back;
        tern__convert(TERN_F32, &scales[k], 1, dtype, &narrow, 1, 1);
        tern__convert(dtype, &narrow, 1, TERN_F32, &back, 1, 1);
        if (memcmp(&back, &scales[k], sizeof back) != 0)
            return false;
    }
    return true;
}

/* A scale beside a weight whose bytes or numbers go on without it goes on too. */
static tern_status keep_scale(tern_ctx *ctx, const tern_model_file *file, tern__conversion *c)
{
    const char *name = file->tensors[c->source].stored_name;
    char scale[TERN__MOST_NAME + 16];
    int i;
    if (!ends_in(name, ".weight"))
        return TERN_OK;
    size_t n = strlen(name) - strlen(".weight");
    memcpy(scale, name, n);
    strcpy(scale + n, file->format == TERN_FILE_SAFETENSORS ? ".weight_scale" : ".scale");
    if (tern_model_file_find(file, scale, &i) != TERN_OK)
        return TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *x;
        TERN_TRY(tern_model_file_load_f32(ctx, file, i, &x));
        TERN__FAIL_IF(tern_numel(x) != 1, TERN_UNSUPPORTED,
                      "%s: '%s' has %lld elements; one scale is expected", file->parts[0].path, scale,
                      (long long)tern_numel(x));
        c->own_scale = true;
        c->scale = tern_data_f32(x)[0];
    }
    return TERN_OK;
}

/* Where the scale of ternary codes goes. */
static tern_status plan_scale(tern_ctx *ctx, const tern_model_file *file, bool force, tern__conversion *c)
{
    TERN_SCOPE(ctx) {
        tern_tensor *codes, *scales;
        bool exact;
        TERN_TRY(tern__load_for_conversion(ctx, file, c->source, force, &codes, &scales, &exact));
        const float *s = tern_data_f32(scales);
        int64_t n = tern_numel(scales);
        const char *name = file->tensors[c->source].name;
        TERN__FAIL_IF(c->to == TERN_STORED_I2_S && n > 1, TERN_UNSUPPORTED,
                      "%s: tensor '%s' has a scale for each block; I2_S has one: use tq1_0 or tq2_0",
                      file->parts[0].path, name);
        bool fits = holds(c->to, s, n);
        TERN__FAIL_IF(!fits && n > 1 && c->way == TERN__WAY_TERNARY, TERN_UNSUPPORTED,
                      "%s: tensor '%s' has scales of blocks that f16 does not hold", file->parts[0].path,
                      name);
        c->own_scale = !fits && n == 1 && (exact || c->way == TERN__WAY_TERNARY);
        c->signs = c->own_scale && c->way == TERN__WAY_VALUES;
        c->scale = s[0];
    }
    return TERN_OK;
}

/* Can numbers be coded so? */
static bool can_hold_weights(tern_stored stored)
{
    const tern_stored_info *info = tern_stored_get(stored);
    tern_dtype_kind kind = tern_dtype_get(info->dtype)->kind;
    return info->kind == TERN_STORED_PLAIN && (kind == TERN_KIND_FLOAT || kind == TERN_KIND_BLOCK);
}

static tern_status plan_tensor(tern_ctx *ctx, const tern_model_file *file, const tern_convert_options *o,
                               tern__conversion *c)
{
    const tern_file_tensor *t = &file->tensors[c->source];
    const tern_stored_info *from = tern_stored_get(t->stored);
    c->to = type_wanted(t, o);
    TERN__FAIL_IF(c->to == TERN_STORED_COUNT, TERN_DTYPE, "%s: tensor '%s' is %s, which GGUF has not",
                  file->parts[0].path, t->stored_name, from->name);
    c->heads = heads_to_interleave(file, t);
    bool to_ternary = tern_stored_get(c->to)->kind == TERN_STORED_TERNARY;
    if (c->to == t->stored && c->heads == 0)
        c->way = TERN__WAY_COPY;
    else
        c->way = to_ternary ? TERN__WAY_TERNARY : TERN__WAY_VALUES;
    TERN__FAIL_IF(c->way == TERN__WAY_VALUES && !can_hold_weights(c->to), TERN_DTYPE,
                  "%s: tensor '%s' cannot be written as %s", file->parts[0].path, t->name,
                  tern_stored_get(c->to)->name);
    bool half = c->way == TERN__WAY_VALUES && (c->to == TERN_STORED_F16 || c->to == TERN_STORED_BF16);
    if (c->way == TERN__WAY_TERNARY || (half && from->kind == TERN_STORED_TERNARY))
        return plan_scale(ctx, file, o->force, c);
    if (c->way == TERN__WAY_COPY || from->kind != TERN_STORED_TERNARY)
        TERN_TRY(keep_scale(ctx, file, c));
    /* ternary weights stored as floats keep their scale too */
    if (half && is_linear(t) && !c->own_scale) {
        tern_status status = plan_scale(ctx, file, false, c);
        return status == TERN_DTYPE || status == TERN_FORMAT ? TERN_OK : status;
    }
    return TERN_OK;
}

tern_status tern__plan_conversion(tern_ctx *ctx, const tern_model_file *file,
                                  const tern_convert_options *options, tern__conversion **out, size_t *count)
{
    tern__conversion *plan = tern__alloc_zero(file->n_tensors + 1, sizeof *plan);
    if (!plan)
        return tern__out_of_memory(file->n_tensors * sizeof *plan);
    tern_status status = TERN_OK;
    size_t n = 0;
    for (size_t i = 0; i < file->n_tensors && status == TERN_OK; i++) {
        plan[n].source = (int)i;
        if (is_scale_of_another(file, &file->tensors[i]))
            continue; /* written again with its weight, if it is still needed */
        status = plan_tensor(ctx, file, options, &plan[n++]);
    }
    if (status != TERN_OK) {
        tern__free(plan);
        return status;
    }
    *out = plan;
    *count = n;
    return TERN_OK;
}

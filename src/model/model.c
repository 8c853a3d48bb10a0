/* model.c - opening a model and telling what it is. */
#include "model/model.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/trace.h"
#include "model/file/model_file.h"

tern_model_options tern_model_options_default(void)
{
    return (tern_model_options){.ternary = TERN_T2};
}

/* From `file` if that is not NULL, which is held, else from `path`. */
static tern_status load(tern_model *m, const char *path, tern_model_file *file,
                        const tern_model_options *options)
{
    const tern_model_file_options how = {.no_map = options->no_map, .guard = options->guard};
    if (file) {
        tern__model_file_retain(file);
        m->file = file;
    } else {
        TERN_TRY(tern_model_file_open(path, &how, &m->file));
    }
    TERN_TRY(tern__hparams_read(m->file, &m->h));
    return tern__weights_load(m, options);
}

static tern_status load_model(tern_ctx *ctx, const char *path, tern_model_file *file,
                              const tern_model_options *options, tern_model **out)
{
    tern_model_options o = options ? *options : tern_model_options_default();
    o.ternary = o.ternary ? o.ternary : TERN_T2;
    TERN__FAIL_IF(o.ternary != TERN_T2 && o.ternary != TERN_T5, TERN_DTYPE,
                  "model_load: ternary weights are kept as t2 or t5");
    tern_model *m = tern__alloc_zero(1, sizeof *m);
    if (!m)
        return tern__out_of_memory(sizeof *m);
    m->ctx = ctx;
    const uint64_t start = tern__trace_begin(), scope = tern__watch_enter("load model", "model");
    tern_status status = load(m, path, file, &o);
    tern__watch_leave(scope);
    tern__trace_end(start, "load model", "model", UINT32_MAX, 0, 0);
    if (status != TERN_OK) {
        tern_model_free(m);
        return status;
    }
    *out = m;
    return TERN_OK;
}

tern_status tern_model_load(tern_ctx *ctx, const char *path, const tern_model_options *options,
                            tern_model **out)
{
    TERN__FAIL_IF(!ctx || !path || !out, TERN_INVALID_ARGUMENT, "model_load: an argument is NULL");
    return load_model(ctx, path, NULL, options, out);
}

tern_status tern_model_load_file(tern_ctx *ctx, tern_model_file *file, const tern_model_options *options,
                                 tern_model **out)
{
    TERN__FAIL_IF(!ctx || !file || !out, TERN_INVALID_ARGUMENT, "model_load_file: an argument is NULL");
    return load_model(ctx, NULL, file, options, out);
}

void tern_model_free(tern_model *model)
{
    if (!model)
        return;
    tern__weights_release(model);
    tern_model_file_close(model->file);
    tern__free(model);
}

void tern_model_get_info(const tern_model *model, tern_model_info *out)
{
    if (!model || !out)
        return;
    const tern__hparams *h = &model->h;
    *out = (tern_model_info){.architecture = h->architecture,
                             .activation = tern__activation_name(h->activation),
                             .sub_norms = h->sub_norms,
                             .tied = model->tied,
                             .ternary = model->ternary_weights > 0,
                             .layers = (int)h->layers,
                             .heads = (int)h->heads,
                             .kv_heads = (int)h->kv_heads,
                             .width = h->width,
                             .head_width = h->head_width,
                             .feed_forward = h->feed_forward,
                             .vocabulary = model->vocabulary,
                             .context = h->context,
                             .rope_theta = h->rope_theta,
                             .norm_eps = h->norm_eps,
                             .head_stored = model->file->tensors[model->head_at].stored,
                             .head = tern_dtype_of(model->head),
                             .parameters = model->parameters,
                             .ternary_weights = model->ternary_weights,
                             .product_weights = model->product_weights,
                             .weight_bytes = model->weight_bytes,
                             .token_bytes = model->token_bytes};
}

const tern_model_file *tern_model_get_file(const tern_model *model)
{
    return model ? model->file : NULL;
}

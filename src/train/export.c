/* export.c - a trained model as GGUF: layers as the codes and scales that the pass forward has, the rest as numbers. */
#include <math.h>
#include <string.h>

#include <tern/ops.h>
#include <tern/train.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"
#include "model/convert/gguf_meta.h"
#include "model/convert/ternary_write.h"
#include "model/file/codec.h"
#include "model/file/load.h"
#include "model/file/stored.h"
#include "model/tokenizer/tokenizer.h"
#include "tensor/convert.h"
#include "train/trainer.h"

tern_train_export_options tern_train_export_options_default(void)
{
    return (tern_train_export_options){0};
}

/* How one weight is written. */
typedef struct plan {
    tern_stored to;
    float scale;    /* of a layer */
    bool own_scale; /* which is a tensor of its own */
} plan;

typedef struct job {
    const tern__train_net *net;
    tern_train_export_options o; /* types that are, whoever chose them */
    bool chose;                  /* the caller did, that of layers */
    tern__model_work work;
    tern__model_writer w;
    plan *plans;                   /* (weights) */
    tern__ternary_scratch scratch; /* for one row of any tensor */
} job;

/* ---- what is possible ---------------------------------------------------------------------------------------------- */

/* What is left to us is chosen. */
static tern_train_export_options chosen(const tern_train_export_options *options)
{
    tern_train_export_options o = options ? *options : tern_train_export_options_default();
    if (o.type == TERN_STORED_AS_IS)
        o.type = TERN_STORED_I2_S;
    if (o.embedding == TERN_STORED_AS_IS)
        o.embedding = TERN_STORED_F16;
    return o;
}

static tern_status check_types(const tern_train_shape *shape, const tern_train_export_options *o)
{
    const tern_stored_info *type = tern_stored_get(o->type), *table = tern_stored_get(o->embedding);
    TERN__FAIL_IF(!type || type->gguf_number < 0 || !tern_stored_keeps_ternary(o->type), TERN_DTYPE,
                  "trainer_export: %s does not hold ternary weights in GGUF",
                  type ? type->name : "that type");
    TERN__FAIL_IF(!table || table->gguf_number < 0 || !tern__stored_holds_weights(o->embedding), TERN_DTYPE,
                  "trainer_export: the table of tokens cannot be written as %s",
                  table ? table->name : "that type");
    TERN__FAIL_IF(shape->width % table->block_elements != 0, TERN_DTYPE,
                  "trainer_export: %s has blocks of %d, but a row of the table of tokens has %lld numbers",
                  table->name, table->block_elements, (long long)shape->width);
    return TERN_OK;
}

static tern_status check_model(const tern_train_shape *shape, const tern_train_export_options *o)
{
    TERN__FAIL_IF(shape->weights != TERN_TRAIN_WEIGHTS_TERNARY, TERN_UNSUPPORTED,
                  "trainer_export: this model was trained with float weights; a file of architecture "
                  "'bitnet-b1.58' has ternary ones, and would be another model");
    return check_types(shape, o);
}

tern_status tern_train_export_check(const tern_train_shape *shape, const tern_train_export_options *options)
{
    TERN__FAIL_IF(!shape, TERN_INVALID_ARGUMENT, "train_export_check: the shape is missing");
    const tern_train_export_options o = chosen(options);
    return check_model(shape, &o);
}

static tern_status check(const job *j, const tern_tokenizer *tokenizer)
{
    tern_tokenizer_info info;
    TERN_TRY(tern_tokenizer_get_info(tokenizer, &info));
    TERN_TRY(check_model(&j->net->shape, &j->o));
    return tern__fail_of(tern__tokens_check(info.n_tokens, j->net->shape.vocabulary), "trainer_export");
}

/* ---- layers -------------------------------------------------------------------------------------------------------- */

/* Codes and scale of weight i, as decoder.c takes them, in the open scope. */
static tern_status quantise(const job *j, int i, tern_tensor **codes, float *scale)
{
    tern_tensor *s;
    tern_ternary_quantise(j->net->weights[i], NULL, TERN_T2, codes, &s);
    TERN_TRY(tern_eval_all(2, (tern_tensor *[]){*codes, s}));
    *scale = tern_data_f32(s)[0];
    TERN__FAIL_IF(!isfinite(*scale), TERN_STATE,
                  "trainer_export: weights of '%s' are not finite numbers: training has diverged",
                  j->net->names[i]);
    return TERN_OK;
}

static tern_status plan_layer(job *j, int i)
{
    plan *p = &j->plans[i];
    const int64_t columns = tern_dim(j->net->weights[i], 1);
    TERN_SCOPE(j->net->ctx) {
        tern_tensor *codes;
        TERN_TRY(quantise(j, i, &codes, &p->scale));
    }
    p->to = tern__ternary_fallback(j->o.type, columns);
    p->own_scale = !tern__stored_holds_scales(p->to, &p->scale, 1);
    if (p->to != j->o.type && j->chose)
        tern__log(TERN_LOG_WARN, "'%s' is written as %s: its rows of %lld are no whole blocks of %s",
                  j->net->names[i], tern_stored_get(p->to)->name, (long long)columns,
                  tern_stored_get(j->o.type)->name);
    return TERN_OK;
}

static tern_status write_layer(job *j, int i)
{
    const plan *p = &j->plans[i];
    tern_tensor *w = j->net->weights[i];
    TERN_SCOPE(j->net->ctx) {
        tern_tensor *codes;
        float scale;
        TERN_TRY(quantise(j, i, &codes, &scale));
        const tern__ternary_rows all = {.t2 = tern_data(codes),
                                        .scales = &scale,
                                        .n_scales = 1,
                                        .rows = tern_dim(w, 0),
                                        .columns = tern_dim(w, 1),
                                        .own_scale = p->own_scale};
        TERN_TRY(tern__ternary_write(&j->w, p->to, &all, &j->scratch));
    }
    TERN_TRY(tern__model_writer_pad(&j->w));
    return p->own_scale ? tern__model_writer_scale(&j->w, p->scale) : TERN_OK;
}

/* ---- the rest ------------------------------------------------------------------------------------------------------ */

/* A table or a norm. */
static tern_status write_plain(job *j, int i)
{
    tern_tensor *w = j->net->weights[i];
    const tern_stored_info *info = tern_stored_get(j->plans[i].to);
    const float *data = tern_data_f32(w);
    if (!data)
        return tern_status_of(w) != TERN_OK ? tern_status_of(w) : TERN_INTERNAL;
    const int64_t columns = tern_dim(w, tern_rank(w) - 1), rows = tern_numel(w) / columns;
    for (int64_t k = 0; k < rows * columns; k++)
        TERN__FAIL_IF(!isfinite(data[k]), TERN_STATE,
                      "trainer_export: weights of '%s' are not finite numbers: training has diverged",
                      j->net->names[i]);
    for (int64_t r = 0; r < rows; r++) {
        tern__convert_row(TERN_F32, data + r * columns, info->dtype, j->scratch.encoded, columns);
        TERN_TRY(tern__model_writer_write(&j->w, j->scratch.encoded,
                                          (size_t)(columns / info->block_elements * info->block_bytes)));
    }
    return tern__model_writer_pad(&j->w);
}

static bool is_layer(const job *j, int i)
{
    return tern__train_net_part(j->net, i)->role == TERN__ROLE_LINEAR;
}

static tern_status plan_all(job *j)
{
    for (int i = 0; i < j->net->n; i++) {
        const bool table = tern__train_net_part(j->net, i)->role == TERN__ROLE_TABLE;
        j->plans[i].to = table ? j->o.embedding : TERN_STORED_F32;
        if (is_layer(j, i))
            TERN_TRY(plan_layer(j, i));
    }
    return TERN_OK;
}

static tern_status declare_all(job *j)
{
    for (int i = 0; i < j->net->n; i++) {
        const tern_tensor *w = j->net->weights[i];
        const char *name = j->net->names[i];
        char scale[TERN__SCALE_NAME];
        TERN_TRY(tern__model_writer_declare(&j->w, name, j->plans[i].to, tern_rank(w), tern_shape(w)));
        if (j->plans[i].own_scale && tern__scale_name(TERN_FILE_GGUF, name, scale))
            TERN_TRY(tern__model_writer_declare(&j->w, scale, TERN_STORED_F32, 1, (int64_t[]){1}));
    }
    return tern__model_writer_begin(&j->w);
}

static tern_status add_vocabulary(const tern_vocabulary *d, void *user)
{
    return tern__gguf_add_vocabulary(user, d, NULL);
}

static tern_status write_all(job *j, const tern_tokenizer *tokenizer)
{
    const tern_train_shape *s = &j->net->shape;
    const tern_model_shape shape = {.name = j->o.name ? j->o.name : "unnamed",
                                    .architecture = "bitnet-b1.58",
                                    .layers = s->layers,
                                    .width = s->width,
                                    .feed_forward = s->feed_forward,
                                    .heads = s->heads,
                                    .kv_heads = s->kv_heads,
                                    .vocabulary = s->vocabulary,
                                    .context = s->context,
                                    .rope_base = s->rope_theta};
    tern__gguf_add_shape(&j->w, &shape, s->norm_eps);
    TERN_TRY(tern__vocabulary_of_tokenizer(tokenizer, add_vocabulary, &j->w));
    TERN_TRY(declare_all(j));
    for (int i = 0; i < j->net->n; i++)
        TERN_TRY(is_layer(j, i) ? write_layer(j, i) : write_plain(j, i));
    return tern__model_writer_commit(&j->w);
}

static tern_status make_scratch(job *j)
{
    const tern_train_shape *s = &j->net->shape;
    const size_t longest = (size_t)(s->width > s->feed_forward ? s->width : s->feed_forward);
    j->plans = tern__alloc_zero((size_t)j->net->n, sizeof *j->plans);
    j->scratch.numbers = tern__alloc_zero(longest, sizeof *j->scratch.numbers);
    j->scratch.codes = tern__alloc_zero(longest, TERN__MOST_PLANES);
    j->scratch.encoded = tern__alloc_zero(longest, sizeof(double));
    return j->plans && j->scratch.numbers && j->scratch.codes && j->scratch.encoded
               ? TERN_OK
               : tern__out_of_memory(longest * sizeof(double));
}

tern_status tern_trainer_export(tern_trainer *trainer, const tern_tokenizer *tokenizer, const char *path,
                                const tern_train_export_options *options)
{
    TERN__FAIL_IF(!trainer || !tokenizer || !path, TERN_INVALID_ARGUMENT,
                  "trainer_export: the trainer, the tokenizer or the path are missing");
    job j = {.net = tern__trainer_net(trainer),
             .o = chosen(options),
             .chose = options && options->type != TERN_STORED_AS_IS,
             .w.out.fd = -1};
    TERN_TRY(check(&j, tokenizer));
    tern_status status = make_scratch(&j);
    if (status == TERN_OK)
        status = plan_all(&j);
    if (status == TERN_OK)
        status = tern__gguf_create(path, &j.work, &j.w);
    if (status == TERN_OK)
        status = write_all(&j, tokenizer);
    tern__model_writer_abort(&j.w);
    tern__free(j.plans);
    tern__free(j.scratch.numbers);
    tern__free(j.scratch.codes);
    tern__free(j.scratch.encoded);
    return status;
}

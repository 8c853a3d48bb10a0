/* weights.c - finds a model's tensors by name, checks their shapes, and refuses files with tensors that it would not use.
 *
 * Norms are read at once. Weights of products are read when a program packs them, and only that form stays in memory. The table of
 * tokens is used in place, so it is mapped; where it is the head as well, that is a constant of its own, packed like others. */
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/file/load.h"
#include "model/file/stored.h"
#include "model/model.h"
#include "model/arch/parts.h"

typedef struct loader {
    tern_model *m;
    const tern_model_options *options;
    bool *used; /* (tensors of the file) */
    bool
        looking; /* nothing is loaded: all that can be known without the weights of products is looked at, in the same way */
    tern__part_shape shape;
} loader;

static tern_status check_shape(const loader *l, const tern__part *part, const tern_file_tensor *t)
{
    const int64_t rows = tern__part_rows(part, &l->shape), columns = tern__part_columns(part, &l->shape);
    const bool vector = tern__part_is_vector(part);
    TERN__FAIL_IF(vector && (t->rank != 1 || t->shape[0] != columns), TERN_SHAPE, "%s: '%s' should be [%lld]",
                  tern_model_file_part(l->m->file, 0), t->name, (long long)columns);
    TERN__FAIL_IF(!vector && (t->rank != 2 || t->shape[0] != rows || t->shape[1] != columns), TERN_SHAPE,
                  "%s: '%s' should be [%lld,%lld]", tern_model_file_part(l->m->file, 0), t->name,
                  (long long)rows, (long long)columns);
    return TERN_OK;
}

/* Finds the tensor of a part, marks it used and checks its shape. */
static tern_status find(loader *l, const tern__part *part, int64_t layer, int *out, tern_file_tensor *t)
{
    char name[TERN__PART_NAME];
    TERN_TRY(tern_model_file_find(l->m->file, tern__part_name(part, layer, name), out));
    TERN_TRY(tern_model_file_tensor(l->m->file, *out, t));
    TERN_TRY(check_shape(l, part, t));
    /* types that can be listed, but whose numbers no weight has */
    const tern_stored_info *info = tern_stored_get(t->stored);
    TERN__FAIL_IF(info->kind == TERN_STORED_PLAIN && !tern__stored_holds_weights(t->stored), TERN_DTYPE,
                  "%s: tensor '%s' is %s, which weights are not", l->m->file->parts[t->part].path, t->name,
                  info->name);
    if (info->kind == TERN_STORED_OPAQUE)
        return tern__load_fail(l->m->file, t, tern__fail(TERN_UNSUPPORTED, "%s cannot be read", info->name));
    l->used[*out] = true;
    return TERN_OK;
}

/* Keeps a weight beyond the scope of loading. */
static void keep(loader *l, tern_tensor *loaded)
{
    tern_keep(loaded);
    l->m->parameters += (uint64_t)tern_numel(loaded);
    l->m->weight_bytes += tern_nbytes(loaded);
}

static tern_status load_vector(loader *l, const tern__part *part, int64_t layer, tern_tensor **out)
{
    int i;
    tern_file_tensor t;
    TERN_TRY(find(l, part, layer, &i, &t));
    TERN_TRY(tern__numbers_check(l->m->file, i));
    if (l->looking)
        return TERN_OK;
    TERN_TRY(tern_model_file_load_f32(l->m->ctx, l->m->file, i, out));
    keep(l, *out);
    l->m->token_bytes += tern_nbytes(*out);
    return TERN_OK;
}

/* What the file has as ternary is BitLinear; so is, in a ternary architecture, what it has as floats: exactly ternary values, or
 * master weights that training would ternarise. */
static tern_status load_linear(loader *l, const tern__part *part, int64_t layer, tern__linear *out)
{
    tern_model *m = l->m;
    int i;
    tern_file_tensor t;
    TERN_TRY(find(l, part, layer, &i, &t));
    const bool codes = tern_stored_get(t.stored)->kind == TERN_STORED_TERNARY;
    const int scale = codes || m->h.ternary ? tern__scale_of(m->file, &t) : -1;
    if (scale >= 0)
        l->used[scale] = true; /* it is part of out->scales */
    if (codes || m->h.ternary)
        TERN_TRY(tern__scale_check(m->file, i));
    if (l->looking)
        return TERN_OK;
    *out = (tern__linear){NULL, NULL};
    if (codes)
        TERN_TRY(
            tern__load_ternary_later(m->ctx, m->loading, i, l->options->ternary, &out->weight, &out->scales));
    if (!out->weight && (codes || m->h.ternary))
        TERN_TRY(tern_model_file_load_ternary(m->ctx, m->file, i, l->options->ternary, TERN_TERNARY_DECLARED,
                                              &out->weight, &out->scales));
    else if (!out->weight)
        TERN_TRY(tern__load_later(m->ctx, m->loading, i, &out->weight));
    tern_keep(out->scales);
    keep(l, out->weight);
    const uint64_t n = (uint64_t)tern_numel(out->weight);
    m->product_weights += n;
    m->ternary_weights += out->scales ? n : 0;
    m->token_bytes += out->scales ? (n + 3) / 4 : tern_nbytes(out->weight);
    return TERN_OK;
}

/* Where each part of a layer goes. */
static const size_t fields[] = {
#define MODEL_PART(id, role, gguf, hf, rows, columns)
#define LAYER_PART(id, role, gguf, hf, rows, columns, field) [TERN__PART_##id] = offsetof(tern__layer, field),
#include "model/arch/parts.def"
};

static void *field_of(tern__layer *layer, int part)
{
    return (char *)layer + fields[part];
}

static tern_status load_layer(loader *l, int64_t i, tern__layer *layer)
{
    for (int k = TERN__PART_LAYER_BEGIN; k < TERN__PART_LAYER_END; k++) {
        const tern__part *part = tern__part_get((tern__part_id)k);
        if (part->role == TERN__ROLE_LINEAR)
            TERN_TRY(load_linear(l, part, i, field_of(layer, k)));
        else if (part->role == TERN__ROLE_NORM || l->m->h.sub_norms)
            TERN_TRY(load_vector(l, part, i, field_of(layer, k)));
    }
    return TERN_OK;
}

/* Tensors that we do not know mean something to whoever trained the model. */
static tern_status check_all_used(const loader *l)
{
    for (int i = 0; i < tern_model_file_count(l->m->file); i++) {
        tern_file_tensor t;
        TERN_TRY(tern_model_file_tensor(l->m->file, i, &t));
        TERN__FAIL_IF(
            !l->used[i] && !l->m->file->left_over[i], TERN_UNSUPPORTED,
            "%s: tensor '%s' is not one of architecture '%s': without it the answers would be wrong",
            tern_model_file_part(l->m->file, 0), t.name, l->m->h.architecture);
    }
    return TERN_OK;
}

/* A head of 16 bits or in blocks is packed when programs are compiled, and tokens can be found in what was packed: then the
 * table need not stay in memory beside it. */
static void share_head(tern_model *m)
{
    if (!m->tied || tern_dtype_of(m->head) != tern_dtype_of(m->embedding) ||
        tern_dtype_of(m->head) == TERN_F32)
        return;
    tern_release(m->embedding);
    m->embedding = m->head;
}

/* The table of tokens and the head are numbers: there are no products of ternary codes for them. */
static tern_status check_numbers(const tern_model_file *file, int i)
{
    const tern_file_tensor *t = &file->tensors[i];
    const tern_stored_info *info = tern_stored_get(t->stored);
    return tern__stored_has_values(t->stored)
               ? TERN_OK
               : tern__load_fail(
                     file, t,
                     tern__fail(TERN_UNSUPPORTED, "%s is for layers, not for tables and heads", info->name));
}

static tern_status load_embedding(loader *l)
{
    tern_model *m = l->m;
    int i, head;
    tern_file_tensor t;
    TERN_TRY(tern__table_of(m->file, &i));
    TERN_TRY(tern_model_file_tensor(m->file, i, &t));
    TERN__FAIL_IF(t.rank != 2 || t.shape[0] < 1 || t.shape[0] > INT32_MAX, TERN_SHAPE,
                  "%s: '%s' should be a matrix with a row for each token", tern_model_file_part(m->file, 0),
                  t.name);
    m->vocabulary = l->shape.vocabulary = t.shape[0];
    TERN__FAIL_IF(m->h.vocabulary > 0 && m->h.vocabulary != m->vocabulary, TERN_FORMAT,
                  "%s: %lld tokens are promised, '%s' has %lld rows", tern_model_file_part(m->file, 0),
                  (long long)m->h.vocabulary, t.name, (long long)m->vocabulary);
    TERN_TRY(find(l, tern__part_get(TERN__PART_TABLE), 0, &i, &t));
    TERN_TRY(tern__head_of(m->file, &head, &m->tied));
    TERN_TRY(check_numbers(m->file, i));
    if (!m->tied)
        TERN_TRY(find(l, tern__part_get(TERN__PART_HEAD), 0, &head, &t));
    TERN_TRY(check_numbers(m->file, head));
    if (l->looking)
        return load_vector(l, tern__part_get(TERN__PART_OUTPUT_NORM), 0, &m->output_norm);
    TERN_TRY(tern__load_mapped(m->ctx, m->loading, i, &m->embedding));
    keep(l, m->embedding);
    m->head_at = head;
    if (l->options->head)
        TERN_TRY(tern__load_later_as(m->ctx, m->loading, head, l->options->head, &m->head));
    else
        TERN_TRY(tern__load_later(m->ctx, m->loading, head, &m->head));
    if (m->tied)
        tern_keep(m->head); /* it was counted */
    else
        keep(l, m->head);
    m->token_bytes += tern_nbytes(m->head);
    share_head(m);
    return load_vector(l, tern__part_get(TERN__PART_OUTPUT_NORM), 0, &m->output_norm);
}

static tern_status load_all(loader *l)
{
    const tern__hparams *h = &l->m->h;
    tern__layer none;
    l->shape = (tern__part_shape){.width = h->width,
                                  .heads = h->heads,
                                  .kv_heads = h->kv_heads,
                                  .head_width = h->head_width,
                                  .feed_forward = h->feed_forward}; /* the table tells the vocabulary */
    TERN_TRY(load_embedding(l));
    for (int64_t k = 0; k < h->layers; k++)
        TERN_TRY(load_layer(l, k, l->looking ? &none : &l->m->layers[k]));
    return check_all_used(l);
}

static tern_status check_count(const tern_model *m)
{
    const int n = tern_model_file_count(m->file);
    TERN__FAIL_IF(m->h.layers > n, TERN_FORMAT, "%s: %lld layers are promised, the file has %d tensors",
                  tern_model_file_part(m->file, 0), (long long)m->h.layers, n);
    return TERN_OK;
}

tern_status tern_model_check(const tern_model_file *file)
{
    TERN__FAIL_IF(!file, TERN_INVALID_ARGUMENT, "model_check: the file is NULL");
    tern_model m = {.file = (tern_model_file *)file}; /* looking changes nothing */
    TERN_TRY(tern__hparams_read(file, &m.h));
    TERN_TRY(check_count(&m));
    const size_t n = (size_t)tern_model_file_count(file);
    loader l = {.m = &m, .looking = true, .used = tern__alloc_zero(n + 1, sizeof *l.used)};
    tern_status status = l.used ? load_all(&l) : tern__out_of_memory(n);
    tern__free(l.used);
    return status;
}

tern_status tern__weights_load(tern_model *m, const tern_model_options *options)
{
    loader l = {.m = m, .options = options};
    const int n = tern_model_file_count(m->file);
    TERN_TRY(check_count(m));
    /* progress is that of weights that are read later, when programs pack them */
    TERN_TRY(tern__loading_create(m->file, tern_ctx_threads(m->ctx), options->progress,
                                  options->progress_user, &m->loading));
    l.used = tern__alloc_zero((size_t)n + 1, sizeof *l.used);
    m->layers = tern__alloc_zero((size_t)m->h.layers, sizeof *m->layers);
    tern_status status = l.used && m->layers ? TERN_OK : tern__out_of_memory((size_t)n);
    if (status == TERN_OK)
        TERN_SCOPE(m->ctx)
            status = load_all(&l);
    tern__free(l.used);
    return status;
}

static void release_layer(tern__layer *layer)
{
    for (int k = TERN__PART_LAYER_BEGIN; k < TERN__PART_LAYER_END; k++) {
        if (tern__part_is_vector(tern__part_get((tern__part_id)k))) {
            tern_tensor **norm = field_of(layer, k);
            tern_release(*norm);
        } else {
            tern__linear *w = field_of(layer, k);
            tern_release(w->weight);
            tern_release(w->scales);
        }
    }
}

void tern__weights_release(tern_model *m)
{
    for (int64_t i = 0; m->layers && i < m->h.layers; i++)
        release_layer(&m->layers[i]);
    tern__free(m->layers);
    if (m->embedding != m->head)
        tern_release(m->embedding);
    tern_release(m->head);
    tern_release(m->output_norm);
    tern__loading_mute(m->loading); /* constants that outlive the model hold it too */
    tern__loading_release(m->loading);
}

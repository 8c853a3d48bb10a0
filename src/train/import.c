/* import.c - a trainer that goes on with the model of a file: its shape, and its weights. */
#include <tern/model.h>
#include <tern/ops.h>
#include <tern/train.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/arch/hparams.h"
#include "model/file/codec.h"
#include "model/arch/parts.h"
#include "model/file/load.h"
#include "train/trainer.h"

/* ---- shapes -------------------------------------------------------------------------------------------------------- */

/* What decoder.c does not do. */
static tern_status check_settings(const tern_model_file *file, const tern__hparams *h)
{
    int head;
    bool tied;
    TERN__FAIL_IF(h->activation != TERN__RELU2 || !h->sub_norms || !h->ternary, TERN_UNSUPPORTED,
                  "training: the file has a model of architecture '%s'; only 'bitnet-b1.58' and 'bitnet-25' "
                  "can be trained",
                  h->architecture);
    TERN__FAIL_IF(
        h->head_width * h->heads != h->width || h->rope_width != h->head_width, TERN_UNSUPPORTED,
        "training: heads of %lld numbers, %lld of them rotated, in a width of %lld; only heads that "
        "share the width and are rotated as a whole can be trained",
        (long long)h->head_width, (long long)h->rope_width, (long long)h->width);
    TERN__FAIL_IF(h->rope_pairs != TERN__ROPE_HALVES, TERN_UNSUPPORTED,
                  "training: the file rotates neighbours; only halves of a head can be trained");
    TERN_TRY(tern__head_of(file, &head, &tied));
    TERN__FAIL_IF(!tied, TERN_UNSUPPORTED,
                  "training: the file has 'output.weight'; only models whose table of tokens is the head as "
                  "well can be trained");
    return TERN_OK;
}

tern_status tern_train_shape_of(const tern_model_file *file, tern_train_shape *out)
{
    TERN__FAIL_IF(!file || !out, TERN_INVALID_ARGUMENT,
                  "train_shape_of: the file or the place for the result are missing");
    tern__hparams h;
    TERN_TRY(tern__hparams_read(file, &h));
    TERN_TRY(check_settings(file, &h));
    TERN_TRY(tern_model_check(file));
    *out = (tern_train_shape){.vocabulary = tern_model_file_vocabulary(file),
                              .context = h.context,
                              .layers = h.layers,
                              .width = h.width,
                              .feed_forward = h.feed_forward,
                              .heads = h.heads,
                              .kv_heads = h.kv_heads,
                              .rope_theta = h.rope_theta,
                              .norm_eps = h.norm_eps,
                              .weights = TERN_TRAIN_WEIGHTS_TERNARY};
    return TERN_OK;
}

/* Numbers that no tensor's shape shows. The file has floats. */
static tern_status check_numbers(const tern_train_shape *file, const tern_train_shape *own)
{
    const struct {
        const char *name;
        double file, own;
    } numbers[] = {
        {"layers", (double)file->layers, (double)own->layers},
        {"heads", (double)file->heads, (double)own->heads},
        {"kv_heads", (double)file->kv_heads, (double)own->kv_heads},
        {"rope_theta", (double)(float)file->rope_theta, (double)(float)own->rope_theta},
        {"norm_eps", (double)(float)file->norm_eps, (double)(float)own->norm_eps},
    };
    for (size_t i = 0; i < TERN__COUNT(numbers); i++)
        TERN__FAIL_IF(numbers[i].file != numbers[i].own, TERN_SHAPE,
                      "trainer_import: %s is %g in the file, and %g in the trainer", numbers[i].name,
                      numbers[i].file, numbers[i].own);
    return TERN_OK;
}

/* The file's tensor for weight i. */
static tern_status find(const tern__train_net *net, const tern_model_file *file, int i, int *out)
{
    const tern_tensor *w = net->weights[i];
    const char *name = net->names[i];
    tern_file_tensor t;
    TERN_TRY(tern_model_file_find(file, name, out));
    TERN_TRY(tern_model_file_tensor(file, *out, &t));
    const int last = tern_rank(w) - 1;
    TERN__FAIL_IF(t.rank != last + 1 || t.shape[0] != tern_dim(w, 0) || t.shape[last] != tern_dim(w, last),
                  TERN_SHAPE,
                  "trainer_import: '%s' is [%lld,%lld] in the file, and [%lld,%lld] in the trainer", name,
                  (long long)(t.rank > 1 ? t.shape[0] : 1), (long long)t.shape[t.rank ? t.rank - 1 : 0],
                  (long long)(last ? tern_dim(w, 0) : 1), (long long)tern_dim(w, last));
    return TERN_OK;
}

/* ---- weights ------------------------------------------------------------------------------------------------------- */

/* The share of codes that are not zero. */
static double share_of(const uint8_t *t2, int64_t rows, int64_t columns)
{
    int64_t some = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < columns; k++)
            some += tern__t2_code(t2 + r * tern__t2_bytes(columns), k) != 1;
    return (double)some / (double)(rows * columns);
}

static void spread(const uint8_t *t2, int64_t rows, int64_t columns, double size, float *out)
{
    const int64_t t2_row = tern__t2_bytes(columns);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < columns; k++)
            out[r * columns + k] = (float)(((int)tern__t2_code(t2 + r * t2_row, k) - 1) * size);
}

/* Numbers whose mean size is the scale, so that rounding gives codes and scale back: where a share p of the codes is not zero, they
 * are scale / p. The codes times the scale would be rounded to the same codes, with a scale of p times what it was. Where nothing is
 * rounded, they are what is wanted. */
static tern_status assign_codes(const tern__train_net *net, int i, tern_tensor *codes, tern_tensor *scales)
{
    tern_tensor *state = net->weights[i];
    TERN__FAIL_IF(tern_rank(scales) > 0, TERN_UNSUPPORTED,
                  "trainer_import: '%s' has a scale for each block of 256; a layer that is trained has one",
                  net->names[i]);
    float *values = tern__alloc(tern_nbytes(state));
    if (!values)
        return tern__out_of_memory(tern_nbytes(state));
    const int64_t rows = tern_dim(state, 0), columns = tern_dim(state, 1);
    const double share =
        net->shape.weights == TERN_TRAIN_WEIGHTS_FLOAT ? 1 : share_of(tern_data(codes), rows, columns);
    const double size = share > 0 ? (double)tern_data_f32(scales)[0] / share : 0;
    spread(tern_data(codes), rows, columns, size, values);
    const tern_status status =
        tern_assign(state, tern_from_data(net->ctx, TERN_F32, tern_rank(state), tern_shape(state), values));
    tern__free(values);
    return status;
}

/* Numbers, times what the file has to multiply them with. */
static tern_status assign_numbers(const tern__train_net *net, const tern_model_file *file, int i, int source)
{
    tern_file_tensor t;
    tern_tensor *x;
    float extra = 1;
    bool found = false;
    TERN_TRY(tern_model_file_tensor(file, source, &t));
    TERN_TRY(tern_model_file_load_f32(net->ctx, file, source, &x));
    if (tern__train_net_part(net, i)->role == TERN__ROLE_LINEAR)
        TERN_TRY(tern__scale_read(file, &t, &extra, &found));
    if (found)
        x = tern_mul(x, tern_scalar(net->ctx, TERN_F32, (double)extra));
    return tern_assign(net->weights[i], x);
}

static tern_status import_weight(const tern__train_net *net, const tern_model_file *file, int i)
{
    int source;
    TERN_TRY(find(net, file, i, &source));
    TERN_SCOPE(net->ctx) {
        if (tern__train_net_part(net, i)->role != TERN__ROLE_LINEAR)
            return assign_numbers(net, file, i, source);
        tern_tensor *codes, *scales;
        const tern_status status = tern_model_file_load_ternary(net->ctx, file, source, TERN_T2,
                                                                TERN_TERNARY_EXACT, &codes, &scales);
        if (status == TERN_OK)
            return assign_codes(net, i, codes, scales);
        return status == TERN_DTYPE ? assign_numbers(net, file, i, source) : status;
    }
    return TERN_INTERNAL;
}

tern_status tern_trainer_import(tern_trainer *trainer, const tern_model_file *file)
{
    TERN__FAIL_IF(!trainer || !file, TERN_INVALID_ARGUMENT,
                  "trainer_import: the trainer or the file are missing");
    const tern__train_net *net = tern__trainer_net(trainer);
    tern_train_shape shape;
    TERN_TRY(tern_train_shape_of(file, &shape));
    TERN_TRY(check_numbers(&shape, &net->shape));
    for (int i = 0, source; i < net->n; i++)
        TERN_TRY(find(net, file, i, &source));
    for (int i = 0; i < net->n; i++)
        TERN_TRY(import_weight(net, file, i));
    return TERN_OK;
}

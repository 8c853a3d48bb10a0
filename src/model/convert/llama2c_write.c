/* llama2c_write.c - writes llama2.c's .bin, version 0. */
#include "model/convert/llama2c_write.h"

#include <math.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/arch/hparams.h"

static tern_status fail_setting(const tern_model_file *file, const char *what, double value, double only)
{
    return tern__fail(TERN_UNSUPPORTED, "%s: its %s is %g, but llama2.c's files can only mean %g",
                      tern_model_file_part(file, 0), what, value, only);
}

tern_status tern__llama2c_shape_of(const tern_model_file *file, tern__llama2c_shape *out)
{
    tern__hparams h = {0};
    tern_file_tensor table;
    int i;
    bool tied;
    TERN_TRY(tern__hparams_read(file, &h));
    TERN__FAIL_IF(
        h.activation != TERN__SILU || h.sub_norms || h.ternary, TERN_UNSUPPORTED,
        "%s: llama2.c's files hold ordinary LLaMAs, which a model of '%s' with ternary layers is not",
        tern_model_file_part(file, 0), h.architecture);
    if (fabs(h.rope_theta - TERN__LLAMA2C_ROPE_THETA) > 1e-6 * TERN__LLAMA2C_ROPE_THETA)
        return fail_setting(file, "base of rotation", h.rope_theta, TERN__LLAMA2C_ROPE_THETA);
    if (fabs(h.norm_eps - TERN__LLAMA2C_NORM_EPS) > 1e-3 * TERN__LLAMA2C_NORM_EPS)
        return fail_setting(file, "epsilon of norms", h.norm_eps, TERN__LLAMA2C_NORM_EPS);
    if (h.head_width * h.heads != h.width)
        return fail_setting(file, "width of heads", (double)h.head_width, (double)h.width / (double)h.heads);
    if (h.rope_width != h.head_width)
        return fail_setting(file, "number of rotated coordinates", (double)h.rope_width,
                            (double)h.head_width);
    TERN_TRY(tern__table_of(file, &i));
    TERN_TRY(tern_model_file_tensor(file, i, &table));
    TERN_TRY(tern__head_of(file, &i, &tied));
    TERN__FAIL_IF(table.rank != 2 || table.shape[0] < 1 || table.shape[0] > INT32_MAX, TERN_SHAPE,
                  "%s: '%s' should be a matrix with a row for each token", tern_model_file_part(file, 0),
                  table.name);
    *out = (tern__llama2c_shape){h.width,    h.feed_forward, h.layers,  h.heads,
                                 h.kv_heads, table.shape[0], h.context, !tied};
    return TERN_OK;
}

int64_t tern__llama2c_place(const tern__llama2c_shape *s, const char *name)
{
    int64_t place = 0, layer;
    const tern__part *its = tern__part_of(name, &layer);
    for (int k = 0; k < TERN__LLAMA2C_PARTS; k++) {
        const tern__part *part = tern__part_get(tern__llama2c_order[k]);
        const int64_t n = part->in_layer ? s->layers : 1;
        if (part == its && layer < n)
            return place + layer;
        place += n;
    }
    return -1;
}

static tern_status declare(tern__model_writer *w, const char *name, tern_stored stored, int rank,
                           const int64_t *shape, uint64_t bytes)
{
    const tern__llama2c_shape *s = w->llama2c;
    (void)rank, (void)shape, (void)bytes;
    TERN__FAIL_IF(stored != TERN_STORED_F32, TERN_DTYPE, "tensor '%s': llama2.c has f32 only", name);
    TERN__FAIL_IF(
        tern__llama2c_place(s, name) != (int64_t)w->n_tensors, TERN_FORMAT,
        "tensor '%s' is not what llama2.c has at place %llu: one is missing, or there is one too many", name,
        (unsigned long long)w->n_tensors);
    return TERN_OK;
}

static tern_status begin(tern__model_writer *w)
{
    const tern__llama2c_shape *s = w->llama2c;
    char last[TERN__PART_NAME];
    tern__part_name(tern__part_get(s->untied ? TERN__PART_HEAD : TERN__PART_OUTPUT_NORM), 0, last);
    TERN__FAIL_IF(w->n_tensors != (uint64_t)tern__llama2c_place(s, last) + 1, TERN_FORMAT,
                  "%s: %llu tensors instead of %lld", w->out.path, (unsigned long long)w->n_tensors,
                  (long long)tern__llama2c_place(s, last) + 1);
    const int32_t header[] = {(int32_t)s->dim,      (int32_t)s->hidden,
                              (int32_t)s->layers,   (int32_t)s->heads,
                              (int32_t)s->kv_heads, (int32_t)(s->untied ? -s->vocabulary : s->vocabulary),
                              (int32_t)s->context};
    /* the head, if there is one, stands behind the tables, the rest before them */
    const uint64_t head = s->untied ? (uint64_t)s->vocabulary * (uint64_t)s->dim * sizeof(float) : 0;
    w->tables_at = sizeof header + w->declared - head;
    w->declared += (uint64_t)s->context * (uint64_t)(s->dim / s->heads) * sizeof(float);
    return tern__writer_write(&w->out, header, sizeof header);
}

/* Cosines of all positions, then sines: readers compute theirs, but the format has them. */
static tern_status write_tables(tern__model_writer *w)
{
    const tern__llama2c_shape *s = w->llama2c;
    const int64_t width = s->dim / s->heads, half = width / 2;
    float *row = tern__alloc_zero((size_t)half, sizeof *row);
    tern_status status = row ? TERN_OK : tern__out_of_memory((size_t)half * sizeof *row);
    for (int64_t k = 0; k < 2 * s->context && status == TERN_OK; k++) {
        const double position = (double)(k % s->context);
        for (int64_t j = 0; j < half; j++) {
            const double angle = position * pow(TERN__LLAMA2C_ROPE_THETA, -2.0 * (double)j / (double)width);
            row[j] = (float)(k < s->context ? cos(angle) : sin(angle));
        }
        status = tern__model_writer_write(w, row, (size_t)half * sizeof *row);
    }
    tern__free(row);
    return status;
}

static tern_status behind(tern__model_writer *w)
{
    return w->out.bytes == w->tables_at ? write_tables(w) : TERN_OK;
}

static tern_status check_type(const tern_file_tensor *t, tern_stored to, bool layer)
{
    (void)layer;
    TERN__FAIL_IF(to != TERN_STORED_F32, TERN_UNSUPPORTED,
                  "tensor '%s' cannot be %s: llama2.c's files have f32 only", t->stored_name,
                  tern_stored_get(to == TERN_STORED_AS_IS ? t->stored : to)->name);
    return TERN_OK;
}

const tern__model_format tern__llama2c_format = {
    .alignment = 1, .declare = declare, .begin = begin, .behind = behind, .check_type = check_type};

tern_status tern__llama2c_create(const char *path, tern__model_work *work, tern__model_writer *w)
{
    *w = (tern__model_writer){.format = &tern__llama2c_format, .work = work, .out.fd = -1};
    return tern__writer_open(path, &w->out);
}

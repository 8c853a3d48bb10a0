/* convert.c - writes a model as GGUF, safetensors or llama2.c's .bin in other types, measures what that loses, and reads ternary weights back. */
#include "model/convert/convert.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tern/model.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/status.h"
#include "model/arch/hparams.h"
#include "model/file/codec.h"
#include "model/file/hf.h"
#include "model/arch/parts.h"
#include "model/convert/hf_write.h"
#include "model/convert/ternary_write.h"
#include "model/file/load.h"
#include "model/file/stored.h"
#include "model/tokenizer/tokenizer.h"
#include "tensor/convert.h"

enum { CHUNK = 1 << 20 };

typedef struct job {
    tern_ctx *ctx;
    const tern_model_file *file;
    tern_convert_options o;
    tern_file_format format;
    const tern__architecture *architecture; /* for safetensors */
    tern__model_work work;
    tern__outputs outputs;
    tern__model_writer *w; /* of the file that is being written */
    tern__beside beside;   /* of safetensors */
    tern__conversion *plan;
    size_t n;
    /* scratch for one row of any tensor */
    float *before, *after;
    uint8_t *encoded, *codes; /* codes of TERN__MOST_PLANES rows */
    char remark[640];         /* what whoever uses the new file should know, or "" */
} job;

/* Said once the file is there: where none was written, the reason is all that counts. Of several the first. */
TERN_PRINTF(2, 3) static void add_remark(job *j, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!j->remark[0])
        vsnprintf(j->remark, sizeof j->remark, format, list);
    va_end(list);
}

static tern_status make_scratch(job *j)
{
    int64_t longest = 1;
    for (size_t i = 0; i < j->file->n_tensors; i++) {
        int64_t rows, columns;
        tern__rows_and_columns(j->file->tensors[i].rank, j->file->tensors[i].shape, &rows, &columns);
        longest = columns > longest ? columns : longest;
    }
    size_t n = (size_t)longest;
    j->before = tern__alloc_zero(n, sizeof(float));
    j->after = tern__alloc_zero(n, sizeof(float));
    j->encoded = tern__alloc_zero(n, sizeof(double));
    j->codes = tern__alloc_zero(n, TERN__MOST_PLANES);
    return j->before && j->after && j->encoded && j->codes ? TERN_OK
                                                           : tern__out_of_memory(n * sizeof(double));
}

/* Row of the source that becomes row r: pairs (j, j + half) of a head become neighbours, or the other way. */
static int64_t source_row(const tern__conversion *c, int64_t rows, int64_t r)
{
    if (c->heads == 0)
        return r;
    int64_t size = rows / c->heads, half = size / 2, first = r / size * size, k = r % size;
    return first + (c->to_halves ? k % half * 2 + k / half : k % 2 * half + k / 2);
}

static void measure(tern__conversion *c, const float *before, const float *after, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double x = before[k], y = after[k];
        c->values += x * x;
        c->errors += (x - y) * (x - y);
        c->product += x * y;
        c->results += y * y;
    }
}

/* ---- the ways ------------------------------------------------------------------------------------------------------ */

static tern_status write_copy(job *j, tern__conversion *c)
{
    const tern_file_tensor *t = &j->file->tensors[c->source];
    uint8_t *chunk = tern__alloc(CHUNK);
    if (!chunk)
        return tern__out_of_memory(CHUNK);
    tern_status status = TERN_OK;
    for (uint64_t at = 0; at < t->bytes && status == TERN_OK; at += CHUNK) {
        size_t n = t->bytes - at < CHUNK ? (size_t)(t->bytes - at) : CHUNK;
        status = tern_model_file_read(j->file, c->source, at, chunk, n);
        if (status == TERN_OK)
            status = tern__model_writer_write(j->w, chunk, n);
    }
    tern__free(chunk);
    c->exact = true;
    return status;
}

static uint64_t hash_of(tern_tensor *x)
{
    return tern__hash(tern_data(x), tern_nbytes(x), 0);
}

/* The rows of `t` in their new order. */
static tern_status reorder_rows(job *j, const tern__conversion *c, tern_tensor **t)
{
    const int64_t rows = tern_dim(*t, 0);
    const size_t row = rows ? tern_nbytes(*t) / (size_t)rows : 0;
    void *block = NULL;
    TERN_TRY(tern__block_create(tern_nbytes(*t), &block));
    const uint8_t *from = tern_data(*t);
    for (int64_t r = 0; r < rows; r++)
        memcpy((uint8_t *)block + (size_t)r * row, from + (size_t)source_row(c, rows, r) * row, row);
    return tern__block_wrap(j->ctx, tern_dtype_of(*t), tern_rank(*t), tern_shape(*t), block, tern_nbytes(*t),
                            t);
}

/* Codes and scales of the rows in their new order, for writing them and for comparing with what will be read back. */
static tern_status reorder(job *j, const tern__conversion *c, tern_tensor **codes, tern_tensor **scales)
{
    if (c->heads == 0)
        return TERN_OK;
    TERN_TRY(reorder_rows(j, c, codes));
    return tern_rank(*scales) > 0 ? reorder_rows(j, c, scales) : TERN_OK; /* of blocks: [rows, blocks] */
}

/* What a forced ternarisation loses. */
static tern_status measure_ternary(job *j, tern__conversion *c, const tern__ternary_rows *all)
{
    const int64_t blocks = all->n_scales == 1 ? 0 : all->columns / TERN__TQ_BLOCK;
    for (int64_t r = 0; r < all->rows && !c->exact; r++) {
        TERN_TRY(tern__rows_read_f32(j->file, c->source, source_row(c, all->rows, r), 1, j->before));
        tern__t2_row_f32(all->t2 + r * tern__t2_bytes(all->columns), all->columns, all->scales + r * blocks,
                         blocks ? blocks : 1, j->after);
        measure(c, j->before, j->after, all->columns);
    }
    return TERN_OK;
}

/* A tensor that is ternary from now on, as codes or as numbers; what becomes of it is known then. */
static tern_status write_ternary(job *j, tern__conversion *c)
{
    const tern_file_tensor *t = &j->file->tensors[c->source];
    tern__ternary_rows all = {.own_scale = c->own_scale, .beside = c->scale};
    tern__rows_and_columns(t->rank, t->shape, &all.rows, &all.columns);
    TERN_SCOPE(j->ctx) {
        tern_tensor *codes, *scales;
        TERN_TRY(
            tern__load_for_conversion(j->ctx, j->file, c->source, j->o.force, &codes, &scales, &c->exact));
        TERN_TRY(reorder(j, c, &codes, &scales));
        c->codes_hash = hash_of(codes);
        c->scales_hash = hash_of(scales);
        c->proved = true;
        all.t2 = tern_data(codes);
        all.scales = tern_data_f32(scales);
        all.n_scales = tern_numel(scales);
        TERN_TRY(measure_ternary(j, c, &all));
        TERN_TRY(tern__ternary_write(j->w, c->to, &all,
                                     &(tern__ternary_scratch){j->before, j->codes, j->encoded}));
    }
    return TERN_OK;
}

/* Of a row that was just encoded: a number that became infinite, or was none before, makes every answer NaN. */
static tern_status check_finite(const job *j, const tern__conversion *c, int64_t columns)
{
    const tern_file_tensor *t = &j->file->tensors[c->source];
    const char *path = j->file->parts[t->part].path, *to = tern_stored_get(c->to)->name;
    for (int64_t k = 0; k < columns; k++) {
        if (isfinite(j->after[k]))
            continue;
        TERN__FAIL_IF(!isfinite(j->before[k]), TERN_FORMAT,
                      "%s: tensor '%s' has values that are not finite numbers: its weights are damaged", path,
                      t->stored_name);
        return tern__fail(TERN_OUT_OF_RANGE,
                          "%s: tensor '%s' cannot be %s: %g is beyond its range; choose f32 or bf16", path,
                          t->stored_name, to, (double)j->before[k]);
    }
    return TERN_OK;
}

/* Values of a ternary tensor, or of one that is stored as numbers. */
static tern_status write_values(job *j, tern__conversion *c)
{
    const tern_file_tensor *t = &j->file->tensors[c->source];
    const tern_stored_info *to = tern_stored_get(c->to);
    bool ternary = tern_stored_get(t->stored)->kind == TERN_STORED_TERNARY;
    int64_t rows, columns;
    tern__rows_and_columns(t->rank, t->shape, &rows, &columns);
    size_t bytes = (size_t)(columns / to->block_elements * to->block_bytes);
    c->exact = true;
    TERN_SCOPE(j->ctx) {
        tern_tensor *x = NULL, *scales = NULL;
        if (ternary && c->signs) /* the values of a scale of 0 do not tell them */
            TERN_TRY(tern_model_file_load_ternary(j->ctx, j->file, c->source, TERN_T2, TERN_TERNARY_EXACT, &x,
                                                  &scales));
        else if (ternary)
            TERN_TRY(tern_model_file_load_f32(j->ctx, j->file, c->source, &x));
        for (int64_t r = 0; r < rows; r++) {
            int64_t from = source_row(c, rows, r);
            if (scales)
                tern__t2_row_f32((const uint8_t *)tern_data(x) + from * tern__t2_bytes(columns), columns,
                                 &(float){1}, 1, j->before);
            else if (ternary)
                memcpy(j->before, tern_data_f32(x) + from * columns, (size_t)columns * sizeof(float));
            else
                TERN_TRY(tern__rows_read_f32(j->file, c->source, from, 1, j->before));
            for (int64_t k = 0; k < columns && c->signs; k++)
                j->before[k] = (float)((j->before[k] > 0) - (j->before[k] < 0));
            tern__numbers_encode(c->to, j->before, columns, c->signs, j->encoded);
            tern__convert_row(to->dtype, j->encoded, TERN_F32, j->after, columns);
            TERN_TRY(check_finite(j, c, columns));
            measure(c, j->before, j->after, columns);
            c->exact = c->exact && memcmp(j->before, j->after, (size_t)columns * sizeof(float)) == 0;
            TERN_TRY(tern__model_writer_write(j->w, j->encoded, bytes));
        }
    }
    return TERN_OK;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

/* What the new file calls a tensor. */
static void new_name(const job *j, const tern_file_tensor *t, char name[static TERN__SCALE_NAME])
{
    if (j->format == TERN_FILE_SAFETENSORS)
        tern__hf_name_of(t->name, j->architecture, name);
    else
        snprintf(name, TERN__SCALE_NAME, "%s", t->name);
}

static tern_status declare(job *j, const tern__output *out)
{
    if (j->format == TERN_FILE_GGUF)
        TERN_TRY(tern__copy_metadata(j->file, j->o.tokenizer, j->w));
    for (size_t i = out->first; i < out->end; i++) {
        const tern__conversion *c = &j->plan[i];
        const tern_file_tensor *t = &j->file->tensors[c->source];
        char name[TERN__SCALE_NAME], scale[TERN__SCALE_NAME];
        new_name(j, t, name);
        TERN_TRY(tern__model_writer_declare(j->w, name, c->to, t->rank, t->shape));
        if (c->own_scale && tern__scale_name(j->format, name, scale))
            TERN_TRY(tern__model_writer_declare(j->w, scale, TERN_STORED_F32, 1, (int64_t[]){1}));
        if (c->way == TERN__WAY_TERNARY)
            j->work.total += t->bytes; /* will be read back */
    }
    return tern__model_writer_begin(j->w);
}

/* Safetensors need config.json to be understood. What cannot be said there is found before any tensor is written. */
static tern_status make_beside(job *j, const char *path)
{
    if (j->format != TERN_FILE_SAFETENSORS)
        return TERN_OK;
    bool packed = false, ternary = tern__says_ternary(j->file);
    for (size_t i = 0; i < j->n; i++) {
        packed |= j->plan[i].to == TERN_STORED_HF_T2;
        ternary |= tern__codec_get(j->file->tensors[j->plan[i].source].stored) != NULL;
    }
    /* codes, and numbers that are ternary, mean what they are; master weights are still to be ternarised */
    const bool online = j->file->master_weights && !packed;
    const char *mode = online ? "online" : packed || ternary ? "offline" : NULL;
    return tern__hf_beside_make(j->file, j->o.tokenizer, path, mode, &j->beside);
}

/* Which part has which tensor. */
static tern_status add_index(job *j, const char *path)
{
    tern__strbuf s = TERN__STRBUF_EMPTY, name = TERN__STRBUF_EMPTY;
    uint64_t bytes = 0;
    for (size_t i = 0; i < j->outputs.n; i++)
        bytes += j->outputs.files[i].w.declared;
    tern__strbuf_addf(&s, "{\n  \"metadata\": {\"total_size\": %llu},\n  \"weight_map\": {",
                      (unsigned long long)bytes);
    for (size_t i = 0; i < j->outputs.n; i++) {
        const tern__output *out = &j->outputs.files[i];
        const char *part = tern__path_name(out->path);
        for (size_t k = out->first; k < out->end; k++) {
            char names[2][TERN__SCALE_NAME];
            new_name(j, &j->file->tensors[j->plan[k].source], names[0]);
            bool scale = j->plan[k].own_scale && tern__scale_name(j->format, names[0], names[1]);
            for (int n = 0; n < (scale ? 2 : 1); n++) {
                tern__strbuf_add(&s, k || n ? ",\n    " : "\n    ");
                tern__json_add_text(&s, names[n]);
                tern__strbuf_add(&s, ": ");
                tern__json_add_text(&s, part);
            }
        }
    }
    tern__strbuf_add(&s, "\n  }\n}\n");
    tern__strbuf_addf(&name, "%s.index.json", tern__path_name(path));
    tern_status status = name.failed
                             ? tern__out_of_memory(strlen(path))
                             : tern__hf_beside_add(&j->beside, path, name.text, TERN_CONVERT_INDEX, &s);
    tern__strbuf_free(&name);
    tern__strbuf_free(&s);
    return status;
}

static tern_status write_tensors(job *j, const tern__output *out)
{
    for (size_t i = out->first; i < out->end; i++) {
        tern__conversion *c = &j->plan[i];
        const bool ternary = c->way == TERN__WAY_TERNARY || c->ternarised;
        TERN_TRY(c->way == TERN__WAY_COPY ? write_copy(j, c)
                 : ternary                ? write_ternary(j, c)
                                          : write_values(j, c));
        TERN_TRY(tern__model_writer_pad(j->w));
        if (c->own_scale)
            TERN_TRY(tern__model_writer_scale(j->w, c->scale));
    }
    return TERN_OK;
}

/* Codes and scales that were not looked at while they were written: those that are copied, or become numbers. */
static tern_status hash_source(job *j, tern__conversion *c)
{
    if (c->proved || tern_stored_get(j->file->tensors[c->source].stored)->kind != TERN_STORED_TERNARY)
        return TERN_OK;
    TERN_SCOPE(j->ctx) {
        tern_tensor *codes, *scales;
        TERN_TRY(tern_model_file_load_ternary(j->ctx, j->file, c->source, TERN_T2, TERN_TERNARY_EXACT, &codes,
                                              &scales));
        TERN_TRY(reorder(j, c, &codes, &scales));
        c->codes_hash = hash_of(codes);
        c->scales_hash = hash_of(scales);
        /* Scales that differ are not ternary as numbers, nor is what a caller forced into blocks that are no signs. */
        c->proved = tern_stored_get(c->to)->kind == TERN_STORED_TERNARY ||
                    (tern_numel(scales) == 1 && (c->signs || !tern__stored_has_blocks(c->to)));
    }
    return TERN_OK;
}

static tern_status compare_tensor(job *j, const tern_model_file *written, const tern__conversion *c)
{
    char name[TERN__SCALE_NAME];
    int at;
    new_name(j, &j->file->tensors[c->source], name);
    TERN_TRY(tern_model_file_find(written, name, &at));
    TERN_SCOPE(j->ctx) {
        tern_tensor *codes, *scales;
        TERN_TRY(
            tern_model_file_load_ternary(j->ctx, written, at, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales));
        bool same = hash_of(codes) == c->codes_hash;
        /* what the scale lost the report says, and to zeros it means nothing */
        if ((c->exact || c->way == TERN__WAY_TERNARY || c->ternarised) &&
            !tern__t2_is_zero(tern_data(codes), (int64_t)tern_nbytes(codes)))
            same = same && hash_of(scales) == c->scales_hash;
        TERN__FAIL_IF(!same, TERN_INTERNAL,
                      "%s: tensor '%s' was read back with other codes or scales; no file was written",
                      j->w->out.path, name);
    }
    return TERN_OK;
}

/* The new file, before it takes its name: are codes and scales what they were? */
static tern_status read_back(job *j, const tern__output *out)
{
    tern_model_file *written;
    TERN_TRY(tern_model_file_open(out->w.out.temporary, NULL, &written));
    if (j->format == TERN_FILE_SAFETENSORS)
        written->scale_meaning = TERN__SCALE_MULTIPLIES; /* as the config.json says that is not there yet */
    tern_status status = TERN_OK;
    for (size_t i = out->first; i < out->end && status == TERN_OK; i++) {
        tern__conversion *c = &j->plan[i];
        status = hash_source(j, c);
        if (status != TERN_OK || !c->proved)
            continue;
        status = compare_tensor(j, written, c);
        if (status == TERN_OK && c->way == TERN__WAY_TERNARY)
            status = tern__model_writer_progress(j->w, j->file->tensors[c->source].bytes);
    }
    tern_model_file_close(written);
    return status;
}

static void report(const job *j)
{
    for (size_t i = 0; i < j->n && j->o.report; i++) {
        const tern__conversion *c = &j->plan[i];
        const tern_file_tensor *t = &j->file->tensors[c->source];
        bool exact = c->exact || c->values == 0;
        tern_convert_report r = {
            .name = t->name,
            .from = t->stored,
            .to = c->to,
            .lossless = exact,
            .as_loaded = !exact && (c->way == TERN__WAY_TERNARY || c->ternarised) && c->master,
            .sqnr_db = exact || c->errors == 0 ? (double)INFINITY : 10 * log10(c->values / c->errors),
            .cosine = exact            ? 1
                      : c->results > 0 ? c->product / sqrt(c->values * c->results)
                                       : 0,
        };
        j->o.report(j->o.user, &r);
    }
}

static void report_files(const job *j)
{
    for (size_t i = 0; i < j->beside.n && j->o.wrote; i++) {
        const tern__beside_file *f = &j->beside.files[i];
        j->o.wrote(j->o.user, &(tern_convert_file){f->path, f->text.length, f->part});
    }
    for (size_t i = 0; i < j->outputs.n && j->o.wrote; i++) {
        const tern__output *out = &j->outputs.files[i];
        j->o.wrote(j->o.user, &(tern_convert_file){out->path, out->bytes, TERN_CONVERT_TENSORS});
    }
}

/* What cannot be loaded is not called a model that lost nothing; and what a config.json says and GGUF has no key for does not reach the new
 * file, which would be taken then, and be wrong. A file that does not tell how many layers it has is no model but some tensors, and one of
 * another architecture keeps its name, by which it is refused before and afterwards: both go through, and it is said. */
static tern_status check_model(job *j)
{
    const tern__architecture *a = tern__architecture_in(j->file);
    char key[TERN__ARCH_KEY];
    int at;
    const bool model =
        tern_model_file_meta_find(j->file, tern__hparam_key(a ? a->name : "", TERN__HPARAM_LAYERS, key),
                                  &at) == TERN_OK ||
        tern_model_file_meta_find(j->file, "split.count", &at) == TERN_OK;
    const tern_status status = tern_model_check(j->file);
    if (model || status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    add_remark(j, "tensors are converted as they are, but Tern cannot run the new file: %s",
               tern_last_error());
    return TERN_OK;
}

static tern_status compare_tokens(const tern_vocabulary *d, void *user)
{
    job *j = user;
    if (tern__tokens_check((int64_t)d->n_tokens, tern_model_file_vocabulary(j->file)) != TERN_OK)
        add_remark(j, "the new file cannot be run: %s", tern_last_error());
    return TERN_OK;
}

/* From GGUF to GGUF a vocabulary goes as it is. Nobody else would say that no tokenizer can be made of it. */
static tern_status check_copied_vocabulary(job *j)
{
    tern_tokenizer *t = NULL;
    if (j->o.tokenizer || j->format != TERN_FILE_GGUF || !tern__has_vocabulary(j->file))
        return TERN_OK;
    const tern_status status = tern_tokenizer_from_file(j->file, NULL, &t);
    tern_tokenizer_free(t);
    if (status != TERN_OK && status != TERN_UNAVAILABLE && status != TERN_OUT_OF_MEMORY)
        add_remark(j, "the new file cannot be run without another tokenizer: %s", tern_last_error());
    return status == TERN_OUT_OF_MEMORY ? status : TERN_OK;
}

/* What the new file will lack, or have too much of. Why a tokenizer cannot be read is said by who writes it. */
static tern_status check_tokenizer(job *j)
{
    if (j->format == TERN_FILE_LLAMA2C) {
        TERN__FAIL_IF(
            j->o.tokenizer, TERN_INVALID_ARGUMENT,
            "llama2.c keeps the tokenizer in a file of its own: it cannot be written into the model's");
        return TERN_OK;
    }
    if (!j->o.tokenizer && j->file->format == TERN_FILE_LLAMA2C)
        add_remark(j, "the new file has no tokenizer: llama2.c keeps it in a file of its own, to be "
                      "named when it is converted, or whenever the model runs");
    const tern_status status = j->o.tokenizer
                                   ? tern__vocabulary_of_tokenizer(j->o.tokenizer, compare_tokens, j)
                                   : tern__vocabulary_of_file(j->file, false, compare_tokens, j);
    return status == TERN_OUT_OF_MEMORY ? status : check_copied_vocabulary(j);
}

static tern_status run(job *j, const char *path)
{
    tern__llama2c_shape shape = {0};
    const tern__destination to = {.path = path,
                                  .format = tern__format_of_name(path),
                                  .most_bytes = j->o.shard_bytes,
                                  .llama2c = &shape};
    j->format = to.format;
    TERN_TRY(check_model(j));
    TERN_TRY(check_tokenizer(j));
    if (to.format == TERN_FILE_SAFETENSORS)
        TERN_TRY(tern__architecture_of(j->file, &j->architecture));
    if (to.format == TERN_FILE_LLAMA2C)
        TERN_TRY(tern__llama2c_shape_of(j->file, &shape));
    TERN_TRY(make_scratch(j));
    TERN_TRY(tern__plan_conversion(j->ctx, j->file, &j->o, j->format, &j->work, &j->plan, &j->n));
    if (to.format == TERN_FILE_LLAMA2C)
        TERN_TRY(tern__plan_sort_for_llama2c(j->file, &shape, j->plan, j->n));
    TERN_TRY(tern__outputs_open(j->file, j->plan, j->n, &to, &j->work, &j->outputs));
    TERN_TRY(make_beside(j, path));
    for (size_t i = 0; i < j->outputs.n; i++) {
        j->w = &j->outputs.files[i].w;
        TERN_TRY(declare(j, &j->outputs.files[i]));
    }
    if (j->outputs.n > 1)
        TERN_TRY(add_index(j, path));
    for (size_t i = 0; i < j->outputs.n; i++) {
        j->w = &j->outputs.files[i].w;
        TERN_TRY(write_tensors(j, &j->outputs.files[i]));
        TERN_TRY(read_back(j, &j->outputs.files[i]));
    }
    TERN_TRY(tern__hf_beside_write(&j->beside));
    return tern__outputs_commit(&j->outputs);
}

tern_convert_options tern_convert_options_default(void)
{
    return (tern_convert_options){0};
}

tern_status tern_model_convert(tern_ctx *ctx, const tern_model_file *file, const char *path,
                               const tern_convert_options *options)
{
    TERN__FAIL_IF(!ctx || !file || !path, TERN_INVALID_ARGUMENT, "model_convert: an argument is NULL");
    job j = {.ctx = ctx, .file = file, .o = options ? *options : tern_convert_options_default()};
    j.work = (tern__model_work){.progress = j.o.progress, .user = j.o.user};
    tern_status status = run(&j, path);
    if (status == TERN_OK) {
        report(&j);
        report_files(&j);
    }
    if (status == TERN_OK && j.remark[0])
        tern__log(TERN_LOG_WARN, "%s", j.remark);
    tern__outputs_free(&j.outputs, status == TERN_OK);
    tern__hf_beside_free(&j.beside, status == TERN_OK);
    tern__free(j.plan);
    tern__free(j.before);
    tern__free(j.after);
    tern__free(j.encoded);
    tern__free(j.codes);
    return status;
}

/* convert_plan.c - what becomes of each tensor of a model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "model/arch/hparams.h"
#include "model/file/codec.h"
#include "model/convert/convert.h"
#include "model/convert/ternary_write.h"
#include "model/arch/parts.h"
#include "model/file/load.h"
#include "model/file/safetensors_types.h"
#include "model/file/stored.h"
#include "tensor/convert.h"

/* Can it be a weight of a product? Wider than tern__part_is_linear: files of architectures that are not known are converted, too. */
static bool may_be_linear(const tern_file_tensor *t)
{
    int64_t layer;
    const char *suffix;
    tern__part_parse(TERN__NAMES_GGUF, t->name, &layer, &suffix);
    return t->rank == 2 && layer >= 0 && strcmp(suffix, ".weight") == 0;
}

static bool is_table(const tern_file_tensor *t)
{
    int64_t layer;
    const tern__part *part = tern__part_of(t->name, &layer);
    return part && (part->role == TERN__ROLE_TABLE || part->role == TERN__ROLE_HEAD);
}

/* Weights that are ternarised by whoever loads them. */
static bool is_master(const tern_model_file *file, const tern_file_tensor *t)
{
    return file->master_weights && may_be_linear(t) && tern_stored_get(t->stored)->kind == TERN_STORED_PLAIN;
}

/* Does the name of its architecture say that linear layers are ternary? Of others floats are taken as they are, and no scale beside them counts. */
static bool named_ternary(const tern_model_file *file)
{
    const tern__architecture *a = tern__architecture_in(file);
    return a && a->ternary;
}

/* Ternary weights in GGUF: I2_S takes any scale, but rows that fill its blocks. Others can be numbers, where a BitNet says by its
 * name that they are ternary. */
static tern_stored ternary_in_gguf(const tern_model_file *file, const tern_file_tensor *t)
{
    return t->rank > 0 && named_ternary(file)
               ? tern__ternary_fallback(TERN_STORED_I2_S, t->shape[t->rank - 1])
               : TERN_STORED_I2_S;
}

/* What a tensor that nobody asked about becomes in GGUF. */
static tern_stored type_in_gguf(const tern_model_file *file, const tern_file_tensor *t)
{
    bool half = t->stored == TERN_STORED_F16 || t->stored == TERN_STORED_BF16;
    if (t->stored == TERN_STORED_HF_T2)
        return ternary_in_gguf(file, t);
    if ((half && t->rank < 2) || t->stored == TERN_STORED_F64 || t->stored == TERN_STORED_I8_GROUPS)
        return TERN_STORED_F32;
    return tern_stored_get(t->stored)->gguf_number < 0 ? TERN_STORED_AS_IS : t->stored;
}

/* And in safetensors: blocks of numbers become f32, which holds them as they are. */
static tern_stored type_in_safetensors(const tern_file_tensor *t)
{
    const tern_stored_info *info = tern_stored_get(t->stored);
    if (info->kind == TERN_STORED_TERNARY)
        return TERN_STORED_HF_T2;
    return tern__safetensors_type_name(t->stored) ? t->stored
           : tern__stored_has_values(t->stored)   ? TERN_STORED_F32
                                                  : TERN_STORED_AS_IS;
}

static tern_stored type_wanted(const tern_model_file *file, const tern_file_tensor *t,
                               const tern_convert_options *o, tern_file_format format)
{
    bool to_gguf = format == TERN_FILE_GGUF;
    if (may_be_linear(t) && o->type != TERN_STORED_AS_IS)
        return o->type;
    if (is_table(t) && o->embedding != TERN_STORED_AS_IS)
        return o->embedding;
    if (format == TERN_FILE_LLAMA2C)
        return TERN_STORED_F32; /* which is all it has */
    /* master weights mean what they are ternarised to: as floats they would be another model; and so would a BitNet's floats, for
     * all who read safetensors and know of master weights only */
    if (may_be_linear(t) && tern__says_ternary(file) &&
        (file->format == TERN_FILE_SAFETENSORS || format == TERN_FILE_SAFETENSORS) &&
        tern_stored_get(t->stored)->kind == TERN_STORED_PLAIN)
        return to_gguf ? ternary_in_gguf(file, t) : TERN_STORED_HF_T2;
    return to_gguf ? type_in_gguf(file, t) : type_in_safetensors(t);
}

static tern_status plan_order(const tern_model_file *file, const tern_file_tensor *t, tern_file_format format,
                              tern__conversion *c)
{
    const tern__architecture *a = tern__architecture_in(file);
    tern__rope_pairs before, after;
    char key[TERN__ARCH_KEY];
    int64_t heads = 0, in_pairs;
    int64_t layer;
    const tern__part *part = tern__part_of(t->name, &layer);
    const bool q = part == tern__part_get(TERN__PART_Q), k = part == tern__part_get(TERN__PART_K);
    if ((!q && !k) || !a)
        return TERN_OK;
    TERN_TRY(tern__rope_pairs_of(file, a, &before));
    after =
        format == TERN_FILE_SAFETENSORS ? TERN__ROPE_HALVES : a->gguf_pairs; /* llama2.c: GGUF's of LLaMA */
    if (before == after)
        return TERN_OK;
    tern__hparam_key(a->name, TERN__HPARAM_KV_HEADS, key);
    if (q || tern_model_file_get_int(file, key, &heads) != TERN_OK)
        TERN_TRY(tern_model_file_get_int(file, tern__hparam_key(a->name, TERN__HPARAM_HEADS, key), &heads));
    TERN__FAIL_IF(heads < 1 || !tern__i64_mul(2, heads, &in_pairs) || t->shape[0] % in_pairs != 0,
                  TERN_FORMAT, "%s: the %lld rows of '%s' cannot be put in another order within %lld heads",
                  file->parts[0].path, (long long)t->shape[0], t->name, (long long)heads);
    c->heads = heads;
    c->to_halves = after == TERN__ROPE_HALVES;
    return TERN_OK;
}

tern_status tern__load_for_conversion(tern_ctx *ctx, const tern_model_file *file, int i, bool force,
                                      tern_tensor **codes, tern_tensor **scales, bool *exact)
{
    const bool master =
        file->master_weights && tern_stored_get(file->tensors[i].stored)->kind != TERN_STORED_TERNARY;
    tern_status status = TERN_DTYPE;
    if (!master) /* those get their mean, exactly ternary or not */
        status = tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_EXACT, codes, scales);
    *exact = status == TERN_OK;
    if (status != TERN_DTYPE)
        return status;
    return tern_model_file_load_ternary(ctx, file, i, TERN_T2,
                                        force ? TERN_TERNARY_ABSMEAN : TERN_TERNARY_DECLARED, codes, scales);
}

/* A scale beside a weight whose bytes or numbers go on without it goes on too. */
static tern_status keep_scale(const tern_model_file *file, tern__conversion *c)
{
    const tern_file_tensor *t = &file->tensors[c->source];
    float scale;
    tern_status status = tern__scale_read(file, t, &scale, &c->own_scale);
    if (status != TERN_OK)
        return tern__load_fail(file, t, status);
    if (c->own_scale)
        c->scale = scale;
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
        const tern__codec *codec = tern__codec_get(c->to);
        TERN__FAIL_IF(codec && codec->scales != TERN__SCALES_BLOCKS && n > 1, TERN_UNSUPPORTED,
                      "%s: tensor '%s' has a scale for each block; %s has one: use tq1_0 or tq2_0",
                      file->parts[0].path, name, tern_stored_get(c->to)->name);
        bool fits = tern__stored_holds_scales(c->to, s, n);
        if (!codec && tern__t2_is_zero(tern_data(codes), (int64_t)tern_nbytes(codes)))
            fits = false; /* zeros do not tell it */
        if (!fits && n > 1 && c->way == TERN__WAY_TERNARY) {
            /* blocks keep their f16 where they have a factor beside them, and it stays there */
            TERN_TRY(keep_scale(file, c));
            TERN__FAIL_IF(!c->own_scale || !tern__scales_have_factor(s, n, c->scale), TERN_UNSUPPORTED,
                          "%s: tensor '%s' has scales of blocks that f16 does not hold", file->parts[0].path,
                          name);
            return TERN_OK;
        }
        c->own_scale = !fits && n == 1 &&
                       (c->way == TERN__WAY_TERNARY || c->ternarised || (exact && named_ternary(file)));
        c->signs = c->own_scale && c->way == TERN__WAY_VALUES;
        c->scale = s[0];
    }
    return TERN_OK;
}

/* Has the format such a type, and does a row fill its blocks? Or do rows fill the bytes that they share? */
static tern_status check_type(const tern_model_file *file, const tern_file_tensor *t, tern_file_format format,
                              tern_stored to)
{
    TERN_TRY(tern__fail_of(tern__format_get(format)->check_type(t, to, !is_table(t)), file->parts[0].path));
    const int planes = tern__codec_planes(to);
    const char *name = tern_stored_get(to)->name;
    TERN__FAIL_IF(planes > 1 && t->shape[0] % planes != 0, TERN_SHAPE,
                  "%s: tensor '%s' has %lld rows: %s packs %d into one, and could not say how many of "
                  "the last there are: choose f32, f16 or bf16",
                  file->parts[0].path, t->stored_name, (long long)t->shape[0], name, planes);
    const int block = planes > 1 ? 1 : tern_stored_get(to)->block_elements;
    const int64_t columns = t->rank ? t->shape[t->rank - 1] : 1;
    TERN__FAIL_IF(
        columns % block != 0, TERN_SHAPE,
        "%s: tensor '%s' cannot be %s: its rows have %lld elements, which blocks of %d do not fill: "
        "choose f32, f16 or bf16, or hf_t2 in safetensors, which have no blocks",
        file->parts[0].path, t->stored_name, name, (long long)columns, block);
    return TERN_OK;
}

/* One tensor: where it comes from, and what is asked of it. */
typedef struct question {
    tern_ctx *ctx;
    const tern_model_file *file;
    const tern_convert_options *o;
    tern_file_format format; /* of the new file */
    const tern_file_tensor *t;
    bool was_codes, to_codes; /* in a ternary type before and afterwards */
    tern__conversion *c;
} question;

static const char *path_of(const question *q)
{
    return q->file->parts[0].path;
}

static const char *type_of(const question *q)
{
    return tern_stored_get(q->c->to)->name;
}

/* ---- what is refused ------------------------------------------------------------------------------------------------- */

/* Only what holds weights has a writer of numbers. */
static tern_status refuse_no_numbers(const question *q)
{
    TERN__FAIL_IF(q->c->way == TERN__WAY_VALUES && !tern__stored_holds_weights(q->c->to), TERN_DTYPE,
                  "%s: tensor '%s' cannot be written as %s", path_of(q), q->t->name, type_of(q));
    return TERN_OK;
}

/* No model can be loaded with such a table. */
static tern_status refuse_ternary_table(const question *q)
{
    TERN__FAIL_IF(q->c->way == TERN__WAY_TERNARY && is_table(q->t), TERN_DTYPE,
                  "%s: tensor '%s' cannot be %s: tables of tokens and heads are numbers in every model",
                  path_of(q), q->t->name, type_of(q));
    return TERN_OK;
}

/* Inputs of ternary weights are rounded, those of numbers are not, unless the name of an architecture or a config.json says so. */
static tern_status refuse_ordinary_layer(const question *q)
{
    const tern__architecture *a = tern__architecture_in(q->file);
    const bool ternary =
        q->was_codes || (may_be_linear(q->t) && tern__says_ternary(q->file) && !q->file->master_weights);
    TERN__FAIL_IF(
        ternary && !q->to_codes && a && !a->ternary && q->format != TERN_FILE_SAFETENSORS, TERN_DTYPE,
        "%s: as %s '%s' would be an ordinary layer, and the model another one: choose a ternary type",
        path_of(q), type_of(q), q->t->name);
    return TERN_OK;
}

/* config.json can say "packed codes" and "master weights"; -s, 0 and s are neither, and not all who read it leave them as they are. */
static tern_status refuse_numbers_of_our_own(const question *q)
{
    const bool ternary = q->was_codes || (tern__says_ternary(q->file) && !q->file->master_weights);
    TERN__FAIL_IF(ternary && !q->to_codes && may_be_linear(q->t) && q->format == TERN_FILE_SAFETENSORS,
                  TERN_UNSUPPORTED,
                  "%s: '%s' is ternary, and as %s in safetensors only Tern would read it as that: choose "
                  "hf_t2, or force it",
                  path_of(q), q->t->name, type_of(q));
    return TERN_OK;
}

/* Master weights are ternarised by whoever loads them, if the file says what they are, as config.json does. GGUF cannot: as floats
 * they would be another model. */
static tern_status refuse_masters(const question *q)
{
    TERN__FAIL_IF(q->c->master && !q->c->ternarised && !q->to_codes && q->format != TERN_FILE_SAFETENSORS,
                  TERN_DTYPE,
                  "%s: '%s' has master weights, which are ternarised when they are loaded: as %s they would "
                  "be another model; choose a ternary type",
                  path_of(q), q->t->name, type_of(q));
    return TERN_OK;
}

/* Numbers of several sizes are not ternary: whoever loads them would ternarise them anew, or refuse them. */
static tern_status refuse_several_scales(const question *q)
{
    if (q->c->way != TERN__WAY_VALUES || !q->was_codes)
        return TERN_OK;
    TERN_SCOPE(q->ctx) {
        tern_tensor *codes, *scales;
        TERN_TRY(tern_model_file_load_ternary(q->ctx, q->file, q->c->source, TERN_T2, TERN_TERNARY_EXACT,
                                              &codes, &scales));
        TERN__FAIL_IF(tern_numel(scales) > 1, TERN_UNSUPPORTED,
                      "%s: tensor '%s' has a scale for each block; as %s it would not be ternary any more: "
                      "use tq1_0 or tq2_0",
                      path_of(q), q->t->name, type_of(q));
    }
    return TERN_OK;
}

static const struct refusal {
    tern_status (*check)(const question *q);
    bool force; /* the caller can force it */
} refusals[] = {
    {refuse_no_numbers, false},        {refuse_ternary_table, false}, {refuse_ordinary_layer, true},
    {refuse_numbers_of_our_own, true}, {refuse_masters, true},        {refuse_several_scales, true},
};

/* ---- one tensor -------------------------------------------------------------------------------------------------------- */

/* Where its scale goes: into its type, or into a tensor beside it. */
static tern_status plan_scale_place(const question *q)
{
    tern__conversion *c = q->c;
    const bool values = c->way == TERN__WAY_VALUES, blocks = tern__stored_has_blocks(c->to);
    /* what may not hold a scale as it is */
    const bool narrow = values && (c->to == TERN_STORED_F16 || c->to == TERN_STORED_BF16 ||
                                   (blocks && named_ternary(q->file)));
    const bool numbers = narrow || (values && c->to == TERN_STORED_F32);
    if (c->way == TERN__WAY_TERNARY || (numbers && q->was_codes) || (narrow && c->ternarised))
        return plan_scale(q->ctx, q->file, q->o->force, c);
    if (c->ternarised)
        return TERN_OK; /* f32 holds any scale */
    if (c->way == TERN__WAY_COPY || !q->was_codes)
        TERN_TRY(keep_scale(q->file, c));
    /* ternary weights stored as floats keep their scale too */
    if (narrow && may_be_linear(q->t) && (!c->own_scale || blocks)) {
        tern_status status = plan_scale(q->ctx, q->file, false, c);
        return status == TERN_DTYPE || status == TERN_FORMAT ? TERN_OK : status;
    }
    return TERN_OK;
}

static tern_status plan_tensor(question *q)
{
    tern__conversion *c = q->c;
    c->to = type_wanted(q->file, q->t, q->o, q->format);
    TERN_TRY(check_type(q->file, q->t, q->format, c->to));
    TERN_TRY(plan_order(q->file, q->t, q->format, c));
    q->was_codes = tern_stored_get(q->t->stored)->kind == TERN_STORED_TERNARY;
    q->to_codes = tern_stored_get(c->to)->kind == TERN_STORED_TERNARY;
    c->master = is_master(q->file, q->t);
    /* GGUF cannot say that there is still something to be done: numbers are the ternary ones there */
    c->ternarised = c->master && named_ternary(q->file) && q->format == TERN_FILE_GGUF && !q->to_codes &&
                    tern_stored_keeps_ternary(c->to);
    if (c->to == q->t->stored && c->heads == 0 && !c->ternarised &&
        c->to != TERN_STORED_HF_T2) /* whose scale may mean something else */
        c->way = TERN__WAY_COPY;
    else
        c->way = q->to_codes ? TERN__WAY_TERNARY : TERN__WAY_VALUES;
    for (size_t i = 0; i < TERN__COUNT(refusals); i++)
        if (!refusals[i].force || !q->o->force)
            TERN_TRY(refusals[i].check(q));
    return plan_scale_place(q);
}

tern_status tern__plan_conversion(tern_ctx *ctx, const tern_model_file *file,
                                  const tern_convert_options *options, tern_file_format format,
                                  tern__model_work *work, tern__conversion **out, size_t *count)
{
    tern__conversion *plan = tern__alloc_zero(file->n_tensors + 1, sizeof *plan);
    bool *scales =
        tern__alloc_zero(file->n_tensors + 1, sizeof *scales); /* of weights, which take them along */
    tern_status status = plan && scales ? TERN_OK : tern__out_of_memory(file->n_tensors * sizeof *plan);
    size_t n = 0;
    for (size_t i = 0; i < file->n_tensors && status == TERN_OK; i++) {
        const int scale = tern__scale_of(file, &file->tensors[i]);
        if (scale >= 0)
            scales[scale] = true;
        work->total += 3 * file->tensors[i].bytes; /* read now; about as much is written, and read back */
    }
    for (size_t i = 0; i < file->n_tensors && status == TERN_OK; i++) {
        plan[n].source = (int)i;
        if (scales[i] || file->left_over[i])
            continue; /* a scale is written again with its weight, if it is still needed */
        status = plan_tensor(&(question){.ctx = ctx,
                                         .file = file,
                                         .o = options,
                                         .format = format,
                                         .t = &file->tensors[i],
                                         .c = &plan[n++]});
        if (status == TERN_OK)
            status = tern__model_work_add(work, file->parts[0].path, file->tensors[i].bytes);
    }
    work->total = work->done; /* what the writers declare is still to do */
    tern__free(scales);
    if (status != TERN_OK) {
        tern__free(plan);
        return status;
    }
    *out = plan;
    *count = n;
    return TERN_OK;
}

typedef struct placed {
    int64_t place;
    tern__conversion c;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

tern_status tern__plan_sort_for_llama2c(const tern_model_file *file, const tern__llama2c_shape *shape,
                                        tern__conversion *plan, size_t n)
{
    placed *sorted = tern__alloc_zero(n + 1, sizeof *sorted);
    if (!sorted)
        return tern__out_of_memory(n * sizeof *sorted);
    tern_status status = TERN_OK;
    for (size_t i = 0; i < n && status == TERN_OK; i++) {
        const char *name = file->tensors[plan[i].source].name;
        sorted[i] = (placed){tern__llama2c_place(shape, name), plan[i]};
        if (sorted[i].place < 0)
            status = tern__fail(TERN_UNSUPPORTED, "%s: llama2.c's files have no place for tensor '%s'",
                                file->parts[0].path, name);
    }
    qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 0; i < n && status == TERN_OK; i++)
        plan[i] = sorted[i].c;
    tern__free(sorted);
    return status;
}

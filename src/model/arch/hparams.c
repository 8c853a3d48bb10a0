/* hparams.c - what a file says about the shape of its model, checked: nothing that follows divides by zero or guesses. */
#include "model/arch/hparams.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/arch/settings.h"

typedef struct reader {
    const tern_model_file *file;
    const char *architecture;
} reader;

const tern__hparam_info *tern__hparam_get(tern__hparam id)
{
    static const tern__hparam_info rows[] = {
#define HPARAM(id, gguf, hf, kind, most) {gguf, hf, TERN__HPARAM_##kind, most},
#include "model/arch/hparams.def"
    };
    return &rows[id];
}

const char *tern__hparam_key(const char *architecture, tern__hparam id, char out[static TERN__ARCH_KEY])
{
    return tern__arch_key(architecture, tern__hparam_get(id)->gguf, out);
}

/* What is missing, by the name that it has in the file where people look for it. */
static tern_status fail_missing(const reader *r, tern__hparam id)
{
    const char *name = tern__hparam_get(id)->hf;
    TERN__FAIL_IF(name && tern_model_file_format(r->file) == TERN_FILE_SAFETENSORS, TERN_NOT_FOUND,
                  "the config.json beside it has no '%s'", name);
    return TERN_NOT_FOUND; /* which was said */
}

/* A size in [1, most]. Without an entry: `otherwise`, or an error if that is 0. */
static tern_status read_size_to(const reader *r, tern__hparam id, int64_t most, int64_t otherwise,
                                int64_t *out)
{
    char key[TERN__ARCH_KEY];
    int64_t value;
    tern_status status = tern_model_file_get_int(r->file, tern__hparam_key(r->architecture, id, key), &value);
    if (status == TERN_NOT_FOUND && otherwise > 0) {
        *out = otherwise;
        return TERN_OK;
    }
    if (status == TERN_NOT_FOUND)
        return fail_missing(r, id);
    TERN_TRY(status);
    TERN__FAIL_IF(value < 1 || value > most, TERN_OUT_OF_RANGE, "'%s' is %lld, not in 1..%lld", key,
                  (long long)value, (long long)most);
    *out = value;
    return TERN_OK;
}

static tern_status read_size(const reader *r, tern__hparam id, int64_t otherwise, int64_t *out)
{
    return read_size_to(r, id, tern__hparam_get(id)->most, otherwise, out);
}

/* A positive, finite number. `otherwise` as above. */
static tern_status read_number(const reader *r, tern__hparam id, double otherwise, double *out)
{
    char key[TERN__ARCH_KEY];
    double value;
    tern_status status =
        tern_model_file_get_float(r->file, tern__hparam_key(r->architecture, id, key), &value);
    if (status == TERN_NOT_FOUND && otherwise > 0) {
        *out = otherwise;
        return TERN_OK;
    }
    if (status == TERN_NOT_FOUND)
        return fail_missing(r, id);
    TERN_TRY(status);
    TERN__FAIL_IF(!(value > 0) || !isfinite(value), TERN_OUT_OF_RANGE, "'%s' is %g, not a positive number",
                  key, value);
    *out = value;
    return TERN_OK;
}

/* A window of attention means nothing to contexts that fit in it: the model has that context then. */
static tern_status limit_to_window(const reader *r, int64_t *context)
{
    char key[TERN__ARCH_KEY];
    int64_t window;
    tern_status status = tern_model_file_get_int(
        r->file, tern__hparam_key(r->architecture, TERN__HPARAM_WINDOW, key), &window);
    if (status == TERN_OK && window > 0 && window < *context)
        *context = window;
    return status == TERN_NOT_FOUND ? TERN_OK : status;
}

/* GGUF may be split into several files, of which each has some of the tensors, and the first perhaps none. */
static tern_status check_whole(const tern_model_file *file)
{
    int64_t count, number = 0;
    tern_status status = tern_model_file_get_int(file, "split.count", &count);
    if (status == TERN_NOT_FOUND || (status == TERN_OK && (count == 0 || count == 1)))
        return TERN_OK;
    TERN_TRY(status);
    status = tern_model_file_get_int(file, "split.no", &number);
    if (status != TERN_NOT_FOUND)
        TERN_TRY(status);
    TERN__FAIL_IF(number < 0 || number >= count, TERN_FORMAT,
                  "%s: its split.no is %lld, its split.count %lld: such a part cannot be",
                  tern_model_file_part(file, 0), (long long)number, (long long)count);
    return tern__fail(
        TERN_UNSUPPORTED,
        "%s: it is part %lld of the %lld that a model was split into: put them together first, as "
        "'llama-gguf-split --merge' does",
        tern_model_file_part(file, 0), (long long)number + 1, (long long)count);
}

static tern_status read_all(const tern_model_file *file, tern__hparams *out)
{
    const tern__architecture *a = NULL;
    TERN_TRY(check_whole(file));
    TERN_TRY(tern__architecture_of(file, &a));
    reader r = {file, a->name};
    tern__hparams h = {.architecture = a->name,
                       .activation = a->activation,
                       .sub_norms = a->sub_norms,
                       .ternary = tern__says_ternary(file)};
    TERN_TRY(tern__rope_pairs_of(file, a, &h.rope_pairs));
    TERN_TRY(read_size(&r, TERN__HPARAM_LAYERS, 0, &h.layers));
    TERN_TRY(read_size(&r, TERN__HPARAM_WIDTH, 0, &h.width));
    TERN_TRY(read_size(&r, TERN__HPARAM_FEED_FORWARD, 0, &h.feed_forward));
    TERN_TRY(read_size(&r, TERN__HPARAM_CONTEXT, 0, &h.context));
    TERN_TRY(read_size(&r, TERN__HPARAM_HEADS, 0, &h.heads));
    TERN_TRY(read_size(&r, TERN__HPARAM_KV_HEADS, h.heads, &h.kv_heads));
    TERN__FAIL_IF(h.heads % h.kv_heads != 0, TERN_SHAPE, "%lld heads cannot share %lld key heads",
                  (long long)h.heads, (long long)h.kv_heads);
    const bool even = h.width % h.heads == 0; /* else the file has to say how wide a head is */
    tern_status status = read_size(&r, TERN__HPARAM_HEAD_WIDTH, even ? h.width / h.heads : 0, &h.head_width);
    TERN__FAIL_IF(status == TERN_NOT_FOUND, TERN_SHAPE,
                  "a width of %lld cannot be split over %lld heads, and nothing says how wide they are",
                  (long long)h.width, (long long)h.heads);
    TERN_TRY(status);
    TERN_TRY(read_size_to(&r, TERN__HPARAM_ROPE_WIDTH, h.head_width, h.head_width, &h.rope_width));
    TERN__FAIL_IF(h.rope_width % 2 != 0, TERN_SHAPE, "positions rotate pairs, but %lld coordinates are odd",
                  (long long)h.rope_width);
    TERN_TRY(read_number(&r, TERN__HPARAM_NORM_EPS, 0, &h.norm_eps));
    TERN_TRY(read_number(&r, TERN__HPARAM_ROPE_THETA, 10000, &h.rope_theta));
    TERN_TRY(limit_to_window(&r, &h.context));
    char key[TERN__ARCH_KEY];
    status =
        tern_model_file_get_int(file, tern__hparam_key(a->name, TERN__HPARAM_VOCABULARY, key), &h.vocabulary);
    if (status == TERN_NOT_FOUND)
        h.vocabulary = 0;
    else
        TERN_TRY(status);
    TERN__FAIL_IF(status == TERN_OK && h.vocabulary < 1, TERN_FORMAT, "its vocab_size is %lld",
                  (long long)h.vocabulary);
    TERN_TRY(tern__settings_check(file, &h));
    *out = h;
    return TERN_OK;
}

tern_status tern__hparams_read(const tern_model_file *file, tern__hparams *out)
{
    return tern__fail_of(read_all(file, out), tern_model_file_part(file, 0));
}

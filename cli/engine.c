/* engine.c - opens models for commands: context, weights, tokenizer, session. */
#include "engine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metrics_file.h"
#include "progress.h"
#include "term.h"

/* A number in [least, most], or `fallback` if the option was not given. False: it is something else, and that was said. */
static bool take_number(const args *a, const char *name, double least, double most, double fallback,
                        double *out)
{
    const char *value = args_value(a, name);
    *out = fallback;
    if (!value)
        return true;
    char *end;
    errno = 0;
    *out = strtod(value, &end);
    if (*value && !*end && errno == 0 && *out >= least && *out <= most)
        return true;
    fail_usage("--%s: '%s' is not a number from %g to %g", name, value, least, most);
    return false;
}

static bool seed_of(const args *a, uint64_t *out)
{
    const char *value = args_value(a, "seed");
    if (!value || strcmp(value, "-1") == 0) { /* another text every time */
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        *out = ((uint64_t)t.tv_sec << 20 ^ (uint64_t)t.tv_nsec) & 0xffffffffu;
        return true;
    }
    char *end;
    errno = 0;
    *out = strtoull(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && errno == 0)
        return true;
    fail_usage("--seed: '%s' is not a whole number, nor -1 for another one every time", value);
    return false;
}

bool engine_sampling(const args *a, tern_sampling *out)
{
    tern_sampling s = tern_sampling_default();
    if (!take_number(a, "temp", -100, 100, s.temperature, &s.temperature) ||
        !args_int(a, "top-k", INT_MIN, 1 << 30, s.top_k, &s.top_k) ||
        !take_number(a, "top-p", 0, 1, s.top_p, &s.top_p) ||
        !take_number(a, "min-p", 0, 1, s.min_p, &s.min_p) ||
        !take_number(a, "repeat-penalty", 1e-3, 1e3, s.repeat_penalty, &s.repeat_penalty) ||
        !args_int(a, "repeat-last-n", -1, 1 << 30, s.repeat_last, &s.repeat_last) || !seed_of(a, &s.seed))
        return false;
    /* What llama.cpp's users write for: greedy, all of them, the likeliest alone, the whole context. */
    s.temperature = s.temperature > 0 ? s.temperature : 0;
    s.top_k = s.top_k > 0 ? s.top_k : 0;
    s.top_p = s.top_p > 0 ? s.top_p : 1e-9;
    s.repeat_last = s.repeat_last >= 0 ? s.repeat_last : 1 << 30;
    *out = s;
    return true;
}

bool engine_generate(const args *a, tern_generate_options *out)
{
    int most;
    tern_generate_options o = tern_generate_options_default();
    if (!engine_sampling(a, &o.sampling) || !args_int(a, "n-predict", -2, 1 << 30, -1, &most))
        return false;
    o.most = most < 0 ? -1 : most; /* -2, "until the context is full", is what -1 does, too */
    o.ignore_end = args_has(a, "ignore-eos");
    *out = o;
    return true;
}

bool engine_batch(const args *a, tern_dtype *cache, int64_t *batch)
{
    int rows;
    if (!args_int(a, "batch-size", 1, 65536, TERN_SESSION_BATCH, &rows))
        return false;
    *batch = rows;
    *cache = MODEL_CACHE;
    if (args_value(a, "cache-type"))
        tern_dtype_parse(args_value(a, "cache-type"), cache); /* one of the choices */
    return true;
}

tern_dtype engine_head(const args *a)
{
    static const struct {
        const char *word;
        tern_dtype type;
    } heads[] = {
#define HEAD_ROW(word, type) {word, type},
        HEAD_LIST(HEAD_ROW)
#undef HEAD_ROW
    };
    const char *value = args_value(a, "head");
    for (size_t i = 0; value && i < sizeof heads / sizeof *heads; i++)
        if (strcmp(value, heads[i].word) == 0)
            return heads[i].type;
    return (tern_dtype)0;
}

/* Is the head that was asked for the one that the file has? */
static bool is_own_head(const args *a, const engine *e)
{
    tern_model_info info;
    tern_model_get_info(e->model, &info);
    return tern_stored_get(info.head_stored)->dtype == engine_head(a);
}

/* Whole batches are compared: the last one may go beyond what was asked for. */
static bool show_compared(void *user, uint64_t done, uint64_t total)
{
    return progress_update(user, done < total ? done : total, total);
}

/* As many tokens as make a difference of one in a thousand visible. */
static int compare_heads(const args *a, engine *e)
{
    enum { TOKENS = 10000 };
    tern_head_agreement r;
    if (!engine_head(a))
        return EXIT_DONE;
    if (is_own_head(a, e)) {
        fprintf(stderr, "head as %s: that is what the file has, nothing is converted\n",
                args_value(a, "head"));
        return EXIT_DONE;
    }
    progress_begin_of("comparing heads", "tokens");
    tern_status status = tern_model_compare_heads(e->model, TOKENS, show_compared, NULL, &r);
    progress_end();
    if (status != TERN_OK)
        return fail_status(NULL);
    fprintf(stderr,
            "head as %s: the likeliest token is the same as with the file's for %lld of %lld random tokens "
            "(%.2f%%)\n",
            args_value(a, "head"), (long long)r.same, (long long)r.tokens,
            100.0 * (double)r.same / (double)r.tokens);
    return EXIT_DONE;
}

static int open_model(const args *a, engine *e)
{
    const tern_ctx_options options = tern_ctx_options_default();
    int code = device_open(a, &options, &e->ctx);
    if (code != EXIT_DONE)
        return code;
    const char *device = args_value(a, "device");
    e->builds_kernels = device && strcmp(device, "cpu") != 0;
    tern_model_options loading = tern_model_options_default();
    loading.head = engine_head(a);
    loading.progress = progress_update;
    code = model_open(a, &(tern_model_file_options){.guard = true}, &e->source);
    if (code != EXIT_DONE)
        return code;
    if (tern_model_load_file(e->ctx, e->source.file, &loading, &e->model) != TERN_OK)
        return model_fail(&e->source);
    const model_words words = {.own = args_value(a, "tokenizer"), .pre = args_value(a, "pre")};
    text why = {0};
    code = model_tokenizer(&e->source, &words, &e->tokenizer, &why) == TERN_OK
               ? EXIT_DONE
               : fail("%s", text_string(&why));
    text_free(&why);
    return code;
}

static int open_session(const args *a, engine_wishes wishes, engine *e)
{
    tern_model_info info;
    tern_model_get_info(e->model, &info);
    tern_session_options o = tern_session_options_default();
    int context, most = info.context < (1 << 30) ? (int)info.context : 1 << 30;
    int usual = wishes.context ? wishes.context : MODEL_CONTEXT;
    o.slots = wishes.slots;
    if (!args_int(a, "ctx-size", 0, 1 << 30, most < usual ? most : usual, &context) ||
        !engine_batch(a, &o.cache, &o.batch))
        return EXIT_USAGE;
    if (context > most)
        warn("the model was trained for %d positions: -c %d becomes %d", most, context, most);
    context = context == 0 || context > most ? most : context;
    o.context = context;
    tern_status status = tern_session_create(e->model, &o, &e->session);
    if (status == TERN_OK && args_has(a, "ease"))
        status = tern_governor_create(e->ctx, e->session, NULL, &e->governor);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

int engine_open(const args *a, engine_wishes wishes, engine *e)
{
    int code = open_model(a, e);
    return code == EXIT_DONE ? open_session(a, wishes, e) : code;
}

void engine_heeds_stops(const engine *e, bool heeds)
{
    if (e->builds_kernels)
        tern_ctx_set_stop(e->ctx, heeds ? progress_asked : NULL, NULL);
}

int engine_prepare(const args *a, engine *e, metrics_file *metrics)
{
    metrics_file none = {0};
    metrics = metrics ? metrics : &none;
    metrics_start_model(metrics, "load", e, tern_session_slots(e->session));
    progress_begin("loading"); /* weights are read as the program of one token is made */
    engine_heeds_stops(e, true);
    tern_status status = tern_session_prepare(e->session, 1, 1);
    engine_heeds_stops(e, false);
    progress_end();
    metrics_stop(metrics, status == TERN_OK);
    if (progress_stopped_by() != 0)
        return fail("stopped");
    return status == TERN_OK ? compare_heads(a, e) : fail_status(NULL);
}

tern_status engine_encode(const engine *e, const char *words, size_t length, bool special, int32_t **tokens,
                          size_t *n)
{
    const tern_encode_options options = {.parse_special = special, .goes_on = true};
    return tern_tokenizer_encode(e->tokenizer, words, length, &options, tokens, n);
}

void engine_close(engine *e)
{
    tern_governor_free(e->governor);
    tern_session_free(e->session);
    tern_tokenizer_free(e->tokenizer);
    tern_model_free(e->model);
    model_close(&e->source);
    tern_ctx_destroy(e->ctx);
}

/* engine.c - opens models for commands: context, weights, tokenizer, session. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "progress.h"
#include "term.h"

enum { USUAL_CONTEXT = 4096 };

bool engine_number(const args *a, const char *name, double least, double most, double fallback, double *out)
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
    *out = 0;
    if (!value)
        return true;
    if (strcmp(value, "-1") == 0) { /* another text every time */
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
    if (!engine_number(a, "temp", 0, 100, s.temperature, &s.temperature) ||
        !args_int(a, "top-k", 0, 1 << 30, s.top_k, &s.top_k) ||
        !engine_number(a, "top-p", 1e-9, 1, s.top_p, &s.top_p) ||
        !engine_number(a, "min-p", 0, 1, s.min_p, &s.min_p) ||
        !engine_number(a, "repeat-penalty", 1e-3, 1e3, s.repeat_penalty, &s.repeat_penalty) ||
        !args_int(a, "repeat-last-n", 0, 1 << 30, s.repeat_last, &s.repeat_last) || !seed_of(a, &s.seed))
        return false;
    *out = s;
    return true;
}

static int open_model(const args *a, const char *path, engine *e)
{
    const char *own = args_value(a, "tokenizer");
    tern_ctx_options options = tern_ctx_options_default();
    options.cpu = args_value(a, "cpu");
    if (!args_int(a, "threads", 1, 1024, 0, &options.threads))
        return EXIT_USAGE;
    tern_status status = tern_ctx_create(&options, &e->ctx);
    if (status == TERN_NOT_FOUND && options.cpu)
        return fail_usage("%s", tern_last_error());
    if (status != TERN_OK)
        return fail_status(NULL);
    progress_begin("loading");
    tern_model_options loading = tern_model_options_default();
    loading.progress = progress_update;
    status = tern_model_load(e->ctx, path, &loading, &e->model);
    progress_end();
    if (status == TERN_OK)
        status = own ? tern_tokenizer_load(own, NULL, &e->tokenizer)
                     : tern_tokenizer_from_file(tern_model_get_file(e->model), NULL, &e->tokenizer);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static int open_session(const args *a, engine_wishes wishes, engine *e)
{
    /* At level high the products of one operand become one. */
    static tern_compile_options compile;
    compile = tern_compile_options_default();
    compile.level = TERN_LEVEL_HIGH;
    tern_model_info info;
    tern_model_get_info(e->model, &info);
    tern_session_options o = tern_session_options_default();
    o.compile = &compile;
    const char *cache = args_value(a, "cache");
    o.cache = cache && strcmp(cache, "f32") == 0 ? TERN_F32 : TERN_F16;
    int context, batch, most = info.context < (1 << 30) ? (int)info.context : 1 << 30;
    int usual = wishes.context ? wishes.context : USUAL_CONTEXT;
    o.slots = wishes.slots;
    if (!args_int(a, "ctx-size", 1, most, most < usual ? most : usual, &context) ||
        !args_int(a, "batch-size", 1, 65536, 512, &batch))
        return EXIT_USAGE;
    o.context = context;
    o.batch = batch;
    return tern_session_create(e->model, &o, &e->session) == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

int engine_open(const args *a, engine_wishes wishes, engine *e)
{
    const char *path = args_value(a, "model");
    if (!path)
        return fail_usage("which model? give its file with -m FILE");
    int code = open_model(a, path, e);
    return code == EXIT_DONE ? open_session(a, wishes, e) : code;
}

void engine_close(engine *e)
{
    tern_session_free(e->session);
    tern_tokenizer_free(e->tokenizer);
    tern_model_free(e->model);
    tern_ctx_destroy(e->ctx);
}

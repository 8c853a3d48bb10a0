/* heads.c - what a converted head does to a model: how often the likeliest token stays the same. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/status.h"
#include "model/file/load.h"
#include "model/model.h"

enum { ROWS = 256 };

typedef struct comparison {
    tern_model *m;
    tern_tensor *own; /* the head as the file has it */
    int64_t rows;     /* of a context */
    tern_tensor **cache[TERN__CACHE_COUNT];
    tern_program *program; /* (tokens, numbers) -> likeliest tokens of both heads */
    tern_exec *exec;
    int64_t *tokens, *numbers, *zeros; /* (rows) */
} comparison;

static tern_status make_cache(comparison *c)
{
    const tern__hparams *h = &c->m->h;
    for (int k = 0; k < TERN__CACHE_COUNT; k++) {
        c->cache[k] = tern__alloc_zero((size_t)h->layers, sizeof *c->cache[k]);
        if (!c->cache[k])
            return tern__out_of_memory((size_t)h->layers * sizeof *c->cache[k]);
    }
    for (int k = TERN__CACHE_KEYS; k <= TERN__CACHE_VALUES; k++)
        for (int64_t i = 0; i < h->layers; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s %lld", k == TERN__CACHE_KEYS ? "keys" : "values", (long long)i);
            tern_tensor *t =
                tern_state(c->m->ctx, name, TERN_F16, 4, (int64_t[]){1, c->rows, h->kv_heads, h->head_width});
            TERN_TRY(tern_status_of(t));
            c->cache[k][i] = tern_keep(t);
        }
    return TERN_OK;
}

static tern_status compile(comparison *c)
{
    tern_ctx *ctx = c->m->ctx;
    const int64_t shape[] = {c->rows};
    tern_compile_options high = tern_compile_options_default();
    high.level = TERN_LEVEL_HIGH;
    tern_tensor *numbers = tern_input(ctx, "numbers", TERN_I64, 1, shape), *outputs[TERN__CACHE_COUNT];
    const tern__decoder_rows rows = {.tokens = tern_input(ctx, "tokens", TERN_I64, 1, shape),
                                     .slots = tern_input(ctx, "slots", TERN_I64, 1, shape),
                                     .positions = numbers,
                                     .wanted = numbers,
                                     .cache = c->cache};
    int n;
    tern_tensor *x = tern__decoder_hidden(c->m, &rows, outputs, &n);
    outputs[0] = tern_argmax(tern_linear(x, c->m->head), 1, false);
    outputs[1] = tern_argmax(tern_linear(x, c->own), 1, false);
    TERN_TRY(tern_compile(ctx, 2, outputs, NULL, &high, &c->program));
    return tern_exec_create_in_place(ctx, c->program, &c->exec);
}

static tern_status allocate(comparison *c)
{
    c->tokens = tern__alloc_zero((size_t)c->rows, sizeof *c->tokens);
    c->numbers = tern__alloc_zero((size_t)c->rows, sizeof *c->numbers);
    c->zeros = tern__alloc_zero((size_t)c->rows, sizeof *c->zeros);
    if (!c->tokens || !c->numbers || !c->zeros)
        return tern__out_of_memory((size_t)c->rows * sizeof *c->tokens);
    for (int64_t i = 0; i < c->rows; i++)
        c->numbers[i] = i;
    return TERN_OK;
}

static tern_status prepare(comparison *c)
{
    TERN_TRY(allocate(c));
    TERN_TRY(tern__load_later(c->m->ctx, c->m->file, c->m->head_at, &c->own));
    tern_keep(c->own);
    TERN_TRY(make_cache(c));
    return compile(c);
}

static void end(comparison *c)
{
    tern_exec_free(c->exec);
    tern_program_free(c->program);
    for (int k = 0; k < TERN__CACHE_COUNT; k++) {
        for (int64_t i = 0; c->cache[k] && i < c->m->h.layers; i++)
            tern_release(c->cache[k][i]);
        tern__free(c->cache[k]);
    }
    tern_release(c->own);
    tern__free(c->tokens);
    tern__free(c->numbers);
    tern__free(c->zeros);
}

/* One context of arbitrary tokens. */
static tern_status run(comparison *c, uint64_t first, int64_t *same)
{
    static const char *const names[] = {"tokens", "numbers", "slots"};
    const int64_t *data[] = {c->tokens, c->numbers, c->zeros};
    tern_tensor *bound[3], *out[2];
    for (int64_t i = 0; i < c->rows; i++)
        c->tokens[i] = (int64_t)(tern__random_uniform(0, first + (uint64_t)i) * (double)c->m->vocabulary);
    for (int i = 0; i < 3; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(c->program, i, &port));
        for (int k = 0; k < 3; k++)
            if (strcmp(port.name, names[k]) == 0)
                bound[i] = tern_from_data(c->m->ctx, TERN_I64, 1, (int64_t[]){c->rows}, data[k]);
    }
    TERN_TRY(tern_exec_run(c->exec, 3, bound, 2, out));
    TERN_TRY(tern__model_file_check_mapped(c->m->file));
    const int64_t *a = tern_data(out[0]), *b = tern_data(out[1]);
    if (!a || !b)
        return tern_status_of(a ? out[1] : out[0]);
    for (int64_t i = 0; i < c->rows; i++)
        *same += a[i] == b[i];
    return TERN_OK;
}

static tern_status compare(comparison *c, int64_t tokens, tern_model_progress progress, void *user,
                           tern_head_agreement *result)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(c->m->ctx)
        status = prepare(c);
    while (status == TERN_OK && result->tokens < tokens) {
        TERN_SCOPE(c->m->ctx)
            status = run(c, (uint64_t)result->tokens, &result->same);
        result->tokens += c->rows;
        if (status == TERN_OK && progress && !progress(user, (uint64_t)result->tokens, (uint64_t)tokens))
            status = tern__fail(TERN_CANCELLED, "model: comparing heads was stopped");
    }
    return status;
}

tern_status tern_model_compare_heads(tern_model *model, int64_t tokens, tern_model_progress progress,
                                     void *user, tern_head_agreement *out)
{
    TERN__FAIL_IF(!model || !out, TERN_INVALID_ARGUMENT, "model_compare_heads: an argument is NULL");
    TERN__FAIL_IF(tokens < 1, TERN_OUT_OF_RANGE, "model_compare_heads: %lld tokens", (long long)tokens);
    comparison c = {.m = model, .rows = model->h.context < ROWS ? model->h.context : ROWS};
    tern_head_agreement result = {0, 0};
    tern_status status = compare(&c, tokens, progress, user, &result);
    end(&c);
    if (status == TERN_OK)
        *out = result;
    return status;
}

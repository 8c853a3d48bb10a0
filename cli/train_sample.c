/* train_sample.c - what the model writes so far: exported and run as its users will run it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tern/generate.h>
#include <tern/model.h>

#include "term.h"
#include "train.h"

bool train_can_export(const train_run *r)
{
    return r->config.options.shape.weights == TERN_TRAIN_WEIGHTS_TERNARY;
}

bool train_shows_samples(const train_run *r)
{
    return r->config.every_sample > 0 && train_can_export(r) && !r->quiet && !r->as_json;
}

static tern_train_export_options export_options(const train_run *r)
{
    const tern_train_config *c = &r->config;
    return (tern_train_export_options){.type = c->export_type,
                                       .embedding = c->export_embedding,
                                       .name = *c->export_name ? c->export_name : NULL};
}

tern_status train_check_export(const train_run *r)
{
    const tern_train_export_options o = export_options(r);
    return train_can_export(r) ? tern_train_export_check(&r->config.options.shape, &o) : TERN_OK;
}

tern_status train_export(train_run *r, const char *path)
{
    const tern_train_export_options o = export_options(r);
    return tern_trainer_export(r->trainer, r->tokenizer, path, &o);
}

static bool take_piece(void *user, const tern_generated *piece)
{
    text_add_n(user, piece->text, piece->length);
    return true;
}

static tern_status generate(const train_run *r, tern_session *session, text *out)
{
    const char *prompt = r->config.sample_prompt;
    const tern_encode_options plain = {.no_special = true};
    tern_generate_options o = tern_generate_options_default();
    tern_sequence *sequence;
    tern_generate_result result;
    tern_tokenizer_info info;
    int32_t *ids;
    size_t n;
    o.most = r->config.sample_tokens;
    o.sampling.temperature = r->config.sample_temperature;
    o.sampling.seed = r->config.options.seed;
    TERN_TRY(tern_tokenizer_get_info(r->tokenizer, &info));
    TERN_TRY(tern_tokenizer_encode(r->tokenizer, prompt, strlen(prompt), &plain, &ids, &n));
    text_add(out, prompt);
    tern_status status = tern_sequence_create(session, 0, &sequence);
    if (status == TERN_OK) {
        /* where a text ends, another begins */
        const int32_t *start = n > 0 ? ids : &info.eos;
        status = tern_sequence_prompt(sequence, start, n > 0 ? (int64_t)n : 1, NULL, NULL);
        if (status == TERN_OK)
            status = tern_generate(sequence, r->tokenizer, &o, take_piece, out, &result);
        tern_sequence_free(sequence);
    }
    tern_tokens_free(ids);
    return status;
}

static tern_status run_model(const train_run *r, tern_ctx *ctx, const char *path, text *out)
{
    tern_session_options o = tern_session_options_default();
    tern_model_options loading = tern_model_options_default();
    tern_model *model;
    tern_session *session;
    loading.guard = true;
    o.context = r->config.options.shape.context;
    TERN_TRY(tern_model_load(ctx, path, &loading, &model));
    tern_status status = tern_session_create(model, &o, &session);
    if (status == TERN_OK) {
        status = generate(r, session, out);
        tern_session_free(session);
    }
    tern_model_free(model);
    return status;
}

tern_status train_sample(train_run *r, text *out)
{
    /* a context of its own: what the model needs goes with it */
    tern_ctx_options o = tern_ctx_options_default();
    tern_ctx *ctx;
    text path = train_path(r, TRAIN_SAMPLE_FILE);
    o.threads = tern_ctx_threads(r->ctx);
    o.cpu = args_value(r->a, "cpu");
    tern_status status = train_export(r, text_string(&path));
    if (status == TERN_OK)
        status = tern_ctx_create(&o, &ctx);
    if (status == TERN_OK) {
        status = run_model(r, ctx, text_string(&path), out);
        tern_ctx_destroy(ctx);
    }
    unlink(text_string(&path));
    text_free(&path);
    return status;
}

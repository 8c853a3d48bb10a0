/* test_null_models.c - models and sessions with NULL for each pointer in turn. */
#include "null_arguments.h"
#include "tiny_model.h"

static void try_sequences(tern_session *session)
{
    const int32_t prompt[] = {1, 2, 3};
    tern_sequence *q;
    CHECK_OK(tern_sequence_create(session, 0, &q));
    REFUSED(tern_sequence_create(NULL, 0, &o.sequence));
    REFUSED(tern_sequence_create(session, 0, NULL));
    NEUTRAL(tern_sequence_logits(q), NULL); /* nothing is in it yet */
    CHECK_STATUS(tern_generate(q, NULL, NULL, NULL, NULL, &o.generate_result), TERN_STATE);
    REFUSED(tern_sequence_prompt(NULL, prompt, 3, NULL, NULL));
    REFUSED(tern_sequence_prompt(q, NULL, 3, NULL, NULL));
    ALLOWED(tern_sequence_prompt(q, prompt, 3, NULL, NULL));
    REFUSED(tern_sequence_copy(NULL, q));
    REFUSED(tern_sequence_copy(q, NULL));
    ALLOWED(tern_sequence_copy(q, q));
    ALLOWED(tern_sequence_push(q, 4));
    REFUSED(tern_sequence_push(NULL, 4));
    NEUTRAL(tern_sequence_length(NULL), 0);
    NEUTRAL(tern_sequence_reused(NULL), 0);
    NEUTRAL(tern_sequence_tokens(NULL), NULL);
    NEUTRAL(tern_sequence_logits(NULL), NULL);
    tern_generate_options options = tern_generate_options_default();
    options.most = 1;
    tern_generate_result result;
    CHECK_OK(tern_generate(q, NULL, &options, NULL, NULL, &result));
    REFUSED(tern_generate(NULL, NULL, &options, NULL, NULL, &o.generate_result));
    REFUSED(tern_generate(q, NULL, &options, NULL, NULL, NULL));
    CHECK_OK(tern_generate_many(1, &q, NULL, &options, NULL, NULL, &result));
    REFUSED(tern_generate_many(1, NULL, NULL, &options, NULL, NULL, &o.generate_result));
    REFUSED(tern_generate_many(1, (tern_sequence *[]){NULL}, NULL, &options, NULL, NULL, &o.generate_result));
    REFUSED(tern_generate_many(1, &q, NULL, NULL, NULL, NULL, &o.generate_result));
    REFUSED(tern_generate_many(1, &q, NULL, &options, NULL, NULL, NULL));
    REFUSED(tern_generate_many(2, (tern_sequence *[]){q, q}, NULL,
                               (tern_generate_options[]){options, options}, NULL, NULL, &o.generate_result));
    CHECK_STR(tern_finish_name(result.finish), "length");
    QUIET(tern_sequence_free(NULL));
    tern_sequence_free(q);
}

TEST(sampling)
{
    tern_sampling s = tern_sampling_default();
    float logits[3] = {0, 1, 2};
    tern_token_logprob top[2];
    int count;
    REFUSED(tern_sample(NULL, 3, logits, 0, NULL, 0, &o.token));
    REFUSED(tern_sample(&s, 3, NULL, 0, NULL, 0, &o.token));
    REFUSED(tern_sample(&s, 3, logits, 1, NULL, 0, &o.token));
    REFUSED(tern_sample(&s, 3, logits, 0, NULL, 0, NULL));
    REFUSED(tern_logprob_of(3, NULL, 0, &o.real32));
    REFUSED(tern_logprob_of(3, logits, 0, NULL));
    REFUSED(tern_logprobs(3, NULL, 2, top, &count));
    REFUSED(tern_logprobs(3, logits, 2, NULL, &count));
    REFUSED(tern_logprobs(3, logits, 2, top, NULL));
}

TEST(models_and_sessions)
{
    char path[4096];
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK(harness_path(path, sizeof path, "null-model.gguf"));
    CHECK(tiny_model(path, "bitnet-b1.58"));
    CHECK_EQ(tern_model_options_default().ternary, TERN_T2);
    NEUTRAL(tern_model_architecture_name(-1), NULL);
    NEUTRAL(tern_convert_ending(-1), NULL);
    NEUTRAL(tern_convert_ending(1000), NULL);
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    REFUSED(tern_model_check(NULL));
    REFUSED(tern_model_plan_memory(NULL, NULL, &(tern_model_memory){0}));
    REFUSED(tern_model_load(NULL, path, NULL, &o.model));
    REFUSED(tern_model_load(ctx, NULL, NULL, &o.model));
    REFUSED(tern_model_load(ctx, path, NULL, NULL));
    tern_model_file *file;
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    REFUSED(tern_model_plan_memory(file, NULL, NULL));
    REFUSED(tern_model_load_file(NULL, file, NULL, &o.model));
    REFUSED(tern_model_load_file(ctx, NULL, NULL, &o.model));
    REFUSED(tern_model_load_file(ctx, file, NULL, NULL));
    tern_model_file_close(file);
    QUIET(tern_model_get_info(NULL, &o.model_info));
    QUIET(tern_model_get_info(model, NULL));
    CHECK(tern_model_get_file(model) != NULL);
    NEUTRAL(tern_model_get_file(NULL), NULL);
    CHECK_EQ(tern_session_options_default().slots, 1);
    CHECK_OK(tern_session_create(model, NULL, &session));
    REFUSED(tern_session_create(NULL, NULL, &o.session));
    REFUSED(tern_session_create(model, NULL, NULL));
    NEUTRAL(tern_session_slots(NULL), 0);
    NEUTRAL(tern_session_context(NULL), 0);
    NEUTRAL(tern_session_batch(NULL), 0);
    NEUTRAL(tern_session_vocabulary(NULL), 0);
    NEUTRAL(tern_session_cache_bytes(NULL), 0u);
    static float logits[TINY_VOCABULARY];
    const tern_session_row row = {1, 0, 0};
    const int wanted = 0;
    CHECK_OK(tern_session_feed(session, 1, &row, 1, &wanted, logits));
    REFUSED(tern_session_feed(NULL, 1, &row, 1, &wanted, logits));
    REFUSED(tern_session_feed(session, 1, NULL, 1, &wanted, logits));
    REFUSED(tern_session_feed(session, 1, &row, 1, NULL, logits));
    REFUSED(tern_session_feed(session, 1, &row, 1, &wanted, NULL));
    tern_head_agreement agreement;
    REFUSED(tern_model_compare_heads(NULL, 1, NULL, NULL, &agreement));
    REFUSED(tern_model_compare_heads(model, 1, NULL, NULL, NULL));
    REFUSED(tern_session_copy(NULL, 0, 0, 1));
    ALLOWED(tern_session_copy(session, 0, 0, 1));
    REFUSED(tern_session_prepare(NULL, 1, 1));
    ALLOWED(tern_session_prepare(session, 1, 1));
    REFUSED(tern_session_get_program(NULL, 0, &o.session_program));
    REFUSED(tern_session_get_program(session, 0, NULL));
    try_sequences(session);
    QUIET(tern_session_free(NULL));
    QUIET(tern_model_free(NULL));
    tern_session_free(session);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
}

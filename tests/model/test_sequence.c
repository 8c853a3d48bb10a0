/* test_sequence.c - sequences: prompts of which a beginning is known, copies of others, the end of the context. Logits must be the
 * bits that come out when everything is fed anew. */
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "tiny_model.h"

enum { SLOTS = 3, LENGTH = 21 };

typedef struct engine {
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    tern_sequence *q[SLOTS];
} engine;

static bool open_engine(tern_dtype cache, engine *e)
{
    char path[4096];
    tern_ctx_options o = tern_ctx_options_default();
    tern_session_options s = tern_session_options_default();
    *e = (engine){0};
    o.tuning = "off";
    o.threads = 2;
    s.slots = SLOTS;
    s.cache = cache;
    s.batch = 8;
    bool opened = harness_path(path, sizeof path, "tiny.gguf") && tiny_model(path, "bitnet-b1.58") &&
                  tern_ctx_create(&o, &e->ctx) == TERN_OK &&
                  tern_model_load(e->ctx, path, NULL, &e->model) == TERN_OK &&
                  tern_session_create(e->model, &s, &e->session) == TERN_OK;
    for (int i = 0; i < SLOTS && opened; i++)
        opened = tern_sequence_create(e->session, i, &e->q[i]) == TERN_OK;
    return opened;
}

static void close_engine(engine *e)
{
    for (int i = 0; i < SLOTS; i++)
        tern_sequence_free(e->q[i]);
    tern_session_free(e->session);
    tern_model_free(e->model);
    tern_ctx_destroy(e->ctx);
}

/* LENGTH tokens, of which those from `from` on depend on `kind`. */
static void make_tokens(int kind, int from, int32_t *tokens)
{
    for (int i = 0; i < LENGTH; i++)
        tokens[i] = (i * 7 + (i < from ? 0 : kind)) % TINY_VOCABULARY;
}

static bool same_logits(const tern_sequence *a, const tern_sequence *b)
{
    const float *x = tern_sequence_logits(a), *y = tern_sequence_logits(b);
    return x && y && memcmp(x, y, TINY_VOCABULARY * sizeof *x) == 0;
}

TEST(what_is_known_of_a_prompt_is_not_computed_again)
{
    int32_t first[LENGTH], second[LENGTH];
    engine e;
    make_tokens(0, 0, first);
    make_tokens(5, 13, second);
    CHECK(open_engine(TERN_F16, &e));
    CHECK_OK(tern_sequence_prompt(e.q[0], first, LENGTH, NULL, NULL));
    CHECK_EQ(tern_sequence_reused(e.q[0]), 0);
    CHECK_OK(tern_sequence_prompt(e.q[0], second, LENGTH, NULL, NULL));
    CHECK_EQ(tern_sequence_reused(e.q[0]), 13);
    CHECK_OK(tern_sequence_prompt(e.q[1], second, LENGTH, NULL, NULL));
    CHECK(same_logits(e.q[0], e.q[1]));
    CHECK_OK(tern_sequence_prompt(e.q[0], second, LENGTH, NULL, NULL)); /* the last one's logits are wanted */
    CHECK_EQ(tern_sequence_reused(e.q[0]), LENGTH - 1);
    CHECK(same_logits(e.q[0], e.q[1]));
    CHECK_OK(tern_sequence_prompt(e.q[0], second, 4, NULL, NULL)); /* shorter: the rest is forgotten */
    CHECK_EQ(tern_sequence_length(e.q[0]), 4);
    CHECK_OK(tern_sequence_prompt(e.q[0], second, LENGTH, NULL, NULL));
    CHECK_EQ(tern_sequence_reused(e.q[0]), 4);
    CHECK(same_logits(e.q[0], e.q[1]));
    close_engine(&e);
}

/* Copies go on as if they had read it all themselves, each by itself. */
TEST(copies_are_as_good_as_reading)
{
    static const tern_dtype caches[] = {TERN_F32, TERN_F16, TERN_I8};
    int32_t tokens[LENGTH], others[LENGTH];
    make_tokens(0, 0, tokens);
    make_tokens(3, 0, others);
    for (int c = 0; c < 3; c++) {
        engine e;
        CHECK(open_engine(caches[c], &e));
        CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL));
        CHECK_OK(tern_sequence_prompt(e.q[1], others, LENGTH, NULL, NULL)); /* which the copy replaces */
        CHECK_OK(tern_sequence_copy(e.q[0], e.q[1]));
        CHECK_EQ(tern_sequence_length(e.q[1]), LENGTH);
        CHECK_EQ(tern_sequence_reused(e.q[1]), LENGTH);
        CHECK(same_logits(e.q[0], e.q[1]));
        CHECK_OK(tern_sequence_push(e.q[0], 40)); /* does not reach the copy */
        CHECK_OK(tern_sequence_push(e.q[1], 11));
        CHECK_OK(tern_sequence_push(e.q[1], 12));
        CHECK_OK(tern_sequence_prompt(e.q[2], tokens, LENGTH, NULL, NULL));
        CHECK_OK(tern_sequence_push(e.q[2], 11));
        CHECK_OK(tern_sequence_push(e.q[2], 12));
        CHECK(same_logits(e.q[1], e.q[2]));
        CHECK_OK(tern_sequence_copy(e.q[1], e.q[1]));
        CHECK_EQ(tern_sequence_length(e.q[1]), LENGTH + 2);
        close_engine(&e);
    }
}

TEST(copies_of_nothing_and_copies_that_cannot_be)
{
    int32_t tokens[LENGTH];
    engine e, other;
    make_tokens(0, 0, tokens);
    CHECK(open_engine(TERN_F32, &e));
    CHECK(open_engine(TERN_F32, &other));
    CHECK_OK(tern_sequence_prompt(e.q[1], tokens, LENGTH, NULL, NULL));
    CHECK_STATUS(tern_sequence_copy(e.q[1], other.q[0]), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_sequence_copy(e.q[0], e.q[1]));
    CHECK_EQ(tern_sequence_length(e.q[1]), 0);
    CHECK(!tern_sequence_logits(e.q[1]));
    CHECK_STATUS(tern_session_copy(e.session, 0, SLOTS, 1), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_session_copy(e.session, -1, 0, 1), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_session_copy(e.session, 0, 1, TINY_CONTEXT + 1), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_session_copy(e.session, 0, 1, -1), TERN_OUT_OF_RANGE);
    CHECK_OK(tern_session_copy(e.session, 0, 1, TINY_CONTEXT));
    close_engine(&other);
    close_engine(&e);
}

TEST(the_end_of_the_context_is_said)
{
    int32_t tokens[TINY_CONTEXT + 1] = {0};
    engine e;
    CHECK(open_engine(TERN_F32, &e));
    CHECK_STATUS(tern_sequence_prompt(e.q[0], tokens, TINY_CONTEXT + 1, NULL, NULL), TERN_LIMIT);
    CHECK_OK(tern_sequence_prompt(e.q[0], tokens, TINY_CONTEXT, NULL, NULL));
    CHECK_STATUS(tern_sequence_push(e.q[0], 1), TERN_LIMIT);
    CHECK_EQ(tern_sequence_length(e.q[0]), TINY_CONTEXT);
    CHECK(tern_sequence_logits(e.q[0]));
    close_engine(&e);
}

/* ---- generating ---- */

typedef struct listener {
    int n, stop_at;
    int32_t tokens[TINY_CONTEXT];
} listener;

static bool listen(void *user, const tern_generated *piece)
{
    listener *l = user;
    l->tokens[l->n++] = piece->token;
    return l->n != l->stop_at;
}

/* Whatever ends it, the last token chosen is no part of the sequence, and pushing it goes on where it stopped. */
TEST(ends_of_generation)
{
    int32_t tokens[LENGTH];
    tern_generate_options o = tern_generate_options_default();
    tern_generate_result result;
    listener all = {.stop_at = -1}, some = {.stop_at = 3}, rest = {.stop_at = -1};
    engine e;
    make_tokens(0, 0, tokens);
    o.sampling.temperature = 0;
    CHECK(open_engine(TERN_F32, &e));
    CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL));
    CHECK_OK(tern_generate(e.q[0], NULL, &o, listen, &all, &result));
    CHECK_EQ(result.finish, TERN_FINISH_CONTEXT);
    CHECK_EQ(result.tokens, TINY_CONTEXT - LENGTH + 1);
    CHECK_EQ(tern_sequence_length(e.q[0]), TINY_CONTEXT);
    /* the last that is asked for is the last that fits: nothing is cut short */
    listener enough = {.stop_at = -1};
    o.most = TINY_CONTEXT - LENGTH + 1;
    CHECK_OK(tern_sequence_prompt(e.q[1], tokens, LENGTH, NULL, NULL));
    CHECK_OK(tern_generate(e.q[1], NULL, &o, listen, &enough, &result));
    CHECK(result.finish == TERN_FINISH_LENGTH && result.tokens == o.most);
    o.most = -1;
    CHECK_OK(tern_sequence_prompt(e.q[1], tokens, LENGTH, NULL, NULL));
    CHECK_OK(tern_generate(e.q[1], NULL, &o, listen, &some, &result));
    CHECK(result.finish == TERN_FINISH_CALLER && result.tokens == 3);
    CHECK_EQ(tern_sequence_length(e.q[1]), LENGTH + 2);
    CHECK_OK(tern_sequence_push(e.q[1], some.tokens[2]));
    o.most = 4;
    CHECK_OK(tern_generate(e.q[1], NULL, &o, listen, &rest, &result));
    CHECK(result.finish == TERN_FINISH_LENGTH && result.tokens == 4);
    CHECK_EQ(tern_sequence_length(e.q[1]), LENGTH + 3 + 3);
    CHECK(memcmp(all.tokens, some.tokens, 3 * sizeof *all.tokens) == 0);
    CHECK(memcmp(all.tokens + 3, rest.tokens, 4 * sizeof *all.tokens) == 0);
    o.most = 0;
    CHECK_OK(tern_generate(e.q[1], NULL, &o, listen, &rest, &result));
    CHECK_EQ(result.tokens, 0);
    close_engine(&e);
}

/* A model may have more tokens than its tokenizer, which would not know what to print: they never win. */
TEST(tokens_without_a_text_are_not_chosen)
{
    static const tern_token_text texts[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}};
    static const tern_logit_bias wanted[] = {{5, 1000}, {TINY_VOCABULARY - 1, 2000}};
    int32_t tokens[LENGTH];
    tern_vocabulary v = tern_vocabulary_default();
    tern_tokenizer *tokenizer;
    tern_generate_options o = tern_generate_options_default();
    tern_generate_result result;
    engine e;
    make_tokens(0, 0, tokens);
    v.model = "llama";
    v.tokens = texts;
    v.n_tokens = 5;
    CHECK_OK(tern_tokenizer_create(&v, NULL, &tokenizer));
    CHECK(open_engine(TERN_F32, &e));
    o.most = 6;
    o.ignore_end = true;
    o.sampling.n_bias = 2;
    o.sampling.bias = wanted;
    for (int hot = 0; hot < 2; hot++) {
        listener l = {.stop_at = -1};
        o.sampling.temperature = 2 * hot;
        CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL));
        CHECK_OK(tern_generate(e.q[0], tokenizer, &o, listen, &l, &result));
        CHECK(l.n == 6 && result.tokens == 6);
        for (int i = 0; i < l.n; i++)
            CHECK(l.tokens[i] < 5);
        l.n = 0; /* without a tokenizer they are tokens like others */
        CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL));
        CHECK_OK(tern_generate(e.q[0], NULL, &o, listen, &l, &result));
        CHECK_EQ(l.tokens[0], TINY_VOCABULARY - 1);
    }
    tern_tokenizer_free(tokenizer);
    close_engine(&e);
}

/* Together, and of different lengths: each as alone. */
TEST(several_that_end_apart)
{
    int32_t tokens[LENGTH];
    tern_generate_options o[SLOTS];
    tern_generate_result results[SLOTS], alone;
    listener l[SLOTS] = {{.stop_at = -1}, {.stop_at = 2}, {.stop_at = -1}}, one = {.stop_at = -1};
    engine e;
    make_tokens(0, 0, tokens);
    CHECK(open_engine(TERN_F16, &e));
    CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL));
    for (int i = 0; i < SLOTS; i++) {
        o[i] = tern_generate_options_default();
        o[i].most = 5 + i;
        o[i].sampling.seed = (uint64_t)i;
        CHECK_OK(tern_sequence_copy(e.q[0], e.q[i]));
    }
    CHECK_OK(tern_generate_many(SLOTS, e.q, NULL, o, listen, (void *[]){&l[0], &l[1], &l[2]}, results));
    CHECK(results[0].tokens == 5 && results[1].tokens == 2 && results[2].tokens == 7);
    CHECK_EQ(results[1].finish, TERN_FINISH_CALLER);
    CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL));
    CHECK_OK(tern_generate(e.q[0], NULL, &o[2], listen, &one, &alone));
    CHECK(one.n == 7 && memcmp(one.tokens, l[2].tokens, 7 * sizeof *one.tokens) == 0);
    close_engine(&e);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    *(int64_t *)user = (int64_t)done;
    return done == total;
}

TEST(prompts_can_be_stopped_between_chunks)
{
    int32_t tokens[LENGTH];
    int64_t done = 0;
    engine e;
    make_tokens(0, 0, tokens);
    CHECK(open_engine(TERN_F32, &e));
    CHECK_STATUS(tern_sequence_prompt(e.q[0], tokens, LENGTH, stop_at_once, &done), TERN_CANCELLED);
    CHECK(done == 8 && tern_sequence_length(e.q[0]) == 8 && !tern_sequence_logits(e.q[0]));
    CHECK_OK(tern_sequence_prompt(e.q[0], tokens, LENGTH, NULL, NULL)); /* what was fed is known */
    CHECK_EQ(tern_sequence_reused(e.q[0]), 8);
    CHECK_OK(tern_sequence_prompt(e.q[1], tokens, LENGTH, NULL, NULL));
    CHECK(same_logits(e.q[0], e.q[1]));
    close_engine(&e);
}

static bool stop_at_the_end(void *user, uint64_t done, uint64_t total)
{
    *(int64_t *)user = (int64_t)done;
    return done < total;
}

/* Most prompts have one chunk, which is the last. */
TEST(prompts_can_be_stopped_behind_the_last_chunk)
{
    for (int n = 5; n <= LENGTH; n += LENGTH - 5) {
        int32_t tokens[LENGTH];
        int64_t done = 0;
        engine e;
        make_tokens(0, 0, tokens);
        CHECK(open_engine(TERN_F32, &e));
        CHECK_STATUS(tern_sequence_prompt(e.q[0], tokens, n, stop_at_the_end, &done), TERN_CANCELLED);
        CHECK(strstr(tern_last_error(), "no answer was begun"));
        CHECK(done == n && !tern_sequence_logits(e.q[0]));
        CHECK_OK(tern_sequence_prompt(e.q[0], tokens, n, NULL, NULL));
        CHECK_EQ(tern_sequence_reused(e.q[0]), n - 1);
        CHECK_OK(tern_sequence_prompt(e.q[1], tokens, n, NULL, NULL));
        CHECK(same_logits(e.q[0], e.q[1]));
        close_engine(&e);
    }
}

/* ---- memory that runs out ---- */

static bool refuse_later(void *user, size_t size)
{
    (void)size;
    int *left = user;
    return (*left)-- > 0;
}

/* From the file to a few tokens, each allocation failing in turn. */
static tern_status answer(const char *path, tern_ctx *ctx)
{
    const int32_t tokens[] = {1, 2, 3};
    tern_model *model = NULL;
    tern_session *session = NULL;
    tern_sequence *q = NULL;
    tern_generate_options o = tern_generate_options_default();
    tern_generate_result result;
    o.most = 2;
    tern_status status = tern_model_load(ctx, path, NULL, &model);
    if (status == TERN_OK)
        status = tern_session_create(model, NULL, &session);
    if (status == TERN_OK)
        status = tern_sequence_create(session, 0, &q);
    if (status == TERN_OK)
        status = tern_sequence_prompt(q, tokens, 3, NULL, NULL);
    if (status == TERN_OK)
        status = tern_generate(q, NULL, &o, NULL, NULL, &result);
    tern_sequence_free(q);
    tern_session_free(session);
    tern_model_free(model);
    return status;
}

TEST(failing_allocations)
{
    char path[4096];
    tern_ctx_options o = tern_ctx_options_default();
    tern_alloc_stats before, after;
    o.tuning = "off";
    o.threads = 1;
    CHECK(harness_path(path, sizeof path, "failing.gguf") && tiny_model(path, "bitnet-b1.58"));
    tern_alloc_get_stats(&before);
    tern_status status = TERN_OUT_OF_MEMORY;
    int failures = 0;
    for (int n = 0; status == TERN_OUT_OF_MEMORY && n < 100000; n += 1 + n / 16) {
        tern_ctx *ctx;
        int left = n;
        CHECK_OK(tern_ctx_create(&o, &ctx));
        tern_alloc_set_gate(refuse_later, &left);
        status = answer(path, ctx);
        tern_alloc_set_gate(NULL, NULL);
        tern_ctx_destroy(ctx);
        failures += status != TERN_OK;
    }
    CHECK_EQ(status, TERN_OK);
    CHECK(failures > 20);
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

static void count_phases(void *user, const tern_trace_event *event)
{
    int *n = user; /* prompts, steps, others */
    if (strcmp(event->category, "model") == 0)
        n[strcmp(event->name, "prompt") == 0 ? 0 : strcmp(event->name, "model step") == 0 ? 1 : 2]++;
}

/* Work in which every row is wanted is not called an answer: a text that is judged, and the end of a prompt, are the same to it. */
TEST(what_a_feed_is_called)
{
    int32_t tokens[LENGTH];
    tern_session_row rows[8];
    float logits[8 * TINY_VOCABULARY];
    int wanted[8], n[3] = {0};
    engine e;
    make_tokens(0, 0, tokens);
    CHECK(open_engine(TERN_F32, &e));
    for (int i = 0; i < 8; i++) {
        rows[i] = (tern_session_row){.token = tokens[i], .position = i};
        wanted[i] = i;
    }
    CHECK_OK(tern_trace_start(NULL));
    CHECK_OK(tern_session_feed(e.session, 8, rows, 1, &wanted[7], logits));
    CHECK_OK(tern_session_feed(e.session, 8, rows, 8, wanted, logits));
    CHECK_OK(tern_trace_stop(count_phases, n, NULL));
    CHECK_EQ(n[0], 1);
    CHECK_EQ(n[1], 1);
    CHECK_EQ(n[2], 0);
    close_engine(&e);
}

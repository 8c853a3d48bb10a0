/* test_load.c - weights that are read when they are needed, a table of tokens that is mapped, and files that change meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/tern.h>

#include "base/random.h"
#include "harness.h"

enum { VOCABULARY = 512, TOKENS = 5 };

typedef struct engine {
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
} engine;

static char path[4096];

static bool write_model(const char *name, tern_stored type, tern_stored embedding)
{
    tern_model_shape shape;
    tern_synth_options options = tern_synth_options_default();
    options.type = type;
    options.embedding = embedding;
    return harness_path(path, sizeof path, name) && tern_model_shape_find("tiny", &shape) == TERN_OK &&
           tern_model_synth(path, &shape, &options) == TERN_OK;
}

static tern_status open_engine(int threads, const tern_model_options *options, engine *e)
{
    tern_ctx_options o = tern_ctx_options_default();
    o.threads = threads;
    o.tuning = "off";
    *e = (engine){0};
    TERN_TRY(tern_ctx_create(&o, &e->ctx));
    TERN_TRY(tern_model_load(e->ctx, path, options, &e->model));
    return tern_session_create(e->model, NULL, &e->session);
}

static void close_engine(engine *e)
{
    tern_session_free(e->session);
    tern_model_free(e->model);
    tern_ctx_destroy(e->ctx);
}

static tern_status feed(engine *e, float *logits)
{
    tern_session_row rows[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        rows[i] = (tern_session_row){(i * 97 + 3) % VOCABULARY, 0, i};
    return tern_session_feed(e->session, TOKENS, rows, 1, (int[]){TOKENS - 1}, logits);
}

TEST(mapped_or_read_by_any_number_of_threads_the_bits_are_the_same)
{
    static const tern_stored types[] = {TERN_STORED_I2_S, TERN_STORED_TQ1_0, TERN_STORED_TQ2_0,
                                        TERN_STORED_F16};
    static float first[VOCABULARY], logits[VOCABULARY];
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        CHECK(write_model("load-same.gguf", types[k], TERN_STORED_Q6_K));
        for (int how = 0; how < 4; how++) {
            tern_model_options options = tern_model_options_default();
            engine e;
            options.no_map = !(how & 1);
            options.guard = how == 3;
            CHECK_OK(open_engine(1 + how, &options, &e));
            CHECK_OK(feed(&e, logits));
            if (how == 0)
                memcpy(first, logits, sizeof first);
            CHECK(memcmp(first, logits, sizeof first) == 0);
            close_engine(&e);
        }
    }
}

TEST(the_head_is_told_apart_and_counted_once)
{
    engine e;
    tern_model_info info;
    CHECK(write_model("load-info.gguf", TERN_STORED_I2_S, TERN_STORED_F16));
    CHECK_OK(open_engine(1, NULL, &e));
    tern_model_get_info(e.model, &info);
    const uint64_t width = 256, ff = 512,
                   linear = 2 * (2 * width * width + 2 * width * (width / 2) + 3 * width * ff),
                   norms = 2 * (3 * width + ff) + width, table = VOCABULARY * width;
    CHECK(info.tied && info.head_stored == TERN_STORED_F16 && info.head == TERN_F16);
    CHECK_EQ(info.product_weights, linear);
    CHECK_EQ(info.ternary_weights, linear);
    CHECK_EQ(info.parameters, linear + norms + table);
    CHECK_EQ(info.token_bytes, linear / 4 + norms * 4 + table * 2);
    close_engine(&e);
}

/* ---- files that are not what they were ---- */

static bool cut(off_t bytes)
{
    return truncate(path, bytes) == 0;
}

/* A table of f32 is mapped, also where it is the head. */
TEST(a_file_cut_short_while_it_is_mapped_gives_an_error)
{
    static float logits[VOCABULARY];
    tern_model_options options = tern_model_options_default();
    engine e;
    CHECK(write_model("load-cut.gguf", TERN_STORED_I2_S, TERN_STORED_F32));
    options.guard = true;
    CHECK_OK(open_engine(2, &options, &e));
    CHECK_OK(tern_session_prepare(e.session, TOKENS, 1));
    CHECK_OK(feed(&e, logits));
    CHECK(cut(4096));
    CHECK_STATUS(feed(&e, logits), TERN_IO);
    CHECK(strstr(tern_last_error(), path) && strstr(tern_last_error(), "cut short"));
    CHECK_STATUS(feed(&e, logits), TERN_IO); /* and again: it does not heal */
    close_engine(&e);
}

/* Behind the end of a file the rest of its last page reads as zeros: no signal tells of it. */
TEST(a_file_cut_short_inside_a_page_gives_an_error_too)
{
    static float logits[VOCABULARY];
    for (int guarded = 0; guarded < 2; guarded++) {
        tern_model_options options = tern_model_options_default();
        tern_file_tensor t;
        engine e;
        int i;
        CHECK(write_model("load-cut.gguf", TERN_STORED_I2_S, TERN_STORED_F32));
        options.guard = guarded;
        CHECK_OK(open_engine(2, &options, &e));
        CHECK_OK(feed(&e, logits));
        CHECK_OK(tern_model_file_find(tern_model_get_file(e.model), "token_embd.weight", &i));
        CHECK_OK(tern_model_file_tensor(tern_model_get_file(e.model), i, &t));
        const uint64_t end = t.offset + t.bytes, lost = 16;
        CHECK(end % 4096 > lost); /* else a page goes with them */
        CHECK(cut((off_t)(end - lost)));
        CHECK_STATUS(feed(&e, logits), TERN_IO);
        CHECK(strstr(tern_last_error(), path) && strstr(tern_last_error(), "cut short"));
        close_engine(&e);
    }
}

/* Weights that are packed anew are read, not mapped, whatever the options: no signal comes of it, and nothing guards from one here. */
TEST(a_file_cut_short_before_its_weights_are_read_gives_an_error)
{
    for (int no_map = 0; no_map < 2; no_map++) {
        tern_model_options options = tern_model_options_default();
        engine e;
        CHECK(write_model("load-cut.gguf", TERN_STORED_I2_S, TERN_STORED_F16));
        options.no_map = no_map;
        CHECK(!options.guard);
        CHECK_OK(open_engine(2, &options, &e));
        CHECK(cut(4096));
        CHECK_STATUS(tern_session_prepare(e.session, 1, 1), TERN_IO);
        CHECK(strstr(tern_last_error(), path));
        close_engine(&e);
    }
}

TEST(codes_that_are_not_ternary_are_found_when_they_are_read)
{
    engine e;
    tern_file_tensor t;
    int i;
    CHECK(write_model("load-bad.gguf", TERN_STORED_I2_S, TERN_STORED_F16));
    CHECK_OK(open_engine(2, NULL, &e));
    CHECK_OK(tern_model_file_find(tern_model_get_file(e.model), "blk.1.ffn_down.weight", &i));
    CHECK_OK(tern_model_file_tensor(tern_model_get_file(e.model), i, &t));
    FILE *f = fopen(path, "r+b");
    CHECK(f != NULL && fseek(f, (long)(t.offset + t.bytes / 2), SEEK_SET) == 0 && fputc(0xff, f) != EOF);
    CHECK(fclose(f) == 0);
    CHECK_STATUS(tern_session_prepare(e.session, 1, 1), TERN_FORMAT);
    CHECK(strstr(tern_last_error(), "blk.1.ffn_down.weight") && strstr(tern_last_error(), "code of 3"));
    close_engine(&e);
}

/* ---- progress ---- */

typedef struct watcher {
    int calls, stop_at;
    uint64_t done, total;
} watcher;

static bool watch(void *user, uint64_t done, uint64_t total)
{
    watcher *w = user;
    bool ascends = done > w->done && done <= total;
    w->done = done;
    w->total = total;
    return ascends && ++w->calls != w->stop_at;
}

TEST(progress_is_told_while_weights_are_read_and_may_stop_it)
{
    watcher w = {0};
    tern_model_options options = tern_model_options_default();
    engine e;
    CHECK(write_model("load-progress.gguf", TERN_STORED_TQ2_0, TERN_STORED_F16));
    options.progress = watch;
    options.progress_user = &w;
    CHECK_OK(open_engine(1, &options, &e));
    CHECK_OK(tern_session_prepare(e.session, 1, 1));
    CHECK(w.calls >= 15 && w.done == w.total);
    close_engine(&e);
    w = (watcher){.stop_at = 3};
    CHECK_OK(open_engine(1, &options, &e));
    CHECK_STATUS(tern_session_prepare(e.session, 1, 1), TERN_CANCELLED);
    CHECK_EQ(w.calls, 3);
    close_engine(&e);
}

/* ---- heads ---- */

enum { CONTEXT = 256, COMPARED = 2 * CONTEXT };

/* The likeliest token behind each of those that heads are compared with, from a session's logits. */
static tern_status find_likeliest(tern_model *model, int64_t *out)
{
    static float logits[CONTEXT * VOCABULARY];
    tern_session_row rows[CONTEXT];
    int wanted[CONTEXT];
    tern_session_options o = tern_session_options_default();
    tern_session *session;
    o.cache = TERN_F16;
    o.context = CONTEXT;
    TERN_TRY(tern_session_create(model, &o, &session));
    tern_status status = TERN_OK;
    for (int at = 0; at < COMPARED && status == TERN_OK; at += CONTEXT) {
        for (int i = 0; i < CONTEXT; i++) {
            const double drawn = tern__random_uniform(0, (uint64_t)(at + i)) * VOCABULARY;
            rows[i] = (tern_session_row){(int32_t)drawn, 0, i};
            wanted[i] = i;
        }
        status = tern_session_feed(session, CONTEXT, rows, CONTEXT, wanted, logits);
        for (int i = 0; i < CONTEXT; i++) {
            const float *row = logits + (size_t)i * VOCABULARY;
            out[at + i] = 0;
            for (int k = 1; k < VOCABULARY; k++)
                out[at + i] = row[k] > row[out[at + i]] ? k : out[at + i];
        }
    }
    tern_session_free(session);
    return status;
}

TEST(a_converted_head_is_near_the_files_and_says_how_near)
{
    static float first[VOCABULARY], logits[VOCABULARY];
    static int64_t files[COMPARED], converted[COMPARED];
    static const tern_dtype heads[] = {TERN_F16, TERN_F32, TERN_Q8_0, TERN_Q6_K, TERN_Q4_0};
    static const double least[] = {1, 1, 0.97, 0.93, 0.7};
    CHECK(write_model("load-head.gguf", TERN_STORED_I2_S, TERN_STORED_F16));
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        tern_model_options options = tern_model_options_default();
        tern_head_agreement r;
        engine e;
        options.head = heads[k];
        CHECK_OK(open_engine(2, &options, &e));
        tern_model_info info;
        tern_model_get_info(e.model, &info);
        CHECK(info.head == heads[k] && info.head_stored == TERN_STORED_F16);
        CHECK_OK(feed(&e, logits));
        if (k == 0)
            memcpy(first, logits, sizeof first);
        CHECK_OK(find_likeliest(e.model, k ? converted : files));
        CHECK_OK(tern_model_compare_heads(e.model, COMPARED - 10, NULL, NULL, &r));
        printf("%s: %lld of %lld\n", tern_dtype_name(heads[k]), (long long)r.same, (long long)r.tokens);
        int64_t same = 0;
        for (int i = 0; i < COMPARED; i++)
            same += k == 0 || files[i] == converted[i];
        CHECK_EQ(r.tokens, COMPARED);
        CHECK_EQ(r.same, same);
        CHECK((double)r.same >= least[k] * (double)r.tokens);
        CHECK(heads[k] != TERN_Q4_0 || r.same < r.tokens);        /* or nothing is counted here */
        CHECK(k < 2 || memcmp(first, logits, sizeof first) != 0); /* it is another head */
        close_engine(&e);
    }
}

TEST(heads_that_cannot_be_are_refused)
{
    tern_model_options options = tern_model_options_default();
    engine e;
    CHECK(write_model("load-head.gguf", TERN_STORED_I2_S, TERN_STORED_F16));
    options.head = TERN_I64;
    CHECK_STATUS(open_engine(1, &options, &e), TERN_DTYPE);
    close_engine(&e);
}

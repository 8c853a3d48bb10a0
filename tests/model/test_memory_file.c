/* test_memory_file.c - models that are in memory, as part of a program: the same as from disk, used where they are. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "bytes.h"
#include "harness.h"
#include "tiny_model.h"

enum { TOKENS = 5 };

static tern_ctx *ctx;
static char path[4096];
static void *content;
static size_t n;
static tern_model_file *shared_file;

static void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
    CHECK(harness_path(path, sizeof path, "memory.gguf"));
    CHECK(tiny_model(path, "bitnet-b1.58"));
    FILE *file = fopen(path, "rb");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    n = (size_t)ftell(file);
    rewind(file);
    content = aligned_alloc(64, (n + 63) / 64 * 64);
    CHECK(content && fread(content, 1, n, file) == n);
    fclose(file);
}

static void tear_down(void)
{
    tern_ctx_destroy(ctx);
    free(content);
}

static void feed(tern_model *model, float *logits)
{
    tern_session *session;
    tern_session_row rows[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        rows[i] = (tern_session_row){.token = 7 * i + 1, .position = i};
    CHECK_OK(tern_session_create(model, NULL, &session));
    CHECK_OK(tern_session_feed(session, TOKENS, rows, 1, (int[]){TOKENS - 1}, logits));
    tern_session_free(session);
}

TEST(the_same_as_from_disk)
{
    float from_disk[TINY_VOCABULARY], from_memory[TINY_VOCABULARY];
    tern_model *model;
    tern_model_file *file;
    set_up();
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    feed(model, from_disk);
    tern_model_free(model);
    CHECK_OK(tern_model_file_open_memory(content, n, "a model", NULL, &file));
    CHECK_EQ(tern_model_file_bytes(file), n);
    CHECK(tern_model_file_in_memory(file));
    CHECK(strcmp(tern_model_file_part(file, 0), "a model") == 0);
    CHECK_OK(tern_model_load_file(ctx, file, NULL, &model));
    tern_model_file_close(file); /* the model holds it */
    feed(model, from_memory);
    tern_model_free(model);
    CHECK(memcmp(from_disk, from_memory, sizeof from_disk) == 0);
    tear_down();
}

/* Bytes that a model and its logits take, with its table of tokens in place or not. Programs of the model before may go meanwhile:
 * that may be less than nothing. */
static void count_bytes(bool no_map, int64_t *out)
{
    const tern_model_file_options options = {.no_map = no_map};
    float logits[TINY_VOCABULARY];
    tern_alloc_stats before, after;
    tern_model *model;
    tern_model_file *file;
    tern_alloc_get_stats(&before);
    CHECK_OK(tern_model_file_open_memory(content, n, NULL, &options, &file));
    CHECK_OK(tern_model_load_file(ctx, file, NULL, &model));
    tern_model_file_close(file);
    feed(model, logits);
    tern_alloc_get_stats(&after);
    tern_model_free(model);
    *out = (int64_t)after.live_bytes - (int64_t)before.live_bytes;
}

TEST(used_in_place)
{
    set_up();
    int64_t copied = 0, in_place = 0;
    count_bytes(false, &in_place); /* what the context keeps is there from now on */
    count_bytes(true, &copied);
    count_bytes(false, &in_place);
    CHECK(copied >= in_place + TINY_VOCABULARY * TINY_WIDTH * (int64_t)sizeof(float));
    tear_down();
}

typedef struct notes {
    uint64_t first, done, total;
} notes;

static bool tell(void *user, uint64_t done, uint64_t total)
{
    notes *t = user;
    t->first = t->first ? t->first : done;
    t->done = done;
    t->total = total;
    return true;
}

TEST(several_models_of_one_file)
{
    float logits[2][TINY_VOCABULARY];
    notes told[2] = {{0}};
    tern_model_file *file;
    set_up();
    CHECK_OK(tern_model_file_open_memory(content, n, NULL, NULL, &file));
    for (int i = 0; i < 2; i++) {
        tern_model *model;
        tern_model_options options = tern_model_options_default();
        options.progress = tell;
        options.progress_user = &told[i];
        CHECK_OK(tern_model_load_file(ctx, file, &options, &model));
        feed(model, logits[i]);
        tern_model_free(model);
    }
    tern_model_file_close(file);
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    CHECK(told[0].total > 0 && told[0].done == told[0].total);
    CHECK(memcmp(&told[0], &told[1], sizeof told[0]) == 0);
    tear_down();
}

/* Both are loaded before the first is used: each is told of its own weights, and the freed one of nothing. */
TEST(progress_is_told_of_its_own_model_as_long_as_that_lives)
{
    float logits[TINY_VOCABULARY];
    notes told[3] = {{0}};
    tern_model *models[3];
    tern_model_file *file;
    set_up();
    CHECK_OK(tern_model_file_open_memory(content, n, NULL, NULL, &file));
    for (int i = 0; i < 3; i++) {
        tern_model_options options = tern_model_options_default();
        options.progress = tell;
        options.progress_user = &told[i];
        CHECK_OK(tern_model_load_file(ctx, file, &options, &models[i]));
    }
    tern_model_file_close(file);
    tern_model_free(models[2]);
    for (int i = 0; i < 2; i++) {
        feed(models[i], logits);
        CHECK(told[i].total > 0 && told[i].done == told[i].total);
        tern_model_free(models[i]);
    }
    CHECK(memcmp(&told[0], &told[1], sizeof told[0]) == 0);
    CHECK(told[2].total == 0);
    tear_down();
}

/* The mapping that they share is made once, whoever is first. */
static void *load_and_feed(void *arg)
{
    float *logits = arg;
    tern_ctx *own;
    tern_model *model;
    tern_session *session;
    if (tern_ctx_create(NULL, &own) != TERN_OK)
        return NULL;
    if (tern_model_load_file(own, shared_file, NULL, &model) == TERN_OK) {
        if (tern_session_create(model, NULL, &session) == TERN_OK) {
            if (tern_session_feed(session, 1, &(tern_session_row){.token = 3}, 1, (int[]){0}, logits) !=
                TERN_OK)
                logits[0] = NAN;
            tern_session_free(session);
        }
        tern_model_free(model);
    }
    tern_ctx_destroy(own);
    return NULL;
}

TEST(threads_load_from_one_file)
{
    enum { THREADS = 4 };
    static float logits[THREADS][TINY_VOCABULARY];
    pthread_t threads[THREADS];
    set_up();
    CHECK_OK(tern_model_file_open(path, NULL, &shared_file));
    for (int i = 0; i < THREADS; i++) {
        logits[i][0] = NAN;
        CHECK(pthread_create(&threads[i], NULL, load_and_feed, logits[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    tern_model_file_close(shared_file);
    for (int i = 0; i < THREADS; i++)
        CHECK(!isnan(logits[i][0]) && memcmp(logits[0], logits[i], sizeof logits[0]) == 0);
    tear_down();
}

TEST(cut_anywhere)
{
    set_up();
    for (size_t cut = 0; cut < n; cut += cut < 2000 ? 1 : 997) {
        tern_model_file *file = NULL;
        void *part = malloc(cut ? cut : 1); /* so that a checker of memory sees what lies behind */
        CHECK(part != NULL);
        memcpy(part, content, cut);
        CHECK_STATUS(tern_model_file_open_memory(part, cut, "cut", NULL, &file), TERN_FORMAT);
        CHECK(file == NULL && strncmp(tern_last_error(), "cut: ", 5) == 0);
        free(part);
    }
    tear_down();
}

TEST(nothing_beside_it)
{
    static const char list[] = "{\"weight_map\": {}}";
    tern_model_file *file;
    tern_tokenizer *tokenizer;
    set_up();
    CHECK_STATUS(tern_model_file_open_memory(list, sizeof list - 1, NULL, NULL, &file), TERN_UNSUPPORTED);
    CHECK(strncmp(tern_last_error(), "memory: ", 8) == 0);
    /* a name that looks like a path is none */
    CHECK_OK(tern_model_file_open_memory(content, n, path, NULL, &file));
    CHECK_STATUS(tern_tokenizer_from_file(file, NULL, &tokenizer), TERN_NOT_FOUND);
    tern_model_file_close(file);
    tear_down();
}

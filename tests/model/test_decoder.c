/* test_decoder.c - models of other people's making against what other people's engines computed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/cpu.h"
#include "bytes.h"
#include "harness.h"
#include "tiny_model.h"

typedef struct engine {
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
} engine;

static const char *cpu; /* the instruction set; NULL: the best */

static tern_status open_engine(const char *path, int threads, const tern_session_options *options, engine *e)
{
    tern_ctx_options o = tern_ctx_options_default();
    o.threads = threads;
    o.tuning = "off";
    o.cpu = cpu;
    *e = (engine){0};
    TERN_TRY(tern_ctx_create(&o, &e->ctx));
    TERN_TRY(tern_model_load(e->ctx, path, NULL, &e->model));
    return tern_session_create(e->model, options, &e->session);
}

static void close_engine(engine *e)
{
    tern_session_free(e->session);
    tern_model_free(e->model);
    tern_ctx_destroy(e->ctx);
}

static tern_status feed(engine *e, int n, const int32_t *tokens, int64_t at, float *logits)
{
    tern_session_row rows[64];
    for (int i = 0; i < n; i++)
        rows[i] = (tern_session_row){tokens[i], 0, at + i};
    return tern_session_feed(e->session, n, rows, 1, (int[]){n - 1}, logits);
}

/* Sum of squared differences over sum of squares. */
static double nmse(int n, const float *a, const float *b)
{
    double differences = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        differences += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        squares += (double)b[i] * (double)b[i];
    }
    return differences / squares;
}

static const int32_t prompt[] = {1, 403, 407, 261, 378};

static bool read_floats(const char *path, int n, float *out)
{
    FILE *f = fopen(path, "rb");
    bool read = f && fread(out, sizeof *out, (size_t)n, f) == (size_t)n;
    if (f)
        fclose(f);
    return read;
}

/* Other engines quantise activations otherwise (by blocks of 256, or not at all), so their logits are near, not equal: rounding inputs
 * of variance 1 and a largest value of 4 or so to 127ths of it errs by 1e-4 of their energy in each of a dozen products in a row.
 * Files that hold the same ternary weights in three ways must give the same bits. */
TEST(a_random_bitnet_model_computes_what_llama_cpp_did)
{
    static float first[512], logits[512], recorded[512];
    static const char *const names[] = {"tq2_0", "tq1_0", "f32"};
    for (int i = 0; i < 3; i++) {
        char name[80];
        snprintf(name, sizeof name, "bitnet-random/bitnet-random-%s.logits.f32", names[i]);
        const char *path = shared_path(name);
        if (!path)
            SKIP(NO_SHARED("of a model"));
        CHECK(read_floats(path, 512, recorded));
        snprintf(name, sizeof name, "bitnet-random/bitnet-random-%s.gguf", names[i]);
        engine e;
        CHECK_OK(open_engine(shared_path(name), 2, NULL, &e));
        tern_model_info info;
        tern_model_get_info(e.model, &info);
        CHECK_STR(info.activation, "silu");
        CHECK(info.sub_norms && info.ternary);
        CHECK_OK(feed(&e, 5, prompt, 0, logits));
        double error = nmse(512, logits, recorded);
        printf("%s: NMSE %.2g\n", names[i], error);
        CHECK(error < 1e-3);
        if (i == 0)
            memcpy(first, logits, sizeof first);
        CHECK(memcmp(first, logits, sizeof first) == 0);
        close_engine(&e);
    }
}

/* Greedy ids of llama2.c for the same weights, at its temperature 0. */
static const int32_t story[] = {403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421,
                                395, 317, 426, 338, 401, 396, 267, 337, 410, 408, 419, 292,
                                411, 322, 265, 282, 295, 433, 426, 385, 328, 432, 358, 394,
                                261, 370, 432, 352, 266, 268, 388, 426, 338, 391, 266, 267};

static int32_t largest(int n, const float *logits)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

TEST(a_trained_llama_tells_its_story)
{
    const char *path = shared_path("stories260K/stories260K-f32.gguf");
    if (!path)
        SKIP(NO_SHARED("of a model"));
    static float logits[512];
    engine e;
    CHECK_OK(open_engine(path, 2, NULL, &e));
    int32_t token = 1;
    for (int i = 0; i < (int)(sizeof story / sizeof *story); i++) {
        CHECK_OK(feed(&e, 1, &token, i, logits));
        token = largest(512, logits);
        CHECK_EQ(token, story[i]);
    }
    close_engine(&e);
}

/* ---- the same bits ---- */

enum { LENGTH = 37 };

static void make_tokens(int32_t *tokens)
{
    for (int i = 0; i < LENGTH; i++)
        tokens[i] = (i * 73 + 5) % TINY_VOCABULARY;
}

/* Logits behind the last of LENGTH tokens that come in chunks of `chunk`, into slot `slot` of several, between rows of other
 * sequences. */
static tern_status chunked(const char *path, tern_dtype cache, int threads, int chunk, int slot, int others,
                           float *logits)
{
    int32_t tokens[LENGTH];
    make_tokens(tokens);
    tern_session_options o = tern_session_options_default();
    o.cache = cache;
    o.slots = 3;
    o.context = 64;
    o.batch = 24; /* so that chunks of more come in two parts */
    engine e;
    tern_status status = open_engine(path, threads, &o, &e);
    for (int at = 0; at < LENGTH && status == TERN_OK; at += chunk) {
        tern_session_row rows[2 * LENGTH];
        int n = 0, last = 0;
        for (int i = at; i < at + chunk && i < LENGTH; i++) {
            if (i < others) /* another sequence, in another slot, runs along */
                rows[n++] = (tern_session_row){tokens[LENGTH - 1 - i], (slot + 1) % 3, i};
            last = n;
            rows[n++] = (tern_session_row){tokens[i], slot, i};
        }
        status = tern_session_feed(e.session, n, rows, 1, &last, logits);
    }
    close_engine(&e);
    return status;
}

static const struct way {
    int threads, chunk, slot, others;
} ways[] = {{2, 64, 0, 0}, {1, 1, 0, 0},   {2, 1, 2, 0}, {2, 5, 1, 0},
            {3, 16, 0, 9}, {1, 30, 2, 37}, {2, 7, 1, 20}};

/* Slow builds look at every Nth of what is counted. */
static bool is_looked_at(int *number)
{
    return (*number)++ % harness_every() == 0;
}

/* In the first n of the ways. */
static bool same_ways(const char *path, tern_dtype cache, size_t n)
{
    static float expected[512], logits[512];
    static int number;
    tern_status status = TERN_OK;
    bool known = false;
    for (size_t i = 0; i < n && status == TERN_OK; i++) {
        if (!is_looked_at(&number))
            continue;
        if (!known)
            status = chunked(path, cache, 1, LENGTH, 0, 0, expected);
        known = true;
        if (status == TERN_OK)
            status =
                chunked(path, cache, ways[i].threads, ways[i].chunk, ways[i].slot, ways[i].others, logits);
        if (status == TERN_OK && memcmp(expected, logits, sizeof expected) != 0)
            return false;
    }
    return status == TERN_OK;
}

static bool same_all_ways(const char *path, tern_dtype cache)
{
    return same_ways(path, cache, sizeof ways / sizeof *ways);
}

TEST(logits_do_not_depend_on_threads_chunks_or_company)
{
    static const char *const architectures[] = {"bitnet-b1.58", "bitnet", "llama"};
    for (int i = 0; i < 3; i++) {
        char path[4096];
        CHECK(harness_path(path, sizeof path, "tiny.gguf"));
        CHECK(tiny_model(path, architectures[i]));
        CHECK(same_all_ways(path, TERN_F32));
        CHECK(same_all_ways(path, i == 1 ? TERN_F16 : TERN_I8));
    }
}

TEST(nor_do_those_of_other_peoples_models)
{
    static const char *const models[] = {"bitnet-random/bitnet-random-tq2_0.gguf",
                                         "stories260K/stories260K-f32.gguf"};
    for (int m = 0; m < 2; m++) {
        const char *path = shared_path(models[m]);
        if (!path)
            SKIP(NO_SHARED("of a model"));
        char copy[4096];
        snprintf(copy, sizeof copy, "%s", path);
        CHECK(same_all_ways(copy, TERN_F32));
        CHECK(same_all_ways(copy, TERN_I8));
    }
}

/* Number i of the instruction sets of this machine; false past the last. */
static bool level(int i, char name[static 64])
{
    static tern_device_info info;
    if (tern_catalog_device(0, &info) != TERN_OK)
        return false;
    const char *at = info.isa_available;
    for (; i > 0 && *at; i--)
        at += strcspn(at, " "), at += strspn(at, " ");
    snprintf(name, 64, "%.*s", (int)strcspn(at, " "), at);
    return name[0] != '\0';
}

static bool synth(char path[static 4096], const char *architecture, tern_stored type, tern_stored head)
{
    tern_model_shape shape;
    tern_synth_options o = tern_synth_options_default();
    bool found = harness_path(path, 4096, "synth.gguf") && tern_model_shape_find("tiny", &shape) == TERN_OK;
    shape.architecture = architecture;
    o.type = type;
    o.embedding = head;
    return found && tern_model_synth(path, &shape, &o) == TERN_OK;
}

/* Heads, and weights of linear layers, of every kind that has kernels of its own, on every instruction set. */
TEST(nor_do_those_of_any_type_on_any_instruction_set)
{
    static const tern_stored types[] = {TERN_STORED_F16, TERN_STORED_BF16, TERN_STORED_Q8_0, TERN_STORED_Q6_K,
                                        TERN_STORED_Q4_K};
    char path[4096], name[64];
    int number = 0;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int llama = 0; llama < 2; llama++) {
            if (!is_looked_at(&number))
                continue;
            CHECK(
                synth(path, llama ? "llama" : "bitnet-b1.58", llama ? types[k] : TERN_STORED_I2_S, types[k]));
            CHECK(same_all_ways(path, TERN_F16));
            for (int i = 0; level(i, name); i++) {
                cpu = name;
                bool same = same_ways(path, TERN_F16, 2);
                cpu = NULL;
                if (!same)
                    printf("%s with %s\n", name, tern_stored_get(types[k])->name);
                CHECK(same);
            }
        }
}

/* Every ternary layer of a model with int8 inputs: (rows, columns) i32 that are the same bits however they are computed. */
static tern_status integer_part(tern_model_file *file, int i, int threads, int n, int32_t *out)
{
    tern_ctx_options o = tern_ctx_options_default();
    tern_ctx *ctx;
    o.threads = threads;
    o.tuning = "off";
    o.cpu = cpu;
    TERN_TRY(tern_ctx_create(&o, &ctx));
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *codes, *scales;
        status = tern_model_file_load_ternary(ctx, file, i, TERN_T2, TERN_TERNARY_EXACT, &codes, &scales);
        if (status == TERN_OK) {
            static int8_t x[8 * 1024];
            const int64_t k = tern_dim(codes, 1);
            for (int64_t at = 0; at < n * k; at++)
                x[at] = (int8_t)(at * 89 % 255 - 127);
            tern_tensor *y =
                tern_ternary_matmul(tern_from_data(ctx, TERN_I8, 2, (int64_t[]){n, k}, x), codes, NULL);
            const int32_t *data = tern_data(y);
            status = data ? TERN_OK : tern_status_of(y);
            if (data)
                memcpy(out, data, tern_nbytes(y));
        }
    }
    tern_ctx_destroy(ctx);
    return status;
}

TEST(the_integer_part_of_a_model_is_the_same_on_every_instruction_set)
{
    static int32_t expected[8 * 1024], sums[8 * 1024];
    char path[4096], name[64];
    int layers = 0, levels = 0, number = 0;
    tern_model_file *file;
    CHECK(synth(path, "bitnet-b1.58", TERN_STORED_I2_S, TERN_STORED_F16));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    for (int t = 0; t < tern_model_file_count(file); t++) {
        tern_file_tensor tensor;
        CHECK_OK(tern_model_file_tensor(file, t, &tensor));
        if (tensor.stored != TERN_STORED_I2_S)
            continue;
        CHECK(tensor.shape[0] <= 1024 && tensor.shape[1] <= 1024);
        layers++;
        if (!is_looked_at(&number))
            continue;
        for (int n = 1; n <= 8; n += 7)
            for (int i = 0; level(i, name); i++) {
                cpu = name;
                tern_status status = integer_part(file, t, 1 + i % 2, n, i ? sums : expected);
                cpu = NULL;
                CHECK_OK(status);
                CHECK(i == 0 || memcmp(sums, expected, (size_t)(n * tensor.shape[0]) * sizeof *sums) == 0);
                levels = i + 1;
            }
    }
    printf("%d layers on %d instruction sets\n", layers, levels);
    CHECK(layers >= 7 && levels >= 1);
    tern_model_file_close(file);
}

/* Keys and values of 8 bits with a scale for each head and position are off by 1/254 of the largest at most. */
TEST(small_caches_are_near_large_ones)
{
    static float exact[512], near[512];
    const char *path = shared_path("stories260K/stories260K-f32.gguf");
    if (!path)
        SKIP(NO_SHARED("of a model"));
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", path);
    CHECK_OK(chunked(copy, TERN_F16, 2, LENGTH, 0, 0, exact));
    CHECK_OK(chunked(copy, TERN_I8, 2, LENGTH, 0, 0, near));
    double error = nmse(512, near, exact);
    printf("int8 against f16: NMSE %.2g\n", error);
    CHECK(error > 0 && error < 1e-3);
}

TEST(what_is_out_of_range_is_refused)
{
    char path[4096];
    CHECK(harness_path(path, sizeof path, "tiny.gguf"));
    CHECK(tiny_model(path, "llama"));
    static float logits[2 * TINY_VOCABULARY];
    engine e;
    CHECK_OK(open_engine(path, 1, NULL, &e));
    const tern_session_row bad[] = {{TINY_VOCABULARY, 0, 0}, {-1, 0, 0}, {1, 1, 0}, {1, -1, 0},
                                    {1, 0, TINY_CONTEXT},    {1, 0, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STATUS(tern_session_feed(e.session, 1, &bad[i], 1, (int[]){0}, logits), TERN_OUT_OF_RANGE);
    const tern_session_row good[] = {{1, 0, 0}, {2, 0, 1}};
    CHECK_STATUS(tern_session_feed(e.session, 2, good, 2, (int[]){1, 0}, logits), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_session_feed(e.session, 2, good, 1, (int[]){2}, logits), TERN_OUT_OF_RANGE);
    /* one place for two rows, side by side and apart; and places that differ, in any order */
    const tern_session_row twice[] = {{1, 0, 0}, {2, 0, 1}, {3, 0, 1}},
                           apart[] = {{1, 0, 1}, {2, 0, 0}, {3, 0, 1}};
    CHECK_STATUS(tern_session_feed(e.session, 3, twice, 0, NULL, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_session_feed(e.session, 3, apart, 0, NULL, NULL), TERN_INVALID_ARGUMENT);
    CHECK(strstr(tern_last_error(), "position 1 of slot 0") != NULL);
    CHECK_OK(tern_session_feed(e.session, 2, apart, 0, NULL, NULL));
    tern_session_options o = tern_session_options_default();
    tern_session *session;
    o.context = TINY_CONTEXT + 1;
    CHECK_STATUS(tern_session_create(e.model, &o, &session), TERN_OUT_OF_RANGE);
    o = tern_session_options_default();
    o.cache = TERN_I64;
    CHECK_STATUS(tern_session_create(e.model, &o, &session), TERN_DTYPE);
    close_engine(&e);
}

/* Inside a window of attention there is nothing but ordinary attention, so the context ends with it. */
TEST(a_window_of_attention_limits_the_context)
{
    enum { WINDOW = 16 };
    char path[4096];
    static float windowed[TINY_VOCABULARY], whole[TINY_VOCABULARY];
    int32_t tokens[LENGTH];
    tern_model_info info;
    engine e;
    make_tokens(tokens);
    for (int window = 0; window <= 2 * TINY_CONTEXT; window += window ? 2 * TINY_CONTEXT - WINDOW : WINDOW) {
        const int64_t context = window == WINDOW ? WINDOW : TINY_CONTEXT;
        CHECK(harness_path(path, sizeof path, "tiny.gguf"));
        CHECK(tiny_windowed_model(path, "llama", (uint32_t)window));
        CHECK_OK(open_engine(path, 1, NULL, &e));
        tern_model_get_info(e.model, &info);
        CHECK_EQ(info.context, context);
        CHECK_EQ(tern_session_context(e.session), context);
        CHECK_OK(feed(&e, WINDOW, tokens, 0, window ? windowed : whole));
        CHECK(memcmp(window ? windowed : whole, whole, sizeof whole) == 0);
        CHECK_EQ(feed(&e, 1, tokens, WINDOW, windowed), window == WINDOW ? TERN_OUT_OF_RANGE : TERN_OK);
        close_engine(&e);
    }
}

/* Before the first page of it is asked for: each state by itself might be given, and all of them not. */
TEST(caches_larger_than_memory_are_refused)
{
    static const tern_dtype caches[] = {TERN_F32, TERN_F16, TERN_I8};
    char path[4096];
    engine e;
    if (tern__cpu()->memory_bytes <= 0)
        SKIP("nobody knows how much memory this machine has");
    CHECK(harness_path(path, sizeof path, "tiny.gguf"));
    CHECK(tiny_model(path, "llama"));
    CHECK_OK(open_engine(path, 1, NULL, &e));
    for (int i = 0; i < 3; i++) {
        tern_session_options o = tern_session_options_default();
        tern_session *session;
        o.cache = caches[i];
        o.slots = INT32_MAX;
        CHECK_STATUS(tern_session_create(e.model, &o, &session), TERN_OUT_OF_MEMORY);
        CHECK(strstr(tern_last_error(), "ask for a smaller context"));
    }
    close_engine(&e);
}

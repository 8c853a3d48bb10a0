/* test_bench_model.c - benchmarks of models: the steps that are told are those of the programs that were measured. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tern/bench_model.h>
#include <tern/catalog.h>
#include <tern/model_convert.h>

#include "harness.h"
#include "measure/bench/bench_model.h"
#include "measure/bench/bench_options.h"
#include "measure/results/model_test.h"

/* Operations of a run, by the steps that are told, and whether they name what they do. */
static void add_up(void *user, const tern_bench_model_row *row)
{
    double *flops = user;
    CHECK_STR(row->error, row->rounds ? row->error : "");
    double sum = 0;
    for (int i = 0; i < row->n_steps; i++) {
        CHECK(row->steps[i].n_ops > 0 && row->steps[i].kernel[0] && row->steps[i].ops[0][0]);
        CHECK_EQ(row->steps[i].at_most, strcmp(row->steps[i].ops[0], "attention") == 0);
        sum += (double)row->steps[i].flops * row->steps[i].count;
    }
    flops[row->n_prompt > 0] = sum;
}

/* Rows are padded to sizes for which there are programs, and long prompts come in chunks. */
TEST(steps_are_those_of_what_ran)
{
    static const struct {
        int prompt, batch;
    } cases[] = {{20, 8}, {20, 512}, {24, 512}, {17, 16}};
    char path[4096];
    tern_model_shape shape;
    CHECK(harness_path(path, sizeof path, "steps.gguf"));
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    /* TSan sees the same in each, and takes its time. */
    for (size_t i = 0; i < (HARNESS_TSAN ? 1 : sizeof cases / sizeof *cases); i++) {
        tern_bench_model_options o = tern_bench_model_options_default();
        double flops[2] = {0, 0};
        o.path = path;
        o.threads = (int[]){1};
        o.n_threads = 1;
        o.n_prompt = cases[i].prompt;
        o.batch = cases[i].batch;
        o.n_gen = 3;
        o.repetitions = 2;
        o.memory = 1 << 16;
        o.steps = true;
        CHECK_OK(tern_bench_model(&o, add_up, flops));
        /* The head, most of one token's work here, is that of the last row alone. */
        CHECK(flops[0] > 0 && flops[1] > flops[0] * 2 && flops[1] < flops[0] * 32);
    }
}

typedef struct visited {
    int n, prompt_sizes[8], gen_sizes[8];
} visited;

static void note(void *user, const tern_bench_model_row *row)
{
    visited *v = user;
    v->prompt_sizes[v->n] = row->n_prompt;
    v->gen_sizes[v->n++] = row->n_gen;
}

TEST(several_sizes)
{
    char path[4096];
    tern_model_shape shape;
    visited v = {0};
    tern_bench_model_options o = tern_bench_model_options_default();
    CHECK(harness_path(path, sizeof path, "sizes.gguf"));
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    o.path = path;
    o.repetitions = 1;
    o.memory = 1 << 16;
    o.prompt_sizes = (int[]){4, 9};
    o.n_prompt_sizes = 2;
    o.gen_sizes = (int[]){3, 2};
    o.n_gen_sizes = 2;
    CHECK_OK(tern_bench_model(&o, note, &v));
    CHECK(v.n == 4 && v.prompt_sizes[0] == 4 && v.prompt_sizes[1] == 9 && v.gen_sizes[2] == 3 &&
          v.gen_sizes[3] == 2);
    o.gen_sizes = (int[]){3, 0};
    CHECK_STATUS(tern_bench_model(&o, note, &v), TERN_INVALID_ARGUMENT);
    o.memory = -1;
    o.gen_sizes = (int[]){3, 2};
    CHECK_STATUS(tern_bench_model(&o, note, &v), TERN_INVALID_ARGUMENT);
    o.memory = 0;
    o.gen_sizes = NULL;
    CHECK_STATUS(tern_bench_model(&o, note, &v), TERN_INVALID_ARGUMENT);
    CHECK_EQ(v.n, 4);
}

/* Long enough for the other test even under a sanitizer beside other work. */
enum { ALLOWED_S = 6, LATE_MS = 6100 };

/* Called before each run: prompts begin too late. */
static bool dawdle(void *user, const char *what, int done, int total)
{
    (void)user;
    (void)total;
    if (strncmp(what, "pp", 2) == 0 && done == 0)
        nanosleep(&(struct timespec){LATE_MS / 1000, LATE_MS % 1000 * 1000000L}, NULL);
    return true;
}

typedef struct outcome {
    int rounds[2]; /* of generation, of prompts */
    char errors[2][256];
} outcome;

static void note_outcome(void *user, const tern_bench_model_row *row)
{
    outcome *o = user;
    o->rounds[row->n_prompt > 0] = row->rounds;
    snprintf(o->errors[row->n_prompt > 0], sizeof o->errors[0], "%s", row->error);
}

TEST(a_test_that_takes_too_long_is_given_up_alone)
{
    char path[4096];
    tern_model_shape shape;
    outcome seen = {.rounds = {-1, -1}};
    tern_bench_model_options o = tern_bench_model_options_default();
    CHECK(harness_path(path, sizeof path, "late.gguf"));
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    o.path = path;
    o.repetitions = 2;
    o.memory = 1 << 16;
    o.n_depth = 3;
    o.n_prompt = 4;
    o.n_gen = 2;
    o.timeout_s = ALLOWED_S;
    o.progress = dawdle;
    CHECK_OK(tern_bench_model(&o, note_outcome, &seen));
    CHECK_EQ(seen.rounds[1], 0);
    CHECK(strncmp(seen.errors[1], "unavailable: given up after ", 28) == 0);
    CHECK_EQ(seen.rounds[0], 2); /* the time of each test is its own, and the context is whole again */
    o.n_gen = 0;
    CHECK_STATUS(tern_bench_model(&o, note_outcome, &seen), TERN_STATE); /* nothing was measured */
    o.progress = NULL;
    o.timeout_s = 1e-9;
    seen.rounds[1] = -1;
    CHECK_STATUS(tern_bench_model(&o, note_outcome, &seen), TERN_CANCELLED); /* it was not even opened */
    CHECK_EQ(seen.rounds[1], -1);
    o.timeout_s = -1;
    CHECK_STATUS(tern_bench_model(&o, note_outcome, &seen), TERN_INVALID_ARGUMENT);
}

TEST(names_of_tests)
{
    static const tern__model_test tests[] = {{512, 0, 0}, {0, 128, 0}, {0, 1, 64}, {1 << 20, 0, 1 << 20}};
    static const char *const bad[] = {"",
                                      "pp",
                                      "pp0",
                                      "pp-1",
                                      "pp5x",
                                      "xx512",
                                      "tg0",
                                      "pp1 @ d-1",
                                      "pp1 @ d0",
                                      "pp1 @ d2 @ d3",
                                      "pp99999999999999"};
    char name[TERN__MODEL_TEST_NAME];
    tern__model_test back;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        CHECK(tern__model_test_parse(tern__model_test_name(&tests[i], name), &back));
        CHECK(back.prompt == tests[i].prompt && back.gen == tests[i].gen && back.depth == tests[i].depth);
    }
    CHECK_STR(tern__model_test_name(&(tern__model_test){.gen = 128, .depth = 64}, name), "tg128 @ d64");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!tern__model_test_parse(bad[i], &back));
}

/* What runs, of whatever model: also of one with the shape of BitNet 2B-4T. */
TEST(bytes_of_a_token)
{
    tern_model_info m = {.ternary = true,
                         .layers = 30,
                         .heads = 20,
                         .kv_heads = 5,
                         .width = 2560,
                         .feed_forward = 6912,
                         .vocabulary = 128256,
                         .ternary_weights = 4000,
                         .token_bytes = 12345};
    tern_bench_model_row row = {0};
    tern__bench_model_bytes(&m, 800, &row);
    CHECK_EQ(row.bytes_per_token, 12345 - 1000 + 800);
    CHECK(strstr(row.bytes_rule, "ternary weights as they are packed") != NULL);
    tern__bench_model_bytes(&m, 0, &row);
    CHECK_EQ(row.bytes_per_token, 12345);
    m.ternary = false;
    m.ternary_weights = 0;
    tern__bench_model_bytes(&m, 0, &row);
    CHECK_EQ(row.bytes_per_token, 12345);
    CHECK(strstr(row.bytes_rule, "ternary") == NULL);
}

static void note_bytes(void *user, const tern_bench_model_row *row)
{
    *(uint64_t *)user = row->bytes_per_token;
}

/* Ternary weights are counted as this machine's kernels have them packed. */
TEST(bytes_of_a_token_are_those_that_run)
{
    enum { TILE_ROWS = 80 };
    char path[4096];
    tern_model_shape shape;
    tern_device_info device;
    tern_model_info info;
    tern_ctx *ctx;
    tern_model *model;
    uint64_t bytes = 0;
    tern_bench_model_options o = tern_bench_model_options_default();
    CHECK(harness_path(path, sizeof path, "bytes.gguf"));
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_model_load(ctx, path, NULL, &model));
    tern_model_get_info(model, &info);
    tern_model_free(model);
    tern_ctx_destroy(ctx);
    o.path = path;
    o.repetitions = 1;
    o.memory = 1 << 16;
    o.n_prompt = 0;
    o.n_gen = 1;
    CHECK_OK(tern_bench_model(&o, note_bytes, &bytes));
    CHECK_OK(tern_catalog_device(0, &device));
    const double others = (double)(info.token_bytes - info.ternary_weights / 4),
                 least = others + (double)info.ternary_weights * device.ternary_bits / 8;
    /* Tiles have whole rows: the narrowest weight has those of the model's keys. */
    const double rows = (double)(shape.width / shape.heads * shape.kv_heads);
    CHECK(rows > 0 && (double)bytes >= least &&
          (double)bytes <= others + (least - others) * (rows + TILE_ROWS) / rows);
}

TEST(tests_become_rows_of_results)
{
    tern_results *results;
    tern_result row;
    const double seconds[] = {0.25, 0.5, 0.25};
    const tern_bench_model_row prompt = {.model_type = "a model",
                                         .isa = "any",
                                         .threads = 2,
                                         .n_prompt = 512,
                                         .batch = 256,
                                         .cache = TERN_F16,
                                         .rounds = 3,
                                         .seconds = seconds,
                                         .limit_kind = TERN_LIMIT_INT8_DOT,
                                         .limit = "a probe",
                                         .share = 0.5,
                                         .error = ""};
    tern_bench_model_row failed = prompt;
    failed.n_prompt = 0;
    failed.n_gen = 128;
    failed.n_depth = 64;
    failed.rounds = 0;
    failed.seconds = NULL;
    failed.error = "it did not run";
    CHECK_OK(tern_results_create(&results));
    CHECK_OK(tern_bench_model_add(&prompt, results));
    CHECK_OK(tern_bench_model_add(&failed, results));
    CHECK_OK(tern_results_at(results, 0, &row));
    CHECK_STR(row.suite, "model");
    CHECK_STR(row.family, "a model");
    CHECK_STR(row.name, "pp512");
    CHECK_STR(row.shape, "batch 256");
    CHECK_STR(row.dtype, "f16");
    CHECK(row.threads == 2 && row.rounds == 3 && row.median_us == 250000 && row.limit_share == 0.5);
    CHECK_OK(tern_results_at(results, 1, &row));
    CHECK_STR(row.name, "tg128 @ d64");
    CHECK_STR(row.error, "it did not run");
    CHECK_EQ(row.rounds, 0);
    failed.rounds = 2; /* and no seconds */
    CHECK_STATUS(tern_bench_model_add(&failed, results), TERN_INVALID_ARGUMENT);
    CHECK_EQ(tern_results_count(results), 2);
    tern_results_free(results);
}

static void see_row(void *user, const tern_result *row)
{
    (void)row;
    ++*(int *)user;
}

TEST(limits_are_the_same_for_suites_and_models)
{
    static const int bad_threads[] = {-1, 0, TERN__BENCH_THREADS_MOST + 1};
    static const int64_t bad_memory[] = {-1, ((int64_t)1 << 34) + 1};
    tern_threads_cost cost;
    uint64_t bytes = 0;
    int seen = 0;
    tern_bench_model_options model = tern_bench_model_options_default();
    model.path = "there is no such file";
    model.n_threads = 1;
    for (int i = 0; i < 3; i++) {
        model.threads = &bad_threads[i];
        CHECK_STATUS(tern_bench_model(&model, note_bytes, &bytes), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "bench_model: ") && strstr(tern_last_error(), "give 1 to 64"));
        CHECK_STATUS(
            tern_bench_run(&(tern_bench_options){.n_threads = 1, .threads = &bad_threads[i]}, see_row, &seen),
            TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "bench: ") && strstr(tern_last_error(), "give 1 to 64"));
        if (bad_threads[i] != 0) /* all that may be used */
            CHECK_STATUS(tern_bench_threads(bad_threads[i], &cost), TERN_INVALID_ARGUMENT);
    }
    model.n_threads = 0;
    for (int i = 0; i < 2; i++) {
        model.memory = bad_memory[i];
        CHECK_STATUS(tern_bench_model(&model, note_bytes, &bytes), TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "give at most 17179869184") != NULL);
        CHECK_STATUS(tern_bench_run(&(tern_bench_options){.memory = bad_memory[i]}, see_row, &seen),
                     TERN_INVALID_ARGUMENT);
        CHECK(strstr(tern_last_error(), "give at most 17179869184") != NULL);
    }
    model.memory = 0;
    CHECK_STATUS(tern_bench_model(&model, note_bytes, &bytes), TERN_NOT_FOUND); /* the file, at last */
    CHECK_EQ(seen, 0);
    CHECK(tern__bench_model_timeout_s(0) == 600 && tern__bench_model_timeout_s(5) == 5);
}

/* test_compare_devices.c - crossovers and advice follow from the times: planted ones, so that the answers are known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "../devices/devices.h"
#include "base/status.h"
#include "harness.h"
#include "measure/compare/compare_devices.h"

static void add(tern_device_comparison *c, const char *device, const char *op, double size, double us,
                tern_device_use use)
{
    tern_device_time row = {.size = size,
                            .use = use,
                            .median_us = us,
                            .low_us = us * 0.9,
                            .high_us = us * 1.1,
                            .around_us = us / 10,
                            .samples = 9};
    snprintf(row.device, sizeof row.device, "%s", device);
    snprintf(row.op, sizeof row.op, "%s", op);
    snprintf(row.dtype, sizeof row.dtype, "f32");
    snprintf(row.shape, sizeof row.shape, "[%.0f]", size);
    if (us <= 0) {
        row.samples = 0;
        snprintf(row.error, sizeof row.error, "it has no kernel for it");
    }
    CHECK_OK(tern_device_comparison_add(c, &row));
}

/* Two devices: one costs 1 + size / 100, the other `start` and a tenth of that for each element. */
static tern_device_comparison *planted(double start)
{
    static const double sizes[] = {10, 1000, 100000};
    tern_device_comparison *c = NULL;
    if (tern_device_comparison_create(&c) != TERN_OK)
        return NULL;
    for (int i = 0; i < 3; i++) {
        const tern_device_use use = i == 0 ? TERN_DEVICE_USE_SMALL : TERN_DEVICE_USE_ARRAYS;
        add(c, "cpu", "add", sizes[i], 1 + sizes[i] / 100, use);
        add(c, "gpu", "add", sizes[i], start + sizes[i] / 1000, use);
    }
    return c;
}

TEST(advice_follows_the_times)
{
    tern_device_comparison *c = planted(5);
    tern_device_advice a;
    CHECK(c != NULL);
    CHECK_OK(tern_device_comparison_advice(c, 0, &a));
    CHECK(a.use == TERN_DEVICE_USE_SMALL);
    CHECK_STR(a.device, "cpu");
    CHECK_OK(tern_device_comparison_advice(c, 1, &a));
    CHECK(a.use == TERN_DEVICE_USE_ARRAYS && a.cases == 2 && a.clear == 2);
    CHECK_STR(a.device, "gpu");
    CHECK_NEAR(a.ratio, sqrt(6.0 / 11 * (105.0 / 1001)), 1e-9);
    CHECK_STATUS(tern_device_comparison_advice(c, 2, &a), TERN_OUT_OF_RANGE);
    tern_device_comparison_free(c);

    c = planted(500); /* the same with a launch that never pays */
    CHECK(c != NULL);
    CHECK_OK(tern_device_comparison_advice(c, 1, &a));
    CHECK_STR(a.device, "cpu");
    CHECK(strstr(a.words, "gpu, the nearest") != NULL);
    tern_device_comparison_free(c);

    c = planted(0.1); /* and with none */
    CHECK(c != NULL);
    CHECK_OK(tern_device_comparison_advice(c, 0, &a));
    CHECK_STR(a.device, "gpu");
    tern_device_comparison_free(c);
}

TEST(advice_needs_a_clear_case)
{
    tern_device_comparison *c = NULL;
    tern_device_advice a;
    CHECK_OK(tern_device_comparison_create(&c));
    add(c, "cpu", "add", 10, 10, TERN_DEVICE_USE_SMALL);
    add(c, "gpu", "add", 10, 8.5, TERN_DEVICE_USE_SMALL); /* its interval and the CPU's meet */
    CHECK_OK(tern_device_comparison_advice(c, 0, &a));
    CHECK_STR(a.device, "cpu");
    CHECK(strstr(a.words, "clearly faster in none") != NULL);
    tern_device_comparison_free(c);
}

static void add_time(tern_device_comparison *c, const char *device, const char *op, double us, double low,
                     double high)
{
    tern_device_time row = {.size = 1000,
                            .use = TERN_DEVICE_USE_ARRAYS,
                            .median_us = us,
                            .low_us = low,
                            .high_us = high,
                            .samples = 9};
    snprintf(row.device, sizeof row.device, "%s", device);
    snprintf(row.op, sizeof row.op, "%s", op);
    CHECK_OK(tern_device_comparison_add(c, &row));
}

/* A case in which a device is clearly slower is no reason to use it; and one that clearly wins is not overlooked for a better one in
 * doubt. */
TEST(only_clear_gains_are_reasons)
{
    tern_device_comparison *c = NULL;
    tern_device_advice a;
    CHECK_OK(tern_device_comparison_create(&c));
    add_time(c, "cpu", "add", 100, 99, 101);
    add_time(c, "opencl", "add", 120, 119, 121);
    add_time(c, "cpu", "gelu", 100, 20, 300);
    add_time(c, "opencl", "gelu", 40, 15, 280);
    CHECK_OK(tern_device_comparison_advice(c, 0, &a));
    CHECK_STR(a.device, "cpu");
    tern_device_comparison_free(c);
    CHECK_OK(tern_device_comparison_create(&c));
    add_time(c, "cpu", "add", 100, 99, 101);
    add_time(c, "opencl", "add", 50, 10, 150);
    add_time(c, "mlx", "add", 60, 59, 61);
    CHECK_OK(tern_device_comparison_advice(c, 0, &a));
    CHECK_STR(a.device, "mlx");
    tern_device_comparison_free(c);
}

TEST(crossovers_follow_the_times)
{
    tern_device_crossover x;
    tern_device_comparison *c = planted(5);
    CHECK(c != NULL);
    CHECK_OK(tern_device_comparison_crossover(c, 0, &x));
    CHECK(x.any && !x.always && x.size > 10 && x.size < 1000);
    CHECK_STR(x.device, "gpu");
    CHECK_STATUS(tern_device_comparison_crossover(c, 1, &x), TERN_OUT_OF_RANGE);
    tern_device_comparison_free(c);

    c = planted(1e9);
    CHECK(c != NULL);
    CHECK_OK(tern_device_comparison_crossover(c, 0, &x));
    CHECK(!x.any && isnan(x.size));
    tern_device_comparison_free(c);

    c = planted(0.1);
    CHECK(c != NULL);
    CHECK_OK(tern_device_comparison_crossover(c, 0, &x));
    CHECK(x.any && x.always);
    CHECK_NEAR(x.size, 10, 0);
    tern_device_comparison_free(c);
}

/* Where the next smaller size is in doubt, whichever median is the lower one, a crossover is where it was measured; else between both. */
TEST(crossovers_need_intervals_that_do_not_meet)
{
    static const struct {
        double gpu, wide; /* us at 100 elements, where the CPU takes 10, to both sides */
        bool between;
    } small[] = {{8, 5, false}, {10.2, 1, false}, {10.2, 0.15, false}, {10.2, 0.01, true}, {20, 1, true}};
    for (size_t k = 0; k < sizeof small / sizeof *small; k++) {
        tern_device_comparison *c = NULL;
        tern_device_crossover x;
        CHECK_OK(tern_device_comparison_create(&c));
        for (int i = 0; i < 4; i++) {
            const bool gpu = i % 2 != 0, large = i >= 2;
            const double us = large ? (gpu ? 1000 : 10000) : gpu ? small[k].gpu : 10;
            const double wide = large ? 1 : small[k].wide;
            tern_device_time row = {.size = large ? 100000 : 100,
                                    .use = TERN_DEVICE_USE_ARRAYS,
                                    .median_us = us,
                                    .low_us = us - wide,
                                    .high_us = us + wide,
                                    .samples = 9};
            snprintf(row.device, sizeof row.device, "%s", gpu ? "gpu" : "cpu");
            snprintf(row.op, sizeof row.op, "add");
            snprintf(row.shape, sizeof row.shape, "%d", large);
            CHECK_OK(tern_device_comparison_add(c, &row));
        }
        CHECK_OK(tern_device_comparison_crossover(c, 0, &x));
        CHECK(x.any && !x.always);
        if (small[k].between)
            CHECK(x.size > 100 && x.size < 99999);
        else
            CHECK_NEAR(x.size, 100000, 1e-6);
        tern_device_comparison_free(c);
    }
}

/* A device that cannot run a case is not recommended for its use, however fast it is otherwise. */
TEST(what_a_device_cannot_run_counts)
{
    tern_device_comparison *c = planted(0.1);
    tern_device_advice a;
    CHECK(c != NULL);
    add(c, "cpu", "sort", 500, 10, TERN_DEVICE_USE_ARRAYS);
    add(c, "gpu", "sort", 500, 0, TERN_DEVICE_USE_ARRAYS);
    CHECK_OK(tern_device_comparison_advice(c, 1, &a));
    CHECK_STR(a.device, "cpu");
    CHECK(strstr(a.words, "nothing else can run all of it") != NULL);
    tern_device_comparison_free(c);
}

TEST(bad_rows_are_refused)
{
    tern_device_comparison *c = NULL;
    CHECK_OK(tern_device_comparison_create(&c));
    tern_device_time row = {.device = "cpu", .samples = 3, .median_us = -1, .size = 1};
    CHECK_STATUS(tern_device_comparison_add(c, &row), TERN_INVALID_ARGUMENT);
    row.median_us = 1;
    row.use = (tern_device_use)99;
    CHECK_STATUS(tern_device_comparison_add(c, &row), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_device_comparison_time(c, 0, &row), TERN_OUT_OF_RANGE);
    tern_device_comparison_free(c);
    const char *names[] = {"abacus"};
    tern_device_compare_options o = {.n_devices = 1, .devices = names};
    CHECK_STATUS(tern_devices_compare(&o, &c), TERN_NOT_FOUND);
    o = (tern_device_compare_options){.n_ops = 1, .ops = names};
    CHECK_STATUS(tern_devices_compare(&o, &c), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "matmul") != NULL);
}

/* A difference that is smaller than its doubt is none; neither is one of runs that timing made longer. */
TEST(what_lies_around_steps_is_told_if_it_is_known)
{
    static const struct {
        tern__interval timed, beside;
        double high_us;
        const char *missing;
    } cases[] = {
        {{99, 103}, {8, 12}, 105, ""},
        {{99, 103}, {-3, 25}, 105, "not above the noise of its runs"},
        {{99, 103}, {5, 11}, 105, "not above the noise of its runs"},
        {{140, 150}, {8, 12}, 105, "steps take longer one by one than together"},
        {{99, 103}, {8, 12}, NAN, "too few runs to tell"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tern_device_time row = {.median_us = 100, .low_us = 95, .high_us = cases[i].high_us, .samples = 15};
        tern__device_around(&row, cases[i].timed, cases[i].beside, 10);
        CHECK_STR(row.around_missing, cases[i].missing);
        CHECK(cases[i].missing[0] ? isnan(row.around_us) : row.around_us == 10);
    }
}

/* What is measured has all of it: a time, an interval that holds it, and a row for each size. */
TEST(the_cpu_is_measured)
{
    const char *devices[] = {"cpu"}, *ops[] = {"add"};
    const tern_device_compare_options o = {.n_devices = 1,
                                           .devices = devices,
                                           .n_ops = 1,
                                           .ops = ops,
                                           .threads = 1,
                                           .rounds = 6,
                                           .budget_s = 0.05};
    tern_device_comparison *c = NULL;
    tern_device_time row;
    int n = 0;
    CHECK_OK(tern_devices_compare(&o, &c));
    for (; tern_device_comparison_time(c, n, &row) == TERN_OK; n++) {
        CHECK(row.samples > 0 && row.median_us > 0 && row.size > 0);
        CHECK(isnan(row.around_us) == (row.around_missing[0] != '\0') && !(row.around_us <= 0));
        CHECK(isnan(row.low_us) || (row.low_us <= row.median_us && row.median_us <= row.high_us));
    }
    CHECK_EQ(n, 3);
    tern_device_comparison_free(c);
}

/* ---- devices that fail ---- */

/* The CPU under another name, which fails at gelu after some runs of it, or cannot even be opened. */
static tern__device_ops broken;
static int runs_left;
static bool is_gone;

static tern_status run_brokenly(tern__device *device, const tern__plan *plan, tern__code *code,
                                const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    for (uint32_t s = part->first; s < part->end; s++)
        if (plan->steps[s].op == TERN__OP_gelu && runs_left-- <= 0)
            return tern__fail(TERN_INTERNAL, "its driver says -5");
    return tern__device_at(0)->run(device, plan, code, part, bindings, n_done);
}

static tern_status create_or_not(const tern__device_options *options, tern__device **out)
{
    return is_gone ? tern__fail(TERN_UNAVAILABLE, "its driver is gone")
                   : tern__device_at(0)->create(options, out);
}

static void describe_broken(tern__isa_cap cap, tern_device_info *out)
{
    tern__device_at(0)->describe(cap, out);
    out->name = "broken";
}

static void add_broken(int runs, bool gone)
{
    runs_left = runs;
    is_gone = gone;
    if (broken.name)
        return;
    broken = *tern__device_at(0);
    broken.name = "broken";
    broken.describe = describe_broken;
    broken.create = create_or_not;
    broken.run = run_brokenly;
    CHECK(tern__device_add(&broken));
}

/* Whenever a device fails, when it is checked, timed or opened: its rows say so, and everybody else is measured. */
static bool never_on(void *user, const char *what, int done, int total)
{
    (void)user;
    (void)what;
    (void)total;
    return done == 0;
}

/* Why it ended is told, and not what contexts find when they go (here that no times are kept). */
TEST(a_stop_is_told)
{
    char nowhere[4096];
    tern_device_compare_options o = tern_device_compare_options_default();
    const char *const devices[] = {"cpu"}, *const ops[] = {"add"};
    tern_device_comparison *c = NULL;
    CHECK(harness_path(nowhere, sizeof nowhere, "no-times.db"));
    CHECK(setenv("TERN_TUNING", nowhere, 1) == 0);
    o.devices = devices;
    o.n_devices = 1;
    o.ops = ops;
    o.n_ops = 1;
    o.rounds = 2;
    o.budget_s = 0.01;
    o.progress = never_on;
    const tern_status status = tern_devices_compare(&o, &c);
    CHECK(setenv("TERN_TUNING", "off", 1) == 0);
    CHECK_STATUS(status, TERN_CANCELLED);
    CHECK_STR(tern_last_error(), "compare_devices: stopped");
}

TEST(a_failure_is_a_row)
{
    static const char *const devices[] = {"broken", "cpu"}, *const ops[] = {"add", "gelu"};
    static const int runs[] = {0, 1, 20, 0};
    for (int k = 0; k < 4; k++) {
        const bool gone = k == 3;
        const tern_device_compare_options o = {.n_devices = 2,
                                               .devices = devices,
                                               .n_ops = 2,
                                               .ops = ops,
                                               .threads = 1,
                                               .rounds = 3,
                                               .budget_s = 0.001};
        tern_device_comparison *c = NULL;
        tern_device_time row;
        int failed = 0, timed = 0;
        add_broken(runs[k], gone);
        CHECK_OK(tern_devices_compare(&o, &c));
        for (int i = 0; tern_device_comparison_time(c, i, &row) == TERN_OK; i++) {
            const bool fails = strcmp(row.device, "broken") == 0 && (gone || strcmp(row.op, "gelu") == 0);
            CHECK(row.size > 0);
            CHECK((row.error[0] != '\0') == fails && (row.samples == 0) == fails);
            CHECK(!fails || strstr(row.error, gone ? "its driver is gone" : "its driver says -5"));
            failed += fails;
            timed += !fails;
        }
        CHECK(gone ? failed == 6 && timed == 6 : failed == 3 && timed == 9);
        tern_device_comparison_free(c);
    }
}

/* A model on a device that fails has rows that say why; and what the CPU said in its place is not told as its text. */
TEST(a_failure_with_a_model_is_a_row)
{
    static const char *const devices[] = {"cpu", "broken"};
    char path[4096];
    const char *source = getenv("TERN_SOURCE_DIR");
    tern_device_comparison *c = NULL;
    tern_device_time row;
    tern_device_text said;
    const tern_device_compare_options o = {
        .n_devices = 2, .devices = devices, .threads = 1, .rounds = 1, .model = path, .tokens = 2};
    snprintf(path, sizeof path, "%s/models/shakespeare.gguf", source ? source : ".");
    FILE *file = fopen(path, "rb");
    if (!file)
        SKIP("models/shakespeare.gguf is not there");
    fclose(file);
    add_broken(0, true);
    CHECK_OK(tern_devices_compare(&o, &c));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(tern_device_comparison_time(c, i, &row));
        CHECK_STR(row.device, devices[i % 2]);
        CHECK(i % 2 ? row.samples == 0 && strstr(row.error, "its driver is gone") : row.samples > 0);
    }
    CHECK_OK(tern_device_comparison_text(c, 0, &said));
    CHECK(strstr(said.error, "its driver is gone") && said.tokens == 0);
    tern_device_comparison_free(c);
    snprintf(path, sizeof path, "there is no such file");
    CHECK_STATUS(tern_devices_compare(&o, &c), TERN_NOT_FOUND); /* which is no device's failure */
}

/* Of the allocations that have the size of a list of times, the one that fails. */
enum { SCARCE_ROUNDS = 29 };
typedef struct scarcity {
    int countdown;
    bool fired;
} scarcity;

static bool withhold(void *user, size_t size)
{
    scarcity *s = user;
    if (size != SCARCE_ROUNDS * sizeof(double) || --s->countdown != 0)
        return true;
    s->fired = true;
    return false;
}

/* It ends the comparison: it is no reason why a device has no time, and no time either. */
TEST(no_memory_for_the_times_of_a_model_is_no_reason)
{
    char path[4096];
    tern_model_shape shape;
    const char *const devices[] = {"cpu"};
    const tern_device_compare_options o = {
        .n_devices = 1, .devices = devices, .threads = 1, .rounds = SCARCE_ROUNDS, .model = path};
    tern_alloc_stats before, after;
    int refused = 0, ended = 0;
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    harness_path(path, sizeof path, "scarce.gguf");
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    tern_alloc_get_stats(&before);
    for (bool fired = true; fired;) {
        tern_device_comparison *c = NULL;
        tern_device_time row;
        scarcity s = {.countdown = refused + 1};
        tern_alloc_set_gate(withhold, &s);
        const tern_status status = tern_devices_compare(&o, &c);
        tern_alloc_set_gate(NULL, NULL);
        fired = s.fired;
        refused += fired;
        ended += status != TERN_OK;
        if (status != TERN_OK)
            CHECK(fired && status == TERN_OUT_OF_MEMORY);
        for (int i = 0; status == TERN_OK && i < 2; i++) { /* what it can do without is not missed */
            CHECK_OK(tern_device_comparison_time(c, i, &row));
            CHECK_STR(row.device, "cpu"); /* which no second attempt had to help */
            CHECK(row.samples == SCARCE_ROUNDS && row.median_us > 0 && row.low_us > 0 && !row.error[0]);
        }
        tern_device_comparison_free(c);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
    }
    CHECK(ended >= 6); /* of both tests: their seconds, those of the processor, and both sorted */
}

/* What was not measured often enough for an interval has none. */
TEST(one_run_of_a_model_has_no_interval)
{
    char path[4096];
    tern_model_shape shape;
    const char *const devices[] = {"cpu"};
    const tern_device_compare_options o = {
        .n_devices = 1, .devices = devices, .threads = 1, .rounds = 1, .model = path};
    tern_device_comparison *c = NULL;
    tern_device_time row;
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    harness_path(path, sizeof path, "once.gguf");
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    CHECK_OK(tern_devices_compare(&o, &c));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tern_device_comparison_time(c, i, &row));
        CHECK(row.samples == 1 && row.median_us > 0 && isnan(row.low_us) && isnan(row.high_us));
    }
    tern_device_comparison_free(c);
}

/* All of the cases compute what the reference does, with data that are not zeros: none of the CPU's rows has an error. */
TEST(every_case_is_right_on_the_cpu)
{
    const char *devices[] = {"cpu"};
    const tern_device_compare_options o = {
        .n_devices = 1, .devices = devices, .threads = 1, .rounds = 3, .budget_s = 0.001};
    tern_device_comparison *c = NULL;
    tern_device_time row;
    int n = 0;
    CHECK_OK(tern_devices_compare(&o, &c));
    for (; tern_device_comparison_time(c, n, &row) == TERN_OK; n++)
        if (row.error[0] || row.samples < 1)
            harness_fail(__FILE__, __LINE__, "%s %s: %s", row.op, row.shape, row.error);
    CHECK(n >= 30);
    tern_device_comparison_free(c);
}

/* The built-in model: a time for prompts and one for generating, of each device that is there, case by case. */
static void measure_model(int n_devices)
{
    char path[4096];
    const char *source = getenv("TERN_SOURCE_DIR"), *const devices[] = {"cpu", "opencl"};
    tern_device_comparison *c = NULL;
    tern_device_compare_options o = {
        .n_devices = n_devices, .devices = devices, .rounds = 7, .model = path, .tokens = 24};
    snprintf(path, sizeof path, "%s/models/shakespeare.gguf", source ? source : ".");
    FILE *file = fopen(path, "rb");
    if (!file)
        SKIP("models/shakespeare.gguf is not there");
    fclose(file);
    CHECK_OK(tern_devices_compare(&o, &c));
    for (int i = 0; i < 2 * o.n_devices; i++) {
        tern_device_time row;
        CHECK_OK(tern_device_comparison_time(c, i, &row));
        CHECK(strcmp(row.device, devices[i % o.n_devices]) ==
              0); /* alone, or it would be called opencl+cpu */
        CHECK(strcmp(row.op, i < o.n_devices ? "prompt" : "generate") == 0);
        CHECK_EQ(row.samples, 7);
        CHECK(row.median_us > 0 && row.low_us <= row.median_us && row.median_us <= row.high_us);
    }
    tern_device_text said;
    if (o.n_devices == 2) {
        CHECK_OK(tern_device_comparison_text(c, 0, &said));
        CHECK_STR(said.device, "opencl");
        CHECK_STR(said.error, "");
        CHECK(!said.wrong && (said.parts || said.tokens == 24));
        CHECK(said.difference <= said.bound);
    }
    CHECK_STATUS(tern_device_comparison_text(c, o.n_devices - 1, &said), TERN_OUT_OF_RANGE);
    tern_device_advice advice;
    CHECK_OK(tern_device_comparison_advice(c, 1, &advice));
    CHECK_STATUS(tern_device_comparison_advice(c, 2, &advice), TERN_OUT_OF_RANGE);
    tern_device_comparison_free(c);
}

TEST(a_model_is_measured)
{
    measure_model(1);
}

TEST(a_model_is_measured_beside_opencl)
{
    NEEDS_DEVICE("opencl");
    measure_model(2);
}

/* A random model whose file asks for the end of a text behind every text. */
static void make_closing_model(char *path, size_t room)
{
    static const char before[] = "add_bos_token", after[] = "add_eos_token";
    static char bytes[1 << 20];
    tern_model_shape shape;
    CHECK_OK(tern_model_shape_find("tiny", &shape));
    harness_path(path, room, "closing.gguf");
    CHECK_OK(tern_model_synth(path, &shape, NULL));
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    size_t at = 0;
    while (at + sizeof before < n && memcmp(bytes + at, before, sizeof before - 1) != 0)
        at++;
    CHECK(at + sizeof before < n && fseek(file, (long)at, SEEK_SET) == 0);
    CHECK(fwrite(after, 1, sizeof after - 1, file) == sizeof after - 1);
    CHECK(fclose(file) == 0);
}

/* A text that is to be continued has no end behind it: one that fills the context leaves no room for one. */
TEST(a_prompt_is_not_closed)
{
    char path[4096], prompt[256];
    tern_device_text said;
    make_closing_model(path, sizeof path);
    memset(prompt, 'x', 255); /* and the token before it */
    prompt[255] = '\0';
    const tern__text_question fits = {
        .model = path, .prompt = prompt, .first = "cpu", .threads = 1, .tokens = 1};
    CHECK_OK(tern__compare_text(&fits, "cpu", &said));
    if (strstr(said.error, "this build"))
        SKIP("this build has no PCRE2");
    CHECK_STR(said.error, "");
    CHECK_EQ(said.tokens, 1);
    tern__text_question longer = fits; /* it was full */
    char more[300] = {0};
    memset(more, 'x', 256);
    longer.prompt = more;
    CHECK_OK(tern__compare_text(&longer, "cpu", &said));
    CHECK(strstr(said.error, "257") != NULL);
}

/* What follows does not hide it. */
TEST(a_logit_that_is_no_number_stays_in_the_difference)
{
    static const float cpu[2][3] = {{1, 3, 2}, {1, 3, 2}}, gpu[2][3] = {{1, 3, NAN}, {1, 3, 2.25F}};
    tern_device_text t = {.margin = NAN};
    for (int i = 0; i < 2; i++)
        tern__text_look(3, cpu[i], gpu[i], &t);
    CHECK_EQ(t.tokens, 2);
    CHECK(isnan(t.difference));
}

/* `n` tokens at which both would choose 1, and logits differ by `apart`. */
static void agree(int n, float apart, tern_device_text *t)
{
    const float cpu[3] = {10, 30, 20}, gpu[3] = {10, 30 - apart, 20};
    *t = (tern_device_text){.margin = NAN};
    for (int i = 0; i < n; i++)
        tern__text_look(3, cpu, gpu, t);
}

/* Logits that differ by less than the choice's lead, then by more: by as little as rounding moves them. */
TEST(texts_part_where_choices_do)
{
    static const float cpu[3] = {10, 20, 20.25F}, gpu[3] = {10, 20.25F, 20.125F};
    tern_device_text t;
    char words[320];
    agree(1, 0.25F, &t);
    CHECK(t.tokens == 1 && !t.parts && !t.wrong);
    CHECK_NEAR(t.difference, 0.25, 0);
    CHECK_STR(tern_device_text_words(&t, "cpu", words, sizeof words),
              "the same 1 tokens as cpu; logits differ by 0.25 at most");
    tern__text_look(3, cpu, gpu, &t);
    CHECK(t.tokens == 1 && t.parts && t.chosen == 2 && t.other == 1 && !t.wrong);
    CHECK_NEAR(t.margin, 0.25, 0);
    CHECK_NEAR(t.difference, 0.25, 0);
    CHECK_STR(
        tern_device_text_words(&t, "cpu", words, sizeof words),
        "the same 1 tokens as cpu, then they part: cpu prefers token 2 to 1 by 0.25; logits differ by up "
        "to 0.25: a near tie, rounding decides");
}

/* Whatever a device says, the difference of its logits is no measure of what rounding does to them. */
TEST(garbage_is_an_error_of_a_device)
{
    static const float cpu[3] = {100, 0, 0}, garbage[3] = {-50, 70, 0}, scaled[3] = {200, 0, 0},
                       nothing[3] = {NAN, NAN, NAN};
    const float *const wrong[] = {garbage, scaled, nothing};
    char words[320];
    for (int known = 0; known < 20; known += 10) /* tokens that were right before */
        for (int i = 0; i < 3; i++) {
            tern_device_text t;
            agree(known, 0.001F, &t);
            tern__text_look(3, cpu, wrong[i], &t);
            CHECK(t.wrong);
            tern_device_text_words(&t, "cpu", words, sizeof words);
            CHECK(strstr(words, ": an error of a device, rounding moves them by 12 at most") != NULL);
            CHECK(strstr(words, "near tie") == NULL);
            tern__text_look(3, cpu, cpu, &t); /* what follows does not hide it */
            CHECK(t.wrong);
        }
}

/* A lead that is small beside the logits, but not beside what rounding did to all tokens before. */
TEST(what_was_known_before_they_part_counts)
{
    static const float cpu[3] = {10, 21, 20}, gpu[3] = {10, 20, 20.5F};
    tern_device_text t;
    agree(20, 0.5F, &t); /* moves logits by as much */
    tern__text_look(3, cpu, gpu, &t);
    CHECK(t.parts && !t.wrong);
    agree(20, 0.001F, &t);
    tern__text_look(3, cpu, gpu, &t);
    CHECK(t.parts && t.wrong);
    agree(2, 0.001F, &t); /* too few to know */
    tern__text_look(3, cpu, gpu, &t);
    CHECK(t.parts && !t.wrong);
}

TEST(reports_have_the_section)
{
    tern_device_comparison *c = planted(5);
    char *json = NULL, *text = NULL;
    tern_report *r = NULL;
    CHECK(c != NULL);
    tern_device_text said = {
        .device = "gpu", .tokens = 7, .parts = true, .chosen = 4, .margin = 1, .difference = 1, .bound = 2};
    CHECK_OK(tern_device_comparison_add_text(c, &said));
    said.wrong = true;
    CHECK_OK(tern_device_comparison_add_text(c, &said));
    CHECK_OK(tern_device_comparison_json(c, &json));
    CHECK_OK(tern_report_create(NULL, &r));
    const tern_status status = tern_report_add_document(r, "devices.json", json, strlen(json));
    if (status == TERN_UNAVAILABLE) {
        tern_report_free(r);
        tern_string_free(json);
        tern_device_comparison_free(c);
        SKIP("built without jansson, which reads JSON");
    }
    CHECK_OK(status);
    CHECK_OK(tern_report_write(r, TERN_REPORT_TEXT, 1, (const char *[]){"devices"}, &text));
    CHECK(strstr(text, "for large arrays: gpu") && strstr(text, "for small steps: cpu"));
    CHECK(strstr(text, "gpu: the same 7 tokens as cpu, then they part") != NULL);
    CHECK(strstr(text, "a near tie") &&
          strstr(text, "an error of a device, rounding moves them by 2 at most"));
    tern_string_free(text);
    CHECK_OK(tern_report_write(r, TERN_REPORT_HTML, 1, (const char *[]){"devices"}, &text));
    CHECK(strstr(text, "id=\"devices\"") && strstr(text, "Time as a ratio to that of cpu"));
    tern_string_free(text);
    CHECK_STATUS(tern_report_add_document(r, "devices.json", json, strlen(json)), TERN_STATE);
    tern_report_free(r);
    tern_string_free(json);
    tern_device_comparison_free(c);
}

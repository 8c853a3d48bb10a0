/* test_results.c - sets of results: what samples say, what is written, what is read back, what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tern/graph.h>
#include <tern/measure.h>
#include <tern/results.h>

#include "base/random.h"
#include "comma.h"
#include "harness.h"
#include "measure/results/folder_commit.h"
#include "measure/results/results.h"

static bool no_reader(void)
{
    tern_results *r = NULL;
    const bool missing = tern_results_read("[]", 2, &r) == TERN_UNAVAILABLE;
    tern_results_free(r);
    return missing;
}

/* A set of two rows, one of which could not be measured. */
static void fill_two_rows(tern_results **out)
{
    static const double samples[] = {10, 11, 9, 10, 40, 10.5, 9.5, 10, 10.25};
    tern_results *r = NULL;
    tern_result row = tern_result_default();
    CHECK_OK(tern_results_create(&r));
    row.suite = "ops", row.family = "rows", row.name = "soft \"max\"", row.shape = "f32[2,3]";
    row.dtype = "f32", row.device = "cpu", row.threads = 2, row.repeats = 7;
    row.rounds = 9, row.samples_us = samples;
    row.median_us = 1e9; /* not believed */
    row.gbytes_s = 12.5, row.limit_kind = "copy_bw", row.limit_share = 0.75;
    row.allocations = 3, row.peak_bytes = 4096, row.accuracy_error = 1e-7;
    CHECK_OK(tern_results_add(r, &row));
    row = tern_result_default();
    row.suite = "ops", row.family = "rows", row.name = "lost",
    row.error = "unavailable: planted\nsecond line";
    CHECK_OK(tern_results_add(r, &row));
    CHECK_OK(tern_results_set_condition(r, "cpu_model", "a \xff model"));
    CHECK_OK(tern_results_set_condition(r, "load", "0.1"));
    CHECK_OK(tern_results_set_condition(r, "load", "0.2"));
    *out = r;
}

static tern_results *two_rows(void)
{
    tern_results *r = NULL;
    fill_two_rows(&r);
    return r;
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_same(const tern_results *a, const tern_results *b)
{
    tern_result x, y;
    CHECK_EQ(tern_results_count(a), tern_results_count(b));
    for (int i = 0; tern_results_at(a, i, &x) == TERN_OK && tern_results_at(b, i, &y) == TERN_OK; i++) {
        CHECK_STR(x.name, y.name);
        CHECK_STR(x.shape, y.shape);
        CHECK_STR(x.error, y.error);
        CHECK(x.threads == y.threads && x.rounds == y.rounds && x.repeats == y.repeats &&
              x.outliers == y.outliers && x.allocations == y.allocations && x.peak_bytes == y.peak_bytes);
        CHECK(same_number(x.median_us, y.median_us) && same_number(x.low_us, y.low_us) &&
              same_number(x.high_us, y.high_us) && same_number(x.gbytes_s, y.gbytes_s) &&
              same_number(x.gflops, y.gflops) && same_number(x.limit_share, y.limit_share) &&
              same_number(x.accuracy_error, y.accuracy_error));
        CHECK((x.samples_us == NULL) == (y.samples_us == NULL));
        for (int k = 0; k < x.rounds && x.samples_us; k++)
            CHECK(x.samples_us[k] == y.samples_us[k]);
    }
}

TEST(figures_come_from_the_samples)
{
    tern_results *r = two_rows();
    tern_result row;
    CHECK_OK(tern_results_at(r, 0, &row));
    CHECK(row.median_us == 10 && row.mad_us == 0.5 && row.min_us == 9);
    CHECK_EQ(row.outliers, 1);
    CHECK(row.low_us <= 10 && row.high_us >= 10 && row.low_us >= 9 && row.high_us <= 11);
    CHECK_OK(tern_results_at(r, 1, &row));
    CHECK(row.rounds == 0 && isnan(row.median_us) && !row.samples_us && row.peak_bytes == -1);
    CHECK_STATUS(tern_results_at(r, 2, &row), TERN_OUT_OF_RANGE);
    CHECK_STR(tern_results_condition(r, "load"), "0.2");
    CHECK(tern_results_condition(r, "nothing") == NULL);
    tern_results_free(r);
}

/* A clock that ticks coarsely: most samples are equal, so that half of them are at no distance from the median. */
TEST(outliers_are_counted_where_most_samples_are_equal)
{
    static const struct {
        double others; /* us, of every tenth of forty samples at 10 us */
        int outliers;
    } cases[] = {{10, 0}, {100, 4}, {10.001, 4}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double x[40];
        tern_results *r;
        tern_result row = tern_result_default();
        for (int i = 0; i < 40; i++)
            x[i] = i % 10 == 3 ? cases[k].others : 10;
        row.rounds = 40, row.samples_us = x;
        CHECK_OK(tern_results_create(&r));
        CHECK_OK(tern_results_add(r, &row));
        CHECK_OK(tern_results_at(r, 0, &row));
        CHECK_EQ(row.mad_us, 0);
        CHECK_EQ(row.outliers, cases[k].outliers);
        tern_results_free(r);
    }
    /* Nearly half of them one tick later are none. */
    double x[41];
    tern_results *r;
    tern_result row = tern_result_default();
    for (int i = 0; i < 41; i++)
        x[i] = i % 2 ? 11 : 10;
    row.rounds = 41, row.samples_us = x;
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_add(r, &row));
    CHECK_OK(tern_results_at(r, 0, &row));
    CHECK_EQ(row.outliers, 0);
    tern_results_free(r);
}

/* A folder of thermal zones 0 to 3: NULL is none, "" one that tells nothing. */
static void plant_zones(const char *const zones[4], char *text)
{
    static int n;
    char folder[600], path[700];
    snprintf(folder, sizeof folder, "%s/thermal%d", harness_folder(), n++);
    mkdir(folder, 0777);
    for (int i = 0; i < 4; i++) {
        if (!zones[i])
            continue;
        snprintf(path, sizeof path, "%s/thermal_zone%d", folder, i);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/thermal_zone%d/temp", folder, i);
        FILE *f = fopen(path, "w");
        if (f) {
            fputs(zones[i], f);
            fclose(f);
        }
    }
    tern__results_temperature(folder, text);
}

TEST(a_thermal_zone_that_cannot_be_read_hides_no_other)
{
    char text[TERN__CONDITION_TEXT + 1];
    plant_zones((const char *const[4]){"41000\n", NULL, "57500\n", "39000\n"}, text);
    CHECK_STR(text, "57.5 C");
    plant_zones((const char *const[4]){"", "48000\n", NULL, NULL}, text);
    CHECK_STR(text, "48.0 C");
    plant_zones((const char *const[4]){"", "", NULL, NULL}, text);
    CHECK_STR(text, "unavailable: no thermal zone can be read");
    plant_zones((const char *const[4]){NULL, NULL, NULL, NULL}, text);
    CHECK_STR(text, "unavailable: no thermal zones in /sys");
}

TEST(the_interval_of_the_median_holds_as_often_as_it_says)
{
    const uint64_t seed = harness_seed();
    /* Drawn intervals would hold the median of 6 to 12 samples in 91.5 to 94.5 % of cases. */
    enum { SETS = 1000, MOST = 25 };
    static const int sizes[] = {6, 7, 8, 9, 10, 11, 12, 19, 25};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int inside = 0;
        const int n = sizes[k], sets = n < 20 ? SETS : SETS / 4; /* draws take their time */
        for (int set = 0; set < sets; set++) {
            double x[MOST];
            tern_results *r;
            tern_result row = tern_result_default();
            for (int i = 0; i < n; i++) /* skewed, as times are; the median is 100 */
                x[i] = 100 * exp(0.1 * tern__random_normal(seed + (uint64_t)(n * SETS + set), (uint64_t)i));
            row.name = "x", row.rounds = n, row.samples_us = x;
            CHECK_OK(tern_results_create(&r));
            CHECK_OK(tern_results_add(r, &row));
            CHECK_OK(tern_results_at(r, 0, &row));
            inside += row.low_us <= 100 && 100 <= row.high_us;
            tern_results_free(r);
        }
        printf("%d samples: %d of %d\n", n, inside, sets);
        /* 96 to 99 % by design, with a deviation of 6 of 1000; those that are drawn cover a little less than 95. */
        CHECK(inside >= (n < 20 ? 0.945 : 0.9) * sets);
    }
}

TEST(one_sample_has_no_spread)
{
    tern_results *r;
    tern_result row = tern_result_default();
    char *text;
    row.name = "x", row.rounds = 1, row.samples_us = (double[]){5};
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_add(r, &row));
    CHECK_OK(tern_results_at(r, 0, &row));
    CHECK(row.median_us == 5 && isnan(row.mad_us));
    CHECK_OK(tern_results_write(r, TERN_RESULT_JSON, &text));
    CHECK(strstr(text, "\"mad_us\": null") != NULL);
    tern_string_free(text);
    CHECK_OK(tern_results_write(r, TERN_RESULT_GOOGLE, &text));
    CHECK(strstr(text, "_median") != NULL && !strstr(text, "_mad"));
    tern_string_free(text);
    CHECK_OK(tern_results_write(r, TERN_RESULT_ACTION_SMALLER, &text));
    CHECK(!strstr(text, "range"));
    tern_string_free(text);
    tern_results_free(r);
}

/* Google Benchmark's own tools read cpu_time; it is told where it was measured, and kept with the samples. */
TEST(the_processors_time_is_kept_and_told)
{
    const double us[] = {5, 7, 6}, cpu[] = {10, 0, 11};
    tern_results *r, *back;
    tern_result row = tern_result_default();
    char *text;
    row.name = "x", row.rounds = 3, row.samples_us = us, row.cpu_samples_us = cpu;
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_add(r, &row));
    row.cpu_samples_us = (double[]){1, -1, 1};
    CHECK_STATUS(tern_results_add(r, &row), TERN_INVALID_ARGUMENT);
    row.cpu_samples_us = NULL;
    row.name = "y";
    CHECK_OK(tern_results_add(r, &row));
    CHECK_OK(tern_results_write(r, TERN_RESULT_GOOGLE, &text));
    CHECK(strstr(text, "\"real_time\": 5, \"cpu_time\": 10,") != NULL);
    CHECK(strstr(text, "\"real_time\": 7, \"cpu_time\": 0,") != NULL);
    CHECK(strstr(text, "\"real_time\": 6, \"cpu_time\": 10,") != NULL); /* medians */
    CHECK(strstr(strstr(text, "\"y/"), "cpu_time") == NULL);
    tern_string_free(text);
    CHECK_OK(tern_results_write(r, TERN_RESULT_JSON, &text));
    if (!no_reader()) {
        CHECK_OK(tern_results_read(text, strlen(text), &back));
        CHECK_OK(tern_results_at(back, 0, &row));
        CHECK(row.cpu_samples_us && memcmp(row.cpu_samples_us, cpu, sizeof cpu) == 0);
        CHECK_OK(tern_results_at(back, 1, &row));
        CHECK(row.cpu_samples_us == NULL);
        tern_results_free(back);
    }
    tern_string_free(text);
    tern_results_free(r);
}

TEST(rates_are_told_or_missed)
{
    tern_results *r;
    tern_result row = tern_result_default();
    char *text = NULL;
    row.suite = "model", row.family = "f", row.name = "pp512", row.shape = "batch 512", row.dtype = "f16";
    row.threads = 1, row.rounds = 1, row.samples_us = (double[]){256e3};
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_add(r, &row));
    row.name = "tg64 @ d128", row.samples_us = (double[]){2e6};
    CHECK_OK(tern_results_add(r, &row));
    CHECK_OK(tern_results_write(r, TERN_RESULT_ACTION_BIGGER, &text));
    CHECK(strstr(text, "\"unit\": \"tokens/s\", \"value\": 2000,") != NULL);
    CHECK(strstr(text, "\"unit\": \"tokens/s\", \"value\": 32,") != NULL);
    tern_string_free(text);
    CHECK_OK(tern_results_write(r, TERN_RESULT_BENCHER, &text));
    CHECK(strstr(text, "\"tokens-per-second\": {\"value\": 2000}") != NULL);
    tern_string_free(text);
    CHECK_OK(tern_results_write(r, TERN_RESULT_GOOGLE, &text));
    CHECK(strstr(text, "\"items_per_second\": 32") != NULL);
    tern_string_free(text);
    tern_results_free(r);
    /* What only has times is no answer to a question for rates. */
    row.suite = "alloc", row.name = "a block";
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_add(r, &row));
    text = NULL;
    CHECK_STATUS(tern_results_write(r, TERN_RESULT_ACTION_BIGGER, &text), TERN_UNAVAILABLE);
    CHECK(text == NULL && strstr(tern_last_error(), "no row has one") != NULL);
    tern_results_free(r);
}

TEST(which_rows_are_of_one_benchmark)
{
    tern_result a = tern_result_default(), b = tern_result_default();
    a.suite = b.suite = "model", a.family = b.family = "f", a.name = b.name = "pp4";
    a.shape = b.shape = "batch 512", a.dtype = b.dtype = "f16", a.threads = b.threads = 1;
    b.run = 3, b.kernel = "another", b.rounds = 9;
    CHECK(tern_result_same(&a, &b));
    tern_result other = b;
    other.dtype = "i8"; /* the cache of a model */
    CHECK(!tern_result_same(&a, &other));
    other = b, other.threads = 2;
    CHECK(!tern_result_same(&a, &other));
    const char **const texts[] = {&other.suite, &other.family, &other.name,
                                  &other.shape, &other.dtype,  &other.device};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        other = b;
        *texts[i] = NULL; /* counts as "" */
        CHECK(tern_result_same(&a, &other) == (texts[i] == &other.device));
        *texts[i] = "x";
        CHECK(!tern_result_same(&a, &other));
    }
}

static void add_session(tern_results *to, int run, double us)
{
    const double samples[] = {us, us + 1, us + 2};
    for (int i = 0; i < 2; i++) {
        tern_result row = tern_result_default();
        row.name = i ? "large" : "small", row.run = run;
        row.rounds = 3, row.samples_us = samples;
        CHECK_OK(tern_results_add(to, &row));
    }
}

TEST(sessions_that_are_there_twice_are_told)
{
    tern_results *a = NULL, *b = NULL, *few = NULL;
    tern_result row;
    CHECK_OK(tern_results_create(&a));
    CHECK_OK(tern_results_create(&b));
    CHECK_OK(tern_results_create(&few));
    CHECK(!tern_results_repeat(a, a)); /* nothing is no session */
    add_session(a, 0, 10);
    add_session(a, 1, 20);
    add_session(b, 0, 30);
    CHECK(!tern_results_repeat(a, b) && !tern_results_repeat(b, a));
    CHECK(tern_results_repeat(a, a));
    add_session(b, 7, 20); /* one of several, under another number */
    CHECK(tern_results_repeat(a, b) && tern_results_repeat(b, a));
    CHECK(!tern_results_repeat(NULL, a) && !tern_results_repeat(a, NULL));
    /* A part of it is none, nor are so few samples that chance may repeat. */
    CHECK_OK(tern_results_at(a, 0, &row));
    CHECK_OK(tern_results_add(few, &row));
    CHECK(!tern_results_repeat(few, a) && !tern_results_repeat(a, few));
    tern_results_free(a);
    tern_results_free(b);
    tern_results_free(few);
}

TEST(benchmarks_of_two_types_have_two_names)
{
    const char *const types[] = {"f16", "i8"};
    tern_results *r = NULL;
    char *text = NULL;
    CHECK_OK(tern_results_create(&r));
    for (int i = 0; i < 2; i++) {
        const double sample = 1;
        tern_result row = tern_result_default();
        row.suite = "model", row.name = "pp4", row.shape = "batch 512", row.dtype = types[i];
        row.rounds = 1, row.samples_us = &sample;
        CHECK_OK(tern_results_add(r, &row));
    }
    CHECK_OK(tern_results_write(r, TERN_RESULT_BENCHER, &text));
    CHECK(strstr(text, "batch 512/f16/") != NULL && strstr(text, "batch 512/i8/") != NULL);
    tern_string_free(text);
    tern_results_free(r);
}

TEST(what_is_written_is_read_back)
{
    tern_results *r = two_rows(), *back = NULL;
    char *text;
    if (no_reader()) {
        tern_results_free(r);
        SKIP("this build has no jansson");
    }
    const tern_result_format readable[] = {TERN_RESULT_JSON, TERN_RESULT_ROWS};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tern_results_write(r, readable[i], &text));
        CHECK_OK(tern_results_read(text, strlen(text), &back));
        check_same(r, back);
        if (readable[i] == TERN_RESULT_JSON) {
            CHECK_STR(tern_results_condition(back, "cpu_model"), "a \xef\xbf\xbd model");
            CHECK_STR(tern_results_condition(back, "load"), "0.2");
        }
        /* Every beginning is refused with one line, and nothing leaks. */
        for (size_t n = 0; n + 2 < strlen(text); n += 7) {
            tern_results *none = NULL;
            CHECK_STATUS(tern_results_read(text, n, &none), TERN_FORMAT);
            CHECK(!none && !strchr(tern_last_error(), '\n'));
        }
        tern_results_free(back);
        tern_string_free(text);
    }
    tern_results_free(r);
}

/* A program that shows its users commas writes and reads the same files as any other. */
TEST(files_ignore_the_locale)
{
    enum { FORMATS = TERN_RESULT_BENCHER + 1 };
    tern_results *r = two_rows(), *back = NULL;
    char *texts[2][FORMATS] = {{NULL}};
    bool same = true, read = true;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && !begin_comma()) {
            for (int f = 0; f < FORMATS; f++)
                tern_string_free(texts[0][f]);
            tern_results_free(r);
            SKIP(NO_COMMA);
        }
        for (int f = 0; f < FORMATS; f++)
            same &= tern_results_write(r, (tern_result_format)f, &texts[pass][f]) == TERN_OK;
    }
    same &= tern__results_load(r) == 0.2;
    if (!no_reader() && texts[0][0])
        read = tern_results_read(texts[0][0], strlen(texts[0][0]), &back) == TERN_OK;
    setlocale(LC_NUMERIC, "C");
    CHECK(same && read);
    if (back)
        check_same(r, back);
    for (int f = 0; f < FORMATS; f++) {
        CHECK_STR(texts[1][f], texts[0][f]);
        tern_string_free(texts[0][f]);
        tern_string_free(texts[1][f]);
    }
    tern_results_free(back);
    tern_results_free(r);
}

TEST(every_format_has_its_rows)
{
    static const struct {
        tern_result_format format;
        const char *has;
    } expected[] = {
        {TERN_RESULT_JSON, "\"format\": \"tern-results\""},
        {TERN_RESULT_ROWS, "\"soft \\\"max\\\"\""},
        {TERN_RESULT_CSV, "\"soft \"\"max\"\"\""},
        {TERN_RESULT_GOOGLE, "\"aggregate_name\": \"median\""},
        {TERN_RESULT_ACTION_SMALLER, "\"unit\": \"us\", \"value\": 10"},
        {TERN_RESULT_ACTION_BIGGER, "\"unit\": \"GB/s\", \"value\": 12.5"},
        {TERN_RESULT_BENCHER, "\"latency\": {\"value\": 10000,"},
    };
    tern_results *r = two_rows();
    char *text;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        tern_result_format format;
        CHECK_OK(tern_results_write(r, expected[i].format, &text));
        CHECK(strstr(text, expected[i].has) != NULL);
        CHECK(text[strlen(text) - 1] == '\n');
        tern_string_free(text);
        CHECK_OK(tern_result_format_parse(tern_result_format_name(expected[i].format), &format));
        CHECK_EQ(format, expected[i].format);
    }
    tern_result_format format = TERN_RESULT_CSV;
    CHECK_STATUS(tern_result_format_parse("xml", &format), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "google-benchmark") != NULL && format == TERN_RESULT_CSV);
    CHECK_STR(tern_result_format_name((tern_result_format)99), "unknown");
    CHECK_STATUS(tern_results_write(r, (tern_result_format)99, &text), TERN_INVALID_ARGUMENT);
    tern_results_free(r);
}

TEST(malformed_files_are_one_line)
{
    if (no_reader())
        SKIP("this build has no jansson");
    static const struct {
        const char *text;
        tern_status status;
    } bad[] = {
        {"", TERN_FORMAT},
        {"{}", TERN_FORMAT},
        {"7", TERN_FORMAT},
        {"[7]", TERN_FORMAT},
        {"[{}]", TERN_FORMAT},
        {"[{\"name\": 7}]", TERN_FORMAT},
        {"[{\"name\": \"a\\u0000b\"}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"threads\": 1e300}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"threads\": 99999999999}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"threads\": -1}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"median_us\": -1}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"median_us\": \"1\"}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": 1}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": [1, 0]}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": [1, \"2\"]}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": [1, 1e308]}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": [1e-320]}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": [1], \"cpu_samples_us\": [1e308]}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"samples_us\": [1], \"gflops\": 1e308}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"median_us\": 1e300}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"median_us\": 1, \"low_us\": 1e-320}]", TERN_FORMAT},
        {"[{\"name\": \"a\", \"name\": \"b\"}]", TERN_FORMAT},
        {"{\"format\": \"other\", \"rows\": []}", TERN_FORMAT},
        {"{\"format\": \"tern-results\", \"version\": 2, \"rows\": []}", TERN_UNSUPPORTED},
        {"{\"format\": \"tern-results\", \"version\": 1, \"rows\": {}}", TERN_FORMAT},
        {"{\"format\": \"tern-results\", \"version\": 1, \"rows\": [], \"conditions\": {\"a\": 1}}",
         TERN_FORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tern_results *r = NULL;
        CHECK_STATUS(tern_results_read(bad[i].text, strlen(bad[i].text), &r), bad[i].status);
        CHECK(!r && !strchr(tern_last_error(), '\n') && strncmp(tern_last_error(), "results: ", 9) == 0);
    }
    tern_results *r = NULL;
    CHECK_STATUS(tern_results_load("/nowhere/at all.json", &r), TERN_NOT_FOUND);
    CHECK_STATUS(tern_results_load("/", &r), TERN_IO);
    CHECK(r == NULL);
}

TEST(sets_have_bounds)
{
    tern_results *r;
    tern_result row = tern_result_default();
    double samples[] = {1, NAN};
    char name[32], *large = calloc(1, 70000);
    CHECK_OK(tern_results_create(&r));
    row.name = "x", row.rounds = 2, row.samples_us = samples;
    CHECK_STATUS(tern_results_add(r, &row), TERN_INVALID_ARGUMENT);
    samples[1] = 0;
    CHECK_STATUS(tern_results_add(r, &row), TERN_INVALID_ARGUMENT);
    samples[1] = 1.1e15; /* and what is just inside */
    CHECK_STATUS(tern_results_add(r, &row), TERN_INVALID_ARGUMENT);
    tern_results *edges;
    samples[0] = 1e-6, samples[1] = 1e15;
    CHECK_OK(tern_results_create(&edges));
    CHECK_OK(tern_results_add(edges, &row));
    tern_results_free(edges);
    row.rounds = -1;
    CHECK_STATUS(tern_results_add(r, &row), TERN_INVALID_ARGUMENT);
    row.rounds = 0;
    memset(large, 'a', 69999);
    row.name = large;
    CHECK_STATUS(tern_results_add(r, &row), TERN_LIMIT);
    CHECK_STATUS(tern_results_set_condition(r, "a", large), TERN_LIMIT);
    CHECK_STATUS(tern_results_set_condition(r, "", "b"), TERN_LIMIT);
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "name %d", i);
        CHECK_OK(tern_results_set_condition(r, name, "b"));
    }
    CHECK_STATUS(tern_results_set_condition(r, "another", "b"), TERN_LIMIT);
    CHECK_EQ(tern_results_count(r), 0);
    free(large);
    tern_results_free(r);
}

TEST(conditions_say_what_they_know_or_why_not)
{
    static const char *const names[] = {
        "host",    "cpu_model",   "cpu_flags",  "governor",      "frequency",    "load", "power",
        "version", "temperature", "cgroup_cpu", "cgroup_memory", "build_commit", "time", "folder_commit"};
    tern_results *r;
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_results_note_conditions(r));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = tern_results_condition(r, names[i]);
        CHECK(value != NULL && value[0] != '\0');
        if (value && strncmp(value, "unavailable", 11) == 0)
            CHECK(strlen(value) > strlen("unavailable: "));
    }
    CHECK_EQ(strlen(tern_results_condition(r, "host")), 16);
    char host[32];
    snprintf(host, sizeof host, "%s", tern_results_condition(r, "host"));
    CHECK_OK(tern_results_note_conditions(r)); /* again: the same machine */
    CHECK_STR(tern_results_condition(r, "host"), host);
    tern_results_free(r);
}

/* ---- commits ---- */

/* A file below the folder. */
static void plant_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void plant_folder(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(mkdir(path, 0700) == 0);
}

static void check_commit(const char *folder, const char *name, const char *commit)
{
    char path[512], found[128] = "none";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(tern__folder_commit(path, found, sizeof found) == (commit != NULL));
    CHECK_STR(found, commit ? commit : "none");
}

TEST(commits_of_folders_are_found_in_every_kind_of_work_tree)
{
    char top[] = "/tmp/tern-commit-XXXXXX";
    CHECK(mkdtemp(top) != NULL);
    static const char *const folders[] = {"main",
                                          "main/.git",
                                          "main/.git/refs",
                                          "main/.git/refs/heads",
                                          "main/deep",
                                          "main/.git/worktrees",
                                          "main/.git/worktrees/side",
                                          "side",
                                          "side/deep",
                                          "sub",
                                          "plain"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        plant_folder(top, folders[i]);
    check_commit(top, "plain", NULL);
    plant_file(top, "main/.git/HEAD", "ref: refs/heads/main\n");
    plant_file(top, "main/.git/refs/heads/main", "1111\n");
    plant_file(top, "main/.git/packed-refs", "# pack-refs\n2222 refs/heads/packed\n");
    check_commit(top, "main", "1111");
    check_commit(top, "main/deep", "1111");
    /* A linked work tree: .git is a file, branches are those of the first one. */
    plant_file(top, "side/.git", "gitdir: ../main/.git/worktrees/side\n");
    plant_file(top, "main/.git/worktrees/side/HEAD", "ref: refs/heads/packed\n");
    plant_file(top, "main/.git/worktrees/side/commondir", "../..\n");
    check_commit(top, "side/deep", "2222");
    plant_file(top, "main/.git/worktrees/side/HEAD", "3333\n");
    check_commit(top, "side", "3333");
    plant_file(top, "sub/.git", "gitdir: /nowhere\n");
    check_commit(top, "sub", NULL);
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    CHECK_EQ(system(command), 0);
}

TEST(the_commit_of_the_build_is_known_or_said_to_be_unknown)
{
    const char *commit = tern_build_commit();
    CHECK(strncmp(commit, "unavailable: ", 13) == 0 || strspn(commit, "0123456789abcdef") >= 40);
}

/* ---- from a benchmark ---- */

typedef struct taken {
    tern_results *results;
    int rows, given_up, sampled;
} taken;

static void take(void *user, const tern_result *row)
{
    taken *t = user;
    t->rows++;
    t->given_up += strstr(row->error, "given up") != NULL;
    t->sampled += row->rounds > 0 && row->samples_us && row->repeats > 0 && row->peak_bytes > 0 &&
                  row->allocations >= 0 && row->accuracy_error < 1e-3;
    CHECK_OK(tern_results_add(t->results, row));
}

TEST(benchmarks_keep_their_samples)
{
    const int one[] = {1};
    tern_bench_options o = {
        .family = "rows", .n_threads = 1, .threads = one, .budget_s = 2e-3, .memory = 1 << 16, .rounds = 11};
    taken t = {0};
    tern_result row;
    CHECK_OK(tern_results_create(&t.results));
    tern_status status = tern_bench_run(&o, take, &t);
    CHECK(status == TERN_OK || status == TERN_STATE);
    CHECK(t.rows > 3 && t.sampled == t.rows && t.given_up == 0);
    for (int i = 0; tern_results_at(t.results, i, &row) == TERN_OK; i++)
        CHECK(row.rounds >= 1 && row.rounds <= 11 &&
              (row.rounds < 6 ? isnan(row.low_us) && isnan(row.high_us)
                              : row.low_us <= row.median_us && row.median_us <= row.high_us));
    tern_results_free(t.results);
}

TEST(a_row_that_takes_too_long_is_given_up_and_said)
{
    const int one[] = {1};
    tern_bench_options o = {
        .family = "rows", .n_threads = 1, .threads = one, .timeout_s = 1e-9, .memory = 1 << 16};
    taken t = {0};
    CHECK_OK(tern_results_create(&t.results));
    CHECK_STATUS(tern_bench_run(&o, take, &t), TERN_STATE); /* since all of them are */
    CHECK(t.rows > 3 && t.given_up == t.rows && t.sampled == 0);
    tern_results_free(t.results);
}

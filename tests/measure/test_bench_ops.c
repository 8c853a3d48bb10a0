/* test_bench_ops.c - the rows of tern_bench_run: every case appears, whatever happens to it; nonsense is refused. Times are made
 * here but not judged. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/catalog.h>
#include <tern/measure.h>
#include <tern/memory.h>
#include <tern/ops.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "harness.h"
#include "measure/bench/bench.h"
#include "measure/bench/cases.h"
#include "measure/bench/threads_cost.h"

/* Where every row has to be measured none is given up, however long the machine stands still. */
enum { PATIENT_S = 3600 };

typedef struct seen {
    int rows, measured, bad;
    char families[512];
} seen;

static void see(void *user, const tern_result *row)
{
    seen *s = user;
    s->rows++;
    s->measured += row->rounds > 0;
    if (!strstr(s->families, row->family))
        strncat(s->families, row->family, sizeof s->families - strlen(s->families) - 2);
    if (row->threads == 0)
        return; /* listed */
    if (row->rounds > 0 && (!(row->median_us > 0) || !(row->min_us > 0) || row->min_us > row->median_us ||
                            row->kernel[0] == '\0' || row->isa[0] == '\0'))
        s->bad++;
    if (isnan(row->limit_share) != (row->error[0] != '\0'))
        s->bad++;
}

static void keep_row(void *user, const tern_result *row)
{
    CHECK_OK(tern_results_add(user, row));
}

TEST(every_case_is_well_formed)
{
    const tern__case *row;
    int n = 0;
    for (; (row = tern__case_at(n)) != NULL; n++) {
        char shape[256];
        tern__case_shape(row, 1 << 20, shape, sizeof shape);
        CHECK(strchr(shape, '[') && shape[strlen(shape) - 1] == ']');
        CHECK((row->operations > 0) == (row->limit == TERN_LIMIT_FMA || row->limit == TERN_LIMIT_INT8_DOT));
        seen s = {0};
        CHECK_OK(tern_bench_case(NULL, n, see, &s));
        CHECK_EQ(s.rows, 1);
    }
    CHECK(n > 50);
    CHECK_STATUS(tern_bench_case(NULL, n, see, NULL), TERN_OUT_OF_RANGE);
}

TEST(a_family_gives_a_row_for_each_case_and_number_of_threads)
{
    const int threads[] = {1, 2};
    const tern_bench_options o = {.family = "reductions",
                                  .n_threads = 2,
                                  .threads = threads,
                                  .budget_s = 1e-3,
                                  .timeout_s = PATIENT_S,
                                  .memory = 1 << 16};
    seen s = {0};
    tern_status status = tern_bench_run(&o, see, &s);
    CHECK(status == TERN_OK ||
          status == TERN_STATE); /* arrays this small may beat a probe on a busy machine */
    int cases = 0;
    const tern__case *row;
    for (int i = 0; (row = tern__case_at(i)) != NULL; i++)
        cases += strcmp(row->family, "reductions") == 0;
    CHECK(cases > 2);
    CHECK_EQ(s.rows, 2 * cases);
    CHECK_EQ(s.measured, 2 * cases);
    CHECK_EQ(s.bad, 0);
    CHECK_STR(s.families, "reductions");
}

TEST(results_are_compared_with_the_reference)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    const tern__case *row;
    for (int i = 0; (row = tern__case_at(i)) != NULL; i++) {
        if (strcmp(row->family, "rows") != 0 && strcmp(row->family, "elementwise") != 0)
            continue;
        tern__prepared p;
        double seconds;
        CHECK_OK(tern__case_prepare(ctx, row, 1 << 16, &p));
        tern_compile_options options = tern_compile_options_default();
        CHECK_OK(tern__case_compile(&p, &options));
        CHECK_OK(tern__case_check(&p, &seconds));
        /* A program that computes something else is found out. */
        const tern__case other = {.family = "rows",
                                  .name = "planted",
                                  .op = "neg",
                                  .attributes = "",
                                  .limit = row->limit,
                                  .operands = {row->operands[0]}};
        if (p.n_results == 1 && p.n_operands == 1 && strcmp(row->op, "cast") != 0) {
            p.row = &other;
            CHECK_STATUS(tern__case_check(&p, &seconds), TERN_INTERNAL);
        }
        tern__case_free(&p);
    }
    tern_ctx_destroy(ctx);
}

/* ---- a planted limit ---- */

enum { PLANTED_BYTES = 1 << 16 };

static tern_status plant(const tern__bench *bench, int i, tern__cell *cell)
{
    (void)bench;
    cell->row.family = cell->row.name = "planted";
    cell->row.limit_kind = tern_limit_name(TERN_LIMIT_READ_BW);
    snprintf(cell->shape, sizeof cell->shape, "u8[%d]", PLANTED_BYTES);
    return i == 0 ? TERN_OK : TERN_OUT_OF_RANGE;
}

static tern_status plant_data(int i, tern__cell *cell)
{
    (void)i;
    cell->state = cell;
    return TERN_OK;
}

/* What it says to read, which the probes do read, is not what it does. */
static tern_status plant_limit(tern__cell *cell, int threads)
{
    (void)threads;
    cell->limited = true;
    cell->work = (tern__limit_work){.kind = TERN_LIMIT_READ_BW, .read_bytes = PLANTED_BYTES};
    cell->first_s = 1e-6;
    return TERN_OK;
}

static tern_status do_nothing(void *state)
{
    (void)state;
    return TERN_OK;
}

static tern_status take_long(void *state)
{
    (void)state;
    const uint64_t end = tern__now_ns() + 50000000; /* at 1.3 MB/s, below any machine's limit */
    while (tern__now_ns() < end)
        ;
    return TERN_OK;
}

static void close_planted(tern__cell *cell)
{
    (void)cell;
}

typedef struct planted {
    int rows;
    double share;
    char error[256];
} planted;

static void see_planted(void *user, const tern_result *row)
{
    planted *p = user;
    p->rows++;
    p->share = row->limit_share;
    snprintf(p->error, sizeof p->error, "%s", row->error);
}

static tern_status run_planted(tern_status (*run)(void *), double timeout_s, planted *seen_rows)
{
    const int one[] = {1};
    const tern_bench_options o = {
        .n_threads = 1, .threads = one, .budget_s = 0.05, .rounds = 3, .timeout_s = timeout_s};
    const tern__suite suite = {.name = "planted",
                               .what = "",
                               .describe = plant,
                               .prepare = plant_data,
                               .ready = plant_limit,
                               .run = run,
                               .close = close_planted};
    tern__bench bench;
    *seen_rows = (planted){0};
    tern_status status = tern__bench_open(&o, &bench);
    bench.suite = &suite;
    if (status == TERN_OK)
        status = tern__bench_visit(&bench, see_planted, seen_rows);
    tern__bench_close(&bench);
    return status;
}

/* A probe that is too slow for what it is the limit of: no share, and the benchmark fails. */
TEST(more_than_the_limit_fails_the_benchmark)
{
    planted p;
    CHECK_STATUS(run_planted(do_nothing, 60, &p), TERN_STATE);
    CHECK_EQ(p.rows, 1);
    CHECK(isnan(p.share));
    CHECK(strstr(p.error, "of the limit, so the limit's probes are too slow") != NULL);
    CHECK_OK(run_planted(take_long, 60, &p));
    CHECK(p.share > 0 && p.share < 1 && p.error[0] == '\0');
}

/* Computes until it is told to stop, and never ends by itself. */
static tern_status compute_forever(tern_ctx *ctx)
{
    tern_status status = TERN_OK;
    while (status == TERN_OK)
        TERN_SCOPE(ctx) {
            status = tern_eval(tern_exp(tern_randn(ctx, TERN_F32, 1, (int64_t[]){1000}, 1)));
        }
    return status;
}

static tern_status prepare_forever(int i, tern__cell *cell)
{
    (void)i;
    return compute_forever(cell->bench->ctx);
}

static tern_status ready_forever(tern__cell *cell, int threads)
{
    (void)threads;
    return compute_forever(cell->bench->ctx);
}

static tern_status run_forever(void *state)
{
    return compute_forever(((tern__cell *)state)->bench->ctx);
}

/* Wherever a benchmark hangs: it ends only because the time-out ends it, in the middle of what it does. */
TEST(a_benchmark_that_does_not_end_is_given_up)
{
    const int one[] = {1};
    const tern_bench_options o = {.n_threads = 1, .threads = one, .timeout_s = 1e-3};
    for (int where = 0; where < 3; where++) {
        const tern__suite suite = {.name = "planted",
                                   .what = "",
                                   .describe = plant,
                                   .prepare = where == 0 ? prepare_forever : plant_data,
                                   .ready = where == 1 ? ready_forever : plant_limit,
                                   .run = where == 2 ? run_forever : do_nothing,
                                   .close = close_planted};
        tern__bench bench;
        planted p = {0};
        CHECK_OK(tern__bench_open(&o, &bench));
        bench.suite = &suite;
        CHECK_STATUS(tern__bench_visit(&bench, see_planted, &p), TERN_STATE);
        CHECK(strstr(tern_last_error(), "no row could be measured") != NULL);
        CHECK(p.rows == 1 && strncmp(p.error, "unavailable: given up after ", 28) == 0);
        CHECK(strstr(p.error, "at most 0.001 were allowed") != NULL);
        CHECK_OK(
            tern_eval(tern_randn(bench.ctx, TERN_F32, 1, (int64_t[]){10}, 1))); /* nobody is asked any more */
        tern__bench_close(&bench);
    }
}

TEST(nonsense_is_refused)
{
    const int none[] = {0};
    seen s = {0};
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.family = "nothing"}, see, &s), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "ternary, ") != NULL);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.family = "sort", .cpu = "mmx"}, see, &s),
                 TERN_NOT_FOUND);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.n_threads = 1, .threads = none}, see, &s),
                 TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.n_threads = 1}, see, &s), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.budget_s = -1}, see, &s), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.memory = -1}, see, &s), TERN_INVALID_ARGUMENT);
    CHECK_EQ(s.rows, 0);
}

/* ---- a choice of cases ---- */

typedef struct chosen {
    int n, other; /* cases, and those among them that are not as they should be */
    const char *wanted, *unwanted;
} chosen;

static void see_chosen(void *user, const tern_result *row)
{
    chosen *c = user;
    c->n++;
    c->other += (c->wanted && !strstr(row->shape, c->wanted) && !strstr(row->name, c->wanted)) ||
                (c->unwanted && strstr(row->name, c->unwanted));
}

static chosen choose(tern_bench_options o, const char *wanted, const char *unwanted)
{
    chosen c = {.wanted = wanted, .unwanted = unwanted};
    for (int i = 0; tern_bench_case(&o, i, see_chosen, &c) == TERN_OK; i++)
        ;
    return c;
}

TEST(cases_are_chosen_by_type_size_layout_and_device)
{
    const int all = choose((tern_bench_options){0}, NULL, NULL).n;
    chosen c = choose((tern_bench_options){.dtype = "f16"}, "f16[", NULL);
    CHECK(c.n > 2 && c.n < all && c.other == 0);
    c = choose((tern_bench_options){.dtype = "f1"}, NULL, NULL); /* no type */
    CHECK_EQ(c.n, 0);
    c = choose((tern_bench_options){.size = "2048x2048"}, "[2048,2048]", NULL);
    CHECK(c.n == 2 && c.other == 0);
    c = choose((tern_bench_options){.size = "6912"}, "6912", NULL);
    CHECK(c.n > 4 && c.other == 0);
    CHECK_EQ(choose((tern_bench_options){.size = "691"}, NULL, NULL).n, 0);
    /* Their names say so: rows that lie apart, and operands that lie transposed. */
    const tern_bench_options in_steps = {.layout = "strided"}, packed = {.layout = "contiguous"};
    const chosen strided = choose(in_steps, "strided", NULL),
                 transposed = choose(in_steps, "transposed", NULL);
    CHECK(strided.n >= 6 && transposed.other >= 6 && strided.other >= 3);
    CHECK_EQ(strided.other + transposed.other, strided.n);
    CHECK_EQ(choose(packed, NULL, "strided").other + choose(packed, NULL, "transposed").other, 0);
    CHECK_EQ(strided.n + choose(packed, NULL, NULL).n, all);
    CHECK_EQ(choose((tern_bench_options){.device = "cpu"}, NULL, NULL).n, all);
    c = choose((tern_bench_options){.family = "matmul", .dtype = "f32", .size = "1024", .layout = "strided"},
               "f32[1024,1024]", NULL);
    CHECK(c.n == 1 && c.other == 0);
    seen s = {0};
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.dtype = "f99"}, see, &s), TERN_NOT_FOUND);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.layout = "round"}, see, &s), TERN_NOT_FOUND);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.size = "large"}, see, &s), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.device = "tpu"}, see, &s), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "devices: there is no 'tpu'; there are cpu, ") != NULL);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.device = "cpu,cpu"}, see, &s), TERN_INVALID_ARGUMENT);
    CHECK_EQ(choose((tern_bench_options){.device = "cpu,opencl"}, NULL, NULL).n, 2 * all);
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.suite = "graph", .layout = "strided"}, see, &s),
                 TERN_NOT_FOUND);
    CHECK_EQ(s.rows, 0);
}

typedef struct on_devices {
    int rows, measured, unavailable, wrong;
} on_devices;

static void see_device(void *user, const tern_result *row)
{
    on_devices *s = user;
    const bool said = strncmp(row->error, "unavailable: ", 13) == 0;
    s->rows++;
    s->measured += row->rounds > 0;
    s->unavailable += said && row->rounds == 0;
    /* Limits and counters of memory are the CPU's. */
    if (!said || row->threads != 0 || strcmp(row->device, "cpu") == 0 || !isnan(row->limit_share) ||
        row->limit_kind[0] || row->peak_bytes >= 0 ||
        (row->rounds > 0 && isnan(row->accuracy_error) && strcmp(row->suite, "compile") != 0))
        s->wrong++;
    if (row->rounds == 0 && !said)
        printf("%s/%s on %s: %s\n", row->family, row->name, row->device, row->error);
}

/* Every case has a row there, measured or not, and those that are measured compute what the CPU's reference does. */
TEST(devices_have_all_cells)
{
    static const struct {
        const char *suite, *family;
        int cases;
    } parts[] = {{"ops", "rows", 10}, {"graph", "bitlinear", 4}};
    tern_device_info info;
    for (int d = 1; tern_catalog_device(d, &info) == TERN_OK; d++)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            on_devices s = {0};
            const tern_bench_options o = {.suite = parts[i].suite,
                                          .family = parts[i].family,
                                          .device = info.name,
                                          .memory = 1 << 16,
                                          .rounds = 3,
                                          .budget_s = 0.01};
            const tern_status status = tern_bench_run(&o, see_device, &s);
            CHECK_EQ(s.rows, parts[i].cases);
            CHECK_EQ(s.wrong, 0);
            CHECK_EQ(s.measured + s.unavailable, s.rows);
            if (info.unavailable)
                CHECK_STATUS(status, TERN_STATE);
            CHECK(info.unavailable ? s.measured == 0 : s.measured > 0);
        }
}

/* Blocks of the host's memory are none of a device, and tern_compile builds no kernels of one. */
TEST(suites_of_the_host_have_no_device)
{
    static const char *const suites[] = {"alloc", "transfer", "compile"};
    tern_device_info info;
    for (int d = 1; tern_catalog_device(d, &info) == TERN_OK; d++)
        for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
            on_devices s = {0};
            const tern_bench_options o = {.suite = suites[i], .device = info.name};
            CHECK_STATUS(tern_bench_run(&o, see_device, &s), TERN_STATE);
            CHECK(s.rows >= 15 && s.unavailable == s.rows && s.wrong == 0);
        }
}

/* Kernels see the strides, and compute what the reference does. */
TEST(strided_operands_stay_where_they_are)
{
    tern_ctx *ctx;
    const tern__case *row;
    int n = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (int i = 0; (row = tern__case_at(i)) != NULL; i++) {
        if (!tern__case_strided(row) || strcmp(row->family, "matmul") == 0)
            continue;
        tern__prepared p;
        double seconds;
        tern_step_info step;
        tern_compile_options options = tern_compile_options_default();
        CHECK_OK(tern__case_prepare(ctx, row, 1 << 16, &p));
        CHECK_OK(tern__case_compile(&p, &options));
        CHECK_OK(tern__case_check(&p, &seconds));
        CHECK_OK(tern_program_step(p.program, 0, &step));
        CHECK_STATUS(tern_program_step(p.program, 1, &step), TERN_OUT_OF_RANGE); /* no copy is made */
        n++;
        tern__case_free(&p);
    }
    CHECK(n >= 5);
    tern_ctx_destroy(ctx);
}

/* ---- the other suites ---- */

typedef struct tally {
    int listed, rows, measured, bad;
} tally;

static void list_row(void *user, const tern_result *row)
{
    ((tally *)user)->listed += row->suite[0] && row->family[0] && row->name[0] && row->shape[0];
}

static void judge_row(void *user, const tern_result *row)
{
    tally *t = user;
    t->rows++;
    if (row->threads > 1 && strcmp(row->family, "host") == 0) { /* one thread copies what the caller has */
        t->measured += strncmp(row->error, "unavailable: ", 13) == 0;
        return;
    }
    t->measured += row->rounds > 0 && row->median_us > 0 && row->samples_us;
    /* What has no share of a limit says why; beating a probe on a busy machine is the only thing that may go wrong. */
    t->bad += isnan(row->limit_share) != (strncmp(row->error, "unavailable: ", 13) == 0);
    t->bad += row->error[0] != '\0' && !strstr(row->error, "limit") && strcmp(row->suite, "alloc") != 0;
    t->bad += !(isnan(row->accuracy_error) || row->accuracy_error < 1e-3) || row->allocations < 0;
}

TEST(every_cell_of_every_suite_appears)
{
    const int threads[] = {1, 2};
    const char *name, *what;
    int suites = 0;
    for (; tern_bench_suite(suites, &name, &what) == TERN_OK; suites++) {
        /* Of the rest there are too many, or a slow build, which sees the same in each, has too much to do. */
        const bool graphs = strcmp(name, "graph") == 0 || strcmp(name, "compile") == 0;
        tern_bench_options o = {.suite = name,
                                .family = strcmp(name, "ops") == 0        ? "rows"
                                          : harness_every() > 1 && graphs ? "normalise"
                                                                          : NULL,
                                .n_threads = 2,
                                .threads = threads,
                                .budget_s = 1e-3,
                                .rounds = 3,
                                .timeout_s = PATIENT_S,
                                .memory = 1 << 16};
        tally t = {0};
        int expected = 0;
        while (tern_bench_case(&o, expected, list_row, &t) == TERN_OK)
            expected++;
        CHECK(t.listed > 1 && (o.family ? t.listed < expected : t.listed == expected) && what[0] != '\0');
        expected = t.listed;
        tern_status status = tern_bench_run(&o, judge_row, &t);
        CHECK(status == TERN_OK || status == TERN_STATE);
        CHECK(t.rows == 2 * expected && t.measured == t.rows && t.bad == 0);
    }
    CHECK_EQ(suites, 5);
    CHECK_STATUS(tern_bench_suite(suites, &name, &what), TERN_OUT_OF_RANGE);
    tally t = {0};
    CHECK_STATUS(tern_bench_run(&(tern_bench_options){.suite = "speed"}, judge_row, &t), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "transfer") != NULL);
}

TEST(compiling_is_not_remembering)
{
    /* What a cache gives costs the same at every level; passes ask for memory. */
    const int one[] = {1};
    const tern_bench_options o = {
        .suite = "compile", .family = "mlp", .n_threads = 1, .threads = one, .budget_s = 0.02};
    tern_results *r;
    tern_result none, high;
    CHECK_OK(tern_results_create(&r));
    CHECK_OK(tern_bench_run(&o, keep_row, r));
    CHECK_OK(tern_results_at(r, 0, &none));
    CHECK_OK(tern_results_at(r, 3, &high));
    CHECK_STR(none.name, "none");
    CHECK_STR(high.name, "high");
    CHECK(high.allocations > none.allocations);
    tern_results_free(r);
}

/* ---- planted memory ---- */

/* Two blocks at once, three in all. */
static tern_status take_memory(void *state)
{
    (void)state;
    void *a = tern__alloc(1 << 20), *b = tern__alloc(1 << 19);
    tern__free(b);
    tern__free(a);
    void *c = tern__alloc(100);
    tern__free(c);
    return a && b && c ? TERN_OK : TERN_OUT_OF_MEMORY;
}

static tern_status no_limit(tern__cell *cell, int threads)
{
    (void)threads;
    cell->first_s = 1e-6;
    return TERN_OK;
}

static void see_memory(void *user, const tern_result *row)
{
    *(tern_result *)user = *row;
}

TEST(memory_of_a_run_is_counted)
{
    const int one[] = {1};
    const tern__suite suite = {.name = "planted",
                               .what = "",
                               .describe = plant,
                               .prepare = plant_data,
                               .ready = no_limit,
                               .run = take_memory,
                               .close = close_planted};
    tern__bench bench;
    tern_result row = tern_result_default();
    CHECK_OK(tern__bench_open(
        &(tern_bench_options){.n_threads = 1, .threads = one, .budget_s = 0.01, .rounds = 3}, &bench));
    bench.suite = &suite;
    CHECK_OK(tern__bench_visit(&bench, see_memory, &row));
    CHECK_EQ(row.allocations, 3);
    /* With what the heap adds to blocks. */
    CHECK(row.peak_bytes >= (1 << 20) + (1 << 19) && row.peak_bytes < (1 << 20) + (1 << 19) + 1024);
    /* While somebody else is told, it is not known. */
    tern_memory *memory = NULL;
    CHECK_OK(tern_memory_start(NULL));
    tern_status status = tern__bench_visit(&bench, see_memory, &row);
    CHECK_OK(tern_memory_stop(&memory));
    CHECK_OK(status);
    CHECK(row.allocations == -1 && row.peak_bytes == -1);
    tern_memory_free(memory);
    tern__bench_close(&bench);
}

static void see_transfer(void *user, const tern_result *row)
{
    CHECK_OK(tern_results_add(user, row));
}

TEST(rows_of_a_suite_are_different_benchmarks)
{
    const int64_t sizes[] = {1 << 14, 1 << 20, 0};
    for (size_t k = 0; k < 3; k++) {
        tern_results *r = NULL;
        tern_result a, b;
        CHECK_OK(tern_results_create(&r));
        const tern_bench_options o = {.suite = "transfer", .memory = sizes[k]};
        for (int i = 0; tern_bench_case(&o, i, see_transfer, r) == TERN_OK; i++)
            ;
        CHECK(tern_results_count(r) >= 5);
        for (int i = 0; tern_results_at(r, i, &a) == TERN_OK; i++)
            for (int n = 0; n < i && tern_results_at(r, n, &b) == TERN_OK; n++)
                CHECK(!tern_result_same(&a, &b));
        tern_results_free(r);
    }
}

TEST(what_barriers_cost_is_measured_or_lost_in_noise)
{
    double met[] = {11, 12, 11, 13, 11}, empty[] = {1, 1, 1, 1, 1};
    CHECK(fabs(tern__threads_barrier_us(met, empty, 5, 10) - 1) < 1e-12);
    /* Disturbed while nothing was to be done: such samples say nothing. */
    empty[0] = 50, empty[3] = 13;
    CHECK(fabs(tern__threads_barrier_us(met, empty, 5, 10) - 1) < 1e-12);
    empty[1] = 50;
    CHECK(isnan(tern__threads_barrier_us(met, empty, 5, 10)));
    CHECK(isnan(tern__threads_barrier_us(met, met, 5, 10)));
}

TEST(a_line_takes_time_between_two_cores_and_is_not_a_number_on_one)
{
    tern__threads *one, *two;
    CHECK_OK(tern__threads_create(1, &one));
    CHECK(isnan(tern__threads_line_ns(one)));
    tern__threads_destroy(one);
    CHECK_OK(tern__threads_create(2, &two));
    const double ns = tern__threads_line_ns(two);
    CHECK(tern__threads_count(two) < 2 ? isnan(ns) : ns > 1 && ns < 1e7);
    tern__threads_destroy(two);
}

TEST(threads_cost_something)
{
    tern_threads_cost cost = {0};
    CHECK_OK(tern_bench_threads(2, &cost));
    CHECK(cost.threads == 2 && cost.region_us > 0 && cost.wakeup_us > 0 &&
          !(cost.barrier_us <= 0)); /* or NaN */
    CHECK_OK(tern_bench_threads(0, &cost));
    CHECK(cost.threads >= 1);
    cost.threads = 77;
    CHECK_STATUS(tern_bench_threads(-1, &cost), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_bench_threads(100000, &cost), TERN_INVALID_ARGUMENT);
    CHECK_EQ(cost.threads, 77);
}

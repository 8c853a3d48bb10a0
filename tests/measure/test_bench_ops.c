/* test_bench_ops.c - the rows of tern_bench_run: every case appears, whatever happens to it; nonsense is refused. Times are made
 * here but not judged. */
#include <math.h>
#include <string.h>

#include <tern/measure.h>

#include "harness.h"
#include "measure/cases.h"

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
    const tern_bench_options o = {
        .family = "reductions", .n_threads = 2, .threads = threads, .budget_s = 1e-3, .memory = 1 << 16};
    seen s = {0};
    tern_status status = tern_bench_run(&o, see, &s);
    CHECK(status == TERN_OK ||
          status == TERN_STATE); /* arrays this small may beat a probe on a busy machine */
    CHECK_EQ(s.rows, 6);
    CHECK_EQ(s.measured, 6);
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

TEST(threads_cost_something)
{
    tern_threads_cost cost = {0};
    CHECK_OK(tern_bench_threads(2, &cost));
    CHECK(cost.threads == 2 && cost.region_us > 0 && cost.wakeup_us > 0 && cost.barrier_us > 0);
    CHECK_OK(tern_bench_threads(0, &cost));
    CHECK(cost.threads >= 1);
    cost.threads = 77;
    CHECK_STATUS(tern_bench_threads(-1, &cost), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_bench_threads(100000, &cost), TERN_INVALID_ARGUMENT);
    CHECK_EQ(cost.threads, 77);
}

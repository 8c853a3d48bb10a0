/* test_parts.c - a call's items are each computed once, whoever computes them, also when one worker is late. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <tern/tern.h>

#include "devices/cpu/cpu.h"
#include "harness.h"
#include "runtime/program.h"

enum { MOST = 1000, PARTS = 5 };

static _Atomic(int) done[MOST];  /* times that an item was computed */
static _Atomic(int64_t) of_late; /* items of the worker that is late */
static const void *late;         /* its scratch */

static tern_status count(tern__kernel_args *args, int64_t begin, int64_t end)
{
    if (late && args->scratch == late) {
        atomic_fetch_add(&of_late, end - begin);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&done[i], 1);
    return TERN_OK;
}

static const tern__kernel kernel = {.run = count};
static char scratch[PARTS];
static tern__cpu_claim claims[PARTS];

static tern__cpu_work work_of(int64_t items, int parts, bool claimed)
{
    for (int i = 0; i < MOST; i++)
        atomic_store(&done[i], 0);
    for (int i = 0; i < PARTS; i++)
        atomic_store(&claims[i].next, 0);
    atomic_store(&of_late, 0);
    late = NULL;
    return (tern__cpu_work){.kernel = &kernel,
                            .items = items,
                            .parts = parts,
                            .scratch = scratch,
                            .scratch_stride = 1,
                            .claims = claimed ? claims : NULL};
}

static void check_once(int64_t items)
{
    for (int64_t i = 0; i < MOST; i++)
        CHECK_EQ(atomic_load(&done[i]), i < items);
}

/* One worker after the other: the first takes what of the others' it can get. */
TEST(every_item_once)
{
    static const int64_t sizes[] = {0, 1, 3, 4, 5, 7, 16, 39, 40, 41, 333, MOST};
    tern__fault fault;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int parts = 1; parts <= PARTS; parts++)
            for (int claimed = 0; claimed < 2; claimed++) {
                const tern__cpu_work work = work_of(sizes[s], parts, claimed);
                for (int part = 0; part < parts; part++)
                    CHECK_OK(tern__cpu_run_part(NULL, &work, false, part, &fault));
                check_once(sizes[s]);
            }
}

/* Where all is claimed, one who is done takes what others have not begun, from the first item on. */
TEST(shares_that_are_claimed_whole)
{
    static const int64_t sizes[] = {0, 1, 2, 7, 40, 333, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int parts = 1; parts <= PARTS; parts++) {
            tern__cpu_work work = work_of(sizes[s], parts, true);
            work.claims_all = true;
            int turns[PARTS] = {0};
            int64_t begin, end, first = 0;
            /* part 0 takes two pieces of its own, the last part all that is left */
            for (int i = 0; i < 2 && tern__cpu_next_piece(&work, 0, &turns[0], &begin, &end); i++)
                for (first += end - begin; begin < end; begin++)
                    atomic_fetch_add(&done[begin], 1);
            int64_t rest = 0;
            while (tern__cpu_next_piece(&work, parts - 1, &turns[parts - 1], &begin, &end))
                for (rest += end - begin; begin < end; begin++)
                    atomic_fetch_add(&done[begin], 1);
            check_once(sizes[s]);
            CHECK_EQ(first + rest, sizes[s]);
            for (int part = 0; part < parts; part++)
                CHECK(!tern__cpu_next_piece(&work, part, &turns[part], &begin, &end));
        }
}

/* ---- lines of the cache ---- */

static int64_t bytes_each; /* of a result of an item */
static int shared_lines;   /* borders within a line */

static tern_status look_at_borders(tern__kernel_args *args, int64_t begin, int64_t end)
{
    shared_lines += begin < end && begin * bytes_each % 64 != 0;
    return count(args, begin, end);
}

/* Results of items, rows of n f32: where shares, tails and claimed pieces begin, a line begins, if there are items enough. */
TEST(no_two_workers_write_to_one_line)
{
    static const tern__kernel looking = {.run = look_at_borders};
    static const int64_t columns[] = {1, 2, 3, 4, 7, 8, 16, 24, 100, 1000}, sizes[] = {37, 640, 999, MOST};
    static float memory[1];
    const int64_t strides[] = {1, 1};
    tern__fault fault;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int parts = 1; parts <= PARTS; parts++)
                for (int claimed = 0; claimed < 2; claimed++) {
                    const tern__type type = {.dtype = TERN_F32, .rank = 2, .shape = {sizes[s], columns[c]}};
                    const tern__buffer out = {.data = memory, .type = &type, .strides = strides};
                    tern__cpu_work work = work_of(sizes[s], parts, claimed);
                    work.kernel = &looking;
                    work.args.n_out = 1;
                    work.args.out = &out;
                    bytes_each = 4 * columns[c];
                    shared_lines = 0;
                    for (int part = 0; part < parts; part++)
                        CHECK_OK(tern__cpu_run_part(NULL, &work, false, part, &fault));
                    check_once(sizes[s]);
                    /* 16 items at most make a line, and a share must have 16 times as many. */
                    if (sizes[s] / parts >= 256)
                        CHECK_EQ(shared_lines, 0);
                }
}

/* Rows of whole lines, and a number of each: it is the numbers that decide. */
TEST(every_result_counts)
{
    static const tern__kernel looking = {.run = look_at_borders};
    static float memory[1];
    const int64_t strides[] = {1, 1};
    const tern__type rows = {.dtype = TERN_I8, .rank = 2, .shape = {MOST, 128}},
                     numbers = {.dtype = TERN_F32, .rank = 2, .shape = {MOST, 1}};
    const tern__buffer out[] = {{.data = memory, .type = &rows, .strides = strides},
                                {.data = memory, .type = &numbers, .strides = strides}};
    tern__fault fault;
    for (int claimed = 0; claimed < 2; claimed++) {
        tern__cpu_work work = work_of(MOST, 3, claimed);
        work.kernel = &looking;
        work.args.n_out = 2;
        work.args.out = out;
        bytes_each = 4;
        shared_lines = 0;
        for (int part = 0; part < work.parts; part++)
            CHECK_OK(tern__cpu_run_part(NULL, &work, false, part, &fault));
        check_once(MOST);
        CHECK_EQ(shared_lines, 0);
    }
}

/* Few items with small results are shared all the same. */
TEST(few_items_are_shared_though_lines_are)
{
    const tern__type type = {.dtype = TERN_F32, .rank = 1, .shape = {2}};
    const int64_t strides[] = {1};
    const tern__buffer out = {.data = scratch, .type = &type, .strides = strides};
    tern__cpu_work work = work_of(2, 2, false);
    tern__fault fault;
    work.args.n_out = 1;
    work.args.out = &out;
    CHECK_OK(tern__cpu_run_part(NULL, &work, false, 0, &fault));
    CHECK(atomic_load(&done[0]) == 1 && atomic_load(&done[1]) == 0);
    CHECK_OK(tern__cpu_run_part(NULL, &work, false, 1, &fault));
    check_once(2);
}

typedef struct worker {
    const tern__cpu_work *work;
    int part;
    pthread_t thread;
} worker;

static void *run_worker(void *user)
{
    const worker *w = user;
    tern__fault fault;
    tern__cpu_run_part(NULL, w->work, false, w->part, &fault);
    return NULL;
}

TEST(others_take_from_one_who_is_late)
{
    for (int claimed = 0; claimed < 2; claimed++) {
        const tern__cpu_work work = work_of(400, 2, claimed);
        worker workers[2] = {{.work = &work, .part = 0}, {.work = &work, .part = 1}};
        late = scratch;
        for (int i = 0; i < 2; i++)
            CHECK_EQ(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(workers[i].thread, NULL);
        check_once(400);
        if (claimed) /* three quarters of its share at least; as a rule no more, but no machine promises that */
            CHECK(atomic_load(&of_late) >= 150);
        else
            CHECK_EQ(atomic_load(&of_late), 200);
    }
}

static tern_status fail(tern__kernel_args *args, int64_t begin, int64_t end)
{
    (void)begin;
    args->fault = (tern__fault){.value = end, .limit = 7};
    return TERN_OUT_OF_RANGE;
}

/* A worker that fails stops, and says why. */
TEST(failure_ends_a_part)
{
    static const tern__kernel failing = {.run = fail};
    tern__cpu_work work = work_of(40, 2, true);
    tern__fault fault = {0};
    work.kernel = &failing;
    CHECK_STATUS(tern__cpu_run_part(NULL, &work, false, 0, &fault), TERN_OUT_OF_RANGE);
    CHECK_EQ(fault.value, 15); /* the end of what was its own */
    CHECK_EQ(fault.limit, 7);
    CHECK_EQ(atomic_load(&claims[0].next), 0);
}

/* ---- stopping ---- */

/* Says yes at the last of so many questions, and ever after. */
static bool count_down(void *left)
{
    return atomic_fetch_sub((_Atomic(int) *)left, 1) <= 1;
}

/* Whoever is asked: items are computed once each, in slices; who says yes ends it before the next one. */
TEST(slices_are_computed_once_until_it_is_stopped)
{
    static const int64_t sizes[] = {1, 7, 40, 333, MOST};
    _Atomic(int) left;
    tern__fault fault;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int parts = 1; parts <= PARTS; parts++)
            for (int claimed = 0; claimed < 2; claimed++) {
                tern__cpu_work work = work_of(sizes[s], parts, claimed);
                atomic_store(&left, 1 << 20);
                work.stop = (tern__stop){count_down, &left};
                for (int part = 0; part < parts; part++)
                    CHECK_OK(tern__cpu_run_part(NULL, &work, false, part, &fault));
                check_once(sizes[s]);
            }
    tern__cpu_work work = work_of(MOST, 1, false);
    atomic_store(&left, 3);
    work.stop = (tern__stop){count_down, &left};
    CHECK_STATUS(tern__cpu_run_part(NULL, &work, false, 0, &fault), TERN_CANCELLED);
    CHECK(atomic_load(&done[0]) == 1 && atomic_load(&done[MOST - 1]) == 0);
}

/* A context's runs: of programs, and of what is asked for. Afterwards it is as before. */
TEST(runs_of_a_context_can_be_stopped)
{
    enum { N = 64 };
    static float x[N * N];
    for (int i = 0; i < N * N; i++)
        x[i] = (float)(i * 37 % 11 - 5) / 8;
    for (int threads = 1; threads <= 2; threads++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        _Atomic(int) left;
        options.threads = threads;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        TERN_SCOPE(ctx) {
            tern_tensor *in = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){N, N});
            tern_tensor *y = tern_softmax(tern_matmul(in, in, false, false), 1), *results[3];
            tern_tensor *bound = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){N, N}, x);
            tern_program *program = NULL;
            tern_exec *exec = NULL;
            CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
            CHECK_OK(tern_exec_create(ctx, program, &exec));
            CHECK_OK(tern_exec_run(exec, 1, &bound, 1, &results[0]));
            for (int questions = 1; questions <= 3; questions++) {
                atomic_store(&left, questions);
                tern_ctx_set_stop(ctx, count_down, &left);
                CHECK_STATUS(tern_exec_run(exec, 1, &bound, 1, &results[1]), TERN_CANCELLED);
                CHECK(strstr(tern_last_error(), "as it was asked") != NULL);
            }
            CHECK_STATUS(tern_eval(tern_exp(bound)), TERN_CANCELLED);
            atomic_store(&left, 1 << 20);
            CHECK_OK(tern_exec_run(exec, 1, &bound, 1, &results[1]));
            CHECK(atomic_load(&left) < 1 << 20);
            tern_ctx_set_stop(ctx, NULL, NULL);
            CHECK_OK(tern_exec_run(exec, 1, &bound, 1, &results[2]));
            for (int k = 1; k < 3; k++)
                CHECK(memcmp(tern_data_f32(results[0]), tern_data_f32(results[k]), sizeof x) == 0);
            tern_exec_free(exec);
            tern_program_free(program);
        }
        tern_ctx_destroy(ctx);
    }
}

/* A chain of products whose items are claimed, as a decoder has it: claims are set back for every step of every run. */
TEST(claims_are_set_back_from_step_to_step)
{
    enum { N = 1024, STEPS = 5, RUNS = 8 };
    static float w[N * N], x[N];
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    tern_program *programs[2] = {NULL};
    tern_exec *execs[2] = {NULL};
    options.threads = 2;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    for (int i = 0; i < N * N; i++)
        w[i] = (float)(i * 31 % 7 - 3) / 64;
    TERN_SCOPE(ctx) {
        tern_tensor *weight = tern_cast(tern_from_data(ctx, TERN_F32, 2, (int64_t[]){N, N}, w), TERN_F16);
        CHECK_OK(tern_freeze(weight));
        tern_tensor *y = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){1, N});
        for (int i = 0; i < STEPS; i++)
            y = tern_linear(y, weight);
        for (int t = 0; t < 2; t++) {
            tern_compile_options o = tern_compile_options_default();
            o.threads = 1 + t;
            CHECK_OK(tern_compile(ctx, 1, &y, NULL, &o, &programs[t]));
            CHECK_OK(tern_exec_create(ctx, programs[t], &execs[t]));
        }
        for (int run = 0; run < RUNS; run++) {
            for (int i = 0; i < N; i++)
                x[i] = (float)((i + run) % 5 - 2);
            tern_tensor *bound = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){1, N}, x), *got[2];
            for (int t = 0; t < 2; t++)
                CHECK_OK(tern_exec_run(execs[t], 1, &bound, 1, &got[t]));
            CHECK(memcmp(tern_data_f32(got[0]), tern_data_f32(got[1]), sizeof x) == 0);
        }
        tern_step_info step;
        CHECK_OK(tern_program_step(programs[1], 0, &step));
        CHECK_EQ(step.threads, 2);
    }
    for (int t = 0; t < 2; t++) {
        tern_exec_free(execs[t]);
        tern_program_free(programs[t]);
    }
    tern_ctx_destroy(ctx);
}

/* ---- first touch ---- */

static tern_tensor *constant_of(tern_ctx *ctx, tern_dtype dtype, int64_t n, int64_t k)
{
    tern_tensor *w = tern_randn(ctx, TERN_F32, 2, (int64_t[]){n, k}, 3), *scale = NULL;
    if (dtype == TERN_T2)
        tern_ternary_quantise(w, NULL, TERN_T2, &w, &scale);
    else
        w = tern_cast(w, dtype);
    return tern_freeze(w) == TERN_OK ? w : NULL;
}

/* Of a product of one row with a packed constant, every worker reads the tiles that it packed (tern__cpu_pack). */
TEST(weights_are_packed_by_who_reads_them)
{
    static const tern_dtype types[] = {TERN_F32, TERN_F16, TERN_I8, TERN_T2};
    enum { N = 1000, K = 2048 };
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 3;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    for (int t = 0; t < 4; t++) {
        tern_program *program = NULL;
        int packed = 0;
        TERN_SCOPE(ctx) {
            const bool bytes = types[t] == TERN_I8 || types[t] == TERN_T2;
            tern_tensor *x = tern_input(ctx, "x", bytes ? TERN_I8 : TERN_F32, 2, (int64_t[]){1, K});
            tern_tensor *w = constant_of(ctx, types[t], N, K);
            tern_tensor *y = types[t] == TERN_T2 ? tern_ternary_matmul(x, w, NULL) : tern_linear(x, w);
            CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
        }
        if (!program)
            continue;
        const tern__plan *plan = &program->compiled->plan;
        const tern_graph *g = &program->compiled->graph;
        for (uint32_t i = 0; i < plan->n_steps; i++) {
            const tern__step *step = &plan->steps[i];
            if (!tern__op_is_product(step->op) || !tern__op_is_packed(step->op))
                continue;
            const tern__gnode *node = &g->nodes[step->node];
            const tern__buffer y = {.type = &g->values[node->out].type};
            const tern__cpu_work run = {.args = {.n_out = 1, .out = &y},
                                        .items = step->work,
                                        .parts = step->parts},
                                 pack = {.items = g->values[node->in[1]].type.shape[0], .parts = 3};
            packed++;
            CHECK_EQ(run.items, pack.items);
            CHECK_EQ(run.parts, pack.parts);
            for (int part = 0; part <= 3; part++)
                CHECK_EQ(tern__cpu_part_begin(&run, part), tern__cpu_part_begin(&pack, part));
        }
        /* Without vectors f32 products have no packed form. */
        CHECK(packed == 1 || types[t] == TERN_F32);
        tern_program_free(program);
    }
    tern_ctx_destroy(ctx);
}

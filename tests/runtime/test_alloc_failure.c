/* test_alloc_failure.c - a whole program (record, evaluate, write in place, compile, run, print, parse, save, free) in
 * which the 1st, 2nd, 3rd, ... allocation fails, once or from then on: an error each time, no leak, no crash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/tern.h>

#include "harness.h"

#define SHAPE(...)                                                               \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                            \
        __VA_ARGS__                                                              \
    }

typedef struct gate {
    long countdown; /* the allocation that fails; counts down */
    bool for_ever;
    bool fired;
} gate;

static bool allow(void *user, size_t bytes)
{
    (void)bytes;
    gate *g = user;
    if (g->fired && g->for_ever)
        return false;
    if (--g->countdown > 0 || g->fired)
        return true;
    g->fired = true;
    return false;
}

static tern_status lazy_part(tern_ctx *ctx)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, TERN_F32, SHAPE(16, 24), 1);
        tern_tensor *w = tern_from_data(ctx, TERN_F32, SHAPE(24, 2), (float[48]){1, 2, 3});
        tern_tensor *h =
            tern_relu(tern_add(tern_matmul(x, w, false, false), tern_scalar(ctx, TERN_F64, 0.5)));
        tern_tensor *values, *indices, *parts[9];
        tern_topk(tern_reshape(h, SHAPE(32)), 3, -1, true, &values, &indices);
        tern_split(tern_arange(ctx, TERN_I32, 0, 9, 1), 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, parts);
        tern_tensor *joined = tern_concat(9, parts, 0);
        tern_tensor *bad = tern_add(tern_zeros(ctx, TERN_F32, SHAPE(2)), tern_zeros(ctx, TERN_F32, SHAPE(3)));
        if (tern_status_of(bad) == TERN_OK)
            return TERN_INTERNAL;
        TERN_TRY(tern_eval_all(3, (tern_tensor *[]){values, indices, joined}));
        tern_tensor *view = tern_transpose(h, 0, 1);
        TERN_TRY(tern_add_(view, tern_scalar(ctx, TERN_F32, 1)));
        if (!tern_data(view))
            return TERN_OUT_OF_MEMORY;
        tern_tensor *state = tern_state(ctx, "s", TERN_F32, SHAPE(4, 4));
        tern_tensor *at = tern_from_data(ctx, TERN_I64, SHAPE(2), (int64_t[]){1, 1});
        tern_tensor *reader = tern_exp(state);
        TERN_TRY(tern_eval(tern_write_slice(state, tern_ones(ctx, TERN_F32, SHAPE(2, 2)), at)));
        TERN_TRY(tern_eval(reader));
        tern_tensor *by_name;
        tern_apply(ctx, "sum", "axes=[0]", 1, &x, 1, &by_name);
        TERN_TRY(tern_eval(by_name));
        tern_tensor *all, *rows[2];
        TERN_TRY(tern_batch_layout(2, (tern_tensor *[]){x, x}, &all, rows));
        TERN_TRY(tern_eval(tern_keep(rows[0])));
        tern_release(rows[0]);
    }
    return TERN_OK;
}

static tern_status run_program(tern_ctx *ctx, const tern_graph *graph)
{
    tern_program *program;
    TERN_TRY(tern_graph_compile(ctx, graph, NULL, &program));
    tern_exec *exec = NULL;
    tern_status status = tern_exec_create(ctx, program, &exec);
    if (status == TERN_OK) {
        TERN_SCOPE(ctx) {
            tern_tensor *in = tern_transpose(tern_randn(ctx, TERN_F32, SHAPE(8, 4), 3), 0, 1), *out[1];
            status = tern_exec_run(exec, 1, &in, 1, out);
            if (status == TERN_OK)
                status = tern_eval(out[0]);
        }
    }
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

static tern_status graph_part(tern_ctx *ctx)
{
    static const char text[] = "graph g {\n"
                               "  %x = input \"x\" f32[4,8]\n"
                               "  %b = constant f32[2] {1, 2}\n"
                               "  %s = state \"total\" f32[4,2]\n"
                               "  %w = randn() {shape=[8,2], seed=5}\n"
                               "  %0 = matmul(%x, %w)\n"
                               "  %1 = add(%0, %b)\n"
                               "  %2 = add(%s, %1)\n"
                               "  %3 = overwrite(%s, %2)\n"
                               "  %v, %i = sort(%3)\n"
                               "  return %v as \"y\"\n"
                               "}\n";
    tern_graph *graph;
    TERN_TRY(tern_graph_parse(ctx, text, sizeof text - 1, &graph));
    char *printed = NULL, *dot = NULL;
    tern_status status = tern_graph_print(graph, &printed);
    if (status == TERN_OK)
        status = tern_graph_dot(graph, &dot);
    if (status == TERN_OK)
        status = run_program(ctx, graph);
    tern_string_free(printed);
    tern_string_free(dot);
    tern_graph_free(graph);
    return status;
}

static tern_status file_part(tern_ctx *ctx, const char *folder)
{
    char npy[256], npz[256];
    snprintf(npy, sizeof npy, "%s/x.npy", folder);
    snprintf(npz, sizeof npz, "%s/x.npz", folder);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, TERN_F32, SHAPE(5, 3), 1), *back;
        TERN_TRY(tern_npy_save(tern_transpose(x, 0, 1), npy));
        TERN_TRY(tern_npy_load(ctx, npy, &back));
        TERN_TRY(tern_npy_map(ctx, npy, &back));
        TERN_TRY(tern_npz_save(npz, 2, (const char *[]){"a", "b"}, (tern_tensor *[]){x, back}));
        tern_npz *archive;
        TERN_TRY(tern_npz_open(npz, &archive));
        tern_status status = tern_npz_load(ctx, archive, 1, &back);
        tern_npz_close(archive);
        TERN_TRY(status);
        TERN_TRY(tern_eval(tern_sum(back, 0, NULL, false)));
    }
    return TERN_OK;
}

static tern_status whole_program(const char *folder)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 2;
    tern_ctx *ctx;
    TERN_TRY(tern_ctx_create(&options, &ctx));
    tern_status status = lazy_part(ctx);
    if (status == TERN_OK)
        status = graph_part(ctx);
    if (status == TERN_OK)
        status = file_part(ctx, folder);
    tern_ctx_destroy(ctx);
    return status;
}

static uint64_t live_blocks(void)
{
    tern_alloc_stats stats;
    tern_alloc_get_stats(&stats);
    return stats.allocations - stats.frees;
}

/* Walks the failing allocation forward until the program gets through without meeting it. */
static void walk(bool for_ever)
{
    char folder[] = "/tmp/tern-alloc-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(whole_program(folder));
    uint64_t before = live_blocks();
    long failures = 0;
    for (long nth = 1;; nth++) {
        gate g = {.countdown = nth, .for_ever = for_ever};
        tern_alloc_set_gate(allow, &g);
        tern_status status = whole_program(folder);
        tern_alloc_set_gate(NULL, NULL);
        CHECK_EQ(live_blocks(), before);
        if (!g.fired) {
            CHECK_OK(status);
            break;
        }
        /* A failure that is survived (a cache that could not grow) is fine; one that is not must say so. */
        if (status != TERN_OK) {
            failures++;
            CHECK_STATUS(status, TERN_OUT_OF_MEMORY);
        }
    }
    CHECK(failures > 50);
    char path[256];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/x.np%c", folder, "yz"[i]);
        unlink(path);
    }
    CHECK(rmdir(folder) == 0); /* no temporary files were left behind */
}

TEST(every_allocation_may_fail_once)
{
    walk(false);
}

TEST(every_allocation_may_fail_from_then_on)
{
    walk(true);
}

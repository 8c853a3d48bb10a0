/* test_alloc_failure.c - a whole program (record, evaluate, write in place, compile, run, print, parse, save,
 * free) in which the 1st, 2nd, 3rd, ... allocation fails, once or from then on: an error each time, no leak,
 * no crash, what does come out is right, and the same context then runs it all again as if nothing had been.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"

#define SHAPE(...)                                                               \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                            \
        __VA_ARGS__                                                              \
    }

/* ---- what comes out ---- */

/* Values by slot, as the first run, without failures, gave them. */
enum { SLOTS = 32, PRINTED = 30, DRAWN = 31 };
static struct slot {
    void *data;
    size_t bytes;
} expected[SLOTS];
static bool learning;

static void forget_expected(void)
{
    for (int i = 0; i < SLOTS; i++) {
        free(expected[i].data);
        expected[i] = (struct slot){0};
    }
}

static void compare(int slot, const void *data, size_t bytes)
{
    struct slot *s = &expected[slot];
    if (learning && !s->data) {
        s->data = malloc(bytes ? bytes : 1);
        s->bytes = bytes;
        if (s->data)
            memcpy(s->data, data, bytes);
    } else if (!s->data || s->bytes != bytes || memcmp(s->data, data, bytes) != 0) {
        harness_fail(__FILE__, __LINE__, "value %d came out wrong", slot);
    }
}

/* The first failure of a part; later steps go on, as a program might. */
static void note(tern_status *first, tern_status status)
{
    if (*first == TERN_OK)
        *first = status;
}

/* What can be had of the tensor must be right. */
static void see(tern_status *first, int slot, tern_tensor *t)
{
    const void *data = tern_data(t);
    if (data)
        compare(slot, data, tern_nbytes(t));
    else
        note(first, tern_status_of(t) != TERN_OK ? tern_status_of(t) : TERN_OUT_OF_MEMORY);
}

/* ---- a whole program in parts ---- */

static tern_status lazy_part(tern_ctx *ctx)
{
    tern_status status = TERN_OK;
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
        note(&status, tern_eval_all(3, (tern_tensor *[]){values, indices, joined}));
        see(&status, 0, values);
        see(&status, 1, indices);
        see(&status, 2, joined);
        tern_tensor *by_name;
        tern_apply(ctx, "sum", "axes=[0]", 1, &x, 1, &by_name);
        see(&status, 3, by_name);
        tern_tensor *all = NULL, *rows[2] = {NULL};
        tern_status packed = tern_batch_layout(2, (tern_tensor *[]){x, x}, &all, rows);
        note(&status, packed);
        if (packed == TERN_OK) {
            see(&status, 4, all);
            see(&status, 5, tern_keep(rows[1]));
            tern_release(rows[1]);
        }
        see(&status, 6, x);
    }
    return status;
}

/* A write that fails has written nothing, and readers see what they were recorded on. */
static tern_status writing_part(tern_ctx *ctx)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *h = tern_randn(ctx, TERN_F32, SHAPE(6, 4), 2);
        tern_tensor *view = tern_transpose(h, 0, 1), *before = tern_exp(view);
        tern_status written = tern_add_(view, tern_scalar(ctx, TERN_F32, 1));
        note(&status, written);
        see(&status, written == TERN_OK ? 10 : 11, view);
        see(&status, written == TERN_OK ? 12 : 13, h);
        see(&status, 14, before);
        tern_tensor *state = tern_state(ctx, "s", TERN_F32, SHAPE(4, 4));
        tern_tensor *at = tern_from_data(ctx, TERN_I64, SHAPE(2), (int64_t[]){1, 1});
        tern_tensor *reader = tern_exp(state);
        tern_tensor *next = tern_write_slice(state, tern_ones(ctx, TERN_F32, SHAPE(2, 2)), at);
        note(&status, tern_eval(next));
        see(&status, 15, next);
        see(&status, 16, reader);
    }
    return status;
}

/* What the tensors that writing_part writes hold if nothing is written. */
static void learn_unwritten(tern_ctx *ctx)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *h = tern_randn(ctx, TERN_F32, SHAPE(6, 4), 2);
        see(&status, 11, tern_transpose(h, 0, 1));
        see(&status, 13, h);
    }
    CHECK_OK(status);
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
                see(&status, 20, out[0]);
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
    tern_status status = TERN_OK;
    note(&status, tern_graph_print(graph, &printed));
    note(&status, tern_graph_dot(graph, &dot));
    note(&status, run_program(ctx, graph));
    if (printed)
        compare(PRINTED, printed, strlen(printed));
    if (dot)
        compare(DRAWN, dot, strlen(dot));
    tern_string_free(printed);
    tern_string_free(dot);
    tern_graph_free(graph);
    return status;
}

static tern_status file_part(tern_ctx *ctx)
{
    char npy[512], npz[512];
    if (!harness_path(npy, sizeof npy, "x.npy") || !harness_path(npz, sizeof npz, "x.npz"))
        return TERN_INTERNAL;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, TERN_F32, SHAPE(5, 3), 1), *back;
        tern_status status = TERN_OK;
        TERN_TRY(tern_npy_save(tern_transpose(x, 0, 1), npy));
        TERN_TRY(tern_npy_load(ctx, npy, &back));
        see(&status, 25, back);
        TERN_TRY(tern_npy_map(ctx, npy, &back));
        see(&status, 25, back);
        TERN_TRY(tern_npz_save(npz, 2, (const char *[]){"a", "b"}, (tern_tensor *[]){x, back}));
        tern_npz *archive;
        TERN_TRY(tern_npz_open(npz, &archive));
        tern_status loaded = tern_npz_load(ctx, archive, 1, &back);
        tern_npz_close(archive);
        TERN_TRY(loaded);
        see(&status, 25, back);
        see(&status, 26, tern_sum(back, 0, NULL, false));
        return status;
    }
    return TERN_OK;
}

static tern_status all_parts(tern_ctx *ctx)
{
    tern_status status = TERN_OK;
    note(&status, lazy_part(ctx));
    note(&status, writing_part(ctx));
    note(&status, graph_part(ctx));
    note(&status, file_part(ctx));
    return status;
}

static tern_status make_context(tern_ctx **ctx)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 2;
    return tern_ctx_create(&options, ctx);
}

static void learn(void)
{
    tern_ctx *ctx;
    forget_expected();
    learning = true;
    CHECK_OK(make_context(&ctx));
    CHECK_OK(all_parts(ctx));
    learn_unwritten(ctx);
    tern_ctx_destroy(ctx);
    learning = false;
}

/* Walks the failing allocation forward until the program gets through without meeting it. Afterwards the same
 * context works as if nothing had been. */
static void walk(bool for_ever)
{
    learn();
    uint64_t before = live_blocks();
    long failures = 0;
    for (long nth = 1; !harness_failed(); nth++) {
        gate g = {.countdown = nth, .for_ever = for_ever};
        tern_ctx *ctx = NULL;
        tern_alloc_set_gate(gate_allow, &g);
        tern_status status = make_context(&ctx);
        bool made = status == TERN_OK;
        if (made)
            status = all_parts(ctx);
        tern_alloc_set_gate(NULL, NULL);
        if (made)
            CHECK_OK(all_parts(ctx));
        tern_ctx_destroy(ctx);
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
        if (harness_failed())
            printf("     (allocation %ld failing %s)\n", nth, for_ever ? "and all after it" : "once");
    }
    CHECK(failures > 50);
    /* the two files, and no temporary ones */
    char path[512];
    CHECK(harness_path(path, sizeof path, "x.npy") && unlink(path) == 0);
    CHECK(harness_path(path, sizeof path, "x.npz") && unlink(path) == 0);
    CHECK(rmdir(harness_folder()) == 0 && mkdir(harness_folder(), 0700) == 0);
    forget_expected();
}

TEST(every_allocation_may_fail_once)
{
    walk(false);
}

TEST(every_allocation_may_fail_from_then_on)
{
    walk(true);
}

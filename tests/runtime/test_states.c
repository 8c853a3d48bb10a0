/* test_states.c - writes that are recorded: they happen once, in order, and everybody sees what an eager program would
 * have shown, whatever is asked for first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "gate.h"
#include "harness.h"
#include "lazy.h"

static tern_tensor *index_of(tern_ctx *ctx, int64_t at)
{
    return tern_from_data(ctx, TERN_I64, 1, (int64_t[]){1}, &at);
}

TEST(a_write_that_ran_before_something_failed_is_not_repeated)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *one = tern_scalar(ctx, TERN_F32, 1);
        tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
        tern_tensor *old = tern_neg(s0);
        tern_tensor *s1 = tern_write_slice(s0, tern_add(s0, one), index_of(ctx, 0));
        tern_tensor *bad = tern_gather(s1, index_of(ctx, 7), 0);
        CHECK_STATUS(tern_eval_all(2, (tern_tensor *[]){s1, bad}), TERN_OUT_OF_RANGE);
        CHECK(holds(s1, 2, (float[]){1, 1}));
        CHECK(holds(s1, 2, (float[]){1, 1}));
        CHECK(holds(old, 2, (float[]){-0.0f, -0.0f}));
        CHECK_STATUS(tern_eval(bad), TERN_OUT_OF_RANGE);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_view_shows_the_state_as_of_the_line_that_reads_it)
{
    for (int asked_first = 0; asked_first < 4; asked_first++) {
        tern_ctx *ctx = open_ctx();
        TERN_SCOPE(ctx) {
            tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(3)), *one = tern_scalar(ctx, TERN_F32, 1);
            tern_tensor *view = tern_narrow(s0, 0, 0, 2);
            tern_tensor *before = tern_add(view, one);
            tern_tensor *s1 = tern_write_slice(s0, floats(ctx, 2, (float[]){5, 6}), index_of(ctx, 0));
            tern_tensor *after = tern_add(view, one);
            tern_tensor *s2 = tern_write_slice(s1, floats(ctx, 1, (float[]){9}), index_of(ctx, 1));
            tern_tensor *all[] = {before, after, s2, view};
            CHECK_OK(tern_eval(all[asked_first]));
            CHECK(holds(view, 2, (float[]){5, 9}));
            CHECK(holds(s2, 3, (float[]){5, 9, 0}));
            CHECK(holds(after, 2, (float[]){6, 7}));
            CHECK(holds(before, 2, (float[]){1, 1}));
        }
        tern_ctx_destroy(ctx);
    }
}

TEST(a_write_that_nobody_asked_for_never_happens)
{
    tern_ctx *ctx = open_ctx();
    tern_tensor *s = tern_state(ctx, "s", TERN_F32, SHAPE(2));
    tern_tensor *x = floats(ctx, 2, (float[]){1, 2}), *at = index_of(ctx, 0);
    tern_tensor *written = tern_write_slice(s, x, at);
    CHECK_STATUS(tern_status_of(tern_neg(s)), TERN_STATE);
    tern_release(written);
    CHECK(holds(tern_abs(s), 2, (float[]){0, 0}));
    written = tern_write_slice(s, x, at);
    CHECK(holds(written, 2, (float[]){1, 2}));
    tern_ctx_destroy(ctx);
}

TEST(what_was_computed_from_old_values_is_kept_or_computed_before)
{
    tern_ctx *ctx = open_ctx();
    tern_tensor *one = tern_scalar(ctx, TERN_F32, 1), *at = index_of(ctx, 0);
    tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
    tern_tensor *inner = tern_add(s0, one);           /* 1 1, no handle after this */
    tern_tensor *kept = tern_add(inner, inner);       /* 2 2, reads the state only through `inner` */
    tern_tensor *used = tern_mul(inner, inner);       /* 1 1 */
    tern_tensor *s1 = tern_write_slice(s0, used, at); /* captures `inner`, not `kept` */
    tern_release(inner);
    CHECK(holds(s1, 2, (float[]){1, 1}));
    CHECK(holds(kept, 2, (float[]){2, 2}));
    /* the same through a captured node in the middle that has a handle */
    tern_tensor *first = tern_add(s1, one), *middle = tern_add(first, one), *last = tern_neg(middle);
    tern_release(first);
    tern_tensor *s2 = tern_write_slice(s1, last, at);
    CHECK(holds(s2, 2, (float[]){-3, -3}));
    CHECK(holds(middle, 2, (float[]){3, 3}));
    /* and readers of a write that is pending itself */
    tern_tensor *s3 = tern_write_slice(s2, one, at), *reader = NULL;
    CHECK(tern_status_of(s3) != TERN_OK); /* rank: the state is still usable */
    tern_release(s3);
    s3 = tern_overwrite(s2, one);
    reader = tern_neg(s3);
    tern_tensor *s4 = tern_overwrite(s3, floats(ctx, 2, (float[]){8, 9}));
    CHECK(holds(s4, 2, (float[]){8, 9}));
    CHECK(holds(reader, 2, (float[]){-1, -1}));
    tern_ctx_destroy(ctx);
}

TEST(views_of_what_is_pending_see_later_writes)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_add(floats(ctx, 4, (float[]){1, 2, 3, 4}), tern_scalar(ctx, TERN_F32, 0));
        tern_tensor *view = tern_narrow(x, 0, 1, 3), *inner = tern_narrow(view, 0, 0, 1);
        tern_tensor *written = tern_overwrite(view, tern_scalar(ctx, TERN_F32, 7));
        tern_tensor *sum = tern_add(inner, x); /* [1] + [4] */
        CHECK(holds(sum, 4, (float[]){8, 14, 14, 11}));
        CHECK(holds(written, 2, (float[]){7, 7}));
        CHECK(holds(x, 4, (float[]){1, 7, 7, 4}));
    }
    tern_ctx_destroy(ctx);
}

TEST(a_reader_that_cannot_be_computed_does_not_block_a_write)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = floats(ctx, 2, (float[]){1, 2});
        tern_tensor *bad = tern_gather(x, index_of(ctx, 9), 0), *far = tern_neg(bad);
        tern_tensor *good = tern_neg(x);
        CHECK_OK(tern_fill_(x, 5));
        CHECK(holds(x, 2, (float[]){5, 5}));
        CHECK(holds(good, 2, (float[]){-1, -2}));
        CHECK_STATUS(tern_eval(bad), TERN_OUT_OF_RANGE);
        CHECK_STATUS(tern_eval(far), TERN_OUT_OF_RANGE);
        /* the same when a recorded write forces it */
        tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
        bad = tern_gather(s0, index_of(ctx, 9), 0);
        tern_tensor *s1 = tern_overwrite(s0, x);
        CHECK(holds(s1, 2, (float[]){5, 5}));
        CHECK_STATUS(tern_eval(bad), TERN_OUT_OF_RANGE);
        /* what depends on an input reads when its program runs */
        tern_tensor *in = tern_input(ctx, "in", TERN_F32, SHAPE(2)), *y = tern_add(in, x);
        CHECK_OK(tern_fill_(x, 6));
        CHECK_STATUS(tern_eval(y), TERN_STATE);
    }
    tern_ctx_destroy(ctx);
}

TEST(many_states_that_wait_for_each_other)
{
    enum { STATES = 20000 };
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *last = tern_scalar(ctx, TERN_F32, 1);
        for (int i = 0; i < STATES; i++) {
            tern_tensor *s = tern_state(ctx, "s", TERN_F32, SHAPE(1));
            tern_tensor *old = tern_add(s, last); /* the reader of this state waits for the write before it */
            last = tern_overwrite(s, tern_scalar(ctx, TERN_F32, i));
            last = tern_maximum(last, old);
        }
        CHECK(holds(last, 1, (float[]){STATES - 1}));
    }
    tern_ctx_destroy(ctx);
}

TEST(a_long_chain_of_writes)
{
    enum { WRITES = 20000 };
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *s = tern_state(ctx, "s", TERN_F32, SHAPE(1)), *one = tern_scalar(ctx, TERN_F32, 1);
        for (int i = 0; i < WRITES; i++)
            s = tern_overwrite(s, tern_add(s, one));
        CHECK(holds(s, 1, (float[]){WRITES}));
    }
    tern_ctx_destroy(ctx);
}

TEST(handing_out_the_address_is_like_a_write)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, SHAPE(2, 2), (float[]){1, 2, 3, 4});
        tern_tensor *reader = tern_neg(x), *turned = tern_transpose(x, 0, 1);
        const float *copy = tern_data_f32(turned);
        CHECK(copy && copy[1] == 3);
        void *address;
        int64_t strides[2];
        CHECK_OK(tern_map(x, &address, strides));
        ((float *)address)[2] = 30;
        CHECK(holds(reader, 4, (float[]){-1, -2, -3, -4}));
        CHECK(tern_data_f32(turned) == copy && copy[1] == 30);
        ((float *)address)[2] = 31;
        CHECK(tern_data_f32(turned) == copy && copy[1] == 31);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_write_after_a_failed_reader_still_happens)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = floats(ctx, 2, (float[]){1, 2}), *y = floats(ctx, 2, (float[]){10, 20});
        tern_tensor *good = tern_neg(y), *bad = tern_gather(y, index_of(ctx, 99), 0);
        tern_tensor *w = tern_overwrite(y, tern_scalar(ctx, TERN_F32, 3));
        CHECK_OK(tern_add_(x, w));
        CHECK(holds(x, 2, (float[]){4, 5}));
        CHECK(holds(good, 2, (float[]){-10, -20}));
        CHECK_STATUS(tern_eval(bad), TERN_OUT_OF_RANGE);
    }
    tern_ctx_destroy(ctx);
}

TEST(one_result_evaluated_and_one_pending_in_a_graph_that_writes)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = floats(ctx, 3, (float[]){3, 1, 2}), *values, *indices;
        tern_sort(x, 0, false, &values, &indices);
        CHECK(holds(tern_overwrite(values, indices), 3, (float[]){1, 2, 0}));
        tern_sort(x, 0, false, &values, &indices);
        CHECK_OK(tern_eval(values));
        CHECK(
            holds(tern_overwrite(x, tern_add(values, tern_cast(indices, TERN_F32))), 3, (float[]){2, 4, 3}));
    }
    tern_ctx_destroy(ctx);
}

TEST(what_fails_may_be_held_by_nobody_else)
{
    tern_ctx *ctx = open_ctx();
    tern_tensor *one = tern_scalar(ctx, TERN_F32, 1), *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
    tern_tensor *s1 = tern_overwrite(s0, one), *s2 = tern_overwrite(s1, tern_add(s1, one));
    tern_release(s1);
    tern_tensor *bad = tern_gather(s2, index_of(ctx, 99), 0), *s3 = tern_overwrite(s2, one);
    CHECK_OK(tern_eval(s3));
    CHECK_STATUS(tern_eval(bad), TERN_OUT_OF_RANGE);
    /* an operand that turns out to be an error while it is recorded */
    tern_tensor *t = floats(ctx, 2, (float[]){1, 2}), *v = tern_narrow(t, 0, 0, 2);
    tern_tensor *z = floats(ctx, 2, (float[]){3, 4}), *broken = tern_write_slice(z, t, index_of(ctx, 99));
    tern_release(z);
    tern_tensor *w = tern_overwrite(t, tern_scalar(ctx, TERN_F32, 5));
    CHECK_STATUS(tern_eval(tern_overwrite(v, broken)), TERN_OUT_OF_RANGE);
    CHECK(holds(w, 2, (float[]){5, 5}));
    tern_ctx_destroy(ctx);
}

TEST(a_write_that_fails_leaves_its_memory_usable)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = floats(ctx, 4, (float[]){1, 2, 3, 4}), *v = tern_narrow(x, 0, 0, 2);
        tern_tensor *w = tern_write_slice(x, v, index_of(ctx, 99));
        CHECK(holds(v, 2, (float[]){1, 2}));
        CHECK_STATUS(tern_eval(w), TERN_OUT_OF_RANGE);
        CHECK_OK(tern_fill_(v, 5));
        CHECK(holds(x, 4, (float[]){5, 5, 3, 4}));
        tern_tensor *wide = tern_broadcast(tern_narrow(x, 0, 0, 1), 1, (int64_t[]){3});
        CHECK_STATUS(tern_status_of(tern_overwrite(wide, tern_scalar(ctx, TERN_F32, 1))), TERN_UNSUPPORTED);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_copy_that_could_not_be_made_anew_is_not_given_out)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_F32, SHAPE(2, 2), (float[]){1, 2, 3, 4});
        tern_tensor *t = tern_transpose(x, 0, 1);
        CHECK(holds(t, 4, (float[]){1, 3, 2, 4}));
        CHECK_OK(tern_fill_(x, 9));
        tern_alloc_set_gate(gate_refuse, NULL);
        const void *data = tern_data_f32(t);
        tern_alloc_set_gate(NULL, NULL);
        CHECK(!data || ((const float *)data)[0] == 9);
        CHECK(holds(t, 4, (float[]){9, 9, 9, 9}));
    }
    tern_ctx_destroy(ctx);
}

TEST(a_limit_of_memory_loses_nothing)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.pool.cap_bytes = 24 << 20;
    tern_ctx *ctx = NULL;
    CHECK_OK(tern_ctx_create(&options, &ctx));
    tern_tensor *x = tern_ones(ctx, TERN_F32, 1, (int64_t[]){1 << 21}); /* 8 MiB */
    tern_tensor *other = tern_ones(ctx, TERN_F32, 1, (int64_t[]){3 << 20});
    CHECK_OK(tern_eval_all(2, (tern_tensor *[]){x, other}));
    tern_tensor *big = tern_neg(x);
    CHECK_STATUS(tern_eval(big), TERN_LIMIT);
    CHECK_STATUS(tern_fill_(x, 7), TERN_LIMIT);
    tern_release(other);
    CHECK_OK(tern_fill_(x, 7));
    CHECK(tern_data_f32(big) && tern_data_f32(big)[0] == -1);
    tern_ctx_destroy(ctx);
}

TEST(a_graph_outlives_its_context)
{
    tern_ctx *ctx = open_ctx(), *other = open_ctx();
    tern_tensor *w = floats(ctx, 2, (float[]){1, 2});
    CHECK_OK(tern_freeze(w));
    tern_tensor *y = tern_mul(tern_neg(w), tern_scalar(ctx, TERN_F32, 3));
    tern_graph *graph;
    CHECK_OK(tern_graph_capture(ctx, 1, &y, NULL, &graph));
    tern_ctx_destroy(ctx);
    tern_program *program;
    CHECK_OK(tern_graph_compile(other, graph, NULL, &program));
    tern_exec *exec;
    CHECK_OK(tern_exec_create(other, program, &exec));
    CHECK_OK(tern_exec_run(exec, 0, NULL, 1, &y));
    CHECK(holds(y, 2, (float[]){-3, -6}));
    tern_edit *edit;
    tern_value constant;
    CHECK_OK(tern_edit_begin(graph, &edit));
    CHECK_OK(tern_edit_insert_constant(edit, "c", TERN_F32, SHAPE(1), (float[]){1}, &constant));
    CHECK_STATUS(tern_edit_insert_constant(edit, "t", TERN_T2, SHAPE(4), (uint8_t[]){0xff}, &constant),
                 TERN_FORMAT);
    tern_edit_free(edit);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(other);
}

/* ---- programs ---- */

TEST(programs_see_what_was_recorded_before_they_run)
{
    tern_ctx *ctx = open_ctx();
    tern_tensor *in = tern_input(ctx, "in", TERN_F32, SHAPE(2)),
                *s = tern_state(ctx, "s", TERN_F32, SHAPE(2));
    tern_tensor *x = floats(ctx, 2, (float[]){1, 2}), *zero = tern_zeros(ctx, TERN_F32, SHAPE(2));
    tern_tensor *y = tern_add(tern_add(s, in), x);
    tern_program *program;
    CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
    tern_tensor *s1 = tern_overwrite(s, tern_scalar(ctx, TERN_F32, 5));
    tern_exec *exec;
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    tern_tensor *x1 = tern_overwrite(x, tern_scalar(ctx, TERN_F32, 10)), *out;
    CHECK_OK(tern_exec_run(exec, 1, &zero, 1, &out));
    CHECK(holds(out, 2, (float[]){15, 15}));
    CHECK(holds(s1, 2, (float[]){5, 5}));
    CHECK(holds(x1, 2, (float[]){10, 10}));
    /* an input cannot be overwritten */
    tern_program *none = NULL;
    tern_tensor *gone = tern_overwrite(in, zero);
    CHECK(tern_compile(ctx, 1, &gone, NULL, NULL, &none) != TERN_OK && !none);
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

static tern_program *counter(tern_ctx *ctx)
{
    tern_program *program = NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, SHAPE(2));
        tern_tensor *s = tern_state(ctx, "total", TERN_F32, SHAPE(2));
        tern_tensor *total = tern_overwrite(s, tern_add(s, x));
        tern_compile(ctx, 1, &total, NULL, NULL, &program);
    }
    return program;
}

TEST(results_in_a_state_show_it_as_it_is)
{
    tern_ctx *ctx = open_ctx();
    tern_program *program = counter(ctx);
    tern_exec *exec;
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    TERN_SCOPE(ctx) {
        tern_tensor *x = floats(ctx, 2, (float[]){1, 2}), *first, *second, *third;
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &first));
        tern_tensor *doubled = tern_add(first, first), *copy = tern_contiguous(first);
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &second));
        CHECK(holds(doubled, 2, (float[]){2, 4})); /* recorded before the second run */
        CHECK(holds(copy, 2, (float[]){1, 2}));
        CHECK(holds(second, 2, (float[]){2, 4}));
        CHECK(holds(first, 2, (float[]){2, 4}));
        /* a result as the next input: read as it was */
        CHECK_OK(tern_exec_run(exec, 1, &second, 1, &third));
        CHECK(holds(third, 2, (float[]){4, 8}));
    }
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

TEST(views_of_a_state_in_a_program_follow_the_execs_copy)
{
    tern_ctx *ctx = open_ctx();
    tern_program *program = NULL;
    tern_tensor *s = tern_state(ctx, "s", TERN_F32, SHAPE(3));
    CHECK_OK(tern_fill_(s, 4)); /* after this the exec is created: it starts with 4 */
    TERN_SCOPE(ctx) {
        tern_tensor *view = tern_narrow(s, 0, 1, 3);
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, SHAPE(1));
        tern_tensor *old = tern_sum(view, 0, NULL, false);
        tern_tensor *s1 = tern_write_slice(s, x, index_of(ctx, 1));
        tern_tensor *both =
            tern_add(tern_sum(s1, 0, NULL, false), tern_mul(old, tern_scalar(ctx, TERN_F32, 100)));
        CHECK_OK(tern_compile(ctx, 1, &both, NULL, NULL, &program));
    }
    tern_exec *exec;
    CHECK_OK(tern_exec_create(ctx, program, &exec));
    TERN_SCOPE(ctx) {
        tern_tensor *x = floats(ctx, 1, (float[]){1}), *out;
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &out));
        CHECK(holds(out, 1, (float[]){809}));
        CHECK_OK(tern_exec_run(exec, 1, &x, 1, &out));
        CHECK(holds(out, 1, (float[]){509})); /* the view sees what the first run wrote */
        CHECK(holds(tern_contiguous(tern_narrow(s, 0, 0, 1)), 1, (float[]){4}));
    }
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

TEST(the_old_value_of_a_state_is_no_output)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, SHAPE(2));
        tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
        tern_tensor *view = tern_narrow(s0, 0, 0, 1), *copy = tern_contiguous(s0);
        tern_tensor *s1 = tern_overwrite(s0, x), *s2 = tern_overwrite(s1, tern_neg(x));
        tern_program *program = NULL;
        CHECK_STATUS(tern_compile(ctx, 2, (tern_tensor *[]){s0, s2}, NULL, NULL, &program), TERN_STATE);
        CHECK_STATUS(tern_compile(ctx, 2, (tern_tensor *[]){view, s2}, NULL, NULL, &program), TERN_STATE);
        CHECK_STATUS(tern_compile(ctx, 2, (tern_tensor *[]){s1, s2}, NULL, NULL, &program), TERN_STATE);
        CHECK(!program);
        CHECK_OK(tern_compile(ctx, 2, (tern_tensor *[]){copy, s2}, NULL, NULL, &program));
        tern_program_free(program);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_result_never_lies_in_another_contexts_memory)
{
    tern_ctx *ctx = open_ctx(), *other = open_ctx();
    tern_tensor *x = floats(ctx, 2, (float[]){1, 2}), *view = tern_narrow(x, 0, 0, 1);
    tern_program *program = NULL;
    CHECK_OK(tern_compile(ctx, 1, &view, NULL, NULL, &program));
    tern_exec *exec;
    CHECK_OK(tern_exec_create(other, program, &exec));
    tern_tensor *out;
    CHECK_OK(tern_exec_run(exec, 0, NULL, 1, &out));
    CHECK_OK(tern_fill_(out, 9));
    CHECK(holds(x, 2, (float[]){1, 2}));
    CHECK_OK(tern_fill_(x, 3));
    CHECK(holds(out, 1, (float[]){9}));
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(other);
    tern_ctx_destroy(ctx);
}

/* ---- any program, against one that is eager ---- */

enum { MEMORIES = 512, ELEMENTS = 6, HANDLES = 96 };

/* A handle: a range of a memory, and the tensor that should show it. */
typedef struct handle {
    tern_tensor *t;
    int memory, start, step, n;
    bool spent;   /* given to a write, or released */
    bool fails;   /* cannot be computed */
    bool written; /* the result of a write: released unasked, that would never happen */
} handle;

typedef struct world {
    tern_ctx *ctx;
    float memory[MEMORIES][ELEMENTS];
    handle handles[HANDLES];
    int n_memories, n_handles;
    uint64_t random;
} world;

static int draw(world *w, int below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->random >> 33) % (uint64_t)below);
}

static float *at(world *w, const handle *h, int i)
{
    return &w->memory[h->memory][h->start + i * h->step];
}

static handle *add_handle(world *w, tern_tensor *t, int memory, int start, int step, int n)
{
    handle *h = &w->handles[w->n_handles < HANDLES ? w->n_handles++ : draw(w, HANDLES)];
    *h = (handle){.t = t, .memory = memory, .start = start, .step = step, .n = n};
    return h;
}

static handle *pick(world *w)
{
    for (;;) {
        handle *h = &w->handles[draw(w, w->n_handles)];
        if (!h->spent)
            return h;
    }
}

static void do_compute(world *w, const handle *a, const handle *b)
{
    if (w->n_memories == MEMORIES || (a->n != b->n && b->n != 1))
        return;
    float *out = w->memory[w->n_memories];
    int kind = draw(w, 3);
    for (int i = 0; i < a->n; i++) {
        float x = *at(w, a, i), y = *at(w, b, b->n == 1 ? 0 : i);
        out[i] = kind == 0 ? x + y : kind == 1 ? x - y : x > y ? x : y;
    }
    tern_tensor *t = kind == 0   ? tern_add(a->t, b->t)
                     : kind == 1 ? tern_sub(a->t, b->t)
                                 : tern_maximum(a->t, b->t);
    add_handle(w, t, w->n_memories++, 0, 1, a->n)->fails = a->fails || b->fails;
}

/* An index out of range is noticed only when it is looked at. */
static void do_fail(world *w, const handle *a)
{
    if (w->n_memories == MEMORIES)
        return;
    tern_tensor *t = tern_gather(a->t, index_of(w->ctx, 99), 0);
    add_handle(w, t, w->n_memories++, 0, 1, 1)->fails = true;
}

static void do_view(world *w, const handle *a)
{
    if (a->n < 2)
        return;
    bool backwards = draw(w, 2);
    int start = draw(w, a->n), n = 1 + draw(w, a->n - start);
    int64_t from = start, to = start + n, step = 1;
    if (backwards) {
        from = start + n - 1;
        to = start - 1 < 0 ? -a->n - 1 : start - 1;
        step = -1;
    }
    tern_tensor *t = tern_slice(a->t, 1, &from, &to, &step);
    add_handle(w, t, a->memory, a->start + (int)from * a->step, a->step * (int)step, n)->fails = a->fails;
}

/* What both sides do with the values of `b`, read before anything is written. */
static void store(world *w, const handle *a, int offset, const handle *b, int n, bool add)
{
    float values[ELEMENTS];
    for (int i = 0; i < n; i++)
        values[i] = *at(w, b, b->n == 1 ? 0 : i) + (add ? *at(w, a, offset + i) : 0);
    for (int i = 0; i < n; i++)
        *at(w, a, offset + i) = values[i];
}

static tern_status do_in_place(world *w, handle *a, const handle *b)
{
    if (a->n != b->n && b->n != 1)
        return TERN_OK;
    bool add = draw(w, 2), fails = a->fails || b->fails;
    if (!fails)
        store(w, a, 0, b, a->n, add);
    tern_status status = add ? tern_add_(a->t, b->t) : tern_assign(a->t, b->t);
    return (status != TERN_OK) == fails ? TERN_OK : TERN_INTERNAL;
}

static void do_write(world *w, handle *a, const handle *b)
{
    if (b->n > a->n)
        return;
    handle from = *a;
    int offset = draw(w, a->n - b->n + 1);
    bool fails = from.fails || b->fails || draw(w, 12) == 0;
    tern_tensor *t = tern_write_slice(a->t, b->t, index_of(w->ctx, fails ? 99 : offset));
    if (!fails)
        store(w, a, offset, b, b->n, false);
    a->spent = true;
    handle *result = add_handle(w, t, from.memory, from.start, from.step, from.n);
    result->fails = fails;
    result->written = true;
}

static void do_release(handle *h)
{
    if (h->written)
        return;
    tern_release(h->t);
    h->spent = true;
}

static bool shows(world *w, const handle *h)
{
    float expected[ELEMENTS];
    if (h->fails)
        return tern_data_f32(h->t) == NULL;
    for (int i = 0; i < h->n; i++)
        expected[i] = *at(w, h, i);
    return holds_bits(h->t, h->n, expected);
}

static bool step(world *w)
{
    int kind = draw(w, 23);
    handle a = *pick(w), b = *pick(w);
    if (kind < 7)
        do_compute(w, &a, &b);
    else if (kind < 11)
        do_view(w, &a);
    else if (kind < 13)
        return do_in_place(w, &a, &b) == TERN_OK;
    else if (kind < 17)
        do_write(w, pick(w), &b);
    else if (kind == 17)
        return (tern_eval_all(2, (tern_tensor *[]){a.t, b.t}) != TERN_OK) == (a.fails || b.fails);
    else if (kind == 18)
        do_fail(w, &a);
    else if (kind == 19 && w->n_handles > 8)
        do_release(pick(w));
    else
        return shows(w, &a);
    return true;
}

TEST(random_programs_are_as_if_eager)
{
    static world w;
    for (int program = 0; program < harness_cases(2000); program++) {
        uint64_t seed = harness_seed() + (uint64_t)program;
        w = (world){.ctx = open_ctx(), .random = seed};
        bool right = true;
        int steps = 0;
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < ELEMENTS; k++)
                w.memory[i][k] = (float)draw(&w, 9);
            add_handle(&w, floats(w.ctx, ELEMENTS, w.memory[i]), w.n_memories++, 0, 1, ELEMENTS)->written =
                true;
        }
        for (; right && steps < 60; steps++)
            right = step(&w);
        for (int i = 0; right && i < w.n_handles; i++)
            right = w.handles[i].spent || shows(&w, &w.handles[i]);
        if (!right)
            printf("program with seed %llu differs after %d steps: %s\n", (unsigned long long)seed, steps,
                   tern_last_error());
        tern_ctx_destroy(w.ctx);
        CHECK(right);
    }
}

/* A program that writes `n` rows into the state, and its exec on the state itself. */
typedef struct writer {
    tern_program *program;
    tern_exec *exec;
} writer;

static tern_status make_writer(tern_ctx *ctx, tern_tensor *state, int64_t n, writer *out)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        tern_tensor *rows = tern_input(ctx, "rows", TERN_F32, SHAPE(n, 2));
        tern_tensor *at = tern_input(ctx, "at", TERN_I64, SHAPE(2));
        tern_tensor *written = tern_write_slice(state, rows, at);
        tern_tensor *outputs[] = {tern_sum(written, 1, (int64_t[]){1}, false)};
        status = tern_compile(ctx, 1, outputs, NULL, NULL, &out->program);
    }
    return status == TERN_OK ? tern_exec_create_in_place(ctx, out->program, &out->exec) : status;
}

static bool write_at(tern_ctx *ctx, writer *w, int64_t n, int64_t at, float value, const float *sums)
{
    bool right = false;
    TERN_SCOPE(ctx) {
        tern_tensor *in[] = {tern_full(ctx, TERN_F32, SHAPE(n, 2), (double)value),
                             tern_from_data(ctx, TERN_I64, SHAPE(2), (int64_t[]){at, 0})};
        tern_tensor *out;
        right = tern_exec_run(w->exec, 2, in, 1, &out) == TERN_OK && holds(out, 4, sums);
    }
    return right;
}

TEST(programs_of_several_sizes_share_a_state_in_place)
{
    tern_ctx *ctx = open_ctx();
    tern_tensor *state = tern_state(ctx, "s", TERN_F32, SHAPE(4, 2));
    writer one = {0}, two = {0};
    CHECK_OK(make_writer(ctx, state, 1, &one));
    CHECK_OK(make_writer(ctx, state, 2, &two));
    CHECK(write_at(ctx, &two, 2, 0, 1, (float[]){2, 2, 0, 0}));
    CHECK(write_at(ctx, &one, 1, 3, 4, (float[]){2, 2, 0, 8}));
    CHECK(write_at(ctx, &two, 2, 1, 2, (float[]){2, 4, 4, 8}));
    CHECK(holds(state, 8, (float[]){1, 1, 2, 2, 2, 2, 4, 4}));
    tern_exec *own;
    CHECK_OK(tern_exec_create(ctx, one.program, &own));
    writer apart = {one.program, own};
    CHECK(write_at(ctx, &apart, 1, 0, 9, (float[]){18, 4, 4, 8}));
    CHECK(holds(state, 8, (float[]){1, 1, 2, 2, 2, 2, 4, 4}));
    tern_exec_free(own);
    tern_exec_free(one.exec);
    tern_exec_free(two.exec);
    tern_program_free(one.program);
    tern_program_free(two.program);
    tern_release(state);
    tern_ctx_destroy(ctx);
}

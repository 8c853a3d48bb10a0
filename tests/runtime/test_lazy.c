/* test_lazy.c - the semantics of lazy tensors: what is computed when, and that programs behave as if eager. */
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "lazy.h"

TEST(nothing_is_computed_until_asked)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 2, (float[]){1, 2});
        tern_tensor *b = tern_add(a, a);
        CHECK(tern_is_evaluated(a));
        CHECK(!tern_is_evaluated(b));
        CHECK_OK(tern_eval(b));
        CHECK(tern_is_evaluated(b));
        CHECK(holds(b, 2, (float[]){2, 4}));
    }
    tern_ctx_destroy(ctx);
}

TEST(eval_materialises_exactly_what_is_named)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 2, (float[]){1, 2});
        tern_tensor *middle = tern_mul(a, a);
        tern_tensor *top = tern_add(middle, a);
        CHECK_OK(tern_eval(top));
        CHECK(!tern_is_evaluated(middle));
        CHECK(holds(top, 2, (float[]){2, 6}));
        CHECK(holds(middle, 2, (float[]){1, 4}));
        tern_ctx_stats stats;
        tern_ctx_get_stats(ctx, &stats);
        CHECK_EQ(stats.evaluations, 2);
    }
    tern_ctx_destroy(ctx);
}

TEST(evaluated_tensors_hold_no_history)
{
    tern_ctx *ctx = open_ctx();
    tern_ctx_stats before, after;
    tern_tensor *kept = NULL;
    tern_ctx_get_stats(ctx, &before);
    TERN_SCOPE(ctx) {
        tern_tensor *t = floats(ctx, 2, (float[]){1, 2});
        for (int i = 0; i < 100; i++)
            t = tern_add(t, t);
        CHECK_OK(tern_eval(t));
        kept = tern_keep(t);
    }
    tern_ctx_get_stats(ctx, &after);
    CHECK_EQ(after.nodes_live, before.nodes_live + 1);
    CHECK(holds(kept, 2, (float[]){0x1p100f, 0x1p101f}));
    tern_release(kept);
    tern_ctx_get_stats(ctx, &after);
    CHECK_EQ(after.nodes_live, before.nodes_live);
    tern_ctx_destroy(ctx);
}

TEST(pending_reader_sees_the_value_before_an_in_place_write)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 3, (float[]){1, 2, 3});
        tern_tensor *reader = tern_mul(a, a);
        tern_tensor *far_reader = tern_neg(reader);
        CHECK_OK(tern_add_(a, tern_scalar(ctx, TERN_F32, 10)));
        CHECK(tern_is_evaluated(reader));
        CHECK(holds(reader, 3, (float[]){1, 4, 9}));
        CHECK(holds(far_reader, 3, (float[]){-1, -4, -9}));
        CHECK(holds(a, 3, (float[]){11, 12, 13}));
    }
    tern_ctx_destroy(ctx);
}

TEST(pending_reader_of_a_view_sees_the_value_before_a_write_to_the_base)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 4, (float[]){1, 2, 3, 4});
        tern_tensor *view = tern_narrow(a, 0, 1, 3);
        tern_tensor *reader = tern_add(view, view);
        CHECK_OK(tern_fill_(a, 0));
        CHECK(holds(reader, 2, (float[]){4, 6}));
        CHECK(holds(view, 2, (float[]){0, 0}));
    }
    tern_ctx_destroy(ctx);
}

TEST(writes_through_views_are_visible_in_the_base_and_back)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_reshape(floats(ctx, 6, (float[]){0, 1, 2, 3, 4, 5}), SHAPE(2, 3));
        tern_tensor *t = tern_transpose(a, 0, 1);
        tern_tensor *row = tern_narrow(t, 0, 1, 2); /* column 1 of a: 1, 4 */
        CHECK_OK(tern_mul_(row, tern_scalar(ctx, TERN_F32, 100)));
        CHECK(holds(a, 6, (float[]){0, 100, 2, 3, 400, 5}));
        CHECK_OK(tern_fill_(a, 7));
        CHECK(holds(row, 2, (float[]){7, 7}));
        bool shared = false;
        CHECK_OK(tern_shares_storage(a, row, &shared));
        CHECK(shared);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_view_of_a_pending_tensor_shares_storage_with_it)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 4, (float[]){1, 2, 3, 4});
        tern_tensor *sum = tern_add(a, a); /* pending */
        tern_tensor *view = tern_narrow(sum, 0, 0, 2);
        CHECK(!tern_is_evaluated(view));
        CHECK_OK(tern_fill_(view, -1));
        CHECK(holds(sum, 4, (float[]){-1, -1, 6, 8}));
    }
    tern_ctx_destroy(ctx);
}

TEST(a_reshape_that_cannot_be_a_view_copies_and_says_so)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_reshape(floats(ctx, 6, (float[]){0, 1, 2, 3, 4, 5}), SHAPE(2, 3));
        tern_tensor *flat = tern_reshape(tern_transpose(a, 0, 1), SHAPE(6));
        bool shared = true;
        CHECK_OK(tern_shares_storage(a, flat, &shared));
        CHECK(!shared);
        CHECK(holds(flat, 6, (float[]){0, 3, 1, 4, 2, 5}));
    }
    tern_ctx_destroy(ctx);
}

TEST(in_place_keeps_the_pointer_and_allocates_no_storage)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 4, (float[]){1, 2, 3, 4});
        tern_tensor *b = floats(ctx, 4, (float[]){1, 1, 1, 1});
        const float *before = tern_data_f32(a);
        CHECK_OK(tern_sub_(a, b)); /* the context keeps its scratch memory from one run to the next */
        CHECK_OK(tern_add_(a, b));
        tern_pool_stats first, second;
        tern_pool_get_stats(tern_ctx_pool(ctx), &first);
        CHECK_OK(tern_add_(a, b));
        CHECK_OK(tern_mul_(a, a));
        CHECK_OK(tern_apply_(a, "relu", NULL, 0, NULL));
        tern_pool_get_stats(tern_ctx_pool(ctx), &second);
        CHECK_EQ(second.allocations, first.allocations);
        CHECK(tern_data_f32(a) == before);
        CHECK(holds(a, 4, (float[]){4, 9, 16, 25}));
    }
    tern_ctx_destroy(ctx);
}

TEST(in_place_with_an_operand_that_overlaps_in_another_order)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_reshape(floats(ctx, 4, (float[]){1, 2, 3, 4}), SHAPE(2, 2));
        CHECK_OK(tern_add_(a, tern_transpose(a, 0, 1)));
        CHECK(holds(a, 4, (float[]){2, 5, 5, 8}));
        tern_tensor *x = floats(ctx, 4, (float[]){1, 2, 3, 4});
        CHECK_OK(tern_add_(tern_narrow(x, 0, 1, 4), tern_narrow(x, 0, 0, 3))); /* shifted by one */
        CHECK(holds(x, 4, (float[]){1, 3, 5, 7}));
        tern_tensor *y = floats(ctx, 3, (float[]){1, 2, 3});
        CHECK_OK(tern_assign(y, tern_flip(y, 0, NULL)));
        CHECK(holds(y, 3, (float[]){3, 2, 1}));
        CHECK_OK(tern_assign(tern_narrow(y, 0, 1, 3), tern_narrow(y, 0, 0, 2))); /* shifted by one */
        CHECK(holds(y, 3, (float[]){3, 3, 2}));
    }
    tern_ctx_destroy(ctx);
}

TEST(in_place_refuses_what_does_not_fit)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 2, (float[]){1, 2});
        CHECK_STATUS(tern_add_(a, floats(ctx, 3, (float[]){1, 2, 3})), TERN_SHAPE);
        CHECK_STATUS(tern_add_(a, tern_reshape(floats(ctx, 4, (float[]){1, 2, 3, 4}), SHAPE(2, 2))),
                     TERN_SHAPE);
        CHECK(holds(a, 2, (float[]){1, 2}));
        CHECK_STATUS(tern_apply_(a, "add", NULL, 1, NULL), TERN_INVALID_ARGUMENT);
        CHECK_OK(tern_apply_(a, "clamp", "low=1 high=2", 0, NULL));
        tern_tensor *older_view = tern_narrow(a, 0, 0, 1), *at = tern_zeros(ctx, TERN_I64, SHAPE(1));
        CHECK_OK(tern_freeze(a));
        CHECK_STATUS(tern_fill_(older_view, 0), TERN_STATE);
        CHECK_STATUS(tern_status_of(tern_write_slice(older_view, floats(ctx, 1, (float[]){5}), at)),
                     TERN_STATE);
        CHECK_STATUS(tern_fill_(a, 0), TERN_STATE);
        CHECK_STATUS(tern_fill_(tern_narrow(a, 0, 0, 1), 0), TERN_STATE);
        CHECK(holds(a, 2, (float[]){1, 2}));
        CHECK_STATUS(tern_apply_(a, "sum", NULL, 0, NULL), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_apply_(a, "nonsense", NULL, 0, NULL), TERN_NOT_FOUND);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_million_node_chain_evaluates_without_deep_recursion)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *one = floats(ctx, 1, (float[]){1});
        tern_tensor *t = floats(ctx, 1, (float[]){0});
        for (int i = 0; i < 1000000; i++)
            t = tern_add(t, one);
        CHECK(holds(t, 1, (float[]){1000000}));
    }
    tern_ctx_destroy(ctx);
}

TEST(a_wide_graph_of_shared_nodes_is_walked_once)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *t = floats(ctx, 1, (float[]){1});
        for (int i = 0; i < 100; i++) /* 2^100 paths */
            t = tern_mul(tern_add(t, t), tern_scalar(ctx, TERN_F32, 0.5));
        CHECK(holds(t, 1, (float[]){1}));
    }
    tern_ctx_destroy(ctx);
}

TEST(error_tensors_travel_with_their_first_message)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *bad = tern_matmul(tern_zeros(ctx, TERN_F32, SHAPE(32, 784)),
                                       tern_zeros(ctx, TERN_F32, SHAPE(512, 256)), false, false);
        CHECK_STATUS(tern_status_of(bad), TERN_SHAPE);
        const char *expected = "matmul: inner sizes differ: [32,784] x [512,256]";
        CHECK_STR(tern_message_of(bad), expected);
        tern_tensor *t = bad;
        tern_tensor *other = floats(ctx, 1, (float[]){1});
        for (int i = 0; i < 100; i++)
            t = i % 3 == 0   ? tern_add(t, other)
                : i % 3 == 1 ? tern_relu(t)
                             : tern_concat(2, (tern_tensor *[]){other, t}, 0);
        CHECK_STR(tern_message_of(t), expected);
        CHECK_STATUS(tern_eval(t), TERN_SHAPE);
        CHECK_STR(tern_last_error(), expected);
        CHECK(tern_data_f32(t) == NULL);
        tern_tensor *values, *indices;
        tern_topk(t, 1, -1, true, &values, &indices);
        CHECK_STR(tern_message_of(indices), expected);
        CHECK_STATUS(tern_add_(other, t), TERN_SHAPE);
    }
    tern_ctx_destroy(ctx);
}

TEST(null_and_foreign_operands_are_errors)
{
    tern_ctx *ctx = open_ctx(), *other = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 1, (float[]){1});
        CHECK_STATUS(tern_status_of(tern_add(a, NULL)), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_status_of(tern_add(NULL, a)), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_status_of(tern_relu(NULL)), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_status_of(tern_zeros(NULL, TERN_F32, SHAPE(2))), TERN_INVALID_ARGUMENT);
        tern_tensor *b = floats(other, 1, (float[]){1});
        CHECK_STATUS(tern_status_of(tern_add(a, b)), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_eval_all(2, (tern_tensor *[]){a, b}), TERN_INVALID_ARGUMENT);
        CHECK_STATUS(tern_eval(NULL), TERN_INVALID_ARGUMENT);
        tern_release(b);
    }
    tern_ctx_destroy(ctx);
    tern_ctx_destroy(other);
}

TEST(inputs_without_data_cannot_be_evaluated)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, SHAPE(2));
        tern_tensor *y = tern_relu(x);
        CHECK_STATUS(tern_eval(y), TERN_STATE);
        CHECK(strstr(tern_last_error(), "'x'") != NULL);
        CHECK_STATUS(tern_eval(x), TERN_STATE);
    }
    tern_ctx_destroy(ctx);
}

TEST(state_updates_alias_and_old_readers_run_first)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *s0 = tern_state(ctx, "cache", TERN_F32, SHAPE(4));
        const float *where = tern_data_f32(s0);
        tern_tensor *old = tern_add(s0, tern_scalar(ctx, TERN_F32, 0.5));
        tern_tensor *at = tern_from_data(ctx, TERN_I64, SHAPE(1), (int64_t[]){1});
        tern_tensor *s1 = tern_write_slice(s0, floats(ctx, 2, (float[]){7, 8}), at);
        tern_tensor *fresh = tern_mul(s1, tern_scalar(ctx, TERN_F32, 2));
        CHECK(holds(fresh, 4, (float[]){0, 14, 16, 0}));
        CHECK(holds(old, 4, (float[]){0.5f, 0.5f, 0.5f, 0.5f})); /* was evaluated before the write */
        CHECK_OK(tern_eval(s1));
        CHECK(tern_data_f32(s1) == where);
        /* the old handle is spent */
        CHECK_STATUS(tern_status_of(tern_relu(s0)), TERN_STATE);
        tern_tensor *out_of_range = tern_from_data(ctx, TERN_I64, SHAPE(1), (int64_t[]){3});
        tern_tensor *s2 = tern_write_slice(s1, floats(ctx, 2, (float[]){1, 1}), out_of_range);
        CHECK_STATUS(tern_eval(s2), TERN_OUT_OF_RANGE);
    }
    tern_ctx_destroy(ctx);
}

TEST(one_graph_reads_a_state_before_and_after_its_update)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
        tern_tensor *view = tern_narrow(s0, 0, 0, 1);
        tern_tensor *old = tern_add(view, tern_scalar(ctx, TERN_F32, 1));
        tern_tensor *at = tern_from_data(ctx, TERN_I64, SHAPE(1), (int64_t[]){0});
        tern_tensor *s1 = tern_write_slice(s0, floats(ctx, 2, (float[]){5, 6}), at);
        tern_tensor *sum = tern_add(s1, old); /* needs both */
        CHECK(holds(sum, 2, (float[]){6, 7}));
    }
    tern_ctx_destroy(ctx);
}

TEST(a_write_happens_once_and_old_readers_keep_the_old_value)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *at = tern_zeros(ctx, TERN_I64, SHAPE(1)), *one = tern_scalar(ctx, TERN_F32, 1);
        tern_tensor *s0 = tern_state(ctx, "s", TERN_F32, SHAPE(2));
        tern_tensor *s1 = tern_write_slice(s0, tern_add(s0, one), at);
        tern_tensor *y = tern_mul(s1, tern_scalar(ctx, TERN_F32, 10)), *z = tern_neg(s1);
        CHECK(holds(y, 2, (float[]){10, 10}));
        CHECK(holds(z, 2, (float[]){-1, -1}));
        CHECK(holds(s1, 2, (float[]){1, 1}));
        tern_tensor *old = tern_add(s1, s1);
        tern_tensor *s2 = tern_write_slice(s1, tern_add(tern_mul(old, old), one), at);
        CHECK(holds(s2, 2, (float[]){5, 5}));
        CHECK(holds(old, 2, (float[]){2, 2}));
        tern_tensor *s3 = tern_write_slice(s2, tern_add(s2, one), at);
        tern_tensor *s4 = tern_write_slice(s3, tern_add(s3, one), at);
        CHECK(holds(s4, 2, (float[]){7, 7}));
        tern_tensor *s5 = tern_write_slice(s4, tern_add(s4, one), at);
        CHECK(holds(s5, 2, (float[]){8, 8}));
    }
    tern_ctx_destroy(ctx);
}

TEST(several_results_live_and_die_separately)
{
    tern_ctx *ctx = open_ctx();
    tern_tensor *x = floats(ctx, 4, (float[]){3, 1, 4, 2}), *values, *indices;
    tern_topk(x, 2, -1, true, &values, &indices);
    CHECK_OK(tern_eval(values));
    CHECK(holds(values, 2, (float[]){4, 3}));
    CHECK(!tern_is_evaluated(indices));
    tern_tensor *both = tern_add(tern_cast(indices, TERN_F32), values);
    CHECK(holds(both, 2, (float[]){6, 3}));
    CHECK_EQ(tern_data_i64(indices)[0], 2);
    tern_tensor *parts[3];
    tern_split(x, 3, (int64_t[]){1, 2, 1}, 0, parts);
    CHECK(holds(parts[1], 2, (float[]){1, 4}));
    for (int i = 0; i < 3; i++)
        tern_release(parts[i]);
    tern_release(values);
    tern_release(indices);
    tern_release(both);
    tern_release(x);
    tern_ctx_destroy(ctx);
}

TEST(strided_data_is_copied_once_and_refreshed_after_writes)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_reshape(floats(ctx, 4, (float[]){1, 2, 3, 4}), SHAPE(2, 2));
        tern_tensor *t = tern_transpose(a, 0, 1);
        const float *first = tern_data_f32(t);
        CHECK(first == tern_data_f32(t));
        CHECK(holds(t, 4, (float[]){1, 3, 2, 4}));
        CHECK_OK(tern_fill_(a, 9));
        CHECK(holds(t, 4, (float[]){9, 9, 9, 9}));
    }
    tern_ctx_destroy(ctx);
}

static int drops;
static void count_drop(void *user, void *data)
{
    (void)user, (void)data;
    drops++;
}

TEST(borrowed_memory_is_used_in_place_and_given_back)
{
    tern_ctx *ctx = open_ctx();
    float mine[4] = {1, 2, 3, 4};
    drops = 0;
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_borrow(ctx, TERN_F32, SHAPE(2), (int64_t[]){2}, mine, count_drop, NULL);
        CHECK(holds(a, 2, (float[]){1, 3}));
        CHECK_OK(tern_fill_(a, 0));
        CHECK(mine[0] == 0 && mine[1] == 2 && mine[2] == 0);
        CHECK_EQ(drops, 0);
    }
    CHECK_EQ(drops, 1);
    tern_tensor *bad = tern_borrow(ctx, TERN_F32, SHAPE(-1), NULL, mine, count_drop, NULL);
    CHECK(tern_status_of(bad) != TERN_OK);
    CHECK_EQ(drops, 1);
    tern_ctx_destroy(ctx);
}

TEST(batch_layout_packs_tensors_side_by_side)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *in[3], *out[3], *batch;
        for (int i = 0; i < 3; i++)
            in[i] = tern_full(ctx, TERN_F32, SHAPE(2), i);
        CHECK_OK(tern_batch_layout(3, in, &batch, out));
        CHECK(holds(batch, 6, (float[]){0, 0, 1, 1, 2, 2}));
        CHECK(tern_data_f32(out[2]) == tern_data_f32(batch) + 4);
        CHECK_OK(tern_fill_(out[1], 5));
        CHECK(holds(batch, 6, (float[]){0, 0, 5, 5, 2, 2}));
    }
    tern_ctx_destroy(ctx);
}

TEST(programs_run_with_bound_inputs_and_own_their_states)
{
    tern_ctx *ctx = open_ctx();
    tern_program *program = NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, SHAPE(2));
        tern_tensor *s = tern_state(ctx, "total", TERN_F32, SHAPE(2));
        tern_tensor *total = tern_overwrite(s, tern_add(s, x));
        tern_tensor *y = tern_mul(total, tern_scalar(ctx, TERN_F32, 10));
        CHECK_OK(tern_compile(ctx, 2, (tern_tensor *[]){y, total}, (const char *[]){"y", "total"}, NULL,
                              &program));
    }
    tern_program_info info;
    tern_program_get_info(program, &info);
    CHECK_EQ(info.n_inputs, 1);
    CHECK_EQ(info.n_outputs, 2);
    tern_port port;
    CHECK_OK(tern_program_output(program, 0, &port));
    CHECK_STR(port.name, "y");
    tern_exec *a, *b;
    CHECK_OK(tern_exec_create(ctx, program, &a));
    CHECK_OK(tern_exec_create(ctx, program, &b));
    TERN_SCOPE(ctx) {
        tern_tensor *in = floats(ctx, 2, (float[]){1, 2}), *out[2];
        CHECK_OK(tern_exec_run(a, 1, &in, 2, out));
        CHECK(holds(out[0], 2, (float[]){10, 20}));
        CHECK_OK(tern_exec_run(a, 1, &in, 2, out));
        CHECK(holds(out[0], 2, (float[]){20, 40}));
        CHECK_OK(tern_exec_run(b, 1, &in, 2, out));
        CHECK(holds(out[0], 2, (float[]){10, 20}));
        tern_tensor *wrong = floats(ctx, 3, (float[]){1, 2, 3});
        CHECK_STATUS(tern_exec_run(a, 1, &wrong, 2, out), TERN_SHAPE);
        CHECK_STATUS(tern_exec_run(a, 0, NULL, 2, out), TERN_INVALID_ARGUMENT);
    }
    tern_exec_free(a);
    tern_exec_free(b);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

TEST(a_chain_shares_two_buffers)
{
    tern_ctx *ctx = open_ctx();
    tern_program *program = NULL;
    TERN_SCOPE(ctx) {
        tern_tensor *t = tern_input(ctx, "x", TERN_F32, SHAPE(1024));
        for (int i = 0; i < 20; i++)
            t = tern_add(t, tern_scalar(ctx, TERN_F32, i));
        tern_compile_options options = tern_compile_options_default();
        options.level = TERN_LEVEL_NONE;
        CHECK_OK(tern_compile(ctx, 1, &t, NULL, &options, &program));
    }
    tern_program_info info;
    tern_program_get_info(program, &info);
    CHECK_EQ(info.steps, 40);
    CHECK(info.naive_bytes >= 19 * 4096);
    CHECK(info.arena_bytes <= 2 * 4096 + 2 * 64);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
}

TEST(ops_by_name)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_reshape(floats(ctx, 6, (float[]){0, 1, 2, 3, 4, 5}), SHAPE(2, 3)), *y;
        tern_apply(ctx, "sum", "axes=[1] keepdims=true", 1, &x, 1, &y);
        CHECK(holds(y, 2, (float[]){3, 12}));
        CHECK_EQ(tern_rank(y), 2);
        tern_apply(ctx, "summ", NULL, 1, &x, 1, &y);
        CHECK_STATUS(tern_status_of(y), TERN_NOT_FOUND);
        tern_apply(ctx, "sum", "axis=3", 1, &x, 1, &y);
        CHECK(tern_status_of(y) != TERN_OK);
        tern_tensor *many[4];
        tern_apply(ctx, "topk", "k=2", 1, &x, 4, many);
        CHECK_STATUS(tern_status_of(many[3]), TERN_INVALID_ARGUMENT);
    }
    tern_ctx_destroy(ctx);
}

TEST(releasing_what_a_scope_owns_is_ignored)
{
    tern_ctx *ctx = open_ctx();
    TERN_SCOPE(ctx) {
        tern_tensor *a = floats(ctx, 1, (float[]){1});
        tern_release(a); /* not kept: belongs to the scope */
        CHECK(holds(a, 1, (float[]){1}));
    }
    tern_scope_close(ctx); /* none open: nothing happens */
    tern_ctx_destroy(ctx);
}

TEST(bad_context_options)
{
    tern_ctx_options options = tern_ctx_options_default();
    tern_ctx *ctx = NULL;
    options.threads = -1;
    CHECK_STATUS(tern_ctx_create(&options, &ctx), TERN_INVALID_ARGUMENT);
    options.threads = 1;
    options.cpu = "pentium";
    CHECK_STATUS(tern_ctx_create(&options, &ctx), TERN_NOT_FOUND);
    CHECK(ctx == NULL);
}

/* test_results.c - what comes out: statuses of failed reads, results of programs that lie in their inputs, and writes
 * whose operands or readers reach the target by way of views. */
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

static tern_ctx *open_ctx(void)
{
    tern_ctx *ctx = NULL;
    return tern_ctx_create(NULL, &ctx) == TERN_OK ? ctx : NULL;
}

TEST(reading_says_why_the_evaluation_failed)
{
    tern_ctx *ctx = open_ctx();
    CHECK(ctx != NULL);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_zeros(ctx, TERN_F32, 1, (int64_t[]){3});
        tern_tensor *at = tern_from_data(ctx, TERN_I32, 1, (int64_t[]){1}, (int32_t[]){7});
        tern_tensor *y = tern_gather(x, at, 0);
        float out = 5;
        CHECK_STATUS(tern_read(y, &out, sizeof out), TERN_OUT_OF_RANGE);
        CHECK(strncmp(tern_last_error(), "gather", 6) == 0);
        CHECK(out == 5);

        tern_tensor *in = tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){1}), *result = NULL;
        tern_tensor *doubled = tern_add(in, in);
        tern_program *program = NULL;
        tern_exec *exec = NULL;
        CHECK_OK(tern_compile(ctx, 1, &doubled, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        CHECK_STATUS(tern_exec_run(exec, 1, &y, 1, &result), TERN_OUT_OF_RANGE);
        CHECK(result == NULL);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_result_does_not_lie_in_the_private_copy_of_a_strided_input)
{
    tern_ctx *ctx = open_ctx();
    CHECK(ctx != NULL);
    TERN_SCOPE(ctx) {
        tern_tensor *in = tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){2}), *result = NULL;
        tern_tensor *column = tern_reshape(in, 2, (int64_t[]){2, 1});
        tern_program *program = NULL;
        tern_exec *exec = NULL;
        CHECK_OK(tern_compile(ctx, 1, &column, NULL, NULL, &program));
        CHECK_OK(tern_exec_create(ctx, program, &exec));

        tern_tensor *base = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){4}, (float[]){1, 2, 3, 4});
        tern_tensor *odd = tern_slice(base, 1, (int64_t[]){0}, (int64_t[]){4}, (int64_t[]){2});
        CHECK_OK(tern_exec_run(exec, 1, &odd, 1, &result));
        CHECK_OK(tern_fill_(result, 9));
        const float *data = tern_data_f32(odd);
        CHECK(data[0] == 1 && data[1] == 3);
        data = tern_data_f32(result);
        CHECK(data[0] == 9 && data[1] == 9);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    tern_ctx_destroy(ctx);
}

TEST(an_operand_that_lies_in_the_target_is_read_before_the_write)
{
    tern_ctx *ctx = open_ctx();
    CHECK(ctx != NULL);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_I32, 2, (int64_t[]){2, 2}, (int32_t[]){1, 2, 3, 4});
        CHECK_OK(tern_assign(tern_transpose(x, 0, 1), x));
        const int32_t *data = tern_data_i32(x);
        CHECK(data[0] == 1 && data[1] == 3 && data[2] == 2 && data[3] == 4);

        tern_tensor *y = tern_from_data(ctx, TERN_I32, 1, (int64_t[]){4}, (int32_t[]){1, 2, 3, 4});
        CHECK_OK(tern_assign(tern_narrow(y, 0, 1, 4), tern_narrow(y, 0, 0, 3)));
        data = tern_data_i32(y);
        CHECK(data[0] == 1 && data[1] == 1 && data[2] == 2 && data[3] == 3);

        tern_tensor *s = tern_state(ctx, "s", TERN_I32, 1, (int64_t[]){4});
        CHECK_OK(tern_assign(s, y));
        tern_tensor *at = tern_from_data(ctx, TERN_I32, 1, (int64_t[]){1}, (int32_t[]){1});
        data = tern_data_i32(tern_write_slice(s, tern_narrow(s, 0, 0, 3), at));
        CHECK(data[0] == 1 && data[1] == 1 && data[2] == 1 && data[3] == 2);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_parsed_graph_that_writes_over_its_operand_is_refused)
{
    static const char text[] = "graph {\n"
                               "  %s = state \"s\" i32[2,2]\n"
                               "  %0 = permute(%s) {axes=[1,0]} : i32[2,2]\n"
                               "  %1 = overwrite(%s, %0) : i32[2,2]\n"
                               "  return %1\n"
                               "}\n";
    tern_ctx *ctx = open_ctx();
    tern_graph *graph = NULL;
    tern_program *program = NULL;
    CHECK_OK(tern_graph_parse(ctx, text, sizeof text - 1, &graph));
    CHECK_STATUS(tern_graph_compile(ctx, graph, NULL, &program), TERN_UNSUPPORTED);
    CHECK(strstr(tern_last_error(), "overwrite: operand 1 lies in the target") != NULL);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
}

TEST(readers_of_a_pending_view_see_the_value_before_the_write)
{
    tern_ctx *ctx = open_ctx();
    CHECK(ctx != NULL);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_I32, 1, (int64_t[]){2}, (int32_t[]){1, 2});
        tern_tensor *sum = tern_add(x, x), *view = tern_reshape(sum, 2, (int64_t[]){2, 1});
        tern_tensor *of_view = tern_mul(view, view);
        CHECK_OK(tern_fill_(sum, 7));
        const int32_t *data = tern_data_i32(of_view);
        CHECK(data[0] == 4 && data[1] == 16);
        CHECK(tern_data_i32(view)[1] == 7);
    }
    tern_ctx_destroy(ctx);
}

TEST(a_view_of_a_pending_copy_shares_storage_with_the_copy)
{
    tern_ctx *ctx = open_ctx();
    CHECK(ctx != NULL);
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_from_data(ctx, TERN_I32, 1, (int64_t[]){2}, (int32_t[]){1, 2});
        tern_tensor *many = tern_broadcast(tern_add(x, x), 2, (int64_t[]){3, 2});
        tern_tensor *copy = tern_reshape(many, 2, (int64_t[]){2, 3}); /* of a broadcast: no view */
        tern_tensor *view = tern_transpose(copy, 0, 1);
        CHECK_OK(tern_fill_(view, 7));
        bool shared = false;
        CHECK_OK(tern_shares_storage(copy, view, &shared));
        CHECK(shared);
        CHECK(tern_data_i32(copy)[5] == 7);
        CHECK(tern_data_i32(many)[5] == 4);
    }
    tern_ctx_destroy(ctx);
}

TEST(trimming_lets_released_weights_go)
{
    tern_ctx *ctx = NULL;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_pool_stats before, held, after;
    tern_pool_get_stats(tern_ctx_pool(ctx), &before);
    tern_tensor *w = tern_ones(ctx, TERN_F32, 2, (int64_t[]){512, 512});
    CHECK_OK(tern_freeze(w));
    tern_tensor *x = tern_ones(ctx, TERN_F32, 2, (int64_t[]){1, 512});
    tern_tensor *y = tern_matmul(x, w, false, false);
    CHECK(tern_data_f32(y) && tern_data_f32(y)[511] == 512);
    tern_release(w);
    tern_release(x);
    tern_pool_get_stats(tern_ctx_pool(ctx), &held);
    CHECK(held.current_bytes >=
          before.current_bytes + 512 * 512 * sizeof(float)); /* the compiled graph has it */
    tern_ctx_trim(ctx); /* pages that share a region with live blocks may stay with the pool */
    tern_pool_get_stats(tern_ctx_pool(ctx), &after);
    CHECK(after.current_bytes < before.current_bytes + 512 * 512 * sizeof(float));
    CHECK(tern_data_f32(y)[0] == 512); /* what is in use stays */
    tern_ctx_destroy(ctx);
}

/* test_null_arguments.c - every public function that is not an operation, with NULL for each pointer in turn: nothing
 * crashes, a status or a neutral value comes back, and outputs stay as they were. */
#include "null_arguments.h"

#include <unistd.h>

static const int64_t shape[] = {2};
static const float floats[] = {1, 2};
static tern_ctx *ctx;

static void set_up(void)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_scope_open(ctx);
}

static void tear_down(void)
{
    tern_scope_close(ctx);
    tern_ctx_destroy(ctx);
    ctx = NULL;
}

static tern_tensor *ones(void)
{
    return tern_ones(ctx, TERN_F32, 1, shape);
}

TEST(base)
{
    tern_alloc_set_gate(NULL, NULL);
    QUIET(tern_alloc_get_stats(NULL));
    tern_log_set(TERN_LOG_ERROR, NULL, NULL);
    CHECK_STR(tern_log_level_name(TERN_LOG_WARN), "warn");
    CHECK_STR(tern_log_level_name((tern_log_level)99), "unknown");
    CHECK(tern_version() != NULL && tern_build_commit() != NULL && tern_last_error() != NULL);
    CHECK_STR(tern_status_name((tern_status)99), "unknown");
    CHECK_STR(tern_limit_name((tern_limit_kind)99), "unknown");
    CHECK_STR(tern_status_meaning((tern_status)99), "unknown");
    CHECK_OK(tern_trace_start(NULL));
    CHECK(tern_trace_is_on());
    CHECK_OK(tern_trace_stop(NULL, NULL, NULL));
}

TEST(types)
{
    CHECK(tern_dtype_get(TERN_DTYPE_COUNT) == NULL);
    CHECK_STR(tern_dtype_name(TERN_DTYPE_COUNT), "invalid");
    REFUSED(tern_dtype_parse(NULL, &o.dtype));
    REFUSED(tern_dtype_parse("f32", NULL));
    REFUSED(tern_dtype_promote(TERN_F32, TERN_F32, NULL));
}

TEST(pools)
{
    tern_pool *pool;
    CHECK(tern_pool_options_default().small_max > 0);
    REFUSED(tern_pool_create(NULL, NULL));
    CHECK_OK(tern_pool_create(NULL, &pool));
    REFUSED(tern_pool_get(NULL, 8, 0, &o.block));
    REFUSED(tern_pool_get(pool, 8, 0, NULL));
    QUIET(tern_pool_put(NULL, &o));
    QUIET(tern_pool_put(pool, NULL));
    NEUTRAL(tern_pool_block_bytes(NULL, floats), 0);
    NEUTRAL(tern_pool_block_bytes(pool, NULL), 0);
    QUIET(tern_pool_get_stats(NULL, &o.pool_stats));
    QUIET(tern_pool_get_stats(pool, NULL));
    QUIET(tern_pool_get_fragmentation(NULL, &o.fragmentation));
    QUIET(tern_pool_get_fragmentation(pool, NULL));
    NEUTRAL(tern_pool_trim(NULL, 0), 0);
    NEUTRAL(tern_pool_defragment(NULL, 1), 0);
    QUIET(tern_pool_pressure(NULL, 1));
    QUIET(tern_pool_pressure(NULL, 2));
    tern_pool_destroy(pool);
    tern_pool_destroy(NULL);
}

TEST(catalogs)
{
    REFUSED(tern_catalog_op(0, NULL));
    REFUSED(tern_catalog_kernel(0, NULL));
    REFUSED(tern_catalog_pass(0, NULL));
    REFUSED(tern_catalog_device(0, NULL));
}

TEST(texts_of_units)
{
    CHECK_STR(tern_bytes_text(1, NULL, 8), "");
    CHECK_STR(tern_time_text(1, NULL, 8), "");
    CHECK_STR(tern_count_text(1, NULL, 8), "");
}

TEST(contexts)
{
    set_up();
    CHECK_EQ(tern_ctx_options_default().threads, 0);
    REFUSED(tern_ctx_create(NULL, NULL));
    tern_ctx_destroy(NULL);
    tern_ctx_set_stop(NULL, NULL, NULL);
    tern_ctx_set_building(NULL, NULL, NULL);
    NEUTRAL(tern_ctx_threads(NULL), 0);
    NEUTRAL(tern_ctx_trim(NULL), 0);
    NEUTRAL(tern_ctx_pool(NULL), NULL);
    QUIET(tern_ctx_get_stats(NULL, &o.ctx_stats));
    QUIET(tern_ctx_get_stats(ctx, NULL));
    tern_scope_open(NULL);
    tern_scope_close(NULL);
    NEUTRAL(tern_keep(NULL), NULL);
    tern_release(NULL);
    tern_scope_guard guard = tern_scope_guard_open(NULL);
    tern_scope_guard_close(&guard);
    tern_scope_guard_close(NULL);
    tear_down();
}

TEST(making)
{
    set_up();
    float own[2];
    TENSOR(tern_from_data(ctx, TERN_F32, 1, NULL, floats));
    TENSOR(tern_from_data(ctx, TERN_F32, 1, shape, NULL));
    TENSOR(tern_borrow(ctx, TERN_F32, 1, NULL, NULL, own, NULL, NULL));
    TENSOR(tern_borrow(ctx, TERN_F32, 1, shape, NULL, NULL, NULL, NULL));
    TENSOR(tern_input(ctx, NULL, TERN_F32, 1, shape));
    TENSOR(tern_input(ctx, "x", TERN_F32, 1, NULL));
    TENSOR(tern_constant(ctx, TERN_F32, 1, shape, NULL));
    TENSOR(tern_constant(ctx, TERN_F32, 1, shape, &(tern_constant_source){0}));
    TENSOR(tern_constant(NULL, TERN_F32, 1, shape, &(tern_constant_source){0}));
    TENSOR(tern_state(ctx, NULL, TERN_F32, 1, shape));
    TENSOR(tern_state(ctx, "s", TERN_F32, 1, NULL));
    TENSOR(tern_zeros(ctx, TERN_F32, 1, NULL));
    TENSOR(tern_ones(ctx, TERN_F32, 1, NULL));
    TENSOR(tern_from_data(NULL, TERN_F32, 1, shape, floats));
    TENSOR(tern_borrow(NULL, TERN_F32, 1, shape, NULL, own, NULL, NULL));
    TENSOR(tern_zeros(NULL, TERN_F32, 1, shape));
    TENSOR(tern_ones(NULL, TERN_F32, 1, shape));
    TENSOR(tern_scalar(NULL, TERN_F32, 1));
    TENSOR(tern_input(NULL, "x", TERN_F32, 1, shape));
    TENSOR(tern_state(NULL, "s", TERN_F32, 1, shape));
    REFUSED(tern_freeze(NULL));
    REFUSED(tern_watch(NULL));
    QUIET(tern_recompute_open(NULL));
    QUIET(tern_recompute_close(NULL));
    tern_tensor *x = tern_ones(ctx, TERN_F32, 0, NULL);
    REFUSED(tern_grad(NULL, 1, &x, &o.tensors[0]));
    REFUSED(tern_grad(x, 1, NULL, &o.tensors[0]));
    REFUSED(tern_grad(x, 1, &x, NULL));
    REFUSED(tern_grad(x, 1, (tern_tensor *[]){NULL}, &o.tensors[0]));
    tern_release(x);
    REFUSED(tern_name(NULL, "x"));
    REFUSED(tern_name(ones(), NULL));
    tear_down();
}

TEST(looking)
{
    NEUTRAL(tern_ctx_of(NULL), NULL);
    NEUTRAL(tern_dtype_of(NULL), TERN_DTYPE_COUNT);
    NEUTRAL(tern_rank(NULL), 0);
    CHECK(tern_shape(NULL) != NULL);
    NEUTRAL(tern_dim(NULL, 0), -1);
    NEUTRAL(tern_numel(NULL), 0);
    NEUTRAL(tern_nbytes(NULL), 0);
    CHECK_STR(tern_device_of(NULL), "none");
    CHECK_STR(tern_backend_of(NULL), "none");
    NEUTRAL(tern_status_of(NULL), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_message_of(NULL), "the tensor is NULL");
    NEUTRAL(tern_is_evaluated(NULL), false);
    NEUTRAL(tern_is_constant(NULL), false);
}

TEST(evaluating)
{
    set_up();
    tern_tensor *x = ones(), *list[] = {x, NULL};
    REFUSED(tern_eval(NULL));
    REFUSED(tern_eval_all(1, NULL));
    REFUSED(tern_eval_all(2, list));
    CHECK_OK(tern_eval_all(0, NULL));
    NEUTRAL(tern_data(NULL), NULL);
    NEUTRAL(tern_data_f32(NULL), NULL);
    NEUTRAL(tern_data_f64(NULL), NULL);
    NEUTRAL(tern_data_i8(NULL), NULL);
    NEUTRAL(tern_data_u8(NULL), NULL);
    NEUTRAL(tern_data_i32(NULL), NULL);
    NEUTRAL(tern_data_i64(NULL), NULL);
    NEUTRAL(tern_data_bool(NULL), NULL);
    REFUSED(tern_read(NULL, &o, sizeof o));
    REFUSED(tern_read(x, NULL, sizeof o));
    REFUSED(tern_shares_storage(NULL, x, &o.flag));
    REFUSED(tern_shares_storage(x, NULL, &o.flag));
    REFUSED(tern_shares_storage(x, x, NULL));
    REFUSED(tern_map(NULL, &o.block, o.ints));
    REFUSED(tern_map(x, NULL, o.ints));
    REFUSED(tern_map(x, &o.block, NULL));
    REFUSED(tern_batch_layout(2, NULL, &o.tensors[0], &o.tensors[1]));
    REFUSED(tern_batch_layout(2, list, &o.tensors[0], &o.tensors[1]));
    REFUSED(tern_batch_layout(1, list, NULL, &o.tensors[1]));
    REFUSED(tern_batch_layout(1, list, &o.tensors[0], NULL));
    tear_down();
}

TEST(views)
{
    TENSOR(tern_transpose(NULL, 0, 1));
    TENSOR(tern_squeeze(NULL, 0));
    TENSOR(tern_unsqueeze(NULL, 0));
    TENSOR(tern_narrow(NULL, 0, 0, 1));
}

TEST(writing)
{
    set_up();
    tern_tensor *x = ones();
    REFUSED(tern_assign(NULL, x));
    REFUSED(tern_assign(x, NULL));
    REFUSED(tern_add_(NULL, x));
    REFUSED(tern_add_(x, NULL));
    REFUSED(tern_sub_(NULL, x));
    REFUSED(tern_sub_(x, NULL));
    REFUSED(tern_mul_(NULL, x));
    REFUSED(tern_mul_(x, NULL));
    REFUSED(tern_div_(NULL, x));
    REFUSED(tern_div_(x, NULL));
    REFUSED(tern_fill_(NULL, 1));
    REFUSED(tern_apply_(NULL, "neg", NULL, 0, NULL));
    REFUSED(tern_apply_(x, NULL, NULL, 0, NULL));
    REFUSED(tern_apply_(x, "add", NULL, 1, NULL));
    CHECK_OK(tern_apply_(x, "neg", NULL, 0, NULL));
    CHECK_EQ(tern_data_f32(x)[0], -1); /* and the refused ones wrote nothing */
    tear_down();
}

TEST(applying)
{
    set_up();
    tern_tensor *x = ones(), *none = NULL;
    ALLOWED(tern_apply(NULL, "neg", NULL, 1, &x, 1, o.tensors));
    CHECK_OK(tern_status_of(o.tensors[0])); /* the operand tells the context */
    ALLOWED(tern_apply(ctx, NULL, NULL, 1, &x, 1, o.tensors));
    CHECK_STATUS(tern_status_of(o.tensors[0]), TERN_INVALID_ARGUMENT);
    ALLOWED(tern_apply(ctx, "neg", NULL, 1, NULL, 1, o.tensors));
    CHECK_STATUS(tern_status_of(o.tensors[0]), TERN_INVALID_ARGUMENT);
    ALLOWED(tern_apply(NULL, "neg", NULL, 1, NULL, 1, o.tensors));
    CHECK_STATUS(tern_status_of(o.tensors[0]), TERN_INVALID_ARGUMENT);
    ALLOWED(tern_apply(ctx, "neg", NULL, 1, &none, 1, o.tensors));
    CHECK_STATUS(tern_status_of(o.tensors[0]), TERN_INVALID_ARGUMENT);
    QUIET(tern_apply(ctx, "neg", NULL, 1, &x, 1, NULL));
    QUIET(tern_apply(ctx, "no such op", NULL, 1, &x, 1, NULL));
    tear_down();
}

TEST(dlpack)
{
    set_up();
    tern_tensor *x = ones();
    struct DLManagedTensorVersioned *versioned;
    struct DLManagedTensor *managed;
    tern_tensor *back;
    CHECK_OK(tern_to_dlpack(x, &versioned));
    CHECK_OK(tern_to_dlpack_unversioned(x, &managed));
    REFUSED(tern_to_dlpack(NULL, &o.versioned));
    REFUSED(tern_to_dlpack(x, NULL));
    REFUSED(tern_to_dlpack_unversioned(NULL, &o.managed));
    REFUSED(tern_to_dlpack_unversioned(x, NULL));
    REFUSED(tern_from_dlpack(NULL, versioned, &o.tensors[0]));
    REFUSED(tern_from_dlpack(ctx, NULL, &o.tensors[0]));
    REFUSED(tern_from_dlpack(ctx, versioned, NULL));
    REFUSED(tern_from_dlpack_unversioned(NULL, managed, &o.tensors[0]));
    REFUSED(tern_from_dlpack_unversioned(ctx, NULL, &o.tensors[0]));
    REFUSED(tern_from_dlpack_unversioned(ctx, managed, NULL));
    CHECK_OK(tern_from_dlpack(ctx, versioned, &back));
    CHECK_OK(tern_from_dlpack_unversioned(ctx, managed, &back));
    tear_down();
}

TEST(files)
{
    set_up();
    char path[512];
    CHECK(harness_path(path, sizeof path, "null.npz"));
    tern_tensor *x = ones(), *none = NULL;
    const char *name = "x", *no_name = NULL;
    tern_npz *npz;
    REFUSED(tern_npy_load(NULL, path, &o.tensors[0]));
    REFUSED(tern_npy_load(ctx, NULL, &o.tensors[0]));
    REFUSED(tern_npy_load(ctx, path, NULL));
    REFUSED(tern_npy_map(NULL, path, &o.tensors[0]));
    REFUSED(tern_npy_map(ctx, NULL, &o.tensors[0]));
    REFUSED(tern_npy_map(ctx, path, NULL));
    REFUSED(tern_npy_save(NULL, path));
    REFUSED(tern_npy_save(x, NULL));
    REFUSED(tern_npy_convert(NULL, path, TERN_F32, 0));
    REFUSED(tern_npy_convert(path, NULL, TERN_F32, 0));
    REFUSED(tern_npz_save(NULL, 1, &name, &x));
    REFUSED(tern_npz_save(path, 1, NULL, &x));
    REFUSED(tern_npz_save(path, 1, &name, NULL));
    REFUSED(tern_npz_save(path, 1, &name, &none));
    REFUSED(tern_npz_save(path, 1, &no_name, &x));
    CHECK(access(path, F_OK) != 0);
    CHECK_OK(tern_npz_save(path, 1, &name, &x));
    REFUSED(tern_npz_open(NULL, &o.npz));
    REFUSED(tern_npz_open(path, NULL));
    CHECK_OK(tern_npz_open(path, &npz));
    NEUTRAL(tern_npz_count(NULL), 0);
    NEUTRAL(tern_npz_name(NULL, 0), NULL);
    REFUSED(tern_npz_find(NULL, "x", &o.number));
    REFUSED(tern_npz_find(npz, NULL, &o.number));
    REFUSED(tern_npz_find(npz, "x", NULL));
    REFUSED(tern_npz_map(NULL, npz, 0, &o.tensors[0]));
    REFUSED(tern_npz_map(ctx, NULL, 0, &o.tensors[0]));
    REFUSED(tern_npz_map(ctx, npz, 0, NULL));
    REFUSED(tern_npz_load(NULL, npz, 0, &o.tensors[0]));
    REFUSED(tern_npz_load(ctx, NULL, 0, &o.tensors[0]));
    REFUSED(tern_npz_load(ctx, npz, 0, NULL));
    tern_npz_close(npz);
    tern_npz_close(NULL);
    CHECK(unlink(path) == 0);
    tear_down();
}

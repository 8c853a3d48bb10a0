/* context.c - making and freeing contexts. */
#include "runtime/context.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/status.h"
#include "runtime/recover.h"
#include "runtime/calibration.h"

tern_ctx_options tern_ctx_options_default(void)
{
    return (tern_ctx_options){.pool = tern_pool_options_default()};
}

static const tern__evaluator evaluator = {.eval = tern__eval};

enum { MOST_THREADS = 1024 };

static tern_status device_options(const tern_ctx_options *options, tern__device_options *out)
{
    const tern__cpu_info *cpu = tern__cpu();
    TERN__FAIL_IF(options->threads < 0 || options->threads > MOST_THREADS, TERN_INVALID_ARGUMENT,
                  "context: threads is %d, must be 0 (automatic) to %d", options->threads, MOST_THREADS);
    out->threads = options->threads ? options->threads : cpu->cores_usable;
    out->isa_cap = (tern__isa_cap){.level = cpu->best};
    out->background = options->background;
    out->timings = NULL;
    const char *cap = options->cpu ? options->cpu : tern__env_cpu();
    if (cap && cap[0]) {
        tern_status status = tern__isa_cap_parse(cap, &out->isa_cap);
        if (status != TERN_OK)
            return tern__fail_in(status, options->cpu ? "context: option cpu" : "context: $TERN_CPU");
    }
    return TERN_OK;
}

/* "off" and "" keep nothing. */
static tern_status make_tuning(const tern_ctx_options *options, const tern__device_options *device,
                               tern__tuning **out)
{
    char buffer[4096];
    const char *path = options->tuning ? options->tuning : tern__env_tuning(buffer, sizeof buffer);
    return tern__tuning_create(strcmp(path, "off") == 0 ? NULL : path, device->threads, device->isa_cap, out);
}

/* How lazy evaluation compiles. What the context cannot do is said now, not when something is evaluated. */
static tern_status compile_options(tern_ctx *ctx, const tern_compile_options *options)
{
    TERN__FAIL_IF(options && options->threads > ctx->threads, TERN_INVALID_ARGUMENT,
                  "context: compile options ask for %d threads, it has %d", options->threads, ctx->threads);
    TERN__FAIL_IF(options && (options->batch.least || options->batch.most), TERN_INVALID_ARGUMENT,
                  "context: compile options have a range of batches, which is for programs");
    TERN_TRY(tern__check_device(ctx, options));
    return tern__compile_options_from(options, &ctx->compile);
}

/* All devices that were measured. Where there is nothing to choose by, the CPU computes, and the log says so. */
static tern_status open_auto(tern_ctx *ctx, const tern__device_options *device)
{
    tern__device_costs host;
    tern__auto_member members[TERN__AUTO_MOST];
    int n = 0;
    const char *missing = tern__calibration_members(ctx->tuning, device->isa_cap, &host, &n, members);
    if (!missing)
        TERN_TRY(tern__auto_create(device, ctx->target, &host, n, members, &ctx->device));
    if (ctx->device) {
        ctx->target = ctx->device_ops->target(ctx->device);
        return TERN_OK;
    }
    tern__log(TERN_LOG_WARN, "device 'auto': %s here with %d thread%s, so the CPU computes; %s",
              missing ? missing : "no device that was measured could be opened", ctx->threads,
              ctx->threads == 1 ? "" : "s",
              ctx->tuning && ctx->tuning->path
                  ? "`tern tune --devices` measures all"
                  : "measurements are neither kept nor read (TERN_TUNING, tern_ctx_options.tuning)");
    ctx->device_ops = ctx->host_ops;
    ctx->device = ctx->host;
    return TERN_OK;
}

/* The CPU, which is always there, and the device that was asked for. */
static tern_status open_devices(tern_ctx *ctx, const tern_ctx_options *options, tern__device_options *device)
{
    TERN_TRY(ctx->host_ops->create(device, &ctx->host));
    ctx->target = ctx->host_ops->target(ctx->host);
    if (ctx->device_ops == ctx->host_ops) {
        ctx->device = ctx->host;
        return TERN_OK;
    }
    char buffer[4096], user_cache[4096];
    device->timings = NULL;
    device->user_cache = tern__env_user_cache(user_cache, sizeof user_cache);
    device->cache = options->kernels ? options->kernels : tern__env_kernels(buffer, sizeof buffer);
    if (device->cache && (strcmp(device->cache, "off") == 0 || !device->cache[0]))
        device->cache = NULL;
    device->dump = options->dump_kernels;
    device->memory = options->device_memory;
    if (ctx->device_ops == &tern__device_auto)
        return open_auto(ctx, device);
    TERN_TRY(ctx->device_ops->create(device, &ctx->device));
    tern__mixed_init(&ctx->mixed, ctx->target, ctx->device_ops->target(ctx->device), options->fallback,
                     ctx->check);
    ctx->target = &ctx->mixed.target;
    return TERN_OK;
}

/* A device belongs to the thread of its context: it gives back when that runs something. */
static size_t ask_to_trim(void *self, int level)
{
    tern_ctx *ctx = self;
    int now = atomic_load_explicit(&ctx->trim_level, memory_order_relaxed);
    while (now < level && !atomic_compare_exchange_weak(&ctx->trim_level, &now, level))
        ;
    return 0;
}

size_t tern__trim_device(tern_ctx *ctx, int level)
{
    return ctx->device != ctx->host && !ctx->lost && ctx->device_ops->trim
               ? ctx->device_ops->trim(ctx->device, level)
               : 0;
}

tern_status tern_ctx_create(const tern_ctx_options *options, tern_ctx **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "context: out is NULL");
    tern_ctx_options defaults = tern_ctx_options_default();
    if (!options)
        options = &defaults;
    tern__device_options device = {.setting = tern__env_setting, .switched = tern__env_switched};
    TERN_TRY(device_options(options, &device));
    tern_ctx *ctx = tern__alloc_zero(1, sizeof *ctx);
    if (!ctx)
        return tern__out_of_memory(sizeof *ctx);
    ctx->threads = device.threads;
    device.stop = &ctx->stop;
    device.building = &ctx->building;
    ctx->background = options->background;
    ctx->fallback = options->fallback;
    ctx->retries = options->retries == 0 ? TERN__USUAL_RETRIES : options->retries;
    ctx->check = options->check || tern__env_check();
    ctx->host_ops = tern__device_at(0);
    ctx->device_ops = ctx->host_ops;
    tern__graph_init(&ctx->graph);
    tern__arena_init(&ctx->arena, 0);
    tern_status status = TERN_OK;
    ctx->automatic = options->device && strcmp(options->device, TERN__DEVICE_AUTO) == 0;
    if (ctx->automatic) {
        ctx->device_ops = &tern__device_auto;
        ctx->fallback = true; /* whom `auto` chose was not asked for by name */
    } else if (options->device)
        status = tern__device_find(options->device, &ctx->device_ops);
    if (status == TERN_OK)
        status = compile_options(ctx, options->compile);
    if (status == TERN_OK)
        status = tern_pool_create(&options->pool, &ctx->pool);
    if (status == TERN_OK)
        status = make_tuning(options, &device, &ctx->tuning);
    device.pool = ctx->pool;
    device.timings = ctx->tuning ? &ctx->tuning->timings : NULL;
    if (status == TERN_OK)
        status = open_devices(ctx, options, &device);
    ctx->cache.device_ops = ctx->device_ops;
    ctx->cache.device = ctx->device;
    tern__recorder_init(&ctx->recorder, ctx->pool, &evaluator);
    if (status == TERN_OK && ctx->device != ctx->host && ctx->device_ops->trim) {
        ctx->trimmable = (tern__trimmable){.self = ctx, .trim = ask_to_trim};
        tern__trim_add(&ctx->trimmable);
    }
    if (status != TERN_OK) {
        tern_ctx_destroy(ctx);
        return status;
    }
    *out = ctx;
    return TERN_OK;
}

void tern_ctx_destroy(tern_ctx *ctx)
{
    if (!ctx)
        return;
    if (ctx->trimmable.self)
        tern__trim_remove(&ctx->trimmable);
    tern__recorder_clear(&ctx->recorder);
    tern__program_cache_clear(&ctx->cache);
    tern__compile_options_drop(&ctx->compile);
    tern__graph_clear(&ctx->graph);
    tern__arena_free(&ctx->arena);
    tern__free(ctx->roots);
    if (ctx->device && ctx->device != ctx->host)
        ctx->device_ops->destroy(ctx->device);
    ctx->host_ops->destroy(ctx->host);
    tern__tuning_free(ctx->tuning);
    tern_pool_destroy(ctx->pool); /* storages that outlive us (exports, programs) keep it alive */
    tern__free(ctx);
}

void tern_ctx_set_stop(tern_ctx *ctx, tern_stop_asked asked, void *user)
{
    if (ctx)
        ctx->stop = (tern__stop){asked, user};
}

void tern_ctx_set_building(tern_ctx *ctx, tern_building_told told, void *user)
{
    if (ctx)
        ctx->building = (tern__building){told, user};
}

void tern_ctx_limit_threads(tern_ctx *ctx, int most)
{
    if (ctx)
        atomic_store_explicit(&ctx->most_threads, most > 0 ? most : 0, memory_order_relaxed);
}

tern_status tern_thread_background(void)
{
    return tern__thread_background();
}

int tern_ctx_threads(const tern_ctx *ctx)
{
    return ctx ? ctx->threads : 0;
}

tern_pool *tern_ctx_pool(tern_ctx *ctx)
{
    return ctx ? ctx->pool : NULL;
}

size_t tern_ctx_trim(tern_ctx *ctx)
{
    if (!ctx)
        return 0;
    tern__program_cache_clear(&ctx->cache);
    const size_t given = tern__trim_device(ctx, TERN__TRIM_ALL);
    return given + tern_pool_trim(ctx->pool, 0);
}

void tern_ctx_get_stats(const tern_ctx *ctx, tern_ctx_stats *out)
{
    if (!ctx || !out)
        return;
    *out = ctx->stats;
    out->nodes_live = ctx->recorder.n_nodes;
    out->cache_hits = ctx->cache.hits;
    out->cache_misses = ctx->cache.misses;
    out->cache_evictions = ctx->cache.evictions;
    out->cache_entries = ctx->cache.entries;
}

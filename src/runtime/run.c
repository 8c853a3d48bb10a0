/* run.c - gives a plan its memory and has it carried out. */
#include "runtime/run.h"

#include "base/clock.h"
#include "base/status.h"
#include "runtime/recover.h"
#include "runtime/watch_plan.h"
#include "tensor/pool.h"

bool tern__run_init(tern__run *run, tern__arena *arena)
{
    run->blocks = tern__arena_alloc_zero(arena, run->plan->n_blocks, sizeof *run->blocks);
    run->pointers = tern__arena_alloc_zero(arena, run->plan->n_blocks, sizeof *run->pointers);
    run->given = tern__arena_alloc_zero(arena, run->plan->n_blocks, sizeof *run->given);
    return run->blocks && run->pointers && run->given;
}

/* The old block goes first, so that there are never two. */
static tern_status reserve(tern_ctx *ctx, const tern__run *run, tern__room *room)
{
    const tern__plan *plan = run->plan;
    const bool moved = run->loaded && run->loaded->moved && run->loaded->host.steps;
    const size_t bytes = moved ? run->loaded->host.arena_bytes : plan->arena_bytes;
    if (bytes <= room->bytes)
        return TERN_OK;
    tern_pool_put(ctx->pool, room->block);
    *room = (tern__room){0};
    const uint64_t scope = tern__watch_arena(plan);
    tern_status status = tern__pool_get(ctx->pool, bytes, 0, &room->block);
    tern__watch_leave(scope);
    if (status == TERN_OK)
        room->bytes = bytes;
    return status;
}

tern_status tern__run_load(tern_ctx *ctx, tern__run *run)
{
    bool wanted = false;
    for (uint32_t i = 0; i < run->plan->n_partitions; i++)
        wanted = wanted || run->plan->partitions[i].on_device;
    return wanted && !run->loaded ? tern__loaded_make(ctx, run->plan, run->graph, &run->loaded) : TERN_OK;
}

void tern__run_forget(tern_ctx *ctx, tern__run *run)
{
    tern__loaded_free(ctx->device_ops, ctx->device, run->loaded);
    run->loaded = NULL;
}

bool tern__run_copies_inputs(const tern_ctx *ctx, const tern__run *run)
{
    const tern__device_ops *ops = ctx->device_ops;
    return run->loaded && !run->loaded->moved && !tern__is_lost(ctx, run->plan) && ops->stage &&
           ops->copies_inputs(ctx->device, run->loaded->code);
}

tern_status tern__run_stage(tern_ctx *ctx, const tern__run *run, uint32_t leaf, const void *host,
                            uint64_t version)
{
    if (version == 0 || !tern__run_copies_inputs(ctx, run))
        return TERN_OK;
    return ctx->device_ops->stage(ctx->device, run->loaded->plan, run->loaded->code, leaf, host, version);
}

static tern_status run_partition(tern_ctx *ctx, tern__run *run, uint32_t i, tern__room *room,
                                 tern__bindings *bindings)
{
    const tern__partition *part = &run->plan->partitions[i];
    return part->on_device ? tern__recover_run(ctx, run->loaded, i, room, bindings, &run->n_done)
                           : ctx->host_ops->run(ctx->host, run->plan, NULL, part, bindings, &run->n_done);
}

/* Blocks that the device gave take the place of those that it was offered. */
static tern_status take_given(tern__run *run)
{
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < run->plan->n_blocks; i++) {
        const tern__given given = run->given[i];
        tern__storage *storage;
        run->given[i] = (tern__given){0};
        if (!given.host)
            continue;
        const tern_status borrowed = tern__storage_borrow(given.host, run->plan->block_bytes[i], false,
                                                          given.drop, given.user, &storage);
        if (borrowed != TERN_OK) {
            given.drop(given.user, given.host, run->plan->block_bytes[i]);
            status = borrowed;
            continue;
        }
        tern__storage_release(run->blocks[i]);
        run->blocks[i] = storage;
        run->pointers[i] = storage->host;
    }
    return status;
}

/* What was predicted stands beside what it took. */
static void note_time(tern_ctx *ctx, tern__run *run, uint32_t i, uint64_t ns)
{
    const tern__partition *part = &run->plan->partitions[i];
    if (run->part_ns)
        run->part_ns[i] = ns;
    if (part->predicted_ns < 0)
        return;
    ctx->stats.predicted_ns += (uint64_t)part->predicted_ns;
    ctx->stats.measured_ns += ns;
}

/* Partition after partition. */
static tern_status run_partitions(tern_ctx *ctx, tern__run *run, tern__room *room, tern__bindings *bindings)
{
    const tern__plan *plan = run->plan;
    TERN_TRY(tern__run_load(ctx, run));
    for (uint32_t i = 0; i < plan->n_partitions; i++) {
        const tern__partition *part = &plan->partitions[i];
        const bool timed = run->part_ns || part->predicted_ns >= 0;
        const uint64_t start = timed ? tern__now_ns() : 0;
        bindings->transfer = run->transfers ? &run->transfers[i] : NULL;
        if (bindings->transfer) /* the CPU has nowhere to copy to */
            *bindings->transfer = (tern__transfer){.told = !part->on_device};
        TERN_TRY(run_partition(ctx, run, i, room, bindings));
        if (part->on_device)
            TERN_TRY(take_given(run));
        if (timed)
            note_time(ctx, run, i, tern__now_ns() - start);
        /* What `auto` planned for the CPU is no fallback, but what the CPU took over is. */
        if (part->on_device && !run->loaded->moved)
            ctx->stats.device_steps += part->end - part->first;
        else if (part->on_device || (ctx->device != ctx->host && !ctx->automatic))
            ctx->stats.fallback_steps += part->end - part->first;
    }
    return TERN_OK;
}

static tern_status carry_out(tern_ctx *ctx, tern__run *run)
{
    const tern__plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->n_blocks; i++) {
        const uint64_t scope = tern__watch_block(plan, i);
        tern_status status = tern__storage_create(ctx->pool, plan->block_bytes[i], 0, &run->blocks[i]);
        tern__watch_leave(scope);
        if (status != TERN_OK)
            return status;
        run->pointers[i] = run->blocks[i]->host;
    }
    tern__room own = {0}, *room = run->room ? run->room : &own;
    TERN_TRY(reserve(ctx, run, room));
    tern__bindings bindings = {.leaves = run->leaves,
                               .versions = run->versions,
                               .blocks = run->pointers,
                               .given = ctx->check ? NULL : run->given,
                               .arena = room->block,
                               .step_ns = run->step_ns,
                               .stop = ctx->stop,
                               .workers = atomic_load_explicit(&ctx->most_threads, memory_order_relaxed)};
    tern_status status = run->probe ? run->probe->run(run->probe, &bindings, &run->n_done)
                                    : run_partitions(ctx, run, room, &bindings);
    tern_pool_put(ctx->pool, own.block);
    return status;
}

tern_status tern__run_plan(tern_ctx *ctx, tern__run *run)
{
    const tern__plan *plan = run->plan;
    run->n_done = 0;
    if (TERN__UNLIKELY(atomic_load_explicit(&ctx->trim_level, memory_order_relaxed) != 0))
        tern__trim_device(ctx, atomic_exchange(&ctx->trim_level, 0));
    const uint64_t scope = tern__watch_run_begin(plan);
    tern_status status = carry_out(ctx, run);
    tern__watch_run_end(plan, scope);
    if (status != TERN_OK)
        return status;
    ctx->stats.evaluations++;
    ctx->stats.steps += plan->n_steps;
    ctx->stats.fused_ops += plan->fused_ops;
    ctx->stats.single_ops += plan->single_ops;
    if (plan->arena_bytes > ctx->stats.arena_peak_bytes)
        ctx->stats.arena_peak_bytes = plan->arena_bytes;
    return TERN_OK;
}

void tern__run_finish(tern__run *run)
{
    for (uint32_t i = 0; i < run->plan->n_blocks; i++) {
        tern__storage_release(run->blocks[i]);
        run->blocks[i] = NULL;
    }
}

tern__storage *tern__leaf_storage(const tern__leaf *leaf, tern__storage *const *storages)
{
    return leaf->source == TERN__NO_ID ? leaf->storage : storages[leaf->source];
}

void *tern__leaf_address(const tern_graph *graph, const tern__leaf *leaf, const tern__storage *storage,
                         int64_t offset)
{
    tern_dtype dtype = graph->values[graph->nodes[leaf->node].out].type.dtype;
    return (char *)storage->host + offset * (int64_t)tern__dtype_unit_bytes(dtype);
}

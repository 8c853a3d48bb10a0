/* recover.c - failures of a device: which there are, what is done about them, and who is told.
 *
 * A failure that may pass is tried again, a few times. What is left is an error, or the CPU takes over, as the context's options
 * say: the plan's own steps with the CPU's kernels (standby.c), from the border of the partition that failed. A lost device is not
 * asked again: what is compiled from then on is for the others of `auto`, or for the CPU. */
#include "runtime/recover.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"
#include "tensor/pool.h"

/* What a status of a device's means. Others are about the program or its data, and are returned as they are. */
typedef struct failure_row {
    tern_status status;
    bool may_pass;    /* trying again may help */
    bool lost;        /* the device is gone */
    tern_status told; /* what the caller gets */
} failure_row;

static const failure_row failures[] = {
    {TERN_OUT_OF_MEMORY, true, false, TERN_OUT_OF_MEMORY}, /* caches were emptied meanwhile */
    {TERN_LIMIT, true, false, TERN_LIMIT},
    {TERN_IO, true, false, TERN_UNAVAILABLE},
    {TERN_INTERNAL, true, false, TERN_UNAVAILABLE},
    {TERN_UNSUPPORTED, false, false, TERN_UNSUPPORTED},
    {TERN_UNAVAILABLE, false, true, TERN_UNAVAILABLE},
};

static const failure_row *row_of(tern_status status)
{
    for (size_t i = 0; i < TERN__COUNT(failures); i++)
        if (failures[i].status == status)
            return &failures[i];
    return NULL;
}

/* ---- telling ---- */

bool tern_ctx_device_error(const tern_ctx *ctx, tern_device_error *out)
{
    const bool any = ctx && ctx->device_error.device;
    if (any && out)
        *out = ctx->device_error;
    return any;
}

tern_status tern__failure_note(tern_ctx *ctx, const tern__failure *f, bool *taken_over)
{
    const failure_row *row = row_of(f->status);
    const char *op = f->step ? f->step->label : "a plan";
    char tries[32] = "";
    if (f->tries > 1)
        snprintf(tries, sizeof tries, " (%d times)", f->tries);
    *taken_over = ctx->fallback;
    ctx->device_error = (tern_device_error){.device = f->device,
                                            .doing = f->doing,
                                            .op = op,
                                            .step = f->step ? (int)f->number : -1,
                                            .status = f->status,
                                            .tries = f->tries,
                                            .taken_over = *taken_over};
    snprintf(ctx->device_error.cause, sizeof ctx->device_error.cause, "%s", f->cause);
    if (!*taken_over)
        return tern__fail(row ? row->told : f->status, "device '%s': %s of %s failed%s: %s", f->device,
                          f->doing, op, tries, f->cause);
    /* What ails the device may ail every program alike: said once, until it is something else. */
    const uint64_t said = tern__hash(f->cause, strlen(f->cause),
                                     tern__hash(op, strlen(op), tern__hash(f->doing, strlen(f->doing), 0)));
    if (said != ctx->said_failure)
        tern__log(TERN_LOG_WARN, "device '%s': %s of %s failed%s: %s; the CPU takes over", f->device,
                  f->doing, op, tries, f->cause);
    ctx->said_failure = said;
    return TERN_OK;
}

/* One more failure; true: it is worth another try. */
static bool try_again(tern_ctx *ctx, tern__failure *f, tern_status status)
{
    f->status = status;
    f->tries++;
    snprintf(f->cause, sizeof f->cause, "%s", tern_last_error());
    ctx->stats.device_failures++;
    const bool again = row_of(status)->may_pass && f->tries <= ctx->retries;
    if (again && (status == TERN_OUT_OF_MEMORY || status == TERN_LIMIT)) {
        tern__trim_device(ctx, TERN__TRIM_ALL);
        tern_pool_trim(ctx->pool, 0);
    }
    ctx->stats.device_retries += again;
    return again;
}

bool tern__is_lost(const tern_ctx *ctx, const tern__plan *plan)
{
    bool gone = ctx->lost;
    for (int i = 0; i < ctx->n_gone && !gone; i++)
        gone = strcmp(ctx->gone[i], plan->device) == 0;
    return gone;
}

/* What is compiled from now on goes without it: for the others that there are, else for the CPU. */
static void lose(tern_ctx *ctx, const char *name)
{
    if (ctx->n_gone < TERN__MOST_GONE)
        ctx->gone[ctx->n_gone++] = name;
    ctx->lost = !ctx->device_ops->lose || !ctx->device_ops->lose(ctx->device, name);
    ctx->target = ctx->lost ? ctx->host_ops->target(ctx->host) : ctx->device_ops->target(ctx->device);
    tern__log(
        TERN_LOG_WARN,
        ctx->lost
            ? "device '%s' is lost: everything runs on the CPU from now on"
            : "device '%s' is lost: the CPU runs what was compiled for it, and the others what is compiled "
              "from now on",
        name);
}

/* The device has failed for good, or for this plan. */
static tern_status give_up(tern_ctx *ctx, const tern__failure *f, tern__loaded *l)
{
    bool taken_over;
    TERN_TRY(tern__failure_note(ctx, f, &taken_over));
    l->moved = true;
    ctx->stats.device_moves++;
    if (row_of(f->status)->lost && !tern__is_lost(ctx, l->plan))
        lose(ctx, f->device);
    return TERN_OK;
}

/* ---- compiling ---- */

/* A partition for each step of the device's: what each computed reaches memory, where it can be looked at. */
static tern_status split(tern__loaded *l)
{
    l->single = *l->plan;
    l->single.n_partitions = 0;
    l->single.partitions = tern__arena_alloc(&l->arena, l->plan->n_steps * sizeof *l->single.partitions);
    if (!l->single.partitions)
        return tern__out_of_memory(l->plan->n_steps * sizeof *l->single.partitions);
    for (uint32_t s = 0; s < l->plan->n_steps; s++)
        l->single.partitions[l->single.n_partitions++] =
            (tern__partition){.first = s, .end = s + 1, .on_device = l->plan->steps[s].on_device};
    l->plan = &l->single;
    return TERN_OK;
}

static tern_status compile(tern_ctx *ctx, tern__loaded *l)
{
    tern__failure f = {.device = l->plan->device, .doing = "compile"};
    for (;;) {
        tern_status status =
            ctx->device_ops->compile ? ctx->device_ops->compile(ctx->device, l->plan, &l->code) : TERN_OK;
        if (status == TERN_OK || !row_of(status))
            return status;
        if (!try_again(ctx, &f, status))
            return give_up(ctx, &f, l);
    }
}

tern_status tern__loaded_make(tern_ctx *ctx, const tern__plan *plan, const tern_graph *graph,
                              tern__loaded **out)
{
    tern__loaded *l = tern__alloc_zero(1, sizeof *l);
    if (!l)
        return tern__out_of_memory(sizeof *l);
    l->given = l->plan = plan;
    l->graph = graph;
    l->moved = tern__is_lost(ctx, plan);
    tern__arena_init(&l->arena, 0);
    tern_status status = ctx->check ? split(l) : TERN_OK;
    if (status == TERN_OK)
        status = tern__hazards_find(l);
    if (status == TERN_OK && !l->moved)
        status = compile(ctx, l);
    if (status != TERN_OK) {
        tern__loaded_free(ctx->device_ops, ctx->device, l);
        return status;
    }
    *out = l;
    return TERN_OK;
}

void tern__loaded_free(const tern__device_ops *ops, tern__device *device, tern__loaded *l)
{
    if (!l)
        return;
    if (l->code)
        ops->forget(device, l->code);
    tern__hazards_free(l);
    tern__arena_free(&l->arena);
    tern__free(l);
}

/* ---- running ---- */

/* The CPU's kernels, and room for their scratch: what the steps before left in the arena stays. */
static tern_status make_standby(tern_ctx *ctx, tern__loaded *l, tern__room *room, tern__bindings *bindings)
{
    const tern_status status = tern__standby_make(ctx->host_ops->target(ctx->host), l);
    if (status != TERN_OK)
        return tern__fail_in(status, "the CPU cannot take over");
    if (room->bytes >= l->host.arena_bytes)
        return TERN_OK;
    void *larger;
    TERN_TRY(tern__pool_get(ctx->pool, l->host.arena_bytes, 0, &larger));
    if (l->plan->arena_bytes > 0)
        memcpy(larger, room->block, l->plan->arena_bytes);
    tern_pool_put(ctx->pool, room->block);
    *room = (tern__room){.block = larger, .bytes = l->host.arena_bytes};
    bindings->arena = larger;
    return TERN_OK;
}

/* Where a device has only the number of the step that failed: it says so by *n_done. */
static tern__failure failure_at(const tern__loaded *l, const tern__partition *part, uint32_t n_done)
{
    const uint32_t at = n_done >= part->first && n_done < part->end ? n_done : part->first;
    return (tern__failure){
        .device = l->plan->device, .doing = "run", .step = &l->plan->steps[at], .number = at};
}

/* Until it succeeds, or there is no use in it. */
static tern_status run_on_device(tern_ctx *ctx, tern__loaded *l, const tern__partition *part,
                                 const tern__saved *saved, const tern__bindings *bindings, uint32_t *n_done)
{
    for (int tries = 0;;) {
        tern_status status = ctx->device_ops->run(ctx->device, l->plan, l->code, part, bindings, n_done);
        if (status == TERN_OK || !row_of(status))
            return status;
        tern__failure f = failure_at(l, part, *n_done);
        f.tries = tries;
        tern__save_put_back(saved);
        *n_done = part->first;
        if (!try_again(ctx, &f, status))
            return give_up(ctx, &f, l);
        tries = f.tries;
    }
}

/* What the step writes. Together with the hazards that is all that it changes. */
static tern_status save_outputs(const tern__loaded *l, const tern__partition *part,
                                const tern__bindings *bindings, tern__saved *saved)
{
    const tern__step *step = &l->plan->steps[part->first];
    for (uint32_t i = 0; i < step->n_out; i++) {
        const tern__span span =
            tern__span_of(&l->plan->operands[step->operands + step->n_in + i], part->first);
        TERN_TRY(tern__save_add(saved, tern__base_of(bindings, span.space, span.index) + span.low,
                                (size_t)(span.high - span.low)));
    }
    return TERN_OK;
}

static tern_status run_guarded(tern_ctx *ctx, tern__loaded *l, uint32_t p, const tern__bindings *bindings,
                               tern__saved *saved, uint32_t *n_done)
{
    const tern__partition *part = &l->plan->partitions[p];
    TERN_TRY(ctx->check ? save_outputs(l, part, bindings, saved)
                        : tern__save_hazards(saved, l->plan, &l->hazards[p], bindings));
    TERN_TRY(tern__save_take(saved));
    TERN_TRY(run_on_device(ctx, l, part, saved, bindings, n_done));
    if (!ctx->check || l->moved)
        return TERN_OK;
    const tern_status status = tern__check_step(ctx, l, part, saved, bindings);
    *n_done = status == TERN_OK ? part->end : part->first;
    return status;
}

/* Partition p of l->plan. */
static tern_status run_one(tern_ctx *ctx, tern__loaded *l, uint32_t p, tern__room *room,
                           tern__bindings *bindings, uint32_t *n_done)
{
    tern__saved saved;
    tern__saved_begin(&saved);
    l->moved |= tern__is_lost(ctx, l->plan);
    if (!l->moved) {
        if (ctx->check)
            TERN_TRY(make_standby(ctx, l, room, bindings));
        const tern_status status = run_guarded(ctx, l, p, bindings, &saved, n_done);
        tern__saved_free(&saved);
        if (status != TERN_OK || !l->moved)
            return status;
    }
    TERN_TRY(make_standby(ctx, l, room, bindings));
    return ctx->host_ops->run(ctx->host, &l->host, NULL, &l->plan->partitions[p], bindings, n_done);
}

tern_status tern__recover_run(tern_ctx *ctx, tern__loaded *l, uint32_t p, tern__room *room,
                              tern__bindings *bindings, uint32_t *n_done)
{
    const tern__partition *part = &l->given->partitions[p];
    if (!ctx->check)
        return run_one(ctx, l, p, room, bindings, n_done);
    for (uint32_t s = part->first; s < part->end; s++)
        TERN_TRY(run_one(ctx, l, s, room, bindings, n_done));
    return TERN_OK;
}

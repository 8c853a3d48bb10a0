/* tune_program.c - tuning the steps of a program. An ordinary run of the program is begun; when its buffers are there and the
 * device would run the plan, the tuner walks it instead: before each step, whose operands are then what they would be, every
 * way to run it is measured on these very buffers, and then it runs once as planned. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "graph/text_call.h"
#include "passes/select.h"
#include "runtime/contest.h"
#include "runtime/made_up.h"
#include "runtime/program.h"
#include "tensor/pool.h"

typedef struct tuner {
    tern__probe probe; /* first */
    tern_ctx *ctx;
    const tern__compiled *compiled;
    const tern_tune_options *options;
    tern_tune_report *report;
    tern__bindings bindings; /* with an arena of its own, which has room for any candidate's scratch */
    tern__arena memory;      /* of the step that is tuned */
    int done, total;
} tuner;

enum {
    MOST_REPEATS = 64,
    WORTH_TIMING_NS = 50000, /* shorter steps are run several times in a row */
};

/* ---- running one step ---- */

/* A step as a plan of its own. */
typedef struct trial {
    tern__step *steps; /* (repeats) all the same */
    tern__plan plan;
    int repeats;
    tern_status status; /* of making it */
} trial;

static size_t stride_of(size_t bytes)
{
    return (bytes + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
}

static size_t all_scratch(const tern__step *step)
{
    return stride_of(step->scratch_bytes) * (size_t)step->parts + stride_of(step->shared_bytes);
}

static trial trial_of(const tuner *t, const tern__step *planned, const tern__step *as, tern__step *steps)
{
    const tern__plan *plan = &t->compiled->plan;
    trial out = {.steps = steps, .plan = *plan, .repeats = 1};
    for (int i = 0; i < MOST_REPEATS; i++) {
        steps[i] = *as;
        steps[i].operands = 0;
        steps[i].node = planned->node;
        steps[i].scratch_bytes = stride_of(as->scratch_bytes);
        steps[i].shared_bytes = stride_of(as->shared_bytes);
        steps[i].scratch_offset = stride_of(plan->arena_bytes);
    }
    out.plan.steps = steps;
    out.plan.n_steps = 1;
    out.plan.operands = plan->operands + planned->operands;
    out.plan.n_operands = planned->n_in + planned->n_out;
    out.plan.workers = as->parts;
    return out;
}

static tern_status run_trial(const tuner *t, const trial *r)
{
    uint32_t n_done;
    const tern__partition all = {.end = r->plan.n_steps};
    return t->ctx->host_ops->run(t->ctx->host, &r->plan, NULL, &all, &t->bindings, &n_done);
}

/* ---- steps that write over their operands ---- */

typedef struct saved {
    char *at, *copy;
    size_t bytes;
} saved;

typedef struct span {
    char *low, *high;
} span;

static span span_of(const tuner *t, const tern__operand *o)
{
    tern__layout layout = {.offset = 0};
    memcpy(layout.strides, o->strides, (size_t)o->type->rank * sizeof *layout.strides);
    int64_t low = 0, high = 0;
    tern__layout_span(o->type, &layout, &low, &high);
    char *base = tern__base_of(&t->bindings, o->space, o->index);
    return (span){base + o->byte_offset + low, base + o->byte_offset + high};
}

/* Copies of the results that overlap an operand: running the step again must find what it found the first time. */
static tern_status save_overwritten(tuner *t, const tern__step *step, saved **out, int *count)
{
    const tern__operand *operands = t->compiled->plan.operands + step->operands;
    saved *list = tern__arena_alloc_zero(&t->memory, step->n_out, sizeof *list);
    if (!list)
        return tern__out_of_memory(step->n_out * sizeof *list);
    *out = list;
    *count = 0;
    for (uint32_t i = 0; i < step->n_out; i++) {
        span result = span_of(t, &operands[step->n_in + i]);
        bool overlaps = false;
        for (uint32_t k = 0; k < step->n_in; k++) {
            span operand = span_of(t, &operands[k]);
            overlaps = overlaps || (operand.low < result.high && result.low < operand.high);
        }
        if (!overlaps)
            continue;
        saved *s = &list[(*count)++];
        *s = (saved){.at = result.low, .bytes = (size_t)(result.high - result.low)};
        s->copy = tern__arena_alloc(&t->memory, s->bytes);
        if (!s->copy)
            return tern__out_of_memory(s->bytes);
        memcpy(s->copy, s->at, s->bytes);
    }
    return TERN_OK;
}

static void restore(const saved *list, int count)
{
    for (int i = 0; i < count; i++)
        memcpy(list[i].at, list[i].copy, list[i].bytes);
}

/* ---- measuring ---- */

typedef struct heats {
    const tuner *t;
    trial *trials;
    const saved *overwritten;
    int n_overwritten;
    int repeats; /* of each timed run; 0: not known yet */
} heats;

static tern_status run_heat(void *user, int i, uint64_t *ns)
{
    heats *h = user;
    trial *r = &h->trials[i];
    if (r->status != TERN_OK)
        return r->status;
    restore(h->overwritten, h->n_overwritten);
    r->plan.n_steps = h->repeats ? (uint32_t)h->repeats : 1;
    uint64_t start = tern__now_ns();
    tern_status status = run_trial(h->t, r);
    uint64_t passed = tern__now_ns() - start;
    *ns = passed / r->plan.n_steps;
    if (!h->repeats && status == TERN_OK) { /* the same number for all: that of the first which runs */
        uint64_t wanted = passed ? WORTH_TIMING_NS / passed : MOST_REPEATS;
        h->repeats = h->n_overwritten || wanted < 1 ? 1 : wanted > MOST_REPEATS ? MOST_REPEATS : (int)wanted;
    }
    return status;
}

static tern_status make_trials(tuner *t, const tern__call *call, const tern__step *planned, int n,
                               const tern__candidate *candidates, trial **out)
{
    const tern__target *target = t->ctx->target;
    trial *trials = tern__arena_alloc_zero(&t->memory, (size_t)n, sizeof *trials);
    tern__step *steps = tern__arena_alloc_zero(&t->memory, (size_t)n * MOST_REPEATS, sizeof *steps);
    if (!trials || !steps)
        return tern__out_of_memory((size_t)n * MOST_REPEATS * sizeof *steps);
    for (int i = 0; i < n; i++) {
        tern__step step = {0};
        tern_status status = tern__step_of(target, call, &candidates[i], &t->memory, &step);
        if (status == TERN_OK)
            trials[i] = trial_of(t, planned, &step, steps + (size_t)i * MOST_REPEATS);
        trials[i].status = status;
    }
    *out = trials;
    return TERN_OK;
}

/* The ways to run a step, the usual one first; fewer than two: there is no choice. */
static tern_status list_ways(tuner *t, const tern__step *planned, tern__call_room *room, tern__call *call,
                             int *n, tern__candidate *candidates)
{
    const tern__target *target = t->ctx->target;
    tern__step usual;
    TERN_TRY(tern__call_of(&t->compiled->graph, planned->node, room, &t->memory, call));
    TERN_TRY(tern__step_of(target, call, NULL, &t->memory, &usual));
    *n = tern__step_candidates(target, call, &usual, candidates);
    return TERN_OK;
}

static tern_status tune_step(tuner *t, uint32_t number)
{
    const tern__step *planned = &t->compiled->plan.steps[number];
    tern__call_room room;
    tern__call call;
    tern__candidate candidates[TERN__MAX_CANDIDATES];
    const char *names[TERN__MAX_CANDIDATES];
    heats h = {.t = t};
    saved *overwritten = NULL;
    int n = 0, best = -1;
    tern_status first = TERN_OK;
    TERN_TRY(list_ways(t, planned, &room, &call, &n, candidates));
    if (n < 2)
        return TERN_OK;
    for (int i = 0; i < n; i++)
        names[i] = candidates[i].name;
    TERN_TRY(make_trials(t, &call, planned, n, candidates, &h.trials));
    TERN_TRY(save_overwritten(t, planned, &overwritten, &h.n_overwritten));
    h.overwritten = overwritten;
    tern__tuned_key *key = tern__tuning_key(t->ctx->tuning, &call, true);
    tern__contest contest = {.tuning = t->ctx->tuning,
                             .key = key,
                             .op = call.op->name,
                             .n_ops = tern__step_ops(planned),
                             .ops = t->compiled->ops[number],
                             .shapes = key ? key->shapes : "",
                             .params = key ? key->params : "",
                             .n = n,
                             .names = names,
                             .first_is_usual = true,
                             .step = (int)number,
                             .run = run_heat,
                             .user = &h,
                             .options = t->options,
                             .report = t->report,
                             .done = t->done,
                             .total = t->total};
    tern_status status = tern__contest_hold(&contest, &best, &first);
    restore(h.overwritten, h.n_overwritten);
    t->done += n;
    return status;
}

static tern_status count_ways(tuner *t, size_t *scratch)
{
    const tern__plan *plan = &t->compiled->plan;
    const tern__target *target = t->ctx->target;
    tern_status status = TERN_OK;
    for (uint32_t s = 0; s < plan->n_steps && status == TERN_OK; s++) {
        tern__call_room room;
        tern__call call;
        tern__candidate candidates[TERN__MAX_CANDIDATES];
        int n = 0;
        status = list_ways(t, &plan->steps[s], &room, &call, &n, candidates);
        t->total += n > 1 ? n : 0;
        for (int i = 0; i < n && status == TERN_OK; i++) {
            tern__step step = {0};
            if (tern__step_of(target, &call, &candidates[i], &t->memory, &step) != TERN_OK)
                continue;
            size_t bytes = all_scratch(&step);
            *scratch = bytes > *scratch ? bytes : *scratch;
        }
        size_t own = all_scratch(&plan->steps[s]);
        *scratch = own > *scratch ? own : *scratch;
        tern__arena_reset(&t->memory);
    }
    return status;
}

static tern_status walk(tuner *t)
{
    const tern__plan *plan = &t->compiled->plan;
    tern__step repeated[MOST_REPEATS];
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        tern_status status = tune_step(t, s);
        tern__arena_reset(&t->memory);
        TERN_TRY(status);
        trial as_planned = trial_of(t, &plan->steps[s], &plan->steps[s], repeated);
        TERN_TRY(run_trial(t, &as_planned));
    }
    return TERN_OK;
}

static tern_status run_probe(tern__probe *probe, const tern__bindings *bindings, uint32_t *n_done)
{
    tuner *t = (tuner *)(void *)probe;
    tern_pool *pool = t->ctx->pool;
    size_t scratch = 0;
    void *arena = NULL;
    *n_done = 0;
    TERN_TRY(count_ways(t, &scratch));
    TERN_TRY(tern__pool_get(pool, stride_of(t->compiled->plan.arena_bytes) + scratch + 1, 0, &arena));
    t->bindings = *bindings;
    t->bindings.arena = arena;
    t->bindings.step_ns = NULL; /* the plans that run are not the one whose steps are timed */
    tern_status status = walk(t);
    *n_done = status == TERN_OK ? t->compiled->plan.n_steps : 0;
    tern_pool_put(pool, arena);
    return status;
}

/* ---- the program ---- */

static tern_status run_tuned(tuner *t, tern_exec *exec, const tern_program *program,
                             tern_tensor *const *given)
{
    int n_in = program->n_inputs, n_out = (int)program->compiled->plan.n_results;
    tern_tensor **tensors = tern__alloc_zero((size_t)n_in + (size_t)n_out + 1, sizeof *tensors);
    if (!tensors)
        return tern__out_of_memory(((size_t)n_in + (size_t)n_out) * sizeof *tensors);
    tern_status status = TERN_OK;
    TERN_SCOPE(t->ctx) {
        status = tern__make_up_inputs(t->ctx, program, given, tensors);
        if (status == TERN_OK) {
            tern__exec_set_probe(exec, &t->probe);
            status = tern_exec_run(exec, n_in, tensors, n_out, tensors + n_in);
        }
    }
    tern__free(tensors);
    return status;
}

static tern_status tune(tern_ctx *ctx, const tern_program *program, tern_tensor *const *inputs,
                        const tern_tune_options *options, tern_tune_report *report)
{
    tern__tuning_load(ctx->tuning);
    tuner t = {.probe = {.run = run_probe},
               .ctx = ctx,
               .compiled = program->compiled,
               .options = options,
               .report = report};
    tern_exec *exec = NULL;
    TERN_TRY(tern_exec_create(ctx, program, &exec));
    tern__arena_init(&t.memory, 0);
    tern_status status = run_tuned(&t, exec, program, inputs);
    tern__arena_free(&t.memory);
    tern_exec_free(exec);
    if (ctx->tuning->dirty)
        tern__program_cache_clear(&ctx->cache); /* what was compiled before may be chosen differently now */
    tern__tuning_save(ctx->tuning);
    return status;
}

tern_status tern_program_tune(tern_ctx *ctx, const tern_program *program, int n_inputs,
                              tern_tensor *const *inputs, const tern_tune_options *options,
                              tern_tune_report **out)
{
    TERN__FAIL_IF(!ctx || !program, TERN_INVALID_ARGUMENT, "program_tune: needs a context and a program");
    TERN__FAIL_IF(inputs && n_inputs != program->n_inputs, TERN_INVALID_ARGUMENT,
                  "program_tune: the program has %d inputs, got %d", program->n_inputs, n_inputs);
    TERN__FAIL_IF(ctx->device != ctx->host, TERN_UNSUPPORTED, "program_tune: device '%s' has nothing to tune",
                  ctx->device_ops->name);
    tern_tune_options defaults = tern_tune_options_default();
    tern_tune_report *report = NULL;
    if (out)
        TERN_TRY(tern__tune_report_create(&report));
    tern_status status = tune(ctx, program, inputs, options ? options : &defaults, report);
    if (status != TERN_OK) {
        tern_tune_report_free(report);
        return status;
    }
    if (out)
        *out = report;
    return TERN_OK;
}

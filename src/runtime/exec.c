/* exec.c - runs a program: binds inputs, owns its states, wraps the results. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"
#include "runtime/profile.h"
#include "runtime/program.h"
#include "runtime/watch_plan.h"

/* A size of the batch that ran, and what runs it. */
typedef struct bucket {
    int64_t size;
    uint64_t used; /* when it ran last, in runs */
    tern_program *program;
    tern_exec *exec;
} bucket;

enum {
    MOST_BUCKETS = 32, /* of the others the plan is left to the context's cache of programs */
    AHEAD = 2          /* runs whose inputs a device may be copying */
};

struct tern_exec {
    tern_ctx *ctx;
    const tern_program *program;
    bool in_place;    /* the states are those that the program was compiled from */
    tern_exec *owner; /* of a bucket: its states and its arena serve; else NULL */
    bucket *buckets;  /* (n_buckets) sizes of the batch other than that of `program` */
    size_t n_buckets, cap_buckets;
    uint64_t runs;
    tern__room room;          /* of all buckets, where there is a range of batches */
    tern__storage **storages; /* (n_leaves of the source graph) what each is bound to in the run under way */
    int64_t *offsets;         /* (n_leaves of the source graph) of the first element, in units */
    bool *copied; /* (n_leaves of the source graph) the binding is a private copy of a strided input */
    tern__storage *
        *states;   /* (n_leaves of the source graph) by alias class: those that the exec owns, else NULL */
    bool *written; /* (n_leaves of the source graph) by alias class: a run changes it */
    tern__storage **changing; /* (n_changing) states that a run changes */
    uint32_t n_changing;
    void **leaves;      /* (n_leaves of the compiled graph) */
    uint64_t *versions; /* (n_leaves of the compiled graph) what they hold, for the device */
    /* Most leaves are constants, and lie where they lay. What has to be looked at in every run: */
    uint32_t *moving; /* (n_moving) leaves of the compiled graph that are inputs, or that may be written */
    uint32_t n_moving;
    tern__storage **shared; /* (n_shared) of the program's own storages, those that may be written */
    uint32_t n_shared;
    tern__run run;
    tern__storage *
        *ahead;  /* (AHEAD x n_inputs) inputs of later runs, one reference each; NULL: of none yet */
    int n_ahead; /* how often there were some */
    tern_tensor **results;  /* (n_results) of the run under way */
    uint64_t *step_ns;      /* (n_steps) of the last run; NULL until they are asked for */
    tern_step_time *times;  /* (n_steps) of all runs since */
    tern__profile *profile; /* where they go too; NULL like them */
    bool timed;
    uint64_t *part_ns;          /* (n_partitions) of the last run; NULL until they are asked for */
    tern_step_time *part_times; /* (n_partitions) of all runs since */
    tern__transfer *transfers;  /* (n_partitions) of the last run; likewise */
    bool parts_timed;
    tern__arena arena; /* holds the arrays above */
};

/* Leaves with one number share memory. */
static uint32_t class_of(const tern_graph *g, uint32_t leaf)
{
    return g->leaves[leaf].alias == TERN__NO_ID ? leaf : g->leaves[leaf].alias;
}

/* Writes recorded into memory that the program reads have happened when it is read. Those of other contexts are theirs:
 * see <tern/program.h>. */
static tern_status settle_own(tern_exec *e, const tern__storage *storage)
{
    const tern__node *write = storage->frozen ? NULL : storage->pending_write;
    return write && write->ctx == e->ctx ? tern__settle_writes(e->ctx, storage) : TERN_OK;
}

/* The state of leaf i's class: a copy of what its memory holds now, or that memory. */
static tern_status make_state(tern_exec *e, uint32_t i)
{
    const tern_graph *g = &e->program->compiled->source;
    const tern__storage *from = e->program->storages[i];
    size_t bytes = from ? from->bytes : tern__type_bytes(&g->values[g->nodes[g->leaves[i].node].out].type);
    if (from)
        TERN_TRY(settle_own(e, from));
    tern__storage **state = &e->states[class_of(g, i)];
    if (e->in_place) {
        TERN__FAIL_IF(!from, TERN_STATE, "exec: state '%s' has no memory that several could share",
                      g->nodes[g->leaves[i].node].attrs[0].text);
        *state = e->program->storages[i];
        tern__storage_retain(*state);
        return TERN_OK;
    }
    const tern__gnode *node = &g->nodes[g->leaves[i].node];
    const uint64_t scope =
        tern__watch_tensor("state", node->attrs[0].text, node->origin, &g->values[node->out].type);
    tern_status status = from ? tern__storage_create(e->ctx->pool, bytes, 0, state)
                              : tern__storage_create_zero(e->ctx->pool, bytes, state);
    tern__watch_leave(scope);
    if (status == TERN_OK && from)
        memcpy((*state)->host, from->host, bytes);
    return status;
}

/* States, and every leaf that is a view of one, lie in memory of the exec's. */
static tern_status bind_states(tern_exec *e)
{
    const tern_graph *g = &e->program->compiled->source;
    for (uint32_t i = 0; e->owner && i < g->n_leaves; i++) {
        e->states[i] = e->owner->states[i];
        if (e->states[i])
            tern__storage_retain(e->states[i]);
    }
    for (uint32_t i = 0; i < g->n_leaves; i++)
        if (g->nodes[g->leaves[i].node].op == TERN__OP_state && !e->states[class_of(g, i)])
            TERN_TRY(make_state(e, i));
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        e->offsets[i] = g->leaves[i].layout.offset;
        tern__storage *state = e->states[class_of(g, i)];
        e->storages[i] = state ? state : e->program->storages[i];
    }
    for (uint32_t i = 0; g->n_writes > 0 && i < g->n_nodes; i++) {
        if (!(tern__ops[g->nodes[i].op].flags & TERN__WRITES))
            continue;
        uint32_t leaf = tern__graph_written_leaf(g, &g->nodes[i]);
        if (leaf != TERN__NO_ID)
            e->written[class_of(g, leaf)] = true;
    }
    for (uint32_t i = 0; i < g->n_leaves; i++)
        if (e->written[i] && e->states[i])
            e->changing[e->n_changing++] = e->states[i];
    return TERN_OK;
}

/* Where leaf i of the compiled graph lies, as it is bound. */
static void *leaf_address(const tern_exec *e, uint32_t i)
{
    const tern_graph *g = &e->program->compiled->graph;
    const tern__leaf *leaf = &g->leaves[i];
    const int64_t offset = leaf->source == TERN__NO_ID ? leaf->layout.offset : e->offsets[leaf->source];
    return tern__leaf_address(g, leaf, tern__leaf_storage(leaf, e->storages), offset);
}

static void note_version(tern_exec *e, uint32_t i)
{
    const tern__storage *storage = tern__leaf_storage(&e->program->compiled->graph.leaves[i], e->storages);
    e->versions[i] = storage->exposed || storage->borrowed ? 0 : storage->version;
}

static bool is_input(const tern_program *p, uint32_t source)
{
    for (int i = 0; source != TERN__NO_ID && i < p->n_inputs; i++)
        if (p->inputs[i] == source)
            return true;
    return false;
}

/* Behind the binding of states. Storages never move, and what is frozen stays so. */
static void find_moving(tern_exec *e)
{
    const tern_program *p = e->program;
    const tern_graph *g = &p->compiled->graph;
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        const bool input = is_input(p, g->leaves[i].source);
        const tern__storage *storage = input ? NULL : tern__leaf_storage(&g->leaves[i], e->storages);
        if (!storage || !storage->frozen)
            e->moving[e->n_moving++] = i;
        if (!storage)
            continue;
        e->leaves[i] = leaf_address(e, i);
        note_version(e, i);
    }
    for (uint32_t i = 0; i < p->compiled->source.n_leaves; i++)
        if (!is_input(p, i) && p->storages[i] && e->storages[i] == p->storages[i] && !p->storages[i]->frozen)
            e->shared[e->n_shared++] = p->storages[i];
}

static tern_status prepare(tern_exec *e)
{
    const tern__compiled *compiled = e->program->compiled;
    const tern_graph *g = &compiled->source;
    size_t n = g->n_leaves;
    e->storages = tern__arena_alloc_zero(&e->arena, n, sizeof *e->storages);
    e->offsets = tern__arena_alloc_zero(&e->arena, n, sizeof *e->offsets);
    e->copied = tern__arena_alloc_zero(&e->arena, n, sizeof *e->copied);
    e->states = tern__arena_alloc_zero(&e->arena, n, sizeof *e->states);
    e->written = tern__arena_alloc_zero(&e->arena, n, sizeof *e->written);
    e->changing = tern__arena_alloc_zero(&e->arena, n, sizeof *e->changing);
    e->leaves = tern__arena_alloc_zero(&e->arena, compiled->graph.n_leaves, sizeof *e->leaves);
    e->versions = tern__arena_alloc_zero(&e->arena, compiled->graph.n_leaves, sizeof *e->versions);
    e->moving = tern__arena_alloc_zero(&e->arena, compiled->graph.n_leaves, sizeof *e->moving);
    e->shared = tern__arena_alloc_zero(&e->arena, n, sizeof *e->shared);
    e->results = tern__arena_alloc_zero(&e->arena, compiled->plan.n_results, sizeof *e->results);
    if (!e->results || !e->storages || !e->offsets || !e->copied || !e->states || !e->written ||
        !e->changing || !e->leaves || !e->versions || !e->moving || !e->shared ||
        !tern__run_init(&e->run, &e->arena))
        return tern__out_of_memory(n * sizeof *e->storages);
    e->run.leaves = e->leaves;
    e->run.versions = e->versions;
    TERN_TRY(tern__run_load(e->ctx, &e->run));
    TERN_TRY(bind_states(e));
    find_moving(e);
    return TERN_OK;
}

static tern_status create(tern_ctx *ctx, const tern_program *program, bool in_place, tern_exec *owner,
                          tern_exec **out)
{
    TERN__FAIL_IF(!ctx || !program || !out, TERN_INVALID_ARGUMENT, "exec: needs a context and a program");
    const char *device = program->compiled->device;
    TERN__FAIL_IF(strcmp(device, ctx->host_ops->name) != 0 && strcmp(device, ctx->device_ops->name) != 0,
                  TERN_INVALID_ARGUMENT,
                  "exec: the program was compiled for device '%s', the context computes on '%s'", device,
                  ctx->device_ops->name);
    tern_exec *e = tern__alloc_zero(1, sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    e->ctx = ctx;
    e->program = program;
    e->in_place = in_place;
    e->run.plan = &program->compiled->plan;
    e->run.graph = &program->compiled->graph;
    e->owner = owner;
    e->run.room = owner ? &owner->room : program->batching ? &e->room : NULL;
    tern__arena_init(&e->arena, 1024);
    tern_status status = prepare(e);
    if (status != TERN_OK) {
        tern_exec_free(e);
        return status;
    }
    *out = e;
    return TERN_OK;
}

tern_status tern_exec_create(tern_ctx *ctx, const tern_program *program, tern_exec **out)
{
    return create(ctx, program, false, NULL, out);
}

tern_status tern_exec_create_in_place(tern_ctx *ctx, const tern_program *program, tern_exec **out)
{
    return create(ctx, program, true, NULL, out);
}

static void free_bucket(bucket *b)
{
    tern_exec_free(b->exec);
    tern_program_free(b->program);
}

void tern_exec_free(tern_exec *exec)
{
    if (!exec)
        return;
    for (size_t i = 0; i < exec->n_buckets; i++)
        free_bucket(&exec->buckets[i]);
    tern__free(exec->buckets);
    tern_pool_put(exec->ctx->pool, exec->room.block);
    tern__run_forget(exec->ctx, &exec->run);
    for (int i = 0; exec->ahead && i < AHEAD * exec->program->n_inputs; i++)
        tern__storage_release(exec->ahead[i]);
    for (uint32_t i = 0; exec->states && i < exec->program->compiled->source.n_leaves; i++)
        tern__storage_release(exec->states[i]);
    tern__arena_free(&exec->arena);
    tern__free(exec);
}

tern_ctx *tern__exec_ctx(const tern_exec *exec)
{
    return exec->ctx;
}

const tern_program *tern__exec_program(const tern_exec *exec)
{
    return exec->program;
}

void tern__exec_set_probe(tern_exec *exec, tern__probe *probe)
{
    exec->run.probe = probe;
}

/* An earlier result may be given as an input: the run must not change it while it reads it. */
static bool lies_in_changing_state(const tern_exec *e, tern_tensor *t)
{
    if (tern_eval(t) != TERN_OK)
        return false; /* fails again where the status is looked at */
    for (uint32_t i = 0; i < e->n_changing; i++)
        if (t->storage == e->changing[i])
            return true;
    return false;
}

/* The plan expects the dense layout of an unbound leaf; a strided input is made contiguous first. */
static tern_status bind_input(tern_exec *e, int i, tern_tensor *t)
{
    const tern_program *p = e->program;
    tern_port want;
    TERN_TRY(tern_program_input(p, i, &want));
    TERN_TRY(tern__tensor_check(t));
    const tern_graph *g = &p->compiled->source;
    const tern__type *type = &g->values[g->nodes[g->leaves[p->inputs[i]].node].out].type;
    char expected[TERN__TYPE_TEXT], given[TERN__TYPE_TEXT];
    TERN__FAIL_IF(!tern__type_equal(type, &t->type), TERN_SHAPE, "exec_run: input '%s' is %s, got %s",
                  want.name, tern__type_text(type, expected), tern__type_text(&t->type, given));
    TERN__FAIL_IF(t->node->ctx != e->ctx, TERN_INVALID_ARGUMENT,
                  "exec_run: input '%s' belongs to another context", want.name);
    const void *data = NULL;
    TERN_TRY(lies_in_changing_state(e, t) ? tern__copied_data(t, &data) : tern__dense_data(t, &data));
    uint32_t leaf = p->inputs[i];
    e->copied[leaf] = t->dense && data == t->dense->host;
    e->storages[leaf] = e->copied[leaf] ? t->dense : t->storage;
    e->offsets[leaf] = ((const char *)data - (const char *)e->storages[leaf]->host) /
                       (int64_t)tern__dtype_unit_bytes(type->dtype);
    return TERN_OK;
}

static tern_status clone(tern_exec *e, const tern__storage *from, tern__storage **out)
{
    TERN_TRY(tern__storage_create(e->ctx->pool, from->bytes, 0, out));
    memcpy((*out)->host, from->host, from->bytes);
    tern__watch_copied(from->bytes, "copy");
    return TERN_OK;
}

/* May a result share leaf i's memory? Inputs are the caller's, states the exec's, and constants nobody changes. What
 * else the program was compiled with belongs to another context, perhaps another thread; and writes into the private copy
 * of a strided input would go unnoticed. */
static bool may_share(const tern_exec *e, uint32_t i)
{
    const tern_program *p = e->program;
    return !e->copied[i] && (e->states[class_of(&p->compiled->source, i)] ||
                             e->storages[i] != p->storages[i] || e->storages[i]->frozen);
}

static tern_tensor *wrap_result(tern_exec *e, uint32_t i)
{
    const tern__compiled *compiled = e->program->compiled;
    const tern__result *result = &compiled->plan.results[i];
    tern__layout layout = result->layout;
    if (result->at.space == TERN__SPACE_OUTPUT) {
        tern__storage *block = e->run.blocks[result->at.index];
        tern__storage_retain(block);
        return tern__tensor_wrap(e->ctx, result->at.type, block, &layout);
    }
    const tern__leaf *leaf = &compiled->graph.leaves[result->at.index];
    tern__storage *storage = tern__leaf_storage(leaf, e->storages);
    layout.offset += leaf->source == TERN__NO_ID ? leaf->layout.offset : e->offsets[leaf->source];
    if (leaf->source == TERN__NO_ID ? storage->frozen : may_share(e, leaf->source)) {
        tern__storage_retain(storage);
    } else {
        tern_status status = clone(e, storage, &storage);
        if (status != TERN_OK)
            return tern__error_tensor(e->ctx, status);
    }
    return tern__tensor_wrap(e->ctx, result->at.type, storage, &layout);
}

/* The caller's array is filled when all results exist. What exists when one fails belongs to the open scope, or is let
 * go. */
static tern_status wrap_results(tern_exec *e, tern_tensor **outputs)
{
    const tern__plan *plan = &e->program->compiled->plan;
    for (uint32_t i = 0; i < plan->n_results; i++) {
        e->results[i] = wrap_result(e, i);
        tern_status status = tern__tensor_check(e->results[i]);
        if (status != TERN_OK) {
            while (i > 0)
                tern__tensor_discard(e->results[--i]);
            return status;
        }
    }
    for (uint32_t i = 0; i < plan->n_results; i++)
        outputs[i] = e->results[i];
    return TERN_OK;
}

/* Earlier results may lie in a state, and what was recorded on them sees it as it is before this run. */
static tern_status settle_states(tern_exec *e)
{
    for (uint32_t i = 0; i < e->n_shared; i++)
        TERN_TRY(settle_own(e, e->shared[i]));
    for (uint32_t i = 0; i < e->n_changing; i++) {
        TERN_TRY(tern__settle_writes(e->ctx, e->changing[i]));
        TERN_TRY(tern__settle_readers(e->ctx, e->changing[i]));
    }
    return TERN_OK;
}

/* Behind the settling, which may write. */
static void note_versions(tern_exec *e)
{
    for (uint32_t i = 0; i < e->n_moving; i++)
        note_version(e, e->moving[i]);
}

static void bump_states(tern_exec *e)
{
    for (uint32_t i = 0; i < e->n_changing; i++)
        e->changing[i]->version++;
}

static void add_each(uint32_t n, const uint64_t *ns, tern_step_time *times)
{
    for (uint32_t i = 0; i < n; i++) {
        tern_step_time *t = &times[i];
        t->last_ns = ns[i];
        t->total_ns += ns[i];
        t->min_ns = t->runs == 0 || ns[i] < t->min_ns ? ns[i] : t->min_ns;
        t->runs++;
    }
}

static void add_times(tern_exec *e)
{
    const tern__plan *plan = &e->program->compiled->plan;
    if (e->parts_timed)
        add_each(plan->n_partitions, e->part_ns, e->part_times);
    if (!e->timed)
        return;
    add_each(plan->n_steps, e->step_ns, e->times);
    tern__profile_add(e->profile, e->step_ns);
}

tern_status tern_exec_time_steps(tern_exec *exec, bool on)
{
    TERN__FAIL_IF(!exec, TERN_INVALID_ARGUMENT, "exec_time_steps: the exec is NULL");
    for (size_t i = 0; i < exec->n_buckets; i++)
        TERN_TRY(tern_exec_time_steps(exec->buckets[i].exec, on));
    size_t n = exec->program->compiled->plan.n_steps;
    if (on && !exec->times) {
        uint64_t *step_ns = tern__arena_alloc_zero(&exec->arena, n, sizeof *step_ns);
        tern_step_time *times = tern__arena_alloc_zero(&exec->arena, n, sizeof *times);
        exec->profile = tern__profile_make(exec->ctx, exec->program, &exec->arena);
        if (!step_ns || !times || !exec->profile)
            return tern__out_of_memory(n * sizeof *times);
        exec->step_ns = step_ns;
        exec->times = times;
    }
    exec->timed = on;
    return TERN_OK;
}

tern_status tern_exec_step_time(const tern_exec *exec, int step, tern_step_time *out)
{
    TERN__FAIL_IF(!exec || !out, TERN_INVALID_ARGUMENT, "exec_step_time: an argument is NULL");
    uint32_t n = exec->program->compiled->plan.n_steps;
    TERN__FAIL_IF(step < 0 || (uint32_t)step >= n, TERN_OUT_OF_RANGE, "exec step %d: there are %u", step, n);
    *out = exec->times ? exec->times[step] : (tern_step_time){0};
    return TERN_OK;
}

tern_status tern_exec_time_partitions(tern_exec *exec, bool on)
{
    TERN__FAIL_IF(!exec, TERN_INVALID_ARGUMENT, "exec_time_partitions: the exec is NULL");
    for (size_t i = 0; i < exec->n_buckets; i++)
        TERN_TRY(tern_exec_time_partitions(exec->buckets[i].exec, on));
    const size_t n = exec->program->compiled->plan.n_partitions;
    if (on && !exec->part_times) {
        uint64_t *part_ns = tern__arena_alloc_zero(&exec->arena, n, sizeof *part_ns);
        tern_step_time *times = tern__arena_alloc_zero(&exec->arena, n, sizeof *times);
        tern__transfer *transfers = tern__arena_alloc_zero(&exec->arena, n, sizeof *transfers);
        if (!part_ns || !times || !transfers)
            return tern__out_of_memory(n * sizeof *times);
        exec->part_ns = part_ns;
        exec->transfers = transfers;
        exec->part_times = times;
    }
    exec->parts_timed = on;
    return TERN_OK;
}

tern_status tern_exec_partition_time(const tern_exec *exec, int partition, tern_step_time *out)
{
    TERN__FAIL_IF(!exec || !out, TERN_INVALID_ARGUMENT, "exec_partition_time: an argument is NULL");
    const uint32_t n = exec->program->compiled->plan.n_partitions;
    TERN__FAIL_IF(partition < 0 || (uint32_t)partition >= n, TERN_OUT_OF_RANGE,
                  "exec partition %d: there are %u", partition, n);
    *out = exec->part_times ? exec->part_times[partition] : (tern_step_time){0};
    return TERN_OK;
}

tern_status tern_exec_partition_transfer(const tern_exec *exec, int partition, tern_transfer_time *out)
{
    TERN__FAIL_IF(!exec || !out, TERN_INVALID_ARGUMENT, "exec_partition_transfer: an argument is NULL");
    const uint32_t n = exec->program->compiled->plan.n_partitions;
    TERN__FAIL_IF(partition < 0 || (uint32_t)partition >= n, TERN_OUT_OF_RANGE,
                  "exec partition %d: there are %u", partition, n);
    const tern__transfer t = exec->transfers ? exec->transfers[partition] : (tern__transfer){0};
    *out = (tern_transfer_time){.told = t.told,
                                .in_bytes = t.in_bytes,
                                .out_bytes = t.out_bytes,
                                .in_ns = t.in_ns,
                                .out_ns = t.out_ns};
    return TERN_OK;
}

/* ---- sizes of the batch ---- */

static tern_status fill_bucket(tern_exec *e, int64_t size, bucket *b)
{
    *b = (bucket){.size = size};
    TERN_TRY(tern_program_for_batch(e->ctx, e->program, size, &b->program));
    TERN_TRY(create(e->ctx, b->program, e->in_place, e, &b->exec));
    if (e->parts_timed)
        TERN_TRY(tern_exec_time_partitions(b->exec, true));
    return e->timed ? tern_exec_time_steps(b->exec, true) : TERN_OK;
}

/* Room for one more: behind the others, or that of the one whose last run is longest ago. */
static tern_status take_place(tern_exec *e, bucket **out)
{
    if (e->n_buckets < MOST_BUCKETS) {
        if (!tern__grow((void **)&e->buckets, &e->cap_buckets, e->n_buckets + 1, sizeof *e->buckets))
            return tern__out_of_memory(sizeof *e->buckets);
        *out = &e->buckets[e->n_buckets];
        return TERN_OK;
    }
    *out = &e->buckets[0];
    for (size_t i = 1; i < e->n_buckets; i++)
        if (e->buckets[i].used < (*out)->used)
            *out = &e->buckets[i];
    free_bucket(*out);
    bucket *last = &e->buckets[--e->n_buckets];
    **out = *last;
    *out = last;
    return TERN_OK;
}

/* What runs these inputs: the exec itself, or its bucket for the size of their batch. */
static tern_status pick_bucket(tern_exec *e, tern_tensor *const *inputs, tern_exec **out)
{
    int64_t size;
    *out = e;
    if (!e->program->batching)
        return TERN_OK;
    TERN_TRY(tern__batching_size(e->program, inputs, &size));
    if (size == e->program->batching->recorded)
        return TERN_OK;
    bucket *b = NULL;
    for (size_t i = 0; i < e->n_buckets && !b; i++)
        b = e->buckets[i].size == size ? &e->buckets[i] : NULL;
    if (!b) {
        TERN_TRY(take_place(e, &b));
        tern_status status = fill_bucket(e, size, b);
        if (status != TERN_OK) {
            free_bucket(b);
            return status;
        }
        e->n_buckets++;
    }
    b->used = ++e->runs;
    *out = b->exec;
    return TERN_OK;
}

/* ---- ahead of a run ---- */

static tern_status bind_inputs(tern_exec *e, tern_tensor *const *inputs)
{
    for (int i = 0; i < e->program->n_inputs; i++)
        TERN_TRY(bind_input(e, i, inputs[i]));
    return TERN_OK;
}

bool tern__exec_copies_inputs(const tern_exec *exec)
{
    return tern__run_copies_inputs(exec->ctx, &exec->run);
}

/* Leaves that are inputs, and no memory of the exec's. Their storages are held until as many others have followed as a device
 * keeps. */
static tern_status stage_inputs(tern_exec *e)
{
    const tern_program *p = e->program;
    const tern_graph *g = &p->compiled->graph;
    if (!e->ahead)
        e->ahead = tern__arena_alloc_zero(&e->arena, (size_t)(AHEAD * p->n_inputs), sizeof *e->ahead);
    if (!e->ahead)
        return tern__out_of_memory((size_t)(AHEAD * p->n_inputs) * sizeof *e->ahead);
    note_versions(e);
    tern_status status = TERN_OK;
    for (uint32_t i = 0; i < g->n_leaves && status == TERN_OK; i++) {
        const uint32_t source = g->leaves[i].source;
        const bool is_input = source != TERN__NO_ID && e->storages[source] != p->storages[source] &&
                              !e->states[class_of(&p->compiled->source, source)];
        if (is_input)
            status = tern__run_stage(e->ctx, &e->run, i, leaf_address(e, i), e->versions[i]);
    }
    tern__storage **held = &e->ahead[e->n_ahead++ % AHEAD * p->n_inputs];
    for (int i = 0; i < p->n_inputs; i++) {
        tern__storage_release(held[i]);
        held[i] = e->storages[p->inputs[i]];
        tern__storage_retain(held[i]);
    }
    return status;
}

tern_status tern_exec_stage(tern_exec *exec, int n_in, tern_tensor *const *inputs)
{
    TERN__FAIL_IF(!exec || (n_in > 0 && !inputs), TERN_INVALID_ARGUMENT,
                  "exec_stage: the exec or its inputs are NULL");
    TERN__FAIL_IF(n_in != exec->program->n_inputs, TERN_INVALID_ARGUMENT,
                  "exec_stage: the program has %d inputs, got %d", exec->program->n_inputs, n_in);
    TERN_TRY(pick_bucket(exec, inputs, &exec));
    TERN_TRY(bind_inputs(exec, inputs));
    /* What fails here fails again, or does not, when the run needs it: there it is told, tried again, or taken over. */
    if (tern__exec_copies_inputs(exec) && stage_inputs(exec) != TERN_OK)
        tern__log(TERN_LOG_INFO, "exec_stage: inputs are copied when the run begins: %s", tern_last_error());
    return TERN_OK;
}

tern_status tern_exec_run(tern_exec *exec, int n_in, tern_tensor *const *inputs, int n_out,
                          tern_tensor **outputs)
{
    TERN__FAIL_IF(!exec || (n_in > 0 && !inputs) || (n_out > 0 && !outputs), TERN_INVALID_ARGUMENT,
                  "exec_run: the exec, its inputs or the place for its outputs is NULL");
    TERN__FAIL_IF(n_in != exec->program->n_inputs, TERN_INVALID_ARGUMENT,
                  "exec_run: the program has %d inputs, got %d", exec->program->n_inputs, n_in);
    TERN_TRY(pick_bucket(exec, inputs, &exec));
    const tern__plan *plan = &exec->program->compiled->plan;
    const tern_graph *g = &exec->program->compiled->graph;
    TERN__FAIL_IF(n_out != (int)plan->n_results, TERN_INVALID_ARGUMENT,
                  "exec_run: the program has %u outputs, room was given for %d", plan->n_results, n_out);
    TERN_TRY(bind_inputs(exec, inputs));
    for (uint32_t i = 0; i < exec->n_moving; i++)
        exec->leaves[exec->moving[i]] = leaf_address(exec, exec->moving[i]);
    for (uint32_t i = 0; tern__watch_on() && i < g->n_leaves; i++)
        tern__storage_note_use(tern__leaf_storage(&g->leaves[i], exec->storages));
    TERN_TRY(settle_states(exec));
    note_versions(exec);
    exec->run.step_ns = exec->timed ? exec->step_ns : NULL;
    exec->run.part_ns = exec->parts_timed ? exec->part_ns : NULL;
    exec->run.transfers = exec->parts_timed ? exec->transfers : NULL;
    tern_status status = tern__run_plan(exec->ctx, &exec->run);
    if (status == TERN_OK)
        add_times(exec);
    bump_states(exec);
    if (status == TERN_OK)
        status = wrap_results(exec, outputs);
    tern__run_finish(&exec->run);
    return status;
}

/* plugin.c - MLX as a device: partitions of a plan become lazy MLX graphs, one each (session.cpp). On a Mac they run on the GPU,
 * elsewhere on MLX's CPU backend. Host memory is read where it lies where MLX allows it; results that are a block of their own are
 * handed out as MLX made them, others are copied. Fused regions
 * become compiled functions where MLX can compile (tern__mlx_compiles); else nothing is fused. */
#include <stdio.h>
#include <string.h>

#include "devices/device.h"
#include "devices/mlx/mlx.h"

enum { MOST_OPERANDS = 64 }; /* of a step */

static const tern__device_host *host;

struct tern__device {
    tern__target target;
    tern__mlx_session *session;
};

/* Of an output of a step. */
typedef struct output {
    bool kept;  /* it leaves its partition */
    bool whole; /* it is all that is ever written to its block */
} output;

struct tern__code {
    const tern__plan *plan;
    output outputs[1]; /* (n_operands of the plan) */
};

/* About the library: written once, while the plugin is loaded, since any thread may ask. */
static struct {
    tern__mlx_facts mlx;
    char driver[64];
    char unusable[160];
} known;

static void learn(void)
{
    tern__mlx_describe(&known.mlx);
    snprintf(known.driver, sizeof known.driver, "MLX %s", known.mlx.version);
    snprintf(known.unusable, sizeof known.unusable,
             "MLX %s was loaded, the plugin was built for %s and needs the same minor version",
             known.mlx.version, known.mlx.built);
}

static void describe(tern__isa_cap cap, tern_device_info *out)
{
    const tern__mlx_facts *f = &known.mlx;
    (void)cap;
    *out = (tern_device_info){.name = "mlx",
                              .backend = f->gpu ? "metal" : "mlx-cpu",
                              .model = f->device,
                              .memory_bytes = f->memory_bytes,
                              .unavailable = f->usable ? NULL : known.unusable,
                              .driver = known.driver,
                              .precision = "f32 (f16 and bf16 are stored), integers exact; no f64",
                              .limits = "2147483647 elements in an axis",
                              .memory_use = f->in_place ? "unified: operands and whole results stay in place"
                                                        : "whole results stay in place, operands that do not "
                                                          "fill whole pages are copied"};
}

/* ---- what it can run ---- */

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    char why[160];
    (void)target;
    (void)candidate;
    (void)arena;
    if (call->n_in + call->n_out > MOST_OPERANDS)
        return host->fail(TERN_UNSUPPORTED, "%d operands are more than %d", call->n_in + call->n_out,
                          MOST_OPERANDS);
    if (!tern__mlx_lowers(call, why, sizeof why))
        return host->fail(TERN_UNSUPPORTED, "%s", why);
    *out = (tern__choice){.name = "mlx", .isa = "mlx", .work = 1};
    return TERN_OK;
}

/* Elementwise work on f32, which the CPU can take over as it is. */
static bool fuses(const tern__target *target, const tern__call *call)
{
    char why[160];
    bool floats = (call->op->flags & TERN__ELEMENTWISE) != 0;
    (void)target;
    for (int i = 0; i < call->n_in; i++)
        floats = floats && call->in[i]->dtype == TERN_F32;
    for (int i = 0; i < call->n_out; i++)
        floats = floats && call->out[i].dtype == TERN_F32;
    return floats && tern__mlx_lowers(call, why, sizeof why);
}

static const tern__target *target_of(const tern__device *device)
{
    return &device->target;
}

static void destroy(tern__device *device)
{
    if (!device)
        return;
    tern__mlx_close(device->session);
    tern__mlx_free(device);
}

static tern_status create(const tern__device_options *options, tern__device **out)
{
    tern__mlx_error error;
    if (!known.mlx.usable)
        return host->fail(TERN_UNAVAILABLE, "device 'mlx': %s", known.unusable);
    tern__device *device = tern__mlx_alloc(sizeof *device);
    if (!device)
        return host->fail(TERN_OUT_OF_MEMORY, "device 'mlx': no memory");
    if (!tern__mlx_open(options->memory, &device->session, &error)) {
        tern__mlx_free(device);
        return host->fail(error.status, "device 'mlx': %s", error.text);
    }
    const char *why;
    const bool compiles =
        tern__mlx_compiles(options->switched ? options->switched("TERN_MLX_COMPILE") : 0, &why);
    if (why[0])
        host->log(TERN_LOG_WARN, "device 'mlx': compiled functions are not used: %s", why);
    device->target = (tern__target){.name = "mlx",
                                    .workers = options->threads,
                                    .pool = options->pool,
                                    .choose = choose,
                                    .fuses = compiles ? fuses : NULL,
                                    .data = device};
    *out = device;
    return TERN_OK;
}

/* ---- a plan ---- */

static const tern__operand *outputs_of(const tern__plan *plan, const tern__step *step)
{
    return &plan->operands[step->operands + step->n_in];
}

static size_t span_of(const tern__operand *o)
{
    size_t units = 1;
    for (int i = 0; i < o->type->rank; i++)
        units += (size_t)((o->type->shape[i] - 1) * (o->strides[i] < 0 ? -o->strides[i] : o->strides[i]));
    return units * 8; /* of the widest type */
}

/* May the two share bytes of the arena? Views count from both sides, so neither reach is left out. */
static bool may_share(const tern__operand *a, const tern__operand *b)
{
    return a->space == b->space && a->index == b->index && a->byte_offset < b->byte_offset + span_of(b) &&
           b->byte_offset < a->byte_offset + span_of(a);
}

/* Is it read outside the partition? Whatever might be is kept. */
static bool read_outside(const tern__plan *plan, const tern__partition *part, const tern__operand *o)
{
    if (o->space != TERN__SPACE_ARENA)
        return true;
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        if (s >= part->first && s < part->end)
            continue;
        const tern__step *step = &plan->steps[s];
        for (uint32_t i = 0; i < step->n_in; i++)
            if (may_share(o, &plan->operands[step->operands + i]))
                return true;
    }
    return false;
}

/* Dense, and nobody else writes anything there. */
static bool fills_block(const tern__plan *plan, const tern__operand *o)
{
    int64_t units = 1;
    if (o->space != TERN__SPACE_OUTPUT || o->byte_offset != 0)
        return false;
    for (int i = o->type->rank - 1; i >= 0; i--) {
        if (o->type->shape[i] != 1 && o->strides[i] != units)
            return false;
        units *= o->type->shape[i];
    }
    for (uint32_t s = 0; s < plan->n_steps; s++)
        for (uint32_t i = 0; i < plan->steps[s].n_out; i++) {
            const tern__operand *other = &outputs_of(plan, &plan->steps[s])[i];
            if (other != o && other->space == o->space && other->index == o->index)
                return false;
        }
    return true;
}

static tern_status compile(tern__device *device, const tern__plan *plan, tern__code **out)
{
    (void)device;
    tern__code *code = tern__mlx_alloc(sizeof *code + plan->n_operands * sizeof *code->outputs);
    if (!code)
        return host->fail(TERN_OUT_OF_MEMORY, "device 'mlx': no memory for a plan");
    for (uint32_t p = 0; p < plan->n_partitions; p++) {
        const tern__partition *part = &plan->partitions[p];
        for (uint32_t s = part->first; part->on_device && s < part->end; s++) {
            const tern__step *step = &plan->steps[s];
            for (uint32_t i = 0; i < step->n_out; i++) {
                const tern__operand *o = &outputs_of(plan, step)[i];
                code->outputs[step->operands + step->n_in + i] =
                    (output){.kept = read_outside(plan, part, o), .whole = fills_block(plan, o)};
            }
        }
    }
    code->plan = plan;
    *out = code;
    return TERN_OK;
}

static void forget(tern__device *device, tern__code *code)
{
    for (uint32_t s = 0; code && s < code->plan->n_steps; s++)
        if (code->plan->steps[s].op == TERN__OP_fused)
            tern__mlx_forget(device->session, code->plan->steps[s].attrs[TERN__ATTR_fused_body].region);
    tern__mlx_free(code);
}

static void fill_buffers(const tern__plan *plan, const tern__step *step, const tern__bindings *bindings,
                         tern__buffer *buffers)
{
    for (uint32_t i = 0; i < step->n_in + step->n_out; i++) {
        const tern__operand *o = &plan->operands[step->operands + i];
        buffers[i] =
            (tern__buffer){.data = tern__base_of(bindings, o->space, o->index) + (ptrdiff_t)o->byte_offset,
                           .type = o->type,
                           .strides = o->strides};
    }
}

static tern_status fail_step(const tern__step *step, const tern__mlx_error *error)
{
    return error->status == TERN_OUT_OF_RANGE
               ? host->fail(error->status, "%s: %s", host->ops[step->op].name, error->text)
               : host->fail(error->status, "%s: device 'mlx': %s", host->ops[step->op].name, error->text);
}

/* What fails while a lazy graph is computed belongs to no step alone: the message names the first and the last. */
static tern_status fail_partition(const tern__plan *plan, uint32_t first, uint32_t last,
                                  const tern__mlx_error *error)
{
    if (first == last)
        return fail_step(&plan->steps[first], error);
    return host->fail(error->status, "%s to %s: device 'mlx': %s", host->ops[plan->steps[first].op].name,
                      host->ops[plan->steps[last].op].name, error->text);
}

static tern_status run(tern__device *device, const tern__plan *plan, tern__code *code,
                       const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done)
{
    tern__buffer buffers[MOST_OPERANDS];
    tern__mlx_error error;
    const bool traced = host->trace_on();
    const bool each = bindings->step_ns || traced; /* a step's time is known only if it is computed alone */
    uint32_t first = part->first;                  /* of what is not computed yet */
    *n_done = part->first;
    for (uint32_t s = part->first; s < part->end; s++) {
        const tern__step *step = &plan->steps[s];
        const uint64_t start = each ? tern__mlx_now_ns() : 0;
        if (bindings->stop.asked && bindings->stop.asked(bindings->stop.user)) {
            if (!tern__mlx_keep(device->session, &error))
                return fail_partition(plan, first, s, &error);
            *n_done = s;
            return host->fail(TERN_CANCELLED, "run: stopped at %s, as it was asked",
                              host->ops[step->op].name);
        }
        fill_buffers(plan, step, bindings, buffers);
        bool kept[MOST_OPERANDS];
        tern__given *given[MOST_OPERANDS];
        for (uint32_t i = 0; i < step->n_out; i++) {
            const output *o = &code->outputs[step->operands + step->n_in + i];
            /* One step alone is how steps are checked, results that nobody reads among them. */
            kept[i] = each || o->kept || part->end - part->first == 1;
            /* Steps that are computed alone read from memory what those before them wrote. */
            given[i] = bindings->given && o->whole && !each
                           ? &bindings->given[outputs_of(plan, step)[i].index]
                           : NULL;
        }
        const tern__mlx_step call = {.op = step->op,
                                     .n_in = (int)step->n_in,
                                     .n_out = (int)step->n_out,
                                     .in = buffers,
                                     .out = buffers + step->n_in,
                                     .kept = kept,
                                     .given = given,
                                     .attrs = step->attrs};
        if (!tern__mlx_add(device->session, &call, &error)) {
            const tern__mlx_error why = error;
            /* Behind bad data what the steps before them wrote holds. */
            if (why.status != TERN_OUT_OF_RANGE)
                tern__mlx_discard(device->session);
            else if (!tern__mlx_keep(device->session, &error))
                return fail_partition(plan, first, s, &error);
            *n_done = s;
            return fail_step(step, &why);
        }
        if (!each && s + 1 < part->end) {
            /* Whoever may stop the run is asked when a step is computed, not when it was added. */
            if (!bindings->stop.asked || tern__mlx_settle(device->session, &error))
                continue;
            tern__mlx_discard(device->session);
            return fail_partition(plan, first, s, &error);
        }
        if (!tern__mlx_finish(device->session, &error))
            return fail_partition(plan, first, s, &error);
        if (bindings->step_ns)
            bindings->step_ns[s] = tern__mlx_now_ns() - start;
        if (traced)
            host->trace_step(start, plan, s);
        *n_done = first = s + 1;
    }
    return TERN_OK;
}

static size_t trim(tern__device *device, int level)
{
    (void)device;
    return level <= 0 ? 0 : tern__mlx_trim();
}

/* ---- memory, streams and events ---- */

static tern_status failed(const char *what, const tern__mlx_error *error)
{
    return host->fail(error->status, "%s: device 'mlx': %s", what, error->text);
}

static tern_status allocate(tern__device *device, size_t bytes, tern__block *out)
{
    tern__mlx_error error;
    void *block = NULL;
    if (!tern__mlx_block_make(device->session, bytes, &block, &error))
        return failed("memory", &error);
    *out = (tern__block){.handle = block, .bytes = bytes};
    return TERN_OK;
}

static void release(tern__device *device, tern__block *block)
{
    (void)device;
    tern__mlx_block_end(block->handle);
    *block = (tern__block){0};
}

static tern_status map(tern__device *device, tern__block *block, tern__access access, void **out)
{
    tern__mlx_error error;
    (void)access;
    return tern__mlx_block_map(device->session, block->handle, out, &error) ? TERN_OK
                                                                            : failed("mapping", &error);
}

static tern_status unmap(tern__device *device, tern__block *block, void *mapped)
{
    (void)device;
    (void)block;
    (void)mapped;
    return TERN_OK; /* memory is shared */
}

static tern__mlx_stream *stream_of(tern__stream *stream)
{
    return (tern__mlx_stream *)(void *)stream;
}

static tern_status copy(tern__device *device, tern__stream *stream, const tern__block *to, size_t to_at,
                        const tern__block *from, size_t from_at, size_t bytes)
{
    tern__mlx_error error;
    const tern__mlx_piece pieces[2] = {{to->handle, to->host, to_at}, {from->handle, from->host, from_at}};
    if (to_at > to->bytes || bytes > to->bytes - to_at || from_at > from->bytes ||
        bytes > from->bytes - from_at)
        return host->fail(TERN_OUT_OF_RANGE, "mlx: a copy of %zu bytes leaves its blocks", bytes);
    if (bytes == 0 ||
        tern__mlx_copy(device->session, stream_of(stream), &pieces[0], &pieces[1], bytes, &error))
        return TERN_OK;
    return failed("copying", &error);
}

static tern_status synchronise(tern__device *device)
{
    tern__mlx_error error;
    return tern__mlx_synchronise(device->session, &error) ? TERN_OK : failed("waiting", &error);
}

static tern_status stream_create(tern__device *device, tern__stream **out)
{
    tern__mlx_error error;
    tern__mlx_stream *stream = NULL;
    (void)device;
    if (!tern__mlx_stream_make(&stream, &error))
        return failed("stream", &error);
    *out = (tern__stream *)(void *)stream;
    return TERN_OK;
}

static void stream_destroy(tern__device *device, tern__stream *stream)
{
    (void)device;
    tern__mlx_stream_end(stream_of(stream));
}

static tern_status record(tern__device *device, tern__stream *stream, tern__event **out)
{
    tern__mlx_error error;
    tern__mlx_event *event = NULL;
    if (!tern__mlx_event_make(device->session, stream_of(stream), &event, &error))
        return failed("event", &error);
    *out = (tern__event *)(void *)event;
    return TERN_OK;
}

/* MLX computes an array behind those that it is made of, on whatever stream, and blocks are arrays: nothing is left to wait for. */
static tern_status wait_for(tern__device *device, tern__stream *stream, const tern__event *event)
{
    (void)device;
    (void)stream;
    (void)event;
    return TERN_OK;
}

static tern_status synchronise_event(tern__device *device, const tern__event *event)
{
    tern__mlx_error error;
    (void)device;
    return tern__mlx_event_wait((const tern__mlx_event *)(const void *)event, &error)
               ? TERN_OK
               : failed("waiting", &error);
}

static void event_destroy(tern__device *device, tern__event *event)
{
    (void)device;
    tern__mlx_event_end((tern__mlx_event *)(void *)event);
}

static const tern__device_ops table = {
    .name = "mlx",
    .backend = "mlx",
    .describe = describe,
    .create = create,
    .destroy = destroy,
    .target = target_of,
    .run = run,
    .compile = compile,
    .forget = forget,
    .trim = trim,
    .allocate = allocate,
    .release = release,
    .map = map,
    .unmap = unmap,
    .copy = copy,
    .synchronise = synchronise,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .record = record,
    .wait = wait_for,
    .synchronise_event = synchronise_event,
    .event_destroy = event_destroy,
};

TERN_API const char *tern_device_plugin_abi(void);
TERN_API const tern__device_ops *tern_device_plugin(const tern__device_host *given);

const char *tern_device_plugin_abi(void)
{
    return tern__device_abi;
}

const tern__device_ops *tern_device_plugin(const tern__device_host *given)
{
    host = given;
    tern__mlx_begin(given->ops);
    learn();
    return &table;
}

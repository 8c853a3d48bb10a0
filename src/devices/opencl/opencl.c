/* opencl.c - the OpenCL device: what it is, its memory, its table of functions. */
#include "devices/opencl/opencl.h"

#include "base/status.h"

extern const tern__device_ops tern__device_opencl;

#if !TERN_HAVE_OPENCL

static const char missing[] = "this build has no OpenCL: its headers (CL/cl.h) were not installed; "
                              "scripts/install-deps.sh opencl installs them, then build again";

static void describe(tern__isa_cap cap, tern_device_info *out)
{
    (void)cap;
    *out = (tern_device_info){.name = "opencl", .backend = "opencl", .unavailable = missing};
}

static tern_status create(const tern__device_options *options, tern__device **out)
{
    (void)options;
    (void)out;
    return tern__fail(TERN_UNAVAILABLE, "device 'opencl': %s", missing);
}

const tern__device_ops tern__device_opencl = {
    .name = "opencl", .backend = "opencl", .describe = describe, .create = create};

#else

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "devices/bounds.h"
#include "devices/rows/regions.h"
#include "devices/opencl/products.h"

/* ---- what is there ---- */

enum { LEAST_ROOM = 8 << 20 }; /* of what a kernel of ours makes PoCL write: less than 1 MiB each */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tern__ocl_facts facts;
static bool in_place; /* it uses host memory as it lies */

/* Does a buffer over host memory lie on its very pages? Asked of the memory, not of the driver: what the device writes must be
 * there without being mapped, and what the host writes be seen. */
static bool uses_pages(const tern__cl *cl, cl_context context, cl_command_queue queue)
{
    enum { BYTES = 4096 };
    cl_int error = CL_SUCCESS;
    char *page = tern__alloc_aligned(BYTES, BYTES), seen[16] = "";
    if (!page)
        return false;
    memset(page, 0, BYTES);
    cl_mem buffer = cl->CreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, page, &error);
    bool same = false;
    if (buffer) {
        same = cl->EnqueueWriteBuffer(queue, buffer, CL_TRUE, 64, 6, "device", 0, NULL, NULL) == CL_SUCCESS &&
               memcmp(page + 64, "device", 6) == 0;
        memcpy(page + 128, "host", 4);
        same = same &&
               cl->EnqueueReadBuffer(queue, buffer, CL_TRUE, 128, 4, seen, 0, NULL, NULL) == CL_SUCCESS &&
               memcmp(seen, "host", 4) == 0;
        cl->ReleaseMemObject(buffer);
    }
    tern__free(page);
    return same;
}

/* Asked once, in a context of its own: what is told of the device is then what holds. */
static bool probe_pages(const tern__cl *cl)
{
    cl_int error = CL_SUCCESS;
    cl_context context = cl->CreateContext(NULL, 1, &cl->device, NULL, NULL, &error);
    cl_command_queue queue = context ? cl->CreateCommandQueue(context, cl->device, 0, &error) : NULL;
    const bool uses = queue && uses_pages(cl, context, queue);
    if (queue)
        cl->ReleaseCommandQueue(queue);
    if (context)
        cl->ReleaseContext(context);
    return uses;
}

static void ask_all(void)
{
    const char *why;
    const tern__cl *cl = tern__cl_load(&why);
    if (!cl)
        return;
    tern__ocl_learn(cl, &facts);
    in_place = facts.unified && (facts.type & CL_DEVICE_TYPE_CPU) && probe_pages(cl);
}

static void describe(tern__isa_cap cap, tern_device_info *out)
{
    const char *why;
    const tern__cl *cl = tern__cl_load(&why);
    (void)cap;
    *out = (tern_device_info){.name = "opencl", .backend = "opencl", .unavailable = why};
    if (!cl)
        return;
    pthread_once(&once, ask_all);
    out->model = facts.model;
    out->driver = facts.driver;
    out->precision = facts.features;
    out->limits = facts.limits;
    out->memory_use = in_place        ? "unified: host memory is used in place"
                      : facts.unified ? "shared with the host, and still copied at the borders of partitions"
                                      : "of its own: copied at the borders of partitions";
    out->cores_usable = out->cores_online = (int)facts.units;
    out->cores_reason = "compute units";
    out->memory_bytes = (int64_t)facts.memory_bytes;
}

/* ---- the compiler's questions ---- */

/* The CPU's bits are promised of it, and it divides or takes roots, which this driver rounds as it likes. NULL: it can be kept. */
static const char *why_inexact(const tern__target *target, const tern__call *call)
{
    const tern__device *d = target->data;
    return d->rounding == TERN__OCL_ROUNDS_NOBODY && tern__bound_is_exact(tern__op_code(call->op)) &&
                   tern__rows_round(call, tern__rowop_tables(target->isa_mask))
               ? "its driver does not round quotients and roots correctly, and it has no f64 that would"
               : NULL;
}

static bool fuses(const tern__target *target, const tern__call *call)
{
    return !why_inexact(target, call) && tern__rows_has(call, tern__rowop_tables(target->isa_mask));
}

static tern_status choose_rows(const tern__target *target, const tern__call *call, tern__arena *arena,
                               tern__choice *out, bool *found)
{
    const tern__row_program *program = NULL;
    TERN_TRY(tern__rows_program(call, tern__rowop_tables(target->isa_mask), NULL, arena, &program));
    *found = program != NULL;
    if (!program)
        return TERN_OK;
    tern__ocl_rows *rows = tern__arena_alloc(arena, sizeof *rows);
    if (!rows)
        return tern__out_of_memory(sizeof *rows);
    *rows =
        (tern__ocl_rows){.kind = {.name = "rows__opencl", .write = tern__ocl_write_rows}, .program = program};
    *out = (tern__choice){.name = rows->kind.name, .isa = "opencl", .rows = true, .program = rows, .work = 1};
    return TERN_OK;
}

/* A region that begins with a product: the product as if it were alone, and the rest as rows. */
static tern_status choose_epilogue(const tern__target *target, const tern__region *region, tern__arena *arena,
                                   tern__choice *out)
{
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    const tern__call call = tern__region_call(region, 0, in);
    const tern__row_program *program = NULL;
    const char *why;
    const tern__ocl_kind *kind = tern__ocl_kind_of(&call, &why);
    TERN__FAIL_IF(!kind, TERN_UNSUPPORTED, "%s", why);
    TERN_TRY(tern__rows_epilogue(region, tern__rowop_tables(target->isa_mask), arena, &program));
    TERN__FAIL_IF(!program, TERN_UNSUPPORTED, "the region is too large");
    tern__ocl_rows *rows = tern__arena_alloc(arena, sizeof *rows);
    if (!rows)
        return tern__out_of_memory(sizeof *rows);
    *rows =
        (tern__ocl_rows){.kind = {.name = kind->name, .write = tern__ocl_write_epilogue}, .program = program};
    *out = (tern__choice){.name = kind->name, .isa = "opencl", .program = rows, .work = 1};
    return TERN_OK;
}

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    bool found = false;
    const char *why;
    const tern__region *region =
        tern__op_code(call->op) == TERN__OP_fused ? call->attrs[TERN__ATTR_fused_body].region : NULL;
    (void)candidate;
    why = why_inexact(target, call);
    TERN__FAIL_IF(why, TERN_UNSUPPORTED, "%s", why);
    if (region && tern__region_has_product(region))
        return choose_epilogue(target, region, arena, out);
    TERN_TRY(choose_rows(target, call, arena, out, &found));
    if (found)
        return TERN_OK;
    const tern__ocl_kind *kind = tern__ocl_kind_of(call, &why);
    TERN__FAIL_IF(!kind, TERN_UNSUPPORTED, "%s", why);
    *out = (tern__choice){.name = kind->name, .isa = "opencl", .program = kind, .work = 1};
    return TERN_OK;
}

/* Programs that were built; kernels that are in use keep theirs, and what is needed again comes from the disk. Drivers do not say
 * how large they are. */
static size_t trim(tern__device *d, int level)
{
    const size_t keep = level >= 2 ? 0 : d->n_built / 2;
    while (level > 0 && d->n_built > keep)
        d->cl->ReleaseProgram(d->built[--d->n_built].program);
    return 0;
}

static const tern__target *target_of(const tern__device *device)
{
    return &device->target;
}

/* ---- making one ---- */

static void destroy(tern__device *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_built; i++)
        d->cl->ReleaseProgram(d->built[i].program);
    tern__free(d->built);
    tern__free(d->memory);
    tern__ocl_lanes_free(d);
    if (d->queue)
        d->cl->ReleaseCommandQueue(d->queue);
    if (d->context)
        d->cl->ReleaseContext(d->context);
    if (d->driver_files && d->compiled + d->loaded > 0)
        tern__ocl_note_driver_files(d->driver_files, d->made);
    tern__free(d->cache);
    tern__free(d->dump);
    tern__free(d->driver_files);
    tern__free(d);
}

static char *copy_text(const char *text)
{
    const size_t bytes = text ? strlen(text) + 1 : 0;
    char *out = text ? tern__alloc(bytes) : NULL;
    return out ? memcpy(out, text, bytes) : NULL;
}

static tern_status open_queue(tern__device *d)
{
    cl_int error = CL_SUCCESS;
    d->context = d->cl->CreateContext(NULL, 1, &d->cl->device, NULL, NULL, &error);
    if (!d->context)
        return tern__ocl_fail(d, "context", error);
    d->queue = d->cl->CreateCommandQueue(d->context, d->cl->device, 0, &error);
    if (!d->queue)
        return tern__ocl_fail(d, "queue", error);
    d->in_place = in_place;
    return TERN_OK;
}

static tern_status create(const tern__device_options *options, tern__device **out)
{
    const char *why;
    const tern__cl *cl = tern__cl_load(&why);
    TERN__FAIL_IF(!cl, TERN_UNAVAILABLE, "device 'opencl': %s", why);
    pthread_once(&once, ask_all);
    tern__device *d = tern__alloc_zero(1, sizeof *d);
    if (!d)
        return tern__out_of_memory(sizeof *d);
    d->cl = cl;
    d->cpu = (facts.type & CL_DEVICE_TYPE_CPU) != 0;
    d->units = facts.units > 0 ? (int)facts.units : 1;
    d->group_items = facts.group_items >= 256 ? 256 : facts.group_items >= 64 ? 64 : 8;
    d->local_bytes = (size_t)facts.local_bytes;
    d->most_bytes = options->memory;
    d->stop = options->stop;
    d->building = options->building;
    d->cache = copy_text(options->cache);
    d->dump = copy_text(options->dump);
    if (strstr(facts.driver, "Portable Computing Language"))
        d->driver_files = tern__ocl_driver_files(options);
    d->made = time(NULL);
    if (d->driver_files)
        tern__ocl_sweep_driver_files(d->driver_files);
    d->least_room = LEAST_ROOM;
    d->identity = facts.identity;
    d->rounding = facts.rounding;
    d->most_kept = TERN__OCL_MOST_KEPT;
    d->target = (tern__target){.name = "opencl",
                               .workers = options->threads,
                               .isa_mask = tern__isa_mask_within(tern__cpu(), options->isa_cap),
                               .pool = options->pool,
                               .choose = choose,
                               .fuses = fuses,
                               .data = d};
    const tern_status status = open_queue(d);
    if (status != TERN_OK) {
        destroy(d);
        return status;
    }
    *out = d;
    return TERN_OK;
}

/* ---- memory ---- */

static tern_status allocate(tern__device *d, size_t bytes, tern__block *out)
{
    cl_int error = CL_SUCCESS;
    TERN_TRY(tern__ocl_room_for(d, bytes));
    cl_mem memory = d->cl->CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                        bytes ? bytes : 1, NULL, &error);
    if (!memory)
        return tern__ocl_fail(d, "memory", error);
    d->used_bytes += bytes;
    *out = (tern__block){.handle = memory, .bytes = bytes};
    return TERN_OK;
}

static void release(tern__device *d, tern__block *block)
{
    if (block->handle) {
        d->cl->ReleaseMemObject(block->handle);
        d->used_bytes -= block->bytes;
    }
    *block = (tern__block){0};
}

static tern_status map(tern__device *d, tern__block *block, tern__access access, void **out)
{
    cl_int error = CL_SUCCESS;
    const cl_map_flags flags =
        (access & TERN__ACCESS_READ ? CL_MAP_READ : 0) | (access & TERN__ACCESS_WRITE ? CL_MAP_WRITE : 0);
    void *mapped = d->cl->EnqueueMapBuffer(d->queue, block->handle, CL_TRUE, flags, 0, block->bytes, 0, NULL,
                                           NULL, &error);
    if (!mapped)
        return tern__ocl_fail(d, "mapping", error);
    *out = mapped;
    return TERN_OK;
}

static tern_status synchronise(tern__device *d)
{
    const cl_int error = d->cl->Finish(d->queue);
    return error == CL_SUCCESS ? TERN_OK : tern__ocl_fail(d, "waiting for the device", error);
}

static tern_status unmap(tern__device *d, tern__block *block, void *mapped)
{
    const cl_int error = d->cl->EnqueueUnmapMemObject(d->queue, block->handle, mapped, 0, NULL, NULL);
    return error == CL_SUCCESS ? synchronise(d) : tern__ocl_fail(d, "unmapping", error);
}

static bool copies(const tern__device *d, const tern__code *code)
{
    (void)code;
    return !d->in_place;
}

/* ---- streams: queues of the context's; events: markers in them ---- */

static cl_command_queue queue_of(const tern__device *d, tern__stream *stream)
{
    return stream ? (cl_command_queue)(void *)stream : d->queue;
}

/* A processor's buffers are host memory: the caller copies as fast as memcpy, and no thread of the driver's has to be woken. What is
 * under way in the device's own queue is done first, as mapping waits for it. */
static tern_status copy_mapped(tern__device *d, const tern__block *to, size_t to_at, const tern__block *from,
                               size_t from_at, size_t bytes)
{
    const bool in = to->handle != NULL;
    cl_int error = CL_SUCCESS;
    const cl_mem memory = in ? to->handle : from->handle;
    char *mapped = d->cl->EnqueueMapBuffer(d->queue, memory, CL_TRUE, in ? CL_MAP_WRITE : CL_MAP_READ,
                                           in ? to_at : from_at, bytes, 0, NULL, NULL, &error);
    if (!mapped)
        return tern__ocl_fail(d, "copying", error);
    memcpy(in ? mapped : (char *)to->host + to_at, in ? (char *)from->host + from_at : mapped, bytes);
    error = d->cl->EnqueueUnmapMemObject(d->queue, memory, mapped, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = d->cl->Finish(d->queue);
    return error == CL_SUCCESS ? TERN_OK : tern__ocl_fail(d, "copying", error);
}

static tern_status copy(tern__device *d, tern__stream *stream, const tern__block *to, size_t to_at,
                        const tern__block *from, size_t from_at, size_t bytes)
{
    cl_command_queue queue = queue_of(d, stream);
    const cl_bool waits = stream ? CL_FALSE : CL_TRUE;
    cl_int error = CL_SUCCESS;
    TERN__FAIL_IF(to_at > to->bytes || bytes > to->bytes - to_at || from_at > from->bytes ||
                      bytes > from->bytes - from_at,
                  TERN_OUT_OF_RANGE, "opencl: a copy of %zu bytes leaves its blocks", bytes);
    if (bytes == 0)
        return TERN_OK;
    if (waits && d->in_place && !to->handle != !from->handle)
        return copy_mapped(d, to, to_at, from, from_at, bytes);
    if (to->handle && from->handle)
        error =
            d->cl->EnqueueCopyBuffer(queue, from->handle, to->handle, from_at, to_at, bytes, 0, NULL, NULL);
    else if (to->handle)
        error = d->cl->EnqueueWriteBuffer(queue, to->handle, waits, to_at, bytes,
                                          (char *)from->host + from_at, 0, NULL, NULL);
    else if (from->handle)
        error = d->cl->EnqueueReadBuffer(queue, from->handle, waits, from_at, bytes, (char *)to->host + to_at,
                                         0, NULL, NULL);
    else
        memmove((char *)to->host + to_at, (char *)from->host + from_at, bytes);
    if (error == CL_SUCCESS && waits && to->handle && from->handle)
        error = d->cl->Finish(queue);
    return error == CL_SUCCESS ? TERN_OK : tern__ocl_fail(d, "copying", error);
}

static tern_status stream_create(tern__device *d, tern__stream **out)
{
    cl_int error = CL_SUCCESS;
    cl_command_queue queue = d->cl->CreateCommandQueue(d->context, d->cl->device, 0, &error);
    if (!queue)
        return tern__ocl_fail(d, "stream", error);
    *out = (tern__stream *)(void *)queue;
    return TERN_OK;
}

static void stream_destroy(tern__device *d, tern__stream *stream)
{
    if (!stream)
        return;
    d->cl->Finish(queue_of(d, stream));
    d->cl->ReleaseCommandQueue(queue_of(d, stream));
}

static tern_status record(tern__device *d, tern__stream *stream, tern__event **out)
{
    cl_event event = NULL;
    cl_int error = d->cl->EnqueueMarkerWithWaitList(queue_of(d, stream), 0, NULL, &event);
    if (error == CL_SUCCESS)
        error = d->cl->Flush(queue_of(d, stream));
    if (error != CL_SUCCESS)
        return tern__ocl_fail(d, "event", error);
    *out = (tern__event *)(void *)event;
    return TERN_OK;
}

static tern_status wait_for(tern__device *d, tern__stream *stream, const tern__event *event)
{
    cl_event e = (cl_event)(uintptr_t)event;
    const cl_int error = d->cl->EnqueueBarrierWithWaitList(queue_of(d, stream), 1, &e, NULL);
    return error == CL_SUCCESS ? TERN_OK : tern__ocl_fail(d, "waiting for an event", error);
}

static tern_status synchronise_event(tern__device *d, const tern__event *event)
{
    cl_event e = (cl_event)(uintptr_t)event;
    const cl_int error = d->cl->WaitForEvents(1, &e);
    return error == CL_SUCCESS ? TERN_OK : tern__ocl_fail(d, "waiting for an event", error);
}

static void event_destroy(tern__device *d, tern__event *event)
{
    if (event)
        d->cl->ReleaseEvent((cl_event)(void *)event);
}

const tern__device_ops tern__device_opencl = {
    .name = "opencl",
    .backend = "opencl",
    .describe = describe,
    .create = create,
    .destroy = destroy,
    .target = target_of,
    .run = tern__ocl_run,
    .compile = tern__ocl_compile,
    .forget = tern__ocl_forget,
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
    .copies_inputs = copies,
    .stage = tern__ocl_stage,
    .trim = trim,
};

#endif

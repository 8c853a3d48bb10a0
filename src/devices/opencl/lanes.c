/* lanes.c - the queues of a device: one computes, one copies in, one copies out, each in its own order. Between them events say what
 * has to wait for what, so that a copy of what nobody needs yet, or writes any more, goes on beside kernels.
 *
 * While a trace is recorded, runs use queues that note times, and what the device says becomes events: kernels on the track of the
 * thread that runs the plan, copies on a track for each direction. The device's clock is not the host's; how far they are apart is
 * asked at the begin of every such run. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_lanes_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include "base/alloc.h"
#include "base/status.h"
#include "devices/trace_step.h"

/* Copies always note times: that is little beside what they take, and one begun ahead may be traced later. */
static cl_command_queue *place_of(tern__device *d, tern__ocl_lane_name lane)
{
    return &d->lanes[lane][lane != TERN__OCL_COMPUTE || d->timed];
}

tern_status tern__ocl_lane(tern__device *d, tern__ocl_lane_name lane, cl_command_queue *out)
{
    cl_command_queue *queue = place_of(d, lane);
    cl_int error = CL_SUCCESS;
    if (!*queue)
        *queue = d->cl->CreateCommandQueue(
            d->context, d->cl->device, queue == &d->lanes[lane][1] ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    *out = *queue;
    return *queue ? TERN_OK : tern__ocl_fail(d, "queue", error);
}

void tern__ocl_lanes_free(tern__device *d)
{
    for (int i = 0; i < TERN__OCL_LANES; i++)
        for (int timed = 0; timed < 2; timed++)
            if (d->lanes[i][timed])
                d->cl->ReleaseCommandQueue(d->lanes[i][timed]);
    tern__free(d->commands);
}

/* ---- times ---- */

static bool device_time(const tern__device *d, cl_event event, cl_profiling_info which, uint64_t *out)
{
    cl_ulong ns = 0;
    if (d->cl->GetEventProfilingInfo(event, which, sizeof ns, &ns, NULL) != CL_SUCCESS)
        return false;
    *out = (uint64_t)((int64_t)ns + d->clock_offset);
    return true;
}

/* Where the host's clock is when the device's is 0, and how far that may be off: a command's time of being queued lies between two
 * looks at the host's clock. */
static bool look_at_clocks(tern__device *d, cl_command_queue queue, int64_t *offset, uint64_t *width)
{
    cl_event event = NULL;
    cl_ulong queued = 0;
    const uint64_t before = tern__now_ns();
    if (d->cl->EnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        return false;
    const uint64_t after = tern__now_ns();
    d->cl->WaitForEvents(1, &event);
    const bool known = d->cl->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof queued,
                                                    &queued, NULL) == CL_SUCCESS;
    d->cl->ReleaseEvent(event);
    *offset = (int64_t)(before + (after - before) / 2) - (int64_t)queued;
    *width = after - before;
    return known;
}

/* A thread may lose its core between the two looks, for milliseconds on a busy machine, which would move all times of the run by as
 * much: the closest pair of a few counts. */
static void compare_clocks(tern__device *d, cl_command_queue queue)
{
    enum { MOST_LOOKS = 8, CLOSE_NS = 20000 };
    uint64_t closest = UINT64_MAX;
    d->clock_offset = 0;
    for (int i = 0; i < MOST_LOOKS && closest > CLOSE_NS; i++) {
        int64_t offset = 0;
        uint64_t width = 0;
        if (!look_at_clocks(d, queue, &offset, &width))
            return;
        if (width < closest) {
            closest = width;
            d->clock_offset = offset;
        }
    }
}

tern_status tern__ocl_lanes_begin(tern__device *d, tern__transfer *transfer)
{
    cl_command_queue queue;
    d->traced = tern__trace_on();
    d->transfer = transfer;
    d->timed = d->traced || transfer;
    d->run_began = d->timed ? tern__now_ns() : 0;
    if (!d->timed)
        return TERN_OK;
    TERN_TRY(tern__ocl_lane(d, TERN__OCL_COMPUTE, &queue));
    compare_clocks(d, queue);
    return TERN_OK;
}

/* A copy that was begun before somebody asked has bytes and no time. */
static void note_transfer(tern__device *d, const tern__ocl_command *c)
{
    tern__transfer *t = d->transfer;
    uint64_t start = 0, end = 0;
    if (c->lane == TERN__OCL_COMPUTE)
        return;
    if (!device_time(d, c->event, CL_PROFILING_COMMAND_START, &start) ||
        !device_time(d, c->event, CL_PROFILING_COMMAND_END, &end))
        start = end = 0;
    *(c->lane == TERN__OCL_IN ? &t->in_bytes : &t->out_bytes) += c->bytes;
    *(c->lane == TERN__OCL_IN ? &t->in_ns : &t->out_ns) += end > start ? end - start : 0;
}

static void trace_command(tern__device *d, const tern__plan *plan, const tern__ocl_command *c, uint64_t now)
{
    uint64_t start, end;
    if (!device_time(d, c->event, CL_PROFILING_COMMAND_START, &start) ||
        !device_time(d, c->event, CL_PROFILING_COMMAND_END, &end))
        return; /* it was begun before somebody listened */
    end = end < now ? end : now;
    if (c->lane != TERN__OCL_COMPUTE) {
        start = start < end ? start : end;
        tern__trace_record_on(&d->tracks[c->lane], start, end,
                              &(tern__trace_what){.name = c->lane == TERN__OCL_IN ? "copy in" : "copy out",
                                                  .category = "copy",
                                                  .step = UINT32_MAX,
                                                  .bytes = c->bytes});
        return;
    }
    const tern__trace_what what = tern__trace_of_step(plan, c->step);
    start = start > d->run_began ? start : d->run_began;
    tern__trace_record_past(start < end ? start : end, end, &what);
}

/* ---- what was begun ---- */

tern_status tern__ocl_command_add(tern__device *d, const tern__ocl_command *command)
{
    if (!tern__grow((void **)&d->commands, &d->cap_commands, d->n_commands + 1, sizeof *d->commands)) {
        d->cl->WaitForEvents(1, &command->event);
        d->cl->ReleaseEvent(command->event);
        return tern__out_of_memory(sizeof *d->commands);
    }
    d->commands[d->n_commands++] = *command;
    return TERN_OK;
}

cl_int tern__ocl_finish(tern__device *d, bool all)
{
    static const tern__ocl_lane_name order[] = {TERN__OCL_COMPUTE, TERN__OCL_OUT, TERN__OCL_IN};
    cl_int error = CL_SUCCESS;
    for (size_t i = 0; i < TERN__COUNT(order) - !all; i++) {
        const cl_command_queue queue = *place_of(d, order[i]);
        if (!queue)
            continue;
        const cl_int finished = d->cl->Finish(queue);
        error = error == CL_SUCCESS ? finished : error;
    }
    return error;
}

cl_int tern__ocl_aborted(const tern__device *d)
{
    for (size_t i = 0; i < d->n_commands; i++) {
        cl_int status = CL_COMPLETE;
        const cl_int error = d->cl->GetEventInfo(d->commands[i].event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                 sizeof status, &status, NULL);
        if (error == CL_SUCCESS && status < 0)
            return status;
    }
    return CL_SUCCESS;
}

void tern__ocl_lanes_end(tern__device *d, const tern__plan *plan)
{
    const uint64_t now = d->traced ? tern__now_ns() : 0;
    if (d->transfer)
        *d->transfer = (tern__transfer){.told = true};
    for (size_t i = 0; d->transfer && i < d->n_commands; i++)
        note_transfer(d, &d->commands[i]);
    for (int copies = 0; d->traced && copies < 2;
         copies++) /* the thread's own track comes before the device's */
        for (size_t i = 0; i < d->n_commands; i++)
            if ((d->commands[i].lane != TERN__OCL_COMPUTE) == copies)
                trace_command(d, plan, &d->commands[i], now);
    for (size_t i = 0; i < d->n_commands; i++)
        d->cl->ReleaseEvent(d->commands[i].event);
    d->n_commands = 0;
    d->timed = d->traced = false;
    d->transfer = NULL;
}

#endif

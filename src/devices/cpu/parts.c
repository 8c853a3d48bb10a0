/* parts.c - a worker's part of a call.
 *
 * Items are split evenly. Cores do not run evenly: another program has one of them for a moment, or its memory answers later,
 * and all others would wait at the barrier. So where a kernel may be called again and again at no cost, the last quarter of
 * each share is claimed piece by piece, by its own worker first, then by whoever has nothing left to do. Which worker computes
 * an item never shows in a bit of it. */
#include "devices/cpu/cpu.h"

enum {
    CLAIMED = 4, /* one in so many items */
    PIECES = 8,  /* of what is claimed of a share */
};

typedef struct range {
    int64_t begin, end;
} range;

static range share_of(const tern__cpu_work *work, int part)
{
    const int64_t share = work->items / work->parts, rest = work->items % work->parts;
    const int64_t begin = share * part + (part < rest ? part : rest);
    return (range){begin, begin + share + (part < rest)};
}

/* What of a share is claimed. */
static range tail_of(const tern__cpu_work *work, range share)
{
    return (range){work->claims ? share.end - (share.end - share.begin) / CLAIMED : share.end, share.end};
}

/* The next piece of a tail; false: nothing is left. */
static bool claim(tern__cpu_claim *of, range tail, range *out)
{
    const int64_t items = tail.end - tail.begin, piece = (items + PIECES - 1) / PIECES;
    const int64_t i = atomic_fetch_add_explicit(&of->next, 1, memory_order_relaxed);
    *out = (range){tail.begin + i * piece, tail.begin + (i + 1) * piece};
    if (out->end > tail.end)
        out->end = tail.end;
    return out->begin < out->end;
}

tern_status tern__cpu_run_part(const tern__device *device, const tern__cpu_work *work, bool finishing,
                               int part, tern__fault *fault)
{
    const range share = share_of(work, part);
    if (share.begin >= share.end)
        return TERN_OK;
    const tern__kernel_fn run = finishing ? work->kernel->finish : work->kernel->run;
    tern__kernel_args args = work->args;
    if (work->scratch)
        args.scratch = work->scratch + (size_t)part * work->scratch_stride;
    else if (args.program)
        args.scratch = device->scratch_memory + (size_t)part * TERN__CPU_SCRATCH_BYTES;
    tern_status status = run(&args, share.begin, tail_of(work, share).begin);
    for (int i = 0; work->claims && i < work->parts; i++) {
        const int owner = (part + i) % work->parts;
        const range tail = tail_of(work, share_of(work, owner));
        for (range piece; status == TERN_OK && claim(&work->claims[owner], tail, &piece);)
            status = run(&args, piece.begin, piece.end);
    }
    *fault = args.fault;
    return status;
}

/* parts.c - a worker's part of a call.
 *
 * Items are split evenly, at multiples of a line of the cache in every result, so that no two workers write to one; but where whole
 * lines would make the longest share longer by more than one part in COARSE: there the line at a border is shared. Cores
 * do not run evenly: another program has one of them for a moment, or its memory answers later, and all others would wait at the
 * barrier. So where a kernel may be called again and again at no cost, the last quarter of
 * each share is claimed piece by piece, by its own worker first, then by whoever has nothing left to do. Which worker computes
 * an item never shows in a bit of it; nor does it show if a run that may be stopped computes its items in slices. */
#include "base/clock.h"
#include "base/status.h"
#include "devices/cpu/cpu.h"

enum {
    CLAIMED = 4, /* one in so many items */
    PIECES = 8,  /* of what is claimed of a share */
    LINE = 64,   /* bytes */
    COARSE = 16, /* the longest share grows by at most one part in so many for the sake of whole lines */
};

typedef struct range {
    int64_t begin, end;
} range;

/* Items whose bytes of this result are whole lines together, if each has as many bytes as the next: rows, or numbers of rows. */
static int64_t unit_of_result(const tern__buffer *out, int64_t items)
{
    const uint64_t bytes = tern__type_bytes(out->type), n = (uint64_t)items, each = bytes / n,
                   even = each & (~each + 1);
    return bytes % n == 0 && even > 0 && even < LINE ? LINE / (int64_t)even : 1;
}

/* The most items of a share, if they are split at multiples of `unit`. */
static int64_t longest(const tern__cpu_work *work, int64_t unit)
{
    const int64_t units = work->items / unit + (work->items % unit != 0),
                  most = units / work->parts + (units % work->parts != 0);
    return most * unit < work->items ? most * unit : work->items;
}

/* Of all results: units are powers of two, so that the largest will do. Four rows of a million elements, say, have results on one
 * line: by whole lines one worker would have all of them. */
static int64_t unit_of(const tern__cpu_work *work)
{
    int64_t unit = 1;
    for (int i = 0; i < work->args.n_out && work->items > 0; i++) {
        const int64_t of_this = unit_of_result(&work->args.out[i], work->items);
        unit = of_this > unit ? of_this : unit;
    }
    return longest(work, unit) - longest(work, 1) <= longest(work, 1) / COARSE ? unit : 1;
}

static range share_of(const tern__cpu_work *work, int64_t unit, int part)
{
    const int64_t units = work->items / unit + (work->items % unit != 0), share = units / work->parts,
                  rest = units % work->parts, begin = share * part + (part < rest ? part : rest),
                  end = (begin + share + (part < rest)) * unit;
    return (range){begin * unit < work->items ? begin * unit : work->items,
                   end < work->items ? end : work->items};
}

int64_t tern__cpu_part_begin(const tern__cpu_work *work, int part)
{
    return share_of(work, unit_of(work), part).begin;
}

/* What of a share is claimed. */
static range tail_of(const tern__cpu_work *work, int64_t unit, range share)
{
    const int64_t items = share.end - share.begin, own = work->claims_all ? 0 : items - items / CLAIMED;
    return (range){work->claims ? share.begin + own / unit * unit : share.end, share.end};
}

/* The next piece of a tail; false: nothing is left. */
static bool claim(tern__cpu_claim *of, int64_t unit, range tail, range *out)
{
    const int64_t items = tail.end - tail.begin, each = (items + PIECES - 1) / PIECES,
                  piece = (each + unit - 1) / unit * unit;
    const int64_t i = atomic_fetch_add_explicit(&of->next, 1, memory_order_relaxed);
    *out = (range){tail.begin + i * piece, tail.begin + (i + 1) * piece};
    if (out->end > tail.end)
        out->end = tail.end;
    return out->begin < out->end;
}

/* The next piece of what is claimed of the `*turn`th share, counted from the part's own, or of one after it. */
static bool next_piece(const tern__cpu_work *work, int64_t unit, int part, int *turn, range *out)
{
    for (; work->claims && *turn < work->parts; ++*turn) {
        const int owner = (part + *turn) % work->parts;
        if (claim(&work->claims[owner], unit, tail_of(work, unit, share_of(work, unit, owner)), out))
            return true;
    }
    return false;
}

bool tern__cpu_next_piece(const tern__cpu_work *work, int part, int *turn, int64_t *begin, int64_t *end)
{
    range piece;
    if (!next_piece(work, unit_of(work), part, turn, &piece))
        return false;
    *begin = piece.begin;
    *end = piece.end;
    return true;
}

/* A slice that took less than this is followed by a larger one. */
static const uint64_t slice_ns = 25000000;

static tern_status run_range(const tern__cpu_work *work, tern__kernel_fn run, int64_t unit, range r,
                             tern__kernel_args *args)
{
    if (TERN__LIKELY(!work->stop.asked))
        return run(args, r.begin, r.end);
    for (int64_t begin = r.begin, slice = unit, end; begin < r.end; begin = end) {
        if (work->stop.asked(work->stop.user))
            return TERN_CANCELLED;
        end = slice < r.end - begin ? begin + slice : r.end;
        const uint64_t start = tern__now_ns();
        tern_status status = run(args, begin, end);
        if (status != TERN_OK)
            return status;
        slice *= tern__now_ns() - start < slice_ns && slice < r.end ? 2 : 1;
    }
    return TERN_OK;
}

tern_status tern__cpu_run_part(const tern__device *device, const tern__cpu_work *work, bool finishing,
                               int part, tern__fault *fault)
{
    const int64_t unit = unit_of(work);
    const range share = share_of(work, unit, part);
    if (share.begin >= share.end)
        return TERN_OK;
    const tern__kernel_fn run = finishing ? work->kernel->finish : work->kernel->run;
    tern__kernel_args args = work->args;
    if (work->scratch)
        args.scratch = work->scratch + (size_t)part * work->scratch_stride;
    else if (args.program)
        args.scratch = device->scratch_memory + (size_t)part * TERN__CPU_SCRATCH_BYTES;
    args.next = work->claims ? NULL : work->next; /* else it goes on with the tail, which follows */
    const range tail = tail_of(work, unit, share);
    tern_status status = run_range(work, run, unit, (range){share.begin, tail.begin}, &args);
    int turn = 0;
    for (range piece; status == TERN_OK && next_piece(work, unit, part, &turn, &piece);) {
        args.next = turn == 0 && piece.end < tail.end ? NULL : work->next;
        status = run_range(work, run, unit, piece, &args);
    }
    *fault = args.fault;
    return status;
}

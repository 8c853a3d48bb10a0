/* limits.c - a limit's memory, the division of its work between workers, and the names of its ways. */
#include "measure/limits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/cpu.h"
#include "base/names.h"
#include "base/status.h"
#include "measure/probes.h"

enum {
    PIECE_LINES = 64,        /* of the larger side of a copy's piece */
    WORKERS_MOST = 256,      /* with a sink each */
    REPETITIONS_LEAST = 500, /* some microseconds */
    REPETITIONS_MOST = 400000,
};

struct tern__limit {
    tern__threads *threads;
    int workers;
    const tern__probes *probes;
    tern__limit_work work;
    void *pages; /* own memory */
    size_t pages_bytes;
    const char *from;
    char *to;
    int64_t lines; /* READ_BW */
    tern__copy_piece piece;
    int64_t pieces;
    int64_t repetitions; /* of each worker */
    double scale;
    int way; /* of the run that is on */
    char name[96];
    _Alignas(64) uint64_t sinks[WORKERS_MOST][8];
};

const char *tern_limit_name(tern_limit_kind kind)
{
    static const char *const names[] = {
#define NAME(id, number, name, counts) [number] = name,
        TERN_LIMIT_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)kind);
}

/* ---- making ---- */

static void fill_worker(void *arg, int worker, int workers);

/* Pages, which fill_pages has to write: those that were only mapped all read the same zeros, from the cache. */
static tern_status take_pages(tern__limit *l, size_t bytes)
{
    const size_t huge = (size_t)2 << 20, least = bytes < huge ? tern__page_size() : huge;
    if (!tern__size_add(bytes, least - 1, &bytes))
        return tern__out_of_memory(bytes);
    bytes -= bytes % least;
    l->pages = tern__pages_map(bytes, true);
    if (!l->pages)
        return tern__out_of_memory(bytes);
    l->pages_bytes = bytes;
    return TERN_OK;
}

/* Every worker writes first what it will read and write in a run. Where memory has several nodes, a page is on that of who wrote it
 * first, and a limit from one node would not be the machine's. */
static void fill_pages(tern__limit *l)
{
    tern__threads_run(l->threads, l->workers, fill_worker, l);
}

static tern_status make_read(tern__limit *l)
{
    const tern__limit_work *w = &l->work;
    TERN__FAIL_IF(w->read_bytes < TERN__LINE, TERN_INVALID_ARGUMENT, "limit: %lld bytes are nothing to read",
                  (long long)w->read_bytes);
    l->lines = w->read_bytes / TERN__LINE;
    l->from = w->memory;
    if (!l->from) {
        TERN_TRY(take_pages(l, (size_t)l->lines * TERN__LINE));
        l->from = l->pages;
        fill_pages(l);
    }
    l->scale = (double)w->read_bytes / (double)(l->lines * TERN__LINE);
    return TERN_OK;
}

static tern_status make_copy(tern__limit *l)
{
    const tern__limit_work *w = &l->work;
    const int64_t large = w->read_bytes > w->write_bytes ? w->read_bytes : w->write_bytes;
    TERN__FAIL_IF(w->read_bytes < 0 || w->write_bytes < 0 || large < TERN__LINE, TERN_INVALID_ARGUMENT,
                  "limit: %lld bytes to read and %lld to write are nothing to copy", (long long)w->read_bytes,
                  (long long)w->write_bytes);
    const double lines = (double)large / TERN__LINE, side = fmin(PIECE_LINES, floor(lines));
    l->piece.read = (int)lrint(side * (double)w->read_bytes / (double)large);
    l->piece.write = (int)lrint(side * (double)w->write_bytes / (double)large);
    l->pieces = (int64_t)(lines / side);
    const int64_t moved = (l->piece.read + l->piece.write) * l->pieces * TERN__LINE;
    const size_t read = (size_t)(l->piece.read * l->pieces * TERN__LINE);
    TERN_TRY(take_pages(l, (size_t)moved));
    l->from = l->pages;
    l->to = (char *)l->pages + read;
    fill_pages(l);
    l->scale = (double)(w->read_bytes + w->write_bytes) / (double)moved;
    return TERN_OK;
}

static tern_status make_peak(tern__limit *l)
{
    const bool fma = l->work.kind == TERN_LIMIT_FMA;
    const double each = fma ? l->probes->fma_operations : l->probes->dot_operations;
    TERN__FAIL_IF(!(fma ? l->probes->fma : l->probes->dot), TERN_UNAVAILABLE,
                  "unavailable: these instruction sets have no probe of %s", tern_limit_name(l->work.kind));
    TERN__FAIL_IF(!(l->work.operations > 0), TERN_INVALID_ARGUMENT, "limit: no operations are nothing to do");
    const double wanted = l->work.operations / each / l->workers;
    l->repetitions = (int64_t)fmin(fmax(wanted, REPETITIONS_LEAST), REPETITIONS_MOST);
    l->scale = l->work.operations / ((double)l->repetitions * each * l->workers);
    return TERN_OK;
}

tern_status tern__limit_create(tern__threads *threads, int workers, const tern__limit_work *work,
                               tern__limit **out)
{
    TERN__FAIL_IF(workers < 1 || workers > tern__threads_count(threads) || workers > WORKERS_MOST,
                  TERN_INVALID_ARGUMENT, "limit: %d workers", workers);
    TERN__FAIL_IF((unsigned)work->kind > TERN_LIMIT_INT8_DOT, TERN_INVALID_ARGUMENT,
                  "limit: there is no kind %d", (int)work->kind);
    tern__limit *l = tern__alloc_aligned(sizeof *l, 64);
    if (!l)
        return tern__out_of_memory(sizeof *l);
    memset(l, 0, sizeof *l);
    l->threads = threads;
    l->workers = workers;
    l->work = *work;
    l->probes = tern__probes_select(work->isa_mask ? work->isa_mask : UINT32_MAX);
    tern_status status = work->kind == TERN_LIMIT_READ_BW   ? make_read(l)
                         : work->kind == TERN_LIMIT_COPY_BW ? make_copy(l)
                                                            : make_peak(l);
    if (status != TERN_OK) {
        tern__limit_destroy(l);
        return status;
    }
    *out = l;
    return TERN_OK;
}

void tern__limit_destroy(tern__limit *limit)
{
    if (!limit)
        return;
    tern__pages_unmap(limit->pages, limit->pages_bytes);
    tern__free(limit);
}

/* ---- ways ---- */

/* Reading part by part is a second order for each way, if there are several workers and several parts. */
static bool by_parts(const tern__limit *l)
{
    return l->workers > 1 && l->work.share >= TERN__LINE * l->workers && l->work.share < l->work.read_bytes;
}

int tern__limit_ways(const tern__limit *limit)
{
    switch (limit->work.kind) {
    case TERN_LIMIT_READ_BW:
        return by_parts(limit) ? 2 * TERN__READ_WAYS : TERN__READ_WAYS;
    case TERN_LIMIT_COPY_BW:
        return TERN__COPY_WAYS;
    default:
        return 1;
    }
}

const char *tern__limit_way_name(tern__limit *limit, int way)
{
    char *name = limit->name;
    const size_t room = sizeof limit->name;
    if (limit->work.kind == TERN_LIMIT_READ_BW) {
        const tern__read_way *w = &tern__read_ways[way % TERN__READ_WAYS];
        const int used = snprintf(name, room, "%d stream%s of %d lines, %d bytes ahead", w->streams,
                                  w->streams > 1 ? "s" : "", w->lines, w->ahead);
        if (w->block > 0)
            snprintf(name + used, room - (size_t)used, ", blocks of %d lines%s", w->block,
                     way >= TERN__READ_WAYS ? ", part by part" : "");
        else if (way >= TERN__READ_WAYS)
            snprintf(name + used, room - (size_t)used, ", part by part");
    } else if (limit->work.kind == TERN_LIMIT_COPY_BW) {
        const tern__copy_way *w = &tern__copy_ways[way];
        const int places = w->places > 1 ? snprintf(name, room, "%d places, ", w->places) : 0;
        snprintf(name + places, room - (size_t)places, "%d stream%s, %s stores, %d bytes ahead", w->streams,
                 w->streams > 1 ? "s" : "", w->past ? "non-temporal" : "plain", w->ahead);
    } else {
        snprintf(name, room, "chains on registers");
    }
    return name;
}

/* Of n lines or pieces, those of a worker: [begin, end). */
typedef struct share {
    int64_t begin, end;
} share;

static share share_of(int64_t n, int worker, int workers)
{
    return (share){n * worker / workers, n * (worker + 1) / workers};
}

static void fill_worker(void *arg, int worker, int workers)
{
    const tern__limit *l = arg;
    const bool copies = l->work.kind == TERN_LIMIT_COPY_BW;
    const share s = share_of(copies ? l->pieces : l->lines, worker, workers);
    const int64_t read = copies ? l->piece.read : 1, write = copies ? l->piece.write : 0;
    char *from = l->pages;
    memset(from + s.begin * read * TERN__LINE, 1, (size_t)((s.end - s.begin) * read * TERN__LINE));
    if (write > 0)
        memset(l->to + s.begin * write * TERN__LINE, 1, (size_t)((s.end - s.begin) * write * TERN__LINE));
}

static void read_part(tern__limit *l, int worker, int workers, int64_t first, int64_t lines)
{
    const share s = share_of(lines, worker, workers);
    l->probes->read(l->way % TERN__READ_WAYS, l->from + (first + s.begin) * TERN__LINE, s.end - s.begin,
                    l->sinks[worker]);
}

static void run_worker(void *arg, int worker, int workers)
{
    tern__limit *l = arg;
    switch (l->work.kind) {
    case TERN_LIMIT_READ_BW: {
        const int64_t part = l->way >= TERN__READ_WAYS ? l->work.share / TERN__LINE : l->lines;
        for (int pass = 0; pass == 0 || pass < l->work.passes; pass++)
            for (int64_t at = 0; at < l->lines; at += part)
                read_part(l, worker, workers, at, l->lines - at < part ? l->lines - at : part);
        break;
    }
    case TERN_LIMIT_COPY_BW: {
        const share s = share_of(l->pieces, worker, workers);
        l->probes->copy(l->way, l->from + s.begin * l->piece.read * TERN__LINE,
                        l->to + s.begin * l->piece.write * TERN__LINE, l->piece, s.end - s.begin,
                        l->sinks[worker]);
        break;
    }
    case TERN_LIMIT_FMA:
        l->probes->fma(l->repetitions);
        break;
    case TERN_LIMIT_INT8_DOT:
        l->probes->dot(l->repetitions);
        break;
    }
}

void tern__limit_run(tern__limit *limit, int way)
{
    limit->way = way;
    tern__threads_run(limit->threads, limit->workers, run_worker, limit);
}

static int32_t log2_of(int64_t bytes)
{
    return bytes > 0 ? ilogb((double)bytes) : -1;
}

tern__limit_likeness tern__limit_likeness_of(const tern__limit *limit)
{
    const tern__limit_work *w = &limit->work;
    return (tern__limit_likeness){.kind = (int32_t)w->kind,
                                  .workers = limit->workers,
                                  .ways = tern__limit_ways(limit),
                                  .read_log2 = log2_of(w->read_bytes),
                                  .write_log2 = log2_of(w->write_bytes),
                                  .share_log2 = log2_of(w->share),
                                  .isa_mask = w->isa_mask};
}

double tern__limit_scale(const tern__limit *limit)
{
    return limit->scale;
}

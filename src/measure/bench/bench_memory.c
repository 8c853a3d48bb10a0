/* bench_memory.c - the suites `alloc` and `transfer`: blocks from the pool and the heap, and bytes to, from and within tensors. */
#include <stdio.h>
#include <string.h>

#include <tern/ops.h>
#include <tern/pool.h>
#include <tern/program.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "measure/bench/bench.h"

static tern_status time_first(tern__cell *cell)
{
    const uint64_t start = tern__now_ns();
    TERN_TRY(cell->bench->suite->run(cell->state));
    cell->first_s = (double)(tern__now_ns() - start) * 1e-9;
    return TERN_OK;
}

/* ---- alloc: a block is asked for and given back, by every thread at once ---- */

typedef enum source { FROM_POOL, FROM_HEAP, FROM_SYSTEM } source;

static const struct {
    const char *family, *name;
    source source;
} sources[] = {
    {"pool", "get and put", FROM_POOL},
    {"heap", "get and free", FROM_HEAP},
    {"system", "pages, touched", FROM_SYSTEM},
};
static const int64_t alloc_sizes[] = {64, 4 << 10, 64 << 10, 1 << 20, 16 << 20};
enum { SOURCES = TERN__COUNT(sources), ALLOC_SIZES = TERN__COUNT(alloc_sizes), WORKERS_MOST = 64 };

typedef struct alloc_state {
    tern__threads *threads;
    tern_pool *pool;
    source source;
    size_t bytes;
    int workers;
    bool failed[WORKERS_MOST];
} alloc_state;

static tern_status describe_alloc(const tern__bench *bench, int i, tern__cell *cell)
{
    (void)bench;
    TERN__FAIL_IF(i < 0 || i >= (int)(SOURCES * ALLOC_SIZES), TERN_OUT_OF_RANGE, "bench: there is no case %d",
                  i);
    cell->row.family = sources[i / (int)ALLOC_SIZES].family;
    cell->row.name = sources[i / (int)ALLOC_SIZES].name;
    snprintf(cell->shape, sizeof cell->shape, "u8[%lld]", (long long)alloc_sizes[i % (int)ALLOC_SIZES]);
    return TERN_OK;
}

static tern_status prepare_alloc(int i, tern__cell *cell)
{
    alloc_state *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    cell->state = s;
    s->source = sources[i / (int)ALLOC_SIZES].source;
    s->bytes = (size_t)alloc_sizes[i % (int)ALLOC_SIZES];
    s->threads = cell->bench->pool;
    return tern_pool_create(NULL, &s->pool);
}

static void *take_block(alloc_state *s)
{
    void *block = NULL;
    if (s->source == FROM_POOL)
        return tern_pool_get(s->pool, s->bytes, 0, &block) == TERN_OK ? block : NULL;
    if (s->source == FROM_HEAP)
        return tern__alloc(s->bytes);
    size_t pages = (s->bytes + tern__page_size() - 1) / tern__page_size() * tern__page_size();
    unsigned char *fresh = tern__pages_map(pages, false);
    for (size_t at = 0; fresh && at < pages; at += tern__page_size())
        fresh[at] = 1;
    return fresh;
}

static void give_block(alloc_state *s, void *block)
{
    if (s->source == FROM_POOL)
        tern_pool_put(s->pool, block);
    else if (s->source == FROM_HEAP)
        tern__free(block);
    else
        tern__pages_unmap(block, (s->bytes + tern__page_size() - 1) / tern__page_size() * tern__page_size());
}

static void work(void *user, int worker, int workers)
{
    (void)workers;
    alloc_state *s = user;
    void *block = take_block(s);
    s->failed[worker] |= !block;
    if (block) {
        *(volatile unsigned char *)block = 1;
        give_block(s, block);
    }
}

static tern_status run_alloc(void *user)
{
    alloc_state *s = user;
    tern__threads_run(s->threads, s->workers, work, s);
    for (int w = 0; w < s->workers; w++)
        TERN__FAIL_IF(s->failed[w], TERN_OUT_OF_MEMORY, "bench: a block of %zu bytes was refused", s->bytes);
    return TERN_OK;
}

/* Two blocks at once are two, and keep what is written to them. */
static tern_status check_blocks(alloc_state *s)
{
    unsigned char *a = take_block(s), *b = take_block(s);
    bool fine = a && b;
    if (fine) {
        memset(a, 1, s->bytes);
        memset(b, 2, s->bytes);
        fine = a[0] == 1 && a[s->bytes - 1] == 1 && b[0] == 2 && b[s->bytes - 1] == 2;
    }
    if (a)
        give_block(s, a);
    if (b)
        give_block(s, b);
    TERN__FAIL_IF(!fine, TERN_INTERNAL, "bench: blocks of %zu bytes overlap or are refused", s->bytes);
    return TERN_OK;
}

static tern_status ready_alloc(tern__cell *cell, int threads)
{
    alloc_state *s = cell->state;
    TERN_TRY(check_blocks(s));
    s->workers = threads;
    return time_first(cell);
}

static void close_alloc(tern__cell *cell)
{
    alloc_state *s = cell->state;
    if (!s)
        return;
    tern_pool_destroy(s->pool);
    tern__free(s);
}

const tern__suite tern__suite_alloc = {
    .name = "alloc",
    .cpu_only = "suite 'alloc' measures the host",
    .what = "blocks that are asked for and given back, by every thread at once",
    .no_limit = "asking for memory moves no bytes and computes nothing",
    .describe = describe_alloc,
    .prepare = prepare_alloc,
    .ready = ready_alloc,
    .run = run_alloc,
    .close = close_alloc,
};

/* ---- transfer: bytes into tensors, out of them, and from one layout to another ---- */

typedef enum way { INTO, OUT_OF, CONTIGUOUS, STRIDED, CAST } way;

static const struct {
    const char *family, *name;
    way way;
} ways[] = {
    {"host", "into a tensor", INTO},      {"host", "out of a tensor", OUT_OF},
    {"layout", "contiguous", CONTIGUOUS}, {"layout", "strided", STRIDED},
    {"layout", "cast to f16", CAST},
};
static const int64_t transfer_rows[] = {16, 1024, 8192}; /* of 1024 floats */
enum { WAYS = TERN__COUNT(ways), ROWS = TERN__COUNT(transfer_rows), COLUMNS = 1024 };

typedef struct transfer_state {
    tern_ctx *ctx;
    way way;
    int64_t shape[2];
    float *host;         /* what is brought, or room for what comes */
    tern_tensor *source; /* kept */
    tern_program *program;
    tern_exec *exec;
} transfer_state;

/* Large ones are cut to what may be used. */
static int64_t rows_of(const tern__bench *bench, int i)
{
    const int64_t most = bench->o.memory / 2 / (COLUMNS * (int64_t)sizeof(float)),
                  rows = transfer_rows[i % (int)ROWS];
    return rows < most ? rows : most > 1 ? most : 1;
}

/* Whether `memory` cuts it to what a smaller one has already: those are one case, and one row. */
static bool is_cut_to_another(const tern__bench *bench, int i)
{
    const int size = i % (int)ROWS;
    return size > 0 && rows_of(bench, i) == rows_of(bench, i - 1);
}

/* Case i of those that differ. -1: past the last. */
static int transfer_case(const tern__bench *bench, int i)
{
    for (int k = 0; k < (int)(WAYS * ROWS); k++)
        if (!is_cut_to_another(bench, k) && i-- == 0)
            return k;
    return -1;
}

static tern_status describe_transfer(const tern__bench *bench, int i, tern__cell *cell)
{
    const int k = transfer_case(bench, i);
    TERN__FAIL_IF(k < 0, TERN_OUT_OF_RANGE, "bench: there is no case %d", i);
    cell->row.family = ways[k / (int)ROWS].family;
    cell->row.name = ways[k / (int)ROWS].name;
    cell->strided = ways[k / (int)ROWS].way == STRIDED;
    cell->row.limit_kind = tern_limit_name(TERN_LIMIT_COPY_BW);
    snprintf(cell->shape, sizeof cell->shape, "f32[%lld,%d]", (long long)rows_of(bench, k), COLUMNS);
    return TERN_OK;
}

static tern_status prepare_transfer(int i, tern__cell *cell)
{
    transfer_state *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    cell->state = s;
    s->ctx = cell->bench->ctx;
    i = transfer_case(cell->bench, i);
    s->way = ways[i / (int)ROWS].way;
    s->shape[0] = rows_of(cell->bench, i);
    s->shape[1] = COLUMNS;
    s->host = tern__alloc_zero((size_t)s->shape[0], COLUMNS * sizeof(float));
    if (!s->host)
        return tern__out_of_memory((size_t)s->shape[0] * COLUMNS * sizeof(float));
    TERN_SCOPE(s->ctx) {
        tern_tensor *t = tern_randn(s->ctx, TERN_F32, 2, s->shape, 5);
        TERN_TRY(tern_eval(t));
        s->source = tern_keep(t);
    }
    return tern_read(s->source, s->host, tern_nbytes(s->source));
}

static tern_status compile_transfer(transfer_state *s, int threads)
{
    tern_compile_options options = tern_compile_options_default();
    options.threads = threads;
    tern_exec_free(s->exec);
    tern_program_free(s->program);
    s->exec = NULL;
    s->program = NULL;
    TERN_SCOPE(s->ctx) {
        tern_tensor *x = tern_input(s->ctx, "x", TERN_F32, 2, s->shape);
        tern_tensor *y = s->way == STRIDED ? tern_contiguous(tern_transpose(x, 0, 1))
                         : s->way == CAST  ? tern_cast(x, TERN_F16)
                                           : tern_contiguous(x);
        TERN_TRY(tern_compile(s->ctx, 1, &y, NULL, &options, &s->program));
    }
    return tern_exec_create(s->ctx, s->program, &s->exec);
}

static tern_status run_transfer(void *user)
{
    transfer_state *s = user;
    tern_tensor *out;
    if (s->way == OUT_OF)
        return tern_read(s->source, s->host, tern_nbytes(s->source));
    if (s->way == INTO) {
        out = tern_from_data(s->ctx, TERN_F32, 2, s->shape, s->host);
        tern_status status = tern_status_of(out);
        tern_release(out);
        return status;
    }
    TERN_TRY(tern_exec_run(s->exec, 1, &s->source, 1, &out));
    tern_release(out);
    return TERN_OK;
}

static tern_status run_transfer_anew(void *user)
{
    transfer_state anew = *(transfer_state *)user;
    if (!anew.program)
        return run_transfer(&anew);
    TERN_TRY(tern_exec_create(anew.ctx, anew.program, &anew.exec));
    tern_status status = run_transfer(&anew);
    tern_exec_free(anew.exec);
    return status;
}

/* Every number arrived where it belongs. */
static tern_status check_transfer(transfer_state *s)
{
    const float *from = tern_data_f32(s->source);
    const int64_t rows = s->shape[0];
    bool fine = from != NULL;
    if (s->way == OUT_OF) {
        memset(s->host, 0, tern_nbytes(s->source));
        TERN_TRY(run_transfer(s));
        fine = fine && memcmp(from, s->host, tern_nbytes(s->source)) == 0;
    } else if (fine) {
        TERN_SCOPE(s->ctx) {
            tern_tensor *out = s->way == INTO ? tern_from_data(s->ctx, TERN_F32, 2, s->shape, s->host) : NULL;
            if (!out)
                TERN_TRY(tern_exec_run(s->exec, 1, &s->source, 1, &out));
            const float *to = tern_data_f32(s->way == CAST ? tern_cast(out, TERN_F32) : out);
            fine = to != NULL;
            for (int64_t i = 0; fine && i < rows * COLUMNS; i++) {
                const float want = s->way == STRIDED ? from[i % rows * COLUMNS + i / rows] : from[i];
                fine = s->way == CAST ? (to[i] - want) * (to[i] - want) <= 1e-6f * (1 + want * want)
                                      : to[i] == want;
            }
        }
    }
    TERN__FAIL_IF(!fine, TERN_INTERNAL, "bench: a transfer changed what it carried");
    return TERN_OK;
}

static tern_status ready_transfer(tern__cell *cell, int threads)
{
    transfer_state *s = cell->state;
    const int64_t bytes = (int64_t)tern_nbytes(s->source), written = s->way == CAST ? bytes / 2 : bytes;
    TERN__FAIL_IF(threads > 1 && (s->way == INTO || s->way == OUT_OF), TERN_UNAVAILABLE,
                  "unavailable: data of the caller are copied by one thread");
    if (s->way != INTO && s->way != OUT_OF) {
        TERN_TRY(compile_transfer(s, threads));
        tern__row_find_kernel(s->program, &cell->row);
    }
    TERN_TRY(check_transfer(s));
    cell->limited = true;
    cell->work = (tern__limit_work){.kind = TERN_LIMIT_COPY_BW, .read_bytes = bytes, .write_bytes = written};
    cell->bytes = (double)(bytes + written);
    return time_first(cell);
}

static void close_transfer(tern__cell *cell)
{
    transfer_state *s = cell->state;
    if (!s)
        return;
    tern_exec_free(s->exec);
    tern_program_free(s->program);
    tern_release(s->source);
    tern__free(s->host);
    tern__free(s);
}

const tern__suite tern__suite_transfer = {
    .name = "transfer",
    .cpu_only = "suite 'transfer' measures the host",
    .what = "bytes into tensors, out of them, and from one layout to another",
    .describe = describe_transfer,
    .prepare = prepare_transfer,
    .ready = ready_transfer,
    .run = run_transfer,
    .run_anew = run_transfer_anew,
    .close = close_transfer,
};

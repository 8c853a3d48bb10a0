/* bench_ternary.c - ternary x int8 products as shares of what the machine can do.
 *
 * Generation (batch 1 to 16) streams more weights than any cache holds; its limit is read bandwidth, from the same memory. Each row has
 * as many dot products as numbers in the matrix, so that from some batch on those take longer than the read: their time on registers is
 * measured in the same run, and the longer of the two is the floor that is shown beside the time.
 * Prompts (batch 512, the shapes of BitNet b1.58 2B-4T) are limited by int8 dot products on registers: kernels of vectors by those
 * of vectors, kernels of AMX by those of tiles, which have rows of their own. Limits and kernels
 * are measured in turns (measure/measure.h). A share above 1.02 has no row, and the program fails when the others are
 * written.
 *
 *     bench_ternary [--rows FILE | --json FILE] [--isa LEVEL] [--rounds N] [--gib N] [--only gemv | gemm] */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/threads.h"
#include "bench_json.h"
#include "bench_weights.h"
#include "kernels/select.h"
#include "kernels/ternary/ternary.h"
#include "measure/bench/cases.h"
#include "measure/measure.h"
#include "tensor/ternary.h"

enum { MAX_THREADS = 2, MAX_BATCH = 512 };

typedef struct options {
    bench_weights common;
    int64_t gib;
} options;

/* ---- jobs that threads share ------------------------------------------------------------------------- */

typedef struct job {
    const uint8_t *memory; /* `copies` packed matrices, `bytes` each */
    int64_t copies, bytes;
    const tern__ternary_kernel *kernel;
    const char *name; /* of its row */
    int64_t rows, columns, batch;
    const int8_t *x;
    int32_t *y;
    uint8_t *scratch[MAX_THREADS];
    tern__threads *threads;
    int workers;
} job;

static void take_row(job *j, const tern__kernel_row *row)
{
    j->kernel = row->kernel;
    j->name = row->name;
}

static void run_part(void *arg, int worker, int workers)
{
    job *j = arg;
    const int64_t tiles = tern__ternary_tiles(j->kernel->form, j->rows);
    const int64_t begin = tiles * worker / workers, end = tiles * (worker + 1) / workers;
    int32_t *y = j->y + begin * tern__ternary_tile_rows(j->kernel->form);
    for (int64_t c = 0; c < j->copies; c++) {
        const uint8_t *weights = j->memory + c * j->bytes,
                      *next = weights + j->bytes + begin * tern__ternary_tile_bytes(j->columns);
        tern__ternary_multiply(j->kernel, tern__ternary_ahead_in_order(j->kernel), weights, j->rows,
                               j->columns, begin, end, j->x, j->batch, y, j->rows,
                               c + 1 < j->copies ? next : NULL, j->scratch[worker]);
    }
}

static tern_status run_job(void *user)
{
    job *j = user;
    tern__threads_run(j->threads, j->workers, run_part, j);
    return TERN_OK;
}

/* ---- operands ---------------------------------------------------------------------------------------- */

/* One random matrix, packed into `to`. */
static void make_packed(tern__ternary_form form, int64_t rows, int64_t columns, uint8_t *to)
{
    const int64_t stride = (columns + TERN_T2_PER_BYTE - 1) / TERN_T2_PER_BYTE;
    uint8_t *canonical = bench_take((size_t)(rows * stride));
    int8_t *values = bench_take((size_t)columns);
    uint32_t state = 1;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            values[c] = (int8_t)((int)(bench_random(&state) % 3) - 1);
        tern__ternary_pack_row(TERN_T2, values, columns, canonical + r * stride);
    }
    tern__ternary_pack(form, TERN_T2, canonical, stride, rows, columns, 0, tern__ternary_tiles(form, rows),
                       to);
    tern__free(values);
    tern__free(canonical);
}

static int8_t *make_x(int64_t batch, int64_t columns)
{
    const int64_t stride = tern__ternary_x_stride(columns);
    int8_t *prepared = bench_take((size_t)(batch * stride)), *row = bench_take((size_t)columns);
    uint32_t state = 2;
    for (int64_t i = 0; i < batch; i++) {
        for (int64_t c = 0; c < columns; c++)
            row[c] = (int8_t)((int)(bench_random(&state) % 255) - 127);
        tern__ternary_prepare(row, columns, prepared + i * stride);
    }
    tern__free(row);
    return prepared;
}

/* ---- results ----------------------------------------------------------------------------------------- */

static bool believable = true;

static double show(const tern__measurement *m, const job *j, double work, const char *unit)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%lldx%lld n=%lld", (long long)j->rows, (long long)j->columns,
             (long long)j->batch);
    return bench_show(m, j->name, shape, j->workers, work, unit, &believable);
}

/* ---- generation: weights from memory ----------------------------------------------------------------- */

enum { BATCHES = 6 };
static const int64_t batches[BATCHES] = {1, 2, 4, 6, 8, 16};

/* `dot_s`: of dot products on registers, as many as the batch has; NaN: no probe of them. */
static void generation_rows(bench_output *out, const job *j, int most, const tern__measurement *m,
                            double dot_s)
{
    char name[64];
    const double dots = dot_s / m->limit_time.median, floor = dots > 1 ? dots : 1;
    const char *type = j->kernel->form == TERN__TERNARY_4 ? "t2" : "t5";
    const double bytes = (double)(j->copies * j->bytes), weights = (double)(j->copies * j->rows * j->columns);
    const double share = show(m, j, bytes, "GB/s");
    printf("  %.2f x the read; no less than %.2f x (dot products %.2f): %.2f x that floor\n", 1 / share,
           floor, dots, 1 / share / floor);
    snprintf(name, sizeof name, "%s_gemv_bw_share_%dt", type, j->workers);
    if (j->batch == 1)
        bench_row(out, name, share, "of read bandwidth", "higher",
                  "%s, %.2f GB of weights, median of %d rounds; %.1f GB/s of %.1f, %.1f G weights/s; the "
                  "limit is the "
                  "best of several probes, here %s",
                  j->name, bytes * 1e-9, m->time.n, bytes / m->time.median * 1e-9,
                  bytes / m->limit_time.median * 1e-9, weights / m->time.median * 1e-9, m->way);
    snprintf(name, sizeof name, j->workers == most ? "%s_batch8_over_limit" : "%s_batch8_over_limit_%dt",
             j->kernel->form == TERN__TERNARY_4 ? "ternary" : "ternary_t5", j->workers);
    if (j->batch == 8)
        bench_row(
            out, name, 1 / share, "x", "lower",
            "%s, time of a step at n = 8 / (bytes / read bandwidth), %d threads; dot products alone %.2f",
            j->name, j->workers, dots);
    snprintf(name, sizeof name, j->workers == most ? "%s_batch8_over_floor" : "%s_batch8_over_floor_%dt",
             j->kernel->form == TERN__TERNARY_4 ? "ternary" : "ternary_t5", j->workers);
    if (j->batch == 8)
        bench_row(out, name, 1 / share / floor, "x", "lower",
                  "%s, time of a step at n = 8 / the longer of reading (1) and dot products on registers "
                  "(%.2f), %d threads",
                  j->name, dots, j->workers);
}

/* Fills j->memory with copies of one packed matrix. */
static void prepare_weights(const options *o, tern__ternary_form form, job *j, size_t block)
{
    size_t bytes;
    j->rows = 6912;
    j->columns = 2560;
    take_row(j, tern__ternary_row(form, o->common.isa_mask));
    tern__ternary_packed_bytes(form, j->rows, j->columns, &bytes);
    j->bytes = (int64_t)bytes;
    j->copies = (int64_t)(block / bytes);
    uint8_t *memory = (uint8_t *)(uintptr_t)j->memory;
    make_packed(form, j->rows, j->columns, memory);
    for (int64_t c = 1; c < j->copies; c++)
        memcpy(memory + c * j->bytes, memory, bytes);
}

static tern_status run_dots(void *limit)
{
    tern__limit_run(limit, 0);
    return TERN_OK;
}

/* Seconds that the dot products of one row take on registers; NaN: these instructions have no probe of them. */
static tern_status time_dots(const options *o, const job *j, double *seconds)
{
    tern__limit *dots;
    tern__measurement m;
    const tern__limit_work work = {.kind = TERN_LIMIT_INT8_DOT,
                                   .operations = 2 * (double)(j->copies * j->rows * j->columns),
                                   .isa_mask = tern__isa_permitted(o->common.isa_mask)};
    *seconds = NAN;
    tern_status status = tern__limit_create(j->threads, j->workers, &work, &dots);
    if (status == TERN_UNAVAILABLE)
        return TERN_OK;
    TERN_TRY(status);
    status = tern__measure(&(tern__thing){.run = run_dots, .user = dots}, 1, NULL,
                           &(tern__turns){.rounds = o->common.rounds}, &m);
    *seconds = status == TERN_OK ? m.time.median * tern__limit_scale(dots) : NAN;
    tern__limit_destroy(dots);
    return status;
}

static tern_status generation(bench_output *out, const options *o, tern__ternary_form form, job *j,
                              size_t block)
{
    job jobs[BATCHES];
    tern__thing things[BATCHES];
    tern__measurement results[BATCHES];
    double dot_s;
    prepare_weights(o, form, j, block);
    int8_t *x = make_x(batches[BATCHES - 1], j->columns);
    j->x = x;
    const int most = tern__threads_count(j->threads);
    for (int t = 1; t <= most; t++) {
        j->workers = t;
        for (int b = 0; b < BATCHES; b++) {
            jobs[b] = *j;
            jobs[b].batch = batches[b];
            things[b] = (tern__thing){.run = run_job, .user = &jobs[b]};
        }
        TERN_TRY(bench_against_reading(j->threads, t, j->memory, j->copies, j->bytes, things, BATCHES,
                                       o->common.rounds, results));
        TERN_TRY(time_dots(o, j, &dot_s));
        for (int b = 0; b < BATCHES; b++)
            generation_rows(out, &jobs[b], most, &results[b], dot_s * (double)batches[b]);
    }
    tern__free(x);
    return TERN_OK;
}

/* ---- prompts: int8 dot products ---------------------------------------------------------------------- */

#define SHAPE(unused, none, rows, columns) {rows, columns},
static const int64_t shapes[][2] = {TERN__2B4T_SHAPES(SHAPE, , )};

/* The share of one shape, NaN if it is not to be believed, and how many times as fast as `other` it is, if there is one. */
static tern_status prompt(const options *o, job *j, uint32_t isa_mask, const tern__kernel_row *other,
                          double *share, double *times)
{
    const double operations = 2 * (double)(j->rows * j->columns * j->batch);
    job beside = *j;
    tern__thing things[] = {{.run = run_job, .user = j}, {.run = run_job, .user = &beside}};
    tern__limit *limit;
    tern__measurement m[2];
    if (other)
        take_row(&beside, other);
    TERN_TRY(tern__limit_create(
        j->threads, j->workers,
        &(tern__limit_work){.kind = TERN_LIMIT_INT8_DOT, .operations = operations, .isa_mask = isa_mask},
        &limit));
    tern_status status =
        tern__measure(things, other ? 2 : 1, limit, &(tern__turns){.rounds = o->common.rounds * 2}, m);
    tern__limit_destroy(limit);
    TERN_TRY(status);
    *share = bench_worse(*share, show(&m[0], j, operations, "GOPS"));
    if (other)
        *times = bench_worse(*times, m[1].time.median / m[0].time.median);
    return TERN_OK;
}

/* The kernel of these levels, compared with `other` or NULL; `what` is a part of the rows' names, and `peak` their unit. */
static tern_status prompts(bench_output *out, const options *o, tern__ternary_form form, job *j,
                           int64_t batch, uint32_t isa_mask, const tern__kernel_row *other, const char *what,
                           const char *peak)
{
    double worst[MAX_THREADS] = {INFINITY, INFINITY}, times[MAX_THREADS] = {INFINITY, INFINITY};
    const int most = tern__threads_count(j->threads);
    const char *type = form == TERN__TERNARY_4 ? "ternary" : "ternary_t5";
    take_row(j, tern__ternary_row(form, isa_mask));
    j->batch = batch;
    j->copies = 1;
    for (size_t s = 0; s < TERN__COUNT(shapes); s++) {
        j->rows = shapes[s][0];
        j->columns = shapes[s][1];
        make_packed(form, j->rows, j->columns, (uint8_t *)(uintptr_t)j->memory);
        int8_t *x = make_x(batch, j->columns);
        j->x = x;
        for (j->workers = 1; j->workers <= most; j->workers++)
            TERN_TRY(prompt(o, j, isa_mask, other, &worst[j->workers - 1], &times[j->workers - 1]));
        tern__free(x);
    }
    for (int t = 1; t <= most && batch == MAX_BATCH; t++) {
        char name[64];
        snprintf(name, sizeof name, "%s_gemm_%speak_share_%dt", type, what, t);
        bench_row(out, name, worst[t - 1], peak, "higher",
                  "%s, n = %lld, worst of %zu shapes, median of %d rounds", j->name, (long long)batch,
                  TERN__COUNT(shapes), o->common.rounds * 2);
        snprintf(name, sizeof name, t == most ? "%s_gemm_%sover_vnni" : "%s_gemm_%sover_vnni_%dt", type, what,
                 t);
        if (other)
            bench_row(out, name, times[t - 1], "x", "higher",
                      "time of %s / time of %s, measured in turns, n = %lld, %d threads, worst of %zu shapes",
                      other->name, j->name, (long long)batch, t, TERN__COUNT(shapes));
    }
    return TERN_OK;
}

/* Kernels of vectors, whose rows are shares of the peak of vectors on every machine, and then those of tiles. */
static tern_status all_prompts(bench_output *out, const options *o, tern__ternary_form form, job *j,
                               int64_t batch)
{
    const uint32_t all = tern__isa_permitted(o->common.isa_mask), vectors = tern__isa_without_tiles(all);
    TERN_TRY(prompts(out, o, form, j, batch, vectors, NULL, "", "of the peak of int8 dot products"));
    return all == vectors ? TERN_OK
                          : prompts(out, o, form, j, batch, all, tern__ternary_row(form, vectors), "amx_",
                                    "of the peak of int8 tiles");
}

/* ---- program ----------------------------------------------------------------------------------------- */

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){.common = {.isa_mask = tern__cpu()->isa_mask, .rounds = 9, .gemv = true, .gemm = true},
                   .gib = 1};
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--gib") == 0 && atoi(argv[i + 1]) > 0)
            o->gib = atoi(argv[i + 1]);
        else if (!bench_weights_option(&o->common, argv[i], argv[i + 1]))
            return false;
    return argc % 2 == 1;
}

static tern_status run(bench_output *out, const options *o, job *j, size_t block)
{
    tern_status status = TERN_OK;
    for (int form = TERN__TERNARY_4; form <= TERN__TERNARY_5 && status == TERN_OK; form++) {
        if (o->common.gemv)
            status = generation(out, o, (tern__ternary_form)form, j, block);
        for (int64_t batch = 64; o->common.gemm && batch <= MAX_BATCH && status == TERN_OK; batch *= 8)
            status = all_prompts(out, o, (tern__ternary_form)form, j, batch);
    }
    return status;
}

int main(int argc, char **argv)
{
    bench_output out;
    options o;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(&o, argc, argv)) {
        fprintf(stderr,
                "usage: bench_ternary [--rows FILE | --json FILE] [--isa LEVEL] [--rounds N] [--gib N] "
                "[--only gemv | gemm]\n");
        return 2;
    }
    job j = {0};
    const int workers = tern__cpu()->cores_usable < MAX_THREADS ? tern__cpu()->cores_usable : MAX_THREADS;
    if (tern__threads_create(workers, &j.threads) != TERN_OK)
        return 1;
    /* Whole packed matrices must add up to at least what was asked for. */
    const size_t block = ((size_t)o.gib << 30) + (8 << 20);
    void *memory = tern__pages_map(block, true);
    if (memory == NULL) {
        fprintf(stderr, "bench_ternary: no %zu bytes for weights\n", block);
        return 1;
    }
    j.memory = memory;
    j.y = bench_take((size_t)MAX_BATCH * 6912 * 4);
    for (int t = 0; t < MAX_THREADS; t++)
        j.scratch[t] = bench_take(tern__ternary_scratch_bytes());
    printf(
        "%d threads, %d rounds; kernel, shape, threads, median time and spread, rate, limit, share of it\n",
        workers, o.common.rounds);
    tern_status status = run(&out, &o, &j, block);
    if (status != TERN_OK)
        fprintf(stderr, "bench_ternary: %s\n", tern_last_error());
    tern__pages_unmap(memory, block);
    tern__free(j.y);
    for (int t = 0; t < MAX_THREADS; t++)
        tern__free(j.scratch[t]);
    tern__threads_destroy(j.threads);
    return bench_close(&out) && believable && status == TERN_OK ? 0 : 1;
}

/* bench_head.c - products with weights of 16 bits, in blocks and of 8 bits, as heads of models are, as shares of what the
 * machine can do.
 *
 * Generation (batch 1 and 8) streams a head of 128,256 x 2,560, more than any cache holds; its limit is read bandwidth, from the
 * same memory. Prompts (batch 64 and 512) are limited by f32 multiply-adds, and by int8 dot products where weights are i8; beside
 * the former runs the product of f32 weights that are packed once. Limits and kernels are measured in turns (measure/measure.h).
 * A share above 1.02 has no row, and the program fails when the others are written.
 *
 *     bench_head [--rows FILE | --json FILE] [--isa LEVEL] [--rounds N] [--type NAME] [--only gemv | gemm] */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/threads.h"
#include "bench_json.h"
#include "bench_weights.h"
#include "kernels/linear/product.h"
#include "kernels/select.h"
#include "kernels/ternary/ternary.h"
#include "measure/measure.h"
#include "tensor/convert.h"

enum { MAX_THREADS = 2, MAX_BATCH = 512, VOCABULARY = 128256, COLUMNS = 2560, PROMPT_ROWS = 6912 };

static const struct form {
    tern_dtype dtype;
    const char *name; /* in rows */
} forms[] = {{TERN_Q8_0, "q8"}, {TERN_Q6_K, "q6"},   {TERN_F16, "f16"},  {TERN_BF16, "bf16"},
             {TERN_I8, "int8"}, {TERN_Q4_0, "q4_0"}, {TERN_Q4_K, "q4_k"}};

typedef struct options {
    bench_weights common;
    const char *type; /* NULL: all */
} options;

typedef struct job {
    const struct form *form;
    const char *kernel;
    const uint8_t *memory; /* `copies` packed matrices, `bytes` each */
    int64_t copies, bytes, rows, batch;
    tern__linear_program program;
    const void *x; /* f32, or prepared i8 */
    void *y;       /* (batch, rows) */
    void *scratch[MAX_THREADS];
    tern__threads *threads;
    int workers;
} job;

static void run_part(void *arg, int worker, int workers)
{
    job *j = arg;
    const tern__linear_program *p = &j->program;
    const int64_t begin = p->work * worker / workers, end = p->work * (worker + 1) / workers;
    for (int64_t c = 0; c < j->copies; c++)
        for (int64_t row = 0; row < j->batch; row += p->block) {
            const int64_t n = j->batch - row < p->block ? j->batch - row : p->block;
            const uint8_t *packed = j->memory + c * j->bytes;
            const int64_t at = row * j->rows + begin * TERN__LINEAR_TILE;
            if (j->form->dtype == TERN_I8)
                tern__linear_multiply_i8(p, packed, begin, end,
                                         (const int8_t *)j->x + row * tern__ternary_x_stride(COLUMNS), n,
                                         (int32_t *)j->y + at, j->rows);
            else
                tern__linear_multiply(p, packed, begin, end, (const float *)j->x + row * COLUMNS, COLUMNS, n,
                                      (float *)j->y + at, j->rows, j->scratch[worker]);
        }
}

static tern_status run_job(void *user)
{
    job *j = user;
    tern__threads_run(j->threads, j->workers, run_part, j);
    return TERN_OK;
}

/* ---- operands ---------------------------------------------------------------------------------------- */

static float next_random(uint32_t *state)
{
    return (float)bench_random(state) / (float)(1 << 23) - 1;
}

/* Random rows of a type, packed, then repeated: a tile costs the same wherever it came from. */
static void make_packed(job *j, uint8_t *to)
{
    enum { ROWS = 8 * TERN__LINEAR_TILE };
    const tern_dtype dtype = j->form->dtype;
    const int64_t units = tern__row_units(dtype, COLUMNS),
                  stride = units * (int64_t)tern__dtype_unit_bytes(dtype);
    uint8_t *canonical = bench_take((size_t)(ROWS * stride));
    float values[COLUMNS];
    uint32_t state = 1;
    for (int64_t r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            values[c] = next_random(&state) * (dtype == TERN_I8 ? 127 : 1);
        tern__convert_row(TERN_F32, values, dtype, canonical + r * stride, COLUMNS);
    }
    tern__linear_pack(dtype, canonical, units, 1, ROWS, COLUMNS, 0, 8, to);
    const int64_t made = 8 * j->program.tile_bytes, all = j->copies * j->bytes;
    for (int64_t at = made; at < all; at += made)
        memcpy(to + at, to, (size_t)(all - at < made ? all - at : made));
    tern__free(canonical);
}

static void *make_x(tern_dtype dtype, int64_t batch)
{
    const int64_t stride =
        dtype == TERN_I8 ? tern__ternary_x_stride(COLUMNS) : COLUMNS * (int64_t)sizeof(float);
    char *x = bench_take((size_t)(batch * stride));
    uint32_t state = 2;
    for (int64_t i = 0; i < batch; i++) {
        float row[COLUMNS];
        int8_t bytes[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) {
            row[c] = next_random(&state);
            bytes[c] = (int8_t)(row[c] * 127);
        }
        if (dtype == TERN_I8)
            tern__ternary_prepare(bytes, COLUMNS, (int8_t *)x + i * stride);
        else
            memcpy(x + i * stride, row, sizeof row);
    }
    return x;
}

/* The kernels for a form and batch. */
static void plan(const options *o, job *j, int64_t rows, int64_t batch)
{
    const tern_dtype dtype = j->form->dtype;
    const tern__kernel_row *row = tern__kernel_select(
        dtype == TERN_I8 ? TERN__FAMILY_linear_i8 : TERN__FAMILY_linear, o->common.isa_mask);
    const tern__kernel_row *gemm = tern__kernel_select(TERN__FAMILY_gemm_f32, o->common.isa_mask);
    const tern__type x = {.dtype = TERN_F32, .rank = 2, .shape = {batch, COLUMNS}};
    tern__linear_plan(dtype, row->kernel, gemm ? gemm->kernel : NULL, &x, rows, true, &j->program);
    j->kernel = row->name;
    j->rows = rows;
    j->batch = batch;
    j->bytes = j->program.work * j->program.tile_bytes;
}

/* ---- results ----------------------------------------------------------------------------------------- */

static bool believable = true;

static double show(const tern__measurement *m, const job *j, double work, const char *unit)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%s %lldx%d n=%lld", j->form->name, (long long)j->rows, COLUMNS,
             (long long)j->batch);
    return bench_show(m, j->kernel, shape, j->workers, work, unit, &believable);
}

/* ---- generation -------------------------------------------------------------------------------------- */

/* Bytes of weights, at least, as whole matrices. Four times what the last cache holds: of less, what the probes of the limit
 * left there depends on the order in which they read, and whatever is timed behind one of them gains or loses by it. */
static size_t weights_least(void)
{
    const size_t least = (size_t)1 << 30, cached = 4 * (size_t)tern__cpu()->l3_bytes;
    return cached > least ? cached : least;
}

enum { BATCHES = 3 };
static const int64_t batches[BATCHES] = {1, 2, 8};

static void generation_row(bench_output *out, const job *j, const tern__measurement *m)
{
    char name[64];
    const double bytes = (double)(j->copies * j->bytes), share = show(m, j, bytes, "GB/s");
    snprintf(name, sizeof name, "head_%s_bw_share_%dt", j->form->name, j->workers);
    if (j->batch == 1)
        bench_row(out, name, share, "of read bandwidth", "higher",
                  "%s, %d x %d, %.2f GB of weights, median of %d rounds; %.1f GB/s of %.1f; the limit is the "
                  "best of "
                  "several probes, here %s",
                  j->kernel, VOCABULARY, COLUMNS, bytes * 1e-9, m->time.n, bytes / m->time.median * 1e-9,
                  bytes / m->limit_time.median * 1e-9, m->way);
    snprintf(name, sizeof name, "head_%s_batch8_over_limit_%dt", j->form->name, j->workers);
    if (j->batch == 8)
        bench_row(out, name, 1 / share, "x", "lower",
                  "%s, time of a step at n = 8 / (bytes / read bandwidth)", j->kernel);
}

static tern_status generation(bench_output *out, const options *o, job *j)
{
    job jobs[BATCHES];
    tern__thing things[BATCHES];
    tern__measurement results[BATCHES];
    plan(o, j, VOCABULARY, 1);
    j->copies = ((int64_t)weights_least() + j->bytes - 1) / j->bytes;
    make_packed(j, (uint8_t *)(uintptr_t)j->memory);
    void *x = make_x(j->form->dtype, batches[BATCHES - 1]);
    j->x = x;
    const int most = tern__threads_count(j->threads);
    for (int t = 1; t <= most; t++) {
        j->workers = t;
        for (int b = 0; b < BATCHES; b++) {
            jobs[b] = *j;
            plan(o, &jobs[b], VOCABULARY, batches[b]);
            things[b] = (tern__thing){.run = run_job, .user = &jobs[b]};
        }
        TERN_TRY(bench_against_reading(j->threads, t, j->memory, j->copies, j->bytes, things, BATCHES,
                                       o->common.rounds, results));
        for (int b = 0; b < BATCHES; b++)
            generation_row(out, &jobs[b], &results[b]);
    }
    tern__free(x);
    return TERN_OK;
}

/* ---- prompts ----------------------------------------------------------------------------------------- */

/* What weights in any form are compared with: the same product of f32 weights, packed once. */
typedef struct peer {
    const tern__gemm_kernel *kernel;
    tern__gemm gemm;
    const job *j;
} peer;

static void run_peer_part(void *arg, int worker, int workers)
{
    const peer *p = arg;
    const int64_t tiles = tern__gemm_tiles(p->kernel, p->gemm.n);
    tern__gemm_multiply(p->kernel, &p->gemm, 0, p->gemm.m, tiles * worker / workers,
                        tiles * (worker + 1) / workers, p->j->scratch[worker]);
}

static tern_status run_peer(void *user)
{
    const peer *p = user;
    tern__threads_run(p->j->threads, p->j->workers, run_peer_part, user);
    return TERN_OK;
}

/* Its weights take the place behind those of the job, which is larger by far. */
static peer make_peer(const job *j, const tern__gemm_kernel *kernel)
{
    const tern__cpu_info *cpu = tern__cpu();
    float *packed = (float *)(uintptr_t)(j->memory + ((size_t)512 << 20));
    uint32_t state = 3;
    for (int64_t i = 0; i < tern__gemm_tiles(kernel, j->rows) * kernel->columns * COLUMNS; i++)
        packed[i] = next_random(&state);
    return (peer){.kernel = kernel,
                  .j = j,
                  .gemm = {.blocking = tern__gemm_blocking_for(kernel, cpu->l1d_bytes, cpu->l2_bytes,
                                                               j->batch, j->rows, COLUMNS),
                           .m = j->batch,
                           .n = j->rows,
                           .k = COLUMNS,
                           .a = j->x,
                           .a_type = TERN_F32,
                           .a_row = COLUMNS,
                           .a_k = 1,
                           .b_type = TERN_F32,
                           .packed = packed,
                           .y = j->y,
                           .y_row = j->rows,
                           .y_column = 1}};
}

static tern_status prompt(bench_output *out, const options *o, job *j)
{
    const bool bytes = j->form->dtype == TERN_I8;
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, o->common.isa_mask);
    const bool compares = !bytes && row;
    peer p = {0};
    if (compares)
        p = make_peer(j, row->kernel);
    const tern__thing things[2] = {{.run = run_job, .user = j}, {.run = run_peer, .user = &p}};
    const double operations = 2.0 * (double)j->rows * COLUMNS * (double)j->batch;
    const tern__limit_work work = {.kind = bytes ? TERN_LIMIT_INT8_DOT : TERN_LIMIT_FMA,
                                   .operations = operations,
                                   /* no head runs on tiles */
                                   .isa_mask = tern__isa_without_tiles(tern__cpu()->isa_mask)};
    tern__limit *limit;
    tern__measurement m[2];
    char name[64];
    TERN_TRY(tern__limit_create(j->threads, j->workers, &work, &limit));
    tern_status status =
        tern__measure(things, compares ? 2 : 1, limit, &(tern__turns){.rounds = o->common.rounds}, m);
    tern__limit_destroy(limit);
    TERN_TRY(status);
    const double share = show(&m[0], j, operations, bytes ? "GOPS" : "GF");
    if (j->batch == MAX_BATCH) {
        snprintf(name, sizeof name, "head_%s_gemm_peak_share_%dt", j->form->name, j->workers);
        bench_row(out, name, share, bytes ? "of the peak of int8 dot products" : "of the FMA peak", "higher",
                  "%s, %lld x %d, n = %lld, median of %d rounds", j->kernel, (long long)j->rows, COLUMNS,
                  (long long)j->batch, m[0].time.n);
    }
    if (compares) {
        snprintf(name, sizeof name, "head_%s_gemm%lld_over_f32_%dt", j->form->name, (long long)j->batch,
                 j->workers);
        bench_row(out, name, m[1].time.median / m[0].time.median, "x", "higher",
                  "rate over that of f32 weights packed once, which is %.3f of the FMA peak",
                  m[1].share.median);
    }
    return TERN_OK;
}

static tern_status prompts(bench_output *out, const options *o, job *j)
{
    static const int64_t sizes[] = {64, MAX_BATCH};
    void *x = make_x(j->form->dtype, MAX_BATCH);
    tern_status status = TERN_OK;
    j->x = x;
    for (size_t i = 0; i < TERN__COUNT(sizes); i++) {
        plan(o, j, PROMPT_ROWS, sizes[i]);
        j->copies = 1;
        make_packed(j, (uint8_t *)(uintptr_t)j->memory);
        for (j->workers = 1; j->workers <= tern__threads_count(j->threads) && status == TERN_OK; j->workers++)
            status = prompt(out, o, j);
    }
    tern__free(x);
    return status;
}

/* ---- program ----------------------------------------------------------------------------------------- */

static bool is_type(const char *name)
{
    bool any = false;
    for (size_t f = 0; f < TERN__COUNT(forms); f++)
        any = any || strcmp(name, forms[f].name) == 0;
    return any;
}

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){.common = {.isa_mask = tern__cpu()->isa_mask, .rounds = 5, .gemv = true, .gemm = true}};
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--type") == 0 && is_type(argv[i + 1])) /* else nothing would be measured */
            o->type = argv[i + 1];
        else if (!bench_weights_option(&o->common, argv[i], argv[i + 1]))
            return false;
    return argc % 2 == 1;
}

static tern_status run(bench_output *out, const options *o, job *j)
{
    for (size_t f = 0; f < TERN__COUNT(forms); f++) {
        if (o->type && strcmp(o->type, forms[f].name) != 0)
            continue;
        j->form = &forms[f];
        if (o->common.gemv)
            TERN_TRY(generation(out, o, j));
        if (o->common.gemm)
            TERN_TRY(prompts(out, o, j));
    }
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    options o;
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(&o, argc, argv)) {
        fprintf(stderr, "usage: bench_head [--rows FILE | --json FILE] [--isa LEVEL] [--rounds N] "
                        "[--type q8 | q6 | f16 | bf16 | int8 | q4_0 | q4_k] [--only gemv | gemm]\n");
        return 2;
    }
    job j = {0};
    const int workers = tern__cpu()->cores_usable < MAX_THREADS ? tern__cpu()->cores_usable : MAX_THREADS;
    if (tern__threads_create(workers, &j.threads) != TERN_OK)
        return 1;
    const size_t block = weights_least() + (size_t)(VOCABULARY + TERN__LINEAR_TILE) * COLUMNS * 2;
    void *memory = tern__pages_map(block, true);
    if (memory == NULL) {
        fprintf(stderr, "bench_head: no %zu bytes for weights\n", block);
        return 1;
    }
    j.memory = memory;
    j.y = bench_take((size_t)MAX_BATCH * PROMPT_ROWS * 4);
    j.form = &forms[0];
    plan(&o, &j, PROMPT_ROWS, MAX_BATCH);
    for (int t = 0; t < MAX_THREADS; t++)
        j.scratch[t] = bench_take(j.program.scratch_bytes);
    printf("%d threads, %d rounds; kernel, type, shape, threads, median time and spread, rate, limit, share "
           "of it\n",
           workers, o.common.rounds);
    const tern_status status = run(&out, &o, &j);
    if (status != TERN_OK)
        fprintf(stderr, "bench_head: %s\n", tern_last_error());
    tern__pages_unmap(memory, block);
    tern__free(j.y);
    for (int t = 0; t < MAX_THREADS; t++)
        tern__free(j.scratch[t]);
    tern__threads_destroy(j.threads);
    return bench_close(&out) && believable && status == TERN_OK ? 0 : 1;
}

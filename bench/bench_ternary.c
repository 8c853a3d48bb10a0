/* bench_ternary.c - ternary x int8 products as shares of what the machine can do.
 *
 * Generation (batch 1 and 8) streams more weights than any cache holds; its limit is the best of four
 * ways to read the same memory. Prompts (batch 512, the shapes of BitNet b1.58 2B-4T) are limited by the
 * rate of vpdpbusd on registers. Limits and kernels are measured in turns; a share is the median over the
 * rounds of (kernel / limit of the same round), so that a neighbour who takes the machine for a while
 * disturbs both. A share above 1.02 means that a probe is wrong, and the program fails.
 *
 *     bench_ternary [--rows FILE | --json FILE] [--isa LEVEL] [--rounds N] [--gib N] [--only gemv | gemm]
 *                   [--clock cpu]
 *
 * --clock cpu takes the processor time of the busiest thread instead of wall time, for a machine that
 * others use. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/threads.h"
#include "bench_json.h"
#include "kernels/ternary/ternary.h"
#include "tensor/ternary.h"

enum { MAX_ROUNDS = 101, MAX_THREADS = 2, MAX_BATCH = 512, PROBES = 4, SINK = 64 };

typedef struct options {
    uint32_t isa_mask;
    int rounds;
    int64_t gib;
    bool gemv, gemm;
} options;

/* Processor time of the busiest worker instead of wall time: for machines that are shared. */
static bool cpu_time;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, int n)
{
    double sorted[MAX_ROUNDS];
    memcpy(sorted, values, (size_t)n * sizeof *values);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

/* ---- limits ------------------------------------------------------------------------------------------ */

typedef uint64_t line __attribute__((vector_size(64), aligned(64)));

/* Reads `lines` cache lines as `streams` sequential streams, `ahead` bytes of prefetch each (0: none). */
static inline __attribute__((always_inline)) void read_lines(const line *from, int64_t lines, int streams,
                                                             int ahead, volatile uint64_t *sink)
{
    const int64_t each = lines / streams;
    line sum[4] = {{0}};
    for (int64_t i = 0; i + 4 <= each; i += 4) {
#pragma GCC unroll 4
        for (int s = 0; s < streams; s++) {
            const line *at = from + s * each + i;
#pragma GCC unroll 4
            for (int l = 0; l < 4; l++) {
                if (ahead > 0)
                    __builtin_prefetch((const char *)(at + l) + ahead, 0, 3);
                sum[l] |= at[l];
            }
        }
    }
    line all = sum[0] | sum[1] | sum[2] | sum[3];
    *sink = all[0] | all[1] | all[2] | all[3] | all[4] | all[5] | all[6] | all[7];
}

static inline __attribute__((always_inline)) void read_by(int probe, const line *from, int64_t lines,
                                                          volatile uint64_t *sink)
{
    switch (probe) {
    case 0:
        read_lines(from, lines, 1, 0, sink);
        break;
    case 1:
        read_lines(from, lines, 1, 4096, sink);
        break;
    case 2:
        read_lines(from, lines, 2, 2048, sink);
        break;
    default:
        read_lines(from, lines, 4, 2048, sink);
        break;
    }
}

static void read_plain(int probe, const line *from, int64_t lines, volatile uint64_t *sink)
{
    read_by(probe, from, lines, sink);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw"))) static void read_avx512(int probe, const line *from,
                                                                    int64_t lines, volatile uint64_t *sink)
{
    read_by(probe, from, lines, sink);
}

__attribute__((target("avx2"))) static void read_avx2(int probe, const line *from, int64_t lines,
                                                      volatile uint64_t *sink)
{
    read_by(probe, from, lines, sink);
}

/* 24 independent chains, as in the product, on registers alone. Products per repetition: 24 * 64. */
__attribute__((target("avx512f,avx512vnni"))) static void dot_peak(int64_t repetitions)
{
    __asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,30,31\n\t"
                     "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n\n\t"
                     ".endr\n"
                     "1:\n\t"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n\t"
                     "vpdpbusd %%zmm31, %%zmm30, %%zmm\\n\n\t"
                     ".endr\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(repetitions)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18",
                       "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm30", "xmm31", "cc");
}
#endif

static bool has(tern__isa isa)
{
    return (tern__cpu()->isa_mask >> isa & 1) != 0;
}

/* ---- jobs that threads share ------------------------------------------------------------------------- */

typedef struct job {
    enum { READ, DOT, PRODUCT } kind;
    int probe;
    const uint8_t *memory; /* `copies` packed matrices, `bytes` each */
    int64_t copies, bytes;
    int64_t repetitions;
    const tern__ternary_kernel *kernel;
    int64_t rows, columns, batch;
    const int8_t *x;
    int32_t *y;
    uint8_t *scratch[MAX_THREADS];
    uint64_t sink[MAX_THREADS][8];
    double busy[MAX_THREADS][8]; /* seconds of processor time */
} job;

static void run_read(job *j, int worker, int workers)
{
    const int64_t lines = j->copies * j->bytes / 64, begin = lines * worker / workers,
                  end = lines * (worker + 1) / workers;
    void (*reader)(int, const line *, int64_t, volatile uint64_t *) = read_plain;
#if defined(__x86_64__)
    if (has(TERN__ISA_AVX2))
        reader = read_avx2;
    if (has(TERN__ISA_AVX512))
        reader = read_avx512;
#endif
    reader(j->probe, (const line *)(const void *)j->memory + begin, end - begin, j->sink[worker]);
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_part(job *j, int worker, int workers)
{
    if (j->kind == READ) {
        run_read(j, worker, workers);
    } else if (j->kind == DOT) {
#if defined(__x86_64__)
        dot_peak(j->repetitions);
#endif
    } else {
        const int64_t tiles = tern__ternary_tiles(j->kernel->form, j->rows);
        const int64_t begin = tiles * worker / workers, end = tiles * (worker + 1) / workers;
        int32_t *y = j->y + begin * tern__ternary_tile_rows(j->kernel->form);
        for (int64_t c = 0; c < j->copies; c++)
            tern__ternary_multiply(j->kernel, j->memory + c * j->bytes, j->rows, j->columns, begin, end, j->x,
                                   j->batch, y, j->rows, j->scratch[worker]);
    }
}

static void run_job(void *arg, int worker, int workers)
{
    job *j = arg;
    double start = thread_seconds();
    run_part(j, worker, workers);
    j->busy[worker][0] = thread_seconds() - start;
}

static double seconds(tern__threads *threads, int workers, job *j)
{
    uint64_t start = tern__now_ns();
    tern__threads_run(threads, workers, run_job, j);
    double wall = (double)(tern__now_ns() - start) * 1e-9, busiest = 0;
    for (int w = 0; w < workers; w++)
        busiest = j->busy[w][0] > busiest ? j->busy[w][0] : busiest;
    return cpu_time ? busiest : wall;
}

/* ---- operands ---------------------------------------------------------------------------------------- */

static void *take(size_t bytes)
{
    void *p = tern__alloc_aligned(bytes, 4096);
    if (p == NULL) {
        fprintf(stderr, "bench_ternary: out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    return p;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* One random matrix, packed into `to`. */
static void make_packed(tern__ternary_form form, int64_t rows, int64_t columns, uint8_t *to)
{
    const int64_t stride = (columns + TERN_T2_PER_BYTE - 1) / TERN_T2_PER_BYTE;
    uint8_t *canonical = take((size_t)(rows * stride));
    int8_t *values = take((size_t)columns);
    uint32_t state = 1;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            values[c] = (int8_t)((int)(next_random(&state) % 3) - 1);
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
    int8_t *prepared = take((size_t)(batch * stride)), *row = take((size_t)columns);
    uint32_t state = 2;
    for (int64_t i = 0; i < batch; i++) {
        for (int64_t c = 0; c < columns; c++)
            row[c] = (int8_t)((int)(next_random(&state) % 255) - 127);
        tern__ternary_prepare(row, columns, prepared + i * stride);
    }
    tern__free(row);
    return prepared;
}

/* ---- results ----------------------------------------------------------------------------------------- */

/* Samples of one line: seconds of the kernel and of the limit's best probe (scaled to the same work). */
typedef struct series {
    double kernel[MAX_ROUNDS], limit[MAX_ROUNDS], share[MAX_ROUNDS];
} series;

static bool believable = true;

static void add(series *s, int round, double kernel, double limit)
{
    s->kernel[round] = kernel;
    s->limit[round] = limit;
    s->share[round] = limit / kernel;
}

/* Prints one line and returns the share. */
static double show(const series *s, int rounds, const char *name, const char *shape, int threads, double work,
                   const char *unit)
{
    const double share = median(s->share, rounds);
    printf("%-24s %-20s %d %10.1f us %8.1f %-5s limit %8.1f  share %.3f\n", name, shape, threads,
           median(s->kernel, rounds) * 1e6, work / median(s->kernel, rounds) * 1e-9, unit,
           work / median(s->limit, rounds) * 1e-9, share);
    if (share > 1.02) {
        fprintf(stderr, "bench_ternary: %s %s reaches %.3f of its limit: the probe of the limit is wrong\n",
                name, shape, share);
        believable = false;
    }
    return share;
}

/* ---- generation: weights from memory ----------------------------------------------------------------- */

static double reads[MAX_THREADS][PROBES][MAX_ROUNDS];

static void probe_reads(tern__threads *threads, int workers, job *j, int round)
{
    j->kind = READ;
    for (j->probe = 0; j->probe < PROBES; j->probe++)
        reads[workers - 1][j->probe][round] = seconds(threads, workers, j);
    j->kind = PRODUCT;
}

/* The probe with the best median: the best sample of each round would be luck that the kernels do not
 * get. */
static const double *best_reads(int workers, int rounds)
{
    const double *best = reads[workers - 1][0];
    for (int p = 1; p < PROBES; p++) {
        if (median(reads[workers - 1][p], rounds) < median(best, rounds))
            best = reads[workers - 1][p];
    }
    return best;
}

enum { BATCHES = 4 };
static const int64_t batches[BATCHES] = {1, 2, 4, 8};

static void generation(bench_output *out, const options *o, tern__threads *threads, tern__ternary_form form,
                       job *j, size_t block)
{
    static series samples[MAX_THREADS][BATCHES];
    size_t bytes;
    j->rows = 6912;
    j->columns = 2560;
    j->kernel = tern__ternary_select(form, o->isa_mask);
    tern__ternary_packed_bytes(form, j->rows, j->columns, &bytes);
    j->bytes = (int64_t)bytes;
    j->copies = (int64_t)(block / bytes);
    uint8_t *memory = (uint8_t *)(uintptr_t)j->memory;
    make_packed(form, j->rows, j->columns, memory);
    for (int64_t c = 1; c < j->copies; c++)
        memcpy(memory + c * j->bytes, memory, bytes);

    int8_t *x = make_x(8, j->columns);
    j->x = x;
    const int most = tern__threads_count(threads);
    for (int round = 0; round < o->rounds; round++) {
        for (int t = 1; t <= most; t++) {
            probe_reads(threads, t, j, round);
            for (int b = 0; b < BATCHES; b++) {
                j->batch = batches[b];
                samples[t - 1][b].kernel[round] = seconds(threads, t, j);
            }
        }
    }
    tern__free(x);
    const char *type = form == TERN__TERNARY_2 ? "t2" : "t5";
    for (int t = 1; t <= most; t++) {
        const double *limit = best_reads(t, o->rounds);
        for (int b = 0; b < BATCHES; b++) {
            char shape[64], name[64];
            series *s = &samples[t - 1][b];
            for (int round = 0; round < o->rounds; round++)
                add(s, round, s->kernel[round], limit[round]);
            snprintf(shape, sizeof shape, "%lldx%lld n=%lld", (long long)j->rows, (long long)j->columns,
                     (long long)batches[b]);
            double share =
                show(s, o->rounds, j->kernel->name, shape, t, (double)(j->copies * j->bytes), "GB/s");
            snprintf(name, sizeof name, "%s_gemv_bw_share_%dt", type, t);
            const double weights = (double)(j->copies * j->rows * j->columns);
            if (batches[b] == 1)
                bench_row(out, name, share, "of read bandwidth", "higher",
                          "%s, %.2f GB of weights, median of %d rounds; %.1f GB/s of %.1f, %.1f G weights/s",
                          j->kernel->name, (double)(j->copies * j->bytes) * 1e-9, o->rounds,
                          (double)(j->copies * j->bytes) / median(s->kernel, o->rounds) * 1e-9,
                          (double)(j->copies * j->bytes) / median(s->limit, o->rounds) * 1e-9,
                          weights / median(s->kernel, o->rounds) * 1e-9);
            snprintf(name, sizeof name, t == most ? "%s_batch8_over_limit" : "%s_batch8_over_limit_%dt",
                     form == TERN__TERNARY_2 ? "ternary" : "ternary_t5", t);
            if (batches[b] == 8)
                bench_row(out, name, 1 / share, "x", "lower",
                          "%s, time of a step at n = 8 / (bytes / read bandwidth), %d threads",
                          j->kernel->name, t);
        }
    }
}

/* ---- prompts: int8 dot products ---------------------------------------------------------------------- */

static const int64_t shapes[][2] = {{2560, 2560}, {640, 2560}, {6912, 2560}, {2560, 6912}};
enum { SHAPES = 4, DOT_REPETITIONS = 400000 };

static void prompts(bench_output *out, const options *o, tern__threads *threads, tern__ternary_form form,
                    job *j, int64_t batch)
{
    static series samples[MAX_THREADS][SHAPES];
    if (!has(TERN__ISA_AVX512VNNI)) {
        printf("prompts: unavailable: the peak of int8 dot products is probed with AVX-512 VNNI only\n");
        return;
    }
    const int most = tern__threads_count(threads);
    j->kernel = tern__ternary_select(form, o->isa_mask);
    j->batch = batch;
    j->copies = 1;
    for (int s = 0; s < SHAPES; s++) {
        j->rows = shapes[s][0];
        j->columns = shapes[s][1];
        make_packed(form, j->rows, j->columns, (uint8_t *)(uintptr_t)j->memory);
        int8_t *x = make_x(batch, j->columns);
        j->x = x;
        const double products = (double)(j->rows * j->columns * batch);
        for (int round = 0; round < o->rounds; round++) {
            for (int t = 1; t <= most; t++) {
                j->kind = DOT;
                j->repetitions = DOT_REPETITIONS;
                double peak = seconds(threads, t, j) / ((double)DOT_REPETITIONS * 24 * 64 * t);
                j->kind = PRODUCT;
                double first = seconds(threads, t, j), second = seconds(threads, t, j);
                add(&samples[t - 1][s], round, first < second ? first : second, peak * products);
            }
        }
        tern__free(x);
    }
    for (int t = 1; t <= most; t++) {
        double worst = 1e9;
        for (int s = 0; s < SHAPES; s++) {
            char shape[64];
            snprintf(shape, sizeof shape, "%lldx%lld n=%lld", (long long)shapes[s][0],
                     (long long)shapes[s][1], (long long)batch);
            double share = show(&samples[t - 1][s], o->rounds, j->kernel->name, shape, t,
                                2.0 * (double)(shapes[s][0] * shapes[s][1] * batch), "GOPS");
            worst = share < worst ? share : worst;
        }
        char name[64];
        snprintf(name, sizeof name, "%s_gemm_peak_share_%dt",
                 form == TERN__TERNARY_2 ? "ternary" : "ternary_t5", t);
        if (batch == MAX_BATCH)
            bench_row(out, name, worst, "of the vpdpbusd peak", "higher",
                      "%s, n = %lld, worst of %d shapes, median of %d rounds", j->kernel->name,
                      (long long)batch, SHAPES, o->rounds);
    }
}

/* ---- program ----------------------------------------------------------------------------------------- */

static bool parse(options *o, int argc, char **argv)
{
    *o = (options){.isa_mask = tern__cpu()->isa_mask, .rounds = 9, .gib = 1, .gemv = true, .gemm = true};
    for (int i = 1; i + 1 < argc; i += 2) {
        tern__isa cap;
        if (strcmp(argv[i], "--isa") == 0 && tern__isa_parse(argv[i + 1], &cap) == TERN_OK)
            o->isa_mask = tern__isa_mask_capped(tern__cpu(), cap);
        else if (strcmp(argv[i], "--rounds") == 0 && atoi(argv[i + 1]) > 0 && atoi(argv[i + 1]) <= MAX_ROUNDS)
            o->rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--gib") == 0 && atoi(argv[i + 1]) > 0)
            o->gib = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--clock") == 0 && strcmp(argv[i + 1], "cpu") == 0)
            cpu_time = true;
        else if (strcmp(argv[i], "--only") == 0 && strcmp(argv[i + 1], "gemv") == 0)
            o->gemm = false;
        else if (strcmp(argv[i], "--only") == 0 && strcmp(argv[i + 1], "gemm") == 0)
            o->gemv = false;
        else
            return false;
    }
    return argc % 2 == 1;
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
                "[--only gemv | gemm] [--clock cpu]\n");
        return 2;
    }
    tern__threads *threads;
    const int workers = tern__cpu()->cores_usable < MAX_THREADS ? tern__cpu()->cores_usable : MAX_THREADS;
    if (tern__threads_create(workers, &threads) != TERN_OK)
        return 1;
    static job j = {.kind = PRODUCT};
    /* Whole packed matrices must add up to at least what was asked for. */
    const size_t block = ((size_t)o.gib << 30) + (8 << 20);
    void *memory = tern__pages_map(block, true);
    if (memory == NULL) {
        fprintf(stderr, "bench_ternary: no %zu bytes for weights\n", block);
        return 1;
    }
    j.memory = memory;
    j.y = take((size_t)MAX_BATCH * 6912 * 4);
    for (int t = 0; t < MAX_THREADS; t++)
        j.scratch[t] = take(tern__ternary_scratch_bytes());
    printf("%s, %d threads, %d rounds; kernel, shape, threads, median time, rate, limit, share of it\n",
           tern__cpu()->model, workers, o.rounds);
    for (int form = 0; form < TERN__TERNARY_FORMS; form++) {
        if (o.gemv)
            generation(&out, &o, threads, (tern__ternary_form)form, &j, block);
        for (int64_t batch = 64; o.gemm && batch <= MAX_BATCH; batch *= 8)
            prompts(&out, &o, threads, (tern__ternary_form)form, &j, batch);
    }
    tern__pages_unmap(memory, block);
    tern__free(j.y);
    for (int t = 0; t < MAX_THREADS; t++)
        tern__free(j.scratch[t]);
    tern__threads_destroy(threads);
    return bench_close(&out) && believable ? 0 : 1;
}

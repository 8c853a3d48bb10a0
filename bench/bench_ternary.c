/* bench_ternary.c - ternary x int8 products as shares of what the machine can do.
 *
 * Generation (batch 1 and 8) streams more weights than any cache holds; its limit is the best of twelve
 * ways to read the same memory, among them the kernels' own order. Prompts (batch 512, the shapes of BitNet
 * b1.58 2B-4T) are limited by the rate of vpdpbusd on registers. Limits and kernels are measured in turns; a
 * share is the median over the rounds of (kernel / limit of the same round), so that a neighbour who takes
 * the machine for a while disturbs both. A kernel that seems faster than its limit is measured again beside
 * all probes; if its share stays above 1.02 it has no row, and the program fails when the others are written.
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

enum { MAX_ROUNDS = 101, MAX_THREADS = 2, MAX_BATCH = 512 };

typedef struct options {
    uint32_t isa_mask;
    int rounds;
    int64_t gib;
    bool gemv, gemm;
} options;

/* Processor time of the busiest worker instead of wall time: for machines that are shared. */
static bool cpu_time;

/* ---- limits ------------------------------------------------------------------------------------------ */

typedef uint64_t line __attribute__((vector_size(64), aligned(64)));

/* Reads `lines` cache lines block by block (0: all are one), each as `streams` sequential streams side by
 * side, `step` lines of each in turn, `ahead` bytes of prefetch (0: none). Near the end of its part a stream
 * prefetches for its part of the next block. */
static inline __attribute__((always_inline)) void read_lines(const line *from, int64_t lines, int streams,
                                                             int step, int ahead, int64_t block,
                                                             volatile uint64_t *sink)
{
    const int64_t size = block ? block : lines, each = size / streams, turn = each - ahead / 64;
    line sum[4] = {{0}};
    for (int64_t b = 0; b + size <= lines; b += size) {
        for (int64_t i = 0; i + step <= each; i += step) {
            const int64_t skip = block == 0 || i < turn ? 0 : size - each;
#pragma GCC unroll 4
            for (int s = 0; s < streams; s++) {
                const line *at = from + b + s * each + i;
#pragma GCC unroll 4
                for (int l = 0; l < step; l++) {
                    if (ahead > 0)
                        __builtin_prefetch((const char *)(at + l + skip) + ahead, 0, 3);
                    sum[(s + l) % 4] |= at[l];
                }
            }
        }
    }
    line all = sum[0] | sum[1] | sum[2] | sum[3];
    *sink = all[0] | all[1] | all[2] | all[3] | all[4] | all[5] | all[6] | all[7];
}

/* X(streams, lines of each in turn, bytes of prefetch, lines of a block). The kernels read tiles of 640
 * lines, their halves side by side where n = 1. */
#define PROBE_LIST(X)   \
    X(1, 4, 0, 0)       \
    X(1, 4, 2048, 0)    \
    X(1, 4, 4096, 0)    \
    X(1, 4, 8192, 0)    \
    X(2, 4, 2048, 0)    \
    X(2, 4, 4096, 0)    \
    X(4, 4, 2048, 0)    \
    X(2, 1, 1024, 640)  \
    X(2, 1, 2048, 640)  \
    X(2, 1, 4096, 640)  \
    X(2, 1, 2048, 1024) \
    X(4, 1, 2048, 1024)

typedef struct way {
    int streams, step, ahead;
    int64_t block;
} way;

static const way probes[] = {
#define PROBE(streams, step, ahead, block) {streams, step, ahead, block},
    PROBE_LIST(PROBE)
#undef PROBE
};
enum { PROBES = sizeof probes / sizeof *probes, KEPT = 4 };

/* Every row of the list is a loop of its own, with its numbers as constants. */
static inline __attribute__((always_inline)) void read_by(int number, const line *from, int64_t lines,
                                                          volatile uint64_t *sink)
{
    int at = 0;
#define PROBE(streams, step, ahead, block)                          \
    if (number == at++) {                                           \
        read_lines(from, lines, streams, step, ahead, block, sink); \
        return;                                                     \
    }
    PROBE_LIST(PROBE)
#undef PROBE
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

enum { TOO_GOOD = 102 }; /* percent */
static bool believable = true;

static void add(series *s, int round, double kernel, double limit)
{
    s->kernel[round] = kernel;
    s->limit[round] = limit;
    s->share[round] = limit / kernel;
}

/* Prints one line and returns the share, or NaN, which has no row, if it cannot be. */
static double show(const series *s, int rounds, const char *name, const char *shape, int threads, double work,
                   const char *unit)
{
    const double share = bench_median(s->share, rounds);
    printf("%-24s %-20s %d %10.1f us %8.1f %-5s limit %8.1f  share %.3f\n", name, shape, threads,
           bench_median(s->kernel, rounds) * 1e6, work / bench_median(s->kernel, rounds) * 1e-9, unit,
           work / bench_median(s->limit, rounds) * 1e-9, share);
    if (share * 100 <= TOO_GOOD)
        return share;
    fprintf(stderr,
            "bench_ternary: %s %s, %d threads: %.3f of its limit, so the probe of the limit is wrong\n", name,
            shape, threads, share);
    believable = false;
    return NAN;
}

/* ---- generation: weights from memory ----------------------------------------------------------------- */

enum { CALIBRATIONS = 3 };

static double read_seconds(tern__threads *threads, int workers, job *j, int number)
{
    j->kind = READ;
    j->probe = number;
    double taken = seconds(threads, workers, j);
    j->kind = PRODUCT;
    return taken;
}

/* The numbers of the KEPT fastest probes. */
static void calibrate(tern__threads *threads, int workers, job *j, int kept[KEPT])
{
    double best[PROBES];
    for (int p = 0; p < PROBES; p++)
        best[p] = 1e9;
    for (int turn = 0; turn < CALIBRATIONS; turn++) {
        for (int p = 0; p < PROBES; p++) {
            double taken = read_seconds(threads, workers, j, p);
            best[p] = taken < best[p] ? taken : best[p];
        }
    }
    for (int k = 0; k < KEPT; k++) {
        int fastest = 0;
        for (int p = 1; p < PROBES; p++)
            fastest = best[p] < best[fastest] ? p : fastest;
        kept[k] = fastest;
        best[fastest] = 1e9;
    }
}

/* The probe with the best median: the best sample of each round would be luck that the kernels do not
 * get. */
static int best_reads(double reads[][MAX_ROUNDS], int n, int rounds)
{
    int best = 0;
    for (int p = 1; p < n; p++) {
        if (bench_median(reads[p], rounds) < bench_median(reads[best], rounds))
            best = p;
    }
    return best;
}

enum { BATCHES = 4 };
static const int64_t batches[BATCHES] = {1, 2, 4, 8};

/* One kernel beside all probes, round by round. Returns the number of the probe that is its limit. */
static int measure_again(const options *o, tern__threads *threads, int workers, job *j, series *s)
{
    static double all[PROBES][MAX_ROUNDS];
    for (int round = 0; round < o->rounds; round++) {
        for (int p = 0; p < PROBES; p++) {
            all[p][round] = read_seconds(threads, workers, j, p);
            if (p == PROBES / 2)
                s->kernel[round] = seconds(threads, workers, j);
        }
    }
    int best = best_reads(all, PROBES, o->rounds);
    for (int round = 0; round < o->rounds; round++)
        add(s, round, s->kernel[round], all[best][round]);
    return best;
}

static void generation_rows(bench_output *out, const options *o, const job *j, int threads, int most,
                            int64_t batch, const series *s, const way *by)
{
    char shape[64], name[64];
    const char *type = j->kernel->form == TERN__TERNARY_2 ? "t2" : "t5";
    const double bytes = (double)(j->copies * j->bytes), weights = (double)(j->copies * j->rows * j->columns);
    snprintf(shape, sizeof shape, "%lldx%lld n=%lld", (long long)j->rows, (long long)j->columns,
             (long long)batch);
    double share = show(s, o->rounds, j->kernel->name, shape, threads, bytes, "GB/s");
    snprintf(name, sizeof name, "%s_gemv_bw_share_%dt", type, threads);
    if (batch == 1)
        bench_row(out, name, share, "of read bandwidth", "higher",
                  "%s, %.2f GB of weights, median of %d rounds; %.1f GB/s of %.1f, %.1f G weights/s; the "
                  "limit is the "
                  "best of %d probes, here %d streams, %d B of prefetch",
                  j->kernel->name, bytes * 1e-9, o->rounds, bytes / bench_median(s->kernel, o->rounds) * 1e-9,
                  bytes / bench_median(s->limit, o->rounds) * 1e-9,
                  weights / bench_median(s->kernel, o->rounds) * 1e-9, PROBES, by->streams, by->ahead);
    snprintf(name, sizeof name, threads == most ? "%s_batch8_over_limit" : "%s_batch8_over_limit_%dt",
             j->kernel->form == TERN__TERNARY_2 ? "ternary" : "ternary_t5", threads);
    if (batch == 8)
        bench_row(out, name, 1 / share, "x", "lower",
                  "%s, time of a step at n = 8 / (bytes / read bandwidth), %d threads", j->kernel->name,
                  threads);
}

/* Fills j->memory with copies of one packed matrix. */
static void prepare_weights(const options *o, tern__ternary_form form, job *j, size_t block)
{
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
}

static void generation(bench_output *out, const options *o, tern__threads *threads, tern__ternary_form form,
                       job *j, size_t block)
{
    static series samples[MAX_THREADS][BATCHES];
    static double reads[MAX_THREADS][KEPT][MAX_ROUNDS];
    int kept[MAX_THREADS][KEPT];
    prepare_weights(o, form, j, block);
    int8_t *x = make_x(8, j->columns);
    j->x = x;
    const int most = tern__threads_count(threads);
    for (int t = 1; t <= most; t++)
        calibrate(threads, t, j, kept[t - 1]);
    for (int round = 0; round < o->rounds; round++) {
        for (int t = 1; t <= most; t++) {
            for (int b = 0; b < BATCHES; b++) {
                /* Limit and kernel take turns. */
                reads[t - 1][b % KEPT][round] = read_seconds(threads, t, j, kept[t - 1][b % KEPT]);
                j->batch = batches[b];
                samples[t - 1][b].kernel[round] = seconds(threads, t, j);
            }
        }
    }
    for (int t = 1; t <= most; t++) {
        int best = best_reads(reads[t - 1], KEPT, o->rounds);
        for (int b = 0; b < BATCHES; b++) {
            series *s = &samples[t - 1][b];
            int by = kept[t - 1][best];
            for (int round = 0; round < o->rounds; round++)
                add(s, round, s->kernel[round], reads[t - 1][best][round]);
            j->batch = batches[b];
            for (int again = 0; again < 2 && bench_median(s->share, o->rounds) > 1; again++)
                by = measure_again(o, threads, t, j, s);
            generation_rows(out, o, j, t, most, batches[b], s, &probes[by]);
        }
    }
    tern__free(x);
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
        for (int s = 0; s < SHAPES && !isnan(worst); s++) {
            char shape[64];
            snprintf(shape, sizeof shape, "%lldx%lld n=%lld", (long long)shapes[s][0],
                     (long long)shapes[s][1], (long long)batch);
            double share = show(&samples[t - 1][s], o->rounds, j->kernel->name, shape, t,
                                2.0 * (double)(shapes[s][0] * shapes[s][1] * batch), "GOPS");
            worst = share < worst || isnan(share) ? share : worst;
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
    printf("%d threads, %d rounds; kernel, shape, threads, median time, rate, limit, share of it\n", workers,
           o.rounds);
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

/* bench_gemm.c - f32 products as shares of the rate of fused multiply-adds on registers, beside other libraries.
 *
 * Peak, kernel and peers are measured in turns; a share is the median over the rounds of (kernel / peak of the same round).
 * The products run as a plan would run them: b as it lies, or packed once (a constant).
 *
 *     bench_gemm [--rows FILE | --json FILE] [--rounds N] [--largest N] [--isa LEVEL] [--clock cpu] [--shape M,N,K]
 *
 * --shape: that one only, on every number of threads, and no rows.
 * oneDNN and OpenBLAS are asked if they are installed (they are loaded when the program runs); OpenBLAS is told the core type,
 * because it takes some processors for others. --clock cpu: processor time of the busiest thread, for a shared machine; peers,
 * whose threads are their own, are left out then for more than one thread. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threads.h"
#include "bench_json.h"
#include "kernels/gemm/product.h"
#include "kernels/select.h"

enum { MAX_ROUNDS = 101, MAX_THREADS = 2, PEAK_REPETITIONS = 200000 };

static bool cpu_time;

/* ---- the limit: 24 independent chains of multiply-adds on registers (12 where there are 16 registers) ---- */

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void peak_avx512(int64_t repetitions)
{
    /* Zeros: what registers hold might be slow numbers. */
    __asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,30,31\n\t"
                     "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n\n\t"
                     ".endr\n"
                     "1:\n\t"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n\t"
                     "vfmadd231ps %%zmm31, %%zmm30, %%zmm\\n\n\t"
                     ".endr\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(repetitions)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18",
                       "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm30", "xmm31", "cc");
}

__attribute__((target("avx2,fma"))) static void peak_avx2(int64_t repetitions)
{
    __asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,14,15\n\t"
                     "vxorps %%ymm\\n, %%ymm\\n, %%ymm\\n\n\t"
                     ".endr\n"
                     "1:\n\t"
                     ".irp n,0,1,2,3,4,5,6,7,8,9,10,11\n\t"
                     "vfmadd231ps %%ymm15, %%ymm14, %%ymm\\n\n\t"
                     ".endr\n\t"
                     "dec %0\n\t"
                     "jnz 1b"
                     : "+r"(repetitions)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm14", "xmm15", "cc");
}
#endif

typedef struct limit {
    void (*run)(int64_t repetitions);
    double flops; /* of one repetition */
} limit;

static limit limit_of(uint32_t isa_mask)
{
#if defined(__x86_64__)
    if (isa_mask >> TERN__ISA_AVX512 & 1)
        return (limit){peak_avx512, 24 * 16 * 2};
    if (isa_mask >> TERN__ISA_AVX2 & 1)
        return (limit){peak_avx2, 12 * 8 * 2};
#endif
    (void)isa_mask;
    return (limit){0};
}

/* ---- jobs ---- */

typedef struct job {
    limit peak; /* run it if `product` is NULL */
    const tern__gemm_program *program;
    tern__kernel_fn product;
    tern__kernel_args args;
    char *scratch;
    size_t scratch_stride; /* from a worker's to the next one's */
    int64_t times;
    double busy[MAX_THREADS][8];
} job;

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_job(void *user, int worker, int workers)
{
    job *j = user;
    double start = thread_seconds();
    if (!j->product) {
        j->peak.run(PEAK_REPETITIONS);
    } else {
        tern__kernel_args args = j->args;
        const int64_t work = j->program->work;
        args.program = j->program;
        args.scratch = j->scratch + (size_t)worker * j->scratch_stride;
        for (int64_t i = 0; i < j->times; i++)
            j->product(&args, work * worker / workers, work * (worker + 1) / workers);
    }
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

/* ---- peers ---- */

typedef int (*dnnl_fn)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                       int64_t, float, float *, int64_t);
typedef void (*cblas_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                         float *, int);

typedef struct peer {
    const char *name;
    dnnl_fn dnnl;
    cblas_fn cblas;
    void (*set_threads)(int);
} peer;

static void *load(const char *const *names)
{
    for (; *names; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
        if (handle)
            return handle;
    }
    return NULL;
}

static void *symbol(void *handle, const char *name)
{
    return handle ? dlsym(handle, name) : NULL;
}

static void find_peers(peer peers[2])
{
    static const char *const dnnl[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
    static const char *const blas[] = {"libopenblas.so.0", NULL};
    if (tern__cpu()->isa_mask >> TERN__ISA_AVX512 & 1)
        setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
    peers[0] = (peer){.name = "oneDNN"};
    peers[1] = (peer){.name = "OpenBLAS"};
    void *handle = load(dnnl);
    *(void **)&peers[0].dnnl = symbol(handle, "dnnl_sgemm");
    *(void **)&peers[0].set_threads = symbol(handle, "omp_set_num_threads");
    handle = load(blas);
    *(void **)&peers[1].cblas = symbol(handle, "cblas_sgemm");
    *(void **)&peers[1].set_threads = symbol(handle, "openblas_set_num_threads");
    for (int i = 0; i < 2; i++)
        if (!peers[i].dnnl && !peers[i].cblas)
            printf("%s: unavailable: not installed\n", peers[i].name);
}

static double peer_seconds(const peer *p, int threads, int m, int n, int k, const float *a, const float *b,
                           float *y, int64_t times)
{
    if ((!p->dnnl && !p->cblas) || (cpu_time && threads > 1))
        return NAN;
    if (p->set_threads)
        p->set_threads(threads);
    double start = cpu_time ? thread_seconds() : (double)tern__now_ns() * 1e-9;
    for (int64_t i = 0; i < times; i++) {
        if (p->dnnl)
            p->dnnl('N', 'N', m, n, k, 1, a, k, b, n, 0, y, n);
        else
            p->cblas(101, 111, 111, m, n, k, 1, a, k, b, n, 0, y, n);
    }
    return (cpu_time ? thread_seconds() : (double)tern__now_ns() * 1e-9) - start;
}

/* Threads of peers wait for more work by spinning, for some hundredths of a second: not on the cores that are measured next.
 * Cores that slept meanwhile take a while to be what they were. */
static void settle(tern__threads *threads, int workers, job *j)
{
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    j->product = NULL;
    for (int i = 0; i < 20; i++)
        seconds(threads, workers, j);
}

/* ---- one shape ---- */

typedef struct shape {
    int m, n, k;
} shape;

typedef struct result {
    double share[2], rate[2]; /* of b as it lies, and packed; rate in GFLOPS */
    double peer_ratio;        /* ours / the best peer's rate; NaN: none */
} result;

typedef struct bench {
    const tern__gemm_kernel *kernel;
    limit peak;
    tern__threads *threads;
    peer peers[2];
    int rounds;
} bench;

/* Memory as a pool gives it: large blocks on huge pages where the system has them. */
typedef struct block {
    void *memory;
    size_t bytes;
} block;

static block block_make(size_t bytes)
{
    block b = {.bytes = (bytes + 4095) / 4096 * 4096};
    b.memory = tern__pages_map(b.bytes ? b.bytes : 4096, true);
    if (!b.memory) {
        fprintf(stderr, "bench_gemm: out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    b.bytes = b.bytes ? b.bytes : 4096;
    return b;
}

static block floats(int64_t n)
{
    block b = block_make((size_t)n * sizeof(float));
    float *x = b.memory;
    uint32_t state = 7;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)state * 0x1p-31f;
    }
    return b;
}

static result measure(const bench *o, shape s, int threads)
{
    const double flops = 2.0 * s.m * s.n * s.k;
    const int rounds = flops > 3e10 && o->rounds > 3 ? 3 : o->rounds;
    const int64_t times = 1 + (int64_t)((threads > 1 ? 8e8 : 4e7) / flops);
    size_t packed_bytes = 0;
    tern__gemm_packed_bytes(o->kernel, s.k, s.n, &packed_bytes);
    block blocks[] = {floats((int64_t)s.m * s.k), floats((int64_t)s.k * s.n), floats((int64_t)s.m * s.n),
                      block_make(packed_bytes)};
    float *a = blocks[0].memory, *b = blocks[1].memory, *y = blocks[2].memory, *packed = blocks[3].memory;
    tern__gemm_pack(o->kernel, TERN_F32, b, s.n, 1, s.k, s.n, 0, tern__gemm_tiles(o->kernel, s.n), packed);

    const tern__type at = {TERN_F32, 2, {s.m, s.k}}, bt = {TERN_F32, 2, {s.k, s.n}},
                     yt = {TERN_F32, 2, {s.m, s.n}};
    const tern__type wt = {TERN_F32, 3, {tern__gemm_tiles(o->kernel, s.n), s.k, o->kernel->columns}};
    const int64_t a_strides[] = {s.k, 1}, b_strides[] = {s.n, 1};
    const tern__buffer plain[] = {{a, &at, a_strides}, {b, &bt, b_strides}};
    const tern__buffer constant[] = {{a, &at, a_strides}, {packed, &wt, NULL}}, out = {y, &yt, b_strides};
    const tern__attr flags[2] = {{.i = 0}, {.i = 0}}, packed_flags[2] = {{.i = s.n}, {.i = 0}};
    tern__gemm_program programs[2];
    tern__gemm_plan(o->kernel, &at, &bt, &yt, flags, threads, &programs[0]);
    tern__gemm_plan_packed(o->kernel, &wt, &yt, threads, &programs[1]);
    const size_t scratch = programs[0].scratch_bytes > programs[1].scratch_bytes ? programs[0].scratch_bytes
                                                                                 : programs[1].scratch_bytes;
    job j = {.peak = o->peak, .times = times};
    j.scratch_stride = (scratch + 63) / 64 * 64;
    const block room = block_make(j.scratch_stride * (size_t)threads);
    j.scratch = room.memory;
    static double shares[2][MAX_ROUNDS], rates[2][MAX_ROUNDS], ratios[MAX_ROUNDS];
    int n_ratios = 0;
    for (int r = 0; r < rounds; r++) {
        if (threads > 1)
            settle(o->threads, threads, &j);
        double best = INFINITY, peer_best = INFINITY;
        for (int mode = 0; mode < 2; mode++) {
            j.product = NULL;
            double before = seconds(o->threads, threads, &j);
            j.product = mode ? tern_packed_matmul__gemm : tern_matmul__gemm;
            j.program = &programs[mode];
            j.args = (tern__kernel_args){.n_in = 2,
                                         .n_out = 1,
                                         .in = mode ? constant : plain,
                                         .out = &out,
                                         .attrs = mode ? packed_flags : flags};
            double time = seconds(o->threads, threads, &j);
            j.product = NULL;
            double peak = (before + seconds(o->threads, threads, &j)) / 2;
            rates[mode][r] = flops * (double)times / time * 1e-9;
            shares[mode][r] = rates[mode][r] * 1e9 / (o->peak.flops * PEAK_REPETITIONS * threads / peak);
            best = time < best && mode == 0 ? time : best;
        }
        for (int i = 0; i < 2; i++) {
            double time = peer_seconds(&o->peers[i], threads, s.m, s.n, s.k, a, b, y, times);
            peer_best = time < peer_best ? time : peer_best;
        }
        if (isfinite(peer_best))
            ratios[n_ratios++] = peer_best / best;
    }
    result got = {.peer_ratio = n_ratios ? bench_median(ratios, n_ratios) : NAN};
    for (int mode = 0; mode < 2; mode++) {
        got.share[mode] = bench_median(shares[mode], rounds);
        got.rate[mode] = bench_median(rates[mode], rounds);
    }
    printf("%5d x %5d x %5d  %d  %7.1f GFLOPS  share %.3f   packed %7.1f  share %.3f   ", s.m, s.n, s.k,
           threads, got.rate[0], got.share[0], got.rate[1], got.share[1]);
    if (isnan(got.peer_ratio))
        printf("best peer unavailable: none installed, or its processor time is not ours to measure\n");
    else
        printf("%.2f x the best peer\n", got.peer_ratio);
    tern__pages_unmap(room.memory, room.bytes);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        tern__pages_unmap(blocks[i].memory, blocks[i].bytes);
    return got;
}

/* ---- program ---- */

static double smaller(double a, double b)
{
    return b < a ? b : a; /* NaN stays behind */
}

static void squares(const bench *o, bench_output *out, int largest)
{
    double share[2] = {INFINITY, INFINITY}, scaling = INFINITY;
    const int most = tern__threads_count(o->threads);
    for (int size = 512; size <= largest; size *= 2) {
        result one = {0};
        for (int t = 1; t <= most; t++) {
            result r = measure(o, (shape){size, size, size}, t);
            for (int mode = 0; mode < 2; mode++) {
                share[mode] = smaller(share[mode], r.share[mode]);
                if (t == 2)
                    scaling = smaller(scaling, r.rate[mode] / one.rate[mode]);
            }
            if (t == 1)
                one = r;
        }
    }
    bench_row(out, "sgemm_peak_share_min", share[0], "of the FMA peak", "higher",
              "%s, squares of 512 to %d, b as it lies, worst of 1 to %d threads", o->kernel->name, largest,
              most);
    bench_row(out, "sgemm_packed_peak_share_min", share[1], "of the FMA peak", "higher",
              "%s, squares of 512 to %d, b packed once, worst of 1 to %d threads", o->kernel->name, largest,
              most);
    if (most > 1)
        bench_row(out, "scaling_2t_min", scaling, "times one thread", "higher",
                  "f32 products, squares of 512 to %d, 2 threads / 1", largest);
    else
        printf("scaling_2t_min: unavailable: one core is usable\n");
}

static void others(const bench *o, bench_output *out)
{
    static const shape shapes[] = {{16, 16, 16},    {32, 32, 32},    {64, 64, 64},     {63, 61, 59},
                                   {1, 2048, 2048}, {4, 2048, 2048}, {16, 2048, 2048}, {2048, 1, 2048},
                                   {2048, 8, 512},  {128, 2048, 512}};
    double worst = INFINITY;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        worst = smaller(worst, measure(o, shapes[i], 1).peer_ratio);
    if (isfinite(worst))
        bench_row(out, "sgemm_small_over_best_peer", worst, "times its speed", "higher",
                  "worst of %zu small and skinny shapes, 1 thread", sizeof shapes / sizeof *shapes);
}

int main(int argc, char **argv)
{
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    bench o = {.rounds = 7};
    int largest = 4096;
    shape one = {0};
    uint32_t mask = tern__cpu()->isa_mask;
    for (int i = 1; i < argc; i += 2) {
        tern__isa cap;
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--rounds") == 0 && atoi(value) > 0 && atoi(value) <= MAX_ROUNDS)
            o.rounds = atoi(value);
        else if (strcmp(argv[i], "--largest") == 0 && atoi(value) >= 512)
            largest = atoi(value);
        else if (strcmp(argv[i], "--isa") == 0 && tern__isa_parse(value, &cap) == TERN_OK)
            mask = tern__isa_mask_capped(tern__cpu(), cap);
        else if (strcmp(argv[i], "--shape") == 0 && sscanf(value, "%d,%d,%d", &one.m, &one.n, &one.k) == 3 &&
                 one.m > 0 && one.n > 0 && one.k > 0)
            continue;
        else if (strcmp(argv[i], "--clock") == 0 && strcmp(value, "cpu") == 0)
            cpu_time = true;
        else {
            fprintf(stderr,
                    "usage: bench_gemm [--rows FILE | --json FILE] [--rounds N] [--largest N] [--isa LEVEL] "
                    "[--clock cpu] [--shape M,N,K]\n");
            return 2;
        }
    }
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, mask);
    o.peak = limit_of(mask);
    if (!row || !o.peak.run) {
        printf("f32 products: unavailable: the peak of multiply-adds is probed on AVX2 and AVX-512 only\n");
        return bench_close(&out) ? 0 : 1;
    }
    o.kernel = row->kernel;
    int workers = tern__cpu()->cores_usable < MAX_THREADS ? tern__cpu()->cores_usable : MAX_THREADS;
    if (tern__threads_create(workers, &o.threads) != TERN_OK) {
        fprintf(stderr, "bench_gemm: %s\n", tern_last_error());
        return 1;
    }
    find_peers(o.peers);
    if (one.m > 0) {
        for (int t = 1; t <= workers; t++)
            measure(&o, one, t);
    } else {
        squares(&o, &out, largest);
        others(&o, &out);
    }
    tern__threads_destroy(o.threads);
    return bench_close(&out) ? 0 : 1;
}

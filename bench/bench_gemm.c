/* bench_gemm.c - f32 products as shares of the rate of fused multiply-adds on registers, beside other libraries.
 *
 * Products run as a plan would run them: b as it lies, or packed once (a constant). Probe and products of one and of two threads
 * are timed in turns (measure/timing.h), and everything shown is the median over the rounds of a ratio within a round: shares of
 * the probe on as many threads, two threads / one, and ours / the faster library, which pays for one call like ours. Samples of
 * the probe last about as long as those of the products, so that what disturbs the machine disturbs both. Rounds in which the probe
 * lost one of two cores are made again; if it never has both, shares on two threads are unavailable and have no row. A share above
 * 1.02 has no row, and the program fails when the others are written.
 *
 *     bench_gemm [--rows FILE | --json FILE] [--rounds N] [--largest N] [--threads N] [--isa LEVEL]
 *                [--shape [BATCH*]M,N,K[a][b]]
 *
 * --shape: that one only, on every number of threads, and no rows; a or b: that operand is transposed.
 * The libraries are those that options may allow (devices/cpu/library.h), called as they are. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/threads.h"
#include "bench_json.h"
#include "devices/cpu/library.h"
#include "kernels/gemm/product.h"
#include "kernels/select.h"
#include "measure/measure.h"

enum { MAX_THREADS = 2, PEERS = 2, MODES = 2 };

/* ---- operands ---- */

typedef struct shape {
    int m, n, k;
    bool a_turned, b_turned; /* stored as (k, m), (n, k) */
    int batch;               /* so many products; 0: one, of operands without that axis */
} shape;

#define PLAIN(M, N, K)         \
    {                          \
        .m = M, .n = N, .k = K \
    }

static int64_t count_of(const shape *s)
{
    return s->batch ? s->batch : 1;
}

static double flops_of(const shape *s)
{
    return 2.0 * s->m * s->n * s->k * (double)count_of(s);
}

/* b packed once: of plain products only. */
static int modes_of(const shape *s)
{
    return s->batch || s->a_turned || s->b_turned ? 1 : MODES;
}

static void name_of(const shape *s, char *to, size_t size)
{
    char batch[24] = "";
    if (s->batch)
        snprintf(batch, sizeof batch, "%d * ", s->batch);
    snprintf(to, size, "%s%d%s x %d%s x %d", batch, s->m, s->a_turned ? "'" : "", s->n,
             s->b_turned ? "'" : "", s->k);
}

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

/* ---- what is timed ---- */

/* Operands of one shape, for ours and for peers. */
typedef struct matrices {
    shape s;
    block a, b, y, packed, room;
    size_t room_stride; /* from a worker's scratch to the next one's */
    tern__type at, bt, yt, wt;
    int64_t a_strides[3], b_strides[3], y_strides[3];
    tern__buffer plain[2], constant[2], out;
    tern__attr flags[2], packed_flags[2];
} matrices;

typedef struct job {
    const matrices *x;
    tern__threads *threads;
    int workers;
    bool packed;
    tern__gemm_program program;
    tern__limit *limit;           /* a probe instead of a product */
    const tern__library *library; /* or theirs */
} job;

static void run_part(void *user, int worker, int workers)
{
    const job *j = user;
    const matrices *x = j->x;
    const int64_t work = j->program.work;
    tern__kernel_args args = {.n_in = 2,
                              .n_out = 1,
                              .in = j->packed ? x->constant : x->plain,
                              .out = &x->out,
                              .attrs = j->packed ? x->packed_flags : x->flags,
                              .program = &j->program,
                              .scratch = (char *)x->room.memory + (size_t)worker * x->room_stride};
    (j->packed ? tern_packed_matmul__gemm : tern_matmul__gemm)(&args, work * worker / workers,
                                                               work * (worker + 1) / workers);
}

/* One thread needs no pool, as a step of a plan that is not shared needs none, nor does a product that cannot be split: a plan
 * gives it to one worker and wakes nobody. */
static tern_status run_product(void *user)
{
    job *j = user;
    if (j->workers == 1 || j->program.work == 1)
        run_part(j, 0, 1);
    else
        tern__threads_run(j->threads, j->workers, run_part, j);
    return TERN_OK;
}

static tern_status run_probe(void *user)
{
    tern__limit_run(((const job *)user)->limit, 0);
    return TERN_OK;
}

static tern_status run_peer(void *user)
{
    const job *j = user;
    const shape *s = &j->x->s;
    const int lead_a = s->a_turned ? s->m : s->k, lead_b = s->b_turned ? s->k : s->n;
    for (int64_t i = 0; i < count_of(s); i++) {
        const float *a = (const float *)j->x->a.memory + i * s->m * s->k;
        const float *b = (const float *)j->x->b.memory + i * s->n * s->k;
        float *y = (float *)j->x->y.memory + i * s->m * s->n;
        if (j->library->dnnl)
            j->library->dnnl(s->a_turned ? 'T' : 'N', s->b_turned ? 'T' : 'N', s->m, s->n, s->k, 1, a, lead_a,
                             b, lead_b, 0, y, s->n);
        else
            j->library->cblas(101, s->a_turned ? 112 : 111, s->b_turned ? 112 : 111, s->m, s->n, s->k, 1, a,
                              lead_a, b, lead_b, 0, y, s->n);
    }
    return TERN_OK;
}

/* Threads wait for more work by spinning, those of libraries for some hundredths of a second, and would take a core from whatever is
 * measured next. What spins computes: waits until this process does nothing. */
static tern_status run_rest(void *user)
{
    enum { STEP_NS = 5000000, STEPS = 200 };
    (void)user;
    for (int i = 0; i < STEPS; i++) {
        const uint64_t start = tern__now_ns(), computed = tern__cpu_time_ns();
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
        if ((tern__cpu_time_ns() - computed) * 10 < tern__now_ns() - start)
            return TERN_OK;
    }
    return tern__fail(TERN_UNAVAILABLE, "threads of a library spin for more than a second");
}

typedef struct bench {
    const tern__gemm_kernel *kernel;
    const char *kernel_name;
    uint32_t isa_mask;
    tern__threads *threads;
    int rounds;
    bool believable;
} bench;

/* A matrix, or as many as the shape has of them: type and strides. */
static tern__type type_of(const shape *s, int64_t rows, int64_t columns, int64_t *strides)
{
    tern__type t = {TERN_F32, s->batch ? 3 : 2, {s->batch}};
    t.shape[t.rank - 2] = rows;
    t.shape[t.rank - 1] = columns;
    strides[0] = rows * columns;
    strides[t.rank - 2] = columns;
    strides[t.rank - 1] = 1;
    return t;
}

static void make_matrices(const bench *o, shape s, int workers, matrices *x)
{
    size_t packed_bytes = 0;
    tern__gemm_program plans[MODES];
    tern__gemm_packed_bytes(o->kernel, s.k, s.n, &packed_bytes);
    *x = (matrices){.s = s,
                    .a = floats(count_of(&s) * s.m * s.k),
                    .b = floats(count_of(&s) * s.k * s.n),
                    .y = floats(count_of(&s) * s.m * s.n),
                    .packed = block_make(packed_bytes),
                    .wt = {TERN_F32, 3, {tern__gemm_tiles(o->kernel, s.n), s.k, o->kernel->columns}},
                    .flags = {{.i = s.a_turned}, {.i = s.b_turned}},
                    .packed_flags = {{.i = s.n}, {.i = 0}}};
    x->at = type_of(&s, s.a_turned ? s.k : s.m, s.a_turned ? s.m : s.k, x->a_strides);
    x->bt = type_of(&s, s.b_turned ? s.n : s.k, s.b_turned ? s.k : s.n, x->b_strides);
    x->yt = type_of(&s, s.m, s.n, x->y_strides);
    x->plain[0] = x->constant[0] = (tern__buffer){x->a.memory, &x->at, x->a_strides};
    x->plain[1] = (tern__buffer){x->b.memory, &x->bt, x->b_strides};
    x->constant[1] = (tern__buffer){x->packed.memory, &x->wt, NULL};
    x->out = (tern__buffer){x->y.memory, &x->yt, x->y_strides};
    tern__gemm_plan(o->kernel, &x->at, &x->bt, &x->yt, x->flags, workers, &plans[0]);
    if (modes_of(&s) == MODES) {
        tern__gemm_pack(o->kernel, TERN_F32, x->b.memory, s.n, 1, s.k, s.n, 0,
                        tern__gemm_tiles(o->kernel, s.n), x->packed.memory);
        tern__gemm_plan_packed(o->kernel, &x->wt, &x->yt, workers, &plans[1]);
    }
    for (int mode = 0; mode < modes_of(&s); mode++)
        if (x->room_stride < plans[mode].scratch_bytes)
            x->room_stride = (plans[mode].scratch_bytes + 63) / 64 * 64;
    x->room = block_make(x->room_stride * (size_t)workers);
}

static void free_matrices(matrices *x)
{
    const block blocks[] = {x->a, x->b, x->y, x->packed, x->room};
    for (size_t i = 0; i < TERN__COUNT(blocks); i++)
        tern__pages_unmap(blocks[i].memory, blocks[i].bytes);
}

static job product_of(const bench *o, const matrices *x, int workers, bool packed)
{
    job j = {.x = x, .threads = o->threads, .workers = workers, .packed = packed};
    if (packed)
        tern__gemm_plan_packed(o->kernel, &x->wt, &x->yt, workers, &j.program);
    else
        tern__gemm_plan(o->kernel, &x->at, &x->bt, &x->yt, x->flags, workers, &j.program);
    return j;
}

/* ---- rounds ---- */

enum { MAX_THINGS = MAX_THREADS * (1 + MODES) + 3 * (PEERS + 1) };

typedef struct rounds {
    tern__thing things[MAX_THINGS];
    int n, done;
    tern__turns turns;
    double samples[MAX_THINGS * TERN__ROUNDS_MOST];
} rounds;

static int add_thing(rounds *r, tern_status (*run)(void *), job *j, int64_t repeats)
{
    r->things[r->n] = (tern__thing){.run = run, .user = j, .repeats = repeats};
    return r->n++;
}

/* Median over the rounds of (time of a / time of b), times `scale`. */
static double ratio(const rounds *r, int a, int b, double scale)
{
    return tern__turns_ratio(r->samples, &r->turns, r->done, a, b) * scale;
}

static double median(const rounds *r, int thing)
{
    double seconds[TERN__ROUNDS_MOST];
    memcpy(seconds, r->samples + thing * r->turns.rounds, (size_t)r->done * sizeof *seconds);
    return tern__stats_of(seconds, r->done).median;
}

static tern_status time_rounds(rounds *r)
{
    TERN_TRY(tern__turns_settle(&r->turns));
    for (int i = 0; i < r->n; i++)
        TERN_TRY(tern__thing_ready(&r->things[i], &r->turns));
    return tern__time_turns(r->things, r->n, &r->turns, r->samples, NULL, &r->done);
}

/* A sample lasts about as long as the longest product of the round, within reason. */
static tern__turns turns_for(const bench *o, double flops)
{
    return (tern__turns){
        .rounds = o->rounds, .budget_s = 10, .sample_s = fmin(fmax(flops / 2e11, 2e-3), 0.05)};
}

/* ---- one shape ---- */

typedef struct result {
    double share[MAX_THREADS][MODES], rate[MAX_THREADS][MODES]; /* by threads - 1; rate in GFLOPS */
    double scaling[MODES];
    double probe_scaling; /* two threads / one, of the probe in the same rounds; NaN: there is one thread */
    double peer_ratio[MAX_THREADS]; /* ours, b as it lies / the faster library's rate; NaN: none */
} result;

/* One side of a comparison: alone on the machine, and then as one that has just run, with its threads awake. */
static int add_side(rounds *r, tern_status (*run)(void *), job *j, int workers)
{
    if (workers > 1) {
        add_thing(r, run_rest, NULL, 1);
        add_thing(r, run, j, 0);
    }
    return add_thing(r, run, j, 0);
}

/* Ours beside the libraries on so many threads. */
static tern_status compare(const bench *o, const matrices *x, int workers, double flops, double *faster)
{
    static rounds r;
    job ours = product_of(o, x, workers, false), jobs[PEERS];
    int best = -1, things[PEERS], n = 0;
    r = (rounds){.turns = turns_for(o, flops)};
    *faster = NAN;
    const int mine = add_side(&r, run_product, &ours, workers);
    const tern__library *library;
    for (int i = 0; n < PEERS && (library = tern__library_at(i)) != NULL; i++) {
        if (library->missing[0])
            continue;
        tern__library_use_threads(library, workers);
        jobs[n] = (job){.x = x, .library = library};
        things[n] = add_side(&r, run_peer, &jobs[n], workers);
        n++;
    }
    if (n == 0)
        return TERN_OK;
    TERN_TRY(time_rounds(&r));
    for (int i = 0; i < n; i++)
        if (best < 0 || median(&r, things[i]) < median(&r, best))
            best = things[i];
    *faster = ratio(&r, best, mine, 1);
    return TERN_OK;
}

/* Probe, b as it lies, b packed, for each number of threads. */
static tern_status measure_rounds(const bench *o, const matrices *x, int most, double flops,
                                  tern__limit *const *limits, result *got)
{
    static rounds r;
    const int modes = modes_of(&x->s);
    job jobs[MAX_THREADS][1 + MODES];
    int at[MAX_THREADS][1 + MODES];
    r = (rounds){.turns = turns_for(o, flops)};
    for (int t = 0; t < most; t++) {
        jobs[t][0] = (job){.limit = limits[t]};
        at[t][0] = add_thing(&r, run_probe, &jobs[t][0], 0);
        for (int mode = 0; mode < modes; mode++) {
            jobs[t][1 + mode] = product_of(o, x, t + 1, mode == 1);
            at[t][1 + mode] = add_thing(&r, run_product, &jobs[t][1 + mode], 0);
        }
    }
    TERN_TRY(time_rounds(&r));
    for (int t = 0; t < most; t++)
        for (int mode = 0; mode < modes; mode++) {
            got->share[t][mode] = ratio(&r, at[t][0], at[t][1 + mode], tern__limit_scale(limits[t]));
            got->rate[t][mode] = flops / median(&r, at[t][1 + mode]) * 1e-9;
        }
    for (int mode = 0; mode < modes && most > 1; mode++)
        got->scaling[mode] = ratio(&r, at[0][1 + mode], at[1][1 + mode], 1);
    got->probe_scaling =
        most > 1 ? ratio(&r, at[0][0], at[1][0], tern__limit_scale(limits[0]) / tern__limit_scale(limits[1]))
                 : NAN;
    return TERN_OK;
}

static void show(bench *o, shape s, int most, result *got)
{
    const int modes = modes_of(&s);
    char name[64];
    name_of(&s, name, sizeof name);
    for (int t = 0; t < most; t++) {
        printf("%-26s %d ", name, t + 1);
        for (int mode = 0; mode < modes; mode++) {
            printf(" %s%7.1f GFLOPS  ", mode ? "  packed" : "", got->rate[t][mode]);
            if (isnan(got->share[t][mode]))
                printf("share unavailable: the probe lost a core ");
            else
                printf("share %.3f ", got->share[t][mode]);
        }
        if (isnan(got->peer_ratio[t]))
            printf("  libraries unavailable: none is installed\n");
        else
            printf("  %.2f x the faster library\n", got->peer_ratio[t]);
        for (int mode = 0; mode < modes; mode++)
            if (got->share[t][mode] > TERN__SHARE_MOST) {
                fprintf(stderr, "bench_gemm: %s, %d threads: %.3f of the FMA peak, so the probe is wrong\n",
                        name, t + 1, got->share[t][mode]);
                o->believable = false;
                got->share[t][mode] = NAN;
            }
    }
    if (most > 1) {
        printf("%28s two threads / one: %.2f", "", got->scaling[0]);
        if (modes > 1)
            printf(", packed %.2f", got->scaling[1]);
        printf("; registers alone %.2f\n", got->probe_scaling);
    }
}

static bool is_too_good(const result *got, int most, int modes)
{
    bool any = false;
    for (int t = 0; t < most; t++)
        for (int mode = 0; mode < modes; mode++)
            any = any || got->share[t][mode] > 1;
    return any;
}

/* What is above 1 is replaced by what was measured again, and nothing else, so that trying cannot raise a figure. */
static void replace_too_good(result *got, const result *again, int most, int modes)
{
    for (int t = 0; t < most; t++)
        for (int mode = 0; mode < modes; mode++)
            if (got->share[t][mode] > 1) {
                got->share[t][mode] = again->share[t][mode];
                got->rate[t][mode] = again->rate[t][mode];
            }
}

typedef struct attempt {
    const bench *o;
    const matrices *x;
    int most;
    double flops;
    tern__limit *const *limits;
    result got;
} attempt;

static tern_status run_attempt(void *user, double *scaling)
{
    attempt *a = user;
    TERN_TRY(measure_rounds(a->o, a->x, a->most, a->flops, a->limits, &a->got));
    *scaling = a->got.probe_scaling;
    return TERN_OK;
}

/* What seems too good is measured again, since a core's frequency may have changed between a probe and the product behind it. The
 * last try counts, whatever it gives: what stays above 1.02 fails the benchmark. */
static tern_status measure_shares(attempt *a, int modes)
{
    bool undisturbed;
    TERN_TRY(tern__time_undisturbed(run_attempt, a, TERN__TWO_CORES, &undisturbed));
    for (int i = 1; i < TERN__TRIES && undisturbed && is_too_good(&a->got, a->most, modes); i++) {
        attempt again = *a;
        TERN_TRY(tern__time_undisturbed(run_attempt, &again, TERN__TWO_CORES, &undisturbed));
        replace_too_good(&a->got, &again.got, a->most, modes);
    }
    for (int mode = 0; mode < modes && !undisturbed; mode++)
        a->got.share[1][mode] = NAN;
    return TERN_OK;
}

static tern_status measure(bench *o, shape s, int most, result *got)
{
    const int modes = modes_of(&s);
    const double flops = flops_of(&s);
    const tern__limit_work work = {.kind = TERN_LIMIT_FMA, .operations = flops, .isa_mask = o->isa_mask};
    tern__limit *limits[MAX_THREADS] = {NULL};
    matrices x;
    tern_status status = TERN_OK;
    make_matrices(o, s, most, &x);
    for (int t = 0; t < most && status == TERN_OK; t++)
        status = tern__limit_create(o->threads, t + 1, &work, &limits[t]);
    attempt a = {.o = o, .x = &x, .most = most, .flops = flops, .limits = limits};
    if (status == TERN_OK)
        status = measure_shares(&a, modes);
    *got = a.got;
    for (int t = 0; t < most && status == TERN_OK; t++)
        status = compare(o, &x, t + 1, flops, &got->peer_ratio[t]);
    if (status == TERN_OK)
        show(o, s, most, got);
    for (int t = 0; t < most; t++)
        tern__limit_destroy(limits[t]);
    free_matrices(&x);
    return status;
}

/* ---- program ---- */

static tern_status squares(bench *o, bench_output *out, int largest)
{
    double share[MODES] = {INFINITY, INFINITY};
    const int most = tern__threads_count(o->threads);
    for (int size = 512; size <= largest; size *= 2) {
        result r;
        TERN_TRY(measure(o, (shape)PLAIN(size, size, size), most, &r));
        for (int mode = 0; mode < MODES; mode++) {
            for (int t = 0; t < most; t++)
                share[mode] = bench_worse(share[mode], r.share[t][mode]);
        }
    }
    bench_row(out, "sgemm_peak_share_min", share[0], "of the FMA peak", "higher",
              "%s, squares of 512 to %d, b as it lies, worst of 1 to %d threads", o->kernel_name, largest,
              most);
    bench_row(out, "sgemm_packed_peak_share_min", share[1], "of the FMA peak", "higher",
              "%s, squares of 512 to %d, b packed once, worst of 1 to %d threads", o->kernel_name, largest,
              most);
    return TERN_OK;
}

static tern_status others(bench *o, bench_output *out)
{
    static const shape shapes[] = {PLAIN(16, 16, 16),     PLAIN(32, 32, 32),    PLAIN(64, 64, 64),
                                   PLAIN(63, 61, 59),     PLAIN(1, 2048, 2048), PLAIN(4, 2048, 2048),
                                   PLAIN(16, 2048, 2048), PLAIN(2048, 1, 2048), PLAIN(2048, 8, 512),
                                   PLAIN(128, 2048, 512)};
    double worst = INFINITY;
    for (size_t i = 0; i < TERN__COUNT(shapes); i++) {
        result r;
        TERN_TRY(measure(o, shapes[i], 1, &r));
        worst = bench_worse(worst, r.peer_ratio[0]);
    }
    if (isfinite(worst))
        bench_row(out, "sgemm_small_over_best_peer", worst, "times its speed", "higher",
                  "worst of %zu small and skinny shapes, 1 thread", TERN__COUNT(shapes));
    return TERN_OK;
}

/* What training multiplies: weights' and activations' gradients, and those of attention, head by head. */
static tern_status gradients(bench *o, bench_output *out)
{
    static const shape shapes[] = {{.m = 1024, .n = 256, .k = 4096, .a_turned = true},
                                   {.m = 256, .n = 1024, .k = 4096, .a_turned = true},
                                   {.m = 4096, .n = 256, .k = 1024, .b_turned = true},
                                   {.m = 4096, .n = 1024, .k = 256, .b_turned = true},
                                   {.m = 256, .n = 256, .k = 64, .b_turned = true, .batch = 64},
                                   {.m = 256, .n = 64, .k = 256, .batch = 64},
                                   {.m = 256, .n = 64, .k = 256, .a_turned = true, .batch = 64}};
    const int most = tern__threads_count(o->threads);
    double worst = INFINITY;
    for (size_t i = 0; i < TERN__COUNT(shapes); i++) {
        result r;
        TERN_TRY(measure(o, shapes[i], most, &r));
        for (int t = 0; t < most; t++)
            worst = bench_worse(worst, r.share[t][0]);
    }
    bench_row(out, "sgemm_gradient_peak_share_min", worst, "of the FMA peak", "higher",
              "%s, worst of %zu transposed and batched shapes, 1 to %d threads", o->kernel_name,
              TERN__COUNT(shapes), most);
    return TERN_OK;
}

/* "[BATCH*]M,N,K[a][b]" */
static bool parse_shape(const char *text, shape *to)
{
    char turned[3] = "";
    const char *star = strchr(text, '*');
    *to = (shape){0};
    if (star) {
        to->batch = atoi(text);
        text = star + 1;
    }
    if (sscanf(text, "%d,%d,%d%2[ab]", &to->m, &to->n, &to->k, turned) < 3)
        return false;
    to->a_turned = strchr(turned, 'a') != NULL;
    to->b_turned = strchr(turned, 'b') != NULL;
    return to->m > 0 && to->n > 0 && to->k > 0 && (!star || to->batch > 0);
}

typedef struct options {
    int largest, threads;
    shape one; /* m = 0: all */
} options;

static bool parse(bench *o, options *to, int argc, char **argv)
{
    *o = (bench){.rounds = 9, .isa_mask = tern__cpu()->isa_mask, .believable = true};
    *to = (options){.largest = 4096, .threads = tern__cpu()->cores_usable};
    for (int i = 1; i + 1 < argc; i += 2) {
        tern__isa cap;
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--rounds") == 0 && atoi(value) > 0 && atoi(value) <= TERN__ROUNDS_MOST)
            o->rounds = atoi(value);
        else if (strcmp(argv[i], "--largest") == 0 && atoi(value) >= 512)
            to->largest = atoi(value);
        else if (strcmp(argv[i], "--threads") == 0 && atoi(value) > 0)
            to->threads = atoi(value);
        else if (strcmp(argv[i], "--isa") == 0 && tern__isa_parse(value, &cap) == TERN_OK)
            o->isa_mask = tern__isa_mask_capped(tern__cpu(), cap);
        else if (strcmp(argv[i], "--shape") != 0 || !parse_shape(value, &to->one))
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    bench_output out;
    bench o;
    options wanted;
    if (tern__library_core_type()) /* a misdetecting peer is no peer */
        setenv("OPENBLAS_CORETYPE", tern__library_core_type(), 0);
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (!parse(&o, &wanted, argc, argv)) {
        fprintf(stderr, "usage: bench_gemm [--rows FILE | --json FILE] [--rounds N] [--largest N] "
                        "[--threads N] [--isa LEVEL] [--shape [BATCH*]M,N,K[a][b]]\n");
        return 2;
    }
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, o.isa_mask);
    if (!row) {
        printf("f32 products: unavailable: these instruction sets have no kernel\n");
        return bench_close(&out) ? 0 : 1;
    }
    o.kernel = row->kernel;
    o.kernel_name = row->name;
    const int workers = wanted.threads < MAX_THREADS ? wanted.threads : MAX_THREADS;
    tern_status status = tern__threads_create(workers, &o.threads);
    const tern__library *library;
    for (int i = 0; (library = tern__library_at(i)) != NULL; i++)
        if (library->missing[0])
            printf("%s unavailable: %s\n", library->name, library->missing);
    result ignored;
    if (status == TERN_OK && wanted.one.m > 0)
        status = measure(&o, wanted.one, workers, &ignored);
    else if (status == TERN_OK)
        status = squares(&o, &out, wanted.largest);
    if (status == TERN_OK && wanted.one.m == 0)
        status = others(&o, &out);
    if (status == TERN_OK && wanted.one.m == 0)
        status = gradients(&o, &out);
    if (status != TERN_OK)
        fprintf(stderr, "bench_gemm: %s\n", tern_last_error());
    tern__threads_destroy(o.threads);
    return bench_close(&out) && o.believable && status == TERN_OK ? 0 : 1;
}

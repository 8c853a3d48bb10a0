/* bench_pool.c - the memory pool against malloc, mimalloc and jemalloc, with 64 blocks live in rotation.
 *
 * Two patterns. "batch": 64 blocks are taken, then all returned in the same order, again and again, as the
 * steps of a program do it. "ring": the oldest block is returned and one is taken, which flatters every
 * allocator that looks first at what it freed last. "touched" means that the first byte of each page of a
 * block is written, as real use would; it shows the page faults that an allocator causes by giving pages
 * back.
 *
 * Allocators remember their past (glibc raises its mmap threshold with every larger block freed), so each
 * number comes from a fresh process: the program starts itself with `--measure`. One process times many
 * short slices and keeps the fastest; the rounds go through all allocators in turn, so that a busy machine
 * disturbs all alike. Noise only ever adds, so the table shows the fastest round. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* RTLD_LOCAL with -std=c17, environ */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tern/pool.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "bench_json.h"
#include "measure/timing.h"

enum { LIVE = 64, THREADS_MAX = 8, TEXT = 128, SIZE_TEXT = 32 };

typedef enum rotation { BATCH, RING, BATCH_TOUCHED, RING_TOUCHED, HANDED_ON } rotation;

static const char *const pattern_names[] = {"batch", "ring", "batch, touched", "ring, touched", "handed on"};

/* ---- the four allocators ---- */

typedef enum contender { POOL, MALLOC, MIMALLOC, JEMALLOC, CONTENDERS } contender;

static const char *const contender_names[] = {"pool", "malloc", "mimalloc", "jemalloc"};

typedef struct allocator {
    void *(*get)(size_t bytes);
    void (*put)(void *block);
} allocator;

static tern_pool *the_pool;

static void *pool_get(size_t bytes)
{
    void *block = NULL;
    return tern_pool_get(the_pool, bytes, 0, &block) == TERN_OK ? block : NULL;
}

static void pool_put(void *block)
{
    tern_pool_put(the_pool, block);
}

/* Finds the functions in a library of its own; `why` says what is missing. */
static bool load(const char *const *libraries, const char *const *symbols, allocator *out, char *why)
{
    void *handle = NULL;
    for (; *libraries != NULL && handle == NULL; libraries++)
        handle = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(why, TEXT, "%s", dlerror());
        return false;
    }
    for (; symbols[0] != NULL; symbols += 2) {
        void *get = dlsym(handle, symbols[0]), *put = dlsym(handle, symbols[1]);
        /* A library without the name would answer with the C library's function. */
        if (get == NULL || put == NULL || get == dlsym(RTLD_DEFAULT, "malloc"))
            continue;
        memcpy(&out->get, &get, sizeof get);
        memcpy(&out->put, &put, sizeof put);
        return true;
    }
    snprintf(why, TEXT, "the library has no malloc of its own");
    return false;
}

static bool allocator_open(contender which, allocator *out, char *why)
{
    static const char *const mimalloc[] = {"libmimalloc.so.2", "libmimalloc.so", "libmimalloc.dylib", NULL};
    static const char *const jemalloc[] = {"libjemalloc.so.2", "libjemalloc.so", "libjemalloc.dylib", NULL};
    static const char *const mimalloc_symbols[] = {"mi_malloc", "mi_free", NULL};
    static const char *const jemalloc_symbols[] = {"je_malloc", "je_free", "malloc", "free", NULL};
    switch (which) {
    case POOL:
        *out = (allocator){pool_get, pool_put};
        snprintf(why, TEXT, "the pool cannot be made");
        return tern_pool_create(NULL, &the_pool) == TERN_OK;
    case MALLOC:
        *out = (allocator){malloc, free};
        return true;
    case MIMALLOC:
        return load(mimalloc, mimalloc_symbols, out, why);
    default:
        return load(jemalloc, jemalloc_symbols, out, why);
    }
}

/* ---- one measurement, in a process of its own ---- */

typedef struct job {
    contender which;
    rotation pattern;
    size_t bytes;
    int threads;
} job;

typedef struct result {
    double ns;           /* per get and put; of many threads, over all of them */
    double cpu_ns;       /* many threads: processor time per pair */
    double faults;       /* page faults per pair, after the first rounds */
    double huge_percent; /* of the process's anonymous memory; negative: unknown */
    char why[TEXT];      /* unavailable: the reason, else "" */
} result;

static uint64_t faults_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static inline void touch(char *block, size_t bytes, size_t page)
{
    for (size_t i = 0; i < bytes; i += page)
        ((volatile char *)block)[i] = 1;
}

/* The blocks that one thread holds. */
typedef struct rotating {
    const allocator *a;
    const job *job;
    void *ring[LIVE];
    size_t page;
} rotating;

/* 64 pairs. The ring is full before and after. */
static tern_status turn(void *user)
{
    rotating *of = user;
    const allocator *a = of->a;
    const job *j = of->job;
    void **ring = of->ring;
    const size_t page = of->page;
    bool touched = j->pattern == BATCH_TOUCHED || j->pattern == RING_TOUCHED;
    if (j->pattern == BATCH || j->pattern == BATCH_TOUCHED) {
        for (int i = 0; i < LIVE; i++)
            a->put(ring[i]);
        for (int i = 0; i < LIVE; i++) {
            if ((ring[i] = a->get(j->bytes)) == NULL)
                return TERN_OUT_OF_MEMORY;
            if (touched)
                touch(ring[i], j->bytes, page);
        }
        return TERN_OK;
    }
    for (int i = 0; i < LIVE; i++) {
        a->put(ring[i]);
        if ((ring[i] = a->get(j->bytes)) == NULL)
            return TERN_OUT_OF_MEMORY;
        if (touched)
            touch(ring[i], j->bytes, page);
    }
    return TERN_OK;
}

static double huge_percent(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL)
        return -1;
    char line[256];
    long anonymous = -1, huge = -1;
    while (fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "Anonymous: %ld", &anonymous);
        sscanf(line, "AnonHugePages: %ld", &huge);
    }
    fclose(file);
    return anonymous > 0 && huge >= 0 ? 100.0 * (double)huge / (double)anonymous : -1;
}

/* Samples of about half a millisecond, the fastest counts; together about a fifth of a second, but three at least. */
static bool measure_alone(const allocator *a, const job *j, result *out)
{
    enum { SAMPLES = 60 };
    rotating of = {.a = a, .job = j, .page = tern__page_size()};
    for (int i = 0; i < LIVE; i++) {
        if ((of.ring[i] = a->get(j->bytes)) == NULL)
            return false;
        touch(of.ring[i], j->pattern >= BATCH_TOUCHED ? j->bytes : 1, of.page);
    }
    double samples[SAMPLES];
    tern__turns turns = {.warmups = 3, .rounds = SAMPLES, .budget_s = 0.2, .sample_s = 0.5e-3};
    tern__thing thing = {.run = turn, .user = &of};
    if (tern__turns_settle(&turns) != TERN_OK || tern__thing_ready(&thing, &turns) != TERN_OK)
        return false;
    const uint64_t faults = faults_now();
    int done;
    if (tern__time_turns(&thing, 1, &turns, samples, NULL, &done) != TERN_OK)
        return false;
    out->ns = tern__stats_of(samples, done).min * 1e9 / LIVE;
    out->faults = (double)(faults_now() - faults) / ((double)done * (double)thing.repeats * LIVE);
    out->huge_percent = huge_percent();
    for (int i = 0; i < LIVE; i++)
        a->put(of.ring[i]);
    return true;
}

/* ---- many threads ---- */

typedef struct crowd {
    const allocator *a;
    const job *job;
    _Atomic(int) ready;
    _Atomic(bool) go, stop, failed;
    _Atomic(uint64_t) pairs, cpu_ns;
    _Atomic(void *) mailboxes[LIVE * THREADS_MAX];
} crowd;

/* Own blocks in a ring, or ("handed on") blocks that travel between the threads. */
static void *crowd_work(void *arg)
{
    crowd *c = arg;
    void *ring[LIVE] = {0};
    uint64_t pairs = 0, r = 0x9E3779B97F4A7C15u * (uint64_t)(atomic_fetch_add(&c->ready, 1) + 1);
    size_t boxes = (size_t)LIVE * (size_t)c->job->threads;
    while (!atomic_load_explicit(&c->go, memory_order_acquire))
        sched_yield();
    uint64_t start = tern__thread_cpu_time_ns();
    while (!atomic_load_explicit(&c->stop, memory_order_relaxed)) {
        for (int i = 0; i < LIVE; i++) {
            void *taken = c->a->get(c->job->bytes), *old = ring[i];
            if (taken == NULL) {
                atomic_store(&c->failed, true);
                return NULL;
            }
            if (c->job->pattern == HANDED_ON) {
                r = r * 6364136223846793005u + 1442695040888963407u;
                old = atomic_exchange_explicit(&c->mailboxes[(r >> 40) % boxes], taken, memory_order_acq_rel);
            } else {
                ring[i] = taken;
            }
            if (old != NULL)
                c->a->put(old);
        }
        pairs += LIVE;
    }
    atomic_fetch_add(&c->pairs, pairs);
    atomic_fetch_add(&c->cpu_ns, tern__thread_cpu_time_ns() - start);
    for (int i = 0; i < LIVE; i++) {
        if (ring[i] != NULL)
            c->a->put(ring[i]);
    }
    return NULL;
}

/* All of them at work for a while. */
static tern_status let_run(void *user)
{
    crowd *c = user;
    atomic_store_explicit(&c->go, true, memory_order_release);
    usleep(50000);
    atomic_store(&c->stop, true);
    return TERN_OK;
}

static bool measure_crowd(const allocator *a, const job *j, result *out)
{
    static crowd c;
    pthread_t threads[THREADS_MAX];
    c.a = a;
    c.job = j;
    for (int i = 0; i < j->threads; i++) {
        if (pthread_create(&threads[i], NULL, crowd_work, &c) != 0)
            return false;
    }
    while (atomic_load(&c.ready) < j->threads)
        sched_yield();
    double seconds = 0; /* it cannot fail */
    (void)tern__thing_time(&(tern__thing){let_run, &c, 1}, &seconds);
    for (int i = 0; i < j->threads; i++)
        pthread_join(threads[i], NULL);
    out->ns = seconds * 1e9 / (double)atomic_load(&c.pairs);
    out->cpu_ns = (double)atomic_load(&c.cpu_ns) / (double)atomic_load(&c.pairs);
    return !atomic_load(&c.failed);
}

/* The child's main: prints one line for the parent. */
static int child_main(const job *j)
{
    allocator a;
    result r = {.huge_percent = -1};
    char why[TEXT] = "";
    if (!allocator_open(j->which, &a, why)) {
        printf("unavailable %s\n", why);
        return 0;
    }
    bool ok = j->threads > 0 ? measure_crowd(&a, j, &r) : measure_alone(&a, j, &r);
    if (ok)
        printf("ok %.17g %.17g %.17g %.17g\n", r.ns, r.cpu_ns, r.faults, r.huge_percent);
    else
        printf("unavailable out of memory\n");
    return 0;
}

/* ---- the parent ---- */

static const char *program;

/* Runs one job in a fresh process. */
static result run(const job *j)
{
    result r = {.ns = INFINITY, .huge_percent = -1};
    char which[16], pattern_text[16], bytes[32], threads[16], line[256] = "";
    snprintf(which, sizeof which, "%d", (int)j->which);
    snprintf(pattern_text, sizeof pattern_text, "%d", (int)j->pattern);
    snprintf(bytes, sizeof bytes, "%zu", j->bytes);
    snprintf(threads, sizeof threads, "%d", j->threads);
    char *const argv[] = {(char *)program, "--measure", which, pattern_text, bytes, threads, NULL};
    int ends[2];
    if (pipe(ends) != 0) {
        snprintf(r.why, TEXT, "pipe: %s", strerror(errno));
        return r;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(program, argv);
        _exit(127);
    }
    close(ends[1]);
    FILE *answer = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (answer == NULL || fgets(line, sizeof line, answer) == NULL)
        snprintf(r.why, TEXT, "the measuring process did not answer");
    else if (sscanf(line, "ok %lf %lf %lf %lf", &r.ns, &r.cpu_ns, &r.faults, &r.huge_percent) != 4)
        snprintf(r.why, TEXT, "%.*s", (int)strcspn(line + strlen("unavailable "), "\n"),
                 line + strlen("unavailable "));
    if (answer != NULL)
        fclose(answer);
    else
        close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return r;
}

/* One more round over all contenders; the fastest of each is kept. */
static void run_round(rotation pattern, size_t bytes, int threads, bool first, result best[CONTENDERS])
{
    for (int which = 0; which < CONTENDERS; which++) {
        result r = run(&(job){(contender)which, pattern, bytes, threads});
        double cpu_ns = first || r.cpu_ns < best[which].cpu_ns ? r.cpu_ns : best[which].cpu_ns;
        if (first || r.ns < best[which].ns)
            best[which] = r;
        best[which].cpu_ns = cpu_ns;
    }
}

static void size_text(char *text, size_t bytes)
{
    if (bytes >= 1 << 20)
        snprintf(text, SIZE_TEXT, "%zu MiB", bytes >> 20);
    else if (bytes >= 1 << 10)
        snprintf(text, SIZE_TEXT, "%zu KiB", bytes >> 10);
    else
        snprintf(text, SIZE_TEXT, "%zu B", bytes);
}

static void print_cells(const result row[CONTENDERS], double scale, int decimals)
{
    for (int which = 0; which < CONTENDERS; which++) {
        if (isfinite(row[which].ns))
            printf(" %10.*f", decimals, scale < 0 ? -scale / row[which].ns : scale * row[which].ns);
        else
            printf(" %10s", "-");
    }
}

/* The best of the three others, or NAN. */
static double best_other(const result row[CONTENDERS])
{
    double best = INFINITY;
    for (int which = MALLOC; which < CONTENDERS; which++)
        best = row[which].ns < best ? row[which].ns : best;
    return isfinite(best) ? best : NAN;
}

static const size_t sizes[] = {64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0], FROM_64_KIB = 5, AT_1_MIB = 7 };

static void print_head(const char *title, const char *first)
{
    printf("\n%s\n%10s", title, first);
    for (int which = 0; which < CONTENDERS; which++)
        printf(" %10s", contender_names[which]);
}

/* One table over the sizes from `from` on; `rows` (SIZES) receives it. */
static void table(rotation pattern, int from, int rounds, result rows[][CONTENDERS])
{
    char title[256], text[SIZE_TEXT];
    bool faults = pattern == BATCH_TOUCHED || pattern == RING_TOUCHED;
    for (int round = 0; round < rounds; round++) {
        for (int i = from; i < SIZES; i++)
            run_round(pattern, sizes[i], 0, round == 0, rows[i]);
    }
    snprintf(title, sizeof title, "%s: ns per get and put, 64 blocks live, best of %d rounds%s",
             pattern_names[pattern], rounds, faults ? " [page faults per pair]" : "");
    print_head(title, "size");
    printf(" %12s\n", "best / pool");
    for (int i = from; i < SIZES; i++) {
        size_text(text, sizes[i]);
        printf("%10s", text);
        print_cells(rows[i], 1, 1);
        printf(" %12.1f", best_other(rows[i]) / rows[i][POOL].ns);
        for (int which = 0; faults && which < CONTENDERS; which++)
            printf("%s%.1f", which == 0 ? "  [" : ", ", rows[i][which].faults);
        printf(faults ? "]\n" : "\n");
    }
}

static void contention(rotation pattern, size_t bytes)
{
    static const int counts[] = {1, 2, 4, 8};
    char title[256], text[SIZE_TEXT];
    size_text(text, bytes);
    snprintf(title, sizeof title,
             "%s blocks, %s: million pairs per second together, best of 3 rounds [processor ns per pair]",
             text,
             pattern == HANDED_ON ? "taken by one thread and returned by another"
                                  : "each thread with 64 of its own");
    result rows[sizeof counts / sizeof counts[0]][CONTENDERS];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            run_round(pattern, bytes, counts[i], round == 0, rows[i]);
    }
    print_head(title, "threads");
    printf("\n");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        printf("%10d", counts[i]);
        print_cells(rows[i], -1000, 1);
        for (int which = 0; which < CONTENDERS; which++)
            printf("%s%.0f", which == 0 ? "  [" : ", ", rows[i][which].cpu_ns);
        printf("]\n");
    }
}

static void print_unavailable(void)
{
    for (int which = MALLOC; which < CONTENDERS; which++) {
        result r = run(&(job){(contender)which, RING, 64, 0});
        if (r.why[0] != '\0')
            printf("%s unavailable: %s\n", contender_names[which], r.why);
    }
}

static void write_rows(bench_output *out, result batch[][CONTENDERS], result ring[][CONTENDERS],
                       result touched[][CONTENDERS])
{
    double worst = 0;
    char detail[1024] = "";
    size_t used = 0;
    for (int i = 0; i < SIZES; i++) {
        char text[SIZE_TEXT];
        size_text(text, sizes[i]);
        double slower = batch[i][POOL].ns > ring[i][POOL].ns ? batch[i][POOL].ns : ring[i][POOL].ns;
        worst = slower > worst ? slower : worst;
        used += (size_t)snprintf(detail + used, sizeof detail - used, "%s%s %.1f/%.1f", i == 0 ? "" : ", ",
                                 text, batch[i][POOL].ns, ring[i][POOL].ns);
    }
    bench_row(
        out, "pool_hit_ns", worst, "ns", "lower",
        "get+put that hits, 64 blocks live, the worst of all sizes and both patterns; batch/ring ns: %s",
        detail);
    const result *b = batch[AT_1_MIB], *r = ring[AT_1_MIB], *t = touched[AT_1_MIB];
    bench_row(out, "pool_vs_malloc_1mb", best_other(b) / b[POOL].ns, "x", "higher",
              "1 MiB, batch of 64, untouched, best of the others / pool; ns: pool %.1f, malloc %.1f, "
              "mimalloc %.1f, "
              "jemalloc %.1f (inf: unavailable). In a ring: %.1fx. Batch with every page touched: %.1fx",
              b[POOL].ns, b[MALLOC].ns, b[MIMALLOC].ns, b[JEMALLOC].ns, best_other(r) / r[POOL].ns,
              best_other(t) / t[POOL].ns);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "--measure") == 0)
        return child_main(&(job){(contender)atoi(argv[2]), (rotation)atoi(argv[3]),
                                 strtoull(argv[4], NULL, 10), atoi(argv[5])});
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    program = argv[0];
    /* jemalloc keeps its state in thread-local memory of the static kind, of which glibc reserves little. */
    setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384", 1);
    print_unavailable();

    static result batch[SIZES][CONTENDERS], ring[SIZES][CONTENDERS];
    static result touched[SIZES][CONTENDERS], ring_touched[SIZES][CONTENDERS];
    table(BATCH, 0, 5, batch);
    table(RING, 0, 5, ring);
    table(BATCH_TOUCHED, FROM_64_KIB, 2, touched);
    table(RING_TOUCHED, FROM_64_KIB, 2, ring_touched);
    const result *largest = &touched[SIZES - 1][POOL];
    if (largest->huge_percent >= 0)
        printf("pool, 64 x 16 MiB touched: %.0f %% of the memory is on huge pages\n", largest->huge_percent);
    else
        printf("huge pages in use: unavailable: no /proc/self/smaps_rollup\n");
    contention(RING, 1024);
    contention(RING, 1 << 20);
    contention(HANDED_ON, 1024);
    printf("\n");
    write_rows(&out, batch, ring, touched);
    return bench_close(&out) ? 0 : 1;
}

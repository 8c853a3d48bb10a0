/* test_measure.c - statistics, turns and limits: what they compute and in which order they run things. No test here depends on
 * how fast the machine is. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../../bench/bench_json.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/status.h"
#include "harness.h"
#include "measure/measure.h"
#include "measure/probes.h"

/* ---- statistics ---- */

TEST(median_and_spread_by_hand)
{
    double odd[] = {5, 1, 100, 3, 2}, even[] = {4, 1, 3, 10}, one[] = {7};
    tern__stats s = tern__stats_of(odd, 5);
    CHECK(s.n == 5 && s.median == 3 && s.min == 1);
    CHECK(s.mad == 2); /* distances 0 1 2 2 97 */
    s = tern__stats_of(even, 4);
    CHECK(s.median == 3.5 && s.min == 1);
    CHECK(s.mad == 1.5); /* 0.5 0.5 2.5 6.5 */
    s = tern__stats_of(one, 1);
    CHECK(s.median == 7 && s.mad == 0 && s.min == 7);
    CHECK(tern__stats_of(NULL, 0).n == 0);
}

/* Programs in bench/ take pairs until the answer is sure: on a noisy machine thousands. */
TEST(benchmark_programs_have_the_same_median_of_any_number)
{
    enum { MANY = 4000 };
    static double values[MANY];
    for (int i = 0; i < MANY; i++)
        values[i] = (double)(i * 7 % MANY); /* all of 0 ... 3999 */
    CHECK(bench_median(values, MANY) == 1999.5);
    CHECK(values[1] == 7);
    CHECK(bench_median((double[]){4, 1, 3, 10}, 4) == 3.5);
    CHECK(isnan(bench_median(values, 0)));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

TEST(spread_is_the_median_distance)
{
    uint64_t state = harness_seed();
    for (int n = 1; n <= 40; n++) {
        double values[40], distances[40];
        for (int i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            values[i] = (double)(state >> 59); /* few numbers, so that there are ties */
        }
        memcpy(distances, values, sizeof values);
        double median = sorted_median(distances, n);
        for (int i = 0; i < n; i++)
            distances[i] = fabs(values[i] - median);
        double mad = sorted_median(distances, n);
        tern__stats s = tern__stats_of(values, n);
        CHECK(s.median == median && s.mad == mad);
    }
}

/* ---- turns ---- */

typedef struct log_of_runs {
    char text[256];
    int used;
} log_of_runs;

typedef struct named {
    log_of_runs *log;
    char name;
    int fails_at; /* the run that fails; 0: none */
    int runs;
} named;

static tern_status write_name(void *user)
{
    named *n = user;
    if (n->log->used < (int)sizeof n->log->text - 1)
        n->log->text[n->log->used++] = n->name;
    return ++n->runs == n->fails_at ? tern__fail(TERN_STATE, "planted") : TERN_OK;
}

TEST(things_alternate_after_their_warm_up)
{
    log_of_runs log = {0};
    named a = {&log, 'a', 0, 0}, b = {&log, 'b', 0, 0};
    const tern__thing things[] = {{.run = write_name, .user = &a, .repeats = 2},
                                  {.run = write_name, .user = &b, .repeats = 1}};
    tern__measurement m[2];
    CHECK_OK(tern__measure(things, 2, NULL, &(tern__turns){.warmups = 3, .rounds = 3}, m));
    CHECK_STR(log.text, "aaabbbaabaabaab");
    CHECK(m[0].time.n == 3 && m[1].time.n == 3);
    CHECK(m[0].share.n == 0 && m[0].limit_time.n == 0);
    CHECK(m[0].time.median >= m[0].time.min && m[0].time.min >= 0);
}

TEST(a_failing_thing_ends_it_and_nothing_is_written)
{
    log_of_runs log = {0};
    named a = {&log, 'a', 3, 0};
    const tern__thing thing = {.run = write_name, .user = &a, .repeats = 1};
    tern__measurement m = {.time = {.n = 77}};
    CHECK_STATUS(tern__measure(&thing, 1, NULL, &(tern__turns){.rounds = 5}, &m), TERN_STATE);
    CHECK_STR(log.text, "aaa");
    CHECK_EQ(m.time.n, 77);
}

TEST(a_budget_ends_the_rounds_but_three_are_made)
{
    log_of_runs log = {0};
    named a = {&log, 'a', 0, 0};
    const tern__thing thing = {.run = write_name, .user = &a, .repeats = 1};
    tern__measurement m;
    CHECK_OK(tern__measure(&thing, 1, NULL, &(tern__turns){.rounds = 100, .budget_s = 1e-12}, &m));
    CHECK_EQ(m.time.n, 3);
    CHECK_OK(tern__measure(&thing, 1, NULL, &(tern__turns){.rounds = 2, .budget_s = 1e-12}, &m));
    CHECK_EQ(m.time.n, 2);
}

TEST(nonsense_is_refused)
{
    log_of_runs log = {0};
    named a = {&log, 'a', 0, 0};
    const tern__thing thing = {.run = write_name, .user = &a, .repeats = 1};
    tern__measurement m;
    CHECK_STATUS(tern__measure(&thing, 1, NULL, &(tern__turns){.rounds = -1}, &m), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__measure(&thing, 1, NULL, &(tern__turns){.rounds = 100000}, &m), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__measure(&thing, 1, NULL, &(tern__turns){.budget_s = NAN}, &m), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__measure(&thing, 0, NULL, &(tern__turns){0}, &m), TERN_INVALID_ARGUMENT);
}

static uint64_t tell(void *user)
{
    return *(uint64_t *)user;
}

static tern_status take_a_microsecond(void *user)
{
    *(uint64_t *)user += 1000;
    return TERN_OK;
}

TEST(short_things_are_repeated_until_a_sample_is_long_enough)
{
    uint64_t now = 0;
    tern__thing thing = {.run = take_a_microsecond, .user = &now};
    tern__turns turns = {.sample_s = 1e-4};
    CHECK_OK(tern__turns_settle(&turns));
    tern__clock_set_source(tell, &now);
    const tern_status status = tern__thing_ready(&thing, &turns);
    tern__clock_set_source(NULL, NULL);
    CHECK_OK(status);
    CHECK(thing.repeats >= 100 && thing.repeats <= 112); /* a tenth more than seems necessary */
}

/* ---- probes ---- */

/* Every way of every set reads each line: a single bit anywhere reaches the sink. */
TEST(every_way_reads_every_line)
{
    static _Alignas(64) unsigned char memory[64 * 2741];
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        if (!(tern__cpu()->isa_mask >> isa & 1))
            continue;
        const tern__probes *probes = tern__probes_select(1u << isa | 1u);
        for (int way = 0; way < TERN__READ_WAYS; way++) {
            for (int64_t lines = 0; lines <= 2741; lines += lines < 20 ? 1 : 907) {
                uint64_t sink = 0;
                probes->read(way, memory, lines, &sink);
                CHECK_EQ(sink, 0);
                for (int64_t l = 0; l < lines; l += lines < 20 ? 1 : 13) {
                    memory[l * 64 + l % 64] = 16;
                    sink = 0;
                    probes->read(way, memory, lines, &sink);
                    memory[l * 64 + l % 64] = 0;
                    CHECK(sink != 0);
                }
            }
        }
    }
}

enum { COPY_PIECES = 13 };

/* What a way writes where it has something to read for it: the piece's lines, or, of several streams, what their lines have
 * together. Lines that it writes nothing for go to the sink. */
static void check_copied(int streams, tern__copy_piece piece, const unsigned char *from,
                         const unsigned char *out, uint64_t sink)
{
    const int each = piece.read / streams, both = each < piece.write ? each : piece.write;
    for (int n = 0; n < COPY_PIECES; n++)
        for (int i = 0; i < both * 64; i++) {
            int all = 0;
            for (int s = 0; s < streams; s++)
                all |= from[64 * (s * COPY_PIECES + n) * each + i];
            CHECK_EQ(out[64 * n * piece.write + i], all);
        }
    CHECK((sink != 0) == (each > both || piece.read % streams != 0));
}

TEST(every_way_copies_piece_by_piece_and_nothing_else)
{
    enum { LINES = 8 * COPY_PIECES, GUARD = 2 };
    static _Alignas(64) unsigned char from[64 * LINES], to[64 * (LINES + 2 * GUARD)];
    static const tern__copy_piece pieces[] = {{8, 8}, {8, 2}, {3, 8}, {8, 0}, {0, 8}};
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        if (!(tern__cpu()->isa_mask >> isa & 1))
            continue;
        const tern__probes *probes = tern__probes_select(1u << isa | 1u);
        for (int way = 0; way < TERN__COPY_WAYS; way++)
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                uint64_t sink = 0;
                memset(to, 0xee, sizeof to);
                unsigned char *out = to + 64 * GUARD;
                probes->copy(way, from, out, pieces[p], COPY_PIECES, &sink);
                check_copied(tern__copy_ways[way].streams, pieces[p], from, out, sink);
                CHECK(out[-1] == 0xee && out[64 * COPY_PIECES * pieces[p].write] == 0xee);
            }
    }
}

TEST(every_peak_ends_and_says_what_it_did)
{
    for (int isa = 0; isa < TERN__ISA_COUNT; isa++) {
        if (!(tern__cpu()->isa_mask >> isa & 1))
            continue;
        const tern__probes *probes = tern__probes_select(1u << isa | 1u);
        if (probes->fma)
            probes->fma(3);
        if (probes->dot)
            probes->dot(3);
        CHECK((probes->fma != NULL) == (probes->fma_operations > 0));
        CHECK((probes->dot != NULL) == (probes->dot_operations > 0));
        CHECK(isa == TERN__ISA_BASELINE || (probes->fma && probes->dot));
    }
}

/* ---- limits ---- */

TEST(limits_of_every_kind_run_and_scale)
{
    tern__threads *threads;
    CHECK_OK(tern__threads_create(2, &threads));
    const tern__limit_work works[] = {
        {.kind = TERN_LIMIT_READ_BW, .read_bytes = 100000},
        {.kind = TERN_LIMIT_READ_BW, .read_bytes = 100000, .share = 4096},
        {.kind = TERN_LIMIT_COPY_BW, .read_bytes = 100000, .write_bytes = 25000},
        {.kind = TERN_LIMIT_COPY_BW, .read_bytes = 64, .write_bytes = 64},
        {.kind = TERN_LIMIT_COPY_BW, .read_bytes = 0, .write_bytes = 4096},
        {.kind = TERN_LIMIT_FMA, .operations = 1e6},
        {.kind = TERN_LIMIT_INT8_DOT, .operations = 1e6},
    };
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        for (int workers = 1; workers <= 2; workers++) {
            tern__limit *limit;
            tern_status status = tern__limit_create(threads, workers, &works[i], &limit);
            if (status == TERN_UNAVAILABLE && tern__cpu()->best == TERN__ISA_BASELINE)
                continue;
            CHECK_OK(status);
            const double scale = tern__limit_scale(limit);
            CHECK(scale > 0 && (works[i].kind >= TERN_LIMIT_FMA || (scale > 0.97 && scale < 1.6)));
            for (int way = 0; way < tern__limit_ways(limit); way++) {
                tern__limit_run(limit, way);
                CHECK(strlen(tern__limit_way_name(limit, way)) > 5);
            }
            tern__limit_destroy(limit);
        }
    tern__threads_destroy(threads);
}

#if defined(__linux__)
enum { TOUCHERS = 3 };

static void count_faults(void *arg, int worker, int workers)
{
    struct rusage usage;
    (void)workers;
    ((long *)arg)[worker] = getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : -1;
}
#endif

/* Who reads a page has written it first: the system counts that on him. */
TEST(workers_touch_first_what_they_read)
{
    if (HARNESS_ASAN)
        SKIP("AddressSanitizer fills blocks itself, before anybody has them");
#if defined(__linux__)
    const tern__limit_work works[] = {
        {.kind = TERN_LIMIT_READ_BW, .read_bytes = 48 << 20},
        {.kind = TERN_LIMIT_COPY_BW, .read_bytes = 24 << 20, .write_bytes = 24 << 20},
    };
    tern__threads *threads;
    CHECK_OK(tern__threads_create(TOUCHERS, &threads));
    for (int i = 0; i < 2; i++) {
        long before[TOUCHERS], made[TOUCHERS];
        tern__limit *limit;
        tern__threads_run(threads, TOUCHERS, count_faults, before);
        CHECK_OK(tern__limit_create(threads, TOUCHERS, &works[i], &limit));
        tern__threads_run(threads, TOUCHERS, count_faults, made);
        /* 8 huge pages each, or thousands of small ones. */
        for (int worker = 0; worker < TOUCHERS; worker++)
            if (made[worker] - before[worker] < 6)
                harness_fail(__FILE__, __LINE__, "limit %d: worker %d of %d made %ld pages", i, worker,
                             TOUCHERS, made[worker] - before[worker]);
        tern__limit_destroy(limit);
    }
    tern__threads_destroy(threads);
#else
    SKIP("faults of a thread are counted by Linux");
#endif
}

TEST(limits_of_nothing_are_refused)
{
    tern__threads *threads;
    tern__limit *limit = NULL;
    CHECK_OK(tern__threads_create(1, &threads));
    CHECK_STATUS(tern__limit_create(threads, 1, &(tern__limit_work){.kind = TERN_LIMIT_READ_BW}, &limit),
                 TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__limit_create(threads, 1, &(tern__limit_work){.kind = TERN_LIMIT_COPY_BW}, &limit),
                 TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern__limit_create(threads, 1, &(tern__limit_work){.kind = (tern_limit_kind)9}, &limit),
                 TERN_INVALID_ARGUMENT);
    CHECK_STATUS(
        tern__limit_create(threads, 2, &(tern__limit_work){.kind = TERN_LIMIT_FMA, .operations = 1}, &limit),
        TERN_INVALID_ARGUMENT);
    CHECK_STATUS(
        tern__limit_create(
            threads, 1, &(tern__limit_work){.kind = TERN_LIMIT_FMA, .operations = 1, .isa_mask = 1}, &limit),
        TERN_UNAVAILABLE);
    CHECK(limit == NULL);
    tern__threads_destroy(threads);
}

typedef struct reading {
    tern__limit *limit;
    int runs;
} reading;

static tern_status read_it(void *user)
{
    reading *r = user;
    r->runs++;
    tern__limit_run(r->limit, 0);
    return TERN_OK;
}

TEST(a_thing_is_compared_with_its_limit)
{
    tern__threads *threads;
    tern__limit *limit;
    CHECK_OK(tern__threads_create(1, &threads));
    CHECK_OK(tern__limit_create(
        threads, 1, &(tern__limit_work){.kind = TERN_LIMIT_READ_BW, .read_bytes = 1 << 16}, &limit));
    reading r = {limit, 0};
    const tern__thing things[] = {{.run = read_it, .user = &r, .repeats = 1},
                                  {.run = read_it, .user = &r, .repeats = 1}};
    tern__measurement m[2];
    CHECK_OK(tern__measure(things, 2, limit, &(tern__turns){.rounds = 5, .sample_s = 1e-5}, m));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(m[i].time.n, 5);
        CHECK_EQ(m[i].share.n, 5);
        CHECK_EQ(m[i].limit_time.n, 5);
        CHECK(m[i].share.median > 0 && m[i].limit_time.median > 0 && m[i].way[0] != '\0');
    }
    tern__limit_destroy(limit);
    tern__threads_destroy(threads);
}

/* Reading the same as its limit is a share near 1; of a millionth of the work it is a millionth of that, and what is far below its limit is
 * not measured again. */
TEST(shares_are_of_the_work_that_a_thing_asks)
{
    tern__threads *threads;
    tern__limit *limit;
    tern__turns turns = {.rounds = 5, .sample_s = 1e-5};
    CHECK_OK(tern__threads_create(1, &threads));
    CHECK_OK(tern__limit_create(
        threads, 1, &(tern__limit_work){.kind = TERN_LIMIT_READ_BW, .read_bytes = 1 << 20}, &limit));
    log_of_runs log = {0};
    named quick = {&log, 'q', 0, 0};
    tern__measurement m;
    CHECK_OK(tern__measure(&(tern__thing){write_name, &quick, 1}, 1, limit, &turns, &m));
    CHECK(m.share.median > 1 && !tern__is_believable(&m));
    CHECK_EQ(quick.runs, 1 + 3 * 5);
    quick.runs = 0;
    turns.work = (const double[]){1e-12};
    CHECK_OK(tern__measure(&(tern__thing){write_name, &quick, 1}, 1, limit, &turns, &m));
    CHECK(m.share.median > 0 && m.share.median < 1e-3);
    CHECK_EQ(quick.runs, 1 + 5);
    turns.work = (const double[]){1e-6};
    reading r = {limit, 0};
    CHECK_OK(tern__measure(&(tern__thing){read_it, &r, 1}, 1, limit, &turns, &m));
    CHECK(m.share.median < 1e-3); /* it would be about 1 without the work */
    /* What asks for nothing has no share, and is not measured again however quick it is: probes among the things. */
    tern__measurement both[2];
    quick.runs = 0;
    turns.work = (const double[]){1e-6, 0};
    CHECK_OK(
        tern__measure((tern__thing[]){{read_it, &r, 1}, {write_name, &quick, 1}}, 2, limit, &turns, both));
    CHECK_EQ(quick.runs, 1 + 5);
    CHECK(both[1].share.median == 0 && both[1].time.median > 0);
    tern__limit_destroy(limit);
    tern__threads_destroy(threads);
}

TEST(kinds_have_names)
{
    CHECK_STR(tern_limit_name(TERN_LIMIT_READ_BW), "read_bw");
    CHECK_STR(tern_limit_name(TERN_LIMIT_INT8_DOT), "int8_dot");
    CHECK_STR(tern_limit_name((tern_limit_kind)99), "unknown");
}

/* ---- rounds whose probe lost a core ---- */

typedef struct probe_says {
    double scaling[TERN__TRIES + 1];
    int runs, failing; /* the run that fails, counted from 1; 0: none */
} probe_says;

static tern_status say(void *user, double *scaling)
{
    probe_says *p = user;
    *scaling = p->scaling[p->runs++];
    return p->runs == p->failing ? tern__fail(TERN_INTERNAL, "planted") : TERN_OK;
}

TEST(rounds_are_made_again_while_the_probe_lacks_a_core)
{
    bool undisturbed = false;
    probe_says settles = {.scaling = {1.23, 1.69, 1.71, 2}};
    CHECK_OK(tern__time_undisturbed(say, &settles, TERN__TWO_CORES, &undisturbed));
    CHECK_EQ(settles.runs, 3);
    CHECK(undisturbed);
    probe_says at_once = {.scaling = {1.9, 1, 1, 1}};
    CHECK_OK(tern__time_undisturbed(say, &at_once, TERN__TWO_CORES, &undisturbed));
    CHECK_EQ(at_once.runs, 1);
    CHECK(undisturbed);
    probe_says never = {.scaling = {1, 1.2, 1.4, 2}};
    CHECK_OK(tern__time_undisturbed(say, &never, TERN__TWO_CORES, &undisturbed));
    CHECK_EQ(never.runs, TERN__TRIES);
    CHECK(!undisturbed);
    probe_says one_thread = {.scaling = {NAN}};
    CHECK_OK(tern__time_undisturbed(say, &one_thread, TERN__TWO_CORES, &undisturbed));
    CHECK_EQ(one_thread.runs, 1);
    CHECK(undisturbed);
    probe_says fails = {.scaling = {1, 1, 2}, .failing = 2};
    CHECK_STATUS(tern__time_undisturbed(say, &fails, TERN__TWO_CORES, &undisturbed), TERN_INTERNAL);
    CHECK_EQ(fails.runs, 2);
}

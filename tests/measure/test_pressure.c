/* test_pressure.c - levels from planted files of /proc and /sys: at each threshold, with corrupt and missing ones; and what is
 * given back then. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

#include <tern/tern.h>

#include "harness.h"

static char root[512];

/* An empty folder of planted files. */
static void new_root(void)
{
    static int n;
    snprintf(root, sizeof root, "%s/root%d", harness_folder(), n++);
    mkdir(root, 0777);
}

static void plant(const char *path, const char *content)
{
    char full[1024];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    if (f) {
        fputs(content, f);
        fclose(f);
    }
}

static tern_pressure_reading read_root(const tern_pressure_reading *previous)
{
    tern_pressure_reading r = {0};
    if (tern_pressure_read(root, previous, &r) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    return r;
}

static tern_pressure_signal signal_of(tern_pressure_source source)
{
    return read_root(NULL).signals[source];
}

TEST(nothing_is_there)
{
    new_root();
    const tern_pressure_reading r = read_root(NULL);
    CHECK(!r.known);
    CHECK(r.available_bytes == UINT64_MAX);
    CHECK_EQ(r.level, TERN_PRESSURE_NONE);
    for (int i = 0; i < TERN_PRESSURE_SOURCES; i++) {
        CHECK(!r.signals[i].available);
        CHECK(strstr(r.signals[i].text, "No such file"));
    }
}

/* ---- control groups ---- */

static void plant_v2(const char *current, const char *most, const char *stat)
{
    new_root();
    plant("proc/self/cgroup", "0::/a/b\n");
    plant("sys/fs/cgroup/a/b/memory.current", current);
    plant("sys/fs/cgroup/a/b/memory.max", most);
    plant("sys/fs/cgroup/a/memory.current", "1000\n");
    plant("sys/fs/cgroup/a/memory.max", "max\n");
    plant("sys/fs/cgroup/a/b/memory.events", "low 0\nhigh 2\nmax 3\noom 0\noom_kill 0\n");
    if (stat)
        plant("sys/fs/cgroup/a/b/memory.stat", stat);
}

static void check_group(const char *current, const char *most, const char *stat, bool available,
                        tern_pressure level)
{
    plant_v2(current, most, stat);
    const tern_pressure_signal s = signal_of(TERN_PRESSURE_SOURCE_CGROUP);
    if (s.available != available || s.level != level)
        harness_fail(__FILE__, __LINE__, "current %s max %s: %d, level %d: %s", current, most, s.available,
                     (int)s.level, s.text);
}

TEST(limit_of_a_group)
{
    check_group("790000\n", "1000000\n", NULL, true, TERN_PRESSURE_NONE);
    check_group("800000\n", "1000000\n", NULL, true, TERN_PRESSURE_MODERATE);
    check_group("949999\n", "1000000\n", NULL, true, TERN_PRESSURE_MODERATE);
    check_group("950000\n", "1000000\n", NULL, true, TERN_PRESSURE_CRITICAL);
    /* files that can be dropped are no pressure */
    check_group("950000\n", "1000000\n", "anon 1\ninactive_file 200000\n", true, TERN_PRESSURE_NONE);
    check_group("950000\n", "1000000\n", "inactive_file 9999999999\n", true, TERN_PRESSURE_CRITICAL);
    check_group("950000\n", "1000000\n", "inactive_file many\n", true, TERN_PRESSURE_CRITICAL);
    check_group("950000\n", "max\n", NULL, false, TERN_PRESSURE_NONE);
}

TEST(limit_of_a_group_that_cannot_be_understood)
{
    static const char *const bad[] = {"",     "\n",   "much\n", "-5\n", "12x\n", "99999999999999999999999\n",
                                      "0x10", "1e9\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_group(bad[i], "1000000\n", NULL, false, TERN_PRESSURE_NONE);
        check_group("950000\n", bad[i], NULL, false, TERN_PRESSURE_NONE);
        CHECK(strstr(signal_of(TERN_PRESSURE_SOURCE_CGROUP).text, "memory.max"));
    }
    check_group("950000\n", "0\n", NULL, false, TERN_PRESSURE_NONE);
    check_group("950000\n", "maximal\n", NULL, false, TERN_PRESSURE_NONE);
}

/* A group further up may be nearer to its limit. */
TEST(limit_of_a_group_above)
{
    plant_v2("100000\n", "1000000\n", NULL);
    plant("sys/fs/cgroup/a/memory.max", "1040\n");
    const tern_pressure_signal s = signal_of(TERN_PRESSURE_SOURCE_CGROUP);
    CHECK_EQ(s.level, TERN_PRESSURE_CRITICAL);
}

/* In a container the path is that of the host: what can be seen is the top. */
TEST(group_outside_of_the_namespace)
{
    new_root();
    plant("proc/self/cgroup", "0::/../../docker/4f2a\n");
    plant("sys/fs/cgroup/memory.current", "900\n");
    plant("sys/fs/cgroup/memory.max", "1000\n");
    CHECK_EQ(signal_of(TERN_PRESSURE_SOURCE_CGROUP).level, TERN_PRESSURE_MODERATE);
    plant("proc/self/cgroup", "0::/gone\n");
    CHECK_EQ(signal_of(TERN_PRESSURE_SOURCE_CGROUP).level, TERN_PRESSURE_MODERATE);
}

TEST(groups_of_the_first_version)
{
    new_root();
    plant("proc/self/cgroup", "5:cpu:/x\n4:hugetlb,memory:/x\n1:name=systemd:/x\n");
    plant("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "960\n");
    plant("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000\n");
    plant("sys/fs/cgroup/memory/x/memory.failcnt", "7\n");
    tern_pressure_reading r = read_root(NULL);
    CHECK_EQ(r.signals[TERN_PRESSURE_SOURCE_CGROUP].level, TERN_PRESSURE_CRITICAL);
    CHECK(r.signals[TERN_PRESSURE_SOURCE_EVENTS].available);
    CHECK_EQ(r.limit_hits, 7);
    CHECK_EQ(r.available_bytes, 40);
    plant("sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 500\n");
    plant("sys/fs/cgroup/memory/x/memory.failcnt", "8\n");
    tern_pressure_reading later = read_root(&r);
    CHECK_EQ(later.signals[TERN_PRESSURE_SOURCE_CGROUP].level, TERN_PRESSURE_NONE);
    CHECK_EQ(later.level, TERN_PRESSURE_MODERATE); /* the limit was run into */
    CHECK_EQ(later.available_bytes, 540);
    plant("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 0 kB\n"); /* the machine has less */
    CHECK_EQ(read_root(&r).available_bytes, 0);
    plant("sys/fs/cgroup/memory/x/memory.limit_in_bytes",
          "9223372036854771712\n"); /* this is how it says none */
    CHECK(!signal_of(TERN_PRESSURE_SOURCE_CGROUP).available);
}

TEST(events_of_a_group)
{
    plant_v2("1\n", "1000000\n", NULL);
    tern_pressure_reading first = read_root(NULL);
    CHECK(first.signals[TERN_PRESSURE_SOURCE_EVENTS].available);
    CHECK_EQ(first.limit_hits, 5);
    CHECK_EQ(first.level, TERN_PRESSURE_NONE); /* what was before nobody looked does not count */
    CHECK_EQ(read_root(&first).level, TERN_PRESSURE_NONE);
    plant("sys/fs/cgroup/a/b/memory.events", "high 3\nmax 3\noom_kill 0\n");
    CHECK_EQ(read_root(&first).level, TERN_PRESSURE_MODERATE);
    plant("sys/fs/cgroup/a/b/memory.events", "high 3\nmax 3\noom_kill 1\n");
    CHECK_EQ(read_root(&first).level, TERN_PRESSURE_CRITICAL);
    plant("sys/fs/cgroup/a/b/memory.events", "high 0\nmax 0\noom_kill 0\n"); /* another group than before */
    CHECK_EQ(read_root(&first).level, TERN_PRESSURE_NONE);
    plant("sys/fs/cgroup/a/b/memory.events", "high three\nmax 3\noom_kill 1\n");
    CHECK(!signal_of(TERN_PRESSURE_SOURCE_EVENTS).available);
    plant("sys/fs/cgroup/a/b/memory.events", "");
    CHECK(!signal_of(TERN_PRESSURE_SOURCE_EVENTS).available);
}

TEST(groups_that_are_none)
{
    static const char *const bad[] = {"", "\n", "nonsense", "0:\n", "::::\n", "0::\n", "7:memory\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        new_root();
        plant("proc/self/cgroup", bad[i]);
        const tern_pressure_signal s = signal_of(TERN_PRESSURE_SOURCE_CGROUP);
        CHECK(!s.available && strstr(s.text, "names no control group"));
    }
}

/* ---- the machine ---- */

static void check_file(tern_pressure_source source, const char *path, const char *content, bool available,
                       tern_pressure level)
{
    new_root();
    plant(path, content);
    const tern_pressure_reading r = read_root(NULL);
    const tern_pressure_signal *s = &r.signals[source];
    if (s->available != available || s->level != level || r.level != level || r.known != available)
        harness_fail(__FILE__, __LINE__, "%s: %d, level %d: %s", content, s->available, (int)s->level,
                     s->text);
}

TEST(stalls)
{
    const struct {
        const char *text;
        bool available;
        tern_pressure level;
    } cases[] = {
        {"some avg10=0.00 avg60=50.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=50.00 avg300=0.00 total=1\n",
         true, TERN_PRESSURE_NONE},
        {"some avg10=9.99 avg60=0 total=1\nfull avg10=0.00 avg60=0 total=1\n", true, TERN_PRESSURE_NONE},
        {"some avg10=10.00 avg60=0 total=1\nfull avg10=9.99 avg60=0 total=1\n", true, TERN_PRESSURE_MODERATE},
        {"some avg10=40.00 avg60=0 total=1\nfull avg10=10.00 avg60=0 total=1\n", true,
         TERN_PRESSURE_CRITICAL},
        {"some avg10=40.00 avg60=0 total=1\n", false, TERN_PRESSURE_NONE},
        {"some avg10=nan avg60=0\nfull avg10=nan avg60=0\n", false, TERN_PRESSURE_NONE},
        {"some avg10=-4 avg60=0\nfull avg10=1 avg60=0\n", false, TERN_PRESSURE_NONE},
        {"some avg10=400 avg60=0\nfull avg10=1 avg60=0\n", false, TERN_PRESSURE_NONE},
        {"some avg10= avg60=0\nfull avg10= avg60=0\n", false, TERN_PRESSURE_NONE},
        {"", false, TERN_PRESSURE_NONE},
        {"\x01\x02\xff", false, TERN_PRESSURE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_file(TERN_PRESSURE_SOURCE_STALL, "proc/pressure/memory", cases[i].text, cases[i].available,
                   cases[i].level);
}

TEST(what_the_machine_has_left)
{
    const struct {
        const char *text;
        bool available;
        tern_pressure level;
    } cases[] = {
        {"MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    100 kB\n", true, TERN_PRESSURE_NONE},
        {"MemTotal:       1000 kB\nMemAvailable:     99 kB\n", true, TERN_PRESSURE_MODERATE},
        {"MemTotal:       1000 kB\nMemAvailable:     30 kB\n", true, TERN_PRESSURE_MODERATE},
        {"MemTotal:       1000 kB\nMemAvailable:     29 kB\n", true, TERN_PRESSURE_CRITICAL},
        {"MemTotal:       1000 kB\nMemAvailable:   2000 kB\n", false, TERN_PRESSURE_NONE},
        {"MemTotal:          0 kB\nMemAvailable:      0 kB\n", false, TERN_PRESSURE_NONE},
        {"MemTotal:       1000 kB\n", false, TERN_PRESSURE_NONE},
        {"MemTotal: lots\nMemAvailable: some\n", false, TERN_PRESSURE_NONE},
        {"", false, TERN_PRESSURE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_file(TERN_PRESSURE_SOURCE_AVAILABLE, "proc/meminfo", cases[i].text, cases[i].available,
                   cases[i].level);
}

TEST(this_machine)
{
    tern_pressure_reading r;
    CHECK_OK(tern_pressure_read(NULL, NULL, &r));
    for (int i = 0; i < TERN_PRESSURE_SOURCES; i++)
        CHECK(r.signals[i].text[0] != '\0');
    if (access("/proc/meminfo", R_OK) != 0)
        SKIP("there is no /proc/meminfo");
    CHECK(r.signals[TERN_PRESSURE_SOURCE_AVAILABLE].available && r.known);
}

/* ---- what is done about it ---- */

enum { BLOCK = 8 << 20 };

/* A pool with a free block, and a cache with four tensors. */
static void fill(tern_ctx *ctx, tern_pool *pool, tern_cache *cache)
{
    void *block = NULL;
    CHECK_OK(tern_pool_get(pool, BLOCK, 0, &block));
    tern_pool_put(pool, block);
    TERN_SCOPE(ctx)
        for (int i = 0; i < 4; i++) {
            char key[2] = {(char)('a' + i), '\0'};
            CHECK_OK(tern_cache_put(cache, key, tern_ones(ctx, TERN_F32, 1, (int64_t[]){1000})));
        }
}

TEST(relief_trims_pools_and_caches)
{
    tern_ctx *ctx;
    tern_pool *pool;
    tern_cache *cache;
    tern_cache_stats stats;
    tern_pool_fragmentation f = {0};
    int asked = 0, before = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_pressure_relieve(TERN_PRESSURE_NONE, &before);
    CHECK_OK(tern_pool_create(NULL, &pool));
    CHECK_OK(tern_cache_create(NULL, &cache));
    fill(ctx, pool, cache);
    CHECK_EQ(tern_pressure_relieve(TERN_PRESSURE_NONE, &asked), 0);
    CHECK_EQ(asked, before + 2);
    tern_cache_get_stats(cache, &stats);
    CHECK_EQ(stats.entries, 4);
    tern_pressure_relieve(TERN_PRESSURE_MODERATE, NULL);
    tern_cache_get_stats(cache, &stats);
    CHECK_EQ(stats.entries, 2);
    tern_tensor *kept;
    TERN_SCOPE(ctx) /* the least recently used went */
        CHECK_OK(tern_cache_get(cache, ctx, "d", &kept));
    CHECK(tern_pressure_relieve(TERN_PRESSURE_CRITICAL, NULL) > 0);
    tern_cache_get_stats(cache, &stats);
    CHECK_EQ(stats.entries, 0);
    CHECK_EQ(stats.evicted, 4);
    tern_pool_get_fragmentation(pool, &f);
    CHECK_EQ(f.held_bytes, 0);
    tern_cache_free(cache);
    tern_pool_destroy(pool);
    tern_pressure_relieve(TERN_PRESSURE_NONE, &asked);
    CHECK_EQ(asked, before);
    tern_ctx_destroy(ctx);
}

/* The last tensor of a pool whose context is gone lies in a cache: relief ends the pool while it walks the list. */
TEST(relief_may_end_a_pool)
{
    tern_ctx *ctx;
    tern_cache *cache;
    int before, after;
    tern_pressure_relieve(TERN_PRESSURE_NONE, &before);
    CHECK_OK(tern_cache_create(NULL, &cache));
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_tensor *t = tern_ones(ctx, TERN_F32, 1, (int64_t[]){5000});
        CHECK_OK(tern_freeze(t));
        CHECK_OK(tern_cache_put(cache, "t", t));
    }
    tern_ctx_destroy(ctx);
    CHECK(tern_pressure_relieve(TERN_PRESSURE_CRITICAL, NULL) > 0);
    tern_pressure_relieve(TERN_PRESSURE_NONE, &after);
    CHECK_EQ(after, before + 1);
    tern_cache_free(cache);
}

/* ---- the watch ---- */

static _Atomic(int) calls, worst;

static void count_call(void *user, const tern_pressure_reading *reading)
{
    CHECK(user == &calls);
    if ((int)reading->level > worst)
        worst = (int)reading->level;
    calls++;
}

/* However long the machine takes; who waits for ever is ended by whoever runs the tests. */
static void wait_for(_Atomic(int) *counter, int least)
{
    while (*counter < least)
        usleep(1000);
}

TEST(the_watch_calls_when_the_level_changes)
{
    new_root();
    plant("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 500 kB\n");
    const tern_pressure_options o = {
        .root = root, .every_ns = 1000000, .call = count_call, .user = (void *)&calls};
    CHECK_OK(tern_pressure_watch_start(&o));
    CHECK_STATUS(tern_pressure_watch_start(&o), TERN_STATE);
    usleep(20000);
    CHECK_EQ(calls, 0);
    plant("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 50 kB\n");
    wait_for(&calls, 1);
    CHECK_EQ(worst, TERN_PRESSURE_MODERATE);
    plant("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 5 kB\n");
    wait_for(&calls, 4); /* again and again while it is critical */
    CHECK_EQ(worst, TERN_PRESSURE_CRITICAL);
    tern_pressure_watch_stop();
    const int at_end = calls;
    usleep(5000);
    CHECK_EQ(calls, at_end);
    tern_pressure_watch_stop();
}

#ifdef __linux__
static atomic_bool time_of_day_is_wrong;

/* Instead of the system's: the time of day is an hour ahead of that by which waits end, as after somebody has set it back. */
int clock_gettime(clockid_t id, struct timespec *to)
{
    const int bad = (int)syscall(SYS_clock_gettime, id, to);
    if (bad == 0 && id == CLOCK_REALTIME && time_of_day_is_wrong)
        to->tv_sec += 3600;
    return bad;
}

TEST(the_watch_goes_on_when_the_time_of_day_is_set)
{
    new_root();
    plant("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 5 kB\n"); /* critical: a call at every look */
    const int before = calls;
    time_of_day_is_wrong = true;
    CHECK_OK(tern_pressure_watch_start(&(tern_pressure_options){
        .root = root, .every_ns = 1000000, .call = count_call, .user = (void *)&calls}));
    for (int i = 0; i < 10000 && calls < before + 3; i++)
        usleep(1000);
    tern_pressure_watch_stop();
    time_of_day_is_wrong = false;
    CHECK(calls >= before + 3);
}
#endif

/* Without a function of the caller's it trims. */
TEST(the_watch_relieves)
{
    tern_pool *pool;
    void *block = NULL;
    tern_pool_fragmentation f = {.held_bytes = 1};
    new_root();
    plant("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 5 kB\n");
    CHECK_OK(tern_pool_create(NULL, &pool));
    CHECK_OK(tern_pool_get(pool, BLOCK, 0, &block));
    tern_pool_put(pool, block);
    CHECK_OK(tern_pressure_watch_start(&(tern_pressure_options){.root = root, .every_ns = 1000000}));
    while (f.held_bytes > 0) {
        tern_pool_get_fragmentation(pool, &f);
        usleep(1000);
    }
    tern_pressure_watch_stop();
    CHECK_EQ(f.held_bytes, 0);
    tern_pool_destroy(pool);
}

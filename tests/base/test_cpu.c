/* test_cpu.c - quota texts, cgroup trees built in a temporary folder, capped masks, and the plausibility of
 * what was detected here. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/cpu_detect.h"
#include "harness.h"

TEST(cgroup_v2_texts)
{
    static const struct {
        const char *text;
        int cores;
    } cases[] = {
        {"max 100000\n", 0},
        {"100000 100000\n", 1},
        {"150000 100000\n", 2},
        {"200000 100000", 2},
        {"1000 100000\n", 1},
        {"200001 100000\n", 3},
        {"0 100000\n", 0},
        {"-1 100000\n", 0},
        {"100000 0\n", 0},
        {"100000 -5\n", 0},
        {"100000\n", 0},
        {"\n", 0},
        {"", 0},
        {"max", 0},
        {"12x 100000\n", 0},
        {"100000 100000x\n", 0},
        {"100000 ", 0},
        {"9223372036854775807 1\n", INT_MAX},
        {"99999999999999999999999 100000\n", INT_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(tern__cgroup_v2_cores(cases[i].text), cases[i].cores);
}

/* ---- cgroup trees ---- */

static char root[PATH_MAX];

static bool make_root(void)
{
    return harness_path(root, sizeof root, "cgroup") && mkdir(root, 0700) == 0;
}

/* Creates root/path with its folders. */
static bool put(const char *path, const char *text)
{
    char whole[PATH_MAX + 256];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    if (file == NULL)
        return false;
    fputs(text, file);
    return fclose(file) == 0;
}

static void drop(const char *const *paths)
{
    char whole[PATH_MAX + 256];
    for (; *paths != NULL; paths++) {
        snprintf(whole, sizeof whole, "%s/%s", root, *paths);
        remove(whole);
    }
    rmdir(root);
}

TEST(cgroup_v2_takes_the_tightest_on_the_way_up)
{
    CHECK(make_root());
    CHECK(put("a/cpu.max", "150000 100000\n"));
    CHECK(put("a/b/cpu.max", "max 100000\n"));
    CHECK(put("a/b/c/cpu.max", "400000 100000\n"));
    double own = tern__cgroup_quota(root, "0::/a/b/c\n", NULL);
    double sibling = tern__cgroup_quota(root, "0::/other/place\n", NULL);
    double top = tern__cgroup_quota(root, "0::/\n", NULL);
    CHECK(put("cpu.max", "50000 100000\n"));
    double tightest = tern__cgroup_quota(root, "1:name=systemd:/x\n0::/a/b/c\n", NULL);
    double outside = tern__cgroup_quota(root, "0::/../../elsewhere\n", NULL);
    drop((const char *const[]){"a/b/c/cpu.max", "a/b/c", "a/b/cpu.max", "a/b", "a/cpu.max", "a", "cpu.max",
                               NULL});
    CHECK_NEAR(own, 1.5, 0);
    CHECK_NEAR(sibling, 0, 0);
    CHECK_NEAR(top, 0, 0);
    CHECK_NEAR(tightest, 0.5, 0);
    CHECK_NEAR(outside, 0.5, 0);
}

TEST(cgroup_v1_quota_and_period)
{
    CHECK(make_root());
    CHECK(put("cpu,cpuacct/docker/cpu.cfs_quota_us", "250000\n"));
    CHECK(put("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n"));
    CHECK(put("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"));
    CHECK(put("cpu,cpuacct/cpu.cfs_period_us", "100000\n"));
    double named = tern__cgroup_quota(root, "5:memory:/\n4:cpu,cpuacct:/docker\n", NULL);
    double above = tern__cgroup_quota(root, "4:cpu,cpuacct:/\n", NULL);
    double unrelated = tern__cgroup_quota(root, "4:cpuset:/docker\n3:cpuacct:/docker\n", NULL);
    /* In a container the path of the host does not exist; the top is the container's own group. */
    CHECK(put("cpu/cpu.cfs_quota_us", "300000\n"));
    CHECK(put("cpu/cpu.cfs_period_us", "100000\n"));
    double container = tern__cgroup_quota(root, "4:cpuacct,cpu:/docker/4f2a\n", NULL);
    drop((const char *const[]){"cpu,cpuacct/docker/cpu.cfs_quota_us", "cpu,cpuacct/docker/cpu.cfs_period_us",
                               "cpu,cpuacct/docker", "cpu,cpuacct/cpu.cfs_quota_us",
                               "cpu,cpuacct/cpu.cfs_period_us", "cpu,cpuacct", "cpu/cpu.cfs_quota_us",
                               "cpu/cpu.cfs_period_us", "cpu", NULL});
    CHECK_NEAR(named, 2.5, 0);
    CHECK_NEAR(above, 0, 0);
    CHECK_NEAR(unrelated, 0, 0);
    CHECK_NEAR(container, 3, 0);
}

TEST(cgroup_memory_is_the_tightest_of_the_groups_around)
{
    CHECK(make_root());
    bool seen = true, unlimited = false, nowhere = true;
    CHECK(put("a/memory.max", "1000\n"));
    CHECK(put("a/b/memory.max", "max\n"));
    CHECK(put("a/b/c/memory.max", "4000\n"));
    CHECK(put("memory/x/memory.limit_in_bytes", "9223372036854771712\n"));
    const uint64_t own = tern__cgroup_memory(root, "0::/a/b/c\n", &seen);
    const uint64_t v1 = tern__cgroup_memory(root, "4:hugetlb,memory:/x\n", &unlimited);
    const uint64_t none = tern__cgroup_memory(root, "4:cpu:/x\n", &nowhere);
    drop((const char *const[]){"a/b/c/memory.max", "a/b/c", "a/b/memory.max", "a/b", "a/memory.max", "a",
                               "memory/x/memory.limit_in_bytes", "memory/x", "memory", NULL});
    CHECK(own == 1000 && seen);
    CHECK(v1 == 0 && unlimited);
    CHECK(none == 0 && !nowhere);
}

TEST(malformed_cgroup_lists_are_harmless)
{
    char line[PATH_MAX + 100] = "0::/";
    memset(line + 4, 'a', sizeof line - 5);
    line[sizeof line - 1] = '\0';
    static const char *const texts[] = {
        "", "\n\n", ":", "::", "0:", "0::", "x", "0::/a\n4:", "4:cpu:", "4:,,cpu,:/"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_NEAR(tern__cgroup_quota("/nonexistent", texts[i], NULL), 0, 0);
    CHECK_NEAR(tern__cgroup_quota("/nonexistent", line, NULL), 0, 0);
}

/* ---- levels ---- */

TEST(level_names)
{
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        tern__isa parsed = TERN__ISA_COUNT;
        CHECK_OK(tern__isa_parse(tern__isa_name((tern__isa)level), &parsed));
        CHECK_EQ(parsed, level);
    }
    tern__isa isa = TERN__ISA_SSE42;
    CHECK_OK(tern__isa_parse("AVX512vnni", &isa));
    CHECK_EQ(isa, TERN__ISA_AVX512VNNI);
    CHECK_STATUS(tern__isa_parse("avx10", &isa), TERN_NOT_FOUND);
    CHECK_EQ(isa, TERN__ISA_AVX512VNNI);
    const char *levels = "baseline";
    if (strcmp(tern__cpu()->arch, "x86") == 0)
        levels = "baseline, sse4.2, avx2, avx512, avx512vnni and amx";
    else if (strcmp(tern__cpu()->arch, "arm") == 0)
        levels = "baseline, neon and neondot";
    char message[160];
    snprintf(message, sizeof message, "cpu levels: there is no 'avx10'; there are %s", levels);
    CHECK_STR(tern_last_error(), message);
    CHECK_STR(tern__isa_name(TERN__ISA_COUNT), "unknown");
}

TEST(capped_masks)
{
    uint32_t b = TERN__ISA_BIT(BASELINE), s = TERN__ISA_BIT(SSE42), a = TERN__ISA_BIT(AVX2);
    uint32_t f = TERN__ISA_BIT(AVX512), v = TERN__ISA_BIT(AVX512VNNI);
    tern__cpu_info x86 = {.arch = "x86", .isa_mask = b | s | a | f | v};
    CHECK_EQ(tern__isa_mask_capped(&x86, TERN__ISA_BASELINE), b);
    CHECK_EQ(tern__isa_mask_capped(&x86, TERN__ISA_SSE42), b | s);
    CHECK_EQ(tern__isa_mask_capped(&x86, TERN__ISA_AVX512), b | s | a | f);
    CHECK_EQ(tern__isa_mask_capped(&x86, TERN__ISA_AVX512VNNI), x86.isa_mask);
    CHECK_EQ(tern__isa_mask_capped(&x86, TERN__ISA_NEON), b);
    x86.isa_mask = b | s;
    CHECK_EQ(tern__isa_mask_capped(&x86, TERN__ISA_AVX512), b | s); /* a cap adds nothing */

    uint32_t n = TERN__ISA_BIT(NEON), d = TERN__ISA_BIT(NEONDOT);
    tern__cpu_info arm = {.arch = "arm", .isa_mask = b | n | d};
    CHECK_EQ(tern__isa_mask_capped(&arm, TERN__ISA_NEON), b | n);
    CHECK_EQ(tern__isa_mask_capped(&arm, TERN__ISA_NEONDOT), b | n | d);
    CHECK_EQ(tern__isa_mask_capped(&arm, TERN__ISA_BASELINE), b);
    CHECK_EQ(tern__isa_mask_capped(&arm, TERN__ISA_AVX2), b);
}

TEST(caps_of_features)
{
    tern__isa_cap cap;
    char name[TERN__ISA_CAP_NAME];
    CHECK_OK(tern__isa_cap_parse("AVX512vnni,-avx512VBMI", &cap));
    CHECK_EQ(cap.level, TERN__ISA_AVX512VNNI);
    CHECK_EQ(cap.without, TERN__ISA_FEATURE_BIT(TERN__FEATURE_VBMI));
    CHECK_STR(tern__isa_cap_name(cap, name), "avx512vnni,-avx512vbmi");
    CHECK_OK(tern__isa_cap_parse("-avxvnni,-avx512vbmi", &cap));
    CHECK_EQ(cap.level, tern__cpu()->best);
    CHECK_EQ(cap.without,
             TERN__ISA_FEATURE_BIT(TERN__FEATURE_VBMI) | TERN__ISA_FEATURE_BIT(TERN__FEATURE_AVXVNNI));
    CHECK_OK(tern__isa_cap_parse("neon", &cap));
    CHECK_EQ(cap.level, TERN__ISA_NEON);
    CHECK_EQ(cap.without, 0);
    /* What is none says so, and changes nothing. */
    CHECK_STATUS(tern__isa_cap_parse("avx2,-one-stream", &cap), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(),
              "cpu feature \"one-stream\" cannot be taken away; there are -avx512vbmi, -avxvnni");
    const char *const bad[] = {"avx2,",        ",",          "-",       "avx2,avxvnni",
                               "avx2,-avx512", "-avx512vbm", "pentium", "avx2 ,-avxvnni",
                               "--avxvnni"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tern__isa_cap_parse(bad[i], &cap) != TERN_NOT_FOUND)
            harness_fail(__FILE__, __LINE__, "\"%s\" is taken for a cap", bad[i]);
    CHECK_EQ(cap.level, TERN__ISA_NEON);
}

TEST(features_that_can_be_taken_away_are_counted)
{
    int n = 0;
    for (int f = TERN__FEATURE_NONE; f <= TERN__FEATURE_COUNT; f++)
        n += tern__feature_is_isa((tern__feature)f);
    CHECK_EQ(TERN__ISA_FEATURE_KINDS, n);
}

TEST(masks_without_features)
{
    const uint32_t b = TERN__ISA_BIT(BASELINE), s = TERN__ISA_BIT(SSE42), a = TERN__ISA_BIT(AVX2),
                   f = TERN__ISA_BIT(AVX512), v = TERN__ISA_BIT(AVX512VNNI);
    const uint32_t vbmi = TERN__ISA_FEATURE_BIT(TERN__FEATURE_VBMI),
                   avxvnni = TERN__ISA_FEATURE_BIT(TERN__FEATURE_AVXVNNI);
    tern__cpu_info x86 = {.arch = "x86",
                          .isa_mask = b | s | a | f | v | vbmi | avxvnni,
                          .features = 1u << TERN__FEATURE_VBMI | 1u << TERN__FEATURE_AVXVNNI |
                                      1u << TERN__FEATURE_ONE_STREAM | 1u << TERN__FEATURE_FOUR_PIPES};
    CHECK_EQ(tern__isa_mask_within(&x86, (tern__isa_cap){TERN__ISA_AVX512VNNI, 0}), x86.isa_mask);
    CHECK_EQ(tern__isa_mask_within(&x86, (tern__isa_cap){TERN__ISA_AVX512VNNI, vbmi}),
             b | s | a | f | v | avxvnni);
    CHECK_EQ(tern__isa_mask_within(&x86, (tern__isa_cap){TERN__ISA_AVX512, avxvnni}), b | s | a | f);
    CHECK_EQ(tern__isa_mask_within(&x86, (tern__isa_cap){TERN__ISA_AVX2, 0}), b | s | a | avxvnni);
    CHECK_EQ(tern__isa_mask_within(&x86, (tern__isa_cap){TERN__ISA_SSE42, 0}), b | s);
    /* Tiles promise VBMI and go with it. */
    CHECK_EQ(tern__isa_mask_within(tern__cpu(), (tern__isa_cap){TERN__ISA_AMX, vbmi}) &
                 (TERN__ISA_BIT(AMX) | vbmi),
             0);
}

/* ---- this machine ---- */

/* Asked for or not, other levels stay, and the answer is always the same. */
TEST(tiles_are_permitted_or_not_there)
{
    const uint32_t vectors = TERN__ISA_BIT(AVX2) | TERN__ISA_BIT(AVX512VNNI), tiles = TERN__ISA_BIT(AMX);
    CHECK_EQ(tern__isa_permitted(vectors), vectors);
    const uint32_t both = tern__isa_permitted(vectors | tiles);
    CHECK_EQ(both & ~tiles, vectors);
    CHECK_EQ(tern__isa_permitted(tiles), both & tiles);
    CHECK_EQ(tern__isa_mask_capped(tern__cpu(), TERN__ISA_AVX512VNNI) & tiles, 0);
    if ((tern__cpu()->isa_mask & tiles) == 0)
        SKIP("this processor has no AMX, or its system or this build has no use for it");
}

TEST(detection_is_plausible)
{
    const tern__cpu_info *cpu = tern__cpu();
    CHECK(cpu == tern__cpu());
    CHECK(cpu->model[0] != '\0');
    CHECK((cpu->isa_mask & TERN__ISA_BIT(BASELINE)) != 0);
    CHECK((cpu->isa_mask >> cpu->best & 1) != 0);
    CHECK_EQ((cpu->isa_mask & ((1u << TERN__ISA_FEATURES) - 1)) >> cpu->best >> 1, 0);
    CHECK_EQ(tern__isa_mask_capped(cpu, cpu->best), cpu->isa_mask);
    CHECK(cpu->cores_online >= 1);
    CHECK(cpu->cores_usable >= 1 && cpu->cores_usable <= cpu->cores_online);
    CHECK(cpu->cores_reason[0] != '\0');
    if (cpu->cores_usable < cpu->cores_online)
        CHECK(strcmp(cpu->cores_reason, "all cores") != 0);
    CHECK(cpu->l1d_bytes == 0 || (cpu->l1d_bytes >= 4096 && cpu->l1d_bytes <= 1 << 20));
#if defined(__aarch64__)
    CHECK_STR(cpu->arch, "arm");
    CHECK((cpu->isa_mask & TERN__ISA_BIT(NEON)) != 0);
#elif defined(__x86_64__)
    CHECK_STR(cpu->arch, "x86");
    /* The compiler's library has a detection of its own to compare with. */
    CHECK_EQ(cpu->isa_mask >> TERN__ISA_SSE42 & 1, __builtin_cpu_supports("sse4.2") != 0);
    CHECK_EQ(cpu->isa_mask >> TERN__ISA_AVX2 & 1,
             __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    CHECK_EQ(cpu->isa_mask >> TERN__ISA_AVX512 & 1,
             __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    CHECK_EQ(cpu->isa_mask >> TERN__ISA_AVX512VNNI & 1, __builtin_cpu_supports("avx512vnni") != 0);
    if (cpu->isa_mask >> TERN__ISA_AMX & 1)
        CHECK(cpu->isa_mask >> TERN__ISA_AVX512VNNI & 1 && __builtin_cpu_supports("gfni") &&
              tern__cpu_has(cpu, TERN__FEATURE_VBMI));
    __builtin_cpu_init();
    if (tern__cpu_has(cpu, TERN__FEATURE_ONE_STREAM))
        CHECK(__builtin_cpu_is("amd"));
    CHECK_EQ(tern__cpu_has(cpu, TERN__FEATURE_FOUR_PIPES),
             tern__cpu_has(cpu, TERN__FEATURE_ONE_STREAM) && cpu->isa_mask >> TERN__ISA_AVX512 & 1);
    if (__builtin_cpu_is("znver3"))
        CHECK(tern__cpu_has(cpu, TERN__FEATURE_ONE_STREAM));
#endif
}

TEST(clock_moves_forward)
{
    uint64_t before = tern__now_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = tern__now_ns();
        CHECK(now >= before);
        before = now;
    }
    /* as fast as the system's, which is looked at outside */
    struct timespec first, last;
    clock_gettime(CLOCK_MONOTONIC, &first);
    before = tern__now_ns();
    usleep(2000);
    const uint64_t passed = tern__now_ns() - before;
    clock_gettime(CLOCK_MONOTONIC, &last);
    CHECK(passed >= 2000000);
    CHECK((int64_t)passed <=
          (last.tv_sec - first.tv_sec) * INT64_C(1000000000) + last.tv_nsec - first.tv_nsec);
}

static uint64_t tell(void *user)
{
    return *(uint64_t *)user;
}

TEST(tests_may_tell_the_time)
{
    uint64_t planted = 42;
    tern__clock_set_source(tell, &planted);
    const uint64_t told = tern__now_ns();
    planted = 43;
    const uint64_t then = tern__now_ns();
    tern__clock_set_source(NULL, NULL);
    CHECK(told == 42 && then == 43);
    CHECK(tern__now_ns() > 43);
}

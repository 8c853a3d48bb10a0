/* cpu_system.c - what the operating system says about the processor: cores online, cores this process may use
 * (affinity, cgroup quota), cache sizes. Reads into buffers on the stack, so it works when memory has run
 * out. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cpu_detect.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* ---- cgroups ---- */

/* The beginning of a small file as text; false if it cannot be read. */
static bool read_text(const char *path, char *text, size_t capacity)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t length = 0;
    ssize_t got;
    while (length + 1 < capacity && (got = read(file, text + length, capacity - 1 - length)) > 0)
        length += (size_t)got;
    close(file);
    text[length] = '\0';
    return length > 0;
}

static double quota_of(long long quota, long long period)
{
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* "150000 100000" -> 1.5; "max 100000" and anything malformed -> 0. */
static double parse_cpu_max(const char *text)
{
    char *end;
    long long quota = strtoll(text, &end, 10);
    if (end == text || *end != ' ')
        return 0;
    const char *second = end;
    long long period = strtoll(second, &end, 10);
    if (end == second || (*end != '\0' && *end != '\n'))
        return 0;
    return quota_of(quota, period);
}

static int cores_of(double quota)
{
    return quota >= INT_MAX ? INT_MAX : (int)ceil(quota);
}

int tern__cgroup_v2_cores(const char *cpu_max_text)
{
    return cores_of(parse_cpu_max(cpu_max_text));
}

static double read_quota_v2(const char *directory)
{
    char path[PATH_MAX + 32], text[128];
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    return read_text(path, text, sizeof text) ? parse_cpu_max(text) : 0;
}

static double read_quota_v1(const char *directory)
{
    char path[PATH_MAX + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!read_text(path, quota, sizeof quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (!read_text(path, period, sizeof period))
        return 0;
    return quota_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10)); /* "-1" = no limit */
}

static double tighter(double a, double b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* Minimum over `top`/`group`, its parent, ... and `top` itself. In a container the group's path may be that
 * of the host and not exist under the mount; then only `top` answers, and it is the container's own group. */
static double walk_up(const char *top, const char *group, double (*read_quota)(const char *directory))
{
    char directory[PATH_MAX];
    size_t top_length = strlen(top);
    if (strstr(group, "/..") != NULL)
        group = ""; /* outside our cgroup namespace: no such directory for us */
    int length = snprintf(directory, sizeof directory, "%s%s", top, group);
    if (length < 0 || (size_t)length >= sizeof directory)
        snprintf(directory, sizeof directory, "%s", top);
    double quota = 0;
    for (;;) {
        quota = tighter(quota, read_quota(directory));
        char *slash = strrchr(directory, '/');
        if (slash == NULL || slash < directory + top_length)
            return quota;
        *slash = '\0';
    }
}

/* Is "cpu" one of the names in "cpu,cpuacct"? */
static bool names_cpu(const char *controllers)
{
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        if (length == 3 && memcmp(at, "cpu", 3) == 0)
            return true;
    }
    return false;
}

double tern__cgroup_quota(const char *mount, const char *self)
{
    double quota = 0;
    for (const char *line = self; *line != '\0';) {
        /* "0::/user.slice" (v2) or "4:cpu,cpuacct:/docker/4f2a" (v1) */
        char entry[PATH_MAX], top[PATH_MAX];
        size_t length = strcspn(line, "\n");
        snprintf(entry, sizeof entry, "%.*s", (int)(length < PATH_MAX ? length : 0), line);
        line += length + (line[length] == '\n');

        char *controllers = strchr(entry, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        controllers++;
        *group++ = '\0';
        if (*controllers == '\0') {
            quota = tighter(quota, walk_up(mount, group, read_quota_v2));
        } else if (names_cpu(controllers)) {
            /* One of the two is usually a link to the other. */
            if (snprintf(top, sizeof top, "%s/%s", mount, controllers) < (int)sizeof top)
                quota = tighter(quota, walk_up(top, group, read_quota_v1));
            if (snprintf(top, sizeof top, "%s/cpu", mount) < (int)sizeof top)
                quota = tighter(quota, walk_up(top, group, read_quota_v1));
        }
    }
    return quota;
}

/* ---- cores ---- */

/* Cores in the calling thread's affinity mask; 0 = unknown. */
static int affinity_cores(void)
{
#if defined(__linux__)
    unsigned long mask[16384 / (8 * sizeof(unsigned long))]; /* larger than any kernel's NR_CPUS */
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)(void *)mask) != 0)
        return 0;
    int count = 0;
    for (size_t i = 0; i < sizeof mask / sizeof mask[0]; i++)
        count += __builtin_popcountl(mask[i]);
    return count;
#else
    return 0;
#endif
}

void tern__cpu_detect_cores(tern__cpu_info *info)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    info->cores_online = online >= 1 && online <= INT_MAX ? (int)online : 1;
    info->cores_usable = info->cores_online;
    snprintf(info->cores_reason, sizeof info->cores_reason, "all cores");

    int allowed = affinity_cores();
    if (allowed > 0 && allowed < info->cores_usable) {
        info->cores_usable = allowed;
        snprintf(info->cores_reason, sizeof info->cores_reason, "affinity");
    }
#if defined(__linux__)
    char self[8192];
    double quota = 0;
    if (read_text("/proc/self/cgroup", self, sizeof self))
        quota = tern__cgroup_quota("/sys/fs/cgroup", self);
    if (quota > 0 && cores_of(quota) < info->cores_usable) {
        info->cores_usable = cores_of(quota);
        snprintf(info->cores_reason, sizeof info->cores_reason, "cgroup quota %.3g", quota);
    }
#endif
}

/* ---- memory ---- */

/* A limit of the group itself, as containers have it; those of groups inside are not looked for. */
static int64_t group_memory(void)
{
    static const char *const files[] = {"/sys/fs/cgroup/memory.max",
                                        "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    char text[64];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (read_text(files[i], text, sizeof text))
            return strtoll(text, NULL, 10); /* "max": 0 */
    return 0;
}

void tern__cpu_detect_memory(tern__cpu_info *info)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    info->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    const int64_t group = group_memory();
    if (group > 0 && (group < info->memory_bytes || info->memory_bytes == 0))
        info->memory_bytes = group;
}

/* ---- caches ---- */

#if defined(__linux__)

/* "32K", "1024K", "32M" */
static int64_t parse_cache_size(const char *text)
{
    char *end;
    long long size = strtoll(text, &end, 10);
    if (size <= 0 || size > (1 << 30))
        return 0;
    return size * (*end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1);
}

static void caches_from_sysfs(tern__cpu_info *info)
{
    for (int index = 0; index < 8; index++) {
        char path[96], level[16], type[32], size[32];
        const char *base = "/sys/devices/system/cpu/cpu0/cache/index";
        snprintf(path, sizeof path, "%s%d/level", base, index);
        if (!read_text(path, level, sizeof level))
            return;
        snprintf(path, sizeof path, "%s%d/type", base, index);
        if (!read_text(path, type, sizeof type) || strncmp(type, "Instruction", 11) == 0)
            continue;
        snprintf(path, sizeof path, "%s%d/size", base, index);
        if (!read_text(path, size, sizeof size))
            continue;
        int64_t *target = level[0] == '1'   ? &info->l1d_bytes
                          : level[0] == '2' ? &info->l2_bytes
                          : level[0] == '3' ? &info->l3_bytes
                                            : NULL;
        if (target != NULL)
            *target = parse_cache_size(size);
    }
}

static void fill(int64_t *bytes, int name)
{
    if (*bytes != 0)
        return;
    long size = sysconf(name);
    *bytes = size > 0 ? size : 0;
}

void tern__cpu_detect_caches(tern__cpu_info *info)
{
    caches_from_sysfs(info);
    fill(&info->l1d_bytes, _SC_LEVEL1_DCACHE_SIZE);
    fill(&info->l2_bytes, _SC_LEVEL2_CACHE_SIZE);
    fill(&info->l3_bytes, _SC_LEVEL3_CACHE_SIZE);
}

#elif defined(__APPLE__)

static int64_t ask(const char *name)
{
    int64_t value = 0;
    size_t bytes = sizeof value;
    return sysctlbyname(name, &value, &bytes, NULL, 0) == 0 && value > 0 ? value : 0;
}

void tern__cpu_detect_caches(tern__cpu_info *info)
{
    info->l1d_bytes = ask("hw.l1dcachesize");
    info->l2_bytes = ask("hw.l2cachesize");
    info->l3_bytes = ask("hw.l3cachesize");
}

#else

void tern__cpu_detect_caches(tern__cpu_info *info)
{
    (void)info; /* unknown */
}

#endif

/* cpu_system.c - what the operating system says about the processor: cores online, cores this process may use
 * (affinity, cgroup quota), cache sizes. Reads into buffers on the stack, so it works when memory has run
 * out. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cpu_detect.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/file.h"

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* ---- cores ---- */

static int cores_of(double quota)
{
    return quota >= INT_MAX ? INT_MAX : (int)ceil(quota);
}

int tern__cgroup_v2_cores(const char *cpu_max_text)
{
    return cores_of(tern__cgroup_parse_quota(cpu_max_text));
}

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
    const double quota = tern__cgroup_own_quota(NULL);
    if (quota > 0 && cores_of(quota) < info->cores_usable) {
        info->cores_usable = cores_of(quota);
        snprintf(info->cores_reason, sizeof info->cores_reason, "cgroup quota %.3g", quota);
    }
#endif
}

/* ---- memory ---- */

void tern__cpu_detect_memory(tern__cpu_info *info)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    info->memory_bytes = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    const int64_t group = (int64_t)tern__cgroup_own_memory(NULL);
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
        if (!tern__file_read_text(path, level, sizeof level))
            return;
        snprintf(path, sizeof path, "%s%d/type", base, index);
        if (!tern__file_read_text(path, type, sizeof type) || strncmp(type, "Instruction", 11) == 0)
            continue;
        snprintf(path, sizeof path, "%s%d/size", base, index);
        if (!tern__file_read_text(path, size, sizeof size))
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

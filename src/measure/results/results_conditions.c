/* results_conditions.c - the machine and the moment, as texts: a table of names and of functions that find them out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <tern/measure.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/point.h"
#include "base/status.h"
#include "measure/results/folder_commit.h"
#include "measure/results/results.h"

enum { ROOM = TERN__CONDITION_TEXT + 1 };

/* Fills `to` (ROOM bytes). */
typedef void (*finder)(char *to);

/* ---- reading what the system says ---- */

static void unavailable(char *to, const char *why)
{
    snprintf(to, ROOM, "unavailable: %s", why);
}

/* The value behind "name\t: " in a file of such lines. */
static bool named_line(const char *path, const char *name, char *to)
{
    FILE *file = fopen(path, "r");
    const size_t length = strlen(name);
    bool found = false;
    while (file && !found && fgets(to, ROOM, file)) {
        const char *colon = strchr(to, ':');
        if (!colon || strncmp(to, name, length) != 0 ||
            strspn(to + length, " \t") != (size_t)(colon - to) - length)
            continue;
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        memmove(to, value, strlen(value) + 1);
        to[strcspn(to, "\n")] = '\0';
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* ---- the machine ---- */

static void find_cpu_model(char *to)
{
    snprintf(to, ROOM, "%s", tern__cpu()->model);
}

static void find_cpu_levels(char *to)
{
    snprintf(to, ROOM, "%s", tern__cpu()->isa_names);
}

static void find_cpu_flags(char *to)
{
    if (!named_line("/proc/cpuinfo", "flags", to) && !named_line("/proc/cpuinfo", "Features", to))
        unavailable(to, "no flags in /proc/cpuinfo");
}

static void find_cores(char *to)
{
    snprintf(to, ROOM, "%d of %d (%s)", tern__cpu()->cores_usable, tern__cpu()->cores_online,
             tern__cpu()->cores_reason);
}

static void find_caches(char *to)
{
    const tern__cpu_info *cpu = tern__cpu();
    snprintf(to, ROOM, TERN__CACHES_READ " bytes", (long long)cpu->l1d_bytes, (long long)cpu->l2_bytes,
             (long long)cpu->l3_bytes);
}

static void find_memory(char *to)
{
    if (tern__cpu()->memory_bytes > 0)
        snprintf(to, ROOM, "%lld bytes", (long long)tern__cpu()->memory_bytes);
    else
        unavailable(to, "the system does not tell");
}

static void find_system(char *to)
{
    struct utsname u;
    if (uname(&u) == 0)
        snprintf(to, ROOM, "%s %s %s", u.sysname, u.release, u.machine);
    else
        unavailable(to, "uname failed");
}

/* What makes times comparable. Names and the kernel's release are not in it: machines are rented by the hour, and baselines outlive
 * updates; nor is memory, of which a container has what was left. */
static void find_host(char *to)
{
    char all[ROOM], caches[ROOM];
    const tern__cpu_info *cpu = tern__cpu();
    find_caches(caches);
    const int n =
        snprintf(all, sizeof all, "%s|%s|%d|%s", cpu->model, cpu->isa_names, cpu->cores_usable, caches);
    const size_t length = n > 0 && (size_t)n < sizeof all ? (size_t)n : strlen(all);
    snprintf(to, ROOM, "%016llx", (unsigned long long)tern__hash(all, length, 0));
}

/* ---- the moment ---- */

static void find_governor(char *to)
{
    if (!tern__file_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", to, ROOM))
        unavailable(to, "no cpufreq in /sys");
}

static void find_frequency(char *to)
{
    char line[64];
    if (tern__file_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", line, sizeof line))
        snprintf(to, ROOM, "%.0f MHz", tern__point_strtod(line, NULL) / 1e3);
    else if (named_line("/proc/cpuinfo", "cpu MHz", to))
        snprintf(to + strlen(to), ROOM - strlen(to), " MHz, by /proc/cpuinfo");
    else
        unavailable(to, "no cpufreq in /sys, none in /proc/cpuinfo");
}

static void find_load(char *to)
{
    if (!tern__file_first_line("/proc/loadavg", to, ROOM))
        unavailable(to, "no /proc/loadavg");
}

void tern__results_temperature(const char *folder, char *to)
{
    double hottest = -INFINITY;
    bool any = false;
    /* Numbers may be left out, and a zone whose sensor is asleep cannot be read: neither says anything of the next. */
    for (int i = 0; i < 64; i++) {
        char path[4200], line[64];
        snprintf(path, sizeof path, "%s/thermal_zone%d/temp", folder, i);
        any |= access(path, F_OK) == 0;
        if (tern__file_first_line(path, line, sizeof line))
            hottest = fmax(hottest, tern__point_strtod(line, NULL));
    }
    if (isfinite(hottest))
        tern__point_snprintf(to, ROOM, "%.1f C", hottest / 1e3);
    else
        unavailable(to, any ? "no thermal zone can be read" : "no thermal zones in /sys");
}

static void find_temperature(char *to)
{
    tern__results_temperature("/sys/class/thermal", to);
}

static bool counter(const char *path, double *out)
{
    char line[64];
    const bool found = tern__file_first_line(path, line, sizeof line);
    if (found)
        *out = tern__point_strtod(line, NULL);
    return found;
}

/* Of the first package, over 20 ms or as long as they took. */
static void find_power(char *to)
{
    static const char path[] = "/sys/class/powercap/intel-rapl:0/energy_uj";
    double before, after;
    if (!counter(path, &before)) {
        unavailable(to, access(path, F_OK) == 0 ? "energy counters may not be read"
                                                : "no energy counters in /sys");
        return;
    }
    const uint64_t start = tern__now_ns();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    const double seconds = (double)(tern__now_ns() - start) * 1e-9;
    if (counter(path, &after) && after > before)
        tern__point_snprintf(to, ROOM, "%.1f W", (after - before) * 1e-6 / seconds);
    else
        unavailable(to, "the energy counter did not move");
}

static void find_cgroup_cpu(char *to)
{
    bool seen;
    const double cores = tern__cgroup_own_quota(&seen);
    if (cores > 0)
        tern__point_snprintf(to, ROOM, "%g cores", cores);
    else if (seen)
        snprintf(to, ROOM, "no limit");
    else
        unavailable(to, "no control group whose CPU time can be read");
}

static void find_cgroup_memory(char *to)
{
    bool seen;
    const uint64_t bytes = tern__cgroup_own_memory(&seen);
    if (bytes > 0)
        snprintf(to, ROOM, "%llu bytes", (unsigned long long)bytes);
    else if (seen)
        snprintf(to, ROOM, "no limit");
    else
        unavailable(to, "no control group whose memory can be read");
}

static void find_version(char *to)
{
    snprintf(to, ROOM, "%s", tern_version());
}

static void find_compiler(char *to)
{
#if defined(__clang__)
    snprintf(to, ROOM, "clang %s", __clang_version__);
#elif defined(__GNUC__)
    snprintf(to, ROOM, "gcc %s", __VERSION__);
#else
    unavailable(to, "neither gcc nor clang");
#endif
}

static void find_time(char *to)
{
    const time_t now = time(NULL);
    struct tm t;
    if (!gmtime_r(&now, &t) || !strftime(to, ROOM, "%Y-%m-%dT%H:%M:%SZ", &t))
        unavailable(to, "the clock is not set");
}

static void find_build_commit(char *to)
{
    snprintf(to, ROOM, "%s", tern_build_commit());
}

static void find_folder_commit(char *to)
{
    char folder[2048];
    if (!getcwd(folder, sizeof folder))
        unavailable(to, "the folder has no name");
    else if (!tern__folder_commit(folder, to, ROOM))
        unavailable(to, "no git work tree here");
}

/* ---- the table ---- */

static const struct {
    const char *name;
    finder find;
} conditions[] = {
    {"host", find_host},
    {"cpu_model", find_cpu_model},
    {"cpu_levels", find_cpu_levels},
    {"cpu_flags", find_cpu_flags},
    {"cores", find_cores},
    {TERN__CACHES_NAME, find_caches},
    {"memory", find_memory},
    {"system", find_system},
    {"governor", find_governor},
    {"frequency", find_frequency},
    {"load", find_load},
    {"temperature", find_temperature},
    {"power", find_power},
    {"cgroup_cpu", find_cgroup_cpu},
    {"cgroup_memory", find_cgroup_memory},
    {"version", find_version},
    {"compiler", find_compiler},
    {"build_commit", find_build_commit},
    {"folder_commit", find_folder_commit},
    {"time", find_time},
};

tern_status tern_results_note_conditions(tern_results *results)
{
    TERN__FAIL_IF(!results, TERN_INVALID_ARGUMENT, "results_note_conditions: an argument is NULL");
    char value[ROOM];
    for (size_t i = 0; i < TERN__COUNT(conditions); i++) {
        value[0] = '\0';
        conditions[i].find(value);
        TERN_TRY(tern_results_set_condition(results, conditions[i].name, value));
    }
    return TERN_OK;
}

tern_status tern_results_note_disturbance(tern_results *results, const tern_moment *begin)
{
    char text[TERN__MESSAGE_MAX];
    TERN__FAIL_IF(!results || !begin, TERN_INVALID_ARGUMENT, "results_note_disturbance: an argument is NULL");
    if (!begin->cores_known)
        return tern_results_set_condition(results, "disturbed_by",
                                          "unavailable: the system does not tell what others compute");
    return tern_results_set_condition(results, "disturbed_by",
                                      tern_moment_disturbed(begin, text, sizeof text) ? text : "nobody");
}

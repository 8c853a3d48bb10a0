/* cgroup.c - see cgroup.h. */
#include "base/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define NO_LIMIT ((uint64_t)1 << 60) /* v1 says "none" by a number of this size */

static bool read_file(const tern__cgroup *g, const char *name, char *text, size_t capacity)
{
    char path[PATH_MAX];
    return tern__file_read_text(tern__cgroup_file(g, name, path), text, capacity);
}

/* ---- places ---- */

/* Is it one of the names in "cpu,cpuacct"? */
static bool has_name(const char *names, const char *name)
{
    const size_t wanted = strlen(name);
    for (const char *at = names; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ",") == wanted && memcmp(at, name, wanted) == 0)
            return true;
    }
    return false;
}

/* false: the path is too long. */
static bool set_folder(tern__cgroup *g, const char *mount, const char *hierarchy, const char *path)
{
    /* What lies outside of our namespace is no folder for us. */
    const char *below = strstr(path, "/..") || strcmp(path, "/") == 0 ? "" : path;
    const int top =
        snprintf(g->folder, sizeof g->folder, "%s%s%s", mount, hierarchy[0] ? "/" : "", hierarchy);
    if (top < 0 || (size_t)top + 64 > sizeof g->folder)
        return false;
    g->top = (size_t)top;
    if (g->top + strlen(below) + 64 <= sizeof g->folder)
        strcpy(g->folder + top, below);
    return true;
}

bool tern__cgroup_at(const char *mount, const char *self, const char *controller, int i, tern__cgroup *out)
{
    for (const char *line = self; *line;) {
        /* "0::/user.slice" (v2) or "4:cpu,cpuacct:/docker/4f2a" (v1) */
        char entry[PATH_MAX];
        const size_t length = strcspn(line, "\n");
        snprintf(entry, sizeof entry, "%.*s", (int)(length < sizeof entry ? length : 0), line);
        line += length + (line[length] == '\n');
        char *names = strchr(entry, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        names++;
        const bool v2 = names[0] == '\0';
        if (!v2 && !has_name(names, controller))
            continue;
        /* A hierarchy with several controllers has a folder of all their names, and usually links of single ones. */
        const int places = v2 || strcmp(names, controller) == 0 ? 1 : 2;
        if (i < places) {
            out->v2 = v2;
            return set_folder(out, mount, v2 ? "" : i == 0 ? names : controller, path);
        }
        i -= places;
    }
    return false;
}

bool tern__cgroup_up(tern__cgroup *group)
{
    char *slash = strrchr(group->folder, '/');
    if (!slash || slash < group->folder + group->top)
        return false;
    *slash = '\0';
    return true;
}

const char *tern__cgroup_file(const tern__cgroup *group, const char *name, char path[PATH_MAX])
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", group->folder, name);
    return length > 0 && length < PATH_MAX ? path : "";
}

/* ---- CPU time ---- */

static double quota_of(long long quota, long long period)
{
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

double tern__cgroup_parse_quota(const char *text)
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

/* Of one group; false: it says nothing. */
static bool read_quota(const tern__cgroup *g, double *out)
{
    char text[128], period[64];
    if (g->v2) {
        if (!read_file(g, "cpu.max", text, sizeof text))
            return false;
        *out = tern__cgroup_parse_quota(text);
        return true;
    }
    if (!read_file(g, "cpu.cfs_quota_us", text, sizeof text) ||
        !read_file(g, "cpu.cfs_period_us", period, sizeof period))
        return false;
    *out = quota_of(strtoll(text, NULL, 10), strtoll(period, NULL, 10)); /* "-1" = no limit */
    return true;
}

static double tighter(double a, double b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

double tern__cgroup_quota(const char *mount, const char *self, bool *seen)
{
    double tightest = 0, quota;
    bool any = false;
    tern__cgroup g;
    for (int i = 0; tern__cgroup_at(mount, self, "cpu", i, &g); i++)
        do {
            if (read_quota(&g, &quota)) {
                any = true;
                tightest = tighter(tightest, quota);
            }
        } while (tern__cgroup_up(&g));
    if (seen)
        *seen = any;
    return tightest;
}

/* ---- memory ---- */

/* Of one group, 0 if it has none; false: it says nothing. */
static bool read_memory(const tern__cgroup *g, uint64_t *out)
{
    char text[64], *end;
    if (!read_file(g, g->v2 ? "memory.max" : "memory.limit_in_bytes", text, sizeof text))
        return false;
    errno = 0;
    const unsigned long long bytes = strtoull(text, &end, 10);
    const bool limit = text[0] >= '0' && text[0] <= '9' && errno == 0 && bytes < NO_LIMIT;
    *out = limit ? bytes : 0; /* "max" */
    return true;
}

uint64_t tern__cgroup_memory(const char *mount, const char *self, bool *seen)
{
    uint64_t tightest = 0, bytes;
    bool any = false;
    tern__cgroup g;
    for (int i = 0; tern__cgroup_at(mount, self, "memory", i, &g); i++)
        do {
            if (read_memory(&g, &bytes)) {
                any = true;
                tightest = bytes > 0 && (tightest == 0 || bytes < tightest) ? bytes : tightest;
            }
        } while (tern__cgroup_up(&g));
    if (seen)
        *seen = any;
    return tightest;
}

/* ---- this process ---- */

double tern__cgroup_own_quota(bool *seen)
{
    char self[TERN__CGROUP_TEXT];
    if (seen)
        *seen = false;
    return tern__file_read_text(TERN__CGROUP_SELF, self, sizeof self)
               ? tern__cgroup_quota(TERN__CGROUP_MOUNT, self, seen)
               : 0;
}

uint64_t tern__cgroup_own_memory(bool *seen)
{
    char self[TERN__CGROUP_TEXT];
    if (seen)
        *seen = false;
    return tern__file_read_text(TERN__CGROUP_SELF, self, sizeof self)
               ? tern__cgroup_memory(TERN__CGROUP_MOUNT, self, seen)
               : 0;
}

/* pressure.c - how short memory is, by what the system says: limits of control groups, time that tasks wait for memory, what the
 * machine has left. Reads into buffers on the stack: it works when memory has run out. */
#include <tern/pressure.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/names.h"
#include "base/point.h"
#include "base/status.h"
#include "base/trim.h"
#include "base/units.h"

static const double group_moderate = 0.80, group_critical = 0.95; /* working set, of the limit */
static const double stall_percent = 10;                           /* of the last ten seconds */
static const double left_moderate = 0.10, left_critical = 0.03;   /* of the machine's memory */

enum { TEXT = TERN__CGROUP_TEXT };
#define NO_LIMIT ((uint64_t)1 << 60) /* v1 says "none" by a number of this size */

/* ---- files ---- */

/* The beginning of a small file; false, and the signal says why, if it cannot be read. */
static bool read_text(const char *path, char text[TEXT], tern_pressure_signal *why)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    size_t length = 0;
    if (file >= 0) {
        while (length + 1 < TEXT && (got = read(file, text + length, TEXT - 1 - length)) > 0)
            length += (size_t)got;
    }
    if (got < 0)
        snprintf(why->text, sizeof why->text, "%.150s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    text[length] = '\0';
    return got >= 0;
}

static bool not_understood(tern_pressure_signal *s, const char *path, const char *what)
{
    snprintf(s->text, sizeof s->text, "%.120s: %s", path, what);
    return false;
}

/* A whole number, and nothing after it but the end of the line. */
static bool parse_number(const char *text, uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return errno == 0 && (*end == '\n' || *end == '\0' || *end == ' ');
}

static bool read_number(const char *path, uint64_t *out, tern_pressure_signal *s)
{
    char text[TEXT];
    if (!read_text(path, text, s))
        return false;
    return parse_number(text, out) || not_understood(s, path, "is no whole number");
}

/* The number behind `key` at the start of a line. */
static bool find_number(const char *text, const char *key, uint64_t *out)
{
    const size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, key, length) == 0) {
            line += length;
            while (*line == ' ')
                line++;
            return parse_number(line, out);
        }
    return false;
}

/* ---- control groups ---- */

static bool exists(const tern__cgroup *g)
{
    char path[PATH_MAX];
    return access(tern__cgroup_file(g, g->v2 ? "memory.current" : "memory.usage_in_bytes", path), R_OK) == 0;
}

/* The group of this process, or the nearest around it that can be seen. */
static bool find_group(const char *root, tern__cgroup *g, tern_pressure_signal *s)
{
    char path[PATH_MAX], mount[PATH_MAX], text[TEXT];
    if (snprintf(path, sizeof path, "%s" TERN__CGROUP_SELF, root) >= (int)sizeof path ||
        snprintf(mount, sizeof mount, "%s" TERN__CGROUP_MOUNT, root) >= (int)sizeof mount)
        return not_understood(s, root, "is too long a path");
    if (!read_text(path, text, s))
        return false;
    for (int i = 0; tern__cgroup_at(mount, text, "memory", i, g); i++)
        do {
            if (exists(g))
                return true;
        } while (tern__cgroup_up(g));
    return not_understood(s, path, "names no control group whose memory can be read");
}

/* What the group uses without files that can be dropped at once, and its limit. `*limit` UINT64_MAX: none is set. */
static bool read_group(const tern__cgroup *g, uint64_t *used, uint64_t *limit, tern_pressure_signal *s)
{
    char path[PATH_MAX], text[TEXT];
    uint64_t idle = 0;
    if (!read_number(tern__cgroup_file(g, g->v2 ? "memory.current" : "memory.usage_in_bytes", path), used,
                     s) ||
        !read_text(tern__cgroup_file(g, g->v2 ? "memory.max" : "memory.limit_in_bytes", path), text, s))
        return false;
    if (strncmp(text, "max", 3) == 0 && (text[3] == '\n' || text[3] == '\0'))
        *limit = UINT64_MAX;
    else if (!parse_number(text, limit) || *limit == 0)
        return not_understood(s, path, "is neither a number of bytes nor 'max'");
    if (*limit >= NO_LIMIT)
        *limit = UINT64_MAX;
    tern_pressure_signal unused;
    if (read_text(tern__cgroup_file(g, "memory.stat", path), text, &unused) &&
        find_number(text, g->v2 ? "inactive_file " : "total_inactive_file ", &idle) && idle <= *used)
        *used -= idle;
    return true;
}

static void lessen(uint64_t *least, uint64_t bytes)
{
    *least = bytes < *least ? bytes : *least;
}

/* The group that is nearest to its limit, of this one and those that it is part of. */
static void read_limits(const char *root, tern_pressure_signal *s, uint64_t *left)
{
    tern__cgroup g;
    double fullest = -1;
    uint64_t used, limit;
    if (!find_group(root, &g, s))
        return;
    bool more = true;
    for (; more; more = tern__cgroup_up(&g)) {
        if (!exists(&g)) /* the topmost one has none */
            continue;
        if (!read_group(&g, &used, &limit, s))
            return;
        const double share = (double)used / (double)limit;
        if (limit == UINT64_MAX)
            continue;
        lessen(left, used < limit ? limit - used : 0);
        if (share <= fullest)
            continue;
        fullest = share;
        snprintf(s->text, sizeof s->text, "working set %s of %s (%.0f %%)", tern__bytes_of((double)used).text,
                 tern__bytes_of((double)limit).text, share * 100);
    }
    if (fullest < 0) {
        snprintf(s->text, sizeof s->text, "no limit is set");
        return;
    }
    s->available = true;
    s->level = fullest >= group_critical   ? TERN_PRESSURE_CRITICAL
               : fullest >= group_moderate ? TERN_PRESSURE_MODERATE
                                           : TERN_PRESSURE_NONE;
}

/* How often the limit was run into, and processes were killed for it. v1 counts the first only. */
static bool read_counts(const char *root, uint64_t *hits, uint64_t *kills, tern_pressure_signal *s)
{
    char path[PATH_MAX], text[TEXT];
    tern__cgroup g;
    uint64_t high = 0, most = 0;
    *kills = 0;
    if (!find_group(root, &g, s))
        return false;
    if (!g.v2)
        return read_number(tern__cgroup_file(&g, "memory.failcnt", path), hits, s);
    if (!read_text(tern__cgroup_file(&g, "memory.events", path), text, s))
        return false;
    if (!find_number(text, "high ", &high) || !find_number(text, "max ", &most) ||
        !find_number(text, "oom_kill ", kills))
        return not_understood(s, path, "has no numbers of 'high', 'max' and 'oom_kill'");
    *hits = high + most;
    return true;
}

static void read_events(const char *root, const tern_pressure_reading *previous, tern_pressure_reading *out)
{
    tern_pressure_signal *s = &out->signals[TERN_PRESSURE_SOURCE_EVENTS];
    if (!read_counts(root, &out->limit_hits, &out->kills, s))
        return;
    const bool known = previous && previous->signals[TERN_PRESSURE_SOURCE_EVENTS].available;
    const uint64_t hits =
        known && out->limit_hits > previous->limit_hits ? out->limit_hits - previous->limit_hits : 0;
    const uint64_t kills = known && out->kills > previous->kills ? out->kills - previous->kills : 0;
    s->available = true;
    s->level = kills > 0 ? TERN_PRESSURE_CRITICAL : hits > 0 ? TERN_PRESSURE_MODERATE : TERN_PRESSURE_NONE;
    if (known)
        snprintf(s->text, sizeof s->text,
                 "since the last reading the limit was run into %" PRIu64 " times, %" PRIu64
                 " processes were killed",
                 hits, kills);
    else
        snprintf(s->text, sizeof s->text,
                 "until now the limit was run into %" PRIu64 " times, %" PRIu64 " processes were killed",
                 out->limit_hits, out->kills);
}

/* ---- the machine ---- */

/* Behind "some avg10=" and the like: a percentage. */
static bool find_percent(const char *text, const char *key, double *out)
{
    const char *at = strstr(text, key);
    char *end;
    if (!at)
        return false;
    *out = tern__point_strtod(at + strlen(key), &end);
    return end != at + strlen(key) && (*end == ' ' || *end == '\n') && isfinite(*out) && *out >= 0 &&
           *out <= 100;
}

static void read_stall(const char *root, tern_pressure_signal *s)
{
    char path[PATH_MAX], text[TEXT];
    double some, all;
    snprintf(path, sizeof path, "%s/proc/pressure/memory", root);
    if (!read_text(path, text, s))
        return;
    if (!find_percent(text, "some avg10=", &some) || !find_percent(text, "full avg10=", &all)) {
        not_understood(s, path, "has no percentages 'some avg10' and 'full avg10'");
        return;
    }
    s->available = true;
    s->level = all >= stall_percent    ? TERN_PRESSURE_CRITICAL
               : some >= stall_percent ? TERN_PRESSURE_MODERATE
                                       : TERN_PRESSURE_NONE;
    snprintf(s->text, sizeof s->text,
             "of the last 10 s some tasks waited for memory %.2f %%, all of them %.2f %%", some, all);
}

static void read_left(const char *root, tern_pressure_signal *s, uint64_t *bytes)
{
    char path[PATH_MAX], text[TEXT];
    uint64_t all = 0, left = 0;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (!read_text(path, text, s))
        return;
    if (!find_number(text, "MemTotal:", &all) || !find_number(text, "MemAvailable:", &left) || all == 0 ||
        left > all) {
        not_understood(s, path, "has no sensible 'MemTotal' and 'MemAvailable'");
        return;
    }
    const double share = (double)left / (double)all;
    lessen(bytes, left * 1024);
    s->available = true;
    s->level = share < left_critical   ? TERN_PRESSURE_CRITICAL
               : share < left_moderate ? TERN_PRESSURE_MODERATE
                                       : TERN_PRESSURE_NONE;
    snprintf(s->text, sizeof s->text, "%s of %s are available (%.0f %%)",
             tern__bytes_of((double)left * 1024).text, tern__bytes_of((double)all * 1024).text, share * 100);
}

/* ---- all of it ---- */

tern_status tern_pressure_read(const char *root, const tern_pressure_reading *previous,
                               tern_pressure_reading *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "pressure_read: the place for the reading is NULL");
    TERN__FAIL_IF(root && strlen(root) > PATH_MAX / 2, TERN_INVALID_ARGUMENT,
                  "pressure_read: too long a path");
    tern_pressure_reading r = {.available_bytes = UINT64_MAX};
    const char *under = root ? root : "";
    read_limits(under, &r.signals[TERN_PRESSURE_SOURCE_CGROUP], &r.available_bytes);
    read_events(under, previous, &r);
    read_stall(under, &r.signals[TERN_PRESSURE_SOURCE_STALL]);
    read_left(under, &r.signals[TERN_PRESSURE_SOURCE_AVAILABLE], &r.available_bytes);
    for (int i = 0; i < TERN_PRESSURE_SOURCES; i++) {
        r.known = r.known || r.signals[i].available;
        r.level = r.signals[i].level > r.level ? r.signals[i].level : r.level;
    }
    *out = r;
    return TERN_OK;
}

size_t tern_pressure_relieve(tern_pressure level, int *asked)
{
    return tern__trim_all((int)level, asked);
}

const char *tern_pressure_name(tern_pressure level)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_PRESSURE_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)level);
}

const char *tern_pressure_source_name(tern_pressure_source source)
{
    static const char *const names[] = {
#define NAME(id, number, name, moderate, critical) [number] = name,
        TERN_PRESSURE_SOURCE_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)source);
}

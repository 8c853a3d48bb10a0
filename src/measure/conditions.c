/* conditions.c - heat, throttling and power, by what Linux says in /sys. Elsewhere no sensor is available, and each says so. */
#include <tern/conditions.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "base/status.h"

static const double margin = 5, usual_trip = 90, usual_critical = 100; /* degrees */
static const double held = 0.9, held_far = 0.5;                        /* of the highest frequency */
static const long long little = 20;                                    /* percent of a battery */

enum { LINE = 128, MOST_TRIPS = 16 };

/* ---- files ---- */

/* The first line of root/folder/name, without its end; false: there is none. */
static bool read_line(const char *folder, const char *name, char out[LINE])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    return tern__file_first_line(path, out, LINE);
}

static bool read_number(const char *folder, const char *name, long long *out)
{
    char text[LINE], *end;
    if (!read_line(folder, name, text))
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static void unavailable(tern_sensor_reading *s, const char *folder, const char *why)
{
    s->available = false;
    snprintf(s->text, sizeof s->text, "%.120s: %s", folder, why);
}

/* Calls visit for each entry whose name starts with `prefix`; false: the folder cannot be read. */
static bool each_entry(const char *folder, const char *prefix,
                       void (*visit)(const char *folder, const char *name, void *user), void *user)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[PATH_MAX];
        if (e->d_name[0] != '.' && strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
            visit(path, e->d_name, user);
    }
    closedir(dir);
    return true;
}

static bool folder_of(const char *root, const char *below, char out[PATH_MAX], tern_sensor_reading *s)
{
    if (snprintf(out, PATH_MAX, "%s%s", root, below) < PATH_MAX)
        return true;
    unavailable(s, below, "too long a path");
    return false;
}

static void raise_to(tern_sensor_reading *s, tern_strain strain)
{
    s->available = true;
    s->strain = strain > s->strain ? strain : s->strain;
}

/* ---- heat ---- */

typedef struct hottest {
    tern_sensor_reading *s;
    double nearest; /* degrees to the trip point, of the zone that is told */
} hottest;

/* Of a zone: the lowest trip point that is none of activity (fans), and the critical one. */
static void find_trips(const char *zone, double *trip, double *critical)
{
    *trip = usual_trip;
    *critical = usual_critical;
    bool any = false;
    for (int i = 0; i < MOST_TRIPS; i++) {
        char name[64], type[LINE];
        long long milli;
        snprintf(name, sizeof name, "trip_point_%d_type", i);
        if (!read_line(zone, name, type))
            continue;
        snprintf(name, sizeof name, "trip_point_%d_temp", i);
        if (strcmp(type, "active") == 0 || !read_number(zone, name, &milli) || milli <= 0)
            continue;
        const double at = (double)milli / 1000;
        if (strcmp(type, "critical") == 0)
            *critical = at;
        if (!any || at < *trip)
            *trip = at;
        any = true;
    }
}

static void see_zone(const char *zone, const char *name, void *user)
{
    hottest *h = user;
    char type[LINE];
    long long milli;
    double trip, critical;
    if (!read_number(zone, "temp", &milli))
        return;
    find_trips(zone, &trip, &critical);
    const double now = (double)milli / 1000;
    if (!h->s->available || trip - now < h->nearest) {
        h->nearest = trip - now;
        snprintf(h->s->text, sizeof h->s->text, "%.60s %.1f of %.1f degrees",
                 read_line(zone, "type", type) ? type : name, now, trip);
    }
    raise_to(h->s, now >= critical - margin ? TERN_STRAIN_SEVERE
                   : now >= trip - margin   ? TERN_STRAIN_MODERATE
                                            : TERN_STRAIN_NONE);
}

static void read_heat(const char *root, tern_sensor_reading *s)
{
    char folder[PATH_MAX];
    if (!folder_of(root, "/sys/class/thermal", folder, s))
        return;
    if (!each_entry(folder, "thermal_zone", see_zone, &(hottest){.s = s}))
        unavailable(s, folder, strerror(errno));
    else if (!s->available)
        unavailable(s, folder, "no thermal zone with a temperature");
}

/* ---- processors ---- */

typedef struct processors {
    long long throttled;
    bool counted;
    double least; /* of the highest frequency that each may have; above 1: nobody says */
} processors;

static void see_processor(const char *folder, const char *name, void *user)
{
    processors *p = user;
    long long count, most, highest;
    if (name[3] < '0' || name[3] > '9') /* cpufreq, cpuidle */
        return;
    if (read_number(folder, "thermal_throttle/core_throttle_count", &count)) {
        p->throttled += count;
        p->counted = true;
    }
    if (read_number(folder, "thermal_throttle/package_throttle_count", &count)) {
        p->throttled += count;
        p->counted = true;
    }
    if (read_number(folder, "cpufreq/scaling_max_freq", &most) &&
        read_number(folder, "cpufreq/cpuinfo_max_freq", &highest) && highest > 0) {
        const double share = (double)most / (double)highest;
        p->least = share < p->least ? share : p->least;
    }
}

static void read_processors(const char *root, const tern_conditions *previous, tern_conditions *out)
{
    char folder[PATH_MAX];
    tern_sensor_reading *t = &out->sensors[TERN_SENSOR_THROTTLING], *f = &out->sensors[TERN_SENSOR_FREQUENCY];
    processors p = {.least = 2};
    if (!folder_of(root, "/sys/devices/system/cpu", folder, t) ||
        !folder_of(root, "/sys/devices/system/cpu", folder, f))
        return;
    if (!each_entry(folder, "cpu", see_processor, &p)) {
        unavailable(t, folder, strerror(errno));
        unavailable(f, folder, strerror(errno));
        return;
    }
    if (p.counted) {
        const bool known = previous && previous->sensors[TERN_SENSOR_THROTTLING].available;
        const long long since = known ? p.throttled - (long long)previous->throttled : 0;
        out->throttled = (uint64_t)p.throttled;
        raise_to(t, since > 0 ? TERN_STRAIN_MODERATE : TERN_STRAIN_NONE);
        snprintf(t->text, sizeof t->text, "%lld times ever, %lld since the last reading", p.throttled,
                 since > 0 ? since : 0);
    } else {
        unavailable(t, folder, "no processor counts throttling");
    }
    if (p.least <= 1) {
        raise_to(f, p.least < held_far ? TERN_STRAIN_SEVERE
                    : p.least < held   ? TERN_STRAIN_MODERATE
                                       : TERN_STRAIN_NONE);
        snprintf(f->text, sizeof f->text, "may be %.0f %% of the highest", p.least * 100);
    } else {
        unavailable(f, folder, "no processor tells its frequencies");
    }
}

/* ---- power ---- */

static void see_supply(const char *folder, const char *name, void *user)
{
    tern_sensor_reading *s = user;
    char type[LINE], status[LINE], scope[LINE];
    long long left = -1;
    if (!read_line(folder, "type", type))
        return;
    if (strcmp(type, "Battery") != 0) {
        if (!s->available)
            snprintf(s->text, sizeof s->text, "no battery");
        raise_to(s, TERN_STRAIN_NONE);
        return;
    }
    /* That of a mouse, say. */
    if ((read_line(folder, "scope", scope) && strcmp(scope, "Device") == 0) ||
        !read_line(folder, "status", status))
        return;
    const bool known = read_number(folder, "capacity", &left), drains = strcmp(status, "Discharging") == 0;
    char percent[32] = "";
    if (known)
        snprintf(percent, sizeof percent, ", %lld %% left", left);
    snprintf(s->text, sizeof s->text, "%.60s: %.40s%s", name, status, percent);
    raise_to(s, !drains                   ? TERN_STRAIN_NONE
                : known && left <= little ? TERN_STRAIN_SEVERE
                                          : TERN_STRAIN_MODERATE);
}

static void read_power(const char *root, tern_sensor_reading *s)
{
    char folder[PATH_MAX];
    if (!folder_of(root, "/sys/class/power_supply", folder, s))
        return;
    if (!each_entry(folder, "", see_supply, s))
        unavailable(s, folder, strerror(errno));
    else if (!s->available)
        unavailable(s, folder, "neither a battery nor a mains supply");
}

/* ---- all of them ---- */

tern_status tern_conditions_read(const char *root, const tern_conditions *previous, tern_conditions *out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "conditions_read: out is NULL");
    tern_conditions c = {0};
    root = root && strcmp(root, "/") != 0 ? root : "";
    read_heat(root, &c.sensors[TERN_SENSOR_HEAT]);
    read_processors(root, previous, &c);
    read_power(root, &c.sensors[TERN_SENSOR_POWER]);
    for (int i = 0; i < TERN_SENSORS; i++) {
        c.known = c.known || c.sensors[i].available;
        c.strain = c.sensors[i].strain > c.strain ? c.sensors[i].strain : c.strain;
    }
    *out = c;
    return TERN_OK;
}

const char *tern_strain_name(tern_strain strain)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_STRAIN_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)strain);
}

const char *tern_sensor_name(tern_sensor sensor)
{
    static const char *const names[] = {
#define NAME(id, number, name, moderate, severe) [number] = name,
        TERN_SENSOR_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)sensor);
}

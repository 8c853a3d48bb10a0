/* occupied.c - see occupied.h. */
#include "measure/occupied.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* The one place of these numbers: warnings and verdicts go by them. Of two cores others may have one for a quarter of the time, and so
 * less than half of it, which would move a median, even with what ticks hide. */
static const double taken_most = 0.05;   /* of the time */
static const double others_most = 0.125; /* of the cores */
static const double hidden_most = 0.25;  /* of others_most */

static struct {
    tern__moment_source tell;
    void *user;
} source;

void tern__moment_set_source(tern__moment_source tell, void *user)
{
    source.tell = tell;
    source.user = user;
}

/* ---- readings ---- */

/* The second number of a thread's schedstat: how long it was runnable and did not run. */
static bool add_wait(const char *folder, const char *thread, uint64_t *sum)
{
    char path[PATH_MAX];
    uint64_t ran, waited;
    if (snprintf(path, sizeof path, "%s/%s/schedstat", folder, thread) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool got = fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2;
    fclose(file);
    *sum += got ? waited : 0;
    return got;
}

static void read_waits(const char *proc, tern_moment *m)
{
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s/self/task", proc) >= (int)sizeof folder)
        return;
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            m->waits_known |= add_wait(folder, e->d_name, &m->waited_ns);
    closedir(dir);
}

/* The first line of /proc/stat has all cores, in ticks; then there is a line for each. */
static void read_cores(const char *proc, tern_moment *m)
{
    char path[PATH_MAX], line[512];
    uint64_t user, nice, system, idle, waiting, irq, softirq, stolen;
    if (snprintf(path, sizeof path, "%s/stat", proc) >= (int)sizeof path)
        return;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &user, &nice, &system, &idle, &waiting, &irq, &softirq, &stolen) == 8) {
        while (fgets(line, sizeof line, file))
            m->cores += strncmp(line, "cpu", 3) == 0;
        const long ticks = sysconf(_SC_CLK_TCK);
        m->tick_ns = ticks > 0 ? UINT64_C(1000000000) / (uint64_t)ticks : 0;
        m->busy_ns = (user + nice + system + irq + softirq) * m->tick_ns;
        m->stolen_ns = stolen * m->tick_ns;
        m->cores_known = m->tick_ns > 0 && m->cores > 0;
    }
    fclose(file);
}

tern_moment tern__moment_read(const char *proc)
{
    tern_moment m = {.now_ns = tern__now_ns(), .own_ns = tern__cpu_time_ns()};
    read_waits(proc, &m);
    read_cores(proc, &m);
    return m;
}

tern_moment tern_moment_now(void)
{
    return source.tell ? source.tell(source.user) : tern__moment_read("/proc");
}

/* ---- what they say ---- */

/* after - before - spare, in cores' worth; never below zero. */
static double rate(uint64_t before, uint64_t after, double spare_ns, double ns)
{
    return fmax(0, (double)after - (double)before - spare_ns) / ns;
}

tern__occupancy tern__occupancy_between(tern_moment before, tern_moment after)
{
    tern__occupancy o = {.waited = NAN, .stolen = NAN, .others = NAN, .cores = after.cores};
    const double ns = (double)after.now_ns - (double)before.now_ns;
    if (!(ns > 0))
        return o;
    if (before.waits_known && after.waits_known)
        o.waited = rate(before.waited_ns, after.waited_ns, 0, ns);
    if (before.cores_known && after.cores_known) {
        const double spare = (double)after.tick_ns * after.cores;
        const double own = (double)after.own_ns - (double)before.own_ns;
        o.stolen = rate(before.stolen_ns, after.stolen_ns, spare, ns);
        o.others = rate(before.busy_ns, after.busy_ns, spare + own, ns);
        o.hidden = spare / ns;
    }
    return o;
}

/* What is not known is nothing. */
static double known(double x)
{
    return isnan(x) ? 0 : x;
}

bool tern__is_occupied(const tern__occupancy *o, double threshold)
{
    const double taken = known(o->waited) + known(o->stolen);
    return taken > fmin(threshold / 2, taken_most) || known(o->others) > others_most * o->cores;
}

bool tern__occupancy_is_sure(const tern__occupancy *o)
{
    return o->hidden <= hidden_most * others_most * o->cores;
}

bool tern__occupancy_is_worth_telling(const tern__occupancy *o)
{
    tern__occupancy of_others = *o;
    of_others.waited = NAN;
    return tern__is_occupied(&of_others, INFINITY);
}

bool tern_moment_disturbed(const tern_moment *begin, char *text, size_t room)
{
    if (text && room > 0)
        text[0] = '\0';
    if (!begin)
        return false;
    tern__occupancy o = tern__occupancy_between(*begin, tern_moment_now());
    if (!tern__occupancy_is_worth_telling(&o))
        return false;
    o.waited = NAN;
    if (text && room > 0)
        tern__occupancy_text(&o, text, room);
    return true;
}

void tern__occupancy_text(const tern__occupancy *o, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    if (!isnan(o->waited))
        used = (size_t)snprintf(text, room, "%.2f of its threads waited for a core", o->waited);
    if (used < room && known(o->stolen) >= 0.005) /* or it would read 0.00 */
        used += (size_t)snprintf(text + used, room - used, "%sthe host took %.2f cores away",
                                 used ? ", " : "", o->stolen);
    if (used < room && !isnan(o->others))
        snprintf(text + used, room - used, "%sothers computed on %.1f of %d cores", used ? ", " : "",
                 o->others, o->cores);
}

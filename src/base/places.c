/* places.c - one core for each worker, by affinity masks. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pthread_setaffinity_np, sched_getcpu */
#endif
#include "base/places.h"

#include <stddef.h>

#if defined(__linux__)

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>

#include "base/alloc.h"

typedef struct place {
    int cpu;
    pthread_t thread; /* that lives there; worker 0's is unused */
} place;

struct tern__places {
    int count;
    bool stays;       /* the caller is bound */
    cpu_set_t before; /* what it was allowed before that */
    place of[];       /* (count) by worker */
};

/* Failures leave the thread where it may be: slower at worst. They are a matter of course where the cores that a
 * process may use change while it runs. */
static bool bind_to(pthread_t thread, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    return pthread_setaffinity_np(thread, sizeof set, &set) == 0;
}

tern__places *tern__places_create(int workers)
{
    cpu_set_t allowed;
    if (workers < 2 || pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0 ||
        CPU_COUNT(&allowed) != workers)
        return NULL;
    tern__places *p = tern__alloc_zero(1, sizeof *p + (size_t)workers * sizeof *p->of);
    if (!p)
        return NULL;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed))
            p->of[p->count++].cpu = cpu;
    return p;
}

void tern__places_free(tern__places *places)
{
    tern__free(places);
}

void tern__places_give(tern__places *places, int worker, pthread_t thread)
{
    if (!places)
        return;
    places->of[worker].thread = thread;
    bind_to(thread, places->of[worker].cpu);
}

void tern__places_begin(tern__places *places)
{
    if (!places)
        return;
    const int here = sched_getcpu(), left = places->of[0].cpu;
    if (here == left)
        return;
    for (int worker = 1; worker < places->count; worker++) /* none: a caller that may be elsewhere */
        if (places->of[worker].cpu == here) {
            if (!bind_to(places->of[worker].thread, left))
                return;
            places->of[worker].cpu = left;
            places->of[0].cpu = here;
            return;
        }
}

void tern__places_stay(tern__places *places)
{
    if (!places || places->stays ||
        pthread_getaffinity_np(pthread_self(), sizeof places->before, &places->before) != 0)
        return;
    const int cpu = places->of[0].cpu;
    places->stays = CPU_ISSET((size_t)cpu, &places->before) && bind_to(pthread_self(), cpu);
}

void tern__places_end(tern__places *places)
{
    if (!places || !places->stays)
        return;
    pthread_setaffinity_np(pthread_self(), sizeof places->before, &places->before);
    places->stays = false;
}

/* ---- threads of others ---- */

void tern__threads_list(tern__thread_list *out)
{
    DIR *folder = opendir("/proc/self/task");
    out->n = 0;
    if (!folder)
        return;
    for (struct dirent *e; out->n < TERN__THREADS_LISTED && (e = readdir(folder));)
        if (e->d_name[0] != '.')
            out->ids[out->n++] = atoi(e->d_name);
    closedir(folder);
}

static bool is_listed(const tern__thread_list *list, int id)
{
    for (int i = 0; i < list->n; i++)
        if (list->ids[i] == id)
            return true;
    return false;
}

bool tern__places_give_new(const tern__thread_list *before, int count)
{
    cpu_set_t allowed, one;
    tern__thread_list now;
    int fresh[TERN__THREADS_LISTED], n = 0;
    tern__threads_list(&now);
    for (int i = 0; i < now.n; i++)
        if (!is_listed(before, now.ids[i]))
            fresh[n++] = now.ids[i];
    if (before->n == 0 || n != count || n < 2 || sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        CPU_COUNT(&allowed) != n)
        return false;
    int cpu = 0;
    for (int i = 0; i < n; i++, cpu++) {
        while (!CPU_ISSET((size_t)cpu, &allowed))
            cpu++;
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        if (sched_setaffinity(fresh[i], sizeof one, &one) != 0)
            return false;
    }
    return true;
}

#else

tern__places *tern__places_create(int workers)
{
    (void)workers;
    return NULL;
}

void tern__places_free(tern__places *places)
{
    (void)places;
}

void tern__places_give(tern__places *places, int worker, pthread_t thread)
{
    (void)places, (void)worker, (void)thread;
}

void tern__places_begin(tern__places *places)
{
    (void)places;
}

void tern__places_stay(tern__places *places)
{
    (void)places;
}

void tern__places_end(tern__places *places)
{
    (void)places;
}

void tern__threads_list(tern__thread_list *out)
{
    out->n = 0;
}

bool tern__places_give_new(const tern__thread_list *before, int count)
{
    (void)before, (void)count;
    return false;
}

#endif

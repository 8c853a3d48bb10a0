/* profile_places.c - which cache a program's data stay in from run to run. Caches hold what was used last, so a program that
 * moves more in a run than a cache holds finds nothing of it there the next time. */
#include <string.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/status.h"
#include "measure/profile/profile.h"

typedef struct program {
    uint64_t runs, bytes;
} program;

int tern__place_in_caches(double bytes, int threads)
{
    const tern__cpu_info *cpu = tern__cpu();
    if (bytes <= (double)cpu->l2_bytes * threads)
        return TERN__IN_PRIVATE_CACHE;
    return bytes <= (double)cpu->l3_bytes ? TERN__IN_LAST_CACHE : TERN__IN_MEMORY;
}

static uint8_t place_of(const program *p, int threads)
{
    return (uint8_t)tern__place_in_caches((double)p->bytes / (double)(p->runs ? p->runs : 1), threads);
}

static void range_of(const tern_profile *p, uint32_t *first, uint32_t *last)
{
    *first = UINT32_MAX;
    *last = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        const uint32_t n = p->spans[i].event.program;
        if (n == 0)
            continue;
        *first = n < *first ? n : *first;
        *last = n > *last ? n : *last;
    }
}

tern_status tern__profile_find_places(const tern_profile *p, uint8_t **out)
{
    uint32_t first, last;
    range_of(p, &first, &last);
    const size_t n = last >= first ? (size_t)(last - first) + 1 : 1;
    program *programs = tern__alloc_zero(n, sizeof *programs);
    uint8_t *places = tern__alloc(p->n_spans + 1);
    if (!programs || !places) {
        tern__free(programs);
        tern__free(places);
        return tern__out_of_memory(n * sizeof *programs);
    }
    for (size_t i = 0; i < p->n_spans; i++) {
        const tern_trace_event *e = &p->spans[i].event;
        if (e->program == 0)
            continue;
        programs[e->program - first].bytes += e->bytes;
        programs[e->program - first].runs += e->category == p->run && e->step == 0;
    }
    for (size_t i = 0; i < p->n_spans; i++) {
        const uint32_t number = p->spans[i].event.program;
        places[i] = number ? place_of(&programs[number - first], p->info.threads) : TERN__IN_MEMORY;
    }
    tern__free(programs);
    *out = places;
    return TERN_OK;
}

/* meter.c - see meter.h. */
#include "measure/memory/meter.h"

#include <stdatomic.h>

#include "base/watch.h"

static _Atomic(int64_t) blocks, now, peak;

static void made(tern__watch_kind kind, const void *block, size_t bytes, const tern__call_site *site)
{
    (void)block, (void)site;
    if (kind == TERN__WATCH_REGION) /* of which pools give blocks */
        return;
    atomic_fetch_add(&blocks, 1);
    const int64_t sum = atomic_fetch_add(&now, (int64_t)bytes) + (int64_t)bytes;
    int64_t most = atomic_load(&peak);
    while (sum > most && !atomic_compare_exchange_weak(&peak, &most, sum))
        ;
}

static void freed(tern__watch_kind kind, const void *block, size_t bytes)
{
    (void)block;
    if (kind != TERN__WATCH_REGION)
        atomic_fetch_sub(&now, (int64_t)bytes);
}

/* ---- what else a watcher is told ---- */

static void used(const void *block)
{
    (void)block;
}

static void copied(size_t bytes, const char *direction, const tern__call_site *site)
{
    (void)bytes, (void)direction, (void)site;
}

static uint64_t enter(const tern__watch_frame *frame)
{
    (void)frame;
    return 0;
}

static void leave(uint64_t scope)
{
    (void)scope;
}

static uint64_t here(void)
{
    return 0;
}

static uint64_t join(uint64_t frame)
{
    (void)frame;
    return 0;
}

static bool knows(uint32_t plan)
{
    (void)plan;
    return true;
}

static tern__watch_step *take_plan(const tern__watch_plan *plan)
{
    (void)plan;
    return NULL;
}

static void run(uint32_t plan, bool begins)
{
    (void)plan, (void)begins;
}

static void sample(const void *pool)
{
    (void)pool;
}

static const tern__watcher watcher = {.made = made,
                                      .freed = freed,
                                      .used = used,
                                      .copied = copied,
                                      .enter = enter,
                                      .leave = leave,
                                      .here = here,
                                      .join = join,
                                      .knows = knows,
                                      .plan = take_plan,
                                      .run = run,
                                      .sample = sample};

bool tern__meter_start(void)
{
    const tern__watcher *nobody = NULL;
    atomic_store(&blocks, 0);
    atomic_store(&now, 0);
    atomic_store(&peak, 0);
    return atomic_compare_exchange_strong(&tern__watching, &nobody, &watcher);
}

tern__meter tern__meter_stop(void)
{
    atomic_store(&tern__watching, NULL);
    return (tern__meter){.blocks = atomic_load(&blocks), .peak_bytes = atomic_load(&peak)};
}

/* watch_plan.h - tells whoever watches memory (base/watch.h) what runs of a plan and new tensors need theirs for. Without a
 * watcher each call is one load and one branch. */
#ifndef TERN_RUNTIME_WATCH_PLAN_H
#define TERN_RUNTIME_WATCH_PLAN_H

#include "base/watch.h"
#include "graph/plan.h"

/* From begin to end the plan runs on this thread, and what is allocated belongs to it. */
uint64_t tern__watch_run_begin_slow(const tern__watcher *watcher, const tern__plan *plan);
static inline uint64_t tern__watch_run_begin(const tern__plan *plan)
{
    const tern__watcher *w = tern__watch_on();
    return w ? tern__watch_run_begin_slow(w, plan) : 0;
}

static inline void tern__watch_run_end(const tern__plan *plan, uint64_t scope)
{
    const tern__watcher *w = tern__watch_on();
    if (w)
        w->run(plan->number, false);
    tern__watch_leave(scope);
}

/* What follows is for result block i; tern__watch_leave ends it, and so below. */
uint64_t tern__watch_block_slow(const tern__watcher *watcher, const tern__plan *plan, uint32_t block);
static inline uint64_t tern__watch_block(const tern__plan *plan, uint32_t block)
{
    const tern__watcher *w = tern__watch_on();
    return w ? tern__watch_block_slow(w, plan, block) : 0;
}

/* ... for its arena. */
static inline uint64_t tern__watch_arena(const tern__plan *plan)
{
    const tern__watcher *w = tern__watch_on();
    return w ? w->enter(&(tern__watch_frame){
                   .name = "arena", .category = "arena", .program = plan->number, .step = UINT32_MAX})
             : 0;
}

/* ... for a tensor that "from_data" or the like makes; `name` and the part of the model, or NULL. */
uint64_t tern__watch_tensor_slow(const tern__watcher *watcher, const char *maker, const char *name,
                                 const char *where, const tern__type *type);
static inline uint64_t tern__watch_tensor(const char *maker, const char *name, const char *where,
                                          const tern__type *type)
{
    const tern__watcher *w = tern__watch_on();
    return w ? tern__watch_tensor_slow(w, maker, name, where, type) : 0;
}

#endif

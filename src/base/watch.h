/* watch.h - somebody who is told of every block of memory, and what the library was doing meanwhile: the memory tracker
 * (measure/memory/memory_record.c). While nobody listens, each of these costs one load and one predicted branch.
 *
 * A call site is a place in the source, made by the compiler: it needs no symbols and no stack to walk, so that it is the same in
 * a stripped release, a static build and on every processor. What led there is told by frames, which the library opens around
 * its work: "run", the op of a step, the part of a model. */
#ifndef TERN_BASE_WATCH_H
#define TERN_BASE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

typedef struct tern__call_site {
    const char *file, *function;
    int line;
} tern__call_site;

#define TERN__HERE                                                                     \
    (__extension__({                                                                   \
        static const tern__call_site tern__here = {__FILE_NAME__, __func__, __LINE__}; \
        &tern__here;                                                                   \
    }))

/* What a block is. Heap, pages and regions together are all that the library has from the system. */
typedef enum tern__watch_kind {
    TERN__WATCH_HEAP,   /* of tern__alloc and its family */
    TERN__WATCH_PAGES,  /* of tern__pages_map, for one purpose */
    TERN__WATCH_REGION, /* pages that a pool cuts into blocks */
    TERN__WATCH_BLOCK,  /* such a block, in use */
} tern__watch_kind;

/* Some work of the library. Strings are static or interned. */
typedef struct tern__watch_frame {
    const char *name;       /* "eval"; of results and arenas the op that makes them */
    const char *category;   /* as of trace events, and "arena", "pool", "tensor" */
    const char *where;      /* the part of the model, or NULL */
    const char *tensor;     /* what the memory is for, "f32[2,3]", or NULL */
    uint32_t program, step; /* 0 and UINT32_MAX: none */
} tern__watch_frame;

/* What a plan does with memory. */
typedef struct tern__watch_step {
    const char *label, *where;
    uint64_t live_bytes; /* of the arena, in use while it runs */
    /* of these, results that could lie over operands which nobody reads afterwards, and do not */
    uint64_t in_place_bytes;
} tern__watch_step;

typedef struct tern__watch_plan {
    uint32_t number, n_steps;
    uint64_t arena_bytes, live_bytes, naive_bytes, result_bytes;
    const tern__watch_step *steps; /* (n_steps) */
} tern__watch_plan;

/* Calls come from any thread, most of them with locks held, and call nothing of the library that allocates or locks; but for `sample`. */
typedef struct tern__watcher {
    void (*made)(tern__watch_kind kind, const void *block, size_t bytes, const tern__call_site *site);
    void (*freed)(tern__watch_kind kind, const void *block, size_t bytes); /* before it is */
    void (*used)(const void *block);                                       /* its data were read or written */
    void (*copied)(size_t bytes, const char *direction, const tern__call_site *site);
    uint64_t (*enter)(const tern__watch_frame *frame); /* for leave; 0: nothing is to be left */
    void (*leave)(uint64_t scope);
    uint64_t (*here)(void);           /* the calling thread's frame, for join on another */
    uint64_t (*join)(uint64_t frame); /* what follows on this thread belongs to it; for leave, as of enter */
    bool (*knows)(uint32_t plan);
    tern__watch_step *(*plan)(
        const tern__watch_plan *plan); /* room for its steps, to be filled; NULL: there is none */
    void (*run)(uint32_t plan, bool begins);
    void (*sample)(const void *pool); /* a pool that was just used and will not go meanwhile */
} tern__watcher;

extern _Atomic(const tern__watcher *) tern__watching __attribute__((visibility("hidden")));

/* NULL: nobody listens. */
static inline const tern__watcher *tern__watch_on(void)
{
    const tern__watcher *w = atomic_load_explicit(&tern__watching, memory_order_relaxed);
    return __builtin_expect(w != NULL, 0) ? w : NULL;
}

static inline void tern__watch_made(tern__watch_kind kind, const void *block, size_t bytes,
                                    const tern__call_site *site)
{
    const tern__watcher *w = tern__watch_on();
    if (w)
        w->made(kind, block, bytes, site);
}

static inline void tern__watch_freed(tern__watch_kind kind, const void *block, size_t bytes)
{
    const tern__watcher *w = tern__watch_on();
    if (w)
        w->freed(kind, block, bytes);
}

static inline void tern__watch_used(const void *block)
{
    const tern__watcher *w = tern__watch_on();
    if (w)
        w->used(block);
}

/* `direction`: "in" from the caller, "out" to the caller, "copy" between tensors, "from file", "to file". */
#define tern__watch_copied(bytes, direction)                    \
    do {                                                        \
        const tern__watcher *watcher_ = tern__watch_on();       \
        if (watcher_)                                           \
            watcher_->copied((bytes), (direction), TERN__HERE); \
    } while (0)

/* Between enter and leave what is allocated on this thread belongs to the frame; of a part of the model, or NULL. Graphs have names of
 * parts that go with them. */
static inline uint64_t tern__watch_enter_part(const char *name, const char *category, const char *where)
{
    const tern__watcher *w = tern__watch_on();
    return w ? w->enter(&(tern__watch_frame){
                   .name = name, .category = category, .where = tern__intern(where), .step = UINT32_MAX})
             : 0;
}

static inline uint64_t tern__watch_enter(const char *name, const char *category)
{
    return tern__watch_enter_part(name, category, NULL);
}

static inline void tern__watch_leave(uint64_t scope)
{
    const tern__watcher *w = __builtin_expect(scope != 0, 0) ? tern__watch_on() : NULL;
    if (w)
        w->leave(scope);
}

/* Threads that work for another are in its frame: it asks where it is, they join it and leave it. 0: nobody listens. */
static inline uint64_t tern__watch_here(void)
{
    const tern__watcher *w = tern__watch_on();
    return w ? w->here() : 0;
}

static inline uint64_t tern__watch_join(uint64_t frame)
{
    const tern__watcher *w = __builtin_expect(frame != 0, 0) ? tern__watch_on() : NULL;
    return w ? w->join(frame) : 0;
}

#endif

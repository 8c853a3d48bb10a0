/* memory.h - where the memory of some work went.
 *
 *     TERN_TRY(tern_memory_start(NULL));
 *     ... any work, on any threads ...
 *     tern_memory *memory;
 *     TERN_TRY(tern_memory_stop(&memory));
 *     tern_memory_peak peak;
 *     TERN_TRY(tern_memory_get_peak(memory, TERN_MEMORY_IN_USE, &peak));
 *     tern_memory_free(memory);
 *
 * While it is on, every allocation, free and copy of the library leaves an event: how many bytes, when, on which thread, for which
 * op, part of a model and tensor, and from which line of the source. What was recorded is immutable and may be read by several
 * threads. Strings live as long as the process, unless it says otherwise.
 *
 * Two sums are told apart. Held: all that the library has from the system, on the heap and as pages; a pool keeps what it was given
 * back. In use: the same, but of pools only the blocks that they have handed out. */
#ifndef TERN_MEMORY_H
#define TERN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/pressure.h>
#include <tern/status.h>

typedef struct tern_memory tern_memory;

/* Zeroed fields are the defaults. */
typedef struct tern_memory_options {
    /* kept; later ones only count. 0 = 1048576: 40 MiB of addresses, of which those touched that are used */
    size_t events;
    const char *title; /* for reports; copied. NULL = none */
} tern_memory_options;

/* X(enumerator, number, name, meaning). */
#define TERN_MEMORY_SUM_LIST(X)                                                  \
    X(IN_USE, 0, "in use", "heap, pages, and blocks that pools have handed out") \
    X(HELD, 1, "held", "all that the library has from the system: heap, pages and pools")

typedef enum tern_memory_sum {
#define TERN_MEMORY_SUM_ENUM(id, number, name, meaning) TERN_MEMORY_##id = number,
    TERN_MEMORY_SUM_LIST(TERN_MEMORY_SUM_ENUM)
#undef TERN_MEMORY_SUM_ENUM
} tern_memory_sum;

/* What the tracker itself has is in none of these. */
typedef struct tern_memory_bytes {
    uint64_t heap, pages; /* from the system, for one purpose each */
    uint64_t regions;     /* from the system, held by pools */
    uint64_t blocks;      /* of those, in use */
} tern_memory_bytes;

/* Always: start + allocated - freed = end, lost events or not. */
typedef struct tern_memory_info {
    uint64_t wall_ns;
    uint64_t events,
        lost; /* kept, and not kept for want of room: peak, rows and advice are of those that were kept */
    uint64_t allocations, frees;
    uint64_t allocated_bytes, freed_bytes; /* from and to the system */
    uint64_t start_bytes, end_bytes;       /* held */
    tern_memory_bytes start, end;          /* of blocks: those of the session only */
    uint64_t leaked_blocks, leaked_bytes;  /* 0 if events were lost: it is not known */
    uint64_t own_bytes;                    /* most that the tracker had itself */
    int threads;
    int ops, sites, tensors, parts; /* rows of each kind */
    int frames, points, leaks, copies, pools, plans, advice;
    const char *title; /* "" if none; lives as long as the memory */
} tern_memory_info;

/* The moment at which a sum was highest. If a program ran then, the step that caused it is the one at which its arena is fullest,
 * which made the arena as large as it is; of a program without one, the step whose result was allocated. */
typedef struct tern_memory_peak {
    uint64_t bytes;
    uint64_t time_ns; /* since tern_memory_start */
    tern_memory_bytes of;
    const char *op, *where, *tensor; /* of the allocation that made it; NULL: nobody said */
    const char *category;            /* of `op`, as rows by op name it: "pass", "model", ...; NULL if op is */
    const char *site;                /* "run.c:36 carry_out" */
    uint32_t program, step;          /* 0 and UINT32_MAX: no program ran */
    const char *step_op, *step_where;
    uint64_t step_bytes; /* of the arena, in use at that step; without an arena, of the result */
    uint64_t arena_bytes;
} tern_memory_peak;

/* What a row adds up. X(enumerator, number, name, meaning). */
#define TERN_MEMORY_BY_LIST(X)                                                                \
    X(OPS, 0, "op", "what the library was doing: an op that makes a result, a pass, loading") \
    X(SITES, 1, "site", "the line of the source that asked")                                  \
    X(TENSORS, 2, "tensor", "the tensor that it is for")                                      \
    X(PARTS, 3, "part", "the part of a model (tern_origin_open)")

typedef enum tern_memory_by {
#define TERN_MEMORY_BY_ENUM(id, number, name, meaning) TERN_MEMORY_##id = number,
    TERN_MEMORY_BY_LIST(TERN_MEMORY_BY_ENUM)
#undef TERN_MEMORY_BY_ENUM
} tern_memory_by;

/* Of memory in use: regions of pools belong to nobody. */
typedef struct tern_memory_row {
    const char *name;     /* "ternary_matmul", "exec.c:76 clone", "f32[2,3]", "layer 3" */
    const char *category; /* "step", "arena", "tensor", "pass", ...; of sites "heap", "pages" or "tensor" */
    uint64_t allocations, frees, allocated_bytes;
    uint64_t live_bytes; /* at the end, of what was allocated in the session */
    uint64_t most_bytes; /* at once */
    uint64_t peak_bytes; /* when the sum of all was highest */
} tern_memory_row;

/* One place of the tree of what led to an allocation. Parents come before their children; `total` is that of the children and
 * its own together. */
typedef struct tern_memory_frame {
    const char *name, *category; /* "site" for the line that asked */
    int parent, depth;           /* -1 and 0: no parent */
    uint64_t allocations, allocated_bytes;
    uint64_t peak_bytes, self_peak_bytes; /* in use when the sum of all was highest */
} tern_memory_frame;

/* In order of time. Each stands for a part of the time, and is its highest moment. */
typedef struct tern_memory_point {
    uint64_t time_ns;
    uint64_t in_use_bytes, held_bytes;
    uint64_t rss_bytes; /* as the system last said; 0: it has not */
    uint32_t program;   /* that ran; 0: none */
} tern_memory_point;

/* Blocks of the session that were not given back before tern_memory_stop. Regions that a pool keeps are no leaks; a pool that
 * nobody destroyed is. */
typedef struct tern_memory_leak {
    const char *site, *op, *where, *tensor; /* NULL but for the site: nobody said */
    const char *path; /* all that led there, "main.c:12 > eval > run > matmul"; "" if nobody said */
    const char *kind; /* "heap", "pages" or "tensor" */
    uint64_t blocks, bytes;
    uint64_t first_ns, last_ns; /* when the first and the last of them were allocated */
} tern_memory_leak;

typedef struct tern_memory_copy {
    /* "in" from the caller, "out" to the caller, "copy" between tensors, "from file", "to file" */
    const char *direction;
    const char *op, *site;
    uint64_t copies, bytes;
} tern_memory_copy;

/* The free lists of a pool, as they were walked at the moment named. */
typedef struct tern_memory_pool {
    int number;       /* from 1, in order of first use */
    uint64_t samples; /* times that the lists were walked */
    uint64_t time_ns; /* of the walk that is told: the one that found it most fragmented */
    uint64_t held_bytes, free_bytes, slack_bytes, free_blocks, largest_free;
    double ratio; /* 1 - largest_free / free_bytes */
    double last_ratio;
} tern_memory_pool;

typedef struct tern_memory_plan {
    uint32_t program;
    uint64_t runs;
    uint64_t arena_bytes; /* of the arena: its size, ...          */
    uint64_t live_bytes;  /* ... most in use at one step, ...      */
    uint64_t naive_bytes; /* ... and what it would be without reuse */
    uint64_t result_bytes;
    uint32_t steps, peak_step;
    const char *peak_op, *peak_where;
} tern_memory_plan;

/* What the system says, at tern_memory_stop. */
typedef struct tern_memory_system {
    uint64_t rss_bytes, rss_peak_bytes; /* of the process, files that it maps included */
    uint64_t anonymous_bytes;           /* of rss: no file stands behind it */
    uint64_t heap_held_bytes,
        heap_free_bytes;          /* by malloc's own lists: taken from the system, and free in it */
    const char *unavailable;      /* NULL, or why the first three are 0; static */
    const char *heap_unavailable; /* the same of malloc's */
} tern_memory_system;

/* X(enumerator, number, name, meaning). */
#define TERN_ADVICE_LIST(X)                                                                                  \
    X(LEAK, 0, "free", "blocks that were never given back")                                                  \
    X(IN_PLACE, 1, "in place", "steps whose result could lie over an operand that nobody reads afterwards")  \
    X(PACKING, 2, "packing", "an arena with gaps: better offsets for the same lifetimes")                    \
    X(SHARING, 3, "sharing", "arenas or states held at once by programs that never run at the same time")    \
    X(RELEASE, 4, "release", "tensors that are alive at the peak and were used for the last time before it") \
    X(POOLING, 5, "pooling", "blocks of one size asked for again and again, few at a time")                  \
    X(TRIM, 6, "trim", "memory that pools hold free at the peak")

typedef enum tern_advice_kind {
#define TERN_ADVICE_ENUM(id, number, name, meaning) TERN_ADVICE_##id = number,
    TERN_ADVICE_LIST(TERN_ADVICE_ENUM)
#undef TERN_ADVICE_ENUM
} tern_advice_kind;

/* X(enumerator, number, name, meaning). */
#define TERN_PRIORITY_LIST(X)                                     \
    X(HIGH, 0, "high", "a fifth or more of what it is a part of") \
    X(MEDIUM, 1, "medium", "a twentieth or more")                 \
    X(LOW, 2, "low", "less, but a hundredth or more")

typedef enum tern_priority {
#define TERN_PRIORITY_ENUM(id, number, name, meaning) TERN_PRIORITY_##id = number,
    TERN_PRIORITY_LIST(TERN_PRIORITY_ENUM)
#undef TERN_PRIORITY_ENUM
} tern_priority;

/* Computed from the events; the highest priority first, and of one priority what saves most. */
typedef struct tern_memory_advice {
    tern_advice_kind kind;
    tern_priority priority;
    uint64_t saves_bytes;
    const char *of;     /* what they are a part of: "peak", "held", "end" or "allocated"; static */
    double share;       /* of it */
    char what[200];     /* a sentence: what to do */
    char evidence[280]; /* a sentence with the numbers behind it */
} tern_memory_advice;

/* X(enumerator, number, name, meaning). */
#define TERN_MEMORY_FORMAT_LIST(X)                                                            \
    X(JSON, 0, "json", "all of it: docs/memory.md describes it")                              \
    X(TIMELINE, 1, "timeline", "a picture (SVG) of memory in use and held, over time")        \
    X(SVG, 2, "svg", "a flame graph of memory in use at the peak, to be searched and zoomed") \
    X(COLLAPSED, 3, "collapsed", "stacks on lines, with bytes in use at the peak: flamegraph.pl")

typedef enum tern_memory_format {
#define TERN_MEMORY_FORMAT_ENUM(id, number, name, meaning) TERN_MEMORY_FORMAT_##id = number,
    TERN_MEMORY_FORMAT_LIST(TERN_MEMORY_FORMAT_ENUM)
#undef TERN_MEMORY_FORMAT_ENUM
} tern_memory_format;

#define TERN_MEMORY_TEXT_(line) #line
#define TERN_MEMORY_TEXT(line) TERN_MEMORY_TEXT_(line)
#define TERN_MEMORY_HERE __FILE__ ":" TERN_MEMORY_TEXT(__LINE__)

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of physical memory that this process has had, its own and of files that it maps. 0: the system does not tell. Any thread. */
TERN_API uint64_t tern_memory_process_peak(void);

TERN_API tern_memory_options tern_memory_options_default(void);

/* Starts to record in the whole process. TERN_STATE if that is on already. Sums are exact to the byte if no tern call is running
 * on other threads just then, here and at the stop. */
TERN_API tern_status tern_memory_start(const tern_memory_options *options);
TERN_API bool tern_memory_is_on(void);

/* By the events until now: what was there at the start, plus allocations, minus frees. TERN_STATE if it is off. Any thread. */
TERN_API tern_status tern_memory_now(tern_memory_bytes *out);

/* Work of the caller's own: until it is left, what is allocated on this thread belongs to `name` (copied), which stands above what the
 * library says of itself. TERN_MEMORY_HERE is a name that says where it stands: "main.c:12". Costs next to nothing while recording is
 * off. Leave in the reverse order, with what was returned. */
TERN_API uint64_t tern_memory_enter(const char *name);
TERN_API void tern_memory_leave(uint64_t scope);

/* Stops, and makes what the caller frees. Recording has ended also if this fails, unless it was not on (TERN_STATE) or `out` is NULL
 * (TERN_INVALID_ARGUMENT: it goes on). */
TERN_API tern_status tern_memory_stop(tern_memory **out);
TERN_API void tern_memory_free(tern_memory *memory); /* NULL is fine */

TERN_API void tern_memory_get_info(const tern_memory *memory, tern_memory_info *out);
TERN_API void tern_memory_get_system(const tern_memory *memory, tern_memory_system *out);
/* How short memory was at tern_memory_stop; events of control groups are those of the session. */
TERN_API void tern_memory_get_pressure(const tern_memory *memory, tern_pressure_reading *out);

/* TERN_NOT_FOUND if there was no event; TERN_UNAVAILABLE if events were lost: then the peak is not known, nor are leaks and advice. */
TERN_API tern_status tern_memory_get_peak(const tern_memory *memory, tern_memory_sum sum,
                                          tern_memory_peak *out);

/* Each: TERN_OUT_OF_RANGE past the last. Rows and leaks come in order of bytes (rows: at the peak, then at most), the most first. */
TERN_API tern_status tern_memory_get_row(const tern_memory *memory, tern_memory_by by, int i,
                                         tern_memory_row *out);
TERN_API tern_status tern_memory_get_frame(const tern_memory *memory, int i, tern_memory_frame *out);
TERN_API tern_status tern_memory_get_point(const tern_memory *memory, int i, tern_memory_point *out);
TERN_API tern_status tern_memory_get_leak(const tern_memory *memory, int i, tern_memory_leak *out);
TERN_API tern_status tern_memory_get_copy(const tern_memory *memory, int i, tern_memory_copy *out);
TERN_API tern_status tern_memory_get_pool(const tern_memory *memory, int i, tern_memory_pool *out);
TERN_API tern_status tern_memory_get_plan(const tern_memory *memory, int i, tern_memory_plan *out);
TERN_API tern_status tern_memory_get_advice(const tern_memory *memory, int i, tern_memory_advice *out);

/* "in place", "high"; "unknown" for numbers that are none. Static. */
TERN_API const char *tern_advice_kind_name(tern_advice_kind kind);
TERN_API const char *tern_priority_name(tern_priority priority);

/* "op", "site", "tensor" and "part"; "json", "timeline", "svg" and "collapsed". TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_memory_by_parse(const char *name, tern_memory_by *out);
TERN_API tern_status tern_memory_format_parse(const char *name, tern_memory_format *out);
/* The whole text; free with tern_string_free. */
TERN_API tern_status tern_memory_export(const tern_memory *memory, tern_memory_format format, char **out);

#ifdef __cplusplus
}
#endif
#endif

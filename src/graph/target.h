/* target.h - what the compiler may ask of the machine. A device hands one of these to the passes; they
 * know no more. */
#ifndef TERN_GRAPH_TARGET_H
#define TERN_GRAPH_TARGET_H

#include "graph/graph.h"
#include "tensor/buffer.h"

struct tern__kernel;

/* What the target says about one call: the kernel that would run it. */
typedef struct tern__choice {
    const struct tern__kernel *kernel;
    const char *name, *isa;
    bool reference;       /* the op's reference kernel: plain C */
    bool rows;            /* a row program */
    size_t scratch_bytes; /* per worker */
    size_t shared_bytes;  /* of scratch that the workers share */
    const void *program;  /* what the kernel interprets, if it does; in the arena */
    int64_t work;         /* independent items; -1: as the op's row says */
    uint32_t
        streamed;   /* 0, or the operand of which every item reads its own share, in order: packed weights */
    bool on_device; /* another device than the CPU runs it */
} tern__choice;

/* One way to run a call. All candidates of a call compute the same bits, so that choosing by time changes
 * no result. */
enum { TERN__CANDIDATE_NAME = 64, TERN__MAX_CANDIDATES = 32, TERN__CANDIDATE_PARAMS = 4 };
typedef struct tern__candidate {
    char name[TERN__CANDIDATE_NAME];        /* "tile=512 stream=0": unique, the same in every process */
    int64_t params[TERN__CANDIDATE_PARAMS]; /* the device's own */
    int parts;                              /* workers that share the step; 0: as many as pay */
} tern__candidate;

/* What is known about the time of a candidate. */
typedef struct tern__timing {
    uint64_t ns;       /* median; 0: nothing is known */
    uint64_t tuned_ns; /* the tuner's median, if there is one: what runs outside programs compare by */
    bool in_runs;      /* `ns` was measured while programs ran, not by the tuner */
    bool failed;       /* it could not run */
} tern__timing;

/* Measured timings, for the compiler to choose by. */
typedef struct tern__timings {
    /* Is anything known at all? If not, nobody needs to list candidates. */
    bool (*any)(const struct tern__timings *timings);
    /* Fills out[0..n); false: nothing is known about this call. */
    bool (*find)(const struct tern__timings *timings, const tern__call *call, int n,
                 const tern__candidate *candidates, tern__timing *out);
    void *owner; /* theirs */
} tern__timings;

/* Another form of a call with a constant operand, which a target's kernel prefers: what the call becomes
 * when operand 1, of gather operand 0, is packed. Packings with the same `how`, axis and types make the same bytes of a
 * constant, whatever the call. */
typedef struct tern__packing {
    tern__opcode op;
    tern__attr attrs[TERN__MAX_ATTRS];
    int axis; /* of the constant, along which results lie */
    /* so many of them make one index of the packed constant's first axis, and depend on no others */
    int64_t tile;
    tern__type type; /* of the packed constant, dense */
    const void *how; /* the target's */
} tern__packing;

/* Predicted times, by which it is decided where the steps of a plan run. */
typedef struct tern__prediction {
    /* Of a call as one step, in ns, on the device or on the CPU; < 0: nothing is known about its kind there. */
    double (*step_ns)(const struct tern__prediction *prediction, const tern__call *call, bool on_device);
    /* Of bytes that go to the device, or come back, at the borders of a partition. */
    double (*border_ns)(const struct tern__prediction *prediction, double bytes);
    double partition_ns[2]; /* what a partition costs beside its steps and borders: the CPU's, the device's */
    bool alone;             /* there is no device: nothing is decided, only predicted */
    const void *data;       /* the owner's */
} tern__prediction;

/* Of a target of two: who may be chosen. */
typedef enum tern__side { TERN__SIDE_ANY, TERN__SIDE_HOST, TERN__SIDE_DEVICE } tern__side;

typedef struct tern__target {
    const char *name;    /* "cpu" */
    int workers;         /* threads that may share a step */
    uint32_t isa_mask;   /* instruction sets that kernels may use (base/cpu.h); options narrow it */
    tern_pool *pool;     /* for constants that passes make; NULL = the heap */
    const void *library; /* whose products may be used, or NULL: the device's own only */
    /* Finds the library that options name, for `library`. NULL: the device has none. */
    tern_status (*find_library)(const struct tern__target *target, const char *name, const void **out);
    /* The kernel for a call, as the candidate says (NULL: as the device thinks best); TERN_UNSUPPORTED
     * with a sentence if there is none. `arena` is the plan's. */
    tern_status (*choose)(const struct tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out);
    /* The ways to run a call, apart from how many workers share it, the device's own choice first. Returns
     * how many, at most `most`; 0 or NULL: there is one. */
    int (*candidates)(const struct tern__target *target, const tern__call *call, int most,
                      tern__candidate *out);
    const tern__timings *timings; /* or NULL */
    /* Estimated time of a call on one worker, in ns, by what is known of the kernel that would run it: for
     * comparing forms of a graph, not for promises. NULL: forms do not differ. */
    double (*cost)(const struct tern__target *target, const tern__call *call);
    /* May the call be part of a fused region? NULL: nothing may. */
    bool (*fuses)(const struct tern__target *target, const tern__call *call);
    /* Runs a call at compile time, on data that never changes (constant folding). Operands and results as
     * a kernel sees them. Other failures than TERN_OUT_OF_MEMORY mean that the call has to wait for the
     * run. NULL: it cannot. */
    tern_status (*evaluate)(const struct tern__target *target, const tern__call *call, const tern__buffer *in,
                            const tern__buffer *out);
    /* Would the call, whose operand 1 is a constant, run better on a packed form of it? gather never does, but may run on what
     * was packed for another call. NULL: never. */
    bool (*packing)(const struct tern__target *target, const tern__call *call, tern__packing *out);
    /* Packs the constant into `to` (64-byte aligned, bytes of packing->type). It may be whole tiles of a larger one, with
     * packing->type of as many. */
    tern_status (*pack)(const struct tern__target *target, const tern__packing *packing,
                        const tern__buffer *constant, void *to);
    /* Who of the two runs each step is decided by these; NULL: what `choose` says at once. */
    const tern__prediction *prediction;
    tern__side side; /* asked of `choose` by whoever decides */
    /* What a graph may be compiled for instead: of all plans the one that is predicted to take the least time is kept. */
    const struct tern__target *const *rivals; /* (n_rivals) */
    int n_rivals;
    const void *data; /* the device's */
} tern__target;

/* How many workers should share a call of so many independent items: each gets enough to do, flops or
 * (where there are more) bytes, that waking it pays. */
int tern__target_parts(const tern__target *target, int64_t items, double flops, double bytes);

#endif

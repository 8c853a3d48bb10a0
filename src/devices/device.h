/* device.h - what the runtime asks of a device: a table of functions, some of which may be missing. One folder and one row in
 * devices.def make a new one; a plugin (a shared library that is loaded when its device is first asked for) is a row too.
 *
 * What a device can run it says through its target (graph/target.h): `choose` is asked about every node of a graph, answers with
 * what would run it or TERN_UNSUPPORTED and a reason. Neighbouring steps of a plan on one device are a partition; the
 * runtime runs partitions in order (runtime/run.c), those of the CPU through the CPU's table, and a device finishes what it was
 * given before `run` returns.
 *
 * Tensors lie in host memory. A device that shares it uses the very pages; one that does not copies at the borders of a
 * partition, and may keep copies of what never changes with its code (tern__code). What lies on the device alone is a tern__block.
 *
 * Threading: a device belongs to its context, and so to one thread at a time. Tables are immutable; `describe` and `list` may be
 * called by any thread. */
#ifndef TERN_DEVICES_DEVICE_H
#define TERN_DEVICES_DEVICE_H

#include <tern/catalog.h>
#include <tern/context.h>
#include <tern/log.h>

#include "base/cpu.h"
#include "graph/plan.h"
#include "graph/target.h"
#include "tensor/given.h"

/* Names the headers that this was built with, in 64 digits (cmake/abi.cmake): the library takes no plugin that has another. */
extern const char tern__device_abi[];

typedef struct tern__device tern__device; /* each device's own */
typedef struct tern__code tern__code;     /* what it made of a plan */
typedef struct tern__stream tern__stream; /* work in order, beside other streams */
typedef struct tern__event tern__event;   /* that all is done which a stream was given before */

/* Whom to ask whether a run shall go on, from any thread. */
typedef struct tern__stop {
    tern_stop_asked asked; /* NULL: nobody */
    void *user;
} tern__stop;

/* Whom to tell that kernels are built. */
typedef struct tern__building {
    tern_building_told told; /* NULL: nobody */
    void *user;
} tern__building;

typedef struct tern__device_options {
    int threads;                  /* >= 1 */
    tern__isa_cap isa_cap;        /* nothing else is used */
    const tern__timings *timings; /* for the target; outlives the device; or NULL */
    tern_pool *pool;              /* for constants that compiling makes; outlives the device */
    const char *cache;            /* folder where what was built is kept between processes; NULL: nowhere */
    const char *dump;             /* folder that generated sources are written to; NULL: nowhere */
    bool background;              /* threads of its own make way for others */
    size_t memory; /* bytes of its own that it may use, and keep for later; 0: as many as there are */
    /* What the environment says to a device by a variable that is its own: the value, or NULL; a switch as 1, -1, or 0 where
     * nothing was said. Which there are is listed in runtime/options_env.c. NULL: nobody is asked. */
    const char *(*setting)(const char *name);
    int (*switched)(const char *name);
    /* folder where the user's programs keep files that can be made again; NULL: there is none */
    const char *user_cache;
    /* Asked by a `compile` that takes long, between its parts: TERN_CANCELLED. Who is asked may change between calls; outlives the
     * device; or NULL. */
    const tern__stop *stop;
    const tern__building *building; /* told by such a `compile`; as above */
} tern__device_options;

/* What a partition copied to the device and back, by the device's own clock. */
typedef struct tern__transfer {
    bool told; /* the device has said so; if not, the rest means nothing */
    uint64_t in_bytes, out_bytes, in_ns, out_ns;
} tern__transfer;

/* Addresses for one run of a plan: (n_leaves of the graph), (n_blocks of the plan), and an arena of arena_bytes. */
typedef struct tern__bindings {
    void *const *leaves;
    /* (n_leaves) what a leaf's memory holds, which no other bytes of the process are called; 0: others may write it unseen. A run
     * that writes it leaves the version + 1. NULL: nobody knows. */
    const uint64_t *versions;
    void *const *blocks;
    /* (n_blocks) zeroed. A partition that succeeds may leave there a block that it wrote as a whole, instead of writing it to
     * `blocks`; NULL: it may not. */
    tern__given *given;
    void *arena;
    uint64_t *step_ns;        /* (n_steps of the plan) receives what each step took; NULL: nobody asked */
    tern__transfer *transfer; /* of the partition: receives what it copied; NULL: nobody asked */
    tern__stop stop;          /* asked: TERN_CANCELLED */
    int workers;              /* most that share the steps; 0: as many as the plan says */
} tern__bindings;

/* Where the operands of a space count from. */
static inline char *tern__base_of(const tern__bindings *b, tern__space space, uint32_t index)
{
    return space == TERN__SPACE_ARENA  ? b->arena
           : space == TERN__SPACE_LEAF ? b->leaves[index]
                                       : b->blocks[index];
}

/* Memory: of a device (`handle`), with or without an address for the host; or, without a handle, plain host memory. */
typedef struct tern__block {
    void *handle;
    size_t bytes;
    void *host; /* NULL: only while it is mapped */
} tern__block;

typedef enum tern__access { TERN__ACCESS_READ = 1, TERN__ACCESS_WRITE = 2 } tern__access;

typedef struct tern__device_ops {
    const char *name;    /* "cpu" */
    const char *backend; /* "native" */

    /* ---- every device ---- */

    /* What is there, without a device being made: out->unavailable says why there is none. */
    void (*describe)(tern__isa_cap cap, tern_device_info *out);
    /* TERN_UNAVAILABLE with the same reason where there is none. */
    tern_status (*create)(const tern__device_options *options, tern__device **out);
    void (*destroy)(tern__device *device); /* NULL is fine */
    const tern__target *(*target)(const tern__device *device);
    /* Runs the steps of a partition. A kernel that finds bad data (an index out of range) stops the run with a sentence. *n_done
     * counts the steps of the plan that ran to their end: those before the one that failed. `code` is what `compile` made, NULL
     * where there is no such function. Between steps bindings->stop is asked.
     *
     * Failures of the device itself, here and in `compile`: TERN_OUT_OF_MEMORY; TERN_IO or TERN_INTERNAL, which may pass;
     * TERN_UNAVAILABLE, it is lost (`forget` and `destroy` still work; of several, the one that the plan names). The runtime retries, or has the CPU take over
     * (runtime/recover.c); so when this returns nothing is under way that could still write. *n_done then only names the step. */
    tern_status (*run)(tern__device *device, const tern__plan *plan, tern__code *code,
                       const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done);

    /* ---- optional: NULL where there is nothing to do ---- */

    /* Kernel i, when nothing above `cap` is used; false past the last. */
    bool (*list)(int i, tern__isa_cap cap, tern_kernel_info *out);
    /* Makes ready what the plan's partitions on this device need, before their first run. `plan` outlives the code. */
    tern_status (*compile)(tern__device *device, const tern__plan *plan, tern__code **out);
    void (*forget)(tern__device *device, tern__code *code); /* there if `compile` is; NULL is fine */
    /* Blocks, copies, streams and events, from `allocate` to `event_destroy`; all of them or none. Optional: for whoever holds blocks of a
     * device. Runs do not need them, and nothing in the library calls them: `run` and `stage` copy by themselves what they need, and the
     * streams of <tern/stream.h> are threads that copy host memory. What is said here is tested (tests/devices/test_conformance.c).
     *
     * Memory of the device's own. `map` gives the host an address until `unmap`. */
    tern_status (*allocate)(tern__device *device, size_t bytes, tern__block *out);
    void (*release)(tern__device *device, tern__block *block);
    tern_status (*map)(tern__device *device, tern__block *block, tern__access access, void **out);
    tern_status (*unmap)(tern__device *device, tern__block *block, void *mapped);
    /* Copies between blocks of the device, or of the host (without a handle). `stream` NULL: the device's own, and the call
     * waits; else it may return before the copy is done, and both blocks stay until then. Copies that touch a block of the device are
     * done in the order of their stream. One from host memory to host memory is done at once, on the calling thread: whoever wants it
     * behind what the stream was given waits for an event (`synchronise_event`) before the call. */
    tern_status (*copy)(tern__device *device, tern__stream *stream, const tern__block *to, size_t to_at,
                        const tern__block *from, size_t from_at, size_t bytes);
    /* Waits for everything that was begun. Such a failure of the device may be the first that is heard of it. */
    tern_status (*synchronise)(tern__device *device);
    /* Streams and events. An event has happened when all that its stream was given before it is done; whoever waits
     * for one may wait longer, for what the stream was given since, too (on `mlx`). `wait` lets what comes later in the stream wait for
     * the event. Destroying a stream waits for what is in it. An event and its stream go in any order: one whose stream is gone has happened. All go before the device. */
    tern_status (*stream_create)(tern__device *device, tern__stream **out);
    void (*stream_destroy)(tern__device *device, tern__stream *stream);
    tern_status (*record)(tern__device *device, tern__stream *stream, tern__event **out);
    tern_status (*wait)(tern__device *device, tern__stream *stream, const tern__event *event);
    tern_status (*synchronise_event)(tern__device *device, const tern__event *event);
    void (*event_destroy)(tern__device *device, tern__event *event);
    /* Copies of inputs before the run that reads them; both or none. Does it copy inputs of this plan at all, or use them where they
     * lie? */
    bool (*copies_inputs)(const tern__device *device, const tern__code *code);
    /* Begins to copy what leaf `leaf` of the plan will be in a later run, and returns: the bytes at `host`, whose version
     * (tern__bindings) will be `version`, not 0. Until that run is over, or `forget`, they stay as they are. Two are kept ahead; a
     * third takes the place of the older one. A run finds them by address and version, and copies itself what it does not find. */
    tern_status (*stage)(tern__device *device, const tern__plan *plan, tern__code *code, uint32_t leaf,
                         const void *host, uint64_t version);
    /* Gives back what it keeps for later, by the level of tern_pool_pressure: 1, half of it, or all where it cannot give a part; 2, all.
     * The bytes, as far as it knows. */
    size_t (*trim)(tern__device *device, int level);
    /* Of a device that is several: goes on without the one of that name, which is lost, with another target than before. false: none is
     * left. */
    bool (*lose)(tern__device *device, const char *name);
} tern__device_ops;

/* ---- devices.c: the table of devices.def ---- */

/* Device i, loaded if it is a plugin; NULL past the last. What cannot be loaded has `describe` and `create`, which say why. Any
 * thread. */
const tern__device_ops *tern__device_at(int i);
/* By name. TERN_NOT_FOUND lists the names. */
tern_status tern__device_find(const char *name, const tern__device_ops **out);
/* Adds one for the rest of the process, behind the others: devices of tests. false: there is no room. */
bool tern__device_add(const tern__device_ops *ops);

/* ---- plugins ---- */

/* What a plugin may use of the library, which it does not link. */
typedef struct tern__device_host {
    const tern__op *ops; /* (TERN__OP_COUNT) */
    tern_status (*fail)(tern_status status, const char *format, ...) TERN_PRINTF(2, 3);
    void (*log)(tern_log_level level, const char *format, ...) TERN_PRINTF(2, 3);
    void *(*arena_alloc)(tern__arena *arena, size_t bytes);
    bool (*trace_on)(
        void); /* base/trace.h: is a trace recorded, and a step that ran from `start_ns` to now */
    void (*trace_step)(uint64_t start_ns, const tern__plan *plan, uint32_t step);
} tern__device_host;

/* The symbols of libtern_<name>.so (.dylib): its tern__device_abi, which is asked first, and where that is the library's own, the
 * table. */
typedef const char *(*tern__device_plugin_abi)(void);
typedef const tern__device_ops *(*tern__device_plugin)(const tern__device_host *host);
#define TERN__DEVICE_PLUGIN_SYMBOL "tern_device_plugin"
#define TERN__DEVICE_PLUGIN_ABI_SYMBOL "tern_device_plugin_abi"

#endif

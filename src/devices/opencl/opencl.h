/* opencl.h - the OpenCL device. A step becomes a kernel of its own, generated as OpenCL C when the plan is compiled: from the
 * row program of a fused region or elementwise op (rows.c), or for one of the ops of ops.c. Sizes, strides and offsets are data that
 * a kernel reads from `n`, so that steps that differ in them share one source, and equal sources are built once. Every
 * kernel has the signature
 *
 *     kernel void k(global char *p0, ... operands, then results, global const long *n, global long *fault)
 *
 * and does nothing once `fault` says that one before it found bad data. Private to devices/opencl. */
#ifndef TERN_DEVICES_OPENCL_OPENCL_H
#define TERN_DEVICES_OPENCL_OPENCL_H

#include <time.h>

#include "base/strbuf.h"
#include "base/trace.h"
#include "devices/device.h"
#include "devices/opencl/api.h"
#include "kernels/row/rowops.h"

enum { TERN__OCL_MOST_NUMBERS = 320 };

/* A kernel while it is written. */
typedef struct tern__ocl_draft {
    /* the body: what comes after the operands' pointers are moved to their first elements */
    tern__strbuf text;
    bool cpu; /* the device is a processor: items take stretches, not every n-th element */
    int group_items, compute_units; /* of the device: work items of a group that suit it */
    size_t local_bytes;             /* memory that a group shares */
    int group; /* work items of this kernel's groups; 0: it does not ask which group it is in */
    size_t items,
        units; /* independent pieces of work, and how many work items share them at most; units 0: items */
    int n_numbers;
    int64_t numbers[TERN__OCL_MOST_NUMBERS];
    bool full;   /* there were too many numbers */
    bool blocks; /* it reads weights in blocks: tern__ocl_blocks comes first */
} tern__ocl_draft;

/* An operand of a step, where it lies in the plan. */
typedef struct tern__ocl_operand {
    const tern__type *type;
    const int64_t *strides; /* (rank) in units */
} tern__ocl_operand;

/* What runs a step: tern__step.program. */
typedef struct tern__ocl_kind {
    const char *name;
    tern__opcode op;
    /* NULL: it runs the call; else why not. */
    const char *(*refuses)(const tern__call *call);
    /* Writes the kernel. `operands` are inputs, then results. */
    void (*write)(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands);
} tern__ocl_kind;

/* Row programs: the kind, and its program. */
typedef struct tern__ocl_rows {
    tern__ocl_kind kind;
    const struct tern__row_program *program;
} tern__ocl_rows;

/* An instruction in OpenCL C; NULL unless it is a MAP. */
const char *tern__ocl_map_text(tern__rowop op);
void tern__ocl_write_rows(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands);

/* A rectangle of a product's result, where it is: in `sums[r][l]` for r below `rows` and l below the variable `columns`, elements
 * from row `row0` (an expression; all axes but the last count) and column c0 (a variable) on. */
typedef struct tern__ocl_tile {
    const char *row0, *rows; /* expressions */
    const struct tern__row_program
        *rows_program;                 /* what it is handed to, as its last operand; NULL: to memory */
    const tern__ocl_operand *operands; /* of the step: inputs, then results */
    int n_in;
    int pointers[32];    /* of the program's operands but the last: which operand of the step each is */
    const tern__type *y; /* of the product's result */
} tern__ocl_tile;

void tern__ocl_write_tile(tern__ocl_draft *d, const tern__ocl_tile *tile);

/* The ops of ops.c; NULL: there is none, with *why. */
const tern__ocl_kind *tern__ocl_kind_of(const tern__call *call, const char **why);

/* The text before every kernel: types and functions that they use. */
extern const char tern__ocl_prelude[];
/* Behind it where weights in blocks are read (blocks.c): load_<type>(p, e), element e of rows that begin at p, and vload_<type>,
 * sixteen of them from a multiple of sixteen on. Elements count from the first of the row, whole blocks to the next row. */
extern const char tern__ocl_blocks[];

/* A float that is computed as f32. */
static inline bool tern__ocl_is_small_float(tern_dtype t)
{
    return t == TERN_F32 || t == TERN_F16 || t == TERN_BF16;
}

/* Notes a number and gives its place: the kernel has it as n<place>. */
int tern__ocl_number(tern__ocl_draft *d, int64_t number);
/* The same for a float, which the kernel has as this expression: sources do not depend on it. */
void tern__ocl_add_float(tern__ocl_draft *d, double number);
void tern__ocl_add(tern__ocl_draft *d, const char *format, ...) TERN_PRINTF(2, 3);
/* Declares the stretch [first, end) of [0, items) that is this work item's, which begins at a multiple of `multiple`: on a
 * processor. */
void tern__ocl_begin_stretch(tern__ocl_draft *d, size_t items, size_t least, int multiple);
/* "loop over i in [0, items)", by this work item; the caller closes the brace. */
void tern__ocl_loop(tern__ocl_draft *d, const char *i, size_t items, size_t least);
/* "loop over i in [0, items)", by the work group of this item. */
void tern__ocl_group_loop(tern__ocl_draft *d, const char *i, size_t items, size_t least);
/* Expressions: element `at` of operand `p` as a float (or the integer that it is), and its storing. Weights in blocks are
 * floats that can be read: there `at` counts elements, not units. */
void tern__ocl_load(tern__ocl_draft *d, tern_dtype dtype, int p, const char *at);
void tern__ocl_store(tern__ocl_draft *d, tern_dtype dtype, int p, const char *at, const char *value);
/* Declares `name` = the offset of row-major index `i` in an operand, in units, from sizes and strides of its first `rank` axes. */
void tern__ocl_offset(tern__ocl_draft *d, const char *name, const char *i, int rank, const int64_t *shape,
                      const int64_t *strides);

#if TERN_HAVE_OPENCL

/* Who rounds quotients and roots of f32 as IEEE does, which those of the CPU are: the driver, where it is asked to; or f64, which is wide
 * enough for the f32 next to it to be the right one. */
typedef enum tern__ocl_rounding {
    TERN__OCL_ROUNDS_NOBODY, /* OpenCL allows 2.5 and 3 units in the last place: what is exact is refused */
    TERN__OCL_ROUNDS_F64,
    TERN__OCL_ROUNDS_DRIVER
} tern__ocl_rounding;

/* A source that was built. */
typedef struct tern__ocl_built {
    uint64_t hash;
    cl_program program;
} tern__ocl_built;

/* Memory of the device's own that plans hold. */
typedef struct tern__ocl_memory {
    cl_mem buffer;
    size_t bytes;
    bool constant;
    const void *host; /* the constant or state that it is a copy of; NULL: one plan's own */
    uint64_t version; /* of a state: what it holds (tern__bindings); 0: nothing that counts */
    int uses;
} tern__ocl_memory;

/* Queues of a run: kernels, and copies beside them. */
typedef enum tern__ocl_lane_name {
    TERN__OCL_COMPUTE,
    TERN__OCL_IN,  /* to the device */
    TERN__OCL_OUT, /* to the host */
    TERN__OCL_LANES
} tern__ocl_lane_name;

/* Something in a lane that others wait for, or whose times are traced. */
typedef struct tern__ocl_command {
    cl_event event; /* one reference */
    tern__ocl_lane_name lane;
    uint32_t step; /* of a kernel */
    size_t bytes;  /* of a copy */
} tern__ocl_command;

struct tern__device {
    const tern__cl *cl;
    tern__target target;
    cl_context context;
    cl_command_queue queue;                     /* of what is no run */
    cl_command_queue lanes[TERN__OCL_LANES][2]; /* without times, and with; NULL until they are used */
    tern__trace_track tracks[TERN__OCL_LANES];
    tern__ocl_command *commands; /* of the run under way */
    size_t n_commands, cap_commands;
    bool timed; /* times of commands of the run under way are wanted, by whom: */
    bool traced;
    tern__transfer *transfer; /* or NULL */
    uint64_t run_began;       /* if it is */
    int64_t clock_offset;     /* from the device's clock to the host's, in ns */
    bool cpu;                 /* it is a processor */
    bool in_place;      /* it uses host memory as it lies: both see what the other wrote when a run is over */
    int units;          /* compute units */
    int group_items;    /* work items of a group, at most 256 */
    size_t local_bytes; /* memory that they share */
    tern__ocl_rounding rounding;
    uint64_t identity;              /* of device and driver: what a built kernel is good for */
    char *cache, *dump;             /* folders, or NULL */
    const tern__stop *stop;         /* whom to ask between two kernels that are built; or NULL */
    const tern__building *building; /* whom to tell; or NULL */
    /* folder that the driver writes to while it builds; NULL: it writes nothing that is known of */
    char *driver_files;
    uint64_t least_room; /* bytes that it needs there */
    time_t made;         /* the device */
    tern__ocl_built *built;
    size_t n_built, cap_built;
    uint64_t most_kept;        /* bytes of the cache on disk */
    bool not_kept;             /* it could not be written, which has been said */
    uint32_t step, steps;      /* that kernels are made for, and how many the plan has: to be told */
    uint64_t compiled, loaded; /* sources that were compiled, and that the cache had */
    tern__ocl_memory **memory;
    size_t n_memory, cap_memory;
    size_t used_bytes, most_bytes; /* of device memory; most 0: as much as there is */
    uint64_t copied_bytes;         /* between host and device, for plans */
};

/* ---- facts.c ---- */

typedef struct tern__ocl_facts {
    char model[160], driver[96], features[96], limits[160]; /* for people: cut where they are too long */
    uint64_t identity; /* a hash of all that device and driver are called */
    cl_ulong memory_bytes, local_bytes;
    size_t group_items;
    cl_uint units;
    cl_device_type type;
    cl_bool unified;
    tern__ocl_rounding rounding;
} tern__ocl_facts;

/* What cl->device says of itself. */
void tern__ocl_learn(const tern__cl *cl, tern__ocl_facts *out);

/* The program of a source, built once: from the cache of the process, from that on disk, or now. */
tern_status tern__ocl_build(tern__device *device, const char *name, const char *source, cl_program *out);

/* ---- kept.c ---- */

enum { TERN__OCL_MOST_KEPT = 256 << 20 }; /* bytes */

/* The file of a program in `folder`: by the hash of device, driver, options and source. */
void tern__ocl_kept_path(const char *folder, uint64_t key, char *out, size_t size);
/* Removes the oldest files of programs until those in `folder` have at most `most` bytes; that of `newest` stays. */
void tern__ocl_kept_limit(const char *folder, uint64_t newest, uint64_t most);

/* ---- driver_files.c ---- */

/* TERN_LIMIT where the driver would find no room for its own files, and end the process. */
tern_status tern__ocl_check_room(const tern__device *device);
/* The folder that PoCL writes to while it builds kernels, whatever Tern keeps: $POCL_CACHE_DIR, else in the user's cache folder. NULL: no
 * memory. */
char *tern__ocl_driver_files(const tern__device_options *options);
/* Removes entries of that folder that are damaged: it would end the process. */
void tern__ocl_sweep_driver_files(const char *folder);
/* Notes what entries that were used since then have, for the next sweep to compare. */
void tern__ocl_note_driver_files(const char *folder, time_t since);

/* ---- driver_sums.c ---- */

typedef struct tern__ocl_look {
    time_t since; /* files that have not changed since were compared */
    time_t start; /* the system's: what was written before may have been lost with the power */
} tern__ocl_look;

/* When the system started; 0: nobody knows. */
time_t tern__ocl_system_start(void);
/* Are the files of an entry those that were noted? What is not noted is taken for sound unless it is older than the system's start. */
bool tern__ocl_sums_hold(const char *entry, const tern__ocl_look *look);
/* Notes the files of an entry of Tern's that was used since then; what was noted before stays as it was. */
void tern__ocl_note_sums(const char *entry, time_t since);

tern_status tern__ocl_fail(tern__device *device, const char *what, cl_int error);

/* ---- memory.c ---- */

/* TERN_OUT_OF_MEMORY where `bytes` more are more than it may use. */
tern_status tern__ocl_room_for(const tern__device *device, size_t bytes);
/* A buffer of the device's own. With `host` it stands for those bytes, and is the one that other plans have for them; if `constant`,
 * it is a copy of them. */
tern_status tern__ocl_memory_get(tern__device *device, size_t bytes, const void *host, bool constant,
                                 tern__ocl_memory **out);
void tern__ocl_memory_put(tern__device *device, tern__ocl_memory *memory);

/* ---- lanes.c ---- */

/* The queue of a lane, made when it is first asked for. */
tern_status tern__ocl_lane(tern__device *device, tern__ocl_lane_name lane, cl_command_queue *out);
void tern__ocl_lanes_free(tern__device *device);
/* A run begins: with times, if a trace is recorded or somebody asks what is copied. Until its end lanes are those with or without
 * times. */
tern_status tern__ocl_lanes_begin(tern__device *device, tern__transfer *transfer);
/* Keeps the command until the run is over; if that fails it is waited for. */
tern_status tern__ocl_command_add(tern__device *device, const tern__ocl_command *command);
/* Waits for kernels and copies out, and with them for what they needed; `all`: for every copy in as well. */
cl_int tern__ocl_finish(tern__device *device, bool all);
/* Of commands that were waited for: the error of the first that was not carried out, of which waiting itself need not tell. */
cl_int tern__ocl_aborted(const tern__device *device);
/* The run is over, and everything of it has been waited for: tells the trace, lets commands go. */
void tern__ocl_lanes_end(tern__device *device, const tern__plan *plan);

/* ---- run.c, borders.c ---- */

tern_status tern__ocl_compile(tern__device *device, const tern__plan *plan, tern__code **out);
void tern__ocl_forget(tern__device *device, tern__code *code);
tern_status tern__ocl_run(tern__device *device, const tern__plan *plan, tern__code *code,
                          const tern__partition *part, const tern__bindings *bindings, uint32_t *n_done);
tern_status tern__ocl_stage(tern__device *device, const tern__plan *plan, tern__code *code, uint32_t leaf,
                            const void *host, uint64_t version);

#endif
#endif

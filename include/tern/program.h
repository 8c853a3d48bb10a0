/* program.h - a compiled graph. A program is immutable and may be shared between threads; an exec owns what
 * changes while it runs (arena, state) and belongs to one thread at a time. */
#ifndef TERN_PROGRAM_H
#define TERN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/graph.h>
#include <tern/pass.h>
#include <tern/status.h>
#include <tern/tensor.h>

typedef struct tern_program tern_program;
typedef struct tern_exec tern_exec;

#ifdef __cplusplus
extern "C" {
#endif

/* What counts when it runs. X(enumerator, number, name, meaning). */
#define TERN_GOAL_LIST(X)                                            \
    X(LATENCY, 0, "latency", "a run ends soon: threads share steps") \
    X(THROUGHPUT, 1, "throughput", "many runs side by side: each uses one thread and never waits for others")

typedef enum tern_goal {
#define TERN_GOAL_ENUM(id, number, name, meaning) TERN_GOAL_##id = number,
    TERN_GOAL_LIST(TERN_GOAL_ENUM)
#undef TERN_GOAL_ENUM
} tern_goal;

/* Of intermediates, and of constants that products read; sums are f32. X(enumerator, number, name, meaning). */
#define TERN_PRECISION_LIST(X)                                          \
    X(EXACT, 0, "exact", "as recorded: nothing is rounded in addition") \
    X(BF16, 1, "bf16", "f32 intermediates as bf16: half the bytes")     \
    X(F16, 2, "f16", "f32 intermediates as f16: half the bytes, less range")

typedef enum tern_precision {
#define TERN_PRECISION_ENUM(id, number, name, meaning) TERN_PRECISION_##id = number,
    TERN_PRECISION_LIST(TERN_PRECISION_ENUM)
#undef TERN_PRECISION_ENUM
} tern_precision;

/* Sizes of the batch, the first axis of some inputs, that one program serves. A program for each size that
 * occurs is compiled when it first runs, and kept; nothing is padded, so that results are those of a
 * program for that size, bit for bit. */
typedef struct tern_batch_range {
    int64_t least, most; /* the size that was recorded lies between them; 0, 0: that one only */
    int n_inputs;        /* those that have the batch as first axis, by name; 0: all inputs */
    const char *const *inputs;
} tern_batch_range;

/* Zeroed fields are the defaults. What they point at is copied, except what `user`
 * pointers lead to. */
typedef struct tern_compile_options {
    tern_level level;
    int n_disabled; /* passes to leave out, by the names of `tern list passes` */
    const char *const *disabled;
    size_t memory_limit; /* most bytes for intermediates, else TERN_LIMIT before running; 0 = no limit */
    tern_goal goal;
    int threads;         /* most that share a step; 0 = all of the context, which has no more to give */
    const char *cpu;     /* highest instruction set to use, "avx2"; NULL = the context's */
    const char *library; /* f32 products by "onednn", "openblas" or "accelerate"; NULL = Tern's own */
    const char *device;  /* NULL = the context's; no other can be asked for */
    tern_precision precision;
    tern_batch_range batch; /* of programs; lazy evaluation takes shapes as they come, and refuses one */
    int n_passes;           /* <tern/pass.h>; those at the same point run in this order */
    const tern_custom_pass *passes;
    int n_patterns;
    const tern_fusion_pattern *patterns;
    tern_pass_observer observe; /* or NULL; with one, programs are compiled anew and not cached */
    void *observe_user;
} tern_compile_options;

TERN_API tern_compile_options tern_compile_options_default(void);

/* "latency" and "throughput"; "exact", "bf16" and "f16". TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_goal_parse(const char *name, tern_goal *out);
TERN_API tern_status tern_precision_parse(const char *name, tern_precision *out);

/* What a program computes with: inputs are given to each run, states belong to the exec, constants
 * (tern_freeze) never change. Any other tensor that the graph reads is read where it is, as it is when the
 * program runs: freeze those that must not change, and before other threads run the program. */

/* Compiles `graph`, which may be freed afterwards. `options` NULL = defaults (level medium). */
TERN_API tern_status tern_graph_compile(tern_ctx *ctx, const tern_graph *graph,
                                        const tern_compile_options *options, tern_program **out);

/* Capture and compile in one call: the graph behind `outputs`. */
TERN_API tern_status tern_compile(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                                  const tern_compile_options *options, tern_program **out);

TERN_API void tern_program_free(tern_program *program); /* NULL is fine; execs of it must be gone */

/* The program for one size of the range that `program` was compiled for: what its runs with such inputs
 * use. It is a program of its own, and shares constants, packed weights and states' initial values. */
TERN_API tern_status tern_program_for_batch(tern_ctx *ctx, const tern_program *program, int64_t batch,
                                            tern_program **out);

/* What must be bound when it runs: the graph's inputs, and constants that were given without data. There are as many
 * as tern_program_info says. */
TERN_API tern_status tern_program_input(const tern_program *program, int i, tern_port *out);
/* The number of the input called `name`; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_program_find_input(const tern_program *program, const char *name, int *out);
TERN_API tern_status tern_program_output(const tern_program *program, int i, tern_port *out);

/* The graph as the passes left it; it lives as long as the program. Its leaves are without data, but for
 * constants. */
TERN_API const tern_graph *tern_program_graph(const tern_program *program);

/* A drawing of the graph before and after, fused nodes boxed, for Graphviz. Free with tern_string_free. */
TERN_API tern_status tern_program_dot(const tern_program *program, char **out);

/* What one pass did, in the order in which they run. `notes` say why, one for each decision. Strings live
 * as long as the program. */
typedef struct tern_pass_report {
    const char *name;
    bool ran;    /* false: switched off by level or name */
    bool custom; /* the caller's own */
    int changes, nodes_before, nodes_after;
    int failures; /* of patterns: what could not be fused and stays as it was */
    uint64_t ns;
    int n_notes;
    const char *const *notes; /* (n_notes) a sentence each, whatever a custom pass puts in its own */
} tern_pass_report;
TERN_API tern_status tern_program_pass(const tern_program *program, int i, tern_pass_report *out);

/* Nodes that became one. The speed-up is the ratio of bytes that they move apart and together: what it
 * would be if memory traffic were all that counts. What could be fused in a graph is what a program of it
 * at TERN_LEVEL_HIGH tells. */
typedef struct tern_fusion_info {
    const char *kind; /* "row program", "epilogue", "product", or the name of a pattern */
    int n_nodes;
    const char *const *nodes; /* (n_nodes) "%x", or "%12" for values without a name */
    const char *const *ops;   /* (n_nodes) */
    uint64_t bytes_before, bytes_after;
    double estimated_speedup;
} tern_fusion_info;
TERN_API tern_status tern_program_fusion(const tern_program *program, int i, tern_fusion_info *out);

/* A buffer of the arena and the steps that need it, in order of first use. Buffers of one group share
 * bytes with others of it, directly or not, so they never live at the same time where they do. */
typedef struct tern_buffer_info {
    const char *name; /* of the value that it was made for, without '%'; lives as long as the program */
    size_t offset, bytes;
    int first, last; /* steps */
    int group;       /* counted from 0, in order of first use */
} tern_buffer_info;
TERN_API tern_status tern_program_buffer(const tern_program *program, int i, tern_buffer_info *out);

typedef struct tern_program_info {
    int n_inputs, n_outputs;       /* what is bound when it runs, and what comes out               */
    int nodes_before, nodes_after; /* of the graph                                             */
    int steps;                     /* kernels that run                                             */
    size_t arena_bytes;            /* memory that a run takes for intermediates and scratch, as planned */
    size_t live_bytes;             /* of that, most in use at one step: no plan of this order needs less */
    size_t naive_bytes;            /* the same with every intermediate in a buffer of its own      */
    size_t scratch_bytes;          /* in all three: most that a kernel works in beside operands     */
    uint64_t flops, bytes;         /* estimated work of one run                                    */
    uint64_t compile_ns;           /* measured                                                     */
    int64_t batch;                 /* all of this is for this size of the batch; 0: no range was given */
    int64_t batch_least, batch_most;
} tern_program_info;
TERN_API void tern_program_get_info(const tern_program *program, tern_program_info *out);

/* One step of the plan, for people and tools. Strings are static, their array lives as long as the program. */
typedef struct tern_step_info {
    const char *op; /* "fused" for several */
    int n_ops;
    const char *const *ops; /* (n_ops) what it computes: the op, or those that are fused in it */
    const char *kernel, *isa;
    bool reference;   /* the kernel is the op's reference, plain C */
    bool row_program; /* it interprets a program of elementwise ops and reductions of rows */
    tern_node node;   /* of tern_program_graph */
    int threads;      /* how many may share it */
    int n_operands, n_results;
    uint64_t flops, bytes; /* estimates */
    bool at_most;          /* those are the most they can be: the true work depends on data */
} tern_step_info;
TERN_API tern_status tern_program_step(const tern_program *program, int i, tern_step_info *out);

/* Operand i of a step: its operands come first, then its results. */
typedef struct tern_operand_info {
    const char *name;  /* as the text form names the value, without '%'; lives as long as the program */
    tern_port port;    /* dtype and shape; port.name is NULL */
    const char *place; /* "input", "constant", "state", "output" or "arena"; static */
    size_t offset;     /* bytes from the start of that place */
    size_t bytes;      /* of the contiguous form */
} tern_operand_info;
TERN_API tern_status tern_program_operand(const tern_program *program, int step, int i,
                                          tern_operand_info *out);

/* Steps in a row on one device, which finishes them before the next partition begins. */
typedef struct tern_partition_info {
    const char *device;
    int first_step, steps;
    double predicted_ns; /* by what the devices were measured at (device "auto"); < 0: nobody predicted it */
} tern_partition_info;
TERN_API tern_status tern_program_partition(const tern_program *program, int i, tern_partition_info *out);

/* The exec of a program for a range of batches takes inputs of any size in it. All sizes share the exec's
 * states and its one arena, which is as large as the largest that ran needs.
 *
 * States, and views of them that the program reads, belong to the exec: they start as copies of what their
 * memory holds when the exec is created (zeros for a state that has none).
 *
 * `ctx` need not be the context that compiled: memory and threads are its own, and no more threads share a step than it
 * has; instruction sets are those that the program was compiled for. */
TERN_API tern_status tern_exec_create(tern_ctx *ctx, const tern_program *program, tern_exec **out);
/* The same on the states themselves: what runs write is seen in the tensors that the program was compiled
 * from, and by every other exec made like this, of any program (one per batch size, say). All of them
 * belong to one thread at a time, that of the context, which must be the states' own. TERN_STATE if one
 * has no memory: a graph that was read as text. */
TERN_API tern_status tern_exec_create_in_place(tern_ctx *ctx, const tern_program *program, tern_exec **out);
TERN_API void tern_exec_free(tern_exec *exec); /* NULL is fine */

/* Keeps, from now on, how long every step takes, or stops that; off at first. It costs a look at the clock
 * for each step. Programs that are compiled later may use the times: from three runs on their median counts
 * beside what the tuner measured (<tern/tune.h>), and the report says so. */
TERN_API tern_status tern_exec_time_steps(tern_exec *exec, bool on);

/* Of the runs that were timed; runs 0: none was. With a range of batches: of those with the size that was
 * recorded. */
typedef struct tern_step_time {
    uint64_t runs, last_ns, min_ns, total_ns;
} tern_step_time;
TERN_API tern_status tern_exec_step_time(const tern_exec *exec, int step, tern_step_time *out);

/* The same for partitions (tern_program_partition), as a whole and on their own switch: steps that are timed wait for each
 * other on devices that need not. */
TERN_API tern_status tern_exec_time_partitions(tern_exec *exec, bool on);
TERN_API tern_status tern_exec_partition_time(const tern_exec *exec, int partition, tern_step_time *out);

/* What a partition copied to its device and back in the last run that was timed so, by the device's own clock: copies may overlap
 * steps. 0 bytes: it uses host memory in place, or had it all. */
typedef struct tern_transfer_time {
    bool told; /* the device says so; if not, the rest means nothing */
    uint64_t in_bytes, out_bytes, in_ns, out_ns;
} tern_transfer_time;
TERN_API tern_status tern_exec_partition_transfer(const tern_exec *exec, int partition,
                                                  tern_transfer_time *out);

/* Inputs of a later run: a device with memory of its own begins to copy them, beside what it computes; others have nothing to do. The
 * tensors stay as they are until that run, of which nothing else changes. Those of two runs may be under way; a third takes the place
 * of the older. What cannot be copied early is copied when the run begins. */
TERN_API tern_status tern_exec_stage(tern_exec *exec, int n_in, tern_tensor *const *inputs);

/* Runs with inputs[i] bound to input i of the program (tern_program_find_input tells its number; it is evaluated if need be;
 * dtype and shape must match) and makes outputs[j], new evaluated tensors owned like any other (see <tern/context.h>). A result that
 * is the value of a state lies in the exec's memory: the next run changes it like a write in place (what
 * was recorded on it before is computed first); keep a tern_contiguous copy of what must stay. If the run
 * fails, no outputs are made. States then hold what the steps before the failure wrote; where it is the device that failed
 * (tern_ctx_device_error), those before the partition that failed (tern_program_partition). Without `fallback` and `check` of the
 * context a plan on another device than the CPU is one partition: they are as they were before the run. */
TERN_API tern_status tern_exec_run(tern_exec *exec, int n_in, tern_tensor *const *inputs, int n_out,
                                   tern_tensor **outputs);

#ifdef __cplusplus
}
#endif
#endif

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
#include <tern/status.h>
#include <tern/tensor.h>

typedef struct tern_program tern_program;
typedef struct tern_exec tern_exec;

#ifdef __cplusplus
extern "C" {
#endif

/* How hard the compiler tries. X(enumerator, number, name, meaning). */
#define TERN_LEVEL_LIST(X)                                           \
    X(NONE, 0, "none", "every operation as recorded, for debugging") \
    X(LOW, 1, "low", "cheap clean-ups")                              \
    X(MEDIUM, 2, "medium", "everything that pays on the first run")  \
    X(HIGH, 3, "high", "also what pays only when a program runs often")

typedef enum tern_level {
#define TERN_LEVEL_ENUM(id, number, name, meaning) TERN_LEVEL_##id = number,
    TERN_LEVEL_LIST(TERN_LEVEL_ENUM)
#undef TERN_LEVEL_ENUM
} tern_level;

typedef struct tern_compile_options {
    tern_level level;
    int n_disabled; /* passes to leave out, by the names of `tern list passes` */
    const char *const *disabled;
    size_t memory_limit; /* most bytes for intermediates, else TERN_LIMIT before running; 0 = no limit */
} tern_compile_options;

TERN_API tern_compile_options tern_compile_options_default(void);

/* "none", "low", "medium", "high"; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_level_parse(const char *name, tern_level *out);
TERN_API const char *tern_level_name(tern_level level);

/* Compiles `graph`, which may be freed afterwards. `options` NULL = defaults (level medium). */
TERN_API tern_status tern_graph_compile(tern_ctx *ctx, const tern_graph *graph,
                                        const tern_compile_options *options, tern_program **out);

/* Capture and compile in one call: the graph behind `outputs`. */
TERN_API tern_status tern_compile(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                                  const tern_compile_options *options, tern_program **out);

TERN_API void tern_program_free(tern_program *program); /* NULL is fine; execs of it must be gone */

/* What must be bound when it runs: the graph's inputs, and constants that were given without data. */
TERN_API int tern_program_inputs(const tern_program *program);
TERN_API int tern_program_outputs(const tern_program *program);
TERN_API tern_status tern_program_input(const tern_program *program, int i, tern_port *out);
TERN_API tern_status tern_program_output(const tern_program *program, int i, tern_port *out);

/* What one pass did. `notes` says why, a line per decision; it lives as long as the program. */
typedef struct tern_pass_report {
    const char *name;
    bool ran; /* false: switched off by level or name */
    int changes, nodes_after;
    uint64_t ns;
    const char *notes;
} tern_pass_report;
TERN_API tern_status tern_program_pass(const tern_program *program, int i, tern_pass_report *out);

typedef struct tern_program_info {
    int nodes_before, nodes_after; /* of the graph                                             */
    int steps;                     /* kernels that run                                             */
    size_t arena_bytes;            /* memory for all intermediates, as planned                     */
    size_t live_bytes;             /* most bytes of intermediates live at one step: no plan needs less */
    size_t naive_bytes;            /* the same with every intermediate in a buffer of its own      */
    uint64_t flops, bytes;         /* estimated work of one run                                    */
    uint64_t compile_ns;           /* measured                                                     */
} tern_program_info;
TERN_API void tern_program_get_info(const tern_program *program, tern_program_info *out);

/* One step of the plan, for people and tools. Strings are static. */
typedef struct tern_step_info {
    const char *op, *kernel, *isa;
    int threads; /* how many may share it */
    int n_operands, n_results;
    uint64_t flops, bytes; /* estimates */
    char detail
        [128]; /* the ops of a fused step, "rmsnorm + quantise_rows" (if long, "... + 7 more"); else "" */
} tern_step_info;
TERN_API tern_status tern_program_step(const tern_program *program, int i, tern_step_info *out);

/* Operand i of a step: its operands come first, then its results. */
typedef struct tern_operand_info {
    char name[64];     /* as the text form names the value, without '%'; long names are cut */
    tern_port port;    /* dtype and shape; port.name is NULL */
    const char *place; /* "input", "constant", "state", "output" or "arena"; static */
    size_t offset;     /* bytes from the start of that place */
    size_t bytes;      /* of the contiguous form */
} tern_operand_info;
TERN_API tern_status tern_program_operand(const tern_program *program, int step, int i,
                                          tern_operand_info *out);

/* States start as copies of the data they had when the program was compiled (zeros if none) and belong to the exec. */
TERN_API tern_status tern_exec_create(tern_ctx *ctx, const tern_program *program, tern_exec **out);
TERN_API void tern_exec_free(tern_exec *exec); /* NULL is fine */

/* Runs with inputs[i] bound to input i of the program (evaluated if need be; dtype and shape must match) and makes outputs[j],
 * new evaluated tensors owned like any other (see <tern/context.h>). */
TERN_API tern_status tern_exec_run(tern_exec *exec, int n_in, tern_tensor *const *inputs, int n_out,
                                   tern_tensor **outputs);

#ifdef __cplusplus
}
#endif
#endif

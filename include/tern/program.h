/* program.h - a compiled graph. A program is immutable and may be shared between threads; an exec owns what
 * changes while it runs (arena, state) and belongs to one thread at a time. */
#ifndef TERN_PROGRAM_H
#define TERN_PROGRAM_H

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

/* Compiles `graph`, which may be freed afterwards. */
TERN_API tern_status tern_graph_compile(tern_ctx *ctx, const tern_graph *graph, tern_program **out);

/* Capture and compile in one call: the graph behind `outputs`. */
TERN_API tern_status tern_compile(tern_ctx *ctx, int n, tern_tensor *const *outputs, const char *const *names,
                                  tern_program **out);

TERN_API void tern_program_free(tern_program *program);     /* NULL is fine; execs of it must be gone */

TERN_API int tern_program_inputs(const tern_program *program);
TERN_API int tern_program_outputs(const tern_program *program);
TERN_API tern_status tern_program_input(const tern_program *program, int i, tern_port *out);
TERN_API tern_status tern_program_output(const tern_program *program, int i, tern_port *out);

typedef struct tern_program_info {
    int steps;                  /* kernels that run                                             */
    size_t arena_bytes;         /* memory for all intermediates, as planned                     */
    size_t naive_bytes;         /* the same with every intermediate in a buffer of its own      */
    uint64_t flops, bytes;      /* estimated work of one run                                    */
    uint64_t compile_ns;        /* measured                                                     */
} tern_program_info;
TERN_API void tern_program_get_info(const tern_program *program, tern_program_info *out);

/* One step of the plan, for people and tools. Strings live as long as the program. */
typedef struct tern_step_info {
    const char *op, *kernel, *isa;
    const char *result;         /* its first result, as the text form names it: "%3" */
    const char *operands;       /* "%x f32[4,8] input, %1 f32[8] arena+256"          */
    int threads;                /* how many may share it                             */
    uint64_t flops, bytes;
    size_t arena_offset;        /* of the first result; SIZE_MAX if not in the arena */
    size_t result_bytes;
} tern_step_info;
TERN_API tern_status tern_program_step(const tern_program *program, int i, tern_step_info *out);

TERN_API tern_status tern_exec_create(tern_ctx *ctx, const tern_program *program, tern_exec **out);
TERN_API void tern_exec_free(tern_exec *exec);      /* NULL is fine */

/* Runs with inputs[i] bound to input i (evaluated if need be; dtype and shape must match) and makes outputs[j],
 * new evaluated tensors owned like any other (see <tern/context.h>). */
TERN_API tern_status tern_exec_run(tern_exec *exec, int n_in, tern_tensor *const *inputs, int n_out,
                                   tern_tensor **outputs);

#ifdef __cplusplus
}
#endif
#endif

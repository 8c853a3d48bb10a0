/* cases.h - the rows of cases.def, and one of them made into a program with its data. */
#ifndef TERN_MEASURE_CASES_H
#define TERN_MEASURE_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/measure.h>
#include <tern/program.h>
#include <tern/tensor.h>

/* M(a, b, rows, columns) for the ternary matrices of BitNet b1.58 2B-4T: attention's q and output, k or v, q, k and v as one, gate
 * or up, down. */
#define TERN__2B4T_SHAPES(M, a, b) \
    M(a, b, 2560, 2560) M(a, b, 640, 2560) M(a, b, 3840, 2560) M(a, b, 6912, 2560) M(a, b, 2560, 6912)

enum { TERN__CASE_OPERANDS = 7, TERN__CASE_RESULTS = 2, TERN__CASE_COPIES = 1024 };

typedef enum tern__operand_role {
    TERN__OPERAND_NONE,
    TERN__OPERAND_INPUT,
    TERN__OPERAND_WEIGHT,
    TERN__OPERAND_STREAM,
    TERN__OPERAND_APART,
    TERN__OPERAND_TURNED,
    TERN__OPERAND_SCALES,
    TERN__OPERAND_ZERO,
    TERN__OPERAND_COUNT,
    TERN__OPERAND_LAST,
} tern__operand_role;

typedef struct tern__case {
    const char *family, *name, *op, *attributes;
    tern_limit_kind limit;
    double operations;
    int64_t check;
    struct tern__operand {
        tern__operand_role role;
        tern_dtype dtype;
        int rank;
        int64_t shape[TERN_MAX_RANK];
    } operands[TERN__CASE_OPERANDS];
} tern__case;

/* NULL past the last. */
const tern__case *tern__case_at(int i);

/* A case with its sizes for `memory` bytes, its data and, once compiled, its program. */
typedef struct tern__prepared {
    const tern__case *row;
    tern_ctx *ctx;
    /* the same data on the CPU, where the reference is computed; NULL: these */
    const struct tern__prepared *home;
    tern__case sized;
    int n_operands, n_results, copies;
    tern_tensor *data[TERN__CASE_OPERANDS];  /* kept */
    tern_tensor *streams[TERN__CASE_COPIES]; /* kept; [0] is that of data */
    int64_t read_bytes, write_bytes;         /* of one run */
    tern_program *program;
    tern_exec *exec;
    tern_tensor **inputs; /* (n_inputs), borrowed from data */
    int n_inputs, n_outputs;
    double error; /* of the results, by tern__case_check: root of mean squares, relative to the reference */
} tern__prepared;

/* Does an operand not lie in one piece, row after row? */
bool tern__case_strided(const tern__case *row);

/* "i8[1,2560] t2[6912,2560]", as it is for `memory`. */
void tern__case_shape(const tern__case *row, int64_t memory, char *to, size_t room);

tern_status tern__case_prepare(tern_ctx *ctx, const tern__case *row, int64_t memory, tern__prepared *out);
/* For a device that may not have the ops by which data are made: they are made in `ctx`, into `home`, which outlives `out`, and carried
 * to `there`. Failures leave both to be freed. */
tern_status tern__case_prepare_on(tern_ctx *there, tern_ctx *ctx, const tern__case *row, int64_t memory,
                                  tern__prepared *home, tern__prepared *out);
/* Replaces the program that there was. */
tern_status tern__case_compile(tern__prepared *p, const tern_compile_options *options);
/* One run of the program; results are dropped. */
tern_status tern__case_run(void *prepared);
/* The same with an execution, and so an arena, of its own. */
tern_status tern__case_run_anew(void *prepared);
/* Compares with what the reference kernels compute. TERN_INTERNAL: they differ. *seconds: how long this first run took, so that
 * slow ones are not run often. */
tern_status tern__case_check(tern__prepared *p, double *seconds);
void tern__case_free(tern__prepared *p); /* also what failed on the way, if it was zeroed before */

#endif

/* source.c - reference kernels without operands. Element i of a result is a function of i and the
 * attributes alone, so any split of the work gives the same tensor. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "kernels/ref/loops.h"
#include "tensor/convert.h"

/* Values of elements index .. index + n - 1 of the result, before their conversion to its type. */
enum { BLOCK = 64 };
typedef void (*fill_fn)(const tern__kernel_args *args, int64_t index, int64_t n, void *values);

static void put(const tern__element_run *run, tern_dtype type_of_values, fill_fn fill)
{
    tern_dtype dtype = run->args->out[0].type->dtype;
    int64_t step = run->step[0] / (int64_t)tern__dtype_unit_bytes(dtype);
    union {
        int64_t whole[BLOCK];
        double real[BLOCK];
    } values;
    for (int64_t i = 0; i < run->n; i += BLOCK) {
        int64_t n = run->n - i < BLOCK ? run->n - i : BLOCK;
        fill(run->args, run->first + i, n, &values);
        tern__convert(type_of_values, &values, 1, dtype, run->at[0] + i * run->step[0], step, n);
    }
}

/* Numbers of any type but the packed ones. */
static tern_status numbers(tern__kernel_args *args, int64_t begin, int64_t end, tern__loop loop)
{
    bool fits = !tern__dtype_is_packed(args->out[0].type->dtype);
    return tern__elementwise(args, begin, end, fits ? loop : NULL);
}

/* Floats only. */
static tern_status floats(tern__kernel_args *args, int64_t begin, int64_t end, tern__loop loop)
{
    bool fits = tern__dtype_is_float(args->out[0].type->dtype);
    return tern__elementwise(args, begin, end, fits ? loop : NULL);
}

/* ---- constants ----------------------------------------------------------------------------------------- */

static void full_run(const tern__element_run *run)
{
    const double value = run->args->attrs[2].f;
    const tern_dtype dtype = run->args->out[0].type->dtype;
    const int64_t bytes = (int64_t)tern__dtype_unit_bytes(dtype), most = 4096;
    bool dense = run->step[0] == bytes;
    int64_t done = dense && run->n > BLOCK ? BLOCK : run->n;
    tern__convert(TERN_F64, &value, 0, dtype, run->at[0], run->step[0] / bytes, done);
    while (done < run->n) { /* the rest copies the beginning, as much of it as stays in the L1 cache */
        int64_t n = done < most ? done : most;
        if (n > run->n - done)
            n = run->n - done;
        memcpy(run->at[0] + done * bytes, run->at[0], (size_t)(n * bytes));
        done += n;
    }
}

KERNEL(full)
{
    return numbers(args, begin, end, full_run);
}

static void eye_fill(const tern__kernel_args *args, int64_t index, int64_t n, void *values)
{
    int64_t *ones = values;
    int64_t columns = args->out[0].type->shape[1], diagonal = args->attrs[3].i;
    int64_t row = index / columns, column = index % columns;
    for (int64_t i = 0; i < n; i++) {
        ones[i] = diagonal == column - row;
        if (++column == columns) {
            column = 0;
            row++;
        }
    }
}

static void eye_run(const tern__element_run *run)
{
    put(run, TERN_I64, eye_fill);
}

KERNEL(eye)
{
    return numbers(args, begin, end, eye_run);
}

/* ---- arange -------------------------------------------------------------------------------------------- */

static void arange_fill(const tern__kernel_args *args, int64_t index, int64_t n, void *values)
{
    const double start = args->attrs[1].f, step = args->attrs[3].f;
    double *numbers = values;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = start + (double)(index + i) * step;
}

static void arange_whole_fill(const tern__kernel_args *args, int64_t index, int64_t n, void *values)
{
    const uint64_t start = (uint64_t)(int64_t)args->attrs[1].f, step = (uint64_t)(int64_t)args->attrs[3].f;
    int64_t *numbers = values;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (int64_t)(start + (uint64_t)(index + i) * step);
}

/* Does it fit an i64 exactly? */
static bool is_whole(double x)
{
    return x >= -0x1p63 && x < 0x1p63 && trunc(x) == x;
}

static void arange_run(const tern__element_run *run)
{
    const tern__attr *attrs = run->args->attrs;
    /* Narrower integers are exact as doubles, and saturate like any number that becomes one. */
    bool is_i64 = run->args->out[0].type->dtype == TERN_I64;
    if (is_i64 && is_whole(attrs[1].f) && is_whole(attrs[3].f))
        put(run, TERN_I64, arange_whole_fill);
    else
        put(run, TERN_F64, arange_fill);
}

KERNEL(arange)
{
    return numbers(args, begin, end, arange_run);
}

/* ---- random -------------------------------------------------------------------------------------------- */

/* As many leading bits of the sample as the type's significand holds: the conversion is exact and never
 * reaches 1. */
static double uniform_grid(tern_dtype dtype)
{
    return dtype == TERN_F16 ? 0x1p11 : dtype == TERN_BF16 ? 0x1p8 : dtype == TERN_F32 ? 0x1p24 : 0x1p53;
}

static void rand_fill(const tern__kernel_args *args, int64_t index, int64_t n, void *values)
{
    const uint64_t seed = (uint64_t)args->attrs[2].i;
    const double grid = uniform_grid(args->out[0].type->dtype);
    double *samples = values;
    tern__random_uniforms(seed, (uint64_t)index, n, samples);
    for (int64_t i = 0; i < n; i++) /* below 2^53: the cast is trunc, by one instruction */
        samples[i] = (double)(int64_t)(samples[i] * grid) / grid;
}

static void randn_fill(const tern__kernel_args *args, int64_t index, int64_t n, void *values)
{
    const uint64_t seed = (uint64_t)args->attrs[2].i;
    tern__random_normals(seed, (uint64_t)index, n, values);
}

static void rand_run(const tern__element_run *run)
{
    put(run, TERN_F64, rand_fill);
}

static void randn_run(const tern__element_run *run)
{
    put(run, TERN_F64, randn_fill);
}

KERNEL(rand)
{
    return floats(args, begin, end, rand_run);
}

KERNEL(randn)
{
    return floats(args, begin, end, randn_run);
}

/* loops.h - what the reference kernels are built from: element types by name, and the walk that turns
 * operands of any strides into runs along one axis. Private to kernels/ref.
 *
 * An elementwise kernel is one inner loop per dtype over a run, and tern__elementwise does the rest:
 * broadcasting, odd strides, the part [begin, end) of the work. Dense operands of one shape make a single
 * run, so a small tensor costs one check and one call. */
#ifndef TERN_KERNELS_REF_LOOPS_H
#define TERN_KERNELS_REF_LOOPS_H

#include "kernels/kernel.h"
#include "tensor/half.h"

/* Declares and begins a reference kernel: KERNEL(add) { ... } defines tern_add__ref. */
#define KERNEL(name)           \
    TERN__KERNEL(name##__ref); \
    TERN__KERNEL(name##__ref)

/* ---- element types ------------------------------------------------------------------------------------- */

/* TYPES(X, ...) expands X(T, ...) for each T of a list. */
#define BOOLS(X, ...) X(BOOL, __VA_ARGS__)
#define INTS(X, ...) X(U8, __VA_ARGS__) X(I8, __VA_ARGS__) X(I32, __VA_ARGS__) X(I64, __VA_ARGS__)
#define FLOATS(X, ...) X(F16, __VA_ARGS__) X(BF16, __VA_ARGS__) X(F32, __VA_ARGS__) X(F64, __VA_ARGS__)
#define BOOL_AND_INTS(X, ...) BOOLS(X, __VA_ARGS__) INTS(X, __VA_ARGS__)
#define NUMBERS(X, ...) INTS(X, __VA_ARGS__) FLOATS(X, __VA_ARGS__)
#define UNPACKED(X, ...) BOOLS(X, __VA_ARGS__) INTS(X, __VA_ARGS__) FLOATS(X, __VA_ARGS__)

/* mem_T: how an element lies in memory. */
typedef uint8_t mem_BOOL;
typedef uint8_t mem_U8;
typedef int8_t mem_I8;
typedef int32_t mem_I32;
typedef int64_t mem_I64;
typedef uint16_t mem_F16;
typedef uint16_t mem_BF16;
typedef float mem_F32;
typedef double mem_F64;

/* val_T: what it computes as. */
typedef int32_t val_BOOL; /* 0 or 1 */
typedef int32_t val_U8;
typedef int32_t val_I8;
typedef int32_t val_I32;
typedef int64_t val_I64;
typedef float val_F16;
typedef float val_BF16;
typedef float val_F32;
typedef double val_F64;

/* wrap_T: the same for arithmetic that may wrap: unsigned for integers. */
typedef uint32_t wrap_BOOL;
typedef uint32_t wrap_U8;
typedef uint32_t wrap_I8;
typedef uint32_t wrap_I32;
typedef uint64_t wrap_I64;
typedef float wrap_F16;
typedef float wrap_BF16;
typedef float wrap_F32;
typedef double wrap_F64;

/* wide_T: for functions of libm. In f64 and rounded, an f32 result is within 0.51 ULP whatever the libm. */
typedef double wide_F16;
typedef double wide_BF16;
typedef double wide_F32;
typedef double wide_F64;

/* load_T: mem_T -> val_T. */
#define load_BOOL(m) ((val_BOOL)((m) != 0))
#define load_U8(m) ((val_U8)(m))
#define load_I8(m) ((val_I8)(m))
#define load_I32(m) (m)
#define load_I64(m) (m)
#define load_F16(m) tern__f16_to_f32(m)
#define load_BF16(m) tern__bf16_to_f32(m)
#define load_F32(m) (m)
#define load_F64(m) (m)

/* store_T: any of val_T, wrap_T, wide_T -> mem_T. Integers wrap, floats round (f64 to a 16-bit float by
 * way of f32, so that a 16-bit result always is the f32 result, rounded). */
#define store_BOOL(v) ((mem_BOOL)((v) != 0))
#define store_U8(v) ((mem_U8)(v))
#define store_I8(v) ((mem_I8)(v))
#define store_I32(v) ((mem_I32)(v))
#define store_I64(v) ((mem_I64)(v))
#define store_F16(v) tern__f32_to_f16((float)(v))
#define store_BF16(v) tern__f32_to_bf16((float)(v))
#define store_F32(v) ((float)(v))
#define store_F64(v) ((double)(v))

/* Element of type T at the byte address `at`. */
#define AT(T, at) (*(mem_##T *)(void *)(at))
#define AT_CONST(T, at) (*(const mem_##T *)(const void *)(at))

/* ---- elementwise kernels ------------------------------------------------------------------------------- */

enum { TERN__RUN_OPERANDS = 4 };

/* `n` elements of each operand along one axis; operands in the order of the inputs, then result 0. */
typedef struct tern__element_run {
    char *at[TERN__RUN_OPERANDS];     /* first element of the run */
    int64_t step[TERN__RUN_OPERANDS]; /* bytes from one element to the next; 0: broadcast */
    int64_t n;                        /* > 0 */
    int64_t first;                    /* index of the run's first element in the result, row-major */
    const tern__kernel_args *args;
} tern__element_run;

typedef void (*tern__loop)(const tern__element_run *run);

/* Walks elements [begin, end) of result 0 in row-major order and calls `loop` for each run of them. Inputs
 * broadcast to result 0; at most three. No operand is packed. A NULL loop gives TERN_INTERNAL: no kernel
 * for the dtype. */
tern_status tern__elementwise(tern__kernel_args *args, int64_t begin, int64_t end, tern__loop loop);

/* The kernel `op` with one loop per dtype of operand 0, named op_T. */
#define LOOP_ENTRY(T, op) [TERN_##T] = op##_##T,
#define LOOP_KERNEL(op, TYPES)                                                           \
    static const tern__loop op##_loops[TERN_DTYPE_COUNT] = {TYPES(LOOP_ENTRY, op)};      \
    KERNEL(op)                                                                           \
    {                                                                                    \
        return tern__elementwise(args, begin, end, op##_loops[args->in[0].type->dtype]); \
    }

/* A loop op_T over one operand; `...` computes the result, stored as OUT, from `x` of type kind_T (val,
 * wrap, wide) and whatever `setup` declares. The contiguous case stands apart so that compilers vectorise
 * it. */
#define UNARY_LOOP(T, OUT, op, kind, setup, ...)                                          \
    static void op##_##T(const tern__element_run *run)                                    \
    {                                                                                     \
        setup const char *from = run->at[0];                                              \
        char *to = run->at[1];                                                            \
        const int64_t from_step = run->step[0], to_step = run->step[1], n = run->n;       \
        if (from_step == sizeof(mem_##T) && to_step == sizeof(mem_##OUT)) {               \
            for (int64_t i = 0; i < n; i++) {                                             \
                const kind##_##T x = (kind##_##T)load_##T((&AT_CONST(T, from))[i]);       \
                (&AT(OUT, to))[i] = store_##OUT(__VA_ARGS__);                             \
            }                                                                             \
            return;                                                                       \
        }                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                 \
            const kind##_##T x = (kind##_##T)load_##T(AT_CONST(T, from + i * from_step)); \
            AT(OUT, to + i * to_step) = store_##OUT(__VA_ARGS__);                         \
        }                                                                                 \
    }

/* The same over two operands of one type, `a` and `b`. */
#define BINARY_LOOP(T, OUT, op, kind, ...)                                                  \
    static void op##_##T(const tern__element_run *run)                                      \
    {                                                                                       \
        const char *from_a = run->at[0], *from_b = run->at[1];                              \
        char *to = run->at[2];                                                              \
        const int64_t a_step = run->step[0], b_step = run->step[1], to_step = run->step[2]; \
        const int64_t n = run->n, dense = sizeof(mem_##T);                                  \
        if (a_step == dense && b_step == dense && to_step == sizeof(mem_##OUT)) {           \
            for (int64_t i = 0; i < n; i++) {                                               \
                const kind##_##T a = (kind##_##T)load_##T((&AT_CONST(T, from_a))[i]);       \
                const kind##_##T b = (kind##_##T)load_##T((&AT_CONST(T, from_b))[i]);       \
                (&AT(OUT, to))[i] = store_##OUT(__VA_ARGS__);                               \
            }                                                                               \
            return;                                                                         \
        }                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                   \
            const kind##_##T a = (kind##_##T)load_##T(AT_CONST(T, from_a + i * a_step));    \
            const kind##_##T b = (kind##_##T)load_##T(AT_CONST(T, from_b + i * b_step));    \
            AT(OUT, to + i * to_step) = store_##OUT(__VA_ARGS__);                           \
        }                                                                                   \
    }

/* Result of the operand's own type, or bool. */
#define UNARY_SAME(T, ...) UNARY_LOOP(T, T, __VA_ARGS__)
#define UNARY_TEST(T, ...) UNARY_LOOP(T, BOOL, __VA_ARGS__)
#define BINARY_SAME(T, ...) BINARY_LOOP(T, T, __VA_ARGS__)
#define BINARY_TEST(T, ...) BINARY_LOOP(T, BOOL, __VA_ARGS__)

/* ---- finding elements ---------------------------------------------------------------------------------- */

/* Units from data to element `index`, counted in row-major order. */
int64_t tern__offset_of(const tern__buffer *buffer, int64_t index);

/* Units from data to the first element of lane `lane`: the elements along `axis` (0 <= axis < rank) are a
 * lane, and lanes are counted in row-major order of the other axes. */
int64_t tern__lane_offset(const tern__buffer *buffer, int axis, int64_t lane);

/* Are the elements those of a row-major block, without gaps? Not for packed types. */
bool tern__is_dense(const tern__buffer *buffer);

#endif

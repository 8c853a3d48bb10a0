/* tensor.h - lazy tensors: making them, looking at them, evaluating them, writing into them.
 *
 * An operation (<tern/ops.h>) records a node and returns a handle; nothing is computed until data is asked for.
 * Asking captures the pending graph, compiles it to a plan and runs the plan: there is no second, eager path.
 *
 * Errors. Functions that return a tensor never return NULL and never abort: a bad call returns an error tensor
 * that carries a status and a message; operations on an error tensor pass the first error on; tern_eval returns
 * it. Functions that return tern_status leave their outputs untouched on failure. */
#ifndef TERN_TENSOR_H
#define TERN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/export.h>
#include <tern/status.h>

enum { TERN_MAX_RANK = 8 };

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Making -------------------------------------------------------------------------------------------------
 * See <tern/ops.h> for full, arange, eye, rand and randn, which are lazy like every other operation. */

/* A copy of `data`, contiguous and row-major (packed types: rows padded to bytes, see <tern/dtype.h>). */
TERN_API tern_tensor *tern_from_data(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                                     const void *data);

/* Uses `data` in place. It must stay valid until `drop(user, data)` is called (drop may be NULL). `strides` in
 * elements, NULL = contiguous. Writes through the tensor are visible in `data`. If the call fails, drop is not called.
 * Two tensors that borrow overlapping memory are strangers to each other: evaluate readers of one before writing through
 * the other. */
TERN_API tern_tensor *tern_borrow(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                                  const int64_t *strides, void *data, void (*drop)(void *user, void *data),
                                  void *user);

TERN_API tern_tensor *tern_zeros(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape);
TERN_API tern_tensor *tern_ones(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape);
TERN_API tern_tensor *tern_scalar(tern_ctx *ctx, tern_dtype dtype, double value); /* rank 0 */

/* A named input of a program: it has no data of its own and is bound when the program runs. Inputs of a captured graph, and of
 * its program, are numbered in the order in which they were made here. */
TERN_API tern_tensor *tern_input(tern_ctx *ctx, const char *name, tern_dtype dtype, int rank,
                                 const int64_t *shape);

/* A zeroed state (a KV cache, optimiser moments): tern_write_slice, tern_write_rows and tern_overwrite update it in place.
 * Each is recorded and gives a new handle; the old one may not be used in operations any more. The write happens, once
 * and in recorded order, when its result or anything else that lies in the state's memory is asked for or read by a
 * later operation. Readers recorded before it see the old values. If its result is released before that, it never
 * happens and the old handle may be used again. */
TERN_API tern_tensor *tern_state(tern_ctx *ctx, const char *name, tern_dtype dtype, int rank,
                                 const int64_t *shape);

/* Where a constant's data come from. `fill` writes bytes [offset, offset + bytes) of the contiguous form to `data`, the same each
 * time: it is called when they are needed, and again if they were let go since. Any thread may call it, never two at once. If it
 * fails, so does what needed them, with its status. `drop` (or NULL) is called when nobody will ask again. Pieces that start and
 * end at a multiple of `step` bytes may be asked for, so that a large constant is packed without ever being in memory whole; 0: all
 * of it is, always. */
typedef struct tern_constant_source {
    tern_status (*fill)(void *user, size_t offset, void *data, size_t bytes);
    void (*drop)(void *user);
    void *user;
    size_t step;
} tern_constant_source;

/* A constant whose data are in memory only while something needs them in this form: weights of a file that kernels read packed
 * need memory once, not twice. Asking for its data (tern_data, tern_map, saving) keeps them for good. `user` is
 * dropped if the call fails. */
TERN_API tern_tensor *tern_constant(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape,
                                    const tern_constant_source *source);

/* Evaluates `t` and makes it a constant (weights): the compiler may fold and repack it; writing to it is an error. */
TERN_API tern_status tern_freeze(tern_tensor *t);

/* Calls `t`, recorded or evaluated, by a name in the graphs that are captured from now on: their text form prints it and every
 * report shows it. An identifier (letters, digits, '_' and '.', not first a digit or '.'), at most 256 bytes; it is
 * copied, and takes the place of an earlier one. Of two tensors of one graph with the same name the second is numbered.
 * The name under which an input is bound stays what it was. */
TERN_API tern_status tern_name(tern_tensor *t, const char *name);

/* ---- Looking (a NULL tensor has rank 0, no elements and no data) ------------------------------------------------------------------------------------------------ */

TERN_API tern_ctx *
tern_ctx_of(const tern_tensor *t); /* NULL for error tensors made without context or memory */
TERN_API tern_dtype tern_dtype_of(const tern_tensor *t);
TERN_API int tern_rank(const tern_tensor *t);
TERN_API const int64_t *tern_shape(const tern_tensor *t); /* tern_rank(t) sizes; valid while t is */
TERN_API int64_t tern_dim(const tern_tensor *t,
                          int axis); /* negative axes count from the end; -1 if out of range */
TERN_API int64_t tern_numel(const tern_tensor *t);
TERN_API size_t tern_nbytes(const tern_tensor *t);          /* of the contiguous form */
TERN_API const char *tern_device_of(const tern_tensor *t);  /* where it is, or will be: "cpu" */
TERN_API const char *tern_backend_of(const tern_tensor *t); /* what computes there: "native" */

TERN_API tern_status tern_status_of(const tern_tensor *t);  /* TERN_OK unless t is an error tensor */
TERN_API const char *tern_message_of(const tern_tensor *t); /* its message, "" if none; valid while t is */
TERN_API bool tern_is_evaluated(const tern_tensor *t);      /* its data exists */
TERN_API bool tern_is_constant(const tern_tensor *t);

/* ---- Evaluating --------------------------------------------------------------------------------------------- */

/* Computes exactly the tensors named (and the base of any that is a view: they share storage). They become
 * leaves; other handles keep their recipe and recompute if asked later. */
TERN_API tern_status tern_eval(tern_tensor *t);
/* One failing (an index out of range) fails the call; what was complete by then is kept. */
TERN_API tern_status tern_eval_all(int n, tern_tensor *const *tensors);

/* Evaluates if need be and returns contiguous data, or NULL (tern_last_error says why: an error tensor, another
 * dtype, out of memory). A strided view is first made contiguous in a copy that belongs to `t`. The pointer is
 * valid until `t` dies. A copy shows what the tensor was when it was last asked for. */
TERN_API const void *tern_data(tern_tensor *t);
TERN_API const float *tern_data_f32(tern_tensor *t);
TERN_API const double *tern_data_f64(tern_tensor *t);
TERN_API const int8_t *tern_data_i8(tern_tensor *t);
TERN_API const uint8_t *tern_data_u8(tern_tensor *t);
TERN_API const int32_t *tern_data_i32(tern_tensor *t);
TERN_API const int64_t *tern_data_i64(tern_tensor *t);
TERN_API const uint8_t *tern_data_bool(tern_tensor *t);

/* Copies the contiguous form into `out`, which holds `bytes` >= tern_nbytes(t). */
TERN_API tern_status tern_read(tern_tensor *t, void *out, size_t bytes);

/* ---- Storage and views --------------------------------------------------------------------------------------
 * reshape, slice, permute, transpose, squeeze, unsqueeze and broadcast are views where they can be: they share
 * storage, and a write through one is visible in the others. Where that is impossible (a reshape of a transposed
 * tensor) they copy; tern_shares_storage tells. */

TERN_API tern_tensor *tern_transpose(tern_tensor *x, int axis_a, int axis_b);
TERN_API tern_tensor *tern_squeeze(tern_tensor *x, int axis);   /* the axis must have size 1 */
TERN_API tern_tensor *tern_unsqueeze(tern_tensor *x, int axis); /* in [-rank-1, rank] */
/* Elements start, start+1, ... stop-1 of one axis; negatives count from the end. The general form is tern_slice. */
TERN_API tern_tensor *tern_narrow(tern_tensor *x, int axis, int64_t start, int64_t stop);

/* Evaluates both; true if their data lie in one storage. */
TERN_API tern_status tern_shares_storage(tern_tensor *a, tern_tensor *b, bool *out);

/* Where the data of `t` are right now (evaluates it): pointer to element [0,0,...] and strides in elements (bytes
 * for t2 and t5; tern_rank(t) of them are written). No copy. Valid until `t` dies. What is recorded before is computed
 * first, so writing there is as if in place; from then on readers see what is there when they are evaluated. Constants
 * must not be written. */
TERN_API tern_status tern_map(tern_tensor *t, void **data, int64_t *strides);

/* Packs `n` tensors of one type into one contiguous storage [n, shape...]; out[i] is a view of row i. */
TERN_API tern_status tern_batch_layout(int n, tern_tensor *const *tensors, tern_tensor **batch,
                                       tern_tensor **out);

/* ---- Writing in place -----------------------------------------------------------------------------------------
 * These act at once: pending readers of the old values are evaluated first, so programs behave as if every
 * operation had run when it was recorded. The pointer stays; no tensor storage is allocated unless an operand
 * overlaps the target in another order. `b` broadcasts to the shape of `t` and is converted to its type. */
TERN_API tern_status tern_assign(tern_tensor *t, tern_tensor *b); /* t = b */
TERN_API tern_status tern_add_(tern_tensor *t, tern_tensor *b);
TERN_API tern_status tern_sub_(tern_tensor *t, tern_tensor *b);
TERN_API tern_status tern_mul_(tern_tensor *t, tern_tensor *b);
TERN_API tern_status tern_div_(tern_tensor *t, tern_tensor *b);
TERN_API tern_status tern_fill_(tern_tensor *t, double value);
/* Any elementwise op by name, t = op(t, rest...): tern_apply_(t, "clamp", "low=0 high=6", 0, NULL). */
TERN_API tern_status tern_apply_(tern_tensor *t, const char *op, const char *attributes, int n_rest,
                                 tern_tensor *const *rest);

/* ---- Any operation by name -------------------------------------------------------------------------------------
 * `attributes` in the text form: "axes=[0,1] keepdims=true"; NULL or "" = defaults. Results go to out[0..n_out);
 * n_out must be the op's number of results. All are error tensors if the call is bad. For callers that learn
 * the op at run time: parsers, bindings, tests. */
TERN_API void tern_apply(tern_ctx *ctx, const char *op, const char *attributes, int n_in,
                         tern_tensor *const *in, int n_out, tern_tensor **out);

#ifdef __cplusplus
}
#endif
#endif

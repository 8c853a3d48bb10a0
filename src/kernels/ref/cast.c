/* cast.c - reference kernels that move elements into another type or another shape: cast and copy.
 *
 * Both are one function: result element i, in row-major order, is operand element i, whatever their shapes
 * (a copy makes reshapes that no view can). Where a packed type is involved the items of work are rows of
 * the result (its last axis), else elements. */
#include "base/status.h"
#include "kernels/ref/loops.h"
#include "tensor/blocks.h"
#include "tensor/convert.h"
#include "tensor/ternary.h"

/* Columns of a packed row at a time, through the stack: whole units of all packed types. */
enum { BLOCK = 1280 };
_Static_assert(BLOCK % (TERN_T2_PER_BYTE * TERN_T5_PER_BYTE) == 0, "blocks end on bytes of t2 and of t5");
_Static_assert(BLOCK % TERN__BLOCK_MOST == 0, "blocks end on blocks");

static void convert_run(const tern__element_run *run)
{
    tern_dtype from = run->args->in[0].type->dtype, to = run->args->out[0].type->dtype;
    tern__convert(from, run->at[0], run->step[0] / (int64_t)tern__dtype_unit_bytes(from), to, run->at[1],
                  run->step[1] / (int64_t)tern__dtype_unit_bytes(to), run->n);
}

/* ---- elements, between shapes of equal count ----------------------------------------------------------- */

/* A row-major block seen in the shape of the other operand. */
static tern__buffer reshaped(const tern__buffer *block, const tern__type *shape, tern__type *type,
                             tern__layout *layout)
{
    *type = *shape;
    type->dtype = block->type->dtype;
    tern__layout_contiguous(type, layout);
    return (tern__buffer){block->data, type, layout->strides};
}

static tern_status reshape_elements(tern__kernel_args *args, int64_t begin, int64_t end)
{
    tern__buffer in = args->in[0], out = args->out[0];
    tern__type type;
    tern__layout layout;
    tern__kernel_args again = {.n_in = 1, .n_out = 1, .in = &in, .out = &out};
    if (tern__is_dense(&in)) {
        in = reshaped(&in, out.type, &type, &layout);
        return tern__elementwise(&again, begin, end, convert_run);
    }
    if (tern__is_dense(&out)) {
        out = reshaped(&out, in.type, &type, &layout);
        return tern__elementwise(&again, begin, end, convert_run);
    }
    tern_dtype from = in.type->dtype, to = out.type->dtype;
    int64_t from_bytes = (int64_t)tern__dtype_unit_bytes(from);
    int64_t to_bytes = (int64_t)tern__dtype_unit_bytes(to);
    for (int64_t i = begin; i < end; i++)
        tern__convert(from, (char *)in.data + tern__offset_of(&in, i) * from_bytes, 0, to,
                      (char *)out.data + tern__offset_of(&out, i) * to_bytes, 0, 1);
    return TERN_OK;
}

/* ---- rows, with a packed type on either side ----------------------------------------------------------- */

/* An operand as rows. A scalar is a row of one. */
typedef struct rows {
    const tern__buffer *buffer;
    tern_dtype dtype;
    int last;              /* axis that a row lies along; -1 for a scalar */
    int64_t columns, step; /* step in units; meaningless for packed types */
    int64_t bytes;         /* of a unit */
} rows;

static rows rows_of(const tern__buffer *buffer)
{
    int last = buffer->type->rank - 1;
    return (rows){buffer,
                  buffer->type->dtype,
                  last,
                  last < 0 ? 1 : buffer->type->shape[last],
                  last < 0 ? 1 : buffer->strides[last],
                  (int64_t)tern__dtype_unit_bytes(buffer->type->dtype)};
}

static char *row_at(const rows *r, int64_t row)
{
    return (char *)r->buffer->data + tern__lane_offset(r->buffer, r->last, row) * r->bytes;
}

/* Address of column `first` (a multiple of BLOCK) of a row. */
static char *block_at(const rows *r, char *row, int64_t first)
{
    bool packed = tern__dtype_is_packed(r->dtype);
    return row + (packed ? tern__row_units(r->dtype, first) : first * r->step) * r->bytes;
}

/* A row of `from` to an equally long row of `to`. Rows with gaps pass through a block without. */
static void convert_row(const rows *from, char *source, const rows *to, char *target)
{
    bool gaps_in = !tern__dtype_is_packed(from->dtype) && from->step != 1;
    bool gaps_out = !tern__dtype_is_packed(to->dtype) && to->step != 1;
    double block_in[BLOCK], block_out[BLOCK]; /* room for any type */
    for (int64_t c = 0; c < to->columns; c += BLOCK) {
        int64_t n = to->columns - c < BLOCK ? to->columns - c : BLOCK;
        char *s = block_at(from, source, c), *t = block_at(to, target, c);
        if (gaps_in)
            tern__convert(from->dtype, s, from->step, from->dtype, block_in, 1, n);
        tern__convert_row(from->dtype, gaps_in ? (void *)block_in : s, to->dtype,
                          gaps_out ? (void *)block_out : t, n);
        if (gaps_out)
            tern__convert(to->dtype, block_out, 1, to->dtype, t, to->step, n);
    }
}

/* Row `r` of the packed result, whose rows are not those of the packed operand: one column after the
 * other. */
static void regroup_row(const rows *from, const rows *to, int64_t r)
{
    int8_t values[BLOCK];
    char *target = row_at(to, r);
    for (int64_t c = 0; c < to->columns; c += BLOCK) {
        int64_t n = to->columns - c < BLOCK ? to->columns - c : BLOCK;
        for (int64_t i = 0; i < n; i++) {
            int64_t index = r * to->columns + c + i;
            const char *row = row_at(from, index / from->columns);
            values[i] = tern__ternary_at(from->dtype, (const uint8_t *)row, index % from->columns);
        }
        tern__convert_row(TERN_I8, values, to->dtype, block_at(to, target, c), n);
    }
}

static tern_status convert_rows(const tern__kernel_args *args, int64_t begin, int64_t end)
{
    rows from = rows_of(&args->in[0]), to = rows_of(&args->out[0]);
    const tern__type *in = args->in[0].type, *out = args->out[0].type;
    bool same = tern__shape_equal(in, out);
    bool regroups = in->dtype == out->dtype && tern__type_numel(in) == tern__type_numel(out) &&
                    tern__dtype_is_ternary(in->dtype);
    if (!same && !regroups)
        return TERN_INTERNAL;
    if (to.columns == 0) /* rows without elements may have no memory */
        return TERN_OK;
    for (int64_t r = begin; r < end; r++) {
        if (same)
            convert_row(&from, row_at(&from, r), &to, row_at(&to, r));
        else
            regroup_row(&from, &to, r);
    }
    return TERN_OK;
}

/* ---- the kernels --------------------------------------------------------------------------------------- */

static tern_status convert(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__type *in = args->in[0].type, *out = args->out[0].type;
    if (tern__dtype_is_packed(in->dtype) || tern__dtype_is_packed(out->dtype))
        return convert_rows(args, begin, end);
    if (tern__shape_equal(in, out))
        return tern__elementwise(args, begin, end, convert_run);
    if (tern__type_numel(in) != tern__type_numel(out))
        return TERN_INTERNAL;
    return reshape_elements(args, begin, end);
}

KERNEL(cast)
{
    return convert(args, begin, end);
}

KERNEL(copy)
{
    if (args->in[0].type->dtype != args->out[0].type->dtype)
        return TERN_INTERNAL;
    return convert(args, begin, end);
}

/* moves.c - joins, splits, flips, pads, triangles, picks by index and sorting, as OpenCL C. An element is an unsigned number as wide as
 * its type wherever nothing is computed, so that every type but the packed ones goes the same way. */
#include "devices/opencl/moves.h"

#include <stdio.h>
#include <string.h>

#include "tensor/convert.h"

typedef const tern__ocl_operand operand;

enum {
    LEAST = 16384,    /* elements that are worth a work item on a processor */
    MOST_PIECES = 16, /* operands of a join, results of a split: each has numbers of its own in a kernel */
    MOST_SORTED = 4096
};

const char *tern__ocl_carrier(tern_dtype dtype)
{
    switch (tern__dtype_unit_bytes(dtype)) {
    case 1:
        return "uchar";
    case 2:
        return "ushort";
    case 4:
        return "uint";
    default:
        return "ulong";
    }
}

const char *tern__ocl_refuse_packed(const tern__call *call)
{
    static const char *const packed = "it reads no packed types";
    for (int i = 0; i < call->n_in; i++)
        if (tern__dtype_is_packed(call->in[i]->dtype))
            return packed;
    return tern__dtype_is_packed(call->out[0].dtype) ? packed : NULL;
}

static size_t numel(operand *o)
{
    return (size_t)tern__type_numel(o->type);
}

static int axis_of(const tern__step *step, int attr, int rank)
{
    int axis = 0;
    tern__axis_normalise(step->attrs[attr].i, rank, &axis);
    return axis;
}

static void offset_of(tern__ocl_draft *d, const char *name, operand *o)
{
    tern__ocl_offset(d, name, "i", o->type->rank, o->type->shape, o->strides);
}

/* A number of the type, as the bits that its carrier has. */
static int bits_of(tern__ocl_draft *d, tern_dtype dtype, double value)
{
    int64_t bits = 0;
    tern__convert(TERN_F64, &value, 1, dtype, &bits, 1, 1);
    return tern__ocl_number(d, bits);
}

/* ---- pieces: what lies somewhere in one operand goes to somewhere in another ---- */

/* From and to which operand, from which element on, and how elements of `shape` lie there. */
typedef struct piece {
    int from, to, rank;
    int64_t from_at, to_at;
    const int64_t *shape, *from_strides, *to_strides;
} piece;

/* In a block of its own: a kernel may have several, and as many items as the largest. */
static void write_piece(tern__ocl_draft *d, const char *type, const piece *p)
{
    const size_t items = d->items, units = d->units;
    size_t n = 1;
    for (int a = 0; a < p->rank; a++)
        n *= (size_t)p->shape[a];
    tern__ocl_add(d, "{\n");
    tern__ocl_loop(d, "i", n, LEAST);
    tern__ocl_offset(d, "from", "i", p->rank, p->shape, p->from_strides);
    tern__ocl_offset(d, "to", "i", p->rank, p->shape, p->to_strides);
    tern__ocl_add(d, "((global %s *)p%d)[to + n%d] = ((global const %s *)p%d)[from + n%d];\n}\n}\n", type,
                  p->to, tern__ocl_number(d, p->to_at), type, p->from, tern__ocl_number(d, p->from_at));
    d->items = items > d->items ? items : d->items;
    d->units = units > d->units ? units : d->units;
}

const char *tern__ocl_refuse_join(const tern__call *call)
{
    return call->n_in > MOST_PIECES ? "it joins at most 16 tensors" : tern__ocl_refuse_packed(call);
}

/* Of a stack the operands have no axis to join along: theirs is one that is 1 wide. */
void tern__ocl_write_join(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const bool stacked = step->op == TERN__OP_stack;
    const int n_in = (int)step->n_in, rank = o[n_in].type->rank;
    const int axis = axis_of(step, stacked ? (int)TERN__ATTR_stack_axis : (int)TERN__ATTR_concat_axis, rank);
    int64_t start = 0;
    for (int k = 0; k < n_in; k++) {
        int64_t shape[TERN__MAX_RANK], strides[TERN__MAX_RANK];
        for (int a = 0; a < rank; a++) {
            const int own = stacked && a > axis ? a - 1 : a;
            const bool joined = stacked && a == axis;
            shape[a] = joined ? 1 : o[k].type->shape[own];
            strides[a] = joined ? 0 : o[k].strides[own];
        }
        write_piece(d, tern__ocl_carrier(o[n_in].type->dtype),
                    &(piece){.from = k,
                             .to = n_in,
                             .rank = rank,
                             .to_at = start * o[n_in].strides[axis],
                             .shape = shape,
                             .from_strides = strides,
                             .to_strides = o[n_in].strides});
        start += shape[axis];
    }
}

const char *tern__ocl_refuse_split(const tern__call *call)
{
    return call->n_out > MOST_PIECES ? "it splits into at most 16 parts" : tern__ocl_refuse_packed(call);
}

void tern__ocl_write_split(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const int rank = o[0].type->rank, axis = axis_of(step, TERN__ATTR_split_axis, rank);
    int64_t start = 0;
    for (int k = 1; k <= (int)step->n_out; k++) {
        write_piece(d, tern__ocl_carrier(o[0].type->dtype),
                    &(piece){.from = 0,
                             .to = k,
                             .rank = rank,
                             .from_at = start * o[0].strides[axis],
                             .shape = o[k].type->shape,
                             .from_strides = o[0].strides,
                             .to_strides = o[k].strides});
        start += o[k].type->shape[axis];
    }
}

void tern__ocl_write_flip(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern__attr *axes = &step->attrs[TERN__ATTR_flip_axes];
    const int rank = o[0].type->rank;
    int64_t strides[TERN__MAX_RANK], at = 0;
    memcpy(strides, o[0].strides, (size_t)rank * sizeof *strides);
    for (int i = 0; i < (axes->count ? (int)axes->count : rank); i++) {
        int a = i;
        if (axes->count)
            tern__axis_normalise(axes->ints[i], rank, &a);
        at += (o[0].type->shape[a] - 1) * o[0].strides[a];
        strides[a] = -o[0].strides[a];
    }
    write_piece(d, tern__ocl_carrier(o[0].type->dtype),
                &(piece){.from = 0,
                         .to = 1,
                         .rank = rank,
                         .from_at = at,
                         .shape = o[0].type->shape,
                         .from_strides = strides,
                         .to_strides = o[1].strides});
}

/* ---- elements that are somebody's, or a given number ---- */

void tern__ocl_write_pad(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern_dtype dtype = o[1].type->dtype;
    const char *type = tern__ocl_carrier(dtype);
    const int64_t *before = step->attrs[TERN__ATTR_pad_before].ints;
    const int rank = o[1].type->rank, value = bits_of(d, dtype, step->attrs[TERN__ATTR_pad_value].f);
    tern__ocl_loop(d, "i", numel(&o[1]), LEAST);
    offset_of(d, "to", &o[1]);
    tern__ocl_add(d, "long rest = i, from = 0;\nint inside = 1;\n");
    for (int a = rank - 1; a >= 0; a--) {
        const int size = tern__ocl_number(d, o[1].type->shape[a]);
        tern__ocl_add(d,
                      "{ long c = rest %% n%d - n%d;\nrest /= n%d;\ninside = inside && c >= 0 && c < n%d;\n"
                      "from += c * n%d; }\n",
                      size, tern__ocl_number(d, before[a]), size, tern__ocl_number(d, o[0].type->shape[a]),
                      tern__ocl_number(d, o[0].strides[a]));
    }
    tern__ocl_add(
        d, "((global %s *)p1)[to] = inside ? ((global const %s *)p0)[inside ? from : 0] : (%s)n%d;\n}\n",
        type, type, type, value);
}

void tern__ocl_write_triangle(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const bool lower = step->op == TERN__OP_tril;
    const char *type = tern__ocl_carrier(o[1].type->dtype);
    const int rank = o[1].type->rank;
    const int64_t rows = o[1].type->shape[rank - 2], columns = o[1].type->shape[rank - 1];
    /* beyond these a diagonal changes nothing */
    int64_t diagonal = step->attrs[TERN__ATTR_tril_diagonal].i;
    diagonal = diagonal < -rows ? -rows : diagonal > columns ? columns : diagonal;
    tern__ocl_loop(d, "i", numel(&o[1]), LEAST);
    offset_of(d, "from", &o[0]);
    offset_of(d, "to", &o[1]);
    const int n_columns = tern__ocl_number(d, columns), n_rows = tern__ocl_number(d, rows);
    tern__ocl_add(d,
                  "long off = i %% n%d - i / n%d %% n%d - n%d;\n"
                  "((global %s *)p1)[to] = off %s 0 ? ((global const %s *)p0)[from] : (%s)0;\n}\n",
                  n_columns, n_columns, n_rows, tern__ocl_number(d, diagonal), type,
                  lower ? "<=" : ">=", type, type);
}

/* An index outside gives zeros. */
void tern__ocl_write_one_hot(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern_dtype dtype = o[1].type->dtype;
    const char *type = tern__ocl_carrier(dtype);
    const int rank = o[1].type->rank;
    int64_t strides[TERN__MAX_RANK] = {0};
    (void)step;
    memcpy(strides, o[0].strides, (size_t)(rank - 1) * sizeof *strides);
    tern__ocl_loop(d, "i", numel(&o[1]), LEAST);
    tern__ocl_offset(d, "from", "i", rank, o[1].type->shape, strides);
    offset_of(d, "to", &o[1]);
    tern__ocl_add(
        d, "((global %s *)p1)[to] = ((global const long *)p0)[from] == i %% n%d ? (%s)n%d : (%s)0;\n}\n",
        type, tern__ocl_number(d, o[1].type->shape[rank - 1]), type, bits_of(d, dtype, 1), type);
}

/* ---- by index ---- */

/* y[.., i, ..] = x[.., indices[.., i, ..], ..]; n0 is the step's number everywhere. */
void tern__ocl_write_take_along(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const char *type = tern__ocl_carrier(o[2].type->dtype);
    const int rank = o[2].type->rank, axis = axis_of(step, TERN__ATTR_take_along_axis, rank);
    int64_t strides[TERN__MAX_RANK];
    for (int a = 0; a < rank; a++)
        strides[a] = a == axis ? 0 : o[0].strides[a];
    tern__ocl_loop(d, "i", numel(&o[2]), LEAST);
    const int size = tern__ocl_number(d, o[0].type->shape[axis]),
              along = tern__ocl_number(d, o[0].strides[axis]);
    tern__ocl_offset(d, "at", "i", rank, o[2].type->shape, o[1].strides);
    tern__ocl_offset(d, "from", "i", rank, o[2].type->shape, strides);
    offset_of(d, "to", &o[2]);
    tern__ocl_add(
        d,
        "long index = ((global const long *)p1)[at];\nif (index < 0 && index >= -n%d) index += n%d;\n"
        "if (found(fault, n0, index, n%d))\n"
        "((global %s *)p2)[to] = ((global const %s *)p0)[from + index * n%d];\n}\n",
        size, size, size, type, type, along);
}

const char *tern__ocl_refuse_scatter(const tern__call *call)
{
    const tern_dtype t = call->out[0].dtype;
    return t == TERN_F32 || t == TERN_I32 || t == TERN_I64 ? NULL
                                                           : "it adds to rows of f32, i32 and i64 only";
}

/* Items are elements of a row: each is added to in ascending order of the updates, as everywhere. */
void tern__ocl_write_scatter(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern_dtype t = o[3].type->dtype;
    const char *type = t == TERN_F32 ? "float" : t == TERN_I32 ? "uint" : "ulong"; /* integers wrap */
    const int rank = o[3].type->rank;
    size_t per_row = 1;
    (void)step;
    for (int a = 1; a < rank; a++)
        per_row *= (size_t)o[3].type->shape[a];
    const int rows = tern__ocl_number(d, o[3].type->shape[0]), m = tern__ocl_number(d, o[1].type->shape[0]);
    const int x0 = tern__ocl_number(d, o[0].strides[0]), i0 = tern__ocl_number(d, o[1].strides[0]),
              u0 = tern__ocl_number(d, o[2].strides[0]), y0 = tern__ocl_number(d, o[3].strides[0]);
    tern__ocl_loop(d, "e", per_row, 64);
    tern__ocl_offset(d, "x", "e", rank - 1, o[3].type->shape + 1, o[0].strides + 1);
    tern__ocl_offset(d, "u", "e", rank - 1, o[3].type->shape + 1, o[2].strides + 1);
    tern__ocl_offset(d, "y", "e", rank - 1, o[3].type->shape + 1, o[3].strides + 1);
    tern__ocl_add(d,
                  "global %s *to = (global %s *)p3 + y;\n"
                  "for (long r = 0; r < n%d; r++) to[r * n%d] = ((global const %s *)p0)[x + r * n%d];\n"
                  "for (long k = 0; k < n%d; k++) {\nlong row = ((global const long *)p1)[k * n%d];\n"
                  "if (row < 0 && row >= -n%d) row += n%d;\n"
                  "if (found(fault, n0, row, n%d)) to[row * n%d] += ((global const %s *)p2)[u + k * n%d];\n"
                  "}\n}\n",
                  type, type, rows, y0, type, x0, m, i0, rows, rows, rows, y0, type, u0);
}

/* ---- sorting ---- */

static int sorted_axis(tern__opcode op, const tern__attr *attrs, int rank)
{
    int axis = 0;
    tern__axis_normalise(attrs[op == TERN__OP_sort ? (int)TERN__ATTR_sort_axis : (int)TERN__ATTR_topk_axis].i,
                         rank, &axis);
    return axis;
}

/* The work grows with the square of a lane's length. */
const char *tern__ocl_refuse_sort(const tern__call *call)
{
    const tern__type *x = call->in[0];
    if (x->dtype == TERN_F64)
        return "it sorts no f64";
    if (tern__dtype_is_packed(x->dtype))
        return "it reads no packed types";
    if (x->rank == 0)
        return "it sorts no scalars";
    return x->shape[sorted_axis(tern__op_code(call->op), call->attrs, x->rank)] > MOST_SORTED
               ? "it sorts at most 4096 elements at a time"
               : NULL;
}

/* "long NAME = ..., the key of element AT": the smallest comes first. Zeros are alike, as numbers are that compare as equal. */
static void add_key(tern__ocl_draft *d, tern_dtype dtype, const char *name, const char *at, bool descending,
                    const char *nan_key)
{
    const bool real = tern__dtype_is_float(dtype);
    tern__ocl_add(d, "%s v_%s = ", real ? "float" : "long", name);
    tern__ocl_load(d, dtype, 0, at);
    if (!real) {
        tern__ocl_add(d, ";\nlong %s = %sv_%s;\n", name, descending ? "~" : "", name);
        return;
    }
    tern__ocl_add(d,
                  ";\nint b_%s = v_%s == 0 ? 0 : as_int(v_%s);\nb_%s ^= b_%s >> 31 & 0x7fffffff;\n"
                  "long %s = v_%s != v_%s ? %s : %s(long)b_%s;\n",
                  name, name, name, name, name, name, name, name, nan_key, descending ? "~" : "", name);
}

/* An element's place is the number of those that come before it; of equals the first does, so that the order is stable. */
void tern__ocl_write_sort(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const bool sort = step->op == TERN__OP_sort;
    const tern__type *x = o[0].type;
    const int axis = sorted_axis(step->op, step->attrs, x->rank);
    const bool descending =
        step->attrs[sort ? (int)TERN__ATTR_sort_descending : (int)TERN__ATTR_topk_largest].i;
    /* sort has NaN last; topk counts it as largest */
    const char *nan_key = !sort && descending ? "LONG_MIN" : "LONG_MAX";
    const char *type = tern__ocl_carrier(x->dtype);
    int64_t shape[TERN__MAX_RANK], strides[3][TERN__MAX_RANK];
    char at[64];
    int n = 0;
    for (int a = 0; a < x->rank; a++)
        if (a != axis) {
            shape[n] = x->shape[a];
            for (int k = 0; k < 3; k++)
                strides[k][n] = o[k].strides[a];
            n++;
        }
    const int size = tern__ocl_number(d, x->shape[axis]), along = tern__ocl_number(d, o[0].strides[axis]);
    const int kept = tern__ocl_number(d, o[1].type->shape[axis]);
    tern__ocl_loop(d, "i", numel(&o[0]), 64);
    tern__ocl_add(d, "long lane = i / n%d, own = i %% n%d, place = 0;\n", size, size);
    tern__ocl_offset(d, "from", "lane", n, shape, strides[0]);
    tern__ocl_offset(d, "value_at", "lane", n, shape, strides[1]);
    tern__ocl_offset(d, "index_at", "lane", n, shape, strides[2]);
    snprintf(at, sizeof at, "from + own * n%d", along);
    add_key(d, x->dtype, "mine", at, descending, nan_key);
    tern__ocl_add(d, "for (long k = 0; k < n%d; k++) {\n", size);
    snprintf(at, sizeof at, "from + k * n%d", along);
    add_key(d, x->dtype, "other", at, descending, nan_key);
    tern__ocl_add(d,
                  "place += other < mine || (other == mine && k < own);\n}\nif (place < n%d) {\n"
                  "((global %s *)p1)[value_at + place * n%d] = ((global const %s *)p0)[from + own * n%d];\n"
                  "((global long *)p2)[index_at + place * n%d] = own;\n}\n}\n",
                  kept, type, tern__ocl_number(d, o[1].strides[axis]), type, along,
                  tern__ocl_number(d, o[2].strides[axis]));
}

/* ops.c - operations that are no row programs, as OpenCL C: one row each, what it refuses and what writes it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "devices/opencl/moves.h"
#include "devices/opencl/products.h"
#include "devices/opencl/reductions.h"

typedef const tern__ocl_operand operand;

static const char *const packed_type = "it reads no packed types";

static size_t numel(operand *o)
{
    return (size_t)tern__type_numel(o->type);
}

/* ---- moving ---- */

static void offset_of(tern__ocl_draft *d, const char *name, const char *i, operand *o)
{
    tern__ocl_offset(d, name, i, o->type->rank, o->type->shape, o->strides);
}

/* Bytes of packed types, whose rows lie whole: contiguous. */
static const char *refuse_nothing(const tern__call *call)
{
    (void)call;
    return NULL;
}

static void write_bytes(tern__ocl_draft *d, operand *o)
{
    const tern__type *type = o[1].type;
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(type->dtype);
    int64_t shape[TERN__MAX_RANK], strides[2][TERN__MAX_RANK];
    size_t bytes = 1;
    for (int a = 0; a < type->rank; a++) {
        const bool last = a == type->rank - 1;
        shape[a] = last ? tern__row_units(type->dtype, type->shape[a]) * unit : type->shape[a];
        bytes *= (size_t)shape[a];
        for (int k = 0; k < 2; k++)
            strides[k][a] = last ? 1 : o[k].strides[a] * unit;
    }
    tern__ocl_loop(d, "i", bytes, 65536);
    tern__ocl_offset(d, "from", "i", type->rank, shape, strides[0]);
    tern__ocl_offset(d, "to", "i", type->rank, shape, strides[1]);
    tern__ocl_add(d, "((global uchar *)p1)[to] = ((global const uchar *)p0)[from];\n}\n");
}

/* Element i of one is element i of the other, in row-major order: contiguous, reshape. */
static void write_copy(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const char *type = tern__ocl_carrier(o[1].type->dtype);
    (void)step;
    if (tern__dtype_is_packed(o[1].type->dtype)) {
        write_bytes(d, o);
        return;
    }
    tern__ocl_loop(d, "i", numel(&o[1]), 16384);
    offset_of(d, "from", "i", &o[0]);
    offset_of(d, "to", "i", &o[1]);
    tern__ocl_add(d, "((global %s *)p1)[to] = ((global const %s *)p0)[from];\n}\n", type, type);
}

static const char *refuse_overwrite(const tern__call *call)
{
    if (call->in[0]->dtype != call->in[1]->dtype)
        return "it does not convert while it overwrites";
    return tern__ocl_refuse_packed(call);
}

static void write_overwrite(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const char *type = tern__ocl_carrier(o[2].type->dtype);
    const tern__type *x = o[1].type, *state = o[2].type;
    int64_t strides[TERN__MAX_RANK];
    (void)step;
    for (int a = 0; a < state->rank; a++) { /* x broadcasts */
        const int at = a - (state->rank - x->rank);
        strides[a] = at < 0 || x->shape[at] == 1 ? 0 : o[1].strides[at];
    }
    tern__ocl_loop(d, "i", numel(&o[2]), 16384);
    tern__ocl_offset(d, "from", "i", state->rank, state->shape, strides);
    offset_of(d, "to", "i", &o[2]);
    tern__ocl_add(d, "((global %s *)p2)[to] = ((global const %s *)p1)[from];\n}\n", type, type);
}

static const char *refuse_full(const tern__call *call)
{
    const tern_dtype t = call->out[0].dtype;
    return tern__ocl_is_small_float(t) || t == TERN_I32 ? NULL : "it fills no tensors of this type";
}

static void write_full(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const bool whole = o[0].type->dtype == TERN_I32;
    const double x = step->attrs[TERN__ATTR_full_value].f;
    tern__ocl_loop(d, "i", numel(&o[0]), 16384);
    tern__ocl_add(d, "%s value = ", whole ? "int" : "float");
    if (whole)
        tern__ocl_add(d, "(int)n%d", tern__ocl_number(d, (int64_t)x));
    else
        tern__ocl_add_float(d, x);
    tern__ocl_add(d, ";\n");
    offset_of(d, "to", "i", &o[0]);
    tern__ocl_store(d, o[0].type->dtype, 0, "to", "value");
    tern__ocl_add(d, "}\n");
}

static bool is_wide_float(tern_dtype t)
{
    return t == TERN_F32 || t == TERN_F64;
}

/* What rows do not convert. */
static const char *refuse_cast(const tern__call *call)
{
    const tern_dtype from = call->in[0]->dtype, to = call->out[0].dtype;
    if (tern__dtype_is_packed(from) || tern__dtype_is_packed(to))
        return packed_type;
    return to == TERN_F16 || to == TERN_BF16 ? "it would round twice" : NULL;
}

static void write_cast(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    static const char *const whole[] = {
        [TERN_U8] = "uchar", [TERN_I8] = "char", [TERN_I32] = "int", [TERN_I64] = "long"};
    const tern_dtype from = o[0].type->dtype, to = o[1].type->dtype;
    char value[64] = "v";
    (void)step;
    tern__ocl_loop(d, "i", numel(&o[1]), 16384);
    offset_of(d, "from", "i", &o[0]);
    offset_of(d, "to", "i", &o[1]);
    tern__ocl_add(d, "%s v = ", from == TERN_F64 ? "double" : tern__dtype_is_float(from) ? "float" : "long");
    tern__ocl_load(d, from, 0, "from");
    tern__ocl_add(d, ";\n");
    if (tern__dtype_is_float(from) && tern__dtype_is_int(to)) /* NaN gives 0 */
        snprintf(value, sizeof value, "v != v ? 0 : convert_%s_sat_rtz(v)", whole[to]);
    else if (tern__dtype_is_int(to)) /* integers wrap */
        snprintf(value, sizeof value, "(%s)v", whole[to]);
    else if (is_wide_float(to))
        snprintf(value, sizeof value, "(%s)v", to == TERN_F32 ? "float" : "double");
    if (to == TERN_I8 || to == TERN_U8)
        tern__ocl_add(d, "((global %s *)p1)[to] = %s;\n}\n", whole[to], value);
    else {
        tern__ocl_store(d, to, 1, "to", value);
        tern__ocl_add(d, "}\n");
    }
}

static const char *refuse_gather(const tern__call *call)
{
    int axis = 0;
    if (!tern__dtype_is_block(call->in[0]->dtype))
        return tern__ocl_refuse_packed(call);
    tern__axis_normalise(call->attrs[TERN__ATTR_gather_axis].i, call->in[0]->rank, &axis);
    return axis < call->in[0]->rank - 1 ? NULL : "it takes no elements out of blocks";
}

/* y[outer, indices, inner] = x[outer, index, inner]; n[0] is the step's number everywhere. Blocks are unpacked. */
static void write_gather(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern_dtype dtype = o[0].type->dtype;
    const bool blocks = tern__dtype_is_block(dtype);
    const int64_t unit = blocks ? tern_dtype_get(dtype)->unit_elements : 1;
    const char *type = tern__ocl_carrier(o[2].type->dtype);
    char at[64];
    int axis = 0;
    tern__axis_normalise(step->attrs[TERN__ATTR_gather_axis].i, o[0].type->rank, &axis);
    const int indices = o[1].type->rank, rank = o[2].type->rank;
    int64_t of_x[TERN__MAX_RANK] = {0}, of_index[TERN__MAX_RANK] = {0};
    for (int a = 0; a < rank; a++) {
        const bool is_index = a >= axis && a < axis + indices;
        of_index[a] = is_index ? o[1].strides[a - axis] : 0;
        of_x[a] = is_index                  ? 0
                  : blocks && a == rank - 1 ? 1
                                            : o[0].strides[a < axis ? a : a - indices + 1] * unit;
    }
    tern__ocl_loop(d, "i", numel(&o[2]), 16384);
    const int size = tern__ocl_number(d, o[0].type->shape[axis]),
              along = tern__ocl_number(d, o[0].strides[axis] * unit);
    tern__ocl_offset(d, "at", "i", rank, o[2].type->shape, of_index);
    tern__ocl_offset(d, "from", "i", rank, o[2].type->shape, of_x);
    offset_of(d, "to", "i", &o[2]);
    tern__ocl_add(d,
                  "long index = ((global const long *)p1)[at];\n"
                  "if (index < 0 && index >= -n%d) index += n%d;\n"
                  "if (found(fault, n0, index, n%d))\n",
                  size, size, size);
    if (!blocks) {
        tern__ocl_add(d, "((global %s *)p2)[to] = ((global const %s *)p0)[from + index * n%d];\n}\n", type,
                      type, along);
        return;
    }
    snprintf(at, sizeof at, "from + index * n%d", along);
    tern__ocl_add(d, "((global float *)p2)[to] = ");
    tern__ocl_load(d, dtype, 0, at);
    tern__ocl_add(d, ";\n}\n");
}

/* ---- states ---- */

static void add_int(tern__ocl_draft *d, operand *o, int p, const char *at)
{
    tern__ocl_add(d, "((global const %s *)p%d)[(%s) * n%d]", o->type->dtype == TERN_I32 ? "int" : "long", p,
                  at, tern__ocl_number(d, o->strides[0]));
}

/* Everything is checked before anything is written. Of rows with one place the last wins: items are elements of a row. */
static void write_write_rows(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const char *type = tern__ocl_carrier(o[4].type->dtype);
    const tern__type *x = o[1].type;
    size_t per_row = 1;
    (void)step;
    for (int a = 1; a < x->rank; a++)
        per_row *= (size_t)x->shape[a];
    const int rows = tern__ocl_number(d, x->shape[0]), x_step = tern__ocl_number(d, o[1].strides[0]);
    const int slots = tern__ocl_number(d, o[4].type->shape[0]),
              capacity = tern__ocl_number(d, o[4].type->shape[1]);
    const int by_slot = tern__ocl_number(d, o[4].strides[0]),
              by_position = tern__ocl_number(d, o[4].strides[1]);
    tern__ocl_add(d, "for (long r = 0; r < n%d; r++) {\nlong position = ", rows);
    add_int(d, &o[3], 3, "r");
    tern__ocl_add(d, ", slot = ");
    add_int(d, &o[2], 2, "r");
    tern__ocl_add(
        d,
        ";\nif (position != -1 && (!found(fault, n0, slot, n%d) || !found(fault, n0, position, n%d))) "
        "return;\n}\n",
        slots, capacity);
    tern__ocl_loop(d, "i", per_row, 4096);
    tern__ocl_offset(d, "from", "i", x->rank - 1, x->shape + 1, o[1].strides + 1);
    tern__ocl_offset(d, "to", "i", x->rank - 1, x->shape + 1, o[4].strides + 2);
    tern__ocl_add(d, "for (long r = 0; r < n%d; r++) {\nlong position = ", rows);
    add_int(d, &o[3], 3, "r");
    tern__ocl_add(d, ", slot = ");
    add_int(d, &o[2], 2, "r");
    tern__ocl_add(d,
                  ";\nif (position != -1) ((global %s *)p4)[slot * n%d + position * n%d + to] = "
                  "((global const %s *)p1)[r * n%d + from];\n}\n}\n",
                  type, by_slot, by_position, type, x_step);
}

static void write_write_slice(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const char *type = tern__ocl_carrier(o[3].type->dtype);
    char index[16];
    (void)step;
    tern__ocl_add(d, "long base = 0;\n");
    for (int a = 0; a < o[3].type->rank; a++) {
        snprintf(index, sizeof index, "%d", a);
        tern__ocl_add(d, "{ long start = ");
        add_int(d, &o[2], 2, index);
        tern__ocl_add(d, ";\nif (!found(fault, n0, start, n%d)) return;\nbase += start * n%d; }\n",
                      tern__ocl_number(d, o[3].type->shape[a] - o[1].type->shape[a] + 1),
                      tern__ocl_number(d, o[3].strides[a]));
    }
    tern__ocl_loop(d, "i", numel(&o[1]), 16384);
    offset_of(d, "from", "i", &o[1]);
    tern__ocl_offset(d, "to", "i", o[1].type->rank, o[1].type->shape, o[3].strides);
    tern__ocl_add(d, "((global %s *)p3)[base + to] = ((global const %s *)p1)[from];\n}\n", type, type);
}

/* ---- transformers ---- */

static const char *refuse_rope(const tern__call *call)
{
    return tern__ocl_is_small_float(call->in[0]->dtype) ? NULL : "it turns f32, f16 and bf16 only";
}

/* Turns of one position, theta to the power of -2j / dims, as numbers of the kernel: they cost more than all the rest. -1: there
 * are too many. */
static int add_turns(tern__ocl_draft *d, double theta, int64_t dims)
{
    enum { MOST = 160 };
    const int first = d->n_numbers;
    if (dims / 2 > MOST)
        return -1;
    for (int64_t j = 0; j < dims / 2; j++) {
        const double turn = pow(theta, (double)(-2 * j) / (double)dims);
        int64_t bits;
        memcpy(&bits, &turn, sizeof bits);
        tern__ocl_number(d, bits);
    }
    return first;
}

/* Angles are f64 where the device has it, and narrowed like the CPU's: one for all heads of a row. Items are rows with pairs. */
static void write_rope(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern_dtype t = o[0].type->dtype;
    const int64_t heads = o[0].type->shape[1], width = o[0].type->shape[2];
    const int64_t dims = step->attrs[TERN__ATTR_rope_dims].i ? step->attrs[TERN__ATTR_rope_dims].i : width;
    const int64_t pairs = dims / 2 + (width - dims + 1) / 2; /* what is not turned is copied by two */
    const bool interleaved = step->attrs[TERN__ATTR_rope_interleaved].i != 0;
    const double theta = step->attrs[TERN__ATTR_rope_theta].f;
    const char *as = t == TERN_F16 ? "round_f16" : t == TERN_BF16 ? "round_bf16" : "";
    const int n_heads = tern__ocl_number(d, heads), half = tern__ocl_number(d, dims / 2),
              n_dims = tern__ocl_number(d, dims), n_width = tern__ocl_number(d, width),
              n_pairs = tern__ocl_number(d, pairs);
    const int x0 = tern__ocl_number(d, o[0].strides[0]), x1 = tern__ocl_number(d, o[0].strides[1]),
              x2 = tern__ocl_number(d, o[0].strides[2]);
    const int y0 = tern__ocl_number(d, o[2].strides[0]), y1 = tern__ocl_number(d, o[2].strides[1]),
              y2 = tern__ocl_number(d, o[2].strides[2]);
    const int turns = add_turns(d, theta, dims);
    char at[64];
    tern__ocl_loop(d, "i", (size_t)(o[0].type->shape[0] * pairs), 64);
    tern__ocl_add(d, "long row = i / n%d, j = i %% n%d, x = row * n%d, y = row * n%d;\n", n_pairs, n_pairs,
                  x0, y0);
    tern__ocl_add(d,
                  "if (j >= n%d) {\nfor (long head = 0; head < n%d; head++, x += n%d, y += n%d)\n"
                  "for (long e = n%d + 2 * (j - n%d); e < n%d && e < n%d + 2 * (j - n%d) + 2; e++)\n"
                  "((global %s *)p2)[y + e * n%d] = ((global const %s *)p0)[x + e * n%d];\ncontinue;\n}\n",
                  half, n_heads, x1, y1, n_dims, half, n_width, n_dims, half, tern__ocl_carrier(t), y2,
                  tern__ocl_carrier(t), x2);
    tern__ocl_add(d, "real angle = (real)");
    add_int(d, &o[1], 1, "row");
    if (turns >= 0)
        tern__ocl_add(d, " * turn_of(n[%d + j]);\n", turns);
    else
        tern__ocl_add(d, " * pow((real)%a, (real)(-2 * j) / n%d);\n", theta, n_dims);
    tern__ocl_add(d, "float c = %s((float)cos(angle)), s = %s((float)sin(angle));\n", as, as);
    if (interleaved)
        tern__ocl_add(d, "long one = 2 * j, two = one + 1;\n");
    else
        tern__ocl_add(d, "long one = j, two = j + n%d;\n", half);
    tern__ocl_add(d, "for (long head = 0; head < n%d; head++, x += n%d, y += n%d) {\nfloat a = ", n_heads, x1,
                  y1);
    snprintf(at, sizeof at, "x + one * n%d", x2);
    tern__ocl_load(d, t, 0, at);
    snprintf(at, sizeof at, "x + two * n%d", x2);
    tern__ocl_add(d, ", b = ");
    tern__ocl_load(d, t, 0, at);
    tern__ocl_add(d, ";\nfloat ac = %s(a * c), bs = %s(b * s), bc = %s(b * c), as = %s(a * s);\n", as, as, as,
                  as);
    snprintf(at, sizeof at, "y + one * n%d", y2);
    tern__ocl_store(d, t, 2, at, "ac - bs");
    snprintf(at, sizeof at, "y + two * n%d", y2);
    tern__ocl_store(d, t, 2, at, "bc + as");
    tern__ocl_add(d, "}\n}\n");
}

static const char *refuse_attention(const tern__call *call)
{
    for (int i = 0; i < 3; i++)
        if (!tern__ocl_is_small_float(call->in[i]->dtype) && !(i > 0 && call->in[i]->dtype == TERN_I8))
            return "it attends to f32, f16, bf16 and i8 only";
    return call->in[0]->shape[2] <= 1024 ? NULL : "heads are wider than 1024";
}

static void add_state_at(tern__ocl_draft *d, const char *name, operand *state)
{
    tern__ocl_add(d, "long %s = slot * n%d + t * n%d + kv * n%d;\n", name,
                  tern__ocl_number(d, state->strides[0]), tern__ocl_number(d, state->strides[1]),
                  tern__ocl_number(d, state->strides[2]));
}

/* One row and head at a time: keys in ascending order, the largest score so far as base; what was mixed is scaled when it
 * changes. */
static void write_attention(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const int n_in = (int)step->n_in, y = n_in;
    const int64_t heads = o[0].type->shape[1], width = o[0].type->shape[2], kv = o[1].type->shape[2];
    const double asked = step->attrs[TERN__ATTR_attention_scale].f;
    const double scale = asked != 0 ? asked : 1 / sqrt((double)width);
    const int n_heads = tern__ocl_number(d, heads), group = tern__ocl_number(d, kv ? heads / kv : 1);
    const int slots = tern__ocl_number(d, o[1].type->shape[0]),
              capacity = tern__ocl_number(d, o[1].type->shape[1]);
    char at[96];
    tern__ocl_loop(d, "i", (size_t)(o[0].type->shape[0] * heads), 1);
    tern__ocl_add(d, "long row = i / n%d, head = i %% n%d, kv = head / n%d;\nlong position = ", n_heads,
                  n_heads, group);
    add_int(d, &o[4], 4, "row");
    tern__ocl_add(d, ", slot = ");
    add_int(d, &o[3], 3, "row");
    tern__ocl_add(d,
                  ";\nif (position == -1) slot = 0;\n"
                  "else if (!found(fault, n0, slot, n%d) || !found(fault, n0, position, n%d)) return;\n"
                  "float q[%d], mix[%d], most = -HUGE_VALF, sum = 0;\n"
                  "for (int e = 0; e < %d; e++) {\nmix[e] = 0;\nq[e] = ",
                  slots, capacity, (int)width, (int)width, (int)width);
    snprintf(at, sizeof at, "row * n%d + head * n%d + e * n%d", tern__ocl_number(d, o[0].strides[0]),
             tern__ocl_number(d, o[0].strides[1]), tern__ocl_number(d, o[0].strides[2]));
    tern__ocl_load(d, o[0].type->dtype, 0, at);
    tern__ocl_add(d, ";\n}\nfor (long t = 0; t <= position; t++) {\n");
    add_state_at(d, "k", &o[1]);
    add_state_at(d, "v", &o[2]);
    tern__ocl_add(d, "float lanes[16], score = 0;\nfor (int l = 0; l < 16; l++) lanes[l] = 0;\n");
    const int k3 = tern__ocl_number(d, o[1].strides[3]), v3 = tern__ocl_number(d, o[2].strides[3]);
    const bool dense = o[1].strides[3] == 1 && o[2].strides[3] == 1;
    const int whole = (int)(width / 16 * 16);
    snprintf(at, sizeof at, dense ? "k + e + l" : "k + (e + l) * n%d", k3);
    tern__ocl_add(
        d, "for (int e = 0; e < %d; e += 16) for (int l = 0; l < 16; l++) lanes[l] = fma(q[e + l], (float)",
        whole);
    tern__ocl_load(d, o[1].type->dtype, 1, at);
    tern__ocl_add(d, ", lanes[l]);\nfor (int e = %d, l = 0; l < %d; l++) lanes[l] = fma(q[e + l], (float)",
                  whole, (int)width - whole);
    tern__ocl_load(d, o[1].type->dtype, 1, at);
    tern__ocl_add(
        d,
        ", lanes[l]);\nfor (int w = 8; w > 0; w /= 2) for (int l = 0; l < w; l++) lanes[l] += lanes[l + w];\n"
        "float factor = %af",
        (double)(float)scale);
    if (n_in > 5) {
        tern__ocl_add(d, " / ((global const float *)p5)[slot * n%d + t * n%d + kv * n%d]",
                      tern__ocl_number(d, o[5].strides[0]), tern__ocl_number(d, o[5].strides[1]),
                      tern__ocl_number(d, o[5].strides[2]));
    }
    tern__ocl_add(
        d,
        ";\nscore = lanes[0] * factor;\n"
        "if (score > most) {\nfloat old = most == -HUGE_VALF ? 0 : exp(most - score);\nsum *= old;\n"
        "for (int e = 0; e < %d; e++) mix[e] *= old;\nmost = score;\n}\n"
        "float p = exp(score - (most == -HUGE_VALF ? 0 : most));\nsum += p;\n",
        (int)width);
    if (n_in > 6)
        tern__ocl_add(d, "p *= 1 / ((global const float *)p6)[slot * n%d + t * n%d + kv * n%d];\n",
                      tern__ocl_number(d, o[6].strides[0]), tern__ocl_number(d, o[6].strides[1]),
                      tern__ocl_number(d, o[6].strides[2]));
    snprintf(at, sizeof at, dense ? "v + e" : "v + e * n%d", v3);
    tern__ocl_add(d, "for (int e = 0; e < %d; e++) mix[e] = fma(p, (float)", (int)width);
    tern__ocl_load(d, o[2].type->dtype, 2, at);
    tern__ocl_add(
        d, ", mix[e]);\n}\nfor (int e = 0; e < %d; e++) {\nfloat value = position < 0 ? 0 : mix[e] / sum;\n",
        (int)width);
    snprintf(at, sizeof at, "row * n%d + head * n%d + e * n%d", tern__ocl_number(d, o[y].strides[0]),
             tern__ocl_number(d, o[y].strides[1]), tern__ocl_number(d, o[y].strides[2]));
    tern__ocl_store(d, o[y].type->dtype, y, at, "value");
    tern__ocl_add(d, "}\n}\n");
}

/* ---- indices of the largest ---- */

static const char *refuse_arg(const tern__call *call)
{
    return tern__ocl_is_small_float(call->in[0]->dtype) || call->in[0]->dtype == TERN_I32
               ? NULL
               : "it compares f32, f16, bf16 and i32 only";
}

static void write_arg(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const bool largest = step->op == TERN__OP_argmax;
    const tern__type *x = o[0].type;
    int axis = 0, n = 0;
    int64_t shape[TERN__MAX_RANK], strides[TERN__MAX_RANK];
    char at[64];
    tern__axis_normalise(step->attrs[TERN__ATTR_argmax_axis].i, x->rank, &axis);
    for (int a = 0; a < x->rank; a++)
        if (a != axis) {
            shape[n] = x->shape[a];
            strides[n++] = o[0].strides[a];
        }
    tern__ocl_loop(d, "i", numel(&o[1]), 1);
    const int size = tern__ocl_number(d, x->shape[axis]), along = tern__ocl_number(d, o[0].strides[axis]);
    tern__ocl_offset(d, "from", "i", n, shape, strides);
    offset_of(d, "to", "i", &o[1]);
    snprintf(at, sizeof at, "from + j * n%d", along);
    const char *type = x->dtype == TERN_I32 ? "int" : "float";
    tern__ocl_add(d, "%s best = 0;\nlong index = 0;\nfor (long j = 0; j < n%d; j++) {\n%s v = ", type, size,
                  type);
    tern__ocl_load(d, x->dtype, 0, at);
    tern__ocl_add(d,
                  ";\nif (j == 0 || (best == best && (v %s best || v != v))) { best = v; index = j; }\n}\n"
                  "((global long *)p1)[to] = index;\n}\n",
                  largest ? ">" : "<");
}

/* ---- the table ---- */

static const tern__ocl_kind kinds[] = {
    {"copy__opencl", TERN__OP_contiguous, refuse_nothing, write_copy},
    {"copy__opencl", TERN__OP_reshape, tern__ocl_refuse_packed, write_copy},
    {"cast__opencl", TERN__OP_cast, refuse_cast, write_cast},
    {"overwrite__opencl", TERN__OP_overwrite, refuse_overwrite, write_overwrite},
    {"full__opencl", TERN__OP_full, refuse_full, write_full},
    {"gather__opencl", TERN__OP_gather, refuse_gather, write_gather},
    {"write_rows__opencl", TERN__OP_write_rows, tern__ocl_refuse_packed, write_write_rows},
    {"write_slice__opencl", TERN__OP_write_slice, tern__ocl_refuse_packed, write_write_slice},
    {"rope__opencl", TERN__OP_rope, refuse_rope, write_rope},
    {"attention__opencl", TERN__OP_attention, refuse_attention, write_attention},
    {"ternary_matmul__opencl", TERN__OP_ternary_matmul, tern__ocl_refuse_ternary, tern__ocl_write_product},
    {"linear__opencl", TERN__OP_linear, tern__ocl_refuse_linear, tern__ocl_write_product},
    {"matmul__opencl", TERN__OP_matmul, tern__ocl_refuse_matmul, tern__ocl_write_product},
    {"argmax__opencl", TERN__OP_argmax, refuse_arg, write_arg},
    {"argmin__opencl", TERN__OP_argmin, refuse_arg, write_arg},
    {"reduce__opencl", TERN__OP_sum, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_prod, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_mean, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_max, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_min, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_any, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_all, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_var, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"reduce__opencl", TERN__OP_logsumexp, tern__ocl_refuse_reduction, tern__ocl_write_reduction},
    {"cumsum__opencl", TERN__OP_cumsum, tern__ocl_refuse_running, tern__ocl_write_running},
    {"join__opencl", TERN__OP_concat, tern__ocl_refuse_join, tern__ocl_write_join},
    {"join__opencl", TERN__OP_stack, tern__ocl_refuse_join, tern__ocl_write_join},
    {"split__opencl", TERN__OP_split, tern__ocl_refuse_split, tern__ocl_write_split},
    {"flip__opencl", TERN__OP_flip, tern__ocl_refuse_packed, tern__ocl_write_flip},
    {"pad__opencl", TERN__OP_pad, tern__ocl_refuse_packed, tern__ocl_write_pad},
    {"triangle__opencl", TERN__OP_tril, tern__ocl_refuse_packed, tern__ocl_write_triangle},
    {"triangle__opencl", TERN__OP_triu, tern__ocl_refuse_packed, tern__ocl_write_triangle},
    {"take_along__opencl", TERN__OP_take_along, tern__ocl_refuse_packed, tern__ocl_write_take_along},
    {"one_hot__opencl", TERN__OP_one_hot, tern__ocl_refuse_packed, tern__ocl_write_one_hot},
    {"scatter_add__opencl", TERN__OP_scatter_add, tern__ocl_refuse_scatter, tern__ocl_write_scatter},
    {"sort__opencl", TERN__OP_sort, tern__ocl_refuse_sort, tern__ocl_write_sort},
    {"sort__opencl", TERN__OP_topk, tern__ocl_refuse_sort, tern__ocl_write_sort},
};

const tern__ocl_kind *tern__ocl_kind_of(const tern__call *call, const char **why)
{
    *why = "it has no kernel for it";
    for (size_t i = 0; i < TERN__COUNT(kinds); i++) {
        if (kinds[i].op != tern__op_code(call->op))
            continue;
        *why = kinds[i].refuses(call);
        return *why ? NULL : &kinds[i];
    }
    return NULL;
}

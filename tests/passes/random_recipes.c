/* random_recipes.c - what random graphs are made of. Each recipe adds an op, or a few that belong together. */
#include <string.h>

#include "random_builder.h"

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof(list)[0]))
#define BELOW(n) random_below(&b->r, n)
#define CHANCE(percent) random_chance(&b->r, percent)

static bool is_unpacked(const tern__type *t)
{
    return !tern__dtype_is_packed(t->dtype);
}
static bool is_matrix(const tern__type *t)
{
    return is_unpacked(t) && t->rank >= 2 && t->dtype != TERN_BOOL;
}
static bool has_axis(const tern__type *t)
{
    return is_unpacked(t) && t->rank >= 1 && tern__type_numel(t) > 0;
}
static bool is_f32_rows(const tern__type *t)
{
    return t->dtype == TERN_F32 && t->rank >= 1 && tern__type_numel(t) > 0;
}
static bool is_integer(const tern__type *t)
{
    return tern__dtype_is_int(t->dtype);
}

/* A random op of those with these flags and this many operands, without attributes. */
static tern__opcode plain_op(builder *b, unsigned flags, int operands)
{
    for (;;) {
        tern__opcode op = (tern__opcode)BELOW(TERN__OP_COUNT);
        const tern__op *row = &tern__ops[op];
        if ((row->flags & flags) == flags && !(row->flags & TERN__LEAF) && row->min_in == operands &&
            row->max_in == operands && row->n_attrs == 0 && row->n_out == 1)
            return op;
    }
}

static tern_dtype any_number(builder *b)
{
    static const tern_dtype types[] = {TERN_F32, TERN_F16, TERN_BF16, TERN_F64, TERN_I32,
                                       TERN_I64, TERN_I8,  TERN_U8,   TERN_BOOL};
    return types[BELOW(COUNT(types))];
}

/* ---- elementwise ---- */

static bool unary(builder *b)
{
    tern__id x = pick(b), out;
    tern__opcode op = plain_op(b, TERN__PURE | TERN__ELEMENTWISE, 1);
    if (!add_unary(b, op, x, &out))
        return false;
    if (CHANCE(25)) /* twice: many rules are about that */
        add_unary(b, op, out, &out);
    return true;
}

static bool some_unary(builder *b)
{
    static const tern__opcode ops[] = {
        TERN__OP_neg,   TERN__OP_abs,  TERN__OP_relu,        TERN__OP_square,  TERN__OP_floor, TERN__OP_round,
        TERN__OP_relu2, TERN__OP_sign, TERN__OP_logical_not, TERN__OP_bit_not, TERN__OP_exp,   TERN__OP_silu};
    tern__id x = pick(b), out;
    return add_unary(b, ops[BELOW(COUNT(ops))], x, &out) &&
           (CHANCE(50) || add_unary(b, ops[BELOW(COUNT(ops))], out, &out));
}

static bool binary(builder *b)
{
    tern__id in[2] = {pick(b), CHANCE(10) ? pick(b) : pick(b)}, out;
    if (CHANCE(10))
        in[1] = in[0];
    return add_op(b, plain_op(b, TERN__PURE | TERN__ELEMENTWISE, 2), 2, in, NULL, &out);
}

static bool some_binary(builder *b)
{
    static const tern__opcode ops[] = {TERN__OP_add, TERN__OP_sub, TERN__OP_mul, TERN__OP_div,
                                       TERN__OP_maximum};
    tern__id in[2] = {pick(b), pick(b)}, out;
    return add_op(b, ops[BELOW(COUNT(ops))], 2, in, NULL, &out);
}

static bool number(builder *b, tern_dtype dtype, double value, int rank, const int64_t *shape, tern__id *out)
{
    int64_t sizes[TERN__MAX_RANK];
    if (rank)
        memcpy(sizes, shape, (size_t)rank * sizeof *sizes);
    tern__attr attrs[3] = {{.i = dtype}, {.ints = sizes, .count = (uint32_t)rank}, {.f = value}};
    return add_op(b, TERN__OP_full, 0, NULL, attrs, out);
}

/* x op c, c op x for numbers that are special to some rule. */
static bool with_number(builder *b)
{
    static const tern__opcode ops[] = {TERN__OP_add,       TERN__OP_sub,     TERN__OP_mul,
                                       TERN__OP_div,       TERN__OP_pow,     TERN__OP_maximum,
                                       TERN__OP_floor_div, TERN__OP_bit_and, TERN__OP_bit_or};
    static const double numbers[] = {0.0, -0.0, 1, 2, -1, 0.5, 4, 3, 0.25};
    tern__id x, c, out;
    if (!pick_where(b, is_unpacked, &x))
        return false;
    tern__type t = *type_of(b, x);
    tern_dtype dtype = CHANCE(80) ? t.dtype : any_number(b);
    if (!number(b, dtype, numbers[BELOW(COUNT(numbers))], CHANCE(60) ? 0 : t.rank, t.shape, &c))
        return false;
    bool swap = CHANCE(35);
    return add_op(b, ops[BELOW(COUNT(ops))], 2, swap ? (tern__id[]){c, x} : (tern__id[]){x, c}, NULL, &out);
}

static bool attributes(builder *b)
{
    tern__id x = pick(b), out;
    tern__attr attrs[2] = {{.f = (double)BELOW(3) - 1}, {.f = (double)BELOW(3)}};
    switch (BELOW(3)) {
    case 0:
        return add_op(b, TERN__OP_clamp, 1, &x, attrs, &out) &&
               (CHANCE(70) || add_op(b, TERN__OP_clamp, 1, &out, attrs, &out));
    case 1:
        return add_unary(b, TERN__OP_leaky_relu, x, &out);
    default:
        return add_unary(b, TERN__OP_elu, x, &out);
    }
}

static bool cast(builder *b)
{
    tern__id x = pick(b), out;
    tern_dtype from = type_of(b, x)->dtype;
    tern__attr to = {.i = any_number(b)};
    if (!add_op(b, TERN__OP_cast, 1, &x, &to, &out))
        return false;
    if (CHANCE(40)) {
        to.i = CHANCE(60) && !tern__dtype_is_packed(from) ? from : any_number(b);
        add_op(b, TERN__OP_cast, 1, &out, &to, &out);
    }
    return true;
}

static bool where(builder *b)
{
    tern__id in[3] = {pick(b), pick(b), pick(b)}, out;
    if (CHANCE(25))
        in[2] = in[1];
    if (CHANCE(25) && !number(b, TERN_BOOL, (double)BELOW(2), 0, NULL, &in[0]))
        return false;
    if (CHANCE(15))
        add_unary(b, TERN__OP_logical_not, in[0], &in[0]);
    return add_op(b, TERN__OP_where, 3, in, NULL, &out);
}

/* ---- views ---- */

static bool reshape(builder *b, tern__id x, tern__id *out)
{
    const tern__type *t = type_of(b, x);
    int64_t n = tern__type_numel(t), shape[3];
    uint32_t rank = 0;
    int64_t first = 1;
    for (int64_t d = 2; d <= 5; d++)
        if (n > 0 && n % d == 0 && CHANCE(40))
            first = d;
    shape[rank++] = first;
    if (CHANCE(25))
        shape[rank++] = 1;
    shape[rank++] = CHANCE(30) && n > 0 ? -1 : n / first;
    if (CHANCE(15) && n == 1)
        rank = 0;
    tern__attr attr = {.ints = shape, .count = rank};
    return add_op(b, TERN__OP_reshape, 1, &x, &attr, out);
}

static bool reshape_like(builder *b, tern__id x, const tern__type *like, tern__id *out)
{
    int64_t shape[TERN__MAX_RANK];
    memcpy(shape, like->shape, sizeof shape);
    tern__attr attr = {.ints = shape, .count = (uint32_t)like->rank};
    return add_op(b, TERN__OP_reshape, 1, &x, &attr, out);
}

static bool permute(builder *b, tern__id x, tern__id *out)
{
    int rank = type_of(b, x)->rank;
    int64_t axes[TERN__MAX_RANK];
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int64_t j = BELOW(i + 1), t = axes[i];
        axes[i] = axes[j];
        axes[j] = t;
    }
    for (int i = 0; i < rank; i++)
        axes[i] -= CHANCE(20) ? rank : 0;
    tern__attr attr = {.ints = axes, .count = (uint32_t)rank};
    return add_op(b, TERN__OP_permute, 1, &x, &attr, out);
}

static bool slice(builder *b, tern__id x, tern__id *out)
{
    const tern__type *t = type_of(b, x);
    int64_t start[TERN__MAX_RANK], stop[TERN__MAX_RANK], step[TERN__MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        int64_t size = t->shape[i];
        start[i] = CHANCE(60) || size == 0 ? 0 : BELOW(size);
        stop[i] = CHANCE(60) ? size : CHANCE(50) ? INT64_MAX : start[i] + BELOW(size + 1);
        step[i] = CHANCE(80) ? 1 : 1 + BELOW(3);
        if (CHANCE(10)) {
            start[i] = -1;
            stop[i] = -size - 1;
            step[i] = -1;
        }
    }
    tern__attr attrs[3] = {{.ints = start, .count = (uint32_t)t->rank},
                           {.ints = stop, .count = (uint32_t)t->rank},
                           {.ints = step, .count = (uint32_t)t->rank}};
    return add_op(b, TERN__OP_slice, 1, &x, attrs, out);
}

static bool broadcast(builder *b, tern__id x, tern__id *out)
{
    const tern__type *t = type_of(b, x);
    int64_t shape[TERN__MAX_RANK];
    uint32_t rank = 0;
    if (t->rank < 3 && CHANCE(50))
        shape[rank++] = b->sizes[CHANCE(50) ? 0 : 1];
    for (int i = 0; i < t->rank; i++)
        shape[rank++] = t->shape[i] == 1 ? b->sizes[BELOW(3)] : t->shape[i];
    tern__attr attr = {.ints = shape, .count = rank};
    return add_op(b, TERN__OP_broadcast, 1, &x, &attr, out);
}

static bool view_of(builder *b, tern__id x, tern__id *out)
{
    tern__attr device = {.text = "cpu", .count = 3};
    tern__type before = *type_of(b, x);
    switch (BELOW(8)) {
    case 0:
        return reshape(b, x, out);
    case 1:
        return reshape(b, x, out) && reshape_like(b, *out, &before, out);
    case 2:
    case 3:
        return permute(b, x, out);
    case 4:
        return broadcast(b, x, out);
    case 5:
        return CHANCE(20) ? add_op(b, TERN__OP_to_device, 1, &x, &device, out) : slice(b, x, out);
    case 6:
        return slice(b, x, out);
    default:
        return add_unary(b, CHANCE(30) ? TERN__OP_again : TERN__OP_contiguous, x, out);
    }
}

static bool views(builder *b)
{
    tern__id x = pick(b);
    int n = 1 + (int)BELOW(3);
    for (int i = 0; i < n; i++)
        if (!view_of(b, x, &x))
            return i > 0;
    return true;
}

/* ---- along axes ---- */

static bool reduce(builder *b)
{
    static const tern__opcode ops[] = {TERN__OP_sum, TERN__OP_mean, TERN__OP_prod, TERN__OP_max,
                                       TERN__OP_min, TERN__OP_any,  TERN__OP_all,  TERN__OP_logsumexp};
    tern__id x, out;
    if (!pick_where(b, is_unpacked, &x))
        return false;
    int rank = type_of(b, x)->rank;
    int64_t axes[2] = {rank > 0 ? BELOW(rank) : 0, 0};
    tern__attr attrs[3] = {
        {.ints = axes, .count = rank > 0 && CHANCE(70) ? 1 : 0}, {.i = CHANCE(50)}, {.i = 0}};
    if (CHANCE(10))
        return add_op(b, TERN__OP_var, 1, &x, attrs, &out);
    return add_op(b, ops[BELOW(COUNT(ops))], 1, &x, attrs, &out);
}

static bool along(builder *b)
{
    static const tern__opcode one[] = {TERN__OP_cumsum, TERN__OP_softmax, TERN__OP_log_softmax};
    tern__id x, out;
    if (!pick_where(b, has_axis, &x))
        return false;
    const tern__type *t = type_of(b, x);
    int64_t axis = BELOW(t->rank);
    tern__attr attrs[3] = {{.i = axis}, {.i = CHANCE(50)}};
    switch (BELOW(4)) {
    case 0:
        return add_op(b, CHANCE(50) ? TERN__OP_argmax : TERN__OP_argmin, 1, &x, attrs, &out);
    case 1:
        return add_op(b, TERN__OP_sort, 1, &x, attrs, &out);
    case 2:
        attrs[0].i = 1 + BELOW(t->shape[axis]);
        attrs[1].i = axis;
        attrs[2].i = CHANCE(50);
        return add_op(b, TERN__OP_topk, 1, &x, attrs, &out);
    default:
        return add_op(b, one[BELOW(COUNT(one))], 1, &x, attrs, &out);
    }
}

static bool norm(builder *b)
{
    tern__id in[3], out;
    if (!pick_where(b, is_f32_rows, &in[0]))
        return false;
    tern__type weight = {
        .dtype = TERN_F32, .rank = 1, .shape = {type_of(b, in[0])->shape[type_of(b, in[0])->rank - 1]}};
    uint32_t n = 1 + (uint32_t)BELOW(3);
    for (uint32_t i = 1; i < n; i++)
        if (!add_leaf(b, TERN__OP_constant, &weight, &in[i]))
            return false;
    tern__attr eps = {.f = 1e-5};
    return add_op(b, n == 3 ? TERN__OP_layernorm : TERN__OP_rmsnorm, n, in, &eps, &out);
}

/* ---- products ---- */

/* What usually follows a product: scale, bias, activation, residual, and not always all of it. */
static void finish_product(builder *b, tern__id y)
{
    const tern__type t = *type_of(b, y);
    tern__type row = {.dtype = t.dtype, .rank = 1, .shape = {t.shape[t.rank - 1]}}, each = t, whole = t;
    const tern__type *const types[] = {&row, &each, &whole};
    each.shape[t.rank - 1] = 1;
    for (int i = 0; i < 3; i++) {
        tern__id other;
        if (CHANCE(40) && add_leaf(b, CHANCE(50) ? TERN__OP_constant : TERN__OP_input, types[i], &other) &&
            !add_op(b, i == 1 ? TERN__OP_mul : TERN__OP_add, 2, (tern__id[]){y, other}, NULL, &y))
            return;
    }
    if (CHANCE(70))
        add_unary(b, CHANCE(50) ? TERN__OP_relu : TERN__OP_square, y, &y);
}

/* One to three products of one operand with constants, sometimes through a transpose. */
static bool products(builder *b)
{
    tern__id x, w, out;
    if (!pick_where(b, is_matrix, &x))
        return false;
    int n = 1 + (int)BELOW(3);
    bool flag = CHANCE(50);
    for (int i = 0; i < n; i++) {
        const tern__type *t = type_of(b, x);
        int64_t k = t->shape[t->rank - 1], columns = CHANCE(60) ? 1 + BELOW(5) : 16 + BELOW(60);
        tern__type type = {.dtype = t->dtype, .rank = 2, .shape = {flag ? columns : k, flag ? k : columns}};
        tern__attr attrs[2] = {{.i = 0}, {.i = flag}};
        if (!add_leaf(b, CHANCE(85) ? TERN__OP_constant : TERN__OP_input, &type, &w))
            return false;
        if (CHANCE(25)) {
            tern__attr swap = {.ints = (int64_t[]){1, 0}, .count = 2};
            if (!add_op(b, TERN__OP_permute, 1, &w, &swap, &w))
                return false;
            attrs[1].i = !flag;
        }
        if (!add_op(b, TERN__OP_matmul, 2, (tern__id[]){x, w}, attrs, &out))
            return i > 0;
        if (CHANCE(50))
            finish_product(b, out);
    }
    return true;
}

/* Two values that happen to fit, with random flags and transposes. */
static bool any_matmul(builder *b)
{
    tern__id in[2], out;
    if (!pick_where(b, is_matrix, &in[0]))
        return false;
    in[1] = CHANCE(30) ? in[0] : pick(b);
    for (int i = 0; i < 2; i++) {
        int rank = type_of(b, in[i])->rank;
        int64_t axes[TERN__MAX_RANK];
        for (int a = 0; a < rank; a++)
            axes[a] = a;
        if (rank < 2 || CHANCE(60))
            continue;
        axes[rank - 1] = rank - 2;
        axes[rank - 2] = rank - 1;
        tern__attr attr = {.ints = axes, .count = (uint32_t)rank};
        if (!add_op(b, TERN__OP_permute, 1, &in[i], &attr, &in[i]))
            return false;
    }
    tern__attr attrs[2] = {{.i = CHANCE(50)}, {.i = CHANCE(50)}};
    for (int i = 0; i < 4; i++) {
        attrs[i & 1].i ^= 1;
        if (add_op(b, TERN__OP_matmul, 2, in, attrs, &out))
            return true;
    }
    return false;
}

/* The path of a ternary layer: quantise, multiply by one to three weights, scale back. */
static bool ternary(builder *b)
{
    tern__id x, q, y, w;
    tern__attr dtype = {.i = CHANCE(50) ? TERN_T2 : TERN_T5};
    if (!pick_where(b, is_f32_rows, &x))
        return false;
    const tern__type *t = type_of(b, x);
    int64_t k = t->shape[t->rank - 1];
    if (CHANCE(20))
        return add_op(b, TERN__OP_ternary_quantise, 1, &x, &dtype, &q) &&
               add_op(b, TERN__OP_ternary_dequantise, 2, (tern__id[]){q, q + 1}, NULL, &y);
    if (!add_op(b, CHANCE(70) ? TERN__OP_quantise_rows : TERN__OP_quantise_tensor, 1, &x, NULL, &q))
        return false;
    tern__id scale = q + 1;
    if (CHANCE(30)) {
        if (!add_op(b, TERN__OP_dequantise, 2, (tern__id[]){q, scale}, NULL, &y))
            return false;
        return add_op(b, TERN__OP_quantise, 2, (tern__id[]){y, scale}, NULL, &y);
    }
    int n = 1 + (int)BELOW(3);
    for (int i = 0; i < n; i++) {
        tern__type type = {.dtype = (tern_dtype)dtype.i, .rank = 2, .shape = {1 + BELOW(6), k}};
        if (!add_leaf(b, TERN__OP_constant, &type, &w) ||
            !add_op(b, TERN__OP_ternary_matmul, 2, (tern__id[]){q, w}, NULL, &y))
            return i > 0;
        if (add_op(b, TERN__OP_dequantise, 2, (tern__id[]){y, scale}, NULL, &y) && CHANCE(50))
            finish_product(b, y);
    }
    return true;
}

/* A layer or head with weights of 16 bits, in blocks or of 8 bits. */
static bool linear(builder *b)
{
    static const tern_dtype dtypes[] = {TERN_F16,  TERN_BF16, TERN_F32, TERN_Q8_0,
                                        TERN_Q6_K, TERN_Q4_0, TERN_Q4_K};
    tern__id x, y, w;
    if (!pick_where(b, is_f32_rows, &x))
        return false;
    const tern__type *t = type_of(b, x);
    const int64_t k = t->shape[t->rank - 1];
    const bool bytes = CHANCE(25);
    tern__type type = {.rank = 2, .shape = {1 + BELOW(40), k}};
    type.dtype = bytes ? TERN_I8 : dtypes[BELOW(sizeof dtypes / sizeof *dtypes)];
    if (bytes && !add_op(b, TERN__OP_quantise_rows, 1, &x, NULL, &x))
        return false;
    if (!add_leaf(b, CHANCE(80) ? TERN__OP_constant : TERN__OP_input, &type, &w) ||
        !add_op(b, TERN__OP_linear, 2, (tern__id[]){x, w}, NULL, &y))
        return false;
    if (CHANCE(50))
        finish_product(b, y);
    return true;
}

/* ---- moving ---- */

static bool join(builder *b)
{
    tern__id in[3], out;
    if (!pick_where(b, has_axis, &in[0]))
        return false;
    uint32_t n = 1 + (uint32_t)BELOW(3);
    for (uint32_t i = 1; i < n; i++)
        in[i] = CHANCE(50) ? in[0] : pick(b);
    tern__attr axis = {.i = BELOW(type_of(b, in[0])->rank)};
    return add_op(b, CHANCE(70) ? TERN__OP_concat : TERN__OP_stack, n, in, &axis, &out);
}

static bool cut(builder *b)
{
    tern__id x, out;
    if (!pick_where(b, has_axis, &x))
        return false;
    const tern__type *t = type_of(b, x);
    int axis = (int)BELOW(t->rank);
    int64_t size = t->shape[axis], first = BELOW(size + 1), sizes[2] = {first, size - first};
    uint32_t parts = 2;
    if (CHANCE(15)) {
        sizes[0] = size;
        parts = 1;
    }
    tern__attr attrs[2] = {{.ints = sizes, .count = parts}, {.i = axis}};
    return add_op(b, TERN__OP_split, 1, &x, attrs, &out);
}

static bool pad_or_flip(builder *b)
{
    tern__id x, out;
    if (!pick_where(b, has_axis, &x))
        return false;
    int rank = type_of(b, x)->rank;
    int64_t before[TERN__MAX_RANK], after[TERN__MAX_RANK], axis = BELOW(rank);
    bool none = CHANCE(20);
    for (int i = 0; i < rank; i++) {
        before[i] = none ? 0 : BELOW(2);
        after[i] = none ? 0 : BELOW(2);
    }
    tern__attr pad[3] = {
        {.ints = before, .count = (uint32_t)rank}, {.ints = after, .count = (uint32_t)rank}, {.f = 1}};
    tern__attr flip = {.ints = &axis, .count = 1}, diagonal = {.i = 0};
    switch (BELOW(3)) {
    case 0:
        return add_op(b, TERN__OP_pad, 1, &x, pad, &out);
    case 1:
        return add_op(b, TERN__OP_flip, 1, &x, &flip, &out) &&
               (CHANCE(60) || add_op(b, TERN__OP_flip, 1, &out, &flip, &out));
    default:
        return rank >= 2 && add_op(b, CHANCE(50) ? TERN__OP_tril : TERN__OP_triu, 1, &x, &diagonal, &out);
    }
}

/* Indices in [0, limit): constants, or computed ones that were clamped. */
static bool indices(builder *b, int rank, const int64_t *shape, int64_t limit, tern__id *out)
{
    tern__attr bounds[2] = {{.f = 0}, {.f = (double)(limit - 1)}};
    tern__id x;
    if (rank == 1 && CHANCE(20) && pick_where(b, is_integer, &x) && type_of(b, x)->rank == 1 &&
        type_of(b, x)->shape[0] == shape[0])
        return add_op(b, TERN__OP_clamp, 1, &x, bounds, out);
    return add_index_leaf(b, CHANCE(50) ? TERN_I64 : TERN_I32, rank, shape, 0, limit, out);
}

static bool by_index(builder *b)
{
    tern__id x, at, updates, out;
    if (!pick_where(b, has_axis, &x))
        return false;
    tern__type t = *type_of(b, x);
    int axis = (int)BELOW(t.rank);
    int64_t n = 1 + BELOW(3), shape[TERN__MAX_RANK];
    tern__attr attr = {.i = axis}, one_hot[2] = {{.i = 3}, {.i = TERN_F32}};
    memcpy(shape, t.shape, sizeof shape);
    switch (BELOW(4)) {
    case 0:
        return indices(b, 1, &n, t.shape[axis], &at) &&
               add_op(b, TERN__OP_gather, 2, (tern__id[]){x, at}, &attr, &out);
    case 1:
        shape[axis] = n;
        return add_index_leaf(b, TERN_I64, t.rank, shape, 0, t.shape[axis], &at) &&
               add_op(b, TERN__OP_take_along, 2, (tern__id[]){x, at}, &attr, &out);
    case 2:
        t.shape[0] = n;
        return indices(b, 1, &n, shape[0], &at) && add_leaf(b, TERN__OP_input, &t, &updates) &&
               add_op(b, TERN__OP_scatter_add, 3, (tern__id[]){x, at, updates}, NULL, &out);
    default:
        return is_integer(&t) && add_op(b, TERN__OP_one_hot, 1, &x, one_hot, &out);
    }
}

/* ---- models and images ---- */

static bool model(builder *b)
{
    int64_t rows = 1 + BELOW(3), heads = 2, d = 4, slots = 2, capacity = 4;
    tern__type q = {.dtype = TERN_F32, .rank = 3, .shape = {rows, heads, d}};
    tern__type kv = {.dtype = TERN_F32, .rank = 4, .shape = {slots, capacity, 1, d}};
    tern__id in[5], positions, out;
    tern__attr rope[3] = {{.f = 10000}, {.i = 0}, {.i = CHANCE(50)}}, scale = {.f = 0};
    if (!add_leaf(b, TERN__OP_input, &q, &in[0]) ||
        !add_index_leaf(b, TERN_I32, 1, &rows, -1, capacity, &positions) ||
        !add_op(b, TERN__OP_rope, 2, (tern__id[]){in[0], positions}, rope, &in[0]))
        return false;
    if (CHANCE(50))
        return true;
    if (!add_index_leaf(b, TERN_I32, 1, &rows, 0, slots, &in[3]))
        return false;
    for (int i = 1; i < 3; i++) {
        tern__type row = {.dtype = TERN_F32, .rank = 3, .shape = {rows, 1, d}};
        tern__id x;
        if (!add_leaf(b, b->options.writes ? TERN__OP_state : TERN__OP_constant, &kv, &in[i]))
            return false;
        if (b->options.writes &&
            (!add_leaf(b, TERN__OP_input, &row, &x) ||
             !add_op(b, TERN__OP_write_rows, 4, (tern__id[]){in[i], x, in[3], positions}, NULL, &in[i])))
            return false;
    }
    in[4] = positions;
    return add_op(b, TERN__OP_attention, 5, in, &scale, &out);
}

static bool image(builder *b)
{
    tern__type x = {.dtype = TERN_F32, .rank = 4, .shape = {1, 2, 4, 4}};
    tern__type weight = {.dtype = TERN_F32, .rank = 4, .shape = {2, 2, 2, 2}};
    tern__attr attrs[8];
    tern__id in[2], out;
    if (!add_leaf(b, TERN__OP_input, &x, &in[0]) || !add_leaf(b, TERN__OP_constant, &weight, &in[1]))
        return false;
    tern__op_default_attrs(&tern__ops[TERN__OP_conv2d], attrs);
    if (!add_op(b, TERN__OP_conv2d, 2, in, attrs, &out))
        return false;
    return add_unary(b, CHANCE(50) ? TERN__OP_max_pool2d : TERN__OP_avg_pool2d, out, &out);
}

static bool source(builder *b)
{
    tern__id out;
    int64_t shape[1] = {b->sizes[2]};
    tern_dtype dtype = CHANCE(50) ? TERN_F32 : TERN_I32;
    tern__attr arange[4] = {{.i = dtype}, {.f = 0}, {.f = (double)b->sizes[2]}, {.f = 1}};
    tern__attr eye[4] = {{.i = dtype}, {.i = b->sizes[1]}, {.i = b->sizes[2]}, {.i = 0}};
    tern__attr noise[3] = {{.i = TERN_F32}, {.ints = shape, .count = 1}, {.i = BELOW(3)}};
    switch (BELOW(4)) {
    case 0:
        return add_op(b, TERN__OP_arange, 0, NULL, arange, &out);
    case 1:
        return add_op(b, TERN__OP_eye, 0, NULL, eye, &out);
    case 2:
        return add_op(b, CHANCE(50) ? TERN__OP_rand : TERN__OP_randn, 0, NULL, noise, &out);
    default:
        return number(b, dtype, (double)BELOW(3), 1, shape, &out);
    }
}

/* ---- the same again, and writes ---- */

/* An op that is there already, with the same operands or with them exchanged. */
static bool again(builder *b)
{
    tern__id v = pick(b), out;
    const tern__gnode node = b->g->nodes[b->g->values[v].node];
    tern__id in[8];
    if (!(tern__ops[node.op].flags & TERN__PURE) || node.n_in > 8)
        return false;
    if (node.n_in)
        memcpy(in, node.in, node.n_in * sizeof *in);
    if (node.n_in == 2 && CHANCE(30)) {
        in[0] = node.in[1];
        in[1] = node.in[0];
    }
    return add_op(b, node.op, node.n_in, in, node.attrs, &out);
}

static bool write(builder *b)
{
    tern__id target = 0, x = pick(b), at, out;
    bool found = false;
    for (int i = 0; i < 12 && !found; i++) {
        target = (tern__id)BELOW(b->g->n_values);
        found = b->facts[target].writable && !b->facts[target].spent;
    }
    if (!b->options.writes || !found)
        return false;
    tern__type t = *type_of(b, target), part = t;
    if (CHANCE(50))
        return b->facts[x].base != b->facts[target].base &&
               add_op(b, TERN__OP_overwrite, 2, (tern__id[]){target, x}, NULL, &out);
    int64_t rank = t.rank;
    for (int i = 0; i < t.rank; i++)
        part.shape[i] = t.shape[i] > 0 ? 1 : 0;
    return t.rank > 0 && is_unpacked(&t) && tern__type_numel(&t) > 0 &&
           add_leaf(b, TERN__OP_input, &part, &x) && add_index_leaf(b, TERN_I64, 1, &rank, 0, 1, &at) &&
           add_op(b, TERN__OP_write_slice, 3, (tern__id[]){target, x, at}, NULL, &out);
}

typedef bool recipe(builder *b);

void random_recipe(builder *b)
{
    static const struct {
        recipe *make;
        int weight;
    } recipes[] = {{unary, 10},     {some_unary, 10}, {binary, 10},  {some_binary, 12}, {with_number, 14},
                   {attributes, 4}, {cast, 8},        {where, 6},    {views, 22},       {reduce, 8},
                   {along, 6},      {norm, 3},        {products, 6}, {any_matmul, 6},   {ternary, 5},
                   {linear, 4},     {join, 5},        {cut, 5},      {pad_or_flip, 5},  {by_index, 5},
                   {model, 2},      {image, 1},       {source, 5},   {again, 14},       {write, 5}};
    int all = 0;
    for (int64_t i = 0; i < COUNT(recipes); i++)
        all += recipes[i].weight;
    int64_t at = BELOW(all);
    for (int64_t i = 0; i < COUNT(recipes); i++) {
        at -= recipes[i].weight;
        if (at < 0) {
            recipes[i].make(b);
            return;
        }
    }
}

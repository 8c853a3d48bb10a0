/* rows.c - row programs as OpenCL C: the same instructions as on the CPU (kernels/row/rowops.def), in registers. Where nothing is
 * reduced and everything lies alike, items are elements; else rows: what is known once per row is computed before the loops
 * over it, each reduction is a loop, and what is stored is computed again in the last one. Results may lie where operands do: so
 * nothing is stored before the last loop, and an element is stored when everything that is computed of it was read.
 *
 * Sums have sixteen lanes that are folded like the CPU's, in f64 where the device has it: then they have the same bits. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "devices/opencl/opencl.h"
#include "kernels/row/program.h"

/* Each MAP of rowops.def in OpenCL C: one that is missing does not compile. X, Y, Z: operands; A, B: immediates. */
#define TEXT_neg "-X"
#define TEXT_abs "fabs(X)"
#define TEXT_sign "(X == 0 ? 0.0f : X != X ? X : copysign(1.0f, X))"
#define TEXT_square "X * X"
#define TEXT_relu "(X <= 0 ? 0.0f : X)"
#define TEXT_relu2 "(X < 0 ? 0.0f : X) * (X < 0 ? 0.0f : X)"
#define TEXT_clamp "(X < A ? (A > B ? B : A) : X > B ? B : X)"
#define TEXT_floor "floor(X)"
#define TEXT_ceil "ceil(X)"
#define TEXT_trunc "trunc(X)"
#define TEXT_round "rint(X)"
#define TEXT_reciprocal "quotient(1.0f, X)"
#define TEXT_sqrt "root(X)"
#define TEXT_rsqrt "(float)(1 / sqrt((real)X))"
#define TEXT_exp "exp(X)"
#define TEXT_exp2 "exp2(X)"
#define TEXT_log "log(X)"
#define TEXT_log2 "log2(X)"
#define TEXT_sin "sin(X)"
#define TEXT_cos "cos(X)"
#define TEXT_tanh "tanh(X)"
#define TEXT_erf "erf(X)"
#define TEXT_leaky_relu "(X < 0 ? A * X : X)"
#define TEXT_gelu "0.5f * X * erfc(X * -0.70710678f)"
#define TEXT_gelu_tanh "X / (1 + exp(-1.5957691f * (X + 0.044715f * X * X * X)))"
#define TEXT_silu "X / (1 + exp(-X))"
#define TEXT_sigmoid "1 / (1 + exp(-X))"
#define TEXT_expm1 "expm1(X)"
#define TEXT_log1p "log1p(X)"
#define TEXT_softplus "(X > 0 ? X + log1p(exp(-X)) : log1p(exp(X)))"
#define TEXT_elu "(X > 0 ? X : A * expm1(X))"
#define TEXT_sinh "sinh(X)"
#define TEXT_cosh "cosh(X)"
#define TEXT_tan "tan(X)"
#define TEXT_asin "asin(X)"
#define TEXT_acos "acos(X)"
#define TEXT_atan "atan(X)"
#define TEXT_cbrt "cbrt(X)"
#define TEXT_pow "pow(X, Y)"
#define TEXT_atan2 "atan2(X, Y)"
#define TEXT_add "X + Y"
#define TEXT_sub "X - Y"
#define TEXT_mul "X * Y"
#define TEXT_div "quotient(X, Y)"
#define TEXT_maximum "larger(X, Y)"
#define TEXT_minimum "smaller(X, Y)"
#define TEXT_eq "(X == Y ? 1.0f : 0.0f)"
#define TEXT_ne "(X != Y ? 1.0f : 0.0f)"
#define TEXT_lt "(X < Y ? 1.0f : 0.0f)"
#define TEXT_le "(X <= Y ? 1.0f : 0.0f)"
#define TEXT_gt "(X > Y ? 1.0f : 0.0f)"
#define TEXT_ge "(X >= Y ? 1.0f : 0.0f)"
#define TEXT_where "(X != 0 ? Y : Z)"
#define TEXT_add_i32 "(int)((uint)X + (uint)Y)"
#define TEXT_sub_i32 "(int)((uint)X - (uint)Y)"
#define TEXT_mul_i32 "(int)((uint)X * (uint)Y)"
#define TEXT_f32_from_i32 "convert_float(X)"
#define TEXT_i32_from_f32 "(X != X ? 0 : convert_int_sat_rtz(X))"
#define TEXT_round_f16 "round_f16(X)"
#define TEXT_round_bf16 "round_bf16(X)"
#define TEXT_quantise_i8 "quantise_i8(X)"

#define TEXT_OF_MAP(name) TEXT_##name
#define TEXT_OF_REDUCE(name) NULL
#define TEXT_OF_LOAD(name) NULL
#define TEXT_OF_STORE(name) NULL
#define TEXT_OF_COPY(name) NULL
#define TEXT_OF_GATHER(name) NULL

static const char *const maps[TERN__ROWOP_COUNT] = {
#define TERN_ROWOP(name, operands, kind) [TERN__ROWOP_##name] = TEXT_OF_##kind(name),
#include "kernels/row/rowops.def"
#undef TERN_ROWOP
};

const char *tern__ocl_map_text(tern__rowop op)
{
    return maps[op];
}

typedef struct writer {
    tern__ocl_draft *d;
    const tern__row_program *p;
    const tern__ocl_operand *operands;                       /* inputs, then results */
    int64_t strides[TERN__ROW_MAX_OPERANDS][TERN__MAX_RANK]; /* over the domain's axes */
    int of_row[TERN__ROW_MAX_OPERANDS]; /* number of the stride along the row; -1: 0, -2: 1 */
    bool flat;                          /* items are elements */
    const tern__ocl_tile *tile;         /* the program is the epilogue of a product */
} writer;

static int64_t row_size(const tern__row_program *p)
{
    return p->domain.rank ? p->domain.shape[p->domain.rank - 1] : 1;
}

/* ---- where elements lie ---- */

/* Operand k of the program: the kernel's pointer. */
static int pointer_of(const writer *w, int k)
{
    const int n_in = w->p->n_in;
    return !w->tile ? k : k < n_in ? w->tile->pointers[k] : w->tile->n_in + k - n_in;
}

/* Is it the product that the program is behind? */
static bool is_product(const writer *w, int k)
{
    return w->tile && k == w->p->n_in - 1;
}

/* Strides of operand k over the axes of the domain: 0 where it has none, or one element only. */
static void spread(writer *w, int k)
{
    const tern__ocl_operand *o = &w->operands[pointer_of(w, k)];
    const int rank = w->p->domain.rank;
    const bool squeezed = k >= w->p->n_in && (w->p->squeezed >> (k - w->p->n_in) & 1);
    const int own = o->type->rank + squeezed; /* axes, with the one that went */
    for (int a = 0; a < rank; a++) {
        const int at = a - (rank - own);
        w->strides[k][a] = at < 0 || at >= o->type->rank || o->type->shape[at] == 1 ? 0 : o->strides[at];
    }
}

static bool lies_flat(const writer *w, int k)
{
    int64_t dense = 1;
    for (int a = w->p->domain.rank - 1; a >= 0; a--) {
        if (w->p->domain.shape[a] != 1 && w->strides[k][a] != dense)
            return false;
        dense *= w->p->domain.shape[a];
    }
    return true;
}

static bool is_scalar(const writer *w, int k)
{
    for (int a = 0; a < w->p->domain.rank; a++)
        if (w->strides[k][a] != 0)
            return false;
    return true;
}

/* The place of the element at hand of operand k. */
static const char *place_of(const writer *w, int k, bool in_row, char out[64])
{
    const bool scalar = is_scalar(w, k);
    if (w->flat)
        snprintf(out, 64, "%s", scalar ? "0" : "i");
    else if (!in_row || w->of_row[k] == -1)
        snprintf(out, 64, "b%d", k);
    else if (w->of_row[k] == -2)
        snprintf(out, 64, "b%d + j", k);
    else
        snprintf(out, 64, "b%d + j * n%d", k, w->of_row[k]);
    return out;
}

/* ---- instructions ---- */

static void add_map(tern__ocl_draft *d, const tern__row_instr *i)
{
    for (const char *c = maps[i->op]; *c; c++) {
        if (*c == 'X' || *c == 'Y' || *c == 'Z')
            tern__ocl_add(d, "v%d", *c == 'X' ? i->a : *c == 'Y' ? i->b : i->c);
        else if (*c == 'A' || *c == 'B')
            tern__ocl_add_float(d, (double)i->imm[*c == 'B']);
        else
            tern__strbuf_add_n(&d->text, c, 1);
    }
}

static void add_compute(tern__ocl_draft *d, const tern__row_instr *i)
{
    tern__ocl_add(d, "real r%d = ", i->dst);
    switch ((tern__rowscalar)i->op) {
    case TERN__ROWSCALAR_divide:
        tern__ocl_add(d, "r%d / (real)%a", i->a, i->number);
        break;
    case TERN__ROWSCALAR_add:
        tern__ocl_add(d, "r%d + (real)%a", i->a, i->number);
        break;
    case TERN__ROWSCALAR_at_least:
        tern__ocl_add(d, "r%d < (real)%a ? (real)%a : r%d", i->a, i->number, i->number, i->a);
        break;
    case TERN__ROWSCALAR_over:
        tern__ocl_add(d, "(real)%a / r%d", i->number, i->a);
        break;
    case TERN__ROWSCALAR_sqrt:
        tern__ocl_add(d, "sqrt(r%d)", i->a);
        break;
    case TERN__ROWSCALAR_log:
        tern__ocl_add(d, "log(r%d)", i->a);
        break;
    case TERN__ROWSCALAR_narrow:
        tern__ocl_add(d, "(float)r%d", i->a);
        break;
    case TERN__ROWSCALAR_rest:
        tern__ocl_add(d, "r%d - (float)r%d", i->a, i->a);
        break;
    case TERN__ROWSCALAR_sum_finite:
        tern__ocl_add(d, "isfinite(r%d) ? r%d + r%d : r%d", i->a, i->a, i->b, i->a);
        break;
    case TERN__ROWSCALAR_unless_inf:
        tern__ocl_add(d, "isinf(r%d) ? 0 : r%d", i->b, i->a);
        break;
    }
    tern__ocl_add(d, ";\n");
}

/* The element at hand of a product, as it would be read had it been stored. */
static void add_product(tern__ocl_draft *d, tern_dtype dtype)
{
    tern__ocl_add(d, dtype == TERN_F16    ? "round_f16(sums[r][l])"
                     : dtype == TERN_BF16 ? "round_bf16(sums[r][l])"
                                          : "sums[r][l]");
}

/* An instruction that makes a value, or a register of others. */
static void add_instr(const writer *w, const tern__row_instr *i, bool in_row)
{
    tern__ocl_draft *d = w->d;
    char place[64];
    if (i->kind == TERN__ROW_COMPUTE) {
        add_compute(d, i);
        return;
    }
    tern__ocl_add(d, "%s v%d = ", w->p->values[i->dst].is_i32 ? "int" : "float", i->dst);
    if (i->kind == TERN__ROW_LOAD && is_product(w, i->a))
        add_product(d, w->tile->y->dtype);
    else if (i->kind == TERN__ROW_LOAD)
        tern__ocl_load(d, w->operands[pointer_of(w, i->a)].type->dtype, pointer_of(w, i->a),
                       place_of(w, i->a, in_row, place));
    else if (i->kind == TERN__ROW_CONSTANT)
        tern__ocl_add_float(d, i->number);
    else if (i->kind == TERN__ROW_VALUE)
        tern__ocl_add(d, "(float)r%d", i->a);
    else
        add_map(d, i);
    tern__ocl_add(d, ";\n");
}

static bool makes_value(const tern__row_instr *i)
{
    return i->kind == TERN__ROW_LOAD || i->kind == TERN__ROW_CONSTANT || i->kind == TERN__ROW_MAP ||
           i->kind == TERN__ROW_VALUE;
}

static bool is_full(const writer *w, int value)
{
    return w->p->values[value].extent == TERN__ROW_FULL;
}

/* What is needed for some values, of what differs along the row. `needed` is theirs, and is completed. */
static void add_needed(const writer *w, bool *needed)
{
    for (int k = w->p->n_instrs; k-- > 0;) {
        uint8_t from[3];
        const tern__row_instr *i = &w->p->instrs[k];
        if (!makes_value(i) || !needed[i->dst] || i->kind != TERN__ROW_MAP)
            continue;
        for (int n = tern__row_reads(i, from); n-- > 0;)
            needed[from[n]] = true;
    }
    for (int k = 0; k < w->p->n_instrs; k++) {
        const tern__row_instr *i = &w->p->instrs[k];
        if (makes_value(i) && needed[i->dst] && (w->flat || w->tile || is_full(w, i->dst)))
            add_instr(w, i, true);
    }
}

/* ---- reductions ---- */

static const char *start_of(int op)
{
    return op == TERN__ROWOP_max ? "-HUGE_VALF" : op == TERN__ROWOP_min ? "HUGE_VALF" : "0";
}

static bool is_sum(int op)
{
    return op == TERN__ROWOP_sum || op == TERN__ROWOP_sum_squares || op == TERN__ROWOP_sum_abs;
}

static const char *joins(int op)
{
    return op == TERN__ROWOP_min ? "smallest" : "largest";
}

static void fold_strips(tern__ocl_draft *d, const tern__row_instr *i)
{
    const char *t = i->op == TERN__ROWOP_sum_squares ? "(real)t%d[l] * (real)t%d[l]" : "(real)t%d[l]";
    char a[96], b[96];
    snprintf(a, sizeof a, t, i->dst, i->dst);
    snprintf(b, sizeof b,
             i->op == TERN__ROWOP_sum_squares ? "(real)t%d[l + 16] * (real)t%d[l + 16]" : "(real)t%d[l + 16]",
             i->dst, i->dst);
    if (is_sum(i->op))
        tern__ocl_add(d, "for (int l = 0; l < 16; l++) s%d[l] += %s + %s;\n", i->dst, a, b);
    else
        tern__ocl_add(d, "for (int l = 0; l < 16; l++) s%d[l] = %s(%s(s%d[l], t%d[l]), t%d[l + 16]);\n",
                      i->dst, joins(i->op), joins(i->op), i->dst, i->dst, i->dst);
}

/* All reductions of a phase, in one loop over the row, 32 elements at a time. */
static void add_reductions(const writer *w, int phase, int size)
{
    tern__ocl_draft *d = w->d;
    bool needed[TERN__ROW_MAX_INSTRS] = {false}, any = false;
    const tern__row_program *p = w->p;
    for (int k = 0; k < p->n_instrs; k++)
        if (p->instrs[k].kind == TERN__ROW_REDUCE && p->instrs[k].phase == phase) {
            any = true;
            needed[p->instrs[k].a] = true;
            tern__ocl_add(d, "real s%d[16]; for (int l = 0; l < 16; l++) s%d[l] = %s;\n", p->instrs[k].dst,
                          p->instrs[k].dst, start_of(p->instrs[k].op));
        }
    if (!any)
        return;
    tern__ocl_add(d, "for (long j0 = 0; j0 < n%d; j0 += 32) {\nlong m = n%d - j0 < 32 ? n%d - j0 : 32;\n",
                  size, size, size);
#define EACH_REDUCTION(k)                 \
    for (int k = 0; k < p->n_instrs; k++) \
        if (p->instrs[k].kind == TERN__ROW_REDUCE && p->instrs[k].phase == phase)
    EACH_REDUCTION(k)
    tern__ocl_add(d, "float t%d[32];\n", p->instrs[k].dst);
    tern__ocl_add(d, "for (long l = 0; l < m; l++) { long j = j0 + l;\n");
    add_needed(w, needed);
    EACH_REDUCTION(k)
    tern__ocl_add(d,
                  p->instrs[k].op == TERN__ROWOP_max_abs || p->instrs[k].op == TERN__ROWOP_sum_abs
                      ? "t%d[l] = fabs(v%d);\n"
                      : "t%d[l] = v%d;\n",
                  p->instrs[k].dst, p->instrs[k].a);
    tern__ocl_add(d, "}\nfor (long l = m; l < 32; l++) {\n");
    EACH_REDUCTION(k)
    tern__ocl_add(d, "t%d[l] = %s;\n", p->instrs[k].dst, start_of(p->instrs[k].op));
    tern__ocl_add(d, "}\n");
    EACH_REDUCTION(k)
    fold_strips(d, &p->instrs[k]);
    tern__ocl_add(d, "}\n");
    EACH_REDUCTION(k)
    {
        const int r = p->instrs[k].dst, op = p->instrs[k].op;
        tern__ocl_add(d, "for (int o = 8; o > 0; o /= 2) for (int l = 0; l < o; l++) ");
        if (is_sum(op))
            tern__ocl_add(d, "s%d[l] += s%d[l + o];\n", r, r);
        else
            tern__ocl_add(d, "s%d[l] = %s(s%d[l], s%d[l + o]);\n", r, joins(op), r, r);
        tern__ocl_add(d, "real r%d = s%d[0];\n", r, r);
    }
#undef EACH_REDUCTION
}

/* The same by the items of a group, which share the row: each has a part of it, and they fold what they have in local memory. Sums
 * are f64 where the device has it, so their order matters next to nothing. */
static void add_shared_reductions(const writer *w, int phase, int size)
{
    tern__ocl_draft *d = w->d;
    const tern__row_program *p = w->p;
    for (int k = 0; k < p->n_instrs; k++) {
        const tern__row_instr *i = &p->instrs[k];
        bool needed[TERN__ROW_MAX_INSTRS] = {false};
        if (i->kind != TERN__ROW_REDUCE || i->phase != phase)
            continue;
        needed[i->a] = true;
        tern__ocl_add(d, "real s%d = %s;\nfor (long j = lane; j < n%d; j += %d) {\n", i->dst, start_of(i->op),
                      size, d->group);
        add_needed(w, needed);
        tern__ocl_add(d, "real t = %s(v%d);\n",
                      i->op == TERN__ROWOP_max_abs || i->op == TERN__ROWOP_sum_abs ? "fabs" : "", i->a);
        if (is_sum(i->op))
            tern__ocl_add(d, "s%d += t%s;\n}\n", i->dst, i->op == TERN__ROWOP_sum_squares ? " * t" : "");
        else
            tern__ocl_add(d, "s%d = %s(s%d, t);\n}\n", i->dst, joins(i->op), i->dst);
        tern__ocl_add(d,
                      "shared[lane] = s%d;\nbarrier(CLK_LOCAL_MEM_FENCE);\n"
                      "for (int o = %d; o > 0; o /= 2) {\nif (lane < o) shared[lane] = ",
                      i->dst, d->group / 2);
        tern__ocl_add(
            d, is_sum(i->op) ? "shared[lane] + shared[lane + o]" : "%s(shared[lane], shared[lane + o])",
            joins(i->op));
        tern__ocl_add(d,
                      ";\nbarrier(CLK_LOCAL_MEM_FENCE);\n}\nreal r%d = shared[0];\n"
                      "barrier(CLK_LOCAL_MEM_FENCE);\n",
                      i->dst);
    }
}

/* ---- storing ---- */

static void add_stores(const writer *w, bool full)
{
    char place[64], value[32];
    for (int k = 0; k < w->p->n_instrs; k++) {
        const tern__row_instr *i = &w->p->instrs[k];
        if (i->kind != TERN__ROW_STORE || (!w->flat && !w->tile && is_full(w, i->a) != full))
            continue;
        const int to = w->p->n_in + i->dst, o = pointer_of(w, to);
        snprintf(value, sizeof value, "v%d", i->a);
        tern__ocl_store(w->d, w->operands[o].type->dtype, o, place_of(w, to, full, place), value);
    }
}

static void add_full_values(const writer *w)
{
    bool needed[TERN__ROW_MAX_INSTRS] = {false};
    for (int k = 0; k < w->p->n_instrs; k++)
        if (w->p->instrs[k].kind == TERN__ROW_STORE)
            needed[w->p->instrs[k].a] = true;
    add_needed(w, needed);
}

/* Are results so large that they should go past the caches, and numbers of four bytes? */
static bool streams(const writer *w)
{
    bool fits = w->d->cpu && w->p->streams;
    for (int k = w->p->n_in; k < w->p->n_in + w->p->n_out; k++)
        fits = fits && (w->operands[k].type->dtype == TERN_F32 || w->operands[k].type->dtype == TERN_I32);
    return fits;
}

/* Sixteen elements at a time, which are stored as one where results begin at a line of the cache; the loop behind this one
 * does the rest. */
static void add_streams(writer *w)
{
    tern__ocl_draft *d = w->d;
    const int n_in = w->p->n_in;
    tern__ocl_add(d, "long rest = first;\nif ((0");
    for (int k = n_in; k < n_in + w->p->n_out; k++)
        tern__ocl_add(d, " | (ulong)p%d", k);
    tern__ocl_add(d, ") %% 64 == 0) for (; rest + 16 <= end; rest += 16) {\n");
    for (int k = n_in; k < n_in + w->p->n_out; k++)
        tern__ocl_add(d, "%s out%d[16];\n", w->operands[k].type->dtype == TERN_I32 ? "int" : "float", k);
    tern__ocl_add(d, "_Pragma(\"clang loop vectorize(assume_safety)\")\n"
                     "for (int l = 0; l < 16; l++) {\nlong i = rest + l;\n");
    add_full_values(w);
    for (int k = 0; k < w->p->n_instrs; k++)
        if (w->p->instrs[k].kind == TERN__ROW_STORE)
            tern__ocl_add(d, "out%d[l] = v%d;\n", n_in + w->p->instrs[k].dst, w->p->instrs[k].a);
    tern__ocl_add(d, "}\n");
    for (int k = n_in; k < n_in + w->p->n_out; k++)
        tern__ocl_add(
            d, "past_caches(as_int16(vload16(0, out%d)), (global int16 *)((global int *)p%d + rest));\n", k,
            k);
    tern__ocl_add(d, "}\nfirst = rest;\n");
}

/* Blocks of a long walk, before each of which a later one is asked for: a processor by itself has too few requests under way. */
static void begin_blocks(writer *w)
{
    enum { BLOCK = 256, AHEAD = 4096 }; /* elements; bytes */
    tern__ocl_draft *d = w->d;
    tern__ocl_begin_stretch(d, (size_t)tern__type_numel(&w->p->domain), 4096, 16);
    tern__ocl_add(d,
                  "for (long block = first; block < end; block += %d) {\nlong stop = block + %d < end ? "
                  "block + %d : end;\n",
                  BLOCK, BLOCK, BLOCK);
    for (int k = 0; k < w->p->n_in + w->p->n_out; k++) {
        const int bytes = (int)tern__dtype_unit_bytes(w->operands[k].type->dtype);
        if (!is_scalar(w, k))
            tern__ocl_add(d, "for (int l = 0; l < %d; l++) fetch_ahead(p%d + block * %d + %d + l * 64);\n",
                          BLOCK * bytes / 64, k, bytes, AHEAD);
    }
    tern__ocl_add(
        d, "_Pragma(\"clang loop vectorize(assume_safety)\")\nfor (long i = block; i < stop; i++) {\n");
}

static void write_flat(writer *w)
{
    if (streams(w)) {
        tern__ocl_begin_stretch(w->d, (size_t)tern__type_numel(&w->p->domain), 4096, 16);
        add_streams(w);
        tern__ocl_add(w->d, "for (long i = first; i < end; i++) {\n");
        add_full_values(w);
        add_stores(w, true);
        tern__ocl_add(w->d, "}\n");
        return;
    }
    if (w->d->cpu && tern__type_numel(&w->p->domain) >= TERN__ROW_PLACES_LEAST) {
        begin_blocks(w);
        add_full_values(w);
        add_stores(w, true);
        tern__ocl_add(w->d, "}\n}\n");
        return;
    }
    tern__ocl_loop(w->d, "i", (size_t)tern__type_numel(&w->p->domain), 4096);
    add_full_values(w);
    add_stores(w, true);
    tern__ocl_add(w->d, "}\n");
}

static void write_by_row(writer *w)
{
    tern__ocl_draft *d = w->d;
    const tern__row_program *p = w->p;
    const int rank = p->domain.rank, axes = rank ? rank - 1 : 0;
    const int64_t row = row_size(p);
    int64_t rows = 1;
    for (int a = 0; a < axes; a++)
        rows *= p->domain.shape[a];
    const int size = tern__ocl_number(d, row);
    for (int k = 0; k < p->n_in + p->n_out; k++) {
        const int64_t step = rank ? w->strides[k][rank - 1] : 0;
        w->of_row[k] = step == 0 ? -1 : step == 1 ? -2 : tern__ocl_number(d, step);
    }
    const bool shared = !d->cpu && p->reduces; /* a group has a row */
    if (shared) {
        d->group = d->group_items < 64 ? d->group_items : 64;
        tern__ocl_add(d, "local real shared[%d];\nconst int lane = (int)get_local_id(0);\n", d->group);
        tern__ocl_group_loop(d, "i", (size_t)rows, 1);
    } else
        tern__ocl_loop(d, "i", (size_t)rows, row >= 4096 ? 1 : (size_t)(4096 / (row ? row : 1)));
    for (int k = 0; k < p->n_in + p->n_out; k++) {
        char name[16];
        snprintf(name, sizeof name, "b%d", k);
        tern__ocl_offset(d, name, "i", axes, p->domain.shape, w->strides[k]);
    }
    for (int phase = 0; phase < p->n_phases; phase++) {
        for (int k = 0; k < p->n_instrs; k++) {
            const tern__row_instr *i = &p->instrs[k];
            if (i->phase == phase &&
                ((makes_value(i) && !is_full(w, i->dst)) || i->kind == TERN__ROW_COMPUTE))
                add_instr(w, i, false);
        }
        if (shared)
            add_shared_reductions(w, phase, size);
        else
            add_reductions(w, phase, size);
    }
    if (shared) /* results may lie where operands of the row do, which all have read then */
        tern__ocl_add(d, "barrier(CLK_GLOBAL_MEM_FENCE);\nfor (long j = lane; j < n%d; j += %d) {\n", size,
                      d->group);
    else
        tern__ocl_add(d, "%sfor (long j = 0; j < n%d; j++) {\n",
                      d->cpu ? "_Pragma(\"clang loop vectorize(assume_safety)\")\n" : "", size);
    add_full_values(w);
    add_stores(w, true);
    tern__ocl_add(d, shared ? "}\nif (lane == 0) {\n" : "}\n");
    add_stores(w, false);
    tern__ocl_add(d, shared ? "}\n}\n" : "}\n");
}

void tern__ocl_write_rows(tern__ocl_draft *d, const tern__step *step, const tern__ocl_operand *operands)
{
    const tern__ocl_rows *rows = step->program;
    writer w = {.d = d, .p = rows->program, .operands = operands};
    w.flat = !w.p->reduces;
    for (int k = 0; k < w.p->n_in + w.p->n_out; k++) {
        spread(&w, k);
        w.flat = w.flat && (lies_flat(&w, k) || (k < w.p->n_in && is_scalar(&w, k)));
    }
    if (w.flat)
        write_flat(&w);
    else
        write_by_row(&w);
}

/* ---- behind products ---- */

static void begin_tile(tern__ocl_draft *d, const tern__ocl_tile *tile)
{
    tern__ocl_add(d, "for (int r = 0; r < %s; r++) {\nlong row = %s + r;\n", tile->rows, tile->row0);
}

static void begin_columns(tern__ocl_draft *d)
{
    tern__ocl_add(d, "%sfor (int l = 0; l < columns; l++) {\nlong j = c0 + l;\n",
                  d->cpu ? "_Pragma(\"clang loop vectorize(assume_safety)\")\n" : "");
}

static void write_plain_tile(tern__ocl_draft *d, const tern__ocl_tile *tile)
{
    const tern__ocl_operand *y = &tile->operands[tile->n_in];
    const int last = y->type->rank - 1;
    char at[64] = "to + j";
    begin_tile(d, tile);
    tern__ocl_offset(d, "to", "row", last, y->type->shape, y->strides);
    if (y->strides[last] != 1)
        snprintf(at, sizeof at, "to + j * n%d", tern__ocl_number(d, y->strides[last]));
    begin_columns(d);
    tern__ocl_store(d, y->type->dtype, tile->n_in, at, "sums[r][l]");
    tern__ocl_add(d, "}\n}\n");
}

void tern__ocl_write_tile(tern__ocl_draft *d, const tern__ocl_tile *tile)
{
    if (!tile->rows_program) {
        write_plain_tile(d, tile);
        return;
    }
    writer w = {.d = d, .p = tile->rows_program, .operands = tile->operands, .tile = tile};
    const int rank = w.p->domain.rank;
    begin_tile(d, tile);
    for (int k = 0; k < w.p->n_in + w.p->n_out; k++) {
        char name[16];
        if (is_product(&w, k))
            continue;
        spread(&w, k);
        const int64_t step = w.strides[k][rank - 1];
        w.of_row[k] = step == 0 ? -1 : step == 1 ? -2 : tern__ocl_number(d, step);
        snprintf(name, sizeof name, "b%d", k);
        tern__ocl_offset(d, name, "row", rank - 1, w.p->domain.shape, w.strides[k]);
    }
    begin_columns(d);
    add_full_values(&w);
    add_stores(&w, true);
    tern__ocl_add(d, "}\n}\n");
}

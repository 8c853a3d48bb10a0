/* products.c - matrix products on the CPU: which kernel runs one, and how. */
#include "devices/cpu/products.h"

#include "base/alloc.h"
#include "base/sizes.h"
#include "base/status.h"
#include "devices/cpu/candidates.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/library.h"
#include "devices/rows/regions.h"
#include "kernels/gemm/gemm_f64.h"
#include "kernels/gemm/product.h"
#include "kernels/linear/product.h"
#include "kernels/row/epilogue.h"
#include "kernels/select.h"
#include "kernels/ternary/product.h"

static const tern__kernel gemm = {.run = tern_matmul__gemm};
static const tern__kernel gemm_f64 = {.run = tern_matmul__f64};
static const tern__kernel gemm_packed = {.run = tern_packed_matmul__gemm};
static const tern__kernel ternary = {.run = tern_packed_ternary_matmul__packed};
static const tern__kernel ternary_canonical = {.run = tern_ternary_matmul__packing};
static const tern__kernel linear = {.run = tern_linear__tiles};
static const tern__kernel linear_gemm = {.run = tern_linear__gemm};
static const tern__kernel epilogue = {.run = tern__epilogue_run};

/* ---- choosing ---- */

/* Blocks of about `rows` rows. */
static void block_rows(tern__gemm_program *p, int64_t rows)
{
    p->row_blocks = (p->m + rows - 1) / rows;
    p->work = p->batches * p->row_blocks * p->tiles;
}

static tern_status choose_gemm_f64(const tern__target *target, const tern__call *call, tern__arena *arena,
                                   tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f64, target->isa_mask);
    tern__gemm_f64_program p;
    if (!row || !tern__gemm_f64_plan(row->kernel, call->in[0], call->in[1], &call->out[0], call->attrs, &p))
        return TERN_OK;
    *out = (tern__choice){.scratch_bytes = p.scratch_bytes, .work = p.work};
    return tern__cpu_chosen(&gemm_f64, row, &p, sizeof p, arena, out, found);
}

static tern_status choose_gemm(const tern__target *target, const tern__call *call, int64_t rows,
                               tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    const bool packed = tern__op_code(call->op) == TERN__OP_packed_matmul;
    tern__gemm_program p;
    if (!packed)
        TERN_TRY(tern__cpu_library(target, call, arena, out, found));
    if (!row || *found)
        return TERN_OK;
    if (packed)
        tern__gemm_plan_packed(row->kernel, call->in[1], &call->out[0], target->workers, &p);
    else if (!tern__gemm_plan(row->kernel, call->in[0], call->in[1], &call->out[0], call->attrs,
                              target->workers, &p))
        return choose_gemm_f64(target, call, arena, out, found);
    if (rows > 0)
        block_rows(&p, rows);
    *out = (tern__choice){.scratch_bytes = p.scratch_bytes, .work = p.work};
    return tern__cpu_chosen(packed ? &gemm_packed : &gemm, row, &p, sizeof p, arena, out, found);
}

/* Weights that are no constants are packed on the way, always into form 4: decoding it takes the least. */
static tern_status choose_ternary(const tern__target *target, const tern__call *call, int64_t rows,
                                  tern__arena *arena, tern__choice *out, bool *found)
{
    const bool packed = tern__op_code(call->op) == TERN__OP_packed_ternary_matmul;
    const tern__ternary_form form =
        packed ? (tern__ternary_form)call->attrs[TERN__ATTR_packed_ternary_matmul_form].i : TERN__TERNARY_4;
    const tern__kernel_row *row = tern__ternary_row(form, target->isa_mask);
    tern__ternary_program p;
    tern__ternary_plan(row->kernel, call->in[0],
                       packed ? call->attrs[TERN__ATTR_packed_ternary_matmul_n].i : call->in[1]->shape[0],
                       packed, call->n_in > 2 ? call->in[2]->shape[1] : 0, &p);
    if (rows > 0 && rows < p.block)
        p.block = rows; /* the scratch for more will do */
    *out = (tern__choice){.scratch_bytes = p.scratch_bytes, .work = p.work, .streamed = packed ? 1 : 0};
    return tern__cpu_chosen(packed ? &ternary : &ternary_canonical, row, &p, sizeof p, arena, out, found);
}

/* f32 weights are those of a matmul; the reference kernel does it where there is no other. */
static tern_status choose_linear_f32(const tern__target *target, const tern__call *call, tern__arena *arena,
                                     tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    tern__gemm_program p;
    if (!row || !tern__gemm_plan(row->kernel, call->in[0], call->in[1], &call->out[0], tern__linear_as_matmul,
                                 target->workers, &p))
        return TERN_OK;
    *out = (tern__choice){.scratch_bytes = p.scratch_bytes, .work = p.work};
    return tern__cpu_chosen(&linear_gemm, row, &p, sizeof p, arena, out, found);
}

static tern_status choose_linear(const tern__target *target, const tern__call *call, int64_t rows,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    const bool packed = tern__op_code(call->op) == TERN__OP_packed_linear;
    const tern_dtype dtype =
        packed ? (tern_dtype)call->attrs[TERN__ATTR_packed_linear_dtype].i : call->in[1]->dtype;
    (void)rows;
    if (dtype == TERN_F32)
        return choose_linear_f32(target, call, arena, out, found);
    const tern__kernel_row *row = tern__kernel_select(
        dtype == TERN_I8 ? TERN__FAMILY_linear_i8 : TERN__FAMILY_linear, target->isa_mask);
    const tern__kernel_row *many = tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    tern__linear_program p;
    tern__linear_plan(dtype, row->kernel, many ? many->kernel : NULL, call->in[0],
                      packed ? call->attrs[TERN__ATTR_packed_linear_n].i : call->in[1]->shape[0], packed, &p);
    *out = (tern__choice){.scratch_bytes = p.scratch_bytes, .work = p.work, .streamed = packed ? 1 : 0};
    return tern__cpu_chosen(&linear, row, &p, sizeof p, arena, out, found);
}

/* ---- handing on results, to epilogues ---- */

/* One that is turned round has no rows to hand on. */
static bool has_rows(const tern__target *target, const tern__call *call, const tern__attr *attrs)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    tern__gemm_program p;
    return row &&
           tern__gemm_plan(row->kernel, call->in[0], call->in[1], &call->out[0], attrs, target->workers,
                           &p) &&
           !p.turned;
}

/* Nor has one that lacks the axis of columns, or that a library computes. */
static bool matmul_hands_on(const tern__target *target, const tern__call *call)
{
    return !target->library && call->in[1]->rank > 1 && has_rows(target, call, call->attrs);
}

static bool gemm_hands_on(const tern__target *target, const tern__call *call)
{
    (void)call;
    return tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask) != NULL;
}

/* That of f32 is a matmul. */
static bool linear_hands_on(const tern__target *target, const tern__call *call)
{
    return call->in[1]->dtype != TERN_F32 || has_rows(target, call, tern__linear_as_matmul);
}

static bool always_hands_on(const tern__target *target, const tern__call *call)
{
    (void)target, (void)call;
    return true;
}

/* ---- ways to run one ---- */

static int list_rows(int64_t usual, int64_t all, int64_t least, int most, int64_t *out)
{
    int n = 0;
    if (most > 0)
        out[n++] = usual;
    for (int64_t rows = all; rows >= least && n < most; rows = rows / 2)
        if (rows != usual)
            out[n++] = rows;
    return n;
}

/* Of products in f32: others, and those of libraries, have programs of their own. */
static int gemm_rows(const tern__choice *choice, int most, int64_t *out)
{
    enum { LEAST = 8 };
    const tern__gemm_program *p = choice->program;
    return choice->kernel == &gemm || choice->kernel == &gemm_packed
               ? list_rows((p->m + p->row_blocks - 1) / p->row_blocks, p->m, LEAST, most, out)
               : 0;
}

static int ternary_rows(const tern__choice *choice, int most, int64_t *out)
{
    enum { LEAST = 4 };
    const tern__ternary_program *p = choice->program;
    return list_rows(p->block, p->block, LEAST, most, out);
}

static int no_rows(const tern__choice *choice, int most, int64_t *out)
{
    (void)choice, (void)most, (void)out;
    return 0;
}

/* ---- all of them ---- */

static const struct product {
    tern__opcode op;
    tern_status (*choose)(const tern__target *target, const tern__call *call, int64_t rows,
                          tern__arena *arena, tern__choice *out, bool *found);
    /* Can a call hand on its result, rectangle by rectangle? */
    bool (*hands_on)(const tern__target *target, const tern__call *call);
    /* tern__cpu_product_rows, of what was chosen as usual. */
    int (*list_rows)(const tern__choice *choice, int most, int64_t *out);
} products[] = {
    {TERN__OP_matmul, choose_gemm, matmul_hands_on, gemm_rows},
    {TERN__OP_packed_matmul, choose_gemm, gemm_hands_on, gemm_rows},
    {TERN__OP_linear, choose_linear, linear_hands_on, no_rows},
    {TERN__OP_packed_linear, choose_linear, always_hands_on, no_rows},
    {TERN__OP_ternary_matmul, choose_ternary, always_hands_on, ternary_rows},
    {TERN__OP_packed_ternary_matmul, choose_ternary, always_hands_on, ternary_rows},
};

enum {
    PRODUCTS = 0
#define TERN_OP(name, in, out, attrs, shape, dtype, flags, ...) +(((flags)&TERN__PRODUCT) != 0)
#include "graph/ops.def"
#undef TERN_OP
};
_Static_assert(TERN__COUNT(products) == PRODUCTS, "ops.def has a product that has no row here");

/* NULL: no product. */
static const struct product *product_of(const tern__call *call)
{
    for (size_t i = 0; i < TERN__COUNT(products); i++)
        if (products[i].op == tern__op_code(call->op))
            return &products[i];
    return NULL;
}

/* ---- products with epilogues ---- */

/* The product is chosen as if it were alone, so that its bits are the same; the rest is a row program. */
static tern_status choose_epilogue(const tern__target *target, const tern__region *r, int64_t rows,
                                   tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    const tern__call call = tern__region_call(r, 0, in);
    const struct product *product = product_of(&call);
    tern__epilogue_program p = {.product_attrs = call.attrs,
                                .y = call.out,
                                .n_product = call.n_in,
                                .elements = tern__epilogue_elements(tern__cpu())};
    tern__choice choice;
    bool any = false;
    if (!product || !product->hands_on(target, &call))
        return TERN_OK;
    TERN_TRY(tern__rows_epilogue(r, tern__rowop_tables(target->isa_mask), arena, &p.rows));
    if (p.rows)
        TERN_TRY(product->choose(target, &call, rows, arena, &choice, &any));
    if (!any)
        return TERN_OK;
    for (int i = 0; i < call.n_in; i++)
        p.product_in[i] = (uint8_t)r->ops[0].in[i];
    for (int i = 0, n = 0; i < r->n_in; i++)
        if (tern__region_reads_rows(r, i))
            p.rows_in[n++] = (uint8_t)i;
    p.product = choice.kernel;
    p.product_program = choice.program;
    p.rows_at = tern__whole_lines(choice.scratch_bytes);
    p.room_at = p.rows_at + tern__whole_lines(p.rows->scratch_bytes);
    p.scratch_bytes = p.room_at + TERN__EPILOGUE_ROOM * sizeof(float);
    choice.kernel = &epilogue;
    choice.streamed = choice.streamed ? p.product_in[choice.streamed] : 0;
    choice.scratch_bytes = p.scratch_bytes;
    *out = choice;
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

/* The region of a call that begins with a product; NULL: it is none. */
static const tern__region *region_of(const tern__call *call)
{
    const tern__region *region =
        tern__op_code(call->op) == TERN__OP_fused ? call->attrs[TERN__ATTR_fused_body].region : NULL;
    return region && tern__region_has_product(region) ? region : NULL;
}

tern_status tern__cpu_product(const tern__target *target, const tern__call *call,
                              const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                              bool *found)
{
    const tern__region *region = region_of(call);
    const struct product *product = product_of(call);
    const int64_t rows = tern__cpu_candidate_rows(candidate);
    if (region)
        return choose_epilogue(target, region, rows, arena, out, found);
    return product ? product->choose(target, call, rows, arena, out, found) : TERN_OK;
}

int tern__cpu_product_rows(const tern__target *target, const tern__call *call, int most, int64_t *out)
{
    const tern__region *region = region_of(call);
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    const tern__call alone = region ? tern__region_call(region, 0, in) : *call;
    const struct product *product = product_of(&alone);
    tern__choice choice;
    tern__arena arena;
    bool found = false;
    int n = 0;
    if (!product)
        return 0;
    tern__arena_init(&arena, 0);
    if (product->choose(target, &alone, 0, &arena, &choice, &found) == TERN_OK && found)
        n = product->list_rows(&choice, most, out);
    tern__arena_free(&arena);
    return n;
}

/* products.c - matrix products on the CPU. Constants are packed for the kernel that will read them: f32 into tiles of its
 * width, weights of linear products into tiles of 32 rows, ternary weights into form 5, which is smaller, where the kernel that
 * runs is preferred (tern__ternary_kernel), and into form 2 elsewhere. */
#include "devices/cpu/products.h"

#include "base/alloc.h"
#include "base/status.h"
#include "devices/cpu/candidates.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/library.h"
#include "devices/cpu/regions.h"
#include "kernels/gemm/product.h"
#include "kernels/linear/product.h"
#include "kernels/row/epilogue.h"
#include "kernels/select.h"
#include "kernels/ternary/product.h"

static const tern__kernel gemm = {.name = "gemm", .run = tern_matmul__gemm};
static const tern__kernel gemm_packed = {.name = "gemm packed", .run = tern_packed_matmul__gemm};
static const tern__kernel ternary = {.name = "ternary packed", .run = tern_packed_ternary_matmul__packed};
static const tern__kernel ternary_canonical = {.name = "ternary", .run = tern_ternary_matmul__packing};
static const tern__kernel linear = {.name = "linear packed", .run = tern_packed_linear__tiles};
static const tern__kernel linear_canonical = {.name = "linear", .run = tern_linear__packing};
static const tern__kernel linear_gemm = {.name = "linear gemm", .run = tern_linear__gemm};
static const tern__kernel epilogue = {.name = "product with epilogue", .run = tern__epilogue_run};

/* ---- choosing ---- */

/* Values of packed_ternary_matmul's attribute `form`, as users read them in the text form: 2 bits a weight, or 5 weights in a byte. */
enum { FORM_2 = 2, FORM_5 = 5 };

static tern__ternary_form form_of(const tern__attr *attrs)
{
    return attrs[TERN__ATTR_packed_ternary_matmul_form].i == FORM_5 ? TERN__TERNARY_5 : TERN__TERNARY_2;
}

/* Blocks of about `rows` rows. */
static void block_rows(tern__gemm_program *p, int64_t rows)
{
    p->row_blocks = (p->m + rows - 1) / rows;
    p->work = p->batches * p->row_blocks * p->tiles;
}

static tern_status choose_gemm(const tern__target *target, const tern__call *call, uint32_t isa_mask,
                               int64_t rows, tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, isa_mask);
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
        return TERN_OK;
    if (rows > 0)
        block_rows(&p, rows);
    *out = (tern__choice){.kernel = packed ? &gemm_packed : &gemm,
                          .name = row->name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = p.scratch_bytes,
                          .work = p.work};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

static tern__kernel_family family_of(tern__ternary_form form)
{
    return form == TERN__TERNARY_5 ? TERN__FAMILY_ternary_t5 : TERN__FAMILY_ternary_t2;
}

/* Weights that are no constants are packed on the way, always into form 2: decoding it takes the least. */
static tern_status choose_ternary(const tern__call *call, uint32_t isa_mask, int64_t rows, tern__arena *arena,
                                  tern__choice *out, bool *found)
{
    const bool packed = tern__op_code(call->op) == TERN__OP_packed_ternary_matmul;
    const tern__ternary_form form = packed ? form_of(call->attrs) : TERN__TERNARY_2;
    const tern__kernel_row *row = tern__kernel_select(family_of(form), isa_mask);
    tern__ternary_program p;
    tern__ternary_plan(row->kernel, call->in[0],
                       packed ? call->attrs[TERN__ATTR_packed_ternary_matmul_n].i : call->in[1]->shape[0],
                       packed, call->n_in > 2 ? call->in[2]->shape[1] : 0, &p);
    if (rows > 0 && rows < p.block)
        p.block = rows; /* the scratch for more will do */
    *out = (tern__choice){.kernel = packed ? &ternary : &ternary_canonical,
                          .name = row->name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = p.scratch_bytes,
                          .work = p.work,
                          .streamed = packed ? 1 : 0};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

/* f32 weights are those of a matmul; the reference kernel does it where there is no other. */
static tern_status choose_linear_f32(const tern__target *target, const tern__call *call, uint32_t isa_mask,
                                     tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, isa_mask);
    tern__gemm_program p;
    if (!row || !tern__gemm_plan(row->kernel, call->in[0], call->in[1], &call->out[0], tern__linear_as_matmul,
                                 target->workers, &p))
        return TERN_OK;
    *out = (tern__choice){.kernel = &linear_gemm,
                          .name = row->name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = p.scratch_bytes,
                          .work = p.work};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

static tern_status choose_linear(const tern__target *target, const tern__call *call, uint32_t isa_mask,
                                 tern__arena *arena, tern__choice *out, bool *found)
{
    const bool packed = tern__op_code(call->op) == TERN__OP_packed_linear;
    const tern_dtype dtype =
        packed ? (tern_dtype)call->attrs[TERN__ATTR_packed_linear_dtype].i : call->in[1]->dtype;
    if (dtype == TERN_F32)
        return choose_linear_f32(target, call, isa_mask, arena, out, found);
    const tern__kernel_row *row =
        tern__kernel_select(dtype == TERN_I8 ? TERN__FAMILY_linear_i8 : TERN__FAMILY_linear, isa_mask);
    const tern__kernel_row *many = tern__kernel_select(TERN__FAMILY_gemm_f32, isa_mask);
    tern__linear_program p;
    tern__linear_plan(dtype, row->kernel, many ? many->kernel : NULL, row->kernel, call->in[0],
                      packed ? call->attrs[TERN__ATTR_packed_linear_n].i : call->in[1]->shape[0], packed, &p);
    *out = (tern__choice){.kernel = packed ? &linear : &linear_canonical,
                          .name = row->name,
                          .isa = tern__isa_name(row->isa),
                          .scratch_bytes = p.scratch_bytes,
                          .work = p.work,
                          .streamed = packed ? 1 : 0};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

static tern_status choose_product(const tern__target *target, const tern__call *call, uint32_t isa_mask,
                                  int64_t rows, tern__arena *arena, tern__choice *out, bool *found)
{
    switch (tern__op_code(call->op)) {
    case TERN__OP_matmul:
    case TERN__OP_packed_matmul:
        return choose_gemm(target, call, isa_mask, rows, arena, out, found);
    case TERN__OP_ternary_matmul:
    case TERN__OP_packed_ternary_matmul:
        return choose_ternary(call, isa_mask, rows, arena, out, found);
    case TERN__OP_linear:
    case TERN__OP_packed_linear:
        return choose_linear(target, call, isa_mask, arena, out, found);
    default:
        return TERN_OK;
    }
}

/* ---- products with epilogues ---- */

/* Can the product hand on its result? */
static bool has_epilogue(const tern__target *target, const tern__call *call, uint32_t isa_mask)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, isa_mask);
    tern__gemm_program p;
    switch (tern__op_code(call->op)) {
    case TERN__OP_matmul: /* one that is turned round, or lacks the axis of columns, has no rows to hand on */
        return row && !target->library && call->in[1]->rank > 1 &&
               tern__gemm_plan(row->kernel, call->in[0], call->in[1], &call->out[0], call->attrs,
                               target->workers, &p) &&
               !p.turned;
    case TERN__OP_packed_matmul:
        return row != NULL;
    case TERN__OP_linear: /* that of f32 is a matmul */
        return call->in[1]->dtype != TERN_F32 ||
               (row &&
                tern__gemm_plan(row->kernel, call->in[0], call->in[1], &call->out[0], tern__linear_as_matmul,
                                target->workers, &p) &&
                !p.turned);
    case TERN__OP_ternary_matmul:
    case TERN__OP_packed_ternary_matmul:
    case TERN__OP_packed_linear:
        return true;
    default:
        return false;
    }
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + TERN__ALIGN - 1) / TERN__ALIGN * TERN__ALIGN;
}

/* The product is chosen as if it were alone, so that its bits are the same; the rest is a row program. */
static tern_status choose_epilogue(const tern__target *target, const tern__region *r, uint32_t isa_mask,
                                   int64_t rows, tern__arena *arena, tern__choice *out, bool *found)
{
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    const tern__call call = tern__region_call(r, 0, in);
    tern__epilogue_program p = {.product_attrs = call.attrs, .y = call.out, .n_product = call.n_in};
    tern__choice choice;
    bool any = false;
    if (!has_epilogue(target, &call, isa_mask))
        return TERN_OK;
    TERN_TRY(tern__cpu_epilogue_rows(r, tern__rowop_tables(isa_mask), arena, &p.rows));
    if (p.rows)
        TERN_TRY(choose_product(target, &call, isa_mask, rows, arena, &choice, &any));
    if (!any)
        return TERN_OK;
    for (int i = 0; i < call.n_in; i++)
        p.product_in[i] = (uint8_t)r->ops[0].in[i];
    for (int i = 0, n = 0; i < r->n_in; i++)
        if (tern__region_reads_rows(r, i))
            p.rows_in[n++] = (uint8_t)i;
    p.product = choice.kernel;
    p.product_program = choice.program;
    p.rows_at = whole_lines(choice.scratch_bytes);
    p.room_at = p.rows_at + whole_lines(p.rows->scratch_bytes);
    p.scratch_bytes = p.room_at + TERN__EPILOGUE_ROOM * sizeof(float);
    choice.kernel = &epilogue;
    choice.streamed = choice.streamed ? p.product_in[choice.streamed] : 0;
    choice.scratch_bytes = p.scratch_bytes;
    *out = choice;
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}

tern_status tern__cpu_product(const tern__target *target, const tern__call *call,
                              const tern__candidate *candidate, tern__arena *arena, tern__choice *out,
                              bool *found)
{
    const tern__region *region =
        tern__op_code(call->op) == TERN__OP_fused ? call->attrs[TERN__ATTR_fused_body].region : NULL;
    const int64_t rows = tern__cpu_candidate_rows(candidate);
    if (region && tern__region_has_product(region))
        TERN_TRY(choose_epilogue(target, region, target->isa_mask, rows, arena, out, found));
    else
        TERN_TRY(choose_product(target, call, target->isa_mask, rows, arena, out, found));
    if (*found)
        out->scratch_bytes = tern__cpu_scratch(out->scratch_bytes);
    return TERN_OK;
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

int tern__cpu_product_rows(const tern__target *target, const tern__call *call, int most, int64_t *out)
{
    enum { LEAST_GEMM = 8, LEAST_TERNARY = 4 };
    const bool fused = tern__op_code(call->op) == TERN__OP_fused;
    const tern__region *region = fused ? call->attrs[TERN__ATTR_fused_body].region : NULL;
    const tern__type *in[TERN__MAX_INPUTS_FIXED];
    const bool with_epilogue = region && tern__region_has_product(region);
    const tern__call product = with_epilogue ? tern__region_call(region, 0, in) : *call;
    tern__choice choice;
    tern__arena arena;
    bool found = false;
    int n = 0;
    tern__arena_init(&arena, 0);
    tern_status status = choose_product(target, &product, target->isa_mask, 0, &arena, &choice, &found);
    if (status == TERN_OK && found && (choice.kernel == &gemm || choice.kernel == &gemm_packed)) {
        const tern__gemm_program *p = choice.program;
        n = list_rows((p->m + p->row_blocks - 1) / p->row_blocks, p->m, LEAST_GEMM, most, out);
    } else if (status == TERN_OK && found &&
               (choice.kernel == &ternary || choice.kernel == &ternary_canonical)) {
        const tern__ternary_program *p = choice.program;
        n = list_rows(p->block, p->block, LEAST_TERNARY, most, out);
    }
    tern__arena_free(&arena);
    return n;
}

/* ---- packing ---- */

static bool gemm_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, isa_mask);
    const tern__type *a = call->in[0], *b = call->in[1];
    if (!row || b->rank != 2 || a->dtype != b->dtype ||
        !tern__gemm_reads((const tern__gemm_kernel *)row->kernel, b->dtype))
        return false;
    const tern__gemm_kernel *kernel = row->kernel;
    const int64_t n = b->shape[call->attrs[TERN__ATTR_matmul_transpose_b].i ? 0 : 1],
                  k = b->shape[call->attrs[TERN__ATTR_matmul_transpose_b].i ? 1 : 0];
    /* Narrow ones are turned around, and there is little to gain for small ones. */
    if (n < kernel->columns / 2 || k < 16)
        return false;
    *out = (tern__packing){.op = TERN__OP_packed_matmul,
                           .axis = call->attrs[TERN__ATTR_matmul_transpose_b].i ? 0 : 1,
                           .tile = kernel->columns,
                           .how = row};
    out->attrs[TERN__ATTR_packed_matmul_n].i = n;
    out->attrs[TERN__ATTR_packed_matmul_transpose_a].i = call->attrs[TERN__ATTR_matmul_transpose_a].i;
    return tern__type_make("packed_matmul", b->dtype, 3,
                           (int64_t[]){tern__gemm_tiles(kernel, n), k, kernel->columns},
                           &out->type) == TERN_OK;
}

const tern__kernel_row *tern__cpu_ternary_packer(uint32_t isa_mask)
{
    const tern__kernel_row *five = tern__kernel_select(TERN__FAMILY_ternary_t5, isa_mask);
    return ((const tern__ternary_kernel *)five->kernel)->preferred
               ? five
               : tern__kernel_select(TERN__FAMILY_ternary_t2, isa_mask);
}

double tern__cpu_ternary_bits(uint32_t isa_mask)
{
    return 8.0 / (tern__cpu_ternary_packer(isa_mask)->family == TERN__FAMILY_ternary_t5 ? 5 : 4);
}

static bool ternary_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    const tern__type *weight = call->in[1];
    const tern__kernel_row *row = tern__cpu_ternary_packer(isa_mask);
    const bool five = row->family == TERN__FAMILY_ternary_t5;
    const tern__ternary_form form = five ? TERN__TERNARY_5 : TERN__TERNARY_2;
    *out = (tern__packing){
        .op = TERN__OP_packed_ternary_matmul, .tile = tern__ternary_tile_rows(form), .how = row};
    out->attrs[TERN__ATTR_packed_ternary_matmul_n].i = weight->shape[0];
    out->attrs[TERN__ATTR_packed_ternary_matmul_form].i = five ? FORM_5 : FORM_2;
    return tern__type_make("packed_ternary_matmul", TERN_U8, 3,
                           (int64_t[]){tern__ternary_tiles(form, weight->shape[0]),
                                       tern__ternary_quads(weight->shape[1]), TERN__TERNARY_QUAD_BYTES},
                           &out->type) == TERN_OK;
}

static bool linear_type(const tern__type *weight, tern__type *out)
{
    return tern__type_make("packed_linear", TERN_U8, 2,
                           (int64_t[]){tern__linear_tiles(weight->shape[0]),
                                       tern__linear_tile_bytes(weight->dtype, weight->shape[1])},
                           out) == TERN_OK;
}

/* f32 weights are those of matmul, transposed. */
static bool linear_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    const tern__type *weight = call->in[1];
    if (weight->dtype == TERN_F32) {
        tern__call as_matmul = *call;
        as_matmul.attrs = tern__linear_as_matmul;
        return gemm_packing(&as_matmul, isa_mask, out);
    }
    *out = (tern__packing){.op = TERN__OP_packed_linear, .tile = TERN__LINEAR_TILE};
    out->attrs[TERN__ATTR_packed_linear_n].i = weight->shape[0];
    out->attrs[TERN__ATTR_packed_linear_dtype].i = weight->dtype;
    return linear_type(weight, &out->type);
}

/* Rows of a table that products have packed. */
static bool gather_packing(const tern__call *call, tern__packing *out)
{
    const tern__type *table = call->in[0];
    tern__linear_form form;
    const int64_t axis = call->attrs[TERN__ATTR_gather_axis].i;
    if (table->rank != 2 || (axis != 0 && axis != -2) || !tern__linear_form_of(table->dtype, &form))
        return false;
    *out = (tern__packing){.op = TERN__OP_packed_gather, .tile = TERN__LINEAR_TILE};
    out->attrs[TERN__ATTR_packed_gather_n].i = table->shape[0];
    out->attrs[TERN__ATTR_packed_gather_k].i = table->shape[1];
    out->attrs[TERN__ATTR_packed_gather_dtype].i = table->dtype;
    return linear_type(table, &out->type);
}

bool tern__cpu_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    switch (tern__op_code(call->op)) {
    case TERN__OP_matmul:
        return gemm_packing(call, isa_mask, out);
    case TERN__OP_ternary_matmul:
        return ternary_packing(call, isa_mask, out);
    case TERN__OP_linear:
        return linear_packing(call, isa_mask, out);
    case TERN__OP_gather:
        return gather_packing(call, out);
    default:
        return false;
    }
}

typedef struct packer {
    const tern__packing *packing;
    const tern__buffer *from;
    void *to;
    uintptr_t end;               /* of what is written */
    tern__cpu_work pages, tiles; /* how they are shared */
} packer;

static void pack_tiles(const packer *o, int64_t begin, int64_t end)
{
    const tern__packing *packing = o->packing;
    const tern__kernel_row *row = packing->how;
    if (packing->op == TERN__OP_packed_matmul) {
        const int64_t *strides = o->from->strides;
        tern__gemm_pack(row->kernel, o->from->type->dtype, o->from->data, strides[1 - packing->axis],
                        strides[packing->axis], packing->type.shape[1], o->from->type->shape[packing->axis],
                        begin, end, o->to);
        return;
    }
    const tern__type *type = o->from->type;
    if (packing->op == TERN__OP_packed_linear || packing->op == TERN__OP_packed_gather) {
        tern__linear_pack(type->dtype, o->from->data, o->from->strides[0], o->from->strides[1],
                          type->shape[0], type->shape[1], begin, end, o->to);
        return;
    }
    tern__ternary_pack(form_of(packing->attrs), type->dtype, o->from->data, o->from->strides[0],
                       type->shape[0], type->shape[1], begin, end, o->to);
}

static void pack_part(void *user, int worker, int workers)
{
    (void)workers;
    const packer *o = user;
    const uintptr_t start = (uintptr_t)o->to, first = start / TERN__HUGE_PAGE * TERN__HUGE_PAGE;
    int64_t begin, end;
    for (int turn = 0; tern__cpu_next_piece(&o->pages, worker, &turn, &begin, &end);) {
        const uintptr_t from = first + (uintptr_t)begin * TERN__HUGE_PAGE,
                        to = first + (uintptr_t)end * TERN__HUGE_PAGE, at = from > start ? from : start;
        tern__pages_populate((char *)o->to + (at - start), (to < o->end ? to : o->end) - at);
    }
    for (int turn = 0; tern__cpu_next_piece(&o->tiles, worker, &turn, &begin, &end);)
        pack_tiles(o, begin, end);
}

/* First touch: where memory has several nodes, a page is on that of the worker who wrote it first. So tiles are shared here as the
 * items of a run with one row share them (parts.c), which reads every tile once and is as fast as memory. Runs with blocks of rows
 * share otherwise, but read tiles again and again from their caches.
 *
 * A page that is written for the first time may cost more than all that is written to it: the system clears it, and a virtual machine
 * has to get it from its host. Huge pages are few, and whose share they begin in is chance. So workers get the pages first, one by
 * one, and then claim all tiles piece by piece: who had fewer pages to wait for packs more of them. */
tern_status tern__cpu_pack(const tern__target *target, const tern__packing *packing,
                           const tern__buffer *constant, void *to)
{
    const tern__device *device = target->data;
    const int64_t tiles = packing->type.shape[0];
    const double bytes = (double)tern__type_bytes(&packing->type);
    const int parts = tern__target_parts(target, tiles, 0, bytes);
    packer o = {.packing = packing, .from = constant, .to = to};
    if (parts == 1) {
        pack_tiles(&o, 0, tiles);
        return TERN_OK;
    }
    o.end = (uintptr_t)to + tern__type_bytes(&packing->type);
    const uintptr_t pages = (o.end - 1) / TERN__HUGE_PAGE - (uintptr_t)to / TERN__HUGE_PAGE + 1;
    o.tiles = (tern__cpu_work){.items = tiles, .parts = parts, .claims = device->claims, .claims_all = true};
    o.pages = o.tiles;
    o.pages.items = (int64_t)pages;
    o.pages.claims += parts;
    for (int i = 0; i < 2 * parts; i++)
        atomic_store_explicit(&device->claims[i].next, 0, memory_order_relaxed);
    tern__threads_run_as("pack weights", device->threads, parts, pack_part, &o);
    return TERN_OK;
}

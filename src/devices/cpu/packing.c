/* packing.c - constant weights in the form that the CPU's kernels read fastest: f32 in tiles of the kernel's width, weights of linear
 * products in tiles of 32 rows, ternary weights in form 5, which is smaller, where the kernel that runs is preferred
 * (tern__ternary_kernel), and in form 4 elsewhere. */
#include "devices/cpu/packing.h"

#include "base/alloc.h"
#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "kernels/gemm/gemm.h"
#include "kernels/linear/product.h"
#include "kernels/ternary/ternary.h"

/* ---- which form ---- */

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
    const tern__kernel_row *five = tern__ternary_row(TERN__TERNARY_5, isa_mask);
    return ((const tern__ternary_kernel *)five->kernel)->preferred
               ? five
               : tern__ternary_row(TERN__TERNARY_4, isa_mask);
}

double tern__cpu_ternary_bits(uint32_t isa_mask)
{
    const tern__ternary_kernel *kernel = tern__cpu_ternary_packer(isa_mask)->kernel;
    return 8.0 / (double)(int)kernel->form;
}

static bool ternary_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    const tern__type *weight = call->in[1];
    const tern__kernel_row *row = tern__cpu_ternary_packer(isa_mask);
    const tern__ternary_form form = ((const tern__ternary_kernel *)row->kernel)->form;
    *out = (tern__packing){
        .op = TERN__OP_packed_ternary_matmul, .tile = tern__ternary_tile_rows(form), .how = row};
    out->attrs[TERN__ATTR_packed_ternary_matmul_n].i = weight->shape[0];
    out->attrs[TERN__ATTR_packed_ternary_matmul_form].i = form;
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
static bool gather_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    const tern__type *table = call->in[0];
    tern__linear_form form;
    const int64_t axis = call->attrs[TERN__ATTR_gather_axis].i;
    (void)isa_mask;
    if (table->rank != 2 || (axis != 0 && axis != -2) || !tern__linear_form_of(table->dtype, &form))
        return false;
    *out = (tern__packing){.op = TERN__OP_packed_gather, .tile = TERN__LINEAR_TILE};
    out->attrs[TERN__ATTR_packed_gather_n].i = table->shape[0];
    out->attrs[TERN__ATTR_packed_gather_k].i = table->shape[1];
    out->attrs[TERN__ATTR_packed_gather_dtype].i = table->dtype;
    return linear_type(table, &out->type);
}

/* ---- packing ---- */

/* Tiles [begin, end) of a constant. */
static void pack_gemm(const tern__packing *packing, const tern__buffer *from, int64_t begin, int64_t end,
                      void *to)
{
    const tern__kernel_row *row = packing->how;
    tern__gemm_pack(row->kernel, from->type->dtype, from->data, from->strides[1 - packing->axis],
                    from->strides[packing->axis], packing->type.shape[1], from->type->shape[packing->axis],
                    begin, end, to);
}

static void pack_linear(const tern__packing *packing, const tern__buffer *from, int64_t begin, int64_t end,
                        void *to)
{
    (void)packing;
    tern__linear_pack(from->type->dtype, from->data, from->strides[0], from->strides[1], from->type->shape[0],
                      from->type->shape[1], begin, end, to);
}

static void pack_ternary(const tern__packing *packing, const tern__buffer *from, int64_t begin, int64_t end,
                         void *to)
{
    tern__ternary_pack((tern__ternary_form)packing->attrs[TERN__ATTR_packed_ternary_matmul_form].i,
                       from->type->dtype, from->data, from->strides[0], from->type->shape[0],
                       from->type->shape[1], begin, end, to);
}

/* A constant of `op` becomes one of `packed_op`, or, where linear is a matmul, of what that becomes. */
static const struct packable {
    tern__opcode op, packed_op;
    bool (*packing)(const tern__call *call, uint32_t isa_mask, tern__packing *out);
    void (*pack)(const tern__packing *packing, const tern__buffer *from, int64_t begin, int64_t end,
                 void *to);
} packables[] = {
    {TERN__OP_matmul, TERN__OP_packed_matmul, gemm_packing, pack_gemm},
    {TERN__OP_linear, TERN__OP_packed_linear, linear_packing, pack_linear},
    {TERN__OP_gather, TERN__OP_packed_gather, gather_packing, pack_linear},
    {TERN__OP_ternary_matmul, TERN__OP_packed_ternary_matmul, ternary_packing, pack_ternary},
};

enum {
    PACKED = 0
#define TERN_OP(name, in, out, attrs, shape, dtype, flags, ...) +(((flags)&TERN__PACKED) != 0)
#include "graph/ops.def"
#undef TERN_OP
};
_Static_assert(TERN__COUNT(packables) == PACKED, "ops.def has a packed form that nothing is packed for");

bool tern__cpu_packing(const tern__call *call, uint32_t isa_mask, tern__packing *out)
{
    for (size_t i = 0; i < TERN__COUNT(packables); i++)
        if (packables[i].op == tern__op_code(call->op))
            return packables[i].packing(call, isa_mask, out);
    return false;
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
    for (size_t i = 0; i < TERN__COUNT(packables); i++)
        if (packables[i].packed_op == o->packing->op)
            packables[i].pack(o->packing, o->from, begin, end, o->to);
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

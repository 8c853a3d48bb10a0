/* catalog.c - what the CPU tells about itself without a device being made: the machine, and the kernels there are. */
#include <unistd.h>

#include "base/alloc.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/kernels.h"
#include "kernels/select.h"

void tern__cpu_describe(tern__isa cap, tern_device_info *out)
{
    const tern__cpu_info *cpu = tern__cpu();
    long pages = sysconf(_SC_PHYS_PAGES);
    tern__isa best = TERN__ISA_BASELINE;
    uint32_t mask = tern__isa_mask_capped(cpu, cap);
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        if (mask >> level & 1)
            best = (tern__isa)level;
    *out = (tern_device_info){.name = "cpu",
                              .backend = "native",
                              .model = cpu->model,
                              .isa = tern__isa_name(best),
                              .isa_available = cpu->isa_names,
                              .cores_online = cpu->cores_online,
                              .cores_usable = cpu->cores_usable,
                              .cores_reason = cpu->cores_reason,
                              .memory_bytes = pages > 0 ? (int64_t)pages * (int64_t)tern__page_size() : 0,
                              .l1d_bytes = cpu->l1d_bytes,
                              .l2_bytes = cpu->l2_bytes,
                              .l3_bytes = cpu->l3_bytes};
}

/* What the kernels of kernels.def compute. */
static const tern__opcode op_of_family[TERN__KERNEL_FAMILIES] = {
    [TERN__FAMILY_ternary_t2] = TERN__OP_ternary_matmul,
    [TERN__FAMILY_ternary_t5] = TERN__OP_ternary_matmul,
    [TERN__FAMILY_gemm_f32] = TERN__OP_matmul,
};

/* Counts down to the entry that is asked for. */
static bool is_next(int *left)
{
    return (*left)-- == 0;
}

bool tern__cpu_list(int i, tern__isa cap, tern_kernel_info *out)
{
    uint32_t mask = tern__isa_mask_capped(tern__cpu(), cap);
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        const tern__kernel *kernel = tern__cpu_reference((tern__opcode)op);
        if (!kernel || !is_next(&i))
            continue;
        *out = (tern_kernel_info){.name = kernel->name,
                                  .op = tern__ops[op].name,
                                  .isa = tern__isa_name(kernel->isa),
                                  .usable = (mask >> kernel->isa & 1) != 0};
        return true;
    }
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int r = 0; r < count; r++) {
        if (!is_next(&i))
            continue;
        *out = (tern_kernel_info){.name = rows[r].name,
                                  .op = tern__ops[op_of_family[rows[r].family]].name,
                                  .isa = tern__isa_name(rows[r].isa),
                                  .usable = tern__kernel_runs(&rows[r], mask)};
        return true;
    }
    /* One interpreter, with instructions for each level. */
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        const tern__rowop_table *table = tern__rowop_tables(1u << level | 1u);
        if ((int)table->isa != level || !is_next(&i))
            continue;
        *out = (tern_kernel_info){.name = TERN__ROW_KERNEL_NAME,
                                  .op = tern__ops[TERN__OP_fused].name,
                                  .isa = tern__isa_name(table->isa),
                                  .usable = (mask >> level & 1) != 0};
        return true;
    }
    return false;
}

/* catalog.c - what the CPU tells about itself without a device being made: the machine, and the kernels there are. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/library.h"
#include "devices/cpu/products.h"
#include "devices/cpu/regions.h"
#include "kernels/select.h"

/* What stands in strings that outlive the call: chosen kernels for each level that is the best, and features. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char chosen_names[TERN__ISA_COUNT][256], features[64];

static void add_name(char *to, size_t size, const char *name)
{
    const size_t used = strlen(to);
    snprintf(to + used, size - used, "%s%s", used ? " " : "", name);
}

static void write_names(void)
{
    const tern__cpu_info *cpu = tern__cpu();
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        for (int family = 0; family < TERN__KERNEL_FAMILIES; family++) {
            const tern__kernel_row *row = tern__kernel_select((tern__kernel_family)family,
                                                              tern__isa_mask_capped(cpu, (tern__isa)level));
            if (row)
                add_name(chosen_names[level], sizeof chosen_names[level], row->name);
        }
    for (int feature = TERN__FEATURE_NONE + 1; feature < TERN__FEATURE_COUNT; feature++)
        if (tern__cpu_has(cpu, (tern__feature)feature))
            add_name(features, sizeof features, tern__feature_name((tern__feature)feature));
}

void tern__cpu_describe(tern__isa cap, tern_device_info *out)
{
    const tern__cpu_info *cpu = tern__cpu();
    long pages = sysconf(_SC_PHYS_PAGES);
    tern__isa best = TERN__ISA_BASELINE;
    uint32_t mask = tern__isa_mask_capped(cpu, cap);
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        if (mask >> level & 1)
            best = (tern__isa)level;
    pthread_once(&once, write_names);
    *out = (tern_device_info){.name = "cpu",
                              .backend = "native",
                              .model = cpu->model,
                              .isa = tern__isa_name(best),
                              .isa_available = cpu->isa_names,
                              .features = features,
                              .kernels = chosen_names[best],
                              .cores_online = cpu->cores_online,
                              .cores_usable = cpu->cores_usable,
                              .cores_reason = cpu->cores_reason,
                              .memory_bytes = pages > 0 ? (int64_t)pages * (int64_t)tern__page_size() : 0,
                              .l1d_bytes = cpu->l1d_bytes,
                              .l2_bytes = cpu->l2_bytes,
                              .l3_bytes = cpu->l3_bytes,
                              .ternary_bits = tern__cpu_ternary_bits(mask)};
}

/* Counts down to the entry that is asked for. */
static bool is_next(int *left)
{
    return (*left)-- == 0;
}

/* Of several kernels for the same, why this one is taken or not. */
static const char *why(tern__isa isa, tern__feature feature, uint32_t mask, bool chosen)
{
    if (chosen)
        return "the best that runs here";
    if (!(tern__cpu()->isa_mask >> isa & 1))
        return "this processor lacks its instructions";
    if (!(mask >> isa & 1))
        return "above the level that may be used";
    if (!tern__cpu_has(tern__cpu(), feature))
        return "this processor lacks its feature";
    return "a better one runs here";
}

/* The operation that a family is for. */
static const tern__opcode family_ops[] = {
#define TERN_FAMILY(name, op) [TERN__FAMILY_##name] = TERN__OP_##op,
#include "kernels/kernels.def"
};

/* Entry i of kernels.def. */
static bool list_row(int i, uint32_t mask, tern_kernel_info *out)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count), *row = rows + (i < count ? i : 0);
    if (i >= count)
        return false;
    const bool chosen = row == tern__kernel_select(row->family, mask);
    *out = (tern_kernel_info){.name = row->name,
                              .op = tern__ops[family_ops[row->family]].name,
                              .isa = tern__isa_name(row->isa),
                              .usable = tern__kernel_runs(row, mask),
                              .chosen = chosen,
                              .why = why(row->isa, row->feature, mask, chosen)};
    return true;
}

/* ---- one op ---- */

static tern_kernel_info reference_of(tern__opcode op, bool chosen)
{
    const tern__kernel *kernel = tern__cpu_reference(op);
    return (tern_kernel_info){.name = kernel->name,
                              .op = tern__ops[op].name,
                              .isa = tern__isa_name(kernel->isa),
                              .usable = true,
                              .chosen = chosen,
                              .why = chosen ? "nothing else computes it"
                                            : "only for what the others do not take, such as other types"};
}

static tern_kernel_info fast_of(tern__opcode op, uint32_t mask)
{
    const tern__cpu_fast *fast = tern__cpu_fast_of(op);
    const tern__kernel_row *row;
    const bool runs = tern__cpu_fast_runs(fast, mask, &row);
    return (tern_kernel_info){.name = fast->kernel.name,
                              .op = tern__ops[op].name,
                              .isa = tern__isa_name(row ? row->isa : TERN__ISA_BASELINE),
                              .usable = runs,
                              .chosen = runs,
                              .why = !runs ? "there are no loops for it here"
                                     : row ? "the best that runs here, with loops of this level"
                                           : "the best there is"};
}

/* An op by itself is a row program of one. */
static tern_kernel_info rows_of(tern__opcode op, uint32_t mask)
{
    return (tern_kernel_info){.name = TERN__ROW_KERNEL_NAME,
                              .op = tern__ops[op].name,
                              .isa = tern__isa_name(tern__rowop_tables(mask)->isa),
                              .usable = true,
                              .chosen = true,
                              .why = "the best that runs here, row by row"};
}

static bool has_family(tern__opcode op, uint32_t mask)
{
    for (int family = 0; family < TERN__KERNEL_FAMILIES; family++)
        if (family_ops[family] == op && tern__kernel_select((tern__kernel_family)family, mask))
            return true;
    return false;
}

/* Entries of one op: its reference, and what computes it in its place. False: *i is beyond them, and has been counted down. */
static bool list_op(tern__opcode op, uint32_t mask, int *i, tern_kernel_info *out)
{
    const tern__cpu_fast *fast = tern__cpu_fast_of(op);
    const tern__kernel_row *row;
    if (tern__cpu_reference(op) && is_next(i)) {
        *out = reference_of(op, !(fast && tern__cpu_fast_runs(fast, mask, &row)) && !tern__row_knows(op) &&
                                    !has_family(op, mask));
        return true;
    }
    if (fast && is_next(i)) {
        *out = fast_of(op, mask);
        return true;
    }
    if (tern__row_knows(op) && is_next(i)) {
        *out = rows_of(op, mask);
        return true;
    }
    return false;
}

/* Entry i of the libraries. */
static bool list_library(int i, tern_kernel_info *out)
{
    const tern__library *library = tern__library_at(i);
    if (!library)
        return false;
    const bool here = library->missing[0] == '\0';
    *out = (tern_kernel_info){.name = library->kernel,
                              .op = tern__ops[TERN__OP_matmul].name,
                              .isa = "library",
                              .usable = here,
                              .why = here ? "order=library: runs only where option library names it"
                                          : library->missing};
    return true;
}

bool tern__cpu_list(int i, tern__isa cap, tern_kernel_info *out)
{
    uint32_t mask = tern__isa_mask_capped(tern__cpu(), cap);
    for (int op = 0; op < TERN__OP_COUNT; op++)
        if (list_op((tern__opcode)op, mask, &i, out))
            return true;
    /* One interpreter, with instructions for each level. */
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        const tern__rowop_table *table = tern__rowop_tables(1u << level | 1u);
        if ((int)table->isa != level || !is_next(&i))
            continue;
        *out = (tern_kernel_info){
            .name = TERN__ROW_KERNEL_NAME,
            .op = tern__ops[TERN__OP_fused].name,
            .isa = tern__isa_name(table->isa),
            .usable = (mask >> level & 1) != 0,
            .chosen = table == tern__rowop_tables(mask),
            .why = why(table->isa, TERN__FEATURE_NONE, mask, table == tern__rowop_tables(mask))};
        return true;
    }
    int rows;
    tern__kernel_rows(&rows);
    return i < rows ? list_row(i, mask, out) : list_library(i - rows, out);
}

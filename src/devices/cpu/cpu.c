/* cpu.c - the CPU as a device. */
#include "devices/cpu/cpu.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "devices/cpu/candidates.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/regions.h"

extern const tern__device_ops tern__device_cpu;

/* The name says what runs: an interpreter. */
static const tern__kernel row_kernel = {.name = "row program", .run = tern__row_run};

static bool fuses(const tern__target *target, const tern__call *call)
{
    const tern__device *device = target->data;
    return tern__cpu_has_rows(call, device->rows);
}

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    const tern__device *device = target->data;
    const tern__row_program *program;
    /* A candidate without a name of its own only says how many workers share the step. */
    bool as_told = candidate && candidate->params[0] != 0;
    tern__row_variant variant = as_told ? tern__cpu_row_variant(candidate) : (tern__row_variant){0};
    TERN_TRY(tern__cpu_row_program(call, device->rows, as_told ? &variant : NULL, arena, &program));
    TERN__FAIL_IF(as_told && !program, TERN_UNSUPPORTED, "%s: cannot run with %s", call->op->name,
                  candidate->name);
    if (program) {
        *out = (tern__choice){.kernel = &row_kernel,
                              .name = row_kernel.name,
                              .isa = tern__isa_name(device->rows->isa),
                              .scratch_bytes =
                                  program->scratch_bytes <= TERN__CPU_ROW_BYTES ? 0 : program->scratch_bytes,
                              .program = program,
                              .work = program->work};
        return TERN_OK;
    }
    const tern__kernel *kernel = tern__cpu_reference(tern__op_code(call->op));
    TERN__FAIL_IF(!kernel, TERN_UNSUPPORTED, "%s: the CPU has no kernel for it", call->op->name);
    *out = (tern__choice){.kernel = kernel,
                          .name = kernel->name,
                          .isa = tern__isa_name(kernel->isa),
                          .scratch_bytes = tern__cpu_reference_scratch(call),
                          .work = -1};
    return TERN_OK;
}

static void destroy(tern__device *device)
{
    if (!device)
        return;
    tern__threads_destroy(device->threads);
    tern__free(device->buffers);
    tern__free(device->row_memory);
    tern__free(device);
}

static tern_status create(const tern__device_options *options, tern__device **out)
{
    tern__device *device = tern__alloc_zero(1, sizeof *device);
    if (!device)
        return tern__out_of_memory(sizeof *device);
    tern_status status = tern__threads_create(options->threads, &device->threads);
    if (status != TERN_OK) {
        destroy(device);
        return status;
    }
    size_t row_bytes = (size_t)options->threads * TERN__CPU_ROW_BYTES;
    device->row_memory = tern__alloc_aligned(row_bytes, TERN__ALIGN);
    if (!device->row_memory) {
        destroy(device);
        return tern__out_of_memory(row_bytes);
    }
    device->isa_mask = tern__isa_mask_capped(tern__cpu(), options->isa_cap);
    device->rows = tern__rowop_tables(device->isa_mask);
    device->target = (tern__target){
        .name = "cpu", .workers = options->threads, .choose = choose, .fuses = fuses, .data = device};
    device->target.candidates = tern__cpu_candidates;
    device->target.timings = options->timings;
    device->target.evaluate = tern__cpu_evaluate;
    *out = device;
    return TERN_OK;
}

static const tern__target *target_of(const tern__device *device)
{
    return &device->target;
}

static void describe(tern_device_info *out)
{
    const tern__cpu_info *cpu = tern__cpu();
    long pages = sysconf(_SC_PHYS_PAGES);
    *out = (tern_device_info){.name = "cpu",
                              .backend = "native",
                              .model = cpu->model,
                              .isa = tern__isa_name(cpu->best),
                              .isa_available = cpu->isa_names,
                              .cores_online = cpu->cores_online,
                              .cores_usable = cpu->cores_usable,
                              .cores_reason = cpu->cores_reason,
                              .memory_bytes = pages > 0 ? (int64_t)pages * (int64_t)tern__page_size() : 0,
                              .l1d_bytes = cpu->l1d_bytes,
                              .l2_bytes = cpu->l2_bytes,
                              .l3_bytes = cpu->l3_bytes};
}

const tern__device_ops tern__device_cpu = {
    .name = "cpu",
    .backend = "native",
    .create = create,
    .destroy = destroy,
    .target = target_of,
    .run = tern__cpu_run,
    .describe = describe,
};

/* cpu.c - the CPU as a device. */
#include "devices/cpu/cpu.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/status.h"
#include "devices/cpu/candidates.h"
#include "devices/cpu/cost.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/library.h"
#include "devices/cpu/packing.h"
#include "devices/rows/regions.h"
#include "kernels/select.h"

extern const tern__device_ops tern__device_cpu;

static const tern__kernel row_kernel = {.run = tern__row_run};

tern_status tern__cpu_keep(tern__arena *arena, const void *program, size_t bytes, const void **out)
{
    void *kept = tern__arena_alloc(arena, bytes);
    if (!kept)
        return tern__out_of_memory(bytes);
    memcpy(kept, program, bytes);
    *out = kept;
    return TERN_OK;
}

tern_status tern__cpu_chosen(const tern__kernel *kernel, const tern__kernel_row *row, const void *program,
                             size_t bytes, tern__arena *arena, tern__choice *out, bool *found)
{
    out->kernel = kernel;
    out->name = row->name;
    out->isa = tern__isa_name(row->isa);
    *found = true;
    return tern__cpu_keep(arena, program, bytes, &out->program);
}

static bool fuses(const tern__target *target, const tern__call *call)
{
    return tern__rows_has(call, tern__rowop_tables(target->isa_mask));
}

static tern__cpu_chooser *const choosers[TERN__OP_COUNT] = {
#define TERN_CHOOSER(op, chooser, ways) [TERN__OP_##op] = tern__cpu_##chooser,
#include "kernels/kernels.def"
};

/* What a call asks of the plan's arena: nothing, where the device lends it what it needs. */
static size_t own_scratch(const void *program, size_t bytes)
{
    return program && bytes <= TERN__CPU_SCRATCH_BYTES ? 0 : bytes;
}

static tern_status choose(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__choice *out)
{
    const tern__rowop_table *rows = tern__rowop_tables(target->isa_mask);
    const tern__row_program *program = NULL;
    bool as_told = tern__cpu_candidate_is_row(candidate);
    tern__row_variant variant = as_told ? tern__cpu_row_variant(candidate) : (tern__row_variant){0};
    if (!tern__cpu_shares_rows(call))
        TERN_TRY(tern__rows_program(call, rows, as_told ? &variant : NULL, arena, &program));
    TERN__FAIL_IF(as_told && !program, TERN_UNSUPPORTED, "%s: cannot run with %s", call->op->name,
                  candidate->name);
    if (program) {
        *out = (tern__choice){.kernel = &row_kernel,
                              .name = TERN__ROW_KERNEL_NAME,
                              .isa = tern__isa_name(rows->isa),
                              .rows = true,
                              .scratch_bytes = own_scratch(program, program->scratch_bytes),
                              .program = program,
                              .work = program->work};
        return TERN_OK;
    }
    const tern__opcode op = tern__op_code(call->op);
    bool found = false;
    if (choosers[op])
        TERN_TRY(choosers[op](target, call, candidate, arena, out, &found));
    if (!found)
        TERN_TRY(tern__cpu_chosen_fast(target, call, arena, out, &found));
    if (found) {
        out->scratch_bytes = own_scratch(out->program, out->scratch_bytes);
        return TERN_OK;
    }
    const tern__kernel *kernel = tern__cpu_reference(op);
    TERN__FAIL_IF(!kernel, TERN_UNSUPPORTED, "%s: the CPU has no kernel for it", call->op->name);
    *out = (tern__choice){.kernel = kernel,
                          .name = tern__cpu_reference_name(op),
                          .isa = tern__isa_name(TERN__ISA_BASELINE),
                          .reference = true,
                          .scratch_bytes = tern__cpu_reference_scratch(call),
                          .work = -1};
    return TERN_OK;
}

static bool packing(const tern__target *target, const tern__call *call, tern__packing *out)
{
    /* Libraries read operands as they lie. */
    return !(target->library && tern__op_code(call->op) == TERN__OP_matmul) &&
           tern__cpu_packing(call, target->isa_mask, out);
}

static tern_status find_library(const tern__target *target, const char *name, const void **out)
{
    const tern__library *library;
    (void)target;
    TERN_TRY(tern__library_find(name, &library));
    *out = library;
    return TERN_OK;
}

static void destroy(tern__device *device)
{
    if (!device)
        return;
    tern__threads_destroy(device->threads);
    tern__free(device->buffers);
    tern__free(device->scratch_memory);
    tern__free(device->claims);
    tern__free(device);
}

/* The caller, worker 0, decides for itself. A system that refuses leaves the thread as it is: that is said once. */
static void make_way(void *arg, int worker, int workers)
{
    (void)arg;
    (void)workers;
    if (worker > 0 && tern__thread_background() != TERN_OK && worker == 1)
        tern__log(TERN_LOG_WARN, "%s", tern_last_error());
}

/* A part of the second cache that the small steps before a product can spare. */
static int64_t ahead_bytes(void)
{
    const int64_t cache = tern__cpu()->l2_bytes, share = cache / 4, usual = 64 << 10, most = 512 << 10;
    return cache == 0 ? usual : share < most ? share : most;
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
    if (options->background)
        tern__threads_run(device->threads, options->threads, make_way, NULL);
    const size_t row_bytes = (size_t)options->threads * TERN__CPU_SCRATCH_BYTES,
                 claim_bytes = 2 * (size_t)options->threads * sizeof *device->claims;
    device->scratch_memory = tern__alloc_aligned(row_bytes, TERN__ALIGN);
    device->claims = tern__alloc_aligned(claim_bytes, TERN__ALIGN);
    if (!device->scratch_memory || !device->claims) {
        destroy(device);
        return tern__out_of_memory(row_bytes + claim_bytes);
    }
    device->ahead_bytes = ahead_bytes();
    device->isa_mask = tern__isa_mask_within(tern__cpu(), options->isa_cap);
    device->target = (tern__target){.name = "cpu",
                                    .workers = options->threads,
                                    .isa_mask = device->isa_mask,
                                    .choose = choose,
                                    .fuses = fuses,
                                    .data = device};
    device->target.candidates = tern__cpu_candidates;
    device->target.cost = tern__cpu_cost;
    device->target.timings = options->timings;
    device->target.pool = options->pool;
    device->target.evaluate = tern__cpu_evaluate;
    device->target.packing = packing;
    device->target.pack = tern__cpu_pack;
    device->target.find_library = find_library;
    *out = device;
    return TERN_OK;
}

static const tern__target *target_of(const tern__device *device)
{
    return &device->target;
}

const tern__device_ops tern__device_cpu = {
    .name = "cpu",
    .backend = "native",
    .create = create,
    .destroy = destroy,
    .target = target_of,
    .run = tern__cpu_run,
    .describe = tern__cpu_describe,
    .list = tern__cpu_list,
};

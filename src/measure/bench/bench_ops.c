/* bench_ops.c - the suite `ops`: the cases of cases.def, one operation each. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/status.h"
#include "measure/bench/bench.h"
#include "measure/bench/cases.h"

static tern_status describe(const tern__bench *bench, int i, tern__cell *cell)
{
    const tern__case *c = tern__case_at(i);
    TERN__FAIL_IF(!c, TERN_OUT_OF_RANGE, "bench: there is no case %d", i);
    cell->row.family = c->family;
    cell->row.name = c->name;
    cell->row.op = c->op;
    cell->row.limit_kind = tern_limit_name(c->limit);
    cell->strided = tern__case_strided(c);
    tern__case_shape(c, bench->o.memory, cell->shape, sizeof cell->shape);
    return TERN_OK;
}

/* The cell's state. */
typedef struct state {
    tern__prepared measured; /* first: what runs takes it for the state */
    tern__prepared home;     /* with another device: the same on the CPU */
} state;

static tern_status prepare(int i, tern__cell *cell)
{
    const tern__bench *b = cell->bench;
    const tern__case *row = tern__case_at(i);
    state *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    cell->state = s;
    TERN_TRY(b->on_cpu
                 ? tern__case_prepare(b->ctx, row, b->o.memory, &s->measured)
                 : tern__case_prepare_on(b->device_ctx, b->ctx, row, b->o.memory, &s->home, &s->measured));
    cell->row.copies = s->measured.copies;
    return TERN_OK;
}

static tern_status ready(tern__cell *cell, int threads)
{
    tern__prepared *p = &((state *)cell->state)->measured;
    tern_compile_options options = tern_compile_options_default();
    options.threads = threads;
    TERN_TRY(tern__case_compile(p, &options));
    tern__row_find_kernel(p->program, &cell->row);
    tern_status status = tern__case_check(p, &cell->first_s);
    cell->row.accuracy_error = p->error; /* also of what is wrong */
    TERN_TRY(status);
    if (!cell->bench->on_cpu) { /* the first run built kernels */
        const uint64_t start = tern__now_ns();
        TERN_TRY(tern__case_run(p));
        cell->first_s = (double)(tern__now_ns() - start) * 1e-9;
    }
    cell->limited = true;
    cell->work = (tern__limit_work){.kind = p->row->limit,
                                    .operations = p->row->operations * p->copies,
                                    .read_bytes = p->read_bytes,
                                    .write_bytes = p->write_bytes,
                                    .share = p->copies > 1 ? p->read_bytes / p->copies : 0};
    /* Kernels of vectors are not compared with tiles. */
    if (!cell->row.isa || strcmp(cell->row.isa, "amx") != 0)
        cell->work.isa_mask = tern__isa_without_tiles(tern__cpu()->isa_mask);
    cell->operations = cell->work.operations;
    cell->bytes = p->row->operations == 0 ? (double)(p->read_bytes + p->write_bytes) : 0;
    return TERN_OK;
}

static void close_case(tern__cell *cell)
{
    state *s = cell->state;
    if (!s)
        return;
    tern__case_free(&s->measured);
    tern__case_free(&s->home);
    tern__free(s);
}

const tern__suite tern__suite_ops = {
    .name = "ops",
    .what = "operations one by one, as shares of what the machine can do",
    .describe = describe,
    .prepare = prepare,
    .ready = ready,
    .run = tern__case_run,
    .run_anew = tern__case_run_anew,
    .close = close_case,
};

/* pipeline.c - batches of which one is filled while the one before is computed. On a device that copies inputs there is one more: while
 * one is computed the next is copied to the device, and the one behind it is filled. */
#include <tern/stream.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/trace.h"
#include "runtime/program.h"

enum { MOST_SETS = 3 };

typedef struct filling {
    struct pipe *pipe;
    int64_t batch;
    void **addresses;     /* (n_in) */
    tern_tensor **inputs; /* (n_in) one reference each */
} filling;

typedef struct pipe {
    tern_exec *exec;
    const tern_pipeline *told;
    int n_in, n_out;
    int n_sets; /* 2; 3 if the device copies inputs */
    tern_stream *stream;
    filling sets[MOST_SETS];
    tern_event *filled[MOST_SETS];
    tern_tensor **outputs; /* (n_out) */
} pipe;

static tern_status fill(void *user)
{
    const filling *f = user;
    return f->pipe->told->fill(f->pipe->told->user, f->batch, f->pipe->n_in, f->addresses);
}

static tern_status make_set(pipe *p, filling *f)
{
    tern_ctx *ctx = tern__exec_ctx(p->exec);
    f->pipe = p;
    f->addresses = tern__alloc_zero((size_t)p->n_in + 1, sizeof *f->addresses);
    f->inputs = tern__alloc_zero((size_t)p->n_in + 1, sizeof *f->inputs);
    if (!f->addresses || !f->inputs)
        return tern__out_of_memory((size_t)p->n_in * sizeof *f->inputs);
    for (int i = 0; i < p->n_in; i++) {
        tern_port port;
        tern__type type;
        tern__layout layout;
        tern__storage *storage;
        TERN_TRY(tern_program_input(tern__exec_program(p->exec), i, &port));
        TERN_TRY(tern__type_make("pipeline", port.dtype, port.rank, port.shape, &type));
        TERN_TRY(tern__storage_create(ctx->pool, tern__type_bytes(&type), 0, &storage));
        tern__layout_contiguous(&type, &layout);
        f->addresses[i] = storage->host;
        f->inputs[i] = tern_keep(tern__tensor_wrap(ctx, &type, storage, &layout));
        TERN_TRY(tern__tensor_check(f->inputs[i]));
    }
    return TERN_OK;
}

/* The set is free: the batch that had it has been computed. */
static tern_status begin(pipe *p, int64_t batch)
{
    filling *f = &p->sets[batch % p->n_sets];
    f->batch = batch;
    for (int i = 0; i < p->n_in; i++)
        f->inputs[i]->storage->version++;
    TERN_TRY(tern_stream_call(p->stream, "fill", fill, f));
    return tern_stream_record(p->stream, &p->filled[batch % p->n_sets]);
}

/* Until its inputs are there. */
static tern_status await(pipe *p, int64_t batch)
{
    tern_event **filled = &p->filled[batch % p->n_sets];
    const tern_status status = *filled ? tern_event_wait(*filled) : TERN_OK;
    tern_event_free(*filled);
    *filled = NULL;
    return status;
}

/* It is filled: its copy to the device begins. */
static tern_status stage(pipe *p, int64_t batch)
{
    return tern_exec_stage(p->exec, p->n_in, p->sets[batch % p->n_sets].inputs);
}

static tern_status compute(pipe *p, int64_t batch)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(tern__exec_ctx(p->exec)) {
        const uint64_t start = tern__trace_begin();
        status = tern_exec_run(p->exec, p->n_in, p->sets[batch % p->n_sets].inputs, p->n_out, p->outputs);
        tern__trace_end(start, "compute", "batch", UINT32_MAX, 0, 0);
        if (status == TERN_OK && p->told->take)
            status = p->told->take(p->told->user, batch, p->n_out, p->outputs);
    }
    return status;
}

static tern_status run(pipe *p, int64_t n)
{
    p->outputs = tern__alloc_zero((size_t)p->n_out + 1, sizeof *p->outputs);
    if (!p->outputs)
        return tern__out_of_memory((size_t)p->n_out * sizeof *p->outputs);
    p->n_sets = tern__exec_copies_inputs(p->exec) ? 3 : 2;
    TERN_SCOPE(tern__exec_ctx(p->exec)) {
        for (int i = 0; i < p->n_sets; i++)
            TERN_TRY(make_set(p, &p->sets[i]));
    }
    TERN_TRY(tern_stream_create(tern__exec_ctx(p->exec), &p->stream));
    const int ahead = p->n_sets - 1; /* batches that are begun before one is computed */
    for (int64_t batch = 0; batch < ahead && batch < n; batch++)
        TERN_TRY(begin(p, batch));
    for (int64_t batch = 0; batch < n; batch++) {
        TERN_TRY(await(p, batch));
        if (ahead == 2) {
            if (batch == 0) /* before the one behind it, which its kernels would else wait for */
                TERN_TRY(stage(p, 0));
            if (batch + 1 < n) {
                TERN_TRY(await(p, batch + 1));
                TERN_TRY(stage(p, batch + 1));
            }
        }
        if (batch + ahead < n)
            TERN_TRY(begin(p, batch + ahead));
        TERN_TRY(compute(p, batch));
    }
    return TERN_OK;
}

tern_status tern_pipeline_run(tern_exec *exec, int64_t n, const tern_pipeline *pipeline)
{
    TERN__FAIL_IF(!exec || !pipeline || !pipeline->fill, TERN_INVALID_ARGUMENT,
                  "pipeline: needs an exec and a function that fills its inputs");
    TERN__FAIL_IF(n < 0, TERN_INVALID_ARGUMENT, "pipeline: the number of batches is %lld", (long long)n);
    if (n == 0)
        return TERN_OK;
    tern_program_info info;
    tern_program_get_info(tern__exec_program(exec), &info);
    pipe p = {.exec = exec, .told = pipeline, .n_in = info.n_inputs, .n_out = info.n_outputs};
    const tern_status status = run(&p, n);
    tern_stream_free(p.stream); /* what is being filled is filled to its end */
    for (int i = 0; i < MOST_SETS; i++) {
        for (int k = 0; p.sets[i].inputs && k < p.n_in; k++)
            tern_release(p.sets[i].inputs[k]);
        tern__free(p.sets[i].inputs);
        tern__free(p.sets[i].addresses);
        tern_event_free(p.filled[i]);
    }
    tern__free(p.outputs);
    return status;
}

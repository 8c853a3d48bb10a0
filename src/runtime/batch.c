/* batch.c - finding the best batch size by measuring, and working on any number of items in batches. */
#include <tern/batch.h>

#include <tern/ops.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "runtime/made_up.h"
#include "runtime/program.h"

/* ---- one size ---- */

typedef struct heat {
    tern_ctx *ctx;
    const tern_batch_work *work;
    int64_t batch;
    const tern_program *program;
    tern_exec *exec;
    tern_tensor **tensors; /* inputs, then outputs */
    int n_in, n_out;
} heat;

static tern_status run_heat(void *user, int configuration, uint64_t *ns)
{
    heat *h = user;
    (void)configuration;
    if (h->work->run)
        return h->work->run(h->work->user, h->ctx, h->batch, h->program, ns);
    tern_scope_open(h->ctx); /* of the outputs */
    tern_status status = tern_exec_run(h->exec, h->n_in, h->tensors, h->n_out, h->tensors + h->n_in);
    tern_scope_close(h->ctx);
    return status;
}

static tern_status prepare(heat *h)
{
    if (h->work->run)
        return TERN_OK;
    h->n_in = h->program->n_inputs;
    h->n_out = (int)h->program->compiled->plan.n_results;
    h->tensors = tern__alloc_zero((size_t)h->n_in + (size_t)h->n_out + 1, sizeof *h->tensors);
    if (!h->tensors)
        return tern__out_of_memory(((size_t)h->n_in + (size_t)h->n_out) * sizeof *h->tensors);
    TERN_TRY(tern__make_up_inputs(h->ctx, h->program, NULL, h->tensors));
    return tern_exec_create(h->ctx, h->program, &h->exec);
}

/* Intermediates, inputs and outputs; constants are there whatever the size. */
static tern_status bytes_of(const tern_program *program, size_t *out)
{
    tern_program_info info;
    tern_program_get_info(program, &info);
    size_t total = info.arena_bytes;
    for (int i = 0; i < info.n_inputs + info.n_outputs; i++) {
        tern_port port;
        TERN_TRY(i < info.n_inputs ? tern_program_input(program, i, &port)
                                   : tern_program_output(program, i - info.n_inputs, &port));
        tern__type type;
        TERN_TRY(tern__type_make("batch_find", port.dtype, port.rank, port.shape, &type));
        TERN__FAIL_IF(!tern__size_add(total, tern__type_bytes(&type), &total), TERN_OVERFLOW,
                      "batch_find: inputs and outputs do not fit the address space");
    }
    *out = total;
    return TERN_OK;
}

/* Fills the trial; its status says how it went. */
static void measure(heat *h, const tern_batch_options *options, tern_batch_trial *trial)
{
    tern__racer racer;
    uint64_t runs = 0;
    tern_tune_options race = {.runs = options->runs > 0 ? options->runs : 5, .budget_ns = UINT64_MAX};
    trial->status = bytes_of(h->program, &trial->bytes);
    if (trial->status == TERN_OK && options->memory_limit && trial->bytes > options->memory_limit)
        trial->status = tern__fail(TERN_LIMIT, "batch_find: batches of %lld need %zu bytes, the limit is %zu",
                                   (long long)h->batch, trial->bytes, options->memory_limit);
    tern_scope_open(h->ctx);
    if (trial->status == TERN_OK)
        trial->status = prepare(h);
    if (trial->status == TERN_OK) {
        tern__race(1, &racer, run_heat, h, &race, &runs);
        trial->status = racer.status;
    }
    tern_exec_free(h->exec);
    tern_scope_close(h->ctx);
    tern__free(h->tensors);
    if (trial->status != TERN_OK)
        return;
    trial->median_ns = tern__median(racer.samples, racer.n);
    trial->items_per_second = (double)h->batch / ((double)trial->median_ns / 1e9);
    if (options->latency_limit_ns && trial->median_ns > options->latency_limit_ns)
        trial->status = tern__fail(TERN_LIMIT, "batch_find: batches of %lld take %llu us, the limit is %llu",
                                   (long long)h->batch, (unsigned long long)trial->median_ns / 1000,
                                   (unsigned long long)options->latency_limit_ns / 1000);
}

static void try_size(tern_ctx *ctx, const tern_batch_work *work, const tern_batch_options *options,
                     int64_t batch, tern_batch_trial *trial)
{
    tern_program *program = NULL;
    *trial = (tern_batch_trial){.batch = batch};
    trial->status = work->compile(work->user, ctx, batch, &program);
    if (trial->status != TERN_OK)
        return;
    heat h = {.ctx = ctx, .work = work, .batch = batch, .program = program};
    measure(&h, options, trial);
    tern_program_free(program);
}

/* ---- all sizes ---- */

tern_batch_options tern_batch_options_default(void)
{
    return (tern_batch_options){.least = 1, .most = 256, .runs = 5};
}

tern_status tern_batch_find(tern_ctx *ctx, const tern_batch_work *work, const tern_batch_options *options,
                            int64_t *best, tern_batch_trial *trials, int *n_trials)
{
    TERN__FAIL_IF(!ctx || !work || !work->compile || !best, TERN_INVALID_ARGUMENT,
                  "batch_find: needs a context, something that compiles and room for the answer");
    tern_batch_options o = options ? *options : tern_batch_options_default();
    int64_t least = o.least ? o.least : 1, most = o.most ? o.most : 256, found = 0;
    TERN__FAIL_IF(least < 1 || most < least, TERN_INVALID_ARGUMENT,
                  "batch_find: there are no sizes from %lld to %lld", (long long)least, (long long)most);
    double highest = 0;
    tern_status first = TERN_OK;
    int n = 0, falling = 0;
    for (int64_t size = least; n < TERN_BATCH_TRIALS && falling < 2;) {
        tern_batch_trial trial;
        try_size(ctx, work, &o, size, &trial);
        first = n == 0 ? trial.status : first;
        if (trials)
            trials[n] = trial;
        n++;
        if (trial.status != TERN_OK)
            break; /* larger ones need more of everything */
        falling = trial.items_per_second < 0.8 * highest ? falling + 1 : 0;
        if (trial.items_per_second > highest) {
            highest = trial.items_per_second;
            found = size;
        }
        if (size == most)
            break;
        size = size > most / 2 ? most : size * 2;
    }
    if (n_trials)
        *n_trials = n;
    if (found == 0)
        return first;
    *best = found;
    return TERN_OK;
}

/* ---- any number of items ---- */

tern_status tern_batch_process(int64_t n, void *const *items, void **results, int64_t batch, tern_batch_fn fn,
                               void *user, int64_t *done)
{
    TERN__FAIL_IF(
        n < 0 || batch < 1 || !fn, TERN_INVALID_ARGUMENT,
        "batch_process: %lld items in batches of %lld need a function, and sizes that are not negative",
        (long long)n, (long long)batch);
    tern_status status = TERN_OK;
    int64_t at = 0;
    while (at < n && status == TERN_OK) {
        int64_t count = n - at < batch ? n - at : batch;
        status = fn(user, at, count, items ? items + at : NULL, results ? results + at : NULL);
        if (status == TERN_OK)
            at += count;
    }
    if (done)
        *done = at;
    return status;
}

/* ---- tensors through a program ---- */

typedef struct stream {
    tern_ctx *ctx;
    tern_exec *exec;
    tern_port in;
    int64_t batch;
    int64_t least;        /* size that can run; `batch` without a range of batches */
    tern_tensor **padded; /* (batch) items, then zeros */
    tern_tensor **rows;   /* (batch) results, kept until all of a batch are there */
} stream;

static bool is_item(const stream *s, const tern_tensor *t)
{
    bool same = tern_dtype_of(t) == s->in.dtype && tern_rank(t) == s->in.rank - 1;
    for (int i = 0; same && i < s->in.rank - 1; i++)
        same = tern_shape(t)[i] == s->in.shape[i + 1];
    return same;
}

/* Everything made here belongs to a scope of its own; what is to stay is kept. */
static tern_status run_rows(stream *s, int64_t first, int64_t count, void *const *items)
{
    for (int64_t i = 0; i < count; i++) {
        tern_tensor *t = items[i];
        TERN_TRY(tern_status_of(t));
        TERN__FAIL_IF(!is_item(s, t), TERN_SHAPE,
                      "batch_run: item %lld is not one row of the program's input '%s'",
                      (long long)(first + i), s->in.name ? s->in.name : "");
        s->padded[i] = t;
    }
    int64_t size = count > s->least ? count : s->least;
    for (int64_t i = count; i < size; i++)
        s->padded[i] = tern_zeros(s->ctx, s->in.dtype, s->in.rank - 1, s->in.shape + 1);
    tern_tensor *input = tern_stack((int)size, s->padded, 0), *output = NULL;
    TERN_TRY(tern_exec_run(s->exec, 1, &input, 1, &output));
    for (int64_t i = 0; i < count; i++) {
        s->rows[i] = tern_squeeze(tern_narrow(output, 0, i, i + 1), 0);
        TERN_TRY(tern_eval(s->rows[i]));
    }
    return TERN_OK;
}

/* Results outlive the scope in which they were made and are owned like any other tensor. `lost`: there was no memory for that
 * scope, so they are already. */
static void hand_over(tern_tensor *t, bool lost)
{
    if (!lost && tern__owned_by_caller(t))
        return; /* the reference that was kept is the caller's */
    if (!lost)
        tern__node_own(t->node);
    tern_release(t);
}

static tern_status run_batch(void *user, int64_t first, int64_t count, void *const *items, void **results)
{
    stream *s = user;
    const tern__recorder *recorder = tern__recorder_of(s->ctx);
    size_t lost = recorder->lost_scopes;
    tern_scope_open(s->ctx);
    lost = recorder->lost_scopes - lost;
    tern_status status = run_rows(s, first, count, items);
    for (int64_t i = 0; i < count && status == TERN_OK; i++)
        tern_keep(s->rows[i]);
    tern_scope_close(s->ctx);
    for (int64_t i = 0; i < count && status == TERN_OK; i++) {
        hand_over(s->rows[i], lost > 0);
        results[i] = s->rows[i];
    }
    return status;
}

tern_status tern_batch_run(tern_exec *exec, int64_t n, tern_tensor *const *items, tern_tensor **results,
                           int64_t *done)
{
    TERN__FAIL_IF(!exec || n < 0 || (n > 0 && (!items || !results)), TERN_INVALID_ARGUMENT,
                  "batch_run: needs an exec, items and room for results");
    const tern_program *program = tern__exec_program(exec);
    TERN__FAIL_IF(program->n_inputs != 1 || program->compiled->plan.n_results != 1, TERN_INVALID_ARGUMENT,
                  "batch_run: the program has %d inputs and %u outputs, it must have one of each",
                  program->n_inputs, program->compiled->plan.n_results);
    stream s = {.ctx = tern__exec_ctx(exec), .exec = exec};
    tern_port out;
    TERN_TRY(tern_program_input(program, 0, &s.in));
    TERN_TRY(tern_program_output(program, 0, &out));
    TERN__FAIL_IF(s.in.rank < 1 || out.rank < 1 || s.in.shape[0] < 1 || s.in.shape[0] != out.shape[0] ||
                      s.in.shape[0] > INT32_MAX,
                  TERN_SHAPE, "batch_run: the first axes of input and output must be one batch");
    s.batch = s.in.shape[0];
    s.least = program->batching ? program->batching->least : s.batch;
    s.padded = tern__alloc_zero((size_t)s.batch * 2, sizeof *s.padded);
    if (!s.padded)
        return tern__out_of_memory((size_t)s.batch * 2 * sizeof *s.padded);
    s.rows = s.padded + s.batch;
    tern_status status =
        tern_batch_process(n, (void *const *)items, (void **)results, s.batch, run_batch, &s, done);
    tern__free(s.padded);
    return status;
}

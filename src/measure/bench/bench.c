/* bench.c - every case of a suite with every number of threads: compiled, checked, timed in turns with its limit. */
#include "measure/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/catalog.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/names.h"
#include "base/status.h"
#include "measure/measure.h"
#include "measure/bench/bench_options.h"
#include "measure/memory/meter.h"

enum { MEMORY_LEAST = 1 << 14, ROUNDS_USUAL = 100 };
static const int64_t memory_usual = (int64_t)256 << 20;
static const double budget_usual_s = 0.5, timeout_usual_s = 60;
static const char cpu_name[] = "cpu";

static const tern__suite *const suites[] = {&tern__suite_ops, &tern__suite_graph, &tern__suite_alloc,
                                            &tern__suite_compile, &tern__suite_transfer};

typedef struct visiting {
    const tern__bench *bench; /* of the device that is measured */
    tern_bench_visit visit;
    void *user;
    bool doubtful; /* a row cannot be right */
    bool stopped;  /* that was asked for */
    int rows, measured;
} visiting;

/* ---- options ---- */

static const char *suite_at(void *user, int i, bool *untold)
{
    (void)user;
    (void)untold;
    return (size_t)i < TERN__COUNT(suites) ? suites[i]->name : NULL;
}

static tern_status find_suite(const char *name, const tern__suite **out)
{
    int i = 0;
    TERN_TRY(tern__name_find_in(&(tern__name_list){.what = "bench: suites", .at = suite_at}, name, &i));
    *out = suites[i];
    return TERN_OK;
}

typedef struct families {
    const tern__bench *bench;
    const char *last; /* cells of a family stand together */
} families;

static const char *family_at(void *user, int i, bool *untold)
{
    families *f = user;
    tern__cell cell;
    if (tern__cell_describe(f->bench, i, &cell) != TERN_OK)
        return NULL;
    *untold = f->last && strcmp(f->last, cell.row.family) == 0;
    f->last = cell.row.family;
    return cell.row.family;
}

static tern_status find_family(const tern__bench *b, const char *family)
{
    families f = {.bench = b};
    int i = 0;
    return tern__name_find_in(&(tern__name_list){.what = "bench: families", .at = family_at, .user = &f},
                              family, &i);
}

/* ---- which devices ---- */

enum { DEVICE_NAME = 32, DEVICES_MOST = 8 };

/* Name i of those that `list` ("cpu,opencl"; NULL: the CPU's) has. TERN_OUT_OF_RANGE past the last. */
static tern_status device_at(const char *list, int i, char name[DEVICE_NAME])
{
    const char *at = list ? list : cpu_name;
    for (int k = 0; k < i && at; k++) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return TERN_OUT_OF_RANGE;
    snprintf(name, DEVICE_NAME, "%.*s", (int)strcspn(at, ","), at);
    return TERN_OK;
}

static const char *device_named(void *info, int i, bool *untold)
{
    tern_device_info *device = info;
    (void)untold;
    return tern_catalog_device(i, device) == TERN_OK ? device->name : NULL;
}

static tern_status find_device(const char *name, tern_device_info *out)
{
    int i = 0;
    return tern__name_find_in(&(tern__name_list){.what = "bench: devices", .at = device_named, .user = out},
                              name, &i);
}

/* Each is one that there could be, and none is there twice. */
static tern_status check_devices(const char *list)
{
    char names[DEVICES_MOST][DEVICE_NAME];
    tern_device_info info;
    int n = 0;
    for (; n < DEVICES_MOST && device_at(list, n, names[n]) == TERN_OK; n++) {
        TERN_TRY(find_device(names[n], &info));
        for (int k = 0; k < n; k++)
            TERN__FAIL_IF(strcmp(names[k], names[n]) == 0, TERN_INVALID_ARGUMENT,
                          "bench: device '%s' is named twice", names[n]);
    }
    return TERN_OK;
}

/* ---- which cases ---- */

/* "512x512" and "512,512" are the same. */
static bool same_sizes(const char *asked, const char *sizes, size_t length)
{
    size_t i = 0;
    for (; i < length && asked[i]; i++)
        if (asked[i] != sizes[i] && !(asked[i] == 'x' && sizes[i] == ','))
            return false;
    return i == length && asked[i] == '\0';
}

/* One operand, "f32[64,256]": is it of these sizes, or has it this one among them? */
static bool has_size(const char *asked, const char *sizes, size_t length)
{
    if (same_sizes(asked, sizes, length))
        return true;
    for (size_t begin = 0, end; begin < length; begin = end + 1) {
        for (end = begin; end < length && sizes[end] != ',';)
            end++;
        if (same_sizes(asked, sizes + begin, end - begin))
            return true;
    }
    return false;
}

/* Has an operand of `shape`, "i8[1,2560] t2[6912,2560]", the type and the sizes? NULL: whichever. */
static bool has_operand(const char *shape, const char *dtype, const char *size)
{
    for (const char *at = shape; *at;) {
        const size_t name = strcspn(at, "["), all = strcspn(at, " ");
        if (name < all) {
            const size_t sizes = strcspn(at + name + 1, "]");
            if ((!dtype || (strlen(dtype) == name && strncmp(at, dtype, name) == 0)) &&
                (!size || has_size(size, at + name + 1, sizes)))
                return true;
        }
        at += all + (at[all] == ' ');
    }
    return !dtype && !size;
}

static bool is_asked_for(const tern__bench *b, const tern__cell *cell)
{
    const tern_bench_options *o = &b->o;
    return (!o->family || strcmp(cell->row.family, o->family) == 0) &&
           (!o->layout || cell->strided == (strcmp(o->layout, "strided") == 0)) &&
           has_operand(cell->row.shape, o->dtype, o->size);
}

/* Nonsense is said, and so is what there is nothing of. */
static tern_status check_choice(const tern__bench *b)
{
    const tern_bench_options *o = &b->o;
    static const char *const layouts[] = {"contiguous", "strided"};
    tern__cell cell;
    tern_dtype dtype;
    int layout = 0;
    TERN_TRY(check_devices(o->device));
    if (o->family)
        TERN_TRY(find_family(b, o->family));
    if (o->dtype)
        TERN_TRY(tern_dtype_parse(o->dtype, &dtype));
    if (o->layout)
        TERN_TRY(tern__name_find(layouts, TERN__COUNT(layouts), "bench: layouts", o->layout, &layout));
    TERN__FAIL_IF(o->size && (!o->size[0] || strspn(o->size, "0123456789x,") != strlen(o->size)),
                  TERN_INVALID_ARGUMENT, "bench: a size of '%.64s'; give one such as 2560 or 512x512",
                  o->size);
    for (int i = 0; tern__cell_describe(b, i, &cell) == TERN_OK; i++)
        if (is_asked_for(b, &cell))
            return TERN_OK;
    return tern__fail(TERN_NOT_FOUND, "bench: no case of %s is of%s%s%s%s%s%s%s%s", b->suite->name,
                      o->family ? " family " : "", o->family ? o->family : "", o->dtype ? " dtype " : "",
                      o->dtype ? o->dtype : "", o->size ? " size " : "", o->size ? o->size : "",
                      o->layout ? " layout " : "", o->layout ? o->layout : "");
}

static tern_status check_numbers(const tern_bench_options *o)
{
    TERN__FAIL_IF(!(o->budget_s >= 0) || !(o->timeout_s >= 0), TERN_INVALID_ARGUMENT,
                  "bench: a time budget below zero");
    TERN_TRY(tern__bench_check_memory("bench", o->memory));
    TERN__FAIL_IF(o->rounds < 0 || o->rounds > TERN__ROUNDS_MOST || o->warmups < 0, TERN_INVALID_ARGUMENT,
                  "bench: %d samples after %d runs; give at most %d", o->rounds, o->warmups,
                  TERN__ROUNDS_MOST);
    return tern__bench_check_threads("bench", o->n_threads, o->threads);
}

void tern__bench_settle_sampling(tern_bench_options *o)
{
    o->budget_s = o->budget_s > 0 ? o->budget_s : budget_usual_s;
    o->warmups = o->warmups > 0 ? o->warmups : 1;
    o->rounds = o->rounds > 0 ? o->rounds : ROUNDS_USUAL;
}

tern_bench_options tern_bench_options_default(void)
{
    return (tern_bench_options){0};
}

static tern_status settle(const tern_bench_options *options, tern__bench *b)
{
    *b = (tern__bench){
        .o = options ? *options : tern_bench_options_default(), .device = cpu_name, .on_cpu = true};
    tern_bench_options *o = &b->o;
    TERN_TRY(find_suite(o->suite ? o->suite : "ops", &b->suite));
    TERN_TRY(check_numbers(o));
    tern__isa_cap cap;
    if (o->cpu)
        TERN_TRY(tern__isa_cap_parse(o->cpu, &cap));
    const int64_t beyond = 4 * tern__cpu()->l3_bytes;
    tern__bench_settle_sampling(o);
    o->timeout_s = o->timeout_s > 0 ? o->timeout_s : timeout_usual_s;
    o->memory = o->memory == 0 ? (beyond > memory_usual ? beyond : memory_usual) : o->memory;
    o->memory = o->memory < MEMORY_LEAST ? MEMORY_LEAST : o->memory;
    if (o->n_threads == 0) {
        const int all = tern__bench_threads_usual();
        b->usual_threads[0] = 1;
        b->usual_threads[1] = all;
        o->threads = b->usual_threads;
        o->n_threads = all > 1 ? 2 : 1;
    }
    return check_choice(b);
}

tern_status tern_bench_suite(int i, const char **name, const char **what)
{
    TERN__FAIL_IF(!name || !what, TERN_INVALID_ARGUMENT, "bench_suite: an argument is NULL");
    TERN__FAIL_IF(i < 0 || i >= (int)TERN__COUNT(suites), TERN_OUT_OF_RANGE, "bench: there is no suite %d",
                  i);
    *name = suites[i]->name;
    *what = suites[i]->what;
    return TERN_OK;
}

tern_status tern_bench_case(const tern_bench_options *options, int i, tern_bench_visit visit, void *user)
{
    tern__bench b;
    tern__cell cell;
    TERN__FAIL_IF(!visit, TERN_INVALID_ARGUMENT, "bench_case: the visitor is NULL");
    TERN_TRY(settle(options, &b));
    TERN_TRY(tern__cell_describe(&b, i, &cell));
    if (!is_asked_for(&b, &cell))
        return TERN_OK;
    char name[DEVICE_NAME];
    for (int d = 0; device_at(b.o.device, d, name) == TERN_OK; d++) {
        b.device = name;
        b.on_cpu = strcmp(name, cpu_name) == 0;
        TERN_TRY(tern__cell_describe(&b, i, &cell));
        visit(user, &cell.row);
    }
    return TERN_OK;
}

/* ---- cells ---- */

void tern__row_find_kernel(const tern_program *program, tern_result *row)
{
    tern_step_info step;
    uint64_t most = 0;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        if (i == 0 || step.flops + step.bytes > most) {
            most = step.flops + step.bytes;
            row->kernel = step.kernel;
            row->isa = step.isa;
        }
}

/* The context in which the device computes. None if it is not there: tern__cell_prepare says why. */
static tern_status open_device(const tern_ctx_options *of_cpu, tern__bench *bench)
{
    tern_ctx_options context = *of_cpu;
    tern_device_info info;
    TERN_TRY(find_device(bench->o.device, &info));
    bench->device = info.name;
    bench->on_cpu = strcmp(info.name, cpu_name) == 0;
    if (bench->on_cpu)
        bench->device_ctx = bench->ctx;
    context.device = info.name;
    return bench->on_cpu || info.unavailable ? TERN_OK : tern_ctx_create(&context, &bench->device_ctx);
}

tern_status tern__bench_open(const tern_bench_options *options, tern__bench *bench)
{
    tern_ctx_options context = tern_ctx_options_default();
    TERN_TRY(settle(options, bench));
    bench->o.device = bench->o.device ? bench->o.device : cpu_name;
    context.threads = 1;
    for (int i = 0; i < bench->o.n_threads; i++)
        context.threads = bench->o.threads[i] > context.threads ? bench->o.threads[i] : context.threads;
    context.cpu = bench->o.cpu;
    context.tuning = "off"; /* what was measured before must not change what is measured now */
    TERN_TRY(tern_ctx_create(&context, &bench->ctx));
    TERN_TRY(open_device(&context, bench));
    return tern__threads_create(context.threads, &bench->pool);
}

bool tern__bench_stopped(const tern__bench *bench)
{
    return bench->o.stop && bench->o.stop(bench->o.stop_user);
}

void tern__bench_close(tern__bench *bench)
{
    tern__threads_destroy(bench->pool);
    if (bench->device_ctx != bench->ctx)
        tern_ctx_destroy(bench->device_ctx);
    tern_ctx_destroy(bench->ctx);
}

tern_status tern__cell_describe(const tern__bench *bench, int i, tern__cell *cell)
{
    *cell = (tern__cell){.bench = bench, .row = tern_result_default()};
    TERN_TRY(bench->suite->describe(bench, i, cell));
    cell->row.suite = bench->suite->name;
    cell->row.device = bench->device;
    if (!bench->on_cpu)
        cell->row.limit_kind = ""; /* limits are the CPU's, and say nothing of others */
    cell->row.shape = cell->shape;
    snprintf(cell->dtype, sizeof cell->dtype, "%.*s", (int)strcspn(cell->shape, "["), cell->shape);
    cell->row.dtype = cell->dtype;
    return TERN_OK;
}

void tern__cell_begin(tern__cell *cell)
{
    const tern_bench_options *o = &cell->bench->o;
    cell->deadline = tern__deadline_begin(o->timeout_s);
    cell->deadline.asked = o->stop;
    cell->deadline.user = o->stop_user;
}

static void watch(tern__cell *cell)
{
    tern_ctx_set_stop(cell->bench->ctx, tern__deadline_passed, &cell->deadline);
    if (!cell->bench->on_cpu)
        tern_ctx_set_stop(cell->bench->device_ctx, tern__deadline_passed, &cell->deadline);
}

/* What a cell that was watched ended with. */
static tern_status unwatch(tern__cell *cell, tern_status status)
{
    tern_ctx_set_stop(cell->bench->ctx, NULL, NULL);
    if (!cell->bench->on_cpu)
        tern_ctx_set_stop(cell->bench->device_ctx, NULL, NULL);
    if (status == TERN_UNSUPPORTED && !cell->bench->on_cpu) {
        char why[TERN__MESSAGE_MAX];
        snprintf(why, sizeof why, "%s", tern_last_error());
        return tern__fail(TERN_UNAVAILABLE, "unavailable: %s", why);
    }
    if (status == TERN_CANCELLED)
        TERN_TRY(tern__deadline_check(&cell->deadline));
    return status;
}

/* Why the device, or the suite on it, cannot be had. */
static tern_status check_device(const tern__bench *bench)
{
    tern_device_info info;
    if (bench->on_cpu)
        return TERN_OK;
    TERN__FAIL_IF(bench->suite->cpu_only, TERN_UNAVAILABLE, "unavailable: %s", bench->suite->cpu_only);
    TERN_TRY(find_device(bench->device, &info));
    TERN__FAIL_IF(!bench->device_ctx, TERN_UNAVAILABLE, "unavailable: device '%s': %s", bench->device,
                  info.unavailable ? info.unavailable : "it could not be opened");
    return TERN_OK;
}

tern_status tern__cell_prepare(int i, tern__cell *cell)
{
    TERN_TRY(check_device(cell->bench));
    watch(cell);
    return unwatch(cell, cell->bench->suite->prepare(i, cell));
}

/* What one run asks for, and what it has at most. Both stay unknown while the memory tracker is on, and on devices, whose memory
 * nobody counts. */
static tern_status count_memory(tern__cell *cell)
{
    const tern__suite *suite = cell->bench->suite;
    if (!cell->bench->on_cpu || !tern__meter_start())
        return tern__cell_run(cell);
    tern_status status = tern__cell_run(cell);
    cell->row.allocations = tern__meter_stop().blocks;
    if (status != TERN_OK || !tern__meter_start())
        return status;
    status = (suite->run_anew ? suite->run_anew : suite->run)(cell->state);
    cell->row.peak_bytes = tern__meter_stop().peak_bytes;
    return status;
}

tern_status tern__cell_ready(tern__cell *cell, int threads)
{
    cell->row.threads = threads;
    watch(cell);
    tern_status status = cell->bench->suite->ready(cell, threads);
    cell->limited &= cell->bench->on_cpu;
    return unwatch(cell, status == TERN_OK ? count_memory(cell) : status);
}

tern_status tern__cell_run(void *user)
{
    tern__cell *cell = user;
    TERN_TRY(cell->bench->suite->run(cell->state));
    return tern__deadline_check(&cell->deadline);
}

void tern__cell_close(tern__cell *cell)
{
    cell->bench->suite->close(cell);
    cell->state = NULL;
}

/* ---- one row ---- */

void tern__cell_rates(const tern__cell *cell, tern_result *row)
{
    if (cell->operations > 0)
        row->gflops = cell->operations / row->median_us * 1e-3;
    if (cell->bytes > 0)
        row->gbytes_s = cell->bytes / row->median_us * 1e-3;
}

static void fill(const tern__cell *cell, const tern__measurement *m, tern_result *row)
{
    row->rounds = m->time.n;
    row->repeats = m->repeats;
    row->median_us = m->time.median * 1e6;
    row->mad_us = m->time.n > 1 ? m->time.mad * 1e6 : NAN; /* one has no spread */
    row->min_us = m->time.min * 1e6;
    tern__cell_rates(cell, row);
    if (m->share.n > 0) {
        row->limit_share = m->share.median;
        row->limit_mad = m->share.n > 1 ? m->share.mad : NAN;
        row->limit = m->way;
    }
}

/* What takes longer than its row may is run once more, or a few times. */
static tern__turns turns_for(const tern_bench_options *o, double first_s)
{
    tern__turns turns = {.warmups = o->warmups,
                         .rounds = o->rounds,
                         .budget_s = o->budget_s,
                         .sample_s = o->budget_s / 2 / o->rounds};
    if (first_s > o->budget_s) {
        turns.warmups = -1;
        const int most = first_s > 4 * o->budget_s ? 1 : TERN__ROUNDS_LEAST;
        turns.rounds = most < o->rounds ? most : o->rounds;
    }
    return turns;
}

tern_status tern__cell_limit(const tern__cell *cell, tern__limit **out)
{
    *out = NULL;
    return cell->limited ? tern__limit_create(cell->bench->pool, cell->row.threads, &cell->work, out)
                         : TERN_OK;
}

tern_status tern__cell_time(tern__cell *cell, tern__limit *limit, int64_t repeats,
                            double (*samples)[TERN__ROUNDS_MOST], tern__measurement *m)
{
    tern__turns turns = turns_for(&cell->bench->o, cell->first_s);
    const tern__thing thing = {.run = tern__cell_run,
                               .user = cell,
                               .repeats = repeats > 0 ? repeats : cell->first_s > turns.sample_s};
    turns.samples = samples[0];
    turns.cpu_samples = samples[1];
    TERN_TRY(tern__measure(&thing, 1, limit, &turns, m));
    fill(cell, m, &cell->row);
    for (int i = 0; i < m->time.n; i++) {
        samples[0][i] *= 1e6;
        samples[1][i] *= 1e6;
    }
    cell->row.samples_us = samples[0];
    cell->row.cpu_samples_us = samples[1];
    return TERN_OK;
}

/* What was timed without the limit that it should have fails all the same: the row's error says why. */
static tern_status time_cell(tern__cell *cell, double (*samples)[TERN__ROUNDS_MOST], tern__measurement *m)
{
    tern__limit *limit;
    tern_status missing = tern__cell_limit(cell, &limit);
    if (missing != TERN_OK && missing != TERN_UNAVAILABLE)
        return missing;
    tern_status status = tern__cell_time(cell, limit, 0, samples, m);
    tern__limit_destroy(limit);
    TERN_TRY(status);
    return missing;
}

/* What was timed and has no share of a limit fails all the same: the row's error says why. */
static tern_status measure_cell(visiting *v, tern__cell *cell, int threads,
                                double (*samples)[TERN__ROUNDS_MOST], tern__measurement *m)
{
    tern_status status = tern__cell_ready(cell, threads);
    v->doubtful |= status == TERN_INTERNAL;
    TERN_TRY(status);
    TERN_TRY(time_cell(cell, samples, m));
    TERN__FAIL_IF(!cell->bench->on_cpu, TERN_UNAVAILABLE, "unavailable: limits are the CPU's, it ran on '%s'",
                  cell->bench->device);
    TERN__FAIL_IF(!cell->limited, TERN_UNAVAILABLE, "unavailable: %s", cell->bench->suite->no_limit);
    if (tern__is_believable(m))
        return TERN_OK;
    v->doubtful = true;
    cell->row.limit_share = NAN;
    return tern__fail(TERN_STATE, "unavailable: %.3f of the limit, so the limit's probes are too slow",
                      m->share.median);
}

static void visit_cell(visiting *v, tern__cell *cell, tern_status prepared, const char *why, int threads)
{
    char error[TERN__MESSAGE_MAX] = "";
    double samples[2][TERN__ROUNDS_MOST];
    tern__measurement m = {0};
    const tern_result described = cell->row;
    cell->row.threads = threads;
    tern__cell_begin(cell);
    if (prepared != TERN_OK)
        snprintf(error, sizeof error, "%s", why);
    else if (measure_cell(v, cell, threads, samples, &m) != TERN_OK)
        snprintf(error, sizeof error, "%s", tern_last_error());
    cell->row.error = error;
    if (tern__bench_stopped(v->bench)) {
        v->stopped = true; /* perhaps in the middle of this one */
    } else {
        v->rows++;
        v->measured += cell->row.rounds > 0;
        v->visit(v->user, &cell->row);
    }
    cell->row = described;
}

/* ---- all rows ---- */

static void visit_case(visiting *v, int i, tern__cell *cell)
{
    char why[TERN__MESSAGE_MAX] = "";
    tern__cell_begin(cell);
    tern_status status = tern__cell_prepare(i, cell);
    if (status != TERN_OK)
        snprintf(why, sizeof why, "%s", tern_last_error());
    /* Other devices have threads of their own: one cell, of 0 threads. */
    for (int t = 0; t < (v->bench->on_cpu ? v->bench->o.n_threads : 1) && !v->stopped; t++)
        visit_cell(v, cell, status, why, v->bench->on_cpu ? v->bench->o.threads[t] : 0);
    tern__cell_close(cell);
    tern_ctx_trim(v->bench->ctx);
    if (!v->bench->on_cpu && v->bench->device_ctx)
        tern_ctx_trim(v->bench->device_ctx);
}

static void visit_cases(visiting *v, const tern__bench *bench)
{
    tern__cell cell;
    v->bench = bench;
    for (int i = 0; !v->stopped && tern__cell_describe(bench, i, &cell) == TERN_OK; i++)
        if (is_asked_for(bench, &cell))
            visit_case(v, i, &cell);
}

static tern_status conclude(const visiting *v)
{
    TERN__FAIL_IF(v->stopped, TERN_CANCELLED, "bench: stopped after %d rows", v->rows);
    TERN__FAIL_IF(v->doubtful, TERN_STATE, "bench: not all rows can be right; see their errors");
    TERN__FAIL_IF(v->rows > 0 && v->measured == 0, TERN_STATE,
                  "bench: no row could be measured; see their errors");
    return TERN_OK;
}

tern_status tern__bench_visit(const tern__bench *bench, tern_bench_visit visit, void *user)
{
    visiting v = {.visit = visit, .user = user};
    visit_cases(&v, bench);
    return conclude(&v);
}

tern_status tern_bench_run(const tern_bench_options *options, tern_bench_visit visit, void *user)
{
    visiting v = {.visit = visit, .user = user};
    tern_bench_options o = options ? *options : (tern_bench_options){0};
    const char *list = o.device;
    char name[DEVICE_NAME];
    tern__bench bench;
    TERN__FAIL_IF(!visit, TERN_INVALID_ARGUMENT, "bench_run: the visitor is NULL");
    TERN_TRY(settle(&o, &bench)); /* all of it, before anything is measured */
    for (int d = 0; !v.stopped && device_at(list, d, name) == TERN_OK; d++) {
        o.device = name;
        tern_status status = tern__bench_open(&o, &bench);
        if (status == TERN_OK)
            visit_cases(&v, &bench);
        tern__bench_close(&bench);
        TERN_TRY(status);
    }
    return conclude(&v);
}

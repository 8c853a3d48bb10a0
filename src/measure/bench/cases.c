/* cases.c - data, program and check of one case. */
#include "measure/bench/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/catalog.h>
#include <tern/ops.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "measure/bench/bench_data.h"

/* clang-format off */
#define SIZES(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}
#define IN(dtype, ...) {TERN__OPERAND_INPUT, TERN_##dtype, SIZES(__VA_ARGS__)}
#define WEIGHT(dtype, ...) {TERN__OPERAND_WEIGHT, TERN_##dtype, SIZES(__VA_ARGS__)}
#define STREAM(dtype, ...) {TERN__OPERAND_STREAM, TERN_##dtype, SIZES(__VA_ARGS__)}
#define APART(dtype, ...) {TERN__OPERAND_APART, TERN_##dtype, SIZES(__VA_ARGS__)}
#define TURNED(dtype, ...) {TERN__OPERAND_TURNED, TERN_##dtype, SIZES(__VA_ARGS__)}
#define SCALES(...) {TERN__OPERAND_SCALES, TERN_F32, SIZES(__VA_ARGS__)}
#define INDEX(how, n) {TERN__OPERAND_##how, TERN_I32, SIZES(n)}
/* clang-format on */

static const tern__case cases[] = {
#define CASE(family, name, op, attributes, limit, operations, check, ...) \
    {family, name, #op, attributes, TERN_LIMIT_##limit, operations, check, {__VA_ARGS__}},
#include "measure/bench/cases.def"
};

const tern__case *tern__case_at(int i)
{
    return i >= 0 && i < (int)TERN__COUNT(cases) ? &cases[i] : NULL;
}

/* ---- sizes ---- */

static int operands_of(const tern__case *row)
{
    int n = 0;
    while (n < TERN__CASE_OPERANDS && row->operands[n].role != TERN__OPERAND_NONE)
        n++;
    return n;
}

static int64_t bytes_of(const struct tern__operand *o)
{
    const tern_dtype_info *info = tern_dtype_get(o->dtype);
    int64_t bytes =
        (o->shape[o->rank - 1] + info->unit_elements - 1) / info->unit_elements * info->unit_bytes;
    for (int d = 0; d < o->rank - 1; d++)
        bytes *= o->shape[d];
    return bytes;
}

static tern__case sized(const tern__case *row, int64_t memory)
{
    tern__case c = *row;
    for (int i = 0; i < operands_of(row); i++) {
        struct tern__operand *o = &c.operands[i];
        if (o->shape[0] != 0)
            continue;
        o->shape[0] = 1;
        const int64_t rows = memory / 4 / bytes_of(o);
        o->shape[0] = rows > 1 ? rows : 1;
    }
    return c;
}

void tern__case_shape(const tern__case *row, int64_t memory, char *to, size_t room)
{
    const tern__case c = sized(row, memory);
    size_t used = 0;
    to[0] = '\0';
    for (int i = 0; i < operands_of(row) && used + 1 < room; i++) {
        const struct tern__operand *o = &c.operands[i];
        used += (size_t)snprintf(to + used, room - used, "%s%s[", i ? " " : "", tern_dtype_name(o->dtype));
        for (int d = 0; d < o->rank && used + 1 < room; d++)
            used += (size_t)snprintf(to + used, room - used, d + 1 < o->rank ? "%lld," : "%lld]",
                                     (long long)o->shape[d]);
    }
}

bool tern__case_strided(const tern__case *row)
{
    for (int i = 0; i < operands_of(row); i++)
        if (row->operands[i].role == TERN__OPERAND_APART || row->operands[i].role == TERN__OPERAND_TURNED)
            return true;
    return false;
}

/* ---- data ---- */

/* What lies in memory, of which the operand is a view. */
static struct tern__operand stored(const struct tern__operand *o)
{
    struct tern__operand s = *o;
    if (o->role == TERN__OPERAND_APART) {
        s.shape[o->rank - 1] *= 2;
    } else if (o->role == TERN__OPERAND_TURNED) {
        s.shape[0] = o->shape[1];
        s.shape[1] = o->shape[0];
    }
    return s;
}

static tern_tensor *view_of(const struct tern__operand *o, tern_tensor *t)
{
    return o->role == TERN__OPERAND_APART    ? tern_narrow(t, o->rank - 1, 0, o->shape[o->rank - 1])
           : o->role == TERN__OPERAND_TURNED ? tern_transpose(t, 0, 1)
                                             : t;
}

static tern_tensor *index_of(tern_ctx *ctx, const struct tern__operand *o)
{
    if (o->role == TERN__OPERAND_COUNT)
        return tern_arange(ctx, o->dtype, 0, (double)o->shape[0], 1);
    return tern_full(ctx, o->dtype, o->rank, o->shape, o->role == TERN__OPERAND_LAST ? 4095 : 0);
}

/* Elements of a constant that are made one by one. They take a second for each few tens of millions, which no budget knows of; how long a
 * product takes does not depend on them. */
enum { RANDOM_MOST = 1 << 21 };

/* A large constant: a block of random rows, again and again. */
static tern_status make_repeated(tern__prepared *p, const struct tern__operand *o, int i)
{
    int64_t rest = 1, block[TERN_MAX_RANK];
    for (int d = 1; d < o->rank; d++)
        rest *= o->shape[d];
    memcpy(block, o->shape, sizeof block);
    block[0] = rest < RANDOM_MOST ? RANDOM_MOST / rest : 1;
    tern_status status = TERN_OK;
    TERN_SCOPE(p->ctx) {
        tern_tensor *t = tern__data_random(p->ctx, o->dtype, o->rank, block, 1000 + i);
        TERN_TRY(tern_eval(t));
        const char *from = tern_data(t);
        const size_t row = tern_nbytes(t) / (size_t)block[0];
        char *all = from ? tern__alloc_zero((size_t)o->shape[0], row) : NULL;
        if (!all)
            return from ? tern__out_of_memory((size_t)o->shape[0] * row)
                        : tern__fail(TERN_INTERNAL, "bench: a tensor has no data");
        for (int64_t r = 0; r < o->shape[0]; r += block[0]) {
            const int64_t rows = o->shape[0] - r < block[0] ? o->shape[0] - r : block[0];
            memcpy(all + (size_t)r * row, from, (size_t)rows * row);
        }
        p->data[i] = tern_from_data(p->ctx, o->dtype, o->rank, o->shape, all);
        tern__free(all);
        status = tern_status_of(p->data[i]);
        p->data[i] = tern_keep(p->data[i]);
    }
    return status;
}

static bool is_large_constant(const struct tern__operand *o)
{
    double elements = 1;
    for (int d = 0; d < o->rank; d++)
        elements *= (double)o->shape[d];
    return (o->role == TERN__OPERAND_WEIGHT || o->role == TERN__OPERAND_STREAM) && elements > RANDOM_MOST;
}

static tern_status make_data(tern__prepared *p, int i)
{
    const struct tern__operand s = stored(&p->sized.operands[i]), *o = &s;
    if (p->home)
        return tern__data_carry(p->ctx, p->home->data[i], &p->data[i]);
    if (is_large_constant(o))
        return make_repeated(p, o, i);
    TERN_SCOPE(p->ctx) {
        tern_tensor *t = o->role >= TERN__OPERAND_ZERO ? index_of(p->ctx, o)
                         : o->role == TERN__OPERAND_SCALES
                             ? tern_full(p->ctx, o->dtype, o->rank, o->shape, TERN__DATA_I8_SCALE)
                             : tern__data_random(p->ctx, o->dtype, o->rank, o->shape, 1000 + i);
        TERN_TRY(tern_eval(t));
        p->data[i] = tern_keep(t);
    }
    return TERN_OK;
}

static tern_status make_operand(tern__prepared *p, int i)
{
    const tern__operand_role role = p->sized.operands[i].role;
    TERN_TRY(make_data(p, i));
    return role == TERN__OPERAND_WEIGHT || role == TERN__OPERAND_STREAM ? tern_freeze(p->data[i]) : TERN_OK;
}

/* The further copies of the stream: constants of their own with the same values. */
static tern_status copy_stream(tern__prepared *p, int operand, int64_t memory)
{
    tern_tensor *first = p->data[operand];
    const int64_t bytes = (int64_t)tern_nbytes(first), wanted = (memory + bytes - 1) / bytes;
    p->copies = (int)(wanted < 1 ? 1 : wanted > TERN__CASE_COPIES ? TERN__CASE_COPIES : wanted);
    p->streams[0] = first;
    for (int c = 1; c < p->copies; c++) {
        TERN_TRY(tern__data_carry(p->ctx, first, &p->streams[c]));
        TERN_TRY(tern_freeze(p->streams[c]));
    }
    return TERN_OK;
}

static tern_status results_of(const char *op, int *out)
{
    tern_op_info info;
    for (int i = 0; tern_catalog_op(i, &info) == TERN_OK; i++)
        if (strcmp(info.name, op) == 0 && info.results <= TERN__CASE_RESULTS) {
            *out = info.results;
            return TERN_OK;
        }
    return tern__fail(TERN_INTERNAL, "bench: no operation is called %s", op);
}

/* Cases of a fixed size are for machines that have the memory and the time: `memory`, or what everybody has. */
static tern_status check_size(const tern__prepared *p, int64_t memory)
{
    const int64_t least = (int64_t)96 << 20, most = memory > least ? memory : least;
    int64_t bytes = 0;
    for (int i = 0; i < p->n_operands; i++) {
        const struct tern__operand s = stored(&p->sized.operands[i]);
        bytes += bytes_of(&s);
    }
    TERN__FAIL_IF(bytes > most, TERN_UNAVAILABLE, "unavailable: its operands take %s, and %s may be used",
                  tern__bytes_of((double)bytes).text, tern__bytes_of((double)most).text);
    return TERN_OK;
}

/* `fill`: bytes that a stream's copies are to have. */
static tern_status prepare(tern_ctx *ctx, const tern__case *row, int64_t memory, int64_t fill,
                           const tern__prepared *home, tern__prepared *p)
{
    *p = (tern__prepared){.row = row, .ctx = ctx, .home = home, .copies = 1, .n_operands = operands_of(row)};
    p->sized = sized(row, memory);
    TERN_TRY(check_size(p, memory));
    TERN_TRY(results_of(row->op, &p->n_results));
    for (int i = 0; i < p->n_operands; i++) {
        TERN_TRY(make_operand(p, i));
        if (row->operands[i].role == TERN__OPERAND_STREAM)
            TERN_TRY(copy_stream(p, i, fill));
        p->read_bytes += bytes_of(&p->sized.operands[i]);
    }
    return TERN_OK;
}

tern_status tern__case_prepare(tern_ctx *ctx, const tern__case *row, int64_t memory, tern__prepared *out)
{
    return prepare(ctx, row, memory, memory, NULL, out);
}

tern_status tern__case_prepare_on(tern_ctx *there, tern_ctx *ctx, const tern__case *row, int64_t memory,
                                  tern__prepared *home, tern__prepared *out)
{
    TERN_TRY(prepare(ctx, row, memory, 0, NULL, home)); /* the reference reads one copy */
    return prepare(there, row, memory, memory, home, out);
}

/* ---- program ---- */

/* Records the operation with copy `copy` of the stream; `rows` > 0: with so many rows of the first operand and of indices. */
static tern_status record(tern__prepared *p, int copy, int64_t rows, tern_tensor **results)
{
    tern_tensor *in[TERN__CASE_OPERANDS];
    for (int i = 0; i < p->n_operands; i++) {
        const struct tern__operand *o = &p->sized.operands[i], s = stored(o);
        char name[32];
        snprintf(name, sizeof name, "x%d_%d", i, copy);
        if (o->role == TERN__OPERAND_WEIGHT)
            in[i] = p->data[i];
        else if (o->role == TERN__OPERAND_STREAM)
            in[i] = p->streams[copy];
        else
            in[i] = view_of(o, tern_input(p->ctx, name, o->dtype, o->rank, s.shape));
        if ((i == 0 || o->role >= TERN__OPERAND_ZERO) && rows > 0 && rows < o->shape[0])
            in[i] = tern_narrow(in[i], 0, 0, rows);
    }
    tern_apply(p->ctx, p->row->op, p->row->attributes, p->n_operands, in, p->n_results, results);
    /* A permutation alone is a view; what costs is to put it in order. */
    if (strcmp(p->row->op, "permute") == 0)
        results[0] = tern_contiguous(results[0]);
    for (int i = 0; i < p->n_results; i++)
        if (tern_status_of(results[i]) != TERN_OK)
            return tern__fail(tern_status_of(results[i]), "%s", tern_message_of(results[i]));
    return TERN_OK;
}

static void drop_program(tern__prepared *p)
{
    tern_exec_free(p->exec);
    tern_program_free(p->program);
    tern__free(p->inputs);
    p->exec = NULL;
    p->program = NULL;
    p->inputs = NULL;
}

static tern_status compile(tern__prepared *p, int copies, int64_t rows, const tern_compile_options *options)
{
    drop_program(p);
    TERN_SCOPE(p->ctx) {
        tern_tensor *outputs[TERN__CASE_COPIES * TERN__CASE_RESULTS];
        for (int c = 0; c < copies; c++)
            TERN_TRY(record(p, c, rows, outputs + c * p->n_results));
        p->n_outputs = copies * p->n_results;
        p->write_bytes = 0;
        for (int i = 0; i < p->n_outputs; i++)
            p->write_bytes += (int64_t)tern_nbytes(outputs[i]);
        TERN_TRY(tern_compile(p->ctx, p->n_outputs, outputs, NULL, options, &p->program));
    }
    TERN_TRY(tern_exec_create(p->ctx, p->program, &p->exec));
    tern_program_info info;
    tern_program_get_info(p->program, &info);
    p->n_inputs = info.n_inputs;
    p->inputs = tern__alloc_zero((size_t)p->n_inputs + 1, sizeof *p->inputs);
    if (!p->inputs)
        return tern__out_of_memory((size_t)p->n_inputs * sizeof *p->inputs);
    for (int i = 0; i < p->n_inputs; i++) {
        tern_port port;
        TERN_TRY(tern_program_input(p->program, i, &port));
        p->inputs[i] = p->data[atoi(port.name + 1)];
    }
    return TERN_OK;
}

/* What the steps read of inputs and constants: weights may be packed into fewer bytes than they were given in. */
static int64_t bytes_read(const tern_program *program)
{
    int64_t bytes = 0;
    tern_step_info step;
    for (int s = 0; tern_program_step(program, s, &step) == TERN_OK; s++) {
        tern_operand_info o;
        for (int i = 0; i < step.n_operands && tern_program_operand(program, s, i, &o) == TERN_OK; i++)
            if (strcmp(o.place, "input") == 0 || strcmp(o.place, "constant") == 0)
                bytes += (int64_t)o.bytes;
    }
    return bytes;
}

tern_status tern__case_compile(tern__prepared *p, const tern_compile_options *options)
{
    TERN_TRY(compile(p, p->copies, 0, options));
    if (p->streams[0])
        p->read_bytes = bytes_read(p->program);
    return TERN_OK;
}

static tern_status run_into(tern__prepared *p, tern_tensor **outputs)
{
    return tern_exec_run(p->exec, p->n_inputs, p->inputs, p->n_outputs, outputs);
}

tern_status tern__case_run(void *prepared)
{
    tern__prepared *p = prepared;
    tern_tensor *outputs[TERN__CASE_COPIES * TERN__CASE_RESULTS];
    TERN_TRY(run_into(p, outputs));
    for (int i = 0; i < p->n_outputs; i++)
        tern_release(outputs[i]);
    return TERN_OK;
}

tern_status tern__case_run_anew(void *prepared)
{
    tern__prepared anew = *(tern__prepared *)prepared;
    TERN_TRY(tern_exec_create(anew.ctx, anew.program, &anew.exec));
    tern_status status = tern__case_run(&anew);
    tern_exec_free(anew.exec);
    return status;
}

void tern__case_free(tern__prepared *p)
{
    drop_program(p);
    for (int c = 1; c < p->copies; c++)
        tern_release(p->streams[c]);
    for (int i = 0; i < p->n_operands; i++)
        tern_release(p->data[i]);
    *p = (tern__prepared){0};
}

/* ---- check ---- */

/* Every copy of a stream has the same values. */
static tern_status compare_copies(const tern__prepared *p, tern_tensor **outputs)
{
    for (int i = p->n_results; i < p->n_outputs; i++) {
        const void *a = tern_data(outputs[i]), *b = tern_data(outputs[i % p->n_results]);
        TERN__FAIL_IF(!a || !b || memcmp(a, b, tern_nbytes(outputs[i])) != 0, TERN_INTERNAL,
                      "bench: %s gives different results for the same weights", p->row->name);
    }
    return TERN_OK;
}

static tern_status check_against(tern__prepared *p, tern_tensor **outputs)
{
    tern__prepared reference = p->home ? *p->home : *p;
    tern_compile_options options = tern_compile_options_default();
    tern_tensor *expected[TERN__CASE_RESULTS] = {NULL};
    options.level = TERN_LEVEL_NONE;
    options.cpu = "baseline";
    reference.program = NULL;
    reference.exec = NULL;
    reference.inputs = NULL;
    tern_status status = compile(&reference, 1, p->row->check, &options);
    if (status == TERN_OK)
        status = run_into(&reference, expected);
    tern__data_check check = {.name = p->row->name, .ctx = reference.ctx, .other_device = p->home != NULL};
    for (int i = 0; i < p->n_results && status == TERN_OK; i++)
        status = tern__data_compare(&check, outputs[i], expected[i]);
    p->error = check.error;
    for (int i = 0; p->home && i < reference.n_results && expected[i]; i++)
        tern_release(expected[i]); /* the scope that is open is of the other context */
    drop_program(&reference);
    return status;
}

tern_status tern__case_check(tern__prepared *p, double *seconds)
{
    TERN_SCOPE(p->ctx) {
        tern_tensor *outputs[TERN__CASE_COPIES * TERN__CASE_RESULTS];
        const uint64_t start = tern__now_ns();
        p->error = NAN;
        TERN_TRY(run_into(p, outputs));
        *seconds = (double)(tern__now_ns() - start) * 1e-9;
        TERN_TRY(compare_copies(p, outputs));
        TERN_TRY(check_against(p, outputs));
    }
    return TERN_OK;
}

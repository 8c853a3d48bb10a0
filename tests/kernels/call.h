/* call.h - a kernel call with any number of operands and results, run twice: on row-major operands in one
 * piece, and again with every operand laid out anew (axes in another order, gaps, backwards) and the work in
 * random pieces. The two must agree bit for bit, and nothing outside the results may be written; call_run
 * checks that for every call.
 *
 *     call c = {.kernel = tern_softmax__ref, .items = 2};
 *     call_in(&c, TERN_F32, SHAPE(2, 3), VALUES(1, 2, 3, 4, 5, 6));
 *     call_out(&c, TERN_F32, SHAPE(2, 3));
 *     c.attrs[0].i = -1;
 *     CHECK_OK(call_run(&c));
 *     CHECK(call_gives(&c, 0, VALUES(...)));
 *     call_free(&c);
 *
 * Packed types need hands of their own. Functions are static inline so that a program takes what it needs. */
#ifndef TERN_TESTS_KERNELS_CALL_H
#define TERN_TESTS_KERNELS_CALL_H

#include <math.h>
#include <stdio.h>

#include "harness.h"
#include "operand.h"

enum { CALL_OPERANDS = 8, CALL_LAYOUTS = 3 };

#define SHAPE(...)                                                         \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) \
    {                                                                      \
        __VA_ARGS__                                                        \
    }
#define SCALAR 0, NULL
#define VALUES(...)  \
    (const double[]) \
    {                \
        __VA_ARGS__  \
    }

typedef struct call {
    tern__kernel_fn kernel;
    tern__scratch_fn scratch; /* NULL: none */
    int n_in, n_out;
    operand in[CALL_OPERANDS], out[CALL_OPERANDS];
    tern__attr attrs[8];
    int64_t items;
    bool writes; /* result 0 is operand 0, which the kernel updates */
    tern__fault fault;
} call;

static inline dice *call_dice(void)
{
    static dice d;
    if (d.next == 0)
        d.seed = harness_seed();
    d.next += d.next == 0;
    return &d;
}

/* Operands are row-major; `values` in that order, NULL for random ones. Returns the operand. */
static inline operand *call_in(call *c, tern_dtype dtype, int rank, const int64_t *shape,
                               const double *values)
{
    operand *o = &c->in[c->n_in++];
    *o = operand_make(dtype, rank, shape, NULL);
    for (int64_t i = 0; i < operand_numel(o); i++)
        operand_set(o, i, values != NULL ? values[i] : dice_number(call_dice(), dtype));
    return o;
}

/* The same with plain random numbers in [-range, range), no special values. */
static inline operand *call_in_plain(call *c, tern_dtype dtype, int rank, const int64_t *shape, double range)
{
    operand *o = &c->in[c->n_in++];
    *o = operand_make(dtype, rank, shape, NULL);
    for (int64_t i = 0; i < operand_numel(o); i++)
        operand_set(o, i, ((double)dice_u32(call_dice()) * 0x1p-31 - 1) * range);
    return o;
}

static inline operand *call_out(call *c, tern_dtype dtype, int rank, const int64_t *shape)
{
    operand *o = &c->out[c->n_out++];
    *o = operand_make(dtype, rank, shape, NULL);
    return o;
}

static inline void call_free(call *c)
{
    for (int i = 0; i < CALL_OPERANDS; i++) {
        operand_free(&c->in[i]);
        operand_free(&c->out[i]);
    }
}

/* Runs the kernel on the given operands, in random pieces if `d` is given. */
static inline tern_status call_once(call *c, const operand *in, const operand *out, dice *d)
{
    tern__buffer ins[CALL_OPERANDS], outs[CALL_OPERANDS];
    const tern__type *types[CALL_OPERANDS];
    for (int i = 0; i < c->n_in; i++) {
        ins[i] = operand_buffer(&in[i]);
        types[i] = &in[i].type;
    }
    for (int i = 0; i < c->n_out; i++)
        outs[i] = operand_buffer(&out[i]);
    if (c->writes)
        outs[0] = ins[0];
    size_t scratch_bytes = c->scratch != NULL ? c->scratch(c->n_in, types, c->attrs) : 0;
    tern__kernel_args args = {.n_in = c->n_in, .n_out = c->n_out, .in = ins, .out = outs, .attrs = c->attrs};
    tern_status status = TERN_OK;
    for (int64_t begin = 0, end; begin < c->items && status == TERN_OK; begin = end) {
        end = d == NULL ? c->items : begin + 1 + dice_below(d, c->items - begin);
        /* of the exact size, so that a sanitizer sees a rule that asks for too little */
        args.scratch = scratch_bytes > 0 ? malloc(scratch_bytes) : NULL;
        status = c->kernel(&args, begin, end);
        free(args.scratch);
    }
    if (c->items == 0)
        status = c->kernel(&args, 0, 0);
    c->fault = args.fault;
    return status;
}

static inline operand operand_scrambled(const operand *o, dice *d)
{
    operand copy = operand_make(o->type.dtype, o->type.rank, o->type.shape, d);
    size_t unit = tern__dtype_unit_bytes(o->type.dtype);
    for (int64_t i = 0; i < operand_numel(o); i++)
        memcpy(operand_at(&copy, i), operand_at(o, i), unit);
    return copy;
}

/* One more run in odd layouts and pieces; `before`: the operands as they were before the first run. */
static inline void call_check_layout(call *c, const operand *before, dice *d)
{
    operand in[CALL_OPERANDS] = {{.bytes = 0}}, out[CALL_OPERANDS] = {{.bytes = 0}};
    for (int i = 0; i < c->n_in; i++)
        in[i] = operand_scrambled(&before[i], d);
    for (int i = 0; i < c->n_out; i++)
        out[i] = operand_make(c->out[i].type.dtype, c->out[i].type.rank, c->out[i].type.shape, d);
    tern_status status = call_once(c, in, out, d);
    if (status != TERN_OK)
        harness_fail(__FILE__, __LINE__, "odd layout: status %s", tern_status_name(status));
    for (int i = 0; i < c->n_out; i++) {
        const operand *got = c->writes && i == 0 ? &in[0] : &out[i];
        const operand *want = c->writes && i == 0 ? &c->in[0] : &c->out[i];
        if (!operand_same(got, want))
            harness_fail(__FILE__, __LINE__, "odd layout: result %d differs", i);
        if (!operand_is_intact(got))
            harness_fail(__FILE__, __LINE__, "odd layout: result %d was left", i);
    }
    for (int i = 0; i < CALL_OPERANDS; i++) {
        operand_free(&in[i]);
        operand_free(&out[i]);
    }
}

/* Runs the call; see the top. After a failing status the layouts are not compared. */
static inline tern_status call_run(call *c)
{
    operand before[CALL_OPERANDS] = {{.bytes = 0}};
    for (int i = 0; i < c->n_in; i++)
        before[i] = operand_dense(&c->in[i]);
    tern_status status = call_once(c, c->in, c->out, NULL);
    for (int i = 0; i < c->n_in; i++) {
        if (!(c->writes && i == 0) && !operand_same(&before[i], &c->in[i]))
            harness_fail(__FILE__, __LINE__, "operand %d was changed", i);
    }
    for (int i = 0; i < c->n_out; i++) {
        if (!operand_is_intact(&c->out[i]))
            harness_fail(__FILE__, __LINE__, "result %d was left", i);
    }
    for (int k = 0; k < CALL_LAYOUTS && status == TERN_OK; k++)
        call_check_layout(c, before, call_dice());
    for (int i = 0; i < c->n_in; i++)
        operand_free(&before[i]);
    return status;
}

/* Equal bits, or both NaN. */
static inline bool same_number(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* Does result `i` (the state itself for a kernel that writes) hold exactly these numbers? Says where not. */
static inline bool call_gives(const call *c, int i, const double *values)
{
    const operand *o = c->writes && i == 0 ? &c->in[0] : &c->out[i];
    for (int64_t k = 0; k < operand_numel(o); k++) {
        double got = operand_get(o, k);
        if (!same_number(got, values[k])) {
            printf("result %d, element %lld: got %.17g, want %.17g\n", i, (long long)k, got, values[k]);
            return false;
        }
    }
    return true;
}

/* A shape of `rank` axes with sizes 0..4 (seldom 0) and its number of elements. */
static inline int64_t random_shape(int rank, int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        shape[i] = dice_below(call_dice(), 12) == 0 ? 0 : 1 + dice_below(call_dice(), 4);
        count *= shape[i];
    }
    return count;
}

#endif

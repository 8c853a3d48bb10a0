/* check.c - what a device computed, against the CPU: each step again, on the same operands, within the bounds of devices/bounds.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "devices/bounds.h"
#include "runtime/recover.h"
#include "tensor/half.h"

/* The worst of a result: how far off, in parts of the bound's measure. */
typedef struct verdict {
    double error, bound; /* of floats, relative; of integers, in units; equal bytes: 0 of 0 */
    bool wrong;
} verdict;

/* The number at an address; packed types and int64 are compared by their bytes. */
static bool number_at(tern_dtype dtype, const char *at, double *out)
{
    union {
        float f32;
        double f64;
        uint16_t half;
        int32_t i32;
        int8_t i8;
        uint8_t u8;
    } u;
    switch (dtype) {
#define READ(which, field, value)             \
    case which:                               \
        memcpy(&u.field, at, sizeof u.field); \
        *out = (double)(value);               \
        return true
        READ(TERN_F32, f32, u.f32);
        READ(TERN_F64, f64, u.f64);
        READ(TERN_F16, half, tern__f16_to_f32(u.half));
        READ(TERN_BF16, half, tern__bf16_to_f32(u.half));
        READ(TERN_I32, i32, u.i32);
        READ(TERN_I8, i8, u.i8);
        READ(TERN_U8, u8, u.u8);
        READ(TERN_BOOL, u8, u.u8);
#undef READ
    default:
        return false;
    }
}

static bool is_float(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F64 || dtype == TERN_F16 || dtype == TERN_BF16;
}

/* Elements in row-major order: bytes from element [0,0,...] to the next one; false past the last. */
typedef struct walk {
    const tern__operand *o;
    int64_t index[TERN__MAX_RANK];
    int64_t at; /* bytes */
} walk;

static bool next(walk *w)
{
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(w->o->type->dtype);
    for (int i = w->o->type->rank; i-- > 0;) {
        const int64_t stride = w->o->strides[i] * unit;
        w->at += stride;
        if (++w->index[i] < w->o->type->shape[i])
            return true;
        w->at -= stride * w->index[i];
        w->index[i] = 0;
    }
    return false;
}

static double largest_of(const tern__operand *o, const char *from)
{
    double most = 0, value;
    walk w = {.o = o};
    do {
        if (number_at(o->type->dtype, from + w.at, &value) && isfinite(value) && fabs(value) > most)
            most = fabs(value);
    } while (next(&w));
    return most;
}

static void compare_numbers(const tern__operand *o, const char *got, const char *want,
                            const tern__bound *bound, verdict *v)
{
    const bool floats = is_float(o->type->dtype);
    const double size = floats && bound->whole ? largest_of(o, want) : 0;
    walk w = {.o = o};
    v->bound = floats ? bound->numbers : (double)bound->units;
    do {
        double a = 0, b = 0, scale = 1;
        number_at(o->type->dtype, got + w.at, &a);
        number_at(o->type->dtype, want + w.at, &b);
        if (a == b || (isnan(a) && isnan(b)))
            continue;
        if (floats)
            scale = fmax(1, fmax(fabs(b), size));
        double error = fabs(a - b) / scale;
        error = isnan(error) ? INFINITY : error;
        v->error = error > v->error ? error : v->error;
    } while (next(&w));
    v->wrong = v->error > v->bound;
}

/* `got` and `want` are of one layout: the span of the operand. */
static verdict compare(const tern__operand *o, const tern__span *span, const char *got, const char *want,
                       const tern__bound *bound)
{
    verdict v = {0};
    const ptrdiff_t first = (ptrdiff_t)((int64_t)o->byte_offset - span->low);
    double ignored;
    if (span->low == span->high)
        return v;
    if (number_at(o->type->dtype, got + first, &ignored))
        compare_numbers(o, got + first, want + first, bound, &v);
    else if (memcmp(got, want, (size_t)(span->high - span->low)) != 0)
        v = (verdict){.error = 1, .wrong = true};
    return v;
}

static tern_status tell(tern_ctx *ctx, const tern__loaded *l, uint32_t s, uint32_t result, const verdict *v)
{
    tern__failure f = {.device = l->plan->device,
                       .doing = "check",
                       .step = &l->plan->steps[s],
                       .number = s,
                       .status = TERN_INTERNAL,
                       .tries = 1};
    bool taken_over;
    snprintf(f.cause, sizeof f.cause, "step %" PRIu32 ", result %" PRIu32 ": error %.3g, the bound is %.3g",
             s, result, v->error, v->bound);
    ctx->stats.check_failures++;
    return tern__failure_note(ctx, &f, &taken_over);
}

static tern_status judge(tern_ctx *ctx, const tern__loaded *l, uint32_t s, const tern__saved *answer,
                         const tern__bindings *bindings, bool *right)
{
    const tern__step *step = &l->plan->steps[s];
    const char *got = answer->copy;
    for (uint32_t i = 0; i < step->n_out; i++) {
        const tern__operand *o = &l->plan->operands[step->operands + step->n_in + i];
        const tern__span span = tern__span_of(o, s);
        const tern__bound bound = tern__bound_of(step, o->type->dtype);
        const verdict v =
            compare(o, &span, got, tern__base_of(bindings, span.space, span.index) + span.low, &bound);
        if (v.wrong) {
            *right = false;
            return tell(ctx, l, s, i, &v);
        }
        got += span.high - span.low;
    }
    return TERN_OK;
}

tern_status tern__check_step(tern_ctx *ctx, tern__loaded *l, const tern__partition *part,
                             const tern__saved *before, const tern__bindings *bindings)
{
    tern__saved answer;
    tern__saved_begin(&answer);
    uint32_t n_done;
    bool right = true;
    tern_status status = TERN_OK;
    for (size_t i = 0; i < before->n && status == TERN_OK; i++)
        status = tern__save_add(&answer, before->items[i].at, before->items[i].bytes);
    if (status == TERN_OK)
        status = tern__save_take(&answer);
    if (status == TERN_OK) {
        tern__save_put_back(before);
        status = ctx->host_ops->run(ctx->host, &l->host, NULL, part, bindings, &n_done);
    }
    ctx->stats.checked_steps++;
    if (status == TERN_OK && answer.copy)
        status = judge(ctx, l, part->first, &answer, bindings, &right);
    if (status == TERN_OK && right)
        tern__save_put_back(&answer);
    if (status != TERN_OK)
        tern__save_put_back(before);
    tern__saved_free(&answer);
    return status;
}

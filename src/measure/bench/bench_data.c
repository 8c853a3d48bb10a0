/* bench_data.c - see bench_data.h. */
#include "measure/bench/bench_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tern/ops.h>

#include "base/status.h"

tern_tensor *tern__data_random(tern_ctx *ctx, tern_dtype dtype, int rank, const int64_t *shape, int64_t seed)
{
    tern_tensor *x = tern_randn(ctx, TERN_F32, rank, shape, seed), *scale;
    if (dtype == TERN_T2 || dtype == TERN_T5)
        tern_ternary_quantise(x, NULL, dtype, &x, &scale);
    else if (dtype == TERN_I8)
        x = tern_cast(tern_mul(x, tern_scalar(ctx, TERN_F32, TERN__DATA_I8_SCALE)), TERN_I8);
    else if (dtype != TERN_F32)
        x = tern_cast(x, dtype);
    return x;
}

tern_status tern__data_carry(tern_ctx *to, tern_tensor *t, tern_tensor **out)
{
    const void *data = tern_data(t);
    TERN__FAIL_IF(!data, TERN_INTERNAL, "bench: a tensor has no data");
    *out = tern_from_data(to, tern_dtype_of(t), tern_rank(t), tern_shape(t), data);
    return tern_status_of(*out);
}

/* ---- is it right? ---- */

/* Of any element, relative to itself or, if that is larger, to the root of the mean square of all: rounding of sums in another
 * order; an f16 may be the next one. */
static const double error_most = 1e-5, error_most_f16 = 1e-3;

/* Every one of n elements by itself: one that is wrong does not hide among millions that are right. */
static tern_status compare_floats(tern__data_check *c, const float *x, const float *y, size_t n, double most)
{
    double squares = 0, error = 0;
    size_t wrong = n; /* the first that is */
    for (size_t i = 0; i < n; i++)
        squares += (double)y[i] * (double)y[i];
    const double usual = n > 0 ? sqrt(squares / (double)n) : 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)y[i];
        if (wrong == n && !(fabs(d) <= most * fmax(usual, fabs((double)y[i]))))
            wrong = i;
        error += d * d;
    }
    c->error = fmax(c->error, squares > 0 ? sqrt(error / squares) : 0);
    TERN__FAIL_IF(wrong < n, TERN_INTERNAL,
                  "bench: %s differs from its reference: element %zu is %.9g, not %.9g", c->name, wrong,
                  (double)x[wrong], (double)y[wrong]);
    return TERN_OK;
}

/* What lies between two numbers may be rounded to either where its sum had another order. */
static tern_status compare_rounded(tern__data_check *c, const int8_t *x, const int8_t *y, size_t n)
{
    size_t wrong = 0, off = 0;
    for (size_t i = 0; i < n; i++) {
        off += x[i] != y[i];
        wrong += abs(x[i] - y[i]) > 1;
    }
    TERN__FAIL_IF(wrong > 0 || off > n / 100, TERN_INTERNAL,
                  "bench: %s differs from its reference in %zu of %zu elements, in %zu by more than 1",
                  c->name, off, n, wrong);
    return TERN_OK;
}

/* Both are of the reference's context. */
static tern_status compare(tern__data_check *c, tern_tensor *got, tern_tensor *reference, double most)
{
    const size_t bytes = tern_nbytes(reference);
    if (tern_dtype_of(reference) == TERN_F16) {
        TERN_SCOPE(c->ctx) {
            return compare(c, tern_cast(got, TERN_F32), tern_cast(reference, TERN_F32), error_most_f16);
        }
    }
    const void *a = tern_data(got), *b = tern_data(reference);
    TERN__FAIL_IF(!a || !b || bytes > tern_nbytes(got), TERN_INTERNAL, "bench: %s has no result", c->name);
    if (tern_dtype_of(reference) == TERN_I8 && c->other_device)
        return compare_rounded(c, a, b, bytes);
    if (tern_dtype_of(reference) != TERN_F32) {
        if (memcmp(a, b, bytes) != 0)
            c->error = NAN; /* wrong, by how much nobody asks */
        TERN__FAIL_IF(memcmp(a, b, bytes) != 0, TERN_INTERNAL, "bench: %s differs from its reference",
                      c->name);
        return TERN_OK;
    }
    return compare_floats(c, a, b, bytes / sizeof(float), most);
}

tern_status tern__data_compare(tern__data_check *check, tern_tensor *got, tern_tensor *reference)
{
    tern_tensor *here = NULL;
    if (!check->other_device)
        return compare(check, got, reference, error_most);
    TERN_SCOPE(check->ctx) {
        TERN_TRY(tern__data_carry(check->ctx, got, &here));
        return compare(check, here, reference, error_most);
    }
    return TERN_OK;
}

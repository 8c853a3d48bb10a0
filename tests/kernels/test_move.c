/* test_move.c - copies between strides: every kernel of family `move` that runs here against a loop over all elements, on
 * random shapes and orders of axes, elements of 1 to 8 bytes, gaps, misaligned memory, guarded results and arbitrary splits, in blocks
 * for caches of either kind. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "harness.h"
#include "kernels/move/move.h"
#include "kernels/past.h"
#include "kernels/select.h"
#include "one_stream.h"

enum { GUARD = 0x5a, MARGIN = 192 };

static uint64_t rolls;

static int64_t roll(int64_t n)
{
    return (int64_t)(tern__random_uniform(harness_seed(), rolls++) * (double)n);
}

/* Memory of a type whose axes lie in the order `order`, outermost first, perhaps with gaps; bytes in all. */
static int64_t lay_out(const tern__type *type, const int *order, bool gaps, int64_t *strides)
{
    int64_t next = 1;
    for (int k = type->rank - 1; k >= 0; k--) {
        strides[order[k]] = next;
        next *= type->shape[order[k]];
        next += gaps && roll(3) == 0 ? roll(5) : 0;
    }
    return next * (int64_t)tern__dtype_unit_bytes(type->dtype);
}

static void shuffle(int *order, int n)
{
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = n - 1; k > 0; k--) {
        const int other = (int)roll(k + 1), x = order[k];
        order[k] = order[other];
        order[other] = x;
    }
}

static int64_t at(const tern__type *type, const int64_t *strides, int64_t element)
{
    int64_t units = 0;
    for (int d = type->rank - 1; d >= 0; d--) {
        units += element % type->shape[d] * strides[d];
        element /= type->shape[d];
    }
    return units * (int64_t)tern__dtype_unit_bytes(type->dtype);
}

static void check(const tern__kernel_row *row, const tern__type *type, bool strided_result)
{
    const int64_t size = (int64_t)tern__dtype_unit_bytes(type->dtype), numel = tern__type_numel(type);
    int order[TERN__MAX_RANK], rising[TERN__MAX_RANK];
    int64_t from_strides[TERN__MAX_RANK], to_strides[TERN__MAX_RANK];
    shuffle(order, type->rank);
    for (int k = 0; k < type->rank; k++)
        rising[k] = k;
    const int64_t from_bytes = lay_out(type, order, true, from_strides);
    const int64_t to_bytes =
        lay_out(type, strided_result ? order : rising, strided_result || roll(2) == 0, to_strides);
    const int64_t skew = roll(2) ? 0 : size * roll(9);
    char *from = tern__alloc_aligned((size_t)(from_bytes + skew + MARGIN), 64);
    char *to = tern__alloc_aligned((size_t)(to_bytes + 2 * MARGIN + skew), 64);
    char *want = tern__alloc_aligned((size_t)(to_bytes + 2 * MARGIN + skew), 64);
    CHECK(from && to && want);
    for (int64_t i = 0; i < from_bytes + skew; i++)
        from[i] = (char)(i * 131 + i / 251);
    memset(to, GUARD, (size_t)(to_bytes + 2 * MARGIN + skew));
    memset(want, GUARD, (size_t)(to_bytes + 2 * MARGIN + skew));
    for (int64_t i = 0; i < numel; i++)
        memcpy(want + MARGIN + skew + at(type, to_strides, i), from + skew + at(type, from_strides, i),
               (size_t)size);
    tern__buffer in = {from + skew, type, from_strides}, out = {to + MARGIN + skew, type, to_strides};
    tern__kernel_args args = {.n_in = 1, .n_out = 1, .in = &in, .out = &out};
    const tern__kernel *kernel = row->kernel;
    const int64_t work = tern__move_work(type), cut = roll(work + 1);
    CHECK_OK(kernel->run(&args, cut, work));
    CHECK_OK(kernel->run(&args, 0, cut));
    if (memcmp(to, want, (size_t)(to_bytes + 2 * MARGIN + skew)) != 0)
        harness_fail(__FILE__, __LINE__, "%s: %s of rank %d, [%d,%d,...], differs", row->name,
                     tern_dtype_name(type->dtype), type->rank, (int)type->shape[0], (int)type->shape[1]);
    tern__free(from);
    tern__free(to);
    tern__free(want);
}

static const tern_dtype dtypes[] = {TERN_I8, TERN_F16, TERN_F32, TERN_I64};

static void check_all(const tern__kernel_row *row)
{
    static const int64_t sizes[] = {1, 2, 3, 15, 16, 17, 31, 64, 65, 130, 300};
    for (int round = 0; round < harness_cases(400) && !harness_failed(); round++) {
        tern__type type = {.dtype = dtypes[round % 4], .rank = (int)roll(5)};
        for (int d = 0, left = 1 << 16; d < type.rank; d++) {
            type.shape[d] = sizes[roll((int64_t)(sizeof sizes / sizeof *sizes))];
            type.shape[d] = type.shape[d] > left ? 1 : type.shape[d];
            left /= (int)type.shape[d];
        }
        pretend_caches(roll(2) ? 32 << 10 : 48 << 10, 1 << 20, 32 << 20); /* narrow blocks or wide ones */
        check(row, &type, round % 8 == 7);
    }
}

TEST(any_shape_and_order)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int i = 0; i < count; i++)
        if (rows[i].family == TERN__FAMILY_move && tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
            check_all(&rows[i]);
}

TEST(where_the_caches_end)
{
    CHECK_EQ(tern__past_bytes(&(tern__cpu_info){.l2_bytes = 1 << 20, .l3_bytes = 48 << 20}), 24 << 20);
    CHECK_EQ(tern__past_bytes(&(tern__cpu_info){.l2_bytes = 4 << 20}), 32 << 20);
    CHECK_EQ(tern__past_bytes(&(tern__cpu_info){.arch = "other"}), 16 << 20); /* nothing is known */
}

/* Results so large that they are stored past the caches. */
TEST(large_results)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_move, tern__cpu()->isa_mask);
    for (int k = 0; k < 4 && !harness_failed(); k++) {
        tern__type type = {.dtype = dtypes[k], .rank = 3, .shape = {3, 2080, 0}};
        type.shape[2] = (tern__past_bytes(tern__cpu()) >> k) / (3 * 2080) + 65;
        check(row, &type, false);
    }
}

/* The same where caches are small: narrow blocks, of which the next is fetched, and wide ones. */
TEST(large_results_beside_small_caches)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int k = 0; k < 16 && !harness_failed(); k++)
        for (int i = 0; i < count; i++) {
            if (rows[i].family != TERN__FAMILY_move || !tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
                continue;
            tern__type type = {.dtype = dtypes[k % 4], .rank = 2, .shape = {64 * (1 + roll(9)), 0}};
            pretend_caches(k < 8 ? 32 << 10 : 48 << 10, 0, 1 << 20);
            const int64_t elements =
                tern__past_bytes(tern__cpu()) / (int64_t)tern__dtype_unit_bytes(type.dtype);
            /* whole lines, and stored past the caches */
            type.shape[1] = (elements / type.shape[0] / 64 + 1 + roll(3)) * 64;
            check(&rows[i], &type, false);
        }
}

TEST(nothing_to_move)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_move, 1u << TERN__ISA_BASELINE);
    const tern__type none = {.dtype = TERN_F32, .rank = 2, .shape = {0, 7}};
    tern__buffer in = {NULL, &none, (int64_t[]){1, 0}}, out = {NULL, &none, (int64_t[]){7, 1}};
    tern__kernel_args args = {.n_in = 1, .n_out = 1, .in = &in, .out = &out};
    CHECK(row != NULL);
    CHECK_OK(((const tern__kernel *)row->kernel)->run(&args, 0, tern__move_work(&none)));
}

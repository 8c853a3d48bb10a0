/* test_gemm.c - f32 products: every kernel that runs here against one chain of multiply-adds per output, bit for bit, on
 * ragged sizes, strides of all kinds, misaligned pointers, guarded memory and arbitrary splits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "guarded.h"
#include "harness.h"
#include "kernels/gemm/gemm.h"
#include "kernels/select.h"
#include "tensor/half.h"

enum { GUARD = 64 }; /* floats on both sides */

static uint64_t rolls;

static int64_t roll(int64_t n)
{
    return (int64_t)(tern__random_uniform(harness_seed(), rolls++) * (double)n);
}

/* With a full mantissa: products are rounded, so that another order of sums, or one without fused multiply-adds, has other bits. */
static float number(void)
{
    return (float)(tern__random_uniform(harness_seed(), rolls++) * 8 - 4);
}

/* A matrix somewhere in guarded memory: element (i, j) at data[i * row + j * column]. */
typedef struct matrix {
    float *block, *data;
    int64_t floats; /* between the guards */
    int64_t all;    /* with them */
    int64_t rows, columns, row, column;
} matrix;

static const float guard_value = 12345.25f;

static matrix matrix_make(int64_t rows, int64_t columns, int kind)
{
    const int64_t gap = roll(4), shift = roll(3);
    matrix m = {.rows = rows, .columns = columns};
    m.row = kind == 1 ? 1 : columns + gap; /* 0 rows in one piece, 1 columns in one piece, 2 elements apart */
    m.column = kind == 1 ? rows + gap : 1;
    if (kind == 2) {
        m.row *= 2;
        m.column = 2;
    }
    m.floats = rows * columns * 2 + (rows + columns) * 8 + 16;
    m.all = m.floats + 2 * GUARD + shift;
    m.block = tern__alloc_aligned((size_t)m.all * sizeof *m.block, TERN__ALIGN);
    for (int64_t i = 0; i < m.all; i++)
        m.block[i] = guard_value;
    m.data = m.block + GUARD + shift;
    return m;
}

static void matrix_fill(matrix *m)
{
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->columns; j++)
            m->data[i * m->row + j * m->column] = number();
}

/* How many numbers outside the matrix are not what they were. */
static int64_t damage(const matrix *m)
{
    int64_t changed = 0, inside = m->rows * m->columns, same = 0;
    for (int64_t i = 0; i < m->all; i++)
        same += m->block[i] == guard_value;
    changed = m->all - inside - same;
    return changed > 0 ? changed : 0;
}

static float chain(const matrix *a, const matrix *b, int64_t i, int64_t j, bool fused)
{
    float sum = 0;
    for (int64_t k = 0; k < a->columns; k++) {
        const float x = a->data[i * a->row + k * a->column], y = b->data[k * b->row + j * b->column];
        volatile float product = x * y; /* rounded, whatever the compiler would rather do */
        sum = fused ? fmaf(x, y, sum) : sum + product;
    }
    return sum;
}

static void check_product(const tern__kernel_row *row, int64_t m, int64_t n, int64_t k, bool packs)
{
    const tern__gemm_kernel *kernel = row->kernel;
    matrix a = matrix_make(m, k, (int)roll(3)), b = matrix_make(k, n, (int)roll(3));
    matrix y = matrix_make(m, n, (int)roll(3));
    matrix_fill(&a);
    matrix_fill(&b);
    size_t bytes = 0;
    CHECK(tern__gemm_packed_bytes(kernel, k, n, &bytes));
    guarded all_packed, all_scratch;
    float *packed = guarded_make(&all_packed, bytes, 0);
    /* Caches so small that there are many blocks, or none, or any. */
    const tern__gemm_blocking blocking =
        tern__gemm_blocking_for(kernel, roll(2) * (48 << 10), roll(3) * (roll(256) << 10), m, n, k);
    const size_t scratch_bytes = tern__gemm_scratch_bytes(kernel, &blocking, packs);
    void *scratch = guarded_make(&all_scratch, scratch_bytes, 0);
    const int64_t tiles = tern__gemm_tiles(kernel, n), cut = roll(tiles + 1), row_cut = roll(m + 1);
    tern__gemm_pack(kernel, TERN_F32, b.data, b.row, b.column, k, n, cut, tiles, packed);
    tern__gemm_pack(kernel, TERN_F32, b.data, b.row, b.column, k, n, 0, cut, packed);
    const tern__gemm g = {.blocking = blocking,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a_type = TERN_F32,
                          .b_type = TERN_F32,
                          .a = a.data,
                          .a_row = a.row,
                          .a_k = a.column,
                          .b = b.data,
                          .b_k = b.row,
                          .b_column = b.column,
                          .packed = packs ? packed : NULL,
                          .y = y.data,
                          .y_row = y.row,
                          .y_column = y.column};
    tern__gemm_multiply(kernel, &g, 0, row_cut, 0, tiles, scratch);
    tern__gemm_multiply(kernel, &g, row_cut, m, cut, tiles, scratch);
    tern__gemm_multiply(kernel, &g, row_cut, m, 0, cut, scratch);
    int64_t wrong = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const float want = chain(&a, &b, i, j, ((const tern__gemm_kernel *)row->kernel)->fused),
                        got = y.data[i * y.row + j * y.column];
            wrong += memcmp(&want, &got, sizeof want) != 0;
        }
    if (wrong > 0 || damage(&y) > 0)
        harness_fail(__FILE__, __LINE__, "%s: %lld x %lld x %lld, %s: %lld wrong, %lld outside", row->name,
                     (long long)m, (long long)n, (long long)k, packs ? "packed" : "plain", (long long)wrong,
                     (long long)damage(&y));
    CHECK(guarded_is_intact(&all_packed) && guarded_is_intact(&all_scratch));
    guarded_free(&all_scratch);
    guarded_free(&all_packed);
    tern__free(a.block);
    tern__free(b.block);
    tern__free(y.block);
}

static void each_kernel(int64_t m, int64_t n, int64_t k)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int i = 0; i < count; i++) {
        if (rows[i].family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
            continue;
        check_product(&rows[i], m, n, k, true);
        check_product(&rows[i], m, n, k, false);
    }
}

/* The matrix in another type; what is left of its numbers there stays in it. */
static uint16_t *half_of(matrix *m, tern_dtype type)
{
    uint16_t *half = tern__alloc_aligned((size_t)m->floats * sizeof *half + TERN__ALIGN, TERN__ALIGN);
    for (int64_t i = 0; i < m->floats; i++) {
        half[i] = type == TERN_F16 ? tern__f32_to_f16(m->data[i]) : tern__f32_to_bf16(m->data[i]);
        m->data[i] = type == TERN_F16 ? tern__f16_to_f32(half[i]) : tern__bf16_to_f32(half[i]);
    }
    return half;
}

/* Operands that are not f32 are converted while they are packed; `packs`: tiles of b were packed in its type. */
static void check_half(const tern__kernel_row *row, int64_t m, int64_t n, int64_t k, tern_dtype a_type,
                       tern_dtype b_type, bool packs)
{
    const tern__gemm_kernel *kernel = row->kernel;
    matrix a = matrix_make(m, k, (int)roll(3)), b = matrix_make(k, n, (int)roll(3));
    matrix y = matrix_make(m, n, (int)roll(3));
    matrix_fill(&a);
    matrix_fill(&b);
    uint16_t *a_half = a_type == TERN_F32 ? NULL : half_of(&a, a_type);
    uint16_t *b_half = b_type == TERN_F32 ? NULL : half_of(&b, b_type), *packed = NULL;
    guarded all_packed = {0}, all_scratch;
    const int64_t n_tiles = tern__gemm_tiles(kernel, n), cut = roll(n_tiles + 1);
    if (packs) {
        packed = guarded_make(&all_packed, (size_t)(k * n_tiles * kernel->columns) * sizeof *packed, 0);
        tern__gemm_pack(kernel, b_type, b_half, b.row, b.column, k, n, cut, n_tiles, packed);
        tern__gemm_pack(kernel, b_type, b_half, b.row, b.column, k, n, 0, cut, packed);
    }
    const tern__gemm_blocking blocking =
        tern__gemm_blocking_for(kernel, roll(2) * (48 << 10), roll(3) * (roll(64) << 10), m, n, k);
    void *scratch = guarded_make(&all_scratch, tern__gemm_scratch_bytes(kernel, &blocking, false), 0);
    const tern__gemm g = {.blocking = blocking,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = a_half ? (void *)a_half : a.data,
                          .a_type = a_type,
                          .a_row = a.row,
                          .a_k = a.column,
                          .b = b_half ? (void *)b_half : b.data,
                          .b_type = b_type,
                          .b_k = b.row,
                          .b_column = b.column,
                          .packed = packed,
                          .y = y.data,
                          .y_row = y.row,
                          .y_column = y.column};
    tern__gemm_multiply(kernel, &g, 0, m, 0, cut, scratch);
    tern__gemm_multiply(kernel, &g, 0, m, cut, n_tiles, scratch);
    int64_t wrong = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const float want = chain(&a, &b, i, j, ((const tern__gemm_kernel *)row->kernel)->fused),
                        got = y.data[i * y.row + j * y.column];
            wrong += memcmp(&want, &got, sizeof want) != 0;
        }
    if (wrong > 0 || damage(&y) > 0)
        harness_fail(__FILE__, __LINE__,
                     "%s: %lld x %lld x %lld, types %d and %d, %s: %lld wrong, %lld outside", row->name,
                     (long long)m, (long long)n, (long long)k, a_type, b_type, packs ? "packed" : "plain",
                     (long long)wrong, (long long)damage(&y));
    CHECK(guarded_is_intact(&all_scratch) && (!packs || guarded_is_intact(&all_packed)));
    guarded_free(&all_scratch);
    if (packs)
        guarded_free(&all_packed);
    tern__free(a_half);
    tern__free(b_half);
    tern__free(a.block);
    tern__free(b.block);
    tern__free(y.block);
}

TEST(other_types_than_f32)
{
    static const tern_dtype types[] = {TERN_F16, TERN_BF16, TERN_F32};
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int r = 0; r < count; r++) {
        if (rows[r].family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(&rows[r], tern__cpu()->isa_mask))
            continue;
        for (int i = 0; i < 60; i++) {
            const tern_dtype a = types[roll(3)], b = types[roll(3)];
            check_half(&rows[r], 1 + roll(20), 1 + roll(150), roll(140), a, b, b != TERN_F32 && roll(3) == 0);
        }
        check_half(&rows[r], 30, 70, 600, TERN_BF16, TERN_F16, false);
    }
}

/* Every f16 and bf16 becomes the f32 that tensor/half.h says. */
TEST(unpacking_agrees_with_conversion)
{
    enum { ALL = 1 << 16 };
    uint16_t *half = tern__alloc_aligned(ALL * sizeof *half, TERN__ALIGN);
    float *got = tern__alloc_aligned(ALL * sizeof *got, TERN__ALIGN);
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int i = 0; i < ALL; i++)
        half[i] = (uint16_t)i;
    for (int r = 0; r < count; r++) {
        if (rows[r].family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(&rows[r], tern__cpu()->isa_mask))
            continue;
        const tern__gemm_kernel *kernel = rows[r].kernel;
        int wrong[2] = {0};
        kernel->unpack[TERN_F16](half, ALL, got);
        for (int i = 0; i < ALL; i++)
            wrong[0] += tern__f32_bits(got[i]) != tern__f32_bits(tern__f16_to_f32(half[i]));
        kernel->unpack[TERN_BF16](half, ALL, got);
        for (int i = 0; i < ALL; i++)
            wrong[1] += tern__f32_bits(got[i]) != tern__f32_bits(tern__bf16_to_f32(half[i]));
        CHECK_EQ(wrong[0], 0);
        CHECK_EQ(wrong[1], 0);
    }
    tern__free(half);
    tern__free(got);
}

TEST(small_and_ragged)
{
    for (int64_t m = 1; m <= 8; m++)
        for (int64_t n = 1; n <= 66; n += 1 + roll(5))
            each_kernel(m, n, roll(40));
}

TEST(sizes_at_random)
{
    for (int i = 0; i < 60; i++)
        each_kernel(1 + roll(40), 1 + roll(200), roll(90));
}

/* Rows times columns that lie in one piece: transposed in registers. */
TEST(few_rows_across)
{
    for (int64_t m = 1; m <= 9; m++)
        each_kernel(m, 30 + roll(120), 1 + roll(90));
}

TEST(few_rows_and_many_columns)
{
    for (int64_t m = 1; m <= 4; m++)
        each_kernel(m, 300 + roll(100), 100 + roll(100));
}

/* More than one panel of k, more than one block of rows. */
TEST(several_panels)
{
    each_kernel(9, 70, 1100);
    each_kernel(1, 130, 1300);
    each_kernel(400, 17, 530);
    each_kernel(2, 3, 2000);
}

TEST(nothing_to_add_gives_zeros)
{
    each_kernel(3, 5, 0);
    each_kernel(1, 200, 0);
    each_kernel(0, 5, 3);
    each_kernel(3, 0, 5);
    each_kernel(1, 0, 5);
    each_kernel(0, 0, 0);
}

/* What an output is does not depend on its neighbours: infinities and NaN stay where they belong. */
TEST(neighbours_do_not_matter)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int r = 0; r < count; r++) {
        if (rows[r].family != TERN__FAMILY_gemm_f32 || !tern__kernel_runs(&rows[r], tern__cpu()->isa_mask))
            continue;
        const tern__gemm_kernel *kernel = rows[r].kernel;
        enum { M = 7, N = 37, K = 11 };
        float a[M * K], b[K * N], y[M * N];
        for (int i = 0; i < M * K; i++)
            a[i] = number();
        for (int i = 0; i < K * N; i++)
            b[i] = number();
        a[2 * K + 3] = INFINITY;
        b[4 * N + 36] = NAN;
        const tern__gemm_blocking blocking = tern__gemm_blocking_for(kernel, 0, 0, M, N, K);
        void *scratch = tern__alloc_aligned(tern__gemm_scratch_bytes(kernel, &blocking, false), TERN__ALIGN);
        const tern__gemm g = {.blocking = blocking,
                              .a_type = TERN_F32,
                              .b_type = TERN_F32,
                              .m = M,
                              .n = N,
                              .k = K,
                              .a = a,
                              .a_row = K,
                              .a_k = 1,
                              .b = b,
                              .b_k = N,
                              .b_column = 1,
                              .y = y,
                              .y_row = N,
                              .y_column = 1};
        tern__gemm_multiply(kernel, &g, 0, M, 0, tern__gemm_tiles(kernel, N), scratch);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                if (isfinite(y[i * N + j]) != (i != 2 && j != 36) && !(i == 2 && b[3 * N + j] == 0))
                    harness_fail(__FILE__, __LINE__, "%s: element %d, %d is %g", rows[r].name, i, j,
                                 (double)y[i * N + j]);
        tern__free(scratch);
    }
}

TEST(sizes_that_cannot_be)
{
    size_t bytes;
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, tern__cpu()->isa_mask);
    if (!row)
        SKIP("this processor has none of the kernels");
    CHECK(!tern__gemm_packed_bytes(row->kernel, -1, 5, &bytes));
    CHECK(!tern__gemm_packed_bytes(row->kernel, INT64_MAX, INT64_MAX / 2, &bytes));
    CHECK(tern__gemm_packed_bytes(row->kernel, 0, 5, &bytes));
    CHECK_EQ(bytes, 0);
}

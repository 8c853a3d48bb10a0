/* test_linear.c - products with packed weights of 16 bits, in blocks and of 8 bits: every kernel that runs here against one
 * chain per output on the converted weights, bit for bit, on ragged sizes, strange scales, misaligned and guarded memory and any split. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "guarded.h"
#include "harness.h"
#include "kernels/linear/product.h"
#include "kernels/select.h"
#include "kernels/ternary/ternary.h"
#include "operand.h"
#include "tensor/blocks.h"
#include "tensor/half.h"

static dice d;

static const tern_dtype FORMS[] = {TERN_F16, TERN_BF16, TERN_Q8_0, TERN_Q6_K, TERN_Q4_0, TERN_Q4_K};
enum { N_FORMS = 6 };

/* Where x and y lie is theirs who call: anywhere that an element of 4 bytes may. */
static size_t shift(void)
{
    return 4 * (size_t)dice_below(&d, 16);
}

/* Where the scale of a block is, and how often: q4_k has two. */
static void put_scale(tern_dtype dtype, uint8_t *block, uint16_t bits)
{
    const int at = dtype == TERN_Q6_K ? 208 : 0;
    memcpy(block + at, &bits, 2);
    if (dtype == TERN_Q4_K && dice_below(&d, 2))
        memcpy(block + 2, &bits, 2);
}

/* Random bytes, with scales that are mostly tame; `wild` ones are anything. */
static uint8_t *random_weights(tern_dtype dtype, int64_t rows, int64_t k, bool wild)
{
    const size_t unit = tern__dtype_unit_bytes(dtype), units = (size_t)(tern__row_units(dtype, k) * rows);
    uint8_t *w = malloc(unit * units + 1);
    for (size_t i = 0; i < unit * units; i++)
        w[i] = (uint8_t)dice_u32(&d);
    for (size_t i = 0; i < units && !wild; i++) {
        const uint16_t tame = (uint16_t)(0x2800 + dice_below(&d, 0x1000) + 0x8000 * dice_below(&d, 2));
        if (tern__dtype_is_block(dtype)) {
            put_scale(dtype, w + i * unit, tame);
            if (dtype == TERN_Q4_K)
                memcpy(w + i * unit + 2, &tame, 2);
        } else {
            const uint16_t number = dtype == TERN_F16 ? tame : (uint16_t)(tame + 0x1400);
            memcpy(w + i * unit, &number, 2);
        }
    }
    static const uint16_t strange[] = {0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 1, 0x83ff, 0x7bff};
    for (size_t i = 0; i < units && wild; i++)
        if (dice_below(&d, 3) == 0)
            put_scale(tern__dtype_is_block(dtype) ? dtype : TERN_Q8_0, w + i * unit,
                      strange[dice_below(&d, 8)]);
    return w;
}

static void widen(tern_dtype dtype, const uint8_t *row, int64_t k, float *to)
{
    tern__convert_row(dtype, row, TERN_F32, to, k);
}

static float chain(const float *x, const float *w, int64_t k, bool fused)
{
    float sum = 0;
    for (int64_t c = 0; c < k; c++) {
        volatile float product = x[c] * w[c]; /* rounded, whatever the compiler would rather do */
        sum = fused ? fmaf(x[c], w[c], sum) : sum + product;
    }
    return sum;
}

static bool same(float a, float b)
{
    return isnan(b) ? isnan(a) : tern__f32_bits(a) == tern__f32_bits(b);
}

static void check_product(const tern__kernel_row *row, tern_dtype dtype, int64_t batch, int64_t n, int64_t k,
                          bool wild)
{
    const tern__kernel_row *gemm =
        tern__kernel_select(TERN__FAMILY_gemm_f32, tern__isa_mask_capped(tern__cpu(), row->isa));
    const tern__type x_type = {.dtype = TERN_F32, .rank = 2, .shape = {batch, k}};
    const int64_t tiles = tern__linear_tiles(n), cut = dice_below(&d, tiles + 1),
                  y_row = n + dice_below(&d, 3);
    const int64_t row_units = tern__row_units(dtype, k) * (int64_t)tern__dtype_unit_bytes(dtype);
    tern__linear_program p;
    tern__linear_plan(dtype, row->kernel, gemm ? gemm->kernel : NULL, &x_type, n, true, &p);
    p.in_order = dice_below(&d, 2) == 0;
    p.all_in_order = dice_below(&d, 2) == 0;
    p.apart = dice_below(&d, 2) == 0;
    guarded all_packed, all_y, all_scratch;
    uint8_t *weights = random_weights(dtype, n, k, wild),
            *packed = guarded_make(&all_packed, (size_t)(p.tile_bytes * tiles), 0);
    const size_t x_shift = shift();
    char *x_block = malloc(x_shift + (size_t)(batch * k) * 4); /* ends where x does */
    float *x = (float *)(void *)(x_block + x_shift), *w = malloc((size_t)(k + 1) * 4),
          *y = guarded_make(&all_y, (size_t)(batch * y_row) * 4, shift());
    void *scratch = guarded_make(&all_scratch, p.scratch_bytes, 0);
    for (int64_t i = 0; i < batch * k;
         i++) /* full mantissas: products are rounded, and the order of sums matters */
        x[i] = wild && dice_below(&d, 50) == 0 ? (float)dice_number(&d, TERN_F32)
                                               : (float)((double)dice_u32(&d) * 0x1p-29 - 4);
    tern__linear_pack(dtype, weights, tern__row_units(dtype, k), 1, n, k, cut, tiles, packed);
    tern__linear_pack(dtype, weights, tern__row_units(dtype, k), 1, n, k, 0, cut, packed);
    tern__linear_multiply(&p, packed, 0, cut, x, k, batch, y, y_row, scratch);
    tern__linear_multiply(&p, packed, cut, tiles, x, k, batch, y + cut * TERN__LINEAR_TILE, y_row, scratch);
    int64_t wrong = 0;
    for (int64_t o = 0; o < n; o++) {
        widen(dtype, weights + o * row_units, k, w);
        for (int64_t i = 0; i < batch; i++)
            wrong += !same(y[i * y_row + o],
                           chain(x + i * k, w, k, ((const tern__linear_kernel *)row->kernel)->fused));
    }
    if (wrong > 0)
        harness_fail(__FILE__, __LINE__, "%s %s, %d x %d x %d: %d wrong", row->name, tern_dtype_name(dtype),
                     (int)batch, (int)n, (int)k, (int)wrong);
    for (int64_t i = 0; i < batch; i++)
        for (int64_t o = n; o < y_row; o++)
            CHECK_EQ(tern__f32_bits(y[i * y_row + o]), 0xa5a5a5a5);
    CHECK(guarded_is_intact(&all_packed) && guarded_is_intact(&all_y) && guarded_is_intact(&all_scratch));
    free(weights);
    free(x_block);
    free(w);
    guarded_free(&all_packed);
    guarded_free(&all_y);
    guarded_free(&all_scratch);
}

TEST(widened_weights)
{
    static const int64_t batches[] = {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 23, 64, 150},
                         columns[] = {0, 1, 7, 31, 32, 33, 96, 255, 256, 257, 300, 600};
    static const int64_t outputs[] = {1, 31, 32, 33, 64, 65, 160, 290};
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    d.seed = harness_seed();
    for (int i = 0; i < count; i++) {
        if (rows[i].family != TERN__FAMILY_linear || !tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
            continue;
        for (int form = 0; form < N_FORMS; form++)
            for (int turn = 0; turn < 42 && !harness_failed(); turn++)
                check_product(&rows[i], FORMS[form], batches[turn % 14], outputs[dice_below(&d, 8)],
                              columns[dice_below(&d, 12)], turn % 3 == 2);
        for (int form = 0; form < N_FORMS && !harness_failed(); form++) {
            check_product(&rows[i], FORMS[form], 0, 33, 64, false);
            check_product(&rows[i], FORMS[form], 1, 0, 64, false);
            check_product(&rows[i], FORMS[form], 64, 0, 64, false);
        }
    }
}

/* ---- i8 ---- */

/* What x and weights are: anything, or one number everywhere, with the largest products of either sign. */
static const struct extreme {
    bool random;
    int8_t x, w;
} kinds[] = {
    {.random = true}, {false, -128, -128}, {false, -128, 127}, {false, 127, -128}, {false, 127, 127}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void check_bytes(const tern__kernel_row *row, int64_t batch, int64_t n, int64_t k, int kind)
{
    const tern__type x_type = {.dtype = TERN_I8, .rank = 2, .shape = {batch, k}};
    const int64_t tiles = tern__linear_tiles(n), stride = tern__ternary_x_stride(k),
                  y_row = n + dice_below(&d, 5);
    tern__linear_program p;
    tern__linear_plan(TERN_I8, row->kernel, NULL, &x_type, n, true, &p);
    p.in_order = dice_below(&d, 2) == 0;
    p.all_in_order = dice_below(&d, 2) == 0;
    guarded all_packed, all_y, all_prepared;
    uint8_t *packed = guarded_make(&all_packed, (size_t)(p.tile_bytes * tiles), 0);
    int32_t *y = guarded_make(&all_y, (size_t)(batch * y_row) * 4, shift());
    int8_t *prepared = guarded_make(&all_prepared, (size_t)(batch * stride), 0);
    const size_t x_shift = 1 + (size_t)dice_below(&d, 15);
    int8_t *w = malloc((size_t)(n * k + 1)), *x_block = malloc(x_shift + (size_t)(batch * k)),
           *x = x_block + x_shift;
    for (int64_t i = 0; i < n * k; i++)
        w[i] = kinds[kind].random ? (int8_t)dice_u32(&d) : kinds[kind].w;
    for (int64_t i = 0; i < batch * k; i++)
        x[i] = kinds[kind].random ? (int8_t)dice_u32(&d) : kinds[kind].x;
    for (int64_t i = 0; i < batch; i++)
        tern__ternary_prepare(x + i * k, k, prepared + i * stride);
    tern__linear_pack(TERN_I8, w, k, 1, n, k, 0, tiles, packed);
    tern__linear_multiply_i8(&p, packed, 0, tiles, prepared, batch, y, y_row);
    int64_t wrong = 0;
    for (int64_t i = 0; i < batch; i++)
        for (int64_t o = 0; o < y_row; o++) {
            int32_t sum = 0;
            for (int64_t c = 0; c < k && o < n; c++)
                sum += x[i * k + c] * w[o * k + c];
            wrong += y[i * y_row + o] != (o < n ? sum : (int32_t)0xa5a5a5a5);
        }
    if (wrong > 0)
        harness_fail(__FILE__, __LINE__, "%s, %d x %d x %d, kind %d: %d wrong", row->name, (int)batch, (int)n,
                     (int)k, kind, (int)wrong);
    CHECK(guarded_is_intact(&all_packed) && guarded_is_intact(&all_y) && guarded_is_intact(&all_prepared));
    free(w);
    free(x_block);
    guarded_free(&all_packed);
    guarded_free(&all_y);
    guarded_free(&all_prepared);
}

TEST(bytes)
{
    static const int64_t batches[] = {1, 2, 3, 5, 8, 11, 12, 13, 30},
                         columns[] = {0, 1, 3, 4, 5, 64, 67, 700, 2100};
    static const int64_t outputs[] = {1, 31, 32, 33, 290};
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    d.seed = harness_seed();
    for (int i = 0; i < count; i++) {
        if (rows[i].family != TERN__FAMILY_linear_i8 || !tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
            continue;
        for (int turn = 0; turn < 9 * 2 * N_KINDS && !harness_failed(); turn++)
            check_bytes(&rows[i], batches[turn % 9], outputs[dice_below(&d, 5)], columns[dice_below(&d, 9)],
                        turn % N_KINDS);
        check_bytes(&rows[i], 0, 33, 64, 0);
        check_bytes(&rows[i], 1, 0, 64, 0);
        check_bytes(&rows[i], 13, 0, 64, 0);
    }
}

/* ---- rows of what is packed ---- */

TERN__KERNEL(packed_gather__ref);

/* Indices and results in any layout, the work in pieces: every row is the one that was packed, converted if it has blocks. */
TEST(packed_rows_are_found_in_any_layout)
{
    for (int round = 0; round < 60; round++) {
        const tern_dtype dtype = FORMS[round % N_FORMS];
        const int64_t n = 1 + dice_below(&d, 100), k = 1 + dice_below(&d, 300), tiles = tern__linear_tiles(n);
        const int64_t tile_bytes = tern__linear_tile_bytes(dtype, k);
        const tern_dtype to = tern__dtype_is_block(dtype) ? TERN_F32 : dtype;
        uint8_t *weights = random_weights(dtype, n, k, false), *packed = malloc((size_t)(tiles * tile_bytes));
        tern__linear_pack(dtype, weights, tern__row_units(dtype, k), 1, n, k, 0, tiles, packed);
        const int64_t shape[] = {1 + dice_below(&d, 4), 1 + dice_below(&d, 5), k};
        operand at = operand_make(TERN_I64, 2, shape, &d), y = operand_make(to, 3, shape, &d);
        for (int64_t i = 0; i < shape[0] * shape[1]; i++)
            operand_set(&at, i, (double)(dice_below(&d, 2 * n) - n)); /* negative ones count from the end */
        const tern__type table = {.dtype = TERN_U8, .rank = 2, .shape = {tiles, tile_bytes}};
        const int64_t table_strides[] = {tile_bytes, 1};
        const tern__buffer in[] = {{packed, &table, table_strides}, operand_buffer(&at)},
                           out = operand_buffer(&y);
        const tern__attr attrs[] = {{.i = n}, {.i = k}, {.i = (int64_t)dtype}};
        tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = &out, .attrs = attrs};
        const int64_t items = shape[0] * shape[1], cut = dice_below(&d, items + 1);
        CHECK_OK(tern_packed_gather__ref(&args, cut, items));
        CHECK_OK(tern_packed_gather__ref(&args, 0, cut));
        CHECK(operand_is_intact(&y));
        float *row = malloc((size_t)k * sizeof *row);
        const size_t row_bytes = (size_t)tern__row_units(dtype, k) * tern__dtype_unit_bytes(dtype);
        for (int64_t i = 0; i < items; i++) {
            const int64_t index = (int64_t)operand_get(&at, i), r = index < 0 ? index + n : index;
            tern__convert_row(dtype, weights + (size_t)r * row_bytes, TERN_F32, row, k);
            for (int64_t c = 0; c < k; c++) {
                const double got = operand_get(&y, i * k + c);
                CHECK(got == (double)row[c] || (isnan(got) && isnan(row[c])));
            }
        }
        operand_set(&at, 0, (double)n);
        CHECK_STATUS(tern_packed_gather__ref(&args, 0, items), TERN_OUT_OF_RANGE);
        CHECK_EQ(args.fault.value, n);
        free(row);
        free(packed);
        free(weights);
        operand_free(&at);
        operand_free(&y);
    }
}

/* Packed ternary products: every kernel that this machine runs against sums made straight from the values.
 * Random and worst-case numbers, ragged sizes, every batch size around the kernels' limits, misaligned
 * activations and results, split tiles, guard bytes around all that is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "harness.h"
#include "kernels/select.h"
#include "kernels/ternary/ternary.h"
#include "tensor/ternary.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

static uint64_t state;

static uint32_t roll(uint32_t below)
{
    if (state == 0)
        state = harness_seed() * 2 + 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) * below >> 31);
}

/* What to fill operands with. */
typedef enum fill { RANDOM, HIGHEST, LOWEST, FILLS } fill;
static const char *const fill_names[] = {"random", "all +127", "all -128"};

static void *aligned_bytes(int64_t bytes)
{
    void *p = tern__alloc_aligned((size_t)bytes, TERN__TERNARY_ALIGN);
    if (p == NULL)
        abort();
    return p;
}

/* One product: values, canonical rows with a gap, packed and prepared operands, the expected sums. */
typedef struct product {
    int64_t rows, columns, batch;
    tern_dtype dtype;
    int8_t *w;          /* (rows, columns) */
    uint8_t *canonical; /* (rows, row_stride) */
    int64_t row_stride;
    int8_t *x; /* (batch, columns), misaligned by one byte */
    int8_t *x_block, *prepared;
    int32_t *expected; /* (batch, rows) */
} product;

static void fill_values(int8_t *to, int64_t n, fill how, bool ternary)
{
    for (int64_t i = 0; i < n; i++) {
        int value = ternary ? (int)roll(3) - 1 : (int)roll(256) - 128;
        if (how == HIGHEST)
            value = ternary ? 1 : 127;
        if (how == LOWEST)
            value = ternary ? -1 : -128;
        to[i] = (int8_t)value;
    }
}

static void make_expected(product *p)
{
    p->expected = aligned_bytes(p->batch * p->rows * 4);
    for (int64_t i = 0; i < p->batch; i++) {
        for (int64_t o = 0; o < p->rows; o++) {
            int32_t sum = 0;
            for (int64_t c = 0; c < p->columns; c++)
                sum += p->w[o * p->columns + c] * p->x[i * p->columns + c];
            p->expected[i * p->rows + o] = sum;
        }
    }
}

static product product_make(tern_dtype dtype, int64_t rows, int64_t columns, int64_t batch, fill w, fill x)
{
    product p = {.rows = rows, .columns = columns, .batch = batch, .dtype = dtype};
    p.w = aligned_bytes(rows * columns);
    fill_values(p.w, rows * columns, w, true);
    const int64_t per_byte = dtype == TERN_T2 ? TERN_T2_PER_BYTE : TERN_T5_PER_BYTE;
    p.row_stride = (columns + per_byte - 1) / per_byte + 3;
    p.canonical = aligned_bytes(rows * p.row_stride);
    for (int64_t o = 0; o < rows; o++)
        tern__ternary_pack_row(dtype, p.w + o * columns, columns, p.canonical + o * p.row_stride);
    p.x_block = aligned_bytes(batch * columns + 1);
    p.x = p.x_block + 1;
    fill_values(p.x, batch * columns, x, false);
    const int64_t stride = tern__ternary_x_stride(columns);
    p.prepared = aligned_bytes(batch * stride);
    for (int64_t i = 0; i < batch; i++)
        tern__ternary_prepare(p.x + i * columns, columns, p.prepared + i * stride);
    make_expected(&p);
    return p;
}

static void product_free(product *p)
{
    tern__free(p->w);
    tern__free(p->canonical);
    tern__free(p->x_block);
    tern__free(p->prepared);
    tern__free(p->expected);
}

/* Packs in two pieces into a block of exactly the stated size. */
static uint8_t *packed_make(const product *p, tern__ternary_form form)
{
    size_t bytes;
    if (!tern__ternary_packed_bytes(form, p->rows, p->columns, &bytes))
        abort();
    uint8_t *packed = aligned_bytes((int64_t)bytes);
    memset(packed, GUARD_BYTE, bytes);
    const int64_t tiles = tern__ternary_tiles(form, p->rows), middle = roll((uint32_t)tiles + 1);
    tern__ternary_pack(form, p->dtype, p->canonical, p->row_stride, p->rows, p->columns, middle, tiles,
                       packed);
    tern__ternary_pack(form, p->dtype, p->canonical, p->row_stride, p->rows, p->columns, 0, middle, packed);
    return packed;
}

/* Every byte of y that is no result must still be GUARD_BYTE. */
static bool result_is(const product *p, const int32_t *y, int64_t y_stride, const uint8_t *block,
                      int64_t bytes)
{
    const uint8_t *at = block;
    for (int64_t i = 0; i < p->batch; i++) {
        const uint8_t *row = (const uint8_t *)(y + i * y_stride);
        for (; at < row; at++) {
            if (*at != GUARD_BYTE)
                return false;
        }
        if (p->rows > 0 && memcmp(row, p->expected + i * p->rows, (size_t)p->rows * 4) != 0)
            return false;
        at = row + p->rows * 4;
    }
    for (; at < block + bytes; at++) {
        if (*at != GUARD_BYTE)
            return false;
    }
    return true;
}

static void check_kernel(const tern__kernel_row *row, const product *p, const uint8_t *packed,
                         const char *what)
{
    const tern__ternary_kernel *kernel = row->kernel;
    const int64_t tile_rows = tern__ternary_tile_rows(kernel->form),
                  tiles = tern__ternary_tiles(kernel->form, p->rows);
    const int64_t y_stride = p->rows + 1 + roll(5), bytes = 2 * GUARD + 4 * p->batch * y_stride;
    const int64_t scratch_bytes = (int64_t)tern__ternary_scratch_bytes();
    uint8_t *block = aligned_bytes(bytes), *room = aligned_bytes(scratch_bytes + 2 * GUARD);
    int32_t *y = (int32_t *)(void *)(block + GUARD) + roll(4);
    memset(block, GUARD_BYTE, (size_t)bytes);
    memset(room, GUARD_BYTE, (size_t)(scratch_bytes + 2 * GUARD));
    for (int64_t begin = 0; begin < tiles;) {
        int64_t end = begin + 1 + roll((uint32_t)(tiles - begin));
        tern__ternary_multiply(kernel, (int64_t[]){0, 128, 8192, 16384}[roll(4)], packed, p->rows, p->columns,
                               begin, end, p->prepared, p->batch, y + begin * tile_rows, y_stride, NULL,
                               room + GUARD);
        begin = end;
    }
    bool right = result_is(p, y, y_stride, block, bytes);
    for (int i = 0; i < GUARD; i++)
        right = right && room[i] == GUARD_BYTE && room[GUARD + scratch_bytes + i] == GUARD_BYTE;
    if (!right)
        harness_fail(__FILE__, __LINE__, "%s: %s from %s, rows %lld, columns %lld, batch %lld", row->name,
                     what, tern_dtype_name(p->dtype), (long long)p->rows, (long long)p->columns,
                     (long long)p->batch);
    tern__free(block);
    tern__free(room);
}

enum { FIRST_FORM = TERN__TERNARY_4, LAST_FORM = TERN__TERNARY_5 };

static const tern__kernel_family family_of[] = {
    [TERN__TERNARY_4] = TERN__FAMILY_ternary_t2, [TERN__TERNARY_5] = TERN__FAMILY_ternary_t5};

static void check_product(int64_t rows, int64_t columns, int64_t batch, fill w, fill x)
{
    int count;
    const tern__kernel_row *rows_of_table = tern__kernel_rows(&count);
    char what[64];
    snprintf(what, sizeof what, "x %s, w %s", fill_names[x], fill_names[w]);
    product p = product_make(roll(2) ? TERN_T2 : TERN_T5, rows, columns, batch, w, x);
    for (int form = FIRST_FORM; form <= LAST_FORM; form++) {
        uint8_t *packed = packed_make(&p, (tern__ternary_form)form);
        for (int k = 0; k < count; k++) {
            const tern__kernel_row *row = &rows_of_table[k];
            if (row->family == family_of[form] && tern__kernel_runs(row, tern__cpu()->isa_mask))
                check_kernel(row, &p, packed, what);
        }
        tern__free(packed);
    }
    product_free(&p);
}

TEST(worst_numbers_do_not_overflow)
{
    for (fill w = RANDOM; w < FILLS; w++) {
        for (fill x = RANDOM; x < FILLS; x++) {
            for (int64_t batch = 1; batch <= 9; batch += 4)
                check_product(81, 1100, batch, w, x);
            CHECK(!harness_failed());
        }
    }
}

/* From one size to the next: all of them, or, in slow builds, one of `harness_every()` at random, lest they be those that
 * vectors divide. */
static int64_t next_size(void)
{
    return 1 + (int64_t)roll((uint32_t)(2 * harness_every() - 1));
}

TEST(every_small_batch)
{
    for (int64_t batch = 0; batch <= 35; batch += next_size())
        check_product(100, 64 + batch, batch, RANDOM, RANDOM);
}

TEST(every_row_count_around_tiles)
{
    for (int64_t rows = 0; rows <= 170; rows += next_size())
        check_product(rows, 37, rows % 3 == 0 ? 1 : rows % 11, RANDOM, RANDOM);
}

TEST(every_column_count_around_quads)
{
    for (int64_t columns = 0; columns <= 140; columns += next_size())
        check_product(70, columns, columns % 2 == 0 ? 1 : 7, RANDOM, RANDOM);
}

TEST(random_shapes)
{
    for (int i = 0; i < harness_cases(60); i++)
        check_product(roll(300) + 1, roll(1000) + 1, roll(30) + 1, RANDOM, RANDOM);
}

/* More columns than scaled sums may span, and than any panel holds. */
TEST(very_long_rows)
{
    for (fill x = HIGHEST; x <= LOWEST; x++) {
        check_product(81, 140001, 1, HIGHEST, x); /* all planes: they are scaled differently */
        check_product(81, 140001, 2, HIGHEST, x);
        check_product(2, 70003, 9, LOWEST, x);
    }
    check_product(5, 132003, 5, RANDOM, RANDOM);
}

/* Batches that are multiplied panel by panel: whole tiles, whose sums stay as they are in between, and parts of tiles. */
TEST(sums_go_from_panel_to_panel)
{
    static const int64_t columns[] = {399, 513, 1100, 2600};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (int64_t batch = 25; batch <= 31; batch += 3)
            check_product(160 + (int64_t)(i % 2), columns[i], batch, RANDOM, RANDOM);
    for (fill x = HIGHEST; x <= LOWEST; x++) {
        check_product(80, 65536, 25, HIGHEST, x); /* as long as they may */
        check_product(80, 65540, 25, HIGHEST, x);
    }
}

/* Activations as they are, for kernels that take them so: every batch, also those that are multiplied directly otherwise. */
TEST(plain_activations)
{
    int count, seen = 0;
    const tern__kernel_row *table = tern__kernel_rows(&count);
    for (int64_t batch = 1; batch <= 50; batch += batch < 20 ? 1 : 15) {
        const int64_t columns = 64 * (batch % 12), stride = columns + 64;
        product p = product_make(TERN_T2, 60 + batch, columns, batch, RANDOM, RANDOM);
        int8_t *x = aligned_bytes(batch * stride);
        memset(x, 0x55, (size_t)(batch * stride));
        for (int64_t i = 0; i < batch && columns > 0; i++)
            memcpy(x + i * stride, p.x + i * columns, (size_t)columns);
        for (int k = 0; k < count; k++) {
            const tern__kernel_row *row = &table[k];
            const bool five = row->family == TERN__FAMILY_ternary_t5;
            if ((!five && row->family != TERN__FAMILY_ternary_t2) ||
                !tern__kernel_runs(row, tern__cpu()->isa_mask) ||
                !tern__ternary_reads_plain(row->kernel, x, stride, columns))
                continue;
            const tern__ternary_form form = five ? TERN__TERNARY_5 : TERN__TERNARY_4;
            uint8_t *packed = packed_make(&p, form),
                    *scratch = aligned_bytes((int64_t)tern__ternary_scratch_bytes());
            const int64_t bytes = 2 * GUARD + 4 * batch * p.rows;
            uint8_t *guarded = aligned_bytes(bytes);
            int32_t *y = (int32_t *)(void *)(guarded + GUARD);
            memset(guarded, GUARD_BYTE, (size_t)bytes);
            const tern__ternary_kernel *kernel = row->kernel;
            int32_t sums[50];
            kernel->sum_rows(x, stride, batch, columns, sums);
            tern__ternary_multiply_plain(kernel, packed, p.rows, columns, 0,
                                         tern__ternary_tiles(form, p.rows), x, stride, (const int8_t *)sums,
                                         sizeof *sums, batch, y, p.rows, NULL, scratch);
            CHECK(result_is(&p, y, p.rows, guarded, bytes));
            tern__free(guarded);
            tern__free(scratch);
            tern__free(packed);
            seen++;
        }
        tern__free(x);
        product_free(&p);
    }
    if (seen == 0)
        SKIP("no kernel of this machine takes activations as they are");
}

/* Canonical bytes to packed bytes to codes, by the words of the header. */
TEST(packed_bytes_are_as_documented)
{
    static const int place[][5] = {[4] = {1, 4, 16, 64}, [5] = {1, 3, 9, 28, 84}};
    for (int f = FIRST_FORM; f <= LAST_FORM; f++) {
        tern__ternary_form form = (tern__ternary_form)f;
        product p = product_make(TERN_T5, 131, 43, 1, RANDOM, RANDOM);
        uint8_t *packed = packed_make(&p, form);
        const int64_t tile_rows = tern__ternary_tile_rows(form);
        for (int64_t byte = 0; byte < tern__ternary_tiles(form, p.rows) * tern__ternary_tile_bytes(p.columns);
             byte++) {
            int64_t tile = byte / tern__ternary_tile_bytes(p.columns),
                    in = byte % tern__ternary_tile_bytes(p.columns);
            int64_t column = in / 64 * 4 + in % 4;
            int want = 0;
            for (int plane = 0; plane < f; plane++) {
                int64_t row = tile * tile_rows + plane * 16 + in % 64 / 4;
                if (row < p.rows && column < p.columns)
                    want += place[form][plane] * (p.w[row * p.columns + column] + 1);
            }
            CHECK_EQ(packed[byte], want);
        }
        tern__free(packed);
        product_free(&p);
    }
}

TEST(sizes_are_checked)
{
    size_t bytes = 7;
    CHECK(tern__ternary_packed_bytes(TERN__TERNARY_4, 65, 5, &bytes));
    CHECK_EQ(bytes, 2 * 2 * 64);
    CHECK(tern__ternary_packed_bytes(TERN__TERNARY_5, 0, 5, &bytes));
    CHECK_EQ(bytes, 0);
    CHECK(!tern__ternary_packed_bytes(TERN__TERNARY_4, -1, 5, &bytes));
    CHECK(!tern__ternary_packed_bytes(TERN__TERNARY_4, INT64_MAX, INT64_MAX, &bytes));
    CHECK(!tern__ternary_packed_bytes(TERN__TERNARY_5, 1, INT64_MAX, &bytes));
}

/* A cap hides the kernels above it, and something remains for every level. */
TEST(selection_follows_the_cap)
{
    for (int form = FIRST_FORM; form <= LAST_FORM; form++) {
        for (int cap = 0; cap < TERN__ISA_COUNT; cap++) {
            uint32_t mask = tern__isa_mask_capped(tern__cpu(), (tern__isa)cap);
            const tern__kernel_row *row = tern__ternary_row((tern__ternary_form)form, mask);
            CHECK_EQ(((const tern__ternary_kernel *)row->kernel)->form, form);
            CHECK_EQ(row->family, family_of[form]);
            CHECK((mask >> row->isa & 1) != 0);
        }
    }
}

/* Which kernels the tests above have seen; silence would look like success. */
TEST(kernels_seen)
{
    int count, missing = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    static char reason[512] = "this processor does not run";
    for (int k = 0; k < count; k++) {
        if (!tern__kernel_runs(&rows[k], tern__cpu()->isa_mask)) {
            missing++;
            snprintf(reason + strlen(reason), sizeof reason - strlen(reason), " %s", rows[k].name);
        }
    }
    CHECK(missing < count);
    if (missing > 0)
        SKIP(reason);
}

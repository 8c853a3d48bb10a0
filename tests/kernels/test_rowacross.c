/* test_rowacross.c - row programs whose operands lie across the rows (row/across.h): the same bits as from a copy in order, whatever
 * the order of axes, the types, the cuts and the instruction set; and such operands are turned, not read element by element. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness.h"
#include "kernels/one_stream.h"
#include "kernels/row/across.h"
#include "kernels/row/floats.h"
#include "tensor/convert.h"

enum { MOST = 1 << 18, BEHIND = 64 };

static char x_data[MOST * 4], copy_data[MOST * 4];
static float y_data[MOST], out_data[2][MOST + BEHIND], each_data[2][MOST + BEHIND];
static tern__row_builder b;

static const tern__rowop_table *table_of(int level)
{
    return tern__rowop_tables(tern__cpu()->isa_mask & ((2u << level) - 1));
}

/* Elements of x in memory order, and the copy in the order of the domain, whose axis d is axes[d] of what lies in memory. */
static void fill(tern_dtype dtype, const tern__type *domain, const int64_t *strides)
{
    const int64_t n = tern__type_numel(domain), bytes = (int64_t)tern__dtype_unit_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        const float value = (float)((i * 37 + 11) % 101 - 50) / (dtype == TERN_F32 ? 7 : 1);
        tern__convert(TERN_F32, &value, 1, dtype, x_data + i * bytes, 1, 1);
        y_data[i] = (float)((i * 53 + 5) % 89) / 9 - 4;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0, rest = i;
        for (int d = domain->rank - 1; d >= 0; d--) {
            at += rest % domain->shape[d] * strides[d];
            rest /= domain->shape[d];
        }
        memcpy(copy_data + i * bytes, x_data + at * bytes, (size_t)bytes);
    }
}

/* relu(x + y) * x, or x less its largest, over the sum of that, and the sum. */
static tern__row_program *make(bool reduces, const tern__type *domain, tern_dtype dtype,
                               const tern__rowop_table *table, tern__arena *arena)
{
    tern__row_program *p = NULL;
    tern__row_begin(&b, domain, 2, reduces ? 2 : 1);
    const tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, dtype == TERN_I32);
    const tern__row_id y = tern__row_load(&b, 1, TERN__ROW_FULL, false);
    const tern__row_id f = dtype == TERN_I32 ? tern__row_map(&b, TERN__ROWOP_f32_from_i32, x, x, x) : x;
    if (reduces) {
        const tern__row_id max = tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_max, f));
        const tern__row_id less = tern__row_map(&b, TERN__ROWOP_sub, f, max, f);
        const tern__row_id t = tern__row_map(&b, TERN__ROWOP_add, less, y, f);
        const tern__row_id sum = tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_sum, t));
        tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_div, t, sum, f), 0, false);
        tern__row_store(&b, sum, 1, true);
    } else {
        const tern__row_id t = tern__row_map(&b, TERN__ROWOP_add, f, y, f);
        tern__row_store(
            &b, tern__row_map(&b, TERN__ROWOP_mul, tern__row_map(&b, TERN__ROWOP_relu, t, t, t), f, f), 0,
            false);
    }
    if (tern__row_finish(&b, table, false, arena, &p) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "the program could not be made");
    return p;
}

static void run(const tern__row_program *p, tern__kernel_args *args, int64_t begin, int64_t end)
{
    void *scratch = tern__alloc_aligned(p->scratch_bytes, TERN__ALIGN);
    CHECK(scratch != NULL);
    args->program = p;
    args->scratch = scratch;
    CHECK_OK(tern__row_run(args, begin, end));
    tern__free(scratch);
}

/* How many operands the program turns. */
static int turned(const tern__row_program *p, tern__kernel_args *args)
{
    char *memory = tern__alloc_aligned(p->scratch_bytes, TERN__ALIGN);
    tern__row_frame *f = (tern__row_frame *)(void *)memory;
    if (!memory)
        return -1;
    args->scratch = memory;
    f->p = p;
    f->place = 0;
    f->slots = memory + tern__row_frame_bytes(p);
    tern__row_survey(f, args);
    int n = 0;
    for (int k = 0; k < f->n_across; k++)
        n += f->operands[f->across[k].operand].solid;
    tern__free(memory);
    return n;
}

typedef struct layout {
    int rank;
    int64_t shape[4];
    int axes[4]; /* of the domain, outermost in memory first */
} layout;

static void strides_in(const layout *l, const int *axes, int64_t *strides)
{
    int64_t step = 1;
    for (int k = l->rank - 1; k >= 0; k--) {
        strides[axes[k]] = step;
        step *= l->shape[axes[k]];
    }
}

/* `want`: operands that are turned; `both`: y lies like x. */
static void check(const layout *l, tern_dtype dtype, bool reduces, bool both, int level, int64_t cut,
                  int want)
{
    static const int ascending[] = {0, 1, 2, 3};
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__type domain = {.dtype = TERN_F32, .rank = l->rank}, each = {.dtype = TERN_F32, .rank = l->rank - 1};
    memcpy(domain.shape, l->shape, sizeof l->shape);
    memcpy(each.shape, l->shape, sizeof l->shape);
    tern__type x_type = domain;
    x_type.dtype = dtype;
    int64_t across[4], dense[4], outer[4];
    strides_in(l, l->axes, across);
    strides_in(l, ascending, dense);
    for (int d = 0; d < l->rank - 1; d++)
        outer[d] = dense[d] / l->shape[l->rank - 1];
    fill(dtype, &domain, across);
    const tern__row_program *p = make(reduces, &domain, dtype, table_of(level), &arena);
    CHECK(p != NULL);
    const int64_t n = tern__type_numel(&domain), rows = n / l->shape[l->rank - 1];
    cut = cut < p->work ? cut : p->work;
    memset(out_data, 0xff, sizeof out_data);
    memset(each_data, 0xff, sizeof each_data);
    for (int copied = 0; copied < 2; copied++) {
        const int64_t *strides = copied ? dense : across;
        tern__buffer in[2] = {{copied ? copy_data : x_data, &x_type, strides},
                              {y_data, &domain, both ? strides : dense}};
        tern__buffer out[2] = {{out_data[copied], &domain, dense}, {each_data[copied], &each, outer}};
        if (both)
            in[1] = (tern__buffer){in[0].data, &domain, strides};
        tern__kernel_args args = {.n_in = 2, .n_out = reduces ? 2 : 1, .in = in, .out = out};
        args.program = p;
        CHECK_EQ(turned(p, &args), copied ? 0 : want);
        run(p, &args, cut, p->work);
        run(p, &args, 0, cut);
        for (int64_t i = 0; i < BEHIND; i++) { /* nothing behind results was touched */
            CHECK(out_data[copied][n + i] != out_data[copied][n + i]);
            CHECK(each_data[copied][rows + i] != each_data[copied][rows + i]);
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&out_data[0][i], &out_data[1][i], 4) != 0) {
            harness_fail(__FILE__, __LINE__,
                         "%s of [%d,%d,%d,%d], axes %d %d %d %d, cut %d: element %d is %g, not %g",
                         reduces ? "reduction" : "map", (int)l->shape[0], (int)l->shape[1], (int)l->shape[2],
                         (int)l->shape[3], l->axes[0], l->axes[1], l->axes[2], l->axes[3], (int)cut, (int)i,
                         (double)out_data[0][i], (double)out_data[1][i]);
            break;
        }
    CHECK(memcmp(each_data[0], each_data[1], (size_t)rows * sizeof(float)) == 0);
    tern__arena_free(&arena);
}

static void check_all(const layout *l, tern_dtype dtype, bool both, int want_map, int want_rows)
{
    static const int64_t cuts[] = {0, 1, 3, 7, 37};
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts && !harness_failed(); c++) {
            if (level > 0 && table_of(level) == table_of(level - 1))
                continue;
            check(l, dtype, false, both, level, cuts[c], want_map);
            check(l, dtype, true, both, level, cuts[c], want_rows);
        }
}

TEST(transposed_operands_are_turned)
{
    static const layout layouts[] = {
        {2, {256, 256, 1, 1}, {1, 0}}, {2, {300, 517, 1, 1}, {1, 0}}, {2, {67, 1031, 1, 1}, {1, 0}},
        {2, {1031, 67, 1, 1}, {1, 0}}, {2, {4, 16384, 1, 1}, {1, 0}}, {2, {5000, 17, 1, 1}, {1, 0}},
        {2, {6, 20000, 1, 1}, {1, 0}},
    };
    for (int likes = 0; likes < 2; likes++) {
        pretend_one_stream(likes);
        for (size_t k = 0; k < sizeof layouts / sizeof *layouts && !harness_failed(); k++) {
            check_all(&layouts[k], TERN_F32, false, 1, 1);
            check_all(&layouts[k], TERN_F32, true, 2, 2);
        }
    }
}

TEST(so_are_those_of_other_axes)
{
    static const layout inner[] = {{3, {3, 65, 300}, {0, 2, 1}},
                                   {3, {3, 65, 35}, {0, 2, 1}},
                                   {4, {2, 3, 33, 270}, {0, 1, 3, 2}},
                                   {4, {2, 3, 130, 17}, {1, 0, 3, 2}}},
                        outer[] = {{3, {33, 3, 300}, {2, 1, 0}},
                                   {3, {33, 5, 257}, {1, 2, 0}},
                                   {4, {20, 3, 2, 260}, {3, 1, 2, 0}},
                                   {4, {3, 20, 2, 260}, {3, 0, 2, 1}}};
    for (size_t k = 0; k < 4 && !harness_failed(); k++) {
        check_all(&inner[k], TERN_F32, false, 1, 1);
        check_all(&outer[k], TERN_F32, false, 1, 1);
        check_all(&outer[k], TERN_F32, true, 2, 2);
    }
    const layout narrow = {
        3, {33, 5, 57}, {2, 1, 0}}; /* tiles go on from row to row: there the order of axes stays */
    check_all(&narrow, TERN_F32, false, 0, 1);
}

/* A block is a part of the second cache, which may be small, large or unknown. */
TEST(in_blocks_of_any_size)
{
    static const layout layouts[] = {
        {2, {300, 517}, {1, 0}}, {2, {1031, 67}, {1, 0}}, {3, {33, 5, 257}, {1, 2, 0}}};
    static const int64_t sizes[] = {0, 16 << 10, 256 << 10, 8 << 20};
    const int64_t own = tern__cpu()->l2_bytes;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        pretend_caches(tern__cpu()->l1d_bytes, sizes[s], tern__cpu()->l3_bytes);
        for (size_t k = 0; k < sizeof layouts / sizeof *layouts && !harness_failed(); k++) {
            check_all(&layouts[k], TERN_F32, false, 1, 1);
            check_all(&layouts[k], TERN_F32, true, 2, 2);
        }
    }
    pretend_caches(tern__cpu()->l1d_bytes, own, tern__cpu()->l3_bytes);
}

TEST(of_every_type)
{
    static const tern_dtype dtypes[] = {TERN_F16, TERN_BF16, TERN_I8, TERN_U8, TERN_I32};
    static const layout layouts[] = {
        {2, {300, 517}, {1, 0}}, {2, {1000, 67}, {1, 0}}, {3, {33, 3, 300}, {2, 1, 0}}};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t k = 0; k < sizeof layouts / sizeof *layouts && !harness_failed(); k++)
            check_all(&layouts[k], dtypes[d], false, 1, 1);
}

/* Few elements, few rows, short ones, and rows so long that scratch holds no block of them, are read as they lie. */
TEST(small_and_very_long_ones_are_not)
{
    static const layout layouts[] = {
        {2, {16, 16}, {1, 0}}, {2, {5000, 15}, {1, 0}}, {2, {3, 5000}, {1, 0}}, {2, {2, 100000}, {1, 0}}};
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts && !harness_failed(); k++)
        check_all(&layouts[k], TERN_F32, false, 0, 0);
}

/* What devices lend suffices: plans do not grow by the blocks. */
TEST(blocks_fit_into_what_is_lent)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    for (int64_t n = 1; n < 200000; n = n * 3 + 1) {
        const tern__type domain = {.dtype = TERN_F32, .rank = 2, .shape = {(1 << 24) / n, n}};
        for (int reduces = 0; reduces < 2; reduces++) {
            const tern__row_program *p =
                make(reduces, &domain, TERN_F32, table_of(TERN__ISA_COUNT - 1), &arena);
            CHECK(p != NULL);
            CHECK(p->across_bytes == 0 || p->scratch_bytes <= TERN__ROW_LENT);
            CHECK(p->across_bytes > 0 || p->scratch_bytes + 4 * (size_t)n > TERN__ROW_LENT || n == 1);
        }
    }
    tern__arena_free(&arena);
}

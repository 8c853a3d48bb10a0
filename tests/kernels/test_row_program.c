/* test_row_program.c - row programs made by hand: against plain loops, cut at every place, over strides, with tiles, phases
 * and results of every extent. What ops are made of is tested through them (tests/passes/test_fuse.c, tests/oracle). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness.h"
#include "kernels/row/frame.h"
#include "kernels/row/program.h"

enum { MOST = 1 << 15 };
static float x_data[MOST], y_data[MOST], w_data[MOST], out_data[MOST], again[MOST];
static tern__row_builder b;

static const tern__rowop_table *table(void)
{
    return tern__rowop_tables(tern__cpu()->isa_mask);
}

static tern__type shape(int rank, int64_t a, int64_t n)
{
    return rank == 1 ? (tern__type){.dtype = TERN_F32, .rank = 1, .shape = {n}}
                     : (tern__type){.dtype = TERN_F32, .rank = 2, .shape = {a, n}};
}

static void fill(void)
{
    for (int i = 0; i < MOST; i++) {
        x_data[i] = (float)((i * 37 + 11) % 101) / 7 - 6;
        y_data[i] = (float)((i * 53 + 5) % 89) / 9 - 4;
        w_data[i] = (float)(i % 13) / 4;
    }
}

static bool run(const tern__row_program *p, tern__kernel_args *args, int64_t begin, int64_t end)
{
    void *scratch = tern__alloc_aligned(p->scratch_bytes, TERN__ALIGN);
    args->program = p;
    args->scratch = scratch;
    bool ok = scratch && tern__row_run(args, begin, end) == TERN_OK;
    tern__free(scratch);
    return ok;
}

/* y = relu(x + w) * x, w one per column; x may be strided. */
static void check_elements(int64_t rows, int64_t n, int64_t step, int64_t cut)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p;
    tern__type full = shape(2, rows, n), column = shape(1, 0, n);
    tern__row_begin(&b, &full, 2, 1);
    tern__row_id x = tern__row_load(&b, 0, tern__row_extent_of(&full, &full), false);
    tern__row_id w = tern__row_load(&b, 1, tern__row_extent_of(&full, &column), false);
    tern__row_id t = tern__row_map(&b, TERN__ROWOP_relu, tern__row_map(&b, TERN__ROWOP_add, x, w, x), x, x);
    tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_mul, t, x, x), 0, false);
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &p));
    CHECK(!p->reduces || rows * n == 1);
    CHECK_EQ(p->work, (rows * n + TERN__ROW_CHUNK - 1) / TERN__ROW_CHUNK);
    tern__buffer in[2] = {{x_data, &full, (int64_t[]){n * step, step}}, {w_data, &column, (int64_t[]){1}}};
    tern__buffer out = {out_data, &full, (int64_t[]){n, 1}};
    tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = &out};
    memset(out_data, 0xff, sizeof out_data);
    cut = cut < p->work ? cut : p->work;
    CHECK(run(p, &args, cut, p->work) && run(p, &args, 0, cut));
    for (int64_t i = 0; i < rows * n; i++) {
        float v = x_data[(i / n * n + i % n) * step], s = v + w_data[i % n];
        float want = (s <= 0 ? 0 : s) * v;
        if (memcmp(&want, &out_data[i], 4) != 0) {
            harness_fail(__FILE__, __LINE__, "[%d,%d] step %d: element %d is %g, not %g", (int)rows, (int)n,
                         (int)step, (int)i, (double)out_data[i], (double)want);
            break;
        }
    }
    CHECK(isnan(out_data[rows * n])); /* nothing behind it was touched */
    tern__arena_free(&arena);
}

TEST(elements_in_runs_and_tiles)
{
    static const int64_t N[] = {1, 2, 15, 16, 100, 255, 256, 257, 1023, 1024, 1025, 5000};
    fill();
    for (size_t k = 0; k < sizeof N / sizeof *N; k++)
        for (int64_t rows = 1; rows <= 3; rows++)
            for (int64_t step = 1; step <= 2 && !harness_failed(); step++)
                for (int64_t cut = 0; cut < 3; cut++)
                    check_elements(rows, N[k], step, cut);
    check_elements(2000, 7, 1, 2); /* short rows run together */
    check_elements(7, 2000, 1, 1);
}

/* d = x - max(x); s = sum(d) without the last axis; both leave. Rows of several tiles keep d from phase to phase. */
static void check_rows(int64_t rows, int64_t n, int64_t cut)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p;
    tern__type full = shape(2, rows, n), each = shape(1, 0, rows);
    tern__row_begin(&b, &full, 1, 2);
    tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, false);
    tern__row_id max = tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_max, x));
    tern__row_id d = tern__row_map(&b, TERN__ROWOP_sub, x, max, x);
    tern__row_id s = tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_sum, d));
    tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_div, d, s, x), 0, false);
    tern__row_store(&b, s, 1, true);
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &p));
    CHECK(p->reduces && p->n_phases == 3);
    CHECK_EQ(p->work, rows);
    CHECK(n != 4096 ||
          p->n_frames > 1); /* stages in turns, though the rows of all of them do not fit the first cache */
    tern__buffer in = {x_data, &full, (int64_t[]){n, 1}};
    tern__buffer out[2] = {{out_data, &full, (int64_t[]){n, 1}}, {again, &each, (int64_t[]){1}}};
    tern__kernel_args args = {.n_in = 1, .n_out = 2, .in = &in, .out = out};
    CHECK(run(p, &args, cut, rows) && run(p, &args, 0, cut));
    for (int64_t r = 0; r < rows; r++) {
        double lanes[16] = {0};
        float largest = -INFINITY;
        for (int64_t i = 0; i < n; i++)
            largest = fmaxf(largest, x_data[r * n + i]);
        for (int64_t i = 0; i < n; i++) { /* two elements of a lane at a time */
            double less = (double)(x_data[r * n + i] - largest);
            if (i / 16 % 2 == 0)
                lanes[i % 16] += i + 16 < n ? less + (double)(x_data[r * n + i + 16] - largest) : less;
        }
        for (int half = 8; half > 0; half /= 2)
            for (int j = 0; j < half; j++)
                lanes[j] += lanes[j + half];
        float sum = (float)lanes[0];
        CHECK(memcmp(&sum, &again[r], 4) == 0);
        for (int64_t i = 0; i < n; i++)
            CHECK(out_data[r * n + i] == (x_data[r * n + i] - largest) / sum || isnan(out_data[r * n + i]));
    }
    tern__arena_free(&arena);
}

TEST(rows_with_two_reductions)
{
    static const int64_t N[] = {0, 1, 3, 16, 17, 1000, 4096, 9000};
    fill();
    for (size_t k = 0; k < sizeof N / sizeof *N && !harness_failed(); k++)
        for (int64_t cut = 0; cut <= 3; cut++)
            check_rows(3, N[k], cut);
}

/* Rows so long that a value cannot be kept whole are refused, those that only reduce are not. */
TEST(rows_have_a_limit)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p;
    tern__type full = shape(2, 1, 2 * TERN__ROW_LONGEST);
    tern__row_begin(&b, &full, 1, 1);
    tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, false);
    tern__row_id s = tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_sum, x));
    tern__row_store(&b, s, 0, false);
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &p));
    tern__row_begin(&b, &full, 1, 1);
    x = tern__row_load(&b, 0, TERN__ROW_FULL, false);
    s = tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_sum, x));
    tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_sub, x, s, x), 0, false);
    CHECK_EQ(tern__row_finish(&b, table(), false, &arena, &p), TERN_UNSUPPORTED);
    tern__row_begin(&b, &full, 1, 1);
    x = tern__row_load(&b, 0, TERN__ROW_FULL, false);
    for (int i = 0; i < TERN__ROW_MAX_INSTRS + 5; i++)
        x = tern__row_map(&b, TERN__ROWOP_neg, x, x, x);
    tern__row_store(&b, x, 0, false);
    CHECK_EQ(tern__row_finish(&b, table(), false, &arena, &p), TERN_UNSUPPORTED);
    tern__arena_free(&arena);
}

/* Past the caches or through them: the same numbers. */
TEST(streamed_results_are_the_same)
{
    fill();
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__type full = shape(1, 0, 10007);
    _Alignas(64) static float to[10016];
    for (int streams = 0; streams < 2; streams++) {
        tern__row_program *p;
        tern__row_begin(&b, &full, 2, 1);
        tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, false),
                     y = tern__row_load(&b, 1, TERN__ROW_FULL, false);
        tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_mul, x, y, x), 0, false);
        CHECK_OK(tern__row_finish(&b, table(), streams, &arena, &p));
        tern__buffer in[2] = {{x_data, &full, (int64_t[]){1}}, {y_data, &full, (int64_t[]){-1}}};
        in[1].data = y_data + 10006;
        tern__buffer out = {to, &full, (int64_t[]){1}};
        tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = &out};
        memset(to, 0xff, sizeof to);
        CHECK(run(p, &args, 0, p->work));
        for (int i = 0; i < 10007; i++)
            CHECK(to[i] == x_data[i] * y_data[10006 - i]);
        CHECK(isnan(to[10007]));
    }
    tern__arena_free(&arena);
}

/* Fusing must not change a bit, so an instruction may not care where in a run an element stands. */
TEST(instructions_do_not_care_where_an_element_stands)
{
    static const tern__rowop OPS[] = {TERN__ROWOP_exp,       TERN__ROWOP_log,   TERN__ROWOP_tanh,
                                      TERN__ROWOP_gelu,      TERN__ROWOP_silu,  TERN__ROWOP_sin,
                                      TERN__ROWOP_erf,       TERN__ROWOP_rsqrt, TERN__ROWOP_sigmoid,
                                      TERN__ROWOP_gelu_tanh, TERN__ROWOP_exp2,  TERN__ROWOP_quantise_i8,
                                      TERN__ROWOP_round_f16};
    const float imm[2] = {0};
    fill();
    for (size_t k = 0; k < sizeof OPS / sizeof *OPS; k++) {
        tern__rowop_map f = table()->map[OPS[k]][0];
        f(out_data, x_data, NULL, NULL, imm, 203);
        for (int i = 0; i < 203; i++) {
            float one;
            f(&one, x_data + i, NULL, NULL, imm, 1);
            CHECK(memcmp(&one, &out_data[i], 4) == 0);
        }
        f(again, x_data + 5, NULL, NULL, imm, 190);
        CHECK(memcmp(again, out_data + 5, 190 * 4) == 0);
    }
}

/* Places of a large domain are walked in turns: (exp(s) x + 1) (exp(s) x)^2 with one s for each row, rows and parts of any
 * length; each in strips that other places interrupt, so a place's own s must still be there. */
static void check_places(int64_t rows, int64_t n, int64_t cut, bool streams)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p, *usual;
    tern__type full = shape(2, rows, n), each = shape(2, rows, 1);
    const size_t bytes = (size_t)(rows * n) * sizeof(float);
    float *from = tern__alloc_aligned(bytes, 64), *to = tern__alloc_aligned(bytes + 64, 64);
    CHECK(from && to);
    for (int64_t i = 0; i < rows * n && from; i++)
        from[i] = (float)((i * 37 + 11) % 1009) / 97 - 5;
    memset(to, 0xff, bytes + 64);
    tern__row_begin(&b, &full, 2, 1);
    tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, false),
                 s = tern__row_load(&b, 1, TERN__ROW_EACH, false);
    tern__row_id e = tern__row_map(&b, TERN__ROWOP_exp, s, s, s),
                 t = tern__row_map(&b, TERN__ROWOP_mul, x, e, x);
    tern__row_id one = tern__row_map(&b, TERN__ROWOP_add, t, tern__row_constant(&b, 1), t);
    tern__row_id square = tern__row_map(&b, TERN__ROWOP_square, t, t, t);
    tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_mul, one, square, t), 0, false);
    CHECK_OK(tern__row_finish(&b, table(), streams, &arena, &usual));
    CHECK_EQ(usual->n_places == 1, tern__cpu_has(tern__cpu(), TERN__FEATURE_ONE_STREAM));
    b.places = TERN__ROW_MAX_PLACES;
    CHECK_OK(tern__row_finish(&b, table(), streams, &arena, &p));
    CHECK(p->n_frames > 1);
    tern__buffer in[2] = {{from, &full, (int64_t[]){n, 1}}, {y_data, &each, (int64_t[]){1, 0}}};
    tern__buffer out = {to, &full, (int64_t[]){n, 1}};
    tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = &out};
    CHECK(run(p, &args, cut, p->work) && run(p, &args, 0, cut));
    for (int64_t r = 0; r < rows && !harness_failed(); r++) {
        float factor;
        table()->map[TERN__ROWOP_exp][0](&factor, &y_data[r], NULL, NULL, NULL, 1);
        for (int64_t i = r * n; i < (r + 1) * n && !harness_failed(); i++) {
            const float y = from[i] * factor, want = (y + 1) * (y * y);
            if (memcmp(&want, &to[i], 4) != 0)
                harness_fail(__FILE__, __LINE__, "[%d,%d] cut at %d: element %d is %g, not %g", (int)rows,
                             (int)n, (int)cut, (int)i, (double)to[i], (double)want);
        }
    }
    CHECK(isnan(to[rows * n])); /* nothing behind it was touched */
    tern__free(from);
    tern__free(to);
    tern__arena_free(&arena);
}

TEST(places_in_turns)
{
    fill();
    static const int64_t SHAPES[][2] = {{260, 1024}, {263, 1009}, {2000, 144}, {30000, 9},
                                        {3, 100003}, {4, 65536},  {2, 262144}};
    for (size_t k = 0; k < sizeof SHAPES / sizeof *SHAPES; k++)
        for (int64_t cut = 0; cut < 20 && !harness_failed(); cut += 9)
            check_places(SHAPES[k][0], SHAPES[k][1], cut, cut > 0);
}

/* max(x^2, -x^2) + exp(s) with one s for each row: exp(s) is made once for a row, behind the last reader of x^2, and must not lie where
 * the next strip's x^2 will. */
TEST(numbers_of_rows_outlive_strips)
{
    enum { ROWS = 3, N = 1000 };
    fill();
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p;
    tern__type full = shape(2, ROWS, N), each = shape(2, ROWS, 1);
    float *from = tern__alloc_aligned(ROWS * N * sizeof *from, 64),
          *to = tern__alloc_aligned(ROWS * N * sizeof *to, 64);
    CHECK(from && to);
    for (int64_t i = 0; i < (int64_t)ROWS * N && from; i++)
        from[i] = (float)((i * 37 + 11) % 1009) / 97 - 5;
    tern__row_begin(&b, &full, 2, 1);
    tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, false),
                 s = tern__row_load(&b, 1, TERN__ROW_EACH, false);
    tern__row_id square = tern__row_map(&b, TERN__ROWOP_square, x, x, x),
                 negative = tern__row_map(&b, TERN__ROWOP_neg, square, square, square),
                 larger = tern__row_map(&b, TERN__ROWOP_maximum, square, negative, x),
                 e = tern__row_map(&b, TERN__ROWOP_exp, s, s, s);
    tern__row_store(&b, tern__row_map(&b, TERN__ROWOP_add, larger, e, x), 0, false);
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &p));
    tern__buffer in[2] = {{from, &full, (int64_t[]){N, 1}}, {y_data, &each, (int64_t[]){1, 0}}};
    tern__buffer out = {to, &full, (int64_t[]){N, 1}};
    tern__kernel_args args = {.n_in = 2, .n_out = 1, .in = in, .out = &out};
    CHECK(run(p, &args, 0, p->work));
    for (int64_t i = 0; i < (int64_t)ROWS * N && !harness_failed(); i++) {
        float number;
        table()->map[TERN__ROWOP_exp][0](&number, &y_data[i / N], NULL, NULL, NULL, 1);
        const float want = from[i] * from[i] + number;
        if (memcmp(&want, &to[i], 4) != 0)
            harness_fail(__FILE__, __LINE__, "element %d is %g, not %g", (int)i, (double)to[i], (double)want);
    }
    tern__free(from);
    tern__free(to);
    tern__arena_free(&arena);
}

/* The sum of x times the last operand, and the maximum of x, of every row. */
static void add_reductions(const tern__type *domain, int operands)
{
    tern__row_begin(&b, domain, operands, 2);
    tern__row_id x = tern__row_load(&b, 0, TERN__ROW_FULL, false);
    tern__row_id y = operands > 1 ? tern__row_load(&b, 1, TERN__ROW_FULL, false) : x;
    tern__row_id xy = tern__row_map(&b, TERN__ROWOP_mul, x, y, x);
    tern__row_store(&b, tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_sum, xy)), 0, true);
    tern__row_store(&b, tern__row_value_of(&b, tern__row_reduce(&b, TERN__ROWOP_max, x)), 1, false);
}

/* Rows of a large domain are reduced at several places in turns, but for those without a strip: as one by one. */
static void check_row_places(int64_t rows, int64_t n, int operands, int64_t cut)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p, *alone;
    tern__type full = shape(2, rows, n), one = shape(2, 1, n), each = shape(1, 0, rows),
               column = shape(2, rows, 1), single = shape(1, 0, 1), kept = shape(2, 1, 1);
    const size_t bytes = (size_t)(rows * n) * sizeof(float);
    float *from = tern__alloc_aligned(bytes, 64), *to = tern__alloc_zero(2 * (size_t)rows + 1, sizeof *to);
    CHECK(from && to);
    for (int64_t i = 0; i < rows * n; i++)
        from[i] = (float)((i * 37 + 11) % 1009) / 97 - 5;
    to[2 * rows] = NAN;
    add_reductions(&full, operands);
    b.places = TERN__ROW_MAX_PLACES;
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &p));
    CHECK(p->reduces && (p->n_places > 1) == (n >= table()->strip));
    CHECK_EQ(tern__row_is_short(p), n < table()->strip);
    add_reductions(&one, operands);
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &alone));
    CHECK_EQ(alone->n_places, 1);
    const int64_t strides[] = {n, 1}, steps[] = {1, 0};
    tern__buffer in[2] = {{from, &full, strides}, {from, &full, strides}};
    tern__buffer out[2] = {{to, &each, steps}, {to + rows, &column, steps}};
    tern__kernel_args args = {.n_in = operands, .n_out = 2, .in = in, .out = out};
    CHECK(run(p, &args, cut, p->work) && run(p, &args, 0, cut));
    for (int64_t r = 0; r < rows && !harness_failed(); r++) {
        float want[2];
        tern__buffer row[2] = {{from + r * n, &one, strides}, {from + r * n, &one, strides}};
        tern__buffer result[2] = {{&want[0], &single, steps}, {&want[1], &kept, steps}};
        tern__kernel_args by_itself = {.n_in = operands, .n_out = 2, .in = row, .out = result};
        CHECK(run(alone, &by_itself, 0, 1));
        if (memcmp(&want[0], &to[r], 4) != 0 || memcmp(&want[1], &to[rows + r], 4) != 0)
            harness_fail(__FILE__, __LINE__, "[%d,%d] cut at %d: row %d", (int)rows, (int)n, (int)cut,
                         (int)r);
    }
    CHECK(isnan(to[2 * rows]));
    tern__free(from);
    tern__free(to);
    tern__arena_free(&arena);
}

/* How far ahead operands x and y of a sum of rows are fetched, whose rows lie so many floats apart; 0: they are not. */
static void ways_ahead(int64_t rows, int64_t n, const int64_t *pitches, int64_t *ways)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__row_program *p;
    const tern__type full = shape(2, rows, n), each = shape(1, 0, rows), column = shape(2, rows, 1);
    add_reductions(&full, 2);
    CHECK_OK(tern__row_finish(&b, table(), false, &arena, &p));
    tern__buffer in[2] = {{x_data, &full, (int64_t[]){pitches[0], 1}},
                          {y_data, &full, (int64_t[]){pitches[1], 1}}};
    tern__buffer out[2] = {{out_data, &each, (int64_t[]){1}}, {again, &column, (int64_t[]){1, 0}}};
    tern__kernel_args args = {.n_in = 2, .n_out = 2, .in = in, .out = out};
    char *memory = tern__alloc_aligned(p->scratch_bytes, TERN__ALIGN);
    CHECK(memory != NULL);
    tern__row_frame *f = (tern__row_frame *)(void *)memory;
    args.scratch = memory;
    f->p = p;
    f->place = 0;
    f->slots = memory + tern__row_frame_bytes(p);
    tern__row_survey(f, &args);
    ways[0] = ways[1] = 0;
    for (int k = 0; k < f->n_ahead; k++)
        ways[f->ahead[k].operand] = f->ahead[k].bytes;
    ways[2] = p->ahead;
    tern__free(memory);
    tern__arena_free(&arena);
}

/* What is fetched ahead is what will be read, not what lies between rows. */
TEST(rows_that_lie_apart_are_fetched_where_they_lie)
{
    static const struct {
        int64_t rows, n, pitch; /* floats */
    } cases[] = {{300, 1024, 2048}, {4000, 64, 256}, {300, 1000, 1024}, {300, 1024, -1024}, {3000, 512, 513}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int64_t n = cases[k].n, pitch = cases[k].pitch, apart = pitch * 4;
        int64_t ways[3];
        ways_ahead(cases[k].rows, n, (int64_t[]){n, pitch}, ways);
        CHECK_EQ(ways[0], ways[2]); /* rows in one piece */
        if (n * 4 >=
            4 * ways[2]) { /* rows much longer than the way, which is 1 KiB where several places are read */
            CHECK_EQ(ways[1], ways[2]);
            continue;
        }
        CHECK_EQ(ways[1] % apart, 0); /* the same place of a row to come, */
        CHECK(ways[1] / apart >= 1);
        const int64_t bytes = ways[1] / apart * n * 4; /* about as far ahead in what is read */
        CHECK(bytes >= ways[2] / 2 && (bytes <= 2 * ways[2] || ways[1] == apart));
    }
    int64_t ways[3];
    ways_ahead(20, 8192, (int64_t[]){8192, 9000}, ways); /* long rows */
    CHECK_EQ(ways[1], ways[2]);
    ways_ahead(300, 1024, (int64_t[]){1024, 0}, ways); /* one row for all: it stays in the caches by itself */
    CHECK_EQ(ways[1], 0);
}

TEST(rows_at_places_in_turns)
{
    static const int64_t SHAPES[][2] = {{260, 1024}, {263, 1009}, {30000, 9}};
    for (size_t k = 0; k < sizeof SHAPES / sizeof *SHAPES; k++)
        for (int64_t cut = 0; cut < 6 && !harness_failed(); cut += cut ? 2 : 1)
            for (int operands = 1; operands <= 2; operands++)
                check_row_places(SHAPES[k][0], SHAPES[k][1], operands, cut);
}

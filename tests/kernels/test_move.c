/* test_move.c - copies between strides: every kernel of family `move` that runs here against a loop over all elements, on
 * random shapes and orders of axes, elements of 1 to 8 bytes, gaps, misaligned memory, guarded results and arbitrary splits; as
 * processors of small and large caches have it. What is joined and cut, and reshapes, against the reference kernels. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "harness.h"
#include "kernels/move/move.h"
#include "kernels/past.h"
#include "kernels/select.h"

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

/* Processors by their caches: with the last two small results are stored past them. */
static const tern__cpu_info caches[] = {
    {.l1d_bytes = 48 << 10, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20},
    {.l1d_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20},
    {.l1d_bytes = 48 << 10, .l3_bytes = 256},
    {.l1d_bytes = 32 << 10, .l3_bytes = 256},
};

static void check(const tern__kernel_row *row, const tern__cpu_info *cpu, const tern__type *type,
                  bool strided_result)
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
    tern__move_program program;
    tern__move_plan(row->kernel, cpu, numel * size, &program);
    tern__kernel_args args = {.n_in = 1, .n_out = 1, .in = &in, .out = &out, .program = &program};
    const int64_t cut = roll(program.work + 1);
    CHECK_OK(tern_reshape__move(&args, cut, program.work));
    CHECK_OK(tern_reshape__move(&args, 0, cut));
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
        check(row, &caches[round / 4 % 4], &type, round % 8 == 7);
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
        check(row, tern__cpu(), &type, false);
    }
}

/* Of whole lines, which are stored past the caches when they are turned: narrow blocks, of which the next is fetched, and wide ones. */
TEST(whole_lines_beside_small_caches)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int k = 0; k < 32 && !harness_failed(); k++)
        for (int i = 0; i < count; i++)
            if (rows[i].family == TERN__FAMILY_move && tern__kernel_runs(&rows[i], tern__cpu()->isa_mask)) {
                const tern__type type = {
                    .dtype = dtypes[k % 4], .rank = 2, .shape = {64 * (1 + roll(9)), 64 * (1 + roll(9))}};
                check(&rows[i], &caches[2 + k / 4 % 2], &type, false);
            }
}

/* ---- against the reference ---- */

TERN__KERNEL(copy__ref);
TERN__KERNEL(overwrite__ref);
TERN__KERNEL(concat__ref);
TERN__KERNEL(stack__ref);
TERN__KERNEL(split__ref);

enum { MOST_PIECES = 4 };

/* Pieces of a call, and the whole that they are joined to or cut from. */
typedef struct pieces {
    int n;
    tern__type types[MOST_PIECES], whole;
    int64_t strides[MOST_PIECES][TERN__MAX_RANK], whole_strides[TERN__MAX_RANK];
    int64_t bytes[MOST_PIECES], whole_bytes;
} pieces;

/* Memory of one operand in any order of axes, or of a result in one of two. */
static int64_t lay_out_any(const tern__type *type, bool shuffled, int64_t *strides)
{
    int order[TERN__MAX_RANK];
    for (int k = 0; k < type->rank; k++)
        order[k] = k;
    if (shuffled)
        shuffle(order, type->rank);
    return lay_out(type, order, shuffled, strides);
}

/* Both kernels from the same operands to guarded results, which must be the same byte for byte. */
static void compare(tern__kernel_fn fast, tern__kernel_fn plain, int64_t plain_work, const tern__attr *attrs,
                    const tern__move_program *program, int n_in, const tern__buffer *in, int n_out,
                    const tern__buffer *out, const int64_t *out_bytes, const char *what)
{
    tern__buffer results[MOST_PIECES];
    char *wanted[MOST_PIECES], *got[MOST_PIECES];
    tern__kernel_args args = {
        .n_in = n_in, .n_out = n_out, .in = in, .out = results, .attrs = attrs, .program = program};
    for (int i = 0; i < n_out; i++) {
        const size_t bytes = (size_t)out_bytes[i] + 2 * MARGIN;
        wanted[i] = memset(tern__alloc_aligned(bytes, 64), GUARD, bytes);
        got[i] = memset(tern__alloc_aligned(bytes, 64), GUARD, bytes);
        results[i] = (tern__buffer){wanted[i] + MARGIN, out[i].type, out[i].strides};
    }
    CHECK_OK(plain(&args, 0, plain_work));
    for (int i = 0; i < n_out; i++)
        results[i].data = got[i] + MARGIN;
    const int64_t cut = roll(program->work + 1);
    CHECK_OK(fast(&args, cut, program->work));
    CHECK_OK(fast(&args, 0, cut));
    for (int i = 0; i < n_out; i++) {
        if (memcmp(wanted[i], got[i], (size_t)out_bytes[i] + 2 * MARGIN) != 0)
            harness_fail(__FILE__, __LINE__, "%s of %s, result %d of rank %d differs", what,
                         tern_dtype_name(out[i].type->dtype), i, out[i].type->rank);
        tern__free(wanted[i]);
        tern__free(got[i]);
    }
}

static char *filled(int64_t bytes)
{
    char *data = tern__alloc_aligned((size_t)bytes + 64, 64);
    for (int64_t i = 0; i < bytes; i++)
        data[i] = (char)(i * 131 + i / 251 + roll(256));
    return data;
}

/* A shape with an axis of which there are several pieces. */
static void draw_pieces(pieces *p, tern_dtype dtype, int axis, int rank, bool equal, bool shuffled)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 16, 17, 64, 65, 130};
    p->n = 1 + (int)roll(MOST_PIECES);
    p->whole = (tern__type){.dtype = dtype, .rank = rank};
    for (int d = 0, left = 1 << 14; d < rank; d++) {
        p->whole.shape[d] = sizes[roll((int64_t)(sizeof sizes / sizeof *sizes))];
        p->whole.shape[d] = p->whole.shape[d] > left ? 1 : p->whole.shape[d];
        left /= p->whole.shape[d] > 1 ? (int)p->whole.shape[d] : 1;
    }
    int64_t total = 0;
    for (int i = 0; i < p->n; i++) {
        p->types[i] = p->whole;
        if (i > 0 && !equal)
            p->types[i].shape[axis] = roll(70);
        total += p->types[i].shape[axis];
        p->bytes[i] = lay_out_any(&p->types[i], shuffled, p->strides[i]);
    }
    p->whole.shape[axis] = total;
    p->whole_bytes = lay_out_any(&p->whole, roll(2) == 0, p->whole_strides);
}

static void check_join_and_cut(const tern__kernel_row *row, int round)
{
    const int rank = 1 + (int)roll(4), axis = (int)roll(rank);
    const tern__attr axes[2] = {{.i = axis - (roll(2) ? rank : 0)}, {.i = axis}};
    const bool shuffled = roll(2) == 0;
    pieces p;
    draw_pieces(&p, dtypes[round % 4], axis, rank, false, shuffled);
    tern__move_program program;
    tern__move_plan(row->kernel, &caches[round / 4 % 4], (int64_t)tern__type_bytes(&p.whole), &program);
    tern__buffer parts[MOST_PIECES], whole = {filled(p.whole_bytes), &p.whole, p.whole_strides};
    for (int i = 0; i < p.n; i++)
        parts[i] = (tern__buffer){filled(p.bytes[i]), &p.types[i], p.strides[i]};
    compare(tern_concat__move, tern_concat__ref, tern__type_numel(&p.whole), axes, &program, p.n, parts, 1,
            &whole, &p.whole_bytes, "concat");
    compare(tern_split__move, tern_split__ref, 1, axes, &program, 1, &whole, p.n, parts, p.bytes, "split");
    for (int i = 0; i < p.n; i++)
        tern__free(parts[i].data);
    tern__free(whole.data);
}

static void check_stack(const tern__kernel_row *row, int round)
{
    const int rank = 1 + (int)roll(3), axis = (int)roll(rank + 1);
    const tern__attr attr = {.i = axis - (roll(2) ? rank + 1 : 0)};
    pieces p;
    draw_pieces(&p, dtypes[round % 4], 0, rank, true, roll(2) == 0);
    tern__type whole = {.dtype = p.whole.dtype, .rank = rank + 1};
    for (int d = 0; d <= rank; d++)
        whole.shape[d] = d == axis ? p.n : p.types[0].shape[d < axis ? d : d - 1];
    const int64_t bytes = lay_out_any(&whole, roll(2) == 0, p.whole_strides);
    tern__move_program program;
    tern__move_plan(row->kernel, &caches[round / 4 % 4], (int64_t)tern__type_bytes(&whole), &program);
    tern__buffer parts[MOST_PIECES], out = {NULL, &whole, p.whole_strides};
    for (int i = 0; i < p.n; i++)
        parts[i] = (tern__buffer){filled(p.bytes[i]), &p.types[i], p.strides[i]};
    compare(tern_stack__move, tern_stack__ref, tern__type_numel(&whole), &attr, &program, p.n, parts, 1, &out,
            &bytes, "stack");
    for (int i = 0; i < p.n; i++)
        tern__free(parts[i].data);
}

/* To a shape whose axes are those of the operand cut in two or joined; the result row-major, or with gaps. */
static void check_reshape(const tern__kernel_row *row, int round)
{
    const int64_t a = 2 * (1 + roll(40)), b = 1 + roll(60), c = 2 * (1 + roll(20));
    const tern__type x_type = {.dtype = dtypes[round % 4], .rank = 3, .shape = {a, b, c}};
    const tern__type shapes[] = {
        {.dtype = x_type.dtype, .rank = 1, .shape = {a * b * c}},
        {.dtype = x_type.dtype, .rank = 2, .shape = {a, b * c}},
        {.dtype = x_type.dtype, .rank = 4, .shape = {2, a / 2 * b, c / 2, 2}},
    };
    const tern__type *y_type = &shapes[round / 4 % 3];
    int64_t x_strides[TERN__MAX_RANK], y_strides[TERN__MAX_RANK];
    const int64_t x_bytes = lay_out_any(&x_type, true, x_strides),
                  y_bytes = lay_out_any(y_type, roll(4) == 0, y_strides);
    tern__move_program program;
    tern__move_plan(row->kernel, &caches[round % 4], (int64_t)tern__type_bytes(y_type), &program);
    tern__buffer x = {filled(x_bytes), &x_type, x_strides}, y = {NULL, y_type, y_strides};
    compare(tern_reshape__move, tern_copy__ref, a * b * c, NULL, &program, 1, &x, 1, &y, &y_bytes, "reshape");
    tern__free(x.data);
}

/* With a number, rows and columns that are repeated, and with as many elements. */
static void check_overwrite(const tern__kernel_row *row, int round)
{
    const tern__type y_type = {
        .dtype = dtypes[round % 4], .rank = 3, .shape = {5, 1 + roll(70), 1 + roll(70)}};
    tern__type x_type = {.dtype = y_type.dtype, .rank = (int)roll(4)};
    for (int d = 0; d < x_type.rank; d++)
        x_type.shape[d] = roll(3) == 0 ? 1 : y_type.shape[3 - x_type.rank + d];
    int64_t x_strides[TERN__MAX_RANK], y_strides[TERN__MAX_RANK];
    const int64_t x_bytes = lay_out_any(&x_type, true, x_strides),
                  y_bytes = lay_out_any(&y_type, roll(2) == 0, y_strides);
    tern__move_program program;
    tern__move_plan(row->kernel, &caches[round / 4 % 4], (int64_t)tern__type_bytes(&y_type), &program);
    tern__buffer x[2] = {{NULL, &y_type, y_strides}, {filled(x_bytes), &x_type, x_strides}},
                 y = {NULL, &y_type, y_strides};
    compare(tern_overwrite__move, tern_overwrite__ref, tern__type_numel(&y_type), NULL, &program, 2, x, 1, &y,
            &y_bytes, "overwrite");
    tern__free(x[1].data);
}

TEST(other_shapes_and_pieces)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int i = 0; i < count; i++)
        if (rows[i].family == TERN__FAMILY_move && tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
            for (int round = 0; round < harness_cases(300) && !harness_failed(); round++) {
                check_join_and_cut(&rows[i], round);
                check_stack(&rows[i], round);
                check_reshape(&rows[i], round);
                check_overwrite(&rows[i], round);
            }
}

/* Kernels ask nobody: what is known of the processor is in the program. */
TEST(programs_know_the_caches)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_move, 1u << TERN__ISA_BASELINE);
    tern__move_program p;
    tern__move_plan(row->kernel, &caches[0], 1 << 20, &p);
    CHECK(p.kernel == row->kernel && !p.past && !p.small_l1);
    CHECK_EQ(p.work, 64);
    tern__move_plan(row->kernel, &caches[3], 1 << 20, &p);
    CHECK(p.past && p.small_l1);
    tern__move_plan(row->kernel, &caches[0], 0, &p);
    CHECK_EQ(p.work, 1);
}

TEST(nothing_to_move)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_move, 1u << TERN__ISA_BASELINE);
    const tern__type none = {.dtype = TERN_F32, .rank = 2, .shape = {0, 7}};
    tern__buffer in = {NULL, &none, (int64_t[]){7, 1}}, out = {NULL, &none, (int64_t[]){7, 1}};
    tern__move_program program;
    tern__move_plan(row->kernel, tern__cpu(), 0, &program);
    tern__kernel_args args = {.n_in = 1, .n_out = 1, .in = &in, .out = &out, .program = &program};
    CHECK_OK(tern_reshape__move(&args, 0, program.work));
}

/* test_whole.c - sums and extremes of whole numbers and bools, any and all, against the reference: every type, any axes, kept or not,
 * elements that lie apart, the ends of each range, sums that wrap, several blocks, any split, every level of instructions. */
#include "base/alloc.h"
#include "call.h"
#include "kernels/reduce/blocks.h"
#include "kernels/select.h"

TERN__KERNEL(sum__ref);
TERN__KERNEL(max__ref);
TERN__KERNEL(min__ref);
TERN__KERNEL(any__ref);
TERN__KERNEL(all__ref);

static tern__blocks_program program;

static const struct {
    const char *name;
    tern__kernel_fn reference, columns;
    tern__blocks_op op;
} ops[] = {{"sum", tern_sum__ref, tern_sum__columns, TERN__BLOCKS_SUM},
           {"max", tern_max__ref, tern_max__columns, TERN__BLOCKS_MAX},
           {"min", tern_min__ref, tern_min__columns, TERN__BLOCKS_MIN},
           {"any", tern_any__ref, tern_max__columns, TERN__BLOCKS_MAX},
           {"all", tern_all__ref, tern_min__columns, TERN__BLOCKS_MIN}};
enum { N_OPS = sizeof ops / sizeof *ops, OF_BOOLS = 3 };

static const tern_dtype dtypes[] = {TERN_BOOL, TERN_U8, TERN_I8, TERN_I32, TERN_I64};

static int64_t roll(int64_t n)
{
    return dice_below(call_dice(), n);
}

static tern__kernel_fn columns_of_op;

static tern_status columns(tern__kernel_args *args, int64_t begin, int64_t end)
{
    args->program = &program.columns;
    return columns_of_op(args, begin, end);
}

/* All items, in the pieces that were asked for, then the second half. */
static void *shared;
static int64_t items_done;

static tern_status blocks(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const int64_t items = program.groups * program.blocks;
    args->program = &program;
    args->shared = shared;
    const tern_status status = tern_blocks__reduce(args, begin, end);
    items_done = begin == 0 ? end : items_done + end - begin;
    return status != TERN_OK || items_done < items || program.blocks == 1
               ? status
               : tern_blocks__finish(args, 0, items);
}

/* By blocks or by columns, as the shape asks for. */
static void check_call(call *c, int op)
{
    c->kernel = ops[op].reference;
    c->items = operand_numel(&c->out[0]);
    CHECK_OK(call_once(c, c->in, c->out, NULL));
    operand want = operand_dense(&c->out[0]);
    program.op = ops[op].op;
    const bool in_blocks = tern__blocks_plan(&c->in[0].type, &c->attrs[0], &program);
    if (in_blocks) {
        shared = malloc(program.shared_bytes + 1);
        items_done = 0;
        c->kernel = blocks;
        c->items = program.groups * program.blocks;
    } else {
        CHECK(tern__columns_fit(&c->in[0].type, &c->attrs[0], true));
        columns_of_op = ops[op].columns;
        c->kernel = columns;
        c->items = tern__columns_work(&c->in[0].type, &c->out[0].type);
    }
    CHECK_OK(call_run(c));
    if (!operand_same(&want, &c->out[0]))
        harness_fail(__FILE__, __LINE__, "%s of %s in %s", ops[op].name, tern_dtype_name(c->in[0].type.dtype),
                     in_blocks ? "blocks" : "columns");
    operand_free(&want);
    if (in_blocks)
        free(shared);
}

static void set_ends(operand *x)
{
    const tern_dtype dtype = x->type.dtype;
    const double least = dtype == TERN_I64   ? -0x1p63
                         : dtype == TERN_I32 ? -0x1p31
                         : dtype == TERN_I8  ? -128
                                             : 0;
    const double most = dtype == TERN_I64   ? 0x1.fffffffffffffp62
                        : dtype == TERN_I32 ? 0x1p31 - 1
                        : dtype == TERN_I8  ? 127
                        : dtype == TERN_U8  ? 255
                                            : 1;
    for (int64_t i = 0; i < operand_numel(x); i++)
        if (roll(3) == 0)
            operand_set(x, i, roll(2) ? least : most);
}

/* Bit d of `reduced`: axis d is. */
static void check_shape(int rank, const int64_t *shape, uint32_t reduced, bool nonempty)
{
    for (int op = 0; op < N_OPS; op++) {
        call c = {.n_in = 0};
        int64_t axes[4], y[4];
        int y_rank = 0;
        if (!nonempty && (op == 1 || op == 2))
            continue;
        c.attrs[0] = (tern__attr){.ints = axes};
        c.attrs[1].i = roll(2);
        for (int d = 0; d < rank; d++) {
            const bool taken = reduced >> d & 1;
            if (taken)
                axes[c.attrs[0].count++] = roll(2) ? d : d - rank;
            if (!taken || c.attrs[1].i)
                y[y_rank++] = taken ? 1 : shape[d];
        }
        const tern_dtype dtype = op >= OF_BOOLS ? TERN_BOOL : dtypes[roll(5)];
        operand *x = call_in_plain(&c, dtype, rank, shape, 3);
        if (roll(2))
            set_ends(x);
        call_out(&c, op == 0 ? TERN_I64 : dtype, y_rank, y);
        check_call(&c, op);
        call_free(&c);
    }
}

static void check_random(void)
{
    for (int n = 0; n < 60; n++) {
        int64_t shape[4];
        const int rank = 1 + (int)roll(4), large = (int)roll(4);
        for (int d = 0; d < rank; d++)
            shape[d] = 1 + roll(rank == 1 ? 4000 : d == large ? 130 : 9);
        check_shape(rank, shape, 1 + (uint32_t)roll((1 << rank) - 1), true);
    }
    check_shape(2, (int64_t[]){3, 20000 + roll(99)}, 2, true); /* several blocks */
    check_shape(2, (int64_t[]){17000 + roll(99), 5}, 1, true); /* few columns, many rows */
    check_shape(2, (int64_t[]){7, 1100}, 1, true);             /* several pieces of columns */
    check_shape(2, (int64_t[]){0, 9}, 1, false);               /* nothing: 0, none, all */
    check_shape(2, (int64_t[]){9, 0}, 2, false);
}

TEST(whole_numbers_equal_the_reference)
{
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        const uint32_t mask = tern__isa_mask_capped(tern__cpu(), (tern__isa)level);
        if (!(mask >> level & 1))
            continue;
        program.columns =
            (tern__columns_program){.kernel = tern__kernel_select(TERN__FAMILY_columns, mask)->kernel,
                                    .rows = tern__rowop_tables(mask)};
        check_random();
    }
}

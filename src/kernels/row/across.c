/* across.c - blocks of operands that lie across the rows are turned into scratch, and frames are led to them. */
#include "kernels/row/across.h"

#include "base/alloc.h"

enum {
    LINE = 64,
    LEAST_ROWS = 4,           /* of a line, that are worth a block: fewer are read as they lie */
    LEAST_COLUMNS = 16,       /* so few places are read side by side: their lines stay in the first cache */
    LEAST_ELEMENTS = 1 << 10, /* of a block; else planning it takes longer than it saves */
    MOST_COLUMNS = 512,       /* where nothing is reduced: a block then has more rows */
    SHARE_BYTES = 128 << 10,  /* of blocks, where the second cache is unknown */
    CACHE_SHARE = 4,          /* else one part in so many */
    FETCHED = 256,            /* lines ahead */
};

/* Rows of a block do not begin in one set of the first cache. */
static int64_t pitch_of(int64_t columns, int64_t bytes)
{
    return (columns * bytes + LINE - 1) / LINE * LINE + LINE;
}

static int64_t share_bytes(void)
{
    const int64_t l2 = tern__cpu()->l2_bytes;
    return l2 > 0 ? l2 / CACHE_SHARE : SHARE_BYTES;
}

size_t tern__row_across_bytes(const tern__type *domain, int operands, size_t taken)
{
    enum { WIDEST = 8 }; /* bytes of an element */
    const int rank = domain->rank;
    const int64_t numel = tern__type_numel(domain);
    if (rank < 2 || operands == 0 || numel < LEAST_ELEMENTS || taken >= TERN__ROW_LENT)
        return 0;
    const int64_t left = (int64_t)(TERN__ROW_LENT - taken) / LINE * LINE, row = domain->shape[rank - 1],
                  share = share_bytes();
    if (row > left) /* not even one row */
        return 0;
    const int64_t least = operands * LINE / 4 * pitch_of(row, 4), want = least > share ? least : share;
    const int64_t all = operands * (numel / row * pitch_of(row, WIDEST));
    const int64_t most = all < left ? all : left;
    return (size_t)(want < most ? want : most);
}

/* ---- which ---- */

/* The outer axis along which the operand's neighbours lie; -1: there is none, or the operand need not be turned. */
static int axis_of(const tern__row_frame *f, int k, int rank, const int64_t *strides, const int64_t *shape)
{
    const int64_t bytes = f->operands[k].bytes, inner = strides[rank - 1];
    if (inner == bytes || inner == 0 || shape[rank - 1] < LEAST_COLUMNS || (bytes & (bytes - 1)) != 0 ||
        bytes > 8)
        return -1;
    for (int d = rank - 2; d >= (f->by_tile ? rank - 2 : 0); d--)
        if (strides[d] == bytes && shape[d] >= LEAST_ROWS && shape[d] * shape[rank - 1] >= LEAST_ELEMENTS)
            return d;
    return -1;
}

static void swap(int64_t *list, int a, int b)
{
    const int64_t x = list[a];
    list[a] = list[b];
    list[b] = x;
}

/* The rows that fit, of all operands; but whole lines of them, if so many fit. */
static int64_t rows_that_fit(const tern__row_frame *f, int64_t bytes_of_row)
{
    const int64_t rows = (int64_t)f->p->across_bytes / bytes_of_row;
    return rows >= LINE ? rows / LINE * LINE : rows >= LINE / 4 ? rows / (LINE / 4) * (LINE / 4) : rows;
}

/* Tiles in row-major order go on from row to row: there is nothing between those of their block. */
static int64_t pitch_in(const tern__row_frame *f, int64_t columns, int64_t bytes)
{
    return f->by_tile ? columns * bytes : pitch_of(columns, bytes);
}

static void lead(tern__row_frame *f, tern__row_across *a, int rank, int64_t *strides, const int64_t *shape)
{
    const int64_t bytes = f->operands[a->operand].bytes;
    a->data = f->operands[a->operand].base;
    a->inner = strides[rank - 1];
    a->pitch = pitch_in(f, f->block_columns, bytes);
    for (int d = 0; d < rank - 1; d++)
        a->strides[d] = strides[d];
    strides[rank - 1] = bytes;
    strides[rank - 2] = a->pitch;
    for (int d = rank - 3; d >= 0; d--) /* a block has one index of the others */
        strides[d] = f->by_tile ? strides[d + 1] * shape[d + 1] : 0;
}

void tern__row_find_across(tern__row_frame *f, char *block, int rank, int64_t strides[][TERN__MAX_RANK],
                           int64_t *shape)
{
    int axis = -1;
    int64_t bytes = 0; /* of a row of all of them */
    f->n_across = 0;
    if (f->p->across_bytes == 0 || rank < 2)
        return;
    f->block_columns = f->p->reduces || shape[rank - 1] < MOST_COLUMNS ? shape[rank - 1] : MOST_COLUMNS;
    for (int k = 0; k < f->p->n_in && f->n_across < TERN__ROW_MAX_ACROSS; k++) {
        const int own = axis_of(f, k, rank, strides[k], shape);
        if (own < 0 || (axis >= 0 && own != axis))
            continue;
        axis = own;
        bytes += pitch_in(f, f->block_columns, f->operands[k].bytes);
        f->across[f->n_across++].operand = (uint8_t)k;
    }
    f->block_rows = bytes ? rows_that_fit(f, bytes) : 0;
    if (f->block_rows < LEAST_ROWS) {
        f->n_across = 0;
        return;
    }
    swap(shape, axis, rank - 2);
    for (int k = 0; k < f->p->n_in + f->p->n_out; k++)
        swap(strides[k], axis, rank - 2);
    for (int k = 0; k < f->n_across; k++) {
        tern__row_across *a = &f->across[k];
        lead(f, a, rank, strides[a->operand], shape);
        a->block = block;
        block += f->block_rows * a->pitch;
    }
}

/* ---- turning ---- */

/* Lines that hold `bytes` of each of `places`. */
static void fetch(const char *from, int64_t step, int64_t bytes, int64_t places)
{
    for (int64_t i = 0; i < places; i++, from += step)
        for (int64_t k = 0; k < bytes; k += LINE)
            __builtin_prefetch(from + k, 0, 2);
}

/* A part of a block at a time, while the lines of the next are fetched: they are too few in a row for the processor to guess, and often
 * a power of two apart. */
static void turn(const tern__row_frame *f, const tern__row_across *a, const char *from, int64_t rows,
                 int64_t columns)
{
    const tern__row_operand *o = &f->operands[a->operand];
    const int64_t steps[] = {1, a->inner / o->bytes}, block_steps[] = {a->pitch / o->bytes, 1},
                  fitting = FETCHED * LINE / (rows * o->bytes) / LINE * LINE,
                  part = fitting > LINE ? fitting : LINE;
    char *to = a->block;
    for (int64_t n; columns > 0; columns -= n, from += n * a->inner, to += n * o->bytes) {
        n = columns < part ? columns : part;
        const tern__type type = {.dtype = o->dtype, .rank = 2, .shape = {rows, n}};
        const tern__buffer in = {(char *)(uintptr_t)from, &type, steps}, out = {to, &type, block_steps};
        tern__kernel_args args = {.n_in = 1, .n_out = 1, .in = &in, .out = &out, .program = &f->p->turning};
        fetch(from + n * a->inner, a->inner, rows * o->bytes, columns - n < part ? columns - n : part);
        tern_reshape__move(&args, 0, f->p->turning.work);
    }
}

int64_t tern__row_turn(tern__row_frame *const *frames, int n, int64_t row, int64_t rows, int64_t column,
                       int64_t columns)
{
    const tern__row_frame *f = frames[0];
    const int last = f->rank - 1;
    const int64_t first = row % f->shape[last], block = row % f->shape[last] / f->block_rows * f->block_rows,
                  end = block + f->block_rows < f->shape[last] ? block + f->block_rows : f->shape[last];
    rows = rows < end - first ? rows : end - first;
    for (int k = 0; k < f->n_across; k++) {
        const tern__row_across *a = &f->across[k];
        const int64_t bytes = f->operands[a->operand].bytes;
        const char *from = a->data + column * a->inner;
        int64_t outer = row;
        for (int d = last; d >= 0; d--) {
            from += outer % f->shape[d] * a->strides[d];
            outer /= f->shape[d];
        }
        turn(f, a, from, rows, columns);
        /* Where element [0, 0] would be, if the block went on to there: as a number, since no such memory need be. */
        const int64_t before = (f->by_tile ? row : first) * a->pitch + column * bytes;
        for (int i = 0; i < n; i++)
            frames[i]->operands[a->operand].base = (char *)((uintptr_t)a->block - (uintptr_t)before);
    }
    return rows;
}

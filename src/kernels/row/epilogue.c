/* epilogue.c - runs row programs on rectangles of a product. */
#include "kernels/row/epilogue.h"

#include <string.h>

#include "tensor/convert.h"

/* Three tenths of a second-level cache, beside the product's operands. */
int64_t tern__epilogue_elements(const tern__cpu_info *cpu)
{
    const int64_t l2 = cpu->l2_bytes, elements = (l2 > 0 ? l2 : 512 << 10) * 3 / 10 / 4;
    return elements < TERN__EPILOGUE_ROOM ? elements : TERN__EPILOGUE_ROOM;
}

void tern__epilogue_shape(int64_t elements, int64_t n_rows, int64_t width, int64_t *rows, int64_t *tiles)
{
    enum { GROUP = 32 }; /* rows that kernels like to have together, or a part of them */
    _Static_assert((int)TERN__EPILOGUE_ROWS % (int)GROUP == 0, "no more rows than there is room for");
    const int64_t parts = (n_rows + TERN__EPILOGUE_ROWS - 1) / TERN__EPILOGUE_ROWS;
    *rows = parts > 1 ? ((n_rows + parts - 1) / parts + GROUP - 1) / GROUP * GROUP : n_rows;
    const int64_t fitting = elements / (*rows > 0 ? *rows : 1) / width;
    *tiles = fitting > 1 ? fitting : 1;
}

/* An operand or result from column `column` on; one without columns of its own stays. */
static tern__buffer from_column(const tern__buffer *b, int64_t column)
{
    tern__buffer part = *b;
    const int last = b->type->rank - 1;
    if (last >= 0 && b->type->shape[last] != 1)
        part.data =
            (char *)b->data + column * b->strides[last] * (int64_t)tern__dtype_unit_bytes(b->type->dtype);
    return part;
}

/* Rounds rows of f32 to the result's type where they are: each keeps its place and takes half of it. */
static void round_rows(const tern__epilogue *e, int64_t n_rows, int64_t columns, int64_t stride)
{
    enum { MOST = 512 };
    uint16_t small[MOST]; /* f16 or bf16 */
    for (int64_t r = 0; r < n_rows; r++) {
        const float *from = (const float *)e->room + r * stride;
        uint16_t *to = (uint16_t *)((float *)e->room + r * stride);
        for (int64_t c = 0; c < columns; c += MOST) {
            const int64_t n = columns - c < MOST ? columns - c : MOST;
            tern__convert_row(TERN_F32, from + c, e->program->y->dtype, small, n);
            memcpy(to + c, small, (size_t)n * sizeof *small); /* behind what is still to be read */
        }
    }
}

void tern__epilogue_apply(const tern__epilogue *e, int64_t row_begin, int64_t row_end, int64_t column_begin,
                          int64_t column_end, int64_t stride)
{
    const tern__epilogue_program *p = e->program;
    const tern__row_program *rows = p->rows;
    tern__buffer in[TERN__ROW_MAX_OPERANDS], out[TERN__ROW_MAX_OPERANDS];
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(p->y->dtype);
    int64_t strides[TERN__MAX_RANK] = {0}, apart = stride * 4 / unit;
    if (unit < 4)
        round_rows(e, row_end - row_begin, column_end - column_begin, stride);
    for (int i = 0; i < rows->n_in - 1; i++)
        in[i] = from_column(&e->args->in[p->rows_in[i]], column_begin);
    for (int i = 0; i < rows->n_out; i++)
        out[i] = from_column(&e->args->out[i], column_begin);
    strides[p->y->rank - 1] = 1;
    for (int d = p->y->rank - 2; d >= 0; d--) {
        strides[d] = apart;
        apart *= p->y->shape[d];
    }
    /* Rows are counted from the product's first, which lies before the room. */
    const uintptr_t first = (uintptr_t)e->room - (uintptr_t)(row_begin * stride) * 4;
    in[rows->n_in - 1] = (tern__buffer){.data = (void *)first, .type = p->y, .strides = strides};
    const tern__kernel_args args = {.n_in = rows->n_in,
                                    .n_out = rows->n_out,
                                    .in = in,
                                    .out = out,
                                    .program = rows,
                                    .scratch = (char *)e->args->scratch + p->rows_at};
    tern__row_run_part(&args, column_end - column_begin, row_begin, row_end);
}

tern_status tern__epilogue_run(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const tern__epilogue_program *p = args->program;
    const tern__epilogue e = {.program = p, .args = args, .room = (char *)args->scratch + p->room_at};
    tern__buffer in[TERN__ROW_MAX_OPERANDS];
    int64_t strides[TERN__MAX_RANK] = {0}, apart = 1;
    for (int i = 0; i < p->n_product; i++)
        in[i] = args->in[p->product_in[i]];
    for (int d = p->y->rank - 1; d >= 0; d--) {
        strides[d] = apart;
        apart *= p->y->shape[d];
    }
    const tern__buffer nowhere = {.type = p->y, .strides = strides}; /* dense, as far as it matters */
    tern__kernel_args product = {.n_in = p->n_product,
                                 .n_out = 1,
                                 .in = in,
                                 .out = &nowhere,
                                 .attrs = p->product_attrs,
                                 .program = p->product_program,
                                 .epilogue = &e,
                                 .next = args->next,
                                 .scratch = args->scratch};
    return p->product->run(&product, begin, end);
}

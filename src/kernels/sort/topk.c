/* topk.c - the best k of lanes of f32, f16 or bf16: a heap of words, the worst on top, and vectors that skip what cannot get in. */
#include "kernels/sort/sort.h"

#include "kernels/row/floats.h"
#include "kernels/sort/words.h"

/* Lets `word` sink from place `i` of a heap of n whose largest word is on top. */
static void sink(uint64_t *heap, int64_t n, int64_t i, uint64_t word)
{
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= n)
            break;
        child += child + 1 < n && heap[child] < heap[child + 1];
        if (word >= heap[child])
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = word;
}

enum { CHUNK = 64 * TERN__TOPK_BLOCK }; /* elements that are brought together as f32 at a time */

typedef struct lane {
    const tern__topk_program *p;
    const char *x;
    tern_dtype dtype;
    int64_t bytes, step, n, k; /* bytes of an element */
    bool largest;
    uint64_t *heap; /* (k) */
} lane;

static uint64_t word_of(const lane *o, float x, int64_t i)
{
    return tern__word(tern__key_of_f32(x, o->largest, o->largest ? 0 : UINT32_MAX), i);
}

/* Elements [first, first + n), which are x. */
static void offer(const lane *o, const float *x, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t word = word_of(o, x[i], first + i);
        if (word < o->heap[0])
            sink(o->heap, o->k, 0, word);
    }
}

/* The same, a block at a time, of those that have something to offer. */
static void offer_blocks(const lane *o, const float *x, int64_t first, int64_t n)
{
    const int64_t block = TERN__TOPK_BLOCK, whole = n - n % block;
    int64_t i = 0;
    while (i < whole) {
        /* The element that the top of the heap stands for. */
        const float bar = tern__float_at(o->dtype, o->x, (int64_t)(uint32_t)o->heap[0] * o->step);
        i = o->p->kernel->find(x, i, n, bar, !o->largest);
        if (i < whole) {
            offer(o, x + i, first + i, block);
            i += block;
        }
    }
    offer(o, x + whole, first + whole, n - whole);
}

static void select_best(const lane *o)
{
    float room[CHUNK];
    for (int64_t i = 0; i < o->k; i++)
        o->heap[i] = word_of(o, tern__float_at(o->dtype, o->x, i * o->step), i);
    for (int64_t i = o->k / 2 - 1; i >= 0; i--)
        sink(o->heap, o->k, i, o->heap[i]);
    const bool as_it_lies = o->dtype == TERN_F32 && o->step == 1;
    for (int64_t i = o->k, n; i < o->n; i += n) {
        n = as_it_lies || o->n - i < CHUNK ? o->n - i : CHUNK;
        offer_blocks(o,
                     tern__floats_load(o->p->rows, o->dtype, o->x + i * o->step * o->bytes, o->step, n, room),
                     i, n);
    }
    for (int64_t size = o->k - 1; size > 0; size--) {
        const uint64_t last = o->heap[0];
        sink(o->heap, size, 0, o->heap[size]);
        o->heap[size] = last;
    }
}

/* The elements that the heap stands for. */
static void put_values(const lane *o, char *to, int64_t step)
{
    for (int64_t j = 0; j < o->k; j++)
        memcpy(to + j * step * o->bytes, o->x + (int64_t)(uint32_t)o->heap[j] * o->step * o->bytes,
               (size_t)o->bytes);
}

TERN__KERNEL(topk__blocks)
{
    const tern__buffer *x = &args->in[0], *values = &args->out[0], *indices = &args->out[1];
    const int axis = tern__sort_axis(args->attrs[1].i, x->type->rank);
    lane o = {.p = args->program,
              .dtype = x->type->dtype,
              .bytes = (int64_t)tern__dtype_unit_bytes(x->type->dtype),
              .step = x->strides[axis],
              .n = x->type->shape[axis],
              .k = values->type->shape[axis],
              .largest = args->attrs[2].i != 0,
              .heap = args->scratch};
    for (int64_t i = begin; i < end && o.k > 0; i++) {
        o.x = (const char *)x->data + tern__sort_lane(x, axis, i) * o.bytes;
        int64_t *at = (int64_t *)indices->data + tern__sort_lane(indices, axis, i);
        select_best(&o);
        put_values(&o, (char *)values->data + tern__sort_lane(values, axis, i) * o.bytes,
                   values->strides[axis]);
        for (int64_t j = 0; j < o.k; j++)
            at[j * indices->strides[axis]] = (int64_t)(uint32_t)o.heap[j];
    }
    return TERN_OK;
}

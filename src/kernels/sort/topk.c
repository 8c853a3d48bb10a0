/* topk.c - the best k of lanes of f32: a heap of words, the worst on top, and vectors that skip what cannot get in. */
#include "kernels/sort/sort.h"
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

typedef struct lane {
    const float *x;
    int64_t step, n, k;
    bool largest;
    uint64_t *heap; /* (k) */
} lane;

static uint64_t word_at(const lane *o, int64_t i)
{
    return tern__word(tern__key_of_f32(o->x[i * o->step], o->largest, o->largest ? 0 : UINT32_MAX), i);
}

static void offer(const lane *o, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        const uint64_t word = word_at(o, i);
        if (word < o->heap[0])
            sink(o->heap, o->k, 0, word);
    }
}

/* The element that the top of the heap stands for. */
static float bar_of(const lane *o)
{
    return o->x[(int64_t)(uint32_t)o->heap[0] * o->step];
}

static void select_best(const tern__topk_kernel *kernel, const lane *o)
{
    const int64_t block = TERN__TOPK_BLOCK, whole = o->n - o->n % block;
    for (int64_t i = 0; i < o->k; i++)
        o->heap[i] = word_at(o, i);
    for (int64_t i = o->k / 2 - 1; i >= 0; i--)
        sink(o->heap, o->k, i, o->heap[i]);
    int64_t i = (o->k + block - 1) / block * block;
    i = i < o->n ? i : o->n;
    offer(o, o->k, i);
    while (o->step == 1 && i < whole) {
        i = kernel->find(o->x, i, o->n, bar_of(o), !o->largest);
        if (i < whole) {
            offer(o, i, i + block);
            i += block;
        }
    }
    offer(o, i, o->n);
    for (int64_t size = o->k - 1; size > 0; size--) {
        const uint64_t last = o->heap[0];
        sink(o->heap, size, 0, o->heap[size]);
        o->heap[size] = last;
    }
}

TERN__KERNEL(topk__blocks)
{
    const tern__topk_program *p = args->program;
    const tern__buffer *x = &args->in[0], *values = &args->out[0], *indices = &args->out[1];
    const int axis = tern__sort_axis(args->attrs[1].i, x->type->rank);
    lane o = {.step = x->strides[axis],
              .n = x->type->shape[axis],
              .k = values->type->shape[axis],
              .largest = args->attrs[2].i != 0,
              .heap = args->scratch};
    for (int64_t i = begin; i < end && o.k > 0; i++) {
        o.x = (const float *)x->data + tern__sort_lane(x, axis, i);
        float *to = (float *)values->data + tern__sort_lane(values, axis, i);
        int64_t *at = (int64_t *)indices->data + tern__sort_lane(indices, axis, i);
        select_best(p->kernel, &o);
        for (int64_t j = 0; j < o.k; j++) {
            const int64_t index = (int64_t)(uint32_t)o.heap[j];
            to[j * values->strides[axis]] = o.x[index * o.step];
            at[j * indices->strides[axis]] = index;
        }
    }
    return TERN_OK;
}

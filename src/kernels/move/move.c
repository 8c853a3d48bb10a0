/* move.c - copies between memory of different strides, in whole lines of the cache on both sides.
 *
 * Axes along which both sides are equally spaced are run together. If then both have their neighbours along the same axis,
 * runs are copied. If the operand's neighbours lie along another axis, squares of 64 bytes by 64 bytes are turned in a tile in
 * L1, by vectors of 16 bytes, which every processor has (x86/move_avx512.c needs no tile). What is left at the edges, and memory
 * without neighbours, goes element by element. */
#include "kernels/move/move.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/past.h"
#include "kernels/select.h"

TERN__KERNEL(copy__ref);

enum {
    LINE = 64,
    SMALL_L1 = 32 << 10, /* bytes: eight ways of a page each */
    PART_BYTES = 16384,  /* of the result in an item of work, about */
    MOST_PARTS = 4096,
};

/* A block of two turned axes: bytes of the operand's neighbours, and places side by side in the result. */
typedef struct blocking {
    int64_t bytes, places;
    bool fetched; /* what the next block reads is fetched while this one is turned */
} blocking;

/* Places of the operand are often a power of two apart, and then all lie in one set of L1. Where it has more than eight ways, thirty-two
 * places are followed in runs long enough for the hardware to guess, and two lines of the result stored at a time. Where it has
 * eight they push each other out before what was guessed is used: there a block is narrow and long, written in long runs, and the
 * lines of the next go to L2 meanwhile, of which 256 places have at most all eight ways. */
static blocking blocking_of(const tern__move_program *p, int64_t size)
{
    if (p->small_l1)
        return (blocking){.bytes = 2 * LINE, .places = 256, .fetched = true};
    return (blocking){.bytes = 4096, .places = 2 * LINE / size};
}

/* ---- whole lines ---- */

static void put_line(char *to, const char *from, bool past)
{
#if defined(__SSE2__)
    if (past) {
        for (int k = 0; k < LINE; k += 16)
            _mm_stream_si128((__m128i *)(void *)(to + k),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + k)));
        return;
    }
#endif
    (void)past;
    memcpy(to, from, LINE);
}

static void settle(bool past)
{
#if defined(__SSE2__)
    if (past)
        _mm_sfence();
#endif
    (void)past;
}

static void copy_run(char *to, const char *from, int64_t bytes, bool past)
{
    int64_t head = (int64_t)(-(uintptr_t)to & (LINE - 1));
    if (!past || bytes < head + LINE) {
        memmove(to, from, (size_t)bytes); /* memory borrowed twice may overlap */
        return;
    }
    memcpy(to, from, (size_t)head);
    int64_t i = head;
    for (; i + LINE <= bytes; i += LINE)
        put_line(to + i, from + i, true);
    memcpy(to + i, from + i, (size_t)(bytes - i));
}

/* ---- squares ---- */

typedef uint8_t vec1 __attribute__((vector_size(16)));
typedef uint16_t vec2 __attribute__((vector_size(16)));
typedef uint32_t vec4 __attribute__((vector_size(16)));
typedef uint64_t vec8 __attribute__((vector_size(16)));

/* clang-format off */
#define LOW1(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH1(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW8(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH8(a, b) __builtin_shufflevector(a, b, 1, 3)

/* Vectors of N elements from N places `step` bytes apart, turned, to N lines of a tile. Elements of the upper half of the
 * vectors are zipped between those of the lower until all have changed places: log2(N) times. */
#define TURN(size)                                                                      \
    static inline void turn##size(char *to, const char *from, int64_t step)             \
    {                                                                                   \
        enum { N = 16 / (size) };                                                       \
        vec##size v[N], w[N];                                                           \
        for (int i = 0; i < N; i++)                                                     \
            memcpy(&v[i], from + i * step, 16);                                         \
        for (int done = 1; done < N; done *= 2) {                                       \
            for (int i = 0; i < N / 2; i++) {                                           \
                w[2 * i] = LOW##size(v[i], v[i + N / 2]);                               \
                w[2 * i + 1] = HIGH##size(v[i], v[i + N / 2]);                          \
            }                                                                           \
            memcpy(v, w, sizeof v);                                                     \
        }                                                                               \
        for (int i = 0; i < N; i++)                                                     \
            memcpy(to + i * LINE, &v[i], 16);                                           \
    }                                                                                   \
    static void square##size(char *to, int64_t to_step, const char *from, int64_t from_step, bool past) \
    {                                                                                   \
        enum { N = 16 / (size), SIDE = LINE / (size) };                                 \
        _Alignas(LINE) char tile[SIDE * LINE];                                          \
        for (int row = 0; row < SIDE; row += N)                                         \
            for (int part = 0; part < 4; part++)                                        \
                turn##size(tile + part * N * LINE + row * (size), from + row * from_step + part * 16, from_step); \
        for (int k = 0; k < SIDE; k++)                                                  \
            put_line(to + k * to_step, tile + k * LINE, past);                          \
    }
/* clang-format on */
TURN(1)
TURN(2)
TURN(4)
TURN(8)

const tern__move_kernel tern__move__vectors = {square1, square2, square4, square8};

static tern__move_square square_of(const tern__move_kernel *kernel, int64_t size)
{
    return size == 1 ? kernel->of1 : size == 2 ? kernel->of2 : size == 4 ? kernel->of4 : kernel->of8;
}

#define COPY_ELEMENTS(size)             \
    for (int64_t i = 0; i < n; i++)     \
        for (int64_t j = 0; j < m; j++) \
    memcpy(to + i * to_step + j * (size), from + i * (size) + j * from_step, (size))

/* n places along the operand's neighbours, m along the result's. */
static void turn_elements(int64_t size, char *to, int64_t to_step, const char *from, int64_t from_step,
                          int64_t n, int64_t m)
{
    switch (size) {
    case 1:
        COPY_ELEMENTS(1);
        return;
    case 2:
        COPY_ELEMENTS(2);
        return;
    case 4:
        COPY_ELEMENTS(4);
        return;
    default:
        COPY_ELEMENTS(8);
        return;
    }
}

/* Lines `ahead` bytes behind those of a square. */
static void fetch_square(int64_t side, const char *from, int64_t from_step, int64_t ahead)
{
    for (int64_t k = 0; k < side; k++)
        __builtin_prefetch(from + k * from_step + ahead, 0, 2);
}

/* `ahead` bytes behind what is read something is fetched; 0: nothing is. */
static void turn_block(int64_t size, tern__move_square square, char *to, int64_t to_step, const char *from,
                       int64_t from_step, int64_t n, int64_t m, int64_t ahead, bool past)
{
    const int64_t side = LINE / size, n_whole = n / side * side, m_whole = m / side * side;
    for (int64_t i = 0; i < n_whole;
         i += side) /* lines of the result that lie together are stored together */
        for (int64_t j = 0; j < m_whole; j += side) {
            const char *place = from + i * size + j * from_step;
            if (ahead)
                fetch_square(side, place, from_step, ahead);
            square(to + i * to_step + j * size, to_step, place, from_step, past);
        }
    turn_elements(size, to + m_whole * size, to_step, from + m_whole * from_step, from_step, n_whole,
                  m - m_whole);
    turn_elements(size, to + n_whole * to_step, to_step, from + n_whole * size, from_step, n - n_whole, m);
}

/* ---- the walk ---- */

/* The axes of both sides. The last is the result's neighbours; where the operand's are along another, `turned`, it is the last
 * but one here. Blocks are numbered in row-major order, but those of a pair of turned axes along the operand's neighbours first:
 * memory is read in long runs side by side. */
typedef struct walk {
    int64_t size; /* bytes of an element */
    int rank;
    int64_t shape[TERN__MAX_RANK], to[TERN__MAX_RANK], from[TERN__MAX_RANK]; /* strides in bytes */
    bool turned, past;
    tern__move_square square;
    int64_t ahead;             /* bytes from what is read to what is fetched; 0: nothing is */
    int64_t step[2], parts[2]; /* of the last two axes: elements in a block, blocks */
    int64_t blocks;
} walk;

static void merge_axes(walk *w, const tern__buffer *to, const tern__buffer *from)
{
    const tern__type *type = to->type;
    for (int d = 0; d < type->rank; d++) {
        const int64_t a = to->strides[d] * w->size, b = from->strides[d] * w->size;
        if (type->shape[d] == 1)
            continue;
        int at = w->rank - 1;
        if (at >= 0 && w->to[at] == a * type->shape[d] && w->from[at] == b * type->shape[d])
            w->shape[at] *= type->shape[d];
        else
            w->shape[++at] = type->shape[d];
        w->to[at] = a;
        w->from[at] = b;
        w->rank = at + 1;
    }
}

static void swap_axes(walk *w, int a, int b)
{
    int64_t *const lists[] = {w->shape, w->to, w->from};
    for (int k = 0; k < 3; k++) {
        const int64_t x = lists[k][a];
        lists[k][a] = lists[k][b];
        lists[k][b] = x;
    }
}

/* false: neither runs nor squares. */
static bool plan_walk(const tern__move_program *p, walk *w, const tern__buffer *to, const tern__buffer *from)
{
    *w = (walk){.size = (int64_t)tern__dtype_unit_bytes(to->type->dtype)};
    merge_axes(w, to, from);
    const int last = w->rank - 1;
    if (last < 0 || w->to[last] != w->size)
        return false;
    if (w->from[last] != w->size) {
        int across = last - 1;
        while (across >= 0 && w->from[across] != w->size)
            across--;
        if (across < 0)
            return false;
        swap_axes(w, across, last - 1);
        w->turned = true;
    }
    w->past = p->past;
    w->square = square_of(p->kernel, w->size);
    const blocking turning = blocking_of(p, w->size);
    int64_t lines = (int64_t)(uintptr_t)to->data;
    for (int d = 0; d < last; d++)
        lines |= w->to[d];
    if (w->turned) {
        w->past = w->past && lines % LINE == 0;
        w->step[0] = turning.bytes / w->size;
        w->ahead = turning.fetched && w->past ? turning.bytes : 0;
        w->parts[0] = (w->shape[last - 1] + w->step[0] - 1) / w->step[0];
    }
    w->step[1] = w->turned ? turning.places : PART_BYTES / w->size;
    w->parts[1] = (w->shape[last] + w->step[1] - 1) / w->step[1];
    w->blocks = w->parts[1] * (w->turned ? w->parts[0] : 1);
    for (int d = 0; d < last - w->turned; d++)
        w->blocks *= w->shape[d];
    return true;
}

static int64_t rest_of(const walk *w, int which, int axis, int64_t part)
{
    const int64_t left = w->shape[axis] - part * w->step[which];
    return left < w->step[which] ? left : w->step[which];
}

static void move_block(const walk *w, char *to, const char *from, int64_t block)
{
    const int last = w->rank - 1;
    int64_t across = 0;
    if (w->turned) {
        across = block % w->parts[0];
        block /= w->parts[0];
        to += across * w->step[0] * w->to[last - 1];
        from += across * w->step[0] * w->size;
    }
    const int64_t along = block % w->parts[1];
    block /= w->parts[1];
    to += along * w->step[1] * w->size;
    from += along * w->step[1] * w->from[last];
    for (int d = last - 1 - w->turned; d >= 0; d--) {
        to += block % w->shape[d] * w->to[d];
        from += block % w->shape[d] * w->from[d];
        block /= w->shape[d];
    }
    const int64_t m = rest_of(w, 1, last, along);
    if (w->turned)
        turn_block(w->size, w->square, to, w->to[last - 1], from, w->from[last],
                   rest_of(w, 0, last - 1, across), m, w->ahead, w->past);
    else
        copy_run(to, from, m * w->size, w->past);
}

/* ---- the kernels ---- */

void tern__move_plan(const tern__move_kernel *kernel, const tern__cpu_info *cpu, int64_t bytes,
                     tern__move_program *out)
{
    const int64_t parts = bytes / PART_BYTES;
    *out = (tern__move_program){.kernel = kernel,
                                .past = bytes > tern__past_bytes(cpu),
                                .small_l1 = cpu->l1d_bytes > 0 && cpu->l1d_bytes <= SMALL_L1,
                                .work = parts < 1            ? 1
                                        : parts > MOST_PARTS ? MOST_PARTS
                                                             : parts};
}

/* `part` of `parts` equal ones of n: where it begins. */
static int64_t begin_of(int64_t n, int64_t part, int64_t parts)
{
    return n / parts * part + n % parts * part / parts;
}

/* Parts [begin, end) of a copy to a buffer of the same type. */
static tern_status move(const tern__move_program *p, const tern__buffer *to, const tern__buffer *from,
                        int64_t begin, int64_t end)
{
    const int64_t numel = tern__type_numel(to->type);
    walk w;
    if (numel == 0)
        return TERN_OK;
    if (!plan_walk(p, &w, to, from)) {
        tern__kernel_args copy = {.n_in = 1, .n_out = 1, .in = from, .out = to};
        return tern_copy__ref(&copy, begin_of(numel, begin, p->work), begin_of(numel, end, p->work));
    }
    for (int64_t block = begin_of(w.blocks, begin, p->work), n = begin_of(w.blocks, end, p->work); block < n;
         block++)
        move_block(&w, to->data, from->data, block);
    settle(w.past);
    return TERN_OK;
}

/* A result that is seen in the operand's shape: any in row-major order can be. */
TERN__KERNEL(reshape__move)
{
    const tern__move_program *p = args->program;
    const tern__buffer *x = &args->in[0], *y = &args->out[0];
    if (tern__shape_equal(x->type, y->type))
        return move(p, y, x, begin, end);
    const int64_t numel = tern__type_numel(y->type);
    tern__layout lies = {0}, seen;
    for (int d = 0; d < y->type->rank; d++)
        lies.strides[d] = y->strides[d];
    if (!tern__view_reshape(y->type, &lies, x->type, &seen))
        return tern_copy__ref(args, begin_of(numel, begin, p->work), begin_of(numel, end, p->work));
    return move(p, &(tern__buffer){y->data, x->type, seen.strides}, x, begin, end);
}

/* The second operand to the result, which is the first. */
TERN__KERNEL(overwrite__move)
{
    const tern__buffer *x = &args->in[1], *y = &args->out[0];
    const int missing = y->type->rank - x->type->rank;
    int64_t strides[TERN__MAX_RANK];
    for (int d = 0; d < y->type->rank; d++)
        strides[d] = d < missing || x->type->shape[d - missing] == 1 ? 0 : x->strides[d - missing];
    return move(args->program, y, &(tern__buffer){x->data, y->type, strides}, begin, end);
}

/* ---- what is joined and cut: a piece after the other, of each the same share ---- */

static int axis_of(const tern__attr *attr, int rank)
{
    return (int)(attr->i < 0 ? attr->i + rank : attr->i);
}

/* Element `at` along an axis. What has no elements may have no memory. */
static void *place_of(const tern__buffer *buffer, int axis, int64_t at)
{
    const int64_t size = (int64_t)tern__dtype_unit_bytes(buffer->type->dtype);
    return buffer->data ? (char *)buffer->data + at * buffer->strides[axis] * size : NULL;
}

TERN__KERNEL(concat__move)
{
    const tern__buffer *y = &args->out[0];
    const int axis = axis_of(&args->attrs[0], y->type->rank);
    int64_t at = 0;
    for (int i = 0; i < args->n_in; i++) {
        const tern__buffer *x = &args->in[i];
        TERN_TRY(
            move(args->program, &(tern__buffer){place_of(y, axis, at), x->type, y->strides}, x, begin, end));
        at += x->type->shape[axis];
    }
    return TERN_OK;
}

/* Operands lack the new axis. */
TERN__KERNEL(stack__move)
{
    const tern__buffer *y = &args->out[0];
    const int rank = y->type->rank, axis = axis_of(&args->attrs[0], rank);
    int64_t strides[TERN__MAX_RANK];
    for (int d = 0; d < rank - 1; d++)
        strides[d] = y->strides[d < axis ? d : d + 1];
    for (int i = 0; i < args->n_in; i++)
        TERN_TRY(move(args->program, &(tern__buffer){place_of(y, axis, i), args->in[i].type, strides},
                      &args->in[i], begin, end));
    return TERN_OK;
}

TERN__KERNEL(split__move)
{
    const tern__buffer *x = &args->in[0];
    const int axis = axis_of(&args->attrs[TERN__ATTR_split_axis], x->type->rank);
    int64_t at = 0;
    for (int i = 0; i < args->n_out; i++) {
        const tern__buffer *y = &args->out[i];
        TERN_TRY(
            move(args->program, y, &(tern__buffer){place_of(x, axis, at), y->type, x->strides}, begin, end));
        at += y->type->shape[axis];
    }
    return TERN_OK;
}

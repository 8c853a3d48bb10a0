/* attend.c - the loops around the inner kernels of attention.
 *
 * Consecutive rows of one slot make a block; with the keys that its last row sees, and for each head of k and v, its queries
 * pass over a chunk together, so that keys and values are widened once for all of them and come from memory once. The unit of
 * work is (block, chunk, head), heads innermost; chunk.c may take several heads of a chunk at once.
 *
 * A worker finds its part when it runs, from the positions: units weigh as many as rows share them, and the weight of all is
 * divided evenly. If a block ends up with several workers (only where few rows would leave workers without work) they leave
 * their chunks in memory that all share, and when all are done the rows are merged from there. */
#include "kernels/attention/chunk.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/sizes.h"
#include "tensor/convert.h"

enum { IN_Q, IN_K, IN_V, IN_SLOTS, IN_POSITIONS, IN_K_SCALE, IN_V_SCALE };

enum {
    CHUNK = TERN__ATTENTION_CHUNK,
    HEAD = TERN__ATTENTION_HEAD,
    MOST_ROWS = 16,
    ROWS_PER_WORKER = 8, /* fewer rows than that, and blocks are split */
    MOST_SHARED = 64 << 20,
    WORK = 4096,
    ROOMY_L1 = 48 << 10, /* it has room for a tile, and for what is on its way 20 KiB ahead */
};

static int64_t whole_vectors(int64_t floats)
{
    const int64_t lanes = TERN__ATTENTION_LANES;
    return (floats + lanes - 1) / lanes * lanes;
}

/* ---- planning ---- */

static tern__attention_sizes sizes_of(const tern__type *q, const tern__type *k, int64_t block, bool in_order)
{
    tern__attention_sizes z = {.rows = q->shape[0],
                               .heads = q->shape[1],
                               .d = q->shape[2],
                               .padded = whole_vectors(q->shape[2]),
                               .capacity = k->shape[1],
                               .kv_heads = k->shape[2]};
    z.group = z.heads / z.kv_heads;
    z.queries = block * z.group;
    z.together = in_order ? tern__smaller(z.kv_heads,
                                          tern__larger(TERN__ATTENTION_PLACES / tern__larger(z.group, 1), 1))
                          : 1;
    z.places = tern__larger(z.queries, z.together * z.group);
    z.scores = z.q + z.places * z.padded;
    z.tile = z.scores + z.places * CHUNK;
    z.mixes = z.tile + TERN__ATTENTION_TILE * z.padded;
    z.factors = z.mixes + z.places * z.padded;
    z.tops = z.factors + 2 * z.together * CHUNK;
    z.states = z.tops + whole_vectors(HEAD * z.places);
    z.all = z.states + whole_vectors(z.kv_heads * z.queries * HEAD) + z.kv_heads * z.queries * z.padded;
    return z;
}

/* Bytes that workers share: a mark for each row, then max, sum and mix of each row, chunk and head. */
static bool shared_bytes(const tern__attention_sizes *z, size_t *bytes)
{
    int64_t n;
    return tern__i64_mul(z->rows, tern__attention_chunks(z->capacity), &n) &&
           tern__i64_mul(n, z->heads, &n) && tern__i64_mul(n, HEAD + z->padded, &n) &&
           tern__i64_add(n, whole_vectors(z->rows), &n) && tern__i64_mul(n, sizeof(float), &n) &&
           tern__size_from_i64(n, bytes);
}

static bool is_read(tern_dtype dtype)
{
    return dtype == TERN_F32 || dtype == TERN_F16 || dtype == TERN_BF16 || dtype == TERN_I8;
}

bool tern__attention_plan(const tern__attention_kernel *kernel, int n_in, const tern__type *const *in,
                          int workers, tern__attention_variant variant, tern__attention_program *out)
{
    const tern__type *q = in[IN_Q];
    (void)n_in;
    if (q->dtype == TERN_F64 || !is_read(in[IN_K]->dtype) || !is_read(in[IN_V]->dtype))
        return false;
    /* Blocks small enough that every worker gets several. */
    const int64_t fitting = q->shape[0] / (4 * workers);
    int64_t block = variant.block > 0 ? variant.block : fitting < 4 ? 4 : fitting;
    block = tern__smaller(tern__smaller(block, 4 * MOST_ROWS), q->shape[0] > 1 ? q->shape[0] : 1);
    if (variant.block <= 0)
        block = tern__smaller(block, MOST_ROWS);
    /* Where arithmetic keeps up with memory for two bytes a number, it does not for one, and a head at a time takes less of it. */
    const bool in_order =
        tern__cpu_has(tern__cpu(), TERN__FEATURE_ONE_STREAM) &&
        !(tern__cpu_has(tern__cpu(), TERN__FEATURE_WHOLE_512) && in[IN_K]->dtype == TERN_I8);
    const tern__attention_sizes z = sizes_of(q, in[IN_K], block, in_order);
    tern__attention_program p = {.kernel = kernel,
                                 .block = block,
                                 .in_order = in_order,
                                 .to_first = !in_order || tern__cpu()->l1d_bytes >= ROOMY_L1,
                                 .work = WORK,
                                 .scratch_bytes = (size_t)z.all * sizeof(float)};
    const bool few = z.rows < ROWS_PER_WORKER * workers;
    p.split = workers > 1 && (variant.split < 0 ? few : variant.split != 0) &&
              shared_bytes(&z, &p.shared_bytes) && p.shared_bytes > 0 && p.shared_bytes <= MOST_SHARED;
    if (!p.split)
        p.shared_bytes = 0;
    *out = p;
    return true;
}

/* ---- a call ---- */

static tern__attending attending_of(const tern__kernel_args *args)
{
    const tern__attention_program *p = args->program;
    tern__attending a = {.p = p,
                         .kernel = p->kernel,
                         .q = &args->in[IN_Q],
                         .k = &args->in[IN_K],
                         .v = &args->in[IN_V],
                         .k_scale = args->n_in > IN_K_SCALE ? &args->in[IN_K_SCALE] : NULL,
                         .v_scale = args->n_in > IN_V_SCALE ? &args->in[IN_V_SCALE] : NULL,
                         .y = &args->out[0],
                         .slots = args->in[IN_SLOTS].data,
                         .positions = args->in[IN_POSITIONS].data,
                         .slots_step = args->in[IN_SLOTS].strides[0],
                         .positions_step = args->in[IN_POSITIONS].strides[0],
                         .z = sizes_of(args->in[IN_Q].type, args->in[IN_K].type, p->block, p->in_order)};
    const tern__attention_sizes *z = &a.z;
    float *scratch = args->scratch;
    a.scale = (float)(args->attrs[0].f != 0 ? args->attrs[0].f : 1 / sqrt((double)z->d));
    a.q_room = scratch + z->q;
    a.scores = scratch + z->scores;
    a.tile = scratch + z->tile;
    a.mixes = scratch + z->mixes;
    a.k_factor = scratch + z->factors;
    a.v_factor = a.k_factor + z->together * CHUNK;
    a.tops = scratch + z->tops;
    a.state_tops = scratch + z->states;
    a.states = a.state_tops + whole_vectors(z->kv_heads * z->queries * HEAD);
    a.marks = args->shared;
    a.parts = p->split ? (float *)args->shared + whole_vectors(z->rows) : NULL;
    return a;
}

static int64_t slot_of(const tern__attending *a, int64_t row)
{
    return a->slots[row * a->slots_step];
}

static tern_status refuse_index(tern__kernel_args *args, int64_t value, int64_t limit)
{
    args->fault = (tern__fault){value, limit};
    return TERN_OUT_OF_RANGE;
}

static tern_status check_rows(const tern__attending *a, tern__kernel_args *args)
{
    const int64_t slots = a->k->type->shape[0];
    for (int64_t row = 0; row < a->z.rows; row++) {
        const int64_t position = tern__attention_keys(a, row) - 1, slot = slot_of(a, row);
        if (position == -1) /* its slot means nothing */
            continue;
        if (slot < 0 || slot >= slots)
            return refuse_index(args, slot, slots);
        if (position < 0 || position >= a->z.capacity)
            return refuse_index(args, position, a->z.capacity);
    }
    return TERN_OK;
}

/* ---- blocks ---- */

/* The block that begins at `row`. */
static tern__attention_block block_at(const tern__attending *a, int64_t row)
{
    tern__attention_block b = {
        .begin = row, .rows = 1, .slot = slot_of(a, row), .keys = tern__attention_keys(a, row)};
    for (int64_t next = row + 1; next < tern__smaller(a->z.rows, row + a->p->block); next++, b.rows++) {
        const int64_t keys = tern__attention_keys(a, next);
        if ((keys == 0) != (b.keys == 0) || (keys > 0 && slot_of(a, next) != b.slot))
            break;
        b.keys = keys > b.keys ? keys : b.keys;
    }
    b.units = b.keys ? tern__attention_chunks(b.keys) * a->z.kv_heads : 1;
    return b;
}

/* ---- what becomes of it ---- */

static void put(const tern__attending *a, int64_t row, int64_t head, float sum, float *mix)
{
    const tern__buffer *y = a->y;
    for (int64_t i = 0; i < a->z.d; i++) {
        const float mean = mix[i] / sum;
        mix[i] = isnan(mean) ? NAN : mean;
    }
    char *to = (char *)y->data +
               (row * y->strides[0] + head * y->strides[1]) * (int64_t)tern__dtype_unit_bytes(y->type->dtype);
    tern__convert(TERN_F32, mix, 1, y->type->dtype, to, y->strides[2], a->z.d);
}

static void put_zeros(const tern__attending *a, const tern__attention_block *b)
{
    for (int64_t i = 0; i < a->z.d; i++)
        a->mixes[i] = 0;
    for (int64_t row = b->begin; row < b->begin + b->rows; row++)
        for (int64_t head = 0; head < a->z.heads; head++)
            put(a, row, head, 1, a->mixes);
}

/* The chunk at hand into the states of its queries. */
static void add_to_states(const tern__attending *a, const tern__attention_span *s, int64_t h)
{
    const int64_t padded = a->z.padded, queries = s->queries, at = (s->kv + h) * a->z.queries;
    float *tops = a->state_tops + at * HEAD, *states = a->states + at * padded;
    const float *chunk_tops = a->tops + h * queries * HEAD, *mixes = a->mixes + h * queries * padded;
    if (s->chunk == 0) { /* which every row sees */
        memcpy(tops, chunk_tops, (size_t)(queries * HEAD) * sizeof(float));
        memcpy(states, mixes, (size_t)(queries * padded) * sizeof(float));
        return;
    }
    for (int64_t j = 0; j < queries; j++)
        if (tern__attention_seen(a, s->block->begin + j / a->z.group, s->chunk) > 0)
            a->kernel->merge(&tops[2 * j], &tops[2 * j + 1], states + j * padded, chunk_tops[2 * j],
                             chunk_tops[2 * j + 1], mixes + j * padded, padded);
}

static float *part_of(const tern__attending *a, int64_t row, int64_t chunk, int64_t head)
{
    const tern__attention_sizes *z = &a->z;
    return a->parts +
           ((row * tern__attention_chunks(z->capacity) + chunk) * z->heads + head) * (HEAD + z->padded);
}

static void leave_parts(const tern__attending *a, const tern__attention_span *s, int64_t h)
{
    const int64_t group = a->z.group, padded = a->z.padded;
    for (int64_t j = 0; j < s->queries; j++) {
        const int64_t row = s->block->begin + j / group, place = h * s->queries + j;
        if (tern__attention_seen(a, row, s->chunk) == 0)
            continue;
        float *to = part_of(a, row, s->chunk, (s->kv + h) * group + j % group);
        memcpy(to, a->tops + 2 * place, HEAD * sizeof(float));
        memcpy(to + HEAD, a->mixes + place * padded, (size_t)padded * sizeof(float));
    }
}

/* ---- the kernel ---- */

/* Do the rows of all heads lie side by side, key after key? */
static bool lies_in_one_piece(const tern__attending *a, const tern__buffer *x)
{
    return x->strides[3] == 1 && x->strides[2] == a->z.d && x->strides[1] == a->z.kv_heads * a->z.d;
}

/* The span that begins at a unit, of units before `past`: heads of one chunk, as many as are taken together. */
static tern__attention_span span_at(const tern__attending *a, const tern__attention_block *b, int64_t unit,
                                    int64_t past)
{
    const int64_t chunk = unit / a->z.kv_heads, kv = unit % a->z.kv_heads;
    const int64_t together =
        b->rows == 1 && lies_in_one_piece(a, a->k) && lies_in_one_piece(a, a->v) ? a->z.together : 1;
    const int64_t heads = tern__smaller(tern__smaller(together, a->z.kv_heads - kv), past - unit);
    return (tern__attention_span){b, chunk, kv, heads, b->rows * a->z.group};
}

static void put_block(const tern__attending *a, const tern__attention_block *b)
{
    const int64_t group = a->z.group, queries = a->z.queries;
    for (int64_t kv = 0; kv < a->z.kv_heads; kv++)
        for (int64_t j = 0; j < b->rows * group; j++)
            put(a, b->begin + j / group, kv * group + j % group, a->state_tops[2 * (kv * queries + j) + 1],
                a->states + (kv * queries + j) * a->z.padded);
}

/* Units [first, past) of a block. */
static void attend_units(const tern__attending *a, const tern__attention_block *b, int64_t first,
                         int64_t past)
{
    const bool whole = first == 0 && past == b->units;
    if (first >= past)
        return;
    if (a->p->split && first == 0)
        a->marks[b->begin] = whole;
    if (b->keys == 0) {
        put_zeros(a, b);
        return;
    }
    for (int64_t unit = first; unit < past;) {
        const tern__attention_span s = span_at(a, b, unit, past);
        tern__attend_span(a, &s);
        for (int64_t h = 0; h < s.heads; h++)
            (whole ? add_to_states : leave_parts)(a, &s, h);
        unit += s.heads;
    }
    if (whole)
        put_block(a, b);
}

/* The first unit that begins at or behind weight `from` of a block; a block that is not split is one unit. */
static int64_t unit_at(const tern__attending *a, const tern__attention_block *b, int64_t from)
{
    const int64_t weight = a->p->split ? b->rows : b->rows * b->units;
    const int64_t units = a->p->split ? b->units : 1;
    const int64_t unit = from <= 0 ? 0 : tern__smaller((from + weight - 1) / weight, units);
    return a->p->split ? unit : unit * b->units;
}

static int64_t total_weight(const tern__attending *a)
{
    int64_t total = 0;
    for (int64_t row = 0; row < a->z.rows;) {
        const tern__attention_block b = block_at(a, row);
        total += b.rows * b.units;
        row += b.rows;
    }
    return total;
}

TERN__KERNEL(attention__chunks)
{
    const tern__attending a = attending_of(args);
    TERN_TRY(check_rows(&a, args));
    const int64_t total = total_weight(&a), from = total * begin / WORK, to = total * end / WORK;
    int64_t at = 0;
    for (int64_t row = 0; row < a.z.rows;) {
        const tern__attention_block b = block_at(&a, row);
        attend_units(&a, &b, unit_at(&a, &b, from - at), unit_at(&a, &b, to - at));
        at += b.rows * b.units;
        row += b.rows;
    }
    return TERN_OK;
}

static void merge_row(const tern__attending *a, int64_t row, int64_t head)
{
    const int64_t padded = a->z.padded;
    float tops[HEAD];
    memcpy(tops, part_of(a, row, 0, head), sizeof tops);
    memcpy(a->mixes, part_of(a, row, 0, head) + HEAD, (size_t)padded * sizeof(float));
    for (int64_t chunk = 1; chunk < tern__attention_chunks(tern__attention_keys(a, row)); chunk++) {
        const float *part = part_of(a, row, chunk, head), *later = part_of(a, row, chunk + 2, head);
        for (int64_t i = 0; i < HEAD + padded; i += 16) /* another core may have left it */
            __builtin_prefetch(later + i);
        a->kernel->merge(&tops[0], &tops[1], a->mixes, part[0], part[1], part + HEAD, padded);
    }
    put(a, row, head, tops[1], a->mixes);
}

TERN__KERNEL(attention__merge)
{
    const tern__attending a = attending_of(args);
    const int64_t heads = a.z.heads, all = a.z.rows * heads;
    const int64_t from = all * begin / WORK, to = all * end / WORK;
    for (int64_t row = 0; row < a.z.rows;) {
        const tern__attention_block b = block_at(&a, row);
        const int64_t past = (b.begin + b.rows) * heads;
        for (int64_t i = from > row * heads ? from : row * heads;
             b.keys > 0 && !a.marks[b.begin] && i < tern__smaller(to, past); i++)
            merge_row(&a, i / heads, i % heads);
        row += b.rows;
    }
    return TERN_OK;
}

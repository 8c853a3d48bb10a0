/* attend.c - the loops around the inner kernels of attention.
 *
 * Consecutive rows of one slot make a block; with the keys that its last row sees, and for each head of k and v, its queries
 * pass over a chunk together, so that keys and values are widened once for all of them and come from memory once. The unit of
 * work is (block, chunk, head), heads innermost: the keys of a chunk, all heads of them, are one piece of memory.
 *
 * A worker finds its part when it runs, from the positions: units weigh as many as rows share them, and the weight of all is
 * divided evenly. If a block ends up with several workers (only where few rows would leave workers without work) they leave
 * their chunks in memory that all share, and when all are done the rows are merged from there. */
#include "kernels/attention/attend.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "tensor/convert.h"

enum { IN_Q, IN_K, IN_V, IN_SLOTS, IN_POSITIONS, IN_K_SCALE, IN_V_SCALE };

enum {
    CHUNK = TERN__ATTENTION_CHUNK,
    TILE = TERN__ATTENTION_TILE,
    SHARE = TERN__ATTENTION_SHARE,
    HEAD = 2, /* floats of a state before its mix: max and sum, which stand apart */
    MOST_ROWS = 16,
    ROWS_PER_WORKER = 8, /* fewer rows than that, and blocks are split */
    MOST_SHARED = 64 << 20,
    WORK = 4096,
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t whole_vectors(int64_t floats)
{
    const int64_t lanes = TERN__ATTENTION_LANES;
    return (floats + lanes - 1) / lanes * lanes;
}

static int64_t chunks_of(int64_t keys)
{
    return (keys + CHUNK - 1) / CHUNK;
}

/* ---- planning ---- */

/* Sizes that a call has, and where its scratch lies, in floats. */
typedef struct sizes {
    int64_t rows, heads, d, padded, capacity, kv_heads, group;
    int64_t queries; /* most of a unit */
    int64_t q, scores, tile, mixes, factors, tops, states, all;
} sizes;

static sizes sizes_of(const tern__type *q, const tern__type *k, int64_t block)
{
    sizes z = {.rows = q->shape[0],
               .heads = q->shape[1],
               .d = q->shape[2],
               .padded = whole_vectors(q->shape[2]),
               .capacity = k->shape[1],
               .kv_heads = k->shape[2]};
    z.group = z.heads / z.kv_heads;
    z.queries = block * z.group;
    z.scores = z.q + z.queries * z.padded;
    z.tile = z.scores + z.queries * CHUNK;
    z.mixes = z.tile + TILE * z.padded;
    z.factors = z.mixes + z.queries * z.padded;
    z.tops = z.factors + 2 * CHUNK;
    z.states = z.tops + whole_vectors(HEAD * z.queries);
    z.all = z.states + whole_vectors(z.kv_heads * z.queries * HEAD) + z.kv_heads * z.queries * z.padded;
    return z;
}

/* Bytes that workers share: a mark for each row, then max, sum and mix of each row, chunk and head. */
static bool shared_bytes(const sizes *z, size_t *bytes)
{
    int64_t n;
    return tern__i64_mul(z->rows, chunks_of(z->capacity), &n) && tern__i64_mul(n, z->heads, &n) &&
           tern__i64_mul(n, HEAD + z->padded, &n) && tern__i64_add(n, whole_vectors(z->rows), &n) &&
           tern__i64_mul(n, sizeof(float), &n) && tern__size_from_i64(n, bytes);
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
    block = smaller(smaller(block, 4 * MOST_ROWS), q->shape[0] > 1 ? q->shape[0] : 1);
    if (variant.block <= 0)
        block = smaller(block, MOST_ROWS);
    const sizes z = sizes_of(q, in[IN_K], block);
    tern__attention_program p = {
        .kernel = kernel, .block = block, .work = WORK, .scratch_bytes = (size_t)z.all * sizeof(float)};
    const bool few = z.rows < ROWS_PER_WORKER * workers;
    p.split = workers > 1 && (variant.split < 0 ? few : variant.split != 0) &&
              shared_bytes(&z, &p.shared_bytes) && p.shared_bytes <= MOST_SHARED;
    if (!p.split)
        p.shared_bytes = 0;
    *out = p;
    return true;
}

/* ---- a call ---- */

typedef struct attending {
    const tern__attention_program *p;
    const tern__attention_kernel *kernel;
    const tern__buffer *q, *k, *v, *k_scale, *v_scale, *y;
    const int32_t *slots, *positions;
    int64_t slots_step, positions_step;
    sizes z;
    float scale;
    float *q_room;              /* (queries, padded) */
    float *scores;              /* (queries, CHUNK) */
    float *tile;                /* (TILE, padded) */
    float *mixes;               /* (queries, padded) of the chunk at hand */
    float *k_factor, *v_factor; /* (CHUNK) */
    float *tops;                /* (queries, max and sum) of the chunk at hand */
    float *state_tops;          /* (kv_heads, queries, max and sum) of all chunks before */
    float *states;              /* (kv_heads, queries, padded) */
    int32_t *marks;             /* (rows) shared: is the block that begins here complete? */
    float *parts;               /* (rows, chunks, heads, max, sum and mix) shared */
} attending;

static attending attending_of(const tern__kernel_args *args)
{
    const tern__attention_program *p = args->program;
    attending a = {.p = p,
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
                   .z = sizes_of(args->in[IN_Q].type, args->in[IN_K].type, p->block)};
    const sizes *z = &a.z;
    float *scratch = args->scratch;
    a.scale = (float)(args->attrs[0].f != 0 ? args->attrs[0].f : 1 / sqrt((double)z->d));
    a.q_room = scratch + z->q;
    a.scores = scratch + z->scores;
    a.tile = scratch + z->tile;
    a.mixes = scratch + z->mixes;
    a.k_factor = scratch + z->factors;
    a.v_factor = a.k_factor + CHUNK;
    a.tops = scratch + z->tops;
    a.state_tops = scratch + z->states;
    a.states = a.state_tops + whole_vectors(z->kv_heads * z->queries * HEAD);
    a.marks = args->shared;
    a.parts = p->split ? (float *)args->shared + whole_vectors(z->rows) : NULL;
    return a;
}

static int64_t position_of(const attending *a, int64_t row)
{
    return a->positions[row * a->positions_step];
}

static int64_t slot_of(const attending *a, int64_t row)
{
    return a->slots[row * a->slots_step];
}

static tern_status refuse_index(tern__kernel_args *args, int64_t value, int64_t limit)
{
    args->fault = (tern__fault){value, limit};
    return TERN_OUT_OF_RANGE;
}

static tern_status check_rows(const attending *a, tern__kernel_args *args)
{
    const int64_t slots = a->k->type->shape[0];
    for (int64_t row = 0; row < a->z.rows; row++) {
        const int64_t position = position_of(a, row), slot = slot_of(a, row);
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

typedef struct block {
    int64_t begin, rows;
    int64_t slot, keys; /* keys that any of its rows sees; 0: padding */
    int64_t units;      /* chunks x heads; 1 for padding */
} block;

/* The block that begins at `row`. */
static block block_at(const attending *a, int64_t row)
{
    block b = {.begin = row, .rows = 1, .slot = slot_of(a, row), .keys = position_of(a, row) + 1};
    for (int64_t next = row + 1; next < smaller(a->z.rows, row + a->p->block); next++, b.rows++) {
        const int64_t keys = position_of(a, next) + 1;
        if ((keys == 0) != (b.keys == 0) || (keys > 0 && slot_of(a, next) != b.slot))
            break;
        b.keys = keys > b.keys ? keys : b.keys;
    }
    b.units = b.keys ? chunks_of(b.keys) * a->z.kv_heads : 1;
    return b;
}

/* Keys of a chunk that a row of the block sees. */
static int64_t seen(const attending *a, int64_t row, int64_t chunk)
{
    const int64_t keys = position_of(a, row) + 1 - chunk * CHUNK;
    return keys < 0 ? 0 : smaller(keys, CHUNK);
}

/* ---- one unit ---- */

static const char *address(const tern__buffer *x, int64_t units)
{
    return (const char *)x->data + units * (int64_t)tern__dtype_unit_bytes(x->type->dtype);
}

static void gather_queries(const attending *a, const block *b, int64_t kv)
{
    const tern__buffer *q = a->q;
    float *to = a->q_room;
    for (int64_t row = b->begin; row < b->begin + b->rows; row++)
        for (int64_t head = kv * a->z.group; head < (kv + 1) * a->z.group; head++, to += a->z.padded) {
            const int64_t at = row * q->strides[0] + head * q->strides[1];
            tern__convert(q->type->dtype, address(q, at), q->strides[2], TERN_F32, to, 1, a->z.d);
            for (int64_t i = a->z.d; i < a->z.padded; i++)
                to[i] = 0;
        }
}

/* Keys [first, first + n) of k or v of one head; `next` is what will be read after them. */
static tern__attention_rows rows_of(const tern__buffer *x, const block *b, int64_t kv, int64_t first,
                                    int64_t n, const char *next)
{
    const int64_t at = b->slot * x->strides[0] + first * x->strides[1] + kv * x->strides[2];
    return (tern__attention_rows){.from = address(x, at),
                                  .step = address(x, x->strides[1]) - (const char *)x->data,
                                  .rows = n,
                                  .next = next,
                                  .dtype = x->type->dtype};
}

/* Do the inner kernels read k or v as it lies? Many queries have its rows widened first, once for all. */
static bool is_direct(const attending *a, const tern__buffer *x, int64_t queries)
{
    return x->strides[3] == 1 && a->z.d == a->z.padded && (queries <= SHARE || x->type->dtype == TERN_F32);
}

/* At most TILE of these rows, widened. */
static tern__attention_rows widened(const attending *a, const tern__buffer *x, tern__attention_rows rows)
{
    const int64_t padded = a->z.padded;
    if (x->strides[3] == 1) {
        a->kernel->widen(&rows, a->z.d, padded, a->tile);
    } else {
        for (int64_t t = 0; t < rows.rows; t++) {
            float *to = a->tile + t * padded;
            tern__convert(rows.dtype, rows.from + t * rows.step, x->strides[3], TERN_F32, to, 1, a->z.d);
            for (int64_t i = a->z.d; i < padded; i++)
                to[i] = 0;
        }
    }
    return (tern__attention_rows){.from = (const char *)a->tile,
                                  .step = padded * (int64_t)sizeof(float),
                                  .rows = rows.rows,
                                  .dtype = TERN_F32};
}

/* to[t] = numerator / scale of key first + t. */
static void factors(const tern__buffer *scales, const block *b, int64_t kv, int64_t first, int64_t n,
                    float numerator, float *to)
{
    const float *from = (const float *)scales->data + b->slot * scales->strides[0] + kv * scales->strides[2];
    /* Scales of the heads lie side by side. Brought together first, they are divided several at a time. */
    for (int64_t t = 0; t < n; t++)
        to[t] = from[(first + t) * scales->strides[1]];
    for (int64_t t = 0; t < n; t++)
        to[t] = numerator / to[t];
    for (int64_t t = n; t < CHUNK; t++)
        to[t] = 0;
}

/* At most n of these rows, from row t on: what is read after them are the rest of them, as long as there are any. */
static tern__attention_rows part_of_rows(const tern__attention_rows *rows, int64_t t, int64_t n)
{
    tern__attention_rows part = *rows;
    part.from += t * rows->step;
    part.rows = smaller(n, rows->rows - t);
    if (t + part.rows < rows->rows)
        part.next = part.from + part.rows * rows->step;
    return part;
}

static void score_chunk(const attending *a, const block *b, tern__attention_rows k)
{
    const int64_t queries = b->rows * a->z.group, keys = k.rows;
    const bool direct = is_direct(a, a->k, queries);
    const int64_t most = queries <= SHARE && direct ? CHUNK : TILE;
    for (int64_t t = 0; t < keys; t += most) {
        const tern__attention_rows part = part_of_rows(&k, t, most);
        const tern__attention_rows tile = direct ? part : widened(a, a->k, part);
        a->kernel->score(a->q_room, queries, &tile, a->z.padded, a->scores + t, CHUNK);
    }
}

static void soften_chunk(const attending *a, const block *b, int64_t chunk)
{
    const float *factor = a->k_scale ? a->k_factor : &a->scale;
    for (int64_t j = 0; j < b->rows * a->z.group; j++) {
        const int64_t n = seen(a, b->begin + j / a->z.group, chunk);
        float *p = a->scores + j * CHUNK;
        if (n == 0)
            continue;
        a->kernel->soften(p, factor, a->k_scale != NULL, n, &a->tops[2 * j], &a->tops[2 * j + 1]);
        for (int64_t t = 0; a->v_scale && t < n; t++)
            p[t] *= a->v_factor[t];
    }
}

/* Rows of v, key t of the chunk and those after it, into the mixes of all queries that see them: of SHARE at once as far as
 * all of them do. */
static void mix_tile(const attending *a, const block *b, int64_t chunk, int64_t t, tern__attention_rows v)
{
    const int64_t queries = b->rows * a->z.group, padded = a->z.padded, n = v.rows;
    for (int64_t j = 0; j < queries; j += SHARE) {
        const int64_t together = smaller(SHARE, queries - j);
        int64_t mine[SHARE], fewest = n;
        for (int64_t i = 0; i < together; i++) {
            const int64_t left = seen(a, b->begin + (j + i) / a->z.group, chunk) - t;
            mine[i] = left < 0 ? 0 : smaller(left, n);
            fewest = smaller(fewest, mine[i]);
        }
        const float *p = a->scores + j * CHUNK + t;
        float *mixes = a->mixes + j * padded;
        v.rows = fewest;
        a->kernel->mix(p, CHUNK, together, &v, padded, mixes);
        for (int64_t i = 0; i < together; i++) {
            tern__attention_rows rest = v;
            rest.from += fewest * v.step;
            rest.rows = mine[i] - fewest;
            if (rest.rows > 0)
                a->kernel->mix(p + i * CHUNK + fewest, CHUNK, 1, &rest, padded, mixes + i * padded);
        }
    }
}

static void mix_chunk(const attending *a, const block *b, int64_t chunk, tern__attention_rows v)
{
    const int64_t queries = b->rows * a->z.group, keys = v.rows;
    const bool direct = is_direct(a, a->v, queries);
    const int64_t most = queries <= SHARE && direct ? CHUNK : TILE;
    memset(a->mixes, 0, (size_t)(queries * a->z.padded) * sizeof(float));
    for (int64_t t = 0; t < keys; t += most) {
        const tern__attention_rows part = part_of_rows(&v, t, most);
        mix_tile(a, b, chunk, t, direct ? part : widened(a, a->v, part));
    }
}

static void attend_chunk(const attending *a, const block *b, int64_t chunk, int64_t kv)
{
    const int64_t first = chunk * CHUNK, keys = smaller(CHUNK, b->keys - first);
    const bool last = kv + 1 == a->z.kv_heads;
    const tern__attention_rows then =
        rows_of(a->k, b, last ? 0 : kv + 1, last ? first + keys : first, 0, NULL);
    const tern__attention_rows v = rows_of(a->v, b, kv, first, keys, then.from);
    const tern__attention_rows k = rows_of(a->k, b, kv, first, keys, v.from);
    gather_queries(a, b, kv);
    if (a->k_scale)
        factors(a->k_scale, b, kv, first, keys, a->scale, a->k_factor);
    if (a->v_scale)
        factors(a->v_scale, b, kv, first, keys, 1, a->v_factor);
    score_chunk(a, b, k);
    soften_chunk(a, b, chunk);
    mix_chunk(a, b, chunk, v);
}

/* ---- what becomes of it ---- */

static void put(const attending *a, int64_t row, int64_t head, float sum, float *mix)
{
    const tern__buffer *y = a->y;
    for (int64_t i = 0; i < a->z.d; i++)
        mix[i] /= sum;
    char *to = (char *)y->data +
               (row * y->strides[0] + head * y->strides[1]) * (int64_t)tern__dtype_unit_bytes(y->type->dtype);
    tern__convert(TERN_F32, mix, 1, y->type->dtype, to, y->strides[2], a->z.d);
}

static void put_zeros(const attending *a, const block *b)
{
    for (int64_t i = 0; i < a->z.d; i++)
        a->mixes[i] = 0;
    for (int64_t row = b->begin; row < b->begin + b->rows; row++)
        for (int64_t head = 0; head < a->z.heads; head++)
            put(a, row, head, 1, a->mixes);
}

/* The chunk at hand into the states of its queries. */
static void add_to_states(const attending *a, const block *b, int64_t chunk, int64_t kv)
{
    const int64_t padded = a->z.padded;
    float *tops = a->state_tops + kv * a->z.queries * HEAD, *states = a->states + kv * a->z.queries * padded;
    const int64_t queries = b->rows * a->z.group;
    if (chunk == 0) { /* which every row sees */
        memcpy(tops, a->tops, (size_t)(queries * HEAD) * sizeof(float));
        memcpy(states, a->mixes, (size_t)(queries * padded) * sizeof(float));
        return;
    }
    for (int64_t j = 0; j < queries; j++)
        if (seen(a, b->begin + j / a->z.group, chunk) > 0)
            a->kernel->merge(&tops[2 * j], &tops[2 * j + 1], states + j * padded, a->tops[2 * j],
                             a->tops[2 * j + 1], a->mixes + j * padded, padded);
}

static float *part_of(const attending *a, int64_t row, int64_t chunk, int64_t head)
{
    const sizes *z = &a->z;
    return a->parts + ((row * chunks_of(z->capacity) + chunk) * z->heads + head) * (HEAD + z->padded);
}

static void leave_parts(const attending *a, const block *b, int64_t chunk, int64_t kv)
{
    const int64_t group = a->z.group, padded = a->z.padded;
    for (int64_t j = 0; j < b->rows * group; j++) {
        const int64_t row = b->begin + j / group;
        if (seen(a, row, chunk) == 0)
            continue;
        float *to = part_of(a, row, chunk, kv * group + j % group);
        memcpy(to, a->tops + 2 * j, HEAD * sizeof(float));
        memcpy(to + HEAD, a->mixes + j * padded, (size_t)padded * sizeof(float));
    }
}

/* ---- the kernel ---- */

static void attend_whole(const attending *a, const block *b)
{
    const int64_t group = a->z.group, queries = a->z.queries;
    for (int64_t chunk = 0; chunk < chunks_of(b->keys); chunk++)
        for (int64_t kv = 0; kv < a->z.kv_heads; kv++) {
            attend_chunk(a, b, chunk, kv);
            add_to_states(a, b, chunk, kv);
        }
    for (int64_t kv = 0; kv < a->z.kv_heads; kv++)
        for (int64_t j = 0; j < b->rows * group; j++)
            put(a, b->begin + j / group, kv * group + j % group, a->state_tops[2 * (kv * queries + j) + 1],
                a->states + (kv * queries + j) * a->z.padded);
}

/* Units [first, past) of a block. */
static void attend_units(const attending *a, const block *b, int64_t first, int64_t past)
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
    if (whole) {
        attend_whole(a, b);
        return;
    }
    for (int64_t unit = first; unit < past; unit++) {
        const int64_t chunk = unit / a->z.kv_heads, kv = unit % a->z.kv_heads;
        attend_chunk(a, b, chunk, kv);
        leave_parts(a, b, chunk, kv);
    }
}

/* The first unit that begins at or behind weight `from` of a block; a block that is not split is one unit. */
static int64_t unit_at(const attending *a, const block *b, int64_t from)
{
    const int64_t weight = a->p->split ? b->rows : b->rows * b->units;
    const int64_t units = a->p->split ? b->units : 1;
    const int64_t unit = from <= 0 ? 0 : smaller((from + weight - 1) / weight, units);
    return a->p->split ? unit : unit * b->units;
}

static int64_t total_weight(const attending *a)
{
    int64_t total = 0;
    for (int64_t row = 0; row < a->z.rows;) {
        const block b = block_at(a, row);
        total += b.rows * b.units;
        row += b.rows;
    }
    return total;
}

TERN__KERNEL(attention__chunks)
{
    const attending a = attending_of(args);
    TERN_TRY(check_rows(&a, args));
    const int64_t total = total_weight(&a), from = total * begin / WORK, to = total * end / WORK;
    int64_t at = 0;
    for (int64_t row = 0; row < a.z.rows;) {
        const block b = block_at(&a, row);
        attend_units(&a, &b, unit_at(&a, &b, from - at), unit_at(&a, &b, to - at));
        at += b.rows * b.units;
        row += b.rows;
    }
    return TERN_OK;
}

static void merge_row(const attending *a, int64_t row, int64_t head)
{
    const int64_t padded = a->z.padded;
    float tops[HEAD];
    memcpy(tops, part_of(a, row, 0, head), sizeof tops);
    memcpy(a->mixes, part_of(a, row, 0, head) + HEAD, (size_t)padded * sizeof(float));
    for (int64_t chunk = 1; chunk < chunks_of(position_of(a, row) + 1); chunk++) {
        const float *part = part_of(a, row, chunk, head);
        a->kernel->merge(&tops[0], &tops[1], a->mixes, part[0], part[1], part + HEAD, padded);
    }
    put(a, row, head, tops[1], a->mixes);
}

TERN__KERNEL(attention__merge)
{
    const attending a = attending_of(args);
    const int64_t heads = a.z.heads, all = a.z.rows * heads;
    const int64_t from = all * begin / WORK, to = all * end / WORK;
    for (int64_t row = 0; row < a.z.rows;) {
        const block b = block_at(&a, row);
        const int64_t past = (b.begin + b.rows) * heads;
        for (int64_t i = from > row * heads ? from : row * heads;
             b.keys > 0 && !a.marks[b.begin] && i < smaller(to, past); i++)
            merge_row(&a, i / heads, i % heads);
        row += b.rows;
    }
    return TERN_OK;
}

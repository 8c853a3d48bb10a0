/* chunk.c - a chunk of keys and values, for one head or several at once.
 *
 * A single row waits for memory, and how it waits least depends on the processor (p->in_order). The keys of a chunk, all
 * heads of them, are one piece of memory. Some processors read it fastest as such: a few keys for each head in turn, then the next
 * few, and what lies some way behind is fetched into the second-level cache. Others are faster with a head at a time, whose next
 * keys, a good many, are fetched into the first-level cache. Several rows are bound by products, and take a head at a time, whose
 * keys are widened once for all of them. None of it changes a bit: each query has its own chains. */
#include "kernels/attention/chunk.h"

#include <string.h>

#include "base/sizes.h"
#include "tensor/convert.h"

enum {
    CHUNK = TERN__ATTENTION_CHUNK,
    TILE = TERN__ATTENTION_TILE,
    SHARE = TERN__ATTENTION_SHARE,
    /* in order */
    AHEAD = 20480, /* bytes from what is read to what is fetched, where all heads are read as one piece */
    TILE_BYTES =
        10240, /* of all heads, about: each tile is a call, and half of the first-level cache is enough */
    FEWEST_KEYS = 4,   /* rows of a tile: what inner kernels take at once */
    FEWEST_VALUES = 8, /* with fewer, mixes are loaded and stored too often */
    /* head by head */
    NEAR_ROWS = 64,     /* of a tile, at most: memory answers in the time that these take */
    NEAR_BYTES = 16384, /* likewise: this tile and the next have to find room in the first-level cache */
};

static const char *address(const tern__buffer *x, int64_t units)
{
    return (const char *)x->data + units * (int64_t)tern__dtype_unit_bytes(x->type->dtype);
}

/* ---- a span's keys ---- */

static int64_t first_key(const tern__attention_span *s)
{
    return s->chunk * CHUNK;
}

static int64_t keys_of(const tern__attention_span *s)
{
    return tern__smaller(CHUNK, s->block->keys - first_key(s));
}

/* ---- what a head brings ---- */

static void gather_queries(const tern__attending *a, const tern__attention_span *s, int64_t h)
{
    const tern__buffer *q = a->q;
    const int64_t kv = s->kv + h;
    float *to = a->q_room + h * s->queries * a->z.padded;
    for (int64_t row = s->block->begin; row < s->block->begin + s->block->rows; row++)
        for (int64_t head = kv * a->z.group; head < (kv + 1) * a->z.group; head++, to += a->z.padded) {
            const int64_t at = row * q->strides[0] + head * q->strides[1];
            tern__convert(q->type->dtype, address(q, at), q->strides[2], TERN_F32, to, 1, a->z.d);
            for (int64_t i = a->z.d; i < a->z.padded; i++)
                to[i] = 0;
        }
}

/* to[t] = numerator / scale of key t of the chunk. */
static void factors(const tern__buffer *scales, const tern__attention_span *s, int64_t kv, float numerator,
                    float *to)
{
    const int64_t first = first_key(s), n = keys_of(s);
    const float *from =
        (const float *)scales->data + s->block->slot * scales->strides[0] + kv * scales->strides[2];
    const float *next = from + (first + CHUNK) * scales->strides[1];
    /* The next chunk's, once for all heads. They are few, but nothing else announces them. */
    for (int64_t i = 0; kv == 0 && i < CHUNK * scales->strides[1]; i += 64 / (int64_t)sizeof *next)
        __builtin_prefetch(next + i);
    /* Scales of the heads lie side by side. Brought together first, they are divided several at a time. */
    for (int64_t t = 0; t < n; t++)
        to[t] = from[(first + t) * scales->strides[1]];
    for (int64_t t = 0; t < n; t++)
        to[t] = numerator / to[t];
    for (int64_t t = n; t < CHUNK; t++)
        to[t] = 0;
}

/* ---- tiles: some rows of k or v of one head ---- */

/* k or v of a span. Known before its tiles, which take no longer than a hundred products. */
typedef struct side {
    const tern__buffer *x;
    const char *from;        /* the chunk's first row of head s->kv */
    int64_t key, head, line; /* bytes from key to key, from head to head, and of a row */
    int64_t most;            /* rows of a tile */
    bool as_one;             /* all heads are taken, lie in one piece, and are fetched as such */
    bool near;               /* the next tile is what is fetched */
    bool to_first;           /* into the first-level cache */
    /* inner kernels read it as it lies; many queries have its rows widened first, once for all */
    bool direct;
} side;

static int64_t tile_rows(const tern__attention_span *s, const side *o, int64_t fewest)
{
    if (s->block->rows > 1)
        return TILE;
    if (o->near)
        return tern__smaller(tern__larger(NEAR_BYTES / tern__larger(o->line, 1) / fewest * fewest, fewest),
                             o->direct ? NEAR_ROWS : TILE);
    const int64_t rows =
        tern__larger(TILE_BYTES / tern__larger(s->heads * o->line, 1) / fewest * fewest, fewest);
    return tern__smaller(rows, o->direct ? CHUNK : TILE);
}

static side side_of(const tern__attending *a, const tern__attention_span *s, const tern__buffer *x,
                    int64_t fewest)
{
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(x->type->dtype);
    const int64_t at = s->block->slot * x->strides[0] + first_key(s) * x->strides[1] + s->kv * x->strides[2];
    side o = {.x = x,
              .from = (const char *)x->data + at * unit,
              .key = x->strides[1] * unit,
              .head = x->strides[2] * unit,
              .line = a->z.d * unit,
              .as_one = a->p->in_order && s->heads == a->z.kv_heads,
              .near = !a->p->in_order && s->block->rows == 1,
              .to_first = a->p->to_first && s->block->rows == 1,
              .direct = x->strides[3] == 1 && a->z.d == a->z.padded &&
                        (s->queries <= SHARE || x->type->dtype == TERN_F32)};
    o.most = tile_rows(s, &o, fewest);
    return o;
}

/* Rows of head h of the span, from row t of the chunk on, and what is fetched while they are read: the rows behind them or, behind
 * the last of the chunk, what begins at `next`, rows of another side. */
static tern__attention_rows tile_at(const side *o, int64_t keys, int64_t h, int64_t t, const side *other,
                                    const char *next)
{
    tern__attention_rows rows = {.from = o->from + t * o->key + h * o->head,
                                 .step = o->key,
                                 .rows = tern__smaller(o->most, keys - t),
                                 .to_first = o->to_first,
                                 .near = o->near,
                                 .dtype = o->x->type->dtype};
    if (o->as_one) {
        const int64_t at = t * o->key + h * o->most * o->line + AHEAD;
        rows.next = at < keys * o->key ? o->from + at : next + (at - keys * o->key);
        rows.next_step = o->line;
    } else {
        const bool last = t + o->most >= keys;
        rows.next = last ? next + h * other->head : o->from + (t + o->most) * o->key + h * o->head;
        rows.next_step = last ? other->key : o->key;
    }
    return rows;
}

/* The rows as the inner kernels take them: as they lie, or, at most TILE of them, widened. */
static tern__attention_rows readable(const tern__attending *a, const side *o, tern__attention_rows rows)
{
    const int64_t padded = a->z.padded;
    if (o->direct)
        return rows;
    if (o->x->strides[3] == 1) {
        a->kernel->widen(&rows, a->z.d, padded, a->tile);
    } else {
        for (int64_t t = 0; t < rows.rows; t++) {
            float *to = a->tile + t * padded;
            tern__convert(rows.dtype, rows.from + t * rows.step, o->x->strides[3], TERN_F32, to, 1, a->z.d);
            for (int64_t i = a->z.d; i < padded; i++)
                to[i] = 0;
        }
    }
    return (tern__attention_rows){.from = (const char *)a->tile,
                                  .step = padded * (int64_t)sizeof(float),
                                  .rows = rows.rows,
                                  .dtype = TERN_F32};
}

/* ---- scores ---- */

static void score_span(const tern__attending *a, const tern__attention_span *s, const side *k, const side *v)
{
    const int64_t keys = keys_of(s), place = s->queries * a->z.padded;
    for (int64_t t = 0; t < keys; t += k->most)
        for (int64_t h = 0; h < s->heads; h++) {
            const tern__attention_rows rows = readable(a, k, tile_at(k, keys, h, t, v, v->from));
            a->kernel->score(a->q_room + h * place, s->queries, &rows, a->z.padded,
                             a->scores + h * s->queries * CHUNK + t, CHUNK);
        }
}

static void soften_span(const tern__attending *a, const tern__attention_span *s)
{
    for (int64_t h = 0; h < s->heads; h++) {
        const float *factor = a->k_scale ? a->k_factor + h * CHUNK : &a->scale;
        const float *v_factor = a->v_factor + h * CHUNK;
        for (int64_t j = 0; j < s->queries; j++) {
            const int64_t place = h * s->queries + j;
            const int64_t n = tern__attention_seen(a, s->block->begin + j / a->z.group, s->chunk);
            float *p = a->scores + place * CHUNK;
            if (n == 0)
                continue;
            a->kernel->soften(p, factor, a->k_scale != NULL, n, &a->tops[2 * place], &a->tops[2 * place + 1]);
            for (int64_t t = 0; a->v_scale && t < n; t++)
                p[t] *= v_factor[t];
        }
    }
}

/* ---- mixes ---- */

/* Rows of v, key t of the chunk and those after it, into the mixes of the queries [place, place + together) that see them: of
 * all at once as far as all of them do. `j` is the number of the first among those of its head. */
static void mix_ragged(const tern__attending *a, const tern__attention_span *s, int64_t place, int64_t j,
                       int64_t together, int64_t t, tern__attention_rows v)
{
    const int64_t padded = a->z.padded, n = v.rows;
    const float *p = a->scores + place * CHUNK + t;
    float *mixes = a->mixes + place * padded;
    int64_t mine[SHARE], fewest = n;
    for (int64_t i = 0; i < together; i++) {
        const int64_t left = tern__attention_seen(a, s->block->begin + (j + i) / a->z.group, s->chunk) - t;
        mine[i] = left < 0 ? 0 : tern__smaller(left, n);
        fewest = tern__smaller(fewest, mine[i]);
    }
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

static void mix_tile(const tern__attending *a, const tern__attention_span *s, int64_t h, int64_t t,
                     int64_t seen_by_all, const tern__attention_rows *v)
{
    for (int64_t j = 0; j < s->queries; j += SHARE) {
        const int64_t together = tern__smaller(SHARE, s->queries - j), place = h * s->queries + j;
        if (t + v->rows <= seen_by_all)
            a->kernel->mix(a->scores + place * CHUNK + t, CHUNK, together, v, a->z.padded,
                           a->mixes + place * a->z.padded);
        else
            mix_ragged(a, s, place, j, together, t, *v);
    }
}

/* Keys of the chunk that every row of the block sees. */
static int64_t seen_by_all(const tern__attending *a, const tern__attention_span *s)
{
    int64_t seen = CHUNK;
    for (int64_t row = s->block->begin; row < s->block->begin + s->block->rows; row++)
        seen = tern__smaller(seen, tern__attention_seen(a, row, s->chunk));
    return seen;
}

static void mix_span(const tern__attending *a, const tern__attention_span *s, const side *k, const side *v)
{
    const int64_t keys = keys_of(s), all = seen_by_all(a, s);
    /* After the values come the keys of the next heads, or of the next chunk. */
    const char *next = s->kv + s->heads < a->z.kv_heads ? k->from + s->heads * k->head
                                                        : k->from + CHUNK * k->key - s->kv * k->head;
    memset(a->mixes, 0, (size_t)(s->heads * s->queries * a->z.padded) * sizeof(float));
    for (int64_t t = 0; t < keys; t += v->most)
        for (int64_t h = 0; h < s->heads; h++) {
            const tern__attention_rows rows = readable(a, v, tile_at(v, keys, h, t, k, next));
            mix_tile(a, s, h, t, all, &rows);
        }
}

void tern__attend_span(const tern__attending *a, const tern__attention_span *s)
{
    for (int64_t h = 0; h < s->heads; h++) {
        gather_queries(a, s, h);
        if (a->k_scale)
            factors(a->k_scale, s, s->kv + h, a->scale, a->k_factor + h * CHUNK);
        if (a->v_scale)
            factors(a->v_scale, s, s->kv + h, 1, a->v_factor + h * CHUNK);
    }
    const side k = side_of(a, s, a->k, FEWEST_KEYS), v = side_of(a, s, a->v, FEWEST_VALUES);
    score_span(a, s, &k, &v);
    soften_span(a, s);
    mix_span(a, s, &k, &v);
}

/* chunk.h - one chunk of keys and values of some heads, for the queries of a block: scores, their softmax, the mixes of values.
 * attend.c decides which chunks are computed by whom, and what becomes of the mixes. */
#ifndef TERN_KERNELS_ATTENTION_CHUNK_H
#define TERN_KERNELS_ATTENTION_CHUNK_H

#include "kernels/attention/attend.h"

enum {
    TERN__ATTENTION_HEAD = 2,    /* floats of a state before its mix: max and sum, which stand apart */
    TERN__ATTENTION_PLACES = 64, /* queries of several heads that take a chunk together, at most */
};

/* Sizes that a call has, and where its scratch lies, in floats. */
typedef struct tern__attention_sizes {
    int64_t rows, heads, d, padded, capacity, kv_heads, group;
    int64_t queries; /* most of a block and a head */
    int64_t
        together;   /* heads of k and v that take a chunk together, for a block of one row in order; else 1 */
    int64_t places; /* most queries that take a chunk together */
    int64_t q, scores, tile, mixes, factors, tops, states, all;
} tern__attention_sizes;

/* A call as a worker sees it. */
typedef struct tern__attending {
    const tern__attention_program *p;
    const tern__attention_kernel *kernel;
    const tern__buffer *q, *k, *v, *k_scale, *v_scale, *y;
    const int32_t *slots, *positions;
    int64_t slots_step, positions_step;
    tern__attention_sizes z;
    float scale;
    float *q_room;              /* (places, padded) */
    float *scores;              /* (places, CHUNK) */
    float *tile;                /* (TILE, padded) */
    float *mixes;               /* (places, padded) of the chunk at hand */
    float *k_factor, *v_factor; /* (together, CHUNK) */
    float *tops;                /* (places, max and sum) of the chunk at hand */
    float *state_tops;          /* (kv_heads, queries, max and sum) of all chunks before */
    float *states;              /* (kv_heads, queries, padded) */
    int32_t *marks;             /* (rows) shared: is the block that begins here complete? */
    float *parts;               /* (rows, chunks, heads, max, sum and mix) shared */
} tern__attending;

/* Consecutive rows of one slot. */
typedef struct tern__attention_block {
    int64_t begin, rows;
    int64_t slot, keys; /* keys that any of its rows sees; 0: padding */
    int64_t units;      /* chunks x heads; 1 for padding */
} tern__attention_block;

/* A chunk of a block, and the heads [kv, kv + heads) of its keys and values. */
typedef struct tern__attention_span {
    const tern__attention_block *block;
    int64_t chunk, kv, heads;
    int64_t queries; /* of each head: those of the block */
} tern__attention_span;

static inline int64_t tern__attention_chunks(int64_t keys)
{
    return (keys + TERN__ATTENTION_CHUNK - 1) / TERN__ATTENTION_CHUNK;
}

/* Keys that a row sees. */
static inline int64_t tern__attention_keys(const tern__attending *a, int64_t row)
{
    return (int64_t)a->positions[row * a->positions_step] + 1;
}

/* Keys of a chunk that a row sees. */
static inline int64_t tern__attention_seen(const tern__attending *a, int64_t row, int64_t chunk)
{
    const int64_t keys = tern__attention_keys(a, row) - chunk * TERN__ATTENTION_CHUNK;
    return keys < 0 ? 0 : keys < TERN__ATTENTION_CHUNK ? keys : TERN__ATTENTION_CHUNK;
}

/* Leaves max and sum of query j of head kv + h in a->tops, and its mix in a->mixes, at place h * queries + j; where the query's
 * row sees no key of the chunk they mean nothing. */
void tern__attend_span(const tern__attending *a, const tern__attention_span *s);

#endif

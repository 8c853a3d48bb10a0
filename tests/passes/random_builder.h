/* random_builder.h - between random_graph.c (the builder) and random_recipes.c (what it builds). */
#ifndef TERN_TESTS_PASSES_RANDOM_BUILDER_H
#define TERN_TESTS_PASSES_RANDOM_BUILDER_H

#include "random_graph.h"

enum { RANDOM_MAX_VALUES = 1024 };

typedef struct fact {
    tern__id base; /* the value whose buffer it lies in, if views need no copies */
    bool spent;    /* overwritten: nothing may read it */
    bool writable; /* may be overwritten */
} fact;

typedef struct builder {
    tern_graph *g;
    random_state r;
    random_graph_options options;
    int n_inputs;
    int64_t sizes[3];
    fact facts[RANDOM_MAX_VALUES];
} builder;

const tern__type *type_of(const builder *b, tern__id value);

/* All of these: false = it does not fit, nothing (or only a cast) was added. */
bool add_leaf(builder *b, tern__opcode op, const tern__type *type, tern__id *out);
bool add_index_leaf(builder *b, tern_dtype dtype, int rank, const int64_t *shape, int64_t low, int64_t limit,
                    tern__id *out);
bool add_op(builder *b, tern__opcode op, uint32_t n_in, const tern__id *operands, const tern__attr *attrs,
            tern__id *out);
bool add_unary(builder *b, tern__opcode op, tern__id x, tern__id *out); /* attributes as by default */

tern__id pick(builder *b);
bool pick_where(builder *b, bool (*suits)(const tern__type *type), tern__id *out);

/* Adds an op or a few. */
void random_recipe(builder *b);

#endif

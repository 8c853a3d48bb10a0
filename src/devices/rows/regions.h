/* regions.h - calls and fused regions as row programs. */
#ifndef TERN_DEVICES_ROWS_REGIONS_H
#define TERN_DEVICES_ROWS_REGIONS_H

#include "graph/region.h"
#include "kernels/row/program.h"

/* How a program is to run, where the device's own choice (NULL) is not wanted. No bit of a result depends on it. */
typedef struct tern__row_variant {
    int64_t tile; /* elements that an instruction takes at a time */
    bool streams; /* results go past the caches */
} tern__row_variant;

/* The program of a call: of a fused region, or of one op that could be part of one. *out stays NULL where there is none, and
 * another kernel must run it. An op has the same bits in a program of its own and in any region. */
tern_status tern__rows_program(const tern__call *call, const tern__rowop_table *table,
                               const tern__row_variant *variant, tern__arena *arena,
                               const tern__row_program **out);

/* The program of a region behind its product: its operands are those of the region that tern__region_reads_rows names, then
 * the product's result. *out stays NULL where there is none. */
tern_status tern__rows_epilogue(const tern__region *region, const tern__rowop_table *table,
                                tern__arena *arena, const tern__row_program **out);

/* Has the call instructions, so that it may be part of a region? */
bool tern__rows_has(const tern__call *call, const tern__rowop_table *table);

/* Does one of those instructions have to be rounded correctly (tern__row_rounds)? false: there are none. */
bool tern__rows_round(const tern__call *call, const tern__rowop_table *table);

/* ---- expand.c: what an op is made of ---- */

typedef struct tern__row_context {
    tern__row_builder *b;
    const tern__rowop_table *table;
    int64_t row; /* elements */
} tern__row_context;

/* Are there instructions for an op, whatever types they are for? */
bool tern__row_knows(tern__opcode op);

/* Adds the instructions of one op: `in` are its operands, `out` receives its results. false: there are none for it. */
bool tern__row_expand(const tern__row_context *c, const tern__call *call, const tern__row_id *in,
                      tern__row_id *out);

#endif

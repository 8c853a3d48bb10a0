/* candidates.c - the ways in which the CPU can run a call.
 *
 * Row programs: how many elements an instruction takes at a time (shorter tiles keep more values in L1, longer ones spread
 * the cost of an instruction over more elements), and whether results go past the caches. Reductions add element i to lane
 * i % 16 however rows are cut, so every candidate gives the same bits.
 *
 * Products: how many rows are worked on at a time. Each output is one chain of sums whatever is worked on beside it.
 *
 * Attention: how many rows share a pass over the keys, and whether several workers share the chunks of such a block. Chunks lie
 * at absolute positions and are merged in ascending order by whomever they were computed. */
#include "devices/cpu/candidates.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "devices/cpu/attention.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/products.h"

/* Zero: as usual. PARAM_SPLIT is 1 + whether. */
enum { PARAM_TILE, PARAM_STREAMS, PARAM_ROWS, PARAM_SPLIT };

static const int64_t tiles[] = {256, 512, 1024, 2048, 4096};

bool tern__cpu_candidate_is_row(const tern__candidate *candidate)
{
    return candidate && candidate->params[PARAM_TILE] != 0;
}

tern__row_variant tern__cpu_row_variant(const tern__candidate *candidate)
{
    return (tern__row_variant){.tile = candidate->params[PARAM_TILE],
                               .streams = candidate->params[PARAM_STREAMS] != 0};
}

static tern__candidate row_candidate(int64_t tile, bool streams)
{
    tern__candidate c = {.params = {[PARAM_TILE] = tile, [PARAM_STREAMS] = streams}};
    snprintf(c.name, sizeof c.name, "tile=%" PRId64 " stream=%d", tile, streams);
    return c;
}

/* Results smaller than this stay in the caches, where the next step wants them. */
static bool may_stream(const tern__call *call)
{
    const double least = 1 << 20;
    double bytes = 0;
    for (int i = 0; i < call->n_out; i++)
        bytes += (double)tern__type_bytes(&call->out[i]);
    return bytes >= least;
}

static int row_candidates(const tern__row_program *p, const tern__call *call, int most, tern__candidate *out)
{
    int n = 0;
    int64_t row = p->domain.rank ? p->domain.shape[p->domain.rank - 1] : 1;
    int64_t longest = p->reduces ? row : tern__type_numel(&p->domain);
    out[n++] = row_candidate(p->tile, p->streams);
    for (int flip = 0; flip <= (may_stream(call) ? 1 : 0); flip++) {
        bool streams = p->streams != (flip == 1);
        if (flip && n < most)
            out[n++] = row_candidate(p->tile, streams);
        for (size_t i = 0; i < TERN__COUNT(tiles) && n < most; i++)
            if (tiles[i] != p->tile && tiles[i] < longest)
                out[n++] = row_candidate(tiles[i], streams);
    }
    return n;
}

int64_t tern__cpu_candidate_rows(const tern__candidate *candidate)
{
    return candidate ? candidate->params[PARAM_ROWS] : 0;
}

static int product_candidates(const tern__target *target, const tern__call *call, int most,
                              tern__candidate *out)
{
    int64_t rows[TERN__MAX_CANDIDATES];
    int n =
        tern__cpu_product_rows(target, call, most < TERN__MAX_CANDIDATES ? most : TERN__MAX_CANDIDATES, rows);
    for (int i = 0; i < n; i++) {
        out[i] = (tern__candidate){.params = {[PARAM_ROWS] = i > 0 ? rows[i] : 0}};
        snprintf(out[i].name, sizeof out[i].name, "rows=%" PRId64, rows[i]);
    }
    return n;
}

tern__attention_variant tern__cpu_attention_variant(const tern__candidate *candidate)
{
    return (tern__attention_variant){.block = tern__cpu_candidate_rows(candidate),
                                     .split = candidate ? (int)candidate->params[PARAM_SPLIT] - 1 : -1};
}

static tern__candidate attention_candidate(int64_t block, bool split)
{
    tern__candidate c = {.params = {[PARAM_ROWS] = block, [PARAM_SPLIT] = 1 + split}};
    snprintf(c.name, sizeof c.name, "block=%" PRId64 " split=%d", block, split);
    return c;
}

/* The usual way first, then blocks of one row, two, four ... that the plan takes as they are. */
static int attention_candidates(const tern__target *target, const tern__call *call, int most,
                                tern__candidate *out)
{
    tern__attention_program usual, p;
    const tern__kernel_row *row;
    int n = 0;
    if (most < 1 ||
        !tern__cpu_attention_plan(target, call, (tern__attention_variant){.split = -1}, &row, &usual))
        return 0;
    out[n++] = attention_candidate(usual.block, usual.split);
    for (int flip = 0; flip < 2; flip++)
        for (int64_t block = flip ? usual.block : 1;; block *= 2) {
            const tern__attention_variant variant = {.block = block, .split = usual.split != (flip == 1)};
            if (n == most || !tern__cpu_attention_plan(target, call, variant, &row, &p) || p.block != block)
                break;
            if (p.split == (variant.split != 0) && (flip || block != usual.block))
                out[n++] = attention_candidate(block, p.split);
        }
    return n;
}

static int none_candidates(const tern__target *target, const tern__call *call, int most, tern__candidate *out)
{
    (void)target, (void)call, (void)most, (void)out;
    return 0;
}

static int (*const ways_of[TERN__OP_COUNT])(const tern__target *target, const tern__call *call, int most,
                                            tern__candidate *out) = {
#define TERN_CHOOSER(op, chooser, ways) [TERN__OP_##op] = ways##_candidates,
#include "kernels/kernels.def"
};

int tern__cpu_candidates(const tern__target *target, const tern__call *call, int most, tern__candidate *out)
{
    const tern__row_program *program = NULL;
    tern__arena arena;
    tern__arena_init(&arena, 0);
    int n = 0;
    if (!tern__cpu_shares_rows(call) &&
        tern__rows_program(call, tern__rowop_tables(target->isa_mask), NULL, &arena, &program) == TERN_OK &&
        program)
        n = row_candidates(program, call, most, out);
    else if (ways_of[tern__op_code(call->op)])
        n = ways_of[tern__op_code(call->op)](target, call, most, out);
    tern__arena_free(&arena);
    return n;
}

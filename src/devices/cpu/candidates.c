/* candidates.c - the ways in which the CPU can run a call.
 *
 * Row programs: how many elements an instruction takes at a time (shorter tiles keep more values in L1, longer ones spread
 * the cost of an instruction over more elements), and whether results go past the caches. Reductions add element i to lane
 * i % 16 however rows are cut, so every candidate gives the same bits.
 *
 * Products: how many rows are worked on at a time. Each output is one chain of sums whatever is worked on beside it. */
#include "devices/cpu/candidates.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "devices/cpu/products.h"

enum { PARAM_TILE, PARAM_STREAMS, PARAM_ROWS };

static const int64_t tiles[] = {256, 512, 1024, 2048, 4096};

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

int tern__cpu_candidates(const tern__target *target, const tern__call *call, int most, tern__candidate *out)
{
    const tern__row_program *program = NULL;
    tern__arena arena;
    tern__arena_init(&arena, 0);
    int n = 0;
    if (tern__cpu_row_program(call, tern__rowop_tables(target->isa_mask), NULL, &arena, &program) ==
            TERN_OK &&
        program)
        n = row_candidates(program, call, most, out);
    else
        n = product_candidates(target, call, most, out);
    tern__arena_free(&arena);
    return n;
}

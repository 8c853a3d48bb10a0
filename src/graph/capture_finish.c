/* capture_finish.c - the last step of a capture that is handed out: outputs that the caller left unnamed get numbers
 * that no other output has, and the graph is verified, so that whatever was accepted prints, parses back and
 * compiles. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "graph/text.h"

/* Adds the names that the caller gave; the first of equal ones stays, the verifier complains about the
 * second. */
static tern_status add_given(const tern_graph *g, const char *const *names, tern__names *taken)
{
    uint32_t before;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (names[i])
            TERN_TRY(tern__names_add(taken, names[i], strlen(names[i]), i, &before));
    return TERN_OK;
}

/* An unnamed output goes by its number, or by the first free one after the outputs where somebody has that
 * name. */
static tern_status number_unnamed(tern_graph *g, const char *const *names, const tern__names *taken)
{
    uint32_t next = g->n_outputs;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        char number[16];
        if (names[i] ||
            tern__names_find(taken, g->outputs[i].name, strlen(g->outputs[i].name)) == TERN__NO_ID)
            continue;
        do
            snprintf(number, sizeof number, "%u", next++);
        while (tern__names_find(taken, number, strlen(number)) != TERN__NO_ID);
        g->outputs[i].name = tern__arena_strndup(&g->arena, number, strlen(number));
        if (!g->outputs[i].name)
            return tern__out_of_memory(sizeof number);
    }
    return TERN_OK;
}

tern_status tern__capture_finish(tern_graph *g, const char *const *names)
{
    if (names) {
        tern__names taken = {0};
        tern_status status = add_given(g, names, &taken);
        if (status == TERN_OK)
            status = number_unnamed(g, names, &taken);
        tern__names_free(&taken);
        TERN_TRY(status);
    }
    return tern_graph_verify(g);
}

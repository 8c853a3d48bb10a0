/* assign.c - partitions by a dynamic program. The steps have an order already, so a plan is a way to cut it into stretches that
 * run on the CPU and stretches that run on the device. A stretch on the device costs its steps, what a partition costs, and what crosses its
 * borders: everything that its steps read and did not make, but for constants, which stay on the device, and everything that
 * they made and somebody else reads. The least cost of the first j steps follows from that of fewer:
 *
 *   on the CPU last:     host(j)   = host_ns(j-1) + min(host(j-1), device(j-1) + a partition of the CPU's)
 *   on the device last:  device(j) = min over i of: least(i) + the stretch [i, j) on the device
 *
 * Stretches are at most WINDOW steps long; longer ones are counted as several in a row, each with its borders, and become
 * one partition all the same. Equal costs go to the CPU, then to the longer stretch: the result depends on the figures alone. */
#include "passes/assign.h"

#include <math.h>

#include "base/status.h"
#include "graph/call.h"

enum { WINDOW = 1024 };

/* The best way to run the first j steps if the last of them runs on one side. */
typedef struct cut {
    double ns;
    uint32_t from;     /* of the device: where the stretch begins */
    bool after_device; /* what comes before ends there */
} cut;

typedef struct assigner {
    tern__compilation *c;
    const tern__prediction *prediction;
    tern__assignment *assigned;
    uint32_t *in_seen, *out_seen; /* (n_values) by root: the stretch that counted it, its end + 1 */
    cut *host, *device;           /* (n + 1) */
} assigner;

/* ---- what crosses borders ---- */

/* A stretch that ends at `end` and grows backwards. */
typedef struct stretch {
    uint32_t end;
    double steps_ns, bytes;
} stretch;

static double root_bytes(const tern__compilation *c, tern__id root)
{
    return (double)tern__type_bytes(&c->graph->values[root].type);
}

static bool is_constant(const tern__compilation *c, tern__id root)
{
    return c->graph->nodes[c->graph->values[root].node].op == TERN__OP_constant;
}

/* Results of step s come back if anybody reads them behind the stretch; what read them inside needs nothing from outside. */
static void add_results(assigner *p, stretch *x, uint32_t s)
{
    const tern__gnode *node = &p->c->graph->nodes[p->assigned->nodes[s]];
    for (uint32_t r = 0; r < node->n_out; r++) {
        const tern__id root = p->c->places[node->out + r].root;
        const tern__place *place = &p->c->places[root];
        const bool leaf = p->c->graph->nodes[p->c->graph->values[root].node].leaf != TERN__NO_ID;
        if (!leaf && place->first == s && p->in_seen[root] == x->end + 1) {
            p->in_seen[root] = 0;
            x->bytes -= root_bytes(p->c, root);
        }
        if ((leaf || place->is_output || place->last >= x->end) && p->out_seen[root] != x->end + 1) {
            p->out_seen[root] = x->end + 1;
            x->bytes += root_bytes(p->c, root);
        }
    }
}

static void add_operands(assigner *p, stretch *x, uint32_t s)
{
    const tern__gnode *node = &p->c->graph->nodes[p->assigned->nodes[s]];
    for (uint32_t i = 0; i < node->n_in; i++) {
        const tern__id root = p->c->places[node->in[i]].root;
        if (is_constant(p->c, root) || p->in_seen[root] == x->end + 1)
            continue;
        p->in_seen[root] = x->end + 1;
        x->bytes += root_bytes(p->c, root);
    }
}

/* One more step, before those that it has. */
static void grow(assigner *p, stretch *x, uint32_t s)
{
    x->steps_ns += p->assigned->ns[1][s];
    add_results(p, x, s);
    add_operands(p, x, s);
}

static double stretch_ns(const assigner *p, const stretch *x)
{
    return x->steps_ns + p->prediction->partition_ns[1] + p->prediction->border_ns(p->prediction, x->bytes);
}

/* ---- the dynamic program ---- */

static double least(const assigner *p, uint32_t j, bool *on_device)
{
    *on_device = p->device[j].ns < p->host[j].ns;
    return *on_device ? p->device[j].ns : p->host[j].ns;
}

static void end_on_host(assigner *p, uint32_t j)
{
    const double start = p->prediction->partition_ns[0];
    /* Before the first step nothing runs: the CPU's partition begins with it. */
    const double stays = j == 1 ? start : p->host[j - 1].ns,
                 comes = j == 1 ? INFINITY : p->device[j - 1].ns + start;
    p->host[j] = (cut){.ns = p->assigned->ns[0][j - 1] + (comes < stays ? comes : stays),
                       .from = j - 1,
                       .after_device = comes < stays};
}

static void end_on_device(assigner *p, uint32_t j)
{
    stretch x = {.end = j};
    p->device[j] = (cut){.ns = INFINITY};
    for (uint32_t i = j; i-- > 0 && j - i <= WINDOW;) {
        if (isinf(p->assigned->ns[1][i]))
            break;
        grow(p, &x, i);
        bool after_device;
        const double ns = least(p, i, &after_device) + stretch_ns(p, &x);
        if (ns <= p->device[j].ns)
            p->device[j] = (cut){.ns = ns, .from = i, .after_device = after_device};
    }
}

static void mark(assigner *p, bool on_device)
{
    for (uint32_t j = p->assigned->n; j > 0;) {
        const cut *at = on_device ? &p->device[j] : &p->host[j];
        for (uint32_t s = at->from; s < j; s++)
            p->assigned->sides[s] = on_device ? TERN__SIDE_DEVICE : TERN__SIDE_HOST;
        j = at->from;
        on_device = at->after_device;
    }
}

/* ---- what is known of the steps ---- */

/* Whether the side can run the call, and how long it is predicted to take. */
static tern_status ask(tern__compilation *c, const tern__call *call, bool on_device, tern__arena *memory,
                       double *ns)
{
    tern__choice choice;
    tern__target one = *c->target;
    one.side = on_device ? TERN__SIDE_DEVICE : TERN__SIDE_HOST;
    const tern_status status = one.choose(&one, call, NULL, memory, &choice);
    *ns = INFINITY;
    if (status == TERN_UNSUPPORTED)
        return TERN_OK;
    TERN_TRY(status);
    const double predicted = c->target->prediction->step_ns(c->target->prediction, call, on_device);
    if (predicted >= 0)
        *ns = predicted;
    return TERN_OK;
}

static tern_status ask_all(tern__compilation *c, tern__assignment *assigned, tern__arena *memory)
{
    for (uint32_t i = 0; i < c->graph->n_nodes; i++) {
        if (!c->needs_step[c->order[i]])
            continue;
        tern__call_room room;
        tern__call call;
        tern__arena_reset(memory);
        TERN_TRY(tern__call_of(c->graph, c->order[i], &room, memory, &call));
        assigned->nodes[assigned->n] = c->order[i];
        TERN_TRY(ask(c, &call, false, memory, &assigned->ns[0][assigned->n]));
        assigned->ns[1][assigned->n] = INFINITY;
        if (!c->target->prediction->alone)
            TERN_TRY(ask(c, &call, true, memory, &assigned->ns[1][assigned->n]));
        assigned->n++;
    }
    return TERN_OK;
}

static tern_status make_assigner(tern__compilation *c, tern__assignment *assigned, assigner *out)
{
    const size_t n = assigned->n, values = c->graph->n_values;
    *out = (assigner){.c = c, .prediction = c->target->prediction, .assigned = assigned};
    out->in_seen = tern__arena_alloc_zero(c->arena, values, sizeof *out->in_seen);
    out->out_seen = tern__arena_alloc_zero(c->arena, values, sizeof *out->out_seen);
    out->host = tern__arena_alloc_zero(c->arena, n + 1, sizeof *out->host);
    out->device = tern__arena_alloc_zero(c->arena, n + 1, sizeof *out->device);
    return out->in_seen && out->out_seen && out->host && out->device
               ? TERN_OK
               : tern__out_of_memory((n + values) * sizeof *out->host);
}

/* Where something is not known nothing can be compared: what the CPU can run stays there. */
static bool all_known(const tern__assignment *assigned)
{
    for (uint32_t s = 0; s < assigned->n; s++)
        if (isinf(assigned->ns[0][s]) && isinf(assigned->ns[1][s]))
            return false;
    return true;
}

tern_status tern__assign_steps(tern__compilation *c, tern__assignment *assigned)
{
    const size_t n = c->plan->n_steps;
    *assigned = (tern__assignment){.nodes = tern__arena_alloc_zero(c->arena, n, sizeof *assigned->nodes),
                                   .sides = tern__arena_alloc_zero(c->arena, n, sizeof *assigned->sides)};
    for (int i = 0; i < 2; i++)
        assigned->ns[i] = tern__arena_alloc_zero(c->arena, n, sizeof *assigned->ns[i]);
    if (!assigned->nodes || !assigned->sides || !assigned->ns[0] || !assigned->ns[1])
        return tern__out_of_memory(n * 2 * sizeof *assigned->ns[0]);
    tern__arena memory;
    tern__arena_init(&memory, 0);
    const tern_status status = ask_all(c, assigned, &memory);
    tern__arena_free(&memory);
    TERN_TRY(status);
    for (uint32_t s = 0; s < assigned->n; s++)
        assigned->sides[s] = TERN__SIDE_HOST;
    if (c->target->prediction->alone || !all_known(assigned) || assigned->n == 0)
        return TERN_OK;
    assigner p;
    TERN_TRY(make_assigner(c, assigned, &p));
    for (uint32_t j = 1; j <= assigned->n; j++) {
        end_on_host(&p, j);
        end_on_device(&p, j);
    }
    bool on_device;
    least(&p, assigned->n, &on_device);
    mark(&p, on_device);
    return TERN_OK;
}

/* ---- what is decided, predicted ---- */

tern_status tern__predict_partitions(tern__compilation *c, const tern__assignment *assigned)
{
    tern__plan *plan = c->plan;
    assigner p;
    TERN_TRY(make_assigner(c, (tern__assignment *)(uintptr_t)assigned, &p));
    for (uint32_t i = 0; i < plan->n_partitions; i++) {
        tern__partition *part = &plan->partitions[i];
        stretch x = {.end = part->end};
        double ns = part->on_device ? 0 : p.prediction->partition_ns[0];
        for (uint32_t s = part->end; s-- > part->first;) {
            if (part->on_device)
                grow(&p, &x, s);
            else
                ns += assigned->ns[0][s];
        }
        if (part->on_device)
            ns = stretch_ns(&p, &x);
        part->predicted_ns = isfinite(ns) ? ns : -1;
        plan->predicted_ns =
            plan->predicted_ns < 0 || !isfinite(ns) ? -1 : plan->predicted_ns + part->predicted_ns;
        if (part->on_device && c->log)
            tern__note(c,
                       "steps %u to %u run on %s: predicted %.1f us, %.0f bytes of operands and results "
                       "cross its borders",
                       part->first, part->end - 1, plan->device, ns / 1e3, x.bytes);
    }
    return TERN_OK;
}

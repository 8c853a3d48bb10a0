/* text_names.c - what the values of a graph are called when it is printed. */
#include "graph/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* ---- labels ------------------------------------------------------------------------------------------------- */

/* The leaf's name if it can serve as a value's, else NULL. */
static const char *leaf_name(const tern_graph *g, const tern__value *value)
{
    if (value->node >= g->n_nodes)
        return NULL;
    const tern__gnode *node = &g->nodes[value->node];
    if ((unsigned)node->op >= TERN__OP_COUNT || !(tern__ops[node->op].flags & TERN__LEAF) || !node->attrs)
        return NULL;
    const tern__attr *name = &node->attrs[0];
    return name->text && tern__is_identifier(name->text, name->count) ? name->text : NULL;
}

bool tern__is_number_name(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* One more than the number that the name is; 0 if it is none. */
static uint32_t past_number(const char *name)
{
    return tern__is_number_name(name) ? (uint32_t)strtoul(name, NULL, 10) + 1 : 0;
}

static tern_status fill_labels(const tern_graph *g, tern__names *taken, tern__label *labels)
{
    uint32_t before, number = 0;
    for (uint32_t i = 0; i < g->n_values; i++) {
        const char *name = g->values[i].name;
        labels[i] = (tern__label){.name = name};
        if (!name)
            continue;
        TERN_TRY(tern__names_add(taken, name, strlen(name), i, &before));
        uint32_t past = past_number(name);
        number = past > number ? past : number;
    }
    for (uint32_t i = 0; i < g->n_values; i++) {
        if (labels[i].name)
            continue;
        const char *name = leaf_name(g, &g->values[i]);
        before = 0;
        if (name)
            TERN_TRY(tern__names_add(taken, name, strlen(name), i, &before));
        if (before == TERN__NO_ID)
            labels[i].name = name;
        else
            labels[i].number = number++;
    }
    return TERN_OK;
}

tern_status tern__labels_make(const tern_graph *g, tern__label **out)
{
    tern__label *labels = tern__alloc_zero((size_t)g->n_values + 1, sizeof *labels);
    if (!labels)
        return tern__out_of_memory(((size_t)g->n_values + 1) * sizeof *labels);
    tern__names taken = {0};
    tern_status status = fill_labels(g, &taken, labels);
    tern__names_free(&taken);
    if (status != TERN_OK)
        tern__free(labels);
    else
        *out = labels;
    return status;
}

tern_status tern__labels_fix(tern_graph *g, uint32_t *next)
{
    tern__label *labels;
    TERN_TRY(tern__labels_make(g, &labels));
    for (uint32_t i = 0; i < g->n_values; i++)
        g->values[i].name = labels[i].name;
    tern__free(labels);
    *next = 0;
    return tern__labels_number(g, next);
}

tern_status tern__labels_number(tern_graph *g, uint32_t *next)
{
    for (uint32_t i = 0; i < g->n_values; i++) {
        char text[16];
        if (g->values[i].name)
            continue;
        int length = snprintf(text, sizeof text, "%u", (*next)++);
        g->values[i].name = tern__arena_strndup(&g->arena, text, (size_t)length);
        if (!g->values[i].name)
            return tern__out_of_memory(sizeof text);
    }
    return TERN_OK;
}

/* One block: the pointers, then the texts. */
static tern_status write_labels(const tern_graph *g, const tern__label *labels, const char ***out)
{
    enum { NUMBER = sizeof "%4294967295" };
    size_t pointers = ((size_t)g->n_values + 1) * sizeof(char *), bytes = pointers;
    for (uint32_t v = 0; v < g->n_values; v++)
        bytes += labels[v].name ? strlen(labels[v].name) + 2 : NUMBER;
    const char **all = tern__alloc(bytes);
    if (!all)
        return tern__out_of_memory(bytes);
    char *at = (char *)all + pointers;
    for (uint32_t v = 0; v < g->n_values; v++) {
        all[v] = at;
        if (labels[v].name)
            at += snprintf(at, strlen(labels[v].name) + 2, "%%%s", labels[v].name) + 1;
        else
            at += snprintf(at, NUMBER, "%%%u", labels[v].number) + 1;
    }
    all[g->n_values] = NULL;
    *out = all;
    return TERN_OK;
}

tern_status tern__graph_labels(const tern_graph *g, const char *const **out)
{
    /* Of all that readers see this alone is written under their eyes; whoever comes second takes the first one's. */
    _Atomic(const char **) *slot = (_Atomic(const char **) *)&g->labels;
    const char **made = NULL, **there = atomic_load_explicit(slot, memory_order_acquire);
    if (!there) {
        tern__label *labels;
        TERN_TRY(tern__labels_make(g, &labels));
        tern_status status = write_labels(g, labels, &made);
        tern__free(labels);
        TERN_TRY(status);
        if (atomic_compare_exchange_strong(slot, &there, made))
            there = made;
        else
            tern__free(made);
    }
    *out = there;
    return TERN_OK;
}

void tern__label_add(tern__strbuf *s, const tern_graph *g, const tern__label *labels, tern__id value)
{
    if (value >= g->n_values) {
        tern__strbuf_add(s, "%?");
        return;
    }
    const char *name = labels ? labels[value].name : g->values[value].name;
    if (name)
        tern__strbuf_addf(s, "%%%s", name);
    else
        tern__strbuf_addf(s, "%%%u", labels ? labels[value].number : value);
}

void tern__node_head_add(tern__strbuf *s, const tern_graph *g, const tern__label *labels, tern__id node)
{
    enum { SHOWN = 6 };
    const tern__gnode *n = &g->nodes[node];
    for (uint32_t i = 0; i < n->n_out && i < SHOWN; i++) {
        tern__strbuf_add(s, i ? ", " : "");
        tern__label_add(s, g, labels, n->out + i);
    }
    const char *op = (unsigned)n->op < TERN__OP_COUNT ? tern__ops[n->op].name : "?";
    tern__strbuf_addf(s, "%s = %s", n->n_out > SHOWN ? ", ..." : "", op);
    if ((unsigned)n->op < TERN__OP_COUNT && tern__ops[n->op].flags & TERN__LEAF)
        return;
    tern__strbuf_add(s, "(");
    for (uint32_t i = 0; i < n->n_in && i < SHOWN && n->in; i++) {
        tern__strbuf_add(s, i ? ", " : "");
        tern__label_add(s, g, labels, n->in[i]);
    }
    tern__strbuf_add(s, n->n_in > SHOWN ? ", ...)" : ")");
}

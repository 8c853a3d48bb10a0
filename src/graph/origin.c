/* origin.c - where nodes come from: parts of a model that are open while it is recorded, and what becomes of their names
 * when nodes are fused. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "graph/node.h"
#include "graph/text.h"

/* The path of a part inside the one that is open; that one's own where the two are too long together. */
static const char *origin_inside(const char *outer, const char *name)
{
    char path[TERN__MAX_NAME + 1];
    int length = snprintf(path, sizeof path, "%s%s%s", outer ? outer : "", outer && *name ? "/" : "", name);
    return length > 0 && (size_t)length < sizeof path ? tern__intern(path) : outer;
}

const char *tern__origin_now(tern_ctx *ctx)
{
    const tern__recorder *r = tern__recorder_of(ctx);
    return r->n_origins ? r->origins[r->n_origins - 1] : NULL;
}

void tern_origin_open(tern_ctx *ctx, const char *name)
{
    if (!ctx)
        return;
    tern__recorder *r = tern__recorder_of(ctx);
    if (!tern__grow((void **)&r->origins, &r->cap_origins, r->n_origins + 1, sizeof *r->origins)) {
        r->lost_origins++; /* what is recorded in it belongs to the one outside */
        return;
    }
    const char *outer = tern__origin_now(ctx);
    r->origins[r->n_origins++] = origin_inside(outer, name ? name : "");
}

void tern_origin_close(tern_ctx *ctx)
{
    if (!ctx)
        return;
    tern__recorder *r = tern__recorder_of(ctx);
    if (r->lost_origins)
        r->lost_origins--;
    else if (r->n_origins)
        r->n_origins--;
}

/* ---- of nodes that became one ---- */

/* Bytes of the path that both begin with, whole names only: 7 of "layer 3/attention" and "layer 3/feed-forward". */
static size_t common_path(const char *a, const char *b)
{
    size_t common = 0, i = 0;
    for (;; i++) {
        const bool ends_a = a[i] == '\0' || a[i] == '/', ends_b = b[i] == '\0' || b[i] == '/';
        if (ends_a && ends_b)
            common = i;
        if (a[i] != b[i] || a[i] == '\0')
            return common;
    }
}

/* "a + b"; one of them where it says all that the other does. */
static const char *both(const char *a, const char *b)
{
    char text[TERN__MAX_NAME + 1];
    const size_t n_a = strlen(a), n_b = strlen(b);
    if (n_b >= n_a && strncmp(a, b, n_a) == 0)
        return b;
    if (n_a >= n_b && strcmp(a + n_a - n_b, b) == 0)
        return a;
    const int length = snprintf(text, sizeof text, "%s + %s", a, b);
    return length > 0 && (size_t)length < sizeof text ? tern__intern(text) : a;
}

const char *tern__origin_of(const tern_graph *g, uint32_t n, const tern__id *nodes)
{
    const char *first = NULL, *last = NULL;
    char path[TERN__MAX_NAME + 1] = "";
    for (uint32_t i = 0; i < n; i++) {
        const char *origin = g->nodes[nodes[i]].origin;
        if (!origin || strlen(origin) > TERN__MAX_NAME)
            continue;
        if (!first)
            strcpy(path, first = origin);
        path[common_path(path, origin)] = '\0';
        last = origin;
    }
    if (!first || strcmp(first, path) == 0)
        return first;
    return path[0] ? tern__intern(path) : both(first, last);
}

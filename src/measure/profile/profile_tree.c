/* profile_tree.c - spans with the same names around them, added up: the call tree, parents first, long children first. */
#include "base/alloc.h"
#include "base/status.h"
#include "measure/profile/profile.h"
#include "measure/profile/tree.h"

/* While the tree grows: its frames in order of first meeting, and lists of children, the latest first. */
typedef struct branch {
    tern__links links;
    tern_profile_frame frame;
} branch;

typedef struct tree {
    branch *branches;
    size_t n, cap;
} tree;

static tern_status add(tree *t, const tern_profile_frame *frame, int *out)
{
    if (!tern__grow((void **)&t->branches, &t->cap, t->n + 1, sizeof *t->branches))
        return tern__out_of_memory(sizeof *t->branches);
    t->branches[t->n] = (branch){.frame = *frame};
    tern__tree_hang(t->branches, sizeof *t->branches, (int)t->n, frame->parent);
    *out = (int)t->n++;
    return TERN_OK;
}

static tern_status find_child(tree *t, int parent, const tern_trace_event *e, int *out)
{
    for (int c = t->branches[parent].links.first_child; c >= 0; c = t->branches[c].links.next)
        if (t->branches[c].frame.name == e->name && t->branches[c].frame.category == e->category) {
            *out = c;
            return TERN_OK;
        }
    return add(t,
               &(tern_profile_frame){.name = e->name,
                                     .category = e->category,
                                     .parent = parent,
                                     .depth = t->branches[parent].frame.depth + 1,
                                     .thread = (int)e->thread},
               out);
}

static tern_status grow_thread(tern_profile *p, int thread, tree *t)
{
    const tern__profile_thread *of = &p->threads[thread];
    int root;
    TERN_TRY(add(t,
                 &(tern_profile_frame){
                     .name = of->name, .category = "thread", .parent = -1, .thread = thread, .count = 1},
                 &root));
    for (size_t i = of->first; i < of->first + of->n; i++) {
        tern__span *s = &p->spans[i];
        TERN_TRY(find_child(t, s->parent < 0 ? root : p->spans[s->parent].frame, &s->event, &s->frame));
        tern_profile_frame *f = &t->branches[s->frame].frame;
        f->count++;
        f->total_ns += s->event.duration_ns;
        f->self_ns += s->event.duration_ns - s->children_ns;
        if (s->parent < 0)
            t->branches[root].frame.total_ns += s->event.duration_ns;
    }
    return TERN_OK;
}

/* The children of a branch, or the threads, in another order: the longest first, of equals the one that was met first. */
static void sort_list(tree *t, int *first)
{
    int sorted = -1;
    for (int c = *first, next; c >= 0; c = next) {
        next = t->branches[c].links.next;
        int *at = &sorted; /* the list has the latest first: an equal one goes before what is there */
        while (*at >= 0 && t->branches[*at].frame.total_ns > t->branches[c].frame.total_ns)
            at = &t->branches[*at].links.next;
        t->branches[c].links.next = *at;
        *at = c;
    }
    *first = sorted;
}

static tern_status put_in_order(tern_profile *p, tree *t)
{
    int *position = tern__alloc(t->n * sizeof *position), written = 0;
    p->frames = tern__alloc(t->n * sizeof *p->frames);
    if (!position || !p->frames) {
        tern__free(position);
        return tern__out_of_memory(t->n * sizeof *p->frames);
    }
    for (size_t i = 0; i < t->n; i++)
        sort_list(t, &t->branches[i].links.first_child);
    for (size_t root = 0; root < t->n; root++)
        for (int i = t->branches[root].frame.parent < 0 ? (int)root : -1; i >= 0;
             i = tern__tree_next(t->branches, sizeof *t->branches, i)) {
            tern_profile_frame *f = &p->frames[written];
            *f = t->branches[i].frame;
            position[i] = written++;
            f->parent = f->parent < 0 ? -1 : position[f->parent];
        }
    for (size_t i = 0; i < p->n_spans; i++)
        p->spans[i].frame = position[p->spans[i].frame];
    tern__free(position);
    return TERN_OK;
}

tern_status tern__profile_make_tree(tern_profile *p)
{
    tree t = {0};
    tern_status status = TERN_OK;
    for (int i = 0; i < p->info.threads && status == TERN_OK; i++)
        status = grow_thread(p, i, &t);
    if (status == TERN_OK && t.n > 0)
        status = put_in_order(p, &t);
    if (status == TERN_OK)
        p->info.frames = (int)t.n;
    tern__free(t.branches);
    return status;
}

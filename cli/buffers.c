/* buffers.c - the arena's buffers and their lifetimes, read off the operands of a program's steps. */
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "text.h"

enum { ALIGN = 64 }; /* the least that a buffer takes */

typedef struct finder {
    const tern_program *program;
    buffer *items; /* in order of creation */
    int n, capacity;
    int *newest; /* those that no later one has taken bytes from: few, however long the program is */
    int n_newest, newest_capacity;
} finder;

static size_t end_of(const buffer *b)
{
    return b->offset + (b->bytes > ALIGN ? b->bytes : ALIGN);
}

bool buffers_share(const buffer *a, const buffer *b)
{
    return a->offset < end_of(b) && b->offset < end_of(a);
}

/* The buffer that an operand lies in: the newest at that place, since older ones there are dead. -1: none. */
static int holder(const finder *f, size_t offset)
{
    for (int i = f->n_newest - 1; i >= 0; i--) {
        const buffer *b = &f->items[f->newest[i]];
        if (offset >= b->offset && offset < end_of(b))
            return f->newest[i];
    }
    return -1;
}

/* The last of f->items is new: those that it shares bytes with are no longer the newest there. */
static void supersede(finder *f)
{
    int kept = 0;
    for (int i = 0; i < f->n_newest; i++)
        if (!buffers_share(&f->items[f->newest[i]], &f->items[f->n - 1]))
            f->newest[kept++] = f->newest[i];
    if (kept == f->newest_capacity) {
        f->newest_capacity = kept ? 2 * kept : 32;
        f->newest = grab_more(f->newest, (size_t)f->newest_capacity, sizeof *f->newest);
    }
    f->newest[kept] = f->n - 1;
    f->n_newest = kept + 1;
}

static void create(finder *f, const tern_operand_info *result, int step)
{
    if (f->n == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 32;
        f->items = grab_more(f->items, (size_t)f->capacity, sizeof *f->items);
    }
    buffer *b = &f->items[f->n];
    *b = (buffer){.offset = result->offset, .bytes = result->bytes, .first = step, .last = step};
    memcpy(b->name, result->name, sizeof b->name);
    f->n++;
    supersede(f);
}

/* Reads keep a buffer alive. A result that lies where an operand of the same step does is an update of that buffer:
 * otherwise the planner keeps the two apart. */
static void take_step(finder *f, int step)
{
    tern_step_info info;
    if (tern_program_step(f->program, step, &info) != TERN_OK)
        return;
    for (int i = 0; i < info.n_operands + info.n_results; i++) {
        tern_operand_info operand;
        if (tern_program_operand(f->program, step, i, &operand) != TERN_OK ||
            strcmp(operand.place, "arena") != 0)
            continue;
        int at = holder(f, operand.offset);
        bool alive = at >= 0 && f->items[at].last == step;
        if (i < info.n_operands && at >= 0)
            f->items[at].last = step;
        else if (i >= info.n_operands && !alive)
            create(f, &operand, step);
    }
}

static int by_place(const void *a, const void *b)
{
    const buffer *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

buffer *buffers_find(const tern_program *program, int *count)
{
    tern_program_info info;
    tern_program_get_info(program, &info);
    finder f = {.program = program};
    for (int s = 0; s < info.steps; s++)
        take_step(&f, s);
    free(f.newest);
    if (f.n > 0)
        qsort(f.items, (size_t)f.n, sizeof *f.items, by_place);
    *count = f.n;
    return f.items;
}

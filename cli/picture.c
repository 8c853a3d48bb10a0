/* picture.c - memory over time: one row per buffer of the arena, a bar over the steps during which it is needed, and a
 * shade where others use the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "term.h"
#include "text.h"

enum {
    MOST_STEPS = 4096, /* of programs that are drawn at all */
    MOST_ROWS = 40,
    WIDEST_NAME = 20,
    WIDEST_STEP = 4,              /* cells for one step, where there is room */
    NUMBERS = 2 + 10 + 2 + 9 + 2, /* columns of "offset" and "bytes" with their gaps */
};

typedef struct picture {
    const tern_buffer_info *buffers;
    int n, steps;
    int name_width;
    int cells; /* of the time axis */
    bool kib;  /* offsets in KiB, not bytes */
} picture;

/* Do they have bytes in common? Then they are never alive at the same time. */
static bool share(const tern_buffer_info *a, const tern_buffer_info *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static int by_place(const void *a, const void *b)
{
    const tern_buffer_info *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* In order of offset, then of time. Free with free(). */
static tern_buffer_info *find_buffers(const tern_program *program, int *n)
{
    tern_buffer_info one, *all;
    for (*n = 0; tern_program_buffer(program, *n, &one) == TERN_OK;)
        ++*n;
    all = grab((size_t)*n, sizeof *all);
    for (int i = 0; i < *n; i++)
        tern_program_buffer(program, i, &all[i]);
    qsort(all, (size_t)*n, sizeof *all, by_place);
    return all;
}

static void measure(picture *p)
{
    p->name_width = 6;
    for (int i = 0; i < p->n && i < MOST_ROWS; i++) {
        int width = text_width(p->buffers[i].name) + 1;
        p->name_width = width > p->name_width ? width : p->name_width;
    }
    p->name_width = p->name_width > WIDEST_NAME ? WIDEST_NAME : p->name_width;
    int room = term_width() - 2 - p->name_width - NUMBERS, each = room / p->steps;
    each = each > WIDEST_STEP ? WIDEST_STEP : each;
    p->cells = each >= 1 ? each * p->steps : room;
}

/* The first cell of a step; that of the step behind the last is the end of the axis. */
static int cell_of(const picture *p, int step)
{
    return (int)((long)step * p->cells / p->steps);
}

/* Step numbers above the axis, as many as do not touch. */
static void print_axis(const picture *p)
{
    text line = {0};
    for (int step = 0; step < p->steps; step++) {
        char number[16];
        int at = cell_of(p, step), length = snprintf(number, sizeof number, "%d", step);
        if ((int)line.length + (step > 0) > at || at + length > p->cells)
            continue;
        text_repeat(&line, " ", at - (int)line.length);
        text_add(&line, number);
    }
    text_repeat(&line, " ", p->cells - (int)line.length);
    printf("  %s%-*s  %s  %10s  %9s%s\n", on(STYLE_DIM), p->name_width, "step", text_string(&line),
           p->kib ? "offset KiB" : "offset B", "bytes", off(STYLE_DIM));
    text_free(&line);
}

static void add_name(text *t, const char *name, int width)
{
    text safe = {0};
    text_add(&safe, "%");
    text_add_safe(&safe, name);
    int columns = text_width(text_string(&safe));
    if (columns <= width) {
        text_add(t, text_string(&safe));
    } else {
        const char *ellipsis = glyph_of(GLYPH_ELLIPSIS);
        text_add_n(t, text_string(&safe), text_cut(text_string(&safe), width - text_width(ellipsis)));
        text_add(t, ellipsis);
    }
    text_free(&safe);
}

static bool covers(const picture *p, const tern_buffer_info *b, int cell)
{
    int begin = cell_of(p, b->first), end = cell_of(p, b->last + 1);
    return cell >= begin && cell < (end > begin ? end : begin + 1);
}

/* What stands at one cell of a buffer's row: its bar, somebody else in the same bytes, or nothing. */
static glyph glyph_at(const picture *p, const tern_buffer_info *b, int cell)
{
    if (covers(p, b, cell))
        return GLYPH_FULL;
    for (int i = 0; i < p->n; i++)
        if (covers(p, &p->buffers[i], cell) && share(b, &p->buffers[i]))
            return GLYPH_LIGHT;
    return GLYPH_DOT;
}

static void print_bar(const picture *p, const tern_buffer_info *b)
{
    text t = {0};
    for (int cell = 0; cell < p->cells; cell++) {
        glyph g = glyph_at(p, b, cell);
        style s = g == GLYPH_FULL ? STYLE_BAR : STYLE_DIM;
        text_addf(&t, "%s%s%s", on(s), glyph_of(g), off(s));
    }
    term_put(text_string(&t));
    text_free(&t);
}

static void print_row(const picture *p, const tern_buffer_info *b)
{
    char bytes[NUMBER_TEXT];
    text name = {0};
    add_name(&name, b->name, p->name_width);
    int blanks = p->name_width - text_width(text_string(&name));
    printf("  %s%s%s%*s  ", on(STYLE_NAME), text_string(&name), off(STYLE_NAME), blanks, "");
    print_bar(p, b);
    printf("  %10.*f  %9s\n", p->kib ? 1 : 0, (double)b->offset / (p->kib ? 1024 : 1),
           format_bytes(bytes, b->bytes));
    text_free(&name);
}

static void print_summary(const graph_run *r, int n)
{
    char planned[NUMBER_TEXT], naive[NUMBER_TEXT];
    text line = {0};
    text_add_plural(&line, n, "buffer");
    format_bytes(planned, r->info.arena_bytes);
    format_bytes(naive, r->info.naive_bytes);
    if (r->info.arena_bytes < r->info.naive_bytes)
        text_addf(&line, " in %s instead of %s: sharing bytes saves %.0f %%", planned, naive,
                  100 - 100.0 * (double)r->info.arena_bytes / (double)r->info.naive_bytes);
    else if (n > 0)
        text_addf(&line, " in %s", planned);
    printf("\n  %smemory%s  %s\n", on(STYLE_BOLD), off(STYLE_BOLD), text_string(&line));
    text_free(&line);
}

static bool any_share(const picture *p)
{
    for (int i = 0; i < p->n && i < MOST_ROWS; i++)
        for (int k = 0; k < p->n; k++)
            if (k != i && share(&p->buffers[i], &p->buffers[k]))
                return true;
    return false;
}

static void print_legend(const picture *p)
{
    printf("  %s%s in use   ", on(STYLE_DIM), glyph_of(GLYPH_FULL));
    if (any_share(p))
        printf("%s bytes used by others   ", glyph_of(GLYPH_LIGHT));
    printf("%s free   outputs have their own memory%s\n", glyph_of(GLYPH_DOT), off(STYLE_DIM));
}

void picture_print(const graph_run *r, bool summary)
{
    if (r->info.steps == 0 || r->info.steps > MOST_STEPS)
        return; /* nothing to draw, or nothing that could be seen */
    picture p = {.steps = r->info.steps, .kib = r->info.arena_bytes >= 8192};
    tern_buffer_info *buffers = find_buffers(r->program, &p.n);
    p.buffers = buffers;
    if (summary)
        print_summary(r, p.n);
    if (p.n > 0) {
        measure(&p);
        putchar('\n');
        print_axis(&p);
    }
    for (int i = 0; i < p.n && i < MOST_ROWS; i++)
        print_row(&p, &buffers[i]);
    if (p.n > MOST_ROWS)
        printf("  %s%s %d more (--json lists all)%s\n", on(STYLE_DIM), glyph_of(GLYPH_ELLIPSIS),
               p.n - MOST_ROWS, off(STYLE_DIM));
    if (p.n > 0)
        print_legend(&p);
    free(buffers);
}

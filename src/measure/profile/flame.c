/* flame.c - a flame graph: each bar is as wide as its amount, on top of the one it belongs to. Without a script (in a
 * mail, as an image) it is a picture with texts that show when pointed at; with one, it can be searched and zoomed.
 *
 * Places and widths are percentages, so that it fills the room there is; flame.css and flame.js come along. */
#include "measure/profile/flame.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/html_text.h"

enum { WIDTH = 1200, ROW = 18, HEAD = 84, FOOT = 8, LETTER = 7 }; /* WIDTH: of a picture that stands alone */

static const double narrowest =
    0.02; /* bars below this many pixels are left out: a hundred of them are two pixels */

extern const char tern__flame_css[], tern__flame_js[];

static void add_bar(tern__strbuf *s, const tern__flame *flame, const tern__flame_bar *b, double x,
                    double total, int y)
{
    const double w = (double)b->total / total;
    tern__strbuf_addf(s, "<g class=\"f %s\" data-x=\"%.9g\" data-w=\"%.9g\" data-n=\"", b->look, x, w);
    tern__html_add(s, b->name);
    tern__strbuf_add(s, "\"><title>");
    tern__html_add(s, b->name);
    tern__strbuf_add(s, "\n");
    flame->add_amount(s, b->total);
    tern__strbuf_addf(s, ", %.2f %%, ", w * 100);
    flame->add_amount(s, b->self);
    tern__strbuf_addf(s, " of its own, %" PRIu64 " %s%s</title>", b->count, flame->counted,
                      b->count == 1 ? "" : "s");
    tern__strbuf_addf(s,
                      "<svg x=\"%.4f%%\" y=\"%d\" width=\"%.4f%%\" height=\"%d\"><rect width=\"100%%\" "
                      "height=\"100%%\" rx=\"2\"/><text x=\"4\" y=\"13\">",
                      x * 100, y, w * 100, ROW - 1);
    if (w * WIDTH > 3 * LETTER)
        tern__html_add(s, b->name);
    tern__strbuf_add(s, "</text></svg></g>\n");
}

static void add_head(tern__strbuf *s, const tern__flame *flame, int height)
{
    tern__strbuf_addf(s,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" height=\"%d\" "
                      "role=\"img\">\n<title>Flame graph</title>\n<style>%s</style>\n"
                      "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
                      "<text x=\"8\" y=\"20\" font-size=\"13\">",
                      WIDTH, height, tern__flame_css);
    tern__html_add(s, flame->title);
    tern__strbuf_add(s, "</text>\n<text class=\"dim\" x=\"8\" y=\"40\">");
    tern__html_add(s, flame->note);
    tern__strbuf_addf(s,
                      "; a click zooms in, Escape shows all</text>\n"
                      "<foreignObject x=\"8\" y=\"48\" width=\"184\" height=\"28\"><input "
                      "xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"search\" "
                      "aria-label=\"search\"/></foreignObject>\n"
                      "<text class=\"reset\" x=\"204\" y=\"66\">show all</text>\n"
                      "<text class=\"sum\" data-of=\"%s\" x=\"262\" y=\"66\"></text>\n",
                      flame->of);
}

/* Each bar begins where the one before it with the same parent ended. */
void tern__flame_draw(tern__strbuf *s, const tern__flame *flame)
{
    int depth = 0;
    double total = 0, roots = 0;
    tern__flame_bar b;
    double *next =
        tern__alloc_zero((size_t)flame->n + 1, sizeof *next); /* where the next child of each begins */
    if (!next) {
        s->failed = true;
        return;
    }
    for (int i = 0; i < flame->n; i++) {
        flame->get(flame->tree, i, &b);
        depth = b.depth > depth ? b.depth : depth;
        total += b.depth == 0 ? (double)b.total : 0;
    }
    const int height = HEAD + (depth + 1) * ROW + FOOT;
    add_head(s, flame, height);
    for (int i = 0; i < flame->n && total > 0; i++) {
        flame->get(flame->tree, i, &b);
        double *at = b.parent < 0 ? &roots : &next[b.parent];
        const double x = *at;
        next[i] = x;
        *at += (double)b.total / total;
        if ((double)b.total / total * WIDTH >= narrowest)
            add_bar(s, flame, &b, x, total, height - FOOT - (b.depth + 1) * ROW);
    }
    tern__strbuf_addf(s, "<script><![CDATA[\n%s]]></script>\n</svg>\n", tern__flame_js);
    tern__free(next);
}

/* ---- stacks ---- */

/* What separates names, and the number, cannot be part of a name. */
static void add_name(tern__strbuf *s, const char *name)
{
    for (; *name; name++)
        tern__strbuf_add_n(s, *name == ';' || (unsigned char)*name < 0x20 ? "_" : name, 1);
}

static void add_stack(tern__strbuf *s, const tern__flame *flame, int i)
{
    const char *path[64];
    int n = 0;
    for (tern__flame_bar b; i >= 0 && n < 64; i = b.parent) {
        flame->get(flame->tree, i, &b);
        path[n++] = b.name;
    }
    while (n-- > 0) {
        add_name(s, path[n]);
        tern__strbuf_add(s, n > 0 ? ";" : " ");
    }
}

void tern__flame_add_stacks(tern__strbuf *s, const tern__flame *flame, uint64_t unit)
{
    tern__flame_bar b;
    for (int i = 0; i < flame->n; i++) {
        flame->get(flame->tree, i, &b);
        const uint64_t amount = (b.self + unit / 2) / unit;
        if (amount == 0)
            continue;
        add_stack(s, flame, i);
        tern__strbuf_addf(s, "%" PRIu64 "\n", amount);
    }
}

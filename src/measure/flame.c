/* flame.c - a flame graph: each frame is a bar as wide as its time, on top of the one it belongs to. Without a script (in a
 * mail, as an image) it is a picture with texts that show when pointed at; with one, it can be searched and zoomed.
 *
 * Places and widths are percentages, so that it fills the room there is; flame.css and flame.js come along. */
#include "measure/flame.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/profile.h"

enum { WIDTH = 1200, ROW = 18, HEAD = 84, FOOT = 8, LETTER = 7 }; /* WIDTH: of a picture that stands alone */

static const double narrowest =
    0.02; /* bars below this many pixels are left out: a hundred of them are two pixels */

extern const char tern__flame_css[], tern__flame_js[];

/* XML; what it cannot say, and bytes that are no characters of ASCII, become '?'. */
static void add_xml(tern__strbuf *s, const char *text)
{
    for (size_t i = 0; text[i]; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            tern__strbuf_addf(s, "&#%u;", c);
        else
            tern__strbuf_add_n(s, c < 0x20 || c > 0x7e ? "?" : &text[i], 1);
    }
}

static const char *class_of(const tern_profile_frame *f)
{
    static const char *const known[] = {"step", "wait", "part", "run"};
    if (f->depth == 0)
        return "thread";
    for (size_t i = 0; i < TERN__COUNT(known); i++)
        if (strcmp(f->category, known[i]) == 0)
            return known[i];
    return "other";
}

static void add_bar(tern__strbuf *s, const tern_profile_frame *f, double x, double total, int y)
{
    const double w = (double)f->total_ns / total;
    tern__strbuf_addf(s, "<g class=\"f %s\" data-x=\"%.9g\" data-w=\"%.9g\" data-n=\"", class_of(f), x, w);
    add_xml(s, f->name);
    tern__strbuf_add(s, "\"><title>");
    add_xml(s, f->name);
    tern__strbuf_addf(s, "\n%.3f ms, %.2f %%, %.3f ms of its own, %" PRIu64 " event%s</title>",
                      (double)f->total_ns * 1e-6, w * 100, (double)f->self_ns * 1e-6, f->count,
                      f->count == 1 ? "" : "s");
    tern__strbuf_addf(s,
                      "<svg x=\"%.4f%%\" y=\"%d\" width=\"%.4f%%\" height=\"%d\"><rect width=\"100%%\" "
                      "height=\"100%%\" rx=\"2\"/><text x=\"4\" y=\"13\">",
                      x * 100, y, w * 100, ROW - 1);
    if (w * WIDTH > 3 * LETTER)
        add_xml(s, f->name);
    tern__strbuf_add(s, "</text></svg></g>\n");
}

static void add_head(tern__strbuf *s, const tern_profile_info *info, int height)
{
    tern__strbuf_addf(s,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" height=\"%d\" "
                      "role=\"img\">\n<title>Flame graph</title>\n<style>%s</style>\n"
                      "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
                      WIDTH, height, tern__flame_css);
    tern__strbuf_addf(
        s,
        "<text x=\"8\" y=\"20\" font-size=\"15\">Time of %d thread%s, %.3f ms in %.3f ms</text>\n"
        "<text class=\"dim\" x=\"8\" y=\"40\">%" PRIu64 " events",
        info->threads, info->threads == 1 ? "" : "s", (double)(info->work_ns + info->wait_ns) * 1e-6,
        (double)info->wall_ns * 1e-6, info->events);
    if (info->lost)
        tern__strbuf_addf(s, ", %" PRIu64 " lost: more is missing here than is told", info->lost);
    tern__strbuf_add(s, "; a click zooms in, Escape shows all</text>\n"
                        "<foreignObject x=\"8\" y=\"48\" width=\"184\" height=\"28\"><input "
                        "xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"search\" "
                        "aria-label=\"search\"/></foreignObject>\n"
                        "<text class=\"reset\" x=\"204\" y=\"66\">show all</text>\n"
                        "<text class=\"sum\" x=\"262\" y=\"66\"></text>\n");
}

/* Threads side by side; each frame begins where the one before it with the same parent ended. */
void tern__flame_add_frames(tern__strbuf *s, const tern_profile_info *info, const tern_profile_frame *frames)
{
    int depth = 0;
    double total = 0, threads = 0;
    const size_t n = (size_t)info->frames;
    double *next = tern__alloc_zero(n + 1, sizeof *next); /* where the next child of each begins */
    if (!next) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        depth = frames[i].depth > depth ? frames[i].depth : depth;
        total += frames[i].depth == 0 ? (double)frames[i].total_ns : 0;
    }
    const int height = HEAD + (depth + 1) * ROW + FOOT;
    add_head(s, info, height);
    for (size_t i = 0; i < n && total > 0; i++) {
        const tern_profile_frame *f = &frames[i];
        double *at = f->parent < 0 ? &threads : &next[f->parent];
        const double x = *at;
        next[i] = x;
        *at += (double)f->total_ns / total;
        if ((double)f->total_ns / total * WIDTH >= narrowest)
            add_bar(s, f, x, total, height - FOOT - (f->depth + 1) * ROW);
    }
    tern__strbuf_addf(s, "<script><![CDATA[\n%s]]></script>\n</svg>\n", tern__flame_js);
    tern__free(next);
}

void tern__flame_add(tern__strbuf *s, const tern_profile *p)
{
    tern__flame_add_frames(s, &p->info, p->frames);
}

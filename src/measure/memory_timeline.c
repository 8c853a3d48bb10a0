/* memory_timeline.c - memory over time as a picture: what is in use as an area, what is held and what the system counts (RSS) as
 * lines, and the peak with the step that caused it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "measure/flame.h"
#include "measure/memory_export.h"

enum { WIDTH = 1200, HEIGHT = 420, LEFT = 84, RIGHT = 20, TOP = 64, BOTTOM = 36 };

/* Plain colours, and no variables: viewers that know none would draw all of it black. */
static const char style[] =
    "svg{font:12px ui-sans-serif,system-ui,sans-serif}\n"
    ".paper{fill:#fdfdfc}text{fill:#1c1f24}.dim{fill:#6a7078}.grid{stroke:#e4e6e9}\n"
    ".use{fill:#f0a35e;fill-opacity:.75}.held,.rss{fill:none;stroke-width:1.5}.held{stroke:#3d7fb0}"
    ".rss{stroke:#7a8a3c;stroke-dasharray:4 3}.peak{fill:#c2306f}"
    ".k1{fill:#f0a35e}.k2{fill:#3d7fb0}.k3{fill:#7a8a3c}\n"
    "@media(prefers-color-scheme:dark){"
    ".paper{fill:#16181c}text{fill:#eceff3}.dim{fill:#9aa2ac}.grid{stroke:#2b2f36}"
    ".use{fill:#a8622a}.held{stroke:#6fb2e0}.rss{stroke:#b5c76a}.peak{fill:#f07aae}"
    ".k1{fill:#a8622a}.k2{fill:#6fb2e0}.k3{fill:#b5c76a}}";

typedef struct scale {
    double ns, bytes; /* at the right and at the top */
} scale;

static double x_of(const scale *c, uint64_t ns)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * ((double)ns / c->ns);
}

static double y_of(const scale *c, double bytes)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (bytes / c->bytes);
}

typedef uint64_t (*series)(const tern_memory_point *point);

static uint64_t in_use(const tern_memory_point *p)
{
    return p->in_use_bytes;
}

static uint64_t held(const tern_memory_point *p)
{
    return p->held_bytes;
}

static uint64_t rss(const tern_memory_point *p)
{
    return p->rss_bytes;
}

/* Steps: a value holds until the next. Points without one (0) are left out. */
static void add_path(tern__strbuf *s, const scale *c, const tern_memory *m, series of, const char *look)
{
    bool open = false;
    const bool area = of == in_use;
    tern__strbuf_addf(s, "<path class=\"%s\" d=\"", look);
    for (int i = 0; i < m->info.points; i++) {
        const tern_memory_point *p = &m->points[i];
        if (of(p) == 0 && !area)
            continue;
        if (!open && area)
            tern__strbuf_addf(s, "M%.2f %.2f", x_of(c, p->time_ns), y_of(c, 0));
        tern__strbuf_addf(s, open || area ? "H%.2fV%.2f" : "M%.2f %.2f", x_of(c, p->time_ns),
                          y_of(c, (double)of(p)));
        open = true;
    }
    tern__strbuf_addf(s, area ? "V%.2fZ\"/>\n" : "\"/>\n", y_of(c, 0));
}

/* 1, 2 or 5 times a power of `base`, at least a fifth of `most`. */
static double tick(double most, double base)
{
    double unit = pow(base, floor(log(most / 5) / log(base)));
    const double more[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1024};
    for (size_t i = 0; i < TERN__COUNT(more); i++)
        if (unit * more[i] * 5 >= most)
            return unit * more[i];
    return unit * base;
}

static void add_axes(tern__strbuf *s, const scale *c)
{
    const double bytes = tick(c->bytes, 1024), ns = tick(c->ns, 10);
    const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double one = 1;
    for (; bytes / one >= 1024 && unit + 1 < TERN__COUNT(units); unit++)
        one *= 1024;
    for (double at = 0; at <= c->bytes; at += bytes)
        tern__strbuf_addf(
            s,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/><text class=\"dim\" "
            "x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%g %s</text>\n",
            LEFT, WIDTH - RIGHT, y_of(c, at), y_of(c, at), LEFT - 6, y_of(c, at) + 4, at / one, units[unit]);
    for (double at = 0; at <= c->ns; at += ns)
        tern__strbuf_addf(s, "<text class=\"dim\" x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%g ms</text>\n",
                          x_of(c, (uint64_t)at), HEIGHT - BOTTOM + 18, at * 1e-6);
}

static void add_peak(tern__strbuf *s, const scale *c, const tern_memory_peak *p)
{
    const double x = x_of(c, p->time_ns), y = y_of(c, (double)p->bytes);
    char text[400], bytes[TERN__MEMORY_BYTES_TEXT];
    tern__memory_bytes_text(bytes, p->bytes);
    if (p->step != UINT32_MAX)
        snprintf(text, sizeof text, "peak %s: program %u, step %u %s%s%s", bytes, p->program, p->step,
                 p->step_op, p->step_where ? " of " : "", p->step_where ? p->step_where : "");
    else
        snprintf(text, sizeof text, "peak %s: %s", bytes, p->op ? p->op : p->site);
    tern__strbuf_addf(
        s,
        "<circle class=\"peak\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"/><text class=\"peak\" x=\"%.2f\" "
        "y=\"%.2f\" text-anchor=\"%s\">",
        x, y, x + (x > WIDTH / 2 ? -8 : 8), y - 8, x > WIDTH / 2 ? "end" : "start");
    tern__flame_add_xml(s, text);
    tern__strbuf_add(s, "</text>\n");
}

void tern__memory_add_timeline(tern__strbuf *s, const tern_memory *m)
{
    scale c = {.ns = (double)m->info.wall_ns + 1, .bytes = 1};
    bool has_rss = false;
    for (int i = 0; i < m->info.points; i++) {
        const tern_memory_point *p = &m->points[i];
        const uint64_t most = p->in_use_bytes > p->held_bytes ? p->in_use_bytes : p->held_bytes;
        c.bytes = (double)most > c.bytes ? (double)most : c.bytes;
        c.bytes = (double)p->rss_bytes > c.bytes ? (double)p->rss_bytes : c.bytes;
        has_rss = has_rss || p->rss_bytes;
    }
    c.bytes *= 1.08;
    tern__strbuf_addf(s,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"100%%\" "
                      "role=\"img\">\n<title>Memory over time</title>\n<style>%s</style>\n"
                      "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n<text x=\"8\" y=\"20\" "
                      "font-size=\"15\">Memory over time",
                      WIDTH, HEIGHT, style, WIDTH, HEIGHT);
    tern__strbuf_add(s, m->title[0] ? ": " : "");
    tern__flame_add_xml(s, m->title);
    tern__strbuf_addf(
        s,
        "</text>\n<text x=\"8\" y=\"42\"><tspan class=\"k1\">&#9632;</tspan> in use  <tspan "
        "class=\"k2\">&#9632;</tspan> held from the system  <tspan class=\"k3\">&#9632;</tspan> %s"
        "</text>\n",
        has_rss ? "resident, as the system says (RSS)" : "RSS: unavailable: no /proc/self/statm");
    add_axes(s, &c);
    add_path(s, &c, m, in_use, "use");
    add_path(s, &c, m, held, "held");
    add_path(s, &c, m, rss, "rss");
    if (m->has_peak)
        add_peak(s, &c, &m->peaks[TERN_MEMORY_IN_USE]);
    tern__strbuf_add(s, "</svg>\n");
}

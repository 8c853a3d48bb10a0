/* flame.c - a flame graph: each frame is a bar as wide as its time, on top of the one it belongs to. Without a script (in a
 * mail, as an image) it is a picture with texts that show when pointed at; with one, it can be searched and zoomed. */
#include "measure/flame.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "measure/profile.h"

enum { WIDTH = 1200, ROW = 18, HEAD = 56, FOOT = 8, LETTER = 7 };

static const double narrowest =
    0.02; /* bars below this many pixels are left out: a hundred of them are two pixels */

static const char style[] =
    "svg{font:12px "
    "ui-sans-serif,system-ui,sans-serif;--ink:#1c1f24;--paper:#fdfdfc;--dim:#6a7078;--edge:#fdfdfc;"
    "--step:#f0a35e;--wait:#b9bec6;--part:#f6cf7a;--run:#9ec9e8;--other:#a9d6a5;--thread:#d8c6ea;--found:#"
    "e0559b}\n"
    "@media(prefers-color-scheme:dark){svg{--ink:#eceff3;--paper:#16181c;--dim:#9aa2ac;--edge:#16181c;--step:"
    "#a8622a;"
    "--wait:#4a5059;--part:#8a6a1e;--run:#2f5f80;--other:#3c6b3a;--thread:#5d4a73;--found:#b8307a}}\n"
    ".paper{fill:var(--paper)}text{fill:var(--ink)}.dim{fill:var(--dim)}rect{stroke:var(--edge);stroke-width:"
    ".5}\n"
    ".f,.reset{cursor:pointer}.f:hover rect{stroke:var(--ink);stroke-width:1}\n"
    ".step rect{fill:var(--step)}.wait rect{fill:var(--wait)}.part rect{fill:var(--part)}.run "
    "rect{fill:var(--run)}"
    ".thread rect{fill:var(--thread)}.other rect{fill:var(--other)}.found rect{fill:var(--found)}\n"
    "input{font:inherit;color:var(--ink);background:var(--paper);border:1px solid "
    "var(--dim);border-radius:4px;"
    "padding:2px 6px;width:180px;box-sizing:border-box}";

/* Widths are shares of the whole in data-x and data-w; zooming to [x, x + w) stretches them. */
static const char script[] =
    "const "
    "svg=document.currentScript.closest('svg'),all=[...svg.querySelectorAll('g.f')],width=1200,letter=7;\n"
    "function draw(x0,w0){for(const f of all){const x=+f.dataset.x,w=+f.dataset.w;\n"
    " const l=Math.max(0,(x-x0)/w0),r=Math.min(1,(x+w-x0)/w0),px=(r-l)*width;\n"
    " f.style.display=px<.3?'none':'';if(px<.3)continue;\n"
    " const[b,t]=[f.querySelector('rect'),f.querySelector('text')];\n"
    " b.setAttribute('x',l*width);b.setAttribute('width',px);t.setAttribute('x',l*width+3);\n"
    " const "
    "n=Math.floor((px-6)/"
    "letter),s=f.dataset.n;t.textContent=n<3?'':s.length<=n?s:s.slice(0,n-1)+'\\u2026';}}\n"
    "for(const f of all)f.addEventListener('click',()=>draw(+f.dataset.x,+f.dataset.w));\n"
    "svg.querySelector('.reset').addEventListener('click',()=>draw(0,1));\n"
    "const field=svg.querySelector('input'),sum=svg.querySelector('.sum');\n"
    "field.addEventListener('input',()=>{const q=field.value.toLowerCase();let seen=[];\n"
    " for(const f of all){const "
    "hit=q!==''&&f.dataset.n.toLowerCase().includes(q);f.classList.toggle('found',hit);\n"
    "  if(hit)seen.push([+f.dataset.x,+f.dataset.x+ +f.dataset.w]);}\n"
    " seen.sort((a,b)=>a[0]-b[0]);let total=0,end=0;for(const[a,b]of "
    "seen){if(b>end){total+=b-Math.max(a,end);end=b;}}\n"
    " sum.textContent=q===''?'':(100*total).toFixed(1)+' % of the time';});\n"
    "window.addEventListener('keydown',e=>{if(e.key==='Escape'){field.value='';field.dispatchEvent(new "
    "Event('input'));"
    "draw(0,1);}});\n";

/* XML; what it cannot say, and bytes that are no characters of ASCII, become '?'. */
static void add_xml(tern__strbuf *s, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            tern__strbuf_addf(s, "&#%u;", c);
        else
            tern__strbuf_add_n(s, c < 0x20 || c > 0x7e ? "?" : &text[i], 1);
    }
}

static const char *class_of(const tern_profile *p, const tern_profile_frame *f)
{
    if (f->depth == 0)
        return "thread";
    return f->category == p->step   ? "step"
           : f->category == p->wait ? "wait"
           : f->category == p->part ? "part"
           : f->category == p->run  ? "run"
                                    : "other";
}

static void add_bar(tern__strbuf *s, const tern_profile *p, const tern_profile_frame *f, double x,
                    double total, int y)
{
    const double w = (double)f->total_ns / total, px = w * WIDTH;
    const int letters = (int)((px - 6) / LETTER);
    const size_t length = strlen(f->name);
    tern__strbuf_addf(s, "<g class=\"f %s\" data-x=\"%.9g\" data-w=\"%.9g\" data-n=\"", class_of(p, f), x, w);
    add_xml(s, f->name, SIZE_MAX);
    tern__strbuf_add(s, "\"><title>");
    add_xml(s, f->name, SIZE_MAX);
    tern__strbuf_addf(s, "\n%.3f ms, %.2f %%, %.3f ms of its own, %" PRIu64 " event%s</title>",
                      (double)f->total_ns * 1e-6, w * 100, (double)f->self_ns * 1e-6, f->count,
                      f->count == 1 ? "" : "s");
    tern__strbuf_addf(s,
                      "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"2\"/><text x=\"%.2f\" "
                      "y=\"%d\">",
                      x * WIDTH, y, px, ROW - 1, x * WIDTH + 3, y + 13);
    if (letters >= 3) {
        add_xml(s, f->name, length <= (size_t)letters ? length : (size_t)letters - 1);
        tern__strbuf_add(s, length <= (size_t)letters ? "" : "&#8230;");
    }
    tern__strbuf_add(s, "</text></g>\n");
}

static void add_head(tern__strbuf *s, const tern_profile *p, int height)
{
    tern__strbuf_addf(s,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"100%%\" "
                      "role=\"img\">\n<title>Flame graph</title>\n<style>%s</style>\n"
                      "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
                      WIDTH, height, style, WIDTH, height);
    tern__strbuf_addf(
        s,
        "<text x=\"8\" y=\"20\" font-size=\"15\">Time of %d thread%s, %.3f ms in %.3f ms</text>\n"
        "<text class=\"dim\" x=\"8\" y=\"40\">%" PRIu64 " events",
        p->info.threads, p->info.threads == 1 ? "" : "s", (double)(p->info.work_ns + p->info.wait_ns) * 1e-6,
        (double)p->info.wall_ns * 1e-6, p->info.events);
    if (p->info.lost)
        tern__strbuf_addf(s, ", %" PRIu64 " lost: more is missing here than is told", p->info.lost);
    tern__strbuf_add(s, "; a click zooms in, Escape shows all</text>\n"
                        "<text class=\"sum\" x=\"790\" y=\"24\"></text>\n"
                        "<foreignObject x=\"1010\" y=\"6\" width=\"184\" height=\"28\"><input "
                        "xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"search\" "
                        "aria-label=\"search\"/></foreignObject>\n"
                        "<text class=\"reset\" x=\"945\" y=\"24\">show all</text>\n");
}

/* Threads side by side; each frame begins where the one before it with the same parent ended. */
void tern__flame_add(tern__strbuf *s, const tern_profile *p)
{
    int depth = 0;
    double total = 0, threads = 0;
    const size_t n = (size_t)p->info.frames;
    double *next = tern__alloc_zero(n + 1, sizeof *next); /* where the next child of each begins */
    if (!next) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        depth = p->frames[i].depth > depth ? p->frames[i].depth : depth;
        total += p->frames[i].depth == 0 ? (double)p->frames[i].total_ns : 0;
    }
    const int height = HEAD + (depth + 1) * ROW + FOOT;
    add_head(s, p, height);
    for (size_t i = 0; i < n && total > 0; i++) {
        const tern_profile_frame *f = &p->frames[i];
        double *at = f->parent < 0 ? &threads : &next[f->parent];
        const double x = *at;
        next[i] = x;
        *at += (double)f->total_ns / total;
        if ((double)f->total_ns / total * WIDTH >= narrowest)
            add_bar(s, p, f, x, total, height - FOOT - (f->depth + 1) * ROW);
    }
    tern__strbuf_addf(s, "<script><![CDATA[\n{%s}\n]]></script>\n</svg>\n", script);
    tern__free(next);
}

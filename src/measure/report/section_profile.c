/* section_profile.c - where the time of a profiled command went: hot spots and the flame graph. */
#include <math.h>
#include <string.h>

#include "measure/profile/flame.h"
#include "measure/json_members.h"
#include "measure/report/html.h"
#include "measure/report/report.h"

enum { SHOWN_MOST = 12 };

static const char *missing(const tern_report *r)
{
    return r->profile ? NULL : "no profile is among the documents";
}

static const tern__scale whole = {0, 1, false};

static void add_spot(tern__strbuf *to, int i, const tern__spot *s)
{
    char word[TERN__WORD];
    const double at = tern__scale_at(&whole, s->share);
    const tern__mark mark = {
        .bar = true, .at = at, .low = NAN, .high = NAN, .reference = NAN, .grid = "0 25 50 75 100"};
    tern__strbuf_addf(to, "<tr id=\"spot-%d\"><th scope=\"row\"><span class=\"rank\">%d</span> ", i, i + 1);
    tern__html_add(to, s->name);
    tern__strbuf_add(to, "<small>");
    tern__html_addf(to, "%s%s%s", s->kernel[0] ? s->kernel : s->category, s->where[0] ? ", " : "", s->where);
    tern__strbuf_add(to, "</small></th><td class=\"plot\">");
    tern__mark_add(to, &mark, tern__say_share(word, s->share));
    tern__strbuf_addf(to, "</td><td class=\"n\" data-of=\"of the time\">%s</td>",
                      tern__say_share(word, s->share));
    tern__strbuf_addf(to, "<td class=\"n\">%s</td>", tern__say_us(word, s->self_ns * 1e-3));
    tern__strbuf_addf(to, "<td class=\"n\" data-of=\"of the limit\">%s</td><td>",
                      isfinite(s->limit_share) ? tern__say_share(word, s->limit_share) : "&ndash;");
    tern__html_add(to, s->bottleneck);
    tern__strbuf_add(to, "<small>");
    tern__html_add(to, s->evidence);
    tern__strbuf_add(to, "</small></td></tr>\n");
}

/* The threads by name, and whether the time went where nobody looks for it. */
static void add_threads(const tern__profile_document *p, tern__strbuf *to)
{
    bool first = true;
    const double all = (double)(p->info.work_ns + p->info.wait_ns), compile = (double)p->info.compile_ns;
    char share[TERN__WORD];
    tern__strbuf_add(to, "<p>Threads: ");
    for (int i = 0; i < p->info.frames; i++)
        if (p->frames[i].parent < 0) {
            tern__strbuf_add(to, first ? "" : ", ");
            tern__html_add(to, p->frames[i].name);
            first = false;
        }
    tern__strbuf_add(to, ". Workers run steps beside main, helpers read weights and fold constants.</p>\n");
    if (compile > all / 2)
        tern__strbuf_addf(to,
                          "<p>Compiling takes %s of it, once for each program: to see how fast steps are, "
                          "profile a command that runs them longer.</p>\n",
                          tern__say_share(share, compile / all));
}

static void html(const tern_report *r, tern__strbuf *to)
{
    const tern__profile_document *p = r->profile;
    static const tern__tick ticks[] = {{0, "0 %"}, {50, "50"}, {100, "100 %"}};
    int shown = 0;
    double rest = 0;
    char work[TERN__WORD];
    tern__strbuf_add(to, "<p>Profiled: <code>");
    tern__html_add(to, p->title);
    tern__strbuf_addf(to, "</code>: %s of work in ", tern__say_us(work, (double)p->info.work_ns * 1e-3));
    tern__strbuf_addf(to,
                      "%s by the clock. Work is that of all threads together; the clock also counts waiting, "
                      "and what is outside of operations.</p>\n",
                      tern__say_us(work, (double)p->info.wall_ns * 1e-3));
    add_threads(p, to);
    tern__figure_open(
        to, "hot-spots", "Hot spots",
        "By their own time, what they call left out. The limit is what the machine could do for "
        "the same bytes and arithmetic.");
    tern__strbuf_add(to, "<table class=\"chart spots\"><thead><tr><th scope=\"col\">operation</th><th "
                         "scope=\"col\" class=\"plot\"><span class=\"away\">share of the time</span>");
    tern__ticks_add(to, ticks, 3);
    tern__strbuf_add(
        to, "</th><th scope=\"col\" class=\"n\">share</th><th scope=\"col\" class=\"n\">time</th><th "
            "scope=\"col\" class=\"n\">of the limit</th><th scope=\"col\">what holds it "
            "back</th></tr></thead><tbody>\n");
    for (int i = 0; i < p->n_ops; i++)
        if (i < SHOWN_MOST || tern__roofline_has(p, i)) {
            add_spot(to, i, &p->ops[i]);
            shown++;
        } else {
            rest += p->ops[i].share;
        }
    tern__strbuf_add(to, "</tbody></table>\n");
    if (shown < p->n_ops)
        tern__strbuf_addf(
            to,
            "<p>The first %d, and what the roofline has. %d others, with %s of the time together, "
            "are in the data.</p>\n",
            SHOWN_MOST, p->n_ops - shown, tern__say_share(work, rest));
    tern__figure_close(to, "sections.profile.hot_spots");
    tern__figure_open(to, "flame", "Flame graph",
                      "Each bar is as wide as the time it took, and stands on what it is part of.");
    tern__flame_add_frames(to, &p->info, p->frames);
    tern__figure_close(to, "sections.profile.frames");
}

static void text(const tern_report *r, tern__strbuf *to)
{
    const tern__profile_document *p = r->profile;
    char share[TERN__WORD], time[TERN__WORD];
    tern__strbuf_add(to, "  ");
    tern__add_plain(to, p->title);
    tern__strbuf_addf(to, ": %s of work in %s by the clock\n",
                      tern__say_us(share, (double)p->info.work_ns * 1e-3),
                      tern__say_us(time, (double)p->info.wall_ns * 1e-3));
    for (int i = 0; i < p->n_ops && i < SHOWN_MOST; i++) {
        const tern__spot *s = &p->ops[i];
        tern__strbuf_addf(to, "  %6s  %10s  ", tern__say_share(share, s->share),
                          tern__say_us(time, s->self_ns * 1e-3));
        tern__add_plain(to, s->name);
        tern__strbuf_add(to, s->kernel[0] ? " (" : "");
        tern__add_plain(to, s->kernel);
        tern__strbuf_addf(to, "%s: %s", s->kernel[0] ? ")" : "", s->bottleneck);
        if (isfinite(s->limit_share))
            tern__strbuf_addf(to, ", %s of the limit", tern__say_share(share, s->limit_share));
        tern__strbuf_add(to, "\n");
    }
}

/* The document has the figures themselves; the section says where. */
static void json(const tern_report *r, tern__strbuf *to)
{
    int source = 0;
    const tern__profile_document *p = r->profile;
    for (int i = 0; i < r->n_sources; i++)
        source = strcmp(r->sources[i].kind, "profile") == 0 ? i : source;
    tern__member_text(to, "{", "title", p->title);
    tern__member_real(to, ", ", "wall_ns", (double)p->info.wall_ns);
    tern__member_real(to, ", ", "work_ns", (double)p->info.work_ns);
    tern__member_real(to, ", ", "wait_ns", (double)p->info.wait_ns);
    tern__strbuf_addf(to, ", \"frames\": \"sections.data.sources[%d].data.frames\", \"hot_spots\": [",
                      source);
    for (int i = 0; i < p->n_ops; i++) {
        const tern__spot *s = &p->ops[i];
        tern__member_text(to, i ? ",\n {" : "\n {", "name", s->name);
        tern__member_text(to, ", ", "kernel", s->kernel);
        tern__strbuf_addf(to, ", \"source\": \"sections.data.sources[%d].data.ops[%d]\"", source, i);
        tern__member_real(to, ", ", "share", s->share);
        tern__member_real(to, ", ", "self_ns", s->self_ns);
        tern__member_real(to, ", ", "limit_share", s->limit_share);
        tern__member_text(to, ", ", "bottleneck", s->bottleneck);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_profile = {
    "profile", "Profile", "where the time of a profiled command went: hot spots, flame graph", missing, html,
    text,      json,
};

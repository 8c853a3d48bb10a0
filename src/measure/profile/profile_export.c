/* profile_export.c - profiles for other programs: collapsed stacks, speedscope's JSON, Chrome's trace events. Formats are rows
 * of <tern/profile.h>. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_text.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "measure/profile/flame.h"
#include "measure/json_members.h"
#include "measure/profile/profile.h"
#include "measure/results/results.h"

/* ---- speedscope: frames opened and closed, in nanoseconds ---- */

static void add_event(tern__strbuf *s, bool *first, char type, int frame, uint64_t at)
{
    tern__strbuf_addf(s, "%s\n      {\"type\": \"%c\", \"frame\": %d, \"at\": %" PRIu64 "}",
                      *first ? "" : ",", type, frame, at);
    *first = false;
}

static uint64_t end_of(const tern__span *s)
{
    return s->event.start_ns + s->event.duration_ns;
}

/* Closes what is around a span and not around the next, which lies inside `inside`. */
static void close_until(tern__strbuf *s, const tern_profile *p, bool *first, int64_t *open, int64_t inside)
{
    for (; *open != inside; *open = p->spans[*open].parent)
        add_event(s, first, 'C', p->spans[*open].frame, end_of(&p->spans[*open]));
}

static void add_timeline(tern__strbuf *s, const tern_profile *p, const tern__profile_thread *t)
{
    int64_t open = -1;
    bool first = true;
    uint64_t end = 0;
    for (size_t i = t->first; i < t->first + t->n; i++) {
        close_until(s, p, &first, &open, p->spans[i].parent);
        add_event(s, &first, 'O', p->spans[i].frame, p->spans[i].event.start_ns);
        open = (int64_t)i;
        end = end_of(&p->spans[i]) > end ? end_of(&p->spans[i]) : end;
    }
    close_until(s, p, &first, &open, -1);
    tern__strbuf_addf(s, "],\n     \"startValue\": 0, \"endValue\": %" PRIu64, end);
}

static void add_speedscope(tern__strbuf *s, const tern_profile *p, const tern_profile_limits *limits)
{
    (void)limits;
    tern__strbuf_add(s, "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n"
                        " \"name\": \"tern profile\", \"exporter\": \"tern\", \"activeProfileIndex\": 0,\n"
                        " \"shared\": {\"frames\": [");
    for (int i = 0; i < p->info.frames; i++) {
        tern__strbuf_add(s, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        tern__json_add_text(s, p->frames[i].name);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]},\n \"profiles\": [");
    for (int t = 0; t < p->info.threads; t++) {
        tern__strbuf_add(s, t ? ",\n    {\"type\": \"evented\", \"name\": "
                              : "\n    {\"type\": \"evented\", \"name\": ");
        tern__json_add_text(s, p->threads[t].name);
        tern__strbuf_add(s, ", \"unit\": \"nanoseconds\",\n     \"events\": [");
        add_timeline(s, p, &p->threads[t]);
        tern__strbuf_add(s, "}");
    }
    tern__strbuf_add(s, "]}\n");
}

/* ---- chrome: events that begin and end, in microseconds. Not "complete" ones with a duration: readers add that up in floating
 * point, and an event would end after its neighbour begins. ---- */

static void add_chrome_time(tern__strbuf *s, const tern_trace_event *e, char phase, uint64_t at)
{
    tern__strbuf_addf(s, ",\n {\"ph\": \"%c\", \"pid\": 1, \"tid\": %u, \"ts\": %" PRIu64 ".%03u, \"name\": ",
                      phase, e->thread, at / 1000, (unsigned)(at % 1000));
    tern__json_add_text(s, e->name);
}

static void add_chrome_begin(tern__strbuf *s, const tern_profile *p, const tern_trace_event *e)
{
    add_chrome_time(s, e, 'B', e->start_ns);
    tern__strbuf_addf(s, ", \"cat\": \"%s\"", e->category);
    if (e->category == p->step || (e->category == p->wait && e->step != UINT32_MAX)) {
        tern__strbuf_addf(s, ", \"args\": {\"program\": %u, \"step\": %u, \"kernel\": ", e->program, e->step);
        tern__json_add_text(s, e->kernel ? e->kernel : "");
        tern__member_text(s, ", ", "where", e->where ? e->where : "");
        tern__strbuf_addf(s, ", \"flops\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", e->flops, e->bytes);
    }
    tern__strbuf_add(s, "}");
}

/* Ends what is around a span and not around the next, which lies inside `inside`. */
static void end_until(tern__strbuf *s, const tern_profile *p, int64_t *open, int64_t inside)
{
    for (; *open != inside; *open = p->spans[*open].parent) {
        add_chrome_time(s, &p->spans[*open].event, 'E', end_of(&p->spans[*open]));
        tern__strbuf_add(s, "}");
    }
}

static void add_track(tern__strbuf *s, const tern_profile *p, const tern__profile_thread *t)
{
    int64_t open = -1;
    for (size_t i = t->first; i < t->first + t->n; i++) {
        end_until(s, p, &open, p->spans[i].parent);
        add_chrome_begin(s, p, &p->spans[i].event);
        open = (int64_t)i;
    }
    end_until(s, p, &open, -1);
}

static void add_chrome(tern__strbuf *s, const tern_profile *p, const tern_profile_limits *limits)
{
    (void)limits;
    tern__strbuf_addf(s,
                      "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"lost_events\": %" PRIu64
                      "},\n \"traceEvents\": [\n"
                      " {\"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"name\": \"process_name\", \"args\": "
                      "{\"name\": \"tern\"}}",
                      p->info.lost);
    for (int t = 0; t < p->info.threads; t++) {
        tern__strbuf_addf(s,
                          ",\n {\"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"name\": \"thread_name\", \"args\": "
                          "{\"name\": ",
                          t);
        tern__json_add_text(s, p->threads[t].name);
        tern__strbuf_addf(s,
                          "}},\n {\"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"name\": \"thread_sort_index\", "
                          "\"args\": {\"sort_index\": %d}}",
                          t, t);
    }
    for (int t = 0; t < p->info.threads; t++)
        add_track(s, p, &p->threads[t]);
    tern__strbuf_add(s, "]}\n");
}

/* ---- svg; collapsed: "main;run;layer 3;attention;matmul 1234", self time in microseconds ---- */

static void add_flame(tern__strbuf *s, const tern_profile *p, const tern_profile_limits *limits)
{
    (void)limits;
    tern__flame_add_frames(s, &p->info, p->frames);
}

static void add_collapsed(tern__strbuf *s, const tern_profile *p, const tern_profile_limits *limits)
{
    (void)limits;
    tern__flame_add_profile_stacks(s, &p->info, p->frames);
}

/* ---- all of them ---- */

tern_status tern_profile_format_parse(const char *name, tern_profile_format *out)
{
    static const char *const names[] = {
#define NAME(id, number, text, meaning) [number] = text,
        TERN_PROFILE_FORMAT_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "profile formats: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "profile formats", name, &number));
    *out = (tern_profile_format)number;
    return TERN_OK;
}

tern_status tern_profile_export(const tern_profile *profile, tern_profile_format format,
                                const tern_profile_limits *limits, char **out)
{
    static void (*const writers[])(tern__strbuf *, const tern_profile *, const tern_profile_limits *) = {
        [TERN_PROFILE_FORMAT_COLLAPSED] = add_collapsed,
        [TERN_PROFILE_FORMAT_SPEEDSCOPE] = add_speedscope,
        [TERN_PROFILE_FORMAT_CHROME] = add_chrome,
        [TERN_PROFILE_FORMAT_SVG] = add_flame,
        [TERN_PROFILE_FORMAT_JSON] = tern__profile_add_json,
    };
    TERN__FAIL_IF(!profile || !out, TERN_INVALID_ARGUMENT, "profile_export: an argument is NULL");
    TERN__FAIL_IF((unsigned)format >= sizeof writers / sizeof *writers, TERN_INVALID_ARGUMENT,
                  "profile_export: there is no format %d", (int)format);
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__strbuf_add(&s, "");
    writers[format](&s, profile, limits);
    return tern__strbuf_take(&s, out);
}

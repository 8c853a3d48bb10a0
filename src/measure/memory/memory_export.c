/* memory_export.c - what was recorded, for other programs and as pictures. Formats are rows of <tern/memory.h>. */
#include "base/names.h"
#include "base/units.h"
#include "measure/memory/memory_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "measure/profile/flame.h"

/* ---- the flame graph ---- */

static void get_bar(const void *tree, int i, tern__flame_bar *out)
{
    const tern_memory_frame *f = &((const tern_memory *)tree)->frames[i];
    static const struct {
        const char *category, *look;
    } looks[] = {{"all", "thread"}, {"before", "wait"}, {"site", "part"}, {"step", "step"},
                 {"arena", "step"}, {"tensor", "step"}, {"run", "run"}};
    const char *look = "other";
    for (size_t k = 0; k < TERN__COUNT(looks); k++)
        look = strcmp(f->category, looks[k].category) == 0 ? looks[k].look : look;
    *out = (tern__flame_bar){.name = strcmp(f->category, "before") == 0 ? "there before" : f->name,
                             .look = look,
                             .parent = f->parent,
                             .depth = f->depth,
                             .total = f->peak_bytes,
                             .self = f->self_peak_bytes,
                             .count = f->allocations};
}

static void add_amount(tern__strbuf *s, uint64_t bytes)
{
    tern__strbuf_add(s, tern__bytes_of((double)bytes).text);
}

static tern__flame flame_of(const tern_memory *m)
{
    return (tern__flame){.of = "memory",
                         .counted = "allocation",
                         .tree = m,
                         .n = m->info.frames,
                         .get = get_bar,
                         .add_amount = add_amount};
}

static void add_flame(tern__strbuf *s, const tern_memory *m)
{
    const tern_memory_peak *p = &m->peaks[TERN_MEMORY_IN_USE];
    char title[120], note[120];
    if (m->info.lost > 0)
        snprintf(title, sizeof title, "Memory in use: the peak is unavailable, events were lost");
    else
        snprintf(title, sizeof title, "Memory in use at its peak, %s at %s",
                 tern__bytes_of((double)p->bytes).text, tern__time_of((double)p->time_ns).text);
    snprintf(note, sizeof note, "%" PRIu64 " events%s", m->info.events,
             m->info.lost ? ", and others that found no room: more is missing here than is told" : "");
    tern__flame flame = flame_of(m);
    flame.title = title;
    flame.note = note;
    tern__flame_draw(s, &flame);
}

static void add_collapsed(tern__strbuf *s, const tern_memory *m)
{
    const tern__flame flame = flame_of(m);
    tern__flame_add_stacks(s, &flame, 1);
}

/* ---- all of them ---- */

tern_status tern_memory_format_parse(const char *name, tern_memory_format *out)
{
    static const char *const names[] = {
#define NAME(id, number, text, meaning) [number] = text,
        TERN_MEMORY_FORMAT_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "memory formats: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "memory formats", name, &number));
    *out = (tern_memory_format)number;
    return TERN_OK;
}

tern_status tern_memory_export(const tern_memory *memory, tern_memory_format format, char **out)
{
    static void (*const writers[])(tern__strbuf *, const tern_memory *) = {
        [TERN_MEMORY_FORMAT_JSON] = tern__memory_add_json,
        [TERN_MEMORY_FORMAT_TIMELINE] = tern__memory_add_timeline,
        [TERN_MEMORY_FORMAT_SVG] = add_flame,
        [TERN_MEMORY_FORMAT_COLLAPSED] = add_collapsed,
    };
    TERN__FAIL_IF(!memory || !out, TERN_INVALID_ARGUMENT, "memory_export: an argument is NULL");
    TERN__FAIL_IF((unsigned)format >= TERN__COUNT(writers), TERN_INVALID_ARGUMENT,
                  "memory_export: there is no format %d", (int)format);
    tern__strbuf s = TERN__STRBUF_EMPTY;
    tern__strbuf_add(&s, "");
    writers[format](&s, memory);
    return tern__strbuf_take(&s, out);
}

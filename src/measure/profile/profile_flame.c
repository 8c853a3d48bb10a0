/* profile_flame.c - the call tree of a profile, or of its JSON read back, as a flame graph and as stacks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/units.h"
#include "measure/profile/flame.h"

static const char *look_of(const tern_profile_frame *f)
{
    static const char *const known[] = {"step", "wait", "part", "run"};
    if (f->depth == 0)
        return "thread";
    for (size_t i = 0; i < TERN__COUNT(known); i++)
        if (strcmp(f->category, known[i]) == 0)
            return known[i];
    return "other";
}

static void get_bar(const void *tree, int i, tern__flame_bar *out)
{
    const tern_profile_frame *f = &((const tern_profile_frame *)tree)[i];
    *out = (tern__flame_bar){.name = f->name,
                             .look = look_of(f),
                             .parent = f->parent,
                             .depth = f->depth,
                             .total = f->total_ns,
                             .self = f->self_ns,
                             .count = f->count};
}

static void add_amount(tern__strbuf *s, uint64_t ns)
{
    tern__strbuf_add(s, tern__time_of((double)ns).text);
}

static tern__flame flame_of(const tern_profile_info *info, const tern_profile_frame *frames)
{
    return (tern__flame){.of = "time",
                         .counted = "event",
                         .tree = frames,
                         .n = info->frames,
                         .get = get_bar,
                         .add_amount = add_amount};
}

void tern__flame_add_frames(tern__strbuf *s, const tern_profile_info *info, const tern_profile_frame *frames)
{
    char title[120], note[160], lost[80] = "";
    if (info->lost)
        snprintf(lost, sizeof lost, ", %" PRIu64 " lost: more is missing here than is told", info->lost);
    snprintf(title, sizeof title, "Time of %d thread%s, %s in %s", info->threads,
             info->threads == 1 ? "" : "s", tern__time_of((double)(info->work_ns + info->wait_ns)).text,
             tern__time_of((double)info->wall_ns).text);
    snprintf(note, sizeof note, "%" PRIu64 " events%s", info->events, lost);
    tern__flame flame = flame_of(info, frames);
    flame.title = title;
    flame.note = note;
    tern__flame_draw(s, &flame);
}

void tern__flame_add_profile_stacks(tern__strbuf *s, const tern_profile_info *info,
                                    const tern_profile_frame *frames)
{
    const tern__flame flame = flame_of(info, frames);
    tern__flame_add_stacks(s, &flame, 1000);
}

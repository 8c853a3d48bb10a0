/* flame.h - a tree as a picture: of time, or of memory. */
#ifndef TERN_MEASURE_FLAME_H
#define TERN_MEASURE_FLAME_H

#include <stdint.h>

#include <tern/profile.h>

#include "base/strbuf.h"

typedef struct tern__flame_bar {
    const char *name;
    const char *look;  /* "step", "wait", "part", "run", "thread" or "other": its colour */
    int parent, depth; /* -1 and 0: none */
    uint64_t total, self, count;
} tern__flame_bar;

/* Bars come parents first. Those without a parent stand side by side. */
typedef struct tern__flame {
    const char *title, *note; /* in the head */
    const char *of;           /* "time", "memory": what the whole is */
    const char *counted;      /* "event": what `count` counts */
    const void *tree;
    int n;
    void (*get)(const void *tree, int i, tern__flame_bar *out);
    void (*add_amount)(tern__strbuf *to, uint64_t amount); /* "1.24 ms" */
} tern__flame;

/* An SVG document, which may also stand in a page: nothing is loaded from elsewhere; as wide as there is room; a click zooms, the
 * field searches; light or dark as the reader prefers. */
void tern__flame_draw(tern__strbuf *to, const tern__flame *flame);

/* A line for each bar that has something of its own: "main;run;matmul 1234", in units of `unit`, rounded. */
void tern__flame_add_stacks(tern__strbuf *to, const tern__flame *flame, uint64_t unit);

/* profile_flame.c: the frames of a profile (info->frames), as a picture and as stacks with microseconds. */
void tern__flame_add_frames(tern__strbuf *to, const tern_profile_info *info,
                            const tern_profile_frame *frames);
void tern__flame_add_profile_stacks(tern__strbuf *to, const tern_profile_info *info,
                                    const tern_profile_frame *frames);

#endif

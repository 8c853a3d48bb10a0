/* demo.h - what `tern demo` has measured, for its report. */
#ifndef TERN_CLI_DEMO_H
#define TERN_CLI_DEMO_H

#include <tern/measure.h>
#include <tern/profile.h>

#include "answer.h"
#include "engine.h"

enum { DEMO_WHY = 200 };

/* A time of a part of the model, over all layers and threads. */
typedef struct demo_part {
    char name[64];
    uint64_t ns;
} demo_part;

enum { DEMO_PARTS = 12 };

typedef struct demo {
    engine e;
    answer passage;
    text prompt;
    int32_t *tokens; /* of the prompt */
    size_t n_tokens;
    int threads;
    /* Memory, before anything else was measured. */
    uint64_t peak_bytes; /* of the process; 0: the system does not tell */
    uint64_t file_bytes, weight_bytes, cache_bytes, arena_bytes;
    bool
        packed; /* weight_bytes is what they take as kernels read them, else as they were before the compiler packed them */
    /* A prompt, in turns with the machine's arithmetic. */
    int prompt_tokens;
    double prompt_rate; /* tokens per second; NaN: `prompt_why` */
    double prompt_share, prompt_limit;
    tern_limit_kind limit_kind;
    char prompt_why[DEMO_WHY];
    /* The same passage once more, while every step was timed. */
    int64_t profiled; /* tokens; 0: `profile_why` */
    char profile_why[DEMO_WHY];
    uint64_t step_ns, wait_ns, other_ns; /* of threads: in steps, waiting for each other, outside steps */
    int n_parts;
    demo_part parts[DEMO_PARTS]; /* the longest first */
    /* Steps against what the machine gave just then. */
    double step_share;    /* of those that have one; NaN: `share_why` */
    double step_share_of; /* how much of the steps' time those are, 0 to 1 */
    tern_profile_rates rates;
    char share_why[DEMO_WHY];
} demo;

/* demo_profile.c: profiles `most` tokens after the same prompt, and compares their steps with the machine. */
void demo_profile(demo *d, const tern_generate_options *options);

/* demo_report.c: one screen, or an object. */
void demo_print(const demo *d);
void demo_print_json(const demo *d);

#endif

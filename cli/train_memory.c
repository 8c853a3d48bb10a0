/* train_memory.c - would a training run fit into memory? It is asked before the first step, and answered with numbers: whoever is
 * killed for want of memory learns nothing. */
#include <tern/memory.h>
#include <tern/pressure.h>

#include "term.h"
#include "train.h"

/* Numbers that a step updates, in round: what norms have does not count. */
static double parameters_of(const tern_train_shape *s)
{
    const double head = (double)s->width / (double)s->heads,
                 attention = (double)s->width * head * (2 * (double)s->heads + 2 * (double)s->kv_heads),
                 feed_forward = 3 * (double)s->width * (double)s->feed_forward;
    return (double)s->vocabulary * (double)s->width + (double)s->layers * (attention + feed_forward);
}

/* f32 each: weight, moments, and the sum of gradients of passes. */
static double bytes_of_parameter(const tern_train_options *o)
{
    const bool adamw = o->optimiser.kind == TERN_ADAMW;
    return 4.0 * (1 + (adamw ? 2 : o->optimiser.momentum > 0) +
                  (o->accumulate > 1 || o->activations != TERN_PRECISION_EXACT));
}

int train_check_states(train_run *r)
{
    tern_pressure_reading reading;
    char need[NUMBER_TEXT], have[NUMBER_TEXT], count[NUMBER_TEXT];
    const tern_train_options *o = &r->config.options;
    const double parameters = parameters_of(&o->shape), bytes = parameters * bytes_of_parameter(o);
    r->base_bytes = train_peak_bytes();
    r->available_bytes =
        tern_pressure_read(NULL, NULL, &reading) == TERN_OK ? reading.available_bytes : UINT64_MAX;
    if (!(bytes < 0x1p62) || (uint64_t)bytes > r->available_bytes)
        return fail("%s parameters need %s for weights and the optimiser alone, but %s are available: make "
                    "model.layers, model.width or model.feed_forward smaller",
                    format_count(count, parameters < 0x1p62 ? (uint64_t)parameters : UINT64_MAX),
                    format_bytes(need, bytes < 0x1p62 ? (uint64_t)bytes : UINT64_MAX),
                    format_bytes(have, r->available_bytes));
    return EXIT_DONE;
}

int train_check_plan(train_run *r)
{
    char all[NUMBER_TEXT], states[NUMBER_TEXT], plan[NUMBER_TEXT], have[NUMBER_TEXT];
    const uint64_t needed = r->info.state_bytes + r->info.arena_bytes;
    /* small models need less than the process that has compiled them */
    const uint64_t sum = r->base_bytes + needed, now = train_peak_bytes();
    r->predicted_bytes = sum > now ? sum : now;
    if (needed <= r->available_bytes)
        return EXIT_DONE;
    return fail(
        "a step needs %s: %s for weights and the optimiser, %s for what it computes; but %s are "
        "available: make batch smaller and accumulate larger by as much, model.context smaller, or set "
        "recompute to \"layers\" or activations to \"bf16\"",
        format_bytes(all, needed), format_bytes(states, r->info.state_bytes),
        format_bytes(plan, r->info.arena_bytes), format_bytes(have, r->available_bytes));
}

uint64_t train_peak_bytes(void)
{
    return tern_memory_process_peak();
}

/* train_memory.c - would a training run fit into memory? It is asked before the first step, and answered with numbers: whoever is
 * killed for want of memory learns nothing. */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tern/memory.h>
#include <tern/pressure.h>

#include "term.h"
#include "train.h"

/* Beside states, programs and their arenas: files that are written, stacks of threads, what allocators round up to; and, where samples
 * are shown, a context and programs for them. As measured: models change little in it. */
enum { REST_BYTES = 4 << 20, SAMPLE_BYTES = 4 << 20 };

/* Will a step of this run be followed by a sample? */
static bool sample_is_due(const train_run *r)
{
    const int64_t every = r->config.every_sample, last = r->last_step;
    if (!train_shows_samples(r))
        return false;
    const int64_t due = (r->progress.step / every + 1) * every;
    return due < r->config.schedule.steps && (last == 0 || due <= last);
}

/* A sample runs the model from a file, whose weights of two bits are packed once more. */
static uint64_t sample_bytes(const train_run *r)
{
    return sample_is_due(r) ? SAMPLE_BYTES + (uint64_t)r->info.parameters / 2 : 0;
}

/* Sizes have limits, and their product is far below 2^64; that it is so is not taken on trust. */
uint64_t train_batch_bytes(const train_run *r)
{
    const tern_train_options *o = &r->config.options;
    uint64_t bytes = sizeof *r->batch;
    if (__builtin_mul_overflow(bytes, (uint64_t)o->accumulate, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)o->batch, &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)o->shape.context + 1, &bytes) || bytes > SIZE_MAX / 2)
        return SIZE_MAX / 2;
    return bytes;
}

/* What the process has mapped and what of it is in memory; 0: nobody says. */
static void read_pages(uint64_t *mapped, uint64_t *resident)
{
    unsigned long long pages[2] = {0};
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%llu %llu", &pages[0], &pages[1]) != 2)
        pages[0] = pages[1] = 0;
    if (file)
        fclose(file);
    *mapped = (uint64_t)pages[0] * page;
    *resident = (uint64_t)pages[1] * page;
}

/* What the process has; where nobody says, the most that it had. */
static uint64_t resident_bytes(void)
{
    uint64_t mapped, resident;
    read_pages(&mapped, &resident);
    return resident > 0 ? resident : tern_memory_process_peak();
}

/* What the process may still map (`ulimit -v`), which refuses memory that the machine has; UINT64_MAX: there is no limit. */
static uint64_t mappable_bytes(void)
{
    struct rlimit limit;
    uint64_t mapped, resident;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    read_pages(&mapped, &resident);
    return limit.rlim_cur > mapped ? limit.rlim_cur - mapped : 0;
}

static uint64_t available_bytes(void)
{
    tern_pressure_reading reading;
    const uint64_t mappable = mappable_bytes();
    if (tern_pressure_read(NULL, NULL, &reading) != TERN_OK)
        return mappable;
    return reading.available_bytes < mappable ? reading.available_bytes : mappable;
}

int train_check_states(train_run *r)
{
    tern_trainer_info needs;
    char need[NUMBER_TEXT], have[NUMBER_TEXT], count[NUMBER_TEXT];
    if (tern_train_needs(&r->config.options, &needs) != TERN_OK)
        return fail_status(NULL);
    r->base_bytes = resident_bytes();
    r->available_bytes = available_bytes();
    if (needs.state_bytes > r->available_bytes)
        return fail("%s parameters need %s for weights and the optimiser alone, but %s are available: make "
                    "model.layers, model.width or model.feed_forward smaller",
                    format_count(count, (uint64_t)needs.parameters), format_bytes(need, needs.state_bytes),
                    format_bytes(have, r->available_bytes));
    return EXIT_DONE;
}

/* Weights and programs are made by now, and the process has their memory; moments, which are zero, have pages of the system that nothing was
 * written to, and come with the first step like its tokens and the arena. What the process had and gave back, as after a tokenizer was
 * learnt, is there again; but it may stay the most that it had. */
int train_check_plan(train_run *r)
{
    char all[NUMBER_TEXT], states[NUMBER_TEXT], plan[NUMBER_TEXT], ids[NUMBER_TEXT], have[NUMBER_TEXT];
    const uint64_t weights = (uint64_t)r->info.parameters * sizeof(float);
    const uint64_t untouched = r->info.state_bytes > weights ? r->info.state_bytes - weights : 0;
    const uint64_t arena = r->info.arena_bytes, tokens = train_batch_bytes(r), now = resident_bytes();
    const uint64_t steps = now + untouched + arena + tokens + REST_BYTES + sample_bytes(r);
    const uint64_t peak = tern_memory_process_peak(),
                   needed = steps > r->base_bytes ? steps - r->base_bytes : 0;
    r->predicted_bytes = steps > peak ? steps : peak;
    if (needed <= r->available_bytes)
        return EXIT_DONE;
    return fail("a step needs %s: %s for weights and the optimiser, %s for what it computes, %s for its "
                "tokens; but %s are available: make %s",
                format_bytes(all, needed), format_bytes(states, r->info.state_bytes),
                format_bytes(plan, arena), format_bytes(ids, tokens), format_bytes(have, r->available_bytes),
                tokens > arena ? "accumulate, batch or model.context smaller"
                               : "batch smaller and accumulate larger by as much, model.context smaller, or "
                                 "set recompute to \"layers\" or activations to \"bf16\"");
}

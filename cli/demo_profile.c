/* demo_profile.c - where the time of a passage goes, by part of the model, and how near its steps come to what the machine
 * gives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "demo.h"
#include "text.h"

static const uint64_t most_ns = 2000000000;

/* "layer 3/attention" and all its brothers are "attention"; of steps that belong to several parts the first counts. What is of a
 * layer and of no part of it has a name for all layers together. */
static void name_of(const char *part, char out[static sizeof(((demo_part *)0)->name)])
{
    static const char layer[] = "layer ";
    const char *slash = strchr(part, '/');
    const bool inside = strncmp(part, layer, strlen(layer)) == 0;
    const char *from = !inside ? part : slash ? slash + 1 : "elsewhere in layers";
    const char *more = strstr(from, " + ");
    const size_t room = sizeof(((demo_part *)0)->name), length = more ? (size_t)(more - from) : strlen(from);
    snprintf(out, room, "%.*s", (int)(length < room ? length : room - 1), from);
}

static void add_part(demo *d, const tern_profile_row *row)
{
    char name[sizeof d->parts[0].name];
    int i = 0;
    name_of(row->name, name);
    while (i < d->n_parts && strcmp(d->parts[i].name, name) != 0)
        i++;
    if (i == DEMO_PARTS)
        i = DEMO_PARTS - 1; /* more than models have: in the last */
    else if (i == d->n_parts)
        memcpy(d->parts[d->n_parts++].name, name, sizeof name);
    d->parts[i].ns += row->self_ns;
}

static int by_time(const void *left, const void *right)
{
    const demo_part *a = left, *b = right;
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static void sum_up(demo *d, const tern_profile *profile)
{
    tern_profile_info info;
    tern_profile_row row;
    tern_profile_get_info(profile, &info);
    for (int i = 0; tern_profile_get_row(profile, TERN_PROFILE_OPS, i, &row) == TERN_OK; i++)
        if (strcmp(row.category, "step") == 0)
            d->step_ns += row.self_ns;
    for (int i = 0; tern_profile_get_row(profile, TERN_PROFILE_PARTS, i, &row) == TERN_OK; i++)
        add_part(d, &row);
    qsort(d->parts, (size_t)d->n_parts, sizeof d->parts[0], by_time);
    d->wait_ns = info.wait_ns;
    d->other_ns = info.work_ns > d->step_ns ? info.work_ns - d->step_ns : 0;
}

/* Of the time of steps that have a share, what the slower of bytes and arithmetic would take. Steps whose work nobody knows say
 * nothing of the others. */
static void compare(demo *d, const tern_profile *profile)
{
    tern_profile_limits limits;
    tern_hot_spot spot;
    double reached = 0, known = 0, all = 0;
    if (tern_profile_measure_limits(d->threads, &limits) != TERN_OK) {
        snprintf(d->share_why, sizeof d->share_why, "%s", tern_last_error());
        return;
    }
    d->rates = limits.all;
    for (int i = 0; tern_profile_get_hot_spot(profile, TERN_PROFILE_OPS, i, &limits, &spot) == TERN_OK; i++) {
        if (strcmp(spot.row.category, "step") != 0)
            continue;
        all += (double)spot.row.self_ns;
        if (isnan(spot.limit_share))
            continue;
        known += (double)spot.row.self_ns;
        reached += (double)spot.row.self_ns * spot.limit_share;
    }
    if (known > 0) {
        d->step_share = reached / known;
        d->step_share_of = known / all;
    } else {
        snprintf(d->share_why, sizeof d->share_why,
                 all > 0 ? "no step has a share of a limit" : "no step was timed");
    }
}

/* A busy machine gets fewer tokens done. */
static bool has_time(void *user, const tern_generated *piece)
{
    (void)piece;
    return clock_ns() < *(const uint64_t *)user;
}

static tern_status generate_again(demo *d, const tern_generate_options *options)
{
    tern_sequence *sequence;
    tern_generate_result result;
    uint64_t end_ns = clock_ns() + most_ns;
    TERN_TRY(tern_sequence_create(d->e.session, 0, &sequence));
    tern_status status = tern_sequence_prompt(sequence, d->tokens, (int64_t)d->n_tokens, NULL, NULL);
    if (status == TERN_OK)
        status = tern_profile_start(NULL); /* from here on: tokens one by one */
    if (status == TERN_OK)
        status = tern_generate(sequence, d->e.tokenizer, options, has_time, &end_ns, &result);
    if (status == TERN_OK)
        d->profiled = result.tokens;
    tern_sequence_free(sequence);
    return status;
}

void demo_profile(demo *d, const tern_generate_options *options)
{
    tern_profile *profile = NULL;
    tern_status status = generate_again(d, options);
    if (status != TERN_OK)
        snprintf(d->profile_why, sizeof d->profile_why, "%s", tern_last_error());
    const tern_status stopped = tern_profile_stop(&profile); /* fails if it was not started */
    if (status == TERN_OK && stopped != TERN_OK)
        snprintf(d->profile_why, sizeof d->profile_why, "%s", tern_last_error());
    if (status == TERN_OK && stopped == TERN_OK) {
        sum_up(d, profile);
        compare(d, profile);
    } else {
        d->profiled = 0;
        snprintf(d->share_why, sizeof d->share_why, "%.*s", DEMO_WHY - 1, d->profile_why);
    }
    tern_profile_free(profile);
}

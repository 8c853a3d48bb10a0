/* settings.c - see settings.h. */
#include "measure/bench/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <tern/bench_model.h>

#include "base/point.h"
#include "base/status.h"
#include "measure/bench/bench.h"

static const char memory_name[] = "setting_memory", isa_name[] = "setting_isa",
                  model_name[] = "setting_model", fallback_name[] = "setting_fallback",
                  budget_name[] = "setting_budget_s", samples_name[] = "setting_samples",
                  warmup_name[] = "setting_warmup";

static tern_status note_isa(const char *cpu, tern_results *results)
{
    return cpu ? tern_results_set_condition(results, isa_name, cpu) : TERN_OK;
}

static tern_status note_number(const char *name, double number, tern_results *results)
{
    char text[32];
    tern__point_snprintf(text, sizeof text, "%.15g", number);
    return tern_results_set_condition(results, name, text);
}

/* How samples were taken is always said, defaults as well: another tern may have others. */
tern_status tern_bench_note_settings(const tern_bench_options *options, tern_results *results)
{
    TERN__FAIL_IF(!options || !results, TERN_INVALID_ARGUMENT, "bench_note_settings: an argument is NULL");
    tern_bench_options o = *options;
    tern__bench_settle_sampling(&o);
    if (o.memory > 0)
        TERN_TRY(note_number(memory_name, (double)o.memory, results));
    TERN_TRY(note_number(budget_name, o.budget_s, results));
    TERN_TRY(note_number(samples_name, o.rounds, results));
    TERN_TRY(note_number(warmup_name, o.warmups, results));
    return note_isa(o.cpu, results);
}

/* By its whole path: whoever measures again may be in another folder. */
tern_status tern_bench_model_note_settings(const tern_bench_model_options *options, tern_results *results)
{
    char whole[PATH_MAX];
    TERN__FAIL_IF(!options || !results || !options->path, TERN_INVALID_ARGUMENT,
                  "bench_model_note_settings: an argument is NULL");
    TERN_TRY(tern_results_set_condition(results, model_name,
                                        realpath(options->path, whole) ? whole : options->path));
    if (options->fallback)
        TERN_TRY(tern_results_set_condition(results, fallback_name, "yes"));
    return note_isa(options->cpu, results);
}

/* 0: they do not say, or it cannot be. */
static double number_of(const tern_results *results, const char *name, double least, double most)
{
    const char *text = tern_results_condition(results, name);
    const double number = text ? tern__point_strtod(text, NULL) : 0;
    return number >= least && number <= most ? number : 0;
}

void tern__settings_apply(const tern_results *results, tern_bench_options *o)
{
    const char *memory = tern_results_condition(results, memory_name);
    if (o->memory == 0 && memory)
        o->memory = strtoll(memory, NULL, 10); /* nonsense is refused when it is used */
    if (!o->cpu)
        o->cpu = tern_results_condition(results, isa_name);
    o->budget_s = number_of(results, budget_name, 0, 1e6);
    o->rounds = (int)number_of(results, samples_name, 0, TERN__ROUNDS_MOST);
    o->warmups = o->warmups > 0 ? o->warmups : (int)number_of(results, warmup_name, 0, 1000);
    tern__bench_settle_sampling(o);
}

const char *tern__settings_model(const tern_results *results)
{
    return tern_results_condition(results, model_name);
}

bool tern__settings_fallback(const tern_results *results)
{
    return tern_results_condition(results, fallback_name) != NULL;
}

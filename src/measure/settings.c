/* settings.c - see settings.h. */
#include "measure/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <tern/bench_model.h>

#include "base/status.h"

static const char memory_name[] = "setting_memory", isa_name[] = "setting_isa",
                  model_name[] = "setting_model", fallback_name[] = "setting_fallback";

static tern_status note_isa(const char *cpu, tern_results *results)
{
    return cpu ? tern_results_set_condition(results, isa_name, cpu) : TERN_OK;
}

tern_status tern_bench_note_settings(const tern_bench_options *options, tern_results *results)
{
    char number[32];
    TERN__FAIL_IF(!options || !results, TERN_INVALID_ARGUMENT, "bench_note_settings: an argument is NULL");
    if (options->memory > 0) {
        snprintf(number, sizeof number, "%lld", (long long)options->memory);
        TERN_TRY(tern_results_set_condition(results, memory_name, number));
    }
    return note_isa(options->cpu, results);
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

void tern__settings_apply(const tern_results *results, tern_bench_options *o)
{
    const char *memory = tern_results_condition(results, memory_name);
    if (o->memory == 0 && memory)
        o->memory = strtoll(memory, NULL, 10); /* nonsense is refused when it is used */
    if (!o->cpu)
        o->cpu = tern_results_condition(results, isa_name);
}

const char *tern__settings_model(const tern_results *results)
{
    return tern_results_condition(results, model_name);
}

bool tern__settings_fallback(const tern_results *results)
{
    return tern_results_condition(results, fallback_name) != NULL;
}

/* settings.h - what has to be the same for results to be taken again: kept among their conditions, under names that only settings.c
 * knows. */
#ifndef TERN_MEASURE_SETTINGS_H
#define TERN_MEASURE_SETTINGS_H

#include <tern/measure.h>
#include <tern/results.h>

/* Fills what `o` leaves open with the settings that `results` were taken with; texts are those of the results. How samples are taken
 * (budget_s and rounds) is always theirs; the usual way if they are of a tern that did not keep it. */
void tern__settings_apply(const tern_results *results, tern_bench_options *o);

/* The file of the model that they are of; NULL: they do not say. */
const char *tern__settings_model(const tern_results *results);

/* Was the CPU allowed to run what their device could not? */
bool tern__settings_fallback(const tern_results *results);

#endif

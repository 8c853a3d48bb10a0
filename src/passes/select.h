/* select.h - steps and the ways to run them: what the select pass and the tuner share. */
#ifndef TERN_PASSES_SELECT_H
#define TERN_PASSES_SELECT_H

#include "graph/call.h"
#include "graph/plan.h"
#include "graph/target.h"

/* The step of a call that runs as `candidate` says (NULL: as the target thinks best); its operands are left 0. What it
 * interprets is in `arena`. */
tern_status tern__step_of(const tern__target *target, const tern__call *call,
                          const tern__candidate *candidate, tern__arena *arena, tern__step *out);

/* All ways to run a call: the target's candidates, each with a few numbers of workers. The first is what `usual`, the
 * step as the target thinks best, does. Returns how many; 1 means that there is nothing to choose. */
int tern__step_candidates(const tern__target *target, const tern__call *call, const tern__step *usual,
                          tern__candidate out[TERN__MAX_CANDIDATES]);

/* The fastest of the candidates, as far as their times are known; -1 if none is. Like is compared with like: where only the
 * tuner measured one, its time counts as long as it would be in programs, by those that were measured both ways. */
int tern__fastest_timing(int n, const tern__timing *timings);

#endif

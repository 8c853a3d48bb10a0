/* check_plan.h - proves, by replaying a plan symbolically, that its memory is used soundly: every byte that a step
 * reads was last written by the step that computed the value being read, so no two buffers that are alive together share
 * bytes; results are where the plan says when it ends; inputs and constants are never written; nothing lies outside its
 * block, and nothing in the scratch of a step, its workers' and what they share; buffers and scratch are aligned. Works for any plan: it knows views and writes from the op table only. */
#ifndef TERN_TESTS_PASSES_CHECK_PLAN_H
#define TERN_TESTS_PASSES_CHECK_PLAN_H

#include "graph/plan.h"

/* false: `why` says what is wrong. Meant for small tensors: it looks at every byte. */
bool check_plan(const tern_graph *g, const tern__plan *plan, char *why, size_t room);

#endif

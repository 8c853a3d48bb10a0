/* candidates.h - the ways in which the CPU can run a call, for the tuner to measure. */
#ifndef TERN_DEVICES_CPU_CANDIDATES_H
#define TERN_DEVICES_CPU_CANDIDATES_H

#include "devices/rows/regions.h"
#include "graph/target.h"
#include "kernels/attention/attend.h"

/* tern__target.candidates of the CPU. */
int tern__cpu_candidates(const tern__target *target, const tern__call *call, int most, tern__candidate *out);

/* Does a candidate stand for a variant of a row program? Others say how a product or attention runs, or only how many workers share
 * the step. NULL is fine. */
bool tern__cpu_candidate_is_row(const tern__candidate *candidate);
/* That variant. */
tern__row_variant tern__cpu_row_variant(const tern__candidate *candidate);
/* The rows of a product that it stands for; 0: as usual. NULL is fine. */
int64_t tern__cpu_candidate_rows(const tern__candidate *candidate);
/* Likewise of attention. */
tern__attention_variant tern__cpu_attention_variant(const tern__candidate *candidate);

#endif

/* place.h - the buffers of a running order: what the passes `place` and `inplace` do with the order that was chosen, and
 * `schedule` with orders that it considers. */
#ifndef TERN_PASSES_PLACE_H
#define TERN_PASSES_PLACE_H

#include "passes/pass.h"

/* Which buffer each value lies in when the nodes run in c->order, and how long it is in use: makes c->places and c->needs_step
 * anew and counts the plan's steps and operands. */
tern_status tern__place_values(tern__compilation *c);

/* May result r of the node be written over an operand, if nobody reads that operand's buffer afterwards? By c->places. */
bool tern__may_reuse(const tern__compilation *c, const tern__gnode *node, uint32_t operand, uint32_t r);

/* Lets results move over operands that nobody reads afterwards (changes c->places); how many did. `explain`: with a note for
 * each. */
uint32_t tern__reuse_operands(tern__compilation *c, bool explain);

#endif

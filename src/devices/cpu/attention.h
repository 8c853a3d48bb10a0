/* attention.h - attention on the CPU. */
#ifndef TERN_DEVICES_CPU_ATTENTION_H
#define TERN_DEVICES_CPU_ATTENTION_H

#include "graph/target.h"
#include "kernels/attention/attend.h"
#include "kernels/select.h"

/* How a call of op `attention` runs as this variant, and on which kernel. false: the reference kernel has to do. */
bool tern__cpu_attention_plan(const tern__target *target, const tern__call *call,
                              tern__attention_variant variant, const tern__kernel_row **row,
                              tern__attention_program *out);

#endif

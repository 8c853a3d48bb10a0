/* attention_plain.c - attention in plain C, which every compiler turns into what the processor surely has. */
#define TERN__LANES 4
#include "kernels/row/lanes.h"

#include "kernels/attention/attention_four.h"

TERN__ATTENTION_KERNEL(plain)

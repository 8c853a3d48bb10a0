/* attention_sse42.c - attention on SSE4.2. */
#include "kernels/x86/vectors_sse42.h"

#include "kernels/attention/attention_four.h"

TERN__ATTENTION_KERNEL(sse42)

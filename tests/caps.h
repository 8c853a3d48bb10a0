/* caps.h - caps on instruction sets (base/cpu.h) that together let every row of kernels.def be chosen that the processor can run:
 * tests/kernels/test_table.c sees to it. Those of another architecture leave the baseline. */
#ifndef TERN_TESTS_CAPS_H
#define TERN_TESTS_CAPS_H

/* clang-format off */
static const char *const caps[] = {
    "baseline", "sse4.2", "avx2", "avx2,-avxvnni", "avx512", "avx512vnni", "avx512vnni,-avx512vbmi", "amx", "neon", "neondot",
};
/* clang-format on */
enum { N_CAPS = sizeof caps / sizeof *caps };

#endif

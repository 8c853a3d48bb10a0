/* probes_amx.c - AVX-512 with products of int8 tiles. */
#include "measure/x86/probes_peak.h"

X86_PEAK_24(fma_peak, "vpxord %%zmm\\n, %%zmm\\n, %%zmm\\n", "vfmadd231ps %%zmm15, %%zmm14, %%zmm\\n")

/* What ldtilecfg reads: eight tiles of 16 rows of 64 bytes. */
static const struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} shapes = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* Four sums, each of which takes as long as four products. */
static void dot_peak(int64_t repetitions)
{
    __asm__ volatile("ldtilecfg %1\n"
                     "1:\n"
                     "tdpbssd %%tmm6, %%tmm4, %%tmm0\n"
                     "tdpbssd %%tmm7, %%tmm4, %%tmm1\n"
                     "tdpbssd %%tmm6, %%tmm5, %%tmm2\n"
                     "tdpbssd %%tmm7, %%tmm5, %%tmm3\n"
                     "dec %0\n"
                     "jnz 1b\n"
                     "tilerelease\n"
                     : "+r"(repetitions)
                     : "m"(shapes)
                     : "cc");
}

const tern__probes tern__probes__amx = {.read = read_by,
                                        .copy = copy_by,
                                        .fma = fma_peak,
                                        .dot = dot_peak,
                                        .fma_operations = 24 * 16 * 2,
                                        .dot_operations = 4 * 16 * 16 * 64 * 2};

/* cpu_detect.h - the parts from which cpu.c puts tern__cpu_info together. Only cpu*.c and their test include
 * it. */
#ifndef TERN_BASE_CPU_DETECT_H
#define TERN_BASE_CPU_DETECT_H

#include "base/cpu.h"

#define TERN__ISA_BIT(id) (1u << TERN__ISA_##id)

/* Fills model, arch and isa_mask. One definition per architecture: cpu_x86.c, cpu_arm.c, or cpu.c for
 * others. */
void tern__cpu_detect_isa(tern__cpu_info *info);

/* Asks the system for the tiles of AMX (cpu_x86.c): may they be used? */
bool tern__cpu_ask_for_tiles(void);

/* Fills cores_*, memory_bytes and l*_bytes (cpu_system.c). */
void tern__cpu_detect_cores(tern__cpu_info *info);
void tern__cpu_detect_memory(tern__cpu_info *info);
void tern__cpu_detect_caches(tern__cpu_info *info);

#endif

/* cpu_arm.c - instruction-set levels and model of an AArch64 processor: the kernel's hardware capabilities on
 * Linux, sysctl on macOS. */
#if defined(__aarch64__)

#include <stdio.h>
#include <string.h>

#include "base/cpu_detect.h"

#if defined(__linux__)

#include <sys/auxv.h>

/* From the kernel's ABI; named here because older C libraries lack some of them. */
#define CAP_ASIMD (1ul << 1)
#define CAP_CPUID (1ul << 11)
#define CAP_ASIMDDP (1ul << 20)

static uint32_t detect_levels(void)
{
    unsigned long caps = getauxval(AT_HWCAP);
    uint32_t mask = TERN__ISA_BIT(BASELINE);
    if ((caps & CAP_ASIMD) == 0)
        return mask;
    mask |= TERN__ISA_BIT(NEON);
    if ((caps & CAP_ASIMDDP) != 0)
        mask |= TERN__ISA_BIT(NEONDOT);
    return mask;
}

/* Implementer and part number; the names of the cores one meets most. */
static void read_model(char *model, size_t capacity)
{
    static const struct {
        unsigned implementer, part;
        const char *name;
    } cores[] = {
        {0x41, 0xd03, "Arm Cortex-A53"},  {0x41, 0xd05, "Arm Cortex-A55"},  {0x41, 0xd07, "Arm Cortex-A57"},
        {0x41, 0xd08, "Arm Cortex-A72"},  {0x41, 0xd0b, "Arm Cortex-A76"},  {0x41, 0xd0c, "Arm Neoverse-N1"},
        {0x41, 0xd40, "Arm Neoverse-V1"}, {0x41, 0xd41, "Arm Cortex-A78"},  {0x41, 0xd44, "Arm Cortex-X1"},
        {0x41, 0xd49, "Arm Neoverse-N2"}, {0x41, 0xd4f, "Arm Neoverse-V2"}, {0xc0, 0xac3, "Ampere-1"},
    };
    if ((getauxval(AT_HWCAP) & CAP_CPUID) == 0)
        return; /* without it the kernel does not answer for the register below */
    uint64_t id;
    __asm__ volatile("mrs %0, midr_el1" : "=r"(id));
    unsigned implementer = (unsigned)(id >> 24 & 0xff), part = (unsigned)(id >> 4 & 0xfff);
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        if (cores[i].implementer == implementer && cores[i].part == part) {
            snprintf(model, capacity, "%s", cores[i].name);
            return;
        }
    }
    snprintf(model, capacity, "AArch64 implementer 0x%02x part 0x%03x", implementer, part);
}

#elif defined(__APPLE__)

#include <sys/sysctl.h>

static uint32_t detect_levels(void)
{
    uint32_t mask = TERN__ISA_BIT(BASELINE) | TERN__ISA_BIT(NEON); /* every Apple core has Advanced SIMD */
    int value = 0;
    size_t bytes = sizeof value;
    if (sysctlbyname("hw.optional.arm.FEAT_DotProd", &value, &bytes, NULL, 0) == 0 && value != 0)
        mask |= TERN__ISA_BIT(NEONDOT);
    return mask;
}

static void read_model(char *model, size_t capacity)
{
    size_t bytes = capacity - 1;
    if (sysctlbyname("machdep.cpu.brand_string", model, &bytes, NULL, 0) != 0)
        bytes = 0;
    model[bytes] = '\0';
}

#else

static uint32_t detect_levels(void)
{
    return TERN__ISA_BIT(BASELINE) | TERN__ISA_BIT(NEON); /* part of the architecture's base */
}

static void read_model(char *model, size_t capacity)
{
    (void)model, (void)capacity;
}

#endif

void tern__cpu_detect_isa(tern__cpu_info *info)
{
    info->arch = "arm";
    info->isa_mask = detect_levels();
    read_model(info->model, sizeof info->model);
}

#else
typedef int tern__cpu_arm_is_empty; /* ISO C wants a declaration in every file */
#endif

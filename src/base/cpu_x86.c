/* cpu_x86.c - instruction-set levels and model of an x86 processor, from cpuid and xgetbv. */
#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <string.h>

#include "base/cpu_detect.h"

#if defined(TERN__AMX)
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct leaf {
    unsigned eax, ebx, ecx, edx;
} leaf;

static leaf cpuid_leaf(unsigned number, unsigned sub)
{
    leaf r = {0, 0, 0, 0};
    __get_cpuid_count(number, sub, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
}

/* Which register states the operating system saves: bit 1 SSE, 2 AVX, 5-7 AVX-512, 17 and 18 AMX. */
static unsigned enabled_states(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool all(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

#define BIT(n) (1u << (n))

/* ---- tiles ---- */

/* arch_prctl of Linux, from the kernel's ABI: older C libraries lack the names. */
enum { GET_SUPPORTED_STATES = 0x1021, ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };

/* Would Linux give them? This build has kernels for them only if it is for Linux. */
static bool tiles_exist(void)
{
#if defined(TERN__AMX)
    uint64_t states = 0;
    return syscall(SYS_arch_prctl, GET_SUPPORTED_STATES, &states) == 0 && (states >> TILE_DATA & 1) != 0;
#else
    return false;
#endif
}

bool tern__cpu_ask_for_tiles(void)
{
#if defined(TERN__AMX)
    return syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
#else
    return false;
#endif
}

/* ---- levels ---- */

static uint32_t detect_levels(void)
{
    enum { AVX_STATE = 0x6, AVX512_STATE = 0xe6, AMX_STATE = 0x60000 };
    leaf one = cpuid_leaf(1, 0), seven = cpuid_leaf(7, 0), extended = cpuid_leaf(0x80000001u, 0);
    uint32_t mask = TERN__ISA_BIT(BASELINE);

    /* x86-64-v2: sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt; lahf */
    if (!all(one.ecx, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) || !all(extended.ecx, BIT(0)))
        return mask;
    mask |= TERN__ISA_BIT(SSE42);

    /* x86-64-v3: fma, movbe, osxsave, avx, f16c; bmi1, avx2, bmi2; lzcnt */
    if (!all(one.ecx, BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29)) ||
        !all(seven.ebx, BIT(3) | BIT(5) | BIT(8)) || !all(extended.ecx, BIT(5)))
        return mask;
    unsigned states = enabled_states();
    if (!all(states, AVX_STATE))
        return mask;
    mask |= TERN__ISA_BIT(AVX2);

    /* x86-64-v4: avx512 f, dq, cd, bw, vl */
    if (!all(seven.ebx, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) || !all(states, AVX512_STATE))
        return mask;
    mask |= TERN__ISA_BIT(AVX512);

    if (!all(seven.ecx, BIT(11)))
        return mask;
    mask |= TERN__ISA_BIT(AVX512VNNI);

    /* avx512vbmi, gfni; amx-tile, amx-int8 */
    if (all(seven.ecx, BIT(1) | BIT(8)) && all(seven.edx, BIT(24) | BIT(25)) && all(states, AMX_STATE) &&
        tiles_exist())
        mask |= TERN__ISA_BIT(AMX);
    return mask;
}

/* AMD's family, 0 for others, and the model in it. */
static unsigned amd_family(unsigned *model)
{
    const leaf vendor = cpuid_leaf(0, 0), one = cpuid_leaf(1, 0);
    const unsigned base = one.eax >> 8 & 15;
    char name[12];
    memcpy(name, &vendor.ebx, 4);
    memcpy(name + 4, &vendor.edx, 4);
    memcpy(name + 8, &vendor.ecx, 4);
    *model = (one.eax >> 4 & 15) | (one.eax >> 12 & 0xf0);
    return memcmp(name, "AuthenticAMD", sizeof name) != 0 ? 0
           : base == 15                                   ? base + (one.eax >> 20 & 255)
                                                          : base;
}

/* Zen 5 of servers and desktops, and what comes after it. Mobile ones run 512 bits in halves; the leaf that would tell
 * (0x8000001a) is often hidden from virtual machines. */
static bool has_whole_512(unsigned family, unsigned model)
{
    return family > 0x1a || (family == 0x1a && (model < 0x20 || (model >= 0x40 && model < 0x50)));
}

/* The brand string: 48 bytes in three leaves, often padded with spaces in front or between words. */
static void read_model(char *model, size_t capacity)
{
    char brand[49] = "";
    if (cpuid_leaf(0x80000000u, 0).eax < 0x80000004u)
        return;
    for (unsigned i = 0; i < 3; i++) {
        leaf part = cpuid_leaf(0x80000002u + i, 0);
        memcpy(brand + 16 * i, &part, 16);
    }
    size_t length = 0;
    for (const char *from = brand; *from != '\0' && length + 1 < capacity; from++) {
        if (*from != ' ' || (length > 0 && model[length - 1] != ' '))
            model[length++] = *from;
    }
    while (length > 0 && model[length - 1] == ' ')
        length--;
    model[length] = '\0';
}

void tern__cpu_detect_isa(tern__cpu_info *info)
{
    info->arch = "x86";
    info->isa_mask = detect_levels();
    if (all(cpuid_leaf(7, 0).ecx, BIT(1)))
        info->features |= 1u << TERN__FEATURE_VBMI;
    if (cpuid_leaf(7, 0).eax >= 1 && all(cpuid_leaf(7, 1).eax, BIT(4)))
        info->features |= 1u << TERN__FEATURE_AVXVNNI;
    /* Their prefetchers follow one run at the full rate of memory, and lose a third of it to two runs of 20 KB side by side. Measured
     * on Zen 4 (docs/performance-ternary.md), as are pipes (docs/performance-heads.md); the others are taken to be alike. */
    unsigned model;
    const unsigned family = amd_family(&model);
    if (family >= 0x19) { /* Zen 3 and later */
        info->features |= 1u << TERN__FEATURE_ONE_STREAM;
        if (info->isa_mask & TERN__ISA_BIT(AVX512))
            info->features |= 1u << TERN__FEATURE_FOUR_PIPES;
        if (has_whole_512(family, model))
            info->features |= 1u << TERN__FEATURE_WHOLE_512;
    }
    read_model(info->model, sizeof info->model);
}

#else
typedef int tern__cpu_x86_is_empty; /* ISO C wants a declaration in every file */
#endif

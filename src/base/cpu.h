/* cpu.h - what this processor can do, and how many of its cores we may use. */
#ifndef TERN_BASE_CPU_H
#define TERN_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/status.h>

/* Instruction-set levels, weakest first within an architecture: X(enumerator, name, architecture). A kernel
 * names the level it needs; a cap (`TERN_CPU=`, or an option) hides the levels above it. A level includes
 * those before it. sse4.2, avx2, avx512 promise everything of x86-64-v2, -v3, -v4, and avx512vnni adds
 * AVX512_VNNI; amx adds AVX512_VBMI, GFNI and the int8 tiles of AMX; neon promises Advanced SIMD and neondot
 * adds the dot-product instructions. */
#define TERN__ISA_LIST(X)              \
    X(BASELINE, "baseline", "any")     \
    X(SSE42, "sse4.2", "x86")          \
    X(AVX2, "avx2", "x86")             \
    X(AVX512, "avx512", "x86")         \
    X(AVX512VNNI, "avx512vnni", "x86") \
    X(AMX, "amx", "x86")               \
    X(NEON, "neon", "arm")             \
    X(NEONDOT, "neondot", "arm")

/* clang-format off */
typedef enum tern__isa {
#define TERN__ISA_ENUM(id, name, arch) TERN__ISA_##id,
    TERN__ISA_LIST(TERN__ISA_ENUM)
#undef TERN__ISA_ENUM
    TERN__ISA_COUNT
} tern__isa;
/* clang-format on */

/* What some processors of a level have besides, or do otherwise: X(enumerator, name, base, promised). Instructions come on top of level
 * `base`; `promised` is the level that has them anyway, COUNT if none has. What is no instruction set has the base BASELINE. one-stream: one run of memory is read,
 * and written past the caches, at full speed, the hardware finds it alone, and several in turns are slower (AMD's Zen; others gain by
 * several that are asked for). Kernels that stream choose by it. four-pipes: pipes for logic and conversion beside those that multiply,
 * so that operations on the former are nearly free, but one of three operands counts more than two of two (AMD's Zen 4). Loops that
 * unpack and multiply choose by it. whole-512: operations of 512 bits are one operation, not two halves (AMD's Zen 5 but for mobile
 * ones): what unpacks and multiplies waits for memory, and reads it as it likes best. */
#define TERN__FEATURE_LIST(X)                    \
    X(VBMI, "avx512vbmi", AVX512VNNI, AMX)       \
    X(AVXVNNI, "avxvnni", AVX2, COUNT)           \
    X(ONE_STREAM, "one-stream", BASELINE, COUNT) \
    X(FOUR_PIPES, "four-pipes", BASELINE, COUNT) \
    X(WHOLE_512, "whole-512", BASELINE, COUNT)

/* clang-format off */
typedef enum tern__feature {
    TERN__FEATURE_NONE,
#define TERN__FEATURE_ENUM(id, name, base, promised) TERN__FEATURE_##id,
    TERN__FEATURE_LIST(TERN__FEATURE_ENUM)
#undef TERN__FEATURE_ENUM
    TERN__FEATURE_COUNT
} tern__feature;

/* How many of them are instruction sets, which caps can take away (tern__feature_is_isa). */
enum {
    TERN__ISA_FEATURE_KINDS = 0
#define TERN__FEATURE_IS_ISA(id, name, base, promised) +(TERN__ISA_##base != TERN__ISA_BASELINE)
    TERN__FEATURE_LIST(TERN__FEATURE_IS_ISA)
#undef TERN__FEATURE_IS_ISA
};
/* clang-format on */

typedef struct tern__cpu_info {
    char model[64];     /* "Intel(R) Xeon(R) ...", or "unknown" */
    const char *arch;   /* "x86", "arm" or "other" */
    uint32_t isa_mask;  /* bit i: level i runs here (OS support checked; for amx also tern__isa_permitted);
                         * TERN__ISA_FEATURE_BIT of its features that are instruction sets */
    uint32_t features;  /* bit i: feature i is there; a level that it belongs to may still be missing */
    char isa_names[96]; /* those levels, space-separated */
    tern__isa best;     /* highest level in the mask */
    int cores_online;
    int cores_usable;      /* min of affinity mask and cgroup v1/v2 quota (rounded up), at least 1 */
    char cores_reason[64]; /* what limited cores_usable: "affinity", "cgroup quota 1.5", "all cores" */
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* 0 = unknown */
    /* that a process can have at most: the machine's, or its control group's; 0 = unknown */
    int64_t memory_bytes;
} tern__cpu_info;

/* Detected once, at the first call; thread-safe; never fails. */
const tern__cpu_info *tern__cpu(void);

const char *tern__isa_name(tern__isa isa);
const char *tern__feature_name(tern__feature feature); /* "" for none */

/* Is it a set of instructions, which can be taken away, and not a trait of the processor? */
bool tern__feature_is_isa(tern__feature feature);

/* Is the feature there (none always is)? */
static inline bool tern__cpu_has(const tern__cpu_info *cpu, tern__feature feature)
{
    return feature == TERN__FEATURE_NONE || (cpu->features >> feature & 1) != 0;
}

/* Masks of instruction sets have a bit for each level and, behind those, one for each feature that is one. */
enum { TERN__ISA_FEATURES = 16 };
_Static_assert((int)TERN__ISA_COUNT <= (int)TERN__ISA_FEATURES, "levels and features share a mask");
#define TERN__ISA_FEATURE_BIT(feature) (1u << (TERN__ISA_FEATURES + (feature)))

/* `name` of a level, case-insensitive -> level; TERN_NOT_FOUND lists the names. */
tern_status tern__isa_parse(const char *name, tern__isa *out);

/* What may be used: nothing above a level, and none of some features (bits TERN__ISA_FEATURE_BIT). */
typedef struct tern__isa_cap {
    tern__isa level;
    uint32_t without;
} tern__isa_cap;

/* "avx512", "avx512vnni,-avx512vbmi", "-avxvnni" (the best level): at most one level, then features to do without, separated by
 * commas, all case-insensitive. TERN_NOT_FOUND says what there is. */
tern_status tern__isa_cap_parse(const char *text, tern__isa_cap *out);

/* "avx512vnni,-avx512vbmi", as it is parsed; returns `to`. */
enum { TERN__ISA_CAP_NAME = 64 };
const char *tern__isa_cap_name(tern__isa_cap cap, char to[static TERN__ISA_CAP_NAME]);

/* The levels of `mask` that this process may use. Linux gives the tiles of AMX to processes that ask: they are asked for here, once,
 * the first time that a mask has them, for all threads that there are and will be. Where that is refused (a thread's stack for
 * signals is too small for them) the level is not there. */
uint32_t tern__isa_permitted(uint32_t mask);

/* The levels of a mask whose instructions take vectors: what most operations are measured against. */
static inline uint32_t tern__isa_without_tiles(uint32_t mask)
{
    return mask & ~(1u << TERN__ISA_AMX);
}

/* The levels of `cpu` that remain, and are permitted, when nothing above `cap` may be used, and features on top of them. A cap of
 * another architecture leaves the baseline only. */
uint32_t tern__isa_mask_capped(const tern__cpu_info *cpu, tern__isa cap);

/* The same without some features, and without levels that promise one of them. */
uint32_t tern__isa_mask_within(const tern__cpu_info *cpu, tern__isa_cap cap);

/* Parses a cgroup quota: v2 text "max 100000" / "150000 100000" -> cores rounded up, 0 = no limit (or no such
 * text). */
int tern__cgroup_v2_cores(const char *cpu_max_text);

#endif

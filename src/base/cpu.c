/* cpu.c - tern__cpu(): puts together what the architecture's file (cpu_x86.c, cpu_arm.c) and the system
 * (cpu_system.c) say, once. Also the names of the instruction-set levels and the cap on them. */
#include "base/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cpu_detect.h"
#include "base/status.h"

static const struct {
    const char *name, *arch;
} levels[TERN__ISA_COUNT] = {
#define ROW(id, name, arch) [TERN__ISA_##id] = {name, arch},
    TERN__ISA_LIST(ROW)
#undef ROW
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tern__cpu_info detected;

#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)
void tern__cpu_detect_isa(tern__cpu_info *info)
{
    info->arch = "other";
}
#endif

static void detect(void)
{
    tern__cpu_info *info = &detected;
    tern__cpu_detect_isa(info);
    tern__cpu_detect_cores(info);
    tern__cpu_detect_memory(info);
    tern__cpu_detect_caches(info);
    if (info->model[0] == '\0')
        snprintf(info->model, sizeof info->model, "unknown");
    info->isa_mask |= TERN__ISA_BIT(BASELINE);
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        if ((info->isa_mask >> level & 1) != 0) {
            info->best = (tern__isa)level;
            size_t used = strlen(info->isa_names);
            snprintf(info->isa_names + used, sizeof info->isa_names - used, "%s%s", used ? " " : "",
                     levels[level].name);
        }
}

const tern__cpu_info *tern__cpu(void)
{
    pthread_once(&once, detect);
    return &detected;
}

const char *tern__isa_name(tern__isa isa)
{
    return (unsigned)isa < TERN__ISA_COUNT ? levels[isa].name : "unknown";
}

const char *tern__feature_name(tern__feature feature)
{
    static const char *const names[TERN__FEATURE_COUNT] = {[TERN__FEATURE_NONE] = "",
#define ROW(id, name) [TERN__FEATURE_##id] = name,
                                                           TERN__FEATURE_LIST(ROW)
#undef ROW
    };
    return (unsigned)feature < TERN__FEATURE_COUNT ? names[feature] : "unknown";
}

tern_status tern__isa_parse(const char *name, tern__isa *out)
{
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        if (strcasecmp(name, levels[level].name) == 0) {
            *out = (tern__isa)level;
            return TERN_OK;
        }
    }
    char all[256] = ""; /* those of this machine's kind: others would be no use here */
    size_t used = 0;
    for (int level = 0; level < TERN__ISA_COUNT && used < sizeof all; level++)
        if (level == TERN__ISA_BASELINE || strcmp(levels[level].arch, tern__cpu()->arch) == 0)
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", levels[level].name);
    return tern__fail(TERN_NOT_FOUND, "cpu level \"%s\" does not exist; there are %s", name, all);
}

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool has_tiles;

static void ask(void)
{
#if defined(__x86_64__)
    has_tiles = tern__cpu_ask_for_tiles();
#endif
}

uint32_t tern__isa_permitted(uint32_t mask)
{
    if ((mask & TERN__ISA_BIT(AMX)) == 0)
        return mask;
    pthread_once(&asked, ask);
    return has_tiles ? mask : mask & ~TERN__ISA_BIT(AMX);
}

uint32_t tern__isa_mask_capped(const tern__cpu_info *cpu, tern__isa cap)
{
    uint32_t allowed = TERN__ISA_BIT(BASELINE);
    if ((unsigned)cap < TERN__ISA_COUNT && strcmp(levels[cap].arch, cpu->arch) == 0)
        allowed |= (2u << cap) - 1;
    return tern__isa_permitted(cpu->isa_mask & allowed);
}

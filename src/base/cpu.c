/* cpu.c - tern__cpu(): puts together what the architecture's file (cpu_x86.c, cpu_arm.c) and the system
 * (cpu_system.c) say, once. Also the names of the instruction-set levels and features and the cap on them. */
#include "base/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cpu_detect.h"
#include "base/names.h"
#include "base/status.h"

static const struct {
    const char *name, *arch;
} levels[TERN__ISA_COUNT] = {
#define ROW(id, name, arch) [TERN__ISA_##id] = {name, arch},
    TERN__ISA_LIST(ROW)
#undef ROW
};

static const struct {
    const char *name;
    tern__isa base, promised;
} features[TERN__FEATURE_COUNT] = {[TERN__FEATURE_NONE] = {.name = "", .promised = TERN__ISA_COUNT},
#define ROW(id, name, base, promised) [TERN__FEATURE_##id] = {name, TERN__ISA_##base, TERN__ISA_##promised},
                                   TERN__FEATURE_LIST(ROW)
#undef ROW
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tern__cpu_info detected;

bool tern__feature_is_isa(tern__feature feature)
{
    return (unsigned)feature < TERN__FEATURE_COUNT && features[feature].base != TERN__ISA_BASELINE;
}

/* Of a processor's features those that are instruction sets, on top of the levels of `mask`. */
static uint32_t feature_bits(const tern__cpu_info *cpu, uint32_t mask)
{
    uint32_t bits = 0;
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT; f++)
        if (tern__feature_is_isa((tern__feature)f) && tern__cpu_has(cpu, (tern__feature)f) &&
            (mask >> features[f].base & 1) != 0)
            bits |= TERN__ISA_FEATURE_BIT(f);
    return bits;
}

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
    info->isa_mask |= feature_bits(info, info->isa_mask);
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
    return (unsigned)feature < TERN__FEATURE_COUNT ? features[feature].name : "unknown";
}

/* Those of other machines are names too, but no use here. */
static const char *level_at(void *user, int i, bool *untold)
{
    (void)user;
    if (i >= TERN__ISA_COUNT)
        return NULL;
    *untold = i != TERN__ISA_BASELINE && strcmp(levels[i].arch, tern__cpu()->arch) != 0;
    return levels[i].name;
}

tern_status tern__isa_parse(const char *name, tern__isa *out)
{
    static const tern__name_list list = {.what = "cpu levels", .at = level_at, .any_case = true};
    int level = 0;
    TERN_TRY(tern__name_find_in(&list, name, out ? &level : NULL));
    *out = (tern__isa)level;
    return TERN_OK;
}

/* A feature that can be taken away, by its name of so many characters; COUNT: there is none. */
static tern__feature find_feature(const char *name, size_t length)
{
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT; f++)
        if (tern__feature_is_isa((tern__feature)f) && strlen(features[f].name) == length &&
            strncasecmp(name, features[f].name, length) == 0)
            return (tern__feature)f;
    return TERN__FEATURE_COUNT;
}

static tern_status no_feature(const char *name, size_t length)
{
    char all[128] = "";
    size_t used = 0;
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT && used < sizeof all; f++)
        if (tern__feature_is_isa((tern__feature)f))
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s-%s", used ? ", " : "", features[f].name);
    return tern__fail(TERN_NOT_FOUND, "cpu feature \"%.*s\" cannot be taken away; there are %s",
                      length < 40 ? (int)length : 40, name, all);
}

tern_status tern__isa_cap_parse(const char *text, tern__isa_cap *out)
{
    tern__isa_cap cap = {.level = tern__cpu()->best};
    for (const char *word = text; word; word = *word ? word + 1 : NULL) {
        const size_t length = strcspn(word, ",");
        char level[40];
        if (word[0] == '-') {
            const tern__feature feature = find_feature(word + 1, length - 1);
            if (feature == TERN__FEATURE_COUNT)
                return no_feature(word + 1, length - 1);
            cap.without |= TERN__ISA_FEATURE_BIT(feature);
        } else {
            TERN__FAIL_IF(
                word != text, TERN_NOT_FOUND,
                "cpu: \"%.40s\": behind the first comma are features to do without, such as -avxvnni", word);
            snprintf(level, sizeof level, "%.*s", length < sizeof level ? (int)length : (int)sizeof level - 1,
                     word);
            TERN_TRY(tern__isa_parse(level, &cap.level));
        }
        word += length;
    }
    *out = cap;
    return TERN_OK;
}

const char *tern__isa_cap_name(tern__isa_cap cap, char to[static TERN__ISA_CAP_NAME])
{
    size_t used = (size_t)snprintf(to, TERN__ISA_CAP_NAME, "%s", tern__isa_name(cap.level));
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT && used < TERN__ISA_CAP_NAME; f++)
        if (cap.without & TERN__ISA_FEATURE_BIT(f))
            used += (size_t)snprintf(to + used, TERN__ISA_CAP_NAME - used, ",-%s", features[f].name);
    return to;
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
    const uint32_t mask = tern__isa_permitted(cpu->isa_mask & allowed);
    return mask | feature_bits(cpu, mask);
}

uint32_t tern__isa_mask_within(const tern__cpu_info *cpu, tern__isa_cap cap)
{
    tern__isa level = cap.level;
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT; f++)
        if ((cap.without & TERN__ISA_FEATURE_BIT(f)) != 0 && level >= features[f].promised)
            level = (tern__isa)(features[f].promised - 1);
    return tern__isa_mask_capped(cpu, level) & ~cap.without;
}

/* catalog.c - what the CPU tells about itself without a device being made: the machine, and the kernels there are. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/library.h"
#include "devices/cpu/packing.h"
#include "devices/rows/regions.h"
#include "kernels/select.h"

/* ---- one of several that compute the same ---- */

/* What may be used, as tern__isa_mask_within says. */
typedef struct limits {
    tern__isa_cap cap;
    uint32_t mask;
} limits;

/* A row of a family, or a table of row programs. */
typedef struct rival {
    tern__isa isa;
    tern__feature feature;
    const tern__kernel_row *row; /* NULL: a table */
} rival;

enum {
    TABLES = TERN__KERNEL_FAMILIES,
    GROUPS
}; /* what rivals there are: families, and the tables of row programs */

/* Number i of a group, weakest first; false past the last. */
static bool rival_at(int group, int i, rival *out)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int k = 0; group < TABLES && k < count; k++)
        if ((int)rows[k].family == group && i-- == 0) {
            *out = (rival){.isa = rows[k].isa, .feature = rows[k].feature, .row = &rows[k]};
            return true;
        }
    for (int level = 0; group == TABLES && level < TERN__ISA_COUNT; level++)
        if ((int)tern__rowop_tables(1u << level | 1u)->isa == level && i-- == 0) {
            *out = (rival){.isa = (tern__isa)level};
            return true;
        }
    return false;
}

static int count_of(int group)
{
    rival r;
    int n = 0;
    while (rival_at(group, n, &r))
        n++;
    return n;
}

static bool rival_runs(const rival *r, uint32_t mask)
{
    return r->row ? tern__kernel_runs(r->row, mask) : (mask >> r->isa & 1) != 0;
}

/* The place of the last that runs; -1: none does. */
static int best_of(int group, uint32_t mask)
{
    int best = -1;
    rival r;
    for (int i = 0; rival_at(group, i, &r); i++)
        if (rival_runs(&r, mask))
            best = i;
    return best;
}

/* ---- strings that outlive the call ---- */

enum { TEXT = 800, SHORT = 96 };

/* What is told under one cap. Written when that is first asked about: Linux is asked for the tiles of AMX only by who may use them. */
typedef struct cap_texts {
    bool written;
    char chosen[256];         /* of kernels.def, space-separated */
    char group[GROUPS][TEXT]; /* which runs, and what was passed over */
    char stronger[GROUPS][SHORT], above[SHORT], features[64];
} cap_texts;

/* Which features are taken away of those that can be, as a number. */
enum { TAKEN = 1 << TERN__ISA_FEATURE_KINDS };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cap_texts texts[TERN__ISA_COUNT][TAKEN];
static char no_level[TERN__ISA_COUNT][SHORT], no_feature[TERN__FEATURE_COUNT][SHORT],
    taken[TERN__FEATURE_COUNT][SHORT], refused[TERN__ISA_COUNT][SHORT];

static cap_texts *texts_at(tern__isa_cap cap)
{
    unsigned taken_away = 0, bit = 1;
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT; f++)
        if (tern__feature_is_isa((tern__feature)f)) {
            taken_away |= cap.without & TERN__ISA_FEATURE_BIT(f) ? bit : 0;
            bit *= 2;
        }
    return &texts[cap.level][taken_away];
}

__attribute__((format(printf, 3, 4))) static void add(char *to, size_t size, const char *format, ...)
{
    const size_t used = strlen(to);
    va_list args;
    va_start(args, format);
    vsnprintf(to + used, size - used, format, args);
    va_end(args);
}

/* "gemm_f32__avx2", "row of avx2" */
static const char *label(const rival *r, char room[SHORT])
{
    snprintf(room, SHORT, TERN__ROW_KERNEL_NAME " of %s", tern__isa_name(r->isa));
    return r->row ? r->row->name : room;
}

/* What keeps it from running under the cap; NULL: nothing. */
static const char *obstacle(const rival *r, limits l)
{
    const tern__cpu_info *cpu = tern__cpu();
    if (!(cpu->isa_mask >> r->isa & 1))
        return no_level[r->isa];
    if (r->isa > l.cap.level)
        return texts_at(l.cap)->above;
    if (!(l.mask >> r->isa & 1))
        return l.cap.without ? texts_at(l.cap)->above : refused[r->isa];
    if (!tern__cpu_has(cpu, r->feature))
        return no_feature[r->feature];
    return r->feature && l.cap.without & TERN__ISA_FEATURE_BIT(r->feature) ? taken[r->feature] : NULL;
}

static void write_group(int group, limits l, char *to)
{
    const int best = best_of(group, l.mask);
    char room[SHORT];
    rival r;
    if (best < 0)
        add(to, TEXT, "no loops for it run here");
    else if (rival_at(group, best, &r))
        add(to, TEXT, "%s is the strongest that runs", label(&r, room));
    for (int i = best + 1; rival_at(group, i, &r); i++) {
        add(to, TEXT, "%s%s (%s)", i == best + 1 ? "; passed over: " : ", ", label(&r, room),
            obstacle(&r, l));
    }
}

static void write_common(void)
{
    for (int level = 0; level < TERN__ISA_COUNT; level++) {
        snprintf(no_level[level], SHORT, "this processor has no %s", tern__isa_name((tern__isa)level));
        snprintf(refused[level], SHORT, "the system does not permit %s", tern__isa_name((tern__isa)level));
    }
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT; f++) {
        const char *name = tern__feature_name((tern__feature)f);
        snprintf(no_feature[f], SHORT, "this processor has no %s", name);
        snprintf(taken[f], SHORT, "%s is taken away", name);
    }
}

/* Instructions whose level is above the cap are as good as absent. */
static void write_features(uint32_t mask, char *to, size_t room)
{
    for (int f = TERN__FEATURE_NONE + 1; f < TERN__FEATURE_COUNT; f++)
        if (tern__feature_is_isa((tern__feature)f) ? (mask & TERN__ISA_FEATURE_BIT(f)) != 0
                                                   : tern__cpu_has(tern__cpu(), (tern__feature)f))
            add(to, room, "%s%s", to[0] ? " " : "", tern__feature_name((tern__feature)f));
}

static const cap_texts *texts_of(limits l)
{
    cap_texts *t = texts_at(l.cap);
    char cap_name[TERN__ISA_CAP_NAME];
    pthread_mutex_lock(&lock);
    if (no_level[0][0] == '\0')
        write_common();
    if (!t->written) {
        snprintf(t->above, SHORT, "above the cap, %s", tern__isa_cap_name(l.cap, cap_name));
        write_features(l.mask, t->features, sizeof t->features);
        for (int group = 0; group < GROUPS; group++) {
            char room[SHORT];
            rival best;
            write_group(group, l, t->group[group]);
            if (!rival_at(group, best_of(group, l.mask), &best))
                continue;
            snprintf(t->stronger[group], SHORT, "%.60s is stronger and runs too", label(&best, room));
            if (best.row)
                add(t->chosen, sizeof t->chosen, "%s%s", t->chosen[0] ? " " : "", best.row->name);
        }
        t->written = true;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

/* A cap of another kind of processor is the baseline. */
static limits limits_of(tern__isa_cap cap)
{
    const uint32_t mask = tern__isa_mask_within(tern__cpu(), cap);
    return (limits){mask == 1u << TERN__ISA_BASELINE ? (tern__isa_cap){TERN__ISA_BASELINE, cap.without} : cap,
                    mask};
}

/* ---- the machine ---- */

void tern__cpu_describe(tern__isa_cap cap, tern_device_info *out)
{
    const tern__cpu_info *cpu = tern__cpu();
    const limits l = limits_of(cap);
    long pages = sysconf(_SC_PHYS_PAGES);
    const uint32_t all = tern__isa_mask_within(cpu, (tern__isa_cap){.level = cpu->best});
    tern__isa best = TERN__ISA_BASELINE;
    for (int level = 0; level < TERN__ISA_COUNT; level++)
        if (l.mask >> level & 1)
            best = (tern__isa)level;
    *out = (tern_device_info){.name = "cpu",
                              .backend = "native",
                              .model = cpu->model,
                              .isa = tern__isa_name(best),
                              .isa_limit = l.mask == all ? NULL : "$TERN_CPU",
                              .isa_available = cpu->isa_names,
                              .kernels = texts_of(l)->chosen,
                              .features = texts_of(l)->features,
                              .cores_online = cpu->cores_online,
                              .cores_usable = cpu->cores_usable,
                              .cores_reason = cpu->cores_reason,
                              .memory_bytes = pages > 0 ? (int64_t)pages * (int64_t)tern__page_size() : 0,
                              .l1d_bytes = cpu->l1d_bytes,
                              .l2_bytes = cpu->l2_bytes,
                              .l3_bytes = cpu->l3_bytes,
                              .ternary_bits = tern__cpu_ternary_bits(l.mask)};
}

/* ---- kernels ---- */

/* Counts down to the entry that is asked for. */
static bool is_next(int *left)
{
    return (*left)-- == 0;
}

/* Number i of a group as an entry for an op. */
static tern_kernel_info rival_entry(tern__opcode op, int group, int i, const char *when, limits l)
{
    const cap_texts *t = texts_of(l);
    const int best = best_of(group, l.mask);
    rival r;
    rival_at(group, i, &r);
    const char *why = obstacle(&r, l);
    return (tern_kernel_info){.name = r.row ? r.row->name : TERN__ROW_KERNEL_NAME,
                              .op = tern__ops[op].name,
                              .isa = tern__isa_name(r.isa),
                              .when = when,
                              .usable = rival_runs(&r, l.mask),
                              .chosen = i == best,
                              .why = i == best ? t->group[group]
                                     : why     ? why
                                               : t->stronger[group]};
}

/* One row of a family that an op uses. Ternary constants are packed for one of the two that there are. */
static tern_kernel_info use_entry(const tern__cpu_use *use, int i, limits l)
{
    tern_kernel_info info = rival_entry(use->op, (int)use->family, i, use->when, l);
    const tern__kernel_family packer = tern__cpu_ternary_packer(l.mask)->family;
    if (use->op == TERN__OP_packed_ternary_matmul && use->family != packer && info.chosen) {
        info.chosen = false;
        info.why = packer == TERN__FAMILY_ternary_t5 ? "constants are packed 5 in a byte here"
                                                     : "constants are packed with 2 bits each here";
    }
    return info;
}

static tern_kernel_info fast_entry(const tern__cpu_fast *fast, limits l)
{
    const tern__kernel_row *row;
    const bool runs = tern__cpu_fast_runs(fast, l.mask, &row);
    return (tern_kernel_info){.name = fast->name,
                              .op = tern__ops[fast->op].name,
                              .isa = tern__isa_name(row ? row->isa : TERN__ISA_BASELINE),
                              .when = fast->when,
                              .usable = runs,
                              .chosen = runs,
                              .why = fast->family == TERN__KERNEL_FAMILIES
                                         ? "plain C, faster than the reference"
                                         : texts_of(l)->group[fast->family]};
}

/* The reference is what runs if nothing else does: then the texts of the others say why. */
static tern_kernel_info reference_entry(tern__opcode op, limits l)
{
    const tern__cpu_fast *fast;
    const tern__cpu_use *use;
    const tern__kernel_row *row;
    const char *why = "nothing else computes it";
    bool others = tern__row_knows(op);
    for (int k = 0; (fast = tern__cpu_fast_of(op, k)); k++) {
        others = others || tern__cpu_fast_runs(fast, l.mask, &row);
        why = fast_entry(fast, l).why;
    }
    for (int k = 0; (use = tern__cpu_use_of(op, k)); k++) {
        others = others || best_of((int)use->family, l.mask) >= 0;
        if (k == 0) /* what most calls would run on stands first */
            why = texts_of(l)->group[use->family];
    }
    return (tern_kernel_info){.name = tern__cpu_reference_name(op),
                              .op = tern__ops[op].name,
                              .isa = tern__isa_name(TERN__ISA_BASELINE),
                              .usable = true,
                              .chosen = !others,
                              .why =
                                  others ? "only for what the others do not take, such as other types" : why};
}

/* Entries of one op: its reference, and what computes it in its place. False: *i is beyond them, and has been counted down. */
static bool list_op(tern__opcode op, limits l, int *i, tern_kernel_info *out)
{
    const tern__cpu_fast *fast;
    const tern__cpu_use *use;
    if (tern__cpu_reference(op) && is_next(i)) {
        *out = reference_entry(op, l);
        return true;
    }
    for (int k = 0; (fast = tern__cpu_fast_of(op, k)); k++)
        if (is_next(i)) {
            *out = fast_entry(fast, l);
            return true;
        }
    /* An op by itself is a row program of one. */
    if (tern__row_knows(op) && is_next(i)) {
        *out = rival_entry(op, TABLES, best_of(TABLES, l.mask),
                           "what row programs have instructions for, along the last axis", l);
        return true;
    }
    const int tables = op == TERN__OP_fused ? count_of(TABLES) : 0;
    if (*i < tables) {
        *out = rival_entry(op, TABLES, *i, "regions without a product", l);
        return true;
    }
    *i -= tables;
    for (int k = 0; (use = tern__cpu_use_of(op, k)); k++) {
        const int rows = count_of((int)use->family);
        if (*i < rows) {
            *out = use_entry(use, *i, l);
            return true;
        }
        *i -= rows;
    }
    return false;
}

/* Entry i of the libraries. */
static bool list_library(int i, tern_kernel_info *out)
{
    const tern__library *library = tern__library_at(i);
    if (!library)
        return false;
    const bool here = library->missing[0] == '\0';
    *out = (tern_kernel_info){.name = library->kernel,
                              .op = tern__ops[TERN__OP_matmul].name,
                              .isa = "library",
                              .usable = here,
                              .why = here ? "order=library: runs only where option library names it"
                                          : library->missing};
    return true;
}

bool tern__cpu_list(int i, tern__isa_cap cap, tern_kernel_info *out)
{
    const limits l = limits_of(cap);
    for (int op = 0; op < TERN__OP_COUNT; op++)
        if (list_op((tern__opcode)op, l, &i, out))
            return true;
    return list_library(i, out);
}

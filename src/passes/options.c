/* options.c - what a caller may ask of the compiler, checked and in the form that passes read. */
#include <string.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/status.h"
#include "base/words.h"
#include "graph/text.h"
#include "passes/pass.h"

/* ---- names of choices ---- */

/* The first level is TERN_LEVEL_NONE, -1. */
#define CHOICE_NAME(id, number, name, meaning) name,
static const char *const level_names[] = {TERN_LEVEL_LIST(CHOICE_NAME)};
#undef CHOICE_NAME
#define CHOICE_NAME(id, number, name, meaning) [number] = name,
static const char *const goal_names[] = {TERN_GOAL_LIST(CHOICE_NAME)};
static const char *const precision_names[] = {TERN_PRECISION_LIST(CHOICE_NAME)};
#undef CHOICE_NAME

static bool is_level(tern_level level)
{
    return (int)level >= TERN_LEVEL_NONE && (int)level <= TERN_LEVEL_HIGH;
}

const char *tern_level_name(tern_level level)
{
    return is_level(level) ? level_names[(int)level - TERN_LEVEL_NONE] : "invalid";
}

tern_status tern_level_parse(const char *name, tern_level *out)
{
    int i = 0;
    TERN_TRY(tern__name_find(level_names, TERN__COUNT(level_names), "levels", name, out ? &i : NULL));
    *out = (tern_level)(TERN_LEVEL_NONE + i);
    return TERN_OK;
}

tern_status tern_goal_parse(const char *name, tern_goal *out)
{
    int i = 0;
    TERN_TRY(tern__name_find(goal_names, TERN__COUNT(goal_names), "goals", name, out ? &i : NULL));
    *out = (tern_goal)i;
    return TERN_OK;
}

tern_status tern_precision_parse(const char *name, tern_precision *out)
{
    int i = 0;
    TERN_TRY(
        tern__name_find(precision_names, TERN__COUNT(precision_names), "precisions", name, out ? &i : NULL));
    *out = (tern_precision)i;
    return TERN_OK;
}

tern_compile_options tern_compile_options_default(void)
{
    return (tern_compile_options){0};
}

/* ---- passes by name ---- */

/* -1: there is none. */
static int pass_called(const char *name)
{
    for (int i = 0; name && i < tern__n_passes; i++)
        if (strcmp(tern__passes[i].name, name) == 0)
            return i;
    return -1;
}

static tern_status fail_unknown_pass(const char *name)
{
    const char *best = NULL;
    size_t least = strlen(name) / 3 + 2;
    for (int i = 0; i < tern__n_passes; i++) {
        size_t d =
            tern__word_distance(name, strlen(name), tern__passes[i].name, strlen(tern__passes[i].name));
        if (d < least) {
            least = d;
            best = tern__passes[i].name;
        }
    }
    if (best)
        return tern__fail(TERN_NOT_FOUND, "compile: there is no pass '%s'; did you mean '%s'?", name, best);
    return tern__fail(TERN_NOT_FOUND, "compile: there is no pass '%s'; `tern list passes` names them", name);
}

static tern_status disable(const char *name, tern__compile_options *out)
{
    TERN__FAIL_IF(!name, TERN_INVALID_ARGUMENT, "compile: a disabled pass is called NULL");
    for (int i = 0; out->extensions && i < out->extensions->n_passes; i++)
        if (strcmp(out->extensions->passes[i].pass.name, name) == 0) {
            out->extensions->passes[i].off = true;
            return TERN_OK;
        }
    int pass = pass_called(name);
    if (pass < 0)
        return fail_unknown_pass(name);
    TERN__FAIL_IF(tern__passes[pass].kind == TERN__PASS_PLAN, TERN_INVALID_ARGUMENT,
                  "compile: pass '%s' makes the plan and cannot be switched off", name);
    out->disabled |= (uint64_t)1 << pass;
    return TERN_OK;
}

/* ---- passes and patterns of the caller's ---- */

static tern_status check_name(const char *what, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    TERN__FAIL_IF(!name, TERN_INVALID_ARGUMENT, "compile: a %s has no name", what);
    size_t length = strspn(name, letters);
    TERN__FAIL_IF(length == 0 || name[length] != '\0' || length > TERN__MAX_NAME, TERN_INVALID_ARGUMENT,
                  "compile: '%.40s' cannot be the name of a %s: letters, digits, '_', '-' and '.'", name,
                  what);
    return TERN_OK;
}

/* Where it runs: the built-in pass before which its turn is. */
static tern_status find_point(const tern_custom_pass *pass, int *out)
{
    TERN__FAIL_IF(!pass->before == !pass->after, TERN_INVALID_ARGUMENT,
                  "compile: pass '%s' needs either a pass that it runs before or one that it runs after",
                  pass->name);
    const char *name = pass->before ? pass->before : pass->after;
    int at = pass_called(name);
    if (at < 0) {
        tern_status status = fail_unknown_pass(name);
        return tern__fail_in(status, pass->name);
    }
    at += pass->after != NULL;
    for (int i = 0; i < at; i++)
        TERN__FAIL_IF(tern__passes[i].kind != TERN__PASS_GRAPH, TERN_INVALID_ARGUMENT,
                      "compile: pass '%s' cannot run %s '%s': the graph is settled then", pass->name,
                      pass->before ? "before" : "after", name);
    *out = at;
    return TERN_OK;
}

static tern_status check_pass(const tern_custom_pass *passes, int i, int *at)
{
    const tern_custom_pass *pass = &passes[i];
    TERN_TRY(check_name("custom pass", pass->name));
    TERN__FAIL_IF(!pass->run, TERN_INVALID_ARGUMENT, "compile: pass '%s' has no function", pass->name);
    TERN__FAIL_IF(!is_level(pass->level), TERN_INVALID_ARGUMENT,
                  "compile: pass '%s' has level %d, which is not one", pass->name, (int)pass->level);
    bool taken = pass_called(pass->name) >= 0;
    for (int k = 0; k < i; k++)
        taken = taken || strcmp(passes[k].name, pass->name) == 0;
    TERN__FAIL_IF(taken, TERN_INVALID_ARGUMENT, "compile: there is a pass '%s' already", pass->name);
    return find_point(pass, at);
}

static tern_status check_pattern(const tern_fusion_pattern *patterns, int i)
{
    const tern_fusion_pattern *pattern = &patterns[i];
    TERN_TRY(check_name("fusion pattern", pattern->name));
    TERN__FAIL_IF(!pattern->fuse, TERN_INVALID_ARGUMENT, "compile: pattern '%s' has no function",
                  pattern->name);
    TERN__FAIL_IF(pattern->op && !tern__op_find(pattern->op, strlen(pattern->op)), TERN_NOT_FOUND,
                  "compile: pattern '%s' is for op '%s', which does not exist", pattern->name, pattern->op);
    for (int k = 0; k < i; k++)
        TERN__FAIL_IF(strcmp(patterns[k].name, pattern->name) == 0, TERN_INVALID_ARGUMENT,
                      "compile: two patterns are called '%s'", pattern->name);
    return TERN_OK;
}

static void drop_extensions(tern__extensions *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < e->n_passes; i++)
        tern__free((char *)e->passes[i].pass.name);
    for (int i = 0; i < e->n_patterns; i++) {
        tern__free((char *)e->patterns[i].name);
        tern__free((char *)e->patterns[i].op);
    }
    tern__free(e->passes);
    tern__free(e->patterns);
    tern__free(e);
}

static tern_status copy_passes(const tern_compile_options *options, tern__extensions *e)
{
    for (int i = 0; i < options->n_passes; i++) {
        int at = 0;
        TERN_TRY(check_pass(options->passes, i, &at));
        tern__extension *x = &e->passes[e->n_passes];
        *x = (tern__extension){.pass = options->passes[i], .at = at};
        x->pass.before = x->pass.after = NULL; /* `at` says it */
        x->pass.name = tern__strdup(options->passes[i].name);
        if (!x->pass.name)
            return tern__out_of_memory(strlen(options->passes[i].name));
        e->n_passes++;
    }
    return TERN_OK;
}

static tern_status copy_patterns(const tern_compile_options *options, tern__extensions *e)
{
    for (int i = 0; i < options->n_patterns; i++) {
        const tern_fusion_pattern *from = &options->patterns[i];
        TERN_TRY(check_pattern(options->patterns, i));
        tern_fusion_pattern *to = &e->patterns[e->n_patterns++];
        *to = *from;
        to->name = tern__strdup(from->name);
        to->op = from->op ? tern__strdup(from->op) : NULL;
        if (!to->name || (from->op && !to->op))
            return tern__out_of_memory(strlen(from->name));
    }
    return TERN_OK;
}

static tern_status copy_extensions(const tern_compile_options *options, tern__compile_options *out)
{
    TERN__FAIL_IF(options->n_passes < 0 || (options->n_passes > 0 && !options->passes), TERN_INVALID_ARGUMENT,
                  "compile: %d custom passes at NULL", options->n_passes);
    TERN__FAIL_IF(options->n_patterns < 0 || (options->n_patterns > 0 && !options->patterns),
                  TERN_INVALID_ARGUMENT, "compile: %d fusion patterns at NULL", options->n_patterns);
    if (options->n_passes == 0 && options->n_patterns == 0)
        return TERN_OK;
    tern__extensions *e = tern__alloc_zero(1, sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    atomic_init(&e->refs, 1);
    out->extensions = e;
    e->passes = tern__alloc_zero((size_t)options->n_passes + 1, sizeof *e->passes);
    e->patterns = tern__alloc_zero((size_t)options->n_patterns + 1, sizeof *e->patterns);
    if (!e->passes || !e->patterns)
        return tern__out_of_memory((size_t)options->n_passes * sizeof *e->passes);
    TERN_TRY(copy_passes(options, e));
    return copy_patterns(options, e);
}

/* ---- all of it ---- */

static tern_status check_choices(const tern_compile_options *options)
{
    TERN__FAIL_IF(!is_level(options->level), TERN_INVALID_ARGUMENT, "compile: level %d is not one",
                  (int)options->level);
    TERN__FAIL_IF((unsigned)options->goal >= TERN__COUNT(goal_names), TERN_INVALID_ARGUMENT,
                  "compile: goal %d is not one", (int)options->goal);
    TERN__FAIL_IF((unsigned)options->precision >= TERN__COUNT(precision_names), TERN_INVALID_ARGUMENT,
                  "compile: precision %d is not one", (int)options->precision);
    TERN__FAIL_IF(options->precision != TERN_PRECISION_EXACT && options->level < TERN_LEVEL_MEDIUM,
                  TERN_INVALID_ARGUMENT,
                  "compile: precision %s is for level medium and above: without fusion its casts take more "
                  "than they save",
                  precision_names[options->precision]);
    TERN__FAIL_IF(options->threads < 0, TERN_INVALID_ARGUMENT, "compile: threads is %d, must be 0 or more",
                  options->threads);
    TERN__FAIL_IF(options->n_disabled < 0 || (options->n_disabled > 0 && !options->disabled),
                  TERN_INVALID_ARGUMENT, "compile: %d disabled passes at NULL", options->n_disabled);
    return TERN_OK;
}

static tern_status translate(const tern_compile_options *options, tern__compile_options *out)
{
    TERN_TRY(check_choices(options));
    if (options->cpu && options->cpu[0]) {
        tern__isa_cap cap;
        tern_status status = tern__isa_cap_parse(options->cpu, &cap);
        if (status != TERN_OK)
            return tern__fail_in(status, "compile: option cpu");
        out->isa_mask = tern__isa_mask_within(tern__cpu(), cap);
    }
    if (options->library) {
        const size_t length = strlen(options->library);
        TERN__FAIL_IF(length >= sizeof out->library, TERN_NOT_FOUND, "compile: there is no library '%.40s'",
                      options->library);
        memcpy(out->library, options->library, length + 1);
    }
    TERN_TRY(copy_extensions(options, out));
    for (int i = 0; i < options->n_disabled; i++)
        TERN_TRY(disable(options->disabled[i], out));
    return TERN_OK;
}

tern_status tern__compile_options_from(const tern_compile_options *options, tern__compile_options *out)
{
    tern_compile_options defaults = tern_compile_options_default();
    if (!options)
        options = &defaults;
    tern__compile_options made = {.level = options->level,
                                  .memory_limit = options->memory_limit,
                                  .goal = options->goal,
                                  .threads = options->threads,
                                  .precision = options->precision,
                                  .observe = options->observe,
                                  .observe_user = options->observe_user};
    tern_status status = translate(options, &made);
    if (status != TERN_OK) {
        tern__compile_options_drop(&made);
        return status;
    }
    *out = made;
    return TERN_OK;
}

void tern__compile_options_keep(const tern__compile_options *options)
{
    if (options->extensions)
        atomic_fetch_add_explicit(&options->extensions->refs, 1, memory_order_relaxed);
}

void tern__compile_options_drop(tern__compile_options *options)
{
    drop_extensions(options->extensions);
    options->extensions = NULL;
}

static bool extensions_equal(const tern__extensions *a, const tern__extensions *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->n_passes != b->n_passes || a->n_patterns != b->n_patterns)
        return false;
    for (int i = 0; i < a->n_passes; i++) {
        const tern__extension *x = &a->passes[i], *y = &b->passes[i];
        if (x->at != y->at || x->off != y->off || x->pass.run != y->pass.run ||
            x->pass.user != y->pass.user || x->pass.level != y->pass.level ||
            strcmp(x->pass.name, y->pass.name) != 0)
            return false;
    }
    for (int i = 0; i < a->n_patterns; i++) {
        const tern_fusion_pattern *x = &a->patterns[i], *y = &b->patterns[i];
        if (x->fuse != y->fuse || x->user != y->user || strcmp(x->name, y->name) != 0 || !x->op != !y->op ||
            (x->op && strcmp(x->op, y->op) != 0))
            return false;
    }
    return true;
}

bool tern__compile_options_equal(const tern__compile_options *a, const tern__compile_options *b)
{
    return a->level == b->level && a->disabled == b->disabled && a->memory_limit == b->memory_limit &&
           a->goal == b->goal && a->threads == b->threads && a->isa_mask == b->isa_mask &&
           strcmp(a->library, b->library) == 0 && a->precision == b->precision && a->observe == b->observe &&
           a->observe_user == b->observe_user && extensions_equal(a->extensions, b->extensions);
}

uint64_t tern__compile_options_hash(const tern__compile_options *options)
{
    uint64_t h = (uint64_t)options->level << 56 ^ options->disabled;
    h = tern__hash_mix(h, (uint64_t)options->threads << 32 ^ options->isa_mask);
    h = tern__hash_mix(h, options->memory_limit);
    h = tern__hash(options->library, strlen(options->library), h);
    return tern__hash_mix(h, (uint64_t)options->precision << 8 ^ (uint64_t)options->goal);
}

tern_status tern__compile_options_narrow(const tern__compile_options *options, const tern__target *target,
                                         tern__target *out)
{
    TERN__FAIL_IF(options->threads > target->workers, TERN_INVALID_ARGUMENT,
                  "compile: %d threads were asked for, the context has %d", options->threads,
                  target->workers);
    *out = *target;
    if (options->threads > 0)
        out->workers = options->threads;
    if (options->goal == TERN_GOAL_THROUGHPUT)
        out->workers = 1;
    if (options->isa_mask)
        out->isa_mask &= options->isa_mask;
    if (options->library[0]) {
        TERN__FAIL_IF(!target->find_library, TERN_UNAVAILABLE, "compile: %s uses no libraries", target->name);
        const tern_status status = target->find_library(target, options->library, &out->library);
        if (status != TERN_OK)
            return tern__fail_in(status, "compile");
    }
    if (out->workers != target->workers || out->isa_mask != target->isa_mask || out->library)
        out->timings = NULL; /* they were measured with all of it */
    return TERN_OK;
}

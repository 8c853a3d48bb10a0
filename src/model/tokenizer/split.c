/* split.c - the rules of split.def, compiled and applied by PCRE2 in UTF and UCP mode. Without PCRE2 no rule can be
 * compiled, and whoever asks is told. */
#include "model/tokenizer/split.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"

/* ---- the table ------------------------------------------------------------------------------------------ */

#define WS "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"

static const tern__split_rule rules[] = {
#define RULE(name_, aliases_, whose_, ignore_merges_, add_bos_, written_, ...) \
    {.name = name_,                                                            \
     .aliases = aliases_,                                                      \
     .whose = whose_,                                                          \
     .patterns = {__VA_ARGS__},                                                \
     .written = written_,                                                      \
     .ignore_merges = ignore_merges_,                                          \
     .add_bos = add_bos_},
#include "model/tokenizer/split.def"
};

const tern__split_rule *tern__split_rule_get(int i)
{
    return i >= 0 && (size_t)i < TERN__COUNT(rules) ? &rules[i] : NULL;
}

const char *tern__split_rule_choices(char out[static TERN__RULE_CHOICES])
{
    size_t at = (size_t)snprintf(out, TERN__RULE_CHOICES, "choose 'pre' from ");
    for (size_t i = 0; i < TERN__COUNT(rules) && at < TERN__RULE_CHOICES; i++) {
        const char *whose = rules[i].whose;
        at += (size_t)snprintf(out + at, TERN__RULE_CHOICES - at, "%s%s%s%s%s", i ? ", " : "", rules[i].name,
                               whose ? " (" : "", whose ? whose : "", whose ? ")" : "");
    }
    return out;
}

const tern__split_rule *tern__split_rule_find(const char *name)
{
    char word[64];
    int length = snprintf(word, sizeof word, " %s ", name);
    for (size_t i = 0; i < TERN__COUNT(rules); i++)
        if (strcmp(rules[i].name, name) == 0 ||
            (length > 2 && (size_t)length < sizeof word && strstr(rules[i].aliases, word)))
            return &rules[i];
    return NULL;
}

const tern__split_rule *tern__split_rule_recognise(const char *pattern)
{
    for (size_t i = 0; i < TERN__COUNT(rules); i++)
        if (rules[i].written && strcmp(rules[i].written, pattern) == 0)
            return &rules[i];
    return NULL;
}

#if TERN_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct tern__splitter {
    pcre2_general_context *memory;
    pcre2_code *steps[TERN__SPLIT_STEPS];
    int n_steps;
};

struct tern__split_work {
    pcre2_general_context *memory;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* ---- compiling ------------------------------------------------------------------------------------------ */

static void *take(PCRE2_SIZE bytes, void *user)
{
    (void)user;
    return tern__alloc(bytes);
}

static void give(void *block, void *user)
{
    (void)user;
    tern__free(block);
}

static tern_status compile(tern__splitter *s, const tern__split_rule *rule)
{
    pcre2_compile_context *context = pcre2_compile_context_create(s->memory);
    if (!context)
        return tern__out_of_memory(0);
    tern_status status = TERN_OK;
    for (int i = 0; i < TERN__SPLIT_STEPS && rule->patterns[i] && status == TERN_OK; i++) {
        int code;
        PCRE2_SIZE at;
        s->steps[i] = pcre2_compile((PCRE2_SPTR)rule->patterns[i], PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_UCP, &code, &at, context);
        if (s->steps[i]) {
            /* Slower without, never different. */
            (void)pcre2_jit_compile(s->steps[i], PCRE2_JIT_COMPLETE);
            s->n_steps = i + 1;
        } else if (code == PCRE2_ERROR_HEAP_FAILED) {
            status = tern__out_of_memory(0);
        } else {
            char message[128] = "";
            pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof message);
            status =
                tern__fail(TERN_UNAVAILABLE, "tokenizer: this PCRE2 cannot compile rule '%s' (at %zu: %s)",
                           rule->name, at, message);
        }
    }
    pcre2_compile_context_free(context);
    return status;
}

tern_status tern__splitter_create(const tern__split_rule *rule, tern__splitter **out)
{
    tern__splitter *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    s->memory = pcre2_general_context_create(take, give, NULL);
    tern_status status = s->memory ? compile(s, rule) : tern__out_of_memory(0);
    if (status != TERN_OK) {
        tern__splitter_free(s);
        return status;
    }
    *out = s;
    return TERN_OK;
}

void tern__splitter_free(tern__splitter *s)
{
    if (!s)
        return;
    for (int i = 0; i < TERN__SPLIT_STEPS; i++)
        pcre2_code_free(s->steps[i]);
    pcre2_general_context_free(s->memory);
    tern__free(s);
}

tern_status tern__split_work_create(tern__split_work **out)
{
    tern__split_work *w = tern__alloc_zero(1, sizeof *w);
    if (!w)
        return tern__out_of_memory(sizeof *w);
    w->memory = pcre2_general_context_create(take, give, NULL);
    w->match = pcre2_match_data_create(1, w->memory);
    w->limits = pcre2_match_context_create(w->memory);
    if (!w->memory || !w->match || !w->limits) {
        tern__split_work_free(w);
        return tern__out_of_memory(sizeof *w);
    }
    /* A megabyte of blanks is stepped back over once, which the default limit takes for a runaway. The patterns are our
     * own, and none goes back over what it matched more than once. */
    pcre2_set_match_limit(w->limits, UINT32_MAX);
    *out = w;
    return TERN_OK;
}

void tern__split_work_free(tern__split_work *w)
{
    if (!w)
        return;
    pcre2_match_data_free(w->match);
    pcre2_match_context_free(w->limits);
    pcre2_general_context_free(w->memory);
    tern__free(w);
}

/* ---- cutting -------------------------------------------------------------------------------------------- */

/* The next match of a step from `from` on. false in `*found`: there is none. */
static tern_status next_match(const tern__splitter *s, tern__split_work *w, int step, const char *text,
                              size_t length, size_t from, bool *found, size_t *start, size_t *end)
{
    /* The text was checked once; checking it at every match would make the time quadratic. */
    int code =
        pcre2_match(s->steps[step], (PCRE2_SPTR)text, length, from, PCRE2_NO_UTF_CHECK, w->match, w->limits);
    if (code == PCRE2_ERROR_JIT_STACKLIMIT)
        code = pcre2_match(s->steps[step], (PCRE2_SPTR)text, length, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                           w->match, w->limits);
    if (code == PCRE2_ERROR_NOMEMORY)
        return tern__out_of_memory(0);
    TERN__FAIL_IF(code < 0 && code != PCRE2_ERROR_NOMATCH, TERN_INTERNAL,
                  "tokenizer: PCRE2 failed on a text of %zu bytes (error %d)", length, code);
    *found = code >= 0;
    if (*found) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(w->match);
        *start = ends[0];
        *end = ends[1];
    }
    return TERN_OK;
}

/* What a step matches is a piece, and so is what stands between. Steps nest TERN__SPLIT_STEPS deep at most. */
static tern_status split_from(const tern__splitter *s, tern__split_work *w, int step, const char *text,
                              size_t length, tern__piece_fn piece, void *user)
{
    if (length == 0)
        return TERN_OK;
    if (step == s->n_steps)
        return piece(user, text, length);
    size_t done = 0, start = 0, end = 0;
    bool found = false;
    TERN_TRY(next_match(s, w, step, text, length, 0, &found, &start, &end));
    while (found && end > start) {
        TERN_TRY(split_from(s, w, step + 1, text + done, start - done, piece, user));
        TERN_TRY(split_from(s, w, step + 1, text + start, end - start, piece, user));
        done = end;
        TERN_TRY(next_match(s, w, step, text, length, done, &found, &start, &end));
    }
    return split_from(s, w, step + 1, text + done, length - done, piece, user);
}

static tern_status split_text(const tern__splitter *s, tern__split_work *work, const char *text,
                              size_t length, tern__piece_fn piece, void *user)
{
    return split_from(s, work, 0, text, length, piece, user);
}

#else /* without PCRE2 no rule can be compiled */

tern_status tern__splitter_create(const tern__split_rule *rule, tern__splitter **out)
{
    (void)out;
    return tern__fail(TERN_UNAVAILABLE,
                      "tokenizer: this build of tern has no PCRE2, which the rules '%s' need", rule->name);
}

void tern__splitter_free(tern__splitter *s)
{
    (void)s;
}

tern_status tern__split_work_create(tern__split_work **out)
{
    (void)out;
    return tern__fail(TERN_UNAVAILABLE, "tokenizer: this build of tern has no PCRE2");
}

void tern__split_work_free(tern__split_work *w)
{
    (void)w;
}

static tern_status split_text(const tern__splitter *s, tern__split_work *work, const char *text,
                              size_t length, tern__piece_fn piece, void *user)
{
    (void)s, (void)work, (void)text, (void)length, (void)piece, (void)user;
    return tern__fail(TERN_UNAVAILABLE, "tokenizer: this build of tern has no PCRE2");
}

#endif

tern_status tern__split_any(const tern__splitter *s, tern__split_work *work, const char *text, size_t length,
                            tern__piece_fn piece, void *user)
{
    size_t at = 0;
    while (at < length) {
        size_t from = at, used;
        while (at < length && (used = tern__utf8_length(text + at, length - at)) > 0)
            at += used;
        TERN_TRY(split_text(s, work, text + from, at - from, piece, user));
        from = at;
        while (at < length && tern__utf8_length(text + at, length - at) == 0)
            at++;
        if (at > from)
            TERN_TRY(piece(user, text + from, at - from));
    }
    return TERN_OK;
}

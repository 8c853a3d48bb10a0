/* args.c - from words to a command with its options and operands. */
#include "args.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term.h"

typedef struct given {
    const option *option;
    const char *value;
} given;

struct args {
    const command *command;
    const char *path; /* "graph run" */
    given *given;     /* in the order of the line */
    int n_given;
    const char **operands;
    int n_operands;
    char *copy; /* of what args_with added, cut into words; else NULL */
};

/* clang-format off */
const option common_options[] = {
    {"color", 0, "WHEN", "auto always never", "colour the output; by default on a terminal, unless NO_COLOR is set"},
    {"help", 'h', NULL, NULL, "show this help"},
    {0},
};
/* clang-format on */

/* ---- looking things up in the tables ------------------------------------------------------------------------ */

/* Older names, for scripts: they work where the newer one does, and no help has them. */
static const struct {
    const char *old, *name;
} renamed[] = {{"isa", "cpu"}};

static const option *find_option(const command *c, const char *name, size_t length, char letter)
{
    const option *const tables[] = {c->options, common_options};
    for (size_t i = 0; i < 2; i++)
        for (const option *o = tables[i]; o && o->name; o++)
            if (letter ? o->letter == letter
                       : strlen(o->name) == length && memcmp(o->name, name, length) == 0)
                return o;
    for (size_t i = 0; !letter && i < sizeof renamed / sizeof *renamed; i++)
        if (strlen(renamed[i].old) == length && memcmp(renamed[i].old, name, length) == 0)
            return find_option(c, renamed[i].name, strlen(renamed[i].name), 0);
    return NULL;
}

static bool takes_model(const command *c)
{
    static const char model[] = "model";
    return find_option(c, model, strlen(model), 0) != NULL;
}

/* Commands on models are tried with the options of llama.cpp. NULL: none of them. */
static const char *advice_on(const command *c, const char *word)
{
    return takes_model(c) ? foreign_option(word) : NULL;
}

/* "; options of the command go behind '--': tern profile -- run ..." once a command was named; else NULL. */
static const char *behind_dashes(const args *a, char *buffer, size_t room)
{
    if (!a || !a->command->runs_another || a->n_operands == 0)
        return NULL;
    snprintf(buffer, room, "; options of the command go behind '--': tern %s -- %.40s ...", a->path,
             a->operands[0]);
    return buffer;
}

/* `a`: what was parsed so far; NULL: nothing was. */
static int fail_unknown_option(const command *c, const args *a, const char *word)
{
    char buffer[160], dashed[160];
    const char *advice = advice_on(c, word);
    if (advice)
        return fail_usage("no option '%.*s': %s", (int)strcspn(word, "="), word, advice);
    size_t dashes = strspn(word, "-");
    char *name = grab_string(word + dashes, strcspn(word + dashes, "="));
    suggestion s = suggestion_for(name);
    const option *const tables[] = {c->options, common_options};
    for (size_t i = 0; i < 2; i++)
        for (const option *o = tables[i]; o && o->name; o++)
            suggestion_offer(&s, o->name);
    const char *hint = suggestion_text(&s, "--", buffer, sizeof buffer);
    if (c->elsewhere && name[0] && strncmp(name, c->elsewhere, strlen(name)) == 0) {
        snprintf(buffer, sizeof buffer, "; %s", c->instead);
        hint = buffer;
    }
    hint = behind_dashes(a, dashed, sizeof dashed) ? dashed : hint;
    int code = fail_usage("unknown option '%.*s%s'%s", (int)dashes, word, name, hint);
    free(name);
    return code;
}

static bool is_choice(const option *o, const char *value)
{
    char word[64];
    for (int i = 0; o->choices && list_word(o->choices, i, word, sizeof word); i++)
        if (list_is(o->choices, word, value))
            return true;
    return !o->choices;
}

/* ---- parsing ------------------------------------------------------------------------------------------------ */

static int check_value(const option *o, const char *value)
{
    if (is_choice(o, value))
        return EXIT_DONE;
    text choices = {0};
    char word[64], best[64] = "", hint[96];
    suggestion s = suggestion_for(value);
    for (int i = 0; list_word(o->choices, i, word, sizeof word); i++) {
        suggestion_offer(&s, word);
        if (s.best == word) {
            memcpy(best, word, sizeof best);
            s.best = best;
        }
    }
    list_add(&choices, o->choices);
    int code = fail_usage("--%s is %s, not '%s'%s", o->name, text_string(&choices), value,
                          suggestion_text(&s, "", hint, sizeof hint));
    text_free(&choices);
    return code;
}

/* words[*at] is an option; its value may be in the next word. */
static int parse_option(args *a, int count, char **words, int *at)
{
    const char *word = words[*at], *value = NULL;
    const option *o;
    if (word[1] != '-' && word[2] != '\0' && advice_on(a->command, word))
        return fail_unknown_option(a->command, a, word); /* "-ngl" is not -n with the value "gl" */
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        o = find_option(a->command, word + 2, length, 0);
        if (word[2 + length] == '=')
            value = word + 2 + length + 1;
    } else {
        o = find_option(a->command, NULL, 0, word[1]);
        if (word[2] != '\0')
            value = word + 2;
        if (o && !o->argument && value)
            o = NULL; /* switches are not bundled */
    }
    if (!o)
        return fail_unknown_option(a->command, a, word);
    if (!o->argument && value)
        return fail_usage("--%s takes no value", o->name);
    if (o->argument && !value) {
        if (*at + 1 >= count)
            return fail_usage("--%s needs a value: --%s %s", o->name, o->name, o->argument);
        value = words[++*at];
    }
    int code = o->argument ? check_value(o, value) : EXIT_DONE;
    a->given[a->n_given++] = (given){o, value};
    return code;
}

/* A file or folder by its name, or because it is there. */
static bool is_place(const char *operand)
{
    return (strpbrk(operand, "./") && !strchr(operand, ' ')) || access(operand, F_OK) == 0;
}

/* For who gives a file or a text where none belongs. */
static const char *hint_on(const args *a, const char *operand)
{
    const bool graph = text_ends_in(operand, ".tern"), takes_text = find_option(a->command, "prompt", 6, 0);
    if (!takes_model(a->command))
        return "";
    if (!args_has(a, "model") && (graph || !takes_text || is_place(operand)))
        return graph ? "; graphs run with 'tern graph run FILE'" : "; a model is given with -m FILE";
    return takes_text && !args_has(a, "prompt") && !args_has(a, "file")
               ? "; a text is given with -p TEXT, with -f FILE, or on standard input"
               : "";
}

static int check_operands(const args *a)
{
    const command *c = a->command;
    if (a->n_operands < c->least)
        return fail_usage("missing operand: tern %s %s", a->path, c->operands);
    if (c->most >= 0 && a->n_operands > c->most)
        return fail_usage("unexpected operand '%s'%s", a->operands[c->most],
                          hint_on(a, a->operands[c->most]));
    return EXIT_DONE;
}

static int parse(args *a, int count, char **words)
{
    bool options = true;
    for (int i = 0; i < count; i++) {
        if (options && strcmp(words[i], "--") == 0) {
            options = false;
        } else if (options && words[i][0] == '-' && words[i][1] != '\0') {
            int code = parse_option(a, count, words, &i);
            if (code != EXIT_DONE)
                return code;
            if (args_has(a, "help"))
                return EXIT_DONE;
        } else {
            a->operands[a->n_operands++] = words[i];
        }
    }
    return check_operands(a);
}

static int run(const command *c, const char *path, int count, char **words)
{
    args a = {.command = c,
              .path = path,
              .given = grab((size_t)count, sizeof *a.given),
              .operands = grab((size_t)count, sizeof *a.operands)};
    int code = parse(&a, count, words);
    if (code == EXIT_DONE) {
        const char *when = args_value(&a, "color");
        if (when)
            term_set_color(when[1] == 'l' ? COLOR_ALWAYS : when[0] == 'n' ? COLOR_NEVER : COLOR_AUTO);
        code = args_has(&a, "help") ? print_help(c, path) : c->run(&a);
    }
    free(a.given);
    free(a.operands);
    return code;
}

int args_dispatch(int count, char **words)
{
    static text path;
    const command *c = &program;
    int at = 0;
    while (c->verbs && at < count && words[at][0] != '-') {
        c = find_command(++at, (const char *const *)words, &path);
        if (!c)
            return EXIT_USAGE;
    }
    term_set_command(text_string(&path));
    term_set_answers(c->answers != NULL);
    if (c->run)
        return run(c, text_string(&path), count - at, words + at);
    if (at < count && (strcmp(words[at], "--help") == 0 || strcmp(words[at], "-h") == 0))
        return print_help(c, text_string(&path));
    if (at < count)
        return fail_unknown_option(c, NULL, words[at]);
    text verbs = {0};
    for (int i = 0; c->verbs && c->verbs[i]; i++)
        text_addf(&verbs, "%s%s", i == 0 ? "" : c->verbs[i + 1] ? ", " : " or ", c->verbs[i]->name);
    int code = fail_usage("say what to do: %s", text_string(&verbs));
    text_free(&verbs);
    return code;
}

/* One setting, "level=none" or "no-tune", which is terminated. */
static int add_setting(args *a, char *setting)
{
    char *equals = strchr(setting, '=');
    const option *o = find_option(a->command, setting, strcspn(setting, "="), 0);
    if (!o)
        return fail_usage(
            "'%s' is no setting: give options without their dashes, such as level=none or threads=2",
            setting);
    if ((o->argument != NULL) != (equals != NULL))
        return fail_usage(o->argument ? "setting '%s' needs a value" : "setting '%s' takes none", o->name);
    a->given[a->n_given++] = (given){o, equals ? equals + 1 : NULL};
    return equals ? check_value(o, equals + 1) : EXIT_DONE;
}

args *args_with(const args *a, const char *settings)
{
    size_t most = 1;
    for (const char *at = settings; (at = strchr(at, ',')); at++)
        most++;
    args *b = grab(1, sizeof *b);
    *b = *a;
    b->copy = grab_string(settings, strlen(settings));
    b->given = grab((size_t)a->n_given + most, sizeof *b->given);
    if (a->n_given > 0)
        memcpy(b->given, a->given, (size_t)a->n_given * sizeof *b->given);
    int code = EXIT_DONE;
    for (char *setting = b->copy, *comma; setting && *setting && code == EXIT_DONE; setting = comma) {
        comma = strchr(setting, ',');
        if (comma)
            *comma++ = '\0';
        code = add_setting(b, setting);
    }
    if (code == EXIT_DONE)
        return b;
    args_free(b);
    return NULL;
}

void args_free(args *a)
{
    if (!a)
        return;
    free(a->given);
    free(a->copy);
    free(a);
}

/* ---- reading what was parsed -------------------------------------------------------------------------------- */

const char *args_nth(const args *a, const char *name, int n)
{
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0 && n-- == 0)
            return a->given[i].value;
    return NULL;
}

bool args_has(const args *a, const char *name)
{
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            return true;
    return false;
}

const char *args_value(const args *a, const char *name)
{
    const char *value = NULL;
    for (int i = 0; i < a->n_given; i++)
        if (strcmp(a->given[i].option->name, name) == 0)
            value = a->given[i].value;
    return value;
}

int args_operands(const args *a)
{
    return a->n_operands;
}

const char *args_operand(const args *a, int i)
{
    return i >= 0 && i < a->n_operands ? a->operands[i] : NULL;
}

/* The same as args_positive, but one that no double can hold (1e400) is infinity. */
static bool read_positive(const args *a, const char *name, double *out)
{
    const char *value = args_value(a, name);
    char *end;
    if (!value)
        return true;
    errno = 0;
    double number = strtod(value, &end);
    const bool too_large = isinf(number) && errno == ERANGE; /* not so "inf", which is no number */
    if (end == value || *end != '\0' || !(number > 0) || (isinf(number) && !too_large)) {
        fail_usage("--%s is a number above 0, not '%s'", name, value);
        return false;
    }
    *out = number;
    return true;
}

bool args_positive(const args *a, const char *name, double *out)
{
    double number = *out;
    if (!read_positive(a, name, &number))
        return false;
    if (isinf(number)) {
        fail_usage("--%s %s is more than a number can be", name, args_value(a, name));
        return false;
    }
    *out = number;
    return true;
}

/* "4096", "64K", "1.5MiB": a number and a power of `thousand`, of 1024 with an i. */
static bool read_bytes(const char *value, double thousand, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    if (end == value || errno || !(number >= 0) || value[0] == '-' || value[0] == '+')
        return false;
    const char *unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    end += unit != NULL;
    if (*end == 'i' && unit) {
        thousand = 1024;
        end++;
    }
    for (const char *u = units; unit && u <= unit; u++)
        number *= thousand;
    if (*end == 'B')
        end++;
    if (*end != '\0' || number < 1 || number > 1e18 || floor(number) != number)
        return false;
    *out = (uint64_t)number;
    return true;
}

bool args_bytes(const args *a, const char *name, size_t *out)
{
    const char *value = args_value(a, name);
    uint64_t bytes = *out;
    if (value && (!read_bytes(value, 1024, &bytes) || bytes > SIZE_MAX)) {
        fail_usage("--%s is a number of bytes such as 4096, 64K or 1G, not '%s'", name, value);
        return false;
    }
    *out = (size_t)bytes;
    return true;
}

bool args_file_bytes(const args *a, const char *name, uint64_t *out)
{
    const char *value = args_value(a, name);
    if (!value || read_bytes(value, 1000, out))
        return true;
    fail_usage("--%s is a size such as 500M or 5G, not '%s'", name, value);
    return false;
}

bool args_percent(const args *a, const char *name, double *out)
{
    double number = *out;
    if (!read_positive(a, name, &number))
        return false;
    if (args_value(a, name) && number >= 1000) {
        fail_usage("--%s %s: give per cent below 1000", name, args_value(a, name));
        return false;
    }
    *out = number;
    return true;
}

bool args_none_of(const args *a, const option *names, const char *why)
{
    for (; names->name; names++)
        if (args_has(a, names->name)) {
            fail_usage("--%s %s", names->name, why);
            return false;
        }
    return true;
}

bool args_seconds(const args *a, const char *name, double *out)
{
    const char *word = args_value(a, name);
    char *end;
    if (!word)
        return true;
    *out = strtod(word, &end);
    if (end != word && *end == '\0' && *out > 0 && *out <= 3600)
        return true;
    fail_usage("--%s '%s': give seconds, more than 0 and at most 3600", name, word);
    return false;
}

bool args_int(const args *a, const char *name, int least, int most, int fallback, int *out)
{
    const char *value = args_value(a, name);
    *out = fallback;
    if (!value)
        return true;
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    const char *first = value + (least < 0 && value[0] == '-');
    bool digits = *first >= '0' && *first <= '9';
    if (!digits || *end != '\0' || errno || number < least || number > most) {
        fail_usage("--%s is a whole number from %d to %d, not '%s'", name, least, most, value);
        return false;
    }
    *out = (int)number;
    return true;
}

bool args_ints(const args *a, const char *name, int least, int most, int room, int *out, int *n)
{
    const char *list = args_value(a, name);
    *n = 0;
    for (const char *at = list; list; at++) {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at || value < least || value > most || (*end != ',' && *end != '\0') || *n == room)
            break;
        out[(*n)++] = (int)value;
        if (*end == '\0')
            return true;
        at = end;
    }
    if (!list)
        return true;
    fail_usage("--%s '%s': give numbers from %d to %d, such as 1,2", name, list, least, most);
    return false;
}

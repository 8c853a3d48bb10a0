/* help.c - `tern help`, and --help of every command: all from the tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "commands.h"
#include "term.h"

enum { HELP_COLUMNS = 80 };

/* What somebody means who says a verb of `tern graph` without 'graph', one of another program, a file without a verb, or
 * `graph help`. NULL: no idea. */
static const char *verb_hint(const command *c, const char *word, char *buffer, size_t room)
{
    bool file = text_ends_in(word, ".tern");
    const char *foreign = c == &program ? foreign_verb(word) : NULL;
    if (foreign) {
        snprintf(buffer, room, "; %s", foreign);
        return buffer;
    }
    if (c == &program && (text_ends_in(word, ".gguf") || text_ends_in(word, ".safetensors"))) {
        snprintf(buffer, room, "; did you mean 'tern run -m %.150s'?", word);
        return buffer;
    }
    for (int v = 0; c == &program && cmd_graph.verbs[v]; v++)
        if (strcmp(cmd_graph.verbs[v]->name, word) == 0) {
            snprintf(buffer, room, "; did you mean 'tern graph %s'?", word);
            return buffer;
        }
    if (file && (c == &program || c == &cmd_graph)) {
        snprintf(buffer, room, "; did you mean 'tern graph run %.150s'?", word);
        return buffer;
    }
    if (c != &program && strcmp(word, "help") == 0) {
        snprintf(buffer, room, "; did you mean 'tern help %s'?", c->name);
        return buffer;
    }
    return NULL;
}

const command *find_command(int count, const char *const *words, text *path)
{
    const command *c = &program;
    text_clear(path);
    for (int i = 0; i < count; i++) {
        const command *found = NULL;
        suggestion s = suggestion_for(words[i]);
        for (int v = 0; c->verbs && c->verbs[v]; v++) {
            suggestion_offer(&s, c->verbs[v]->name);
            if (strcmp(c->verbs[v]->name, words[i]) == 0)
                found = c->verbs[v];
        }
        if (!found) {
            char buffer[256];
            const char *near = verb_hint(c, words[i], buffer, sizeof buffer);
            if (!near)
                near = suggestion_text(&s, "", buffer, sizeof buffer);
            term_set_command(text_string(path));
            if (c->verbs)
                fail_usage("unknown verb '%s'%s", words[i], near);
            else
                fail_usage("it has no verb '%s'", words[i]);
            return NULL;
        }
        text_addf(path, "%s%s", path->length ? " " : "", found->name);
        c = found;
    }
    return c;
}

/* ---- layout ------------------------------------------------------------------------------------------------- */

/* Prints words wrapped at HELP_COLUMNS; later lines start at column `indent`, the first one is there already. */
static void wrap(const char *words, int indent)
{
    int column = indent;
    bool first = true;
    while (*words) {
        int length = (int)strcspn(words, " \n");
        if (!first && column + 1 + length > HELP_COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", length, words);
        column += length + !first;
        first = false;
        words += length;
        if (*words == '\n') { /* a line break that is meant */
            printf("\n%*s", words[1] ? indent : 0, "");
            column = indent;
            first = true;
        }
        words += *words != '\0';
    }
    if (!first)
        putchar('\n');
}

static void heading(const char *title)
{
    printf("\n%s%s%s\n", on(STYLE_TITLE), title, off(STYLE_TITLE));
}

static void option_head(const option *o, text *t)
{
    text_clear(t);
    if (o->letter)
        text_addf(t, "-%c, ", o->letter);
    else
        text_add(t, "    ");
    text_addf(t, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
}

static int widest_option(const option *table, int widest, text *t)
{
    for (const option *o = table; o && o->name; o++) {
        option_head(o, t);
        if ((int)t->length > widest)
            widest = (int)t->length;
    }
    return widest;
}

static void print_options(const option *table, int width, text *t)
{
    for (const option *o = table; o && o->name; o++) {
        option_head(o, t);
        printf("  %s%s%s%*s  ", on(STYLE_NAME), text_string(t), off(STYLE_NAME), width - (int)t->length, "");
        text_clear(t);
        text_add(t, o->help);
        if (o->choices) {
            text_add(t, ": ");
            list_add(t, o->choices);
        }
        wrap(text_string(t), width + 4);
    }
}

static void print_verbs(const command *c)
{
    int width = 0;
    for (int i = 0; c->verbs[i]; i++)
        if ((int)strlen(c->verbs[i]->name) > width)
            width = (int)strlen(c->verbs[i]->name);
    for (int i = 0; c->verbs[i]; i++) {
        const command *v = c->verbs[i];
        printf("  %s%-*s%s  ", on(STYLE_NAME), width, v->name, off(STYLE_NAME));
        wrap(v->summary, width + 4);
    }
}

static void print_usage(const command *c, const char *path)
{
    printf("%susage:%s tern", on(STYLE_TITLE), off(STYLE_TITLE));
    if (*path)
        printf(" %s", path);
    if (c->verbs)
        printf(" VERB");
    if (c->operands[0])
        printf(" %s", c->operands);
    puts(strncmp(c->operands, "[options]", 9) == 0 ? "" : " [options]"); /* unless they say where they go */
}

/* How much of a command of `length` bytes goes on a line of `room`: all of it, or up to a blank outside quotes, before which a
 * backslash finds room. */
static int break_of(const char *words, int length, int room)
{
    int at = 0;
    char quote = 0;
    for (int i = 0; length > room && i < length && (i <= room - 2 || at == 0); i++) {
        if (quote ? words[i] == quote : words[i] == '"' || words[i] == '\'')
            quote = quote ? 0 : words[i];
        at = words[i] == ' ' && !quote ? i : at;
    }
    return at > 0 ? at : length;
}

/* Commands that can be pasted, on lines that fit. */
static void print_examples(const char *examples)
{
    for (int indent = 2; *examples;) {
        const int length = (int)strcspn(examples, "\n"),
                  part = break_of(examples, length, HELP_COLUMNS - indent);
        printf("%*s%.*s%s\n", indent, "", part, examples, part < length ? " \\" : "");
        examples += part + (examples[part] != '\0');
        indent = part < length ? 6 : 2;
    }
}

int print_help(const command *c, const char *path)
{
    text t = {0};
    wrap(c->summary, 0);
    putchar('\n');
    print_usage(c, path);
    if (c->details) {
        putchar('\n');
        wrap(c->details, 0);
    }
    if (c->verbs) {
        heading("verbs:");
        print_verbs(c);
    }
    heading("options:");
    int width = widest_option(common_options, widest_option(c->options, 0, &t), &t);
    print_options(c->options, width, &t);
    print_options(common_options, width, &t);
    if (c->examples) {
        heading("examples:");
        print_examples(c->examples);
    }
    heading("exit status:");
    puts(c->answers ? c->answers
                    : "  0  the work was done\n"
                      "  1  it failed: a bad file, graph or run; one line on standard error says why\n"
                      "  2  the command line is wrong; nothing was read or written");
    text_free(&t);
    return EXIT_DONE;
}

/* ---- tern help ---------------------------------------------------------------------------------------------- */

static int run_help(const args *a)
{
    int n = args_operands(a);
    const char **words = grab((size_t)n, sizeof *words);
    for (int i = 0; i < n; i++)
        words[i] = args_operand(a, i);
    text path = {0};
    const command *c = find_command(n, words, &path);
    int code = c ? print_help(c, text_string(&path)) : EXIT_USAGE;
    text_free(&path);
    free(words);
    return code;
}

const command cmd_help = {
    .name = "help",
    .operands = "[VERB...]",
    .most = 2,
    .summary = "Show what tern does, or what one verb does.",
    .examples = "tern help\n"
                "tern help graph run",
    .run = run_help,
};

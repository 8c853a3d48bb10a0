/* cmd_completion.c - `tern completion bash`: a completion script, written from the tables of commands. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "term.h"

static void print_options(const option *table)
{
    for (const option *o = table; o && o->name; o++)
        printf(" --%s", o->name);
}

static void print_words(const char *list)
{
    char word[64];
    for (int i = 0; list_word(list, i, word, sizeof word); i++)
        printf("%s%s", i ? " " : "", word);
}

static void print_value_cases(const option *table)
{
    for (const option *o = table; o && o->name; o++)
        if (o->choices) {
            printf("    *' --%s') words='", o->name);
            print_words(o->choices);
            printf("' ;;\n");
        }
}

/* One case per command: the words that may follow it. */
static void print_case(const command *c, const char *path)
{
    printf("    '%s') words='", path);
    for (int i = 0; c->verbs && c->verbs[i]; i++)
        printf("%s ", c->verbs[i]->name);
    if (c->choices) {
        print_words(c->choices);
        putchar(' ');
    }
    printf("'; options='");
    print_options(c->options);
    print_options(common_options);
    printf("' ;;\n");
}

/* "graph|bench": the verbs that have verbs of their own. */
static void print_parents(void)
{
    const char *between = "";
    for (int i = 0; program.verbs[i]; i++)
        if (program.verbs[i]->verbs) {
            printf("%s%s", between, program.verbs[i]->name);
            between = "|";
        }
}

static int run(const args *a)
{
    if (strcmp(args_operand(a, 0), "bash") != 0)
        return fail_usage("completion is written for bash, not '%s'", args_operand(a, 0));
    puts("# Completion for tern. In ~/.bashrc: eval \"$(tern completion bash)\"\n"
         "_tern()\n"
         "{\n"
         "    local at=${COMP_WORDS[COMP_CWORD]} path= words= options= i\n"
         "    for ((i = 1; i < COMP_CWORD && i < 3; i++)); do\n"
         "        case ${COMP_WORDS[i]} in -*) break ;; esac");
    printf("        [ $i -eq 1 ] || case $path in ");
    print_parents();
    puts(") ;; *) break ;; esac\n"
         "        path=\"$path${path:+ }${COMP_WORDS[i]}\"\n"
         "    done\n"
         "    case $path in");
    print_case(&program, "");
    for (int i = 0; program.verbs[i]; i++) {
        const command *verb = program.verbs[i];
        print_case(verb, verb->name);
        for (int k = 0; verb->verbs && verb->verbs[k]; k++) {
            char path[64];
            snprintf(path, sizeof path, "%s %s", verb->name, verb->verbs[k]->name);
            print_case(verb->verbs[k], path);
        }
    }
    puts("    esac\n"
         "    case \" ${COMP_WORDS[COMP_CWORD - 1]}\" in");
    print_value_cases(common_options);
    puts("    esac\n"
         "    case $at in -*) words=$options ;; esac\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$at\"))\n"
         "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$at\"))\n"
         "}\n"
         "complete -o filenames -F _tern tern");
    return EXIT_DONE;
}

const command cmd_completion = {
    .name = "completion",
    .operands = "bash",
    .least = 1,
    .most = 1,
    .choices = "bash",
    .summary = "Write a completion script for a shell.",
    .examples = "eval \"$(tern completion bash)\"",
    .run = run,
};

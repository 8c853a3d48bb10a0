/* tern.c - the program: its verbs, and what `tern` alone does. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "commands.h"
#include "term.h"

static const command *const verbs[] = {PROGRAM_VERBS(VERB_ROW) NULL};

static const option options[] = {
    {"version", 'V', NULL, NULL, "print the version"},
    {0},
};

static int run_program(const args *a)
{
    return args_has(a, "version") ? cmd_version.run(a) : print_help(&program, "");
}

const command program = {
    .name = "tern",
    .operands = "",
    .summary =
        "Tern: runs ternary (BitNet) language models on the processor; a tensor runtime and graph compiler.",
    .options = options,
    .elsewhere = "model",
    .instead = "models run with 'tern run -m FILE -p TEXT', or 'tern chat -m FILE'",
    .examples = "tern demo\n"
                "tern synth --shape tiny tiny.gguf    # a random model: it writes noise\n"
                "tern run -m tiny.gguf -p \"Once upon a time\" -n 40\n"
                "tern bench model -m tiny.gguf -p 64 -n 16\n"
                "tern graph run examples/graphs/bitlinear.tern --show\n"
                "tern inspect tiny.gguf\n"
                "tern list ops matmul",
    .verbs = verbs,
    .run = run_program,
};

int main(int argc, char **argv)
{
    term_init(argc, argv);
    term_show_warnings(true);
    int code = args_dispatch(argc > 0 ? argc - 1 : 0, argv + (argc > 0));
    return term_finish(code);
}

/* cmd_memory.c - `tern memory`: another command of the program, run in the same process, and where its memory went. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "divert.h"
#include "memory_report.h"
#include "term.h"

static int print_report(const void *report, const char *format)
{
    const memory_report *r = report;
    tern_memory_format as;
    char *content;
    if (strcmp(format, "text") == 0) {
        memory_print(r);
        return EXIT_DONE;
    }
    if (tern_memory_format_parse(format, &as) != TERN_OK ||
        tern_memory_export(r->memory, as, &content) != TERN_OK)
        return fail_status(NULL);
    term_put(content);
    tern_string_free(content);
    return EXIT_DONE;
}

static int run_command(const args *a, size_t events, tern_memory **out)
{
    text title = {0};
    divert_add_title(a, &title);
    tern_status status =
        tern_memory_start(&(tern_memory_options){.events = events, .title = text_string(&title)});
    text_free(&title);
    if (status != TERN_OK)
        return fail_status(NULL);
    int code = divert_command(a, "memory");
    if (tern_memory_stop(out) != TERN_OK) {
        int failed = fail_status(NULL);
        code = code == EXIT_DONE ? failed : code;
    }
    return code;
}

static int run(const args *a)
{
    const char *format = divert_format(a);
    const char *by = args_value(a, "by") ? args_value(a, "by") : "op";
    memory_report r = {.by_name = by};
    int events;
    if (!args_int(a, "events", 16, 1 << 26, 0, &events) || !args_int(a, "top", 1, 10000, 15, &r.top))
        return EXIT_USAGE;
    if (strcmp(args_operand(a, 0), "memory") == 0)
        return fail_usage("the memory of this command itself is not recorded");
    if (args_has(a, "json") && args_has(a, "format"))
        return fail_usage("--json is --format json: give one of them");
    if (tern_memory_by_parse(by, &r.by) != TERN_OK)
        return fail_status(NULL);
    out_file to;
    int code = out_open(args_value(a, "output"), &to);
    if (code != EXIT_DONE)
        return code;
    const int was = divert_begin(a);
    tern_memory *memory = NULL;
    code = run_command(a, (size_t)events, &memory);
    divert_end(was);
    if (memory && divert_is_worth_telling(code)) {
        r.memory = memory;
        int reported = divert_report(print_report, &r, format, &to);
        code = code == EXIT_DONE ? reported : code;
    }
    out_discard(&to);
    tern_memory_free(memory);
    return code;
}

#define NAME(id, number, name, meaning) name " "
/* clang-format off */
static const option options[] = {
    {"format", 0, "FORMAT", "text " TERN_MEMORY_FORMAT_LIST(NAME), "how to tell it (default: text)"},
    {"json", 0, NULL, NULL, "the same as --format json: an object (docs/memory.md)"},
    {"output", 'o', "FILE", NULL, "write the report to FILE"},
    {"by", 0, "WHAT", TERN_MEMORY_BY_LIST(NAME), "what rows are: ops, lines of the source, tensors, or parts of a model (default: op)"},
    {"top", 0, "N", NULL, "show N rows (default: 15); JSON has all"},
    {"events", 0, "N", NULL, "keep the first N events (default: 1048576); sums are right in any case"},
    {0},
};
/* clang-format on */

const command cmd_memory = {
    .name = "memory",
    .operands = "[options] -- COMMAND...",
    .least = 1,
    .most = -1,
    .summary = "Run another command, and tell where its memory went.",
    .details =
        "COMMAND is any command of this program with its options, after '--'. It runs in this process "
        "while every allocation, free and copy is recorded with its op, tensor and line of the source. "
        "The report has the peak with the step that caused it, memory over time, memory by op, leaks, "
        "fragmentation, and what could be saved with the evidence (docs/memory.md). '--format timeline' and "
        "'--format svg' are pictures: memory over time, and a flame graph of the peak. Without -o, formats "
        "other than text have stdout for themselves, and what the command prints goes to stderr. The exit "
        "status is that of COMMAND, unless what was recorded cannot be told.",
    .options = options,
    .runs_another = true,
    .elsewhere = "model",
    .instead = "put the command behind '--': tern memory -- run -m FILE",
    .examples = "tern memory -- graph run examples/graphs/mlp.tern --made-up\n"
                "tern memory --by part -- run -m tiny.gguf -p \"Once upon a time\" -n 40\n"
                "tern memory --format svg -o heap.svg -- run -m tiny.gguf -p Hello -n 40",
    .run = run,
};

/* cmd_version.c - `tern version`. */
#include <stdio.h>
#include <string.h>

#include <tern/export.h>

#include "commands.h"
#include "json.h"
#include "term.h"

#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)
#define PROGRAM_VERSION \
    NUMBER(TERN_VERSION_MAJOR) "." NUMBER(TERN_VERSION_MINOR) "." NUMBER(TERN_VERSION_PATCH)

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

#if defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "other"
#endif

#if defined(__APPLE__)
#define SYSTEM "macos"
#elif defined(__linux__)
#define SYSTEM "linux"
#else
#define SYSTEM "other"
#endif

static int run(const args *a)
{
    if (args_has(a, "json")) {
        json j = {0};
        json_object(&j, NULL);
        json_string(&j, "version", PROGRAM_VERSION);
        json_string(&j, "library", tern_version());
        json_string(&j, "architecture", ARCHITECTURE);
        json_string(&j, "system", SYSTEM);
        json_string(&j, "compiler", COMPILER);
        json_end(&j);
        json_print(&j);
        return EXIT_DONE;
    }
    printf("tern %s (%s, %s, %s)\n", PROGRAM_VERSION, ARCHITECTURE, SYSTEM, COMPILER);
    if (strcmp(PROGRAM_VERSION, tern_version()) != 0)
        printf("library %s\n", tern_version());
    return EXIT_DONE;
}

static const option options[] = {
    {"json", 0, NULL, NULL, "print JSON"},
    {0},
};

const command cmd_version = {
    .name = "version",
    .operands = "",
    .summary = "Print the version.",
    .options = options,
    .run = run,
};

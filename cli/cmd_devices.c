/* cmd_devices.c - `tern devices`: what programs can run on, in full. */
#include "catalog.h"
#include "commands.h"
#include "term.h"

static int run(const args *a)
{
    const catalog *c = catalog_find("devices");
    int code = catalog_check(c);
    if (code != EXIT_DONE)
        return code;
    if (args_has(a, "json"))
        catalog_print_json(c, NULL);
    else
        catalog_print_details(c, NULL);
    return EXIT_DONE;
}

static const option options[] = {
    {"json", 0, NULL, NULL, "print JSON: an array, one object for each device"},
    {0},
};

const command cmd_devices = {
    .name = "devices",
    .operands = "",
    .summary = "Show the devices of this machine: cores, instruction sets, caches, memory.",
    .options = options,
    .examples = "tern devices\n"
                "tern devices --json",
    .run = run,
};

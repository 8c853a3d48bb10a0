/* cmd_devices.c - `tern devices`: what programs can run on, in full. */
#include <stdio.h>

#include <tern/conditions.h>

#include "catalog.h"
#include "commands.h"
#include "term.h"
#include "text.h"

/* What threads and batches may be limited by. */
static void print_conditions(void)
{
    tern_conditions c;
    text t = {0};
    if (tern_conditions_read(NULL, NULL, &c) != TERN_OK)
        return;
    printf("\nconditions\n");
    for (int i = 0; i < TERN_SENSORS; i++) {
        const tern_sensor_reading *s = &c.sensors[i];
        text_clear(&t);
        text_add_safe(&t, s->text);
        printf("  %-14s %s: %s\n", tern_sensor_name((tern_sensor)i),
               s->available ? tern_strain_name(s->strain) : "unavailable", text_string(&t));
    }
    text_free(&t);
}

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
    if (!args_has(a, "json"))
        print_conditions();
    return EXIT_DONE;
}

static const option options[] = {
    {"json", 0, NULL, NULL, "print JSON: an array, one object for each device"},
    {0},
};

const command cmd_devices = {
    .name = "devices",
    .operands = "",
    .summary = "Show the devices of this machine: cores, instruction sets, caches, memory, heat and power.",
    .details =
        "'isa' is the best instruction set in use, 'features' what is used besides it. Instruction "
        "sets among them, "
        "such as avxvnni, can be taken away (TERN_CPU=-avxvnni); one-stream, four-pipes and whole-512 tell "
        "how "
        "a processor "
        "likes its loops: one run of memory at a time, pipes for logic beside those that multiply, and "
        "512 bits in one operation "
        "(docs/cli.md).",
    .options = options,
    .examples = "tern devices\n"
                "tern devices --json",
    .run = run,
};

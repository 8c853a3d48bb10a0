/* device.c - contexts on the device that the command line names. */
#include "device.h"

#include <string.h>

#include <tern/log.h>

#include "commands.h"
#include "progress.h"
#include "term.h"

/* The CPU does what another device was meant to do: that is said even where nothing else is. */
static void say(void *user, tern_log_level level, const char *message)
{
    (void)user;
    (void)level;
    progress_line("");
    warn("%s", message);
}

bool device_find(const char *name, tern_device_info *out)
{
    for (int i = 0; tern_catalog_device(i, out) == TERN_OK; i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* Where there is a bar, a line says how far building is. */
static void show_building(void *user, const char *device, int step, int steps, bool kept)
{
    (void)user;
    text line = {0};
    text_addf(&line, "building kernels for %s: step %d of %d%s", device, step, steps,
              kept ? " (kept for the next time)" : "");
    progress_line(text_string(&line));
    text_free(&line);
}

int device_open(const args *a, const tern_ctx_options *options, tern_ctx **out)
{
    tern_ctx_options o = *options;
    o.cpu = args_value(a, "cpu");
    o.device = args_value(a, "device");
    o.fallback = args_has(a, "fallback");
    o.dump_kernels = args_value(a, "dump-kernels");
    o.check = args_has(a, "check-device");
    o.background = args_has(a, "background");
    if (o.background && tern_thread_background() != TERN_OK)
        warn("%s", tern_last_error());
    if (!args_int(a, "threads", 1, 1024, 0, &o.threads) || !args_bytes(a, "device-memory", &o.device_memory))
        return EXIT_USAGE;
    /* The CPU, which is the first device of all, has neither; asking for nothing is not what was meant. */
    if ((!o.device || strcmp(o.device, "cpu") == 0) && (o.dump_kernels || o.device_memory))
        return fail_usage("%s: the CPU has %s: name another device with --device",
                          o.dump_kernels ? "--dump-kernels" : "--device-memory",
                          o.dump_kernels ? "no kernels that are generated" : "no memory of its own");
    if (o.fallback || (o.device && strcmp(o.device, "auto") == 0))
        tern_log_set(TERN_LOG_WARN, say, NULL);
    const tern_status status = tern_ctx_create(&o, out);
    if (status == TERN_OK)
        tern_ctx_set_building(*out, show_building, NULL);
    if (status == TERN_NOT_FOUND && (o.cpu || o.device))
        return fail_usage("%s%s", tern_last_error(), o.cpu ? "" : "; `tern devices` tells more");
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* device.c - contexts on the device that the command line names. */
#include "device.h"

#include <string.h>
#include <unistd.h>

#include <tern/log.h>

#include "commands.h"
#include "progress.h"
#include "term.h"

/* The CPU does what another device was meant to do: that is said even where nothing else is. */
static void say(void *user, tern_log_level level, const char *message)
{
    (void)user;
    (void)level;
    warn("%s", message);
}

static bool says; /* --fallback or auto: what goes wrong on the device is a remark, and no failure */

/* The first program of a device takes a minute or more where its kernels have to be built: a line says how far that is, where there is a
 * bar. What else devices remark is for those who debug them. */
static void hear(void *user, tern_log_level level, const char *message)
{
    static const char building[] = "opencl: building kernels: ";
    (void)user;
    text line = {0};
    if (level == TERN_LOG_INFO && strncmp(message, building, strlen(building)) == 0) {
        text_addf(&line, "building kernels for opencl: %s", message + strlen(building));
        progress_line(text_string(&line));
    } else if (level < TERN_LOG_INFO) {
        progress_line("");
        if (says)
            say(NULL, level, message);
        else
            term_log(level, message);
    }
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
    says = o.fallback || (o.device && strcmp(o.device, "auto") == 0);
    if (says)
        tern_log_set(TERN_LOG_WARN, say, NULL);
    if (o.device && strcmp(o.device, "cpu") != 0 && isatty(STDERR_FILENO) == 1)
        tern_log_set(TERN_LOG_INFO, hear, NULL);
    const char *why;
    const tern_status status = tern_ctx_create(&o, out);
    if (status == TERN_NOT_FOUND && o.cpu && (why = strstr(tern_last_error(), "cpu levels: ")) != NULL)
        return fail_usage("--cpu: %s", why + strlen("cpu levels: "));
    if (status == TERN_NOT_FOUND && (o.cpu || o.device))
        return fail_usage("%s%s", tern_last_error(), o.cpu ? "" : "; `tern devices` tells more");
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

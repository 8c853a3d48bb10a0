/* options_env.c - options that the environment may give (documented in <tern/context.h>). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "runtime/context.h"

const char *tern__env_cpu(void)
{
    return getenv("TERN_CPU");
}

/* What devices ask for by name: a variable that is not listed says nothing. All are in docs/cli.md. */
static const char *const devices_own[] = {"POCL_CACHE_DIR", "TERN_MLX_COMPILE"};

const char *tern__env_setting(const char *name)
{
    for (size_t i = 0; i < sizeof devices_own / sizeof *devices_own; i++)
        if (strcmp(name, devices_own[i]) == 0)
            return getenv(name);
    return NULL;
}

const char *tern__env_user_cache(char *buffer, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (cache && cache[0] == '/') /* the specification says to ignore others */
        length = snprintf(buffer, size, "%s", cache);
    else if (home && home[0] == '/')
        length = snprintf(buffer, size, "%s/.cache", home);
    return length > 0 && (size_t)length < size ? buffer : NULL;
}

/* `name` in that folder; NULL: there is none. */
static const char *in_cache(const char *name, char *buffer, size_t size)
{
    if (!tern__env_user_cache(buffer, size))
        return NULL;
    const size_t length = strlen(buffer);
    const int more = snprintf(buffer + length, size - length, "/%s", name);
    return more > 0 && (size_t)more < size - length ? buffer : NULL;
}

const char *tern__env_tuning(char *buffer, size_t size)
{
    const char *path = getenv("TERN_TUNING"), *usual = path ? path : in_cache("tern/tuning.db", buffer, size);
    return usual ? usual : "";
}

/* The value of variable `name` as a switch. 1: on, -1: off, 0: it says nothing, or what nobody knows, which is logged. */
static int read_switch(const char *name, const char *value)
{
    static const char *const on[] = {"1", "on", "yes", "true"}, *const off[] = {"0", "off", "no", "false"};
    if (!value || !value[0])
        return 0;
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        if (strcmp(value, on[i]) == 0)
            return 1;
        if (strcmp(value, off[i]) == 0)
            return -1;
    }
    tern__log(TERN_LOG_WARN, "%s is '%.40s', which is neither on nor off: it is ignored", name, value);
    return 0;
}

bool tern__env_check(void)
{
    return read_switch("TERN_CHECK", getenv("TERN_CHECK")) > 0;
}

int tern__env_switched(const char *name)
{
    return read_switch(name, tern__env_setting(name));
}

const char *tern__env_kernels(char *buffer, size_t size)
{
    const char *path = getenv("TERN_KERNELS"), *usual = path ? path : in_cache("tern/kernels", buffer, size);
    return usual && usual[0] && strcmp(usual, "off") != 0 ? usual : NULL;
}

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

/* `name` in the user's cache folder; NULL: there is none. */
static const char *in_cache(const char *name, char *buffer, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (cache && cache[0] == '/') /* the specification says to ignore others */
        length = snprintf(buffer, size, "%s/%s", cache, name);
    else if (home && home[0] == '/')
        length = snprintf(buffer, size, "%s/.cache/%s", home, name);
    return length > 0 && (size_t)length < size ? buffer : NULL;
}

const char *tern__env_tuning(char *buffer, size_t size)
{
    const char *path = getenv("TERN_TUNING"), *usual = path ? path : in_cache("tern/tuning.db", buffer, size);
    return usual ? usual : "";
}

/* 1: on, -1: off, 0: it says nothing, or what nobody knows, which is logged. */
static int read_switch(const char *name)
{
    static const char *const on[] = {"1", "on", "yes", "true"}, *const off[] = {"0", "off", "no", "false"};
    const char *value = getenv(name);
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
    return read_switch("TERN_CHECK") > 0;
}

int tern__env_mlx_compile(void)
{
    return read_switch("TERN_MLX_COMPILE");
}

const char *tern__env_kernels(char *buffer, size_t size)
{
    const char *path = getenv("TERN_KERNELS"), *usual = path ? path : in_cache("tern/kernels", buffer, size);
    return usual && usual[0] && strcmp(usual, "off") != 0 ? usual : NULL;
}

const char *tern__env_driver_files(char *buffer, size_t size)
{
    const char *path = getenv("POCL_CACHE_DIR"), *usual = path ? path : in_cache("pocl/kcache", buffer, size);
    return usual ? usual : "/tmp";
}

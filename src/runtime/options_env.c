/* options_env.c - options that the environment may give (documented in <tern/context.h>). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool tern__env_check(void)
{
    const char *value = getenv("TERN_CHECK");
    return value && value[0] && strcmp(value, "0") != 0 && strcmp(value, "off") != 0;
}

int tern__env_mlx_compile(void)
{
    const char *value = getenv("TERN_MLX_COMPILE");
    return !value || !value[0] ? 0 : strcmp(value, "on") == 0 ? 1 : -1;
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

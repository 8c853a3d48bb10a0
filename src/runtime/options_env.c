/* options_env.c - options that the environment may give (documented in <tern/context.h>). */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/context.h"

const char *tern__env_cpu(void)
{
    return getenv("TERN_CPU");
}

const char *tern__env_tuning(char *buffer, size_t size)
{
    const char *path = getenv("TERN_TUNING"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (path)
        return path;
    if (cache && cache[0] == '/') /* the specification says to ignore others */
        length = snprintf(buffer, size, "%s/tern/tuning.db", cache);
    else if (home && home[0] == '/')
        length = snprintf(buffer, size, "%s/.cache/tern/tuning.db", home);
    return length > 0 && (size_t)length < size ? buffer : "";
}

/* options_env.c - options that the environment may give (documented in <tern/context.h>). */
#include <stdlib.h>

#include "runtime/context.h"

const char *tern__env_cpu(void)
{
    return getenv("TERN_CPU");
}

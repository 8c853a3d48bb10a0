/* names.c - see names.h. */
#include "base/names.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

const char *tern__name_of(const char *const *names, size_t n, int number)
{
    return number >= 0 && (size_t)number < n && names[number] ? names[number] : "unknown";
}

tern_status tern__name_find(const char *const *names, size_t n, const char *what, const char *name,
                            int *number)
{
    char all[512] = "";
    TERN__FAIL_IF(!name || !number, TERN_INVALID_ARGUMENT, "%s: an argument is NULL", what);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            *number = (int)i;
            return TERN_OK;
        }
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", names[i]);
    }
    return tern__fail(TERN_NOT_FOUND, "%s: there is no '%.64s'; there are %s", what, name, all);
}

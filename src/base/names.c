/* names.c - see names.h. */
#include "base/names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"

const char *tern__name_of(const char *const *names, size_t n, int number)
{
    return number >= 0 && (size_t)number < n && names[number] ? names[number] : "unknown";
}

tern_status tern__name_find_in(const tern__name_list *list, const char *name, int *number)
{
    char all[TERN__MESSAGE_MAX - 160] = "", *last_comma = NULL; /* the rest of the message has room too */
    size_t used = 0;
    TERN__FAIL_IF(!name || !number, TERN_INVALID_ARGUMENT, "%s: an argument is NULL", list->what);
    for (int i = 0;; i++) {
        bool untold = false;
        const char *next = list->at(list->user, i, &untold);
        if (!next)
            break;
        if ((list->any_case ? strcasecmp : strcmp)(next, name) == 0) {
            *number = i;
            return TERN_OK;
        }
        if (untold || used + strlen(next) + sizeof " and " > sizeof all)
            continue;
        if (used > 0)
            last_comma = all + used;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? ", " : "", next);
    }
    const int before = last_comma ? (int)(last_comma - all) : (int)used;
    return tern__fail(TERN_NOT_FOUND, "%s: there is no '%.64s'; there are %.*s%s%s", list->what, name, before,
                      all, last_comma ? " and " : "", last_comma ? last_comma + strlen(", ") : "");
}

typedef struct name_array {
    const char *const *names;
    size_t n;
} name_array;

static const char *at_array(void *user, int i, bool *untold)
{
    const name_array *array = user;
    (void)untold;
    return (size_t)i < array->n ? array->names[i] : NULL;
}

tern_status tern__name_find(const char *const *names, size_t n, const char *what, const char *name,
                            int *number)
{
    name_array array = {names, n};
    return tern__name_find_in(&(tern__name_list){.what = what, .at = at_array, .user = &array}, name, number);
}

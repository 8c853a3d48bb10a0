/* names.h - names of enumerations: an array of them, made from the list that makes the enumeration, says and finds them.
 *
 *     static const char *const names[] = {
 *     #define NAME(id, number, name, meaning) [number] = name,
 *         TERN_VERDICT_LIST(NAME)
 *     #undef NAME
 *     };
 *     return tern__name_of(names, TERN__COUNT(names), (int)verdict); */
#ifndef TERN_BASE_NAMES_H
#define TERN_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/status.h>

/* "unknown" for numbers that have none. Static, if the names are. */
const char *tern__name_of(const char *const *names, size_t n, int number);

/* The number of the name. TERN_NOT_FOUND: "profile formats: there is no 'pdf'; there are collapsed, speedscope and svg". `what` is
 * several of them; TERN_INVALID_ARGUMENT for NULL. */
tern_status tern__name_find(const char *const *names, size_t n, const char *what, const char *name,
                            int *number);

/* Names that are no array. */
typedef struct tern__name_list {
    const char *what; /* as above */
    /* Name `i`, valid until the next call; NULL past the last. `*untold` (false before): it can be found, but the message is
     * better without it. */
    const char *(*at)(void *user, int i, bool *untold);
    void *user;
    bool any_case; /* "AVX2" finds "avx2" */
} tern__name_list;

/* The same of a list; `number` is the place in it. */
tern_status tern__name_find_in(const tern__name_list *list, const char *name, int *number);

#endif

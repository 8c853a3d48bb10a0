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

#include <stddef.h>

#include <tern/status.h>

/* "unknown" for numbers that have none. Static, if the names are. */
const char *tern__name_of(const char *const *names, size_t n, int number);

/* The number of the name. TERN_NOT_FOUND: "profile formats: there is no 'pdf'; there are collapsed, speedscope and svg". `what` is
 * several of them; TERN_INVALID_ARGUMENT for NULL. */
tern_status tern__name_find(const char *const *names, size_t n, const char *what, const char *name,
                            int *number);

#endif

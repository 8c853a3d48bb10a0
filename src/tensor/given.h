/* given.h - memory of somebody else's that holds what was asked for, to be kept instead of a copy. C and C++. */
#ifndef TERN_TENSOR_GIVEN_H
#define TERN_TENSOR_GIVEN_H

#include <stddef.h>

typedef struct tern__given {
    void *host;                                         /* NULL: nothing was given */
    void (*drop)(void *user, void *host, size_t bytes); /* when nobody needs it any more; any thread */
    void *user;
} tern__given;

#endif

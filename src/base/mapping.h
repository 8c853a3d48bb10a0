/* mapping.h - files in memory, read-only, and what happens if they shrink meanwhile. */
#ifndef TERN_BASE_MAPPING_H
#define TERN_BASE_MAPPING_H

#include <stdbool.h>

#include "base/file.h"

/* Zeroed: none. */
typedef struct tern__mapping {
    const char *data; /* (bytes) */
    size_t bytes;
    bool lent; /* the file was in memory already */
    int guard; /* its place among those that are watched, counted from 1; 0: it is not */
} tern__mapping;

/* Maps all of the file; nothing is read before it is looked at. One that is in memory is used where it is. With `guarded`, pages that the file has lost read as zeros instead
 * of ending the process: the first such mapping takes the process's SIGBUS handler, and faults that are not of such
 * mappings go on to the one that was there. TERN_LIMIT if too many are watched. */
tern_status tern__mapping_begin(const tern__file *file, bool guarded, tern__mapping *out);
void tern__mapping_end(tern__mapping *mapping); /* zeroes it; does nothing to a zeroed one */

/* Was a lost page looked at? */
bool tern__mapping_is_damaged(const tern__mapping *mapping);

#endif

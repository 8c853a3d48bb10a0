/* json_walk.h - the members of a large JSON object, one at a time: libjansson reads each value, and none but the current
 * one is in memory, so that a header of a hundred megabytes does not become a tree of a gigabyte. */
#ifndef TERN_MODEL_FILE_JSON_WALK_H
#define TERN_MODEL_FILE_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/status.h>

struct json_t;

typedef struct tern__json_walk {
    const char *path; /* of the file; starts messages */
    const char *text;
    size_t length, at;
    bool first; /* no member of the object has been read */
} tern__json_walk;

/* Steps into the object that stands here. */
tern_status tern__json_enter(tern__json_walk *w);

/* The key of the next member, for the caller to json_decref; `*key` NULL: the object has ended. Its value stands here then: read
 * it, or step into it. */
tern_status tern__json_next(tern__json_walk *w, struct json_t **key);

/* The value that stands here, whole; for the caller to json_decref. Duplicate keys inside are an error. */
tern_status tern__json_value(tern__json_walk *w, struct json_t **out);

/* Nothing but blanks follow. */
tern_status tern__json_end(tern__json_walk *w);

#endif

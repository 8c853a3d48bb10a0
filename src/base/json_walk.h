/* json_walk.h - the members of a large JSON object or array, one at a time: libjansson reads each value, and none but the current
 * one is in memory, so that a header of a hundred megabytes does not become a tree of a gigabyte. */
#ifndef TERN_BASE_JSON_WALK_H
#define TERN_BASE_JSON_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/status.h>

struct json_t;

/* Bytes of a value that is read whole: as a tree it may need twenty times as many. */
enum { TERN__JSON_MOST = 1 << 20 };

typedef struct tern__json_walk {
    const char *path; /* of the file; starts messages */
    const char *text;
    size_t length, at;
    bool first; /* no member of the object or array has been read */
} tern__json_walk;

/* Steps into the array that stands here. */
tern_status tern__json_enter_array(tern__json_walk *w);

/* Calls `take` for each member of the object that stands here. Its value stands here then, and `take` reads it, steps into it or skips
 * it. What `take` returns other than TERN_OK ends the walk. */
typedef tern_status (*tern__json_member_fn)(void *user, tern__json_walk *w, const struct json_t *key);
tern_status tern__json_members(tern__json_walk *w, tern__json_member_fn take, void *user);

/* The same where every value is read whole. */
typedef tern_status (*tern__json_value_fn)(void *user, const struct json_t *key, const struct json_t *value);
tern_status tern__json_values(tern__json_walk *w, tern__json_value_fn take, void *user);

/* `*more`: the next element of the array stands here, to be read or stepped into; else the array has ended. */
tern_status tern__json_next_element(tern__json_walk *w, bool *more);

/* The value that stands here, whole; for the caller to json_decref. Duplicate keys inside are an error. TERN_LIMIT if it is
 * longer than TERN__JSON_MOST. */
tern_status tern__json_value(tern__json_walk *w, struct json_t **out);
/* Past the value that stands here, of any length, without looking at it. */
void tern__json_skip(tern__json_walk *w);

/* jansson's messages quote the file, line ends and all: blanks instead. */
void tern__json_one_line(char *text);

/* Nothing but blanks follow. */
tern_status tern__json_end(tern__json_walk *w);

#endif

/* json.h - writes JSON into text: nesting, commas, escapes and numbers are its business. */
#ifndef TERN_CLI_JSON_H
#define TERN_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

enum { JSON_DEPTH = 16 };

/* Start with json j = {0}. Every value takes a key inside an object, NULL inside an array and at the top. */
typedef struct json {
    text out;
    char closing[JSON_DEPTH]; /* of the objects and arrays that are open */
    int depth;
    bool has_members; /* the innermost one has */
} json;

void json_object(json *j, const char *key);
void json_array(json *j, const char *key);
void json_end(json *j); /* of the innermost object or array */

/* Bytes that are not UTF-8 become U+FFFD. `value` NULL: null. */
void json_string(json *j, const char *key, const char *value);
/* With zeros in it, and one behind it. */
void json_string_n(json *j, const char *key, const char *value, size_t length);
void json_int(json *j, const char *key, int64_t value);
void json_uint(json *j, const char *key, uint64_t value);
void json_double(json *j, const char *key, double value); /* what JSON cannot say (NaN, infinity): null */
void json_bool(json *j, const char *key, bool value);
void json_null(json *j, const char *key);
void json_ints(json *j, const char *key, int n, const int64_t *values); /* on one line */

/* To stdout, with a line end; frees it. Everything must be closed. */
void json_print(json *j);

#endif

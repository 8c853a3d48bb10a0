/* json_members.h - members of JSON objects, for all who write documents here. */
#ifndef TERN_MEASURE_JSON_MEMBERS_H
#define TERN_MEASURE_JSON_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Where a document has its own line breaks: `before` is what stands before the key: "{", ", ", ",\n  " or the like. */
void tern__member_text(tern__strbuf *to, const char *before, const char *key, const char *value);
void tern__member_real(tern__strbuf *to, const char *before, const char *key, double value);

/* All on one line: `first` says whether a comma is due. */

/* "key": and what comes before it. */
void tern__member_key(tern__strbuf *to, const char *key, bool *first);
void tern__member_uint(tern__strbuf *to, const char *key, uint64_t value, bool *first);
void tern__member_int(tern__strbuf *to, const char *key, int64_t value, bool *first);
void tern__member_number(tern__strbuf *to, const char *key, double value, bool *first); /* NaN: null */
void tern__member_bool(tern__strbuf *to, const char *key, bool value, bool *first);
void tern__member_string(tern__strbuf *to, const char *key, const char *value, bool *first); /* NULL: null */

/* "format": "tern-profile", "version": 1: by which readers know what it is. */
void tern__member_format(tern__strbuf *to, const char *format, int version, bool *first);

#endif

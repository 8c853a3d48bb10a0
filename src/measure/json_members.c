/* json_members.c - see json_members.h. */
#include "measure/json_members.h"

#include <inttypes.h>

#include "base/json_text.h"

static void add_key(tern__strbuf *to, const char *before, const char *key)
{
    tern__strbuf_addf(to, "%s\"%s\": ", before, key);
}

void tern__member_text(tern__strbuf *to, const char *before, const char *key, const char *value)
{
    add_key(to, before, key);
    tern__json_add_text(to, value);
}

void tern__member_real(tern__strbuf *to, const char *before, const char *key, double value)
{
    add_key(to, before, key);
    tern__json_add_real(to, value);
}

void tern__member_key(tern__strbuf *to, const char *key, bool *first)
{
    add_key(to, *first ? "" : ", ", key);
    *first = false;
}

void tern__member_uint(tern__strbuf *to, const char *key, uint64_t value, bool *first)
{
    tern__member_key(to, key, first);
    tern__strbuf_addf(to, "%" PRIu64, value);
}

void tern__member_int(tern__strbuf *to, const char *key, int64_t value, bool *first)
{
    tern__member_key(to, key, first);
    tern__strbuf_addf(to, "%" PRId64, value);
}

void tern__member_number(tern__strbuf *to, const char *key, double value, bool *first)
{
    tern__member_key(to, key, first);
    tern__json_add_real(to, value);
}

void tern__member_bool(tern__strbuf *to, const char *key, bool value, bool *first)
{
    tern__member_key(to, key, first);
    tern__strbuf_add(to, value ? "true" : "false");
}

void tern__member_string(tern__strbuf *to, const char *key, const char *value, bool *first)
{
    tern__member_key(to, key, first);
    if (value)
        tern__json_add_text(to, value);
    else
        tern__strbuf_add(to, "null");
}

void tern__member_format(tern__strbuf *to, const char *format, int version, bool *first)
{
    tern__member_string(to, "format", format, first);
    tern__member_int(to, "version", version, first);
}

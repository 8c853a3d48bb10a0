/* json_walk.c - see json_walk.h. */
#include "base/json_walk.h"

#if TERN_HAVE_JANSSON

#include <jansson.h>
#include <string.h>

#include "base/status.h"

static void skip_blanks(tern__json_walk *w)
{
    while (w->at < w->length && memchr(" \t\r\n", w->text[w->at], 4))
        w->at++;
}

static tern_status expect(tern__json_walk *w, char wanted)
{
    skip_blanks(w);
    TERN__FAIL_IF(w->at >= w->length || w->text[w->at] != wanted, TERN_FORMAT,
                  "%s: JSON: '%c' expected at byte %zu", w->path, wanted, w->at);
    w->at++;
    return TERN_OK;
}

static tern_status enter(tern__json_walk *w)
{
    w->first = true;
    return expect(w, '{');
}

tern_status tern__json_enter_array(tern__json_walk *w)
{
    w->first = true;
    return expect(w, '[');
}

/* Bytes of the string that stands here, up to the end of the text at most. */
static size_t string_extent(const char *text, size_t length)
{
    size_t i = 1;
    while (i < length && text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
    return i < length ? i + 1 : length;
}

/* Bytes of the value that stands here if it is well-formed. Brackets are counted, whatever their kind. */
static size_t extent(const tern__json_walk *w)
{
    const char *text = w->text + w->at;
    size_t length = w->length - w->at, depth = 0, i = 0;
    while (i < length) {
        bool ends = strchr(",:]} \t\r\n", text[i]) != NULL;
        if (depth == 0 && ends)
            break;
        depth += text[i] == '[' || text[i] == '{';
        depth -= text[i] == ']' || text[i] == '}';
        i += text[i] == '"' ? string_extent(text + i, length - i) : 1;
        if (depth == 0 && (ends || text[i - 1] == '"'))
            break;
    }
    return i;
}

void tern__json_one_line(char *text)
{
    for (; *text; text++)
        *text = (unsigned char)*text < ' ' ? ' ' : *text;
}

tern_status tern__json_value(tern__json_walk *w, json_t **out)
{
    json_error_t error;
    skip_blanks(w);
    TERN__FAIL_IF(extent(w) > TERN__JSON_MOST, TERN_LIMIT,
                  "%s: JSON: a value of %zu bytes at byte %zu, where at most %d make sense", w->path,
                  extent(w), w->at, TERN__JSON_MOST);
    json_t *value = json_loadb(w->text + w->at, w->length - w->at,
                               JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
    if (!value) {
        tern__json_one_line(error.text);
        size_t at = w->at + (error.position > 0 ? (size_t)error.position : 0);
        return tern__fail(json_error_code(&error) == json_error_out_of_memory ? TERN_OUT_OF_MEMORY
                                                                              : TERN_FORMAT,
                          "%s: JSON: %s (near byte %zu)", w->path, error.text, at);
    }
    w->at += (size_t)error.position;
    *out = value;
    return TERN_OK;
}

void tern__json_skip(tern__json_walk *w)
{
    skip_blanks(w);
    w->at += extent(w);
}

/* The key of the next member, for the caller to json_decref; `*key` NULL: the object has ended. */
static tern_status next_key(tern__json_walk *w, json_t **key)
{
    skip_blanks(w);
    if (w->at < w->length && w->text[w->at] == '}') {
        w->at++;
        w->first = false; /* it was a member of what is around it */
        *key = NULL;
        return TERN_OK;
    }
    if (!w->first)
        TERN_TRY(expect(w, ','));
    w->first = false;
    json_t *name;
    TERN_TRY(tern__json_value(w, &name));
    tern_status status = json_is_string(name)
                             ? expect(w, ':')
                             : tern__fail(TERN_FORMAT, "%s: JSON: a key is not a string", w->path);
    if (status != TERN_OK) {
        json_decref(name);
        return status;
    }
    *key = name;
    return TERN_OK;
}

tern_status tern__json_members(tern__json_walk *w, tern__json_member_fn take, void *user)
{
    TERN_TRY(enter(w));
    for (;;) {
        json_t *key;
        TERN_TRY(next_key(w, &key));
        if (!key)
            return TERN_OK;
        tern_status status = take(user, w, key);
        json_decref(key);
        TERN_TRY(status);
    }
}

typedef struct value_taker {
    tern__json_value_fn take;
    void *user;
} value_taker;

static tern_status take_value(void *user, tern__json_walk *w, const json_t *key)
{
    const value_taker *t = user;
    json_t *value;
    TERN_TRY(tern__json_value(w, &value));
    tern_status status = t->take(t->user, key, value);
    json_decref(value);
    return status;
}

tern_status tern__json_values(tern__json_walk *w, tern__json_value_fn take, void *user)
{
    return tern__json_members(w, take_value, &(value_taker){take, user});
}

tern_status tern__json_next_element(tern__json_walk *w, bool *more)
{
    skip_blanks(w);
    *more = w->at >= w->length || w->text[w->at] != ']';
    if (*more && !w->first)
        TERN_TRY(expect(w, ','));
    w->at += !*more;
    w->first = false;
    return TERN_OK;
}

tern_status tern__json_end(tern__json_walk *w)
{
    skip_blanks(w);
    TERN__FAIL_IF(w->at < w->length, TERN_FORMAT, "%s: JSON: something follows the object, at byte %zu",
                  w->path, w->at);
    return TERN_OK;
}

#endif

/* chat_file.c - chat templates in the files that stand beside a tokenizer.json: chat_template.jinja, or a member of
 * tokenizer_config.json. Read for recognising them, never run. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "base/json_walk.h"
#include "model/tokenizer/tokenizer.h"

#if TERN_HAVE_JANSSON
#include <jansson.h>

/* A text, or a list of templates of which one is called "default". */
static const char *template_in(const json_t *value)
{
    const json_t *entry;
    size_t i;
    const char *found = json_string_value(value);
    json_array_foreach((json_t *)value, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (!found || (name && strcmp(name, "default") == 0))
            found = json_string_value(json_object_get(entry, "template"));
    }
    return found;
}

static tern_status copy_template(const json_t *value, char **out)
{
    const char *found = template_in(value);
    if (!found || *out)
        return TERN_OK;
    size_t bytes = strlen(found) + 1;
    *out = tern__alloc(bytes);
    if (!*out)
        return tern__out_of_memory(bytes);
    memcpy(*out, found, bytes);
    return TERN_OK;
}

static tern_status take_template(void *user, tern__json_walk *w, const json_t *key)
{
    json_t *value;
    if (strcmp(json_string_value(key), "chat_template") != 0) {
        tern__json_skip(w);
        return TERN_OK;
    }
    TERN_TRY(tern__json_value(w, &value));
    tern_status status = copy_template(value, user);
    json_decref(value);
    return status;
}

static tern_status parse_config(const char *text, size_t length, char **out)
{
    tern__json_walk w = {.path = "tokenizer_config.json", .text = text, .length = length};
    tern_status status = tern__json_members(&w, take_template, out);
    if (status == TERN_OK)
        status = tern__json_end(&w);
    if (status == TERN_OK || status == TERN_OUT_OF_MEMORY)
        return status;
    tern__free(*out); /* a configuration that is no JSON has no template */
    *out = NULL;
    return TERN_OK;
}

#else

static tern_status parse_config(const char *text, size_t length, char **out)
{
    (void)text, (void)length, (void)out;
    return TERN_OK;
}

#endif

tern_status tern__chat_template_beside(const char *path, char **out)
{
    static const char *const names[] = {"chat_template.jinja", "tokenizer_config.json"};
    *out = NULL;
    for (size_t i = 0; i < TERN__COUNT(names) && !*out; i++) {
        char *beside = tern__path_beside(path, names[i]), *text = NULL;
        size_t length = 0;
        tern_status status = beside ? tern__file_read_all(beside, TERN__MOST_TOKENIZER, &text, &length)
                                    : tern__out_of_memory(strlen(path));
        tern__free(beside);
        if (status == TERN_OK && i == 0) {
            *out = text;
            continue;
        }
        if (status == TERN_OK)
            status = parse_config(text, length, out);
        tern__free(text);
        if (status == TERN_OUT_OF_MEMORY)
            return status;
    }
    return TERN_OK;
}

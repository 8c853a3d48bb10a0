/* chat_file.c - chat templates in the files that stand beside a tokenizer.json: chat_template.jinja, or a member of
 * tokenizer_config.json. Read for recognising them, never run. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

#if TERN_HAVE_JANSSON
#include <jansson.h>

enum { MOST_BYTES = 16 << 20 };

/* A text, or a list of templates of which one is called "default". */
static const char *template_in(const json_t *config)
{
    const json_t *value = json_object_get(config, "chat_template"), *entry;
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

static tern_status parse_config(const char *text, size_t length, char **out)
{
    json_t *config = length <= MOST_BYTES ? json_loadb(text, length, 0, NULL) : NULL;
    const char *found = template_in(config);
    tern_status status = TERN_OK;
    if (found) {
        size_t bytes = strlen(found) + 1;
        *out = tern__alloc(bytes);
        if (*out)
            memcpy(*out, found, bytes);
        else
            status = tern__out_of_memory(bytes);
    }
    json_decref(config);
    return status; /* a configuration that is no JSON has no template */
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
    const char *slash = strrchr(path, '/');
    *out = NULL;
    for (size_t i = 0; i < TERN__COUNT(names) && !*out; i++) {
        tern__strbuf beside = TERN__STRBUF_EMPTY;
        char *text = NULL;
        size_t length = 0;
        tern__strbuf_add_n(&beside, path, slash ? (size_t)(slash - path) + 1 : 0);
        tern__strbuf_add(&beside, names[i]);
        tern_status status = beside.failed ? tern__out_of_memory(beside.length)
                                           : tern__tokenizer_read_all(beside.text, &text, &length);
        tern__strbuf_free(&beside);
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

/* model_source.c - opens the file that -m names, or the built-in model. */
#include "model_source.h"

#include <stdio.h>
#include <unistd.h>

#include "builtin.h"
#include "source.h"
#include "term.h"

static bool announced = true;

bool model_is_there(const args *a)
{
    return args_value(a, "model") || builtin_name();
}

/* In dim letters, if stderr is a terminal as well. */
static void announce(const tern_model_file *file)
{
    char bytes[NUMBER_TEXT];
    const bool styled = isatty(STDERR_FILENO) == 1;
    fflush(stdout);
    fprintf(stderr, "%sbuilt-in model: %s, %s; -m FILE for another%s\n", styled ? on(STYLE_DIM) : "",
            builtin_name(), format_bytes(bytes, tern_model_file_bytes(file)), styled ? off(STYLE_DIM) : "");
}

void model_set_announced(bool yes)
{
    announced = yes;
}

int model_open(const args *a, const tern_model_file_options *options, model_source *out)
{
    const char *path = args_value(a, "model");
    if (!path && !builtin_name())
        return fail_usage("no model is built in: give one with -m FILE");
    *out = (model_source){.name = path, .built_in = !path};
    if ((path ? tern_model_file_open(path, options, &out->file) : builtin_open(&out->file)) != TERN_OK)
        return model_fail(out);
    if (!path) {
        out->name = tern_model_file_part(out->file, 0);
        if (announced)
            announce(out->file);
    }
    return EXIT_DONE;
}

void model_close(model_source *m)
{
    tern_model_file_close(m->file);
    *m = (model_source){0};
}

int model_fail(const model_source *m)
{
    return m->built_in ? fail_status(NULL) : fail_model(m->name, NULL);
}

tern_status model_tokenizer(const model_source *m, const model_words *words, tern_tokenizer **out, text *why)
{
    const tern_tokenizer_options cutting = {.pre = words->pre};
    tern_status status = words->own ? tern_tokenizer_load(words->own, &cutting, out)
                                    : tern_tokenizer_from_file(m->file, &cutting, out);
    if (status == TERN_NOT_FOUND && !words->own)
        text_addf(why, "%s with --tokenizer FILE", last_words());
    else if (status != TERN_OK)
        text_add(why, last_words());
    if (status != TERN_OK)
        return status;
    status = tern_tokenizer_check(*out, m->file);
    if (status != TERN_OK) {
        text_add(why, last_words());
        tern_tokenizer_free(*out);
        *out = NULL;
    }
    return status;
}

bool model_type(const args *a, const char *name, tern_stored *out)
{
    const char *value = args_value(a, name);
    if (value && tern_stored_parse(value, out) != TERN_OK) {
        fail_usage("--%s: %s", name, tern_last_error());
        return false;
    }
    return true;
}

bool model_output(const char *path, const char *endings)
{
    char ending[32];
    for (int i = 0; list_word(endings, i, ending, sizeof ending); i++)
        if (text_ends_in(path, ending))
            return true;
    text all = {0};
    list_add(&all, endings);
    fail_usage("'%s': the name of the new file ends in %s", path, text_string(&all));
    text_free(&all);
    return false;
}

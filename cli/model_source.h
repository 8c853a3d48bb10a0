/* model_source.h - the model that a command works on: the file that -m names, else the one that is built in. The one place
 * that decides. */
#ifndef TERN_CLI_MODEL_SOURCE_H
#define TERN_CLI_MODEL_SOURCE_H

#include <tern/model_file.h>
#include <tern/tokenizer.h>

#include "args.h"
#include "text.h"

#define MODEL_HELP_OF(which) "the model: GGUF, safetensors (file, index or folder), llama2.c" which
#define MODEL_HELP MODEL_HELP_OF(" (default: the built-in one)")

/* Positions that commands keep room for unless they wish otherwise, and what keys and values are kept as. */
#define MODEL_CONTEXT 4096
#define MODEL_CACHE TERN_F16
#define MODEL_CACHE_NAME "f16" /* its name, for texts of --help */

/* {0} is none. */
typedef struct model_source {
    tern_model_file *file; /* open */
    const char *name;      /* for messages: the path, or "built-in shakespeare" */
    bool built_in;
} model_source;

/* Does the command line name a model, or is there one without? */
bool model_is_there(const args *a);

/* From now on, does it say that it is the built-in one? For commands that run others. */
void model_set_announced(bool yes);

/* Opens it; that it is the built-in one is said on stderr, in a line. EXIT_DONE, or the exit code, and what was wrong was said.
 * `options` NULL = defaults. */
int model_open(const args *a, const tern_model_file_options *options, model_source *out);
void model_close(model_source *m);

/* After tern_last_error() on the model: says it, and what the file is instead if that can be told. EXIT_FAILED. */
int model_fail(const model_source *m);

/* Where the tokenizer comes from, and how it cuts; {0}: the model's own. */
typedef struct model_words {
    const char *own; /* the file that --tokenizer names, or NULL */
    const char *pre; /* --pre, or NULL */
} model_words;

/* The tokenizer that a model is run with, for tern_tokenizer_free. It may know fewer tokens than the model, not more. Else `why` says
 * what is wrong; TERN_NOT_FOUND if the model has none and none was named. */
tern_status model_tokenizer(const model_source *m, const model_words *words, tern_tokenizer **out, text *why);

/* How weights are stored, such as i2_s; `out` is left as it is if the option was not given. False: it is no such type, and that was
 * said. */
bool model_type(const args *a, const char *name, tern_stored *out);

/* Does a name end in one of the words of a list? Else that was said: what is written is told by the name, and no file of another kind
 * is overwritten by mistake. */
bool model_output(const char *path, const char *endings);

#endif

/* inspect.h - the part of `tern inspect` that tells of model files. */
#ifndef TERN_CLI_INSPECT_H
#define TERN_CLI_INSPECT_H

#include <stdbool.h>

#include <tern/model_file.h>

/* Prints what is in an open file. */
int inspect_model(const char *path, const tern_model_file *file, bool as_json);

#endif

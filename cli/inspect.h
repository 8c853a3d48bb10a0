/* inspect.h - the part of `tern inspect` that tells of model files. */
#ifndef TERN_CLI_INSPECT_H
#define TERN_CLI_INSPECT_H

#include <stdbool.h>

#include "model_source.h"

/* Prints what is in an open file. */
int inspect_model(const model_source *source, bool as_json);

#endif

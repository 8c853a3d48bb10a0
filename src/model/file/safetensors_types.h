/* safetensors_types.h - how safetensors call types. */
#ifndef TERN_MODEL_FILE_SAFETENSORS_TYPES_H
#define TERN_MODEL_FILE_SAFETENSORS_TYPES_H

#include <stdbool.h>

#include <tern/model_file.h>

bool tern__safetensors_type_parse(const char *name, tern_stored *out);
const char *tern__safetensors_type_name(tern_stored stored); /* NULL: they have none */

#endif

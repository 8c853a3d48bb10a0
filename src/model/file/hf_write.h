/* hf_write.h - the files that stand beside safetensors: config.json, tokenizer.json, tokenizer_config.json. */
#ifndef TERN_MODEL_FILE_HF_WRITE_H
#define TERN_MODEL_FILE_HF_WRITE_H

#include "model/file/model_file.h"

/* Writes them into the folder of `path` for a model from `file`; `packed`: linear layers are codes with a weight_scale that
 * multiplies. A file that is there already and says something else is not overwritten: TERN_STATE. */
tern_status tern__hf_write_beside(const tern_model_file *file, const char *path, bool packed);

/* Can an architecture be described so? TERN_UNSUPPORTED. */
tern_status tern__hf_check_architecture(const tern_model_file *file, const char **architecture);

#endif

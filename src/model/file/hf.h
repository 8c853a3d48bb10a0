/* hf.h - what Hugging Face's folders add to safetensors: names of tensors, config.json. */
#ifndef TERN_MODEL_FILE_HF_H
#define TERN_MODEL_FILE_HF_H

#include "model/arch/architecture.h"
#include "model/file/model_file.h"

/* GGUF's name of a tensor, in the file's arena; `stored_name` itself if it has none. */
tern_status tern__hf_name(tern_model_file *file, const char *stored_name, const char **out);

/* The other way: what Hugging Face calls a tensor of an architecture, whose norms have other names in each family of BitNets;
 * `name` itself if it has none. `out` has room for TERN__MOST_NAME and 16 bytes. */
void tern__hf_name_of(const char *name, const tern__architecture *a, char *out);

/* Metadata from config.json beside the first part, if there is one. */
tern_status tern__hf_config(tern_model_file *file);

/* Once names can be looked up: tensors of bytes that have a weight_scale beside them are HF_T2. */
tern_status tern__hf_find_packed(tern_model_file *file);

#endif

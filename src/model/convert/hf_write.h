/* hf_write.h - the files that stand beside safetensors: config.json, tokenizer.json, tokenizer_config.json. */
#ifndef TERN_MODEL_CONVERT_HF_WRITE_H
#define TERN_MODEL_CONVERT_HF_WRITE_H

#include <tern/model_convert.h>
#include <tern/tokenizer.h>

#include "base/strbuf.h"
#include "model/file/model_file.h"

typedef struct tern__beside_file {
    char *path;
    tern_convert_part part;
    tern__strbuf text;
    bool there;   /* already, with the same text */
    bool written; /* by us */
} tern__beside_file;

/* Zeroed = none. */
typedef struct tern__beside {
    tern__beside_file files[5];
    size_t n;
} tern__beside;

/* What stands in the folder of `path` beside a model from `file`. `mode` is the quantization_mode of its linear layers: "offline"
 * is codes with a weight_scale that multiplies, or numbers that are ternary, "online" master weights; NULL: they have none. `tokenizer`: the one it gets; NULL: its own. A file that is there
 * already and says something else will not be overwritten: TERN_STATE. Nothing is written yet. */
tern_status tern__hf_beside_make(const tern_model_file *file, const tern_tokenizer *tokenizer,
                                 const char *path, const char *mode, tern__beside *all);
/* Takes `text`, which is empty afterwards, as another one called `name`. */
tern_status tern__hf_beside_add(tern__beside *all, const char *path, const char *name, tern_convert_part part,
                                tern__strbuf *text);
tern_status tern__hf_beside_write(tern__beside *all);
/* `keep` false: what was written goes again. */
void tern__hf_beside_free(tern__beside *all, bool keep);

#endif

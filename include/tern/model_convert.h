/* model_convert.h - writing model files: random ones of any shape, and those of others in other types.
 *
 * A file appears whole or not at all: everything goes to a temporary file beside it, which takes its place at the end. */
#ifndef TERN_MODEL_CONVERT_H
#define TERN_MODEL_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/model.h>
#include <tern/model_file.h>
#include <tern/status.h>
#include <tern/tokenizer.h>

/* ---- random models ------------------------------------------------------------------------------------------------- */

typedef struct tern_model_shape {
    const char *name;         /* "bitnet-2b-4t" */
    const char *architecture; /* one of tern_model_architecture_name */
    int64_t layers, width, feed_forward, heads, kv_heads, vocabulary, context;
    double rope_base;
} tern_model_shape;

/* Zeroed fields are the defaults. */
typedef struct tern_synth_options {
    tern_stored type;      /* of the weights of linear layers; TERN_STORED_AS_IS: I2_S                      */
    tern_stored embedding; /* of the table of tokens; TERN_STORED_AS_IS: F16                                */
    tern_stored head;      /* of the output layer; TERN_STORED_AS_IS: there is none, the table serves      */
    uint64_t seed;
    /* or NULL; told bytes that are written. Stopped by it no file appears, as in conversions */
    tern_model_progress progress;
    void *user;
} tern_synth_options;

/* ---- conversion ---------------------------------------------------------------------------------------------------- */

/* What became of one tensor. */
typedef struct tern_convert_report {
    const char *name;
    tern_stored from, to;
    bool lossless;  /* every value is what it was; of ternary weights this was read back from the new file */
    double sqnr_db; /* 10 log10 of the energy of the values by that of the errors; infinite without errors  */
    double cosine;  /* of the angle between the values before and after                                   */
    /* master weights became the ternary ones that loading them makes: the model is the same */
    bool as_loaded;
} tern_convert_report;

/* What a file of the new model is for. */
typedef enum tern_convert_part {
    TERN_CONVERT_TENSORS, /* the model itself, or one of its parts */
    TERN_CONVERT_INDEX,   /* of a model in parts, which is opened by this one */
    TERN_CONVERT_BESIDE,  /* config.json and the tokenizer's files */
} tern_convert_part;

typedef struct tern_convert_file {
    const char *path;
    uint64_t bytes;
    tern_convert_part part;
} tern_convert_file;

/* Zeroed fields are the defaults. */
typedef struct tern_convert_options {
    tern_stored type;      /* of the weights of linear layers; TERN_STORED_AS_IS: as they are             */
    tern_stored embedding; /* of the table of tokens and the output layer; TERN_STORED_AS_IS: as they are */
    /* most bytes of tensors in a file of safetensors: several and an index; 0: one file */
    uint64_t shard_bytes;
    /* ternarise weights of a model that was not trained for it, or write ternary layers as numbers */
    bool force;
    tern_model_progress progress; /* or NULL; told bytes that are looked at, written or read back */
    void (*report)(void *user, const tern_convert_report *tensor); /* or NULL; once for each, at the end */
    /* or NULL; once for each file of the new model, at the end, in the order in which it is written; also for what stood beside it already
     * with the same bytes */
    void (*wrote)(void *user, const tern_convert_file *file);
    void *user;
    const tern_tokenizer *tokenizer; /* that the new file gets; NULL: the model's own, if it has one */
} tern_convert_options;

#ifdef __cplusplus
extern "C" {
#endif

/* Known shapes, TERN_OUT_OF_RANGE past the last, and by name. Strings are static. */
TERN_API tern_status tern_model_shape_get(int i, tern_model_shape *out);
TERN_API tern_status tern_model_shape_find(const char *name, tern_model_shape *out);

TERN_API tern_synth_options tern_synth_options_default(void); /* I2_S, F16, no head, seed 0 */

/* Writes a GGUF file of random weights: linear layers of the BitNets are ternary whatever type they are stored in, others
 * uniform, scaled so that activations keep their size. The same seed gives the same file. TERN_SHAPE, TERN_DTYPE. */
TERN_API tern_status tern_model_synth(const char *path, const tern_model_shape *shape,
                                      const tern_synth_options *options);

TERN_API tern_convert_options tern_convert_options_default(void); /* everything as it is */

/* Endings of names that tern_model_convert knows, the usual one first: ".gguf"; NULL past the last. */
TERN_API const char *tern_convert_ending(int i);

/* Writes a model as GGUF; as safetensors if `path` ends in .safetensors, with config.json and the tokenizer's files beside it (which
 * are not overwritten: TERN_STATE if others are there); as llama2.c has it, f32 and without a tokenizer, if it ends in .bin
 * (TERN_UNSUPPORTED for what is no LLaMA with the settings that this format means). Ternary codes go through unchanged, and are read back and compared before the file appears. A scale
 * that the type cannot hold exactly becomes a tensor of its own, `x.scale` beside `x.weight`. TERN_DTYPE for weights that
 * are not ternary and not said to be a ternary model's, TERN_UNSUPPORTED for ternary weights as numbers in safetensors, unless
 * forced; TERN_INVALID_ARGUMENT for a tokenizer where the new file has no place for it. */
TERN_API tern_status tern_model_convert(tern_ctx *ctx, const tern_model_file *file, const char *path,
                                        const tern_convert_options *options);

#ifdef __cplusplus
}
#endif
#endif

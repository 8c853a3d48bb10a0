/* model_convert.h - writing model files: random ones of any shape.
 *
 * A file appears whole or not at all: everything goes to a temporary file beside it, which takes its place at the end. */
#ifndef TERN_MODEL_CONVERT_H
#define TERN_MODEL_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/context.h>
#include <tern/export.h>
#include <tern/model_file.h>
#include <tern/status.h>

/* Called as bytes of the new file are written or read back, `done` of `total`; false stops the work: TERN_STATE, no file. */
typedef bool (*tern_model_progress)(void *user, uint64_t done, uint64_t total);

/* ---- random models ------------------------------------------------------------------------------------------------- */

typedef struct tern_model_shape {
    const char *name;         /* "bitnet-2b-4t" */
    const char *architecture; /* "bitnet-b1.58", "bitnet" or "llama" */
    int64_t layers, width, feed_forward, heads, kv_heads, vocabulary, context;
    double rope_base;
} tern_model_shape;

typedef struct tern_synth_options {
    tern_stored type;      /* of the weights of linear layers                                             */
    tern_stored embedding; /* of the table of tokens                                                      */
    tern_stored head;      /* of the output layer; TERN_STORED_COUNT: there is none, the table serves      */
    uint64_t seed;
    tern_model_progress progress; /* or NULL */
    void *user;
} tern_synth_options;

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

#ifdef __cplusplus
}
#endif
#endif

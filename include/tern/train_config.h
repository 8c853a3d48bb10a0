/* train_config.h - all that decides a training run, as one JSON text: what `tern train --config FILE` reads.
 *
 *     tern_train_config config;
 *     TERN_TRY(tern_train_config_parse(text, length, "config.json", &config));
 *     TERN_TRY(tern_trainer_create(ctx, &config.options, &trainer));
 *
 * A key that is not there has its default; one that is unknown, of another kind or out of its range is an error that names it. The keys
 * are rows of one table (src/train/config.def), which also prints them.
 *
 * Threading: any thread. */
#ifndef TERN_TRAIN_CONFIG_H
#define TERN_TRAIN_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/model_file.h>
#include <tern/status.h>
#include <tern/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, number, name, meaning). */
#define TERN_TRAIN_TOKENS_LIST(X)                                     \
    X(BYTES, 0, "bytes", "each byte is a token, and one ends a text") \
    X(BPE, 1, "bpe", "pairs that are frequent in the data become tokens")

typedef enum tern_train_tokens {
#define TERN_TRAIN_TOKENS_ENUM(id, number, name, meaning) TERN_TRAIN_TOKENS_##id = number,
    TERN_TRAIN_TOKENS_LIST(TERN_TRAIN_TOKENS_ENUM)
#undef TERN_TRAIN_TOKENS_ENUM
} tern_train_tokens;

/* Tokens of these, unless the config says how many. */
enum { TERN_TRAIN_BYTE_TOKENS = 257, TERN_TRAIN_BPE_TOKENS = 4096 };

enum { TERN_TRAIN_TEXT = 256 };

typedef struct tern_train_config {
    tern_train_options options;     /* but for the vocabulary's size, which the tokenizer decides */
    tern_schedule_options schedule; /* with the number of steps */
    tern_train_tokens tokens;
    int64_t vocabulary;         /* that the tokenizer is to have; 0: as many as its kind has */
    double validation_share;    /* part of the data at its end that is not learnt */
    int64_t validation_batches; /* of it, looked at meanwhile; the rest at the end */
    /* steps between these; 0: validation and checkpoints only at the end (a checkpoint also when stopped), samples never */
    int64_t every_validation, every_checkpoint, every_sample;
    int64_t sample_tokens;
    double sample_temperature;
    char sample_prompt[TERN_TRAIN_TEXT];
    /* of the model that is written, as in tern_train_export_options */
    tern_stored export_type, export_embedding;
    char export_name[TERN_TRAIN_TEXT]; /* "": unnamed */
} tern_train_config;

/* How far a run has come: what goes into a checkpoint beside its states. */
typedef struct tern_train_progress {
    int64_t step;      /* made so far */
    double loss;       /* of training, smoothed; 0 before the first step */
    int64_t best_step; /* after which validation had its least loss; -1: there was none */
    double best_loss;
    double seconds; /* of training, all runs together */
    uint64_t data;  /* a hash of all tokens */
} tern_train_progress;

TERN_API tern_train_config tern_train_config_default(void);

/* `name` starts messages. TERN_FORMAT for what is no JSON, TERN_INVALID_ARGUMENT for what a key cannot be, TERN_NOT_FOUND for keys that
 * there are not, TERN_UNAVAILABLE in a build without jansson. */
TERN_API tern_status tern_train_config_parse(const char *text, size_t length, const char *name,
                                             tern_train_config *out);
/* The same for a config that has values: keys that are not there keep them. It stays as it is on failure. */
TERN_API tern_status tern_train_config_update(const char *text, size_t length, const char *name,
                                              tern_train_config *config);
/* All keys with their values. Free `*text` with tern_string_free. */
TERN_API tern_status tern_train_config_print(const tern_train_config *config, char **text);

/* The same with a member "progress", for the note of a checkpoint. */
TERN_API tern_status tern_train_note_parse(const char *text, size_t length, const char *name,
                                           tern_train_config *config, tern_train_progress *progress);
TERN_API tern_status tern_train_note_print(const tern_train_config *config,
                                           const tern_train_progress *progress, char **text);

typedef struct tern_train_key {
    const char *name;            /* "model.layers" */
    const char *meaning;         /* in a few words */
    char range[TERN_TRAIN_TEXT]; /* "a whole number from 1 to 1024" */
    char usual[TERN_TRAIN_TEXT]; /* its default, in JSON */
} tern_train_key;

/* The keys in their order. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_train_config_key(int i, tern_train_key *out);

#ifdef __cplusplus
}
#endif

#endif

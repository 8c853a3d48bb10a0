/* engine.h - a model ready to generate, from the options that commands on models share. */
#ifndef TERN_CLI_ENGINE_H
#define TERN_CLI_ENGINE_H

#include <tern/conditions.h>
#include <tern/generate.h>
#include <tern/model.h>
#include <tern/tokenizer.h>

#include "args.h"
#include "device.h"
#include "model_source.h"

struct metrics_file; /* metrics_file.h */

typedef struct engine {
    tern_ctx *ctx;
    model_source source; /* open as long as the engine */
    tern_model *model;
    tern_tokenizer *tokenizer;
    tern_session *session;
    tern_governor *governor; /* --ease; or NULL */
    bool builds_kernels;     /* it may have others than the CPU compute, who build kernels first */
} engine;

/* What a command wants otherwise than others: {0} is usual. */
typedef struct engine_wishes {
    int context; /* positions unless -c says how many; 0 = MODEL_CONTEXT */
    int slots;   /* sequences; 0 = 1 */
} engine_wishes;

/* Rows for a command's table of options; engine_open and engine_sampling read them. `context` is that of the command's wishes. */
/* clang-format off */
#define ENGINE_OPTIONS(context) ENGINE_OPTIONS_OF(MODEL_HELP, context)
#define ENGINE_OPTIONS_OF(model, context)                                                                      \
    {"model", 'm', "FILE", NULL, model},                                                                   \
    {"tokenizer", 0, "FILE", NULL, "tokenizer.json, or llama2.c's tokenizer, for models without one"},         \
    {"pre", 0, "NAME", LIST_PRETOKENIZERS, "how the tokenizer cuts text, instead of what the model says"}, \
    {"ctx-size", 'c', "N", NULL, "positions to keep room for; 0 for all (default: " ENGINE_TEXT(context) ", or what the model has)"},         \
    {"threads", 't', "N", NULL, "threads (default: as many as this process may use); fewer can be faster while other work keeps cores busy"}, \
    BATCH_OPTIONS, \
    HEAD_OPTION("convert the head, and say how often the likeliest token stays the same, which takes as long as 10,000 tokens of prompt"), \
    {"ease", 0, NULL, NULL, "fewer threads and smaller batches while the machine is hot, throttled or on battery; the text stays the same"}, \
    DEVICE_OPTIONS, \
    CPU_OPTION
/* Of them, what other commands on models have too. */
#define BATCH_OPTIONS \
    {"batch-size", 'b', "N", NULL, "most tokens of a prompt computed at once (default: " ENGINE_TEXT(TERN_SESSION_BATCH) ")"}, \
    {"cache-type", 0, "TYPE", "f32 f16 i8", "keys and values are kept as (default: " MODEL_CACHE_NAME ")"}
#define HEAD_OPTION(help) {"head", 0, "TYPE", HEAD_LIST(HEAD_WORD), help}
#define CPU_OPTION {"cpu", 0, "LEVEL", NULL, "highest instruction set to use, such as avx2 or avx2,-avxvnni"}
/* X(word, type) */
#define HEAD_LIST(X) X("q8", TERN_Q8_0) X("q6", TERN_Q6_K) X("q4", TERN_Q4_0) X("f16", TERN_F16) X("bf16", TERN_BF16) X("f32", TERN_F32)
#define HEAD_WORD(word, type) word " "
#define ENGINE_TEXT(number) ENGINE_TEXT_OF(number)
#define ENGINE_TEXT_OF(number) #number
#define NO_ESCAPE_OPTION {"no-escape", 0, NULL, NULL, "\\n, \\t, \\\\ and the like in texts of the command line stay as they are"}
/* engine_generate reads these two, and SAMPLING_OPTIONS. */
#define N_PREDICT_OPTION(help) {"n-predict", 'n', "N", NULL, help " (default)"}
#define IGNORE_END_OPTION {"ignore-eos", 0, NULL, NULL, "go on where the model would end its answer"}
#define SAMPLING_OPTIONS                                                                                       \
    {"temp", 0, "X", NULL, "temperature; 0 or less always takes the likeliest token (default: " ENGINE_TEXT(TERN_SAMPLING_TEMPERATURE) ")"},                  \
    {"top-k", 0, "N", NULL, "keep the N likeliest tokens; 0 or less keeps all (default: " ENGINE_TEXT(TERN_SAMPLING_TOP_K) ")"},                         \
    {"top-p", 0, "X", NULL, "keep the likeliest tokens that sum to X; 1 keeps all, 0 one (default: " ENGINE_TEXT(TERN_SAMPLING_TOP_P) ")"},                        \
    {"min-p", 0, "X", NULL, "drop tokens less likely than X times the likeliest (default: " ENGINE_TEXT(TERN_SAMPLING_MIN_P) ")"},             \
    {"repeat-penalty", 0, "X", NULL, "make recent tokens less likely; 1 is off (default: " ENGINE_TEXT(TERN_SAMPLING_REPEAT_PENALTY) ")"},                 \
    {"repeat-last-n", 0, "N", NULL, "how many tokens count as recent; -1: all (default: " ENGINE_TEXT(TERN_SAMPLING_REPEAT_LAST) ")"},                          \
    {"seed", 's', "N", NULL, "the same seed gives the same text; -1 takes another every time (default)"}
/* clang-format on */

/* What BATCH_OPTIONS say of keys and values and of rows at once, or what is usual. False: a value is no number that it may be, and that was
 * said. */
bool engine_batch(const args *a, tern_dtype *cache, int64_t *batch);

/* What --head asks for; 0: nothing. */
tern_dtype engine_head(const args *a);

/* Opens a model, its tokenizer and a session; weights are not read yet, so that what is wrong with the rest is known at once. Then
 * engine_prepare reads them, and shows progress on a terminal. EXIT_DONE, or the exit code, and what was wrong was said. */
int engine_open(const args *a, engine_wishes wishes, engine *e);
int engine_prepare(const args *a, engine *e, struct metrics_file *metrics); /* or NULL */
/* From now on Ctrl-C also stops what runs, and kernels that are built for a device; or no longer. What the CPU alone runs is left as it
 * is: that is over soon, and would be cut into pieces. */
void engine_heeds_stops(const engine *e, bool heeds);
void engine_close(engine *e);

/* The tokens of a text that goes on, for tern_tokens_free: without the one that some files ask for behind a whole text, which would close
 * it, so that the answer were empty. `special`: control tokens are found in the text. */
tern_status engine_encode(const engine *e, const char *words, size_t length, bool special, int32_t **tokens,
                          size_t *n);

/* False: a value is no number that it may be, and that was said. */
bool engine_sampling(const args *a, tern_sampling *out);
/* Defaults, and what the options say instead. */
bool engine_generate(const args *a, tern_generate_options *out);

#endif

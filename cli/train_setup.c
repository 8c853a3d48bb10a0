/* train_setup.c - `tern train` up to its first step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/model_file.h>

#include "progress.h"
#include "source.h"
#include "term.h"
#include "train.h"

/* Ctrl-C before the first step: train_close leaves nothing behind. */
static int unless_stopped(void)
{
    return progress_stopped_by() == 0 ? EXIT_DONE
                                      : fail("stopped before the first step: nothing was written");
}

/* ---- the command that goes on -------------------------------------------------------------------------------------- */

void train_add_word(text *t, const char *word)
{
    text_add(t, " ");
    text_add_word(t, word);
}

/* File i of the data: those of --data, then what stands behind the options; NULL past the last. */
static const char *data_file(const args *a, int i)
{
    int given = 0;
    while (args_nth(a, "data", given))
        given++;
    return i < given ? args_nth(a, "data", i) : args_operand(a, i - given);
}

void train_add_resume(text *t, const train_run *r)
{
    text_addf(t, "%s train", term_program());
    for (int i = 0; data_file(r->a, i); i++) {
        text_add(t, " --data");
        train_add_word(t, data_file(r->a, i));
    }
    if (args_value(r->a, "from")) {
        text_add(t, " --from");
        train_add_word(t, args_value(r->a, "from"));
    }
    text_add(t, " -o");
    train_add_word(t, r->dir);
    text_add(t, " --resume");
    /* sums round otherwise with other instruction sets; threads change no bit */
    if (args_value(r->a, "cpu")) {
        text_add(t, " --cpu");
        train_add_word(t, args_value(r->a, "cpu"));
    }
}

/* ---- the config ---------------------------------------------------------------------------------------------------- */

/* What a config changes. A model that is trained further has its own context, and needs smaller steps than random weights. */
static int start_config(train_run *r, const tern_model_file *from)
{
    enum { GENTLER = 10 };
    tern_train_config *c = &r->config;
    *c = tern_train_config_default();
    if (!from)
        return EXIT_DONE;
    if (tern_train_shape_of(from, &c->options.shape) != TERN_OK)
        return fail_status(NULL);
    c->schedule.rate /= GENTLER;
    c->schedule.least /= GENTLER;
    return EXIT_DONE;
}

static int read_config(train_run *r)
{
    text content = {0};
    const char *path = args_value(r->a, "config");
    if (!read_text(path, &content))
        return EXIT_FAILED;
    const tern_status status =
        tern_train_config_update(text_string(&content), content.length, source_name(path), &r->config);
    text_free(&content);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* Beside --from: does the config name a tokenizer? No value that it could have is there before it is read. */
static int read_config_beside_model(train_run *r)
{
    tern_train_config *c = &r->config;
    const tern_train_config usual = *c;
    c->tokens = (tern_train_tokens)-1;
    c->vocabulary = -1;
    const int code = read_config(r);
    r->names_tokenizer = (int)c->tokens != -1 || c->vocabulary != -1;
    c->tokens = (int)c->tokens == -1 ? usual.tokens : c->tokens;
    c->vocabulary = c->vocabulary == -1 ? usual.vocabulary : c->vocabulary;
    return code;
}

/* What the run that is resumed was like. */
static int read_note(train_run *r)
{
    char *note;
    text path = train_path(r, "checkpoint.safetensors");
    tern_status status = tern_checkpoint_note(text_string(&path), &note);
    if (status == TERN_OK) {
        status = tern_train_note_parse(note, strlen(note), text_string(&path), &r->config, &r->progress);
        tern_string_free(note);
        r->resumed = r->config;
    }
    text_free(&path);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static int take_config(train_run *r, const tern_model_file *from)
{
    const bool resume = args_has(r->a, "resume");
    int steps, until;
    double minutes = 0;
    r->progress = (tern_train_progress){.best_step = -1};
    if (!args_int(r->a, "steps", 1, TERN_TRAIN_MOST_STEPS, 0, &steps) ||
        !args_int(r->a, "until", 1, TERN_TRAIN_MOST_STEPS, 0, &until) ||
        !args_positive(r->a, "minutes", &minutes))
        return EXIT_USAGE;
    int code = resume ? read_note(r) : start_config(r, from);
    if (code == EXIT_DONE && args_value(r->a, "config"))
        code = from && !resume ? read_config_beside_model(r) : read_config(r);
    if (code == EXIT_DONE && resume && r->config.validation_share != r->resumed.validation_share)
        code = fail("validation.share is %g, but %g in the checkpoint in %s: a run keeps what it learns and "
                    "what it validates with",
                    r->config.validation_share, r->resumed.validation_share, r->dir);
    if (steps > 0)
        r->config.schedule.steps = steps;
    if (code == EXIT_DONE && !r->quiet && r->config.schedule.kind != TERN_SCHEDULE_CONSTANT &&
        r->config.schedule.least > r->config.schedule.rate)
        warn("schedule.least (%g) is above schedule.rate (%g): the rate will grow behind the warm-up",
             r->config.schedule.least, r->config.schedule.rate);
    r->most_ns = minutes < 1e8 ? (uint64_t)(minutes * 60e9) : UINT64_MAX; /* 190 years are for ever */
    r->last_step = until;
    return code;
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

/* All files, one behind the other, and where each ends: ends[0..n). */
static int read_data(train_run *r, text *all, size_t **ends, int *n)
{
    for (*n = 0; data_file(r->a, *n); ++*n) {
        const size_t before = all->length;
        *ends = grab_more(*ends, (size_t)*n + 1, sizeof **ends);
        if (!read_text(data_file(r->a, *n), all))
            return EXIT_FAILED;
        if (all->length == before)
            return fail("%s: it is empty", source_name(data_file(r->a, *n)));
        (*ends)[*n] = all->length;
    }
    r->text_bytes = all->length;
    return *n > 0 ? EXIT_DONE : fail_usage("what is to be learnt is given with --data FILE");
}

/* Tokens that the tokenizer is to have. */
static int64_t tokens_wanted(const tern_train_config *c)
{
    const bool bytes = c->tokens == TERN_TRAIN_TOKENS_BYTES;
    return c->vocabulary > 0 ? c->vocabulary : bytes ? TERN_TRAIN_BYTE_TOKENS : TERN_TRAIN_BPE_TOKENS;
}

/* That of the model that is trained further. A config may say what it is, but not another one. */
static int take_tokenizer(train_run *r, const tern_model_file *from)
{
    tern_tokenizer_info info;
    if (tern_tokenizer_from_file(from, NULL, &r->tokenizer) != TERN_OK ||
        tern_tokenizer_get_info(r->tokenizer, &info) != TERN_OK ||
        tern_tokenizer_check(r->tokenizer, from) != TERN_OK)
        return fail_status(NULL);
    const int64_t wanted = tokens_wanted(&r->config);
    return !r->names_tokenizer || wanted == info.n_tokens
               ? EXIT_DONE
               : fail("tokenizer.kind and tokenizer.vocabulary ask for %lld tokens, but %s has %lld: a model "
                      "that is trained further keeps its tokenizer",
                      (long long)wanted, args_value(r->a, "from"), (long long)info.n_tokens);
}

/* Of the model that is trained further, or made for the data. */
static int make_tokenizer(train_run *r, const tern_model_file *from, const text *all)
{
    if (from)
        return take_tokenizer(r, from);
    tern_tokenizer_train_options o = tern_tokenizer_train_options_default();
    o.vocabulary = tokens_wanted(&r->config);
    o.progress = progress_update;
    progress_begin_of("learning a tokenizer", "tokens");
    const tern_status status = tern_tokenizer_train(text_string(all), all->length, &o, &r->tokenizer);
    progress_end();
    if (status == TERN_CANCELLED)
        return unless_stopped();
    return status == TERN_OK ? EXIT_DONE : fail_status("tokenizer");
}

typedef struct token_list {
    int32_t *ids;
    size_t n;
} token_list;

/* Each file by itself, and the token that ends a text between them. */
static tern_status encode(const train_run *r, const text *all, const size_t *ends, int n, token_list *out)
{
    const tern_encode_options plain = {.no_special = true};
    tern_tokenizer_info info;
    TERN_TRY(tern_tokenizer_get_info(r->tokenizer, &info));
    for (int i = 0; i < n; i++) {
        const size_t start = i ? ends[i - 1] : 0;
        int32_t *ids;
        size_t count;
        TERN_TRY(
            tern_tokenizer_encode(r->tokenizer, all->data + start, ends[i] - start, &plain, &ids, &count));
        out->ids = grab_more(out->ids, out->n + count + 1, sizeof *ids);
        memcpy(out->ids + out->n, ids, count * sizeof *ids);
        out->n += count;
        tern_tokens_free(ids);
        if (i + 1 < n && info.eos != TERN_NO_TOKEN)
            out->ids[out->n++] = info.eos;
    }
    return TERN_OK;
}

/* Tells other data, or another tokenizer, from those that a checkpoint was made with. FNV-1a; JSON has 63 bits. */
static uint64_t hash_of(const token_list *tokens)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < tokens->n; i++)
        h = (h ^ (uint32_t)tokens->ids[i]) * 0x100000001b3u;
    return h >> 2;
}

/* Is there text enough for a step, and for a validation? */
static int check_amounts(const train_run *r)
{
    const tern_train_options *o = &r->config.options;
    const int64_t training = tern_corpus_training(r->corpus), validation = tern_corpus_validation(r->corpus);
    if (training < o->shape.context + 1)
        return fail("%lld tokens are left to learn from, less than one sequence of model.context (%lld) and "
                    "one more: give more data, or a --config FILE with a smaller one",
                    (long long)training, (long long)o->shape.context);
    if (r->config.validation_share > 0 && validation < o->shape.context + 1)
        return fail(
            "%lld tokens are left for validation, less than one sequence of model.context (%lld) and one "
            "more: give more data, or a --config FILE with a larger validation.share or a smaller "
            "model.context, or one without validation: {\"validation\": {\"share\": 0}}",
            (long long)validation, (long long)o->shape.context);
    return EXIT_DONE;
}

static int make_corpus(train_run *r, const text *all, const size_t *ends, int n)
{
    token_list tokens = {0};
    int code = EXIT_DONE;
    if (encode(r, all, ends, n, &tokens) != TERN_OK ||
        tern_corpus_create(tokens.ids, (int64_t)tokens.n, r->config.validation_share, &r->corpus) != TERN_OK)
        code = fail_status("data");
    const uint64_t hash = hash_of(&tokens);
    r->tokens = tokens.n;
    free(tokens.ids);
    if (code == EXIT_DONE && r->progress.step > 0 && r->progress.data != hash)
        code = fail("the data, or how they become tokens, are not those of the checkpoint in %s: give the "
                    "same files in the same order",
                    r->dir);
    r->progress.data = hash;
    return code == EXIT_DONE ? check_amounts(r) : code;
}

static int open_data(train_run *r, const tern_model_file *from)
{
    text all = {0};
    size_t *ends = NULL;
    int n = 0;
    int code = read_data(r, &all, &ends, &n);
    if (code == EXIT_DONE)
        code = unless_stopped();
    if (code == EXIT_DONE)
        code = make_tokenizer(r, from, &all);
    if (code == EXIT_DONE)
        code = make_corpus(r, &all, ends, n);
    if (code == EXIT_DONE)
        code = unless_stopped();
    text_free(&all);
    free(ends);
    return code;
}

/* ---- the trainer --------------------------------------------------------------------------------------------------- */

/* A config may say what a model is, but not make another one of it: much of it no tensor's shape shows, so that weights would go on as
 * those of another. `of` names whose shape it `was`, and `why` it stays. */
static int check_shape(const tern_train_shape *is, const tern_train_shape *was, const char *of,
                       const char *why)
{
    static const char *const kinds[] = {"ternary", "float"};
    const struct {
        const char *name;
        double is, was;
    } numbers[] = {
        {"layers", (double)is->layers, (double)was->layers},
        {"width", (double)is->width, (double)was->width},
        {"feed_forward", (double)is->feed_forward, (double)was->feed_forward},
        {"heads", (double)is->heads, (double)was->heads},
        {"kv_heads", (double)is->kv_heads, (double)was->kv_heads},
        {"context", (double)is->context, (double)was->context},
        {"rope_theta", (float)is->rope_theta, (float)was->rope_theta}, /* as files of models have them */
        {"norm_eps", (float)is->norm_eps, (float)was->norm_eps},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].is != numbers[i].was)
            return fail("model.%s is %g, but %g in %s: %s", numbers[i].name, numbers[i].is, numbers[i].was,
                        of, why);
    return is->weights == was->weights ? EXIT_DONE
                                       : fail("model.weights is \"%s\", but \"%s\" in %s: %s",
                                              kinds[is->weights], kinds[was->weights], of, why);
}

/* A run keeps its model. */
static int check_resumed(const train_run *r)
{
    text of = {0};
    text_addf(&of, "the checkpoint in %s", r->dir);
    const int code = check_shape(&r->config.options.shape, &r->resumed.options.shape, text_string(&of),
                                 "a run keeps its model");
    text_free(&of);
    return code;
}

/* The shape is the file's, but for the context: how long sequences are is a matter of training. */
static int take_shape_of(train_run *r, const tern_model_file *from)
{
    const char *path = args_value(r->a, "from");
    tern_train_shape *shape = &r->config.options.shape, its;
    if (tern_train_shape_of(from, &its) != TERN_OK)
        return fail_status(NULL);
    if (its.context != shape->context && !r->quiet)
        warn("the context is %lld as the config says, not %lld as in %s: model.gguf will have that",
             (long long)shape->context, (long long)its.context, path);
    its.context = shape->context;
    const int code = check_shape(shape, &its, path, "a model that is trained further keeps its shape");
    *shape = its;
    return code;
}

static int take_shape(train_run *r, const tern_model_file *from)
{
    tern_tokenizer_info info;
    if (from)
        return take_shape_of(r, from);
    if (tern_tokenizer_get_info(r->tokenizer, &info) != TERN_OK)
        return fail_status(NULL);
    r->config.options.shape.vocabulary = info.n_tokens;
    return EXIT_DONE;
}

static int make_context(train_run *r)
{
    tern_ctx_options o = tern_ctx_options_default();
    int threads;
    if (!args_int(r->a, "threads", 1, 1024, 0, &threads))
        return EXIT_USAGE;
    o.threads = threads;
    o.cpu = args_value(r->a, "cpu");
    return tern_ctx_create(&o, &r->ctx) == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static int make_trainer(train_run *r, const tern_model_file *from)
{
    const tern_train_options *o = &r->config.options;
    int code = train_check_states(r);
    if (code != EXIT_DONE)
        return code;
    if (tern_trainer_create(r->ctx, o, &r->trainer) != TERN_OK)
        return fail_status(NULL);
    tern_trainer_get_info(r->trainer, &r->info);
    if (from && !args_has(r->a, "resume") && tern_trainer_import(r->trainer, from) != TERN_OK)
        return fail_status(NULL);
    code = train_check_plan(r);
    if (code == EXIT_DONE)
        r->batch = grab((size_t)train_batch_bytes(r), 1);
    return code;
}

/* Found now, not when the first sample is due. */
static int check_prompt(const train_run *r)
{
    const tern_encode_options plain = {.no_special = true};
    const char *prompt = r->config.sample_prompt;
    int32_t *ids;
    size_t n;
    if (r->config.every_sample == 0 || !train_can_export(r))
        return EXIT_DONE;
    if (tern_tokenizer_encode(r->tokenizer, prompt, strlen(prompt), &plain, &ids, &n) != TERN_OK)
        return fail_status("sample.prompt");
    tern_tokens_free(ids);
    return n < (size_t)r->config.options.shape.context
               ? EXIT_DONE
               : fail("sample.prompt has %zu tokens; it must be shorter than model.context (%lld)", n,
                      (long long)r->config.options.shape.context);
}

tern_status train_load(const train_run *r, const char *name)
{
    text path = train_path(r, name);
    const tern_status status = tern_trainer_load(r->trainer, text_string(&path), NULL);
    text_free(&path);
    return status;
}

static bool is_checkpoint(const char *path)
{
    char *note = NULL;
    const bool is = tern_checkpoint_note(path, &note) == TERN_OK;
    tern_string_free(note);
    return is;
}

int train_open(train_run *r)
{
    tern_model_file *from = NULL;
    const char *path = args_value(r->a, "from");
    r->log.file = -1;
    int code = train_folder_open(r);
    if (code == EXIT_DONE && path && is_checkpoint(path))
        code = fail(
            "%s is a checkpoint, not a model: --from takes the model.gguf of its run; to go on with that "
            "run, give its folder: -o DIR --resume",
            path);
    else if (code == EXIT_DONE && path && tern_model_file_open(path, NULL, &from) != TERN_OK)
        code = fail_model(path, NULL);
    if (code == EXIT_DONE)
        code = take_config(r, from);
    if (code == EXIT_DONE)
        code = open_data(r, from);
    if (code == EXIT_DONE)
        code = take_shape(r, from);
    if (code == EXIT_DONE && args_has(r->a, "resume"))
        code = check_resumed(r);
    if (code == EXIT_DONE && train_check_export(r) != TERN_OK) /* now, not after the last step */
        code = fail_status("export");
    if (code == EXIT_DONE)
        code = check_prompt(r);
    if (code == EXIT_DONE)
        code = make_context(r);
    if (code == EXIT_DONE)
        code = make_trainer(r, from);
    if (code == EXIT_DONE && args_has(r->a, "resume") && train_load(r, "checkpoint.safetensors") != TERN_OK)
        code = fail_status(NULL);
    if (code == EXIT_DONE && args_has(r->a, "resume") && !args_has(r->a, "explain"))
        code = train_judge_best(r);
    tern_model_file_close(from);
    return code == EXIT_DONE ? unless_stopped() : code;
}

void train_close(train_run *r)
{
    train_log_close(&r->log);
    tern_trainer_free(r->trainer);
    tern_corpus_free(r->corpus);
    tern_tokenizer_free(r->tokenizer);
    tern_ctx_destroy(r->ctx);
    free(r->batch);
    train_folder_close(r);
}

/* cmd_train.c - `tern train`: a decoder with ternary weights learns from texts. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/memory.h>

#include "commands.h"
#include "compile.h"
#include "json.h"
#include "progress.h"
#include "table.h"
#include "term.h"
#include "train.h"

/* ---- what there is to know beforehand ------------------------------------------------------------------------------ */

static int print_example(void)
{
    const tern_train_config config = tern_train_config_default();
    char *printed;
    if (tern_train_config_print(&config, &printed) != TERN_OK)
        return fail_status(NULL);
    term_put(printed);
    tern_string_free(printed);
    return EXIT_DONE;
}

static int print_keys(void)
{
    static const table_column columns[] = {{"key", false, false, STYLE_NAME},
                                           {"default", false, false, STYLE_NUMBER},
                                           {"may be", false, false, STYLE_NONE},
                                           {"what it is", false, false, STYLE_NONE}};
    table t = table_make(columns, 4);
    tern_train_key key;
    for (int i = 0; tern_train_config_key(i, &key) == TERN_OK; i++) {
        table_add(&t, key.name);
        table_add(&t, key.usual);
        table_add(&t, key.range);
        table_add(&t, key.meaning);
    }
    table_print(&t, 0, true);
    table_free(&t);
    return EXIT_DONE;
}

/* Program i of a step; false: there is none. */
static bool program_of_step(const train_run *r, int i, graph_run *out)
{
    const char *name;
    const tern_program *found = tern_trainer_program(r->trainer, i, &name);
    if (!found)
        return false;
    /* reports look at a program, and change nothing */
    *out = (graph_run){.path = name,
                       .ctx = r->ctx,
                       .program = (tern_program *)found,
                       .level = tern_compile_options_default().level};
    tern_program_get_info(found, &out->info);
    return true;
}

static void explain_as_json(const train_run *r, const machine_rates *rates)
{
    graph_run part;
    json j = {0};
    json_object(&j, NULL);
    json_array(&j, "programs");
    for (int i = 0; program_of_step(r, i, &part); i++)
        compile_json_add_run(&j, &part, rates, NULL);
    json_end(&j);
    json_end(&j);
    json_print(&j);
}

/* The programs of a step, each as `tern graph compile --explain` shows a graph. */
static int explain(const train_run *r)
{
    graph_run part;
    machine_rates rates;
    const int code = rates_find(r->a, r->ctx, &rates);
    if (code == EXIT_DONE && r->as_json)
        explain_as_json(r, &rates);
    for (int i = 0; code == EXIT_DONE && !r->as_json && program_of_step(r, i, &part); i++) {
        printf("%s%s%s of training%s\n\n", i ? "\n" : "", on(STYLE_BOLD), part.path, off(STYLE_BOLD));
        explain_print(&part, &rates, NULL);
    }
    return code;
}

static void print_plan(const train_run *r)
{
    static const table_column columns[] = {{"", false, false, STYLE_NONE}, {"", false, false, STYLE_NONE}};
    const tern_train_options *o = &r->config.options;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT], d[NUMBER_TEXT];
    const double passes =
        (double)r->config.schedule.steps * (double)r->info.tokens / (double)tern_corpus_training(r->corpus);
    table t = table_make(columns, 2);
    text line = {0};
    text_addf(&line, "%s parameters, %s; ", format_count(a, (uint64_t)r->info.parameters),
              train_can_export(r) ? "ternary" : "float (no model.gguf, no samples)");
    text_add_plural(&line, o->shape.layers, "layer");
    text_addf(&line, " of width %" PRId64 ", context %" PRId64 ", vocabulary %" PRId64, o->shape.width,
              o->shape.context, o->shape.vocabulary);
    table_add(&t, "model:");
    table_add(&t, text_string(&line));
    if (args_value(r->a, "from") && r->progress.step == 0) {
        const tern_schedule_options *s = &r->config.schedule;
        table_add(&t, "from:");
        table_addf(&t, "%s, at rates up to %g", args_value(r->a, "from"),
                   tern_schedule_rate(s, s->warmup < s->steps ? s->warmup : s->steps - 1));
    }
    table_add(&t, "data:");
    table_addf(&t, "%s in %s tokens: %s to learn, %s to validate", format_bytes(a, r->text_bytes),
               format_count(b, r->tokens), format_count(c, (uint64_t)tern_corpus_training(r->corpus)),
               format_count(d, (uint64_t)tern_corpus_validation(r->corpus)));
    text_clear(&line);
    text_addf(&line, "%" PRId64 " of %s tokens, which read the text %.3g times; ", r->config.schedule.steps,
              format_count(a, (uint64_t)r->info.tokens), passes);
    text_add_plural(&line, tern_ctx_threads(r->ctx), "thread");
    if (r->progress.step > 0)
        text_addf(&line, "; going on after step %" PRId64, r->progress.step);
    if (r->config.schedule.steps < r->config.schedule.warmup)
        text_addf(&line, "; fewer than schedule.warmup (%" PRId64 "), so the rate only grows, to %g",
                  r->config.schedule.warmup,
                  tern_schedule_rate(&r->config.schedule, r->config.schedule.steps - 1));
    table_add(&t, "steps:");
    table_add(&t, text_string(&line));
    text_clear(&line);
    text_addf(&line, "%s predicted: %s for weights and the optimiser, %s for what a step computes",
              format_bytes(a, r->predicted_bytes), format_bytes(b, r->info.state_bytes),
              format_bytes(c, r->info.arena_bytes));
    if (r->available_bytes != UINT64_MAX)
        text_addf(&line, "; %s are available", format_bytes(d, r->available_bytes));
    table_add(&t, "memory:");
    table_add(&t, text_string(&line));
    table_print(&t, 0, false);
    text_free(&line);
    fflush(stdout);
}

/* ---- the end ------------------------------------------------------------------------------------------------------- */

/* What the run came to. */
typedef struct outcome {
    int64_t step; /* after which the model's weights were as they are */
    double whole; /* loss on all that is not learnt; -1: nobody looked */
    double part;  /* where nobody did: on the part of it that is looked at meanwhile; -1 likewise */
    uint64_t peak_bytes;
    text model; /* its file; empty: none was written */
    text resume;
} outcome;

/* The weights that were best in validation, where there was any; without them those of the last step, and why. */
static int take_best(train_run *r, outcome *o)
{
    const int64_t best = r->progress.best_step;
    bool loaded = true;
    text why = {0};
    o->step = r->progress.step;
    if (best < 0 || best == r->progress.step)
        return EXIT_DONE;
    const int code = train_load_best(r, &loaded, &why);
    if (loaded)
        o->step = best;
    else
        warn("%s, but step %" PRId64 " was the best of this run: the weights of step %" PRId64
             " are taken instead",
             text_string(&why), best, o->step);
    text_free(&why);
    return code;
}

/* A run that was stopped tells what is known of its model: the loss of its validation, or else one that is measured now, for which
 * whoever pressed Ctrl-C does not wait. It is no part of the run, so that is neither logged nor counted as the best. */
static int judge_part(train_run *r, outcome *o)
{
    if (o->step == r->progress.best_step)
        o->part = r->progress.best_loss;
    else if (progress_stopped_by() == 0 && train_validate(r, false, &o->part) != TERN_OK)
        return fail_status("validation");
    return EXIT_DONE;
}

static int finish(train_run *r, outcome *o)
{
    const bool stopped = r->interrupted || r->timed_out;
    int code = take_best(r, o);
    if (code == EXIT_DONE && !stopped && r->config.validation_share > 0 &&
        train_validate(r, true, &o->whole) != TERN_OK)
        code = fail_status("validation");
    /* all steps are made, but what they came to is not known: whoever asks must not take the run for finished */
    r->interrupted = r->interrupted || (!stopped && r->config.validation_share > 0 && o->whole < 0);
    if (code == EXIT_DONE && o->whole < 0 && r->config.validation_share > 0)
        code = judge_part(r, o);
    if (code == EXIT_DONE && o->whole >= 0)
        code = train_log_final(r, o->whole, o->step);
    if (code == EXIT_DONE && train_can_export(r)) {
        o->model = train_path(r, "model.gguf");
        if (train_export(r, text_string(&o->model)) != TERN_OK)
            code = fail_status(NULL);
    }
    o->peak_bytes = tern_memory_process_peak();
    train_add_resume(&o->resume, r);
    return code;
}

static void print_json(const train_run *r, const outcome *o)
{
    json j = {0};
    json_object(&j, NULL);
    json_int(&j, "steps", r->progress.step);
    json_bool(&j, "finished", !r->interrupted && !r->timed_out);
    json_int(&j, "parameters", r->info.parameters);
    json_double(&j, "loss", r->progress.loss);
    if (r->progress.best_step >= 0) {
        json_object(&j, "best");
        json_int(&j, "step", r->progress.best_step);
        json_double(&j, "validation", r->progress.best_loss);
        json_end(&j);
    }
    if (o->whole >= 0)
        json_double(&j, "validation", o->whole);
    if (o->part >= 0)
        json_double(&j, "validation_of_part", o->part);
    json_double(&j, "seconds", r->progress.seconds);
    json_int(&j, "tokens_per_step", r->info.tokens);
    json_object(&j, "memory");
    json_uint(&j, "predicted_bytes", r->predicted_bytes);
    json_uint(&j, "peak_bytes", o->peak_bytes);
    json_end(&j);
    if (o->model.length > 0) {
        json_object(&j, "model");
        json_string(&j, "file", text_string(&o->model));
        json_int(&j, "step", o->step);
        json_end(&j);
    }
    json_string(&j, "resume", text_string(&o->resume));
    json_end(&j);
    json_print(&j);
}

static void print_outcome(const train_run *r, const outcome *o)
{
    char predicted[NUMBER_TEXT], peak[NUMBER_TEXT];
    if (o->whole >= 0)
        printf("validation: %.4f nats per token, on all of it, with the weights of step %" PRId64 "\n",
               o->whole, o->step);
    else if (o->part >= 0)
        printf("validation: %.4f nats per token, on a part of it (validation.batches), with the weights of "
               "step %" PRId64 "\n",
               o->part, o->step);
    else if (r->config.validation_share > 0)
        puts("validation: none was measured before the run was stopped");
    printf("memory: %s at most", o->peak_bytes ? format_bytes(peak, o->peak_bytes) : "unknown");
    printf(" (%s were predicted)\n", format_bytes(predicted, r->predicted_bytes));
    if (o->model.length == 0) {
        puts("float weights: no model.gguf");
        return;
    }
    text line = {0};
    text_add_safe(&line, text_string(&o->model));
    text_addf(&line, ": the model after step %" PRId64 "%s; %s run -m", o->step,
              o->step == r->progress.best_step ? ", the best in validation" : "", term_program());
    train_add_word(&line, text_string(&o->model));
    puts(text_string(&line));
    text_free(&line);
}

/* A run that was resumed although it had made all its steps. */
static bool was_finished(const train_run *r)
{
    return r->first_step > 0 && r->first_step >= r->config.schedule.steps;
}

static int train(train_run *r)
{
    outcome o = {.whole = -1, .part = -1};
    if (!r->quiet && !r->as_json)
        print_plan(r);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen between steps, which ends the run in order */
    int code = train_loop(r);
    if (code == EXIT_DONE)
        code = finish(r, &o);
    progress_line("");
    if (code == EXIT_DONE && r->as_json)
        print_json(r, &o);
    else if (code == EXIT_DONE)
        print_outcome(r, &o);
    if (code == EXIT_DONE && r->interrupted)
        code = fail("stopped after step %" PRId64 " of %" PRId64 "%s; go on with: %s", r->progress.step,
                    r->config.schedule.steps,
                    r->progress.step < r->config.schedule.steps ? "" : ", in the last validation",
                    text_string(&o.resume));
    else if (code == EXIT_DONE && r->timed_out && !r->as_json)
        printf("stopped after step %" PRId64 " of %" PRId64 "; go on with: %s\n", r->progress.step,
               r->config.schedule.steps, text_string(&o.resume));
    else if (code == EXIT_DONE && was_finished(r) && !r->as_json)
        printf("nothing was trained: all %" PRId64
               " steps were made before; train further with: %s --steps N\n",
               r->config.schedule.steps, text_string(&o.resume));
    text_free(&o.model);
    text_free(&o.resume);
    fflush(stdout);
    (void)train_nobody_reads();
    return code;
}

static int run(const args *a)
{
    if (args_has(a, "config-example"))
        return print_example();
    if (args_has(a, "config-keys"))
        return print_keys();
    if (!args_value(a, "output"))
        return fail_usage("where to write is given with -o DIR%s",
                          args_has(a, "data") || args_has(a, "resume")
                              ? ""
                              : ", and what is to be learnt with --data FILE");
    train_run r = {.a = a,
                   .dir = args_value(a, "output"),
                   .folder = -1,
                   .quiet = args_has(a, "quiet"),
                   .as_json = args_has(a, "json"),
                   .log.file = -1};
    progress_begin("training"); /* Ctrl-C is asked for from here on: nothing half-done stays */
    int code = train_open(&r);
    if (code == EXIT_DONE && args_has(a, "explain")) {
        code = explain(&r);
    } else if (code == EXIT_DONE) {
        code = train_log_open(&r, r.progress.step);
        if (code == EXIT_DONE)
            code = train(&r);
    }
    progress_end();
    train_close(&r);
    return code;
}

static const option options[] = {
    {"data", 0, "FILE", NULL, "a text to learn from; may be repeated, and further files may follow it"},
    {"config", 0, "FILE", NULL,
     "JSON with the model's shape, tokenizer, optimiser, schedule and so on (see --config-keys)"},
    {"output", 'o', "DIR", NULL, "the folder for checkpoints, log, loss curve and model; made if need be"},
    {"resume", 0, NULL, NULL,
     "go on from DIR/checkpoint.safetensors, bit for bit, with its config; keys of a --config beside it "
     "replace its own, but none of model and not validation.share"},
    {"from", 0, "FILE", NULL,
     "start from a model's weights, tokenizer and context, with a tenth of the usual rate; a config that "
     "names model.context or schedule.rate decides otherwise"},
    {"steps", 0, "N", NULL, "steps in all, whatever the config says"},
    {"minutes", 0, "M", NULL, "stop after so long, as Ctrl-C does; the schedule stays as it is"},
    {"until", 0, "N", NULL, "stop after step N, likewise"},
    {"threads", 't', "N", NULL,
     "threads (default: as many as this process may use); no bit depends on them; fewer can be faster while "
     "other work keeps cores busy"},
    {"cpu", 0, "LEVEL", NULL, "highest instruction set to use, such as avx2 or avx2,-avxvnni"},
    {"explain", 0, NULL, NULL,
     "show how a step was compiled, each of its programs with its plan of memory, and train nothing"},
    ESTIMATE_OPTIONS,
    {"config-example", 0, NULL, NULL, "print a complete config, which has the defaults"},
    {"config-keys", 0, NULL, NULL, "list the keys of a config: default, range, meaning"},
    {"quiet", 'q', NULL, NULL, "say nothing but the outcome"},
    {"json", 0, NULL, NULL, "print the outcome alone, as JSON; with --explain, that"},
    {0},
};

const command cmd_train = {
    .name = "train",
    .operands = "--data FILE... -o DIR",
    .most = -1,
    .summary = "Train a ternary model on texts.",
    .details = "The model is a BitNet b1.58: weights are kept as floats and rounded to -1, 0 and 1 on the "
               "way forward, "
               "as it will run. Ctrl-C finishes the step, saves, and says how to go on; a run that was "
               "resumed ends in "
               "the same bits as one that never stopped, on any number of threads. DIR gets "
               "checkpoint.safetensors and "
               "best.safetensors (all that is needed to go on, and the same of the least validation loss), "
               "log.jsonl, "
               "loss.svg, and at the end, or when stopped, model.gguf, which `tern run` loads. "
               "docs/training.md tells more.",
    .options = options,
    .examples = "tern train --data shakespeare.txt -o bard\n"
                "tern train --data shakespeare.txt --config small.json -o bard --minutes 30\n"
                "tern train --data shakespeare.txt -o bard --resume\n"
                "tern train --data letters.txt --from bard/model.gguf -o letters --steps 500",
    .run = run,
};

/* cmd_run.c - `tern run`: one prompt, one answer or several. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "clock.h"
#include "commands.h"
#include "engine.h"
#include "json.h"
#include "partitions.h"
#include "progress.h"
#include "source.h"
#include "term.h"

enum { MOST_STOPS = 16, MOST_BIASES = 256, MOST_ANSWERS = 64 };

/* What the command line asks for. */
typedef struct wishes {
    tern_generate_options generate;
    text stop_texts[MOST_STOPS];
    const char *stops[MOST_STOPS];
    tern_logit_bias bias[MOST_BIASES];
    int answers;
    bool as_json, verbose, checks, show_prompt, special;
    metrics_file *metrics;
} wishes;

/* The prompt, encoded, and how long it took to read. */
typedef struct prompt {
    text words;
    int32_t *tokens;
    size_t n;
    uint64_t start_ns, ns;
    bool prepared; /* the programs that read it are made */
} prompt;

/* ---- the command line ---- */

/* "15043-1.5" or "15043+2" or "15043-inf": a token and what is added to its logit. */
static bool take_bias(const char *value, tern_logit_bias *out)
{
    char *sign, *end;
    long token = strtol(value, &sign, 10);
    float bias = strtof(sign, &end);
    bool right = *value >= '0' && *value <= '9' && token <= INT32_MAX && (*sign == '+' || *sign == '-') &&
                 end != sign && *end == 0 && bias == bias;
    if (!right)
        fail_usage("--logit-bias: '%s' is not a token and a bias, such as 15043-1.5, 15043+2 or 15043-inf",
                   value);
    else if (bias == INFINITY)
        fail_usage(
            "--logit-bias: '%s' is no number: %ld+1000 is enough for a token to win, and %ld-inf forbids it",
            value, token, token);
    *out = (tern_logit_bias){(int32_t)token, bias};
    return right && bias < INFINITY;
}

static bool take_lists(const args *a, wishes *w)
{
    const char *value;
    for (int i = 0; (value = args_nth(a, "stop", i)); i++) {
        if (i == MOST_STOPS)
            return fail_usage("--stop: at most %d texts", MOST_STOPS) == EXIT_DONE;
        add_argument(a, value, &w->stop_texts[i]);
        w->stops[w->generate.n_stops++] = text_string(&w->stop_texts[i]);
        if (!*w->stops[i])
            return fail_usage("--stop: an empty text would end every answer") == EXIT_DONE;
    }
    for (int i = 0; (value = args_nth(a, "logit-bias", i)); i++) {
        if (i == MOST_BIASES)
            return fail_usage("--logit-bias: at most %d tokens", MOST_BIASES) == EXIT_DONE;
        if (!take_bias(value, &w->bias[w->generate.sampling.n_bias++]))
            return false;
    }
    w->generate.stops = w->stops;
    w->generate.sampling.bias = w->bias;
    return true;
}

static bool take_wishes(const args *a, wishes *w)
{
    if (!engine_generate(a, &w->generate) || !take_lists(a, w) ||
        !args_int(a, "logprobs", 0, 1000, 0, &w->generate.logprobs) ||
        !args_int(a, "parallel", 1, MOST_ANSWERS, 1, &w->answers))
        return false;
    w->as_json = args_has(a, "json");
    w->verbose = args_has(a, "verbose");
    w->checks = args_has(a, "check-device");
    w->show_prompt = !args_has(a, "no-display-prompt");
    w->special = args_has(a, "special");
    if (w->generate.logprobs > 0 && !w->as_json) {
        fail_usage("--logprobs are printed with --json");
        return false;
    }
    return true;
}

/* ---- the prompt ---- */

/* The built-in model begins a text of its own where none is given: after a new line, as everywhere in what it was trained on. */
static int read_start(const args *a, text *words)
{
    const bool built_in = !args_has(a, "model");
    const bool typed = !args_has(a, "prompt") && !args_has(a, "file") && isatty(STDIN_FILENO) == 1;
    const int code = built_in && typed ? EXIT_DONE : read_prompt_line(a, words);
    if (code == EXIT_DONE && built_in && words->length == 0)
        text_add(words, "\n");
    return code;
}

/* Whatever can be wrong with the wishes, before weights are read. */
static int encode_prompt(const engine *e, const wishes *w, prompt *p)
{
    int64_t context = tern_session_context(e->session), vocabulary = tern_session_vocabulary(e->session);
    const tern_sampling *s = &w->generate.sampling;
    for (int i = 0; i < s->n_bias; i++)
        if (s->bias[i].token >= vocabulary)
            return fail("--logit-bias: there is no token %d: the vocabulary has %lld", s->bias[i].token,
                        (long long)vocabulary);
    if (engine_encode(e, text_string(&p->words), p->words.length, w->special, &p->tokens, &p->n) != TERN_OK)
        return fail_status(NULL);
    tern_model_info model;
    tern_model_get_info(e->model, &model);
    if ((int64_t)p->n > context)
        return fail("the prompt has %zu tokens, the context room for %lld: %s", p->n, (long long)context,
                    context < model.context ? "shorten it, or give a larger -c"
                                            : "shorten it; the model was trained for no more");
    return EXIT_DONE;
}

/* The programs that read a prompt are compiled before it is timed: of chunks, and of what is left. */
static tern_status prepare_prompt(tern_session *session, int64_t n)
{
    const int64_t chunk = tern_session_batch(session), last = n % chunk ? n % chunk : chunk;
    if (n > chunk)
        TERN_TRY(tern_session_prepare(session, (int)chunk, 0));
    return tern_session_prepare(session, (int)last, 1);
}

/* Read once, whatever the number of answers that start from it. */
static tern_status feed_prompt(const engine *e, prompt *p, int n, tern_sequence *const *sequences)
{
    p->start_ns = clock_ns();
    progress_begin_of("reading the prompt", "tokens");
    engine_heeds_stops(e, true);
    tern_status status = prepare_prompt(e->session, (int64_t)p->n);
    p->prepared = status == TERN_OK;
    const uint64_t begun_ns = clock_ns();
    if (status == TERN_OK)
        status = tern_sequence_prompt(sequences[0], p->tokens, (int64_t)p->n, progress_update, NULL);
    engine_heeds_stops(e, false);
    progress_end();
    for (int i = 1; i < n && status == TERN_OK; i++)
        status = tern_sequence_copy(sequences[0], sequences[i]);
    p->ns = clock_ns() - begun_ns;
    return status;
}

/* ---- the answers ---- */

static void print_json(const engine *e, const wishes *w, const prompt *p, const answer *answers)
{
    tern_model_info info;
    tern_model_get_info(e->model, &info);
    json j = {0};
    json_object(&j, NULL);
    json_string(&j, "architecture", info.architecture);
    json_uint(&j, "prompt_tokens", p->n);
    json_double(&j, "prompt_tokens_per_s", tokens_per_second((int64_t)p->n, p->ns));
    if (w->answers == 1) {
        answer_add_json(&j, e, answers);
    } else {
        json_array(&j, "answers");
        for (int i = 0; i < w->answers; i++) {
            json_object(&j, NULL);
            answer_add_json(&j, e, &answers[i]);
            json_end(&j);
        }
        json_end(&j);
    }
    placement_json_add(&j, e->ctx);
    if (w->checks)
        checked_json_add(&j, e->ctx);
    json_end(&j);
    json_print(&j);
}

static void print_speed(const wishes *w, const prompt *p, const answer *answers)
{
    int64_t tokens = 0, computed = 0;
    uint64_t ns = 0;
    for (int i = 0; i < w->answers; i++) {
        tokens += answers[i].result.tokens;
        computed += answers[i].result.tokens > 0 ? answers[i].result.tokens - 1 : 0;
        ns = answers[i].result.ns > ns ? answers[i].result.ns : ns;
    }
    fflush(stdout);
    fprintf(stderr, "%zu tokens of prompt at %.1f/s, %lld generated at %.1f/s, ended by %s, seed %llu\n",
            p->n, tokens_per_second((int64_t)p->n, p->ns), (long long)tokens, tokens_per_second(computed, ns),
            tern_finish_name(answers[0].result.finish), (unsigned long long)answers[0].seed);
}

static void print_answers(const wishes *w, const prompt *p, const answer *answers)
{
    for (int i = 0; i < w->answers; i++) {
        if (w->answers > 1) {
            printf("%s[%d]%s ", on(STYLE_DIM), i + 1, off(STYLE_DIM));
            answer_show(text_string(&p->words), w->show_prompt ? p->words.length : 0);
            answer_show(text_string(&answers[i].content), answers[i].content.length);
        }
        putchar('\n');
    }
}

/* An answer that ends in the middle of a sentence without a reason on screen looks like a fault. */
static void explain_end(const engine *e, const wishes *w, const answer *answers)
{
    int64_t context = tern_session_context(e->session);
    tern_model_info info;
    tern_model_get_info(e->model, &info);
    int full = 0;
    for (int i = 0; i < w->answers; i++)
        full += answers[i].result.finish == TERN_FINISH_CONTEXT;
    if (full == 0 || w->as_json)
        return;
    if (e->source.built_in && w->generate.most < 0) { /* nobody asked for more */
        fprintf(stderr,
                "(the built-in model writes %lld tokens at most; -n N ends earlier, -m FILE takes another "
                "model)\n",
                (long long)info.context);
        return;
    }
    if (context < info.context)
        warn("the context of %lld tokens is full, so the answer ends here; -c N makes room for up to %lld",
             (long long)context, (long long)info.context);
    else
        warn("the context of %lld tokens is full, so the answer ends here: this model cannot have a longer "
             "one",
             (long long)context);
}

/* Counts the tokens of answers that are shown when they are done. */
typedef struct counted {
    answer *answer;
    uint64_t *tokens, total; /* of all answers */
} counted;

static bool count_and_take(void *user, const tern_generated *piece)
{
    counted *c = user;
    *c->tokens += piece->token != TERN_NO_TOKEN;
    return answer_take(c->answer, piece) && progress_update(NULL, *c->tokens, c->total);
}

static tern_status generate_hidden(const engine *e, const wishes *w, const prompt *p,
                                   tern_sequence *const *sequences, const tern_generate_options *options,
                                   answer *answers, tern_generate_result *results)
{
    counted all[MOST_ANSWERS];
    void *users[MOST_ANSWERS];
    uint64_t tokens = 0;
    int64_t room = tern_session_context(e->session) - (int64_t)p->n + 1;
    int64_t most = w->generate.most >= 0 && w->generate.most < room ? w->generate.most : room;
    for (int i = 0; i < w->answers; i++) {
        all[i] = (counted){&answers[i], &tokens, (uint64_t)most * (uint64_t)w->answers};
        users[i] = &all[i];
    }
    progress_begin_of(w->answers > 1 ? "answers" : "answer", "tokens");
    tern_status status =
        tern_generate_many(w->answers, sequences, e->tokenizer, options, count_and_take, users, results);
    progress_end();
    return status;
}

/* No bar: the text is the progress. Ctrl-C ends it between two tokens. */
static bool show_and_take(void *user, const tern_generated *piece)
{
    return answer_take(user, piece) && !progress_asked(NULL);
}

static tern_status generate_shown(const engine *e, tern_sequence *const *sequences,
                                  const tern_generate_options *options, void *const *users,
                                  tern_generate_result *results)
{
    progress_begin_unseen();
    const tern_status status =
        tern_generate_many(1, sequences, e->tokenizer, options, show_and_take, users, results);
    progress_end();
    return status;
}

static tern_status generate(const engine *e, const wishes *w, const prompt *p,
                            tern_sequence *const *sequences, answer *answers)
{
    tern_generate_options options[MOST_ANSWERS];
    tern_generate_result results[MOST_ANSWERS];
    void *user = answers;
    for (int i = 0; i < w->answers; i++) {
        options[i] = w->generate;
        options[i].sampling.seed += (uint64_t)i;
        answers[i].seed = options[i].sampling.seed;
        answers[i].metrics = w->metrics;
        answers[i].begun_ns = p->start_ns;
        answers[i].stream = w->answers == 1 && !w->as_json;
        answers[i].keep = !answers[i].stream;
    }
    if (answers[0].stream && w->show_prompt)
        answer_show(text_string(&p->words), p->words.length);
    if (answers[0].stream)
        TERN_TRY(generate_shown(e, sequences, options, &user, results));
    else
        TERN_TRY(generate_hidden(e, w, p, sequences, options, answers, results));
    for (int i = 0; i < w->answers; i++)
        answers[i].result = results[i];
    return TERN_OK;
}

static int print_all(const engine *e, const wishes *w, const prompt *p, const answer *answers)
{
    if (answers[0].lost)
        return EXIT_FAILED; /* whoever ends the program says why */
    bool stopped = false;
    for (int i = 0; i < w->answers; i++)
        stopped = stopped || answers[i].result.finish == TERN_FINISH_CALLER;
    if (w->as_json)
        print_json(e, w, p, answers);
    else
        print_answers(w, p, answers);
    if (w->verbose) {
        text line = {0};
        print_speed(w, p, answers);
        placement_add(&line, e->ctx);
        if (line.length > 0)
            fprintf(stderr, "%s\n", text_string(&line));
        line.length = 0;
        if (w->checks) {
            checked_add(&line, e->ctx);
            fprintf(stderr, "%s\n", text_string(&line));
        }
        text_free(&line);
    }
    explain_end(e, w, answers);
    return stopped ? fail("stopped") : EXIT_DONE;
}

static int answer_prompt(const engine *e, const wishes *w, prompt *p)
{
    tern_sequence *sequences[MOST_ANSWERS] = {NULL};
    answer answers[MOST_ANSWERS] = {{0}};
    tern_status status = TERN_OK;
    for (int i = 0; i < w->answers && status == TERN_OK; i++)
        status = tern_sequence_create(e->session, i, &sequences[i]);
    metrics_start_model(w->metrics, "run", e, w->answers);
    if (status == TERN_OK)
        status = feed_prompt(e, p, w->answers, sequences);
    const bool stopped = progress_stopped_by() != 0; /* what comes next counts from 0 */
    if (status == TERN_OK)
        metrics_prompt(w->metrics, (int64_t)p->n);
    if (status == TERN_OK && !stopped)
        status = generate(e, w, p, sequences, answers);
    metrics_stop(w->metrics, status == TERN_OK && !stopped);
    /* of a prompt that was being read the library says how far it was */
    int code = stopped && (status == TERN_OK || !p->prepared) ? fail("stopped")
               : status == TERN_OK                            ? print_all(e, w, p, answers)
                                                              : fail_status(NULL);
    for (int i = 0; i < w->answers; i++) {
        tern_sequence_free(sequences[i]);
        answer_free(&answers[i]);
    }
    return code;
}

static int run(const args *a)
{
    metrics_file metrics = {0};
    wishes w = {.metrics = &metrics};
    prompt p = {0};
    engine e = {0};
    int code = take_wishes(a, &w) ? metrics_open(a, &metrics) : EXIT_USAGE;
    if (code == EXIT_DONE && model_is_there(a))
        code = read_start(a, &p.words);
    if (code == EXIT_DONE)
        code = engine_open(a, (engine_wishes){.slots = w.answers}, &e);
    if (code == EXIT_DONE)
        code = encode_prompt(&e, &w, &p);
    if (code == EXIT_DONE)
        code = engine_prepare(a, &e, &metrics);
    if (code == EXIT_DONE)
        code = answer_prompt(&e, &w, &p);
    code = metrics_close(&metrics, code);
    for (int i = 0; i < MOST_STOPS; i++)
        text_free(&w.stop_texts[i]);
    tern_tokens_free(p.tokens);
    text_free(&p.words);
    engine_close(&e);
    return code;
}

static const option options[] = {
    ENGINE_OPTIONS(MODEL_CONTEXT),
    {"prompt", 'p', "TEXT", NULL,
     "the text to continue, with escapes such as \\n; else it is read from -f or standard input; the "
     "built-in model needs none"},
    {"file", 'f', "FILE", NULL, "a file with the text to continue, without the newline at its end"},
    N_PREDICT_OPTION("most tokens to generate; -1 or -2 until the model or the context ends"),
    NO_ESCAPE_OPTION,
    SAMPLING_OPTIONS,
    {"stop", 'r', "TEXT", NULL, "end where the answer would contain this text; may be repeated"},
    {"logit-bias", 'l', "ID+X", NULL,
     "add X to the logit of a token, as in 15043+1 or 15043-inf; may be repeated"},
    {"special", 0, NULL, NULL, "control tokens in the prompt are tokens, not text"},
    {"parallel", 0, "N", NULL, "N answers at once, with seeds from --seed on (default: 1)"},
    IGNORE_END_OPTION,
    {"no-display-prompt", 0, NULL, NULL, "print the answer alone"},
    {"json", 0, NULL, NULL,
     "print JSON: the text, its tokens, why it ended, tokens per second; also of what Ctrl-C stopped"},
    {"logprobs", 0, "N", NULL, "with --json: the logprob of each token and of the N likeliest"},
    {"verbose", 'v', NULL, NULL, "say on stderr how fast it was, the seed, and what --check-device compared"},
    METRICS_OPTION,
    {0},
};

const command cmd_run = {
    .name = "run",
    .operands = "",
    .summary = "Continue a text with a model.",
    .details = "BitNet b1.58 models compute as they were trained: int8 activations by row, exact ternary "
               "products. The "
               "same seed gives the same text on any number of threads.",
    .options = options,
    .examples = "tern run\n"
                "tern run -m model.gguf -p \"Once upon a time\" -n 100 --temp 0\n"
                "tern run -m model.gguf -f prompt.txt --seed 7 --json --logprobs 3\n"
                "tern run -m model.gguf -p \"Once upon a time\" -n 30 --parallel 4",
    .run = run,
};

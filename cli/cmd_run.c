/* cmd_run.c - `tern run`: one prompt, one answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "commands.h"
#include "engine.h"
#include "json.h"
#include "progress.h"
#include "term.h"

typedef struct answer {
    bool quiet; /* JSON comes at the end; nothing is streamed */
    text content;
    int32_t *tokens;
    size_t n, capacity;
    uint64_t prompt_ns;
} answer;

/* ---- the prompt ---- */

static bool read_stream(FILE *f, text *out)
{
    char buffer[4096];
    size_t n;
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0)
        text_add_n(out, buffer, n);
    return !ferror(f);
}

/* -p, -f, or standard input. */
static int read_prompt(const args *a, text *out)
{
    const char *given = args_value(a, "prompt"), *path = args_value(a, "file");
    if (given && path)
        return fail_usage("-p and -f both give a prompt: choose one");
    if (given) {
        text_add(out, given);
        return EXIT_DONE;
    }
    FILE *f = path ? fopen(path, "rb") : stdin;
    if (!f)
        return fail("%s: cannot be opened", path);
    bool read = read_stream(f, out);
    if (path)
        fclose(f);
    return read ? EXIT_DONE : fail("%s: cannot be read", path ? path : "standard input");
}

static bool show_prompt(void *user, int64_t done, int64_t total)
{
    return progress_update(user, (uint64_t)done, (uint64_t)total);
}

static tern_status feed_prompt(const engine *e, tern_sequence *sequence, const text *prompt, size_t *n)
{
    int32_t *ids;
    TERN_TRY(tern_tokenizer_encode(e->tokenizer, text_string(prompt), prompt->length, NULL, &ids, n));
    progress_begin("reading the prompt");
    tern_status status = tern_sequence_prompt(sequence, ids, (int64_t)*n, show_prompt, NULL);
    progress_end();
    tern_tokens_free(ids);
    return status;
}

/* ---- the answer ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool take(void *user, const tern_generated *piece)
{
    answer *r = user;
    if (piece->token >= 0 && r->n == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 256;
        int32_t *tokens = realloc(r->tokens, capacity * sizeof *tokens);
        if (!tokens)
            return false;
        r->tokens = tokens;
        r->capacity = capacity;
    }
    if (piece->token >= 0)
        r->tokens[r->n++] = piece->token;
    if (r->quiet) {
        text_add_n(&r->content, piece->text, piece->length);
    } else {
        fwrite(piece->text, 1, piece->length, stdout);
        fflush(stdout);
    }
    return true;
}

static double per_second(uint64_t n, uint64_t ns)
{
    return ns ? (double)n * 1e9 / (double)ns : 0;
}

static void print_json(const engine *e, const answer *r, const tern_generate_result *result, size_t prompt)
{
    tern_model_info info;
    tern_model_get_info(e->model, &info);
    json j = {0};
    json_object(&j, NULL);
    json_string(&j, "architecture", info.architecture);
    json_string(&j, "content", text_string(&r->content));
    json_array(&j, "tokens");
    for (size_t i = 0; i < r->n; i++)
        json_int(&j, NULL, r->tokens[i]);
    json_end(&j);
    json_string(&j, "finish", tern_finish_name(result->finish));
    json_uint(&j, "prompt_tokens", prompt);
    json_double(&j, "prompt_tokens_per_s", per_second(prompt, r->prompt_ns));
    json_int(&j, "generated_tokens", result->tokens);
    json_double(&j, "generated_tokens_per_s", per_second((uint64_t)result->tokens, result->ns));
    json_end(&j);
    json_print(&j);
}

static int stops_of(const args *a, const char **stops, int most)
{
    int n = 0;
    while (n < most && args_nth(a, "stop", n)) {
        stops[n] = args_nth(a, "stop", n);
        n++;
    }
    return n;
}

static int generate(const args *a, const engine *e, const text *prompt, tern_generate_options *o)
{
    tern_sequence *sequence = NULL;
    tern_generate_result result;
    answer r = {.quiet = args_has(a, "json")};
    size_t n_prompt = 0;
    uint64_t start = now_ns();
    tern_status status = tern_sequence_create(e->session, 0, &sequence);
    if (status == TERN_OK)
        status = feed_prompt(e, sequence, prompt, &n_prompt);
    r.prompt_ns = now_ns() - start;
    if (status == TERN_OK && !r.quiet && !args_has(a, "no-display-prompt"))
        fwrite(text_string(prompt), 1, prompt->length, stdout);
    if (status == TERN_OK)
        status = tern_generate(sequence, e->tokenizer, o, take, &r, &result);
    if (status == TERN_OK && r.quiet)
        print_json(e, &r, &result, n_prompt);
    else if (status == TERN_OK)
        putchar('\n');
    if (status == TERN_OK && args_has(a, "verbose"))
        fprintf(stderr, "%zu tokens of prompt at %.1f/s, %lld generated at %.1f/s, ended by %s\n", n_prompt,
                per_second(n_prompt, r.prompt_ns), (long long)result.tokens,
                per_second((uint64_t)result.tokens, result.ns), tern_finish_name(result.finish));
    tern_sequence_free(sequence);
    text_free(&r.content);
    free(r.tokens);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

static int run(const args *a)
{
    enum { MOST_STOPS = 16 };
    const char *stops[MOST_STOPS];
    tern_generate_options o = tern_generate_options_default();
    int most;
    if (!engine_sampling(a, &o.sampling) || !args_int(a, "n-predict", -1, 1 << 30, -1, &most))
        return EXIT_USAGE;
    o.most = most;
    o.ignore_end = args_has(a, "ignore-eos");
    o.stops = stops;
    o.n_stops = stops_of(a, stops, MOST_STOPS);
    text prompt = {0};
    engine e = {0};
    int code = args_value(a, "model") ? read_prompt(a, &prompt) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = engine_open(a, &e);
    if (code == EXIT_DONE)
        code = generate(a, &e, &prompt, &o);
    engine_close(&e);
    text_free(&prompt);
    return code;
}

static const option options[] = {
    ENGINE_OPTIONS,
    {"prompt", 'p', "TEXT", NULL, "the text to continue; else it is read from -f or standard input"},
    {"file", 'f', "FILE", NULL, "a file with the text to continue"},
    {"n-predict", 'n', "N", NULL,
     "most tokens to generate; -1 until the model or the context ends (default)"},
    SAMPLING_OPTIONS,
    {"stop", 'r', "TEXT", NULL, "end where the answer would contain this text; may be repeated"},
    {"ignore-eos", 0, NULL, NULL, "go on where the model would end its answer"},
    {"no-display-prompt", 0, NULL, NULL, "print the answer alone"},
    {"json", 0, NULL, NULL, "print JSON: the text, its tokens, why it ended, tokens per second"},
    {"verbose", 'v', NULL, NULL, "say on stderr how fast it was"},
    {0},
};

const command cmd_run = {
    .name = "run",
    .operands = "",
    .summary = "Continue a text with a model.",
    .details = "BitNet b1.58 models compute as they were trained: int8 activations by row, exact ternary "
               "products. The\n"
               "same seed gives the same text on any number of threads.",
    .options = options,
    .examples = "tern run -m model.gguf -p \"Once upon a time\" -n 100 --temp 0\n"
                "tern run -m model.gguf -f prompt.txt --seed 7 --json",
    .run = run,
};

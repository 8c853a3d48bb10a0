/* cmd_demo.c - `tern demo`, which `make run` ends with: a passage by the built-in model, then what this run measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include <tern/bench_model.h>
#include <tern/memory.h>

#include "clock.h"
#include "commands.h"
#include "demo.h"
#include "disturbed.h"
#include "source.h"
#include "term.h"

/* Under ten seconds together, however busy the machine is. */
enum { PASSAGE_TOKENS = 240, PROFILE_TOKENS = 64, PROMPT_TOKENS = 128, REPETITIONS = 5 };
static const uint64_t passage_ns = 4000000000, bench_ns = 3000000000;

/* ---- the passage --------------------------------------------------------------------------------------------- */

/* A word is shown when it is known where it ends, so that the passage does not end inside one. */
typedef struct writing {
    answer *passage;
    uint64_t end_ns;
    text word;  /* that is being written */
    bool shown; /* a word was */
} writing;

/* Shows the first bytes of what is held back as part of `piece`. */
static void show(writing *w, tern_generated piece, size_t bytes)
{
    piece.text = text_string(&w->word);
    piece.length = bytes;
    answer_take(w->passage, &piece);
    w->shown |= bytes > 0;
    text rest = {0};
    text_add_n(&rest, piece.text + bytes, w->word.length - bytes);
    text_free(&w->word);
    w->word = rest;
}

static bool take(void *user, const tern_generated *piece)
{
    enum { LONGEST = 64 }; /* in bytes: some languages have no blanks */
    writing *w = user;
    text_add_n(&w->word, piece->text, piece->length);
    size_t bytes = w->word.length;
    while (bytes > 0 && w->word.length <= LONGEST && !strchr(" \n", text_string(&w->word)[bytes - 1]))
        bytes--;
    show(w, *piece, bytes);
    return clock_ns() < w->end_ns;
}

static tern_status generate(demo *d, const tern_generate_options *options)
{
    tern_sequence *sequence;
    TERN_TRY(tern_sequence_create(d->e.session, 0, &sequence));
    tern_status status = tern_sequence_prompt(sequence, d->tokens, (int64_t)d->n_tokens, NULL, NULL);
    writing w = {.passage = &d->passage, .end_ns = clock_ns() + passage_ns};
    d->passage.seed = options->sampling.seed;
    if (status == TERN_OK)
        status = tern_generate(sequence, d->e.tokenizer, options, take, &w, &d->passage.result);
    if (status == TERN_OK && !w.shown) /* one word is better than none */
        show(&w, (tern_generated){.token = TERN_NO_TOKEN}, w.word.length);
    text_free(&w.word);
    tern_sequence_free(sequence);
    return status;
}

static int show_passage(demo *d, const tern_generate_options *options)
{
    if (engine_encode(&d->e, text_string(&d->prompt), d->prompt.length, false, &d->tokens, &d->n_tokens) !=
        TERN_OK)
        return fail_status(NULL);
    if (d->passage.stream) {
        printf("%s", on(STYLE_BOLD));
        answer_show(text_string(&d->prompt), d->prompt.length);
        printf("%s%s", off(STYLE_BOLD), on(STYLE_NAME));
    }
    tern_status status = generate(d, options);
    if (d->passage.stream)
        printf("%s\n", off(STYLE_NAME));
    fflush(stdout);
    return status == TERN_OK ? EXIT_DONE : fail_status(NULL);
}

/* ---- what it took -------------------------------------------------------------------------------------------- */

/* As `tern inspect` has it; that is of the file on this machine's processor, not of what options make of it. */
static bool take_packed(const args *a, demo *d)
{
    tern_model_memory needs;
    if (args_has(a, "cpu") || args_has(a, "device") || args_has(a, "head") ||
        tern_model_plan_memory(d->e.source.file, NULL, &needs) != TERN_OK)
        return false;
    d->weight_bytes = needs.weights;
    return true;
}

static void take_memory(const args *a, demo *d)
{
    tern_model_info info;
    tern_session_program compiled;
    tern_program_info plan;
    tern_model_get_info(d->e.model, &info);
    d->peak_bytes = tern_memory_process_peak();
    d->file_bytes = tern_model_file_bytes(d->e.source.file);
    d->weight_bytes = info.weight_bytes;
    d->packed = take_packed(a, d);
    d->cache_bytes = tern_session_cache_bytes(d->e.session);
    for (int i = 0; tern_session_get_program(d->e.session, i, &compiled) == TERN_OK; i++) {
        tern_program_get_info(compiled.program, &plan);
        d->arena_bytes = plan.arena_bytes > d->arena_bytes ? plan.arena_bytes : d->arena_bytes;
    }
}

static bool has_time(void *user, const char *what, int done, int total)
{
    (void)what, (void)done, (void)total;
    return clock_ns() < *(const uint64_t *)user;
}

static void take_prompt(void *user, const tern_bench_model_row *row)
{
    demo *d = user;
    d->prompt_rate = row->rounds ? row->average_rate : (double)NAN;
    d->prompt_share = row->share;
    d->prompt_limit = row->limit_rate;
    d->limit_kind = row->limit_kind;
    /* The words around it say "unavailable: ". */
    static const char said[] = "unavailable: ";
    const size_t skip = strncmp(row->error, said, sizeof said - 1) == 0 ? sizeof said - 1 : 0;
    snprintf(d->prompt_why, sizeof d->prompt_why, "%s", row->error + skip);
}

static void measure_prompt(demo *d, const char *cpu)
{
    tern_bench_model_options o = tern_bench_model_options_default();
    const int64_t context = tern_session_context(d->e.session);
    uint64_t end_ns = clock_ns() + bench_ns;
    d->prompt_tokens = o.n_prompt = context < PROMPT_TOKENS ? (int)context : PROMPT_TOKENS;
    o.file = d->e.source.file;
    o.cpu = cpu;
    o.n_threads = 1;
    o.threads = &d->threads;
    o.n_gen = 0;
    o.repetitions = REPETITIONS;
    o.progress = has_time;
    o.progress_user = &end_ns;
    tern_status status = tern_bench_model(&o, take_prompt, d);
    if (status == TERN_CANCELLED)
        snprintf(d->prompt_why, sizeof d->prompt_why, "the machine is too busy for it in %d seconds",
                 (int)(bench_ns / 1000000000));
    else if (status != TERN_OK)
        snprintf(d->prompt_why, sizeof d->prompt_why, "%s", tern_last_error());
}

/* ---- the command --------------------------------------------------------------------------------------------- */

static int measure(const args *a, demo *d, tern_generate_options *options)
{
    int code = show_passage(d, options);
    if (code != EXIT_DONE)
        return code;
    d->threads = tern_ctx_threads(d->e.ctx);
    take_memory(a, d);
    options->most = options->most < PROFILE_TOKENS ? options->most : PROFILE_TOKENS;
    const bool waits = isatty(STDERR_FILENO) == 1; /* for a second or two; Ctrl-C leaves at once */
    if (waits)
        fprintf(stderr, "%smeasuring%s%s", on(STYLE_DIM), glyph_of(GLYPH_ELLIPSIS), off(STYLE_DIM));
    demo_profile(d, options);
    measure_prompt(d, args_value(a, "cpu"));
    if (waits)
        fputs("\r\x1b[K", stderr);
    return EXIT_DONE;
}

static int run(const args *a)
{
    demo d = {.prompt_rate = (double)NAN, .prompt_share = (double)NAN, .step_share = (double)NAN};
    tern_generate_options options = tern_generate_options_default();
    const bool as_json = args_has(a, "json");
    int tokens;
    if (!engine_sampling(a, &options.sampling) ||
        !args_int(a, "n-predict", 2, 1 << 20, PASSAGE_TOKENS, &tokens))
        return EXIT_USAGE;
    options.most = tokens;
    options.ignore_end = true;
    d.passage.stream = !as_json;
    d.passage.keep = as_json;
    add_argument(a, args_value(a, "prompt") ? args_value(a, "prompt") : "\\n", &d.prompt);
    const tern_moment begin = tern_moment_now();
    int code = engine_open(a, (engine_wishes){0}, &d.e);
    if (code == EXIT_DONE)
        code = engine_prepare(a, &d.e, NULL);
    if (code == EXIT_DONE)
        code = measure(a, &d, &options);
    if (code == EXIT_DONE && as_json)
        demo_print_json(&d);
    else if (code == EXIT_DONE)
        demo_print(&d);
    if (code == EXIT_DONE)
        disturbed_warn(&begin);
    tern_tokens_free(d.tokens);
    text_free(&d.prompt);
    answer_free(&d.passage);
    engine_close(&d.e);
    return code;
}

static const option options[] = {
    ENGINE_OPTIONS(MODEL_CONTEXT),
    {"prompt", 'p', "TEXT", NULL,
     "what the passage begins with, with escapes such as \\n (default: a new line)"},
    {"n-predict", 'n', "N", NULL,
     "most tokens of the passage (default: 240, for four seconds at most); a word that they do not end is "
     "not shown"},
    SAMPLING_OPTIONS,
    {"json", 0, NULL, NULL, "print JSON: the passage and all that was measured"},
    {0},
};

const command cmd_demo = {
    .name = "demo",
    .operands = "",
    .summary = "Generate a passage, and tell how fast it was, what it took and where the time went.",
    .details =
        "Everything on the screen was measured in the same run: the passage as it came, a prompt in turns "
        "with "
        "the machine's arithmetic, and 64 more tokens of which every step was timed and compared with the "
        "cache that holds its bytes and with arithmetic. What could not be measured says why.",
    .options = options,
    .examples = "tern demo\n"
                "tern demo -p \"ROMEO:\\n\" --seed 7\n"
                "tern demo --json",
    .run = run,
};

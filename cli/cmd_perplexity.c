/* cmd_perplexity.c - `tern perplexity`: how surprised a model is by a text.
 *
 * The text is cut into chunks of the context. Of each the second half is judged, so that every token judged has at least half a
 * context before it; the first token is replaced by the one that starts texts, if the model has one. That is how
 * llama.cpp measures, so figures can be compared. With --all every token that follows another is judged, in windows that share one token
 * with the next: that is how `tern train` validates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "engine.h"
#include "json.h"
#include "progress.h"
#include "source.h"
#include "term.h"

enum { ROWS_AT_ONCE = 64 };

#define CHUNK 512 /* tokens, as llama.cpp has them */

typedef struct measurement {
    int32_t *tokens;
    size_t n_tokens;
    int32_t bos; /* that starts every chunk, or TERN_NO_TOKEN */
    int context;
    bool all;            /* rows of a chunk are judged, not the second half of them */
    int chunks;          /* to measure */
    int done;            /* measured */
    double sum, squares; /* of the negative logarithms of the probabilities */
    uint64_t count;
    double *running;        /* (chunks) the perplexity behind each */
    tern_session_row *rows; /* (context) */
    float *logits;          /* (ROWS_AT_ONCE, vocabulary) */
    char label[64];
} measurement;

static double perplexity_of(const measurement *m)
{
    return exp(m->sum / (double)m->count);
}

/* The standard error, by the spread of the logarithms. */
static double error_of(const measurement *m)
{
    double mean = m->sum / (double)m->count, variance = m->squares / (double)m->count - mean * mean;
    return m->count > 1 && variance > 0 ? perplexity_of(m) * sqrt(variance / (double)(m->count - 1)) : 0;
}

static tern_status judge(measurement *m, int64_t vocabulary, const float *logits, int32_t token)
{
    float logprob;
    TERN_TRY(tern_logprob_of(vocabulary, logits, token, &logprob));
    m->sum -= (double)logprob;
    m->squares += (double)logprob * (double)logprob;
    m->count++;
    return TERN_OK;
}

static tern_status measure_chunk(const engine *e, measurement *m, const int32_t *tokens)
{
    const int first = m->all ? 0 : m->context / 2;
    const bool goes_on = tokens + m->context < m->tokens + m->n_tokens; /* behind the last row */
    const int n = m->context, end = m->all && goes_on ? n : n - 1;
    int64_t vocabulary = tern_session_vocabulary(e->session);
    for (int i = 0; i < n; i++)
        m->rows[i] = (tern_session_row){.token = tokens[i], .position = i};
    if (m->bos != TERN_NO_TOKEN)
        m->rows[0].token = m->bos;
    if (first > 0)
        TERN_TRY(tern_session_feed(e->session, first, m->rows, 0, NULL, NULL));
    for (int i = first; i < end; i += ROWS_AT_ONCE) {
        int rows = end - i < ROWS_AT_ONCE ? end - i : ROWS_AT_ONCE;
        int wanted[ROWS_AT_ONCE];
        for (int k = 0; k < rows; k++)
            wanted[k] = k;
        TERN_TRY(tern_session_feed(e->session, rows, m->rows + i, rows, wanted, m->logits));
        for (int k = 0; k < rows; k++)
            TERN_TRY(judge(m, vocabulary, m->logits + k * vocabulary, tokens[i + k + 1]));
    }
    return TERN_OK;
}

/* Four digits behind the point, as llama.cpp prints it; of a model that knows nothing, whose value is beyond all use, six in all. */
static const char *value_text(double value, char to[NUMBER_TEXT])
{
    snprintf(to, NUMBER_TEXT, value > 1e6 ? "%g" : "%.4f", value);
    return to;
}

/* Running values appear as they come: in the bar on a terminal, else as "[1]12.3456,". */
static int measure(const engine *e, measurement *m, bool show)
{
    bool bar = isatty(STDERR_FILENO) == 1;
    char value[NUMBER_TEXT];
    snprintf(m->label, sizeof m->label, "perplexity");
    progress_begin_of(m->label, "chunks");
    tern_status status = TERN_OK;
    bool go_on = progress_update(NULL, 0, (uint64_t)m->chunks);
    while (m->done < m->chunks && go_on && status == TERN_OK) {
        status = measure_chunk(e, m, m->tokens + (size_t)m->done * (size_t)m->context);
        if (status != TERN_OK)
            break;
        m->running[m->done++] = perplexity_of(m);
        snprintf(m->label, sizeof m->label, "perplexity %s", value_text(perplexity_of(m), value));
        if (show && !bar) {
            printf("[%d]%s,", m->done, value_text(perplexity_of(m), value));
            fflush(stdout);
        }
        go_on = progress_update(NULL, (uint64_t)m->done, (uint64_t)m->chunks);
    }
    progress_end();
    if (show && !bar && m->done > 0)
        putchar('\n');
    if (status != TERN_OK)
        return fail_status(NULL);
    return m->done == m->chunks ? EXIT_DONE : fail("stopped after %d of %d chunks", m->done, m->chunks);
}

static void print_json(const measurement *m)
{
    json j = {0};
    json_object(&j, NULL);
    json_double(&j, "perplexity", perplexity_of(m));
    json_double(&j, "error", error_of(m));
    json_double(&j, "nll", m->sum / (double)m->count);
    json_uint(&j, "tokens", m->n_tokens);
    json_uint(&j, "tokens_judged", m->count);
    json_int(&j, "context", m->context);
    json_array(&j, "running");
    for (int i = 0; i < m->done; i++)
        json_double(&j, NULL, m->running[i]);
    json_end(&j);
    json_end(&j);
    json_print(&j);
}

static void print_estimate(const measurement *m)
{
    char value[NUMBER_TEXT], error[NUMBER_TEXT];
    snprintf(error, sizeof error, error_of(m) > 1e6 ? "%g" : "%.5f", error_of(m));
    printf("Final estimate: PPL = %s +/- %s over %llu tokens, %.4f nats each\n",
           value_text(perplexity_of(m), value), error, (unsigned long long)m->count,
           m->sum / (double)m->count);
}

static int prepare(const args *a, const engine *e, const text *all, measurement *m)
{
    tern_tokenizer_info info;
    int most;
    if (!args_int(a, "chunks", 1, 1 << 30, 1 << 30, &most))
        return EXIT_USAGE;
    if (tern_tokenizer_get_info(e->tokenizer, &info) != TERN_OK ||
        tern_tokenizer_encode(e->tokenizer, text_string(all), all->length, NULL, &m->tokens, &m->n_tokens) !=
            TERN_OK)
        return fail_status(NULL);
    m->bos = info.add_bos ? info.bos : TERN_NO_TOKEN;
    m->all = args_has(a, "all");
    m->context = (int)tern_session_context(e->session);
    if (m->context < 4)
        return fail_usage("-c %d leaves nothing to judge: at least 4", m->context);
    size_t chunks = m->n_tokens / (size_t)m->context;
    if (chunks == 0)
        return fail(
            "the text has %zu tokens, which do not fill a context of %d: give more text, or a smaller -c",
            m->n_tokens, m->context);
    m->chunks = chunks < (size_t)most ? (int)chunks : most;
    m->running = grab((size_t)m->chunks, sizeof *m->running);
    m->rows = grab((size_t)m->context, sizeof *m->rows);
    m->logits = grab((size_t)tern_session_vocabulary(e->session), ROWS_AT_ONCE * sizeof *m->logits);
    return EXIT_DONE;
}

static int run(const args *a)
{
    text all = {0};
    engine e = {0};
    measurement m = {0};
    bool as_json = args_has(a, "json");
    int code = model_is_there(a) ? read_prompt_line(a, &all) : EXIT_DONE;
    if (code == EXIT_DONE)
        code = engine_open(a, (engine_wishes){.context = CHUNK}, &e);
    if (code == EXIT_DONE)
        code = prepare(a, &e, &all, &m);
    if (code == EXIT_DONE)
        code = engine_prepare(a, &e, NULL);
    if (code == EXIT_DONE)
        code = measure(&e, &m, !as_json);
    if (code == EXIT_DONE && as_json)
        print_json(&m);
    else if (code == EXIT_DONE)
        print_estimate(&m);
    tern_tokens_free(m.tokens);
    free(m.running);
    free(m.rows);
    free(m.logits);
    engine_close(&e);
    text_free(&all);
    return code;
}

static const option options[] = {
    ENGINE_OPTIONS(CHUNK),
    {"file", 'f', "FILE", NULL, "the text; else it is read from -p or standard input"},
    {"prompt", 'p', "TEXT", NULL, "the text itself, with escapes such as \\n"},
    NO_ESCAPE_OPTION,
    {"chunks", 0, "N", NULL, "measure only the first N chunks"},
    {"all", 0, NULL, NULL,
     "judge every token that follows another, as `tern train` validates, not only second halves"},
    {"json", 0, NULL, NULL, "print JSON: the value, its error, and the value behind each chunk"},
    {0},
};

const command cmd_perplexity = {
    .name = "perplexity",
    .operands = "",
    .summary = "Measure how well a model predicts a text.",
    .details =
        "The text is cut into chunks of the context and the second half of each is judged, as llama.cpp does "
        "it. Lower is better. The value behind each chunk is shown while it runs.",
    .options = options,
    .examples = "tern perplexity -m model.gguf -f wiki.valid.raw\n"
                "tern perplexity -m model.gguf -f text.txt -c 256 --chunks 20 --json",
    .run = run,
};

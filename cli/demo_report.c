/* demo_report.c - the screen behind the passage of `tern demo`, eighty columns wide or as few as forty, and the same as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "run.h"
#include "term.h"
#include "text.h"

enum { NARROWEST = 40, WIDEST = 80, LABEL = 13, NAME = 22, TIME = 9, SHARE = 7, BAR = 30, LEAST_BAR = 4 };

/* ---- for people ---------------------------------------------------------------------------------------------- */

static int width(void)
{
    const int columns = term_columns();
    return columns < NARROWEST ? NARROWEST : columns > WIDEST ? WIDEST : columns;
}

/* Of the first word: what stands in double quotes stays together. */
static int word_length(const char *words)
{
    bool quoted = false;
    int n = 0;
    for (; words[n] && (quoted || words[n] != ' '); n++)
        quoted ^= words[n] == '"';
    return n;
}

/* Words from column `at` on, broken between them where the screen ends, with `mark` before each break. */
static void print_words(const char *words, int at, int indent, const char *mark)
{
    const int most = width() - text_width(mark);
    for (bool first = true; *words; first = false) {
        const int bytes = word_length(words);
        text word = {0};
        text_add_n(&word, words, (size_t)bytes);
        const int columns = text_width(text_string(&word));
        if (!first && at + 1 + columns > most) {
            printf("%s\n%*s", mark, indent, "");
            at = indent;
        } else if (!first) {
            putchar(' ');
            at++;
        }
        fputs(text_string(&word), stdout);
        at += columns;
        words += bytes + (words[bytes] == ' ');
        text_free(&word);
    }
    putchar('\n');
}

/* A label, then words. */
static void print_line(const char *label, const char *words)
{
    printf("  %s%-*s%s", on(STYLE_NAME), LABEL, label, off(STYLE_NAME));
    print_words(words, 2 + LABEL, 2 + LABEL, "");
}

/* A command that can be pasted, on however many lines. */
static void print_command(const char *words)
{
    printf("    ");
    print_words(words, 4, 6, " \\");
}

static double passage_rate(const demo *d)
{
    const tern_generate_result *r = &d->passage.result;
    return r->tokens > 1 ? tokens_per_second(r->tokens - 1, r->ns) : (double)NAN;
}

static void print_speed(const demo *d)
{
    text words = {0};
    if (isnan(passage_rate(d)))
        text_add(&words, "unavailable: fewer than two tokens were generated");
    else
        text_addf(&words, "%.0f tokens/s one by one, as you saw them%s; ", passage_rate(d),
                  d->passage.result.finish == TERN_FINISH_CALLER ? " until time was up" : "");
    if (isnan(d->prompt_rate))
        text_addf(&words, "prompts unavailable: %s", d->prompt_why);
    else
        text_addf(&words, "%.0f tokens/s of a prompt of %d; on %d thread%s", d->prompt_rate, d->prompt_tokens,
                  d->threads, d->threads == 1 ? "" : "s");
    print_line("speed", text_string(&words));
    text_free(&words);
}

/* Small models live in the caches, so that the bandwidth of memory says nothing of them: each step has its own limit. */
static void print_limits(const demo *d)
{
    text words = {0};
    if (isnan(d->prompt_share))
        text_addf(&words, "prompt: unavailable: %s", d->prompt_why);
    else
        text_addf(&words, "prompt: %.1f %% of the peak of %s (%.3g Top/s)", d->prompt_share * 100,
                  d->limit_kind == TERN_LIMIT_INT8_DOT ? "int8 products" : "f32 multiply-adds",
                  d->prompt_limit * 1e-12);
    print_line("of the limit", text_string(&words));
    text_clear(&words);
    if (isnan(d->step_share))
        text_addf(&words, "one by one: unavailable: %s", d->share_why);
    else
        text_addf(
            &words,
            "one by one: %.1f %% of what caches and arithmetic allow; known for %.0f %% of the time that "
            "steps take",
            d->step_share * 100, d->step_share_of * 100);
    print_line("", text_string(&words));
    text_free(&words);
}

static void print_memory(const demo *d)
{
    char number[NUMBER_TEXT];
    text words = {0};
    if (d->peak_bytes)
        text_addf(&words, "%s at most for the process: ", format_bytes(number, d->peak_bytes));
    text_addf(&words, "model %s in its file,", format_bytes(number, d->file_bytes));
    text_addf(&words, " weights %s%s,", format_bytes(number, d->weight_bytes),
              d->packed ? "" : " before they are packed");
    text_addf(&words, " keys and values %s,", format_bytes(number, d->cache_bytes));
    text_addf(&words, " arena %s", format_bytes(number, d->arena_bytes));
    print_line("memory", text_string(&words));
    text_free(&words);
}

/* With less room the bar is shorter, then not there; then the name is. */
static void print_bar(const char *name, uint64_t ns, uint64_t all, style s)
{
    char number[NUMBER_TEXT];
    const double share = all ? (double)ns / (double)all : 0;
    const int indent = width() < 2 * NARROWEST ? 2 : 4, numbers = 1 + TIME + 1 + SHARE,
              room = width() - indent - numbers, left = room - NAME - 2,
              most = left < LEAST_BAR ? 0
                     : left < BAR     ? left
                                      : BAR,
              name_width = room < NAME ? room : NAME;
    text bar = {0};
    text_repeat(&bar, glyph_of(GLYPH_FULL), (int)(share * most + 0.5));
    format_time(number, ns);
    printf("%*s%-*.*s %*s%s %5.1f %%", indent, "", name_width, name_width, name, TIME - text_width(number),
           "", number, share * 100);
    if (bar.length > 0)
        printf("  %s%s%s", on(s), text_string(&bar), off(s));
    putchar('\n');
    text_free(&bar);
}

static void print_times(const demo *d)
{
    const uint64_t all = d->step_ns + d->wait_ns + d->other_ns;
    text words = {0};
    if (d->profiled == 0)
        text_addf(&words, "unavailable: %s", d->profile_why);
    else
        text_addf(&words,
                  "of %lld more tokens, every step timed, all threads together:", (long long)d->profiled);
    print_line("time", text_string(&words));
    text_free(&words);
    if (d->profiled == 0)
        return;
    for (int i = 0; i < d->n_parts; i++) {
        text name = {0};
        text_add_safe(&name, d->parts[i].name);
        print_bar(text_string(&name), d->parts[i].ns, all, STYLE_BAR);
        text_free(&name);
    }
    print_bar("outside the steps", d->other_ns, all, STYLE_OTHER_BAR);
    print_bar("threads wait", d->wait_ns, all, STYLE_OTHER_BAR);
}

static void print_next(const demo *d)
{
    const bool own = d->e.source.built_in;
    text model = {0};
    if (!own) {
        text_add(&model, " -m ");
        text_add_safe(&model, d->e.source.name);
    }
    printf("\n  %stry next%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
    static const char *const commands[][2] = {{"run", " -p \"First Citizen:\" -n 200"},
                                              {"profile --by part -- run", " -p \"Speak\" -n 100"},
                                              {"bench model", ""}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        text line = {0};
        text_addf(&line, "%s %s%s%s", term_program(), commands[i][0], text_string(&model), commands[i][1]);
        print_command(text_string(&line));
        text_free(&line);
    }
    text_free(&model);
}

void demo_print(const demo *d)
{
    tern_model_info info;
    char parameters[NUMBER_TEXT];
    text summary = {0};
    tern_model_get_info(d->e.model, &info);
    text_addf(&summary, "%s, %s parameters, %s", info.architecture, format_count(parameters, info.parameters),
              info.ternary ? "ternary" : "not ternary");
    putchar('\n');
    if (width() < WIDEST) {
        printf("%smeasured in this run%s\n", on(STYLE_TITLE), off(STYLE_TITLE));
        print_words(text_string(&summary), 0, 0, "");
        putchar('\n');
    } else {
        heading_print("measured in this run", text_string(&summary));
    }
    text_free(&summary);
    print_speed(d);
    print_limits(d);
    print_memory(d);
    print_times(d);
    print_next(d);
}

/* ---- for programs -------------------------------------------------------------------------------------------- */

static void add_why(json *j, const char *key, const char *why)
{
    json_string(j, key, *why ? why : NULL);
}

void demo_print_json(const demo *d)
{
    tern_model_info info;
    json j = {0};
    tern_model_get_info(d->e.model, &info);
    json_object(&j, NULL);
    json_string(&j, "model", d->e.source.name);
    json_bool(&j, "built_in", d->e.source.built_in);
    json_string(&j, "architecture", info.architecture);
    json_uint(&j, "parameters", info.parameters);
    json_int(&j, "threads", d->threads);
    json_uint(&j, "seed", d->passage.seed);
    json_string(&j, "prompt", text_string(&d->prompt));
    json_string(&j, "text", text_string(&d->passage.content));
    json_int(&j, "tokens", d->passage.result.tokens);
    json_string(&j, "ended_by", tern_finish_name(d->passage.result.finish));
    json_double(&j, "tokens_per_s", passage_rate(d));
    json_int(&j, "prompt_tokens", d->prompt_tokens);
    json_double(&j, "prompt_tokens_per_s", d->prompt_rate);
    json_double(&j, "prompt_share", d->prompt_share);
    json_string(&j, "prompt_limit", tern_limit_name(d->limit_kind));
    json_double(&j, "prompt_limit_per_s", d->prompt_limit > 0 ? d->prompt_limit : (double)NAN);
    add_why(&j, "prompt_unavailable", d->prompt_why);
    json_double(&j, "step_share", d->step_share);
    json_double(&j, "step_share_of", isnan(d->step_share) ? (double)NAN : d->step_share_of);
    add_why(&j, "step_share_unavailable", d->share_why);
    json_double(&j, "private_cache_bytes_per_s",
                isnan(d->step_share) ? (double)NAN : d->rates.cache_bytes_per_s);
    json_double(&j, "last_cache_bytes_per_s", isnan(d->step_share) ? (double)NAN : d->rates.last_bytes_per_s);
    json_object(&j, "memory");
    if (d->peak_bytes)
        json_uint(&j, "peak_bytes", d->peak_bytes);
    else
        json_null(&j, "peak_bytes");
    json_uint(&j, "file_bytes", d->file_bytes);
    json_uint(&j, "weight_bytes", d->weight_bytes);
    json_bool(&j, "weights_packed", d->packed);
    json_uint(&j, "cache_bytes", d->cache_bytes);
    json_uint(&j, "arena_bytes", d->arena_bytes);
    json_end(&j);
    json_object(&j, "time");
    json_int(&j, "tokens", d->profiled);
    add_why(&j, "unavailable", d->profile_why);
    json_array(&j, "parts");
    for (int i = 0; i < d->n_parts; i++) {
        json_object(&j, NULL);
        json_string(&j, "part", d->parts[i].name);
        json_uint(&j, "ns", d->parts[i].ns);
        json_end(&j);
    }
    json_end(&j);
    json_uint(&j, "steps_ns", d->step_ns);
    json_uint(&j, "outside_ns", d->other_ns);
    json_uint(&j, "wait_ns", d->wait_ns);
    json_end(&j);
    json_end(&j);
    json_print(&j);
}

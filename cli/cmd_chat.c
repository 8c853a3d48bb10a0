/* cmd_chat.c - `tern chat`: a conversation. Each turn the whole of it is rendered, and cut into tokens, as the model was trained to see
 * it; the longest beginning that the session holds already is not computed again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "clock.h"
#include "commands.h"
#include "edit.h"
#include "engine.h"
#include "progress.h"
#include "source.h"
#include "term.h"

typedef struct talk {
    engine e;
    const char *template; /* NULL: the file's */
    tern_generate_options generate;
    tern_sequence *sequence;
    tern_chat_message *messages; /* strings belong to it */
    size_t n, capacity;
    bool has_system; /* messages[0] is the system's */
    edit_history history;
    bool failed;             /* a message was not answered */
    bool typed;              /* by somebody, who presses Ctrl-C to stop an answer */
    struct sigaction ctrl_c; /* what it did before the conversation */
    metrics_file metrics;
} talk;

/* ---- messages ---- */

static void add_message(talk *t, const char *role, const char *content)
{
    if (t->n == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 16;
        t->messages = grab_more(t->messages, t->capacity, sizeof *t->messages);
    }
    t->messages[t->n++] = (tern_chat_message){role, grab_string(content, strlen(content))};
}

/* Drops messages [from, to). */
static void drop_messages(talk *t, size_t from, size_t to)
{
    if (from >= to)
        return;
    for (size_t i = from; i < to; i++)
        free((char *)t->messages[i].content);
    memmove(t->messages + from, t->messages + to, (t->n - to) * sizeof *t->messages);
    t->n -= to - from;
}

/* A new conversation; `system` NULL: without a word to the model before it. */
static void begin(talk *t, const char *system)
{
    drop_messages(t, 0, t->n);
    t->has_system = system && *system;
    if (t->has_system)
        add_message(t, "system", system);
}

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t interrupted; /* since the last line was entered */

static void on_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* For the whole of the conversation: between reading, answering and the next prompt a second Ctrl-C ends nothing either. */
static void catch_interrupts(struct sigaction *before)
{
    /* An answer that is being written when Ctrl-C comes is written to its end. */
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, before);
}

static bool take(void *user, const tern_generated *piece)
{
    return answer_take(user, piece) && !interrupted;
}

/* ---- a turn ---- */

static bool show_progress(void *user, uint64_t done, uint64_t total)
{
    return progress_update(user, done, total) && !interrupted;
}

/* Does the last message fit, with what the model is told before it, if all else is forgotten? TERN_LIMIT if not. */
static tern_status check_last(const talk *t)
{
    const int64_t context = tern_session_context(t->e.session);
    tern_chat_message few[2];
    int32_t *ids = NULL;
    size_t k = 0, n = 0;
    if (t->has_system)
        few[k++] = t->messages[0];
    few[k++] = t->messages[t->n - 1];
    TERN_TRY(tern_chat_encode(t->e.tokenizer, t->template, few, k, true, &ids, &n));
    tern_tokens_free(ids);
    if ((int64_t)n < context)
        return TERN_OK;
    fail("the message is %zu tokens long, and there is room for %lld: shorten it, or give a larger -c", n,
         (long long)context - 1);
    return TERN_LIMIT;
}

/* The conversation as tokens; its oldest turns are forgotten until there is room for an answer: a quarter of the context. */
static tern_status encode(talk *t, int32_t **ids, size_t *n)
{
    int64_t context = tern_session_context(t->e.session);
    size_t forgotten = 0;
    for (;;) {
        TERN_TRY(tern_chat_encode(t->e.tokenizer, t->template, t->messages, t->n, true, ids, n));
        size_t first = t->has_system;
        if ((int64_t)*n <= context - context / 4 || t->n - first < 3)
            break;
        tern_tokens_free(*ids);
        drop_messages(t, first, first + 2);
        forgotten += 2;
    }
    if (forgotten > 0)
        warn("the context is full: the oldest %zu messages are forgotten", forgotten);
    return TERN_OK;
}

static tern_status read_conversation(talk *t, size_t *n, uint64_t *ns)
{
    int32_t *ids = NULL;
    TERN_TRY(encode(t, &ids, n));
    uint64_t start = clock_ns();
    progress_begin_of("reading", "tokens");
    tern_status status = tern_sequence_prompt(t->sequence, ids, (int64_t)*n, show_progress, NULL);
    progress_end();
    *ns = clock_ns() - start;
    tern_tokens_free(ids);
    /* Ctrl-C is for the message; other signals are for the program, as they are while it answers. */
    if (progress_stopped_by() == SIGINT)
        interrupted = 1;
    else if (progress_stopped_by() != 0)
        raise(progress_stopped_by());
    return status;
}

static void print_speed(const talk *t, const answer *r, size_t n_prompt, uint64_t prompt_ns)
{
    int64_t reused = tern_sequence_reused(t->sequence), read = (int64_t)n_prompt - reused;
    fflush(stdout);
    fprintf(stderr, "%s[%lld token%s written at %.1f/s; %lld read at %.1f/s, %lld kept from before%s]%s\n",
            on(STYLE_DIM), (long long)r->result.tokens, r->result.tokens == 1 ? "" : "s",
            tokens_per_second(r->result.tokens - 1, r->result.ns), (long long)read,
            tokens_per_second(read, prompt_ns), (long long)reused,
            r->result.finish == TERN_FINISH_CONTEXT  ? "; the context is full"
            : r->result.finish == TERN_FINISH_CALLER ? "; stopped"
                                                     : "",
            off(STYLE_DIM));
}

/* Answers the last message, which is the user's. It goes if it cannot be answered. */
static void answer_last(talk *t)
{
    size_t n_prompt = 0;
    uint64_t prompt_ns = 0;
    answer r = {.stream = true, .keep = true, .metrics = &t->metrics, .begun_ns = clock_ns()};
    metrics_start_model(&t->metrics, "chat", &t->e, 1);
    const tern_status fits = check_last(t);
    tern_status status = fits == TERN_OK ? read_conversation(t, &n_prompt, &prompt_ns) : fits;
    if (status == TERN_OK)
        metrics_prompt(&t->metrics, (int64_t)n_prompt - tern_sequence_reused(t->sequence));
    if (status == TERN_OK)
        status = tern_generate(t->sequence, t->e.tokenizer, &t->generate, take, &r, &r.result);
    metrics_stop(&t->metrics, status == TERN_OK);
    if (status == TERN_OK) {
        putchar('\n');
        add_message(t, "assistant", text_string(&r.content));
        print_speed(t, &r, n_prompt, prompt_ns);
    } else {
        if (fits != TERN_LIMIT) /* that was said */
            fail_status(NULL);
        t->failed = true;
        drop_messages(t, t->n - 1, t->n);
    }
    answer_free(&r);
}

/* ---- lines ---- */

static void print_commands(void)
{
    puts("/clear          forget the conversation\n"
         "/system TEXT    begin anew, with this said to the model before it; without a text with nothing\n"
         "/again          another answer to the last message\n"
         "/help           this list\n"
         "/exit, /quit    leave, as does Ctrl-D\n"
         "A line that ends in \\ goes on in the next. Ctrl-C stops an answer.");
}

static void answer_again(talk *t)
{
    if (t->n < (size_t)t->has_system + 2) {
        warn("there is no answer yet");
        return;
    }
    drop_messages(t, t->n - 1, t->n);
    t->generate.sampling.seed++;
    answer_last(t);
}

/* A line that begins with '/'. False: leave. */
static bool obey(talk *t, const char *line)
{
    static const char system[] = "/system";
    size_t word = strcspn(line, " ");
    if (strcmp(line, "/exit") == 0 || strcmp(line, "/quit") == 0 || strcmp(line, "/bye") == 0)
        return false;
    if (strcmp(line, "/clear") == 0) {
        drop_messages(t, t->has_system, t->n);
    } else if (word == strlen(system) && strncmp(line, system, word) == 0) {
        begin(t, line + word + strspn(line + word, " "));
    } else if (strcmp(line, "/again") == 0) {
        answer_again(t);
    } else if (strcmp(line, "/help") == 0 || strcmp(line, "/?") == 0) {
        print_commands();
    } else {
        warn("there is no command %.*s; /help lists them", (int)(word < 40 ? word : 40), line);
    }
    return true;
}

/* On a terminal Ctrl-C is a key until the line is entered, and for the answer from then on. From a pipe it is for the program while
 * that waits: nobody has a Ctrl-D to end it by. */
static edit_end read_line(talk *t, const char *prompt, text *out)
{
    interrupted = 0;
    if (!t->typed)
        sigaction(SIGINT, &t->ctrl_c, NULL);
    const edit_end end = edit_read(&t->history, prompt, 2, out);
    if (!t->typed)
        catch_interrupts(NULL);
    if (!isatty(STDOUT_FILENO)) /* the terminal edits lines itself, and has sent a signal */
        interrupted = 0;
    return end;
}

/* A message, which may be of several lines. */
static edit_end read_message(talk *t, text *out)
{
    text line = {0};
    text_clear(out);
    edit_end end = read_line(t, "> ", &line);
    while (end == EDIT_LINE && line.length > 0 && line.data[line.length - 1] == '\\') {
        text_add_n(out, line.data, line.length - 1);
        text_add(out, "\n");
        end = read_line(t, ". ", &line);
    }
    text_add_n(out, text_string(&line), line.length);
    text_free(&line);
    return end;
}

static void converse(talk *t)
{
    text message = {0};
    bool go_on = true, hinted = false;
    t->typed = isatty(STDIN_FILENO) == 1;
    catch_interrupts(&t->ctrl_c);
    while (go_on) {
        edit_end end = read_message(t, &message);
        const char *words = text_string(&message);
        words += strspn(words, " \t\r");
        if (end == EDIT_CLOSED)
            break;
        if (strlen(text_string(&message)) != message.length) {
            fail("a message with a zero byte, which no text has, is left out");
            t->failed = true;
            continue;
        }
        if (end == EDIT_INTERRUPTED) {
            if (!hinted)
                warn("Ctrl-D or /exit leaves");
            hinted = true;
        } else if (*words == '/') {
            go_on = obey(t, words);
        } else if (*words) {
            add_message(t, "user", words);
            answer_last(t);
        }
    }
    sigaction(SIGINT, &t->ctrl_c, NULL);
    text_free(&message);
}

/* ---- the command ---- */

/* "; llama-2 fits its tokens", or ""; `to` is freed by text_free. */
static const char *fitting(const talk *t, text *to)
{
    const char *name;
    int n = 0;
    text names = {0};
    for (int i = 0; (name = tern_chat_template_name(i)) != NULL; i++) {
        char *rendered = NULL;
        if (tern_chat_render(t->e.tokenizer, name, NULL, 0, true, &rendered) == TERN_OK)
            text_addf(&names, "%s%s", n++ ? ", " : "", name);
        tern_string_free(rendered);
    }
    if (n > 0)
        text_addf(to, "; %s fit%s its tokens", text_string(&names), n == 1 ? "s" : "");
    text_free(&names);
    return text_string(to);
}

/* Says what is wrong, and what would fit. */
static int fail_template(const talk *t, const char *what)
{
    text fits = {0};
    const int code = fail("%s%s", what, fitting(t, &fits));
    text_free(&fits);
    return code;
}

/* A template that fits, or what to do about it; says which it is on a terminal. */
static int check_template(const talk *t)
{
    char *rendered = NULL;
    tern_tokenizer_info info;
    if (tern_tokenizer_get_info(t->e.tokenizer, &info) != TERN_OK)
        return fail_status(NULL);
    if (t->e.source.built_in)
        return fail("the built-in model continues texts and does not converse: 'tern run -p TEXT' shows it; "
                    "-m FILE names a model that does");
    if (!t->template && !info.chat_template)
        return fail_template(
            t, info.foreign_template
                   ? "the model's file has a chat template that is not known: choose one with --chat-template"
                   : "the model's file has no chat template: choose one with --chat-template");
    if (tern_chat_render(t->e.tokenizer, t->template, NULL, 0, true, &rendered) != TERN_OK) {
        char words[256];
        snprintf(words, sizeof words, "%s", last_words());
        return fail_template(t, words);
    }
    tern_string_free(rendered);
    tern_model_info model;
    tern_model_get_info(t->e.model, &model);
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fprintf(stderr,
                "%s%s, template %s, context %lld, seed %llu. /help lists commands, Ctrl-D leaves.%s\n",
                on(STYLE_DIM), model.architecture, t->template ? t->template : info.chat_template,
                (long long)tern_session_context(t->e.session), (unsigned long long)t->generate.sampling.seed,
                off(STYLE_DIM));
    return EXIT_DONE;
}

static int run(const args *a)
{
    talk t = {.template = args_value(a, "chat-template")};
    if (!engine_generate(a, &t.generate))
        return EXIT_USAGE;
    int code = metrics_open(a, &t.metrics);
    if (code == EXIT_DONE)
        code = engine_open(a, (engine_wishes){0}, &t.e);
    if (code == EXIT_DONE)
        code = check_template(&t);
    if (code == EXIT_DONE)
        code = engine_prepare(a, &t.e, &t.metrics);
    if (code == EXIT_DONE && tern_sequence_create(t.e.session, 0, &t.sequence) != TERN_OK)
        code = fail_status(NULL);
    if (code == EXIT_DONE) {
        text system = {0};
        if (args_has(a, "system"))
            add_argument(a, args_value(a, "system"), &system);
        begin(&t, text_string(&system));
        text_free(&system);
        converse(&t);
        if (t.failed && !t.typed) /* who types has seen it */
            code = EXIT_FAILED;
    }
    code = metrics_close(&t.metrics, code);
    drop_messages(&t, 0, t.n);
    free(t.messages);
    edit_history_free(&t.history);
    tern_sequence_free(t.sequence);
    engine_close(&t.e);
    return code;
}

static const option options[] = {
    ENGINE_OPTIONS_OF(MODEL_HELP_OF("; the built-in one continues texts, and does not converse"),
                      MODEL_CONTEXT),
    METRICS_OPTION,
    {"system", 0, "TEXT", NULL, "what the model is told before the conversation"},
    NO_ESCAPE_OPTION,
    {"chat-template", 0, "NAME", LIST_CHAT_TEMPLATES, "instead of what the model's file says"},
    N_PREDICT_OPTION("most tokens of an answer; -1 or -2 until the model ends it"),
    IGNORE_END_OPTION,
    SAMPLING_OPTIONS,
    {0},
};

const command cmd_chat = {
    .name = "chat",
    .operands = "",
    .summary = "Talk with a model.",
    .details = "Lines are edited with the usual keys, and the arrows go through what was said. Ctrl-C stops "
               "an answer, Ctrl-D "
               "leaves; /help lists what else there is. How fast it was comes on stderr after each turn. "
               "From a pipe each line "
               "is a message. Where the context ends, the oldest turns are forgotten, and that is said.",
    .options = options,
    .examples = "tern chat -m model.gguf --system \"You are brief.\"\n"
                "echo \"What is a tern?\" | tern chat -m model.gguf --temp 0 -n 60",
    .run = run,
};

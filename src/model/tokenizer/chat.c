/* chat.c - conversations as models were trained to see them: a table of templates, text and ids from its rows. Templates
 * in files are programs (Jinja); they are recognised by what they contain, and never run. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "model/tokenizer/tokenizer.h"
#include "base/utf8.h"

/* ---- the table ------------------------------------------------------------------------------------------ */

typedef enum role { SYSTEM, USER, ASSISTANT, N_ROLES } role;
static const char *const role_names[] = {"system", "user", "assistant"};

#define BOS "\1" /* stand for the vocabulary's own tokens */
#define EOS "\2"

typedef struct chat_template {
    const char *name;
    const char *marks[2][2]; /* a text with both words of a pair means this one */
    const char *needs;       /* a control token without which it makes no sense; NULL: none */
    const char *start;
    const char *before[N_ROLES], *after[N_ROLES];
    /* instead of before[USER]; NULL: the same, and system messages may be anywhere */
    const char *user_after_system;
    const char *answer;
} chat_template;

static const chat_template templates[] = {
    {
        /* The official GGUF has another one ("BITNETAssistant"), which the model was not trained with. */
        .name = "bitnet",
        .marks = {{"BITNETAssistant", ""}, {"capitalize", "<|eot_id|>"}},
        .needs = "<|eot_id|>",
        .start = BOS,
        .before = {"System: ", "User: ", "Assistant: "},
        .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
        .answer = "Assistant: ",
    },
    {
        .name = "llama-3",
        .marks = {{"<|start_header_id|>", "<|eot_id|>"}},
        .needs = "<|start_header_id|>",
        .start = BOS,
        .before = {"<|start_header_id|>system<|end_header_id|>\n\n",
                   "<|start_header_id|>user<|end_header_id|>\n\n",
                   "<|start_header_id|>assistant<|end_header_id|>\n\n"},
        .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
        .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n",
    },
    {
        .name = "llama-2",
        .marks = {{"[INST]", "<<SYS>>"}}, /* without a system's message it is some other family's */
        .start = "",
        .before = {BOS "[INST] <<SYS>>\n", BOS "[INST] ", " "},
        .after = {"\n<</SYS>>\n\n", " [/INST]", " " EOS},
        .user_after_system = "",
        .answer = "",
    },
};

const char *tern_chat_template_name(int i)
{
    return i >= 0 && (size_t)i < TERN__COUNT(templates) ? templates[i].name : NULL;
}

static tern_status fail_with_names(tern_status status, const char *what, const char *detail)
{
    tern__strbuf names = TERN__STRBUF_EMPTY;
    for (size_t i = 0; i < TERN__COUNT(templates); i++)
        tern__strbuf_addf(&names, "%s%s", i ? ", " : "", templates[i].name);
    status =
        tern__fail(status, "chat: %s%.60s; known templates: %s", what, detail, names.text ? names.text : "");
    tern__strbuf_free(&names);
    return status;
}

const char *tern__chat_recognise(const char *text)
{
    for (size_t i = 0; i < TERN__COUNT(templates); i++)
        for (size_t m = 0; m < 2; m++) {
            const char *const *pair = templates[i].marks[m];
            if (pair[0] && strstr(text, pair[0]) && strstr(text, pair[1]))
                return templates[i].name;
        }
    return NULL;
}

tern_status tern_chat_template_recognise(const char *text, const char **name)
{
    TERN__FAIL_IF(!text || !name, TERN_INVALID_ARGUMENT,
                  "chat_template_recognise: the text, or the place for the result, is NULL");
    const char *found = tern__chat_recognise(text);
    if (!found)
        return fail_with_names(TERN_UNSUPPORTED, "this template is not known", "");
    *name = found;
    return TERN_OK;
}

static tern_status find_template(const tern_tokenizer *t, const char *name, const chat_template **out)
{
    const char *wanted = name ? name : t->chat_template;
    if (!wanted)
        return fail_with_names(TERN_NOT_FOUND,
                               t->foreign_template ? "the file's template is not known; name one"
                                                   : "the file has no template; name one",
                               "");
    for (size_t i = 0; i < TERN__COUNT(templates); i++)
        if (strcmp(templates[i].name, wanted) == 0) {
            const char *needs = templates[i].needs;
            TERN__FAIL_IF(
                needs && !tern__specials_find(&t->specials, &t->vocab, needs, strlen(needs)), TERN_STATE,
                "chat: template '%s' needs the token %s, which this vocabulary does not have", wanted, needs);
            *out = &templates[i];
            return TERN_OK;
        }
    return fail_with_names(TERN_NOT_FOUND, "unknown template ", wanted);
}

/* ---- rendering ------------------------------------------------------------------------------------------ */

/* A text under construction, and where in it the messages are. */
typedef struct chat {
    const tern_tokenizer *t;
    tern__strbuf text;
    tern__protected *shields;
    size_t n_shields, capacity;
} chat;

static void add_own(chat *c, const char *text)
{
    for (; *text; text++) {
        int32_t id = *text == BOS[0] ? c->t->bos : *text == EOS[0] ? c->t->eos : TERN_NO_TOKEN;
        size_t length;
        if (*text != BOS[0] && *text != EOS[0])
            tern__strbuf_add_n(&c->text, text, 1);
        else if (id != TERN_NO_TOKEN) {
            const char *token = tern__vocab_text(&c->t->vocab, (uint32_t)id, &length);
            tern__strbuf_add_n(&c->text, token, length);
        }
    }
}

static tern_status add_content(chat *c, const char *content)
{
    size_t end = tern__utf8_without_blanks(content, strlen(content));
    size_t start = tern__utf8_behind_blanks(content, end, 0);
    if (!tern__grow((void **)&c->shields, &c->capacity, c->n_shields + 1, sizeof *c->shields))
        return tern__out_of_memory(c->n_shields * sizeof *c->shields);
    size_t from = c->text.length;
    tern__strbuf_add_n(&c->text, content + start, end - start);
    c->shields[c->n_shields++] = (tern__protected){from, c->text.length};
    return TERN_OK;
}

static tern_status find_role(const tern_chat_message *m, size_t i, role *out)
{
    TERN__FAIL_IF(!m->role || !m->content, TERN_INVALID_ARGUMENT,
                  "chat: message %zu has no role or no content", i);
    for (int r = 0; r < N_ROLES; r++)
        if (strcmp(role_names[r], m->role) == 0) {
            *out = (role)r;
            return TERN_OK;
        }
    return tern__fail(TERN_NOT_FOUND, "chat: message %zu is of '%.40s'; known roles: system, user, assistant",
                      i, m->role);
}

static tern_status add_messages(chat *c, const chat_template *row, const tern_chat_message *messages,
                                size_t n, bool answer)
{
    role before = N_ROLES;
    add_own(c, row->start);
    for (size_t i = 0; i < n; i++) {
        role r = USER;
        TERN_TRY(find_role(&messages[i], i, &r));
        bool joined = row->user_after_system && before == SYSTEM;
        TERN__FAIL_IF(
            (row->user_after_system && r == SYSTEM && i > 0) || (joined && r != USER), TERN_INVALID_ARGUMENT,
            "chat: template '%s' has a system message first only, with a user's behind it", row->name);
        add_own(c, joined ? row->user_after_system : row->before[r]);
        TERN_TRY(add_content(c, messages[i].content));
        add_own(c, row->after[r]);
        before = r;
    }
    if (answer)
        add_own(c, row->answer);
    tern__strbuf_add(&c->text, ""); /* even an empty text is one */
    return c->text.failed ? tern__out_of_memory(c->text.length) : TERN_OK;
}

static tern_status render(chat *c, const char *name, const tern_chat_message *messages, size_t n, bool answer)
{
    const chat_template *row = NULL;
    TERN_TRY(find_template(c->t, name, &row));
    return add_messages(c, row, messages, n, answer);
}

static void chat_free(chat *c)
{
    tern__strbuf_free(&c->text);
    tern__free(c->shields);
}

tern_status tern_chat_render(const tern_tokenizer *t, const char *name, const tern_chat_message *messages,
                             size_t n, bool answer, char **text)
{
    TERN__FAIL_IF(!t || (!messages && n > 0) || !text, TERN_INVALID_ARGUMENT,
                  "chat_render: the tokenizer, the messages, or the place for the result, is NULL");
    chat c = {.t = t};
    tern_status status = render(&c, name, messages, n, answer);
    if (status == TERN_OK)
        status = tern__strbuf_take(&c.text, text);
    chat_free(&c);
    return status;
}

tern_status tern_chat_encode(const tern_tokenizer *t, const char *name, const tern_chat_message *messages,
                             size_t n, bool answer, int32_t **ids, size_t *count)
{
    TERN__FAIL_IF(!t || (!messages && n > 0) || !ids || !count, TERN_INVALID_ARGUMENT,
                  "chat_encode: the tokenizer, the messages, or a place for the result, is NULL");
    chat c = {.t = t};
    tern__ids list = {0};
    tern_status status = render(&c, name, messages, n, answer);
    /* Templates have their own tokens at the start. */
    if (status == TERN_OK)
        status = tern__encode(t, c.text.text, c.text.length, false, c.shields, c.n_shields, &list);
    chat_free(&c);
    return tern__ids_take(&list, status, ids, count);
}

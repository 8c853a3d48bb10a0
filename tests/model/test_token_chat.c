/* test_token_chat.c - conversations by the templates' names, and which template a file's text means. */
#include <string.h>

#include <tern/graph.h>

#include "harness.h"
#include "vocabularies.h"

static const tern_chat_message talk[] = {
    {"system", "be brief"}, {"user", " hello \n"}, {"assistant", "hi"}, {"user", "the </s> end"}};

/* LLaMA-2's vocabulary is enough for a template that needs no token of its own. */
TEST(llama_2_text)
{
    tern_tokenizer *t;
    char *text;
    CHECK_OK(small_characters(true, &t));
    CHECK_OK(tern_chat_render(t, "llama-2", talk, 4, true, &text));
    CHECK_STR(text,
              "<s>[INST] <<SYS>>\nbe brief\n<</SYS>>\n\nhello [/INST] hi </s><s>[INST] the </s> end [/INST]");
    tern_string_free(text);
    CHECK_STATUS(tern_chat_render(t, "llama-2", talk, 1, false, NULL), TERN_INVALID_ARGUMENT);
    const tern_chat_message late[] = {{"user", "a"}, {"system", "b"}};
    CHECK_STATUS(tern_chat_render(t, "llama-2", late, 2, false, &text), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(),
              "chat: template 'llama-2' has a system message first only, with a user's behind it");
    tern_tokenizer_free(t);
}

static int count_of(const int32_t *ids, size_t n, int32_t id)
{
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += ids[i] == id;
    return count;
}

TEST(control_tokens_of_messages_are_text)
{
    tern_tokenizer *t;
    int32_t *ids;
    size_t n;
    CHECK_OK(small_characters(true, &t));
    CHECK_OK(tern_chat_encode(t, "llama-2", talk, 4, true, &ids, &n));
    CHECK_EQ(count_of(ids, n, 1), 2);
    CHECK_EQ(count_of(ids, n, 2), 1);
    tern_tokens_free(ids);
    tern_tokenizer_free(t);
}

TEST(errors_list_what_is_known)
{
    tern_tokenizer *t;
    char *text;
    CHECK_OK(small_characters(true, &t));
    CHECK_STATUS(tern_chat_render(t, "chatml", talk, 4, true, &text), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "chat: unknown template chatml; known templates: bitnet, llama-3, llama-2");
    CHECK_STATUS(tern_chat_render(t, NULL, talk, 4, true, &text), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(),
              "chat: the file has no template; name one; known templates: bitnet, llama-3, llama-2");
    CHECK_STATUS(tern_chat_render(t, "bitnet", talk, 4, true, &text), TERN_STATE);
    CHECK_STR(tern_last_error(),
              "chat: template 'bitnet' needs the token <|eot_id|>, which this vocabulary does not have");
    const tern_chat_message tool = {"tool", "x"}, nobody = {NULL, "x"};
    CHECK_STATUS(tern_chat_render(t, "llama-2", &tool, 1, true, &text), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(), "chat: message 0 is of 'tool'; known roles: system, user, assistant");
    CHECK_STATUS(tern_chat_render(t, "llama-2", &nobody, 1, true, &text), TERN_INVALID_ARGUMENT);
    tern_tokenizer_free(t);
}

TEST(templates_of_files_are_recognised)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"{% for message in messages %}{{ 'Human: ' + message['content'] + '\\n\\nBITNETAssistant: ' + "
         "eos_token }}{% endfor %}",
         "bitnet"},
        {"{% for m in messages %}{{ m['role'] | capitalize + ': ' + m['content'] | trim + '<|eot_id|>' }}{% "
         "endfor %}",
         "bitnet"},
        {"{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + "
         "'<|eot_id|>' }}",
         "llama-3"},
        {"{{ '[INST] ' + '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + content + ' [/INST]' }}",
         "llama-2"},
        {"{{ '<|im_start|>' + m['role'] }}", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = NULL;
        tern_status status = tern_chat_template_recognise(cases[i].text, &name);
        CHECK_EQ(status, cases[i].name ? TERN_OK : TERN_UNSUPPORTED);
        CHECK_STR(name, cases[i].name);
    }
    CHECK_STR(tern_last_error(),
              "chat: this template is not known; known templates: bitnet, llama-3, llama-2");
}

TEST(names)
{
    CHECK_STR(tern_chat_template_name(0), "bitnet");
    CHECK_STR(tern_chat_template_name(1), "llama-3");
    CHECK_STR(tern_chat_template_name(3), NULL);
    CHECK_STR(tern_chat_template_name(-1), NULL);
}

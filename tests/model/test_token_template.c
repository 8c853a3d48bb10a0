/* test_token_template.c - chat templates that stand beside a model of safetensors: in chat_template.jinja or in
 * tokenizer_config.json. They are recognised by their words; nothing in them is ever run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tern/graph.h>

#include "bytes.h"
#include "harness.h"
#include "vocabularies.h"

#define FOLDER "templates"

static void store_text(const char *name, const char *text)
{
    static bytes b;
    char inside[128];
    b.n = 0;
    put(&b, text, strlen(text));
    snprintf(inside, sizeof inside, FOLDER "/%s", name);
    store(&b, inside);
}

static void remove_text(const char *name)
{
    char inside[128], path[4096];
    snprintf(inside, sizeof inside, FOLDER "/%s", name);
    if (harness_path(path, sizeof path, inside))
        unlink(path);
}

/* A folder with a model of no tensors and a tokenizer, and nothing else. False: the test has ended, or failed. */
static bool make_folder(void)
{
    static bytes b;
    char path[4096];
    const char *root = getenv("TERN_SOURCE_DIR");
    if (harness_path(path, sizeof path, FOLDER))
        mkdir(path, 0777);
    b.n = 0;
    put_text(&b, "{}");
    store(&b, FOLDER "/model.safetensors");
    snprintf(path, sizeof path, "%s/tests/model/tokenizers/llama-2.json", root ? root : ".");
    size_t length;
    char *text = read_whole(path, &length);
    store_text("tokenizer.json", text ? text : "");
    free(text);
    remove_text("chat_template.jinja");
    remove_text("tokenizer_config.json");
    return harness_check_eq(text != NULL, true, __FILE__, __LINE__, path, "true");
}

/* The tokenizer of that folder's model. */
static tern_status open_tokenizer(tern_tokenizer **out)
{
    char path[4096];
    tern_model_file *file;
    harness_path(path, sizeof path, FOLDER "/model.safetensors");
    TERN_TRY(tern_model_file_open(path, NULL, &file));
    tern_status status = tern_tokenizer_from_file(file, NULL, out);
    tern_model_file_close(file);
    return status;
}

/* Which template the folder has: its name, "foreign", or "none". */
static const char *template_of_folder(void)
{
    tern_tokenizer *t;
    tern_tokenizer_info info = {0};
    if (!harness_check_ok(open_tokenizer(&t), __FILE__, __LINE__, FOLDER))
        return "";
    tern_status status = tern_tokenizer_get_info(t, &info);
    tern_tokenizer_free(t);
    if (status != TERN_OK || (info.chat_template && info.foreign_template))
        return "nonsense";
    return info.chat_template ? info.chat_template : info.foreign_template ? "foreign" : "none";
}

/* Without libjansson no tokenizer.json can be read. */
static bool ready(void)
{
    tern_tokenizer *t;
    if (!make_folder())
        return false;
    tern_status status = open_tokenizer(&t);
    if (status == TERN_OK)
        tern_tokenizer_free(t);
    const bool lacking = status == TERN_UNSUPPORTED && strstr(tern_last_error(), "no libjansson");
    if (lacking)
        harness_skip(tern_last_error());
    return !lacking && harness_check_ok(status, __FILE__, __LINE__, FOLDER);
}

static const char llama_2[] = "{{ bos_token + '[INST] ' + '<<SYS>>\\n' + m['content'] + ' [/INST]' }}";
static const char llama_3[] = "{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>' + '<|eot_id|>' }}";
static const char mistral[] = "{{ bos_token }}{{ '[INST] ' + m['content'] + ' [/INST]' }}";

TEST(a_file_of_its_own)
{
    if (!ready())
        return;
    CHECK_STR(template_of_folder(), "none");
    store_text("chat_template.jinja", llama_3);
    CHECK_STR(template_of_folder(), "llama-3");
    store_text("chat_template.jinja", mistral);
    CHECK_STR(template_of_folder(), "foreign");
    store_text("chat_template.jinja", "");
    CHECK_STR(template_of_folder(), "none");
}

TEST(a_member_of_the_configuration)
{
    static const struct {
        const char *config, *name;
    } cases[] = {
        {"{\"chat_template\": \"{{ m['role'] | capitalize + ': ' + m['content'] + '<|eot_id|>' }}\"}",
         "bitnet"},
        {"{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"{{ tools }}\"},"
         "{\"name\": \"default\", \"template\": \"[INST] <<SYS>>\"}]}",
         "llama-2"},
        {"{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"{{ tools }}\"}]}", "foreign"},
        {"{\"chat_template\": \"<|im_start|>\"}", "foreign"},
        {"{\"chat_template\": [17, {\"name\": 3}, {\"template\": []}, null]}", "none"},
        {"{\"chat_template\": {\"default\": \"[INST] <<SYS>>\"}}", "none"},
        {"{\"chat_template\": null}", "none"},
        {"{\"bos_token\": \"<s>\"}", "none"},
        {"[]", "none"},
        {"{\"chat_template\": \"[INST] <<SYS>>", "none"}, /* no JSON */
        {"", "none"},
    };
    if (!ready())
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        store_text("tokenizer_config.json", cases[i].config);
        CHECK_STR(template_of_folder(), cases[i].name);
    }
}

TEST(the_file_of_its_own_counts_first)
{
    if (!ready())
        return;
    store_text("tokenizer_config.json", "{\"chat_template\": \"[INST] <<SYS>>\"}");
    CHECK_STR(template_of_folder(), "llama-2");
    store_text("chat_template.jinja", llama_3);
    CHECK_STR(template_of_folder(), "llama-3");
}

TEST(conversations_follow_it)
{
    const tern_chat_message talk[] = {{"user", "hello"}};
    tern_tokenizer *t;
    char *text;
    if (!ready())
        return;
    store_text("chat_template.jinja", llama_2);
    CHECK_OK(open_tokenizer(&t));
    CHECK_OK(tern_chat_render(t, NULL, talk, 1, true, &text));
    CHECK_STR(text, "<s>[INST] hello [/INST]");
    tern_string_free(text);
    tern_tokenizer_free(t);
    store_text("chat_template.jinja", mistral);
    CHECK_OK(open_tokenizer(&t));
    CHECK_STATUS(tern_chat_render(t, NULL, talk, 1, true, &text), TERN_NOT_FOUND);
    CHECK_STR(tern_last_error(),
              "chat: the file's template is not known; name one; known templates: bitnet, llama-3, llama-2");
    tern_tokenizer_free(t);
}

/* Whatever else it says has no effect: were it run, this one would not end, fail, or leave a file behind. */
TEST(they_are_never_run)
{
    const tern_chat_message talk[] = {{"user", "hello"}};
    char source[8192], path[4096];
    tern_tokenizer *t;
    char *text;
    if (!ready() || !harness_path(path, sizeof path, FOLDER "/run"))
        return;
    unlink(path);
    snprintf(source, sizeof source,
             "{%% for i in range(99999999999) %%}{{ cycler.__init__.__globals__.os.system('touch %s') }}"
             "{{ 1 / 0 }}{%% endfor %%}{{ raise_exception('no') }}{%% if %%}%s",
             path, llama_2);
    store_text("chat_template.jinja", source);
    CHECK_OK(open_tokenizer(&t));
    CHECK_OK(tern_chat_render(t, NULL, talk, 1, true, &text));
    CHECK_STR(text, "<s>[INST] hello [/INST]");
    CHECK(access(path, F_OK) != 0);
    tern_string_free(text);
    tern_tokenizer_free(t);
}

/* fuzz_chat.c - libFuzzer target: any bytes as the files with a chat template that stand beside a tokenizer.json, and as a message.
 * Up to the first zero byte it is the message, up to the second tokenizer_config.json, behind it chat_template.jinja; an empty file
 * is left out. A template is recognised as one that is known, or is none; and whatever a message says, it adds no control token. */
#include "fuzz_model.h"
#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void copy_tokenizer(void)
{
    static char text[1 << 14];
    FILE *file = fopen("tests/model/tokenizers/llama-3.json", "rb");
    fuzz_require(file != NULL);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    fuzz_require(size > 0 && size < sizeof text);
    fuzz_store("tokenizer.json", text, size);
}

static size_t count_controls(const tern_tokenizer *t, const char *name, const char *content)
{
    const tern_chat_message message = {"user", content};
    int32_t *ids;
    char *text;
    size_t n, controls = 0;
    fuzz_check(tern_chat_render(t, name, &message, 1, true, &text) == TERN_OK, "render");
    tern_string_free(text);
    fuzz_check(tern_chat_encode(t, name, &message, 1, true, &ids, &n) == TERN_OK, "encode");
    for (size_t i = 0; i < n; i++) {
        tern_token_info token;
        fuzz_check(tern_tokenizer_token(t, ids[i], &token) == TERN_OK, "token");
        controls += token.type == TERN_TOKEN_CONTROL;
    }
    tern_tokens_free(ids);
    return controls;
}

static void use(const tern_tokenizer *t, const char *content)
{
    tern_tokenizer_info info;
    const char *name;
    bool known = false;
    fuzz_check(tern_tokenizer_get_info(t, &info) == TERN_OK, "info");
    for (int i = 0; (name = tern_chat_template_name(i)); i++) {
        known = known || (info.chat_template && strcmp(info.chat_template, name) == 0);
        fuzz_check(count_controls(t, name, content) == count_controls(t, name, ""), "a message has controls");
    }
    fuzz_check(known == (info.chat_template != NULL), "a template that is not known");
    fuzz_check(!known || !info.foreign_template, "known, and not known");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    tern_tokenizer *t;
    const char *name;
    if (!ready)
        copy_tokenizer();
    ready = true;
    char *content = fuzz_next(&data, &size);
    fuzz_store_next("tokenizer_config.json", &data, &size);
    unlink(fuzz_path("chat_template.jinja"));
    if (size > 0)
        fuzz_store("chat_template.jinja", data, size);
    tern_status status = tern_tokenizer_load(fuzz_path("tokenizer.json"), NULL, &t);
    if (status != TERN_UNAVAILABLE) { /* a build without PCRE2 or jansson */
        fuzz_check(status == TERN_OK, "the tokenizer does not load");
        use(t, content);
        tern_tokenizer_free(t);
    }
    if (tern_chat_template_recognise(content, &name) != TERN_OK)
        fuzz_check(tern_last_error()[0] && !strchr(tern_last_error(), '\n'), "not one line");
    free(content);
    return 0;
}

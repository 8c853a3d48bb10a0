/* cmd_tokenize.c - `tern tokenize`: text to the ids of a model's tokenizer, and back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/model_file.h>
#include <tern/tokenizer.h>

#include "commands.h"
#include "engine.h"
#include "json.h"
#include "source.h"
#include "table.h"
#include "term.h"

static const table_column columns[] = {
    {"id", true, false, STYLE_NUMBER},
    {"type", false, false, STYLE_DIM},
    {"text", false, false, STYLE_NONE},
};

static const char *type_name(tern_token_type type)
{
    switch (type) {
    case TERN_TOKEN_NORMAL:
        return "";
    case TERN_TOKEN_UNKNOWN:
        return "unknown";
    case TERN_TOKEN_CONTROL:
        return "control";
    case TERN_TOKEN_USER_DEFINED:
        return "user-defined";
    case TERN_TOKEN_UNUSED:
        return "unused";
    case TERN_TOKEN_BYTE:
        return "byte";
    }
    return "";
}

/* ---- input -------------------------------------------------------------------------------------------------- */

static bool load(const args *a, tern_tokenizer **out)
{
    const char *own = args_value(a, "tokenizer");
    tern_tokenizer_options options = tern_tokenizer_options_default();
    options.pre = args_value(a, "pre");
    model_source model = {0};
    tern_status status;
    if (own) {
        status = tern_tokenizer_load(own, &options, out);
    } else {
        if (model_open(a, NULL, &model) != EXIT_DONE)
            return false;
        status = tern_tokenizer_from_file(model.file, &options, out);
        model_close(&model);
    }
    if (status != TERN_OK)
        fail_status(NULL);
    return status == TERN_OK;
}

/* "1 2,3" as ids; false: it is something else, and that was said. */
static bool read_ids(const char *list, int32_t **out, size_t *count)
{
    size_t n = 0;
    int32_t *ids = grab(strlen(list) + 1, sizeof *ids);
    for (const char *at = list + strspn(list, " ,\t\r\n"); *at; at += strspn(at, " ,\t\r\n")) {
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        if (end == at || errno || id < 0 || id > INT32_MAX || (*end && !strchr(" ,\t\r\n", *end))) {
            free(ids);
            fail_usage("--decode takes ids such as '1 2 3', not '%s'", list);
            return false;
        }
        ids[n++] = (int32_t)id;
        at = end;
    }
    *out = ids;
    *count = n;
    return true;
}

/* ---- output ------------------------------------------------------------------------------------------------- */

/* In quotes; what a terminal cannot show, as in C. */
static void add_quoted(text *t, tern_token_text token)
{
    text_add(t, "'");
    for (size_t i = 0; i < token.length;) {
        char c[5] = "";
        memcpy(c, token.bytes + i, token.length - i < 4 ? token.length - i : 4);
        size_t whole = text_character(c);
        unsigned char byte = (unsigned char)c[0];
        if (byte == '\n' || byte == '\t' || byte == '\r')
            text_add(t, byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : "\\r");
        else if (byte < ' ' || byte == 0x7F || whole == 0)
            text_addf(t, "\\x%02X", byte);
        else
            text_add_n(t, c, whole);
        i += whole > 0 ? whole : 1;
    }
    text_add(t, "'");
}

static void print_table(const tern_tokenizer *t, const int32_t *ids, size_t count, size_t bytes)
{
    table out = table_make(columns, sizeof columns / sizeof columns[0]);
    text cell = {0};
    for (size_t i = 0; i < count; i++) {
        tern_token_info token;
        if (tern_tokenizer_token(t, ids[i], &token) != TERN_OK)
            continue; /* they come from the tokenizer itself */
        text_clear(&cell);
        add_quoted(&cell, token.text);
        table_addf(&out, "%d", ids[i]);
        table_add(&out, type_name(token.type));
        table_add(&out, text_string(&cell));
    }
    table_print(&out, 2, true);
    text_clear(&cell);
    text_add_plural(&cell, (int64_t)count, "token");
    text_addf(&cell, ", ");
    text_add_plural(&cell, (int64_t)bytes, "byte");
    printf("\n%s\n", text_string(&cell));
    text_free(&cell);
}

static void add_id(json *j, const char *key, int32_t id)
{
    if (id == TERN_NO_TOKEN)
        json_null(j, key);
    else
        json_int(j, key, id);
}

static void add_info(json *j, const tern_tokenizer *t)
{
    tern_tokenizer_info info;
    if (tern_tokenizer_get_info(t, &info) != TERN_OK)
        return;
    json_object(j, "tokenizer");
    json_string(j, "model", info.model);
    json_string(j, "pre", info.pre);
    json_int(j, "tokens", info.n_tokens);
    add_id(j, "bos", info.bos);
    add_id(j, "eos", info.eos);
    add_id(j, "eot", info.eot);
    json_string(j, "chat_template", info.chat_template);
    json_end(j);
}

static void print_json(const tern_tokenizer *t, const int32_t *ids, size_t count)
{
    json j = {0};
    json_object(&j, NULL);
    add_info(&j, t);
    json_uint(&j, "count", count);
    json_array(&j, "tokens");
    for (size_t i = 0; i < count; i++) {
        tern_token_info token;
        if (tern_tokenizer_token(t, ids[i], &token) != TERN_OK)
            continue;
        char *shown = grab_string(token.text.bytes, token.text.length);
        json_object(&j, NULL);
        json_int(&j, "id", ids[i]);
        json_string_n(&j, "text", shown, token.text.length);
        if (*type_name(token.type))
            json_string(&j, "type", type_name(token.type));
        json_end(&j);
        free(shown);
    }
    json_end(&j);
    json_end(&j);
    json_print(&j);
}

static void print_ids(const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%d", i ? " " : "", ids[i]);
    putchar('\n');
}

/* ---- the two directions ------------------------------------------------------------------------------------- */

static int decode(const args *a, const tern_tokenizer *t, const int32_t *ids, size_t count)
{
    tern_decode_options options = tern_decode_options_default();
    options.show_special = args_has(a, "special");
    options.keep_invalid = !args_has(a, "json");
    char *out;
    size_t length;
    if (tern_tokenizer_decode(t, ids, count, &options, &out, &length) != TERN_OK)
        return fail_status(NULL);
    if (args_has(a, "json")) {
        json j = {0};
        json_object(&j, NULL);
        add_info(&j, t);
        json_string_n(&j, "text", out, length);
        json_end(&j);
        json_print(&j);
    } else {
        fwrite(out, 1, length, stdout);
        putchar('\n');
    }
    tern_string_free(out);
    return EXIT_DONE;
}

static int encode(const args *a, const tern_tokenizer *t, const text *prompt)
{
    int32_t *ids;
    size_t count;
    tern_status status;
    if (args_has(a, "chat")) {
        const char *name = args_value(a, "chat");
        tern_chat_message message = {"user", text_string(prompt)};
        status =
            tern_chat_encode(t, strcmp(name, "auto") == 0 ? NULL : name, &message, 1, true, &ids, &count);
    } else {
        tern_encode_options options = tern_encode_options_default();
        options.no_special = args_has(a, "no-bos");
        options.parse_special = args_has(a, "special");
        status = tern_tokenizer_encode(t, text_string(prompt), prompt->length, &options, &ids, &count);
    }
    if (status != TERN_OK)
        return fail_status(NULL);
    if (args_has(a, "json"))
        print_json(t, ids, count);
    else if (args_has(a, "ids"))
        print_ids(ids, count);
    else
        print_table(t, ids, count, prompt->length);
    tern_tokens_free(ids);
    return EXIT_DONE;
}

static int run(const args *a)
{
    const char *list = args_value(a, "decode");
    if (args_has(a, "tokenizer") ? args_has(a, "model") : !model_is_there(a))
        return fail_usage("name either a model (-m FILE) or a tokenizer (--tokenizer FILE)");
    if ((args_has(a, "prompt") != 0) + (args_has(a, "file") != 0) + (list != NULL) > 1)
        return fail_usage("only one of -p, -f and --decode says what to do");
    static const char *const clashes[][2] = {
        {"decode", "ids"},  {"decode", "chat"},  {"decode", "pre"}, {"decode", "no-bos"},
        {"chat", "no-bos"}, {"chat", "special"}, {"json", "ids"},
    };
    for (size_t i = 0; i < sizeof clashes / sizeof *clashes; i++)
        if (args_has(a, clashes[i][0]) && args_has(a, clashes[i][1]))
            return fail_usage("--%s and --%s do not go together", clashes[i][0], clashes[i][1]);
    int32_t *ids = NULL;
    size_t count = 0;
    if (list && !read_ids(list, &ids, &count))
        return EXIT_USAGE;
    tern_tokenizer *t = NULL;
    text prompt = {0};
    int code = EXIT_FAILED;
    if (load(a, &t) && (list || read_prompt(a, &prompt) == EXIT_DONE))
        code = list ? decode(a, t, ids, count) : encode(a, t, &prompt);
    text_free(&prompt);
    free(ids);
    tern_tokenizer_free(t);
    return code;
}

static const option options[] = {
    {"model", 'm', "FILE", NULL, "the model whose tokenizer it is (default: the built-in one)"},
    {"tokenizer", 0, "FILE", NULL, "a tokenizer.json, a tokenizer of llama2.c, or a GGUF file"},
    {"prompt", 'p', "TEXT", NULL, "the text, with escapes such as \\n"},
    {"file", 'f', "FILE", NULL, "a file with the text; without -p and -f it is read from standard input"},
    NO_ESCAPE_OPTION,
    {"decode", 0, "IDS", NULL, "print the text of these ids, '1 2 3', instead"},
    {"special", 0, NULL, NULL, "control tokens in the text are tokens; with --decode, show them"},
    {"no-bos", 0, NULL, NULL, "leave out the tokens that the model has at the start and the end of a text"},
    {"chat", 0, "TEMPLATE", NULL,
     "the text is a user's message: encode it as the template has it; 'auto': the one of the file"},
    {"pre", 0, "NAME", LIST_PRETOKENIZERS, "how text is cut, instead of what the file says"},
    {"ids", 0, NULL, NULL, "print only the ids, on one line"},
    {"json", 0, NULL, NULL, "print JSON"},
    {0},
};

const command cmd_tokenize = {
    .name = "tokenize",
    .operands = "",
    .summary = "Show the tokens of a text, or the text of tokens.",
    .details = "Text becomes the ids that the model was trained with. Control tokens such as <|eot_id|> are "
               "ordinary text "
               "unless --special is given.",
    .options = options,
    .examples = "tern tokenize -m model.gguf -p \"Hello world\"\n"
                "tern tokenize --tokenizer tokenizer.json -f text.txt --ids\n"
                "tern tokenize -m model.gguf --decode \"128000 9906 1917\"\n"
                "tern tokenize -m model.gguf --chat bitnet -p hi",
    .run = run,
};

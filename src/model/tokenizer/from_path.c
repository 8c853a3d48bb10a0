/* from_path.c - a tokenizer from a file of any kind: tokenizer.json, llama2.c's .bin, or the model file that has one. */
#include <string.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

typedef enum kind { GGUF, JSON, BIN } kind;

/* By content: GGUF's name, or an object behind blanks. */
static tern_status find_kind(const tern__file *file, kind *out)
{
    tern__reader r = {.file = file};
    uint8_t c = ' ';
    char magic[4] = "";
    if (file->bytes >= sizeof magic)
        TERN_TRY(tern__file_read(file, 0, magic, sizeof magic));
    while (r.at < file->bytes && strchr(" \t\r\n", c) && tern__reader_u8(&r, "text", &c) == TERN_OK && c)
        continue;
    tern__reader_free(&r);
    *out = memcmp(magic, "GGUF", sizeof magic) == 0 ? GGUF : c == '{' ? JSON : BIN;
    return TERN_OK;
}

static tern_status load_gguf(const char *path, const tern_tokenizer_options *options, tern_tokenizer **out)
{
    tern_model_file *file;
    TERN_TRY(tern_model_file_open(path, NULL, &file));
    tern_status status = tern_tokenizer_from_file(file, options, out);
    tern_model_file_close(file);
    return status;
}

tern_status tern__vocabulary_load_json(const char *path, bool pre_wanted, tern__vocabulary_fn take,
                                       void *user)
{
    char *text = NULL, *template = NULL;
    size_t length = 0;
    tern_status status = tern__file_read_all(path, TERN__MOST_TOKENIZER, &text, &length);
    if (status == TERN_OK)
        status = tern__chat_template_beside(path, &template);
    if (status == TERN_OK)
        status = tern__vocabulary_parse_json(path, text, length, pre_wanted, template, take, user);
    tern__free(text);
    tern__free(template);
    return status;
}

tern_status tern_tokenizer_load(const char *path, const tern_tokenizer_options *options, tern_tokenizer **out)
{
    TERN__FAIL_IF(!path || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_load: the path, or the place for the result, is NULL");
    tern__file file;
    kind k;
    TERN_TRY(tern__file_open(path, &file));
    tern__tokenizer_request request = {options, out};
    tern_status status = find_kind(&file, &k);
    if (status == TERN_OK && k == BIN)
        status = tern__vocabulary_of_bin(&file, tern__tokenizer_make, &request);
    tern__file_close(&file);
    if (status == TERN_OK && k == GGUF)
        return load_gguf(path, options, out);
    if (status == TERN_OK && k == JSON)
        status = tern__vocabulary_load_json(path, options && options->pre, tern__tokenizer_make, &request);
    return tern__fail_of(status, path);
}

tern_status tern_tokenizer_parse_json(const char *text, size_t length, const tern_tokenizer_options *options,
                                      tern_tokenizer **out)
{
    TERN__FAIL_IF(!text || !out, TERN_INVALID_ARGUMENT,
                  "tokenizer_parse_json: the text, or the place for the result, is NULL");
    return tern__vocabulary_parse_json("tokenizer.json", text, length, options && options->pre, NULL,
                                       tern__tokenizer_make, &(tern__tokenizer_request){options, out});
}

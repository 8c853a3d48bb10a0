/* load.c - tokenizers in files of their own: tokenizer.json, llama2.c's .bin, or the model file that has one. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

enum { MOST_BYTES = 256 << 20 }; /* the largest real ones have 20 MiB */

/* ---- llama2.c's .bin: i32 longest, then for each token f32 score, i32 length, bytes ------------------------ */

typedef struct bin {
    tern_token_text *tokens;
    float *scores;
    int32_t *types;
    size_t token_capacity, score_capacity, type_capacity;
    size_t n;
    char *text; /* of all tokens, blanks as U+2581; tokens point into it */
} bin;

static void free_bin(bin *b)
{
    tern__free(b->tokens);
    tern__free(b->scores);
    tern__free(b->types);
    tern__free(b->text);
}

static uint32_t read_u32(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The format has no types: the first three are the special ones, then come the bytes. */
static int32_t type_of(size_t id, const char *text, size_t length)
{
    if (id < 3)
        return id == 0 ? TERN_TOKEN_UNKNOWN : TERN_TOKEN_CONTROL;
    return id < 3 + 256 && tern__byte_token_value(text, length) >= 0 ? TERN_TOKEN_BYTE : TERN_TOKEN_NORMAL;
}

static tern_status add_bin_token(bin *b, const char *bytes, size_t length, float score, char **room)
{
    if (!tern__grow((void **)&b->tokens, &b->token_capacity, b->n + 1, sizeof *b->tokens) ||
        !tern__grow((void **)&b->scores, &b->score_capacity, b->n + 1, sizeof *b->scores) ||
        !tern__grow((void **)&b->types, &b->type_capacity, b->n + 1, sizeof *b->types))
        return tern__out_of_memory(b->n * sizeof *b->tokens);
    char *text = *room;
    b->types[b->n] = type_of(b->n, bytes, length);
    for (size_t i = 0; i < length; i++) {
        bool blank = bytes[i] == ' ' && b->types[b->n] == TERN_TOKEN_NORMAL;
        memcpy(*room, blank ? TERN__LOW_LINE : bytes + i, blank ? 3 : 1);
        *room += blank ? 3 : 1;
    }
    b->tokens[b->n] = (tern_token_text){text, (size_t)(*room - text)};
    b->scores[b->n++] = score;
    return TERN_OK;
}

static tern_status read_bin(bin *b, const char *bytes, size_t length)
{
    b->text = tern__alloc(3 * length);
    if (!b->text)
        return tern__out_of_memory(3 * length);
    char *room = b->text;
    uint32_t longest = length >= 4 ? read_u32(bytes) : 0;
    for (size_t at = 4; at < length;) {
        uint32_t size = length - at >= 8 ? read_u32(bytes + at + 4) : UINT32_MAX;
        TERN__FAIL_IF(b->n == TERN__MAX_TOKENS, TERN_LIMIT, "more than %d tokens", TERN__MAX_TOKENS);
        TERN__FAIL_IF(longest == 0 || longest > TERN__MAX_TOKEN_BYTES || size > longest ||
                          size > length - at - 8,
                      TERN_FORMAT, "neither a tokenizer.json nor a tokenizer of llama2.c");
        uint32_t bits = read_u32(bytes + at);
        float score;
        memcpy(&score, &bits, sizeof score);
        TERN_TRY(add_bin_token(b, bytes + at + 8, size, score, &room));
        at += 8 + size;
    }
    TERN__FAIL_IF(b->n < 3, TERN_FORMAT, "neither a tokenizer.json nor a tokenizer of llama2.c");
    return TERN_OK;
}

static tern_status parse_bin(const char *bytes, size_t length, const tern_tokenizer_options *options,
                             tern_tokenizer **out)
{
    bin b = {0};
    tern_status status = read_bin(&b, bytes, length);
    if (status == TERN_OK) {
        tern_vocabulary d = tern_vocabulary_default();
        d.model = "llama";
        d.tokens = b.tokens;
        d.scores = b.scores;
        d.types = b.types;
        d.n_tokens = b.n;
        d.unk = 0;
        d.bos = 1;
        d.eos = 2;
        status = tern_tokenizer_create(&d, options, out);
    }
    free_bin(&b);
    return status;
}

/* ---- any file ------------------------------------------------------------------------------------------- */

tern_status tern__tokenizer_read_all(const char *path, char **out, size_t *length)
{
    tern__file file;
    TERN_TRY(tern__file_open(path, &file));
    tern_status status = TERN_OK;
    char *bytes = NULL;
    if (file.bytes > MOST_BYTES)
        status = tern__fail(TERN_LIMIT, "%s: larger than any tokenizer (256 MiB)", path);
    else if (!(bytes = tern__alloc((size_t)file.bytes + 1)))
        status = tern__out_of_memory((size_t)file.bytes);
    else
        status = tern__file_read(&file, 0, bytes, (size_t)file.bytes);
    *length = (size_t)file.bytes;
    tern__file_close(&file);
    if (status != TERN_OK) {
        tern__free(bytes);
        return status;
    }
    bytes[*length] = '\0';
    *out = bytes;
    return TERN_OK;
}

static bool is_gguf(const char *path)
{
    char magic[4] = "";
    tern__file file;
    if (tern__file_open(path, &file) != TERN_OK)
        return false;
    bool gguf =
        file.bytes >= 4 && tern__file_read(&file, 0, magic, 4) == TERN_OK && memcmp(magic, "GGUF", 4) == 0;
    tern__file_close(&file);
    return gguf;
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
    tern_status status = tern__tokenizer_read_all(path, &text, &length);
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
    if (is_gguf(path))
        return load_gguf(path, options, out);
    char *bytes = NULL;
    size_t length = 0;
    TERN_TRY(tern__tokenizer_read_all(path, &bytes, &length));
    bool json = bytes[strspn(bytes, " \t\r\n")] == '{';
    tern_status status = json ? TERN_OK : parse_bin(bytes, length, options, out);
    tern__free(bytes);
    if (json)
        status = tern__vocabulary_load_json(path, options && options->pre, tern__tokenizer_make,
                                            &(tern__tokenizer_request){options, out});
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

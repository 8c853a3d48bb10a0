/* from_bin.c - llama2.c's tokenizers: i32 longest, then for each token f32 score, i32 length, bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "base/status.h"
#include "model/tokenizer/tokenizer.h"

typedef struct bin {
    tern_token_text *tokens;
    float *scores;
    int32_t *types;
    size_t token_capacity, score_capacity, type_capacity;
    size_t n;
    char *text; /* of all tokens, blanks as U+2581; tokens point into it */
    char *end;  /* of the room in it */
} bin;

/* The largest file whose tokens are within the limits of vocabularies: a score and a length beside each text. */
enum { MOST_BYTES = TERN__MAX_VOCAB_BYTES + 8 * TERN__MAX_TOKENS + 4 };

static void free_bin(bin *b)
{
    tern__free(b->tokens);
    tern__free(b->scores);
    tern__free(b->types);
    tern__free(b->text);
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
    TERN__FAIL_IF((size_t)(b->end - *room) < 3 * length, TERN_LIMIT,
                  "the texts of its tokens are larger than those of any vocabulary (%d MiB)",
                  TERN__MAX_VOCAB_BYTES >> 20);
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

static tern_status fail_unknown(void)
{
    return tern__fail(TERN_FORMAT, "neither a tokenizer.json nor a tokenizer of llama2.c");
}

/* `start`: the first four bytes. SentencePiece's begin with a message (10) of some length that begins with a text (10). */
static tern_status fail_start(uint32_t start)
{
    TERN__FAIL_IF((start & 0xff00ff) == 0x0a000a, TERN_UNSUPPORTED,
                  "it is a tokenizer.model of SentencePiece's, which cannot be read: name the model's "
                  "tokenizer.json, or a "
                  "GGUF file that has the tokenizer");
    return fail_unknown();
}

/* One token behind another, to the end of the file. */
static tern_status read_tokens(bin *b, tern__reader *r, uint32_t longest, char *room)
{
    while (r->at < r->file->bytes) {
        uint32_t bits, size;
        float score;
        TERN__FAIL_IF(b->n == TERN__MAX_TOKENS, TERN_LIMIT, "more than %d tokens", TERN__MAX_TOKENS);
        if (tern__reader_u32(r, "a score", &bits) != TERN_OK ||
            tern__reader_u32(r, "a length", &size) != TERN_OK || size > longest ||
            tern__reader_take(r, size, "a token") != TERN_OK)
            return fail_unknown();
        memcpy(&score, &bits, sizeof score);
        TERN_TRY(add_bin_token(b, (const char *)r->bytes + r->at - size, size, score, &room));
    }
    return b->n < 3 ? fail_unknown() : TERN_OK;
}

static tern_status read_bin(bin *b, const tern__file *file)
{
    tern__reader r = {.file = file};
    uint32_t longest = 0;
    tern_status status = TERN_OK;
    if (tern__reader_u32(&r, "the longest", &longest) != TERN_OK || longest == 0 ||
        longest > TERN__MAX_TOKEN_BYTES)
        status = fail_start(longest);
    else if (file->bytes > MOST_BYTES)
        status = tern__fail(TERN_LIMIT, "larger than any tokenizer of llama2.c (%d MiB)", MOST_BYTES >> 20);
    const size_t most = TERN__MAX_VOCAB_BYTES + 3 * (size_t)TERN__MAX_TOKEN_BYTES,
                 room = 3 * (size_t)file->bytes < most ? 3 * (size_t)file->bytes : most;
    if (status == TERN_OK && !(b->text = tern__alloc(room)))
        status = tern__out_of_memory(room);
    if (status == TERN_OK) {
        b->end = b->text + room;
        status = read_tokens(b, &r, longest, b->text);
    }
    tern__reader_free(&r);
    return status;
}

tern_status tern__vocabulary_of_bin(const tern__file *file, tern__vocabulary_fn take, void *user)
{
    bin b = {0};
    tern_status status = read_bin(&b, file);
    if (status == TERN_OK) {
        tern_vocabulary d = tern_vocabulary_default();
        d.model = tern__token_family_names[TERN__TOKENS_BY_CHARACTERS];
        d.tokens = b.tokens;
        d.scores = b.scores;
        d.types = b.types;
        d.n_tokens = b.n;
        d.unk = 0;
        d.bos = 1;
        d.eos = 2;
        status = take(&d, user);
    }
    free_bin(&b);
    return status;
}

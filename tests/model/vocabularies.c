/* vocabularies.c - tokenizers for tests. */
#include "vocabularies.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>

#include "harness.h"

/* ---- files ---------------------------------------------------------------------------------------------- */

char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    size_t n = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(n + 1);
    if (text) {
        *length = fread(text, 1, n, file);
        text[*length] = '\0';
    }
    fclose(file);
    return text;
}

tern_status load_gguf(const char *path, const char *pre, tern_tokenizer **out)
{
    tern_model_file *file;
    TERN_TRY(tern_model_file_open(path, NULL, &file));
    tern_tokenizer_options options = {.pre = pre};
    tern_status status = tern_tokenizer_from_file(file, &options, out);
    tern_model_file_close(file);
    return status;
}

/* ---- small ones ----------------------------------------------------------------------------------------- */

typedef struct small {
    char texts[512][32];
    tern_token_text tokens[512];
    int32_t types[512];
    float scores[512];
    size_t n;
} small;

static void add(small *s, const char *text, tern_token_type type, float score)
{
    snprintf(s->texts[s->n], sizeof s->texts[s->n], "%s", text);
    s->tokens[s->n] = (tern_token_text){s->texts[s->n], strlen(text)};
    s->types[s->n] = (int32_t)type;
    s->scores[s->n++] = score;
}

static tern_vocabulary vocabulary(const small *s, const char *model)
{
    tern_vocabulary d = tern_vocabulary_default();
    d.model = model;
    d.tokens = s->tokens;
    d.types = s->types;
    d.n_tokens = s->n;
    return d;
}

/* GPT-2's alphabet, written from its definition. */
static void add_alphabet(small *s)
{
    int next = 0x100;
    for (int b = 0; b < 256; b++) {
        bool same = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
        int c = same ? b : next++;
        char text[3] = {(char)c, '\0', '\0'};
        if (c >= 0x80)
            text[0] = (char)(0xC0 | c >> 6), text[1] = (char)(0x80 | (c & 0x3F));
        add(s, text, TERN_TOKEN_NORMAL, 0);
    }
}

tern_status small_bytes(const char *pre, tern_tokenizer **out)
{
    static const char *const merges[] = {"t h", "th e", "\xC4\xA0 the", "l l", "o \xC4\xA0"};
    static const char *const words[] = {"th", "the", "\xC4\xA0the", "ll", "o\xC4\xA0"};
    static small s;
    tern_token_text list[5];
    s.n = 0;
    add_alphabet(&s);
    for (int i = 0; i < 5; i++) {
        add(&s, words[i], TERN_TOKEN_NORMAL, 0);
        list[i] = (tern_token_text){merges[i], strlen(merges[i])};
    }
    add(&s, "<|bos|>", TERN_TOKEN_CONTROL, 0);
    add(&s, "<|eot_id|>", TERN_TOKEN_CONTROL, 0);
    add(&s, "[x]", TERN_TOKEN_USER_DEFINED, 0);
    tern_vocabulary d = vocabulary(&s, "gpt2");
    d.pre = pre ? pre : "llama-bpe";
    d.merges = list;
    d.n_merges = 5;
    d.bos = 261;
    return tern_tokenizer_create(&d, NULL, out);
}

tern_status small_characters(bool bytes, tern_tokenizer **out)
{
    static const char *const words[] = {
        "\xE2\x96\x81",  "t", "h", "e", "a", "th", "the", "\xE2\x96\x81the", "he", "\xC3\xA4",
        "\xE2\x96\x81t", "zz"};
    static small s;
    s.n = 0;
    add(&s, "<unk>", TERN_TOKEN_UNKNOWN, 0);
    add(&s, "<s>", TERN_TOKEN_CONTROL, 0);
    add(&s, "</s>", TERN_TOKEN_CONTROL, 0);
    for (int b = 0; b < 256 && bytes; b++) {
        char name[16];
        snprintf(name, sizeof name, "<0x%02X>", b);
        add(&s, name, TERN_TOKEN_BYTE, 0);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        add(&s, words[i], TERN_TOKEN_NORMAL, -(float)i);
    tern_vocabulary d = vocabulary(&s, "llama");
    d.scores = s.scores;
    d.unk = 0;
    d.bos = 1;
    d.eos = 2;
    return tern_tokenizer_create(&d, NULL, out);
}

/* ---- use ------------------------------------------------------------------------------------------------ */

bool ids_text(const tern_tokenizer *t, const char *text, size_t length, bool add_special, bool parse,
              char *out, size_t size)
{
    int32_t *ids;
    size_t count, used = 0;
    tern_encode_options options = {.no_special = !add_special, .parse_special = parse};
    if (!harness_check_ok(tern_tokenizer_encode(t, text, length, &options, &ids, &count), __FILE__, __LINE__,
                          text))
        return false;
    out[0] = '\0';
    for (size_t i = 0; i < count && used + 16 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%d", i ? " " : "", ids[i]);
    tern_tokens_free(ids);
    return true;
}

bool round_trip(const tern_tokenizer *t, const char *text, size_t length)
{
    int32_t *ids;
    size_t count, back_length;
    char *back;
    tern_encode_options none = {.no_special = true};
    tern_decode_options options = {.keep_invalid = true};
    if (tern_tokenizer_encode(t, text, length, &none, &ids, &count) != TERN_OK)
        return false;
    bool same = tern_tokenizer_decode(t, ids, count, &options, &back, &back_length) == TERN_OK;
    tern_tokens_free(ids);
    if (!same)
        return false;
    same = back_length == length && memcmp(back, text, length) == 0;
    tern_string_free(back);
    return same;
}

/* ---- random texts --------------------------------------------------------------------------------------- */

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 8;
}

static size_t random_character(uint64_t *random, char *out)
{
    static const uint32_t tops[] = {0x80, 0x80, 0x800, 0x3100, 0x110000};
    uint32_t c;
    do
        c = (uint32_t)(next_random(random) % tops[next_random(random) % 5]);
    while ((c >= 0xD800 && c < 0xE000) || c == 0x2581);
    if (c < 0x80)
        return out[0] = (char)c, 1;
    if (c < 0x800)
        return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3F)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xE0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3F)),
               out[2] = (char)(0x80 | (c & 0x3F)), 3;
    return out[0] = (char)(0xF0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 0x3F)),
           out[2] = (char)(0x80 | (c >> 6 & 0x3F)), out[3] = (char)(0x80 | (c & 0x3F)), 4;
}

size_t random_text(uint64_t *random, size_t least, bool any_bytes, char out[static RANDOM_TEXT])
{
    size_t n = 0;
    while (n < least) {
        if (any_bytes && next_random(random) % 8 == 0)
            out[n++] = (char)next_random(random);
        else
            n += random_character(random, out + n);
    }
    return n;
}

/* test_tokens.c - encoding and decoding with small vocabularies, where every id can be worked out by hand; round trips of
 * random text; what a vocabulary must not be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>
#include <tern/graph.h>

#include "harness.h"
#include "tiny_model.h"
#include "vocabularies.h"

/* The tokenizer of the test, or the test ends with the reason. */
#define MAKE(call)                       \
    do {                                 \
        tern_status status_ = (call);    \
        if (status_ == TERN_UNAVAILABLE) \
            SKIP(tern_last_error());     \
        CHECK_STATUS(status_, TERN_OK);  \
    } while (0)

#define CHECK_IDS(t, text, add, parse, want)                                               \
    do {                                                                                   \
        char ids_[4096];                                                                   \
        CHECK(ids_text((t), (text), sizeof(text) - 1, (add), (parse), ids_, sizeof ids_)); \
        CHECK_STR(ids_, (want));                                                           \
    } while (0)

/* ---- bytes ---------------------------------------------------------------------------------------------- */

TEST(bytes_merge_inside_pieces)
{
    tern_tokenizer *t;
    MAKE(small_bytes(NULL, &t));
    CHECK_IDS(t, "", false, false, "");
    CHECK_IDS(t, "the", false, false, "257");
    CHECK_IDS(t, " the the", false, false, "258 258");
    CHECK_IDS(t, "o the", false, false, "111 258"); /* "o " would cross pieces */
    CHECK_IDS(t, "tthe", false, false, "116 257");
    CHECK_IDS(t, "ll", false, false, "259");
    CHECK_IDS(t, "lll", false, false, "259 108"); /* the leftmost of equals */
    CHECK_IDS(t, "llll", false, false, "259 259");
    tern_tokenizer_free(t);
}

TEST(bytes_pieces_of_llama_3)
{
    tern_tokenizer *t;
    MAKE(small_bytes(NULL, &t));
    CHECK_IDS(t, "o\n", false, false, "111 10");
    CHECK_IDS(t, "\xE1\xA0\x8Ethe", false, false, "225 160 142 257"); /* U+180E is no blank */
    CHECK_IDS(t, "\xC2\xA0 the", false, false, "194 160 258");        /* U+00A0 is one */
    CHECK_IDS(t, "a\0the", false, false, "97 0 257");                 /* a zero is text */
    tern_tokenizer_free(t);
}

TEST(bytes_control_tokens_are_text_unless_allowed)
{
    tern_tokenizer *t;
    MAKE(small_bytes(NULL, &t));
    CHECK_IDS(t, "a<|eot_id|>", false, true, "97 262");
    CHECK_IDS(t, "a<|eot_id|>", false, false, "97 60 124 101 111 116 95 105 100 124 62");
    CHECK_IDS(t, "a<|eot_id|", false, true, "97 60 124 101 111 116 95 105 100 124");
    CHECK_IDS(t, "[x]the", false, false, "263 257"); /* user-defined ones are always found */
    CHECK_IDS(t, "the", true, false, "261 257");
    CHECK_IDS(t, "", true, false, "261");
    tern_tokenizer_free(t);
}

/* What a model has behind a text is not behind one that is to be continued. */
TEST(texts_that_go_on_are_not_closed)
{
    static const struct {
        tern_encode_options how;
        const char *ids;
    } cases[] = {{{0}, "0 2 1"},
                 {{.goes_on = true}, "0 2"},
                 {{.no_special = true}, "2"},
                 {{.no_special = true, .goes_on = true}, "2"}};
    static const tern_token_text tokens[] = {{"<s>", 3}, {"</s>", 4}, {"a", 1}};
    static const int32_t types[] = {TERN_TOKEN_CONTROL, TERN_TOKEN_CONTROL, TERN_TOKEN_NORMAL};
    static const float scores[3];
    tern_tokenizer *t;
    tern_vocabulary d = tern_vocabulary_default();
    d.model = "llama";
    d.tokens = tokens;
    d.types = types;
    d.scores = scores;
    d.n_tokens = 3;
    d.bos = 0;
    d.eos = 1;
    d.add_eos = TERN_TRISTATE_YES;
    d.add_space = TERN_TRISTATE_NO;
    CHECK_OK(tern_tokenizer_create(&d, NULL, &t));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64] = "";
        int32_t *ids;
        size_t n;
        CHECK_OK(tern_tokenizer_encode(t, "a", 1, &cases[i].how, &ids, &n));
        for (size_t k = 0; k < n; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", k ? " " : "", ids[k]);
        tern_tokens_free(ids);
        CHECK_STR(text, cases[i].ids);
    }
    tern_tokenizer_free(t);
}

TEST(bytes_that_are_not_text)
{
    tern_tokenizer *t;
    MAKE(small_bytes(NULL, &t));
    CHECK_IDS(t, "the\xFFthe", false, false, "257 255 257");
    CHECK_IDS(t, "\xF0\x9F", false, false, "240 159");
    CHECK_IDS(t, "\xED\xA0\x80", false, false, "237 160 128"); /* a surrogate */
    CHECK(round_trip(t, "a\xC0\xAF\xFE", 4));
    tern_tokenizer_free(t);
}

TEST(bytes_without_merges_use_ids_as_ranks)
{
    tern_tokenizer *t;
    static const char *const words[] = {"a", "b", "c", "bc", "ab", "abc"};
    tern_token_text tokens[6];
    for (int i = 0; i < 6; i++)
        tokens[i] = (tern_token_text){words[i], strlen(words[i])};
    tern_vocabulary d = tern_vocabulary_default();
    d.model = "gpt2";
    d.pre = "gpt-2";
    d.tokens = tokens;
    d.n_tokens = 6;
    MAKE(tern_tokenizer_create(&d, NULL, &t));
    CHECK_IDS(t, "abc", false, false, "5");
    CHECK_IDS(t, "bbc", false, false, "1 3");
    int32_t *ids;
    size_t count;
    CHECK_STATUS(tern_tokenizer_encode(t, "x", 1, NULL, &ids, &count), TERN_FORMAT); /* no token for it */
    tern_tokenizer_free(t);
}

/* ---- characters ----------------------------------------------------------------------------------------- */

/* 259 "▁", then t h e a th the ▁the he ä ▁t zz: 270. */
TEST(characters_merge_by_score)
{
    tern_tokenizer *t;
    CHECK_OK(small_characters(true, &t));
    CHECK_IDS(t, "", false, false, "");
    CHECK_IDS(t, "the", false, false, "266");
    CHECK_IDS(t, "the", true, false, "1 266");
    CHECK_IDS(t, " the", false, false, "259 266");
    CHECK_IDS(t, "thethe", false, false, "266 265");
    CHECK_IDS(t, "\xC3\xA4", false, false, "259 268");
    CHECK_IDS(t, "b\xE2\x82\xAC", false, false, "259 101 229 133 175"); /* bytes: 3 + value */
    CHECK_IDS(t, "zz", false, false, "259 270");                        /* "z" is no token, "zz" is */
    CHECK_IDS(t, "zzz", false, false, "259 270 125");
    CHECK_IDS(t, "\xFF", false, false, "259 258");
    CHECK_IDS(t, "</s>the", false, true, "2 266");
    CHECK(strlen(tern_last_error()) < 1000);
    CHECK(round_trip(t, "the  \xF0\x9F\xA6\x99 the\n", 14));
    CHECK(round_trip(t, " the", 4));
    tern_tokenizer_free(t);
}

TEST(characters_without_bytes_are_unknown)
{
    tern_tokenizer *t;
    CHECK_OK(small_characters(false, &t));
    CHECK_IDS(t,
              "theb\xE2\x82\xAC"
              "a",
              false, false, "10 0 7"); /* one for a run */
    tern_tokenizer_free(t);
}

/* ---- decoding ------------------------------------------------------------------------------------------- */

static void check_decoded(const tern_tokenizer *t, const int32_t *ids, size_t count,
                          tern_decode_options options, const char *want)
{
    char *text;
    size_t length;
    CHECK_OK(tern_tokenizer_decode(t, ids, count, &options, &text, &length));
    CHECK_EQ(length, strlen(want));
    CHECK_STR(text, want);
    tern_string_free(text);
}

TEST(decoding_options)
{
    tern_tokenizer *t;
    CHECK_OK(small_characters(true, &t));
    check_decoded(t, (int32_t[]){1, 266, 266, 2}, 4, (tern_decode_options){0}, "the the");
    check_decoded(t, (int32_t[]){1, 266, 266, 2}, 4, (tern_decode_options){.goes_on = true}, " the the");
    check_decoded(t, (int32_t[]){1, 266, 2}, 3, (tern_decode_options){.show_special = true, .goes_on = true},
                  "<s> the</s>");
    check_decoded(t, (int32_t[]){0}, 1, (tern_decode_options){.goes_on = true}, " \xE2\x81\x87 ");
    check_decoded(t, (int32_t[]){229, 133, 175}, 3, (tern_decode_options){.goes_on = true}, "\xE2\x82\xAC");
    check_decoded(t, (int32_t[]){229, 133, 262}, 3, (tern_decode_options){.goes_on = true},
                  "\xEF\xBF\xBD"
                  "e");
    check_decoded(t, (int32_t[]){229, 133, 262}, 3,
                  (tern_decode_options){.goes_on = true, .keep_invalid = true},
                  "\xE2\x82"
                  "e");
    check_decoded(t, NULL, 0, (tern_decode_options){.goes_on = true}, "");
    char *text;
    size_t length;
    CHECK_STATUS(tern_tokenizer_decode(t, (int32_t[]){271}, 1, NULL, &text, &length), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_tokenizer_decode(t, (int32_t[]){-1}, 1, NULL, &text, &length), TERN_OUT_OF_RANGE);
    tern_tokenizer_free(t);
}

static bool is_utf8(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        for (size_t k = 1; k < n; k++)
            if (i + k >= length || ((unsigned char)text[i + k] & 0xC0) != 0x80)
                return false;
        i += n;
    }
    return true;
}

/* Random ids, most of them single bytes, so that characters are cut and spoilt in every way. */
static void check_stream(const tern_tokenizer *t, uint64_t *random, int32_t n_tokens, bool keep)
{
    int32_t ids[64];
    char *whole, joined[8192];
    size_t whole_length, n = 0, length;
    const char *piece;
    tern_detokenizer *d;
    tern_decode_options options = {.keep_invalid = keep};
    for (int i = 0; i < 64; i++)
        ids[i] = (int32_t)(next_random(random) % (uint64_t)n_tokens);
    CHECK_OK(tern_tokenizer_decode(t, ids, 64, &options, &whole, &whole_length));
    CHECK_OK(tern_detokenizer_create(t, &options, &d));
    for (int i = 0; i <= 64; i++) {
        if (i < 64)
            CHECK_OK(tern_detokenizer_push(d, ids[i], &piece, &length));
        else
            CHECK_OK(tern_detokenizer_finish(d, &piece, &length));
        CHECK(keep || is_utf8(piece, length));
        CHECK_EQ(strlen(piece) <= length, 1);
        memcpy(joined + n, piece, length);
        n += length;
    }
    CHECK_EQ(n, whole_length);
    CHECK(memcmp(joined, whole, n) == 0);
    tern_detokenizer_free(d);
    tern_string_free(whole);
}

TEST(streaming_is_the_same_as_whole_and_never_cuts_characters)
{
    uint64_t random = harness_seed() | 1;
    tern_tokenizer *t;
    CHECK_OK(small_characters(true, &t));
    for (int i = 0; i < 500; i++)
        check_stream(t, &random, 271, i % 2);
    tern_tokenizer_free(t);
    MAKE(small_bytes(NULL, &t));
    for (int i = 0; i < 500; i++)
        check_stream(t, &random, 256, i % 2);
    tern_tokenizer_free(t);
}

/* ---- round trips ---------------------------------------------------------------------------------------- */

static void check_random_texts(const tern_tokenizer *t, uint64_t *random, bool any_bytes)
{
    for (int i = 0; i < 300; i++) {
        char text[RANDOM_TEXT];
        CHECK(round_trip(t, text, random_text(random, 100 + (size_t)i % 100, any_bytes, text)));
    }
}

TEST(random_text_comes_back)
{
    uint64_t random = harness_seed() | 1;
    tern_tokenizer *t;
    CHECK_OK(small_characters(true, &t));
    check_random_texts(t, &random, false);
    check_random_texts(t, &random, true);
    tern_tokenizer_free(t);
    for (int i = 0; tern_pretokenizer_name(i); i++) {
        MAKE(small_bytes(tern_pretokenizer_name(i), &t));
        check_random_texts(t, &random, false);
        check_random_texts(t, &random, true);
        tern_tokenizer_free(t);
    }
}

/* ---- tokenizers and models ------------------------------------------------------------------------------- */

static tern_status some_tokens(size_t n, tern_tokenizer **out)
{
    tern_token_text texts[TINY_VOCABULARY + 1];
    char words[TINY_VOCABULARY + 1][24];
    tern_vocabulary d = tern_vocabulary_default();
    for (size_t i = 0; i < n; i++) {
        snprintf(words[i], sizeof words[i], "w%zu", i);
        texts[i] = (tern_token_text){words[i], strlen(words[i])};
    }
    d.model = "llama";
    d.tokens = texts;
    d.n_tokens = n;
    return tern_tokenizer_create(&d, NULL, out);
}

/* It may have fewer tokens than the model, not more; where nobody can say how many the model has, any. */
TEST(of_a_model)
{
    static const uint8_t no_tensors[24] = {'G', 'G', 'U', 'F', 3};
    char path[4096], message[4200];
    tern_model_file *file, *none;
    tern_tokenizer *t;
    CHECK(harness_path(path, sizeof path, "of_a_model.gguf") && tiny_model(path, "llama"));
    CHECK_OK(tern_model_file_open(path, NULL, &file));
    CHECK_OK(tern_model_file_open_memory(no_tensors, sizeof no_tensors, "none", NULL, &none));
    CHECK_EQ(tern_model_file_vocabulary(file), TINY_VOCABULARY);
    CHECK_EQ(tern_model_file_vocabulary(none), 0);
    for (size_t n = TINY_VOCABULARY - 1; n <= TINY_VOCABULARY; n++) {
        CHECK_OK(some_tokens(n, &t));
        CHECK_OK(tern_tokenizer_check(t, file));
        tern_tokenizer_free(t);
    }
    CHECK_OK(some_tokens(TINY_VOCABULARY + 1, &t));
    CHECK_STATUS(tern_tokenizer_check(t, file), TERN_SHAPE);
    snprintf(message, sizeof message,
             "%s: the tokenizer has 49 tokens, but the model knows 48: it is not this model's", path);
    CHECK_STR(tern_last_error(), message);
    CHECK_OK(tern_tokenizer_check(t, none));
    tern_tokenizer_free(t);
    tern_model_file_close(none);
    tern_model_file_close(file);
}

/* ---- files that do not say how text is cut --------------------------------------------------------------- */

static void check_pre(const char *architecture, const char *pre, const char *token, const char *wanted,
                      const char *want)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    tern_token_text text = {token, strlen(token)};
    tern_vocabulary d = tern_vocabulary_default();
    tern_tokenizer_options options = {.pre = wanted};
    d.model = "gpt2";
    d.architecture = architecture;
    d.pre = pre;
    d.tokens = &text;
    d.n_tokens = 1;
    MAKE(tern_tokenizer_create(&d, &options, &t));
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.pre, want);
    tern_tokenizer_free(t);
}

TEST(missing_pre)
{
    check_pre("bitnet-b1.58", NULL, "a", NULL, "llama-bpe");
    check_pre("bitnet-25", NULL, "a", NULL, "llama-bpe");
    check_pre("bitnet", NULL, "a", NULL, "llama-bpe");
    check_pre("bitnet-b1.58", NULL, "a", "default", "default");
    check_pre("bitnet-b1.58", "gpt-2", "a", NULL, "gpt-2");
    check_pre("llama", NULL, "a", NULL, "default");
    check_pre("llama", NULL, "<|begin_of_text|>", NULL, "llama-bpe");
    check_pre("gpt2", NULL, "a", NULL, "gpt-2");
    check_pre(NULL, NULL, "a", NULL, "default");
    check_pre("llama", "llama3", "a", NULL, "llama-bpe");
    check_pre("llama", "qwen2", "a", "gpt-2", "gpt-2");
}

TEST(a_rule_where_nothing_is_cut)
{
    tern_tokenizer *t = NULL;
    const tern_token_text text = {"a", 1};
    const tern_tokenizer_options options = {.pre = "gpt-2"};
    tern_vocabulary d = tern_vocabulary_default();
    d.model = "llama";
    d.pre = "gpt-2"; /* what a file says is passed by, as it always was */
    d.tokens = &text;
    d.n_tokens = 1;
    CHECK_STATUS(tern_tokenizer_create(&d, &options, &t), TERN_UNSUPPORTED);
    CHECK_STR(tern_last_error(),
              "tokenizer: 'gpt-2' would change nothing: tokenizers of the family 'llama' do not cut text");
    CHECK_OK(tern_tokenizer_create(&d, NULL, &t));
    tern_tokenizer_free(t);
}

/* ---- long texts ----------------------------------------------------------------------------------------- */

/* A megabyte of one thing each. Quadratic time would be hours, so that this test would not come to its end. */
static void check_long(const tern_tokenizer *t)
{
    static const char *const things[] = {
        "a",         " ",   "\n",      "th",   "the",          " the",
        "1",         "<",   "!",       "\xFF", "\xE2\x96\x81", "\xF0\x9F\xA6\x99",
        "<|eot_id|", " \n", "\xCC\x88"};
    enum { LENGTH = HARNESS_ASAN || HARNESS_TSAN ? 1 << 17 : 1 << 20 }; /* sanitizers are slow enough */
    char *text = malloc(LENGTH + 16);
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        size_t n = 0, length = strlen(things[i]);
        for (; n < LENGTH; n += length)
            memcpy(text + n, things[i], length);
        int32_t *ids;
        size_t count;
        tern_encode_options options = {.no_special = true, .parse_special = true};
        CHECK_OK(tern_tokenizer_encode(t, text, n, &options, &ids, &count));
        CHECK(count > 0);
        tern_tokens_free(ids);
    }
    free(text);
}

TEST(long_texts)
{
    tern_tokenizer *t;
    CHECK_OK(small_characters(true, &t));
    check_long(t);
    tern_tokenizer_free(t);
    for (int i = 0; tern_pretokenizer_name(i); i++) {
        MAKE(small_bytes(tern_pretokenizer_name(i), &t));
        check_long(t);
        tern_tokenizer_free(t);
    }
}

/* ---- bad vocabularies ----------------------------------------------------------------------------------- */

static const tern_token_text two[] = {{"a", 1}, {"<0x-1>", 6}};

static void check_refused(tern_vocabulary d, tern_status status, const char *sentence)
{
    tern_tokenizer *t = NULL;
    CHECK_STATUS(tern_tokenizer_create(&d, NULL, &t), status);
    CHECK(!t);
    CHECK_STR(tern_last_error(), sentence);
}

static tern_vocabulary two_tokens(void)
{
    tern_vocabulary d = tern_vocabulary_default();
    d.model = "llama";
    d.tokens = two;
    d.n_tokens = 2;
    return d;
}

TEST(bad_vocabularies)
{
    tern_vocabulary d = two_tokens();
    d.n_tokens = 0;
    check_refused(d, TERN_FORMAT, "tokenizer: the vocabulary is empty");
    d.n_tokens = SIZE_MAX;
    check_refused(
        d, TERN_LIMIT,
        "tokenizer: 18446744073709551615 tokens and 0 merges; at most 300000 and 600000 are allowed");
    d = two_tokens();
    d.model = "bert";
    check_refused(d, TERN_UNSUPPORTED, "tokenizer: unknown model 'bert'; known: gpt2, llama");
    d.model = "gpt2";
    d.pre = "qwen2";
    check_refused(d, TERN_UNSUPPORTED,
                  "tokenizer: unknown pre-tokenizer 'qwen2'; choose 'pre' from llama-bpe (LLaMA-3's and "
                  "BitNet's), gpt-2, default");
    d = two_tokens();
    d.types = (int32_t[]){1, 6};
    check_refused(d, TERN_FORMAT, "tokenizer: token 1 is a byte but is not called <0x00> to <0xFF>");
    d.types = (int32_t[]){1, 7};
    check_refused(d, TERN_FORMAT, "tokenizer: token 1 has type 7; types are 1 to 6");
    d = two_tokens();
    d.bos = 2;
    check_refused(d, TERN_FORMAT, "tokenizer: the bos token is 2, of 2 tokens");
    d = two_tokens();
    d.eos = -2;
    check_refused(d, TERN_FORMAT, "tokenizer: the eos token is -2, of 2 tokens");
    d = two_tokens();
    d.ends = (int32_t[]){0, 2};
    d.n_ends = 2;
    check_refused(d, TERN_FORMAT, "tokenizer: the end token is 2, of 2 tokens");
    d.n_ends = 17;
    check_refused(d, TERN_LIMIT, "tokenizer: 17 tokens end an answer; at most 16 may");
    d = two_tokens();
    d.scores = (float[]){0, (float)strtod("nan", NULL)};
    check_refused(d, TERN_FORMAT, "tokenizer: the score of token 1 is not a number");
    d = two_tokens();
    d.n_merges = 1;
    check_refused(d, TERN_INVALID_ARGUMENT, "tokenizer: a list is NULL although it has a length");
}

TEST(bad_merges)
{
    static const struct {
        const char *merge, *sentence;
    } cases[] = {
        {"", "tokenizer: merge 0 is not two tokens with a blank between"},
        {"aa", "tokenizer: merge 0 is not two tokens with a blank between"},
        {"a ", "tokenizer: merge 0 is not two tokens with a blank between"},
        {" a", "tokenizer: merge 0 is not two tokens with a blank between"},
        {"a a", "tokenizer: merge 0 ('a a') names or makes what is no token"},
        {"a b", "tokenizer: merge 0 ('a b') names or makes what is no token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern_token_text merge = {cases[i].merge, strlen(cases[i].merge)};
        tern_vocabulary d = two_tokens();
        d.merges = &merge;
        d.n_merges = 1;
        check_refused(d, TERN_FORMAT, cases[i].sentence);
    }
}

TEST(long_tokens_are_refused)
{
    char *text = calloc(1, 70000);
    memset(text, 'a', 69999);
    tern_token_text token = {text, 69999};
    tern_vocabulary d = two_tokens();
    d.tokens = &token;
    d.n_tokens = 1;
    check_refused(d, TERN_LIMIT, "tokenizer: token 0 has 69999 bytes; at most 1024 are allowed");
    free(text);
}

/* ---- questions ------------------------------------------------------------------------------------------ */

TEST(looking_into_it)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    tern_token_info token;
    int32_t id;
    CHECK_OK(small_characters(true, &t));
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.model, "llama");
    CHECK_STR(info.pre, "none");
    CHECK_EQ(info.n_tokens, 271);
    CHECK_EQ(info.bos, 1);
    CHECK(info.add_bos && !info.add_eos);
    CHECK_OK(tern_tokenizer_token(t, 265, &token));
    CHECK_EQ(token.text.length, 3);
    CHECK(memcmp(token.text.bytes, "the", 3) == 0);
    CHECK_NEAR(token.score, -6, 0);
    CHECK_OK(tern_tokenizer_token(t, 13, &token));
    CHECK_EQ(token.type, TERN_TOKEN_BYTE);
    CHECK(token.text.length == 1 && token.text.bytes[0] == '\n');
    CHECK_STATUS(tern_tokenizer_token(t, 271, &token), TERN_OUT_OF_RANGE);
    CHECK_OK(tern_tokenizer_find(t, "</s>", 4, &id));
    CHECK_EQ(id, 2);
    CHECK_OK(tern_tokenizer_find(t, "the", 3, &id));
    CHECK_EQ(id, 265);
    CHECK_STATUS(tern_tokenizer_find(t, "z", 1, &id), TERN_NOT_FOUND);
    CHECK(tern_tokenizer_is_end(t, 2) && !tern_tokenizer_is_end(t, 1) && !tern_tokenizer_is_end(t, -1));
    tern_tokenizer_free(t);
}

/* LLaMA-3's files name one of its two ends; which, differs. */
TEST(every_end_ends_whichever_the_file_names)
{
    static const char *const names[] = {
        "a", "<|end_of_text|>", "<|eot_id|>",   "<|endoftext|>", "<|im_end|>", "<s>",
        "b", "<|eot_id|>",      "<end_of_turn>"};
    enum { N = sizeof names / sizeof *names };
    const int32_t listed[] = {6};
    tern_token_text texts[N];
    int32_t types[N];
    for (int i = 0; i < N; i++) {
        texts[i] = (tern_token_text){names[i], strlen(names[i])};
        types[i] = i == 0 || i == 4 || i == 6 ? TERN_TOKEN_NORMAL : TERN_TOKEN_CONTROL;
    }
    for (int32_t eos = -1; eos < 4; eos++) {
        tern_vocabulary d = tern_vocabulary_default();
        tern_tokenizer *t;
        d.model = "llama";
        d.tokens = texts;
        d.types = types;
        d.n_tokens = N;
        d.eos = eos;
        d.ends = listed;
        d.n_ends = eos == 3;
        CHECK_OK(tern_tokenizer_create(&d, NULL, &t));
        for (int32_t id = 0; id < N; id++) {
            bool named =
                (id >= 1 && id <= 3) || id == 8; /* not 4, which is no control token, nor 7, an equal of 2 */
            CHECK_EQ(tern_tokenizer_is_end(t, id), named || id == eos || (id == 6 && eos == 3));
        }
        tern_tokenizer_free(t);
    }
}

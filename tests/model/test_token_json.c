/* test_token_json.c - tokenizer.json: files like those of the known families (tests/model/tokenizers), and texts that are
 * wrong in every way we know of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/alloc.h>

#include "bytes.h"
#include "harness.h"
#include "model/tokenizer/tokenizer.h"
#include "vocabularies.h"

/* ---- good files ----------------------------------------------------------------------------------------- */

/* One of tests/model/tokenizers; false: the test has ended, or failed. */
static bool load(const char *name, const char *pre, tern_tokenizer **out)
{
    char path[1024];
    const char *root = getenv("TERN_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/model/tokenizers/%s.json", root ? root : ".", name);
    tern_tokenizer_options options = {.pre = pre};
    tern_status status = tern_tokenizer_load(path, &options, out);
    if (status == TERN_UNAVAILABLE) {
        harness_skip(tern_last_error());
        return false;
    }
    return harness_check_ok(status, __FILE__, __LINE__, path);
}

static void check_ids(const tern_tokenizer *t, const char *text, bool parse, const char *want)
{
    char ids[1024];
    CHECK(ids_text(t, text, strlen(text), true, parse, ids, sizeof ids));
    CHECK_STR(ids, want);
}

TEST(like_llama_3)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    if (!load("llama-3", NULL, &t))
        return;
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.model, "gpt2");
    CHECK_STR(info.pre, "llama-bpe");
    CHECK_EQ(info.n_tokens, 278);
    CHECK(info.bos == 271 && info.eos == 272 && info.eot == 275 && info.add_bos && !info.add_eos);
    check_ids(t, "hello world", false, "271 262 267");
    check_ids(t, " there", false, "271 270"); /* a token that no merge makes */
    check_ids(t, "1234", false, "271 269 52");
    check_ids(t, "the<|eot_id|>", true, "271 257 275");
    check_ids(t, "hello [soft] \n world", false, "271 262 276 119 264 266");
    check_ids(t, "a word b", false, "271 97 32 277 32 98");
    check_ids(t, "swords", false, "271 115 119 264 100 115");
    tern_tokenizer_free(t);
}

/* Without the word merges count: it is false unless it is said, whatever the pattern. */
TEST(like_llama_3_without_ignore_merges)
{
    static char text[1 << 16];
    char path[1024];
    const char *root = getenv("TERN_SOURCE_DIR");
    tern_tokenizer *t;
    if (!load("llama-3", NULL, &t))
        return;
    tern_tokenizer_free(t);
    snprintf(path, sizeof path, "%s/tests/model/tokenizers/llama-3.json", root ? root : ".");
    FILE *file = fopen(path, "rb");
    CHECK(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    char *word = strstr(text, "\"ignore_merges\"");
    CHECK(word);
    word[1] = 'x'; /* another member, which means nothing */
    CHECK_OK(tern_tokenizer_parse_json(text, length, NULL, &t));
    check_ids(t, " there", false, "271 258 114 101"); /* a token that no merge makes */
    tern_tokenizer_free(t);
}

TEST(like_gpt_2)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    if (!load("gpt-2", NULL, &t))
        return;
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.pre, "gpt-2");
    CHECK(info.bos == 270 && info.eos == 270 && !info.add_bos);
    check_ids(t, "hello world", false, "262 267");
    check_ids(t, " there", false, "258 114 101");
    check_ids(t, "<|endoftext|>the", true, "270 257");
    tern_tokenizer_free(t);
    if (!load("gpt-2", "llama-bpe", &t))
        return;
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.pre, "llama-bpe");
    tern_tokenizer_free(t);
}

TEST(like_llama_2)
{
    tern_tokenizer *t;
    tern_tokenizer_info info;
    if (!load("llama-2", NULL, &t))
        return;
    CHECK_OK(tern_tokenizer_get_info(t, &info));
    CHECK_STR(info.model, "llama");
    CHECK(info.bos == 1 && info.eos == 2 && info.unk == 0 && info.add_bos && !info.add_eos);
    check_ids(t, "hello world", false, "1 301 303");
    check_ids(t, "X  \xC3\xA4", false, "1 259 91 304 290");
    check_ids(t, "the</s>", true, "1 294 2");
    CHECK(round_trip(t, "  hello \xF0\x9F\xA6\x99\n", 13));
    tern_tokenizer_free(t);
}

typedef struct writing {
    const tern_tokenizer *t;
    tern__strbuf text;
} writing;

static tern_status write_json(const tern_vocabulary *d, void *user)
{
    writing *w = user;
    return tern__vocabulary_write_json(d, w->t, &w->text);
}

/* The same vocabulary as newer files have it: blanks are a step of the pre-tokenizer. */
static void check_metaspace(const char *step, const char *text, const char *want)
{
    static char json[1 << 16];
    char path[1024];
    const char *root = getenv("TERN_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/model/tokenizers/llama-2.json", root ? root : ".");
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    json[fread(json, 1, sizeof json - 1, file)] = 0;
    fclose(file);
    const char *start = strstr(json, "\"normalizer\""), *end = strstr(json, "\"post_processor\"");
    CHECK(start && end && strlen(json) < sizeof json - 1);
    static char changed[1 << 16];
    const int length = snprintf(changed, sizeof changed, "%.*s\"normalizer\":null,\"pre_tokenizer\":%s,%s",
                                (int)(start - json), json, step, end);
    tern_tokenizer *t, *twin;
    CHECK_OK(tern_tokenizer_parse_json(changed, (size_t)length, NULL, &t));
    check_ids(t, text, true, want);
    writing w = {t, TERN__STRBUF_EMPTY}; /* and comes back from what is written */
    CHECK_OK(tern__vocabulary_of_tokenizer(t, write_json, &w));
    CHECK_OK(tern_tokenizer_parse_json(w.text.text, w.text.length, NULL, &twin));
    check_ids(twin, text, true, want);
    tern__strbuf_free(&w.text);
    tern_tokenizer_free(twin);
    tern_tokenizer_free(t);
}

#define METASPACE(scheme)                                                                   \
    "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"" scheme \
    "\",\"split\":false}"

TEST(blanks_of_newer_llama_2)
{
    tern_tokenizer *t;
    if (!load("llama-2", NULL, &t))
        return;
    check_ids(t, " hello", false, "1 259 301"); /* one more than there is */
    check_ids(t, "the</s>the", true, "1 294 2 294");
    tern_tokenizer_free(t);
    check_metaspace(METASPACE("always"), "hello world", "1 301 303");
    check_metaspace(METASPACE("always"), " hello", "1 301");
    check_metaspace(METASPACE("always"), "the</s>the", "1 294 2 294");
    check_metaspace(METASPACE("first"), "hello world", "1 301 303");
    check_metaspace(METASPACE("first"), " hello", "1 301");
    check_metaspace(METASPACE("first"), "the</s> the", "1 294 2 294");
    check_metaspace(METASPACE("first"), "the</s>X", "1 294 2 91");
    check_metaspace(METASPACE("always"), "the</s>X", "1 294 2 259 91");
    check_metaspace(METASPACE("never"), "X", "1 91");
}

/* ---- writing -------------------------------------------------------------------------------------------- */

TEST(texts_that_are_no_unicode_are_refused)
{
    tern_token_text tokens[] = {{"<unk>", 5}, {"<s>", 3}, {"</s>", 4}, {"\xC3\xA4", 2}, {"a\xC3", 1}};
    int32_t types[] = {TERN_TOKEN_UNKNOWN, TERN_TOKEN_CONTROL, TERN_TOKEN_CONTROL, TERN_TOKEN_NORMAL,
                       TERN_TOKEN_NORMAL};
    float scores[5] = {0};
    tern_vocabulary d = tern_vocabulary_default();
    d.model = "llama";
    d.tokens = tokens;
    d.types = types;
    d.scores = scores;
    d.n_tokens = 5;
    d.unk = 0;
    for (size_t cut = 1; cut <= 2; cut++) {
        tern_tokenizer *t;
        tern__strbuf text = TERN__STRBUF_EMPTY;
        tokens[4].length = cut;
        CHECK_OK(tern_tokenizer_create(&d, NULL, &t));
        CHECK_STATUS(tern__vocabulary_write_json(&d, t, &text), cut == 1 ? TERN_OK : TERN_UNSUPPORTED);
        CHECK(cut == 1 || strstr(tern_last_error(), "token 4"));
        tern__strbuf_free(&text);
        tern_tokenizer_free(t);
    }
}

/* ---- llama2.c ------------------------------------------------------------------------------------------- */

TEST(llama2_c_has_the_same_ids_as_gguf)
{
    static const char *const texts[] = {"Once upon a time, there was a little girl named Lily.",
                                        "Tom had a red car", " two  blanks\nX\xC3\xA4\xE2\x82\xAC", ""};
    tern_tokenizer *a, *b;
    char path[1024], left[1024], right[1024];
    const char *bin = shared_path("stories260K/tok512.bin");
    if (!bin)
        SKIP(NO_SHARED("stories260K/tok512.bin"));
    snprintf(path, sizeof path, "%s", bin);
    CHECK_OK(tern_tokenizer_load(path, NULL, &a));
    CHECK_OK(tern_tokenizer_load(shared_path("stories260K/stories260K-f32.gguf"), NULL, &b));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK(ids_text(a, texts[i], strlen(texts[i]), true, false, left, sizeof left));
        CHECK(ids_text(b, texts[i], strlen(texts[i]), true, false, right, sizeof right));
        CHECK_STR(left, right);
        CHECK(round_trip(a, texts[i], strlen(texts[i])));
    }
    tern_tokenizer_free(a);
    tern_tokenizer_free(b);
}

static void check_bin(const char *name, const void *data, size_t length, const char *sentence)
{
    char path[1024];
    tern_tokenizer *t = NULL;
    CHECK(harness_path(path, sizeof path, name));
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(data, 1, length, file) == length && fclose(file) == 0);
    CHECK_STATUS(tern_tokenizer_load(path, NULL, &t), TERN_FORMAT);
    CHECK(!t && strstr(tern_last_error(), sentence));
}

TEST(bad_files)
{
    static const char neither[] = "neither a tokenizer.json nor a tokenizer of llama2.c";
    tern_tokenizer *t;
    check_bin("empty", "", 0, neither);
    check_bin("short", "\1\0\0", 3, neither);
    check_bin("no-tokens", "\1\0\0\0", 4, neither);
    check_bin("cut", "\1\0\0\0\0\0\0\0\1\0\0\0", 12, neither);
    check_bin("long",
              "\1\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF"
              "aaaa",
              16, neither);
    check_bin("words", "hello, world, hello, world", 26, neither);
    CHECK_STATUS(tern_tokenizer_load("/nonexistent/tokenizer.json", NULL, &t), TERN_NOT_FOUND);
}

/* ---- bad texts ------------------------------------------------------------------------------------------ */

#define PRE "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define MODEL "\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"

static const struct {
    const char *text;
    tern_status status;
    const char *sentence;
} bad[] = {
    {"", TERN_FORMAT, "'{' expected at byte 0"},
    {"{", TERN_FORMAT, "near byte 1"},
    {"[]", TERN_FORMAT, "'{' expected at byte 0"},
    {"null", TERN_FORMAT, "'{' expected at byte 0"},
    {"{]", TERN_FORMAT, "unexpected token near ']'"},
    {"{" PRE "," MODEL "} x", TERN_FORMAT, "something follows the object"},
    {"{}", TERN_FORMAT, "the file has no 'model'"},
    {"{\n\"model\":{}}", TERN_FORMAT, "model has no 'vocab'"},
    {"{\"model\":[]}", TERN_FORMAT, "'{' expected at byte 9"},
    {"{\"model\":{\"vocab\":[]}}", TERN_FORMAT, "'{' expected at byte 18"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":{}}}", TERN_FORMAT, "'[' expected at byte 35"},
    {"{\"model\":{\"vocab\":{\"a\":0}},\"added_tokens\":{}}", TERN_FORMAT, "'[' expected at byte 42"},
    {"{\"model\":{\"vocab\":{}},\"model\":{\"vocab\":{}}}", TERN_FORMAT, "'model' occurs twice"},
    {"{\"model\" {}}", TERN_FORMAT, "':' expected at byte 9"},
    {"{1:2}", TERN_FORMAT, "a key is not a string"},
    {"{\"a\":1 \"b\":2}", TERN_FORMAT, "',' expected at byte 7"},
    {"{\"a\":1,}", TERN_FORMAT, "unexpected token near '}'"},
    {"{\"a\":}", TERN_FORMAT, "unexpected token near '}'"},
    {"{\"a\":,}", TERN_FORMAT, "unexpected token near ','"},
    {"{\"a\":nul}", TERN_FORMAT, "invalid token near 'nul'"},
    {"{\"a\":\"\\ud800\"}", TERN_FORMAT, "invalid Unicode '\\uD800' near '\"\\ud800\"'"},
    {"{\"a\":{\"x\":1,\"x\":2}}", TERN_FORMAT, "duplicate object key near '\"x\"'"},
    {"{\"a\":1e999}", TERN_FORMAT, "real number overflow near '1e999'"},
    {"{\"model\":{\"vocab\":{\"a\":0,\"a\":1}}}", TERN_FORMAT, "the token 'a' occurs twice"},
    {"{\"model\":{\"vocab\":{\"a\":-1}}}", TERN_FORMAT, "-1 is no id of a token"},
    {"{\"model\":{\"vocab\":{\"a\":1.5}}}", TERN_FORMAT, "the id of the token 'a' is not a whole number"},
    {"{\"model\":{\"vocab\":{\"a\":99999999999999999999}}}", TERN_FORMAT,
     "too big integer near '99999999999999999999'"},
    {"{\"model\":{\"vocab\":{\"a\":2000000}}}", TERN_FORMAT, "2000000 is no id of a token"},
    {"{" PRE ",\"model\":{\"vocab\":{\"a\":0,\"b\":0}}}", TERN_FORMAT, "two tokens have the id 0"},
    {"{" PRE ",\"model\":{\"vocab\":{}}}", TERN_FORMAT, "tokenizer: the vocabulary is empty"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"ab\"]}}", TERN_FORMAT,
     "merge 0 is not two tokens without blanks"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b c\"]}}", TERN_FORMAT,
     "merge 0 is not two tokens without blanks"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}}", TERN_FORMAT,
     "merge 0 is not two tokens without blanks"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\",1]]}}", TERN_FORMAT,
     "merge 0 is not two tokens without blanks"},
    {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[7]}}", TERN_FORMAT,
     "merge 0 is not two tokens without blanks"},
    {"{" PRE ",\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", TERN_FORMAT,
     "tokenizer: merge 0 ('a b') names or makes what is no token"},
    {"{" MODEL ",\"added_tokens\":[{}]}", TERN_FORMAT, "an added token needs an id and a content"},
    {"{" MODEL ",\"added_tokens\":[7]}", TERN_FORMAT, "an added token needs an id and a content"},
    {"{" MODEL ",\"added_tokens\":[{\"id\":1,\"content\":\"a\"}]}", TERN_FORMAT, "the token 'a' has two ids"},
    {"{" MODEL ",\"added_tokens\":[{\"id\":-5,\"content\":\"c\"}]}", TERN_FORMAT, "-5 is no id of a token"},
    {"{" MODEL "}", TERN_UNSUPPORTED,
     "neither a byte-level BPE (LLaMA-3, GPT-2) nor one of characters with byte fallback (LLaMA-2)"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}", TERN_UNSUPPORTED,
     "its model is of type 'Unigram'; only BPE is known"},
    {"{\"model\":{\"type\":7}}", TERN_UNSUPPORTED, "its model is of type ''; only BPE is known"},
    {"{\"pre_tokenizer\":7}", TERN_FORMAT, "what should hold 'pretokenizers' is neither an object nor null"},
    {"{\"pre_tokenizer\":{\"type\":\"Whitespace\"}}", TERN_UNSUPPORTED,
     "its pre-tokenizer 'Whitespace' is not known"},
    {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", TERN_UNSUPPORTED,
     "its ByteLevel pre-tokenizer adds a blank, as no known family does"},
    {"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a+)+$\"},\"behavior\":\"Isolated\"}}",
     TERN_UNSUPPORTED,
     "its pre-tokenizer is not one of those known; choose 'pre' from llama-bpe (LLaMA-3's and BitNet's), "
     "gpt-2, default"},
    {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}," MODEL "}",
     TERN_UNSUPPORTED,
     "it does not say how text is cut; choose 'pre' from llama-bpe (LLaMA-3's and BitNet's), gpt-2, default"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", TERN_UNSUPPORTED,
     "its Metaspace pre-tokenizer cuts text at blanks, as no known family does"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"split\":false,\"replacement\":\"_\"}}", TERN_UNSUPPORTED,
     "its Metaspace pre-tokenizer writes blanks as '_', as no known family does"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"split\":false,\"prepend_scheme\":\"last\"}}",
     TERN_UNSUPPORTED, "its Metaspace pre-tokenizer has the unknown prepend_scheme 'last'"},
    {"{\"normalizer\":{\"type\":\"NFC\"}}", TERN_UNSUPPORTED, "its normalizer 'NFC' is not known"},
    {"{\"post_processor\":{\"type\":\"BertProcessing\"}}", TERN_UNSUPPORTED,
     "its post-processor 'BertProcessing' is not known"},
    {"{\"model\":{\"end_of_word_suffix\":\"</w>\"}}", TERN_UNSUPPORTED,
     "its model marks parts of words ('</w>'), as no known family does"},
    {"{\"model\":{\"dropout\":0.1}}", TERN_UNSUPPORTED, "its model has a dropout"},
    {"{\"model\":{\"dropout\":\"x\"}}", TERN_UNSUPPORTED, "its model has a dropout"},
    {"{\"decoder\":{\"type\":\"WordPiece\"}}", TERN_UNSUPPORTED, "its decoder 'WordPiece' is not known"},
    {"{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"CTC\"}]}}",
     TERN_UNSUPPORTED, "its decoder 'CTC' is not known"},
    {"{" PRE ",\"model\":{\"unk_token\":\"<unk>\",\"vocab\":{\"a\":0}}}", TERN_FORMAT,
     "its unk_token '<unk>' is no token"},
};

/* false: the build has no jansson, and the test has been skipped. */
static bool have_json(void)
{
    tern_tokenizer *t;
    if (tern_tokenizer_parse_json("", 0, NULL, &t) != TERN_UNAVAILABLE)
        return true;
    harness_skip(tern_last_error());
    return false;
}

TEST(bad_texts)
{
    if (!have_json())
        return;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tern_tokenizer *t = NULL;
        tern_status status = tern_tokenizer_parse_json(bad[i].text, strlen(bad[i].text), NULL, &t);
        if (status == TERN_UNAVAILABLE)
            continue; /* without PCRE2 these are refused for another reason */
        CHECK(strncmp(tern_last_error(), "tokenizer.json: ", 16) == 0);
        if (!strstr(tern_last_error(), bad[i].sentence))
            CHECK_STR(tern_last_error(), bad[i].sentence); /* to show both */
        CHECK_EQ(status, bad[i].status);
        CHECK(!t);
    }
}

/* A good text, cut anywhere, is a bad one. */
TEST(cut_texts)
{
    static const char text[] = "{" PRE "," MODEL ",\"added_tokens\":[{\"id\":3,\"content\":\"\\u00e4\"}]}";
    tern_tokenizer *t;
    if (!have_json())
        return;
    for (size_t n = 0; n < sizeof text - 1; n++)
        CHECK_STATUS(tern_tokenizer_parse_json(text, n, NULL, &t), TERN_FORMAT);
}

typedef struct meter {
    size_t most; /* of one allocation */
} meter;

static bool watch(void *user, size_t size)
{
    meter *m = user;
    m->most = size > m->most ? size : m->most;
    return true;
}

/* A hundred thousand of each, where a parser that recurses or believes what it reads would fall. */
TEST(deep_and_wide_texts)
{
    enum { N = 100000 };
    static const struct {
        const char *before, *repeated, *after;
    } cases[] = {
        {"", "[", ""},
        {"{\"a\":", "[", ""},
        {"{\"model\":{\"vocab\":", "{\"a\":", ""},
        {"{\"model\":{\"vocab\":{},\"merges\":[", "[],", "[]]}}"},
        {"{\"model\":{\"vocab\":{},\"merges\":[[", "[],", "[]]]}}"},
        {"{\"added_tokens\":[", "{},", "{}],\"model\":{\"vocab\":{}}}"},
        {"{\"x\":\"", "\\u0000", "\"}"},
    };
    meter m = {0};
    tern_tokenizer *t;
    if (!have_json())
        return;
    char *text = malloc(N * 8 + 256);
    tern_alloc_set_gate(watch, &m);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = (size_t)sprintf(text, "%s", cases[i].before);
        for (int k = 0; k < N; k++)
            n += (size_t)sprintf(text + n, "%s", cases[i].repeated);
        n += (size_t)sprintf(text + n, "%s", cases[i].after);
        tern_status status = tern_tokenizer_parse_json(text, n, NULL, &t);
        CHECK(status != TERN_OK);
        CHECK(!strchr(tern_last_error(), '\n'));
    }
    tern_alloc_set_gate(NULL, NULL);
    free(text);
    CHECK(m.most < 1 << 22);
}

/* ---- memory that runs out ------------------------------------------------------------------------------- */

typedef struct refusal {
    int left; /* allocations that still succeed */
} refusal;

static bool refuse_later(void *user, size_t size)
{
    (void)size;
    refusal *r = user;
    return r->left-- > 0;
}

TEST(failing_allocations)
{
    static const char text[] =
        "{" PRE "," MODEL ",\"added_tokens\":[{\"id\":3,\"content\":\"<x>\",\"special\":true}]}";
    tern_alloc_stats before, after;
    if (!have_json())
        return;
    tern_alloc_get_stats(&before);
    tern_status status = TERN_OUT_OF_MEMORY;
    for (int n = 0; status == TERN_OUT_OF_MEMORY && n < 1000; n++) {
        refusal r = {n};
        tern_tokenizer *t = NULL;
        int32_t *ids;
        size_t count;
        tern_alloc_set_gate(refuse_later, &r);
        status = tern_tokenizer_parse_json(text, sizeof text - 1, NULL, &t);
        if (status == TERN_OK) {
            tern_encode_options options = {.no_special = true, .parse_special = true};
            status = tern_tokenizer_encode(t, "ab<x>", 5, &options, &ids, &count);
            if (status == TERN_OK)
                tern_tokens_free(ids);
            tern_tokenizer_free(t);
        }
        tern_alloc_set_gate(NULL, NULL);
    }
    if (status == TERN_UNAVAILABLE)
        SKIP(tern_last_error());
    CHECK_EQ(status, TERN_OK);
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

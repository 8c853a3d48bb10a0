/* tokenizer.h - text to token ids and back, by the rules that a model was trained with.
 *
 *     tern_tokenizer *t;
 *     TERN_TRY(tern_tokenizer_load("tokenizer.json", NULL, &t));
 *     TERN_TRY(tern_tokenizer_encode(t, text, strlen(text), NULL, &ids, &count));
 *
 * Three families are known: LLaMA-3 and GPT-2 (pairs of bytes are merged inside the pieces that a regular expression cuts
 * the text into) and LLaMA-2 (pairs of characters are merged by score, what is unknown falls back to bytes).
 * docs/tokenizers.md states the rules.
 *
 * Texts are bytes with a length; zeros and bytes that are not UTF-8 are allowed, and encoding loses none of them.
 *
 * Threading: a tokenizer does not change; any number of threads may use it. A detokenizer belongs to one thread at a
 * time. */
#ifndef TERN_TOKENIZER_H
#define TERN_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>
#include <tern/model_file.h>
#include <tern/status.h>

typedef struct tern_tokenizer tern_tokenizer;
typedef struct tern_detokenizer tern_detokenizer;

enum { TERN_NO_TOKEN = -1 };

/* What a token is; the numbers are those of GGUF's tokenizer.ggml.token_type. */
typedef enum tern_token_type {
    TERN_TOKEN_NORMAL = 1,
    TERN_TOKEN_UNKNOWN = 2,      /* stands for what has no token */
    TERN_TOKEN_CONTROL = 3,      /* found in text only where that is allowed */
    TERN_TOKEN_USER_DEFINED = 4, /* found in text always, before any other rule */
    TERN_TOKEN_UNUSED = 5,
    TERN_TOKEN_BYTE = 6, /* "<0x0A>": one byte */
} tern_token_type;

/* Not terminated. */
typedef struct tern_token_text {
    const char *bytes;
    size_t length;
} tern_token_text;

/* How a control or user-defined token is found in text. */
typedef struct tern_token_flags {
    int32_t id;
    bool lstrip, rstrip; /* swallows the blanks before it, behind it */
    bool single_word;    /* only where no letter, digit or '_' touches it */
} tern_token_flags;

typedef enum tern_tristate {
    TERN_TRISTATE_BY_MODEL = -1, /* as the family does it */
    TERN_TRISTATE_NO = 0,
    TERN_TRISTATE_YES = 1,
} tern_tristate;

/* A tokenizer in plain data, as the metadata of a model file has it. Start from tern_vocabulary_default(). */
typedef struct tern_vocabulary {
    const char *model; /* "gpt2" (bytes) or "llama" (characters) */
    const char *pre;   /* how text is cut, for "gpt2": tern_pretokenizer_name; NULL: the file does not say */
    const char *architecture; /* decides where `pre` is NULL; may be NULL */
    size_t n_tokens;
    const tern_token_text *tokens; /* by id; for "gpt2" in its alphabet of printable characters */
    const int32_t *types;          /* tern_token_type; NULL: all normal */
    const float *scores;           /* the higher the sooner; for "llama" without merges */
    size_t n_merges;
    /* "left right", first to last; without any, the lower id of a token the sooner */
    const tern_token_text *merges;
    size_t n_flags;
    const tern_token_flags *flags; /* of the tokens that have any */
    int32_t bos, eos, eot, unk;    /* ids, or TERN_NO_TOKEN */
    size_t n_ends;                 /* at most 16 */
    /* what else ends an answer: eos, eot and the control tokens whose names say so do anyway */
    const int32_t *ends;
    tern_tristate add_bos, add_eos;
    tern_tristate add_space;     /* "llama": a blank before the text and behind control tokens */
    bool space_at_start;         /* that blank before the text alone, not behind control tokens */
    bool space_if_none;          /* and only where the text does not begin with one */
    tern_tristate ignore_merges; /* "gpt2": a piece that is a token is that token, whatever the merges say */
    const char *chat_template;   /* as the file has it; recognised, never executed. NULL: none */
} tern_vocabulary;

/* Zeroed fields are the defaults. */
typedef struct tern_tokenizer_options {
    /* How text is cut, instead of what the file says; NULL: what it says, or what fits its architecture. Only for "gpt2":
     * TERN_UNSUPPORTED for "llama", which does not cut text. */
    const char *pre;
} tern_tokenizer_options;

typedef struct tern_tokenizer_info {
    const char *model, *pre; /* `pre` is "none" for "llama" */
    int32_t n_tokens;
    int32_t bos, eos, eot, unk;
    bool add_bos, add_eos; /* what an encoding adds, unless no_special */
    const char
        *chat_template;    /* one of tern_chat_template_name, or NULL: none in the file, or not recognised */
    bool foreign_template; /* the file has one that is not recognised */
} tern_tokenizer_info;

typedef struct tern_token_info {
    /* "gpt2"'s alphabet undone, "llama"'s U+2581 kept; lives as long as the tokenizer */
    tern_token_text text;
    tern_token_type type;
    float score; /* 0 without scores */
} tern_token_info;

/* Zeroed fields are the defaults. */
typedef struct tern_encode_options {
    bool no_special;    /* without the model's own tokens at the start and the end */
    bool parse_special; /* control tokens are found in the text. Not for text that others wrote. */
    bool goes_on;       /* the text is to be continued: without the model's own token at the end */
} tern_encode_options;

/* Zeroed fields are the defaults. */
typedef struct tern_decode_options {
    bool show_special; /* control tokens appear as their names; else they leave nothing */
    bool goes_on; /* the ids go on with a text; else the blank that "llama" put before it is taken away */
    bool keep_invalid; /* bytes that are not UTF-8 stay as they are; else U+FFFD stands for them */
} tern_decode_options;

typedef struct tern_chat_message {
    const char *role;    /* "system", "user" or "assistant" */
    const char *content; /* control tokens in it are only text; blanks at its ends are dropped */
} tern_chat_message;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- making one ------------------------------------------------------------------------------------------------ */

TERN_API tern_vocabulary tern_vocabulary_default(void); /* nothing in it, everything by model */
TERN_API tern_tokenizer_options tern_tokenizer_options_default(void);

/* Nothing of `vocabulary` is needed afterwards. `options` NULL = defaults. TERN_FORMAT if it contradicts itself,
 * TERN_UNSUPPORTED for families and rules that are not known (the message lists those that are), TERN_LIMIT for what is
 * beyond any real vocabulary, TERN_UNAVAILABLE for "gpt2" in a build without PCRE2, unless every token is one byte. */
TERN_API tern_status tern_tokenizer_create(const tern_vocabulary *vocabulary,
                                           const tern_tokenizer_options *options, tern_tokenizer **out);

/* Start from tern_tokenizer_train_options_default(): a zeroed one is refused. */
typedef struct tern_tokenizer_train_options {
    int64_t vocabulary;           /* tokens in all: 257, every byte and an end, or more */
    tern_model_progress progress; /* or NULL; of tokens, on the calling thread */
    void *progress_user;
} tern_tokenizer_train_options;

TERN_API tern_tokenizer_train_options tern_tokenizer_train_options_default(void); /* 257 */

/* Learns a tokenizer from a text. Ids 0 to 255 are the bytes, so that every text can be written, and 256 is "<|endoftext|>", which no
 * text becomes unless it is parsed for control tokens: nothing is put before a text. From 257 on, pairs are merged inside the pieces
 * that GPT-2 cuts text into: the one that is there most often first, among equals the one with the lowest ids, left before right. It
 * ends sooner, and there are fewer tokens, where no pair is left that is there twice and makes a token of 128 bytes or less. The same
 * text gives the same tokenizer, and a model file that is written with it tokenises as it does. Time grows with the text's
 * length x log(length). `options` NULL = defaults. TERN_OUT_OF_RANGE for fewer tokens than 257, or more than any vocabulary has.
 * TERN_CANCELLED if `progress` stops it. */
TERN_API tern_status tern_tokenizer_train(const char *text, size_t length,
                                          const tern_tokenizer_train_options *options, tern_tokenizer **out);

/* From the metadata of a model file; without any (safetensors) from the tokenizer.json beside it. TERN_NOT_FOUND if there is
 * neither. */
TERN_API tern_status tern_tokenizer_from_file(const tern_model_file *file,
                                              const tern_tokenizer_options *options, tern_tokenizer **out);

/* From a file that is a tokenizer.json, a tokenizer of llama2.c (.bin), or a GGUF file; told by its content.
 * TERN_UNAVAILABLE for JSON in a build without jansson. */
TERN_API tern_status tern_tokenizer_load(const char *path, const tern_tokenizer_options *options,
                                         tern_tokenizer **out);
/* From the text of a tokenizer.json. */
TERN_API tern_status tern_tokenizer_parse_json(const char *text, size_t length,
                                               const tern_tokenizer_options *options, tern_tokenizer **out);

/* May the model of `file` be run with it? It may have fewer tokens than the model knows (tern_model_file_vocabulary), of which the others
 * are no text then; with more it is another model's: TERN_SHAPE. tern_generate does not ask. Of a file without a table of tokens nothing
 * can be said: TERN_OK. */
TERN_API tern_status tern_tokenizer_check(const tern_tokenizer *t, const tern_model_file *file);

TERN_API void tern_tokenizer_free(tern_tokenizer *t); /* NULL is fine */

/* The ways to cut text, "llama-bpe" first; NULL past the last. Static. */
TERN_API const char *tern_pretokenizer_name(int i);

/* ---- looking into it ------------------------------------------------------------------------------------------- */

TERN_API tern_status tern_tokenizer_get_info(const tern_tokenizer *t, tern_tokenizer_info *out);
TERN_API tern_status tern_tokenizer_token(const tern_tokenizer *t, int32_t id,
                                          tern_token_info *out); /* TERN_OUT_OF_RANGE */
/* The token with exactly this text, control tokens included. TERN_NOT_FOUND. */
TERN_API tern_status tern_tokenizer_find(const tern_tokenizer *t, const char *text, size_t length,
                                         int32_t *out);
/* Does this token end an answer: end of text or of a turn? */
TERN_API bool tern_tokenizer_is_end(const tern_tokenizer *t, int32_t id);

/* ---- text to ids ----------------------------------------------------------------------------------------------- */

TERN_API tern_encode_options tern_encode_options_default(void);

/* Free `*ids` with tern_tokens_free. The time grows with length x log(length) at most. `options` NULL = defaults. */
TERN_API tern_status tern_tokenizer_encode(const tern_tokenizer *t, const char *text, size_t length,
                                           const tern_encode_options *options, int32_t **ids, size_t *count);
TERN_API void tern_tokens_free(int32_t *ids); /* NULL is fine */

/* ---- ids to text ----------------------------------------------------------------------------------------------- */

TERN_API tern_decode_options tern_decode_options_default(void);

/* `*text` has `*length` bytes and a zero behind them; free it with tern_string_free. TERN_OUT_OF_RANGE for ids that are no
 * tokens. `options` NULL = defaults. */
TERN_API tern_status tern_tokenizer_decode(const tern_tokenizer *t, const int32_t *ids, size_t count,
                                           const tern_decode_options *options, char **text, size_t *length);

/* The same, id by id: the pieces joined are what tern_tokenizer_decode gives. A piece may be empty, and never ends inside
 * a character. `t` must outlive it. */
TERN_API tern_status tern_detokenizer_create(const tern_tokenizer *t, const tern_decode_options *options,
                                             tern_detokenizer **out);
TERN_API void tern_detokenizer_free(tern_detokenizer *d); /* NULL is fine */
/* `*text` is terminated and valid until the next call with `d`. */
TERN_API tern_status tern_detokenizer_push(tern_detokenizer *d, int32_t id, const char **text,
                                           size_t *length);
/* What is left of a character that never became whole; then `d` is as it was when new. */
TERN_API tern_status tern_detokenizer_finish(tern_detokenizer *d, const char **text, size_t *length);

/* ---- chats ----------------------------------------------------------------------------------------------------- */

/* The templates that are known; NULL past the last. Static. */
TERN_API const char *tern_chat_template_name(int i);

/* Which of them a template from a file (Jinja) means, by its content: it is read, never executed. TERN_UNSUPPORTED if none
 * fits; the message lists the names. */
TERN_API tern_status tern_chat_template_recognise(const char *text, const char **name);

/* A conversation as the model was trained to see it; `answer`: up to where the assistant's answer begins. `name` NULL: the
 * template of the tokenizer's file. TERN_NOT_FOUND, with the names, without one. Free `*text` with tern_string_free. */
TERN_API tern_status tern_chat_render(const tern_tokenizer *t, const char *name,
                                      const tern_chat_message *messages, size_t n, bool answer, char **text);

/* The same as ids: control tokens of the template are tokens, those in messages are text. */
TERN_API tern_status tern_chat_encode(const tern_tokenizer *t, const char *name,
                                      const tern_chat_message *messages, size_t n, bool answer, int32_t **ids,
                                      size_t *count);

#ifdef __cplusplus
}
#endif
#endif

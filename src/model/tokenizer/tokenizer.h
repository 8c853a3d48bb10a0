/* tokenizer.h - what a tokenizer is made of, for the files of this folder. */
#ifndef TERN_MODEL_TOKENIZER_TOKENIZER_H
#define TERN_MODEL_TOKENIZER_TOKENIZER_H

#include <tern/tokenizer.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/special.h"
#include "model/tokenizer/split.h"
#include "model/tokenizer/vocab.h"

typedef enum tern__token_family {
    TERN__TOKENS_BY_BYTES,      /* "gpt2": pieces by regular expression, symbols are bytes */
    TERN__TOKENS_BY_CHARACTERS, /* "llama": blanks are U+2581, symbols are characters, unknown ones become bytes */
    TERN__TOKENS_COUNT
} tern__token_family;

/* As files call them. */
extern const char *const tern__token_family_names[TERN__TOKENS_COUNT];

/* Tokens that end an answer: those that a vocabulary may list, and those with names that are known. */
enum { TERN__MOST_LISTED_ENDS = 16, TERN__MOST_ENDS = 24 };

struct tern_tokenizer {
    tern__token_family family;
    const tern__split_rule *rule; /* of bytes */
    tern__splitter *splitter;     /* NULL: nothing is merged, so cutting would change nothing */
    tern__vocab vocab;
    tern__pairs pairs;
    bool merges_stated; /* pairs are a list's; else they follow from the tokens */
    tern__specials specials;
    float *scores;          /* NULL: none */
    uint32_t byte_ids[256]; /* the token of each byte, or TERN__NO_SYMBOL */
    int32_t bos, eos, eot, unk;
    int32_t ends[TERN__MOST_ENDS]; /* all that end an answer */
    size_t n_ends;
    bool add_bos, add_eos, add_space, space_at_start, space_if_none, ignore_merges;
    const char *chat_template; /* a name, static; NULL: none */
    char *template_text;       /* as the file has it; NULL: none */
    bool foreign_template;     /* the file has one, which is not known */
};

#define TERN__LOW_LINE "\xE2\x96\x81" /* U+2581, a blank of the family of characters */

/* Ids as they are made. Zeroed = empty. */
typedef struct tern__ids {
    int32_t *ids;
    size_t count, capacity;
} tern__ids;

/* Hands them to the caller if `status` is TERN_OK, else frees them; the status of the whole. */
tern_status tern__ids_take(tern__ids *list, tern_status status, int32_t **ids, size_t *count);

/* Appends the ids of a text. Control tokens are found outside of `shields` only. `add_special`: unless no_special of
 * tern_encode_options. */
tern_status tern__encode(const tern_tokenizer *t, const char *text, size_t length, bool add_special,
                         const tern__protected *shields, size_t n_shields, tern__ids *out);

/* The name of the template that a file's text means; NULL: none that is known. */
const char *tern__chat_recognise(const char *text);

/* What is done with a vocabulary in plain data, which lives as long as the call. */
typedef tern_status (*tern__vocabulary_fn)(const tern_vocabulary *vocabulary, void *user);

/* From the text of a tokenizer.json; `path` is the name for messages. `pre_wanted`: the caller knows how text is cut.
 * `chat_template`: as a file beside it has it, or NULL. */
tern_status tern__vocabulary_parse_json(const char *path, const char *text, size_t length, bool pre_wanted,
                                        const char *chat_template, tern__vocabulary_fn take, void *user);
/* The same from a file, with the template beside it. */
tern_status tern__vocabulary_load_json(const char *path, bool pre_wanted, tern__vocabulary_fn take,
                                       void *user);
/* From the metadata of a model file, or from the tokenizer.json beside it. TERN_NOT_FOUND if there is neither. */
tern_status tern__vocabulary_of_file(const tern_model_file *file, bool pre_wanted, tern__vocabulary_fn take,
                                     void *user);

/* The question of tern_tokenizer_check, about numbers: tokens of a tokenizer, and those that a model knows, 0 if nobody can say. */
tern_status tern__tokens_check(int64_t tokens, int64_t known);

/* Where GGUF has no word for it: all the tokens that end an answer, but for eos, as an array of u32. Other readers pass it by. */
#define TERN__ENDS_KEY "tokenizer.tern.end_token_ids"

/* What the metadata of a file name as ends of an answer beside eos and eot: `eom_token_id`, and TERN__ENDS_KEY. */
tern_status tern__file_ends(const tern_model_file *file, int32_t ids[static TERN__MOST_LISTED_ENDS],
                            size_t *n);

/* The other way: plain data that make the same tokenizer again. TERN_UNSUPPORTED for what they cannot state. */
tern_status tern__vocabulary_of_tokenizer(const tern_tokenizer *t, tern__vocabulary_fn take, void *user);

/* tokenizer.json of a vocabulary and the tokenizer that it makes. TERN_UNSUPPORTED for rules that it cannot state. */
tern_status tern__vocabulary_write_json(const tern_vocabulary *vocabulary, const tern_tokenizer *t,
                                        tern__strbuf *out);

/* Calls tern_tokenizer_create; `user` is a tern__tokenizer_request. */
typedef struct tern__tokenizer_request {
    const tern_tokenizer_options *options;
    tern_tokenizer **out;
} tern__tokenizer_request;
tern_status tern__tokenizer_make(const tern_vocabulary *vocabulary, void *user);

/* Files of tokenizers that are larger than this are none: the largest real ones have 20 MiB. */
enum { TERN__MOST_TOKENIZER = 256 << 20 };

/* From llama2.c's .bin, which is open. */
tern_status tern__vocabulary_of_bin(const tern__file *file, tern__vocabulary_fn take, void *user);
/* The text of a template in tokenizer_config.json or chat_template.jinja in the folder of `path`; NULL: none. The caller frees it. */
tern_status tern__chat_template_beside(const char *path, char **out);

#endif

/* vocabularies.h - tokenizers for tests: small ones of our own making, and the shared vocabularies of real models. */
#ifndef TERN_TESTS_MODEL_VOCABULARIES_H
#define TERN_TESTS_MODEL_VOCABULARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/tokenizer.h>

/* The whole file, terminated; NULL if it cannot be read. Free with free(). */
char *read_whole(const char *path, size_t *length);

/* The tokenizer of a GGUF file, cut by `pre` (NULL: as it says). */
tern_status load_gguf(const char *path, const char *pre, tern_tokenizer **out);

/* Bytes, the rule `pre` (NULL: "llama-bpe"): 256 tokens for the bytes, then merges "t h", "th e", "Ġ the", "l l", "o Ġ",
 * the words made by them, then <|bos|>, <|eot_id|>, and the user-defined "[x]". TERN_UNAVAILABLE without PCRE2. */
tern_status small_bytes(const char *pre, tern_tokenizer **out);

/* Characters with scores: <unk> <s> </s>, 256 bytes, then letters and words. `bytes` false: without the bytes. */
tern_status small_characters(bool bytes, tern_tokenizer **out);

/* Encodes into text, "5 7 9"; false, and the test has failed, if that fails. */
bool ids_text(const tern_tokenizer *t, const char *text, size_t length, bool add, bool parse, char *out,
              size_t size);

uint64_t next_random(uint64_t *state); /* xorshift64; the state is not 0 */

/* Characters of one to four bytes until there are `least`, at most RANDOM_TEXT - 4; with `any_bytes` also bytes that are no UTF-8. Without
 * U+2581, which comes back as a blank. How many bytes it became. */
enum { RANDOM_TEXT = 256 };
size_t random_text(uint64_t *random, size_t least, bool any_bytes, char out[static RANDOM_TEXT]);

/* Encodes without special tokens, decodes, and compares; true if it is the same text. */
bool round_trip(const tern_tokenizer *t, const char *text, size_t length);

#endif

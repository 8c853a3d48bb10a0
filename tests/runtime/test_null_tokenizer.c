/* test_null_tokenizer.c - tokenizers with NULL for each pointer in turn. */
#include "null_arguments.h"

static const tern_token_text tokens[] = {{"a", 1}};

static tern_tokenizer *make(void)
{
    tern_tokenizer *t = NULL;
    tern_vocabulary v = tern_vocabulary_default();
    tern_tokenizer_options options = tern_tokenizer_options_default();
    v.model = "llama";
    v.tokens = tokens;
    v.n_tokens = 1;
    if (tern_tokenizer_create(&v, &options, &t) != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s", tern_last_error());
    return t;
}

TEST(tokenizers)
{
    tern_vocabulary v = tern_vocabulary_default();
    tern_tokenizer *t = make();
    REFUSED(tern_tokenizer_create(NULL, NULL, &o.tokenizer));
    REFUSED(tern_tokenizer_create(&v, NULL, NULL));
    REFUSED(tern_tokenizer_load(NULL, NULL, &o.tokenizer));
    REFUSED(tern_tokenizer_load("x", NULL, NULL));
    REFUSED(tern_tokenizer_parse_json(NULL, 0, NULL, &o.tokenizer));
    REFUSED(tern_tokenizer_parse_json("{}", 2, NULL, NULL));
    REFUSED(tern_tokenizer_from_file(NULL, NULL, &o.tokenizer));
    REFUSED(tern_tokenizer_check(NULL, NULL));
    REFUSED(tern_tokenizer_check(t, NULL));
    CHECK_EQ(tern_tokenizer_train_options_default().vocabulary, 257);
    REFUSED(tern_tokenizer_train(NULL, 0, NULL, &o.tokenizer));
    REFUSED(tern_tokenizer_train("a", 1, NULL, NULL));
    QUIET(tern_tokenizer_free(NULL));
    NEUTRAL(tern_pretokenizer_name(-1), NULL);
    REFUSED(tern_tokenizer_get_info(NULL, &o.tokenizer_info));
    REFUSED(tern_tokenizer_get_info(t, NULL));
    REFUSED(tern_tokenizer_token(NULL, 0, &o.token_info));
    REFUSED(tern_tokenizer_token(t, 0, NULL));
    REFUSED(tern_tokenizer_find(NULL, "a", 1, &o.id));
    REFUSED(tern_tokenizer_find(t, NULL, 1, &o.id));
    REFUSED(tern_tokenizer_find(t, "a", 1, NULL));
    NEUTRAL(tern_tokenizer_is_end(NULL, 0), false);
    tern_tokenizer_free(t);
}

TEST(encoding_and_decoding)
{
    tern_tokenizer *t = make();
    tern_detokenizer *d;
    tern_encode_options encode = tern_encode_options_default();
    tern_decode_options decode = tern_decode_options_default();
    REFUSED(tern_tokenizer_encode(NULL, "a", 1, &encode, &o.ids, &o.size));
    REFUSED(tern_tokenizer_encode(t, NULL, 1, &encode, &o.ids, &o.size));
    REFUSED(tern_tokenizer_encode(t, "a", 1, &encode, NULL, &o.size));
    REFUSED(tern_tokenizer_encode(t, "a", 1, &encode, &o.ids, NULL));
    QUIET(tern_tokens_free(NULL));
    REFUSED(tern_tokenizer_decode(NULL, &(int32_t){0}, 1, &decode, &o.text, &o.size));
    REFUSED(tern_tokenizer_decode(t, NULL, 1, &decode, &o.text, &o.size));
    REFUSED(tern_tokenizer_decode(t, &(int32_t){0}, 1, &decode, NULL, &o.size));
    REFUSED(tern_tokenizer_decode(t, &(int32_t){0}, 1, &decode, &o.text, NULL));
    REFUSED(tern_detokenizer_create(NULL, &decode, &o.detokenizer));
    REFUSED(tern_detokenizer_create(t, &decode, NULL));
    CHECK_OK(tern_detokenizer_create(t, NULL, &d));
    REFUSED(tern_detokenizer_push(NULL, 0, &o.constant_text, &o.size));
    REFUSED(tern_detokenizer_push(d, 0, NULL, &o.size));
    REFUSED(tern_detokenizer_push(d, 0, &o.constant_text, NULL));
    REFUSED(tern_detokenizer_finish(NULL, &o.constant_text, &o.size));
    REFUSED(tern_detokenizer_finish(d, NULL, &o.size));
    REFUSED(tern_detokenizer_finish(d, &o.constant_text, NULL));
    tern_detokenizer_free(d);
    QUIET(tern_detokenizer_free(NULL));
    tern_tokenizer_free(t);
}

TEST(chats)
{
    tern_tokenizer *t = make();
    tern_chat_message hi = {"user", "hi"};
    NEUTRAL(tern_chat_template_name(-1), NULL);
    REFUSED(tern_chat_template_recognise(NULL, &o.constant_text));
    REFUSED(tern_chat_template_recognise("[INST]", NULL));
    REFUSED(tern_chat_render(NULL, "llama-2", &hi, 1, true, &o.text));
    REFUSED(tern_chat_render(t, "llama-2", NULL, 1, true, &o.text));
    REFUSED(tern_chat_render(t, "llama-2", &hi, 1, true, NULL));
    REFUSED(tern_chat_encode(NULL, "llama-2", &hi, 1, true, &o.ids, &o.size));
    REFUSED(tern_chat_encode(t, "llama-2", NULL, 1, true, &o.ids, &o.size));
    REFUSED(tern_chat_encode(t, "llama-2", &hi, 1, true, NULL, &o.size));
    REFUSED(tern_chat_encode(t, "llama-2", &hi, 1, true, &o.ids, NULL));
    tern_tokenizer_free(t);
}

/* generate.c - continues a text with a model: generate [MODEL [TEXT]]
 *
 * What an embedder needs, in order: a context, the model's weights in it, the tokenizer that is in the same file, a session that
 * keeps keys and values, and a sequence in it. They are freed in the other order, all before the context. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

typedef struct parts {
    tern_model *model;
    tern_tokenizer *tokenizer;
    tern_session *session;
    tern_sequence *sequence;
} parts;

static tern_status make(tern_ctx *ctx, const char *path, parts *p)
{
    TERN_TRY(tern_model_load(ctx, path, NULL, &p->model));
    TERN_TRY(tern_tokenizer_from_file(tern_model_get_file(p->model), NULL, &p->tokenizer));
    TERN_TRY(tern_tokenizer_check(p->tokenizer, tern_model_get_file(p->model)));
    tern_session_options options = tern_session_options_default();
    options.context = 256;
    options.cache = TERN_F16; /* as `tern run` keeps keys and values: half of the memory of f32 */
    TERN_TRY(tern_session_create(p->model, &options, &p->session));
    return tern_sequence_create(p->session, 0, &p->sequence);
}

static void drop(parts *p)
{
    tern_sequence_free(p->sequence);
    tern_session_free(p->session);
    tern_tokenizer_free(p->tokenizer);
    tern_model_free(p->model);
}

static bool print(void *user, const tern_generated *piece)
{
    (void)user;
    fwrite(piece->text, 1, piece->length, stdout);
    return fflush(stdout) == 0; /* false would end the answer here */
}

static tern_status go_on(const parts *p, const char *text)
{
    int32_t *ids = NULL;
    size_t n = 0;
    tern_encode_options goes_on = tern_encode_options_default();
    goes_on.goes_on = true; /* no token that ends a text behind this one */
    TERN_TRY(tern_tokenizer_encode(p->tokenizer, text, strlen(text), &goes_on, &ids, &n));
    tern_status status = tern_sequence_prompt(p->sequence, ids, (int64_t)n, NULL, NULL);
    tern_tokens_free(ids);
    TERN_TRY(status);

    tern_generate_options options = tern_generate_options_default();
    options.sampling.temperature = 0; /* always the likeliest token */
    options.most = 48;
    tern_generate_result result;
    fputs(text, stdout);
    TERN_TRY(tern_generate(p->sequence, p->tokenizer, &options, print, NULL, &result));
    printf("\n\n%lld tokens", (long long)result.tokens);
    if (result.tokens > 1 && result.ns > 0)
        printf(", %.0f tokens/s", 1e9 * (double)(result.tokens - 1) / (double)result.ns);
    puts("");
    return TERN_OK;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "models/shakespeare.gguf";
    const char *text = argc > 2 ? argv[2] : "ROMEO:\n";
    tern_ctx *ctx = NULL;
    parts p = {0};
    tern_status status = tern_ctx_create(NULL, &ctx);
    if (status == TERN_OK)
        status = make(ctx, path, &p);
    if (status == TERN_OK)
        status = go_on(&p, text);
    if (status != TERN_OK)
        fprintf(stderr, "generate: %s\n", tern_last_error());
    drop(&p);
    tern_ctx_destroy(ctx);
    return status != TERN_OK &&
           status != TERN_UNAVAILABLE; /* a build without PCRE2 has no such tokenizer, and said so */
}

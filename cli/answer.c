/* answer.c - keeps and shows what a model answers. */
#include "answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "term.h"

double tokens_per_second(int64_t n, uint64_t ns)
{
    return ns && n > 0 ? (double)n * 1e9 / (double)ns : 0;
}

static void keep_token(answer *r, const tern_generated *piece)
{
    if (r->n == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 256;
        r->tokens = grab_more(r->tokens, r->capacity, sizeof *r->tokens);
    }
    answer_token *t = &r->tokens[r->n++];
    *t = (answer_token){.token = piece->token, .logprob = piece->logprob, .n_top = piece->n_top};
    if (piece->n_top > 0) {
        t->top = grab((size_t)piece->n_top, sizeof *t->top);
        memcpy(t->top, piece->top, (size_t)piece->n_top * sizeof *t->top);
    }
}

/* A terminal would obey it: a control character, also one of the second set, which take two bytes each. */
static bool is_command(const unsigned char *c, size_t left)
{
    return (c[0] < ' ' && c[0] != '\n' && c[0] != '\t') || c[0] == 0x7f ||
           (c[0] == 0xc2 && left > 1 && c[1] >= 0x80 && c[1] < 0xa0);
}

bool answer_show(const char *words, size_t length)
{
    const unsigned char *c = (const unsigned char *)words;
    bool terminal = isatty(STDOUT_FILENO) == 1;
    errno = EIO; /* of a failure that leaves no other reason */
    for (size_t i = 0; i < length; i++) {
        const bool obeyed = terminal && is_command(c + i, length - i);
        putchar(obeyed ? '?' : c[i]);
        i += obeyed && c[i] >= 0x80; /* its second byte goes with it */
    }
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    term_note_lost(errno);
    return false;
}

bool answer_take(void *user, const tern_generated *piece)
{
    answer *r = user;
    if (piece->token != TERN_NO_TOKEN)
        keep_token(r, piece);
    if (piece->token != TERN_NO_TOKEN)
        metrics_token(r->metrics, r->begun_ns, &r->last_ns);
    if (r->keep)
        text_add_n(&r->content, piece->text, piece->length);
    if (r->stream && !answer_show(piece->text, piece->length))
        r->lost = true;
    return !r->lost;
}

void answer_free(answer *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->tokens[i].top);
    free(r->tokens);
    text_free(&r->content);
}

static void add_logprob(json *j, const engine *e, int32_t token, float logprob)
{
    char *shown = NULL;
    size_t length;
    tern_decode_options decode = {.show_special = true, .goes_on = true};
    json_int(j, "token", token);
    if (tern_tokenizer_decode(e->tokenizer, &token, 1, &decode, &shown, &length) == TERN_OK)
        json_string_n(j, "text", shown, length);
    tern_string_free(shown);
    json_double(j, "logprob", (double)logprob);
}

static void add_logprobs(json *j, const engine *e, const answer *r)
{
    json_array(j, "logprobs");
    for (size_t i = 0; i < r->n; i++) {
        const answer_token *t = &r->tokens[i];
        json_object(j, NULL);
        add_logprob(j, e, t->token, t->logprob);
        json_array(j, "top");
        for (int k = 0; k < t->n_top; k++) {
            json_object(j, NULL);
            add_logprob(j, e, t->top[k].token, t->top[k].logprob);
            json_end(j);
        }
        json_end(j);
        json_end(j);
    }
    json_end(j);
}

void answer_add_json(json *j, const engine *e, const answer *r)
{
    json_string_n(j, "content", text_string(&r->content), r->content.length);
    json_array(j, "tokens");
    for (size_t i = 0; i < r->n; i++)
        json_int(j, NULL, r->tokens[i].token);
    json_end(j);
    if (r->n > 0 && !isnan(r->tokens[0].logprob))
        add_logprobs(j, e, r);
    const bool stopped = r->result.finish == TERN_FINISH_CALLER; /* the caller is whoever pressed Ctrl-C */
    json_string(j, "finish", stopped ? "stopped" : tern_finish_name(r->result.finish));
    json_uint(j, "seed", r->seed);
    json_int(j, "generated_tokens", r->result.tokens);
    json_double(j, "generated_tokens_per_s", tokens_per_second(r->result.tokens - 1, r->result.ns));
}

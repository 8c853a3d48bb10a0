/* compare_text.c - do devices say the same? A model continues a text on two of them, greedily, and both read what the first one chose:
 * so the first token at which the other would choose differently is where their texts part. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tern/generate.h>
#include <tern/tokenizer.h>

#include "base/status.h"
#include "measure/compare/compare_devices.h"

typedef struct reader {
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    tern_sequence *sequence;
} reader;

static void close_reader(reader *r)
{
    tern_sequence_free(r->sequence);
    tern_session_free(r->session);
    tern_model_free(r->model);
    tern_ctx_destroy(r->ctx);
    *r = (reader){0};
}

static tern_status open_reader(const tern__text_question *q, const char *device, reader *r)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    options.fallback =
        true; /* what it says is asked, not who computes it: that is in the name of its times */
    options.threads = q->threads;
    TERN_TRY(tern_ctx_create(&options, &r->ctx));
    tern_model_options loading = tern_model_options_default();
    loading.guard = q->guard;
    TERN_TRY(tern_model_load(r->ctx, q->model, &loading, &r->model));
    TERN_TRY(tern_session_create(r->model, NULL, &r->session));
    return tern_sequence_create(r->session, 0, &r->sequence);
}

static tern_status read_prompt(const tern__text_question *q, reader *first, reader *other)
{
    const tern_encode_options goes_on = {.goes_on = true};
    tern_tokenizer *tokenizer = NULL;
    int32_t *ids = NULL;
    size_t n = 0;
    TERN_TRY(tern_tokenizer_from_file(tern_model_get_file(first->model), NULL, &tokenizer));
    tern_status status = tern_tokenizer_encode(tokenizer, q->prompt, strlen(q->prompt), &goes_on, &ids, &n);
    tern_tokenizer_free(tokenizer);
    if (status == TERN_OK)
        status = tern_sequence_prompt(first->sequence, ids, (int64_t)n, NULL, NULL);
    if (status == TERN_OK)
        status = tern_sequence_prompt(other->sequence, ids, (int64_t)n, NULL, NULL);
    tern_tokens_free(ids);
    return status;
}

static int32_t likeliest(const float *logits, int64_t n)
{
    int32_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

/* The standard deviation. */
static double spread_of(int64_t n, const float *logits)
{
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        mean += (double)logits[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((double)logits[i] - mean) * ((double)logits[i] - mean);
    return sqrt(squares / (double)n);
}

/* Most that a logit differs by; what is no number is as far as can be. */
static double most_apart(int64_t n, const float *first, const float *other)
{
    double most = 0;
    for (int64_t i = 0; i < n && !isnan(most); i++) {
        const double apart = fabs((double)first[i] - (double)other[i]);
        most = apart <= most ? most : apart;
    }
    return most;
}

/* Is `moved`, what a logit has moved by at least, more than `bound`? The first that is too much stays what is told. */
static void judge(double moved, double bound, tern_device_text *out)
{
    if (out->wrong)
        return;
    out->bound = bound;
    out->wrong = !(moved <= bound);
}

void tern__text_look(int64_t n, const float *first, const float *other, tern_device_text *out)
{
    const int32_t theirs = likeliest(first, n), own = likeliest(other, n);
    const double apart = most_apart(n, first, other), spread = spread_of(n, first), before = out->difference;
    judge(apart, TERN__TEXT_CEILING * spread, out);
    if (!(apart <= before) && !isnan(before))
        out->difference = apart;
    if (own == theirs) {
        out->tokens++;
        return;
    }
    out->parts = true;
    out->chosen = theirs;
    out->other = own;
    out->margin = (double)first[theirs] - (double)first[own];
    if (out->tokens >= TERN__TEXT_KNOWN) { /* two logits moved, one up and one down */
        const double bound =
            fmin(TERN__TEXT_CEILING * spread, fmax(TERN__TEXT_GROWTH * before, TERN__TEXT_FLOOR * spread));
        judge(out->margin / 2, bound, out);
    }
}

static tern_status read_along(const tern__text_question *q, reader *first, reader *other,
                              tern_device_text *out)
{
    const int64_t n = tern_session_vocabulary(first->session);
    TERN_TRY(read_prompt(q, first, other));
    for (int i = 0; i < q->tokens; i++) {
        const float *logits = tern_sequence_logits(first->sequence);
        tern__text_look(n, logits, tern_sequence_logits(other->sequence), out);
        if (out->parts || i + 1 == q->tokens ||
            tern_sequence_length(first->sequence) >= tern_session_context(first->session))
            break;
        const int32_t next = likeliest(logits, n);
        TERN_TRY(tern_sequence_push(first->sequence, next));
        TERN_TRY(tern_sequence_push(other->sequence, next));
    }
    return TERN_OK;
}

/* A device that failed said nothing: that was the CPU, which took over. */
static tern_status check_who_spoke(const reader *r)
{
    tern_device_error e;
    TERN__FAIL_IF(tern_ctx_device_error(r->ctx, &e) && e.taken_over, TERN_UNAVAILABLE,
                  "the CPU took over: %s of %s failed: %.80s", e.doing, e.op, e.cause);
    return TERN_OK;
}

tern_status tern__compare_text(const tern__text_question *q, const char *device, tern_device_text *out)
{
    reader first = {0}, other = {0};
    *out = (tern_device_text){.margin = NAN};
    snprintf(out->device, sizeof out->device, "%s", device);
    tern_status status = open_reader(q, q->first, &first);
    if (status == TERN_OK)
        status = open_reader(q, device, &other);
    if (status == TERN_OK)
        status = read_along(q, &first, &other, out);
    if (status == TERN_OK)
        status = check_who_spoke(&other);
    if (status != TERN_OK && status != TERN_CANCELLED) {
        snprintf(out->error, sizeof out->error, "%s", tern_last_error());
        status = TERN_OK;
    }
    close_reader(&other);
    close_reader(&first);
    return status;
}

const char *tern_device_text_words(const tern_device_text *t, const char *first, char *to, size_t room)
{
    if (!to || room == 0)
        return "";
    to[0] = '\0';
    if (!t || !first)
        return to;
    if (t->error[0])
        snprintf(to, room, "unavailable: %s", t->error);
    else {
        const int used =
            t->parts
                ? snprintf(to, room,
                           "the same %d tokens as %s, then they part: %s prefers token %d to %d by %.2g; "
                           "logits differ by up to %.2g",
                           t->tokens, first, first, (int)t->chosen, (int)t->other, t->margin, t->difference)
                : snprintf(to, room, "the same %d tokens as %s; logits differ by %.2g at most", t->tokens,
                           first, t->difference);
        const size_t at = used > 0 && (size_t)used < room ? (size_t)used : room - 1;
        if (t->wrong)
            snprintf(to + at, room - at, ": an error of a device, rounding moves them by %.2g at most",
                     t->bound);
        else if (t->parts)
            snprintf(to + at, room - at, ": a near tie, rounding decides");
    }
    return to;
}

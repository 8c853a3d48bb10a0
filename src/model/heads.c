/* heads.c - what a converted head does to a model: how often the likeliest token stays the same. */
#include "base/random.h"
#include "base/status.h"
#include "model/file/load.h"
#include "model/session.h"

enum { MOST_ROWS = 256 };

typedef struct comparison {
    tern_model *m;
    tern_tensor *own; /* the head as the file has it */
    tern_session *session;
    int rows; /* of a context */
    tern_head_agreement found;
} comparison;

/* The likeliest tokens by both heads. */
static int record(const tern_model *m, tern_tensor *hidden, void *user, tern_tensor **outputs)
{
    const comparison *c = user;
    outputs[0] = tern_argmax(tern_linear(hidden, m->head), 1, false);
    outputs[1] = tern_argmax(tern_linear(hidden, c->own), 1, false);
    return 2;
}

static tern_status count(void *user, int n, tern_tensor *const *out)
{
    comparison *c = user;
    const int64_t *a = tern_data(out[0]), *b = tern_data(out[1]);
    if (!a || !b)
        return tern_status_of(a ? out[1] : out[0]);
    for (int i = 0; i < n; i++)
        c->found.same += a[i] == b[i];
    c->found.tokens += n;
    return TERN_OK;
}

static tern_status open_session(comparison *c)
{
    const tern_session_options o = {.context = c->rows, .batch = c->rows, .cache = TERN_F16};
    TERN_SCOPE(c->m->ctx) {
        TERN_TRY(tern__load_later(c->m->ctx, c->m->loading, c->m->head_at, &c->own));
        tern_keep(c->own);
    }
    return tern__session_create(c->m, &o, record, c, &c->session);
}

/* One context of arbitrary tokens. */
static tern_status compare_context(comparison *c)
{
    tern_session_row rows[MOST_ROWS];
    int wanted[MOST_ROWS];
    for (int i = 0; i < c->rows; i++) {
        const double any = tern__random_uniform(0, (uint64_t)(c->found.tokens + i));
        rows[i] = (tern_session_row){.token = (int32_t)(any * (double)c->m->vocabulary), .position = i};
        wanted[i] = i;
    }
    return tern__session_feed(c->session, c->rows, rows, c->rows, wanted, count, c);
}

static tern_status compare(comparison *c, int64_t tokens, tern_model_progress progress, void *user)
{
    TERN_TRY(open_session(c));
    while (c->found.tokens < tokens) {
        TERN_TRY(compare_context(c));
        TERN__FAIL_IF(progress && !progress(user, (uint64_t)c->found.tokens, (uint64_t)tokens),
                      TERN_CANCELLED, "model: comparing heads was stopped");
    }
    return TERN_OK;
}

tern_status tern_model_compare_heads(tern_model *model, int64_t tokens, tern_model_progress progress,
                                     void *user, tern_head_agreement *out)
{
    TERN__FAIL_IF(!model || !out, TERN_INVALID_ARGUMENT, "model_compare_heads: an argument is NULL");
    TERN__FAIL_IF(tokens < 1, TERN_OUT_OF_RANGE, "model_compare_heads: %lld tokens", (long long)tokens);
    comparison c = {.m = model, .rows = model->h.context < MOST_ROWS ? (int)model->h.context : MOST_ROWS};
    tern_status status = compare(&c, tokens, progress, user);
    tern_session_free(c.session);
    tern_release(c.own);
    if (status == TERN_OK)
        *out = c.found;
    return status;
}

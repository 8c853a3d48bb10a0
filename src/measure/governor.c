/* governor.c - threads and batch by the conditions of the machine. */
#include <tern/conditions.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"

static const uint64_t usual_ns = 1000000000;

struct tern_governor {
    tern_ctx *ctx;
    tern_session *session; /* or NULL */
    tern_governor_options options;
    tern_allowance most, now;
    tern_conditions conditions;
    bool looked;
    uint64_t last_ns;
};

static tern_status read_sensors(void *user, const tern_conditions *previous, tern_conditions *out)
{
    (void)user;
    return tern_conditions_read(NULL, previous, out);
}

void tern_policy_usual(void *user, const tern_conditions *c, tern_allowance *a)
{
    (void)user;
    if (!c || !a)
        return;
    const int part = c->strain == TERN_STRAIN_SEVERE ? 4 : c->strain == TERN_STRAIN_MODERATE ? 2 : 1;
    a->threads = a->threads / part > 1 ? a->threads / part : 1;
    if (a->batch > 0)
        a->batch = a->batch / part > 1 ? a->batch / part : 1;
}

/* Before each batch of rows. Sensors that fail leave everything as it is, and the rows are computed. */
static void look_again(void *user)
{
    (void)tern_governor_look(user, 0);
}

tern_governor_options tern_governor_options_default(void)
{
    return (tern_governor_options){0};
}

tern_status tern_governor_create(tern_ctx *ctx, tern_session *session, const tern_governor_options *options,
                                 tern_governor **out)
{
    TERN__FAIL_IF(!ctx || !out, TERN_INVALID_ARGUMENT, "governor: needs a context and a place for it");
    tern_governor *g = tern__alloc_zero(1, sizeof *g);
    if (!g)
        return tern__out_of_memory(sizeof *g);
    g->ctx = ctx;
    g->session = session;
    if (options)
        g->options = *options;
    g->options.every_ns = g->options.every_ns ? g->options.every_ns : usual_ns;
    g->options.source = g->options.source ? g->options.source : read_sensors;
    g->options.policy = g->options.policy ? g->options.policy : tern_policy_usual;
    g->most = (tern_allowance){.threads = tern_ctx_threads(ctx), .batch = tern_session_batch(session)};
    g->now = g->most;
    tern_status status = session ? tern_session_set_before_batch(session, look_again, g) : TERN_OK;
    if (status != TERN_OK) {
        tern__free(g);
        return status;
    }
    *out = g;
    return TERN_OK;
}

static void apply(tern_governor *g, tern_allowance a)
{
    a.threads = a.threads < 1 ? 1 : a.threads > g->most.threads ? g->most.threads : a.threads;
    a.batch = g->most.batch == 0 ? 0 : a.batch < 1 ? 1 : a.batch > g->most.batch ? g->most.batch : a.batch;
    if (a.threads != g->now.threads)
        tern__log(TERN_LOG_INFO, "strain is %s: %d of %d threads compute",
                  tern_strain_name(g->conditions.strain), a.threads, g->most.threads);
    tern_ctx_limit_threads(g->ctx, a.threads);
    tern_session_limit_batch(g->session, a.batch);
    g->now = a;
}

void tern_governor_free(tern_governor *g)
{
    if (!g)
        return;
    if (g->session)
        (void)tern_session_set_before_batch(g->session, NULL, g); /* it is ours */
    tern_session_limit_batch(g->session, 0);
    tern_ctx_limit_threads(g->ctx, 0);
    tern__free(g);
}

tern_status tern_governor_look(tern_governor *g, uint64_t now_ns)
{
    TERN__FAIL_IF(!g, TERN_INVALID_ARGUMENT, "governor_look: the governor is NULL");
    now_ns = now_ns ? now_ns : tern__now_ns();
    if (g->looked && now_ns - g->last_ns < g->options.every_ns)
        return TERN_OK;
    tern_conditions read = {0};
    const tern_status status = g->options.source(g->options.user, g->looked ? &g->conditions : NULL, &read);
    g->last_ns = now_ns;
    if (status != TERN_OK)
        return status;
    g->looked = true;
    g->conditions = read;
    tern_allowance a = g->most;
    g->options.policy(g->options.user, &read, &a);
    apply(g, a);
    return TERN_OK;
}

void tern_governor_get(const tern_governor *g, tern_conditions *conditions, tern_allowance *allowance)
{
    if (!g)
        return;
    if (conditions)
        *conditions = g->conditions;
    if (allowance)
        *allowance = g->now;
}

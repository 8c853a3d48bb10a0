/* stream.c - streams: a thread and a list of jobs each; events: a flag that may be waited for. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pthread_setname_np */
#endif
#include <tern/stream.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/status.h"
#include "base/trace.h"
#include "runtime/context.h"

/* ---- events ---- */

struct tern_event {
    _Atomic(int) refs; /* of the caller, and of jobs that record it or wait for it */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    tern_status status;
    char message[TERN__MESSAGE_MAX];
};

tern_status tern_event_create(tern_event **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "event: out is NULL");
    tern_event *e = tern__alloc_zero(1, sizeof *e);
    if (!e)
        return tern__out_of_memory(sizeof *e);
    atomic_init(&e->refs, 1);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    *out = e;
    return TERN_OK;
}

void tern_event_free(tern_event *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    tern__free(e);
}

static void hold(tern_event *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

static void finish(tern_event *e, tern_status status, const char *message)
{
    pthread_mutex_lock(&e->lock);
    if (!e->done) {
        e->done = true;
        e->status = status;
        snprintf(e->message, sizeof e->message, "%s", message);
    }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

tern_status tern_event_signal(tern_event *e)
{
    TERN__FAIL_IF(!e, TERN_INVALID_ARGUMENT, "event_signal: the event is NULL");
    finish(e, TERN_OK, "");
    return TERN_OK;
}

bool tern_event_is_done(const tern_event *event)
{
    tern_event *e = (tern_event *)(uintptr_t)event; /* its lock changes, it does not */
    if (!e)
        return false;
    pthread_mutex_lock(&e->lock);
    const bool done = e->done;
    pthread_mutex_unlock(&e->lock);
    return done;
}

tern_status tern_event_wait(tern_event *e)
{
    TERN__FAIL_IF(!e, TERN_INVALID_ARGUMENT, "event_wait: the event is NULL");
    pthread_mutex_lock(&e->lock);
    while (!e->done)
        pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
    return e->status == TERN_OK ? TERN_OK : tern__fail(e->status, "%s", e->message);
}

/* ---- jobs ---- */

typedef struct job {
    struct job *next;
    const char *name; /* of the trace event; NULL: none */
    tern_stream_work work;
    void *user;
    void *to; /* a copy, if there is no work */
    const void *from;
    size_t bytes;
    tern__storage *storage; /* that is held until it is done; or NULL */
    tern_event *waits, *records;
} job;

struct tern_stream {
    tern_ctx *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first, **last; /* to be done */
    bool busy, quit;
    tern_status status; /* of the first that failed */
    char message[TERN__MESSAGE_MAX];
};

static void job_free(job *j)
{
    tern__storage_release(j->storage);
    tern_event_free(j->waits);
    tern_event_free(j->records);
    tern__free(j);
}

static tern_status job_do(job *j)
{
    if (j->waits)
        TERN_TRY(tern_event_wait(j->waits));
    const uint64_t start = j->name ? tern__trace_begin() : 0;
    tern_status status = TERN_OK;
    if (j->work)
        status = j->work(j->user);
    else if (j->bytes > 0)
        memcpy(j->to, j->from, j->bytes);
    tern__trace_end(start, j->name, "copy", UINT32_MAX, 0, j->bytes);
    return status;
}

/* Behind a failure jobs are over at once; their events say why. */
static void carry_out(tern_stream *s, job *j)
{
    const bool failed =
        s->status != TERN_OK; /* written by this thread, and by the other while this one is idle */
    const tern_status status = failed ? s->status : job_do(j);
    if (!failed && status != TERN_OK) {
        pthread_mutex_lock(&s->lock);
        s->status = status;
        snprintf(s->message, sizeof s->message, "%s", tern_last_error());
        pthread_mutex_unlock(&s->lock);
    }
    if (j->records)
        finish(j->records, s->status, s->message);
    job_free(j);
}

static void *stream_main(void *arg)
{
    tern_stream *s = arg;
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "tern-stream");
#endif
    if (s->ctx->background && tern__thread_background() != TERN_OK)
        tern__log(TERN_LOG_WARN, "%s", tern_last_error());
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->first && !s->quit)
            pthread_cond_wait(&s->changed, &s->lock);
        job *j = s->first;
        if (!j)
            break;
        s->first = j->next;
        if (!s->first)
            s->last = &s->first;
        s->busy = true;
        pthread_mutex_unlock(&s->lock);
        carry_out(s, j);
        pthread_mutex_lock(&s->lock);
        s->busy = false;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Takes over what `given` holds, also when it fails. */
static tern_status enqueue(tern_stream *s, const job *given)
{
    job *j = tern__alloc(sizeof *j);
    if (!j) {
        tern__storage_release(given->storage);
        tern_event_free(given->waits);
        tern_event_free(given->records);
        return tern__out_of_memory(sizeof *j);
    }
    *j = *given;
    j->next = NULL;
    pthread_mutex_lock(&s->lock);
    *s->last = j;
    s->last = &j->next;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return TERN_OK;
}

/* ---- streams ---- */

/* Signals are for the threads of the program. */
static int start_thread(tern_stream *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&s->thread, NULL, stream_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

tern_status tern_stream_create(tern_ctx *ctx, tern_stream **out)
{
    TERN__FAIL_IF(!ctx || !out, TERN_INVALID_ARGUMENT, "stream: needs a context and a place for it");
    tern_stream *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    s->ctx = ctx;
    s->last = &s->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    const int error = start_thread(s);
    if (error != 0) {
        pthread_cond_destroy(&s->changed);
        pthread_mutex_destroy(&s->lock);
        tern__free(s);
        return tern__fail(TERN_LIMIT, "stream: no thread can be made: %s", strerror(error));
    }
    *out = s;
    return TERN_OK;
}

void tern_stream_free(tern_stream *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    tern__free(s);
}

tern_status tern_stream_synchronise(tern_stream *s)
{
    TERN__FAIL_IF(!s, TERN_INVALID_ARGUMENT, "stream_synchronise: the stream is NULL");
    pthread_mutex_lock(&s->lock);
    while (s->first || s->busy)
        pthread_cond_wait(&s->changed, &s->lock);
    const tern_status status = s->status;
    s->status = TERN_OK;
    pthread_mutex_unlock(&s->lock);
    return status == TERN_OK ? TERN_OK : tern__fail(status, "%s", s->message);
}

tern_status tern_stream_write(tern_stream *s, tern_tensor *t, const void *data)
{
    TERN__FAIL_IF(!s || !data, TERN_INVALID_ARGUMENT, "stream_write: the stream or the data are NULL");
    TERN_TRY(tern__tensor_check(t));
    TERN__FAIL_IF(t->node->ctx != s->ctx, TERN_INVALID_ARGUMENT,
                  "stream_write: the tensor belongs to another context");
    TERN_TRY(tern__tensor_check_writable("stream_write", t));
    TERN_TRY(tern__settle_for_writing(t));
    TERN__FAIL_IF(!tern__layout_is_contiguous(&t->type, &t->layout), TERN_UNSUPPORTED,
                  "stream_write: the tensor is not contiguous");
    t->storage->version++;
    tern__storage_retain(t->storage);
    return enqueue(s, &(job){.name = "write",
                             .to = (char *)t->storage->host +
                                   t->layout.offset * (int64_t)tern__dtype_unit_bytes(t->type.dtype),
                             .from = data,
                             .bytes = tern__type_bytes(&t->type),
                             .storage = t->storage});
}

tern_status tern_stream_read(tern_stream *s, tern_tensor *t, void *data)
{
    const void *from;
    TERN__FAIL_IF(!s || !data, TERN_INVALID_ARGUMENT, "stream_read: the stream or the place is NULL");
    TERN_TRY(tern__tensor_check(t));
    TERN__FAIL_IF(t->node->ctx != s->ctx, TERN_INVALID_ARGUMENT,
                  "stream_read: the tensor belongs to another context");
    TERN_TRY(tern__dense_data(t, &from));
    tern__storage *held = t->dense && from == t->dense->host ? t->dense : t->storage;
    tern__storage_retain(held);
    return enqueue(
        s,
        &(job){
            .name = "read", .to = data, .from = from, .bytes = tern__type_bytes(&t->type), .storage = held});
}

tern_status tern_stream_call(tern_stream *s, const char *name, tern_stream_work work, void *user)
{
    TERN__FAIL_IF(!s || !name || !work, TERN_INVALID_ARGUMENT,
                  "stream_call: the stream, the name or the function is NULL");
    return enqueue(s, &(job){.name = name, .work = work, .user = user});
}

tern_status tern_stream_wait(tern_stream *s, tern_event *event)
{
    TERN__FAIL_IF(!s || !event, TERN_INVALID_ARGUMENT, "stream_wait: the stream or the event is NULL");
    hold(event);
    return enqueue(s, &(job){.waits = event});
}

tern_status tern_stream_record(tern_stream *s, tern_event **out)
{
    tern_event *event;
    TERN__FAIL_IF(!s || !out, TERN_INVALID_ARGUMENT, "stream_record: the stream or out is NULL");
    TERN_TRY(tern_event_create(&event));
    hold(event);
    const tern_status status = enqueue(s, &(job){.records = event});
    if (status != TERN_OK) {
        tern_event_free(event);
        return status;
    }
    *out = event;
    return TERN_OK;
}

/* session.c - keys and values of sequences, and the programs that extend them. Programs are specialised by the number of rows; to
 * need few of them, rows are padded up to one of a handful of sizes (position -1: computed, never looked at). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/trace.h"
#include "model/file/model_file.h"
#include "model/session.h"

/* What a program is given. */
enum { TOKENS, SLOTS, POSITIONS, WANTED, N_INPUTS };
static const char *const input_names[N_INPUTS] = {
    [TOKENS] = "tokens", [SLOTS] = "slots", [POSITIONS] = "positions", [WANTED] = "wanted"};

typedef struct program {
    tern_session_program info;
    tern_program *program;
    tern_exec *exec;
    int n_in, n_out;
    /* (n_in) the session's arrays, in the order in which the program meets them */
    tern_tensor *inputs[N_INPUTS];
} program;

struct tern_session {
    tern_model *model;
    int slots;
    int64_t context, batch;
    int64_t fewer;                    /* rows at once than `batch`; 0: as many */
    tern_session_before_batch before; /* or NULL */
    void *before_user;
    bool time_steps;
    tern__session_record record; /* what programs compute of hidden states */
    void *record_user;
    tern_compile_options compile;           /* at level high the products of one operand become one */
    tern_tensor **cache[TERN__CACHE_COUNT]; /* (layers) states; those of scales: NULL unless keys are int8 */
    program *programs;
    size_t n_programs, cap_programs;
    int64_t *given[N_INPUTS]; /* (batch) of the chunk under way: programs read them where they are */
};

enum { MOST_BATCH = 65536 };

tern_session_options tern_session_options_default(void)
{
    return (tern_session_options){.slots = 1, .cache = TERN_F32, .batch = TERN_SESSION_BATCH};
}

/* ---- making ---- */

static tern_status make_state(tern_session *s, const char *what, int64_t layer, tern_dtype dtype,
                              int64_t width, tern_tensor **out)
{
    char name[32];
    snprintf(name, sizeof name, "%s %lld", what, (long long)layer);
    tern__open_part(s->model, layer, "attention");
    tern_tensor *t = tern_state(s->model->ctx, name, dtype, 4,
                                (int64_t[]){s->slots, s->context, s->model->h.kv_heads, width});
    tern_origin_close(s->model->ctx);
    tern_status status = tern_status_of(t);
    if (status != TERN_OK)
        return tern__fail(status, "session: no room for keys and values: %s", tern_message_of(t));
    tern_keep(t);
    *out = t;
    return TERN_OK;
}

/* States are made one by one: what cannot fit is refused before the first page of it is touched. */
static tern_status check_room(const tern_session *s, tern_dtype dtype)
{
    const tern__hparams *h = &s->model->h;
    const int64_t memory = tern__cpu()->memory_bytes;
    const double bytes = tern__cache_bytes(h, s->slots, s->context, dtype);
    TERN__FAIL_IF(
        memory > 0 && bytes > (double)memory, TERN_OUT_OF_MEMORY,
        "session: keys and values of %lld positions need %.1f GiB, this machine has %.1f: ask for a "
        "smaller context",
        (long long)s->context, bytes / 0x1p30, (double)memory / 0x1p30);
    return TERN_OK;
}

static tern_status make_states(tern_session *s, tern_dtype dtype)
{
    TERN_TRY(check_room(s, dtype));
    static const char *const names[] = {"keys", "values", "key scales", "value scales"};
    for (int k = 0; k < (dtype == TERN_I8 ? TERN__CACHE_COUNT : TERN__CACHE_KEY_SCALES); k++) {
        const bool scales = k >= TERN__CACHE_KEY_SCALES;
        for (int64_t i = 0; i < s->model->h.layers; i++)
            TERN_TRY(make_state(s, names[k], i, scales ? TERN_F32 : dtype,
                                scales ? 1 : s->model->h.head_width, &s->cache[k][i]));
    }
    return TERN_OK;
}

static tern_status allocate(tern_session *s)
{
    size_t layers = (size_t)s->model->h.layers, batch = (size_t)s->batch;
    bool caches = true;
    for (int k = 0; k < TERN__CACHE_COUNT; k++) {
        s->cache[k] = tern__alloc_zero(layers, sizeof *s->cache[k]);
        caches = caches && s->cache[k];
    }
    bool arrays = true;
    for (int k = 0; k < N_INPUTS; k++) {
        s->given[k] = tern__alloc_aligned(batch * sizeof *s->given[k], 64);
        arrays = arrays && s->given[k];
    }
    return caches && arrays ? TERN_OK : tern__out_of_memory(batch * sizeof *s->given[0]);
}

tern_status tern__session_options_resolve(const tern__hparams *h, const tern_session_options *options,
                                          tern_session_options *out)
{
    const tern_session_options usual = tern_session_options_default();
    tern_session_options o = options ? *options : usual;
    TERN__FAIL_IF(o.slots < 0, TERN_INVALID_ARGUMENT, "session: %d slots", o.slots);
    TERN__FAIL_IF(o.batch < 0 || o.batch > MOST_BATCH, TERN_INVALID_ARGUMENT,
                  "session: a batch of %lld rows; 1 to %d are possible", (long long)o.batch, MOST_BATCH);
    TERN__FAIL_IF(o.context < 0 || o.context > h->context, TERN_OUT_OF_RANGE,
                  "session: a context of %lld positions: the model was trained for %lld",
                  (long long)o.context, (long long)h->context);
    o.slots = o.slots ? o.slots : usual.slots;
    o.batch = o.batch ? o.batch : usual.batch;
    o.context = o.context ? o.context : h->context;
    o.cache = o.cache ? o.cache : usual.cache;
    TERN__FAIL_IF(o.cache != TERN_F32 && o.cache != TERN_F16 && o.cache != TERN_I8, TERN_DTYPE,
                  "session: keys and values can be kept as f32, f16 or i8");
    *out = o;
    return TERN_OK;
}

tern_status tern__session_create(tern_model *model, const tern_session_options *options,
                                 tern__session_record record, void *user, tern_session **out)
{
    tern_session_options o;
    TERN_TRY(tern__session_options_resolve(&model->h, options, &o));
    tern_session *s = tern__alloc_zero(1, sizeof *s);
    if (!s)
        return tern__out_of_memory(sizeof *s);
    s->model = model;
    s->slots = o.slots;
    s->context = o.context;
    s->batch = o.batch;
    s->time_steps = o.time_steps;
    s->record = record;
    s->record_user = user;
    s->compile = o.compile ? *o.compile : tern_compile_options_default();
    if (!o.compile)
        s->compile.level = TERN_LEVEL_HIGH;
    tern_status status = allocate(s);
    if (status == TERN_OK)
        TERN_SCOPE(model->ctx)
            status = make_states(s, o.cache);
    if (status != TERN_OK) {
        tern_session_free(s);
        return status;
    }
    *out = s;
    return TERN_OK;
}

static int record_logits(const tern_model *m, tern_tensor *hidden, void *user, tern_tensor **outputs)
{
    (void)user;
    outputs[0] = tern_linear(hidden, m->head);
    return 1;
}

tern_status tern_session_create(tern_model *model, const tern_session_options *options, tern_session **out)
{
    TERN__FAIL_IF(!model || !out, TERN_INVALID_ARGUMENT, "session_create: an argument is NULL");
    return tern__session_create(model, options, record_logits, NULL, out);
}

static void free_program(program *p)
{
    tern_exec_free(p->exec);
    for (int i = 0; i < N_INPUTS; i++)
        tern_release(p->inputs[i]);
    tern_program_free(p->program);
}

void tern_session_free(tern_session *session)
{
    if (!session)
        return;
    for (size_t i = 0; i < session->n_programs; i++)
        free_program(&session->programs[i]);
    for (int k = 0; k < TERN__CACHE_COUNT; k++) {
        for (int64_t i = 0; session->cache[k] && i < session->model->h.layers; i++)
            tern_release(session->cache[k][i]);
        tern__free(session->cache[k]);
    }
    for (int k = 0; k < N_INPUTS; k++)
        tern__free(session->given[k]);
    tern__free(session->programs);
    tern__free(session);
}

int tern_session_slots(const tern_session *session)
{
    return session ? session->slots : 0;
}

int64_t tern_session_batch(const tern_session *session)
{
    return session ? session->batch : 0;
}

void tern_session_limit_batch(tern_session *session, int64_t rows)
{
    if (session)
        session->fewer = rows > 0 && rows < session->batch ? rows : 0;
}

tern_status tern_session_set_before_batch(tern_session *session, tern_session_before_batch before, void *user)
{
    TERN__FAIL_IF(!session, TERN_INVALID_ARGUMENT, "session_set_before_batch: the session is NULL");
    TERN__FAIL_IF(session->before && (before || user != session->before_user), TERN_STATE,
                  "session_set_before_batch: somebody else is called before each batch of this session");
    session->before = before;
    session->before_user = before ? user : NULL;
    return TERN_OK;
}

int64_t tern_session_vocabulary(const tern_session *session)
{
    return session ? session->model->vocabulary : 0;
}

int64_t tern_session_context(const tern_session *session)
{
    return session ? session->context : 0;
}

size_t tern_session_cache_bytes(const tern_session *session)
{
    size_t bytes = 0;
    for (int k = 0; session && k < TERN__CACHE_COUNT; k++)
        for (int64_t i = 0; i < session->model->h.layers; i++)
            bytes += tern_nbytes(session->cache[k][i]);
    return bytes;
}

tern_status tern_session_get_program(const tern_session *session, int i, tern_session_program *out)
{
    TERN__FAIL_IF(!session || !out, TERN_INVALID_ARGUMENT, "session_get_program: an argument is NULL");
    TERN__FAIL_IF(i < 0 || (size_t)i >= session->n_programs, TERN_OUT_OF_RANGE,
                  "session program %d: there are %zu", i, session->n_programs);
    *out = session->programs[i].info;
    return TERN_OK;
}

/* ---- copies ---- */

/* The first n positions of a slot. */
static tern_tensor *part_of(tern_tensor *cache, int slot, int64_t n)
{
    return tern_narrow(tern_narrow(cache, 0, slot, slot + 1), 1, 0, n);
}

tern_status tern_session_copy(tern_session *session, int from, int to, int64_t n)
{
    TERN__FAIL_IF(!session, TERN_INVALID_ARGUMENT, "session_copy: the session is NULL");
    TERN__FAIL_IF(from < 0 || from >= session->slots || to < 0 || to >= session->slots, TERN_OUT_OF_RANGE,
                  "session_copy: slot %d to slot %d: there are %d", from, to, session->slots);
    TERN__FAIL_IF(n < 0 || n > session->context, TERN_OUT_OF_RANGE,
                  "session_copy: %lld positions: the context has %lld", (long long)n,
                  (long long)session->context);
    tern_status status = TERN_OK;
    for (int k = 0; k < TERN__CACHE_COUNT && from != to && n > 0; k++)
        for (int64_t i = 0; i < session->model->h.layers && session->cache[k][i] && status == TERN_OK; i++)
            TERN_SCOPE(session->model->ctx)
                status =
                    tern_assign(part_of(session->cache[k][i], to, n), part_of(session->cache[k][i], from, n));
    return status;
}

/* ---- programs ---- */

/* The least size that holds n rows: powers of two and what lies half-way between them, at most `most`. */
static int64_t padded_size(int64_t n, int64_t most)
{
    int64_t size = 1;
    while (size < n) {
        if (size >= 4 && size + size / 2 >= n) {
            size += size / 2;
            break;
        }
        size *= 2;
    }
    return size < most ? size : most;
}

static tern_status compile_rows(tern_session *s, program *p)
{
    tern_ctx *ctx = s->model->ctx;
    const int64_t rows[] = {p->info.rows}, wanted[] = {p->info.wanted};
    tern__decoder_rows in = {
        .tokens = tern_input(ctx, input_names[TOKENS], TERN_I64, 1, rows),
        .slots = tern_input(ctx, input_names[SLOTS], TERN_I64, 1, rows),
        .positions = tern_input(ctx, input_names[POSITIONS], TERN_I64, 1, rows),
        .wanted = p->info.wanted ? tern_input(ctx, input_names[WANTED], TERN_I64, 1, wanted) : NULL,
        .cache = s->cache};
    tern_tensor *outputs[TERN__MOST_OUTPUTS];
    int n = 0;
    tern_tensor *hidden = tern__decoder(s->model, &in, outputs, &n);
    if (hidden) {
        tern_origin_open(ctx, "output");
        n = s->record(s->model, hidden, s->record_user, outputs);
        tern_origin_close(ctx);
    }
    return tern_compile(ctx, n, outputs, NULL, &s->compile, &p->program);
}

/* One of the session's arrays as an input. */
static tern_status make_input(const tern_session *s, const program *p, int k, tern_tensor **out)
{
    tern_status status = TERN_OK;
    TERN_SCOPE(s->model->ctx) {
        tern_tensor *t =
            tern_borrow(s->model->ctx, TERN_I64, 1, (int64_t[]){k == WANTED ? p->info.wanted : p->info.rows},
                        NULL, s->given[k], NULL, NULL);
        status = tern_status_of(t);
        if (status == TERN_OK) {
            tern_keep(t);
            *out = t;
        }
    }
    return status;
}

/* Which input is which. What a session records may read others, which nobody would give it: TERN_UNSUPPORTED. */
static tern_status find_inputs(const tern_session *s, program *p)
{
    tern_program_info info;
    tern_program_get_info(p->program, &info);
    TERN__FAIL_IF(info.n_inputs > N_INPUTS, TERN_UNSUPPORTED, "session: the program has %d inputs",
                  info.n_inputs);
    p->n_in = info.n_inputs;
    p->n_out = info.n_outputs;
    for (int i = 0; i < p->n_in; i++) {
        tern_port port;
        int k = 0;
        TERN_TRY(tern_program_input(p->program, i, &port));
        while (k < N_INPUTS && strcmp(port.name, input_names[k]) != 0)
            k++;
        TERN__FAIL_IF(k == N_INPUTS, TERN_UNSUPPORTED, "session: the program has an input '%s'", port.name);
        TERN_TRY(make_input(s, p, k, &p->inputs[i]));
    }
    return TERN_OK;
}

static tern_status make_program(tern_session *s, int64_t rows, int64_t wanted, program **out)
{
    if (!tern__grow((void **)&s->programs, &s->cap_programs, s->n_programs + 1, sizeof *s->programs))
        return tern__out_of_memory(sizeof *s->programs);
    program p = {.info = {.rows = rows, .wanted = wanted}};
    tern_status status = TERN_OK;
    TERN_SCOPE(s->model->ctx)
        status = compile_rows(s, &p);
    /* Not one program for a range of batches: rows and wanted ones vary apart from each other, and padding to a few sizes
     * keeps compiling rare. In place, so that the execs of all sizes write into the one cache of keys and values. */
    if (status == TERN_OK)
        status = find_inputs(s, &p);
    if (status == TERN_OK)
        status = tern_exec_create_in_place(s->model->ctx, p.program, &p.exec);
    if (status == TERN_OK && s->time_steps)
        status = tern_exec_time_steps(p.exec, true);
    if (status != TERN_OK) {
        free_program(&p);
        return status;
    }
    p.info.program = p.program;
    p.info.exec = p.exec;
    s->programs[s->n_programs] = p;
    *out = &s->programs[s->n_programs++];
    return TERN_OK;
}

static tern_status get_program(tern_session *s, int64_t rows, int64_t wanted, program **out)
{
    for (size_t i = 0; i < s->n_programs; i++)
        if (s->programs[i].info.rows == rows && s->programs[i].info.wanted == wanted) {
            *out = &s->programs[i];
            return TERN_OK;
        }
    return make_program(s, rows, wanted, out);
}

tern_status tern_session_prepare(tern_session *session, int rows, int wanted)
{
    program *p = NULL;
    TERN__FAIL_IF(!session, TERN_INVALID_ARGUMENT, "session_prepare: the session is NULL");
    TERN__FAIL_IF(rows < 1 || wanted < 0 || wanted > rows || rows > session->batch, TERN_OUT_OF_RANGE,
                  "session_prepare: %d of %d rows; at most %lld are computed at once", wanted, rows,
                  (long long)session->batch);
    const int64_t padded = padded_size(rows, session->batch);
    return get_program(session, padded, wanted ? padded_size(wanted, padded) : 0, &p);
}

/* ---- feeding ---- */

static int by_place(const void *left, const void *right)
{
    const tern_session_row *a = left, *b = right;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

/* No two rows have the same slot and position. Those of a prompt and of sequences one after the other come in order, and are not
 * sorted. */
static tern_status check_apart(int n, const tern_session_row *rows)
{
    bool ascending = true;
    for (int i = 1; i < n && ascending; i++)
        ascending = by_place(&rows[i - 1], &rows[i]) < 0;
    if (ascending)
        return TERN_OK;
    tern_session_row *sorted = tern__alloc((size_t)n * sizeof *sorted);
    if (!sorted)
        return tern__out_of_memory((size_t)n * sizeof *sorted);
    memcpy(sorted, rows, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_place);
    tern_status status = TERN_OK;
    for (int i = 1; i < n && status == TERN_OK; i++)
        if (by_place(&sorted[i - 1], &sorted[i]) == 0)
            status =
                tern__fail(TERN_INVALID_ARGUMENT, "session_feed: two rows are at position %lld of slot %d",
                           (long long)sorted[i].position, (int)sorted[i].slot);
    tern__free(sorted);
    return status;
}

static tern_status check_rows(const tern_session *s, int n, const tern_session_row *rows, int n_wanted,
                              const int *wanted)
{
    for (int i = 0; i < n; i++) {
        const tern_session_row *r = &rows[i];
        TERN__FAIL_IF(r->token < 0 || r->token >= s->model->vocabulary, TERN_OUT_OF_RANGE,
                      "session_feed: token %d of row %d: the vocabulary has %lld", (int)r->token, i,
                      (long long)s->model->vocabulary);
        TERN__FAIL_IF(r->slot < 0 || r->slot >= s->slots, TERN_OUT_OF_RANGE,
                      "session_feed: slot %d of row %d: there are %d", (int)r->slot, i, s->slots);
        TERN__FAIL_IF(r->position < 0 || r->position >= s->context, TERN_OUT_OF_RANGE,
                      "session_feed: position %lld of row %d: the context ends at %lld",
                      (long long)r->position, i, (long long)s->context);
    }
    for (int i = 0; i < n_wanted; i++)
        TERN__FAIL_IF(wanted[i] < 0 || wanted[i] >= n || (i > 0 && wanted[i] <= wanted[i - 1]),
                      TERN_OUT_OF_RANGE, "session_feed: wanted row %d of %d: they must ascend", wanted[i], n);
    return check_apart(n, rows);
}

/* Who takes what the programs compute. */
typedef struct receiver {
    tern__session_take take;
    void *user;
} receiver;

/* Runs the chunk whose rows stand in the session's arrays. */
static tern_status run_chunk(tern_session *s, program *p, int n_wanted, const receiver *to)
{
    tern_tensor *out[TERN__MOST_OUTPUTS];
    TERN_TRY(tern_exec_run(p->exec, p->n_in, p->inputs, p->n_out, out));
    p->info.runs++;
    TERN_TRY(tern__model_file_check_mapped(s->model->file));
    return n_wanted > 0 ? to->take(to->user, n_wanted, out) : TERN_OK;
}

/* Rows first..first+n-1, of which wanted[0..n_wanted-1] are asked for. */
static tern_status feed_chunk(tern_session *s, const tern_session_row *rows, int first, int n, int n_wanted,
                              const int *wanted, const receiver *to)
{
    int64_t padded = padded_size(n, s->batch), padded_wanted = n_wanted ? padded_size(n_wanted, padded) : 0;
    for (int64_t i = 0; i < padded; i++) {
        s->given[TOKENS][i] = i < n ? rows[first + i].token : 0;
        s->given[SLOTS][i] = i < n ? rows[first + i].slot : 0;
        s->given[POSITIONS][i] = i < n ? rows[first + i].position : -1;
    }
    for (int64_t i = 0; i < padded_wanted; i++)
        s->given[WANTED][i] = i < n_wanted ? wanted[i] - first : 0;
    program *p = NULL;
    TERN_TRY(get_program(s, padded, padded_wanted, &p));
    tern_status status = TERN_OK;
    /* where every row is wanted it may be an answer, the last of a prompt, or a text that is judged: only callers know */
    const char *phase = padded_wanted == padded ? "model step" : "prompt";
    const uint64_t start = tern__trace_begin(), scope = tern__watch_enter(phase, "model");
    TERN_SCOPE(s->model->ctx)
        status = run_chunk(s, p, n_wanted, to);
    tern__watch_leave(scope);
    tern__trace_end(start, phase, "model", UINT32_MAX, 0, 0);
    return status;
}

tern_status tern__session_feed(tern_session *session, int n, const tern_session_row *rows, int n_wanted,
                               const int *wanted, tern__session_take take, void *user)
{
    const receiver to = {take, user};
    TERN_TRY(check_rows(session, n, rows, n_wanted, wanted));
    for (int first = 0; first < n;) {
        if (session->before)
            session->before(session->before_user);
        const int most = (int)(session->fewer ? session->fewer : session->batch);
        int size = n - first < most ? n - first : most;
        int here = 0;
        while (here < n_wanted && wanted[here] < first + size)
            here++;
        TERN_TRY(feed_chunk(session, rows, first, size, here, wanted, &to));
        first += size;
        wanted = here ? wanted + here : wanted; /* it may be NULL */
        n_wanted -= here;
    }
    return TERN_OK;
}

/* Where logits go, and how many a row has. */
typedef struct logits_place {
    float *next;
    size_t vocabulary;
} logits_place;

static tern_status take_logits(void *user, int n, tern_tensor *const *out)
{
    logits_place *to = user;
    const float *data = tern_data_f32(out[0]);
    if (!data)
        return tern_status_of(out[0]);
    memcpy(to->next, data, (size_t)n * to->vocabulary * sizeof *data);
    to->next += (size_t)n * to->vocabulary;
    return TERN_OK;
}

tern_status tern_session_feed(tern_session *session, int n, const tern_session_row *rows, int n_wanted,
                              const int *wanted, float *logits)
{
    TERN__FAIL_IF(!session || n < 0 || n_wanted < 0 || (n > 0 && !rows) ||
                      (n_wanted > 0 && (!wanted || !logits)),
                  TERN_INVALID_ARGUMENT, "session_feed: an argument is NULL or negative");
    logits_place to = {logits, (size_t)session->model->vocabulary};
    return tern__session_feed(session, n, rows, n_wanted, wanted, take_logits, &to);
}

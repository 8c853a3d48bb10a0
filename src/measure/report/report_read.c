/* report_read.c - documents that a report is made of, with bounds: they come from anywhere. What a document leaves out is unknown,
 * what it says in another type than tern writes is an error. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "measure/documents.h"
#include "measure/report/report.h"

#if TERN_HAVE_JANSSON
#include <jansson.h>

enum { FRAMES_MOST = 1 << 20, SPOTS_MOST = 1 << 16, DEPTH_MOST = 512, POINTS_MOST = 1 << 20 };

/* A number of an object; NaN: there is none. Times, bytes and shares are never below zero. */
static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    const double x = json_is_number(value) ? json_number_value(value) : NAN;
    return x >= 0 && x < 1e18 ? x : NAN;
}

/* The same for what must be there as a count; 0 if it is nonsense. */
static uint64_t count_of(const json_t *object, const char *name)
{
    const double x = number(object, name);
    return x > 0 ? (uint64_t)x : 0;
}

static int small(const json_t *object, const char *name)
{
    const double x = number(object, name);
    return x > 0 && x < INT_MAX ? (int)x : 0;
}

/* A text of an object, kept; "": there is none. */
static tern_status text_of(tern__arena *arena, const json_t *object, const char *name, const char **out)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    *out = text[0] ? tern__arena_strndup(arena, text, strlen(text)) : "";
    return *out ? TERN_OK : tern__out_of_memory(strlen(text));
}

/* The array of that name, with a place for each of its objects. */
static tern_status list_of(tern__arena *arena, const json_t *root, const char *name, size_t most,
                           size_t bytes_each, const json_t **list, void **room, int *n)
{
    *list = json_object_get(root, name);
    *list = json_is_null(*list) ? NULL : *list; /* not known */
    const size_t count = json_array_size(*list);
    TERN__FAIL_IF(*list && !json_is_array(*list), TERN_FORMAT, "\"%s\" is no array", name);
    TERN__FAIL_IF(count > most, TERN_LIMIT, "\"%s\" has %zu members; at most %zu are read", name, count,
                  most);
    for (size_t i = 0; i < count; i++)
        TERN__FAIL_IF(!json_is_object(json_array_get(*list, i)), TERN_FORMAT, "\"%s\": %zu is no object",
                      name, i);
    *n = (int)count;
    *room = tern__arena_alloc_zero(arena, count + 1, bytes_each);
    return *room ? TERN_OK : tern__out_of_memory(count * bytes_each);
}

/* ---- profiles ---- */

static tern_status spots_from(tern__arena *arena, const json_t *root, const char *name, tern__spot **out,
                              int *n)
{
    const json_t *list;
    void *room;
    TERN_TRY(list_of(arena, root, name, SPOTS_MOST, sizeof **out, &list, &room, n));
    tern__spot *spots = room;
    for (int i = 0; i < *n; i++) {
        const json_t *o = json_array_get(list, (size_t)i);
        tern__spot *s = &spots[i];
        const struct {
            const char *name;
            const char **to;
        } texts[] = {{"name", &s->name},   {"category", &s->category},     {"kernel", &s->kernel},
                     {"where", &s->where}, {"bottleneck", &s->bottleneck}, {"evidence", &s->evidence}};
        for (size_t k = 0; k < TERN__COUNT(texts); k++)
            TERN_TRY(text_of(arena, o, texts[k].name, texts[k].to));
        s->threads = small(o, "threads");
        s->count = number(o, "count");
        s->self_ns = number(o, "self_ns");
        s->flops = number(o, "flops");
        s->bytes = number(o, "bytes");
        s->share = number(o, "share");
        s->limit_share = number(o, "limit_share");
        s->saving_ns = number(o, "saving_ns");
        s->int8 = json_is_true(json_object_get(o, "int8"));
        s->at_most = json_is_true(json_object_get(o, "at_most"));
    }
    *out = spots;
    return TERN_OK;
}

static tern_status frames_from(tern__arena *arena, const json_t *root, tern__profile_document *p)
{
    const json_t *list;
    void *room;
    TERN_TRY(list_of(arena, root, "frames", FRAMES_MOST, sizeof *p->frames, &list, &room, &p->info.frames));
    p->frames = room;
    for (int i = 0; i < p->info.frames; i++) {
        const json_t *o = json_array_get(list, (size_t)i), *parent = json_object_get(o, "parent");
        tern_profile_frame *f = &p->frames[i];
        const json_int_t above = json_is_integer(parent) ? json_integer_value(parent) : -1;
        TERN__FAIL_IF(above < -1 || above >= i, TERN_FORMAT,
                      "\"frames\": the parent of %d is %lld, which does not come before it", i,
                      (long long)above);
        TERN_TRY(text_of(arena, o, "name", &f->name));
        TERN_TRY(text_of(arena, o, "category", &f->category));
        f->parent = (int)above;
        f->depth = above < 0 ? 0 : p->frames[above].depth + 1;
        TERN__FAIL_IF(f->depth > DEPTH_MOST, TERN_LIMIT, "\"frames\": more than %d inside each other",
                      DEPTH_MOST);
        f->thread = small(o, "thread");
        f->count = count_of(o, "count");
        f->total_ns = count_of(o, "total_ns");
        f->self_ns = count_of(o, "self_ns");
        p->info.threads += above < 0;
    }
    return TERN_OK;
}

static tern_status rates_from(tern__arena *arena, const json_t *root, tern__profile_document *p)
{
    const json_t *list;
    void *room;
    TERN_TRY(list_of(arena, root, "limits", 2, sizeof *p->rates, &list, &room, &p->n_rates));
    for (int i = 0; i < p->n_rates; i++) {
        const json_t *o = json_array_get(list, (size_t)i);
        p->rates[i] = (tern__rates){small(o, "threads"),           number(o, "memory_bytes_per_s"),
                                    number(o, "last_bytes_per_s"), number(o, "cache_bytes_per_s"),
                                    number(o, "f32_per_s"),        number(o, "int8_per_s")};
    }
    return TERN_OK;
}

static tern_status profile_from(tern__arena *arena, const json_t *root, tern__document *out)
{
    tern__profile_document *p = tern__arena_alloc_zero(arena, 1, sizeof *p);
    if (!p)
        return tern__out_of_memory(sizeof *p);
    p->info.wall_ns = count_of(root, "wall_ns");
    p->info.work_ns = count_of(root, "work_ns");
    p->info.wait_ns = count_of(root, "wait_ns");
    p->info.compile_ns = count_of(root, "compile_ns");
    p->info.events = count_of(root, "events");
    p->info.lost = count_of(root, "lost");
    TERN_TRY(text_of(arena, root, "title", &p->title));
    TERN_TRY(spots_from(arena, root, "ops", &p->ops, &p->n_ops));
    TERN_TRY(spots_from(arena, root, "steps", &p->steps, &p->n_steps));
    TERN_TRY(frames_from(arena, root, p));
    TERN_TRY(rates_from(arena, root, p));
    out->profile = p;
    return TERN_OK;
}

/* ---- memory ---- */

static tern_status moments_from(tern__arena *arena, const json_t *root, tern__memory_document *m)
{
    const json_t *list;
    void *room;
    TERN_TRY(list_of(arena, root, "timeline", POINTS_MOST, sizeof *m->moments, &list, &room, &m->n_moments));
    m->moments = room;
    for (int i = 0; i < m->n_moments; i++) {
        const json_t *o = json_array_get(list, (size_t)i);
        m->moments[i] = (tern__memory_moment){number(o, "time_ns"), number(o, "in_use_bytes"),
                                              number(o, "held_bytes"), number(o, "rss_bytes")};
        TERN__FAIL_IF(isnan(m->moments[i].time_ns) || isnan(m->moments[i].in_use) ||
                          (i > 0 && m->moments[i].time_ns < m->moments[i - 1].time_ns),
                      TERN_FORMAT, "\"timeline\": %d has no time after the one before it, or no bytes", i);
    }
    return TERN_OK;
}

static tern_status holders_from(tern__arena *arena, const json_t *root, tern__memory_document *m)
{
    const json_t *list;
    void *room;
    TERN_TRY(list_of(arena, root, "ops", SPOTS_MOST, sizeof *m->holders, &list, &room, &m->n_holders));
    m->holders = room;
    for (int i = 0; i < m->n_holders; i++) {
        const json_t *o = json_array_get(list, (size_t)i);
        TERN_TRY(text_of(arena, o, "name", &m->holders[i].name));
        TERN_TRY(text_of(arena, o, "category", &m->holders[i].category));
        m->holders[i].peak_bytes = number(o, "peak_bytes");
        m->holders[i].most_bytes = number(o, "most_bytes");
    }
    return TERN_OK;
}

static tern_status advice_from(tern__arena *arena, const json_t *root, tern__memory_document *m)
{
    const json_t *list;
    void *room;
    TERN_TRY(
        list_of(arena, root, "recommendations", SPOTS_MOST, sizeof *m->advice, &list, &room, &m->n_advice));
    m->advice = room;
    for (int i = 0; i < m->n_advice; i++) {
        const json_t *o = json_array_get(list, (size_t)i);
        TERN_TRY(text_of(arena, o, "kind", &m->advice[i].kind));
        TERN_TRY(text_of(arena, o, "priority", &m->advice[i].priority));
        TERN_TRY(text_of(arena, o, "of", &m->advice[i].of));
        TERN_TRY(text_of(arena, o, "what", &m->advice[i].what));
        TERN_TRY(text_of(arena, o, "evidence", &m->advice[i].evidence));
        m->advice[i].saves_bytes = number(o, "saves_bytes");
        m->advice[i].share = number(o, "share");
    }
    return TERN_OK;
}

static tern_status memory_from(tern__arena *arena, const json_t *root, tern__document *out)
{
    tern__memory_document *m = tern__arena_alloc_zero(arena, 1, sizeof *m);
    const json_t *peak = json_object_get(root, "peak"), *step = json_object_get(peak, "step");
    if (!m)
        return tern__out_of_memory(sizeof *m);
    const json_t *by = json_is_object(step) ? step : peak;
    m->wall_ns = number(root, "wall_ns");
    m->peak_bytes = number(peak, "bytes");
    m->peak_ns = number(peak, "time_ns");
    m->held_peak_bytes = number(json_object_get(root, "held_peak"), "bytes");
    m->leaked_bytes = number(root, "leaked_bytes");
    m->leaked_blocks = number(root, "leaked_blocks");
    TERN_TRY(text_of(arena, root, "title", &m->title));
    TERN_TRY(text_of(arena, by, "op", &m->peak_op));
    TERN_TRY(text_of(arena, by, "where", &m->peak_where));
    TERN_TRY(text_of(arena, by, "category", &m->peak_category));
    TERN_TRY(moments_from(arena, root, m));
    TERN_TRY(holders_from(arena, root, m));
    TERN_TRY(advice_from(arena, root, m));
    out->memory = m;
    return TERN_OK;
}

/* ---- devices ---- */

static bool copy_text(const json_t *object, const char *name, char *to, size_t room)
{
    const json_t *value = json_object_get(object, name);
    const int length = snprintf(to, room, "%s", json_is_string(value) ? json_string_value(value) : "");
    return length >= 0 && (size_t)length < room;
}

static tern_status use_of(const json_t *object, tern_device_use *out)
{
    const json_t *value = json_object_get(object, "use");
    const char *name = json_is_string(value) ? json_string_value(value) : "";
#define IS_USE(id, number, text, meaning) \
    if (strcmp(name, text) == 0) {        \
        *out = TERN_DEVICE_USE_##id;      \
        return TERN_OK;                   \
    }
    TERN_DEVICE_USE_LIST(IS_USE)
#undef IS_USE
    return tern__fail(TERN_FORMAT, "a row of devices has no use that is known");
}

static tern_status device_row_from(const json_t *o, tern_device_comparison *c)
{
    tern_device_time row = {.size = number(o, "size"),
                            .median_us = number(o, "median_us"),
                            .low_us = number(o, "low_us"),
                            .high_us = number(o, "high_us"),
                            .around_us = number(o, "around_us"),
                            .transfer_us = number(o, "transfer_us"),
                            .samples = small(o, "samples")};
    TERN_TRY(use_of(o, &row.use));
    const bool fits = copy_text(o, "device", row.device, sizeof row.device) &&
                      copy_text(o, "around_missing", row.around_missing, sizeof row.around_missing) &&
                      copy_text(o, "op", row.op, sizeof row.op) &&
                      copy_text(o, "dtype", row.dtype, sizeof row.dtype) &&
                      copy_text(o, "shape", row.shape, sizeof row.shape) &&
                      copy_text(o, "error", row.error, sizeof row.error);
    TERN__FAIL_IF(!fits || !row.device[0], TERN_FORMAT,
                  "a row of devices has a name that is too long, or none");
    TERN__FAIL_IF(row.samples > 0 && !(row.median_us > 0 && row.size > 0), TERN_FORMAT,
                  "a row of devices has samples and no time");
    return tern_device_comparison_add(c, &row);
}

static tern_status device_text_from(const json_t *o, tern_device_comparison *c)
{
    tern_device_text text = {.tokens = small(o, "tokens"),
                             .parts = json_is_true(json_object_get(o, "parts")),
                             .chosen = small(o, "chosen"),
                             .other = small(o, "other"),
                             .margin = number(o, "margin"),
                             .difference = number(o, "difference"),
                             .bound = number(o, "bound"),
                             .wrong = json_is_true(json_object_get(o, "wrong"))};
    const bool fits = copy_text(o, "device", text.device, sizeof text.device) &&
                      copy_text(o, "error", text.error, sizeof text.error);
    TERN__FAIL_IF(!fits || !text.device[0], TERN_FORMAT,
                  "a text of a device has a name that is too long, or none");
    return tern_device_comparison_add_text(c, &text);
}

static tern_status device_texts_from(tern__arena *arena, const json_t *root, tern_device_comparison *c)
{
    const json_t *list;
    void *unused;
    int n;
    TERN_TRY(list_of(arena, root, "texts", SPOTS_MOST, 1, &list, &unused, &n));
    for (int i = 0; i < n; i++)
        TERN_TRY(device_text_from(json_array_get(list, (size_t)i), c));
    return TERN_OK;
}

/* Only times and tokens are read: what they come to is computed again. */
static tern_status devices_from(tern__arena *arena, const json_t *root, tern__document *out)
{
    const json_t *list;
    void *unused;
    int n;
    TERN_TRY(list_of(arena, root, "rows", SPOTS_MOST, 1, &list, &unused, &n));
    tern_device_comparison *c = NULL;
    TERN_TRY(tern_device_comparison_create(&c));
    tern_status status = TERN_OK;
    for (int i = 0; i < n && status == TERN_OK; i++)
        status = device_row_from(json_array_get(list, (size_t)i), c);
    if (status == TERN_OK)
        status = device_texts_from(arena, root, c);
    if (status != TERN_OK) {
        tern_device_comparison_free(c);
        return status;
    }
    out->devices = c;
    return TERN_OK;
}

/* ---- what it is ---- */

/* Documents by their "format", all of them of version 1; results are read by <tern/results.h>. */
static const struct {
    const char *format;
    tern_status (*read)(tern__arena *arena, const json_t *root, tern__document *out);
} readers[] = {
    {TERN__PROFILE_DOCUMENT, profile_from},
    {TERN__MEMORY_DOCUMENT, memory_from},
    {TERN__DEVICES_DOCUMENT, devices_from},
};

static tern_status document_from(tern__arena *arena, const json_t *root, const char *text, size_t length,
                                 tern__document *out)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    if (json_is_array(root) || (format && strcmp(format, TERN__RESULTS_DOCUMENT) == 0))
        return tern_results_read(text, length, &out->results);
    for (size_t i = 0; format && i < TERN__COUNT(readers); i++)
        if (strcmp(format, readers[i].format) == 0) {
            const json_t *version = json_object_get(root, "version");
            TERN__FAIL_IF(!json_is_integer(version) || json_integer_value(version) != 1, TERN_UNSUPPORTED,
                          "report: %s of another version; this tern reads version 1", format);
            return readers[i].read(arena, root, out);
        }
    return tern__fail(
        TERN_FORMAT,
        "report: no results of benchmarks, no profile, no record of memory and no comparison of devices");
}

tern_status tern__report_read(tern__arena *arena, const char *text, size_t length, tern__document *out)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    TERN__FAIL_IF(!root, TERN_FORMAT,
                  "line %d: this is no JSON; a report is made of what `--format json` writes", error.line);
    tern_status status = document_from(arena, root, text, length, out);
    json_decref(root);
    return status;
}

#else /* nobody reads JSON */

tern_status tern__report_read(tern__arena *arena, const char *text, size_t length, tern__document *out)
{
    (void)arena, (void)text, (void)length, (void)out;
    return tern__fail(TERN_UNAVAILABLE, "unavailable: built without jansson, which reads JSON");
}
#endif

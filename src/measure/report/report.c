/* report.c - a report from its making to its text: documents come in, the table of sections writes them. */
#include "measure/json_members.h"
#include "measure/report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/names.h"
#include "base/status.h"
#include "measure/documents.h"
#include "measure/compare/regress.h"
#include "measure/report/page.h"
#include "measure/results/results.h"

static const size_t document_most = (size_t)64 << 20;

tern_status tern_report_create(const char *title, tern_report **out)
{
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "report_create: an argument is NULL");
    tern_report *r = tern__alloc_zero(1, sizeof *r);
    if (!r)
        return tern__out_of_memory(sizeof *r);
    tern__arena_init(&r->arena, 0);
    r->busy = NAN;
    title = title ? title : "Tern report";
    r->title = tern__arena_strndup(&r->arena, title, strlen(title));
    if (!r->title) {
        tern_report_free(r);
        return tern__out_of_memory(strlen(title));
    }
    *out = r;
    return TERN_OK;
}

void tern_report_free(tern_report *report)
{
    if (!report)
        return;
    tern_regress_free((tern_regress_report *)report->regress);
    tern_results_free(report->results);
    tern_device_comparison_free(report->devices);
    tern__arena_free(&report->arena);
    tern__free(report);
}

/* ---- documents ---- */

static tern_status keep_source(tern_report *r, const char *name, const char *kind, const char *json,
                               size_t length, int first_row)
{
    const char *kept_name = tern__arena_strndup(&r->arena, name, strlen(name));
    const char *kept = tern__arena_strndup(&r->arena, json, length);
    if (!kept_name || !kept)
        return tern__out_of_memory(length);
    r->sources[r->n_sources++] = (tern__report_source){kept_name, kind, kept, length, first_row};
    return TERN_OK;
}

/* How many sessions of the benchmark the first n rows have. */
static int sessions_of(const tern_results *r, int n, const tern_result *key)
{
    int sessions = 0;
    for (int i = 0; i < n; i++)
        if (r->rows[i].run >= sessions && tern_result_same(&r->rows[i], key))
            sessions = r->rows[i].run + 1;
    return sessions;
}

static tern_status append_rows(tern_report *r, const tern_results *from)
{
    if (!r->results)
        TERN_TRY(tern_results_create(&r->results));
    /* Of one moment on one machine: those of several would be of none. */
    const bool first = r->results->n_conditions == 0;
    for (int i = 0; first && i < from->n_conditions; i++)
        TERN_TRY(tern_results_set_condition(r->results, from->conditions[i].name, from->conditions[i].value));
    const int before = r->results->n;
    for (int i = 0; i < from->n; i++) {
        tern_result row = from->rows[i];
        row.run += sessions_of(r->results, before, &row); /* documents of one benchmark are sessions of it */
        TERN_TRY(tern_results_add(r->results, &row));
    }
    return TERN_OK;
}

/* Figures of two machines are no figures of either. Old documents name none. */
static tern_status check_host(const tern_report *r, const tern_results *from)
{
    const char *was = r->results ? tern_results_condition(r->results, "host") : NULL;
    const char *is = tern_results_condition(from, "host");
    TERN__FAIL_IF(
        was && is && strcmp(was, is) != 0, TERN_STATE,
        "report: it is of another machine (host %.64s) than those before it (host %.64s); make a report "
        "of each",
        is, was);
    return TERN_OK;
}

/* What was seen while it was measured counts; the load before it only where nothing was seen. */
static void note_disturbance(tern_report *r, const tern_results *results)
{
    static const char unknown[] = "unavailable:";
    const char *by = tern_results_condition(results, "disturbed_by");
    if (!by || strncmp(by, unknown, strlen(unknown)) == 0)
        r->busy = fmax(r->busy, tern_results_busy(results));
    else if (strcmp(by, "nobody") != 0 && !r->disturbed[0])
        snprintf(r->disturbed, sizeof r->disturbed, "%s", by);
}

/* `json` NULL: it is written here. */
static tern_status add_results(tern_report *r, const char *name, const tern_results *results,
                               const char *json, size_t length)
{
    const int before = r->results ? r->results->n : 0, known = r->results ? r->results->n_conditions : 0;
    char *own = NULL;
    TERN__FAIL_IF(tern_results_repeat(r->results, results), TERN_STATE,
                  "report: a session of it was given before; a measurement counts once");
    TERN_TRY(check_host(r, results));
    if (!json) {
        TERN_TRY(tern_results_write(results, TERN_RESULT_JSON, &own));
        length = strlen(own);
    }
    tern_status status = append_rows(r, results);
    if (status == TERN_OK)
        status = keep_source(r, name, "results", json ? json : own, length, before);
    if (status != TERN_OK && r->results) {
        r->results->n = before;
        r->results->n_conditions = known;
    }
    if (status == TERN_OK)
        note_disturbance(r, results);
    tern__free(own);
    return status;
}

static tern_status check_room(const tern_report *r)
{
    TERN__FAIL_IF(r->n_sources >= TERN__REPORT_SOURCES, TERN_LIMIT, "report: more than %d documents",
                  TERN__REPORT_SOURCES);
    return TERN_OK;
}

tern_status tern_report_add_results(tern_report *report, const char *name, const tern_results *results)
{
    TERN__FAIL_IF(!report || !name || !results, TERN_INVALID_ARGUMENT,
                  "report_add_results: an argument is NULL");
    TERN_TRY(check_room(report));
    return add_results(report, name, results, NULL, 0);
}

tern_status tern_report_add_document(tern_report *report, const char *name, const char *text, size_t length)
{
    TERN__FAIL_IF(!report || !name || !text, TERN_INVALID_ARGUMENT,
                  "report_add_document: an argument is NULL");
    TERN__FAIL_IF(length > document_most, TERN_LIMIT, "report: %zu bytes of JSON; at most %zu are read",
                  length, document_most);
    TERN_TRY(check_room(report));
    const char *kind;
    tern__document document = {0};
    TERN_TRY(tern__report_read(&report->arena, text, length, &document));
    kind = document.results   ? "results"
           : document.profile ? "profile"
           : document.devices ? "devices"
                              : "memory";
    tern_status status;
    if (document.results)
        status = add_results(report, name, document.results, text, length);
    else if ((document.profile && report->profile) || (document.memory && report->memory) ||
             (document.devices && report->devices))
        status = tern__fail(TERN_STATE, "report: a second %s; give one", kind);
    else
        status = keep_source(report, name, kind, text, length, 0);
    tern_results_free(document.results);
    if (status == TERN_OK && document.devices)
        report->devices = document.devices;
    else
        tern_device_comparison_free(document.devices);
    if (status == TERN_OK && document.profile)
        report->profile = document.profile;
    if (status == TERN_OK && document.memory)
        report->memory = document.memory;
    return status;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

tern_status tern_report_load(tern_report *report, const char *path)
{
    tern__file file;
    TERN__FAIL_IF(!report || !path, TERN_INVALID_ARGUMENT, "report_load: an argument is NULL");
    TERN_TRY(tern__file_open(path, &file));
    const size_t bytes = file.bytes <= document_most ? (size_t)file.bytes : 0;
    char *text = tern__alloc(bytes + 1);
    tern_status status = TERN_OK;
    if (!text)
        status = tern__out_of_memory(bytes);
    else if (file.bytes > document_most)
        status = tern__fail(TERN_LIMIT, "%s: %llu bytes of JSON; at most %zu are read", path,
                            (unsigned long long)file.bytes, document_most);
    if (status == TERN_OK)
        status = tern__file_read(&file, 0, text, bytes);
    if (status == TERN_OK) {
        status = tern_report_add_document(report, last_part(path), text, bytes);
        if (status != TERN_OK)
            tern__fail_in(status, path);
    }
    tern__free(text);
    tern__file_close(&file);
    return status;
}

tern_status tern_report_note(tern_report *report, const char *sentence)
{
    TERN__FAIL_IF(!report || !sentence, TERN_INVALID_ARGUMENT, "report_note: an argument is NULL");
    const size_t length = strlen(sentence);
    TERN__FAIL_IF(report->n_notes >= TERN__REPORT_NOTES || length > TERN__REPORT_NOTE, TERN_LIMIT,
                  "report: more than %d notes, or one of more than %d bytes", TERN__REPORT_NOTES,
                  TERN__REPORT_NOTE);
    const char *kept = tern__arena_strndup(&report->arena, sentence, length);
    if (!kept)
        return tern__out_of_memory(length);
    report->notes[report->n_notes++] = kept;
    return TERN_OK;
}

/* ---- a comparison ---- */

static tern_status note_series(tern_report *r, const tern_results *history)
{
    const tern_regress_report *p = r->regress;
    r->series = tern__arena_alloc_zero(&r->arena, (size_t)p->n + 1, sizeof *r->series);
    double *room = tern__alloc_zero((size_t)history->n + 1, sizeof *room);
    tern_status status = r->series && room ? TERN_OK : tern__out_of_memory((size_t)p->n * sizeof *r->series);
    for (int i = 0; status == TERN_OK && i < p->n; i++) {
        const int n = tern__regress_medians(history, &p->rows[i].base, &p->rows[i].now, room);
        double *medians = tern__arena_alloc_zero(&r->arena, (size_t)n + 1, sizeof *medians);
        if (!medians) {
            status = tern__out_of_memory((size_t)n * sizeof *medians);
        } else if (n >= 2) {
            memcpy(medians, room, (size_t)n * sizeof *medians);
            r->series[r->n_series++] = (tern__median_series){&p->rows[i], medians, n};
        }
    }
    tern__free(room);
    const char *checks = tern_results_condition(history, "checks");
    r->checks = checks ? tern__arena_strndup(&r->arena, checks, strlen(checks)) : NULL;
    return status == TERN_OK && checks && !r->checks ? tern__out_of_memory(strlen(checks)) : status;
}

/* The comparison with the documents that it comes from. */
static tern_status keep_comparison(tern_report *r, const char *name, const tern_results *base,
                                   const tern_results *history)
{
    char *json = NULL;
    r->base_name = name ? tern__arena_strndup(&r->arena, name, strlen(name)) : NULL;
    if (name && !r->base_name)
        return tern__out_of_memory(strlen(name));
    if (history)
        TERN_TRY(note_series(r, history));
    if (!base)
        return TERN_OK;
    TERN_TRY(tern_results_write(base, TERN_RESULT_JSON, &json));
    tern_status status = keep_source(r, name ? name : "baseline", "baseline", json, strlen(json), 0);
    tern__free(json);
    return status;
}

tern_status tern_report_add_regress(tern_report *report, const char *name, const tern_regress_report *regress,
                                    const tern_results *base, const tern_results *history)
{
    TERN__FAIL_IF(!report || !regress, TERN_INVALID_ARGUMENT, "report_add_regress: an argument is NULL");
    TERN__FAIL_IF(report->regress, TERN_STATE, "report: a second comparison; make one");
    TERN_TRY(check_room(report));
    report->regress = tern__regress_hold(regress);
    tern_status status = keep_comparison(report, name, base, history ? history : base);
    if (status != TERN_OK) {
        report->regress = NULL;
        report->n_series = 0;
        tern_regress_free((tern_regress_report *)regress);
    }
    return status;
}

tern_status tern_report_compare(tern_report *report, const char *name, const tern_regress_options *options,
                                const tern_results *base, const tern_results *history)
{
    tern_regress_report *regress = NULL;
    TERN__FAIL_IF(!report || !name || !base, TERN_INVALID_ARGUMENT, "report_compare: an argument is NULL");
    TERN__FAIL_IF(!report->results || report->results->n == 0, TERN_STATE,
                  "report: there are no results to compare with '%s'", name);
    TERN_TRY(tern_regress_compare(options, base, history, report->results, &regress));
    tern_status status = tern_report_add_regress(report, name, regress, base, history);
    tern_regress_free(regress);
    return status;
}

/* ---- sections ---- */

static const tern__section *const sections[] = {
#define SECTION(name) &tern__section_##name,
    TERN__SECTION_LIST(SECTION)
#undef SECTION
};

const tern__section *tern__report_section(int i)
{
    return i >= 0 && i < (int)TERN__COUNT(sections) ? sections[i] : NULL;
}

tern_status tern_report_section(int i, const char **name, const char **what)
{
    TERN__FAIL_IF(!name || !what, TERN_INVALID_ARGUMENT, "report_section: an argument is NULL");
    const tern__section *section = tern__report_section(i);
    TERN__FAIL_IF(!section, TERN_OUT_OF_RANGE, "report: there is no section %d", i);
    *name = section->name;
    *what = section->what;
    return TERN_OK;
}

/* Which sections are asked for, in the order of the table, NULL behind the last. */
static tern_status choose(int n, const char *const *names, const tern__section *chosen[])
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool known = false;
        TERN__FAIL_IF(!names[i], TERN_INVALID_ARGUMENT, "report_write: a section's name is NULL");
        for (size_t k = 0; k < TERN__COUNT(sections); k++)
            known |= strcmp(sections[k]->name, names[i]) == 0;
#define NAME(name) #name " "
        TERN__FAIL_IF(!known, TERN_NOT_FOUND, "report: there is no section '%.64s'; there are: %s", names[i],
                      TERN__SECTION_LIST(NAME));
#undef NAME
    }
    for (size_t k = 0; k < TERN__COUNT(sections); k++) {
        bool wanted = n == 0;
        for (int i = 0; i < n; i++)
            wanted |= strcmp(sections[k]->name, names[i]) == 0;
        if (wanted)
            chosen[count++] = sections[k];
    }
    chosen[count] = NULL;
    return TERN_OK;
}

static void write_text(const tern_report *r, const tern__section *const *chosen, tern__strbuf *to)
{
    for (int i = 0; chosen[i]; i++) {
        const char *missing = chosen[i]->missing(r);
        tern__strbuf_addf(to, "%s%s\n", i ? "\n" : "", chosen[i]->title);
        if (missing)
            tern__strbuf_addf(to, "  unavailable: %s\n", missing);
        else
            chosen[i]->text(r, to);
    }
}

void tern__report_add_json(const tern_report *r, const tern__section *const *chosen, tern__strbuf *to)
{
    tern__member_text(to, "{\n", "format", TERN__REPORT_DOCUMENT);
    tern__strbuf_add(to, ",\n\"version\": 1");
    tern__member_text(to, ",\n", "title", r->title);
    tern__strbuf_add(to, ",\n\"sections\": {");
    for (int i = 0; chosen[i]; i++) {
        const char *missing = chosen[i]->missing(r);
        tern__strbuf_addf(to, "%s\n\"%s\": ", i ? "," : "", chosen[i]->name);
        if (missing) {
            tern__member_text(to, "{", "unavailable", missing);
            tern__strbuf_add(to, "}");
        } else {
            chosen[i]->json(r, to);
        }
    }
    tern__strbuf_add(to, "\n}\n}\n");
}

static void (*const writers[])(const tern_report *r, const tern__section *const *chosen, tern__strbuf *to) = {
    [TERN_REPORT_HTML] = tern__report_add_page,
    [TERN_REPORT_TEXT] = write_text,
    [TERN_REPORT_JSON] = tern__report_add_json,
};

tern_status tern_report_format_parse(const char *name, tern_report_format *out)
{
    static const char *const names[] = {
#define NAME(id, number, text, what) [number] = text,
        TERN_REPORT_FORMAT_LIST(NAME)
#undef NAME
    };
    int number = 0;
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "report formats: an argument is NULL");
    TERN_TRY(tern__name_find(names, TERN__COUNT(names), "report formats", name, &number));
    *out = (tern_report_format)number;
    return TERN_OK;
}

tern_status tern_report_write(const tern_report *report, tern_report_format format, int n,
                              const char *const *names, char **text)
{
    TERN__FAIL_IF(!report || !text || (n > 0 && !names), TERN_INVALID_ARGUMENT,
                  "report_write: an argument is NULL");
    TERN__FAIL_IF((unsigned)format >= TERN__COUNT(writers) || n < 0, TERN_INVALID_ARGUMENT,
                  "report: there is no format %d, or %d sections", (int)format, n);
    const tern__section *chosen[TERN__COUNT(sections) + 1];
    tern__strbuf to = TERN__STRBUF_EMPTY;
    TERN_TRY(choose(n, names, chosen));
    writers[format](report, chosen, &to);
    return tern__strbuf_take(&to, text);
}

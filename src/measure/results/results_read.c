/* results_read.c - sets of results from JSON, with bounds: a file of results comes from anywhere. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "measure/documents.h"
#include "measure/results/results.h"

#if TERN_HAVE_JANSSON
#include <jansson.h>

static const size_t bytes_most = (size_t)64 << 20;

/* jansson quotes the file in its messages, line ends and all. */
static tern_status malformed(const json_error_t *e)
{
    char text[JSON_ERROR_TEXT_LENGTH];
    size_t n = 0;
    for (; e->text[n] && n + 1 < sizeof text; n++)
        text[n] = (unsigned char)e->text[n] < ' ' ? ' ' : e->text[n];
    text[n] = '\0';
    return tern__fail(TERN_FORMAT, "results: line %d: %s", e->line, text);
}

/* jansson's memory is not ours to refuse. */
static tern_status field_from(const tern__field *field, const json_t *value, int at, tern_result *row)
{
    const bool text = field->kind == TERN__FIELD_TEXT || field->kind == TERN__FIELD_REASON;
    if (!value || json_is_null(value))
        return TERN_OK;
    if (text) {
        TERN__FAIL_IF(!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value),
                      TERN_FORMAT, "results: row %d: \"%s\" is no text", at, field->name);
        tern__field_set_text(field, row, json_string_value(value));
        return TERN_OK;
    }
    if (field->kind == TERN__FIELD_REAL) {
        TERN__FAIL_IF(!json_is_number(value), TERN_FORMAT, "results: row %d: \"%s\" is no number", at,
                      field->name);
        tern__field_set_real(field, row, json_number_value(value));
        return TERN_OK;
    }
    TERN__FAIL_IF(!json_is_integer(value) || json_integer_value(value) < 0 ||
                      !tern__field_set_int(field, row, json_integer_value(value)),
                  TERN_FORMAT, "results: row %d: \"%s\" is no whole number of its kind", at, field->name);
    return TERN_OK;
}

static tern_status samples_from(const json_t *list, int at, double **samples, tern_result *row)
{
    const size_t n = json_array_size(list);
    if (!list || json_is_null(list) || (json_is_array(list) && n == 0))
        return TERN_OK;
    TERN__FAIL_IF(!json_is_array(list) || n > TERN__RESULT_SAMPLES, TERN_FORMAT,
                  "results: row %d: \"samples_us\" is no array of at most %d numbers", at,
                  TERN__RESULT_SAMPLES);
    *samples = tern__alloc_zero(n, sizeof **samples);
    if (!*samples)
        return tern__out_of_memory(n * sizeof **samples);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(list, i);
        (*samples)[i] = json_is_number(value) ? json_number_value(value) : NAN;
        TERN__FAIL_IF(isnan((*samples)[i]), TERN_FORMAT, "results: row %d: sample %zu is no number", at, i);
    }
    row->samples_us = *samples;
    row->rounds = (int)n;
    return TERN_OK;
}

/* The processor's times are as many as the samples. */
static tern_status cpu_samples_from(const json_t *list, int at, double **samples, tern_result *row)
{
    if (!list || json_is_null(list) || !row->samples_us)
        return TERN_OK;
    TERN__FAIL_IF(!json_is_array(list) || json_array_size(list) != (size_t)row->rounds, TERN_FORMAT,
                  "results: row %d: \"cpu_samples_us\" is no array of %d numbers", at, row->rounds);
    *samples = tern__alloc_zero((size_t)row->rounds, sizeof **samples);
    if (!*samples)
        return tern__out_of_memory((size_t)row->rounds * sizeof **samples);
    for (int i = 0; i < row->rounds; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        (*samples)[i] = json_is_number(value) ? json_number_value(value) : NAN;
        TERN__FAIL_IF(isnan((*samples)[i]), TERN_FORMAT,
                      "results: row %d: the processor's time of sample %d is no number", at, i);
    }
    row->cpu_samples_us = *samples;
    return TERN_OK;
}

static tern_status row_from(const json_t *object, int at, tern_results *to)
{
    TERN__FAIL_IF(!json_is_object(object), TERN_FORMAT, "results: row %d is no object", at);
    tern_result row = tern_result_default();
    const tern__field *field;
    for (int i = 0; (field = tern__result_field(i)) != NULL; i++)
        TERN_TRY(field_from(field, json_object_get(object, field->name), at, &row));
    TERN__FAIL_IF(!row.name[0] && json_object_get(object, "avg_ts"), TERN_FORMAT,
                  "results: row %d is llama-bench's, which has no place for all that results are; "
                  "`tern bench model --format json` writes such",
                  at);
    TERN__FAIL_IF(!row.name[0], TERN_FORMAT, "results: row %d has no \"name\"", at);
    if (isnan(row.median_us))
        row.rounds = 0; /* of samples that are not there either */
    double *samples = NULL, *cpu = NULL;
    tern_status status = samples_from(json_object_get(object, "samples_us"), at, &samples, &row);
    if (status == TERN_OK)
        status = cpu_samples_from(json_object_get(object, "cpu_samples_us"), at, &cpu, &row);
    if (status == TERN_OK)
        status = tern_results_add(to, &row);
    if (status == TERN_INVALID_ARGUMENT)
        status = TERN_FORMAT; /* what the row holds is not the caller's fault */
    tern__free(samples);
    tern__free(cpu);
    return status;
}

static tern_status conditions_from(json_t *object, tern_results *to)
{
    const char *name;
    json_t *value;
    TERN__FAIL_IF(object && !json_is_object(object), TERN_FORMAT, "results: \"conditions\" is no object");
    json_object_foreach(object, name, value)
    {
        TERN__FAIL_IF(!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value),
                      TERN_FORMAT, "results: condition \"%.64s\" is no text", name);
        TERN_TRY(tern_results_set_condition(to, name, json_string_value(value)));
    }
    return TERN_OK;
}

static tern_status set_from(json_t *root, tern_results *to)
{
    const json_t *rows = root;
    if (json_is_object(root)) {
        const char *format = json_string_value(json_object_get(root, "format"));
        const json_t *version = json_object_get(root, "version");
        TERN__FAIL_IF(!format || strcmp(format, TERN__RESULTS_DOCUMENT) != 0, TERN_FORMAT,
                      "results: JSON of something else: \"format\" is not \"" TERN__RESULTS_DOCUMENT "\"");
        TERN__FAIL_IF(!json_is_integer(version) || json_integer_value(version) < 1, TERN_FORMAT,
                      "results: \"version\" is no version");
        TERN__FAIL_IF(json_integer_value(version) > 1, TERN_UNSUPPORTED,
                      "results: a newer tern wrote them (form %lld, this one knows 1)",
                      (long long)json_integer_value(version));
        TERN_TRY(conditions_from(json_object_get(root, "conditions"), to));
        rows = json_object_get(root, "rows");
    }
    TERN__FAIL_IF(!json_is_array(rows), TERN_FORMAT, "results: there is no array of rows");
    for (size_t i = 0; i < json_array_size(rows); i++)
        TERN_TRY(row_from(json_array_get(rows, i), (int)i, to));
    return TERN_OK;
}

tern_status tern_results_read(const char *text, size_t length, tern_results **out)
{
    json_error_t error;
    TERN__FAIL_IF(!text || !out, TERN_INVALID_ARGUMENT, "results_read: an argument is NULL");
    TERN__FAIL_IF(length > bytes_most, TERN_LIMIT, "results: %zu bytes of JSON; at most %zu are read", length,
                  bytes_most);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return malformed(&error);
    tern_results *r = NULL;
    tern_status status = tern_results_create(&r);
    if (status == TERN_OK)
        status = set_from(root, r);
    json_decref(root);
    if (status == TERN_OK)
        *out = r;
    else
        tern_results_free(r);
    return status;
}

tern_status tern_results_load(const char *path, tern_results **out)
{
    tern__file file;
    TERN__FAIL_IF(!path || !out, TERN_INVALID_ARGUMENT, "results_load: an argument is NULL");
    TERN_TRY(tern__file_open(path, &file));
    const size_t bytes = file.bytes <= bytes_most ? (size_t)file.bytes : 0;
    char *text = file.bytes <= bytes_most ? tern__alloc(bytes + 1) : NULL;
    tern_status status = file.bytes > bytes_most
                             ? tern__fail(TERN_LIMIT, "%llu bytes of JSON; at most %zu are read",
                                          (unsigned long long)file.bytes, bytes_most)
                         : text ? tern__file_read(&file, 0, text, bytes)
                                : tern__out_of_memory(bytes);
    if (status == TERN_OK) {
        status = tern_results_read(text, bytes, out);
        if (status != TERN_OK)
            tern__fail_in(status, path);
    }
    tern__free(text);
    tern__file_close(&file);
    return status;
}

#else /* nobody reads JSON */

tern_status tern_results_read(const char *text, size_t length, tern_results **out)
{
    (void)length;
    TERN__FAIL_IF(!text || !out, TERN_INVALID_ARGUMENT, "results_read: an argument is NULL");
    return tern__fail(TERN_UNAVAILABLE, "unavailable: built without jansson, which reads JSON");
}

tern_status tern_results_load(const char *path, tern_results **out)
{
    TERN__FAIL_IF(!path || !out, TERN_INVALID_ARGUMENT, "results_load: an argument is NULL");
    return tern__fail(TERN_UNAVAILABLE, "unavailable: built without jansson, which reads JSON");
}
#endif

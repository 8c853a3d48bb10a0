/* report.h - what was measured, as one page: for a manager the summary, for an engineer every figure with its data.
 *
 *     tern_report *report;
 *     TERN_TRY(tern_report_create("Release 1.2", &report));
 *     TERN_TRY(tern_report_load(report, "results.json"));
 *     TERN_TRY(tern_report_load(report, "profile.json"));
 *     char *page;
 *     TERN_TRY(tern_report_write(report, TERN_REPORT_HTML, 0, NULL, &page));
 *     ...
 *     tern_string_free(page);
 *     tern_report_free(report);
 *
 * A report is made of documents (JSON that tern writes: results of benchmarks, a profile, memory, a comparison of devices) and, if asked
 * for, of a comparison with earlier results. Its sections are the same in every format; one whose data is not there says what it needs. The page loads
 * nothing from elsewhere, shows everything without scripts too, and carries the documents, so that each figure can be traced.
 *
 * Ownership: a report copies what it is given. Threading: a report belongs to one thread at a time. */
#ifndef TERN_REPORT_H
#define TERN_REPORT_H

#include <stddef.h>

#include <tern/export.h>
#include <tern/regress.h>
#include <tern/results.h>
#include <tern/status.h>

typedef struct tern_report tern_report;

/* X(enumerator, number, name, what it is). */
#define TERN_REPORT_FORMAT_LIST(X)                         \
    X(HTML, 0, "html", "one page that needs nothing else") \
    X(TEXT, 1, "text", "for terminals and mails")          \
    X(JSON, 2, "json", "what the figures show, and the documents behind")

typedef enum tern_report_format {
#define TERN_REPORT_FORMAT_ENUM(id, number, name, what) TERN_REPORT_##id = number,
    TERN_REPORT_FORMAT_LIST(TERN_REPORT_FORMAT_ENUM)
#undef TERN_REPORT_FORMAT_ENUM
} tern_report_format;

#ifdef __cplusplus
extern "C" {
#endif

/* `title` NULL: "Tern report". */
TERN_API tern_status tern_report_create(const char *title, tern_report **out);
TERN_API void tern_report_free(tern_report *report); /* NULL is fine */

/* Adds results; `name` (a file's, say) is how the report calls them. Those of several calls stand side by side; the conditions
 * are those of the first that have any. The report is as it was if this fails. */
TERN_API tern_status tern_report_add_results(tern_report *report, const char *name,
                                             const tern_results *results);

/* Adds a document, whatever it is: JSON of tern_results_write, tern_profile_export, tern_memory_export or tern_device_comparison_json. At
 * most 64 MiB; one document of each kind but for results, 16 in all. TERN_FORMAT: it is none of them, or malformed; TERN_UNAVAILABLE: a build
 * without jansson. The report is as it was if this fails. */
TERN_API tern_status tern_report_add_document(tern_report *report, const char *name, const char *text,
                                              size_t length);
/* The same of a file; messages start with its path. */
TERN_API tern_status tern_report_load(tern_report *report, const char *path);

/* Adds a sentence to the summary, for what documents do not say: why it was measured, by whom. At most 16 of 1000 bytes. */
TERN_API tern_status tern_report_note(tern_report *report, const char *sentence);

/* Adds a comparison that was made, by tern_regress_run or another call, and is shown as it is: nothing is judged a second time.
 * `name` (may be NULL) is what it was made with; `base` (may be NULL) becomes a document of the report, `history` (may be NULL: base) the series of
 * medians. The report shares the comparison with its owner, who frees it whenever he likes. TERN_STATE: there is a comparison
 * already. */
TERN_API tern_status tern_report_add_regress(tern_report *report, const char *name,
                                             const tern_regress_report *regress, const tern_results *base,
                                             const tern_results *history);

/* Compares the results that it has with earlier ones, called `name`: tern_regress_compare, then tern_report_add_regress. TERN_STATE:
 * there are no results, or there is a comparison already. */
TERN_API tern_status tern_report_compare(tern_report *report, const char *name,
                                         const tern_regress_options *options, const tern_results *base,
                                         const tern_results *history);

/* Name of section i ("summary", "roofline"), and what it shows. Static. TERN_OUT_OF_RANGE past the last. */
TERN_API tern_status tern_report_section(int i, const char **name, const char **what);

/* "html", "text" or "json"; TERN_NOT_FOUND lists them. */
TERN_API tern_status tern_report_format_parse(const char *name, tern_report_format *out);

/* The named sections (n; 0: all) in their order; free with tern_string_free. TERN_NOT_FOUND, with the names, if there is no such
 * section. */
TERN_API tern_status tern_report_write(const tern_report *report, tern_report_format format, int n,
                                       const char *const *sections, char **text);

#ifdef __cplusplus
}
#endif
#endif

/* fuzz_report.c - libFuzzer target: any bytes as a document of a report. They are refused with one line, or every format can be written,
 * and the page has no script but its own: its data, its code, and that of a flame graph. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>
#include <tern/report.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_report: %s (%s)\n", what, tern_last_error());
        abort();
    }
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        n++;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern_report *report = NULL;
    char *text = NULL;
    check(tern_report_create(NULL, &report) == TERN_OK, "no report");
    if (tern_report_add_document(report, "document", (const char *)data, size) != TERN_OK)
        check(!strchr(tern_last_error(), '\n') && tern_last_error()[0], "no single line");
    for (int f = TERN_REPORT_TEXT; f <= TERN_REPORT_JSON; f++) {
        check(tern_report_write(report, (tern_report_format)f, 0, NULL, &text) == TERN_OK, "a format fails");
        tern_string_free(text);
    }
    check(tern_report_write(report, TERN_REPORT_HTML, 0, NULL, &text) == TERN_OK, "the page fails");
    check(count(text, "<script") == 2 + count(text, "<svg xmlns="), "a script came in");
    /* Places come from numbers alone: names from outside stand in data-n and texts. */
    static const char *const wrong[] = {"x=\"nan",  "x=\"-nan", "x=\"inf",   "x=\"-inf", "y=\"nan",
                                        "y=\"-nan", "y1=\"nan", "y1=\"-nan", "th=\"nan", "th=\"-nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        check(!strstr(text, wrong[i]), "a place is no number");
    tern_string_free(text);
    tern_report_free(report);
    return 0;
}

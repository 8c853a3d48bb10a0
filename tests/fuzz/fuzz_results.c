/* fuzz_results.c - libFuzzer target: any bytes as a file of results. They are refused with one line, or they are a set that is
 * written and read back as the same text, and that every format can write. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>
#include <tern/results.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_results: %s (%s)\n", what, tern_last_error());
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern_results *r = NULL, *again = NULL;
    char *text = NULL, *second = NULL;
    if (tern_results_read((const char *)data, size, &r) != TERN_OK) {
        check(!r && !strchr(tern_last_error(), '\n') && tern_last_error()[0], "no single line");
        return 0;
    }
    for (int f = TERN_RESULT_ROWS; f <= TERN_RESULT_BENCHER; f++) {
        const tern_status status = tern_results_write(r, (tern_result_format)f, &text);
        /* What has no rates cannot be told in the format of rates. */
        check(status == TERN_OK || (status == TERN_UNAVAILABLE && f == TERN_RESULT_ACTION_BIGGER),
              "a format fails");
        tern_string_free(text);
        text = NULL;
    }
    check(tern_results_write(r, TERN_RESULT_JSON, &text) == TERN_OK, "writing fails");
    check(tern_results_read(text, strlen(text), &again) == TERN_OK, "what was written is not read");
    check(tern_results_write(again, TERN_RESULT_JSON, &second) == TERN_OK, "writing again fails");
    check(strcmp(text, second) == 0, "reading changes it");
    tern_string_free(text);
    tern_string_free(second);
    tern_results_free(again);
    tern_results_free(r);
    return 0;
}

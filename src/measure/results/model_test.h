/* model_test.h - tests of models in rows of results: their names, "pp512", "tg128 @ d64", and what else a row says of one. */
#ifndef TERN_MEASURE_MODEL_TEST_H
#define TERN_MEASURE_MODEL_TEST_H

#include <stdbool.h>

#include <tern/dtype.h>
#include <tern/results.h>

/* Tokens of the prompt or tokens generated, and tokens in the context before. */
typedef struct tern__model_test {
    int prompt, gen, depth; /* either prompt or gen is 0 */
} tern__model_test;

enum { TERN__MODEL_TEST_NAME = 48 };

/* Returns `out`. */
const char *tern__model_test_name(const tern__model_test *test, char out[static TERN__MODEL_TEST_NAME]);
/* false: it is no such name. */
bool tern__model_test_parse(const char *name, tern__model_test *out);

typedef struct tern__model_row {
    tern__model_test test;
    long long batch;
    tern_dtype cache;
} tern__model_row;

/* false: the row is of no such test. */
bool tern__model_row_read(const tern_result *row, tern__model_row *out);

#endif

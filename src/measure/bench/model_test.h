/* model_test.h - the name of a test of a model, in rows, results and baselines: "pp512", "tg128 @ d64". */
#ifndef TERN_MEASURE_MODEL_TEST_H
#define TERN_MEASURE_MODEL_TEST_H

#include <stdbool.h>

/* Tokens of the prompt or tokens generated, and tokens in the context before. */
typedef struct tern__model_test {
    int prompt, gen, depth; /* either prompt or gen is 0 */
} tern__model_test;

enum { TERN__MODEL_TEST_NAME = 48 };

/* Returns `out`. */
const char *tern__model_test_name(const tern__model_test *test, char out[static TERN__MODEL_TEST_NAME]);
/* false: it is no such name. */
bool tern__model_test_parse(const char *name, tern__model_test *out);

#endif

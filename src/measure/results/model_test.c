/* model_test.c - see model_test.h. */
#include "measure/results/model_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/results/results.h"

const char *tern__model_test_name(const tern__model_test *test, char out[static TERN__MODEL_TEST_NAME])
{
    const bool prompt = test->prompt > 0;
    const int used =
        snprintf(out, TERN__MODEL_TEST_NAME, prompt ? "pp%d" : "tg%d", prompt ? test->prompt : test->gen);
    if (test->depth > 0)
        snprintf(out + used, (size_t)(TERN__MODEL_TEST_NAME - used), " @ d%d", test->depth);
    return out;
}

bool tern__model_test_parse(const char *name, tern__model_test *out)
{
    char own[TERN__MODEL_TEST_NAME];
    *out = (tern__model_test){0};
    if (sscanf(name, "pp%9d @ d%9d", &out->prompt, &out->depth) < 1)
        sscanf(name, "tg%9d @ d%9d", &out->gen, &out->depth);
    /* what is not written as we would write it is found out by writing it */
    return (out->prompt > 0 || out->gen > 0) && strcmp(tern__model_test_name(out, own), name) == 0;
}

bool tern__model_row_read(const tern_result *r, tern__model_row *out)
{
    return tern__model_test_parse(r->name, &out->test) && sscanf(r->shape, "batch %lld", &out->batch) == 1 &&
           out->batch > 0 && tern_dtype_parse(r->dtype, &out->cache) == TERN_OK && r->threads > 0;
}

double tern__result_tokens_s(const tern_result *row)
{
    tern__model_row of;
    if (strcmp(row->suite, "model") != 0 || !(row->median_us > 0) || !tern__model_row_read(row, &of))
        return NAN;
    return (of.test.prompt + of.test.gen) * 1e6 / row->median_us;
}

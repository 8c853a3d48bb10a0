/* infer_util.h - calls of ops as text, for test_infer.c: types as "f32[2,3] i64[]", attributes as
 * "axes=[0,1] keepdims=true". A parser of its own, so that inference is tested without the text form. */
#ifndef TERN_TESTS_GRAPH_INFER_UTIL_H
#define TERN_TESTS_GRAPH_INFER_UTIL_H

#include "graph/op.h"

enum { CALL_MAX = 8, CALL_TEXT = 512 };

typedef struct parsed_call {
    tern__call call;
    tern__type types[CALL_MAX];
    const tern__type *in[CALL_MAX];
    tern__attr attrs[TERN__MAX_ATTRS];
    int64_t ints[TERN__MAX_ATTRS][16];
    char texts[TERN__MAX_ATTRS][32];
    tern__type out[CALL_MAX];
    tern_dtype operands[CALL_MAX];
} parsed_call;

/* The call is ready for tern__op_infer. false: the text of the test is wrong. */
bool infer_parse(const char *op, const char *types, const char *attrs, parsed_call *out);

/* "f32[2,3] i64[2]" */
char *infer_results_text(const parsed_call *c, char buffer[CALL_TEXT]);

/* "f32 i64" */
char *infer_operands_text(const parsed_call *c, char buffer[CALL_TEXT]);

#endif

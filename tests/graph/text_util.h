/* text_util.h - what the tests of the text form share: parsing, printing. */
#ifndef TERN_TESTS_GRAPH_TEXT_UTIL_H
#define TERN_TESTS_GRAPH_TEXT_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>

#include "../golden.h"

/* Parses a copy that ends where the text ends, so that a read behind it is seen by the address sanitizer. */
static inline tern_status parse_exactly(tern_ctx *ctx, const char *text, size_t length, tern_graph **out)
{
    char *copy = malloc(length ? length : 1);
    if (!copy)
        return TERN_OUT_OF_MEMORY;
    memcpy(copy, text, length);
    tern_status status = tern_graph_parse(ctx, copy, length, out);
    free(copy);
    return status;
}

static inline tern_status parse_text(const char *text, tern_graph **out)
{
    return parse_exactly(NULL, text, strlen(text), out);
}

#endif

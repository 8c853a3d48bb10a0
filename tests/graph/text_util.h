/* text_util.h - what the tests of the text form share: reading golden files, parsing, printing. */
#ifndef TERN_TESTS_GRAPH_TEXT_UTIL_H
#define TERN_TESTS_GRAPH_TEXT_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>

/* The file tests/golden/`name`, terminated; NULL if it cannot be read. Free with free. */
static inline char *golden_read(const char *name, size_t *length)
{
    const char *root = getenv("TERN_SOURCE_DIR");
    char path[1024];
    if (root)
        snprintf(path, sizeof path, "%s/tests/golden/%s", root, name);
    else /* run by hand: beside this header */
        snprintf(path, sizeof path, "%.*s/../golden/%s", (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__,
                 name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    enum { MOST = 1 << 20 };
    char *text = malloc(MOST);
    *length = text ? fread(text, 1, MOST - 1, file) : 0;
    if (text)
        text[*length] = '\0';
    fclose(file);
    return text;
}

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

/* fuzz_graph_text.c - libFuzzer target: any bytes as the text form of a graph. A text is refused with a message that
 * starts with its place, or it is a graph that verifies, prints, parses back to an equal graph, and draws.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc tests/fuzz/fuzz_graph_text.c <library> -o fuzz
 *     ./fuzz -max_len=4096 -malloc_limit_mb=64 CORPUS tests/golden */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/graph.h>

#include "graph/graph.h"
#include "graph/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, tern_last_error());
    abort();
}

static void check_attributes(const uint8_t *data, size_t size)
{
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__arena arena;
    tern__arena_init(&arena, 0);
    if (size > 0)
        tern__attrs_parse(&arena, &tern__ops[data[0] % TERN__OP_COUNT], (const char *)data + 1, size - 1,
                          attrs);
    tern__arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tern_graph *g, *h;
    char *text, *again, *dot;
    check_attributes(data, size);
    if (tern_graph_parse(NULL, (const char *)data, size, &g) != TERN_OK) {
        check(strncmp(tern_last_error(), "line ", 5) == 0, "no place");
        return 0;
    }
    check(tern_graph_verify(g) == TERN_OK, "verify");
    check(tern_graph_print(g, &text) == TERN_OK, "print");
    check(tern_graph_parse(NULL, text, strlen(text), &h) == TERN_OK, "parse again");
    check(tern__graph_equal(g, h, true), "equal");
    check(tern_graph_print(h, &again) == TERN_OK, "print again");
    check(strcmp(text, again) == 0, "printed alike");
    check(tern_graph_dot(g, &dot) == TERN_OK, "dot");
    tern_string_free(text);
    tern_string_free(again);
    tern_string_free(dot);
    tern_graph_free(g);
    tern_graph_free(h);
    return 0;
}

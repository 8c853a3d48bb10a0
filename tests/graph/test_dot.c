/* test_dot.c - the picture of a graph: what it says, and that Graphviz accepts it. */
#include <limits.h>
#include <unistd.h>

#include "graph/graph.h"
#include "harness.h"
#include "text_util.h"

static void check_dot(const char *text, const char *const *wanted)
{
    tern_graph *g;
    char *dot;
    CHECK_OK(parse_text(text, &g));
    CHECK_OK(tern_graph_dot(g, &dot));
    for (; *wanted; wanted++)
        if (!strstr(dot, *wanted))
            harness_fail(__FILE__, __LINE__, "missing: %s\nin:\n%s", *wanted, dot);
    tern_string_free(dot);
    tern_graph_free(g);
}

TEST(leaves_ops_edges_and_outputs_are_drawn)
{
    static const char text[] =
        "graph g { %x = input \"x\" f32[4,2] %w = constant f32[2,2] {1,2,3,4}\n"
        "%s = state \"s\" f32[4,2] %at = input i64[2]\n"
        "%0 = matmul(%x, %w) {transpose_b=true} %v, %i = topk(%0) {k=2} from \"head\"\n"
        "%s1 = write_slice(%s, %v, %at) return %i as \"best\", %s1 }";
    static const char *const wanted[] = {
        "digraph \"g\" {\n",
        "  n0 [label=\"x\\ninput f32[4,2]\", tooltip=\"%x = input\", style=\"filled,rounded\", "
        "fillcolor=\"#dbeafe\"",
        "  n1 [label=\"%w\\nconstant f32[2,2]\", ",
        "  n2 [label=\"s\\nstate f32[4,2]\", ",
        "  n4 [label=\"matmul\\ntranspose_b = true\", tooltip=\"%0 = matmul(%x, %w)\"]\n",
        "  n5 [label=\"topk\\nk = 2\\n(head)\", ",
        "  n0 -> n4 [label=\" a f32[4,2]\"]\n",
        "  n1 -> n4 [label=\" b f32[2,2]\"]\n",
        "  n4 -> n5 [label=\" f32[4,2]\"]\n",
        "  n5 -> n6 [label=\" values \xe2\x86\x92 x f32[4,2]\"]\n",
        "  o0 [label=\"best\\noutput i64[4,2]\", ",
        "  n5 -> o0 [label=\" indices i64[4,2]\"]\n",
        "  o1 [label=\"1\\noutput f32[4,2]\", ",
        NULL,
    };
    check_dot(text, wanted);
}

TEST(texts_are_escaped)
{
    static const char text[] =
        "graph \"a \\\"b\\\" \\\\n\" { %x = input \"&lt; <b> \\n \xc3\xa4 \xff\" f32[1]\n"
        "%y = to_device(%x) {device=\"cpu\"} from \"}\\\"\" return %y as \"\\\\\" }";
    static const char *const wanted[] = {
        "digraph \"a \\\"b\\\" \\\\n\" {\n",
        "label=\"&amp;lt; <b> \\\\x0a \xc3\xa4 \\\\xff\\ninput f32[1]\"",
        "label=\"to_device\\ndevice = \\\"cpu\\\"\\n(}\\\")\"",
        "o0 [label=\"\\\\\\noutput f32[1]\"",
        NULL,
    };
    check_dot(text, wanted);
}

TEST(null_arguments)
{
    char *dot;
    CHECK_STATUS(tern_graph_dot(NULL, &dot), TERN_INVALID_ARGUMENT);
}

/* ---- Graphviz itself ------------------------------------------------------------------------------------------------ */

/* Draws the text; *output (64 KiB) receives what dot says and the beginning of the SVG. */
static bool draw(const char *dot, char *output)
{
    char path[PATH_MAX], command[PATH_MAX + 32];
    FILE *file = harness_path(path, sizeof path, "graph.dot") ? fopen(path, "w") : NULL;
    if (!file)
        return false;
    bool fine = fputs(dot, file) >= 0;
    fine = fclose(file) == 0 && fine;
    snprintf(command, sizeof command, "dot -Tsvg '%s' 2>&1", path);
    FILE *pipe = popen(command, "r");
    size_t n = pipe ? fread(output, 1, 65535, pipe) : 0;
    output[n] = '\0';
    while (pipe && fgetc(pipe) != EOF)
        ;
    fine = fine && pipe && pclose(pipe) == 0 && !strstr(output, "Error") && !strstr(output, "Warning") &&
           strstr(output, "<svg");
    unlink(path);
    return fine;
}

static void check_drawn(const char *text, size_t length)
{
    static char output[65536];
    tern_graph *g;
    char *dot;
    CHECK_OK(parse_exactly(NULL, text, length, &g));
    CHECK_OK(tern_graph_dot(g, &dot));
    if (!draw(dot, output))
        harness_fail(__FILE__, __LINE__, "dot refuses it or warns:\n%.2000s\n%s", output, dot);
    tern_string_free(dot);
    tern_graph_free(g);
}

TEST(graphviz_draws_it)
{
    if (system("command -v dot >/dev/null 2>&1") != 0)
        SKIP("Graphviz is not installed (the command dot)");
    static const char *const names[] = {"mlp.tern", "leaves.tern", "attention.tern", "shapes.tern"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length;
        char *text = golden_read(names[i], &length);
        CHECK(text != NULL);
        check_drawn(text, length);
        free(text);
    }
    static const char odd[] =
        "graph \"\\\\\" { %x = input \"\\\"&lt;&amp;<b>\\\\N \\\\G \xff\xc3\xa4\" f32[1] return %x "
        "as \"a\\\\\", %x as \"\\\"\" }";
    check_drawn(odd, sizeof odd - 1);
    static const char nothing[] = "graph { return }";
    check_drawn(nothing, sizeof nothing - 1);
}

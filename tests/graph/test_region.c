/* test_region.c - fused nodes as text and under the verifier. What passes make of graphs is in tests/golden/passes. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "graph/graph.h"
#include "graph/region.h"
#include "harness.h"

#define HEAD "graph {\n  %x = input \"x\" f32[4,8]\n  %r0 = input \"r0\" f32[8]\n"
#define TAIL "\n  return %y\n}\n"

static void check_reads_back(const char *body)
{
    char text[2048];
    tern_graph *g, *h, *copy;
    char *printed, *again;
    snprintf(text, sizeof text, "%s%s%s", HEAD, body, TAIL);
    CHECK_OK(tern_graph_parse(NULL, text, strlen(text), &g));
    CHECK_OK(tern_graph_print(g, &printed));
    CHECK_STR(printed, text);
    CHECK_OK(tern_graph_parse(NULL, printed, strlen(printed), &h));
    CHECK(tern__graph_equal(g, h, true));
    CHECK_EQ(tern__graph_hash(g), tern__graph_hash(h));
    CHECK_OK(tern__graph_new(&copy));
    CHECK_OK(tern__graph_clone(g, copy));
    CHECK(tern__graph_equal(g, copy, true));
    CHECK_OK(tern_graph_print(copy, &again));
    CHECK_STR(again, printed);
    tern_string_free(printed);
    tern_string_free(again);
    tern_graph_free(g);
    tern_graph_free(h);
    tern_graph_free(copy);
}

TEST(bodies_read_back)
{
    /* an operand is called %r0, so what is computed gets another name */
    check_reads_back("  %y = fused(%x, %r0) over [4,8] {\n"
                     "    %rr0 = add(%x, %r0) : f32[4,8]\n"
                     "    %rr1 = relu(%rr0) : f32[4,8]\n"
                     "    return %rr1\n"
                     "  } : f32[4,8]");
    check_reads_back("  %y, %0, %1 = fused(%x) over [4,8] {\n"
                     "    %r0 = full() {value=0.5} : f32[]\n"
                     "    %r1 = mul(%x, %r0) : f32[4,8]\n"
                     "    %r2, %r3 = quantise_rows(%r1) : i8[4,8], f32[4,1]\n"
                     "    %r4 = sum(%r1) {axes=[-1]} : f32[4]\n"
                     "    return %r2, %r3, %r4\n"
                     "  } : i8[4,8], f32[4,1], f32[4]");
}

static void check_refused(int line, const char *body, const char *message)
{
    char text[2048];
    tern_graph *g = NULL;
    snprintf(text, sizeof text, "%s%s%s", HEAD, body, TAIL);
    tern_status status = tern_graph_parse(NULL, text, strlen(text), &g);
    if (status == TERN_OK)
        tern_graph_free(g);
    if (status == TERN_OK || !strstr(tern_last_error(), message))
        harness_fail(__FILE__, line, "got: %s", status == TERN_OK ? "it was accepted" : tern_last_error());
}
#define REFUSED(body, message) check_refused(__LINE__, body, message)

TEST(bad_bodies_are_refused)
{
    REFUSED("%y = fused(%x)", "'over'");
    REFUSED("%y = fused(%x) over [4,8] { }", "an op or 'return'");
    REFUSED("%y = fused(%x) over [4,8] { %a = neg(%x) return %b }",
            "neither an operand of fused nor computed before");
    REFUSED("%y = fused(%x) over [4,8] { %a = neg(%r0) return %a }", "neither an operand");
    REFUSED("%y = fused(%x) over [4,8] { %a = neg(%x) %a = abs(%x) return %a }", "%a is defined already");
    REFUSED("%y = fused(%x) over [4,8] { return %x }", "not computed in the region");
    REFUSED("%y, %z = fused(%x) over [4,8] { %a = neg(%x) return %a, %a }", "are the same");
    REFUSED("%y = fused(%x) over [4,9] { %a = neg(%x) return %a }", "does not broadcast to the domain");
    REFUSED("%y = fused(%x, %r0) over [4,8] { %a = neg(%r0) %b = add(%x, %a) return %b }",
            "neither full nor one number per row");
    REFUSED("%y = fused(%x) over [4,8] { %a = sum(%x) {axes=[0]} return %a }", "does not work on rows");
    REFUSED("%y = fused(%x) over [4,8] { %a = matmul(%x, %x) {transpose_b=true} return %a }",
            "is not the domain");
    REFUSED("%y = fused(%x) over [4,8] { %a = sum(%x) {axes=[1]} %b = neg(%a) return %b }",
            "is not known there");
    REFUSED("%y = fused(%x) over [4,8] { %a = full() return %a }", "is a constant");
    REFUSED("%y = fused(%x) over [4,8] { %a = input f32[2] return %a }", "expected '('");
    REFUSED("%y = fused(%x) over [4,8] { %a = split(%x) {sizes=[1]} return %a }", "cannot be part of fused");
    REFUSED("%y = fused(%x) over [4,8] { %a = nagative(%x) return %a }", "unknown op");
    REFUSED("%y = fused(%x) over [4,8] { %a = neg(%x) : f32[3] return %a }", "neg: result 0 is f32[4,8]");
    REFUSED("%y = fused(%x) over [-4,8] { %a = neg(%x) return %a }", "fused");
    REFUSED("%y = fused(%x) {body=1}", "'over'");
}

/* `want` by operand and result, of a graph that ends with a fused node. */
static void check_overwrites(const char *text, int operands, int results, const bool *want)
{
    tern_graph *g;
    CHECK_OK(tern_graph_parse(NULL, text, strlen(text), &g));
    const tern__region *r = g->nodes[g->n_nodes - 1].attrs[0].region;
    for (int operand = 0; operand < operands; operand++)
        for (int result = 0; result < results; result++)
            CHECK_EQ(tern__region_may_overwrite(r, operand, result), want[operand * results + result]);
    tern_graph_free(g);
}

/* Results may lie where an operand does only if nothing that comes later reads it. */
TEST(results_overwrite_what_was_read)
{
    check_overwrites("graph {\n"
                     "  %x = input \"x\" f32[4,8]\n"
                     "  %w = input \"w\" f32[4,8]\n"
                     "  %a, %b, %q, %s = fused(%x, %w) over [4,8] {\n"
                     "    %r0 = relu(%x) : f32[4,8]\n"
                     "    %r1 = rmsnorm(%r0) : f32[4,8]\n"
                     "    %r2 = mul(%r1, %w) : f32[4,8]\n"
                     "    %r3, %r4 = quantise_rows(%r2) : i8[4,8], f32[4,1]\n"
                     "    return %r0, %r2, %r3, %r4\n"
                     "  } : f32[4,8], f32[4,8], i8[4,8], f32[4,1]\n"
                     "  return %a, %b, %q, %s\n}\n",
                     2, 4, (const bool[]){true, true, true, false, false, true, true, false});
}

/* What a cast gives may be the operand itself: it is stored, or read again, after other results were. */
TEST(casts_are_other_names)
{
    check_overwrites("graph {\n"
                     "  %x = input \"x\" i32[4,8]\n"
                     "  %a, %b, %c = fused(%x) over [4,8] {\n"
                     "    %r0 = cast(%x) {dtype=i32} : i32[4,8]\n"
                     "    %r1 = cast(%r0) {dtype=f32} : f32[4,8]\n"
                     "    %r2 = relu(%r1) : f32[4,8]\n"
                     "    %r3 = neg(%r1) : f32[4,8]\n"
                     "    return %r0, %r2, %r3\n"
                     "  } : i32[4,8], f32[4,8], f32[4,8]\n"
                     "  return %a, %b, %c\n}\n",
                     1, 3, (const bool[]){false, false, false});
}

/* A product reads everything before its epilogue writes anything: nothing that it reads is overwritten. */
TEST(operands_of_products_stay)
{
    check_overwrites("graph {\n"
                     "  %x = input \"x\" f32[8,8]\n"
                     "  %y = input \"y\" f32[8,8]\n"
                     "  %z = input \"z\" f32[8,8]\n"
                     "  %a = fused(%x, %y, %z) over [8,8] {\n"
                     "    %r0 = matmul(%x, %y) : f32[8,8]\n"
                     "    %r1 = add(%r0, %z) : f32[8,8]\n"
                     "    %r2 = add(%r1, %x) : f32[8,8]\n"
                     "    return %r2\n"
                     "  } : f32[8,8]\n"
                     "  return %a\n}\n",
                     3, 1, (const bool[]){false, false, true});
}

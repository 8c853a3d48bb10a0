/* test_text_errors.c - bad texts: each gets one clear message with its place, and nothing is lost or leaked, whatever
 * the text and wherever memory runs out. */
#include <tern/alloc.h>

#include "base/hash.h"
#include "gate.h"
#include "graph/graph.h"
#include "harness.h"
#include "text_util.h"

typedef struct bad {
    const char *text;
    tern_status status;
    const char *message;
} bad;

#define X "%x = input \"x\" f32[2,3]\n"

/* clang-format off */
static const bad BAD[] = {
    /* the frame */
    {"", TERN_FORMAT, "line 1, column 1: expected 'graph' but the text ends"},
    {"  # nothing\n", TERN_FORMAT, "line 2, column 1: expected 'graph' but the text ends"},
    {"grph g {}", TERN_FORMAT, "line 1, column 1: expected 'graph' but found 'grph'"},
    {"graph", TERN_FORMAT, "line 1, column 6: expected '{' but the text ends"},
    {"graph g (", TERN_FORMAT, "line 1, column 9: expected '{' but found '('"},
    {"graph 7 {", TERN_FORMAT, "line 1, column 7: expected '{' but found '7'"},
    {"graph {}", TERN_FORMAT, "line 1, column 8: expected a definition such as %x = input \"x\" f32[2] but found '}'"},
    {"graph {\n" X "}", TERN_FORMAT, "line 3, column 1: expected a definition or 'return' but found '}'"},
    {"graph {\n" X "return %x", TERN_FORMAT, "line 3, column 10: expected '}' after the return but the text ends"},
    {"graph {\n" X "return %x,}", TERN_FORMAT, "line 3, column 11: expected a value such as %x but found '}'"},
    {"graph {\n" X "return %x %y = relu(%x) }", TERN_FORMAT,
     "line 3, column 11: expected '}' after the return but found '%y'"},
    {"graph {\n" X "return %x }\n}", TERN_FORMAT, "line 4, column 1: expected the end of the text but found '}'"},
    {"graph {\n" X "return %x } graph", TERN_FORMAT,
     "line 3, column 13: expected the end of the text but found 'graph'"},

    /* characters and words */
    {"graph { @", TERN_FORMAT, "line 1, column 9: unexpected '@'"},
    {"graph {\n\x01", TERN_FORMAT, "line 2, column 1: unexpected byte 0x01"},
    {"graph \"\xc3\xa4\xe2\x82\xac\" \xff", TERN_FORMAT, "line 1, column 12: unexpected byte 0xff"},
    {"graph { %", TERN_FORMAT,
     "line 1, column 9: '%' is not a value: % is followed by a name (letters, digits, _ and .) or by a number"},
    {"graph { %1a = relu(%x)", TERN_FORMAT,
     "line 1, column 9: '%1a' is not a value: % is followed by a name (letters, digits, _ and .) or by a number"},
    {"graph \"open\n\" {", TERN_FORMAT, "line 1, column 7: this text has no closing quote on its line"},
    {"graph \"open\\\"", TERN_FORMAT, "line 1, column 7: this text has no closing quote on its line"},
    {"graph \"a\\q\" {", TERN_FORMAT, "line 1, column 9: after \\ stands one of \" \\ n t r, or x and two hex digits"},
    {"graph \"\\x4\" {", TERN_FORMAT, "line 1, column 8: after \\ stands one of \" \\ n t r, or x and two hex digits"},
    {"graph \"\\x00\" {", TERN_FORMAT, "line 1, column 8: a text cannot contain a zero byte"},
    {"graph \"a\tb\" {", TERN_FORMAT, "line 1, column 9: byte 0x09 cannot stand in a text; write \\x09"},

    /* leaves */
    {"graph {\n%x = input \"x\" f33[2]", TERN_FORMAT,
     "line 2, column 16: no dtype is called 'f33'; known: bool u8 i8 i32 i64 f16 bf16 f32 f64 t2 t5 q8_0 q6_k q4_0 q4_k"},
    {"graph {\n%x = input \"x\"", TERN_FORMAT, "line 2, column 15: expected a dtype such as f32 but the text ends"},
    {"graph {\n%x = input f32", TERN_FORMAT, "line 2, column 15: expected '[' but the text ends"},
    {"graph {\n%x = input f32[2", TERN_FORMAT, "line 2, column 17: expected ']' but the text ends"},
    {"graph {\n%x = input f32[2,]", TERN_FORMAT, "line 2, column 18: expected a size but found ']'"},
    {"graph {\n%x = input f32[1.5]", TERN_FORMAT,
     "line 2, column 16: expected a size but found '1.5', which is no whole number"},
    {"graph {\n%x = input f32[-1]", TERN_FORMAT, "line 2, column 16: a size cannot be negative"},
    {"graph {\n%x = input f32[1,1,1,1,1,1,1,1,1]", TERN_LIMIT, "line 2, column 32: a shape has at most 8 axes"},
    {"graph {\n%x = input f32[9223372036854775808]", TERN_OVERFLOW,
     "line 2, column 16: 9223372036854775808 does not fit in 64 bits"},
    {"graph {\n%x = input f32[9223372036854775807]", TERN_OVERFLOW,
     "line 2, column 12: input: f32[9223372036854775807] does not fit in memory"},
    {"graph {\n%x = input f32[4294967296,4294967296,0]", TERN_OVERFLOW,
     "line 2, column 12: input: f32[4294967296,4294967296,0] does not fit in memory"},
    {"graph {\n%x, %y = input f32[2]", TERN_FORMAT, "line 2, column 5: input gives 1 result, but 2 are named"},
    {"graph {\n" X "%x = input \"y\" f32[2]", TERN_FORMAT, "line 3, column 1: %x is defined already, in line 2"},
    {"graph {\n" X "%y = state \"x\" f32[2]", TERN_FORMAT,
     "line 3, column 12: \"x\" is the name of another input, in line 2"},

    /* data */
    {"graph{%c = constant f32[1000000000] {1}", TERN_FORMAT,
     "line 1, column 39: f32[1000000000] has 1000000000 elements, but 1 are given"},
    {"graph {\n%c = constant f32[2] {1, 2, 3}", TERN_FORMAT,
     "line 2, column 29: f32[2] has 2 elements; here is one more"},
    {"graph {\n%c = constant f32[0] {1}", TERN_FORMAT, "line 2, column 23: f32[0] has 0 elements; here is one more"},
    {"graph {\n%c = constant f32[2] {1 2}", TERN_FORMAT, "line 2, column 25: expected '}' but found '2'"},
    {"graph {\n%c = constant f32[2] {1, two}", TERN_FORMAT,
     "line 2, column 26: expected an element of type f32 but found 'two'"},
    {"graph {\n%c = constant f32[1] {1e39}", TERN_OVERFLOW, "line 2, column 23: 1e39 does not fit f32"},
    {"graph {\n%c = constant f16[1] {65520}", TERN_OVERFLOW, "line 2, column 23: 65520 does not fit f16"},
    {"graph {\n%c = constant f32[1] {1.}", TERN_FORMAT,
     "line 2, column 23: expected an element of type f32 but found '1.'"},
    {"graph {\n%c = constant u8[2] {0, 256}", TERN_OVERFLOW, "line 2, column 25: 256 does not fit u8"},
    {"graph {\n%c = constant i64[1] {-9223372036854775809}", TERN_OVERFLOW,
     "line 2, column 23: -9223372036854775809 does not fit i64"},
    {"graph {\n%c = constant i32[1] {0.5}", TERN_FORMAT,
     "line 2, column 23: expected an element of type i32 but found '0.5'"},
    {"graph {\n%c = constant i32[1] {true}", TERN_FORMAT,
     "line 2, column 23: expected an element of type i32 but found 'true'"},
    {"graph {\n%c = constant bool[1] {maybe}", TERN_FORMAT,
     "line 2, column 24: expected an element of type bool but found 'maybe'"},
    {"graph {\n%x = input \"x\" f32[2,?]", TERN_FORMAT,
     "line 2, column 22: unexpected '?': every size is known; write one, and compile for a range of batches (--batch) if the "
     "first axis varies"},
    {"graph {\n%c = constant t2[1] {2}", TERN_OVERFLOW, "line 2, column 22: 2 does not fit t2"},

    /* calls */
    {"graph {\n" X "%0 = matmull(%x, %x)", TERN_FORMAT,
     "line 3, column 6: unknown op 'matmull': did you mean 'matmul'?"},
    {"graph {\n" X "%0 = conv(%x, %x)", TERN_FORMAT,
     "line 3, column 6: unknown op 'conv': did you mean 'conv2d'?"},
    {"graph {\n" X "%0 = frobnicate(%x)", TERN_FORMAT, "line 3, column 6: unknown op 'frobnicate'"},
    {"graph {\n" X "%0 = 3(%x)", TERN_FORMAT, "line 3, column 6: expected an op such as add but found '3'"},
    {"graph {\n" X "%0 relu(%x)", TERN_FORMAT, "line 3, column 4: expected '=' but found 'relu'"},
    {"graph {\n" X "%0 = relu %x", TERN_FORMAT, "line 3, column 11: expected '(' but found '%x'"},
    {"graph {\n" X "%0 = relu(%x", TERN_FORMAT, "line 3, column 13: expected ')' but the text ends"},
    {"graph {\n" X "%0 = relu(%x,)", TERN_FORMAT, "line 3, column 14: expected a value such as %x but found ')'"},
    {"graph {\n" X "%0 = relu()", TERN_INVALID_ARGUMENT, "line 3, column 6: relu: takes 1 operand, got 0"},
    {"graph {\n" X "%0 = add(%x, %x, %x)", TERN_INVALID_ARGUMENT, "line 3, column 6: add: takes 2 operands, got 3"},
    {"graph {\n" X "%0 = relu(%x) {axis=1}", TERN_FORMAT,
     "line 3, column 16: unknown attribute 'axis': relu has no attributes"},
    {"graph {\n" X "%0 = softmax(%x) {axis=1, axis=1}", TERN_FORMAT,
     "line 3, column 27: attribute 'axis' is given twice"},
    {"graph {\n" X "%0 = softmax(%x) {axis=99999999999999999999}", TERN_OVERFLOW,
     "line 3, column 24: 99999999999999999999 does not fit in 64 bits"},
    {"graph {\n" X "%0 = softmax(%x) {axis=1", TERN_FORMAT,
     "line 3, column 25: expected an attribute such as axis=1 but the text ends"},
    {"graph {\n" X "%0 = slice(%x) {start=[0,0], stop=[1], step=[1,1]}", TERN_INVALID_ARGUMENT,
     "line 3, column 6: slice: stop has 1 entries and start has 2"},
    {"graph {\n" X "%0 = topk(%x)", TERN_FORMAT, "line 3, column 1: topk gives 2 results, but 1 is named"},
    {"graph {\n" X "%0, %1 = relu(%x)", TERN_FORMAT, "line 3, column 1: relu gives 1 result, but 2 are named"},
    {"graph {\n" X "%0, %0 = topk(%x)", TERN_FORMAT, "line 3, column 5: %0 is defined already, in line 3"},
    {"graph {\n" X "%0 = relu(%x) : f32[2,4]", TERN_SHAPE,
     "line 3, column 17: relu: result 0 is f32[2,3], not f32[2,4]"},
    {"graph {\n" X "%0 = relu(%x) : f16[2,3]", TERN_DTYPE,
     "line 3, column 17: relu: result 0 is f32[2,3], not f16[2,3]"},
    {"graph {\n" X "%0, %1 = topk(%x) : f32[2,1]", TERN_FORMAT, "line 3, column 29: expected ',' but the text ends"},
    {"graph {\n" X "%0 = relu(%x) from 3", TERN_FORMAT, "line 3, column 20: expected a text in quotes but found '3'"},
    {"graph {\n%a = input f32[2]\n%b = input i32[2]\n%0 = add(%a, %b)", TERN_DTYPE,
     "line 4, column 14: add: operand 1 is i32 but f32 is needed: insert cast"},

    /* where values come from */
    {"graph {\n" X "%0 = relu(%y)", TERN_FORMAT, "line 3, column 11: %y is not defined"},
    {"graph {\n" X "return %y }", TERN_FORMAT, "line 3, column 8: %y is not defined"},
    {"graph {\n%0 = relu(%x)\n" X "return %0 }", TERN_FORMAT,
     "line 2, column 11: %x is used before its definition in line 3"},
    {"graph {\n" X "%a = relu(%a)\nreturn %a }", TERN_FORMAT, "line 3, column 11: cycle: %a needs %a"},
    {"graph {\n" X "%a = add(%x, %b)\n%b = relu(%a)\nreturn %b }", TERN_FORMAT,
     "line 3, column 14: cycle: %a needs %b needs %a"},
    {"graph {\n" X "%a, %b = topk(%c)\n%c = relu(%d)\n%d = add(%x, %b)\nreturn %b }", TERN_FORMAT,
     "line 3, column 15: cycle: %b needs %c needs %d needs %b"},
    {"graph {\n%1=relu(%2)%2=relu(%3)%3=relu(%4)%4=relu(%5)%5=relu(%6)%6=relu(%7)%7=relu(%8)%8=relu(%9)%9=relu(%1)",
     TERN_FORMAT, "line 2, column 9: cycle: %1 needs %2 needs %3 needs %4 needs %5 needs %6 needs %7 needs %8 needs "
                  "... needs %1"},

    /* outputs */
    {"graph {\n" X "return %x as \"y\", %x as \"y\" }", TERN_FORMAT,
     "line 3, column 25: outputs 0 and 1 are both named \"y\""},
    {"graph {\n" X "return %x as \"1\", %x }", TERN_FORMAT,
     "line 3, column 19: outputs 0 and 1 are both named \"1\""},
    {"graph {\n" X "return %x as y }", TERN_FORMAT, "line 3, column 14: expected a name in quotes but found 'y'"},
    {"graph {\n" X "return %x as \"\" }", TERN_FORMAT, "line 3, column 14: an output's name cannot be empty"},

    /* state */
    {"graph {\n%s = state \"s\" f32[4]\n%x = input f32[2]\n%i = input i64[1]\n%0 = write_slice(%s, %x, %i)\n"
     "  %1 = write_slice(%s, %x, %i) return %0 }", TERN_INVALID_ARGUMENT,
     "line 6, column 3: %1 = write_slice(%s, %x, %i): %s is overwritten already by %0 = write_slice(%s, %x, %i): use "
     "its result, or read before it"},
    {"graph {\n%s = constant f32[4]\n%x = input f32[2]\n%i = input i64[1]\n%0 = write_slice(%s, %x, %i) return %0 }",
     TERN_INVALID_ARGUMENT,
     "line 5, column 1: %0 = write_slice(%s, %x, %i): operand 0 is a constant, which cannot be written"},
};
/* clang-format on */

TEST(bad_texts_say_where_and_what)
{
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        tern_graph *g = (tern_graph *)&BAD; /* must stay as it is */
        tern_status status = parse_text(BAD[i].text, &g);
        if (status != BAD[i].status || strcmp(tern_last_error(), BAD[i].message) != 0)
            harness_fail(__FILE__, __LINE__, "case %zu: %s\n  got  %s: %s\n  want %s: %s", i, BAD[i].text,
                         tern_status_name(status), tern_last_error(), tern_status_name(BAD[i].status),
                         BAD[i].message);
        CHECK(g == (tern_graph *)&BAD);
    }
    CHECK(sizeof BAD / sizeof BAD[0] >= 40);
}

TEST(null_arguments)
{
    tern_graph *g;
    CHECK_STATUS(tern_graph_parse(NULL, NULL, 3, &g), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_graph_parse(NULL, "x", 1, NULL), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_graph_parse(NULL, NULL, 0, &g), TERN_FORMAT);
}

TEST(long_names_are_refused)
{
    char text[2048], name[300];
    tern_graph *g;
    memset(name, 'n', sizeof name);
    static const char *const forms[] = {
        "graph { %%%.*s = input \"x\" f32[2] return }", "graph { %%x = input \"%.*s\" f32[2] return }",
        "graph %.*s { return }", "graph { %%x = input f32[2] return %%x as \"%.*s\" }"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, forms[i], 256, name);
        CHECK_OK(parse_text(text, &g));
        tern_graph_free(g);
        snprintf(text, sizeof text, forms[i], 257, name);
        CHECK_STATUS(parse_text(text, &g), TERN_LIMIT);
#pragma GCC diagnostic pop
    }
}

/* ---- whatever the text -------------------------------------------------------------------------------------------- */

static const char *const SAMPLES[] = {"mlp.tern", "leaves.tern", "attention.tern", "shapes.tern"};

TEST(a_text_may_end_anywhere)
{
    for (size_t s = 0; s < sizeof SAMPLES / sizeof SAMPLES[0]; s++) {
        size_t length;
        char *text = golden_read(SAMPLES[s], &length);
        CHECK(text != NULL);
        for (size_t cut = 0; cut + 1 < length; cut++) { /* the last newline may be missing */
            tern_graph *g;
            CHECK(parse_exactly(NULL, text, cut, &g) != TERN_OK);
            CHECK(strncmp(tern_last_error(), "line ", 5) == 0);
        }
        free(text);
    }
}

/* Either an error with a place, or a graph that prints and parses back. */
static void check_any_text(const char *text, size_t length)
{
    tern_graph *g, *h;
    char *printed;
    if (parse_exactly(NULL, text, length, &g) != TERN_OK) {
        CHECK(strncmp(tern_last_error(), "line ", 5) == 0);
        return;
    }
    CHECK_OK(tern_graph_print(g, &printed));
    CHECK_OK(parse_text(printed, &h));
    CHECK(tern__graph_equal(g, h, true));
    tern_graph_free(g);
    tern_graph_free(h);
    tern_string_free(printed);
}

TEST(mutated_texts)
{
    enum { ROUNDS = 20000 };
    static const char alphabet[] = "%(){}[],:=\"\\#-.0129eEfinxw \n\t\x80\xff";
    uint64_t state = harness_seed();
    for (int round = 0; round < ROUNDS; round++) {
        static char text[8192];
        static char *samples[4];
        static size_t lengths[4];
        uint32_t s = (uint32_t)round % 4;
        if (!samples[s])
            samples[s] = golden_read(SAMPLES[s], &lengths[s]);
        CHECK(samples[s] && lengths[s] + 64 < sizeof text);
        size_t length = lengths[s];
        memcpy(text, samples[s], length);
        state = tern__hash_mix(state, (uint64_t)round);
        for (uint64_t edits = 1 + state % 3; edits > 0; edits--) {
            state = tern__hash_mix(state, edits);
            size_t at = (size_t)(state >> 8) % length, from = (size_t)(state >> 24) % length;
            size_t n = 1 + (size_t)(state >> 48) % 8;
            switch (state % 4) {
            case 0:
                text[at] = alphabet[(state >> 40) % (sizeof alphabet - 1)];
                break;
            case 1: /* cut out */
                n = n < length - at ? n : length - at - 1;
                memmove(text + at, text + at + n, length - at - n);
                length -= n;
                break;
            case 2: /* repeat */
                memmove(text + at + n, text + at, length - at);
                length += n;
                break;
            default: /* copy from elsewhere */
                n = n < length - (at > from ? at : from) ? n : 1;
                memmove(text + at, text + from, n);
                break;
            }
        }
        check_any_text(text, length);
        if (harness_failed()) {
            printf("  round %d:\n%.*s\n", round, (int)length, text);
            return;
        }
    }
}

TEST(deep_and_endless_texts)
{
    enum { N = 1 << 20 };
    static const struct {
        const char *head, *piece;
    } cases[] = {
        {"graph ", "{"},      {"graph {%x = constant i32[", "1,"},     {"graph { %x = reshape(", "%x,"},
        {"graph { ", "%x,"},  {"graph { %x = constant f32[9] {", "1"}, {"", "#"},
        {"graph \"", "\\\""}, {"graph { %x = sum(%y) {axes=[", "1,"},  {"graph { ", "\xff"},
        {"", "\n"},
    };
    char *text = malloc(N + 64);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t at = strlen(cases[i].head), piece = strlen(cases[i].piece);
        memcpy(text, cases[i].head, at);
        for (; at + piece <= N; at += piece)
            memcpy(text + at, cases[i].piece, piece);
        check_any_text(text, at);
    }
    free(text);
}

/* ---- whenever memory runs out ------------------------------------------------------------------------------------- */

static void check_allocation_failures(const char *text, size_t length, bool once)
{
    tern_alloc_stats before, after;
    tern_alloc_get_stats(&before);
    for (int n = 0;; n++) {
        gate memory = {.countdown = n + 1, .for_ever = !once};
        tern_graph *g = NULL;
        char *printed = NULL, *drawn = NULL;
        tern_alloc_set_gate(gate_allow, &memory);
        tern_status status = tern_graph_parse(NULL, text, length, &g);
        if (status == TERN_OK)
            status = tern_graph_verify(g);
        if (status == TERN_OK)
            status = tern_graph_print(g, &printed);
        if (status == TERN_OK)
            status = tern_graph_dot(g, &drawn);
        tern_alloc_set_gate(NULL, NULL);
        tern_graph_free(g);
        tern_string_free(printed);
        tern_string_free(drawn);
        tern_alloc_get_stats(&after);
        CHECK_EQ(after.live_bytes, before.live_bytes);
        if (!memory.fired) {
            CHECK_OK(status);
            CHECK(n > 20);
            return;
        }
        CHECK_EQ(status, TERN_OUT_OF_MEMORY);
    }
}

TEST(memory_may_run_out_anywhere)
{
    for (size_t s = 0; s < sizeof SAMPLES / sizeof SAMPLES[0]; s++) {
        size_t length;
        char *text = golden_read(SAMPLES[s], &length);
        CHECK(text != NULL);
        check_allocation_failures(text, length, true);
        check_allocation_failures(text, length, false);
        free(text);
    }
}

/* The search for a cycle may fail too; the message is then less precise, but there is one. */
TEST(memory_may_run_out_while_an_error_is_explained)
{
    static const char text[] = "graph {\n%a = relu(%b)\n%b = relu(%a)\nreturn %b }";
    for (int n = 0; n < 40; n++) {
        gate memory = {.countdown = n + 1, .for_ever = true};
        tern_graph *g;
        tern_alloc_set_gate(gate_allow, &memory);
        tern_status status = tern_graph_parse(NULL, text, sizeof text - 1, &g);
        tern_alloc_set_gate(NULL, NULL);
        CHECK(status == TERN_OUT_OF_MEMORY || status == TERN_FORMAT);
        CHECK(tern_last_error()[0] != '\0');
    }
    CHECK_STR(tern_last_error(), "line 2, column 11: cycle: %a needs %b needs %a");
}

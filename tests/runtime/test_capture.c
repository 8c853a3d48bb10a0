/* test_capture.c - whatever tern_graph_capture accepts verifies, prints and parses back to the same text,
 * whatever tensors are called; what it refuses, it refuses with a sentence about the name. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

static char longest[257], too_long[258]; /* 256 and 257 bytes */

/* Names that callers might think of. */
static const char *const names[] = {
    "x",           "y",      "x",      "0",      "1",     "2",
    "7",           "",       longest,  too_long, "a b",   "quote\" and \\",
    "line\nbreak", "%x",     "ümlaut", "\x01",   "x.y_z", "input",
    "graph",       "return", "f32",    NULL,
};
enum { NAMES = sizeof names / sizeof *names, MOST = 6 };

static tern_ctx *ctx;

static void set_up(void)
{
    memset(longest, 'n', sizeof longest - 1);
    memset(too_long, 'n', sizeof too_long - 1);
    CHECK_OK(tern_ctx_create(NULL, &ctx));
}

static void tear_down(void)
{
    tern_ctx_destroy(ctx);
    ctx = NULL;
}

static tern_tensor *input(const char *name)
{
    return tern_input(ctx, name, TERN_F32, 1, (int64_t[]){3});
}

/* Prints, parses, verifies and prints again. */
static void check_round_trip(const tern_graph *graph)
{
    char *first = NULL, *second = NULL;
    tern_graph *back = NULL;
    CHECK_OK(tern_graph_verify(graph));
    CHECK_OK(tern_graph_print(graph, &first));
    tern_status status = tern_graph_parse(ctx, first, strlen(first), &back);
    if (status != TERN_OK)
        harness_fail(__FILE__, __LINE__, "%s:\n%s", tern_last_error(), first);
    if (status == TERN_OK && tern_graph_print(back, &second) == TERN_OK && strcmp(first, second) != 0)
        harness_fail(__FILE__, __LINE__, "printed\n%s\nand read back\n%s", first, second);
    tern_graph_free(back);
    tern_string_free(first);
    tern_string_free(second);
}

static void check_refused(int n, tern_tensor *const *outputs, const char *const *output_names,
                          const char *message)
{
    tern_graph *graph = (tern_graph *)&ctx;
    tern_program *program = (tern_program *)&ctx;
    CHECK(tern_graph_capture(ctx, n, outputs, output_names, &graph) != TERN_OK);
    CHECK_STR(tern_last_error(), message);
    CHECK(graph == (tern_graph *)&ctx);
    CHECK(tern_compile(ctx, n, outputs, output_names, NULL, &program) != TERN_OK);
    CHECK_STR(tern_last_error(), message);
    CHECK(program == (tern_program *)&ctx);
}

TEST(names_that_could_not_be_read_back_are_refused)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = input("x"), *sum = tern_add(x, input("x"));
        check_refused(1, &sum, NULL, "graph_capture: %0 = input: \"x\" is the name of another input");
        sum = tern_add(x, tern_state(ctx, "x", TERN_F32, 1, (int64_t[]){3}));
        check_refused(1, &sum, NULL, "graph_capture: %0 = state: \"x\" is the name of another input");
        sum = tern_neg(input(too_long));
        check_refused(1, &sum, NULL, "graph_capture: %0 = input: name has more than 256 bytes");
        tern_tensor *two[] = {tern_neg(x), tern_abs(x)};
        check_refused(2, two, (const char *[]){"y", "y"},
                      "graph_capture: outputs 0 and 1 are both named \"y\"");
        check_refused(2, two, (const char *[]){"y", ""},
                      "graph_capture: the name of output 1 has no characters");
        check_refused(2, two, (const char *[]){too_long, "y"},
                      "graph_capture: the name of output 0 has more than 256 bytes");
    }
    tear_down();
}

TEST(numbers_of_unnamed_outputs_avoid_given_names)
{
    set_up();
    TERN_SCOPE(ctx) {
        tern_tensor *x = input("x");
        tern_tensor *outputs[] = {tern_neg(x), tern_abs(x), tern_exp(x), tern_relu(x)};
        tern_graph *graph = NULL;
        CHECK_OK(tern_graph_capture(ctx, 4, outputs, (const char *[]){NULL, "3", "4", NULL}, &graph));
        static const char *const want[] = {"0", "3", "4", "5"};
        for (int i = 0; i < 4; i++) {
            tern_port port;
            CHECK_OK(tern_graph_output(graph, i, &port));
            CHECK_STR(port.name, want[i]);
        }
        check_round_trip(graph);
        tern_graph_free(graph);
    }
    tear_down();
}

TEST(tensors_of_another_context_are_refused)
{
    set_up();
    tern_ctx *other;
    CHECK_OK(tern_ctx_create(NULL, &other));
    tern_tensor *t = tern_ones(other, TERN_F32, 0, NULL);
    check_refused(1, &t, NULL, "graph_capture: output 0 belongs to another context");
    tern_ctx_destroy(other);
    tear_down();
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static const char *any_name(uint64_t *state)
{
    return names[next(state) % NAMES];
}

/* Leaves of all kinds under any names, joined at random. */
static void build(uint64_t *state, int n, tern_tensor **values)
{
    for (int i = 0; i < n; i++) {
        tern_tensor *a = i ? values[next(state) % (uint64_t)i] : NULL,
                    *b = i ? values[next(state) % (uint64_t)i] : NULL;
        switch (next(state) % (i ? 6 : 4)) {
        case 0:
        case 1:
            values[i] = input(any_name(state));
            break;
        case 2:
            values[i] = tern_state(ctx, any_name(state), TERN_F32, 1, (int64_t[]){3});
            break;
        case 3:
            values[i] = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
            if (next(state) % 2)
                (void)tern_freeze(values[i]);
            break;
        case 4:
            values[i] = tern_add(a, b);
            break;
        default:
            values[i] = tern_state(ctx, any_name(state), TERN_F32, 1, (int64_t[]){3});
            values[i] = tern_overwrite(values[i], a);
        }
    }
}

TEST(whatever_is_accepted_prints_parses_and_verifies)
{
    set_up();
    uint64_t state = harness_seed();
    int accepted = 0, refused = 0;
    for (int round = 0; round < 3000 && !harness_failed(); round++) {
        TERN_SCOPE(ctx) {
            tern_tensor *values[MOST];
            const char *given[MOST];
            int n = 1 + (int)(next(&state) % MOST), n_out = 1 + (int)(next(&state) % (uint64_t)n);
            build(&state, n, values);
            for (int i = 0; i < n_out; i++)
                given[i] = next(&state) % 2 ? any_name(&state) : NULL;
            tern_graph *graph = NULL;
            tern_status status =
                tern_graph_capture(ctx, n_out, values + n - n_out, next(&state) % 4 ? given : NULL, &graph);
            if (status == TERN_OK) {
                accepted++;
                check_round_trip(graph);
                tern_graph_free(graph);
            } else {
                refused++;
                if (!strstr(tern_last_error(), "name"))
                    harness_fail(__FILE__, __LINE__, "refused: %s", tern_last_error());
            }
        }
    }
    if (accepted < 500 || refused < 500)
        harness_fail(__FILE__, __LINE__, "%d accepted, %d refused", accepted, refused);
    tear_down();
}

/* Programs are given their inputs by number: that of their making, not of the first reader. */
TEST(inputs_are_numbered_as_they_were_made)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    TERN_SCOPE(ctx) {
        tern_program *program;
        tern_exec *exec;
        tern_port port;
        tern_tensor *a = tern_input(ctx, "a", TERN_F32, 1, (int64_t[]){2});
        tern_tensor *b = tern_input(ctx, "b", TERN_F32, 1, (int64_t[]){2});
        tern_tensor *c = tern_input(ctx, "c", TERN_F32, 1, (int64_t[]){2});
        tern_tensor *y = tern_sub(tern_mul(c, b), a), *out;
        CHECK_OK(tern_compile(ctx, 1, &y, NULL, NULL, &program));
        for (int i = 0; i < 3; i++) {
            CHECK_OK(tern_program_input(program, i, &port));
            CHECK_STR(port.name, ((const char *[]){"a", "b", "c"})[i]);
        }
        int found = -1;
        CHECK_OK(tern_program_find_input(program, "c", &found));
        CHECK_EQ(found, 2);
        CHECK_STATUS(tern_program_find_input(program, "d", &found), TERN_NOT_FOUND);
        CHECK_STR(tern_last_error(), "program_find_input: no input is called 'd'; there are a, b, c");
        CHECK_OK(tern_exec_create(ctx, program, &exec));
        tern_tensor *in[3];
        for (int i = 0; i < 3; i++)
            in[i] = tern_full(ctx, TERN_F32, 1, (int64_t[]){2}, i + 2);
        CHECK_OK(tern_exec_run(exec, 3, in, 1, &out));
        CHECK_EQ((int)tern_data_f32(out)[0], 4 * 3 - 2);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    tern_ctx_destroy(ctx);
}

/* tern_name: kept in the text form and by leaves that were computed; the second of two is numbered. */
TEST(tensors_go_by_the_names_they_were_given)
{
    set_up();
    tern_graph *graph = NULL;
    char *text = NULL;
    const float data[] = {1, 2, 3};
    tern_tensor *x = input("x"), *w = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, data);
    CHECK_OK(tern_name(w, "other"));
    CHECK_OK(tern_name(w, "weights"));
    CHECK_OK(tern_freeze(w));
    tern_tensor *a = tern_add(x, w), *b = tern_neg(a), *c = tern_abs(b);
    CHECK_OK(tern_name(a, "sum"));
    CHECK_OK(tern_name(b, "sum"));
    CHECK_OK(tern_name(c, "y.1"));
    CHECK_OK(tern_graph_capture(ctx, 1, &c, (const char *[]){"y"}, &graph));
    CHECK_OK(tern_graph_print(graph, &text));
    CHECK_STR(text, "graph {\n"
                    "  %x = input \"x\" f32[3]\n"
                    "  %weights = constant f32[3] {1, 2, 3}\n"
                    "  %sum = add(%x, %weights) : f32[3]\n"
                    "  %0 = neg(%sum) : f32[3]\n"
                    "  %y.1 = abs(%0) : f32[3]\n"
                    "  return %y.1 as \"y\"\n"
                    "}\n");
    check_round_trip(graph);
    tern_graph_free(graph);
    tern_string_free(text);
    static const char *const bad[] = {"", "1a", ".a", "a b", "%x", "a\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STATUS(tern_name(c, bad[i]), TERN_INVALID_ARGUMENT);
    CHECK_STATUS(tern_name(c, too_long), TERN_INVALID_ARGUMENT);
    CHECK_OK(tern_name(c, longest));
    CHECK_STATUS(tern_name(tern_add(input("p"), tern_zeros(ctx, TERN_F32, 1, (int64_t[]){5})), "z"),
                 TERN_SHAPE);
    tear_down();
}

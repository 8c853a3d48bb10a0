/* What programs and tuning tell about themselves is whole: names as long as they may be, every op, every note. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

enum { LONG = 200 };

static tern_ctx *ctx;
static tern_graph *graph;
static tern_program *program;

/* Two names of LONG bytes that differ in the last. */
static char one[LONG + 1], other[LONG + 1];

static void make_names(void)
{
    memset(one, 'n', LONG);
    memset(other, 'n', LONG);
    one[LONG - 1] = '1';
    other[LONG - 1] = '2';
}

static void open_text(const char *text, const tern_compile_options *options)
{
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_graph_parse(ctx, text, strlen(text), &graph));
    CHECK_OK(tern_graph_compile(ctx, graph, options, &program));
}

static void close_all(void)
{
    tern_program_free(program);
    tern_graph_free(graph);
    tern_ctx_destroy(ctx);
    ctx = NULL;
    graph = NULL;
    program = NULL;
}

/* Products with long names, and sums of them. */
static void open_long_names(const tern_compile_options *options)
{
    char text[8 * LONG];
    make_names();
    snprintf(text, sizeof text,
             "graph {\n  %%x = input \"x\" f32[4,4]\n  %%%s = matmul(%%x, %%x)\n  %%%s = matmul(%%%s, %%x)\n"
             "  %%y = matmul(%%%s, %%%s)\n  return %%y\n}\n",
             one, other, one, one, other);
    open_text(text, options);
}

TEST(long_names_stay_whole_in_operands_and_buffers)
{
    open_long_names(NULL);
    tern_operand_info operand = {0};
    CHECK_OK(tern_program_operand(program, 0, 2, &operand));
    CHECK_STR(operand.name, one);
    CHECK_OK(tern_program_operand(program, 1, 2, &operand));
    CHECK_STR(operand.name, other);
    int found = 0;
    tern_buffer_info buffer;
    for (int i = 0; tern_program_buffer(program, i, &buffer) == TERN_OK; i++)
        found += (strcmp(buffer.name, one) == 0) + (strcmp(buffer.name, other) == 0);
    CHECK_EQ(found, 2);
    close_all();
}

TEST(strings_live_as_long_as_the_program)
{
    open_long_names(NULL);
    tern_operand_info first = {0}, again = {0};
    CHECK_OK(tern_program_operand(program, 0, 2, &first));
    tern_graph_free(graph);
    graph = NULL;
    CHECK_OK(tern_program_operand(program, 0, 2, &again));
    CHECK(first.name == again.name);
    CHECK_STR(first.name, one);
    close_all();
}

TEST(long_names_stay_whole_in_fusions_and_notes)
{
    char text[8 * LONG], want[LONG + 2];
    make_names();
    snprintf(text, sizeof text,
             "graph {\n  %%x = input \"x\" f32[64,64]\n  %%%s = exp(%%x)\n  %%%s = neg(%%%s)\n"
             "  return %%%s\n}\n",
             one, other, one, other);
    open_text(text, NULL);
    tern_fusion_info fusion = {0};
    CHECK_OK(tern_program_fusion(program, 0, &fusion));
    CHECK_EQ(fusion.n_nodes, 2);
    snprintf(want, sizeof want, "%%%s", one);
    CHECK_STR(fusion.nodes[0], want);
    snprintf(want, sizeof want, "%%%s", other);
    CHECK_STR(fusion.nodes[1], want);
    close_all();

    snprintf(text, sizeof text,
             "graph {\n  %%x = input \"x\" f32[4]\n  %%%s = exp(%%x)\n  %%%s = exp(%%x)\n"
             "  %%y = add(%%%s, %%%s)\n  return %%y\n}\n",
             one, other, one, other);
    open_text(text, NULL);
    tern_pass_report pass = {0};
    for (int i = 0; tern_program_pass(program, i, &pass) == TERN_OK && strcmp(pass.name, "cse") != 0;)
        i++;
    if (pass.n_notes == 1) {
        CHECK(strstr(pass.notes[0], one) != NULL);
        CHECK(strstr(pass.notes[0], other) != NULL);
    } else {
        harness_fail(__FILE__, __LINE__, "cse made %d notes", pass.n_notes);
    }
    close_all();
}

TEST(a_fused_step_names_all_its_ops)
{
    enum { OPS = 20 };
    char text[1024];
    int used = snprintf(text, sizeof text, "graph {\n  %%v0 = input \"x\" f32[64,64]\n");
    for (int i = 1; i <= OPS; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "  %%v%d = %s(%%v%d)\n", i,
                         i % 2 ? "sigmoid" : "square", i - 1);
    snprintf(text + used, sizeof text - (size_t)used, "  return %%v%d\n}\n", OPS);
    open_text(text, NULL);
    tern_step_info step = {0};
    CHECK_OK(tern_program_step(program, 0, &step));
    CHECK_STR(step.op, "fused");
    CHECK(step.row_program && !step.reference);
    CHECK_EQ(step.n_ops, OPS);
    for (int i = 0; i < step.n_ops; i++)
        CHECK_STR(step.ops[i], i % 2 ? "square" : "sigmoid");
    close_all();
}

TEST(a_step_of_one_op_names_it)
{
    open_text("graph {\n  %x = input \"x\" i64[4]\n  %y = prod(%x) {axes=[0]}\n  return %y\n}\n", NULL);
    tern_step_info step = {0};
    CHECK_OK(tern_program_step(program, 0, &step));
    CHECK_EQ(step.n_ops, 1);
    CHECK_STR(step.ops[0], "prod");
    CHECK(step.reference && !step.row_program);
    close_all();
}

static tern_status two_lines(void *user, tern_edit *edit)
{
    tern_edit_note(edit, "%s\n%s", (const char *)user, one);
    return TERN_OK;
}

TEST(a_note_with_two_lines_is_one_note)
{
    tern_custom_pass pass = {.name = "talks", .after = "dce", .run = two_lines, .user = "first"};
    tern_compile_options options = tern_compile_options_default();
    options.n_passes = 1;
    options.passes = &pass;
    make_names();
    open_text("graph {\n  %x = input \"x\" f32[4]\n  %y = exp(%x)\n  return %y\n}\n", &options);
    tern_pass_report report = {0};
    for (int i = 0; tern_program_pass(program, i, &report) == TERN_OK && !report.custom;)
        i++;
    CHECK_EQ(report.n_notes, 1);
    CHECK(report.n_notes == 1 && strncmp(report.notes[0], "first\n", 6) == 0);
    CHECK(report.n_notes == 1 && strcmp(report.notes[0] + 6, one) == 0);
    close_all();
}

/* ---- tuning ---- */

static void check_row(const tern_tune_row *row)
{
    static const char *const ops[] = {"add", "clamp", "exp"};
    CHECK_EQ(row->n_ops, 3);
    for (int i = 0; i < row->n_ops && i < 3; i++)
        CHECK_STR(row->ops[i], ops[i]);
}

static void see(void *user, const tern_tune_row *row, int done, int total)
{
    (void)done;
    (void)total;
    ++*(int *)user;
    check_row(row);
}

TEST(rows_of_tuning_name_their_ops)
{
    open_text("graph {\n  %x = input \"x\" f32[512,512]\n  %a = add(%x, %x)\n"
              "  %b = clamp(%a) {low=-1, high=1}\n  %y = exp(%b)\n  return %y\n}\n",
              NULL);
    int seen = 0;
    tern_tune_options options = {.runs = 1, .progress = see, .user = &seen};
    tern_tune_report *report = NULL;
    CHECK_OK(tern_program_tune(ctx, program, 0, NULL, &options, &report));
    CHECK(seen > 1);
    tern_tune_row row = {0};
    for (int i = 0; tern_tune_report_row(report, i, &row) == TERN_OK; i++)
        check_row(&row);
    tern_tune_report_free(report);
    close_all();
}

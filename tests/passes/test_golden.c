/* test_golden.c - golden tests of passes: tests/golden/passes/<pass>-<case>.in.tern is parsed, the pass runs alone, and
 * what it leaves is compared with <pass>-<case>.out.tern. The first line of the input says how often the pass acts:
 *
 *     # changes: 1
 *
 * and 0 is a case in which it must not. `# precision: bf16` and `# pattern: mul_into_add` are options of the compilation. Passes that work on the plan leave
 * the nodes in running order, and behind the graph, as comments, what they planned. Both texts are then run, unoptimised, with
 * inputs full of special values: whatever a pass does, not a bit may change (but for precision, which is asked for).
 * TERN_GOLDEN_UPDATE=1 rewrites the .out files. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "harness.h"
#include "one_pass.h"
#include "random_graph.h"
#include "tensor/convert.h"

enum { MOST_CASES = 512, NAME = 128, MOST_OUTPUTS = 16 };

typedef struct golden {
    char name[NAME]; /* "simplify-add_zero" */
    char pass[NAME];
} golden;

static const char *golden_dir(void)
{
    static char dir[1024];
    const char *root = getenv("TERN_SOURCE_DIR");
    if (root)
        snprintf(dir, sizeof dir, "%s/tests/golden/passes", root);
    else /* run by hand: beside this file */
        snprintf(dir, sizeof dir, "%.*s/../golden/passes", (int)(strrchr(__FILE__, '/') - __FILE__),
                 __FILE__);
    return dir;
}

static char *read_file(const char *name, const char *ending)
{
    enum { MOST = 1 << 20 };
    char path[1536];
    snprintf(path, sizeof path, "%s/%s%s", golden_dir(), name, ending);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = calloc(1, MOST);
    size_t length = text ? fread(text, 1, MOST - 1, file) : 0;
    (void)length;
    fclose(file);
    return text;
}

static bool write_file(const char *name, const char *ending, const char *text)
{
    char path[1536];
    snprintf(path, sizeof path, "%s/%s%s", golden_dir(), name, ending);
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const golden *)a)->name, ((const golden *)b)->name);
}

static int list_cases(golden *cases)
{
    DIR *dir = opendir(golden_dir());
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir)) && n < MOST_CASES;) {
        const char *end = strstr(e->d_name, ".in.tern"), *dash = strchr(e->d_name, '-');
        if (!end || !dash || dash > end)
            continue;
        snprintf(cases[n].name, NAME, "%.*s", (int)(end - e->d_name), e->d_name);
        snprintf(cases[n++].pass, NAME, "%.*s", (int)(dash - e->d_name), e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(cases, (size_t)n, sizeof *cases, by_name);
    return n;
}

/* ---- running both sides ---- */

/* Elements of an input: the special values in turn, then random ones. */
static void fill(const tern__type *type, uint64_t seed, char *data)
{
    static const double special[] = {0.0,    -0.0,  1,    -1,    2,    0.5,      -2.5,      3.5, 1e-42,
                                     -1e-42, 65504, 3e38, -3e38, 1e-8, INFINITY, -INFINITY, NAN, 127};
    const int64_t n_special = (int64_t)(sizeof special / sizeof special[0]);
    random_state r = {seed};
    random_fill(&r, type, true, data);
    if (tern__dtype_is_packed(type->dtype))
        return;
    for (int64_t i = 0; i < tern__type_numel(type) && i < n_special; i++) {
        double value = special[(i + (int64_t)seed) % n_special];
        tern__convert(TERN_F64, &value, 0, type->dtype,
                      data + i * (int64_t)tern__dtype_unit_bytes(type->dtype), 0, 1);
    }
}

static tern_status run_text(tern_ctx *ctx, const char *text, int *n, tern_tensor **outputs)
{
    static char data[1 << 16];
    tern_graph *graph;
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    tern_tensor *inputs[16];
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_NONE;
    TERN_TRY(tern_graph_parse(ctx, text, strlen(text), &graph));
    tern_status status = tern_graph_compile(ctx, graph, &options, &program);
    tern_graph_free(graph);
    tern_program_info info = {0};
    tern_program_get_info(program, &info);
    for (int i = 0; status == TERN_OK && i < info.n_inputs; i++) {
        tern_port port;
        tern__type type;
        status = tern_program_input(program, i, &port);
        if (status == TERN_OK)
            status = tern__type_make("golden", port.dtype, port.rank, port.shape, &type);
        if (status != TERN_OK || i == 16 || tern__type_bytes(&type) > sizeof data)
            break;
        fill(&type, (uint64_t)i, data);
        inputs[i] = tern_from_data(ctx, type.dtype, type.rank, type.shape, data);
    }
    if (status == TERN_OK)
        status = tern_exec_create(ctx, program, &exec);
    *n = status == TERN_OK ? info.n_outputs : 0;
    if (status == TERN_OK && *n > MOST_OUTPUTS)
        status = TERN_LIMIT;
    if (status == TERN_OK)
        status = tern_exec_run(exec, info.n_inputs, inputs, *n, outputs);
    for (int i = 0; status == TERN_OK && i < *n; i++) /* what lies in a state goes with the exec */
        status = tern_eval(outputs[i] = tern_contiguous(outputs[i]));
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

/* Bit for bit, but for what kind of NaN it is. */
static bool same_elements(tern_tensor *a, tern_tensor *b)
{
    const char *x = tern_data(a), *y = tern_data(b);
    tern_dtype dtype = tern_dtype_of(a);
    size_t unit = tern__dtype_unit_bytes(dtype);
    if (dtype != tern_dtype_of(b) || tern_nbytes(a) != tern_nbytes(b) || !x || !y)
        return false;
    for (size_t i = 0; i < tern_nbytes(a); i += unit) {
        double p = 0, q = 0;
        if (memcmp(x + i, y + i, unit) == 0)
            continue;
        if (!tern__dtype_is_float(dtype))
            return false;
        tern__convert(dtype, x + i, 0, TERN_F64, &p, 0, 1);
        tern__convert(dtype, y + i, 0, TERN_F64, &q, 0, 1);
        if (p == p || q == q)
            return false;
    }
    return true;
}

static void check_same_results(tern_ctx *ctx, const char *name, const char *in, const char *out)
{
    tern_tensor *before[MOST_OUTPUTS], *after[MOST_OUTPUTS];
    int n_before, n_after;
    CHECK_OK(run_text(ctx, in, &n_before, before));
    CHECK_OK(run_text(ctx, out, &n_after, after));
    CHECK_EQ(n_before, n_after);
    for (int i = 0; i < n_before; i++)
        if (!same_elements(before[i], after[i]))
            harness_fail(__FILE__, __LINE__, "%s: output %d has other bits after the pass", name, i);
}

/* ---- the cases ---- */

/* The word behind `key` in the comments of a case, or `otherwise`. */
static const char *word_of(const char *text, const char *key, const char *otherwise, char word[NAME])
{
    const char *at = strstr(text, key);
    return at && sscanf(at + strlen(key), "%127s", word) == 1 ? word : otherwise;
}

/* A pattern as callers write them: a product and the addition that reads it become one step. */
static tern_match mul_into_add(void *user, tern_edit *edit, tern_node node)
{
    (void)user;
    tern_node_info add, mul;
    tern_value_info operand;
    tern_node made;
    if (tern_graph_node(tern_edit_graph(edit), node, &add) != TERN_OK ||
        tern_graph_value(tern_edit_graph(edit), add.operands[0], &operand) != TERN_OK ||
        tern_graph_node(tern_edit_graph(edit), operand.node, &mul) != TERN_OK)
        return TERN_MATCH_FAILED;
    if (strcmp(mul.op, "mul") != 0 || tern_edit_uses(edit, add.operands[0]) != 1)
        return TERN_MATCH_NONE;
    const tern_status status = tern_edit_fuse(edit, 2, (tern_node[]){operand.node, node}, &made);
    return status == TERN_OK ? TERN_MATCH_FUSED : TERN_MATCH_FAILED;
}

static const tern_fusion_pattern patterns[] = {{.name = "mul_into_add", .op = "add", .fuse = mul_into_add}};

static void options_of(const char *text, tern_compile_options *out)
{
    char word[NAME];
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_HIGH;
    CHECK_OK(tern_precision_parse(word_of(text, "# precision: ", "exact", word), &options.precision));
    const char *pattern = word_of(text, "# pattern: ", NULL, word);
    for (size_t i = 0; pattern && i < sizeof patterns / sizeof patterns[0]; i++)
        if (strcmp(patterns[i].name, pattern) == 0) {
            options.n_patterns = 1;
            options.patterns = &patterns[i];
        }
    CHECK(!pattern || options.n_patterns == 1);
    *out = options;
}

static bool is_optional(const char *name)
{
    tern_pass_info pass;
    for (int i = 0; tern_catalog_pass(i, &pass) == TERN_OK; i++)
        if (strcmp(pass.name, name) == 0)
            return pass.optional;
    return false;
}

/* The graph, and what there is of a plan. */
static char *print_both(const tern_graph *graph, const char *plan)
{
    char *text;
    if (tern_graph_print(graph, &text) != TERN_OK)
        return NULL;
    size_t length = strlen(text), more = strlen(plan) + 1;
    char *both = malloc(length + more);
    if (both) {
        memcpy(both, text, length);
        memcpy(both + length, plan, more);
    }
    tern_string_free(text);
    return both;
}

static void check_notes(const golden *g, const one_result *result, unsigned expected)
{
    unsigned lines = 0;
    for (const char *c = result->notes; *c; c++)
        lines += *c == '\n';
    if (result->changes != expected)
        harness_fail(__FILE__, __LINE__, "%s: %u changes instead of %u: %s", g->name, result->changes,
                     expected, result->notes);
    /* These say also why they did not pack, fuse or fold. */
    const bool excuses =
        strcmp(g->pass, "layout") == 0 || strcmp(g->pass, "fuse") == 0 || strcmp(g->pass, "fold") == 0;
    if (is_optional(g->pass) && (lines > 0) != (result->changes > 0) && !(excuses && lines > 0))
        harness_fail(__FILE__, __LINE__, "%s: %u changes, but %u lines say why", g->name, result->changes,
                     lines);
}

static void check_case(tern_ctx *ctx, const golden *g)
{
    tern_graph *graph;
    char *in = read_file(g->name, ".in.tern"), *out = read_file(g->name, ".out.tern");
    unsigned expected;
    one_result result;
    CHECK(in && sscanf(in, "# changes: %u", &expected) == 1);
    CHECK_OK(tern_graph_parse(ctx, in, strlen(in), &graph));
    tern_compile_options options;
    options_of(in, &options);
    CHECK_OK(one_pass(ctx, g->pass, &options, graph, &result));
    char *printed = print_both(graph, result.plan);
    CHECK(printed);
    check_notes(g, &result, expected);
    if (getenv("TERN_GOLDEN_UPDATE"))
        CHECK(write_file(g->name, ".out.tern", printed));
    else if (!out || strcmp(out, printed) != 0)
        harness_fail(__FILE__, __LINE__, "%s: expected:\n%sgot:\n%s", g->name, out ? out : "no file\n",
                     printed);
    tern_scope_open(ctx);
    if (options.precision == TERN_PRECISION_EXACT)
        check_same_results(ctx, g->name, in, printed);
    tern_scope_close(ctx);
    tern_graph_free(graph);
    one_result_free(&result);
    free(printed);
    free(in);
    free(out);
}

static golden cases[MOST_CASES];

/* What constants are packed into and which kernels run: every machine has the baseline. */
static bool depends_on_machine(const char *pass)
{
    return strcmp(pass, "layout") == 0 || strcmp(pass, "select") == 0 || strcmp(pass, "memory") == 0;
}

TEST(passes_turn_golden_inputs_into_golden_outputs)
{
    tern_ctx *ctx;
    int n = list_cases(cases);
    CHECK(n > 0);
    tern_ctx *baseline;
    tern_ctx_options options = tern_ctx_options_default();
    options.cpu = "baseline";
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(tern_ctx_create(&options, &baseline));
    for (int i = 0; i < n; i++)
        check_case(depends_on_machine(cases[i].pass) ? baseline : ctx, &cases[i]);
    tern_ctx_destroy(ctx);
    tern_ctx_destroy(baseline);
}

/* Every pass has a case in which it acts and one in which it must not; those that make the plan always act, and say so in
 * none. */
TEST(every_pass_acts_and_refrains)
{
    int n = list_cases(cases);
    tern_pass_info pass;
    for (int p = 0; tern_catalog_pass(p, &pass) == TERN_OK; p++) {
        int acts = !pass.optional, refrains = 0;
        for (int i = 0; i < n; i++) {
            unsigned expected = 0;
            char *in = strcmp(cases[i].pass, pass.name) == 0 ? read_file(cases[i].name, ".in.tern") : NULL;
            if (in && sscanf(in, "# changes: %u", &expected) == 1) {
                acts += expected > 0;
                refrains += expected == 0;
            }
            free(in);
        }
        if (!acts || !refrains)
            harness_fail(__FILE__, __LINE__, "%s: %d cases in which it acts, %d in which it must not",
                         pass.name, acts, refrains);
    }
}

/* Every rule fires in the case that has its name; in the same case stands something close that it must leave alone, and
 * so more nodes remain than rules have fired on. */
TEST(every_simplification_has_its_case)
{
    static const char *const rules[] = {
#define TERN_RULE(name, op, pattern, text) #name,
#include "passes/simplify.def"
#undef TERN_RULE
    };
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        char name[NAME], fired[NAME];
        tern_graph *graph;
        one_result result;
        snprintf(name, sizeof name, "simplify-%s", rules[r]);
        snprintf(fired, sizeof fired, "%s at ", rules[r]);
        char *in = read_file(name, ".in.tern");
        if (!in) {
            harness_fail(__FILE__, __LINE__, "%s.in.tern is missing", name);
            continue;
        }
        CHECK_OK(tern_graph_parse(ctx, in, strlen(in), &graph));
        tern_compile_options options;
        options_of(in, &options);
        CHECK_OK(one_pass(ctx, "simplify", &options, graph, &result));
        if (!strstr(result.notes, fired))
            harness_fail(__FILE__, __LINE__, "%s did not fire in its case", rules[r]);
        if (!strstr(in, "# not"))
            harness_fail(__FILE__, __LINE__, "%s has no statement that it must leave alone", rules[r]);
        tern_graph_free(graph);
        one_result_free(&result);
        free(in);
    }
    tern_ctx_destroy(ctx);
}

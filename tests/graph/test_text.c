/* test_text.c - the text form: what is printed parses back to the same graph, for every op, leaf and number. */
#include <locale.h>
#include <math.h>

#include <tern/alloc.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "comma.h"
#include "graph/text.h"
#include "harness.h"
#include "tensor/half.h"
#include "text_util.h"

/* ---- golden files: canonical text is its own print -------------------------------------------------------------- */

static void check_golden(const char *name)
{
    size_t length;
    char *text = golden_read(name, &length), *printed = NULL, *again = NULL;
    CHECK(text != NULL);
    tern_graph *g = NULL, *h = NULL;
    CHECK_OK(parse_exactly(NULL, text, length, &g));
    CHECK_OK(tern_graph_verify(g));
    CHECK_OK(tern_graph_print(g, &printed));
    CHECK_STR(printed, text);
    CHECK_OK(parse_exactly(NULL, printed, strlen(printed), &h));
    CHECK(tern__graph_equal(g, h, true));
    CHECK_OK(tern_graph_print(h, &again));
    CHECK_STR(again, text);
    tern_graph_free(g);
    tern_graph_free(h);
    tern_string_free(printed);
    tern_string_free(again);
    free(text);
}

TEST(golden_mlp)
{
    check_golden("mlp.tern");
}
TEST(golden_leaves)
{
    check_golden("leaves.tern");
}
TEST(golden_attention)
{
    check_golden("attention.tern");
}
TEST(golden_shapes)
{
    check_golden("shapes.tern");
}

static void check_prints(const char *text, const char *want)
{
    tern_graph *g;
    char *printed;
    CHECK_OK(parse_text(text, &g));
    CHECK_OK(tern_graph_print(g, &printed));
    CHECK_STR(printed, want);
    tern_string_free(printed);
    tern_graph_free(g);
}

TEST(what_is_written_otherwise_prints_canonically)
{
    check_prints("graph{%x=input\"x\"f32[2]return%x}",
                 "graph {\n  %x = input \"x\" f32[2]\n  return %x\n}\n");
    check_prints("# before\n graph # name\n g { # one\r\n %07 = input f32[ 2 , 3 ] # two\n"
                 "%z.1_ = sum ( %07 ) { keepdims = false  axes = [ 1 ] }\n return %z.1_ as \"\\x41\\\"\" , "
                 "%07 } # end",
                 "graph g {\n  %0 = input f32[2,3]\n  %z.1_ = sum(%0) {axes=[1]} : f32[2]\n"
                 "  return %z.1_ as \"A\\\"\", %0\n}\n");
    /* an output called by its number needs no name; another number does */
    check_prints("graph { %5 = input f32[] return %5 as \"0\", %5 as \"2\" }",
                 "graph {\n  %0 = input f32[]\n  return %0, %0 as \"2\"\n}\n");
    /* a graph that only updates state */
    check_prints("graph {%s = state \"s\" f32[2] return }",
                 "graph {\n  %s = state \"s\" f32[2]\n  return\n}\n");
}

/* docs/graph-text.md shows a text first; it must be one. */
TEST(the_documented_example_parses)
{
    size_t length;
    char *page = golden_read("../../docs/graph-text.md", &length);
    CHECK(page != NULL);
    char *start = strstr(page, "```\ngraph ");
    CHECK(start != NULL);
    start += 4;
    tern_graph *g;
    CHECK_OK(parse_exactly(NULL, start, (size_t)(strstr(start, "```") - start), &g));
    CHECK_EQ(g->n_nodes, 7);
    tern_graph_free(g);
    free(page);
}

/* Values without a name are numbered; leaves lend theirs where nobody has it. */
TEST(values_get_labels)
{
    tern_graph *g;
    char *printed;
    CHECK_OK(tern__graph_new(&g));
    tern__type type = {.dtype = TERN_F32, .rank = 0};
    const char *names[] = {"x", "not an identifier", NULL, "y"};
    tern__id value, y, sum;
    for (int i = 0; i < 4; i++)
        CHECK_OK(tern__graph_add_leaf(g, TERN__OP_input, names[i], &type, NULL, NULL, &value));
    CHECK_OK(tern__graph_add(g, TERN__OP_neg, 1, &value, NULL, 1, &type, &y));
    CHECK_OK(tern__graph_add(g, TERN__OP_add, 2, (tern__id[]){y, value}, NULL, 1, &type, &sum));
    g->values[y].name = "y"; /* which the last leaf cannot have then */
    CHECK_OK(tern__graph_add_output(g, sum, NULL));
    CHECK_OK(tern_graph_verify(g));
    CHECK_OK(tern_graph_print(g, &printed));
    CHECK_STR(printed, "graph {\n"
                       "  %x = input \"x\" f32[]\n"
                       "  %0 = input \"not an identifier\" f32[]\n"
                       "  %1 = input f32[]\n"
                       "  %2 = input \"y\" f32[]\n"
                       "  %y = neg(%2) : f32[]\n"
                       "  %3 = add(%y, %2) : f32[]\n"
                       "  return %3\n"
                       "}\n");
    tern_string_free(printed);
    tern_graph_free(g);
}

TEST(a_view_of_a_storage_prints_its_own_elements)
{
    static float numbers[6] = {1, 2, 3, 4, 5, 6};
    static uint8_t packed[2] = {0x24, 0x12}; /* -1 0 1 -1 / 1 -1 0 -1 */
    tern__storage *floats, *trits;
    CHECK_OK(tern__storage_borrow(numbers, sizeof numbers, true, NULL, NULL, &floats));
    CHECK_OK(tern__storage_borrow(packed, sizeof packed, true, NULL, NULL, &trits));
    tern_graph *g;
    char *printed;
    tern__id value;
    CHECK_OK(tern__graph_new(&g));
    tern__type type = {.dtype = TERN_F32, .rank = 2, .shape = {3, 2}};
    tern__layout turned = {.offset = 2, .strides = {-1, 3}};
    CHECK_OK(tern__graph_add_leaf(g, TERN__OP_constant, NULL, &type, floats, &turned, &value));
    type = (tern__type){.dtype = TERN_T2, .rank = 2, .shape = {2, 4}};
    tern__layout upwards = {.offset = 1, .strides = {-1, 1}};
    CHECK_OK(tern__graph_add_leaf(g, TERN__OP_constant, NULL, &type, trits, &upwards, &value));
    CHECK_OK(tern_graph_verify(g));
    CHECK_OK(tern_graph_print(g, &printed));
    CHECK_STR(printed, "graph {\n"
                       "  %0 = constant f32[3,2] {3, 6, 2, 5, 1, 4}\n"
                       "  %1 = constant t2[2,4] {1, -1, 0, -1, -1, 0, 1, -1}\n"
                       "  return\n"
                       "}\n");
    tern_string_free(printed);
    tern_graph_free(g);
    tern__storage_release(floats);
    tern__storage_release(trits);
}

TEST(only_small_leaves_print_their_data)
{
    for (int64_t n = TERN__MAX_PRINTED; n <= TERN__MAX_PRINTED + 1; n++) {
        tern_graph *g;
        char *printed;
        tern__id value;
        tern__storage *storage;
        tern__type type = {.dtype = TERN_U8, .rank = 1, .shape = {n}};
        CHECK_OK(tern__graph_new(&g));
        CHECK_OK(tern__storage_create(NULL, (size_t)n, 0, &storage));
        memset(storage->host, 7, (size_t)n);
        CHECK_OK(tern__graph_add_leaf(g, TERN__OP_constant, NULL, &type, storage, NULL, &value));
        CHECK_OK(tern_graph_print(g, &printed));
        CHECK_EQ(strchr(printed + 8, '{') != NULL, n == TERN__MAX_PRINTED);
        tern_string_free(printed);
        tern_graph_free(g);
        tern__storage_release(storage);
    }
}

TEST(constants_live_in_the_context_s_pool)
{
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_pool_stats before, during, after;
    tern_pool_get_stats(tern_ctx_pool(ctx), &before);
    size_t length;
    char *text = golden_read("leaves.tern", &length);
    CHECK(text != NULL);
    tern_graph *g;
    CHECK_OK(parse_exactly(ctx, text, length, &g));
    tern_pool_get_stats(tern_ctx_pool(ctx), &during);
    CHECK_EQ(during.allocations - before.allocations, 16); /* leaves with data */
    CHECK_EQ((uintptr_t)g->leaves[3].storage->host % TERN__ALIGN, 0);
    tern_graph_free(g);
    tern_pool_get_stats(tern_ctx_pool(ctx), &after);
    CHECK_EQ(after.current_bytes, before.current_bytes);
    tern_ctx_destroy(ctx);
    free(text);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static bool comes_back(tern_dtype dtype, double value)
{
    char text[TERN__NUMBER_TEXT];
    double back = 0;
    bool overflow;
    tern__number_text(dtype, value, text);
    if (!tern__number_read_float(dtype, text, strlen(text), &back, &overflow))
        return false;
    return isnan(value) ? isnan(back) : memcmp(&back, &value, sizeof back) == 0;
}

TEST(every_half_reads_back)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        CHECK(comes_back(TERN_F16, (double)tern__f16_to_f32((uint16_t)bits)));
        CHECK(comes_back(TERN_BF16, (double)tern__bf16_to_f32((uint16_t)bits)));
    }
}

TEST(random_floats_read_back)
{
    uint64_t seed = harness_seed();
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t bits = tern__hash_mix(seed, i);
        double value;
        memcpy(&value, &bits, sizeof value);
        CHECK(comes_back(TERN_F64, value));
        CHECK(comes_back(TERN_F32, (double)tern__f32_from_bits((uint32_t)bits)));
    }
}

TEST(numbers_are_short)
{
    static const struct {
        tern_dtype dtype;
        double value;
        const char *text;
    } cases[] = {
        {TERN_F64, 0.0, "0"},
        {TERN_F64, -0.0, "-0"},
        {TERN_F64, 0.1, "0.1"},
        {TERN_F64, 1e-5, "1e-5"},
        {TERN_F64, 1e-4, "0.0001"},
        {TERN_F64, 10000, "10000"},
        {TERN_F64, 1e15, "1000000000000000"},
        {TERN_F64, 1e16, "1e16"},
        {TERN_F64, 123.456, "123.456"},
        {TERN_F64, -1.25e-7, "-1.25e-7"},
        {TERN_F64, 1.0 / 3, "0.3333333333333333"},
        {TERN_F32, (double)0.1f, "0.1"},
        {TERN_F32, (double)16777216.0f, "16777216"},
        {TERN_F32, (double)3.4028235e38f, "3.4028235e38"},
        {TERN_F64, INFINITY, "inf"},
        {TERN_F64, -INFINITY, "-inf"},
        {TERN_F64, NAN, "nan"},
        {TERN_F64, -NAN, "nan"},
    };
    char text[TERN__NUMBER_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_STR(tern__number_text(cases[i].dtype, cases[i].value, text), cases[i].text);
}

TEST(numbers_ignore_the_locale)
{
    if (!begin_comma())
        SKIP(NO_COMMA);
    char text[TERN__NUMBER_TEXT];
    bool fine = strcmp(tern__number_text(TERN_F64, 1.5, text), "1.5") == 0 && comes_back(TERN_F64, 0.1);
    setlocale(LC_NUMERIC, "C");
    CHECK(fine);
}

/* ---- attributes alone, as tern_apply takes them ------------------------------------------------------------------ */

TEST(attributes_parse_alone)
{
    tern__arena arena;
    tern__arena_init(&arena, 0);
    tern__attr attrs[TERN__MAX_ATTRS];
    const tern__op *sum = &tern__ops[TERN__OP_sum], *rope = &tern__ops[TERN__OP_rope];
    static const char *const forms[] = {"axes=[0,1] keepdims=true", "keepdims=true, axes=[0,1]",
                                        " keepdims = true\taxes = [ 0 , 1 ] # both"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        CHECK_OK(tern__attrs_parse(&arena, sum, forms[i], strlen(forms[i]), attrs));
        CHECK_EQ(attrs[0].count, 2);
        CHECK_EQ(attrs[0].ints[1], 1);
        CHECK_EQ(attrs[1].i, 1);
    }
    CHECK_OK(tern__attrs_parse(&arena, sum, NULL, 0, attrs));
    CHECK_EQ(attrs[0].count, 0);
    CHECK_EQ(attrs[1].i, 0);
    CHECK_OK(tern__attrs_parse(&arena, rope, "theta=1e6", 9, attrs));
    CHECK(attrs[0].f == 1e6 && attrs[1].i == 0 && attrs[2].i == 0);
    tern__arena_free(&arena);
}

TEST(bad_attributes_say_what_there_is)
{
    static const struct {
        tern__opcode op;
        const char *text, *message;
    } cases[] = {
        {TERN__OP_sum, "axis=1",
         "sum: attributes, column 1: unknown attribute 'axis': sum has axes, keepdims"},
        {TERN__OP_relu, "axis=1",
         "relu: attributes, column 1: unknown attribute 'axis': relu has no attributes"},
        {TERN__OP_sum, "keepdims=true keepdims=true",
         "sum: attributes, column 15: attribute 'keepdims' is given twice"},
        {TERN__OP_sum, "keepdims=1", "sum: attributes, column 10: expected true or false but found '1'"},
        {TERN__OP_sum, "axes=1", "sum: attributes, column 6: expected '[' but found '1'"},
        {TERN__OP_sum, "axes=[1", "sum: attributes, column 8: expected ']' but the text ends"},
        {TERN__OP_sum, "axes", "sum: attributes, column 5: expected '=' but the text ends"},
        {TERN__OP_sum, "keepdims=true,",
         "sum: attributes, column 15: expected an attribute such as axis=1 but the text ends"},
        {TERN__OP_sum, ",", "sum: attributes, column 1: expected an attribute such as axis=1 but found ','"},
        {TERN__OP_rope, "theta=1e999", "rope: attributes, column 7: 1e999 does not fit in 64 bits"},
        {TERN__OP_rope, "theta=\"1\"", "rope: attributes, column 7: expected a number but found '\"1\"'"},
        {TERN__OP_rope, "dims=1.5",
         "rope: attributes, column 6: expected a whole number but found '1.5', which is no whole number"},
        {TERN__OP_cast, "dtype=f31",
         "cast: attributes, column 7: no dtype is called 'f31'; known: bool u8 i8 i32 i64 f16 bf16 f32 f64 "
         "t2 t5 q8_0 q6_k q4_0 q4_k"},
        {TERN__OP_to_device, "device=cpu",
         "to_device: attributes, column 8: expected a text in quotes but found 'cpu'"},
    };
    tern__arena arena;
    tern__arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tern__attr attrs[TERN__MAX_ATTRS];
        CHECK(tern__attrs_parse(&arena, &tern__ops[cases[i].op], cases[i].text, strlen(cases[i].text),
                                attrs) != TERN_OK);
        CHECK_STR(tern_last_error(), cases[i].message);
    }
    tern__arena_free(&arena);
}

/* ---- any op: random calls that its row accepts ------------------------------------------------------------------- */

typedef struct dice {
    uint64_t state;
} dice;

static uint32_t roll(dice *d, uint32_t below)
{
    d->state = tern__hash_mix(d->state, 0x9e3779b97f4a7c15u);
    return (uint32_t)((d->state >> 32) % below);
}

/* Few sizes and types, so that operands fit together often. */
static tern__type random_type(dice *d)
{
    static const tern_dtype dtypes[] = {TERN_F32, TERN_F32, TERN_F32,  TERN_I32,
                                        TERN_I64, TERN_I8,  TERN_BOOL, TERN_T2};
    static const int64_t sizes[] = {2, 2, 2, 4, 1, 3};
    tern__type type = {.dtype = dtypes[roll(d, 8)], .rank = (int)roll(d, 5)};
    for (int i = 0; i < type.rank; i++)
        type.shape[i] = sizes[roll(d, 6)];
    return type;
}

static void random_attr(dice *d, const tern__attr_spec *spec, tern__attr *attr, int64_t *ints, uint32_t count)
{
    static const double floats[] = {0, -0.0, 1, -2.5, 1e-7, 1e30, INFINITY, -INFINITY, NAN, 0.1};
    static char text[] = "cpu";
    if (spec->kind != TERN__ATTR_INTS && roll(d, 3) == 0)
        return; /* the default */
    switch (spec->kind) {
    case TERN__ATTR_INT:
        attr->i = (int64_t)roll(d, 5) - 1;
        break;
    case TERN__ATTR_FLOAT:
        attr->f = floats[roll(d, 10)];
        break;
    case TERN__ATTR_BOOL:
        attr->i = roll(d, 2);
        break;
    case TERN__ATTR_DTYPE:
        attr->i = roll(d, TERN_DTYPE_COUNT);
        break;
    case TERN__ATTR_TEXT:
        *attr = (tern__attr){.text = text, .count = 3};
        break;
    case TERN__ATTR_BODY: /* test_region.c */
        break;
    case TERN__ATTR_INTS:
        for (uint32_t i = 0; i < count; i++)
            ints[i] = (int64_t)roll(d, 4) - (roll(d, 8) == 0);
        *attr = (tern__attr){.ints = ints, .count = count};
        break;
    }
}

/* A random call of `op` with operands that are inputs; false if its row refuses it. */
static bool random_call(dice *d, const tern__op *op, tern_graph *g)
{
    enum { MOST = 8 };
    tern__type in[MOST], out[MOST];
    const tern__type *in_pointers[MOST];
    tern_dtype casts[MOST];
    tern__attr attrs[TERN__MAX_ATTRS];
    int64_t ints[TERN__MAX_ATTRS][4];
    int most = op->max_in < 0 ? 3 : op->max_in;
    tern__call call = {.op = op,
                       .n_in = op->min_in + (int)roll(d, (uint32_t)(most - op->min_in + 1)),
                       .in = in_pointers,
                       .out = out,
                       .attrs = attrs};
    for (int i = 0; i < call.n_in; i++) {
        in[i] = i > 0 && roll(d, 2) ? in[i - 1] : random_type(d);
        in_pointers[i] = &in[i];
    }
    uint32_t count = roll(d, 5);
    tern__op_default_attrs(op, attrs);
    for (int i = 0; i < op->n_attrs; i++)
        random_attr(d, &op->attrs[i], &attrs[i], ints[i], count);
    call.n_out = tern__op_results(op, attrs);
    if (tern__op_infer(&call, casts) != TERN_OK)
        return false;
    tern__id ids[MOST], result;
    for (int i = 0; i < call.n_in; i++) {
        if (tern__graph_add_leaf(g, TERN__OP_input, NULL, &in[i], NULL, NULL, &ids[i]) != TERN_OK)
            return false;
        if (casts[i] == in[i].dtype)
            continue;
        tern__type wanted = in[i];
        wanted.dtype = casts[i];
        tern__attr cast_to = {.i = casts[i]};
        if (tern__graph_add(g, TERN__OP_cast, 1, &ids[i], &cast_to, 1, &wanted, &ids[i]) != TERN_OK)
            return false;
    }
    if (op->flags & TERN__LEAF)
        return tern__graph_add_leaf(g, tern__op_code(op), "leaf", &out[0], NULL, NULL, &result) == TERN_OK;
    return tern__graph_add(g, tern__op_code(op), (uint32_t)call.n_in, ids, attrs, (uint32_t)call.n_out, out,
                           &result) == TERN_OK;
}

/* A NaN attribute comes back as a NaN, though perhaps not the same one; the rest must be equal bit for bit. */
static void check_round_trip(tern_graph *g)
{
    tern_graph *h;
    char *text, *again;
    CHECK_OK(tern_graph_verify(g));
    CHECK_OK(tern_graph_print(g, &text));
    CHECK_OK(parse_text(text, &h));
    CHECK(tern__graph_equal(g, h, true));
    CHECK_OK(tern_graph_print(h, &again));
    CHECK_STR(again, text);
    tern_string_free(text);
    tern_string_free(again);
    tern_graph_free(h);
}

TEST(any_op_reads_back)
{
    dice d = {harness_seed()};
    int covered = 0;
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        int found = 0;
        for (int attempt = 0; attempt < 4000 && found < 5; attempt++) {
            tern_graph *g;
            CHECK_OK(tern__graph_new(&g));
            if (random_call(&d, &tern__ops[i], g)) {
                found++;
                check_round_trip(g);
                if (harness_failed())
                    return;
            }
            tern_graph_free(g);
        }
        covered += found > 0;
        if (found == 0)
            printf("  no random call of %s was accepted\n", tern__ops[i].name);
    }
    CHECK(covered >= TERN__OP_COUNT - 6); /* attention and the like want operands that chance seldom gives */
}

/* ---- size ------------------------------------------------------------------------------------------------------- */

/* A chain of `n` nodes, named or numbered. */
static char *long_text(int n, size_t *length)
{
    char *text = malloc((size_t)n * 64 + 256), *at = text;
    at += sprintf(at, "graph long {\n  %%x = input \"x\" f32[4]\n  %%0 = relu(%%x) : f32[4]\n");
    for (int i = 1; i < n; i++)
        at += sprintf(at, "  %%%s%d = add(%%%s%d, %%x) : f32[4]\n", i % 2 ? "v" : "", i, i % 2 ? "" : "v",
                      i - 1);
    at += sprintf(at, "  return %%%s%d\n}\n", n % 2 ? "" : "v", n - 1);
    *length = (size_t)(at - text);
    return text;
}

TEST(long_texts_are_read)
{
    size_t length;
    char *text = long_text(100000, &length);
    tern_graph *g;
    tern_graph_info info;
    CHECK_OK(tern_graph_parse(NULL, text, length, &g));
    tern_graph_get_info(g, &info);
    CHECK_EQ(info.nodes, 100001);
    tern_graph_free(g);
    free(text);
}

TEST(memory_is_a_small_multiple_of_the_text)
{
    tern_alloc_stats before, after;
    size_t length;
    char *text = long_text(20000, &length);
    tern_graph *g;
    tern_alloc_get_stats(&before);
    CHECK_OK(tern_graph_parse(NULL, text, length, &g));
    tern_alloc_get_stats(&after);
    CHECK((after.live_bytes - before.live_bytes) / length < 20);
    tern_graph_free(g);
    tern_alloc_get_stats(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
    free(text);
}

TEST(wide_lists)
{
    enum { N = 50000 };
    char *text = malloc(N * 40), *at = text, *printed;
    at += sprintf(at, "graph {\n  %%x = constant i32[%d] {0", N);
    for (int i = 1; i < N; i++)
        at += sprintf(at, ", %d", i);
    at += sprintf(at, "}\n  ");
    for (int i = 0; i < N; i++)
        at += sprintf(at, "%s%%%d", i ? ", " : "", i);
    at += sprintf(at, " = split(%%x) {sizes=[1");
    for (int i = 1; i < N; i++)
        at += sprintf(at, ",1");
    at += sprintf(at, "]}\n  %%y = concat(%%0");
    for (int i = 1; i < N; i++)
        at += sprintf(at, ", %%%d", i);
    sprintf(at, ") : i32[%d] return %%y }", N);
    tern_graph *g;
    CHECK_OK(parse_text(text, &g));
    CHECK_EQ(g->n_values, N + 2);
    const int32_t *data = g->leaves[0].storage->host;
    CHECK_EQ(data[N - 1], N - 1);
    CHECK_OK(tern_graph_print(g, &printed));
    tern_string_free(printed);
    tern_graph_free(g);
    free(text);
}

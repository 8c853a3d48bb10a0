/* test_op_table.c - the table of operations: every row is sound, can be found, and has what the generated files and
 * the recorder rely on. Inference is tested in test_infer.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/op.h"
#include "harness.h"

/* Words in a space-separated list. */
static int count_words(const char *list)
{
    int n = *list != '\0';
    for (; *list; list++)
        n += *list == ' ';
    return n;
}

static bool is_identifier(const char *name)
{
    return *name >= 'a' && *name <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

TEST(there_are_many_rows_and_each_is_found_by_its_name)
{
    CHECK(TERN__OP_COUNT >= 100);
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        const tern__op *op = &tern__ops[i];
        CHECK(is_identifier(op->name));
        CHECK_EQ(tern__op_code(op), i);
        CHECK(tern__op_find(op->name, strlen(op->name)) == op); /* hence names are unique */
    }
}

TEST(other_names_are_not_found)
{
    static const char *const NAMES[] = {"",     "a",   "ad",        "addd",        "ADD",
                                        "add ", "zzz", "write_row", "write_rows2", "\xff"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        CHECK(!tern__op_find(NAMES[i], strlen(NAMES[i])));
    CHECK(!tern__op_find("add\0", 4));
    CHECK(!tern__op_find("add\0and more text than any name has, by far", 40));
    CHECK(tern__op_find("adder", 3) == &tern__ops[TERN__OP_add]); /* no terminator needed */
}

TEST(the_index_is_sorted)
{
    for (int i = 1; i < TERN__OP_COUNT; i++)
        CHECK(strcmp(tern__ops[tern__op_order[i - 1]].name, tern__ops[tern__op_order[i]].name) < 0);
}

TEST(rows_are_complete)
{
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        const tern__op *op = &tern__ops[i];
        CHECK(op->shape && op->dtype && op->work && op->cost);
        CHECK(op->cost_factor >= 0);
        CHECK(is_identifier(op->shape_name) && is_identifier(op->dtype_name));
        CHECK(is_identifier(op->cost_name) && is_identifier(op->kernel_name));
        CHECK(strlen(op->description) >= 3 && op->description[strlen(op->description) - 1] != '.');
        const bool none = strcmp(op->kernel_name, "none") == 0;
        CHECK((op->flags & TERN__LEAF) == 0 || none);
        CHECK((op->flags & (TERN__LEAF | TERN__INTERNAL)) != 0 ||
              !none); /* those of the compiler: as they like */
    }
}

TEST(counts_agree_with_names)
{
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        const tern__op *op = &tern__ops[i];
        CHECK(op->min_in >= 0 && (op->max_in == -1 || op->max_in >= op->min_in));
        CHECK_EQ(count_words(op->inputs), op->max_in < 0 ? 1 : op->max_in);
        CHECK(op->n_out == -1 || (op->n_out >= 1 && op->n_out <= TERN__MAX_RESULTS_FIXED));
        CHECK_EQ(count_words(op->results), op->n_out < 0 ? 1 : op->n_out);
    }
}

TEST(flags_fit_together)
{
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        const tern__op *op = &tern__ops[i];
        unsigned f = op->flags;
        CHECK_EQ((f & (TERN__LEAF | TERN__SOURCE)) != 0, op->max_in == 0);
        CHECK_EQ((f & TERN__PURE) != 0, !(f & (TERN__LEAF | TERN__WRITES)));
        if (f & TERN__COMMUTATIVE)
            CHECK(op->min_in == 2 && op->max_in == 2);
        if (f & (TERN__VIEW | TERN__ELEMENTWISE | TERN__WRITES))
            CHECK(op->n_out == 1 && op->min_in >= 1);
        /* Regions, and what joins, packs and places products, read operand 0 by rows and operand 1 as weights. */
        if (f & (TERN__PRODUCT | TERN__PACKED))
            CHECK(op->n_out == 1 && op->min_in == 2);
        /* No function records what a target packs: the name says whose form it is, and the flag says so to everybody who asks. */
        if (f & TERN__PACKED)
            CHECK(f & TERN__INTERNAL);
        CHECK_EQ((f & TERN__PACKED) != 0, strncmp(op->name, "packed_", 7) == 0);
    }
}

/* A packed form is a product if what it was made of is one. */
TEST(packed_forms_are_what_they_were_made_of)
{
    int found = 0;
    for (int i = 0; i < TERN__OP_COUNT; i++)
        if (tern__op_is_packed((tern__opcode)i)) {
            const char *plain = tern__ops[i].name + strlen("packed_");
            const tern__op *from = tern__op_find(plain, strlen(plain));
            CHECK(from && tern__op_is_product(tern__op_code(from)) == tern__op_is_product((tern__opcode)i));
            CHECK(from && !tern__op_is_packed(tern__op_code(from)));
            found++;
        }
    CHECK(found >= 4);
}

TEST(attributes_are_sound)
{
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        const tern__op *op = &tern__ops[i];
        bool sizes = false;
        CHECK(op->n_attrs >= 0 && op->n_attrs <= TERN__MAX_ATTRS);
        for (int a = 0; a < op->n_attrs; a++) {
            const tern__attr_spec *spec = &op->attrs[a];
            CHECK(is_identifier(spec->name));
            for (int b = 0; b < a; b++)
                CHECK(strcmp(spec->name, op->attrs[b].name) != 0);
            if (spec->like_previous)
                CHECK(a > 0 && spec->kind == TERN__ATTR_INTS && spec[-1].kind == TERN__ATTR_INTS);
            if (spec->kind == TERN__ATTR_BOOL)
                CHECK(spec->fallback == 0 || spec->fallback == 1);
            if (spec->kind == TERN__ATTR_DTYPE)
                CHECK(spec->fallback >= 0 && spec->fallback < TERN_DTYPE_COUNT);
            sizes = sizes || strcmp(spec->name, "sizes") == 0 || spec->kind == TERN__ATTR_BODY;
        }
        CHECK_EQ(op->n_out == -1, sizes);
        CHECK(!op->attrs[op->n_attrs].name); /* the list is terminated */
    }
}

TEST(defaults_are_those_of_the_rows)
{
    tern__attr attrs[TERN__MAX_ATTRS];
    tern__op_default_attrs(&tern__ops[TERN__OP_clamp], attrs);
    CHECK(isinf(attrs[0].f) && attrs[0].f < 0 && isinf(attrs[1].f) && attrs[1].f > 0);
    tern__op_default_attrs(&tern__ops[TERN__OP_topk], attrs);
    CHECK_EQ(attrs[0].i, 1);
    CHECK_EQ(attrs[1].i, -1);
    CHECK_EQ(attrs[2].i, 1);
    tern__op_default_attrs(&tern__ops[TERN__OP_input], attrs);
    CHECK_STR(attrs[0].text, "");
    CHECK_EQ(attrs[0].count, 0);
    CHECK_EQ(attrs[1].i, TERN_F32);
    CHECK_EQ(attrs[2].count, 0);
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        tern__op_default_attrs(&tern__ops[i], attrs);
        CHECK(tern__attrs_equal(&tern__ops[i], attrs, attrs));
    }
}

TEST(attributes_compare_bit_for_bit)
{
    const tern__op *sum = &tern__ops[TERN__OP_sum], *elu = &tern__ops[TERN__OP_elu];
    const tern__op *to_device = &tern__ops[TERN__OP_to_device];
    int64_t here[] = {0, 1}, there[] = {0, 1}, other[] = {0, 2};
    tern__attr a[2] = {{.ints = here, .count = 2}, {.i = 1}};
    tern__attr b[2] = {{.ints = there, .count = 2}, {.i = 1}};
    CHECK(tern__attrs_equal(sum, a, b));
    b[1].i = 0;
    CHECK(!tern__attrs_equal(sum, a, b));
    b[1].i = 1;
    b[0].ints = other;
    CHECK(!tern__attrs_equal(sum, a, b));
    b[0] = (tern__attr){.ints = here, .count = 1};
    CHECK(!tern__attrs_equal(sum, a, b));

    CHECK(tern__attrs_equal(elu, &(tern__attr){.f = NAN}, &(tern__attr){.f = NAN}));
    CHECK(!tern__attrs_equal(elu, &(tern__attr){.f = 0.0}, &(tern__attr){.f = -0.0}));

    char cpu[] = "cpu";
    CHECK(tern__attrs_equal(to_device, &(tern__attr){.text = cpu, .count = 3},
                            &(tern__attr){.text = "cpu", .count = 3}));
    CHECK(!tern__attrs_equal(to_device, &(tern__attr){.text = "gpu", .count = 3},
                             &(tern__attr){.text = "cpu", .count = 3}));
    CHECK(tern__attrs_equal(&tern__ops[TERN__OP_add], NULL, NULL));
}

TEST(results_are_counted)
{
    int64_t sizes[] = {1, 2, 3};
    tern__attr split[2] = {{.ints = sizes, .count = 3}, {.i = 0}};
    CHECK_EQ(tern__op_results(&tern__ops[TERN__OP_add], NULL), 1);
    CHECK_EQ(tern__op_results(&tern__ops[TERN__OP_sort], NULL), 2);
    CHECK_EQ(tern__op_results(&tern__ops[TERN__OP_split], split), 3);
    split[0].count = UINT32_MAX; /* a negative count */
    CHECK_EQ(tern__op_results(&tern__ops[TERN__OP_split], split), 0);
}

TEST(every_dtype_rule_is_described_and_used)
{
    static const char *const NAMES[] = {
#define TERN_DTYPE_RULE(name, text) #name,
#include "graph/dtype_rules.def"
#undef TERN_DTYPE_RULE
    };
    enum { COUNT = sizeof NAMES / sizeof NAMES[0] };
    bool used[COUNT] = {false};
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        bool described = false;
        for (int r = 0; r < COUNT; r++) {
            if (strcmp(NAMES[r], tern__ops[i].dtype_name) == 0)
                used[r] = described = true;
        }
        if (!described)
            harness_fail(__FILE__, __LINE__, "dtype rule %s has no line in dtype_rules.def",
                         tern__ops[i].dtype_name);
    }
    for (int r = 0; r < COUNT; r++) {
        if (!used[r])
            harness_fail(__FILE__, __LINE__, "no op uses dtype rule %s", NAMES[r]);
    }
}

TEST(signatures_are_those_of_the_rows)
{
    CHECK_STR(tern__op_signatures[TERN__OP_sum], "sum(x; axes:ints=[], keepdims:bool=false) -> y");
    CHECK_STR(tern__op_signatures[TERN__OP_rmsnorm], "rmsnorm(x, [weight]; eps:float=1e-05) -> y");
    CHECK_STR(tern__op_signatures[TERN__OP_concat], "concat(xs...; axis:int=0) -> y");
    CHECK_STR(tern__op_signatures[TERN__OP_split], "split(x; sizes:ints=[], axis:int=0) -> parts...");
    CHECK_STR(tern__op_signatures[TERN__OP_eye],
              "eye(dtype:dtype=f32, rows:int=1, columns:int=1, diagonal:int=0) -> y");
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        size_t length = strlen(tern__ops[i].name);
        CHECK(strncmp(tern__op_signatures[i], tern__ops[i].name, length) == 0 &&
              tern__op_signatures[i][length] == '(');
    }
}

/* ---- slices: against walking the axis as Python's definition does ------------------------------------------- */

/* The positions of range(*slice(start, stop, step).indices(size)), slowly. */
static int64_t walk_slice(int64_t size, int64_t start, int64_t stop, int64_t step, int64_t *first)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1, count = 0;
    start += start < 0 ? size : 0;
    stop += stop < 0 ? size : 0;
    start = start < low ? low : start > high ? high : start;
    stop = stop < low ? low : stop > high ? high : stop;
    *first = 0;
    for (int64_t at = start; step > 0 ? at < stop : at > stop; at += step) {
        if (count++ == 0)
            *first = at;
    }
    return count;
}

TEST(slices_resolve_as_in_python)
{
    for (int64_t size = 0; size <= 5; size++) {
        for (int64_t start = -8; start <= 8; start++) {
            for (int64_t stop = -8; stop <= 8; stop++) {
                for (int64_t step = -7; step <= 7; step++) {
                    int64_t first, count, want_first, want = 0;
                    if (step == 0)
                        continue;
                    want = walk_slice(size, start, stop, step, &want_first);
                    tern__slice_resolve(size, start, stop, step, &first, &count);
                    CHECK_EQ(count, want);
                    CHECK_EQ(first, want_first);
                }
            }
        }
    }
}

static void check_slice(int64_t size, int64_t start, int64_t stop, int64_t step, int64_t want_first,
                        int64_t want_count)
{
    int64_t first, count;
    tern__slice_resolve(size, start, stop, step, &first, &count);
    CHECK_EQ(first, want_first);
    CHECK_EQ(count, want_count);
}

TEST(extreme_slices_are_clamped)
{
    check_slice(5, INT64_MIN, INT64_MAX, 1, 0, 5);
    check_slice(5, INT64_MAX, INT64_MIN, -1, 4, 5);
    check_slice(5, INT64_MAX, INT64_MIN, INT64_MIN, 4, 1);
    check_slice(5, INT64_MIN, INT64_MAX, INT64_MAX, 0, 1);
    check_slice(INT64_MAX, INT64_MIN, INT64_MAX, 1, 0, INT64_MAX);
    check_slice(INT64_MAX, INT64_MAX, INT64_MIN, -1, INT64_MAX - 1, INT64_MAX);
    check_slice(INT64_MAX, INT64_MAX, INT64_MIN, -2, INT64_MAX - 1, INT64_MAX / 2 + 1);
    check_slice(0, INT64_MIN, INT64_MAX, 1, 0, 0);
    check_slice(0, INT64_MAX, INT64_MIN, -1, 0, 0);
}

/* ---- views --------------------------------------------------------------------------------------------------- */

/* Infers the view of x (contiguous) and checks its shape, offset and strides. */
static void check_view(tern__opcode code, const tern__type *x, const tern__attr *attrs, const char *want_type,
                       int64_t want_offset, const int64_t *want_strides)
{
    const tern__op *op = &tern__ops[code];
    char text[TERN__TYPE_TEXT];
    tern__type out;
    tern__layout layout, view;
    tern_dtype operands[1];
    CHECK_OK(tern__op_infer(&(tern__call){op, 1, 1, &x, attrs, &out}, operands));
    CHECK_STR(tern__type_text(&out, text), want_type);
    tern__layout_contiguous(x, &layout);
    CHECK(tern__op_view(op, attrs, x, &layout, &out, &view));
    CHECK_EQ(view.offset, want_offset);
    for (int i = 0; i < out.rank; i++)
        CHECK_EQ(view.strides[i], want_strides[i]);
}

#define INTS(...)                                                                                     \
    {                                                                                                 \
        .ints = (int64_t[]){__VA_ARGS__}, .count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t) \
    }

TEST(views_share_storage)
{
    const tern__type x = {.dtype = TERN_F32, .rank = 3, .shape = {2, 3, 4}};
    const tern__type column = {.dtype = TERN_F32, .rank = 2, .shape = {3, 1}};
    const tern__type packed = {.dtype = TERN_T2, .rank = 2, .shape = {6, 10}};
    check_view(TERN__OP_reshape, &x, (tern__attr[]){INTS(6, -1)}, "f32[6,4]", 0, (int64_t[]){4, 1});
    check_view(TERN__OP_permute, &x, (tern__attr[]){INTS(2, -3, 1)}, "f32[4,2,3]", 0, (int64_t[]){1, 12, 4});
    check_view(TERN__OP_slice, &x, (tern__attr[]){INTS(1, 2, -1), INTS(2, INT64_MIN, 0), INTS(1, -1, -2)},
               "f32[1,3,2]", 12 + 2 * 4 + 3, (int64_t[]){12, -4, -2});
    check_view(TERN__OP_broadcast, &column, (tern__attr[]){INTS(2, 3, 5)}, "f32[2,3,5]", 0,
               (int64_t[]){0, 1, 0});
    check_view(TERN__OP_again, &x, NULL, "f32[2,3,4]", 0, (int64_t[]){12, 4, 1});
    check_view(TERN__OP_to_device, &x, (tern__attr[]){{.text = "cpu", .count = 3}}, "f32[2,3,4]", 0,
               (int64_t[]){12, 4, 1});
    check_view(TERN__OP_slice, &packed, (tern__attr[]){INTS(1, 0), INTS(6, 10), INTS(2, 1)}, "t2[3,10]", 3,
               (int64_t[]){6, 1});
    check_view(TERN__OP_reshape, &packed, (tern__attr[]){INTS(2, 3, 10)}, "t2[2,3,10]", 0,
               (int64_t[]){9, 3, 1});
}

TEST(what_cannot_be_a_view_says_so)
{
    const tern__type x = {.dtype = TERN_F32, .rank = 2, .shape = {3, 2}},
                     flat = {.dtype = TERN_F32, .rank = 1, .shape = {6}};
    const tern__layout transposed = {.offset = 0, .strides = {1, 3}};
    tern__layout view;
    tern__attr attrs[] = {INTS(6)};
    CHECK(!tern__op_view(&tern__ops[TERN__OP_reshape], attrs, &x, &transposed, &flat, &view));
    CHECK(!tern__op_view(&tern__ops[TERN__OP_contiguous], NULL, &x, &transposed, &x, &view));
}

TEST(every_op_flagged_as_view_has_one)
{
    const tern__type scalar = {.dtype = TERN_F32, .rank = 0};
    const tern__layout layout = {0};
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        tern__attr attrs[TERN__MAX_ATTRS];
        tern__layout view;
        tern__op_default_attrs(&tern__ops[i], attrs);
        CHECK_EQ(tern__op_view(&tern__ops[i], attrs, &scalar, &layout, &scalar, &view),
                 (tern__ops[i].flags & TERN__VIEW) != 0);
    }
}

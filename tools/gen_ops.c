/* gen_ops.c - writes what is committed of ops.def, to stdout:
 * gen_ops header | source | index | attrs | tests | markdown
 *
 *   header    include/tern/ops.h      one function per op, with the row's description
 *   source    src/graph/ops_api.c     their definitions: pack the arguments, call the recorder
 *   index     src/graph/ops_index.c   opcodes by name, signatures, sections
 *   attrs     src/tensor/op_attrs.h   where each attribute stands in its op's list
 *   tests     tests/runtime/test_null_ops.c   every function with each of its pointers at NULL
 *   markdown  docs/ops.md
 *
 * scripts/generate.sh (`make generate`) compiles and runs it. It links nothing of the library, so that it
 * works when the files above are missing or stale. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERN__RULE(kind, name) NULL
#include "graph/op_table.h"

#define ORIGIN \
    "Generated from src/graph/ops.def by tools/gen_ops.c; do not edit: change the row and `make generate`."
#define GENERATED " * " ORIGIN " */\n"

enum { COLUMNS = 110, TEXT_MAX = 2048, PARAMETERS_MAX = 32, WORD_MAX = 80 };

/* Rows and section heads in the order of ops.def. */
static const struct item {
    int op; /* an opcode, or -1 for a section */
    const char *title, *text;
} ITEMS[] = {
#define TERN_SECTION(section_title, section_text) {-1, section_title, section_text},
#define TERN_OP(id, ...) {TERN__OP_##id, NULL, NULL},
#include "graph/ops.def"
#undef TERN_OP
};
enum { ITEM_COUNT = sizeof ITEMS / sizeof ITEMS[0] };

static const struct dtype_rule {
    const char *name, *text;
} DTYPE_RULES[] = {
#define TERN_DTYPE_RULE(id, rule_text) {#id, rule_text},
#include "graph/dtype_rules.def"
#undef TERN_DTYPE_RULE
};

static const char *const DTYPE_NAMES[TERN_DTYPE_COUNT] = {
#define NAME(id, number, name, kind, elements, bytes, text) [number] = name,
    TERN_DTYPE_LIST(NAME)
#undef NAME
};

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Appends to text[TEXT_MAX]. */
static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;
    va_start(args, format);
    int added = vsnprintf(text + length, TEXT_MAX - length, format, args);
    va_end(args);
    if (added < 0 || (size_t)added >= TEXT_MAX - length) {
        fprintf(stderr, "gen_ops: a line is longer than %d bytes\n", TEXT_MAX);
        exit(1);
    }
}

/* `text` with a capital and a full stop. */
static void add_sentence(char *line, const char *text)
{
    add(line, "%c%s.", *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text, text + 1);
}

/* Word `i` of a space-separated list; false past the last one. */
static bool word(const char *list, int i, char out[WORD_MAX])
{
    for (; *list; i--) {
        size_t length = strcspn(list, " ");
        if (i == 0) {
            snprintf(out, WORD_MAX, "%.*s", (int)length, list);
            return true;
        }
        list += length + (list[length] == ' ');
    }
    return false;
}

/* Prints `text` in lines of at most COLUMNS, broken at spaces, with room for the end of a comment; lines
 * after the first start with `indent`. It starts in column `at`. */
static void print_wrapped(const char *text, const char *indent, int at)
{
    char next[WORD_MAX];
    for (int i = 0; word(text, i, next); i++) {
        int length = (int)strlen(next);
        if (i > 0 && at + 1 + length + 3 > COLUMNS) {
            printf("\n%s", indent);
            at = (int)strlen(indent);
        } else if (i > 0) {
            at += printf(" ");
        }
        at += printf("%s", next);
    }
}

static void print_rule(const char *title, const char *text)
{
    char line[TEXT_MAX] = "";
    add(line, "/* ---- %s ", title);
    printf("%s", line);
    for (size_t at = strlen(line); at < COLUMNS - 3; at++)
        putchar('-');
    if (*text) {
        char sentence[TEXT_MAX] = "";
        add_sentence(sentence, text);
        printf("\n * ");
        print_wrapped(sentence, " * ", 3);
    }
    printf(" */\n");
}

/* ---- signatures ---------------------------------------------------------------------------------------- */

typedef struct parameters {
    int count;
    char text[PARAMETERS_MAX][WORD_MAX];
} parameters;

static void add_parameter(parameters *list, const char *type, const char *prefix, const char *name)
{
    if (list->count == PARAMETERS_MAX) {
        fprintf(stderr, "gen_ops: more than %d parameters\n", PARAMETERS_MAX);
        exit(1);
    }
    int length = snprintf(list->text[list->count++], WORD_MAX, "%s%s%s", type, prefix, name);
    if (length < 0 || length >= WORD_MAX) {
        fprintf(stderr, "gen_ops: a parameter is longer than %d bytes\n", WORD_MAX);
        exit(1);
    }
}

static bool is_variadic(const tern__op *op)
{
    return op->max_in < 0;
}

/* The C name of the count that goes with INTS attribute `i`, in two parts. */
static const char *count_prefix(const tern__op *op, int i, const char **name)
{
    while (op->attrs[i].like_previous)
        i--;
    *name = op->attrs[i].name;
    if (strcmp(*name, "shape") != 0)
        return "n_";
    *name = "rank";
    return "";
}

static void add_attr(parameters *list, const tern__op *op, int i)
{
    static const char *const TYPES[] = {
        [TERN__ATTR_INT] = "int64_t ",
        [TERN__ATTR_FLOAT] = "double ",
        [TERN__ATTR_BOOL] = "bool ",
        [TERN__ATTR_INTS] = "const int64_t *",
        [TERN__ATTR_DTYPE] = "tern_dtype ",
        [TERN__ATTR_TEXT] = "const char *",
        [TERN__ATTR_BODY] = "",
    };
    const tern__attr_spec *spec = &op->attrs[i];
    if (spec->kind == TERN__ATTR_INTS && !spec->like_previous) {
        const char *name, *prefix = count_prefix(op, i, &name);
        add_parameter(list, "int ", prefix, name);
    }
    add_parameter(list, TYPES[spec->kind], "", spec->name);
}

static parameters parameters_of(const tern__op *op)
{
    parameters list = {0};
    char name[WORD_MAX];
    if (op->max_in == 0)
        add_parameter(&list, "tern_ctx *", "", "ctx");
    if (is_variadic(op)) {
        add_parameter(&list, "int ", "n_", op->inputs);
        add_parameter(&list, "tern_tensor *const *", "", op->inputs);
    } else {
        for (int i = 0; word(op->inputs, i, name); i++)
            add_parameter(&list, "tern_tensor *", "", name);
    }
    for (int i = 0; i < op->n_attrs; i++)
        add_attr(&list, op, i);
    for (int i = 0; op->n_out != 1 && word(op->results, i, name); i++)
        add_parameter(&list, "tern_tensor **", "", name);
    return list;
}

static const char *result_type(const tern__op *op)
{
    return op->n_out == 1 ? "tern_tensor *" : "void ";
}

/* Of the declarator that print_declarator prints, were it on one line. */
static int declarator_length(const tern__op *op, const char *before)
{
    parameters list = parameters_of(op);
    size_t length = strlen(before) + strlen(result_type(op)) + strlen("tern_()") + strlen(op->name);
    for (int i = 0; i < list.count; i++)
        length += strlen(list.text[i]) + (i > 0 ? strlen(", ") : 0);
    return (int)length;
}

/* Items with commas between them, wrapped to the column where the first starts, with room for two characters
 * after the last. */
static void print_list(const parameters *list, int start)
{
    int at = start;
    for (int i = 0; i < list->count; i++) {
        int length = (int)strlen(list->text[i]);
        if (i > 0 && at + 1 + length + 2 > COLUMNS) {
            printf("\n%*s", start, "");
            at = start;
        } else if (i > 0) {
            at += printf(" ");
        }
        at += printf("%s%s", list->text[i], i + 1 < list->count ? "," : "");
    }
}

static void print_declarator(const tern__op *op, const char *before)
{
    parameters list = parameters_of(op);
    int start = printf("%s%stern_%s(", before, result_type(op), op->name);
    print_list(&list, start);
    printf(")");
}

static void add_fallback(char *line, const tern__attr_spec *spec)
{
    switch (spec->kind) {
    case TERN__ATTR_INT:
    case TERN__ATTR_FLOAT:
        add(line, "%g", spec->fallback);
        break;
    case TERN__ATTR_BOOL:
        add(line, "%s", spec->fallback != 0 ? "true" : "false");
        break;
    case TERN__ATTR_INTS:
        add(line, "[]");
        break;
    case TERN__ATTR_DTYPE:
        add(line, "%s", DTYPE_NAMES[(int)spec->fallback]);
        break;
    case TERN__ATTR_TEXT:
        add(line, "\"\"");
        break;
    case TERN__ATTR_BODY:
        add(line, "{}");
        break;
    }
}

/* "sum(x; axes:ints=[], keepdims:bool=false) -> y": optional operands in brackets, any number as "xs...". */
static void add_signature(char *line, const tern__op *op)
{
    static const char *const KINDS[] = {
        [TERN__ATTR_INT] = "int",   [TERN__ATTR_FLOAT] = "float", [TERN__ATTR_BOOL] = "bool",
        [TERN__ATTR_INTS] = "ints", [TERN__ATTR_DTYPE] = "dtype", [TERN__ATTR_TEXT] = "text",
        [TERN__ATTR_BODY] = "body",
    };
    char name[WORD_MAX];
    add(line, "%s(", op->name);
    for (int i = 0; word(op->inputs, i, name); i++) {
        bool optional = i >= op->min_in;
        add(line, "%s%s%s%s%s", i ? ", " : "", optional ? "[" : "", name, optional ? "]" : "",
            is_variadic(op) ? "..." : "");
    }
    for (int i = 0; i < op->n_attrs; i++) {
        const char *before = i > 0 ? ", " : op->max_in != 0 ? "; " : "";
        add(line, "%s%s:%s=", before, op->attrs[i].name, KINDS[op->attrs[i].kind]);
        add_fallback(line, &op->attrs[i]);
    }
    add(line, ") -> ");
    for (int i = 0; word(op->results, i, name); i++)
        add(line, "%s%s%s", i ? ", " : "", name, op->n_out < 0 ? "..." : "");
}

/* ---- header -------------------------------------------------------------------------------------------- */

/* Leaves are made by functions of their own: tern_input, tern_state, tern_freeze; what the compiler makes, by none. */
static bool has_function(const tern__op *op)
{
    return !(op->flags & (TERN__LEAF | TERN__INTERNAL));
}

/* Whether the section that starts at ITEMS[i] has functions: all of its ops are internal, or none is. */
static bool section_has_functions(int i)
{
    return i + 1 == ITEM_COUNT || !(tern__ops[ITEMS[i + 1].op].flags & TERN__INTERNAL);
}

static void add_quoted(char *line, const char *text)
{
    for (; *text; text++)
        add(line, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void describe(char *line, const tern__op *op)
{
    char name[WORD_MAX];
    add(line, "%s", op->description);
    for (int i = op->min_in; !is_variadic(op) && word(op->inputs, i, name); i++) {
        bool last = i + 1 == op->max_in;
        add(line, "%s%s%s", i == op->min_in ? "; " : last ? " and " : ", ", name, last ? " may be NULL" : "");
    }
    if (op->n_out < 0)
        add(line, "; %s has room for n_sizes", op->results);
}

/* A short declaration has its description at its side, in one of two columns; others stand below theirs.
 * `tight`: the entry before was of the first kind. Returns whether this one is. */
static bool print_declaration(const tern__op *op, bool tight)
{
    char text[TEXT_MAX] = "";
    describe(text, op);
    int length = declarator_length(op, "TERN_API ") + 1, column = length < 56 ? 56 : 72;
    if (length < column && column + (int)strlen(text) + 6 <= COLUMNS) {
        printf("%s", tight ? "" : "\n");
        print_declarator(op, "TERN_API ");
        printf(";%*s/* %s */\n", column - length, "", text);
        return true;
    }
    printf("\n/* ");
    print_wrapped(text, " * ", 3);
    printf(" */\n");
    print_declarator(op, "TERN_API ");
    printf(";\n");
    return false;
}

static void print_header(void)
{
    printf(
        "/* ops.h - every operation as a function. docs/ops.md lists the rules for shapes and types.\n"
        " *\n"
        " * A call records the operation and returns a handle at once; nothing is computed until data is\n"
        " * asked for (<tern/tensor.h>). A bad call gives an error tensor that says what was wrong; none\n"
        " * returns NULL. Several results go to pointers, of which those that are not wanted may be NULL.\n"
        " * Lists are read during the call only. Negative axes count from the end.\n"
        " *\n" GENERATED "/* clang-format off */\n"
        "#ifndef TERN_OPS_H\n"
        "#define TERN_OPS_H\n"
        "\n"
        "#include <stdbool.h>\n"
        "#include <stdint.h>\n"
        "\n"
        "#include <tern/context.h>\n"
        "#include <tern/dtype.h>\n"
        "#include <tern/export.h>\n"
        "\n"
        "#ifdef __cplusplus\n"
        "extern \"C\" {\n"
        "#endif\n");
    bool tight = false;
    for (int i = 0; i < ITEM_COUNT; i++) {
        if (ITEMS[i].op < 0) {
            if (!section_has_functions(i))
                continue;
            printf("\n");
            print_rule(ITEMS[i].title, ITEMS[i].text);
            tight = false;
        } else if (has_function(&tern__ops[ITEMS[i].op])) {
            tight = print_declaration(&tern__ops[ITEMS[i].op], tight);
        }
    }
    printf("\n"
           "#ifdef __cplusplus\n"
           "}\n"
           "#endif\n"
           "#endif\n");
}

/* ---- source -------------------------------------------------------------------------------------------- */

static void add_attr_value(parameters *list, const tern__op *op, int i)
{
    const tern__attr_spec *spec = &op->attrs[i];
    char value[TEXT_MAX] = "";
    const char *name, *prefix;
    switch (spec->kind) {
    case TERN__ATTR_INT:
    case TERN__ATTR_BOOL:
        add(value, "{.i = %s}", spec->name);
        break;
    case TERN__ATTR_DTYPE:
        add(value, "{.i = (int64_t)%s}", spec->name);
        break;
    case TERN__ATTR_FLOAT:
        add(value, "{.f = %s}", spec->name);
        break;
    case TERN__ATTR_TEXT:
        add(value, "text(%s)", spec->name);
        break;
    case TERN__ATTR_INTS:
        prefix = count_prefix(op, i, &name);
        add(value, "ints(%s%s, %s)", prefix, name, spec->name);
        break;
    case TERN__ATTR_BODY:
        break;
    }
    add_parameter(list, value, "", "");
}

/* "ctx, TERN__OP_x, n_in, in, attrs" */
static void print_record_arguments(const tern__op *op)
{
    printf("%s, TERN__OP_%s, ", op->max_in == 0 ? "ctx" : "NULL", op->name);
    if (op->max_in == 0)
        printf("0, NULL");
    else if (is_variadic(op))
        printf("given(n_%s, %s), %s", op->inputs, op->inputs, op->inputs);
    else if (op->min_in < op->max_in)
        printf("present(%d, %d, in), in", op->min_in, op->max_in);
    else if (op->max_in == 1)
        printf("1, &%s", op->inputs);
    else
        printf("%d, in", op->max_in);
    printf(", %s", op->n_attrs ? "attrs" : "NULL");
}

static void print_definition(const tern__op *op)
{
    char name[WORD_MAX];
    printf("\n");
    print_declarator(op, "");
    printf("\n{\n");
    if (op->max_in > 1) {
        printf("    tern_tensor *const in[] = {");
        for (int i = 0; word(op->inputs, i, name); i++)
            printf("%s%s", i ? ", " : "", name);
        printf("};\n");
    }
    if (op->n_attrs) {
        parameters values = {0};
        for (int i = 0; i < op->n_attrs; i++)
            add_attr_value(&values, op, i);
        print_list(&values, printf("    const tern__attr attrs[] = {"));
        printf("};\n");
    }
    if (op->n_out == 1) {
        printf("    return tern__record(");
        print_record_arguments(op);
        printf(");\n");
    } else if (op->n_out < 0) {
        printf("    if (%s)\n        tern__record_n(", op->results);
        print_record_arguments(op);
        printf(", n_sizes, %s);\n", op->results);
    } else {
        printf("    tern_tensor *out[%d];\n    tern__record_n(", op->n_out);
        print_record_arguments(op);
        printf(", %d, out);\n", op->n_out);
        for (int i = 0; word(op->results, i, name); i++)
            printf("    give(%s, out[%d]);\n", name, i);
    }
    printf("}\n");
}

static void print_source(void)
{
    printf("/* ops_api.c - the functions of <tern/ops.h>: each packs its arguments and calls the recorder.\n"
           " *\n" GENERATED "/* clang-format off */\n"
           "#include <tern/ops.h>\n"
           "\n"
           "#include <string.h>\n"
           "\n"
           "#include \"graph/op.h\"\n"
           "#include \"graph/node.h\"\n"
           "\n"
           "/* The recorder copies the list. A negative count becomes one that inference refuses. */\n"
           "static tern__attr ints(int n, const int64_t *values)\n"
           "{\n"
           "    return (tern__attr){.ints = (int64_t *)values, .count = n < 0 ? UINT32_MAX : (uint32_t)n};\n"
           "}\n"
           "\n"
           "static tern__attr text(const char *value)\n"
           "{\n"
           "    size_t length = value ? strnlen(value, UINT32_MAX) : 0;\n"
           "    return (tern__attr){.text = value ? value : \"\", .count = (uint32_t)length};\n"
           "}\n"
           "\n"
           "/* How many operands were given: optional ones at the end may be NULL. */\n"
           "static int present(int least, int most, tern_tensor *const *in)\n"
           "{\n"
           "    while (most > least && !in[most - 1])\n"
           "        most--;\n"
           "    return most;\n"
           "}\n"
           "\n"
           "/* A list at NULL has nothing in it; the recorder says how many operands the op needs. */\n"
           "static int given(int n, tern_tensor *const *in)\n"
           "{\n"
           "    return in ? n : 0;\n"
           "}\n"
           "\n"
           "static void give(tern_tensor **to, tern_tensor *result)\n"
           "{\n"
           "    if (to)\n"
           "        *to = result;\n"
           "}\n");
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        if (has_function(&tern__ops[i]))
            print_definition(&tern__ops[i]);
    }
}

/* ---- index --------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(tern__ops[*(const int *)a].name, tern__ops[*(const int *)b].name);
}

static void print_index(void)
{
    int order[TERN__OP_COUNT];
    for (int i = 0; i < TERN__OP_COUNT; i++)
        order[i] = i;
    qsort(order, TERN__OP_COUNT, sizeof order[0], by_name);

    printf("/* ops_index.c - opcodes by name, signatures, sections.\n"
           " *\n" GENERATED "/* clang-format off */\n"
           "#include \"graph/op.h\"\n"
           "\n"
           "_Static_assert(TERN__OP_COUNT == %d, \"ops.def has changed: run `make generate`\");\n"
           "\n"
           "const uint16_t tern__op_order[TERN__OP_COUNT] = {\n",
           TERN__OP_COUNT);
    for (int i = 0; i < TERN__OP_COUNT; i++)
        printf("    TERN__OP_%s,\n", tern__ops[order[i]].name);
    printf("};\n"
           "\n"
           "const char *const tern__op_signatures[TERN__OP_COUNT] = {\n");
    for (int i = 0; i < TERN__OP_COUNT; i++) {
        char line[TEXT_MAX] = "", quoted[TEXT_MAX] = "";
        add_signature(line, &tern__ops[i]);
        add_quoted(quoted, line);
        printf("    [TERN__OP_%s] = \"%s\",\n", tern__ops[i].name, quoted);
    }
    printf("};\n"
           "\n"
           "const char *const tern__op_sections[TERN__OP_COUNT] = {\n");
    const char *section = "";
    for (int i = 0; i < ITEM_COUNT; i++) {
        if (ITEMS[i].op < 0)
            section = ITEMS[i].title;
        else
            printf("    [TERN__OP_%s] = \"%s\",\n", tern__ops[ITEMS[i].op].name, section);
    }
    printf("};\n");
}

/* ---- attrs ----------------------------------------------------------------------------------------------- */

static void print_attrs(void)
{
    printf("/* op_attrs.h - where each attribute stands in its op's list: attrs[TERN__ATTR_softmax_axis].i.\n"
           " *\n" GENERATED "/* clang-format off */\n"
           "#ifndef TERN_TENSOR_OP_ATTRS_H\n"
           "#define TERN_TENSOR_OP_ATTRS_H\n"
           "\n"
           "enum {\n");
    for (int i = 0; i < TERN__OP_COUNT; i++)
        for (int k = 0; k < tern__ops[i].n_attrs; k++)
            printf("    TERN__ATTR_%s_%s = %d,\n", tern__ops[i].name, tern__ops[i].attrs[k].name, k);
    printf("};\n"
           "\n"
           "#endif\n");
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* What a call gets at each place, as text, and what comes of it if a NULL stands there. */
typedef struct call_arguments {
    parameters given;
    enum { NOT_A_POINTER, NULL_IS_REFUSED, NULL_IS_ALLOWED } at_null[PARAMETERS_MAX];
} call_arguments;

static void add_argument(call_arguments *list, int at_null, const char *text)
{
    add_parameter(&list->given, text, "", "");
    list->at_null[list->given.count - 1] = at_null;
}

/* In the order of parameters_of. */
static call_arguments arguments_of(const tern__op *op)
{
    static const char *const VALUES[] = {
        [TERN__ATTR_INT] = "0",     [TERN__ATTR_FLOAT] = "0",        [TERN__ATTR_BOOL] = "false",
        [TERN__ATTR_INTS] = "ints", [TERN__ATTR_DTYPE] = "TERN_F32", [TERN__ATTR_TEXT] = "\"cpu\"",
    };
    call_arguments list = {0};
    char text[WORD_MAX];
    if (op->max_in == 0)
        add_argument(&list, NULL_IS_REFUSED, "ctx");
    if (is_variadic(op)) {
        add_argument(&list, NOT_A_POINTER, "1");
        add_argument(&list, NOT_A_POINTER, "list"); /* print_list_tests has its cases */
    }
    for (int i = 0; i < op->max_in; i++) /* optional ones at NULL are tests/graph's */
        add_argument(&list, i < op->min_in ? NULL_IS_REFUSED : NOT_A_POINTER, "x");
    for (int i = 0; i < op->n_attrs; i++) {
        const tern__attr_spec *spec = &op->attrs[i];
        if (spec->kind == TERN__ATTR_INTS && !spec->like_previous)
            add_argument(&list, NOT_A_POINTER, "1");
        add_argument(&list,
                     spec->kind == TERN__ATTR_INTS   ? NULL_IS_REFUSED
                     : spec->kind == TERN__ATTR_TEXT ? NULL_IS_ALLOWED
                                                     : NOT_A_POINTER,
                     VALUES[spec->kind]);
    }
    for (int i = 0; op->n_out != 1 && word(op->results, i, text); i++) {
        snprintf(text, sizeof text, "&o.tensors[%d]", i);
        add_argument(&list, NULL_IS_ALLOWED, text);
    }
    return list;
}

/* One call, with NULL at place `at`. */
static void print_test(const tern__op *op, const call_arguments *list, int at)
{
    if (list->at_null[at] == NULL_IS_ALLOWED)
        printf("        ALLOWED(");
    else if (op->n_out == 1)
        printf("        TENSOR(");
    else
        printf("        RESULTS(%d, ", op->n_out < 0 ? 1 : op->n_out);
    printf("tern_%s(", op->name);
    for (int i = 0; i < list->given.count; i++)
        printf("%s%s", i ? ", " : "", i == at ? "NULL" : list->given.text[i]);
    printf("));\n");
}

/* A list of operands: at NULL, with nothing in it, of a negative size, with a NULL in it. */
static void print_list_tests(const tern__op *op, const call_arguments *list)
{
    static const char *const CASES[] = {"2, NULL", "0, NULL", "0, list", "-1, list", "1, list"};
    for (size_t k = 0; k < sizeof CASES / sizeof CASES[0]; k++) {
        printf("        TENSOR(tern_%s(%s", op->name, CASES[k]);
        for (int i = 2; i < list->given.count; i++)
            printf(", %s", list->given.text[i]);
        printf("));\n");
    }
}

static void print_tests_of(const tern__op *op)
{
    const call_arguments list = arguments_of(op);
    if (is_variadic(op))
        print_list_tests(op, &list);
    for (int at = 0; at < list.given.count; at++)
        if (list.at_null[at] != NOT_A_POINTER)
            print_test(op, &list, at);
}

static void print_tests_start(const char *title)
{
    printf("\nTEST(");
    for (; *title; title++)
        putchar(*title == ' ' ? '_' : *title >= 'A' && *title <= 'Z' ? *title - 'A' + 'a' : *title);
    printf(")\n"
           "{\n"
           "    tern_ctx *ctx;\n"
           "    CHECK_OK(tern_ctx_create(NULL, &ctx));\n"
           "    TERN_SCOPE(ctx) {\n"
           "        tern_tensor *x = tern_ones(ctx, TERN_F32, 1, ints);\n"
           "        (void)x;\n");
}

static void print_tests_end(void)
{
    printf("    }\n"
           "    tern_ctx_destroy(ctx);\n"
           "}\n");
}

static void print_tests(void)
{
    printf(
        "/* test_null_ops.c - the functions of <tern/ops.h> with NULL for each operand and list in turn. A "
        "list\n"
        " * at NULL with a count of 1 is refused; result pointers may be NULL, and text, which then is the\n"
        " * default. Where a test does without `x`, no function of the section has a second operand or "
        "list.\n"
        " *\n" GENERATED "/* clang-format off */\n"
        "#include \"null_arguments.h\"\n"
        "\n"
        "static const int64_t ints[] = {1};\n"
        "static tern_tensor *const list[] = {NULL};\n");
    bool started = false;
    for (int i = 0; i < ITEM_COUNT; i++) {
        if (ITEMS[i].op >= 0) {
            if (has_function(&tern__ops[ITEMS[i].op]))
                print_tests_of(&tern__ops[ITEMS[i].op]);
            continue;
        }
        if (started)
            print_tests_end();
        started = section_has_functions(i);
        if (started)
            print_tests_start(ITEMS[i].title);
    }
    if (started)
        print_tests_end();
}

/* ---- markdown ------------------------------------------------------------------------------------------ */

static void print_cost(const tern__op *op)
{
    if (op->cost_factor == 0)
        printf("none");
    else if (strcmp(op->cost_name, "out") == 0)
        printf("%g per result element", op->cost_factor);
    else if (strcmp(op->cost_name, "in") == 0)
        printf("%g per element of operand 0", op->cost_factor);
    else
        printf("%s, factor %g", op->cost_name, op->cost_factor);
}

static void print_flags(const tern__op *op)
{
    static const struct {
        unsigned flag;
        const char *text;
    } FLAGS[] = {
        {TERN__ELEMENTWISE, "elementwise"},  {TERN__COMMUTATIVE, "commutative"},
        {TERN__VIEW, "view where possible"}, {TERN__LEAF, "leaf"},
        {TERN__WRITES, "writes its state"},  {TERN__INTERNAL, "made by passes only"},
    };
    for (size_t i = 0; i < sizeof FLAGS / sizeof FLAGS[0]; i++) {
        if (op->flags & FLAGS[i].flag)
            printf(" · %s", FLAGS[i].text);
    }
}

/* Paragraphs, not a table: a "|" in a description would end the cell. */
static void print_markdown_op(const tern__op *op)
{
    char signature[TEXT_MAX] = "";
    add_signature(signature, op);
    printf("\n### %s\n\n", op->name);
    printf("%s.\n\n", op->description);
    printf("    %s\n", signature);
    if (has_function(op)) {
        printf("\n```c\n");
        print_declarator(op, "");
        printf(";\n```\n");
    }
    printf("\nshape `%s` · dtype `%s` · cost: ", op->shape_name, op->dtype_name);
    print_cost(op);
    if (!(op->flags & (TERN__LEAF | TERN__SOURCE | TERN__INTERNAL)))
        printf(" · %s", strcmp(op->grad_name, "none") == 0   ? "no gradient"
                        : strcmp(op->grad_name, "zero") == 0 ? "gradient 0"
                                                             : "has a gradient");
    if (strcmp(op->kernel_name, "none") != 0)
        printf(" · kernel `%s__ref`", op->kernel_name);
    print_flags(op);
    printf("\n");
}

static void print_markdown_section(const struct item *section)
{
    printf("\n## %s\n", section->title);
    if (*section->text) {
        char sentence[TEXT_MAX] = "";
        add_sentence(sentence, section->text);
        printf("\n%s\n", sentence);
    }
}

static void print_markdown(void)
{
    printf(
        "<!-- " ORIGIN " -->\n"
        "\n"
        "# Operations\n"
        "\n"
        "All %d operations of the table `src/graph/ops.def`. For each: what it computes, its signature in\n"
        "the text form (attributes follow the semicolon with their defaults; operands in brackets may be\n"
        "left out), its C function from `<tern/ops.h>`, and its row: the rules for shapes and types, the\n"
        "arithmetic it counts for, the reference kernel.\n"
        "\n"
        "Shapes follow NumPy: sizes are aligned at the last axis, an axis of size 1 repeats, negative axes\n"
        "count from the end. The rules for types are explained [at the end](#types).\n",
        TERN__OP_COUNT);
    for (int i = 0; i < ITEM_COUNT; i++) {
        if (ITEMS[i].op >= 0)
            print_markdown_op(&tern__ops[ITEMS[i].op]);
        else
            print_markdown_section(&ITEMS[i]);
    }
    printf(
        "\n"
        "## Types\n"
        "\n"
        "Operands are cast as the rule says before the operation runs; the casts are nodes like any other\n"
        "and appear in the printed graph. `tern_dtype_promote` in `<tern/dtype.h>` states the promoted type\n"
        "of two. The packed types are refused unless a rule names them: cast t2 and t5 to i8, blocks to f32, "
        "or use\n"
        "`ternary_dequantise`.\n"
        "\n"
        "| rule | accepts and gives |\n"
        "|---|---|\n");
    for (size_t i = 0; i < sizeof DTYPE_RULES / sizeof DTYPE_RULES[0]; i++)
        printf("| `%s` | %s |\n", DTYPE_RULES[i].name, DTYPE_RULES[i].text);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } OUTPUTS[] = {
        {"header", print_header}, {"source", print_source}, {"index", print_index},
        {"attrs", print_attrs},   {"tests", print_tests},   {"markdown", print_markdown},
    };
    for (size_t i = 0; argc == 2 && i < sizeof OUTPUTS / sizeof OUTPUTS[0]; i++) {
        if (strcmp(argv[1], OUTPUTS[i].name) != 0)
            continue;
        OUTPUTS[i].print();
        if (fflush(stdout) == 0 && !ferror(stdout))
            return 0;
        perror("gen_ops");
        return 1;
    }
    fprintf(stderr, "usage: gen_ops header | source | index | attrs | tests | markdown\n");
    return 2;
}

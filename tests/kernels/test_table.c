/* test_table.c - the rows of kernels.def and the values that they name say the same about themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"
#include "harness.h"
#include "kernels/select.h"

/* The name that a value has, for the types that keep one; NULL. */
static const char *name_of(const char *type, const void *value)
{
#define NAMED(t)               \
    if (strcmp(type, #t) == 0) \
        return ((const t *)value)->name;
    NAMED(tern__kernel)
    NAMED(tern__gemm_kernel)
    NAMED(tern__linear_kernel)
    NAMED(tern__linear_i8_kernel)
    NAMED(tern__ternary_kernel)
    NAMED(tern__attention_kernel)
    NAMED(tern__topk_kernel)
#undef NAMED
    return NULL;
}

static const struct {
    const char *type;
} types[] = {
#define TERN_KERNEL(family, type, suffix, isa, feature) {#type},
#include "kernels/kernels.def"
};

TEST(values_have_the_names_and_levels_of_their_rows)
{
    int count, named = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    CHECK_EQ(count, sizeof types / sizeof *types);
    for (int i = 0; i < count; i++) {
        const char *name = name_of(types[i].type, rows[i].kernel);
        named += name != NULL;
        if (name && strcmp(name, rows[i].name) != 0)
            harness_fail(__FILE__, __LINE__, "row %s has a kernel called %s", rows[i].name, name);
        if (strcmp(types[i].type, "tern__kernel") == 0)
            CHECK_EQ(((const tern__kernel *)rows[i].kernel)->isa, rows[i].isa);
    }
    CHECK(named > 0);
}

/* The last that runs is taken, so weaker ones stand first. */
TEST(rows_of_a_family_stand_weakest_first)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (rows[k].family == rows[i].family && rows[k].isa > rows[i].isa)
                harness_fail(__FILE__, __LINE__, "%s stands behind %s", rows[i].name, rows[k].name);
}

/* ---- all of them are tested ---- */

/* Checkers ask each row whether it runs here. Programs take the one that is chosen: a cap can be found for each, so that whole
 * programs are tried on it as well (runtime/test_products.c, cli/cases/list_kernels_used.sh). */
TEST(every_row_that_runs_is_chosen_under_a_cap)
{
    int count;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    for (int i = 0; i < count; i++) {
        bool chosen = false;
        for (int c = 0; c < N_CAPS; c++) {
            tern__isa_cap cap;
            CHECK_OK(tern__isa_cap_parse(caps[c], &cap));
            chosen = chosen ||
                     tern__kernel_select(rows[i].family, tern__isa_mask_within(tern__cpu(), cap)) == &rows[i];
        }
        if (chosen != tern__kernel_runs(&rows[i], tern__cpu()->isa_mask))
            harness_fail(__FILE__, __LINE__, "%s: %s under any cap", rows[i].name,
                         chosen ? "does not run here, and is chosen" : "runs here, and is not chosen");
    }
}

/* Which program checks the rows of a family: one that asks each whether it runs. */
static const struct {
    tern__kernel_family family;
    const char *name, *checker;
} checkers[] = {
    {TERN__FAMILY_ternary_t2, "ternary_t2", "test_ternary_packed.c"},
    {TERN__FAMILY_ternary_t5, "ternary_t5", "test_ternary_packed.c"},
    {TERN__FAMILY_gemm_f32, "gemm_f32", "test_gemm.c"},
    {TERN__FAMILY_attention, "attention", "test_attention.c"},
    {TERN__FAMILY_linear, "linear", "test_linear.c"},
    {TERN__FAMILY_linear_i8, "linear_i8", "test_linear.c"},
    {TERN__FAMILY_topk_f32, "topk_f32", "test_sort.c"},
    {TERN__FAMILY_move, "move", "test_move.c"},
    {TERN__FAMILY_pool, "pool", "test_pool.c"},
    {TERN__FAMILY_columns, "columns", "test_columns.c"},
};

static char *text_of(const char *checker)
{
    static char text[1 << 17];
    char path[4096];
    const char *root = getenv("TERN_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/kernels/%s", root ? root : ".", checker);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    const size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

TEST(every_family_has_a_checker_that_goes_through_its_rows)
{
    if (!text_of("test_table.c"))
        SKIP("the sources are not here: TERN_SOURCE_DIR says where");
    for (int family = 0; family < TERN__KERNEL_FAMILIES; family++) {
        bool found = false;
        for (size_t i = 0; i < sizeof checkers / sizeof *checkers; i++) {
            if ((int)checkers[i].family != family)
                continue;
            char name[64];
            const char *text = text_of(checkers[i].checker);
            snprintf(name, sizeof name, "TERN__FAMILY_%s", checkers[i].name);
            found = text && strstr(text, name) && strstr(text, "tern__kernel_rows(") &&
                    strstr(text, "tern__kernel_runs(");
        }
        if (!found)
            harness_fail(__FILE__, __LINE__, "family %d has no checker", family);
    }
}

/* test_table.c - the rows of kernels.def and the values that they name say the same about themselves. */
#include <string.h>

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

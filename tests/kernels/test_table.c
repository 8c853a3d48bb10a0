/* test_table.c - the rows of kernels.def and the values that they name say the same about themselves. */
#include <string.h>

#include "caps.h"
#include "harness.h"
#include "kernels/kernel.h"
#include "kernels/select.h"

static const struct {
    const char *type;
} types[] = {
#define TERN_KERNEL(family, type, suffix, isa, feature) {#type},
#include "kernels/kernels.def"
};

/* Those that plans name themselves. */
TEST(whole_kernels_have_the_names_and_levels_of_their_rows)
{
    int count, named = 0;
    const tern__kernel_row *rows = tern__kernel_rows(&count);
    CHECK_EQ(count, sizeof types / sizeof *types);
    for (int i = 0; i < count; i++) {
        if (strcmp(types[i].type, "tern__kernel") != 0)
            continue;
        const tern__kernel *kernel = rows[i].kernel;
        named++;
        CHECK_EQ(kernel->isa, rows[i].isa);
        if (strcmp(kernel->name, rows[i].name) != 0)
            harness_fail(__FILE__, __LINE__, "row %s has a kernel called %s", rows[i].name, kernel->name);
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

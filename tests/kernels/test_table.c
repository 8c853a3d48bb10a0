/* test_table.c - the order of the rows of kernels.def, and that each of them can be reached. */
#include "caps.h"
#include "harness.h"
#include "kernels/select.h"

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

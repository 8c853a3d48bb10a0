/* test_choosers.c - what is listed is what plans use: an op has a row TERN_CHOOSER in kernels.def if, and only if, rows TERN_USE or
 * TERN_FAST say that a kernel besides its reference computes it. One without the other would be told by `tern list kernels` and never
 * run, or run and never be told. */
#include <string.h>

#include "devices/cpu/kernels.h"
#include "graph/op.h"
#include "harness.h"

static const bool has_chooser[TERN__OP_COUNT] = {
#define TERN_CHOOSER(op, chooser, ways) [TERN__OP_##op] = true,
#include "kernels/kernels.def"
};

/* By name: a chooser has no other sign in the table. A region may begin with a product. */
static const char *const chooser_of[TERN__OP_COUNT] = {
#define TERN_CHOOSER(op, chooser, ways) [TERN__OP_##op] = #chooser,
#include "kernels/kernels.def"
};

/* Rows of one op are many. */
static bool is_listed(int op)
{
    bool listed = false;
#define TERN_USE(id, family, when) listed = listed || op == TERN__OP_##id;
#define TERN_FAST(id, kernel, family, when) listed = listed || op == TERN__OP_##id;
#include "kernels/kernels.def"
    return listed;
}

TEST(ops_with_kernels_have_a_chooser)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        if (op == TERN__OP_contiguous) /* chosen with all others that copy, by their kernel: cpu.c */
            continue;
        if (has_chooser[op] != is_listed(op))
            harness_fail(__FILE__, __LINE__, "%s: has %s chooser, and %s kernel of kernels.def",
                         tern__ops[op].name, has_chooser[op] ? "a" : "no", is_listed(op) ? "a" : "no");
    }
}

TEST(products_are_chosen_as_products)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        const bool chosen = chooser_of[op] && strcmp(chooser_of[op], "product") == 0;
        if (chosen != (tern__op_is_product((tern__opcode)op) || op == TERN__OP_fused))
            harness_fail(__FILE__, __LINE__, "%s: %s a product in ops.def, %s chosen as one in kernels.def",
                         tern__ops[op].name, chosen ? "is not" : "is", chosen ? "but" : "but not");
    }
}

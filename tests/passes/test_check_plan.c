/* test_check_plan.c - the checker of plans can say no: sound plans are spoilt in one place, and it has to notice. */
#include <stdio.h>
#include <string.h>

#include <tern/tern.h>

#include "check_plan.h"
#include "harness.h"
#include "random_graph.h"
#include "runtime/compiled.h"
#include "runtime/context.h"

/* Two values live at once in the arena, then a sum of both. */
static const char two_alive[] = "graph { %x = input \"x\" f32[16] %a = exp(%x) %b = sin(%x) %c = cos(%a)\n"
                                "%d = sub(%b, %c) %e = tan(%d) return %e }";

static tern_status compile(tern_ctx *ctx, const char *text, tern__compiled **out)
{
    tern__compile_options options = {.level = TERN_LEVEL_NONE};
    tern_graph *graph;
    TERN_TRY(tern_graph_parse(ctx, text, strlen(text), &graph));
    tern_status status =
        tern__compiled_make(graph, ctx->device_ops->target(ctx->device), &options, false, out);
    tern_graph_free(graph);
    return status;
}

static bool is_sound(const tern__compiled *p)
{
    char why[256];
    return check_plan(&p->graph, &p->plan, why, sizeof why);
}

TEST(a_sound_plan_passes)
{
    tern_ctx *ctx;
    tern__compiled *p;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compile(ctx, two_alive, &p));
    CHECK(is_sound(p));
    tern__compiled_release(p);
    tern_ctx_destroy(ctx);
}

/* What a step reads, looked for anywhere else in the arena, is not there. */
TEST(operands_in_the_wrong_place_are_noticed)
{
    tern_ctx *ctx;
    tern__compiled *p;
    int moved = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compile(ctx, two_alive, &p));
    for (uint32_t s = 0; s < p->plan.n_steps; s++)
        for (uint32_t i = 0; i < p->plan.steps[s].n_in; i++) {
            tern__operand *o = &p->plan.operands[p->plan.steps[s].operands + i];
            size_t right = o->byte_offset;
            for (size_t at = 0; o->space == TERN__SPACE_ARENA && at + 64 <= p->plan.arena_bytes; at += 4) {
                o->byte_offset = at;
                CHECK(is_sound(p) == (at == right));
                moved += at != right;
            }
            o->byte_offset = right;
        }
    CHECK(moved > 0);
    tern__compiled_release(p);
    tern_ctx_destroy(ctx);
}

TEST(writing_into_inputs_and_forgetting_steps_is_noticed)
{
    tern_ctx *ctx;
    tern__compiled *p;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compile(ctx, two_alive, &p));
    tern__step *last = &p->plan.steps[p->plan.n_steps - 1];
    tern__operand *out = &p->plan.operands[last->operands + last->n_in], kept = *out;
    out->space = TERN__SPACE_LEAF;
    out->index = 0;
    out->byte_offset = 0;
    CHECK(!is_sound(p));
    *out = kept;
    p->plan.n_steps--;
    CHECK(!is_sound(p));
    p->plan.n_steps++;
    tern__step first = p->plan.steps[0];
    memmove(&p->plan.steps[0], &p->plan.steps[1], (p->plan.n_steps - 1) * sizeof first);
    p->plan.steps[p->plan.n_steps - 1] = first;
    CHECK(!is_sound(p));
    tern__compiled_release(p);
    tern_ctx_destroy(ctx);
}

/* A reader of the old state that runs after the write. */
TEST(reading_after_the_write_is_noticed)
{
    static const char text[] = "graph { %s = state \"s\" f32[4] %x = input \"x\" f32[4] %old = exp(%s)\n"
                               "%t = overwrite(%s, %x) return %old, %t }";
    tern_ctx *ctx;
    tern__compiled *p;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compile(ctx, text, &p));
    CHECK(is_sound(p));
    CHECK_EQ(p->plan.n_steps, 2);
    tern__step first = p->plan.steps[0];
    p->plan.steps[0] = p->plan.steps[1];
    p->plan.steps[1] = first;
    CHECK(!is_sound(p));
    tern__compiled_release(p);
    tern_ctx_destroy(ctx);
}

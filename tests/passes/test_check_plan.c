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
    const tern__compile_options options = {.level = TERN_LEVEL_NONE};
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

/* Attention of few rows: its workers share scratch, and what it reads and writes are intermediates. */
static const char shares_scratch[] =
    "graph { %x = input \"x\" f32[2,4,16] %k = input \"k\" f32[1,512,2,16] %v = input \"v\" f32[1,512,2,16]\n"
    "%s = input \"s\" i32[2] %p = input \"p\" i32[2] %q = exp(%x) %a = attention(%q, %k, %v, %s, %p)\n"
    "%c = sin(%a) return %c }";

static tern__step *step_with_scratch(tern__compiled *p)
{
    for (uint32_t s = 0; s < p->plan.n_steps; s++)
        if (p->plan.steps[s].shared_bytes > 0)
            return &p->plan.steps[s];
    return NULL;
}

/* With two threads, so that there is something to share. *step is NULL if no kernel of this machine does. */
static tern_status compile_shared(tern_ctx **ctx, tern__compiled **p, tern__step **step)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 2;
    TERN_TRY(tern_ctx_create(&options, ctx));
    TERN_TRY(compile(*ctx, shares_scratch, p));
    *step = step_with_scratch(*p);
    return TERN_OK;
}

static void release(tern_ctx *ctx, tern__compiled *p)
{
    tern__compiled_release(p);
    tern_ctx_destroy(ctx);
}

TEST(an_arena_without_room_for_all_scratch_is_noticed)
{
    tern_ctx *ctx;
    tern__compiled *p;
    tern__step *step = NULL;
    CHECK_OK(compile_shared(&ctx, &p, &step));
    CHECK(is_sound(p));
    if (!step) {
        release(ctx, p);
        SKIP("attention has no scratch that workers share here");
    }
    /* What `memory` would have planned had it forgotten what the workers share. */
    const size_t arena = p->plan.arena_bytes, offset = step->scratch_offset;
    p->plan.arena_bytes -= step->shared_bytes;
    CHECK(!is_sound(p));
    p->plan.arena_bytes = arena;
    /* Operand and result live beside the scratch: it can lie nowhere else. */
    for (size_t at = 0; at < arena; at += 64) {
        step->scratch_offset = at;
        CHECK(at == offset || !is_sound(p));
    }
    release(ctx, p);
}

/* Packed weights are read share by share; whatever else a step is said to stream, it
 * does not. */
TEST(what_a_step_does_not_stream_is_noticed)
{
    static const char text[] =
        "graph { %x = input \"x\" i8[1,512] %w = input \"w\" u8[10,128,64]\n"
        "%y = packed_ternary_matmul(%x, %w) {n=800, form=5} %z = cast(%y) {dtype=f32} return %z }";
    tern_ctx *ctx;
    tern__compiled *p;
    int streaming = 0;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    CHECK_OK(compile(ctx, text, &p));
    CHECK(is_sound(p));
    for (uint32_t s = 0; s < p->plan.n_steps; s++) {
        tern__step *step = &p->plan.steps[s];
        const uint32_t streamed = step->streamed;
        streaming += streamed != 0;
        for (uint32_t i = 1; i <= step->n_in; i++) {
            step->streamed = i;
            CHECK(i == streamed || !is_sound(p));
        }
        step->streamed = streamed;
    }
    CHECK_EQ(streaming, 1);
    release(ctx, p);
}

TEST(what_is_not_aligned_is_noticed)
{
    tern_ctx *ctx;
    tern__compiled *p;
    tern__step *step = NULL;
    CHECK_OK(compile_shared(&ctx, &p, &step));
    CHECK(is_sound(p));
    p->plan.arena_bytes += 4096; /* room, so that only the alignment is wrong */
    CHECK(is_sound(p));
    size_t *const sizes[] = {step ? &step->scratch_offset : NULL, step ? &step->shared_bytes : NULL,
                             &p->plan.buffers[0].offset};
    CHECK(p->plan.n_buffers > 0);
    for (int i = 0; i < 3; i++) {
        if (!sizes[i])
            continue;
        *sizes[i] += 4;
        CHECK(!is_sound(p));
        *sizes[i] -= 4;
    }
    release(ctx, p);
}

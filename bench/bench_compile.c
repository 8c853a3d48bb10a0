/* bench_compile.c - what the compiler costs and how tightly it plans memory.
 *
 * arena_over_lower_bound: 1 + what the arena of a plan takes beyond the lower bound, over the most bytes of intermediates that are live
 *   at one step; the worst of a transformer block, an MLP and a convolutional net at level high. Scratch is in the arena and in
 *   the bound, but not in what the excess is measured by, so that much of it does not hide any.
 * compile_decoder_ms: a decoder of 30 layers, from captured graph to plan, at level high. Weights are given when a program
 *   runs, so that nothing is computed at compile time: the passes horizontal and layout have nothing to do.
 * compile_decoder_constant_ms: the same with constant weights, whose packed forms are remembered from an earlier compilation.
 * compile_decoder_pack_ms: what its first compilation takes beyond that: joining and packing the weights.
 * compile_growth_10x: compile time of a decoder with ten times as many nodes (10,000) over that of one with 1,000.
 * program_cache_hit_us: compiling the 30-layer decoder again.
 *
 * Times are CPU times of the thread that compiles, which works alone, and the least of several compilations: on a machine
 * that others use too, ten milliseconds on end are rare. */
#include <stdint.h>
#include <stdio.h>

#include <tern/tern.h>

#include "base/clock.h"
#include "bench_json.h"

#define SHAPE(...)                                                               \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                            \
        __VA_ARGS__                                                              \
    }

/* ---- models ---- */

typedef struct builder {
    tern_ctx *ctx;
    bool constant; /* weights */
    int n_inputs;
} builder;

/* A weight: given when the program runs, or a constant. */
static tern_tensor *weight(builder *b, int rank, const int64_t *shape)
{
    char name[32];
    if (b->constant) {
        tern_tensor *w = tern_full(b->ctx, TERN_F32, rank, shape, 0.5);
        return tern_freeze(w) == TERN_OK ? w : NULL;
    }
    snprintf(name, sizeof name, "w%d", b->n_inputs++);
    return tern_input(b->ctx, name, TERN_F32, rank, shape);
}

typedef struct decoder {
    int64_t tokens, width, heads, head, hidden, capacity;
    int layers;
} decoder;

static tern_tensor *linear(builder *b, tern_tensor *x, int64_t in, int64_t out)
{
    return tern_matmul(x, weight(b, SHAPE(out, in)), false, true);
}

static tern_tensor *self_attention(builder *b, const decoder *d, tern_tensor *h, tern_tensor *slots,
                                   tern_tensor *positions, int layer)
{
    char name[32];
    tern_tensor *q = tern_reshape(linear(b, h, d->width, d->width), SHAPE(d->tokens, d->heads, d->head));
    tern_tensor *k = tern_reshape(linear(b, h, d->width, d->width), SHAPE(d->tokens, d->heads, d->head));
    tern_tensor *v = tern_reshape(linear(b, h, d->width, d->width), SHAPE(d->tokens, d->heads, d->head));
    snprintf(name, sizeof name, "k%d", layer);
    tern_tensor *keys = tern_state(b->ctx, name, TERN_F32, SHAPE(1, d->capacity, d->heads, d->head));
    snprintf(name, sizeof name, "v%d", layer);
    tern_tensor *values = tern_state(b->ctx, name, TERN_F32, SHAPE(1, d->capacity, d->heads, d->head));
    q = tern_rope(q, positions, 10000, 0, false);
    k = tern_rope(k, positions, 10000, 0, false);
    tern_tensor *y =
        tern_attention(q, tern_write_rows(keys, k, slots, positions),
                       tern_write_rows(values, v, slots, positions), slots, positions, NULL, NULL, 0);
    return linear(b, tern_reshape(y, SHAPE(d->tokens, d->width)), d->width, d->width);
}

static tern_tensor *feed_forward(builder *b, const decoder *d, tern_tensor *h)
{
    tern_tensor *gate = tern_relu2(linear(b, h, d->width, d->hidden));
    tern_tensor *up = linear(b, h, d->width, d->hidden);
    tern_tensor *inner = tern_rmsnorm(tern_mul(gate, up), weight(b, SHAPE(d->hidden)), 1e-5);
    return linear(b, inner, d->hidden, d->width);
}

static tern_tensor *make_decoder(builder *b, const decoder *d)
{
    tern_tensor *x = tern_input(b->ctx, "x", TERN_F32, SHAPE(d->tokens, d->width));
    tern_tensor *slots = tern_input(b->ctx, "slots", TERN_I32, SHAPE(d->tokens));
    tern_tensor *positions = tern_input(b->ctx, "positions", TERN_I32, SHAPE(d->tokens));
    for (int layer = 0; layer < d->layers; layer++) {
        tern_tensor *h = tern_rmsnorm(x, weight(b, SHAPE(d->width)), 1e-5);
        x = tern_add(x, self_attention(b, d, h, slots, positions, layer));
        h = tern_rmsnorm(x, weight(b, SHAPE(d->width)), 1e-5);
        x = tern_add(x, feed_forward(b, d, h));
    }
    return tern_rmsnorm(x, weight(b, SHAPE(d->width)), 1e-5);
}

static tern_tensor *make_mlp(builder *b)
{
    static const int64_t widths[] = {784, 1024, 512, 256, 10};
    tern_tensor *x = tern_input(b->ctx, "x", TERN_F32, SHAPE(64, 784));
    for (int i = 0; i < 4; i++) {
        x = tern_add(linear(b, x, widths[i], widths[i + 1]), weight(b, SHAPE(widths[i + 1])));
        x = i < 3 ? tern_gelu(x) : tern_softmax(x, -1);
    }
    return x;
}

static tern_tensor *convolution(builder *b, tern_tensor *x, int64_t in, int64_t out, int64_t stride)
{
    return tern_conv2d(x, weight(b, SHAPE(out, in, 3, 3)), weight(b, SHAPE(out)), stride, stride, 1, 1, 1, 1,
                       1, false);
}

/* Three stages of two residual blocks. */
static tern_tensor *make_convnet(builder *b)
{
    tern_tensor *x = tern_input(b->ctx, "x", TERN_F32, SHAPE(1, 3, 64, 64));
    int64_t channels = 16;
    x = tern_relu(convolution(b, x, 3, channels, 1));
    for (int stage = 0; stage < 3; stage++) {
        for (int block = 0; block < 2; block++) {
            tern_tensor *y = tern_relu(convolution(b, x, channels, channels, 1));
            x = tern_relu(tern_add(x, convolution(b, y, channels, channels, 1)));
        }
        x = tern_relu(convolution(b, x, channels, 2 * channels, 2));
        channels *= 2;
    }
    tern_tensor *pooled = tern_mean(x, 2, (int64_t[]){2, 3}, false);
    return tern_softmax(linear(b, pooled, channels, 10), -1);
}

static tern_tensor *make_block(builder *b)
{
    return make_decoder(b, &(decoder){.tokens = 128,
                                      .width = 512,
                                      .heads = 8,
                                      .head = 64,
                                      .hidden = 1536,
                                      .capacity = 256,
                                      .layers = 1});
}

static tern_status capture(tern_ctx *ctx, tern_tensor *y, tern_graph **out)
{
    return tern_graph_capture(ctx, 1, &y, NULL, out);
}

/* ---- memory ---- */

typedef struct fit {
    double ratio;
    size_t arena, bound, live; /* live: of intermediates alone */
} fit;

/* Most bytes of intermediates that one step needs. */
static size_t most_live(const tern_program *program, int steps)
{
    size_t most = 0;
    for (int s = 0; s < steps; s++) {
        size_t bytes = 0;
        tern_buffer_info buffer;
        for (int i = 0; tern_program_buffer(program, i, &buffer) == TERN_OK; i++)
            bytes += buffer.first <= s && s <= buffer.last ? buffer.bytes : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static tern_status plan_memory(tern_ctx *ctx, tern_tensor *y, fit *out)
{
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_HIGH;
    tern_program *program;
    tern_program_info info;
    TERN_TRY(tern_compile(ctx, 1, &y, NULL, &options, &program));
    tern_program_get_info(program, &info);
    *out = (fit){.arena = info.arena_bytes, .bound = info.live_bytes, .live = most_live(program, info.steps)};
    out->ratio = 1 + (double)(out->arena - out->bound) / (double)out->live;
    tern_program_free(program);
    return TERN_OK;
}

static tern_status measure_memory(tern_ctx *ctx, bench_output *out)
{
    fit block = {0}, mlp = {0}, convnet = {0};
    TERN_SCOPE(ctx) {
        TERN_TRY(plan_memory(ctx, make_block(&(builder){.ctx = ctx}), &block));
        TERN_TRY(plan_memory(ctx, make_mlp(&(builder){.ctx = ctx}), &mlp));
        TERN_TRY(plan_memory(ctx, make_convnet(&(builder){.ctx = ctx}), &convnet));
    }
    double worst = block.ratio > mlp.ratio ? block.ratio : mlp.ratio;
    worst = convnet.ratio > worst ? convnet.ratio : worst;
    bench_row(
        out, "arena_over_lower_bound", worst, "ratio", "lower",
        "transformer block %.4f (arena %zu bytes, bound %zu, intermediates in it %zu), MLP %.4f (%zu, %zu, "
        "%zu), convolutional net %.4f (%zu, %zu, %zu)",
        block.ratio, block.arena, block.bound, block.live, mlp.ratio, mlp.arena, mlp.bound, mlp.live,
        convnet.ratio, convnet.arena, convnet.bound, convnet.live);
    return TERN_OK;
}

/* ---- time ---- */

typedef struct compiled {
    double first_ms; /* the first */
    double ms;       /* the least of the others */
    double hit_us;   /* compiling the same again */
    int nodes, steps;
} compiled;

static double cpu_ms(void)
{
    return (double)tern__thread_cpu_time_ns() / 1e6;
}

/* Limits that never matter make every compilation another one to the cache of programs. */
static tern_status compile_once(tern_ctx *ctx, const tern_graph *graph, int number, double *ms, int *steps)
{
    tern_compile_options options = tern_compile_options_default();
    options.level = TERN_LEVEL_HIGH;
    options.memory_limit = ((size_t)1 << 40) + (size_t)number;
    tern_program *program;
    double start = cpu_ms();
    TERN_TRY(tern_graph_compile(ctx, graph, &options, &program));
    double took = cpu_ms() - start;
    *ms = took < *ms ? took : *ms;
    tern_program_info info;
    tern_program_get_info(program, &info);
    *steps = info.steps;
    tern_program_free(program);
    return TERN_OK;
}

static tern_status compile_again(tern_ctx *ctx, const tern_graph *graph, int number, double *us)
{
    double ms = 1e9;
    int steps;
    TERN_TRY(compile_once(ctx, graph, number, &ms, &steps));
    *us = ms * 1e3 < *us ? ms * 1e3 : *us;
    return TERN_OK;
}

static tern_status measure_decoder(tern_ctx *ctx, int layers, bool constant, int rounds, compiled *out)
{
    *out = (compiled){.first_ms = 1e9, .ms = 1e9, .hit_us = 1e9};
    tern_graph *graph = NULL;
    tern_status status = TERN_OK;
    TERN_SCOPE(ctx) {
        builder b = {.ctx = ctx, .constant = constant};
        status = capture(ctx,
                         make_decoder(&b, &(decoder){.tokens = 16,
                                                     .width = 256,
                                                     .heads = 4,
                                                     .head = 64,
                                                     .hidden = 768,
                                                     .capacity = 128,
                                                     .layers = layers}),
                         &graph);
        if (status != TERN_OK)
            return status;
    }
    tern_graph_info info;
    tern_graph_get_info(graph, &info);
    out->nodes = info.nodes;
    status = compile_once(ctx, graph, layers * 1000 + rounds, &out->first_ms, &out->steps);
    for (int i = 0; i < rounds && status == TERN_OK; i++)
        status = compile_once(ctx, graph, layers * 1000 + i, &out->ms, &out->steps);
    for (int i = 0; i < 200 && status == TERN_OK; i++)
        status = compile_again(ctx, graph, layers * 1000 + rounds - 1, &out->hit_us);
    tern_graph_free(graph);
    return status;
}

static tern_status measure_time(tern_ctx *ctx, bench_output *out)
{
    compiled thirty, packed, thousand, ten_thousand, one;
    TERN_TRY(measure_decoder(ctx, 1, false, 3, &one));
    TERN_TRY(measure_decoder(ctx, 30, false, 25, &thirty));
    TERN_TRY(measure_decoder(ctx, 30, true, 10, &packed));
    double per_layer = (double)(thirty.nodes - one.nodes) / 29, first = (double)one.nodes - per_layer;
    int small = (int)((1000 - first) / per_layer), large = (int)((10000 - first) / per_layer);
    TERN_TRY(measure_decoder(ctx, small, false, 25, &thousand));
    TERN_TRY(measure_decoder(ctx, large, false, 15, &ten_thousand));
    bench_row(
        out, "compile_decoder_ms", thirty.ms, "ms", "lower",
        "30 layers, %d nodes to %d steps; weights are inputs, so horizontal and layout have nothing to do",
        thirty.nodes, thirty.steps);
    bench_row(out, "compile_decoder_constant_ms", packed.ms, "ms", "lower",
              "the same with constant weights, packed before: %d nodes to %d steps", packed.nodes,
              packed.steps);
    bench_row(out, "compile_decoder_pack_ms", packed.first_ms - packed.ms, "ms", "lower",
              "its first compilation, %.2f ms, packs the weights", packed.first_ms);
    bench_row(out, "compile_growth_10x", ten_thousand.ms / thousand.ms, "ratio", "lower",
              "%d nodes %.3f ms, %d nodes %.3f ms", ten_thousand.nodes, ten_thousand.ms, thousand.nodes,
              thousand.ms);
    bench_row(out, "program_cache_hit_us", thirty.hit_us, "us", "lower",
              "30 layers, %d nodes; one layer (%d nodes) %.2f us", thirty.nodes, one.nodes, one.hit_us);
    return TERN_OK;
}

int main(int argc, char **argv)
{
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    tern_ctx *ctx;
    tern_status status = tern_ctx_create(&options, &ctx);
    if (status == TERN_OK) {
        status = measure_memory(ctx, &out);
        if (status == TERN_OK)
            status = measure_time(ctx, &out);
        tern_ctx_destroy(ctx);
    }
    if (status != TERN_OK)
        fprintf(stderr, "bench_compile: %s\n", tern_last_error());
    return bench_close(&out) && status == TERN_OK ? 0 : 1;
}

/* test_edges.c - no kernel reads what lies before or behind its operands: they begin at, or end at, a page that cannot be read, so
 * that one byte too many ends the process. AddressSanitizer sees no loads of assembly; this does. Results are also compared with
 * those of the same numbers in ordinary memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tern/tern.h>

#include "base/random.h"
#include "caps.h"
#include "harness.h"

static uint64_t rolls;

static int64_t roll(int64_t least, int64_t most)
{
    return least + (int64_t)(tern__random_uniform(harness_seed(), rolls++) * (double)(most - least + 1));
}

/* ---- operands ---- */

enum {
    MOST_OPERANDS = 7,
    MOST_RANK = 4,
    M = -1,
    N = -2,
    K = -3
}; /* sizes below 0 are drawn once for a case */

typedef struct operand {
    tern_dtype dtype;
    int rank;
    int64_t shape[MOST_RANK];
    bool constant; /* a weight: frozen in every other round, so that it is packed */
    int below;     /* not 0: integers 0 .. below - 1 */
} operand;

typedef struct edge {
    uint8_t *pages;
    size_t all;
} edge;

/* A copy of `bytes` bytes: its last byte, or its first, is beside a page that cannot be read. */
static void *edge_make(edge *e, const void *data, size_t bytes, bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
    e->all = inside + 2 * page;
    e->pages = mmap(NULL, e->all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (e->pages == MAP_FAILED || mprotect(e->pages, page, PROT_NONE) != 0 ||
        mprotect(e->pages + page + inside, page, PROT_NONE) != 0)
        abort(); /* a system without such pages cannot run this test */
    uint8_t *at = e->pages + page + (at_end ? inside - bytes : 0);
    memcpy(at, data, bytes);
    return at;
}

static void edge_drop(void *user, void *data)
{
    (void)data;
    edge *e = user;
    munmap(e->pages, e->all);
    free(e);
}

/* The same numbers for the same `seed`, in ordinary memory. */
static tern_tensor *plain_of(tern_ctx *ctx, const operand *o, const int64_t *shape, int64_t seed)
{
    tern_tensor *x = o->below ? tern_mul(tern_rand(ctx, TERN_F32, o->rank, shape, seed),
                                         tern_scalar(ctx, TERN_F32, o->below))
                              : tern_randn(ctx, TERN_F32, o->rank, shape, seed);
    tern_tensor *ternary = NULL, *scale = NULL;
    if (o->dtype == TERN_T2 || o->dtype == TERN_T5) {
        tern_ternary_quantise(x, NULL, o->dtype, &ternary, &scale);
        return ternary;
    }
    if (o->dtype == TERN_I8 && !o->below)
        x = tern_mul(x, tern_scalar(ctx, TERN_F32, 30));
    return tern_cast(x, o->dtype);
}

static tern_tensor *edge_of(tern_ctx *ctx, const operand *o, tern_tensor *plain, const int64_t *shape,
                            bool at_end)
{
    edge *e = calloc(1, sizeof *e);
    const void *from = tern_data(plain); /* evaluates it */
    void *data = edge_make(e, from, tern_nbytes(plain), at_end);
    return tern_borrow(ctx, o->dtype, o->rank, shape, NULL, data, edge_drop, e);
}

/* ---- the ops ---- */

typedef tern_tensor *(*build_fn)(tern_tensor **x);

static tern_tensor *build_matmul(tern_tensor **x)
{
    return tern_matmul(x[0], x[1], false, false);
}
static tern_tensor *build_matmul_turned(tern_tensor **x)
{
    return tern_matmul(x[0], x[1], true, true);
}
static tern_tensor *build_linear(tern_tensor **x)
{
    return tern_linear(x[0], x[1]);
}
static tern_tensor *build_ternary(tern_tensor **x)
{
    return tern_ternary_matmul(x[0], x[1], NULL);
}
static tern_tensor *build_chain(tern_tensor **x)
{
    return tern_silu(tern_add(tern_mul(x[0], x[1]), x[0]));
}
static tern_tensor *build_exp(tern_tensor **x)
{
    return tern_exp(x[0]);
}
static tern_tensor *build_softmax(tern_tensor **x)
{
    return tern_softmax(x[0], -1);
}
static tern_tensor *build_columns(tern_tensor **x)
{
    return tern_softmax(x[0], 0);
}
static tern_tensor *build_norm(tern_tensor **x)
{
    return tern_layernorm(x[0], x[1], NULL, 1e-5);
}
static tern_tensor *build_argmax(tern_tensor **x)
{
    return tern_argmax(x[0], -1, false);
}
static tern_tensor *build_cumsum(tern_tensor **x)
{
    return tern_cumsum(x[0], -1);
}
static tern_tensor *build_pool(tern_tensor **x)
{
    return tern_max_pool2d(x[0], 2, 2, 2, 2, 0, 0, false);
}
static tern_tensor *build_mean_pool(tern_tensor **x)
{
    return tern_avg_pool2d(x[0], 3, 3, 1, 1, 1, 1, false, false);
}
static tern_tensor *build_gather(tern_tensor **x)
{
    return tern_gather(x[0], x[1], 0);
}
static tern_tensor *build_rope(tern_tensor **x)
{
    return tern_rope(x[0], x[1], 10000, 0, false);
}

static tern_tensor *build_turn(tern_tensor **x)
{
    return tern_contiguous(tern_permute(x[0], 2, (int64_t[]){1, 0}));
}

static tern_tensor *build_sum_rows(tern_tensor **x)
{
    return tern_sum(x[0], 1, (int64_t[]){-1}, false);
}

static tern_tensor *build_sum_columns(tern_tensor **x)
{
    return tern_sum(x[0], 1, (int64_t[]){0}, false);
}

static tern_tensor *build_var(tern_tensor **x)
{
    return tern_var(x[0], 2, (int64_t[]){0, 1}, false, 0);
}

static tern_tensor *build_quantise(tern_tensor **x)
{
    tern_tensor *q, *scale;
    tern_quantise_rows(x[0], &q, &scale);
    return tern_mul(tern_cast(q, TERN_F32), scale);
}

static tern_tensor *build_sort(tern_tensor **x)
{
    tern_tensor *values, *places;
    tern_sort(x[0], -1, false, &values, &places);
    return tern_add(tern_cast(values, TERN_F32), tern_cast(places, TERN_F32));
}

static tern_tensor *build_topk(tern_tensor **x)
{
    tern_tensor *values, *places;
    tern_topk(x[0], 1, -1, true, &values, &places);
    return tern_add(tern_cast(values, TERN_F32), tern_cast(places, TERN_F32));
}

static tern_tensor *build_conv(tern_tensor **x)
{
    return tern_conv2d(x[0], x[1], NULL, 1, 1, 1, 1, 1, 1, 1, false);
}

static tern_tensor *build_attention(tern_tensor **x)
{
    return tern_attention(x[0], x[1], x[2], x[3], x[4], NULL, NULL, 0);
}

static tern_tensor *build_attention_scaled(tern_tensor **x)
{
    return tern_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], 0);
}

static tern_tensor *build_conv_depthwise(tern_tensor **x)
{
    return tern_conv2d(x[0], x[1], NULL, 1, 1, 1, 1, 1, 1, 5, false);
}

static tern_tensor *build_conv_permuted(tern_tensor **x)
{
    return tern_conv2d(x[0], tern_permute(x[1], 4, (int64_t[]){0, 3, 1, 2}), NULL, 1, 1, 1, 1, 1, 1, 1,
                       false);
}

/* clang-format off */
#define OPERAND(type, axes, ...) {.dtype = type, .rank = axes, .shape = __VA_ARGS__}
#define WEIGHT(type, axes, ...) {.dtype = type, .rank = axes, .shape = __VA_ARGS__, .constant = true}
#define BELOW(most, type, axes, ...) {.dtype = type, .rank = axes, .shape = __VA_ARGS__, .below = most}
#define ATTENTION(keys) {OPERAND(TERN_F32, 3, {M, 4, 24}), OPERAND(keys, 4, {2, 19, 2, 24}), OPERAND(keys, 4, {2, 19, 2, 24}), \
                         BELOW(2, TERN_I32, 1, {M}), BELOW(19, TERN_I32, 1, {M})}
static const struct edge_case {
    const char *name;
    build_fn build;
    int n;
    operand operands[MOST_OPERANDS];
} cases[] = {
    {"matmul", build_matmul, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_F32, 2, {K, N})}},
    {"matmul turned", build_matmul_turned, 2, {OPERAND(TERN_F32, 2, {K, M}), WEIGHT(TERN_F32, 2, {N, K})}},
    {"matmul f16", build_matmul, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_F16, 2, {K, N})}},
    {"matmul f64", build_matmul, 2, {OPERAND(TERN_F64, 2, {M, K}), WEIGHT(TERN_F64, 2, {K, N})}},
    {"matmul f64 turned", build_matmul_turned, 2, {OPERAND(TERN_F64, 2, {K, M}), WEIGHT(TERN_F64, 2, {N, K})}},
    {"linear f32", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_F32, 2, {N, K})}},
    {"linear f16", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_F16, 2, {N, K})}},
    {"linear bf16", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_BF16, 2, {N, K})}},
    {"linear q8_0", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_Q8_0, 2, {N, K})}},
    {"linear q6_k", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_Q6_K, 2, {N, K})}},
    {"linear q4_0", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_Q4_0, 2, {N, K})}},
    {"linear q4_k", build_linear, 2, {OPERAND(TERN_F32, 2, {M, K}), WEIGHT(TERN_Q4_K, 2, {N, K})}},
    {"linear i8", build_linear, 2, {OPERAND(TERN_I8, 2, {M, K}), WEIGHT(TERN_I8, 2, {N, K})}},
    {"ternary t2", build_ternary, 2, {OPERAND(TERN_I8, 2, {M, K}), WEIGHT(TERN_T2, 2, {N, K})}},
    {"ternary t5", build_ternary, 2, {OPERAND(TERN_I8, 2, {M, K}), WEIGHT(TERN_T5, 2, {N, K})}},
    {"attention f32", build_attention, 5, ATTENTION(TERN_F32)},
    {"attention f16", build_attention, 5, ATTENTION(TERN_F16)},
    {"attention bf16", build_attention, 5, ATTENTION(TERN_BF16)},
    {"attention i8", build_attention_scaled, 7, {OPERAND(TERN_F32, 3, {M, 4, 24}), OPERAND(TERN_I8, 4, {2, 19, 2, 24}),
                                                 OPERAND(TERN_I8, 4, {2, 19, 2, 24}), BELOW(2, TERN_I32, 1, {M}), BELOW(19, TERN_I32, 1, {M}),
                                                 OPERAND(TERN_F32, 4, {2, 19, 2, 1}), OPERAND(TERN_F32, 4, {2, 19, 2, 1})}},
    {"rope", build_rope, 2, {OPERAND(TERN_F32, 3, {M, 3, 22}), BELOW(99, TERN_I32, 1, {M})}},
    {"gather", build_gather, 2, {OPERAND(TERN_F32, 2, {N, K}), BELOW(1, TERN_I32, 1, {M})}},
    {"chain", build_chain, 2, {OPERAND(TERN_F32, 2, {M, K}), OPERAND(TERN_F32, 1, {K})}},
    {"chain f16", build_chain, 2, {OPERAND(TERN_F16, 2, {M, K}), OPERAND(TERN_F16, 1, {K})}},
    {"exp", build_exp, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"exp f64", build_exp, 1, {OPERAND(TERN_F64, 2, {M, K})}},
    {"softmax", build_softmax, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"softmax bf16", build_softmax, 1, {OPERAND(TERN_BF16, 2, {M, K})}},
    {"softmax of columns", build_columns, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"layernorm", build_norm, 2, {OPERAND(TERN_F32, 2, {M, K}), OPERAND(TERN_F32, 1, {K})}},
    {"quantise_rows", build_quantise, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"sum of rows", build_sum_rows, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"sum of rows f16", build_sum_rows, 1, {OPERAND(TERN_F16, 2, {M, K})}},
    {"sum of rows i8", build_sum_rows, 1, {OPERAND(TERN_I8, 2, {M, K})}},
    {"sum of columns", build_sum_columns, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"sum of columns bf16", build_sum_columns, 1, {OPERAND(TERN_BF16, 2, {M, K})}},
    {"var of all", build_var, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"argmax", build_argmax, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"cumsum", build_cumsum, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"sort", build_sort, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"sort i32", build_sort, 1, {BELOW(3000, TERN_I32, 2, {M, K})}},
    {"sort i64", build_sort, 1, {BELOW(3000, TERN_I64, 2, {M, K})}},
    {"sort f64", build_sort, 1, {OPERAND(TERN_F64, 2, {M, K})}},
    {"topk", build_topk, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"turned", build_turn, 1, {OPERAND(TERN_F32, 2, {M, K})}},
    {"turned u8", build_turn, 1, {BELOW(200, TERN_U8, 2, {M, K})}},
    {"conv2d", build_conv, 2, {OPERAND(TERN_F32, 4, {2, 3, M, 9}), WEIGHT(TERN_F32, 4, {5, 3, 3, 3})}},
    {"conv2d f16", build_conv, 2, {OPERAND(TERN_F16, 4, {2, 3, M, 9}), WEIGHT(TERN_F16, 4, {5, 3, 3, 3})}},
    {"conv2d depthwise", build_conv_depthwise, 2, {OPERAND(TERN_F32, 4, {2, 5, M, K}), WEIGHT(TERN_F32, 4, {5, 1, 3, 3})}},
    {"conv2d permuted", build_conv_permuted, 2, {OPERAND(TERN_F32, 4, {2, 3, M, 9}), WEIGHT(TERN_F32, 4, {5, 3, 3, 3})}},
    {"max_pool2d", build_pool, 1, {OPERAND(TERN_F32, 4, {2, 3, 7, K})}},
    {"max_pool2d f16", build_pool, 1, {OPERAND(TERN_F16, 4, {2, 3, 7, K})}},
    {"avg_pool2d", build_mean_pool, 1, {OPERAND(TERN_F32, 4, {2, 3, M, K})}},
    {"avg_pool2d bf16", build_mean_pool, 1, {OPERAND(TERN_BF16, 4, {2, 3, M, K})}},
};
/* clang-format on */

/* ---- running them ---- */

static void compare(tern_ctx *ctx, const struct edge_case *c, const char *cap, bool frozen, bool at_end)
{
    /* Of M, N, K. One row, which generation has, goes ways of its own. */
    const int64_t sizes[] = {roll(0, 1) ? 1 : roll(3, 21), roll(1, 130), roll(4, 300)};
    tern_tensor *plain[MOST_OPERANDS], *edges[MOST_OPERANDS];
    TERN_SCOPE(ctx) {
        for (int i = 0; i < c->n; i++) {
            const operand *o = &c->operands[i];
            int64_t shape[MOST_RANK];
            for (int d = 0; d < o->rank; d++)
                shape[d] = o->shape[d] < 0 ? sizes[-o->shape[d] - 1] : o->shape[d];
            plain[i] = plain_of(ctx, o, shape, (int64_t)(harness_seed() + rolls++));
            edges[i] = edge_of(ctx, o, plain[i], shape, at_end);
            if (o->constant && frozen) {
                CHECK_OK(tern_freeze(plain[i]));
                CHECK_OK(tern_freeze(edges[i]));
            }
        }
        tern_tensor *want = c->build(plain), *got = c->build(edges);
        if (tern_eval(want) != TERN_OK || tern_eval(got) != TERN_OK)
            harness_fail(__FILE__, __LINE__, "%s, %s: %s", c->name, cap, tern_last_error());
        else if (memcmp(tern_data(want), tern_data(got), tern_nbytes(want)) != 0)
            harness_fail(__FILE__, __LINE__, "%s, %s: other bits at the %s of memory", c->name, cap,
                         at_end ? "end" : "beginning");
    }
}

TEST(nothing_is_read_beyond_operands)
{
    for (int cap = 0; cap < N_CAPS; cap++) {
        tern_ctx *ctx = NULL;
        tern_ctx_options options = tern_ctx_options_default();
        options.cpu = caps[cap];
        options.threads = 2;
        CHECK_OK(tern_ctx_create(&options, &ctx));
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int way = 0; way < 4; way++)
                compare(ctx, &cases[i], caps[cap], way & 1, way & 2);
        tern_ctx_destroy(ctx);
    }
}

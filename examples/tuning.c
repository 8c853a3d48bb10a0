/* tuning.c - measuring instead of guessing: the fastest of several ways, the best batch size, items in batches. With the name of
 * a file, what was measured is kept there, and the next process remembers it. */
#include <stdio.h>

#include <tern/tern.h>

enum { WIDTH = 64, ITEMS = 10 };

/* ---- the fastest of several ways to add up a matrix ---- */

static tern_status add_up(void *user, int configuration, uint64_t *ns)
{
    tern_ctx *ctx = user;
    (void)ns; /* the time of the call counts */
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_randn(ctx, TERN_F32, 2, (int64_t[]){256, 256}, 1);
        tern_tensor *rows = tern_sum(x, 1, (int64_t[]){configuration == 0 ? 0 : 1}, false);
        return tern_eval(tern_sum(rows, 0, NULL, false));
    }
    return TERN_INTERNAL;
}

/* ---- a layer for batches of any size ---- */

static tern_status compile(void *user, tern_ctx *ctx, int64_t batch, tern_program **out)
{
    (void)user;
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 2, (int64_t[]){batch, WIDTH});
        tern_tensor *w = tern_randn(ctx, TERN_F32, 2, (int64_t[]){WIDTH, WIDTH}, 2);
        tern_tensor *y = tern_softmax(tern_matmul(x, w, false, false), -1);
        return tern_compile(ctx, 1, &y, NULL, NULL, out);
    }
    return TERN_INTERNAL;
}

static tern_status run(tern_ctx *ctx)
{
    int way;
    TERN_TRY(tern_tune(ctx, "add up", "256x256", 2, (const char *[]){"columns first", "rows first"}, add_up,
                       ctx, NULL, &way, NULL));
    printf("faster: %s first\n", way == 0 ? "columns" : "rows");

    int64_t batch;
    tern_batch_work work = {.compile = compile};
    tern_batch_options options = tern_batch_options_default();
    options.most = 16;
    options.memory_limit = 1 << 20;
    TERN_TRY(tern_batch_find(ctx, &work, &options, &batch, NULL, NULL));
    printf("best batch: %lld\n", (long long)batch);

    tern_program *program;
    tern_exec *exec = NULL;
    TERN_TRY(compile(NULL, ctx, batch, &program));
    tern_status status = tern_exec_create(ctx, program, &exec);
    TERN_SCOPE(ctx) {
        tern_tensor *items[ITEMS], *results[ITEMS];
        for (int i = 0; i < ITEMS; i++)
            items[i] = tern_randn(ctx, TERN_F32, 1, (int64_t[]){WIDTH}, 10 + i);
        if (status == TERN_OK)
            status = tern_batch_run(exec, ITEMS, items, results, NULL);
        if (status == TERN_OK)
            printf("%d results of %lld numbers each\n", ITEMS, (long long)tern_numel(results[ITEMS - 1]));
    }
    tern_exec_free(exec);
    tern_program_free(program);
    return status;
}

int main(int argc, char **argv)
{
    tern_ctx *ctx;
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = argc > 1 ? argv[1] : "off"; /* NULL: in the user's cache folder */
    tern_status status = tern_ctx_create(&options, &ctx);
    if (status == TERN_OK) {
        status = run(ctx);
        tern_ctx_destroy(ctx);
    }
    if (status != TERN_OK)
        fprintf(stderr, "tuning: %s\n", tern_last_error());
    return status == TERN_OK ? 0 : 1;
}

/* program.c - a graph compiled once and run many times: an input, and states that the program updates. */
#include <stdio.h>
#include <tern/tern.h>

/* A running mean of 4-element inputs: total and count are states. */
static tern_status build(tern_ctx *ctx, tern_program **out)
{
    TERN_SCOPE(ctx) {
        tern_tensor *x = tern_input(ctx, "x", TERN_F32, 1, (int64_t[]){4});
        tern_tensor *total = tern_state(ctx, "total", TERN_F32, 1, (int64_t[]){4});
        tern_tensor *count = tern_state(ctx, "count", TERN_F32, 0, NULL);
        tern_tensor *new_total =
            tern_overwrite(total, tern_add(total, x)); /* `total` is spent from here on */
        tern_tensor *new_count = tern_overwrite(count, tern_add(count, tern_scalar(ctx, TERN_F32, 1)));
        tern_tensor *mean = tern_div(new_total, new_count);
        return tern_compile(ctx, 1, &mean, (const char *[]){"mean"}, NULL, out);
    }
    return TERN_INTERNAL;
}

static tern_status run(tern_ctx *ctx, tern_exec *exec)
{
    for (int i = 1; i <= 3; i++)
        TERN_SCOPE(ctx) {
            tern_tensor *in = tern_full(ctx, TERN_F32, 1, (int64_t[]){4}, i * 10), *mean;
            TERN_TRY(tern_exec_run(exec, 1, &in, 1, &mean));
            printf("after %d inputs the mean is %g\n", i, tern_data_f32(mean)[0]);
        }
    return TERN_OK;
}

int main(void)
{
    tern_ctx *ctx = NULL;
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    tern_status status = tern_ctx_create(NULL, &ctx);
    if (status == TERN_OK)
        status = build(ctx, &program);
    if (status == TERN_OK)
        status = tern_exec_create(ctx, program, &exec);
    if (status == TERN_OK)
        status = run(ctx, exec);
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", tern_status_name(status), tern_last_error());
    tern_exec_free(exec);
    tern_program_free(program);
    tern_ctx_destroy(ctx);
    return status != TERN_OK;
}

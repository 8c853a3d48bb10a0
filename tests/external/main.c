/* Adds two tensors with an installed copy of the library and prints the sum: 11 22 33. */
#include <stdio.h>

#include <tern/tern.h>

static tern_status add(tern_ctx *ctx)
{
    TERN_SCOPE(ctx) {
        tern_tensor *a = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
        tern_tensor *b = tern_from_data(ctx, TERN_F32, 1, (int64_t[]){3}, (float[]){10, 20, 30});
        tern_tensor *sum = tern_add(a, b);
        TERN_TRY(tern_eval(sum));
        const float *values = tern_data_f32(sum);
        printf("%g %g %g\n", (double)values[0], (double)values[1], (double)values[2]);
    }
    return TERN_OK;
}

int main(void)
{
    tern_ctx *ctx;
    tern_status status = tern_ctx_create(NULL, &ctx);
    if (status == TERN_OK) {
        status = add(ctx);
        tern_ctx_destroy(ctx);
    }
    if (status != TERN_OK)
        fprintf(stderr, "external: %s\n", tern_last_error());
    return status != TERN_OK;
}

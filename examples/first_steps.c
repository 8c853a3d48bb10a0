/* first_steps.c - lazy tensors in five minutes: record, evaluate, look, write in place, fail well. */
#include <stdio.h>
#include <tern/tern.h>

static tern_status steps(tern_ctx *ctx)
{
    TERN_SCOPE(ctx) {
        /* 1. Recording computes nothing. */
        tern_tensor *x = tern_from_data(ctx, TERN_F32, 2, (int64_t[]){2, 3}, (float[]){1, 2, 3, 4, 5, 6});
        tern_tensor *mean = tern_mean(x, 1, (int64_t[]){1}, true);
        tern_tensor *centred = tern_sub(x, mean);
        printf("recorded, evaluated: %s\n", tern_is_evaluated(centred) ? "yes" : "no");

        /* 2. Asking for data does. */
        const float *data = tern_data_f32(centred);
        if (!data)
            return tern_status_of(centred);
        printf("centred: %g %g %g | %g %g %g\n", data[0], data[1], data[2], data[3], data[4], data[5]);

        /* 3. Views share storage: writing through one is visible in the other. */
        tern_tensor *column = tern_narrow(x, 1, 0, 1);
        tern_tensor *before = tern_sum(x, 0, NULL, false); /* pending: it will still see the old values */
        TERN_TRY(tern_fill_(column, 100));
        printf("x after the write: %g %g %g\n", tern_data_f32(x)[0], tern_data_f32(x)[1],
               tern_data_f32(x)[2]);
        printf("sum from before it: %g\n", tern_data_f32(before)[0]);

        /* 4. A bad call is a value too: it says what was wrong and travels to the end. */
        tern_tensor *wrong = tern_relu(tern_matmul(x, x, false, false));
        printf("error: %s\n", tern_message_of(wrong));
    }
    return TERN_OK;
}

int main(void)
{
    tern_ctx *ctx;
    tern_status status = tern_ctx_create(NULL, &ctx);
    if (status == TERN_OK) {
        status = steps(ctx);
        tern_ctx_destroy(ctx);
    }
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", tern_status_name(status), tern_last_error());
    return status != TERN_OK;
}
